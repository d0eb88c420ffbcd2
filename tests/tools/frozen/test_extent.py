"""The time up to which a frozen incident's records reach."""

from datetime import UTC, datetime

from tests.tools.frozen.conftest import Writer
from tools.frozen import latest_moment

METRICS = "timestamp,service,metric,value\n2026-03-04T11:00:00Z,shop,qps,1\n2026-03-04 20:30:00,shop,qps,2\n"


async def test_the_newest_sample_is_the_end_and_a_zoneless_one_is_in_the_zone(write: Writer) -> None:
    directory = write({"metrics.csv": METRICS})
    assert await latest_moment(directory, "Asia/Shanghai") == datetime(2026, 3, 4, 12, 30, tzinfo=UTC)


async def test_a_log_line_counts_only_where_machines_recorded_nothing(write: Writer) -> None:
    late = [{"timestamp": "2099-01-01T00:00:00Z", "service": "shop", "severity_text": "INFO", "msg": "from the future"}]
    assert await latest_moment(write({"metrics.csv": METRICS, "logs.ndjson": late}), "UTC") == datetime(
        2026, 3, 4, 20, 30, tzinfo=UTC
    )
    assert await latest_moment(write({"logs.ndjson": late}), "UTC") is not None


async def test_without_any_record_there_is_no_end(write: Writer) -> None:
    assert await latest_moment(write({"context/commits.json": "[]"}), "UTC") is None
