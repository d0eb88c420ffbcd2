"""What is read from a span's tags, whoever instrumented it: OpenTelemetry, OpenTracing or SkyWalking names."""

import re
from collections.abc import Mapping

_TOLD = (
    "http.request.method", "http.method", "http.route", "http.target", "url.path", "url", "url.full", "http.url",
    "http.response.status_code", "http.status_code", "status_code", "rpc.service", "rpc.method", "rpc.system",
    "rpc.grpc.status_code", "error.type", "db.system", "db.system.name", "db.type", "db.name", "db.namespace",
    "db.instance", "db.collection.name", "db.sql.table", "db.operation", "db.operation.name", "db.statement",
    "db.query.text", "messaging.system", "messaging.destination", "messaging.destination.name", "mq.topic", "mq.queue",
    "retry.count", "http.resend_count", "service.version", "deployment.environment", "k8s.pod.name", "k8s.node.name",
    "host.name", "hostname", "service.instance.id", "feature_flag.key", "feature_flag.variant",
)  # fmt: skip
_NOISE = re.compile(
    r"^(?:internal\.|otel\.|telemetry\.|sampler\.|thread\.|process\.|jaeger\.|net\.host\.|net\.sock\.|net\.transport"
    r"|network\.|user_agent|http\.user_agent|http\.flavor|http\.scheme|http\.host|server\.|client\.|span\.kind|error$"
    r"|peer\.|component$|w3c\.|opencensus|ip$|jaeger$|host\.(?!name)|os\.|container\.id|code\.|url\.scheme)"
)
MAX_TAGS = 12
"""How many tags are told of one span, as the frozen side does."""

_ADDRESSES = (
    "server.address", "net.peer.name", "peer.hostname", "peer.host", "net.sock.peer.name", "peer.address",
)  # fmt: skip
_SYSTEMS = ("db.system", "db.system.name", "messaging.system", "rpc.service")
_NUMERIC = re.compile(r"\[?[0-9a-f:.]+\]?", re.IGNORECASE)
_HOST = re.compile(r"(?:\w+://)?(?P<host>\[[^\]]*\]|[^:/?#,;\s]+)(?P<port>:\d+)?")


def told_tags(tags: Mapping[str, str]) -> dict[str, str]:
    """Return the tags that say something to an engineer, the most telling first, at most `MAX_TAGS`."""
    known = [key for key in _TOLD if tags.get(key)]
    other = [key for key in tags if key not in known and tags[key] and not _NOISE.match(key)]
    return {key: tags[key] for key in (*known, *other)[:MAX_TAGS]}


def peer_of(tags: Mapping[str, str]) -> str | None:
    """Return the name of what a calling span called: the peer service, the host's name, or which system it is.

    A bare IP address names nothing that anybody looks for, so the system (`mysql`, `redis`, `kafka`) comes before it.
    """
    if tags.get("peer.service"):
        return tags["peer.service"]
    addresses = [host for key in _ADDRESSES if (host := host_of(tags.get(key, "")))]
    named = next((host for host in addresses if not _NUMERIC.fullmatch(host)), None)
    return named or next((tags[key] for key in _SYSTEMS if tags.get(key)), None) or next(iter(addresses), None)


def host_of(address: str) -> str | None:
    """Return the host of an address without its port and scheme; an IP address keeps its port; None where blank."""
    match = _HOST.match(address.strip())
    if match is None:
        return None
    numeric = _NUMERIC.fullmatch(match["host"]) is not None
    return match["host"] + (match["port"] or "" if numeric else "")
