"""How an engineer would write a fact down, in Chinese and English, in three manners: exact, converted, short."""

from datetime import datetime
from zoneinfo import ZoneInfo

from evals.suites.report_mutation.story import Fact

MANNERS = (0, 1, 2)

_SERIES = {
    "zh": (
        "{service} 的 {metric} 从 {onset} 开始{moved}，由 {baseline} 变为 {extreme}。",
        "监控显示 {service} 的 {metric} 在 {onset} 之后{moved}，基线 {baseline}，最严重时 {extreme}。",
        "{service} 的 {metric} {moved}到 {extreme}（正常 {baseline}）。",
    ),
    "en": (
        "{metric} of {service} {moved} from {baseline} to {extreme}, beginning at {onset}.",
        "Since {onset} the {metric} on {service} {moved}: {baseline} normally, {extreme} at worst.",
        "{service} {metric} {moved} to {extreme} (baseline {baseline}).",
    ),
}
_MOVED = {("zh", "UP"): "上升", ("zh", "DOWN"): "下降", ("en", "UP"): "rose", ("en", "DOWN"): "fell"}
_CHANGE = {
    "zh": (
        "{service} 在 {at} 部署了 {id}。",
        "变更记录里，{id} 于 {at} 上线到 {service}。",
        "{id} 在 {at} 发布到 {service}，改动文件 {files}。",
    ),
    "en": (
        "{service} was deployed with {id} at {at}.",
        "The change records show {id} going out to {service} at {at}.",
        "{id} was released to {service} at {at}; it touched {files}.",
    ),
}
_SIGNATURE = {
    "zh": (
        "{service} 从 {first_seen} 起出现新的错误，共 {count} 条。",
        "{service} 的日志里有 {count} 条以前没有的 {severity}，首条在 {first_seen}。",
        "{service} 新增错误日志 {count} 条，此前 {baseline_count} 条。",
    ),
    "en": (
        "{service} logged {count} new {severity} records, the first at {first_seen}.",
        "A new error signature shows up on {service} from {first_seen} on, {count} times.",
        "{count} {severity} records on {service}; {baseline_count} before.",
    ),
}
_FIRST = {
    "zh": ("链路里最先失败的是 {service}，在 {at}。", "{service} 最先失败（{at}）。", "最早的失败发生在 {service}。"),
    "en": (
        "In the traces {service} failed first, at {at}.",
        "{service} is the first to fail ({at}).",
        "The earliest failure is in {service}.",
    ),
}
_EDGE = {
    "zh": (
        "{caller} 调用 {callee} {calls} 次，失败 {errors} 次。",
        "{caller} 到 {callee} 的 {calls} 次调用中有 {errors} 次出错，最慢 {max_ms} ms。",
        "{caller} 调用 {callee} 时出错 {errors} 次。",
    ),
    "en": (
        "{caller} called {callee} {calls} times, {errors} of them failed.",
        "Of {calls} calls from {caller} to {callee}, {errors} failed; the slowest took {max_ms} ms.",
        "{errors} calls from {caller} to {callee} failed.",
    ),
}
_DELAY = {
    "zh": (
        "{metric} 的异常在 {id} 上线 {delay}后出现，时间上吻合。",
        "{service} 部署 {id} 之后过了 {delay}，{metric} 开始异常。",
        "从 {id} 上线到 {metric} 异常相隔 {delay}。",
    ),
    "en": (
        "{metric} left its baseline {delay} after {id} went out, so the order fits.",
        "{delay} after {service} was deployed with {id}, {metric} turned abnormal.",
        "Between the deploy of {id} and the onset on {metric} lie {delay}.",
    ),
}
_NOTHING = {
    "zh": (
        "{start} 到 {end} 之间，{service} 没有{what}。",
        "在所查时间段内未发现 {service} 的{what}。",
        "{service} 没有{what}。",
    ),
    "en": (
        "Between {start} and {end} there is no {what} of {service}.",
        "No {what} of {service} was found in the window.",
        "{service} has no {what}.",
    ),
}
_WHAT = {
    ("zh", "logs"): "新增的日志特征",
    ("zh", "traces"): "链路记录",
    ("zh", "metrics"): "指标数据",
    ("zh", "changes"): "变更",
    ("en", "logs"): "new log signature",
    ("en", "traces"): "trace",
    ("en", "metrics"): "metric data",
    ("en", "changes"): "change",
}
_PHRASES = {
    "series": _SERIES,
    "change": _CHANGE,
    "signature": _SIGNATURE,
    "first_failing": _FIRST,
    "edge": _EDGE,
}


def state(fact: Fact, locale: str, manner: int, zone: str) -> str:
    """Return a sentence that states a fact."""
    values = {name: _spelled(name, fact, manner, zone) for name in fact.fields}
    moved = _MOVED.get((locale, fact["direction"]), "")
    return _PHRASES[fact.sort][locale][manner].format(**values, moved=moved)


def delay(change: Fact, series: Fact, locale: str, manner: int) -> str:
    """Return a sentence that says how long after a change a series left its baseline."""
    seconds = int((moment(series["onset"]) - moment(change["at"])).total_seconds())
    spelled = _seconds(seconds, locale) if manner else f"{seconds} {'秒' if locale == 'zh' else 'seconds'}"
    names = {"metric": series["metric"], "id": change["id"], "service": change["service"]}
    return _DELAY[locale][manner].format(**names, delay=spelled)


def deny(scope: dict[str, str], kind: str, locale: str, manner: int) -> str:
    """Return a sentence that says what a scope doesn't hold."""
    return _NOTHING[locale][manner].format(**scope, what=_WHAT[locale, kind])


def moment(text: str) -> datetime:
    """Return the time of a field."""
    return datetime.fromisoformat(text)


def clock(text: str, zone: str) -> str:
    """Return a field's time on the incident's clock: hours and minutes, seconds where there are any."""
    local = moment(text).astimezone(ZoneInfo(zone))
    return local.strftime("%H:%M:%S" if local.second else "%H:%M")


def _seconds(seconds: int, locale: str) -> str:
    minutes, rest = divmod(seconds, 60)
    if locale == "zh":
        return f"{minutes} 分 {rest} 秒" if rest and minutes else f"{minutes} 分钟" if minutes else f"{rest} 秒"
    return f"{minutes}m{rest}s" if rest and minutes else f"{minutes} minutes" if minutes else f"{rest} seconds"


def _spelled(name: str, fact: Fact, manner: int, zone: str) -> str:
    value = fact[name]
    if name in ("onset", "at", "first_seen"):
        return clock(value, zone) if manner == 1 else value
    if name == "id" and manner == 1 and len(value) == 40:
        return value[:10]
    if name in ("baseline", "extreme"):
        return _amount(value, fact["metric"], manner)
    return value


def _amount(value: str, metric: str, manner: int) -> str:
    """Manner 1 converts: milliseconds into seconds, ratios into percent, bytes into megabytes."""
    number = float(value)
    if manner == 1 and metric.endswith("_ms") and number >= 1000:
        return f"{number / 1000:.4g} s"
    if metric.endswith("_ms"):
        return f"{value} ms"
    if manner == 1 and metric.endswith("_ratio"):
        return f"{number * 100:.6g}%"
    if manner == 1 and metric.endswith("_bytes"):
        return f"{number / 1e6:.5g} MB"
    return value
