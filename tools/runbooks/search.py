"""`search_runbooks`: the evidence tool over any library of runbooks. Reference material, never proof.

Source: spec, "Harness SHALL assign only deterministic no-gain signals", scenario "Reference material is non-empty";
decided contract, "Answers of tools".
"""

import re
import shlex
from collections.abc import Iterator
from typing import Any

from pydantic import Field

from tools.base import Arguments, EvidenceTool, IncidentContext
from tools.canonical import canonical_scope, fold
from tools.hygiene import CONTINUATION, clean_lines
from tools.runbooks.library import MAX_SECTIONS, Found, Library
from tools.runbooks.sections import CASE, Section
from tools.runbooks.words import asked_words
from tools.vocabulary import Evidence, EvidenceKind, EvidenceStatus, Provenance, RelevanceLevel, Scope

DEFAULT_SECTIONS = 3
MAX_SECTION_LINES = 60


class RunbookArguments(Arguments):
    """What the model says: words to look for, and how many sections it wants to read."""

    query: str = Field(description="要查的现象或处置，中文或英文关键词，例如“支付 连接池 耗尽”")
    limit: int | None = Field(description="最多返回几节，1 到 10；null 为 3。只影响显示，不影响查询范围")


class RunbookSearch(EvidenceTool):
    """Search the team's runbooks and past cases.

    | argument | in the scope | normalized |
    |---|---|---|
    | query | yes | width, case and blanks folded |
    | limit | no (display) | – |
    """

    name = "search_runbooks"
    description = "在运维手册（Markdown，中文和英文）里按关键词查找章节。只作参考，不能证明本次故障的原因。"
    kind = EvidenceKind.RUNBOOKS
    arguments = RunbookArguments

    def __init__(self, library: Library) -> None:
        self._library = library

    def normalize(self, arguments: Any, incident: IncidentContext) -> Scope:
        """Return `{"query"}`; raises ValueError("query") where it holds no word to search for."""
        if not asked_words(arguments.query):
            raise ValueError("query")
        return canonical_scope({"query": arguments.query})

    async def collect(self, scope: Scope, arguments: Any, incident: IncidentContext) -> Evidence:
        """Return the best sections, whole as far as the bound allows; raises SourceFailure as the library does."""
        limit = min(max(arguments.limit or DEFAULT_SECTIONS, 1), MAX_SECTIONS)
        return _evidence(await self._library.search(str(scope["query"])), limit)

    def suggest(self, incident: IncidentContext) -> Scope | None:
        """Return the search for what is known of the incident: service, metric and error."""
        query = fold(" ".join(word for word in (incident.service, incident.metric, incident.error) if word))
        return canonical_scope({"query": query}) if asked_words(query) else None

    def paste(self, scope: Scope) -> str:
        """Return a `grep` for any of the query's words."""
        words = "|".join(re.escape(word) for word in asked_words(str(scope["query"])))
        return f"grep -rniE {shlex.quote(words)} {shlex.quote(self._library.place())}"


def _evidence(found: Found, limit: int) -> Evidence:
    shown = [hit.section for hit in found.hits[:limit]]
    lines = clean_lines(line for section in shown for line in _lines_of(section))
    cut = any(len(section.lines) > MAX_SECTION_LINES for section in shown)
    unreadable = (f"UNREADABLE_FILES:{found.unreadable}",) if found.unreadable else ()
    return Evidence(
        status=EvidenceStatus.EVIDENCE if shown else EvidenceStatus.NO_EVIDENCE,
        relevance=RelevanceLevel.REFERENCE,
        provenance=Provenance.TEXT,
        content=lines if shown else (),
        summary=_summary(found),
        truncated=found.relevant > limit or cut or found.partial,
        notes=(*unreadable, *found.notes),
    )


def _lines_of(section: Section) -> Iterator[str]:
    heading = section.headings[-1] if section.headings else "-"
    kind = f" kind={CASE}" if section.kind == CASE else ""
    yield f"runbook file={_value(section.file)} section={_value(heading)}{kind} | {section.title}"
    yield from (CONTINUATION + line for line in section.lines[:MAX_SECTION_LINES])


def _value(text: str) -> str:
    return re.sub(r"[\s|=]+", "_", text.strip())[:120] or "-"


def _summary(found: Found) -> str:
    files = "-" if found.files is None else found.files
    if not found.hits:
        return f"runbooks files={files}: none of {found.sections} sections is relevant"
    names = ", ".join(_value(file) for file in dict.fromkeys(hit.section.file for hit in found.hits))
    return f"runbooks files={files}: {found.relevant} of {found.sections} sections are relevant, in {names}"
