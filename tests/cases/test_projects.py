"""Fault cases P14 to P17, P19 and P22: whose a file is, what belongs together, and that all is counted.

The other cases of class P need no store and stand beside the parsers.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from support import docker_agent, rtk
from support.claude import stamp
from support.command import run
from support.pipeline import Log, Records, agree, copied, imported, write

if TYPE_CHECKING:
    from pathlib import Path

X, Y, Z = "x" * 300, "y" * 300, "z" * 300


# -- P14 -----------------------------------------------------------------------------------------------------


def in_folder(folder: Path, session: str, cwd: str, **fields: Any) -> Path:
    """A session with one result in a project folder."""
    log = Log(session, cwd, prefix=session)
    log.read(f"t-{session}", "f", X)
    return write(folder / f"{session}.jsonl", [row | fields for row in log.rows if isinstance(row, dict)])


def test_p14_the_project_folder_is_a_lossy_name(tmp_path: Path) -> None:
    folder = tmp_path / "-home-u-my-project"
    in_folder(folder, "a", "/home/u/my_project")
    in_folder(folder, "b", "/home/u/my-project")
    history = imported(tmp_path)
    assert history.store.query("select session_id, project from session order by all") == [
        ("a", "/home/u/my_project"),
        ("b", "/home/u/my-project"),
    ]
    assert history.column("select distinct project from emission order by all") == [
        "/home/u/my-project",
        "/home/u/my_project",
    ]


@pytest.mark.parametrize("cwd", ["/home/u/プロジェクト", "C:\\Users\\u\\app", "/home/u/a b", "/"])
def test_p14_any_working_directory(tmp_path: Path, cwd: str) -> None:
    in_folder(tmp_path / "-home-u-------", "a", cwd)
    shown = "c:\\Users\\u\\app" if cwd.startswith("C:") else cwd
    assert imported(tmp_path).column("select project from session") == [shown]


def test_p14_the_first_working_directory_names_the_project(tmp_path: Path) -> None:
    """Rows without one may stand before it, and a `cd` later on changes nothing."""
    log = Log("a", "/home/u/p")
    log.user("hi", cwd=...)
    log.read("t1", "f", X)
    log.cwd = "/home/u/p/src"
    log.read("t2", "f", X)
    history = imported(log.write(tmp_path / "-home-u-p" / "a.jsonl"))
    assert history.column("select distinct project from emission") == ["/home/u/p"]


def test_p14_the_folder_where_no_row_has_a_working_directory(tmp_path: Path) -> None:
    folder = tmp_path / "-home-u-my-project"
    log = Log("a")
    log.call("t1", "Read", {"file_path": "f"}, cwd=...)
    log.result("t1", X, cwd=...)
    history = imported(log.write(folder / "a.jsonl"))
    assert history.column("select project from session") == ["-home-u-my-project"]


# -- P15, P16 ------------------------------------------------------------------------------------------------


def agent(name: str, start: float) -> Log:
    """A subagent of session s1 with one result of its own."""
    log = Log(agent=name, prefix=name, start=start)
    log.user("go")
    log.read(f"t-{name}", f"file-{name}", name * 300)
    return log


CONTEXTS = (
    "select c.native_id, c.kind, c.session_id, p.native_id from context c "
    "left join context p on p.context_key = c.parent_key order by all"
)


def test_p15_subagents_in_nested_folders(tmp_path: Path) -> None:
    main = Log()
    main.read("t1", "a", X)
    subagents = tmp_path / "s1" / "subagents"
    meta = subagents / "agent-a.meta.json"
    paths = (
        main.write(tmp_path / "s1.jsonl"),
        agent("a", 60).write(subagents / "agent-a.jsonl"),
        agent("b", 120).write(subagents / "workflows" / "wf_1" / "agent-b.jsonl"),
        meta,
        write(subagents / "workflows" / "wf_1" / "journal.jsonl", [{"type": "started", "key": "k"}]),
    )
    meta.write_text(json.dumps({"agentType": "Explore", "description": "look"}), "utf-8")
    history = agree(*paths)
    assert history.column("select session_id from session") == ["s1"]
    assert history.store.query(CONTEXTS) == [
        ("a", "agent", "s1", "s1"),
        ("b", "agent", "s1", "s1"),
        ("s1", "main", "s1", None),
    ]
    assert history.results == ["t1", "t-a", "t-b"]
    # the meta file tells what kind of agent it is; the journal is counted and no transcript
    assert history.column("select agent from context where native_id = 'a'") == ["Explore"]
    assert history.records == Records(used=2 + 3 + 3 + 1, copies=0, ignored=1, skipped=0)
    assert history.summary.unreadable == history.summary.unrecognised == []


def test_p15_the_folder_alone_is_as_good(tmp_path: Path) -> None:
    """A session's file brings its folder along; the project's folder brings everything."""
    main = Log()
    main.read("t1", "a", X)
    main.write(tmp_path / "s1.jsonl")
    agent("a", 60).write(tmp_path / "s1" / "subagents" / "agent-a.jsonl")
    expected = imported(tmp_path).snapshot()
    for order in (
        [tmp_path / "s1.jsonl"],
        [tmp_path / "s1", tmp_path / "s1.jsonl"],
        [tmp_path / "s1" / "subagents" / "agent-a.jsonl", tmp_path],
    ):
        assert imported(*order).snapshot() == expected


def test_p15_subagents_of_subagents(tmp_path: Path) -> None:
    main, middle = Log(), Log(agent="a", prefix="a", start=60)
    main.call("t1", "Task", {"prompt": "go"})
    main.result("t1", "Done.", toolUseResult={"agentId": "a"}, timestamp=stamp(300))
    middle.call("t2", "Task", {"prompt": "go on"})
    middle.result("t2", "Done too.", toolUseResult={"agentId": "b"}, timestamp=stamp(200))
    history = agree(
        main.write(tmp_path / "s1.jsonl"),
        middle.write(tmp_path / "s1" / "subagents" / "agent-a.jsonl"),
        agent("b", 120).write(tmp_path / "s1" / "subagents" / "agent-b.jsonl"),
    )
    assert history.store.query(CONTEXTS) == [
        ("a", "agent", "s1", "s1"),
        ("b", "agent", "s1", "a"),
        ("s1", "main", "s1", None),
    ]
    assert history.results == ["t-b", "t2", "t1"]


@pytest.mark.parametrize("place", ["s1/subagents/agent-a.jsonl", "agent-a.jsonl", "s1/agent-a.jsonl"])
def test_p16_a_subagent_that_the_parent_never_names(tmp_path: Path, place: str) -> None:
    main = Log()
    main.read("t1", "a", X)
    history = agree(main.write(tmp_path / "s1.jsonl"), agent("a", 60).write(tmp_path / place))
    assert not any("agentId" in row for row in main.rows)
    assert history.column("select session_id from session") == ["s1"]
    assert history.store.query("select native_id, kind, session_id from context order by all") == [
        ("a", "agent", "s1"),
        ("s1", "main", "s1"),
    ]
    assert history.results == ["t1", "t-a"]


def test_p16_a_subagent_whose_parent_is_gone(tmp_path: Path) -> None:
    history = imported(agent("a", 60).write(tmp_path / "s1" / "subagents" / "agent-a.jsonl"))
    assert history.store.query(CONTEXTS) == [("a", "agent", "s1", None)]
    assert history.results == ["t-a"]


# -- P17 -----------------------------------------------------------------------------------------------------


def test_p17_a_row_of_another_session_in_this_file(tmp_path: Path) -> None:
    log = Log("s1")
    log.read("t1", "a", X)
    log.session = "s2"
    log.read("t2", "b", Y)
    history = imported(log.write(tmp_path / "s1.jsonl"))
    assert history.results == ["t1", "t2"]
    assert history.store.query("select native_id, session_id from context") == [("s1", "s1")]
    assert history.store.query("select session_id, ledger_session from emission order by seq") == [
        ("s1", "s1"),
        ("s1", "s2"),
    ]


def test_p17_the_other_session_has_a_file_as_well(tmp_path: Path) -> None:
    """The row stands in both, and counts once; its own session's file holds the original."""
    log = Log("s1")
    log.read("t1", "a", X)
    log.session = "s2"
    log.read("t2", "b", Y)
    history = agree(
        log.write(tmp_path / "s1.jsonl"),
        write(tmp_path / "s2.jsonl", log.rows[2:]),
    )
    assert history.results == ["t1", "t2"]
    assert history.records.copies == 1
    assert history.store.query("select session_id, call_id, is_copy from emission order by all") == [
        ("s1", "t1", False),
        ("s1", "t2", True),
        ("s2", "t2", False),
    ]


def test_p17_a_file_that_was_renamed(tmp_path: Path) -> None:
    """None of its rows bears the name: the rows' own session id wins."""
    log = Log("s1")
    log.read("t1", "a", X)
    history = imported(log.write(tmp_path / "backup of yesterday.jsonl"))
    assert history.store.query("select session_id, is_moved from context") == [("s1", True)]
    assert history.results == ["t1"]


# -- P19 -----------------------------------------------------------------------------------------------------

HOOK = {
    "hookName": "PreToolUse:Bash",
    "hookEvent": "PreToolUse",
    "command": "rtk hook claude",
    "toolUseID": "t1",
    "stdout": json.dumps({"hookSpecificOutput": {"updatedInput": {"command": "rtk git status"}}}),
}
BY_COMMAND = (
    "select e.call_id, r.original from emission e join rtk_command r on r.original_sha64 = e.target_sha64"
)


@pytest.mark.parametrize("keep_targets", [True, False])
def test_p19_the_transcript_holds_the_command_before_the_hook(tmp_path: Path, *, keep_targets: bool) -> None:
    log = Log()
    log.bash("t1", "git status", X)
    log.write(tmp_path / "s1.jsonl")
    rtk.write_history(
        tmp_path / "history.db",
        commands=[rtk.Command(stamp(1), "git status", "rtk git status", 100, 75, 25)],
    )
    history = imported(tmp_path, keep_targets=keep_targets)
    assert history.store.query(BY_COMMAND) == [("t1", "git status" if keep_targets else None)]
    # nothing in the transcript says that RTK ran
    assert history.column("select rtk_ran from emission") == [False]


def test_p19_a_command_typed_with_rtk_is_no_proof(tmp_path: Path) -> None:
    log = Log()
    log.bash("t1", "rtk git status", X)
    assert imported(log.write(tmp_path / "s1.jsonl")).column("select rtk_ran from emission") == [False]


def test_p19_the_hooks_own_answer_is(tmp_path: Path) -> None:
    log = Log()
    log.call("t1", "Bash", {"command": "git status"})
    log.attachment("hook_success", **HOOK)
    log.result("t1", X)
    log.bash("t2", "git status", X)
    history = imported(log.write(tmp_path / "s1.jsonl"))
    assert history.store.query("select call_id, target, rtk_ran from emission order by seq") == [
        ("t1", "git status", True),
        ("t2", "git status", False),
    ]


def test_p19_hook_decisions_join_by_the_call(tmp_path: Path) -> None:
    """Two calls of one command: the decision belongs to the one that it names."""
    log = Log()
    log.bash("t1", "git status", X)
    log.bash("t2", "git status", Y)
    log.write(tmp_path / "s1.jsonl")
    decision = (stamp(3), "s1", "t2", "/home/u/p", "git status", "allow", "rtk git status", "0.49.0")
    rtk.write_history(tmp_path / "history.db", rtk.Generation.R049, hook_decisions=[decision])
    history = imported(tmp_path)
    assert history.store.query(
        "select e.call_id, h.decision, h.raw_sha64 = e.target_sha64 "
        "from emission e join rtk_hook_decision h using (call_id)"
    ) == [("t2", "allow", True)]


# -- P22 -----------------------------------------------------------------------------------------------------


def test_p22_every_record_is_accounted_for(tmp_path: Path) -> None:
    """All fates at once: used, copies of both kinds, ignored types, skipped lines, an unfinished tail."""
    log = Log("p")
    log.user("hi")
    log.read("t1", "a", X)
    log.raw({"type": "zz-new", "x": 1})
    log.raw('{"type":"user","uuid":')
    log.raw("[]")
    log.raw(log.rows[2])
    log.system("turn_duration")
    log.write(tmp_path / "p.jsonl")
    with (tmp_path / "p.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"type":"user","uu')
    write(tmp_path / "f.jsonl", copied(log.rows[1:3], sessionId="f", forkedFrom={"sessionId": "p"}))
    items = [docker_agent.user("hi", 0), *docker_agent.read("r1", "a", X, 1), {"error": {"message": "no"}}]
    docker_agent.database(tmp_path / "session.db", docker_agent.NEWEST, docker_agent.session("d", items))
    rtk.write_history(tmp_path / "history.db", commands=[rtk.Command(stamp(1), "ls", "rtk ls", 100, 75, 25)])
    history = imported(tmp_path)
    counts = {
        path.rpartition("/")[2]: Records(*numbers)
        for path, *numbers in history.store.query("select path, used, copies, ignored, skipped from file")
    }
    assert counts == {
        "p.jsonl": Records(used=3, copies=1, ignored=2, skipped=2),
        "f.jsonl": Records(used=1, copies=1, ignored=0, skipped=0),
        "session.db": Records(used=3, copies=0, ignored=1, skipped=0),
        "history.db": Records(used=1, copies=0, ignored=0, skipped=0),
    }
    summary = history.summary
    assert summary.records == sum(sum(count) for count in counts.values()) == 15
    assert summary.unfinished == 1
    # each skipped record has a reason, each ignored one a type
    assert history.column("select count(*) from skipped where reason <> ''") == [2]
    assert history.store.query("select type, sum(records) from ignored group by 1 order by 1") == [
        ("error", 1),
        ("system/turn_duration", 1),
        ("zz-new", 1),
    ]


def test_p22_records_without_a_result_say_so(tmp_path: Path) -> None:
    log = Log()
    log.user("hi")
    log.say("hi")
    log.raw({"type": "zz-new", "x": 1})
    log.raw("42")
    log.write(tmp_path / "logs" / "s1.jsonl")
    ran = run("import", str(tmp_path / "logs"), "--db", str(tmp_path / "x.db"))
    assert ran.code == 0
    assert "4 records = 2 used + 0 copies + 1 ignored by type + 1 skipped" in ran.out
    assert "no tool result" in ran.err
    assert "1 ignored" in ran.err
    assert "1 skipped" in ran.err


def test_p22_they_say_so_beside_other_logs(tmp_path: Path) -> None:
    log = Log()
    log.user("hi")
    log.write(tmp_path / "logs" / "s1.jsonl")
    rtk.write_history(
        tmp_path / "logs" / "history.db", commands=[rtk.Command(stamp(1), "ls", "rtk ls", 100, 75, 25)]
    )
    ran = run("import", str(tmp_path / "logs"), "--db", str(tmp_path / "x.db"))
    assert "no tool result" in ran.err


def test_p22_a_report_without_a_result_is_no_zero(tmp_path: Path) -> None:
    log = Log()
    log.user("hi")
    log.write(tmp_path / "s1.jsonl")
    db = str(tmp_path / "x.db")
    run("import", str(tmp_path / "s1.jsonl"), "--db", db)
    ran = run("rates", "--db", db)
    assert ran.code == 3
    assert "holds no tool results" in ran.err
    assert "0.0 %" not in ran.out
