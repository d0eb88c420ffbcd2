"""Prompts are files of this package, `<name>.zh.md`: strict Jinja, read as package resources (checkout or wheel)."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from jinja2 import StrictUndefined, Template, meta
from jinja2.sandbox import ImmutableSandboxedEnvironment

PromptName: TypeAlias = Literal["diagnosis", "router", "evidence_repair", "semantic_guard"]

_environment = ImmutableSandboxedEnvironment(undefined=StrictUndefined, autoescape=False, trim_blocks=True)


def render(name: PromptName, **values: str) -> str:
    """Return the prompt `name` as text. `diagnosis` and `evidence_repair` take `locale` ("zh" or "en"), others nothing.

    Raises ValueError where `values` are not exactly those that the template uses (a missing one would leave a hole, a
    surplus one is a mistake of the caller), and jinja2.UndefinedError for a locale that has no prompt. What a user or
    a source wrote is never a value here; it goes in messages.
    """
    template, wanted = _template(name)
    if wanted != values.keys():
        raise ValueError(f"prompt {name} takes {sorted(wanted)}, got {sorted(values)}")
    return template.render(values).strip()


def digest(name: PromptName) -> str:
    """Return the SHA-256 (hex) of the prompt's file, by which a run record names the version that it used."""
    return sha256(_source(name).encode()).hexdigest()


@cache
def _template(name: PromptName) -> tuple[Template, frozenset[str]]:
    source = _source(name)
    wanted = meta.find_undeclared_variables(_environment.parse(source))
    return _environment.from_string(source), frozenset(wanted)


@cache
def _source(name: PromptName) -> str:
    return _places[-1].joinpath(f"{name}.zh.md").read_text(encoding="utf-8")


@contextmanager
def prompts_in(directory: Path) -> Iterator[None]:
    """Read the prompts of `directory` instead of the package's, in the whole process, as long as the context lasts.

    For comparing a candidate with what is shipped. Raises FileNotFoundError, naming them, where prompts are missing.
    """
    missing = [name for name in get_args(PromptName) if not (directory / f"{name}.zh.md").is_file()]
    if missing:
        raise FileNotFoundError(", ".join(f"{name}.zh.md" for name in missing))
    _places.append(directory)
    _forget()
    try:
        yield
    finally:
        _places.remove(directory)
        _forget()


def _forget() -> None:
    _source.cache_clear()
    _template.cache_clear()


_places: list[Traversable] = [files("prompts")]
