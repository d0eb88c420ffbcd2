"""What every contract test runs under: no setting of the machine, and the walk over whatever its runs let out."""

import os
from collections.abc import Iterator

import pytest

from tests.support.driving import RUNS
from tests.support.payload import check_run


@pytest.fixture(autouse=True)
def _own_settings(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    for name in os.environ:
        if name.startswith(("HARNESS_", "OPENAI_")):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path_factory.getbasetemp())


@pytest.fixture(autouse=True)
def _every_run_is_walked() -> Iterator[None]:
    RUNS.clear()
    yield
    for run in RUNS:
        check_run(run)
