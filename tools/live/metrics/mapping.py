"""What is asked by name, in PromQL: the golden signals, JVM, connection pools and queues, as each instrumentation
calls them. The data are `mapping.toml` beside this module; docs/metrics.md tells them."""

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import cache, cached_property
from pathlib import Path
from string import Template
from typing import Any

from tools.canonical import fold
from tools.live.metrics.promql import canonical_query
from tools.live.metrics.spelling import duration, label_name, string

_DATA = Path(__file__).with_name("mapping.toml")
_COMPOSED = frozenset({"by", "match", "errors_match", "limit_match", "rate", "scale"})
_OR_ZERO = " or 0 * "
_PLACEHOLDER = re.compile(r"\$(\w+)")
_FIXED_LABEL = re.compile(r"([a-zA-Z_]\w*)\s*(?:=~|!~|!=|=)")
_SEPARATORS = re.compile(r"[\s_./:-]+")


@dataclass(frozen=True)
class Variant:
    """What one instrumentation calls the metrics of a formula. `metrics`: names by placeholder; `fixed`, `errors`,
    `limit_fixed`: matchers in PromQL; `status_labels`: names tried for `$status` in `errors`; `split`: labels by which
    the result is told apart; `scale`: what brings it to the unit in the signal's name."""

    source: str
    metrics: Mapping[str, str]
    fixed: str = ""
    errors: str = ""
    limit_fixed: str = ""
    status_labels: tuple[str, ...] = ()
    split: tuple[str, ...] = ()
    scale: float = 1


@dataclass(frozen=True)
class Signal:
    """Something that is asked by name. `golden`: the golden signal that it belongs to, or None."""

    name: str
    golden: str | None
    formula: str
    variants: tuple[Variant, ...]
    aliases: tuple[str, ...]

    def needs(self, variant: Variant) -> tuple[str, ...] | None:
        """Return the metrics that the formula reads in a variant, the leading one first; None where it lacks one."""
        wanted = dict.fromkeys(one for one in _PLACEHOLDER.findall(self.formula) if one not in _COMPOSED)
        if any(one not in variant.metrics for one in wanted):
            return None
        return tuple(dict.fromkeys(variant.metrics[one] for one in wanted))

    def labels_needed(self, variant: Variant) -> tuple[str, ...]:
        """Return the labels that the leading metric must have for the variant to be the right one."""
        return tuple(dict.fromkeys(_FIXED_LABEL.findall(variant.fixed)))

    def needs_status(self, variant: Variant) -> bool:
        """Whether the formula has to know which label says that a request failed."""
        return "$errors_match" in self.formula and bool(variant.errors)

    def query(self, variant: Variant, bound: "Bound") -> str:
        """Return the signal's PromQL in its one spelling."""
        return self._filled(self.formula, variant, bound)

    def queries(self, variant: Variant, bound: "Bound") -> tuple[str, ...]:
        """Return the signal's PromQL and, of a share, two shorter ones: without the zero where nothing failed, and what
        is shared alone."""
        failed, filled, rest = self.formula.removeprefix("(").partition(_OR_ZERO)
        formulas = (failed + rest[rest.rindex(" / ") :], failed) if filled else ()
        return tuple(self._filled(one, variant, bound) for one in (self.formula, *formulas))

    def _filled(self, formula: str, variant: Variant, bound: "Bound") -> str:
        errors = variant.errors.replace("$status", label_name(bound.status)) if bound.status else ""
        values = {
            **variant.metrics,
            "by": ", ".join(label_name(one) for one in (*bound.by, *variant.split)),
            "match": _matchers(variant.fixed, *bound.matchers),
            "errors_match": _matchers(variant.fixed, errors, *bound.matchers),
            "limit_match": _matchers(variant.limit_fixed, *bound.matchers),
            "rate": duration(bound.rate),
            "scale": repr(variant.scale),
        }
        scaled = formula if variant.scale != 1 else formula.replace(" * $scale", "")
        return canonical_query(Template(scaled).substitute(values)).text


@dataclass(frozen=True)
class Bound:
    """What a formula is filled with: `by`, the labels that name the service; `service`, the first one's value (None:
    every service); `rate`, the length over which counters are told; `status`, the label that says what failed."""

    by: tuple[str, ...]
    service: str | None
    rate: timedelta
    status: str | None = None

    @property
    def matchers(self) -> tuple[str, ...]:
        """Return the matchers that select the service, in PromQL."""
        return () if self.service is None else (f"{label_name(self.by[0])}={string(self.service)}",)


@dataclass(frozen=True)
class Asked:
    """What a name stands for: the signals, and patterns of metric names that serve where none of them is there."""

    signals: tuple[Signal, ...]
    golden: tuple[str, ...]


@dataclass(frozen=True)
class SignalMap:
    """All signals, the golden ones with their aliases, and the patterns of names that tell a golden signal as it is."""

    signals: tuple[Signal, ...]
    golden: Mapping[str, tuple[str, ...]]
    words: Mapping[str, re.Pattern[str]]
    silent: re.Pattern[str]

    def asked(self, name: str | None) -> Asked | None:
        """Return what `name` stands for; None (nothing named) is the four golden signals. None where it's no alias.

        Case, width and separators don't count: `Error Rate`, `error_rate` and `错误率` are one.
        """
        if name is None:
            return Asked(tuple(one for one in self.signals if one.golden), tuple(self.golden))
        key = bare(name)
        for golden, aliases in self.golden.items():
            if key in {bare(one) for one in (golden, *aliases)}:
                return Asked(tuple(one for one in self.signals if one.golden == golden), (golden,))
        named = tuple(one for one in self.signals if key in {bare(alias) for alias in (one.name, *one.aliases)})
        return Asked(named, ()) if named else None

    def telling(self, golden: str, names: Iterable[str]) -> tuple[str, ...]:
        """Return those of a backend's metric names that say by themselves that they are a golden signal.

        What a runtime or a scrape tells of itself isn't among them.
        """
        return tuple(one for one in names if self.words[golden].search(one) and not self.silent.match(one))

    @cached_property
    def read(self) -> frozenset[str]:
        """Return every metric that some formula reads."""
        return frozenset(name for one in self.signals for variant in one.variants for name in variant.metrics.values())


def bare(name: str) -> str:
    """Return a name without case, width and separators."""
    return _SEPARATORS.sub("", fold(name))


@cache
def signal_map() -> SignalMap:
    """Return the mapping, read once."""
    data: dict[str, Any] = tomllib.loads(_DATA.read_text(encoding="utf-8"))
    over = {name: tuple(_variant(one) for one in variants) for name, variants in data["over"].items()}
    signals = tuple(
        Signal(
            one["name"],
            one.get("golden"),
            data["formula"][one["formula"]],
            over[one["over"]],
            tuple(one.get("aliases", ())),
        )
        for one in data["signal"]
    )
    golden = {name: tuple(one["aliases"]) for name, one in data["golden"].items()}
    words = {name: re.compile(one["words"], re.IGNORECASE) for name, one in data["golden"].items()}
    return SignalMap(signals, golden, words, re.compile(data["silent"]["words"]))


def family(base: str) -> tuple[Signal, ...]:
    """Return the signals of a histogram or summary that no mapping knows, by its base name: how often, how long, and
    the slowest twentieth. Where it has no buckets, the last isn't there."""
    metrics = {"bucket": f"{base}_bucket", "sum": f"{base}_sum", "times": f"{base}_count", "count": f"{base}_count"}
    variants = (Variant("histogram", metrics),)
    formulas: dict[str, str] = tomllib.loads(_DATA.read_text(encoding="utf-8"))["formula"]
    told = {f"{base}_p95": "p95", f"{base}_avg": "average", f"{base}_per_second": "rate"}
    return tuple(Signal(name, None, formulas[formula], variants, ()) for name, formula in told.items())


def _variant(said: Mapping[str, Any]) -> Variant:
    known = {"source", "fixed", "errors", "limit_fixed", "labels", "split", "scale"}
    metrics = {name: str(value) for name, value in said.items() if name not in known}
    if "count" in metrics:
        metrics.setdefault("failed", metrics["count"])
    return Variant(
        source=said["source"],
        metrics=metrics,
        fixed=said.get("fixed", ""),
        errors=said.get("errors", ""),
        limit_fixed=said.get("limit_fixed", ""),
        status_labels=tuple(said.get("labels", ())),
        split=tuple(said.get("split", ())),
        scale=said.get("scale", 1),
    )


def _matchers(*parts: str) -> str:
    return ",".join(part for part in parts if part)
