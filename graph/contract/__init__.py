"""The contract's pure rules and vocabularies: no I/O, no LangChain, no clock."""

from graph.contract.draft import Draft
from graph.contract.release import Release
from graph.contract.snapshot import ProgressSnapshot
from graph.contract.trace import TraceEvent
from graph.contract.vocabulary import (
    AnalysisKind,
    CollectionState,
    EvidenceStatus,
    FallbackType,
    InformationGain,
    RejectionCode,
    ReleaseOutcome,
    RelevanceLevel,
    StopReason,
    ViolationType,
)

__all__ = [
    "AnalysisKind",
    "CollectionState",
    "Draft",
    "EvidenceStatus",
    "FallbackType",
    "InformationGain",
    "ProgressSnapshot",
    "RejectionCode",
    "Release",
    "ReleaseOutcome",
    "RelevanceLevel",
    "StopReason",
    "TraceEvent",
    "ViolationType",
]
