"""The transport alone keeps every rule for HTTP backends; shown on a bare source that speaks nothing special."""

import ssl
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal

import httpx
import pytest
import trustme
from pydantic import Field, ValidationError
from typing_extensions import override

from tests.tools.live.conformance import LIMIT, TOKEN, HttpConformance, serving, whole
from tools.base import Arguments, EvidenceTool, IncidentContext, SourceFailure
from tools.live.source import HttpAccess, HttpSource, Probe, Source
from tools.live.transport import Transport
from tools.vocabulary import Evidence, EvidenceKind, EvidenceStatus, Provenance, Scope, SourceError


class PlainSettings(HttpSource):
    kind: ClassVar[EvidenceKind] = EvidenceKind.METRICS
    type: Literal["plain"] = "plain"

    @override
    def open(self, name: str) -> "PlainSource":
        return PlainSource(name, self)


class PlainSource(Source):
    """Answers `{"names": […], "rows": […], "partial": bool}` at /ask."""

    def __init__(self, name: str, settings: PlainSettings, wire: httpx.AsyncBaseTransport | None = None) -> None:
        self.name = name
        self.transport = Transport(settings.access(), wire=wire)

    @override
    async def probe(self) -> Probe:
        answer = await self.transport.answer("GET", "/ask")
        return Probe(answer.date, f"{len(answer.json()['rows'])} rows")

    @override
    async def close(self) -> None:
        await self.transport.close()


class AskArguments(Arguments):
    name: str = Field(description="name")


class PlainTool(EvidenceTool):
    name = "plain"
    description = "plain"
    kind = EvidenceKind.METRICS
    arguments = AskArguments

    def __init__(self, source: PlainSource) -> None:
        self._source = source

    def normalize(self, arguments: AskArguments, incident: IncidentContext) -> Scope:
        return {"name": arguments.name}

    async def collect(self, scope: Scope, arguments: Any, incident: IncidentContext) -> Evidence:
        found = await self._source.transport.json("GET", "/ask")
        if scope["name"] not in found["names"]:
            raise SourceFailure(SourceError.UNKNOWN_SELECTOR, near_names=tuple(found["names"]))
        rows = tuple(found["rows"])
        return Evidence(
            status=EvidenceStatus.EVIDENCE if rows else EvidenceStatus.NO_EVIDENCE,
            provenance=Provenance.MEASURED,
            content=rows,
            summary=f"{len(rows)} rows",
            truncated=found["partial"],
        )


class TestPlain(HttpConformance):
    @override
    def source_at(self, url: str, *, timeout_seconds: float = 10.0) -> PlainSource:
        settings = {"url": url, "token": TOKEN, "max_bytes": LIMIT, "timeout_seconds": timeout_seconds}
        return PlainSettings.model_validate(settings).open("plain")

    @override
    def tool_over(self, source: PlainSource) -> PlainTool:
        return PlainTool(source)

    @override
    def arguments(self) -> dict[str, Any]:
        return {"name": "checkout"}

    @override
    async def found(self) -> Evidence:
        return await self._answered({"names": ["checkout"], "rows": ["row a=1"], "partial": False})

    @override
    async def empty(self) -> Evidence:
        return await self._answered({"names": ["checkout"], "rows": [], "partial": False})

    @override
    async def unknown(self) -> Evidence:
        return await self._answered({"names": ["check-out"], "rows": [], "partial": False})

    @override
    async def partial(self) -> Evidence:
        return await self._answered({"names": ["checkout"], "rows": ["row a=1"], "partial": True})

    async def _answered(self, body: Mapping[str, Any]) -> Evidence:
        wire = httpx.MockTransport(lambda request: httpx.Response(200, json=body))
        source = PlainSource("plain", PlainSettings(url="http://plain.example", token=TOKEN), wire)
        return await PlainTool(source).collect({"name": "checkout"}, None, self.incident)


def _seen(**settings: Any) -> tuple[Transport, list[httpx.Request]]:
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(200, json=[])

    access = PlainSettings.model_validate({"url": "https://plain.example/base/", **settings}).access()
    return Transport(access, wire=httpx.MockTransport(answer)), seen


async def test_credentials_travel_in_headers_only(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n")
    for settings, expected in (
        ({"token": TOKEN}, f"Bearer {TOKEN}"),
        ({"token_file": file}, f"Bearer {TOKEN}"),
        ({"username": "reader", "password": "pw"}, "Basic cmVhZGVyOnB3"),
    ):
        transport, seen = _seen(**settings, tenant="team-a")
        await transport.json("GET", "/ask", params={"q": "up"})
        assert seen[0].headers["authorization"] == expected
        assert seen[0].headers["x-scope-orgid"] == "team-a"
        assert str(seen[0].url) == "https://plain.example/base/ask?q=up"


async def test_a_renewed_token_file_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("first")
    transport, seen = _seen(token_file=file)
    await transport.json("GET", "/ask")
    file.write_text("second")
    await transport.json("GET", "/ask")
    assert [request.headers["authorization"] for request in seen] == ["Bearer first", "Bearer second"]


async def test_a_credential_that_cannot_be_read_is_denied_before_anything_is_sent(tmp_path: Path) -> None:
    transport, seen = _seen(token_file=tmp_path / "missing")
    with pytest.raises(SourceFailure) as caught:
        await transport.json("GET", "/ask")
    assert caught.value.code is SourceError.ACCESS_DENIED
    assert seen == []


@pytest.mark.parametrize(
    "settings",
    [
        {"url": "https://reader:pw@plain.example"},
        {"url": "https://plain.example?token=x"},
        {"url": "plain.example"},
        {"url": "ftp://plain.example"},
        {"url": "http://plain.example", "token": "a", "username": "b"},
        {"url": "http://plain.example", "password": "b"},
        {"url": "http://plain.example", "no_such_field": "b"},
    ],
)
def test_settings_that_cannot_be_meant_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ValidationError) as caught:
        PlainSettings.model_validate(settings)
    assert "pw" not in caught.value.errors(include_input=False, include_url=False)[0]["msg"]


async def test_a_redirect_on_the_same_origin_is_followed() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/ask":
            return httpx.Response(302, headers={"Location": "/moved"})
        return httpx.Response(200, json=[request.url.path, request.headers["authorization"]])

    access = PlainSettings(url="http://plain.example", token=TOKEN).access()
    transport = Transport(access, wire=httpx.MockTransport(answer))
    assert await transport.json("GET", "/ask") == ["/moved", f"Bearer {TOKEN}"]


async def test_redirects_without_end_are_given_up() -> None:
    wire = httpx.MockTransport(lambda request: httpx.Response(302, headers={"Location": "/again"}))
    with pytest.raises(SourceFailure) as caught:
        await Transport(HttpAccess("http://plain.example"), wire=wire).json("GET", "/ask")
    assert caught.value.code is SourceError.BACKEND_UNAVAILABLE


class _Chunks(httpx.AsyncByteStream):
    def __init__(self, body: bytes) -> None:
        self._body = body
        self.sent = 0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for at in range(0, len(self._body), 1000):
            self.sent += 1000
            yield self._body[at : at + 1000]


async def test_an_answer_beyond_the_bound_is_cut_as_it_streams() -> None:
    stream = _Chunks(b"x" * 10 * LIMIT)
    wire = httpx.MockTransport(lambda request: httpx.Response(200, stream=stream))
    with pytest.raises(SourceFailure) as caught:
        await Transport(HttpAccess("http://plain.example", max_bytes=LIMIT), wire=wire).answer("GET", "/tail")
    assert caught.value.code is SourceError.ANSWER_TOO_LARGE
    assert stream.sent <= LIMIT + 2000


@pytest.fixture
def authority() -> trustme.CA:
    return trustme.CA()


def _context(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    return context


async def test_a_certificate_that_nobody_vouches_for_is_not_trusted(authority: trustme.CA) -> None:
    async with serving(whole(b"[]"), _context(authority)) as url:
        transport = Transport(HttpAccess(url))
        with pytest.raises(SourceFailure) as caught:
            await transport.json("GET", "/ask")
        await transport.close()
    assert caught.value.code is SourceError.BACKEND_UNAVAILABLE


async def test_a_certificate_of_the_configured_authority_is_trusted(authority: trustme.CA, tmp_path: Path) -> None:
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    async with serving(whole(b"[]"), _context(authority)) as url:
        transport = Transport(HttpAccess(url, ca_file=tmp_path / "ca.pem"))
        assert await transport.json("GET", "/ask") == []
        await transport.close()
