"""For all tests."""

from hypothesis import settings

# The machine is shared and noisy: no test fails because of the clock.
settings.register_profile("cepheid", deadline=None)
settings.load_profile("cepheid")
