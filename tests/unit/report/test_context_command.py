"""`dedupstats context`: the chart in characters, the page, and the forms for programs."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from support.command import Ran, run
from support.pipeline import Log

from dedupstats import import_paths, open_store
from dedupstats.analytics.compactions import Compactions, ContextCount
from dedupstats.analytics.context import Arrived, Curve, Mark, Point, SessionContexts
from dedupstats.report.compaction_words import notes
from dedupstats.report.context_chart import ASCII, BLOCKS, HEIGHT, drawn, legend
from dedupstats.report.context_page import MOST, render
from dedupstats.report.context_words import curve_notes, jumps

if TYPE_CHECKING:
    from pathlib import Path

TEXT = "def a():\n" * 400
EVIL = "</script><script>alert(1)</script>\x1b[2J%{x}"


def point(request: int, prompt: float, removed: float = 0.0, *results: Arrived) -> Point:
    return Point(request, request, None, "m", prompt, True, removed, results)


def curve_of(*points: Point, marks: tuple[Mark, ...] = ()) -> Curve:
    return Curve(1, "main", None, "c", points, marks, {}, 0, 0, Compactions())


def bars(lines: list[str], side: str) -> list[str]:
    """The rows of bars, without their labels."""
    return [line.split(side)[1] for line in lines if side in line]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("context")
    log = Log()
    log.user("go")
    for number, prompt in enumerate((5_000, 6_061, 7_122)):
        call = f"r{number}"
        log.call(call, "Read", {"file_path": "/home/u/p/a.py"}, usage=(10, 90, prompt - 100, 50))
        log.result(call, TEXT)
    log.compact()
    log.say("on", "m4", usage=(10, 0, 2_990, 5))
    log.write(folder / "s1.jsonl")
    with open_store(folder / "store.duckdb") as store:
        import_paths(store, [folder / "s1.jsonl"])
    return folder / "store.duckdb"


def context(path: Path, *arguments: str, terminal: bool = False, encoding: str = "utf-8") -> Ran:
    return run("context", "--db", str(path), *arguments, terminal=terminal, encoding=encoding)


# -- the chart -----------------------------------------------------------------------------------------------


def test_bars_are_as_high_as_their_prompts() -> None:
    lines = drawn(curve_of(point(1, 100), point(2, 50), point(3, 100, 50)), 80, BLOCKS)
    rows = bars(lines, BLOCKS.side)
    assert len(rows) == HEIGHT
    assert rows[0] == "████" + " " * 4 + "░░░░"
    assert rows[HEIGHT // 2] == "█" * 12
    assert lines[-1].split() == ["request", "1", "3"]


def test_one_request_of_any_size_is_drawn() -> None:
    for prompt in (0.0, 1.0, 1e9):
        for signs in (BLOCKS, ASCII):
            lines = drawn(curve_of(point(1, prompt)), 80, signs)
            assert "nan" not in " ".join(lines).lower()
            assert bool("".join(bars(lines, signs.side)).strip()) == (prompt > 0)


@pytest.mark.parametrize("width", [20, 60, 80, 300, None])
def test_thousands_of_requests_keep_the_largest_and_fit(width: int | None) -> None:
    points = [point(number, 1_000.0) for number in range(1, 5_001)]
    points[3_333] = point(3_334, 9_000.0)
    curve = curve_of(*points, marks=(Mark("clear", None, 1, None, 5_001),))
    lines = drawn(curve, width, BLOCKS)
    assert max(map(len, lines)) <= min(width or 80, 100)
    assert bars(lines, BLOCKS.side)[0].strip() == "█"
    said = re.search(r"a column is up to ([\d,]+) requests", legend(curve, lines, width, BLOCKS, "p"))
    assert said is not None
    columns = max(map(len, bars(lines, BLOCKS.side)))
    assert int(said[1]) == -(-5_000 // columns)


def test_every_boundary_has_its_sign_and_stands_where_it_was() -> None:
    kinds = [
        ("rewind", None),
        ("micro_compaction", "auto"),
        ("clear", None),
        ("compaction", "manual"),
        ("compaction", "auto"),
    ]
    marks = tuple(Mark(kind, why, 1, None, number) for number, (kind, why) in enumerate(kinds, start=2))
    curve = curve_of(*(point(number, 10) for number in range(1, 6)), marks=marks)
    lines = drawn(curve, 80, ASCII)
    (row,) = [line for line in lines if "boundary" in line]
    # four columns a request; the last one is behind all of them
    assert row[len("boundary") + 2 :] == "    r   m   x   c   C"
    said = legend(curve, lines, 80, ASCII, "p")
    assert "C automatic compaction; c other compaction; x clear; m micro-compaction; r rewind" in said
    assert "automatic compaction after the last request" in " ".join(curve_notes(curve, "p"))


def test_jumps_are_the_largest_growths_of_one_kind_of_size() -> None:
    results = [
        Arrived(number, "Read", f"/a/b{number}.py", 100.0 * number, 0, number == 4) for number in range(5)
    ]
    rough = replace(point(4, 90_000), is_measured=False)
    curve = curve_of(point(1, 50_000), point(2, 51_000, 0.0, *results), point(3, 40_000), rough)
    assert jumps(curve, full_paths=False) == [
        ("2", "+1.00 k", "51.0 k", "Read b4.py 400 (left out), Read b3.py 300, Read b2.py 200, 2 more")
    ]


def test_what_entered_is_cut_to_the_room_that_is_left() -> None:
    results = [Arrived(number, "Read", f"/a/b{number}.py", 300.0 - number, 0, False) for number in range(3)]
    curve = curve_of(point(1, 100), point(2, 1_000, 0.0, *results), point(3, 9_000))
    for room, expected in (
        (None, "Read b0.py 300, Read b1.py 299, Read b2.py 298"),
        (40, "Read b0.py 300, Read b1.py 299, 1 more"),
        (30, "Read b0.py 300, 2 more"),
        (1, "Read b0.py 300, 2 more"),
    ):
        rows = jumps(curve, full_paths=False, room=room)
        assert [row[-1] for row in rows] == ["no tool result: the model's answer, or other text", expected]


def test_compactions_are_counts_with_intervals_and_what_is_left_out_is_said() -> None:
    unlike = (ContextCount("s-unlike", "c", "main", 2, 0, None),)
    changed = (ContextCount("s-changed", "a", "agent", 3, 3, 2),)
    counts = {
        "untold": 2,
        "reproduced": 3,
        "reproduced_untold": 1,
        "under_policy": 2,
        "contexts": 14,
        "compacted": 3,
        "exact": 2,
    }
    others = {"not_reproduced": 1, "left_out": 2, "no_rule": 3, "no_usage": 1}
    found = Compactions(5, **counts, **others, unlike=unlike, changed=changed, summary_usd=0.25)
    said = list(notes(found, "safe", str.upper))
    # 2 of 3 and 0 of 11, from tables of exact limits
    assert said[0] == (
        "Automatic compactions: 3 recorded, 2 of 3 reproduced by the replay, 2 more of unknown trigger, "
        "1 of 2 reproduced (in all 2 of 3 contexts; 95 % interval 9.4 to 99.2 %), made up in those "
        "without one: 0 of 11 contexts; 95 % interval 0.0 to 28.5 %."
    )
    assert said[1:3] == [
        "Replayed in the contexts that are reproduced: 3 without a policy, 2 with safe.",
        "More or fewer with safe: S-CHANGED, subagent (2 instead of 3).",
    ]
    for words in (
        "1 compaction fewer with safe; summary calls that are not made: $0.25",
        "In no claim: 1 context with more or fewer in the log than in the replay: S-UNLIKE (2 recorded, 0",
        "2 contexts went on above",
        "3 contexts of an agent without a known limit",
        "1 context without usage",
    ):
        assert words in " ".join(said)


# -- the page ------------------------------------------------------------------------------------------------


def test_the_page_is_safe_and_thins_what_no_screen_could_show() -> None:
    arrived = Arrived(1, EVIL, EVIL, 5.0, 0, False)
    points = [point(number, 10.0, 1.0, arrived) for number in range(1, 3 * MOST + 1)]
    points[1_234] = point(1_235, 77_777.0)
    found = SessionContexts("s1", "claude_code", None, "p", 1, (curve_of(*points),), Compactions())
    page = render(found, full_paths=True)
    assert "<script>alert" not in page
    assert "\x1b" not in page
    assert "The chart draws the largest of up to 3 requests at a time." in page
    found_json = re.search(r'<script type="application/json" id="figures">(.*?)</script>', page, re.DOTALL)
    assert found_json is not None
    figure = json.loads(found_json[1])["chart-context-1"]
    assert {len(trace["x"]) for trace in figure["data"][:2]} == {MOST}
    assert max(figure["data"][0]["y"]) == 77_777.0


# -- the command ---------------------------------------------------------------------------------------------


def test_the_terminal(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    ran = context(path, "s1", terminal=True)
    assert (ran.code, ran.err) == (0, "")
    plain = re.sub(r"\x1b\[\d+m", "", ran.out)
    assert plain != ran.out
    assert max(map(len, plain.splitlines())) <= 80
    assert "4 requests; the largest prompt: 7.12 k tokens, request 3 (as recorded)" in " ".join(plain.split())
    assert "Read a.py 1.01 k (left out)" in plain
    monkeypatch.setenv("NO_COLOR", "1")
    assert context(path, "s1", terminal=True).out == plain
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert context(path, "s1", terminal=True).out == plain


def test_an_output_without_unicode_gets_ascii(path: Path) -> None:
    ran = context(path, "s1", encoding="ascii")
    assert (ran.code, ran.err) == (0, "")
    assert "####" in ran.out
    assert "\\u" not in ran.out


def test_csv_and_json_say_the_same(path: Path, tmp_path: Path) -> None:
    ran = context(path, "s1", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(ran.out)))
    assert [float(row["prompt_tokens"]) for row in rows] == [5_000, 6_061, 7_122, 3_000]
    assert [row["boundaries"] for row in rows] == ["", "", "", "compaction"]
    assert "In no claim: 1 context" in ran.err
    file = tmp_path / "c.json"
    assert context(path, "s1", "--all", "-o", str(file)).code == 0
    document = json.loads(file.read_text("utf-8"))
    assert document["schema_version"] == 2
    (curve,) = document["curves"]
    assert [one["prompt_tokens"] for one in curve["points"]] == [5_000, 6_061, 7_122, 3_000]
    assert [one["removed_tokens"] for one in curve["points"]] == [
        float(row["removed_tokens"]) for row in rows
    ]
    assert curve["largest_request"] == 3


def test_the_whole_store(path: Path) -> None:
    ran = context(path)
    assert "Sessions with the largest contexts: 1 of 1" in ran.out
    assert "In no claim: 1 context" in ran.out
    document = json.loads(context(path, "--format", "json").out)
    assert document["compactions"]["recorded"] == 1
    assert [one["prompt_tokens"] for one in document["largest"]] == [7_122]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("nope",), "no session has an id that begins with 'nope'"),
        (("s1", "--context", "x", "--all"), "--context names one context"),
        (("--all",), "need a session"),
        (("-o", "a.html"), "need a session"),
        (("s1", "--policy", "nope"), "nope"),
        (("s1", "-o", "a.pdf"), "cannot tell the format"),
    ],
)
def test_wrong_use(path: Path, arguments: tuple[str, ...], words: str) -> None:
    ran = context(path, *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert words in ran.err
