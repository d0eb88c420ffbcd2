"""Settings of the sources of changes: what is refused with one clear line, and what the environment's texts become."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from tools.live.changes import settings
from tools.live.changes.ownership import Ownership
from tools.live.changes.records import is_sha, names_change
from tools.live.source import SourceSettings
from tools.vocabulary import EvidenceKind

HTTP = {"url": "https://x.example", "token": "t"}


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("GitSettings", {"path": "/x", "ref": "--upload-pack=evil"}),
        ("GitSettings", {"path": "/x", "deploy_tags": "deploy/*"}),
        ("GitSettings", {"path": "/x", "unknown": "1"}),
        ("FlagsSettings", {"path": "/x", "zone": "Mars/Olympus"}),
        ("GitHubSettings", HTTP | {"projects": "no-owner"}),
        ("GitHubSettings", HTTP | {"projects": "a/b/../c"}),
        ("GitHubSettings", HTTP | {"projects": ""}),
        ("GitHubSettings", HTTP | {"projects": "a/b, a/c", "service": "x"}),
        ("GitLabSettings", HTTP | {"projects": "a/b", "services": "not json"}),
        ("RolloutsSettings", HTTP | {"namespaces": "../secrets"}),
        ("NacosSettings", HTTP | {"api": "v9"}),
        ("ApolloSettings", HTTP | {"apps": ""}),
    ],
)
def test_settings_that_make_no_sense_are_refused(kind: str, fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        getattr(settings, kind).model_validate(fields)


@pytest.mark.parametrize(
    ("kind", "name", "fields"),
    [
        ("GitSettings", "git", {"path": "/x", "services": '{"a/*": "b"}'}),
        ("FlagsSettings", "flags", {"path": "/x"}),
        ("DeploysSettings", "deploys", {"path": "/x"}),
        ("GitHubSettings", "github", {"token": "t", "projects": "a/b, c/d.e"}),
        ("GitLabSettings", "gitlab", {"token": "t", "projects": "42, a/b/c"}),
        ("ArgoCdSettings", "argocd", HTTP | {"projects": "one, two"}),
        ("RolloutsSettings", "kubernetes-rollouts", HTTP | {"namespaces": "prod, pay"}),
        ("NacosSettings", "nacos", {"url": "http://x:8848", "configs": "a.yaml, G/b.yaml"}),
        ("ApolloSettings", "apollo", HTTP | {"apps": "shop, stock"}),
    ],
)
def test_texts_of_the_environment_make_a_source(kind: str, name: str, fields: dict[str, Any]) -> None:
    made: SourceSettings = getattr(settings, kind).model_validate(fields)
    source = made.open("mine")
    assert (made.type, made.kind, source.name) == (name, EvidenceKind.CHANGES, "mine")
    assert "token" not in repr(source)


def test_apollo_takes_its_token_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("abc\n")
    made = settings.ApolloSettings.model_validate({"url": "http://x", "token_file": file, "apps": "a"})
    assert made.credentials() == {"Authorization": "abc"}


def test_the_password_of_nacos_is_for_its_login_alone() -> None:
    fields = {"url": "http://x", "username": "nacos", "password": "p"}
    assert settings.NacosSettings.model_validate(fields).credentials() == {}


@pytest.mark.parametrize(
    ("owners", "path", "service"),
    [
        (Ownership(), "stock/a/b", "stock"),
        (Ownership(), "README.md", None),
        (Ownership(), ".github/x", None),
        (Ownership("shop"), "stock/a", "shop"),
        (Ownership(None, {"apps/*/api/*": "api", "apps/*": "*"}), "apps/x/api/y", "api"),
        (Ownership(None, {"apps/*/api/*": "api", "apps/*": "*"}), "apps/x", "apps"),
        (Ownership(None, {"apps/*": "x"}), "libs/x", None),
    ],
)
def test_a_path_belongs_to_a_service(owners: Ownership, path: str, service: str | None) -> None:
    assert owners.of(path) == service


@pytest.mark.parametrize(
    ("asked", "change_id", "named"),
    [
        ("ab" * 20, "AB" * 20, True),
        ("abababa", "ab" * 20, True),
        ("ababab", "ab" * 20, False),
        ("ab" * 20, "abababab", True),
        ("nacos:7", "nacos:7:g/x", True),
        ("nacos:7:g/x.y", "nacos:7:g/x", False),
    ],
)
def test_an_id_is_named_whole_or_by_its_beginning(asked: str, change_id: str, named: bool) -> None:
    assert names_change(asked, change_id) is named


@pytest.mark.parametrize(
    ("text", "said"), [("abcdef1", True), ("abcdef", False), ("v1.2.3.4", False), ("0" * 64, True)]
)
def test_a_sha_is_hexadecimal(text: str, said: bool) -> None:
    assert is_sha(text) is said
