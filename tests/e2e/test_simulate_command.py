"""`dedupstats simulate`, against the small history told by hand (tests/support/reread.py)."""

from __future__ import annotations

import csv
import io
import json
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from support.command import Ran, run
from support.pipeline import Log
from support.reread import BYTES, RESULTS, store_of

import dedupstats

SAMPLES = Path(__file__).resolve().parents[2] / "sample_data"


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return store_of(tmp_path_factory.mktemp("reread"))


def simulate(path: Path, *arguments: str, **settings: Any) -> Ran:
    return run("simulate", "--db", str(path), "--tz", "UTC", *arguments, **settings)


def document(path: Path, *arguments: str) -> dict[str, Any]:
    """The JSON document: strict, by a parser that takes no NaN."""
    ran = simulate(path, "--format", "json", *arguments)
    assert ran.code == 0, ran.err

    def refuse(word: str) -> None:
        raise AssertionError(word)

    found: dict[str, Any] = json.loads(ran.out, parse_constant=refuse)
    return found


def verdicts(found: dict[str, Any]) -> dict[str, tuple[int, int]]:
    """True and untrue elisions of each variant."""
    return {
        variant["variant"]: (variant["saved"]["results"], variant["untrue"]["results"])
        for variant in found["variants"]
    }


# -- figures -------------------------------------------------------------------------------------------------


def test_what_every_policy_does(path: Path) -> None:
    found = document(path)
    assert found["schema_version"] == 2
    assert (found["results"]["results"], found["results"]["bytes"]) == (RESULTS, BYTES)
    assert found["sessions"] == 2
    assert found["unknown_tools"] == {"Bash": 2}
    assert verdicts(found) == {
        "docker-agent:v1 (host)": (1, 1),  # t2; t4 points behind the compaction
        "docker-agent:v1 (documented)": (2, 1),  # t3 too
        "docker-agent:v2 (host)": (1, 0),
        "docker-agent:v2 (documented)": (2, 0),
        "docker-agent:v3 (host)": (1, 0),
        "docker-agent:v3 (documented)": (2, 0),
        "rtk:v1": (1, 0),  # u3: a listing only reads
        "rtk:v2": (1, 0),
        "rtk:v2 (no handler)": (1, 0),
        "keep-all": (0, 0),
        "ceiling": (2, 2),  # t4 points nowhere, u3 might hide an effect
        "exact": (2, 1),  # u3
        "safe": (2, 0),
    }
    by_name = {variant["variant"]: variant for variant in found["variants"]}
    safe = by_name["safe"]
    assert safe["saved"]["net_bytes"] == 2000
    assert safe["saved"]["share_of_bytes"] == 2000 / BYTES
    assert safe["if_unknown_reads"]["results"] == 1
    assert by_name["keep-all"]["reasons"] == [{"reason": "kept", "stage": "eligible", "results": RESULTS}]
    v1 = by_name["docker-agent:v1 (host)"]
    assert v1["places"]["gone"]["dangling"]["results"] == 1
    assert {(one["call_id"], one["verdict"]) for one in v1["examples"]} == {
        ("t2", "sound"),
        ("t4", "dangling"),
    }
    # same call, bytes, session: t2 to t4, u3; t4's copies are not in sight; u3 is not known to only read
    steps = [step["results"] for step in v1["ladder"]]
    assert steps == [4, 4, 4, 3, 2, 2, 2, 1, 1]


def test_figures_are_those_of_saved_decisions(path: Path, tmp_path: Path) -> None:
    own = Path(shutil.copy(path, tmp_path / "s.duckdb"))
    ran = simulate(own, "--tokens", "bytes4", "--save", "it's mine", "--format", "json")
    assert ran.code == 0
    words = shlex.split(ran.err.split("saved: ")[1].splitlines()[0])
    assert words == ["dedupstats", "sql", "from decision where name = 'it''s mine'"]
    found = json.loads(ran.out)
    with dedupstats.open_store(own, read_only=True) as store:
        rows = store.query(
            "select policy, preset, count(*), sum(tokens), sum(tokens - (marker_bytes + 3) // 4)::bigint "
            "from decision join emission using (emission_key) "
            "where verdict = 'sound' and name = 'it''s mine' group by all"
        )
        count = store.query("select count(*) from decision")[0][0]
    assert {row[:2]: row[2:] for row in rows} == {
        (variant["policy"], variant["preset"]): tuple(
            variant["saved"][size] for size in ("results", "tokens", "net_tokens")
        )
        for variant in found["variants"]
        if variant["saved"]["results"]
    }
    # RTK's hook is asked about two results, three times; everybody else about all
    assert count == 10 * RESULTS + 3 * 2
    sql = run(
        "sql", "--db", str(own), "select count(*) as n from decision where is_current", "--format", "csv"
    )
    assert sql.out.split() == ["n", str(count)]


def test_a_window_counts_and_does_not_cut(path: Path) -> None:
    found = document(
        path, "--policy", "docker-agent:v3", "--session", "reread", "--since", "2026-03-01T09:00:06"
    )
    # t2 is still elided, but the results before the window are not counted
    counted = found["results"]["results"]
    assert 0 < counted < 4
    assert [variant["asked"]["results"] for variant in found["variants"]] == [counted, counted]
    bash = document(path, "--policy", "exact", "--tool", "Bash")
    assert (bash["results"]["results"], bash["results"]["bytes"]) == (2, 1800)
    assert verdicts(bash) == {"exact": (0, 1)}


def test_what_a_person_says_of_tools(path: Path, tmp_path: Path) -> None:
    file = tmp_path / "tools.toml"
    file.write_text("[tools.Bash]\nread_only = true\n[tools.Read]\nread_only = false\n", "utf-8")
    told = document(path, "--policy", "exact", "--tools", str(file))
    assert verdicts(told) == {"exact": (1, 2)}
    assert told["unknown_tools"] == {}
    assert told["knowledge"]["tools"]["Bash"] == {"read_only": "yes", "category": None}
    assert verdicts(document(path, "--policy", "safe", "--shell-reads")) == {"safe": (3, 0)}


def test_names_that_no_result_has_are_told(path: Path, tmp_path: Path) -> None:
    file = tmp_path / "tools.toml"
    file.write_text('[tools.Raed]\nread_only = true\n[tools.Bash]\ncategory = "mine"\n', "utf-8")
    typed = ("--set", "docker-agent.categories=filesystm,git,mine")
    ran = simulate(path, "--policy", "docker-agent", *typed, "--tools", str(file), "--format", "csv")
    notes = ran.err.splitlines()
    assert "--tools: no result is of 'Raed'; did you mean 'Read'?" in notes
    assert "categories: no tool is of the toolset 'filesystm'; did you mean 'filesystem'?" in notes
    assert sum(note.startswith(("--tools", "categories")) for note in notes) == 2


def test_a_result_without_a_call_is_not_reached(tmp_path: Path) -> None:
    log = Log("lost")
    log.user("go")
    log.read("t1", "/a", "x" * 900)
    log.result("lost", "y" * 900)
    path = tmp_path / "s.duckdb"
    with dedupstats.open_store(path) as store:
        dedupstats.import_paths(store, [log.write(tmp_path / "lost.jsonl")])
    found = simulate(path, "--policy", "exact", "--by", "reason", "--format", "csv").out
    rows = {row["reason"]: row["results"] for row in csv.DictReader(io.StringIO(found))}
    assert rows == {"first": "1", "not_reached": "1"}


def test_settings(path: Path) -> None:
    found = document(path, "--policy", "docker-agent:v1", "--policy", "rtk:v1", "--set", "min_bytes=1001")
    assert verdicts(found) == {
        "docker-agent:v1,min_bytes=1001 (host)": (0, 0),
        "docker-agent:v1,min_bytes=1001 (documented)": (0, 0),
        "rtk:v1": (1, 0),
    }
    every_tool = document(path, "--policy", "rtk:v1", "--set", "rtk.tools=all")
    (variant,) = every_tool["variants"]
    assert variant["variant"] == "rtk:v1,tools=all"
    assert variant["asked"]["results"] == RESULTS


def test_negative_net_stays_negative(tmp_path: Path) -> None:
    log = Log("short")
    log.user("go")
    for call in ("s1", "s2"):
        log.read(call, "/short", "d" * 20)
    path = tmp_path / "s.duckdb"
    with dedupstats.open_store(path) as store:
        dedupstats.import_paths(store, [log.write(tmp_path / "short.jsonl")])
    arguments = ("--policy", "docker-agent:v1,min_bytes=0")
    (host, _) = document(path, *arguments)["variants"]
    saved = host["saved"]
    assert (saved["results"], saved["bytes"]) == (1, 20)
    assert saved["net_bytes"] == 20 - saved["marker_bytes"] < 0
    assert saved["share_of_bytes"] == saved["net_bytes"] / 40
    row = next(line for line in simulate(path, *arguments).out.splitlines() if "(host)" in line)
    assert re.search(r" -\d+ \(-\d", row)


def test_scope_history(path: Path) -> None:
    found = document(path, "--scope", "history", "--policy", "docker-agent:v1")
    assert found["scope"] == "history"
    assert verdicts(found) == {"docker-agent:v1 (host)": (1, 1), "docker-agent:v1 (documented)": (2, 1)}


def test_processes(path: Path) -> None:
    one, two = (simulate(path, "--format", "json", "--jobs", jobs).out for jobs in ("1", "2"))
    assert one == two


# -- forms ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_table_fits(path: Path, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    ran = simulate(path, "--tokens", "bytes4", terminal=True)
    assert ran.code == 0
    plain = re.sub(r"\x1b\[\d+m", "", ran.out)
    assert plain != ran.out
    assert max(map(len, plain.splitlines())) <= width
    words = " ".join(plain.split())
    for expected in (
        f"100 % are all {RESULTS} tool results of 2 sessions",
        "1,575 tokens (bytes / 4, rounded up)",
        "recorded text stands for both",
        "1 of 4,096",
        "Points at text not visible, e.g. docker-agent:v1 (host): Read, 1.00 kB, earlier copy gone",
        "dedupstats explain t4",
        "Was the marker true?",
    ):
        assert expected in words


def test_piped_it_is_plain(path: Path) -> None:
    ran = simulate(path, "--tokens", "bytes4")
    assert "\x1b" not in ran.out
    assert not ran.err
    row = next(line for line in ran.out.splitlines() if line.startswith("safe "))
    assert row.split() == ["safe", "7", "2", "2", "0", "500", "(31.7", "%)"]


def test_no_risk_where_all_is_true(path: Path) -> None:
    ran = simulate(path, "--policy", "safe", "--policy", "docker-agent:v3")
    assert "Was the marker true?" not in ran.out


def test_steps_above_the_ledger_save_nothing(path: Path) -> None:
    lines = simulate(path, "--policy", "docker-agent", "--by", "ladder", "--format", "md").out.splitlines()
    cells = [
        [cell.strip() for cell in line.split("|")]
        for line in lines
        if line.startswith("| docker") and "(host)" in line
    ]
    net = {row[2]: row[-2] for row in cells}
    assert net["still in sight"] == net["eligible"] == ""
    assert net["and it is true"]


@pytest.mark.parametrize("by", ["policy", "reason", "tool", "session", "ladder", "risk"])
def test_views_as_csv_markdown_and_parquet(path: Path, by: str, tmp_path: Path) -> None:
    ran = simulate(path, "--by", by, "--format", "csv")
    assert ran.code == 0
    assert "100 % are all" in ran.err
    rows = list(csv.DictReader(io.StringIO(ran.out)))
    assert rows
    assert {row["policy"] for row in rows} >= {"docker-agent:v1", "rtk:v2", "safe"}
    if by in {"policy", "tool", "session", "risk"}:
        sound = sum(int(row["sound_results"]) for row in rows if row["variant"] == "docker-agent:v1 (host)")
        assert sound == 1
    target = tmp_path / "out.parquet"
    assert simulate(path, "--by", by, "-o", str(target)).code == 0
    assert pl.read_parquet(target).height == len(rows)
    page = simulate(path, "--by", by, "--format", "md").out
    # an address-like colon is parted, so that nothing becomes a link
    assert "| docker-agent:&#8203;v1 (host) |" in page
    assert len({line.count("|") for line in page.split("\n\n")[1].splitlines()}) == 1


def test_names_of_projects_are_short(path: Path) -> None:
    for form in ("table", "csv", "json"):
        out = simulate(path, "--by", "session", "--format", form).out
        assert "other" in out
        assert "/home/u" not in out


# -- what is refused -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--policy", "docker-agnet"], 2, "did you mean docker-agent?"),
        (["--policy", "rtk:v3"], 2, "its revisions: v1, v2"),
        (["--set", "min_byte=5"], 2, "did you mean min_bytes"),
        (["--set", "min_bytes=-1"], 2, "whole numbers from 0"),
        (["--scope", "history", "--jobs", "2"], 2, "leave out --jobs"),
        (["--jobs", "0"], 2, "--jobs"),
        (["--tools", "none.toml"], 3, "cannot read none.toml"),
        (["--tool", "Raed"], 2, "did you mean 'Read'?"),
        (["--save", " "], 2, "--save wants a name"),
        (["--save", "a\x1b[2J"], 2, "at most 200 plain characters"),
        (["--save", "n" * 201], 2, "at most 200 plain characters"),
        (["--since", "2026-03-02", "--until", "2026-03-01"], 2, "is not before"),
        (["-o", "out.xyz"], 2, "cannot tell the format"),
        (["--by", "colour"], 2, "--by"),
    ],
)
def test_wrong_use(path: Path, arguments: list[str], code: int, words: str) -> None:
    ran = simulate(path, *arguments)
    assert ran.code == code
    assert not ran.out
    assert words in " ".join(ran.err.split())


def test_a_store_that_is_not_there(tmp_path: Path) -> None:
    ran = simulate(tmp_path / "none.duckdb")
    assert (ran.code, ran.out) == (3, "")
    assert "dedupstats import" in ran.err


def test_an_empty_store(tmp_path: Path) -> None:
    path = tmp_path / "s.duckdb"
    dedupstats.open_store(path).close()
    ran = simulate(path)
    assert (ran.code, ran.out) == (3, "")
    assert "holds no tool results" in ran.err


def test_rtk_alone_is_refused_with_its_upper_bound(tmp_path: Path) -> None:
    path = tmp_path / "s.duckdb"
    with dedupstats.open_store(path) as store:
        dedupstats.import_paths(store, [SAMPLES / "rtk"])
    ran = simulate(path)
    assert (ran.code, ran.out) == (3, "")
    assert "no text and no sessions: no policy can be replayed on its 943 commands" in ran.err
    assert "Upper bound: 537 of them repeat a command line" in ran.err


def test_rtk_beside_logs_is_left_out_and_named(tmp_path: Path) -> None:
    path = tmp_path / "s.duckdb"
    with dedupstats.open_store(path) as store:
        dedupstats.import_paths(store, [SAMPLES])
    found = document(path, "--policy", "safe")
    assert [(one["source"], one["commands"], one["repeats_upper_bound"]) for one in found["refused"]] == [
        ("rtk", 943, 537)
    ]
    with dedupstats.open_store(path, read_only=True) as store:
        assert [(found["results"]["results"],)] == store.query(
            "select count(*) from emission where not is_copy"
        )
    assert "Left out: RTK holds no text" in simulate(path, "--policy", "safe").out
    asked = simulate(path, "--agent", "rtk")
    assert asked.code == 3
    assert "Upper bound" in asked.err


def test_help_has_an_example(path: Path) -> None:
    ran = simulate(path, "--help")
    assert ran.code == 0
    assert "Example: dedupstats simulate" in ran.out
