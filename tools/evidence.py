"""What a tool answers: evidence, or a coded failure of its source."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, TypeAlias

from pydantic import BaseModel, ConfigDict

from tools.vocabulary import (
    ChangeKind,
    EvidenceStatus,
    Provenance,
    RelevanceLevel,
    SourceError,
)

Scope: TypeAlias = Mapping[str, Any]
"""What is asked, of whom, in which window: plain JSON values, normalized, so that equal questions are equal."""


class ChangeRef(BaseModel):
    """A change that a source recorded. `at` is an aware UTC time; `service` is None where the record names none."""

    model_config = ConfigDict(frozen=True)

    kind: ChangeKind
    change_id: str
    service: str | None = None
    at: datetime


class Evidence(BaseModel):
    """One bounded answer of a READY query, in the words that the model, the guards and the fallback all read.

    `content` is a tuple of lines. A line of fields is logfmt: `key=value key=value`, values without blanks; free text
    of the source, which is hostile, stands last, behind ` | `, or on further lines that begin with two blanks; so no
    text of a source ever stands at the start of a line.
    """

    model_config = ConfigDict(frozen=True)

    status: EvidenceStatus
    relevance: RelevanceLevel = RelevanceLevel.DIRECT
    provenance: Provenance
    content: tuple[str, ...] = ()
    summary: str
    """Objective: entity, value, unit, baseline and onset where there are such; no line of the source's text."""
    truncated: bool = False
    components: tuple[str, ...] = ()
    """The services, pods, hosts that wrote or are measured here; two TEXT records of different ones are independent."""
    onset: datetime | None = None
    """When the measured behaviour left its baseline (aware, UTC)."""
    first_failing: str | None = None
    """The component that failed first, where it was measured (metrics, spans)."""
    changes: tuple[ChangeRef, ...] = ()
    """The changes recorded in the scope."""
    notes: tuple[str, ...] = ()
    """Bounded remarks on the source's quality, in codes: `BROKEN_LINES:3`, `ZONE_ASSUMED:Asia/Shanghai`."""


class SourceFailure(Exception):
    """Raised by a tool whose source can't answer. Carries codes and names, never another exception's text.

    `near_names`: for UNKNOWN_SELECTOR, at most five names that this source does know. `field`: the argument at fault.
    """

    def __init__(self, code: SourceError, *, near_names: tuple[str, ...] = (), field: str | None = None) -> None:
        super().__init__(code.value)
        self.code = code
        self.near_names = near_names[:5]
        self.field = field
