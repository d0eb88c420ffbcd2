"""Deploys that one source records, joined with the commits that another one has."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tools.base import SourceFailure
from tools.canonical import fold
from tools.live.changes.records import Commit, Deploy, Recorded, is_sha, joined, same_sha
from tools.live.changes.source import Carried, ChangeSource
from tools.live.concurrency import in_turns
from tools.vocabulary import ChangeKind

MAX_JOINED = 30
"""How many of the newest deploys are joined with their commits; the rest is told without a diff."""


LONGEST_JOINING_SECONDS = 30.0


@dataclass(frozen=True)
class Brought:
    """The records with what their deploys brought, and the names of the sources that failed on the way."""

    records: Recorded
    failed: frozenset[str]


async def with_carried(found: Recorded, sources: Mapping[str, ChangeSource], *, whole: bool = False) -> Brought:
    """Return the records with the commits of their deploys, and one deploy for each commit that a deploy brought.

    A deploy ships every commit since the one before it; each of them went live at its time. The first source that knows
    the deployed commit says which these are. `whole`: with whole diffs, and of the deployed commit alone.
    """
    keepers = {name: source for name, source in sources.items() if ChangeKind.COMMIT in source.tells}
    nearest = dict(sorted(keepers.items(), key=lambda one: not one[1].local))
    newest = sorted(found.deploys, key=lambda one: one.at, reverse=True)
    shas = [one for one in newest if keepers and is_sha(one.change_id)]
    if whole:
        shas = [one for one in shas if not any(same_sha(one.change_id, known.sha) for known in found.commits)]
    wanted = shas[:MAX_JOINED]
    deadline = asyncio.get_running_loop().time() + LONGEST_JOINING_SECONDS

    async def brought_by(deploy: Deploy) -> tuple[Carried, tuple[str, ...]]:
        return await _brought(deploy, nearest, whole, deadline)

    told = await in_turns(brought_by, wanted)
    brought = {id(deploy): carried.commits for deploy, (carried, _) in zip(wanted, told, strict=True)}
    deploys = [one for deploy in found.deploys for one in _shipped(deploy, brought.get(id(deploy), ()))]
    commits = tuple(commit for found_now in brought.values() for commit in found_now)
    cut = len(shas) > MAX_JOINED or any(carried.cut for carried, _ in told)
    records = joined([found, Recorded(commits=commits, truncated=cut)])
    spelled = tuple(_spelled_out(deploy, records.commits) for deploy in deploys)
    return Brought(replace(records, deploys=spelled), frozenset(name for _, failed in told for name in failed))


async def _brought(
    deploy: Deploy, sources: Mapping[str, ChangeSource], whole: bool, deadline: float
) -> tuple[Carried, tuple[str, ...]]:
    failed: list[str] = []
    for name, source in sources.items():
        try:
            async with asyncio.timeout_at(deadline):
                carried = await source.carried(deploy, whole=whole)
        except (SourceFailure, TimeoutError):
            failed.append(name)
            continue
        if carried.commits:
            return carried, ()
    return Carried(), tuple(failed)


def _shipped(deploy: Deploy, commits: tuple[Commit, ...]) -> list[Deploy]:
    if not commits:
        return [deploy]
    head, *rest = commits
    shipped = replace(deploy, change_id=head.sha)
    return [shipped, *(replace(shipped, change_id=commit.sha) for commit in _of_service(rest, deploy, commits))]


def _of_service(rest: Sequence[Commit], deploy: Deploy, commits: Sequence[Commit]) -> Sequence[Commit]:
    """Return what of a range concerns the deploy's service: its commits, and those of no service (files at the root).

    Where none of them is told to be of that service, deploys and paths don't speak of services by the same names, and
    nothing can be left out.
    """
    service = fold(deploy.service or "")
    owners = [{fold(one) for one in commit.services} for commit in commits]
    if not any(service in one for one in owners):
        return rest
    return [one for one in rest if not one.services or service in {fold(own) for own in one.services}]


def _spelled_out(deploy: Deploy, commits: tuple[Commit, ...]) -> Deploy:
    """Return a deploy under its commit's whole SHA, where it is recorded by the beginning of it."""
    if not is_sha(deploy.change_id):
        return deploy
    known = next((one.sha for one in commits if one.sha.startswith(deploy.change_id.lower())), deploy.change_id)
    return replace(deploy, change_id=known)
