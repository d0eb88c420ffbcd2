"""`report.md`: the tables a person reads, made of `results.json` and nothing else."""

from collections.abc import Mapping, Sequence
from typing import Any

from evals.figures import COMPARED, is_right, labels
from evals.results import Manifest, Results, Row

REPORT_FILE = "report.md"
PLOTS = (
    ("risk-coverage", "Risk by coverage"),
    ("calls", "Calls to the outcome"),
    ("faults", "Right outcomes by fault type"),
)

Figures = Mapping[str, Mapping[str, Any]]


def report(results: Results, *, plots: Sequence[str] = ()) -> str:
    """Return the report in Markdown. `plots`: stems of the plots that lie beside it."""
    parts = [_head(results)]
    for suite, by_target in results.figures.items():
        rows = [row for row in results.rows if row.suite == suite]
        parts += [f"## {suite}\n", _size(rows), _figures_table(by_target)]
        parts += [_differences_table(results.differences.get(suite, {})), _faults_table(rows), _failures(rows)]
        parts += [f"![{title}]({suite}-{stem}.svg)\n" for stem, title in PLOTS if f"{suite}-{stem}" in plots]
    parts += [f"## {suite}\n\nNot run: {why}\n" for suite, why in results.manifest.absent.items()]
    return "\n".join(part for part in parts if part)


def number(value: float | None, *, share: bool) -> str:
    """Return a number as a reader wants it: shares in percent, counts in plain decimals, nothing as a dash."""
    if value is None:
        return "–"
    if share:
        return f"{value * 100:.1f} %"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.2f}"


def _head(results: Results) -> str:
    made = results.manifest
    fresh = len(results.rows) - made.resumed
    rate = f" ({fresh / made.wall_seconds:.2f} runs a second)" if fresh and made.wall_seconds else ""
    lines = [
        "# Evaluation",
        "",
        f"Model: {', '.join(made.models)}"
        + (f", served at {made.url}" if made.url else "")
        + f". Repetitions: {made.repeat}. Seed: {made.seed}. Cases a suite: {_limit(made)}.",
        f"Zhizhi {made.versions.get('zhizhi', '')}, code {made.code[:12]}, started {made.started_at}, "
        f"{made.wall_seconds:.0f} s{rate}, peak memory {made.peak_memory_mb:.0f} MB a process; "
        f"{made.resumed} of {len(results.rows)} runs were done before.",
        "",
        "In brackets: 95 % intervals (Wilson's where each incident is one trial, else bootstrap over incidents). "
        "docs/evals.md defines the figures.",
        "",
    ]
    return "\n".join(lines)


def _limit(made: Manifest) -> str:
    named = [f"{suite} {limit}" for suite, limit in made.limits.items() if suite in made.suites]
    return ", ".join(named) or str(made.limit or "all")


def _size(rows: Sequence[Row]) -> str:
    cases, clusters = len({row.case_id for row in rows}), len({row.cluster for row in rows})
    return f"{cases} cases from {clusters} incidents, {len(rows)} runs.\n"


def _figures_table(by_target: Mapping[str, Figures]) -> str:
    targets = list(by_target)
    names = list(dict.fromkeys(name for figures in by_target.values() for name in figures))
    shown = labels(names)
    lines = [_row("", *targets), _rule(len(targets) + 1)]
    lines += [_row(shown[name], *(figure_text(by_target[t].get(name)) for t in targets)) for name in names]
    return "\n".join(lines) + "\n"


def figure_text(figure: Mapping[str, Any] | None) -> str:
    """Return a stored figure with its interval in brackets, a dash for none."""
    if figure is None:
        return "–"
    value, low, high = (number(figure[name], share=figure["share"]) for name in ("value", "low", "high"))
    return value if figure["low"] is None else f"{value} [{low.removesuffix(' %')}, {high.removesuffix(' %')}]"


def _differences_table(compared: Mapping[str, Figures]) -> str:
    kept = {contest: figures for contest, figures in compared.items() if figures}
    if not kept:
        return ""
    names = [name for name in COMPARED if any(name in figures for figures in kept.values())]
    shown = labels(names)
    lines = ["### Paired differences\n", _row("", *(shown[name] for name in names)), _rule(len(names) + 1)]
    for contest, figures in kept.items():
        lines.append(_row(contest, *(figure_text(figures.get(name)) for name in names)))
    return "\n".join(lines) + "\n"


def fault_shares(rows: Sequence[Row]) -> dict[str, dict[str, tuple[int, int]]]:
    """Return for each fault type and target how many runs ended right, of how many; faults in order of name."""
    shares: dict[str, dict[str, tuple[int, int]]] = {}
    for row in rows:
        right = is_right(row)
        if row.fault is None or row.failure is not None or right is None:
            continue
        held = shares.setdefault(row.fault, {})
        good, total = held.get(row.target, (0, 0))
        held[row.target] = (good + right, total + 1)
    return dict(sorted(shares.items()))


def _faults_table(rows: Sequence[Row]) -> str:
    shares = fault_shares(rows)
    if not shares:
        return ""
    targets = list(dict.fromkeys(row.target for row in rows))
    lines = ["### Right outcomes by fault type\n", _row("", *targets), _rule(len(targets) + 1)]
    for fault, held in shares.items():
        lines.append(_row(fault, *("{}/{}".format(*held[t]) if t in held else "–" for t in targets)))
    return "\n".join(lines) + "\n"


def _failures(rows: Sequence[Row]) -> str:
    failed = [row for row in rows if row.failure is not None]
    if not failed:
        return ""
    lines = [f"### Failed: {len(failed)} of {len(rows)} runs\n", _row("case", "target", "failure"), _rule(3)]
    lines += [_row(row.case_id, row.target, row.failure or "") for row in failed[:50]]
    return "\n".join(lines) + "\n"


def _row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def _rule(columns: int) -> str:
    return "|---" * columns + "|"
