"""Real Prometheus and VictoriaMetrics servers on loopback, and what fills them with a past.

Documentation: https://prometheus.io/docs/prometheus/latest/storage/#backfilling-from-openmetrics-format and
https://docs.victoriametrics.com/#how-to-import-data-in-prometheus-exposition-format. The binaries come from Debian's
packages `prometheus` and `victoria-metrics`; `needs` skips a test and names the package where one is missing.
"""

import shutil
import socket
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

_PATIENCE = 60.0
_BETWEEN_POLLS = 0.05
_NO_SCRAPES = "global: {}\n"


@dataclass(frozen=True)
class Samples:
    """One series to be written: a metric's name, its labels, and pairs of seconds since the epoch and value."""

    metric: str
    labels: Mapping[str, str]
    points: Iterable[tuple[float, float]]


def needs(binary: str, package: str) -> str:
    """Return the path of a server's binary; skips the test, naming the Debian package, where it isn't installed."""
    path = shutil.which(binary)
    if path is None:
        pytest.skip(f"needs {binary} (Debian package {package})")
    return path


def free_port() -> int:
    """Return a loopback port that nobody listens on."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return int(held.getsockname()[1])


@contextmanager
def start_prometheus(
    directory: Path, config_text: str = _NO_SCRAPES, *, port: int | None = None, options: Iterable[str] = ()
) -> Iterator[str]:
    """Give the address of a Prometheus that keeps its data under `directory`; it is ready, and ended afterwards.

    `config_text`: the configuration (YAML); paths in it are relative to `directory`. `options`: further arguments.
    """
    binary = needs("prometheus", "prometheus")
    directory.mkdir(parents=True, exist_ok=True)
    config = directory / "prometheus.yml"
    config.write_text(config_text)
    listening = f"127.0.0.1:{port or free_port()}"
    command = [
        binary,
        f"--config.file={config}",
        f"--storage.tsdb.path={directory / 'data'}",
        "--storage.tsdb.retention.time=100y",
        f"--web.listen-address={listening}",
        "--web.enable-lifecycle",
        *options,
    ]
    with _running(command, directory / "prometheus.log", f"http://{listening}/-/ready"):
        yield f"http://{listening}"


@contextmanager
def start_victoriametrics(
    directory: Path, *, path: str = "", port: int | None = None, options: Iterable[str] = ()
) -> Iterator[str]:
    """Give the address of a VictoriaMetrics that keeps its data under `directory`; it is ready, and ended afterwards.

    `path`: what its API lies below, as `/select/0/prometheus`.

    It answers queries about the last seconds, too (`-search.latencyOffset=0s`), and keeps data for a century.
    """
    binary = needs("victoria-metrics", "victoria-metrics")
    directory.mkdir(parents=True, exist_ok=True)
    listening = f"127.0.0.1:{port or free_port()}"
    command = [
        binary,
        f"-storageDataPath={directory / 'data'}",
        "-retentionPeriod=100y",
        f"-httpListenAddr={listening}",
        "-search.latencyOffset=0s",
        f"-http.pathPrefix={path}",
        *options,
    ]
    with _running(command, directory / "victoriametrics.log", f"http://{listening}{path}/health"):
        yield f"http://{listening}{path}"


def backfill(directory: Path, series: Iterable[Samples]) -> None:
    """Write series into the data of a Prometheus that isn't running yet, as blocks made by promtool."""
    promtool = needs("promtool", "prometheus")
    directory.mkdir(parents=True, exist_ok=True)
    source = directory / "past.om"
    source.write_text(exposition(series, milliseconds=False) + "# EOF\n")
    made = subprocess.run(
        [promtool, "tsdb", "create-blocks-from", "openmetrics", "--quiet", source, directory / "data"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr


def import_into_victoriametrics(url: str, series: Iterable[Samples]) -> None:
    """Write series through the import API, and make them visible to queries at once."""
    body = exposition(series, milliseconds=True).encode()
    httpx.post(f"{url}/api/v1/import/prometheus", content=body, timeout=_PATIENCE).raise_for_status()
    httpx.get(f"{url}/internal/force_flush", timeout=_PATIENCE).raise_for_status()


def exposition(series: Iterable[Samples], *, milliseconds: bool) -> str:
    """Return series in the text format, samples of one metric together; times in seconds or milliseconds."""
    rows = []
    for one in sorted(series, key=lambda one: one.metric):
        labels = ",".join(f'{name}="{value}"' for name, value in sorted(one.labels.items()))
        rows += [
            f"{one.metric}{{{labels}}} {value!r} {round(at * 1000) if milliseconds else at}\n"
            for at, value in one.points
        ]
    return "".join(rows)


@contextmanager
def _running(command: list[str], log: Path, ready: str) -> Iterator[None]:
    with (
        log.open("wb") as output,
        subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT) as server,
    ):
        try:
            _until_ready(server, ready, log)
            yield
        finally:
            server.terminate()
            try:
                server.wait(timeout=_PATIENCE)
            except subprocess.TimeoutExpired:
                server.kill()


def _until_ready(server: subprocess.Popen[bytes], url: str, log: Path) -> None:
    """Wait until the server answers, watching that it still runs; fails with the end of its log otherwise."""
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until:
        if server.poll() is not None:
            break
        with suppress(httpx.HTTPError):
            if httpx.get(url, timeout=1).is_success:
                return
        time.sleep(_BETWEEN_POLLS)
    pytest.fail(f"{Path(str(server.args[0])).name} didn't come up:\n{log.read_text(errors='replace')[-2_000:]}")  # type: ignore[index]
