"""`dedupstats rates`: what its outputs say beside the figures."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING

import pytest
from support.command import run

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "DEDUPSTATS_DB"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TZ", "UTC")


def test_the_heading_says_what_was_asked_for(sample_store: Path) -> None:
    ran = run("rates", "--db", str(sample_store), "--tool", "Read", "--tool", "Grep", "--since", "2026-11-09")

    assert ran.out.startswith(
        "Repeats among tool results by tool (from 2026-11-09 00:00 (UTC), tool Read or Grep), 2026-11-09 to "
    )
    assert "1 record was skipped when read, in the whole store: " in ran.out
    whole = run("rates", "--db", str(sample_store)).out
    assert whole.startswith("Repeats among tool results by tool, 2026-11-02 to ")
    assert "1 record was skipped when read: " in whole
    assert "copies (" in whole
    assert "that another session or file holds too." in whole


def test_names_of_rules_are_whole_in_markdown(sample_store: Path) -> None:
    ran = run("rates", "--db", str(sample_store), "--format", "md")

    assert (
        "| call-session n (% bytes) | repeat-session n (% bytes) | repeat-in-sight n (% bytes) |" in ran.out
    )


@pytest.mark.parametrize("key", ["exact", "normalised"])
def test_programs_get_the_key_and_one_word_for_the_floor(sample_store: Path, key: str) -> None:
    flat = run("rates", "--db", str(sample_store), "--key", key, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(flat.out)))

    assert {row["key"] for row in rows} == {key}
    assert {"floor_bytes", "repeat_session_floor_bytes"} <= set(rows[0])
    found = json.loads(run("rates", "--db", str(sample_store), "--key", key, "--format", "json").out)
    assert found["key"] == key
    assert {"floor", "rules_floor"} <= set(found["total"])
    report = json.loads(run("report", "--db", str(sample_store), "--format", "json").out)
    assert "floor" in report["rules"][0]


def test_targets_and_sessions_say_more_than_their_name(sample_store: Path) -> None:
    database = str(sample_store)
    targets = run("rates", "--db", database, "--by", "target", "--limit", "3", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(targets.out)))
    assert [(row["target"], row["tool"]) for row in rows[:1]] == [("orders.py", "Read")]
    assert rows[3]["target"].endswith(" others")
    assert sum(int(row["results"]) for row in rows) == 224

    whole = run("rates", "--db", database, "--by", "target", "--full-paths", "--format", "csv")
    assert next(csv.DictReader(io.StringIO(whole.out)))["target"].startswith("/")

    (session, *_) = csv.DictReader(
        io.StringIO(run("rates", "--db", database, "--by", "session", "--format", "csv").out)
    )
    assert (session["project"], session["begun"]) == ("tansy", "2026-11-16")
    only = run("rates", "--db", database, "--session", session["session"][:8])
    assert f"(session {session['session'][:8]})" in only.out


def test_a_window_that_ends_before_it_begins_is_wrong_use(sample_store: Path) -> None:
    for command in ("rates", "report"):
        ran = run(command, "--db", str(sample_store), "--since", "2026-11-10", "--until", "2026-11-08")
        assert (ran.code, ran.out) == (2, "")
        assert "--since 2026-11-10 is not before --until 2026-11-08" in ran.err
    one_day = run("rates", "--db", str(sample_store), "--since", "2026-11-09", "--until", "2026-11-09")
    assert one_day.code == 0


@pytest.mark.parametrize("unit", ["tokens", "sent", "usd", "share"])
def test_how_tokens_are_known_is_said_once(sample_store: Path, unit: str) -> None:
    said = " ".join(run("rates", "--db", str(sample_store), "--unit", unit).out.split())
    assert said.count("Tokens: 40.1 % measured") == 1


def test_counts_of_the_whole_store_are_called_so_in_a_window(sample_store: Path) -> None:
    def words(*asked: str) -> str:
        return " ".join(run(*asked, "--db", str(sample_store)).out.split())

    claude = ("--agent", "claude-code")
    assert "RTK's own history: " in words("observed")
    assert "RTK's own history, all of it: " in words("observed", *claude)
    policy = ("simulate", "--policy", "keep-all")
    assert "Left out: RTK holds no text" in words(*policy)
    assert "Left out, of the whole store: RTK holds no text" in words(*policy, *claude)
    # the one request without a time is of docker-agent
    assert "Without a time, so priced at the newest one known: 1 request." in words("spend")
    assert "Without a time" not in words("spend", *claude)
    # where nothing lies in the window there is nothing to tell of it
    nothing = words("spend", "--until", "2020-01-01")
    assert "0 requests" not in nothing
    assert nothing.endswith("No request lies in this window.")


def test_what_copies_were_sent_is_never_zero(sample_store: Path) -> None:
    database = str(sample_store)
    rows = list(csv.DictReader(io.StringIO(run("rates", "--db", database, "--format", "csv").out)))
    assert sum(int(row["copies_results"]) for row in rows) == 33
    assert {row[f"copies_{end}"] for row in rows for end in ("sent", "usd", "share_of_input")} == {""}
    total = json.loads(run("rates", "--db", database, "--format", "json").out)["total"]["copies"]
    assert (total["results"], total["sent"], total["usd"], total["share_of_input"]) == (33, None, None, None)
