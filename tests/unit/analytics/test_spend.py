"""Sums of costs against SQL on the views, and what the outputs say; on session T of token-economics.md 8."""

from __future__ import annotations

import csv
import json
from dataclasses import astuple
from datetime import UTC, datetime
from io import StringIO
from typing import TYPE_CHECKING, Any

import pytest
from support.pipeline import Log, write

from dedupstats import import_paths, open_store
from dedupstats.analytics.spend import Slice, spend
from dedupstats.analytics.top import top
from dedupstats.analytics.window import Window
from dedupstats.errors import UsageError
from dedupstats.report import money, spend_tables
from dedupstats.report.tables import csv_text, json_document

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from dedupstats import Store

SONNET = "claude-sonnet-4-5-20250929"


def session(name: str, *, model: str = SONNET, project: str = "/home/u/p", last: str = SONNET) -> Log:
    log = Log(name, project)
    common: dict[str, Any] = {"model": model, "stop": "tool_use"}
    log.user("go")
    log.call(f"{name}a", "Read", {"file_path": "a"}, f"{name}1", usage=(10, 4_990, 0, 200), **common)
    log.result(f"{name}a", "x" * 6_000)
    log.call(f"{name}b", "Bash", {"command": "b"}, f"{name}2", usage=(10, 2_000, 4_990, 100), **common)
    log.result(f"{name}b", "x" * 1_200)
    log.assistant("done", f"{name}3", usage=(10, 1_000, 6_990, 50), model=last)
    return log


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    folder = tmp_path_factory.mktemp("logs")
    logs = [
        session("s1"),
        session("s2", project="/home/u/q", model="private-x", last="private-x"),
        session("s3", last="private-x"),
    ]
    for log in logs:
        write(folder / f"{log.session}.jsonl", log.rows)
    with open_store(":memory:") as opened:
        import_paths(opened, [folder], environment={})
        yield opened


def test_the_parts_are_the_whole(store: Store) -> None:
    found = spend(store, tz="UTC")
    total = found.total
    assert (total.requests, total.unpriced, total.modelled, total.expired) == (9, 4, 0, 0)
    assert total.input.tokens == 3 * 20_000
    # s3's third request has no price
    first_two = 20 * 3 + (4_990 + 2_000) * 3.75 + 4_990 * 0.3
    paid = 2 * first_two + 10 * 3 + 1_000 * 3.75 + 6_990 * 0.3
    assert total.input.usd == pytest.approx(paid / 1e6)
    assert total.input.priced_tokens == 2 * 12_000 + 8_000
    assert astuple(sum(total.by_kind.values(), Slice())) == pytest.approx(astuple(total.input))
    assert sum(part.tokens for part in total.by_tool.values()) == total.by_kind["result"].tokens
    assert total.output_tokens == 3 * 350
    assert total.output_usd == pytest.approx((2 * 300 + 50) * 15 / 1e6)
    assert found.floor == 5_000
    # A of 1,800 is sent twice, B of 900 once; another model's growth measures nothing: bytes / 4
    assert found.carrying.tokens == 2 * 2_700 + 1_800 + 300
    assert found.carrying.carried_tokens == 3 * (2 * 1_800 + 900)
    assert found.carrying.median_requests == pytest.approx(4_500 / 2_700)


@pytest.mark.parametrize("by", ["project", "model", "agent", "session", "day"])
def test_groups_add_up(store: Store, by: Any) -> None:
    found = spend(store, by=by, tz="UTC")
    whole = sum((row.input for row in found.rows), Slice())
    assert astuple(whole) == pytest.approx(astuple(found.total.input))
    assert sum(row.requests for row in found.rows) == found.total.requests
    assert found.total.input.usd == pytest.approx(spend(store, tz="UTC").total.input.usd)
    groups = {
        "project": ["/home/u/p", "/home/u/q"],
        "model": [SONNET, "private-x"],
        "agent": ["Claude Code"],
        "session": ["s1", "s3", "s2"],
        "day": ["2026-03-01"],
    }
    assert [row.group for row in found.rows] == groups[by]


def test_windows_cut_requests(store: Store) -> None:
    assert spend(store, window=Window(projects=("q",)), tz="UTC").total.requests == 3
    assert spend(store, window=Window(models=(SONNET,)), tz="UTC").total.requests == 5
    assert spend(store, window=Window(sessions=("s1",)), tz="UTC").carrying.tokens == 2_700
    nothing = spend(store, window=Window(since=datetime(2027, 1, 1, tzinfo=UTC)), tz="UTC")
    assert (nothing.total.requests, nothing.total.input, nothing.rows) == (0, Slice(), ())
    assert nothing.carrying.median_requests is None
    with pytest.raises(UsageError, match="cannot group"):
        spend(store, by="tool")  # type: ignore[arg-type]


def test_unpriced_is_never_free_in_any_output(store: Store) -> None:
    """Fault case $03."""
    found = spend(store, by="project", tz="UTC")
    first, parts, _ = spend_tables.people_tables(found, "usd")
    assert [row[2] for row in first.rows] == ["$0.061", "no price"]
    assert any(
        "4 of 9 (44.4 %) requests have no price; 53.3 % of input tokens have one." in note
        for note in parts.notes
    )
    rows = list(csv.DictReader(StringIO(csv_text(spend_tables.flat_table(found)))))
    unpriced = [row for row in rows if row["project"] == "/home/u/q"]
    assert unpriced
    assert all(row["usd"] == "" for row in unpriced)
    assert {row["kind"] for row in unpriced} == {"floor", "result", "output", "answers"}


@pytest.mark.parametrize("unit", ["usd", "tokens", "share"])
def test_every_unit_and_format_has_no_nan(store: Store, unit: Any) -> None:
    for window in (Window(), Window(since=datetime(2027, 1, 1, tzinfo=UTC))):
        found = spend(store, by="session", window=window, tz="UTC")
        for table in spend_tables.people_tables(found, unit):
            assert all(len(row) == len(table.columns) for row in table.rows)
            assert "nan" not in repr(table).lower().replace("finan", "")
        document = json.loads(json_document(spend_tables.document(found)))
        assert document["basis"].startswith("genai-prices ")
        assert document["levels"]["0"]["words"] == "measured"


def test_the_dearest_results(store: Store) -> None:
    found = top(store, limit=2)
    first = found.rows[0]
    assert (first.tool, first.target, first.bytes, first.bytes4_tokens) == ("Read", "a", 6_000, 1_500)
    assert (first.tokens, first.level, first.requests, first.carried_tokens) == (1_800, 0, 2, 3_600)
    assert first.usd == pytest.approx((6_742.5 + 574.5) / 1e6)
    assert first.share == pytest.approx((first.usd or 0) / found.input_usd)
    assert [row.session for row in found.rows] == ["s1", "s3"]
    assert found.results == 6
    last = top(store, limit=10).rows[-1]
    assert (last.usd, last.share) == (None, None)
    table = spend_tables.top_table(found)
    assert table.rows[0][:4] == ("Read", "a", "1.80 k", 2)
    assert spend_tables.top_flat(found).rows[0][8] == 1_800


def test_what_came_again_while_it_was_carried(tmp_path: Path) -> None:
    log = Log("s1")
    for number, target in enumerate(("a", "b", "a"), start=1):
        usage = (10, 1_000, 0, 5)
        log.call(f"c{number}", "Read", {"file_path": target}, f"m{number}", usage=usage, stop="tool_use")
        log.result(f"c{number}", "x" * 400)
    with open_store(":memory:") as store:
        import_paths(store, [write(tmp_path / "s1.jsonl", log.rows)], environment={})
        again = {row.emission_key: row.superseded for row in top(store).rows}
        calls = dict(store.query("select call_id, emission_key from emission"))
    assert [again[calls[call]] for call in ("c1", "c2", "c3")] == ["same call", None, None]


def test_money_in_words() -> None:
    assert [money.usd(amount) for amount in (99.995, 100, 0.5, 0.00001, -0.5)] == [
        "$100.00",
        "$100",
        "$0.50",
        "<$0.0001",
        "-$0.50",
    ]
    assert money.known_by({}) == "none"
    assert money.known_by({4: 1.0}) == "100.0 % bytes / 4, model not known (25 to 52 % low)"
