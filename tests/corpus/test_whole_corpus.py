"""All three formats of the corpus in one command: sums, the manifest, other orders, other agents' logs."""

from __future__ import annotations

import csv
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from dedupstats import import_paths, open_store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dedupstats import ImportSummary, Store

CORPUS = (Path(__file__).resolve().parents[3] / "shared" / "corpus").resolve()
OURS = ("claude_code", "docker-agent", "rtk")
EXCERPTS = CORPUS / "claude_code" / "_fixtures"

pytestmark = pytest.mark.skipif(not CORPUS.is_dir(), reason=f"no corpus at {CORPUS}")

SIDE_REQUESTS = {
    "agent-aside_question-ac9ee4804d56a951.jsonl": 14,
    "agent-acompact-78b2c7bd4ded2e45.jsonl": 1,
    "agent-acompact-392aad.jsonl": 1,
}
"""Files of requests that carry a copy of a context, with the results they repeat: no emissions there."""
LOST_AGENT = ("3bd9cf18-3c9b-42f5-8fd1-47f5456c1fec.lines52-58.jsonl", 4)
"""Its progress rows hold the only copy of a subagent's results; the manifest counts a file's own rows."""


class Whole(NamedTuple):
    """Everything below the corpus, other agents' logs too, in one import."""

    store: Store
    summary: ImportSummary


@pytest.fixture(scope="module")
def whole() -> Iterator[Whole]:
    with open_store(":memory:") as store:
        yield Whole(store, import_paths(store, [CORPUS]))


def every_view(store: Store) -> dict[str, set[tuple[Any, ...]]]:
    """All rows of all views, but for files that are no logs and the time of the import."""
    names = store.query("select view_name from duckdb_views() where not internal and schema_name = 'main'")
    columns = {"unit": "* exclude (imported_at)"}
    tail = {"file": "where source is not null"}
    return {
        name: set(store.query(f"select {columns.get(name, '*')} from {name} {tail.get(name, '')}"))
        for (name,) in names
    }


def unlike(store: Store, wanted: dict[str, set[tuple[Any, ...]]]) -> dict[str, list[tuple[Any, ...]]]:
    """Per view that differs, some of the rows that one side has alone."""
    found = every_view(store)
    return {name: sorted(found[name] ^ rows)[:2] for name, rows in wanted.items() if found[name] != rows}


def results_by_file(store: Store) -> dict[Path, int]:
    """How many results each file holds, copies included."""
    rows = store.query(
        "select path, count(distinct (context_key, line, call_id)) from emission group by path"
    )
    return {Path(path): count for path, count in rows}


def manifest() -> list[tuple[Path, int]]:
    with (CORPUS / "MANIFEST.tsv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    return [(CORPUS / row["path"], int(row["tool_result"] or 0)) for row in rows]


def test_records_add_up(whole: Whole) -> None:
    files = whole.store.query(
        # a write-ahead log has no records of its own
        "select path, records, used, copies, ignored, skipped from file where records is not null"
    )
    assert [row for row in files if row[1] != sum(row[2:]) or min(row[1:]) < 0] == []
    totals = [sum(column) for column in zip(*(row[1:] for row in files), strict=True)]
    summary = whole.summary
    assert totals == [summary.records, summary.used, summary.copies, summary.ignored, summary.skipped]
    assert whole.store.query("select sum(records) from ignored") == [(summary.ignored,)]
    faults = len(summary.unreadable)
    assert whole.store.query("select count(*) from skipped") == [(summary.skipped + faults,)]


def test_records_are_the_lines_that_hold_something(whole: Whole) -> None:
    for path, records in whole.store.query("select path, records from file where source = 'claude_code'"):
        if path.endswith(".jsonl"):
            assert records == sum(bool(line.strip()) for line in Path(path).read_bytes().split(b"\n")), path


def test_results_per_file_are_those_of_the_manifest(whole: Whole) -> None:
    found = results_by_file(whole.store)
    unequal = {
        path.name: wanted - found.get(path, 0)
        for path, wanted in manifest()
        if path.relative_to(CORPUS).parts[0] in OURS and found.get(path, 0) != wanted
    }
    assert unequal == SIDE_REQUESTS | {LOST_AGENT[0]: -LOST_AGENT[1]}
    told = whole.store.query("select path, records from ignored where type = 'side_request/tool_result'")
    assert {Path(path).name: records for path, records in told} == SIDE_REQUESTS


def test_what_was_skipped(whole: Whole) -> None:
    """73 lines that a user's own redaction broke, 2 that were written over, a page of a database."""
    rows = whole.store.query("select path, reason from skipped")
    by_file = defaultdict(list)
    for path, reason in rows:
        by_file[Path(path).relative_to(CORPUS).parts[:2]].append(reason)
    assert {place: len(reasons) for place, reasons in by_file.items()} == {
        ("claude_code", "M-Thisness__M-Claude"): 73,
        ("claude_code", "_fixtures"): 2,
        ("docker-agent", "synth"): 2,
    }
    assert all(reason for _, reason in rows)
    assert [Path(fault.path).name for fault in whole.summary.unreadable] == ["corrupt-truncated.db"]


def test_no_log_of_another_agent_is_claimed(whole: Whole) -> None:
    claimed = whole.store.query("select path, source from file where source is not null")
    kinds = {(Path(path).relative_to(CORPUS).parts[0], source) for path, source in claimed}
    assert kinds == {("claude_code", "claude_code"), ("docker-agent", "docker_agent"), ("rtk", "rtk")}


def test_every_log_of_ours_is_claimed(whole: Whole) -> None:
    """Left over are empty files, companions, lists and READMEs, and two databases damaged on purpose."""
    claimed = {Path(path) for (path,) in whole.store.query("select path from file where source is not null")}
    companions = {".md", ".tsv", ".txt", ".jpg"}
    left = {
        path.name
        for folder in OURS
        for path in (CORPUS / folder).rglob("*")
        if path.is_file() and path not in claimed and path.stat().st_size and path.suffix not in companions
    }
    assert left == {"corrupt-header.db", "corrupt-truncated.db"}


def test_share_in_sight(whole: Whole) -> None:
    """About half a percent of the bytes in real Claude Code logs; pooled by call it is twenty times that."""
    ((shown, in_sight, pooled),) = whole.store.query(
        "select sum(bytes), sum(bytes) filter (repeat_in_sight), sum(bytes) filter (call_pooled) "
        "from emission join emission_repeat using (emission_key) "
        "where source = 'claude_code' and not is_copy and not starts_with(path, ?)",
        [str(EXCERPTS)],
    )
    assert shown == 6_637_939
    assert 0.004 < in_sight / shown < 0.006
    assert 0.08 < pooled / shown < 0.12


def test_importing_again_changes_nothing(whole: Whole) -> None:
    wanted = every_view(whole.store)
    again = import_paths(whole.store, [CORPUS])
    assert not again.units_read
    assert not unlike(whole.store, wanted)
    forced = import_paths(whole.store, [CORPUS], force=True)
    assert forced.records == whole.summary.records
    assert not unlike(whole.store, wanted)


def test_some_folders_at_a_time_and_backwards(whole: Whole) -> None:
    with open_store(":memory:") as store:
        folders = [folder for name in OURS for folder in sorted((CORPUS / name).iterdir()) if folder.is_dir()]
        steps = [*folders, CORPUS / "rtk"]
        for start in reversed(range(0, len(steps), 4)):
            import_paths(store, steps[start : start + 4])
        assert not unlike(store, every_view(whole.store))
