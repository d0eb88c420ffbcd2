"""Log records that the tests tell to every backend alike: a store that worked, and then didn't."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from tools.base import IncidentContext

AS_OF = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)
INCIDENT = IncidentContext(as_of=AS_OF, zone="UTC", service="stock")
START = AS_OF - timedelta(hours=3)
ONSET = AS_OF - timedelta(minutes=25)


@dataclass(frozen=True)
class Line:
    """A record as an application wrote it."""

    at: datetime
    service: str
    level: str
    message: str
    trace_id: str | None = None


def everyday(every: timedelta = timedelta(minutes=5)) -> Iterator[Line]:
    """What is written all day: orders, and a warning of the stock that is known."""
    at, number = AS_OF - timedelta(hours=7), 0
    while at < AS_OF + timedelta(minutes=10):
        yield Line(at, "shop", "INFO", f"order {10_000 + number} accepted in {number % 70}ms", f"t{number}")
        if number % 4 == 0:
            yield Line(at + timedelta(seconds=1), "stock", "WARN", f"slow query took {100 + number}ms on items")
        at, number = at + every, number + 1


def broken() -> Iterator[Line]:
    """What came with the incident: a pool that ran out, and orders that failed for it."""
    for number in range(30):
        at = ONSET + timedelta(seconds=20 * number)
        yield Line(
            at,
            "stock",
            "ERROR",
            f"pool exhausted after {5000 + number}ms waiting for db-primary\n"
            "java.lang.IllegalStateException: no connection\n\tat stock.Pool.take(Pool.java:42)\n"
            "Caused by: java.net.SocketTimeoutException: connect timed out",
            f"e{number}",
        )
        if number % 3 == 0:
            yield Line(at + timedelta(seconds=1), "shop", "ERROR", f"order {20_000 + number} failed: stock unavailable")


def incident() -> list[Line]:
    """All of it, in order of time."""
    return sorted([*everyday(), *broken()], key=lambda line: line.at)
