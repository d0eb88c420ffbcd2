"""Prompts are files of this package, `<name>.zh.md`: strict Jinja, read as package resources (checkout or wheel)."""

from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Literal, TypeAlias

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
    return files("prompts").joinpath(f"{name}.zh.md").read_text(encoding="utf-8")
