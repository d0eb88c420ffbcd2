"""Three plots a suite, each as SVG and PNG: risk by coverage, calls to the outcome, right outcomes by fault type."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from evals.cases import ANSWERABLE
from evals.figures import curve_of, is_right, of_target
from evals.report import fault_shares
from evals.results import Results, Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MAX_FAULTS = 60


def draw_plots(results: Results, directory: Path) -> tuple[str, ...]:
    """Write the plots of every suite that has something to plot into `directory`; return the files' stems."""
    stems: list[str] = []
    for suite in results.figures:
        rows = [row for row in results.rows if row.suite == suite]
        targets = list(results.figures[suite])
        for name, drawing in (("risk-coverage", _risk_coverage), ("calls", _calls), ("faults", _faults)):
            if drawing(rows, targets, directory / f"{suite}-{name}", results.manifest.seed):
                stems.append(f"{suite}-{name}")
    return tuple(stems)


def _risk_coverage(rows: Sequence[Row], targets: Sequence[str], path: Path, seed: int) -> bool:
    curves = {target: curve_of(of_target(rows, rows[0].suite, target), seed) for target in targets}
    if not any(row.values.get(ANSWERABLE) for row in rows):
        return False
    figure, axes = _canvas(7, 5)
    for target, curve in curves.items():
        if curve is not None:
            axes.step(curve.coverage, curve.risk, where="post", label=f"{target} (AURC {curve.area:.2f})")
    axes.set(xlabel="coverage", ylabel="risk: wrong among the covered", xlim=(0, 1.01), ylim=(-0.02, 1.02))
    axes.legend(fontsize="small")
    return _save(figure, path)


def _calls(rows: Sequence[Row], targets: Sequence[str], path: Path, seed: int) -> bool:
    """Share of the runs that ended right within so many tool calls."""
    steps = {target: _right_within(of_target(rows, rows[0].suite, target)) for target in targets}
    if not any(len(shares) > 1 for shares in steps.values()):
        return False
    longest = max(len(shares) for shares in steps.values())
    figure, axes = _canvas(7, 5)
    for target, shares in steps.items():
        if shares:
            whole = [*shares, *[shares[-1]] * (longest - len(shares))]
            axes.step(range(longest), whole, where="post", label=target)
    axes.set(xlabel="tool calls", ylabel="ended right within so many calls", ylim=(-0.02, 1.02))
    axes.legend(fontsize="small")
    return _save(figure, path)


def _right_within(own: Sequence[Row]) -> list[float]:
    known = [row for row in own if is_right(row) is not None and row.outcome is not None]
    if not known:
        return []
    most = max(row.calls for row in known)
    return [sum(bool(is_right(row)) and row.calls <= calls for row in known) / len(known) for calls in range(most + 1)]


def _faults(rows: Sequence[Row], targets: Sequence[str], path: Path, seed: int) -> bool:
    shares = dict(list(fault_shares(rows).items())[:MAX_FAULTS])
    if not shares:
        return False
    figure, axes = _canvas(8, 1.5 + 0.09 * len(shares) * (len(targets) + 1))
    height = 0.8 / len(targets)
    for index, target in enumerate(targets):
        values = [
            good / total if total else 0.0 for good, total in (held.get(target, (0, 0)) for held in shares.values())
        ]
        places = [row + index * height for row in range(len(shares))]
        axes.barh(places, values, height=height, label=target)
    axes.set_yticks([row + 0.4 - height / 2 for row in range(len(shares))], list(shares), fontsize="small")
    axes.set(xlabel="ended right", xlim=(0, 1.01))
    axes.invert_yaxis()
    axes.legend(fontsize="x-small", loc="upper left", bbox_to_anchor=(1, 1))
    return _save(figure, path)


def _canvas(width: float, height: float) -> "tuple[Figure, Axes]":
    # Half a second to load, for those alone who plot; and the object interface, which keeps no global figure.
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.add_subplot()


def _save(figure: "Figure", path: Path) -> bool:
    """Write both files, without date and chance: equal results make equal files."""
    from matplotlib import rc_context

    with rc_context({"svg.hashsalt": path.name}):
        figure.savefig(path.with_name(f"{path.name}.svg"), metadata={"Date": None})
        figure.savefig(path.with_name(f"{path.name}.png"), dpi=120)
    return True
