"""What the evals speak in: a case, what one run of a target left, what a scorer says, and the shapes of their makers.

Everything is frozen JSON, so that a result can be kept, resumed and compared. A suite says what is asked and what is
right; a target answers; the runner brings them together and the statistics read nothing but `Score`.
"""

from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Any, Literal, Protocol, runtime_checkable

from pydantic import BaseModel, ConfigDict

from graph.models.registry import GivenModels
from tools.base import EvidenceTool

Locale = Literal["zh", "en"]
Value = float | bool | None

RELEASED = "released"
"""Score: a conclusion was published (outcome SUCCESS)."""
CORRECT = "correct"
"""Score: the published conclusion is right by the suite's rule. False where nothing was published. In a suite without
conclusions: the item went as it had to."""
ANSWERABLE = "answerable"
"""Score: the case has a right conclusion. Where it has none, publishing one is a false release."""
CONFIDENCE = "confidence"
"""Score, optional: orders a suite's published conclusions in the risk-coverage curve; higher is surer."""
SUFFICED_AFTER = "sufficed_after"
"""Score, optional: after how many executed calls the decisive evidence had been seen; None where it never was."""


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Case(_Frozen):
    """One question with a right answer.

    `cluster` names the incident that it stems from: intervals resample clusters, not cases. `fault` groups cases in
    tables and plots by fault type. `source` is what the suite needs to build the tools again (paths, seeds);
    `source_digest` the SHA-256 (hex) of the data behind it, blank where nothing is read. `expected` is for scorers.
    """

    suite: str
    case_id: str
    cluster: str
    query: str
    incident: dict[str, Any] | None = None
    locale: Locale = "zh"
    fault: str | None = None
    source: dict[str, Any] = {}
    source_digest: str = ""
    expected: dict[str, Any] = {}

    def asked(self) -> "Case":
        """Return the case as a target may see it: without the answer, the fault's name and the data's place."""
        return self.model_copy(update={"expected": {}, "fault": None, "source": {}, "cluster": self.case_id})


class ToolCall(_Frozen):
    """One tool request of an attempt, in order.

    `executed`: the tool ran (False: the gate refused it, `status` is the refusal's code). `status`: READY, ERROR or a
    refusal's code. `gained` is None where nobody decided it. `content` is what came back, for scorers; it isn't kept
    in the results.
    """

    call_id: str | None = None
    tool_name: str
    arguments: dict[str, Any] = {}
    scope: dict[str, Any] | None = None
    executed: bool = True
    status: str = "READY"
    evidence_status: str | None = None
    gained: bool | None = None
    content: tuple[str, ...] = ()


class Attempt(_Frozen):
    """What one run of a target left.

    `release` is a Release as JSON; a baseline maps its answer into the same shape (`outcome`, `draft.conclusion`).
    `tokens` is None where usage is unknown; `seconds` is wall time. `failure` is a code where the target itself
    failed: an attempt without a release has one.
    """

    release: dict[str, Any] | None = None
    calls: tuple[ToolCall, ...] = ()
    model_calls: int = 0
    tokens: int | None = None
    seconds: float = 0.0
    trace: tuple[dict[str, Any], ...] = ()
    failure: str | None = None

    @property
    def conclusion(self) -> dict[str, Any] | None:
        """The published conclusion as JSON, None where none was published."""
        release = self.release or {}
        if release.get("outcome") != "SUCCESS":
            return None
        conclusion: dict[str, Any] | None = (release.get("draft") or {}).get("conclusion")
        return conclusion

    @property
    def executed(self) -> tuple[ToolCall, ...]:
        """The calls that ran, in order."""
        return tuple(call for call in self.calls if call.executed)


class Score(_Frozen):
    """A scorer's word: name to number, truth value, or None where the score doesn't apply.

    The frame's own figures need `RELEASED`, `CORRECT` and `ANSWERABLE`; a suite adds its own beside them. A truth
    value is reported as a proportion, a number as a mean, each over the cases where it isn't None.
    """

    values: dict[str, Value] = {}


class Result(_Frozen):
    """One cell of the table: a case, a target, a repetition (from 0). `score` is None where attempt or scorer failed;
    `scorer_failure` is the scorer's exception class."""

    case: Case
    target: str
    repetition: int = 0
    attempt: Attempt
    score: Score | None = None
    scorer_failure: str | None = None

    @property
    def failed(self) -> bool:
        """Whether the target or the scorer failed; such a result makes the command's exit code 1."""
        return self.attempt.failure is not None or self.score is None


class DataAbsent(Exception):
    """A suite's data isn't where it was looked for. The text is one clear line that names the place."""


@runtime_checkable
class Suite(Protocol):
    """Cases that a target works on with evidence tools. `tools` and `score` may block: the runner runs them aside."""

    name: str

    def cases(self, *, seed: int, limit: int | None) -> Iterable[Case]:
        """Yield the cases in a fixed order; `limit` takes a fixed, spread slice of them. Raises DataAbsent."""
        ...

    def tools(self, case: Case) -> Sequence[EvidenceTool]:
        """Return fresh tools over the case's data."""
        ...

    def score(self, case: Case, attempt: Attempt) -> Score:
        """Return the scores of an attempt that didn't fail."""
        ...


@runtime_checkable
class ModelledSuite(Suite, Protocol):
    """A suite whose cases bring the model with them: personas. The targets that ask a model use that one."""

    def models(self, case: Case) -> GivenModels:
        """Return the model or models of a case, fresh."""
        ...


@runtime_checkable
class SelfRunningSuite(Protocol):
    """A suite that needs no target over tools: it drives gate or guards itself."""

    name: str

    def run(self, *, seed: int, limit: int | None, models: GivenModels | None) -> AsyncIterator[Result]:
        """Yield results, each with the target's name that it belongs to. `models` None: the configured ones, else
        the offline ones. Raises DataAbsent."""
        ...


class Target(Protocol):
    """Something that answers a case with the given tools."""

    name: str

    async def attempt(self, case: Case, tools: Sequence[EvidenceTool]) -> Attempt:
        """Return what one run left. `case` comes without its answer (`Case.asked`)."""
        ...
