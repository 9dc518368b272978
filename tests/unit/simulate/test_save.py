"""Decisions in the store, and replays in several processes, against the small history told by hand."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.pipeline import Log
from support.reread import store_of

from dedupstats import Knowledge, import_paths, replay, variants
from dedupstats.analytics.replays import replayed
from dedupstats.errors import DedupstatsError, UsageError
from dedupstats.simulate import timeline, workers
from dedupstats.simulate.save import Spool
from dedupstats.store import Store, open_store

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return store_of(tmp_path_factory.mktemp("reread"))


@pytest.fixture
def path(original: Path, tmp_path: Path) -> Path:
    """A store of the test's own."""
    return Path(shutil.copy(original, tmp_path / "store.duckdb"))


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with open_store(path) as opened:
        yield opened


DECIDED = (
    "select policy, preset, call_id, action, reason, verdict, anchor_place from decision "
    "join emission using (emission_key) order by policy, preset, call_id"
)


def test_all_decisions_of_what_was_asked(store: Store) -> None:
    replay(store, variants(["docker-agent:v1"]), save="mine")
    rows = store.query(DECIDED)
    assert [row[2:] for row in rows if row[1] == "host"] == [
        ("t1", "show", "first", None, None),
        ("t2", "elide", "repeat", "sound", "in_sight"),
        # the host ends its session at each turn, and v1 does not hear of the compaction
        ("t3", "show", "first", None, None),
        ("t4", "elide", "repeat", "dangling", "gone"),
        ("u1", "show", "first", None, None),
        ("u2", "show", "not_read_only", None, None),
        ("u3", "show", "not_read_only", None, None),
    ]
    documented = {row[2]: row[5] for row in rows if row[1] == "documented" and row[3] == "elide"}
    assert documented == {"t2": "sound", "t3": "sound", "t4": "dangling"}


def test_the_columns_of_an_elision(store: Store) -> None:
    replay(store, variants(["rtk:v1"]), knowledge=Knowledge(shell_reads=True), save="mine")
    ((name, scope, settings, marker, anchor, current, knowledge),) = store.query(
        "select d.name, d.scope, d.settings ->> 'min_tokens', d.marker_bytes, a.call_id, d.is_current, "
        "d.knowledge "
        "from decision d join emission a on a.emission_key = d.anchor_key where d.action = 'elide'"
    )
    # rtk.md 1.5, written out: 900 bytes without a line end are one line
    text = (
        "rtk-dedup: identical to output at step 1 \u00b7 1 lines / ~225 tok suppressed [ls:-la] "
        "(force full: rtk proxy <cmd>)\n"
    )
    identity = store.query("select rtk_identity_bytes from emission where call_id = 'u3'")[0][0]
    assert marker == len(text.encode()) - len("ls:-la") + identity
    assert (name, scope, settings, anchor, current) == ("mine", "session", "200", "u2", True)
    assert knowledge == '{"shell_reads":true}'
    # the hook is asked about shell commands alone
    assert store.query("select count(*) from decision") == [(2,)]


def test_the_same_name_replaces(store: Store) -> None:
    replay(store, variants(["docker-agent", "exact"]), save="mine")
    replay(store, variants(["ceiling"]), save="other")
    replay(store, variants(["safe"]), save="mine")
    assert store.query("select name, policy, count(*) from decision group by all order by all") == [
        ("mine", "safe", 7),
        ("other", "ceiling", 7),
    ]
    assert store.query("select count(*) from saved.replay") == [(2,)]


def test_nothing_is_saved_by_half(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    replay(store, variants(["safe"]), save="mine")

    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Store, "append", fail)
    with pytest.raises(KeyboardInterrupt):
        replay(store, variants(["ceiling"]), save="mine")
    assert store.query("select distinct policy from decision") == [("safe",)]


def test_an_import_makes_decisions_those_of_another_history(
    store: Store, original: Path, tmp_path: Path
) -> None:
    replay(store, variants(["safe"]), save="mine")
    # the same files again: nothing to read
    import_paths(store, [original.parent])
    assert store.query("select bool_and(is_current) from decision") == [(True,)]
    more = Log("more")
    more.read("v1", "/c", "c" * 300)
    import_paths(store, [more.write(tmp_path / "logs" / "more.jsonl")])
    assert store.query("select count(*), bool_or(is_current) from decision") == [(7, False)]


def test_any_number_of_processes_finds_and_saves_the_same(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each family a stretch of its own, so that there is something to part."""
    monkeypatch.setattr(timeline, "CHUNK", 1)
    chosen = variants(["docker-agent:v1", "rtk", "exact"])
    found, saved = [], []
    for jobs in (1, 2, 3):
        folder = path.parent / f"spool-{jobs}"
        folder.mkdir()
        told: list[tuple[int, int]] = []
        with open_store(path, read_only=True) as store:
            found.append(
                replayed(
                    store,
                    chosen,
                    jobs=jobs,
                    spool=Spool(folder),
                    progress=lambda done, total, told=told: told.append((done, total)),
                )
            )
        assert told == [(1, 2), (2, 2)]
        with open_store(path) as store:
            kept = Spool(folder).keep(store, "mine", found[-1].simulation, Knowledge(), 0)
            # unordered: rows stand in the order of arrival too
            saved.append(store.query("select * exclude (saved_at) from decision"))
        assert kept == len(saved[-1])
    assert found[0] == found[1] == found[2]
    assert saved[0] == saved[1] == saved[2]


def test_a_process_that_is_ended_is_told(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As when the system lacks memory: here it cannot begin, as a job is no number."""
    monkeypatch.setattr(workers, "_begin", int)
    with open_store(path, read_only=True) as store, pytest.raises(DedupstatsError, match="was ended before"):
        replayed(store, variants(["safe"]), jobs=2)


def test_one_history_is_one_process(store: Store) -> None:
    with pytest.raises(UsageError, match="cannot be parted"):
        replay(store, variants(["safe"]), scope="history", jobs=2)
    with pytest.raises(UsageError, match="open for saving"):
        replay(store, variants(["safe"]), jobs=2, save="mine")


def test_a_store_without_results_in_the_window_saves_nothing(store: Store) -> None:
    store.query("delete from raw.emission where call_id not in ('u1')")
    found = replay(store, variants(["rtk:v1"]), save="mine")
    assert found.rows[0][1].asked.results == 0
    assert store.query("select count(*) from decision") == [(0,)]
