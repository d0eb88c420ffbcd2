"""Settings of a Kubernetes cluster that is asked alive."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field, SecretStr, field_validator, model_validator
from typing_extensions import override

from tools.live.kubernetes.addresses import require_encryption
from tools.live.source import MAX_BYTES, SourceSettings, base_address
from tools.vocabulary import EvidenceKind

if TYPE_CHECKING:
    from tools.live.kubernetes.source import KubernetesSource

_NAMESPACE = re.compile(r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?")


class KubernetesSettings(SourceSettings):
    """Where the API server is, how it lets us in, and the only namespaces that are ever asked about.

    One of: `url` (with `token` or `token_file`, and `ca_file`), `in_cluster` (the pod's own service account), or a
    kubeconfig (`kubeconfig`, else the usual one; `context`, else its current one). `namespaces` left
    out is the context's own (with `in_cluster`, the pod's own). Its first is the default.
    """

    kind: ClassVar[EvidenceKind] = EvidenceKind.RESOURCES
    type: Literal["kubernetes"] = "kubernetes"
    url: str | None = None
    token: SecretStr | None = None
    token_file: Path | None = None
    ca_file: Path | None = None
    in_cluster: bool = False
    kubeconfig: Path | None = None
    context: str | None = None
    namespaces: tuple[str, ...] = ()
    max_bytes: int = Field(default=MAX_BYTES, ge=1024)

    @field_validator("namespaces")
    @classmethod
    def _are_names(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if not all(_NAMESPACE.fullmatch(name) for name in value):
            raise ValueError("expected names of namespaces, such as shop,payments; patterns aren't taken")
        return tuple(dict.fromkeys(value))

    @field_validator("url")
    @classmethod
    def _is_encrypted(cls, value: str | None) -> str | None:
        if value is None:
            return None
        address = base_address(value)
        require_encryption(address)
        return address

    @model_validator(mode="after")
    def _one_way(self) -> "KubernetesSettings":
        ways = [way for way in (self.url, self.in_cluster, self.kubeconfig or self.context) if way]
        if len(ways) > 1:
            raise ValueError("one of url, in-cluster and kubeconfig is enough")
        if self.token and self.token_file:
            raise ValueError("one of token and token-file is enough")
        if self.url is None and (self.token or self.token_file or self.ca_file):
            raise ValueError("a token or CA file needs a url; a kubeconfig has its own")
        if self.url is not None and not self.namespaces:
            raise ValueError("namespaces is needed with a url: the only namespaces that may be asked about")
        return self

    @override
    def open(self, name: str) -> "KubernetesSource":
        """Return the cluster under its name. Reads the kubeconfig where that is the way in (blocking).

        Raises ValueError, one clear line, where that can't be used: it would run a command, or connect unverified.
        """
        from tools.live.kubernetes.source import KubernetesSource

        return KubernetesSource.of(name, self)
