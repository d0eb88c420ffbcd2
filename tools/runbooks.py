"""Runbooks: Markdown files in Chinese and English, searched by section. Reference material, never proof.

Source: spec, "Harness SHALL assign only deterministic no-gain signals", scenario "Reference material is non-empty";
decided contract, "Answers of tools". Sections are ranked by BM25 over segmented text, as SQLite's full-text index
counts it; a section that shares too little with the query is not shown, so that nothing relevant is NO_EVIDENCE.
"""

import asyncio
import math
import re
import shlex
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import rjieba
from markdown_it import MarkdownIt
from pydantic import Field

from tools.base import Arguments, EvidenceTool, IncidentContext, SourceFailure
from tools.canonical import canonical_scope, fold
from tools.hygiene import CONTINUATION, clean_lines
from tools.vocabulary import Evidence, EvidenceKind, EvidenceStatus, Provenance, RelevanceLevel, Scope, SourceError

DEFAULT_SECTIONS = 3
MAX_SECTIONS = 10
MAX_SECTION_LINES = 60
MAX_FILES = 1_000
MAX_FILE_BYTES = 1_000_000
ENOUGH_SHARED = 0.3
"""The part of the query's terms, weighed by how rare they are, that a section must hold to be relevant."""

_SUFFIXES = frozenset({".md", ".markdown"})
_ASCII_WORD = re.compile(r"[A-Za-z][a-z]+|[A-Z]+(?![a-z])|[a-z]+|\d+")
_HAN = re.compile(r"[\u3400-\u9fff]+")
_BY_BM25 = "SELECT rowid FROM section WHERE section MATCH ? ORDER BY bm25(section, 4.0, 1.0), rowid"
"""A word in a title counts as four in the text."""
_STOP_WORDS = frozenset(
    re.findall(
        r"\w+",
        """the and for with from that this are was how what why when not can you your our all any into out then than has
        have is it to of in on at by be or if
        一个 我们 你们 可以 如何 怎么 怎样 什么 为什么 是否 以及 或者 并且 如果 因为
        所以 进行 已经 没有 这个 那个 出现 问题""",
    )
)


class RunbookArguments(Arguments):
    """What the model says: words to look for, and how many sections it wants to read."""

    query: str = Field(description="要查的现象或处置，中文或英文关键词，例如“支付 连接池 耗尽”")
    limit: int | None = Field(description="最多返回几节，1 到 10；null 为 3。只影响显示，不影响查询范围")


@dataclass(frozen=True)
class _Section:
    """One section of a runbook: the headings above it, and its lines as they stand in the file."""

    file: str
    headings: tuple[str, ...]
    lines: tuple[str, ...]

    @cached_property
    def title_terms(self) -> list[str]:
        return _terms(" ".join([Path(self.file).stem, *self.headings]))

    @cached_property
    def body_terms(self) -> list[str]:
        return _terms("\n".join(self.lines))


class RunbookTool(EvidenceTool):
    """Search the team's runbooks.

    | argument | in the scope | normalized |
    |---|---|---|
    | query | yes | width, case and blanks folded |
    | limit | no (display) | – |
    """

    name = "search_runbooks"
    description = "在运维手册（Markdown，中文和英文）里按关键词查找章节。只作参考，不能证明本次故障的原因。"
    kind = EvidenceKind.RUNBOOKS
    arguments = RunbookArguments

    def __init__(self, directory: Path) -> None:
        """`directory` holds `*.md` files, in UTF-8 or GB18030, at any depth; it may be missing."""
        self._directory = directory

    def normalize(self, arguments: Any, incident: IncidentContext) -> Scope:
        """Return `{"query"}`; raises ValueError("query") where it holds no word to search for."""
        if not _terms(arguments.query):
            raise ValueError("query")
        return canonical_scope({"query": arguments.query})

    async def collect(self, scope: Scope, arguments: Any, incident: IncidentContext) -> Evidence:
        """Return the best sections, whole as far as the bound allows; raises SourceFailure SOURCE_MISSING without a
        directory, SOURCE_UNREADABLE where none of its files can be read."""
        limit = min(max(arguments.limit or DEFAULT_SECTIONS, 1), MAX_SECTIONS)
        return await asyncio.to_thread(self._search, str(scope["query"]), limit)

    def suggest(self, incident: IncidentContext) -> Scope | None:
        """Return the search for what is known of the incident: service, metric and error."""
        query = fold(" ".join(word for word in (incident.service, incident.metric, incident.error) if word))
        return canonical_scope({"query": query}) if _terms(query) else None

    def paste(self, scope: Scope) -> str:
        """Return a `grep` for any of the query's words."""
        words = "|".join(re.escape(term) for term in dict.fromkeys(_terms(str(scope["query"]))))
        return f"grep -rniE {shlex.quote(words)} {shlex.quote(self._directory.name + '/')}"

    def _search(self, query: str, limit: int) -> Evidence:
        if not self._directory.is_dir():
            raise SourceFailure(SourceError.SOURCE_MISSING)
        texts, unreadable = _read(self._directory)
        if unreadable and not texts:
            raise SourceFailure(SourceError.SOURCE_UNREADABLE)
        sections = [section for file, text in texts.items() for section in _sections(file, text)]
        found = _ranked(sections, query)
        shown = found[:limit]
        lines = clean_lines(line for section in shown for line in _lines_of(section))
        cut = any(len(section.lines) > MAX_SECTION_LINES for section in shown)
        return Evidence(
            status=EvidenceStatus.EVIDENCE if shown else EvidenceStatus.NO_EVIDENCE,
            relevance=RelevanceLevel.REFERENCE,
            provenance=Provenance.TEXT,
            content=lines if shown else (),
            summary=_summary(found, sections, len(texts)),
            truncated=len(found) > limit or cut,
            notes=(f"UNREADABLE_FILES:{unreadable}",) if unreadable else (),
        )


def _read(directory: Path) -> tuple[dict[str, str], int]:
    """Return the text of each runbook by its path below `directory`, and how many could not be read."""
    root = directory.resolve()
    texts: dict[str, str] = {}
    unreadable = 0
    for path in sorted(root.rglob("*"))[:MAX_FILES]:
        if path.suffix.lower() not in _SUFFIXES or not path.is_file() or not path.resolve().is_relative_to(root):
            continue
        try:
            texts[path.relative_to(root).as_posix()] = _decoded(path)
        except (OSError, UnicodeDecodeError):
            unreadable += 1
    return texts, unreadable


def _decoded(path: Path) -> str:
    with path.open("rb") as file:
        raw = file.read(MAX_FILE_BYTES + 1)
    # A bound that goes through a character must not make the whole file unreadable.
    raw = raw if len(raw) <= MAX_FILE_BYTES else raw[: raw.rfind(b"\n", 0, MAX_FILE_BYTES) + 1]
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return raw.decode("gb18030")


def _sections(file: str, text: str) -> Iterator[_Section]:
    """Yield the sections of a Markdown text that have lines of their own; a heading in a code block is none."""
    lines = text.splitlines()
    path: dict[int, str] = {}
    begin = 0
    tokens = MarkdownIt("commonmark").parse("\n".join(lines))
    for token, inline in pairwise(tokens):
        if token.type != "heading_open" or token.level or token.map is None:
            continue
        yield from _section(file, path, lines[begin : token.map[0]])
        depth = int(token.tag[1:])
        path = {level: title for level, title in path.items() if level < depth} | {depth: inline.content}
        begin = token.map[1]
    yield from _section(file, path, lines[begin:])


def _section(file: str, path: dict[int, str], lines: list[str]) -> Iterator[_Section]:
    while lines and not lines[0].strip():
        lines = lines[1:]
    while lines and not lines[-1].strip():
        lines = lines[:-1]
    if lines:
        yield _Section(file, tuple(path[level] for level in sorted(path)), tuple(lines))


def _terms(text: str) -> list[str]:
    """Return the words of a text: Chinese segmented, `connectTimeoutMs` and `read_timeout` taken apart, plurals cut."""
    spoken = [word for run in _HAN.findall(text) for word in rjieba.cut_for_search(run)]
    written = [match.group().lower() for match in _ASCII_WORD.finditer(text)]
    singular = [
        word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word for word in written
    ]
    return [word for word in (*spoken, *singular) if len(word) > 1 and word not in _STOP_WORDS]


def _ranked(sections: list[_Section], query: str) -> list[_Section]:
    """Return the relevant sections, the best first; equal ones in the order of files."""
    terms = tuple(dict.fromkeys(_terms(query)))
    held = [frozenset((*section.title_terms, *section.body_terms)) for section in sections]
    frequency = Counter(term for terms_held in held for term in terms_held)
    weights = {term: math.log(1 + len(sections) / max(frequency[term], 0.5)) for term in terms}
    enough = ENOUGH_SHARED * sum(weights.values())
    relevant = {
        number
        for number, terms_held in enumerate(held)
        if len(shared := terms_held.intersection(terms)) >= min(2, len(terms))
        and sum(weights[term] for term in shared) >= enough
    }
    return [sections[number] for number in _by_bm25(sections, terms) if number in relevant] if relevant else []


def _by_bm25(sections: list[_Section], terms: tuple[str, ...]) -> list[int]:
    with closing(sqlite3.connect(":memory:")) as index:
        index.execute("CREATE VIRTUAL TABLE section USING fts5(title, body)")
        index.executemany(
            "INSERT INTO section (rowid, title, body) VALUES (?, ?, ?)",
            (
                (number, " ".join(section.title_terms), " ".join(section.body_terms))
                for number, section in enumerate(sections)
            ),
        )
        rows = index.execute(_BY_BM25, (" OR ".join(f'"{term}"' for term in terms),))
        return [number for (number,) in rows]


def _lines_of(section: _Section) -> Iterator[str]:
    title = " > ".join(section.headings) or section.file
    heading = section.headings[-1] if section.headings else "-"
    yield f"runbook file={_value(section.file)} section={_value(heading)} | {title}"
    yield from (CONTINUATION + line for line in section.lines[:MAX_SECTION_LINES])


def _value(text: str) -> str:
    return re.sub(r"[\s|=]+", "_", text.strip())[:120] or "-"


def _summary(found: list[_Section], sections: list[_Section], files: int) -> str:
    if not found:
        return f"runbooks files={files}: none of {len(sections)} sections is relevant"
    names = ", ".join(_value(file) for file in dict.fromkeys(section.file for section in found[:MAX_SECTIONS]))
    return f"runbooks files={files}: {len(found)} of {len(sections)} sections are relevant, in {names}"
