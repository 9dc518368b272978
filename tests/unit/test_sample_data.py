"""The committed samples are what the generator writes, and show what sample_data/README.md says."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

FOLDER = Path(__file__).parents[2] / "sample_data"
PARTS = ("claude_code", "docker_agent", "rtk")
READ = "(rtk_cmd = 'rtk read' or rtk_cmd like 'rtk read %')"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the script writes elsewhere, with another hash seed, time zone and locale."""
    folder = tmp_path_factory.mktemp("sample_data")
    surroundings = {"PYTHONHASHSEED": "12345", "TZ": "Asia/Tokyo", "LC_ALL": "C", "PYTHONUTF8": "0"}
    subprocess.run(
        [sys.executable, "-B", str(FOLDER / "generate.py"), str(folder)],
        check=True,
        env={**os.environ, **surroundings},
    )
    return folder


def files(folder: Path) -> list[str]:
    return sorted(
        path.relative_to(folder).as_posix()
        for part in PARTS
        for path in (folder / part).rglob("*")
        if path.is_file()
    )


def opened(name: str, folder: Path = FOLDER) -> closing[sqlite3.Connection]:
    """A database, read without leaving anything beside it."""
    return closing(sqlite3.connect(f"{(folder / name).as_uri()}?mode=ro&immutable=1", uri=True))


def rows(name: str) -> list[dict[str, Any]]:
    """The JSON rows of the Claude Code file whose name starts so."""
    (path,) = (FOLDER / "claude_code" / "projects").rglob(f"{name}*.jsonl")
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.startswith("{")]


def results(name: str) -> list[dict[str, Any]]:
    return [
        block
        for row in rows(name)
        if row["type"] == "user" and isinstance(row["message"]["content"], list)
        for block in row["message"]["content"]
    ]


def test_the_same_files(made: Path) -> None:
    assert files(made) == files(FOLDER)


def test_text_files_byte_for_byte(made: Path) -> None:
    texts = [name for name in files(FOLDER) if not name.endswith(".db")]
    assert [name for name in texts if (made / name).read_bytes() != (FOLDER / name).read_bytes()] == []


@pytest.mark.parametrize("name", ["docker_agent/session.db", "rtk/history.db"])
def test_databases_row_for_row(made: Path, name: str) -> None:
    """Not byte for byte: versions of SQLite leave other remains in the unused space of a page."""
    with opened(name, made) as new, opened(name) as old:
        assert list(new.iterdump()) == list(old.iterdump())
    assert (made / name).read_bytes()[:100] == (FOLDER / name).read_bytes()[:100]


def test_small_enough_to_commit() -> None:
    assert sum((FOLDER / name).stat().st_size for name in files(FOLDER)) < 800_000


def test_rtk_gives_the_published_rates_by_sql() -> None:
    with opened("rtk/history.db") as database:
        measure = f"""
            with r as (
              select *, row_number() over (partition by original_cmd order by timestamp, id) as n
              from commands
            )
            select count(*), sum(n > 1), sum(output_tokens), sum((n > 1) * output_tokens),
              sum({READ}), sum({READ} and n > 1), sum({READ} * output_tokens),
              sum(({READ} and n > 1) * output_tokens), sum(saved_tokens) from r"""
        figures = database.execute(measure).fetchone()
    assert figures == (943, 537, 214_400, 103_990, 300, 207, 90_000, 72_000, 894_180)
    assert f"{537 / 943:.1%}" == "56.9%"
    assert f"{103_990 / 214_400:.1%}" == "48.5%"
    assert round(103_990 / 537) == 194
    assert (207 / 300, 72_000 / 90_000) == (0.69, 0.8)


def test_rtk_gives_the_published_rates_in_plain_python() -> None:
    seen: set[str] = set()
    commands = repeats = tokens = repeat_tokens = 0
    for command, output in commands_by_time("original_cmd, output_tokens"):
        commands += 1
        tokens += output
        if command in seen:
            repeats += 1
            repeat_tokens += output
        seen.add(command)
    assert (commands, repeats, len(seen)) == (943, 537, 406)
    assert round(100 * repeats / commands, 1) == 56.9
    assert round(100 * repeat_tokens / tokens, 1) == 48.5


def commands_by_time(columns: str) -> list[tuple[Any, ...]]:
    with opened("rtk/history.db") as database:
        return database.execute(f"select {columns} from commands order by timestamp, id").fetchall()


def bound(key: Callable[[tuple[Any, ...]], Any], hours: float = 24 * 365, least: int = 0) -> tuple[int, int]:
    """Repeats of a key at most so long after the last one, and their output tokens."""
    columns = "original_cmd, output_tokens, input_tokens, project_path, timestamp"
    last: dict[Any, datetime] = {}
    count = tokens = 0
    for row in commands_by_time(columns):
        at = datetime.fromisoformat(row[4][:19])
        before = last.get(key(row))
        if before is not None and at - before <= timedelta(hours=hours) and row[1] >= least:
            count += 1
            tokens += row[1]
        last[key(row)] = at
    return count, tokens


def test_rtk_tighter_conditions_leave_less() -> None:
    assert bound(lambda row: row[0]) == (537, 103_990)
    assert bound(lambda row: row[:2]) == (332, 61_154)
    assert bound(lambda row: row[:3]) == (291, 54_793)
    assert bound(lambda row: row[:4]) == (276, 53_616)
    assert bound(lambda row: row[:4], hours=5) == (157, 30_396)
    assert bound(lambda row: row[:4], hours=5, least=200) == (51, 23_421)


@pytest.mark.parametrize(
    ("condition", "count"),
    [
        ("rtk_cmd like 'rtk proxy %'", 9),
        ("output_tokens = 0", 22),
        ("rtk_cmd like 'rtk fallback: %' and input_tokens = 0", 12),
        (r"project_path = '\\?\C:\work\tansy-site'", 59),
        ("saved_tokens <> input_tokens - output_tokens", 0),
        ("timestamp not glob '2026-11-*+00:00'", 0),
    ],
)
def test_rtk_rows_of_each_kind(condition: str, count: int) -> None:
    with opened("rtk/history.db") as database:
        assert database.execute(f"select count(*) from commands where {condition}").fetchone() == (count,)


def test_rtk_stamps_have_up_to_nine_digits() -> None:
    assert {len(stamp) for (stamp,) in commands_by_time("timestamp")} == {25, 29, 32, 35}


def test_the_hooks_answers_belong_to_calls_of_the_transcript() -> None:
    shown = {
        block["id"]: block["input"]["command"]
        for row in rows("68db11e8")
        if row["type"] == "assistant"
        for block in row["message"]["content"]
        if block["type"] == "tool_use" and block["name"] == "Bash"
    }
    with opened("rtk/history.db") as database:
        told = database.execute("select tool_use_id, raw_cmd from hook_decisions order by id").fetchall()
    assert dict(told[:9]) == shown
    assert len(told) == 11


@pytest.mark.parametrize(
    ("name", "needle", "count"),
    [
        ("92d7d0b4", '"subtype":"compact_boundary"', 1),
        ("92d7d0b4", '"isCompactSummary":true', 1),
        ("92d7d0b4", '"type":"file_unchanged"', 2),
        ("92d7d0b4", "<persisted-output>", 1),
        ("1728cdc7", '"subtype":"microcompact_boundary"', 1),
        ("730e3677", '"forkedFrom":', 24),
        ("126b3156", '"type":"agent_progress"', 45),
        ("133611a9", "lines truncated] ...", 1),
        ("e5645cc3", '"type":"image"', 2),
        ("68db11e8", '"hookName":"PreToolUse:Bash"', 8),
        ("68db11e8", "紫蘇", 6),
    ],
)
def test_claude_code_rows_of_each_kind(name: str, needle: str, count: int) -> None:
    (path,) = (FOLDER / "claude_code" / "projects").glob(f"*/{name}*.jsonl")
    assert sum(needle in line for line in path.read_text("utf-8").splitlines()) == count


def test_claude_code_copies_keep_their_ids() -> None:
    for original, copy, count in (("133611a9", "1c32608c", 11), ("1728cdc7", "730e3677", 10)):
        shared = {block.get("tool_use_id") for block in results(original)}
        assert len(shared) == count
        assert shared < {block.get("tool_use_id") for block in results(copy)}


def test_claude_code_one_broken_line() -> None:
    broken = 0
    for path in sorted((FOLDER / "claude_code" / "projects").rglob("*.jsonl")):
        for line in path.read_text("utf-8").splitlines():
            try:
                json.loads(line)
            except ValueError:
                broken += 1
    assert broken == 1


def test_claude_code_usage_grows_with_the_context() -> None:
    """Within one context and without boundaries, each request reads what the one before had sent."""
    inputs = {}
    for row in rows("eb3044f9"):
        if row["type"] == "assistant":
            usage = row["message"]["usage"]
            assert (
                usage["cache_creation"]["ephemeral_5m_input_tokens"] == usage["cache_creation_input_tokens"]
            )
            inputs[row["message"]["id"]] = sum(
                usage[part]
                for part in ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
            )
    sizes = list(inputs.values())
    assert len(sizes) == 24
    assert sizes == sorted(sizes)


def test_docker_agent_sessions() -> None:
    with opened("docker_agent/session.db") as database:
        sessions = database.execute("select title, parent_id is null from sessions order by rowid").fetchall()
        kinds = dict(database.execute("select item_type, count(*) from session_items group by 1").fetchall())
        kept = database.execute(
            "select position, first_kept_entry from session_items where item_type = 'summary'"
        )
        assert kept.fetchall() == [(14, 11)]
        tools = [
            json.loads(text)
            for (text,) in database.execute(
                "select message_json from session_items where json_extract(message_json, '$.role') = 'tool' "
                "order by id"
            )
        ]
    assert sessions == [
        ("Letter for low stock", 1),
        ("Kinder letters", 1),
        ("Wider labels", 1),
        ("Transferred task", 0),
    ]
    assert kinds == {"message": 91, "summary": 1, "subsession": 1, "error": 1}
    assert len(tools) == 46
    assert sum(tool.get("is_error", False) for tool in tools) == 3
    assert sum(tool["content"].startswith("[docker-agent] The read_file tool ran") for tool in tools) == 1
    assert sum(tool["content"].startswith("Tool call result was too large (") for tool in tools) == 1


def test_docker_agent_marker_tells_the_size_of_what_it_replaces() -> None:
    with opened("docker_agent/session.db") as database:
        messages = [
            json.loads(text)
            for (text,) in database.execute(
                "select message_json from session_items where item_type = 'message' order by id"
            )
        ]
    called = {call["id"]: call["function"] for message in messages for call in message.get("tool_calls", ())}
    shown = [
        message["content"]
        for message in messages
        if message["role"] == "tool"
        and called[message["tool_call_id"]] == {"name": "read_file", "arguments": '{"path":"tansy/stock.py"}'}
    ]
    assert f"so the {len(shown[0].encode())}-byte payload is not repeated here." in shown[1]


def test_docker_agent_export_is_a_copy() -> None:
    export = json.loads((FOLDER / "docker_agent/export.json").read_text("utf-8"))
    with opened("docker_agent/session.db") as database:
        stored = database.execute(
            "select message_json from session_items where session_id = ? and item_type = 'message' "
            "order by position",
            (export["id"],),
        ).fetchall()
    told = [item["message"]["message"] for item in export["messages"] if "message" in item]
    assert told == [json.loads(text) for (text,) in stored]
    assert [item["sub_session"]["title"] for item in export["messages"] if "sub_session" in item] == [
        "Transferred task"
    ]


def test_readme_names_every_session() -> None:
    readme = (FOLDER / "README.md").read_text("utf-8")
    names = [path.name[:8] for path in sorted((FOLDER / "claude_code" / "projects").glob("*/*.jsonl"))]
    assert len(names) == 9
    assert [name for name in names if f"`{name}`" not in readme] == []
