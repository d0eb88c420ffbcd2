"""Two results pair by pair: what a change of prompt, model or rule made better, and what worse."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from xml.etree import ElementTree

from evals.figures import Figure, differences_between, is_false_release, is_right, labels
from evals.report import figure_text
from evals.results import Results, Row

Pair = tuple[str, str, str, int]


class Change(StrEnum):
    """What became of one pair. Only the first four keep a change from shipping."""

    FAILS_NOW = "fails now"
    FALSE_RELEASE = "published a wrong conclusion"
    LOST = "no longer right"
    MISSING = "not run any more"
    WON = "right now"
    STOPPED_FALSE_RELEASE = "no longer publishes a wrong conclusion"
    RUNS_NOW = "runs now"
    NEW = "not run before"
    SAME = "the same"


WORSE = frozenset({Change.FAILS_NOW, Change.FALSE_RELEASE, Change.LOST, Change.MISSING})


@dataclass(frozen=True)
class Paired:
    """One cell in both results; `before` or `after` is None where it was run in one of them alone."""

    pair: Pair
    before: Row | None
    after: Row | None

    @property
    def change(self) -> Change:
        """What became of it."""
        before, after = self.before, self.after
        if after is None:
            return Change.MISSING
        if before is None:
            return Change.FAILS_NOW if after.failure else Change.NEW
        if before.failure or after.failure:
            return _failures(before, after)
        if is_false_release(before) != is_false_release(after):
            return Change.FALSE_RELEASE if is_false_release(after) else Change.STOPPED_FALSE_RELEASE
        if is_right(before) != is_right(after):
            return Change.WON if is_right(after) else Change.LOST
        return Change.SAME


def _failures(before: Row, after: Row) -> Change:
    if before.failure and after.failure:
        return Change.SAME
    return Change.FAILS_NOW if after.failure else Change.RUNS_NOW


def compare(before: Results, after: Results) -> list[Paired]:
    """Return every cell of both results, in order of suite, target, case and repetition."""
    first, second = ({_pair(row): row for row in results.rows} for results in (before, after))
    return [Paired(pair, first.get(pair), second.get(pair)) for pair in sorted(first.keys() | second.keys())]


def _pair(row: Row) -> Pair:
    return row.suite, row.target, row.case_id, row.repetition


def got_worse(pairs: Sequence[Paired]) -> list[Paired]:
    """Return the pairs that keep the change from shipping."""
    return [pair for pair in pairs if pair.change in WORSE]


def markdown(before: Results, after: Results, pairs: Sequence[Paired]) -> str:
    """Return the comparison for a pull request: what differs in the making, figures, and each pair that changed."""
    parts = ["# What changed\n", _made(before, after), _counts(pairs)]
    for suite, target in dict.fromkeys((pair.pair[0], pair.pair[1]) for pair in pairs):
        own = [pair for pair in pairs if pair.pair[:2] == (suite, target)]
        parts.append(_figures(suite, target, own, after.manifest.seed))
    changed = [pair for pair in pairs if pair.change is not Change.SAME]
    if changed:
        parts += ["## Pairs that changed\n", "| suite | target | case | run | change |", "|---|---|---|---|---|"]
        order = sorted(changed, key=lambda pair: (pair.change not in WORSE, pair.pair))
        parts += [f"| {' | '.join(map(str, pair.pair))} | {pair.change} |" for pair in order]
    return "\n".join(parts) + "\n"


def _made(before: Results, after: Results) -> str:
    kept = ("models", "url", "seed", "repeat", "limit", "prompts", "data", "code", "settings", "versions")
    ours, theirs = (results.manifest.model_dump(mode="json") for results in (before, after))
    differing = [name for name in kept if ours[name] != theirs[name]]
    return f"Differs in: {', '.join(differing) or 'nothing'}.\n"


def _counts(pairs: Sequence[Paired]) -> str:
    counts = {change: sum(pair.change is change for pair in pairs) for change in Change}
    told = [f"{count} {change}" for change, count in counts.items() if count]
    return f"{len(pairs)} pairs: {', '.join(told)}.\n"


def _figures(suite: str, target: str, pairs: Sequence[Paired], seed: int) -> str:
    both = [(p.after, p.before) for p in pairs if p.before and p.after and not (p.before.failure or p.after.failure)]
    found: dict[str, Figure] = differences_between(both, seed=seed)
    if not found:
        return ""
    shown = labels(found)
    rows = [f"| {shown[name]} | {figure_text(figure.stored())} |" for name, figure in found.items()]
    return "\n".join([f"## {suite}, {target}: after − before\n", "| | difference |", "|---|---|", *rows]) + "\n"


def junit(pairs: Sequence[Paired]) -> str:
    """Return the comparison as JUnit XML: one test a pair, failed where it got worse."""
    root = ElementTree.Element("testsuites")
    for suite in dict.fromkeys(pair.pair[0] for pair in pairs):
        own = [pair for pair in pairs if pair.pair[0] == suite]
        worse = len(got_worse(own))
        element = ElementTree.SubElement(root, "testsuite", name=suite, tests=str(len(own)), failures=str(worse))
        for pair in own:
            _, target, case_id, repetition = pair.pair
            test = ElementTree.SubElement(
                element, "testcase", classname=f"{suite}.{target}", name=f"{case_id}[{repetition}]"
            )
            if pair.change in WORSE:
                ElementTree.SubElement(test, "failure", message=pair.change.value)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"
