"""The toy suite under its name, for the length of a test."""

import pytest

from evals import suites, targets
from tests.evals import toy


@pytest.fixture
def toys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register the toy suite, and toys in the place of `zhizhi` and `abstain`; nothing is broken, nothing was tried."""
    monkeypatch.setitem(suites.MODULES, toy.SUITE, "tests.evals.toy")
    for name in ("zhizhi", "abstain"):
        monkeypatch.setitem(targets.MODULES, name, "tests.evals.toy")
    toy.TRACE.clear()
    toy.BROKEN.clear()
