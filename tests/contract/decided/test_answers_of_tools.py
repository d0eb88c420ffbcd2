"""Contract, "Answers of tools"."""

import asyncio
from typing import Any

import pytest
from typing_extensions import override

from tests.support.driving import Run, harness, rig
from tests.support.payload import spoken
from tests.support.scripted import ScriptedTool, evidence, no_conclusion, nothing, request
from tools.base import IncidentContext, SourceFailure
from tools.vocabulary import Evidence, Provenance, RelevanceLevel, Scope, SourceError


async def _answered(answer: Any) -> Run:
    return await rig(request("a"), no_conclusion(), tools=ScriptedTool({"a": answer})).run()


async def test_four_kinds_of_answer_are_never_confused() -> None:
    tools = ScriptedTool({"a": evidence(["x"]), "b": nothing(), "c": SourceFailure(SourceError.BACKEND_UNAVAILABLE)})
    driven = rig(
        request("a"),
        request("b", previous=("r1c1", "GAINED")),
        request("c"),
        request("senseless"),
        no_conclusion(),
        tools=tools,
    )
    run = await driven.run()
    kinds = [(a["type"], a.get("evidence_status"), a.get("code")) for a in run.answers]
    assert kinds == [
        ("OBSERVATION", "EVIDENCE", None),
        ("OBSERVATION", "NO_EVIDENCE", None),
        ("ERROR", None, "BACKEND_UNAVAILABLE"),
        ("REJECTED", None, "INVALID_TOOL_ARGUMENTS"),
    ]
    traced = [(e["status"], e.get("evidence_status"), e.get("code")) for e in run.events("TOOL_INVOCATION")]
    assert traced == [
        ("READY", "EVIDENCE", None),
        ("READY", "NO_EVIDENCE", None),
        ("ERROR", None, "BACKEND_UNAVAILABLE"),
    ]
    assert [key["status"] for key in run.state["invocation_keys"]] == ["READY", "READY", "ERROR"]
    assert [fact["scope"]["service"] for fact in run.facts] == ["a", "b"]


@pytest.mark.parametrize("code", list(SourceError))
async def test_each_error_of_a_source_is_told_by_its_code(code: SourceError) -> None:
    run = await _answered(SourceFailure(code))
    assert run.answers[0] == {"type": "ERROR", "tool_call_id": "r1c1", "tool_name": "probe", "code": code.value}
    assert {"code": code.value, "source": "probe"} in run.release["limitations"]
    assert run.facts == []


async def test_a_typo_is_no_absence_and_near_names_are_told() -> None:
    unknown = SourceFailure(SourceError.UNKNOWN_SELECTOR, near_names=("checkout", "check"), field="target")
    run = await _answered(unknown)
    assert run.answers[0]["near_names"] == ["checkout", "check"]
    assert run.answers[0]["field"] == "target"
    assert run.state["consecutive_no_gain"] == 0


async def test_a_known_place_without_the_object_is_evidence() -> None:
    run = await _answered(evidence(["change id=deploy-9 found=no"]))
    assert run.answers[0]["evidence_status"] == "EVIDENCE"
    assert run.events("INFORMATION_GAIN") == []


async def test_an_error_is_pending_nothing_and_moves_no_counter() -> None:
    driven = rig(
        request("a"),
        request("b"),
        no_conclusion(),
        tools=ScriptedTool({"a": SourceFailure(SourceError.BACKEND_TIMEOUT), "b": nothing()}),
    )
    state_of_error = await driven.run()
    assert driven.executed == ["a", "b"]
    assert state_of_error.rejected == []
    assert state_of_error.state["consecutive_no_gain"] == 1


async def test_an_older_pending_observation_stays_pending_behind_an_error() -> None:
    driven = rig(
        request("a"),
        request("senseless", previous=("r1c1", "GAINED")),
        request("b"),
        no_conclusion(),
    )
    run = await driven.run()
    assert driven.executed == ["a", "b"]
    assert run.rejected == ["INVALID_TOOL_ARGUMENTS"]


async def test_a_failed_scope_may_be_asked_again_at_most_twice() -> None:
    failure = SourceFailure(SourceError.BACKEND_UNAVAILABLE)
    driven = rig(*[request("a")] * 4, no_conclusion(), tools=ScriptedTool({"a": failure}))
    run = await driven.run()
    assert driven.executed == ["a", "a", "a"]
    assert run.rejected == ["ATTEMPTS_EXHAUSTED"]
    assert run.state["consecutive_no_gain"] == 0


async def test_each_error_is_a_limitation_though_a_later_try_succeeded() -> None:
    answers: list[Any] = [SourceFailure(SourceError.BACKEND_TIMEOUT), evidence(["x"])]

    def flaky(scope: Scope) -> Evidence:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        found: Evidence = answer
        return found

    driven = rig(request("a"), request("a"), no_conclusion(), tools=ScriptedTool(flaky))
    run = await driven.run()
    assert driven.executed == ["a", "a"]
    assert run.rejected == []
    assert {"code": "BACKEND_TIMEOUT", "source": "probe"} in run.release["limitations"]
    assert len(run.facts) == 1


@pytest.mark.parametrize("provenance", list(Provenance))
@pytest.mark.parametrize("relevance", list(RelevanceLevel))
async def test_each_record_tells_its_provenance_and_relevance(
    provenance: Provenance, relevance: RelevanceLevel
) -> None:
    run = await _answered(evidence(["x"], provenance=provenance, relevance=relevance))
    assert run.answers[0]["provenance"] == provenance
    assert run.answers[0]["relevance_level"] == relevance


async def test_facts_hold_the_summary_and_no_line_of_the_source() -> None:
    run = await _answered(evidence(["log | SOURCELINE"], summary="latency_ms: 120 to 4120"))
    assert run.facts[0]["result"] == "latency_ms: 120 to 4120"
    assert "SOURCELINE" in spoken(run.answers)
    assert "SOURCELINE" not in spoken([run.release, run.state["progress_snapshot"], run.progress])


async def test_secrets_are_masked_before_a_model_a_store_or_a_checkpoint_sees_them() -> None:
    leaky = evidence(["log | password=hunter2hunter2 13800138000"], summary="token=abcdef1234567890abcdef")
    driven = rig(request("a"), no_conclusion(), tools=ScriptedTool({"a": leaky}))
    run = await driven.run()
    everything = spoken([run.chunks, driven.diagnosis.seen, [i.value for i in (await driven.stored()).values()]])
    for secret in ("hunter2hunter2", "13800138000", "abcdef1234567890abcdef"):
        assert secret not in everything


async def test_an_observation_is_bounded() -> None:
    lines = [f"log at={number} | " + "x" * 500 for number in range(400)]
    driven = rig(
        request("a"),
        no_conclusion(),
        tools=ScriptedTool({"a": evidence(lines)}),
        settings=harness(observation_bytes=2048),
    )
    run = await driven.run()
    assert run.answers[0]["truncated"] is True
    assert len(spoken(run.answers[0]["content"])) < 4096
    assert run.facts[0]["truncated"] is True


class _Hanging(ScriptedTool):
    @override
    async def collect(self, scope: Scope, arguments: Any, incident: IncidentContext) -> Evidence:
        await asyncio.Event().wait()
        raise AssertionError


async def test_a_source_that_does_not_answer_is_a_timeout() -> None:
    settings = harness()
    settings.tool.timeout_seconds = 0.01
    run = await rig(request("a"), no_conclusion(), tools=_Hanging(nothing()), settings=settings).run()
    assert run.answers[0]["code"] == "BACKEND_TIMEOUT"


@pytest.mark.parametrize(
    "error", [ValueError("TOOLTEXT"), KeyError("TOOLTEXT"), ExceptionGroup("TOOLTEXT", [OSError()])]
)
async def test_a_tool_that_raises_is_an_error_without_its_text(error: Exception) -> None:
    run = await _answered(error)
    assert run.answers[0]["code"] == "INTERNAL_ERROR"
    assert "TOOLTEXT" not in spoken([run.chunks, run.state])


async def test_a_tool_that_lets_a_cancellation_of_its_own_out_ends_no_run() -> None:
    run = await _answered(asyncio.CancelledError())
    assert run.answers[0]["code"] == "INTERNAL_ERROR"
    assert run.ended == ("FALLBACK", "INSUFFICIENT_EVIDENCE")


class _Choking(ScriptedTool):
    @override
    def normalize(self, arguments: Any, incident: IncidentContext) -> Scope:
        raise OverflowError("TOOLTEXT")


async def test_a_tool_that_chokes_on_arguments_refuses_them() -> None:
    run = await rig(request("a"), no_conclusion(), tools=_Choking(nothing())).run()
    assert run.answers[0]["code"] == "INVALID_TOOL_ARGUMENTS"
    assert run.answers[0]["fields"] == ["arguments"]
    assert "TOOLTEXT" not in spoken([run.chunks, run.state])
