"""Settings of trace backends. Light: what is heavy is imported when a source is opened."""

from typing import TYPE_CHECKING, ClassVar, Literal

from typing_extensions import override

from tools.live.source import HttpSource
from tools.vocabulary import EvidenceKind

if TYPE_CHECKING:
    from tools.live.traces.jaeger import Jaeger
    from tools.live.traces.skywalking import SkyWalking


class JaegerSettings(HttpSource):
    """A Jaeger query service, or what answers like one (VictoriaTraces below `/select/jaeger`).

    `url` is the address below which `/api/services` answers, such as `http://jaeger:16686`.
    """

    kind: ClassVar[EvidenceKind] = EvidenceKind.TRACES
    type: Literal["jaeger"] = "jaeger"

    @override
    def open(self, name: str) -> "Jaeger":
        from tools.live.traces.jaeger import Jaeger
        from tools.live.transport import Transport

        return Jaeger(name, Transport(self.access()), patience=self.timeout_seconds)


class SkyWalkingSettings(HttpSource):
    """A SkyWalking OAP server or UI: `url` is the address below which `/graphql` answers, `http://oap:12800`."""

    kind: ClassVar[EvidenceKind] = EvidenceKind.TRACES
    type: Literal["skywalking"] = "skywalking"

    @override
    def open(self, name: str) -> "SkyWalking":
        from tools.live.traces.skywalking import SkyWalking
        from tools.live.transport import Transport

        return SkyWalking(name, Transport(self.access()), patience=self.timeout_seconds)
