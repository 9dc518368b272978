"""Fault cases of class U that concern terminal, CSV, Markdown and JSON, through the commands that print."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import duckdb
import pytest
from rich.cells import cell_len
from support.command import run
from support.judged import Result, put

from dedupstats.report.tables import Column, Format, Table, written
from dedupstats.store import open_store

if TYPE_CHECKING:
    from collections.abc import Sequence

NAMES = {
    "u01": "app/[id]/page.tsx",
    "u01b": "src/[/red]x.py",
    "u02": "mcp__a_server__" + "x" * 45,
    "u03": "a\x1b[2J\x1b]0;pwned\x07b\rc\nd",
    "u04": "mcp:smile:tool",
    "u05": '=HYPERLINK("http://x","y")',
    "u05b": "-1+1",
    "u06": 'a,"b"\nc',
    "u09": "日本語",
    "u12": "a|b`c<img src=x>@team #12",
    "u13": "a\u202egpj.exe",
}


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("store") / "s.duckdb"
    fill(path, [Result(1000 + number, tool=name) for number, name in enumerate(NAMES.values())])
    return str(path)


def fill(path: Path, results: Sequence[Result]) -> None:
    with open_store(path) as store:
        put(store, results)


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("TZ", "UTC")


@pytest.mark.parametrize("name", ["u01", "u01b", "u04", "u02"])
def test_u01_u02_u04_names_are_printed_as_they_are(database: str, name: str) -> None:
    assert any(line.startswith(f"{NAMES[name]} ") for line in run("rates", "--db", database).out.splitlines())


def test_u02_piped_output_has_no_colour_unless_forced(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\x1b" not in run("rates", "--db", database).out
    assert "\x1b[1m" in run("rates", "--db", database, terminal=True).out
    monkeypatch.setenv("TERM", "dumb")
    assert "\x1b" not in run("rates", "--db", database, terminal=True).out
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[1m" in run("rates", "--db", database).out


def test_u02_columns_are_obeyed(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    for command in (("rates", "--all-rules"), ("sql", "--views"), ("sql", "from emission")):
        shown = run(*command, "--db", database).out
        assert max(map(cell_len, shown.splitlines())) <= 60


@pytest.mark.parametrize(
    "arguments",
    [
        ("rates",),
        ("sql", "from emission"),
        ("rates", "--format", "md"),
        ("sql", "from emission", "--format", "csv"),
    ],
)
def test_u03_no_control_character_reaches_the_output(database: str, arguments: tuple[str, ...]) -> None:
    shown = run(*arguments, "--db", database).out
    allowed = "\n\r" if "csv" in arguments else "\n"
    assert not [c for c in shown if (ord(c) < 0x20 or ord(c) == 0x7F) and c not in allowed]
    assert r"a\x1b[2J\x1b]0;pwned\x07b" in shown.replace("\\\\", "\\").replace("\\[", "[").replace("\\]", "]")


def test_u03_u13_the_row_stays_one_row_and_shows_what_it_holds(database: str) -> None:
    lines = run("rates", "--db", database).out.splitlines()
    assert len([line for line in lines if line.startswith(r"a\x1b[2J\x1b]0;pwned\x07b\rc\nd ")]) == 1
    assert len([line for line in lines if line.startswith(r"a\u202egpj.exe ")]) == 1


def test_u05_u06_csv_is_read_back_and_runs_nothing(database: str) -> None:
    ran = run("rates", "--format", "csv", "--db", database)
    rows = list(csv.DictReader(io.StringIO(ran.data.decode(), newline="")))
    tools = [row["tool"] for row in rows]
    assert "'" + NAMES["u05"] in tools
    assert "'-1+1" in tools
    assert NAMES["u06"] in tools
    assert {row["results"] for row in rows} == {"1"}


def test_u05_a_negative_number_stays_a_number(database: str) -> None:
    ran = run("sql", "select -90 as net, '-90' as target", "--format", "csv", "--db", database)
    assert ran.out == "net,target\n-90,'-90\n"


def test_u09_wide_characters_align(database: str) -> None:
    query = "select '日本語' as project, 1 as n union all select 'abcdef', 2 order by n"
    first, second = run("sql", query, "--db", database).out.splitlines()[-2:]
    assert cell_len(first[: first.index("1")]) == second.index("2")


def test_u10_an_output_that_is_not_utf8(database: str) -> None:
    ran = run("rates", "--db", database, encoding="cp1252")
    # `main` sets the streams up; here the characters that cp1252 lacks became escapes
    assert (ran.code, ran.err) == (0, "")
    assert r"\u65e5\u672c\u8a9e" in ran.out
    # what programs read is UTF-8 whatever the terminal
    assert NAMES["u09"].encode() in run("rates", "--format", "csv", "--db", database, encoding="cp1252").data


def test_u11_the_reader_stops(tmp_path: Path) -> None:
    path = tmp_path / "s.duckdb"
    fill(path, [Result(tool=f"tool-{number}" + "x" * 200) for number in range(2000)])
    arguments = [sys.executable, "-m", "dedupstats", "rates", "--format", "csv", "--db", str(path)]
    reader, writer = os.pipe()
    os.close(reader)
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    try:
        ran = subprocess.run(arguments, stdout=writer, stderr=subprocess.PIPE, env=environment, check=False)
    finally:
        os.close(writer)
    assert (ran.returncode, ran.stderr) == (0, b"")


def test_u12_markdown_stays_one_cell(database: str) -> None:
    lines = run("rates", "--format", "md", "--db", database).out.splitlines()
    (line,) = [line for line in lines if "team" in line]
    assert line.startswith("| a\\|b\\`c&lt;img src=x&gt;@&#8203;team #&#8203;12 | 1 |")


def test_u15_stdout_is_strict_json_and_notes_go_to_stderr(tmp_path: Path) -> None:
    path = tmp_path / "s.duckdb"
    fill(path, [Result(tool="a\x00b"), Result(0, tool="Empty", klass="empty", at=None)])
    with open_store(path) as store:
        store.query("insert into raw.skipped values (1, 'f', 3, 'no JSON', 1)")
    ran = run("rates", "--format", "json", "--all-rules", "--db", str(path))
    found = json.loads(ran.data, parse_constant=pytest.fail)
    assert found["schema_version"] == 2
    assert [row["group"] for row in found["rows"]] == ["a\x00b", "Empty"]
    # S08: no bytes to divide by is no rate
    assert found["rows"][1]["rules"]["repeat-session"]["share_of_bytes"] is None
    assert "measured where the log tells, else estimated" in found.values()
    assert "Tokens: 100.0 % bytes / 4, model not known (25 to 52 % low)." in found["notes"]
    assert ran.err.splitlines()[:2] == [
        "1 results have no time: in the totals.",
        '1 record was skipped when read: dedupstats sql "from skipped order by all".',
    ]
    assert found["notes"][:2] == ran.err.splitlines()[:2]


def test_x12_lone_surrogates_and_every_format_is_valid_utf8() -> None:
    table = Table("t\ud800", (Column("a"),), [("a\ud83d",)], ("n\udfff",))
    for form in get_args(Format):
        data = written(table, form)
        if form != "parquet":
            assert (data if isinstance(data, bytes) else data.encode()).decode()


@pytest.mark.parametrize("form", ["table", "md", "csv", "json", "parquet"])
def test_a_file_gets_what_stdout_would(database: str, tmp_path: Path, form: str) -> None:
    out = tmp_path / f"out.{form}"
    piped = run("rates", "--format", form, "--db", database)
    filed = run("rates", "--format", form, "-o", str(out), "--db", database)
    assert (filed.code, filed.data, filed.err) == (0, b"", piped.err)
    assert out.read_bytes() == piped.data
    if form == "parquet":
        assert duckdb.connect().execute(f"select count(*), sum(bytes) from '{out}'").fetchall() == [
            (len(NAMES), sum(1000 + number for number in range(len(NAMES))))
        ]


def test_s08_a_tool_without_bytes_has_no_rate(tmp_path: Path) -> None:
    path = tmp_path / "s.duckdb"
    fill(path, [Result(0, tool="Shot", klass="image")])
    assert "no data" in run("rates", "--db", str(path)).out
    assert "NaN" not in run("rates", "--db", str(path), "--all-rules", "--format", "json").out


def test_s10_s11_the_distribution_is_the_same_in_every_output(tmp_path: Path) -> None:
    path = tmp_path / "s.duckdb"
    shares = {"a": 10, "b": 20, "c": 30, "d": 40}
    fill(
        path,
        [
            result
            for session, part in shares.items()
            for result in (
                Result(part, ("repeat_session",), session=session),
                Result(100 - part, session=session),
            )
        ],
    )
    line = next(
        line
        for line in run("rates", "--db", str(path)).out.split("How repeats are spread")[1].splitlines()
        if line.startswith("repeat-session")
    )
    # of 10, 20, 30 and 40 %, worked out by hand: median 25, p90 37 (linear)
    assert line.split()[1:8] == ["4", "25.0", "%", "37.0", "%", "40.0", "%"]
    found = json.loads(run("rates", "--format", "json", "--db", str(path)).data)
    spread = found["sessions"]["repeat-session"]
    assert [round(spread[name], 6) for name in ("median", "p90", "max")] == [0.25, 0.37, 0.4]
    # S07: the largest session holds 40 of 100
    assert found["by_session"]["repeat-session"]["top1"] == 40


def test_tokens_and_denominators_are_named(database: str) -> None:
    for form in ("table", "md"):
        shown = run("rates", "--format", form, "--db", database).out
        assert "bytes / 4, model not known (25 to 52 % low)" in shown
        assert "of the bytes of all results in the row" in shown
    assert "bytes / 4, model not known" in run("rates", "--format", "csv", "--db", database).err
    plain = ("rates", "--tokens", "bytes4", "--db", database)
    assert "bytes / 4, rounded up per result, as RTK counts" in run(*plain).out
    assert "bytes / 4, rounded up per result, as RTK counts" in run(*plain, "--format", "csv").err


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("rates", "--tool", "app/[id]/page.ts"), 2, "did you mean 'app/[id]/page.tsx'?"),
        (("rates", "--agent", "claude"), 2, "did you mean 'claude_code'?"),
        (("rates", "--since", "gestern"), 2, "--since 'gestern' is no time"),
        (("rates", "--tz", "Madrid"), 2, "did you mean Europe/Madrid?"),
        (("rates", "--by", "colour"), 2, "'tool', 'agent', 'project'"),
        (("rates", "-o", "/dev/null/x.md"), 3, "cannot write /dev/null/x.md: Not a directory"),
        (("rates", "-o", "rates.xls"), 2, "cannot tell the format of rates.xls from its name"),
        (("sql",), 2, "give either a query or --views"),
    ],
)
def test_wrong_use_is_told_with_what_would_be_right(
    database: str, arguments: tuple[str, ...], code: int, message: str
) -> None:
    ran = run(*arguments, "--db", database)
    assert (ran.code, ran.out) == (code, "")
    assert message in ran.err
    assert "Traceback" not in ran.err


@pytest.mark.parametrize("arguments", [("rates",), ("sql", "from emission"), ("export", "out")])
def test_no_store_says_what_to_type(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    ran = run(*arguments, "--db", str(tmp_path / "none.duckdb"))
    assert ran.code == 3
    assert "dedupstats import" in ran.err
    assert not list(tmp_path.iterdir())


def test_x01_another_process_has_the_store_open(tmp_path: Path) -> None:
    path = tmp_path / "s.duckdb"
    fill(path, [Result()])
    holding = "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print('held', flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", holding, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        for arguments in (("rates",), ("sql", "from session"), ("export", str(tmp_path / "out"))):
            ran = run(*arguments, "--db", str(path))
            assert (ran.code, ran.out) == (3, "")
            assert f"{path} is in use by" in ran.err
            assert f"PID {holder.pid}" in ran.err
            assert "Traceback" not in ran.err
        holder.communicate(b"\n")


def test_an_empty_store_says_what_to_type(tmp_path: Path) -> None:
    path = tmp_path / "s.duckdb"
    fill(path, [])
    ran = run("rates", "--db", str(path))
    assert (ran.code, ran.out) == (3, "")
    assert "dedupstats import" in ran.err


def test_parquet_is_refused_on_a_terminal(database: str) -> None:
    ran = run("rates", "--format", "parquet", "--db", database, terminal=True)
    assert (ran.code, ran.out) == (2, "")
    assert "-o FILE" in ran.err


def test_filters_and_windows_by_option(tmp_path: Path) -> None:
    path = tmp_path / "s.duckdb"
    fill(
        path,
        [
            Result(1, tool="Read", at="2026-01-01T23:30:00Z", model="m"),
            Result(2, tool="Bash", at="2026-01-02T10:00:00Z"),
            Result(4, tool="Bash", session="s2", project="/home/u/other", at="2026-01-03T10:00:00Z"),
        ],
    )

    def size(*arguments: str) -> int:
        return int(
            json.loads(run("rates", "--format", "json", "--db", str(path), *arguments).data)["total"][
                "results"
            ]["bytes"]
        )

    assert size("--tool", "Bash") == 6
    assert size("--tool", "Bash", "--tool", "Read") == 7
    assert size("--project", "other") == 4
    assert size("--project", "/home/u/other/") == 4
    assert size("--agent", "claude-code", "--model", "m") == 1
    assert size("--agent", "Claude Code") == 7
    assert size("--since", "2026-01-02") == 6
    assert size("--since", "2026-01-02", "--tz", "Europe/Madrid") == 7
    assert size("--until", "2026-01-02") == 3
    assert size("--since", "2030-01-01") == 0


def test_projects_are_shortened_unless_asked(tmp_path: Path) -> None:
    path = tmp_path / "s.duckdb"
    fill(path, [Result(2, project="/home/u/app"), Result(1, session="s2", project="/srv/app")])
    ran = run("rates", "--by", "project", "--format", "csv", "--db", str(path))
    assert [line.split(",")[0] for line in ran.out.splitlines()] == ["project", "u/app", "srv/app"]
    ran = run("rates", "--by", "project", "--format", "csv", "--full-paths", "--db", str(path))
    assert [line.split(",")[0] for line in ran.out.splitlines()] == ["project", "/home/u/app", "/srv/app"]
