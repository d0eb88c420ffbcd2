"""Any LangChain tool as an evidence tool; MCP tools, loaded through LangChain's adapters, are LangChain tools.

Source: decided contract, "The envelope and the gate" (schemas, scope) and "Answers of tools".
"""

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, Field, ValidationError, WithJsonSchema, create_model
from pydantic.fields import FieldInfo

from tools.base import Arguments, EvidenceTool, IncidentContext, SourceFailure
from tools.canonical import canonical_scope
from tools.hygiene import CONTINUATION, clean_lines
from tools.vocabulary import Evidence, EvidenceKind, EvidenceStatus, Provenance, RelevanceLevel, Scope, SourceError
from tools.windows import resolve_window

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool

MAX_LINES = 400
_CALL_ID = "evidence"
_EMPTY = frozenset({"", "[]", "{}", "null", '""'})
_PRIMITIVES: dict[str, type] = {"string": str, "integer": int, "number": float, "boolean": bool}


def evidence_tool_from(
    base_tool: "BaseTool",
    *,
    kind: EvidenceKind,
    scope_fields: tuple[str, ...],
    provenance: Provenance,
    relevance: RelevanceLevel = RelevanceLevel.DIRECT,
    window_fields: tuple[str, str] | None = None,
    exact_fields: frozenset[str] = frozenset(),
    component_field: str | None = None,
    is_empty: Callable[[str], bool] | None = None,
    summarize: Callable[[str, Scope], str] | None = None,
    timeout_seconds: float = 30.0,
) -> EvidenceTool:
    """Return `base_tool` as an evidence tool, which asks it and never anything else.

    `scope_fields`: the arguments that make the scope (display options aren't among them). `window_fields`: the two that
    hold a window's start and end; they are resolved against the incident, and the tool gets ISO UTC times.
    `exact_fields`: those whose case matters. `component_field`: the one that names the service that wrote the evidence.
    `is_empty` tells from the tool's text whether it found nothing (by default: blank, or empty JSON); `summarize` makes
    the objective summary from that text and the scope. Raises ValueError where a named field is no argument.
    """
    arguments, optional = _argument_model(base_tool)
    named = {*scope_fields, *(window_fields or ()), *exact_fields, *((component_field,) if component_field else ())}
    if unknown := sorted(named - set(arguments.model_fields)):
        raise ValueError(f"no arguments of {base_tool.name}: {', '.join(unknown)}")
    return _AdaptedTool(
        name=base_tool.name,
        description=base_tool.description,
        kind=kind,
        arguments=arguments,
        base_tool=base_tool,
        optional=optional,
        scope_fields=scope_fields,
        window_fields=window_fields,
        exact_fields=exact_fields,
        component_field=component_field,
        provenance=provenance,
        relevance=relevance,
        is_empty=is_empty or _is_blank,
        summarize=summarize or _summarizer(base_tool.name),
        timeout_seconds=timeout_seconds,
    )


@dataclass(frozen=True, kw_only=True)
class _AdaptedTool(EvidenceTool):
    """A LangChain tool in the shape of an evidence tool; its fields are told at `evidence_tool_from`."""

    name: str
    description: str
    kind: EvidenceKind
    arguments: type[BaseModel]
    base_tool: "BaseTool"
    optional: frozenset[str]
    scope_fields: tuple[str, ...]
    window_fields: tuple[str, str] | None
    exact_fields: frozenset[str]
    component_field: str | None
    provenance: Provenance
    relevance: RelevanceLevel
    is_empty: Callable[[str], bool]
    summarize: Callable[[str, Scope], str]
    timeout_seconds: float

    def normalize(self, arguments: Any, incident: IncidentContext) -> Scope:
        given = arguments.model_dump(mode="json")
        values = {field: given[field] for field in self.scope_fields}
        values |= self._window(given, incident)
        times = frozenset(self.window_fields or ())
        return canonical_scope(values, exact=self.exact_fields | times)

    async def collect(self, scope: Scope, arguments: Any, incident: IncidentContext) -> Evidence:
        given = arguments.model_dump(mode="json")
        given |= self._window(given, incident)
        asked = {field: value for field, value in given.items() if value is not None or field not in self.optional}
        text = await self._ask(asked)
        empty = self.is_empty(text)
        lines = text.splitlines()
        content = (f"output tool={self.name} lines={len(lines)}", *(CONTINUATION + line for line in lines[:MAX_LINES]))
        component = scope.get(self.component_field) if self.component_field else None
        return Evidence(
            status=EvidenceStatus.NO_EVIDENCE if empty else EvidenceStatus.EVIDENCE,
            relevance=self.relevance,
            provenance=self.provenance,
            content=() if empty else clean_lines(content),
            summary=self.summarize(text, scope),
            truncated=not empty and len(lines) > MAX_LINES,
            components=(str(component),) if component else (),
        )

    def _window(self, given: Mapping[str, Any], incident: IncidentContext) -> dict[str, str]:
        if self.window_fields is None:
            return {}
        start, end = self.window_fields
        try:
            window = resolve_window(_spoken(given[start]), _spoken(given[end]), incident)
        except ValueError as error:
            fault = start if error.args == ("start",) else end
            raise ValueError(fault) from None
        scope = window.as_scope()
        return {start: scope["start"], end: scope["end"]}

    async def _ask(self, asked: dict[str, Any]) -> str:
        """Return the tool's answer as text; whatever goes wrong becomes a code, raised outside of the handler so that
        the foreign exception isn't its context."""
        call = {"type": "tool_call", "id": _CALL_ID, "name": self.name, "args": asked}
        try:
            # No callbacks: what a source said is not for the run's streams before it is cleaned.
            answer = await asyncio.wait_for(
                self.base_tool.ainvoke(call, config={"callbacks": []}), self.timeout_seconds
            )
        except SourceFailure as said:
            failure = SourceFailure(said.code, near_names=said.near_names, field=said.field, detail=said.detail)
        except ValidationError:
            failure = SourceFailure(SourceError.QUERY_REJECTED)
        except Exception as error:  # noqa: BLE001 - a foreign tool may raise anything
            timed_out = _is_timeout(error)
            failure = SourceFailure(SourceError.BACKEND_TIMEOUT if timed_out else SourceError.BACKEND_UNAVAILABLE)
        else:
            if getattr(answer, "status", "success") != "error":
                return _text(getattr(answer, "content", answer))
            failure = SourceFailure(SourceError.BACKEND_UNAVAILABLE)
        raise failure


def _argument_model(base_tool: "BaseTool") -> tuple[type[BaseModel], frozenset[str]]:
    """Return the argument model, every field required, and the names of those that may be left open (nullable)."""
    schema = base_tool.tool_call_schema
    if isinstance(schema, dict):
        fields = _from_document(schema)
    elif issubclass(schema, BaseModel):
        fields = {field.alias or name: _from_field(field) for name, field in schema.model_fields.items()}
    else:
        fields = _from_document(schema.schema())
    definitions: dict[str, Any] = {
        name: (annotation, Field(description=description)) for name, (annotation, _, description) in fields.items()
    }
    model = create_model(f"{base_tool.name}_arguments", __base__=Arguments, **definitions)
    return model, frozenset(name for name, (_, required, _) in fields.items() if not required)


def _from_field(field: FieldInfo) -> tuple[Any, bool, str | None]:
    annotation: Any = field.annotation
    for constraint in field.metadata:
        annotation = Annotated[annotation, constraint]
    return (annotation if field.is_required() else annotation | None), field.is_required(), field.description


def _from_document(document: Mapping[str, Any]) -> dict[str, tuple[Any, bool, str | None]]:
    from langchain_core.utils.json_schema import dereference_refs

    resolved = dereference_refs(dict(document)) if "$defs" in document or "definitions" in document else document
    required = frozenset(resolved.get("required", ()))
    return {
        name: (
            _type_of(schema) if name in required else _type_of(schema) | None,
            name in required,
            schema.get("description"),
        )
        for name, schema in resolved.get("properties", {}).items()
    }


def _type_of(schema: Mapping[str, Any]) -> Any:
    """Return the type of a JSON schema: checked here where it's plain, else shown as it is and left to the tool."""
    if schema.get("enum"):
        return Literal[tuple(schema["enum"])]
    kinds = schema.get("type")
    plain = [_PRIMITIVES[kind] for kind in (kinds if isinstance(kinds, list) else [kinds]) if kind in _PRIMITIVES]
    if isinstance(kinds, str) and plain:
        return plain[0]
    shown = {key: value for key, value in schema.items() if key not in ("default", "title", "description")}
    return Annotated[Any, WithJsonSchema(shown)]


def _spoken(value: Any) -> str | None:
    return None if value is None else str(value)


def _is_timeout(error: Exception) -> bool:
    return any("timeout" in cause.__name__.lower() for cause in type(error).__mro__)


def _text(content: Any) -> str:
    """Return a tool's content as text: blocks joined, JSON laid out with one member a line."""
    if isinstance(content, list) and all(isinstance(block, dict) and "text" in block for block in content):
        return "\n".join(_text(block["text"]) for block in content)
    if not isinstance(content, str):
        return _laid_out(content)
    if content.lstrip()[:1] in ("[", "{"):
        try:
            return _laid_out(json.loads(content))
        except ValueError:
            return content
    return content


def _laid_out(value: Any) -> str:
    if isinstance(value, list) and value:
        return "\n".join(_json(item) for item in value)
    if isinstance(value, dict) and value:
        return "\n".join(f"{_json(key)}: {_json(item)}" for key, item in value.items())
    return _json(value)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _is_blank(text: str) -> bool:
    return text.strip() in _EMPTY


def _summarizer(name: str) -> Callable[[str, Scope], str]:
    def summarize(text: str, scope: Scope) -> str:
        asked = " ".join(f"{field}={_json(value)}" for field, value in scope.items())
        found = "nothing found" if _is_blank(text) else f"{len(text.splitlines())} lines found"
        return f"{name} {asked}: {found}"

    return summarize
