"""From logs to the views of costs: session T of token-economics.md 8 as a transcript, and its faults."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.pipeline import Log, write
from support.session_t import session_t

from dedupstats import import_paths, open_store
from dedupstats.errors import UsageError
from dedupstats.history.costs import settle_costs
from dedupstats.history.pricing import basis, is_priced, price_list, stamp

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from dedupstats import Store

HOME: dict[str, str] = {}


@pytest.fixture
def store() -> Iterator[Store]:
    with open_store(":memory:") as opened:
        yield opened


def costs(store: Store) -> dict[str, tuple[Any, ...]]:
    rows = store.query(
        "select call_id, c.tokens, level, c.requests, carried_tokens, round(usd * 1e6, 3), unpriced_tokens "
        "from emission_cost c join emission using (emission_key) where not is_copy"
    )
    return {row[0]: row[1:] for row in rows}


def test_session_t(tmp_path: Path, store: Store) -> None:
    """Vectors 1 and 2: 1,800 tokens carried three times for 7,857 µ$; B and C share 900."""
    import_paths(store, [write(tmp_path / "s1.jsonl", session_t().rows)], environment=HOME)
    found = costs(store)
    assert found["a"] == (1_800, 0, 3, 5_400, 7_857, 0)
    # by character classes: 12.497 and 0.262 a letter
    weights = [12.497 + 0.262 * size for size in (1_200, 600)]
    b = round(900 * weights[0] / sum(weights))
    assert [found["b"][:2], found["c"][:2]] == [(b, 1), (900 - b, 1)]
    assert store.query("select kind, label, sum(tokens) from request_share group by all order by all") == [
        ("floor", None, 20_000),
        ("output", None, 200 * 3 + 100 * 2 + 50),
        ("result", "Bash", 1_800),
        ("result", "Read", 5_400),
        ("user", None, 450),
    ]
    assert basis(store) == price_list(HOME).basis


def test_shares_add_up_to_what_was_recorded(tmp_path: Path, store: Store) -> None:
    import_paths(store, [write(tmp_path / "s1.jsonl", session_t().rows)], environment=HOME)
    recorded = store.query(
        "select sum(3 * input_tokens + 0.3 * cache_read_tokens + 3.75 * cache_write_5m_tokens), "
        "sum(15 * output_tokens) from request"
    )[0]
    ((shared, paid),) = store.query(
        "select sum(usd) * 1e6, (select sum(output_usd) * 1e6 from request_cost) from request_share"
    )
    assert (shared, paid) == pytest.approx(recorded)


def test_an_unpriced_model_is_counted_and_never_free(tmp_path: Path, store: Store) -> None:
    """Fault case $03, vector 9: tokens stay, dollars are unknown."""
    import_paths(store, [write(tmp_path / "s1.jsonl", session_t(third="private-x").rows)], environment=HOME)
    assert costs(store)["a"] == (1_800, 0, 3, 5_400, 7_282.5, 1_800)
    assert store.query("select count(*), sum(prompt_tokens) from request_cost where input_usd is null") == [
        (1, 8_000)
    ]
    assert store.query(
        "select bool_and(usd is null) from request_share join request using (request_key) "
        "where model = 'private-x'"
    ) == [(True,)]


@pytest.mark.parametrize("usage", [None, {}, {"input_tokens": 0, "output_tokens": 0}, {"input_tokens": None}])
def test_a_request_without_usage_is_modelled(tmp_path: Path, store: Store, usage: Any) -> None:
    """Fault case $14: unknown is not zero."""
    import_paths(store, [write(tmp_path / "s1.jsonl", session_t(usage=usage).rows)], environment=HOME)
    assert costs(store)["a"] == (1_800, 0, 3, 5_400, 7_857, 0)
    ((modelled, tokens),) = store.query(
        "select is_modelled, prompt_tokens from request_cost order by prompt_tokens desc limit 1"
    )
    # 8,000, an answer of 50, and 60 times "and now?"
    assert (modelled, tokens) == (True, pytest.approx(8_050 + 12.497 + 0.262 * 360 + 0.858 * 60))
    assert store.query("select modelled_tokens from emission_cost where level = 0") == [(1_800,)]


def test_a_copy_is_carried_and_its_request_billed_once(tmp_path: Path, store: Store) -> None:
    """A resumed session repeats rows of the first: new requests carry the copies, old ones are paid once."""
    first = session_t()
    resumed = Log("s2", start=1_000)
    resumed.rows = [
        {**row, "sessionId": "s2", "uuid": f"r{row['uuid']}"} for row in first.rows if isinstance(row, dict)
    ]
    resumed.tip = resumed.rows[-1]["uuid"] if isinstance(resumed.rows[-1], dict) else None
    resumed.user("more")
    resumed.assistant("ok", "s25", usage=(10, 490, 8_500, 5), model="claude-sonnet-4-5-20250929")
    import_paths(
        store,
        [write(tmp_path / "s1.jsonl", first.rows), write(tmp_path / "s2.jsonl", resumed.rows)],
        environment=HOME,
    )
    assert store.query("select count(*) from request_cost") == [(5,)]
    assert store.query(
        "select sum(c.requests), sum(carried_tokens), round(sum(usd) * 1e6, 3) from emission_cost c "
        "join emission e on e.emission_key = c.original_key where e.call_id = 'a'"
    ) == [(4, 7_200, 7_857 + 540)]


def test_prices_of_ones_own_and_a_change_of_them(tmp_path: Path, store: Store) -> None:
    log = write(tmp_path / "logs" / "s1.jsonl", session_t(third="private-x").rows)
    own = tmp_path / "prices.toml"
    # with the mark that some editors put in front
    own.write_text('\ufeff[[price]]\nmodel = "private-x"\ninput = 1\noutput = 1\n', "utf-8")
    import_paths(store, [log], environment=HOME)
    assert costs(store)["a"][-1] == 1_800
    # nothing is read again, and the figures are of the new prices
    environment = {"DEDUPSTATS_PRICES": str(own)}
    assert not import_paths(store, [log], environment=environment).units_read
    assert costs(store)["a"] == (1_800, 0, 3, 5_400, 7_282.5 + 1_800, 0)
    assert is_priced(store, price_list(environment))
    assert not is_priced(store, price_list(HOME))
    assert stamp(price_list(environment)) != stamp(price_list(HOME))
    before = store.query("from emission_cost order by all")
    settle_costs(store, price_list(environment))
    assert store.query("from emission_cost order by all") == before


def test_prices_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"cannot read the prices .*nowhere.toml"):
        price_list({"DEDUPSTATS_PRICES": str(tmp_path / "nowhere.toml")})
    (tmp_path / "dear.toml").write_text('[[price]]\nmodel = "x"\ninput = 1e300\noutput = 1\n')
    with pytest.raises(UsageError, match="price 1: input is more than 1,000,000"):
        price_list({"DEDUPSTATS_PRICES": str(tmp_path / "dear.toml")})
    (tmp_path / "bad.toml").write_bytes(b"\xff")
    with pytest.raises(UsageError, match="no UTF-8"):
        price_list({"DEDUPSTATS_PRICES": str(tmp_path / "bad.toml")})
    with pytest.raises(UsageError, match="no home folder ~nobody-of-that-name"):
        price_list({"DEDUPSTATS_PRICES": "~nobody-of-that-name/prices.toml"})


def test_an_empty_store(store: Store) -> None:
    settle_costs(store, price_list(HOME))
    assert store.query("select count(*) from emission_cost") == [(0,)]
    assert basis(store)
