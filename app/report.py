"""A Release as a person reads it. Rendered from the structured fields alone; no text of it is taken for markup."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from rich.console import Group, RenderableType
from rich.rule import Rule
from rich.text import Text

from app.layout import Paragraph
from app.terminal import plain
from app.words import Words
from graph.contract.draft import Analysis, Conclusion, Draft, StatementItem
from graph.contract.release import Release, VerifiedSource
from graph.contract.vocabulary import ReleaseOutcome

_OUTCOME_STYLE = {
    ReleaseOutcome.SUCCESS: "bold green",
    ReleaseOutcome.FALLBACK: "bold yellow",
    ReleaseOutcome.FAILED: "bold red",
    ReleaseOutcome.CANCELLED: "bold magenta",
}
_WINDOW = ("start", "end")
HANGING = 4
"""How much further lines of a paragraph are set in below its first."""


def render_report(release: Release, words: Words) -> RenderableType:
    """Return the report of any Release: the proven draft at SUCCESS, else what was checked and what is missing."""
    parts = [_banner(release, words)]
    if release.draft is not None:
        parts += _draft(release, release.draft, words)
    else:
        parts += _progress(release, words)
    parts += _limitations(release, words)
    parts.append(_footer(release, words))
    return Group(*parts)


def scope_text(scope: Mapping[str, Any]) -> str:
    """Return a scope in one line, `key=value` by `key=value`, its window last and in short; nulls left out."""
    named = [f"{key}={_value(value)}" for key, value in scope.items() if key not in _WINDOW and value is not None]
    start, end = (scope.get(key) for key in _WINDOW)
    if start or end:
        named.append(f"{_value(start or '…')}→{_value(end or '…')}")
    return plain(" ".join(named))


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{key}={_value(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return ",".join(map(_value, value))
    return str(value)


def _banner(release: Release, words: Words) -> RenderableType:
    style = _OUTCOME_STYLE[release.outcome]
    lines: list[RenderableType] = [
        Rule(Text(f" {words.outcome[release.outcome]} ", style), style=style.removeprefix("bold ")),
        Text(words.outcome_note[release.outcome], "dim"),
    ]
    if release.fallback_type is not None:
        lines.append(Text(words.fallback_type[release.fallback_type], style))
    return Group(*lines)


@dataclass(frozen=True)
class _Proof:
    """What the sentences of a draft refer to: each sentence's number, the records, where a quote is shown first."""

    number: Mapping[str, int]
    sources: Mapping[str, VerifiedSource]
    quoted_in: Mapping[str, int]
    words: Words

    def marks(self, analysis_ids: Iterable[str]) -> Text:
        """Return the numbers of the sentences that something rests on."""
        return Text("".join(f"[{self.number[one]}]" for one in dict.fromkeys(analysis_ids)), "cyan")


def _draft(release: Release, draft: Draft, words: Words) -> Iterator[RenderableType]:
    ruled_out = set(draft.limitations.ruled_out)
    held = [analysis for analysis in draft.analyses if analysis.analysis_id not in ruled_out]
    refuted = [analysis for analysis in draft.analyses if analysis.analysis_id in ruled_out]
    ordered = [*held, *refuted]
    number = {analysis.analysis_id: index for index, analysis in enumerate(ordered, start=1)}
    quoted_in: dict[str, int] = {}
    for analysis in ordered:
        for quote in analysis.quotes:
            quoted_in.setdefault(quote, number[analysis.analysis_id])
    sources = {source.tool_call_id: source for source in release.verified_sources}
    proof = _Proof(number, sources, quoted_in, words)
    if draft.conclusion is not None:
        yield from _conclusion(draft.conclusion, proof)
    for title, analyses in (("proof", held), ("ruled_out", refuted)):
        if analyses:
            yield _heading(words.label[title])
        for analysis in analyses:
            yield from _analysis(analysis, proof)
    yield from _statements("action_plan", draft.action_plan, proof)
    yield from _statements("recommendations", draft.recommendations, proof)


def _conclusion(conclusion: Conclusion, proof: _Proof) -> Iterator[RenderableType]:
    label = proof.words.label
    yield _heading(label["conclusion"])
    yield _indented(Text.assemble(plain(conclusion.text), " ", proof.marks(conclusion.analysis_ids)), 2)
    yield _field(label["component"], conclusion.component)
    yield _field(label["cause"], conclusion.cause)
    yield _field(label["change"], conclusion.change_id or label["no_change"])
    if conclusion.first_failing:
        yield _field(label["first_failing"], conclusion.first_failing)
    if conclusion.affected:
        yield _field(label["affected"], ", ".join(conclusion.affected))
    for other in conclusion.alternatives:
        change = f" ({other.change_id})" if other.change_id else ""
        yield _field(label["alternatives"], f"{other.component}: {other.cause}{change}")


def _analysis(analysis: Analysis, proof: _Proof) -> Iterator[RenderableType]:
    own = proof.number[analysis.analysis_id]
    kind = proof.words.analysis_kind.get(analysis.kind, "?")
    yield _indented(Text.assemble((f"[{own}] ", "cyan"), (f"{kind}  ", "dim"), plain(analysis.text)), 2)
    for quote in analysis.quotes:
        if proof.quoted_in[quote] == own:
            yield _indented(Text.assemble((f"{proof.words.label['quote']} ", "dim"), f"“{plain(quote)}”"), 6)
    if earlier := sorted({proof.quoted_in[quote] for quote in analysis.quotes} - {own}):
        marks = "".join(f"[{one}]" for one in earlier)
        yield _indented(Text.assemble((f"{proof.words.label['quoted_in']} ", "dim"), (marks, "cyan")), 6)
    for call_id in analysis.tool_call_ids:
        yield _indented(_citation(call_id, proof), 6)


def _citation(call_id: str, proof: _Proof) -> Text:
    words = proof.words
    cited = Text.assemble((f"{words.label['source']} ", "dim"), (plain(call_id), "cyan"))
    source = proof.sources.get(call_id)
    if source is not None:
        told = f"{words.provenance[source.provenance]}, {words.relevance[source.relevance_level]}"
        cut = f", {words.label['truncated']}" if source.truncated else ""
        cited.append(f" {plain(source.source)} ({told}{cut}) {scope_text(source.scope)}", "dim")
    return cited


def _statements(title: str, items: Sequence[StatementItem], proof: _Proof) -> Iterator[RenderableType]:
    if items:
        yield _heading(proof.words.label[title])
    for index, item in enumerate(items, start=1):
        yield _indented(Text.assemble(f"{index}. {plain(item.text)} ", proof.marks(item.analysis_ids)), 2)


def _progress(release: Release, words: Words) -> Iterator[RenderableType]:
    label = words.label
    if release.missing_info:
        yield _heading(label["missing_info"])
        yield from (_indented(Text(f"· {words.missing_info[item]}"), 2) for item in release.missing_info)
    if release.onset or release.first_failing:
        yield Text()
    if release.onset:
        yield _field(label["onset"], _moment(release.onset))
    if release.first_failing:
        yield _field(label["first_failing"], release.first_failing)
    if release.observed_facts:
        yield _heading(label["checked"])
    for index, fact in enumerate(release.observed_facts, start=1):
        cut = Text(f" ({label['truncated']})", "yellow") if fact.truncated else Text()
        yield _indented(Text.assemble(f"{index}. ", (plain(fact.source), "cyan"), f" {scope_text(fact.scope)}"), 2)
        yield _indented(Text.assemble(plain(fact.result), cut), 5)
    yield from _changes(release, words)
    yield from _gaps(release, words)


def _changes(release: Release, words: Words) -> Iterator[RenderableType]:
    if release.unproven_changes:
        yield _heading(f"{words.label['unproven_changes']} ({words.label['unproven']})")
    for change in release.unproven_changes:
        named = f"{words.change_kind[change.kind]} {change.change_id}"
        line = f"{_moment(change.at)}  {named}  {change.service or '-'}  "
        yield _indented(Text.assemble(plain(line), " ", (words.label["unproven"], "yellow")), 2)


def _gaps(release: Release, words: Words) -> Iterator[RenderableType]:
    if release.gaps:
        yield _heading(words.label["gaps"])
    for gap in release.gaps:
        head = f"{words.evidence_kind[gap.kind]}: {words.gap_reason[gap.reason]}"
        yield _indented(Text.assemble(f"· {head}  ", (scope_text(gap.scope), "dim")), 2)
        # No indent that a person would have to strip, and no wrapping: the line is there to be pasted.
        if gap.query:
            yield Text(plain(gap.query), "bold", no_wrap=True, overflow="ignore")


def _limitations(release: Release, words: Words) -> Iterator[RenderableType]:
    if release.limitations:
        yield _heading(words.label["limitations"])
    for limitation in release.limitations:
        source = f"{plain(limitation.source)}: " if limitation.source else ""
        told = words.limitation[limitation.code]
        yield _indented(Text.assemble(f"· {source}{told} ", (f"({limitation.code})", "dim")), 2)


def _footer(release: Release, words: Words) -> RenderableType:
    model = f"{words.label['diagnosed_by']}: {release.model or words.label['nothing']}"
    return Group(Text(), Text(plain(f"{model} · {words.label['run']}: {release.run_id}"), "dim"))


def _heading(title: str) -> RenderableType:
    return Group(Text(), Text(title, "bold"))


def _field(name: str, value: str) -> RenderableType:
    return _indented(Text.assemble((f"{name}: ", "dim"), plain(value)), 2)


def _indented(text: Text, blanks: int) -> RenderableType:
    return Paragraph(text, blanks, HANGING)


def _moment(at: datetime) -> str:
    return at.isoformat(timespec="seconds").replace("+00:00", "Z")
