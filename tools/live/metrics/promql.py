"""PromQL read, and written in one way: equivalent spellings are one query, different queries stay different.

The parser is promql-parser's; the one spelling is made on its syntax tree, since its own printing leaves the order of
labels and operands as it was. What counts as the same:

| spelled differently | why it is the same |
|---|---|
| blanks, comments, quotes, case of keywords, redundant parentheses | no meaning |
| `{__name__="up"}`, `{"up"}` and `up`; order and repetition of matchers | all of them have to hold |
| `a=~"x"` and `a="x"`; `a=~"y\\|x"` and `a=~"x\\|y"` | regular expressions are anchored at both ends |
| `by (b, a)` and `by (a, b)`, `sum by ()` and `sum`, labels of `on`, `ignoring`, `group_left` | sets |
| `90s` and `1m30s`, `[300]` and `[5m]`, `1e3` and `1000`, `0x10` and `16` | one number |
| `1 < a` and `a > 1`, `1 + a` and `a + 1` | between a vector and a number, the vector's labels and value are kept |
| `a + b` and `b + a`, `a == bool b` and `b == bool a`, `a < bool b` and `b > bool a` | matching drops names |
| `a + b + c` in any order | as above, without modifiers; but for the rounding of the last digit |
| `a * on (x) group_left (y) b` and `b * on (x) group_right (y) a` | the many side is the same one |

Not commuted: `a == b` and other filters between vectors (the left side's name and value are kept), `and`, `or`,
`unless`, `-`, `/`, `%`, `^`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import promql_parser as syntax

from tools.live.metrics.spelling import kind, series_text, string, written

MAX_LENGTH = 4_000
MAX_DEPTH = 60
MAX_OPERATORS = 200

_PIECE = re.compile(r""""(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`[^`]*`|\#[^\n]*""")
_BEFORE_EPOCH = re.compile(r"@\s*-")
_MATCHERS = re.compile(r"\{[^{}]*\}")
_OPERATOR = re.compile(r"[-+*/%^]|[=!<>]=?|\b(?:and|or|unless|atan2)\b", re.IGNORECASE)
_NO_OFFSET = re.compile(r"\boffset\s+[+-]?(?:0+(?:ms|[smhdwy])?)+(?![\w.])", re.IGNORECASE)
_NAME = "__name__"


@dataclass(frozen=True, order=True)
class Selection:
    """What one selector of a query reads: `text`, an instant selector without offset; `metric`, the name where it is
    said plainly (else blank); `exact`, its other labels that have to equal one value that isn't blank."""

    text: str
    metric: str
    exact: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class PromQuery:
    """A query in its one spelling. `selections`: what it reads, sorted. `scalar`: it gives one number, no series."""

    text: str
    selections: tuple[Selection, ...]
    scalar: bool


def canonical_query(text: str) -> PromQuery:
    """Return the query in its one spelling; a fixed point. Raises ValueError("query") where it is no PromQL that gives
    a number or an instant vector (a range, as `up[5m]`, can't be asked over a window), or is longer than 4,000
    characters, nested deeper than 60 levels or has more than 200 operators (reading a chain costs the square of it)."""
    tree = _parsed(text)
    try:
        given = kind(tree)
        selections = sorted({_selection(one) for one in _selectors(tree)})
        text = written(tree)
    except RecursionError:
        given = "deep"
    if given not in {"scalar", "vector"}:
        raise ValueError("query")
    return PromQuery(text, tuple(selections), given == "scalar")


def _parsed(text: str) -> syntax.Expr:
    plain = _prepared(text)
    code = _PIECE.sub("", plain)
    depth = deepest = 0
    for one in code:
        depth += (one in "([{") - (one in ")]}")
        deepest = max(deepest, depth)
    operators = sum(1 for _ in _OPERATOR.finditer(_MATCHERS.sub("", code)))
    if len(text) > MAX_LENGTH or operators > MAX_OPERATORS or deepest > MAX_DEPTH or _BEFORE_EPOCH.search(code):
        raise ValueError("query")
    try:
        return syntax.parse(plain)
    except (ValueError, OverflowError):
        pass
    raise ValueError("query")


def _prepared(text: str) -> str:
    """Write what the parser can't read in a way that it can: raw strings, an offset of nothing; comments are gone."""
    pieces, done = [], 0
    for match in _PIECE.finditer(text):
        pieces += [_NO_OFFSET.sub("", text[done : match.start()]), _prepared_piece(match.group())]
        done = match.end()
    return "".join([*pieces, _NO_OFFSET.sub("", text[done:])])


def _prepared_piece(piece: str) -> str:
    if piece.startswith("#"):
        return " "
    return string(piece[1:-1]) if piece.startswith("`") else piece


def _selectors(tree: Any) -> Iterator[Any]:
    """Yield the vector selectors of an expression, from left to right."""
    match tree:
        case syntax.VectorSelector():
            yield tree
        case syntax.MatrixSelector():
            yield tree.vector_selector
        case syntax.Call():
            for one in tree.args:
                yield from _selectors(one)
        case syntax.BinaryExpr():
            yield from _selectors(tree.lhs)
            yield from _selectors(tree.rhs)
        case syntax.AggregateExpr():
            yield from _selectors(tree.param)
            yield from _selectors(tree.expr)
        case syntax.ParenExpr() | syntax.UnaryExpr() | syntax.SubqueryExpr():
            yield from _selectors(tree.expr)


def _selection(series: Any) -> Selection:
    exact = {(one.name, one.value) for one in series.matchers.matchers if str(one.op).endswith(".Equal") and one.value}
    names = [series.name] if series.name else sorted(value for label, value in exact if label == _NAME)
    labels = sorted(one for one in exact if one[0] != _NAME)
    return Selection(series_text(series), names[0] if names else "", tuple(labels))
