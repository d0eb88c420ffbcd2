"""Settings of the process (environment and TOML, read once) and the context of one run.

Source: spec "Consecutive no-gain threshold SHALL be fixed per Run"; design, "Public names".
"""

import os
import tomllib
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import (
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    SerializeAsAny,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic_settings import BaseSettings, InitSettingsSource, PydanticBaseSettingsSource, SettingsConfigDict
from pydantic_settings import SettingsError as UnreadableVariable

from graph.contract.limits import Budgets, Limits, Thresholds
from graph.models.calling import ModelCapabilities
from graph.setting_errors import SettingsError, first_line
from graph.sources import configured_sources, source_tables
from tools.live.source import SourceSettings

CONFIG_FILE_VARIABLE = "HARNESS_CONFIG_FILE"
DEFAULT_CONFIG_FILE = "zhizhi.toml"
DEFAULT_ZONES = {"zh": "Asia/Shanghai", "en": "UTC"}
"""The zone of times that name none, by locale, where nobody configured one."""


class _Group(BaseModel):
    model_config = ConfigDict(extra="forbid")


class ChatSettings(Thresholds):
    """Thresholds of collection: `harness.chat`."""


class BudgetSettings(Budgets):
    """The six budgets: `harness.budget`."""


class ReleaseSettings(_Group):
    """How a conclusion that comes after a stop is read: `harness.release`."""

    conclusion_after_stop: Literal["verify", "fallback"] = "verify"


class LedgerSettings(_Group):
    """How long a canonical record lives: `harness.ledger`. Never shorter than a run's time budget."""

    record_ttl_seconds: float = Field(default=24 * 3600.0, gt=0)


class RecordSettings(_Group):
    """The key that signs run records: `harness.record`. The text itself, or a file whose bytes, less white space at
    both ends, are the key; the text wins."""

    key: SecretStr | None = Field(default=None, min_length=1)
    key_file: Path | None = None

    def key_bytes(self) -> bytes | None:
        """Return the key, None where none is configured; raises SettingsError where the file can't be read."""
        if self.key is not None or self.key_file is None:
            return self.key.get_secret_value().encode() if self.key else None
        try:
            key = self.key_file.read_bytes().strip()
        except OSError:
            key = b""
        if not key:
            raise SettingsError("HARNESS_RECORD_KEY_FILE (harness.record.key-file) names no readable key")
        return key


class ToolSettings(_Group):
    """Bounds of one evidence query: `harness.tool`."""

    timeout_seconds: float = Field(default=30.0, gt=0)
    observation_bytes: int = Field(default=8 * 1024, ge=256)


class _Asking(_Group):
    default: str = "gpt-4.1-mini"
    router: str | None = None
    diagnosis: str | None = None
    evidence_repair: str | None = None
    semantic_guard: str | None = None
    fallback: Literal["offline", "none"] = "offline"
    timeout_seconds: float = Field(default=60.0, gt=0)
    connect_timeout_seconds: float = Field(default=5.0, gt=0)
    attempts: int = Field(default=2, ge=1, le=5)
    temperature: float = Field(default=0.0, ge=0, le=2)
    temperature_sent: bool = True
    max_tokens: int = Field(default=4096, ge=64)
    max_tokens_field: Literal["max_completion_tokens", "max_tokens"] = "max_completion_tokens"


class ModelSettings(ModelCapabilities, _Asking):
    """Model names by component, waits, attempts, and what the endpoint can do: `harness.model`."""

    def capabilities(self) -> ModelCapabilities:
        """Return what the endpoint can do, as the flags say; never guessed from a model's name."""
        return ModelCapabilities(**self.model_dump(include=set(ModelCapabilities.model_fields)))


class HarnessSettings(BaseSettings):
    """The process's settings. Environment (`HARNESS_BUDGET_MAX_TOKENS`) wins over TOML (`harness.budget.max-tokens`).

    Raises pydantic's ValidationError where a value is invalid; `load_settings` turns it into one clear line.
    """

    model_config = SettingsConfigDict(
        env_prefix="HARNESS_",
        env_nested_delimiter="_",
        env_nested_max_split=1,
        extra="ignore",
        populate_by_name=True,
    )

    chat: ChatSettings = ChatSettings()
    budget: BudgetSettings = BudgetSettings()
    release: ReleaseSettings = ReleaseSettings()
    ledger: LedgerSettings = LedgerSettings()
    record: RecordSettings = RecordSettings()
    tool: ToolSettings = ToolSettings()
    model: ModelSettings = ModelSettings()
    zone: str | None = None
    incident_dir: Path | None = None
    sources: dict[str, SerializeAsAny[SourceSettings]] = {}
    openai_api_key: SecretStr | None = Field(default=None, validation_alias="OPENAI_API_KEY")
    openai_base_url: str | None = Field(default=None, validation_alias="OPENAI_BASE_URL")

    @field_validator("zone")
    @classmethod
    def _zone_exists(cls, value: str | None) -> str | None:
        return None if value is None else known_zone(value)

    @field_validator("incident_dir")
    @classmethod
    def _incident_is_there(cls, value: Path | None) -> Path | None:
        return None if value is None else known_incident(value)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        table = _toml_table({*cls.model_fields, "source"} - {"sources"})
        sources = source_tables(os.environ, table.pop("source", {}))
        table |= {"sources": sources} if sources else {}
        return init_settings, env_settings, InitSettingsSource(settings_cls, table)

    @field_validator("sources", mode="before")
    @classmethod
    def _sources_are_known(cls, value: Any) -> Any:
        return configured_sources(value) if isinstance(value, Mapping) else value

    @field_validator("openai_api_key", "openai_base_url", mode="before")
    @classmethod
    def _blank_is_absent(cls, value: Any) -> Any:
        return None if isinstance(value, str) and not value.strip() else value

    @field_validator("openai_api_key")
    @classmethod
    def _key_can_be_sent(cls, value: SecretStr | None) -> SecretStr | None:
        said = value.get_secret_value().strip() if value else ""
        if not said.isascii() or not said.isprintable() or " " in said:
            raise ValueError("expected a key in ASCII without blanks")
        return SecretStr(said) if said else None

    @field_validator("openai_base_url")
    @classmethod
    def _base_url_is_one(cls, value: str | None) -> str | None:
        return None if value is None else known_url(value.strip())

    @model_validator(mode="after")
    def _records_outlive_runs(self) -> "HarnessSettings":
        if self.ledger.record_ttl_seconds < self.budget.max_seconds:
            raise ValueError("harness.ledger.record-ttl-seconds must be at least harness.budget.max-seconds")
        return self

    def has_endpoint(self) -> bool:
        """Return whether a model endpoint is configured: a key, or the address of a server that may need none."""
        return self.openai_api_key is not None or self.openai_base_url is not None

    def frozen_incident(self) -> Path | None:
        """Return the frozen incident's directory where no live source is configured: live sources come first."""
        return None if self.sources else self.incident_dir

    def limits(self) -> Limits:
        """Return the limits that a new run copies."""
        return Limits(
            **self.chat.model_dump(),
            **self.budget.model_dump(),
            model_attempts=self.model.attempts,
            model_timeout_seconds=self.model.timeout_seconds,
            tool_timeout_seconds=self.tool.timeout_seconds,
            observation_bytes_each=self.tool.observation_bytes,
            record_ttl_seconds=self.ledger.record_ttl_seconds,
            conclusion_after_stop=self.release.conclusion_after_stop,
            model_fallback=self.model.fallback,
        )


class DiagnosisContext(BaseModel):
    """What the caller of one run may say: the language of published texts, the zone of zone-less times, the moment.

    `zone` (IANA) is None for the settings' zone; `as_of` (aware) is None for the incident's own time or the clock.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    locale: Literal["zh", "en"] = "zh"
    zone: str | None = None
    as_of: AwareDatetime | None = None

    @field_validator("zone")
    @classmethod
    def _zone_exists(cls, value: str | None) -> str | None:
        return None if value is None else known_zone(value)

    @field_validator("as_of")
    @classmethod
    def _as_of_is_plausible(cls, value: datetime | None) -> datetime | None:
        if value is not None and not plausible(value):
            raise ValueError("no incident is of that year")
        return value

    def moment(self) -> datetime | None:
        """Return `as_of` in UTC, or None."""
        return self.as_of.astimezone(UTC) if self.as_of else None


def plausible(moment: datetime) -> bool:
    """Return whether an incident can be of `moment`: not the zero time of some client, whose windows can't be told."""
    return 1970 <= moment.year < 2200


def known_url(address: str) -> str:
    """Return the address of a server; raises ValueError where it's none that can be asked."""
    try:
        parts = urlsplit(address)
        asked = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        asked = False
    if not asked or not address.isprintable() or " " in address:
        raise ValueError("expected an address such as https://host/v1")
    return address


def known_zone(name: str) -> str:
    """Return the name of an IANA time zone; raises ValueError where there's none of that name."""
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError("no such time zone; use an IANA name such as Asia/Shanghai") from None
    return name


def known_incident(directory: Path) -> Path:
    """Return a frozen incident's directory; raises ValueError where it holds none."""
    # The readers take half a second to load, which settings that name no incident needn't wait for.
    from tools.frozen.layout import IncidentDirectoryError, check_directory

    try:
        check_directory(directory)
    except IncidentDirectoryError as error:
        raise ValueError(str(error)) from None
    return directory


def load_settings() -> HarnessSettings:
    """Read the environment and the TOML file. Raises SettingsError with one clear line where they can't be used."""
    try:
        return HarnessSettings()
    except ValidationError as error:
        line = first_line(error)
    except UnreadableVariable as error:
        line = f"invalid settings: {error}"
    raise SettingsError(line)


def _toml_table(known: set[str]) -> dict[str, Any]:
    """Return the `[harness]` table of the TOML file that `HARNESS_CONFIG_FILE` names, else of a `zhizhi.toml` here.

    Raises SettingsError where it can't be read or holds a key that isn't `known`: a misspelled limit must not be none.
    """
    named = os.environ.get(CONFIG_FILE_VARIABLE)
    path = Path(named or DEFAULT_CONFIG_FILE)
    if not named and not path.is_file():
        return {}
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8")).get("harness", {})
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        table = None
    if not isinstance(table, dict):
        raise SettingsError(f"invalid settings file {path.name}: expected readable TOML with a [harness] table")
    found = _snake_keys(table)
    if not set(found) <= known:
        raise SettingsError(f"invalid settings file {path.name}: [harness] knows {', '.join(sorted(known))}")
    return found


def _snake_keys(table: dict[str, Any]) -> dict[str, Any]:
    return {
        key.replace("-", "_"): _snake_keys(value) if isinstance(value, dict) else value for key, value in table.items()
    }
