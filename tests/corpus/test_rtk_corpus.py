"""Every figure that the README of the RTK databases states, from the files themselves."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from support.rtk import counted_by_sqlite, read_history, rtk_views

from dedupstats.analytics.rtk_bounds import (
    Bound,
    RtkBounds,
    rtk_bounds,
    rtk_hook_decisions,
    rtk_realised,
)
from dedupstats.model import FileCount, Ignored, RtkCommand

FOLDER = Path(__file__).resolve().parents[2].parent / "shared" / "corpus" / "rtk"
FILES = sorted(FOLDER.glob("*.db"))

pytestmark = pytest.mark.skipif(not FILES, reason=f"no RTK databases in {FOLDER}")


def stated() -> dict[str, dict[str, str]]:
    """The README's table: by column, then by name of the row."""
    lines = (FOLDER / "README.md").read_text("utf-8").splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("| | gen1"))
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in lines[start:]
        if line.startswith("|") and "---" not in line
    ]
    return {
        column: {row[0]: row[number] for row in rows[1:]} for number, column in enumerate(rows[0]) if number
    }


def with_percent(part: int, whole: int, digits: int) -> str:
    return f"{part:,} ({part / whole:.{digits}%})".replace("%", " %") if whole else f"{part}"


def cells(path: Path) -> dict[str, str]:
    """What the table would say of a file, by this program."""
    views = rtk_views(path)
    bounds = rtk_bounds(views)
    assert bounds is not None
    published, reads = bounds.bound("M"), bounds.bound("M-reads")
    found = {
        "commands": f"{bounds.commands}",
        "output tokens": f"{bounds.output_tokens:,}",
        "input tokens": f"{bounds.input_tokens:,}",
        "saved tokens (`rtk gain`)": with_percent(bounds.saved_tokens, bounds.input_tokens, 2),
        "M": f"{with_percent(published.repeats, published.commands, 1)} / "
        f"{with_percent(published.repeat_tokens, published.output_tokens, 1)}",
        "M, reads (of commands / of tokens)": f"{reads.repeats} of {reads.commands} / "
        f"{reads.repeat_tokens:,} of {reads.output_tokens:,}",
    }
    found |= {
        name: f"{bound.repeats} / {bound.repeat_tokens:,}"
        for name in ("M2", "B1", "B2", "B3", "B4", "B4d", "B5")
        for bound in [bounds.bound(name)]
    }
    ignored = {record.type: record.records for record in read_history(path) if isinstance(record, Ignored)}
    found["parse_failures"] = str(ignored.get("parse_failures", "-"))
    decisions = rtk_hook_decisions(views)
    counts = ", ".join(str(decisions.get(name, 0)) for name in ("allow", "ask", "defer", "deny"))
    found["hook_decisions (allow, ask, defer, deny)"] = (
        f"{sum(decisions.values())} ({counts})" if decisions else "-"
    )
    realised = rtk_realised(views)
    found["session_outputs"] = (
        f"{realised.rows} rows; saved {realised.saved_tokens:,} tokens in {realised.repeats} repeats"
        if realised
        else "-"
    )
    return found


def test_every_file_has_a_column() -> None:
    assert len(stated()) == len(FILES)
    assert all(sum(path.name.startswith(column) for path in FILES) == 1 for column in stated())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_readme_s_figures(path: Path) -> None:
    column = next(column for column in stated() if path.name.startswith(column))
    assert cells(path) == stated()[column]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_same_by_sqlite(path: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copy(path, tmp_path / "history.db"))
    copy.chmod(0o600)
    bounds = rtk_bounds(rtk_views(path))
    assert isinstance(bounds, RtkBounds)
    assert {bound.name: numbers(bound) for bound in bounds.bounds if bound.name != "net"} == {
        name: tuple(counted) for name, counted in counted_by_sqlite(copy).items()
    }


def numbers(bound: Bound) -> tuple[int, int, int, int]:
    return bound.repeats, bound.commands, bound.repeat_tokens, bound.output_tokens


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_rows_add_up_and_are_dated(path: Path) -> None:
    records = read_history(path)
    commands = [record for record in records if isinstance(record, RtkCommand)]
    (count,) = [record for record in records if isinstance(record, FileCount)]
    assert count.records == count.used + count.ignored
    assert count.skipped == 0
    assert all(command.at is not None for command in commands)
    assert re.fullmatch(r"[\d.:T+-]+", "".join(command.stamp for command in commands))


def test_a_file_and_its_copy_count_once(tmp_path: Path) -> None:
    for path in FILES:
        copy = Path(shutil.copy(path, tmp_path / path.name))
        assert rtk_bounds(rtk_views(path, copy)) == rtk_bounds(rtk_views(path))


def test_merged_files_add_their_commands() -> None:
    bounds = rtk_bounds(rtk_views(*FILES))
    assert bounds is not None
    assert bounds.commands == sum(int(column["commands"]) for column in stated().values())
    assert rtk_bounds(rtk_views(*reversed(FILES))) == bounds
