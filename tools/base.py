"""The shape of an evidence tool, whatever backend answers it."""

from abc import ABC, abstractmethod
from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from tools.vocabulary import Evidence, EvidenceKind, Scope, SourceError


class IncidentContext(BaseModel):
    """What a run knows of its incident before it asks anything.

    `as_of` (aware, UTC) is the moment against which relative times are resolved; `zone` is the IANA zone of times that
    name none. The rest is None where nobody said it.
    """

    model_config = ConfigDict(frozen=True)

    as_of: datetime
    zone: str = "Asia/Shanghai"
    service: str | None = None
    metric: str | None = None
    environment: str | None = None
    enterprise: str | None = None
    window: str | None = None
    error: str | None = None


class PreviousObservation(BaseModel):
    """The model's word on the observation that is pending (spec: "Invalid progress protocol SHALL be repairable")."""

    model_config = ConfigDict(extra="forbid")

    tool_call_id: str = Field(description="上一次观察的 tool_call_id")
    information_gain: Literal["GAINED", "NO_GAIN"] = Field(description="上一次观察是否带来新的诊断信息")


class Arguments(BaseModel):
    """Base of every tool's argument model: unknown fields are refused, and nothing has a default.

    A field that may be left open is required and nullable (`str | None`): small models never fill optional fields, and
    strict schemas refuse defaults.
    """

    model_config = ConfigDict(extra="forbid")


class SourceFailure(Exception):
    """Raised by a tool whose source can't answer. Carries codes and names, never another exception's text.

    `near_names`: for UNKNOWN_SELECTOR, at most five names that this source does know; for ANSWER_TOO_LARGE, what the
    question can be narrowed by. `field`: the argument at fault. `detail`: what is at fault, in a few words of ours for
    who set the source up; no model reads it.
    """

    def __init__(
        self,
        code: SourceError,
        *,
        near_names: tuple[str, ...] = (),
        field: str | None = None,
        detail: str | None = None,
    ) -> None:
        super().__init__(code.value)
        self.code = code
        self.near_names = near_names[:5]
        self.field = field
        self.detail = detail


class SettingFault(SourceFailure):
    """A source couldn't be asked for a fault of its settings (a file that can't be read): nothing was sent."""


class EvidenceTool(ABC):
    """A read-only source of evidence. It asks, it never writes.

    A subclass names itself, describes its scope in a table in its docstring, and gives two functions: `normalize`,
    pure, and `collect`, which does the I/O and can be cancelled.
    """

    name: str
    description: str
    kind: EvidenceKind
    arguments: type[BaseModel]

    @abstractmethod
    def normalize(self, arguments: Any, incident: IncidentContext) -> Scope:
        """Return the scope of a question: JSON values in canonical form, display options left out.

        `arguments` is an instance of `self.arguments`. Equal questions in any spelling give equal scopes. Raises
        ValueError with `args == (field name,)` where an argument has no meaning (a time that can't be read).
        """

    @abstractmethod
    async def collect(self, scope: Scope, arguments: Any, incident: IncidentContext) -> Evidence:
        """Ask the source and return bounded evidence; raises SourceFailure where it can't answer."""

    def suggest(self, incident: IncidentContext) -> Scope | None:
        """Return the scope of the one question that an on-call engineer would ask of this source first, or None."""
        return None

    def paste(self, scope: Scope) -> str:
        """Return a query that a person can paste into the source's own client to ask `scope` by hand."""
        return f"{self.name} {dict(scope)}"
