"""The offline router: whether a query asks for a diagnosis, and what it names. Contract, "Router"."""

import json
import re
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage

from graph.models.offline.chat import OfflineChatModel

_TROUBLE = re.compile(
    r"故障|异常|告警|报警|报错|错误|失败|超时|延迟|变慢|很慢|卡|抖动|不可用|挂了|崩|重启|飙升|激增|下降"
    r"|打满|泄漏|积压|根因|原因|排查|诊断|定位|为什么|怎么回事|出了什么|回滚|上线后|发布后|日志|指标|链路"
    r"|证书|磁盘|内存|连接池|缓存|限流"
    r"|\b(alerts?|incident|outage|down|errors?|fail\w*|exceptions?|tim(?:e[ds]?|ing) ?outs?|latency|slow|spike|5xx|50\d"
    r"|4\d\d|oom|crash\w*|restart\w*|leak|lag|backlog|root cause|diagnos\w+|investigat\w+|why|debug|p9\d"
    r"|saturat\w+|unavailable|degraded)\b",
    re.IGNORECASE,
)
_SERVICE = re.compile(
    r"`(?P<quoted>[\w.-]{2,63})`"
    r"|(?<![\w.-])(?P<shaped>[a-z][a-z0-9]*(?:-[a-z0-9]+)+|[a-z][a-z0-9]*(?:service|svc|gateway|server|worker))(?![\w-])"
    r"|(?:服务|service)\s*[:：=]?\s*(?P<named>[A-Za-z][\w.-]{1,62})"
    r"|(?<![\w.-])(?P<before>[A-Za-z][\w.-]{1,62})\s*(?:服务|service\b)",
    re.IGNORECASE,
)
_ENVIRONMENT = (
    ("production", re.compile(r"生产|线上|\bprod(uction)?\b", re.IGNORECASE)),
    ("staging", re.compile(r"预发|灰度|\bstag(e|ing)\b|\bpre-?prod\b", re.IGNORECASE)),
    ("test", re.compile(r"测试环境|\b(test|qa|dev)( environment| env)\b", re.IGNORECASE)),
)
_WINDOW = re.compile(
    r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2})?(?:Z|[+-]\d{2}:?\d{2})?"
    r"|(?:今天|昨天|凌晨|早上|上午|中午|下午|晚上|昨晚|刚才|刚刚)[^，。,.;；？?\s]{0,8}"
    r"|(?:从|自)?\s*\d{1,2}[:：]\d{2}\s*(?:起|开始|以来|左右)?|最近\s*\S{1,6}(?:分钟|小时|天)"
    r"|\b(?:since|from|at|around|between)\s+\d{1,2}:\d{2}(?:\s*(?:am|pm|utc))?|\b(?:last|past)\s+\d+\s*(?:min\w*|hours?|h|days?)"
    r"|\b(?:just now|this (?:morning|afternoon)|last night|yesterday|today)\b",
    re.IGNORECASE,
)
_ERROR = re.compile(
    r"[\"“「'](?P<quoted>[^\"”」']{4,160})[\"”」']|\b(?P<code>HTTP ?[45]\d\d|[45]\d\d(?= ?(?:错误|error|s\b))|"
    r"[A-Z]\w*(?:Exception|Error)"
    r"|DeadlineExceeded|OOMKilled|ECONN\w+|x509[^，。,.;；？?]{0,60})"
)
_ENTERPRISE = re.compile(
    r"(?:企业|租户|客户|tenant|customer|enterprise)\s*[:：=]?\s*(?P<name>[\w\u3400-\u9fff.-]{2,40})", re.IGNORECASE
)
_NOT_SERVICES = frozenset(
    ("root-cause", "on-call", "real-time", "time-out", "roll-back", "the", "a", "this", "our", "which")
)


class OfflineRouter(OfflineChatModel):
    """Tells a diagnosis from other talk by its words; where in doubt, it's a diagnosis."""

    def answer(self, messages: Sequence[BaseMessage], tools: Sequence[dict[str, Any]]) -> AIMessage:
        """Return `{"route", "context"}` for the query in the last message."""
        return AIMessage(content=json.dumps(route(_query(messages)), ensure_ascii=False))


def _query(messages: Sequence[BaseMessage]) -> str:
    text = str(messages[-1].content) if messages else ""
    try:
        body = json.loads(text)
    except ValueError:
        return text
    return str(body.get("query") or "") if isinstance(body, dict) else text


def route(query: str) -> dict[str, Any]:
    """Return the route of a query and the context that it names, null where it names none.

    Anything that names trouble, a service or an error is a diagnosis; the rest is not.
    """
    context = {
        "enterprise": _first(_ENTERPRISE, query),
        "service": _service(query),
        "environment": next((name for name, pattern in _ENVIRONMENT if pattern.search(query)), None),
        "window": _first(_WINDOW, query),
        "error": _first(_ERROR, query),
    }
    concerned = bool(_TROUBLE.search(query) or context["service"] or context["error"])
    return {"route": "diagnosis" if concerned else "other", "context": context}


def _first(pattern: re.Pattern[str], query: str) -> str | None:
    match = pattern.search(query)
    if match is None:
        return None
    return next((group for group in match.groups() if group), match[0]).strip()


def _service(query: str) -> str | None:
    for match in _SERVICE.finditer(query):
        name = next((group for group in match.groups() if group), "")
        if name and name.lower() not in _NOT_SERVICES:
            return name
    return None
