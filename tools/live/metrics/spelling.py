"""How PromQL's syntax tree is written in one way; what counts as the same is told at `tools.live.metrics.promql`."""

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import promql_parser as syntax

_BARE_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
_LABEL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
_LITERAL = re.compile(r"[\w \-/:,@%#=~!<>;'\"&]*")
_NUMBER_LIKE = frozenset({"inf", "nan"})
_NAME = "__name__"

_PRECEDENCE = {
    "or": 1,
    **dict.fromkeys(("and", "unless"), 2),
    **dict.fromkeys(("==", "!=", "<=", "<", ">=", ">"), 3),
    **dict.fromkeys(("+", "-"), 4),
    **dict.fromkeys(("*", "/", "%", "atan2"), 5),
    "^": 6,
}
_ATOM = 9
_MIRRORED = {"+": "+", "*": "*", "==": "==", "!=": "!=", "<": ">", ">": "<", "<=": ">=", ">=": "<="}
_FILTERS = frozenset({"==", "!=", "<", ">", "<=", ">="})
_CHAINED = frozenset({"+", "*"})
_COMPARED = {"=~": "=", "!~": "!="}
_OPS = {"Equal": "=", "NotEqual": "!=", "Re": "=~", "NotRe": "!~"}


def written(tree: syntax.Expr) -> str:
    """Return an expression in its one spelling. Raises RecursionError where it's nested too deeply."""
    return _written(tree).text


def string(value: str) -> str:
    """Return a text as a PromQL string in double quotes."""
    escapes = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
    return '"' + "".join(escapes.get(one) or (one if one.isprintable() else _code(one)) for one in value) + '"'


def selector(name: str | None, matchers: Iterable[tuple[str, str, str]]) -> str:
    """Return an instant selector of a metric's name and matchers (label, operator, value), in its one spelling."""
    wanted = {(label, *_plain_pattern(op, value)) for label, op, value in matchers}
    if name is not None:
        wanted.add((_NAME, "=", name))
    names = [(op, value) for label, op, value in wanted if label == _NAME]
    bare = names[0][1] if len(names) == 1 and names[0][0] == "=" and _can_stand_bare(names[0][1]) else None
    rest = sorted(one for one in wanted if bare is None or one[0] != _NAME)
    inner = ",".join(f"{label_name(label)}{op}{string(value)}" for label, op, value in rest)
    return (bare or "") + (f"{{{inner}}}" if inner or bare is None else "")


def label_name(label: str) -> str:
    """Return a label's name as it stands in PromQL: quoted where it isn't of the classic form."""
    return label if _LABEL.fullmatch(label) else string(label)


def duration(length: timedelta) -> str:
    """Return a length of time as PromQL writes it (`1h30m`); negative ones with a sign."""
    return ("-" if length < timedelta() else "") + syntax.display_duration(abs(length))


def _code(character: str) -> str:
    return f"\\u{ord(character):04x}" if ord(character) < 0x10000 else f"\\U{ord(character):08x}"


@dataclass(frozen=True)
class _Text:
    text: str
    binds: int = _ATOM

    def within(self, least: int) -> str:
        """Return the text as an operand of something that needs at least that binding."""
        return self.text if self.binds >= least else f"({self.text})"


def _written(tree: Any) -> _Text:
    match tree:
        case syntax.ParenExpr():
            return _written(tree.expr)
        case syntax.NumberLiteral():
            return _number(tree.val)
        case syntax.StringLiteral():
            return _Text(string(tree.val))
        case syntax.VectorSelector():
            return _Text(series_text(tree) + _moved(tree))
        case syntax.MatrixSelector():
            series = tree.vector_selector
            return _Text(f"{series_text(series)}[{duration(tree.range)}]{_moved(series)}")
        case syntax.SubqueryExpr():
            return _subquery(tree)
        case syntax.Call():
            return _Text(f"{tree.func.name}({', '.join(_written(one).text for one in tree.args)})")
        case syntax.AggregateExpr():
            return _aggregation(tree)
        case syntax.UnaryExpr():
            return _negated(tree)
        case syntax.BinaryExpr():
            return _operation(tree)
    raise ValueError("query")


def _bare(tree: Any) -> Any:
    """Return what stands in parentheses."""
    while isinstance(tree, syntax.ParenExpr):
        tree = tree.expr
    return tree


def _number(value: float) -> _Text:
    if math.isnan(value):
        return _Text("NaN")
    if math.isinf(value):
        return _Text("Inf" if value > 0 else "-Inf", _ATOM if value > 0 else 0)
    short = repr(value).removesuffix(".0")
    return _Text(short, 0 if short.startswith("-") else _ATOM)


def _negated(tree: Any) -> _Text:
    inner = _bare(tree.expr)
    if isinstance(inner, syntax.NumberLiteral):
        return _number(-inner.val)
    return _Text(f"-{_written(inner).within(_ATOM)}", 0)


def series_text(series: Any) -> str:
    """Return a vector selector in its one spelling, without offset and `@`."""
    groups = [series.matchers.matchers, *series.matchers.or_matchers]
    if not series.matchers.or_matchers:
        return selector(series.name, _triples(series.matchers.matchers))
    # VictoriaMetrics' `{a="1" or b="2"}`.
    alternatives = sorted({selector(None, _triples(group))[1:-1] for group in groups if group})
    return f"{series.name or ''}{{{' or '.join(alternatives)}}}"


def _triples(matchers: Iterable[Any]) -> Iterator[tuple[str, str, str]]:
    return ((one.name, _OPS[str(one.op).rpartition(".")[2]], one.value) for one in matchers)


def _plain_pattern(op: str, value: str) -> tuple[str, str]:
    """A pattern without any metacharacter is a comparison; one of alternatives alone is a set."""
    alternatives = sorted(set(value.split("|")))
    if op not in _COMPARED or not all(_LITERAL.fullmatch(one) for one in alternatives):
        return op, value
    return (_COMPARED[op] if len(alternatives) == 1 else op), "|".join(alternatives)


def _can_stand_bare(name: str) -> bool:
    if not _BARE_NAME.fullmatch(name) or name.casefold() in _NUMBER_LIKE:
        return False
    try:
        return getattr(syntax.parse(name), "name", None) == name
    except ValueError:
        return False


def _moved(series: Any) -> str:
    at = ""
    if series.at is not None:
        said = str(series.at.type).rpartition(".")[2]
        at = f" @ {_number(series.at.at.timestamp()).text}" if said == "At" else f" @ {said.casefold()}()"
    return at + (f" offset {duration(series.offset)}" if series.offset else "")


def _subquery(tree: Any) -> _Text:
    inner = _bare(tree.expr)
    # An offset inside of the brackets isn't one behind them.
    moved = isinstance(inner, syntax.VectorSelector) and _moved(inner)
    written = _written(inner).within(_ATOM)
    step = duration(tree.step) if tree.step else ""
    return _Text(f"{f'({written})' if moved else written}[{duration(tree.range)}:{step}]{_moved(tree)}")


def _aggregation(tree: Any) -> _Text:
    grouping = ""
    if tree.modifier is not None:
        said = str(tree.modifier.type).rpartition(".")[2].casefold()
        if said == "without" or tree.modifier.labels:
            grouping = f" {said} ({_labels(tree.modifier.labels)}) "
    parameter = f"{_written(tree.param).text}, " if tree.param is not None else ""
    return _Text(f"{str(tree.op).casefold()}{grouping}({parameter}{_written(tree.expr).text})")


def _labels(labels: Iterable[str]) -> str:
    return ", ".join(label_name(one) for one in sorted(set(labels)))


def _operation(tree: Any) -> _Text:
    op = str(tree.op).casefold()
    if _is_chained(tree):
        operands = [(kind(one) == "scalar", _written(one)) for one in _chain(tree, op)]
        return _joined(op, [written for _, written in sorted(operands, key=lambda one: (one[0], one[1].text))])
    left, right = _written(tree.lhs), _written(tree.rhs)
    modifier = _Modifier.of(tree.modifier)
    if op in _MIRRORED and _should_mirror(tree, op, left.text, right.text, modifier):
        op, left, right, modifier = _MIRRORED[op], right, left, modifier.mirrored()
    binds = _PRECEDENCE[op]
    # `^` binds to the right, all others to the left.
    ahead, behind = (binds + 1, binds) if op == "^" else (binds, binds + 1)
    return _Text(f"{left.within(ahead)} {op}{modifier.text} {right.within(behind)}", binds)


def _joined(op: str, operands: list[_Text]) -> _Text:
    binds = _PRECEDENCE[op]
    first, *rest = operands
    return _Text(f" {op} ".join([first.within(binds), *(one.within(binds + 1) for one in rest)]), binds)


def _is_chained(tree: Any) -> bool:
    return (
        isinstance(tree, syntax.BinaryExpr)
        and str(tree.op) in _CHAINED
        and _Modifier.of(tree.modifier) == _Modifier.of(None)
    )


def _chain(tree: Any, op: str) -> Iterator[Any]:
    """Yield the operands of `a + b + c`, however it is bracketed."""
    tree = _bare(tree)
    if _is_chained(tree) and str(tree.op) == op:
        yield from _chain(tree.lhs, op)
        yield from _chain(tree.rhs, op)
    else:
        yield tree


@dataclass(frozen=True)
class _Modifier:
    """What stands behind an operator, in its one spelling; `many`: which side may repeat (`left`, `right`, or none)."""

    is_bool: bool = False
    matching: str = ""
    many: str = ""
    included: str = ""
    fills: tuple[float | None, float | None] = (None, None)

    @classmethod
    def of(cls, said: Any) -> "_Modifier":
        if said is None:
            return cls()
        matching = ""
        if said.matching is not None:
            word = "on" if str(said.matching.type).endswith("Include") else "ignoring"
            labels = _labels(said.matching.labels)
            matching = f" {word} ({labels})" if word == "on" or labels else ""
        many = {"ManyToOne": "left", "OneToMany": "right"}.get(str(said.card).rpartition(".")[2], "")
        fills = said.fill_values
        return cls(
            bool(said.return_bool),
            matching,
            many,
            _labels(said.group_labels or ()),
            (fills.lhs, fills.rhs) if fills is not None else (None, None),
        )

    def mirrored(self) -> "_Modifier":
        other = {"left": "right", "right": "left"}.get(self.many, "")
        return _Modifier(self.is_bool, self.matching, other, self.included, (self.fills[1], self.fills[0]))

    @property
    def text(self) -> str:
        # The grammar takes a group only behind `on` or `ignoring`.
        matching = self.matching or (" ignoring ()" if self.many else "")
        group = f" group_{self.many} ({self.included})" if self.many else ""
        left, right = (None if fill is None else _number(fill).text for fill in self.fills)
        fill = f" fill ({left})" if left is not None and left == right else ""
        if not fill:
            fill = (f" fill_left ({left})" if left is not None else "") + (
                f" fill_right ({right})" if right is not None else ""
            )
        return (" bool" if self.is_bool else "") + matching + group + fill


def _should_mirror(tree: Any, op: str, left: str, right: str, modifier: _Modifier) -> bool:
    """Return whether the operands change places in the one spelling; only where that changes nothing else."""
    kinds = (kind(tree.lhs), kind(tree.rhs))
    if kinds[0] != kinds[1]:
        return kinds[0] == "scalar"
    if op in _FILTERS and not modifier.is_bool:
        return False
    return modifier.many == "right" if modifier.many else (left, op) > (right, _MIRRORED[op])


def kind(tree: Any) -> str:
    """Return what an expression gives: scalar, vector, matrix or string."""
    match tree:
        case syntax.ParenExpr() | syntax.UnaryExpr():
            return kind(tree.expr)
        case syntax.NumberLiteral():
            return "scalar"
        case syntax.StringLiteral():
            return "string"
        case syntax.MatrixSelector() | syntax.SubqueryExpr():
            return "matrix"
        case syntax.Call():
            return str(tree.func.return_type).rpartition(".")[2].casefold()
        case syntax.BinaryExpr():
            return "scalar" if kind(tree.lhs) == kind(tree.rhs) == "scalar" else "vector"
    return "vector"
