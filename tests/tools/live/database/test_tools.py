"""What `query_database` asks: its scope, which database it means, and what it says before any server is asked."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.tools.live.conformance import ask, assert_tells_nothing
from tools.base import EvidenceTool, IncidentContext, SourceFailure
from tools.canonical import canonical_scope, scope_digest
from tools.live.database.settings import DatabaseSettings, MysqlSettings, PostgresqlSettings
from tools.live.database.source import DatabaseSource
from tools.live.database.tools import tools_of
from tools.vocabulary import SourceError

INCIDENT = IncidentContext(as_of=datetime(2026, 9, 8, 7, 2, 11, tzinfo=UTC), zone="Asia/Shanghai")
NOWHERE: dict[str, Any] = {"host": "127.0.0.1", "port": 1, "user": "reader", "tls": "off"}


def orders(**changed: Any) -> DatabaseSettings:
    fields = {**NOWHERE, "database": "shop", "tables": "orders(id, status, created_at), payments", **changed}
    return PostgresqlSettings.model_validate(fields)


def jobs(**changed: Any) -> DatabaseSettings:
    return MysqlSettings.model_validate({**NOWHERE, "database": "work", "tables": "jobs, payments", **changed})


@pytest.fixture
async def tool() -> AsyncIterator[EvidenceTool]:
    sources: dict[str, DatabaseSource] = {"Orders": orders().open("Orders"), "jobs": jobs().open("jobs")}
    made, _ = tools_of(sources)
    yield made
    for source in sources.values():
        await source.close()


def scope_of(tool: EvidenceTool, sql: str, database: str | None = None, incident: IncidentContext = INCIDENT) -> Any:
    return tool.normalize(tool.arguments.model_validate({"database": database, "sql": sql}), incident)


def test_equal_questions_are_one_scope(tool: EvidenceTool) -> None:
    one = scope_of(tool, "SELECT count(*) FROM orders WHERE created_at > now() - interval '1 hour' AND status = 'NEW'")
    other = scope_of(
        tool,
        "select COUNT(1) as n\nfrom public.orders o where ('NEW' = o.status) and o.created_at > "
        "current_timestamp - interval '60 minutes' -- 卡单",
        "ＯＲＤＥＲＳ",
    )
    assert scope_digest(tool.name, one) == scope_digest(tool.name, other)
    assert one["database"] == "orders"
    assert one["zone"] == "Asia/Shanghai"


def test_a_scope_is_one_window_whichever_second_it_is_asked_in(tool: EvidenceTool) -> None:
    later = INCIDENT.model_copy(update={"as_of": INCIDENT.as_of + timedelta(seconds=40)})
    sql = "SELECT count(*) FROM orders WHERE created_at > now() - interval '1 hour'"
    assert scope_of(tool, sql) == scope_of(tool, sql, incident=later)
    assert "2026-09-08 06:03:00+00:00" in scope_of(tool, sql)["sql"]


def test_another_text_or_another_window_is_another_scope(tool: EvidenceTool) -> None:
    later = INCIDENT.model_copy(update={"as_of": INCIDENT.as_of + timedelta(minutes=2)})
    sql = "SELECT count(*) FROM orders WHERE created_at > now() AND status = '{}'"
    asked = [scope_of(tool, sql.format("new")), scope_of(tool, sql.format("NEW"))]
    asked.append(scope_of(tool, sql.format("new"), incident=later))
    assert len({scope_digest(tool.name, scope) for scope in asked}) == 3


def test_a_scope_survives_being_normalized_again(tool: EvidenceTool) -> None:
    scope = scope_of(tool, "SELECT status FROM orders WHERE status = 'Weiß Ａ'")
    assert "'Weiß Ａ'" in scope["sql"]
    assert canonical_scope(scope, exact=frozenset(scope)) == scope
    assert scope_of(tool, scope["sql"], scope["database"]) == scope


@pytest.mark.parametrize(("sql", "database"), [("SELECT id FROM orders", "orders"), ("SELECT id FROM jobs", "jobs")])
def test_null_is_the_database_that_has_the_tables(tool: EvidenceTool, sql: str, database: str) -> None:
    assert scope_of(tool, sql)["database"] == database


def test_null_where_several_databases_have_the_tables_has_no_meaning(tool: EvidenceTool) -> None:
    with pytest.raises(ValueError, match="database"):
        scope_of(tool, "SELECT id FROM payments")
    assert scope_of(tool, "SELECT id FROM payments", "jobs")["database"] == "jobs"


@pytest.mark.parametrize(
    ("database", "sql", "code", "field", "near"),
    [
        ("order", "SELECT id FROM orders", SourceError.UNKNOWN_SELECTOR, "database", "orders"),
        ("orders", "SELECT id FROM order_s", SourceError.UNKNOWN_SELECTOR, "sql", "public.orders"),
        (None, "SELECT id FROM paiments", SourceError.UNKNOWN_SELECTOR, "sql", "public.payments"),
        ("orders", "SELECT pg_sleep(9), id FROM orders", SourceError.QUERY_REJECTED, "sql", "FUNCTION_NOT_ALLOWED"),
        (None, "DROP TABLE orders", SourceError.QUERY_REJECTED, "sql", "ONE_SELECT_ONLY"),
        (None, "", SourceError.QUERY_REJECTED, "sql", "ONE_SELECT_ONLY"),
        (None, "查一下卡住的订单", SourceError.QUERY_REJECTED, "sql", "ONE_SELECT_ONLY"),
    ],
)
async def test_what_cannot_be_asked_is_an_error_of_the_source_that_asks_no_server(
    tool: EvidenceTool, database: str | None, sql: str, code: SourceError, field: str, near: str
) -> None:
    with pytest.raises(SourceFailure) as caught:
        await ask(tool, {"database": database, "sql": sql}, INCIDENT)
    assert (caught.value.code, caught.value.field) == (code, field)
    assert near in caught.value.near_names


async def test_a_scope_from_elsewhere_is_checked_again(tool: EvidenceTool) -> None:
    scope = {"database": "orders", "sql": "DELETE FROM orders", "zone": "UTC"}
    with pytest.raises(SourceFailure) as caught:
        await tool.collect(scope, None, INCIDENT)
    assert caught.value.code is SourceError.QUERY_REJECTED


def test_the_description_tells_every_table_and_stays_bounded(tool: EvidenceTool) -> None:
    assert "orders (PostgreSQL): orders(id, status, created_at); payments" in tool.description
    assert "jobs (MySQL): jobs; payments" in tool.description
    many = orders(tables=",".join(f"table_number_{number}" for number in range(900)))
    large, _ = tools_of({"many": many.open("many")})
    assert len(large.description) <= 4000


def test_what_is_pasted_is_the_statement_for_the_databases_own_client(tool: EvidenceTool) -> None:
    scope = scope_of(tool, "SELECT id FROM orders")
    assert tool.paste(scope) == '-- orders\nSELECT "id" FROM "public"."orders" AS "t";'


async def test_a_password_that_would_travel_in_the_open_is_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    def needs_a_package(**_: Any) -> None:
        raise RuntimeError("'cryptography' package is required for sha256_password or caching_sha2_password")

    monkeypatch.setattr("pymysql.connect", needs_a_package)
    with pytest.raises(SourceFailure) as caught:
        await jobs().open("jobs").probe()
    assert (caught.value.code, caught.value.field) == (SourceError.ACCESS_DENIED, "tls")
    assert_tells_nothing(caught.value)
