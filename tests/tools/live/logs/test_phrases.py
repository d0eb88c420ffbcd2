"""What a signature says in fixed words stands in every line that has the signature."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.live.servers.logql import parsed
from tools.frozen.database import Loaded, Rows
from tools.frozen.logs import load_logs
from tools.frozen.signatures import generalized
from tools.live.logs.logql import pattern_of_phrase, quoted
from tools.live.logs.phrases import holds, phrase_of
from tools.live.spool import spooled

WORDS = st.sampled_from(
    ["order", "17", "failed:", "pool-3", "db_9", "/api/v1/items/42", "10.0.0.7:5432", '"quoted name"', "'id'", "42ms",
     "a1b2c3d4e5f6a7b8", "refused", "库存不足", "can't", "f(x)", "x=12", "key=value", "[main]", "50%", "c.f.Foo$Bar",
     "3b0c9d5e-1111-2222-3333-444455556666", "<init>", "\\path\\x", "2026-03-04T12:00:00Z", "C:\\a", "{id}"]
)  # fmt: skip


@pytest.mark.parametrize(
    ("signature", "runs"),
    [
        ("pool exhausted after <time> waiting for db-primary", ("pool exhausted after", "waiting for db-primary")),
        ("GET /api/items/<n> <n> in <time>", ("GET /api/items", "in")),
        ("java.net.<id> is broken", ("is broken",)),
        ("can't pay order=<n> of [MASKED:TOKEN]", ("pay order", "of")),
    ],
)
def test_a_phrase_is_the_whole_words_between_placeholders(signature: str, runs: tuple[str, ...]) -> None:
    phrase = phrase_of(signature)
    assert phrase is not None
    assert phrase.runs == runs


@pytest.mark.parametrize("signature", ["<n>", "<time> <id>", "ok <n>", ""])
def test_what_says_too_little_has_no_phrase(signature: str) -> None:
    assert phrase_of(signature) is None


def test_a_word_cut_at_the_signatures_end_is_left_out() -> None:
    phrase = phrase_of("word " * 118 + "unfinish")
    assert phrase is not None
    assert not any("unfinish" in run for run in phrase.runs)


@settings(max_examples=10)
@given(st.lists(st.lists(WORDS, min_size=1, max_size=8).map(" ".join), min_size=5, max_size=60))
async def test_every_line_holds_its_signatures_phrase_also_as_a_backend_looks_for_it(lines: list[str]) -> None:
    for line, signature in await _generalized(lines):
        phrase = phrase_of(signature)
        if phrase is not None:
            assert holds(phrase, line)
            query = parsed(f'{{a="b"}} |~ {quoted(pattern_of_phrase(phrase))}')
            assert query.passes(line, {}) is not None


async def _generalized(lines: list[str]) -> list[tuple[str, str]]:
    records = [{"timestamp": f"2026-03-04T12:00:00.{number:06d}Z", "msg": line} for number, line in enumerate(lines)]

    def ask(rows: Rows, _: Loaded) -> list[tuple[str, str]]:
        found = rows.all(f"SELECT message, {generalized('message')} FROM logs")  # noqa: S608 - fixed text
        return [(message, signature) for message, signature in found]

    return await spooled({"logs": records}, {"logs": load_logs}, ask)
