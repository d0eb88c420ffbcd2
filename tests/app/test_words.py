from dataclasses import fields
from enum import StrEnum

import pytest

from app.words import Locale, Words, words_for
from graph.contract.vocabulary import (
    AnalysisKind,
    ChangeKind,
    EvidenceKind,
    EvidenceStatus,
    FailureCode,
    FallbackType,
    GapReason,
    InformationGain,
    LimitationCode,
    MissingInfo,
    Provenance,
    RejectionCode,
    ReleaseOutcome,
    RelevanceLevel,
    SourceError,
    StopReason,
    ViolationType,
)

TABLES: dict[str, tuple[type[StrEnum], ...]] = {
    "outcome": (ReleaseOutcome,),
    "outcome_note": (ReleaseOutcome,),
    "fallback_type": (FallbackType,),
    "missing_info": (MissingInfo,),
    "limitation": (LimitationCode, SourceError, FailureCode, StopReason),
    "rejection": (RejectionCode,),
    "violation": (ViolationType,),
    "gain": (InformationGain,),
    "evidence_status": (EvidenceStatus,),
    "analysis_kind": (AnalysisKind,),
    "provenance": (Provenance,),
    "relevance": (RelevanceLevel,),
    "evidence_kind": (EvidenceKind,),
    "gap_reason": (GapReason,),
    "change_kind": (ChangeKind,),
}


def test_the_doctor_has_advice_for_every_failure_and_for_a_clock_that_is_off() -> None:
    assert set(words_for("zh").advice) == {*SourceError, "CLOCK_SKEW", "SETTING_FAULT", "NOT_OVER_HTTP"}


@pytest.mark.parametrize("locale", ["zh", "en"])
@pytest.mark.parametrize("table", TABLES)
def test_every_code_has_its_words(table: str, locale: Locale) -> None:
    members = {member.value for enumeration in TABLES[table] for member in enumeration}
    assert set(getattr(words_for(locale), table)) == members


def test_both_languages_hold_the_same_keys_and_no_blank() -> None:
    chinese, english = words_for("zh"), words_for("en")
    for table in (field.name for field in fields(Words)):
        assert getattr(chinese, table).keys() == getattr(english, table).keys()
        assert all(word.strip() for words in (chinese, english) for word in getattr(words, table).values())
