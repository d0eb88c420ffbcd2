"""Events as rows: of a namespace's list, and below an object's description.

Source: https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/event-v1/. Old and new clients of the API
fill different fields: `count` and `lastTimestamp`, or `series`, or `eventTime` alone.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from tools.live.kubernetes.objects import Object, age, at, one
from tools.live.kubernetes.pods import aligned
from tools.live.reading import moment

MAX_DESCRIBED = 40
_START = datetime(1, 1, 1, tzinfo=UTC)
_WORD = re.compile(r"\W+")


def last_seen(event: Object) -> datetime | None:
    """Return when an event was last seen (aware, UTC)."""
    for path in (("series", "lastObservedTime"), ("lastTimestamp",), ("eventTime",), ("metadata", "creationTimestamp")):
        found = moment(at(event, *path))
        if found is not None:
            return found
    return None


def times_of(event: Object) -> int:
    """Return how often an event was seen."""
    said = at(event, "series", "count") or event.get("count") or 1
    return int(said) if isinstance(said, int | float) else 1


def in_order(events: Iterable[Object]) -> list[Object]:
    """Return events by the time that they were last seen, the newest last."""
    return sorted(events, key=lambda event: last_seen(event) or _START)


def event_rows(events: Iterable[Object], now: datetime) -> list[dict[str, str]]:
    """Return events as rows of their table, the newest last."""
    return [
        {
            "last_seen": age(last_seen(event), now),
            "type": kind_of(event),
            "reason": reason_of(event),
            "object": f"{one(at(event, 'involvedObject', 'kind')).lower()}/{one(at(event, 'involvedObject', 'name'))}",
            "count": str(times_of(event)),
            "message": one(event.get("message") or event.get("note")),
        }
        for event in in_order(events)
    ]


def kind_of(event: Object) -> str:
    """Return an event's type: Warning, or Normal."""
    return "Warning" if event.get("type") == "Warning" else "Normal"


def reason_of(event: Object) -> str:
    """Return an event's reason in one word."""
    return _WORD.sub("_", one(event.get("reason"), 80)) or "-"


def event_lines(events: Iterable[Object], now: datetime) -> Iterator[str]:
    """Yield the last section of a description: its events, the newest last."""
    rows = [_row(event, now) for event in in_order(events)[-MAX_DESCRIBED:]]
    if not rows:
        yield "Events:  <none>"
        return
    yield "Events:"
    yield from aligned([["Type", "Reason", "Age", "From", "Message"], *rows])


def _row(event: Object, now: datetime) -> list[str]:
    last, times = age(last_seen(event), now), times_of(event)
    first = moment(event.get("firstTimestamp")) or moment(event.get("eventTime"))
    spoken = f"{last} (x{times} over {age(first, now)})" if times > 1 else last
    source = at(event, "source", "component") or event.get("reportingComponent") or event.get("reportingController")
    return [
        kind_of(event),
        reason_of(event),
        spoken,
        one(source, 80).replace(" ", "_") or "-",
        one(event.get("message")),
    ]
