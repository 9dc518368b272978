"""Real transcripts, where they are at hand: counts per file, accounting, sight against the walk.

The corpus is not part of the project; without it these tests are skipped.
"""

from __future__ import annotations

import csv
import functools
import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.claude import of, records, sights
from support.claude_walk import Walk

from dedupstats.model import Boundary, BoundaryKind, Context, Emission, FileCount, Ignored, Request, Skipped
from dedupstats.sources.base import FileInfo, Unit
from dedupstats.sources.claude_code import ClaudeCode, layout
from dedupstats.sources.probe import Probe

if TYPE_CHECKING:
    from dedupstats.model import Record

CORPUS = Path(__file__).parents[2].parent / "shared" / "corpus"
ROOT = CORPUS / "claude_code"
pytestmark = pytest.mark.skipif(not ROOT.is_dir(), reason=f"no corpus of real logs at {CORPUS}")


def _claim(path: Path) -> str | None:
    with Probe(str(path), path.stat().st_size) as probe:
        claim = ClaudeCode().claim(probe)
    return claim.unit_key if claim else None


@functools.cache
def everything() -> list[Record]:
    """The records of all units, in the order of their keys."""
    units: dict[str, Unit] = {}
    for path in sorted(ROOT.rglob("*")):
        if path.is_file() and (key := _claim(path)):
            unit = units.setdefault(key, Unit("claude_code", key))
            unit.files.append(FileInfo(str(path), path.stat().st_size, 0))
    return [record for _, unit in sorted(units.items()) for record in records(unit)]


@functools.cache
def manifest() -> dict[str, dict[str, str]]:
    with (CORPUS / "MANIFEST.tsv").open(newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    return {str(CORPUS / row["path"]): row for row in rows if row["path"].startswith("claude_code/")}


def _transcripts() -> list[Path]:
    return sorted(path for path in ROOT.rglob("*.jsonl") if path.stat().st_size) if ROOT.is_dir() else []


def test_results_per_file() -> None:
    """Each result of a file is an emission, or ignored with a type that says why."""
    found: dict[str, int] = dict.fromkeys(manifest(), 0)
    paths = {context.context_key: context.path for context in _contexts()}
    lost_agents = {
        context.context_key
        for context in _contexts()
        if context.kind == "agent"
        and not Path(context.path).name.startswith("agent-")
        and "-" not in context.native_id
    }
    for emission in of(Emission, everything()):
        if not emission.is_return and emission.context_key not in lost_agents:
            found[paths[emission.context_key]] += 1
    for ignored in of(Ignored, everything()):
        if ignored.type in {"side_request/tool_result", "user/second result of a call"}:
            found[ignored.path] += ignored.records
    expected = {path: int(row["tool_result"] or 0) for path, row in manifest().items()}
    assert found == expected


def _contexts() -> list[Context]:
    return of(Context, everything())


def test_records_per_file() -> None:
    """The parts of each file's count add up, and their sum is the number of its lines."""
    skipped: dict[str, int] = {}
    for skip in of(Skipped, everything()):
        skipped[skip.path] = skipped.get(skip.path, 0) + 1
    for count in of(FileCount, everything()):
        assert count.records == count.used + count.copies + count.ignored + count.skipped
        assert count.skipped == skipped.get(count.path, 0)
        if count.path.endswith(".jsonl"):
            lines = [line for line in Path(count.path).read_bytes().split(b"\n") if line.strip()]
            assert count.records == len(lines), count.path


def test_broken_lines() -> None:
    broken = 0
    for path in _transcripts():
        for line in path.read_bytes().split(b"\n"):
            if line.strip():
                try:
                    json.loads(line)
                except ValueError:
                    broken += 1
    assert len(of(Skipped, everything())) == broken == 75


def test_boundaries_that_are_known() -> None:
    """claude-code.md sections 5, 7 and 8 name them."""
    paths = {context.context_key: Path(context.path).name[:8] for context in _contexts()}
    found = {(paths[b.context_key], b.line, b.kind) for b in of(Boundary, everything())}
    assert {(name, line) for name, line, kind in found if kind is BoundaryKind.COMPACTION} == {
        ("3af9b1a7", 482),
        ("f156e813", 237),
        ("762cc180", 463),
        ("8d98853c", 67),
        ("3d61c018", 72),
        ("459f2f96", 182),
        ("da518466", 253),
    }
    assert {(name, line) for name, line, kind in found if kind is BoundaryKind.MICRO} == {
        ("48244adb", 285),
        ("6b24c286", 27),
        ("6b24c286", 72),
    }
    assert {(name, line) for name, line, kind in found if kind is BoundaryKind.CLEAR} == {
        ("7ec3d003", 79),
        ("f2874f94", 8),
        ("f2874f94", 178),
        ("795a2ff3", 23),
        ("795a2ff3", 39),
        ("795a2ff3", 56),
        ("795a2ff3", 78),
    }
    # the two edited prompts, and a chain that goes on below the rows of earlier retries
    assert {(name, line) for name, line, kind in found if kind is BoundaryKind.REWIND} == {
        ("1c6f03e8", 25),
        ("f2874f94", 69),
        ("de22f52a", 78),
    }


def test_micro_compaction_clears_the_oldest_of_its_session() -> None:
    (boundary,) = (b for b in of(Boundary, everything()) if b.kind is BoundaryKind.MICRO and b.removed)
    assert boundary.removed == tuple(range(23))
    assert boundary.at_ordinal == 47


def test_requests_are_merged() -> None:
    """Each message of a file counts once: 222.1 million input-side tokens, not 443.9 (section 3)."""
    paths = {context.context_key: context.path for context in _contexts()}
    requests = [r for r in of(Request, everything()) if "_fixtures" not in paths[r.context_key]]
    merged = sum(tokens or 0 for request in requests for tokens in request[12:16])
    assert merged == _input_tokens()
    assert round(merged / 1e6, 1) == 222.1
    assert round(sum(request.output_tokens or 0 for request in requests) / 1e6, 2) == 1.38


def _input_tokens() -> int:
    names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    messages: dict[tuple[Path, str], list[int]] = {}
    for path in _transcripts():
        if "_fixtures" in path.parts:
            continue
        for line in path.read_bytes().split(b"\n"):
            try:
                row = json.loads(line)
            except ValueError:
                continue
            if row["type"] == "assistant":
                usage = row["message"].get("usage") or {}
                seen = messages.setdefault((path, row["message"]["id"]), [0, 0, 0])
                for number, name in enumerate(names):
                    seen[number] = max(seen[number], usage.get(name) or 0)
    return sum(map(sum, messages.values()))


@pytest.mark.parametrize("path", _transcripts(), ids=lambda path: path.name[:40])
def test_sight_is_that_of_the_walk(path: Path) -> None:
    if path.name.startswith(layout.SIDE_REQUESTS):
        pytest.skip("a side request holds no results of its own")
    unit = Unit("claude_code", str(path.with_suffix("")))
    unit.files.append(FileInfo(str(path), path.stat().st_size, 0))
    walked = Walk(path).sights
    told = sights(records(unit))
    # results that are only left as copies in progress rows are no part of the tree
    assert {key: calls for key, calls in told.items() if key in walked} == walked


def test_other_agents_logs_are_left_alone() -> None:
    claimed = [
        str(path)
        for folder in sorted(CORPUS.iterdir())
        if folder.is_dir() and folder != ROOT
        for path in sorted(folder.rglob("*"))
        if path.is_file() and _claim(path)
    ]
    assert claimed == []


def test_every_transcript_is_recognised() -> None:
    claimed = {str(path) for path in _transcripts() if _claim(path)}
    assert claimed == {str(path) for path in _transcripts()}
