"""Replies and errors without a wire: other providers' shapes, verdicts, routes, and what a history may hold."""

import contextlib
import json
import socket
import ssl
from typing import Any

import httpx
import httpx2
import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.exceptions import (
    ContextOverflowError,
    ModelAPIError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelInvalidRequestError,
    ModelNotFoundError,
    ModelPermissionDeniedError,
    ModelRateLimitError,
    ModelRefusalError,
    ModelTimeoutError,
    OutputParserException,
)
from langchain_core.messages import AIMessage, ChatMessage, HumanMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from graph.contract.vocabulary import FailureCode, SemanticVerdict
from graph.models.replies import ModelFailure, check_reply, failure_of, parse_route, parse_verdict, plain_reply

UNREACHABLE, REFUSED = FailureCode.MODEL_UNREACHABLE, FailureCode.MODEL_REFUSED
INVALID, INTERNAL = FailureCode.MODEL_REPLY_INVALID, FailureCode.INTERNAL_ERROR

REQUEST = httpx2.Request("POST", "https://llm.test/v1/chat/completions")
TEXT = st.text(st.sampled_from("aZ9-_ .:\n\x00\u200b\u202e中ü😀\ud83d\udc00"), max_size=80)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=8,
)


def status_error(status: int) -> httpx.HTTPStatusError:
    request = httpx.Request("POST", "https://llm.test")
    return httpx.HTTPStatusError("text", request=request, response=httpx.Response(status, request=request))


@pytest.mark.parametrize(
    ("exc", "code"),
    [
        (ModelFailure(REFUSED), REFUSED),
        (ModelConnectionError("x"), UNREACHABLE),
        (ModelTimeoutError("x"), UNREACHABLE),
        (ModelRateLimitError("x"), UNREACHABLE),
        (ModelAPIError("x"), UNREACHABLE),
        (ModelAuthenticationError("x"), REFUSED),
        (ModelPermissionDeniedError("x"), REFUSED),
        (ModelInvalidRequestError("x"), REFUSED),
        (ModelNotFoundError("x"), REFUSED),
        (ModelRefusalError("x"), REFUSED),
        (ContextOverflowError("x"), REFUSED),
        (OutputParserException("x"), INVALID),
        (httpx.ConnectError("x"), UNREACHABLE),
        (httpx.PoolTimeout("x"), UNREACHABLE),
        (httpx.DecodingError("x"), INVALID),
        (status_error(503), UNREACHABLE),
        (status_error(404), REFUSED),
        (TimeoutError("x"), UNREACHABLE),
        (ConnectionRefusedError("x"), UNREACHABLE),
        (socket.gaierror("x"), UNREACHABLE),
        (ssl.SSLCertVerificationError("x"), UNREACHABLE),
        (openai.APIConnectionError(request=REQUEST), UNREACHABLE),
        (openai.APITimeoutError(REQUEST), UNREACHABLE),
        (openai.APIError("x", REQUEST, body=None), INVALID),
        (openai.ContentFilterFinishReasonError(), REFUSED),
        (openai.OpenAIError("no key"), REFUSED),
        (ValueError("x"), INVALID),
        (TypeError("x"), INVALID),
        (KeyError("choices"), INVALID),
        (IndexError("x"), INVALID),
        (AttributeError("x"), INVALID),
        (RecursionError("x"), INVALID),
        (RuntimeError("x"), INTERNAL),
        (NotImplementedError("x"), INTERNAL),
        (PermissionError("x"), INTERNAL),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else value,
)
def test_every_error_of_a_client_has_one_code(exc: Exception, code: FailureCode) -> None:
    assert failure_of(exc) is code


@pytest.mark.parametrize(
    "metadata",
    [
        {"finish_reason": "length"},
        {"finish_reason": "MAX_TOKENS"},
        {"stop_reason": "max_tokens"},
        {"finish_reason": "model_length"},
    ],
)
def test_a_reply_cut_by_length_is_invalid_whatever_the_provider_calls_it(metadata: dict[str, str]) -> None:
    with pytest.raises(ModelFailure) as raised:
        check_reply(AIMessage("half a sen", response_metadata=metadata))
    assert raised.value.code is INVALID


@pytest.mark.parametrize("message", [HumanMessage("x"), ChatMessage(content="x", role="tool"), "x", None])
def test_what_is_no_assistants_message_is_invalid(message: object) -> None:
    with pytest.raises(ModelFailure) as raised:
        check_reply(message)
    assert raised.value.code is INVALID


@pytest.mark.parametrize(
    "message",
    [
        AIMessage("text"),
        AIMessage([{"type": "text", "text": "text"}]),
        AIMessage("", tool_calls=[{"name": "look", "args": {}, "id": None}]),
        AIMessage("", invalid_tool_calls=[{"name": "look", "args": "{", "id": "c1", "error": None}]),
        AIMessage("text", response_metadata={"finish_reason": "STOP"}),
        AIMessage("text", response_metadata={"finish_reason": None}),
    ],
)
def test_a_reply_with_text_or_a_call_is_usable_without_any_finish_reason(message: AIMessage) -> None:
    assert check_reply(message) is message


@pytest.mark.parametrize("content", ["", " ", "\u3000\n", "\u200b", "<think>hm</think>", "<think>a\nb</think>\n"])
def test_a_reply_without_a_visible_word_is_blank(content: str) -> None:
    with pytest.raises(ModelFailure):
        check_reply(AIMessage(content))


def test_thinking_left_in_the_content_is_not_kept() -> None:
    assert (
        plain_reply(AIMessage('<think>a\n{"b"}</think>\n{"conclusion": null}')).text.strip() == '{"conclusion": null}'
    )
    assert plain_reply(AIMessage('{"text": "<think>a</think>"}')).text == '{"text": "<think>a</think>"}'


def test_content_blocks_become_their_text() -> None:
    blocks: list[str | dict[str, Any]] = [{"type": "reasoning", "reasoning": "r"}, {"type": "text", "text": "answer"}]
    assert plain_reply(AIMessage(blocks)).content == "answer"


@pytest.mark.parametrize("bad", [2**63, -(2**63) - 1, float("nan"), float("inf")])
def test_arguments_that_nothing_can_store_count_as_unparsable(bad: float) -> None:
    plain = plain_reply(AIMessage("", tool_calls=[{"name": "look", "args": {"at": [bad]}, "id": "c1"}]))
    assert plain.tool_calls == []
    assert [(c["name"], c["args"], c["id"]) for c in plain.invalid_tool_calls] == [("look", "{}", "c1")]


@given(st.dictionaries(TEXT, JSON, max_size=4), TEXT)
def test_a_plain_reply_can_be_stored_and_sent_whatever_the_model_wrote(args: dict[str, Any], text: str) -> None:
    plain = plain_reply(AIMessage(text, tool_calls=[{"name": "look", "args": args, "id": "c1"}]))
    assert len(plain.tool_calls) + len(plain.invalid_tool_calls) == 1
    for call in plain.tool_calls:
        json.dumps(call["args"], ensure_ascii=False, allow_nan=False).encode()
    plain.text.encode()
    serializer = JsonPlusSerializer()
    assert serializer.loads_typed(serializer.dumps_typed([plain])) == [plain]


def test_deeply_nested_arguments_count_as_unparsable() -> None:
    args: dict[str, Any] = {}
    for _ in range(200):
        args = {"a": args}
    plain = plain_reply(AIMessage("", tool_calls=[{"name": "look", "args": args, "id": "c1"}]))
    assert len(plain.invalid_tool_calls) == 1


@given(TEXT)
def test_a_calls_name_is_fit_for_a_history_and_never_turns_into_another_tools(name: str) -> None:
    plain = plain_reply(AIMessage("", tool_calls=[{"name": name, "args": {}, "id": "c1"}]))
    kept = plain.tool_calls[0]["name"]
    assert 0 < len(kept) <= 64
    assert kept.isascii()
    assert all(character.isalnum() or character in "_-" for character in kept)
    assert kept == name or kept.startswith("unsupported-")


@pytest.mark.parametrize(
    "text",
    [
        '{"verdict": "SUPPORTED", "reason": "each line is cited"}',
        '{"reason": null, "verdict": "SUPPORTED"}',
        '{"verdict":"SUPPORTED"}',
        ' \n{"verdict": "SUPPORTED", "reason": ""}\n',
        '```json\n{"verdict": "SUPPORTED", "reason": "x"}\n```',
        '```\n{"verdict": "SUPPORTED",\n "reason": "x"}\n```\n',
    ],
)
def test_a_verdict_is_read_from_its_json_alone_or_in_one_fence(text: str) -> None:
    assert parse_verdict(text) is SemanticVerdict.SUPPORTED


@pytest.mark.parametrize(
    "text",
    [
        "",
        "SUPPORTED",
        '"SUPPORTED"',
        '["SUPPORTED"]',
        "null",
        "{}",
        '{"verdict": "supported"}',
        '{"verdict": "SUPPORTED."}',
        '{"verdict": true}',
        '{"verdict": null}',
        '{"verdict": ["SUPPORTED"]}',
        '{"verdict": "SUPPORTED", "reason": 1}',
        '{"verdict": "SUPPORTED", "confidence": "0.9"}',
        '{"verdict": "UNSUPPORTED", "verdict": "SUPPORTED"}',
        '{"verdict": "UNSUPPORTED"} {"verdict": "SUPPORTED"}',
        'Here it is: {"verdict": "SUPPORTED"}',
        '{"verdict": "SUPPORTED"} because it is',
        '```json\n```json\n{"verdict": "SUPPORTED"}\n```\n```',
        "[" * 100_000,
        '{"verdict": "SUPPO',
    ],
)
def test_anything_else_is_no_verdict(text: str) -> None:
    with pytest.raises(ModelFailure) as raised:
        parse_verdict(text)
    assert raised.value.code is INVALID


def test_an_unreadable_verdict_leaves_no_model_text_in_the_failure() -> None:
    with pytest.raises(ModelFailure) as raised:
        parse_verdict('{"verdict": "the secret draft"')
    assert raised.value.__context__ is None
    assert raised.value.args == (INVALID.value,)


@given(TEXT | JSON.map(json.dumps))
def test_no_text_makes_a_verdict_or_a_route_raise_anything_but_a_model_failure(text: str) -> None:
    for parse in (parse_verdict, parse_route):
        with contextlib.suppress(ModelFailure):
            assert parse(text) is not None


def test_a_route_carries_the_context_that_was_found() -> None:
    context = {"enterprise": None, "service": " order-api\u202e ", "environment": "", "window": "昨晚\t十点起"}
    route = parse_route(json.dumps({"route": "diagnosis", "context": context}))
    assert route.kind == "diagnosis"
    assert route.context == {
        "enterprise": None,
        "service": "order-api",
        "environment": None,
        "window": "昨晚 十点起",
        "error": None,
    }


@pytest.mark.parametrize("text", ['{"route": "other"}', '{"route": "other", "context": null}'])
def test_a_route_may_have_found_no_context(text: str) -> None:
    assert set(parse_route(text).context.values()) == {None}


@pytest.mark.parametrize(
    "text",
    [
        "diagnosis",
        '{"route": "diagnose"}',
        '{"route": null}',
        '{"route": "diagnosis", "context": []}',
        '{"route": "diagnosis", "context": {"service": 5}}',
        '{"route": "diagnosis", "context": {"owner": "x"}}',
        '{"route": "diagnosis", "reason": "x"}',
        '{"route": "diagnosis", "context": {"service": "' + "x" * 201 + '"}}',
    ],
)
def test_anything_else_is_no_route(text: str) -> None:
    with pytest.raises(ModelFailure) as raised:
        parse_route(text)
    assert raised.value.code is INVALID
