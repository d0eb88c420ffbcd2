"""How Nacos lets a request in: with a token that a user name and password are exchanged for, for a while."""

import time
from collections.abc import Callable, Mapping
from urllib.parse import urlencode

from tools.base import SourceFailure
from tools.live.reading import mapping, text
from tools.live.transport import Transport
from tools.vocabulary import SourceError

LOGIN = {"v1": "/nacos/v1/auth/login", "v2": "/nacos/v1/auth/login", "v3": "/nacos/v3/auth/user/login"}
_FORM = {"Content-Type": "application/x-www-form-urlencoded"}


class Login:
    """Exchanges credentials for a token and keeps it for half of its time.

    `credentials` gives user name and password, or None where none are needed (or a token stands in the settings); it
    raises SourceFailure(ACCESS_DENIED).
    """

    def __init__(self, path: str, credentials: Callable[[], tuple[str, str] | None]) -> None:
        self._path = path
        self._credentials = credentials
        self._token = ""
        self._until = 0.0

    async def __call__(self, transport: Transport) -> Mapping[str, str]:
        """Return the headers of the next request; raises SourceFailure as the transport does."""
        pair = self._credentials()
        if pair is None:
            return {}
        if time.monotonic() >= self._until:
            body = urlencode({"username": pair[0], "password": pair[1]})
            answer = mapping(await transport.json("POST", self._path, body=body, headers=_FORM))
            token = text(answer.get("accessToken"))
            if not token:
                raise SourceFailure(SourceError.SOURCE_UNREADABLE)
            lifetime = answer.get("tokenTtl")
            self._token = token
            self._until = time.monotonic() + (lifetime / 2 if isinstance(lifetime, int | float) else 60.0)
        return {"Authorization": f"Bearer {self._token}"}
