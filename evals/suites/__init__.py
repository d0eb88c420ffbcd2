"""The suites by name. A suite's module is imported when it's asked for: each brings its own readers.

Each module has `make_suite(data: Path | None) -> Suite | SelfRunningSuite`; `data` None is the usual place.
"""

from importlib import import_module
from pathlib import Path

from evals.cases import SelfRunningSuite, Suite

MODULES = {
    "rootcausebench": "evals.suites.rootcausebench",
    "cloud-opsbench": "evals.suites.opsbench",
    "expert-replay": "evals.suites.expert_replay",
    "ablation": "evals.suites.ablation",
    "report-mutation": "evals.suites.report_mutation",
    "behaviour": "evals.suites.behaviour",
    "guard-calibration": "evals.suites.guard_calibration",
    "recorded": "evals.suites.recorded",
}


class UnknownSuite(Exception):
    """There is no suite of that name. The text is one clear line with the names that there are."""


def load_suite(name: str, data: Path | None = None) -> Suite | SelfRunningSuite:
    """Return the suite called `name` over the data in `data`. Raises UnknownSuite."""
    if name not in MODULES:
        raise UnknownSuite(f"no suite is called {name!r}; there are {', '.join(MODULES)}")
    suite: Suite | SelfRunningSuite = import_module(MODULES[name]).make_suite(data)
    return suite
