"""Live sources by name: from both spellings, the environment first, and one clear line that repeats no value."""

import os
from pathlib import Path

import pytest

from graph.setting_errors import SettingsError
from graph.settings import HarnessSettings, load_settings
from tools.live.alerts.settings import AlertmanagerSettings

SECRET = "sk-canary-7319-canary-7319"
FILE = """
[harness.source.eu-alerts]
type = "alertmanager"
url = "http://eu.example:9093/"
timeout-seconds = 3
"""


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in os.environ:
        if name.startswith(("HARNESS_", "OPENAI_")):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


def test_no_source_is_none() -> None:
    assert load_settings().sources == {}


def test_a_source_whose_name_is_a_type_needs_its_address_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARNESS_SOURCE_ALERTMANAGER_URL", "https://am.example:9093")
    (name, settings), *others = load_settings().sources.items()
    assert (name, others) == ("alertmanager", [])
    assert isinstance(settings, AlertmanagerSettings)
    assert settings.url == "https://am.example:9093"


def test_several_of_one_type_are_told_apart_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("EU", "US"):
        monkeypatch.setenv(f"HARNESS_SOURCE_{name}_TYPE", "alertmanager")
        monkeypatch.setenv(f"HARNESS_SOURCE_{name}_URL", f"http://{name}.example")
    assert sorted(load_settings().sources) == ["eu", "us"]


def test_the_file_says_the_same_and_the_environment_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("zhizhi.toml").write_text(FILE, encoding="utf-8")
    source = load_settings().sources["eu-alerts"]
    assert isinstance(source, AlertmanagerSettings)
    assert (source.url, source.timeout_seconds) == ("http://eu.example:9093", 3.0)
    Path("zhizhi.toml").write_text(FILE.replace("eu-alerts", "eu"), encoding="utf-8")
    monkeypatch.setenv("HARNESS_SOURCE_EU_TIMEOUT_SECONDS", "7")
    assert load_settings().sources["eu"].timeout_seconds == 7.0


def test_a_variable_in_lower_case_counts_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARNESS_SOURCE_eu_TYPE", "alertmanager")
    monkeypatch.setenv("HARNESS_SOURCE_eu_URL", "http://eu.example")
    assert list(load_settings().sources) == ["eu"]


def test_a_list_is_written_with_commas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARNESS_SOURCE_ALERTMANAGER_URL", "http://am.example")
    monkeypatch.setenv("HARNESS_SOURCE_ALERTMANAGER_SERVICE_LABELS", "svc, app")
    source = load_settings().sources["alertmanager"]
    assert isinstance(source, AlertmanagerSettings)
    assert source.service_labels == ("svc", "app")


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        (
            {"MAIN_URL": "http://a"},
            "HARNESS_SOURCE_MAIN_TYPE (harness.source.main.type): no such type of source",
        ),
        ({"MAIN_TYPE": "nagios"}, "HARNESS_SOURCE_MAIN_TYPE"),
        ({"ALERTMANAGER_TOKEN": SECRET}, "HARNESS_SOURCE_ALERTMANAGER_URL (harness.source.alertmanager.url): it is n"),
        ({"ALERTMANAGER_URL": f"http://u:{SECRET}@a"}, "expected an address without credentials"),
        ({"ALERTMANAGER_URL": "am:9093"}, "expected an address such as"),
        ({"ALERTMANAGER_URL": "http://a", "ALERTMANAGER_TOKN": SECRET}, "HARNESS_SOURCE_ALERTMANAGER_TOKN"),
        ({"ALERTMANAGER_URL": "http://a", "ALERTMANAGER_TIMEOUT_SECONDS": "soon"}, "TIMEOUT_SECONDS"),
    ],
)
def test_a_source_that_cannot_be_used_is_one_clear_line(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], said: str
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(f"HARNESS_SOURCE_{name}", value)
    with pytest.raises(SettingsError) as caught:
        load_settings()
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("text", ["[harness]\nsource = 3", "[harness.source]\nmain = 3"])
def test_a_file_that_holds_no_sources_where_they_belong_is_refused(text: str) -> None:
    Path("zhizhi.toml").write_text(text, encoding="utf-8")
    with pytest.raises(SettingsError, match=r"harness\.source\.<name>"):
        load_settings()


def test_a_credential_is_shown_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARNESS_SOURCE_ALERTMANAGER_URL", "http://am.example")
    monkeypatch.setenv("HARNESS_SOURCE_ALERTMANAGER_TOKEN", SECRET)
    settings = load_settings()
    assert SECRET not in repr(settings)
    assert SECRET not in str(settings.model_dump())


def test_sources_can_be_handed_over_as_they_are() -> None:
    source = AlertmanagerSettings(url="http://am.example")
    assert HarnessSettings(sources={"mine": source}).sources == {"mine": source}


def test_live_sources_come_before_a_frozen_incident(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "alert.json").write_text("{}", encoding="utf-8")
    monkeypatch.setenv("HARNESS_INCIDENT_DIR", str(tmp_path))
    assert load_settings().frozen_incident() == tmp_path
    monkeypatch.setenv("HARNESS_SOURCE_ALERTMANAGER_URL", "http://am.example")
    settings = load_settings()
    assert settings.frozen_incident() is None
