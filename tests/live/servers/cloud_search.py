"""A small interpreter of the search statements of CLS and SLS, over records in memory.

Documentation: https://cloud.tencent.com/document/product/614/47044 (CQL) and
https://help.aliyun.com/zh/sls/query-syntax. Kept are: words cut at separators, case ignored; `field:term`; quoted terms
with backslash escapes, which are a phrase in CQL and all of their words in SLS; `*` behind the beginning of a word;
AND, OR, NOT, parentheses; SQL behind the first pipe outside of quotes, run by DuckDB.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb

Record = Mapping[str, Any]
Test = Callable[[Record], bool]

_TOKEN = re.compile(r'\s*(?:(?P<quoted>"(?:[^"\\]|\\.)*")|(?P<mark>[():])|(?P<word>[^\s():"|]+))', re.DOTALL)
_AT_ONCE = 100
_WORDS = re.compile(r"""[^,\s'";=()\[\]{}?@&<>/:|#\\]+""")


class StatementError(Exception):
    """A statement that the language doesn't allow."""


def split(statement: str) -> tuple[str, str | None]:
    """Return the search condition and the SQL of a statement."""
    position = 0
    while position < len(statement):
        if statement[position] == '"':
            closing = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL).match(statement, position)
            if closing is None:
                raise StatementError("unclosed quote")
            position = closing.end()
        elif statement[position] == "|":
            return statement[:position].strip(), statement[position + 1 :].strip()
        else:
            position += 1
    return statement.strip(), None


@dataclass
class Language:
    """Reads conditions: `phrases` as CQL does, `most` conditions as SLS allows."""

    phrases: bool
    most: int | None = None

    def test_of(self, condition: str) -> Test:
        """Return what a condition asks of a record; raises StatementError."""
        parser = _Parser(condition, self.phrases)
        test = parser.parsed()
        if self.most is not None and parser.terms > self.most:
            raise StatementError("too many conditions")
        return test


class _Parser:
    def __init__(self, condition: str, phrases: bool) -> None:
        self._tokens = _tokens(condition)
        self._phrases = phrases
        self._at = 0
        self.terms = 0

    def parsed(self) -> Test:
        if not self._tokens:
            return lambda _: True
        test = self._either()
        if self._at != len(self._tokens):
            raise StatementError("something is left over")
        return test

    def _peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _next(self) -> str:
        token = self._peek()
        self._at += 1
        return token

    def _either(self) -> Test:
        tests = [self._both()]
        while self._peek().upper() == "OR":
            self._next()
            tests.append(self._both())
        return lambda record: any(test(record) for test in tests)

    def _both(self) -> Test:
        tests = [self._one()]
        while self._peek() and self._peek() != ")" and self._peek().upper() != "OR":
            if self._peek().upper() == "AND":
                self._next()
            tests.append(self._one())
        return lambda record: all(test(record) for test in tests)

    def _one(self) -> Test:
        token = self._next()
        if token.upper() == "NOT":
            refused = self._one()
            return lambda record: not refused(record)
        if token == "(":
            inner = self._either()
            if self._next() != ")":
                raise StatementError("unclosed parenthesis")
            return inner
        if token in {"", ")", ":"} or token.upper() in {"AND", "OR"}:
            raise StatementError("a term was expected")
        self.terms += 1
        if self._peek() == ":":
            self._next()
            return self._field(_literal(token)[0], self._next())
        return self._term(token, None)

    def _field(self, name: str, token: str) -> Test:
        if token in {"", ")", ":"}:
            raise StatementError("a value was expected")
        return self._term(token, name)

    def _term(self, token: str, name: str | None) -> Test:
        text, pattern = _literal(token)
        if pattern == "*":
            return lambda record: name is None or bool(record.get(name))
        wanted = [_pattern(word) for word in _WORDS.findall(pattern.casefold())]
        whole = self._phrases and token.startswith('"')

        def test(record: Record) -> bool:
            values = [str(value) for key, value in record.items() if name in (None, key) and not key.startswith("__")]
            lists = [_WORDS.findall(value.casefold()) for value in values]
            if whole:
                return any(_in_order(wanted, words) for words in lists)
            return all(any(one.fullmatch(word) for words in lists for word in words) for one in wanted)

        return test if wanted else lambda _: not text.strip()


def _tokens(condition: str) -> list[str]:
    tokens, position = [], 0
    while condition[position:].strip():
        match = _TOKEN.match(condition, position)
        if match is None:
            raise StatementError("unreadable")
        tokens.append(match["quoted"] or match["mark"] or match["word"])
        position = match.end()
    return tokens


def _literal(token: str) -> tuple[str, str]:
    """A term's plain text, and the text in which an escaped asterisk stands behind a mark."""
    body = token[1:-1] if token.startswith('"') else token
    plain = re.sub(r"\\(.)", r"\1", body, flags=re.DOTALL)
    marked = re.sub(r"\\(.)", lambda hit: f"\x01{hit[1]}" if hit[1] == "*" else hit[1], body, flags=re.DOTALL)
    return plain, marked


def _pattern(word: str) -> re.Pattern[str]:
    parts = re.split(r"(\x01\*|\*)", word)
    return re.compile("".join(".*" if part == "*" else re.escape(part.removeprefix("\x01")) for part in parts))


def _in_order(wanted: Sequence[re.Pattern[str]], words: Sequence[str]) -> bool:
    return any(
        all(one.fullmatch(words[at + number]) for number, one in enumerate(wanted))
        for at in range(len(words) - len(wanted) + 1)
    )


def analysed(sql: str, records: Sequence[Record], clock: str, columns: Sequence[str]) -> list[dict[str, Any]]:
    """Run SQL over records: `clock` is a number, the other `columns` are texts; raises StatementError."""
    if not re.search(r"\bFROM\b", sql):
        sql = re.sub(r"\s(?=WHERE\b|GROUP BY\b|ORDER BY\b|LIMIT\b)", " FROM log ", sql, count=1)
    with duckdb.connect(config={"enable_external_access": "false"}) as connection:
        connection.execute("SET integer_division = true")
        kinds = ", ".join([f'"{clock}" BIGINT', *(f'"{name}" VARCHAR' for name in columns)])
        connection.execute(f"CREATE TABLE log ({kinds})")
        row = f"({', '.join('?' for _ in range(1 + len(columns)))})"
        for at in range(0, len(records), _AT_ONCE):
            some = records[at : at + _AT_ONCE]
            values = [value for one in some for value in (one[clock], *(one.get(name) for name in columns))]
            connection.execute(f"INSERT INTO log VALUES {', '.join(row for _ in some)}", values)  # noqa: S608
        try:
            cursor = connection.execute(sql)
        except duckdb.Error as error:
            raise StatementError(str(error)) from None
        names = [column[0] for column in cursor.description or ()]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
