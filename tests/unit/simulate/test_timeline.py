"""Order, events and cuts of a small history, told by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.reread import BYTES, RESULTS, TOKENS, store_of

from dedupstats.model import ReadOnly
from dedupstats.simulate import timeline as module
from dedupstats.simulate.chunk import NO, UNKNOWN, YES, Chunk
from dedupstats.simulate.knowledge import Knowledge, Said
from dedupstats.simulate.score import Tally
from dedupstats.simulate.timeline import Scope, Timeline
from dedupstats.store import Store, open_store

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with open_store(store_of(tmp_path_factory.mktemp("reread")), read_only=True) as opened:
        yield opened


def whole(store: Store, scope: Scope = "session", knowledge: Knowledge | None = None) -> Chunk:
    (chunk,) = Timeline(store, scope, knowledge or Knowledge()).chunks()
    return chunk


def call_ids(store: Store, chunk: Chunk) -> list[str]:
    named = dict(store.query("select emission_key, call_id from emission"))
    return [named[key] for key in chunk.columns.list("emission_key")]


def events(store: Store, chunk: Chunk) -> list[tuple[str, str, str]]:
    """Before which call, what, and of which session (empty: of a context alone)."""
    before = [*call_ids(store, chunk), "end"]
    return [
        (before[arrival.row], arrival.event.kind.value, arrival.event.session)
        for arrival in chunk.arrivals
        if arrival.event.context == "" or arrival.event.kind.value in {"compaction", "turn"}
    ]


def test_time_orders_a_history_and_families_a_session(store: Store) -> None:
    # both transcripts begin at the same time, a row a second
    assert sorted(call_ids(store, whole(store))) == ["t1", "t2", "t3", "t4", "u1", "u2", "u3"]
    by_family = call_ids(store, whole(store))
    assert by_family in (
        ["t1", "t2", "t3", "t4", "u1", "u2", "u3"],
        ["u1", "u2", "u3", "t1", "t2", "t3", "t4"],
    )
    in_time = whole(store, "history")
    assert in_time.columns.list("clock") == sorted(in_time.columns.list("clock"))
    assert [call for call in call_ids(store, in_time) if call[0] == "t"] == ["t1", "t2", "t3", "t4"]


def test_events_fall_before_the_results_that_follow_them(store: Store) -> None:
    found = events(store, whole(store))
    assert [event for event in found if event[2] == "reread" and event[1] in {"turn", "compaction"}] == [
        ("t1", "turn", "reread"),
        ("t3", "turn", "reread"),
        ("t4", "compaction", "reread"),
    ]
    starts = [event for event in found if event[1] == "session_start"]
    assert sorted(starts) == [("t1", "session_start", "reread"), ("u1", "session_start", "listing")]
    order = call_ids(store, whole(store))
    ends = {session: before for before, kind, session in found if kind == "session_end"}
    # nothing follows the end of the last one, so that nobody could tell whether it was announced
    last = {"reread": "t4", "listing": "u3"}
    assert ends == {
        session: order[order.index(call) + 1] for session, call in last.items() if call != order[-1]
    }


def test_what_removes_from_sight(store: Store) -> None:
    chunk = whole(store)
    left = dict(zip(call_ids(store, chunk), chunk.columns.list("left_at"), strict=True))
    # the compaction stands before the fourth result of its context
    assert {left[call] for call in ("t1", "t2", "t3")} == {3}
    assert left["t4"] == left["u1"] > 1_000_000


def test_what_is_known_of_tools(store: Store) -> None:
    def known(knowledge: Knowledge) -> dict[str, int]:
        chunk = whole(store, knowledge=knowledge)
        tools = [chunk.tools[number] for number in chunk.columns.list("tool_no")]
        return dict(zip(tools, chunk.known.tolist(), strict=True))

    assert known(Knowledge()) == {"Read": YES, "Bash": UNKNOWN}
    assert known(Knowledge(shell_reads=True)) == {"Read": YES, "Bash": YES}
    said = {"Read": Said(ReadOnly.NO, None), "Bash": Said(None, "shell")}
    assert known(Knowledge(said)) == {"Read": NO, "Bash": UNKNOWN}
    assert set(whole(store, knowledge=Knowledge(said)).categories) >= {"shell"}


def test_sums_of_what_is_counted(store: Store) -> None:
    everything = Timeline(store, "session", Knowledge(), tokens="bytes4")
    assert everything.counted == Tally(RESULTS, BYTES, TOKENS, uncosted=RESULTS)
    assert everything.sessions == 2
    counted, values = "e.tool = $tool and e.bytes > 500", {"tool": "Read"}
    reads = Timeline(store, "session", Knowledge(), counted, values, tokens="bytes4")
    assert reads.counted == Tally(4, 4000, 1000, uncosted=4)
    assert reads.sessions == 1


def test_cuts(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Families stay whole; in order of time the cut is anywhere, and what came before is seen again."""
    in_time = call_ids(store, whole(store, "history"))
    monkeypatch.setattr(module, "CHUNK", 2)
    families = list(Timeline(store, "session", Knowledge()).chunks())
    assert sorted((chunk.start, len(chunk)) for chunk in families) == [(0, 3), (0, 4)]
    pieces = list(Timeline(store, "history", Knowledge()).chunks())
    new = [call for chunk in pieces for call in call_ids(store, chunk)[chunk.start :]]
    assert new == in_time
    assert [len(chunk) - chunk.start for chunk in pieces] == [2, 2, 2, 1]
