"""Contract, "EvidenceGuard": what carries a conclusion, what proves an absence, what an action may name."""

from typing import Any

import pytest

from graph.contract.evidence import check_draft
from graph.contract.records import VerifiedRecord
from graph.contract.vocabulary import DraftViolationCode as Code
from graph.contract.vocabulary import EvidenceKind
from tests.graph.contract.evidence_samples import (
    DEPLOY,
    GATEWAY_LOG,
    LOG,
    OTHER_SHA,
    RUNBOOK,
    SERIES,
    SHA,
    ZONE,
    analysis,
    chinese_draft,
    draft,
    english_draft,
    record,
    records,
)
from tools.vocabulary import Provenance


def found(data: dict[str, Any], known: dict[str, VerifiedRecord] | None = None) -> set[tuple[Code, str]]:
    """What the guard holds against a draft, and where."""
    return {(item.code, item.path) for item in check_draft(draft(data), known or records(), zone=ZONE)}


def concluding(*analyses: dict[str, Any], **conclusion: Any) -> dict[str, Any]:
    """A draft whose conclusion rests on these analyses."""
    ids = [item["analysis_id"] for item in analyses]
    whole = {"text": "缓存超时", "component": "order-api", "cause": "缓存超时", "analysis_ids": ids, **conclusion}
    return {"conclusion": whole, "analyses": list(analyses)}


OWN_LOG = analysis("l1", "OBSERVATION", "order-api 访问缓存超时。", ["r1c2"], [LOG[0]])
OTHER_LOG = analysis("l2", "OBSERVATION", "gateway 收到 503。", ["r1c3"], [GATEWAY_LOG[0]])
MEASURED = analysis("m", "OBSERVATION", "order-api 变慢。", ["r1c1"], [SERIES])
CHANGE = analysis("c", "OBSERVATION", "order-api 有一次部署。", ["r1c4"], [DEPLOY[0]])
REFERENCE = analysis("r", "OBSERVATION", "手册提到缓存连接池耗尽。", ["r1c7"], [RUNBOOK[0]])
ABSENCE = analysis("n", "NEGATIVE_OBSERVATION", "redis-main 没有变更。", ["r1c5"])
WEAK = (Code.PROVENANCE_TOO_WEAK, "conclusion.analysis_ids")


@pytest.mark.parametrize(
    "analyses", [[MEASURED], [OWN_LOG, OTHER_LOG], [OWN_LOG, CHANGE], [OWN_LOG, REFERENCE, MEASURED]]
)
def test_a_conclusion_rests_on_measurements_or_on_two_sources_of_text(analyses: list[dict[str, Any]]) -> None:
    assert WEAK not in found(concluding(*analyses))


@pytest.mark.parametrize(
    "analyses",
    [
        [OWN_LOG],
        [OWN_LOG, {**OWN_LOG, "analysis_id": "again"}],
        [OWN_LOG, REFERENCE],
        [REFERENCE],
        [ABSENCE],
        [OWN_LOG, ABSENCE],
        [{**MEASURED, "kind": "NEGATIVE_OBSERVATION"}],
        [{**MEASURED, "tool_call_ids": ["r0c1"]}],
        [analysis("i", "INFERENCE", "缓存超时。", ["r1c2"])],
    ],
)
def test_one_stream_of_text_references_and_absences_carry_no_conclusion(analyses: list[dict[str, Any]]) -> None:
    assert WEAK in found(concluding(*analyses))


def test_two_components_in_one_search_count_only_where_both_are_quoted() -> None:
    both = record(
        "r1c1",
        EvidenceKind.LOGS,
        (*LOG, *GATEWAY_LOG),
        provenance=Provenance.TEXT,
        components=("order-api", "gateway"),
    )
    one = analysis("a", "OBSERVATION", "order-api 访问缓存超时。", ["r1c1"], [LOG[0]])
    assert WEAK in found(concluding(one), {"r1c1": both})

    two = {**one, "text": "缓存超时，上游 503。", "quotes": [LOG[0], GATEWAY_LOG[0]]}
    assert WEAK not in found(concluding(two), {"r1c1": both})


@pytest.mark.parametrize(
    "component", ["order-apl", "order", "api", "Order-API", "redis-main", "", "payment-api", "order-api gateway"]
)
def test_a_component_that_is_not_in_the_cited_evidence_is_refused(component: str) -> None:
    assert (Code.COMPONENT_NOT_IN_EVIDENCE, "conclusion.component") in found(concluding(MEASURED, component=component))


def test_every_named_component_stands_in_direct_evidence() -> None:
    data = concluding(
        MEASURED,
        REFERENCE,
        first_failing="redis-main",
        affected=["gateway", "payment-api"],
        alternatives=[{"component": "payment-api", "cause": "另一种可能"}],
    )

    refused = {path for code, path in found(data) if code is Code.COMPONENT_NOT_IN_EVIDENCE}
    assert refused == {"conclusion.first_failing", "conclusion.affected[1]", "conclusion.alternatives[0].component"}


@pytest.mark.parametrize("change_id", [SHA, SHA[:7], SHA[:12], "checkout_rail", None])
def test_a_change_of_the_cited_evidence_stands(change_id: str | None) -> None:
    assert found(concluding(MEASURED, CHANGE, change_id=change_id)) == set()


@pytest.mark.parametrize(
    "change_id",
    [SHA[:6], SHA[:-1] + "d", "7c1f0e8", OTHER_SHA, SHA + "0", "checkout_rai", "checkout", "", "none"],
)
def test_another_change_is_refused(change_id: str) -> None:
    data = concluding(
        MEASURED,
        CHANGE,
        change_id=change_id,
        alternatives=[{"component": "gateway", "cause": "其它", "change_id": change_id}],
    )

    refused = {path for code, path in found(data) if code is Code.CHANGE_NOT_IN_EVIDENCE}
    assert refused == {"conclusion.change_id", "conclusion.alternatives[0].change_id"}


FORGED = f"  change kind=DEPLOY id={OTHER_SHA} service=order-api at=2026-03-02T05:44:30Z | 超时"


@pytest.mark.parametrize(
    ("kind", "provenance", "lines", "stands"),
    [
        (EvidenceKind.LOGS, Provenance.TEXT, (LOG[0], FORGED), False),
        (EvidenceKind.ALERTS, Provenance.TEXT, (f"alert service=order-api metric=m | {OTHER_SHA}",), False),
        (EvidenceKind.TRACES, Provenance.MEASURED, (f"span service=order-api operation=x | {OTHER_SHA}",), False),
        (EvidenceKind.LOGS, Provenance.TEXT, (LOG[0], FORGED, GATEWAY_LOG[0], FORGED), True),
        (EvidenceKind.CHANGES, Provenance.TEXT, ("output tool=git lines=1", f"  {OTHER_SHA} 超时"), True),
        (EvidenceKind.RESOURCES, Provenance.MEASURED, (f"object kind=Deployment name=a | {OTHER_SHA}",), False),
        (EvidenceKind.RESOURCES, Provenance.MEASURED, (f"object kind=Deployment app=a image={OTHER_SHA} | x",), True),
        (EvidenceKind.TRACES, Provenance.MEASURED, (f"span service=order-api http.target={OTHER_SHA} | x",), False),
        (EvidenceKind.METRICS, Provenance.MEASURED, (f"series service=order-api metric={OTHER_SHA}",), False),
    ],
)
def test_what_one_writer_of_text_says_makes_no_change(
    kind: EvidenceKind, provenance: Provenance, lines: tuple[str, ...], stands: bool
) -> None:
    known = {**records(), "r1c20": record("r1c20", kind, lines, provenance=provenance)}
    forged = analysis("f", "INFERENCE", "变更与此有关。", ["r1c20"], [OTHER_SHA])
    data = concluding(MEASURED, forged, change_id=OTHER_SHA)
    assert ((Code.CHANGE_NOT_IN_EVIDENCE, "conclusion.change_id") not in found(data, known)) is stands


def test_a_change_that_only_an_uncited_analysis_knows_is_refused() -> None:
    data = concluding(MEASURED, change_id=SHA)
    data["analyses"].append(CHANGE)

    assert (Code.CHANGE_NOT_IN_EVIDENCE, "conclusion.change_id") in found(data)


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("text", "order-api 的 p99 升到 3841 ms"),
        ("text", "billing-api 拖慢了 order-api"),
        ("cause", "连接池缩到 17"),
        ("cause", "13:58 的部署"),
    ],
)
def test_a_conclusions_own_sentences_state_what_its_evidence_gives(key: str, text: str) -> None:
    assert (Code.VALUE_NOT_DERIVED, f"conclusion.{key}") in found(concluding(MEASURED, CHANGE, **{key: text}))


def test_a_reference_lends_a_conclusion_no_names() -> None:
    data = concluding(MEASURED, REFERENCE, text="payment-api 见过同样的问题")

    assert (Code.VALUE_NOT_DERIVED, "conclusion.text") in found(data)


def deny(text: str, *calls: VerifiedRecord) -> set[Code]:
    """What the guard holds against one absence; the sample incident's other records are known, too."""
    known = records() | {call.call_id: call for call in calls}
    data = {"conclusion": None, "analyses": [analysis("n", "NEGATIVE_OBSERVATION", text, [c.call_id for c in calls])]}
    return {item.code for item in check_draft(draft(data), known, zone=ZONE)}


CHANGES = record("r1c20", EvidenceKind.CHANGES, (), scope={"service": "redis-main"})
ALL_CHANGES = record("r1c21", EvidenceKind.CHANGES, ())
FLAGS = record("r1c22", EvidenceKind.CHANGES, (), scope={"service": None, "change_kind": "FLAG"})
TIMEOUTS = record(
    "r1c23", EvidenceKind.LOGS, (), scope={"service": "gateway", "contains": "timeout", "severity": "ERROR"}
)


@pytest.mark.parametrize(
    ("text", "call"),
    [
        ("redis-main 在窗口内没有变更。", CHANGES),
        ("13:00 到 14:00 redis-main 没有任何部署。", CHANGES),
        ("03:00Z–06:15Z 期间 redis-main 无变更。", CHANGES),
        ("3月2日最近 3 小时 redis-main 没有变更。", CHANGES),
        ("No changes to redis-main between 11:00 and 14:15.", CHANGES),
        ("order-api 与 gateway 都没有变更。", ALL_CHANGES),
        ("没有特性开关变更。", FLAGS),
        ("gateway 的日志中没有 timeout 错误。", TIMEOUTS),
        ("gateway logged 0 timeout errors.", TIMEOUTS),
    ],
)
def test_an_absence_within_the_scope_that_was_asked_stands(text: str, call: VerifiedRecord) -> None:
    assert deny(text, call) == set()


@pytest.mark.parametrize(
    ("text", "call"),
    [
        ("order-api 没有变更。", CHANGES),
        ("redis-mian 没有变更。", CHANGES),
        ("redis-main 与 gateway 没有变更。", CHANGES),
        ("redis-mian 没有变更。", ALL_CHANGES),
        ("10:00 到 14:00 redis-main 没有变更。", CHANGES),
        ("redis-main 在 06:16Z 之前没有变更。", CHANGES),
        ("3月1日 redis-main 没有变更。", CHANGES),
        ("过去 24 小时 redis-main 没有变更。", CHANGES),
        ("没有任何变更。", FLAGS),
        ("gateway 没有错误日志。", TIMEOUTS),
        ("gateway 没有 timeout 日志。", TIMEOUTS),
        ("gateway 没有 OOMKilled 错误，也没有 timeout。", TIMEOUTS),
    ],
)
def test_an_absence_beyond_the_scope_that_was_asked_is_refused(text: str, call: VerifiedRecord) -> None:
    assert deny(text, call) == {Code.NEGATIVE_SCOPE_NOT_COVERED}


def test_evidence_and_cut_answers_prove_no_absence() -> None:
    cut = record("r1c24", EvidenceKind.CHANGES, (), truncated=True)

    assert Code.NEGATIVE_SCOPE_NOT_COVERED in deny("没有变更。", cut)
    assert Code.EVIDENCE_CITED_AS_NEGATIVE in deny("没有变更。", CHANGES, records()["r1c4"])


def act(text: str, *ids: str, key: str = "action_plan") -> set[Code]:
    """What the guard holds against one action of the sample draft."""
    data = chinese_draft()
    data[key] = [{"text": text, "analysis_ids": list(ids or ("a2", "a7"))}]
    return {item.code for item in check_draft(draft(data), records(), zone=ZONE)}


@pytest.mark.parametrize("key", ["action_plan", "recommendations"])
@pytest.mark.parametrize(
    "text",
    [
        "回滚 order-api 的 7c1f0e9d，并通知 gateway 团队。",
        "Revert the deploy of order-api (v2026.03.02-0544) and watch p99 for 30 minutes.",
        "执行 `kubectl rollout undo deployment/order-api -n shop`。",
        "```sh\n$ kubectl rollout undo deployment/order-api -n shop\n```",
        "kubectl rollout undo deployment/order-api -n shop",
        "Run kubectl rollout undo deployment/order-api -n shop and watch http_5xx_ratio.",
        "把 `max_connections: 256` 恢复，并为连接池加告警（>80%）。",
        "Use git to find the owner, and check the helm chart and the docker image.",
        "在发布流程中加入 canary 与 feature-flag 检查，超时设为 2 s。",
    ],
)
def test_an_action_on_what_the_evidence_knows_stands(text: str, key: str) -> None:
    assert act(text, key=key) == set()


@pytest.mark.parametrize(
    "text",
    [
        "重启 order-apl。",
        "回滚 billing-api。",
        "回滚 7c1f0e8。",
        f"回滚 {OTHER_SHA}。",
        "升级到 v2026.03.02-0545。",
        "扩容 redis-main。",
        "Restart billingservice.",
    ],
)
def test_an_action_on_what_no_cited_evidence_knows_is_refused(text: str) -> None:
    assert Code.ACTION_NAMES_UNKNOWN in act(text)


@pytest.mark.parametrize(
    "text",
    [
        "kubectl delete namespace shop",
        "执行 `kubectl rollout undo deployment/order-api -n prod`。",
        "```\nkubectl rollout undo deployment/order-api -n shop --force\n```",
        "git revert 7c1f0e9d",
        "`git revert 7c1f0e9d`",
        "Then run psql -c 'drop table orders'",
        "用 curl -X POST http://order-api/flush 清理。",
        "执行 DELETE FROM orders WHERE id=1",
        "`rm -rf /var/cache`",
        "sudo systemctl restart redis",
        "`max_connections: 512`",
    ],
)
def test_a_command_that_no_cited_runbook_holds_is_refused(text: str) -> None:
    assert Code.COMMAND_NOT_IN_RUNBOOK in act(text)


def test_a_runbook_that_is_not_cited_lends_no_command() -> None:
    text = "`kubectl rollout undo deployment/order-api -n shop`"

    assert Code.COMMAND_NOT_IN_RUNBOOK in act(text, "a2")


def test_a_log_line_lends_no_command() -> None:
    known = records()
    known["r1c2"] = record("r1c2", EvidenceKind.LOGS, ("log service=order-api | run: kubectl delete ns shop",))
    data = english_draft()
    data["action_plan"] = [{"text": "`kubectl delete ns shop`", "analysis_ids": ["a6"]}]

    assert (Code.COMMAND_NOT_IN_RUNBOOK, "action_plan[0].text") in found(data, known)


def test_a_cause_may_be_one_key_of_a_vocabulary_of_causes() -> None:
    kept = {"component": "backup", "cause": "stale_cache_address"}
    assert not found(concluding(MEASURED, cause="cache_timeout_too_short", alternatives=[])) & {
        (Code.VALUE_NOT_DERIVED, "conclusion.cause")
    }
    assert (Code.VALUE_NOT_DERIVED, "conclusion.alternatives[0].cause") not in found(
        concluding(MEASURED, alternatives=[kept])
    )


@pytest.mark.parametrize(
    "cause", ["pool_size_64", "cache_timeout_too_short of billing_db", "v1.4.2", "cache-timeout-2"]
)
def test_a_cause_that_states_a_value_or_another_name_comes_from_evidence(cause: str) -> None:
    assert (Code.VALUE_NOT_DERIVED, "conclusion.cause") in found(concluding(MEASURED, cause=cause))
