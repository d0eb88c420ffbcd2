"""Chat models behind an OpenAI-compatible endpoint, one for each component, over one HTTP client."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import httpx2
import openai
from langchain_core.language_models import BaseChatModel
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from graph.contract.vocabulary import ModelComponent

OPENAI_BASE_URL = "https://api.openai.com/v1"


@dataclass(frozen=True)
class EndpointSettings:
    """Where the models are and how they're asked; `models` names one for each component. Times are seconds."""

    api_key: SecretStr
    models: Mapping[ModelComponent, str]
    base_url: str | None = None
    """None: OpenAI's own. The environment isn't read here: the settings alone decide who sees a prompt."""
    timeout_seconds: float = 60.0
    connect_timeout_seconds: float = 10.0
    temperature: float | None = 0.0
    """None: not sent, for models that refuse it."""
    max_tokens: int | None = 4096
    max_tokens_field: Literal["max_completion_tokens", "max_tokens"] = "max_completion_tokens"
    """The field in which the endpoint expects `max_tokens`: many compatible servers know the older name only."""


def endpoint_models(
    settings: EndpointSettings, *, http_async_client: httpx2.AsyncClient | None = None
) -> dict[ModelComponent, BaseChatModel]:
    """Return one chat model for each component, all over one client (`http_async_client` for tests on the wire).

    Models are asked asynchronously only, whole replies, never retried by the client. A client that is handed in keeps
    its own rule on redirects. Raises KeyError where `settings.models` lacks a component.
    """
    client = http_async_client or _client(settings)
    return {component: _chat_model(settings, settings.models[component], client) for component in ModelComponent}


def _client(settings: EndpointSettings) -> httpx2.AsyncClient:
    """A client that follows no redirect, for a prompt belongs to the configured host alone, and keeps no idle
    connection: between two calls tools run, and one that the far side dropped meanwhile would cost an attempt, as
    would one that belongs to another event loop."""
    return openai.DefaultAsyncHttpxClient(
        timeout=_timeout(settings),
        follow_redirects=False,
        limits=httpx2.Limits(max_connections=100, max_keepalive_connections=0),
    )


def _timeout(settings: EndpointSettings) -> httpx2.Timeout:
    return httpx2.Timeout(settings.timeout_seconds, connect=settings.connect_timeout_seconds)


def _chat_model(settings: EndpointSettings, name: str, client: httpx2.AsyncClient) -> ChatOpenAI:
    options: dict[str, Any] = {}
    if settings.max_tokens is not None and settings.max_tokens_field == "max_completion_tokens":
        options["max_tokens"] = settings.max_tokens
    elif settings.max_tokens is not None:
        options["extra_body"] = {"max_tokens": settings.max_tokens}
    return ChatOpenAI(
        model=name,
        api_key=settings.api_key,
        base_url=settings.base_url or OPENAI_BASE_URL,
        timeout=_timeout(settings),
        temperature=settings.temperature,
        max_retries=0,
        use_responses_api=False,
        disable_streaming=True,
        http_async_client=client,
        openai_proxy=None,
        http_socket_options=(),
        **options,
    )
