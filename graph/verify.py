"""`verify`: whether a run's record is what the rules make of its inputs, with no model, no source and no network.

Recomputed are the counters, the stops, the budgets, the guards' deterministic halves, the snapshot, the release and its
text. The first thing that differs is named. Source: design, decision 3.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from graph import __version__
from graph.contract.trace import TraceEvent
from graph.record import OUTPUTS, OWN_NAME, RECORD_FORMAT
from graph.replay.gate import Misfit
from graph.replay.inputs import Inputs
from graph.replay.nodes import Replay
from graph.replay.seals import Difference, first_broken, first_difference, is_signed_by

PARTS = ("format", "inputs", "outputs", "seals", "signature")


class NotARecord(Exception):
    """A file that holds no run record. Its text is one clear line."""


@dataclass(frozen=True)
class Verified:
    """What checking a record gave: the first difference (None: the record holds), whether its signature was checked,
    the version that wrote it, and whether that is the one that checked it: rules may change from one to the next."""

    difference: Difference | None
    signed: bool
    version: str
    current: bool


def read_record(path: Path) -> dict[str, Any]:
    """Return the record in a file; raises NotARecord."""
    try:
        record = json.loads(path.read_bytes())
    except OSError as error:
        raise NotARecord(f"{path} can't be read: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise NotARecord(f"{path} holds no JSON") from None
    if not isinstance(record, dict) or record.get("format") != RECORD_FORMAT:
        raise NotARecord(f"{path} is no run record of format {RECORD_FORMAT}")
    return record


def verify(record: Mapping[str, Any], *, key: bytes | None = None) -> Verified:
    """Check a record. With a `key`, its signature has to be the key's."""
    difference = _first(record) or (_signature(record, key) if key else None)
    inputs = record.get("inputs")
    versions = inputs.get("versions") if isinstance(inputs, dict) else None
    written = versions.get(OWN_NAME) if isinstance(versions, dict) else None
    return Verified(difference, signed=key is not None, version=str(written), current=written == __version__)


def _first(record: Mapping[str, Any]) -> Difference | None:
    missing = next((part for part in PARTS if part not in record), None)
    surplus = next((part for part in record if part not in PARTS), None)
    if missing or surplus:
        return Difference(str(missing or surplus), "the parts of a record, no more and no less", "others")
    if record["format"] != RECORD_FORMAT:
        return Difference("format", f'"{RECORD_FORMAT}"', "another")
    return first_broken(record["inputs"], record["seals"], "inputs") or _replayed(record)


def _replayed(record: Mapping[str, Any]) -> Difference | None:
    outputs = record["outputs"]
    try:
        inputs = Inputs.model_validate(record["inputs"])
    except ValidationError as error:
        loc = error.errors(include_url=False, include_input=False)[0]["loc"]
        return Difference(".".join(["inputs", *map(str, loc)]), "what a record holds there", "something else")
    trace = _trace(outputs)
    if trace is not None:
        return trace
    replay = Replay(inputs, outputs)
    try:
        state = replay.run()
    except Misfit as misfit:
        return misfit.difference
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        # Well-formed inputs that no run has: whatever rule tripped over them, the record isn't one of a run.
        return Difference("inputs", "those of a run", f"something that can't be replayed ({type(error).__name__})")
    made: dict[str, Any] = {name: state.get(name) for name in OUTPUTS} | {"published": replay.published}
    return first_difference(json.loads(json.dumps(made)), outputs, "outputs")


def _trace(outputs: Any) -> Difference | None:
    """The replay reads from the trace what no rule foretells: a failing node, a cancellation, the caller's limit of
    steps. So it has to be a trace before anything else."""
    if not isinstance(outputs, dict) or not isinstance(outputs.get("trace"), list):
        return Difference("outputs.trace", "the run's events", "something else")
    for number, event in enumerate(outputs["trace"]):
        try:
            TraceEvent.model_validate(event)
        except ValidationError as error:
            loc = error.errors(include_url=False, include_input=False)[0]["loc"]
            place = f"outputs.trace[{number}]" + (f".{loc[0]}" if loc else "")
            return Difference(place, "what a trace event may hold", "something else")
    return None


def _signature(record: Mapping[str, Any], key: bytes) -> Difference | None:
    if is_signed_by(record, key):
        return None
    return Difference("signature", "the one of the configured key", "none" if not record["signature"] else "another")
