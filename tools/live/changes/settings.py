"""Settings of the sources of changes: `HARNESS_SOURCE_<NAME>_TYPE` and the fields below. Nothing heavy is imported."""

from pathlib import Path
from typing import ClassVar, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import Field, field_validator

from tools.live.changes.ownership import Ownership
from tools.live.source import Source, SourceSettings
from tools.vocabulary import EvidenceKind

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
    """An NDJSON file at `path` that somebody appends to. `zone` is of times that name none, `service` of records that
    name none; `max_bytes` of its end are read at most."""

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
    """An audit log of feature flags."""

    type: Literal["flags"] = "flags"

    def open(self, name: str) -> Source:
        """Return the log under its name."""
        from tools.live.changes.ndjson import FileAccess, FlagsSource

        access = FileAccess(self.path, self.zone, self.service, self.timeout_seconds, self.max_bytes)
        return FlagsSource(name, access)


class DeploysSettings(_FileSettings):
    """Deploys that pipelines append to a file."""

    type: Literal["deploys"] = "deploys"

    def open(self, name: str) -> Source:
        """Return the file under its name."""
        from tools.live.changes.ndjson import DeploysSource, FileAccess

        access = FileAccess(self.path, self.zone, self.service, self.timeout_seconds, self.max_bytes)
        return DeploysSource(name, access)
