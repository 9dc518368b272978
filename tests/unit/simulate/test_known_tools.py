"""What a person says of tools: the file, and what it changes in a replay."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import pytest
from support.histories import Writer, put
from support.replay import Did, did

from dedupstats.errors import DedupstatsError, UsageError
from dedupstats.model import ReadOnly
from dedupstats.simulate.knowledge import Knowledge, Said, read_tools
from dedupstats.simulate.score import NOTHING
from dedupstats.store import Store, open_store

if TYPE_CHECKING:
    from pathlib import Path


@cache
def shared() -> Store:
    return open_store(":memory:")


def twice(tool: str, policy: str, knowledge: Knowledge, *assignments: str, shell_reads: bool = False) -> Did:
    """The same result of one call, twice."""
    writer = Writer()
    for _ in range(2):
        writer.result(1, tool=tool, shell_reads=shell_reads or None)
    names = {key: f"t{result.place}" for key, result in put(shared(), writer.past).items()}
    return did(shared(), policy, *assignments, knowledge=knowledge, names=names)


def test_a_file_says_what_it_says(tmp_path: Path) -> None:
    path = tmp_path / "tools.toml"
    path.write_text(
        '[tools.mcp__x__get]\nread_only = true\n[tools.Read]\nread_only = "unknown"\ncategory = "git"\n'
        "[tools.Edit]\nread_only = false\n",
        "utf-8",
    )
    assert read_tools(path) == {
        "mcp__x__get": Said(ReadOnly.YES, None),
        "Read": Said(ReadOnly.UNKNOWN, "git"),
        "Edit": Said(ReadOnly.NO, None),
    }


@pytest.mark.parametrize(
    "text",
    [
        "[tools.x]\nread_only = 1\n",
        '[tools.x]\nread_only = "perhaps"\n',
        "[tools.x]\nreadonly = true\n",
        "[tools.x]\ncategory = 3\n",
        "tools = 3\n",
        "[tools]\nx = true\n",
        "[other]\n",
    ],
)
def test_what_a_file_may_not_say(tmp_path: Path, text: str) -> None:
    path = tmp_path / "tools.toml"
    path.write_text(text, "utf-8")
    with pytest.raises(UsageError, match=r"tools\.toml"):
        read_tools(path)


@pytest.mark.parametrize(
    "content", [b"[tools", b"\xff\xfe", b"x = " + b"9" * 5_000, b"x = " + b"[" * 5_000, None]
)
def test_what_cannot_be_read(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "tools.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DedupstatsError, match=r"tools\.toml"):
        read_tools(path)


def test_a_persons_word_makes_a_tool_eligible_and_the_elision_sound() -> None:
    said = Knowledge({"mcp__x__get": Said(ReadOnly.YES, "filesystem")})
    for policy in ("docker-agent:v1", "docker-agent:v2", "safe"):
        silent = twice("mcp__x__get", policy, Knowledge())
        assert silent.elided == {}
        spoken = twice("mcp__x__get", policy, said)
        assert spoken.verdicts == {"t1": "sound"}
        assert spoken.score.if_unknown_reads == NOTHING
    # two reasons speak against it for v2: the hint and the toolset
    only_reads = Knowledge({"mcp__x__get": Said(ReadOnly.YES, None)})
    assert twice("mcp__x__get", "docker-agent:v2", only_reads).reasons["t1"] == "category"


def test_a_persons_word_takes_a_tool_away() -> None:
    for word in (ReadOnly.NO, ReadOnly.UNKNOWN):
        said = Knowledge({"Read": Said(word, None)})
        assert twice("Read", "docker-agent:v3", said).elided == {}
        assert twice("Read", "exact", said).verdicts == {"t1": "hidden"}
        more = twice("Read", "docker-agent:v3", said).score.if_unknown_reads
        assert more.results == (1 if word is ReadOnly.UNKNOWN else 0)


def test_shell_commands_that_only_read() -> None:
    """For an engine that sees nothing but the shell, always; for the others if a person wants it so."""
    for shell_reads in (False, True):
        found = twice("Bash", "docker-agent:v1", Knowledge(shell_reads=True), shell_reads=shell_reads)
        assert found.verdicts == ({"t1": "sound"} if shell_reads else {})
        found = twice("Bash", "docker-agent:v1", Knowledge(), shell_reads=shell_reads)
        assert (found.elided, found.score.if_unknown_reads.results) == ({}, 1)
        found = twice("Bash", "rtk:v1", Knowledge(), "tools=all", shell_reads=shell_reads)
        assert found.verdicts == {"t1": "hidden"}


def test_if_unknown_tools_only_read_an_engine_may_elide_what_it_was_not_asked_before() -> None:
    """Not only the verdict: the ledger would have held the first."""
    writer = Writer()
    for tool in ("mcp__x__get", "mcp__x__get", "Read", "Edit"):
        writer.result(1, tool=tool)
    put(shared(), writer.past)
    found = did(
        shared(),
        "docker-agent:v1",
        names=dict.fromkeys([key for (key,) in shared().query("select emission_key from emission")], "t"),
    )
    assert (found.score.elided, found.score.if_unknown_reads.results) == (NOTHING, 1)
    assert found.score.if_unknown_reads.marker_bytes == 222 + len("mcp__x__get") + 3


def test_an_engine_is_told_the_hint_and_a_reference_what_is_true() -> None:
    """D30 of docker-agent.md: a tool with an effect whose own hint says that it only reads."""
    assert twice("update_todos", "docker-agent:v1", Knowledge()).verdicts == {"t1": "hidden"}
    assert twice("update_todos", "safe", Knowledge()).elided == {}
