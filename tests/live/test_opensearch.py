"""Logs from a server of OpenSearch's API (`osmem-server`, in memory), asked over HTTP as any cluster is."""

import json
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import SecretStr
from typing_extensions import override

from tests.live.pasted import run
from tests.live.servers.answering import Request, Response, answering
from tests.tools.live.conformance import INCIDENT as CONFORMANT
from tests.tools.live.conformance import LIMIT, TOKEN, HttpConformance
from tests.tools.live.logs.asking import asked, frozen
from tests.tools.live.logs.memory import heads, repeated
from tests.tools.live.logs.told import AS_OF, ONSET, Line, incident
from tools.base import EvidenceTool, SourceFailure
from tools.canonical import iso_utc
from tools.live.logs import tools_of
from tools.live.logs.elasticsearch import Elasticsearch
from tools.live.logs.settings import ElasticsearchSettings
from tools.live.logs.source import LogQuestion, Phrase
from tools.vocabulary import Evidence, SourceError

osmem = pytest.importorskip("osmem_server", reason="PyPI's osmem-server brings the OpenSearch API")

UNTIL = AS_OF + timedelta(minutes=15)
WHOLE = LogQuestion(AS_OF - timedelta(hours=7), UNTIL)
ECS = {
    "@timestamp": {"type": "date"},
    "message": {"type": "text"},
    "service": {"properties": {"name": {"type": "keyword"}}},
    "log": {"properties": {"level": {"type": "keyword"}}},
    "trace": {"properties": {"id": {"type": "keyword"}}},
}
"""The Elastic Common Schema's names, as Filebeat and the OpenTelemetry exporter map them."""


@pytest.fixture(scope="session")
def cluster() -> Iterator[str]:
    """A server that all tests share; each has an index of its own."""
    with osmem.OsmemServer.start(japanese=False) as server:
        yield server.url
    server.process.stdout.close()


def as_ecs(line: Line) -> dict[str, Any]:
    told = {"@timestamp": iso_utc(line.at), "message": line.message, "service": {"name": line.service}}
    return {**told, "log": {"level": line.level}, "trace": {"id": line.trace_id}}


def fill(
    cluster: str, index: str, documents: Iterable[Mapping[str, Any]], properties: Mapping[str, Any] | None
) -> None:
    """Create an index (with dynamic mapping where `properties` is None) and put documents into it."""
    with httpx.Client(base_url=cluster, timeout=60) as client:
        client.delete(f"/{index}")
        body = {"mappings": {"properties": properties}} if properties is not None else {}
        client.put(f"/{index}", json=body).raise_for_status()
        rows = [line for document in documents for line in ('{"index": {}}', json.dumps(document))]
        if rows:
            headers = {"Content-Type": "application/x-ndjson"}
            answer = client.post(f"/{index}/_bulk?refresh=true", content="\n".join(rows) + "\n", headers=headers)
            assert not answer.json()["errors"]


@asynccontextmanager
async def opensearch(url: str, index: str, **more: Any) -> AsyncIterator[Elasticsearch]:
    source = ElasticsearchSettings(url=url, index=index, **more).open("es")
    try:
        yield source
    finally:
        await source.close()


@pytest.fixture(scope="session")
def told(cluster: str) -> str:
    """An index of the incident that every backend is told."""
    fill(cluster, "told-1", map(as_ecs, incident()), ECS)
    return "told-*"


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("find_log_signatures", {}),
        ("find_log_signatures", {"service": "stock"}),
        ("search_logs", {"service": "stock", "severity": "ERROR"}),
        ("search_logs", {"service": "stock", "contains": "exhausted after"}),
    ],
)
@pytest.mark.parametrize("known", [False, True])
async def test_what_is_pasted_finds_records(
    cluster: str, told: str, name: str, given: dict[str, str], known: bool
) -> None:
    scope = {**given, "start": iso_utc(AS_OF - timedelta(hours=3)), "end": iso_utc(UNTIL)}
    async with opensearch(cluster, told) as source:
        if known:
            await source.known("stock", UNTIL)
        tool = next(tool for tool in tools_of({"es": source}) if tool.name == name)
        found = json.loads(run(tool.paste(scope), ELASTICSEARCH_URL=cluster))["hits"]["hits"]
    assert found
    records = [hit["_source"] for hit in found]
    assert all(one["service"]["name"] == "stock" or "service" not in given for one in records)
    assert all(one["log"]["level"].upper() == given.get("severity", one["log"]["level"].upper()) for one in records)
    assert all(scope["start"] <= one["@timestamp"] < scope["end"] for one in records)


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("find_log_signatures", {}),
        ("find_log_signatures", {"service": "STOCK"}),
        ("search_logs", {"service": "stock", "severity": "error", "limit": 3}),
        ("search_logs", {"contains": "exhausted after"}),
        ("search_logs", {"contains": "xhausted  AFTER 50"}),
        ("search_logs", {"contains": "Timeoutexc"}),
        ("search_logs", {"contains": "order 20003"}),
        ("search_logs", {"contains": "nowhere to be found"}),
        ("search_logs", {"severity": "WARN", "limit": 60}),
    ],
)
async def test_opensearch_tells_what_a_frozen_incident_tells(
    cluster: str, told: str, name: str, given: dict[str, Any], tmp_path: Path
) -> None:
    async with opensearch(cluster, told) as source:
        live = await asked({"es": source}, name, **given)
    expected = await frozen(tmp_path, incident(), name, **given)
    assert live.content == expected.content
    assert (live.status, live.truncated, live.components) == (expected.status, expected.truncated, expected.components)
    assert sorted(live.summary.split("; ")) == sorted(expected.summary.split("; "))


async def test_names_that_other_shippers_give_are_found_by_themselves(cluster: str, tmp_path: Path) -> None:
    documents = (
        {"timestamp": iso_utc(line.at), "msg": line.message, "app": line.service, "level": line.level.lower()}
        for line in incident()
    )
    fill(cluster, "dynamic-1", documents, None)
    async with opensearch(cluster, "dynamic-*") as source:
        live = await asked({"es": source}, "find_log_signatures")
    assert live.content == (await frozen(tmp_path, incident(), "find_log_signatures")).content


async def test_without_a_field_for_it_the_severity_is_read_in_the_text(cluster: str) -> None:
    documents = ({"@timestamp": iso_utc(line.at), "message": f"{line.level} {line.message}"} for line in incident())
    fill(cluster, "bare-1", documents, {"@timestamp": {"type": "date"}, "message": {"type": "text"}})
    async with opensearch(cluster, "bare-*") as source:
        evidence = await asked({"es": source}, "search_logs", severity="ERROR", limit=2)
    assert [line.split(" | ")[0].split()[2:4] for line in heads(evidence.content)] == [
        ["service=-", "severity=ERROR"]
    ] * 2
    assert evidence.truncated


async def test_an_index_that_is_not_there_is_missing_and_no_absence(cluster: str) -> None:
    for index in ("nowhere-*", "nowhere"):
        async with opensearch(cluster, index) as source:
            with pytest.raises(SourceFailure) as caught:
                await asked({"es": source}, "search_logs")
        assert caught.value.code is SourceError.SOURCE_MISSING


async def test_pages_bring_everything_in_order(cluster: str) -> None:
    lines = repeated(Line(ONSET, "shop", "INFO", "line {}"), 1_234, until=AS_OF)
    fill(cluster, "pages-1", map(as_ecs, lines), ECS)
    async with opensearch(cluster, "pages-1") as source:
        whole = await source.records(WHOLE, 2_000)
        first = await source.records(WHOLE, 700)
        latest = await source.records(WHOLE, 700, latest=True)
    messages = [line.message for line in lines]
    assert [row.message for row in whole.rows] == messages
    assert [row.message for row in first.rows] == messages[:700]
    assert [row.message for row in latest.rows] == messages[-700:]
    assert (whole.complete, first.complete, latest.complete) == (True, False, False)


async def test_counts_are_of_the_slices_asked_for_with_their_edges(cluster: str, told: str) -> None:
    hour = replace(WHOLE, start=AS_OF - timedelta(hours=1), end=AS_OF, severities=frozenset({"ERROR"}))
    async with opensearch(cluster, told) as source:
        counts = await source.counts(hour, 12)
        [each] = await source.counts_each(hour, [Phrase(("pool exhausted", "waiting for"))], 12)
    lines = [line for line in incident() if line.level == "ERROR" and hour.start <= line.at < hour.end]
    assert counts.total == len(lines)
    for row in counts.rows:
        start, end = hour.slice_bounds(row.slice, 12)
        own = [line.at for line in lines if line.service == row.service and start <= line.at < end]
        assert (row.records, row.first, row.last) == (len(own), min(own), max(own))
    assert each.total == 30


async def test_a_rare_new_error_is_found_beneath_known_ones(cluster: str) -> None:
    known = repeated(Line(AS_OF - timedelta(hours=6), "pay", "ERROR", "retrying payment {} again"), 2_600, until=UNTIL)
    rare = repeated(Line(ONSET, "pay", "ERROR", "deadlock detected in ledger {}"), 4, until=AS_OF)
    fill(cluster, "loud-1", map(as_ecs, [*known, *rare]), ECS)
    async with opensearch(cluster, "loud-1") as source:
        evidence = await asked({"es": source}, "find_log_signatures")
    [signature] = heads(evidence.content)
    assert "severity=ERROR status=NEW count=4 baseline_count=0 first_seen=2026-03-04T11:35:00Z" in signature
    assert "counted=BY_PHRASE | deadlock detected in ledger <n>" in signature
    assert not evidence.truncated


ATTACKS = ("*", '"} ] }', "pool\\", "a AND b", "order OR pool", "{{x}}", "ord?r", "ord*", "[1 TO 2]", "~pool~")


@pytest.mark.parametrize("text", ATTACKS)
async def test_a_query_language_in_a_searched_text_finds_nothing_but_itself(cluster: str, text: str) -> None:
    fill(cluster, "attack-1", map(as_ecs, incident()), ECS)
    async with opensearch(cluster, "attack-1") as source:
        try:
            found = await source.counts(replace(WHOLE, contains=text), 1)
        except SourceFailure as failure:
            found = None
            code = failure.code
    if found is None:
        assert code is SourceError.QUERY_REJECTED
    else:
        # Punctuation isn't indexed: what is left of the text is looked for, and that is remarked.
        bare = text.strip('*"{}[]~\\ ')
        assert found.total == sum(bare in line.message for line in incident())
        assert found.notes == (() if text.replace(" ", "").isalnum() else ("PUNCTUATION_IGNORED:es",))


async def test_a_services_name_is_a_value_whatever_it_holds(cluster: str) -> None:
    names = ['a"b', "x*", "back\\slash", "名 字", "{}"]
    fill(cluster, "names-1", (as_ecs(Line(ONSET, name, "ERROR", "boom")) for name in names), ECS)
    async with opensearch(cluster, "names-1") as source:
        for name in names:
            evidence = await asked({"es": source}, "search_logs", service=name)
            assert "1 records" in evidence.summary


async def test_the_doctors_sample_tells_the_clusters_clock(cluster: str) -> None:
    fill(cluster, "now-1", [as_ecs(Line(datetime.now(UTC) - timedelta(minutes=1), "shop", "INFO", "x"))], ECS)
    async with opensearch(cluster, "now-1") as source:
        probe = await source.probe()
    assert probe.server_time is not None
    assert abs(probe.server_time - datetime.now(UTC)) < timedelta(minutes=1)
    assert probe.sample == "1 records in the last hour"


class TestConformance(HttpConformance):
    """Elasticsearch and OpenSearch keep what every backend keeps."""

    @pytest.fixture(autouse=True)
    def _cluster(self, cluster: str) -> None:
        self.cluster = cluster

    @override
    def source_at(self, url: str, *, timeout_seconds: float = 10.0) -> Elasticsearch:
        settings = ElasticsearchSettings(
            url=url, index="conform-1", timeout_seconds=timeout_seconds, token=SecretStr(TOKEN), max_bytes=LIMIT
        )
        return settings.open("es")

    @override
    def tool_over(self, source: Any) -> EvidenceTool:
        return tools_of({"es": source})[1]

    @override
    def arguments(self) -> dict[str, Any]:
        nulls = dict.fromkeys(("contains", "severity", "start", "end", "limit"))
        return {**nulls, "service": "shop"}

    async def told(self, *messages: str, service: str = "shop", also: Mapping[str, Any] | None = None) -> Evidence:
        """Tell the cluster some errors of the window and an older one; `also` is added to what its searches answer."""
        at = CONFORMANT.as_of - timedelta(minutes=5)
        lines = [Line(at - timedelta(days=1), service, "INFO", "old")]
        lines += [Line(at, service, "ERROR", message) for message in messages]
        fill(self.cluster, "conform-1", map(as_ecs, lines), ECS)
        if also is None:
            return await self.asked(self.cluster)
        with answering(lambda request: _altered(self.cluster, request, also)) as url:
            return await self.asked(url)

    @override
    async def found(self) -> Evidence:
        return await self.told("boom")

    @override
    async def empty(self) -> Evidence:
        return await self.told()

    @override
    async def unknown(self) -> Evidence:
        return await self.told("boom", service="shopping")

    @override
    async def partial(self) -> Evidence:
        return await self.told("boom", also={"timed_out": True})

    @pytest.mark.parametrize(
        ("also", "note"),
        [
            ({"timed_out": True}, "TIMED_OUT:es"),
            ({"_shards": {"total": 5, "successful": 4, "failed": 1}}, "SHARDS_FAILED:es"),
            ({"_clusters": {"total": 2, "successful": 1, "skipped": 1}}, "CLUSTERS_SKIPPED:es"),
        ],
    )
    async def test_what_is_missing_of_an_answer_is_noted_also_where_nothing_was_found(
        self, also: Mapping[str, Any], note: str
    ) -> None:
        for evidence in (await self.told("boom", also=also), await self.told(also=also)):
            assert evidence.truncated
            assert note in evidence.notes

    @pytest.mark.parametrize(
        ("status", "kind", "code"),
        [
            (404, "index_not_found_exception", SourceError.SOURCE_MISSING),
            (503, "too_many_buckets_exception", SourceError.ANSWER_TOO_LARGE),
            (400, "parsing_exception", SourceError.QUERY_REJECTED),
            (503, "search_phase_execution_exception", SourceError.BACKEND_UNAVAILABLE),
        ],
    )
    async def test_what_a_cluster_refuses_is_told_in_codes(self, status: int, kind: str, code: SourceError) -> None:
        error = {"error": {"type": "wrapped", "root_cause": [{"type": kind, "reason": "x"}]}, "status": status}
        with answering(lambda _: Response(error, status)) as url:
            assert await self.code_at(url) is code


async def test_a_cluster_that_refuses_parts_of_words_is_asked_for_whole_ones(cluster: str, told: str) -> None:
    def refusing(request: Request) -> Response:
        if b'"wildcard"' in request.body:
            reason = "[wildcard] queries cannot be executed when 'search.allow_expensive_queries' is set to false."
            return Response({"error": {"type": "exception", "reason": reason}, "status": 400}, 400)
        return _altered(cluster, request, {})

    with answering(refusing) as url:
        async with opensearch(url, told) as source:
            whole = await asked({"es": source}, "search_logs", contains="exhausted")
            part = await asked({"es": source}, "search_logs", contains="xhausted")
    assert "30 records" in whole.summary
    assert part.truncated
    assert "WHOLE_WORDS:es" in part.notes


def _altered(cluster: str, request: Request, also: Mapping[str, Any]) -> Response:
    """The cluster's answer, to a search with some fields replaced."""
    headers = {"Content-Type": "application/json"}
    answer = httpx.request(
        request.method, cluster + request.raw_path, content=request.body, headers=headers, timeout=60
    )
    parsed = answer.json()
    return Response({**parsed, **also} if request.path.endswith("/_search") else parsed, answer.status_code)
