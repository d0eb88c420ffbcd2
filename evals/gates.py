"""The gates: what must hold, read from `gates.yaml`, judged against results."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from evals.report import number
from evals.results import Results
from evals.targets import ZHIZHI
from graph.models.offline import OFFLINE_MODEL_NAME

GATES_FILE = "gates.yaml"


class GatesUnreadable(Exception):
    """The gates can't be read. The text is one clear line."""


class Gate(BaseModel):
    """One bound on one figure; `gates.yaml` says what the fields mean."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    suite: str
    target: str = ZHIZHI
    figure: str
    versus: str | None = None
    of: Literal["value", "low", "high"] = "value"
    at_least: float | None = None
    at_most: float | None = None
    speaks: Literal["any", "endpoint"]

    @model_validator(mode="after")
    def _one_bound(self) -> "Gate":
        if (self.at_least is None) == (self.at_most is None):
            raise ValueError("a gate has at_least or at_most")
        return self


class Gates(BaseModel):
    """The content of `gates.yaml`: the slice of cases by suite, the baselines it runs beside, and the gates."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    seed: int
    baselines: tuple[str, ...] = ()
    slice: dict[str, int] = Field(min_length=1)
    gates: tuple[Gate, ...]


class Verdict(StrEnum):
    """What a gate says. NOT_JUDGED: the model can't speak for it. MISSING: the figure isn't there, which fails."""

    HELD = "held"
    FAILED = "failed"
    MISSING = "missing"
    NOT_JUDGED = "not judged"


@dataclass(frozen=True)
class Judged:
    """A gate and what it says of the results; `value` is the number that was held to the bound."""

    gate: Gate
    verdict: Verdict
    value: float | None
    share: bool = False

    @property
    def fails(self) -> bool:
        """Whether it keeps a change from shipping."""
        return self.verdict in (Verdict.FAILED, Verdict.MISSING)

    def line(self) -> str:
        """Return the gate in one line for a person."""
        gate = self.gate
        sign, bound = (">=", gate.at_least) if gate.at_least is not None else ("<=", gate.at_most)
        measured = f"{gate.figure}{f' versus {gate.versus}' if gate.versus else ''} ({gate.of})"
        limit = number(bound, share=self.share)
        value = number(self.value, share=self.share)
        return f"{self.verdict}: {gate.suite}: {gate.name}: {measured} {value}, wanted {sign} {limit}"


def read_gates(path: Path | None = None) -> Gates:
    """Return the gates in `path`, the shipped ones where None. Raises GatesUnreadable."""
    source = path or files("evals").joinpath(GATES_FILE)
    try:
        return Gates.model_validate(yaml.safe_load(source.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError, yaml.YAMLError):
        reason = "no readable YAML"
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        reason = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    raise GatesUnreadable(f"gates can't be used: {reason}")


def judge(gates: Sequence[Gate], results: Results) -> list[Judged]:
    """Judge the gates of the suites that were run; those of suites without data aren't judged."""
    offline = set(results.manifest.models) <= {OFFLINE_MODEL_NAME} and results.manifest.url is None
    return [_judge(gate, results, offline) for gate in gates if gate.suite in results.manifest.suites]


def _judge(gate: Gate, results: Results, offline: bool) -> Judged:
    if (gate.speaks == "endpoint" and offline) or gate.suite in results.manifest.absent:
        return Judged(gate, Verdict.NOT_JUDGED, None)
    figure = _figure(gate, results)
    value = None if figure is None else figure[gate.of]
    if figure is None or value is None:
        return Judged(gate, Verdict.MISSING, None)
    holds = value >= gate.at_least if gate.at_least is not None else value <= (gate.at_most or 0.0)
    return Judged(gate, Verdict.HELD if holds else Verdict.FAILED, value, bool(figure["share"]))


def _figure(gate: Gate, results: Results) -> dict[str, Any] | None:
    if gate.versus:
        contest = f"{gate.target} - {gate.versus}"
        return results.differences.get(gate.suite, {}).get(contest, {}).get(gate.figure)
    return results.figures.get(gate.suite, {}).get(gate.target, {}).get(gate.figure)
