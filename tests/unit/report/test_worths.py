"""What the report says of repeats in four units, and with tokens of bytes / 4."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from support.command import run
from support.worths import worths

from dedupstats import rates
from dedupstats.analytics.window import Window
from dedupstats.report import document, markdown, terminal
from dedupstats.report.build import build
from dedupstats.store import open_store

if TYPE_CHECKING:
    from pathlib import Path

    from dedupstats.report.model import Report

UTC = Window(zone="UTC")


@pytest.fixture(scope="module")
def bytes4_report(sample_store: Path) -> Report:
    with open_store(sample_store, read_only=True) as store:
        return build(store, window=UTC, tokens="bytes4")


def test_every_rule_has_its_four_figures(sample_store: Path, sample_report: Report) -> None:
    with open_store(sample_store, read_only=True) as store:
        plain = worths(store, "1")["1"]
        (input_usd,) = store.query("select sum(input_usd) from request_cost")[0]
    for name, found in [("all", sample_report.worth)] + [
        (rule.name, rule.worth) for rule in sample_report.rules
    ]:
        tokens, sent, usd, *_ = map(float, plain[name].sums)
        assert (found.tokens, found.sent) == pytest.approx((tokens, sent))
        assert found.usd == pytest.approx(usd)
        assert found.share == pytest.approx(usd / input_usd)
    for rule in sample_report.rules:
        assert rule.repeats.tokens.part == round(float(plain[rule.name].sums[0]))
    assert sample_report.corpus.tokens == round(float(plain["all"].sums[0]))
    assert "% measured" in sample_report.token_rule
    assert sample_report.token_rule.endswith("; RTK's own rows: bytes / 4, rounded up")
    assert "(median error" in sample_report.worth.known_by


def test_bytes4_compare_with_rtk(sample_store: Path, bytes4_report: Report, sample_report: Report) -> None:
    with open_store(sample_store, read_only=True) as store:
        plain = worths(store, "1")["1"]
    for rule, other in zip(bytes4_report.rules, sample_report.rules, strict=True):
        assert rule.repeats.tokens.part == plain[rule.name].bytes4
        assert (rule.worth.sent, rule.worth.usd, rule.worth.share) == (None, None, None)
        assert (rule.repeats.results, rule.repeats.bytes) == (other.repeats.results, other.repeats.bytes)
    assert bytes4_report.token_rule.startswith(
        "bytes / 4, rounded up per result, as RTK counts: 25 to 52 % low"
    )
    assert bytes4_report.rtk == sample_report.rtk
    assert "--tokens bytes4" in bytes4_report.reproduce.command
    assert "--tokens" not in sample_report.reproduce.command
    out = run(
        "report", "--db", str(sample_store), "--tz", "UTC", "--tokens", "bytes4", "--format", "json"
    ).out
    assert document.parse(out) == bytes4_report
    assert json.loads(out)["tokens"] == "bytes4"


@pytest.mark.parametrize("render", [terminal.render, markdown.render])
def test_renderers_show_units_with_their_denominator(
    render: type[str], sample_report: Report, bytes4_report: Report
) -> None:
    shown, without = render(sample_report), render(bytes4_report)
    for text in ("In four units", "input-side cost of", "not a bill: genai-prices"):
        assert text in " ".join(shown.split())
        assert (text in " ".join(without.split())) == (text == "not a bill: genai-prices")
    assert "Bytes / 4 are not what requests were charged for: no cost." in " ".join(without.split())


def test_costs_of_another_price_list_are_not_shown(sample_store: Path, tmp_path: Path) -> None:
    copy = tmp_path / "s.duckdb"
    copy.write_bytes(sample_store.read_bytes())
    with open_store(copy) as store:
        store.query("update raw.meta set value = 'old' where key = 'prices'")
        found = build(store, window=UTC)
        tokens = rates(store, tz="UTC").total.results.tokens
    assert (found.worth.tokens, found.worth.sent, found.worth.usd) == (tokens, None, None)
    assert found.cost_notes == (
        "Figures of cost are of another price list: `dedupstats import` makes them anew.",
    )
