"""Fault cases of class D: the same thing counted twice, or not at all.

Left out: D16 (OpenCode's two storages), D17 and D18 (Codex's counters); those agents are not read yet.
"""

from __future__ import annotations

import itertools
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import pytest
from support import docker_agent, rtk
from support.claude import stamp
from support.pipeline import Log, Records, Sent, agree, copied, imported, write

from dedupstats import build_report, rates

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from support.pipeline import JSON

X, Y, Z = "x" * 300, "y" * 300, "z" * 300

THINKING = {"type": "thinking", "thinking": "Let me see.", "signature": "s"}


def without(rows: Sequence[Any], name: str) -> list[JSON]:
    """Rows that lack a field."""
    return [{key: value for key, value in row.items() if key != name} for row in rows]


# -- requests ------------------------------------------------------------------------------------------------


def test_d01_streamed_rows_of_one_message(tmp_path: Path) -> None:
    log = Log()
    log.say("ok", "m1", usage=(10, 100, 50, 3))
    log.say("ok", "m1", usage=(10, 100, 50, 40))
    log.call("t1", "Read", {"file_path": "a"}, "m1", usage=(10, 100, 50, 412))
    history = imported(log.write(tmp_path / "s1.jsonl"))
    assert history.requests == [Sent("m1", 10, 100, 50, 412)]
    assert history.column("select calls from request") == [1]
    assert history.records == Records(used=3, copies=0, ignored=0, skipped=0)


@pytest.mark.parametrize("order", list(itertools.permutations([3, 40, 412])))
def test_d01_whatever_row_holds_the_final_count(tmp_path: Path, order: Sequence[int]) -> None:
    log = Log()
    for output in order:
        log.say("ok", "m1", usage=(10, 100, 50, output))
    assert imported(log.write(tmp_path / "s1.jsonl")).requests == [Sent("m1", 10, 100, 50, 412)]


def test_d01_input_that_comes_with_the_last_row_alone(tmp_path: Path) -> None:
    log = Log()
    log.say("ok", "m1", usage=(0, 0, 0, 1))
    log.say("ok", "m1", usage=(3765, 0, 20, 30))
    assert imported(log.write(tmp_path / "s1.jsonl")).requests == [Sent("m1", 3765, 0, 20, 30)]


def test_d01_rows_of_a_message_with_results_between_them(tmp_path: Path) -> None:
    log = Log()
    log.call("t1", "Read", {"file_path": "a"}, "m1", usage=(10, 100, 50, 3))
    log.result("t1", X)
    log.call("t2", "Read", {"file_path": "b"}, "m1", usage=(10, 100, 50, 412))
    log.result("t2", Y)
    history = imported(log.write(tmp_path / "s1.jsonl"))
    assert history.requests == [Sent("m1", 10, 100, 50, 412)]
    assert history.column("select calls from request") == [2]
    assert history.results == ["t1", "t2"]


def test_d02_no_request_id(tmp_path: Path) -> None:
    log = Log()
    for output in (3, 40, 412):
        log.say("ok", "m1", usage=(10, 100, 50, output))
    history = imported(write(tmp_path / "s1.jsonl", without(log.rows, "requestId")))
    assert history.requests == [Sent("m1", 10, 100, 50, 412)]


def test_d02_no_request_id_in_some_rows_and_files(tmp_path: Path) -> None:
    log = Log()
    log.say("ok", "m1", usage=(10, 100, 50, 3))
    log.say("ok", "m1", usage=(10, 100, 50, 412))
    rows = without(log.rows, "requestId")
    history = agree(
        write(tmp_path / "s1.jsonl", [rows[0], log.rows[1]]),
        write(tmp_path / "s2.jsonl", copied(rows, sessionId="s2")),
    )
    assert history.requests == [Sent("m1", 10, 100, 50, 412)]
    assert history.column("select files from request") == [2]


def test_d03_blocks_of_one_message_in_several_rows(tmp_path: Path) -> None:
    log = Log()
    log.assistant([THINKING], "m1", usage=(1, 0, 0, 90))
    log.call("t1", "Read", {"file_path": "a"}, "m1", usage=(1, 0, 0, 90))
    log.call("t2", "Bash", {"command": "ls"}, "m1", usage=(1, 0, 0, 90))
    log.result("t1", X)
    log.result("t2", Y)
    history = imported(log.write(tmp_path / "s1.jsonl"))
    assert history.requests == [Sent("m1", 1, 0, 0, 90)]
    assert history.store.query("select calls, thinking_bytes from request") == [(2, len("Let me see."))]
    assert history.store.query("select call_id, tool from emission order by seq") == [
        ("t1", "Read"),
        ("t2", "Bash"),
    ]


def test_d20_equal_usage_is_no_proof(tmp_path: Path) -> None:
    log = Log()
    log.say("ok", "m1", usage=(10, 0, 0, 5))
    log.say("ok", "m2", usage=(10, 0, 0, 5))
    history = imported(log.write(tmp_path / "s1.jsonl"))
    assert history.requests == [Sent("m1", 10, 0, 0, 5), Sent("m2", 10, 0, 0, 5)]


def test_d20_messages_without_an_id_count_each(tmp_path: Path) -> None:
    log = Log()
    for _ in range(2):
        log.say("ok", usage=(10, 0, 0, 5))
        del log.rows[-1]["message"]["id"]
    history = imported(write(tmp_path / "s1.jsonl", without(log.rows, "requestId")))
    assert [request[1:] for request in history.requests] == [(10, 0, 0, 5), (10, 0, 0, 5)]


# -- copies --------------------------------------------------------------------------------------------------


def trunk() -> Log:
    """Session p: a call and its result."""
    log = Log("p")
    log.read("t1", "a", X)
    return log


def forked(rows: Sequence[JSON], **changes: Any) -> Log:
    """Session f: the trunk's rows under a new session id, then the same call again."""
    log = Log("f", prefix="f", start=60)
    log.rows, log.tip = copied(rows, sessionId="f", **changes), "u2"
    log.read("t2", "a", X)
    return log


@pytest.mark.parametrize("mark", [{}, {"forkedFrom": {"sessionId": "p", "messageUuid": "p-1"}}])
def test_d04_fork_copies_the_trunk(tmp_path: Path, mark: JSON) -> None:
    log = trunk()
    history = agree(
        forked(log.rows, **mark).write(tmp_path / "f.jsonl"),
        log.write(tmp_path / "p.jsonl"),
    )
    assert history.results == ["t1", "t2"]
    assert len(history.requests) == 2
    # the trunk's two rows and the fork's four: one of them holds a result that is a copy
    assert history.records == Records(used=5, copies=1, ignored=0, skipped=0)
    assert history.store.query("select session_id, call_id from emission where is_copy") == [("f", "t1")]
    # another session in the history, the same session for the fork
    session_rules = ["call-session", "bytes-session", "repeat-session", "repeat-turn", "repeat-in-sight"]
    assert history.repeats == {rule: ["t2"] for rule in ["call-pooled", "repeat-pooled", *session_rules]}
    assert history.column("select count(distinct family_key) from session") == [1]


def test_d04_the_trunk_alone_has_no_repeat(tmp_path: Path) -> None:
    history = imported(trunk().write(tmp_path / "p.jsonl"))
    assert history.results == ["t1"]
    assert history.repeats == {}


@pytest.mark.parametrize("mark", [{}, {"forkedFrom": {"sessionId": "p", "messageUuid": "p-1"}}])
def test_d04_both_go_on_for_any_length_of_time(tmp_path: Path, mark: JSON) -> None:
    """The trunk ends after the fork: what both hold counts once all the same, what each adds counts."""
    log = trunk()
    fork = forked(log.rows, **mark).write(tmp_path / "f.jsonl")
    log.call("t3", "Read", {"file_path": "a"})
    log.result("t3", X, timestamp=stamp(600))
    history = agree(log.write(tmp_path / "p.jsonl"), fork)
    assert history.results == ["t1", "t2", "t3"]
    assert history.records.copies == 1
    assert history.repeats["repeat-in-sight"] == ["t2", "t3"]
    # rows that say that they were copied are no originals; without a word, the file that ended first has them
    assert history.column("select session_id from emission where is_copy") == ["f" if mark else "p"]


def test_d04_a_fork_of_a_fork(tmp_path: Path) -> None:
    log = trunk()
    fork = forked(log.rows)
    again = Log("g", prefix="g", start=120)
    again.rows, again.tip = copied(fork.rows, sessionId="g"), fork.tip
    again.read("t3", "b", Y)
    history = agree(
        again.write(tmp_path / "a.jsonl"), fork.write(tmp_path / "f.jsonl"), log.write(tmp_path / "p.jsonl")
    )
    assert history.results == ["t1", "t2", "t3"]
    assert history.store.query("select session_id, call_id from emission where is_copy order by all") == [
        ("f", "t1"),
        ("g", "t1"),
        ("g", "t2"),
    ]
    assert history.repeats["repeat-in-sight"] == ["t2"]
    assert history.column("select count(distinct family_key) from session") == [1]


def test_d04_two_copies_in_one_row(tmp_path: Path) -> None:
    """Nothing forbids two results in one row: the row is a copy, once, if all of them are."""
    log = Log("p")
    log.call("t1", "Read", {"file_path": "a"}, "m1")
    log.call("t2", "Read", {"file_path": "b"}, "m1")
    log.result("t1", X)
    log.rows[-1]["message"]["content"].append({"type": "tool_result", "tool_use_id": "t2", "content": Y})
    fork = write(tmp_path / "f.jsonl", copied(log.rows[2:], sessionId="f"))
    history = agree(write(tmp_path / "p.jsonl", log.rows), fork)
    # without their calls in its file the fork's results cannot be told to be copies
    assert history.results == ["t1", "t2", "t1", "t2"]
    fork = write(tmp_path / "f.jsonl", copied(log.rows, sessionId="f"))
    history = agree(tmp_path / "p.jsonl", fork)
    assert history.results == ["t1", "t2"]
    assert history.records == Records(used=5, copies=1, ignored=0, skipped=0)


def test_d04_one_copy_in_a_row_of_two(tmp_path: Path) -> None:
    """The row brought something new: it was used."""
    log = Log("p")
    log.call("t1", "Read", {"file_path": "a"}, "m1")
    log.call("t2", "Read", {"file_path": "b"}, "m1")
    log.result("t1", X)
    fork = copied(log.rows, sessionId="f", forkedFrom={"sessionId": "p"})
    fork[-1]["message"]["content"].append({"type": "tool_result", "tool_use_id": "t2", "content": Y})
    history = agree(log.write(tmp_path / "p.jsonl"), write(tmp_path / "f.jsonl", fork))
    assert sorted(history.results) == ["t1", "t2"]
    assert history.rates.total.copies.results == 1
    assert history.records == Records(used=6, copies=0, ignored=0, skipped=0)


def test_d05_branch_after_a_compaction(tmp_path: Path) -> None:
    log = Log()
    log.read("t1", "a", X)
    log.compact()
    log.rows += copied(log.rows[1:2], parentUuid=None)
    history = imported(log.write(tmp_path / "s1.jsonl"))
    assert history.results == ["t1"]
    assert history.records.copies == 1
    assert history.repeats == {}


def test_d05_every_row_before_the_boundary_twice(tmp_path: Path) -> None:
    """The calls come again with their results; what follows sees the copies."""
    log = Log()
    log.user("hi")
    log.read("t1", "a", X)
    before = copied(log.rows)
    log.compact()
    log.rows += [before[0] | {"parentUuid": None}, *before[1:]]
    log.tip = before[-1]["uuid"]
    log.read("t2", "a", X)
    history = imported(log.write(tmp_path / "s1.jsonl"))
    assert history.results == ["t1", "t2"]
    assert history.repeats["repeat-session"] == ["t2"]
    assert len(history.requests) == 2


def test_d06_second_compaction_appends_the_old_history_again(tmp_path: Path) -> None:
    log = Log()
    log.read("t1", "a", X)
    first = copied(log.rows)
    log.compact()
    log.read("t2", "b", Y)
    log.rows += first[1:]
    log.compact()
    log.read("t3", "a", X)
    history = imported(log.write(tmp_path / "s1.jsonl"))
    assert history.results == ["t1", "t2", "t3"]
    assert history.records.copies == 1
    assert history.column("select kind from boundary") == ["compaction", "compaction"]
    assert history.repeats["repeat-session"] == ["t3"]
    assert "repeat-in-sight" not in history.repeats


def test_d06_a_history_that_grows_with_every_compaction(tmp_path: Path) -> None:
    """Three compactions, each followed by all rows so far: every result counts once."""
    log = Log()
    for number in range(3):
        log.read(f"t{number}", f"f{number}", str(number) * 300)
        before = copied(log.rows)
        log.compact()
        log.rows += before
    history = imported(log.write(tmp_path / "s1.jsonl"))
    assert history.results == ["t0", "t1", "t2"]
    assert len(history.requests) == 3
    assert history.column("select count(*) from boundary") == [3]
    # 3 * 4 rows of their own, and the file's 2, then 8, then 20 rows so far once more
    assert history.records == Records(used=12, copies=30, ignored=0, skipped=0)


def test_d10_a_moved_project(tmp_path: Path) -> None:
    log = Log()
    for number in range(3):
        log.read(f"t{number}", f"f{number}", str(number) * 300)
    old = write(tmp_path / "-p" / "s1.jsonl", log.rows[:4])
    new = write(tmp_path / "-p-v2" / "s1.jsonl", log.rows)
    history = agree(old, new)
    assert history.results == ["t0", "t1", "t2"]
    assert history.records.copies == 2
    assert history.column("select session_id from session") == ["s1"]
    assert history.repeats == {}


def test_d10_folder_by_folder(tmp_path: Path) -> None:
    log = Log()
    for number in range(3):
        log.read(f"t{number}", f"f{number}", str(number) * 300)
    folders = [tmp_path / "-p", tmp_path / "-p-v2"]
    write(folders[0] / "s1.jsonl", log.rows[:4])
    write(folders[1] / "s1.jsonl", log.rows)
    expected = imported(tmp_path).snapshot()
    for order in (folders, folders[::-1], [*folders, tmp_path], [folders[1], tmp_path], [tmp_path, *folders]):
        assert imported(*order).snapshot() == expected


def test_d11_the_same_session_from_two_machines_one_shorter(tmp_path: Path) -> None:
    log = Log()
    for number in range(3):
        log.read(f"t{number}", f"f{number}", str(number) * 300)
    history = agree(
        write(tmp_path / "m1" / "s1.jsonl", log.rows), write(tmp_path / "m2" / "s1.jsonl", log.rows[:4])
    )
    assert history.results == ["t0", "t1", "t2"]
    assert history.records.copies == 2
    assert history.column("select session_id from session") == ["s1"]


def test_d11_histories_that_disagree(tmp_path: Path) -> None:
    """Both machines went on for themselves: what they share counts once, what each has alone counts."""
    log = Log()
    log.read("t1", "a", X)
    other = deepcopy(log)
    log.read("t2", "a", X)
    other.read("t3", "a", X)
    # the sides took the same uuids for different rows
    assert other.rows[2]["uuid"] == log.rows[2]["uuid"]
    history = agree(log.write(tmp_path / "m1" / "s1.jsonl"), other.write(tmp_path / "m2" / "s1.jsonl"))
    assert history.results == ["t1", "t2", "t3"]
    assert history.records.copies == 1
    assert history.repeats["repeat-in-sight"] == ["t2", "t3"]


def test_d12_snapshots_of_session_files(tmp_path: Path) -> None:
    log = Log()
    log.read("t1", "a", X)
    history = agree(log.write(tmp_path / "s1.jsonl"), log.write(tmp_path / "s1.backup.jsonl"))
    assert history.results == ["t1"]
    assert history.records.copies == 1
    assert history.repeats == {}


def test_d12_any_number_of_snapshots_of_any_age(tmp_path: Path) -> None:
    log = Log()
    for number in range(4):
        log.read(f"t{number}", "a", X if number % 2 else Y)
    single = imported(log.write(tmp_path / "single" / "s1.jsonl"))
    expected = (single.results, single.repeats, single.requests)
    for name, rows in {
        "s1.jsonl": log.rows,
        "0.jsonl": log.rows[4:],
        "z/s1.jsonl": log.rows[:6],
        "s1 (1).jsonl": log.rows[:4],
    }.items():
        write(tmp_path / "many" / name, rows)
    many = imported(tmp_path / "many")
    assert (many.results, many.repeats, many.requests) == expected
    assert many.records.copies == 2 + 3 + 2


@pytest.mark.parametrize("name", ["s1.jsonl.bak", "s1.json", "s1"])
def test_d12_a_snapshot_under_any_name(tmp_path: Path, name: str) -> None:
    log = Log()
    log.read("t1", "a", X)
    history = agree(log.write(tmp_path / "s1.jsonl"), log.write(tmp_path / "copies" / name))
    assert history.results == ["t1"]
    assert history.records == Records(used=3, copies=1, ignored=0, skipped=0)


def test_d14_only_the_copy_is_left(tmp_path: Path) -> None:
    history = imported(forked(trunk().rows).write(tmp_path / "f.jsonl"))
    assert history.results == ["t1", "t2"]
    assert history.records == Records(used=4, copies=0, ignored=0, skipped=0)
    assert history.repeats["repeat-in-sight"] == ["t2"]


def test_d14_the_copy_says_itself_that_it_is_one(tmp_path: Path) -> None:
    history = imported(forked(trunk().rows, forkedFrom={"sessionId": "p"}).write(tmp_path / "f.jsonl"))
    assert history.results == ["t1", "t2"]
    assert history.records.copies == 0
    assert history.repeats["repeat-in-sight"] == ["t2"]


def test_d14_the_original_goes_after_it_was_read(tmp_path: Path) -> None:
    """A vanished file keeps its figures, and its copy stays a copy."""
    log = trunk()
    original = log.write(tmp_path / "p.jsonl")
    fork = forked(log.rows).write(tmp_path / "f.jsonl")
    imported(tmp_path)
    before = imported(tmp_path, tmp_path).results
    history = imported([original, fork])
    original.unlink()
    assert before == history.results == ["t1", "t2"]
    assert imported(fork).records.copies == 0


# -- subagents -----------------------------------------------------------------------------------------------


def test_d07_subagent_rows_in_two_files(tmp_path: Path) -> None:
    main, agent = Log(), Log(agent="a", prefix="a")
    main.say("ok", "m1")
    agent.say("ok", "m2")
    agent.say("ok", "m3")
    write(tmp_path / "s1.jsonl", [*main.rows, agent.rows[0]])
    history = agree(tmp_path / "s1.jsonl", agent.write(tmp_path / "s1" / "subagents" / "agent-a.jsonl"))
    assert [request.message for request in history.requests] == ["m1", "m2", "m3"]
    assert history.store.query(
        "select r.native_id, c.native_id from request r join context c using (context_key) order by all"
    ) == [("m1", "s1"), ("m2", "a"), ("m3", "a")]
    assert history.column("select session_id from session") == ["s1"]


def test_d07_results_of_a_subagent_in_two_files(tmp_path: Path) -> None:
    main, agent = Log(), Log(agent="a", prefix="a")
    main.say("ok", "m1")
    agent.read("t2", "a", X)
    shared = list(agent.rows)
    agent.read("t3", "a", X)
    write(tmp_path / "s1.jsonl", [*main.rows, *shared])
    history = agree(tmp_path / "s1.jsonl", agent.write(tmp_path / "s1" / "subagents" / "agent-a.jsonl"))
    assert history.results == ["t2", "t3"]
    assert history.records.copies == 1
    assert history.repeats["repeat-in-sight"] == ["t3"]


def test_d07_progress_rows_repeat_what_the_agents_file_holds(tmp_path: Path) -> None:
    main, agent = Log(), Log(agent="a", prefix="a")
    main.user("hi")
    agent.read("t2", "a", X)
    for row in agent.rows:
        main.agent_progress("a", row)
    own = agent.write(tmp_path / "s1" / "subagents" / "agent-a.jsonl")
    history = imported(main.write(tmp_path / "s1.jsonl"))
    assert history.results == ["t2"]
    assert history.records == Records(used=3, copies=0, ignored=2, skipped=0)
    own.unlink()
    # now they are all that is left of it
    history = imported(tmp_path / "s1.jsonl")
    assert history.results == ["t2"]
    assert history.records == Records(used=3, copies=0, ignored=0, skipped=0)


def test_d08_totals_of_a_subagent_inside_the_parents_result(tmp_path: Path) -> None:
    main, agent = Log(), Log(agent="a", prefix="a", start=10)
    main.call("t1", "Task", {"prompt": "go"}, "m1", usage=(10, 0, 0, 5))
    told = {"agentId": "a", "totalTokens": 200, "usage": {"input_tokens": 190, "output_tokens": 10}}
    main.result("t1", "Done.", toolUseResult=told)
    agent.say("ok", "m2", usage=(100, 0, 0, 0))
    agent.say("ok", "m3", usage=(90, 0, 0, 10))
    agent.write(tmp_path / "s1" / "subagents" / "agent-a.jsonl")
    main.write(tmp_path / "s1.jsonl")
    history = imported(tmp_path)
    assert history.store.query("select sum(input_tokens), sum(output_tokens) from request") == [(200, 15)]
    # the answer alone entered the parent's context
    assert history.store.query("select call_id, bytes from emission") == [("t1", len("Done."))]


@pytest.mark.parametrize("place", ["in the file", "in a file of its own"])
def test_d09_sidechains_thrown_away(tmp_path: Path, place: str) -> None:
    main, agent = Log(), Log(agent="a", prefix="a", start=10)
    main.say("ok", "m1", usage=(10, 0, 0, 5))
    agent.say("ok", "m2", usage=(100, 0, 0, 7))
    if place == "in the file":
        write(tmp_path / "s1.jsonl", [*main.rows, *agent.rows])
    else:
        main.write(tmp_path / "s1.jsonl")
        agent.write(tmp_path / "agent-a.jsonl")
    history = imported(tmp_path)
    assert history.requests == [Sent("m1", 10, 0, 0, 5), Sent("m2", 100, 0, 0, 7)]
    assert history.column("select kind from context order by kind") == ["agent", "main"]
    assert history.column("select sum(output_tokens) from request") == [12]
    assert history.column("select contexts from session") == [2]


# -- docker-agent --------------------------------------------------------------------------------------------


def test_d13_docker_agent_branch(tmp_path: Path) -> None:
    first = docker_agent.read("r1", "a", X, 1)
    parent = docker_agent.session("p", [*first, *docker_agent.read("r2", "b", Y, 3)])
    branch = docker_agent.session(
        "b", [*first, *docker_agent.read("r3", "c", Z, 63)], second=60, title="A title (branched)"
    )
    path = docker_agent.database(tmp_path / "session.db", docker_agent.NEWEST, parent, branch)
    history = imported(path)
    assert history.results == ["r1", "r2", "r3"]
    assert history.records.copies == 1
    assert history.store.query("select session_id, call_id from emission where is_copy") == [("b", "r1")]
    assert len(history.requests) == 3
    assert history.repeats == {}
    assert history.column("select count(distinct family_key) from session") == [1]


def test_d13_a_branch_sees_what_it_copied(tmp_path: Path) -> None:
    """The same call again in the branch repeats the copy; its parent never made it twice."""
    first = docker_agent.read("r1", "a", X, 1)
    parent = docker_agent.session("p", first)
    branch = docker_agent.session(
        "b", [*first, *docker_agent.read("r3", "a", X, 63)], second=60, title="A title (branched)"
    )
    exports = (
        docker_agent.export(tmp_path / "p.json", parent),
        docker_agent.export(tmp_path / "b.json", branch),
    )
    history = agree(*exports)
    assert history.results == ["r1", "r3"]
    assert history.repeats["repeat-in-sight"] == ["r3"]
    alone = imported(exports[1])
    assert (alone.results, alone.records.copies) == (["r1", "r3"], 0)
    assert alone.repeats["repeat-in-sight"] == ["r3"]


def test_d15_a_database_set_aside(tmp_path: Path) -> None:
    one = docker_agent.session("s1", docker_agent.read("r1", "a", X, 1))
    two = docker_agent.session("s2", docker_agent.read("r2", "b", Y, 61), second=60)
    history = agree(
        docker_agent.database(tmp_path / "session.db", docker_agent.NEWEST, two),
        docker_agent.database(tmp_path / "session.db.bak", docker_agent.NEWEST, one),
    )
    assert history.column("select session_id from session order by all") == ["s1", "s2"]
    assert history.results == ["r1", "r2"]
    assert history.records.copies == 0


@pytest.mark.parametrize("other", ["session.db.bak", "copy/session.db", "s1.json"])
def test_d15_a_session_in_both_is_counted_once(tmp_path: Path, other: str) -> None:
    """The newer database holds the session with one result more; the older one may be an export too."""
    items = docker_agent.read("r1", "a", X, 1)
    old = docker_agent.session("s1", items)
    new = docker_agent.session("s1", [*items, *docker_agent.read("r2", "a", X, 3)])
    (tmp_path / other).parent.mkdir(exist_ok=True)
    if other.endswith(".json"):
        docker_agent.export(tmp_path / other, old)
    else:
        docker_agent.database(tmp_path / other, docker_agent.NEWEST, old)
    database = docker_agent.database(tmp_path / "session.db", docker_agent.NEWEST, new)
    history = agree(database, tmp_path / other)
    assert history.column("select session_id from session") == ["s1"]
    assert history.results == ["r1", "r2"]
    assert history.records.copies == 1
    assert len(history.requests) == 2
    assert history.repeats["repeat-in-sight"] == ["r2"]


# -- ledgers beside the log ----------------------------------------------------------------------------------


def test_d19_two_ledgers_of_one_event(tmp_path: Path) -> None:
    log = Log()
    log.bash("t1", "git log", X)
    log.write(tmp_path / "s1.jsonl")
    time = stamp(1)
    rtk.write_history(
        tmp_path / "history.db",
        rtk.Generation.PR2937,
        [rtk.Command(time, "git log", "rtk git log", 500, 75, 425)],
        session_outputs=[("s1", "ab" * 32, "git log", 75, 10, 1, 1, time, time)],
    )
    history = imported(tmp_path)
    assert history.results == ["t1"]
    total = history.rates.total.results
    assert (total.results, total.bytes) == (1, 300)
    assert rates(history.store, tokens="bytes4", tz="UTC").total.results.tokens == 75
    assert len(history.rates.rows) == 1
    # RTK's figures stand beside, filtering and dedup as two lines
    report = build_report(history.store)
    assert report.rtk is not None
    assert report.rtk.elided is not None
    assert (report.rtk.commands, report.rtk.filtering.saved.part, report.rtk.filtering.saved.whole) == (
        1,
        425,
        500,
    )
    assert (report.rtk.elided.outputs, report.rtk.elided.elided, report.rtk.elided.tokens) == (1, 0, 0)
    assert [rule.repeats.bytes.whole for rule in report.rules] == [300] * 8


def test_d19_a_copy_of_rtks_database(tmp_path: Path) -> None:
    commands = [
        rtk.Command(stamp(1), "git log", "rtk git log", 500, 75, 425),
        rtk.Command(stamp(2), "git log", "rtk git log", 500, 75, 425),
    ]
    history = agree(
        rtk.write_history(tmp_path / "history.db", commands=commands),
        rtk.write_history(tmp_path / "history.db.bak", commands=commands[:1]),
    )
    assert history.column("select count(*) from rtk_command") == [2]
