"""Fault cases of class S that need the whole way, up to what is printed: S03, S04, S06, S08, S10, S11, S12.

Left out here: S01, S02, S05, S07, S09, S13 and S18 (figures of RTK's rows, tested beside their functions),
and S14 to S17 (what a policy would have saved: tested with replays).
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NoReturn

import pytest
from support import docker_agent, rtk
from support.claude import stamp
from support.command import run
from support.pipeline import Log, imported

from dedupstats import Window, build_report, rates
from dedupstats.analytics.rates import share
from dedupstats.report import document

if TYPE_CHECKING:
    from pathlib import Path

CAP = 30_000 // 4
"""tokens of the longest result that hosts show: 30,000 characters"""


def strictly(text: str) -> Any:
    """Strict JSON: NaN and infinities are none."""

    def refuse(constant: str) -> NoReturn:
        message = f"{constant} is no JSON"
        raise AssertionError(message)

    return json.loads(text, parse_constant=refuse)


def session_with(path: Path, number: int, repeated: int, size: int) -> None:
    """A session of `size` bytes, of which `repeated` are a result that was shown before."""
    log = Log(f"s{number}", prefix=f"s{number}-", start=number * 100)
    if repeated:
        log.read(f"a{number}", "a", "x" * repeated)
        log.read(f"b{number}", "a", "x" * repeated)
    log.read(f"c{number}", "b", str(number) * (size - 2 * repeated))
    log.write(path / f"s{number}.jsonl")


# -- S03, S04 ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "saved", "whole", "words"),
    [
        # S03: 251 bytes became 341
        pytest.param([(63, 86, -23)], -23, 63, "-36.5 %", id="S03"),
        # S04: neither 50 of 110 nor 50 %
        pytest.param([(100, 50, 50), (10, 40, -30)], 20, 110, "18.2 %", id="S04"),
    ],
)
def test_s03_s04_a_loss_is_taken_off(
    tmp_path: Path, rows: list[tuple[int, int, int]], saved: int, whole: int, words: str
) -> None:
    commands = [
        rtk.Command(stamp(second), f"ls {second}", f"rtk ls {second}", *row)
        for second, row in enumerate(rows)
    ]
    path = rtk.write_history(tmp_path / "history.db", commands=commands)
    report = build_report(imported(path).store)
    assert report.rtk is not None
    assert (report.rtk.filtering.saved.part, report.rtk.filtering.saved.whole) == (saved, whole)
    db = str(tmp_path / "x.db")
    assert run("import", str(path), "--db", db).code == 0
    assert words in run("report", "--db", db, "--format", "md").out.replace("\\", "")


# -- S06 -----------------------------------------------------------------------------------------------------


def test_s06_savings_above_what_could_have_been_seen(tmp_path: Path) -> None:
    path = rtk.write_history(
        tmp_path / "history.db",
        commands=[rtk.Command(stamp(1), "cat big", "rtk read big", 135_722_224, 21, 135_722_203)],
    )
    report = build_report(imported(path).store)
    assert report.rtk is not None
    (claim,) = report.rtk.filtering.top
    assert (claim.saved, claim.capped) == (135_722_203, 7_479)
    assert (report.rtk.filtering.saved.part, report.rtk.filtering.capped.part) == (135_722_203, CAP - 21)
    # the cap is named
    assert any("7,500 tokens" in note and "30,000 characters" in note for note in report.rtk.notes)


@pytest.mark.parametrize(
    ("sent", "shown", "saved", "capped"),
    [
        (100, 25, 75, 75),
        (7_500, 0, 7_500, 7_500),
        (7_501, 0, 7_501, 7_500),
        # more was shown than the cap: nothing can be left of the claim
        (20_000, 8_000, 12_000, 0),
        # a loss stays one
        (63, 86, -23, -23),
    ],
)
def test_s06_each_claim_is_capped_for_itself(
    tmp_path: Path, sent: int, shown: int, saved: int, capped: int
) -> None:
    commands = [
        rtk.Command(stamp(1), "ls", "rtk ls", sent, shown, saved),
        rtk.Command(stamp(2), "cat big", "rtk read big", 135_722_224, 21, 135_722_203),
    ]
    report = build_report(imported(rtk.write_history(tmp_path / "history.db", commands=commands)).store)
    assert report.rtk is not None
    assert report.rtk.filtering.saved.part == saved + 135_722_203
    assert report.rtk.filtering.capped.part == capped + 7_479


# -- S08 -----------------------------------------------------------------------------------------------------


def test_s08_an_empty_history(tmp_path: Path) -> None:
    log = Log()
    log.user("hi")
    history = imported(log.write(tmp_path / "s1.jsonl"))
    found = history.rates
    assert found.rows == ()
    assert share(found.total.rules["repeat-in-sight"].bytes, found.total.results.bytes) is None
    assert {distribution.median for distribution in found.sessions.values()} == {None}
    report = build_report(history.store)
    assert "no data" in report.headline
    assert {rule.repeats.bytes.share for rule in report.rules} == {None}
    written = strictly(document.render(report))
    assert written["rules"][0]["repeats"]["bytes"] == {"part": 0, "whole": 0, "share": None}


def test_s08_a_tool_with_no_bytes(tmp_path: Path) -> None:
    """Beside a tool that has some: its own share is not 0 %, there is none."""
    log = Log()
    log.call("t1", "Glob", {"pattern": "*"})
    log.result("t1", "")
    log.read("t2", "a", "x" * 300)
    log.write(tmp_path / "s1.jsonl")
    report = build_report(imported(tmp_path).store)
    shares = {tool.name: tool.repeats["repeat-in-sight"].bytes.share for tool in report.tools.rows}
    assert shares == {"Read": 0.0, "Glob": None}
    db = str(tmp_path / "x.db")
    assert run("import", str(tmp_path / "s1.jsonl"), "--db", db).code == 0
    rows = strictly(run("rates", "--db", db, "--format", "json").out)["rows"]
    assert [(row["group"], row["rules"]["repeat-in-sight"]["share_of_bytes"]) for row in rows] == [
        ("Read", 0.0),
        ("Glob", None),
    ]
    # in a table as well
    (line,) = re.findall(r"^Glob .* 0 B.*$", run("report", "--db", db, "--tz", "UTC").out, re.MULTILINE)
    assert line.split("0 B")[1].replace("no data", "").split() == ["0.0", "%"]


def test_s08_a_history_without_a_byte(tmp_path: Path) -> None:
    log = Log()
    log.call("t1", "Glob", {"pattern": "*"})
    log.result("t1", "")
    log.write(tmp_path / "s1.jsonl")
    history = imported(tmp_path)
    assert history.rates.total.results.results == 1
    assert history.rates.sessions["repeat-in-sight"].median is None
    assert history.rates.sessions["repeat-in-sight"].empty == 1
    db = str(tmp_path / "x.db")
    run("import", str(tmp_path / "s1.jsonl"), "--db", db)
    for form in ("terminal", "md", "html", "json"):
        out = run("report", "--db", db, "--format", form).out
        assert "nan" not in re.sub(r"<script.*?</script>", "", out, flags=re.DOTALL).lower()


def test_s08_the_headline_without_a_byte_is_a_sentence(tmp_path: Path) -> None:
    log = Log()
    log.call("t1", "Glob", {"pattern": "*"})
    log.result("t1", "")
    report = build_report(imported(log.write(tmp_path / "s1.jsonl")).store)
    assert not report.headline.startswith("no data of")


def test_s08_a_window_with_nothing_in_it(tmp_path: Path) -> None:
    log = Log()
    log.read("t1", "a", "x" * 300)
    history = imported(log.write(tmp_path / "s1.jsonl"))
    found = rates(history.store, window=Window(tools=("Bash",)))
    assert found.rows == ()
    assert (found.first, found.last) == (None, None)
    assert found.sessions["repeat-in-sight"].median is None


# -- S10, S11 ------------------------------------------------------------------------------------------------


def test_s10_median_and_p90(tmp_path: Path) -> None:
    """Shares of 10, 20, 30 and 40 %: the same figures everywhere, with the rule beside them."""
    for number in (1, 2, 3, 4):
        session_with(tmp_path / "logs", number, number * 100, 1000)
    history = imported(tmp_path / "logs")
    found = history.rates.sessions["repeat-in-sight"]
    assert (found.median, found.p90, found.max) == (0.25, 0.37, 0.4)
    db = str(tmp_path / "x.db")
    assert run("import", str(tmp_path / "logs"), "--db", db).code == 0
    (visible,) = [
        one
        for one in strictly(run("report", "--db", db, "--format", "json").out)["sessions"]
        if one["rule"] == "repeat-in-sight"
    ]
    assert (visible["median"], visible["p90"]) == (0.25, 0.37)
    (row,) = [
        rule
        for name, rule in strictly(run("rates", "--db", db, "--format", "json").out)["sessions"].items()
        if name == "repeat-in-sight"
    ]
    assert (row["median"], row["p90"]) == (0.25, 0.37)
    for command in (["rates"], ["report"], ["report", "--format", "md"], ["report", "--format", "html"]):
        text = re.sub(r"<[^>]*>", " ", run(*command, "--db", db).out)
        assert re.search(r"25\.0\s%[\s|]+37\.0\s%[\s|]+40\.0\s%", text), command
        assert re.search(r"\blinear\b", text), command


def test_s11_sessions_without_repeats_belong_to_the_distribution(tmp_path: Path) -> None:
    session_with(tmp_path, 1, 0, 500)
    session_with(tmp_path, 2, 0, 90)
    # 60 of 100 bytes: the same 30 shown three times
    log = Log("s3", prefix="s3-", start=300)
    for call in ("t1", "t2", "t3"):
        log.read(call, "a", "x" * 30)
    log.read("t4", "b", "y" * 10)
    log.write(tmp_path / "s3.jsonl")
    history = imported(tmp_path)
    found = history.rates.sessions["repeat-session"]
    assert (found.n, found.with_any, found.median, found.max) == (3, 1, 0.0, 0.6)
    assert history.rates.by_session["repeat-session"].groups == 1
    report = build_report(history.store)
    (shown,) = [one for one in report.sessions if one.rule == "repeat-session"]
    assert (shown.with_any.part, shown.with_any.whole, shown.median) == (1, 3, 0.0)
    assert shown.values == (0.0, 0.0, 0.6)


def test_s11_a_session_with_nothing_to_divide_by_has_no_share(tmp_path: Path) -> None:
    session_with(tmp_path, 1, 50, 100)
    log = Log("s2", prefix="s2-", start=300)
    log.read("t1", "a", "")
    log.write(tmp_path / "s2.jsonl")
    found = imported(tmp_path).rates.sessions["repeat-session"]
    assert (found.n, found.empty, found.with_any, found.median) == (1, 1, 1, 0.5)


# -- S12 -----------------------------------------------------------------------------------------------------


def test_s12_the_history_is_a_survivor(tmp_path: Path) -> None:
    log = Log()
    log.read("t1", "a", "x" * 300)
    log.read("t2", "a", "x" * 300)
    # its last row is of the next day
    log.rows[-1]["timestamp"] = "2026-03-02T09:00:00.000Z"
    log.write(tmp_path / "logs" / "s1.jsonl")
    rtk.write_history(
        tmp_path / "logs" / "history.db", commands=[rtk.Command(stamp(1), "ls", "rtk ls", 100, 75, 25)]
    )
    report = build_report(imported(tmp_path / "logs").store, window=Window(zone="UTC"))
    assert {source.name: (source.first, source.last) for source in report.corpus.sources} == {
        "claude_code": ("2026-03-01", "2026-03-02"),
        "rtk": ("2026-03-01", "2026-03-01"),
    }
    said = " ".join(report.corpus.notes)
    assert "may have been removed" in said
    assert "30 days" in said
    assert "90 days" in said
    db = str(tmp_path / "x.db")
    run("import", str(tmp_path / "logs"), "--db", db)
    for form in ("terminal", "md", "html"):
        text = re.sub(r"<[^>]*>|\s+", " ", run("report", "--db", db, "--tz", "UTC", "--format", form).out)
        assert "2026-03-01" in text, form
        assert "2026-03-02" in text, form
        assert re.search(r"after 30\s+days", text), form
        assert re.search(r"after 90\s+days", text), form


def test_s12_nothing_is_claimed_of_a_host_that_keeps_its_logs(tmp_path: Path) -> None:
    session = docker_agent.session("s1", docker_agent.read("r1", "a", "x" * 300, 1))
    report = build_report(imported(docker_agent.export(tmp_path / "s1.json", session)).store)
    assert not any("days" in note for note in report.corpus.notes)
