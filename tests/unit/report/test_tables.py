"""The five outputs of one table, each read back by a reader of its own."""

from __future__ import annotations

import csv
import io
import json
import os
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest
from rich.cells import cell_len

from dedupstats.errors import DedupstatsError, UsageError
from dedupstats.report import tables
from dedupstats.report.grid import definitions
from dedupstats.report.tables import Column, Table

COLUMNS = (
    Column("tool"),
    Column("results", "int"),
    Column("size", "bytes"),
    Column("rate", "percent", "repeated\n% of bytes"),
)
TABLE = Table(
    "Repeats",
    COLUMNS,
    [("Read", 1234, 1_500_000, 0.25), ("Bash", 2, 0, None)],
    notes=("A note.",),
    total=("total", 1236, 1_500_000, 0.25),
)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_terminal() -> None:
    assert tables.terminal(TABLE) == (
        "Repeats\n"
        "\n"
        "                           repeated\n"
        "tool   results     size  % of bytes\n"
        "-----------------------------------\n"
        "Read     1,234  1.50 MB      25.0 %\n"
        "Bash         2      0 B     no data\n"
        "-----------------------------------\n"
        "total    1,236  1.50 MB      25.0 %\n"
        "\n"
        "A note.\n"
    )


def test_markdown() -> None:
    assert tables.markdown(TABLE) == (
        "**Repeats**\n"
        "\n"
        "| tool | results | size | repeated % of bytes |\n"
        "| :--- | ---: | ---: | ---: |\n"
        "| Read | 1,234 | 1.50 MB | 25.0 % |\n"
        "| Bash | 2 | 0 B | no data |\n"
        "| **total** | **1,236** | **1.50 MB** | **25.0 %** |\n"
        "\n"
        "- A note.\n"
    )


def test_csv_has_exact_numbers_and_no_total() -> None:
    assert tables.csv_text(TABLE) == "tool,results,size,rate\nRead,1234,1500000,0.25\nBash,2,0,\n"


def test_json_is_strict_and_versioned() -> None:
    found = json.loads(tables.json_bytes(TABLE), parse_constant=pytest.fail)
    assert list(found) == ["schema_version", "title", "columns", "rows", "notes"]
    assert found["schema_version"] == 2
    assert found["rows"][1] == {"tool": "Bash", "results": 2, "size": 0, "rate": None}


def test_parquet_keeps_types(tmp_path: Path) -> None:
    columns = (
        *COLUMNS,
        Column("ok", "bool"),
        Column("at", "time"),
        Column("id", "raw"),
        Column("big", "raw"),
    )
    when = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    table = Table("", columns, [("a\ud83d", 1, 2, 0.5, True, when, -(2**63), 2**64), (None,) * 8])
    (tmp_path / "t.parquet").write_bytes(tables.parquet_bytes(table))
    found = duckdb.connect().execute(f"from '{tmp_path}/t.parquet'")
    assert [str(column[1]) for column in found.description] == [
        "VARCHAR",
        "BIGINT",
        "BIGINT",
        "DOUBLE",
        "BOOLEAN",
        "TIMESTAMP",
        "BIGINT",
        "VARCHAR",
    ]
    assert found.fetchall() == [
        ("a\\ud83d", 1, 2, 0.5, True, datetime(2026, 1, 2, 3, 4, 5), -(2**63), str(2**64)),  # noqa: DTZ001
        (None,) * 8,
    ]


def test_values_of_any_kind_in_every_output() -> None:
    odd = [
        b"\x00\xff",
        [1, {"a": float("nan")}],
        {"k": "v"},
        Decimal("1.50"),
        float("inf"),
        2**70,
        "a\ud83d\n",
    ]
    table = Table("", (Column("v"), Column("n", "float")), [(value, None) for value in odd])
    rows = [row["v"] for row in json.loads(tables.json_bytes(table), parse_constant=pytest.fail)["rows"]]
    assert rows == ["00ff", [1, {"a": None}], {"k": "v"}, 1.5, None, str(2**70), "a\\ud83d\n"]
    cells = [row[0] for row in csv.reader(io.StringIO(tables.csv_text(table)))]
    assert cells == ["v", "00ff", '[1,{"a":null}]', '{"k":"v"}', "1.50", "", str(2**70), "a\\ud83d\n"]
    assert tables.terminal(table).encode()
    assert tables.markdown(table).encode()
    assert tables.parquet_bytes(table)


def test_nothing_is_cut_without_a_width() -> None:
    name = "mcp__" + "x" * 500
    table = Table("", (Column("a"), Column("b"), Column("n", "int")), [(name, "y" * 300, 5)])
    (line,) = [line for line in tables.terminal(table).splitlines() if "mcp" in line]
    assert line == f"{name}  {'y' * 300}  5"


@pytest.mark.parametrize("width", [20, 40, 60, 80, 120])
def test_a_narrow_terminal_gets_parts_with_whole_numbers(width: int) -> None:
    columns = (Column("tool"), *(Column(f"n{place}", "int") for place in range(12)))
    row = ("mcp__server__a_tool_with_a_long_name", *(10_000_019 + place for place in range(12)))
    shown = tables.terminal(
        Table("A title that is longer than it", columns, [row], ("note " * 30,)), width=width
    )
    assert max(cell_len(line) for line in shown.splitlines()) <= width
    for place in range(12):
        assert f"{10_000_019 + place:,}" in shown
    assert "\u2026" not in shown


def test_wide_characters_align() -> None:
    table = Table("", (Column("project"), Column("n", "int")), [("日本語", 1), ("abcdef", 2)])
    first, second = tables.terminal(table).splitlines()[-2:]
    assert cell_len(first) == cell_len(second)
    assert cell_len(first[: first.index("1")]) == second.index("2")


def test_an_empty_table() -> None:
    table = Table("", (Column("a"),), [])
    assert tables.terminal(table) == "a\n-\n"
    assert tables.csv_text(table) == "a\n"
    assert json.loads(tables.json_bytes(table))["rows"] == []


@pytest.mark.parametrize(
    ("environment", "bold"),
    [
        ({"TERM": "xterm"}, "yes"),
        ({"TERM": "dumb"}, "no"),
        ({"TERM": "xterm", "NO_COLOR": "1"}, "no"),
        ({"TERM": "dumb", "FORCE_COLOR": "1"}, "yes"),
        ({"TERM": "xterm", "FORCE_COLOR": "1", "NO_COLOR": "1"}, "no"),
        ({"TERM": "xterm", "NO_COLOR": ""}, "yes"),
    ],
)
def test_colour_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], bold: str
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    shown = tables.written(TABLE, "table", stream=Terminal())
    assert isinstance(shown, str)
    assert ("\x1b[1m" in shown) is (bold == "yes")


def test_width_is_columns_then_the_terminals_then_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "61")
    assert tables.width_of(io.StringIO()) == 61
    assert tables.width_of(None) is None
    monkeypatch.setenv("COLUMNS", "wide")
    assert tables.width_of(io.StringIO()) is None
    monkeypatch.delenv("COLUMNS")
    assert tables.width_of(Terminal())


def test_a_file_is_replaced_whole_and_nothing_else_stays(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    path.write_text("old")
    tables.write_file(path, "new \ud83d")
    assert path.read_text() == "new \\ud83d"
    assert [entry.name for entry in tmp_path.iterdir()] == ["out.csv"]


def test_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    tables.write_file(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"


def test_a_device_is_written_to_and_not_replaced() -> None:
    tables.write_file(tables.Path(os.devnull), "x")
    assert not tables.Path(os.devnull).is_file()


@pytest.mark.parametrize("place", ["missing/out.csv", "folder", "file/out.csv"])
def test_what_cannot_be_written_is_one_line(tmp_path: Path, place: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    with pytest.raises(DedupstatsError, match=f"cannot write .*{place}: ") as caught:
        tables.write_file(tmp_path / place, "x")
    assert "\n" not in caught.value.message
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["file", "folder"]


def test_parquet_is_refused_on_a_terminal(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("sys.stdout", Terminal())
    with pytest.raises(UsageError, match="not for a terminal"):
        tables.check_destination("parquet", None)
    tables.check_destination("parquet", tmp_path / "x")
    tables.check_destination("csv", None)


# -- formats by name -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("form", "output", "chosen"),
    [
        (None, None, "table"),
        ("csv", None, "csv"),
        (None, "a.txt", "table"),
        (None, "a.md", "md"),
        (None, "a.markdown", "md"),
        (None, "a.b.CSV", "csv"),
        (None, "a.json", "json"),
        (None, "a.parquet", "parquet"),
        ("json", "a.csv", "json"),
        ("table", "a.foo", "table"),
    ],
)
def test_the_file_s_name_tells_the_format(
    form: tables.Format | None, output: str | None, chosen: str
) -> None:
    assert tables.table_format(form, None if output is None else Path(output)) == chosen


@pytest.mark.parametrize("name", ["a.xlsx", "a", "csv", ".csv"])
def test_a_name_that_tells_no_format(name: str) -> None:
    with pytest.raises(UsageError) as caught:
        tables.table_format(None, Path(name))
    assert caught.value.hint == "end it in .txt, .md, .csv, .json or .parquet, or give --format"


# -- names with what they mean -------------------------------------------------------------------------------


def test_definitions_wrap_below_themselves() -> None:
    rows = [("id", "BIGINT", "key of the one unit that it is"), ("x_y", "TEXT", "")]
    #               column 16 is where meanings begin; 24 are left
    assert definitions("view: about", rows, 39) == (
        "view: about\n  id   BIGINT  key of the one unit that\n               it is\n  x_y  TEXT"
    )


def test_definitions_stand_below_where_there_is_little_room() -> None:
    rows = [("id", "BIGINT", "key of the one unit that it is")]
    assert definitions("v", rows, 30) == "v\n  id  BIGINT\n    key of the one unit that\n    it is"
