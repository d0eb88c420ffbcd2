# ruff: noqa: E501, S608 -- what the server is filled with
"""MariaDB keeps what every database keeps; asked of a real server through what speaks to MySQL, too."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from typing_extensions import override

from tests.live.servers.mariadb import Mariadb, start_mariadb
from tests.live.servers.prometheus import needs
from tests.tools.live.conformance import TOKEN
from tests.tools.live.database.situations import HOSTILE, DatabaseConformance, reader
from tests.tools.live.database.test_page import blocks
from tools.base import SourceFailure
from tools.live.database.settings import DatabaseSettings, MysqlSettings
from tools.vocabulary import SourceError

_TABLES = (
    "CREATE DATABASE shop CHARACTER SET utf8mb4",
    "USE shop",
    """CREATE TABLE orders (id int PRIMARY KEY, status varchar(10), amount decimal(12, 2), created_at datetime,
        phone varchar(20), note text, service varchar(20))""",
    """INSERT INTO orders SELECT seq, IF(seq % 3 = 0, 'STUCK', 'PAID'), seq * 1.5,
        '2026-09-08 05:00:00' + INTERVAL seq MINUTE, '13800138000', NULL, 'payment' FROM seq_1_to_90""",
    "CREATE TABLE payments (id int, order_id int, state varchar(10))",
    "CREATE TABLE hidden (id int)",
    "CREATE TABLE wide (id int, body longtext)",
    "INSERT INTO wide SELECT seq, repeat('x', 200000) FROM seq_1_to_8",
    """CREATE TABLE shapes (id bigint unsigned, stage enum('NEW', 'DONE'), document json, raw blob, waited time, day date,
        made timestamp NULL, ratio double, flag bool, bits bit(4))""",
    """INSERT INTO shapes VALUES (1, 'DONE', '{"a": 1}', x'00ff', '00:01:30', '2026-09-08', NULL, 0.1234567, true, b'101'),
        (18446744073709551615, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)""",
    "SET time_zone = '+00:00'",
    "UPDATE shapes SET made = '2026-09-08 06:00:00' WHERE id = 1",
    *(f"CREATE USER {user} IDENTIFIED BY '{TOKEN}'" for user in ("reader", "writer", "columned", "filer", "roled", "watcher")),
    *(f"GRANT SELECT ON shop.{table} TO reader" for table in ("orders", "payments", "wide", "shapes")),
    "GRANT SELECT, INSERT ON shop.* TO writer",
    "GRANT SELECT, UPDATE (note) ON shop.orders TO columned",
    "GRANT SELECT ON shop.orders TO watcher",
    "GRANT PROCESS ON *.* TO watcher",
    "GRANT FILE ON *.* TO filer",
    "GRANT SELECT ON shop.orders TO filer, roled",
    "CREATE ROLE editors",
    "GRANT DELETE ON shop.orders TO editors",
    "GRANT editors TO roled",
)  # fmt: skip


@pytest.fixture(scope="module")
def server() -> Iterator[Mariadb]:
    with start_mariadb() as running:
        running.run(*_TABLES)
        text = HOSTILE.replace("\n", "\\n")
        running.run("SET NAMES utf8mb4", f"UPDATE shop.orders SET note = '{text}' WHERE id = 1")
        yield running


@pytest.fixture(scope="module")
def certified(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Mariadb, Path]]:
    openssl = needs("openssl", "openssl")
    directory = tmp_path_factory.mktemp("tls")
    key, certificate = directory / "key.pem", directory / "certificate.pem"
    command = [
        *(openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1"),
        *("-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)),
    ]
    subprocess.run(command, check=True, capture_output=True)
    with start_mariadb([f"--ssl-cert={certificate}", f"--ssl-key={key}"]) as running:
        running.run(
            *("CREATE DATABASE shop", "CREATE TABLE shop.orders (id int)", "INSERT INTO shop.orders VALUES (7)"),
            *(f"CREATE USER reader IDENTIFIED BY '{TOKEN}' REQUIRE SSL", "GRANT SELECT ON shop.orders TO reader"),
        )
        yield running, certificate


class TestMariadb(DatabaseConformance):
    """A MariaDB server of Debian's package `mariadb-server`."""

    @pytest.fixture(autouse=True)
    def _running(self, server: Mariadb) -> None:
        self.server = server

    @override
    def settings(self, **changed: Any) -> DatabaseSettings:
        return reader(MysqlSettings, self.server.port, changed)

    @override
    def running(self) -> list[str]:
        active = "SELECT info FROM information_schema.processlist WHERE user = 'reader' AND command = 'Query'"
        return [str(row[0]) for row in self.server.run(active)]

    @override
    def sessions(self) -> int:
        return len(self.server.run("SELECT id FROM information_schema.processlist WHERE user = 'reader'"))

    @override
    def break_sessions(self) -> None:
        self.server.run("KILL CONNECTION USER reader")

    @override
    def minutes_ago(self, minutes: int) -> str:
        return f"now() - interval {minutes} minute"

    @pytest.mark.parametrize(
        ("expression", "value"),
        [
            ("timestampdiff(minute, min(created_at), max(created_at))", "89"),
            ("date_format(max(created_at), '%H:%i')", "06:30"),
            ("sum(if(status = 'STUCK', 1, 0))", "30"),
            ("ifnull(max(note), max(status))", None),
            ("hour(max(created_at))", "6"),
            ("max(unix_timestamp() - unix_timestamp(created_at))", "7260"),
            ("from_unixtime(unix_timestamp(max(created_at)))", "2026-09-08T06:30:00Z"),
            ("timediff(now(), max(created_at))", "1920s"),
            ("datediff(now(), max(created_at))", "0"),
            ("truncate(avg(amount), 1)", "68.2"),
            ("max(date_add(created_at, interval 1 day))", "2026-09-09T06:30:00Z"),
            ("count(distinct date(created_at), status)", "2"),
            ("max(amount) div 2 + mod(count(*), 7)", "73"),
            ("max(cast(amount as signed))", "135"),
        ],
    )
    async def test_the_functions_of_the_dialect_are_understood(self, expression: str, value: str | None) -> None:
        await self.assert_understood(expression, value)

    @override
    @contextmanager
    def two_writers_of_one_row(self) -> Iterator[None]:
        update = "UPDATE shop.orders SET note = note WHERE id = 3"
        waiting = "SELECT trx_id FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'"
        with self.server.session("BEGIN", update, "DO SLEEP(60)"), self.server.session("BEGIN", update):
            while not self.server.run(waiting):
                pass
            yield

    async def test_the_slow_log_can_be_listed(self) -> None:
        self.server.run(
            "SET GLOBAL log_output = 'TABLE'", "SET SESSION long_query_time = 0", "SET GLOBAL slow_query_log = ON"
        )
        self.server.run("SET SESSION long_query_time = 0, slow_query_log = ON", "SELECT count(*) FROM shop.payments")
        self.server.run("SET GLOBAL slow_query_log = OFF", "GRANT SELECT ON mysql.slow_log TO watcher")
        sql = "SELECT query_time, rows_examined, sql_text FROM slow_log WHERE sql_text LIKE '%payments%'"
        evidence = await self.asked(sql.replace("slow_log", "mysql.slow_log"), user="watcher", tables="mysql.slow_log")
        assert evidence.content[0].endswith("| sql_text: SELECT count(*) FROM shop.payments")

    @pytest.mark.parametrize("user", ["columned", "filer", "roled"])
    async def test_any_way_to_write_counts(self, user: str) -> None:
        assert (await self.failure(user=user)).near_names == ("ROLE_MAY_WRITE",)

    async def test_root_over_the_socket_may_write(self) -> None:
        failure = await self.failure(host=str(self.server.socket), user="root", password=None)
        assert failure.near_names == ("ROLE_MAY_WRITE",)

    async def test_every_type_is_told_in_its_plain_form(self) -> None:
        evidence = await self.asked("SELECT * FROM shapes ORDER BY id", tables="shapes")
        assert evidence.content == (
            "row service=shop table=shapes id=1 stage=DONE raw=2_bytes waited=90s day=2026-09-08"
            ' made=2026-09-08T06:00:00Z ratio=0.123457 flag_column=1 bits=1_bytes | document: {"a": 1}',
            "row service=shop table=shapes id=18446744073709551615 stage=- document=- raw=- waited=- day=-"
            " made=- ratio=- flag_column=- bits=-",
        )
        assert evidence.notes == ("ZONE_ASSUMED:UTC",)

    async def test_a_timestamp_is_the_same_moment_in_every_zone(self) -> None:
        evidence = await self.asked("SELECT made FROM shapes WHERE id = 1", tables="shapes", zone="Asia/Shanghai")
        assert evidence.content == ("row service=shop table=shapes made=2026-09-08T06:00:00Z",)

    async def test_a_datetime_is_in_the_zone_of_the_source(self) -> None:
        evidence = await self.asked("SELECT created_at FROM orders WHERE id = 1", zone="Asia/Shanghai")
        assert evidence.content == ("row service=shop table=orders created_at=2026-09-07T21:01:00Z",)
        assert evidence.notes == ("ZONE_ASSUMED:Asia/Shanghai",)

    async def test_a_text_is_read_as_it_was_written_whatever_the_servers_mode_is(self) -> None:
        self.server.run("SET GLOBAL sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT'")
        try:
            evidence = await self.asked(r"SELECT count(*) FROM orders WHERE note = 'x\' OR id > 0 OR note = \'y'")
        finally:
            self.server.run("SET GLOBAL sql_mode = DEFAULT")
        assert evidence.content[0].endswith("count=0")

    @override
    def make_the_role_of_the_page(self) -> None:
        self.server.run(*(one for one in blocks("sql")[1].split(";") if one.strip()))


class TestMariadbOverTls:
    """A MariaDB that speaks TLS with a certificate of our own authority."""

    async def _asked(self, certified: tuple[Mariadb, Path], **changed: Any) -> str:
        settings = reader(MysqlSettings, certified[0].port, {"tls": "verify-full", "tables": "orders", **changed})
        source = settings.open("shop")
        try:
            probe = await source.probe()
        finally:
            await source.close()
        return probe.sample

    async def test_a_certificate_of_a_known_authority_is_accepted(self, certified: tuple[Mariadb, Path]) -> None:
        assert "1 of 1 tables" in await self._asked(certified, ca_file=certified[1])

    async def test_a_certificate_of_nobody_is_refused(self, certified: tuple[Mariadb, Path]) -> None:
        with pytest.raises(SourceFailure) as caught:
            await self._asked(certified)
        assert caught.value.code is SourceError.BACKEND_UNAVAILABLE

    async def test_a_certificate_of_another_name_is_refused(self, certified: tuple[Mariadb, Path]) -> None:
        with pytest.raises(SourceFailure) as caught:
            await self._asked(certified, host="localhost", ca_file=certified[1])
        assert caught.value.code is SourceError.BACKEND_UNAVAILABLE
