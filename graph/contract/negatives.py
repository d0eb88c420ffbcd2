"""Whether an absence was really looked for (contract, "EvidenceGuard": only NO_EVIDENCE calls, not truncated, whose
scope covers what the text denies: entity and window)."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from zoneinfo import ZoneInfo

from graph.contract.draft import Analysis
from graph.contract.folding import fold
from graph.contract.moments import Moment
from graph.contract.names import NameSet, NameSort, words_in
from graph.contract.reading import Name, Reading, Sentence, has_evidence
from graph.contract.records import VerifiedRecord
from graph.contract.units import Dimension
from graph.contract.values import Number
from graph.contract.violations import DraftViolation, violation, violations_of
from graph.contract.vocabulary import DraftViolationCode as Code

_RESTRICTIONS = {
    "severity": {
        "ERROR": r"error|错误|报错|异常|失败|fail",
        "WARN": r"warn|警告|告警",
        "FATAL": r"fatal|致命|崩溃|crash",
        "INFO": r"info|信息",
        "DEBUG": r"debug|调试",
    },
    "change_kind": {
        "COMMIT": r"commit|提交|代码",
        "DEPLOY": r"deploy|rollout|release|部署|发布|上线",
        "FLAG": r"flag|toggle|开关|特性|灰度",
    },
}
"""How a sentence says the kind that a query was restricted to; without it, it denies more than was looked for."""
_HALF = Decimal("0.5")


def negative_calls(reading: Reading, analysis: Analysis, path: str) -> Iterator[DraftViolation]:
    """A NEGATIVE_OBSERVATION cites only calls that found nothing, and whose answers were complete."""
    for number, call_id in enumerate(analysis.tool_call_ids):
        record = reading.records.get(call_id)
        if record is not None and has_evidence(record):
            yield violation(Code.EVIDENCE_CITED_AS_NEGATIVE, f"{path}.tool_call_ids[{number}]", call_id)
        elif record is not None and record.evidence.truncated:
            yield violation(Code.NEGATIVE_SCOPE_NOT_COVERED, f"{path}.tool_call_ids[{number}]", call_id)


def negative_scope(reading: Reading, analysis: Analysis, path: str) -> Iterator[DraftViolation]:
    """The cited scopes cover what the text denies: its entities and its times."""
    records = reading.cited(analysis)
    if not records or any(map(has_evidence, records)):
        return
    sentence = reading.sentence(analysis.text)
    missing = {name.text for name in sentence.names if not _entity_covered(reading, name, records)}
    missing.update(_unnamed_restrictions(sentence, records))
    for token in sentence.values:
        if not any(_value_covered(token, record, reading.zone) for record in records):
            missing.add(sentence.text[token.start : token.end])
    yield from violations_of(Code.NEGATIVE_SCOPE_NOT_COVERED, f"{path}.text", missing)


def _entity_covered(reading: Reading, name: Name, records: tuple[VerifiedRecord, ...]) -> bool:
    low = name.text.casefold()
    if ":" in low:
        # A time that doesn't exist.
        return False
    if any(_asked_of(low, record) for record in records):
        return True
    if low in reading.vocabulary.metrics:
        return all(record.scope.get("metric") is None for record in records)
    if name.sort is not NameSort.COMPONENT:
        # A thing that isn't there has a name that stands nowhere: denied by a question that left it open.
        return any(_left_open(record, "contains", "operation", "change_id", "query") for record in records)
    known = low in reading.vocabulary.components
    return known and any(_left_open(record, "service", "change_id", "query") for record in records)


def _asked_of(low: str, record: VerifiedRecord) -> bool:
    values = [fold(value).casefold() for value in record.scope.values() if isinstance(value, str)]
    components = [fold(component).casefold() for component in record.evidence.components]
    return low in (*values, *components) or NameSet(word for value in values for word in words_in(value)).holds(low)


def _left_open(record: VerifiedRecord, *keys: str) -> bool:
    return all(record.scope.get(key) is None for key in keys)


def _unnamed_restrictions(sentence: Sentence, records: tuple[VerifiedRecord, ...]) -> Iterator[str]:
    low = sentence.text.casefold()
    for record in records:
        for key, words in _RESTRICTIONS.items():
            value = record.scope.get(key)
            if isinstance(value, str) and not re.search(words.get(value.upper(), re.escape(value)), low, re.IGNORECASE):
                yield f"{key}={value}"
        service = record.scope.get("service")
        if isinstance(service, str) and fold(service).casefold() not in low:
            yield f"service={service}"
        contains = record.scope.get("contains")
        if isinstance(contains, str) and not _mentions(low, fold(contains).casefold()):
            yield "contains"


def _mentions(low: str, contains: str) -> bool:
    words = [word for word in re.split(r"[^\w.-]+", contains) if len(word) > 2]
    return contains in low or any(word in low for word in words)


def _value_covered(token: object, record: VerifiedRecord, zone: str) -> bool:
    window = _window(record)
    if isinstance(token, Moment):
        return window is None or _in_window(token, window, zone)
    if isinstance(token, Number) and token.unit is not None and token.unit.dimension is Dimension.TIME:
        seconds = token.face * token.unit.scales[0]
        rounding = token.quantum * token.unit.scales[0] * _HALF
        return window is None or seconds <= Decimal(str((window[1] - window[0]).total_seconds())) + rounding
    return True


def _window(record: VerifiedRecord) -> tuple[datetime, datetime] | None:
    start, end = record.scope.get("start"), record.scope.get("end")
    if not isinstance(start, str) or not isinstance(end, str):
        return None
    try:
        bounds = datetime.fromisoformat(start), datetime.fromisoformat(end)
    except ValueError:
        return None
    aware = [bound if bound.tzinfo else bound.replace(tzinfo=UTC) for bound in bounds]
    return aware[0], aware[1]


def _in_window(moment: Moment, window: tuple[datetime, datetime], zone: str) -> bool:
    return any(window[0] <= at <= window[1] for at in _readings(moment, window, zone))


def _readings(moment: Moment, window: tuple[datetime, datetime], zone: str) -> Iterator[datetime]:
    """Give the times that a moment can mean: a time without a date is on a day of the window, one without a zone in
    the incident's or in UTC."""
    named = moment.aware()
    if named is not None:
        yield named
        return
    for tz in (ZoneInfo(zone), UTC):
        for bound in window:
            local = bound.astimezone(tz)
            if moment.hour is None:
                if (moment.month or local.month, moment.day or local.day) == (local.month, local.day):
                    yield bound
                continue
            at = _placed(moment, local)
            if at is not None:
                yield at


def _placed(moment: Moment, local: datetime) -> datetime | None:
    try:
        at = local.replace(
            year=moment.year or local.year,
            month=moment.month or local.month,
            day=moment.day or local.day,
            hour=moment.hour or 0,
            minute=moment.minute or 0,
            second=moment.second or 0,
            microsecond=0,
        )
    except ValueError:
        return None
    return at if moment.offset is None else at.replace(tzinfo=timezone(timedelta(minutes=moment.offset)))
