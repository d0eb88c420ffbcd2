"""What GitHub and GitLab have in common: projects with commits and deployments, behind paged HTTP APIs.

The two differ in how each thing is asked for; what is asked, how far and how often, stands here.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import ClassVar

from typing_extensions import override

from tools.live.changes.diffs import BRIEF_LINES, WHOLE_LINES, FileDiff, unified
from tools.live.changes.ownership import Ownership
from tools.live.changes.records import Commit, Deploy, Recorded, is_sha, joined
from tools.live.changes.source import Carried, ChangeSource
from tools.live.concurrency import in_turns
from tools.live.reading import objects
from tools.live.source import Probe
from tools.live.transport import Answer, Transport
from tools.vocabulary import ChangeKind

PAGE = 100
MAX_PAGES = 3
MAX_DETAILED = 30
"""How many of a window's newest commits are told with files and diff, each for one request."""
MAX_CARRIED = 8
MAX_REMEMBERED = 200
LONGEST_DEPLOY = timedelta(hours=6)
"""How long before it went live a deployment may have been created."""


@dataclass(frozen=True)
class Project:
    """A project by the name that the forge gives it, and whose its paths and deployments are."""

    name: str
    owners: Ownership

    @property
    def service(self) -> str | None:
        """The service of its deployments, where they name none themselves."""
        return self.owners.service or self.name.rpartition("/")[2]


@dataclass(frozen=True)
class Listed:
    """A commit as a list tells it, without its files."""

    sha: str
    at: datetime
    message: str


def projects_of(names: Sequence[str], service: str | None, services: Mapping[str, str]) -> tuple[Project, ...]:
    """Return the projects of the settings; without any word on services each is the service of its name."""
    return tuple(
        Project(name, Ownership(service or (None if services else name.rpartition("/")[2]), services)) for name in names
    )


class Forge(ChangeSource):
    """Projects on one forge. A deploy's time is when it went live; what failed, or still runs, is none."""

    tells: ClassVar[frozenset[ChangeKind]] = frozenset({ChangeKind.COMMIT, ChangeKind.DEPLOY})

    def __init__(
        self,
        name: str,
        transport: Transport,
        projects: Sequence[Project],
        *,
        environment: str | None,
        branch: str | None,
    ) -> None:
        self.name = name
        self._transport = transport
        self._projects = projects
        self._environment = environment
        self._branch = branch
        self._details: dict[tuple[str, str], tuple[Listed, list[FileDiff]]] = {}

    @abstractmethod
    async def deployed(self, project: Project, start: datetime, end: datetime) -> tuple[list[Deploy], bool]:
        """Return what went live in the window, and whether something was left out."""

    @abstractmethod
    async def deployed_of(self, project: Project, sha: str) -> list[Deploy]:
        """Return when a commit (whole SHA) went live, as far as it's recorded."""

    @abstractmethod
    async def committed(self, project: Project, start: datetime, end: datetime) -> tuple[list[Listed], bool]:
        """Return the commits of the window, newest first, and whether something was left out."""

    @abstractmethod
    async def between(self, project: Project, previous: str, sha: str) -> list[Listed]:
        """Return the commits after `previous` up to `sha`, newest first; none where the forge can't compare them."""

    @abstractmethod
    async def detail(self, project: Project, sha: str) -> tuple[Listed, list[FileDiff]] | None:
        """Return a commit with its changed lines, None where the project has none of that SHA."""

    @abstractmethod
    async def newest(self, project: Project) -> Answer:
        """Ask for the newest commit, for the doctor."""

    @override
    async def probe(self) -> Probe:
        answer = await self.newest(self._projects[0])
        return Probe(answer.date, f"{len(objects(answer.json()))} newest commit read")

    @override
    async def close(self) -> None:
        await self._transport.close()

    @override
    async def recorded(self, start: datetime, end: datetime) -> Recorded:
        async def of(project: Project) -> Recorded:
            return await self._window(project, start, end)

        return joined(await in_turns(of, self._projects))

    @override
    async def change(self, folded: str) -> Recorded:
        if not is_sha(folded):
            return Recorded()

        async def of(project: Project) -> Recorded:
            commit = await self._commit(project, folded, WHOLE_LINES)
            if commit is None:
                return Recorded()
            return Recorded((commit,), tuple(await self.deployed_of(project, commit.sha)))

        return joined(await in_turns(of, self._projects))

    @override
    async def carried(self, deploy: Deploy, *, whole: bool = False) -> Carried:
        limit = WHOLE_LINES if whole else BRIEF_LINES
        for project in self._projects:
            head = await self._commit(project, deploy.change_id, limit)
            if head is None:
                continue
            if whole or not deploy.previous or deploy.previous == head.sha:
                return Carried((head,))
            before = [one for one in await self.between(project, deploy.previous, head.sha) if one.sha != head.sha]
            rest = await self._detailed(project, before[:MAX_CARRIED])
            return Carried((head, *rest), len(before) > MAX_CARRIED)
        return Carried()

    async def _window(self, project: Project, start: datetime, end: datetime) -> Recorded:
        deploys, cut = await self.deployed(project, start, end)
        listed, more = await self.committed(project, start, end)
        commits = await self._detailed(project, listed[:MAX_DETAILED])
        brief = [Commit(one.sha, one.at, one.message, services=project.owners.services(())) for one in listed]
        return Recorded(
            commits=(*commits, *brief[MAX_DETAILED:]),
            deploys=tuple(deploys),
            services=project.owners.named() | {project.service or project.name},
            truncated=cut or more or len(listed) > MAX_DETAILED,
        ).within(start, end)

    async def _detailed(self, project: Project, listed: Sequence[Listed]) -> list[Commit]:
        async def of(one: Listed) -> Commit:
            found = await self._commit(project, one.sha, BRIEF_LINES)
            return found or Commit(one.sha, one.at, one.message)

        return await in_turns(of, listed)

    async def _commit(self, project: Project, sha: str, limit: int) -> Commit | None:
        found = self._details.get((project.name, sha)) or await self.detail(project, sha)
        if found is None:
            return None
        if found[0].sha == sha:
            # A commit never changes, and each request counts against a limit.
            self._details[(project.name, sha)] = found
            while len(self._details) > MAX_REMEMBERED:
                del self._details[next(iter(self._details))]
        listed, files = found
        paths = tuple(file.path for file in files)
        diff = unified([file for file in files if file.lines], limit=limit)
        return Commit(listed.sha, listed.at, listed.message, paths, diff, project.owners.services(paths))


def in_order(deploys: Sequence[Deploy]) -> list[Deploy]:
    """Return deploys oldest first, each with the SHA that its service had before in the same environment."""
    last: dict[tuple[str | None, str | None], str] = {}
    ordered = []
    for deploy in sorted(deploys, key=lambda one: one.at):
        place = (deploy.service, deploy.environment)
        ordered.append(replace(deploy, previous=last.get(place)))
        last[place] = deploy.change_id
    return ordered
