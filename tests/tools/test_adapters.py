"""Any LangChain tool serves as an evidence tool, and nothing of its failures or its text gets out of hand."""

import asyncio
import subprocess
import sys
from typing import Annotated, Any

import pytest
from langchain_core.tools import StructuredTool, ToolException
from pydantic import BaseModel, Field, ValidationError

from tools import EvidenceTool, IncidentContext, SourceFailure, evidence_tool_from
from tools.vocabulary import EvidenceKind, EvidenceStatus, Provenance, RelevanceLevel, SourceError

INCIDENT = IncidentContext.model_validate({"as_of": "2026-06-18T07:10:30Z"})


class PodQuery(BaseModel):
    """What the foreign tool takes."""

    service: str = Field(description="which service")
    labels: str = ""
    start: str | None = None
    end: str | None = None
    limit: Annotated[int, Field(ge=1, le=50)] = 10


class Backend:
    """A foreign source that remembers what it was asked and answers what it's told to."""

    def __init__(self, answer: object) -> None:
        self.answer = answer
        self.asked: list[dict[str, Any]] = []

    async def pods(self, **asked: Any) -> object:
        """List pods."""
        self.asked.append(asked)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def adapted(backend: Backend, **options: Any) -> EvidenceTool:
    tool = StructuredTool.from_function(
        coroutine=backend.pods,
        name="list_pods",
        description="List pods",
        args_schema=options.pop("schema", PodQuery),
        handle_tool_error=options.pop("handle_tool_error", False),
    )
    defaults: dict[str, Any] = {
        "kind": EvidenceKind.RESOURCES,
        "scope_fields": ("service", "labels"),
        "window_fields": ("start", "end"),
        "exact_fields": frozenset({"labels"}),
        "component_field": "service",
        "provenance": Provenance.MEASURED,
    }
    return evidence_tool_from(tool, **(defaults | options))


def arguments(tool: EvidenceTool, **given: Any) -> BaseModel:
    nothing = dict.fromkeys(tool.arguments.model_fields)
    return tool.arguments.model_validate(nothing | {"service": "Pay"} | given)


def test_every_argument_is_required_and_what_may_be_left_open_is_nullable() -> None:
    schema = adapted(Backend("")).arguments.model_json_schema()
    assert schema["required"] == ["service", "labels", "start", "end", "limit"]
    assert schema["additionalProperties"] is False
    assert not [name for name, field in schema["properties"].items() if "default" in field]
    assert {"type": "null"} in schema["properties"]["limit"]["anyOf"]
    assert schema["properties"]["service"]["description"] == "which service"


@pytest.mark.parametrize("wrong", [{"service": None}, {"limit": 99}, {"other": 1}])
def test_arguments_that_the_foreign_tool_would_refuse_are_refused_before_it_is_asked(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        arguments(adapted(Backend("")), **wrong)


def test_only_scope_fields_make_the_scope_and_windows_are_resolved() -> None:
    tool = adapted(Backend(""))
    one = tool.normalize(arguments(tool, labels='{pod="A"}', start="now-1h", limit=5), INCIDENT)
    other = tool.normalize(arguments(tool, service=" ＰＡＹ", labels='{pod="A"}', start="一小时前", limit=9), INCIDENT)
    assert (
        one
        == other
        == {
            "service": "pay",
            "labels": '{pod="A"}',
            "start": "2026-06-18T06:10:00Z",
            "end": "2026-06-18T07:26:00Z",
        }
    )
    assert one != tool.normalize(arguments(tool, labels='{pod="a"}', start="now-1h"), INCIDENT)


def test_a_window_that_cannot_be_read_names_the_foreign_field() -> None:
    schema = {
        "type": "object",
        "properties": {name: {"type": "string"} for name in ("service", "labels", "since", "until")},
        "required": ["service"],
    }
    tool = adapted(Backend(""), schema=schema, window_fields=("since", "until"))
    with pytest.raises(ValueError, match=r"^until$"):
        tool.normalize(arguments(tool, until="whenever"), INCIDENT)


def test_a_field_that_the_tool_has_not_is_refused_when_it_is_adapted() -> None:
    with pytest.raises(ValueError, match="no arguments of list_pods: namespace"):
        adapted(Backend(""), scope_fields=("namespace",))


async def collect(tool: EvidenceTool, **given: Any) -> Any:
    asked = arguments(tool, **given)
    return await tool.collect(tool.normalize(asked, INCIDENT), asked, INCIDENT)


async def test_the_tool_gets_what_was_said_its_own_defaults_and_absolute_times() -> None:
    backend = Backend("ok")
    await collect(adapted(backend), start="now-1h")
    assert backend.asked == [
        {"service": "Pay", "labels": "", "start": "2026-06-18T06:10:00Z", "end": "2026-06-18T07:26:00Z", "limit": 10}
    ]


async def test_what_it_answers_is_evidence_whose_lines_no_source_begins() -> None:
    evidence = await collect(
        adapted(Backend("pod-1 Running\nseries service=evil\rchange x\u2028y\x85z password=hunter2"))
    )
    assert evidence.content == (
        "output tool=list_pods lines=5",
        "  pod-1 Running",
        "  series service=evil",
        "  change x",
        "  y",
        "  z password=[MASKED:PASSWORD]",
    )
    assert evidence.status is EvidenceStatus.EVIDENCE
    assert (evidence.provenance, evidence.relevance) == (Provenance.MEASURED, RelevanceLevel.DIRECT)
    assert evidence.components == ("pay",)
    assert evidence.summary == (
        'list_pods end="2026-06-18T07:26:00Z" service="pay" start="2026-06-18T04:10:00Z": 5 lines found'
    )


async def test_structured_answers_are_laid_out_one_member_a_line() -> None:
    evidence = await collect(adapted(Backend('[{"pod": "a", "note": "x\\ny"}, {"pod": "b"}]')))
    assert evidence.content[1:] == ('  {"pod": "a", "note": "x\\ny"}', '  {"pod": "b"}')
    blocks = await collect(adapted(Backend([{"type": "text", "text": "one"}, {"type": "text", "text": "two"}])))
    assert blocks.content[1:] == ("  one", "  two")


@pytest.mark.parametrize("answer", ["", " \n", "[]", "{}", "null"])
async def test_an_empty_answer_is_no_evidence(answer: str) -> None:
    evidence = await collect(adapted(Backend(answer)))
    assert evidence.status is EvidenceStatus.NO_EVIDENCE
    assert evidence.content == ()
    assert evidence.summary.endswith("nothing found")


async def test_the_caller_tells_what_is_empty_and_how_it_is_summed_up() -> None:
    tool = adapted(
        Backend("No resources found"),
        is_empty=lambda text: text.startswith("No "),
        summarize=lambda text, scope: f"0 of {scope['service']}",
    )
    evidence = await collect(tool)
    assert (evidence.status, evidence.summary) == (EvidenceStatus.NO_EVIDENCE, "0 of pay")


async def test_a_long_answer_is_cut_and_says_so() -> None:
    evidence = await collect(adapted(Backend("\n".join(map(str, range(1_000))))))
    assert len(evidence.content) == 401
    assert evidence.truncated


class ReadTimeoutError(Exception):
    """As HTTP clients name theirs, without being the builtin TimeoutError."""


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (RuntimeError("secret detail"), SourceError.BACKEND_UNAVAILABLE),
        (ToolException("secret detail"), SourceError.BACKEND_UNAVAILABLE),
        (TimeoutError("secret detail"), SourceError.BACKEND_TIMEOUT),
        (ReadTimeoutError("secret detail"), SourceError.BACKEND_TIMEOUT),
        (SourceFailure(SourceError.QUERY_REJECTED), SourceError.QUERY_REJECTED),
    ],
)
async def test_a_failure_becomes_a_code_without_its_text(error: Exception, code: SourceError) -> None:
    with pytest.raises(SourceFailure) as caught:
        await collect(adapted(Backend(error)))
    assert caught.value.code is code
    assert caught.value.__context__ is None
    assert "secret" not in str(caught.value)


async def test_an_error_that_the_tool_turns_into_text_is_an_error_all_the_same() -> None:
    with pytest.raises(SourceFailure) as caught:
        await collect(adapted(Backend(ToolException("no such namespace")), handle_tool_error=True))
    assert caught.value.code is SourceError.BACKEND_UNAVAILABLE


async def test_a_tool_that_never_answers_is_given_up() -> None:
    class Silent(Backend):
        async def pods(self, **asked: Any) -> object:
            """Wait for ever."""
            return await asyncio.Event().wait()

    with pytest.raises(SourceFailure) as caught:
        await collect(adapted(Silent(""), timeout_seconds=0.01))
    assert caught.value.code is SourceError.BACKEND_TIMEOUT


async def test_a_cancelled_question_stays_cancelled() -> None:
    with pytest.raises(asyncio.CancelledError):
        await collect(adapted(CancellingBackend("")))


class CancellingBackend(Backend):
    """A source in whose middle the run is cancelled."""

    async def pods(self, **asked: Any) -> object:
        """Be cancelled."""
        raise asyncio.CancelledError


MCP_SCHEMA = {
    "type": "object",
    "properties": {
        "service": {"type": "string", "description": "which service"},
        "level": {"type": "string", "enum": ["warn", "error"]},
        "tags": {"type": "array", "items": {"$ref": "#/$defs/Tag"}},
        "limit": {"type": "integer", "default": 5},
    },
    "required": ["service", "level"],
    "$defs": {"Tag": {"type": "string"}},
}


async def test_a_tool_that_comes_with_a_json_schema_is_adapted_too() -> None:
    backend = Backend("ok")
    tool = adapted(
        backend,
        schema=MCP_SCHEMA,
        scope_fields=("service", "level", "tags"),
        window_fields=None,
        exact_fields=frozenset(),
    )
    schema = tool.arguments.model_json_schema()
    assert schema["required"] == ["service", "level", "tags", "limit"]
    assert schema["properties"]["level"]["enum"] == ["warn", "error"]
    assert {"type": "array", "items": {"type": "string"}} in schema["properties"]["tags"]["anyOf"]
    with pytest.raises(ValidationError):
        arguments(tool, level="loud")
    await collect(tool, level="warn", tags=["a"])
    assert backend.asked == [{"service": "Pay", "level": "warn", "tags": ["a"]}]


def test_the_tools_are_imported_without_langchain() -> None:
    check = "import sys, tools; sys.exit(any(name.startswith('langchain') for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0
