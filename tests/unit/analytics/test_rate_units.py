"""Rates in four units: against sums in plain Python, a hand vector, and other views of the store."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import pytest
from support.command import run
from support.judged import Result, put
from support.pipeline import Log, write
from support.worths import Plain, worths

from dedupstats import import_paths, open_store, rates
from dedupstats.analytics.spend import spend
from dedupstats.analytics.tallies import tally_of
from dedupstats.analytics.units import InputSide, Unit, Worth, input_side
from dedupstats.analytics.window import Window
from dedupstats.errors import UsageError
from dedupstats.report import money, rate_tables
from dedupstats.report.tables import Table, terminal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dedupstats import Rates, Store

SONNET = "claude-sonnet-4-5-20250929"
SAMPLES = Path(__file__).parents[3] / "sample_data"


@pytest.fixture(autouse=True)
def wide_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "400")


@pytest.fixture(scope="module")
def samples() -> Iterator[Store]:
    with open_store(":memory:") as opened:
        import_paths(opened, [SAMPLES])
        yield opened


@pytest.fixture(scope="module")
def vectors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Session T of token-economics.md 8 with r3 of a model without a price (vector 9)."""
    log = Log("t", "/home/u/p")
    asked: dict[str, Any] = {"model": SONNET, "stop": "tool_use"}
    log.user("go")
    log.call("a", "Read", {"file_path": "a"}, "r1", usage=(10, 4_990, 0, 200), **asked)
    log.result("a", "x" * 6_000)
    log.call("b", "Bash", {"command": "b"}, "r2", usage=(10, 2_000, 4_990, 100), **asked)
    log.result("b", "x" * 1_200)
    log.call("c", "Bash", {"command": "c"}, "r3", usage=(10, 1_000, 6_990, 50), **asked | {"model": "acme-1"})
    log.result("c", "x" * 600)
    log.assistant("done", "r4", usage=(10, 500, 7_990, 20), model=SONNET)
    folder = tmp_path_factory.mktemp("t")
    write(folder / "t.jsonl", log.rows)
    with open_store(folder / "t.duckdb") as opened:
        import_paths(opened, [folder / "t.jsonl"], environment={})
    return folder / "t.duckdb"


def text_of(tables: list[Table]) -> str:
    return "\n".join(terminal(table) for table in tables)


@pytest.mark.parametrize("by", ["tool", "project", "model", "session_id"])
def test_sums_equal_a_plain_loop_over_the_views(samples: Store, by: str) -> None:
    found = rates(samples, by="session" if by == "session_id" else by, all_rules=True, tz="UTC")  # type: ignore[arg-type]
    expected = worths(samples, by)
    rows = {"None" if row.group == f"no {by}" else row.group: row for row in found.rows}
    assert set(rows) >= set(expected)
    for group, by_rule in expected.items():
        assert by_rule["all"].agrees(rows[group].results)
        for rule in found.rules:
            assert by_rule.get(rule, Plain()).agrees(rows[group].rules[rule])


def test_bytes4_are_the_sums_that_rtk_would_make(samples: Store) -> None:
    found = rates(samples, all_rules=True, tokens="bytes4", tz="UTC")
    expected = worths(samples, "1")["1"]
    assert found.total.results.tokens == expected["all"].bytes4
    for rule, tally in found.total.rules.items():
        assert tally.tokens == expected.get(rule, Plain()).bytes4
        assert tally.levels == (0, 0, 0, 0, tally.tokens, 0)
    assert (found.total.results.sent, found.total.results.usd, found.input) == (0, 0, InputSide())
    ladder = rates(samples, all_rules=True, tz="UTC")
    assert ladder.total.results.results == found.total.results.results
    assert [row.group for row in ladder.rows] == [row.group for row in found.rows]


def test_levels_and_groups_add_up_to_the_whole(samples: Store) -> None:
    whole = rates(samples, tz="UTC").total
    for by in ("tool", "agent", "project", "session", "model", "version", "target", "day", "week", "month"):
        found = rates(samples, by=by, tz="UTC")  # type: ignore[arg-type]
        worth = tally_of(row.results for row in found.rows)
        assert worth.sent == pytest.approx(whole.results.sent)
        assert worth.usd == pytest.approx(whole.results.usd)
        assert worth.tokens == pytest.approx(whole.results.tokens)
        for row in found.rows:
            for tally in (row.results, row.floor, *row.rules.values(), *row.by_class.values()):
                assert math.fsum(tally.levels) == pytest.approx(tally.tokens)
                assert tally.unpriced_sent <= tally.sent + 1e-6
        shares = [found.input.share(row.results.worth) or 0 for row in found.rows]
        assert math.fsum(shares) == pytest.approx(found.input.share(whole.results.worth))


def test_results_cost_what_requests_were_charged_for_them(samples: Store) -> None:
    """The same by the requests' own parts: two tables that are filled apart."""
    found, spent = rates(samples, tz="UTC"), spend(samples, tz="UTC")
    part = spent.total.by_kind["result"]
    assert found.total.results.usd == pytest.approx(part.usd)
    # whole tokens result by result
    rounding = found.total.results.results / 2
    assert found.total.results.sent == pytest.approx(part.tokens, abs=rounding)
    assert found.total.results.unpriced_sent == pytest.approx(part.tokens - part.priced_tokens, abs=rounding)
    assert found.input.usd == pytest.approx(spent.total.input.usd)
    assert found.input.tokens == pytest.approx(spent.total.input.tokens)
    assert (found.input.requests, found.input.unpriced) == (spent.total.requests, spent.total.unpriced)
    assert found.basis == spent.basis


def test_vector_9_an_unpriced_model_is_never_free(vectors: Path) -> None:
    with open_store(vectors, read_only=True) as store:
        found = rates(store, unit="usd", tz="UTC")
    read = next(row for row in found.rows if row.group == "Read").results
    assert (read.tokens, read.levels, read.sent, read.unpriced_sent) == (
        1_800,
        (1_800, 0, 0, 0, 0, 0),
        5_400,
        1_800,
    )
    assert read.usd == pytest.approx(7_282.5e-6)
    # r1, r2, r4: 10 uncached each, writes at 3.75, reads at 0.30
    paid = 3 * 10 * 3 + (4_990 + 2_000 + 500) * 3.75 + (4_990 + 7_990) * 0.3
    assert found.input.usd == pytest.approx(paid / 1e6)
    assert found.input.share(read.worth) == pytest.approx(7_282.5 / paid)

    out = run("rates", "--db", str(vectors), "--tool", "Read", "--unit", "usd").out
    assert re.search(r"^Read +1 +\$0\.0073 ", out, re.MULTILINE)
    assert "Without a price, and in no dollars: 1.80 k of 5.40 k tokens sent (33.3 %)." in out
    assert "of 3 requests in this window (1 of 4 has no price: 28.1 % of input tokens)." in out


def test_what_no_priced_request_was_sent_has_no_price(tmp_path: Path) -> None:
    log = Log("s", "/home/u/p")
    log.user("go")
    log.call(
        "a", "Read", {"file_path": "a"}, "m1", usage=(10, 4_990, 0, 200), model="acme-1", stop="tool_use"
    )
    log.result("a", "x" * 6_000)
    log.assistant("done", "m2", usage=(10, 2_000, 4_990, 50), model="acme-1")
    write(tmp_path / "s.jsonl", log.rows)
    database = str(tmp_path / "s.duckdb")
    with open_store(Path(database)) as store:
        import_paths(store, [tmp_path / "s.jsonl"], environment={})
    for unit in ("usd", "share"):
        out = run("rates", "--db", database, "--unit", unit).out
        assert "no price" in out
        # of no results, nothing is what was paid
        (all_results,) = re.findall(r"^all results .*$", out, re.MULTILINE)
        assert all_results.split("  ")[-2:] == ["no price", "no price"]
        assert "none of 2 requests in this window has a price" in out
    (row,) = csv.DictReader(io.StringIO(run("rates", "--db", database, "--format", "csv").out))
    assert (row["sent"], row["usd"], row["share_of_input"]) == ("1800.0", "", "")
    assert row["unpriced_sent"] == "1800.0"
    total = json.loads(run("rates", "--db", database, "--format", "json").out)["total"]["results"]
    assert (total["sent"], total["usd"], total["share_of_input"]) == (1800.0, None, None)


def test_a_log_without_requests_has_bytes4_and_no_cost() -> None:
    """Nothing vanishes, and nothing is free."""
    with open_store(":memory:") as store:
        put(store, [Result(1000, ("repeat_session",)), Result(3)])
        for unit in (None, *get_args(Unit)):
            found = rates(store, unit=unit, tz="UTC")
            assert (found.total.results.tokens, found.total.results.levels) == (251, (0, 0, 0, 0, 251, 0))
            assert (found.total.results.unseen, found.input.requests) == (2, 0)
            shown = text_of(rate_tables.people_tables(found))
            assert "$" not in shown.replace("n ($)", "").replace("$: the", "")
            assert "251 tokens" in shown
            assert "100.0 % bytes / 4, model not known (25 to 52 % low)" in shown
            assert "No request of a model lies in this window: nothing is known of what carrying" in shown
            assert "In four units" not in shown
        (row,) = rate_tables.flat_table(found).rows
        flat = dict(zip([column.name for column in rate_tables.flat_table(found).columns], row, strict=True))
        assert (flat["tokens"], flat["tokens_level_4"], flat["unseen"]) == (251, 251, 2)
        assert (flat["sent"], flat["usd"], flat["share_of_input"]) == (None, None, None)


def test_an_empty_store_divides_by_nothing() -> None:
    with open_store(":memory:") as store:
        for unit in (None, *get_args(Unit)):
            found = rates(store, unit=unit, tz="UTC")
            assert (found.rows, found.total.results.worth) == ((), Worth())
            assert found.by_session["repeat-session"].total == 0
            assert "no data" in text_of(rate_tables.people_tables(found))
        assert found.input == input_side(store, Window()) == InputSide()


@pytest.mark.parametrize("unit", get_args(Unit))
def test_rows_and_spread_go_by_the_unit_asked_for(samples: Store, unit: Unit) -> None:
    def weight(found: Rates, group: int, rule: str | None = None) -> float:
        row = found.rows[group]
        tally = row.results if rule is None else row.rules[rule]
        return {"tokens": tally.tokens, "sent": tally.sent, "usd": tally.usd, "share": tally.usd}[unit]

    found = rates(samples, by="session", unit=unit, tz="UTC")
    sizes = [weight(found, place) for place in range(len(found.rows))]
    assert sizes == sorted(sizes, reverse=True)
    rule = "call-session"
    repeats = sorted(weight(found, place, rule) for place in range(len(found.rows)))
    assert found.by_session[rule].total == pytest.approx(math.fsum(repeats))
    assert found.by_session[rule].top1 == pytest.approx(repeats[-1])
    assert found.by_session[rule].top5 == pytest.approx(math.fsum(repeats[-5:]))
    assert found.by_call[rule].total == pytest.approx(math.fsum(repeats))
    shares = [weight(found, place, rule) / size for place, size in enumerate(sizes) if size]
    assert found.sessions[rule].n == len(shares)
    assert found.sessions[rule].max == pytest.approx(max(shares))


def test_every_output_carries_all_units_and_says_how_tokens_are_known(samples: Store, tmp_path: Path) -> None:
    del samples
    database = str(tmp_path / "s.duckdb")
    with open_store(Path(database)) as store:
        import_paths(store, [SAMPLES / "claude_code"])
        side = rates(store, tz="UTC").input
    for form in ("table", "md"):
        out = run("rates", "--db", database, "--format", form).out
        assert "In four units" in out
        assert "% measured" in out
        assert "median error" in out
        assert "requests in this window" in out
    ran = run("rates", "--db", database, "--format", "csv")
    assert "Tokens: " in ran.err
    assert money.input_words(side) in ran.err
    for row in csv.DictReader(io.StringIO(ran.out)):
        for prefix in ("", "repeat_in_sight_", "repeat_in_sight_floor_", "text_", "copies_"):
            assert {f"{prefix}{end}" for end in ("tokens", "sent", "usd", "share_of_input")} <= set(row)
        levels = math.fsum(float(row[f"tokens_level_{level}"]) for level in range(6))
        assert levels == pytest.approx(float(row["tokens"]))
    found = json.loads(run("rates", "--db", database, "--format", "json", "--unit", "share").out)
    part, whole = found["total"]["rules"]["call-session"], found["total"]["results"]
    assert part["share_of_usd"] == pytest.approx(part["usd"] / whole["usd"])
    assert part["share_of_input"] == pytest.approx(part["usd"] / found["input"]["usd"])
    assert (found["unit"], found["tokens"]) == ("share", "ladder")


def test_bytes4_know_no_cost(vectors: Path) -> None:
    for unit in ("sent", "usd", "share"):
        ran = run("rates", "--db", str(vectors), "--tokens", "bytes4", "--unit", unit)
        assert (ran.code, ran.out) == (2, "")
        assert ran.err.splitlines()[0] == (
            f"dedupstats: --unit {unit} needs the tokens that requests were charged for, "
            "which bytes / 4 are not"
        )
    out = run("rates", "--db", str(vectors), "--tokens", "bytes4", "--unit", "tokens").out
    assert "Tokens: bytes / 4, rounded up per result, as RTK counts: 25 to 52 % low" in out
    assert "$" not in out
    total = json.loads(run("rates", "--db", str(vectors), "--tokens", "bytes4", "--format", "json").out)[
        "total"
    ]
    assert (total["results"]["tokens"], total["results"]["sent"], total["results"]["usd"]) == (
        1950,
        None,
        None,
    )
    with open_store(vectors, read_only=True) as store, pytest.raises(UsageError, match="--unit usd needs"):
        rates(store, tokens="bytes4", unit="usd")


def test_a_window_without_requests_says_so(vectors: Path) -> None:
    with open_store(vectors, read_only=True) as store:
        later = Window(since=datetime(2100, 1, 1, tzinfo=UTC))
        found = rates(store, unit="share", window=later, tz="UTC")
        assert (found.input.requests, found.input.share(Worth())) == (0, None)
        assert "nothing is known of what carrying results cost" in text_of(rate_tables.people_tables(found))


def test_store_figures_are_of_todays_prices(
    vectors: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text('[[price]]\nmodel = "acme-1"\ninput = 3.0\noutput = 15.0\n', "utf-8")
    database = tmp_path / "t.duckdb"
    database.write_bytes(vectors.read_bytes())
    monkeypatch.setenv("DEDUPSTATS_PRICES", str(prices))
    out = run("rates", "--db", str(database), "--tool", "Read", "--unit", "usd").out
    # r3's 1,800 tokens now cost 5,400 microdollars more: 12,682.5
    assert re.search(r"^Read +1 +\$0\.013 ", out, re.MULTILINE)
    assert "Without a price" not in out
