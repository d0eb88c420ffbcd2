"""What is told of a span's tags, and whom a calling span calls."""

import pytest

from tools.live.traces.tags import MAX_TAGS, host_of, peer_of, told_tags


@pytest.mark.parametrize(
    ("tags", "peer"),
    [
        ({"peer.service": "billing", "server.address": "10.0.0.7"}, "billing"),
        ({"server.address": "stock-db.internal", "db.system": "postgresql"}, "stock-db.internal"),
        ({"net.peer.name": "cache", "net.peer.port": "6379", "db.system": "redis"}, "cache"),
        ({"net.peer.name": "10.0.0.7", "db.system": "redis"}, "redis"),
        ({"server.address": "::1", "messaging.system": "kafka"}, "kafka"),
        ({"peer.address": "mysql:3306"}, "mysql"),
        ({"peer.address": "10.0.0.7:3306"}, "10.0.0.7:3306"),
        ({"http.method": "GET"}, None),
    ],
)
def test_a_peer_is_named_by_what_people_look_for(tags: dict[str, str], peer: str | None) -> None:
    assert peer_of(tags) == peer


@pytest.mark.parametrize(
    ("address", "host"),
    [
        ("mysql:3306", "mysql"),
        ("http://pay.example/x", "pay.example"),
        ("10.1.2.3:80", "10.1.2.3:80"),
        ("[::1]:80", "[::1]:80"),
        ("kafka-0:9092;kafka-1:9092", "kafka-0"),
        (" ", None),
    ],
)
def test_a_host_stands_without_its_port(address: str, host: str | None) -> None:
    assert host_of(address) == host


def test_telling_tags_come_first_and_noise_is_left_out() -> None:
    noise = {"internal.span.format": "otlp", "otel.library.name": "x", "thread.id": "7", "span.kind": "server"}
    own = {f"app.field{at}": "x" for at in range(20)}
    told = told_tags(noise | own | {"http.route": "/pay", "db.system": "mysql", "empty": ""})
    assert list(told)[:2] == ["http.route", "db.system"]
    assert len(told) == MAX_TAGS
    assert not set(told) & set(noise)
