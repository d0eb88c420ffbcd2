"""The wire: what is sent to an OpenAI-compatible endpoint, and what becomes of each reply it may give."""

import asyncio
import json
import logging
import traceback
from collections.abc import Awaitable, Callable
from typing import Any

import httpx2
import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage, SystemMessage
from langgraph.graph import END, START, MessagesState, StateGraph
from pydantic import SecretStr

from graph.contract.vocabulary import FailureCode, ModelComponent
from graph.models.calling import ModelCapabilities, ModelReply, call_model
from graph.models.endpoint import EndpointSettings, endpoint_models
from graph.models.replies import ModelFailure

KEY = "sk-verysecret0123456789"
PROMPT = "the prompt that nobody else may read"
USAGE = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
TOOL = {
    "type": "function",
    "function": {
        "name": "look",
        "description": "Look.",
        "parameters": {"type": "object", "properties": {"at": {"type": "string"}}, "required": ["at"]},
    },
}

Handler = Callable[[httpx2.Request], httpx2.Response] | Callable[[httpx2.Request], Awaitable[httpx2.Response]]


class Wire:
    """A server that answers as told and remembers what it was asked."""

    def __init__(self, answer: Handler | httpx2.Response | Exception) -> None:
        self.requests: list[httpx2.Request] = []
        self._answer = answer

    async def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(request)
        if isinstance(self._answer, Exception):
            raise self._answer
        if isinstance(self._answer, httpx2.Response):
            return self._answer
        answer = self._answer(request)
        return answer if isinstance(answer, httpx2.Response) else await answer

    @property
    def body(self) -> dict[str, Any]:
        body: dict[str, Any] = json.loads(self.requests[-1].content)
        return body


def settings(**changes: Any) -> EndpointSettings:
    names = {component: f"model-of-{component}" for component in ModelComponent}
    return EndpointSettings(
        **{"api_key": SecretStr(KEY), "models": names, "base_url": "https://llm.test/v1", "max_tokens": 900, **changes}
    )


def model_on(wire: Wire, **changes: Any) -> BaseChatModel:
    client = httpx2.AsyncClient(transport=httpx2.MockTransport(wire), follow_redirects=False)
    return endpoint_models(settings(**changes), http_async_client=client)[ModelComponent.DIAGNOSIS]


async def ask(model: BaseChatModel, *, timeout: float = 30.0, **capabilities: bool) -> ModelReply:  # noqa: ASYNC109
    messages = [SystemMessage(PROMPT), HumanMessage("why?")]
    return await call_model(
        model, messages, tools=[TOOL], timeout=timeout, capabilities=ModelCapabilities(**capabilities)
    )


def completion(
    content: object = "fine", *, finish: str | None = "stop", usage: object = USAGE, calls: object = None
) -> dict[str, Any]:
    message = {"role": "assistant", "content": content, "tool_calls": calls}
    return {
        "id": "x",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": usage,
    }


def call(arguments: object, *, call_id: str | None = "c1", name: str = "look") -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def reply(body: object) -> httpx2.Response:
    return httpx2.Response(200, json=body)


def raw(text: str, content_type: str = "application/json") -> httpx2.Response:
    return httpx2.Response(200, text=text, headers={"content-type": content_type})


MALFORMED = {
    "error body with status 200": reply({"error": {"message": f"bad key {KEY}", "code": 500}}),
    "choices null": reply({**completion(), "choices": None}),
    "choices empty": reply({**completion(), "choices": []}),
    "choices absent": reply({"id": "x", "object": "chat.completion"}),
    "choices of null": reply({**completion(), "choices": [None]}),
    "choices a string": reply({**completion(), "choices": "none"}),
    "message null": reply({**completion(), "choices": [{"index": 0, "message": None}]}),
    "message absent": reply({**completion(), "choices": [{"index": 0, "finish_reason": "stop"}]}),
    "message of the user": reply({**completion(), "choices": [{"message": {"role": "user", "content": "hi"}}]}),
    "an HTML page": raw("<html>sign in</html>", "text/html"),
    "an HTML page called JSON": raw("<html>sign in</html>"),
    "an empty body": raw(""),
    "a cut body": raw('{"choices": [{"mess'),
    "a body of null": raw("null"),
    "a body that is a list": raw("[]"),
    "a body that is a string": raw('"hello"'),
    "a body without end": raw("[" * 100_000),
    "content blank": reply(completion(" \n\t")),
    "content invisible": reply(completion("\u200b\ufeff")),
    "content null and no call": reply(completion(None)),
    "content null on a cut stream": reply(completion(None, finish=None)),
    "text cut by length": reply(completion('{"conclusion": nu', finish="length")),
    "call cut by length": reply(completion(None, finish="length", calls=[call('{"at": "he')])),
    "call cut by length that parses": reply(completion(None, finish="length", calls=[call("")])),
}
STATUSES = {
    400: FailureCode.MODEL_REFUSED,
    401: FailureCode.MODEL_REFUSED,
    403: FailureCode.MODEL_REFUSED,
    404: FailureCode.MODEL_REFUSED,
    422: FailureCode.MODEL_REFUSED,
    301: FailureCode.MODEL_REFUSED,
    408: FailureCode.MODEL_UNREACHABLE,
    429: FailureCode.MODEL_UNREACHABLE,
    500: FailureCode.MODEL_UNREACHABLE,
    502: FailureCode.MODEL_UNREACHABLE,
    503: FailureCode.MODEL_UNREACHABLE,
    529: FailureCode.MODEL_UNREACHABLE,
}


async def failure(wire: Wire, **capabilities: bool) -> ModelFailure:
    """The failure of one attempt, proven to hold a code alone and to have cost one request."""
    with pytest.raises(ModelFailure) as raised:
        await ask(model_on(wire), **capabilities)
    assert len(wire.requests) == 1
    assert_holds_a_code_alone(raised.value)
    return raised.value


def assert_holds_a_code_alone(exc: ModelFailure) -> None:
    assert exc.__context__ is None
    assert exc.__cause__ is None
    assert exc.args == (exc.code.value,)
    shown = repr(exc) + str(exc) + repr(vars(exc)) + "".join(traceback.format_exception(exc))
    assert KEY not in shown
    assert PROMPT not in shown


@pytest.mark.parametrize("name", MALFORMED)
async def test_a_success_that_is_no_usable_completion_is_an_invalid_reply(name: str) -> None:
    assert (await failure(Wire(MALFORMED[name]))).code is FailureCode.MODEL_REPLY_INVALID


@pytest.mark.parametrize("status", STATUSES)
async def test_a_status_is_mapped_and_not_tried_again(status: int) -> None:
    body = {"error": {"message": f"Incorrect API key provided: {KEY}. {PROMPT}", "type": "t", "code": "c"}}
    found = await failure(Wire(httpx2.Response(status, json=body, headers={"retry-after": "0"})))
    assert found.code is STATUSES[status]


async def test_a_prompt_too_long_for_the_model_is_refused() -> None:
    body = {"error": {"message": "too long", "type": "invalid_request_error", "code": "context_length_exceeded"}}
    assert (await failure(Wire(httpx2.Response(400, json=body)))).code is FailureCode.MODEL_REFUSED


@pytest.mark.parametrize(
    "exc",
    [
        httpx2.ConnectError(f"refused {KEY}"),
        httpx2.ConnectTimeout("slow"),
        httpx2.ReadTimeout("slow"),
        httpx2.ReadError("reset"),
        httpx2.RemoteProtocolError("server went away"),
        ConnectionResetError("reset"),
    ],
    ids=lambda exc: type(exc).__name__,
)
async def test_no_answer_is_unreachable(exc: Exception) -> None:
    assert (await failure(Wire(exc))).code is FailureCode.MODEL_UNREACHABLE


async def test_an_answer_that_never_comes_ends_with_the_attempts_time() -> None:
    async def silent(_: httpx2.Request) -> httpx2.Response:
        await asyncio.Event().wait()
        raise AssertionError

    with pytest.raises(ModelFailure) as raised:
        await ask(model_on(Wire(silent)), timeout=0.01)
    assert raised.value.code is FailureCode.MODEL_UNREACHABLE
    assert_holds_a_code_alone(raised.value)


async def test_a_cancelled_attempt_is_cancelled_and_not_a_failure() -> None:
    asked = asyncio.Event()

    async def silent(_: httpx2.Request) -> httpx2.Response:
        asked.set()
        await asyncio.Event().wait()
        raise AssertionError

    task = asyncio.create_task(ask(model_on(Wire(silent))))
    await asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_own_client_follows_no_redirect_so_prompt_and_key_stay_with_the_host(
    status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []

    async def answer(_: httpx2.AsyncHTTPTransport, request: httpx2.Request) -> httpx2.Response:
        seen.append(request.url.host)
        return httpx2.Response(status, headers={"location": "https://elsewhere.test/v1/chat/completions"})

    monkeypatch.setattr(httpx2.AsyncHTTPTransport, "handle_async_request", answer)
    with pytest.raises(ModelFailure) as raised:
        await ask(endpoint_models(settings())[ModelComponent.DIAGNOSIS])
    assert raised.value.code is FailureCode.MODEL_REFUSED
    assert seen == ["llm.test"]


@pytest.mark.parametrize("name", ["text cut by length", "call cut by length", "content blank"])
async def test_an_invalid_reply_that_was_billed_carries_its_tokens(name: str) -> None:
    found = await failure(Wire(MALFORMED[name]))
    assert (found.input_tokens, found.output_tokens) == (11, 7)


async def test_a_withheld_or_refusing_reply_is_refused() -> None:
    withheld = await failure(Wire(reply(completion("half a", finish="content_filter"))))
    refusing = completion(None)
    refusing["choices"][0]["message"]["refusal"] = "I can't help with that."
    refused = await failure(Wire(reply(refusing)))
    assert {withheld.code, refused.code} == {FailureCode.MODEL_REFUSED}


async def test_a_reply_keeps_text_calls_and_usage_and_nothing_of_the_provider() -> None:
    body = completion("let me look", calls=[call('{"at": "here"}')], finish="tool_calls")
    body["choices"][0]["message"]["reasoning_content"] = "secret thoughts"
    body["system_fingerprint"] = "fp_1"
    found = await ask(model_on(Wire(reply(body))))
    assert (found.input_tokens, found.output_tokens) == (11, 7)
    assert found.message.text == "let me look"
    assert [(c["name"], c["args"], c["id"]) for c in found.message.tool_calls] == [("look", {"at": "here"}, "c1")]
    assert found.message.response_metadata == {}
    assert found.message.usage_metadata is None
    assert "fp_1" not in repr(found)
    assert "secret thoughts" not in repr(found)


async def test_arguments_that_do_not_parse_are_no_failure_and_no_broken_json_for_the_history() -> None:
    body = completion(None, calls=[call('{"at": '), call('{"at": "here"}', call_id="c2")], finish="tool_calls")
    found = (await ask(model_on(Wire(reply(body))))).message
    assert [(c["name"], c["args"], c["id"]) for c in found.invalid_tool_calls] == [("look", "{}", "c1")]
    assert [c["id"] for c in found.tool_calls] == ["c2"]


@pytest.mark.parametrize("arguments", ["", None, "null", "[]", "{}"])
async def test_absent_arguments_stay_an_empty_call_for_the_gate(arguments: object) -> None:
    found = (await ask(model_on(Wire(reply(completion(None, calls=[call(arguments)])))))).message
    assert [c["args"] for c in found.tool_calls] == [{}]


async def test_a_missing_call_id_is_no_failure() -> None:
    found = (await ask(model_on(Wire(reply(completion(None, calls=[call("{}", call_id=None)])))))).message
    assert [c["id"] for c in found.tool_calls] == [None]


@pytest.mark.parametrize("finish", [None, "stop", "tool_calls", "eos"])
async def test_a_reply_with_content_is_usable_whatever_finish_reason_is_not_a_cut(finish: str | None) -> None:
    assert (await ask(model_on(Wire(reply(completion("text", finish=finish)))))).message.text == "text"


@pytest.mark.parametrize(
    "usage",
    [
        None,
        {},
        {"total_tokens": 18},
        {"prompt_tokens": 11},
        {"prompt_tokens": 11, "completion_tokens": None, "total_tokens": 11},
        {"prompt_tokens": -1, "completion_tokens": 7, "total_tokens": 6},
        {"prompt_tokens": 11, "completion_tokens": 10**30, "total_tokens": 10**30},
    ],
)
async def test_usage_that_is_absent_halved_or_absurd_is_unavailable_and_not_made_up(usage: object) -> None:
    found = await ask(model_on(Wire(reply(completion(usage=usage)))))
    assert (found.input_tokens, found.output_tokens) == (None, None)


async def test_usage_of_an_endpoint_that_does_not_report_it_is_unavailable() -> None:
    found = await ask(model_on(Wire(reply(completion()))), usage_reported=False)
    assert (found.input_tokens, found.output_tokens) == (None, None)


async def test_what_is_sent_is_one_whole_chat_completion_without_undeclared_capabilities() -> None:
    wire = Wire(reply(completion()))
    await ask(model_on(wire))
    assert wire.requests[0].url == "https://llm.test/v1/chat/completions"
    assert wire.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert wire.body.keys() == {"model", "messages", "tools", "temperature", "max_completion_tokens", "stream"}
    assert wire.body["model"] == "model-of-diagnosis"
    assert wire.body["stream"] is False
    assert wire.body["max_completion_tokens"] == 900
    assert "strict" not in wire.body["tools"][0]["function"]


async def test_declared_capabilities_are_sent() -> None:
    wire = Wire(reply(completion()))
    await ask(model_on(wire), strict_schemas=True, parallel_tool_calls_flag=True, tool_choice=True)
    assert wire.body["tools"][0]["function"]["strict"] is True
    assert wire.body["parallel_tool_calls"] is False
    assert wire.body["tool_choice"] == "auto"


async def test_no_tools_are_bound_where_none_are_given() -> None:
    wire = Wire(reply(completion()))
    capabilities = ModelCapabilities(strict_schemas=True, parallel_tool_calls_flag=True, tool_choice=True)
    await call_model(model_on(wire), [HumanMessage("why?")], timeout=30, capabilities=capabilities)
    assert wire.body.keys() == {"model", "messages", "temperature", "max_completion_tokens", "stream"}


async def test_the_older_name_of_the_token_bound_and_no_temperature_can_be_chosen() -> None:
    wire = Wire(reply(completion()))
    await ask(model_on(wire, max_tokens_field="max_tokens", temperature=None))
    assert wire.body["max_tokens"] == 900
    assert not wire.body.keys() & {"max_completion_tokens", "temperature"}


async def test_a_token_bound_may_be_absent() -> None:
    wire = Wire(reply(completion()))
    await ask(model_on(wire, max_tokens=None))
    assert not wire.body.keys() & {"max_completion_tokens", "max_tokens"}


async def test_a_graph_streamed_by_messages_still_gets_whole_replies_with_usage() -> None:
    wire = Wire(reply(completion()))
    model = model_on(wire)
    replies: list[ModelReply] = []

    async def node(state: MessagesState) -> dict[str, Any]:
        replies.append(await ask(model))
        return {"messages": []}

    built = StateGraph(MessagesState).add_node("node", node).add_edge(START, "node").add_edge("node", END).compile()
    async for _ in built.astream({"messages": []}, stream_mode="messages"):
        pass
    assert wire.body["stream"] is False
    assert (replies[0].input_tokens, replies[0].output_tokens) == (11, 7)


async def test_the_environment_decides_neither_host_nor_key_nor_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_BASE_URL", "OPENAI_API_BASE"):
        monkeypatch.setenv(name, "https://elsewhere.test/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-other")
    monkeypatch.setenv("OPENAI_PROXY", "http://elsewhere.test:3128")
    wire = Wire(reply(completion()))
    await ask(model_on(wire, base_url=None))
    assert wire.requests[0].url == "https://api.openai.com/v1/chat/completions"
    assert wire.requests[0].headers["authorization"] == f"Bearer {KEY}"


def test_every_component_has_its_model_over_one_shared_client() -> None:
    models = endpoint_models(settings())
    assert {component: getattr(model, "model_name") for component, model in models.items()} == {  # noqa: B009
        component: f"model-of-{component}" for component in ModelComponent
    }
    clients = {id(getattr(model, "root_async_client")._client) for model in models.values()}  # noqa: B009
    assert len(clients) == 1


async def test_the_key_shows_in_no_representation_and_no_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    wire = Wire(httpx2.Response(401, json={"error": {"message": f"bad key {KEY[:6]}", "code": "invalid_api_key"}}))
    model = model_on(wire)
    await failure(wire)
    shown = repr(settings()) + str(settings()) + repr(model) + str(model) + repr(model.model_dump()) + caplog.text
    assert KEY not in shown
