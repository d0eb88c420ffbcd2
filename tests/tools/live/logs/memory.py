"""A place of logs in memory, by the words of the interface alone: what tools say of one is not a backend's doing."""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from typing_extensions import override

from tests.tools.live.logs.told import Line
from tools.base import SourceFailure
from tools.live.logs.records import record_of
from tools.live.logs.source import Bound, Count, Counts, Known, LogQuestion, LogSource, Phrase, Records
from tools.live.source import Probe
from tools.vocabulary import SourceError


@dataclass
class MemoryLogs(LogSource):
    """Lines, matched in Python. `fails_after`: so many questions are answered before it fails with `failure`.

    `bound` is what its counts are said to be. `blind`: phrases that hold this text are found nowhere, as by a backend
    that takes texts apart in another way.
    """

    lines: Iterable[Line]
    name: str = "memory"
    fails_after: int | None = None
    failure: SourceError = SourceError.BACKEND_UNAVAILABLE
    bound: Bound = Bound.EXACT
    blind: str | None = None
    asked: list[tuple[str, LogQuestion]] = field(default_factory=list)
    fetched: int = 0

    def __post_init__(self) -> None:
        self._lines = sorted(self.lines, key=lambda line: line.at)

    @override
    async def known(self, asked: str | None, until: datetime) -> Known:
        return Known(tuple(dict.fromkeys(line.service for line in self._lines)))

    @override
    async def counts(self, question: LogQuestion, slices: int) -> Counts:
        tally: Counter[tuple[str, str, int]] = Counter()
        for line in self._matching("counts", question):
            number = int((line.at - question.start) / (question.end - question.start) * slices)
            tally[line.service, line.level, number] += 1
        return Counts(tuple(Count(*key, number) for key, number in tally.items()), self.bound)

    @override
    async def records(self, question: LogQuestion, limit: int, *, latest: bool = False) -> Records:
        found = self._matching("records", question)
        kept = found[-limit:] if latest else found[:limit]
        self.fetched += len(kept)
        rows = (
            record_of(line.at, line.service, line.message, severity=line.level, trace_id=line.trace_id) for line in kept
        )
        return Records(tuple(rows), len(kept) == len(found))

    @override
    def paste(self, question: LogQuestion) -> str:
        return f"memory {question.services} {question.contains}"

    @override
    async def probe(self) -> Probe:
        return Probe(datetime.now(UTC), f"{len(self._lines)} lines")

    @override
    async def close(self) -> None:
        pass

    def _matching(self, sort: str, question: LogQuestion) -> list[Line]:
        self.asked.append((sort, question))
        if self.fails_after is not None and len(self.asked) > self.fails_after:
            raise SourceFailure(self.failure)
        first = bisect_left(self._lines, question.start, key=lambda line: line.at)
        last = bisect_left(self._lines, question.end, key=lambda line: line.at)
        return [line for line in self._lines[first:last] if self._matches(line, question)]

    def _matches(self, line: Line, question: LogQuestion) -> bool:
        if question.services and line.service not in question.services:
            return False
        if question.severities is not None and line.level not in question.severities:
            return False
        text = " ".join(line.message.casefold().split())
        held = (question.contains is None or question.contains in text) and (
            not question.words or any(re.search(rf"\b{re.escape(word)}\b", text) for word in question.words)
        )
        if not held or (question.phrase is not None and not self._holds(question.phrase, text)):
            return False
        return not any(self._holds(phrase, text) for phrase in question.without)

    def _holds(self, phrase: Phrase, text: str) -> bool:
        if self.blind is not None and any(self.blind in run for run in phrase.runs):
            return False
        position = 0
        for run in phrase.runs:
            found = text.find(" ".join(run.casefold().split()), position)
            if found < 0:
                return False
            position = found + len(run)
        return True


def repeated(line: Line, times: int, *, until: datetime) -> list[Line]:
    """Return a line again and again, evenly from its own time; `{}` in its text is the number."""
    step = (until - line.at) / max(1, times)
    return [replace(line, at=line.at + number * step, message=line.message.format(number)) for number in range(times)]


def heads(content: Sequence[str]) -> list[str]:
    """Return the lines that begin a signature or a record."""
    return [line for line in content if not line.startswith("  ")]
