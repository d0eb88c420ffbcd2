"""Runs whose records tests check: one that was repaired and published, one that stopped, one that was cancelled."""

import copy
from collections.abc import Iterator
from typing import Any

from graph.cancellation import cancelled_update
from graph.parts import utc_now
from graph.record import run_record
from tests.support.drafts import changes, draft, metrics, reply, route, verdict
from tests.support.driving import Rig, harness, rig
from tests.support.scripted import ScriptedTool, no_conclusion, nothing, request

KEY = b"a key"
Path = tuple[str | int, ...]


async def published(*, key: bytes | None = KEY) -> dict[str, Any]:
    """Return the record of a run whose first draft was refused, repaired, reviewed and published."""
    broken = {**draft(), "recommendations": [{"text": "加告警", "analysis_ids": ["a9"]}]}
    steps = (
        request("checkout"),
        request("checkout", tool="changes", previous=("r1c1", "GAINED")),
        request("unheard-of", previous=("r1c2", "GAINED")),
        request("checkout", tool="changes"),
        reply(broken),
    )
    made = rig(*steps, repair=[reply(draft())], review=[verdict()], tools=[metrics(), changes()])
    await made.run()
    return await record_of(made, key=key)


async def stopped(*, key: bytes | None = KEY) -> dict[str, Any]:
    """Return the record of a run that was routed, went wrong in several ways, and was stopped by saturation."""
    steps = (
        request("a"),
        request("b"),
        request("b", previous=("r1c1", "GAINED")),
        request("c"),
        request("d"),
    )
    made = rig(*steps, router=[route(service="a")], tools=[ScriptedTool(lambda _: nothing())], settings=harness())
    await made.run(incident=None)
    return await record_of(made, key=key)


async def unproven(*, key: bytes | None = KEY) -> dict[str, Any]:
    """Return the record of a run that ended in a draft without a conclusion."""
    cites = [{"analysis_id": "a1", "kind": "OBSERVATION", "text": "慢", "quotes": [], "tool_call_ids": ["r1c1"]}]
    made = rig(request("checkout"), no_conclusion(cites=cites), tools=[metrics()])
    await made.run()
    return await record_of(made, key=key)


async def cancelled(before: str, *, key: bytes | None = KEY) -> dict[str, Any]:
    """Return the record of a run that was cancelled before a node."""
    steps = (request("checkout"), request("nowhere", previous=("r1c1", "NO_GAIN")), no_conclusion())
    made = rig(*steps, tools=[metrics()])
    values = await made.pause(before)
    told = {"run_id": values["run_id"], "locale": "zh", "clock": utc_now}
    update = cancelled_update(values, **told, writer=lambda _: None)
    await made.graph.aupdate_state(made.config(), update, as_node="release")
    return await record_of(made, key=key)


async def record_of(made: Rig, *, key: bytes | None = KEY) -> dict[str, Any]:
    """Return the record of a rig's latest run."""
    return await run_record(await made.values(), tools=made.tools, store=made.store, key=key)


def leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield every leaf of a JSON value with its path; an empty container is a leaf."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    if not value or not (isinstance(value, dict | list)):
        yield path, value
    for name, item in items:
        yield from leaves(item, (*path, name))


def spelled(path: Path) -> str:
    """Return a path as differences spell it."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".")


def altered(value: Any) -> Any:
    """Return another value of a leaf, of the same type where it has one."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    if isinstance(value, str):
        return value[:-1] + ("0" if value[-1:] != "0" else "1")
    return "something" if value is None else [*value, "something"] if isinstance(value, list) else {"some": "thing"}


def with_leaf(record: dict[str, Any], path: Path, value: Any) -> dict[str, Any]:
    """Return a copy of a record with one leaf replaced."""
    changed = copy.deepcopy(record)
    place: Any = changed
    for part in path[:-1]:
        place = place[part]
    place[path[-1]] = value
    return changed
