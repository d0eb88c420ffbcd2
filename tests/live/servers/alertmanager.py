"""A real Alertmanager on loopback, from Debian's package `prometheus-alertmanager`, and what fires into it.

Documentation: https://prometheus.io/docs/alerting/latest/alertmanager/ and, for what lets a request in,
https://prometheus.io/docs/alerting/latest/https/.
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from examples.live import watching
from tests.live.servers.answering import Response, answering
from tests.live.servers.prometheus import needs


@contextmanager
def start_alertmanager(directory: Path, *, web_config: str = "") -> Iterator[str]:
    """Give the address of an Alertmanager that keeps its data under `directory`; it is ready, and ended afterwards.

    `web_config`: who is let in (YAML).
    """
    binary = shutil.which("alertmanager") or needs("prometheus-alertmanager", "prometheus-alertmanager")
    directory.mkdir(parents=True, exist_ok=True)
    options = []
    if web_config:
        (directory / "web.yml").write_text(web_config, encoding="utf-8")
        options = [f"--web.config.file={directory / 'web.yml'}"]
    with watching.alertmanager(directory, binary, options=options) as url:
        yield url


@contextmanager
def start_gauge(metric: str, value: float) -> Iterator["Gauge"]:
    """Serve one gauge on loopback, for a Prometheus to scrape, while the block runs."""
    with answering(lambda _: Response(f"{metric} {gauge.value}\n")) as url:
        gauge = Gauge(urlsplit(url).port or 0, value)
        yield gauge


@dataclass
class Gauge:
    """A metric whose `value` a test may change; scraped at `port`."""

    port: int
    value: float
