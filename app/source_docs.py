"""`docs/sources.md`: every type of live source with its settings, as the code has them."""

import inspect
from collections.abc import Iterator
from types import NoneType
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo

from tools.live.registry import TYPES, class_of
from tools.live.source import HttpSource

_SHARED = {name for name in HttpSource.model_fields if name != "type"}


def sources_page(generated: str) -> str:
    """Return the page; `generated` is the remark that says so."""
    parts = [f"# Live sources\n\n{generated}\n", _INTRODUCTION, "## Behind HTTP\n", _body(HttpSource)]
    parts.append(_table(HttpSource, _SHARED))
    for kind in TYPES:
        parts += list(_type(kind, class_of(kind)))
    return "\n".join(parts)


def _type(kind: str, settings: type[BaseModel]) -> Iterator[str]:
    over_http = issubclass(settings, HttpSource)
    own = {
        name
        for name, field in settings.model_fields.items()
        if name != "type" and not (over_http and name in _SHARED and repr(field) == repr(HttpSource.model_fields[name]))
    }
    yield f"## `{kind}`\n"
    yield _body(settings)
    if over_http:
        yield "Its address and credentials: see “Behind HTTP”.\n"
    if own:
        yield _table(settings, own)


def _body(settings: type[BaseModel]) -> str:
    return (inspect.getdoc(settings) or "") + "\n"


def _table(settings: type[BaseModel], names: set[str]) -> str:
    rows = [
        f"| `…_{name.upper()}` | {_shape(field)} | {_default(field)} |"
        for name, field in settings.model_fields.items()
        if name in names
    ]
    return "\n".join(["| field | holds | default |", "|---|---|---|", *rows, ""])


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "needed"
    value = field.get_default(call_default_factory=True)
    if value is None or value in ((), {}):
        return "–"
    if isinstance(value, tuple | list | set | frozenset):
        return f"`{','.join(map(str, value))}`"
    return f"{value:g}" if isinstance(value, float) else f"`{str(value).lower()}`" if value is not True else "`true`"


def _shape(field: FieldInfo) -> str:
    return " or ".join(dict.fromkeys(_name(one) for one in _members(field.annotation)))


def _members(annotation: Any) -> tuple[Any, ...]:
    members = get_args(annotation)
    if NoneType in members:
        return tuple(one for one in members if one is not NoneType)
    return (annotation,)


def _name(annotation: Any) -> str:
    origin = get_origin(annotation)
    if origin is Literal:
        return " or ".join(f"`{one}`" for one in get_args(annotation))
    if origin in (tuple, list, set, frozenset):
        return "a list with commas"
    if origin is not None:
        return "a JSON object"
    plain = {str: "text", int: "a number", float: "a number", bool: "true or false", SecretStr: "a secret"}
    return plain.get(annotation, "a path" if annotation.__name__ == "Path" else "text")


_INTRODUCTION = """\
A team points Zhizhi at its own stack by settings, and asks:

```sh
export HARNESS_SOURCE_PROMETHEUS_URL=https://prometheus.example:9090
export HARNESS_SOURCE_ALERTMANAGER_URL=https://alertmanager.example:9093
./zhizhi doctor      # is each source reachable, does it let us in, do the clocks agree, does a query work
./zhizhi diagnose "payments are timing out" --locale en
```

`HARNESS_SOURCE_<NAME>_<FIELD>` sets a field of the source called NAME (letters and digits, no underscore). Where it
has no `_TYPE`, its name is its type. Several sources of one kind are told apart by name and answer as one:
`HARNESS_SOURCE_EU_TYPE=loki`, `HARNESS_SOURCE_EU_URL=…`, `HARNESS_SOURCE_US_TYPE=loki`, `HARNESS_SOURCE_US_URL=…`. In
`zhizhi.toml` the same is `[harness.source.eu]` with `type = "loki"` and `url = "…"`; the environment wins.

What holds for each: it is asked and never written to; every wait has a limit; a connection that breaks is tried once
more; an answer beyond the bound is cut while it comes in; certificates are verified; no redirect to another host is
followed; cancelling a run reaches the backend. Credentials come from the environment or from files, never stand in an
address, and appear in no scope, trace, error or log. An absence is told only where every source of the kind answered.
"""
