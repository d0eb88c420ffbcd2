"""The hand-written items: claims on evidence, and whether a careful reader of that evidence alone would sign them.

`evals/calibration/` holds them, one list of cases a file: evidence as tools give it, and claims in both languages.
"""

from collections.abc import Iterator
from importlib.resources import files
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict

from graph.contract.draft import Analysis, Conclusion, Draft
from graph.contract.records import VerifiedRecord
from tools.vocabulary import Evidence, EvidenceKind, EvidenceStatus, Provenance, RelevanceLevel

FOLDER = "calibration"


class _Item(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Shown(_Item):
    """One call and the evidence that it gave."""

    call: str
    tool: str
    kind: EvidenceKind
    provenance: Provenance = Provenance.MEASURED
    relevance: RelevanceLevel = RelevanceLevel.DIRECT
    status: EvidenceStatus = EvidenceStatus.EVIDENCE
    scope: dict[str, Any] = {}
    lines: tuple[str, ...]

    def record(self) -> VerifiedRecord:
        """Return the call's record as the guard's model is shown it."""
        evidence = Evidence(
            status=self.status,
            relevance=self.relevance,
            provenance=self.provenance,
            content=self.lines,
            summary=f"{len(self.lines)} lines",
        )
        return VerifiedRecord(self.call, self.tool, self.kind, self.scope, evidence)


class Claim(_Item):
    """A claim of a root cause. `supported` is the author's word, `why` says why not."""

    locale: Literal["zh", "en"]
    supported: bool
    component: str
    change: str | None
    text: str
    why: str = ""


class Group(_Item):
    """Evidence, and the claims that are made on it."""

    case: str
    evidence: tuple[Shown, ...]
    claims: tuple[Claim, ...]

    def records(self) -> dict[str, VerifiedRecord]:
        """Return the records by call id."""
        return {shown.call: shown.record() for shown in self.evidence}

    def draft(self, claim: Claim) -> Draft:
        """Return the draft whose one inference, and whose conclusion, is the claim."""
        quotes = tuple(line for shown in self.evidence for line in shown.lines if not line.startswith("  "))
        proof = Analysis(
            analysis_id="a1",
            kind="INFERENCE",
            text=claim.text,
            quotes=quotes,
            tool_call_ids=tuple(shown.call for shown in self.evidence),
        )
        conclusion = Conclusion(
            text=claim.text,
            component=claim.component,
            cause=claim.text,
            change_id=claim.change,
            analysis_ids=("a1",),
        )
        return Draft(conclusion=conclusion, analyses=(proof,))


def groups() -> Iterator[Group]:
    """Yield all groups, files in order of name."""
    found = [place for place in files("evals").joinpath(FOLDER).iterdir() if place.name.endswith(".yaml")]
    for place in sorted(found, key=lambda place: place.name):
        for group in yaml.safe_load(place.read_text(encoding="utf-8")):
            yield Group.model_validate(group)
