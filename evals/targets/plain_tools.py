"""Our evidence tools as a bare agent gets them: LangChain tools without the progress envelope.

The agent is sent the very observations that Zhizhi's model is sent, masked and bounded alike, so that models which read
one can read the other. What it lacks is the gate: nothing refuses, counts or stores a question.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, get_args

from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, InjectedToolCallId, StructuredTool
from pydantic import BaseModel, ValidationError, create_model, model_validator

from evals.cases import ToolCall
from graph.contract.protocol import PREVIOUS_OBSERVATION
from graph.contract.records import VerifiedRecord
from graph.contract.vocabulary import InvocationStatus
from graph.envelope import error_message, observation_message
from tools.base import EvidenceTool, IncidentContext, SourceFailure
from tools.hygiene import clean_evidence
from tools.vocabulary import SourceError

CALL_ID = "injected_call_id"
INVALID_ARGUMENTS = "INVALID_TOOL_ARGUMENTS"


@dataclass
class Collection:
    """What a bare agent collected: its calls in order, and the evidence by call id (the newest where ids repeat)."""

    incident: IncidentContext
    max_bytes: int
    calls: list[ToolCall] = field(default_factory=list)
    records: dict[str, VerifiedRecord] = field(default_factory=dict)

    async def ask(self, tool: EvidenceTool, call_id: str, given: dict[str, Any]) -> ToolMessage:
        """Run a tool and return the observation or error that answers the call."""
        try:
            arguments = tool.arguments.model_validate(given)
            scope = tool.normalize(arguments, self.incident)
        except ValueError:  # pydantic's too: the tool schema let through what has no meaning
            return self._failed(tool, call_id, given, None, SourceFailure(SourceError.QUERY_REJECTED))
        try:
            evidence = clean_evidence(await tool.collect(scope, arguments, self.incident), max_bytes=self.max_bytes)
        except SourceFailure as failure:
            return self._failed(tool, call_id, given, dict(scope), failure)
        self.records[call_id] = VerifiedRecord(call_id, tool.name, tool.kind, scope, evidence)
        call = ToolCall(
            call_id=call_id,
            tool_name=tool.name,
            arguments=given,
            scope=dict(scope),
            evidence_status=evidence.status.value,
            content=evidence.content,
        )
        self.calls.append(call)
        return observation_message(call_id, tool.name, tool.kind, evidence)

    def _failed(
        self,
        tool: EvidenceTool,
        call_id: str,
        given: dict[str, Any],
        scope: dict[str, Any] | None,
        failure: SourceFailure,
    ) -> ToolMessage:
        status = InvocationStatus.ERROR.value
        call = ToolCall(call_id=call_id, tool_name=tool.name, arguments=given, scope=scope, status=status)
        self.calls.append(call)
        return error_message(call_id, tool.name, failure.code, failure.near_names, failure.field)


def plain_tools(tools: Sequence[EvidenceTool], collection: Collection) -> list[BaseTool]:
    """Return the tools as an agent binds them; what they're asked and answer is kept in `collection`."""
    return [_plain(tool, collection) for tool in tools]


def _plain(tool: EvidenceTool, collection: Collection) -> BaseTool:
    async def ask(**given: Any) -> ToolMessage:
        call_id = str(given.pop(CALL_ID))
        return await collection.ask(tool, call_id, given)

    return StructuredTool.from_function(
        coroutine=ask,
        name=tool.name,
        description=tool.description,
        args_schema=_schema(tool.arguments),
        handle_validation_error=_invalid,
    )


def _invalid(_: ValidationError | Any) -> str:
    return f'{{"type": "ERROR", "code": "{INVALID_ARGUMENTS}"}}'


def _schema(arguments: type[BaseModel]) -> type[BaseModel]:
    """Return the argument model with the call's id injected, as lenient as the gate: what was left open is null.

    The envelope's field is dropped: the offline diagnostician always fills it.
    """
    validators: dict[str, Any] = {"lenient": model_validator(mode="before")(_lenient(arguments))}
    fields: dict[str, Any] = {CALL_ID: (Annotated[str, InjectedToolCallId], ...)}
    return create_model(f"Plain{arguments.__name__}", __base__=arguments, __validators__=validators, **fields)


def _lenient(arguments: type[BaseModel]) -> Callable[[Any], Any]:
    nullable = {n: None for n, field in arguments.model_fields.items() if type(None) in get_args(field.annotation)}

    def fill(given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        return {**nullable, **{key: value for key, value in given.items() if key != PREVIOUS_OBSERVATION}}

    return fill
