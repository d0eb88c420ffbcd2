"""LogQL, as much of it as the Loki server of the tests understands; what it doesn't is a parse error, as in Loki.

Documentation: https://grafana.com/docs/loki/latest/query/log_queries/ and …/query/metric_queries/. Kept are: stream
selectors with the four operators (patterns match whole values), line filters (patterns match anywhere), `| regexp`,
label filters with `and`, `or`, commas and brackets, and `sum by (…) (count_over_time(… [range]))`.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

Labels = Mapping[str, str]
Stage = Callable[[str, dict[str, str]], bool]
"""Whether a line with these labels stays; a parser adds labels."""

_TOKEN = re.compile(
    r"""\s*(?:(?P<string>"(?:[^"\\\n]|\\.)*"|`[^`]*`)|(?P<range>\[(?:\d+(?:ns|us|ms|s|m|h|d|w))+\])
        |(?P<word>[A-Za-z_][A-Za-z0-9_]*)|(?P<sign>\|=|\|~|!=|!~|=~|==|[={}(),|]))""",
    re.VERBOSE,
)
_UNITS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9, "d": 86400 * 10**9}
_EMPTY = "queries require at least one regexp or equality matcher that does not have an empty-compatible value"


class Refused(Exception):
    """What Loki answers with 400 and this text."""


@dataclass(frozen=True)
class Query:
    """A query: which streams, which lines; where it counts, over how many nanoseconds and by which labels."""

    streams: Callable[[Labels], bool]
    stages: tuple[Stage, ...]
    span: int | None = None
    by: tuple[str, ...] = ()

    def passes(self, line: str, labels: Labels) -> dict[str, str] | None:
        """Return a line's labels after all stages, or None where one drops it."""
        own = dict(labels)
        return own if all(stage(line, own) for stage in self.stages) else None


def parsed(text: str) -> Query:
    """Return a query; raises Refused."""
    return _Parser(text).query()


class _Parser:
    def __init__(self, text: str) -> None:
        self._tokens = list(_tokens(text))
        self._at = 0

    def query(self) -> Query:
        if self._peek() != ("word", "sum"):
            found = self._log()
            self._end()
            return found
        self._take("word", "sum")
        self._take("word", "by")
        self._take("sign", "(")
        names = [self._take("word")]
        while self._have("sign", ","):
            names.append(self._take("word"))
        for kind, value in (("sign", ")"), ("sign", "("), ("word", "count_over_time"), ("sign", "(")):
            self._take(kind, value)
        log = self._log()
        span = _nanoseconds(self._take("range"))
        self._take("sign", ")")
        self._take("sign", ")")
        self._end()
        return Query(log.streams, log.stages, span, tuple(names))

    def _log(self) -> Query:
        self._take("sign", "{")
        matchers = []
        sure = False
        while self._peek() != ("sign", "}"):
            name = self._take("word")
            operator = self._take("sign")
            value = _unquoted(self._take("string"))
            test = _test(operator, value, whole=True)
            sure = sure or (operator in {"=", "=~"} and not test(""))
            matchers.append((name, test))
            if not self._have("sign", ","):
                break
        self._take("sign", "}")
        if not sure:
            raise Refused(f"parse error : {_EMPTY}")
        stages = []
        while (stage := self._stage()) is not None:
            stages.append(stage)
        return Query(lambda labels: all(test(labels.get(name, "")) for name, test in matchers), tuple(stages))

    def _stage(self) -> Stage | None:
        kind, value = self._peek()
        if kind == "sign" and value in {"|=", "!=", "|~", "!~"}:
            self._at += 1
            test = _test(
                value.replace("|=", "in").replace("!=", "not in"), _unquoted(self._take("string")), whole=False
            )
            return lambda line, labels: test(line)
        if not self._have("sign", "|"):
            return None
        if self._have("word", "regexp"):
            pattern = _pattern(_unquoted(self._take("string")))
            return lambda line, labels: _extract(pattern, line, labels)
        condition = self._either()
        return lambda line, labels: condition(labels)

    def _either(self) -> Callable[[Labels], bool]:
        options = [self._both()]
        while self._have("word", "or"):
            options.append(self._both())
        return lambda labels: any(option(labels) for option in options)

    def _both(self) -> Callable[[Labels], bool]:
        parts = [self._one()]
        while self._have("word", "and") or self._have("sign", ","):
            parts.append(self._one())
        return lambda labels: all(part(labels) for part in parts)

    def _one(self) -> Callable[[Labels], bool]:
        if self._have("sign", "("):
            inner = self._either()
            self._take("sign", ")")
            return inner
        name, operator = self._take("word"), self._take("sign")
        test = _test(operator, _unquoted(self._take("string")), whole=True)
        return lambda labels: test(labels.get(name, ""))

    def _peek(self) -> tuple[str, str]:
        return self._tokens[self._at] if self._at < len(self._tokens) else ("end", "")

    def _have(self, kind: str, value: str) -> bool:
        found = self._peek() == (kind, value)
        self._at += found
        return found

    def _take(self, kind: str, value: str | None = None) -> str:
        found, text = self._peek()
        if found != kind or (value is not None and text != value):
            raise Refused(f"parse error at line 1, col {self._at}: syntax error: unexpected {found.upper()}")
        self._at += 1
        return text

    def _end(self) -> None:
        if self._at < len(self._tokens):
            raise Refused(f"parse error at line 1, col {self._at}: syntax error: unexpected {self._peek()[0].upper()}")


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    position = 0
    while text[position:].strip():
        found = _TOKEN.match(text, position)
        if found is None:
            raise Refused(f"parse error at line 1, col {position}: syntax error: unexpected character")
        yield str(found.lastgroup), found[str(found.lastgroup)]
        position = found.end()


def _unquoted(literal: str) -> str:
    if literal[0] == "`":
        return literal[1:-1]
    try:
        return str(json.loads(literal))
    except ValueError:
        raise Refused("parse error: invalid char escape") from None


def _test(operator: str, value: str, *, whole: bool) -> Callable[[str], bool]:
    if operator in {"=", "=="}:
        return lambda text: text == value
    if operator == "!=":
        return lambda text: text != value
    if operator == "in":
        return lambda text: value in text
    if operator == "not in":
        return lambda text: value not in text
    pattern = _pattern(value)
    find = pattern.fullmatch if whole else pattern.search
    if operator in {"=~", "|~"}:
        return lambda text: find(text) is not None
    if operator == "!~":
        return lambda text: find(text) is None
    raise Refused(f"parse error: unexpected {operator}")


def _pattern(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error:
        raise Refused("parse error: error parsing regexp") from None


def _extract(pattern: re.Pattern[str], line: str, labels: dict[str, str]) -> bool:
    found = pattern.search(line)
    if found is not None:
        labels.update({key: value for key, value in found.groupdict().items() if value})
    return True


def _nanoseconds(span: str) -> int:
    return sum(int(number) * _UNITS[unit] for number, unit in re.findall(r"(\d+)(ns|us|ms|s|m|h|d)", span))
