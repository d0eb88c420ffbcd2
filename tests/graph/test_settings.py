"""Settings: both spellings, the environment first, and one clear line that repeats no value."""

import os
from pathlib import Path

import pytest
from pydantic import BaseModel, SecretStr, ValidationError

from graph.contract.limits import Limits
from graph.setting_errors import SettingsError
from graph.settings import DiagnosisContext, HarnessSettings, load_settings

SECRET = "sk-canary-7319-canary-7319"


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in os.environ:
        if name.startswith(("HARNESS_", "OPENAI_")):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


def scalars() -> list[tuple[str, str]]:
    """Every setting within a group, as (group, field)."""
    groups = {name: field.annotation for name, field in HarnessSettings.model_fields.items()}
    return [
        (group, field)
        for group, model in groups.items()
        if isinstance(model, type) and issubclass(model, BaseModel)
        for field in model.model_fields
    ]


def other(group: str, field: str) -> object:
    """A valid value of a setting that isn't its default."""
    default = getattr(getattr(HarnessSettings(), group), field)
    special = {
        "fallback": "none",
        "conclusion_after_stop": "fallback",
        "temperature": 0.5,
        "max_tokens_field": "max_tokens",
        "record_ttl_seconds": 99_999,
    }
    if field in special:
        return special[field]
    if isinstance(default, bool):
        return not default
    return default + 1 if isinstance(default, int | float) else "some-name"


def read(group: str, field: str) -> object:
    value = getattr(getattr(load_settings(), group), field)
    if isinstance(value, SecretStr):
        return value.get_secret_value()
    return str(value) if isinstance(value, Path) else value


def toml(text: str, name: str = "zhizhi.toml") -> Path:
    path = Path(name)
    path.write_text(text, encoding="utf-8")
    return path


def spelled(value: object) -> str:
    return str(value).lower() if isinstance(value, bool | int | float) else f'"{value}"'


@pytest.mark.parametrize(("group", "field"), scalars())
def test_every_setting_is_read_from_both_spellings_and_the_environment_wins(
    monkeypatch: pytest.MonkeyPatch, group: str, field: str
) -> None:
    default, chosen = read(group, field), other(group, field)
    assert default != chosen
    toml(f"[harness.{group}]\n{field.replace('_', '-')} = {spelled(chosen)}\n")
    assert read(group, field) == chosen
    toml(f"harness.{group}.{field.replace('_', '-')} = {spelled(chosen)}\n")
    assert read(group, field) == chosen
    monkeypatch.setenv(f"HARNESS_{group}_{field}".upper(), "null" if default is None else str(default))
    assert read(group, field) == ("null" if default is None else default)


def test_the_defaults_are_the_contracts() -> None:
    assert load_settings().limits() == Limits()
    limits = load_settings().limits()
    assert (limits.stop_after_consecutive_no_gain, limits.stop_after_consecutive_protocol_violations) == (2, 3)
    budgets = (limits.max_model_calls, limits.max_tool_calls, limits.max_tool_requests, limits.max_tokens)
    assert budgets == (12, 10, 16, 60_000)
    assert (limits.max_observation_bytes, limits.max_seconds) == (256 * 1024, 180.0)


INVALID = [
    ("chat", "stop_after_consecutive_no_gain", "0"),
    ("chat", "stop_after_consecutive_no_gain", "-1"),
    ("chat", "stop_after_consecutive_no_gain", SECRET),
    ("chat", "stop_after_consecutive_protocol_violations", "0"),
    ("budget", "max_model_calls", "0"),
    ("budget", "max_tool_calls", "1.5"),
    ("budget", "max_tokens", ""),
    ("budget", "max_seconds", "0"),
    ("budget", "max_seconds", "nan"),
    ("release", "conclusion_after_stop", SECRET),
    ("model", "fallback", SECRET),
    ("model", "attempts", "9"),
    ("model", "strict_schemas", SECRET),
]


@pytest.mark.parametrize(("group", "field", "value"), INVALID)
@pytest.mark.parametrize("source", ["environment", "toml"])
def test_an_invalid_value_is_one_line_that_names_both_spellings_and_repeats_none(
    monkeypatch: pytest.MonkeyPatch, source: str, group: str, field: str, value: str
) -> None:
    variable, dotted = f"HARNESS_{group}_{field}".upper(), f"harness.{group}.{field.replace('_', '-')}"
    if source == "environment":
        monkeypatch.setenv(variable, value)
    else:
        toml(f'[harness.{group}]\n{field.replace("_", "-")} = "{value}"\n')
    with pytest.raises(SettingsError) as caught:
        load_settings()
    line = str(caught.value)
    assert variable in line
    assert dotted in line
    assert "\n" not in line
    assert SECRET not in line
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


@pytest.mark.parametrize("name", ["stop-after-consecutive-no-gains", "max_tokenz"])
def test_a_misspelled_setting_within_a_group_is_refused(name: str) -> None:
    toml(f"[harness.chat]\n{name} = 3\n")
    with pytest.raises(SettingsError, match=r"harness\.chat"):
        load_settings()


@pytest.mark.parametrize(
    "text", [f"[harness.bugdet]\nmax-tokens = 5\n# {SECRET}\n", f'[harness]\nzones = "{SECRET}"\n']
)
def test_a_misspelled_group_is_refused(text: str) -> None:
    toml(text)
    with pytest.raises(SettingsError, match=r"zhizhi\.toml.*budget, chat") as caught:
        load_settings()
    assert SECRET not in str(caught.value)


def test_a_zone_that_does_not_exist_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARNESS_ZONE", SECRET)
    with pytest.raises(SettingsError) as caught:
        load_settings()
    assert "HARNESS_ZONE" in str(caught.value)
    assert SECRET not in str(caught.value)


def test_a_record_lives_at_least_as_long_as_its_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARNESS_LEDGER_RECORD_TTL_SECONDS", "179")
    with pytest.raises(SettingsError, match=r"harness\.ledger\.record-ttl-seconds.*harness\.budget\.max-seconds"):
        load_settings()


@pytest.mark.parametrize("text", ["[harness", 'harness = "x"', "\x00", "[[harness]]\nx = 1"])
def test_a_file_that_cannot_be_read_is_one_line(text: str) -> None:
    toml(text + f"\n# {SECRET}\n")
    with pytest.raises(SettingsError) as caught:
        load_settings()
    assert "zhizhi.toml" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert SECRET not in str(caught.value)


def test_the_environment_names_another_file_which_must_be_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARNESS_CONFIG_FILE", "other.toml")
    with pytest.raises(SettingsError, match=r"other\.toml"):
        load_settings()
    toml("[harness.chat]\nstop-after-consecutive-no-gain = 4\n", "other.toml")
    assert load_settings().chat.stop_after_consecutive_no_gain == 4


def test_a_key_is_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    settings = load_settings()
    assert settings.openai_api_key is not None
    assert settings.openai_api_key.get_secret_value() == SECRET
    assert SECRET not in repr(settings) + str(settings) + settings.model_dump_json()


@pytest.mark.parametrize(
    "given",
    [
        {"locale": "fr"},
        {"zone": "Mars/Olympus"},
        {"zone": "../../etc/passwd"},
        {"as_of": "2026-06-18T15:00:00"},
        {"as_of": "0001-01-01T00:00:00Z"},
        {"limits": {}},
    ],
)
def test_a_context_that_says_anything_else_is_refused(given: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        DiagnosisContext.model_validate(given)


@pytest.mark.parametrize("blank", ["", "  "])
def test_a_blank_key_and_a_blank_endpoint_count_as_none(monkeypatch: pytest.MonkeyPatch, blank: str) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", blank)
    monkeypatch.setenv("OPENAI_BASE_URL", blank)
    settings = load_settings()
    assert settings.openai_api_key is None
    assert settings.openai_base_url is None


@pytest.mark.parametrize(
    "address",
    ["nonsense", "http://", "http://[::1", "ftp://host/v1", "https://host:99999", "http://a b/v1", "host:8000/v1"],
)
def test_an_address_that_cannot_be_asked_is_one_line_without_its_value(
    monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", address)
    with pytest.raises(SettingsError) as caught:
        load_settings()
    line = "invalid setting OPENAI_BASE_URL (harness.openai-base-url): expected an address"
    assert str(caught.value).startswith(line)
    assert address not in str(caught.value)


@pytest.mark.parametrize("key", ["密钥", "sk-a\nb", "sk a"])
def test_a_key_that_cannot_be_sent_is_one_line_without_its_value(monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with pytest.raises(SettingsError) as caught:
        load_settings()
    assert str(caught.value) == (
        "invalid setting OPENAI_API_KEY (harness.openai-api-key): expected a key in ASCII without blanks"
    )


def test_a_key_may_end_in_a_line_break(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-a\n")
    key = load_settings().openai_api_key
    assert key is not None
    assert key.get_secret_value() == "sk-a"


@pytest.mark.parametrize("address", ["http://127.0.0.1:8000/v1", "HTTPS://host", "http://[::1]:8000/v1"])
def test_an_address_that_can_be_asked_is_taken(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", f" {address}")
    assert load_settings().openai_base_url == address


def test_an_incident_directory_without_an_incident_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HARNESS_INCIDENT_DIR", str(tmp_path))
    with pytest.raises(SettingsError, match="HARNESS_INCIDENT_DIR"):
        load_settings()
    (tmp_path / "alert.json").write_text("{}")
    assert load_settings().incident_dir == tmp_path


def test_a_variable_that_is_no_json_is_one_line_without_its_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARNESS_BUDGET", "{" + SECRET)
    with pytest.raises(SettingsError) as caught:
        load_settings()
    assert "budget" in str(caught.value)
    assert SECRET not in str(caught.value)
