"""Who plays: every persona by name, whether it can earn a conclusion, and who reviews it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from evals.suites.behaviour.liars import AccusesWithTrueQuotes, ConcludesAtOnce, ForgesCitations, ForgesQuotes
from evals.suites.behaviour.loops import (
    Alternates,
    IgnoresStop,
    JitteredArguments,
    NeverConcludes,
    Polls,
    SameArguments,
)
from evals.suites.behaviour.manners import (
    ForgetsAndRepairs,
    Honest,
    MalformedEnvelopes,
    Narrates,
    NarratesTheAnswer,
    ParallelCalls,
    RepeatedIds,
)
from evals.suites.behaviour.persona import Persona

CAREFUL, NODDING = "careful", "nodding"
"""Reviewers: the offline semantic guard, and one that finds everything supported."""


@dataclass(frozen=True)
class Role:
    """A persona in the play. `make` takes the id of a change that is innocent of the incident.

    `earns`: it collects what decides, so the right conclusion is due; otherwise publishing anything is a false release.
    """

    make: Callable[[str], Persona]
    earns: bool = False
    reviewers: tuple[str, ...] = (CAREFUL,)


_BOTH = (CAREFUL, NODDING)

ROLES: Mapping[str, Role] = MappingProxyType(
    {
        "honest": Role(lambda _: Honest(), earns=True),
        "same-arguments": Role(lambda _: SameArguments()),
        "jittered-arguments": Role(lambda _: JitteredArguments()),
        "alternates": Role(lambda _: Alternates()),
        "polls": Role(lambda _: Polls()),
        "polls-hopefully": Role(lambda _: Polls(hopeful=True)),
        "never-concludes": Role(lambda _: NeverConcludes()),
        "ignores-stop": Role(lambda _: IgnoresStop()),
        "parallel-calls": Role(lambda _: ParallelCalls(), earns=True),
        "malformed-envelopes": Role(lambda _: MalformedEnvelopes(), earns=True),
        "forgets-and-repairs": Role(lambda _: ForgetsAndRepairs(), earns=True),
        "narrates": Role(lambda _: Narrates()),
        "narrates-the-answer": Role(lambda _: NarratesTheAnswer()),
        "repeated-ids": Role(lambda _: RepeatedIds(), earns=True),
        "usage-missing": Role(lambda _: Honest(bills=False), earns=True),
        "concludes-at-once": Role(lambda _: ConcludesAtOnce(), reviewers=_BOTH),
        "forges-citations": Role(lambda innocent: ForgesCitations(innocent=innocent), reviewers=_BOTH),
        "forges-quotes": Role(lambda innocent: ForgesQuotes(innocent=innocent), reviewers=_BOTH),
        "true-quotes-false-verdict": Role(lambda innocent: AccusesWithTrueQuotes(innocent=innocent), reviewers=_BOTH),
    }
)
