"""Reading JSON lines in chunks: fast where lines are sound, forgiving where they are not.

A chunk of whole lines is decoded in one call into typed structs. Where that fails, or where values and lines
do not match (blank lines, two values on one line), the lines of that chunk are taken one by one with the
standard library's parser, which reads what the fast ones refuse (lone surrogates, `NaN`); what then cannot be
used is a `Fault`. Nothing is lost silently, and where chunks are cut makes no difference.
Measured: methods.md 1.1; the traps: methods.md 1.2.
"""

from __future__ import annotations

import json
import re
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Generic, NamedTuple, TypeVar

import msgspec

from dedupstats.sources.base import JSON_DECODER, MANY_VALUES, has_many_values, text_of_json
from dedupstats.sources.probe import BOM

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

CHUNK_BYTES = 64 * 1024
SALVAGE_TRIES = 200
"""places in a broken line at which a whole record is looked for"""
SALVAGE_WORK = 4
"""how often, in all, a broken line is gone over for what only the slow parser reads"""
LONG_LINE = 1024 * 1024
"""bytes from which a line can hold so many values that they would fill the memory"""
LINE_VALUES = 10_000
"""values that a line may hold; one is usual, two are what a crash leaves"""
RETURN, OPEN, CLOSE = b"\r{}"

Row = TypeVar("Row")


class Fault(NamedTuple):
    """A line, or a part of one, that could not be used."""

    line: int
    reason: str


class Batch(NamedTuple, Generic[Row]):
    """Rows of one chunk, each with its line number, and what went wrong in it."""

    lines: Sequence[int]
    rows: list[Row]
    faults: list[Fault]


_OBJECT = re.compile(r'\{\s*"')
_BLANK = re.compile(r"\s*")
_REFUSED = (ValueError, RecursionError)
_ANY = msgspec.json.Decoder(msgspec.Raw)


class JsonLines(Generic[Row]):
    """The rows of one file.

    Iterate once. `unfinished` tells afterwards whether somebody is still writing the last line.

    Args:
        path: The file.
        decoder: For a msgspec struct with defaults for all fields.
        prepare: Turns an object parsed by the standard library into what `msgspec.convert` accepts for
            the struct (fields of type `Raw`).
        is_record: Whether an object found inside a broken line is a whole record rather than a part of one.
        max_line_bytes: Longer lines are dropped without being held.
        chunk_bytes: How much is read at once.
    """

    def __init__(
        self,
        path: str,
        decoder: msgspec.json.Decoder[Row],
        *,
        prepare: Callable[[dict[str, Any]], dict[str, Any]],
        is_record: Callable[[dict[str, Any]], bool],
        max_line_bytes: int,
        chunk_bytes: int = CHUNK_BYTES,
    ) -> None:
        self.path = path
        self.unfinished = False
        self._decoder = decoder
        self._prepare = prepare
        self._is_record = is_record
        self._maximum = max_line_bytes
        self._chunk_bytes = min(chunk_bytes, max_line_bytes)

    def __iter__(self) -> Iterator[Batch[Row]]:
        """Batches in the order of the file.

        Raises:
            OSError: The file cannot be opened or read.
        """
        decode_lines = self._decoder.decode_lines
        with Path(self.path).open("rb", buffering=0) as file:
            for first, chunk, count, is_plain in self._chunks(file):
                if chunk is None:
                    reason = f"line longer than {self._maximum} bytes"
                    yield Batch((), [], [Fault(first, reason)])
                    continue
                try:
                    if len(chunk) >= LONG_LINE and has_many_values(chunk):
                        raise ValueError
                    rows = decode_lines(chunk)
                except _REFUSED:
                    yield self._by_line(chunk, first, count)
                    continue
                if is_plain and len(rows) == count:
                    yield Batch(range(first, first + count), rows, [])
                else:
                    yield self._by_line(chunk, first, count)

    def _chunks(self, file: BinaryIO) -> Iterator[tuple[int, bytes | None, int, bool]]:
        """Number of the first line, whole lines (None: one too long), and what `_lines` says of them."""
        line, held, length, skipping = 1, list[bytes](), 0, False
        while data := file.read(self._chunk_bytes):
            first = data.find(b"\n")
            if skipping or length + (first if first >= 0 else len(data)) > self._maximum:
                held, length, skipping = [], 0, first < 0
                if skipping:
                    continue
                yield line, None, 1, False
                line += 1
                data = data[first + 1 :]
            cut = data.rfind(b"\n") + 1
            if cut:
                chunk = b"".join((*held, memoryview(data)[:cut]))
                count, is_plain = _lines(chunk)
                yield line, chunk, count, is_plain
                line += count
                held, length = [], 0
                data = data[cut:]
            if data:
                held.append(data)
                length += len(data)
        if skipping:
            yield line, None, 0, False
        elif held:
            yield line, b"".join(held), 0, False

    def _by_line(self, chunk: bytes, first: int, count: int) -> Batch[Row]:
        batch: Batch[Row] = Batch(list[int](), [], [])
        # not splitlines(): U+2028, \v and \r inside a string are data (fault case P07)
        for number, text in enumerate(chunk.split(b"\n"), first):
            if text and not text.isspace():
                self._take(text, number, batch, is_ended=number < first + count)
        return batch

    def _take(self, text: bytes, number: int, batch: Batch[Row], *, is_ended: bool) -> None:
        if number == 1:
            text = text.removeprefix(BOM)
        if len(text) >= LONG_LINE and has_many_values(text):
            batch.faults.append(Fault(number, f"more than {MANY_VALUES:,} values"))
            return
        if b"\0" in text:
            batch.faults.append(Fault(number, "NUL bytes"))
            text = text.replace(b"\0", b"")
            if not text or text.isspace():
                return
        try:
            row = self._decoder.decode(text)
        except _REFUSED:
            pass
        else:
            batch.lines.append(number)  # type: ignore[attr-defined]
            batch.rows.append(row)
            return
        values, reason = self._values(text_of_json(text), is_ended=is_ended)
        if reason or not is_ended:
            objects = [value for value in values if isinstance(value, dict)]
            self.unfinished = not is_ended and (bool(reason) or len(objects) < len(values))
            values = objects
        if reason and is_ended:
            batch.faults.append(Fault(number, reason))
        for value in values:
            self._convert(value, number, batch)

    def _convert(self, value: Any, number: int, batch: Batch[Row]) -> None:
        if not isinstance(value, dict):
            batch.faults.append(Fault(number, f"not an object but {type(value).__name__}"))
            return
        try:
            row = msgspec.convert(self._prepare(value), self._decoder.type, strict=False)
        except _REFUSED as error:
            batch.faults.append(Fault(number, f"senseless record: {error}"))
            return
        batch.lines.append(number)  # type: ignore[attr-defined]
        batch.rows.append(row)

    def _values(self, text: str, *, is_ended: bool) -> tuple[list[Any], str]:
        """All values on a line, and why something of it is lost (empty: nothing is)."""
        values: list[Any] = []
        at = _skip_blank(text, 0)
        while at < len(text):
            try:
                value, end = JSON_DECODER.raw_decode(text, at)
            except _REFUSED as error:
                if is_ended:
                    values.extend(self._salvage(text, at + 1))
                reason = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
                return values, f"broken JSON: {reason}"
            if len(values) == LINE_VALUES:
                return values, f"more than {LINE_VALUES:,} values on one line"
            values.append(value)
            at = _skip_blank(text, end)
        return values, ""

    def _salvage(self, text: str, start: int) -> list[Any]:
        """The record that begins inside a broken one and ends the line (fault case P01), if there is one."""
        work = SALVAGE_WORK * len(text)
        for match in islice(_OBJECT.finditer(text, start), SALVAGE_TRIES):
            at = match.start()
            # the fast parser says at once of nearly every place that nothing whole begins there
            if not _is_sound(text, at):
                if work <= 0:
                    continue
                work -= len(text) - at
            try:
                value, end = JSON_DECODER.raw_decode(text, at)
            except _REFUSED:
                continue
            if _skip_blank(text, end) == len(text) and self._is_record(value):
                return [value]
        return []


def _is_sound(text: str, at: int) -> bool:
    """Whether the rest of a text is one JSON value that any parser reads."""
    try:
        _ANY.decode(text[at:])
    except (*_REFUSED, UnicodeEncodeError):
        return False
    return True


def _lines(chunk: bytes) -> tuple[int, bool]:
    """How many lines there are, and whether every one begins with `{` and ends with `}`.

    With as many values as lines, each line then is one value: no value can go on from a `}` at a line's end
    to a `{`, so none spans lines, and no line is blank to make up for two values on another.
    """
    count = begin = 0
    is_plain = True
    find = chunk.find
    # a search for each line costs a fifth of counting all newlines: lines are long
    while (end := find(b"\n", begin)) >= 0:
        if chunk[begin] != OPEN or chunk[end - 1] != CLOSE:
            is_closed = chunk[end - 1] == CLOSE or (chunk[end - 1] == RETURN and chunk[end - 2] == CLOSE)
            is_plain = is_plain and is_closed and chunk[begin] == OPEN
        count += 1
        begin = end + 1
    return count, is_plain


def _skip_blank(text: str, at: int) -> int:
    match = _BLANK.match(text, at)
    return match.end() if match else at
