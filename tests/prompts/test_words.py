"""What the prompts must say and must not say (spec "Diagnosis Prompt SHALL license bounded abandonment"; contract,
"Prompt")."""

import importlib
import importlib.util
import json
import pkgutil
import re
from pathlib import Path

import pytest

import graph.nodes
from graph.contract.draft import Alternative, Analysis, Conclusion, Draft, DraftLimitations, StatementItem, parse_draft
from graph.contract.vocabulary import AnalysisKind, MissingInfo, ModelComponent, SemanticVerdict
from graph.models.replies import parse_route
from prompts import render
from tools.base import EvidenceTool

DIAGNOSIS = render("diagnosis", locale="zh")
REPAIR = render("evidence_repair", locale="zh")
GUARD = render("semantic_guard")
ROUTER = render("router")

TOOLS = {
    *("get_alerts", "query_metrics", "find_log_signatures", "search_logs", "query_traces", "list_changes"),
    *("get_change", "search_runbooks"),
}
ARGUMENTS = {
    *("service", "metric", "start", "end", "contains", "severity", "limit", "operation", "change_kind", "change_id"),
    *("query", "previous_observation", "information_gain"),
}
DRAFT_PARTS = (Draft, Conclusion, Alternative, Analysis, StatementItem, DraftLimitations)
DRAFT_WORDS = {name for part in DRAFT_PARTS for name in part.model_fields} | set(MissingInfo)
"""The answer's own vocabulary. A word that is also an argument's (`change_id`) can't be kept out of its description."""
NODES = {
    *("open_run", "classify", "diagnose", "tool_gate", "evaluate_gain", "close_collection", "evidence_guard"),
    *("semantic_guard", "evidence_repair", "safe_fallback", "release", "router"),
}
HARNESS = {
    *("harness", "next_action", "threshold", "thresholds", "counter", "counters", "budget", "budgets", "settings"),
    *("setting", "limits", "node", "nodes", "token", "tokens", "stop_after_consecutive_no_gain", "collection_state"),
    *("consecutive_no_gain", "consecutive_protocol_violations", "pending_observation", "stop_reason", "ledger"),
    *("saturated", "collecting", "information_saturated", "progress_protocol_violated", "budget_limit_reached"),
}
CHINESE = (
    "阈值",
    "计数",
    "预算",
    "配置",
    "设置",
    "上限",
    "次数",
    "轮次",
    "节点",
    "连续两",
    "连续多",
    "剩余",
    "饱和",
    "令牌",
)


def words(text: str) -> set[str]:
    return set(re.findall(r"[a-z0-9_]+", text.lower()))


def registered_tools() -> list[type[EvidenceTool]]:
    if importlib.util.find_spec("tools.frozen") is None:
        return []
    package = importlib.import_module("tools.frozen")
    for module in pkgutil.walk_packages(package.__path__, "tools.frozen."):
        importlib.import_module(module.name)
    found: list[type[EvidenceTool]] = []
    unseen = list(EvidenceTool.__subclasses__())
    while unseen:
        tool = unseen.pop()
        unseen += tool.__subclasses__()
        if isinstance(getattr(tool, "name", None), str) and isinstance(getattr(tool, "arguments", None), type):
            found.append(tool)
    return found


@pytest.mark.parametrize(
    "words_",
    [
        "找到根因不是必须的",
        "`conclusion=null` 是合法而完整的答卷",
        "可以一次都不查",
        "`limitations.missing_info`",
        "GAINED",
        "NO_GAIN：内容即使正确",
        "带来新诊断信息",
        "只有第一次调用、还没有观察可评时才填 null",
        "收到 STOP_REQUIRED 后，不再调用工具",
    ],
)
def test_the_diagnosis_prompt_licenses_bounded_abandonment(words_: str) -> None:
    assert words_ in DIAGNOSIS


@pytest.mark.parametrize("word", sorted((TOOLS | ARGUMENTS | NODES | HARNESS) - DRAFT_WORDS))
def test_the_diagnosis_prompt_does_not_name(word: str) -> None:
    assert word not in words(DIAGNOSIS)


@pytest.mark.parametrize("word", CHINESE)
def test_the_diagnosis_prompt_does_not_speak_of(word: str) -> None:
    assert word not in DIAGNOSIS


def test_the_diagnosis_prompt_names_no_registered_tool_and_no_argument_of_one() -> None:
    tools = registered_tools()
    if not tools:
        pytest.skip("no tool family is registered in this checkout")
    names = {tool.name.lower() for tool in tools}
    arguments = {field.lower() for tool in tools for field in tool.arguments.model_fields}
    assert not names & words(DIAGNOSIS)
    assert not (arguments - DRAFT_WORDS) & words(DIAGNOSIS)


def test_the_diagnosis_prompt_names_no_node() -> None:
    files = Path(graph.nodes.__path__[0]).glob("*.py")
    assert not ({file.stem for file in files} - {"__init__"} - DRAFT_WORDS) & words(DIAGNOSIS)


def test_every_closed_vocabulary_of_the_answer_is_told_in_full() -> None:
    assert set(MissingInfo) <= words(DIAGNOSIS)
    assert {kind.lower() for kind in AnalysisKind} <= words(DIAGNOSIS) & words(REPAIR)
    assert {verdict.lower() for verdict in SemanticVerdict} <= words(GUARD)


def test_every_field_of_a_draft_is_told_to_who_writes_and_who_repairs_it() -> None:
    fields = {name for part in DRAFT_PARTS for name in part.model_fields}
    assert fields <= words(DIAGNOSIS)
    assert fields - {"missing_info", "ruled_out"} <= words(REPAIR)


def test_the_shape_that_the_diagnosis_prompt_shows_is_a_draft() -> None:
    shown = DIAGNOSIS[DIAGNOSIS.index('{"conclusion"') :]
    value, _ = json.JSONDecoder().raw_decode(shown)
    draft = parse_draft(json.dumps(value))
    assert draft.conclusion is not None
    assert [analysis.kind for analysis in draft.analyses] == list(AnalysisKind)
    known = {analysis.analysis_id for analysis in draft.analyses}
    cited: list[Conclusion | StatementItem] = [draft.conclusion, *draft.action_plan, *draft.recommendations]
    assert {analysis_id for part in cited for analysis_id in part.analysis_ids} <= known


def test_the_example_that_the_router_prompt_shows_is_a_route() -> None:
    route = parse_route(ROUTER.splitlines()[-1])
    assert (route.kind, route.context["service"]) == ("diagnosis", "demo-svc")


@pytest.mark.parametrize("prompt", [DIAGNOSIS, REPAIR, GUARD, ROUTER], ids=list(ModelComponent))
def test_every_prompt_says_that_what_it_reads_is_data_and_how_to_answer(prompt: str) -> None:
    assert "数据" in prompt
    assert "不照办" in prompt or "不是指令" in prompt
    assert "只含一个 JSON 对象" in prompt or "只输出一个 JSON 对象" in prompt


def test_the_guard_prompt_fails_closed() -> None:
    assert "拿不准，就判 UNSUPPORTED" in GUARD


def test_the_repair_prompt_may_give_up_and_may_not_invent() -> None:
    assert '`"conclusion": null`' in REPAIR
    assert "增加证据里没有的事实" in REPAIR
