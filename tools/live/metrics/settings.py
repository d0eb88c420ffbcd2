"""Settings of the sources of metrics."""

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field
from typing_extensions import override

from tools.live.labels import METRIC_SERVICE_LABELS
from tools.live.source import HttpSource
from tools.vocabulary import EvidenceKind

if TYPE_CHECKING:
    from tools.live.metrics.prometheus import Prometheus


class PrometheusSettings(HttpSource):
    """A server of Prometheus' HTTP API: Prometheus, VictoriaMetrics, Thanos, Mimir, Nightingale.

    `url` holds the path that the API lies below, as `http://mimir:8080/prometheus` or
    `http://vmselect:8481/select/0/prometheus`. `service_labels`: the labels that name the service, the most telling
    first. `max_series`: how many series one question may read.
    """

    kind: ClassVar[EvidenceKind] = EvidenceKind.METRICS
    type: Literal["prometheus"] = "prometheus"
    service_labels: tuple[str, ...] = METRIC_SERVICE_LABELS
    max_series: int = Field(default=1_000, ge=1, le=10_000)

    @override
    def open(self, name: str) -> "Prometheus":
        from tools.live.metrics.prometheus import Prometheus
        from tools.live.transport import Transport

        return Prometheus(name, Transport(self.access()), self.service_labels, max_series=self.max_series)
