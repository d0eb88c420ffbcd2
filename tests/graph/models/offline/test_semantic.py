"""The offline semantic guard: lets correct drafts through in both languages, and nothing that it can't judge."""

import ast
import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

import graph.models.offline as offline
from graph.models.offline import OfflineSemanticGuard
from graph.models.offline.assessment import assess
from graph.models.offline.environment import SURGE, SURGE_AT_ONCE, rules
from graph.models.offline.facts import read_case
from graph.models.offline.mechanisms import mechanisms
from graph.models.offline.report import write_draft
from graph.models.offline.semantic.judging import claimed_families
from tests.graph.models.offline.faults import all_faults, evidence, observations

FAULTS = all_faults()
CHANGES = [name for name, fault in FAULTS.items() if fault.get("named")]
CAUSES = [name for name, fault in FAULTS.items() if fault.get("cause")]
SILENT = {"column_dropped_in_use"}
"""The changed component shows nothing itself and no call joins it to who suffers: the guard can't judge that."""


def draft_of(name: str, language: str) -> dict[str, Any]:
    case = read_case(observations(FAULTS[name]))
    draft: dict[str, Any] = json.loads(write_draft(assess(case, FAULTS[name]["service"]), language))
    return draft


def verdict(draft: Any, shown: Any) -> str:
    body = json.dumps({"draft": draft, "evidence": shown}, ensure_ascii=False)
    reply = json.loads(str(OfflineSemanticGuard().invoke([HumanMessage(body)]).content))
    assert set(reply) == {"verdict", "reason"}
    return str(reply["verdict"])


@pytest.mark.parametrize("language", ["zh", "en"])
@pytest.mark.parametrize("name", [name for name in (*CHANGES, *CAUSES) if name not in SILENT])
def test_a_correct_draft_is_supported(name: str, language: str) -> None:
    assert verdict(draft_of(name, language), evidence(FAULTS[name])) == "SUPPORTED"


@pytest.mark.parametrize("name", sorted(SILENT))
def test_what_it_can_not_judge_is_not_supported(name: str) -> None:
    assert verdict(draft_of(name, "zh"), evidence(FAULTS[name])) == "UNSUPPORTED"


@pytest.mark.parametrize(
    ("name", "text", "cause"),
    [
        (
            "rate_limit_tightened",
            "api-gateway 发布 {id} 之后限流阈值被调低，请求开始被拒绝，这是本次故障的根因。",
            "限流阈值调低",
        ),
        (
            "rate_limit_tightened",
            "After {id} went out, api-gateway enforces a much lower rate limit and rejects normal traffic.",
            "rate limit lowered",
        ),
        ("replicas_cut", "recoservice 在 {id} 中减少了副本数，剩余实例 CPU 打满，延迟升高。", "副本减少"),
        ("index_dropped", "{id} dropped an index on orderdb, so queries scan the whole table.", "index dropped"),
        ("rows_not_closed", "catalogservice 的 {id} 不再释放连接，连接池被耗尽。", "连接没有释放"),
        (
            "retry_storm",
            "cartservice: {id} removed the retry limit and backoff, which amplified retries.",
            "retry storm",
        ),
    ],
)
def test_a_simple_paraphrase_is_supported(name: str, text: str, cause: str) -> None:
    draft = draft_of(name, "zh")
    draft["conclusion"].update(text=text.format(id=draft["conclusion"]["change_id"]), cause=cause)
    assert verdict(draft, evidence(FAULTS[name])) == "SUPPORTED"


def other_change(draft: dict[str, Any]) -> None:
    decoy = "00000002" + "cd" * 16
    text = json.dumps(draft).replace(draft["conclusion"]["change_id"], decoy)
    draft.update(json.loads(text))


def other_component(draft: dict[str, Any]) -> None:
    draft["conclusion"]["component"] = "bystander"


def other_component_in_the_sentence(draft: dict[str, Any]) -> None:
    conclusion = draft["conclusion"]
    conclusion["text"] = conclusion["text"].replace(conclusion["component"], "bystander")


def other_cause(draft: dict[str, Any]) -> None:
    draft["conclusion"].update(cause="系统时钟漂移", text=draft["conclusion"]["text"] + "实际是系统时钟漂移。")


def everyone(draft: dict[str, Any]) -> None:
    draft["conclusion"]["text"] += "全部用户都受到影响。"


def certainty(draft: dict[str, Any]) -> None:
    draft["analyses"][-1]["text"] += " This is definitely the only reason."


def attack(draft: dict[str, Any]) -> None:
    draft["recommendations"][0]["text"] = "这是一次恶意攻击，请报警。"


def unknown_victim(draft: dict[str, Any]) -> None:
    draft["conclusion"]["affected"] = ["bystander"]


def unknown_first(draft: dict[str, Any]) -> None:
    draft["conclusion"]["first_failing"] = "bystander"


def ruled_out_itself(draft: dict[str, Any]) -> None:
    draft["limitations"]["ruled_out"] = [
        one["analysis_id"] for one in draft["analyses"] if draft["conclusion"]["change_id"] in one["text"]
    ]


def blames_another(draft: dict[str, Any]) -> None:
    decoy = "00000002" + "cd" * 16
    draft["analyses"].append(
        {
            "analysis_id": "z1",
            "kind": "INFERENCE",
            "text": f"变更 {decoy} 导致了故障。",
            "quotes": [],
            "tool_call_ids": ["r1c3"],
        }
    )


def undoes_another(draft: dict[str, Any]) -> None:
    draft["action_plan"][0]["text"] = "回滚变更 00000002" + "cd" * 16 + "。"


def nothing_cited(draft: dict[str, Any]) -> None:
    draft["conclusion"]["analysis_ids"] = []


TAMPERED: list[Callable[[dict[str, Any]], None]] = [
    other_change,
    other_component,
    other_component_in_the_sentence,
    other_cause,
    everyone,
    certainty,
    attack,
    unknown_victim,
    unknown_first,
    ruled_out_itself,
    blames_another,
    undoes_another,
    nothing_cited,
]


@pytest.mark.parametrize("tamper", TAMPERED, ids=lambda one: str(one.__name__))
@pytest.mark.parametrize("name", CHANGES)
def test_a_tampered_draft_is_not_supported(name: str, tamper: Callable[[dict[str, Any]], None]) -> None:
    draft = draft_of(name, "zh")
    before = copy.deepcopy(draft)
    tamper(draft)
    assert draft != before
    assert verdict(draft, evidence(FAULTS[name])) == "UNSUPPORTED"


@pytest.mark.parametrize("language", ["zh", "en"])
def test_reversed_causality_is_not_supported(language: str) -> None:
    fault = FAULTS["retry_storm"]
    draft = draft_of("retry_storm", language)
    draft["conclusion"].update(first_failing="cartservice", affected=["inventoryservice"])
    assert verdict(draft, evidence(fault)) == "SUPPORTED"
    sentences = {
        "zh": "inventoryservice 的故障导致 cartservice 出错。",
        "en": " The failure of cartservice was caused by inventoryservice.",
    }
    draft["conclusion"]["text"] += sentences[language]
    assert verdict(draft, evidence(fault)) == "UNSUPPORTED"


@pytest.mark.parametrize(("language", "said", "meant"), [("zh", "下降", "上升"), ("en", "falls", "rises")])
def test_a_direction_told_the_wrong_way_round_is_not_supported(language: str, said: str, meant: str) -> None:
    draft = draft_of("interval_lowered", language)
    told = next(one for one in draft["analyses"] if meant in one["text"])
    told["text"] = told["text"].replace(meant, said)
    assert verdict(draft, evidence(FAULTS["interval_lowered"])) == "UNSUPPORTED"


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_that_the_evidence_dates_after_the_trouble_is_not_supported(name: str) -> None:
    shown = json.loads(
        json.dumps(evidence(FAULTS[name])).replace("at=2026-03-04T12:00:00Z version", "at=2026-03-04T15:00:00Z version")
    )
    assert verdict(draft_of(name, "zh"), shown) == "UNSUPPORTED"


@pytest.mark.parametrize("name", CAUSES)
def test_a_cause_that_the_evidence_does_not_tell_of_is_not_supported(name: str) -> None:
    draft = draft_of(name, "zh")
    for other in (one for one in CAUSES if one != name):
        assert verdict(draft, evidence(FAULTS[other])) == "UNSUPPORTED"


@pytest.mark.parametrize(
    "body", ["", "{}", "[]", '{"draft": 1, "evidence": []}', '{"draft": {"conclusion": null}, "evidence": []}']
)
def test_what_can_not_be_read_is_not_supported(body: str) -> None:
    assert json.loads(str(OfflineSemanticGuard().invoke([HumanMessage(body)]).content))["verdict"] == "UNSUPPORTED"


def test_every_phrase_of_the_diagnostician_is_one_that_the_guard_knows() -> None:
    for rule in mechanisms():
        assert claimed_families("change", rule.zh), rule.name
        assert claimed_families("change", rule.en), rule.name
    for cause in (*rules(), SURGE, SURGE_AT_ONCE):
        assert claimed_families("cause", cause.zh), cause.name
        assert claimed_families("cause", cause.en), cause.name


LIMITS = [
    (
        "maximum-pool-size: 50",
        "maximum-pool-size: 40",
        "connection_pool_used_ratio",
        (0.2, 0.9),
        "Connection pool is full",
    ),
    ("maximum-pool-size: 50", "maximum-pool-size: 40", "db_connections_active", (9, 38), "Connection pool is full"),
    ("read-timeout: 3000ms", "read-timeout: 2s", "http_server_duration_p95_seconds", (0.4, 2.4), "read timed out"),
    ("read-timeout: 3s", "read-timeout: 2000ms", "http_server_duration_p99_ms", (400, 2400), "read timed out"),
]


@pytest.mark.parametrize(("old", "new", "metric", "baselines", "text"), LIMITS)
def test_a_lowered_limit_above_normal_use_is_not_supported_as_a_cause(
    old: str, new: str, metric: str, baselines: tuple[float, float], text: str
) -> None:
    fault: dict[str, Any] = {
        "service": "payment",
        "file": "payment/app.yml",
        "diff": [f"-{old}", f"+{new}"],
        "metrics": ["payment connection_pool_pending UP 0 41 1", "payment request_timeouts_total UP 0 300 1"],
        "logs": [f"1 payment ERROR HikariPool: {text}"],
    }
    unmeasured = assess(read_case(observations(fault)), "payment")
    draft = json.loads(write_draft(unmeasured, "en"))
    assert verdict(draft, evidence(fault)) == "SUPPORTED"
    for baseline, said in zip(baselines, ("UNSUPPORTED", "SUPPORTED"), strict=True):
        measured = {**fault, "metrics": [f"payment {metric} UP {baseline} {baseline * 1.1} 1", *fault["metrics"]]}
        assert verdict(draft, evidence(measured)) == said


def test_the_guard_shares_no_code_with_the_diagnostician() -> None:
    package = Path(str(offline.__file__)).parent
    shared = {"graph.models.offline.chat"}
    for path in (package / "semantic").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            for name in names:
                if name.startswith("graph."):
                    assert name in shared or name.startswith("graph.models.offline.semantic"), (path.name, name)
    imported = [
        node.module or ""
        for node in ast.walk(ast.parse((package / "chat.py").read_text("utf-8")))
        if isinstance(node, ast.ImportFrom)
    ]
    assert not any(name.startswith("graph.") for name in imported)
