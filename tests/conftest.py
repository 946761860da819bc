"""Settings shared by all tests."""

import os

# Tests run side by side; threads of numerical libraries would only get in each other's way. Set before any is loaded.
os.environ.setdefault("OMP_NUM_THREADS", "1")

from hypothesis import HealthCheck, settings

# Compiled kernels make the first example slow, so single examples have no deadline. On a build server (CI is set)
# the same examples are tried every time; elsewhere new ones are.
settings.register_profile(
    "house",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=bool(os.environ.get("CI")),
)
settings.load_profile("house")
