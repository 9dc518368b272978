"""How fast is an import against the bare loop that any importer must run (B-import of docs/ARCHITECTURE.md)?

Usage: python tests/bench/import_speed.py [MB] [ROUNDS]

B-import reads each line, parses it with orjson and hashes the text of its tool results. The import does all
that a user's import does: recognition, every column, the store on disk, the history settled. Both run in
turn in one process; CPU time is compared (a busy machine makes wall time useless) and the median of the
ratios printed, with peak memory measured in a process of its own.

Below it stand parts of an import, and what of it is spent in libraries alone: no Python of ours is in that,
so whatever the program did otherwise, it could not be faster with these libraries and this store.
"""

from __future__ import annotations

import gc
import hashlib
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from unittest import mock

import orjson
from made_up import write_sessions

from dedupstats import history, import_paths, open_store
from dedupstats.history import costs
from dedupstats.sources.base import MAX_LINE_BYTES, FileInfo, Names, Reading, Unit
from dedupstats.sources.claude_code import ClaudeCode
from dedupstats.sources.claude_code.reader import ROWS
from dedupstats.sources.claude_code.rows import Block, Row, is_record, prepare
from dedupstats.sources.claude_code.tools import Calls
from dedupstats.sources.lines import JsonLines
from dedupstats.sources.measure import measure
from dedupstats.store import store
from dedupstats.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

GOAL, STRETCH = 0.45, 0.55


def bare_loop(paths: Iterable[Path]) -> int:
    """B-import: the work that cannot be avoided."""
    results = 0
    for path in paths:
        with path.open("rb") as file:
            for line in file:
                row = orjson.loads(line)
                if row.get("type") != "user":
                    continue
                content = row["message"]["content"]
                if isinstance(content, list):
                    for block in content:
                        if block["type"] == "tool_result":
                            hashlib.sha256(block["content"].encode()).digest()
                            results += 1
    return results


def whole_import(folder: Path, db: Path) -> int:
    """What a user's first import does, on one thread."""
    db.unlink(missing_ok=True)
    with open_store(db) as store:
        # worker threads would be charged to us
        store.query("set threads = 1")
        return sum(import_paths(store, [folder]).emissions.values())


def cpu(function: object, *arguments: object) -> tuple[float, int]:
    """CPU seconds of a call, and what it returned."""
    begin = time.process_time()
    found = function(*arguments)  # type: ignore[operator]
    return time.process_time() - begin, found


def rows_of(paths: Iterable[Path]) -> Iterator[Row]:
    """All rows as the reader gets them."""
    for path in paths:
        lines = JsonLines(
            str(path), ROWS, prepare=prepare, is_record=is_record, max_line_bytes=MAX_LINE_BYTES
        )
        for batch in lines:
            yield from batch.rows


def read_alone(paths: Iterable[Path]) -> int:
    """All records of all files, as the source yields them, kept nowhere."""
    source, reading = ClaudeCode(), Reading(Names())
    count = 0
    for path in paths:
        unit = Unit(source.name, str(path.with_suffix("")), [FileInfo(str(path), path.stat().st_size, 0)])
        count += sum(1 for _ in source.read(unit, reading))
    return count


def new_store(db: Path) -> int:
    """An empty store on disk."""
    db.unlink(missing_ok=True)
    with open_store(db):
        return 0


def settle(db: Path) -> int:
    """The history of a store that was imported, once more."""
    with open_store(db) as store, store.transaction():
        store.query("set threads = 1")
        history.complete(store)
    return 0


class Clock:
    """CPU seconds spent in functions while they are watched; one called by another counts once."""

    def __init__(self) -> None:
        self.spent: Counter[str] = Counter()
        self._depth = 0

    @contextmanager
    def watch(self, label: str, *places: tuple[object, str]) -> Iterator[None]:
        """Count what the functions of these names take."""
        with ExitStack() as patches:
            for owner, name in places:
                timed = self._timed(label, getattr(owner, name))
                patches.enter_context(mock.patch.object(owner, name, timed))
            yield

    def _timed(self, label: str, function: Callable[..., object]) -> Callable[..., object]:
        def run(*arguments: object, **named: object) -> object:
            begin = time.process_time()
            self._depth += 1
            try:
                return function(*arguments, **named)
            finally:
                self._depth -= 1
                if not self._depth:
                    self.spent[label] += time.process_time() - begin

        return run


def costs_apart(folder: Path, db: Path) -> dict[str, float]:
    """CPU seconds of an import: what costs take, and of the rest what DuckDB's statements do."""
    clock = Clock()
    statements = [(Store, name) for name in ("query", "append", "arrays", "checkpoint")]
    with (
        clock.watch("costs", (costs, "settle_costs")),
        clock.watch("DuckDB", *statements, (store, "_migrate"), (store, "_connect")),
    ):
        whole, _ = cpu(whole_import, folder, db)
    return {"whole": whole, **clock.spent}


def libraries(paths: list[Path]) -> dict[str, float]:
    """CPU seconds of what libraries do with the logs: decoding, hashing, counting."""
    chunks = [path.read_bytes() for path in paths]
    texts = [
        block.content.encode()
        for chunk in chunks
        for row in ROWS.decode_lines(chunk)
        for block in (row.message.content if row.message and isinstance(row.message.content, list) else ())
        if isinstance(block, Block) and isinstance(block.content, str)
    ]
    return {
        "decoding": cpu(lambda: sum(len(ROWS.decode_lines(chunk)) for chunk in chunks))[0],
        "hashing": cpu(lambda: sum(len(hashlib.sha256(text).digest()) for text in texts))[0],
    }


def parts(paths: list[Path], db: Path) -> dict[str, float]:
    """CPU seconds of parts of an import, each by itself; what is left is writing and finding files."""
    calls: list[tuple[str, bytes, str | None]] = []
    texts: list[str] = []
    for row in rows_of(paths):
        content = row.message.content if row.message else None
        for block in content if isinstance(content, list) else ():
            if isinstance(block, Block) and block.type == "tool_use":
                calls.append((block.name or "", bytes(block.input), row.cwd))
            elif isinstance(block, Block) and isinstance(block.content, str):
                texts.append(block.content)
    gc.disable()
    facts = Calls(Reading(Names())).facts
    found = {
        "parsing into rows": cpu(lambda: sum(1 for _ in rows_of(paths)))[0],
        "hash and sizes of results": cpu(lambda: [measure(text) for text in texts])[0],
        "keys, shell class and hook of calls": cpu(lambda: [facts(*call) for call in calls])[0],
        "reading in all, these three included": cpu(read_alone, paths)[0],
        "a new store": cpu(new_store, db.with_name("empty.duckdb"))[0],
        "the history": cpu(settle, db)[0],
    }
    gc.enable()
    return found


def peak_memory(folder: Path, db: Path) -> float:
    """Peak resident memory of an import in a fresh process, in MB."""
    script = (
        "import sys; from dedupstats import import_paths, open_store; from peak import peak_megabytes;\n"
        "with open_store(sys.argv[2]) as s: import_paths(s, [sys.argv[1]])\n"
        "print(peak_megabytes())"
    )
    db.unlink(missing_ok=True)
    command = [sys.executable, "-c", script, str(folder), str(db)]
    return float(subprocess.check_output(command, cwd=Path(__file__).parent))


def main(megabytes: int = 200, rounds: int = 5) -> None:
    """Make the input, run both sides in turn, print the ratios."""
    with tempfile.TemporaryDirectory() as name:
        folder, db = Path(name) / "logs", Path(name) / "bench.duckdb"
        files = write_sessions(folder, megabytes * 1_000_000)
        paths = sorted(folder.rglob("*.jsonl"))
        ratios, bares = [], []
        for number in range(rounds + 1):
            bare, expected = cpu(bare_loop, paths)
            ours, found = cpu(whole_import, folder, db)
            assert found == expected, (found, expected)
            if number:  # the first round warms up
                ratios.append(bare / ours)
                bares.append(bare)
                print(f"round {number}: bare {bare:.2f} s, import {ours:.2f} s, speed {bare / ours:.2f}")
        median = statistics.median(ratios)
        print(
            f"{megabytes} MB, {files} files, {expected:,} results: speed {median:.2f} of B-import "
            f"(goal {GOAL}, stretch {STRETCH})"
        )
        unit = statistics.median(bares)
        for part, spent in parts(paths, db).items():
            print(f"{spent / unit:5.2f} of B-import: {part}")
        apart = costs_apart(folder, db)
        without = apart["whole"] - apart["costs"]
        alone = {"DuckDB": apart["DuckDB"], **libraries(paths)}
        print(
            f"{apart['costs'] / unit:5.2f} of B-import: costs; without them the speed is {unit / without:.2f}"
        )
        for part, spent in alone.items():
            print(f"{spent / unit:5.2f} of B-import in libraries: {part}")
        print(f"libraries alone, without costs: speed {unit / sum(alone.values()):.2f}")
        memory = peak_memory(folder, db)
        print(f"store {db.stat().st_size / 1e6:.0f} MB, peak memory {memory:.0f} MB (goal < 400)")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
