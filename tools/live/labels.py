"""Which label of a metric, an alert or a log stream names the service."""

from collections.abc import Iterable, Mapping

SERVICE_LABELS = (
    "service",
    "service_name",
    "service.name",
    "app",
    "application",
    "app_kubernetes_io_name",
    "app.kubernetes.io/name",
    "destination_canonical_service",
    "destination_workload",
    "deployment",
    "statefulset",
    "component",
    "job",
)
"""The names that are tried, the most telling first.

Sources: OpenTelemetry's `service.name` (`service_name` in Prometheus and Loki), Kubernetes' recommended labels, Istio's
standard labels, kube-state-metrics' workloads, and Prometheus' own `job`, which every scraped series has.
"""
METRIC_SERVICE_LABELS = (
    *(label for label in SERVICE_LABELS if label != "job"),
    "destination_service_name",
    "k8s_deployment_name",
    "workload",
    "container",
    "exported_job",
    "job",
)
"""What names the service of a series, the most telling first. Beside those of every source: Istio's service host, the
OpenTelemetry collector's Kubernetes attributes, cAdvisor's container. `job` names an exporter as often as a service, so
it comes last; OpenTelemetry's is `namespace/service`."""


def service_of(labels: Mapping[str, object], names: Iterable[str] = SERVICE_LABELS) -> str | None:
    """Return the service that `labels` name: its own name, from the first of `names` that has a value; else None."""
    for name in names:
        value = labels.get(name)
        if isinstance(value, str) and value.strip():
            return short_name(value.strip())
    return None


def short_name(value: str) -> str:
    """Return a service's own name: `checkout` of `shop/checkout` (OpenTelemetry's job) and of
    `checkout.shop.svc.cluster.local` (Istio's host)."""
    last = value.rpartition("/")[2] or value
    return last.partition(".")[0] if ".svc" in last else last
