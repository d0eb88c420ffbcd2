"""Alibaba Cloud SLS's request signature, `LOG <AccessKeyId>:<signature>` by HMAC-SHA1.

Source: https://help.aliyun.com/zh/sls/developer-reference/request-signatures.
"""

import base64
import hashlib
import hmac
from collections.abc import Mapping


def authorization(
    access_key_id: str, access_key_secret: str, *, path: str, params: Mapping[str, str], headers: Mapping[str, str]
) -> str:
    """Return the `Authorization` of a GET without a body.

    `params` are signed as they are, not as they are encoded. `headers`: lower-case names, as they are sent: `date` and
    those that begin with `x-log-` or `x-acs-`.
    """
    own = sorted((name, value.strip()) for name, value in headers.items() if name.startswith(("x-log-", "x-acs-")))
    canonical = "\n".join(f"{name}:{value}" for name, value in own)
    query = "&".join(f"{name}={params[name]}" for name in sorted(params))
    signed = f"GET\n\n\n{headers['date']}\n{canonical}\n{path}{'?' + query if query else ''}"
    digest = hmac.new(access_key_secret.encode(), signed.encode(), hashlib.sha1).digest()
    return f"LOG {access_key_id}:{base64.b64encode(digest).decode()}"
