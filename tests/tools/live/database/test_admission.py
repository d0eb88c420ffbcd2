# ruff: noqa: S608 -- hostile statements are what this is about
"""One SELECT over listed tables, and nothing else, leaves."""

import logging
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tools.live.database.statements import (
    ALLOWED,
    BOTH,
    MYSQL,
    POSTGRESQL,
    REFUSED,
    REFUSED_BY_ONE,
    UNLISTED,
    spelled,
)
from tools.live.database.admission import LONGEST_SQL, Refused, Tables, UnknownTable, admit, generated
from tools.live.database.vocabulary import Refusal

dialects = pytest.mark.parametrize("tables", BOTH, ids=lambda tables: str(tables.dialect))


@dialects
@pytest.mark.parametrize("sql", ALLOWED)
def test_what_an_engineer_would_ask_is_admitted(sql: str, tables: Tables) -> None:
    sent = generated(admit(sql, tables), tables.dialect)
    assert_harmless(sent, tables)


@dialects
@pytest.mark.parametrize("sql", REFUSED)
def test_anything_else_is_refused_before_it_leaves(sql: str, tables: Tables) -> None:
    with pytest.raises(Refused):
        admit(sql, tables)


@pytest.mark.parametrize(("tables", "sql"), REFUSED_BY_ONE)
def test_what_one_dialect_reads_as_more_than_names_is_refused_there(tables: Tables, sql: str) -> None:
    with pytest.raises(Refused):
        admit(sql, tables)


@dialects
@pytest.mark.parametrize("sql", UNLISTED)
def test_a_table_that_is_not_listed_is_unknown(sql: str, tables: Tables) -> None:
    with pytest.raises(UnknownTable):
        admit(sql, tables)


@dialects
@pytest.mark.parametrize("sql", [*REFUSED, *UNLISTED])
def test_nothing_refused_says_what_it_was_of(sql: str, tables: Tables, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with pytest.raises((Refused, UnknownTable)) as caught:
        admit(sql, tables)
    assert str(caught.value) in {*Refusal, "table"}
    assert caplog.text == ""


@dialects
def test_a_table_is_sent_with_its_schema_whatever_the_search_path_is(tables: Tables) -> None:
    sent = generated(admit("SELECT id FROM ORDERS", tables), tables.dialect)
    quote = '"' if tables is POSTGRESQL else "`"
    assert f"FROM {quote}{tables.home}{quote}.{quote}orders{quote} AS" in sent


@dialects
def test_a_cte_gets_a_name_of_our_own_so_that_it_can_never_be_a_table(tables: Tables) -> None:
    sent = generated(admit("WITH users AS (SELECT id FROM orders) SELECT users.id FROM users", tables), tables.dialect)
    assert "part_1" in sent
    assert re.search(r"FROM .part_1. AS .users.$", sent)


@dialects
def test_a_cte_hides_a_table_only_where_it_is_defined(tables: Tables) -> None:
    sql = "WITH payments AS (SELECT order_id FROM payments) SELECT order_id FROM payments"
    sent = generated(admit(sql, tables), tables.dialect)
    assert sent.count("part_1") == 2
    assert sent.count(tables.home) == 1


def test_of_two_tables_whose_names_differ_in_case_the_one_that_is_named_is_meant() -> None:
    tables = Tables(POSTGRESQL.dialect, "public", ("public.Orders", "public.orders"))
    assert '"public"."orders"' in generated(admit("SELECT id FROM Orders", tables), tables.dialect)
    assert '"public"."Orders"' in generated(admit('SELECT id FROM "Orders"', tables), tables.dialect)


@pytest.mark.parametrize(("tables", "name"), [(POSTGRESQL, '"a""b\'c"'), (MYSQL, "`a``b'c`")])
def test_quotes_within_a_name_stay_within_it(tables: Tables, name: str) -> None:
    assert f"SELECT {name} FROM" in generated(admit(f"SELECT {name} FROM orders", tables), tables.dialect)


def test_a_backslash_at_the_end_of_a_text_ends_it_in_neither_dialect() -> None:
    assert generated(admit(r"SELECT id FROM orders WHERE note = 'a\'", POSTGRESQL), POSTGRESQL.dialect).endswith(
        r"""= 'a\'"""
    )
    assert generated(admit(r"SELECT id FROM orders WHERE note = 'a\\'", MYSQL), MYSQL.dialect).endswith(r"""= 'a\\'""")


@dialects
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT id FROM orders WHERE " + "(" * 400 + "id = 1" + ")" * 400,
        "SELECT id FROM orders WHERE " + " AND ".join(f"id <> {n}" for n in range(900)),
        "SELECT id FROM orders WHERE id IN (" + ",".join(map(str, range(1800))) + ")",
        "SELECT id FROM orders WHERE note = '" + "x" * LONGEST_SQL + "'",
        "SELECT a.id FROM " + ", ".join(f"orders AS a{n}" for n in range(20)),
    ],
    ids=["deep", "wide", "listed", "long", "joined"],
)
def test_what_is_too_large_is_refused(sql: str, tables: Tables) -> None:
    with pytest.raises(Refused):
        admit(sql, tables)


# What a statement may call, in words of this test alone.
_HARMLESS_CALLS = frozenset(
    (
        "COUNT SUM AVG MIN MAX STDDEV STDDEV_POP STDDEV_SAMP VAR_SAMP VAR_POP VARIANCE BOOL_OR BOOL_AND "
        "PERCENTILE_CONT PERCENTILE_DISC MODE ROW_NUMBER RANK DENSE_RANK LAG LEAD FIRST_VALUE LAST_VALUE ABS "
        "SIGN ROUND CEIL FLOOR TRUNC TRUNCATE SQRT COALESCE NULLIF GREATEST LEAST LOWER UPPER LENGTH "
        "CHAR_LENGTH TRIM SUBSTRING LEFT RIGHT POSITION LOCATE DATE_TRUNC EXTRACT TIMESTAMPDIFF DATEDIFF "
        "DATE_ADD DATE_SUB TO_CHAR DATE_FORMAT DATE TIMESTAMP FROM_UNIXTIME TO_TIMESTAMP HOUR MINUTE SECOND "
        "DAY MONTH YEAR DAYOFWEEK UNIX_TIMESTAMP TIMEDIFF TIME_TO_SEC TO_SECONDS AGE CAST IF NOW "
        "CURRENT_TIMESTAMP CURRENT_DATE LOCALTIMESTAMP SYSDATE CLOCK_TIMESTAMP FILTER OVER GROUP IN EXISTS "
        "AND OR NOT AS ON WHERE USING FROM JOIN SELECT WHEN THEN ELSE BETWEEN LIKE BY UNION ALL DISTINCT "
        "EXCEPT INTERSECT INTERVAL CHAR VARCHAR DECIMAL HAVING "
    )
    .strip()
    .split(" ")
)
_TEXT = re.compile(r"'(?:[^'\\]|''|\\.)*'")


def assert_harmless(sent: str, tables: Tables) -> None:
    """Read what is sent once more, word by word: its calls are harmless, its tables listed, and it's one SELECT."""
    quote = '"' if tables is POSTGRESQL else "`"
    bare = _TEXT.sub("''", sent)
    assert ";" not in bare
    assert "--" not in bare
    assert "/*" not in bare
    assert "@" not in bare
    words = re.sub(rf"{quote}[^{quote}]*{quote}", "name", bare)
    assert words.startswith(("SELECT ", "WITH ", "(SELECT "))
    calls = {call.upper() for call in re.findall(r"([A-Za-z_]\w*)\s*\(", words)}
    assert calls <= _HARMLESS_CALLS | {"NAME"}
    assert "SELECT" in words
    assert not re.search(r"\b(?:INTO|UPDATE|DELETE|INSERT|SHARE|OUTFILE|REGCLASS|OFFSET|LATERAL|RECURSIVE)\b", words)
    for clause in re.findall(
        r"\b(?:FROM|JOIN) (.+?)(?= (?:WHERE|GROUP|ORDER|HAVING|LIMIT|ON|USING|UNION)\b|\(|\)|$)", bare
    ):
        for schema, name in re.findall(rf"(?:^|, |JOIN )(?:{quote}(\w+){quote}\.)?{quote}(\w+){quote} AS", clause):
            assert f"{schema}.{name}" in tables.names if schema else name.startswith("part_")


_NAMES = st.sampled_from(["id", "status", "o.id", "amount", '"id"', "`id`", "phone", "*", "o.*", "orders", "x"])
_HOSTILE = st.sampled_from(
    [
        *("pg_sleep(9)", "sleep(9)", "load_file('/x')", "@@version", "@x", "(SELECT 1)", "FOR UPDATE", ";", "--", "#"),
        *("/*!1*/", "/* x */", "INTO OUTFILE '/x'", "'", '"', "`", "\\", "$$", "id::regclass", "LATERAL f(1) AS l"),
        *("UNION SELECT usename FROM pg_user", "(DELETE FROM orders RETURNING id)", "OFFSET 9", "LIMIT 0", "secrets"),
        *(
            "mysql.user",
            "pg_catalog.pg_authid",
            "current_user",
            "nextval('x')",
            "E'\\''",
            "x'41'",
            "TABLE secrets",
            ")",
        ),
        *("订单", "；", "＇", "\u2028", "\ufeff", "()", "procedure analyse()", ":x", "?", "now()", "current_date"),
    ]
)
_WORDS = st.one_of(
    _NAMES,
    _HOSTILE,
    st.sampled_from(["count(*)", "sum(amount)", "1", "'x'", "1=1", "AND", "OR", "NOT", "=", "<", "IN (1, 2)", ","]),
    st.sampled_from(
        ["SELECT", "FROM", "WHERE", "JOIN", "ON", "ORDER BY", "GROUP BY", "LIMIT 5", "WITH x AS (", "(", ")"]
    ),
)


@st.composite
def damaged(draw: st.DrawFn) -> str:
    """A statement that would be admitted, with hostile words put in somewhere, or in place of something."""
    words = draw(st.sampled_from(ALLOWED)).split(" ")
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(words)))
        words[at : at + draw(st.integers(0, 1))] = [draw(_WORDS)]
    return " ".join(words)


@given(st.one_of(damaged(), st.lists(_WORDS, max_size=14).map(" ".join), st.text(max_size=60)), st.sampled_from(BOTH))
def test_whatever_is_admitted_is_one_harmless_select_over_listed_tables(sql: str, tables: Tables) -> None:
    try:
        sent = generated(admit(sql, tables), tables.dialect)
    except (Refused, UnknownTable):
        return
    assert_harmless(sent, tables)


@given(st.one_of(damaged(), st.sampled_from(ALLOWED)), st.sampled_from(BOTH))
def test_what_is_sent_would_be_admitted_and_spelled_the_same_again(sql: str, tables: Tables) -> None:
    try:
        once = spelled(sql, tables)
    except (Refused, UnknownTable):
        return
    assert_harmless(once, tables)
    assert spelled(once, tables) == once
