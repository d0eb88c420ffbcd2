"""What every configured source of live evidence has: settings, credentials, a name, and a probe for the doctor."""

import json
import os
import stat
from abc import ABC, abstractmethod
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar, NoReturn, get_args, get_origin
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator, model_validator
from pydantic.fields import FieldInfo

from tools.base import SettingFault
from tools.vocabulary import EvidenceKind, SourceError

MAX_BYTES = 16 * 1024 * 1024
"""How much of one response is ever read, unless a source's settings say otherwise."""
_MAX_SECRET = 64 * 1024


@dataclass(frozen=True)
class Probe:
    """What a source answered to the doctor: its clock (aware, UTC; None where it tells none), and what a sample query
    found, in a few words without text of the source."""

    server_time: datetime | None
    sample: str


class Source(ABC):
    """One configured backend, opened: `name` is what the user called it. It connects when it is first asked."""

    name: str

    @abstractmethod
    async def probe(self) -> Probe:
        """Ask the backend's clock and a small sample query; raises SourceFailure where it can't answer."""

    @abstractmethod
    async def close(self) -> None:
        """Give back what is held open. Nothing may be asked afterwards."""


class SourceSettings(BaseModel, ABC):
    """Settings of one source: `HARNESS_SOURCE_<NAME>_<FIELD>`. A subclass has its `type` and says its `kind`,
    None where its tools are of several kinds.

    In the environment a field of several values is a list with commas, one of names and values is a JSON object.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: ClassVar[EvidenceKind | None]
    type: str
    timeout_seconds: float = Field(default=10.0, gt=0, le=120)

    @model_validator(mode="before")
    @classmethod
    def _from_text(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        return {key: _spread(value, cls.model_fields.get(key)) for key, value in given.items()}

    @abstractmethod
    def open(self, name: str) -> Source:
        """Return the source under its name. Imports what is heavy, connects to nothing."""


def _spread(value: Any, field: FieldInfo | None) -> Any:
    """Return a text from the environment as the collection that `field` holds; anything else comes back as it is."""
    if not isinstance(value, str) or field is None:
        return value
    shapes = {get_origin(one) for one in (field.annotation, *get_args(field.annotation))}
    if shapes & {tuple, list, set, frozenset}:
        return [part.strip() for part in value.split(",") if part.strip()]
    if shapes & {dict, Mapping}:
        try:
            return json.loads(value)
        except ValueError:
            raise ValueError("expected a JSON object") from None
    return value


@dataclass(frozen=True)
class HttpAccess:
    """Where an HTTP backend is and how it lets us in; none of it is ever shown. `base_url` has no trailing slash.

    `credentials` returns the headers that let a request in. It is asked for each one, so that a file whose content is
    renewed keeps working; it raises SourceFailure(ACCESS_DENIED) where there's nothing that could be sent.
    """

    base_url: str
    credentials: Callable[[], Mapping[str, str]] = dict
    ca_file: Path | None = None
    timeout_seconds: float = 10.0
    max_bytes: int = MAX_BYTES


class HttpSource(SourceSettings):
    """Settings of a source behind HTTP: its base address, one way to be let in, and bounds.

    Credentials come from the environment or from files, never from the address. `tenant` is sent as `X-Scope-OrgID`.
    """

    url: str
    token: SecretStr | None = None
    token_file: Path | None = None
    username: str | None = None
    password: SecretStr | None = None
    password_file: Path | None = None
    tenant: str | None = Field(default=None, pattern=r"^[\x21-\x7e]+$")
    ca_file: Path | None = None
    max_bytes: int = Field(default=MAX_BYTES, ge=1024)

    @field_validator("url")
    @classmethod
    def _is_an_address(cls, value: str) -> str:
        return base_address(value)

    @model_validator(mode="after")
    def _one_way_in(self) -> "HttpSource":
        ways = [way for way in (self.token, self.token_file, self.username) if way is not None]
        if len(ways) > 1:
            raise ValueError("one of token, token-file and username is enough")
        if (self.password or self.password_file) and self.username is None:
            raise ValueError("a password needs a username")
        return self

    def access(self) -> HttpAccess:
        """Return how to reach the backend."""
        return HttpAccess(
            base_url=self.url,
            credentials=self.credentials,
            ca_file=self.ca_file,
            timeout_seconds=self.timeout_seconds,
            max_bytes=self.max_bytes,
        )

    def credentials(self) -> dict[str, str]:
        """Return the headers that let a request in, files read now; raises SourceFailure(ACCESS_DENIED)."""
        headers = {"X-Scope-OrgID": self.tenant} if self.tenant else {}
        if token := secret_of(self.token, self.token_file):
            headers["Authorization"] = f"Bearer {token}"
        elif self.username is not None:
            pair = f"{self.username}:{secret_of(self.password, self.password_file) or ''}"
            headers["Authorization"] = f"Basic {b64encode(pair.encode()).decode()}"
        return headers


def base_address(value: str) -> str:
    """Return an http(s) address without its trailing slash; raises ValueError where it's none, or holds credentials."""
    try:
        parts = urlsplit(value.strip())
        fit = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        fit = False
    if not fit or not value.strip().isprintable() or " " in value.strip():
        raise ValueError("expected an address such as https://prometheus.example:9090")
    if parts.username is not None or parts.password is not None:
        raise ValueError("expected an address without credentials; give username and password, or a token")
    if parts.query or parts.fragment:
        raise ValueError("expected an address without a query")
    return value.strip().rstrip("/")


def raise_alone(failure: Exception) -> NoReturn:
    """Raise `failure` without a context, also where another exception is on its way through a context manager: that
    one may hold a request, and so its credentials."""
    try:
        raise failure
    finally:
        failure.__context__ = None


def secret_of(said: SecretStr | None, file: Path | None) -> str | None:
    """Return a credential: the text itself, else the file's content without white space at both ends, else None.

    Blocking I/O. Raises SettingFault(ACCESS_DENIED) where the file can't be read (it may be linked to, but has to be
    a regular one of 64 KiB at most) or what is in it can't be sent.
    """
    if said is not None:
        secret = said.get_secret_value().strip()
    elif file is not None:
        secret = _content(file).strip()
    else:
        return None
    if not secret or not secret.isprintable():
        where = f"{file} is not readable, or holds no secret of one line" if said is None else "no secret of one line"
        raise SettingFault(SourceError.ACCESS_DENIED, detail=where)
    return secret


def _content(file: Path) -> str:
    """Return what a small regular file holds, blank where it is none. A pipe would be waited for without an end."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as opened:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return ""
            content = opened.read(_MAX_SECRET + 1)
        return content.decode("utf-8") if len(content) <= _MAX_SECRET else ""
    except (OSError, ValueError):
        return ""
