from __future__ import annotations

import os
import time
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.judged import Result, put

from dedupstats.analytics import window
from dedupstats.analytics.window import Window, check_names, day_start, parse_since, parse_until
from dedupstats.errors import UsageError
from dedupstats.store import open_store

if TYPE_CHECKING:
    from pathlib import Path

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("7d", "2026-11-23T12:00"),
        ("12h", "2026-11-30T00:00"),
        ("4w", "2026-11-02T12:00"),
        ("2026-06-10T12:00:00", "2026-06-10T03:00"),
        ("2026-06-10 12:00", "2026-06-10T03:00"),
        ("2026-06-10T12:00:00Z", "2026-06-10T12:00"),
        ("2026-06-10T12:00:00-05:00", "2026-06-10T17:00"),
        ("2026-09-15", "2026-09-14T15:00"),
    ],
)
def test_times_as_people_type_them_in_seoul(text: str, right: str) -> None:
    assert parse_since(text, "Asia/Seoul", NOW) == datetime.fromisoformat(right).replace(tzinfo=UTC)


def test_until_takes_the_whole_day_but_keeps_a_time() -> None:
    assert parse_until("2026-07-04", "UTC", NOW) == datetime(2026, 7, 5, tzinfo=UTC)
    assert parse_until("2026-07-04T18:00", "UTC", NOW) == datetime(2026, 7, 4, 18, tzinfo=UTC)


@pytest.mark.parametrize(
    "text", ["", "yesterday", "2026-13-01", "2026-02-30", "20260704", "7", "7m", "-7d", "999999w", "2026-W10"]
)
def test_what_is_no_time_is_refused_with_the_forms(text: str) -> None:
    with pytest.raises(UsageError, match=r"--since .* is no time") as caught:
        parse_since(text, "UTC", NOW)
    assert "2026-09-15" in caught.value.hint
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("text", ["0001-01-01", "9999-12-31"])
@pytest.mark.parametrize("zone", ["Asia/Seoul", "America/New_York", "UTC"])
def test_first_and_last_day_of_the_calendar(text: str, zone: str) -> None:
    assert parse_since(text, zone, NOW) < parse_until(text, zone, NOW)


def test_a_gap_across_midnight_begins_the_day_at_the_jump() -> None:
    """Toronto, 1919-03-30: clocks went from 23:30 to 00:30, so that day began at 00:30 local, 04:30Z."""
    assert day_start(date(1919, 3, 31), "America/Toronto") == datetime(1919, 3, 31, 4, 30, tzinfo=UTC)


def test_a_day_that_does_not_exist_is_empty() -> None:
    """Samoa went from 2011-12-29 24:00 to 2011-12-31 00:00."""
    assert day_start(date(2011, 12, 30), "Pacific/Apia") == day_start(date(2011, 12, 31), "Pacific/Apia")


@given(
    st.dates(date(1975, 1, 1), date(2037, 12, 31)),
    st.sampled_from(["America/Havana", "Europe/Madrid", "Asia/Beirut", "Australia/Lord_Howe", "UTC+05:30"]),
)
def test_the_second_before_a_day_lies_in_another(day: date, zone: str) -> None:
    start = day_start(day, zone)
    info = window.zone_info(zone)
    assert start.astimezone(info).date() == day
    assert (start - timedelta(seconds=1)).astimezone(info).date() < day


@pytest.mark.parametrize(
    ("name", "hours"), [("UTC", 0), ("UTC+2", 2), ("utc-03:30", -3.5), ("UTC+0530", 5.5), ("UTC-11", -11)]
)
def test_fixed_offsets(name: str, hours: float) -> None:
    assert window.fixed_offset(name) == timedelta(hours=hours)


@pytest.mark.parametrize(("name", "near"), [("madrid", "Europe/Madrid"), ("Europe/Madird", "Europe/Madrid")])
def test_an_unknown_zone_is_refused_with_near_names(name: str, near: str) -> None:
    with pytest.raises(UsageError, match="unknown time zone") as caught:
        window.zone_info(name)
    assert near in caught.value.hint


@pytest.mark.parametrize("name", ["UTC+99", "../etc/passwd", "/etc/passwd", "a\0b", ""])
def test_a_senseless_zone_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="unknown time zone"):
        window.zone_info(name)


@pytest.mark.parametrize("name", ["America/New_York", ":America/New_York"])
def test_local_zone_is_what_tz_says(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("TZ", name)
    assert window.local_zone() == "America/New_York"


def test_local_zone_of_a_link(tmp_path: Path) -> None:
    target = tmp_path / "zoneinfo" / "Europe" / "Madrid"
    target.parent.mkdir(parents=True)
    target.touch()
    link = tmp_path / "localtime"
    link.symlink_to(target)
    assert window._zone_of_file(link) == "Europe/Madrid"
    assert window._zone_of_file(target.parent) == "Europe"
    assert window._zone_of_file(tmp_path) is None


def test_local_zone_without_a_name_is_the_offset(monkeypatch: pytest.MonkeyPatch) -> None:
    before = os.environ.get("TZ")
    monkeypatch.setenv("TZ", "<+0330>-3:30")
    time.tzset()
    try:
        assert window.local_zone() == "UTC+03:30"
    finally:
        if before is None:
            monkeypatch.delenv("TZ")
        else:
            monkeypatch.setenv("TZ", before)
        time.tzset()


def test_names_that_the_store_has_not_are_refused_with_near_ones() -> None:
    with open_store(":memory:") as store:
        put(
            store,
            [
                Result(tool="Read"),
                Result(tool="a\x1b[2J"),
                Result(tool="Bash", session="s2", project="/home/u/app"),
            ],
        )
        check_names(store, Window(tools=("Read", "Bash"), projects=("app", "/home/u/app", "p")))
        with pytest.raises(UsageError, match="--tool 'Raed'") as caught:
            check_names(store, Window(tools=("Raed",)))
        assert caught.value.hint == "did you mean 'Read'?"
        with pytest.raises(UsageError, match="--agent 'zzz'") as caught:
            check_names(store, Window(sources=("zzz",)))
        assert caught.value.hint == "known are 'claude_code'"
        with pytest.raises(UsageError, match="--model 'gpt'") as caught:
            check_names(store, Window(models=("gpt",)))
        assert caught.value.hint == "the store has none"
        with pytest.raises(UsageError, match="--tool 'qqqq'") as caught:
            check_names(store, Window(tools=("qqqq",)))
        # a name from a log reaches no terminal unescaped
        assert "\x1b" not in caught.value.hint
        assert r"'a\x1b[2J'" in caught.value.hint
