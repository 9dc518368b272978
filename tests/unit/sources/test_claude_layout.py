"""Places, recognition and units of transcripts."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

from support.claude import Transcript, of, records, unit_of

from dedupstats.model import Context
from dedupstats.sources.base import Claim, Names, Reading
from dedupstats.sources.claude_code import ClaudeCode
from dedupstats.sources.claude_code.tools import Calls
from dedupstats.sources.claude_code.unit import UnitReader
from dedupstats.sources.probe import Probe

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pytest

HOME = Path("/home/u")
SESSION = "0f0e0d0c-0000-4000-8000-000000000001"


def claim(path: Path) -> Claim | None:
    with Probe(str(path), path.stat().st_size) as probe:
        return ClaudeCode().claim(probe)


def claim_text(tmp_path: Path, name: str, text: str) -> Claim | None:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return claim(path)


def places(env: Mapping[str, str], platform: str = "linux") -> list[str]:
    return [str(place.path) for place in ClaudeCode().places(env, HOME, platform)]


def test_default_places() -> None:
    assert places({}) == ["/home/u/.claude/projects", "/home/u/.config/claude/projects"]
    assert places({"XDG_CONFIG_HOME": "/xdg"}) == ["/home/u/.claude/projects", "/xdg/claude/projects"]


def test_a_list_of_configuration_folders() -> None:
    found = places({"CLAUDE_CONFIG_DIR": "/a, /b/projects ,,/home/u/.claude"})
    assert found == [
        "/a/projects",
        "/b/projects",
        "/home/u/.claude/projects",
        "/home/u/.config/claude/projects",
    ]


def test_a_configuration_folder_of_a_user_who_is_not_there() -> None:
    assert places({"CLAUDE_CONFIG_DIR": "~nosuch/x"})[0] == "~nosuch/x/projects"


def test_a_folder_of_subagents_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = Transcript(SESSION)
    made.read("t1", "a", "x")
    path = made.write(tmp_path / f"{SESSION}.jsonl")
    calls = Calls(Reading(Names()))
    has_agent = UnitReader(unit_of(path), calls)._has_agent(str(path))

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(os, "stat", refuse)
        found = has_agent("a1")
    assert found is False


def test_places_on_windows() -> None:
    found = places({"USERPROFILE": "/c/Users/u"}, "win32")
    assert found[0] == "/c/Users/u/.claude/projects"


def test_a_session_and_its_subagents_are_one_unit(tmp_path: Path) -> None:
    main = Transcript(SESSION)
    main.user("hi")
    sub = Transcript(SESSION, agent="a")
    sub.user("p")
    key = Claim(str(tmp_path / SESSION))
    assert claim(main.write(tmp_path / f"{SESSION}.jsonl")) == key
    folder = tmp_path / SESSION
    for place in (
        folder / "subagents" / "agent-a.jsonl",
        folder / "subagents" / "workflows" / "wf_1" / "agent-a.jsonl",
        folder / "agent-a.jsonl",
    ):
        assert claim(sub.write(place)) == key
    assert claim_text(folder / "subagents", "agent-a.meta.json", '{"agentType":"Explore"}') == key
    assert claim_text(folder / "subagents" / "workflows" / "wf_1", "journal.jsonl", '{"a":1}\n') == key
    assert ClaudeCode().companions(str(tmp_path / f"{SESSION}.jsonl")) == [str(folder)]


def test_a_flat_agent_file_is_a_unit_of_its_own(tmp_path: Path) -> None:
    """2.0.2x to 2.0.77: it lies beside the session and bears the session's id."""
    sub = Transcript(SESSION, agent="a6818ea")
    sub.user("Warmup")
    path = sub.write(tmp_path / "agent-a6818ea.jsonl")
    assert claim(path) == Claim(str(tmp_path / "agent-a6818ea"))
    (context,) = of(Context, records(path))
    assert (context.native_id, context.kind, context.session_id) == ("a6818ea", "agent", SESSION)


def test_recognition_goes_by_content(tmp_path: Path) -> None:
    t = Transcript()
    t.user("hi")
    text = "\n".join(t.lines()) + "\n"
    assert claim_text(tmp_path, "renamed.txt", text) is not None
    assert claim_text(tmp_path, "bom.jsonl", "\ufeff" + text) is not None
    assert claim_text(tmp_path, "broken.jsonl", '{"type":"user","mess\n\0\0\n' + text) is not None
    assert (
        claim_text(tmp_path, "summary.jsonl", '{"type":"summary","summary":"x","leafUuid":"u"}\n') is not None
    )


def test_a_transcript_under_any_name_is_read(tmp_path: Path) -> None:
    t = Transcript()
    t.user("hi")
    for name in ("s1.jsonl.bak", "s1.json", "s1"):
        (context,) = of(Context, records(t.write(tmp_path / "copies" / name)))
        assert (context.session_id, context.is_moved) == ("s1", name != "s1")


def test_without_a_working_directory_the_folder_names_the_project(tmp_path: Path) -> None:
    """P14: the folder is a lossy name, so it comes last."""
    t = Transcript()
    t.user("hi", cwd=...)
    (context,) = of(Context, records(t.write(tmp_path / "-home-u-my-project" / "s1.jsonl")))
    assert context.cwd == "-home-u-my-project"


def test_a_first_row_longer_than_the_head(tmp_path: Path) -> None:
    t = Transcript()
    t.user("x" * 300_000)
    assert claim(t.write(tmp_path / "s1.jsonl")) is not None


def test_what_is_not_a_transcript(tmp_path: Path) -> None:
    """P20, and rows of agents that look alike."""
    prompts = {"display": "fix it", "timestamp": 1, "project": "/home/u/p"}
    qwen = {
        "uuid": "u1",
        "parentUuid": None,
        "sessionId": "s1",
        "timestamp": "2026-08-17T13:00:00.000Z",
        "type": "user",
        "cwd": "/p",
        "version": "0.21",
        "message": {"role": "user", "parts": [{"text": "hi"}]},
    }
    pi = {"type": "message", "id": "1", "parentId": None, "message": {"role": "user", "content": "hi"}}
    gemini = {"id": "1", "timestamp": "2026-08-17T13:00:00.000Z", "type": "user", "content": [{"text": "hi"}]}
    for number, row in enumerate((prompts, qwen, pi, gemini, {"type": "user"}, {})):
        assert claim_text(tmp_path, f"{number}.jsonl", json.dumps(row) + "\n") is None
    for name, text in (
        ("empty.jsonl", ""),
        ("list.jsonl", "[1]\n"),
        ("text.txt", "hello\n"),
        ("x.meta.json", "{}"),
    ):
        assert claim_text(tmp_path, name, text) is None
    assert claim_text(tmp_path, "journal.jsonl", '{"type":"started"}\n') is None


def test_a_unit_of_a_folder(tmp_path: Path) -> None:
    main = Transcript(SESSION)
    main.user("hi")
    path = main.write(tmp_path / f"{SESSION}.jsonl")
    (tmp_path / SESSION / "tool-results").mkdir(parents=True)
    (tmp_path / SESSION / "tool-results" / "t1.txt").write_text("spilled")
    assert [file.path for file in unit_of(path).files] == [str(path)]
