"""What holds for every test: how long an example of a property takes is no property of ours."""

from hypothesis import HealthCheck, settings

settings.register_profile("zhizhi", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("zhizhi")
