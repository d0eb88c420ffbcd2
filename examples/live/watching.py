"""What watches the shop: Prometheus, Alertmanager, and a store of logs with the OpenSearch API."""

import json
import shutil
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode

from examples.live.processes import NotReady, fetch, free_port, running, until

ALERT = "OrderErrors"
THRESHOLD = 0.2
LOG_INDEX = "shop-logs"
_EVERY = 0.2

_COUNT = 'http_server_request_duration_seconds_count{job="order"'
_ERRORS = f'sum by (job) (rate({_COUNT},http_response_status_code=~"5.."}}[%s])) / sum by (job) (rate({_COUNT}}}[%s]))'
RULES = f"""
groups:
  - name: shop
    rules:
      - alert: {ALERT}
        expr: {_ERRORS % ("10s", "10s")} > {THRESHOLD}
        for: 2s
        labels: {{severity: critical, service: order}}
        annotations:
          summary: "order answers {{{{ $value | humanizePercentage }}}} of its requests with errors"
          value: "{{{{ $value }}}}"
          metric: http_server_error_ratio
"""
"""The rule that fires: what customers see, not what causes it. Its annotations name the signal that it watches."""

_ALERTMANAGER = """
route: {receiver: nobody, group_wait: 0s}
receivers: [{name: nobody}]
"""
PACKAGES = {
    "prometheus": ("prometheus", ("prometheus",)),
    "promtool": ("prometheus", ("promtool",)),
    "alertmanager": ("prometheus-alertmanager", ("prometheus-alertmanager", "alertmanager")),
    "git": ("git", ("git",)),
}
"""What has to be installed: Debian's package, and the names of the program there and elsewhere."""


def programs() -> dict[str, str]:
    """Return where each program of PACKAGES lies; raises NotReady, one line, naming the packages that are missing."""
    found = {
        name: next((path for one in names if (path := shutil.which(one))), "") for name, (_, names) in PACKAGES.items()
    }
    missing = sorted({PACKAGES[name][0] for name, path in found.items() if not path})
    if missing:
        raise NotReady(f"install the Debian packages {', '.join(missing)} first (apt-get install {' '.join(missing)})")
    return found


@contextmanager
def alertmanager(home: Path, program: str, *, options: Iterable[str] = ()) -> Iterator[str]:
    """Give the address of an Alertmanager that notifies nobody; it keeps its data below `home`.

    `options`: further arguments.
    """
    port = free_port()
    config = home / "alertmanager.yml"
    config.write_text(_ALERTMANAGER, encoding="utf-8")
    command = [
        program,
        f"--config.file={config}",
        f"--storage.path={home / 'alertmanager'}",
        f"--web.listen-address=127.0.0.1:{port}",
        "--cluster.listen-address=",
        "--log.level=warn",
        *options,
    ]
    with running(command, home / "alertmanager.log", f"http://127.0.0.1:{port}/-/ready"):
        yield f"http://127.0.0.1:{port}"


@contextmanager
def prometheus(
    home: Path, program: str, *, targets: Mapping[str, int], rules: str, alertmanager_url: str, every: str = "1s"
) -> Iterator[str]:
    """Give the address of a Prometheus that scrapes `targets` (ports by job) and sends what `rules` fire.

    Its data lie in `home/data`, where a past may stand already.
    """
    (home / "rules.yml").write_text(rules, encoding="utf-8")
    scrapes = [
        {"job_name": job, "static_configs": [{"targets": [f"127.0.0.1:{port}"]}]} for job, port in targets.items()
    ]
    config = {
        "global": {"scrape_interval": every, "scrape_timeout": every, "evaluation_interval": every},
        "rule_files": [str(home / "rules.yml")],
        "alerting": {"alertmanagers": [{"static_configs": [{"targets": [alertmanager_url.removeprefix("http://")]}]}]},
        "scrape_configs": scrapes,
    }
    # JSON is YAML, too.
    (home / "prometheus.yml").write_text(json.dumps(config), encoding="utf-8")
    port = free_port()
    command = [
        program,
        f"--config.file={home / 'prometheus.yml'}",
        f"--storage.tsdb.path={home / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}",
        "--log.level=warn",
    ]
    with running(command, home / "prometheus.log", f"http://127.0.0.1:{port}/-/ready"):
        yield f"http://127.0.0.1:{port}"


@contextmanager
def log_store(home: Path) -> Iterator[str]:
    """Give the address of an in-memory store with the OpenSearch API (the Python package osmem-server)."""
    program = log_store_program()
    port = free_port()
    command = [program, "-addr", f"127.0.0.1:{port}", "-no-stdin-watch", "-no-ja"]
    with running(command, home / "logs.log", f"http://127.0.0.1:{port}/"):
        yield f"http://127.0.0.1:{port}"


def log_store_program() -> str:
    """Return where the store's program lies; raises NotReady, one line, where the package isn't installed."""
    for site in map(Path, sys.path):
        program = site / "osmem_server" / "bin" / "osmem-server"
        if program.is_file():
            return str(program)
    raise NotReady(f"install the Python package osmem-server first ({sys.executable} -m pip install osmem-server)")


def store_logs(url: str, records: Iterable[Mapping[str, str]]) -> None:
    """Write log records into the store; raises NotReady where it doesn't take them."""
    lines = [line for record in records for line in ('{"index":{}}', json.dumps(record))]
    if lines and fetch(f"{url}/{LOG_INDEX}/_bulk", "POST", "\n".join([*lines, ""]).encode()) is None:
        raise NotReady("the store of logs doesn't take the records")


class Shipper(threading.Thread):
    """Brings what services append to their log files into the store, as Filebeat or Fluent Bit would."""

    def __init__(self, url: str, files: Iterable[Path]) -> None:
        super().__init__(daemon=True)
        self._url = url
        self._read = dict.fromkeys(files, 0)
        self._ending = threading.Event()

    def run(self) -> None:
        """Ship until told to stop, and what is left then."""
        while not self._ending.wait(_EVERY):
            self._ship()
        self._ship()

    def stop(self) -> None:
        """End in good order."""
        self._ending.set()
        self.join()

    def _ship(self) -> None:
        for file, begin in self._read.items():
            if not file.exists():
                continue
            with file.open("rb") as source:
                source.seek(begin)
                whole, end, _ = source.read().rpartition(b"\n")
            self._read[file] = begin + len(whole) + len(end)
            store_logs(self._url, map(json.loads, whole.splitlines()))


@contextmanager
def shipping(url: str, files: Iterable[Path]) -> Iterator[None]:
    """Ship the files' records to the store while the block runs."""
    shipper = Shipper(url, files)
    shipper.start()
    try:
        yield
    finally:
        shipper.stop()


def until_seen(url: str, *, patience: float = 120.0) -> None:
    """Return as soon as the errors stand in a graph of the whole afternoon, too; raises NotReady.

    Over hours, a point every 15 seconds tells of the minute before it.
    """
    errors = _ERRORS % ("1m", "1m")
    query = urlencode({"query": f"max_over_time(({errors})[1m:15s]) > {THRESHOLD / 2}"})

    def seen() -> bool:
        answer = fetch(f"{url}/api/v1/query?{query}")
        return bool(json.loads(answer or b"{}").get("data", {}).get("result"))

    until("the errors to show in a graph", seen, patience=patience)


def until_firing(url: str, name: str = ALERT, *, patience: float = 60.0) -> None:
    """Return as soon as an Alertmanager holds the alert; raises NotReady."""

    def firing() -> bool:
        answer = fetch(f"{url}/api/v2/alerts")
        return any(one["labels"].get("alertname") == name for one in json.loads(answer or b"[]"))

    until(f"the alert {name} to arrive at Alertmanager", firing, patience=patience)
