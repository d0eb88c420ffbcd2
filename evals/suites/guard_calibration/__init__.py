"""guard-calibration: hand-written claims before the SemanticGuard of any model: how often it agrees with their author.

The claims go straight to the second guard: what the EvidenceGuard would have refused before isn't asked here.
"""

from collections.abc import AsyncIterator
from pathlib import Path

from evals.cases import ANSWERABLE, CORRECT, RELEASED, Attempt, Case, Result, Score
from evals.data import spread
from evals.suites.guard_calibration.items import Claim, Group, groups
from evals.suites.report_mutation.judging import Word, ask_reviewer
from graph.contract.vocabulary import ModelComponent, SemanticVerdict
from graph.models.registry import GivenModels, choose_models
from graph.nodes.evidence_json import evidence_json
from graph.settings import load_settings

NAME = "guard-calibration"
SEMANTIC_GUARD = "semantic-guard"


class GuardCalibration:
    """The suite. Its items are part of the package."""

    name = NAME

    async def run(self, *, seed: int, limit: int | None, models: GivenModels | None) -> AsyncIterator[Result]:
        """Yield one result a claim, in the order of the files. Nothing is drawn, so `seed` changes nothing."""
        chosen, _ = choose_models(models, load_settings())
        items = [(group, number, claim) for group in groups() for number, claim in enumerate(group.claims)]
        asked = spread(items, limit)
        supported = sum(claim.supported for _, _, claim in asked)
        shares = {True: supported, False: len(asked) - supported}
        for group, number, claim in asked:
            draft = group.draft(claim)
            evidence = evidence_json(draft, group.records(), cited_only=True)
            body = {"draft": draft.model_dump(mode="json"), "evidence": evidence}
            word = await ask_reviewer(body, chosen[ModelComponent.SEMANTIC_GUARD])
            yield _result(group, number, claim, word, weight=len(asked) / (2 * shares[claim.supported]))


def _result(group: Group, number: int, claim: Claim, word: Word, *, weight: float) -> Result:
    passed = word.verdict is SemanticVerdict.SUPPORTED
    right = passed is claim.supported
    values = {
        RELEASED: passed,
        CORRECT: passed and claim.supported,
        ANSWERABLE: claim.supported,
        "agrees": right,
        "false_support": passed if not claim.supported else None,
        "missed_support": not passed if claim.supported else None,
        "balanced_accuracy": weight * right,
    }
    case = Case(
        suite=NAME,
        case_id=f"{group.case}-{claim.locale}-{number}",
        cluster=group.case,
        query=claim.text,
        locale=claim.locale,
        fault=f"{claim.locale}, {'supported' if claim.supported else 'unsupported'}",
        expected={"supported": claim.supported, "why": claim.why},
    )
    release = {"outcome": "SUCCESS" if passed else "FALLBACK"}
    attempt = Attempt(release=release, model_calls=1, failure=word.failure)
    return Result(case=case, target=SEMANTIC_GUARD, attempt=attempt, score=Score(values=values))


def make_suite(_: Path | None) -> GuardCalibration:
    """Return the suite; it reads nothing but its own items."""
    return GuardCalibration()
