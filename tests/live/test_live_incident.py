"""A live incident from end to end: a service of ours is broken by a deploy, scraped, alerted, and diagnosed."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from examples.live.incident import QUESTION, diagnose, live_shop
from examples.live.processes import NotReady
from examples.live.watching import log_store_program, programs
from graph.contract.release import Release


def installed() -> None:
    """Skip, naming the package, where a program is missing."""
    try:
        programs()
        log_store_program()
    except NotReady as missing:
        pytest.skip(str(missing))


def test_a_broken_deploy_is_found_from_live_evidence_with_environment_variables_alone(tmp_path: Path) -> None:
    installed()
    with live_shop(tmp_path) as shop:
        shop.until_served("200")
        sha = shop.break_payment()
        shop.until_noticed()
        with diagnose(shop, QUESTION["en"], "--locale", "en", "--json", output=subprocess.PIPE) as program:
            report, _ = program.communicate()
    release = Release.model_validate(json.loads(report))
    assert program.returncode == 0
    assert release.outcome == "SUCCESS", release.text
    assert release.draft is not None
    conclusion = release.draft.conclusion
    assert conclusion is not None
    assert conclusion.change_id == sha
    assert conclusion.component == "payment"
    assert "order" in conclusion.affected


def shown(home: Path, **environ: str) -> "subprocess.Popen[str]":
    """Start the example as a reader does, everything of it below `home`."""
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "examples.live", "--locale", "en"],
        cwd=home,
        env={**os.environ, "TMPDIR": str(home), **environ},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_example_leaves_nothing_behind(tmp_path: Path, ending: signal.Signals) -> None:
    installed()
    with shown(tmp_path) as program:
        assert program.stderr is not None
        for line in program.stderr:
            if "waiting for the alert" in line:
                assert running_below(tmp_path)
                program.send_signal(ending)
                break
        report, told = program.communicate()
    assert (program.returncode, report) == (130, "")
    assert told == "» everything is ended\n"
    assert running_below(tmp_path) == []
    assert list(tmp_path.iterdir()) == []


def running_below(home: Path) -> list[str]:
    """The command lines of the processes that work with files below `home`."""
    lines = [read_line(process / "cmdline") for process in Path("/proc").glob("[0-9]*")]
    return [line for line in lines if str(home) in line]


def read_line(path: Path) -> str:
    try:
        return path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:  # ended while we looked
        return ""


def test_a_missing_program_is_named_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "git").symlink_to(shutil.which("git") or "/bin/true")
    with shown(tmp_path, PATH=str(tmp_path)) as program:
        report, told = program.communicate()
    assert (program.returncode, report) == (2, "")
    assert told.splitlines()[-1] == (
        "examples/live: install the Debian packages prometheus, prometheus-alertmanager first "
        "(apt-get install prometheus prometheus-alertmanager)"
    )
