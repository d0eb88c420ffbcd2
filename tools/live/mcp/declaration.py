"""The declaration of an MCP server's tools: what may be asked of them, and how their answers are read.

A declaration is TOML, one `[[tool]]` table a tool; docs/tools.md shows whole ones. Only what is declared is ever
called, with the declared arguments and no others. The digest pins the schema that the server offered when somebody
wrote the declaration and looked at the tool; a server that offers another one later is an unavailable source.
"""

import hashlib
import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from tools.vocabulary import EvidenceKind, Provenance, RelevanceLevel

_MAX_BYTES = 256 * 1024
_EMPTY = frozenset({"", "[]", "{}", "null", '""'})
_TOKEN = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_WRITING = frozenset(
    re.findall(
        r"\w+",
        """apply cordon create delete drain drop evict exec execute insert install kill modify mutate overwrite purge
        reboot remove restart scale uncordon uninstall update upgrade upload upsert write""",
    )
)
"""Words of a tool's name that say that it changes something."""


class DeclarationError(ValueError):
    """A declaration that can't be used. Its text is one line: what is wrong, where, and what would be right."""


class Argument(BaseModel):
    """An argument that the model may fill in. One that isn't `required` may be null, and is then left out."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    type: Literal["string", "integer", "number", "boolean"] = "string"
    description: str
    required: bool = True
    choices: tuple[str, ...] = ()

    def json_schema(self) -> dict[str, Any]:
        """Return the argument as JSON schema."""
        schema: dict[str, Any] = {"type": self.type, "description": self.description}
        return schema | {"enum": list(self.choices)} if self.choices else schema


class DeclaredTool(BaseModel):
    """One declared tool; `tool` is its name on the server, `name` what the model calls it (by default the same).

    `arguments`: what the model may fill in; `fixed`: arguments that are always sent as they stand here. Every argument
    makes the scope but those in `display` (page sizes, formats). `window`: the two that hold a window's start and end,
    sent as ISO UTC times. `exact`: those whose case matters. `component`: the one that names the service that wrote the
    evidence. `empty`: patterns (RE) one of which a whole answer matches where nothing was found, beside blank ones and
    empty JSON; `unknown`: one of which it matches where a name was asked for that the server has never known.
    `summary`: a text in which `{argument}` and `{lines}` are filled in.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    tool: str = Field(pattern=r"^[\x21-\x7e]{1,128}$")
    name: str = Field(default="", pattern=r"^[A-Za-z0-9_.-]{0,64}$")
    description: str = Field(min_length=1, max_length=1000)
    kind: EvidenceKind
    provenance: Provenance
    relevance: RelevanceLevel
    arguments: dict[str, Argument] = {}
    fixed: dict[str, str | int | float | bool] = {}
    display: tuple[str, ...] = ()
    window: tuple[str, str] | None = None
    exact: tuple[str, ...] = ()
    component: str | None = None
    empty: tuple[re.Pattern[str], ...] = ()
    unknown: tuple[re.Pattern[str], ...] = ()
    summary: str = "{lines} lines"
    digest: str = Field(pattern=r"^sha256:[0-9a-f]{64}$")

    @field_validator("tool")
    @classmethod
    def _reads(cls, value: str) -> str:
        if word := writing_word(value):
            raise ValueError(f"a tool that can {word} is no source of evidence; only reading ones can be declared")
        return value

    @model_validator(mode="after")
    def _names_its_arguments(self) -> "DeclaredTool":
        named = {*self.display, *(self.window or ()), *self.exact, *((self.component,) if self.component else ())}
        named |= set(re.findall(r"\{(\w+)\}", self.summary)) - {"lines"}
        if unknown := sorted(named - set(self.arguments)):
            raise ValueError(f"no argument called {unknown[0]}")
        if twice := sorted(set(self.fixed) & set(self.arguments)):
            raise ValueError(f"{twice[0]} is fixed and an argument")
        return self

    def is_empty(self, text: str) -> bool:
        """Return whether a whole answer says that nothing was found."""
        return text.strip() in _EMPTY or any(pattern.fullmatch(text.strip()) for pattern in self.empty)

    def is_unknown(self, text: str) -> bool:
        """Return whether a whole answer says that a name was never known."""
        return any(pattern.fullmatch(text.strip()) for pattern in self.unknown)

    @property
    def called(self) -> str:
        """What the model calls the tool."""
        return self.name or self.tool

    def schema_of_arguments(self) -> dict[str, Any]:
        """Return the JSON schema of what the model may fill in."""
        properties = {
            name: {
                "type": one.type,
                "description": one.description,
                **({"enum": list(one.choices)} if one.choices else {}),
            }
            for name, one in self.arguments.items()
        }
        required = [name for name, one in self.arguments.items() if one.required]
        return {"type": "object", "properties": properties, "required": required}


class _Declaration(BaseModel):
    model_config = ConfigDict(extra="forbid")

    tool: tuple[DeclaredTool, ...] = Field(min_length=1)


def read_declaration(path: Path) -> tuple[DeclaredTool, ...]:
    """Return the tools that a file declares. Blocking I/O. Raises DeclarationError."""
    try:
        with path.open("rb") as file:
            text = file.read(_MAX_BYTES + 1)
        if len(text) > _MAX_BYTES:
            raise DeclarationError(f"declaration {path.name} is larger than {_MAX_BYTES // 1024} KiB")
        declared = _Declaration.model_validate(tomllib.loads(text.decode("utf-8"))).tool
    except OSError as error:
        line = f"declaration {path} can't be read: {error.strerror}"
    except (UnicodeDecodeError, tomllib.TOMLDecodeError):
        line = f"declaration {path.name}: expected TOML with [[tool]] tables"
    except ValidationError as error:
        line = f"declaration {path.name}: {_first(error)}"
    else:
        names = [tool.called for tool in declared]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise DeclarationError(f"declaration {path.name}: two tools are called {twice}")
        return declared
    raise DeclarationError(line)


def schema_digest(name: str, input_schema: Mapping[str, Any], annotations: Mapping[str, Any] | None) -> str:
    """Return the digest that pins a tool: its name, its input schema and its annotations, in canonical JSON.

    Descriptions aren't among them: the model reads the declaration's own, so that a server that rewords them changes
    nothing, and can smuggle nothing in.
    """
    pinned = {"name": name, "schema": _bare(input_schema), "annotations": annotations or {}}
    text = json.dumps(pinned, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def writing_word(name: str) -> str | None:
    """Return the word of a tool's name that says that it changes something, or None."""
    return next((word for word in map(str.lower, _TOKEN.findall(name)) if word in _WRITING), None)


def _bare(schema: Any) -> Any:
    """Return a JSON schema without what is only said to readers."""
    if isinstance(schema, Mapping):
        return {
            key: _members(value) if key in ("properties", "$defs", "definitions") else _bare(value)
            for key, value in schema.items()
            if key not in ("description", "title", "examples", "$comment")
        }
    return [_bare(one) for one in schema] if isinstance(schema, list) else schema


def _members(value: Any) -> Any:
    return {name: _bare(one) for name, one in value.items()} if isinstance(value, Mapping) else value


def _first(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg'].removeprefix('Value error, ')}"
