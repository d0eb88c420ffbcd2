"""Several sources of one kind answer as one.

Source: decided contract, "Answers of tools": an error is never an absence, and a name is unknown only where every
source says so.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from tools.base import SourceFailure
from tools.vocabulary import SourceError

Opened = TypeVar("Opened")
Answered = TypeVar("Answered")


@dataclass(frozen=True)
class Gathered(Generic[Answered]):
    """The answers by source, in the order of the settings, and the failure of each source that gave none."""

    answers: Mapping[str, Answered]
    failures: Mapping[str, SourceFailure]

    @property
    def notes(self) -> tuple[str, ...]:
        """Return one remark for each source that failed, for `Evidence.notes`; such evidence is truncated, too."""
        return tuple(f"SOURCE_FAILED:{name}" for name in self.failures)

    def absence(self) -> None:
        """Call this where no answer holds anything: raises the failure of a source that failed, since what it would
        have said isn't known."""
        for failure in self.failures.values():
            raise SourceFailure(failure.code, near_names=failure.near_names, field=failure.field)


async def ask_all(
    sources: Mapping[str, Opened], question: Callable[[Opened], Awaitable[Answered]]
) -> Gathered[Answered]:
    """Ask every source at once and return who said what. A source that doesn't know a name that another knows has
    nothing to add, so UNKNOWN_SELECTOR is no failure beside an answer.

    Raises SourceFailure where no source answered: UNKNOWN_SELECTOR with the near names of all where each says so, else
    the first other failure. A cancelled caller cancels every question.
    """
    asked = [asyncio.ensure_future(outcome(question(source))) for source in sources.values()]
    try:
        outcomes = dict(zip(sources, await asyncio.gather(*asked), strict=True))
    finally:
        for task in asked:
            task.cancel()
    answers = {name: one[0] for name, one in outcomes.items() if not isinstance(one, SourceFailure)}
    failures = {name: one for name, one in outcomes.items() if isinstance(one, SourceFailure)}
    grave = {name: one for name, one in failures.items() if one.code is not SourceError.UNKNOWN_SELECTOR}
    if not answers:
        raise _joined(list((grave or failures).values()))
    return Gathered(answers, grave)


async def outcome(question: Awaitable[Answered]) -> tuple[Answered] | SourceFailure:
    """Return the answer to a question, alone in a tuple, or why there is none."""
    try:
        return (await question,)
    except SourceFailure as failure:
        return failure


def _joined(failures: list[SourceFailure]) -> SourceFailure:
    first = failures[0] if failures else SourceFailure(SourceError.SOURCE_MISSING)
    near = dict.fromkeys(name for one in failures if one.code is first.code for name in one.near_names)
    return SourceFailure(first.code, near_names=tuple(near), field=first.field)
