"""What an evaluation is asked to do, checked before anything runs, in a form that a worker process can rebuild."""

import hashlib
import json
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ConfigDict

from evals.suites import MODULES as SUITES
from evals.targets import BASELINES, MODEL_FREE, ZHIZHI
from evals.targets import MODULES as TARGETS
from graph.models.offline import OFFLINE_MODEL_NAME
from graph.settings import HarnessSettings
from prompts.loader import PromptName, digest

OFFLINE = "offline"
SOURCES = ("graph", "tools", "prompts", "evals")
PACKAGES = ("langchain-core", "langgraph", "langchain", "langchain-openai", "openai", "pydantic", "duckdb", "numpy")


class BadPlan(Exception):
    """What was asked for can't be done. The text is one clear line."""


class Plan(BaseModel):
    """One evaluation. `models`: names as given with `--model`, blank for the configured one. `limit`: cases a suite."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    suites: tuple[str, ...]
    models: tuple[str, ...] = ("",)
    baselines: tuple[str, ...] = BASELINES
    url: str | None = None
    prompts: Path | None = None
    data: Path | None = None
    records: Path | None = None
    repeat: int = 1
    limit: int | None = None
    limits: dict[str, int] = {}
    """Cases by suite, where they differ: a gate's slice."""
    seed: int = 7
    version: str = ""

    def limit_of(self, suite: str) -> int | None:
        """Return how many cases of a suite are taken; None for all."""
        return self.limits.get(suite, self.limit)

    def entrants(self) -> tuple[tuple[str, str], ...]:
        """Return the (target, model) pairs that run; targets that ask no model come once, with a blank model."""
        names = (ZHIZHI, *self.baselines)
        asking = [(name, model) for model in self.models for name in names if name not in MODEL_FREE]
        return (*asking, *((name, "") for name in names if name in MODEL_FREE))


def check_plan(plan: Plan, settings: HarnessSettings) -> None:
    """Raise BadPlan for what can't be run: unknown suites or targets, a model without an endpoint."""
    _known("suite", plan.suites, SUITES)
    _known("baseline", plan.baselines, TARGETS)
    for model in plan.models:
        if model not in ("", OFFLINE) and not settings.has_endpoint():
            raise BadPlan(
                f"--model {model} needs an endpoint: set OPENAI_API_KEY, and OPENAI_BASE_URL where it's yours"
            )
    if plan.url and plan.models != ("",):
        raise BadPlan("--url and --model exclude each other: a deployed graph brings its own model")


def _known(what: str, names: tuple[str, ...], there_are: Any) -> None:
    unknown = [name for name in names if name not in there_are]
    if unknown:
        raise BadPlan(f"no {what} is called {unknown[0]!r}; there are {', '.join(there_are)}")


def settings_for(model: str, settings: HarnessSettings) -> HarnessSettings:
    """Return the settings under which `model` runs: `offline`, an endpoint's model for all components, or as set."""
    if model == OFFLINE:
        return settings.model_copy(update={"openai_api_key": None, "openai_base_url": None})
    if not model:
        return settings
    everywhere: dict[str, str | None] = {"default": model}
    everywhere |= dict.fromkeys(("router", "diagnosis", "evidence_repair", "semantic_guard"))
    return settings.model_copy(update={"model": settings.model.model_copy(update=everywhere)})


def asks_no_endpoint(model: str, settings: HarnessSettings) -> bool:
    """Whether `model` runs in this process, on its processor."""
    return not settings_for(model, settings).has_endpoint()


def model_name(model: str, settings: HarnessSettings) -> str:
    """Return how results call a model."""
    if asks_no_endpoint(model, settings):
        return OFFLINE_MODEL_NAME
    return model or settings.model.diagnosis or settings.model.default


def settings_shown(settings: HarnessSettings) -> dict[str, Any]:
    """Return the settings as the manifest may show them: no secret, no address, no path."""
    return settings.model_dump(mode="json", exclude={"openai_api_key", "openai_base_url", "incident_dir"})


def prompt_digests() -> dict[str, str]:
    """Return the SHA-256 of each prompt in use."""
    return {name: digest(name) for name in get_args(PromptName)}


@cache
def code_digest() -> str:
    """Return the SHA-256 over the sources that decide what a run does, as this process found them."""
    root = Path(__file__).resolve().parents[1]
    whole = hashlib.sha256()
    for path in sorted(p for name in SOURCES for p in (root / name).rglob("*") if p.suffix in {".py", ".toml", ".md"}):
        whole.update(f"{path.relative_to(root).as_posix()}\0".encode() + path.read_bytes() + b"\0")
    return whole.hexdigest()


def versions(own: str) -> dict[str, str]:
    """Return Zhizhi's version and those of the packages that decide what a run does, as far as they're installed."""
    found = {"zhizhi": own}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def digest_json(value: Any) -> str:
    """Return the SHA-256 (hex) of a JSON value with sorted keys."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, ensure_ascii=False).encode()).hexdigest()
