"""The commands as a person runs them: in a process of their own, with a home of their own."""

from __future__ import annotations

import csv
import io
import json
import os
import shlex
import shutil
import stat
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import polars as pl
import pytest

import dedupstats

SAMPLES = Path(__file__).resolve().parents[2] / "sample_data"
COMMAND = [sys.executable, "-m", "dedupstats"]
COMMANDS = ("import", "rates", "report", "sql", "export", "decide", "explain", "simulate", "context")
PLACES = ("~/.claude/projects", "~/.config/claude", "~/.cagent/session.db", "~/.local/share/rtk/history.db")

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="places, modes and pipes are POSIX's")


class Ran(NamedTuple):
    """What a command left behind."""

    code: int
    data: bytes
    err: str

    @property
    def out(self) -> str:
        return self.data.decode("utf-8")


def environment(home: Path, **more: str) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    return {**kept, "HOME": str(home), "TZ": "UTC", "LANG": "C.UTF-8", "TERM": "xterm-256color", **more}


def run(home: Path, *arguments: str, **more: str) -> Ran:
    """Run `dedupstats` in a home folder; `more` are environment variables."""
    ran = subprocess.run(
        [*COMMAND, *arguments], cwd=home, env=environment(home, **more), capture_output=True, check=False
    )
    found = Ran(ran.returncode, ran.stdout, ran.stderr.decode("utf-8"))
    assert "Traceback" not in found.err
    return found


def settle(home: Path) -> Path:
    """A home where the samples lie in the default places."""
    shutil.copytree(SAMPLES / "claude_code", home / ".claude")
    for source, place in (
        ("docker_agent/session.db", ".cagent/session.db"),
        ("rtk/history.db", ".local/share/rtk/history.db"),
    ):
        (home / place).parent.mkdir(parents=True)
        shutil.copy(SAMPLES / source, home / place)
    return home


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with logs and a store that holds them."""
    home = settle(tmp_path_factory.mktemp("home"))
    assert run(home, "import").code == 0
    return home


# -- without a command ---------------------------------------------------------------------------------------


def test_bare_command_imports_and_reports(tmp_path: Path) -> None:
    home = settle(tmp_path)
    first = run(home)
    assert first.code == 0
    for words in ("224 tool results", "943 RTK commands", "17.5 %", "56.9 %", "Upper bound"):
        assert words in first.out
    assert "\x1b" not in first.out
    store = home / ".local/share/dedupstats/dedupstats.duckdb"
    assert stat.S_IMODE(store.stat().st_mode) == 0o600
    shutil.rmtree(home / ".claude/projects/-srv-labels")
    second = run(home)
    assert second.code == 0
    assert "17.5 %" in second.out
    assert "4 files gone" in second.err


def test_bare_command_without_logs(tmp_path: Path) -> None:
    ran = run(tmp_path)
    assert ran.code == 3
    assert not ran.out
    assert [place for place in PLACES if place not in ran.err] == []
    assert "dedupstats import PATH" in ran.err


def test_rates_before_any_import(tmp_path: Path) -> None:
    ran = run(tmp_path, "rates")
    assert (ran.code, ran.out) == (3, "")
    assert "dedupstats import" in ran.err
    assert not (tmp_path / ".local").exists()


# -- import --------------------------------------------------------------------------------------------------


def test_import_of_paths(tmp_path: Path) -> None:
    ran = run(tmp_path, "import", str(SAMPLES), "--db", "s.duckdb")
    assert ran.code == 0
    assert "199 tool results" in ran.out
    (counts,) = [line for line in ran.out.splitlines() if " records = " in line]
    records, used, copies, ignored, skipped = (
        int(word.replace(",", "")) for word in counts.split() if word.replace(",", "").isdigit()
    )
    assert records == used + copies + ignored + skipped
    assert skipped == 1
    assert "1 record skipped" in ran.err
    again = run(tmp_path, "import", str(SAMPLES), "--db", "s.duckdb")
    assert again.code == 0
    assert "9 logs unchanged" in again.out
    assert " records = " not in again.out
    strict = run(tmp_path, "import", str(SAMPLES), "--db", "s.duckdb", "--strict", "--force", "--verbose")
    assert strict.code == 1
    assert "eb3044f9-48a8-41b4-96c1-ad0e2dc42974.jsonl:56: " in strict.err


def test_import_of_what_is_not_there(tmp_path: Path) -> None:
    ran = run(tmp_path, "import", "nowhere")
    assert (ran.code, ran.out) == (3, "")
    assert "nowhere" in ran.err


def test_import_of_what_is_no_log(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("Dear diary", "utf-8")
    ran = run(tmp_path, "import", "notes.txt")
    assert ran.code == 3
    assert "no agent logs" in ran.err


# -- rates ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["table", "md", "csv", "json"])
def test_rates_to_stdout_and_to_a_file(home: Path, form: str) -> None:
    shown = run(home, "rates", "--format", form, "--tz", "UTC")
    written = run(home, "rates", "--format", form, "--tz", "UTC", "-o", f"rates.{form}")
    assert (shown.code, written.code, written.out) == (0, 0, "")
    assert (home / f"rates.{form}").read_bytes() == shown.data
    assert "TodoWrite" in shown.out
    if form == "json":
        assert json.loads(shown.data, parse_constant=pytest.fail)["schema_version"] >= 1
    elif form == "csv":
        rows = list(csv.reader(io.StringIO(shown.out)))
        assert len({len(row) for row in rows}) == 1
        assert len(rows) > 10
    elif form == "md":
        assert "| --" in shown.out or "|--" in shown.out or "|:-" in shown.out


def test_rates_as_parquet_are_those_of_csv(home: Path) -> None:
    assert run(home, "rates", "--format", "parquet", "-o", "rates.parquet").code == 0
    frame = pl.read_parquet(home / "rates.parquet")
    shown = run(home, "rates", "--format", "parquet")
    assert pl.read_parquet(io.BytesIO(shown.data)).equals(frame)
    rows = list(csv.DictReader(io.StringIO(run(home, "rates", "--format", "csv").out)))
    assert list(rows[0]) == frame.columns
    assert len(rows) == len(frame)


def test_machine_output_is_pure(home: Path) -> None:
    """Fault case U15: what was skipped is told, but not among the data."""
    for form in ("json", "csv"):
        ran = run(home, "rates", "--format", form)
        assert "skipped" in ran.err
        assert not ran.out.startswith(("Warn", "dedupstats", "1 record"))
    document = json.loads(run(home, "report", "--format", "json").out, parse_constant=pytest.fail)
    assert isinstance(document, dict)


def test_the_store_can_be_named_in_three_ways(home: Path, tmp_path: Path) -> None:
    run(tmp_path, "import", str(SAMPLES / "docker_agent"), "--db", "other.duckdb")
    other = str(tmp_path / "other.duckdb")
    after = run(home, "rates", "--db", other)
    assert after.code == 0
    assert "Bash" not in after.out
    assert run(home, "--db", other, "rates") == after
    assert run(home, "rates", DEDUPSTATS_DB=other) == after
    # the option wins
    assert run(home, "rates", "--db", other, DEDUPSTATS_DB="nowhere.duckdb") == after


def test_windows_and_names(home: Path) -> None:
    none = run(home, "rates", "--since", "2031-01-01")
    assert none.code == 0
    assert "No tool result lies in this window" in none.out + none.err
    assert run(home, "rates", "--tool", "Raed").code != 0
    only = run(home, "rates", "--tool", "Grep", "--by", "project", "--until", "2026-11-09", "--all-rules")
    assert only.code == 0
    assert "repeat-in-sight" in only.out or "in sight" in only.out


# -- report --------------------------------------------------------------------------------------------------


def test_report_in_every_format(home: Path) -> None:
    names = ("r.html", "r.md", "r.json", "r.txt")
    ran = run(home, "report", *(part for name in names for part in ("-o", name)))
    assert (ran.code, ran.out) == (0, "")
    texts = {name: (home / name).read_text("utf-8") for name in names}
    assert texts["r.html"].startswith("<!doctype html>") or texts["r.html"].startswith("<!DOCTYPE html>")
    assert json.loads(texts["r.json"], parse_constant=pytest.fail)["schema_version"] >= 1
    for name in names:
        assert str(home) not in texts[name]
        assert "/srv/" not in texts[name]
    assert run(home, "report", "--format", "md").out == texts["r.md"]
    brief = run(home, "report", "--format", "md", "--brief").out
    assert len(brief.splitlines()) <= 20
    assert len(brief) < len(texts["r.md"])


def test_report_twice_is_the_same(home: Path) -> None:
    assert run(home, "report", "--format", "json", PYTHONHASHSEED="1").data == (
        run(home, "report", "--format", "json", PYTHONHASHSEED="2", LANG="C").data
    )


def test_anonymous_report_names_no_project(home: Path) -> None:
    ran = run(home, "report", "--anonymize", "--format", "md")
    assert ran.code == 0
    assert [name for name in ("tansy", "labels", "srv") if name in ran.out] == []


def test_report_of_an_unknown_format(home: Path) -> None:
    ran = run(home, "report", "-o", "report.docx")
    assert ran.code == 2
    assert "--format" in ran.err


# -- sql, export ---------------------------------------------------------------------------------------------

QUERY = (
    "select tool, count(*) as n, min(ts) as first from emission where not is_copy group by tool order by all"
)


@pytest.mark.parametrize("form", ["table", "md", "csv", "json", "parquet"])
def test_sql_to_stdout_and_to_a_file(home: Path, form: str) -> None:
    shown = run(home, "sql", QUERY, "--format", form)
    written = run(home, "sql", QUERY, "--format", form, "-o", f"sql.{form}")
    assert (shown.code, written.code, written.out) == (0, 0, "")
    assert (home / f"sql.{form}").read_bytes() == shown.data
    counts = {"Bash": 49, "Read": 71}
    if form == "parquet":
        frame = pl.read_parquet(io.BytesIO(shown.data))
        found = dict(zip(frame["tool"], frame["n"], strict=True))
    elif form == "csv":
        found = {row["tool"]: int(row["n"]) for row in csv.DictReader(io.StringIO(shown.out))}
    elif form == "json":
        document: Any = json.loads(shown.data, parse_constant=pytest.fail)
        rows = document if isinstance(document, list) else document["rows"]
        found = {row["tool"]: row["n"] for row in rows}
    else:
        found = {
            name: count for name, count in counts.items() if name in shown.out and str(count) in shown.out
        }
    assert {name: found.get(name) for name in counts} == counts


def test_sql_lists_its_views(home: Path) -> None:
    listed = list(csv.DictReader(io.StringIO(run(home, "sql", "--views", "--format", "csv").out)))
    assert {"emission", "emission_repeat", "request", "rtk_command"} <= {row["view"] for row in listed}
    assert [row for row in listed if not row["comment"]] == []
    piped = run(home, "sql", "--views")
    assert piped.out.split()[:4] == ["view", "column", "type", "comment"]
    one = list(csv.DictReader(io.StringIO(run(home, "sql", "--views", "skipped", "--format", "csv").out)))
    assert [row["column"] for row in one] == ["", "unit_key", "source", "path", "line", "reason", "records"]
    unknown = run(home, "sql", "--views", "skiped")
    assert (unknown.code, unknown.err.splitlines()[1].strip()) == (2, "did you mean skipped?")


def test_views_fit_a_narrow_terminal(home: Path) -> None:
    lines = run(home, "sql", "--views", COLUMNS="80").out.splitlines()
    assert max(map(len, lines)) <= 80
    assert "skipped: records that could not be used, with the reason" in lines
    begin = lines.index("skipped: records that could not be used, with the reason")
    assert lines[begin + 1 : begin + 4] == [
        "  unit_key  BIGINT   key of the source unit",
        "  source    VARCHAR  kind of log: claude_code, docker_agent, rtk",
        "  path      VARCHAR  file that holds it",
    ]


@pytest.mark.parametrize("asked", [["rates"], ["sql", "from skipped order by all"]])
def test_the_format_is_that_of_the_file(home: Path, tmp_path: Path, asked: list[str]) -> None:
    for form in ("md", "csv", "json", "parquet"):
        path = tmp_path / f"x.{form}"
        assert run(home, *asked, "-o", str(path)).code == 0
        named = run(home, *asked, "--format", form)
        assert path.read_bytes() == named.data
    ran = run(home, *asked, "-o", str(tmp_path / "x.xlsx"))
    assert (ran.code, ran.out, (tmp_path / "x.xlsx").exists()) == (2, "", False)
    assert ".csv, .json or .parquet" in ran.err


@pytest.mark.parametrize(
    "query",
    [
        "copy (select 1) to 'leak.csv'",
        "delete from raw.emission",
        "attach 'x.duckdb'",
        "from read_csv('/etc/passwd')",
        "from emision",
        "select 1; select 2",
    ],
)
def test_sql_refuses(home: Path, query: str) -> None:
    before = sorted(home.rglob("*"))
    ran = run(home, "sql", query)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("dedupstats: ")
    assert sorted(home.rglob("*")) == before


def test_export_is_every_view(home: Path) -> None:
    ran = run(home, "export", "views")
    assert ran.code == 0
    listed = csv.DictReader(io.StringIO(run(home, "sql", "--views", "--format", "csv").out))
    views = {row["view"] for row in listed}
    assert {path.stem for path in (home / "views").iterdir()} == views
    with duckdb.connect() as connection:
        for view, query in (("emission", "from emission"), ("rtk_command", "from rtk_command")):
            told = run(home, "sql", f"select count(*) as n {query}", "--format", "csv").out.split()[1]
            path = home / "views" / f"{view}.parquet"
            assert connection.sql(f"select count(*) from '{path}'").fetchall() == [(int(told),)]


# -- help, errors --------------------------------------------------------------------------------------------


def test_version_however_it_is_started(tmp_path: Path) -> None:
    expected = f"dedupstats {dedupstats.__version__}\n"
    assert run(tmp_path, "--version").out == expected
    script = Path(sys.executable).with_name("dedupstats")
    if script.exists():
        ran = subprocess.run([script, "--version"], capture_output=True, text=True, check=True)
        assert ran.stdout == expected


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example(tmp_path: Path, command: str) -> None:
    ran = run(tmp_path, command, "--help")
    assert (ran.code, ran.err) == (0, "")
    assert f"Example: dedupstats {command} " in ran.out


def test_help_lists_the_commands(tmp_path: Path) -> None:
    ran = run(tmp_path, "--help")
    assert ran.code == 0
    assert [command for command in COMMANDS if f" {command} " not in ran.out] == []
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "arguments",
    [("--nope",), ("rates", "--nope"), ("nope",), ("rates", "--by", "colour"), ("sql",), ("export",)],
)
def test_wrong_use(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    ran = run(tmp_path, *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err


def test_store_that_is_none_or_in_use(home: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.duckdb"
    bad.write_bytes(b"no database" * 1000)
    for command in (("rates",), ("import", str(SAMPLES))):
        ran = run(home, *command, "--db", str(bad))
        assert (ran.code, ran.out) == (3, "")
        assert "bad.duckdb" in ran.err
    with dedupstats.open_store(home / ".local/share/dedupstats/dedupstats.duckdb", read_only=True):
        ran = run(home, "import")
    assert ran.code == 3
    assert "in use" in ran.err
    assert len(ran.err.splitlines()) <= 2


# -- terminals and pipes -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        "rates --format csv",
        "sql 'from emission' --format csv",
        "report --format html",
        "sql 'from emission' --format json",
    ],
)
def test_the_reader_stops(home: Path, arguments: str) -> None:
    """Fault case U11."""
    ran = subprocess.run(
        ["bash", "-o", "pipefail", "-c", f"{sys.executable} -m dedupstats {arguments} | head -1"],
        cwd=home,
        env=environment(home),
        capture_output=True,
        text=True,
        check=False,
    )
    assert len(ran.stdout.splitlines()) <= 1
    # what is said to a reader who stays, and nothing about the one who left
    stayed = run(home, *shlex.split(arguments))
    assert set(ran.stderr.splitlines()) <= set(stayed.err.splitlines())
    assert ran.returncode == 0


def test_output_that_is_not_utf_8(home: Path) -> None:
    """Fault case U10: a name that the output cannot show becomes a visible escape."""
    for encoding in ("cp1252", "ascii"):
        ran = run(home, "sql", "select '紫蘇' as name, 'ü' as letter", PYTHONIOENCODING=encoding)
        assert ran.code == 0
        assert b"\\u7d2b" in ran.data
        assert run(home, "rates", PYTHONIOENCODING=encoding).code == 0
    assert run(home, "report", PYTHONIOENCODING="cp1252").code == 0


def test_colours_and_widths(home: Path) -> None:
    plain = run(home, "rates")
    assert "\x1b" not in plain.out
    for more in ({"NO_COLOR": "1"}, {"TERM": "dumb"}, {"NO_COLOR": "1", "FORCE_COLOR": ""}):
        assert run(home, "rates", **more).data == plain.data
    narrow = run(home, "report", COLUMNS="60").out
    assert max(len(line) for line in narrow.splitlines()) <= 60
    assert "search_files_content" in plain.out


@pytest.mark.parametrize(
    "arguments",
    [
        ("top", "--limit", "99999999999999999999"),
        ("rates", "--session", "\udcff"),
        ("explain", "\udcff"),
        ("simulate", "--save", "\udcff"),
        ("sql", "select \udcff"),
    ],
)
def test_arguments_that_nothing_can_hold(home: Path, arguments: tuple[str, ...]) -> None:
    ran = run(home, *arguments)
    assert (ran.code, ran.out) == (2, "")


def test_an_interrupted_query(home: Path) -> None:
    script = """
        import sys
        from dedupstats.analytics import sql
        from dedupstats.__main__ import main
        def stop(*_): raise RuntimeError("Query interrupted")
        sql.answer = stop
        sys.argv = ["dedupstats", "sql", "select 1"]
        main()
    """
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        cwd=home,
        env=environment(home),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stdout) == (130, "")
    assert ran.stderr.splitlines()[-1] == "dedupstats: interrupted; what was committed stays"
