"""The progress protocol: whether a tool request speaks of the observation that is pending.

Source: spec "Invalid progress protocol SHALL be repairable before bounded stop"; contract, "The envelope and the gate".
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from graph.contract.vocabulary import InformationGain, ViolationType

PREVIOUS_OBSERVATION = "previous_observation"
INFORMATION_GAIN = "information_gain"


@dataclass(frozen=True)
class Violation:
    """What was wrong, and the field that was missing, where one was."""

    type: ViolationType
    missing_field: str | None = None


def check_protocol(pending: str, previous: Any) -> Violation | None:
    """Return the first violation of a request that arrives while `pending` waits, or None where it is valid.

    `previous` is the request's `previous_observation` as it came: any JSON value, None where absent. What isn't an
    object counts as absent.
    """
    if not isinstance(previous, Mapping):
        return Violation(ViolationType.MISSING_PREVIOUS_OBSERVATION, PREVIOUS_OBSERVATION)
    if previous.get("tool_call_id") != pending:
        return Violation(ViolationType.OUT_OF_ORDER_PREVIOUS_OBSERVATION)
    value = previous.get(INFORMATION_GAIN)
    if value is None:
        return Violation(ViolationType.INVALID_INFORMATION_GAIN, INFORMATION_GAIN)
    if not isinstance(value, str) or value not in InformationGain.__members__:
        return Violation(ViolationType.INVALID_INFORMATION_GAIN)
    return None


def reported_gain(previous: Mapping[str, Any]) -> InformationGain:
    """Return the gain that a protocol-valid request reports."""
    return InformationGain(previous[INFORMATION_GAIN])
