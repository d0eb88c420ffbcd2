import io
import re

import pytest
from rich.console import Console

from app.report import render_report, scope_text
from app.words import Locale, words_for
from graph.contract.release import Release
from graph.contract.vocabulary import ReleaseOutcome
from tests.app.samples import HOSTILE, WINDOW, bare, fallback, success


def rendered(release: Release, locale: Locale = "en", width: int = 300, color: bool = False) -> str:
    out = io.StringIO()
    console = Console(
        file=out, width=width, markup=False, emoji=False, highlight=False, force_terminal=color, no_color=not color
    )
    console.print(render_report(release, words_for(locale)), crop=False)
    return out.getvalue()


def test_success_cites_every_sentence_with_its_call_and_scope() -> None:
    text = rendered(success())
    assert "pool shrank [1][2]" in text
    assert "Component: pay" in text
    assert "Change: c0ffee1" in text
    assert "Failed first: pay-db" in text
    assert "Affected: cart, web" in text
    assert "[1] observed  pool shrank" in text
    assert text.count("quote “pool shrank”") == 1
    assert "[2] inferred  pool shrank\n      quoted in [1]\n" in text
    assert (
        "source r1c1 query_metrics (measured, this incident) service=pay 2026-06-18T12:00:00Z→2026-06-18T15:15:00Z"
        in text
    )
    assert "source r1c2 list_changes (measured, this incident, result cut short)" in text
    assert "1. roll back c0ffee1 [2]" in text
    assert "1. alert on the pool [1]" in text


def test_success_shows_what_was_ruled_out_and_why() -> None:
    proof, _, ruled_out = rendered(success()).partition("Ruled out\n")
    assert "dns is well" not in proof
    assert "[3] not seen  dns is well" in ruled_out
    assert "source r1c3 query_traces" in ruled_out


def test_fallback_shows_what_was_checked_what_is_missing_and_the_query_to_paste() -> None:
    lines = rendered(fallback(), width=100).splitlines()
    text = "\n".join(lines)
    assert "Insufficient evidence" in text
    assert "time of the incident" in text
    assert "Onset: 2026-06-18T14:05:00Z" in text
    assert "Failed first: pay-db" in text
    assert "latency p99 pay 120 ms → 4 s (result cut short)" in text
    assert "changes: not asked" in text
    assert "query_metrics service=pay" in lines
    assert re.search(r"deploy c0ffee1 +pay +not proven", text)
    assert "search_logs: a call's record has expired and was not used as a fact (RECORD_EXPIRED)" in text


def test_a_query_to_paste_is_never_wrapped() -> None:
    query = "query_metrics " + " ".join(f"label_{number}=value_{number}" for number in range(40))
    assert query in rendered(fallback(query=query), width=40).splitlines()


@pytest.mark.parametrize("outcome", [ReleaseOutcome.FAILED, ReleaseOutcome.CANCELLED])
def test_an_empty_release_says_what_became_of_the_run(outcome: ReleaseOutcome) -> None:
    text = rendered(bare(outcome), "zh")
    assert words_for("zh").outcome[outcome] in text
    assert words_for("zh").outcome_note[outcome] in text


@pytest.mark.parametrize("color", [False, True])
def test_hostile_text_stays_text(color: bool) -> None:
    draft = success().model_dump(mode="json")
    text = rendered(fallback(HOSTILE, HOSTILE), color=color) + rendered(
        Release.model_validate(draft).model_copy(update={"model": HOSTILE, "run_id": HOSTILE}), color=color
    )
    assert "[bold red]x[/] [31mred[0m evil :smile:" in text
    left = re.sub(r"\x1b\[[0-9;]*m", "", text) if color else text
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\ud800]", left)
    if not color:
        assert "\x1b" not in text


@pytest.mark.parametrize("width", [1, 20, 40, 200])
@pytest.mark.parametrize("locale", ["zh", "en"])
def test_any_width_renders_every_kind_of_release(locale: Locale, width: int) -> None:
    for release in (success(), fallback(), bare(ReleaseOutcome.CANCELLED)):
        assert rendered(release, locale, width)


def test_scope_is_one_line_with_its_window_last_and_no_nulls() -> None:
    scope = {**WINDOW, "labels": {"pod": "a"}, "names": ["x", "y"], "metric": None}
    assert scope_text(scope) == "labels={pod=a} names=x,y 2026-06-18T12:00:00Z→2026-06-18T15:15:00Z"
    assert scope_text({}) == ""
