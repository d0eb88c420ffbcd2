"""Settings of the sources of alerts."""

from typing import TYPE_CHECKING, ClassVar, Literal

from typing_extensions import override

from tools.live.labels import SERVICE_LABELS
from tools.live.source import HttpSource
from tools.vocabulary import EvidenceKind

if TYPE_CHECKING:
    from tools.live.alerts.alertmanager import Alertmanager
    from tools.live.alerts.prometheus import PrometheusAlerts


class AlertmanagerSettings(HttpSource):
    """An Alertmanager, API v2 (Prometheus', Mimir's and Cortex' below `/alertmanager`, Grafana's below
    `/api/alertmanager/grafana`).

    `service_labels`: the labels that name the service, the most telling first. What an alert measures is told by its
    labels or annotations `metric`, `threshold` and `value`, else by its rule's expression, which the alert links to.
    """

    kind: ClassVar[EvidenceKind] = EvidenceKind.ALERTS
    type: Literal["alertmanager"] = "alertmanager"
    service_labels: tuple[str, ...] = SERVICE_LABELS

    @override
    def open(self, name: str) -> "Alertmanager":
        from tools.live.alerts.alertmanager import Alertmanager
        from tools.live.transport import Transport

        return Alertmanager(name, Transport(self.access()), self.service_labels)


class PrometheusAlertsSettings(HttpSource):
    """The alerting rules of a Prometheus (or Thanos, VictoriaMetrics' vmalert, Mimir), for who has no Alertmanager.

    `service_labels`: the labels that name the service, the most telling first.
    """

    kind: ClassVar[EvidenceKind] = EvidenceKind.ALERTS
    type: Literal["prometheus-alerts"] = "prometheus-alerts"
    service_labels: tuple[str, ...] = SERVICE_LABELS

    @override
    def open(self, name: str) -> "PrometheusAlerts":
        from tools.live.alerts.prometheus import PrometheusAlerts
        from tools.live.transport import Transport

        return PrometheusAlerts(name, Transport(self.access()), self.service_labels)
