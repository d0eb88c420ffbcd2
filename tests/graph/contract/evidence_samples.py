"""Evidence of an invented incident, in the lines that tools give, and drafts on it that a good model could write."""

import json
from datetime import UTC, datetime
from typing import Any

from graph.contract.draft import Draft, parse_draft
from graph.contract.records import VerifiedRecord
from graph.contract.vocabulary import EvidenceKind
from tools.vocabulary import ChangeKind, ChangeRef, Evidence, EvidenceStatus, Provenance, RelevanceLevel

ZONE = "Asia/Shanghai"
SHA = "7c1f0e9d2b4a68537f90c1d2e3b4a5968770aabc"
OTHER_SHA = "1d9e4b70a2c35f8e6d7c8b9a0f1e2d3c4b5a6978"
WINDOW = {"start": "2026-03-02T03:00:00Z", "end": "2026-03-02T06:15:00Z"}

SERIES = (
    "series service=order-api metric=http_request_duration_p99_ms direction=UP baseline=212 extreme=3840 "
    "extreme_at=2026-03-02T06:01:00Z last=3711.5 onset=2026-03-02T05:47:00Z samples=180 gaps=0"
)
HIT_RATIO = (
    "series service=order-api metric=cache_hit_ratio direction=DOWN baseline=0.97 extreme=0.41 "
    "extreme_at=2026-03-02T06:02:00Z last=0.43 onset=2026-03-02T05:46:30Z samples=180 gaps=2"
)
GATEWAY = (
    "series service=gateway metric=http_5xx_ratio direction=UP baseline=0.002 extreme=0.34 "
    "extreme_at=2026-03-02T06:03:00Z last=0.29 onset=2026-03-02T05:49:00Z samples=180 gaps=0"
)
POINTS = (
    "points service=order-api metric=http_request_duration_p99_ms 2026-03-02T05:30:00Z=210 2026-03-02T05:45:00Z=215.3 "
    "2026-03-02T05:47:00Z=1980 2026-03-02T06:01:00Z=3840"
)
LOG = (
    "log at=2026-03-02T05:48:12Z service=order-api severity=ERROR trace_id=- | redis GET order:* timed out after 500ms",
    "  Caused by: io.lettuce.core.RedisCommandTimeoutException: Command timed out after 500 millisecond(s)",
)
GATEWAY_LOG = (
    "log at=2026-03-02T05:49:02Z service=gateway severity=ERROR trace_id=ab12cd34ef | upstream order-api returned 503",
)
DEPLOY = (
    f"change kind=DEPLOY id={SHA} service=order-api at=2026-03-02T05:44:30Z version=v2026.03.02-0544 "
    "files=config/cache.yaml,pkg/cache/pool.go | shrink cache pool",
    "  @ config/cache.yaml",
    "  - max_connections: 256",
    "  + max_connections: 16",
)
FLAG = "change kind=FLAG id=checkout_rail service=gateway at=2026-03-02T04:10:00Z change=off->on"
EDGE = (
    "first_failing service=order-api operation=GET_/orders at=2026-03-02T05:47:10Z",
    "edge caller=gateway callee=order-api calls=48 errors=36 max_ms=4120",
)
RUNBOOK = (
    "runbook file=cache.md section=rollback | Cache pool exhausted",
    "  Roll back with kubectl rollout undo deployment/order-api -n shop and watch http_5xx_ratio.",
    "  Pool exhaustion at 16 connections was seen in payment-api.",
)


def record(
    call_id: str,
    kind: EvidenceKind,
    lines: tuple[str, ...],
    *,
    provenance: Provenance = Provenance.MEASURED,
    scope: dict[str, Any] | None = None,
    **evidence: Any,
) -> VerifiedRecord:
    """A READY record; without lines it's one that found nothing."""
    status = EvidenceStatus.EVIDENCE if lines else EvidenceStatus.NO_EVIDENCE
    found = Evidence(
        status=status,
        provenance=provenance,
        content=lines,
        summary=evidence.pop("summary", f"{kind.value}"),
        **evidence,
    )
    return VerifiedRecord(call_id, f"query_{kind.value}", kind, {**WINDOW, **(scope or {})}, found)


def records() -> dict[str, VerifiedRecord]:
    """The records of one run, by call id."""
    text = Provenance.TEXT
    made = (
        record("r1c1", EvidenceKind.METRICS, (HIT_RATIO, SERIES, GATEWAY, POINTS), components=("order-api", "gateway")),
        record("r1c2", EvidenceKind.LOGS, LOG, provenance=text, components=("order-api",)),
        record("r1c3", EvidenceKind.LOGS, GATEWAY_LOG, provenance=text, components=("gateway",)),
        record(
            "r1c4",
            EvidenceKind.CHANGES,
            (*DEPLOY, FLAG),
            components=("order-api", "gateway"),
            scope={"service": None, "change_kind": None},
            changes=(
                ChangeRef(
                    kind=ChangeKind.DEPLOY,
                    change_id=SHA,
                    service="order-api",
                    at=datetime(2026, 3, 2, 5, 44, 30, tzinfo=UTC),
                ),
            ),
        ),
        record(
            "r1c5",
            EvidenceKind.CHANGES,
            (),
            scope={"service": "redis-main", "change_kind": None},
        ),
        record("r1c6", EvidenceKind.TRACES, EDGE, components=("gateway", "order-api"), first_failing="order-api"),
        record(
            "r1c7",
            EvidenceKind.RUNBOOKS,
            RUNBOOK,
            provenance=text,
            relevance=RelevanceLevel.REFERENCE,
            scope={"query": "cache pool exhausted"},
        ),
        record(
            "r1c8",
            EvidenceKind.LOGS,
            (),
            provenance=text,
            scope={"service": "payment-api", "contains": "timeout", "severity": "ERROR"},
        ),
    )
    return {item.call_id: item for item in made}


def analysis(
    analysis_id: str, kind: str, text: str, calls: list[str], quotes: list[str] | None = None
) -> dict[str, Any]:
    """One analysis of a draft, as JSON."""
    return {"analysis_id": analysis_id, "kind": kind, "text": text, "quotes": quotes or [], "tool_call_ids": calls}


def chinese_draft() -> dict[str, Any]:
    """A draft in Chinese that stands in the evidence, as JSON."""
    return {
        "conclusion": {
            "text": "order-api 在 13:44 部署的 7c1f0e9 把缓存连接池从 256 缩到 16，"
            "约 3 分钟后 p99 升到 3840 ms，gateway 随之出现 5xx。",
            "component": "order-api",
            "cause": "提交 7c1f0e9d 把 max_connections 由 256 改为 16，Redis 命令超时",
            "change_id": "7c1f0e9d",
            "first_failing": "order-api",
            "affected": ["gateway"],
            "alternatives": [
                {"component": "gateway", "cause": "开关 checkout_rail 开启", "change_id": "checkout_rail"}
            ],
            "analysis_ids": ["a1", "a2", "a3", "a5"],
        },
        "analyses": [
            analysis(
                "a1",
                "OBSERVATION",
                "order-api 的 http_request_duration_p99_ms 从 212 ms 飙升到 3.84 秒，13:47 开始。",
                ["r1c1"],
                [SERIES],
            ),
            analysis(
                "a2",
                "OBSERVATION",
                "order-api 于 05:44:30Z 部署 v2026.03.02-0544（7c1f0e9d2b），max_connections 由 256 改为 16。",
                ["r1c4"],
                [" ".join(DEPLOY)],
            ),
            analysis(
                "a3",
                "INFERENCE",
                "从部署到延迟上升约 3 分钟，p99 涨了约 18 倍，与缓存命中率从 97% 降到 41% 一致。",
                ["r1c1", "r1c4"],
            ),
            analysis("a4", "NEGATIVE_OBSERVATION", "13:00 到 14:00 之间 redis-main 没有任何变更。", ["r1c5"]),
            analysis(
                "a5",
                "OBSERVATION",
                "order-api 日志报 RedisCommandTimeoutException，500 毫秒超时。",
                ["r1c2"],
                [LOG[1].strip()],
            ),
            analysis(
                "a6",
                "OBSERVATION",
                "gateway 的 http_5xx_ratio 由 0.2% 升至 34%，下游 order-api 返回 503。",
                ["r1c1", "r1c3"],
                [GATEWAY, "upstream order-api returned 503"],
            ),
            analysis(
                "a7",
                "OBSERVATION",
                "处置手册建议回滚。",
                ["r1c7"],
                ["Roll back with kubectl rollout undo deployment/order-api -n shop"],
            ),
        ],
        "action_plan": [
            {
                "text": "1. 回滚 order-api 到 7c1f0e9d 之前的版本：`kubectl rollout undo deployment/order-api -n shop`",
                "analysis_ids": ["a2", "a7"],
            },
        ],
        "recommendations": [{"text": "为连接池变更加 2 个工作日的灰度期，观察 30 分钟。", "analysis_ids": ["a2"]}],
        "limitations": {"missing_info": [], "ruled_out": ["a4"]},
    }


def english_draft() -> dict[str, Any]:
    """A draft in English that stands in the evidence, as JSON."""
    return {
        "conclusion": {
            "text": "The 05:44:30Z deploy of 7c1f0e9 cut the cache pool of order-api from 256 to 16 connections.",
            "component": "order-api",
            "cause": "max_connections was cut from 256 to 16, so Redis commands timed out after 0.5 s",
            "change_id": SHA,
            "first_failing": "order-api",
            "affected": ["gateway"],
            "alternatives": [],
            "analysis_ids": ["a1", "a2", "a3", "a4", "a6"],
        },
        "analyses": [
            analysis(
                "a1",
                "OBSERVATION",
                "The p99 latency of order-api rose from 212 ms to 3.84 s, starting at 05:47 UTC.",
                ["r1c1"],
                [SERIES],
            ),
            analysis(
                "a2",
                "OBSERVATION",
                "Deploy 7c1f0e9 of order-api at 05:44:30Z changed max_connections from 256 to 16.",
                ["r1c4"],
                ["\n".join(DEPLOY)],
            ),
            analysis(
                "a3",
                "OBSERVATION",
                "36 of 48 calls from gateway to order-api failed, up to 4,120 ms each.",
                ["r1c6"],
                [EDGE[1]],
            ),
            analysis(
                "a4",
                "INFERENCE",
                "75% of the calls failed, about 2.5 minutes after the deploy latency left its baseline.",
                ["r1c1", "r1c4", "r1c6"],
            ),
            analysis(
                "a5",
                "NEGATIVE_OBSERVATION",
                "There were no timeout errors in the logs of payment-api within the last 3 hours.",
                ["r1c8"],
            ),
            analysis(
                "a6",
                "OBSERVATION",
                "order-api logged that redis GET timed out after 500ms at 05:48:12Z.",
                ["r1c2"],
                ["redis GET order:* timed out after 500ms"],
            ),
        ],
        "action_plan": [{"text": "Roll back order-api, then watch it for 15 minutes.", "analysis_ids": ["a2"]}],
        "recommendations": [{"text": "Alert on pool saturation above 80%.", "analysis_ids": ["a3"]}],
        "limitations": {"missing_info": ["environment"], "ruled_out": ["a5"]},
    }


def draft(data: dict[str, Any]) -> Draft:
    """The draft that its JSON says."""
    return parse_draft(json.dumps(data, ensure_ascii=False))
