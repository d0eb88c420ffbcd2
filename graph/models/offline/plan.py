"""Which bounded question to ask next, and whether the last answer was a gain."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from graph.models.offline.assessment import Assessment, assess, onset_of
from graph.models.offline.facts import read_case
from graph.models.offline.questions import Question, budget_is_left, closed_questions
from graph.models.offline.suspects import live_changes
from graph.models.offline.ties import SAMPLING
from graph.models.offline.transcript import Observation, Transcript

MAX_CALLS = 8
"""Tool calls in one run: within the default budget of model calls with a draft to come; contract, "Budgets"."""
MAX_REQUESTS = 12
"""Requests, rejected ones included."""


def next_question(transcript: Transcript, tools: Mapping[str, Mapping[str, Any]], now: Assessment) -> Question | None:
    """Return the next question, or None where there is nothing more to ask.

    `tools` maps the name of each bound tool to the JSON schema of its arguments. Questions that were answered, or
    refused for good, aren't asked again; the first error that may pass in a run is tried once more.
    """
    if transcript.stopped or not _may_ask(transcript):
        return None
    closed = closed_questions(transcript)
    for wanted in _wanted(transcript, now):
        schema = tools.get(wanted.tool)
        question = _fitted(wanted, schema, now) if schema is not None else None
        if question is not None and question.key not in closed:
            return question
    return None


def gain_of_pending(transcript: Transcript) -> str:
    """Return GAINED where the pending observation changed the picture of the case, else NO_GAIN."""
    pending = transcript.pending
    before: list[Observation] = []
    for observation in transcript.observations:
        if observation.call_id == pending:
            then = assess(read_case(before), transcript.service).picture()
            later = assess(read_case([*before, observation]), transcript.service).picture()
            return "GAINED" if then != later else "NO_GAIN"
        before.append(observation)
    return "NO_GAIN"


def _may_ask(transcript: Transcript) -> bool:
    if len(transcript.observations) >= MAX_CALLS or len(transcript.requests) >= MAX_REQUESTS:
        return False
    return budget_is_left(transcript)


def _wanted(transcript: Transcript, now: Assessment) -> Iterator[Question]:
    """Yield the questions of an investigation in order: alert, what broke first, what changed, what is new in logs."""
    anywhere = {"service": None, "start": None, "end": None}
    yield Question("get_alerts", {"service": None})
    yield Question("query_metrics", {**anywhere, "metric": None})
    yield Question("list_changes", {**anywhere, "change_kind": None})
    yield Question("find_log_signatures", anywhere)
    yield from _narrowed(transcript, now)
    yield from _unseen_diffs(now)
    if not now.decided or _several_services(now):
        yield Question("query_traces", {**anywhere, "operation": None})
    if not now.decided and not now.case.signatures:
        place = now.alert.service if now.alert else transcript.service
        yield Question(
            "search_logs", {**anywhere, "service": place, "contains": None, "severity": "ERROR", "limit": 20}
        )
    if now.decided:
        yield Question("search_runbooks", {"query": _topic(now), "limit": 3})


def _narrowed(transcript: Transcript, now: Assessment) -> Iterator[Question]:
    """Ask again, of one service, what was cut short before it told of that service."""
    place = now.alert.service if now.alert else transcript.service
    if place is None:
        return
    window = {"service": place, "start": None, "end": None}
    cut = {observation.tool for observation in transcript.observations if observation.truncated}
    if "query_metrics" in cut and now.alert_series is None:
        yield Question("query_metrics", {**window, "metric": None})
    if "find_log_signatures" in cut and not any(one.service == place for one in now.case.signatures):
        yield Question("find_log_signatures", window)
    if "list_changes" in cut and not any(one.service == place for one in now.case.changes):
        yield Question("list_changes", {**window, "change_kind": "DEPLOY"})


def _unseen_diffs(now: Assessment) -> Iterator[Question]:
    """Ask for what live changes on suffering services do, where the list didn't show it."""
    if now.decided:
        return
    onset = onset_of(now)
    ill = {one.service for one in now.symptoms}
    unseen = [
        change
        for change in live_changes(now.case)
        if not change.diff and not change.complete and (onset is None or change.at <= onset + SAMPLING)
    ]
    unseen.sort(key=lambda change: (change.service not in ill, -change.at.timestamp()))
    for change in unseen[:2]:
        yield Question("get_change", {"change_id": change.change_id})


def _several_services(now: Assessment) -> bool:
    return len({one.service for one in now.symptoms}) > 1


def _topic(now: Assessment) -> str:
    rule = now.suspicion.match.mechanism.name if now.suspicion else (now.cause.rule.name if now.cause else "")
    return f"{now.component} {rule.replace('_', ' ')}".strip()


def _fitted(wanted: Question, schema: Mapping[str, Any], now: Assessment) -> Question | None:
    """Fit a question to the arguments that the bound tool really has; None where it can't be asked that way."""
    properties: Mapping[str, Any] = schema.get("properties") or {}
    required: Sequence[str] = schema.get("required") or ()
    arguments: dict[str, Any] = {}
    for name, field in properties.items():
        if name == "previous_observation":
            continue
        value = wanted.arguments.get(name)
        if value is None and not _nullable(field):
            value = now.alert.service if name == "service" and now.alert else None
            if value is None:
                if name in required:
                    return None
                continue
        arguments[name] = value
    return Question(wanted.tool, arguments)


def _nullable(field: Mapping[str, Any]) -> bool:
    kinds = field.get("type")
    if kinds == "null" or (isinstance(kinds, list) and "null" in kinds):
        return True
    branches = [*(field.get("anyOf") or ()), *(field.get("oneOf") or ())]
    return any(branch.get("type") == "null" for branch in branches)
