"""The curve of a context, from logs as Claude Code writes them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from support.pipeline import Log, imported

from dedupstats import variants
from dedupstats.analytics.context import SessionContexts, all_contexts, session_contexts
from dedupstats.economics.tokens import FRAMING
from dedupstats.errors import UsageError
from dedupstats.policies.docker_agent import marker

if TYPE_CHECKING:
    from pathlib import Path

TEXT = "def a():\n" * 400  # 3,600 bytes
POLICY = variants(["docker-agent"])[0]


def read(log: Log, call_id: str, prompt: int, output: int = 50, text: str = TEXT) -> None:
    log.call(call_id, "Read", {"file_path": "/home/u/p/a.py"}, usage=(10, 90, prompt - 100, output))
    log.result(call_id, text)


def curves(log: Log, tmp_path: Path, session: str = "s1", **options: Any) -> SessionContexts:
    store = imported(log.write(tmp_path / "s1.jsonl")).store
    return session_contexts(store, session, POLICY, **options)


@pytest.fixture
def log() -> Log:
    """Two reads of the same bytes, each 1,011 tokens; then a compaction."""
    log = Log()
    log.user("go")
    read(log, "r1", 5_000)
    read(log, "r2", 5_000 + 50 + 1_011)
    log.say("done", "m3", usage=(10, 90, 5_000 + 2 * (50 + 1_011) - 100, 5))
    log.compact()
    log.say("on", "m4", usage=(10, 0, 2_990, 5))
    return log


def test_prompts_results_and_what_a_policy_leaves_out(log: Log, tmp_path: Path) -> None:
    (curve,) = curves(log, tmp_path).curves
    assert [point.prompt_tokens for point in curve.points] == [5_000, 6_061, 7_122, 3_000]
    assert all(point.is_measured for point in curve.points)
    arrived = [[(one.tool, one.tokens, one.is_elided) for one in point.results] for point in curve.points]
    assert arrived == [[], [("Read", 1_011, False)], [("Read", 1_011, True)], []]
    # 1,000 tokens beyond the framing stand for 3,600 bytes; the marker has its own bytes at that rate
    saved = 1_011 - FRAMING - 1_000 * len(marker("Read", 3_600)) / 3_600
    removed = [point.removed_tokens for point in curve.points]
    assert removed == pytest.approx([0, 0, saved, 0])
    assert curve.removed_by_level == {0: 1_011}
    (mark,) = curve.marks
    assert (mark.kind, mark.trigger, mark.request) == ("compaction", "auto", 4)
    assert (curve.kind, curve.measured, curve.copies) == ("main", 4, 0)


def test_without_usage_sizes_are_bytes_4(tmp_path: Path) -> None:
    log = Log()
    log.user("g" * 400)
    log.call("r1", "Read", {"file_path": "a"}, usage=None)
    log.result("r1", "x" * 4_000)
    # usage that is null or all zero is none
    log.say("y" * 40, "m2", usage={"input_tokens": None, "output_tokens": None})
    log.say("z", "m3", usage=(0, 0, 0, 0))
    found = curves(log, tmp_path)
    (curve,) = found.curves
    assert curve.measured == 0
    arguments = len('{"file_path":"a"}')
    sizes = [100, 100 + arguments / 4 + 1_000, 100 + arguments / 4 + 1_000 + 10]
    assert [point.prompt_tokens for point in curve.points] == pytest.approx(sizes)
    assert (found.compactions.no_usage, found.compactions.contexts) == (1, 0)


def test_a_request_without_usage_stands_on_the_last_recorded_prompt(tmp_path: Path) -> None:
    log = Log()
    log.user("go")
    read(log, "r1", 5_000, text="x" * 4_000)
    log.say("y", "m2", usage=None)
    (curve,) = curves(log, tmp_path).curves
    assert [point.is_measured for point in curve.points] == [True, False]
    inputs = len('{"file_path":"/home/u/p/a.py"}')
    assert curve.points[1].prompt_tokens == pytest.approx(5_000 + 1_000 + inputs / 4)


def test_a_clock_that_runs_backwards_changes_no_order(log: Log, tmp_path: Path) -> None:
    expected = [point.prompt_tokens for point in curves(log, tmp_path).curves[0].points]
    for second, row in enumerate(reversed(log.rows)):
        assert isinstance(row, dict)
        row["timestamp"] = datetime(2026, 3, 1, 8, 0, second, tzinfo=UTC).isoformat()
    (curve,) = curves(log, tmp_path).curves
    assert [point.prompt_tokens for point in curve.points] == expected
    times = [point.ts for point in curve.points]
    assert times == sorted(times, reverse=True)  # type: ignore[type-var]


def test_a_micro_compaction_takes_what_was_left_out_along(tmp_path: Path) -> None:
    log = Log()
    log.user("go")
    read(log, "r1", 5_000)
    read(log, "r2", 6_061)
    log.say("a", "m3", usage=(10, 0, 7_112, 5))
    log.micro(["r2"])
    log.say("b", "m4", usage=(10, 0, 6_200, 5))
    (curve,) = curves(log, tmp_path).curves
    assert [point.removed_tokens > 0 for point in curve.points] == [False, False, True, False]
    assert [(mark.kind, mark.request) for mark in curve.marks] == [("micro_compaction", 4)]


def test_what_left_unseen_shrinks_what_is_left_out(tmp_path: Path) -> None:
    log = Log()
    log.user("go")
    read(log, "r1", 5_000)
    read(log, "r2", 6_061)
    log.say("a", "m3", usage=(10, 0, 7_112, 5))
    # the host threw away most of it and wrote nothing of that
    log.say("b", "m4", usage=(10, 0, 1_001, 5))
    (curve,) = curves(log, tmp_path).curves
    assert curve.shrunk == 1
    before, after = curve.points[2].removed_tokens, curve.points[3].removed_tokens
    # two results of 1,011 tokens should be in sight of a prompt of 1,011
    assert after == pytest.approx(before / 2)


def test_sessions_and_contexts_are_found_by_their_beginning(log: Log, tmp_path: Path) -> None:
    assert curves(log, tmp_path, "s").session == "s1"
    found = curves(log, tmp_path, context="s1")
    assert (found.contexts, len(found.curves)) == (1, 1)
    for session in ("", " ", "nope"):
        with pytest.raises(UsageError, match="no session has an id"):
            curves(log, tmp_path, session)
    with pytest.raises(UsageError, match="no such context"):
        curves(log, tmp_path, context="nope")


def test_an_ambiguous_beginning_names_some(tmp_path: Path) -> None:
    for name in ("s1", "s10", "s11"):
        log = Log(name, prefix=name)
        log.user("go")
        log.say("x", f"m-{name}")
        log.write(tmp_path / f"{name}.jsonl")
    store = imported(tmp_path).store
    # a whole id is no ambiguous beginning
    assert session_contexts(store, "s1", POLICY).session == "s1"
    with pytest.raises(UsageError, match="3 sessions"):
        session_contexts(store, "s", POLICY)
    assert [one.session for one in all_contexts(store, POLICY, limit=2).largest] == ["s1", "s10"]


def test_a_session_without_requests_says_so(tmp_path: Path) -> None:
    log = Log()
    log.user("go")
    with pytest.raises(UsageError, match="no requests of a model"):
        curves(log, tmp_path)


def test_the_whole_store(log: Log, tmp_path: Path) -> None:
    found = all_contexts(imported(log.write(tmp_path / "s1.jsonl")).store, POLICY)
    (one,) = found.largest
    assert (one.session, one.requests, one.prompt_tokens, one.compactions) == ("s1", 4, 7_122, 1)
    # far below the limit: the replay has none
    assert (found.compactions.recorded, found.compactions.not_reproduced) == (1, 1)
