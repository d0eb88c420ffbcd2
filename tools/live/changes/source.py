"""What every source of changes answers."""

from abc import abstractmethod
from dataclasses import dataclass, replace
from datetime import datetime
from typing import ClassVar

from tools.live.changes.records import Commit, Deploy, Recorded
from tools.live.source import Source
from tools.vocabulary import ChangeKind, Scope


@dataclass(frozen=True)
class Carried:
    """The commits that a deploy brought, the deployed one first; `cut` where there were more."""

    commits: tuple[Commit, ...] = ()
    cut: bool = False


class ChangeSource(Source):
    """One place where changes are recorded, opened. `tells`: the kinds of changes that stand there. `local`: whether
    asking it costs no request; such a source is asked first where one answer is enough."""

    tells: ClassVar[frozenset[ChangeKind]]
    local: ClassVar[bool] = False

    @abstractmethod
    async def recorded(self, start: datetime, end: datetime) -> Recorded:
        """Return the changes of [start, end), aware UTC times, and the services that this source knows.

        Diffs are brief (`diffs.BRIEF_LINES`). Raises SourceFailure where the source can't answer.
        """

    @abstractmethod
    async def change(self, folded: str) -> Recorded:
        """Return the records of one change, diffs whole: its id folded, or at least seven characters of its SHA.

        Nothing where the source doesn't know it; `known` then holds ids that it does know. Raises SourceFailure.
        """

    async def carried(self, deploy: Deploy, *, whole: bool = False) -> Carried:
        """Return the commits that a deploy brought, the deployed one first; none where this source doesn't know it."""
        return Carried()

    @abstractmethod
    def paste(self, scope: Scope) -> str:
        """Return what a person can paste to ask a scope (`service`, `start`, `end`, or `change_id`) here by hand."""


class ListedSource(ChangeSource):
    """A source that tells its whole, short history at once."""

    @abstractmethod
    async def listed(self) -> Recorded:
        """Return all that is recorded; raises SourceFailure where the source can't answer."""

    async def recorded(self, start: datetime, end: datetime) -> Recorded:
        listed = await self.listed()
        return replace(listed.within(start, end), services=listed.names())

    async def change(self, folded: str) -> Recorded:
        return (await self.listed()).of_id(folded)


def window_of(scope: Scope) -> tuple[datetime, datetime]:
    """Return a scope's window as aware UTC times, start included and end excluded."""
    return datetime.fromisoformat(scope["start"]), datetime.fromisoformat(scope["end"])
