"""report-mutation: correct reports, each broken in one place, put before the guards.

A correct report has to pass, a broken one must not. The EvidenceGuard alone and both guards are two targets. Reports
are written over invented incidents and, where they are there, over the benchmark's frozen ones.
"""

import random
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel

from evals.cases import ANSWERABLE, CORRECT, RELEASED, Attempt, Case, DataAbsent, Result, Score
from evals.data import benchmark_dir, spread
from evals.suites.report_mutation.frozen import frozen_stories
from evals.suites.report_mutation.invented import invent
from evals.suites.report_mutation.judging import Word, both_words
from evals.suites.report_mutation.late import LATE_KINDS
from evals.suites.report_mutation.mutations import KINDS, Mutation
from evals.suites.report_mutation.story import Story
from evals.suites.report_mutation.wording import MANNERS
from evals.suites.report_mutation.writing import Report, write_report
from graph.contract.vocabulary import ModelComponent
from graph.models.registry import GivenModels, choose_models
from graph.settings import load_settings

NAME = "report-mutation"
EVIDENCE_GUARD, BOTH_GUARDS = "evidence-guard", "both-guards"
INVENTED_STORIES = 56
MUTANTS_A_REPORT = 5
LATE_PREFIX = "late: "
UNBROKEN = "correct"
FROZEN = "rootcausebench"

_ALL: Mapping[str, Mutation] = {**KINDS, **{LATE_PREFIX + name: made for name, made in LATE_KINDS.items()}}


@dataclass(frozen=True)
class Item:
    """A report as it is put before the guards: whole (`kind` is UNBROKEN) or broken."""

    report: Report
    kind: str
    draft: dict[str, Any]

    @property
    def is_vouched(self) -> bool:
        """Whether the incident's inventor says that the report's cause is the cause."""
        return self.report.story.cause is not None


class ReportMutation:
    """The suite. `data` holds the benchmark's incidents; where they're absent, the invented ones do."""

    name = NAME

    def __init__(self, data: Path | None) -> None:
        self._data = data

    async def run(self, *, seed: int, limit: int | None, models: GivenModels | None) -> AsyncIterator[Result]:
        """Yield the results of each item, one for each target. `limit` counts items."""
        chosen, _ = choose_models(models, load_settings())
        model = chosen[ModelComponent.SEMANTIC_GUARD]
        items = spread(items_of(await self._reports(seed), seed), limit)
        shares = _Weights(
            of_evidence=_Shares(items), of_both=_Shares([i for i in items if i.kind != UNBROKEN or i.is_vouched])
        )
        for item in items:
            for result in await _judged(item, model, shares):
                yield result

    async def _reports(self, seed: int) -> list[Report]:
        stories = [invent(number, seed) for number in range(INVENTED_STORIES)]
        stories += [story async for story in self._frozen()]
        reports = []
        for story in stories:
            for locale in ("zh", "en"):
                for manner in MANNERS:
                    rng = _rng(seed, story.name, locale, manner)
                    report = write_report(story, locale, manner, rng)
                    reports += [report] if report is not None else []
        return reports

    async def _frozen(self) -> AsyncIterator[Story]:
        try:
            root = benchmark_dir(self._data, FROZEN)
        except DataAbsent:
            return
        for directory in sorted(path.parent for path in root.glob("*/alert.json")):
            async for story in frozen_stories(directory):
                yield story


def items_of(reports: Sequence[Report], seed: int) -> list[Item]:
    """Return each report, followed by its mutants: the kinds take turns, so that each gets its share."""
    items: list[Item] = []
    kinds = _in_turn(list(_ALL))
    for report in reports:
        items.append(Item(report, UNBROKEN, report.draft))
        made = 0
        for _ in range(len(_ALL)):
            kind = next(kinds)
            broken = _ALL[kind](report, _rng(seed, report.case_id, kind))
            if broken is not None:
                items.append(Item(report, kind, broken))
                made += 1
            if made == MUTANTS_A_REPORT:
                break
    return items


def _in_turn(names: Sequence[str]) -> Iterator[str]:
    while True:
        yield from names


def _rng(*parts: object) -> random.Random:
    return random.Random(":".join(map(str, parts)))  # noqa: S311 - drafts, no secrets


class _Shares:
    """What an item weighs in the balanced accuracy: the correct ones and the broken ones have one half each."""

    def __init__(self, items: Sequence[Item]) -> None:
        self._count = len(items)
        self._unbroken = sum(item.kind == UNBROKEN for item in items)

    def balanced(self, *, unbroken: bool, right: bool) -> float:
        """Return the item's part; the mean over all items is the balanced accuracy."""
        group = self._unbroken if unbroken else self._count - self._unbroken
        return self._count / (2 * group) if right and group else 0.0


@dataclass(frozen=True)
class _Weights:
    of_evidence: _Shares
    of_both: _Shares


async def _judged(item: Item, model: BaseChatModel, shares: _Weights) -> list[Result]:
    """A report whose cause nobody vouches for may rightly be refused by the second guard: it isn't judged there."""
    word = await both_words(item.draft, item.report.story, model)
    results = [_result(item, EVIDENCE_GUARD, word, passed=word.evidence_passed, shares=shares.of_evidence)]
    if item.kind != UNBROKEN or item.is_vouched:
        results.append(_result(item, BOTH_GUARDS, word, passed=word.both_passed, shares=shares.of_both))
    return results


def _result(item: Item, target: str, word: Word, *, passed: bool, shares: _Shares) -> Result:
    unbroken = item.kind == UNBROKEN
    late = item.kind.startswith(LATE_PREFIX)
    caught = None if unbroken else not passed
    values = {
        RELEASED: passed,
        CORRECT: passed and unbroken,
        ANSWERABLE: unbroken,
        "caught": None if late else caught,
        "caught_late": caught if late else None,
        "correct_refused": not passed if unbroken else None,
        "balanced_accuracy": shares.balanced(unbroken=unbroken, right=passed is unbroken),
        **({} if unbroken else {f"caught, {item.kind}": not passed}),
    }
    release = {"outcome": "SUCCESS" if passed else "FALLBACK", "draft": item.draft if passed else None}
    failure = word.failure if target == BOTH_GUARDS else None
    return Result(
        case=_case(item),
        target=target,
        attempt=Attempt(release=release, model_calls=int(target == BOTH_GUARDS and not word.codes), failure=failure),
        score=Score(values=values),
    )


def _case(item: Item) -> Case:
    report = item.report
    return Case(
        suite=NAME,
        case_id=f"{report.case_id}-{item.kind}",
        cluster=report.story.name,
        query=item.kind,
        locale="zh" if report.locale == "zh" else "en",
        fault=item.kind,
        expected={"published": item.kind == UNBROKEN},
    )


def make_suite(data: Path | None) -> ReportMutation:
    """Return the suite; `data` may hold the benchmark's frozen incidents."""
    return ReportMutation(data)
