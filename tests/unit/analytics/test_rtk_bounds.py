"""Upper bounds from RTK's rows, against rtk.md's own SQL in SQLite and a comparison of all pairs."""

from __future__ import annotations

import tempfile
from dataclasses import astuple
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.rtk import (
    Command,
    Generation,
    counted_by_hand,
    counted_by_sqlite,
    marker_tokens,
    rtk_views,
    write_history,
)

from dedupstats.analytics.rtk_bounds import (
    CAP_TOKENS,
    Bound,
    RtkBounds,
    RtkRealised,
    SavedClaim,
    rtk_bounds,
    rtk_hook_decisions,
    rtk_realised,
)

DAY = "2026-05-04"


def at(clock: str, day: str = DAY) -> str:
    return f"{day}T{clock}+00:00"


def read(clock: str, path: str = "a.py", shown: int = 300, sent: int = 400, folder: str = "/p") -> Command:
    return Command(at(clock), f"cat {path}", "rtk read", sent, shown, sent - shown, project_path=folder)


def bounds_of(path: Path, commands: list[Command], **options: object) -> RtkBounds:
    history = write_history(path / "history.db", Generation.R110, commands)
    found = rtk_bounds(rtk_views(history), **options)  # type: ignore[arg-type]
    assert found is not None
    return found


def figures(bound: Bound) -> tuple[int, ...]:
    return astuple(bound)[2:]


@pytest.fixture
def history() -> list[Command]:
    """One command line; each step adds one more condition that the last repeats meet and the others lack."""
    return [
        read("08:00:00", shown=300),
        read("08:01:00", shown=310),  # M: other shown size
        read("08:02:00", shown=300, sent=500),  # B1: other size before filtering
        read("08:03:00", shown=300, folder="/q"),  # B2: other folder
        read("14:00:00", shown=300),  # B3, same day: 6 h after
        read("18:00:00", shown=300),  # B4 and B5: 4 h after
        Command(at("19:00:00"), "cat a.py", "rtk proxy cat a.py", 300, 300, project_path="/p"),  # M, not M2
        Command(at("20:00:00"), "hostname", "rtk fallback: hostname", 0, 0),
        Command(at("20:00:01"), "hostname", "rtk fallback: hostname", 0, 0),  # weighs nothing
    ]


def test_each_rule_takes_one_kind_away(tmp_path: Path, history: list[Command]) -> None:
    bounds = bounds_of(tmp_path, history)
    total = 310 + 6 * 300
    assert {bound.name: figures(bound) for bound in bounds.bounds} == {
        "M": (7, 9, 310 + 5 * 300, total),
        "M2": (6, 9, 310 + 4 * 300, total),
        "M-reads": (5, 6, 310 + 4 * 300, 310 + 5 * 300),
        "B1": (6, 9, 5 * 300, total),
        "B2": (4, 9, 3 * 300, total),
        "B3": (3, 9, 2 * 300, total),
        "B4": (2, 9, 300, total),
        "B4d": (3, 9, 2 * 300, total),
        "B5": (1, 9, 300, total),
        "net": (1, 9, 300 - 29, total),  # 102 + 1 + 1 + 3 digits and `read:a.py`: 116 bytes
    }
    assert marker_tokens(history[5]) == 29


def test_what_stands_beside(tmp_path: Path, history: list[Command]) -> None:
    bounds = bounds_of(tmp_path, history)
    assert (bounds.commands, bounds.distinct, bounds.undated) == (9, 2, 0)
    assert (bounds.zero_output_rows, bounds.recoveries) == (2, 1)
    assert bounds.input_tokens == 5 * 400 + 500 + 300
    assert bounds.saved_tokens == 100 + 90 + 200 + 100 + 100 + 100
    assert bounds.saved_share == pytest.approx(690 / 2800)
    assert bounds.mean_repeat_tokens == pytest.approx(1810 / 7)


@pytest.mark.parametrize("generation", Generation)
def test_the_same_by_sqlite(tmp_path: Path, history: list[Command], generation: Generation) -> None:
    path = write_history(tmp_path / "history.db", generation, history)
    bounds = rtk_bounds(rtk_views(path))
    assert bounds is not None
    by_sqlite = counted_by_sqlite(path)
    assert {bound.name: figures(bound) for bound in bounds.bounds if bound.name != "net"} == by_sqlite


CLOCKS = st.builds(
    "2026-05-{:02}T{:02}:{:02}:00{}+00:00".format,
    st.integers(1, 3),
    st.integers(0, 23),
    st.sampled_from([0, 30]),
    st.sampled_from(["", ".250", ".250001", ".250001001", ".250001002"]),
)
COMMANDS = st.builds(
    Command,
    timestamp=CLOCKS,
    original_cmd=st.sampled_from(["cat a", "cat b", "git status", "ls -la caf\u00e9"]),
    rtk_cmd=st.sampled_from(["rtk read", "rtk git status", "rtk proxy cat a"]),
    input_tokens=st.sampled_from([500, 900]),
    output_tokens=st.sampled_from([0, 199, 200, 201]),
    saved_tokens=st.integers(-9, 9),
    exec_time_ms=st.none(),
    project_path=st.sampled_from(["", None, "/p"]),
)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.lists(COMMANDS, min_size=1, max_size=25), st.sampled_from([0.5, 5, 24]), st.integers(0, 250))
def test_equal_to_comparing_all_pairs(commands: list[Command], gap_hours: float, min_tokens: int) -> None:
    # the form without default had no NOT NULL: a NULL folder is the unknown one (rtk.md 2.2)
    with tempfile.TemporaryDirectory() as folder:
        bounds = bounds_of(Path(folder), commands, gap_hours=gap_hours, min_tokens=min_tokens)
    expected = counted_by_hand(commands, gap_hours, min_tokens)
    assert {bound.name: figures(bound) for bound in bounds.bounds} == expected
    assert [figures_at.repeats for figures_at in bounds.curve_gap] == [
        counted_by_hand(commands, point.gap_hours or 10**6)["B4"].repeats for point in bounds.curve_gap
    ]
    assert [point.near_repeat_tokens for point in bounds.curve_min_tokens] == [
        counted_by_hand(commands, gap_hours, point.min_tokens)["B5"].repeat_tokens
        for point in bounds.curve_min_tokens
    ]


def test_a_gap_of_exactly_the_limit_counts(tmp_path: Path) -> None:
    commands = [read("08:00:00.000000500"), read("13:00:00"), read("18:00:00.000001")]
    assert bounds_of(tmp_path, commands).bound("B4").repeats == 1


@pytest.mark.parametrize("earlier", [".100000001", ".100000", ".1", ""])
def test_finer_digits_than_microseconds_order_commands(tmp_path: Path, earlier: str) -> None:
    # stored out of order: the row with the later id came first
    commands = [read("08:00:00.100000002", shown=7), read(f"08:00:00{earlier}", shown=9)]
    assert bounds_of(tmp_path, commands).bound("M").repeat_tokens == 7


def test_the_threshold_itself_passes(tmp_path: Path) -> None:
    commands = [read(f"08:00:0{half}", f"{size}", size) for size in (199, 200) for half in (0, 1)]
    assert figures(bounds_of(tmp_path, commands).bound("B5")) == (1, 4, 200, 798)


def test_two_utc_days_are_no_same_day(tmp_path: Path) -> None:
    commands = [read("23:59:59"), Command(at("00:00:01", "2026-05-05"), *read("00:00:01")[1:])]
    bounds = bounds_of(tmp_path, commands)
    assert (bounds.bound("B4").repeats, bounds.bound("B4d").repeats) == (1, 0)


def test_the_same_command_in_another_folder(tmp_path: Path) -> None:
    """Fault case R26."""
    commands = [
        Command(at(clock), "ls", "rtk ls", 90, 90, project_path=folder)
        for clock, folder in (("08:00:00", "/home/u/a"), ("08:00:01", "/home/u/b"))
    ]
    bounds = bounds_of(tmp_path, commands)
    assert (bounds.bound("M").repeats, bounds.bound("B3").repeats) == (1, 0)


def test_a_claim_above_what_could_be_seen(tmp_path: Path) -> None:
    """Fault case S06: the claim as stored, and beside it the capped one."""
    claim = Command(at("08:00:00"), "find /", "rtk find", 135_722_224, 21, 135_722_203)
    bounds = bounds_of(tmp_path, [claim, read("08:00:01")])
    assert bounds.saved_tokens == 135_722_203 + 100
    assert bounds.capped_saved_tokens == 7_479 + 100
    assert bounds.top_claims == (
        SavedClaim("rtk find", 135_722_224, 21, 135_722_203, 7_479),
        SavedClaim("rtk read", 400, 300, 100, 100),
    )
    assert any(f"{CAP_TOKENS:,}" in note for note in bounds.notes)


def test_a_loss_stays_a_loss(tmp_path: Path) -> None:
    commands = [
        Command(at("08:00:00"), "git log", "rtk git log", 10, 9_000, -8_990),
        Command(at("08:00:01"), "git show", "rtk git show", 9_000, 8_000, 1_000),
    ]
    bounds = bounds_of(tmp_path, commands)
    assert (bounds.saved_tokens, bounds.capped_saved_tokens) == (-7_990, -8_990)


def test_an_empty_history_is_no_zero_percent(tmp_path: Path) -> None:
    """Fault case S08."""
    views = rtk_views(write_history(tmp_path / "history.db", Generation.R110))
    assert rtk_bounds(views) is None
    assert rtk_realised(views) is None
    assert rtk_hook_decisions(views) == {}


def test_no_output_has_no_share_of_it(tmp_path: Path) -> None:
    bounds = bounds_of(tmp_path, [Command(at("08:00:00"), "git tag", "rtk git tag (passthrough)", 0, 0)])
    assert bounds.bound("M").count_share == 0
    assert bounds.bound("M").token_share is None
    assert bounds.bound("M-reads").count_share is None
    assert bounds.saved_share is None
    assert bounds.mean_repeat_tokens is None


def test_undated_rows_count_and_have_no_gap(tmp_path: Path) -> None:
    commands = [
        Command("yesterday afternoon", *read("08:00:00")[1:]),
        Command("", *read("08:00:00")[1:]),
        read("08:00:00"),
    ]
    bounds = bounds_of(tmp_path, commands)
    assert (bounds.commands, bounds.undated) == (3, 2)
    assert [bounds.bound(name).repeats for name in ("M", "B3", "B4", "B4d")] == [2, 2, 0, 0]


def test_undated_rows_come_last(tmp_path: Path) -> None:
    commands = [Command("", *read("08:00:00", shown=9)[1:]), read("08:00:00", shown=7)]
    assert bounds_of(tmp_path, commands).bound("M").repeat_tokens == 9


def test_a_window_is_judged_against_the_whole_history(tmp_path: Path) -> None:
    """Fault case T03: the window cuts what is counted, not what came before."""
    commands = [read("08:00:00"), read("09:00:00"), read("09:00:00", "b.py")]
    since = {"where": "ts >= ?", "parameters": ["2026-05-04 09:00:00"]}
    bounds = bounds_of(tmp_path, commands, **since)
    assert (bounds.commands, bounds.distinct, bounds.bound("M").repeats) == (2, 2, 1)
    assert len(bounds.top_claims) == 2


def test_a_condition_with_or_stays_one_condition(tmp_path: Path) -> None:
    commands = [read("08:00:00", sent=300), read("08:00:01", sent=600)]
    bounds = bounds_of(tmp_path, commands, where="false or input_tokens < ?", parameters=[500])
    assert (bounds.commands, bounds.top_claims) == (1, ())  # the one that is counted saved nothing


def test_the_curve_shows_what_a_threshold_leaves(tmp_path: Path) -> None:
    """Repeats of 194 tokens on average, and a threshold of 200 that leaves one in ten."""
    shown = [190, 190, 190, 190, 190, 190, 190, 190, 190, 230]
    commands = [
        read(f"08:00:{2 * number + half:02}", f"{number}.py", size)
        for number, size in enumerate(shown)
        for half in (0, 1)
    ]
    bounds = bounds_of(tmp_path, commands)
    assert bounds.mean_repeat_tokens == 194
    points = {point.min_tokens: point for point in bounds.curve_min_tokens}
    assert astuple(points[150])[1:] == (10, 1_940, 10, 1_940)
    assert astuple(points[200])[1:] == (1, 230, 1, 230)
    assert astuple(points[300])[1:] == (0, 0, 0, 0)


def test_the_gap_curve_ends_with_any_time(tmp_path: Path) -> None:
    commands = [read("08:00:00", shown=100), read("08:15:00", shown=100), read("10:15:00", shown=100)]
    later = [Command(at("11:00:00", "2026-05-20"), *commands[0][1:])]
    bounds = bounds_of(tmp_path, commands + later, gap_hours=3, min_tokens=101)
    gaps = {point.gap_hours: astuple(point)[1:] for point in bounds.curve_gap}
    assert list(gaps) == [0.25, 1, 2, 3, 5, 12, 24, 48, 168, None]
    assert gaps[0.25] == gaps[1] == (1, 100, 0, 0)
    assert gaps[2] == gaps[168] == (2, 200, 0, 0)
    assert gaps[None] == (3, 300, 0, 0)


@pytest.mark.parametrize(("gap_hours", "words"), [(0.5, "0.5 hours"), (1, "1 hour"), (5.0, "5 hours")])
def test_words_name_the_settings(tmp_path: Path, gap_hours: float, words: str) -> None:
    bounds = bounds_of(tmp_path, [read("08:00:00")], gap_hours=gap_hours, min_tokens=1000)
    assert bounds.bound("M").words == "same command line, any time"
    assert bounds.bound("B4").words == f"and same sizes, same folder, within {words}"
    assert bounds.bound("B5").words == f"{bounds.bound('B4').words}, 1,000 tokens or more"


def test_a_marker_longer_than_the_text_is_a_loss(tmp_path: Path) -> None:
    commands = [read("08:00:00", shown=20), read("08:00:01", shown=20)]
    assert bounds_of(tmp_path, commands, min_tokens=0).bound("net").repeat_tokens == 20 - 29


def test_what_the_ledger_says_was_elided(tmp_path: Path) -> None:
    sha = "0" * 64
    rows = [
        ("s", sha, "git diff ", tokens, 9, 1, count, at("08:00:00"), at("08:00:09"))
        for tokens, count in ((640, 5), (310, 1))
    ]
    views = rtk_views(write_history(tmp_path / "h.db", Generation.PR2937, session_outputs=rows))
    assert rtk_realised(views) == RtkRealised(rows=2, repeats=4, saved_tokens=2_560)


def test_what_the_hook_answered(tmp_path: Path) -> None:
    rows = [
        (at("08:00:00"), "s", f"toolu_{number}", "/p", "ls", decision, None, "1.1.0")
        for number, decision in enumerate(["deny", "allow", "ask", "allow"])
    ]
    views = rtk_views(write_history(tmp_path / "h.db", Generation.R110, hook_decisions=rows))
    assert list(rtk_hook_decisions(views).items()) == [("allow", 2), ("ask", 1), ("deny", 1)]
