"""Which service a path of a repository, or a configuration, belongs to."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

FIRST_COMPONENT = "*"
"""The service that means a path's first directory."""


@dataclass(frozen=True)
class Ownership:
    """Says whose a path is: one `service` for all, else by `patterns` (of `fnmatch`, the first that matches), else,
    where there are none, its first directory."""

    service: str | None = None
    patterns: Mapping[str, str] = field(default_factory=dict)

    def services(self, paths: Iterable[str]) -> tuple[str, ...]:
        """Return the services that the paths belong to, in order of their names; a root file belongs to none."""
        if self.service is not None:
            return (self.service,)
        return tuple(sorted({name for path in paths if (name := self.of(path))}))

    def of(self, path: str) -> str | None:
        """Return the service that one path belongs to, or None."""
        if self.service is not None:
            return self.service
        first, slash, _ = path.partition("/")
        component = first if slash and not first.startswith(".") else None
        for pattern, service in self.patterns.items():
            if fnmatchcase(path, pattern):
                return component if service == FIRST_COMPONENT else service
        return component if not self.patterns else None

    def named(self) -> frozenset[str]:
        """Return the services that the settings name themselves."""
        named = {self.service, *self.patterns.values()} - {None, FIRST_COMPONENT}
        return frozenset(name for name in named if name)
