"""Tencent Cloud's signature v3, TC3-HMAC-SHA256.

Source: https://cloud.tencent.com/document/api/614/56474 (Signature v3).
"""

import hashlib
import hmac
from collections.abc import Mapping
from datetime import UTC, datetime

_ALGORITHM = "TC3-HMAC-SHA256"


def authorization(
    secret_id: str, secret_key: str, *, service: str, timestamp: int, headers: Mapping[str, str], body: bytes
) -> str:
    """Return the `Authorization` of a POST to `/`.

    `timestamp`: seconds since the epoch, as in `X-TC-Timestamp`. `headers`: those that are signed, lower-case names,
    `content-type` and `host` at least, as they are sent.
    """
    names = ";".join(sorted(headers))
    canonical = "".join(f"{name}:{headers[name].strip().lower()}\n" for name in sorted(headers))
    request = f"POST\n/\n\n{canonical}\n{names}\n{_digest(body)}"
    day = datetime.fromtimestamp(timestamp, UTC).date().isoformat()
    scope = f"{day}/{service}/tc3_request"
    signed = f"{_ALGORITHM}\n{timestamp}\n{scope}\n{_digest(request.encode())}"
    key = f"TC3{secret_key}".encode()
    for part in (day, service, "tc3_request"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    signature = hmac.new(key, signed.encode(), hashlib.sha256).hexdigest()
    return f"{_ALGORITHM} Credential={secret_id}/{scope}, SignedHeaders={names}, Signature={signature}"


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
