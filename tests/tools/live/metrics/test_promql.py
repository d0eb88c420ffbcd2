"""Equivalent spellings of PromQL are one query; different queries stay different."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.live.metrics.promql import canonical_query


def spelled(text: str) -> str:
    return canonical_query(text).text


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('{__name__="up"}', "up"),
        ('{"up"}', "up"),
        ("up{}", "up"),
        ("(((up)))", "up"),
        ("SUM BY (job) (up)", "sum(up) by (job)"),
        ("sum by (b, a, b) (up)", "sum by(a,b)(up)"),
        ("sum by () (up)", "sum(up)"),
        ('up{b="2",a="1",b="2",}', "up{a='1', b='2'}"),
        ('up{a=~"x"}', 'up{a="x"}'),
        ('up{a!~"x"}', 'up{a!="x"}'),
        ('up{a=~"y|x|y"}', 'up{a=~"x|y"}'),
        (r"up{a=~`\d+`}", r'up{a=~"\\d+"}'),
        ("rate(up[90s])", "rate(up[1m30s])"),
        ("rate(up[300])", "rate(up[5m])"),
        ("up offset 60s", "up offset 1m"),
        ("up offset 0s", "up"),
        ("up offset 5m @ 10", "up @ 10 offset 5m"),
        ("up + 0x10", "up + 16"),
        ("up * 1e3", "up * 1000"),
        ("up # why", "up"),
        ("1 < up", "up > 1"),
        ("1 + up", "up + 1"),
        ("0 == up", "up == 0"),
        ("a + b", "b + a"),
        ("a * on (x, y) b", "b * on (y, x) a"),
        ("a == bool b", "b == bool a"),
        ("a < bool ignoring (x) b", "b > bool ignoring (x) a"),
        ("a + ignoring () b", "a + b"),
        ("a + b + c", "c + (b + a)"),
        ("a * on (x) group_left (z, y) b", "b * on (x) group_right (y, z) a"),
        ("a + fill_left (1) b", "b + fill_right (1) a"),
        ("(a / b) * c", "c * (a / b)"),
        ("-(1)", "-1"),
        ('(sum(a{x="1",y="2"})) / (sum(b))', 'sum(a{y="2",x="1"}) / sum(b)'),
        ("max_over_time((up)[1h:60s])", "max_over_time(up[60m:1m])"),
    ],
)
def test_spellings_that_mean_the_same_are_one_query(one: str, other: str) -> None:
    assert spelled(one) == spelled(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a - b", "b - a"),
        ("a / b", "b / a"),
        ("a == b", "b == a"),
        ("a > b", "b < a"),
        ("a and b", "b and a"),
        ("a or b", "b or a"),
        ("a unless b", "b unless a"),
        ("a - (b - c)", "a - b - c"),
        ("a ^ (b ^ c)", "(a ^ b) ^ c"),
        ("-a ^ 2", "(-a) ^ 2"),
        ("--a", "a"),
        ("a + on (x) b", "a + b"),
        ("a + on () b", "a + b"),
        ("a * on (x) group_left (y) b", "a * on (x) group_right (y) b"),
        ("a > on (x) group_left (y) b", "b < on (x) group_right (y) a"),
        ("sum without () (a)", "sum(a)"),
        ("sum by (x) (a)", "sum without (x) (a)"),
        ('a{x="Y"}', 'a{x="y"}'),
        ('a{x=~"y.*"}', 'a{x="y.*"}'),
        ('a{x=~"y|"}', 'a{x="y"}'),
        ("a offset 5m", "a"),
        ("a @ 5", "a @ 6"),
        ("a @ start()", "a @ end()"),
        ("rate(a[5m])", "rate(a[4m])"),
        ("rate(a[5m])", "irate(a[5m])"),
        ("max_over_time((a offset 5m)[5m:])", "max_over_time(a[5m:] offset 5m)"),
        ("a > 1", "a > bool 1"),
        ("topk(3, a)", "topk(4, a)"),
    ],
)
def test_queries_that_mean_different_things_stay_different(one: str, other: str) -> None:
    assert spelled(one) != spelled(other)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "sum(",
        "up[5m]",
        '"text"',
        "rate(up)",
        "up @ -5",
        "nosuchfunction(up)",
        'up{a=~"("}',
        "errors of the shop",
        "up; drop",
        "(" * 30_000 + "up" + ")" * 30_000,
        "(" * 61 + "up" + ")" * 61,
        "-" * 3_900 + "up",
        "a-" * 1_900 + "a",
        "a" * 4_001,
        "\x00",
    ],
)
def test_what_is_no_query_is_refused_by_the_argument_name(text: str) -> None:
    with pytest.raises(ValueError, match=r"^query$") as caught:
        canonical_query(text)
    assert caught.value.args == ("query",)
    assert caught.value.__context__ is None


def test_names_that_mean_something_else_bare_keep_their_quotes() -> None:
    for name in ("inf", "NaN", "bool", "http.server.duration", "a b"):
        assert spelled(f'{{__name__="{name}"}}') == f'{{__name__="{name}"}}'


def test_what_a_query_reads_is_told_by_selector() -> None:
    query = canonical_query(
        'sum(rate(b_total{job="x",path!="/"}[5m] offset 1h)) / on () {__name__=~"a.*",job="y"} + up'
    )
    assert [(one.text, one.metric, one.exact) for one in query.selections] == [
        ('b_total{job="x",path!="/"}', "b_total", (("job", "x"),)),
        ("up", "up", ()),
        ('{__name__=~"a.*",job="y"}', "", (("job", "y"),)),
    ]
    assert not query.scalar
    assert canonical_query("1 + 2").scalar


def test_a_long_sum_is_read_and_a_longer_one_refused() -> None:
    assert spelled(" + ".join(["up"] * 200)).count("up") == 200
    with pytest.raises(ValueError, match="query"):
        canonical_query(" + ".join(["up"] * 202))
    many = ",".join(f'l{i}!="{i}"' for i in range(201))
    assert spelled(f"up{{{many}}}").count("!=") == 201


def test_deep_sums_are_written_in_no_time() -> None:
    text = "a"
    for _ in range(50):
        text = f"abs(b + {text})"
    assert spelled(spelled(text)) == spelled(text)


names = st.sampled_from(["a", "b", "up", "http_requests_total", "job:x:rate5m", "http.server", "inf"])
labels = st.sampled_from(["job", "le", "by", "b.c", "on"])
values = st.text(st.sampled_from('ab|.*"\\\n中`\x01é '), max_size=4)
durations = st.sampled_from(["90s", "1m30s", "5m", "1h", "300"])


def quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\x01", "\\x01")
    return f'"{escaped}"'


def _matcher(one: tuple[str, str, str]) -> str:
    return f"{quoted(one[0])}{one[1]}{quoted(one[2])}"


@st.composite
def selectors(draw: st.DrawFn) -> str:
    matchers = [f"{quoted('__name__')}={quoted(draw(names))}"]
    matchers += draw(st.lists(st.tuples(labels, st.sampled_from(["=", "!="]), values).map(_matcher), max_size=3))
    return "{" + ",".join(matchers) + "}"


def operations(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    matching = st.sampled_from(
        ["", "on (le) ", "ignoring (job, le) ", "on (job) group_left (le) ", "on () group_right () "]
    )
    op = st.sampled_from(["+", "-", "*", "/", "%", "^", "==", ">", "<=", "== bool", "< bool", "atan2"])
    return st.one_of(
        st.tuples(inner, op, matching, inner).map(lambda one: f"(({one[0]}) {one[1]} {one[2]}({one[3]}))"),
        st.tuples(inner, st.sampled_from(["and", "or", "unless"]), inner).map(
            lambda one: f"({one[0]} {one[1]} {one[2]})"
        ),
        st.tuples(inner, op.filter(lambda one: one != "atan2"), st.sampled_from(["1", "-2", "1e3", "time()"])).map(
            lambda one: f"({one[2]} {one[1]} ({one[0]}))"
        ),
        st.tuples(st.sampled_from(["sum", "max", "topk by (le) (2, ", "count_values"]), inner).map(_aggregated),
        st.tuples(inner, durations, st.sampled_from(["", " offset 5m", " @ 10.5", " @ end() offset -1h"])).map(
            lambda one: f"max_over_time(({one[0]})[{one[1]}:]{one[2]})"
        ),
        inner.map(lambda one: f"(-({one}))"),
        inner.map(lambda one: f"abs({one})"),
    )


def _aggregated(one: tuple[str, str]) -> str:
    name, inner = one
    if name.endswith(" "):
        return f"{name}{inner})"
    parameter = '"value", ' if name == "count_values" else ""
    return f"{name} by (job, le, job) ({parameter}{inner})"


vectors = st.one_of(
    selectors(),
    st.tuples(selectors(), durations).map(lambda one: f"rate({one[0]}[{one[1]}] offset {one[1]})"),
)
queries = st.recursive(vectors, operations, max_leaves=6)


@given(queries)
def test_the_one_spelling_is_a_fixed_point(text: str) -> None:
    first = canonical_query(text)
    assert canonical_query(first.text) == first


@given(queries, queries)
def test_sums_and_products_do_not_depend_on_the_order_of_their_operands(one: str, other: str) -> None:
    assert spelled(f"({one}) + ({other})") == spelled(f"(({other}) + ({one}))")
    assert spelled(f"({one}) * ignoring (x) ({other})") == spelled(f"({other}) * ignoring (x) ({one})")


@given(queries)
def test_parentheses_and_blanks_mean_nothing(text: str) -> None:
    assert spelled(f" ( ({text}) )  # and why") == spelled(text)


@given(st.permutations(['a="1"', 'b!="2"', 'c=~"x|y"', 'd!~"z.*"']), st.permutations(["a", "b", "c"]), queries)
def test_the_order_of_matchers_and_labels_means_nothing(matchers: list[str], grouped: list[str], other: str) -> None:
    shuffled = f"sum by ({','.join(grouped)}) (up{{{','.join(matchers)}}}) / ({other})"
    assert spelled(shuffled) == spelled(f'sum by (a,b,c) (up{{a="1",b!="2",c=~"y|x",d!~"z.*"}}) / ({other})')


@given(queries, queries)
def test_a_difference_is_not_its_reverse(one: str, other: str) -> None:
    forth, back = spelled(f"({one}) - ({other})"), spelled(f"({other}) - ({one})")
    assert (forth == back) == (spelled(one) == spelled(other))


@given(queries)
def test_another_window_or_another_function_is_another_query(text: str) -> None:
    asked = {
        spelled(f"{function}(({text})[{length}:])")
        for function in ("max_over_time", "min_over_time")
        for length in ("5m", "6m")
    }
    assert len(asked) == 4
