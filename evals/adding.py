"""Turning a run's record into a case: what the sources answered then is replayed, and a person says what's right.

A case is one JSON file: the question, what is expected, and each tool's recorded answers by scope. It holds evidence,
so it's as confidential as the incident. The suite `recorded` runs these cases.
"""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from evals.cases import Case
from evals.plan import digest_json
from graph.verify import NotARecord, read_record, verify
from tools.vocabulary import Evidence, EvidenceKind, SourceError

SUITE = "recorded"
USUAL_DIRECTORY = Path("eval-cases")
UNPROVEN = "unproven"
EXPECTABLE = ("change", "component", "first_failing")


class NotACase(Exception):
    """The record makes no case. The text is one clear line."""


class Answered(BaseModel):
    """What a source answered to a scope: evidence, or the code of its error."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    scope: dict[str, Any]
    evidence: Evidence | None = None
    error: SourceError | None = None


class RecordedTool(BaseModel):
    """A tool as the record knows it. `arguments`: the names of its arguments, as requests and scopes show them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    kind: EvidenceKind
    arguments: tuple[str, ...]
    answers: tuple[Answered, ...]


class RecordedCase(BaseModel):
    """The content of a case's file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    case: Case
    tools: tuple[RecordedTool, ...]


def read_expectations(words: Sequence[str]) -> dict[str, str]:
    """Return what a person expects: `change=ID` or `change=none`, `component=NAME`, `first_failing=NAME`, or the one
    word `unproven`, by which nothing may be published. Raises NotACase."""
    if list(words) == [UNPROVEN]:
        return {}
    found = {}
    for word in words:
        name, equals, value = word.partition("=")
        if name not in EXPECTABLE or not equals or not value.strip():
            known = ", ".join(f"{name}=…" for name in EXPECTABLE)
            raise NotACase(f"--expect {word!r} isn't understood; it's {known}, or {UNPROVEN} alone")
        found[name] = value.strip()
    if not found:
        raise NotACase("say what's right with --expect")
    return found


def add_case(record_file: Path, expect: Sequence[str], directory: Path) -> Path:
    """Write the case that a record makes into `directory` and return its file.

    Raises NotACase: an expectation that isn't understood, a file that holds no record, or one that doesn't verify.
    """
    expected = read_expectations(expect)
    try:
        record = read_record(record_file)
    except NotARecord as error:
        raise NotACase(str(error)) from None
    if (difference := verify(record).difference) is not None:
        raise NotACase(f"{record_file} doesn't verify, so it makes no case: {difference}")
    recorded = case_of(record, expected)
    path = directory / f"{recorded.case.case_id}.json"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        text = json.dumps(recorded.model_dump(mode="json"), ensure_ascii=False, indent=1)
        path.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise NotACase(f"{path} can't be written: {error.strerror}") from None
    return path


def case_of(record: dict[str, Any], expected: dict[str, str]) -> RecordedCase:
    """Return the case that a record makes. Raises NotACase where the run had no query or no answer of any source."""
    run = record["inputs"]["run"]
    turns = [turn["text"] for turn in run["turns"] if turn["role"] == "human"]
    tools = _tools(record["inputs"])
    if not turns or not tools:
        raise NotACase("the run has no query, or asked no source that answered")
    incident = run["incident"] or {"as_of": run["as_of"]}
    case = Case(
        suite=SUITE,
        case_id=re.sub(r"[^A-Za-z0-9_-]", "-", run["run_id"])[:32],
        cluster=digest_json(incident)[:16],
        query=turns[-1],
        incident={"as_of": run["as_of"], **incident},
        locale=run["locale"],
        source_digest=digest_json([tool.model_dump(mode="json") for tool in tools]),
        expected={"unproven": not expected, **expected},
    )
    return RecordedCase(case=case, tools=tools)


def _tools(inputs: dict[str, Any]) -> tuple[RecordedTool, ...]:
    stored = [entry["stored"] for entry in inputs["ledger"] if entry["stored"]]
    asked: dict[str, set[str]] = {}
    for message in inputs["transcript"]:
        for call in message.get("tool_calls") or ():
            asked.setdefault(call["name"], set()).update(call["args"])
    tools = []
    for name in dict.fromkeys(one["tool_name"] for one in stored):
        own = [one for one in stored if one["tool_name"] == name]
        names = asked.get(name, set()) - {"previous_observation"} | {key for one in own for key in one["scope"]}
        answers = tuple(
            Answered(scope=one["scope"], evidence=one["evidence"], error=one["error"])
            for one in own
            if one["evidence"] or one["error"]
        )
        tools.append(RecordedTool(name=name, kind=own[0]["kind"], arguments=tuple(sorted(names)), answers=answers))
    return tuple(tools)
