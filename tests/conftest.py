"""What holds for every test: strict checkpoints; how long an example of a property takes is no property of ours."""

import os

from hypothesis import HealthCheck, settings

os.environ["LANGGRAPH_STRICT_MSGPACK"] = "true"
slow = [HealthCheck.too_slow]
settings.register_profile("zhizhi", deadline=None, suppress_health_check=slow, derandomize=True)
settings.register_profile("explore", deadline=None, suppress_health_check=slow)
settings.load_profile("zhizhi")
"""The same examples everywhere; `--hypothesis-profile explore` looks for new ones."""
