"""Class $ of the fault cases: tokens and prices, from logs to the figures of `spend`."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from support import docker_agent, rtk
from support.claude import stamp
from support.pipeline import Log, write

from dedupstats import build_report, import_paths, open_store
from dedupstats.analytics.spend import Spend, spend
from dedupstats.economics.prices import Prices, parse_overrides
from dedupstats.history.pricing import price_list
from dedupstats.report import terminal
from dedupstats.report.spend_tables import notes

if TYPE_CHECKING:
    from pathlib import Path

    from dedupstats import Store

PRICES = """
[[price]]
model = "five"
input = 5
output = 25
cache_read = 0.5
cache_write_5m = 6.25
cache_write_1h = 10

[[price]]
model = "tiered"
input = 5
output = 25
cache_read = 5
[[price.above]]
tokens = 272000
input = 10
output = 50
cache_read = 10

[[price]]
model = "falls"
input = 10
output = 10

[[price]]
model = "falls"
from = 2026-04-01
input = 2
output = 2
"""


def spent(tmp_path: Path, store: Store, *usages: dict[str, Any], model: str = "five", **fields: Any) -> Spend:
    """What a session of requests with these usages cost, at the prices above."""
    log = Log("s1")
    log.user("go")
    for number, usage in enumerate(usages):
        log.assistant("x", f"m{number}", usage={"output_tokens": 0, **usage}, model=model, **fields)
    (tmp_path / "prices.toml").write_text(PRICES)
    environment = {"DEDUPSTATS_PRICES": str(tmp_path / "prices.toml")}
    import_paths(store, [write(tmp_path / "s1.jsonl", log.rows)], environment=environment)
    return spend(store, tz="UTC")


@pytest.fixture
def store() -> Any:
    with open_store(":memory:") as opened:
        yield opened


def test_01_one_hour_writes(tmp_path: Path, store: Store) -> None:
    usage = {
        "input_tokens": 0,
        "cache_creation_input_tokens": 3_904,
        "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 3_904},
    }
    assert spent(tmp_path, store, usage).total.input.usd == pytest.approx(0.03904)


def test_02_the_breakdown_is_smaller_than_the_total(tmp_path: Path, store: Store) -> None:
    usage = {
        "input_tokens": 0,
        "cache_creation_input_tokens": 100,
        "cache_creation": {"ephemeral_5m_input_tokens": 60, "ephemeral_1h_input_tokens": 0},
    }
    found = spent(tmp_path, store, usage)
    assert (found.total.input.tokens, found.total.input.usd) == (100, pytest.approx(100 * 6.25 / 1e6))
    assert found.assumed_writes == 40
    said = "40 tokens were written to the cache for a time that the log does not tell"
    assert any(note.startswith(said) for note in notes(found))


def test_03_an_unknown_model(tmp_path: Path, store: Store) -> None:
    total = spent(tmp_path, store, {"input_tokens": 1_000}, model="unheard-of").total
    assert (total.input.tokens, total.input.priced_tokens, total.unpriced, total.requests) == (1_000, 0, 1, 1)


def test_05_notices_of_the_host_are_no_requests(tmp_path: Path, store: Store) -> None:
    total = spent(tmp_path, store, {"input_tokens": 0}, model="<synthetic>").total
    assert (total.requests, total.input.tokens) == (0, 0)


def test_06_a_long_context(tmp_path: Path, store: Store) -> None:
    usage = {"input_tokens": 270_540, "cache_read_input_tokens": 7_936}
    total = spent(tmp_path, store, usage, model="tiered").total
    assert total.input.usd == pytest.approx(2.7054 + 0.07936)


def test_07_a_tier_is_of_a_request_and_not_of_a_day(tmp_path: Path, store: Store) -> None:
    many = [{"input_tokens": 92_000}] * 50
    total = spent(tmp_path, store, {"input_tokens": 272_000}, *many, model="tiered").total
    assert total.input.usd == pytest.approx((272_000 + 50 * 92_000) * 5 / 1e6)


def test_08_cached_is_part_of_input_for_openai_and_not_for_anthropic(tmp_path: Path, store: Store) -> None:
    """OpenAI says input 1,000, cached 500, output 200, reasoning 50: 1,200 in all, neither 1,700 nor 1,250.

    docker-agent stores exclusive parts; reasoning is inside the output.
    """
    usage = {"input_tokens": 500, "cached_input_tokens": 500, "output_tokens": 200, "reasoning_tokens": 50}
    items = [
        docker_agent.user("go", 1),
        docker_agent.assistant(2, model="openai/gpt-5", usage=usage, content="done"),
    ]
    exported = docker_agent.export(tmp_path / "d.json", docker_agent.session("d1", items))
    import_paths(store, [exported], environment={})
    columns = "input_tokens, cache_read_tokens, cache_write_5m_tokens, output_tokens"
    assert store.query(f"select {columns} from request") == [(500, 500, 0, 200)]
    assert store.query("select prompt_tokens + output_tokens from request_cost") == [(1_200,)]
    # half of the input at a tenth of the price
    ((paid, output),) = store.query("select input_usd, output_usd from request_cost")
    rates = price_list({}).rates("openai/gpt-5", datetime(2026, 3, 1, 9, tzinfo=UTC))
    assert rates
    assert paid == pytest.approx((500 * rates.input + 500 * rates.read) / 1e6)
    assert rates.read == pytest.approx(rates.input / 10)
    assert output == pytest.approx(200 * rates.output / 1e6)


def test_08_what_anthropic_read_from_the_cache_stands_beside_its_input(tmp_path: Path, store: Store) -> None:
    found = spent(tmp_path, store, {"input_tokens": 1_000, "cache_read_input_tokens": 500}).total.input
    assert (found.tokens, found.usd) == (1_500, pytest.approx((1_000 * 5 + 500 * 0.5) / 1e6))


@pytest.mark.parametrize("level", [16, 24, docker_agent.NEWEST])
def test_11_the_summary_call_costs_too(tmp_path: Path, store: Store, level: int) -> None:
    """Messages of $1 and $2 and a summary of $0.50 are $3.50, once: in a branch as well."""
    before = [
        docker_agent.user("go", 1),
        docker_agent.assistant(2, content="one", cost=1.00, usage={"input_tokens": 10, "output_tokens": 5}),
    ]
    summary = docker_agent.summary("what was", cost=0.50, usage={"input_tokens": 20, "output_tokens": 7})
    after = [
        docker_agent.assistant(9, content="two", cost=2.00, usage={"input_tokens": 30, "output_tokens": 5})
    ]
    own = docker_agent.session("p", [*before, summary, *after])
    # a branch holds copies of what stands before it; cost and usage of a summary are kept
    branch = docker_agent.session("b", [*before, summary], 10)
    path = docker_agent.database(tmp_path / "session.db", level, own, branch)
    import_paths(store, [path], environment={})
    # costs of summaries are stored from level 23 on
    whole = 3.50 if level >= 23 else 3.00
    assert store.query("select sum(cost_usd) from request") == [(pytest.approx(whole),)]
    assert store.query("select count(*) from request_cost") == [(3,)]


def test_09_bytes_are_not_characters(tmp_path: Path, store: Store) -> None:
    """Two characters are six bytes: 2 tokens by bytes / 4, and not 1; what RTK stored stays as stored."""
    log = Log("s1")
    log.read("t1", "a", "\u4f60\u597d")
    rtk_history = rtk.write_history(
        tmp_path / "history.db", commands=[rtk.Command(stamp(1), "cat a", "rtk read a", 1, 1, 0)]
    )
    import_paths(store, [write(tmp_path / "s1.jsonl", log.rows), rtk_history], environment={})
    assert store.query("select bytes, chars, tokens from emission") == [(6, 2, 2)]
    assert store.query("select input_tokens from rtk_command") == [(1,)]
    assert "RTK's own rows: bytes / 4, rounded up" in " ".join(terminal.render(build_report(store)).split())


def test_10_prices_change(tmp_path: Path) -> None:
    prices = Prices(parse_overrides(PRICES))
    days = [datetime(2026, 3, 31, 12, tzinfo=UTC), datetime(2026, 4, 1, 12, tzinfo=UTC)]
    rates = [prices.rates("falls", day) for day in days]
    assert sum(rate.input for rate in rates if rate) == 12
    # and from the log: its rows are of 2026-03-01
    with open_store(":memory:") as store:
        assert spent(tmp_path, store, {"input_tokens": 1_000_000}, model="falls").total.input.usd == 10


def test_12_totals_never_fall(tmp_path: Path, store: Store) -> None:
    log = Log("s1")
    log.user("go")
    log.assistant("x", "m1", usage=(400_000, 0, 0, 0), model="five")
    log.row("system", subtype="compact_boundary", compactMetadata={"trigger": "auto"}, parent=None)
    log.user("summary", isCompactSummary=True)
    log.assistant("y", "m2", usage=(80_000, 0, 0, 0), model="five")
    (tmp_path / "prices.toml").write_text(PRICES)
    environment = {"DEDUPSTATS_PRICES": str(tmp_path / "prices.toml")}
    import_paths(store, [write(tmp_path / "s1.jsonl", log.rows)], environment=environment)
    assert spend(store, tz="UTC").total.input.usd == pytest.approx(2.00 + 0.40)


def test_13_reads_of_the_cache_are_not_context_size(tmp_path: Path, store: Store) -> None:
    usages = [{"input_tokens": 100, "cache_read_input_tokens": read} for read in (1_000, 1_100, 1_200)]
    found = spent(tmp_path, store, *usages)
    assert found.total.input.tokens == 3_600
    assert store.query("select prompt_tokens from request_cost order by all desc limit 1") == [(1_300,)]


def test_14_usage_unknown_is_not_zero(tmp_path: Path, store: Store) -> None:
    log = Log("s1")
    log.user("go")
    for number in range(2):
        usage = {"input_tokens": 0, "output_tokens": 0}
        log.call(f"c{number}", "Read", {"file_path": "a"}, f"m{number}", usage=usage, model="five")
        log.result(f"c{number}", "x" * 300)
    import_paths(store, [write(tmp_path / "s1.jsonl", log.rows)], environment={})
    found = spend(store, tz="UTC")
    assert (found.total.requests, found.total.modelled) == (2, 2)
    # of a model of no family: bytes / 4, and said so
    assert found.carrying.by_level == {4: 150}
    assert found.carrying.carried_tokens == 75


def test_zero_tokens_and_clocks_that_run_backwards(tmp_path: Path, store: Store) -> None:
    log = Log("s1")
    log.user("go")
    for number, second in enumerate((9_000, 10, 5_000)):
        stamp = datetime.fromtimestamp(1_772_355_600 + second, UTC).isoformat()
        usage = (0, 0, 0, 7) if number == 1 else (10, 0, 5_000, 7)
        log.assistant("x", f"m{number}", usage=usage, model="five", timestamp=stamp)
    import_paths(store, [write(tmp_path / "s1.jsonl", log.rows)], environment={})
    found = spend(store, by="day", tz="UTC")
    assert found.total.requests == 3
    assert not store.query("select 1 from request_cost where isnan(prompt_tokens) or prompt_tokens < 0")
