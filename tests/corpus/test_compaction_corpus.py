"""Recorded automatic compactions of public logs, reproduced by the trigger's rule; and none invented."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dedupstats import import_paths, open_store, variants
from dedupstats.analytics.compactions import compactions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dedupstats import Store

CORPUS = (Path(__file__).resolve().parents[3] / "shared" / "corpus").resolve()

pytestmark = pytest.mark.skipif(not CORPUS.is_dir(), reason=f"no corpus at {CORPUS}")


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    with open_store(":memory:") as store:
        folders = [folder for folder in (CORPUS / "claude_code").iterdir() if folder.name != "_fixtures"]
        import_paths(store, sorted(folders), environment={})
        yield store


def test_recorded_compactions_and_no_others(store: Store) -> None:
    """token-economics.md 4.2: on the corpus 3 of 3 contexts, and none invented in 151."""
    recorded = "select count(*) from boundary where kind = 'compaction' and trigger = 'auto'"
    assert store.query(recorded) == [(3,)]
    # nothing is kept out by a policy that shows everything
    (found,) = compactions(store, variants(["keep-all"]))
    # one more is of a version whose log does not tell whether it was by hand
    assert (found.recorded, found.untold) == (4, 1)
    assert (found.reproduced, found.under_policy, found.exact, found.not_reproduced) == (3, 3, 3, 1)
    assert [(one.recorded, one.replayed) for one in found.unlike] == [(1, 0)]
    assert found.contexts > 143
    assert found.left_out < 10
