"""What `build_graph` refuses, with one clear line."""

import pytest

from graph.settings import HarnessSettings
from graph.wiring import build_graph
from tests.support.scripted import ScriptedChatModel, ScriptedTool, nothing


def test_two_tools_of_one_name_are_refused() -> None:
    tools = [ScriptedTool(nothing()), ScriptedTool(nothing())]
    with pytest.raises(ValueError, match="two tools share one name"):
        build_graph(models=ScriptedChatModel(), tools=tools, settings=HarnessSettings())


@pytest.mark.parametrize("name", ["", "with blank", "日志", "x" * 65])
def test_a_tool_name_that_no_provider_takes_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="expected letters, digits"):
        build_graph(models=ScriptedChatModel(), tools=[ScriptedTool(nothing(), name=name)], settings=HarnessSettings())


@pytest.mark.parametrize("models", [{}, {"diagnosis": ScriptedChatModel(), "reviewer": ScriptedChatModel()}])
def test_a_mapping_of_models_needs_diagnosis_and_knows_no_others(models: dict[str, ScriptedChatModel]) -> None:
    with pytest.raises(ValueError, match="'diagnosis'"):
        build_graph(models=dict(models), tools=[], settings=HarnessSettings())
