"""What replays weigh: the hand vectors of token-economics.md 8 end to end, and sums by SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.pipeline import Log, write
from support.rows import NAMES, context, emission, fill
from support.session_t import session_t

from dedupstats import import_paths, open_store
from dedupstats.economics.rebound import break_even, expected_saving
from dedupstats.model import ReadOnly
from dedupstats.policies.base import Action, Decision, show
from dedupstats.policies.spec import Definition, spec_of
from dedupstats.simulate.explain import Weight, explain
from dedupstats.simulate.run import simulate
from dedupstats.simulate.score import NANO, Tally
from dedupstats.simulate.variants import Variant, variants

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from dedupstats import Store
    from dedupstats.policies.base import Emission, Event, LedgerId
    from dedupstats.policies.spec import Settings

HOME: dict[str, str] = {}
MARKER_BYTES = 102
"""45 tokens of a Claude model up to 4.6: 12 + 102 / 3.10 (5.5)"""


class Everything:
    """Elides every result of a tool that reads."""

    needs = frozenset({"read_only"})
    wiring = "transform"
    reach = "all"
    largest = 0

    def __init__(self, revision: str, settings: Settings) -> None:
        del revision, settings

    def decide(self, emission: Emission) -> Decision:
        if not emission.read_only:
            return show("not_read_only")
        return Decision(Action.ELIDE, "repeat", emission.seq, "!", MARKER_BYTES)

    def notify(self, event: Event) -> None:
        raise AssertionError(event)

    def forget(self, ledger: LedgerId) -> None:
        del ledger


EVERYTHING = Variant(spec_of(Definition("everything", "Elides", Everything), ""), "", is_headline=True)  # type: ignore[arg-type]


@pytest.fixture
def store() -> Iterator[Store]:
    with open_store(":memory:") as opened:
        yield opened


def elided(store: Store, log: Log, path: Path) -> Tally:
    """Result A of session T, elided by 45 tokens."""
    import_paths(store, [write(path / "s1.jsonl", log.rows)], environment=HOME)
    return simulate(store, [EVERYTHING]).scores[0].elided


def micro(nano_usd: int) -> float:
    """µ$, in which the sheet counts."""
    return nano_usd / 1_000


def hour(log: Log) -> Log:
    """The same with every write for an hour."""
    for row in log.rows:
        usage = row.get("message", {}).get("usage") if isinstance(row, dict) else None
        if usage:
            written = usage["cache_creation_input_tokens"]
            usage["cache_creation"] = {"ephemeral_1h_input_tokens": written, "ephemeral_5m_input_tokens": 0}
    return log


@pytest.mark.parametrize(
    ("log", "sent", "cost"),
    [
        pytest.param(session_t(), 5_400, 7_857, id="vector 2: all hits"),
        pytest.param(session_t(usage=(10, 8_490, 0, 60)), 5_400, 14_067, id="vector 3: expiry"),
        pytest.param(hour(session_t()), 5_400, 11_907, id="vector 4: one hour"),
        pytest.param(session_t(before_last=Log.compact), 3_600, 7_317, id="vector 6: a compaction"),
    ],
)
def test_session_t(tmp_path: Path, store: Store, log: Log, sent: int, cost: float) -> None:
    found = elided(store, log, tmp_path)
    assert (found.results, found.tokens, found.sent, micro(found.nano_usd)) == (1, 1_800, sent, cost)
    # x - m of x, of everything
    assert (found.net_tokens, found.net_sent) == (1_755, sent * 1_755 // 1_800)
    assert micro(found.marker_nano_usd) == pytest.approx(cost / 40, abs=0.0005)
    assert found.unpriced_sent == found.uncosted == 0


def test_vector_6_what_comes_again_behind_a_compaction_is_no_sound_saving(
    tmp_path: Path, store: Store
) -> None:
    log = session_t(before_last=Log.compact)
    log.call("a2", "Read", {"file_path": "a"}, "s15", usage=(10, 200, 8_500, 100), stop="tool_use")
    log.result("a2", "x" * 6_000)
    log.say("done")
    import_paths(store, [write(tmp_path / "s1.jsonl", log.rows)], environment=HOME)
    (v1,) = simulate(store, variants(["docker-agent:v1"], ["wiring=transform"])[:1]).scores
    assert (v1.elided.results, v1.untrue.results, v1.sound) == (1, 1, Tally())


def test_vector_9_what_has_no_price_is_in_no_dollar(tmp_path: Path, store: Store) -> None:
    found = elided(store, session_t(third="acme-1"), tmp_path)
    assert (found.tokens, found.sent, micro(found.nano_usd), found.unpriced_sent) == (
        1_800,
        5_400,
        7_282.5,
        1_800,
    )
    assert found.usd == pytest.approx(0.0072825)
    # nothing that carried it has a price: no $0
    unpriced = found._replace(unpriced_sent=found.sent)
    assert (unpriced.usd, unpriced.net_usd, unpriced.net_sent) == (None, None, 5_400 - 135)


def test_vector_10_rebound(tmp_path: Path, store: Store) -> None:
    """1,800 tokens in sight of ten requests that all hit the cache."""
    log = Log("s1")
    log.user("go")
    model = {"model": "claude-sonnet-4-5-20250929"}
    log.call("a", "Read", {"file_path": "a"}, "m1", usage=(0, 5_000, 0, 200), stop="tool_use", **model)
    log.result("a", "x" * 6_000)
    for number in range(10):
        usage = (0, 2_000, 5_000, 0) if not number else (0, 0, 7_000, 0)
        log.assistant("x", f"n{number}", usage=usage, **model)
    found = elided(store, log, tmp_path)
    gross, marker = micro(found.nano_usd), micro(found.marker_nano_usd)
    assert (found.tokens, found.sent, gross, marker) == (1_800, 18_000, 11_610, 290.25)
    assert expected_saving(gross, marker, 10_930.5, 0.1) == pytest.approx(9_065.70)
    assert break_even(gross, marker, 10_930.5) == pytest.approx(0.502, abs=0.0005)


# -- sums ----------------------------------------------------------------------------------------------------

READER = NAMES.tool("read_file", "filesystem", ReadOnly.YES)
MODELS = ("claude-sonnet-4-5", "claude-opus-5", None)


def made_up(store: Store) -> None:
    """Repeats of one call in two contexts, copies of some, and costs of all kinds."""
    emissions = [
        emission(
            key,
            ordinal,
            "x" * 900,
            tool="read_file",
            call=f"{ordinal % 3}",
            tool_key=READER,
            ledger_key=NAMES.key("s1"),
            model_key=NAMES.optional(MODELS[ordinal % 3]),
            at=1_000_000 * (20 * key + ordinal),
            clock=1_000_000 * (20 * key + ordinal),
        )
        for key in (1, 2)
        for ordinal in range(9)
    ]
    copies = [
        emission(
            3,
            ordinal,
            "x" * 900,
            tool="read_file",
            call=f"{ordinal % 3}",
            tool_key=READER,
            copy_key=emissions[ordinal].copy_key,
            is_fork=True,
            at=90_000_000 + ordinal,
            clock=90_000_000 + ordinal,
        )
        for ordinal in range(9)
    ]
    fill(store, [context(1), context(2, "s2"), context(3, "s3")], [*emissions, *copies])
    store.query("delete from derived.emission_cost")
    store.query(
        """
        insert into derived.emission_cost
        select emission_key, 150.4 + ordinal, ordinal % 5, 0, 3, 100.25 * ordinal, 0, 7.5, 0,
            0.000123456789 * ordinal, case when ordinal = 4 then 50.5 else 0 end, ordinal
        from emission where ordinal <> 5
        """
    )


BY_SQL = """
with marked as (
    select e.emission_key, e.bytes, d.marker_bytes, c.level, c.emission_key is null as uncosted,
        coalesce(round_even(c.tokens, 0), (e.bytes + 3) // 4) as x,
        case
            when c.level is null or c.level = 4 or e.model is null then ceil(d.marker_bytes / 4)
            when e.model = 'claude-opus-5' then round_even(7 + d.marker_bytes / 2.02, 0)
            else round_even(12 + d.marker_bytes / 3.10, 0)
        end as m
    from decision d
    join emission e using (emission_key)
    left join emission_cost c using (emission_key)
    where d.verdict = 'sound'
),
carried as (
    select m.emission_key, m.bytes, m.marker_bytes, m.x, m.m, m.uncosted,
        coalesce(sum(round_even(c.carried_tokens, 0)), 0) as sent,
        coalesce(sum(round_even(c.usd * 1e9, 0)), 0) as nano_usd,
        coalesce(sum(round_even(c.unpriced_tokens, 0)), 0) as unpriced,
        coalesce(sum(round_even(c.modelled_tokens, 0)), 0) as modelled
    from marked m
    left join emission_cost c on c.original_key = m.emission_key
    group by all
)
select count(*), sum(bytes), sum(x), sum(sent), sum(nano_usd), sum(unpriced), sum(modelled),
    sum(uncosted::int), sum(marker_bytes), sum(m), sum(round_even(sent * m / x, 0)),
    sum(round_even(nano_usd * m / x, 0))
from carried
"""


def test_sums_of_a_policy_are_those_of_sql(store: Store) -> None:
    from dedupstats.analytics.replays import replay

    made_up(store)
    chosen = variants(["docker-agent:v2"], ["wiring=transform"])[:1]
    found = replay(store, chosen, save="x")
    (by_sql,) = store.query(BY_SQL)
    sound = found.simulation.scores[0].sound
    assert tuple(sound) == tuple(map(int, by_sql))
    assert sound.results >= 10
    assert sound.uncosted
    assert sound.unpriced_sent
    # everything that counts, once by the originals and once by all that was carried
    whole = found.simulation.results
    ((sent, usd),) = store.query(
        "select sum(round_even(carried_tokens, 0))::bigint, sum(round_even(usd * 1e9, 0))::bigint "
        "from emission_cost"
    )
    assert (whole.results, whole.sent, whole.nano_usd) == (18, sent, usd)
    assert sum(found.simulation.known_by.values()) == whole.tokens
    bytes4 = replay(store, chosen, tokens="bytes4").simulation.scores[0].sound
    # a marker has 222 bytes, the tool's name and the digits of the size
    assert (bytes4.tokens, bytes4.marker_tokens) == (225 * bytes4.results, 59 * bytes4.results)
    assert (bytes4.net_sent, bytes4.net_usd) == (None, None)


def test_a_copy_that_came_before_its_original_stays_what_it_cost(store: Store) -> None:
    """It was shown in full; by the order of the files, as clocks that were set back leave it."""
    made_up(store)
    chosen = [EVERYTHING]
    before = simulate(store, chosen)
    with store.transaction():
        store.query("update derived.emission set seq = seq - 1000 where copy_of is not null")
    after = simulate(store, chosen)
    copies: tuple[Any, ...]
    (copies,) = store.query(
        "select sum(round_even(carried_tokens, 0))::bigint, sum(round_even(usd * 1e9, 0))::bigint "
        "from emission_cost join emission using (emission_key) where is_copy"
    )
    mine, theirs = before.scores[0].elided, after.scores[0].elided
    assert (mine.sent - theirs.sent, mine.nano_usd - theirs.nano_usd) == copies
    assert before.results == after.results
    assert mine.tokens == theirs.tokens


def test_dollars_are_billionths() -> None:
    assert Tally(1, 4, 1, 3, 5 * NANO, marker_nano_usd=NANO).net_usd == 4


def test_an_explanation_tells_what_a_result_cost_and_what_its_marker_would_have_saved(
    tmp_path: Path, store: Store
) -> None:
    """Vector 2, and the same file read once more: 1,800 tokens measured, by a marker of 226 bytes."""
    log = session_t()
    model = {"model": "claude-sonnet-4-5-20250929"}
    usage = (10, 200, 8_500, 100)
    log.call("a2", "Read", {"file_path": "a"}, "s15", usage=usage, stop="tool_use", **model)
    log.result("a2", "x" * 6_000)
    log.assistant("done", "s16", usage=(10, 1_890, 8_710, 5), **model)
    import_paths(store, [write(tmp_path / "s1.jsonl", log.rows)], environment=HOME)
    keys = dict(store.query("select call_id, emission_key from emission"))
    policies = variants(["docker-agent:v1"], ["wiring=transform"])[:1]

    first = explain(store, keys["a"], policies)
    # by r2, r3, r4 and the two behind them
    assert (first.weight, first.level, first.requests) == (Weight(1_800, 9_000, first.weight.usd, 0), 0, 5)
    assert first.accounts[0].saved is None

    again = explain(store, keys["a2"], policies)
    (account,) = again.accounts
    # 10,610 - 8,710 - 100: 1,800 tokens, all written but 10
    assert (again.weight.tokens, again.weight.sent, again.requests) == (1_800, 1_800, 1)
    assert again.weight.usd == pytest.approx((1_790 * 3.75 + 10 * 3) / 1e6)
    marker = round(12 + (account.marker_bytes or 0) / 3.10)
    assert account.saved is not None
    assert (account.saved.tokens, account.saved.sent) == (1_800 - marker, 1_800 - marker)
    assert account.saved.usd == pytest.approx((1_800 - marker) / 1_800 * again.weight.usd, abs=1e-9)
