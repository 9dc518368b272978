"""docker-agent's stores of the corpus, row by row against its own list of expected rows."""

from __future__ import annotations

import csv
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from support.docker_agent import claims, of, records

from dedupstats.errors import UnreadableUnitError
from dedupstats.model import Class, Context, Emission, Ignored, ReadOnly, Record, Skipped
from dedupstats.sources.base import Names, Reading

CORPUS = Path(__file__).parents[3] / "shared" / "corpus"
STORES = CORPUS / "docker-agent"
SYNTH = STORES / "synth"
BROKEN = ("corrupt-header.db", "corrupt-truncated.db")

pytestmark = pytest.mark.skipif(not STORES.is_dir(), reason=f"no corpus at {STORES}")

Row = dict[str, str]


def claimed(path: Path) -> bool:
    try:
        return claims(path)
    except UnreadableUnitError:
        return False


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def expected(name: str) -> list[Row]:
    with (SYNTH / "expected.tsv").open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return [row for row in rows if row["db"] == name]


def names_of_synth() -> list[str]:
    if not STORES.is_dir():
        return []
    with (SYNTH / "expected.tsv").open(encoding="utf-8", newline="") as file:
        return sorted({row["db"] for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)})


def contexts(found: list[Record]) -> dict[int, Context]:
    return {context.context_key: context for context in of(found, Context)}


def class_of(row: Row) -> set[Class]:
    """The classes that a row's mark stands for: `error` is a flag, and images and blanks are not marked."""
    if row["class"] == "marker":
        return {Class.STUB}
    if row["class"] == "spilled":
        return {Class.SPILLED}
    if "image" in row["note"]:
        return {Class.IMAGE}
    return {Class.EMPTY} if "empty result" in row["note"] else {Class.TEXT}


@pytest.mark.parametrize("name", names_of_synth())
def test_rows_are_the_expected_ones(name: str) -> None:
    rows = expected(name)
    reading = Reading(Names())
    found = records(SYNTH / name, reading)
    of_context = contexts(found)
    got: dict[str, list[Emission]] = defaultdict(list)
    for emission in of(found, Emission):
        got[of_context[emission.context_key].native_id].append(emission)
    by_session: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_session[row["session"]].append(row)

    assert {key: len(value) for key, value in got.items()} == {k: len(v) for k, v in by_session.items()}
    tools = reading.names.tools
    for session, wanted in by_session.items():
        for ordinal, (row, emission) in enumerate(zip(wanted, got[session], strict=True)):
            tool, category, read_only, _, _ = tools[emission.tool_key]
            line = row["row"].rsplit("[", 1)[-1].rstrip("]")
            assert (str(emission.line), emission.ordinal) == (line, ordinal)
            assert (tool, emission.call_id) == (row["tool"], row["tool_call_id"])
            assert emission.bytes == int(row["bytes"])
            assert emission.is_error == (row["is_error"] == "1")
            assert (read_only == ReadOnly.YES) == (row["read_only"] == "1")
            assert (category or "-") == row["category"]
            assert {emission.klass} == class_of(row)
            if emission.klass is not Class.IMAGE:  # an image takes part in our hash, not in theirs
                assert emission.sha256.hex()[:16] == row["sha256_16"]
            assert emission.did_not_run == ("dispatcher error" in row["note"])
            context = of_context[emission.context_key]
            parent = of_context.get(context.parent_key or 0)
            assert (parent.native_id if parent else "") == row["parent_session"]


@pytest.mark.parametrize("name", names_of_synth())
def test_order_over_all_contexts_is_the_expected_one(name: str) -> None:
    """`n` runs over a conversation with its sub-sessions, in the order of arrival."""
    found = records(SYNTH / name)
    of_context = contexts(found)
    for root in {context.session_id for context in of_context.values()}:
        arrived = sorted(
            (e for e in of(found, Emission) if of_context[e.context_key].session_id == root),
            key=lambda e: (e.clock, of_context[e.context_key].parent_key is None, e.ordinal),
        )
        wanted = [row for row in expected(name) if root in {row["session"], row["parent_session"]}]
        assert [int(row["n"]) for row in wanted] == list(range(len(wanted)))
        assert [e.call_id for e in arrived] == [row["tool_call_id"] for row in wanted]


@pytest.mark.parametrize("name", names_of_synth())
def test_copies_are_the_expected_ones(name: str) -> None:
    found = of(records(SYNTH / name), Emission)
    originals = {e.copy_key for e in found if not e.is_fork}
    copies = [str(e.line) for e in found if e.is_fork]
    assert copies == [row["row"] for row in expected(name) if row["v1_runtime"] == "copy"]
    assert all(e.copy_key in originals for e in found if e.is_fork)
    assert len({e.copy_key for e in found}) == len(found) - len(copies)


@pytest.mark.parametrize("path", files(STORES), ids=lambda path: str(path.relative_to(STORES)))
def test_every_file_is_read_or_told_apart(path: Path) -> None:
    if path.stat().st_size == 0 or path.suffix in {".md", ".tsv", ".db-wal"} or path.name in BROKEN:
        assert not claimed(path)
        return
    assert claimed(path)
    found = records(path)
    assert of(found, Context)
    assert records(path) == found


def test_the_rest_of_the_corpus_is_not_claimed() -> None:
    mine = [path for path in files(CORPUS) if STORES not in path.parents and claimed(path)]
    assert mine == []


def test_a_damaged_page_costs_one_session() -> None:
    found = records(SYNTH / "corrupt-page.db")
    healthy = contexts(records(SYNTH / "newest-level38.db")).values()
    ids = [context.native_id for context in healthy if not context.native_id.startswith("d0000001")]
    assert [context.native_id for context in contexts(found).values()] == ids
    (skipped,) = of(found, Skipped)
    assert "d0000001" in skipped.reason
    assert "malformed" in skipped.reason
    wanted = Counter(row["session"] for row in expected("newest-level38.db") if row["session"] in ids)
    of_context = contexts(found)
    assert Counter(of_context[e.context_key].native_id for e in of(found, Emission)) == wanted


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_one_error(name: str) -> None:
    with pytest.raises(UnreadableUnitError, match=name) as caught:
        records(SYNTH / name)
    assert "\n" not in caught.value.message


def test_the_newer_database_is_read_and_its_new_items_are_named() -> None:
    found = records(SYNTH / "future-level41.db")
    assert ("checkpoint", 1) in [(r.type, r.records) for r in of(found, Ignored)]


def test_exports_of_old_and_new_hosts_give_equal_keys() -> None:
    """The two repositories hold the same sessions, one with `agentName`, one with `agent_name`."""
    place = Path("examples/eval/evals")
    for path in files(STORES / "docker__docker-agent" / place):
        old = of(records(path), Emission)
        new = of(records(STORES / "dwin-gharibi__docker-agent" / place / path.name), Emission)
        assert [e.copy_key for e in old] == [e.copy_key for e in new] != []


def test_reading_leaves_no_trace() -> None:
    def listing() -> list[tuple[str, int, int]]:
        return [(str(p), p.stat().st_size, p.stat().st_mtime_ns) for p in sorted(STORES.rglob("*"))]

    before = listing()
    for path in files(STORES):
        if claimed(path):
            records(path)
    assert listing() == before
