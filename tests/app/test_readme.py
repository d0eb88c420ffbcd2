"""What the README says can be done as written, and its tables are the code's."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer.main
from pydantic import BaseModel

from app.cli import EXIT_CODES, commands
from graph.contract.vocabulary import FallbackType
from graph.settings import HarnessSettings

ROOT = Path(__file__).resolve().parents[2]
READMES = ["README.md", "README.zh.md"]


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def shell_lines(name: str) -> list[list[str]]:
    blocks = re.findall(r"^```sh\n(.*?)^```", text_of(name), re.MULTILINE | re.DOTALL)
    return [words for block in blocks for line in block.splitlines() if (words := shlex.split(line, comments=True))]


@pytest.mark.parametrize("name", READMES)
def test_every_command_is_one_that_the_launcher_takes(name: str) -> None:
    group = typer.main.get_group(commands)
    lines = [words[1:] for words in shell_lines(name) if words[0] == "./zhizhi"]
    assert ["demo"] in lines
    assert ["test"] in lines
    for command, *arguments in (words for words in lines if words[0] != "test"):
        group.commands[command].make_context(command, arguments)


@pytest.mark.parametrize("name", READMES)
def test_settings_table_is_the_codes(name: str) -> None:
    rows = re.findall(r"^\| `(HARNESS_\w+)` \| (.*?) \|", text_of(name), re.MULTILINE)
    assert rows == [(variable, shown(default)) for variable, default in leaves(HarnessSettings, "HARNESS_")]


def leaves(model: type[BaseModel], prefix: str) -> Iterator[tuple[str, object]]:
    for name, field in model.model_fields.items():
        if isinstance(field.default, BaseModel):
            yield from leaves(type(field.default), f"{prefix}{name.upper()}_")
        elif field.validation_alias is None and name != "sources":  # docs/sources.md has those
            yield prefix + name.upper(), field.default


def shown(default: object) -> str:
    if default is None:
        return "–"
    return f"{default:g}" if isinstance(default, float) else str(default).lower()


@pytest.mark.parametrize("name", READMES)
def test_outcomes_and_fallback_types_are_the_contracts(name: str) -> None:
    text = text_of(name)
    rows = re.findall(r"^\| (\d+) \| `([A-Z]+)` \|", text, re.MULTILINE)
    assert {outcome: int(code) for code, outcome in rows} == EXIT_CODES
    assert set(re.findall(r"^\| `([A-Z_]+)` \|", text, re.MULTILINE)) >= set(FallbackType)


@pytest.mark.parametrize("name", READMES)
def test_every_path_that_is_named_exists(name: str) -> None:
    tops = "docs|graph|tools|prompts|app|evals|examples|requirements|tests"
    named = set(re.findall(rf"`((?:{tops})/[\w./-]*)`", text_of(name)))
    assert "graph/contract/" in named
    assert [path for path in named if not (ROOT / path).exists()] == []
