"""The EvidenceGuard: whether a draft's every sentence stands in the evidence that it cites.

Sources: spec "Deterministic Draft and evidence validation"; contract, "EvidenceGuard". Pure: the draft, the run's
verified records and a zone in, violations out. What the rules look at is prepared in `graph.contract.reading`.
"""

from collections import Counter
from collections.abc import Iterator, Mapping

from graph.contract.actions import known_names, runbook_commands
from graph.contract.conclusions import (
    conclusion_change,
    conclusion_component,
    conclusion_provenance,
    conclusion_values,
)
from graph.contract.draft import Analysis, Conclusion, Draft, StatementItem
from graph.contract.negatives import negative_calls, negative_scope
from graph.contract.reading import Reading, has_evidence
from graph.contract.records import VerifiedRecord
from graph.contract.sentences import inferred_values, observed_values, standing_quotes
from graph.contract.violations import DraftViolation, violation
from graph.contract.vocabulary import AnalysisKind
from graph.contract.vocabulary import DraftViolationCode as Code

__all__ = ["DraftViolation", "check_draft", "no_conclusion_references"]

_KINDS = {kind.value: kind for kind in AnalysisKind}


def check_draft(draft: Draft, records: Mapping[str, VerifiedRecord], *, zone: str) -> tuple[DraftViolation, ...]:
    """Return what is wrong with a concluded draft, in the draft's own order; empty where nothing is.

    `records`: this run's verified READY records by call id; an id that isn't among them is unresolved. `zone`: the
    incident's IANA zone, for the times that name none.
    """
    reading = Reading(draft, records, zone)
    found: list[DraftViolation] = []
    if draft.conclusion is not None:
        found.extend(_check_conclusion(reading, draft.conclusion))
    found.extend(unique_analysis_ids(draft))
    for number, analysis in enumerate(draft.analyses):
        found.extend(_check_analysis(reading, analysis, f"analyses[{number}]"))
    for name, items in (("action_plan", draft.action_plan), ("recommendations", draft.recommendations)):
        for number, item in enumerate(items):
            found.extend(_check_item(reading, item, f"{name}[{number}]"))
    found.extend(existing_references(reading, draft.limitations.ruled_out, "limitations.ruled_out"))
    return tuple(found)


def no_conclusion_references(draft: Draft, records: Mapping[str, VerifiedRecord]) -> tuple[str, ...]:
    """Return the call ids that a draft without a conclusion cites rightly, in order, each once; the rest is dropped.

    Rightly (spec, same requirement): the call is a verified READY one of this run, cited as an observation where it
    has evidence, as a negative one where it has none and is complete, or in an inference.
    """
    cited = (
        (analysis.kind, call_id, records[call_id])
        for analysis in draft.analyses
        for call_id in analysis.tool_call_ids
        if call_id in records
    )
    return tuple(dict.fromkeys(call_id for kind, call_id, record in cited if _semantics_obeyed(kind, record)))


def _semantics_obeyed(kind: str, record: VerifiedRecord) -> bool:
    if kind == AnalysisKind.OBSERVATION:
        return has_evidence(record)
    if kind == AnalysisKind.NEGATIVE_OBSERVATION:
        return not has_evidence(record) and not record.evidence.truncated
    return kind == AnalysisKind.INFERENCE


def _check_conclusion(reading: Reading, conclusion: Conclusion) -> Iterator[DraftViolation]:
    for where, text in (("text", conclusion.text), ("cause", conclusion.cause)):
        yield from non_blank_text(text, f"conclusion.{where}")
    yield from non_empty_references(reading, conclusion.analysis_ids, "conclusion.analysis_ids")
    yield from conclusion_provenance(reading)
    yield from conclusion_component(reading, conclusion)
    yield from conclusion_change(reading, conclusion)
    yield from conclusion_values(reading, conclusion)


def _check_analysis(reading: Reading, analysis: Analysis, path: str) -> Iterator[DraftViolation]:
    yield from supported_kind(analysis, path)
    yield from non_blank_text(analysis.text, f"{path}.text")
    yield from resolved_calls(reading, analysis, path)
    yield from standing_quotes(reading, analysis, path)
    kind = _KINDS.get(analysis.kind)
    if kind is AnalysisKind.OBSERVATION:
        yield from observed_calls(reading, analysis, path)
        yield from observed_values(reading, analysis, path)
    elif kind is AnalysisKind.NEGATIVE_OBSERVATION:
        yield from negative_calls(reading, analysis, path)
        yield from negative_scope(reading, analysis, path)
    elif kind is AnalysisKind.INFERENCE:
        yield from inferred_calls(reading, analysis, path)
        yield from inferred_values(reading, analysis, path)


def _check_item(reading: Reading, item: StatementItem, path: str) -> Iterator[DraftViolation]:
    yield from non_blank_text(item.text, f"{path}.text")
    yield from non_empty_references(reading, item.analysis_ids, f"{path}.analysis_ids")
    yield from known_names(reading, item, path)
    yield from runbook_commands(reading, item, path)


def unique_analysis_ids(draft: Draft) -> Iterator[DraftViolation]:
    """Every Analysis has a unique, non-blank Analysis ID. Blanks around an id don't make another of it."""
    times = Counter(analysis.analysis_id.strip() for analysis in draft.analyses)
    for number, analysis in enumerate(draft.analyses):
        analysis_id = analysis.analysis_id.strip()
        path = f"analyses[{number}].analysis_id"
        if not analysis_id:
            yield violation(Code.ANALYSIS_ID_BLANK, path)
        elif times[analysis_id] > 1:
            yield violation(Code.ANALYSIS_ID_DUPLICATE, path, analysis_id)


def supported_kind(analysis: Analysis, path: str) -> Iterator[DraftViolation]:
    """Every Analysis has a supported kind."""
    if analysis.kind not in _KINDS:
        yield violation(Code.ANALYSIS_KIND_UNKNOWN, f"{path}.kind", analysis.kind)


def non_blank_text(text: str, path: str) -> Iterator[DraftViolation]:
    """Every text says something."""
    if not text.strip():
        yield violation(Code.TEXT_BLANK, path)


def resolved_calls(reading: Reading, analysis: Analysis, path: str) -> Iterator[DraftViolation]:
    """Every Analysis has at least one Tool Call ID, and each is a verified READY call of this run."""
    if not analysis.tool_call_ids:
        yield violation(Code.TOOL_CALL_ID_MISSING, f"{path}.tool_call_ids")
    for number, call_id in enumerate(analysis.tool_call_ids):
        if call_id not in reading.records:
            yield violation(Code.TOOL_CALL_ID_UNRESOLVED, f"{path}.tool_call_ids[{number}]", call_id)


def non_empty_references(reading: Reading, ids: tuple[str, ...], path: str) -> Iterator[DraftViolation]:
    """A Conclusion, Action Plan item or Recommendation refers to at least one existing Analysis."""
    if not ids:
        yield violation(Code.ANALYSIS_REFERENCE_MISSING, path)
    yield from existing_references(reading, ids, path)


def existing_references(reading: Reading, ids: tuple[str, ...], path: str) -> Iterator[DraftViolation]:
    """Every referenced Analysis exists."""
    for number, analysis_id in enumerate(ids):
        if not analysis_id.strip() or analysis_id.strip() not in reading.analyses:
            yield violation(Code.ANALYSIS_REFERENCE_UNKNOWN, f"{path}[{number}]", analysis_id)


def observed_calls(reading: Reading, analysis: Analysis, path: str) -> Iterator[DraftViolation]:
    """OBSERVATION: every cited call has evidence."""
    for number, call_id in enumerate(analysis.tool_call_ids):
        record = reading.records.get(call_id)
        if record is not None and not has_evidence(record):
            yield violation(Code.NO_EVIDENCE_CITED_AS_OBSERVATION, f"{path}.tool_call_ids[{number}]", call_id)


def inferred_calls(reading: Reading, analysis: Analysis, path: str) -> Iterator[DraftViolation]:
    """INFERENCE: at least one call with evidence."""
    cited = reading.cited(analysis)
    if cited and not any(map(has_evidence, cited)):
        yield violation(Code.INFERENCE_WITHOUT_EVIDENCE, f"{path}.tool_call_ids")
