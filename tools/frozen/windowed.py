"""The shape that questions over one frozen source share: asked of its database, first of everything in the window."""

from abc import abstractmethod
from typing import Any, ClassVar

from typing_extensions import override

from tools.base import EvidenceTool, IncidentContext
from tools.frozen.database import Database, Loaded, Rows
from tools.frozen.layout import expected
from tools.frozen.scopes import windowed
from tools.vocabulary import Evidence, Scope


class WindowedTool(EvidenceTool):
    """A tool over one part of a frozen incident. A subclass names its `part`, normalizes, and answers."""

    part: ClassVar[str]

    def __init__(self, database: Database) -> None:
        self._database = database
        self._path = expected(database.directory, self.part)

    @abstractmethod
    def answer(self, rows: Rows, loaded: Loaded, scope: Scope) -> Evidence:
        """Return the evidence of a scope, from the loaded tables; raises SourceFailure where a name isn't known."""

    @override
    async def collect(self, scope: Scope, arguments: Any, incident: IncidentContext) -> Evidence:
        return await self._database.ask(incident.zone, lambda rows, loaded: self.answer(rows, loaded, scope))

    @override
    def suggest(self, incident: IncidentContext) -> Scope | None:
        return windowed(incident, None, None)
