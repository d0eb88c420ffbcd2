"""Correct drafts: reports whose every sentence stands in the evidence that it cites."""

import copy
import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evals.suites.report_mutation.story import Call, Fact, Story
from evals.suites.report_mutation.wording import clock, delay, deny, moment, state

OBSERVATION, NEGATIVE, INFERENCE = "OBSERVATION", "NEGATIVE_OBSERVATION", "INFERENCE"


@dataclass(frozen=True)
class Report:
    """A draft as JSON, and what each of its analyses is about: role to analysis id."""

    story: Story
    locale: str
    manner: int
    draft: dict[str, Any]
    roles: Mapping[str, str]
    facts: Mapping[str, Fact]

    @property
    def case_id(self) -> str:
        """Return the report's name."""
        return f"{self.story.name}-{self.locale}-{self.manner}"

    def copy(self) -> dict[str, Any]:
        """Return the draft, to be changed."""
        return copy.deepcopy(self.draft)


def analysis_of(draft: dict[str, Any], analysis_id: str) -> dict[str, Any]:
    """Return the draft's analysis of an id."""
    return next(analysis for analysis in draft["analyses"] if analysis["analysis_id"] == analysis_id)


def write_report(story: Story, locale: str, manner: int, rng: random.Random) -> Report | None:
    """Return a correct report on a story, or None where its evidence is too thin for one."""
    series = [fact for fact in story.facts("series") if fact["direction"] in ("UP", "DOWN") and fact["onset"]]
    if not series:
        return None
    change = _change_before(series[0], story)
    if change is None and len(series) > 1:
        series, change = _turned(series, story)
    page = _Page(story, locale, manner, rng)
    main = series[0]
    page.observe("series", main)
    if change is not None:
        page.observe("change", change)
        page.infer("delay", delay(change, main, locale, manner), change, main)
    for sort in ("signature", "first_failing", "edge"):
        for fact in [fact for fact in story.facts(sort) if _named(fact)][:1]:
            page.observe(sort, fact)
    for call in story.empty():
        page.deny(call)
        break
    return page.finish(main, change)


def _named(fact: Fact) -> bool:
    """Whether the line names what its sentence needs."""
    needed = ("caller", "callee") if fact.sort == "edge" else ("service",)
    return all(fact[name] for name in needed)


def _change_before(series: Fact, story: Story) -> Fact | None:
    """The last deploy of the series' own service before its onset, at most two hours earlier."""
    onset = moment(series["onset"])
    deploys = [
        fact
        for fact in story.facts("change")
        if fact["kind"] == "DEPLOY"
        and fact["service"] == series["service"]
        and 0 < (onset - moment(fact["at"])).total_seconds() < 7200
    ]
    return max(deploys, key=lambda fact: moment(fact["at"]), default=None)


def _turned(series: list[Fact], story: Story) -> tuple[list[Fact], Fact | None]:
    for fact in series[1:]:
        if (change := _change_before(fact, story)) is not None:
            return [fact, *(other for other in series if other is not fact)], change
    return series, None


class _Page:
    """A report being written."""

    def __init__(self, story: Story, locale: str, manner: int, rng: random.Random) -> None:
        self._story, self._locale, self._manner, self._rng = story, locale, manner, rng
        self._analyses: list[dict[str, Any]] = []
        self._roles: dict[str, str] = {}
        self._facts: dict[str, Fact] = {}

    def observe(self, role: str, fact: Fact) -> None:
        """Write an observation of a fact, quoting its line."""
        text = state(fact, self._locale, self._manner, self._story.zone)
        self._add(role, OBSERVATION, text, [fact.line], [fact.call_id])
        self._facts[role] = fact

    def infer(self, role: str, text: str, *facts: Fact) -> None:
        """Write an inference from facts, quoting them."""
        calls = list(dict.fromkeys(fact.call_id for fact in facts))
        self._add(role, INFERENCE, text, [fact.line for fact in facts], calls)

    def deny(self, call: Call) -> None:
        """Write what an empty call looked for."""
        if not call.scope.get("service"):
            return
        bounds = {name: str(call.scope[name]) for name in ("start", "end") if call.scope.get(name)}
        if self._manner == 1:
            bounds = {name: clock(value, self._story.zone) for name, value in bounds.items()}
        names = call.evidence.components if call.evidence else ()
        scope = {**bounds, "service": names[0] if names else str(call.scope["service"])}
        if len(bounds) == 2:
            self._add("negative", NEGATIVE, deny(scope, call.kind, self._locale, self._manner), [], [call.call_id])

    def _add(self, role: str, kind: str, text: str, quotes: list[str], calls: list[str]) -> None:
        analysis_id = f"a{len(self._analyses) + 1}"
        self._roles[role] = analysis_id
        made = {"analysis_id": analysis_id, "kind": kind, "text": text, "quotes": quotes, "tool_call_ids": calls}
        self._analyses.append(made)

    def finish(self, main: Fact, change: Fact | None) -> Report:
        """Return the report, concluded on the main series and, where there is one, the change before it."""
        grounds = [self._roles[role] for role in ("series", "change", "delay") if role in self._roles]
        chinese = self._locale == "zh"
        cause = self._cause(main, change)
        if change is not None:
            who = f"{change['service']} 的变更 {change['id']}" if chinese else f"{change['id']} on {change['service']}"
            said = f"根因是 {who}：{cause}。" if chinese else f"The root cause is {who}: {cause}."
            undo = f"回滚 {change['service']} 的 {change['id']}" if chinese else f"Roll {change['service']} back"
        else:
            said = (
                f"故障出在 {main['service']}：{cause}。"
                if chinese
                else f"The fault lies in {main['service']}: {cause}."
            )
            undo = f"先从 {main['service']} 查起" if chinese else f"Begin with {main['service']}"
        watch = f"为 {main['metric']} 加告警" if chinese else f"Alert on {main['metric']}"
        conclusion = {
            "text": said,
            "component": main["service"],
            "cause": cause,
            "change_id": change["id"] if change is not None else None,
            "first_failing": None,
            "affected": [],
            "alternatives": [],
            "analysis_ids": grounds,
        }
        draft = {
            "conclusion": conclusion,
            "analyses": self._analyses,
            "action_plan": [{"text": undo, "analysis_ids": [grounds[-1]]}],
            "recommendations": [{"text": watch, "analysis_ids": [grounds[0]]}],
            "limitations": {"missing_info": [], "ruled_out": []},
        }
        return Report(self._story, self._locale, self._manner, draft, self._roles, self._facts)

    def _cause(self, main: Fact, change: Fact | None) -> str:
        chinese = self._locale == "zh"
        if change is not None and self._story.cause is not None:
            return self._story.cause[0 if chinese else 1]
        if change is not None:
            return (
                f"变更上线之后 {main['metric']} 随即异常"
                if chinese
                else f"{main['metric']} turned abnormal right after"
            )
        return f"{main['metric']} 偏离了基线" if chinese else f"{main['metric']} left its baseline"
