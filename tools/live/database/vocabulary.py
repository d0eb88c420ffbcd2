"""What a statement may be made of. Whatever isn't listed here is refused, so new syntax and new functions are refused
until somebody has looked at them.

Functions are listed, and so are all the other nodes of sqlglot's tree. A function is listed when its answer depends on
its arguments alone and is not much larger than they are: none reads a file, a setting, another table, a clock or a
lock, waits, writes, or joins texts together.
"""

from enum import StrEnum

from sqlglot import exp


class Dialect(StrEnum):
    """How a source's SQL is read and written. MariaDB speaks MYSQL."""

    POSTGRESQL = "postgres"
    MYSQL = "mysql"


class Refusal(StrEnum):
    """Why a statement isn't sent. Told to the model as a hint; fixed words, none of its own."""

    UNREADABLE_SQL = "UNREADABLE_SQL"
    TOO_LONG = "TOO_LONG"
    ONE_SELECT_ONLY = "ONE_SELECT_ONLY"
    SYNTAX_NOT_ALLOWED = "SYNTAX_NOT_ALLOWED"
    FUNCTION_NOT_ALLOWED = "FUNCTION_NOT_ALLOWED"
    TYPE_NOT_ALLOWED = "TYPE_NOT_ALLOWED"
    COLUMN_DENIED = "COLUMN_DENIED"
    LIMIT_MUST_BE_A_NUMBER = "LIMIT_MUST_BE_A_NUMBER"
    CONSTANT_CONDITION = "CONSTANT_CONDITION"
    ANSWER_NOT_FROM_A_TABLE = "ANSWER_NOT_FROM_A_TABLE"


QUERIES = (exp.Select, exp.Union, exp.Intersect, exp.Except)

STRUCTURE: dict[type[exp.Expr], frozenset[str]] = {
    exp.Select: frozenset(
        {"with_", "expressions", "distinct", "from_", "joins", "where", "group", "having", "order", "limit"}
    ),
    exp.Union: frozenset({"with_", "this", "expression", "distinct", "order", "limit"}),
    exp.Intersect: frozenset({"with_", "this", "expression", "distinct", "order", "limit"}),
    exp.Except: frozenset({"with_", "this", "expression", "distinct", "order", "limit"}),
    exp.Subquery: frozenset({"this", "alias"}),
    exp.With: frozenset({"expressions"}),
    exp.CTE: frozenset({"this", "alias"}),
    exp.From: frozenset({"this"}),
    exp.Join: frozenset({"this", "on", "using", "side", "kind"}),
    exp.Where: frozenset({"this"}),
    exp.Group: frozenset({"expressions"}),
    exp.Having: frozenset({"this"}),
    exp.Order: frozenset({"this", "expressions"}),
    exp.Ordered: frozenset({"this", "desc", "nulls_first"}),
    exp.Limit: frozenset({"expression"}),
    exp.Table: frozenset({"this", "db", "alias"}),
    exp.TableAlias: frozenset({"this"}),
    exp.Column: frozenset({"this", "table"}),
    exp.Identifier: frozenset({"this", "quoted"}),
    exp.Star: frozenset(),
    exp.Alias: frozenset({"this", "alias"}),
    exp.Distinct: frozenset({"expressions", "on"}),
    exp.Window: frozenset({"this", "partition_by", "order", "spec", "over"}),
    exp.WindowSpec: frozenset({"kind", "start", "start_side", "end", "end_side"}),
    exp.Cast: frozenset({"this", "to"}),
    exp.DataType: frozenset({"this", "expressions", "nested"}),
    exp.DataTypeParam: frozenset({"this"}),
    exp.In: frozenset({"this", "expressions", "query"}),
    exp.Exists: frozenset({"this"}),
    exp.Interval: frozenset({"this", "unit", "fraction_in_string"}),
    exp.Literal: frozenset({"this", "is_string"}),
    exp.Boolean: frozenset({"this"}),
    exp.Var: frozenset({"this"}),
}
"""Nodes whose every argument is listed; an argument that isn't (a hint, a lock, INTO, a partition) refuses them."""

PREDICATES = (
    exp.EQ,
    exp.NEQ,
    exp.GT,
    exp.GTE,
    exp.LT,
    exp.LTE,
    exp.NullSafeEQ,
    exp.NullSafeNEQ,
    exp.Is,
    exp.In,
    exp.Between,
    exp.Like,
    exp.ILike,
    exp.Escape,
)

_OPERATORS: frozenset[type[exp.Expr]] = frozenset(
    {
        *PREDICATES,
        exp.And,
        exp.Or,
        exp.Not,
        exp.Paren,
        exp.Null,
        exp.Add,
        exp.Sub,
        exp.Mul,
        exp.Div,
        exp.IntDiv,
        exp.Mod,
        exp.Neg,
        exp.Case,
        exp.If,
        exp.AtTimeZone,
        exp.Filter,
        exp.WithinGroup,
    }
)

CLOCKS: frozenset[type[exp.Expr]] = frozenset(
    {exp.CurrentTimestamp, exp.CurrentDate, exp.Localtimestamp, exp.UtcTimestamp, exp.UtcDate}
)
"""Functions of the clock; they become the incident's time before a statement is looked at further."""

_FUNCTIONS: frozenset[type[exp.Expr]] = frozenset(
    {
        exp.Count,
        exp.Sum,
        exp.Avg,
        exp.Min,
        exp.Max,
        exp.Stddev,
        exp.StddevPop,
        exp.StddevSamp,
        exp.Variance,
        exp.VariancePop,
        exp.LogicalOr,
        exp.LogicalAnd,
        exp.PercentileCont,
        exp.PercentileDisc,
        exp.Mode,
        exp.RowNumber,
        exp.Rank,
        exp.DenseRank,
        exp.Lag,
        exp.Lead,
        exp.FirstValue,
        exp.LastValue,
        exp.Abs,
        exp.Sign,
        exp.Round,
        exp.Ceil,
        exp.Floor,
        exp.Trunc,
        exp.Sqrt,
        exp.Coalesce,
        exp.Nullif,
        exp.Greatest,
        exp.Least,
        exp.Lower,
        exp.Upper,
        exp.Length,
        exp.Trim,
        exp.Substring,
        exp.Left,
        exp.Right,
        exp.StrPosition,
        exp.TimestampTrunc,
        exp.DateTrunc,
        exp.Extract,
        exp.TimestampDiff,
        exp.DateDiff,
        exp.DateAdd,
        exp.DateSub,
        exp.TimeToStr,
        exp.TsOrDsToTimestamp,
        exp.TsOrDsToDate,
        exp.UnixToTime,
        exp.Date,
        exp.Hour,
        exp.Minute,
        exp.Second,
        exp.Day,
        exp.Month,
        exp.Year,
        exp.DayOfWeek,
    }
)

_NODES = frozenset(STRUCTURE) | _OPERATORS | _FUNCTIONS | CLOCKS

NAMED_CLOCKS = {
    Dialect.POSTGRESQL: frozenset({"now", "clock_timestamp", "statement_timestamp", "transaction_timestamp"}),
    Dialect.MYSQL: frozenset({"now", "sysdate", "unix_timestamp", "localtimestamp"}),
}
"""Functions of the clock that sqlglot knows by their name only. Without arguments, or with a number of digits."""

_NAMED_FUNCTIONS: dict[Dialect, dict[str, range]] = {
    # By name, with how many arguments: `age` of one argument would look at the clock.
    Dialect.POSTGRESQL: {"age": range(2, 3)},
    Dialect.MYSQL: {
        "unix_timestamp": range(1, 2),
        "timediff": range(2, 3),
        "time_to_sec": range(1, 2),
        "to_seconds": range(1, 2),
        "truncate": range(2, 3),
    },
}

TYPES = frozenset(
    {
        exp.DType.BOOLEAN,
        exp.DType.SMALLINT,
        exp.DType.INT,
        exp.DType.BIGINT,
        exp.DType.UBIGINT,
        exp.DType.DECIMAL,
        exp.DType.FLOAT,
        exp.DType.DOUBLE,
        exp.DType.CHAR,
        exp.DType.VARCHAR,
        exp.DType.TEXT,
        exp.DType.DATE,
        exp.DType.TIME,
        exp.DType.DATETIME,
        exp.DType.TIMESTAMP,
        exp.DType.TIMESTAMPNTZ,
        exp.DType.TIMESTAMPTZ,
        exp.DType.INTERVAL,
    }
)
"""Types that a value may be cast to: none whose input function looks something up, as `regclass` does."""

TIME_TYPES = frozenset(
    {
        exp.DType.DATE,
        exp.DType.TIME,
        exp.DType.DATETIME,
        exp.DType.TIMESTAMP,
        exp.DType.TIMESTAMPNTZ,
        exp.DType.TIMESTAMPTZ,
    }
)

_UNITS = ("MICROSECOND", "MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR")
_SHORT_UNITS = ("SEC", "SECS", "MIN", "MINS", "HR", "HRS")
UNITS = frozenset({*_UNITS, *(unit + "S" for unit in _UNITS), "EPOCH", "DOW", "ISODOW", "DOY", *_SHORT_UNITS})


def is_listed(node: exp.Expr, dialect: Dialect) -> bool:
    """Whether this sort of node may stand in a statement; its arguments are looked at elsewhere."""
    if isinstance(node, exp.Anonymous):
        counts = _NAMED_FUNCTIONS[dialect].get(str(node.this).casefold())
        return counts is not None and len(node.expressions) in counts
    return type(node) in _NODES


def is_clock(node: exp.Expr, dialect: Dialect) -> bool:
    """Whether a node asks the clock: `now()`, `CURRENT_DATE`, `now(3)`; `unix_timestamp(created_at)` doesn't."""
    if type(node) in CLOCKS or (isinstance(node, exp.Localtime) and dialect is Dialect.MYSQL):
        return True
    if not isinstance(node, exp.Anonymous) or str(node.this).casefold() not in NAMED_CLOCKS[dialect]:
        return False
    digits = [one for one in node.expressions if isinstance(one, exp.Literal) and not one.is_string]
    return len(node.expressions) == len(digits) <= (0 if str(node.this).casefold() == "unix_timestamp" else 1)
