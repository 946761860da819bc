"""Settings shared by all tests."""

from hypothesis import HealthCheck, settings

# Compiled kernels make the first example slow, so single examples have no deadline.
settings.register_profile("house", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("house")
