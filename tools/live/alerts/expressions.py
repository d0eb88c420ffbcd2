"""What an alerting rule compares with what, read off its PromQL."""

from dataclasses import dataclass
from operator import add, mul, sub
from typing import Any
from urllib.parse import parse_qs, urlsplit

import promql_parser

from tools.live.metrics.promql import canonical_query

_COMPARISONS = frozenset({">", "<", ">=", "<=", "==", "!="})
_KEEPS_LEFT = frozenset({"and", "unless", "or"})
_LONGEST_LINK = 16_000


@dataclass(frozen=True)
class Comparison:
    """`metric`: the one metric that is compared, None where it's computed from several selectors; `threshold`: the
    constant on the other side, None where there is none."""

    metric: str | None = None
    threshold: float | None = None


def expression_of(generator_url: str) -> str | None:
    """Return the expression that an alert's `generatorURL` links to (Prometheus' graph page), or None.

    Source: Prometheus puts the rule's expression into the parameter `g0.expr`.
    """
    try:
        found = parse_qs(urlsplit(generator_url[:_LONGEST_LINK]).query).get("g0.expr")
    except ValueError:
        return None
    return found[0] if found and found[0].strip() else None


def read_comparison(expression: str) -> Comparison:
    """Return what a rule compares; nothing where it doesn't compare, or is no PromQL. Never raises.

    `a > 5 and b` compares a: what stands behind `and`, `unless` and `or` only conditions it.
    """
    try:
        tree = promql_parser.parse(canonical_query(expression).text)
    except ValueError:
        return Comparison()
    while True:
        if isinstance(tree, promql_parser.ParenExpr):
            tree = tree.expr
        elif isinstance(tree, promql_parser.BinaryExpr) and str(tree.op) in _KEEPS_LEFT:
            tree = tree.lhs
        else:
            break
    if not isinstance(tree, promql_parser.BinaryExpr) or str(tree.op) not in _COMPARISONS:
        return Comparison(_only_metric(tree))
    left, right = _constant(tree.lhs), _constant(tree.rhs)
    if right is not None:
        return Comparison(_only_metric(tree.lhs), right)
    return Comparison(_only_metric(tree.rhs if left is not None else tree.lhs), left)


def _constant(tree: Any) -> float | None:
    if isinstance(tree, promql_parser.NumberLiteral):
        return float(tree.val)
    if isinstance(tree, promql_parser.ParenExpr):
        return _constant(tree.expr)
    if isinstance(tree, promql_parser.UnaryExpr):
        value = _constant(tree.expr)
        return None if value is None else -value
    if isinstance(tree, promql_parser.BinaryExpr):
        left, right = _constant(tree.lhs), _constant(tree.rhs)
        return None if left is None or right is None else _computed(str(tree.op), left, right)
    return None


def _computed(operator: str, left: float, right: float) -> float | None:
    if operator == "/":
        return left / right if right else None
    work = {"*": mul, "+": add, "-": sub}.get(operator)
    return work(left, right) if work else None


def _only_metric(tree: Any) -> str | None:
    """Return the name of the one selector below `tree`: where several are combined, none of them is what's compared."""
    names: list[str | None] = []

    def visit(node: Any) -> None:
        if isinstance(node, promql_parser.VectorSelector):
            names.append(node.name or _matched_name(node))

    promql_parser.walk(tree, visit)
    return names[0] if len(names) == 1 else None


def _matched_name(selector: promql_parser.VectorSelector) -> str | None:
    """Return the metric of a selector that is written `{__name__="up"}`."""
    equal = promql_parser.MatchOp.Equal
    return next((one.value for one in selector.matchers.matchers if one.name == "__name__" and one.op == equal), None)
