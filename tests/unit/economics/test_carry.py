"""Hand vectors 1 to 4, 6, 9, 14 of token-economics.md 8, and invariants of attribution and of leaving out."""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.economics import (
    PRICES,
    Parts,
    all_hit_cost,
    asked,
    by_position,
    cost,
    parts_between,
    result,
    text,
)

from dedupstats.economics import metering
from dedupstats.economics.carry import Cashier
from dedupstats.economics.cost import Borne, EntryElision, Usage, modelled_usage
from dedupstats.economics.events import Asked, Left, legs, singles
from dedupstats.economics.families import Visible
from dedupstats.economics.prices import Rates
from dedupstats.economics.prompt import Kind, Prompt
from dedupstats.economics.tokens import Level

if TYPE_CHECKING:
    from support.economics import ContextCost, EntryCost

    from dedupstats.economics.events import Event

A, B, C = 0, 1, 2
RATES = Rates(3, 0.3, 3.75, 6, 15)
COMPACTION = Left(clears=True, is_rewind=False, ordinals=frozenset())


def session_t(
    last: tuple[float, float, float, float] = (10, 7_990, 500, 0), *, third: str = "hand", gap: float = 10
) -> list[Event]:
    return [
        asked(1, (10, 0, 4_990, 0), 200, seconds=0),
        result(A, 5_400),
        asked(2, (10, 4_990, 2_000, 0), 100, seconds=10),
        result(B, 1_200),
        result(C, 600),
        asked(3, (10, 6_990, 1_000, 0), 50, seconds=20, model=third),
        text(),
        asked(4, last, 60, seconds=20 + gap),
    ]


def entry(found: ContextCost, key: int) -> EntryCost:
    (one,) = [one for one in found.entries if one.key == key]
    return one


def test_vector_1_first_pass() -> None:
    found = cost(session_t())
    assert [(one.key, one.tokens, one.level) for one in found.entries] == [
        (A, 1_800, Level.EXACT),
        (B, 600, Level.SPLIT),
        (C, 300, Level.SPLIT),
    ]


def test_vector_2_all_hits() -> None:
    a = entry(cost(session_t()), A)
    assert a.cost == pytest.approx(7_857)
    assert (a.parts.tokens, a.requests, a.unpriced, a.modelled) == (5_400, 3, 0, 0)
    assert all_hit_cost(1_800, 3, RATES) == pytest.approx(7_830)


def test_vector_3_expiry() -> None:
    found = cost(session_t((10, 0, 8_490, 0), gap=400))
    assert entry(found, A).cost == pytest.approx(14_067)
    assert [one.is_expired for one in found.requests] == [False, False, False, True]
    # what the request before had sent, 8,000 tokens, was written once more
    again = [one for one in found.shares if one.again]
    assert sum(one.again for one in again) == pytest.approx(8_000)
    assert {(one.key, one.kind) for one in again} == {
        (4, kind) for kind in (Kind.FLOOR, Kind.OUTPUT, Kind.RESULT)
    }
    modelled = modelled_usage(8_500, 8_000, 400, 300)
    by_gap = parts_between(modelled, 5_200, 7_000).cost(RATES)
    assert all_hit_cost(1_800, 2, RATES) + by_gap == pytest.approx(14_040)


def test_vector_4_an_hours_writes() -> None:
    events = session_t((10, 7_990, 0, 500), gap=400)
    for place in (0, 2, 5):
        before = events[place]
        assert isinstance(before, Asked)
        assert before.usage is not None
        events[place] = before._replace(
            usage=before.usage._replace(write_5m=0, write_1h=before.usage.write_5m)
        )
    found = cost(events)
    assert entry(found, A).cost == pytest.approx(11_907)
    assert not any(one.is_expired for one in found.requests)


def test_vector_6_under_a_compaction() -> None:
    events = session_t((10, 5_000, 1_490, 0))
    events[6:7] = [COMPACTION, text(1_500)]
    found = cost(events)
    a = entry(found, A)
    assert a.cost == pytest.approx(7_317)
    assert (a.parts.tokens, a.requests) == (3_600, 2)
    # the summary call reads it once more, modelled
    assert all_hit_cost(1_800, 1, RATES) == 1_800 * 3.75
    assert parts_between(modelled_usage(8_050, 8_000, 1, 300), 5_200, 7_000).cost(RATES) == pytest.approx(540)
    # behind the floor stands what entered after the boundary
    last = {one.kind: one.parts.tokens for one in found.shares if one.key == 4}
    assert last == {Kind.FLOOR: 5_000, Kind.USER: 1_500}


def test_vector_9_an_unpriced_model() -> None:
    found = cost(session_t(third="acme-1"))
    assert [one.input_cost is None for one in found.requests] == [False, False, True, False]
    a = entry(found, A)
    assert a.cost == pytest.approx(7_282.5)
    assert (a.tokens, a.parts.tokens, a.unpriced) == (1_800, 5_400, 1_800)
    # another model's growth measures nothing
    assert entry(found, B).level == Level.UNKNOWN


def test_vector_14_floor_and_history() -> None:
    events: list[Event] = []
    for key, prompt in enumerate((20_000, 30_000, 45_000, 60_000)):
        events += [asked(key, (prompt, 0, 0, 0), 500), result(key)]
    found = cost(events)
    floor = sum(one.parts.tokens for one in found.shares if one.kind is Kind.FLOOR)
    history = sum(one.parts.tokens for one in found.shares if one.kind is not Kind.FLOOR)
    assert (floor, history) == (80_000, 75_000)
    assert round(100 * floor / (floor + history), 1) == 51.6


def test_a_modelled_context_is_the_all_hit_model() -> None:
    """2.3: no usage at all: the first time written, then read; an expired cache writes again."""
    events: list[Event] = [asked(0, None, None, seconds=0, is_known=False), result(A, 4_000)]
    events += [asked(key, None, None, seconds=key, is_known=False) for key in (1, 2, 3)]
    found = cost(events)
    one = entry(found, A)
    assert one.tokens == 1_000
    assert one.cost == pytest.approx(all_hit_cost(1_000, 3, RATES))
    assert one.modelled == one.parts.tokens == 3_000
    assert all(request.is_modelled for request in found.requests)
    late = cost([*events, asked(4, None, None, seconds=1_000, is_known=False)])
    assert entry(late, A).cost == pytest.approx(one.cost + 1_000 * 3.75)


def test_a_request_without_usage_among_others() -> None:
    """Fault case $14: it is counted, its cost is modelled, and no figure is zero or missing."""
    events = session_t()
    events[5] = asked(3, None, None, seconds=20, is_known=False, visible=Visible(text_bytes=40))
    found = cost(events)
    assert [one.is_modelled for one in found.requests] == [False, False, True, False]
    a = entry(found, A)
    assert (a.requests, a.modelled) == (3, 1_800)
    assert a.cost == pytest.approx(6_742.5 + 540 + 540)


def test_a_copy_of_a_request_is_not_billed() -> None:
    events = session_t()
    events[2] = asked(2, (10, 4_990, 2_000, 0), 100, is_billed=False)
    found = cost(events)
    assert [one.key for one in found.requests] == [1, 3, 4]
    assert entry(found, A).cost == pytest.approx(574.5 + 540)


def test_a_side_request_is_one_piece() -> None:
    found = cost([asked(1, (10, 990, 0, 0), 5)], is_side=True)
    assert [(one.kind, one.parts.tokens) for one in found.shares] == [(Kind.SIDE, 1_000)]


def test_a_rewind_cuts_the_branch() -> None:
    events = session_t((10, 5_190, 300, 0))
    events.insert(6, Left(clears=False, is_rewind=True, ordinals=frozenset({A, B, C})))
    found = cost(events)
    assert [entry(found, key).requests for key in (A, B, C)] == [2, 1, 1]
    assert {one.kind: one.parts.tokens for one in found.shares if one.key == 4} == {
        Kind.FLOOR: 5_000,
        Kind.OUTPUT: 200,
        Kind.USER: 300,
    }


def test_a_micro_compaction_takes_what_it_names() -> None:
    events = session_t((10, 5_000, 1_690, 0))
    events.insert(6, Left(clears=False, is_rewind=False, ordinals=frozenset({A})))
    found = cost(events)
    assert [entry(found, key).requests for key in (A, B, C)] == [2, 2, 2]


def test_hidden_text_is_no_results() -> None:
    events: list[Event] = [
        asked(1, (5_000, 0, 0, 0), 100),
        result(A, 0),
        asked(2, (9_000, 0, 0, 0), 5),
        text(8),
        asked(3, (9_505, 0, 0, 0), 5),
    ]
    found = cost(events)
    last = {one.kind: one.parts.tokens for one in found.shares if one.key == 3}
    assert last == {Kind.FLOOR: 5_000, Kind.OUTPUT: 105, Kind.META: 3_900 + 498, Kind.USER: 2}


def test_a_clock_that_runs_backwards_expires_nothing() -> None:
    found = cost(session_t(gap=-4_000))
    assert not any(one.is_expired for one in found.requests)


def test_what_is_measured_alone() -> None:
    (one,) = singles(legs(session_t()))
    assert (one.asked.key, one.entry.counts.bytes, one.tokens) == (2, 5_400, 1_800)


# -- leaving out at entry ------------------------------------------------------------------------------------

usages = st.builds(Usage, *(st.integers(0, 3_000).map(float) for _ in range(4)))
places = st.tuples(st.integers(0, 4_000), st.integers(0, 4_000)).map(sorted)


@given(usages, places)
def test_a_place_costs_what_its_positions_cost(usage: Usage, place: list[int]) -> None:
    low, high = (min(edge, int(usage.prompt)) for edge in place)
    parts = parts_between(usage, low, high)
    assert parts.tokens == pytest.approx(high - low)
    assert parts.cost(RATES) == pytest.approx(by_position(usage, RATES, low, high))


numbers = st.lists(
    st.tuples(st.integers(1, 9_000), st.integers(0, 10**9), st.integers(0, 10**12)), min_size=1
)


@given(numbers, st.integers(0, 9_000))
def test_leaving_out_at_entry(wholes: list[tuple[int, int, int]], marker: int) -> None:
    whole = Borne(*np.array(wholes).T)
    instead = EntryElision(np.full(len(wholes), marker)).instead(whole)
    # to the nearest whole number what exact fractions say
    for mine, found in zip(wholes, zip(*(column.tolist() for column in instead), strict=True), strict=True):
        assert found[0] == marker
        assert all(
            abs(one - Fraction(size) * marker / mine[0]) <= Fraction(501, 1000)
            for size, one in zip(mine, found, strict=True)
        )
    # S03: a marker longer than the result costs more, and the figure says so
    assert ((instead.tokens > whole.tokens) == (marker > whole.tokens)).all()
    everything = EntryElision(whole.tokens).instead(whole)
    assert all((mine == theirs).all() for mine, theirs in zip(everything, whole, strict=True))


def test_what_nobody_could_measure_saves_nothing_and_costs_nothing() -> None:
    nothing = np.array([0])
    assert [
        part.tolist() for part in EntryElision(np.array([12])).instead(Borne(nothing, nothing, nothing))
    ] == [
        [0],
        [0],
        [0],
    ]


# -- attribution adds up -------------------------------------------------------------------------------------


@st.composite
def contexts(draw: st.DrawFn) -> list[Event]:
    """Contexts of any kind: growing and shrinking prompts, missing usage, boundaries, other models."""
    events: list[Event] = []
    ordinal = 0
    for key in range(draw(st.integers(1, 7))):
        for _ in range(draw(st.integers(0, 3))):
            if draw(st.booleans()):
                events.append(result(ordinal, draw(st.integers(0, 9_000))))
                ordinal += 1
            else:
                events.append(text(draw(st.integers(0, 2_000))))
        if draw(st.integers(0, 4)) == 0:
            named = frozenset(draw(st.sets(st.integers(0, max(ordinal - 1, 0)))))
            events.append(Left(draw(st.booleans()), draw(st.booleans()), named))
        usage = draw(st.none() | st.tuples(*(st.integers(0, 9_000).map(float) for _ in range(4))))
        events.append(
            asked(
                key,
                usage if usage and any(usage) else None,
                draw(st.none() | st.integers(0, 3_000)),
                model=draw(
                    st.sampled_from(["hand", "hand", "claude-sonnet-4-5", "claude-opus-4-7", "acme-1"])
                ),
                seconds=draw(st.none() | st.integers(0, 9_000)),
                is_known=draw(st.booleans()),
                visible=Visible(draw(st.integers(0, 3_000)), 0, 0, 0, draw(st.integers(0, 1))),
            )
        )
    return events


@given(contexts())
def test_pieces_add_up_to_every_request(events: list[Event]) -> None:
    """2.2: parts and pieces both tile the prompt, so that their charges are what the request recorded."""
    found = cost(events)
    assert len(found.requests) == sum(isinstance(event, Asked) for event in events)
    for request in found.requests:
        own = [share for share in found.shares if share.key == request.key]
        parts = [sum(getattr(share.parts, part) for share in own) for part in Parts._fields]
        assert parts == pytest.approx(request.parts, abs=1e-6)
        if request.input_cost is not None:
            assert sum(share.cost or 0 for share in own) == pytest.approx(request.input_cost, abs=1e-6)
        assert all(share.again <= share.parts.tokens - share.parts.read + 1e-6 for share in own)
        assert all(getattr(share.parts, part) >= 0 for share in own for part in Parts._fields)
    results = sum(share.parts.tokens for share in found.shares if share.kind is Kind.RESULT)
    assert sum(one.parts.tokens for one in found.entries) == pytest.approx(results, abs=1e-6)
    assert len(found.entries) == sum(getattr(event, "kind", None) is Kind.RESULT for event in events)
    for one in found.entries:
        assert one.tokens >= 0
        assert 0 <= one.unpriced <= one.parts.tokens + 1e-6


@settings(max_examples=40, deadline=None)
@given(st.lists(contexts(), min_size=1, max_size=4), st.integers(1, 5), st.integers(1, 9), st.integers(1, 9))
def test_no_figure_depends_on_what_is_charged_with_it(
    found: list[list[Event]], batch: int, slots: int, cells: int
) -> None:
    whole = [cost(events) for events in found]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(metering, "_BATCH", batch)
        patch.setattr(metering, "_SLOTS", slots)
        patch.setattr(metering, "_CELLS", cells)
        together = cost(*found)
        alone = [cost(events) for events in found]
    # to the last bit, or an import in another order would have other figures
    assert together.requests == [one for context in alone for one in context.requests]
    assert together.shares == [one for context in alone for one in context.shares]
    assert together.entries == [one for context in alone for one in context.entries]
    for mine, one in zip(alone, whole, strict=True):
        assert (mine.requests, mine.shares) == (one.requests, one.shares)
        for entry, other in zip(mine.entries, one.entries, strict=True):
            assert entry[:5] == other[:5]
            assert entry.parts == pytest.approx(other.parts, abs=1e-6)
            assert entry[6:] == pytest.approx(other[6:], abs=1e-6)


def test_a_prompt_that_only_grows_is_charged_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long it is: its pieces are gone through once a batch, not once a request."""
    monkeypatch.setattr(metering, "_SLOTS", 1)
    cashier = Cashier(PRICES, 0)
    cashier.take(legs(session_t()))
    (block,) = cashier.costs().requests
    assert block.key.tolist() == [1, 2, 3, 4]


# -- where pieces stand --------------------------------------------------------------------------------------


def test_another_tokenizer_moves_no_piece() -> None:
    """Models that take turns stretch the prompt at each request: one that copied it would be quadratic."""
    prompt = Prompt()
    prompt.add(0, 1_000)
    edges = prompt.edges
    for number in range(1, 50):
        prompt.stretch(prompt.end * (1.25 if number % 2 else 0.8))
        prompt.add(number, 100)
    assert prompt.edges is edges


moves = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.integers(0, 900)),
        st.tuples(st.just("stretch"), st.integers(0, 3_000)),
        st.tuples(st.just("cut"), st.integers(0, 3_000)),
        st.tuples(st.just("widen"), st.integers(1, 900)),
        st.tuples(st.just("keep"), st.integers(1, 3)),
    ),
    max_size=12,
)


@given(moves)
def test_a_prompt_is_the_sizes_of_its_pieces(steps: list[tuple[str, int]]) -> None:
    """Against a list of sizes that is made anew at each step."""
    prompt = Prompt()
    sizes: list[tuple[int, float]] = []
    for number, (step, size) in enumerate(steps):
        end = sum(tokens for _, tokens in sizes)
        if step == "add":
            prompt.add(number, size)
            sizes += [(number, float(size))] if size else []
        elif step == "stretch":
            prompt.stretch(size)
            sizes = [(piece, tokens * size / (end or 1)) for piece, tokens in sizes]
        elif step == "widen":
            prompt.widen(number, size)
            sizes.insert(0, (number, float(size)))
        elif step == "keep":
            prompt.keep([piece for piece, _ in sizes if piece % (size + 1)])
            sizes = [one for one in sizes if one[0] % (size + 1) and one[1]]
        elif size < end - 1e-6:
            prompt.cut(size)
            while sizes and sum(tokens for _, tokens in sizes[:-1]) > size - 1e-6:
                sizes.pop()
            if sizes:
                sizes[-1] = sizes[-1][0], size - sum(tokens for _, tokens in sizes[:-1])
        assert prompt.pieces == [piece for piece, _ in sizes]
        edges = [edge * prompt.scale for edge in prompt.edges]
        assert edges == pytest.approx([0.0, *accumulate(tokens for _, tokens in sizes)])
        assert prompt.end == pytest.approx(edges[-1])
