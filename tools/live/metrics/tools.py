"""`query_metrics` and `query_promql` over live servers of Prometheus' API."""

import asyncio
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from pydantic import Field
from typing_extensions import override

from tools.base import Arguments, EvidenceTool, IncidentContext
from tools.canonical import canonical_scope
from tools.frozen.metrics import MetricsArguments
from tools.frozen.scopes import windowed
from tools.live.fanout import Gathered, ask_all
from tools.live.metrics.by_name import ByName, ask_by_name
from tools.live.metrics.by_query import ByQuery, ask_by_query
from tools.live.metrics.pasting import command, commands
from tools.live.metrics.prometheus import Prometheus
from tools.live.metrics.promql import canonical_query
from tools.live.metrics.questions import Found
from tools.live.metrics.sampling import Frame
from tools.live.metrics.telling import told
from tools.live.pasting import whole
from tools.vocabulary import Evidence, EvidenceKind, EvidenceStatus, Provenance, Scope
from tools.windows import resolve_window

_MADE_BY_RULE = frozenset({"query", "start", "end"})


class LiveMetricsTool(EvidenceTool):
    """Reduces a service's metrics, asked by name: baseline, onset, direction, extreme, gaps. MEASURED, DIRECT.

    Name, arguments and scope are the frozen tool's:

    | argument | in the scope | normalized |
    |---|---|---|
    | service | yes, unless null | `fold` |
    | metric | yes, unless null | `fold` |
    | start, end | yes | resolved to UTC, aligned outward to the minute; default [as_of - 3 h, as_of + 15 min] |

    `metric` is a golden signal (latency, traffic, errors, saturation), an alias (docs/metrics.md), or a metric's own
    name; null is the four golden signals. `service` null is every service. Samples before `start` (as much again as the
    window is long, at least an hour) serve as baseline. What isn't mapped is UNKNOWN_SELECTOR, never an absence.
    """

    name = "query_metrics"
    description = (
        "查询服务的指标，归纳为基线、变化起点、方向、极值与缺口；按变化起点先后排列。"
        "metric 可填黄金信号（latency、traffic、errors、saturation）、"
        "常用名（如 jvm heap、gc、连接池、消费积压）或指标原名。"
    )
    kind = EvidenceKind.METRICS
    arguments = MetricsArguments

    def __init__(self, sources: Mapping[str, Prometheus]) -> None:
        """`sources`: the opened servers by name, at least one."""
        self._sources = dict(sources)
        self._worth: dict[tuple[str | None, str | None], tuple[tuple[str, ...], ...]] = {}

    @override
    def normalize(self, arguments: MetricsArguments, incident: IncidentContext) -> Scope:
        return windowed(incident, arguments.start, arguments.end, service=arguments.service, metric=arguments.metric)

    @override
    async def collect(self, scope: Scope, arguments: Any, incident: IncidentContext) -> Evidence:
        question = ByName(scope.get("service"), scope.get("metric"), _frame(scope))
        gathered = await ask_all(self._sources, lambda source: ask_by_name(source, question))
        worth = next((one.worth for one in gathered.answers.values() if one.worth), ())
        if worth:
            self._worth[question.service, question.metric] = worth
        asked = " ".join(str(scope[key]) for key in ("service", "metric") if key in scope) or "any service"
        return await _evidence(gathered, asked, scope)

    @override
    def suggest(self, incident: IncidentContext) -> Scope | None:
        return windowed(incident, None, None, service=incident.service)

    @override
    def paste(self, scope: Scope) -> str:
        """Return commands that show the errors and the latency as they were asked for; where the source didn't answer,
        one that shows what there is of the service, whichever label names it."""
        labels = next(iter(self._sources.values())).service_labels
        return commands(scope, self._worth.get((scope.get("service"), scope.get("metric")), ()), labels)


class PromqlArguments(Arguments):
    """A query in PromQL over a window; null leaves a time open."""

    query: str = Field(description="PromQL，结果为即时向量或标量，例如 sum by (pod) (rate(http_requests_total[5m]))")
    start: str | None = Field(description="起始时间，ISO 或相对时间；默认事发前 3 小时，填 null")
    end: str | None = Field(description="结束时间，ISO 或相对时间；默认事发后 15 分钟，填 null")


class PromqlTool(EvidenceTool):
    """Reduces what a query in PromQL gives over a window, as `query_metrics` does. MEASURED, DIRECT.

    | argument | in the scope | normalized |
    |---|---|---|
    | query | yes | parsed, and written in one way (`tools.live.metrics.promql`) |
    | start, end | yes | resolved to UTC, aligned outward to the minute; default [as_of - 3 h, as_of + 15 min] |

    The step between points isn't asked for: it follows from the window and from how often the series are scraped.
    A query that gives too many series is refused (ANSWER_TOO_LARGE) with labels to narrow it by.
    """

    name = "query_promql"
    description = (
        "执行一条 PromQL 区间查询，把每条序列归纳为基线、变化起点、方向、极值与缺口。"
        "序列过多会被拒绝并提示可收窄的标签。"
    )
    kind = EvidenceKind.METRICS
    arguments = PromqlArguments

    def __init__(self, sources: Mapping[str, Prometheus]) -> None:
        """`sources`: the opened servers by name, at least one."""
        self._sources = dict(sources)

    @override
    def normalize(self, arguments: PromqlArguments, incident: IncidentContext) -> Scope:
        query = canonical_query(arguments.query)
        window = resolve_window(arguments.start, arguments.end, incident)
        return canonical_scope({"query": query.text, **window.as_scope()}, exact=_MADE_BY_RULE)

    @override
    async def collect(self, scope: Scope, arguments: Any, incident: IncidentContext) -> Evidence:
        question = ByQuery(canonical_query(scope["query"]), _frame(scope))
        gathered = await ask_all(self._sources, lambda source: ask_by_query(source, question))
        return await _evidence(gathered, "this query", scope)

    @override
    def paste(self, scope: Scope) -> str:
        return whole([command(scope["query"], scope)])


def _frame(scope: Scope) -> Frame:
    return Frame.of(*(datetime.fromisoformat(scope[key]) for key in ("start", "end")))


async def _evidence(gathered: Gathered[Found], asked: str, scope: Scope) -> Evidence:
    evidence = await asyncio.to_thread(told, gathered.answers, _frame(scope))
    if evidence is None:
        gathered.absence()
        partial = any(one.partial for one in gathered.answers.values())
        return Evidence(
            status=EvidenceStatus.NO_EVIDENCE,
            provenance=Provenance.MEASURED,
            summary=f"no samples of {asked} from {scope['start']} to {scope['end']}",
            truncated=partial,
            notes=("PARTIAL_RESPONSE",) if partial else (),
        )
    return evidence.model_copy(
        update={
            "truncated": evidence.truncated or bool(gathered.failures),
            "notes": (*gathered.notes, *evidence.notes),
        }
    )


def tools_of(sources: Mapping[str, Prometheus]) -> tuple[EvidenceTool, ...]:
    """Return `query_metrics` and `query_promql` over the opened sources; nothing where there are none."""
    return (LiveMetricsTool(sources), PromqlTool(sources)) if sources else ()
