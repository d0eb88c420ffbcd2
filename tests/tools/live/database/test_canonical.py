# ruff: noqa: E501, S608 -- pairs are read side by side; statements are what this is about
"""Equal statements are one scope, different ones stay different."""

import pytest

from tests.tools.live.database.statements import BOTH, MYSQL, POSTGRESQL, spelled
from tools.live.database.admission import Tables

dialects = pytest.mark.parametrize("tables", BOTH, ids=lambda tables: str(tables.dialect))

EQUAL = [
    ("SELECT id FROM orders", "select  ID\nfrom\tOrders -- 全部\n;"),
    ("SELECT id FROM orders", "SELECT o.id FROM orders AS o"),
    ("SELECT id FROM orders", "SELECT id AS number FROM orders"),
    ("SELECT id FROM orders", "SELECT id FROM orders WHERE 1=1"),
    ("SELECT count(*) FROM orders", "SELECT count(1) AS n FROM orders"),
    ("SELECT count(*) n FROM orders GROUP BY status ORDER BY n", "SELECT count(1) c FROM orders GROUP BY status ORDER BY c ASC"),
    ("SELECT id FROM orders WHERE id = 1 AND status = 'x'", "SELECT id FROM orders WHERE ('x' = status) AND 1 = id"),
    ("SELECT id FROM orders WHERE id = 1 AND status = 'x'", "SELECT id FROM orders WHERE 1=1 AND (status = 'x' AND id = 1)"),
    ("SELECT id FROM orders WHERE amount > 3", "SELECT id FROM orders WHERE 3 < amount"),
    ("SELECT id FROM orders WHERE id <> 3", "SELECT id FROM orders WHERE id != 3"),
    ("SELECT id FROM orders WHERE id IN (1, 2)", "SELECT id FROM orders WHERE id IN (2, 1, 2)"),
    ("SELECT id FROM orders WHERE id = 1 OR id = 2 OR id = 3", "SELECT id FROM orders WHERE id = 3 OR (id = 2 OR id = 1)"),
    (
        "SELECT o.id FROM orders o JOIN payments p ON o.id = p.order_id",
        "SELECT o.id FROM orders AS o INNER JOIN payments AS p ON p.order_id = o.id",
    ),
    (
        "SELECT o.id FROM orders o LEFT JOIN payments p ON o.id = p.order_id",
        "SELECT o.id FROM orders o LEFT OUTER JOIN payments p ON o.id = p.order_id",
    ),
    ("WITH a AS (SELECT id FROM orders) SELECT id FROM a", "WITH b AS (SELECT id FROM orders) SELECT x.id FROM b AS x"),
]  # fmt: skip

DIFFERENT = [
    ("SELECT id FROM orders WHERE status = 'paid'", "SELECT id FROM orders WHERE status = 'PAID'"),
    ("SELECT id FROM orders WHERE amount > 3", "SELECT id FROM orders WHERE amount < 3"),
    ("SELECT id FROM orders WHERE amount - 1 > 3", "SELECT id FROM orders WHERE 1 - amount > 3"),
    ("SELECT id FROM orders WHERE id = 1 AND id = 2 OR id = 3", "SELECT id FROM orders WHERE id = 1 AND (id = 2 OR id = 3)"),
    ("SELECT id FROM orders ORDER BY id", "SELECT id FROM orders ORDER BY id DESC"),
    ("SELECT id FROM orders LIMIT 5", "SELECT id FROM orders LIMIT 6"),
    ("SELECT count(id) FROM orders", "SELECT count(*) FROM orders"),
    ("SELECT count(DISTINCT id) FROM orders", "SELECT count(id) FROM orders"),
    ("SELECT id FROM orders UNION SELECT id FROM payments", "SELECT id FROM orders UNION ALL SELECT id FROM payments"),
    ("SELECT id FROM orders", "SELECT id FROM payments"),
    ("SELECT NOT (id = 1 AND amount = 2) FROM orders", "SELECT NOT id = 1 AND amount = 2 FROM orders"),
    ("SELECT id FROM orders WHERE amount = 1", "SELECT id FROM orders WHERE NOT (amount = 1)"),
]  # fmt: skip


@dialects
@pytest.mark.parametrize(("one", "other"), EQUAL)
def test_equal_statements_have_one_spelling(one: str, other: str, tables: Tables) -> None:
    assert spelled(one, tables) == spelled(other, tables)


@dialects
@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_different_statements_stay_different(one: str, other: str, tables: Tables) -> None:
    assert spelled(one, tables) != spelled(other, tables)


@pytest.mark.parametrize(
    "said",
    [
        "created_at > now() - interval '30 minutes'",
        "created_at > current_timestamp - interval '1800 seconds'",
        "created_at > NOW() - INTERVAL '1 hour' + interval '30 min'",
        "(now() - interval '0.5 hour') < created_at",
        "created_at > clock_timestamp() - interval '30' minute",
    ],
)
def test_relative_times_become_the_incidents_minute_in_postgresql(said: str) -> None:
    sql = spelled(f"SELECT id FROM orders WHERE {said}", POSTGRESQL)
    assert sql.endswith("""WHERE "created_at" > CAST('2026-06-18 14:34:00+00:00' AS TIMESTAMPTZ)""")


@pytest.mark.parametrize(
    "said",
    [
        "created_at > now() - interval 30 minute",
        "created_at > date_sub(now(), interval 1800 second)",
        "created_at > sysdate() - interval '0.5' hour",
        "date_add(now(3), interval 30 minute) - interval 1 hour < created_at",
        "created_at > localtimestamp - interval 30 minute",
    ],
)
def test_relative_times_become_the_incidents_minute_in_mysql(said: str) -> None:
    sql = spelled(f"SELECT id FROM orders WHERE {said}", MYSQL)
    assert sql.endswith("WHERE `created_at` > CAST('2026-06-18 22:34:00' AS DATETIME)")


@pytest.mark.parametrize(
    ("tables", "said", "pinned"),
    [
        (POSTGRESQL, "current_date", "CAST('2026-06-18' AS DATE)"),
        (POSTGRESQL, "localtimestamp", "CAST('2026-06-18 23:04:00' AS TIMESTAMP)"),
        (POSTGRESQL, "now() - interval '1 month'", "CAST('2026-06-18 15:04:00+00:00' AS TIMESTAMPTZ) - INTERVAL '1 MONTH'"),
        (MYSQL, "curdate()", "CAST('2026-06-18' AS DATE)"),
        (MYSQL, "utc_timestamp()", "CAST('2026-06-18 15:04:00' AS DATETIME)"),
        (MYSQL, "from_unixtime(unix_timestamp() - 60)", "FROM_UNIXTIME(1781795040 - 60)"),
    ],
)  # fmt: skip
def test_every_clock_stands_still(tables: Tables, said: str, pinned: str) -> None:
    assert spelled(f"SELECT id FROM orders WHERE created_at >= {said}", tables).endswith(f">= {pinned}")
