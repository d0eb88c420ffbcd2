"""Settings of an MCP server whose declared tools are asked."""

from pathlib import Path
from typing import ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator, model_validator
from typing_extensions import override

from tools.live.mcp.declaration import read_declaration
from tools.live.source import MAX_BYTES, HttpAccess, Source, SourceSettings, base_address, secret_of
from tools.vocabulary import EvidenceKind


class McpConnection(BaseModel):
    """How an MCP server is reached: `url`, the endpoint of one that speaks streamable HTTP, let in by a token; or
    `command` with `arguments`, one that is started here and speaks over its standard streams."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    timeout_seconds: float = Field(default=10.0, gt=0, le=120)
    url: str | None = None
    token: SecretStr | None = None
    token_file: Path | None = None
    ca_file: Path | None = None
    command: str | None = None
    arguments: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()
    max_bytes: int = Field(default=MAX_BYTES, ge=1024)

    @field_validator("url")
    @classmethod
    def _is_an_address(cls, value: str | None) -> str | None:
        return None if value is None else base_address(value)

    @model_validator(mode="after")
    def _one_way(self) -> "McpConnection":
        if (self.url is None) == (self.command is None):
            raise ValueError("expected url, or command")
        if self.token and self.token_file:
            raise ValueError("one of token and token-file is enough")
        return self

    def access(self) -> HttpAccess:
        """Return how to reach a server over HTTP."""
        return HttpAccess(self.url or "", self.credentials, self.ca_file, self.timeout_seconds, self.max_bytes)

    def credentials(self) -> dict[str, str]:
        """Return the headers that let a request in, the file read now; raises SourceFailure(ACCESS_DENIED)."""
        token = secret_of(self.token, self.token_file)
        return {"Authorization": f"Bearer {token}"} if token else {}


class McpSettings(McpConnection, SourceSettings):
    """An MCP server, and the file that declares which of its tools are evidence (docs/tools.md).

    Either `url`, the endpoint of a server that speaks streamable HTTP, let in by a `token`; or `command` with
    `arguments`, a server that is started here and speaks over its standard streams. Of our environment such a server
    gets the usual few variables and those named in `environment`.
    """

    kind: ClassVar[EvidenceKind | None] = None
    type: Literal["mcp"] = "mcp"
    declaration: Path

    @field_validator("declaration")
    @classmethod
    def _declares(cls, value: Path) -> Path:
        read_declaration(value)
        return value

    @override
    def open(self, name: str) -> Source:
        from tools.live.mcp.source import McpSource

        return McpSource(name, self)
