"""Contract, "Release": the table, row by row, and what stands below it."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from typing_extensions import override

from graph.contract.texts import HEADLINES
from graph.contract.vocabulary import FailureCode
from graph.settings import DiagnosisContext
from tests.support.drafts import ANALYSIS_TEXT, CONCLUSION_TEXT, SERIES, changes, draft, metrics, reply, verdict
from tests.support.driving import Rig, harness, rig
from tests.support.payload import spoken
from tests.support.scripted import ScriptedTool, Step, evidence, no_conclusion, nothing, request, text
from tools.base import SourceFailure
from tools.vocabulary import ChangeKind, ChangeRef, EvidenceKind, Scope, SourceError

Row = tuple[str, str | None]
INSUFFICIENT: Row = ("FALLBACK", "INSUFFICIENT_EVIDENCE")
REFUSED: Row = ("FALLBACK", "EVIDENCE_VALIDATION_FAILED")
FAILED: Row = ("FAILED", None)


def found(*more: Step, **parts: Any) -> Rig:
    """A run that has two facts when it ends."""
    first = [request("checkout"), request("checkout", tool="changes", previous=("r1c1", "GAINED"))]
    return rig(*first, *more, tools=[metrics(), changes()], **parts)


def bare(*more: Step, **parts: Any) -> Rig:
    """A run that has none: its one source is away."""
    away = ScriptedTool(SourceFailure(SourceError.BACKEND_UNAVAILABLE))
    return rig(request("checkout"), *more, tools=[away], **parts)


def broken() -> dict[str, Any]:
    body = draft()
    body["analyses"][0]["tool_call_ids"] = ["r9c9"]
    return body


def tired(*, tokens: int = 30) -> Any:
    return harness(max_tokens=tokens)


WITH_FACTS: dict[str, tuple[Callable[[], Rig], Row]] = {
    "concluded, both guards pass": (lambda: found(reply(draft()), review=[verdict()]), ("SUCCESS", None)),
    "refused twice": (lambda: found(reply(broken()), repair=[reply(broken())]), REFUSED),
    "repair unparsable": (lambda: found(reply(broken()), repair=[text("sorry")]), REFUSED),
    "repair unaffordable": (lambda: found(reply(broken()), settings=tired(tokens=45)), REFUSED),
    "repair's endpoint down": (lambda: found(reply(broken()), repair=[TimeoutError()] * 2), REFUSED),
    "unsupported": (
        lambda: found(reply(draft()), review=[verdict("UNSUPPORTED")]),
        ("FALLBACK", "SEMANTIC_UNSUPPORTED"),
    ),
    "review unavailable": (
        lambda: found(reply(draft()), review=[TimeoutError(), text("?")]),
        ("FALLBACK", "SEMANTIC_UNAVAILABLE"),
    ),
    "review unaffordable": (
        lambda: found(reply(draft()), settings=tired(tokens=45)),
        ("FALLBACK", "SEMANTIC_UNAVAILABLE"),
    ),
    "no conclusion": (lambda: found(no_conclusion()), INSUFFICIENT),
    "no conclusion, context missing": (lambda: found(no_conclusion(missing=["time"])), INSUFFICIENT),
    "saturated": (
        lambda: found(
            request("x", previous=("r1c2", "NO_GAIN")), request("y"), request("z"), settings=harness(no_gain=2)
        ),
        INSUFFICIENT,
    ),
    "protocol stop": (
        lambda: found(request("x"), request("y"), settings=harness(violations=1)),
        INSUFFICIENT,
    ),
    "budget": (lambda: found(settings=tired()), INSUFFICIENT),
    "draft unparsable": (lambda: found(text("prose")), INSUFFICIENT),
    "endpoint down": (lambda: found(TimeoutError(), TimeoutError()), INSUFFICIENT),
}

WITHOUT_FACTS: dict[str, tuple[Callable[[], Rig], Row]] = {
    "refused twice": (lambda: bare(reply(broken()), repair=[reply(broken())]), REFUSED),
    "repair unparsable": (lambda: bare(reply(broken()), repair=[text("sorry")]), REFUSED),
    "repair unaffordable": (lambda: bare(reply(broken()), settings=tired()), REFUSED),
    "repair's endpoint down": (lambda: bare(reply(broken()), repair=[TimeoutError()] * 2), REFUSED),
    "no conclusion, context missing, after an error": (
        lambda: bare(no_conclusion(missing=["time"])),
        ("FALLBACK", "MISSING_REQUIRED_CONTEXT"),
    ),
    "no conclusion, context missing, nothing asked": (
        lambda: rig(no_conclusion(missing=["time"])),
        ("FALLBACK", "MISSING_REQUIRED_CONTEXT"),
    ),
    "no conclusion": (lambda: bare(no_conclusion()), INSUFFICIENT),
    "no conclusion, nothing asked": (lambda: rig(no_conclusion()), INSUFFICIENT),
    "budget": (lambda: bare(settings=tired(tokens=15)), FAILED),
    "draft unparsable": (lambda: bare(text("prose")), FAILED),
    "endpoint down": (lambda: bare(TimeoutError(), TimeoutError()), FAILED),
}


@pytest.mark.parametrize("row", WITH_FACTS)
async def test_the_table_with_facts(row: str) -> None:
    made, ended = WITH_FACTS[row]
    run = await made().run()
    assert run.ended == ended
    assert len(run.facts) >= 2
    assert run.of("RELEASE", "outcome") == [ended[0]]
    assert run.of("RELEASE", "fallback_type") == [ended[1]]
    headline = HEADLINES[ended[1] or ended[0]][0]
    assert run.release["text"].splitlines()[0] == headline


@pytest.mark.parametrize("row", WITHOUT_FACTS)
async def test_the_table_without_facts(row: str) -> None:
    made, ended = WITHOUT_FACTS[row]
    run = await made().run()
    assert run.ended == ended
    assert run.facts == []
    assert run.release["limitations"]


async def test_a_protocol_stop_without_facts_fails() -> None:
    driven = rig(request("a"), request("b"), request("c"), settings=harness(violations=1))
    await driven.pause("close_collection")
    for item in (await driven.stored()).values():
        await driven.store.adelete(item.namespace, item.key)
    run = await driven.drive(None)
    assert run.ended == FAILED
    assert "PROGRESS_PROTOCOL_VIOLATED" in run.limitations


async def test_saturation_without_facts_is_a_fallback_with_empty_facts_and_limitations() -> None:
    driven = rig(request("a"), request("b"), request("c"), request("d"), tools=ScriptedTool(nothing()))
    await driven.pause("close_collection")
    for item in (await driven.stored()).values():
        await driven.store.adelete(item.namespace, item.key)
    run = await driven.drive(None)
    assert run.ended == INSUFFICIENT
    assert run.facts == []
    assert "RECORD_MISSING" in run.limitations


@pytest.mark.parametrize(
    ("row", "code"),
    [
        ("protocol stop", "PROGRESS_PROTOCOL_VIOLATED"),
        ("budget", "BUDGET_LIMIT_REACHED"),
        ("draft unparsable", "DRAFT_UNREADABLE"),
        ("endpoint down", "MODEL_UNREACHABLE"),
    ],
)
async def test_the_limitation_names_the_cause_by_its_code(row: str, code: str) -> None:
    run = await WITH_FACTS[row][0]().run()
    assert code in run.limitations


@pytest.mark.parametrize("has_facts", [True, False])
async def test_an_internal_error_is_released_in_order(has_facts: bool) -> None:
    driven = found(no_conclusion()) if has_facts else rig(no_conclusion())
    driven.diagnosis.script.insert(2 if has_facts else 0, RuntimeError("INTERNALTEXT"))
    run = await driven.run()
    assert run.ended == (INSUFFICIENT if has_facts else FAILED)
    assert FailureCode.INTERNAL_ERROR in run.limitations
    assert "INTERNALTEXT" not in spoken([run.chunks, run.state])


class _Unquotable(ScriptedTool):
    @override
    def paste(self, scope: Scope) -> str:
        raise RuntimeError("NODETEXT")


async def test_a_node_that_raises_is_released_in_order() -> None:
    run = await rig(request("a"), no_conclusion(), tools=_Unquotable(evidence(["x"]))).run()
    assert run.ended == INSUFFICIENT
    assert len(run.facts) == 1
    assert FailureCode.INTERNAL_ERROR in run.limitations
    assert run.of("RUN_FAILURE", "code") == ["INTERNAL_ERROR"]
    assert "NODETEXT" not in spoken([run.chunks, run.state])


async def test_nothing_found_is_a_safe_observation() -> None:
    driven = rig(request("a"), text("prose"), tools=ScriptedTool(nothing()))
    run = await driven.run()
    assert run.ended == INSUFFICIENT
    assert len(run.facts) == 1


@pytest.mark.parametrize("missing", [["time"], []])
async def test_a_repair_that_gives_up_takes_the_no_conclusion_path(missing: list[str]) -> None:
    driven = bare(reply(broken()), repair=[no_conclusion(missing=missing)])
    run = await driven.run()
    assert run.ended == (("FALLBACK", "MISSING_REQUIRED_CONTEXT") if missing else INSUFFICIENT)
    assert driven.models["semantic_guard"].seen == []
    assert (await found(reply(broken()), repair=[no_conclusion()]).run()).ended == INSUFFICIENT


@pytest.mark.parametrize("row", WITH_FACTS)
async def test_facts_go_with_every_type_and_no_prose_of_a_model_with_a_fallback(row: str) -> None:
    run = await WITH_FACTS[row][0]().run()
    assert [fact["source"] for fact in run.facts][:2] == ["probe", "changes"]
    if run.ended[0] == "SUCCESS":
        assert [source["tool_call_id"] for source in run.release["verified_sources"]] == ["r1c1", "r1c2"]
        return
    published = spoken([run.release, run.state["messages"]])
    for prose in (CONCLUSION_TEXT, ANALYSIS_TEXT, "prose", "sorry", "because"):
        assert prose not in published
    if run.ended == REFUSED:
        assert run.release["verified_sources"] == []


async def test_a_fallback_helps_on() -> None:
    onset = datetime(2026, 6, 18, 15, 4, tzinfo=UTC)
    deploy = ChangeRef(kind=ChangeKind.DEPLOY, change_id="deploy-77", service="checkout", at=onset)
    measured = evidence([SERIES], onset=onset, first_failing="checkout", changes=(deploy,), truncated=True)
    family = [
        ScriptedTool(measured),
        ScriptedTool(nothing(), name="traces", kind=EvidenceKind.TRACES),
        ScriptedTool(SourceFailure(SourceError.BACKEND_UNAVAILABLE), name="logs", kind=EvidenceKind.LOGS),
        ScriptedTool(nothing(), name="alerts", kind=EvidenceKind.ALERTS),
    ]
    driven = rig(
        request("checkout"),
        request("checkout", tool="traces", previous=("r1c1", "GAINED")),
        request("checkout", tool="logs"),
        no_conclusion(),
        tools=family,
    )
    run = await driven.run()
    gaps = {gap["kind"]: gap for gap in run.release["gaps"]}
    assert {kind: gap["reason"] for kind, gap in gaps.items()} == {
        "metrics": "truncated",
        "traces": "empty",
        "logs": "unavailable",
        "alerts": "unasked",
    }
    assert all(gap["query"] == "probe --service checkout" for gap in gaps.values())
    assert all(gap["scope"] == {"service": "checkout"} for gap in gaps.values())
    assert run.release["onset"] == "2026-06-18T15:04:00Z"
    assert run.release["first_failing"] == "checkout"
    assert [(change["change_id"], change["proven"]) for change in run.release["unproven_changes"]] == [
        ("deploy-77", False)
    ]
    for told in ("probe --service checkout", "deploy-77", "2026-06-18T15:04:00+00:00"):
        assert told in run.release["text"]


@pytest.mark.parametrize("locale", ["zh", "en"])
async def test_the_fixed_texts_are_chinese_and_english_by_locale(locale: str) -> None:
    run = await rig(no_conclusion()).run(context=DiagnosisContext.model_validate({"locale": locale}))
    headline = HEADLINES["INSUFFICIENT_EVIDENCE"][0 if locale == "zh" else 1]
    assert run.release["text"].startswith(headline)
    assert run.release["locale"] == locale
