"""The limits of one run, fixed when it opens.

Source: spec "Consecutive no-gain threshold SHALL be fixed per Run"; contract, "Run and thread" and "Budgets".
"""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class _Fixed(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Thresholds(_Fixed):
    """When collection is told to stop."""

    stop_after_consecutive_no_gain: int = Field(default=2, ge=1)
    stop_after_consecutive_protocol_violations: int = Field(default=3, ge=1)


class Budgets(_Fixed):
    """The six budgets. Bytes are UTF-8 bytes of observations; seconds are wall time of a run."""

    max_model_calls: int = Field(default=12, ge=1)
    max_tool_calls: int = Field(default=10, ge=1)
    max_tool_requests: int = Field(default=16, ge=1)
    max_tokens: int = Field(default=60_000, ge=1)
    max_observation_bytes: int = Field(default=256 * 1024, ge=1)
    max_seconds: float = Field(default=180.0, gt=0)


class Limits(Budgets, Thresholds):
    """Thresholds, budgets, attempts and waits of a run. Copied from the settings by `open_run`, then fixed."""

    model_attempts: int = Field(default=2, ge=1)
    """Technical attempts of one model call; each is an admitted call of its own."""
    tool_repeats: int = Field(default=2, ge=0)
    """How often a scope whose query ended in ERROR may be asked again."""
    model_timeout_seconds: float = Field(default=60.0, gt=0)
    tool_timeout_seconds: float = Field(default=30.0, gt=0)
    observation_bytes_each: int = Field(default=8 * 1024, ge=256)
    record_ttl_seconds: float = Field(default=24 * 3600.0, gt=0)
    conclusion_after_stop: Literal["verify", "fallback"] = "verify"
    model_fallback: Literal["offline", "none"] = "offline"
