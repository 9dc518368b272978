from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from typing import TYPE_CHECKING

import pytest
from genai_prices import Usage, calc_price

from dedupstats.economics.model_ids import bare, parse
from dedupstats.economics.prices import Prices, Rates, parse_overrides
from dedupstats.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

AT = datetime(2026, 10, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("model", "rates"),
    [
        ("claude-sonnet-4-20250514", Rates(3, 0.3, 3.75, 6, 15)),
        ("claude-opus-5-5", Rates(4, 0.2, 5, 8, 20)),
        ("Claude-Opus-5", Rates(5, 0.5, 6.25, 10, 25)),
        ("anthropic/claude-haiku-4-5", Rates(1, 0.1, 1.25, 2, 5)),
        ("claude-opus-4.6-1m", Rates(5, 0.5, 6.25, 10, 25)),
        ("claude-opus-5[1m]", Rates(5, 0.5, 6.25, 10, 25)),
        ("claude-sonnet-4@20250514", Rates(3, 0.3, 3.75, 6, 15)),
        # of a region: a tenth more than the list
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", Rates(3.3, 0.33, 4.125, 6.6, 16.5)),
        ("global.anthropic.claude-opus-4-6-v1", Rates(5, 0.5, 6.25, 10, 25)),
        # no price for an hour's writes in the list: twice the input price (6.2)
        ("us.anthropic.claude-opus-4-20250514-v1:0", Rates(15, 1.5, 18.75, 30, 75)),
        # writes are not billed: they cost what input costs
        ("gpt-5", Rates(1.25, 0.125, 1.25, 1.25, 10)),
    ],
)
def test_list_prices(model: str, rates: Rates) -> None:
    assert Prices().rates(model, AT) == pytest.approx(rates)


@pytest.mark.parametrize(
    "model",
    [
        None,
        "",
        "opus",
        "<synthetic>",
        "codex-auto-review",
        "qwen3-coder-plus",
        "private-x",
        "claude-opus-4-10",
        "claude-opus-4-7-fast",
        "claude-opus-4.6-fast",
        "deepseek-r1-0528-distill-qwen3-8b",
        "accounts/f/models/deepseek-v4-pro",
        "accounts/claude-opus-5",
        "MiniMax-M2.99",
    ],
)
def test_what_is_only_like_a_listed_model_has_no_price(model: str | None) -> None:
    """Fault cases $03, $04, $05 and the trap of prefixes (6.3)."""
    assert Prices().rates(model, AT) is None


def test_the_reference_bill_of_the_fact_sheet() -> None:
    """6.1: Sonnet 4.5, P 100,000, read 80,000, written 15,000 of which 5,000 for an hour, output 1,000."""
    rates = Prices().rates("claude-sonnet-4-5", AT, 100_000)
    assert rates is not None
    paid = 5_000 * rates.input + 80_000 * rates.read + 10_000 * rates.write_5m + 5_000 * rates.write_1h
    assert paid == pytest.approx(106_500)
    assert 1_000 * rates.output == pytest.approx(15_000)


@pytest.mark.parametrize("prompt", [90_000, 100_000, 100_001, 199_999, 200_000, 200_001, 272_000, 272_001])
@pytest.mark.parametrize(
    "model", ["claude-sonnet-4-5", "claude-haiku-5-5", "gpt-5.5", "gemini-2.5-pro", "deepseek-v4-pro"]
)
def test_a_bill_is_that_of_the_price_list_itself(model: str, prompt: int) -> None:
    rates = Prices().rates(model, AT, prompt)
    assert rates is not None
    read, output = prompt // 2, 777
    theirs = calc_price(
        Usage(input_tokens=prompt, cache_read_tokens=read, output_tokens=output),
        model,
        genai_request_timestamp=AT,
    )
    assert (prompt - read) * rates.input + read * rates.read == pytest.approx(float(theirs.input_price) * 1e6)
    assert output * rates.output == pytest.approx(float(theirs.output_price) * 1e6)


def test_prices_of_the_time_of_the_request() -> None:
    """6.1: above 200,000 tokens Opus 4.6 cost double until 2026-03-12."""
    prices = Prices()
    before = datetime(2026, 3, 12, 23, 59, tzinfo=UTC)
    after = before + timedelta(minutes=1)
    assert [prices.rates("claude-opus-4-6", at, 250_000) for at in (before, after)] == [
        pytest.approx(Rates(10, 1, 12.5, 20, 37.5)),
        pytest.approx(Rates(5, 0.5, 6.25, 10, 25)),
    ]
    # the same instant, without a zone and from another one
    assert prices.rates("claude-opus-4-6", before.replace(tzinfo=None), 250_000) == prices.rates(
        "claude-opus-4-6", before.astimezone(timezone(timedelta(hours=9))), 250_000
    )


def test_tiers_of_service() -> None:
    prices = Prices()
    standard, batch = (prices.rates("claude-fable-5-2", AT, tier=tier) for tier in ("standard", "batch"))
    assert standard is not None
    assert batch is not None
    assert batch.input == pytest.approx(standard.input / 2)


def micro_dollars(count: Callable[[Rates], float], rates: Rates | None) -> float:
    assert rates is not None
    return count(rates)


OWN = """
[[price]]
model = "m"
input = 5
output = 25
cache_read = 0.5
cache_write_1h = 10
[[price.above]]
tokens = 272000
input = 10
output = 50

[[price]]
model = "Falling"
input = 10
output = 10

[[price]]
model = "falling"
from = 2026-04-01
input = 2
output = 2
"""


def test_long_context_is_chosen_by_the_whole_prompt() -> None:
    """Fault case $06: uncached 270,540 and read 7,936 are 278,476 tokens, above 272,000."""
    prices = Prices(parse_overrides(OWN))
    over = prices.rates("m", AT, 270_540 + 7_936)
    assert micro_dollars(lambda rates: 270_540 * rates.input, over) == 2_705_400
    assert prices.rates("m", AT, 272_000) == Rates(5, 0.5, 5, 10, 25)


def test_an_hour_costs_its_own_price() -> None:
    """Fault case $01: 3,904 tokens for an hour at twice $5."""
    assert (
        micro_dollars(lambda rates: 3_904 * rates.write_1h, Prices(parse_overrides(OWN)).rates("m", AT))
        == 39_040
    )


def test_own_prices_change_on_their_day() -> None:
    """Fault case $10."""
    prices = Prices(parse_overrides(OWN))
    days = [datetime(2026, 3, 31, 23, 59, 59, tzinfo=UTC), datetime(2026, 4, 1, tzinfo=UTC)]
    assert (
        sum(
            micro_dollars(lambda rates: 1_000_000 * rates.input, prices.rates("falling", day)) for day in days
        )
        == 12e6
    )


def test_own_prices_go_before_the_list_and_are_in_its_stamp() -> None:
    own = parse_overrides('[[price]]\nmodel = "claude-opus-5"\ninput = 1\noutput = 2')
    prices = Prices(own)
    assert prices.rates("claude-opus-5", AT) == Rates(1, 1, 1, 1, 2)
    assert prices.stamp != Prices().stamp
    assert Prices().stamp == Prices().stamp
    assert prices.basis == f"genai-prices {prices.version} ({prices.released}), 1 of your own"
    assert parse_overrides(OWN)[2].begins == date(2026, 4, 1)


FROM = '[[price]]\nmodel = "m"\nfrom = 2026-04-01\ninput = 1\noutput = 1'
STEP = "[[price.above]]\ntokens = 5\ninput = 2\noutput = 2"
ABOVE = f'[[price]]\nmodel = "m"\ninput = 1\noutput = 1\n{STEP}'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[price]", "no TOML"),
        ("price = " + "9" * 5_000, "no TOML"),
        ("price = " + "[" * 5_000, "no TOML"),
        ("price = 3", "must be tables"),
        ("[[price]]\ninput = 1\noutput = 1", "no model"),
        ('[[price]]\nmodel = "m"\noutput = 1', "no input"),
        ('[[price]]\nmodel = "m"\ninput = -1\noutput = 1', "input is no price"),
        ('[[price]]\nmodel = "m"\ninput = nan\noutput = 1', "input is no price"),
        ('[[price]]\nmodel = "m"\ninput = true\noutput = 1', "input is no price"),
        ('[[price]]\nmodel = "m"\ninput = 1\noutput = 1\nread = 1', "unknown read"),
        ('[[price]]\nmodel = "m"\ninput = 1\noutput = 1\nfrom = "x"', "no date"),
        ('[[price]]\nmodel = "m"\ninput = 1\noutput = 1\nabove = 3', "above` must be"),
        ('[[price]]\nmodel = "m"\ninput = 1\noutput = 1\n[[price.above]]\ninput = 1', "without tokens"),
        # what is misspelt, or said twice, would leave other prices in force without a word
        ('[[prices]]\nmodel = "m"\ninput = 1\noutput = 1', "unknown prices"),
        (f"{ABOVE}\nread = 1", "price 1: `above`: unknown read"),
        (f"{ABOVE}\n{STEP}", "two `above` with 5 tokens"),
        (ABOVE + "\n" + ABOVE.replace('"m"', '"M"'), "price 2 is another one of M"),
        (f"{FROM}\n{FROM}", "price 2 is another one of m from 2026-04-01"),
    ],
)
def test_bad_prices_are_refused_by_place(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message) as refused:
        parse_overrides(text, "prices.toml")
    assert refused.value.message.startswith("prices.toml")
    assert refused.value.hint


def test_ids_taken_apart() -> None:
    assert parse("vertex_ai/gemini-2.5-pro")[:2] == ("gemini-2.5-pro", "google")
    assert parse("claude-opus-5[1m]")[2] is True
    assert not parse("openrouter/anthropic/claude-opus-5").is_known_form
    same = [
        "claude-sonnet-4-5",
        "claude-sonnet-4-5-20250929",
        "Claude-Sonnet-4.5[1m]",
        "claude-sonnet-4-5@20250929",
    ]
    assert {bare(name) for name in same} == {"claude-sonnet-4-5"}
