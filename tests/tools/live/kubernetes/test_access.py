"""How a cluster is reached: kubeconfigs, addresses, tokens; nothing that runs a command or connects unverified."""

import asyncio
import ssl
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import trustme
import yaml
from pydantic import ValidationError

from tests.live.servers.kubernetes import ClusterStore, serving_kubernetes
from tests.support.clusters import Cluster
from tests.tools.live.conformance import Handler, ask, request_of, serving, whole
from tests.tools.live.kubernetes.states import store_of
from tools.base import SourceFailure
from tools.live.kubernetes.settings import KubernetesSettings
from tools.live.kubernetes.source import KubernetesSource
from tools.live.kubernetes.tools import tools_of
from tools.vocabulary import Evidence, EvidenceStatus, SourceError

PODS = {"resource_type": "pods", **dict.fromkeys(("namespace", "name", "label_selector", "show_labels", "output_wide"))}
Config = dict[str, Any]


def config(server: str, **user: Any) -> Config:
    """Return a kubeconfig with one context, whose namespace is `shop`."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "main",
        "contexts": [{"name": "main", "context": {"cluster": "c", "user": "u", "namespace": "shop"}}],
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "users": [{"name": "u", "user": user}],
    }


def written(path: Path, content: Config) -> Path:
    path.write_text(yaml.safe_dump(content))
    return path


async def pods(source: KubernetesSource) -> Evidence:
    """Ask for the pods of a source, which is closed afterwards."""
    try:
        return await ask(tools_of({"kubernetes": source})[0], PODS)
    finally:
        await source.close()


@contextmanager
def shop() -> Iterator[tuple[str, ClusterStore]]:
    store = store_of(Cluster(), token="kube-token")
    with serving_kubernetes(store) as url:
        yield url, store


async def test_a_kubeconfigs_current_context_says_server_credential_and_namespace(tmp_path: Path) -> None:
    with shop() as (url, _):
        path = written(tmp_path / "config", config(url, token="kube-token"))
        found = await pods(KubernetesSettings(kubeconfig=path).open("kubernetes"))
    assert found.status is EvidenceStatus.EVIDENCE
    assert found.content[0].startswith("list kind=pods namespace=shop ")


async def test_the_usual_kubeconfig_may_be_several_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with shop() as (url, _):
        whole_config = config(url, token="kube-token")
        users = {"users": whole_config.pop("users")}
        paths = [written(tmp_path / "one", whole_config), written(tmp_path / "two", users), tmp_path / "gone"]
        monkeypatch.setenv("KUBECONFIG", ":".join(map(str, paths)))
        found = await pods(KubernetesSettings().open("kubernetes"))
    assert found.status is EvidenceStatus.EVIDENCE


async def test_a_token_file_is_found_beside_the_kubeconfig_and_read_for_each_request(tmp_path: Path) -> None:
    with shop() as (url, store):
        path = written(tmp_path / "config", config(url, tokenFile="token"))
        (tmp_path / "token").write_text("kube-token\n")
        source = KubernetesSettings(kubeconfig=path).open("kubernetes")
        tool = tools_of({"kubernetes": source})[0]
        await ask(tool, PODS)
        store.token = "renewed"
        with pytest.raises(SourceFailure, match="ACCESS_DENIED"):
            await ask(tool, PODS)
        (tmp_path / "token").write_text("renewed")
        await ask(tool, PODS)
        await source.close()


async def test_a_token_that_cannot_be_read_is_denied_before_anything_is_sent(tmp_path: Path) -> None:
    with shop() as (url, store):
        settings = KubernetesSettings(url=url, token_file=tmp_path / "none", namespaces=("shop",))
        with pytest.raises(SourceFailure) as caught:
            await pods(settings.open("kubernetes"))
    assert caught.value.code is SourceError.ACCESS_DENIED
    assert store.requests == []


def with_exec(content: Config) -> None:
    content["users"][0]["user"]["exec"] = {"apiVersion": "client.authentication.k8s.io/v1", "command": "touch"}


def with_provider(content: Config) -> None:
    content["users"][0]["user"]["auth-provider"] = {"name": "gcp", "config": {"cmd-path": "touch"}}


def unverified(content: Config) -> None:
    content["clusters"][0]["cluster"]["insecure-skip-tls-verify"] = True


def plain(content: Config) -> None:
    content["clusters"][0]["cluster"]["server"] = "http://cluster.example:8080"


def without_cluster(content: Config) -> None:
    content["clusters"] = []


def without_context(content: Config) -> None:
    content["current-context"] = "other"


def without_namespace(content: Config) -> None:
    del content["contexts"][0]["context"]["namespace"]


@pytest.mark.parametrize(
    ("spoil", "line"),
    [
        (with_exec, "the kubeconfig's user runs a command (exec, auth-provider); set url and token-file instead"),
        (with_provider, "the kubeconfig's user runs a command (exec, auth-provider); set url and token-file instead"),
        (unverified, "the kubeconfig sets insecure-skip-tls-verify; give it a certificate-authority instead"),
        (plain, "expected an https address; plain http is taken on this machine only (kubectl proxy)"),
        (without_cluster, "the kubeconfig's context names no cluster that it has"),
        (without_context, "the kubeconfig has no such context"),
        (without_namespace, "namespaces is needed: the kubeconfig's context names none"),
    ],
)
def test_a_kubeconfig_that_is_not_safe_or_not_whole_is_refused_in_one_line(
    spoil: Callable[[Config], None], line: str, tmp_path: Path
) -> None:
    content = config("https://cluster.example:6443", token="kube-token")
    spoil(content)
    settings = KubernetesSettings(kubeconfig=written(tmp_path / "config", content))
    with pytest.raises(ValueError) as caught:  # noqa: PT011 -- the text is compared below
        settings.open("kubernetes")
    assert str(caught.value) == line


async def test_a_kubeconfig_that_is_changed_after_it_was_checked_runs_nothing(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    with shop() as (url, _):
        content = config(url, token="kube-token")
        path = written(tmp_path / "config", content)
        source = KubernetesSettings(kubeconfig=path).open("kubernetes")
        content["users"][0]["user"] = {"exec": {"command": "touch", "args": [str(ran)], "apiVersion": "v1"}}
        written(path, content)
        await pods(source)
    assert not ran.exists()


@pytest.mark.parametrize("text", ["- a\n", "a: [", "\x00"])
def test_a_kubeconfig_that_is_no_mapping_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "config").write_text(text)
    with pytest.raises(ValueError, match="no readable YAML mapping"):
        KubernetesSettings(kubeconfig=tmp_path / "config").open("kubernetes")


def test_without_any_kubeconfig_the_line_says_what_to_set(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="there is no kubeconfig; set kubeconfig, in-cluster, or url"):
        KubernetesSettings(kubeconfig=tmp_path / "none").open("kubernetes")


def test_in_cluster_outside_of_one_is_refused() -> None:
    with pytest.raises(ValueError, match="runs in no pod with a service account"):
        KubernetesSettings(in_cluster=True).open("kubernetes")


@pytest.mark.parametrize(
    ("given", "line"),
    [
        (
            {"url": "https://c.example", "in_cluster": True, "namespaces": "shop"},
            "one of url, in-cluster and kubeconfig",
        ),
        ({"url": "https://c.example"}, "namespaces is needed with a url"),
        ({"url": "http://c.example", "namespaces": "shop"}, "expected an https address"),
        ({"url": "https://u:p@c.example", "namespaces": "shop"}, "without credentials"),
        ({"url": "https://c.example", "namespaces": "shop,*"}, "patterns aren't taken"),
        ({"url": "https://c.example", "namespaces": "shop/../x"}, "expected names of namespaces"),
        ({"token": "t", "namespaces": "shop"}, "needs a url"),
        (
            {"url": "https://c.example", "namespaces": "shop", "token": "t", "token_file": "/t"},
            "one of token and token",
        ),
        ({"url": "https://c.example", "namespaces": "shop", "verify": "false"}, "Extra inputs are not permitted"),
    ],
)
def test_settings_that_leave_a_doubt_are_refused(given: Config, line: str) -> None:
    with pytest.raises(ValidationError, match=line):
        KubernetesSettings.model_validate(given)


def test_namespaces_come_as_one_text_from_the_environment() -> None:
    settings = KubernetesSettings.model_validate({"url": "https://c.example", "namespaces": "shop, pay,shop"})
    assert settings.namespaces == ("shop", "pay")


def _context(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    return context


EMPTY = b'{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{},"columnDefinitions":[],"rows":[]}'


@pytest.mark.parametrize("trusted", [True, False])
async def test_the_servers_certificate_is_verified_against_the_clusters_authority(
    trusted: bool, tmp_path: Path
) -> None:
    authority, other = trustme.CA(), trustme.CA()
    (authority if trusted else other).cert_pem.write_to_path(tmp_path / "ca.pem")
    async with serving(whole(EMPTY), _context(authority)) as url:
        content = config(url, token="kube-token")
        content["clusters"][0]["cluster"]["certificate-authority"] = "ca.pem"
        sources = [
            KubernetesSettings(kubeconfig=written(tmp_path / "config", content)).open("kubernetes"),
            KubernetesSettings(url=url, ca_file=tmp_path / "ca.pem", namespaces=("shop",)).open("kubernetes"),
        ]
        for source in sources:
            if trusted:
                assert (await pods(source)).status is EvidenceStatus.NO_EVIDENCE
            else:
                with pytest.raises(SourceFailure, match="BACKEND_UNAVAILABLE"):
                    await pods(source)


async def test_in_a_cluster_the_pods_own_account_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    authority, seen = trustme.CA(), list[bytes]()
    authority.cert_pem.write_to_path(tmp_path / "ca.crt")
    (tmp_path / "token").write_text("pod-token")
    (tmp_path / "namespace").write_text("shop")
    mounted = "kubernetes.aio.config.incluster_config.SERVICE_{}_FILENAME"
    monkeypatch.setattr(mounted.format("TOKEN"), str(tmp_path / "token"))
    monkeypatch.setattr(mounted.format("CERT"), str(tmp_path / "ca.crt"))
    monkeypatch.setattr("tools.live.kubernetes.access._OWN_NAMESPACE", tmp_path / "namespace")
    async with serving(_seeing(seen), _context(authority)) as url:
        address = urlsplit(url)
        monkeypatch.setenv("KUBERNETES_SERVICE_HOST", str(address.hostname))
        monkeypatch.setenv("KUBERNETES_SERVICE_PORT", str(address.port))
        assert (await pods(KubernetesSettings(in_cluster=True).open("kubernetes"))).status is EvidenceStatus.NO_EVIDENCE
    assert seen[0].startswith(b"GET /api/v1/namespaces/shop/pods?")
    assert b"authorization: bearer pod-token\r\n" in seen[0].lower()


def _seeing(seen: list[bytes]) -> Handler:
    """Return a server that notes each request and lists nothing."""

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            seen.append(await request_of(reader))
            head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(EMPTY)}\r\n\r\n"
            writer.write(head.encode() + EMPTY)
            await writer.drain()

    return handler


@pytest.mark.parametrize("known", [True, False])
async def test_a_client_certificate_of_the_kubeconfig_lets_us_in(known: bool, tmp_path: Path) -> None:
    authority, other = trustme.CA(), trustme.CA()
    context = _context(authority)
    context.verify_mode = ssl.CERT_REQUIRED
    authority.configure_trust(context)
    mine = (authority if known else other).issue_cert("oncall@shop.example")
    user = {
        "client-certificate-data": _encoded(mine.cert_chain_pems[0].bytes()),
        "client-key-data": _encoded(mine.private_key_pem.bytes()),
    }
    async with serving(whole(EMPTY), context) as url:
        content = config(url, **user)
        content["clusters"][0]["cluster"]["certificate-authority-data"] = _encoded(authority.cert_pem.bytes())
        source = KubernetesSettings(kubeconfig=written(tmp_path / "config", content)).open("kubernetes")
        if known:
            assert (await pods(source)).status is EvidenceStatus.NO_EVIDENCE
        else:
            with pytest.raises(SourceFailure, match="BACKEND_UNAVAILABLE"):
                await pods(source)


def _encoded(content: bytes) -> str:
    return b64encode(content).decode()


async def test_a_certificate_of_nobody_is_not_trusted() -> None:
    async with serving(whole(EMPTY), _context(trustme.CA())) as url:
        with pytest.raises(SourceFailure, match="BACKEND_UNAVAILABLE"):
            await pods(KubernetesSettings(url=url, namespaces=("shop",)).open("kubernetes"))
