"""Near names lead somebody who mistyped to what the source knows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.names import MAX_NEAR_NAMES, near

SERVICES = (
    "api-gateway",
    "order-service",
    "payment-service",
    "ledger-service",
    "risk-service",
    "bank-adapter",
    "支付网关",
)


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("paymentservice", "payment-service"),
        ("Payment Service", "payment-service"),
        ("ＰＡＹＭＥＮＴ", "payment-service"),
        ("pyament-service", "payment-service"),
        ("orders", "order-service"),
        ("bank_adaptor", "bank-adapter"),
        ("gateway", "api-gateway"),
        ("支付网管", "支付网关"),
    ],
)
def test_the_name_that_was_meant_comes_first(asked: str, meant: str) -> None:
    assert near(asked, SERVICES)[0] == meant


@pytest.mark.parametrize("asked", ["", "kafka", "zzz", "数据库"])
def test_nothing_is_near_what_resembles_nothing(asked: str) -> None:
    assert near(asked, SERVICES) == ()


@given(st.text(max_size=12), st.lists(st.text(max_size=12), max_size=30))
def test_near_names_are_few_known_and_the_same_in_any_order(asked: str, known: list[str]) -> None:
    found = near(asked, known)
    assert len(found) <= MAX_NEAR_NAMES
    assert set(found) <= set(known)
    assert found == near(asked, list(reversed(known)))


@given(st.lists(st.from_regex(r"[a-z]{3,10}", fullmatch=True), min_size=1, unique=True))
def test_a_known_name_is_nearest_to_itself(known: list[str]) -> None:
    assert near(known[0].upper(), known)[0] == known[0]
