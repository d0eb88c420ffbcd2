"""The published texts: every word in both languages, and in no fallback a word that isn't fixed or measured."""

from collections.abc import Iterable
from datetime import UTC, datetime
from enum import StrEnum

import pytest

from graph.contract.draft import parse_draft
from graph.contract.gaps import Gap, UnprovenChange
from graph.contract.release import Locale, Release
from graph.contract.snapshot import Limitation, ObservedFact
from graph.contract.texts import HEADLINES, MISSING, REASONS, TITLES, bare_release, locale_of, release_text, word
from graph.contract.vocabulary import (
    ChangeKind,
    EvidenceKind,
    FailureCode,
    FallbackType,
    GapReason,
    MissingInfo,
    ReleaseOutcome,
    SourceError,
)
from tests.support.plays import concluded, observation

LOCALES: tuple[Locale, ...] = ("zh", "en")


@pytest.mark.parametrize(
    ("words", "members"),
    [
        (HEADLINES, [*FallbackType, *(set(ReleaseOutcome) - {ReleaseOutcome.FALLBACK})]),
        (MISSING, MissingInfo),
        (REASONS, GapReason),
    ],
)
def test_every_member_has_its_words_in_both_languages(
    words: dict[str, tuple[str, str]], members: Iterable[StrEnum]
) -> None:
    assert set(words) == set(members)
    for chinese, english in (*words.values(), *TITLES.values()):
        assert any("\u4e00" <= character <= "\u9fff" for character in chinese)
        assert english.isascii()


FALLBACK = Release(
    run_id="run",
    outcome=ReleaseOutcome.FALLBACK,
    fallback_type=FallbackType.INSUFFICIENT_EVIDENCE,
    text="",
    observed_facts=(
        ObservedFact(source="probe", scope={"service": "a"}, result="latency 120 to 4120", truncated=True),
    ),
    limitations=(
        Limitation(code=SourceError.BACKEND_TIMEOUT, source="reader"),
        Limitation(code=FailureCode.MODEL_REFUSED),
    ),
    gaps=(Gap(kind=EvidenceKind.LOGS, scope={"service": "a"}, reason=GapReason.UNASKED, query="logs --service a"),),
    missing_info=tuple(MissingInfo),
    onset=datetime(2026, 6, 18, 15, 4, tzinfo=UTC),
    first_failing="checkout",
    unproven_changes=(
        UnprovenChange(
            kind=ChangeKind.DEPLOY, change_id="deploy-77", service=None, at=datetime(2026, 6, 18, 15, tzinfo=UTC)
        ),
    ),
)


@pytest.mark.parametrize("locale", LOCALES)
@pytest.mark.parametrize("kind", FallbackType)
def test_a_fallback_says_all_that_it_holds(kind: FallbackType, locale: Locale) -> None:
    text = release_text(FALLBACK.model_copy(update={"fallback_type": kind, "locale": locale}))
    assert text.startswith(word(HEADLINES, kind, locale))
    told = ["latency 120 to 4120", "BACKEND_TIMEOUT", "MODEL_REFUSED", "logs --service a", "deploy-77", "checkout"]
    told += [word(MISSING, item, locale) for item in MissingInfo] + [word(REASONS, GapReason.UNASKED, locale)]
    told += [word(TITLES, title, locale) for title in ("facts", "limitations", "gaps", "onset", "changes", "truncated")]
    assert [said for said in told if said not in text] == []


@pytest.mark.parametrize("locale", LOCALES)
def test_a_success_is_the_drafts_own_words(locale: Locale) -> None:
    draft = parse_draft(concluded("a", observation("r1c1", "a")))
    release = Release(run_id="run", outcome=ReleaseOutcome.SUCCESS, locale=locale, text="", draft=draft)
    text = release_text(release)
    assert draft.conclusion is not None
    for said in (draft.conclusion.text, draft.conclusion.component, draft.analyses[0].text, "r1c1"):
        assert said in text


@pytest.mark.parametrize("locale", LOCALES)
@pytest.mark.parametrize("outcome", [ReleaseOutcome.FAILED, ReleaseOutcome.CANCELLED])
def test_a_bare_release_is_its_fixed_text_alone(outcome: ReleaseOutcome, locale: Locale) -> None:
    release = bare_release("run", outcome, locale)
    assert release.text == word(HEADLINES, outcome, locale)
    assert release == Release(run_id="run", outcome=outcome, locale=locale, text=release.text)


@pytest.mark.parametrize("value", [None, "", "fr", "EN", 7, ["en"]])
def test_a_locale_without_texts_is_chinese(value: object) -> None:
    assert locale_of(value) == "zh"
    assert locale_of("en") == "en"
