"""docs/database.md says what the code does."""

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.tools.live.database.statements import CATALOGS, POSTGRESQL
from tools.live.database import admission, source
from tools.live.database.admission import admit, generated
from tools.live.database.canonical import canonicalize
from tools.live.database.columns import resolve
from tools.live.database.pinned import Clock, pin
from tools.live.database.settings import DENIED_COLUMNS, PostgresqlSettings
from tools.live.database.vocabulary import Refusal
from tools.live.registry import settings_of

PAGE = (Path(__file__).parents[4] / "docs" / "database.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    """Return the page's blocks of a language, in order."""
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def test_the_settings_on_the_page_are_settings() -> None:
    (block,) = blocks("sh")
    fields = dict(line.removeprefix("HARNESS_SOURCE_SHOPDB_").split("=", 1) for line in block.splitlines())
    settings = settings_of("shopdb", {key.lower(): value for key, value in fields.items()})
    assert isinstance(settings, PostgresqlSettings)
    assert settings.listed("public") == {
        "public.orders": ("id", "status", "amount", "created_at"),
        "public.payments": None,
    }


def test_the_statement_on_the_page_becomes_what_the_page_shows() -> None:
    said, shown = blocks("sql")[2:]
    tree = admit(said, POSTGRESQL)
    pin(tree, Clock(datetime(2026, 6, 18, 15, 3, 20, tzinfo=UTC), "Asia/Shanghai"), POSTGRESQL.dialect)
    canonicalize(tree)
    resolve(tree, CATALOGS[POSTGRESQL.dialect])
    assert generated(tree, POSTGRESQL.dialect) + " LIMIT 51" == shown.strip()


def test_every_hint_is_on_the_page() -> None:
    assert set(re.findall(r"^\| `([A-Z_]+)` \|", PAGE, re.MULTILINE)) == set(Refusal)


def test_every_pattern_of_denied_columns_is_on_the_page() -> None:
    assert tuple(re.findall(r"`(\*\w+\*)`", PAGE)) == DENIED_COLUMNS


@pytest.mark.parametrize(
    "bound",
    [
        f"{admission.LONGEST_SQL:,} characters",
        f"{admission.MOST_NODES:,} nodes",
        f"{admission.DEEPEST} levels",
        f"{admission.MOST_TABLES} tables",
        f"{source.MOST_COLUMNS} columns",
        f"{source.LONGEST_TEXT + 1} characters",
        f"**`MAX_ROWS`** ({PostgresqlSettings.model_fields['max_rows'].default})",
    ],
)
def test_every_bound_is_on_the_page(bound: str) -> None:
    assert bound in PAGE
