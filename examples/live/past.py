"""The healthy past of the shop, which no one can wait for: hours of metrics and logs, and the history of its code.

What is made here ends where the live part begins; the break, what it does and the alert are real.
"""

import json
import math
import os
import random
import shutil
import subprocess
from bisect import bisect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from examples.live.shop import BANK_SECONDS, BUCKETS, CLIENT, ROUTES, SERVER

HOURS = 3.5
STEP = 15
"""Seconds between two samples of the past."""
RATE = 8.0
"""Requests a second, as many as the live customers send."""
HEALTHY_TIMEOUT, BROKEN_TIMEOUT = "3000ms", "300ms"

_FAILURES = {"bank": "500", "payment": "504", "order": "502"}
_CALLS = {"payment": "bank", "order": "payment"}
_CALLS_FAIL = {"payment": 'error_type="timeout"', "order": 'error_type="504",http_response_status_code="504"'}
_LOG_EVERY = timedelta(seconds=20)


@dataclass(frozen=True)
class _Sort:
    """One histogram: its metric and labels; whether anything is counted in it while all is well."""

    metric: str
    labels: str
    counts: bool


@dataclass(frozen=True)
class _Moment:
    """What a histogram of all requests holds at a time: requests up to each bound, and seconds altogether."""

    at: int
    counts: tuple[int, ...]
    seconds: float


def metrics(now: datetime, ports: dict[str, int]) -> str:
    """Return hours of metrics up to `now` (aware) as OpenMetrics text: requests at a steady rate, none that fails.

    `ports`: where the services are scraped, which makes their series the live ones'.
    """
    moments = list(_moments(now))
    sorts = [sort for service, port in ports.items() for sort in _sorts(service, port)]
    lines = [line for sort in sorts for line in _histogram(sort, moments)]
    lines.sort(key=lambda line: line.partition("{")[0])
    return "\n".join([*lines, "# EOF", ""])


def _moments(now: datetime) -> Iterator[_Moment]:
    """Yield the history of the requests. One request passes all services and lasts as long as the bank takes."""
    counts, seconds = [0] * (len(BUCKETS) + 1), 0.0
    for at in range(int(now.timestamp() - HOURS * 3600), int(now.timestamp()), STEP):
        requests = max(0, round(random.gauss(RATE * STEP, (RATE * STEP) ** 0.5)))
        durations = sorted(random.uniform(*BANK_SECONDS) for _ in range(requests))  # noqa: S311 - no secret
        counts = [count + bisect(durations, le) for count, le in zip(counts, (*BUCKETS, math.inf), strict=True)]
        seconds += sum(durations)
        yield _Moment(at, tuple(counts), seconds)


def _sorts(service: str, port: int) -> Iterator[_Sort]:
    target = f'instance="127.0.0.1:{port}",job="{service}"'
    for status in ("200", _FAILURES[service]):
        labels = f'http_request_method="POST",http_response_status_code="{status}",http_route="{ROUTES[service]}"'
        yield _Sort(SERVER, f"{labels},{target}", status == "200")
    if callee := _CALLS.get(service):
        yield _Sort(CLIENT, f'http_response_status_code="200",server_address="{callee}",{target}', True)
        yield _Sort(CLIENT, f'{_CALLS_FAIL[service]},server_address="{callee}",{target}', False)


def _histogram(sort: _Sort, moments: Sequence[_Moment]) -> Iterator[str]:
    """Yield the samples of one histogram; failures are none."""
    told = moments if sort.counts else [replace(one, counts=(0,) * len(one.counts), seconds=0.0) for one in moments]
    for place, bound in enumerate((*map(str, BUCKETS), "+Inf")):
        for one in told:
            yield f'{sort.metric}_bucket{{{sort.labels},le="{bound}"}} {one.counts[place]} {one.at}'
    for one in told:
        yield f"{sort.metric}_count{{{sort.labels}}} {one.counts[-1]} {one.at}"
        yield f"{sort.metric}_sum{{{sort.labels}}} {one.seconds:.3f} {one.at}"


def backfill(home: Path, promtool: str, now: datetime, ports: dict[str, int]) -> None:
    """Write the past of the metrics into `home/data`, where a Prometheus will find it."""
    text = home / "past.om"
    text.write_text(metrics(now, ports), encoding="utf-8")
    _run([promtool, "tsdb", "create-blocks-from", "openmetrics", "--quiet", str(text), str(home / "data")], home)


def logs(now: datetime) -> Iterator[dict[str, str]]:
    """Yield the log records of the past up to `now` (aware), in the form of the live ones."""
    at = now - timedelta(hours=HOURS)
    while at < now:
        for service, message in (("order", "/order done"), ("payment", "/pay done")):
            yield {
                "@timestamp": at.isoformat(timespec="milliseconds"),
                "service.name": service,
                "log.level": "INFO",
                "message": message,
                "trace_id": f"{random.getrandbits(128):032x}",
            }
        at += _LOG_EVERY


class Code:
    """The shop's repository, what of it is deployed, and the file in which deploys are recorded, all below `home`."""

    def __init__(self, home: Path, now: datetime) -> None:
        self._home = home
        self.repository = home / "repository"
        self.deploys = home / "deploys.ndjson"
        self._now = now
        self._make()

    def deployed(self, service: str) -> Path:
        """Return where the configuration lies that a service runs with."""
        return self._home / f"{service}.yml"

    def deploy(self, service: str, sha: str) -> None:
        """Bring a service's configuration, as it stands in the repository, to where it runs, and record that."""
        partial = self._home / f"{service}.new"
        shutil.copyfile(self._config(service), partial)
        self._record(service, sha, datetime.now(UTC))
        partial.replace(self.deployed(service))

    def shorten_timeout(self) -> str:
        """Commit the change that breaks the shop; returns its SHA."""
        config = self._config("payment")
        config.write_text(config.read_text(encoding="utf-8").replace(HEALTHY_TIMEOUT, BROKEN_TIMEOUT), encoding="utf-8")
        return self._commit("payment: fail fast, one timeout for all channels", datetime.now(UTC))

    def _record(self, service: str, sha: str, at: datetime) -> None:
        """Write down that a commit went live."""
        record = {"timestamp": at.isoformat(timespec="seconds"), "service": service, "commit_sha": sha}
        record["version"] = f"{at:%Y.%m.%d-%H%M}"
        with self.deploys.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")

    def _config(self, service: str) -> Path:
        return self.repository / service / "config.yml"

    def _make(self) -> None:
        """Make the history: the code itself, an innocent change that went live, and one that nobody deployed."""
        self.repository.mkdir()
        self._git("init", "--quiet", "--initial-branch=main")
        for service in ("payment", "order"):
            self._config(service).parent.mkdir()
            callee, timeout = _CALLS[service], HEALTHY_TIMEOUT if service == "payment" else "5000ms"
            text = f"{callee}:\n  read-timeout: {timeout}\nlog:\n  channel: false\n"
            self._config(service).write_text(text, encoding="utf-8")
        first = self._commit("order and payment", self._now - timedelta(days=2))
        for service in ("payment", "order"):
            self._record(service, first, self._now - timedelta(days=2))
        config = self._config("order")
        config.write_text(config.read_text(encoding="utf-8").replace("false", "true"), encoding="utf-8")
        told = self._commit("order: the log tells the channel", self._now - timedelta(minutes=65))
        self._record("order", told, self._now - timedelta(minutes=40))
        (self.repository / "README.md").write_text("On call: see the roster.\n", encoding="utf-8")
        self._commit("Where the roster is", self._now - timedelta(minutes=25))
        for service in ("payment", "order"):
            shutil.copyfile(self._config(service), self.deployed(service))

    def _commit(self, message: str, at: datetime) -> str:
        self._git("add", "--all")
        self._git("commit", "--quiet", "--message", message, at=at)
        return self._git("rev-parse", "HEAD").strip()

    def _git(self, *arguments: str, at: datetime | None = None) -> str:
        """Run git without anybody's own configuration."""
        own = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        for role in ("AUTHOR", "COMMITTER"):
            own |= {f"GIT_{role}_NAME": "Shop", f"GIT_{role}_EMAIL": "shop@example.com"}
            own |= {f"GIT_{role}_DATE": at.isoformat()} if at else {}
        return _run([shutil.which("git") or "git", *arguments], self.repository, own)


def _run(command: Sequence[str], directory: Path, own: dict[str, str] | None = None) -> str:
    environ = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | (own or {})
    done = subprocess.run(  # noqa: S603 - this module's own commands
        command, cwd=directory, env=environ, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]}: {done.stderr.strip()[-500:]}")
    return done.stdout
