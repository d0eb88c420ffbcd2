"""Contract, "EvidenceGuard": quotes stand in the evidence, and values and names in the quotes or one operation away."""

import pytest

from graph.contract.evidence import check_draft
from graph.contract.vocabulary import DraftViolationCode as Code
from graph.contract.vocabulary import EvidenceKind
from tests.graph.contract.evidence_samples import (
    DEPLOY,
    EDGE,
    FLAG,
    GATEWAY,
    GATEWAY_LOG,
    HIT_RATIO,
    LOG,
    POINTS,
    SERIES,
    ZONE,
    analysis,
    draft,
    record,
    records,
)

ALL = ["r1c1", "r1c2", "r1c3", "r1c4", "r1c6"]


def observe(text: str, *quotes: str) -> set[Code]:
    """What the guard holds against one observation with these quotes, which cites every call with evidence."""
    data = {"conclusion": None, "analyses": [analysis("a1", "OBSERVATION", text, ALL, list(quotes))]}
    return {item.code for item in check_draft(draft(data), records(), zone=ZONE)}


def infer(text: str, *calls: str) -> set[Code]:
    """What the guard holds against one inference."""
    data = {"conclusion": None, "analyses": [analysis("a1", "INFERENCE", text, list(calls or ALL))]}
    return {item.code for item in check_draft(draft(data), records(), zone=ZONE)}


@pytest.mark.parametrize(
    "quote",
    [
        SERIES,
        SERIES.replace(" ", "  \n\t"),
        SERIES.replace("=", "＝"),
        "series service=order-api metric=http_request_duration_p99_ms direction=UP baseline=212",
        "\n".join(DEPLOY),
        " ".join(line.strip() for line in LOG),
        "redis GET order:* timed out after 500ms",
        "change kind=DEPLOY id=7c1f0e9d2b",
    ],
)
def test_a_quote_is_found_whatever_its_whitespace_and_width(quote: str) -> None:
    assert Code.QUOTE_NOT_FOUND not in observe("延迟异常。", quote)


@pytest.mark.parametrize(
    "quote",
    [
        SERIES.replace("3840", "3841"),
        SERIES.replace("UP", "DOWN"),
        SERIES.replace("order-api", "order-apl"),
        SERIES[:-1] + "1",
        "extreme=384",
        "xtreme=3840",
        "3711",
        "service=order",
        "change kind=DEPLOY id=7c1f0e",
        f"{SERIES} {HIT_RATIO}",
        "UP",
        "",
        "…",
    ],
)
def test_an_altered_cut_or_empty_quote_is_not_found(quote: str) -> None:
    assert Code.QUOTE_NOT_FOUND in observe("延迟异常。", quote)


def test_an_observation_needs_a_quote() -> None:
    assert observe("延迟异常。") == {Code.QUOTE_MISSING}


@pytest.mark.parametrize(
    ("text", "quotes"),
    [
        ("order-api 的 p99 从 212 毫秒升到 3.84 秒。", [SERIES]),
        ("order-api 的 p99 在 14:01 达到峰值 3,840ms，最近为 3711.5 ms。", [SERIES]),
        ("cache_hit_ratio of order-api fell from 97% to 41%, from 05:46:30Z on.", [HIT_RATIO]),
        ("order-api 命中率由 0.97 降到 0.41。", [HIT_RATIO]),
        ("gateway 的 5xx 占比从 0.2% 涨到 34%（约 0.3）。", [GATEWAY]),
        ("gateway 日志：下游 order-api 返回 503。", [GATEWAY_LOG[0]]),
        ("order-api 在 13:48:12 记录 RedisCommandTimeoutException。", [LOG[1].strip()]),
        ("order-api 的连接数上限由 256 改为 16，版本 v2026.03.02-0544，提交 7c1f0e9。", ["\n".join(DEPLOY)]),
        ("pool.go 与 config/cache.yaml 在同一次部署中修改。", [DEPLOY[0]]),
        ("gateway 的开关 checkout_rail 于 12:10 开启。", [FLAG]),
        ("gateway 调用 order-api 48 次，失败 36 次，最长 4.12 s。", [EDGE[1]]),
        ("GET /orders 在 order-api 上最先失败。", [EDGE[0]]),
        ("p99 在 2026-03-02 13:47 已到 1,980 ms。", [POINTS]),
        ("order-api、gateway 这 2 个服务都出现异常。", [SERIES, GATEWAY]),
        ("Between 03:00Z and 06:15Z order-api had 180 samples and no gaps.", [SERIES]),
        ("order-api 的延迟上升，而 cache_hit_ratio 下降。", [SERIES, HIT_RATIO]),
        ("order-api p99 did not drop; it rose to 3840 ms.", [SERIES]),
    ],
)
def test_an_observation_that_its_quotes_hold_stands(text: str, quotes: list[str]) -> None:
    assert observe(text, *quotes) == set()


@pytest.mark.parametrize(
    ("text", "quotes"),
    [
        ("order-api 的 p99 从 212 毫秒升到 3.85 秒。", [SERIES]),
        ("order-api 的 p99 从 212 秒升到 3840 秒。", [SERIES]),
        ("order-api 的 p99 升到 384 ms。", [SERIES]),
        ("order-api 的 p99 升到 5.8 s。", [SERIES]),
        ("order-api 的 p95 升到 3840 ms。", [SERIES]),
        ("order-api 的 p99 在 14:02 达到 3840 ms。", [SERIES]),
        ("order-api 的 p99 在 14:01Z 达到 3840 ms。", [SERIES]),
        ("gateway 的 p99 升到 3840 ms。", [SERIES]),
        ("order-apl 的 p99 升到 3840 ms。", [SERIES]),
        ("payments-api 的 p99 升到 3840 ms。", [SERIES]),
        ("billingservice p99 rose to 3840 ms.", [SERIES]),
        ("cache_hit_rati0 of order-api fell to 41%.", [HIT_RATIO]),
        ("order-api 命中率降到 4.1%。", [HIT_RATIO]),
        ("gateway 日志：下游 order-api 返回 502。", [GATEWAY_LOG[0]]),
        ("order-api 抛出 NullPointerException。", [LOG[1].strip()]),
        ("order-api 的版本 v2026.03.02-0545 上线。", [DEPLOY[0]]),
        ("order-api 部署了 7c1f0e8。", [DEPLOY[0]]),
        ("extreme 为 3840 ms。", ["baseline=212"]),
        ("order-api 最高 3840 ms。", ["extreme=3840"]),
        ("order-api 与 gateway 都在变慢，gateway 到了 3840 ms。", [SERIES, GATEWAY]),
        ("order-api、gateway 这 3 个服务都出现异常。", [SERIES, GATEWAY]),
    ],
)
def test_an_observation_with_a_value_or_name_that_no_quote_holds_is_refused(text: str, quotes: list[str]) -> None:
    assert Code.VALUE_NOT_IN_QUOTE in observe(text, *quotes)


@pytest.mark.parametrize(
    ("text", "quotes"),
    [
        ("order-api 的 p99 下降到 3840 ms。", [SERIES]),
        ("order-api's cache_hit_ratio rose to 41%.", [HIT_RATIO]),
        ("order-api 的 http_request_duration_p99_ms 下降。", [SERIES, HIT_RATIO]),
        ("order-api 的 p99 保持平稳。", [SERIES]),
        ("order-api 的 p99 没有上升。", [SERIES]),
        ("p99 rose from 3840 ms to 212 ms.", [SERIES]),
        ("p99 从 3.84 秒升到 212 毫秒。", [SERIES]),
        ("开关 checkout_rail 于 12:10 关闭。", [FLAG]),
        ("order-api 13:47 部署了 7c1f0e9。", [DEPLOY[0], SERIES]),
        ("order-api 调用 gateway 48 次，失败 36 次。", [EDGE[1]]),
        ("14:01 的峰值早于 13:47 的异常。", [SERIES]),
        ("The 05:47Z onset was after the 06:01Z peak.", [SERIES]),
    ],
)
def test_an_observation_that_turns_its_quote_round_is_refused(text: str, quotes: list[str]) -> None:
    assert Code.VALUE_NOT_IN_QUOTE in observe(text, *quotes)


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ("order-api 的 p99 涨了约 18 倍。", ["r1c1"]),
        ("order-api p99 grew 18x, by 3628 ms.", ["r1c1"]),
        ("order-api p99 增加了 1711%。", ["r1c1"]),
        ("75% of the calls from gateway to order-api failed.", ["r1c6"]),
        ("异常在 7c1f0e9 部署后约 3 分钟开始。", ["r1c1", "r1c4"]),
        ("order-api left its baseline 2.5 minutes after 05:44:30Z.", ["r1c1", "r1c4"]),
        ("命中率下降了 56 个百分点，order-api 被 Redis 拖慢。", ["r1c1"]),
        ("gateway 与 order-api 合计失败 84 次。", ["r1c6"]),
        ("13:45 时 p99 还是 215.3 ms，order-api 尚未异常。", ["r1c1"]),
        ("redis-main 没有变更，所以 order-api 的超时来自连接池。", ["r1c2", "r1c5"]),
    ],
)
def test_an_inference_whose_numbers_are_cited_or_one_operation_away_stands(text: str, calls: list[str]) -> None:
    assert infer(text, *calls) == set()


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ("order-api 的 p99 涨了约 19 倍。", ["r1c1"]),
        ("order-api 的 p99 涨到 18 秒。", ["r1c1"]),
        ("25% of the calls from gateway to order-api failed.", ["r1c6"]),
        ("异常在 7c1f0e9 部署后约 9 分钟开始。", ["r1c1", "r1c4"]),
        ("13:45 时 p99 还是 215.4 ms。", ["r1c1"]),
        ("order-api 的 p99 是 3628 ms。", ["r1c1"]),
        ("order-api 的 p99 下降了。", ["r1c1"]),
        ("payment-api 拖慢了 order-api。", ["r1c1"]),
        ("redis-main 拖慢了 order-api。", ["r1c1"]),
        ("7c1f0e9 导致 order-api 变慢。", ["r1c1"]),
    ],
)
def test_an_inference_with_a_number_or_name_from_nowhere_is_refused(text: str, calls: list[str]) -> None:
    assert infer(text, *calls) == {Code.VALUE_NOT_DERIVED}


@pytest.mark.parametrize(("component", "stands"), [("order-api", True), ("gateway", False)])
def test_an_inference_that_quotes_speaks_of_the_components_that_it_quotes(component: str, stands: bool) -> None:
    item = analysis("a1", "INFERENCE", f"{component} 最先变慢。", ["r1c1"], [SERIES])

    found = check_draft(draft({"conclusion": None, "analyses": [item]}), records(), zone=ZONE)

    assert [violation.code for violation in found] == ([] if stands else [Code.VALUE_NOT_DERIVED])


def test_a_count_in_the_evidence_is_no_measured_value() -> None:
    assert observe("order-api 的基线是 0.00 ms。", SERIES) == {Code.VALUE_NOT_IN_QUOTE}
    assert observe("order-api 共 180 个样本，0 个缺口。", SERIES) == set()


SIGNATURE = (
    "signature service=order-api severity=ERROR status=NEW count=42 baseline_count=0 first_seen=2026-03-02T05:48:12Z "
    "last_seen=2026-03-02T06:05:00Z | redis GET timed out"
)


@pytest.mark.parametrize(
    "text",
    [
        "order-api 的 http_request_duration_p99_ms 从 -212 ms 升到 3840 ms。",
        "order-api p99 rose to −3840 ms.",
        "order-api latency: -3.84 s at worst.",
        "延迟为(-212 ms)。",
    ],
)
def test_a_minus_that_the_quote_lacks_is_refused(text: str) -> None:
    assert observe(text, SERIES) == {Code.VALUE_NOT_IN_QUOTE}


def test_a_hyphen_is_no_minus() -> None:
    assert observe("order-api latency, 212-3840 ms - 3840 at worst.", SERIES) == set()


def test_a_negative_number_stands_where_the_evidence_is_negative() -> None:
    series = SERIES.replace("baseline=212", "baseline=-212")
    data = {"conclusion": None, "analyses": [analysis("a1", "OBSERVATION", "基线 -212 ms。", ["r1c1"], [series])]}
    found = {"r1c1": record("r1c1", EvidenceKind.METRICS, (series,), components=("order-api",))}
    assert check_draft(draft(data), found, zone=ZONE) == ()


def test_what_is_derived_has_a_minus_only_as_a_share_or_of_a_fall() -> None:
    assert infer("cache_hit_ratio 的降幅为 -58%。", "r1c1") == set()
    assert infer("部署之后 -150 秒，order-api 的延迟上升。", "r1c1", "r1c4") == {Code.VALUE_NOT_DERIVED}


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        ("order-api 没有部署 7c1f0e9d2b。", DEPLOY[0]),
        ("At 05:44:30Z order-api was not deployed with 7c1f0e9.", DEPLOY[0]),
        ("7c1f0e9d2b 并未上线到 order-api。", DEPLOY[0]),
        ("最先失败的不是 gateway，order-api 并没有最先失败。", EDGE[0]),
        ("order-api did not fail first.", EDGE[0]),
    ],
)
def test_an_observation_that_denies_what_it_quotes_is_refused(text: str, quote: str) -> None:
    assert Code.VALUE_NOT_IN_QUOTE in observe(text, quote)


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ("order-api 没有出现新的错误。", True),
        ("order-api did not log 42 errors.", True),
        ("order-api 出现 42 条错误，此前没有。", False),
        ("order-api logged 42 errors; it had not logged any before.", False),
        ("order-api 新增 42 条错误，之后没有恢复。", False),
    ],
)
def test_an_error_that_was_seen_isnt_denied(text: str, refused: bool) -> None:
    data = {"conclusion": None, "analyses": [analysis("a1", "OBSERVATION", text, ["r1c2"], [SIGNATURE])]}
    found = {"r1c2": record("r1c2", EvidenceKind.LOGS, (SIGNATURE,), components=("order-api",))}
    assert bool(check_draft(draft(data), found, zone=ZONE)) is refused


@pytest.mark.parametrize("revision", ["5534717924", "299596854d"])
def test_a_revision_that_looks_like_one_is_no_number(revision: str) -> None:
    deploy = DEPLOY[0].replace("7c1f0e9d2b", revision)
    text = f"order-api 部署了 {revision}。"
    data = {"conclusion": None, "analyses": [analysis("a1", "OBSERVATION", text, ["r1c4"], [deploy])]}
    found = {"r1c4": record("r1c4", EvidenceKind.CHANGES, (deploy,), components=("order-api",))}
    assert check_draft(draft(data), found, zone=ZONE) == ()


def test_to_fall_behind_is_no_fall() -> None:
    assert observe("order-api falls behind: p99 at 3840 ms.", SERIES) == set()
    assert observe("order-api p99 falls to 3840 ms.", SERIES) == {Code.VALUE_NOT_IN_QUOTE}
