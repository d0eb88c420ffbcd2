"""What holds for every test: strict checkpoints; how long an example of a property takes is no property of ours."""

import os

from hypothesis import HealthCheck, settings

os.environ["LANGGRAPH_STRICT_MSGPACK"] = "true"
settings.register_profile("zhizhi", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("zhizhi")
