"""Signatures that were found at a backend, told in the lines of `tools.frozen.signatures`.

A count that isn't exact says so in a field of its own, `counted=`: BY_PHRASE (the backend counted the signature's fixed
words), AT_MOST (records of another signature have those words, too), AT_LEAST (the backend answered in part), ABOUT (it
counts something close). Without the field every record was counted.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from tools.base import SourceFailure
from tools.frozen.database import Row
from tools.frozen.signatures import signature_lines
from tools.live.logs.discovering import Candidate
from tools.live.logs.everywhere import Everywhere
from tools.live.logs.judging import SLICES, Reach, Verdict, judged, rank_of
from tools.live.logs.records import LogRecord
from tools.live.logs.sampling import Seen
from tools.live.logs.source import Bound, Count, LogQuestion

_STATUS_ORDER = {"NEW": 0, "GROWN": 1}


@dataclass(frozen=True)
class Judged:
    """One signature of one service and severity that is told; `rows` are its counts by slice, in their order."""

    service: str
    severity: str
    signature: str
    verdict: Verdict
    candidate: Candidate
    rows: tuple[Count, ...]

    @property
    def counted(self) -> str | None:
        """Return what the counts are where they aren't exact."""
        if self.candidate.counts.bound is not Bound.EXACT:
            return self.candidate.counts.bound.value
        if self.candidate.phrase is None:
            return None
        return "AT_MOST" if self.candidate.shared else "BY_PHRASE"

    def order(self) -> tuple[object, ...]:
        """Return the place among others: the gravest, newest, most frequent first."""
        verdict = self.verdict
        told = (verdict.rank, _STATUS_ORDER[verdict.status], -verdict.records, verdict.first_slice)
        return (*told, self.service, self.severity, self.signature)


def judge(candidates: Iterable[Candidate], reach: Reach) -> list[Judged]:
    """Return what is new or has grown, in the order in which it is told; what was counted exactly goes before."""
    told: dict[tuple[str, str, str], Judged] = {}
    for candidate in sorted(candidates, key=lambda one: one.phrase is not None):
        for one in _judge(candidate, reach):
            told.setdefault((one.service, one.severity, one.signature), one)
    return sorted(told.values(), key=Judged.order)


def _judge(candidate: Candidate, reach: Reach) -> Iterable[Judged]:
    parts: dict[tuple[str, str], list[Count]] = defaultdict(list)
    for row in candidate.counts.rows:
        parts[row.service, row.severity].append(row)
    for (service, severity), rows in parts.items():
        own = [one for one in candidate.seen if (one.service, one.severity) == (service, severity)]
        signature = (own or candidate.seen)[0].signature
        verdict = judged(rank_of(severity, signature), rows, reach)
        if verdict is not None:
            if candidate.counts.bound is not Bound.EXACT and verdict.status == "NEW":
                # Whoever couldn't count everything can't say that there was none before.
                verdict = replace(verdict, status="GROWN")
            ordered = tuple(sorted(rows, key=lambda row: row.slice))
            yield Judged(service, severity, signature, verdict, candidate, ordered)


async def tell(everywhere: Everywhere, one: Judged, question: LogQuestion) -> Row:
    """Return a signature's row in the frozen side's form, `question` being about all slices.

    What the counts didn't bring is asked of the backend: the first and last time and, where nothing of this service was
    fetched yet, a record. What it doesn't answer then is None.
    """
    first, last = one.verdict.first_slice, one.verdict.last_slice
    by_slice = {row.slice: row for row in one.rows}
    first_seen, last_seen, sample = by_slice[first].first, by_slice[last].last, _sample(one)
    if first_seen is None or sample is None:
        earliest = await _edge(everywhere, one, question, first, latest=False)
        if earliest is not None:
            first_seen = earliest.at
            sample = sample or (earliest.message, " ".join(f"{key}={value}" for key, value in earliest.fields))
    if last_seen is None:
        latest = await _edge(everywhere, one, question, last, latest=True)
        last_seen = latest.at if latest else None
    verdict = one.verdict
    told = (one.service, one.severity, verdict.status, verdict.records, verdict.baseline)
    return (*told, _naive(first_seen), _naive(last_seen), one.signature, *(sample or ("", "")))


def lines_of(row: Row, one: Judged) -> list[str]:
    """Return a signature's lines; the first says what its counts are where they aren't exact."""
    lines = signature_lines(row)
    if one.counted is None:
        return lines
    head, bar, text = lines[0].partition(" | ")
    return [f"{head} counted={one.counted}{bar}{text}", *lines[1:]]


def _sample(one: Judged) -> tuple[str, str] | None:
    """A record of this very service and severity; another's message would accuse the wrong one."""
    own: Sequence[Seen] = [
        seen for seen in one.candidate.seen if (seen.service, seen.severity) == (one.service, one.severity)
    ]
    return (own[0].message, own[0].extra) if own else None


async def _edge(
    everywhere: Everywhere, one: Judged, question: LogQuestion, number: int, *, latest: bool
) -> LogRecord | None:
    """The first or last record of a signature in a slice."""
    start, end = question.slice_bounds(number, SLICES)
    asked = replace(question, start=start, end=end, severities=frozenset({one.severity}), phrase=one.candidate.phrase)
    with suppress(SourceFailure):
        found = await everywhere.only(one.service).records(asked, 1, latest=latest)
        return found.rows[0] if found.rows else None
    return None


def _naive(moment: datetime | None) -> datetime | None:
    return moment.astimezone(UTC).replace(tzinfo=None) if moment else None
