"""Fault cases of class T: days, weeks, windows, time zones, clocks."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from support.judged import Result, put

from dedupstats.analytics.rates import Rates, rates
from dedupstats.analytics.window import Window, parse_since, parse_until
from dedupstats.ingest import import_paths
from dedupstats.store import open_store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from dedupstats.store import Store

NOW = datetime(2027, 1, 15, tzinfo=UTC)


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    with open_store(":memory:") as opened:
        yield opened


@pytest.fixture
def empty() -> Iterator[Store]:
    with open_store(":memory:") as opened:
        yield opened


def counted(
    store: Store, by: Any = "day", tz: str = "UTC", since: str | None = None, until: str | None = None
) -> Rates:
    window = Window(
        since=parse_since(since, tz, NOW) if since else None,
        until=parse_until(until, tz, NOW) if until else None,
        zone=tz,
    )
    return rates(store, by=by, window=window)


def groups(found: Rates) -> dict[str, int]:
    return {row.group: row.results.results for row in found.rows}


def transcript(path: Path, *results: tuple[str | None, str]) -> Path:
    """A Claude Code file: one session that reads one file again and again; (time, content) of each result."""
    rows: list[dict[str, Any]] = []
    for number, (stamp, content) in enumerate(results):
        use = {"type": "tool_use", "id": f"t{number}", "name": "Read", "input": {"file_path": "/p/a"}}
        shown = {"type": "tool_result", "tool_use_id": f"t{number}", "content": content}
        asked = {"id": f"m{number}", "role": "assistant", "model": "claude-x", "content": [use]}
        pair = [("assistant", asked), ("user", {"role": "user", "content": [shown]})]
        for kind, message in pair:
            row = {
                "type": kind,
                "uuid": f"{kind}{number}",
                "parentUuid": rows[-1]["uuid"] if rows else None,
                "sessionId": "s1",
                "cwd": "/p",
                "version": "2.1.0",
                "message": message,
            }
            rows.append(row if stamp is None else row | {"timestamp": stamp})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_t01_a_day_is_the_readers_day(store: Store) -> None:
    put(store, [Result(at="2026-01-25T04:08:00Z")])
    assert groups(counted(store, tz="America/Los_Angeles")) == {"2026-01-24": 1}


def test_t02_the_until_day_is_included(store: Store) -> None:
    put(store, [Result(at="2026-07-04T18:00:00Z"), Result(at="2026-07-05T00:00:00Z")])
    assert groups(counted(store, until="2026-07-04")) == {"2026-07-04": 1}


def test_t03_a_window_cuts_results_and_not_sessions(store: Store) -> None:
    """The second result repeats the first, which lies outside the window."""
    put(
        store, [Result(at="2026-08-04T10:00:00Z"), Result(40, ("repeat_session",), at="2026-08-14T10:00:00Z")]
    )
    found = counted(store, since="2026-08-14")
    assert groups(found) == {"2026-08-14": 1}
    assert found.total.rules["repeat-session"].bytes == 40


def test_t04_an_overnight_session_is_listed_on_both_days(store: Store) -> None:
    put(store, [Result(at="2026-08-04T23:50:00Z"), Result(at="2026-08-05T00:30:00Z")])
    assert groups(counted(store, by="session", since="2026-08-05")) == {"s1": 1}


def test_t05_a_message_across_midnight_is_one_request_on_its_first_day(empty: Store, tmp_path: Path) -> None:
    path = tmp_path / "s1.jsonl"
    stamps = ("2026-05-01T23:59:59.000Z", "2026-05-02T00:00:01.000Z")
    parts = ({"type": "text", "text": "a"}, {"type": "tool_use", "id": "t1", "name": "Read", "input": {}})
    rows = [
        {
            "type": "assistant",
            "uuid": f"u{number}",
            "parentUuid": f"u{number - 1}" if number else None,
            "sessionId": "s1",
            "requestId": "r1",
            "timestamp": stamp,
            "message": {"id": "m1", "role": "assistant", "model": "claude-x", "content": [part]},
        }
        for number, (stamp, part) in enumerate(zip(stamps, parts, strict=True))
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    import_paths(empty, [path])
    assert empty.query("select ts::date::varchar from request") == [("2026-05-01",)]


def test_t06_the_hour_that_exists_twice(store: Store) -> None:
    put(
        store,
        [
            Result(1, at="2026-11-01T03:59:59Z"),
            Result(2, at="2026-11-01T05:30:00Z"),
            Result(4, at="2026-11-01T06:30:00Z"),
            Result(8, at="2026-11-02T04:59:59Z"),
            Result(16, at="2026-11-02T05:00:00Z"),
        ],
    )
    zone = "America/New_York"
    assert groups(counted(store, tz=zone)) == {"2026-10-31": 1, "2026-11-01": 3, "2026-11-02": 1}
    # that day has 25 hours, in days and in windows alike
    assert counted(store, tz=zone, since="2026-11-01", until="2026-11-01").total.results.bytes == 2 + 4 + 8


def test_t07_a_midnight_that_does_not_exist(store: Store) -> None:
    put(store, [Result(1, at="2026-03-08T04:59:59Z"), Result(2, at="2026-03-08T05:00:00Z")])
    assert counted(store, tz="America/Havana", since="2026-03-08").total.results.bytes == 2


def test_t08_a_week_at_the_turn_of_the_year(store: Store) -> None:
    put(store, [Result(at="2027-01-01T12:00:00Z")])
    found = counted(store, by="week")
    assert groups(found) == {"2026-W53": 1}
    assert str(found.rows[0].begins) == "2026-12-28"
    assert not found.rows[0].partial


def test_t09_a_period_that_begins_on_a_tuesday(store: Store) -> None:
    put(store, [Result(at="2026-08-05T12:00:00Z"), Result(at="2026-08-12T12:00:00Z")])
    found = counted(store, by="week", since="2026-08-04", until="2026-08-17")
    assert groups(found) == {"2026-W32": 1, "2026-W33": 1}
    assert [row.partial for row in found.rows] == [True, False]
    months = counted(store, by="month", since="2026-08-01", until="2026-08-31")
    assert [(row.group, row.partial) for row in months.rows] == [("2026-08", False)]
    assert counted(store, by="month", until="2026-08-30").rows[0].partial
    assert counted(store, by="day", until="2026-08-05T18:00").rows[0].partial


def test_t10_the_clock_goes_back_inside_a_file(empty: Store, tmp_path: Path) -> None:
    stamps = (("2026-01-01T15:15:13.853Z", "first"), ("2026-01-01T15:15:13.309Z", "other"))
    import_paths(empty, [transcript(tmp_path / "s1.jsonl", *stamps)])
    judged = empty.query(
        "select ordinal, bytes, changed from emission join emission_repeat using (emission_key) order by all"
    )
    assert judged == [(0, 5, False), (1, 5, True)]


@pytest.mark.parametrize("stamp", [None, "yesterday afternoon", ""])
def test_t11_no_time_and_senseless_time(empty: Store, tmp_path: Path, stamp: str | None) -> None:
    import_paths(empty, [transcript(tmp_path / "s1.jsonl", (stamp, "a"), (stamp, "b"), (stamp, "c"))])
    found = counted(empty)
    assert groups(found) == {"undated": 3}
    assert (found.total.results.results, found.undated) == (3, 3)
    cut = counted(empty, since="2000-01-01")
    assert (cut.total.results.results, cut.undated) == (0, 3)
    assert counted(empty, until="2100-01-01").total.results.results == 0


def test_t12_a_clock_five_hours_ahead(empty: Store, tmp_path: Path) -> None:
    same = "x" * 300
    stamps = (("2026-01-01T18:00:00Z", same), ("2026-01-01T13:00:05Z", same))
    import_paths(empty, [transcript(tmp_path / "s1.jsonl", *stamps)])
    judged = empty.query(
        "select line, repeat_in_sight from emission join emission_repeat using (emission_key) order by line"
    )
    assert [repeated for _, repeated in judged] == [False, True]


def test_t13_a_bare_date_is_a_local_date() -> None:
    assert parse_since("2026-09-15", "Asia/Seoul", NOW) == datetime(2026, 9, 14, 15, tzinfo=UTC)
    assert parse_until("2026-06-10T12:00:00", "UTC", NOW) == datetime(2026, 6, 10, 12, tzinfo=UTC)


@pytest.mark.parametrize("stamp", [1774325831733, 1774325831.733, "2026-03-24T04:17:11.733Z"])
def test_t14_seconds_milliseconds_and_text(empty: Store, tmp_path: Path, stamp: Any) -> None:
    import_paths(empty, [transcript(tmp_path / "s1.jsonl", (stamp, "a"))])
    assert counted(empty).first == datetime(2026, 3, 24, 4, 17, 11, 733_000, tzinfo=UTC)


def test_t15_the_time_zone_does_something(store: Store) -> None:
    put(store, [Result(at="2026-01-10T23:30:00Z")])
    assert groups(counted(store, tz="UTC")) == {"2026-01-10": 1}
    assert groups(counted(store, tz="Europe/Madrid")) == {"2026-01-11": 1}
    assert groups(counted(store, tz="UTC+00:30")) == {"2026-01-11": 1}
    assert groups(counted(store, tz="UTC-11")) == {"2026-01-10": 1}
