"""Cases made of run records by `zhizhi eval add`: what the sources answered then is what they answer now."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError, create_model

from evals.adding import SUITE, USUAL_DIRECTORY, RecordedCase, RecordedTool
from evals.cases import ANSWERABLE, CONFIDENCE, CORRECT, RELEASED, Attempt, Case, DataAbsent, Score, Value
from evals.data import benchmark_dir, spread
from evals.suites.rootcausebench import NOBODY, confidence, same_change
from tools.base import Arguments, EvidenceTool, IncidentContext, SourceFailure
from tools.canonical import fold
from tools.frozen.scopes import named, windowed
from tools.vocabulary import Evidence, Scope, SourceError

WINDOW = ("start", "end")
HEX = frozenset("0123456789abcdef")


class Recorded:
    """The suite over the case files in a directory."""

    name = SUITE

    def __init__(self, data: Path | None) -> None:
        self._data = data

    def cases(self, *, seed: int, limit: int | None) -> Iterable[Case]:
        """Yield the cases in order of their files' names. Raises DataAbsent where there are none, or one isn't."""
        directory = USUAL_DIRECTORY if self._data is None else benchmark_dir(self._data, SUITE)
        files = sorted(directory.glob("*.json"))
        if not files:
            raise DataAbsent(f"no recorded cases in {directory}: make one with zhizhi eval add")
        for path in spread(files, limit):
            yield _read(path).case.model_copy(update={"source": {"file": str(path)}})

    def tools(self, case: Case) -> Sequence[EvidenceTool]:
        """Return tools that answer what was answered then."""
        return [ReplayedTool(tool) for tool in _read(Path(case.source["file"])).tools]

    def score(self, case: Case, attempt: Attempt) -> Score:
        """Return whether what a person expects is what was published."""
        conclusion, expected = attempt.conclusion, case.expected
        held = {name: _holds(name, str(expected[name]), conclusion or {}) for name in expected if name != "unproven"}
        answerable = not expected["unproven"]
        values: dict[str, Value] = {
            RELEASED: conclusion is not None,
            ANSWERABLE: answerable,
            CORRECT: answerable and conclusion is not None and all(held.values()),
            CONFIDENCE: confidence(attempt.release or {}),
            **{f"{name}_right": conclusion is not None and right for name, right in held.items()},
        }
        return Score(values=values)


def _holds(name: str, expected: str, conclusion: Mapping[str, Any]) -> bool:
    if name != "change":
        return fold(str(conclusion.get(name) or "")) == fold(expected)
    named, wanted = fold(str(conclusion.get("change_id") or "")), fold(expected)
    if wanted == NOBODY:
        return named in ("", NOBODY)
    if set(named + wanted) <= HEX:
        return same_change(named, wanted) or same_change(wanted, named)
    return named == wanted


def _read(path: Path) -> RecordedCase:
    try:
        return RecordedCase.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        reason = DataAbsent(f"{path} holds no recorded case")
    raise reason


class ReplayedTool(EvidenceTool):
    """Answers a scope as it was answered in the record. MEASURED or TEXT, as recorded.

    | argument | in the scope | normalized |
    |---|---|---|
    | start, end, where the tool has them | yes | resolved to UTC, to whole minutes; the usual default |
    | every other | yes, unless null | `fold` |

    A window within a recorded one gets that one's answer. What was never asked is an error, not an absence.
    """

    def __init__(self, recorded: RecordedTool) -> None:
        self.name = recorded.name
        self.description = f"{recorded.kind.value}: {', '.join(recorded.arguments) or '-'}"
        self.kind = recorded.kind
        fields: dict[str, Any] = dict.fromkeys(recorded.arguments, (str | None, ...))
        self.arguments: type[BaseModel] = create_model("RecordedArguments", __base__=Arguments, **fields)
        self._answers = recorded.answers
        self._has_window = set(WINDOW) <= set(recorded.arguments)

    def normalize(self, arguments: Any, incident: IncidentContext) -> Scope:
        """Return the scope; raises ValueError for a time that can't be read."""
        given: dict[str, str | None] = arguments.model_dump()
        if not self._has_window:
            return named(**given)
        start, end = (given.pop(name) for name in WINDOW)
        return windowed(incident, start, end, **given)

    async def collect(self, scope: Scope, arguments: Any, incident: IncidentContext) -> Evidence:
        """Return the recorded evidence; raises the recorded error, or SOURCE_MISSING where nothing is recorded."""
        found = next((answer for answer in self._answers if _covers(answer.scope, scope)), None)
        if found is None or found.evidence is None:
            raise SourceFailure(found.error if found and found.error else SourceError.SOURCE_MISSING)
        return found.evidence


def _covers(recorded: Mapping[str, Any], asked: Mapping[str, Any]) -> bool:
    ours, theirs = (
        {name: fold(str(value)) for name, value in scope.items() if name not in WINDOW} for scope in (recorded, asked)
    )
    if ours != theirs:
        return False
    if not all(name in recorded and name in asked for name in WINDOW):
        return True
    return bool(recorded["start"] <= asked["start"] and asked["end"] <= recorded["end"])


def make_suite(data: Path | None) -> Recorded:
    """Return the suite over `data`, or over `eval-cases` in the working directory."""
    return Recorded(data)
