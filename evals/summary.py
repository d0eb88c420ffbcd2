"""From rows to results: every suite's figures by target, and the paired differences of each baseline."""

from collections.abc import Sequence
from itertools import product

from evals.figures import differences, figures
from evals.results import Manifest, Results, Row
from evals.targets import ZHIZHI


def results_of(manifest: Manifest, rows: Sequence[Row]) -> Results:
    """Return the results over `rows`, in their order."""
    shown = {}
    compared: dict[str, dict[str, dict[str, object]]] = {}
    for suite in dict.fromkeys(row.suite for row in rows):
        own = [row for row in rows if row.suite == suite]
        targets = list(dict.fromkeys(row.target for row in own))
        shown[suite] = {
            target: {
                name: figure.stored()
                for name, figure in figures(own, suite, target, repeat=manifest.repeat, seed=manifest.seed).items()
            }
            for target in targets
        }
        compared[suite] = {
            f"{first} - {second}": {
                name: figure.stored()
                for name, figure in differences(own, suite, first, second, seed=manifest.seed).items()
            }
            for first, second in _contests(targets)
        }
    return Results(manifest=manifest, figures=shown, differences=compared, rows=tuple(rows))


def _contests(targets: Sequence[str]) -> list[tuple[str, str]]:
    """Each Zhizhi against each other target; where models are compared, against those of the same model."""
    ours = [target for target in targets if target.partition("@")[0] == ZHIZHI]
    return [
        (first, second)
        for first, second in product(ours, targets)
        if second not in ours and second.partition("@")[2] in ("", first.partition("@")[2])
    ]
