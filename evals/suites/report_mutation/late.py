"""Three kinds of mutation that were added after the guard was frozen; they're reported apart."""

import random
from collections.abc import Mapping
from typing import Any

from evals.suites.report_mutation.mutations import Mutation
from evals.suites.report_mutation.writing import Report, analysis_of

_WIDER = {
    "zh": ("整个集群没有任何{what}。", "过去 7 天{service} 都没有{what}。", "{service} 从来没有{what}。"),
    "en": ("Nowhere in the cluster is there any {what}.", "{service} had no {what} in the past 7 days.",
           "{service} has never had any {what}."),
}  # fmt: skip
_TURNS = {
    "zh": (("之后", "之前"), ("后出现", "前出现")),
    "en": (("after", "before"),),
}


def denies_more_than_was_asked(report: Report, rng: random.Random) -> dict[str, Any] | None:
    """A negative observation denies for everyone, or for longer, than the question covered."""
    if "negative" not in report.roles:
        return None
    draft = report.copy()
    analysis = analysis_of(draft, report.roles["negative"])
    call = report.story.call(analysis["tool_call_ids"][0])
    names = call.evidence.components if call.evidence else ()
    what = {"zh": "异常", "en": "anomaly"}[report.locale]
    analysis["text"] = rng.choice(_WIDER[report.locale]).format(service=names[0] if names else "", what=what)
    return draft


def blames_the_victim(report: Report, rng: random.Random) -> dict[str, Any] | None:
    """The conclusion names another service of the incident than its evidence does."""
    draft = report.copy()
    conclusion = draft["conclusion"]
    others = [name for name in report.story.services() if name != conclusion["component"]]
    if not others:
        return None
    other = rng.choice(others)
    conclusion["text"] = conclusion["text"].replace(conclusion["component"], other)
    conclusion["component"] = other
    return draft


def turns_the_order(report: Report, _: random.Random) -> dict[str, Any] | None:
    """What came after the deploy is said to have come before it."""
    if "delay" not in report.roles:
        return None
    draft = report.copy()
    analysis = analysis_of(draft, report.roles["delay"])
    for word, other in _TURNS[report.locale]:
        if word in analysis["text"]:
            analysis["text"] = analysis["text"].replace(word, other, 1)
            return draft
    return None


LATE_KINDS: Mapping[str, Mutation] = {
    made.__name__: made for made in (denies_more_than_was_asked, blames_the_victim, turns_the_order)
}
