"""Settings of the log services of Tencent Cloud (CLS) and Alibaba Cloud (SLS), which are asked by signed requests."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field, SecretStr, field_validator, model_validator
from typing_extensions import override

from tools.live.source import MAX_BYTES, HttpAccess, SourceSettings, base_address
from tools.vocabulary import EvidenceKind

if TYPE_CHECKING:
    from tools.live.logs.cls import Cls
    from tools.live.logs.sls import Sls

FieldName = Annotated[str, Field(pattern=r"^[A-Za-z_][\w.:@-]*$")]
"""The name of an indexed field, statistics enabled for those of service and level."""
_HOST = r"^[a-z0-9][a-z0-9.-]*$"


class CloudLogSettings(SourceSettings):
    """What both services need: which fields of a record tell what, and a pair of keys.

    The second key of the pair is a secret: said in the environment, or kept in a file that is read for each request.
    `security_token` goes with temporary keys. `url` is the address to connect to where it isn't the service's public
    one (a private link, a proxy).
    """

    kind: ClassVar[EvidenceKind] = EvidenceKind.LOGS
    service_field: FieldName = "service"
    level_field: FieldName = "level"
    message_field: FieldName = "message"
    trace_field: FieldName = "trace_id"
    security_token: SecretStr | None = None
    security_token_file: Path | None = None
    url: str | None = None
    ca_file: Path | None = None
    max_bytes: int = Field(default=MAX_BYTES, ge=1024)

    @field_validator("url")
    @classmethod
    def _is_an_address(cls, value: str | None) -> str | None:
        return base_address(value) if value is not None else None

    def access_at(self, public: str) -> HttpAccess:
        """Return how to reach the service, at `public` unless the settings say where; each request signs itself."""
        return HttpAccess(
            base_url=self.url or public,
            ca_file=self.ca_file,
            timeout_seconds=self.timeout_seconds,
            max_bytes=self.max_bytes,
        )


class ClsSettings(CloudLogSettings):
    """A log topic of Tencent Cloud CLS: `region` (`ap-guangzhou`), `topic_id`, and the keys of a reader.

    The topic needs a full-text index, and key-value indexes with statistics of the service's and the level's field.
    """

    type: Literal["cls"] = "cls"
    region: str = Field(pattern=r"^[a-z0-9-]+$")
    topic_id: str = Field(pattern=r"^[A-Za-z0-9-]+$")
    secret_id: str = Field(pattern=r"^[\x21-\x7e]+$")
    secret_key: SecretStr | None = None
    secret_key_file: Path | None = None

    @model_validator(mode="after")
    def _has_a_key(self) -> "ClsSettings":
        if (self.secret_key is None) == (self.secret_key_file is None):
            raise ValueError("one of secret-key and secret-key-file is needed")
        return self

    @override
    def open(self, name: str) -> "Cls":
        from tools.live.logs.cls import Cls
        from tools.live.transport import Transport

        return Cls(name, Transport(self.access_at(f"https://cls.{self.region}.tencentcloudapi.com")), self)


class SlsSettings(CloudLogSettings):
    """A Logstore of Alibaba Cloud SLS: `endpoint` (`cn-hangzhou.log.aliyuncs.com`), `project`, `logstore`, and keys.

    The Logstore needs a full-text index, and field indexes with statistics of the service's and the level's field.
    """

    type: Literal["sls"] = "sls"
    endpoint: str = Field(pattern=_HOST)
    project: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$")
    logstore: str = Field(pattern=r"^[A-Za-z0-9][\w-]*$")
    access_key_id: str = Field(pattern=r"^[\x21-\x7e]+$")
    access_key_secret: SecretStr | None = None
    access_key_secret_file: Path | None = None

    @model_validator(mode="after")
    def _has_a_key(self) -> "SlsSettings":
        if (self.access_key_secret is None) == (self.access_key_secret_file is None):
            raise ValueError("one of access-key-secret and access-key-secret-file is needed")
        return self

    @override
    def open(self, name: str) -> "Sls":
        from tools.live.logs.sls import Sls
        from tools.live.transport import Transport

        return Sls(name, Transport(self.access_at(f"https://{self.project}.{self.endpoint}")), self)
