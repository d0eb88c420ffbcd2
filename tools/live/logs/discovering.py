"""Finding the signatures of far more records than can be fetched.

A stratum is what has one gravity. One that is small is fetched whole and counts itself. Of a larger one a sample of
every slice of time is fetched; what its signatures say in fixed words is counted at the backend, over the window and
the baseline; and the next sample leaves out what is known, so that the rare comes up beneath the frequent, until
nothing is left. A stratum is complete where the backend, leaving out all that is known, counts exactly none: every
record then is counted under a signature (under more than one where phrases overlap, which its counts say). What sounds
harmless and is below WARN, often far more than all the rest, doesn't make an answer incomplete; a note says that it was
sampled.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from tools.base import SourceFailure
from tools.live.logs.everywhere import Everywhere
from tools.live.logs.judging import SLICES, WINDOW_BEGINS, Reach
from tools.live.logs.phrases import TROUBLE_WORDS, holds, phrase_of
from tools.live.logs.sampling import Seen, signatures_of
from tools.live.logs.source import Bound, Counts, LogQuestion, Phrase

FEW = 2_000
"""How many records are fetched whole."""
SAMPLE = 600
"""How many records a sample holds at most."""
PHRASES = 12
"""How many signatures of one sample are counted at the backend."""
SAMPLED_SLICES = 6
SECONDS = 25.0
"""After this long no further sample is begun, and the answer says that it isn't complete."""

_LOW = frozenset({"INFO", "DEBUG", "TRACE", "-"})


@dataclass(frozen=True)
class Stratum:
    """Records of one gravity, and how many samples of them are worth their time. `harmless`: those that were left in
    samples of it are remarked and leave the answer whole."""

    severities: frozenset[str]
    rounds: int
    words: tuple[str, ...] = ()
    harmless: bool = False

    def of(self, question: LogQuestion) -> LogQuestion:
        """Return the question, of this stratum's records only."""
        return replace(question, severities=self.severities, words=self.words)


STRATA = (
    Stratum(frozenset({"FATAL", "ERROR"}), 3),
    Stratum(frozenset({"WARN"}), 2),
    Stratum(_LOW, 2, TROUBLE_WORDS),
    Stratum(_LOW, 2, harmless=True),
)


@dataclass(frozen=True)
class Candidate:
    """A signature with its counts. `phrase`: what they were asked by; None where all its records were fetched.

    `shared`: records of another signature hold the phrase, too, so that the counts are upper bounds.
    """

    seen: tuple[Seen, ...]
    counts: Counts
    phrase: Phrase | None = None
    shared: bool = False


@dataclass
class Findings:
    """What was found so far. `complete`: every record was seen, or counted under what was seen, but for harmless ones;
    `sampled`: of those, only a sample was."""

    candidates: list[Candidate] = field(default_factory=list)
    complete: bool = True
    uncounted: int = 0
    sampled: bool = False
    late: bool = False
    failure: SourceFailure | None = None

    def notes(self) -> tuple[str, ...]:
        """Return codes of what was left out and why."""
        uncounted = (f"UNCOUNTED_SIGNATURES:{self.uncounted}",) if self.uncounted else ()
        failed = (f"INCOMPLETE:{self.failure.code.value}",) if self.failure else ()
        late = ("INCOMPLETE:TIME",) if self.late else ()
        sampled = ("SAMPLED:INFO",) if self.sampled else ()
        return (*uncounted, *failed, *late, *sampled)


async def discover(everywhere: Everywhere, question: LogQuestion, totals: Counts, reach: Reach) -> Findings:
    """Return the signatures of a question's records, whose counts by slice are `totals`.

    Raises SourceFailure where nothing was found because the backend failed; a failure later ends the search.
    """
    findings = Findings()
    late = asyncio.get_running_loop().time() + SECONDS
    for stratum in STRATA:
        if _is_late(late, findings):
            break
        try:
            await _explore(everywhere, stratum, stratum.of(question), totals, reach, findings, late)
        except SourceFailure as failure:
            if not findings.candidates:
                raise
            findings.failure, findings.complete = failure, False
            break
    return findings


async def _explore(
    everywhere: Everywhere,
    stratum: Stratum,
    question: LogQuestion,
    totals: Counts,
    reach: Reach,
    findings: Findings,
    late: float,
) -> None:
    rows = [row for row in totals.rows if row.severity in stratum.severities]
    if stratum.words and rows:
        rows = list((await everywhere.counts(question, SLICES)).rows)
    left = {row.slice: 0 for row in rows if row.slice >= WINDOW_BEGINS}
    for row in rows:
        if row.slice in left:
            left[row.slice] += row.records
    if not left:
        return
    if sum(row.records for row in rows) <= FEW:
        await _fetch_all(everywhere, question, reach, findings)
        return
    exhausted = await _peel(_Peeling(everywhere, question, reach, findings), stratum.rounds, left, late)
    if stratum.harmless:
        findings.sampled = not exhausted
    elif not exhausted:
        findings.complete = False


async def _fetch_all(everywhere: Everywhere, question: LogQuestion, reach: Reach, findings: Findings) -> None:
    records = await everywhere.records(question, FEW + FEW // 2)
    bound = Bound.EXACT if records.complete else Bound.AT_LEAST
    findings.complete = findings.complete and records.complete
    for seen in await signatures_of(records.rows, reach, WINDOW_BEGINS):
        findings.candidates.append(Candidate((seen,), Counts(seen.counts, bound)))


@dataclass
class _Peeling:
    """The work on one stratum: what was seen, and what is explained by a phrase."""

    everywhere: Everywhere
    question: LogQuestion
    reach: Reach
    findings: Findings
    seen: list[Seen] = field(default_factory=list)
    explained: list[Phrase] = field(default_factory=list)


async def _peel(work: _Peeling, rounds: int, left: Mapping[int, int], late: float) -> bool:
    """Look at sample after sample; return whether every record of the window was counted, each count being exact."""
    uncounted = work.findings.uncounted
    found: list[Candidate] = []
    window = replace(work.question, start=work.question.slice_bounds(WINDOW_BEGINS, SLICES)[0])
    for _ in range(rounds):
        if not left or _is_late(late, work.findings):
            break
        chosen = _spread(sorted(left))
        fresh = await _look(work, replace(window, without=tuple(work.explained)), chosen)
        if not fresh:
            break
        found += await _counted(work, fresh)
        work.explained += fresh
        rest = await work.everywhere.counts(replace(window, without=tuple(work.explained)), SLICES - WINDOW_BEGINS)
        left = {row.slice + WINDOW_BEGINS: row.records for row in rest.rows} if rest.bound is Bound.EXACT else left
    work.findings.candidates += [replace(one, shared=_is_shared(one, work.seen)) for one in found]
    exact = all(one.counts.bound is Bound.EXACT for one in found)
    return not left and exact and work.findings.uncounted == uncounted


async def _look(work: _Peeling, window: LogQuestion, chosen: Sequence[int]) -> list[Phrase]:
    """Fetch a sample; return the phrases of its most frequent signatures."""
    each = max(1, SAMPLE // len(chosen))
    numbers = [number - WINDOW_BEGINS for number in chosen]
    sample = await work.everywhere.sample(window, each, SLICES - WINDOW_BEGINS, numbers)
    seen = await signatures_of(sample.rows, work.reach, WINDOW_BEGINS)
    phrases = [phrase_of(one.signature) for one in seen]
    work.findings.uncounted += sum(phrase is None for phrase in phrases)
    work.seen += seen
    fresh = dict.fromkeys(phrase for phrase in phrases if phrase is not None and phrase not in work.explained)
    return list(fresh)[:PHRASES]


async def _counted(work: _Peeling, phrases: Sequence[Phrase]) -> list[Candidate]:
    """Count phrases at the backend; one that doesn't even find what was seen of it counts for nothing."""
    everyone = replace(work.question, words=())
    counted = await work.everywhere.counts_each(everyone, phrases, SLICES)
    found = []
    for phrase, counts in zip(phrases, counted, strict=True):
        seen = tuple(one for one in work.seen if phrase_of(one.signature) == phrase)
        if counts.total >= max(one.records for one in seen):
            found.append(Candidate(seen, counts, phrase))
        else:
            work.findings.uncounted += 1
    return found


def _is_shared(candidate: Candidate, everything: Sequence[Seen]) -> bool:
    phrase = candidate.phrase
    others = (one for one in everything if one not in candidate.seen)
    return phrase is not None and any(holds(phrase, one.message) for one in others)


def _is_late(late: float, findings: Findings) -> bool:
    """Whether no time is left; what was found so far is then not complete."""
    if asyncio.get_running_loop().time() <= late:
        return False
    findings.late, findings.complete = True, False
    return True


def _spread(slices: Sequence[int]) -> list[int]:
    """At most six slices, evenly over all, the last among them: an incident is told by its end."""
    if len(slices) <= SAMPLED_SLICES:
        return list(slices)
    step = (len(slices) - 1) / (SAMPLED_SLICES - 1)
    return sorted({slices[round(number * step)] for number in range(SAMPLED_SLICES)})
