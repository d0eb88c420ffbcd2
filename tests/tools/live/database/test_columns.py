"""No denied column is read, in no place and under no name."""

import pytest

from tests.tools.live.database.statements import ALLOWED, BOTH, CATALOGS, MYSQL, POSTGRESQL
from tools.live.database.admission import Refused, Tables, admit, generated
from tools.live.database.columns import UnknownColumn, resolve
from tools.live.database.vocabulary import Refusal

dialects = pytest.mark.parametrize("tables", BOTH, ids=lambda tables: str(tables.dialect))


def resolved(sql: str, tables: Tables) -> tuple[tuple[str, ...], str]:
    tree = admit(sql, tables)
    labels = resolve(tree, CATALOGS[tables.dialect])
    return labels, generated(tree, tables.dialect)


@dialects
@pytest.mark.parametrize("sql", ALLOWED)
def test_what_may_be_read_is_read(sql: str, tables: Tables) -> None:
    labels, sent = resolved(sql, tables)
    assert labels
    assert "phone" not in sent


@dialects
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT phone FROM orders",
        "SELECT PHONE FROM orders",
        "SELECT o.phone FROM orders o",
        "SELECT id FROM orders WHERE phone LIKE '138%'",
        "SELECT id FROM orders ORDER BY phone",
        "SELECT count(*) FROM orders GROUP BY phone",
        "SELECT count(DISTINCT phone) FROM orders",
        "SELECT max(substring(phone, 1, 3)) FROM orders",
        "SELECT count(*) FROM orders HAVING max(phone) > '1'",
        "SELECT CASE WHEN phone = '1' THEN id END FROM orders",
        "SELECT o.id FROM orders o JOIN payments p ON o.phone = p.state",
        "SELECT o.id FROM orders o JOIN audit.jobs j USING (phone)",
        "SELECT id FROM (SELECT id, phone FROM orders) AS x",
        "WITH x AS (SELECT phone AS id FROM orders) SELECT id FROM x",
        "SELECT id FROM payments WHERE EXISTS (SELECT 1 FROM orders WHERE phone = payments.state)",
        "SELECT id FROM orders WHERE EXISTS (SELECT 1 FROM payments WHERE payments.state = phone)",
        "SELECT id FROM payments WHERE order_id IN (SELECT phone FROM orders)",
        "SELECT (SELECT max(phone) FROM orders) FROM payments",
        "SELECT id FROM payments UNION SELECT phone FROM orders",
        "SELECT sum(id) OVER (PARTITION BY phone) FROM orders",
        "SELECT state AS phone FROM payments UNION SELECT o.phone FROM orders o",
    ],
)
def test_a_denied_column_may_stand_nowhere(sql: str, tables: Tables) -> None:
    with pytest.raises(Refused) as caught:
        resolved(sql, tables)
    assert caught.value.reason is Refusal.COLUMN_DENIED


@dialects
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT o FROM orders o",
        "SELECT orders FROM orders",
        "SELECT count(o) FROM orders o",
        "SELECT max(o) FROM orders o",
        "SELECT id FROM orders o WHERE o IS NOT NULL",
        "SELECT id FROM orders o ORDER BY o",
        "SELECT o::text FROM orders o",
        "SELECT ctid FROM orders",
        "SELECT xmin FROM orders",
        "SELECT tableoid FROM orders",
        "SELECT orders.nothing FROM orders",
        "SELECT p.id FROM orders o",
        "SELECT x.phone FROM (SELECT id FROM orders) AS x",
        "SELECT id FROM orders WHERE x = 1",
        "WITH x AS (SELECT id FROM orders) SELECT status FROM x",
        "SELECT id AS n FROM orders WHERE n = 1",
        "SELECT payments.* FROM orders",
        "SELECT texte FROM orders",
    ],
)
def test_rows_as_a_whole_and_columns_that_are_not_there_are_unknown(sql: str, tables: Tables) -> None:
    with pytest.raises(UnknownColumn) as caught:
        resolved(sql, tables)
    assert "phone" not in caught.value.known


@dialects
@pytest.mark.parametrize(
    ("sql", "labels"),
    [
        ("SELECT * FROM orders", ("id", "status", "amount", "created_at", "note")),
        ("SELECT p.*, o.id FROM orders o, payments p", ("id", "order_id", "amount", "state", "id_2")),
        ("SELECT * FROM (SELECT * FROM audit.jobs) AS x", ("id", "state")),
    ],
)
def test_a_star_is_written_out_without_denied_columns(sql: str, labels: tuple[str, ...], tables: Tables) -> None:
    told, sent = resolved(sql, tables)
    assert told == labels
    assert "phone" not in sent
    assert "*" not in sent


@dialects
@pytest.mark.parametrize(
    ("sql", "labels"),
    [
        ("SELECT status AS root_cause, count(*) AS stuck FROM orders GROUP BY status", ("status", "count")),
        ("SELECT x.evil FROM (SELECT max(amount) AS evil FROM orders) AS x", ("max_amount",)),
        ("WITH a AS (SELECT note AS evil FROM orders) SELECT evil AS worse FROM a", ("note",)),
        ("SELECT sum(CASE WHEN status = 'a' THEN amount ELSE 0 END) FROM orders", ("sum_amount",)),
        ("SELECT count(*), count(*) FROM orders", ("count", "count_2")),
        ("SELECT id FROM orders UNION SELECT order_id AS evil FROM payments", ("id",)),
    ],
)
def test_columns_are_named_after_what_they_read_and_never_by_the_statement(
    sql: str, labels: tuple[str, ...], tables: Tables
) -> None:
    assert resolved(sql, tables)[0] == labels


@dialects
def test_every_column_is_sent_with_its_table(tables: Tables) -> None:
    sql = "SELECT status, state FROM orders JOIN payments ON order_id = orders.id WHERE note IS NULL ORDER BY state"
    sent = resolved(sql, tables)[1].replace("`", '"')
    for column in ('"orders"."status"', '"payments"."state"', '"payments"."order_id"', '"orders"."note"'):
        assert column in sent
    assert sent.endswith('ORDER BY "payments"."state"')


@dialects
def test_an_inner_name_is_the_inner_tables_and_an_outer_one_the_outer_tables(tables: Tables) -> None:
    sql = "SELECT id FROM orders WHERE EXISTS (SELECT 1 FROM payments WHERE id = 3 AND status = 'x')"
    sent = resolved(sql, tables)[1].replace("`", '"')
    assert '"payments"."id" = 3 AND "orders"."status"' in sent


@dialects
def test_an_alias_in_an_order_or_a_group_is_the_number_of_its_column(tables: Tables) -> None:
    sql = "SELECT upper(status) AS s, count(*) AS n FROM orders GROUP BY s ORDER BY n DESC"
    assert resolved(sql, tables)[1].endswith("GROUP BY 1 ORDER BY 2 DESC")


def test_a_column_in_another_case_is_found_where_only_one_can_be_meant() -> None:
    assert resolved("SELECT ID FROM orders", MYSQL)[0] == ("id",)
    assert resolved('SELECT "ID" FROM orders', POSTGRESQL)[0] == ("id",)
