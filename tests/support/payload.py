"""What must not be in a trace, a stream or a checkpoint, and the walk that proves it of a run.

Source: spec "Model token audit SHALL be component-scoped and reconcilable", "Rejected Tool requests SHALL remain
observable without payload disclosure"; contract, "Trace and audit".
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Any

from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.base import BaseStore

import graph.contract.vocabulary as words
from graph.contract.trace import MAX_EVENT_BYTES, MAX_EVENTS, UNSUPPORTED_TOOL_NAME, TraceEvent
from prompts.loader import render
from tests.support.driving import Run

CLOSED_WORDS = frozenset(
    member.value
    for name in words.__all__
    for member in getattr(words, name)
    if issubclass(getattr(words, name), StrEnum)
)
CALL_ID = re.compile(r"r\d+c\d+")
RUN_ID = re.compile(r"[0-9a-f]{32}")
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00")

PROMPTS = tuple(
    text
    for locale in ("zh", "en")
    for text in (
        render("diagnosis", locale=locale),
        render("evidence_repair", locale=locale),
        render("semantic_guard"),
        render("router"),
    )
)


def check_run(run: Run) -> None:
    """Assert what holds of every run: a trace without payload, one Release, an answer for each call, no prompt out."""
    for event in (*run.streamed, *run.state["trace"]):
        check_event(event, run.tool_names)
    assert [event["seq"] for event in run.state["trace"]] == sorted(event["seq"] for event in run.state["trace"])
    check_answers(run)
    check_plain(run)
    check_no_prompt(spoken(data) for _, data in run.chunks)
    if run.state.get("release"):
        check_release(run)


def check_event(event: Mapping[str, Any], tool_names: Iterable[str]) -> None:
    """Assert that an event holds closed words, counts, made ids and registered names, and nothing else."""
    assert TraceEvent.model_validate(event).stored() == event
    assert len(json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode()) <= MAX_EVENT_BYTES
    shapes = {"run_id": RUN_ID, "call_id": CALL_ID, "at": MOMENT}
    for name, value in event.items():
        for text in strings_in(value):
            if name in shapes:
                assert shapes[name].fullmatch(text), (name, text)
            elif name == "tool_name":
                assert text in {*tool_names, UNSUPPORTED_TOOL_NAME}
            else:
                assert text in CLOSED_WORDS, (name, text)


def check_plain(run: Run) -> None:
    """Assert that nodes write plain JSON and messages, so that a state from a checkpoint is the same state."""
    for update in (data for mode, data in run.chunks if mode == "updates"):
        for node, written in update.items():
            for name, value in (written or {}).items():
                assert name in ("messages", "transcript") or is_plain(value), (node, name, value)


def is_plain(value: Any) -> bool:
    """Return whether a value is JSON and of no subclass of its types, as an enumeration's member would be."""
    if type(value) is dict:
        return all(type(key) is str and is_plain(item) for key, item in value.items())
    if type(value) is list:
        return all(map(is_plain, value))
    return value is None or type(value) in (str, int, float, bool)


def check_answers(run: Run) -> None:
    """Assert that each tool call of the transcript has its one answer, in the order of the calls."""
    asked = [
        str(call["id"])
        for message in run.state.get("transcript") or ()
        if isinstance(message, AIMessage)
        for call in (*message.tool_calls, *message.invalid_tool_calls)
    ]
    assert run.answered_ids == (asked if run.state.get("release") else asked[: len(run.answered_ids)])
    stops = [answer for answer in run.answers if answer["type"] == "STOP_REQUIRED"]
    assert len(stops) <= 1


def check_release(run: Run) -> None:
    """Assert that the run left exactly one Release, that it's the newest public text, and that it holds its own draft
    at SUCCESS alone."""
    events = run.state["trace"]
    assert [event["type"] for event in events].count("RELEASE") == 1
    assert events[-1]["type"] == "RELEASE"
    assert len(events) <= MAX_EVENTS + len([e for e in events if e["type"] != "TOOL_INVOCATION"])
    assert run.state["messages"][-1].text == run.release["text"]
    assert run.release["run_id"] == run.state["run_id"]
    success = run.release["outcome"] == "SUCCESS"
    assert (run.release["draft"] is not None) is success
    assert (run.state["draft"] is not None) is success
    assert run.state["draft_text"] is None
    assert (run.release["fallback_type"] is not None) is (run.release["outcome"] == "FALLBACK")


def check_no_prompt(texts: Iterable[str]) -> None:
    """Assert that no line of a prompt stands in any of the texts."""
    for text in texts:
        for line in PROMPT_LINES:
            assert line not in text


PROMPT_LINES = tuple(
    dict.fromkeys(line for prompt in PROMPTS for line in prompt.splitlines() if len(line) > 20 and '"' not in line)
)
"""Lines that stand in a prompt and nowhere else, and that JSON spells as they are."""


def strings_in(value: Any) -> Iterator[str]:
    """Return every string in a JSON value, keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield str(key)
            yield from strings_in(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from strings_in(item)


def spoken(value: Any) -> str:
    """Return everything that a value says, as one text: messages with their fields, exceptions with theirs."""
    return json.dumps(value, ensure_ascii=False, default=_plain)


def _plain(value: Any) -> Any:
    if hasattr(value, "model_dump"):
        return value.model_dump()
    if isinstance(value, BaseException):
        return [repr(value), repr(value.__cause__), repr(value.__context__)]
    if hasattr(value, "_asdict"):
        return value._asdict()
    return vars(value) if hasattr(value, "__dict__") else repr(value)


def checkpointed(saver: InMemorySaver) -> str:
    """Return all bytes of a saver's checkpoints, blobs and pending writes as one text."""
    found = _bytes_in([saver.storage, saver.blobs, saver.writes])
    return "\n".join(part.decode("utf-8", "replace") for part in found)


def _bytes_in(value: Any) -> Iterator[bytes]:
    if isinstance(value, bytes):
        yield value
    elif isinstance(value, str):
        yield value.encode()
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _bytes_in(key)
            yield from _bytes_in(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _bytes_in(item)


async def recorded(store: BaseStore) -> str:
    """Return all that a store holds, as one text."""
    return spoken([item.value for item in await store.asearch((), limit=1000)])
