"""Contract, "EvidenceGuard": one case a line, driven through the graph; the rules' depth has tests of its own."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.drafts import DEPLOY, SERIES, changes, draft, metrics, observation, reply, verdict
from tests.support.driving import Rig, Run, rig
from tests.support.scripted import ScriptedTool, evidence, no_conclusion, nothing, request
from tools.base import EvidenceTool
from tools.vocabulary import EvidenceKind, Provenance, RelevanceLevel

Body = dict[str, Any]

RUNBOOK = "runbook file=pool.md section=restore | 恢复连接池"
COMMAND = "kubectl rollout undo deployment/checkout"


def tools() -> list[EvidenceTool]:
    logs = evidence(["log at=2026-06-18T15:05:00Z service=checkout severity=ERROR trace_id=- | payments is slow"])
    manual = evidence([RUNBOOK, f"  {COMMAND}"], provenance=Provenance.TEXT, relevance=RelevanceLevel.REFERENCE)
    return [
        metrics(),
        changes(),
        ScriptedTool(nothing(), name="empty"),
        ScriptedTool(logs.model_copy(update={"provenance": Provenance.TEXT}), name="logs", kind=EvidenceKind.LOGS),
        ScriptedTool(manual, name="manual", kind=EvidenceKind.RUNBOOKS),
    ]


def handed_over(body: Body) -> Rig:
    """Calls: r1c1 metrics, r1c2 changes, r1c3 nothing, r1c4 a log, r1c5 a runbook."""
    return rig(
        request("checkout"),
        request("checkout", tool="changes", previous=("r1c1", "GAINED")),
        request("checkout", tool="empty", previous=("r1c2", "GAINED")),
        request("checkout", tool="logs"),
        request("checkout", tool="manual", previous=("r1c4", "GAINED")),
        reply(body),
        repair=[reply(draft())],
        review=[verdict()],
        tools=tools(),
    )


def _unresolved(body: Body) -> None:
    body["analyses"][0]["tool_call_ids"] = ["r1c1", "r2c7"]


def _uncited(body: Body) -> None:
    body["analyses"][0]["tool_call_ids"] = []


def _observed_nothing(body: Body) -> None:
    body["analyses"][0]["tool_call_ids"] = ["r1c1", "r1c3"]


def _denied_with_evidence(body: Body) -> None:
    body["analyses"].append(observation("a3", "checkout 没有错误", "", "r1c1", kind="NEGATIVE_OBSERVATION", quotes=[]))


def _denied_elsewhere(body: Body) -> None:
    body["analyses"].append(
        observation("a3", "payment-service 没有错误", "", "r1c3", kind="NEGATIVE_OBSERVATION", quotes=[])
    )


def _inferred_from_nothing(body: Body) -> None:
    body["analyses"].append(observation("a3", "checkout 正常", "", "r1c3", kind="INFERENCE", quotes=[]))


def _only_text(body: Body) -> None:
    quote = "service=checkout severity=ERROR trace_id=- | payments is slow"
    body["analyses"] = [observation("a1", "checkout 报错: payments is slow", quote, "r1c4")]
    body["conclusion"] |= {"change_id": None, "analysis_ids": ["a1"], "text": "checkout 报错"}
    body["action_plan"] = body["recommendations"] = []


def _unseen_component(body: Body) -> None:
    body["conclusion"] |= {"component": "inventory"}


def _unseen_change(body: Body) -> None:
    body["conclusion"] |= {"change_id": "deploy-99"}


def _without_quote(body: Body) -> None:
    body["analyses"][0]["quotes"] = []


def _misquoted(body: Body) -> None:
    body["analyses"][0]["quotes"] = [SERIES.replace("4120", "9999")]


def _other_value(body: Body) -> None:
    body["analyses"][0]["text"] = "checkout 的 latency_ms 从 120 升到 5120"


def _substring(body: Body) -> None:
    body["analyses"][0]["text"] = "checkout 的 latency_ms 升到 412"


def _underived(body: Body) -> None:
    body["analyses"].append(
        observation("a3", "checkout 的 latency_ms 升了 77.7 倍", "", "r1c1", kind="INFERENCE", quotes=[])
    )


def _acts_on_a_stranger(body: Body) -> None:
    body["action_plan"] = [{"text": "回滚 deploy-99", "analysis_ids": ["a2"]}]


def _invents_a_command(body: Body) -> None:
    body["action_plan"] = [{"text": "执行 `kubectl delete deployment/checkout`", "analysis_ids": ["a2"]}]


SPOILED: dict[str, tuple[Callable[[Body], None], str]] = {
    "unresolved call": (_unresolved, "TOOL_CALL_ID_UNRESOLVED"),
    "no call": (_uncited, "TOOL_CALL_ID_MISSING"),
    "observation of nothing": (_observed_nothing, "NO_EVIDENCE_CITED_AS_OBSERVATION"),
    "negative with evidence": (_denied_with_evidence, "EVIDENCE_CITED_AS_NEGATIVE"),
    "negative beyond its scope": (_denied_elsewhere, "NEGATIVE_SCOPE_NOT_COVERED"),
    "inference from nothing": (_inferred_from_nothing, "INFERENCE_WITHOUT_EVIDENCE"),
    "one stream of text": (_only_text, "PROVENANCE_TOO_WEAK"),
    "unseen component": (_unseen_component, "COMPONENT_NOT_IN_EVIDENCE"),
    "unseen change": (_unseen_change, "CHANGE_NOT_IN_EVIDENCE"),
    "no quote": (_without_quote, "QUOTE_MISSING"),
    "wrong quote": (_misquoted, "QUOTE_NOT_FOUND"),
    "another value": (_other_value, "VALUE_NOT_IN_QUOTE"),
    "a part of a value": (_substring, "VALUE_NOT_IN_QUOTE"),
    "a value from nowhere": (_underived, "VALUE_NOT_DERIVED"),
    "an action on a stranger": (_acts_on_a_stranger, "ACTION_NAMES_UNKNOWN"),
    "a command of its own": (_invents_a_command, "COMMAND_NOT_IN_RUNBOOK"),
}


@pytest.mark.parametrize("case", sorted(SPOILED))
async def test_what_the_guard_refuses_and_tells_the_repair(case: str) -> None:
    spoil, code = SPOILED[case]
    body = draft()
    spoil(body)
    driven = handed_over(body)
    run = await driven.run()
    assert code in run.of("EVIDENCE_GUARD", "violations")[0]
    told = json.loads(str(driven.models["evidence_repair"].seen[0][-1].content))
    assert code in [violation["code"] for violation in told["violations"]]
    assert told["draft"] == body
    assert [item["tool_call_id"] for item in told["evidence"]] == ["r1c1", "r1c2", "r1c3", "r1c4", "r1c5"]
    assert run.of("EVIDENCE_GUARD", "passed") == [False, True]
    assert run.ended == ("SUCCESS", None)
    assert run.release["draft"] == draft()


def _inferred(body: Body) -> None:
    body["analyses"].append(
        observation("a3", "checkout 的 latency_ms 升了 4000", "", "r1c1", kind="INFERENCE", quotes=[])
    )


def _denied(body: Body) -> None:
    body["analyses"].append(observation("a3", "checkout 没有记录", "", "r1c3", kind="NEGATIVE_OBSERVATION", quotes=[]))


def _another_unit(body: Body) -> None:
    body["analyses"][0]["text"] = "checkout 的 latency_ms 升到 4.12 s"


def _another_zone(body: Body) -> None:
    body["analyses"][1] |= {"text": "checkout 在 23:03 上线了 deploy-77", "quotes": [DEPLOY]}


def _quoted_wider(body: Body) -> None:
    body["analyses"][0]["quotes"] = [SERIES.replace(" ", "  ").replace("4120", "４１２０")]


def _commands_of_the_runbook(body: Body) -> None:
    body["analyses"].append(observation("a3", "手册说明如何恢复", RUNBOOK, "r1c5"))
    body["action_plan"] = [{"text": f"执行 `{COMMAND}`", "analysis_ids": ["a3"]}]


@pytest.mark.parametrize(
    "change", [_inferred, _denied, _another_unit, _another_zone, _quoted_wider, _commands_of_the_runbook]
)
async def test_what_the_guard_passes(change: Callable[[Body], None]) -> None:
    body = draft()
    change(body)
    run = await handed_over(body).run()
    assert run.of("EVIDENCE_GUARD", "violations") == [[]]
    assert run.ended == ("SUCCESS", None)


async def test_a_no_conclusion_draft_keeps_its_good_references_and_is_not_repaired() -> None:
    cites = [
        observation("a1", "checkout 变慢", SERIES, "r1c1"),
        observation("a2", "x", "", "r9c9", quotes=[]),
        observation("a3", "nothing", "", "r1c1", kind="NEGATIVE_OBSERVATION", quotes=[]),
    ]
    driven = rig(request("checkout"), no_conclusion(cites=cites), tools=[metrics()])
    run = await driven.run()
    assert [source["tool_call_id"] for source in run.release["verified_sources"]] == ["r1c1"]
    assert driven.models["evidence_repair"].seen == []
    assert run.ended == ("FALLBACK", "INSUFFICIENT_EVIDENCE")


async def test_the_guard_reads_what_the_model_saw() -> None:
    """A secret that was masked in the observation is masked in the evidence; a quote of it as it was doesn't stand."""
    secret = "hunter2hunter2"
    line = f"log at=2026-06-18T15:05:00Z service=checkout severity=ERROR trace_id=- | password={secret}"
    body = draft()
    body["analyses"][0] = observation("a1", "checkout 报错", line, "r1c1")
    driven = rig(
        request("checkout"),
        request("checkout", tool="changes", previous=("r1c1", "GAINED")),
        reply(body),
        repair=[reply(body)],
        tools=[ScriptedTool(evidence([line]), name="probe"), changes()],
    )
    run: Run = await driven.run()
    assert "QUOTE_NOT_FOUND" in run.of("EVIDENCE_GUARD", "violations")[0]
    assert secret not in str(run.answers)
