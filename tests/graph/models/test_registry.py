"""Which models serve a graph, and what of the settings reaches the endpoint's client."""

from typing import Any

import pytest
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from graph.contract.vocabulary import ModelComponent
from graph.models.offline import OFFLINE_MODEL_NAME
from graph.models.registry import choose_models
from graph.settings import HarnessSettings, ModelSettings
from tests.support.scripted import ScriptedChatModel


def configured(**model: Any) -> HarnessSettings:
    return HarnessSettings(openai_api_key=SecretStr("k"), model=ModelSettings.model_validate(model))


def test_without_an_endpoint_every_component_is_offline() -> None:
    _, names = choose_models(None, HarnessSettings(openai_api_key=None))
    assert set(names.values()) == {OFFLINE_MODEL_NAME}


def test_each_component_of_an_endpoint_has_the_model_that_the_settings_name() -> None:
    _, names = choose_models(None, configured(default="d", router="r"))
    assert names[ModelComponent.ROUTER] == "r"
    assert {name for component, name in names.items() if component is not ModelComponent.ROUTER} == {"d"}


def test_what_an_endpoint_refuses_can_be_left_out() -> None:
    model = choose_models(None, configured(temperature_sent=False, max_tokens_field="max_tokens"))[0]
    asked = model[ModelComponent.DIAGNOSIS]
    assert isinstance(asked, ChatOpenAI)
    assert asked.temperature is None
    assert (asked.max_tokens, asked.extra_body) == (None, {"max_tokens": 4096})


def test_one_model_serves_all_and_a_mapping_falls_back_to_its_diagnosis() -> None:
    one, other = ScriptedChatModel(), ScriptedChatModel()
    assert set(map(id, choose_models(one, HarnessSettings())[0].values())) == {id(one)}
    models, _ = choose_models({"diagnosis": one, "semantic_guard": other}, HarnessSettings())
    assert models[ModelComponent.SEMANTIC_GUARD] is other
    assert models[ModelComponent.ROUTER] is one


@pytest.mark.parametrize("given", [{}, {"router": ScriptedChatModel()}, {"diagnosis": ScriptedChatModel(), "x": None}])
def test_a_mapping_without_a_diagnosis_model_or_with_an_unknown_name_is_refused(given: Any) -> None:
    with pytest.raises(ValueError, match="diagnosis"):
        choose_models(given, HarnessSettings())


def test_a_server_that_needs_no_key_is_an_endpoint() -> None:
    models, names = choose_models(None, HarnessSettings(openai_base_url="http://127.0.0.1:9/v1"))
    assert all(isinstance(model, ChatOpenAI) for model in models.values())
    assert set(names.values()) == {HarnessSettings().model.default}
