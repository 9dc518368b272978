"""Settings of all tests."""

from __future__ import annotations

from hypothesis import settings

# no test is timed, and the same commit runs the same examples
settings.register_profile("dedupstats", deadline=None, derandomize=True)
settings.load_profile("dedupstats")
