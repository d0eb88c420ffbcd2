"""The live incident for a reader: what happens on standard error, the report on standard output."""

import argparse
import signal
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import FrameType

from examples.live.incident import QUESTION, Shop, diagnose, live_shop
from examples.live.processes import NotReady
from examples.live.watching import ALERT

_WORDS = {
    "en": {
        "starting": "starting a shop (order → payment → bank), Prometheus, Alertmanager, a store of logs on loopback …",
        "healthy": "orders are served; hours of a healthy past stand behind them",
        "broken": "payment is deployed with a shorter timeout: commit {}",
        "waiting": "customers go on ordering; waiting for the alert {} …",
        "firing": "the alert fires; asking: zhizhi diagnose “{}”",
        "told_by": "all that it is told, by the environment:",
        "ended": "everything is ended",
    },
    "zh": {
        "starting": "正在本机启动商店（order → payment → bank）、Prometheus、Alertmanager 与日志存储 …",
        "healthy": "下单正常；之前几个小时的健康历史已就位",
        "broken": "payment 发布了更短的超时：提交 {}",
        "waiting": "顾客继续下单；等待告警 {} …",
        "firing": "告警已触发；提问：zhizhi diagnose “{}”",
        "told_by": "它只从环境变量得知：",
        "ended": "已全部停止",
    },
}


def main() -> int:
    """Show the incident; returns the exit code of `zhizhi diagnose`, 2 where something is missing, 130 at Ctrl-C."""
    parser = argparse.ArgumentParser(prog="examples/live/run", description="A live incident, diagnosed.")
    parser.add_argument("--locale", choices=sorted(_WORDS), default="zh", help="the language of the report")
    locale = parser.parse_args().locale
    words = _WORDS[locale]
    signal.signal(signal.SIGTERM, _interrupt)

    def say(key: str, *values: str) -> None:
        sys.stderr.write(f"» {words[key].format(*values)}\n")
        sys.stderr.flush()

    try:
        with tempfile.TemporaryDirectory(prefix="zhizhi-shop-") as home:
            code = _shown(Path(home), locale, say)
    except NotReady as missing:
        sys.stderr.write(f"examples/live: {missing}\n")
        return 2
    except KeyboardInterrupt:
        code = 130
    say("ended")
    return code


def _shown(home: Path, locale: str, say: Callable[..., None]) -> int:
    say("starting")
    with live_shop(home) as shop:
        shop.until_served("200")
        say("healthy")
        say("broken", shop.break_payment()[:12])
        say("waiting", ALERT)
        shop.until_noticed()
        say("firing", QUESTION[locale])
        _tell_environment(shop, say)
        with diagnose(shop, QUESTION[locale], "--locale", locale) as program:
            try:
                return program.wait()
            except KeyboardInterrupt:
                program.terminate()
                raise


def _tell_environment(shop: Shop, say: Callable[..., None]) -> None:
    say("told_by")
    for name, value in shop.environment().items():
        sys.stderr.write(f"    {name}={value}\n")
    sys.stderr.write("\n")
    sys.stderr.flush()


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
