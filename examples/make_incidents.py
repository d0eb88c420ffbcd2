"""Write the bundled incidents: `python -m examples.make_incidents`. The same bytes every time.

A payment service gets a configuration that waits 300 ms for a bank adapter which needs 600 ms and more. What it writes:

- `incidents/payment-timeout/`: the evidence whole, with the change that did it, innocent changes around it, and the
  services that suffer from it upstream and downstream.
- `incidents/payment-timeout-no-changes/`: the same outage where nobody recorded changes, traces, or anything of the two
  services between which it happened: only victims are left, and nothing decides.
"""

import csv
import hashlib
import io
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from examples.payment_story import (
    ALERT,
    COMMITS,
    DEPLOYS,
    FLAGS,
    RUNBOOK_EN,
    RUNBOOK_ZH,
    STACK_TRACE,
)

START = datetime(2026, 9, 8, 5, 15, tzinfo=UTC)
ONSET = datetime(2026, 9, 8, 6, 53, tzinfo=UTC)
"""Minutes after the payment service's deploy: the first pods with the new configuration take traffic."""
MINUTES = 125
WITHHELD = frozenset({"payment-service", "bank-adapter"})
"""The services of which the second incident has no metrics and no logs."""


@dataclass(frozen=True)
class Series:
    """One metric: its level before and after it turns, how long after the onset that is, and its noise (a fraction)."""

    service: str
    metric: str
    before: float
    after: float
    delay: timedelta
    noise: float
    digits: int


def _minutes(count: int) -> timedelta:
    return timedelta(minutes=count)


SERIES = (
    Series("api-gateway", "http_5xx_rate", 0.002, 0.24, _minutes(3), 0.2, 4),
    Series("api-gateway", "http_server_duration_p99_ms", 925, 1655, _minutes(3), 0.06, 1),
    Series("order-service", "payment_failure_rate", 0.004, 0.47, _minutes(2), 0.2, 4),
    Series("order-service", "http_server_duration_p99_ms", 890, 1610, _minutes(2), 0.06, 1),
    Series("payment-service", "rpc_client_error_rate", 0.003, 0.58, _minutes(0), 0.12, 4),
    Series("payment-service", "rpc_client_duration_p99_ms", 905, 304, _minutes(0), 0.02, 1),
    Series("payment-service", "http_server_error_rate", 0.003, 0.46, _minutes(1), 0.15, 4),
    Series("bank-adapter", "http_server_duration_p99_ms", 884, 891, _minutes(0), 0.04, 1),
    Series("bank-adapter", "http_server_requests_per_second", 41, 108, _minutes(1), 0.05, 2),
    Series("bank-adapter", "client_disconnect_rate", 0.001, 0.95, _minutes(1), 0.04, 4),
    Series("risk-service", "http_server_duration_p99_ms", 118, 118, _minutes(0), 0.08, 1),
    Series("risk-service", "rule_cache_hit_ratio", 0.94, 0.94, _minutes(0), 0.01, 4),
    Series("ledger-service", "entries_posted_per_minute", 2410, 1290, _minutes(2), 0.05, 0),
)

PAID_BY_BANK = "支付完成 订单号={order} 渠道=bank-adapter 耗时={ms}ms"
"""Seen until the onset only."""

QUIET_LOGS = (
    # service, severity, text, what is drawn for each line stands in braces; customers who pay by wallet notice nothing
    ("api-gateway", "INFO", "POST /api/orders/{order}/pay 200 {ms}ms"),
    ("api-gateway", "INFO", "GET /api/orders/{order} 200 {ms}ms"),
    ("order-service", "INFO", "订单 {order} 已创建，等待支付"),
    ("order-service", "INFO", "订单 {order} 支付成功，耗时 {ms}ms"),
    ("payment-service", "INFO", "支付完成 订单号={order} 渠道=wallet 耗时={fast}ms"),
    ("payment-service", "INFO", PAID_BY_BANK),
    ("bank-adapter", "INFO", "charge accepted order={order} latency_ms={ms}"),
    ("risk-service", "INFO", "风控通过 用户={user} 规则集=default"),
    ("risk-service", "WARN", "规则缓存未命中，回源加载 规则={rule}"),
    ("ledger-service", "INFO", "posted batch size=200 took={ms}ms"),
    ("order-service", "INFO", "支付结果短信已发送 手机号={phone}"),
)

FAILING_LOGS = (
    # minutes after the onset, service, severity, text
    (
        0,
        "payment-service",
        "WARN",
        "调用渠道超时 订单号={order} 渠道=bank-adapter read-timeout=300ms 第 {attempt} 次重试",
    ),
    (0, "payment-service", "ERROR", STACK_TRACE),
    (1, "bank-adapter", "WARN", "client closed connection before response order={order} latency_ms={ms}"),
    (2, "order-service", "ERROR", "订单 {order} 支付失败: payment-service 返回 503"),
    (3, "api-gateway", "ERROR", "POST /api/orders/{order}/pay 502 upstream=order-service"),
)


def incident_files() -> dict[str, bytes]:
    """Return the content of every file of both incidents by its path below the incidents' directory."""
    context = {
        "context/commits.json": _json([_commit(*commit) for commit in COMMITS]),
        "context/deploys.json": _json([_deploy(*deploy) for deploy in DEPLOYS]),
        "context/flags.json": _json([_flag(*flag) for flag in FLAGS]),
    }
    shared = {
        "alert.json": _json(ALERT),
        "runbooks/payment-timeout.zh.md": RUNBOOK_ZH.encode(),
        "runbooks/client-timeouts.en.md": RUNBOOK_EN.encode(),
    }
    metrics, logs = list(_metrics()), list(_logs())
    whole = (
        shared
        | context
        | {
            "metrics.csv": _csv(metrics),
            "logs.ndjson": _ndjson(logs),
            "traces.json": _json(list(_traces())),
        }
    )
    bare = shared | {
        "metrics.csv": _csv([row for row in metrics if row[1] not in WITHHELD]),
        "logs.ndjson": _ndjson([line for line in logs if line["service"] not in WITHHELD]),
    }
    return {f"payment-timeout/{name}": content for name, content in whole.items()} | {
        f"payment-timeout-no-changes/{name}": content for name, content in bare.items()
    }


def write(directory: Path) -> None:
    """Write both incidents below `directory`; files of the same names are replaced, others are left alone."""
    for name, content in incident_files().items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def _metrics() -> Iterator[tuple[str, str, str, str]]:
    draw = _draws("metrics")
    for minute in range(MINUTES):
        at = START + _minutes(minute)
        for series in SERIES:
            turned = at >= ONSET + series.delay
            level = series.after if turned else series.before
            value = level * (1 + series.noise * (2 * draw() - 1))
            yield _iso(at), series.service, series.metric, f"{value:.{series.digits}f}"


def _logs() -> Iterator[dict[str, str]]:
    draw = _draws("logs")
    for minute in range(MINUTES):
        at = START + _minutes(minute)
        quiet = [
            (int(draw() * 60), *line) for line in QUIET_LOGS if draw() < 0.6 and (at < ONSET or line[2] != PAID_BY_BANK)
        ]
        failing = [
            (int(draw() * 60), service, severity, text)
            for delay, service, severity, text in FAILING_LOGS
            for _ in range(2)
            if at >= ONSET + _minutes(delay) and draw() < 0.85
        ]
        for second, service, severity, text in sorted(quiet + failing):
            yield _log_line(at + timedelta(seconds=second), service, severity, text, draw)


def _log_line(at: datetime, service: str, severity: str, text: str, draw: Any) -> dict[str, str]:
    order = f"20260908{int(draw() * 10**6):06d}"
    words = {
        "order": order,
        "user": f"u{int(draw() * 90_000) + 10_000}",
        "phone": f"13{int(draw() * 10**9):09d}",
        "fast": str(90 + int(draw() * 60)),
        "ms": str(560 + int(draw() * 240)),
        "rule": f"R-{int(draw() * 40):03d}",
        "attempt": "3" if severity == "ERROR" else str(1 + int(draw() * 2)),
    }
    return {
        "timestamp": _iso(at),
        "service": service,
        "severity_text": severity,
        "msg": text.format(**words),
        "trace_id": _hex(f"trace {order} {at}", 32),
    }


def _traces() -> Iterator[dict[str, Any]]:
    draw = _draws("traces")
    for number in range(8):
        yield from _trace(
            START + timedelta(minutes=9 * number + 6, seconds=int(draw() * 60)), number, draw, failing=False
        )
    for number in range(8, 18):
        at = ONSET + timedelta(seconds=40 * (number - 8) + int(draw() * 20))
        yield from _trace(at, number, draw, failing=True)


def _trace(at: datetime, number: int, draw: Any, *, failing: bool) -> Iterator[dict[str, Any]]:
    """Yield the spans of one payment: gateway, order, payment, risk, and the bank adapter, thrice where it fails."""
    trace_id = _hex(f"trace {number}", 32)
    served = 600 + int(draw() * 230)
    attempts = [301 + int(draw() * 5) for _ in range(3)] if failing else [served + 6]
    pause = 200 if failing else 12
    paying = 34 + sum(attempts) + pause * len(attempts)

    def span(
        name: str, parent: str | None, service: str, operation: str, after_ms: int, lasts_ms: int, error: str
    ) -> Any:
        fields = {
            "trace_id": trace_id,
            "span_id": _hex(f"{number} {name}", 16),
            "parent_id": _hex(f"{number} {parent}", 16) if parent else None,
            "service": service,
            "name": operation,
            "start": _iso(at + timedelta(milliseconds=after_ms)),
            "duration_ms": lasts_ms,
            "status": "ERROR" if error else "OK",
        }
        return fields | ({"error": error} if error else {})

    refused = "503 Service Unavailable" if failing else ""
    yield span(
        "gateway", None, "api-gateway", "POST /api/orders/{id}/pay", 0, paying + 22, refused and "502 Bad Gateway"
    )
    yield span("order", "gateway", "order-service", "Order.pay", 6, paying + 12, refused)
    yield span(
        "payment", "order", "payment-service", "PaymentService.pay", 11, paying, "charge failed" if failing else ""
    )
    yield span("risk", "payment", "risk-service", "Risk.check", 14, 18 + int(draw() * 12), "")
    after = 45
    for attempt, waited in enumerate(attempts):
        error = "java.net.SocketTimeoutException: Read timed out" if failing else ""
        client = f"client {attempt}"
        yield span(client, "payment", "payment-service", "bank-adapter.charge (client)", after, waited, error)
        yield span(f"server {attempt}", client, "bank-adapter", "Adapter.charge", after + 3, served, "")
        after += waited + pause


def _commit(at: str, author: str, message: str, files: tuple[str, ...], diff: str | None) -> dict[str, Any]:
    return {
        "sha": _sha(message),
        "author": author,
        "timestamp": _on_the_day(at),
        "message": message,
        "files_changed": list(files),
        "diff": diff,
    }


def _deploy(at: str, service: str, message: str, version: str) -> dict[str, str]:
    return {"timestamp": _on_the_day(at), "service": service, "commit_sha": _sha(message), "version": version}


def _flag(at: str, flag: str, service: str, change: str, actor: str) -> dict[str, str]:
    return {"timestamp": _on_the_day(at), "flag": flag, "service": service, "change": change, "actor": actor}


def _draws(name: str) -> Any:
    return random.Random(f"payment-timeout {name}").random  # noqa: S311 - the same numbers every time are meant


def _hex(text: str, length: int) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:length]


def _sha(message: str) -> str:
    return _hex(f"commit {message}", 40)


def _on_the_day(clock: str) -> str:
    return f"{START.date().isoformat()}T{clock}Z"


def _iso(at: datetime) -> str:
    timespec = "milliseconds" if at.microsecond else "seconds"
    return at.isoformat(timespec=timespec).replace("+00:00", "Z")


def _json(value: Any) -> bytes:
    return (json.dumps(value, ensure_ascii=False, indent=2) + "\n").encode()


def _ndjson(lines: list[dict[str, str]]) -> bytes:
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines).encode()


def _csv(rows: list[tuple[str, str, str, str]]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("timestamp", "service", "metric", "value"))
    writer.writerows(rows)
    return text.getvalue().encode()


if __name__ == "__main__":
    write(Path(__file__).parent / "incidents")
