"""Which addresses of an API server are taken."""

import ipaddress
from urllib.parse import urlsplit


def require_encryption(address: str) -> None:
    """Raise ValueError where an address is plain HTTP, unless it is this machine's own (`kubectl proxy`)."""
    parts = urlsplit(address)
    if parts.scheme != "https" and not _is_loopback(parts.hostname or ""):
        raise ValueError("expected an https address; plain http is taken on this machine only (kubectl proxy)")


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
