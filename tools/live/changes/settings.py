"""Settings of the sources of changes: `HARNESS_SOURCE_<NAME>_TYPE` and the fields below. Nothing heavy is imported."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import Field, field_validator, model_validator

from tools.live.changes.ownership import Ownership
from tools.live.source import HttpSource, Source, SourceSettings, secret_of
from tools.vocabulary import EvidenceKind

if TYPE_CHECKING:
    from tools.live.changes.forge import Forge

_REF = r"^[\w./@][\w./@{}~^+-]{0,199}$"
_SERVICE = r"^[^\s,]{1,160}$"


class GitSettings(SourceSettings):
    """A local clone at `path`. Whose a commit is: `service`, else `services` (patterns of paths), else each file's
    first directory. `deploy_tags` names annotated tags that tell deploys; blank for none. `ref`: what went into
    production, by default HEAD and the remote's default branch."""

    kind: ClassVar[EvidenceKind] = EvidenceKind.CHANGES
    type: Literal["git"] = "git"
    path: Path
    ref: str | None = Field(default=None, pattern=_REF)
    service: str | None = Field(default=None, pattern=_SERVICE)
    services: dict[str, str] = Field(default_factory=dict)
    deploy_tags: str = "deploy/{service}/{version}"

    @field_validator("deploy_tags")
    @classmethod
    def _has_a_version(cls, value: str) -> str:
        if value.strip() and ("{version}" not in value or value.count("{service}") > 1 or value.count("{version}") > 1):
            raise ValueError("expected a pattern such as deploy/{service}/{version}")
        return value.strip()

    def open(self, name: str) -> Source:
        """Return the clone under its name."""
        from tools.live.changes.git import GitSource, TagPattern
        from tools.live.changes.process import Git

        return GitSource(
            name,
            Git(self.path, timeout_seconds=self.timeout_seconds),
            owners=Ownership(self.service, self.services),
            tags=TagPattern(self.deploy_tags) if self.deploy_tags else None,
            ref=self.ref,
        )


class _FileSettings(SourceSettings):
    """A file that somebody appends records to."""

    kind: ClassVar[EvidenceKind] = EvidenceKind.CHANGES
    path: Path
    zone: str = "Asia/Shanghai"
    service: str | None = Field(default=None, pattern=_SERVICE)
    max_bytes: int = Field(default=64 * 1024 * 1024, ge=1024)

    @field_validator("zone")
    @classmethod
    def _is_a_zone(cls, value: str) -> str:
        try:
            ZoneInfo(value)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            raise ValueError("expected an IANA time zone such as Asia/Shanghai") from None
        return value


class FlagsSettings(_FileSettings):
    """An audit log of feature flags in an NDJSON file at `path`: `at`, `flag`, `service`, and `change` or `from` and
    `to`. Its end is read, `max_bytes` at most, as far back as is asked. `zone` is of times that name none, `service` of
    records that name none."""

    type: Literal["flags"] = "flags"

    def open(self, name: str) -> Source:
        """Return the log under its name."""
        from tools.live.changes.ndjson import FileAccess, FlagsSource

        access = FileAccess(self.path, self.zone, self.service, self.timeout_seconds, self.max_bytes)
        return FlagsSource(name, access)


class DeploysSettings(_FileSettings):
    """Deploys that pipelines append to an NDJSON file at `path`: `timestamp`, `service`, `commit_sha`, `version`, and
    `status` where some fail. Its end is read, `max_bytes` at most, as far back as is asked. `zone` is of times that
    name none, `service` of records that name none."""

    type: Literal["deploys"] = "deploys"

    def open(self, name: str) -> Source:
        """Return the file under its name."""
        from tools.live.changes.ndjson import DeploysSource, FileAccess

        access = FileAccess(self.path, self.zone, self.service, self.timeout_seconds, self.max_bytes)
        return DeploysSource(name, access)


class _ForgeSettings(HttpSource):
    """Projects on a forge."""

    kind: ClassVar[EvidenceKind] = EvidenceKind.CHANGES
    projects: tuple[str, ...] = Field(min_length=1, max_length=50)
    service: str | None = Field(default=None, pattern=_SERVICE)
    services: dict[str, str] = Field(default_factory=dict)
    environment: str | None = None
    branch: str | None = Field(default=None, pattern=_REF)

    @model_validator(mode="after")
    def _one_service_one_project(self) -> "_ForgeSettings":
        if self.service is not None and len(self.projects) > 1:
            raise ValueError("one service is of one project; say services, or leave both out")
        return self


def _opened(forge: "type[Forge]", name: str, settings: _ForgeSettings) -> "Forge":
    from tools.live.changes.forge import projects_of
    from tools.live.transport import Transport

    projects = projects_of(settings.projects, settings.service, settings.services)
    transport = Transport(settings.access())
    return forge(name, transport, projects, environment=settings.environment, branch=settings.branch)


class GitHubSettings(_ForgeSettings):
    """Commits and deployments of `projects` (`owner/name`) on github.com or a GitHub Enterprise server
    (`https://host/api/v3`); a deployment counts once it succeeded. Whose they are: `service` for the only one, else
    `services` (patterns of paths), else each is the service of its name. `environment`: deployments to that one alone;
    `branch`: commits of that one, else of the default branch. The token needs to read contents and deployments."""

    type: Literal["github"] = "github"
    url: str = "https://api.github.com"

    @field_validator("projects")
    @classmethod
    def _are_repositories(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if not all(re.fullmatch(r"[\w.-]+/[\w.-]+", name) for name in value):
            raise ValueError("expected owner/name, owner/name")
        return value

    def open(self, name: str) -> Source:
        """Return the repositories under their source's name."""
        from tools.live.changes.github import GitHubSource

        return _opened(GitHubSource, name, self)


class GitLabSettings(_ForgeSettings):
    """Commits and deployments of `projects` (`group/name` or numbers) on gitlab.com or a server of one's own (15.8 or
    later); a deployment counts once it succeeded. Whose they are: `service` for the only one, else `services` (patterns
    of paths), else each is the service of its name. `environment`: deployments to that one alone; `branch`: commits of
    that one, else of the default branch. The token needs `read_api`."""

    type: Literal["gitlab"] = "gitlab"
    url: str = "https://gitlab.com"

    def open(self, name: str) -> Source:
        """Return the projects under their source's name."""
        from tools.live.changes.gitlab import GitLabSource

        return _opened(GitLabSource, name, self)


class ArgoCdSettings(HttpSource):
    """Applications of an Argo CD server, all that the token may see, or those of `projects` or a label `selector`.
    `services` maps names of applications (patterns) to services; else each is the service of its name."""

    kind: ClassVar[EvidenceKind] = EvidenceKind.CHANGES
    type: Literal["argocd"] = "argocd"
    projects: tuple[str, ...] = ()
    selector: str | None = None
    services: dict[str, str] = Field(default_factory=dict)

    def open(self, name: str) -> Source:
        """Return the server's applications under their source's name."""
        from tools.live.changes.argocd import ArgoCdSource
        from tools.live.transport import Transport

        owners = Ownership(None, self.services)
        transport = Transport(self.access())
        return ArgoCdSource(name, transport, projects=self.projects, selector=self.selector, owners=owners)


class RolloutsSettings(HttpSource):
    """Rollouts that a Kubernetes API server at `url` remembers, in `namespaces`. The token needs `list` on Deployments
    and ReplicaSets; in a pod, `https://kubernetes.default.svc` with the service account's token and CA files.
    `services` maps names of Deployments (patterns) to services; else each is its own."""

    kind: ClassVar[EvidenceKind] = EvidenceKind.CHANGES
    type: Literal["kubernetes-rollouts"] = "kubernetes-rollouts"
    namespaces: tuple[str, ...] = Field(min_length=1, max_length=50)
    services: dict[str, str] = Field(default_factory=dict)

    @field_validator("namespaces")
    @classmethod
    def _are_names(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if not all(re.fullmatch(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", name) for name in value):
            raise ValueError("expected names of namespaces")
        return value

    def open(self, name: str) -> Source:
        """Return the cluster's rollouts under their source's name."""
        from tools.live.changes.rollouts import RolloutsSource
        from tools.live.transport import Transport

        owners = Ownership(None, self.services)
        return RolloutsSource(name, Transport(self.access()), namespaces=self.namespaces, owners=owners)


class NacosSettings(HttpSource):
    """Configurations of one Nacos `namespace` (its id; blank is public). `api` is v1, v2 or v3, as the server speaks.
    A user name and password are exchanged for a token. `configs` names some alone, `dataId` or `group/dataId`;
    `services` maps them (patterns) to services; else a configuration is its application's, else its name's."""

    kind: ClassVar[EvidenceKind] = EvidenceKind.CHANGES
    type: Literal["nacos"] = "nacos"
    api: Literal["v1", "v2", "v3"] = "v1"
    namespace: str = ""
    configs: tuple[str, ...] = ()
    service: str | None = Field(default=None, pattern=_SERVICE)
    services: dict[str, str] = Field(default_factory=dict)

    def credentials(self) -> dict[str, str]:
        """Return the headers of every request; user name and password are for the login alone."""
        return super().credentials() if self.username is None else {}

    def open(self, name: str) -> Source:
        """Return the namespace's configurations under their source's name."""
        from tools.live.changes.nacos import DEFAULT_GROUP, DIALECTS, Config, NacosSource
        from tools.live.changes.nacos_login import LOGIN, Login
        from tools.live.transport import Transport

        return NacosSource(
            name,
            Transport(self.access()),
            DIALECTS[self.api],
            login=Login(LOGIN[self.api], self._pair),
            namespace=self.namespace,
            configs=[Config(one.rpartition("/")[0] or DEFAULT_GROUP, one.rpartition("/")[2]) for one in self.configs],
            owners=Ownership(self.service, self.services),
        )

    def _pair(self) -> tuple[str, str] | None:
        return None if self.username is None else (self.username, secret_of(self.password, self.password_file) or "")


class ApolloSettings(HttpSource):
    """Configuration releases of `apps` (application ids) in an Apollo portal's environment `env` and `cluster`.
    `namespaces` names some alone; `services` maps applications (patterns) to services; else each is its own."""

    kind: ClassVar[EvidenceKind] = EvidenceKind.CHANGES
    type: Literal["apollo"] = "apollo"
    apps: tuple[str, ...] = Field(min_length=1, max_length=50)
    env: str = "PRO"
    cluster: str = "default"
    namespaces: tuple[str, ...] = ()
    services: dict[str, str] = Field(default_factory=dict)

    def credentials(self) -> dict[str, str]:
        """Return the headers of every request: Apollo takes its token as it is, without a scheme."""
        token = secret_of(self.token, self.token_file)
        return {"Authorization": token} if token else super().credentials()

    def open(self, name: str) -> Source:
        """Return the applications' releases under their source's name."""
        from tools.live.changes.apollo import ApolloSource
        from tools.live.transport import Transport

        return ApolloSource(
            name,
            Transport(self.access()),
            env=self.env,
            cluster=self.cluster,
            apps=self.apps,
            namespaces=self.namespaces,
            owners=Ownership(None, self.services),
        )
