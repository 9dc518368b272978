"""What was in sight of a result: hand-worked cases, and random trees against the rule taken word for word."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.claude import CLEAR_CAVEAT, Transcript, of, records, sights
from support.claude_walk import Walk

from dedupstats.model import Boundary, BoundaryKind, Emission, Request

if TYPE_CHECKING:
    from dedupstats.model import Record

X = "x" * 300


def read(tmp_path: Path, transcript: Transcript) -> list[Record]:
    return records(transcript.write(tmp_path / f"{transcript.session}.jsonl"))


def seen(found: list[Record]) -> dict[str, set[str]]:
    return {call: calls for (_, call), calls in sights(found).items()}


def kinds(found: list[Record]) -> list[BoundaryKind]:
    return [boundary.kind for boundary in of(Boundary, found)]


# -- trees ----------------------------------------------------------------------------------------


def test_results_beside_the_chain_are_in_sight(tmp_path: Path) -> None:
    """With parallel calls the next call hangs on the call, so its result is a leaf (14 % of results)."""
    t = Transcript()
    t.user("hi")
    first = t.call("t1", "Read", {"file_path": "a"}, "m1")
    t.result("t1", X)
    t.rewind(first)
    second = t.call("t2", "Read", {"file_path": "b"}, "m1")
    t.result("t2", X)
    t.rewind(second)
    t.read("t3", "c", X, "m2")
    found = read(tmp_path, t)
    assert seen(found) == {"t1": set(), "t2": {"t1"}, "t3": {"t1", "t2"}}
    assert kinds(found) == []


def test_a_missing_parent_is_the_row_before(tmp_path: Path) -> None:
    t = Transcript()
    t.user("hi")
    t.read("t1", "a", X)
    t.call("t2", "Read", {"file_path": "b"}, parent="never written")
    t.result("t2", X)
    assert seen(read(tmp_path, t))["t2"] == {"t1"}


def test_a_result_may_stand_before_its_call(tmp_path: Path) -> None:
    t = Transcript()
    t.user("hi")
    t.read("t1", "a", X)
    above = t.tip
    t.result("t2", X, parent="call of t2")
    t.call("t2", "Read", {"file_path": "b"}, "m2", parent=above, uuid="call of t2")
    t.rewind("u4")
    t.read("t3", "c", X, "m3")
    found = read(tmp_path, t)
    assert seen(found) == {"t1": set(), "t2": {"t1"}, "t3": {"t1", "t2"}}
    tool_keys = {emission.tool_key for emission in of(Emission, found)}
    assert len(tool_keys) == 1  # t2 knows its tool


def test_two_rows_that_name_each_other_do_not_hang(tmp_path: Path) -> None:
    t = Transcript()
    t.user("hi")
    t.result("t1", X, uuid="a", parent="b")
    t.call("t1", "Read", {"file_path": "a"}, uuid="b", parent="a")
    t.read("t2", "b", X)
    assert seen(read(tmp_path, t)) == {"t1": set(), "t2": {"t1"}}


def test_rewind_takes_the_branch_out(tmp_path: Path) -> None:
    """R02: the branch that was left stays in the file and is out of sight."""
    t = Transcript()
    above = t.user("first")
    t.read("t1", "a", X)
    t.rewind(above)
    t.user("other way")
    t.read("t2", "a", X)
    found = read(tmp_path, t)
    (boundary,) = of(Boundary, found)
    assert (boundary.kind, boundary.line, boundary.at_ordinal, boundary.removed) == (
        BoundaryKind.REWIND,
        4,
        1,
        (0,),
    )
    assert seen(found)["t2"] == set()


def test_an_edited_prompt_is_a_rewind_even_if_it_removes_nothing(tmp_path: Path) -> None:
    t = Transcript()
    t.user("hi")
    answer = t.read("t1", "a", X)
    t.user("do it")
    t.assistant("API Error: Request was aborted.", model="<synthetic>")
    t.rewind(answer)
    t.user("do it now")
    t.read("t2", "b", X)
    found = read(tmp_path, t)
    (boundary,) = of(Boundary, found)
    assert (boundary.kind, boundary.line, boundary.removed) == (BoundaryKind.REWIND, 6, ())
    assert seen(found)["t2"] == {"t1"}


def test_a_result_and_its_next_call_below_one_call_are_no_rewind(tmp_path: Path) -> None:
    t = Transcript()
    t.user("hi")
    call = t.call("t1", "Read", {"file_path": "a"}, "m1")
    t.result("t1", X)
    t.rewind(call)
    t.call("t2", "Read", {"file_path": "b"}, "m1")
    t.result("t2", X)
    t.user("and now?")
    t.say("done")
    assert kinds(read(tmp_path, t)) == []


def test_a_branch_that_comes_back_stands_there_once_more(tmp_path: Path) -> None:
    """Two runs below one prompt, overlapping in line order: only the walk gets that right."""
    t = Transcript()
    top = t.user("hi")
    left = t.read("t1", "a", X, "m1")
    t.rewind(top)
    t.read("t2", "b", X, "m2")
    t.rewind(left)
    t.user("go on")
    t.read("t3", "c", X, "m3")
    found = read(tmp_path, t)
    assert seen(found) == {"t1": set(), "t2": set(), "t3": {"t1"}}
    line = [(e.ordinal, e.call_id, e.line, e.is_return) for e in of(Emission, found)]
    assert line == [(0, "t1", 3, False), (1, "t2", 5, False), (2, "t1", 3, True), (3, "t3", 8, False)]
    original, back = of(Emission, found)[0], of(Emission, found)[2]
    assert original.copy_key == back.copy_key
    assert original.emission_key != back.emission_key
    before = {request.native_id: request.emissions_before for request in of(Request, found)}
    assert before == {"m1": 0, "m2": 1, "m3": 2}


# -- compaction -----------------------------------------------------------------------------------


def test_compaction_takes_everything_out(tmp_path: Path) -> None:
    t = Transcript()
    t.user("hi")
    t.read("t1", "a", X)
    t.compact()
    t.read("t2", "a", X)
    found = read(tmp_path, t)
    (boundary,) = of(Boundary, found)
    assert boundary[1:] == (1, 4, boundary.at, BoundaryKind.COMPACTION, "auto", 150_000, 9_000, (), ())
    assert seen(found)["t2"] == set()


def test_a_summary_without_boundary_row_is_a_compaction(tmp_path: Path) -> None:
    t = Transcript(version="1.0.31")
    t.user("hi")
    t.read("t1", "a", X)
    t.compact(is_boundary_row=False)
    t.read("t2", "a", X)
    found = read(tmp_path, t)
    assert kinds(found) == [BoundaryKind.COMPACTION]
    assert seen(found)["t2"] == set()


def test_kept_rows_stay_in_sight_with_either_carrier(tmp_path: Path) -> None:
    """R28."""
    for carrier in ("messages", "segment"):
        t = Transcript(session=carrier)
        t.user("hi")
        t.read("t1", "a", X)
        call = t.call("t2", "Read", {"file_path": "b"})
        result = t.result("t2", "y" * 300)
        if carrier == "messages":
            t.compact(keep=[call, result])
        else:
            t.compact(segment=(call, result))
        t.read("t3", "b", "y" * 300)
        t.read("t4", "a", X)
        found = read(tmp_path, t)
        (boundary,) = of(Boundary, found)
        assert boundary.kept == (1,)
        assert seen(found)["t3"] == {"t2"}
        assert seen(found)["t4"] == {"t2", "t3"}


def test_broken_chains_around_compactions(tmp_path: Path) -> None:
    """R29: a parent that was never written, and one from before an earlier compaction."""
    t = Transcript()
    t.user("hi")
    t.call("t1", "Read", {"file_path": "a"})
    u1 = t.result("t1", X)
    t.compact()
    t.call("t2", "Read", {"file_path": "b"}, parent="gone")
    t.result("t2", X)
    t.compact()
    t.call("t3", "Read", {"file_path": "c"}, parent=u1)
    t.result("t3", X)
    found = read(tmp_path, t)
    assert [e.call_id for e in of(Emission, found)] == ["t1", "t2", "t3"]
    assert kinds(found) == [BoundaryKind.COMPACTION] * 2
    assert seen(found) == {"t1": set(), "t2": set(), "t3": set()}


def test_a_compaction_at_the_end_is_recorded(tmp_path: Path) -> None:
    t = Transcript()
    t.user("hi")
    t.read("t1", "a", X)
    t.compact()
    (boundary,) = of(Boundary, read(tmp_path, t))
    assert (boundary.at_ordinal, boundary.kept) == (1, ())


def test_two_compactions_without_a_result_between_are_two(tmp_path: Path) -> None:
    t = Transcript()
    t.user("hi")
    t.read("t1", "a", X)
    t.compact()
    t.say("hm")
    t.compact()
    t.read("t2", "a", X)
    assert kinds(read(tmp_path, t)) == [BoundaryKind.COMPACTION] * 2


def test_micro_compaction_takes_its_results_out(tmp_path: Path) -> None:
    """R14."""
    t = Transcript()
    t.user("hi")
    t.read("t1", "a", X)
    t.micro(["t1"])
    t.read("t2", "a", X)
    t.read("t3", "a", X)
    found = read(tmp_path, t)
    (boundary,) = of(Boundary, found)
    assert boundary[1:] == (1, 4, boundary.at, BoundaryKind.MICRO, "auto", 60_000, 40_000, (), (0,))
    assert seen(found) == {"t1": set(), "t2": set(), "t3": {"t2"}}


def test_micro_compaction_that_names_nothing_is_recorded(tmp_path: Path) -> None:
    t = Transcript()
    t.user("hi")
    t.read("t1", "a", X)
    t.micro([])
    t.read("t2", "a", X)
    found = read(tmp_path, t)
    (boundary,) = of(Boundary, found)
    assert (boundary.kind, boundary.removed) == (BoundaryKind.MICRO, ())
    assert seen(found)["t2"] == {"t1"}


# -- clears ---------------------------------------------------------------------------------------


def test_clears_with_one_caveat_row_that_is_written_again(tmp_path: Path) -> None:
    """The caveat keeps its uuid: with the first one as parent, the history before a clear stayed in sight."""
    t = Transcript(version="1.0.31")
    t.user("hi")
    t.read("t1", "a", X)
    for number in range(2, 5):
        t.clear(f"s{number}", caveat="caveat")
        t.user("next")
        t.read(f"t{number}", "a", X)
    t.clear("s5", caveat="caveat")
    t.session = "s1"
    found = read(tmp_path, t)
    assert kinds(found) == [BoundaryKind.CLEAR] * 4
    assert [b.at_ordinal for b in of(Boundary, found)] == [1, 2, 3, 4]
    assert all(calls == set() for calls in seen(found).values())


def test_local_commands_below_a_caveat_are_neither_clear_nor_rewind(tmp_path: Path) -> None:
    t = Transcript(version="1.0.31")
    caveat = t.meta(CLEAR_CAVEAT)
    t.user("<command-name>/login</command-name>")
    t.user("<local-command-stdout>Login successful</local-command-stdout>")
    t.rewind(caveat)
    t.user("<command-name>/model</command-name>")
    t.user("<local-command-stdout>Set model</local-command-stdout>")
    t.user("hi")
    t.read("t1", "a", X)
    t.user("more")
    t.read("t2", "b", X)
    found = read(tmp_path, t)
    assert kinds(found) == []
    assert seen(found)["t2"] == {"t1"}


def test_the_first_message_sent_again_ends_the_walk(tmp_path: Path) -> None:
    t = Transcript()
    t.user("hi")
    t.read("t1", "a", X)
    t.user("hi", parent=None)
    t.read("t2", "a", X)
    found = read(tmp_path, t)
    assert seen(found)["t2"] == set()
    assert kinds(found) == [BoundaryKind.CLEAR]


def test_a_first_message_that_was_never_answered_is_no_clear(tmp_path: Path) -> None:
    t = Transcript()
    t.user("hi")
    t.user("hi", parent=None)
    t.read("t1", "a", X)
    assert kinds(read(tmp_path, t)) == []


# -- copies in one file ---------------------------------------------------------------------------


def test_history_written_again_after_a_compaction(tmp_path: Path) -> None:
    """D06: the same rows once more are dropped."""
    t = Transcript()
    t.user("hi")
    t.call("t1", "Read", {"file_path": "a"})
    t.result("t1", X)
    again = list(t.rows)
    t.compact()
    t.read("t2", "b", "y" * 300)
    for row in again:
        t.raw(row)
    t.compact()
    t.read("t3", "a", X)
    found = read(tmp_path, t)
    assert [e.call_id for e in of(Emission, found)] == ["t1", "t2", "t3"]
    assert kinds(found) == [BoundaryKind.COMPACTION] * 2
    assert seen(found) == {"t1": set(), "t2": set(), "t3": set()}


def test_a_result_written_again_with_another_parent_stands_in_the_tree(tmp_path: Path) -> None:
    """D05: history settles which of the two is the copy."""
    t = Transcript()
    t.user("hi")
    t.call("t1", "Read", {"file_path": "a"})
    u1 = t.result("t1", X)
    t.compact()
    t.result("t1", X, uuid=u1, parent=None)
    found = read(tmp_path, t)
    first, second = of(Emission, found)
    assert first.copy_key == second.copy_key
    assert kinds(found) == [BoundaryKind.COMPACTION]


# -- cost -----------------------------------------------------------------------------------------


def test_a_long_session_costs_its_length(tmp_path: Path) -> None:
    """The path is kept between results: 5,000 results take about as many steps, not the square of it."""
    t = Transcript()
    t.user("hi")
    for number in range(5_000):
        t.read(f"t{number}", "a", "x")
    path = t.write(tmp_path / "s1.jsonl")
    found = records(path)
    assert len(of(Emission, found)) == 5_000
    assert of(Boundary, found) == []


# -- random trees ---------------------------------------------------------------------------------

ACTIONS = (
    "prompt",
    "call",
    "call",
    "parallel",
    "parallel",
    "early result",
    "rewind",
    "jump",
    "compact",
    "compact 1.0",
    "micro",
    "missing",
    "clear",
    "other run",
    "same row",
    "row moved",
    "sidechain",
    "second result",
)


class _Wild:
    """Carries out random actions on a transcript; `number` decides whatever is to be decided."""

    def __init__(self) -> None:
        self.t = Transcript()
        self.t.user("hi")
        self.calls = 0
        self.messages = 0
        self.other = self.t.tip
        self.results: list[str] = []

    def act(self, action: str, number: int) -> None:
        getattr(self, "do_" + action.replace(" ", "_").replace(".", "_"))(number)

    def _rows(self) -> list[str]:
        return [row["uuid"] for row in self.t.rows if isinstance(row, dict)]

    def _call(self, message: str, **fields: object) -> str:
        self.calls += 1
        return self.t.call(f"t{self.calls}", "Read", {"file_path": "a"}, message, **fields)

    def _result(self, **fields: object) -> None:
        self.results.append(self.t.result(f"t{self.calls}", "x", **fields))

    def _message(self) -> str:
        self.messages += 1
        return f"m{self.messages}"

    def do_prompt(self, number: int) -> None:
        self.t.user(f"prompt {number}")

    def do_call(self, number: int) -> None:
        self._call(f"m{self.messages}" if number % 4 == 0 and self.messages else self._message())
        self._result()

    def do_parallel(self, number: int) -> None:
        message = self._message()
        width = 2 + number % 3
        made = []
        for _ in range(width):
            uuid = self._call(message)
            made.append((self.calls, uuid))
            if number % 5 == 0:  # the result at once, the next call hangs on the call all the same
                self._result()
                self.t.rewind(uuid)
        if number % 5:
            order = made if number % 2 else made[::-1]
            for call, uuid in order:
                self.t.rewind(uuid)
                self.results.append(self.t.result(f"t{call}", "x"))
        self.t.rewind([*self.results[-width:], made[-1][1]][number % (width + 1)])

    def do_early_result(self, number: int) -> None:
        del number
        above = self.t.tip
        self.calls += 1
        uuid = f"later {self.calls}"
        self.results.append(self.t.result(f"t{self.calls}", "x", parent=uuid))
        result = self.t.tip
        self.t.call(f"t{self.calls}", "Read", {"file_path": "a"}, self._message(), parent=above, uuid=uuid)
        self.t.rewind(result)

    def do_rewind(self, number: int) -> None:
        rows = self._rows()
        self.t.rewind(rows[-1 - number % min(len(rows), 12)])

    def do_jump(self, number: int) -> None:
        rows = self._rows()
        self.t.rewind(rows[number % len(rows)])

    def do_compact(self, number: int) -> None:
        rows = self._rows()
        kept = [rows[-1 - (number >> shift) % min(len(rows), 6)] for shift in range(number % 4)]
        self.t.compact(keep=kept)

    def do_compact_1_0(self, number: int) -> None:
        del number
        self.t.compact(is_boundary_row=False)

    def do_micro(self, number: int) -> None:
        self.t.micro([f"t{1 + (number >> shift) % max(self.calls, 1)}" for shift in range(number % 4)])

    def do_missing(self, number: int) -> None:
        self.t.rewind(f"gone {number}")

    def do_clear(self, number: int) -> None:
        self.t.clear(f"s{number}", caveat="caveat")

    def do_other_run(self, number: int) -> None:
        del number
        here = self.t.tip
        self.t.rewind(self.other)
        self.other = here

    def do_same_row(self, number: int) -> None:
        self.t.raw(self.t.rows[number % len(self.t.rows)])

    def do_row_moved(self, number: int) -> None:
        row = self.t.rows[number % len(self.t.rows)]
        assert isinstance(row, dict)
        if row.get("subtype") is None and "isCompactSummary" not in row:
            self.t.raw({**row, "parentUuid": self.t.tip if number % 2 else None})

    def do_sidechain(self, number: int) -> None:
        here = self.t.tip
        if number % 2:
            self.t.sidechain("search")
        else:
            self.t.user("search", isSidechain=True)
        self._call(self._message(), isSidechain=True)
        self._result(isSidechain=True)
        if here is not None:
            self.t.main_chain(here)

    def do_second_result(self, number: int) -> None:
        if self.calls:
            self.t.result(f"t{1 + number % self.calls}", "again")


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(st.sampled_from(ACTIONS), st.integers(0, 1 << 16)), max_size=40))
def test_the_line_says_what_the_walk_says(actions: list[tuple[str, int]]) -> None:
    wild = _Wild()
    for action, number in actions:
        wild.act(action, number)
    with tempfile.TemporaryDirectory() as folder:
        path = wild.t.write(Path(folder) / "s1.jsonl")
        assert sights(records(path)) == Walk(path).sights
