"""The traps of claude-code.md section 11 that are not about sight, and the columns of its section 15."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from support.claude import Transcript, of, records, stamp

from dedupstats.model import (
    Class,
    Context,
    ContextKind,
    Emission,
    Entered,
    EnteredKind,
    FileCount,
    Ignored,
    Record,
    Request,
    Turn,
)
from dedupstats.sources.base import Names, hash64
from dedupstats.sources.calls import keys
from dedupstats.sources.claude_code.times import microseconds

if TYPE_CHECKING:
    from pathlib import Path

X = "x" * 300


def read(tmp_path: Path, transcript: Transcript, names: Names | None = None) -> list[Record]:
    return records(transcript.write(tmp_path / f"{transcript.session}.jsonl"), names)


def one_result(tmp_path: Path, tool: str, content: Any, *, error: bool | None = None) -> Emission:
    t = Transcript()
    t.user("hi")
    t.call("t1", tool, {"command": "make"})
    t.result("t1", content, error=error)
    (emission,) = of(Emission, read(tmp_path, t))
    return emission


# -- requests -------------------------------------------------------------------------------------


def test_one_message_over_several_rows(tmp_path: Path) -> None:
    """D01, D03: one request, each usage field's maximum, all of its calls."""
    t = Transcript()
    t.user("hi")
    t.assistant(
        [{"type": "thinking", "thinking": "hm", "signature": "s"}], "m1", usage=(10, 100, 50, 3), stop=None
    )
    t.assistant(
        [{"type": "thinking", "thinking": "", "signature": "s"}], "m1", usage=(10, 100, 50, 40), stop=None
    )
    t.say("Ä", "m1", usage=(10, 100, 50, 41), stop=None)
    t.call("t1", "Read", {"file_path": "a"}, "m1", usage=(10, 100, 50, 411), stop=None)
    t.result("t1", X)
    t.call("t2", "Read", {"file_path": "b"}, "m1", usage=(10, 100, 50, 412))
    names = Names()
    (request,) = of(Request, read(tmp_path, t, names))
    assert (request.input_tokens, request.cache_read_tokens, request.output_tokens) == (10, 50, 412)
    assert (request.cache_write_5m_tokens, request.cache_write_1h_tokens) == (100, 0)
    assert (request.calls, request.text_bytes, request.thinking_bytes, request.hidden_thinking) == (
        2,
        2,
        2,
        1,
    )
    assert request.tool_input_bytes == 2 * len('{"file_path":"a"}')
    assert (request.line, request.emissions_before, request.turn) == (2, 0, 1)
    assert request.output_known
    assert names.texts[request.stop_key or 0] == "tool_use"


def test_zero_usage_in_the_first_rows(tmp_path: Path) -> None:
    t = Transcript()
    t.say("a", "m1", usage=(0, 0, 0, 0))
    t.say("b", "m1", usage=(3765, 0, 0, 7))
    (request,) = of(Request, read(tmp_path, t))
    assert (request.input_tokens, request.output_tokens) == (3765, 7)


def test_placeholder_output(tmp_path: Path) -> None:
    t = Transcript()
    t.say("a long answer", "m1", usage=(10, 0, 0, 1), stop=None)
    (request,) = of(Request, read(tmp_path, t))
    assert (request.output_tokens, request.output_known) == (1, False)


@pytest.mark.parametrize(
    ("counts", "answer", "is_known"),
    [
        ((1, 1), "x" * 60, False),  # it never grew: the first count of a stream
        ((1, 10), "x" * 61, False),  # it grew, and is too small for what is visible
        ((1, 10), "x" * 60, True),
        ((10, 1), "x" * 6, False),
    ],
)
def test_output_that_grew_is_known(
    tmp_path: Path, counts: tuple[int, int], answer: str, *, is_known: bool
) -> None:
    """token-economics.md 1.2: without a stop reason, a count that grew to a sixth of the bytes or more."""
    t = Transcript()
    t.say("", "m1", usage=(10, 0, 0, counts[0]), stop=None)
    t.say(answer, "m1", usage=(10, 0, 0, counts[1]), stop=None)
    (request,) = of(Request, read(tmp_path, t))
    assert (request.output_tokens, request.output_known) == (max(counts), is_known)


def test_no_request_id(tmp_path: Path) -> None:
    """D02."""
    t = Transcript()
    for out in (3, 40, 412):
        t.say("x", "m1", usage=(10, 100, 50, out), requestId=...)
    (request,) = of(Request, read(tmp_path, t))
    assert request.output_tokens == 412


def test_equal_usage_is_no_proof(tmp_path: Path) -> None:
    """D20."""
    t = Transcript()
    t.say("a", "m1")
    t.say("b", "m2")
    assert len(of(Request, read(tmp_path, t))) == 2


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (None, (None, None, None, None, None)),
        ({"input_tokens": 0, "output_tokens": 0}, (None, None, None, None, None)),
        ({"input_tokens": 5, "output_tokens": 0}, (5, None, None, None, 0)),
        ({"input_tokens": 5, "cache_creation_input_tokens": 100}, (5, None, 100, 0, None)),
        (
            {
                "input_tokens": 5,
                "cache_creation_input_tokens": 100,
                "cache_creation": {"ephemeral_5m_input_tokens": 60},
            },
            (5, None, 100, 0, None),
        ),
        (
            {
                "input_tokens": 5,
                "cache_creation_input_tokens": 100,
                "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 100},
            },
            (5, None, 0, 100, None),
        ),
        ({"input_tokens": 5.0, "cache_creation": {"ephemeral_1h_input_tokens": 7}}, (5, None, None, 7, None)),
    ],
)
def test_usage_that_is_partly_missing(
    tmp_path: Path, usage: dict[str, Any] | None, expected: tuple[int | None, ...]
) -> None:
    """$01, $02, $14."""
    t = Transcript()
    t.say("a", "m1", usage=usage)
    (request,) = of(Request, read(tmp_path, t))
    assert request[12:17] == expected


def test_synthetic_messages_are_no_requests(tmp_path: Path) -> None:
    """$05: and the result keeps the model of its own call."""
    names = Names()
    t = Transcript()
    t.user("hi")
    call = t.call("t1", "Read", {"file_path": "a"}, "m1", model="claude-opus-4-5")
    t.say("API Error", model="<synthetic>", usage=(0, 0, 0, 0))
    t.rewind(call)
    t.result("t1", X)
    found = read(tmp_path, t, names)
    assert [r.native_id for r in of(Request, found)] == ["m1"]
    assert names.texts[of(Emission, found)[0].model_key or 0] == "claude-opus-4-5"
    assert "<synthetic>" not in names.texts.values()
    assert Ignored(str(tmp_path / "s1.jsonl"), "assistant/<synthetic>", 1) in found


def test_totals_of_a_subagent_in_its_parents_result_are_not_added(tmp_path: Path) -> None:
    """D08."""
    t = Transcript()
    t.call("t1", "Task", {"prompt": "p"}, "m1", usage=(10, 0, 0, 5))
    t.result("t1", "done", toolUseResult={"totalTokens": 200, "agentId": "a"})
    path = t.write(tmp_path / "s1.jsonl")
    sub = Transcript(agent="a", prefix="a")
    sub.user("p")
    sub.say("x", "m2", usage=(100, 0, 0, 0))
    sub.say("y", "m3", usage=(90, 0, 0, 10))
    sub.write(tmp_path / "s1" / "subagents" / "agent-a.jsonl")
    requests = of(Request, records(path))
    assert sum(r.input_tokens or 0 for r in requests) == 200
    assert sum(r.output_tokens or 0 for r in requests) == 15


# -- contexts -------------------------------------------------------------------------------------


def test_in_file_sidechains_are_contexts_of_their_own(tmp_path: Path) -> None:
    """D09; two of them interleave."""
    t = Transcript(version="1.0.31")
    t.user("hi")
    main = t.call("task", "Task", {"prompt": "p"}, "m1", usage=(10, 0, 0, 5))
    first = t.sidechain("one")
    second = t.sidechain("two")
    t.rewind(first)
    t.read("t1", "a", X, "m2")
    one = t.tip
    t.rewind(second)
    t.read("t2", "a", X, "m3")
    t.rewind(one)
    t.read("t3", "a", X, "m4")
    t.main_chain(main)
    t.result("task", "done")
    found = read(tmp_path, t)
    contexts = {c.context_key: c for c in of(Context, found)}
    assert [(c.native_id, c.kind) for c in contexts.values()] == [
        ("s1", ContextKind.MAIN),
        (first, ContextKind.AGENT),
        (second, ContextKind.AGENT),
    ]
    places = {e.call_id: (contexts[e.context_key].native_id, e.ordinal) for e in of(Emission, found)}
    assert places == {"t1": (first, 0), "t3": (first, 1), "t2": (second, 0), "task": ("s1", 0)}
    assert {r.native_id: r.is_sidechain for r in of(Request, found)} == {
        "m1": False,
        "m2": True,
        "m3": True,
        "m4": True,
    }
    assert {c.parent_key for c in contexts.values()} == {None, of(Emission, found)[0].context_key}


def test_who_started_a_nested_subagent(tmp_path: Path) -> None:
    t = Transcript()
    t.user("hi")
    t.call("t1", "Agent", {"prompt": "p"})
    t.result("t1", "done", toolUseResult={"agentId": "z"})
    path = t.write(tmp_path / "s1.jsonl")
    outer = Transcript(agent="z", prefix="z")
    outer.user("p", attributionAgent="general-purpose")
    outer.call("t2", "Agent", {"prompt": "q"})
    outer.result("t2", "done", toolUseResult={"agentId": "a"})
    outer.write(tmp_path / "s1" / "subagents" / "agent-z.jsonl")
    inner = Transcript(agent="a", prefix="a")
    inner.user("q")
    inner.write(tmp_path / "s1" / "subagents" / "agent-a.jsonl")
    contexts = {c.native_id: c for c in of(Context, records(path))}
    assert contexts["z"].parent_key == contexts["s1"].context_key
    assert contexts["a"].parent_key == contexts["z"].context_key
    assert contexts["z"].agent == "general-purpose"


def test_orphan_companion_folder(tmp_path: Path) -> None:
    sub = Transcript("0f0e0d0c-0000-4000-8000-000000000001", agent="a")
    sub.user("p")
    sub.read("t1", "a", X)
    path = sub.write(tmp_path / sub.session / "subagents" / "agent-a.jsonl")
    (context,) = of(Context, records(path))
    assert (context.session_id, context.parent_key, context.kind) == (sub.session, None, ContextKind.AGENT)


@pytest.mark.parametrize("name", ["acompact-64e1f1", "aside_question-ac9e", "aprompt_suggestion-1"])
def test_side_requests_give_requests_only(tmp_path: Path, name: str) -> None:
    side = Transcript(agent=name, prefix="a")
    side.user("hi")
    side.read("t1", "a", X, "m1")
    side.user("Your task is to create a detailed summary")
    side.say("summary", "m2")
    side.attachment("date_change", newDate="2026-03-02")
    path = side.write(tmp_path / "s1" / "subagents" / f"agent-{name}.jsonl")
    found = records(path)
    assert {type(record) for record in found} == {Request, Ignored, FileCount, Context}
    assert [r.native_id for r in of(Request, found)] == ["m1", "m2"]
    assert of(Context, found)[0].kind is ContextKind.SIDE
    assert {(i.type, i.records) for i in of(Ignored, found)} == {
        ("side_request/tool_result", 1),
        ("side_request/user", 2),
        ("side_request/attachment", 1),
    }


def _lost(t: Transcript) -> None:
    """A subagent's rows as copies in its parent."""
    inner = Transcript(agent="a", prefix="a")
    inner.user("p")
    inner.read("t1", "a", X, "m1")
    inner.read("t2", "a", X, "m2")
    for row in inner.rows:
        assert isinstance(row, dict)
        kept = {name: row[name] for name in ("type", "message", "uuid", "timestamp")}
        t.agent_progress("a", kept)


def test_progress_copies_of_a_subagent_that_has_its_file(tmp_path: Path) -> None:
    t = Transcript()
    t.user("hi")
    _lost(t)
    path = t.write(tmp_path / "s1.jsonl")
    sub = Transcript(agent="a", prefix="a")
    sub.user("p")
    sub.write(tmp_path / "s1" / "subagents" / "agent-a.jsonl")
    found = records(path)
    assert of(Emission, found) == []
    assert Ignored(str(path), "progress/agent_progress", 5) in found


def test_progress_copies_of_a_subagent_whose_file_is_gone(tmp_path: Path) -> None:
    t = Transcript()
    t.user("hi")
    _lost(t)
    t.read("t3", "a", X)
    found = read(tmp_path, t)
    contexts = {c.context_key: c.native_id for c in of(Context, found)}
    assert [(contexts[e.context_key], e.call_id, e.ordinal) for e in of(Emission, found)] == [
        ("s1", "t3", 0),
        ("a", "t1", 0),
        ("a", "t2", 1),
    ]
    (count,) = of(FileCount, found)
    assert (count.used, count.ignored) == (8, 0)


# -- results --------------------------------------------------------------------------------------


def test_the_columns_of_a_result(tmp_path: Path) -> None:
    names = Names()
    t = Transcript()
    t.user("hi")
    t.call("t1", "Bash", {"command": "git status"}, "m1", forkedFrom={"sessionId": "s0", "messageUuid": "u"})
    t.result("t1", "ok 1\nü", forkedFrom={"sessionId": "s0", "messageUuid": "u"})
    (e,) = of(Emission, read(tmp_path, t, names))
    call = keys("Bash", '{"command":"git status"}', "/home/u/p")
    assert (e.call_key, e.args_sha64, e.norm_key) == call
    assert e.copy_key == hash64("claude_code", "t1", str(call.call_key))
    assert e.request_key == hash64("claude_code", "m1")
    assert (e.line, e.at, e.turn, e.is_fork, e.is_home, e.is_return) == (
        3,
        microseconds(stamp(3)),
        1,
        True,
        True,
        False,
    )
    assert names.tools[e.tool_key][:4] == ("Bash", None, "unknown", "table")
    assert (e.target, e.shell_reads, e.rtk_mode, e.rtk_identity_bytes) == (
        "git status",
        True,
        "exact",
        len("git status"),
    )
    assert (e.bytes, e.chars, e.lines, e.letters, e.digits, e.newlines, e.other_ascii, e.non_ascii) == (
        7,
        6,
        2,
        2,
        1,
        1,
        0,
        2,
    )


@pytest.mark.parametrize(
    ("tool", "arguments", "target", "expected"),
    [
        ("Read", {"file_path": "a"}, "a", ("filesystem", "yes", "table")),
        ("mcp__acp__Read", {"file_path": "a"}, "a", ("filesystem", "yes", "table")),
        ("Grep", {"pattern": "p", "path": "d"}, "p d", ("filesystem", "yes", "table")),
        ("Glob", {"pattern": "*.py"}, "*.py", ("filesystem", "yes", "table")),
        ("Edit", {"file_path": "a", "old_string": "x"}, "a", (None, "no", "table")),
        ("NotebookEdit", {"notebook_path": "n"}, "n", (None, "no", "table")),
        ("NotebookRead", {"notebook_path": "n"}, None, ("filesystem", "yes", "table")),
        ("WebFetch", {"url": "u", "prompt": "p"}, "u", (None, "yes", "table")),
        ("WebSearch", {"query": "q"}, "q", (None, "yes", "table")),
        ("BashOutput", {"bash_id": "1"}, None, (None, "unknown", "table")),
        ("mcp__x__get", {"path": "a"}, None, (None, "unknown", "none")),
        ("Read", {"file_path": 5}, None, ("filesystem", "yes", "table")),
    ],
)
def test_tools_and_targets(
    tmp_path: Path, tool: str, arguments: dict[str, Any], target: str | None, expected: tuple[str | None, ...]
) -> None:
    names = Names()
    t = Transcript()
    t.user("hi")
    t.call("t1", tool, arguments)
    t.result("t1", X)
    (e,) = of(Emission, read(tmp_path, t, names))
    assert e.target == target
    assert names.tools[e.tool_key][1:4] == expected
    assert (e.shell_reads, e.rtk_mode) == (None, None)


@pytest.mark.parametrize(
    ("tool", "content", "expected"),
    [
        (
            "Read",
            (
                "File unchanged since last read. The content from the earlier Read tool_result in this"
                " conversation is still current — refer to that instead of re-reading."
            ),
            Class.STUB,
        ),
        (
            "Read",
            "Wasted call — file unchanged since your last Read. Refer to that earlier tool_result instead.",
            Class.STUB,
        ),
        ("Read", "Wasted call — file unchanged since your last Read.", Class.TEXT),
        ("Bash", "[Old tool result content cleared]", Class.MASKED),
        ("Bash", "<persisted-output>\nOutput too large (4.8MB). Full output saved to: /x\n", Class.SPILLED),
        ("Bash", "", Class.EMPTY),
        ("Bash", " \n", Class.EMPTY),
        ("Bash", "(Bash completed with no output)", Class.EMPTY),
        ("Bash", "a\n\n... [102 lines truncated] ...\n\nb", Class.TRUNCATED),
        ("PowerShell", "... [600615 characters truncated] ...", Class.TRUNCATED),
        ("Bash", "see ... [102 lines truncated] ... here", Class.TEXT),
        ("Read", "... [102 lines truncated] ...", Class.TEXT),
        (
            "Grep",
            "a\n(Results are truncated. Consider using a more specific path or pattern.)",
            Class.TRUNCATED,
        ),
        ("Grep", "(Results are truncated. Consider)\nb", Class.TEXT),
        ("Read", "1\ta\n[Truncated: PARTIAL view of 3]", Class.TRUNCATED),
        ("Read", "1\ta [Truncated: PARTIAL view of 3]", Class.TEXT),
        ("Read", [{"type": "document", "source": {}}], Class.IMAGE),
        ("Read", "     1→a", Class.TEXT),
    ],
)
def test_classes(tmp_path: Path, tool: str, content: Any, expected: Class) -> None:
    assert one_result(tmp_path, tool, content).klass is expected


@pytest.mark.parametrize(
    ("text", "error", "expected"),
    [
        ("The user doesn't want to proceed with this tool use.", True, True),
        ("The user doesn't want to proceed with this tool use.", False, False),
        ("Sibling tool call errored", True, True),
        ("<tool_use_error>Cancelled: parallel tool call Bash errored</tool_use_error>", True, True),
        ("<tool_use_error>Error: No such tool available: X</tool_use_error>", True, True),
        ("<tool_use_error>File has not been read yet.</tool_use_error>", True, False),
        ("Bash operation blocked by hook:\nno", True, True),
        ("x" * 80 + "blocked by hook", True, False),
        ("Exit code 1\nno", True, False),
    ],
)
def test_errors_without_a_run(tmp_path: Path, text: str, error: bool, expected: bool) -> None:  # noqa: FBT001
    emission = one_result(tmp_path, "Bash", text, error=error)
    assert (emission.is_error, emission.did_not_run, emission.klass) == (error, expected, Class.TEXT)


def test_a_result_without_a_call(tmp_path: Path) -> None:
    names = Names()
    t = Transcript()
    t.user("hi")
    t.result("t0", X)
    (e,) = of(Emission, read(tmp_path, t, names))
    assert (e.call_key, e.args_sha64, e.norm_key, e.request_key, e.model_key) == (None,) * 5
    assert names.tools[e.tool_key][0] == "(no call in this file)"
    assert e.copy_key == hash64("claude_code", "t0")


def test_a_second_result_of_one_call_is_ignored(tmp_path: Path) -> None:
    t = Transcript()
    t.user("hi")
    t.read("t1", "a", X)
    t.result("t1", "again")
    found = read(tmp_path, t)
    assert len(of(Emission, found)) == 1
    assert [(i.type, i.records) for i in of(Ignored, found)] == [("user/second result of a call", 1)]


def test_rows_written_twice_are_copies(tmp_path: Path) -> None:
    t = Transcript()
    t.user("hi")
    t.read("t1", "a", X)
    t.system("turn_duration")
    for row in list(t.rows):
        t.raw(row)
    found = read(tmp_path, t)
    (count,) = of(FileCount, found)
    assert (count.used, count.copies, count.ignored) == (3, 3, 2)
    assert len(of(Emission, found)) == len(of(Request, found)) == len(of(Turn, found)) == 1


def test_results_in_another_order_than_their_calls(tmp_path: Path) -> None:
    """R17, R18: ordinals by arrival, each paired by id."""
    t = Transcript()
    t.user("hi")
    first = t.call("t1", "Read", {"file_path": "a"}, "m1")
    second = t.call("t2", "Read", {"file_path": "b"}, "m1")
    t.rewind(second)
    t.result("t2", "y")
    t.rewind(first)
    t.result("t1", "x")
    assert [(e.ordinal, e.call_id, e.target) for e in of(Emission, read(tmp_path, t))] == [
        (0, "t2", "b"),
        (1, "t1", "a"),
    ]


def test_rtk_behind_the_hook(tmp_path: Path) -> None:
    """P19: the call keeps the original command; the attachment may stand after the result."""
    answer = json.dumps({"hookSpecificOutput": {"updatedInput": {"command": "rtk git status"}}})
    hook = {
        "hookName": "PreToolUse:Bash",
        "hookEvent": "PreToolUse",
        "command": "rtk hook claude",
        "content": "",
    }
    t = Transcript()
    t.user("hi")
    for number in range(4):
        t.call(f"t{number}", "Bash", {"command": "git status"})
        t.result(f"t{number}", X)
    t.attachment("hook_success", toolUseID="t0", stdout=answer, **hook)
    t.attachment("hook_success", toolUseID="t1", stdout="", **hook)
    t.attachment("hook_success", toolUseID="t2", stdout='{"updatedInput"', **hook)
    t.attachment("hook_success", toolUseID="t3", stdout=answer, **{**hook, "hookEvent": "PostToolUse"})
    assert [e.rtk_ran for e in of(Emission, read(tmp_path, t))] == [True, False, False, False]


# -- texts and turns ------------------------------------------------------------------------------


def test_what_begins_a_turn(tmp_path: Path) -> None:
    names = Names()
    t = Transcript()
    t.user("hi")
    t.read("t1", "a", X)
    t.user("wait, look at b too")
    t.read("t2", "b", X)
    t.user([{"type": "text", "text": "[Request interrupted by user]"}])
    t.user("go on")
    t.meta("Base directory for this skill")
    t.user("<command-name>/model</command-name>")
    t.user("<local-command-stdout>Set model</local-command-stdout>")
    t.user("<bash-input>ls</bash-input>")
    t.user("<task-notification>done</task-notification>")
    t.user("<system-reminder>x</system-reminder>")
    t.user("[SUGGESTION MODE: suggest]")
    t.say("done")
    t.user("<command-message>review</command-message>\n<command-name>/review</command-name>")
    t.read("t3", "c", X)
    t.meta("Caveat: The messages below were generated")
    t.user("<command-name>/cost</command-name>")
    t.user("still there?")
    found = read(tmp_path, t, names)
    assert [(turn.line, turn.emissions_before, turn.is_steering) for turn in of(Turn, found)] == [
        (1, 0, False),
        (4, 1, True),
        (8, 2, False),
        (17, 2, False),
        (22, 3, True),
    ]
    assert [e.turn for e in of(Emission, found)] == [1, 2, 4]
    kinds = [names.texts[entered.type_key] for entered in of(Entered, found)]
    assert kinds == [
        "prompt",
        "prompt",
        "interrupt",
        "prompt",
        "meta",
        "local_command",
        "local_command",
        "bash",
        "task_notification",
        "system_reminder",
        "suggestion",
        "prompt",
        "meta",
        "local_command",
        "prompt",
    ]


def test_attachments_and_restored_files(tmp_path: Path) -> None:
    names = Names()
    t = Transcript()
    t.user("hi")
    t.compact(summary="ab\n1")
    t.attachment(
        "file", filename="/a", content={"type": "text", "file": {"filePath": "/a", "content": "abc"}}
    )
    t.attachment("nested_memory", path="/m", content={"path": "/m", "type": "Project", "content": "mem"})
    t.attachment("skill_listing", content="- x", names=["x"], skillCount=1)
    t.attachment("deferred_tools_delta", addedNames=["A"], addedLines=["A: b", "C"])
    t.attachment("zz_new", text="t", deep=[{"type": "x", "y": ["z"]}])
    t.attachment(
        "hook_success", content="", stdout="not shown", command="c", toolUseID="t1", hookEvent="Stop"
    )
    t.raw('{"type":"attachment","uuid":"odd","parentUuid":null,"sessionId":"s1","attachment":5}')
    entered = of(Entered, read(tmp_path, t, names))
    assert [(e.kind, names.texts[e.type_key], e.bytes) for e in entered] == [
        (EnteredKind.USER, "prompt", 2),
        (EnteredKind.SUMMARY, "summary", 4),
        (EnteredKind.ATTACHMENT, "file", 3),
        (EnteredKind.ATTACHMENT, "nested_memory", 3),
        (EnteredKind.ATTACHMENT, "skill_listing", 3),
        (EnteredKind.ATTACHMENT, "deferred_tools_delta", 5),
        (EnteredKind.ATTACHMENT, "zz_new", 2),
        (EnteredKind.ATTACHMENT, "hook_success", 0),
        (EnteredKind.ATTACHMENT, "(no type)", 0),
    ]
    twin = Transcript("s2")
    twin.user("hi")
    twin.read("t1", "/a", "abc")
    (emission,) = of(Emission, read(tmp_path, twin))
    assert (entered[2].sha256, entered[2].target_sha64) == (emission.sha256, emission.target_sha64)
    assert entered[4].sha256 is None
