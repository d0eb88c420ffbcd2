"""Which columns a statement reads: each is looked up in the server's catalogue, none that is denied is read at all.

A denied column may not stand anywhere, in no condition and no order either: whoever may ask `WHERE phone LIKE '138%'`
can read the number digit by digit. Stars are written out without denied columns. Every column is qualified by the table
that it was found in, so that the server can't find another one under the name.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from sqlglot import exp

from tools.live.database.admission import Refused
from tools.live.database.vocabulary import PREDICATES, QUERIES, Refusal

_LONGEST_LABEL = 48


class UnknownColumn(Exception):
    """The statement names a column that is in none of its tables; `known` are those that are."""

    def __init__(self, name: str, known: tuple[str, ...]) -> None:
        super().__init__("column")
        self.name = name
        self.known = known


@dataclass(frozen=True)
class Catalog:
    """The columns of the listed tables, by `schema.table`, in the server's order, and which of them are denied.

    `denied` holds patterns (`*phone*`) of `column`, `table.column` or `schema.table.column`; case doesn't count.
    """

    columns: Mapping[str, tuple[str, ...]]
    denied: tuple[str, ...] = ()

    def open(self, table: str) -> tuple[str, ...]:
        """Return the columns of a table that may be read."""
        return tuple(column for column in self.columns.get(table, ()) if not self.is_denied(table, column))

    def is_denied(self, table: str, column: str) -> bool:
        """Whether a pattern denies a column of `schema.table`."""
        whole = f"{table}.{column}".casefold()
        names = (column.casefold(), whole.split(".", 1)[1], whole)
        return any(fnmatchcase(name, pattern.casefold()) for pattern in self.denied for name in names)


@dataclass
class Output:
    """One column of a query: the name it has outside, and its label: what it reads, in no words of the statement's."""

    name: str
    label: str


@dataclass
class _Read:
    """A table, CTE or subquery that a SELECT reads: open columns with their labels, and the denied ones."""

    labels: dict[str, str]
    denied: frozenset[str] = frozenset()

    def find(self, name: str) -> str | None:
        """Return the column that is meant, in its own spelling; raises Refused where it's denied."""
        if name in self.labels:
            return name
        if any(name.casefold() == denied.casefold() for denied in self.denied):
            raise Refused(Refusal.COLUMN_DENIED)
        alike = [column for column in self.labels if column.casefold() == name.casefold()]
        return alike[0] if len(alike) == 1 else None


_Frame = dict[str, _Read]


def resolve(tree: exp.Query, catalog: Catalog) -> tuple[str, ...]:
    """Qualify every column of a checked tree and write its stars out, in place; return the labels of its answer.

    The answer's columns are named `answer_1`, `answer_2`, …. Raises Refused and UnknownColumn.
    """
    outputs = _Resolver(catalog).query(tree, ())
    first = _first_select(tree)
    for number, projection in enumerate(list(first.expressions), 1):
        alias = exp.Alias(this=projection.unalias().copy(), alias=exp.to_identifier(f"answer_{number}", quoted=True))
        projection.replace(alias)
    return _distinct([output.label for output in outputs])


def _first_select(tree: exp.Expr) -> exp.Select:
    while not isinstance(tree, exp.Select):
        tree = tree.this
    return tree


def _distinct(labels: list[str]) -> tuple[str, ...]:
    taken: set[str] = set()
    for number, label in enumerate(labels):
        candidate, count = label, 1
        while candidate in taken:
            count += 1
            candidate = f"{label}_{count}"
        labels[number] = candidate
        taken.add(candidate)
    return tuple(labels)


@dataclass
class _Resolver:
    catalog: Catalog
    ctes: dict[str, list[Output]] = field(default_factory=dict)

    def query(self, query: exp.Expr, outer: tuple[_Frame, ...]) -> list[Output]:
        """Resolve a query whose outer SELECTs read `outer`, the nearest first; return its columns."""
        clause = query.args.get("with_")
        for cte in clause.expressions if clause else ():
            self.ctes[cte.alias] = self.query(cte.this, ())
        if isinstance(query, exp.Subquery):
            return self.query(query.this, outer)
        if isinstance(query, exp.Select):
            return self._select(query, outer)
        outputs = self.query(query.this, outer)
        others = self.query(query.expression, outer)
        if len(outputs) != len(others):
            raise Refused(Refusal.SYNTAX_NOT_ALLOWED)
        for column in list((query.args.get("order") or exp.Order()).find_all(exp.Column)):
            _as_number(column, [output.name for output in outputs])
        return outputs

    def _select(self, select: exp.Select, outer: tuple[_Frame, ...]) -> list[Output]:
        frame: _Frame = {}
        merged: set[str] = set()
        joins = select.args.get("joins") or []
        for source in (select.args["from_"].this, *(join.this for join in joins)):
            if source.alias_or_name in frame:
                raise Refused(Refusal.SYNTAX_NOT_ALLOWED)
            frame[source.alias_or_name] = self._read(source, outer)
        for join in joins:
            merged.update(_using(join, frame))
        self._write_out_stars(select, frame)
        frames = (frame, *outer)
        for projection in select.expressions:
            self._expression(projection, frames, merged, None)
        outputs = [_output(projection, frames, number) for number, projection in enumerate(select.expressions, 1)]
        _name(select, outputs)
        for key in ("where", "group", "having", "order", "distinct"):
            if select.args.get(key) is not None:
                self._expression(select.args[key], frames, merged, None if key == "where" else select)
        for join in joins:
            if join.args.get("on") is not None:
                self._expression(join.args["on"], frames, merged, None)
        return outputs

    def _read(self, source: exp.Expr, outer: tuple[_Frame, ...]) -> _Read:
        if isinstance(source, exp.Subquery):
            return _Read({output.name: output.label for output in self.query(source.this, outer)})
        if not source.args.get("db"):
            return _Read({output.name: output.label for output in self.ctes[source.name]})
        table = f"{source.args['db'].name}.{source.name}"
        allowed = self.catalog.open(table)
        denied = frozenset(self.catalog.columns.get(table, ())) - frozenset(allowed)
        return _Read({column: _plain(column) for column in allowed}, denied)

    def _write_out_stars(self, select: exp.Select, frame: _Frame) -> None:
        written: list[exp.Expr] = []
        for projection in select.expressions:
            if not projection.is_star:
                written.append(projection)
                continue
            tables = [projection.table] if isinstance(projection, exp.Column) else list(frame)
            if tables[0] not in frame:
                raise UnknownColumn(f"{tables[0]}.*", tuple(frame))
            written += [exp.column(name, table=table, quoted=True) for table in tables for name in frame[table].labels]
        if not written:
            raise Refused(Refusal.COLUMN_DENIED)
        select.set("expressions", written)

    def _expression(
        self, node: exp.Expr, frames: tuple[_Frame, ...], merged: set[str], aliased: exp.Select | None
    ) -> None:
        """Resolve what stands in an expression; `aliased` is the SELECT whose aliases may stand there, too."""
        for part in list(_own(node)):
            if isinstance(part, QUERIES):
                self.query(part, frames)
            elif isinstance(part, exp.Column) and not isinstance(part.this, exp.Star):
                table = _qualifier(part, frames, merged)
                if table is None and not (aliased and _put_alias(part, aliased)):
                    known = tuple(column for frame in frames for read in frame.values() for column in read.labels)
                    raise UnknownColumn(part.name, known)


def _own(node: exp.Expr) -> Iterator[exp.Expr]:
    """Yield the nodes of an expression; of a query within only itself."""
    return node.walk(prune=lambda part: isinstance(part, QUERIES))


def _qualifier(column: exp.Column, frames: tuple[_Frame, ...], merged: set[str]) -> str | None:
    """Find the nearest table that has a column, qualify the column by it, and return the table's alias; "" where
    several have it, which the server refuses unless a USING made one of them."""
    for frame in frames:
        if column.table and column.table not in frame:
            continue
        read = {column.table: frame[column.table]} if column.table else frame
        found = {alias: name for alias, one in read.items() if (name := one.find(column.name)) is not None}
        if not found:
            if column.table:
                return None
            continue
        alias, name = next(iter(found.items()))
        column.set("this", exp.to_identifier(name, quoted=True))
        if len(found) > 1 or name in merged:
            return ""
        column.set("table", exp.to_identifier(alias, quoted=True))
        return alias
    return None


def _put_alias(column: exp.Column, select: exp.Select) -> bool:
    """Replace a select list's alias by what it stands for: its number in ORDER BY and GROUP BY, else its expression."""
    names = [projection.alias_or_name for projection in select.expressions]
    if column.table or column.name not in names:
        return False
    number = names.index(column.name)
    item = column.parent if isinstance(column.parent, exp.Ordered) else column
    if isinstance(item.parent, exp.Order | exp.Group) and item.parent.parent is select:
        column.replace(exp.Literal.number(number + 1))
    else:
        column.replace(exp.Paren(this=select.expressions[number].unalias().copy()))
    return True


def _as_number(column: exp.Column, names: list[str]) -> None:
    if column.table or column.name not in names:
        raise UnknownColumn(column.name, tuple(names))
    column.replace(exp.Literal.number(names.index(column.name) + 1))


def _using(join: exp.Expr, frame: _Frame) -> Iterator[str]:
    for identifier in join.args.get("using") or ():
        found = [name for read in frame.values() if (name := read.find(identifier.name)) is not None]
        if len(found) < 2:
            raise UnknownColumn(identifier.name, tuple(column for read in frame.values() for column in read.labels))
        identifier.set("this", found[0])
        yield found[0]


def _output(projection: exp.Expr, frames: tuple[_Frame, ...], number: int) -> Output:
    named = projection.alias if isinstance(projection, exp.Alias) else ""
    read = projection.unalias()
    name = named or (read.name if isinstance(read, exp.Column) else f"value_{number}")
    return Output(name, _label(read, frames)[:_LONGEST_LABEL])


def _name(select: exp.Select, outputs: list[Output]) -> None:
    """Give a name to columns that have none, so that a star outside can be written out."""
    for projection, output in zip(list(select.expressions), outputs, strict=True):
        if not isinstance(projection, exp.Alias | exp.Column):
            named = exp.Alias(this=projection.copy(), alias=exp.to_identifier(output.name, quoted=True))
            projection.replace(named)


def _label(read: exp.Expr, frames: tuple[_Frame, ...]) -> str:
    if isinstance(read, exp.Column):
        found = (frame[read.table].labels.get(read.name) for frame in frames if read.table in frame)
        return next(found, None) or _plain(read.name)
    if isinstance(read, exp.Paren | exp.Cast | exp.Window | exp.Filter | exp.WithinGroup):
        return _label(read.this, frames)
    sort = str(read.key) if isinstance(read, exp.Func | exp.Predicate | exp.Binary) else "value"
    inner = [part for part in _own(read) if isinstance(part, exp.Column) and not isinstance(part.this, exp.Star)]
    answered = [column for column in inner if not _is_compared(column, read)] or inner
    labels = dict.fromkeys(_label(column, frames) for column in answered)
    return "_".join([sort, *list(labels)[:2]])


def _is_compared(column: exp.Expr, read: exp.Expr) -> bool:
    node: exp.Expr | None = column
    while node is not None and node is not read:
        node = node.parent
        if isinstance(node, PREDICATES):
            return True
    return False


def _plain(name: str) -> str:
    return "".join(mark if mark.isalnum() or mark in "_." else "_" for mark in name)
