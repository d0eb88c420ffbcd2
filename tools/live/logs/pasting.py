"""Queries of logs that a person pastes: whose, how grave and when, in few words.

Sources: Grafana Loki, "logcli" (`--addr`, `--from`, `--to`); Elasticsearch and OpenSearch, "URI search" (`q`, Lucene's
query syntax); Tencent Cloud CLS, SearchLog, by `tccli`; Alibaba Cloud SLS, `aliyunlog`, whose options are the SDK's.
"""

import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import replace

from tools.canonical import iso_utc
from tools.live.logs.es_fields import Fields
from tools.live.logs.logql import quoted, selector
from tools.live.logs.records import SEVERITIES, SPELLINGS
from tools.live.logs.source import LogQuestion
from tools.live.pasting import any_case, beginning, whole

GRAVE = frozenset({"FATAL", "ERROR", "WARN"})
"""What a person looks for first."""
_BEGINNINGS = {
    "FATAL": "fatal|crit.*",
    "ERROR": "err.*",
    "WARN": "warn.*",
    "INFO": "info.*|notice",
    "DEBUG": "debug",
    "TRACE": "trace",
}
_FIELD_SPECIAL = re.compile(r"([^\w.@-])")


def spellings_of(severities: Iterable[str] | None) -> list[str]:
    """Return the two most usual spellings of each severity; none where a record may have none."""
    asked = _asked(severities)
    return [spelling for one in asked for spelling in SPELLINGS[one][:2]]


def loki_command(question: LogQuestion, matchers: str, label: str, levels: Sequence[str]) -> str:
    """Return a command of logcli. `matchers`: those of every question; `label`: the one that names the service;
    `levels`: the labels that may name the severity, any of which does; none where the lines alone do."""
    pattern = "|".join(_BEGINNINGS[one] for one in _asked(question.severities))
    labelled = " or ".join(f"{level}=~{quoted(f'(?i){pattern}')}" for level in levels)
    in_lines = "|~ " + quoted(rf"(?i)\b({pattern.replace('.*', '')})")
    graves = "" if not pattern else f"| {labelled}" if levels else in_lines
    stages = [f"|~ {quoted(any_case(text))}" for text in _texts(question)] or [""]
    return whole(
        f'logcli query --addr="$LOKI_URL" --from={iso_utc(question.start)} --to={iso_utc(question.end)} '
        + shlex.quote(" ".join(part for part in (_streams(base, label, question), stage, level) if part))
        for base in (matchers, "")
        for level in (graves, graves.partition(" or ")[0])
        for stage in stages
    )


def elasticsearch_command(question: LogQuestion, index: str, names: Fields | None, spelled: str | None) -> str:
    """Return a command of curl. `index`: the pattern as it stands in a path; `names`: the fields, None where they
    aren't known yet; `spelled`: the service's own name, None where it isn't known."""
    service, level = (names.service, names.level) if names else (None, None)
    time = names.time if names else "@timestamp"
    conditions = [f"{_field(time)}:[{iso_utc(question.start)} TO {iso_utc(question.end)}}}"]
    if question.services:
        named = _phrase(spelled or question.services[0])
        conditions.append(f"{_field(service.name)}:{named}" if service else named)
    if pattern := "|".join(_BEGINNINGS[one] for one in _asked(question.severities)):
        cased = f"/({pattern}|{pattern.upper()})/"
        conditions += [f"{_field(level.name)}:{cased}" if level else cased] if not (level and level.number) else []
    return whole(
        f'curl -sG "$ELASTICSEARCH_URL/{index}/_search" --data-urlencode '
        + shlex.quote(f"q={' AND '.join([*conditions, *([_phrase(text)] if text else [])])}")
        for text in _texts(question) or [""]
    )


def narrowed(question: LogQuestion) -> Iterable[LogQuestion]:
    """Yield a question, and the same for less and less of its text."""
    yield question
    yield from (replace(question, contains=text or None) for text in _texts(question)[1:])


def _asked(severities: Iterable[str] | None) -> list[str]:
    asked = set(severities or ())
    return [one for one in SEVERITIES if one in asked] if asked <= set(SEVERITIES) else []


def _texts(question: LogQuestion) -> list[str]:
    """The text that is searched, its beginning, and nothing."""
    return list(dict.fromkeys((question.contains, beginning(question.contains), ""))) if question.contains else []


def _streams(matchers: str, label: str, question: LogQuestion) -> str:
    if not question.services:
        return selector(matchers, label, ())
    return (
        "{" + ", ".join(part for part in (matchers, f"{label}=~{quoted(any_case(question.services[0]))}") if part) + "}"
    )


def _field(name: str) -> str:
    return _FIELD_SPECIAL.sub(r"\\\1", name)


def _phrase(text: str) -> str:
    """A phrase of Lucene's query syntax."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
