"""The words that a person reads for the contract's codes, by language. The tables are data: `zh.toml`, `en.toml`."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal

Locale = Literal["zh", "en"]
Table = Mapping[str, str]


@dataclass(frozen=True)
class Words:
    """One language's tables, each keyed by the members of the enumeration that it's named after.

    `limitation` covers `LimitationCode`, `SourceError`, `FailureCode` and `StopReason`; `advice` is what the doctor
    says to each `SourceError` and to a clock that is off. `label` and `doctor` hold headings.
    """

    outcome: Table
    outcome_note: Table
    fallback_type: Table
    missing_info: Table
    limitation: Table
    rejection: Table
    violation: Table
    gain: Table
    gain_by: Table
    evidence_status: Table
    analysis_kind: Table
    provenance: Table
    relevance: Table
    evidence_kind: Table
    gap_reason: Table
    change_kind: Table
    doctor: Table
    advice: Table
    label: Table


@cache
def words_for(locale: Locale) -> Words:
    """Return the tables of a language."""
    return Words(**tomllib.loads((files(__name__) / f"{locale}.toml").read_text(encoding="utf-8")))
