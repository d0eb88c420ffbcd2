# ruff: noqa: S608 -- statements are composed of fixed text of this package and the frozen side's; values are parameters
"""Records, generalized into signatures by the frozen side's own SQL."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from tools.frozen.database import Loaded, Rows
from tools.frozen.logs import load_logs
from tools.frozen.signatures import FIRST_LINE, generalized
from tools.live.logs.judging import SLICES, Reach
from tools.live.logs.records import LogRecord
from tools.live.logs.source import Count
from tools.live.spool import spooled

_SEEN = f"""
    WITH told AS (
        SELECT service, coalesce(severity, '-') AS severity, moment, seq, message, extra,
            {generalized(FIRST_LINE)} AS signature,
            greatest(0, least({SLICES - 1}, date_sub('us', $begin, moment) // $step_us)) AS slice
        FROM logs WHERE moment >= $begin),
    counted AS (
        SELECT service, severity, signature, slice, count(*) AS records, min(moment) AS first, max(moment) AS last,
            arg_min(message, (moment, seq)) AS message, arg_min(extra, (moment, seq)) AS extra
        FROM told GROUP BY ALL)
    SELECT service, severity, signature,
        list({{'slice': slice, 'records': records, 'first': first, 'last': last}} ORDER BY slice),
        coalesce(arg_min(message, slice) FILTER (slice >= $window), arg_min(message, slice)),
        coalesce(arg_min(extra, slice) FILTER (slice >= $window), arg_min(extra, slice))
    FROM counted GROUP BY service, severity, signature ORDER BY sum(records) DESC, service, severity, signature
    """


@dataclass(frozen=True)
class Seen:
    """A signature among records: how many of them have it in each slice, and the first of them in the window."""

    service: str
    severity: str
    signature: str
    counts: tuple[Count, ...]
    message: str
    extra: str

    @property
    def records(self) -> int:
        """Return how many of the records have this signature."""
        return sum(row.records for row in self.counts)


async def signatures_of(records: Sequence[LogRecord], reach: Reach, window: int) -> tuple[Seen, ...]:
    """Return the signatures of records, the most frequent first; `window` is the first slice of the window asked for.

    A record that continues a stack trace belongs to the one before it, as in a frozen incident. Raises SourceFailure as
    the frozen side does.
    """

    def seen(rows: Rows, _: Loaded) -> tuple[Seen, ...]:
        begin = reach.begin.astimezone(UTC).replace(tzinfo=None)
        step_us = max(1, int(reach.step.total_seconds() * 1e6))
        found = rows.all(_SEEN, begin=begin, step_us=step_us, window=window)
        return tuple(
            Seen(service, severity, signature, _counts(service, severity, slices), message, extra or "")
            for service, severity, signature, slices, message, extra in found
        )

    if not records:
        return ()
    return await spooled({"logs": (record.document() for record in records)}, {"logs": load_logs}, seen)


def _counts(service: str, severity: str, slices: list[dict[str, datetime | int]]) -> tuple[Count, ...]:
    return tuple(
        Count(service, severity, int(one["slice"]), int(one["records"]), _aware(one["first"]), _aware(one["last"]))  # type: ignore[arg-type]
        for one in slices
    )


def _aware(moment: datetime) -> datetime:
    return moment.replace(tzinfo=UTC)
