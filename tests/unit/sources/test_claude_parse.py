"""Fault cases P (parsing and identification), T and X as far as the reading of transcripts goes."""

from __future__ import annotations

import hashlib
import json
import tracemalloc
from typing import TYPE_CHECKING, Any

import pytest
from support.claude import Transcript, of, records, unit_of

from dedupstats.errors import UnreadableUnitError
from dedupstats.model import (
    Class,
    Context,
    ContextKind,
    Emission,
    Entered,
    FileCount,
    Ignored,
    Record,
    Request,
    Skipped,
    Turn,
)
from dedupstats.sources.base import FileInfo, Names, Unit
from dedupstats.sources.claude_code.times import microseconds

if TYPE_CHECKING:
    from pathlib import Path

X = "x" * 300


def one_read(content: Any = X, call: str = "t1", session: str = "s1") -> Transcript:
    t = Transcript(session)
    t.user("hi")
    t.read(call, "a", content)
    return t


def read_text(tmp_path: Path, text: str | bytes) -> list[Record]:
    path = tmp_path / "s1.jsonl"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    unit = Unit("claude_code", str(tmp_path / "s1"))
    unit.files.append(FileInfo(str(path), path.stat().st_size, 0))
    return records(unit)


def counts(found: list[Record]) -> tuple[int, int, int, int]:
    """used, copies, ignored, skipped of the one file; the parts must add up."""
    (count,) = of(FileCount, found)
    assert count.records == count.used + count.copies + count.ignored + count.skipped
    assert count.skipped == len(of(Skipped, found))
    assert count.ignored == sum(ignored.records for ignored in of(Ignored, found))
    return count.used, count.copies, count.ignored, count.skipped


# -- P: lines -------------------------------------------------------------------------------------


def test_p01_spliced_record(tmp_path: Path) -> None:
    u1, u3, u4 = one_read().lines()
    u2 = json.dumps({"type": "user", "uuid": "u2"})
    broken = u2[:-1] + ',"mess' + u3
    found = read_text(tmp_path, f"{u1}\n{broken}\n{u4}\n")
    assert counts(found) == (3, 0, 0, 1)
    (skipped,) = of(Skipped, found)
    assert (skipped.path, skipped.line) == (str(tmp_path / "s1.jsonl"), 2)
    assert "broken JSON" in skipped.reason
    assert [e.call_id for e in of(Emission, found)] == ["t1"]


def test_p01_a_part_of_a_record_is_no_record(tmp_path: Path) -> None:
    line = one_read().lines()[2]
    found = read_text(tmp_path, line[100:] + "\n")
    assert counts(found) == (0, 0, 0, 1)


def test_p02_two_records_on_one_line(tmp_path: Path) -> None:
    found = read_text(tmp_path, "".join(one_read().lines()) + "\n")
    assert counts(found) == (3, 0, 0, 0)
    assert [e.line for e in of(Emission, found)] == [1]


def test_p03_nul_bytes(tmp_path: Path) -> None:
    first, second, third = one_read().lines()
    found = read_text(tmp_path, first + "\n" + "\0" * 300 + "\n" + second + "\n\0\0" + third + "\n")
    assert counts(found) == (3, 0, 0, 2)
    assert {(s.line, s.reason) for s in of(Skipped, found)} == {(2, "NUL bytes"), (4, "NUL bytes")}


def test_p04_line_that_is_still_being_written(tmp_path: Path) -> None:
    lines = one_read().lines()
    half = "\n".join([*lines[:2], lines[2][:40]])
    found = read_text(tmp_path, half)
    assert counts(found) == (2, 0, 0, 0)
    assert of(FileCount, found)[0].unfinished
    found = read_text(tmp_path, "\n".join(lines))
    assert counts(found) == (3, 0, 0, 0)
    assert not of(FileCount, found)[0].unfinished


def test_p05_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "s1.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + ("\n".join(one_read().lines()) + "\n").encode())
    found = records(path)
    assert counts(found) == (3, 0, 0, 0)


def test_p06_crlf(tmp_path: Path) -> None:
    path = one_read("abc").write(tmp_path / "s1.jsonl", end="\r\n")
    found = records(path)
    assert counts(found) == (3, 0, 0, 0)
    (emission,) = of(Emission, found)
    assert (emission.sha256, emission.bytes) == (hashlib.sha256(b"abc").digest(), 3)


def test_p07_unicode_line_breaks(tmp_path: Path) -> None:
    for name, text, size in (("s1", "a\u2028b", 5), ("s2", "a\u0085b", 4), ("s3", "a\x0bb", 3)):
        (emission,) = of(Emission, records(one_read(text).write(tmp_path / f"{name}.jsonl")))
        assert (emission.bytes, emission.chars, emission.lines) == (size, 3, 1)


def test_p08_unknown_types_are_counted(tmp_path: Path) -> None:
    found = read_text(
        tmp_path,
        '{"type":"continued-in","continuedInSessionId":"s2"}\n{"type":"zz-new","x":1}\n'
        '{"type":"zz-new","message":"text","attachment":[1],"sessionId":5}\n{"no":"type"}\n',
    )
    assert counts(found) == (0, 0, 4, 0)
    assert {(i.type, i.records) for i in of(Ignored, found)} == {
        ("continued-in", 1),
        ("zz-new", 2),
        ("(no type)", 1),
    }


def test_p09_senseless_records(tmp_path: Path) -> None:
    t = Transcript()
    t.user("hi")
    t.row("assistant", message={"0": "{", "1": '"', "content": []})
    t.row("assistant", message="text")
    t.row("user", message=...)
    found = records(t.write(tmp_path / "s1.jsonl"))
    assert counts(found) == (1, 0, 0, 3)
    assert of(Request, found) == []


def test_p10_rows_that_are_no_objects(tmp_path: Path) -> None:
    found = read_text(tmp_path, '[]\nnull\n42\n"x"\n' + one_read().lines()[0] + "\n")
    assert counts(found) == (1, 0, 0, 4)
    assert [s.line for s in of(Skipped, found)] == [1, 2, 3, 4]


def test_blank_lines_are_no_records(tmp_path: Path) -> None:
    found = read_text(tmp_path, "\n\n" + "\n  \n".join(one_read().lines()) + "\n\n")
    assert counts(found) == (3, 0, 0, 0)
    assert [e.line for e in of(Emission, found)] == [7]


def test_an_empty_file_holds_nothing(tmp_path: Path) -> None:
    found = read_text(tmp_path, "")
    assert found == [FileCount(str(tmp_path / "s1.jsonl"), 0, 0, 0, 0, 0, False)]


# -- P: results -----------------------------------------------------------------------------------


def test_p11_the_hosts_own_copy_of_a_result_does_not_count(tmp_path: Path) -> None:
    t = Transcript()
    t.user("hi")
    t.call("t1", "Bash", {"command": "ls"})
    t.result("t1", "abcd", toolUseResult={"stdout": "abcd" * 1000})
    t.call("t2", "Bash", {"command": "ls x"})
    t.result("t2", "no", error=True, toolUseResult="Error: no")
    t.call("t3", "mcp__x__y", {})
    t.result("t3", "z", toolUseResult=[{"type": "text", "text": "z"}])
    found = records(t.write(tmp_path / "s1.jsonl"))
    assert [e.bytes for e in of(Emission, found)] == [4, 2, 1]


def test_p12_key_order_in_image_blocks(tmp_path: Path) -> None:
    t = Transcript()
    t.user("hi")
    t.read(
        "t1",
        "a.png",
        [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA"}}],
    )
    t.read(
        "t2",
        "a.png",
        [{"source": {"data": "AA", "media_type": "image/png", "type": "base64"}, "type": "image"}],
    )
    t.read(
        "t3",
        "b.png",
        [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AB"}}],
    )
    first, second, third = of(Emission, records(t.write(tmp_path / "s1.jsonl")))
    assert first.klass is second.klass is third.klass is Class.IMAGE
    assert first.sha256 == second.sha256 != third.sha256
    written = '[{"source":{"data":"AA","media_type":"image/png","type":"base64"},"type":"image"}]'
    assert first.sha256 == hashlib.sha256(b"\0" + written.encode()).digest()
    assert first.bytes == 0


def test_p13_result_shapes(tmp_path: Path) -> None:
    shapes: tuple[Any, ...] = (
        "abc",
        [{"type": "text", "text": "abc"}],
        [],
        ...,
        [{"type": "text", "text": "a"}, {"type": "text", "text": "bc"}],
        ["a", "bc"],
        None,
        {"type": "text", "text": "abc"},
        [{"type": "tool_reference", "tool_name": "WebFetch"}],
    )
    t = Transcript()
    t.user("hi")
    for number, shape in enumerate(shapes):
        t.read(f"t{number}", "a", shape)
    emissions = of(Emission, records(t.write(tmp_path / "s1.jsonl")))
    texts = [e for e in emissions if e.klass is Class.TEXT]
    assert [e.call_id for e in texts] == ["t0", "t1", "t4", "t5", "t7"]
    assert {(e.sha256, e.bytes) for e in texts} == {(hashlib.sha256(b"abc").digest(), 3)}
    assert [e.call_id for e in emissions if e.klass is Class.EMPTY] == ["t2", "t3", "t6", "t8"]


def test_p14_the_project_is_the_rows_working_directory(tmp_path: Path) -> None:
    cwds = []
    for name, cwd in (("a", "/home/u/my_project"), ("b", "/home/u/my-project")):
        t = Transcript(name, cwd)
        t.user("hi")
        path = t.write(tmp_path / "-home-u-my-project" / f"{name}.jsonl")
        cwds += [context.cwd for context in of(Context, records(path))]
    assert cwds == ["/home/u/my_project", "/home/u/my-project"]


def test_p15_subagents_in_nested_folders(tmp_path: Path) -> None:
    path = one_read().write(tmp_path / "s1.jsonl")
    agents = tmp_path / "s1" / "subagents"
    for place, agent in ((agents, "a"), (agents / "workflows" / "wf_1", "b")):
        t = Transcript("s1", agent=agent, prefix=agent)
        t.user("search")
        t.read(f"t-{agent}", "a", X)
        t.write(place / f"agent-{agent}.jsonl")
    (agents / "agent-a.meta.json").write_text('{"agentType":"Explore","description":"x"}')
    (agents / "workflows" / "wf_1" / "journal.jsonl").write_text('{"type":"started","agentId":"b"}\n')
    found = records(path)
    contexts = of(Context, found)
    assert {(c.native_id, c.kind, c.session_id, c.agent) for c in contexts} == {
        ("s1", ContextKind.MAIN, "s1", None),
        ("a", ContextKind.AGENT, "s1", "Explore"),
        ("b", ContextKind.AGENT, "s1", None),
    }
    (main,) = (c.context_key for c in contexts if c.kind is ContextKind.MAIN)
    assert {c.parent_key for c in contexts if c.kind is ContextKind.AGENT} == {main}
    assert of(Skipped, found) == []
    assert len(of(FileCount, found)) == 5


def test_p16_a_subagent_that_the_parent_never_names(tmp_path: Path) -> None:
    path = one_read().write(tmp_path / "s1.jsonl")
    t = Transcript("other id in the rows", agent="a", prefix="a")
    t.user("search")
    t.write(tmp_path / "s1" / "subagents" / "agent-a.jsonl")
    assert [c.session_id for c in of(Context, records(path))] == ["s1", "s1"]


def test_p17_rows_of_another_session(tmp_path: Path) -> None:
    t = one_read()
    t.session = "s2"
    t.read("t2", "b", X)
    names = Names()
    found = records(t.write(tmp_path / "s1.jsonl"), names)
    (context,) = of(Context, found)
    assert (context.session_id, context.is_moved) == ("s1", False)
    emissions = of(Emission, found)
    assert [names.texts[e.ledger_key or 0] for e in emissions] == ["s1", "s2"]
    assert [e.is_home for e in emissions] == [True, False]


def test_a_file_whose_name_is_no_session_of_its_rows(tmp_path: Path) -> None:
    found = records(one_read(session="s1").write(tmp_path / "backup.jsonl"))
    (context,) = of(Context, found)
    assert (context.session_id, context.native_id, context.is_moved) == ("s1", "backup", True)


# -- T: time --------------------------------------------------------------------------------------


def test_t10_t12_the_clock_goes_back(tmp_path: Path) -> None:
    t = Transcript()
    t.user("hi", timestamp="2026-03-01T18:00:00.000Z")
    t.read("t1", "a", X)  # 09:00 by the builder's clock
    (emission,) = of(Emission, records(t.write(tmp_path / "s1.jsonl")))
    assert emission.at == microseconds("2026-03-01T09:00:03.000Z")
    assert emission.clock == microseconds("2026-03-01T18:00:00Z")


def test_t11_senseless_times(tmp_path: Path) -> None:
    t = Transcript()
    t.user("hi", timestamp=...)
    for number, time in enumerate(
        (..., "yesterday afternoon", "", None, -5, 1e300, "2026-13-45T99:00:00.000Z")
    ):
        t.call(f"t{number}", "Read", {"file_path": "a"}, timestamp=...)
        t.result(f"t{number}", X, timestamp=time)
    found = records(t.write(tmp_path / "s1.jsonl"))
    assert [(e.at, e.clock) for e in of(Emission, found)] == [(None, None)] * 7
    assert of(Context, found)[0].started_at is None


@pytest.mark.parametrize(
    "stamp",
    [
        "2026-03-24T04:17:11.733Z",
        "2026-03-24T04:17:11.733000+00:00",
        "2026-03-24T05:17:11.733+01:00",
        "2026-03-24T04:17:11.733",
        1774325831.733,
        1774325831733,
        1774325831733000,
        "1774325831733",
    ],
)
def test_t14_units_are_told_apart(stamp: str | float) -> None:
    assert microseconds(stamp) == 1_774_325_831_733_000


def test_seconds_of_a_known_minute_are_checked() -> None:
    assert microseconds("2026-03-24T04:17:11.733Z") is not None
    assert microseconds("2026-03-24T04:17:61.733Z") is None
    assert microseconds("2026-03-24T04:17:xx.733Z") is None


# -- X: files and odd text ------------------------------------------------------------------------


def test_x12_lone_surrogate(tmp_path: Path) -> None:
    t = Transcript()
    t.user("hi")
    t.call("t1", "Bash", {"command": "echo \ud83d"})
    t.result("t1", "a\ud83d")
    t.call("t2", "Bash", {"command": "echo \ud83d"})
    t.result("t2", [{"type": "text", "text": "a\ud83d"}])
    first, second = of(Emission, records(t.write(tmp_path / "s1.jsonl"), keep_content=True))
    assert first.bytes == second.bytes == 4
    assert first.sha256 == second.sha256 == hashlib.sha256(b"a\xed\xa0\xbd").digest()
    assert first.call_key == second.call_key
    assert (first.content, first.target) == ("a\\ud83d", "echo \\ud83d")
    first.content.encode()


def test_x13_nul_inside_a_result(tmp_path: Path) -> None:
    t = Transcript()
    t.user("hi")
    t.read("t1", "a", "a\0b")
    t.read("t2", "a", "ab")
    first, second = of(Emission, records(t.write(tmp_path / "s1.jsonl")))
    assert (first.bytes, second.bytes) == (3, 2)
    assert first.sha256 != second.sha256


def test_x14_a_huge_line_is_dropped_without_being_held(tmp_path: Path) -> None:
    path = tmp_path / "s1.jsonl"
    first, second, third = one_read().lines()
    with path.open("wb") as file:
        file.write(f"{first}\n{second}\n".encode())
        for _ in range(40):
            file.write(b"x" * (1 << 20))
        file.write(f"\n{third}\n".encode())
    unit = unit_of(path)
    records(unit)
    tracemalloc.start()
    found = records(unit)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert counts(found) == (3, 0, 0, 1)
    assert [e.line for e in of(Emission, found)] == [4]
    assert "16777216" in of(Skipped, found)[0].reason
    assert peak < 20 * (1 << 20)  # the limit of a line and a little


def test_nan_and_huge_numbers_lose_no_row(tmp_path: Path) -> None:
    lines = one_read().lines()
    odd = lines[1].replace('"input_tokens":10', '"input_tokens":1e400,"extra":NaN,"huge":' + "9" * 5000)
    found = read_text(tmp_path, "\n".join([lines[0], odd, lines[2]]) + "\n")
    assert counts(found) == (3, 0, 0, 0)
    assert len(of(Emission, found)) == 1


def test_duplicate_keys_the_last_one_wins(tmp_path: Path) -> None:
    lines = one_read().lines()
    twice = lines[2].replace('"type":"user"', '"type":"assistant","type":"user"')
    assert len(of(Emission, read_text(tmp_path, "\n".join([*lines[:2], twice]) + "\n"))) == 1


def test_deep_nesting_is_skipped(tmp_path: Path) -> None:
    deep = '{"type":"user","x":' + "[" * 200_000 + "]" * 200_000 + "}"
    found = read_text(tmp_path, deep + "\n" + one_read().lines()[0] + "\n")
    assert counts(found) == (1, 0, 0, 1)


def test_invalid_utf8_loses_no_row(tmp_path: Path) -> None:
    data = "\n".join(one_read("abc").lines()).encode().replace(b"abc", b"ab\xff") + b"\n"
    assert len(of(Emission, read_text(tmp_path, data))) == 1


def test_an_unreadable_unit_is_one_error(tmp_path: Path) -> None:
    unit = Unit("claude_code", str(tmp_path / "s1"))
    unit.files.append(FileInfo(str(tmp_path / "s1.jsonl"), 1, 0))
    with pytest.raises(UnreadableUnitError, match=r"s1\.jsonl"):
        records(unit)


def test_one_unreadable_file_does_not_cost_the_others(tmp_path: Path) -> None:
    unit = unit_of(one_read().write(tmp_path / "s1.jsonl"))
    gone = str(tmp_path / "s1" / "subagents" / "agent-a.jsonl")
    unit.files.append(FileInfo(gone, 1, 0))
    found = records(unit)
    assert len(of(Emission, found)) == 1
    assert [(s.path, s.line) for s in of(Skipped, found)] == [(gone, 0)]


# -- what else is kept ----------------------------------------------------------------------------


def test_content_and_targets_are_kept_only_when_asked_for(tmp_path: Path) -> None:
    path = one_read("abc").write(tmp_path / "s1.jsonl")
    (plain,) = of(Emission, records(path))
    (bare,) = of(Emission, records(path, keep_targets=False))
    (full,) = of(Emission, records(path, keep_content=True))
    assert (plain.content, plain.target) == (None, "a")
    assert (bare.content, bare.target) == (None, None)
    assert (full.content, full.target) == ("abc", "a")
    assert plain.target_sha64 == bare.target_sha64 == full.target_sha64 is not None


def test_the_same_input_gives_the_same_records(tmp_path: Path) -> None:
    path = one_read().write(tmp_path / "s1.jsonl")
    assert records(path) == records(path)


def test_turns_and_texts_are_recorded(tmp_path: Path) -> None:
    names = Names()
    found = records(one_read().write(tmp_path / "s1.jsonl"), names)
    (turn,) = of(Turn, found)
    assert (turn.turn, turn.line, turn.emissions_before, turn.is_steering) == (1, 1, 0, False)
    (entered,) = of(Entered, found)
    assert (entered.kind, names.texts[entered.type_key], entered.bytes) == ("user", "prompt", 2)
