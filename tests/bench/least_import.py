"""How fast could an import be at best? What cannot be left out, written inline, against B-import.

Usage: python tests/bench/least_import.py [MB] [ROUNDS]

Two imports that nobody could use, into one DuckDB file each: rows decoded in chunks, one row per request and
one per tool result, by the appender. The first stores what methods.md 1.1 stored (14 and 10 columns); the
second adds what has to be known of each call and text: its keys, whether it only reads, what RTK's hook would
make of it, the counts by class of character. Neither has parents, contexts, sight, boundaries, copies,
faults, what else entered, comments or a history: a whole import does all of that besides.
"""

from __future__ import annotations

import hashlib
import statistics
import struct
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
from import_speed import GOAL, bare_loop, cpu
from made_up import write_sessions

from dedupstats.collector import collector_off
from dedupstats.sources.base import Names, Reading
from dedupstats.sources.claude_code.reader import ROWS
from dedupstats.sources.claude_code.times import microseconds
from dedupstats.sources.claude_code.tools import Calls
from dedupstats.sources.measure import measure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from dedupstats.sources.claude_code.rows import Block, Row

TABLES = """
create table emission (key bigint, file integer, ordinal integer, line integer, ts bigint, tool integer,
    call_key bigint, sha256 blob, sha64 bigint, bytes integer, chars integer, lines integer, is_error boolean,
    class integer);
create table request (key bigint, file integer, line integer, ts bigint, model integer, input integer,
    cache_read integer, cache_write integer, output integer, calls integer)
"""
BATCH = 20_000
Facts = tuple[bytes, int, int, int, int]
"""hash, its first bytes, bytes, characters, lines"""
_first_eight_bytes = struct.Struct(">q").unpack_from


def key_of(*parts: str) -> int:
    """A key made of texts."""
    return int(_first_eight_bytes(hashlib.sha256("\0".join(parts).encode()).digest())[0])


def rows_of(path: Path) -> Iterator[Row]:
    """The rows of a file, in chunks; lines as the samples have them."""
    rest = b""
    with path.open("rb", buffering=0) as file:
        while data := file.read(65536):
            cut = data.rfind(b"\n") + 1
            if cut:
                yield from ROWS.decode_lines(rest + data[:cut])
                rest = data[cut:]
            else:
                rest += data


def plain_text(text: str) -> Facts:
    """What methods.md 1.1 knew of a text."""
    data = text.encode()
    digest = hashlib.sha256(data).digest()
    return digest, int(_first_eight_bytes(digest)[0]), len(data), len(text), data.count(b"\n")


def whole_text(text: str) -> Facts:
    """All that has to be known of a text; what the table has no column for is made all the same."""
    return measure(text)[:5]


def plain_call() -> Callable[[str, bytes, str | None], int]:
    """A call's key, remembered by its raw arguments."""
    known: dict[tuple[str, bytes], int] = {}

    def key(tool: str, arguments: bytes, _: str | None) -> int:
        found = known.get((tool, arguments))
        if found is None:
            found = known[tool, arguments] = key_of(tool, arguments.decode())
        return found

    return key


def whole_call() -> Callable[[str, bytes, str | None], int]:
    """All that has to be known of a call."""
    facts = Calls(Reading(Names())).facts

    def key(tool: str, arguments: bytes, cwd: str | None) -> int:
        facts(tool, arguments, cwd)
        return 0

    return key


class Least:
    """An import that keeps requests and results, and knows of calls and texts what it is told to know."""

    def __init__(
        self, text_facts: Callable[[str], Facts], call_key: Callable[[str, bytes, str | None], int]
    ) -> None:
        self._text_facts = text_facts
        self._call_key = call_key
        self._results: list[tuple[Any, ...]] = []
        self._requests: list[tuple[Any, ...]] = []

    def run(self, paths: Sequence[Path], db: Path) -> int:
        """Import files; the number of tool results."""
        db.unlink(missing_ok=True)
        with duckdb.connect(db) as connection:
            settings = "set threads = 1; set checkpoint_threshold = '1GB'"
            connection.execute(f"{settings}; {TABLES}; begin").fetchall()
            count = 0
            with collector_off():
                for number, path in enumerate(paths):
                    before = len(self._results)
                    self._read(path, number)
                    count += len(self._results) - before
                    if len(self._results) > BATCH:
                        self._append(connection)
            self._append(connection)
            connection.execute("commit; checkpoint").fetchall()
        return count

    def _append(self, connection: duckdb.DuckDBPyConnection) -> None:
        for table, rows in (("emission", self._results), ("request", self._requests)):
            with connection.appender(table) as appender:
                appender.append_rows(rows)
            rows.clear()

    def _read(self, path: Path, number: int) -> None:
        """One file, inline: each call would cost."""
        text_facts, call_key, results = self._text_facts, self._call_key, self._results
        names: dict[str | None, int] = {}
        calls: dict[str | None, tuple[int, int]] = {}
        merged: dict[str | None, tuple[Any, ...]] = {}
        for line, row in enumerate(rows_of(path)):
            message = row.message
            if message is None or not isinstance(message.content, list):
                continue
            blocks: Iterable[Block] = message.content  # type: ignore[assignment] # the samples have no others
            if row.type == "assistant" and message.usage is not None:
                usage, old = message.usage, merged.get(message.id)
                counts = (
                    usage.input_tokens,
                    usage.cache_read_input_tokens,
                    usage.cache_creation_input_tokens,
                    usage.output_tokens,
                    0,
                )
                if old is None:
                    head = (key_of(message.id or ""), number, line, microseconds(row.timestamp))
                    merged[message.id] = (*head, names.setdefault(message.model, len(names)), *counts)
                else:
                    merged[message.id] = old[:5] + tuple(map(max, old[5:], counts))
                for block in blocks:
                    if block.type == "tool_use":
                        tool = block.name or ""
                        key = call_key(tool, bytes(block.input), row.cwd)
                        calls[block.id] = names.setdefault(tool, len(names)), key
            else:
                for block in blocks:
                    if block.type == "tool_result" and isinstance(block.content, str):
                        tool_key, key = calls.get(block.tool_use_id, (0, 0))
                        head = (key_of(block.tool_use_id or "", str(path)), number, len(results), line)
                        known = (microseconds(row.timestamp), tool_key, key, *text_facts(block.content))
                        results.append((*head, *known, bool(block.is_error), 0))
        self._requests.extend(merged.values())


def main(megabytes: int = 200, rounds: int = 7) -> None:
    """Make the input, run all three in turn, print the ratios."""
    with tempfile.TemporaryDirectory() as name:
        folder, db = Path(name) / "logs", Path(name) / "least.duckdb"
        write_sessions(folder, megabytes * 1_000_000)
        paths = sorted(folder.rglob("*.jsonl"))
        ratios: list[tuple[float, float]] = []
        for number in range(rounds + 1):
            bare, expected = cpu(bare_loop, paths)
            plain, first = cpu(Least(plain_text, plain_call()).run, paths, db)
            whole, second = cpu(Least(whole_text, whole_call()).run, paths, db)
            assert first == second == expected, (first, second, expected)
            if number:  # the first round warms up
                ratios.append((bare / plain, bare / whole))
        labels = ("14 + 10 columns", "with all that has to be known of calls and texts")
        print(f"of B-import, where a whole import has the goal of {GOAL}:")
        for label, speeds in zip(labels, zip(*ratios, strict=True), strict=True):
            median, least, most = statistics.median(speeds), min(speeds), max(speeds)
            print(f"speed {median:.2f} ({least:.2f} to {most:.2f}): {label}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
