"""A declaration says what may be asked of a server, and one that can't be meant is refused in one line."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tools.live.mcp.declared import DECLARATION, written
from tools.live.mcp.declaration import DeclarationError, read_declaration, schema_digest, writing_word

NAMES = st.text("abcdefgh_", min_size=1, max_size=8)
SCHEMAS = st.dictionaries(
    NAMES,
    st.fixed_dictionaries({"type": st.sampled_from(["string", "integer"])}, optional={"description": st.text()}),
    max_size=4,
)


def schema(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": sorted(properties)}


def test_a_declaration_reads_as_it_was_written(tmp_path: Path) -> None:
    metrics, events = read_declaration(written(tmp_path))
    assert (metrics.called, events.called) == ("grafana_metrics", "events_list")
    assert metrics.window == ("startTime", "endTime")
    assert metrics.schema_of_arguments()["required"] == ["expr"]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('tool = "query_prometheus"', 'tool = "pods_delete"', "only reading ones can be declared"),
        ('tool = "query_prometheus"', 'tool = "resources_create_or_update"', "can create"),
        ('display = ["stepSeconds"]', 'display = ["step"]', "no argument called step"),
        ('summary = "{expr}: {lines} lines"', 'summary = "{query}"', "no argument called query"),
        ('exact = ["expr"]', 'fixed = { expr = "up" }', "expr is fixed and an argument"),
        ('kind = "metrics"', 'kind = "rumours"', "tool.0.kind"),
        ('relevance = "DIRECT"', "", "tool.0.relevance"),
        ("sha256:", "md5:", "tool.0.digest"),
        ('empty = ["no data.*"]', 'empty = ["("]', "tool.0.empty"),
        ('name = "grafana_metrics"', 'name = "events_list"', "two tools are called events_list"),
        ("[[tool]]", "[[tools]]", "tool"),
        ("[[tool]]", "[[tool", "expected TOML"),
    ],
)
def test_a_declaration_that_cannot_be_meant_is_refused_in_one_line(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    assert old in DECLARATION
    with pytest.raises(DeclarationError) as caught:
        read_declaration(written(tmp_path, DECLARATION.replace(old, new, 1)))
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_declaration_that_is_not_there_is_told_with_its_path(tmp_path: Path) -> None:
    with pytest.raises(DeclarationError, match=r"missing\.toml can't be read"):
        read_declaration(tmp_path / "missing.toml")


@given(SCHEMAS)
def test_words_for_readers_do_not_count_in_a_digest(properties: dict[str, Any]) -> None:
    reworded = {name: {**one, "description": "else", "title": "Else"} for name, one in properties.items()}
    assert schema_digest("t", schema(properties), None) == schema_digest("t", schema(reworded), {})


@given(SCHEMAS, NAMES)
def test_a_new_or_missing_or_changed_argument_changes_the_digest(properties: dict[str, Any], name: str) -> None:
    before = schema_digest("t", schema(properties), None)
    with_one = {**properties, name: {"type": "boolean"}}
    without = {key: one for key, one in properties.items() if key != name}
    assert schema_digest("t", schema(with_one), None) != before
    assert (schema_digest("t", schema(without), None) == before) == (name not in properties)
    assert schema_digest("u", schema(properties), None) != before
    assert schema_digest("t", schema(properties), {"readOnlyHint": True}) != before


def test_an_argument_that_is_called_description_counts() -> None:
    one, other = ({"description": {"type": kind}} for kind in ("string", "integer"))
    assert schema_digest("t", schema(one), None) != schema_digest("t", schema(other), None)


@pytest.mark.parametrize(
    "name", ["pods_delete", "helm_install", "podsExec", "resources_scale", "DropTable", "k8s.apply"]
)
def test_a_name_that_says_it_writes_is_heard(name: str) -> None:
    assert writing_word(name)


@pytest.mark.parametrize(
    "name", ["query_loki_logs", "get_commit", "list_alert_rules", "pods_list_in_namespace", "updates"]
)
def test_a_name_of_a_reading_tool_is_left_alone(name: str) -> None:
    assert writing_word(name) is None
