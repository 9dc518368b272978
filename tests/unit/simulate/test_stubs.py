"""Claude Code's read stubs: what stands in the log before them, and what they then are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support import docker_agent
from support.pipeline import Log, imported

from dedupstats.policies.docker_agent import marker as docker_marker
from dedupstats.policies.rtk import marker as rtk_marker
from dedupstats.report.explain_words import stub as stub_words
from dedupstats.simulate.stubs import Stub, StubVerdict, stubs

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

STUB = "Wasted call — file unchanged since your last Read. Refer to that earlier tool_result instead."
TEXT = "     1\tdef a():\n" * 30
FILE = "/home/u/p/a.py"


def write(log: Log, call_id: str = "w", *, path: str = FILE, error: bool | None = None) -> None:
    log.call(call_id, "Write", {"file_path": path, "content": "x"})
    log.result(call_id, "File created successfully", error=error)


def attach(log: Log, path: str = FILE) -> None:
    log.attachment("file", filename=path, content={"type": "text", "file": {"content": "x" * 40}})


def nothing(log: Log) -> None:
    del log


def read(log: Log) -> None:
    log.read("r", FILE, TEXT)


def spelt_otherwise(log: Log) -> None:
    log.read("r", "/home/u/p/./a.py", TEXT)


def read_and_written(log: Log) -> None:
    read(log)
    write(log)


def read_and_written_in_vain(log: Log) -> None:
    read(log)
    write(log, error=True)


def another_file_written(log: Log) -> None:
    read(log)
    write(log, path="/home/u/p/b.py")


def written_and_read(log: Log) -> None:
    write(log)
    read(log)


def read_and_compacted(log: Log) -> None:
    read(log)
    log.compact()


def read_and_restored(log: Log) -> None:
    read_and_compacted(log)
    attach(log)


def attached_and_compacted(log: Log) -> None:
    attach(log)
    read_and_compacted(log)


def written_and_restored(log: Log) -> None:
    write(log)
    log.compact()
    attach(log)


def cleared_piecemeal(log: Log) -> None:
    read(log)
    log.micro(["r"])


def another_range_read(log: Log) -> None:
    log.call("o", "Read", {"file_path": FILE, "limit": 10})
    log.result("o", TEXT)


def another_range_read_and_written(log: Log) -> None:
    another_range_read(log)
    write(log)


def failed(log: Log) -> None:
    log.call("r", "Read", {"file_path": FILE})
    log.result("r", "<tool_use_error>no such file</tool_use_error>", error=True)


def stubbed_before(log: Log) -> None:
    read(log)
    log.compact()
    log.read("s0", FILE, STUB)


def stub(tmp_path: Path, before: Callable[[Log], None]) -> Stub:
    """The last read stub of a log that begins with something."""
    log = Log()
    log.user("go")
    before(log)
    log.read("s", FILE, STUB)
    return stubs(imported(log.write(tmp_path / "s1.jsonl")).store)[-1]


@pytest.mark.parametrize(
    ("before", "verdict"),
    [
        (read, "sound"),
        (written_and_read, "sound"),
        (another_file_written, "sound"),
        (read_and_written_in_vain, "sound"),
        (read_and_written, "false"),
        (another_range_read_and_written, "false"),
        (read_and_restored, "attachment"),
        (written_and_restored, "attachment"),
        (read_and_compacted, "dangling"),
        (attached_and_compacted, "dangling"),
        (cleared_piecemeal, "dangling"),
        (another_range_read, "dangling"),
        (failed, "dangling"),
        (stubbed_before, "dangling"),
        (nothing, "dangling"),
    ],
)
def test_verdicts(tmp_path: Path, before: Callable[[Log], None], verdict: str) -> None:
    found = stub(tmp_path, before)
    assert (found.verdict, found.call_id, found.target) == (verdict, "s", FILE)


def test_what_a_verdict_comes_from(tmp_path: Path) -> None:
    # rows: 1 prompt, 2 and 3 the write, 4 boundary, 5 summary, 6 the attachment, 7 the call, 8 the stub
    found = stub(tmp_path, written_and_restored)
    assert (found.line, found.anchor_line, found.attachment_line, found.written_line) == (8, None, 6, 3)
    # rows: 1 prompt, 2 and 3 the read, 4 boundary
    gone = stub(tmp_path, read_and_compacted)
    assert (gone.anchor_line, gone.gone_line, gone.gone_kind) == (None, 4, "compaction")
    partial = stub(tmp_path, another_range_read)
    assert (partial.anchor_line, partial.same_arguments) == (3, False)


def test_an_anchor_of_the_same_arguments_in_another_spelling(tmp_path: Path) -> None:
    found = stub(tmp_path, spelt_otherwise)
    assert (found.verdict, found.same_arguments) == (StubVerdict.SOUND, True)


def test_a_sentence_that_a_command_prints_is_no_stub(tmp_path: Path) -> None:
    log = Log()
    log.user("go")
    log.bash("b", "cat a", STUB)
    store = imported(log.write(tmp_path / "s1.jsonl")).store
    assert stubs(store) == []
    assert stubs(store, 1) == []


# -- engines that compare bytes ------------------------------------------------------------------------------


def rtk_log(*before: str) -> Log:
    """A command with its output, if `r`, and a compaction, if `c`; then RTK's marker for it."""
    log = Log()
    log.user("go")
    for kind in before:
        if kind == "r":
            log.bash("b1", "git log", TEXT)
        else:
            log.compact()
    log.bash("b2", "git log", rtk_marker(1, 30, 120, "git log").rstrip("\n"))
    return log


@pytest.mark.parametrize(
    ("before", "verdict", "words"),
    [
        ("r", "sound", "the same call's result at line 3 is in sight"),
        ("rc", "dangling", "no result of the call is in sight since the compaction at line 4"),
        ("", "unknown", "no earlier result of the call is in the log of its context"),
    ],
)
def test_markers_of_rtk(tmp_path: Path, before: str, verdict: str, words: str) -> None:
    history = imported(rtk_log(*before).write(tmp_path / "s1.jsonl"))
    (found,) = stubs(history.store)
    assert (found.engine, found.call_id, found.verdict, found.target) == ("rtk", "b2", verdict, "git log")
    assert stub_words(found) == words
    assert history.classes["b2"] == "stub"


def test_two_equal_markers_of_rtk_are_no_repeat(tmp_path: Path) -> None:
    log = rtk_log("r")
    log.bash("b3", "git log", rtk_marker(1, 30, 120, "git log"))
    log.bash("b4", "git log", rtk_marker(1, 30, 120, "git log"))
    history = imported(log.write(tmp_path / "s1.jsonl"))
    assert [found.engine for found in stubs(history.store)] == ["rtk"] * 3
    assert history.repeats == {}


def test_a_text_that_quotes_a_marker_is_a_text(tmp_path: Path) -> None:
    log = Log()
    log.user("go")
    log.bash("b", "cat notes", "It says: " + rtk_marker(1, 30, 120, "git log"))
    history = imported(log.write(tmp_path / "s1.jsonl"))
    assert history.classes == {"b": "text"}
    assert stubs(history.store) == []


def test_markers_of_docker_agent_hold_to_the_same_call(tmp_path: Path) -> None:
    marked = docker_marker("read_file", len(TEXT))
    calls = [("c1", "a", TEXT), ("c2", "a", marked), ("c3", "b", marked)]
    items = [
        item
        for second, (call, path, text) in enumerate(calls)
        for item in docker_agent.read(call, path, text, 10 * second)
    ]
    file = docker_agent.export(tmp_path / "export.json", docker_agent.session("s", items))
    found = stubs(imported(file).store)
    assert [(one.engine, one.call_id, one.verdict) for one in found] == [
        ("docker_agent", "c2", "sound"),
        ("docker_agent", "c3", "unknown"),
    ]
