"""diagnosis-information-gain-stop-contract: Model token audit SHALL be component-scoped and reconcilable."""

from langchain_core.messages import AIMessage

from tests.support.drafts import changes, draft, metrics, reply, route, verdict
from tests.support.driving import Run, harness, rig
from tests.support.scripted import no_conclusion, request, text, usage


def _audited(run: Run) -> dict[tuple[str, int], int | None]:
    return {
        (event["component"], event["component_round"]): (
            event["input_tokens"] + event["output_tokens"] if event["usage_available"] else None
        )
        for event in run.events("MODEL_TOKEN_USAGE")
    }


async def test_diagnosis_agent_round_returns_usage() -> None:
    """diagnosis-information-gain-stop-contract / Model token audit SHALL be component-scoped and reconcilable /
    Diagnosis Agent round returns Usage.
    """
    driven = rig(
        request("a", tokens=(100, 7)), request("b", previous=("r1c1", "GAINED"), tokens=(200, 9)), no_conclusion()
    )
    run = await driven.run()
    assert _audited(run) == {("diagnosis", 1): 107, ("diagnosis", 2): 209, ("diagnosis", 3): 15}
    assert run.state["agent_steps"] == [
        {"round": 1, "token_count": 107},
        {"round": 2, "token_count": 209},
        {"round": 3, "token_count": 15},
    ]
    assert run.state["budget"]["tokens"] == 331
    first = run.events("MODEL_TOKEN_USAGE")[0]
    assert (first["input_tokens"], first["output_tokens"]) == (100, 7)


async def test_multiple_model_components_execute() -> None:
    """diagnosis-information-gain-stop-contract / Model token audit SHALL be component-scoped and reconcilable /
    Multiple model components execute.
    """
    broken = draft()
    broken["analyses"][1]["tool_call_ids"] = ["r1c9"]
    driven = rig(
        request("checkout"),
        request("checkout", tool="changes", previous=("r1c1", "GAINED")),
        reply(broken),
        router=[route("diagnosis", service="checkout")],
        repair=[reply(draft())],
        review=[verdict()],
        tools=[metrics(), changes()],
    )
    run = await driven.run(incident=None)
    audited = _audited(run)
    assert set(audited) == {
        ("router", 1),
        *(("diagnosis", number) for number in (1, 2, 3)),
        ("evidence_repair", 1),
        ("semantic_guard", 1),
    }
    sums = run.events("TOKEN_RECONCILIATION")
    assert len(sums) == 1
    assert sums[0]["audited_tokens"] == sum(tokens or 0 for tokens in audited.values()) == 90
    assert sums[0]["budget_tokens"] == run.state["budget"]["tokens"] == 90
    assert sums[0]["reconciled"] is True
    assert run.ended == ("SUCCESS", None)


async def test_provider_usage_is_unavailable() -> None:
    """diagnosis-information-gain-stop-contract / Model token audit SHALL be component-scoped and reconcilable /
    Provider Usage is unavailable.
    """
    blank = AIMessage(content=" ", **usage(30, 1))
    driven = rig(request("a", tokens=None), TimeoutError("late"), blank, no_conclusion(), settings=harness(attempts=3))
    run = await driven.run()
    assert _audited(run) == {("diagnosis", 1): None, ("diagnosis", 2): None, ("diagnosis", 3): 31, ("diagnosis", 4): 15}
    assert [step["token_count"] for step in run.state["agent_steps"]] == [None, None, 31, 15]
    missing = run.events("MODEL_TOKEN_USAGE")[0]
    assert "input_tokens" not in missing
    assert "output_tokens" not in missing
    sums = run.events("TOKEN_RECONCILIATION")[0]
    assert sums["usage_unavailable"] == 2
    assert sums["reconciled"] is False
    assert sums["audited_tokens"] == sums["budget_tokens"] == 46
    assert text("x", tokens=None).usage_metadata is None
