"""Settings of all tests, and what many of them start from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import settings
from support.snapshot import duplicates, unbalanced

from dedupstats import open_store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dedupstats import Store

# no test is timed, and the same commit runs the same examples
settings.register_profile("dedupstats", deadline=None, derandomize=True)
settings.load_profile("dedupstats")


@pytest.fixture
def store() -> Iterator[Store]:
    """A store in memory, which holds at the end what every store must."""
    with open_store(":memory:") as opened:
        yield opened
        assert duplicates(opened) == {}
        assert unbalanced(opened) == []
