"""Faults of our own making (`faults.toml`) as observations, each beside innocent deploys that land near the onset."""

import tomllib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from graph.models.offline.lines import parse_lines
from graph.models.offline.transcript import Observation

CHANGED_AT = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)
GUILTY = "c0ffee11" + "ab" * 16
DECOYS = (
    (
        "services/x/handler.go",
        [
            "-	if err != nil { http.Error(w, err.Error(), 500); return }",
            "-	writeJSON(w, res)",
            "+	if err != nil {",
            "+		writeError(w, http.StatusInternalServerError, err)",
            "+		return",
            "+	}",
            "+	writeJSON(w, res)",
        ],
    ),
    ("web/static/page.css", ["-.card { padding: 8px; }", "+.card { padding: 12px; }"]),
    ("go.mod", ["-	github.com/redis/go-redis/v9 v9.5.1", "+	github.com/redis/go-redis/v9 v9.5.3"]),
    (
        "services/x/client.go",
        ["-	cfg.RequestTimeout = 3 * time.Second", "+	cfg.RequestTimeout = 5 * time.Second"],
    ),
    (
        "services/x/metrics.go",
        ['+	requestsSeen = prometheus.NewCounter(prometheus.CounterOpts{Name: "seen_total"})'],
    ),
    (
        "services/x/fetch.go",
        [
            "-	out, err := s.store.GetObject(ctx, k)",
            "-	if err != nil { return nil, err }",
            "-	return io.ReadAll(out.Body)",
            "+	return s.getBytes(ctx, k)",
            "+}",
            "+func (s *Server) getBytes(ctx context.Context, k string) ([]byte, error) {",
            "+	out, err := s.store.GetObject(ctx, k)",
            "+	if err != nil { return nil, err }",
            "+	return io.ReadAll(out.Body)",
        ],
    ),
)


def all_faults() -> dict[str, dict[str, Any]]:
    """Return every fault by its name."""
    return tomllib.loads((Path(__file__).parent / "faults.toml").read_text("utf-8"))


def observations(fault: dict[str, Any]) -> list[Observation]:
    """Return what the tools would tell of a fault."""
    return [
        _observation("r1c1", "query_metrics", _metrics(fault), measured=True),
        _observation("r1c2", "find_log_signatures", _logs(fault), measured=False),
        _observation("r1c3", "list_changes", list(_changes(fault)), measured=True),
        _observation("r1c4", "get_alerts", [_alert(fault)], measured=False),
    ]


def _observation(call_id: str, tool: str, lines: list[str], *, measured: bool) -> Observation:
    return Observation(call_id, tool, True, False, measured, False, tuple(parse_lines(lines)))


def _at(minute: str | float) -> str:
    return (CHANGED_AT + timedelta(minutes=float(minute))).strftime("%Y-%m-%dT%H:%M:%SZ")


def _metrics(fault: dict[str, Any]) -> list[str]:
    rows = [row.split() for row in fault["metrics"]]
    return [
        f"series service={service} metric={metric} direction={direction} baseline={baseline} extreme={extreme} "
        f"extreme_at={_at(minute)} last={extreme} onset={'-' if direction == 'FLAT' else _at(minute)} "
        "samples=120 gaps=0"
        for service, metric, direction, baseline, extreme, minute in sorted(rows, key=lambda row: float(row[5]))
    ]


def _logs(fault: dict[str, Any]) -> list[str]:
    lines = []
    for row in fault["logs"]:
        minute, service, severity, text = row.split(" ", 3)
        lines.append(
            f"signature service={service} severity={severity} status=NEW count=40 baseline_count=0 "
            f"first_seen={_at(minute)} last_seen={_at(60)} | {text}"
        )
        lines.append(f"  {text}")
    return lines


def _changes(fault: dict[str, Any]) -> Iterator[str]:
    if "diff" in fault:
        yield from _change(GUILTY, fault["service"], _at(0), fault["file"], fault["diff"])
    for number, (file, diff) in enumerate(DECOYS):
        yield from _change(f"{number:08x}" + "cd" * 16, fault["service"], _at(-1 - number), file, diff)


def _change(change_id: str, service: str, at: str, file: str, diff: list[str]) -> Iterator[str]:
    yield f"change kind=DEPLOY id={change_id} service={service} at={at} version=v1 files={file} | update"
    yield f"  @ {file}"
    yield from (f"  {line[0]} {line[1:].strip()}" for line in diff)


def _alert(fault: dict[str, Any]) -> str:
    service, metric, *_ = fault["metrics"][-1].split()
    return (
        f"alert service={service} metric={metric} threshold=1 observed=2 fired_at={_at(65)} severity=high monitor=m | x"
    )


def evidence(fault: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the same as the evidence that a semantic review is sent."""
    return [
        {
            "tool_call_id": one.call_id,
            "tool_name": one.tool,
            "kind": one.tool,
            "provenance": "MEASURED" if one.measured else "TEXT",
            "relevance_level": "DIRECT",
            "evidence_status": "EVIDENCE",
            "truncated": False,
            "scope": {},
            "content": [text for line in one.lines for text in (line.raw, *line.more)],
        }
        for one in observations(fault)
    ]
