"""diagnosis-information-gain-stop-contract: Consecutive no-gain threshold SHALL be fixed per Run."""

from pathlib import Path

import pytest

from graph.setting_errors import SettingsError
from graph.settings import HarnessSettings, load_settings
from graph.wiring import build_graph
from tests.support.driving import rig
from tests.support.payload import spoken
from tests.support.scripted import ScriptedTool, no_conclusion, nothing, request


async def test_default_configuration_is_used() -> None:
    """diagnosis-information-gain-stop-contract / Consecutive no-gain threshold SHALL be fixed per Run / Default
    configuration is used.
    """
    driven = rig(
        *[request(target) for target in "abc"],
        no_conclusion(),
        tools=ScriptedTool(nothing()),
        settings=HarnessSettings(),
    )
    run = await driven.run()
    assert driven.executed == ["a", "b"]
    assert run.state["limits"]["stop_after_consecutive_no_gain"] == 2
    assert run.state["consecutive_no_gain"] == 2
    assert run.state["collection_state"] == "SATURATED"
    assert "stop_after_consecutive_no_gain" not in spoken(driven.diagnosis.seen)


@pytest.mark.parametrize("value", ["0", "-1"])
def test_invalid_threshold_is_configured(value: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """diagnosis-information-gain-stop-contract / Consecutive no-gain threshold SHALL be fixed per Run / Invalid
    threshold is configured.
    """
    monkeypatch.setenv("HARNESS_CHAT_STOP_AFTER_CONSECUTIVE_NO_GAIN", value)
    with pytest.raises(SettingsError, match=r"harness\.chat\.stop-after-consecutive-no-gain") as refused:
        build_graph()
    assert "\n" not in str(refused.value)
    monkeypatch.delenv("HARNESS_CHAT_STOP_AFTER_CONSECUTIVE_NO_GAIN")
    toml = tmp_path / "settings.toml"
    toml.write_text(f"[harness.chat]\nstop-after-consecutive-no-gain = {value}\n", encoding="utf-8")
    monkeypatch.setenv("HARNESS_CONFIG_FILE", str(toml))
    with pytest.raises(SettingsError, match="HARNESS_CHAT_STOP_AFTER_CONSECUTIVE_NO_GAIN"):
        load_settings()
