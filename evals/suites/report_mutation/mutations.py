"""Breaking a correct report in one place. Each kind says what it breaks; None where the report has no such place.

Nothing here knows how a guard reads a report: what is broken is what a person would call wrong.
"""

import random
import re
from collections.abc import Callable, Mapping
from typing import Any

from evals.suites.report_mutation.story import Fact
from evals.suites.report_mutation.wording import state
from evals.suites.report_mutation.writing import NEGATIVE, OBSERVATION, Report, analysis_of

Draft = dict[str, Any]
Mutation = Callable[[Report, random.Random], Draft | None]

_OBSERVED = ("series", "change", "signature", "first_failing", "edge")
_TURNED = {
    "上升": "下降", "下降": "上升", "rose": "fell", "fell": "rose",
}  # fmt: skip
_DENIALS = {
    "zh": (
        ("部署了", "没有部署"),
        ("上线到", "没有上线到"),
        ("发布到", "没有发布到"),
        ("出现新的错误", "没有出现新的错误"),
        ("的日志里有", "的日志里没有"),
        ("新增错误", "没有新增错误"),
        ("最先失败", "并没有最先失败"),
        ("开始上升", "并未上升"),
        ("开始下降", "并未下降"),
    ),
    "en": (
        ("was deployed with", "was not deployed with"),
        ("was released", "was not released"),
        ("going out", "not going out"),
        ("logged", "did not log"),
        ("shows up", "does not show up"),
        ("failed first", "did not fail first"),
        ("is the first to fail", "is not the first to fail"),
        (" rose", " did not rise"),
        (" fell", " did not fall"),
    ),
}
_NUMBER = re.compile(r"(?<![\w:./-])\d+(?:\.\d+)?(?![\w:/-]|\.\d)")
_CLOCK = re.compile(r"\b(\d\d):(\d\d)(?=[:\sZ,.);，。；）]|$)")
_UNITS = (
    (re.compile(r"(?<=\d) ms\b"), " s"),
    (re.compile(r"(?<=\d) s\b"), " min"),
    (re.compile(r"(?<=\d)%"), " ms"),
    (re.compile(r"(?<=\d) MB\b"), " GB"),
    (re.compile(r"(?<=\d) (?:秒|分钟)"), " 小时"),
    (re.compile(r"(?<=\d) (?:seconds|minutes)\b"), " hours"),
)


def _cite(report: Report, rng: random.Random, call_id: str) -> Draft:
    draft = report.copy()
    analysis = rng.choice(draft["analyses"])
    analysis["tool_call_ids"][-1] = call_id
    return draft


def id_of_no_call(report: Report, rng: random.Random) -> Draft | None:
    """An analysis cites a call that never was."""
    return _cite(report, rng, f"r1c{rng.randrange(40, 90)}")


def id_of_another_run(report: Report, rng: random.Random) -> Draft | None:
    """An analysis cites a call of an earlier run."""
    return _cite(report, rng, f"r0c{rng.randrange(1, 9)}")


def id_of_an_error(report: Report, rng: random.Random) -> Draft | None:
    """An analysis cites a call that ended in ERROR."""
    failed = report.story.failed()
    return _cite(report, rng, failed[0].call_id) if failed else None


def id_of_an_empty_call(report: Report, rng: random.Random) -> Draft | None:
    """An observation cites a call that found nothing."""
    empty = report.story.empty()
    if not empty:
        return None
    draft = report.copy()
    observed = [analysis for analysis in draft["analyses"] if analysis["kind"] == OBSERVATION]
    rng.choice(observed)["tool_call_ids"][:] = [rng.choice(empty).call_id]
    return draft


def _reworded(report: Report, rng: random.Random, reword: Callable[[str], str | None]) -> Draft | None:
    """Change the text of one analysis, tried in a random order."""
    draft = report.copy()
    analyses = list(draft["analyses"])
    rng.shuffle(analyses)
    for analysis in analyses:
        text = reword(analysis["text"])
        if text is not None and text != analysis["text"]:
            analysis["text"] = text
            return draft
    return None


def number(report: Report, rng: random.Random) -> Draft | None:
    """A number is another one, beyond any rounding."""

    def reword(text: str) -> str | None:
        found = [match for match in _NUMBER.finditer(text) if float(match[0]) > 0]
        if not found:
            return None
        match = rng.choice(found)
        value = float(match[0]) * rng.choice((0.6, 1.4, 2.5))
        digits = len(match[0].partition(".")[2])
        other = f"{value:.{digits}f}"
        return None if float(other) == float(match[0]) else text[: match.start()] + other + text[match.end() :]

    return _reworded(report, rng, reword)


def unit(report: Report, rng: random.Random) -> Draft | None:
    """A unit is another one."""

    def reword(text: str) -> str | None:
        for pattern, other in _UNITS:
            if pattern.search(text):
                return pattern.sub(other, text, count=1)
        return None

    return _reworded(report, rng, reword)


def time(report: Report, rng: random.Random) -> Draft | None:
    """A time of day is another one, 7 to 50 minutes away; an absence in another window may still be one."""
    absences = [analysis["text"] for analysis in report.draft["analyses"] if analysis["kind"] == NEGATIVE]

    def reword(text: str) -> str | None:
        if text in absences:
            return None
        found = list(_CLOCK.finditer(text))
        if not found:
            return None
        match = rng.choice(found)
        at = (int(match[1]) * 60 + int(match[2]) + rng.choice((-1, 1)) * rng.randrange(7, 50)) % 1440
        return f"{text[: match.start()]}{at // 60:02}:{at % 60:02}{text[match.end() :]}"

    return _reworded(report, rng, reword)


def service(report: Report, rng: random.Random) -> Draft | None:
    """A sentence names another service of the same incident."""
    names = report.story.services()

    def reword(text: str) -> str | None:
        held = [name for name in names if name in text]
        others = [name for name in names if name not in text]
        return text.replace(held[0], rng.choice(others)) if held and others else None

    return _reworded(report, rng, reword)


def sign(report: Report, rng: random.Random) -> Draft | None:
    """A number gets a minus sign."""

    def reword(text: str) -> str | None:
        found = [match for match in _NUMBER.finditer(text) if float(match[0]) > 0]
        if not found:
            return None
        at = rng.choice(found).start()
        return f"{text[:at]}-{text[at:]}"

    return _reworded(report, rng, reword)


def direction(report: Report, rng: random.Random) -> Draft | None:
    """What rose is said to have fallen, or the other way round."""

    def reword(text: str) -> str | None:
        word = next((word for word in _TURNED if word in text), None)
        return text.replace(word, _TURNED[word]) if word else None

    return _reworded(report, rng, reword)


def quote(report: Report, rng: random.Random) -> Draft | None:
    """A quote is altered in one character of a value."""
    draft = report.copy()
    quoting = [analysis for analysis in draft["analyses"] if analysis["quotes"]]
    quotes = rng.choice(quoting)["quotes"]
    at = rng.randrange(len(quotes))
    places = [match.start() for match in re.finditer(r"\d", quotes[at])]
    place = rng.choice(places)
    other = rng.choice([digit for digit in "0123456789" if digit != quotes[at][place]])
    quotes[at] = quotes[at][:place] + other + quotes[at][place + 1 :]
    return draft


def reference_as_fact(report: Report, _: random.Random) -> Draft | None:
    """What a runbook tells of other days is what the conclusion rests on."""
    runbook = next((fact for fact in report.story.facts("runbook")), None)
    if runbook is None:
        return None
    draft = report.copy()
    lines = _block(report, runbook)
    text = lines[-1].strip()
    draft["analyses"].append(
        {
            "analysis_id": "a90",
            "kind": OBSERVATION,
            "text": text,
            "quotes": [text],
            "tool_call_ids": [runbook.call_id],
        }
    )
    draft["conclusion"]["analysis_ids"] = ["a90"]
    return draft


def _block(report: Report, fact: Fact) -> list[str]:
    evidence = report.story.call(fact.call_id).evidence
    content = list(evidence.content) if evidence else []
    at = content.index(fact.line)
    block = [fact.line]
    for line in content[at + 1 :]:
        if not line.startswith("  "):
            break
        block.append(line)
    return block


def negation(report: Report, rng: random.Random) -> Draft | None:
    """An observation denies what its quote says."""

    def reword(text: str) -> str | None:
        pair = next(((yes, no) for yes, no in _DENIALS[report.locale] if yes in text), None)
        return text.replace(*pair, 1) if pair else None

    return _reworded(report, rng, reword)


def negatives_only(report: Report, _: random.Random) -> Draft | None:
    """The conclusion rests on nothing but an absence."""
    if "negative" not in report.roles:
        return None
    draft = report.copy()
    draft["conclusion"]["analysis_ids"] = [report.roles["negative"]]
    return draft


def duplicate_id(report: Report, rng: random.Random) -> Draft | None:
    """Two analyses share one id."""
    draft = report.copy()
    first, second = rng.sample(draft["analyses"], 2)
    second["analysis_id"] = first["analysis_id"]
    return draft


def missing_id(report: Report, rng: random.Random) -> Draft | None:
    """An analysis has no id, or someone refers to one that doesn't exist, or to none."""
    draft = report.copy()
    place = rng.randrange(3)
    if place == 0:
        rng.choice(draft["analyses"])["analysis_id"] = ""
    elif place == 1:
        rng.choice((draft["action_plan"], draft["recommendations"]))[0]["analysis_ids"] = ["a77"]
    else:
        draft["conclusion"]["analysis_ids"] = []
    return draft


def wrong_fact(report: Report, rng: random.Random) -> Draft | None:
    """A sentence states another line of the same kind than the one that it quotes."""
    draft = report.copy()
    for role in rng.sample(_OBSERVED, len(_OBSERVED)):
        fact = report.facts.get(role)
        others = [other for other in report.story.facts(role) if fact is not None and other.line != fact.line]
        others = [other for other in others if fact and _told_alike(fact, other)]
        if fact is not None and others:
            told = state(rng.choice(others), report.locale, report.manner, report.story.zone)
            analysis_of(draft, report.roles[role])["text"] = told
            return draft
    return None


def _told_alike(fact: Fact, other: Fact) -> bool:
    """Whether the other line can be told in the same words, of another service."""
    return fact.fields.keys() == other.fields.keys() and other["service"] not in ("", fact["service"])


KINDS: Mapping[str, Mutation] = {
    made.__name__: made
    for made in (
        id_of_no_call,
        id_of_another_run,
        id_of_an_error,
        id_of_an_empty_call,
        number,
        unit,
        time,
        service,
        sign,
        direction,
        quote,
        reference_as_fact,
        negation,
        negatives_only,
        duplicate_id,
        missing_id,
        wrong_fact,
    )
}
"""The kinds that the guard's author could know of."""
