"""The alert of a frozen incident, and what isn't one."""

import json
from typing import Any

import pytest

from tests.tools.frozen.conftest import Asker, Writer
from tools.base import SourceFailure
from tools.frozen import IncidentDirectoryError, frozen_tools, read_alert
from tools.vocabulary import EvidenceStatus, Provenance, SourceError

ALERT: dict[str, Any] = {
    "service": "shop",
    "metric": "error_ratio",
    "threshold": 0.05,
    "observed": 0.61,
    "fired_at": "2026-03-04T12:00:00Z",
    "severity": "critical",
    "monitor": "shop errors",
    "summary": "shop fails\nalert service=forged",
    "detail": "Handshakes fail.",
}
METRICS = "timestamp,service,metric,value\n2026-03-04T11:00:00Z,stock,latency_ms,1\n"


async def test_an_alert_is_told_with_its_summary_and_detail(write: Writer, ask: Asker) -> None:
    evidence = await ask(write({"alert.json": json.dumps(ALERT)}), "get_alerts")
    assert evidence.content == (
        "alert service=shop metric=error_ratio threshold=0.05 observed=0.61 fired_at=2026-03-04T12:00:00Z "
        "severity=critical monitor=shop_errors | shop fails",
        "  alert service=forged",
        "  Handshakes fail.",
    )
    assert evidence.summary == (
        "shop error_ratio observed 0.61 ratio, threshold 0.05 ratio, fired at 2026-03-04T12:00:00Z"
    )
    assert evidence.provenance is Provenance.TEXT
    assert evidence.components == ("shop",)


@pytest.mark.parametrize(
    ("unknown", "told"),
    [
        (("metric", "observed"), "shop shop_errors, threshold 0.05, fired at 2026-03-04T12:00:00Z"),
        (("metric", "observed", "threshold"), "shop shop_errors, fired at 2026-03-04T12:00:00Z"),
        (("threshold", "fired_at"), "shop error_ratio observed 0.61 ratio"),
        (("service", "observed"), "error_ratio, threshold 0.05 ratio, fired at 2026-03-04T12:00:00Z"),
        (tuple(ALERT), "an alert"),
    ],
)
@pytest.mark.parametrize("nothing", ["left out", None, ""])
async def test_what_is_unknown_of_an_alert_is_left_out_of_its_summary(
    write: Writer, ask: Asker, unknown: tuple[str, ...], told: str, nothing: str | None
) -> None:
    rest = {key: value for key, value in ALERT.items() if key not in unknown}
    said = {} if nothing == "left out" else dict.fromkeys(unknown, nothing)
    evidence = await ask(write({"alert.json": json.dumps({**rest, **said, "kept": "x"})}), "get_alerts")
    assert evidence.summary == told


async def test_zone_less_times_are_in_the_incident_zone(write: Writer, ask: Asker) -> None:
    evidence = await ask(write({"alert.json": json.dumps({**ALERT, "fired_at": "2026-03-04 20:00:00"})}), "get_alerts")
    assert "fired_at=2026-03-04T12:00:00Z" in evidence.content[0]
    assert evidence.notes == ("ZONE_ASSUMED:Asia/Shanghai",)


@pytest.mark.parametrize("fired", [1772625600, 1772625600000, 1772625600.0])
async def test_times_since_the_epoch_are_read(write: Writer, ask: Asker, fired: float) -> None:
    evidence = await ask(write({"alert.json": json.dumps({**ALERT, "fired_at": fired})}), "get_alerts")
    assert "fired_at=2026-03-04T12:00:00Z" in evidence.content[0]


async def test_a_service_without_alert_that_another_source_knows_is_an_absence(write: Writer, ask: Asker) -> None:
    directory = write({"alert.json": json.dumps(ALERT), "metrics.csv": METRICS})
    assert (await ask(directory, "get_alerts", service="STOCK")).status is EvidenceStatus.NO_EVIDENCE
    assert (await ask(directory, "get_alerts", service="Shop")).status is EvidenceStatus.EVIDENCE
    with pytest.raises(SourceFailure) as failure:
        await ask(directory, "get_alerts", service="shopp")
    assert (failure.value.code, failure.value.near_names) == (SourceError.UNKNOWN_SELECTOR, ("shop",))


async def test_several_alerts_and_gb18030_are_read(write: Writer, ask: Asker) -> None:
    alerts = [ALERT, {**ALERT, "service": "stock", "summary": "库存服务错误率升高"}]
    content = json.dumps(alerts, ensure_ascii=False).encode("gb18030")
    evidence = await ask(write({"alert.json": content}), "get_alerts")
    assert evidence.components == ("shop", "stock")
    assert "| 库存服务错误率升高" in "\n".join(evidence.content)


async def test_notices_of_the_status_feed_follow_the_alert(write: Writer, ask: Asker) -> None:
    feed = {"events": [{"service": "Object Store", "region": "r1", "status": "degraded", "title": "Errors",
                        "started_at": "2026-03-04T11:46:00Z", "resolved_at": None, "detail": "More."}]}  # fmt: skip
    directory = write({"alert.json": json.dumps(ALERT), "status_feed.json": json.dumps(feed)})
    evidence = await ask(directory, "get_alerts")
    assert evidence.content[-2:] == (
        "notice service=Object_Store region=r1 status=degraded started_at=2026-03-04T11:46:00Z resolved_at=- | Errors",
        "  More.",
    )
    assert len((await ask(directory, "get_alerts", service="shop")).content) == 3


@pytest.mark.parametrize(
    ("content", "code"),
    [(None, SourceError.SOURCE_MISSING), ("{", SourceError.SOURCE_UNREADABLE), ("[1]", SourceError.SOURCE_UNREADABLE)],
)
async def test_a_missing_and_an_unreadable_alert_are_told_apart(
    write: Writer, ask: Asker, content: str | None, code: SourceError
) -> None:
    files = {"metrics.csv": METRICS} | ({} if content is None else {"alert.json": content})
    with pytest.raises(SourceFailure) as failure:
        await ask(write(files), "get_alerts")
    assert failure.value.code is code


def test_the_alert_is_read_as_a_plain_dict(write: Writer) -> None:
    assert read_alert(write({"alert.json": json.dumps(ALERT)})) == ALERT


def test_an_incident_without_alert_has_none(write: Writer) -> None:
    assert read_alert(write({"metrics.csv": METRICS})) is None


def test_a_path_that_is_no_incident_is_told_in_one_line(write: Writer) -> None:
    directory = write({"notes.txt": "x"})
    for path, wrong in (
        (directory / "nowhere", "no such incident directory"),
        (directory / "notes.txt", "not a directory"),
        (directory, "no incident in"),
    ):
        for reader in (frozen_tools, read_alert):
            with pytest.raises(IncidentDirectoryError) as error:
                reader(path)
            text = str(error.value)
            assert text.startswith(wrong)
            assert str(path) in text
            assert "expected" in text
            assert "\n" not in text


def test_an_unreadable_alert_is_told_in_one_line(write: Writer) -> None:
    with pytest.raises(IncidentDirectoryError, match="unreadable alert") as error:
        read_alert(write({"alert.json": "{"}))
    assert "\n" not in str(error.value)


def test_runbooks_join_the_tools_where_the_incident_has_some(write: Writer) -> None:
    names = [tool.name for tool in frozen_tools(write({"alert.json": "{}"}))]
    assert names == [
        "get_alerts", "query_metrics", "find_log_signatures", "search_logs", "query_traces", "list_changes",
        "get_change",
    ]  # fmt: skip
    directory = write({"alert.json": "{}", "runbooks/pool.md": "# Pool\n\nRaise the pool.\n"})
    assert [tool.name for tool in frozen_tools(directory)] == [*names, "search_runbooks"]
