"""Settings of a database: what can't be meant is refused, and no secret is shown."""

from typing import Any

import pytest
from pydantic import ValidationError

from tools.live.database.settings import DENIED_COLUMNS, MysqlSettings, PostgresqlSettings

FIELDS: dict[str, Any] = {"host": "db.example", "database": "shop", "user": "reader", "tables": "orders"}


def test_lists_may_be_written_as_the_environment_can() -> None:
    settings = PostgresqlSettings(
        **FIELDS | {"tables": "orders(id, status), audit.jobs ,订单", "denied_columns": "a,*b*"}
    )
    assert settings.tables == ("orders(id,status)", "audit.jobs", "订单")
    assert settings.listed("public") == {"public.orders": ("id", "status"), "audit.jobs": None, "public.订单": None}
    assert settings.denied_columns == ("a", "*b*")


def test_tls_is_verified_and_telling_columns_are_denied_unless_said_otherwise() -> None:
    settings = MysqlSettings(**FIELDS)
    assert settings.tls == "verify-full"
    assert settings.denied_columns == DENIED_COLUMNS


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.1.2.3", "::1", "/run/postgresql"])
def test_tls_may_be_off_on_this_machine(host: str) -> None:
    assert PostgresqlSettings(**FIELDS | {"host": host, "tls": "off"}).is_near


@pytest.mark.parametrize(
    "changed",
    [
        {"tls": "off"},
        {"tls": "off", "host": "10.0.0.1"},
        {"tls": "off", "host": "localhost.example"},
        {"tls": "require"},
        {"tables": ""},
        {"tables": "a.b.c"},
        {"tables": "orders; drop"},
        {"tables": 'orders"'},
        {"tables": "orders(id"},
        {"password": "x", "password_file": "/x"},
        {"max_rows": 0},
        {"max_rows": 100_000},
        {"timeout_seconds": 0},
        {"zone": "Mars/Olympus"},
        {"zone": "'; SELECT 1"},
        {"url": "postgresql://x"},
    ],
)
def test_what_cannot_be_meant_is_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        PostgresqlSettings(**FIELDS | changed)


def test_a_password_is_shown_nowhere() -> None:
    settings = PostgresqlSettings(**FIELDS | {"password": "hunter2-secret"})
    assert "hunter2" not in repr(settings) + str(settings) + settings.model_dump_json()
