"""Which statements may leave: one SELECT over listed tables, made of nothing but what `vocabulary` lists.

Pure: text in, a checked tree or a refusal out. What is sent later is generated from the tree, never the text that was
given, so that comments, quoting and encodings in which a server would read something else aren't sent at all.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.dialects.dialect import Dialect as Grammar
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.normalize_identifiers import normalize_identifiers
from sqlglot.tokenizer_core import TokenType

from tools.live.database.vocabulary import (
    PREDICATES,
    QUERIES,
    STRUCTURE,
    TIME_TYPES,
    TYPES,
    UNITS,
    Dialect,
    Refusal,
    is_clock,
    is_listed,
)

LONGEST_SQL = 6_000
MOST_NODES = 1_500
DEEPEST = 60
MOST_TABLES = 12
_EXECUTED_COMMENT = re.compile(r"/\*\s*(?:M?!|\+)")
_OPENING = frozenset({TokenType.SELECT, TokenType.WITH, TokenType.L_PAREN})
_FORMAT = re.compile(r"(?:%-?[A-Za-z%]|[-:/ .])*")
_ZONE = re.compile(r"[A-Za-z]{2,20}(?:/[A-Za-z_]{2,30})?|[+-]\d{2}:\d{2}")
_NUMBER = re.compile(r"\d{1,9}")
_RELATIVE_WORDS = frozenset({"now", "today", "tomorrow", "yesterday", "allballs"})
_SIDES = frozenset({"", "LEFT", "RIGHT", "FULL"})
_KINDS = frozenset({"", "INNER", "OUTER", "CROSS"})


class Refused(Exception):
    """The statement isn't sent. `reason` says why in fixed words; no text of the statement is kept."""

    def __init__(self, reason: Refusal) -> None:
        super().__init__(reason.value)
        self.reason = reason


class UnknownTable(Exception):
    """The statement names a table that isn't listed: `name` as it was written, without quotes."""

    def __init__(self, name: str) -> None:
        super().__init__("table")
        self.name = name


@dataclass(frozen=True)
class Tables:
    """The tables that may be read: `names` as `schema.table`; `home` is the schema of names that name none."""

    dialect: Dialect
    home: str
    names: tuple[str, ...]
    _by_folded: dict[str, str] = field(init=False, repr=False, compare=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._by_folded.update((name.casefold(), name) for name in self.names)

    def find(self, schema: str, table: str) -> str | None:
        """Return the listed `schema.table` that is meant, in the list's spelling, or None."""
        whole = f"{schema or self.home}.{table}"
        return whole if whole in self.names else self._by_folded.get(whole.casefold())


def admit(sql: str, tables: Tables) -> exp.Query:
    """Return the checked tree of a statement: tables qualified by schema, each with an alias, CTEs renamed.

    Functions of the clock still stand in it (`pinned` replaces them); columns aren't resolved (`columns` does that).
    Raises Refused, and UnknownTable where all is well but a table isn't listed.
    """
    tree = _parsed(sql, tables.dialect)
    nodes = list(tree.walk())
    if len(nodes) > MOST_NODES or any(node.depth > DEEPEST for node in nodes):
        raise Refused(Refusal.TOO_LONG)
    for node in nodes:
        _check_node(node, tables.dialect)
    for query in nodes:
        if isinstance(query, exp.Select):
            _check_select(query)
    _fold_names(tree, tables.dialect)
    _rename_ctes(tree)
    _qualify(tree, tables)
    return tree


def _parsed(sql: str, dialect: Dialect) -> exp.Query:
    if len(sql) > LONGEST_SQL:
        raise Refused(Refusal.TOO_LONG)
    if any(unicodedata.category(mark) in {"Cc", "Cf", "Cs", "Co"} and mark not in "\t\r\n" for mark in sql):
        raise Refused(Refusal.UNREADABLE_SQL)
    if _EXECUTED_COMMENT.search(sql):
        raise Refused(Refusal.SYNTAX_NOT_ALLOWED)
    try:
        tokens = Grammar.get_or_raise(dialect.value).tokenize(sql.strip().rstrip(";"))
        if not tokens or tokens[0].token_type not in _OPENING:
            raise Refused(Refusal.ONE_SELECT_ONLY)
        if any(token.token_type is TokenType.SEMICOLON for token in tokens):
            raise Refused(Refusal.ONE_SELECT_ONLY)
        trees = Grammar.get_or_raise(dialect.value).parser().parse(tokens, sql)
    except (SqlglotError, RecursionError, ValueError):
        raise Refused(Refusal.UNREADABLE_SQL) from None
    if len(trees) != 1 or trees[0] is None:
        raise Refused(Refusal.ONE_SELECT_ONLY)
    tree = _bare(trees[0])
    if not isinstance(tree, QUERIES):
        raise Refused(Refusal.ONE_SELECT_ONLY)
    return tree


def _bare(tree: exp.Expr) -> exp.Expr:
    """Return what stands within a statement's outermost parentheses."""
    while type(tree) is exp.Subquery and not any(value for key, value in tree.args.items() if key != "this"):
        tree = tree.this
    tree.pop()
    return tree


def _check_node(node: exp.Expr, dialect: Dialect) -> None:
    if not is_listed(node, dialect) and not is_clock(node, dialect):
        if isinstance(node, exp.Func) and not isinstance(node, exp.Connector):
            raise Refused(Refusal.FUNCTION_NOT_ALLOWED)
        if isinstance(node, exp.DML | exp.DDL | exp.Command | exp.Into):
            raise Refused(Refusal.ONE_SELECT_ONLY)
        raise Refused(Refusal.SYNTAX_NOT_ALLOWED)
    listed = STRUCTURE.get(type(node))
    for key, value in node.args.items():
        if not value or (isinstance(node, exp.Anonymous) and key == "this"):
            continue
        if listed is not None and key not in listed:
            raise Refused(Refusal.SYNTAX_NOT_ALLOWED)
        if listed is None and isinstance(value, str):
            raise Refused(Refusal.SYNTAX_NOT_ALLOWED)
    check = _CHECKS.get(type(node))
    if check is not None:
        check(node)


def _require(fits: bool, reason: Refusal = Refusal.SYNTAX_NOT_ALLOWED) -> None:
    if not fits:
        raise Refused(reason)


def _join(node: exp.Expr) -> None:
    _require(str(node.args.get("side") or "").upper() in _SIDES and str(node.args.get("kind") or "").upper() in _KINDS)
    _require(isinstance(node.this, exp.Table | exp.Subquery))


def _subquery(node: exp.Expr) -> None:
    _require(isinstance(node.this, QUERIES))


def _set_operand(node: exp.Expr) -> None:
    _require(all(isinstance(side, (*QUERIES, exp.Subquery)) for side in (node.this, node.expression)))


def _from(node: exp.Expr) -> None:
    _require(isinstance(node.this, exp.Table | exp.Subquery))


def _table(node: exp.Expr) -> None:
    _require(isinstance(node.this, exp.Identifier))
    _require(node.args.get("db") is None or isinstance(node.args["db"], exp.Identifier))
    _require(isinstance(node.parent, exp.From | exp.Join))


def _star(node: exp.Expr) -> None:
    """A star is a select list's, or `count(*)`; `count(t.*)` and `row(t.*)` would read a row as a whole."""
    holder = node.parent.parent if isinstance(node.parent, exp.Column) else node.parent
    _require(isinstance(holder, exp.Select) or (isinstance(holder, exp.Count) and node.parent is holder))


def _column(node: exp.Expr) -> None:
    _require(isinstance(node.this, exp.Identifier | exp.Star))


def _limit(node: exp.Expr) -> None:
    count = node.expression
    plain = isinstance(count, exp.Literal) and not count.is_string and _NUMBER.fullmatch(str(count.this))
    _require(bool(plain) and int(count.this) > 0, Refusal.LIMIT_MUST_BE_A_NUMBER)


def _cast(node: exp.Expr) -> None:
    target = node.args["to"]
    _require(isinstance(target, exp.DataType) and target.this in TYPES, Refusal.TYPE_NOT_ALLOWED)
    # 'yesterday'::date would ask the server's clock.
    word = str(node.this.this).strip().casefold() if isinstance(node.this, exp.Literal) else ""
    _require(target.this not in TIME_TYPES or word not in _RELATIVE_WORDS)


def _datatype(node: exp.Expr) -> None:
    _require(isinstance(node.this, exp.DType) and node.this in TYPES, Refusal.TYPE_NOT_ALLOWED)


def _var(node: exp.Expr) -> None:
    _require(str(node.this).upper() in UNITS)


def _format(node: exp.Expr) -> None:
    """A format may hold no words: `to_char(at, '"payment-service"')` would put them into the answer."""
    form = node.args.get("format")
    _require(isinstance(form, exp.Literal) and bool(_FORMAT.fullmatch(str(form.this))))


def _time_zone(node: exp.Expr) -> None:
    zone = node.args.get("zone")
    _require(isinstance(zone, exp.Literal) and bool(_ZONE.fullmatch(str(zone.this))))


def _cte(node: exp.Expr) -> None:
    _require(isinstance(node.this, QUERIES), Refusal.ONE_SELECT_ONLY)


def _exists(node: exp.Expr) -> None:
    _require(isinstance(node.this, (*QUERIES, exp.Subquery)))


_CHECKS: dict[type[exp.Expr], Callable[[Any], None]] = {
    exp.Join: _join,
    exp.Subquery: _subquery,
    exp.Union: _set_operand,
    exp.Intersect: _set_operand,
    exp.Except: _set_operand,
    exp.From: _from,
    exp.Table: _table,
    exp.Star: _star,
    exp.Column: _column,
    exp.Limit: _limit,
    exp.Cast: _cast,
    exp.DataType: _datatype,
    exp.Var: _var,
    exp.TimeToStr: _format,
    exp.AtTimeZone: _time_zone,
    exp.CTE: _cte,
    exp.Exists: _exists,
}


def _check_select(select: exp.Select) -> None:
    """What an answer says was read from a table; whether it's empty depends on what is in one."""
    _require(select.args.get("from_") is not None, Refusal.ANSWER_NOT_FROM_A_TABLE)
    for projection in select.expressions if not isinstance(select.parent, exp.Exists) else ():
        _require(_is_read(projection), Refusal.ANSWER_NOT_FROM_A_TABLE)
        for text in projection.find_all(exp.Literal):
            _require(not text.is_string or _is_operand(text, projection), Refusal.ANSWER_NOT_FROM_A_TABLE)
    joins = [join.args.get("on") for join in select.args.get("joins") or []]
    clauses = [select.args[key].this for key in ("where", "having") if select.args.get(key)]
    for condition in filter(None, [*joins, *clauses]):
        for leaf in leaves(condition):
            _require(_is_read(leaf) or is_true(leaf), Refusal.CONSTANT_CONDITION)


def _is_read(node: exp.Expr) -> bool:
    return any(True for _ in node.find_all(exp.Column, exp.Count, exp.Star, exp.RowNumber))


def _is_operand(text: exp.Expr, projection: exp.Expr) -> bool:
    """Whether a text is compared with something, or says how (a format, an interval, a time), and so isn't answered."""
    node = text
    while node is not projection and node.parent is not None:
        inner, node = node, node.parent
        if isinstance(node, (*PREDICATES, exp.Interval, exp.TimeToStr, exp.AtTimeZone, exp.StrPosition)):
            return True
        if isinstance(node, exp.Cast) and node.to.this in TIME_TYPES and node.this is inner is text:
            return True
        if isinstance(node, exp.TimestampDiff | exp.DateDiff | exp.DateAdd | exp.DateSub):
            return True
        if isinstance(node, QUERIES):
            return node is not projection
    return False


def leaves(condition: exp.Expr) -> Iterator[exp.Expr]:
    """Yield what AND, OR, NOT and parentheses join together."""
    if isinstance(condition, exp.And | exp.Or):
        yield from leaves(condition.this)
        yield from leaves(condition.expression)
    elif isinstance(condition, exp.Paren | exp.Not) and not is_true(condition.this):
        yield from leaves(condition.this)
    else:
        yield condition


def is_true(node: exp.Expr) -> bool:
    """Whether a condition is one of the spellings of TRUE that generated SQL often begins with: `TRUE`, `1=1`."""
    if isinstance(node, exp.EQ):
        sides = (node.this, node.expression)
        return all(isinstance(side, exp.Literal) for side in sides) and node.this == node.expression
    return isinstance(node, exp.Boolean) and bool(node.this)


def _fold_names(tree: exp.Query, dialect: Dialect) -> None:
    """Bring names into the spelling under which the server knows them: PostgreSQL folds what isn't quoted, columns of
    MySQL and aliases are equal whatever their case. Everything is quoted afterwards."""
    if dialect is Dialect.POSTGRESQL:
        normalize_identifiers(tree, dialect=dialect.value)
    for identifier in tree.find_all(exp.Identifier):
        name = str(identifier.this)
        identifier.set("this", name.casefold() if dialect is Dialect.MYSQL else name)
        identifier.set("quoted", True)


def _rename_ctes(tree: exp.Query) -> None:
    """Give every CTE a name of our own: should a server see another scope than we do, it finds no table at all."""
    clauses = list(tree.find_all(exp.With))
    _require(all(clause.parent is tree for clause in clauses))
    ctes = list(clauses[0].expressions) if clauses else []
    _require(len({cte.alias for cte in ctes}) == len(ctes))
    renamed = {id(cte): f"part_{number}" for number, cte in enumerate(ctes, 1)}
    found = [(table, cte) for table in tree.find_all(exp.Table) if (cte := _cte_of(table, ctes)) is not None]
    for table, cte in found:
        _alias(table, table.name)
        table.set("this", exp.to_identifier(renamed[id(cte)], quoted=True))
        table.meta["cte"] = True
    for cte in ctes:
        cte.set("alias", exp.TableAlias(this=exp.to_identifier(renamed[id(cte)], quoted=True)))


def _cte_of(table: exp.Table, ctes: list[exp.CTE]) -> exp.CTE | None:
    """Return the CTE that a table's name means where it stands: one that is already defined there."""
    if table.args.get("db"):
        return None
    around = table.find_ancestor(exp.CTE)
    return next((cte for cte in _defined_before(around, ctes) if cte.alias == table.name), None)


def _defined_before(around: exp.Expr | None, ctes: list[exp.CTE]) -> list[exp.CTE]:
    return ctes if around is None else list(takewhile(lambda cte: cte is not around, ctes))


def _qualify(tree: exp.Query, tables: Tables) -> None:
    bases = [table for table in tree.find_all(exp.Table) if not table.meta.get("cte")]
    _require(len(bases) <= MOST_TABLES, Refusal.TOO_LONG)
    for table in bases:
        found = tables.find(table.db, table.name)
        if found is None:
            raise UnknownTable(f"{table.db}.{table.name}" if table.db else table.name)
        _alias(table, table.name)
        schema, name = found.split(".", 1)
        table.set("this", exp.to_identifier(name, quoted=True))
        table.set("db", exp.to_identifier(schema, quoted=True))


def _alias(table: exp.Table, name: str) -> None:
    if not table.alias:
        table.set("alias", exp.TableAlias(this=exp.to_identifier(name, quoted=True)))


def generated(tree: exp.Query, dialect: Dialect) -> str:
    """Return a checked tree as the SQL that is sent: every name quoted, no comments."""
    return sqlglot.Generator.generate(
        Grammar.get_or_raise(dialect.value).generator(identify=True, comments=False), tree
    )
