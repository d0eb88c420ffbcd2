"""Which models a graph uses: the caller's, the configured endpoint's, or the embedded offline ones.

Source: design, "Public names" (`models`), contract, "When the model is away".
"""

from collections.abc import Mapping

from langchain_core.language_models import BaseChatModel
from pydantic import SecretStr

from graph.contract.vocabulary import ModelComponent
from graph.models.endpoint import EndpointSettings, endpoint_models
from graph.models.offline import OFFLINE_MODEL_NAME, offline_models
from graph.settings import HarnessSettings

NO_KEY = SecretStr("none")
"""What a local server that asks for no key is sent."""

Models = Mapping[ModelComponent, BaseChatModel]
GivenModels = BaseChatModel | Mapping[str, BaseChatModel]


def choose_models(given: GivenModels | None, settings: HarnessSettings) -> tuple[Models, Mapping[ModelComponent, str]]:
    """Return the models by component, and the names by which a Release calls them.

    `given` is one chat model for all components or a mapping by component name; components that a mapping leaves out
    take its `diagnosis` model. Raises ValueError for a mapping without it, or with a name that is no component.
    """
    if given is not None:
        models = _given(given)
        return models, {component: _name_of(model) for component, model in models.items()}
    if not settings.has_endpoint():
        return offline_models(), dict.fromkeys(ModelComponent, OFFLINE_MODEL_NAME)
    names = {component: getattr(settings.model, component) or settings.model.default for component in ModelComponent}
    endpoint = EndpointSettings(
        api_key=settings.openai_api_key or NO_KEY,
        base_url=settings.openai_base_url,
        models=names,
        timeout_seconds=settings.model.timeout_seconds,
        connect_timeout_seconds=settings.model.connect_timeout_seconds,
        temperature=settings.model.temperature if settings.model.temperature_sent else None,
        max_tokens=settings.model.max_tokens,
        max_tokens_field=settings.model.max_tokens_field,
    )
    return endpoint_models(endpoint), names


def _given(given: GivenModels) -> Models:
    if isinstance(given, BaseChatModel):
        return dict.fromkeys(ModelComponent, given)
    unknown = set(given) - {component.value for component in ModelComponent}
    if unknown or ModelComponent.DIAGNOSIS not in given:
        raise ValueError(
            f"models needs a 'diagnosis' model and knows {[component.value for component in ModelComponent]}"
        )
    return {component: given.get(component, given[ModelComponent.DIAGNOSIS]) for component in ModelComponent}


def _name_of(model: BaseChatModel) -> str:
    for field in ("model_name", "model"):
        name = getattr(model, field, None)
        if isinstance(name, str) and name:
            return name
    return model._llm_type
