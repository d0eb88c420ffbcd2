"""The generated pages of `docs/` say what the code says."""

from collections.abc import Callable
from functools import partial
from typing import get_args

import pytest

from app.catalog import draw_graph
from app.docs import DOCS, GENERATED, contract_page, graph_page
from app.source_docs import sources_page
from graph.contract.vocabulary import RejectionCode, StopReason
from tools.live.registry import TYPES, class_of

PAGES = [("graph.md", graph_page), ("contract.md", contract_page), ("sources.md", partial(sources_page, GENERATED))]


@pytest.mark.parametrize(("name", "page"), PAGES)
def test_a_committed_page_equals_the_code(name: str, page: Callable[[], str]) -> None:
    assert (DOCS / name).read_text(encoding="utf-8") == page(), "run: python -m app.docs"


@pytest.mark.parametrize(
    "branch",
    [
        "STOP_REQUIRED",
        "controlled stop / budget",
        "duplicate",
        "protocol",
        "concluded draft",
        "refused once",
        "refused twice",
        "SUPPORTED",
        "UNSUPPORTED / unavailable",
        "NO_GAIN by rule / pending / error",
    ],
)
def test_every_branch_of_the_contract_can_be_read_in_the_drawing(branch: str) -> None:
    assert branch in draw_graph()


@pytest.mark.parametrize("word", [*RejectionCode, *StopReason])
def test_every_word_that_a_script_can_meet_is_documented(word: str) -> None:
    assert f"`{word}`" in contract_page()


@pytest.mark.parametrize("kind", TYPES)
def test_every_type_of_source_is_documented_by_the_name_it_is_set_by(kind: str) -> None:
    assert kind in get_args(class_of(kind).model_fields["type"].annotation)
    assert f"## `{kind}`\n" in sources_page(GENERATED)
