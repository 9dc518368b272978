"""docker-agent: what the messages of a session become."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

import pytest
from support.docker_agent import (
    JSON,
    NEWEST,
    assistant,
    change,
    database,
    definition,
    export,
    item,
    micros,
    of,
    read,
    records,
    result,
    session,
    summary,
    user,
)

from dedupstats.model import (
    Class,
    Context,
    Emission,
    Entered,
    EnteredKind,
    Ignored,
    Provenance,
    ReadOnly,
    Record,
    Request,
    Turn,
)
from dedupstats.sources.base import Names, Reading
from dedupstats.sources.calls import keys
from dedupstats.sources.measure import sha64

if TYPE_CHECKING:
    from pathlib import Path

USAGE = {"input_tokens": 5, "output_tokens": 7, "cached_input_tokens": 11, "cached_write_tokens": 13}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "session.json"


def read_items(path: Path, items: list[JSON], reading: Reading | None = None) -> list[Record]:
    return records(export(path, session("s", items)), reading)


def emissions(path: Path, items: list[JSON]) -> list[Emission]:
    return of(read_items(path, items), Emission)


# ------------------------------------------------------------------------------
# Calls and tools


def test_a_result_belongs_to_the_nearest_call_before_it(path: Path) -> None:
    """Ids may recur; the results of a batch stand in the order in which they were ready."""
    found = emissions(
        path,
        [
            assistant(1, ("a", "read_file", '{"path":"1"}'), ("b", "read_file", '{"path":"2"}')),
            result("b", "two", 2),
            result("a", "one", 3),
            assistant(4, ("a", "read_file", '{"path":"3"}')),
            result("a", "three", 5),
        ],
    )
    assert [e.target for e in found] == ["2", "1", "3"]
    assert [e.ordinal for e in found] == [0, 1, 2]
    assert [e.call_key for e in found] == [
        keys("read_file", f'{{"path":"{n}"}}', "/work").call_key for n in (2, 1, 3)
    ]
    assert found[0].request_key == found[1].request_key != found[2].request_key


def test_a_result_without_a_call_equals_no_call(path: Path) -> None:
    reading = Reading(Names())
    (found,) = of(read_items(path, [result("gone", "x", 1)], reading), Emission)
    assert (found.call_key, found.args_sha64, found.norm_key, found.request_key) == (None,) * 4
    assert reading.names.tools[found.tool_key][0] == "(no call in this file)"


def test_arguments_are_the_models_own_string(path: Path) -> None:
    given = ['{ "path" : "x" }', "", "{broken", '{"limit":10.0}']
    items: list[JSON] = []
    for n, text in enumerate(given):
        items += [assistant(2 * n, (f"c{n}", "read_file", text)), result(f"c{n}", "x", 2 * n + 1)]
    found = emissions(path, items)
    wanted = [keys("read_file", text, "/work") for text in given]
    assert [(e.call_key, e.args_sha64, e.norm_key) for e in found] == [tuple(w) for w in wanted]


def test_arguments_that_are_no_string_are_taken_as_their_json(path: Path) -> None:
    message = assistant(1, ("c", "read_file", "{}"))
    message["message"]["message"]["tool_calls"][0]["function"]["arguments"] = {"path": "x"}
    (found,) = emissions(path, [message, result("c", "x", 2)])
    assert found.call_key == keys("read_file", '{"path":"x"}', "/work").call_key


@pytest.mark.parametrize(
    ("definitions", "expected"),
    [
        ([definition("t", "git")], ("git", ReadOnly.YES, Provenance.HINT)),
        ([definition("t", "git", reads=False)], ("git", ReadOnly.NO, Provenance.HINT)),
        ([{"name": "t", "annotations": {"read_only_hint": True}}], (None, ReadOnly.YES, Provenance.HINT)),
        ([{"name": "t", "readOnlyHint": 1}], (None, ReadOnly.YES, Provenance.HINT)),
        ([{"name": "t", "annotations": {"readOnlyHint": "true"}}], (None, ReadOnly.YES, Provenance.HINT)),
        ([{"name": "t", "annotations": {"readOnlyHint": "false"}}], (None, ReadOnly.NO, Provenance.HINT)),
        ([{"name": "t", "category": "", "annotations": None}], (None, ReadOnly.NO, Provenance.HINT)),
        ([definition("other")], (None, ReadOnly.UNKNOWN, Provenance.NONE)),
        ([3, {"name": 4}], (None, ReadOnly.UNKNOWN, Provenance.NONE)),
        (None, (None, ReadOnly.UNKNOWN, Provenance.NONE)),
    ],
)
def test_hints_come_from_the_message_in_either_spelling(path: Path, definitions: Any, expected: Any) -> None:
    """Fault case R12."""
    reading = Reading(Names())
    items = [assistant(1, ("c", "t", "{}"), tool_definitions=definitions), result("c", "x", 2)]
    (found,) = of(read_items(path, items, reading), Emission)
    assert reading.names.tools[found.tool_key][1:4] == expected


@pytest.mark.parametrize(
    ("tool", "category", "read_only"),
    [
        ("read_file", "filesystem", ReadOnly.YES),
        ("write_file", "filesystem", ReadOnly.NO),
        ("git_log", "git", ReadOnly.YES),
        ("update_todos", "todo", ReadOnly.YES),
        ("shell", "shell", ReadOnly.NO),
    ],
)
def test_the_table_speaks_where_the_message_has_no_definitions(
    path: Path, tool: str, category: str, read_only: ReadOnly
) -> None:
    reading = Reading(Names())
    items = [assistant(1, ("c", tool, "{}"), tool_definitions=None), result("c", "x", 2)]
    (found,) = of(read_items(path, items, reading), Emission)
    assert reading.names.tools[found.tool_key] == (tool, category, read_only, Provenance.TABLE, len(tool))


@pytest.mark.parametrize(
    ("arguments", "target"),
    [
        ({"path": "a", "cmd": "b"}, "a"),
        ({"paths": ["a", "b", 3]}, "a b"),
        ({"path": "", "cmd": "ls"}, "ls"),
        ({"query": "x"}, None),
        (["path"], None),
    ],
)
def test_targets(path: Path, arguments: Any, target: str | None) -> None:
    items = [assistant(1, ("c", "t", json.dumps(arguments))), result("c", "x", 2)]
    (found,) = emissions(path, items)
    assert found.target == target
    assert found.target_sha64 == (None if target is None else sha64(target.encode()))
    (bare,) = of(read_items(path, items, Reading(Names(), keep_targets=False)), Emission)
    assert (bare.target, bare.target_sha64) == (None, found.target_sha64)


def test_only_the_shell_has_commands_that_may_only_read(path: Path) -> None:
    items: list[JSON] = []
    shell = [definition("shell", "shell", reads=False)]
    mine = [definition("shell", "mcp", reads=False)]
    for n, (tool, text, definitions) in enumerate(
        [
            ("shell", '{"cmd":"cat a.txt"}', shell),
            ("shell", '{"cmd":"rm a.txt"}', shell),
            ("shell", "{}", shell),
            ("shell", '{"cmd":"cat a.txt"}', mine),
            ("run_background_job", '{"cmd":"cat a.txt"}', None),
        ]
    ):
        items += [
            assistant(2 * n, (f"c{n}", tool, text), tool_definitions=definitions),
            result(f"c{n}", "x", n),
        ]
    assert [e.shell_reads for e in emissions(path, items)] == [True, False, False, None, None]


# ------------------------------------------------------------------------------
# Shown text


def marker(tool: str, size: int) -> str:
    """The text of docker-agent.md section 1.3."""
    return (
        f"[docker-agent] The {tool} tool ran and returned output byte-for-byte identical to its earlier "
        f"result for these same arguments in this session, so the {size}-byte payload is not repeated here. "
        "Nothing has changed since you last saw it."
    )


NOTICE = (
    "Tool call result was too large (180000 bytes; limit 51200 bytes). "
    "The full result is available in a file: "
)


@pytest.mark.parametrize(
    ("text", "klass"),
    [
        ("plain", Class.TEXT),
        (marker("read_file", 3000), Class.STUB),
        (marker("read_file", 3000) + "\n", Class.TEXT),
        ("as it said: " + marker("read_file", 3000), Class.TEXT),
        (NOTICE + "/t/tool-result-1.txt\n\nShowing", Class.SPILLED),
        ("\n" + NOTICE, Class.TEXT),
        ("(no output)", Class.EMPTY),
        ("no output", Class.EMPTY),
        (" \n", Class.EMPTY),
        ("", Class.EMPTY),
        ("no output at all", Class.TEXT),
    ],
)
def test_classes(path: Path, text: str, klass: Class) -> None:
    (found,) = emissions(path, [result("c", text, 1)])
    assert found.klass is klass
    assert (found.bytes, found.sha256) == (len(text.encode()), hashlib.sha256(text.encode()).digest())


def test_an_image_beside_the_text_takes_part_in_the_hash_alone(path: Path) -> None:
    def with_image(data: str, second: int) -> JSON:
        image = {"type": "image_url", "image_url": {"url": data, "detail": "auto"}}
        blocks = [{"type": "text", "text": "same"}, image]
        return result("c", "same", second, multi_content=blocks)

    first, second = emissions(path, [with_image("data:1", 1), with_image("data:2", 2)])
    block = '[{"image_url":{"detail":"auto","url":"data:1"},"type":"image_url"}]'
    assert first.sha256 == hashlib.sha256(b"same\0" + block.encode()).digest() != second.sha256
    assert (first.klass, first.bytes, first.chars) == (Class.IMAGE, 4, 4)


@pytest.mark.parametrize(
    ("blocks", "text", "klass"),
    [
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "ab", Class.TEXT),
        ([{"type": "document", "document": {"x": 1}}], "given", Class.IMAGE),
        ([{"type": "hologram"}, 3], "given", Class.TEXT),
        ([{"type": "text", "text": None}], "", Class.EMPTY),
        ([], "given", Class.TEXT),
        ("broken", "given", Class.TEXT),
    ],
)
def test_blocks(path: Path, blocks: Any, text: str, klass: Class) -> None:
    items = [result("c", "given", 1, multi_content=blocks)]
    (found,) = of(read_items(path, items, Reading(Names(), keep_content=True)), Emission)
    assert (found.content, found.klass) == (text, klass)


def test_lone_surrogates_count_three_bytes(path: Path) -> None:
    """Fault case X12."""
    items = [*read("c\ud83d", "a\ud83d", "a\ud83d", 1), *read("d", "a\ud83d", "a\ud83d", 3)]
    for file in (
        export(path, session("s", items)),
        database(path.with_suffix(".db"), NEWEST, session("s", items)),
    ):
        found = of(records(file, Reading(Names(), keep_content=True)), Emission)
        assert [(e.bytes, e.content, e.target) for e in found] == [(4, "a\\ud83d", "a\\ud83d")] * 2
        assert found[0].sha256 == found[1].sha256 == hashlib.sha256(b"a\xed\xa0\xbd").digest()
        assert found[0].call_key == found[1].call_key
        assert found[0].call_id == "c\\ud83d"


# ------------------------------------------------------------------------------
# Errors


@pytest.mark.parametrize(
    ("text", "ran"),
    [
        ("Tool 'x' is not available. You can only use the tools provided to you.", False),
        ("Tool 'x' is denied by permissions configuration.", False),
        ("Tool 'x' requires user confirmation but the session is non-interactive.", False),
        ("Tool call blocked by hook: no", False),
        ("The user rejected the tool call.", False),
        ("The user rejected the tool call. Reason: not now", False),
        ("The tool call was rejected by a pre_tool_use hook. Reason: no", False),
        ("The tool call was rejected by a permission_request hook.", False),
        ("The tool call was canceled by the user.", False),
        (
            "The tool call was canceled because another tool call in the same batch was canceled by …",
            False,
        ),
        ("The tool call was skipped because a post_tool_use hook signalled run termination.", False),
        ("Error calling tool: open x: no such file or directory", True),
        ("grep: The user rejected the tool call.", True),
    ],
)
def test_errors_of_the_host_are_told_from_failures_of_a_tool(path: Path, text: str, *, ran: bool) -> None:
    """docker-agent.md section 0.3: only the first kind reaches an engine as an error."""
    failed, fine = emissions(path, [result("c", text, 1, is_error=True), result("d", text, 2)])
    assert (failed.is_error, failed.did_not_run) == (True, not ran)
    assert (fine.is_error, fine.did_not_run) == (False, False)


@pytest.mark.parametrize(
    ("value", "flag"), [(True, True), (1, True), ("true", True), ("0", False), (0, False), (None, False)]
)
def test_flags_may_be_numbers_or_text(path: Path, value: Any, *, flag: bool) -> None:
    found = read_items(path, [result("c", "x", 1, is_error=value), user("hi", 2, implicit=value)])
    assert of(found, Emission)[0].is_error is flag
    assert (of(found, Turn) == []) is flag


# ------------------------------------------------------------------------------
# Requests


def test_a_request_has_the_messages_usage_and_sizes(path: Path) -> None:
    reading = Reading(Names())
    message = assistant(
        3,
        ("c", "read_file", '{"path":"é"}'),
        ("d", "read_file", "{}"),
        content="ab",
        reasoning_content="xyz",
        thinking_signature="s",
        usage=USAGE | {"reasoning_tokens": 2},
        model="m/1",
        cost=0.25,
        finish_reason="tool_calls",
    )
    found = read_items(path, [user("go", 1), message, result("c", "x", 4)], reading)
    (request,) = of(found, Request)
    assert (request.input_tokens, request.output_tokens, request.output_known) == (5, 7, True)
    assert (request.cache_read_tokens, request.cache_write_5m_tokens, request.cache_write_1h_tokens) == (
        11,
        13,
        0,
    )
    assert (request.text_bytes, request.thinking_bytes, request.tool_input_bytes) == (2, 3, 15)
    assert (request.calls, request.hidden_thinking, request.cost_usd) == (2, 0, 0.25)
    assert (request.at, request.clock, request.turn, request.emissions_before) == (micros(3), micros(3), 1, 0)
    names = reading.names.texts
    assert request.model_key is not None
    assert request.stop_key is not None
    assert (names[request.model_key], names[request.stop_key]) == ("m/1", "tool_calls")
    (emission,) = of(found, Emission)
    assert (emission.request_key, emission.model_key) == (request.request_key, request.model_key)
    assert names[emission.ledger_key or 0] == "s"


def test_a_partial_message_has_no_usage(path: Path) -> None:
    """A killed process leaves what was streamed so far (docker-agent.md section 3.7)."""
    partial = item({"role": "assistant", "content": "I'll", "thought_signature": "s"})
    found = of(read_items(path, [user("go", 1), partial, partial]), Request)
    assert [(r.at, r.clock, r.input_tokens, r.output_known, r.cost_usd) for r in found] == [
        (None, micros(1), None, False, None)
    ] * 2
    assert [r.hidden_thinking for r in found] == [1, 1]
    assert found[0].request_key != found[1].request_key


@pytest.mark.parametrize(
    ("usage", "cost", "tokens", "price"),
    [
        ({}, 0, (0, 0), None),
        ({"input_tokens": "5", "output_tokens": -1}, "1", (None, None), None),
        ({"input_tokens": True, "output_tokens": 1 << 63}, True, (None, None), None),
        ([5], -1, (None, None), None),
        ({"input_tokens": 5, "output_tokens": 7}, 2, (5, 7), 2.0),
    ],
)
def test_senseless_usage_is_unknown(
    path: Path, usage: Any, cost: Any, tokens: Any, price: float | None
) -> None:
    (found,) = of(read_items(path, [assistant(1, usage=usage, cost=cost)]), Request)
    assert ((found.input_tokens, found.output_tokens), found.cost_usd) == (tokens, price)


def test_a_summary_is_a_request_of_its_own(path: Path) -> None:
    items = [
        assistant(1, usage=USAGE, cost=0.5),
        summary("so far", usage=USAGE, cost=0.25, model="small"),
        assistant(2, usage=USAGE, cost=0.5),
    ]
    for file in (
        export(path, session("s", items)),
        database(path.with_suffix(".db"), NEWEST, session("s", items)),
    ):
        reading = Reading(Names())
        found = of(records(file, reading), Request)
        assert [(r.input_tokens, r.cost_usd, r.calls) for r in found] == [
            (5, 0.5, 0),
            (5, 0.25, 0),
            (5, 0.5, 0),
        ]
        assert reading.names.texts[found[1].model_key or 0] == "small"
        assert found[1].text_bytes == 6
        assert len({r.request_key for r in found}) == 3


def test_a_summary_of_an_old_level_is_a_request_of_unknown_size(tmp_path: Path) -> None:
    items = [user("go", 1), summary("so far", usage=USAGE, cost=0.25)]
    (found,) = of(records(database(tmp_path / "s.db", 16, session("s", items))), Request)
    assert (found.input_tokens, found.output_known, found.cost_usd) == (None, False, None)


# ------------------------------------------------------------------------------
# Turns and what else entered


def test_turns_begin_at_messages_of_the_person(path: Path) -> None:
    reading = Reading(Names())
    items = [
        item({"role": "system", "content": "task", "created_at": "?"}),
        user("Please proceed.", 1, implicit=True),
        *read("a", "x", "one", 2),
        user("hurry", 4),  # steering: after a result
        user("really", 5),
        assistant(6, content="ok"),
        user("next", 7),
        *read("b", "x", "two", 8),
        {"error": {"message": "HTTP 529"}},
        user("again", 10),  # a run that failed has ended
        *read("c", "x", "three", 11),
        {"termination": {}},
        user("and again", 13),
    ]
    found = read_items(path, items, reading)
    turns = of(found, Turn)
    assert [(t.turn, t.line, t.emissions_before, t.is_steering) for t in turns] == [
        (1, 4, 1, True),
        (2, 5, 1, True),
        (3, 7, 1, False),
        (4, 11, 2, False),
        (5, 15, 3, False),
    ]
    assert [e.turn for e in of(found, Emission)] == [0, 3, 4]
    entered = [(e.kind, reading.names.texts[e.type_key], e.bytes, e.turn) for e in of(found, Entered)]
    assert entered[:3] == [
        (EnteredKind.SYSTEM, "system message", 4, 0),
        (EnteredKind.USER, "implicit user message", 15, 0),
        (EnteredKind.USER, "user message", 5, 1),
    ]
    assert [(r.type, r.records) for r in of(found, Ignored)] == [("error", 1), ("termination", 1)]


def test_a_pending_message_was_not_sent(tmp_path: Path) -> None:
    path = database(tmp_path / "s.db", NEWEST, session("s", [user("go", 1), user("later", 2)]))
    change(path, "update session_items set actor_pending = 1 where id = 2")
    found = records(path)
    assert len(of(found, Turn)) == len(of(found, Entered)) == 1
    assert [(r.type, r.records) for r in of(found, Ignored)] == [("pending message", 1)]


def test_a_person_may_write_into_a_sub_session(tmp_path: Path) -> None:
    inner = session("t", [user("Please proceed.", 1, implicit=True), user("stop", 2)])
    found = records(database(tmp_path / "s.db", NEWEST, session("s", [{"sub_session": inner}])))
    _, sub = of(found, Context)
    assert [turn.context_key for turn in of(found, Turn)] == [sub.context_key]


# ------------------------------------------------------------------------------
# Copies


def branch(name: str, items: list[JSON], **more: Any) -> JSON:
    return session(name, items, second=100, title="A title (branched)", **more)


PREFIX = [
    user("go", 1),
    *read("c", "a.py", "one", 2),
    summary("so far"),
    *read("d", "a.py", "one", 4),
]
OWN = [user("other way", 101), *read("c", "a.py", "one", 102)]


@pytest.mark.parametrize("title", ["A title (branched)", "A (branch 2)", "A (fork 12) "])
@pytest.mark.parametrize("level", [13, NEWEST])
def test_rows_of_a_branch_are_told_by_its_title_and_their_time(
    tmp_path: Path, title: str, level: int
) -> None:
    """Fault case D13: the copied rows are older than the branch, and equal to their originals."""
    second = session("t", [*PREFIX, *OWN], second=100, title=title)
    found = records(database(tmp_path / "s.db", level, session("s", PREFIX), second))
    rows = of(found, Emission)
    assert [e.is_fork for e in rows] == [False, False, True, True, False]
    assert [e.copy_key for e in rows[:2]] == [e.copy_key for e in rows[2:4]]
    assert len({e.copy_key for e in rows}) == 3
    requests = of(found, Request)
    assert [r.is_fork for r in requests] == [False] * 3 + [True] * 3 + [False]
    assert [r.request_key for r in requests[:3]] == [r.request_key for r in requests[3:6]]
    assert len({r.request_key for r in requests}) == 4
    assert all(e.is_home for e in rows)


@pytest.mark.parametrize("title", ["A (fork 1) more", "branched", "(branch x)"])
def test_other_titles_make_no_branch(tmp_path: Path, title: str) -> None:
    second = session("t", [*PREFIX, *OWN], second=100, title=title)
    rows = of(records(database(tmp_path / "s.db", NEWEST, second)), Emission)
    assert not any(e.is_fork for e in rows)


def test_levels_that_record_the_parent_need_no_title(tmp_path: Path) -> None:
    second = session("t", [*PREFIX, *OWN], second=100, branch_parent_session_id="s", branch_parent_position=6)
    rows = of(records(database(tmp_path / "s.db", 16, second)), Emission)
    assert [e.is_fork for e in rows] == [True, True, False]


def test_sub_sessions_of_a_branch_are_copies_too(tmp_path: Path) -> None:
    inner = session("sub", read("c", "b.py", "two", 5), 4)
    second = branch("t", [*PREFIX, {"sub_session": inner | {"id": "sub-copy"}}, *OWN])
    first = session("s", [*PREFIX, {"sub_session": inner}])
    found = records(database(tmp_path / "s.db", NEWEST, first, second))
    names = {context.context_key: context.native_id for context in of(found, Context)}
    copies = {names[e.context_key]: (e.is_fork, e.copy_key) for e in of(found, Emission)}
    assert copies["sub"] == (False, copies["sub-copy"][1])
    assert copies["sub-copy"][0]


def test_a_copy_whose_original_is_gone_is_read(tmp_path: Path) -> None:
    """Fault case D14."""
    path = database(tmp_path / "s.db", NEWEST, session("s", PREFIX), branch("t", PREFIX))
    change(path, "delete from session_items where session_id = 's'", "delete from sessions where id = 's'")
    assert [e.is_fork for e in of(records(path), Emission)] == [True, True]


def test_a_database_that_was_set_aside_holds_copies_in_contexts_of_its_own(tmp_path: Path) -> None:
    """Fault case D15."""
    old = records(database(tmp_path / "session.db.bak", 13, session("s", PREFIX)))
    new = records(database(tmp_path / "session.db", NEWEST, session("s", [*PREFIX, *OWN])))
    assert [e.copy_key for e in of(old, Emission)] == [e.copy_key for e in of(new, Emission)][:2]
    assert [e.ledger_key for e in of(old, Emission)] == [e.ledger_key for e in of(new, Emission)][:2]
    assert of(old, Context)[0].context_key != of(new, Context)[0].context_key
    assert {e.emission_key for e in of(old, Emission)}.isdisjoint(e.emission_key for e in of(new, Emission))


def test_members_without_a_value_do_not_tell_copies_apart(path: Path) -> None:
    plain = emissions(path, [result("c", "x", 1)])
    padded = emissions(path, [result("c", "x", 1, is_error=False, multi_content=None, cost=0, model="")])
    other = emissions(path, [result("c", "x", 1, is_error=True)])
    assert plain[0].copy_key == padded[0].copy_key != other[0].copy_key
