"""Spans as a test tells them, before a server puts them into its own format."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

NOON = datetime(2026, 9, 8, 7, 0, tzinfo=UTC)


@dataclass(frozen=True)
class Told:
    """One span: `start` counts seconds from `NOON`, `parent` is a span of the same trace, `calls` whom it calls."""

    trace: str
    span: str
    service: str
    operation: str
    parent: str | None = None
    start: float = 0.0
    milliseconds: float = 20.0
    error: str | None = None
    calls: str | None = None
    tags: Mapping[str, str | int | bool] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    @property
    def at(self) -> datetime:
        return NOON + timedelta(seconds=self.start)


def checkout(trace: str, start: float, *, broken: bool = False, slow: bool = False) -> list[Told]:
    """One trace of web → cart → stock → database `stock-db`; `broken`: the database's pool is exhausted."""
    took = 4000.0 if broken or slow else 40.0
    error = "PoolTimeout: pool exhausted after 4000ms" if broken else None
    passed_on = "upstream answered 500" if broken else None
    status = {"http.status_code": 500 if broken else 200}
    asking = {"db.system": "postgresql"}
    return [
        Told(trace, "a", "web", "POST /checkout", None, start, took + 30, passed_on, tags=status),
        Told(trace, "b", "cart", "Reserve", "a", start + 0.01, took + 20, passed_on),
        Told(trace, "c", "stock", "Take", "b", start + 0.02, took + 10, error),
        Told(trace, "d", "stock", "SELECT stock", "c", start + 0.021, 5.0, calls="stock-db:5432", tags=asking),
    ]
