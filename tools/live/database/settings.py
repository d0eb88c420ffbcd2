"""Settings of the databases that may be asked: where they are, who we are there, and what may be read."""

import ipaddress
import re
from abc import abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, SecretStr, field_validator, model_validator
from typing_extensions import override

from tools.live.source import SourceSettings
from tools.vocabulary import EvidenceKind

if TYPE_CHECKING:
    from tools.live.database.mysql import MysqlSource
    from tools.live.database.postgresql import PostgresqlSource
    from tools.live.database.source import DatabaseSource

DENIED_COLUMNS = (
    *("*password*", "*passwd*", "*pwd*", "*secret*", "*token*", "*credential*", "*api_key*", "*apikey*", "*salt*"),
    *("*phone*", "*mobile*", "*email*", "*id_card*", "*idcard*", "*id_no*", "*identity*", "*passport*"),
    *("*card_no*", "*cardno*", "*card_number*", "*bank_card*", "*cvv*", "*iban*"),
)
"""What is denied unless the settings say otherwise: secrets and what tells a person, by the usual names."""

_NAME = r"[^\s.,()\"'`;]+"
_TABLE = re.compile(rf"(?:(?P<schema>{_NAME})\.)?(?P<table>{_NAME})(?:\((?P<columns>[^()]*)\))?")
_BETWEEN = re.compile(r",(?![^()]*\))")


def _whole(value: Any) -> Any:
    """Put together again what was parted at a comma within brackets: `orders(id, status)` is one table."""
    text = ",".join(map(str, value)) if isinstance(value, list | tuple) else value
    return tuple(part.strip() for part in _BETWEEN.split(text) if part.strip()) if isinstance(text, str) else value


class DatabaseSettings(SourceSettings):
    """What every database has. `tables` lists what may be read, as `table` or `schema.table`; columns in brackets
    (`orders(id, status, created_at)`) list those that may be, else it's all that `denied_columns` doesn't match.

    Without TLS only a loopback address or a socket is spoken to: there `tls = "off"` says so.
    """

    kind: ClassVar[EvidenceKind] = EvidenceKind.DATABASE
    host: str
    database: str
    user: str
    password: SecretStr | None = None
    password_file: Path | None = None
    tls: Literal["verify-full", "off"] = "verify-full"
    ca_file: Path | None = None
    tables: Annotated[tuple[str, ...], BeforeValidator(_whole)] = Field(min_length=1)
    denied_columns: tuple[str, ...] = DENIED_COLUMNS
    max_rows: int = Field(default=50, ge=1, le=500)
    max_bytes: int = Field(default=65_536, ge=1024)
    zone: str | None = None
    """The zone of times that name none, in statements and in columns; the incident's where it is None."""

    @field_validator("tables")
    @classmethod
    def _are_tables(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if not all(_TABLE.fullmatch(table) for table in value):
            raise ValueError("expected tables such as orders, public.orders or orders(id, status)")
        return value

    @field_validator("zone")
    @classmethod
    def _is_a_zone(cls, value: str | None) -> str | None:
        from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

        try:
            return value if value is None else ZoneInfo(value).key
        except (ZoneInfoNotFoundError, ValueError):
            raise ValueError("expected a zone such as Asia/Shanghai") from None

    @model_validator(mode="after")
    def _is_safe(self) -> "DatabaseSettings":
        if self.tls == "off" and not self.is_near:
            raise ValueError("tls can be off for a loopback address or a socket only")
        if self.password is not None and self.password_file is not None:
            raise ValueError("one of password and password_file is enough")
        return self

    @abstractmethod
    @override
    def open(self, name: str) -> "DatabaseSource":
        """Return the database under its name; connects to nothing."""

    @property
    def is_near(self) -> bool:
        """Whether the host is this machine: a socket's path, `localhost` or a loopback address."""
        if self.host.startswith("/") or self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    def listed(self, home: str) -> dict[str, tuple[str, ...] | None]:
        """Return the listed tables as `schema.table`, with the columns listed for each, None where all are; `home` is
        the schema of names without one."""
        found = [_TABLE.fullmatch(table) for table in self.tables]
        return {
            f"{one['schema'] or home}.{one['table']}": None
            if one["columns"] is None
            else tuple(column.strip() for column in one["columns"].split(",") if column.strip())
            for one in found
            if one is not None
        }


class PostgresqlSettings(DatabaseSettings):
    """A PostgreSQL server, or what speaks its protocol. `host` may be a directory with its socket."""

    type: Literal["postgresql"] = "postgresql"
    port: int = Field(default=5432, ge=1, le=65535)

    @override
    def open(self, name: str) -> "PostgresqlSource":
        from tools.live.database.postgresql import PostgresqlSource

        return PostgresqlSource(name, self)


class MysqlSettings(DatabaseSettings):
    """A MySQL or MariaDB server. `host` may be a socket's path."""

    type: Literal["mysql"] = "mysql"
    port: int = Field(default=3306, ge=1, le=65535)

    @override
    def open(self, name: str) -> "MysqlSource":
        from tools.live.database.mysql import MysqlSource

        return MysqlSource(name, self)
