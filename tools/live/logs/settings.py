"""Settings of the sources of logs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field, SecretStr, field_validator, model_validator
from typing_extensions import override

from tools.canonical import canonical_labels
from tools.live.source import HttpSource, secret_of
from tools.vocabulary import EvidenceKind

if TYPE_CHECKING:
    from tools.live.logs.elasticsearch import Elasticsearch
    from tools.live.logs.loki import Loki


def _split(value: object) -> object:
    return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value


Names = Annotated[tuple[str, ...], BeforeValidator(_split), Field(min_length=1)]
"""A setting: names in the order in which they are tried; in the environment, separated by commas."""
Label = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
Labels = Annotated[tuple[Label, ...], BeforeValidator(_split), Field(min_length=1)]
"""As `Names`, of names that LogQL takes as labels."""
Index = Annotated[str, Field(pattern=r"^[^\s/?#\\\"<>|A-Z%]+$")]
"""An index pattern as it stands in a path: lower-case names, wildcards, exclusions, clusters, separated by commas."""


class LokiSettings(HttpSource):
    """A server of Loki's HTTP API; `url` is what stands before `/loki/api/v1`.

    `service_labels`: the stream labels that name the service, the most telling first. `level_labels`: the labels or
    structured metadata that name the severity. `selector`: matchers that hold for every question, as
    `{cluster="east"}`, where one Loki keeps the logs of several systems.
    """

    kind: ClassVar[EvidenceKind] = EvidenceKind.LOGS
    type: Literal["loki"] = "loki"
    service_labels: Labels = ("service_name", "service", "app", "container", "job")
    level_labels: Labels = ("level", "severity", "detected_level")
    selector: str = ""

    @field_validator("selector")
    @classmethod
    def _is_a_selector(cls, value: str) -> str:
        canonical = canonical_labels(value) if value.strip() else "{}"
        if not canonical.startswith("{"):
            raise ValueError('expected matchers such as {cluster="east"}')
        return canonical[1:-1]

    @override
    def open(self, name: str) -> "Loki":
        from tools.live.logs.loki import Loki
        from tools.live.transport import Transport

        return Loki(name, Transport(self.access()), self)


class ElasticsearchSettings(HttpSource):
    """Elasticsearch (7.10 and later) or OpenSearch; `index` is the pattern of the indices or data streams asked.

    The other fields name the fields of a document, the most telling first; of a text field, its keyword subfield is
    found by itself. An API key is sent as `Authorization: ApiKey`.
    """

    kind: ClassVar[EvidenceKind] = EvidenceKind.LOGS
    type: Literal["elasticsearch", "opensearch"] = "elasticsearch"
    index: Index = "logs-*,filebeat-*,logstash-*,app-*"
    time_fields: Names = ("@timestamp", "timestamp", "time")
    message_fields: Names = ("message", "msg", "log", "body")
    service_fields: Names = (
        "service.name",
        "service",
        "service_name",
        "kubernetes.labels.app",
        "kubernetes.labels.app_kubernetes_io/name",
        "app",
        "application",
        "kubernetes.container.name",
        "kubernetes.container_name",
        "container.name",
    )
    level_fields: Names = ("log.level", "level", "severity", "severity_text", "loglevel", "log_level")
    trace_fields: Names = ("trace.id", "trace_id", "traceId", "traceid")
    stack_fields: Names = ("error.stack_trace", "stack_trace", "exception.stacktrace", "stack")
    api_key: SecretStr | None = None
    api_key_file: Path | None = None

    @model_validator(mode="after")
    def _one_key(self) -> "ElasticsearchSettings":
        ways = (self.api_key, self.api_key_file, self.token, self.token_file, self.username)
        if sum(way is not None for way in ways) > 1:
            raise ValueError("one of api-key, api-key-file, token, token-file and username is enough")
        return self

    @override
    def credentials(self) -> dict[str, str]:
        headers = super().credentials()
        key = secret_of(self.api_key, self.api_key_file)
        return {**headers, "Authorization": f"ApiKey {key}"} if key else headers

    @override
    def open(self, name: str) -> "Elasticsearch":
        from tools.live.logs.elasticsearch import Elasticsearch
        from tools.live.transport import Transport

        return Elasticsearch(name, Transport(self.access()), self)
