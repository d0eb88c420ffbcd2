"""The labelled set: questions in `questions.toml` over the runbooks in `runbooks/`."""

import tomllib
from pathlib import Path
from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict

from tools.runbooks.sections import Section

HERE = Path(__file__).parent
RUNBOOKS = HERE / "runbooks"

Half: TypeAlias = Literal["chosen", "reported"]
"""`chosen`: the half on which weights and floors were chosen. `reported`: the half that was held out."""


class Question(BaseModel):
    """A question and the sections that answer it, as `file#heading`; none where no runbook answers it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    ask: str
    language: Literal["zh", "en", "mixed"]
    answers: tuple[str, ...]
    half: Half


def questions() -> tuple[Question, ...]:
    """Return the labelled set: its lines belong to the two halves in turn."""
    rows = tomllib.loads((HERE / "questions.toml").read_text(encoding="utf-8"))["question"]
    halves: tuple[Half, Half] = ("chosen", "reported")
    return tuple(Question(**row, half=halves[number % 2]) for number, row in enumerate(rows))


def label(section: Section) -> str:
    """Return the name of a section as the labelled set writes it."""
    return f"{section.file}#{section.headings[-1] if section.headings else ''}"
