"""`zhizhi doctor`: each configured source on a line, and what to do about those that can't be asked."""

import asyncio
from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from app.inputs import NO_SOURCES, BadInput
from app.layout import Paragraph
from app.report import HANGING
from app.terminal import plain, show
from app.words import Words
from graph.settings import HarnessSettings
from tools.live.doctor import Finding, examine
from tools.live.registry import open_evidence
from tools.live.source import HttpSource, SourceSettings
from tools.vocabulary import SourceError

_SPEAK_OF_HTTP = frozenset(
    {
        SourceError.BACKEND_UNAVAILABLE,
        SourceError.ACCESS_DENIED,
        SourceError.QUERY_REJECTED,
        SourceError.SOURCE_MISSING,
        SourceError.SOURCE_UNREADABLE,
    }
)
_NOTHING_THERE = frozenset({SourceError.SOURCE_MISSING, SourceError.SOURCE_UNREADABLE})
"""Where a file or a database isn't what it should be, there's nobody who was reached."""


def check_sources(settings: HarnessSettings, words: Words) -> int:
    """Print what each source turned out to be; returns 0 where all can be asked, else 1. Raises BadInput for none."""
    if not settings.sources:
        raise BadInput(NO_SOURCES)
    findings = asyncio.run(_examined(settings))
    show(*_lines(findings, settings, words))
    return 0 if all(finding.well for finding in findings) else 1


async def _examined(settings: HarnessSettings) -> list[Finding]:
    try:
        evidence = open_evidence(settings.sources)
    except ValueError as error:
        raise BadInput(str(error)) from None
    try:
        return await examine(evidence.sources)
    finally:
        await evidence.close()


def _lines(findings: Sequence[Finding], settings: HarnessSettings, words: Words) -> Iterator[RenderableType]:
    for finding in findings:
        kind = settings.sources[finding.name].type
        title = finding.name if finding.name == kind else f"{finding.name} ({kind})"
        mark, style = ("✓", "green") if finding.well else ("✗", "bold red")
        checks = list(_checks(finding, words))
        if finding.failure in _NOTHING_THERE and not isinstance(settings.sources[finding.name], HttpSource):
            checks = checks[-1:]
        yield Text.assemble((f"{mark} {title}", style), "  ", "  ".join(checks))
        if advice := _advice(finding, settings.sources[finding.name], words):
            yield Paragraph(Text(f"→ {advice}".replace("<NAME>", finding.name.upper()), "yellow"), 4, HANGING)


def _checks(finding: Finding, words: Words) -> Iterator[str]:
    label = words.doctor
    for name, outcome in (("reachable", finding.reachable), ("authorized", finding.authorized)):
        if outcome is not None:
            yield f"{label[name if outcome else f'not_{name}']}"
    if finding.skew_seconds is not None:
        yield f"{label['clock']} {finding.skew_seconds:+.1f} s"
    if finding.sample is not None:
        yield f"{label['sample']}: {plain(finding.sample)}"
    if finding.failure is not None:
        yield f"{finding.failure} ({plain(finding.fault)})" if finding.fault else finding.failure


def _advice(finding: Finding, settings: SourceSettings, words: Words) -> str | None:
    if finding.failure is None:
        return words.advice["CLOCK_SKEW"] if finding.clock_agrees is False else None
    if finding.reachable is None:
        return words.advice["SETTING_FAULT"]
    over_http = isinstance(settings, HttpSource) or finding.failure not in _SPEAK_OF_HTTP
    return words.advice[finding.failure if over_http else "NOT_OVER_HTTP"]
