"""The draft: what was found, sentence by sentence, each with the lines that say it.

Source: contract, "Draft" and "EvidenceGuard".
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from graph.models.offline.analyses import Analyses
from graph.models.offline.assessment import Assessment, onset_of
from graph.models.offline.facts import Change, Source
from graph.models.offline.suspects import live_changes
from graph.models.offline.verdicts import Innocence
from graph.models.offline.wording import fields_of, say

_RULED_OUT = 8
_VICTIMS = 4
_CODE_LINES = 6


class _Draft(Analyses):
    """The analyses of this diagnosis."""

    def observe(self, key: str, source: Source) -> str | None:
        """Add what one line says; None where the line lacks a field of the sentence."""
        needed = {name: source.line.get(name) for name in fields_of(key)}
        if not all(needed.values()):
            return None
        return self.add("OBSERVATION", say(self.language, key, **needed), [source])


def write_draft(now: Assessment, language: str) -> str:
    """Return the draft as JSON text: concluded where a cause is proven, else with a null conclusion."""
    draft = _Draft(language)
    shown = _observations(draft, now)
    conclusion, plan, advice = None, [], []
    if now.suspicion is not None or now.cause is not None:
        proof = _proof(draft, now)
        victims = list(_victims(draft, now))
        conclusion = _conclusion(draft, now, [*proof, *shown], victims)
        plan, advice = _actions(draft, now, proof), _recommendations(draft, now, proof)
    ruled_out = list(_ruled_out(draft, now))
    return _as_json(draft, conclusion, plan, advice, {"missing_info": [], "ruled_out": ruled_out})


def write_missing(missing: list[str]) -> str:
    """Return a draft without a conclusion that names what the query would have had to say."""
    return _as_json(_Draft("zh"), None, [], [], {"missing_info": missing, "ruled_out": []})


def _as_json(
    draft: _Draft, conclusion: Mapping[str, Any] | None, plan: list[Any], advice: list[Any], limits: Mapping[str, Any]
) -> str:
    body = {
        "conclusion": conclusion,
        "analyses": draft.analyses,
        "action_plan": plan,
        "recommendations": advice,
        "limitations": limits,
    }
    return json.dumps(body, ensure_ascii=False)


def _observations(draft: _Draft, now: Assessment) -> list[str]:
    """State alert, first failing measure, new signature and first failing span; return the ids that may prove."""
    if now.alert is not None:
        draft.observe("alert", now.alert.source)
    found = []
    first = now.first_failing_source
    if first is not None and first.line.sort == "series":
        found.append(draft.observe(f"series_{first.line.get('direction')}", first))
    if now.alert_series is not None and now.alert_series.source is not first:
        source = now.alert_series.source
        found.append(draft.observe(f"series_{source.line.get('direction')}", source))
    for _, source in now.case.first_failing[:1]:
        found.append(draft.observe("first_failing", source))
    return [one for one in found if one]


def _say_source(draft: _Draft, source: Source) -> str | None:
    keys = {
        "series": f"series_{source.line.get('direction')}",
        "signature": "signature",
        "log": "log",
        "span": "span",
        "edge": "edge",
    }
    key = keys.get(source.line.sort)
    quoted = {quote for one in draft.analyses if one["kind"] == "OBSERVATION" for quote in one["quotes"]}
    if key is None or source.line.raw in quoted:
        return next((one["analysis_id"] for one in draft.analyses if source.line.raw in one["quotes"]), None)
    return draft.observe(key, source)


def _proof(draft: _Draft, now: Assessment) -> list[str]:
    """State what proves the cause: the symptoms and, for a change, its lines and what they do."""
    if now.suspicion is not None:
        return _proof_of_change(draft, now)
    assert now.cause is not None  # noqa: S101 - narrowed by the caller
    cause = now.cause
    sources = list(dict.fromkeys([*cause.measured, *cause.shown]))
    ids = [_say_source(draft, source) for source in sources]
    phrase = _phrase(draft, cause.rule)
    text = say(draft.language, "cause", phrase=phrase, service=cause.service)
    measured = [] if now.first_failing_source is None else [now.first_failing_source]
    inferred = draft.add("INFERENCE", text, list(dict.fromkeys([*sources, *measured])))
    return [one for one in (*ids, inferred) if one]


def _proof_of_change(draft: _Draft, now: Assessment) -> list[str]:
    assert now.suspicion is not None  # noqa: S101 - narrowed by the caller
    change, match = now.suspicion.change, now.suspicion.match
    effects = [one.source for one in now.suspicion.effects[:2]]
    if now.suspicion.tie.series is not None:
        effects.insert(0, now.suspicion.tie.series.source)
    ids = [_say_source(draft, source) for source in dict.fromkeys(effects)]
    lines = _verbatim(change, [(sign, text) for _, sign, text in match.lines])
    stated = {"id": change.change_id, "at": change.source.line.get("at"), "service": change.service or now.component}
    key = "change" if lines else "change_plain"
    if lines:
        stated["lines"] = " ".join(f"「{line}」" for line in lines)
    sources = list(dict.fromkeys([change.source, change.diff_source]))
    quotes = [change.source.line.raw, *lines]
    ids.append(draft.add("OBSERVATION", say(draft.language, key, **stated), sources, quotes))
    effect = now.suspicion.effects[0]
    text = say(
        draft.language,
        "mechanism",
        id=change.change_id,
        phrase=_phrase(draft, match.mechanism),
        service=effect.service,
    )
    ids.append(
        draft.add("INFERENCE", text, [*sources, *effects[:1]], [*quotes, *(one.line.raw for one in effects[:1])])
    )
    return [one for one in ids if one]


def _phrase(draft: _Draft, rule: Any) -> str:
    return str(rule.zh if draft.language == "zh" else rule.en)


def _verbatim(change: Change, wanted: Iterable[tuple[str, str]]) -> list[str]:
    """Return the changed lines as they stand in the evidence."""
    rows = [raw.strip() for raw in change.diff_source.line.more]
    found = []
    for sign, text in wanted:
        row = next((row for row in rows if row[:1] == sign and row[1:].strip().startswith(text)), None)
        if row is not None:
            found.append(row)
    return list(dict.fromkeys(found))[:_CODE_LINES]


def _victims(draft: _Draft, now: Assessment) -> Iterable[tuple[str, str]]:
    """State who suffers; yields the service and the analysis that says so."""
    seat = now.first_failing or now.component
    begun = onset_of(now)
    for service, source in now.victims[:_VICTIMS]:
        line = source.line
        at = line.time("onset")
        edge = next((one for one in now.case.edges if (one.caller, one.callee) == (service, seat)), None)
        sources = [source, *([edge.source] if edge else []), *_seat_source(now)]
        if at is not None and begun is not None and at >= begun:
            fields = {"victim": service, "metric": line.get("metric"), "onset": line.get("onset"), "service": seat}
            yield service, draft.add("INFERENCE", say(draft.language, "victim", **fields), sources)
        elif edge is not None:
            text = say(draft.language, "victim_calls", victim=service, service=seat)
            yield service, draft.add("INFERENCE", text, sources)
        else:
            yield service, draft.add("INFERENCE", say(draft.language, "victim_plain", victim=service), [source])


def _seat_source(now: Assessment) -> list[Source]:
    return [now.first_failing_source] if now.first_failing_source is not None else []


def _conclusion(draft: _Draft, now: Assessment, proof: list[str], victims: list[tuple[str, str]]) -> Mapping[str, Any]:
    first = now.first_failing or (None if now.first_failing_source else now.component)
    told = {"first": first} if first else {}
    open_ = "" if first else "_open"
    if now.suspicion is not None:
        change, rule = now.suspicion.change, now.suspicion.match.mechanism
        phrase = _phrase(draft, rule)
        fields = {"component": now.component, "id": change.change_id, "phrase": phrase, **told}
        text, change_id = say(draft.language, f"conclusion_change{open_}", **fields), change.change_id
    else:
        assert now.cause is not None  # noqa: S101 - one of the two is there
        phrase = _phrase(draft, now.cause.rule)
        text, change_id = say(draft.language, f"conclusion_cause{open_}", phrase=phrase, **told), None
    others = [one for one in now.suspects.suspicions if one is not now.suspicion]
    return {
        "text": text,
        "component": now.component,
        "cause": phrase,
        "change_id": change_id,
        "first_failing": first,
        "affected": [service for service, _ in victims],
        "alternatives": [
            {
                "component": one.change.service,
                "cause": _phrase(draft, one.match.mechanism),
                "change_id": one.change.change_id,
            }
            for one in others[:2]
        ],
        "analysis_ids": proof,
    }


def _actions(draft: _Draft, now: Assessment, proof: list[str]) -> list[dict[str, Any]]:
    fields = {"component": now.component}
    if now.suspicion is not None:
        fields["id"] = now.suspicion.change.change_id
        action = now.suspicion.match.mechanism.action
    else:
        action = now.cause.rule.action if now.cause else ""
    steps = [{"text": say(draft.language, action, **fields), "analysis_ids": proof}]
    source = now.first_failing_source
    if source is not None and source.line.sort == "series":
        watched = {"service": source.line.get("service"), "metric": source.line.get("metric")}
        text = say(draft.language, "verify", **watched)
        ids = [one["analysis_id"] for one in draft.analyses if source.line.raw in one["quotes"]][:1]
        steps.append({"text": text, "analysis_ids": ids or proof})
    else:
        text = say(draft.language, "verify_plain", service=now.first_failing or now.component)
        steps.append({"text": text, "analysis_ids": proof})
    return steps


def _recommendations(draft: _Draft, now: Assessment, proof: list[str]) -> list[dict[str, Any]]:
    key = "prevent_change" if now.suspicion is not None else "prevent_cause"
    found = [{"text": say(draft.language, key, component=now.component), "analysis_ids": proof}]
    for source in now.case.runbooks[:1]:
        said = draft.observe("runbook", source)
        if said is not None:
            text = say(draft.language, "read_runbook", file=source.line.get("file"))
            found.append({"text": text, "analysis_ids": [said]})
    return found


def _ruled_out(draft: _Draft, now: Assessment) -> Iterable[str]:
    """State why each other live change isn't the cause, nearest to the onset first; yields the analysis ids."""
    begun = onset_of(now)
    taken = now.suspicion.change.change_id if now.suspicion else None
    others = {one.change_id: one for one in live_changes(now.case) if one.change_id != taken}
    order = sorted(others.values(), key=lambda one: abs((one.at - begun).total_seconds()) if begun else 0.0)
    for change in order[:_RULED_OUT]:
        yield _rule_out(draft, now, change)
    for flag in [one for one in now.case.changes if one.kind == "FLAG"][:2]:
        text = say(draft.language, "flag", id=flag.change_id, at=flag.source.line.get("at"))
        yield draft.add("INFERENCE", text, [flag.source])


def _rule_out(draft: _Draft, now: Assessment, change: Change) -> str:
    sources = list(dict.fromkeys([change.source, change.diff_source]))
    quotes = [change.source.line.raw]
    innocence = now.suspects.innocent.get(change.change_id)
    series = now.alert_series
    if innocence is Innocence.LATE and series is not None:
        onset = series.source.line.get("onset")
        text = say(draft.language, "late", id=change.change_id, at=change.source.line.get("at"), onset=onset)
        return draft.add("INFERENCE", text, [change.source, series.source])
    room = now.suspects.rooms.get(change.change_id)
    if innocence is Innocence.ROOM and room is not None:
        line = room.source.line
        fields = {name: line.get(name) for name in ("service", "metric", "baseline")}
        lines = _verbatim(change, [(sign, text) for _, sign, text in change.diff[:2]])
        text = say(draft.language, "room", id=change.change_id, **fields)
        return draft.add("INFERENCE", text, [*sources, room.source], [*quotes, *lines, line.raw])
    if innocence is None or innocence is Innocence.LATE:
        key = "weaker" if now.decided else "before_decided"
        return draft.add("INFERENCE", say(draft.language, key, id=change.change_id), sources, quotes)
    lines = _verbatim(change, [(sign, text) for _, sign, text in change.diff[:2]])
    text = say(draft.language, innocence.value, id=change.change_id)
    return draft.add("INFERENCE", text, sources, [*quotes, *lines])
