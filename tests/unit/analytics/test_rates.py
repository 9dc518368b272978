"""Rates against sums worked out by hand, or by a plain loop over the same results."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from support.judged import EXACT, NORMALISED, Result, put
from support.pipeline import Log

from dedupstats import import_paths
from dedupstats.analytics.rates import DEFAULT_RULES, RULES, limited, rates, share, summed
from dedupstats.analytics.tallies import Tally
from dedupstats.analytics.units import at_level
from dedupstats.analytics.window import Window, check_names
from dedupstats.errors import UsageError
from dedupstats.store import open_store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from dedupstats.analytics.rates import Row
    from dedupstats.store import Store


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    with open_store(":memory:") as opened:
        yield opened


def tally(results: int = 0, size: int = 0, tokens: int = 0) -> Tally:
    """Results of contexts without any request: bytes / 4, and nothing is known of their cost."""
    return Tally(results, size, tokens, at_level(4, tokens), unseen=results)


def groups(rows: tuple[Row, ...]) -> list[str]:
    return [row.group for row in rows]


def test_results_repeats_and_floor_of_two_tools(store: Store) -> None:
    put(
        store,
        [
            Result(1000, tool="Read"),
            Result(1000, ("call_session", "repeat_session", "repeat_in_sight"), tool="Read"),
            Result(255, ("call_session", "repeat_session"), tool="Read"),
            Result(256, ("call_session",), tool="Bash"),
            Result(30, tool="Bash"),
        ],
    )
    found = rates(store, tz="UTC")
    assert groups(found.rows) == ["Read", "Bash"]
    read, bash = found.rows
    # tokens are rounded up result by result: 250 + 250 + 64
    assert read.results == tally(3, 2255, 564)
    assert read.rules == {
        "call-session": tally(2, 1255, 314),
        "repeat-session": tally(2, 1255, 314),
        "repeat-in-sight": tally(1, 1000, 250),
    }
    assert read.floor == tally(2, 2000, 500)
    assert read.rules_floor["repeat-session"] == tally(1, 1000, 250)
    assert bash.rules_floor["call-session"] == tally(1, 256, 64)
    assert bash.floor == tally(1, 256, 64)
    assert found.total.results == tally(5, 2541, 564 + 64 + 8)
    assert found.total.rules["call-session"] == tally(3, 1511, 314 + 64)


def test_classes_errors_and_copies_are_told_apart(store: Store) -> None:
    put(
        store,
        [
            Result(10),
            Result(20, klass="truncated"),
            Result(40, is_error=True),
            Result(80, klass="image"),
            Result(0, klass="empty"),
            Result(160, klass="stub"),
            Result(320, is_copy=True),
        ],
    )
    total = rates(store, tz="UTC").total
    assert total.results == tally(6, 310, 3 + 5 + 10 + 20 + 0 + 40)
    assert total.repeatable == tally(2, 30, 8)
    assert total.errors == tally(1, 40, 10)
    assert total.copies == tally(1, 320, 80)
    assert {kind: tally.results for kind, tally in total.by_class.items()} == {
        "text": 2,
        "truncated": 1,
        "image": 1,
        "empty": 1,
        "stub": 1,
        "spilled": 0,
        "masked": 0,
    }


def test_rules_come_in_order_with_their_own_column(store: Store) -> None:
    put(store, [Result(2**place, (column,)) for place, column in enumerate(EXACT)])
    found = rates(store, all_rules=True, tz="UTC")
    assert found.rules == tuple(column.replace("_", "-") for column in EXACT)
    assert [found.total.rules[rule].bytes for rule in found.rules] == [2**place for place in range(8)]
    assert rates(store, tz="UTC").rules == DEFAULT_RULES


def test_normalised_key_reads_its_own_columns_and_bytes_session_has_one(store: Store) -> None:
    columns = (*NORMALISED, "bytes_session")
    put(store, [Result(2**place, (column,)) for place, column in enumerate(columns)])
    found = rates(store, all_rules=True, key="normalised", tz="UTC")
    by_rule = {rule: found.total.rules[rule].bytes for rule in found.rules}
    assert by_rule == {
        column.removeprefix("norm_").replace("_", "-"): 2**place for place, column in enumerate(columns)
    }


def test_kinds_tell_upper_bounds_from_repeats() -> None:
    assert [rule.name for rule in RULES if rule.kind == "upper bound"] == [
        "call-pooled",
        "call-session",
        "repeat-pooled",
        "bytes-session",
    ]
    assert [rule.name for rule in RULES if rule.kind == "never a repeat"] == ["changed"]


def test_largest_first_then_by_name(store: Store) -> None:
    put(store, [Result(5, tool=tool) for tool in ("Write", "Bash", "Read")] + [Result(6, tool="Z")])
    assert groups(rates(store, tz="UTC").rows) == ["Z", "Bash", "Read", "Write"]


def test_groups_of_every_kind(store: Store) -> None:
    put(
        store,
        [
            Result(9, session="s1", project="/a", model="m1", version="1.0"),
            Result(5, session="s1", project="/a", agent="Explore", kind="agent", model="m2", version="1.0"),
            Result(3, session="s2", project=None, source="docker_agent", agent="root"),
            Result(1, session="s1", project="/a", agent="", kind="agent"),
        ],
    )
    assert groups(rates(store, by="agent", tz="UTC").rows) == [
        "Claude Code",
        "Claude Code: Explore",
        "docker-agent: root",
        "Claude Code: subagent",
    ]
    assert groups(rates(store, by="project", tz="UTC").rows) == ["/a", "no project"]
    assert groups(rates(store, by="session", tz="UTC").rows) == ["s1", "s2"]
    assert groups(rates(store, by="model", tz="UTC").rows) == ["m1", "m2", "no model"]
    assert groups(rates(store, by="version", tz="UTC").rows) == ["1.0", "no version"]


def test_sessions_of_two_agents_with_one_id_stay_apart(store: Store) -> None:
    put(store, [Result(9, session="s"), Result(5, session="s", source="docker_agent", project="/b")])
    assert [row.results.bytes for row in rates(store, by="session", tz="UTC").rows] == [9, 5]


def test_unknown_group_is_refused_with_the_list(store: Store) -> None:
    with pytest.raises(UsageError, match="cannot group by 'colour'") as caught:
        rates(store, by="colour")  # type: ignore[arg-type]
    assert "tool, agent, project" in caught.value.hint


def test_filters_and_dates(store: Store) -> None:
    put(
        store,
        [
            Result(1, tool="Read", project="/home/u/app", model="m1", at="2026-01-01T00:00:00Z"),
            Result(2, tool="Bash", project="/home/u/app", model="m1", at="2026-01-03T00:00:00Z"),
            Result(
                4, tool="Read", project="C:\\work\\app", session="s2", model="m2", at="2026-01-05T00:00:00Z"
            ),
            Result(8, tool="Read", project="/home/u/lib", session="s3", source="docker_agent", at=None),
        ],
    )

    def size(**wanted: tuple[str, ...]) -> int:
        return rates(store, window=Window(**wanted), tz="UTC").total.results.bytes

    assert size(tools=("Read",)) == 13
    assert size(tools=("Read", "Bash")) == 15
    assert size(models=("m2",)) == 4
    assert size(sources=("docker_agent",)) == 8
    assert size(projects=("app",)) == 7
    assert size(projects=("/home/u/app",)) == 3
    assert size(projects=("app", "lib"), tools=("Read",)) == 13
    found = rates(store, tz="UTC")
    assert found.first == datetime(2026, 1, 1, tzinfo=UTC)
    assert found.last == datetime(2026, 1, 5, tzinfo=UTC)
    assert found.undated == 1
    cut = rates(
        store, window=Window(since=datetime(2026, 1, 3, tzinfo=UTC), sources=("claude_code",)), tz="UTC"
    )
    assert (cut.total.results.bytes, cut.undated) == (6, 0)


def test_distribution_counts_sessions_without_repeats(store: Store) -> None:
    """Fault case S11: shares 0, 0 and 60 %; and a session without bytes, which has no share (S08)."""
    put(
        store,
        [
            Result(50, session="a"),
            Result(70, session="b"),
            Result(40, session="c"),
            Result(60, ("repeat_session",), session="c"),
            Result(0, session="d", klass="empty"),
        ],
    )
    spread = rates(store, tz="UTC").sessions["repeat-session"]
    assert (spread.n, spread.with_any, spread.empty) == (3, 1, 1)
    assert (spread.median, spread.max) == (0, 0.6)
    assert spread.p90 == pytest.approx(0.48)


def test_concentration_by_session_and_call(store: Store) -> None:
    """Fault case S07: 99 of 10 bytes and one of 9,010; top 1 holds 90.1 %."""
    rule = ("repeat_session",)
    small = [Result(10, rule, session=f"s{n}", call=f"c{n}") for n in range(99)]
    put(store, [*small, Result(9010, rule, session="big", tool="Bash", call="x"), Result(5, session="none")])
    found = rates(store, tz="UTC")
    by_session, by_call = found.by_session["repeat-session"], found.by_call["repeat-session"]
    assert (by_session.total, by_session.groups, by_session.name) == (10_000, 100, "big")
    assert share(by_session.top1, by_session.total) == pytest.approx(0.901)
    assert by_session.top5 == 9050
    assert (by_call.top1, by_call.top5, by_call.name) == (9010, 9050, "Bash")
    assert found.by_call["call-session"].total == 0
    assert found.by_call["call-session"].name is None


def test_nothing_to_divide_by(store: Store) -> None:
    """Fault case S08: an empty history has no rate, which is not a rate of nothing."""
    put(store, [])
    found = rates(store, tz="UTC")
    assert found.total.results == tally()
    assert (found.first, found.last, found.rows) == (None, None, ())
    assert found.sessions["repeat-session"].median is None
    assert share(0, 0) is None


def test_sums_of_a_mixed_history_equal_a_plain_loop(store: Store) -> None:
    pick = random.Random(7)
    results = [
        Result(
            size=pick.choice((0, 3, 255, 256, 4000)),
            is_=tuple(column for column in EXACT if pick.random() < 0.3),
            tool=pick.choice(("Read", "Bash", "mcp__x")),
            session=pick.choice("abc"),
            is_error=pick.random() < 0.1,
            klass=pick.choice(("text", "text", "truncated", "image")),
            is_copy=pick.random() < 0.1,
        )
        for _ in range(400)
    ]
    put(store, results)
    found = rates(store, all_rules=True, tz="UTC")
    for row in found.rows:
        own = [one for one in results if one.tool == row.group and not one.is_copy]
        assert row.results == tally(
            len(own), sum(one.size for one in own), sum(-(-one.size // 4) for one in own)
        )
        for column in EXACT:
            hit = [one for one in own if column in one.is_]
            rule = column.replace("_", "-")
            assert row.rules[rule].bytes == sum(one.size for one in hit)
            assert row.rules_floor[rule].results == sum(one.size >= 256 for one in hit)
    whole = {
        session: sum(one.size for one in results if one.session == session and not one.is_copy)
        for session in "abc"
    }
    part = {
        session: sum(
            one.size for one in results if one.session == session and not one.is_copy and "changed" in one.is_
        )
        for session in "abc"
    }
    shares = sorted(part[session] / whole[session] for session in "abc")
    assert found.sessions["changed"].median == pytest.approx(shares[1])
    assert found.by_session["changed"].top1 == max(part.values())


def test_drive_letters_of_both_cases_are_one_project(store: Store) -> None:
    put(
        store,
        [
            Result(4, session="a", project="D:/x"),
            Result(2, session="b", project="d:/x"),
            Result(1, session="c", project="/D:/x"),
        ],
    )
    found = rates(store, by="project", tz="UTC")
    assert [(row.group, row.results.bytes) for row in found.rows] == [("d:/x", 6), ("/D:/x", 1)]
    for asked in ("D:/x", "d:/x"):
        window = Window(projects=(asked,))
        check_names(store, window)
        assert rates(store, window=window, tz="UTC").total.results.bytes == 6


def test_sessions_come_with_project_and_are_found_by_how_they_begin(store: Store) -> None:
    put(
        store,
        [
            Result(4, session="abc-1", project="/p/app"),
            Result(2, session="abc-2", project="/p/lib"),
            Result(1, session="x_c"),
        ],
    )
    found = rates(store, by="session", window=Window(sessions=("abc",)), tz="UTC")
    assert [(row.group, row.project) for row in found.rows] == [("abc-1", "/p/app"), ("abc-2", "/p/lib")]
    # no pattern: the underscore is an underscore
    assert rates(store, window=Window(sessions=("a_c",)), tz="UTC").total.results.results == 0
    with pytest.raises(UsageError, match="no session with results"):
        check_names(store, Window(sessions=("zzz",)))


def test_rows_beyond_the_limit_are_one_and_nothing_is_lost(store: Store) -> None:
    rule = ("repeat_session",)
    put(store, [Result(size, rule, tool=f"t{size}", klass="text") for size in (900, 90, 9, 300)])
    found = rates(store, tz="UTC")
    short = limited(found, 2)
    assert groups(short.rows) == ["t900", "t300", "2 others"]
    assert short.rows[2].results == tally(2, 99, 23 + 3)
    assert short.rows[2].rules["repeat-session"].bytes == 99
    assert short.rows[2].by_class["text"].results == 2
    assert short.rows[2].floor == tally()
    assert summed(short.rows, "total") == found.total == short.total
    assert limited(found, 4) == found
    with pytest.raises(UsageError, match="does not go with --by day"):
        limited(rates(store, by="day", tz="UTC"), 2)


def test_targets_are_tool_and_target_most_repeated_bytes_first(tmp_path: Path) -> None:
    log = Log()
    log.read("r1", "/p/big.py", "b" * 5000)
    log.read("r2", "/p/a.py", "a" * 40)
    log.read("r3", "/p/a.py", "a" * 40)
    log.bash("b1", "/p/a.py", "c" * 60)
    log.call("n1", "TodoWrite", {"todos": []})
    log.result("n1", "done")
    log.write(tmp_path / "s.jsonl")
    with open_store(":memory:") as own:
        import_paths(own, [tmp_path])
        found = rates(own, by="target", tz="UTC")
    assert [(row.group, row.tool, row.results.bytes) for row in found.rows] == [
        ("/p/a.py", "Read", 80),
        ("/p/big.py", "Read", 5000),
        ("/p/a.py", "Bash", 60),
        ("(no target)", "TodoWrite", 4),
    ]
