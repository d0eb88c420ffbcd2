"""report-mutation: correct reports in two languages, mutants broken in one place, and what the guards make of them."""

import ast
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import evals.suites.report_mutation as suite
from evals.cases import SelfRunningSuite
from evals.suites.report_mutation import (
    BOTH_GUARDS,
    EVIDENCE_GUARD,
    INVENTED_STORIES,
    LATE_PREFIX,
    UNBROKEN,
    Item,
    items_of,
    make_suite,
)
from evals.suites.report_mutation.invented import invent
from evals.suites.report_mutation.judging import evidence_word
from evals.suites.report_mutation.late import LATE_KINDS
from evals.suites.report_mutation.mutations import KINDS
from evals.suites.report_mutation.wording import MANNERS
from evals.suites.report_mutation.writing import Report, write_report
from tests.support.drafts import verdict
from tests.support.scripted import ScriptedChatModel

GENERATORS = ("story", "invented", "frozen", "wording", "writing", "mutations", "late")


def invented(stories: int = INVENTED_STORIES) -> list[Report]:
    made = [
        write_report(invent(number, 0), locale, manner, suite._rng(number, locale, manner))
        for number in range(stories)
        for locale in ("zh", "en")
        for manner in MANNERS
    ]
    return [report for report in made if report is not None]


ITEMS = items_of(invented(), 0)


def kinds(items: list[Item]) -> Counter[str]:
    return Counter(item.kind for item in items)


def test_there_are_enough_reports_and_mutants_without_any_data() -> None:
    found = kinds(ITEMS)
    assert found[UNBROKEN] >= 300
    assert sum(found.values()) - found[UNBROKEN] >= 1000
    assert set(found) == {UNBROKEN, *KINDS, *(LATE_PREFIX + name for name in LATE_KINDS)}
    assert {item.report.locale for item in ITEMS} == {"zh", "en"}
    assert len(LATE_KINDS) == 3


@pytest.mark.parametrize("name", GENERATORS)
def test_the_generators_know_nothing_of_the_guard(name: str) -> None:
    tree = ast.parse((Path(str(suite.__file__)).parent / f"{name}.py").read_text(encoding="utf-8"))
    modules = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    modules |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    assert not [module for module in modules if module.startswith("graph")]


def test_a_mutant_differs_from_its_report_and_leaves_it_alone() -> None:
    for item in ITEMS:
        whole = item.report.draft
        if item.kind == UNBROKEN:
            assert item.draft is whole
            continue
        assert item.draft != whole
        assert changed_parts(whole, item.draft) <= (2 if item.kind == "reference_as_fact" else 1), item.kind


def changed_parts(whole: dict[str, Any], broken: dict[str, Any]) -> int:
    """How many of a report's parts differ: each analysis, the conclusion, each list of items."""
    parts = [*zip(whole["analyses"], broken["analyses"], strict=False)]
    parts += [(whole[name], broken[name]) for name in ("conclusion", "action_plan", "recommendations", "limitations")]
    more = len(broken["analyses"]) - len(whole["analyses"])
    return int(sum(before != after for before, after in parts) + more)


def test_equal_seeds_give_equal_items_and_others_dont() -> None:
    again = items_of(invented(4), 0)
    assert [item.draft for item in again] == [item.draft for item in items_of(invented(4), 0)]
    assert invent(3, 0) == invent(3, 0)
    assert invent(3, 0) != invent(3, 1)


def test_the_guard_passes_correct_reports_and_refuses_what_is_certainly_broken() -> None:
    certain = (
        "id_of_no_call",
        "id_of_an_error",
        "quote",
        "direction",
        "sign",
        "number",
        "negatives_only",
        "missing_id",
    )
    for item in ITEMS[::7]:
        codes = evidence_word(item.draft, item.report.story)
        if item.kind == UNBROKEN:
            assert codes == (), item.report.case_id
        if item.kind in certain:
            assert codes, (item.kind, item.report.case_id)


async def test_both_targets_are_scored_and_balanced_accuracy_is_a_mean(tmp_path: Path) -> None:
    made = make_suite(tmp_path)
    assert isinstance(made, SelfRunningSuite)
    model = ScriptedChatModel(script=[verdict() for _ in range(200)])
    results = [result async for result in made.run(seed=0, limit=60, models=model)]
    assert {result.target for result in results} == {EVIDENCE_GUARD, BOTH_GUARDS}
    assert len({(result.case.case_id, result.target) for result in results}) == len(results)
    for target in (EVIDENCE_GUARD, BOTH_GUARDS):
        rows = [r.score.values for r in results if r.target == target and r.score]
        parts = [
            [row["released"] is row["answerable"] for row in rows if row["answerable"] is word]
            for word in (True, False)
        ]
        halves = [sum(part) / len(part) for part in parts]
        mean = sum(float(row["balanced_accuracy"] or 0) for row in rows) / len(rows)
        assert mean == pytest.approx(sum(halves) / 2)
        assert all((row["caught"] is None) or (row["caught_late"] is None) for row in rows)


async def test_a_reviewer_that_fails_is_counted_as_a_failure(tmp_path: Path) -> None:
    model = ScriptedChatModel(script=[ConnectionError("away") for _ in range(50)])
    results = [result async for result in make_suite(tmp_path).run(seed=0, limit=6, models=model)]
    failed = [result for result in results if result.failed]
    assert failed
    assert {result.target for result in failed} == {BOTH_GUARDS}
    assert {result.attempt.failure for result in failed} == {"MODEL_UNREACHABLE"}
