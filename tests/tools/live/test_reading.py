"""What backends write is taken for what it is, or for nothing."""

from typing import Any

import pytest

from tools.live.reading import moment


@pytest.mark.parametrize("value", [None, 5, "", "yesterday", "0001-01-01T00:00:00Z", "2026-09-08T07:01:30"])
def test_a_time_that_is_not_set_or_names_no_zone_is_none(value: Any) -> None:
    assert moment(value) is None


@pytest.mark.parametrize("time", ["9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00+14:00"])
def test_a_time_beyond_the_calendar_is_none(time: str) -> None:
    assert moment(time) is None
