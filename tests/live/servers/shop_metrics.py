"""A past incident of a small shop, as three instrumentations would have measured it.

At `BROKEN` the connection pool of `checkout` (Micrometer) runs full, its requests become slow and fail, `payment`
(OpenTelemetry) is asked less, and `cart` (behind Istio) stays as it was. Before and after, all is quiet.
"""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

from tests.live.servers.prometheus import Samples

AS_OF = datetime(2026, 9, 8, 7, 2, tzinfo=UTC)
BROKEN = datetime(2026, 9, 8, 6, 30, tzinfo=UTC)
BEGIN = AS_OF - timedelta(hours=7)
INTERVAL = 15
_LE = ("0.05", "0.1", "0.5", "1.0", "5.0", "+Inf")

_Value = Callable[[bool], float]


def shop_series(broken: datetime = BROKEN, begin: datetime = BEGIN, end: datetime = AS_OF) -> list[Samples]:
    """Return every series of the incident, a sample each 15 s from `begin` to `end` (aware)."""
    return [*_checkout(broken, begin, end), *_payment(broken, begin, end), *_cart(broken, begin, end)]


def _checkout(broken: datetime, begin: datetime, end: datetime) -> Iterator[Samples]:
    labels = {"application": "checkout", "job": "spring-apps", "instance": "10.0.0.7:8080"}
    counted, level = _makers(broken, begin, end)
    failing = {**labels, "status": "503", "outcome": "SERVER_ERROR", "uri": "/orders"}
    fine = {**labels, "status": "200", "outcome": "SUCCESS", "uri": "/orders"}
    yield counted("http_server_requests_seconds_count", fine, lambda bad: 30 if bad else 40)
    yield counted("http_server_requests_seconds_sum", fine, lambda bad: 90 if bad else 2)
    yield counted("http_server_requests_seconds_count", failing, lambda bad: 10 if bad else 0)
    yield counted("http_server_requests_seconds_sum", failing, lambda bad: 50 if bad else 0)
    for bound in _LE:
        slow, fast = float(bound) < 5, float(bound) < 0.1
        yield counted(
            "http_server_requests_seconds_bucket",
            {**fine, "le": bound},
            lambda bad, slow=slow, fast=fast: (2 if slow else 30) if bad else (30 if fast else 40),  # type: ignore[misc]
        )
    for area, used, most in (("heap", 4e8, 1e9), ("nonheap", 1e8, -1.0)):
        pool = {**labels, "area": area, "id": f"{area} pool"}
        yield level("jvm_memory_used_bytes", pool, lambda bad, used=used: used * 1.1 if bad else used)  # type: ignore[misc]
        yield level("jvm_memory_max_bytes", pool, lambda bad, most=most: most)  # type: ignore[misc]
    yield counted("jvm_gc_pause_seconds_sum", {**labels, "cause": "G1 Evacuation Pause"}, lambda bad: 0.15)
    yield counted("jvm_gc_pause_seconds_count", {**labels, "cause": "G1 Evacuation Pause"}, lambda bad: 3)
    pool = {**labels, "pool": "HikariPool-1"}
    yield level("hikaricp_connections_active", pool, lambda bad: 10 if bad else 2)
    yield level("hikaricp_connections_max", pool, lambda bad: 10)
    yield level("hikaricp_connections_pending", pool, lambda bad: 25 if bad else 0)
    yield level("process_cpu_usage", labels, lambda bad: 0.2)
    yield level("coupon_cache_entries", labels, lambda bad: 1_000)


def _payment(broken: datetime, begin: datetime, end: datetime) -> Iterator[Samples]:
    labels = {"job": "shop/payment", "instance": "payment-1", "http_request_method": "POST"}
    counted, level = _makers(broken, begin, end)
    fine = {**labels, "http_response_status_code": "200"}
    yield counted("http_server_request_duration_seconds_count", fine, lambda bad: 5 if bad else 20)
    yield counted("http_server_request_duration_seconds_sum", fine, lambda bad: 0.25 if bad else 1)
    for bound in _LE:
        inside = float(bound) >= 0.1
        yield counted(
            "http_server_request_duration_seconds_bucket",
            {**fine, "le": bound},
            lambda bad, inside=inside: (5 if bad else 20) * (1 if inside else 0.5),  # type: ignore[misc]
        )
    heap = {"job": "shop/payment", "instance": "payment-1", "jvm_memory_type": "heap"}
    yield level("jvm_memory_used_bytes", heap, lambda bad: 3e8)
    yield level("jvm_memory_limit_bytes", heap, lambda bad: 6e8)


def _cart(broken: datetime, begin: datetime, end: datetime) -> Iterator[Samples]:
    counted, _ = _makers(broken, begin, end)
    for reporter in ("source", "destination"):
        labels = {
            "reporter": reporter,
            "destination_workload": "cart",
            "destination_service_name": "cart",
            "destination_service": "cart.shop.svc.cluster.local",
            "response_code": "200",
        }
        yield counted("istio_requests_total", labels, lambda bad: 15)
        yield counted("istio_request_duration_milliseconds_count", labels, lambda bad: 15)
        yield counted("istio_request_duration_milliseconds_sum", labels, lambda bad: 300)


def _makers(
    broken: datetime, begin: datetime, end: datetime
) -> tuple[Callable[[str, dict[str, str], _Value], Samples], Callable[[str, dict[str, str], _Value], Samples]]:
    """Return what makes a counter (of its growth a sample) and a level (of its value), by whether all is broken."""
    first, last, turn = (int(one.timestamp()) for one in (begin, end, broken))
    moments = range(first, last + 1, INTERVAL)

    def counted(metric: str, labels: dict[str, str], growth: _Value) -> Samples:
        total, points = 0.0, []
        for at in moments:
            total += growth(at >= turn)
            points.append((float(at), total))
        return Samples(metric, labels, points)

    def level(metric: str, labels: dict[str, str], value: _Value) -> Samples:
        return Samples(metric, labels, [(float(at), float(value(at >= turn))) for at in moments])

    return counted, level
