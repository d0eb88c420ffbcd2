"""A live incident from end to end: the shop runs, a deploy breaks it, an alert fires, Zhizhi looks for the cause.

`examples/live/run` shows it to a reader; the tests hold what it says.
"""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from examples.live import past, shop, watching
from examples.live.processes import fetch, free_port, running, until

QUESTION = {"zh": "order 服务大量报错", "en": "order service: many requests fail"}


@dataclass
class Shop:
    """The running shop and what watches it. `urls`: the addresses by what they are."""

    home: Path
    ports: Mapping[str, int]
    urls: Mapping[str, str]
    code: past.Code

    def environment(self) -> dict[str, str]:
        """Return the variables by which Zhizhi is told where the evidence is; there is nothing else to tell."""
        return {
            "HARNESS_SOURCE_PROMETHEUS_URL": self.urls["prometheus"],
            "HARNESS_SOURCE_ALERTMANAGER_URL": self.urls["alertmanager"],
            "HARNESS_SOURCE_OPENSEARCH_URL": self.urls["logs"],
            "HARNESS_SOURCE_OPENSEARCH_INDEX": watching.LOG_INDEX,
            "HARNESS_SOURCE_GIT_PATH": str(self.code.repository),
            "HARNESS_SOURCE_DEPLOYS_PATH": str(self.code.deploys),
        }

    def break_payment(self) -> str:
        """Deploy the change that breaks the shop: a timeout shorter than the bank is fast. Returns its SHA."""
        sha = self.code.shorten_timeout()
        self.code.deploy("payment", sha)
        return sha

    def until_served(self, status: str) -> None:
        """Return once orders were answered with `status`; raises NotReady."""
        wanted = f'http_response_status_code="{status}"'.encode()
        url = f"http://127.0.0.1:{self.ports['order']}/metrics"
        until(f"an order answered {status}", lambda: wanted in (fetch(url) or b""))

    def until_noticed(self) -> None:
        """Return once the alert has fired and the break is old enough to be seen in a graph; raises NotReady."""
        watching.until_firing(self.urls["alertmanager"])
        watching.until_seen(self.urls["prometheus"])


def log_of(home: Path, name: str) -> Path:
    """Return the file into which a service writes its log."""
    return home / f"{name}.ndjson"


@contextmanager
def service(of: Shop, name: str, calls: str | None = None) -> Iterator[None]:
    """Run one service of the shop."""
    url = f"http://127.0.0.1:{of.ports[name]}"
    command: list[str | Path] = [sys.executable, "-P", shop.__file__, name, "--port", str(of.ports[name])]
    if calls:
        command += ["--calls", f"http://127.0.0.1:{of.ports[calls]}{shop.ROUTES[calls]}"]
        command += ["--config", of.code.deployed(name), "--log", log_of(of.home, name)]
    with running(command, of.home / f"{name}.log", url):
        yield


@contextmanager
def live_shop(home: Path) -> Iterator[Shop]:
    """Give the shop, healthy and watched, with hours of a past; everything is ended afterwards.

    `home`: an empty directory for all of it. Raises NotReady where a program is missing or doesn't come up.
    """
    programs = watching.programs()
    watching.log_store_program()
    now = datetime.now(UTC)
    ports = {name: free_port() for name in shop.ROUTES}
    with ExitStack() as stack:
        urls = {
            "alertmanager": stack.enter_context(watching.alertmanager(home, programs["alertmanager"])),
            "logs": stack.enter_context(watching.log_store(home)),
        }
        watching.store_logs(urls["logs"], past.logs(now))
        past.backfill(home, programs["promtool"], now, ports)
        scraping = watching.prometheus(
            home,
            programs["prometheus"],
            targets=ports,
            rules=watching.RULES,
            alertmanager_url=urls["alertmanager"],
        )
        urls["prometheus"] = stack.enter_context(scraping)
        of = Shop(home, ports, urls, past.Code(home, now))
        stack.enter_context(service(of, "bank"))
        stack.enter_context(service(of, "payment", calls="bank"))
        stack.enter_context(service(of, "order", calls="payment"))
        stack.enter_context(watching.shipping(urls["logs"], [log_of(home, name) for name in ("payment", "order")]))
        customers = [sys.executable, "-P", shop.__file__, "customers", "--rate", str(past.RATE)]
        to = f"http://127.0.0.1:{ports['order']}{shop.ROUTES['order']}"
        stack.enter_context(running([*customers, "--calls", to], home / "customers.log"))
        yield of


def diagnose(of: Shop, question: str, *options: str, output: int | None = None) -> "subprocess.Popen[str]":
    """Start `zhizhi diagnose`, told by nothing but environment variables where the evidence is.

    `output`: where its report goes (`subprocess.PIPE`), by default our own standard output. What it keeps of the run
    lies with everything else below the shop's `home`, where no settings file of anybody's is found either.
    """
    command = [sys.executable, "-P", "-m", "app", "diagnose", question, *options]
    own = {name: value for name, value in os.environ.items() if not name.startswith(("HARNESS_", "OPENAI_"))}
    environ = own | of.environment() | {"XDG_STATE_HOME": str(of.home / "state")}
    return subprocess.Popen(command, cwd=of.home, env=environ, stdout=output, text=True)  # noqa: S603 - our own program
