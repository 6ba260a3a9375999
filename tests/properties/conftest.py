"""Draw the same examples in every run; the profile `soak` draws fresh ones (`make soak`)."""

from hypothesis import HealthCheck, settings

# what only says that the machine is slow, and that fixtures serve all examples of a test
QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture]

settings.register_profile('repeatable', derandomize=True, deadline=None, database=None, suppress_health_check=QUIET)
settings.register_profile('soak', settings.get_profile('repeatable'), derandomize=False, print_blob=True)
settings.load_profile('repeatable')
