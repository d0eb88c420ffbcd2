"""The inputs of a run's record, as read: what models, sources, the clock and the settings gave.

Source: design, decision 3; `docs/records.md` describes each field.
"""

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from graph.contract.limits import Limits
from graph.contract.records import InvocationKey
from graph.contract.vocabulary import EvidenceKind, FailureCode, LimitationCode, ModelComponent, SourceError


class _Input(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Turn(_Input):
    """A public message before this run's Release."""

    role: str
    text: str


class RunFacts(_Input):
    """Which run it is, and what the caller, the router and the clock said of it. `started_at` is POSIX seconds."""

    run_id: str
    run_number: int
    as_of: str
    zone: str
    locale: str
    incident: dict[str, Any] | None
    context: dict[str, str | None]
    started_at: float
    turns: tuple[Turn, ...]


class Reply(_Input):
    """One admitted attempt at a model: what it cost (None where nobody said), why it failed (None: it didn't), and what
    a router (`diagnosis`, `other`) or a reviewer (its verdict) said."""

    component: ModelComponent
    input_tokens: int | None
    output_tokens: int | None
    code: FailureCode | None
    said: str | None


class Call(_Input):
    """A tool call, its arguments as the model gave them; those of an unparsable one are text."""

    id: str
    name: str | None
    args: Any


class Read(_Input):
    """How a tool read a call: the arguments at fault, or the normalized scope."""

    call_id: str
    faults: tuple[str, ...]
    scope: dict[str, Any] | None


class AiMessage(_Input):
    """A request of the diagnosis model."""

    type: Literal["ai"]
    content: str
    tool_calls: tuple[Call, ...]
    invalid_tool_calls: tuple[Call, ...]
    read: tuple[Read, ...]


class ToolAnswer(_Input):
    """What the model was told of one call."""

    type: Literal["tool"]
    tool_call_id: str
    content: str


class Entry(_Input):
    """A canonical invocation: its key, its record where the ledger has it, the query that asks it by hand."""

    key: InvocationKey
    stored: dict[str, Any] | None
    paste: str | None


class LedgerGap(_Input):
    """A read of the ledger that gave no believable record."""

    reader: str
    call_id: str
    code: LimitationCode | SourceError


class Inputs(_Input):
    """All of it."""

    run: RunFacts
    limits: Limits
    versions: dict[str, str]
    prompts: dict[str, str]
    model: str | None
    tools: tuple[str, ...]
    times: tuple[datetime, ...]
    """When each event of the trace was told."""
    replies: tuple[Reply, ...]
    transcript: tuple[AiMessage | ToolAnswer, ...]
    submissions: tuple[str, ...]
    ledger: tuple[Entry, ...]
    ledger_gaps: tuple[LedgerGap, ...]
    suggested: tuple[tuple[EvidenceKind, dict[str, Any], str], ...]
