"""Releases that no commit made: Argo CD's syncs, Kubernetes' rollouts, configurations of Nacos and Apollo."""

import pytest

from tests.live.pasted import run
from tests.live.servers.apollo import ApolloStore, start_apollo
from tests.live.servers.argocd import ArgoCdStore, start_argocd
from tests.live.servers.nacos import ACCESS, NacosStore, start_nacos
from tests.tools.live.changes.asking import get_change, heads, list_changes, opened
from tests.tools.live.changes.conftest import Repository
from tests.tools.live.changes.kubernetes_server import KubernetesStore, start_kubernetes
from tools.base import SourceFailure
from tools.live.changes.settings import (
    ApolloSettings,
    ArgoCdSettings,
    GitSettings,
    NacosSettings,
    RolloutsSettings,
)
from tools.vocabulary import EvidenceStatus, SourceError

TOKEN = "t0ken"
A, B = "a1" * 20, "b2" * 20


def argocd(url: str, **settings: object) -> ArgoCdSettings:
    return ArgoCdSettings.model_validate({"url": url, "token": TOKEN} | settings)


async def test_a_sync_of_a_revision_is_a_deploy_of_its_commit(repository: Repository) -> None:
    old = repository.commit("05:00:00", "begin", stock__pool_dot_yaml="max: 50\n")
    new = repository.commit("06:00:00", "smaller pool", stock__pool_dot_yaml="max: 10\n")
    store = ArgoCdStore(TOKEN)
    history = [{"revision": old, "deployedAt": "2026-03-03T08:00:00Z"},
               {"revision": new, "deployedAt": "2026-03-04T10:00:00Z"}]  # fmt: skip
    store.add("stock", *history, images=("registry.example:5000/team/stock:v2", "envoy@sha256:1"))
    with start_argocd(store) as url:
        sources = opened(argocd=argocd(url), git=GitSettings(path=repository.path))
        evidence = await list_changes(sources)
        assert evidence.content == (
            f"change kind=DEPLOY id={new} service=stock at=2026-03-04T10:00:00Z version=v2,sha256:1 "
            "files=stock/pool.yaml | smaller pool",
            "  @ stock/pool.yaml",
            "  - max: 50",
            "  + max: 10",
        )
        assert [line.split()[1] for line in heads(await get_change(sources, new))] == ["kind=DEPLOY", "kind=COMMIT"]


async def test_a_sync_of_other_parameters_carries_what_of_its_source_changed() -> None:
    def source(replicas: str) -> dict[str, object]:
        helm = {
            "parameters": [{"name": "replicas", "value": replicas}, {"name": "db.password", "value": f"s{replicas}"}]
        }
        return {"repoURL": "https://charts.example", "chart": "stock", "targetRevision": "1.4.0", "helm": helm}

    store = ArgoCdStore(TOKEN)
    history = [{"revision": "1.4.0", "deployedAt": f"2026-03-04T0{hour}:00:00Z", "source": source(replicas)}
               for hour, replicas in ((8, "6"), (9, "2"))]  # fmt: skip
    store.add("stock-prod", *history)
    with start_argocd(store) as url:
        sources = opened(argocd=argocd(url, services='{"stock-*": "stock"}'))
        evidence = await list_changes(sources)
        assert evidence.content == (
            "change kind=DEPLOY id=argocd:1:stock-prod service=stock at=2026-03-04T09:00:00Z version=1.4.0 "
            "files=application/stock-prod.yaml | Argo CD synced stock-prod to 1.4.0",
            "  @ application/stock-prod.yaml",
            "  - helm.parameters.db.password: [MASKED:PASSWORD]",
            "  + helm.parameters.db.password: [MASKED:PASSWORD]",
            "  - helm.parameters.replicas: 6",
            "  + helm.parameters.replicas: 2",
        )
        assert heads(await get_change(sources, "ARGOCD:1:stock-prod")) == heads(evidence)


async def test_each_source_of_an_application_that_moved_is_a_deploy() -> None:
    store = ArgoCdStore(TOKEN)
    store.add("stock", {"revisions": [A, B], "deployedAt": "2026-03-04T08:00:00Z"},
              {"revisions": [A, "c3" * 20], "deployedAt": "2026-03-04T10:00:00Z"})  # fmt: skip
    with start_argocd(store) as url:
        evidence = await list_changes(opened(argocd=argocd(url)))
    assert [line.split()[2] for line in heads(evidence)] == [f"id={'c3' * 20}"]


async def test_a_server_without_applications_is_an_absence_and_knows_no_service() -> None:
    with start_argocd(ArgoCdStore(TOKEN)) as url:
        assert (await list_changes(opened(argocd=argocd(url)))).status is EvidenceStatus.NO_EVIDENCE
        with pytest.raises(SourceFailure) as failure:
            await list_changes(opened(argocd=argocd(url)), service="stock")
        assert failure.value.code is SourceError.UNKNOWN_SELECTOR


def rollouts(url: str, **settings: object) -> RolloutsSettings:
    return RolloutsSettings.model_validate({"url": url, "token": TOKEN, "namespaces": "prod"} | settings)


def container(image: str, memory: str, **env: str) -> dict[str, object]:
    variables = [{"name": name, "value": value} for name, value in env.items()]
    return {"image": image, "env": variables, "resources": {"limits": {"memory": memory}}}


async def test_a_rollout_tells_what_of_the_template_changed() -> None:
    store = KubernetesStore(TOKEN)
    store.deployment("stock")
    store.revision("stock", 1, "2026-03-03T08:00:00Z", container("stock:v1", "512Mi", MAX_POOL="50", DB_PASSWORD="x1y"))
    store.revision("stock", 2, "2026-03-04T10:00:00Z", container("stock:v2", "256Mi", MAX_POOL="10", DB_PASSWORD="z2w"))
    with start_kubernetes(store) as url:
        sources = opened(kube=rollouts(url))
        evidence = await list_changes(sources)
        whole = await get_change(sources, evidence.changes[0].change_id)
    assert evidence.content == whole.content
    assert evidence.content == (
        "change kind=DEPLOY id=kube:2:prod/stock-2222222222 service=stock at=2026-03-04T10:00:00Z version=v2 "
        "files=prod/deployment/stock.yaml | rollout of stock, revision 2",
        "  @ prod/deployment/stock.yaml",
        "  - spec.containers.stock.env.DB_PASSWORD: [MASKED:PASSWORD]",
        "  + spec.containers.stock.env.DB_PASSWORD: [MASKED:PASSWORD]",
        "  - spec.containers.stock.env.MAX_POOL: 50",
        "  + spec.containers.stock.env.MAX_POOL: 10",
        "  - spec.containers.stock.image: stock:v1",
        "  + spec.containers.stock.image: stock:v2",
        "  - spec.containers.stock.resources.limits.memory: 512Mi",
        "  + spec.containers.stock.resources.limits.memory: 256Mi",
    )


async def test_a_rollback_happened_when_the_deployment_made_progress() -> None:
    store = KubernetesStore(TOKEN)
    store.deployment("stock", progressed="2026-03-04T11:30:00Z")
    store.revision("stock", 3, "2026-03-02T08:00:00Z", {"image": "stock:v1"})
    store.revision("stock", 2, "2026-03-04T10:00:00Z", {"image": "stock:v2"})
    store.revision("other", 9, "2026-03-04T10:00:00Z", {"image": "other:v2"})
    with start_kubernetes(store) as url:
        evidence = await list_changes(opened(kube=rollouts(url)))
    assert [line.split()[2:5] for line in heads(evidence)] == [
        ["id=kube:3:prod/stock-3333333333", "service=stock", "at=2026-03-04T11:30:00Z"],
        ["id=kube:2:prod/stock-2222222222", "service=stock", "at=2026-03-04T10:00:00Z"],
    ]
    assert evidence.content[2:4] == (
        "  - spec.containers.stock.image: stock:v2",
        "  + spec.containers.stock.image: stock:v1",
    )


async def test_the_lists_pages_are_followed() -> None:
    store = KubernetesStore(TOKEN, page=2)
    for name in ("a", "b", "c", "d", "e"):
        store.deployment(name)
        store.revision(name, 1, "2026-03-04T10:00:00Z", {"image": "x:v1"})
    with start_kubernetes(store) as url:
        evidence = await list_changes(opened(kube=rollouts(url)))
    assert (len(heads(evidence)), evidence.truncated) == (5, False)


def nacos(url: str, **settings: object) -> NacosSettings:
    return NacosSettings.model_validate({"url": url, "username": "nacos", "password": TOKEN} | settings)


OLD_YAML = (
    "pool:\n  max: 50\n  password: hunter2\n-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----\n"
)
NEW_YAML = (
    "pool:\n  max: 10\n  password: hunter3\n-----BEGIN RSA PRIVATE KEY-----\nBBBB\n-----END RSA PRIVATE KEY-----\n"
)


@pytest.mark.parametrize("api", ["v1", "v2", "v3"])
async def test_a_publication_tells_the_lines_that_it_changed(api: str) -> None:
    store = NacosStore(TOKEN)
    store.publish("2026-03-01T10:00:00", "stock-prod.yaml", OLD_YAML)
    number = store.publish("2026-03-04T10:00:00", "stock-prod.yaml", NEW_YAML)
    store.publish("2026-03-04T13:00:00", "stock-prod.yaml", "other: 1\n")
    with start_nacos(store) as url:
        sources = opened(nacos=nacos(url, api=api))
        evidence = await list_changes(sources, service="stock")
        whole = await get_change(sources, f"nacos:{number}:DEFAULT_GROUP/stock-prod.yaml")
    assert evidence.content == whole.content
    assert evidence.content == (
        f"change kind=DEPLOY id=nacos:{number}:DEFAULT_GROUP/stock-prod.yaml service=stock at=2026-03-04T10:00:00Z "
        "version=- files=DEFAULT_GROUP/stock-prod.yaml | configuration DEFAULT_GROUP/stock-prod.yaml published",
        "  @ DEFAULT_GROUP/stock-prod.yaml",
        "  - max: 50",
        "  - password: [MASKED:PASSWORD]",
        "  + max: 10",
        "  + password: [MASKED:PASSWORD]",
        "  - [MASKED:PRIVATE_KEY]",
        "  + [MASKED:PRIVATE_KEY]",
    )
    assert store.logins == 1


@pytest.mark.parametrize("api", ["v1", "v2", "v3"])
@pytest.mark.parametrize("configs", ["", "DEFAULT_GROUP/stock-prod.yaml"])
def test_what_is_pasted_lists_configurations_or_their_history(api: str, configs: str) -> None:
    store = NacosStore(TOKEN)
    store.publish("2026-03-01T10:00:00", "stock-prod.yaml", OLD_YAML)
    with start_nacos(store) as url:
        source = opened(nacos=nacos(url, api=api, **({"configs": configs} if configs else {})))["nacos"]
        told = run(source.paste({}), NACOS_URL=url, NACOS_TOKEN=ACCESS)
    assert "stock-prod.yaml" in told


async def test_the_newest_publication_is_compared_with_what_is_published_now() -> None:
    store = NacosStore(TOKEN)
    store.publish("2026-03-01T10:00:00", "stock.properties", "max=50\n", app="reserve")
    store.publish("2026-03-04T10:00:00", "stock.properties", "max=10\n", app="reserve")
    store.publish("2026-03-04T10:30:00", "new.yaml", "a: 1\n", group="G2")
    with start_nacos(store) as url:
        evidence = await list_changes(opened(nacos=nacos(url)))
    assert [line.split()[3] for line in heads(evidence)] == ["service=new", "service=reserve"]
    assert evidence.content[2:3] == ("  + a: 1",)
    assert evidence.content[-2:] == ("  - max=50", "  + max=10")


async def test_a_deletion_is_told_of_a_configuration_that_the_settings_name() -> None:
    store = NacosStore(TOKEN)
    store.publish("2026-03-01T10:00:00", "stock.yaml", "max: 50\n")
    store.publish("2026-03-04T10:00:00", "stock.yaml", None)
    with start_nacos(store) as url:
        evidence = await list_changes(opened(nacos=nacos(url, configs="stock.yaml", service="stock")))
    assert "deleted" in evidence.content[0]
    assert evidence.content[-1] == "  - max: 50"


async def test_a_wrong_password_is_denied_and_an_unknown_publication_a_typo() -> None:
    store = NacosStore(TOKEN)
    store.publish("2026-03-01T10:00:00", "stock.yaml", "max: 50\n")
    with start_nacos(store) as url:
        cases = (("wrong", SourceError.ACCESS_DENIED), (TOKEN, SourceError.UNKNOWN_SELECTOR))
        for password, code in cases:
            with pytest.raises(SourceFailure) as failure:
                await get_change(opened(nacos=nacos(url, password=password)), "nacos:7:DEFAULT_GROUP/stock.yaml")
            assert failure.value.code is code
        assert failure.value.near_names == ("nacos:1001:DEFAULT_GROUP/stock.yaml",)


def test_what_is_pasted_shows_the_newest_release() -> None:
    store = ApolloStore(TOKEN)
    store.release("2026-03-01T10:00:00", "stock", {"pool.max": "50"})
    with start_apollo(store) as url:
        source = opened(apollo=apollo(url))["apollo"]
        told = run(source.paste({}).splitlines()[0], APOLLO_URL=url, APOLLO_TOKEN=TOKEN)
    assert "pool.max" in told


def apollo(url: str, **settings: object) -> ApolloSettings:
    return ApolloSettings.model_validate({"url": url, "token": TOKEN, "apps": "stock"} | settings)


async def test_a_configuration_release_tells_the_items_that_it_changed() -> None:
    store = ApolloStore(TOKEN)
    store.release("2026-03-01T10:00:00.000+0800", "stock", {"max": "50", "api.token": "abc", "gone": "1"})
    items = {"max": "10", "api.token": "def", "timeout.ms": "200"}
    number = store.release("2026-03-04T18:00:00.000+0800", "stock", items, comment="tune")
    store.release("2026-03-04T18:10:00.000+0800", "stock", {"content": "a: 1\nb: 2"}, namespace="more.yaml")
    with start_apollo(store) as url:
        sources = opened(apollo=apollo(url))
        evidence = await list_changes(sources, start="09:00", end="10:05")
        assert heads(await get_change(sources, f"apollo:{number}:stock/application")) == heads(evidence)
    assert evidence.content == (
        f"change kind=DEPLOY id=apollo:{number}:stock/application service=stock at=2026-03-04T10:00:00Z "
        f"version=release-{number} files=stock/application.properties "
        "| configuration release of stock/application: tune",
        "  @ stock/application.properties",
        "  - api.token: [MASKED:TOKEN]",
        "  + api.token: [MASKED:TOKEN]",
        "  - gone: 1",
        "  - max: 50",
        "  + max: 10",
        "  + timeout.ms: 200",
    )


async def test_a_whole_file_in_one_item_is_compared_line_by_line() -> None:
    store = ApolloStore(TOKEN)
    store.release("2026-03-01T10:00:00.000+0800", "stock", {"content": "a: 1\nb: 2\nc: 3"}, namespace="x.yaml")
    store.release("2026-03-04T18:00:00.000+0800", "stock", {"content": "a: 1\nb: 5\nc: 3"}, namespace="x.yaml")
    with start_apollo(store) as url:
        evidence = await list_changes(opened(apollo=apollo(url, namespaces="x.yaml")))
    assert evidence.content[1:] == ("  @ stock/x.yaml", "  - b: 2", "  + b: 5")


async def test_an_older_portal_vouches_only_for_what_came_after_its_latest_release() -> None:
    store = ApolloStore(TOKEN, older=True)
    store.release("2026-03-04T18:00:00.000+0800", "stock", {"max": "10"})
    with start_apollo(store) as url:
        sources = opened(apollo=apollo(url))
        told = await list_changes(sources)
        later = await list_changes(sources, service="stock", start="11:00", end="12:00")
        earlier = await list_changes(sources, service="stock", start="08:00", end="09:00")
    assert (len(heads(told)), told.truncated, told.notes) == (1, True, ("RELEASES_LATEST_ONLY",))
    assert (later.status, later.truncated) == (EvidenceStatus.NO_EVIDENCE, False)
    assert (earlier.status, earlier.truncated) == (EvidenceStatus.NO_EVIDENCE, True)
