"""What sources of changes record, and its form as the documents of an incident directory (docs/incident-format.md).

A deploy of a commit carries that commit's SHA as its id, so that a deployment that one source knows and the commit that
another knows are told as one. A release that no commit made (a configuration, a rollout's template) carries its own
message, file and diff, and an id `<source>:<number>:<what>`: no such id begins with another one.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from tools.canonical import fold, iso_utc

LEAST_SHA = 7
"""How many characters of a SHA name its commit, as on the frozen side."""
MAX_FILES = 50
MAX_MESSAGE = 4_000


@dataclass(frozen=True)
class Commit:
    """A commit: `at` is when it was committed (aware, UTC), `services` those that its files belong to."""

    sha: str
    at: datetime
    message: str = ""
    files: tuple[str, ...] = ()
    diff: str = ""
    services: tuple[str, ...] = ()


@dataclass(frozen=True)
class Deploy:
    """Something that went live at `at` (aware, UTC). `previous`: the SHA that was live before, where it's recorded.

    `message`, `files` and `diff` are of a release that no commit made; a commit's stand in its own record.
    `environment` is told where a source has several, as `version@environment`.
    """

    change_id: str
    service: str | None
    at: datetime
    version: str | None = None
    previous: str | None = None
    message: str = ""
    files: tuple[str, ...] = ()
    diff: str = ""
    environment: str | None = None


@dataclass(frozen=True)
class Flag:
    """A feature flag that was switched at `at` (aware, UTC); `change` reads `off->on`."""

    flag: str
    service: str | None
    at: datetime
    change: str | None


@dataclass(frozen=True)
class Recorded:
    """What a source says: its records, the services and changes that it knows, and whether something was left out.

    `services` and `known` (change ids) may reach beyond the records: they tell a typo from an absence. `notes` are
    codes for `Evidence.notes`.
    """

    commits: tuple[Commit, ...] = ()
    deploys: tuple[Deploy, ...] = ()
    flags: tuple[Flag, ...] = ()
    services: frozenset[str] = frozenset()
    known: frozenset[str] = frozenset()
    truncated: bool = False
    notes: tuple[str, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether it holds no record."""
        return not (self.commits or self.deploys or self.flags)

    def names(self) -> frozenset[str]:
        """Return every service that the records or their source name."""
        said = [*(one.service for one in self.deploys), *(one.service for one in self.flags)]
        named = {service for service in said if service}
        return self.services | named | {service for commit in self.commits for service in commit.services}

    def within(self, start: datetime, end: datetime) -> "Recorded":
        """Return the same with the records of [start, end) alone."""
        return replace(
            self,
            commits=tuple(one for one in self.commits if start <= one.at < end),
            deploys=tuple(one for one in self.deploys if start <= one.at < end),
            flags=tuple(one for one in self.flags if start <= one.at < end),
        )

    def of_service(self, folded: str) -> "Recorded":
        """Return the same with the records of one service alone; a commit belongs to those that deployed it, too."""
        deploys = tuple(one for one in self.deploys if one.service and fold(one.service) == folded)
        commits = []
        for commit in self.commits:
            own = [service for service in commit.services if fold(service) == folded]
            if own or any(same_sha(commit.sha, one.change_id) for one in deploys):
                commits.append(replace(commit, services=tuple(own)))
        flags = tuple(one for one in self.flags if one.service and fold(one.service) == folded)
        return replace(self, commits=tuple(commits), deploys=deploys, flags=flags)

    def of_id(self, folded: str) -> "Recorded":
        """Return the same with the records of one change alone: its id, or the beginning of its SHA."""
        found = replace(
            self,
            commits=tuple(one for one in self.commits if names_change(folded, one.sha)),
            deploys=tuple(one for one in self.deploys if names_change(folded, one.change_id)),
            flags=tuple(one for one in self.flags if fold(one.flag) == folded),
        )
        ids = {one.sha for one in self.commits} | {one.change_id for one in self.deploys}
        return replace(found, known=self.known | ids | {one.flag for one in self.flags})


def joined(answers: Iterable[Recorded]) -> Recorded:
    """Return what several sources say as one: a commit told twice once, with the longer diff and all its services."""
    commits: dict[str, Commit] = {}
    deploys: dict[tuple[str, str | None, datetime], Deploy] = {}
    flags: dict[Flag, None] = {}
    said = list(answers)
    for answer in said:
        for commit in answer.commits:
            known = commits.get(commit.sha)
            commits[commit.sha] = commit if known is None else _merged(known, commit)
        for deploy in answer.deploys:
            deploys.setdefault((deploy.change_id, deploy.service, deploy.at), deploy)
        flags |= dict.fromkeys(answer.flags)
    return Recorded(
        commits=tuple(commits.values()),
        deploys=tuple(deploys.values()),
        flags=tuple(flags),
        services=frozenset().union(*(answer.services for answer in said)),
        known=frozenset().union(*(answer.known for answer in said)),
        truncated=any(answer.truncated for answer in said),
        notes=tuple(dict.fromkeys(note for answer in said for note in answer.notes)),
    )


def same_sha(first: str, second: str) -> bool:
    """Whether two ids name one commit: one is the other, or at least seven characters of its beginning."""
    short, long = sorted((first.lower(), second.lower()), key=len)
    return len(short) >= LEAST_SHA and long.startswith(short)


def names_change(folded: str, change_id: str) -> bool:
    """Whether what was asked for (folded) is a change's id, or at least seven characters of its beginning; a SHA also
    names the change whose id abbreviates it."""
    own = fold(change_id)
    if own == folded or (len(folded) >= LEAST_SHA and own.startswith(folded)):
        return True
    return is_sha(own) and is_sha(folded) and same_sha(own, folded)


def is_sha(text: str) -> bool:
    """Whether a text is a whole or abbreviated SHA."""
    return LEAST_SHA <= len(text) <= 64 and all(character in "0123456789abcdef" for character in text.lower())


def as_documents(records: Recorded) -> dict[str, list[Mapping[str, Any]]]:
    """Return the records as the commits, deploys and flags of an incident directory."""
    return {
        "commits": [_commit(one) for one in records.commits],
        "deploys": [_deploy(one) for one in records.deploys],
        "flags": [_flag(one) for one in records.flags],
    }


def _commit(one: Commit) -> Mapping[str, Any]:
    return {
        "sha": one.sha,
        "timestamp": iso_utc(one.at),
        "service": ",".join(one.services) or None,
        **_content(one),
    }


def _deploy(one: Deploy) -> Mapping[str, Any]:
    return {
        "timestamp": iso_utc(one.at),
        "service": one.service,
        "commit_sha": one.change_id,
        "version": "@".join(part for part in (one.version, one.environment) if part) or None,
        **_content(one),
    }


def _content(one: Commit | Deploy) -> Mapping[str, Any]:
    return {
        "message": one.message[:MAX_MESSAGE] or None,
        "files_changed": [shown_path(path) for path in one.files[:MAX_FILES]],
        "diff": one.diff or None,
    }


def _flag(one: Flag) -> Mapping[str, Any]:
    return {"timestamp": iso_utc(one.at), "flag": one.flag, "service": one.service, "change": one.change}


def shown_path(path: str) -> str:
    """Return a path as one word: a line of a diff names its file by what stands between blanks, a list by commas."""
    return "_".join(path.replace(",", "_").split()) or "_"


def _merged(first: Commit, second: Commit) -> Commit:
    better = second if len(second.diff) > len(first.diff) else first
    services: Sequence[str] = sorted({*first.services, *second.services})
    return replace(better, services=tuple(services), files=better.files or first.files or second.files)
