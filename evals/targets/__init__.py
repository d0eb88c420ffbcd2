"""The targets by name: what's evaluated, and what people would use instead. A target's module is imported when it's
asked for.

Each module has `make_target(name: str, models: GivenModels | None, settings: HarnessSettings) -> Target`. `models`
None: those that the settings give, an endpoint or the offline ones; a target that asks no model ignores them.
"""

from importlib import import_module

from evals.cases import Target
from graph.models.registry import GivenModels
from graph.settings import HarnessSettings

ZHIZHI = "zhizhi"
WITHOUT_STOP = "zhizhi-without-stop"
WITHOUT_EVIDENCE_GUARD = "zhizhi-without-evidence-guard"
WITHOUT_SEMANTIC_GUARD = "zhizhi-without-semantic-guard"

MODULES = {
    ZHIZHI: "evals.targets.zhizhi",
    WITHOUT_STOP: "evals.targets.zhizhi",
    WITHOUT_EVIDENCE_GUARD: "evals.targets.zhizhi",
    WITHOUT_SEMANTIC_GUARD: "evals.targets.zhizhi",
    "create-agent": "evals.targets.agents",
    "create-agent-fingerprint": "evals.targets.agents",
    "create-agent-verified": "evals.targets.agents",
    "abstain": "evals.targets.naive",
    "last-deploy": "evals.targets.naive",
}
BASELINES = tuple(name for name in MODULES if name != ZHIZHI)
"""Everything beside Zhizhi, in the order of the report."""
MODEL_FREE = frozenset({"abstain", "last-deploy"})
"""Targets that ask no model: they run once, however many models are compared."""


class UnknownTarget(Exception):
    """There is no target of that name. The text is one clear line with the names that there are."""


def load_target(name: str, models: GivenModels | None, settings: HarnessSettings) -> Target:
    """Return the target called `name`. Raises UnknownTarget."""
    if name not in MODULES:
        raise UnknownTarget(f"no target is called {name!r}; there are {', '.join(MODULES)}")
    target: Target = import_module(MODULES[name]).make_target(name, models, settings)
    return target
