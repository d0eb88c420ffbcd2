"""A lowered limit is convicted only where it can bite: baselines that leave room, and rivals that fail as early."""

from typing import Any

import pytest

from graph.models.offline.assessment import Assessment, assess
from graph.models.offline.facts import read_case
from graph.models.offline.reach import Reach
from graph.models.offline.report import write_draft
from graph.models.offline.rivals import names_another
from graph.models.offline.verdicts import Innocence
from tests.graph.models.offline.faults import GUILTY, observations

POOL = ("  maximum-pool-size: 50", "  maximum-pool-size: 40")
TIMEOUT = ("  read-timeout: 3000ms", "  read-timeout: 2500ms")
POOL_ERROR = "1 payment ERROR HikariPool-1 - Connection is not available, request timed out after 3000ms (waiting=41)"
CUT_OFF = "1 payment ERROR call to api.bankco.example failed: read timed out after 2500 ms"
PROVIDER = "1 payment ERROR charge failed: 503 Service Unavailable from api.bankco.example after 3306 ms"
FULL = "payment connection_pool_pending UP 0 41 1"
SICK = "payment http_server_error_ratio UP 0.002 0.45 1"


def fault(
    change: tuple[str, str], metrics: list[str], logs: list[str], file: str = "payment/app.yml"
) -> dict[str, Any]:
    old, new = change
    return {"service": "payment", "file": file, "diff": [f"-{old}", f"+{new}"], "metrics": metrics, "logs": logs}


def assessed(*args: Any, **kwargs: Any) -> Assessment:
    return assess(read_case(observations(fault(*args, **kwargs))), "payment")


def convicted(result: Assessment) -> bool:
    return result.suspicion is not None and result.suspicion.change.change_id == GUILTY


@pytest.mark.parametrize(
    ("change", "measure", "bites"),
    [
        (POOL, "payment connection_pool_used_ratio UP 0.2 1 1", False),
        (POOL, "payment connection_pool_used_ratio UP 0.75 1 1", True),
        (POOL, "payment connection_pool_usage_percent UP 20 100 1", False),
        (POOL, "payment db_connections_active UP 11 40 1", False),
        (POOL, "payment db_connections_active UP 39 40 1", True),
        (POOL, "payment connection_pool_usage UP 0.9 1 1", True),
        (POOL, "payment connection_pool_usage UP 90 100 1", True),
        (POOL, "payment connection_pool_usage UP 8 40 1", False),
        (POOL, "payment redis_pool_in_use UP 3 9 1", False),
        ((POOL[0], "  maximum-pool-size: 5"), "payment connection_pool_used_ratio UP 0.2 1 1", True),
    ],
)
def test_a_pool_that_is_still_larger_than_its_normal_use_is_not_convicted(
    change: tuple[str, str], measure: str, bites: bool
) -> None:
    assert convicted(assessed(change, [measure, FULL, SICK], [POOL_ERROR])) is bites


@pytest.mark.parametrize(
    ("measure", "bites"),
    [
        ("payment http_server_duration_p95_seconds UP 0.44 4.7 1", False),
        ("payment http_server_duration_p95_seconds UP 2.2 4.7 1", True),
        ("payment http_server_duration_p99_ms UP 440 4700 1", False),
        ("payment http_server_duration_p99_ms UP 2400 4700 1", True),
        ("payment http_server_duration_avg_seconds UP 0.18 2.5 1", False),
        ("payment http_server_duration_avg_seconds UP 0.9 2.5 1", True),
    ],
)
def test_a_timeout_that_is_longer_than_normal_requests_is_not_convicted(measure: str, bites: bool) -> None:
    assert convicted(assessed(TIMEOUT, [measure, SICK], [CUT_OFF])) is bites


@pytest.mark.parametrize(
    ("change", "said", "bites"),
    [
        (("timeoutMs: 3000", "timeoutMs: 2500"), 2500, False),
        (("timeout: 3000", "timeout: 2500"), 2500, False),
        (("timeout: 5", "timeout: 2.5"), 2500, False),
        (("timeoutMs: 3000", "timeoutMs: 300"), 300, True),
        (("timeout: 1000", "timeout: 300"), 300, True),
    ],
)
def test_a_timeout_is_read_in_the_unit_that_its_name_tells(change: tuple[str, str], said: int, bites: bool) -> None:
    measured = ["payment http_server_duration_p95_seconds UP 0.44 4.7 1", SICK]
    assert convicted(assessed(change, measured, [f"1 payment ERROR call: read timed out after {said} ms"])) is bites


@pytest.mark.parametrize(
    ("change", "measure", "bites"),
    [
        (
            ("memory: 2Gi", "memory: 1900Mi"),
            "payment container_memory_working_set_bytes UP 1000000000 1900000000 1",
            False,
        ),
        (
            ("memory: 2Gi", "memory: 512Mi"),
            "payment container_memory_working_set_bytes UP 1000000000 1900000000 1",
            True,
        ),
        (("memory: 2Gi", "memory: 1600Mi"), "payment memory_used_mb UP 1000 1600 1", False),
        (("memory: 2Gi", "memory: 1600Mi"), "payment jvm_heap_used_ratio UP 0.2 1 1", True),
        (("  - -Xmx2g", "  - -Xmx1g"), "payment jvm_heap_used_ratio UP 0.2 1 1", False),
        (("  - -Xmx2g", "  - -Xmx512m"), "payment jvm_heap_used_ratio UP 0.45 1 1", True),
    ],
)
def test_memory_is_compared_with_the_use_of_the_very_limit(change: tuple[str, str], measure: str, bites: bool) -> None:
    result = assessed(
        change, [measure, SICK], ["1 payment ERROR java.lang.OutOfMemoryError: Java heap space, OOMKilled"]
    )
    assert convicted(result) is bites


def test_what_is_of_another_thing_measures_nothing() -> None:
    database = ("  datasource.max-pool-size: 50", "  datasource.max-pool-size: 40")
    assert convicted(assessed(database, ["payment redis_pool_in_use UP 3 9 1", FULL, SICK], [POOL_ERROR]))
    statement = ("  statement-timeout: 3000ms", "  statement-timeout: 2500ms")
    said = "1 payment ERROR canceling statement: statement timeout after 2500 ms"
    assert convicted(assessed(statement, ["payment http_server_duration_p99_ms UP 440 4700 1", SICK], [said]))
    other = ["order connection_pool_used_ratio UP 0.2 1 1", "order http_server_duration_p99_ms UP 44 4700 1", SICK]
    assert convicted(assessed(TIMEOUT, other, [CUT_OFF]))


def test_a_session_or_probe_that_may_take_less_is_no_call_that_is_cut_off() -> None:
    measured = ["payment http_server_duration_p99_ms UP 440 4700 1", SICK]
    for setting in ("session-timeout", "heartbeat-timeout", "timeoutSeconds"):
        diff = (f"  {setting}: 30s", f"  {setting}: 3s")
        assert GUILTY not in assessed(diff, measured, [CUT_OFF]).suspects.rooms


def test_without_a_measure_the_verdict_stays() -> None:
    assert convicted(assessed(POOL, [FULL, SICK], [POOL_ERROR]))
    assert convicted(assessed(TIMEOUT, [SICK], [CUT_OFF]))


@pytest.mark.parametrize(("change", "seen"), [(POOL, POOL_ERROR), (TIMEOUT, CUT_OFF)])
def test_a_provider_that_fails_as_early_leaves_an_unmeasured_limit_undecided(
    change: tuple[str, str], seen: str
) -> None:
    result = assessed(change, [FULL, SICK], [seen, PROVIDER])
    assert result.suspicion is None
    assert result.suspects.suspicions[0].contested
    late = PROVIDER.replace("1 ", "9 ", 1)
    assert convicted(assessed(change, [FULL, SICK], [seen, late]))


def test_a_limit_below_normal_use_is_convicted_beside_a_failing_provider() -> None:
    measured = ["payment connection_pool_used_ratio UP 0.9 1 1", FULL, SICK]
    assert convicted(assessed(POOL, measured, [POOL_ERROR, PROVIDER]))


def test_a_caller_that_sees_the_changed_service_fail_is_no_rival() -> None:
    caller = "1 order ERROR POST http://payment:8080/pay failed: status 503"
    assert convicted(assessed(POOL, [FULL, SICK], [POOL_ERROR, caller]))


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("503 Service Unavailable from api.bankco.example after 3306 ms", True),
        ("GET https://api.bankco.example/v1 answered 502", True),
        ("charge http.status_code=503 server.address=api.bankco.example", True),
        ("ledger answered 503", True),
        ("order: POST http://payment:8080/pay failed: status 503", False),
        ("java.net.ConnectException: connection refused exception.type=java.net.ConnectException", False),
        ("503 Service Unavailable", False),
    ],
)
def test_another_party_is_an_outside_host_or_a_service_that_does_not_call_it(text: str, named: bool) -> None:
    services = frozenset({"order", "payment", "ledger"})
    assert names_another(text, "payment", Reach(frozenset({("order", "payment")}), services)) is named


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_draft_says_which_measure_leaves_room(language: str) -> None:
    result = assessed(POOL, ["payment connection_pool_used_ratio UP 0.2 1 1", FULL, SICK], [POOL_ERROR])
    assert result.suspects.innocent[GUILTY] is Innocence.ROOM
    draft = write_draft(result, language)
    assert "connection_pool_used_ratio" in draft
    assert ("leaves room" if language == "en" else "仍有余量") in draft
