"""docker-agent: what is claimed, and that every layout and level tells the same."""

from __future__ import annotations

import json
import sqlite3
import tempfile
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.docker_agent import (
    JSON,
    NEWEST,
    assistant,
    at,
    change,
    claims,
    database,
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

from dedupstats.errors import UnreadableUnitError
from dedupstats.model import (
    Boundary,
    Context,
    ContextKind,
    Emission,
    FileCount,
    Ignored,
    Request,
    Skipped,
    Turn,
)
from dedupstats.sources.docker_agent import DockerAgent
from dedupstats.sources.docker_agent.layout import micros as parsed

LEVELS = (3, 13, 14, 16, 20, 24, NEWEST)


def small(name: str = "s1") -> JSON:
    inner = session("s2", [user("Please proceed.", 12, implicit=True), *read("c1", "b.py", "two\n", 13)], 11)
    return session(
        name,
        [
            user("go", 1),
            *read("c1", "a.py", "one\n", 2),
            assistant(10, ("c2", "transfer_task", "{}")),
            {"sub_session": inner},
            result("c2", "done", 20),
            summary("so far"),
            *read("c3", "a.py", "one\n", 21),
        ],
    )


# ------------------------------------------------------------------------------
# Places and claims


def test_places_are_the_database_and_the_one_that_was_set_aside() -> None:
    unix = DockerAgent().places({}, Path("/home/u"), "linux")
    assert [(str(p.path), p.shown_as) for p in unix] == [
        ("/home/u/.cagent/session.db", "~/.cagent/session.db"),
        ("/home/u/.cagent/session.db.bak", "~/.cagent/session.db.bak"),
    ]
    windows = DockerAgent().places({"USERPROFILE": "/u", "HOME": "/other"}, Path("/x"), "win32")
    assert windows[0].path == Path("/u/.cagent/session.db")
    assert windows[0].shown_as == r"%USERPROFILE%\.cagent\session.db"


@pytest.mark.parametrize("level", [0, *LEVELS])
def test_databases_of_every_level_are_claimed(tmp_path: Path, level: int) -> None:
    assert claims(database(tmp_path / "session.db.bak", level, small()))


@pytest.mark.parametrize(
    "tables",
    [
        [
            "sessions (id text, title text, message_count int, created_at int)",
            "messages (id, session_id, parts)",
        ],
        ["sessions (id text, description text, created_at, working_dir)", "messages (id, content_json)"],
        ["session (id text, messages text, created_at text)"],
        ["sessions (id text, messages text, created_at text, owner text)"],
        ["sessions (id text, created_at text)", "session_items (id, session_id, position, exercise)"],
    ],
)
def test_databases_of_others_are_not_claimed(tmp_path: Path, tables: list[str]) -> None:
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as connection:
        for table in tables:
            connection.execute(f"create table {table}")
    assert not claims(path)


@pytest.mark.parametrize(
    "document",
    [
        {"messages": [{"message": {"message": {"role": "user"}}}]},
        {"id": "x", "messages": [{"role": "user", "content": "hi"}]},
        {"id": "x", "messages": [{"message": {"role": "user"}}]},
        {"id": "x", "messages": [{"summary": "s"}]},
        {"id": "x", "messages": [{"message": {"message": {"role": "user"}}}, 3]},
        {"id": "x", "messages": []},
        {"sessionId": "x", "messages": [{"id": "1", "type": "user", "content": "hi"}]},
        [{"id": "x", "messages": []}],
    ],
)
def test_documents_of_others_are_not_claimed(tmp_path: Path, document: Any) -> None:
    path = tmp_path / "other.json"
    path.write_text(json.dumps(document))
    assert not claims(path)
    with pytest.raises(UnreadableUnitError, match=r"other\.json"):
        records(path)


def test_exports_are_claimed_even_without_messages(tmp_path: Path) -> None:
    assert claims(export(tmp_path / "a.json", small()))
    empty = export(tmp_path / "b.json", session("s", []) | {"messages": None})
    assert claims(empty)
    assert [c.native_id for c in of(records(empty), Context)] == ["s"]


# ------------------------------------------------------------------------------
# Layouts and levels


@pytest.mark.parametrize("level", LEVELS)
def test_every_level_and_the_export_tell_the_same(tmp_path: Path, level: int) -> None:
    def told(path: Path) -> list[tuple[Any, ...]]:
        found = records(path)
        names = {context.context_key: context.native_id for context in of(found, Context)}
        return [
            (
                names[e.context_key],
                e.ordinal,
                e.call_id,
                e.copy_key,
                e.request_key,
                e.call_key,
                e.sha256,
                e.at,
            )
            for e in of(found, Emission)
        ] + [
            (names[r.context_key], r.request_key, r.at, r.emissions_before, r.calls)
            for r in of(found, Request)
        ]

    rows = told(database(tmp_path / "session.db", level, small()))
    assert rows == told(export(tmp_path / "session.json", small()))
    assert [row[:3] for row in rows[:4]] == [
        ("s1", 0, "c1"),
        ("s1", 1, "c2"),
        ("s1", 2, "c3"),
        ("s2", 0, "c1"),
    ]


@pytest.mark.parametrize("level", LEVELS)
def test_lines_are_row_ids_or_places_in_the_list(tmp_path: Path, level: int) -> None:
    found = records(database(tmp_path / "session.db", level, small()))
    lines = [e.line for e in of(found, Emission)]
    if level < 14:
        assert lines == [2, 5, 8, 2]
    else:
        ids = sqlite3.connect(tmp_path / "session.db").execute(
            "select i.id from session_items i join sessions s on s.id = i.session_id "
            """where message_json like '{"role": "tool"%' order by s.rowid, position"""
        )
        assert lines == [row[0] for row in ids]


@pytest.mark.parametrize("level", LEVELS)
def test_a_sub_session_is_a_context_of_its_session(tmp_path: Path, level: int) -> None:
    main, sub = of(records(database(tmp_path / "session.db", level, small())), Context)
    assert (main.kind, main.session_id, main.parent_key) == (ContextKind.MAIN, "s1", None)
    assert (sub.kind, sub.session_id, sub.parent_key) == (ContextKind.AGENT, "s1", main.context_key)
    assert (main.started_at, main.ended_at) == (micros(1), micros(22))
    assert (main.agent, main.path) == ("root", str(tmp_path / "session.db"))
    assert main.cwd == (None if level < 8 else "/work")
    # in a list, what a level has no column for is in the nested object all the same
    assert sub.cwd == "/work"


def test_the_column_is_read_where_the_session_has_no_rows(tmp_path: Path) -> None:
    """Migration 15 leaves a session that it cannot convert in its column; level 14-19 keep both."""
    path = database(tmp_path / "session.db", 15, small(), small("s3") | {"messages": [user("hi", 1)]})
    change(path, "delete from session_items where session_id = 's1'")
    found = records(path)
    assert [c.native_id for c in of(found, Context)] == ["s1", "s2", "s3"]
    assert [e.call_id for e in of(found, Emission)] == ["c1", "c2", "c3", "c1"]
    change(path, "delete from session_items", "delete from sessions where id = 's2'")
    assert [c.native_id for c in of(records(path), Context)] == ["s1", "s2", "s3"]


def test_sub_sessions_without_their_parent_are_still_part_of_its_session(tmp_path: Path) -> None:
    path = database(tmp_path / "session.db", NEWEST, small())
    change(path, "delete from sessions where id = 's1'")
    found = records(path)
    (sub,) = of(found, Context)
    assert (sub.kind, sub.session_id, sub.parent_key) == (ContextKind.AGENT, "s1", None)
    assert [(r.type, r.records) for r in of(found, Ignored)] == [("item of a deleted session", 9)]


def test_sessions_that_are_each_others_parent_are_read_once(tmp_path: Path) -> None:
    path = database(tmp_path / "session.db", NEWEST, small())
    change(path, "update sessions set parent_id = 's2' where id = 's1'")
    assert sorted(c.native_id for c in of(records(path), Context)) == ["s1", "s2"]


def test_messages_without_their_outer_object_and_nested_sessions_without_id(tmp_path: Path) -> None:
    bare = [
        {"agentFilename": "a.yaml", "agentName": "", "message": {"role": "user", "content": "go"}},
        {"agentFilename": "", "agentName": "root", **read("c", "a.py", "x", 1)[0]["message"]},
        {"agentName": "root", "message": read("c", "a.py", "x", 1)[1]["message"]["message"]},
        {"sub_session": {"messages": [user("hi", 5)]}},
    ]
    path = export(tmp_path / "old.json", session("s", bare))
    assert claims(path)
    found = records(path)
    assert [c.native_id for c in of(found, Context)] == ["s", "s/3"]
    assert [e.call_id for e in of(found, Emission)] == ["c"]


# ------------------------------------------------------------------------------
# Newer, damaged, busy


def test_a_newer_database_is_read_as_far_as_it_is_known(tmp_path: Path) -> None:
    """Fault case P21: a renamed column, a new one, a new table, new types of items and roles."""
    path = database(tmp_path / "session.db", NEWEST, small())
    change(
        path,
        "alter table session_items rename column implicit to hidden",
        "alter table session_items add column origin_node text not null default ''",
        "create table session_checkpoints (session_id text)",
        "insert into migrations values (41, '041', '')",
        "insert into session_items (session_id, position, item_type) values ('s1', 90, 'checkpoint')",
        "insert into session_items (session_id, position, item_type, message_json) "
        """values ('s1', 91, 'message', '{"role": "critic"}')""",
    )
    found = records(path)
    ignored = [(r.type, r.records) for r in of(found, Ignored)]
    assert ignored == [("checkpoint", 1), ("message of role critic", 1)]
    assert len(of(found, Emission)) == 4
    # nobody writes into a sub-session: its "Please proceed." is no turn, though no column says so
    main, _ = of(found, Context)
    assert [turn.context_key for turn in of(found, Turn)] == [main.context_key]


def test_rows_in_the_write_ahead_log_alone_are_read(tmp_path: Path) -> None:
    """Fault case X09."""
    path = database(tmp_path / "session.db", 24, small(), wal_only=True)
    assert path.stat().st_size == 4096
    assert DockerAgent().companions(str(path)) == [f"{path}-wal"]
    assert claims(path)
    assert len(of(records(path), Emission)) == 4


def test_reading_leaves_no_trace_and_waits_for_no_lock(tmp_path: Path) -> None:
    """Fault cases X08, X10, X11."""
    path = database(tmp_path / "session.db", NEWEST, small())
    change(path, "pragma journal_mode = wal")

    def listing() -> list[tuple[str, int, int]]:
        return [(p.name, p.stat().st_size, p.stat().st_mtime_ns) for p in sorted(tmp_path.iterdir())]

    before = listing()
    assert [name for name, _, _ in before] == ["session.db"]
    tmp_path.chmod(0o555)
    try:
        assert len(of(records(path), Emission)) == 4
    finally:
        tmp_path.chmod(0o755)
    assert listing() == before
    with closing(sqlite3.connect(path, isolation_level=None)) as owner:
        owner.execute("begin exclusive")
        assert len(of(records(path), Emission)) == 4


def test_one_unreadable_session_costs_no_other(tmp_path: Path) -> None:
    filler = "".join(f"line {n}\n" for n in range(300))
    marked = session("lost", read("c", "a.py", "MARK-THE-PAGE", 1))
    path = database(
        tmp_path / "session.db",
        NEWEST,
        session("first", read("c", "a.py", filler, 1)),
        session("gap", [user(filler * 8, 1)]),
        marked,
        session("gap2", [user(filler * 8, 1)]),
        session("last", read("c", "a.py", filler, 1)),
    )
    data = bytearray(path.read_bytes())
    page = data.index(b"MARK-THE-PAGE") // 4096 * 4096
    data[page : page + 4096] = b"\xff" * 4096
    path.write_bytes(data)
    found = records(path)
    reasons = [record.reason for record in of(found, Skipped)]
    assert any("session lost cannot be read" in reason for reason in reasons)
    read_ids = [context.native_id for context in of(found, Context)]
    assert "first" in read_ids
    assert "last" in read_ids
    assert len(read_ids) + len(reasons) == 5


@pytest.mark.parametrize("keep", [100, 4096, 5000])
def test_a_cut_off_database_is_one_error(tmp_path: Path, keep: int) -> None:
    path = database(tmp_path / "session.db", NEWEST, session("s", [user("x" * 20_000, 1)]))
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(UnreadableUnitError, match=r"session\.db.*damaged") as caught:
        records(path)
    assert "\n" not in caught.value.message
    assert caught.value.hint


def test_bad_rows_are_skipped_with_their_place_and_reason(tmp_path: Path) -> None:
    rows: list[JSON] = [
        user("go", 1),
        {"row": {"item_type": "message", "message_json": "{"}},
        {"row": {"item_type": "message", "message_json": "[1]"}},
        {"row": {"item_type": "message"}},
        {"row": {"item_type": "message", "message_json": "[" * 100_000}},
        {"row": {"item_type": ""}},
    ]
    found = records(database(tmp_path / "session.db", NEWEST, session("s", rows)))
    reason = "session s: message_json is no JSON object"
    assert [(r.line, r.reason) for r in of(found, Skipped)] == [(n, reason) for n in (2, 3, 4, 5)]
    assert [(r.type, r.records) for r in of(found, Ignored)] == [("item without a type", 1)]


def test_a_row_that_only_a_damaged_index_knows_costs_itself(tmp_path: Path) -> None:
    path = database(
        tmp_path / "session.db", NEWEST, session("s", [user("go", 1), user("on", 2), user("so", 3)])
    )
    with closing(sqlite3.connect(path)) as connection:
        columns = "type, name, tbl_name, rootpage, sql"
        (index,) = connection.execute(
            f"select {columns} from sqlite_master where name = 'idx_items'"
        ).fetchall()
    allowed = "pragma writable_schema = on"
    change(path, allowed, "delete from sqlite_master where name = 'idx_items'")
    # without its index, which is put back as it was
    change(path, "delete from session_items where id = 2")
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(allowed)
        connection.execute(f"insert into sqlite_master ({columns}) values (?, ?, ?, ?, ?)", index)
    found = records(path)
    assert [(r.line, r.reason) for r in of(found, Skipped)] == [
        (2, "session s: an index of the database names it, and it is not there")
    ]
    (count,) = of(found, FileCount)
    assert (count.records, count.used, count.skipped) == (3, 2, 1)


def test_bad_lists_are_skipped_with_their_place_and_reason(tmp_path: Path) -> None:
    path = database(
        tmp_path / "session.db",
        13,
        session("s", [user("go", 1), 3, {"message": {"agentName": "x"}}, {"extra": 1}]),  # type: ignore[list-item]
        session("t", []),
        session("u", []),
    )
    change(
        path,
        "update sessions set messages = '{' where id = 't'",
        "update sessions set messages = null where id = 'u'",
    )
    found = records(path)
    assert [(r.line, r.reason) for r in of(found, Skipped)] == [
        (1, "session s: not a JSON object"),
        (2, "session s: message is no JSON object"),
        (0, "session t: its messages are no JSON list"),
    ]
    assert [(r.type, r.records) for r in of(found, Ignored)] == [("extra", 1)]
    assert [c.native_id for c in of(found, Context)] == ["s", "u"]


# ------------------------------------------------------------------------------
# Times


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2026-03-01T10:00:05+01:00", micros(5)),
        ("2026-03-01T09:00:05Z", micros(5)),
        ("2026-03-01T09:00:05.123456789Z", micros(5) + 123_456),
        ("2026-03-01T09:00:05", micros(5)),
        (1774325831733, 1774325831733000),
        (1774325831, 1774325831000000),
        (1774325831.5, 1774325831500000),
        (1774325831733000, 1774325831733000),
        (1774325831733000123, 1774325831733000),
        ("yesterday afternoon", None),
        ("", None),
        (None, None),
        (True, None),
        (-5, None),
        (10**30, None),
        (float("nan"), None),
        ("0001-01-01T00:00:00Z", None),
        ("0001-01-01T00:00:00+14:00", None),
    ],
)
def test_times(value: Any, expected: int | None) -> None:
    """Fault cases T11, T14; zones of one session may differ (docker-agent.md section 3.7)."""
    assert parsed(value) == expected


def test_the_clock_runs_on_where_times_are_missing_or_go_back(tmp_path: Path) -> None:
    stamps = [at(10), None, "2026-03-01T10:00:05+01:00", "soon", at(20)]
    items = [
        item({"role": "tool", "content": "x", "tool_call_id": "c", "created_at": stamp}) for stamp in stamps
    ]
    found = of(records(export(tmp_path / "s.json", session("s", items))), Emission)
    assert [e.at for e in found] == [micros(10), None, micros(5), None, micros(20)]
    assert [e.clock for e in found] == [micros(10)] * 4 + [micros(20)]
    assert len({e.emission_key for e in found}) == 5


def test_a_compaction_is_told_at_every_level(tmp_path: Path) -> None:
    for level in LEVELS:
        (boundary,) = of(records(database(tmp_path / f"{level}.db", level, small())), Boundary)
        assert (boundary.at_ordinal, boundary.kept) == (2, ())


# ------------------------------------------------------------------------------
# Anything anywhere

_WORDS = st.sampled_from(["", "1", "true", "message", "tool", "2026-03-01T09:00:00Z", "0", "a\ud83d"])
_LEAVES = st.none() | st.booleans() | st.integers(-(1 << 70), 1 << 70) | st.floats() | _WORDS
_VALUES = st.recursive(_LEAVES, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(_WORDS, inner))


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every container of a JSON value with each of its names or indices."""
    found = []
    for name in value if isinstance(value, dict) else range(len(value)):
        found.append((value, name))
        if isinstance(value[name], dict | list):
            found += places(value[name])
    return found


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_any_value_in_any_place_is_read_or_reported(data: st.DataObject) -> None:
    image = [{"type": "text", "text": "one"}, {"type": "image_url", "image_url": {"url": "data:"}}]
    document = small()
    document["messages"] += [
        assistant(30, ("c4", "shell", '{"cmd":"ls"}'), usage={"input_tokens": 1}, cost=1, model="m"),
        result("c4", "one", 31, multi_content=image, is_error=False),
        summary("s", first_kept_entry=3, usage={"input_tokens": 1}, cost=1, model="m"),
        {"error": {"message": "x"}},
    ]
    container, name = data.draw(st.sampled_from(places(document)))
    container[name] = data.draw(_VALUES)
    with tempfile.TemporaryDirectory() as folder, suppress(UnreadableUnitError):
        records(export(Path(folder) / "s.json", document))
