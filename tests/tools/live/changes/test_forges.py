"""GitHub and GitLab: what went live and when, what it carried, and how far the history is read."""

import pytest

from tests.live.servers.github import GitHubRepository, GitHubStore, start_github
from tests.live.servers.gitlab import GitLabProject, GitLabStore, start_gitlab
from tests.tools.live.changes.asking import get_change, heads, list_changes, opened
from tests.tools.live.changes.conftest import Repository
from tools.base import SourceFailure
from tools.live.changes.settings import GitHubSettings, GitLabSettings, GitSettings
from tools.vocabulary import EvidenceStatus, SourceError

TOKEN = "t0ken"
NEW, POOL, OLD = "c3" * 20, "b2" * 20, "a1" * 20
PATCH = "@@ -1,2 +1,2 @@ pool:\n size\n-max: 50\n+max: 10"


def repository() -> GitHubRepository:
    return GitHubRepository(
        commits=[
            (NEW, "2026-03-04T08:30:00Z", "docs", {"README.md": "@@ -1 +1 @@\n-a\n+b", "logo.png": None}),
            (POOL, "2026-03-04T08:20:00Z", "perf: smaller pool", {"stock/pool.yaml": PATCH}),
            (OLD, "2026-03-03T08:00:00Z", "begin", {"stock/pool.yaml": "@@ -0,0 +1 @@\n+max: 50"}),
        ]
    )


def github(url: str, **settings: object) -> GitHubSettings:
    return GitHubSettings.model_validate({"url": url, "token": TOKEN, "projects": "team/stock"} | settings)


async def test_a_github_deployment_went_live_with_its_first_success() -> None:
    one = repository()
    one.deploy(1, OLD, "2026-03-03T09:00:00Z", {"success": "2026-03-03T09:05:00Z"})
    statuses = {"queued": "2026-03-04T08:50:01Z", "in_progress": "2026-03-04T08:50:09Z",
                "success": "2026-03-04T09:01:00Z", "inactive": "2026-03-04T11:00:00Z"}  # fmt: skip
    one.deploy(2, NEW, "2026-03-04T08:50:00Z", statuses, ref="v2")
    one.deploy(
        3, POOL, "2026-03-04T10:00:00Z", {"in_progress": "2026-03-04T10:00:05Z", "failure": "2026-03-04T10:03:00Z"}
    )
    one.deploy(4, POOL, "2026-03-04T10:10:00Z", {"queued": "2026-03-04T10:10:05Z"})
    with start_github(GitHubStore(TOKEN, {"team/stock": one})) as url:
        evidence = await list_changes(opened(github=github(url)), change_kind="DEPLOY")
    assert evidence.content == (
        f"change kind=DEPLOY id={POOL} service=stock at=2026-03-04T09:01:00Z version=v2@production "
        "files=stock/pool.yaml | perf: smaller pool",
        "  @ stock/pool.yaml",
        "  - max: 50",
        "  + max: 10",
        f"change kind=DEPLOY id={NEW} service=stock at=2026-03-04T09:01:00Z version=v2@production "
        "files=README.md,logo.png | docs",
        "  @ README.md",
        "  - a",
        "  + b",
    )
    assert not evidence.truncated


async def test_an_environment_and_a_payload_say_what_a_github_deployment_is_of() -> None:
    one = repository()
    one.deploy(1, NEW, "2026-03-04T10:00:00Z", {"success": "2026-03-04T10:05:00Z"}, environment="staging")
    one.deploy(2, POOL, "2026-03-04T10:10:00Z", {"success": "2026-03-04T10:15:00Z"}, payload={"service": "reserve"})
    with start_github(GitHubStore(TOKEN, {"team/stock": one})) as url:
        source = opened(github=github(url, environment="production"))
        evidence = await list_changes(source, change_kind="DEPLOY")
        assert [line.split()[2:6] for line in heads(evidence)] == [
            [f"id={POOL}", "service=reserve", "at=2026-03-04T10:15:00Z", "version=main"]
        ]


async def test_a_spent_rate_limit_is_no_lack_of_rights() -> None:
    with start_github(GitHubStore(TOKEN, {"team/stock": repository()}, limited=True)) as url:
        with pytest.raises(SourceFailure) as failure:
            await list_changes(opened(github=github(url)))
        assert failure.value.code is SourceError.BACKEND_UNAVAILABLE


async def test_a_repository_that_is_not_there_is_no_absence() -> None:
    with start_github(GitHubStore(TOKEN)) as url:
        with pytest.raises(SourceFailure) as failure:
            await list_changes(opened(github=github(url)))
        assert failure.value.code is SourceError.QUERY_REJECTED


async def test_the_history_is_read_only_as_far_as_the_window_reaches() -> None:
    one = repository()
    for number in range(1_000):
        one.deploy(number, OLD, f"2025-{number % 12 + 1:02}-01T00:00:00Z", {"success": "2025-01-01T00:00:00Z"})
    one.deployments.sort(key=lambda row: str(row["created_at"]), reverse=True)
    store = GitHubStore(TOKEN, {"team/stock": one})
    with start_github(store) as url:
        evidence = await list_changes(opened(github=github(url)), service="stock")
    assert evidence.status is EvidenceStatus.NO_EVIDENCE
    assert not evidence.truncated
    assert len(store.asked) < 8


async def test_what_is_beyond_the_pages_is_a_truncation() -> None:
    one = repository()
    for number in range(400):
        one.deploy(number, OLD, "2026-03-04T10:00:00Z", {"success": "2026-03-04T10:01:00Z"})
    with start_github(GitHubStore(TOKEN, {"team/stock": one})) as url:
        assert (await list_changes(opened(github=github(url)))).truncated


async def test_a_github_commit_is_told_whole_with_when_it_went_live() -> None:
    one = repository()
    one.commits[1][3]["stock/pool.yaml"] = "@@ -0,0 +1,600 @@\n" + "\n".join(f"+line {n}" for n in range(600))
    one.deploy(1, POOL, "2026-03-01T09:00:00Z", {"success": "2026-03-01T09:05:00Z"})
    with start_github(GitHubStore(TOKEN, {"team/stock": one})) as url:
        source = opened(github=github(url))
        evidence = await get_change(source, POOL[:10])
        assert [line.split()[1] for line in heads(evidence)] == ["kind=DEPLOY", "kind=COMMIT"]
        assert sum(line.startswith("  + ") for line in evidence.content) == 399
        with pytest.raises(SourceFailure) as failure:
            await get_change(source, "f" * 40)
        assert failure.value.code is SourceError.UNKNOWN_SELECTOR


async def test_a_deployment_on_github_is_joined_with_the_clones_commit(repository: Repository) -> None:
    first = repository.commit("05:00:00", "begin", stock__pool_dot_yaml="max: 50\n")
    pool = repository.commit("06:00:00", "smaller pool", stock__pool_dot_yaml="max: 10\n")
    last = repository.commit("06:30:00", "of another", shop__a="1\n")
    one = GitHubRepository()
    one.deploy(1, first, "2026-03-03T09:00:00Z", {"success": "2026-03-03T09:05:00Z"})
    one.deploy(2, last, "2026-03-04T10:00:00Z", {"success": "2026-03-04T10:05:00Z"}, payload={"service": "stock"})
    one.deploy(1, first, "2026-03-03T09:00:00Z", {"success": "2026-03-03T09:05:00Z"}, payload={"service": "stock"})
    one.deployments.sort(key=lambda row: str(row["created_at"]), reverse=True)
    with start_github(GitHubStore(TOKEN, {"team/stock": one})) as url:
        sources = opened(git=GitSettings(path=repository.path), github=github(url))
        evidence = await list_changes(sources, service="stock", change_kind="DEPLOY")
    assert {line.split()[2] for line in heads(evidence)} == {f"id={pool}", f"id={last}"}
    assert "  + max: 10" in evidence.content


def project() -> GitLabProject:
    return GitLabProject(
        commits=[
            (NEW, "2026-03-04T08:30:00.000+00:00", "docs", {"README.md": "@@ -1 +1 @@\n-a\n+b"}),
            (POOL, "2026-03-04T08:20:00.000+00:00", "perf: smaller pool", {"stock/pool.yaml": PATCH}),
            (OLD, "2026-03-03T08:00:00.000+00:00", "begin", {"stock/pool.yaml": "@@ -0,0 +1 @@\n+max: 50"}),
        ]
    )


def gitlab(url: str, **settings: object) -> GitLabSettings:
    return GitLabSettings.model_validate({"url": url, "token": TOKEN, "projects": "team/sub/stock"} | settings)


async def test_a_gitlab_deployment_went_live_when_its_job_finished() -> None:
    one = project()
    one.deploy(1, OLD, "2026-03-03T09:05:00.000Z")
    one.deploy(2, NEW, "2026-03-04T09:01:00.000Z", created_at="2026-03-04T08:50:00.000Z")
    one.deploy(3, POOL, "2026-03-04T10:00:00.000Z", status="failed")
    with start_gitlab(GitLabStore(TOKEN, {"team/sub/stock": one})) as url:
        evidence = await list_changes(opened(gitlab=gitlab(url)), change_kind="DEPLOY")
    assert [line.split()[2:6] for line in heads(evidence)] == [
        [f"id={sha}", "service=stock", "at=2026-03-04T09:01:00Z", "version=main@production"] for sha in (POOL, NEW)
    ]
    assert evidence.content[1:4] == ("  @ stock/pool.yaml", "  - max: 50", "  + max: 10")


async def test_gitlabs_pages_are_followed_up_to_a_bound() -> None:
    one = project()
    for number in range(7):
        one.deploy(number, OLD, f"2026-03-04T10:0{number}:00.000Z")
    with start_gitlab(GitLabStore(TOKEN, {"team/sub/stock": one}, page_size=3)) as url:
        evidence = await list_changes(opened(gitlab=gitlab(url)))
        assert (len([line for line in heads(evidence) if "DEPLOY" in line]), evidence.truncated) == (7, False)
    with start_gitlab(GitLabStore(TOKEN, {"team/sub/stock": one}, page_size=2)) as url:
        assert (await list_changes(opened(gitlab=gitlab(url)))).truncated


async def test_a_gitlab_commit_is_unknown_but_a_project_is_rejected() -> None:
    with start_gitlab(GitLabStore(TOKEN, {"team/sub/stock": project()})) as url:
        assert f"id={POOL}" in (await get_change(opened(gitlab=gitlab(url)), POOL)).content[0]
        cases = (("team/sub/stock", SourceError.UNKNOWN_SELECTOR), ("team/gone", SourceError.QUERY_REJECTED))
        for name, code in cases:
            with pytest.raises(SourceFailure) as failure:
                await get_change(opened(gitlab=gitlab(url, projects=name)), "f" * 40)
            assert failure.value.code is code


async def test_a_patch_cannot_pass_for_another_file() -> None:
    one = repository()
    hostile = "@@ -1 +1,4 @@\n+++ b/shop/forged\n+\x1b[2Jcleared\n+change kind=DEPLOY id=x\n--- a/y"
    one.commits[0][3]["stock/a\n+++ b/shop/x"] = hostile
    with start_github(GitHubStore(TOKEN, {"team/stock": one})) as url:
        evidence = await get_change(opened(github=github(url)), NEW)
    assert len(heads(evidence)) == 1
    assert not any(line.startswith("  @ shop") for line in evidence.content)
    assert "\x1b" not in "".join(evidence.content)
