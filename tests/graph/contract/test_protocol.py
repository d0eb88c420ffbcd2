"""The progress protocol: every JSON value is either a valid word on the pending observation or one named violation."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.contract.protocol import Violation, check_protocol, reported_gain
from graph.contract.vocabulary import InformationGain, ViolationType

PENDING = "r1c3"
MISSING = Violation(ViolationType.MISSING_PREVIOUS_OBSERVATION, "previous_observation")
OUT_OF_ORDER = Violation(ViolationType.OUT_OF_ORDER_PREVIOUS_OBSERVATION)

json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=8)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=8), inner, max_size=3)),
    max_leaves=6,
)


@pytest.mark.parametrize("gain", InformationGain)
def test_a_word_on_what_is_pending_is_valid(gain: InformationGain) -> None:
    previous = {"tool_call_id": PENDING, "information_gain": gain.value}
    assert check_protocol(PENDING, previous) is None
    assert reported_gain(previous) is gain


@pytest.mark.parametrize(
    ("previous", "violation"),
    [
        (None, MISSING),
        ("r1c3", MISSING),
        ([{"tool_call_id": PENDING, "information_gain": "GAINED"}], MISSING),
        ({}, OUT_OF_ORDER),
        ({"information_gain": "GAINED"}, OUT_OF_ORDER),
        ({"tool_call_id": "r1c2", "information_gain": "sometimes"}, OUT_OF_ORDER),
        ({"tool_call_id": PENDING}, Violation(ViolationType.INVALID_INFORMATION_GAIN, "information_gain")),
        ({"tool_call_id": PENDING, "information_gain": "gained"}, Violation(ViolationType.INVALID_INFORMATION_GAIN)),
        ({"tool_call_id": PENDING, "information_gain": ["GAINED"]}, Violation(ViolationType.INVALID_INFORMATION_GAIN)),
    ],
)
def test_the_first_thing_wrong_is_named(previous: Any, violation: Violation) -> None:
    assert check_protocol(PENDING, previous) == violation


@given(json_values)
def test_no_json_value_breaks_the_check(value: Any) -> None:
    assert check_protocol(PENDING, value) is not None
    within = check_protocol(PENDING, {"tool_call_id": PENDING, "information_gain": value})
    assert within is None if value in ("GAINED", "NO_GAIN") else within is not None
    beside = check_protocol(PENDING, {"tool_call_id": value, "information_gain": "GAINED"})
    assert beside == (None if value == PENDING else OUT_OF_ORDER)
