"""A live incident from end to end: a service of ours is broken by a deploy, scraped, alerted, and diagnosed."""

import json
import subprocess
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
