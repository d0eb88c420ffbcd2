"""`search_runbooks` over the configured sources of runbooks; several answer as one."""

from collections.abc import Mapping

from typing_extensions import override

from tools.base import EvidenceTool, SourceFailure
from tools.live.fanout import ask_all
from tools.live.source import Probe, Source
from tools.runbooks.library import MAX_SECTIONS, Found, Library
from tools.runbooks.search import RunbookSearch
from tools.vocabulary import SourceError

_SAMPLE = "磁盘写满 disk full"


class RunbookSource(Source):
    """A library of runbooks under the name that the user gave it."""

    def __init__(self, name: str, library: Library) -> None:
        self.name = name
        self.library = library

    @override
    async def probe(self) -> Probe:
        found = await self.library.search(_SAMPLE)
        if found.partial:
            # Words were found and the embedder was not: the doctor says so, a diagnosis goes on with the words.
            raise SourceFailure(SourceError.BACKEND_UNAVAILABLE)
        return Probe(None, f"{found.sections} sections, {found.relevant} found by a sample query")

    @override
    async def close(self) -> None:
        await self.library.close()


class Shelfful(Library):
    """Several libraries, asked at once; the best sections of all, by their relevance."""

    def __init__(self, sources: Mapping[str, RunbookSource]) -> None:
        self._sources = sources

    @override
    async def search(self, query: str) -> Found:
        """Return what is relevant in any library; raises SourceFailure where none answered, or where those that did
        hold nothing and another failed."""
        gathered = await ask_all(self._sources, lambda source: source.library.search(query))
        found = list(gathered.answers.values())
        hits = sorted((hit for one in found for hit in one.hits), key=lambda hit: -hit.score)
        if not hits:
            gathered.absence()
        return Found(
            hits=tuple(hits[:MAX_SECTIONS]),
            relevant=sum(one.relevant for one in found),
            sections=sum(one.sections for one in found),
            files=None if any(one.files is None for one in found) else sum(one.files or 0 for one in found),
            unreadable=sum(one.unreadable for one in found),
            notes=tuple(dict.fromkeys((*gathered.notes, *(note for one in found for note in one.notes)))),
            partial=bool(gathered.failures) or any(one.partial for one in found),
        )

    @override
    def place(self) -> str:
        return next(iter(self._sources.values())).library.place()


def tools_of(sources: Mapping[str, RunbookSource]) -> tuple[EvidenceTool, ...]:
    """Return `search_runbooks` over the opened sources; nothing where there are none."""
    return (RunbookSearch(Shelfful(sources)),) if sources else ()
