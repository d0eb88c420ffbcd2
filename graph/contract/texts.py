"""The fixed texts of a release, in Chinese and English. No word of a model stands in a fallback.

Source: spec "Fail-closed release policy" (fixed SafeFallback content); contract, "Release".
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from graph.contract.draft import Draft
from graph.contract.gaps import Gap, UnprovenChange
from graph.contract.release import Locale, Release
from graph.contract.snapshot import Limitation, ObservedFact
from graph.contract.vocabulary import FallbackType, GapReason, MissingInfo, ReleaseOutcome

Words = Mapping[str, tuple[str, str]]
"""A word or sentence by its key: Chinese, English."""

HEADLINES: Words = MappingProxyType(
    {
        ReleaseOutcome.SUCCESS: (
            "诊断结论（每句均有本次证据）",
            "Diagnosis (every sentence stands on evidence of this run)",
        ),
        ReleaseOutcome.FAILED: (
            "诊断未能完成：没有取得任何可核实的检查结果，不发布结论。",
            "The diagnosis could not be completed: no check gave a verifiable result; no conclusion is published.",
        ),
        ReleaseOutcome.CANCELLED: (
            "诊断已取消，不发布结论。",
            "The diagnosis was cancelled; no conclusion is published.",
        ),
        FallbackType.EVIDENCE_VALIDATION_FAILED: (
            "证据不足：诊断草稿未通过证据校验，不发布结论。",
            "Insufficient evidence: the draft did not pass evidence validation; no conclusion is published.",
        ),
        FallbackType.SEMANTIC_UNSUPPORTED: (
            "证据不足：现有证据不足以支持诊断草稿的结论，不发布结论。",
            "Insufficient evidence: the evidence does not support the draft's conclusion; no conclusion is published.",
        ),
        FallbackType.SEMANTIC_UNAVAILABLE: (
            "结论复核暂不可用，不发布未经复核的结论。",
            "The review of the conclusion is unavailable; an unreviewed conclusion is not published.",
        ),
        FallbackType.INSUFFICIENT_EVIDENCE: (
            "证据不足：已完成的检查不足以支持任何根因结论。",
            "Insufficient evidence: the completed checks do not support a root cause.",
        ),
        FallbackType.MISSING_REQUIRED_CONTEXT: (
            "缺少必要信息：请补充后重试。",
            "Required context is missing: please add it and ask again.",
        ),
    }
)

TITLES: Words = MappingProxyType(
    {
        "component": ("组件", "Component"),
        "cause": ("原因", "Cause"),
        "change": ("变更", "Change"),
        "first_failing": ("最先失败", "First failing"),
        "affected": ("受影响", "Affected"),
        "analyses": ("依据", "Analysis"),
        "action_plan": ("处置步骤", "Action plan"),
        "recommendations": ("建议", "Recommendations"),
        "facts": ("已检查并核实", "Checked and verified"),
        "limitations": ("限制", "Limitations"),
        "missing": ("缺少的信息", "Missing information"),
        "gaps": ("尚缺的证据与可直接粘贴的查询", "Missing evidence, with queries to paste"),
        "onset": ("测得的异常起点", "Measured onset"),
        "changes": ("窗口内的变更（未证实与故障有关）", "Changes in the window (not proven to be related)"),
        "truncated": ("结果被截断", "result truncated"),
    }
)

MISSING: Words = MappingProxyType(
    {
        MissingInfo.ENTERPRISE: ("企业或租户", "enterprise or tenant"),
        MissingInfo.SERVICE: ("服务名", "service"),
        MissingInfo.ENVIRONMENT: ("环境", "environment"),
        MissingInfo.TIME: ("时间范围", "time window"),
        MissingInfo.ERROR: ("错误现象", "error or symptom"),
        MissingInfo.OTHER: ("其他上下文", "other context"),
    }
)

REASONS: Words = MappingProxyType(
    {
        GapReason.UNASKED: ("未查询", "not asked"),
        GapReason.UNAVAILABLE: ("数据源不可用", "source unavailable"),
        GapReason.EMPTY: ("范围内无数据", "nothing in the scope"),
        GapReason.TRUNCATED: ("结果被截断", "result truncated"),
    }
)


def word(words: Words, key: str, locale: Locale) -> str:
    """Return the word of `key` in `locale`; raises KeyError for a key without one."""
    return words[key][0 if locale == "zh" else 1]


def release_text(release: Release) -> str:
    """Return the published text of a release whose other fields are final."""
    locale = release.locale
    lines = [word(HEADLINES, release.fallback_type or release.outcome, locale)]
    if release.draft:
        lines += _draft_lines(release.draft, locale)
    else:
        lines += _missing_lines(release, locale)
        lines += _fact_lines(release.observed_facts, locale)
        lines += _measured_lines(release, locale)
        lines += _change_lines(release.unproven_changes, locale)
        lines += _gap_lines(release.gaps, locale)
        lines += _limitation_lines(release.limitations, locale)
    return "\n".join(lines)


def bare_release(run_id: str, outcome: ReleaseOutcome, locale: Locale) -> Release:
    """Return a Release that holds nothing but its outcome and the fixed text."""
    plain = Release(run_id=run_id, outcome=outcome, locale=locale, text="")
    return plain.model_copy(update={"text": release_text(plain)})


def locale_of(value: object) -> Locale:
    """Return a stored locale, zh where it names none that has texts."""
    return "en" if value == "en" else "zh"


def _draft_lines(draft: Draft, locale: Locale) -> Iterable[str]:
    """The draft's own words, unchanged and whole: nothing is summarized."""
    conclusion = draft.conclusion
    if conclusion is None:
        return
    yield conclusion.text
    yield f"{word(TITLES, 'component', locale)}: {conclusion.component}"
    yield f"{word(TITLES, 'cause', locale)}: {conclusion.cause}"
    if conclusion.change_id:
        yield f"{word(TITLES, 'change', locale)}: {conclusion.change_id}"
    if conclusion.first_failing:
        yield f"{word(TITLES, 'first_failing', locale)}: {conclusion.first_failing}"
    if conclusion.affected:
        yield f"{word(TITLES, 'affected', locale)}: {', '.join(conclusion.affected)}"
    yield f"{word(TITLES, 'analyses', locale)}:"
    for analysis in draft.analyses:
        yield f"- [{analysis.analysis_id}] {analysis.text} ({', '.join(analysis.tool_call_ids)})"
    for title, items in (("action_plan", draft.action_plan), ("recommendations", draft.recommendations)):
        if items:
            yield f"{word(TITLES, title, locale)}:"
        for item in items:
            yield f"- {item.text} [{', '.join(item.analysis_ids)}]"


def _missing_lines(release: Release, locale: Locale) -> Iterable[str]:
    if release.missing_info:
        names = [word(MISSING, item, locale) for item in release.missing_info]
        yield f"{word(TITLES, 'missing', locale)}: {', '.join(names)}"


def _fact_lines(facts: tuple[ObservedFact, ...], locale: Locale) -> Iterable[str]:
    if facts:
        yield f"{word(TITLES, 'facts', locale)}:"
    for fact in facts:
        cut = f" ({word(TITLES, 'truncated', locale)})" if fact.truncated else ""
        yield f"- {fact.source}: {fact.result}{cut}"


def _measured_lines(release: Release, locale: Locale) -> Iterable[str]:
    if release.onset:
        yield f"{word(TITLES, 'onset', locale)}: {release.onset.isoformat()}"
    if release.first_failing:
        yield f"{word(TITLES, 'first_failing', locale)}: {release.first_failing}"


def _change_lines(changes: tuple[UnprovenChange, ...], locale: Locale) -> Iterable[str]:
    if changes:
        yield f"{word(TITLES, 'changes', locale)}:"
    for change in changes:
        yield f"- {change.at.isoformat()} {change.kind} {change.change_id} {change.service or ''}".rstrip()


def _gap_lines(gaps: tuple[Gap, ...], locale: Locale) -> Iterable[str]:
    if gaps:
        yield f"{word(TITLES, 'gaps', locale)}:"
    for gap in gaps:
        yield f"- {gap.kind} ({word(REASONS, gap.reason, locale)}): {gap.query}"


def _limitation_lines(limitations: tuple[Limitation, ...], locale: Locale) -> Iterable[str]:
    if limitations:
        yield f"{word(TITLES, 'limitations', locale)}:"
    for limitation in limitations:
        yield f"- {limitation.code}" + (f" ({limitation.source})" if limitation.source else "")
