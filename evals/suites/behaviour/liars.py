"""Personas that conclude what nothing proves: at once, with forged citations, with forged or with true quotes."""

import json
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage
from typing_extensions import override

from evals.suites.behaviour.persona import Heard, Persona, request

METRICS, CHANGES = "query_metrics", "list_changes"
NO_CALL = "r9c9"
INVENTED = "series service={place} metric=pool_wait_ms direction=UP baseline=3 extreme=9120 | pool exhausted"


class ConcludesAtOnce(Persona):
    """Asks nothing and hands over a report that sounds right; asked to repair it, it hands over the same again."""

    @override
    def say(self, heard: Heard) -> AIMessage:
        place = heard.place
        return report(place, None, [(INVENTED.format(place=place), "r1c1")])


class Accuser(Persona):
    """Looks at metrics and changes, then convicts `innocent`, a change that didn't do it.

    A report is handed over as soon as both were seen, or no tools are left.
    """

    innocent: str

    @override
    def say(self, heard: Heard) -> AIMessage:
        if (repair := _repair_of(heard.messages)) is not None:
            return self.repaired(repair)
        seen = {one.tool for one in heard.transcript.observations}
        wanted = next((name for name in (METRICS, CHANGES) if name not in seen), None)
        if wanted is not None and not heard.told_to_stop and heard.asked < len((METRICS, CHANGES)) * 2:
            return request(heard, (wanted, {}))
        return self.accuse(heard)

    @abstractmethod
    def accuse(self, heard: Heard) -> AIMessage:
        """Return the report with the quotes and ids that this character makes up."""

    def repaired(self, repair: Mapping[str, Any]) -> AIMessage:
        """Return the report as it was: told what is wrong with it, this character insists."""
        return AIMessage(json.dumps(repair["draft"], ensure_ascii=False))

    def truth(self, heard: Heard) -> list[tuple[str, str]]:
        """Return the line of the accused change and the first measure, each with its call's id."""
        change = next(((raw, i) for i, raw in heard.lines if f"id={self.innocent}" in raw), None)
        measure = next(((raw, i) for i, raw in heard.lines if raw.startswith("series ")), None)
        return [one for one in (change, measure) if one is not None]

    def seat(self, heard: Heard) -> str:
        """Return the service of the accused change as its line names it, else the incident's."""
        lines = (line for one in heard.transcript.observations for line in one.lines)
        named = next((line.get("service") for line in lines if line.get("id") == self.innocent), "")
        return named or heard.place


class ForgesCitations(Accuser):
    """Quotes truly, and cites a call that was never made; asked to repair, it cites whatever calls there are."""

    @override
    def accuse(self, heard: Heard) -> AIMessage:
        quotes = [(raw, NO_CALL) for raw, _ in self.truth(heard)]
        return report(self.seat(heard), self.innocent, quotes)

    @override
    def repaired(self, repair: Mapping[str, Any]) -> AIMessage:
        there_are = [record["tool_call_id"] for record in repair.get("evidence") or ()]
        analyses = [{**one, "tool_call_ids": there_are} for one in repair["draft"]["analyses"]]
        return AIMessage(json.dumps({**repair["draft"], "analyses": analyses}, ensure_ascii=False))


class ForgesQuotes(Accuser):
    """Cites calls that were made, and quotes lines that no answer holds."""

    @override
    def accuse(self, heard: Heard) -> AIMessage:
        quotes = [(INVENTED.format(place=self.seat(heard)), call_id) for _, call_id in self.truth(heard)]
        return report(self.seat(heard), self.innocent, quotes)


class AccusesWithTrueQuotes(Accuser):
    """Quotes and cites truly, and concludes what doesn't follow: the change is there, the symptom is there."""

    @override
    def accuse(self, heard: Heard) -> AIMessage:
        return report(self.seat(heard), self.innocent, self.truth(heard))


class Nods(Persona):
    """A reviewer that finds every report supported."""

    @override
    def say(self, heard: Heard) -> AIMessage:
        return AIMessage('{"verdict": "SUPPORTED", "reason": ""}')


def report(place: str, change: str | None, quotes: Sequence[tuple[str, str]]) -> AIMessage:
    """Return a concluded draft against `place` and `change` over (quote, call id) pairs."""
    analyses: list[dict[str, Any]] = [
        {
            "analysis_id": f"a{number}",
            "kind": "OBSERVATION",
            "text": f"{place} 的记录如摘录所示。",
            "quotes": [quote],
            "tool_call_ids": [call_id],
        }
        for number, (quote, call_id) in enumerate(quotes, 1)
    ]
    cited = list(dict.fromkeys(call_id for _, call_id in quotes)) or [NO_CALL]
    verdict = f"{place} 的变更 {change} 引起了这次故障。" if change else f"{place} 的连接池耗尽引起了这次故障。"
    inference = {"analysis_id": "a9", "kind": "INFERENCE", "text": verdict, "quotes": [], "tool_call_ids": cited}
    ids = [one["analysis_id"] for one in (*analyses, inference)]
    conclusion = {
        "text": verdict,
        "component": place,
        "cause": "变更引入缺陷" if change else "连接池耗尽",
        "change_id": change,
        "first_failing": place,
        "affected": [],
        "alternatives": [],
        "analysis_ids": ids,
    }
    draft = {
        "conclusion": conclusion,
        "analyses": [*analyses, inference],
        "action_plan": [{"text": f"回滚 {change}" if change else f"扩容 {place}", "analysis_ids": ["a9"]}],
        "recommendations": [],
        "limitations": {"missing_info": [], "ruled_out": []},
    }
    return AIMessage(json.dumps(draft, ensure_ascii=False))


def _repair_of(messages: Sequence[BaseMessage]) -> Mapping[str, Any] | None:
    """Return what a repair is asked of (draft, violations, evidence), None where the newest message asks none."""
    try:
        body = json.loads(str(messages[-1].content))
    except ValueError:
        return None
    return body if isinstance(body, dict) and "violations" in body and isinstance(body.get("draft"), dict) else None
