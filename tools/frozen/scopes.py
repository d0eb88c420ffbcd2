"""Scopes of questions to a frozen incident: folded names and a window of whole UTC minutes."""

from datetime import datetime

from pydantic import Field

from tools.base import Arguments, IncidentContext
from tools.canonical import canonical_scope
from tools.vocabulary import Scope
from tools.windows import resolve_window

_TIMES = frozenset({"start", "end"})


class WindowedArguments(Arguments):
    """What most questions say: of which service, in which window; null leaves a field open."""

    service: str | None = Field(description="服务名；不限时填 null")
    start: str | None = Field(description="起始时间，ISO 或相对时间；默认事发前 3 小时，填 null")
    end: str | None = Field(description="结束时间，ISO 或相对时间；默认事发后 15 分钟，填 null")


def windowed(incident: IncidentContext, start: str | None, end: str | None, **names: str | None) -> Scope:
    """Return the canonical scope of `names` in the window; blank names are left out. Raises ValueError(field)."""
    window = resolve_window(start, end, incident).as_scope()
    return canonical_scope({**named(**names), **window}, exact=_TIMES)


def named(**names: str | None) -> Scope:
    """Return the canonical scope of `names` alone; blank names are left out."""
    scope = canonical_scope(names)
    return {key: value for key, value in scope.items() if value}


def bounds(scope: Scope) -> tuple[datetime, datetime]:
    """Return a scope's window, start included and end excluded, as naive UTC times, which is what the tables hold."""
    start, end = (datetime.fromisoformat(scope[key]).replace(tzinfo=None) for key in ("start", "end"))
    return start, end
