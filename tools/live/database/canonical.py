"""One spelling for equal statements. Only what is equal for every content of the tables is made equal.

| what | canonical form |
|---|---|
| case, quoting, blanks, comments, `<>`, words that add nothing (`AS`, `INNER`, `ASC`) | one |
| `30 > a`, `b = a` | `a < 30`, `a = b`: what reads a column first, then in order of spelling |
| operands of AND and OR, literals of `IN (…)` | sorted, each once; `1=1` gone |
| parentheses | only where they say something |
| `count(1)` | `count(*)` |
| `o.status` where the SELECT reads one table and holds no other | `status` |
| aliases of the outermost SELECT | gone; `ORDER BY alias` is the number of its column |
"""

from sqlglot import exp

from tools.live.database.admission import is_true
from tools.live.database.vocabulary import QUERIES

_MIRRORED: dict[type[exp.Expr], type[exp.Binary]] = {
    exp.EQ: exp.EQ,
    exp.NEQ: exp.NEQ,
    exp.NullSafeEQ: exp.NullSafeEQ,
    exp.NullSafeNEQ: exp.NullSafeNEQ,
    exp.GT: exp.LT,
    exp.LT: exp.GT,
    exp.GTE: exp.LTE,
    exp.LTE: exp.GTE,
}
_PLAIN = (exp.Column, exp.Literal, exp.Func, exp.Paren, exp.Null, exp.Boolean, exp.Cast)


def canonicalize(tree: exp.Query) -> None:
    """Bring a checked tree into its one spelling, in place; doing it twice changes nothing."""
    for select in list(tree.find_all(exp.Select)):
        _number_order(select)
        _drop_lone_qualifier(select)
    if isinstance(tree, exp.Select):
        _drop_aliases(tree)
    # The innermost first: what stands outside is sorted by what stands within.
    for node in reversed(list(tree.walk())):
        _simplify(node)
    for clause in list(tree.find_all(exp.Where, exp.Having)):
        if is_true(clause.this):
            clause.pop()


def _simplify(node: exp.Expr) -> None:
    if type(node) in _MIRRORED:
        _order_sides(node)
    elif isinstance(node, exp.And | exp.Or):
        if not (isinstance(node.parent, type(node)) and type(node.parent) is type(node)):
            _order_operands(node)
    elif isinstance(node, exp.Paren):
        if isinstance(node.this, _PLAIN) and not isinstance(node.this, exp.Connector):
            node.replace(node.this)
    elif isinstance(node, exp.In):
        _order_values(node)
    elif isinstance(node, exp.Count):
        if isinstance(node.this, exp.Literal):
            node.set("this", exp.Star())
    elif isinstance(node, exp.Join):
        _drop_idle_words(node)
    elif isinstance(node, exp.Ordered) and not node.args.get("desc"):
        node.set("desc", None)


def _spelled(node: exp.Expr) -> str:
    return node.sql(comments=False)


def _order_sides(node: exp.Expr) -> None:
    left, right = node.this, node.expression
    if _rank(left) > _rank(right):
        node.replace(_MIRRORED[type(node)](this=right.copy(), expression=left.copy()))


def _rank(side: exp.Expr) -> tuple[bool, str]:
    return side.find(exp.Column, exp.Count) is None, _spelled(side)


def _order_operands(node: exp.Expr) -> None:
    sort = type(node)
    operands = {_spelled(one): one for one in _operands(node, sort)}
    if sort is exp.And and len(operands) > 1:
        operands = {text: one for text, one in operands.items() if not is_true(one)} or operands
    ordered = [operands[text].copy() for text in sorted(operands)]
    joined = ordered[0]
    for operand in ordered[1:]:
        joined = sort(this=joined, expression=operand)
    node.replace(joined)


def _operands(node: exp.Expr, sort: type[exp.Expr]) -> list[exp.Expr]:
    if type(node) is sort:
        return [*_operands(node.this, sort), *_operands(node.expression, sort)]
    inner = node
    while isinstance(inner, exp.Paren):
        inner = inner.this
    if type(inner) is sort:
        return _operands(inner, sort)
    if isinstance(inner, exp.And | exp.Or):
        return [exp.Paren(this=inner)] if not isinstance(node, exp.Paren) else [node]
    return [inner]


def _order_values(node: exp.In) -> None:
    values = node.expressions
    if values and all(isinstance(value, exp.Literal) for value in values):
        once = {_spelled(value): value for value in values}
        node.set("expressions", [once[text] for text in sorted(once)])


def _drop_idle_words(node: exp.Join) -> None:
    if str(node.args.get("kind") or "").upper() in {"INNER", "OUTER"}:
        node.set("kind", None)


def _number_order(select: exp.Select) -> None:
    """`ORDER BY alias` means the output column of that name, in either dialect."""
    names = [one.alias_or_name if isinstance(one, exp.Alias) else "" for one in select.expressions]
    for ordered in _items(select, "order"):
        column = ordered.this
        if isinstance(column, exp.Column) and not column.table and names.count(column.name) == 1:
            column.replace(exp.Literal.number(names.index(column.name) + 1))


def _items(select: exp.Select, key: str) -> list[exp.Expr]:
    clause = select.args.get(key)
    return list(clause.expressions) if clause is not None else []


def _drop_aliases(select: exp.Select) -> None:
    """An alias that no clause uses changes nothing in an answer: its columns are named after what they read."""
    clauses = [select.args[key] for key in ("group", "having", "order") if select.args.get(key)]
    used = {column.name for clause in clauses for column in clause.find_all(exp.Column) if not column.table}
    for projection in select.expressions:
        if isinstance(projection, exp.Alias) and projection.alias not in used:
            projection.replace(projection.this)


def _drop_lone_qualifier(select: exp.Select) -> None:
    source = select.args["from_"].this
    nested = [query for query in select.find_all(*QUERIES) if query is not select]
    if select.args.get("joins") or not isinstance(source, exp.Table) or _is_nested_in_select(select):
        return
    if any(not _within_with(query, select) for query in nested):
        return
    for column in select.find_all(exp.Column):
        if column.table == source.alias and column.parent_select is select:
            column.set("table", None)
            if isinstance(column.this, exp.Star):
                column.replace(exp.Star())
    source.set("alias", exp.TableAlias(this=exp.to_identifier("t", quoted=True)))


def _is_nested_in_select(select: exp.Select) -> bool:
    """Whether it may read columns of a SELECT outside of it: it stands in one, and not as a table or a CTE."""
    node = select.parent
    while node is not None and not isinstance(node, exp.From | exp.Join | exp.CTE):
        if isinstance(node, exp.Select):
            return True
        node = node.parent
    return isinstance(node, exp.From | exp.Join) and node.find_ancestor(exp.Where, exp.Having) is not None


def _within_with(query: exp.Expr, select: exp.Select) -> bool:
    clause = query.find_ancestor(exp.With)
    return clause is not None and clause.parent is select
