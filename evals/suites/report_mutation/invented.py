"""Invented incidents: faults that services have, with random names, figures and times, in the lines that tools give."""

import random
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from evals.suites.report_mutation.story import Call, Story
from tools.vocabulary import ChangeKind, ChangeRef, Evidence, EvidenceKind, EvidenceStatus, Provenance, RelevanceLevel

SERVICES = (
    "order-api", "gateway", "ledger_worker", "web.frontend", "cart-service", "pricing", "user-profile", "search-v2",
    "notify-hub", "inventorySvc", "media.encoder", "stock-keeper", "fraud-check", "mailer", "quote-engine", "feeds",
)  # fmt: skip


@dataclass(frozen=True)
class Fault:
    """What a change did: the metric that shows it (name, ranges of its baseline and of what multiplies it, digits),
    what the log says, the changed lines, and the cause in both languages."""

    metric: str
    baseline: tuple[float, float]
    factor: tuple[float, float]
    digits: int
    log: str
    message: str
    file: str
    diff: tuple[str, str]
    cause: tuple[str, str]


FAULTS = (
    Fault("db_pool_wait_p99_ms", (4, 40), (30, 90), 1, "could not obtain connection from pool within <n> ms",
          "tidy datasource settings", "config/datasource.yaml", ("pool_size: 64", "pool_size: 4"),
          ("数据库连接池被调小，请求排队等连接", "the database pool was shrunk, so requests queue for connections")),
    Fault("http_request_duration_p99_ms", (90, 400), (6, 20), 0, "upstream call exceeded <n> ms, giving up",
          "raise retry count for flaky partner", "client/retry.go", ("maxRetries = 1", "maxRetries = 9"),
          ("重试次数被调大，慢请求成倍堆积", "the retry count was raised, so slow requests pile up")),
    Fault("heap_used_bytes", (2e8, 6e8), (3, 8), 0, "java.lang.OutOfMemoryError: Java heap space",
          "keep sessions for audit", "src/SessionCache.java", ("expireAfter(10, MINUTES)", "expireAfter(90, DAYS)"),
          ("会话缓存几乎不再过期，堆内存持续上涨", "sessions hardly expire any more, so the heap keeps growing")),
    Fault("http_5xx_ratio", (0.001, 0.009), (30, 80), 4, "NullPointerException at PriceRule.apply",
          "simplify price rules", "src/PriceRule.java", ("if (rule == null) return base;", "return rule.apply(base);"),
          ("空值检查被删掉，部分请求抛出空指针", "a null check was removed, so some requests fail")),
    Fault("cache_hit_ratio", (0.9, 0.98), (0.2, 0.5), 3, "cache miss storm, <n> keys reloaded",
          "shorter cache lifetime", "config/cache.toml", ("ttl_seconds = 3600", "ttl_seconds = 5"),
          ("缓存有效期被缩短，命中率骤降", "the cache lifetime was cut, so the hit ratio collapsed")),
    Fault("consumer_lag_records", (20, 300), (100, 900), 0, "poll interval exceeded, partition revoked",
          "process batches synchronously", "consumer/loop.py", ("max_poll_records=50", "max_poll_records=5000"),
          ("每批拉取的消息过多，消费跟不上", "each poll takes too many records, so the consumer falls behind")),
    Fault("cpu_utilization_ratio", (0.15, 0.35), (2.3, 2.7), 3, "request queue is full, rejecting",
          "verify signatures twice", "auth/verify.rs", ("let rounds = 1;", "let rounds = 400;"),
          ("签名校验轮数被调大，处理器被占满", "signature rounds were raised, so the processor is saturated")),
    Fault("open_file_descriptors", (120, 400), (20, 60), 0, "accept failed: too many open files",
          "stream uploads directly", "upload/handler.go", ("defer file.Close()", "// closed by caller"),
          ("文件句柄不再关闭，耗尽后拒绝连接", "files are no longer closed, so connections are refused")),
)  # fmt: skip


def invent(number: int, seed: int) -> Story:
    """Return the invented incident of a number; equal numbers and seeds give equal stories."""
    rng = random.Random(f"{seed}:{number}")  # noqa: S311 - stories, no secrets
    fault = FAULTS[number % len(FAULTS)]
    culprit, victim, bystander = rng.sample(SERVICES, 3)
    deployed = datetime(2026, 1, 5, tzinfo=UTC) + timedelta(
        days=rng.randrange(300), hours=rng.randrange(24), minutes=rng.randrange(60), seconds=rng.randrange(60)
    )
    plot = _Plot(rng, fault, culprit, victim, bystander, deployed)
    zone = rng.choice(("Asia/Shanghai", "UTC", "Europe/Berlin"))
    return Story(f"invented-{number:03}", zone, tuple(plot.calls()), fault.cause)


class _Plot:
    """One incident being written down."""

    def __init__(
        self, rng: random.Random, fault: Fault, culprit: str, victim: str, bystander: str, deployed: datetime
    ) -> None:
        self._rng, self._fault = rng, fault
        self._culprit, self._victim, self._bystander = culprit, victim, bystander
        self._deployed = deployed
        self._onset = deployed + timedelta(seconds=rng.randrange(70, 900))
        self._window = {
            "start": _at(_floor(deployed) - timedelta(hours=2)),
            "end": _at(_floor(self._onset) + timedelta(hours=1)),
        }

    def calls(self) -> list[Call]:
        """Return the run's calls, in order."""
        made = [
            self._metrics(),
            self._changes(),
            self._logs(),
            self._traces(),
            self._nothing("find_log_signatures", EvidenceKind.LOGS, Provenance.TEXT),
            self._nothing("query_traces", EvidenceKind.TRACES, Provenance.MEASURED, operation=None),
            self._runbook(),
        ]
        failed = ("search_logs", EvidenceKind.LOGS, {**self._window, "service": self._victim, "contains": "timeout"})
        return [
            *(Call(f"r1c{n}", *rest) for n, rest in enumerate(made, start=1)),
            Call(f"r1c{len(made) + 1}", *failed, None),
        ]

    def _metrics(self) -> tuple[str, EvidenceKind, dict[str, Any], Evidence]:
        fault, rng = self._fault, self._rng
        lines = [self._series(self._culprit, fault.metric, fault.baseline, fault.factor, fault.digits, self._onset)]
        later = self._onset + timedelta(seconds=rng.randrange(60, 400))
        lines.append(self._series(self._victim, "request_errors_per_second", (0.2, 2), (15, 60), 2, later))
        found = _evidence(lines, components=(self._culprit, self._victim), onset=self._onset)
        return "query_metrics", EvidenceKind.METRICS, {**self._window}, found

    def _series(
        self,
        service: str,
        metric: str,
        base: tuple[float, float],
        factor: tuple[float, float],
        digits: int,
        onset: datetime,
    ) -> str:
        rng = self._rng
        baseline = round(rng.uniform(*base), digits)
        extreme = round(baseline * rng.uniform(*factor), digits)
        last = round(baseline + (extreme - baseline) * rng.uniform(0.7, 0.95), digits)
        up = extreme > baseline
        return (
            f"series service={service} metric={metric} direction={'UP' if up else 'DOWN'} baseline={_plain(baseline)} "
            f"extreme={_plain(extreme)} extreme_at={_at(onset + timedelta(minutes=rng.randrange(5, 30)))} "
            f"last={_plain(last)} onset={_at(onset)} samples={rng.randrange(90, 240)} gaps=0"
        )

    def _changes(self) -> tuple[str, EvidenceKind, dict[str, Any], Evidence]:
        rng, fault = self._rng, self._fault
        earlier = self._deployed - timedelta(minutes=rng.randrange(20, 100))
        own, other = ("".join(rng.choices("0123456789abcdef", k=40)) for _ in range(2))
        version = f"v{rng.randrange(1, 9)}.{rng.randrange(30)}.{rng.randrange(30)}"
        lines = [
            f"change kind=DEPLOY id={own} service={self._culprit} at={_at(self._deployed)} version={version} "
            f"files={fault.file} | {fault.message}",
            f"  @ {fault.file}",
            f"  - {fault.diff[0]}",
            f"  + {fault.diff[1]}",
            f"change kind=DEPLOY id={other} service={self._bystander} at={_at(earlier)} version=v2.0.1 "
            "files=docs/readme.md | wording",
        ]
        refs = (
            ChangeRef(kind=ChangeKind.DEPLOY, change_id=own, service=self._culprit, at=self._deployed),
            ChangeRef(kind=ChangeKind.DEPLOY, change_id=other, service=self._bystander, at=earlier),
        )
        found = _evidence(lines, components=(self._culprit, self._bystander), changes=refs)
        return "list_changes", EvidenceKind.CHANGES, {**self._window}, found

    def _logs(self) -> tuple[str, EvidenceKind, dict[str, Any], Evidence]:
        rng = self._rng
        seen = self._onset + timedelta(seconds=rng.randrange(5, 90))
        line = (
            f"signature service={self._culprit} severity=ERROR status=NEW count={rng.randrange(12, 900)} "
            f"baseline_count=0 first_seen={_at(seen)} last_seen={_at(seen + timedelta(minutes=20))} | {self._fault.log}"
        )
        found = _evidence([line], provenance=Provenance.TEXT, components=(self._culprit,))
        scope = {**self._window, "service": self._culprit.lower()}
        return "find_log_signatures", EvidenceKind.LOGS, scope, found

    def _traces(self) -> tuple[str, EvidenceKind, dict[str, Any], Evidence]:
        rng = self._rng
        calls = rng.randrange(40, 200)
        lines = [
            f"first_failing service={self._culprit} operation=handle at={_at(self._onset + timedelta(seconds=3))}",
            f"edge caller={self._victim} callee={self._culprit} calls={calls} errors={rng.randrange(10, calls)} "
            f"max_ms={rng.randrange(900, 9000)}",
        ]
        found = _evidence(lines, components=(self._culprit, self._victim), first_failing=self._culprit)
        return "query_traces", EvidenceKind.TRACES, {**self._window}, found

    def _nothing(
        self, tool: str, kind: EvidenceKind, provenance: Provenance, **scope: Any
    ) -> tuple[str, EvidenceKind, dict[str, Any], Evidence]:
        asked = {**self._window, "service": self._bystander.lower(), **scope}
        empty = Evidence(
            status=EvidenceStatus.NO_EVIDENCE,
            provenance=provenance,
            summary=f"{self._bystander}: nothing",
            components=(self._bystander,),
        )
        return tool, kind, asked, empty

    def _runbook(self) -> tuple[str, EvidenceKind, dict[str, Any], Evidence]:
        other = self._rng.choice([name for name in SERVICES if name not in (self._culprit, self._victim)])
        lines = [
            f"runbook file={self._fault.file.split('/')[0]}.md section=rollback | Roll back a bad release",
            f"  kubectl rollout undo deployment/{self._culprit.lower()} -n prod",
            f"  Last year {other} lost {self._rng.randrange(20, 90)} minutes to a full disk.",
        ]
        found = _evidence(lines, provenance=Provenance.TEXT, relevance=RelevanceLevel.REFERENCE)
        return "search_runbooks", EvidenceKind.RUNBOOKS, {"query": "roll back a bad release"}, found


def _evidence(lines: list[str], *, provenance: Provenance = Provenance.MEASURED, **more: Any) -> Evidence:
    return Evidence(
        status=EvidenceStatus.EVIDENCE,
        provenance=provenance,
        content=tuple(lines),
        summary=f"{len(lines)} lines",
        **more,
    )


def _floor(moment: datetime) -> datetime:
    return moment.replace(second=0, microsecond=0)


def _at(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _plain(number: float) -> str:
    return f"{number:.6g}" if abs(number) < 1e6 else f"{number:.0f}"
