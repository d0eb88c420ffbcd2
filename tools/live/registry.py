"""Every type of live source by its name, and the tools over the sources that somebody configured."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from types import MappingProxyType
from typing import Any

from tools.base import EvidenceTool
from tools.live.source import Source, SourceSettings

TYPES: Mapping[str, str] = MappingProxyType(
    {
        "prometheus": "tools.live.metrics.settings:PrometheusSettings",
        "alertmanager": "tools.live.alerts.settings:AlertmanagerSettings",
        "prometheus-alerts": "tools.live.alerts.settings:PrometheusAlertsSettings",
        "loki": "tools.live.logs.settings:LokiSettings",
        "elasticsearch": "tools.live.logs.settings:ElasticsearchSettings",
        "opensearch": "tools.live.logs.settings:ElasticsearchSettings",
        "cls": "tools.live.logs.cloud_settings:ClsSettings",
        "sls": "tools.live.logs.cloud_settings:SlsSettings",
        "jaeger": "tools.live.traces.settings:JaegerSettings",
        "skywalking": "tools.live.traces.settings:SkyWalkingSettings",
        "git": "tools.live.changes.settings:GitSettings",
        "github": "tools.live.changes.settings:GitHubSettings",
        "gitlab": "tools.live.changes.settings:GitLabSettings",
        "argocd": "tools.live.changes.settings:ArgoCdSettings",
        "kubernetes-rollouts": "tools.live.changes.settings:RolloutsSettings",
        "nacos": "tools.live.changes.settings:NacosSettings",
        "apollo": "tools.live.changes.settings:ApolloSettings",
        "deploys": "tools.live.changes.settings:DeploysSettings",
        "flags": "tools.live.changes.settings:FlagsSettings",
        "kubernetes": "tools.live.kubernetes.settings:KubernetesSettings",
        "postgresql": "tools.live.database.settings:PostgresqlSettings",
        "mysql": "tools.live.database.settings:MysqlSettings",
        "runbooks": "tools.runbooks.settings:RunbooksSettings",
        "milvus": "tools.runbooks.settings:MilvusSettings",
        "mcp": "tools.live.mcp.settings:McpSettings",
    }
)
"""Where the settings of each type are. The package that they lie in answers for the kind: `tools_of` in its
module `tools` makes the evidence tools over all sources of that package."""

_KNOW_NO_SERVICES = frozenset({"tools.live.alerts", "tools.live.changes"})
"""Where silence about a name means something only if metrics or logs know the name."""


@dataclass(frozen=True)
class LiveEvidence:
    """The opened sources by name, and the evidence tools over them. Close it when nothing is asked any more."""

    sources: Mapping[str, Source]
    tools: tuple[EvidenceTool, ...]

    async def close(self) -> None:
        """Give back every connection."""
        for source in self.sources.values():
            await source.close()


def settings_of(name: str, fields: Mapping[str, Any]) -> SourceSettings:
    """Return the checked settings of the source called `name`; its type is its name where `fields` has no `type`.

    Raises ValueError where there's no such type, pydantic's ValidationError where a field is invalid.
    """
    kind = str(fields.get("type") or name)
    if kind not in TYPES:
        near = "".join(f" (did you mean {name}?)" for name in get_close_matches(kind, TYPES, 1, cutoff=0.8))
        rule = "a name has no underscore, and is the type where …_TYPE isn't set"
        raise ValueError(f"no such type of source{near}; {rule}: {', '.join(sorted(TYPES))}")
    return class_of(kind).model_validate({**fields, "type": kind})


def class_of(kind: str) -> type[SourceSettings]:
    """Return the class of settings of a type of source; `kind` is one of TYPES."""
    module, _, name = TYPES[kind].partition(":")
    found: type[SourceSettings] = getattr(import_module(module), name)
    return found


def open_evidence(settings: Mapping[str, SourceSettings]) -> LiveEvidence:
    """Return the configured sources, opened, with their tools, in the order of TYPES; connects to nothing yet.

    Raises ValueError, one clear line, where two sources can't stand beside each other, or a package isn't installed.
    """
    order = list(TYPES)
    names = sorted(settings, key=lambda name: order.index(settings[name].type))
    try:
        sources = {name: settings[name].open(name) for name in names}
        return LiveEvidence(sources, tuple(_tools(settings, sources)))
    except ModuleNotFoundError as error:
        line = f"the package {error.name} is missing; live sources need what zhizhi[live] brings"
    raise ValueError(line)


def _tools(settings: Mapping[str, SourceSettings], sources: Mapping[str, Source]) -> Iterator[EvidenceTool]:
    packages: dict[str, dict[str, Source]] = {}
    for name, source in sources.items():
        package = type(settings[name]).__module__.rpartition(".")[0]
        packages.setdefault(package, {})[name] = source
    for package, members in packages.items():
        module = import_module(f"{package}.tools")
        known = {"known_elsewhere": _known_services(sources)} if package in _KNOW_NO_SERVICES else {}
        yield from module.tools_of(members, **known)


def _known_services(sources: Mapping[str, Source]) -> Any:
    return import_module("tools.live.services").service_check(sources)
