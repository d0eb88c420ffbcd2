"""Where a sentence says of evidence what the evidence's typed fields deny: a direction, a change's time, a call's way.

Source: contract, "EvidenceGuard": typed tokens. Only what the fields state is compared, clause by clause; a clause of
which they say nothing is left to the semantic review.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

from graph.contract.claims import Clause, contradicts, out_of_order
from graph.contract.moments import Moment, MomentSet
from graph.contract.names import NameSort
from graph.contract.quotes import Line
from graph.contract.reading import Reading, Sentence
from graph.contract.values import Word

_FLAG_WORDS = ("flag", "开关", "特性")
_CHANGE = (
    r"(?:部署|发布|上线|提交|合入|deploy(?:ed|ment)?|released?|rollout|rolled out|commit(?:ted)?|shipped|went live)"
)
_HAPPENED = {
    "change": re.compile(rf"{_CHANGE}|\b(?:go|going|went) out\b", re.IGNORECASE),
    "signature": re.compile(
        r"出现|新增|报错|抛出|记录|打印"
        r"|\b(?:log(?:s|ged)?|show(?:s|n|ed)? up|appear(?:s|ed)?|report(?:s|ed)?|emit(?:s|ted)?)\b",
        re.IGNORECASE,
    ),
    "first_failing": re.compile(
        r"(?:最先|首先|最早)(?:失败|出错|报错)|\bfail(?:s|ed)? first\b|\bfirst to fail\b", re.I
    ),
}
"""How a sentence says what the fields of a line of each sort say has happened."""
_OF_BEFORE = re.compile(r"之前|此前|以前|以往|先前|\b(?:before|previously|prior|earlier|until)\b", re.IGNORECASE)
_AFTER_TIME = re.compile(rf"\s?(?:时)?的?(?:\s?the)?\s?{_CHANGE}", re.IGNORECASE)
_BEFORE_TIME = re.compile(rf"{_CHANGE}(?:时间)?\s?(?:于|在|为|at|on|:|\()\s?$", re.IGNORECASE)
_CALLS = re.compile(r"\s?(?:->|→|调用|calls?|calling|called)\s?|\s?(?:到|至|to)\s?", re.IGNORECASE)
_EDGE = re.compile(r"(?:^|\s)caller=(\S+) callee=(\S+)")


def contradictions(reading: Reading, sentence: Sentence, lines: Iterable[Line]) -> frozenset[str]:
    """Return what a sentence says against the fields of `lines`: `ORDER`, `DIRECTION:<claimed>`, `CHANGE_TIME:<time>`,
    `CALL:<caller>`; empty where nothing."""
    stated = tuple(dict.fromkeys(lines))
    found: set[str] = set()
    for clause, names in sentence.clauses:
        found.update(["ORDER"] if out_of_order(clause) else ())
        found.update(_direction(reading, sentence, clause, names, stated))
        found.update(_change_times(reading, clause, stated))
        found.update(_calls(reading, clause, stated))
    return frozenset(found)


def denials(reading: Reading, sentence: Sentence, lines: Iterable[Line]) -> frozenset[str]:
    """Return which of `lines` an observation denies, by sort (`DENIED:change`): what a record of a change, of a new
    error or of a first failure says has happened. What a clause says of the time before is no denial."""
    stated = [line for line in dict.fromkeys(lines) if line.sort in _HAPPENED]
    found: set[str] = set()
    for clause, names in sentence.clauses:
        about = [line for line in stated if any(map(line.names.holds, names & reading.vocabulary.components))]
        for line in () if _OF_BEFORE.search(clause.text) else about:
            if clause.denies(_HAPPENED[line.sort]) and all(map(line.names.holds, names)):
                found.add(f"DENIED:{line.sort}")
    return frozenset(found)


def _direction(
    reading: Reading, sentence: Sentence, clause: Clause, names: frozenset[str], lines: tuple[Line, ...]
) -> Iterator[str]:
    fragments = {name.text.casefold() for name in sentence.names if name.sort is NameSort.FRAGMENT}
    known = names & (reading.vocabulary.components | reading.vocabulary.metrics | fragments)
    about = [line for line in lines if line.direction and _speaks_of(clause, known, line)]
    claimed = contradicts(clause, (line.direction for line in about if line.direction))
    if claimed:
        yield f"DIRECTION:{claimed}"


def _speaks_of(clause: Clause, names: frozenset[str], line: Line) -> bool:
    if line.sort == "change":
        named = any(isinstance(token, Word) and line.names.holds(token.text) for token in clause.tokens)
        return (named and any(word in clause.text.casefold() for word in _FLAG_WORDS)) or _names_flag(clause, line)
    return all(map(line.names.holds, names))


def _names_flag(clause: Clause, line: Line) -> bool:
    return any(
        isinstance(token, Word) and "_" in token.text and line.names.holds(token.text) for token in clause.tokens
    )


def _change_times(reading: Reading, clause: Clause, lines: tuple[Line, ...]) -> Iterator[str]:
    """A time that is said to be a change's is one of a change record's, of that change where the clause names it."""
    changes = [line for line in lines if line.sort == "change"]
    if not changes:
        return
    named = [line for line in changes if _names_revision(clause, line)] or changes
    moments = MomentSet((t for line in named for t in line.tokens if isinstance(t, Moment)), reading.zone)
    for token in clause.tokens:
        if isinstance(token, Moment) and _is_change_time(clause, token) and not moments.holds(token):
            yield f"CHANGE_TIME:{clause.text[token.start - clause.start : token.end - clause.start]}"


def _names_revision(clause: Clause, line: Line) -> bool:
    return any(isinstance(token, Word) and line.names.holds_revision(token.text.casefold()) for token in clause.tokens)


def _is_change_time(clause: Clause, token: Moment) -> bool:
    if token.hour is None:
        return False
    before, after = clause.text[: token.start - clause.start], clause.text[token.end - clause.start :]
    return _AFTER_TIME.match(after) is not None or _BEFORE_TIME.search(before) is not None


def _calls(reading: Reading, clause: Clause, lines: tuple[Line, ...]) -> Iterator[str]:
    """A call goes the way that the evidence measured, and nobody calls itself."""
    edges = {(found[1].casefold(), found[2].casefold()) for line in lines if (found := _EDGE.search(line.text))}
    components = [
        token
        for token in clause.tokens
        if isinstance(token, Word) and token.text.casefold() in reading.vocabulary.components
    ]
    for caller, callee in pairwise(components):
        between = clause.text[caller.end - clause.start : callee.start - clause.start]
        way = (caller.text.casefold(), callee.text.casefold())
        if _CALLS.fullmatch(between) and (way[0] == way[1] or (way not in edges and way[::-1] in edges)):
            yield f"CALL:{caller.text}"
