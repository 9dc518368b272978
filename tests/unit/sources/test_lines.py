"""Reading JSON lines in chunks: what is read does not depend on where chunks are cut."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from dedupstats.sources.lines import Fault, JsonLines


class Item(msgspec.Struct):
    """A row of the made-up files."""

    a: int | None = None
    text: str | None = None


DECODER = msgspec.json.Decoder(Item)


def read(
    path: Path, *, chunk_bytes: int = 65536, maximum: int = 1 << 20
) -> tuple[list[tuple[int, int | None, str | None]], list[Fault], bool]:
    lines = JsonLines(
        str(path),
        DECODER,
        prepare=lambda value: value,
        is_record=lambda value: isinstance(value.get("a"), int),
        max_line_bytes=maximum,
        chunk_bytes=chunk_bytes,
    )
    rows, faults = [], []
    for batch in lines:
        assert len(batch.lines) == len(batch.rows)
        rows += [(line, row.a, row.text) for line, row in zip(batch.lines, batch.rows, strict=True)]
        faults += batch.faults
    return rows, faults, lines.unfinished


def read_bytes(tmp_path: Path, data: bytes, **settings_: Any) -> tuple[list[Any], list[Fault], bool]:
    path = tmp_path / "f.jsonl"
    path.write_bytes(data)
    return read(path, **settings_)


def test_sound_lines(tmp_path: Path) -> None:
    rows, faults, unfinished = read_bytes(tmp_path, b'{"a":1}\n{"a":2,"other":[1]}\n')
    assert rows == [(1, 1, None), (2, 2, None)]
    assert (faults, unfinished) == ([], False)


def test_glued_values_and_a_blank_line_in_one_chunk(tmp_path: Path) -> None:
    """Counting values alone does not see it: two values on a line and a line without one."""
    rows, faults, _ = read_bytes(tmp_path, b'{"a":1}{"a":2}\n\n{"a":3}\n')
    assert [(line, a) for line, a, _ in rows] == [(1, 1), (1, 2), (3, 3)]
    assert faults == []


def test_a_value_over_two_lines_is_two_faults(tmp_path: Path) -> None:
    rows, faults, _ = read_bytes(tmp_path, b'{"a":\n1}\n{"a":2}\n{"a":3}\n')
    assert rows == [(3, 2, None), (4, 3, None)]
    assert [fault.line for fault in faults] == [1, 2]


def test_a_wrong_type_costs_only_its_own_row(tmp_path: Path) -> None:
    rows, faults, _ = read_bytes(tmp_path, b'{"a":1}\n{"a":"many"}\n{"a":"3"}\n')
    assert [a for _, a, _ in rows] == [1, 3]
    ((line, reason),) = faults
    assert line == 2
    assert reason.startswith("senseless record")


def test_lines_of_the_maximum_and_one_more(tmp_path: Path) -> None:
    fits = b'{"a":1,"text":"%s"}' % (b"x" * 83)
    assert len(fits) == 100
    data = fits + b"\n" + fits.replace(b'"a":1', b'"a":12') + b"\n" + fits + b"\n"
    for chunk_bytes in (7, 64, 65536):
        rows, faults, _ = read_bytes(tmp_path, data, chunk_bytes=chunk_bytes, maximum=100)
        assert [line for line, _, _ in rows] == [1, 3]
        assert faults == [Fault(2, "line longer than 100 bytes")]


def test_a_last_line_that_is_too_long(tmp_path: Path) -> None:
    rows, faults, unfinished = read_bytes(tmp_path, b'{"a":1}\n{"text":"' + b"x" * 200, maximum=100)
    assert rows == [(1, 1, None)]
    assert faults == [Fault(2, "line longer than 100 bytes")]
    assert not unfinished


PIECES = st.one_of(
    st.builds(
        lambda a, text: json.dumps({"a": a, "text": text}).encode(),
        st.integers(-9, 9),
        st.text(max_size=12),
    ),
    st.builds(
        lambda text: json.dumps({"text": text}, ensure_ascii=False).encode("utf-8", "surrogatepass"),
        st.text(st.sampled_from("a\u2028\u0085\r\x0b\ud83dä"), max_size=6),
    ),
    st.sampled_from(
        [
            b"",
            b"  ",
            b"\r",
            b"[]",
            b"42",
            b"null",
            b'{"a":1}{"a":2}',
            b'{"a":1} {"a":2}',
            b'{"a":',
            b'{"text":"cut{"a":7}',
            b"\0\0\0",
            b'\0{"a":5}',
            b'{"a":NaN}',
            b'{"a":"x"}',
            b'{"text":"\\ud83d"}',
            b'{"text":"' + b"y" * 90 + b'"}',
            b"\xff\xfe",
        ]
    ),
)


@settings(max_examples=300, deadline=None)
@given(st.lists(PIECES, max_size=12), st.booleans(), st.integers(1, 60))
def test_the_size_of_chunks_does_not_matter(pieces: list[bytes], is_ended: bool, chunk_bytes: int) -> None:  # noqa: FBT001
    data = b"\n".join(pieces) + (b"\n" if is_ended else b"")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "f.jsonl"
        path.write_bytes(data)
        assert read(path, chunk_bytes=chunk_bytes, maximum=80) == read(path, maximum=80)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(-9, 9), st.text(max_size=8)), min_size=1, max_size=8), st.data())
def test_no_sound_line_is_lost_beside_broken_ones(values: list[tuple[int, str]], data: st.DataObject) -> None:
    lines: list[bytes] = []
    expected = []
    for a, text in values:
        if data.draw(st.booleans()):
            lines.append(data.draw(st.sampled_from([b'{"a":', b"]", b"\0\0", b'"x', b"{'a':1}"])))
        lines.append(json.dumps({"a": a, "text": text}).encode())
        expected.append((len(lines), a, text))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "f.jsonl"
        path.write_bytes(b"\n".join(lines) + b"\n")
        rows, faults, _ = read(path)
    assert rows == expected
    assert len(faults) == len(lines) - len(values)
