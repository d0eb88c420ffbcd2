"""Zhizhi as a target, and what is missing where one of its parts is taken away."""

from pathlib import Path
from typing import Any

from evals.cases import Attempt, Case
from evals.targets import WITHOUT_EVIDENCE_GUARD, WITHOUT_SEMANTIC_GUARD, WITHOUT_STOP, ZHIZHI, load_target
from evals.targets.zhizhi import Zhizhi
from graph.settings import HarnessSettings
from graph.verify import read_record, verify
from tests.support.drafts import changes, draft, metrics, reply, verdict
from tests.support.scripted import ScriptedChatModel, ScriptedTool, Step, evidence, no_conclusion, request
from tools.base import EvidenceTool

CASE = Case(
    suite="made-up",
    case_id="a/b",
    cluster="a",
    query="checkout 为什么变慢?",
    incident={"service": "checkout", "fired_at": "2026-06-18T15:20:00Z"},
)
PROVEN: tuple[Step, ...] = (
    request("checkout"),
    request("checkout", tool="changes", previous=("r1c1", "GAINED")),
    reply(draft()),
)
SETTINGS = HarnessSettings(openai_api_key=None)


def scripted(*steps: Step, said: str = "SUPPORTED", repaired: Step | None = None) -> Any:
    return {
        "diagnosis": ScriptedChatModel(script=list(steps)),
        "evidence_repair": ScriptedChatModel(script=[repaired] if repaired else []),
        "semantic_guard": ScriptedChatModel(script=[verdict(said)]),
    }


async def attempt(name: str, models: Any, *tools: EvidenceTool) -> Attempt:
    return await load_target(name, models, SETTINGS).attempt(CASE, tools or (metrics(), changes()))


async def test_an_attempt_tells_calls_gains_tokens_and_what_came_back() -> None:
    found = await attempt(ZHIZHI, scripted(*PROVEN))
    assert found.failure is None
    assert found.conclusion is not None
    assert found.conclusion["change_id"] == "deploy-77"
    assert [(c.tool_name, c.executed, c.status, c.gained) for c in found.calls] == [
        ("probe", True, "READY", True),
        ("changes", True, "READY", None),
    ]
    assert found.calls[0].arguments == {"target": "checkout", "limit": None}
    assert found.calls[0].scope == {"service": "checkout"}
    assert "metric=latency_ms" in found.calls[0].content[0]
    assert (found.model_calls, found.tokens) == (4, 60)


async def test_refused_requests_are_told_apart_from_calls() -> None:
    again = request("checkout", previous=("r1c1", "GAINED"))
    found = await attempt(ZHIZHI, scripted(request("checkout"), again, no_conclusion()))
    assert [(c.executed, c.status) for c in found.calls] == [(True, "READY"), (False, "DUPLICATE_SCOPE")]
    assert found.conclusion is None


async def test_an_endpoint_that_is_away_fails_the_case_and_is_not_replaced() -> None:
    found = await attempt(ZHIZHI, scripted(ConnectionError("away"), ConnectionError("away")))
    assert found.failure in {"MODEL_UNREACHABLE", "INTERNAL_ERROR"}
    assert (found.release or {}).get("model") != "zhizhi-offline"


def useless(count: int) -> tuple[Step, ...]:
    """So many questions, each judged to have brought nothing."""
    return (
        request("s0"),
        *(request(f"s{i}", previous=(f"r1c{i}", "NO_GAIN")) for i in range(1, count)),
        no_conclusion(),
    )


async def test_without_the_stop_collection_goes_on_where_it_would_have_ended() -> None:
    def probe() -> ScriptedTool:
        return ScriptedTool(lambda scope: evidence([f"series service={scope['service']} metric=m direction=FLAT"]))

    stopped = await attempt(ZHIZHI, scripted(*useless(6)), probe())
    free = await attempt(WITHOUT_STOP, scripted(*useless(6)), probe())
    assert len(stopped.executed) == 2
    assert len(free.executed) == 6


FORGED = reply(draft(calls=("r1c1", "r9c9")))


async def test_without_the_evidence_guard_a_forged_citation_is_published() -> None:
    forged = (*PROVEN[:2], FORGED)
    guarded = await attempt(ZHIZHI, scripted(*forged, repaired=FORGED))
    unguarded = await attempt(WITHOUT_EVIDENCE_GUARD, scripted(*forged))
    assert guarded.release is not None
    assert (guarded.release["outcome"], guarded.release["fallback_type"]) == (
        "FALLBACK",
        "EVIDENCE_VALIDATION_FAILED",
    )
    assert unguarded.conclusion is not None
    assert unguarded.release is not None
    assert len(unguarded.release["verified_sources"]) == 1


async def test_without_the_semantic_guard_what_it_refuses_is_published() -> None:
    guarded = await attempt(ZHIZHI, scripted(*PROVEN, said="UNSUPPORTED"))
    unguarded = await attempt(WITHOUT_SEMANTIC_GUARD, scripted(*PROVEN, said="UNSUPPORTED"))
    assert guarded.release is not None
    assert guarded.release["fallback_type"] == "SEMANTIC_UNSUPPORTED"
    assert unguarded.conclusion is not None


async def test_a_run_leaves_a_record_that_verifies(tmp_path: Path) -> None:
    target = Zhizhi(ZHIZHI, scripted(*PROVEN), SETTINGS, records=tmp_path)
    found = await target.attempt(CASE, (metrics(), changes()))
    assert found.release is not None
    path = tmp_path / f"made-up.a-b.{found.release['run_id'][:8]}.json"
    assert verify(read_record(path)).difference is None
