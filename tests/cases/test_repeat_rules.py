"""Fault cases of class R, as far as they concern repeat rules, classes and what was in sight.

What engines would have decided is not told by logs alone: test_replay_cases.py has verdicts of elisions, what
an engine remembers and when it forgets, its cap and window, stubs as savings.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from support import docker_agent, rtk
from support.claude import stamp
from support.pipeline import Log, agree, imported

from dedupstats import build_report, rates, variants
from dedupstats.simulate.run import simulate

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.claude import Transcript

X, Y, Z = "x" * 300, "y" * 300, "z" * 300

UNCHANGED = (
    "File unchanged since last read. The content from the earlier Read tool_result in this conversation is "
    "still current — refer to that instead of re-reading."
)
WASTED = "Wasted call — file unchanged since your last Read. Refer to that earlier tool_result instead."
CLEARED = "[Old tool result content cleared]"

POOLED = ["call-pooled", "repeat-pooled"]
IN_SESSION = ["call-session", "bytes-session", "repeat-session"]


def under(*rules: str, calls: list[str]) -> dict[str, list[str]]:
    """The same repeats under several rules."""
    return dict.fromkeys(rules, calls)


def subagent(name: str, start: float = 0) -> Log:
    """A subagent of session s1, to be written beside it."""
    return Log(agent=name, prefix=name, start=start)


def write_agent(log: Transcript, folder: Path) -> None:
    log.write(folder / "s1" / "subagents" / f"agent-{log.agent}.jsonl")


# -- what leaves the model's sight ---------------------------------------------------------------------------


def compaction(log: Log) -> None:
    log.compact()


def summary_alone(log: Log) -> None:
    log.compact(is_boundary_row=False)


def micro_compaction(log: Log) -> None:
    log.micro(["t1"])


def clear(log: Log) -> None:
    log.clear("s2")


def rewind(log: Log) -> None:
    log.rewind("u1")
    log.user("no, rather so")


LEAVING = [compaction, summary_alone, micro_compaction, clear, rewind]


@pytest.mark.parametrize("leave", LEAVING)
def test_r01_r02_r14_something_that_leaves_between_two_reads(
    tmp_path: Path, leave: Callable[[Log], None]
) -> None:
    log = Log()
    log.user("hi")
    log.user("read a")
    log.read("t1", "a", X)
    log.say("done", "m-done")
    leave(log)
    log.read("t2", "a", X)
    log.read("t3", "a", X)
    history = imported(log.write(tmp_path / "s1.jsonl"))
    assert history.results == ["t1", "t2", "t3"]
    assert history.repeats["repeat-session"] == ["t2", "t3"]
    # the second one is back in sight for the third
    assert history.repeats["repeat-in-sight"] == ["t3"]


def test_r01_compaction_between_two_reads(tmp_path: Path) -> None:
    log = Log()
    log.read("t1", "a", X)
    log.compact()
    log.read("t2", "a", X)
    history = imported(log.write(tmp_path / "s1.jsonl"))
    assert history.repeats == under(*POOLED, *IN_SESSION, "repeat-turn", calls=["t2"])
    assert history.store.query("select kind, at_ordinal, kept_count from boundary") == [("compaction", 1, 0)]
    assert history.store.query("select call_id, left_at from emission order by seq") == [
        ("t1", 1),
        ("t2", None),
    ]


def test_r02_rewind_between_two_reads(tmp_path: Path) -> None:
    """The second read hangs on the row before the first."""
    log = Log()
    before = log.user("hi")
    log.read("t1", "a", X)
    log.rewind(before)
    log.read("t2", "a", X)
    history = imported(log.write(tmp_path / "s1.jsonl"))
    assert history.repeats["repeat-session"] == ["t2"]
    assert "repeat-in-sight" not in history.repeats
    assert history.column("select kind from boundary") == ["rewind"]


def test_r02_back_on_the_branch_that_was_left(tmp_path: Path) -> None:
    """What a rewind abandoned is in sight again for a row that hangs on it, and counts once all the same."""
    log = Log()
    before = log.user("hi")
    log.read("t1", "a", X)
    tip = log.tip
    log.rewind(before)
    log.read("t2", "a", X)
    log.rewind(tip)
    log.read("t3", "a", X)
    history = imported(log.write(tmp_path / "s1.jsonl"))
    assert history.results == ["t1", "t2", "t3"]
    assert history.repeats["repeat-session"] == ["t2", "t3"]
    assert history.repeats["repeat-in-sight"] == ["t3"]


def test_r14_micro_compaction(tmp_path: Path) -> None:
    """It names what it clears: the other result stays."""
    log = Log()
    log.read("t1", "a", X)
    log.read("t2", "b", Y)
    log.micro(["t1"])
    log.read("t3", "a", X)
    log.read("t4", "a", X)
    log.read("t5", "b", Y)
    history = imported(log.write(tmp_path / "s1.jsonl"))
    assert history.repeats["repeat-session"] == ["t3", "t4", "t5"]
    assert history.repeats["repeat-in-sight"] == ["t4", "t5"]
    assert history.store.query("select kind, removed from boundary") == [("micro_compaction", "0")]


def test_r16_the_second_full_copy_outlives_the_first(tmp_path: Path) -> None:
    """In the log both stood in full; which of them a marker would have named is an engine's matter."""
    log = Log()
    log.read("t1", "a", X)
    log.read("t2", "a", X)
    log.micro(["t1"])
    log.read("t3", "a", X)
    history = imported(log.write(tmp_path / "s1.jsonl"))
    assert history.repeats["repeat-in-sight"] == ["t2", "t3"]


def test_r27_clear_begins_a_new_file(tmp_path: Path) -> None:
    first = Log("s1")
    first.read("t1", "a", X)
    second = Log("s2", start=60)
    second.meta("Caveat: The messages below were generated by the user while running local commands.")
    second.user("<command-name>/clear</command-name>")
    second.read("t2", "a", X)
    history = agree(first.write(tmp_path / "s1.jsonl"), second.write(tmp_path / "s2.jsonl"))
    assert history.repeats == under(*POOLED, calls=["t2"])
    assert history.column("select count(distinct family_key) from session") == [2]


def test_r27_clear_inside_a_file(tmp_path: Path) -> None:
    """As of 1.0.3x: a new root and a new session id in the rows; an engine's state goes with that id."""
    log = Log("s1")
    log.user("hi")
    log.read("t1", "a", X)
    log.say("done", "m-done")
    log.clear("s2")
    log.read("t2", "a", X)
    history = imported(log.write(tmp_path / "s1.jsonl"))
    assert history.repeats["repeat-session"] == ["t2"]
    assert "repeat-in-sight" not in history.repeats
    assert history.column("select kind from boundary") == ["clear"]
    assert history.store.query("select session_id, ledger_session from emission order by seq") == [
        ("s1", "s1"),
        ("s1", "s2"),
    ]


@pytest.mark.parametrize("carrier", ["preservedMessages", "preservedSegment", "both"])
def test_r28_what_compaction_kept(tmp_path: Path, carrier: str) -> None:
    log = Log()
    log.read("t1", "a", X)
    kept = log.read("t2", "b", Y)
    keep = () if carrier == "preservedSegment" else (kept,)
    log.compact(keep, segment=None if carrier == "preservedMessages" else (kept, kept))
    log.read("t3", "b", Y)
    log.read("t4", "a", X)
    history = imported(log.write(tmp_path / "s1.jsonl"))
    assert history.repeats["repeat-session"] == ["t3", "t4"]
    assert history.repeats["repeat-in-sight"] == ["t3"]
    assert history.store.query("select kept, kept_count from boundary") == [("1", 1)]


@pytest.mark.parametrize("carrier", ["preservedMessages", "preservedSegment"])
def test_r28_the_next_compaction_keeps_nothing(tmp_path: Path, carrier: str) -> None:
    log = Log()
    kept = log.read("t1", "a", X)
    if carrier == "preservedMessages":
        log.compact([kept])
    else:
        log.compact(segment=(kept, kept))
    log.compact()
    log.read("t2", "a", X)
    history = imported(log.write(tmp_path / "s1.jsonl"))
    assert history.repeats["repeat-session"] == ["t2"]
    assert "repeat-in-sight" not in history.repeats


def test_r28_kept_rows_that_are_not_there(tmp_path: Path) -> None:
    log = Log()
    log.read("t1", "a", X)
    log.compact(["gone"], segment=("gone", "too"))
    log.read("t2", "a", X)
    history = imported(log.write(tmp_path / "s1.jsonl"))
    assert history.repeats["repeat-session"] == ["t2"]
    assert "repeat-in-sight" not in history.repeats


def test_r29_broken_chains(tmp_path: Path) -> None:
    log = Log()
    first = log.read("t1", "a", X)
    log.compact()
    log.call("t2", "Read", {"file_path": "b"}, parent="gone")
    log.result("t2", Y)
    log.compact()
    log.call("t3", "Read", {"file_path": "b"}, parent=first)
    log.result("t3", Y)
    history = imported(log.write(tmp_path / "s1.jsonl"))
    assert history.results == ["t1", "t2", "t3"]
    assert history.column("select kind from boundary order by line") == ["compaction", "compaction"]
    # the second was out of sight after the second compaction, though the chain leads around it
    assert history.repeats["repeat-session"] == ["t3"]
    assert "repeat-in-sight" not in history.repeats


def test_r29_a_result_whose_parent_was_never_written(tmp_path: Path) -> None:
    """The nearest earlier row stands in for it, so that what came before stays in sight."""
    log = Log()
    log.read("t1", "a", X)
    log.call("t2", "Read", {"file_path": "a"}, parent="gone")
    log.result("t2", X, parent="gone too")
    history = imported(log.write(tmp_path / "s1.jsonl"))
    assert history.repeats["repeat-in-sight"] == ["t2"]
    assert history.column("select count(*) from boundary") == [0]


def test_r29_results_of_the_new_stretch_see_each_other(tmp_path: Path) -> None:
    log = Log()
    first = log.read("t1", "a", X)
    log.compact()
    log.call("t2", "Read", {"file_path": "b"}, parent=first)
    log.result("t2", Y)
    log.read("t3", "b", Y)
    log.read("t4", "a", X)
    history = imported(log.write(tmp_path / "s1.jsonl"))
    assert history.repeats["repeat-session"] == ["t3", "t4"]
    assert history.repeats["repeat-in-sight"] == ["t3"]


@pytest.mark.parametrize("first_kept", [None, 0, 99])
def test_r30_compaction_that_kept_nothing(tmp_path: Path, first_kept: int | None) -> None:
    items = [
        *docker_agent.read("r1", "a", X, 1),
        docker_agent.summary("s", **({} if first_kept is None else {"first_kept_entry": first_kept})),
        *docker_agent.read("r2", "a", X, 9),
    ]
    path = docker_agent.database(
        tmp_path / "session.db", docker_agent.NEWEST, docker_agent.session("s", items)
    )
    history = imported(path)
    assert history.repeats["repeat-session"] == ["r2"]
    assert "repeat-in-sight" not in history.repeats


def test_r30_compaction_that_kept_the_tail(tmp_path: Path) -> None:
    items = [
        *docker_agent.read("r1", "a", X, 1),
        *docker_agent.read("r2", "b", Y, 3),
        docker_agent.summary("s", first_kept_entry=2),
        *docker_agent.read("r3", "a", X, 9),
        *docker_agent.read("r4", "b", Y, 11),
    ]
    history = imported(docker_agent.export(tmp_path / "s.json", docker_agent.session("s", items)))
    assert history.repeats["repeat-session"] == ["r3", "r4"]
    assert history.repeats["repeat-in-sight"] == ["r4"]


def test_r31_duplicates_across_a_compaction(tmp_path: Path) -> None:
    log = Log()
    log.read("t1", "a", X)
    log.read("t2", "a", X)
    log.compact()
    log.read("t3", "a", X)
    history = imported(log.write(tmp_path / "s1.jsonl"))
    rules = history.rates.total.rules
    assert rules["repeat-session"].bytes == 600
    assert rules["repeat-in-sight"].bytes == 300
    repeats = {rule.name: rule.repeats.bytes for rule in build_report(history.store).rules}
    assert (repeats["repeat-in-sight"].part, repeats["repeat-session"].part) == (300, 600)
    assert repeats["repeat-in-sight"].whole == 900


# -- who sees what -------------------------------------------------------------------------------------------


def test_r03_first_read_of_a_subagent(tmp_path: Path) -> None:
    main, agent = Log(), subagent("a", start=60)
    main.read("t1", "a", X)
    agent.user("go")
    agent.read("t2", "a", X)
    main.write(tmp_path / "s1.jsonl")
    write_agent(agent, tmp_path)
    history = imported(tmp_path)
    # the same number of the turn in another context is another turn
    assert history.repeats == under(*POOLED, *IN_SESSION, calls=["t2"])


def test_r03_a_sidechain_inside_the_file(tmp_path: Path) -> None:
    log = Log()
    tip = log.read("t1", "a", X)
    log.sidechain("go")
    log.read("t2", "a", X)
    log.read("t3", "a", X)
    log.main_chain(tip)
    log.read("t4", "a", X)
    history = imported(log.write(tmp_path / "s1.jsonl"))
    assert history.repeats["repeat-session"] == ["t2", "t3", "t4"]
    assert history.repeats["repeat-in-sight"] == ["t3", "t4"]
    assert history.column("select kind from boundary") == []


def test_r04_siblings(tmp_path: Path) -> None:
    main, one, two = Log(), subagent("a", start=60), subagent("b", start=120)
    main.user("hi")
    one.read("t1", "f", X)
    two.read("t2", "f", X)
    main.write(tmp_path / "s1.jsonl")
    write_agent(one, tmp_path)
    write_agent(two, tmp_path)
    history = imported(tmp_path)
    assert history.repeats == under(*POOLED, *IN_SESSION, calls=["t2"])


def test_r05_the_parent_after_its_subagent(tmp_path: Path) -> None:
    main, agent = Log(start=120), subagent("a", start=60)
    agent.read("t1", "f", X)
    main.read("t2", "f", X)
    main.write(tmp_path / "s1.jsonl")
    write_agent(agent, tmp_path)
    history = imported(tmp_path)
    assert history.results == ["t1", "t2"]
    assert history.repeats == under(*POOLED, *IN_SESSION, calls=["t2"])


def test_r03_r05_a_docker_agent_sub_session(tmp_path: Path) -> None:
    """Parent, child, parent again: the child sees nothing of the parent, the parent nothing of the child."""
    inner = docker_agent.session("c", docker_agent.read("r2", "a", X, 11), second=10)
    items = [
        *docker_agent.read("r1", "a", X, 1),
        {"sub_session": inner},
        *docker_agent.read("r3", "a", X, 21),
    ]
    path = docker_agent.database(
        tmp_path / "session.db", docker_agent.NEWEST, docker_agent.session("s", items)
    )
    history = imported(path)
    assert history.results == ["r1", "r2", "r3"]
    assert history.repeats["repeat-session"] == ["r2", "r3"]
    assert history.repeats["repeat-in-sight"] == ["r3"]
    # to an engine the sub-session is a session of its own
    assert history.column("select ledger_session from emission order by seq") == ["s", "c", "s"]


def test_r05_what_only_a_docker_agent_sub_session_read(tmp_path: Path) -> None:
    inner = docker_agent.session("c", docker_agent.read("r1", "a", X, 1))
    items = [{"sub_session": inner}, *docker_agent.read("r2", "a", X, 21)]
    history = imported(docker_agent.export(tmp_path / "s.json", docker_agent.session("s", items)))
    assert history.repeats == under(*POOLED, *IN_SESSION, calls=["r2"])


# -- what is content, and what is the same -------------------------------------------------------------------


@pytest.mark.parametrize("stub", [UNCHANGED, WASTED])
def test_r06_the_hosts_own_stub_is_no_content(tmp_path: Path, stub: str) -> None:
    log = Log()
    log.read("t1", "a", "v1" * 150)
    log.read("t2", "a", stub)
    history = imported(log.write(tmp_path / "s1.jsonl"))
    assert history.classes == {"t1": "text", "t2": "stub"}
    assert history.repeats == {}


def test_r06_a_stub_is_no_anchor(tmp_path: Path) -> None:
    """Two stubs repeat nothing, a full text after them repeats the first one."""
    log = Log()
    log.read("t1", "a", X)
    for call in ("t2", "t3"):
        log.read(call, "a", UNCHANGED)
    log.read("t4", "a", X)
    history = imported(log.write(tmp_path / "s1.jsonl"))
    assert history.rates.total.by_class["stub"].results == 2
    assert history.repeats["bytes-session"] == history.repeats["repeat-in-sight"] == ["t4"]
    # a text that only speaks of the stub is content
    log.read("t5", "b", f"{UNCHANGED} So it says.")
    assert imported(log.write(tmp_path / "s1.jsonl")).classes["t5"] == "text"


def test_r06_an_elision_of_docker_agent_is_a_stub(tmp_path: Path) -> None:
    marker = (
        "[docker-agent] The read_file tool ran and returned output byte-for-byte identical to its earlier "
        "result for these same arguments in this session, so the 300-byte payload is not repeated here. "
        "Nothing has changed since you last saw it."
    )
    items = [*docker_agent.read("r1", "a", X, 1), *docker_agent.read("r2", "a", marker, 3)]
    history = imported(docker_agent.export(tmp_path / "s.json", docker_agent.session("s", items)))
    assert history.classes == {"r1": "text", "r2": "stub"}
    assert history.repeats == {}


def test_r07_a_b_a(tmp_path: Path) -> None:
    log = Log()
    for call, text in (("t1", X), ("t2", Y), ("t3", X)):
        log.read(call, "a", text)
    history = imported(log.write(tmp_path / "s1.jsonl"))
    assert history.repeats == {
        **under("call-pooled", "call-session", calls=["t2", "t3"]),
        **under("repeat-pooled", "bytes-session", "repeat-session", calls=["t3"]),
        **under("repeat-turn", "repeat-in-sight", calls=["t3"]),
        "changed": ["t2"],
    }


def test_r07_bytes_that_another_call_showed_are_not_new(tmp_path: Path) -> None:
    """`b` is as `a` was: nothing changed that the model had not seen, and nothing repeats the call."""
    log = Log()
    for call, path, text in (("t1", "a", X), ("t2", "b", Y), ("t3", "b", X)):
        log.read(call, path, text)
    history = imported(log.write(tmp_path / "s1.jsonl"))
    assert history.repeats == under("call-pooled", "call-session", "bytes-session", calls=["t3"])


def test_r08_ranges(tmp_path: Path) -> None:
    log = Log()
    for call, arguments in {
        "t1": {"file_path": "a", "offset": 1, "limit": 50},
        "t2": {"file_path": "a", "offset": 51, "limit": 50},
        "t3": {"file_path": "a"},
    }.items():
        log.call(call, "Read", arguments)
        log.result(call, X)
    history = imported(log.write(tmp_path / "s1.jsonl"))
    assert history.repeats == {"bytes-session": ["t2", "t3"]}
    assert rates(history.store, all_rules=True, key="normalised").total.rules["repeat-session"].results == 0
    # they are about the same file all the same
    assert history.column("select count(distinct target_sha64) from emission") == [1]


@pytest.mark.parametrize(
    ("errors", "repeats"),
    [
        ((True, True), {}),
        ((None, True), {}),
        # an error is no anchor, but it is an earlier call, and its bytes are not new the second time
        ((True, None), under("call-pooled", "call-session", calls=["t2"])),
    ],
)
def test_r09_errors(
    tmp_path: Path, errors: tuple[bool | None, bool | None], repeats: dict[str, list[str]]
) -> None:
    log = Log()
    for call, error in zip(("t1", "t2"), errors, strict=True):
        log.call(call, "Bash", {"command": "make"})
        log.result(call, "E" * 300, error=error)
    history = imported(log.write(tmp_path / "s1.jsonl"))
    total = history.rates.total
    assert (total.results.results, total.errors.results) == (2, sum(error is True for error in errors))
    assert history.repeats == repeats


def test_r09_errors_in_docker_agent(tmp_path: Path) -> None:
    items = [
        item
        for second, call in ((1, "r1"), (3, "r2"))
        for item in (
            docker_agent.assistant(second, (call, "read_file", '{"path":"a"}')),
            docker_agent.result(call, "E" * 300, second + 1, is_error=True),
        )
    ]
    history = imported(docker_agent.export(tmp_path / "s.json", docker_agent.session("s", items)))
    total = history.rates.total
    assert (total.results.results, total.errors.results) == (2, 2)
    assert history.repeats == {}


def test_r10_a_call_with_an_effect(tmp_path: Path) -> None:
    log = Log()
    for call in ("t1", "t2"):
        log.call(call, "Edit", {"file_path": "a", "old_string": "b", "new_string": "c"})
        log.result(call, "ok" * 150)
    history = imported(log.write(tmp_path / "s1.jsonl"))
    assert history.repeats["repeat-session"] == ["t2"]
    assert history.column("select distinct read_only from emission") == ["no"]


def test_r11_nobody_said_whether_it_is_read_only(tmp_path: Path) -> None:
    log = Log()
    for call in ("t1", "t2"):
        log.call(call, "mcp__x__get", {"id": 1})
        log.result(call, X)
    history = imported(log.write(tmp_path / "s1.jsonl"))
    assert history.repeats["repeat-session"] == ["t2"]
    assert history.store.query("select distinct read_only, provenance from emission") == [("unknown", "none")]


@pytest.mark.parametrize("spelling", ["read_only_hint", "readOnlyHint"])
@pytest.mark.parametrize("hint", [True, False])
def test_r12_the_hint_in_the_other_spelling(tmp_path: Path, spelling: str, *, hint: bool) -> None:
    definition = {"name": "get", "category": "x", "annotations": {spelling: hint}}
    call = docker_agent.assistant(1, ("r1", "get", "{}"), tool_definitions=[definition])
    items = [call, docker_agent.result("r1", X, 2)]
    history = imported(docker_agent.export(tmp_path / "s.json", docker_agent.session("s", items)))
    assert history.store.query("select read_only, provenance from emission") == [
        ("yes" if hint else "no", "hint")
    ]


def test_r13_read_only_but_never_the_same(tmp_path: Path) -> None:
    definitions = [docker_agent.definition("generate_id", "x")]
    items = [
        item
        for second, call, text in ((1, "r1", "a" * 300), (3, "r2", "b" * 300))
        for item in (
            docker_agent.assistant(second, (call, "generate_id", "{}"), tool_definitions=definitions),
            docker_agent.result(call, text, second + 1),
        )
    ]
    history = imported(docker_agent.export(tmp_path / "s.json", docker_agent.session("s", items)))
    assert history.repeats == under("call-pooled", "call-session", "changed", calls=["r2"])
    assert history.column("select distinct read_only from emission") == ["yes"]


def test_r15_placeholders_look_like_repeats(tmp_path: Path) -> None:
    log = Log()
    log.read("t1", "a", CLEARED)
    log.read("t2", "b", CLEARED)
    log.read("t3", "b", CLEARED)
    history = imported(log.write(tmp_path / "s1.jsonl"))
    assert set(history.classes.values()) == {"masked"}
    assert history.repeats == {}


@pytest.mark.parametrize(
    ("content", "klass"),
    [
        ("", "empty"),
        (" \n", "empty"),
        ("(Bash completed with no output)", "empty"),
        (CLEARED, "masked"),
        ("<persisted-output>\nOutput too large (4.8MB).", "spilled"),
        (
            [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}],
            "image",
        ),
    ],
)
def test_r15_what_is_no_text_repeats_nothing(tmp_path: Path, content: Any, klass: str) -> None:
    """It is an earlier call all the same: the text that comes after it is new."""
    log = Log()
    for call in ("t1", "t2"):
        log.call(call, "Bash", {"command": "make"})
        log.result(call, content)
    log.bash("t3", "make", X)
    history = imported(log.write(tmp_path / "s1.jsonl"))
    assert history.classes == {"t1": klass, "t2": klass, "t3": "text"}
    assert history.repeats == under("call-pooled", "call-session", "changed", calls=["t3"])


@pytest.mark.parametrize(
    ("shown", "klass"),
    [
        (f"<persisted-output>\nOutput too large (52.8KB).\n\n{X}\n</persisted-output>", "spilled"),
        (CLEARED, "masked"),
        (
            "Wasted call — file unchanged since your last Read. Refer to that earlier tool_result instead.",
            "stub",
        ),
    ],
)
def test_what_the_host_took_away_is_neither_a_repeat_nor_a_saving(
    tmp_path: Path, shown: str, klass: str
) -> None:
    """Sizes are those of what reached the model; nobody saves the text that the host had already left out."""
    log = Log()
    log.user("go")
    for call in ("t1", "t2"):
        log.call(call, "Read", {"file_path": "a"})
        log.result(call, shown, toolUseResult={"stdout": "x" * 54_000})
    history = imported(log.write(tmp_path / "s1.jsonl"))
    assert set(history.classes.values()) == {klass}
    assert history.column("select distinct bytes from emission") == [len(shown.encode())]
    assert history.repeats == {}
    for score in simulate(history.store, variants(["exact", "safe"])).scores:
        assert (score.elided.results, score.sound.net_tokens) == (0, 0)


def test_r17_two_reads_in_one_batch(tmp_path: Path) -> None:
    log = Log()
    calls = [log.call(call, "Read", {"file_path": "a"}, "m1") for call in ("t1", "t2")]
    for call, row in zip(("t1", "t2"), calls, strict=True):
        log.result(call, X, parent=row)
    history = imported(log.write(tmp_path / "s1.jsonl"))
    assert len(history.requests) == 1
    assert history.repeats == under(*POOLED, *IN_SESSION, "repeat-turn", "repeat-in-sight", calls=["t2"])


@pytest.mark.parametrize("chained", [True, False])
def test_r17_a_batch_is_in_sight_of_what_follows(tmp_path: Path, *, chained: bool) -> None:
    """Both results reach the model, also where the next row hangs on one of them alone."""
    log = Log()
    rows = [log.call(call, "Read", {"file_path": path}, "m1") for call, path in (("t1", "a"), ("t2", "b"))]
    log.result("t1", X, **({} if chained else {"parent": rows[0]}))
    log.result("t2", Y, **({} if chained else {"parent": rows[1]}))
    log.read("t3", "a", X)
    log.read("t4", "b", Y)
    history = imported(log.write(tmp_path / "s1.jsonl"))
    assert history.repeats["repeat-in-sight"] == ["t3", "t4"]


def test_r18_results_arrive_in_another_order_than_the_calls(tmp_path: Path) -> None:
    log = Log()
    log.call("t1", "Read", {"file_path": "a"}, "m1")
    log.call("t2", "Read", {"file_path": "b"}, "m1")
    log.result("t2", "y")
    log.result("t1", "x")
    history = imported(log.write(tmp_path / "s1.jsonl"))
    assert history.store.query("select call_id, ordinal, target, bytes from emission order by ordinal") == [
        ("t2", 0, "b", 1),
        ("t1", 1, "a", 1),
    ]


def test_r18_a_result_before_its_call(tmp_path: Path) -> None:
    log = Log()
    first = log.call("t1", "Read", {"file_path": "a"}, "m1")
    log.result("t2", Y, parent="u3")
    log.call("t2", "Read", {"file_path": "b"}, "m1", parent=first)
    log.result("t1", X, parent=first)
    log.read("t3", "b", Y)
    history = imported(log.write(tmp_path / "s1.jsonl"))
    assert history.store.query("select call_id, target from emission order by ordinal") == [
        ("t2", "b"),
        ("t1", "a"),
        ("t3", "b"),
    ]
    assert history.repeats["repeat-in-sight"] == ["t3"]


def test_r18_which_of_two_equal_calls_repeats_goes_by_arrival(tmp_path: Path) -> None:
    log = Log()
    log.call("t1", "Read", {"file_path": "a"}, "m1")
    log.call("t2", "Read", {"file_path": "a"}, "m1")
    log.result("t2", X)
    log.result("t1", X)
    history = imported(log.write(tmp_path / "s1.jsonl"))
    assert history.results == ["t2", "t1"]
    assert history.repeats["repeat-in-sight"] == ["t1"]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("1\tfoo\n", "1→foo\n"),
        ("ok 0.01s", "ok 0.02s"),
        ("foo", "foo\n"),
        ("foo\n", "foo\r\n"),
        ("foo", "\x1b[32mfoo\x1b[0m"),
        ("caf\u00e9", "cafe\u0301"),
    ],
)
def test_r19_same_content_other_form(tmp_path: Path, first: str, second: str) -> None:
    log = Log()
    log.read("t1", "a", first)
    log.read("t2", "a", second)
    history = imported(log.write(tmp_path / "s1.jsonl"))
    assert history.repeats == under("call-pooled", "call-session", "changed", calls=["t2"])


def test_r21_argument_order_and_spelling(tmp_path: Path) -> None:
    log = Log(cwd="/home/u/p")
    for call, arguments in {
        "t1": {"path": "a", "limit": 5},
        "t2": {"limit": 5, "path": "a"},
        "t3": {"path": "./a", "limit": 5},
    }.items():
        log.call(call, "mcp__x__read", arguments)
        log.result(call, X)
    history = imported(log.write(tmp_path / "s1.jsonl"))
    assert history.repeats["repeat-session"] == ["t2"]
    keys = history.store.query("select call_key, norm_key from emission order by ordinal")
    assert [one[0] == other[0] for one, other in pairwise(keys)] == [True, False]
    assert [one[1] == other[1] for one, other in pairwise(keys)] == [True, True]
    by_norm = rates(history.store, key="normalised").total.rules
    assert by_norm["repeat-session"].results == by_norm["repeat-in-sight"].results == 2


# -- turns ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("answered", [True, False])
def test_r22_session_end_at_every_turn(tmp_path: Path, *, answered: bool) -> None:
    """A message after a result is steering: it begins a turn, but ends no run of the host."""
    log = Log()
    log.user("read a")
    log.read("t1", "a", X)
    if answered:
        log.say("done", "m-done")
    log.user("again")
    log.read("t2", "a", X)
    history = imported(log.write(tmp_path / "s1.jsonl"))
    assert history.column("select turn from emission order by ordinal") == [1, 2]
    assert history.column("select is_steering from turn order by turn") == [False, not answered]
    assert history.repeats == under(*POOLED, *IN_SESSION, "repeat-in-sight", calls=["t2"])


@pytest.mark.parametrize("answered", [True, False])
def test_r22_in_docker_agent(tmp_path: Path, *, answered: bool) -> None:
    items = [
        docker_agent.user("read a", 0),
        *docker_agent.read("r1", "a", X, 1),
        *([docker_agent.assistant(3, content="done")] if answered else []),
        docker_agent.user("again", 4),
        *docker_agent.read("r2", "a", X, 5),
    ]
    history = imported(docker_agent.export(tmp_path / "s.json", docker_agent.session("s", items)))
    assert history.column("select is_steering from turn order by turn") == [False, not answered]
    assert history.repeats == under(*POOLED, *IN_SESSION, "repeat-in-sight", calls=["r2"])


@pytest.mark.parametrize(
    "text",
    [
        "[Request interrupted by user]",
        "<bash-input>ls</bash-input>",
        "<local-command-stdout>x</local-command-stdout>",
        "<task-notification>done</task-notification>",
        "<system-reminder>mind</system-reminder>",
    ],
)
def test_r22_what_the_person_did_not_say_begins_no_turn(tmp_path: Path, text: str) -> None:
    log = Log()
    log.user("read a")
    log.read("t1", "a", X)
    log.user(text)
    log.read("t2", "a", X)
    assert imported(log.write(tmp_path / "s1.jsonl")).repeats["repeat-turn"] == ["t2"]


# -- RTK -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "mode"),
    [
        ("git status", "exact"),
        ("ls x && git status", "mixed"),
        ("for i in 1 2; do git status; done", "no"),
    ],
)
def test_r25_compound_commands(tmp_path: Path, command: str, mode: str) -> None:
    """What RTK's hook can reach of a command is a property of the command, not of a threshold."""
    log = Log()
    log.bash("t1", command, X)
    log.bash("t2", command, X)
    history = imported(log.write(tmp_path / "s1.jsonl"))
    assert history.column("select distinct rtk_mode from emission") == [mode]
    assert history.repeats["repeat-in-sight"] == ["t2"]


def test_r26_same_command_line_other_place(tmp_path: Path) -> None:
    path = rtk.write_history(
        tmp_path / "history.db",
        commands=[
            rtk.Command(stamp(1), "ls", "rtk ls", 100, 75, 25, project_path="/home/u/a"),
            rtk.Command(stamp(2), "ls", "rtk ls", 100, 75, 25, project_path="/home/u/b"),
        ],
    )
    report = build_report(imported(path).store)
    assert report.rtk is not None
    bounds = {bound.name: (bound.commands.part, bound.commands.whole) for bound in report.rtk.bounds}
    assert bounds["M"] == (1, 2)
    assert bounds["B3"] == (0, 2)


def test_r26_same_call_in_another_project(tmp_path: Path) -> None:
    """In transcripts the pooled rules are upper bounds too: the session rules know the place."""
    paths = []
    for session, cwd in (("s1", "/home/u/a"), ("s2", "/home/u/b")):
        log = Log(session, cwd, start=60 * len(paths))
        log.bash(f"t-{session}", "ls", X)
        paths.append(log.write(tmp_path / f"{session}.jsonl"))
    history = imported(paths)
    assert history.repeats == under(*POOLED, calls=["t-s2"])
