"""Costs on public logs: what sessions recorded is attributed, by shares like those of the fact sheet."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.worths import Plain, worths

from dedupstats import import_paths, open_store, rates
from dedupstats.analytics.spend import spend

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dedupstats import Store

CORPUS = (Path(__file__).resolve().parents[3] / "shared" / "corpus").resolve()

pytestmark = pytest.mark.skipif(not CORPUS.is_dir(), reason=f"no corpus at {CORPUS}")


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    with open_store(":memory:") as opened:
        folders = [folder for folder in (CORPUS / "claude_code").iterdir() if folder.name != "_fixtures"]
        import_paths(opened, [*sorted(folders), CORPUS / "docker-agent"], environment={})
        yield opened


def test_attribution_adds_up_to_every_sessions_input(store: Store) -> None:
    """Against the requests' own usage, where it is complete; dollars against the request's."""
    sessions = store.query(
        "with shared as (select request_key, sum(tokens) as tokens, sum(usd) as usd "
        "from request_share group by all) "
        "select r.session_key, sum(coalesce(r.input_tokens, 0) + coalesce(r.cache_read_tokens, 0) "
        "+ coalesce(r.cache_write_5m_tokens, 0) + coalesce(r.cache_write_1h_tokens, 0)), "
        "sum(s.tokens), sum(c.input_usd), sum(s.usd) "
        "from request r join request_cost c using (request_key) left join shared s using (request_key) "
        "where not c.is_modelled group by all"
    )
    assert len(sessions) > 100
    for _, recorded, shared, paid, usd in sessions:
        assert shared == pytest.approx(recorded, rel=1e-9)
        assert usd == (pytest.approx(paid, rel=1e-9) if paid is not None else None)


def test_every_request_and_every_result_has_a_figure(store: Store) -> None:
    assert store.query("select count(*) from request_cost") == store.query("select count(*) from request")
    assert store.query("select count(*) from emission_cost") == store.query("select count(*) from emission")
    assert not store.query(
        "select 1 from emission_cost "
        "where isnan(tokens) or tokens < 0 or isnan(usd) or usd < 0 or level is null"
    )
    assert not store.query(
        "select 1 from request_cost where isnan(output_tokens) or input_usd < 0 or isnan(input_usd)"
    )


def test_the_shares_of_the_fact_sheet(store: Store) -> None:
    """2.1, corpus: floor 33.6, results 35.9, output 25.9, all others together 4.0 %."""
    shares = dict(
        store.query(
            "select s.kind, sum(s.usd) / sum(sum(s.usd)) over () from request_share s "
            "join request_cost c using (request_key) "
            "where c.source = 'claude_code' and c.model like 'claude-%' "
            "and not contains(c.model, '4.6') and s.kind <> 'side' group by all"
        )
    )
    assert shares["floor"] == pytest.approx(0.336, abs=0.03)
    # the sheet gives what is in no log to the results beside it: one empty result of 46,781 tokens, for one
    assert shares["result"] + shares["meta"] == pytest.approx(0.359 + 0.014, abs=0.03)
    assert shares["output"] == pytest.approx(0.259, abs=0.03)
    others = sum(shares[kind] for kind in ("user", "attachment", "summary"))
    assert others == pytest.approx(0.016 + 0.004 + 0.006, abs=0.02)


def test_rates_in_four_units_equal_a_plain_loop(store: Store) -> None:
    found, expected = rates(store, all_rules=True, tz="UTC"), worths(store, "tool")
    assert {row.group for row in found.rows if row.results.results} == set(expected)
    for row in found.rows:
        by_rule = expected.get(row.group, {})
        assert by_rule.get("all", Plain()).agrees(row.results)
        assert all(by_rule.get(rule, Plain()).agrees(tally) for rule, tally in row.rules.items())
    # what requests were charged for results, from the table of their own parts
    part = spend(store, tz="UTC").total.by_kind["result"]
    assert found.total.results.usd == pytest.approx(part.usd)
    assert found.total.results.sent == pytest.approx(part.tokens)
