"""For all tests: property tests try the same examples each time, and a compilation in one of them is no failure."""

from hypothesis import settings

settings.register_profile("mandala", deadline=None, derandomize=True)
settings.load_profile("mandala")
