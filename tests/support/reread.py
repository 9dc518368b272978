"""A small history whose elisions are told by hand: two sessions, seven results.

Session `reread`, one file of 1,000 bytes read four times (calls t1 to t4): t2 in the turn of t1, t3 in the
next turn, t4 behind a compaction. Session `listing`: a file of 500 bytes (u1), and `ls -la` twice with the
same 900 bytes (u2, u3).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dedupstats import import_paths, open_store
from support.pipeline import Log

if TYPE_CHECKING:
    from pathlib import Path

RESULTS, BYTES, TOKENS = 7, 4 * 1000 + 500 + 2 * 900, 4 * 250 + 125 + 2 * 225


def transcripts(folder: Path) -> list[Path]:
    """The files of the history."""
    reread = Log("reread")
    reread.user("go")
    reread.read("t1", "/a", "a" * 1000)
    reread.read("t2", "/a", "a" * 1000)
    reread.say("done")
    reread.user("next")
    reread.read("t3", "/a", "a" * 1000)
    reread.compact()
    reread.read("t4", "/a", "a" * 1000)
    listing = Log("listing", cwd="/home/u/other")
    listing.user("list")
    listing.read("u1", "/b", "b" * 500)
    listing.bash("u2", "ls -la", "c" * 900)
    listing.bash("u3", "ls -la", "c" * 900)
    return [log.write(folder / f"{log.session}.jsonl") for log in (reread, listing)]


def store_of(folder: Path) -> Path:
    """A store with the history."""
    path = folder / "store.duckdb"
    with open_store(path) as store:
        import_paths(store, transcripts(folder))
    return path
