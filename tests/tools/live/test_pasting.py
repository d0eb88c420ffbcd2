"""What is pasted is short, whole, and can be read by what it's pasted into, whatever a question names."""

import re
import shlex
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import promql_parser
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tools.live.test_registry import configured
from tools.base import EvidenceTool
from tools.canonical import fold, iso_utc
from tools.live.pasting import LONGEST_PASTE, LONGEST_QUERY, any_case, beginning, lines, whole
from tools.live.registry import TYPES, open_evidence
from tools.vocabulary import ChangeKind, EvidenceKind, Scope

KINDS = {EvidenceKind.METRICS, EvidenceKind.LOGS, EvidenceKind.TRACES, EvidenceKind.ALERTS, EvidenceKind.CHANGES}
ASKED_BY = {
    "query_metrics": ("service", "metric"),
    "query_promql": ("query",),
    "find_log_signatures": ("service",),
    "search_logs": ("service", "severity", "contains"),
    "query_traces": ("service", "operation"),
    "get_alerts": ("service",),
    "list_changes": ("service", "change_kind"),
    "get_change": ("change_id",),
}
NOON = datetime(2026, 9, 8, 12, tzinfo=UTC)
SIGNALS = ("latency", "errors", "traffic", "saturation", "jvm heap", "gc", "p95", "consumer lag", "http_requests_total")
LONG = " ".join(["checkout-service.shop"] * 20)

names = st.one_of(
    st.sampled_from(["payment-service", "a.b", "a b", "it's", 'a"b', "$(reboot)", "支付", "{x}", "\\", "-rf", LONG]),
    st.text(min_size=1, max_size=120),
).map(fold).filter(bool)  # fmt: skip
values: dict[str, st.SearchStrategy[str]] = {
    "service": names,
    "metric": st.one_of(names, st.sampled_from(SIGNALS)),
    "query": st.sampled_from(["up", 'rate(x{a="it\'s"}[5m])', " + ".join(["up"] * 99)]),
    "severity": st.sampled_from(["FATAL", "ERROR", "WARN", "INFO", "DEBUG", "TRACE", "-"]),
    "contains": names,
    "operation": names,
    "change_kind": st.sampled_from([str(one) for one in ChangeKind]),
    "change_id": names,
}


@st.composite
def windows(draw: st.DrawFn) -> dict[str, str]:
    start = NOON - timedelta(minutes=draw(st.integers(0, 10_000)))
    return {"start": iso_utc(start), "end": iso_utc(start + timedelta(minutes=draw(st.integers(1, 10_000))))}


@st.composite
def scopes(draw: st.DrawFn, tool: str) -> Scope:
    asked = {key: draw(values[key]) for key in ASKED_BY[tool] if key in {"query", "change_id"} or draw(st.booleans())}
    window = {} if tool in {"get_alerts", "get_change"} else draw(windows())
    return {**asked, **window}


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[EvidenceTool]]:
    """The tools of every type of source alone, by name."""
    directory = tmp_path_factory.mktemp("sources")
    every = [tool for kind in TYPES for tool in open_evidence({"mine": configured(kind, directory)}).tools]
    return {name: [tool for tool in every if tool.name == name and tool.kind in KINDS] for name in ASKED_BY}


@pytest.mark.parametrize("name", ASKED_BY)
@given(data=st.data())
def test_what_is_pasted_is_short_and_can_be_read(
    tools: dict[str, list[EvidenceTool]], name: str, data: st.DataObject
) -> None:
    scope = data.draw(scopes(name))
    assert tools[name]
    for tool in tools[name]:
        pasted = tool.paste(scope)
        assert len(pasted) <= LONGEST_PASTE
        for line in pasted.splitlines():
            assert len(line) <= LONGEST_QUERY
            check(shlex.split(line), scope)
        assert not re.search(r"<\w+>|\.example|aliyuncs|tencentcloud", pasted.replace(str(scope.get("service")), ""))


def check(words: list[str], scope: Scope) -> None:
    """Read a command as what it's given to does."""
    match words[:3]:
        case ["promtool", "query", "range"]:
            promql_parser.parse(words[6])
            assert words[3:6] == [f"--start={scope['start']}", f"--end={scope['end']}", "$PROMETHEUS_URL"]
        case ["promtool", "query", "instant"]:
            promql_parser.parse(words[4])
        case ["logcli", "query", _]:
            assert words[2:5] == ["--addr=$LOKI_URL", f"--from={scope['start']}", f"--to={scope['end']}"]
            assert is_closed(words[5])
        case ["curl", *_]:
            address = next(word for word in words if word.startswith("$"))
            assert urlsplit(address.partition("_URL")[2]).path.startswith("/")
            parse_qs(urlsplit(address).query, strict_parsing="?" in address)
            assert all(is_closed(word) for word in words if word.startswith(("q=", "{")))
        case ["tccli", "cls", "SearchLog"]:
            assert words[3:5] == ["--TopicId", "$CLS_TOPIC_ID"]
            assert is_closed(words[-1])
        case ["aliyunlog", "log", "get_log"]:
            assert is_closed(words[-1].removeprefix("--query="))
        case [client, *_]:
            assert client in {"amtool", "git", "gh", "glab", "kubectl", "argocd", "tail"}
        case _:
            pytest.fail(f"not a command: {words}")


def is_closed(query: str) -> bool:
    """Whether quotes and brackets of a query are closed, those in quotes and patterns left out."""
    bare = re.sub(r'"(?:[^"\\]|\\.)*"|/\([^/]*\)/', "", query)
    opened = [bare.count(one) for one in "([{"]
    closed = [bare.count(one) for one in ")]}"]
    # A range of Lucene's is open at its end: `[a TO b}`.
    return '"' not in bare and sum(opened) == sum(closed) and opened[0] == closed[0]


@given(st.lists(st.text(max_size=2 * LONGEST_QUERY), max_size=6))
def test_queries_are_whole_or_not_there(queries: list[str]) -> None:
    plain = [re.sub(r"\s", "_", one) for one in queries]
    told = lines(plain)
    assert len(told) <= LONGEST_PASTE
    assert set(told.split("\n")) <= {*plain, ""}
    assert whole(plain) in {*plain, ""}
    assert len(whole(plain)) <= LONGEST_QUERY
    assert whole(plain) or not any(0 < len(one) <= LONGEST_QUERY for one in plain) or "" in plain


@given(st.text(max_size=40))
def test_a_name_is_found_in_any_case_by_a_pattern_that_needs_no_quotes(name: str) -> None:
    pattern = any_case(name)
    assert re.fullmatch(pattern, name, re.DOTALL)
    assert re.fullmatch(pattern, name.upper(), re.DOTALL) or name.upper().lower() != name.lower()
    assert not set(pattern) & set("\"'\\`$")


@pytest.mark.parametrize(
    ("text", "told"), [("pool exhausted", "pool exhausted"), ("ab " * 40, ("ab " * 20).strip()), ("x" * 99, "")]
)
def test_a_long_text_is_searched_by_its_first_words(text: str, told: str) -> None:
    assert beginning(text) == told


@pytest.mark.parametrize("kind", ["prometheus", "loki", "elasticsearch", "cls", "sls", "jaeger", "skywalking"])
def test_every_backend_is_asked_for_a_service_in_a_window(kind: str, tmp_path: Path) -> None:
    asked: dict[str, Any] = {
        "service": "payment-service",
        "start": "2026-09-08T04:02:00Z",
        "end": "2026-09-08T07:17:00Z",
    }
    evidence = open_evidence({"mine": configured(kind, tmp_path)})
    pasted = [tool.paste(asked) for tool in evidence.tools if tool.name not in {"query_promql", "get_alerts"}]
    assert pasted
    assert all(kind == "skywalking" or "payment-service" in one for one in pasted)
