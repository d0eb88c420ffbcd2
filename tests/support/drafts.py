"""Evidence that proves something, and drafts over it: one that every guard passes, and its spoiled variants."""

import json
from typing import Any

from langchain_core.messages import AIMessage

from tests.support.scripted import ScriptedTool, evidence, text
from tools.vocabulary import EvidenceKind

SERIES = (
    "series service=checkout metric=latency_ms direction=UP baseline=120 extreme=4120 extreme_at=2026-06-18T15:10:00Z "
    "last=4000 onset=2026-06-18T15:04:00Z samples=180 gaps=0"
)
DEPLOY = (
    "change kind=DEPLOY id=deploy-77 service=checkout at=2026-06-18T15:03:00Z version=v9 files=pool.py "
    "| shrink the pool"
)
CONCLUSION_TEXT = "checkout 的延迟由变更 deploy-77 引起"
ANALYSIS_TEXT = "checkout 的 latency_ms 从 120 升到 4120"


def metrics(*, name: str = "probe") -> ScriptedTool:
    """Return the tool whose answer measures checkout's latency."""
    summary = "checkout latency_ms: 120 to 4120 from 2026-06-18T15:04:00Z"
    return ScriptedTool({"checkout": evidence([SERIES], summary=summary, components=("checkout",))}, name=name)


def changes(*, name: str = "changes") -> ScriptedTool:
    """Return the tool whose answer holds the deploy."""
    found = evidence([DEPLOY], summary="changes of checkout: 1 deploy", components=("checkout",))
    return ScriptedTool({"checkout": found}, name=name, kind=EvidenceKind.CHANGES)


def draft(*, calls: tuple[str, str] = ("r1c1", "r1c2"), **changed: Any) -> dict[str, Any]:
    """Return a draft over `metrics` (first call) and `changes` (second call) that the EvidenceGuard passes.

    `changed` replaces its parts.
    """
    measured, changed_by = calls
    whole: dict[str, Any] = {
        "conclusion": {
            "text": CONCLUSION_TEXT,
            "component": "checkout",
            "cause": "连接池缩小",
            "change_id": "deploy-77",
            "first_failing": None,
            "affected": [],
            "alternatives": [],
            "analysis_ids": ["a1", "a2"],
        },
        "analyses": [
            observation("a1", ANALYSIS_TEXT, SERIES, measured),
            observation("a2", DEPLOYED, DEPLOY, changed_by),
        ],
        "action_plan": [{"text": "回滚 deploy-77", "analysis_ids": ["a2"]}],
        "recommendations": [{"text": "为 checkout 的 latency_ms 加告警", "analysis_ids": ["a1"]}],
        "limitations": {"missing_info": [], "ruled_out": []},
    }
    return {**whole, **changed}


DEPLOYED = "checkout 上线了 deploy-77"


def observation(analysis_id: str, said: str, quote: str, call_id: str, **changed: Any) -> dict[str, Any]:
    """Return one OBSERVATION."""
    whole = {
        "analysis_id": analysis_id,
        "kind": "OBSERVATION",
        "text": said,
        "quotes": [quote],
        "tool_call_ids": [call_id],
    }
    return {**whole, **changed}


def reply(body: dict[str, Any]) -> AIMessage:
    """Return the model's message that hands over a draft."""
    return text(json.dumps(body, ensure_ascii=False))


def verdict(word: str = "SUPPORTED", reason: str = "because") -> AIMessage:
    """Return the semantic guard's message."""
    return text(json.dumps({"verdict": word, "reason": reason}))


def route(kind: str = "diagnosis", **context: str | None) -> AIMessage:
    """Return the router's message."""
    return text(json.dumps({"route": kind, "context": context}, ensure_ascii=False))
