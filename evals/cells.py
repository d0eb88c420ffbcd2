"""Cells of the table, a case by a target by a repetition: what was done is kept, so that it isn't done again.

`attempts.ndjson` holds one line a cell: its row, and what the run left (release, calls, trace), for whoever wants to
look closer. Lines of cells that failed stay, and are done again.
"""

import json
from pathlib import Path
from typing import Any, TextIO

from pydantic import BaseModel, ConfigDict, ValidationError

from evals.cases import Case, Result
from evals.results import Row, row_of

ATTEMPTS_FILE = "attempts.ndjson"


class Cell(BaseModel):
    """One thing to do. `label` is the target's name in the results; `digest` is of everything that decides it."""

    model_config = ConfigDict(frozen=True)

    case: Case
    target: str
    model: str
    label: str
    repetition: int
    digest: str


class Done(BaseModel):
    """A finished cell: its row and, as JSON, what the run left."""

    model_config = ConfigDict(frozen=True)

    row: Row
    attempt: dict[str, Any]


def done_with(result: Result, digest: str) -> Done:
    """Return a result as it's kept; what the tools answered isn't."""
    attempt = result.attempt.model_dump(mode="json", exclude={"calls": {"__all__": {"content"}}})
    return Done(row=row_of(result, digest), attempt=attempt)


class Attempts:
    """The file of finished cells in a directory; opened once, appended to."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / ATTEMPTS_FILE
        self.rows = {row.digest: row for row in _read(self._path) if row.failure is None}
        self._file: TextIO | None = None

    def add(self, done: Done) -> None:
        """Append a cell and keep its row; written through, so that a killed run keeps it."""
        if self._file is None:
            self._file = self._path.open("a", encoding="utf-8")
            if _is_torn(self._path):
                self._file.write("\n")
        self._file.write(json.dumps(done.model_dump(mode="json"), ensure_ascii=False) + "\n")
        self._file.flush()
        self.rows[done.row.digest] = done.row

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()


def _read(path: Path) -> list[Row]:
    if not path.is_file():
        return []
    rows = []
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            try:
                rows.append(Done.model_validate_json(line).row)
            except ValidationError:  # a line that a killed run left half-written, or an older version's
                continue
    return rows


def _is_torn(path: Path) -> bool:
    with path.open("rb") as file:
        if file.seek(0, 2) == 0:
            return False
        file.seek(-1, 2)
        return file.read(1) != b"\n"
