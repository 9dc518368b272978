"""Laws of the replay on random histories, and its answers against a literal reading of the definitions."""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from typing import TYPE_CHECKING, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import literal
from support.histories import Past, Result, Writer, pasts, put

from dedupstats.economics.tokens import TokenRule
from dedupstats.policies.base import Action, Decision, show
from dedupstats.policies.spec import Definition, spec_of
from dedupstats.simulate import timeline
from dedupstats.simulate.knowledge import Knowledge
from dedupstats.simulate.replay import Replay
from dedupstats.simulate.run import simulate
from dedupstats.simulate.score import Beside, Score, Step, Tally
from dedupstats.simulate.variants import Variant, variants
from dedupstats.simulate.verdicts import PLACES, VERDICTS
from dedupstats.store import Store, open_store

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dedupstats.policies.base import Emission, Event, LedgerId
    from dedupstats.policies.spec import Settings
    from dedupstats.simulate.chunk import Chunk
    from dedupstats.simulate.replay import Replayed
    from dedupstats.simulate.timeline import Scope


class Chain:
    """An engine as nobody should write it: its markers name the emission before, be it a marker or not."""

    needs = frozenset({"session", "sha64"})
    wiring = "transform"
    reach = "all"
    largest = 0

    def __init__(self, revision: str, settings: Settings) -> None:
        del revision, settings
        self._last: dict[tuple[str, int], int] = {}

    def decide(self, emission: Emission) -> Decision:
        name = (emission.session, emission.sha64)
        before, self._last[name] = self._last.get(name), emission.seq
        return show("first") if before is None else Decision(Action.ELIDE, "repeat", before, "!", 1)

    def notify(self, event: Event) -> None:
        raise AssertionError(event)

    def forget(self, ledger: LedgerId) -> None:
        del ledger


CHAIN = Definition("chain", "Names the emission before", Chain)  # type: ignore[arg-type]

ALL = [
    Variant(spec_of(CHAIN, ""), "", is_headline=True),
    *variants(),
    *variants(
        [
            "docker-agent:v1,wiring=transform,ledger=session,min_bytes=0",
            "docker-agent:v2,max_sessions=1,max_keys=1",
            "docker-agent:v3,wiring=runtime,ledger=session",
            "docker-agent:v3,limiter=front,max_result_bytes=800,errors=host",
            "docker-agent:v1,limiter=back,max_result_bytes=800,errors=host",
            "rtk:v1,tools=all,min_tokens=0,suppress_on_error=true",
            "rtk:v2,tools=all,min_tokens=0,recency_window=1",
            "rtk:v2,tools=all,ledger=context,idle_hours=0",
        ]
    ),
]
ENGINES = [variant for variant in ALL if variant.spec.label != "ceiling"]


@cache
def shared() -> Store:
    return open_store(":memory:")


def replayed(
    chosen: list[Variant], scope: Scope = "session", rule: TokenRule = "ladder"
) -> tuple[list[list[Elision]], list[Score]]:
    """Elisions and score of each variant."""
    elisions: list[list[Elision]] = [[] for _ in chosen]

    def take(chunk: Chunk, done: list[Replayed]) -> None:
        keys = chunk.columns["emission_key"]
        for mine, one in zip(elisions, done, strict=True):
            for row, anchor, _, verdict, place, *counters in zip(
                *(c.tolist() for c in one.judged), strict=True
            ):
                truth = literal.Truth(VERDICTS[verdict].value, PLACES[place].value, *counters)
                mine.append((int(keys[row]), int(keys[anchor]), truth))

    found = simulate(shared(), chosen, scope=scope, tokens=rule, take=take)
    return elisions, found.scores


Elision = tuple[int, int, literal.Truth]


# -- the literal reading -------------------------------------------------------------------------------------


def compare(past: Past, scope: Scope, rule: TokenRule) -> None:
    by_key = put(shared(), past)
    elisions, scores = replayed(ALL, scope, rule)
    for variant, found, score in zip(ALL, elisions, scores, strict=True):
        expected = literal.read(past, variant, scope)
        assert {by_key[row]: (by_key[anchor], truth) for row, anchor, truth in found} == {
            result: (expected.anchors[result], truth) for result, truth in expected.truths.items()
        }, f"{variant.spec.label} {variant.spec.settings}"
        check_score(past, variant, scope, expected, score, rule)


def check_score(  # noqa: PLR0917 - what is compared, and how it was made
    past: Past,
    variant: Variant,
    scope: Scope,
    expected: literal.Reading,
    score: Score,
    rule: TokenRule,
) -> None:
    groups: dict[str, dict[str, list[Result]]] = defaultdict(lambda: defaultdict(list))
    tools: dict[str, dict[str, list[Result]]] = defaultdict(lambda: defaultdict(list))
    sessions: dict[str, list[Result]] = defaultdict(list)
    beside: dict[str, list[Result]] = defaultdict(list)
    for result, truth in expected.truths.items():
        groups[truth.place][truth.verdict].append(result)
        tools[result.tool][truth.verdict].append(result)
        sessions[result.thread.session].append(result)
        if truth.verdict == "sound":
            for name in Beside:
                if getattr(truth, name.value):
                    beside[name].append(result)

    def tallied(what: dict[str, list[Result]]) -> dict[str, tuple[int, ...]]:
        return {name: literal.sums(expected, members, rule) for name, members in what.items()}

    def plain(what: Iterable[tuple[object, Tally]]) -> dict[str, tuple[int, ...]]:
        return {str(name): tuple(tally) for name, tally in what}

    verdicts: dict[str, list[Result]] = defaultdict(list)
    for result, truth in expected.truths.items():
        verdicts[truth.verdict].append(result)
    assert plain(score.verdicts.items()) == tallied(verdicts)
    assert {name: plain(group.items()) for name, group in score.places.items()} == {
        name: tallied(members) for name, members in groups.items()
    }
    assert {name: plain(group.items()) for name, group in score.tools.items()} == {
        name: tallied(members) for name, members in tools.items()
    }
    assert sorted(
        sum(tally.results for tally in group.values()) for group in score.sessions.values()
    ) == sorted(map(len, sessions.values()))
    assert plain(score.beside.items()) == tallied(beside)
    assert score.reasons == dict(literal.reasons(expected, past))
    assert score.asked.results == len(expected.answers)
    mixed = [result for result in expected.truths if result.hook == "mixed"]
    assert score.mixed.keys() == {expected.truths[result].verdict for result in mixed}
    assert sum(tally.results for tally in score.mixed.values()) == len(mixed)
    assert tuple(score.if_unknown_reads) == unknown(past, variant, scope, expected, rule)
    known_by: dict[int, int] = defaultdict(int)
    for result in verdicts["sound"]:
        is_known = rule == "ladder" and result.cost is not None
        known_by[result.cost.level if is_known and result.cost else 4] += literal.weighed(
            expected, result, rule
        )[2]
    assert score.known_by == {level: tokens for level, tokens in known_by.items() if tokens}


def unknown(
    past: Past, variant: Variant, scope: Scope, expected: literal.Reading, rule: TokenRule
) -> tuple[int, ...]:
    """The elisions that would be sound, or be made, if all tools of which nothing is known only read."""
    twin = expected
    if "read_only" in variant.spec.policy().needs:
        twin = literal.read(past, variant, scope, unknown_reads=True)
    mine = expected.sound()
    more = [
        result
        for result, truth in twin.truths.items()
        if (truth.verdict == "sound" or truth.if_unknown_reads) and result not in mine
    ]
    return literal.sums(twin, more, rule)


@settings(max_examples=40)
@given(pasts(), st.sampled_from(get_args(TokenRule)))
def test_verdicts_are_what_their_definitions_say(past: Past, rule: TokenRule) -> None:
    compare(past, "session", rule)


@settings(max_examples=20)
@given(pasts())
def test_verdicts_of_one_process_over_all_sessions(past: Past) -> None:
    compare(past, "history", "ladder")


# -- laws ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scope", ["session", "history"])
@settings(max_examples=10)
@given(past=pasts())
def test_chunks_of_any_size_say_the_same(scope: Scope, past: Past) -> None:
    put(shared(), past)
    whole = replayed(ALL, scope)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(timeline, "CHUNK", 1)
        assert replayed(ALL, scope) == whole


@settings(max_examples=10)
@given(past=pasts(), data=st.data())
def test_scores_of_some_families_and_of_the_others_add_up(past: Past, data: st.DataObject) -> None:
    """Whether the families are replayed apart, as processes would do it, or counted apart."""
    put(shared(), past)
    whole = simulate(shared(), ALL)
    families = [
        family for (family,) in shared().query("select distinct family_key from emission order by all")
    ]
    mine = [family for family in families if data.draw(st.booleans())]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(timeline, "CHUNK", 1)
        chunks = list(timeline.Timeline(shared(), "session", Knowledge()).chunks())
    for parts in (
        [
            [done.score for done in replay]
            for is_mine in (True, False)
            for replay in _replays([c for c in chunks if (c.columns["family_key"][0] in mine) is is_mine])
        ],
        [
            simulate(
                shared(), ALL, counted=f"{no} list_contains($mine, e.family_key)", parameters={"mine": mine}
            ).scores
            for no in ("", "not")
        ],
    ):
        added = [Score() for _ in ALL]
        for part in parts:
            for mine_so_far, score in zip(added, part, strict=True):
                mine_so_far.add(score)
        assert added == whole.scores


def _replays(chunks: list[Chunk]) -> Iterable[list[Replayed]]:
    replay = Replay(ALL, "session")
    return [replay.chunk(chunk) for chunk in chunks]


@settings(max_examples=15)
@given(pasts(threads=[1, 2, 3, 4], moves=False))
def test_one_session_is_a_whole_history(past: Past) -> None:
    put(shared(), past)
    assert replayed(ALL, "history") == replayed(ALL, "session")


@settings(max_examples=15)
@given(pasts())
def test_what_is_elided_is_what_the_anchor_was(past: Past) -> None:
    by_key = put(shared(), past)
    for variant, found in zip(ENGINES, replayed(ENGINES)[0], strict=True):
        for row, anchor, _ in found:
            assert by_key[row].text == by_key[anchor].text, variant.spec
            assert by_key[anchor].place < by_key[row].place


@settings(max_examples=30)
@given(pasts(kinds=["compaction", "turn"], keeps="nothing", moves=False))
def test_nothing_dangles_where_an_engine_hears_of_every_boundary(past: Past) -> None:
    """Of a context whose rows carry one session's id: the ledger of an id that comes back missed what lay
    between.
    """
    put(shared(), past)
    chosen = variants(["docker-agent:v2", "docker-agent:v3"], ["wiring=session", "ledger=context"])
    for found in replayed(chosen)[0]:
        assert not [truth for _, _, truth in found if truth.verdict == "dangling"]


@settings(max_examples=25)
@given(pasts())
def test_safe_is_sound_and_keep_all_is_nothing(past: Past) -> None:
    put(shared(), past)
    (safe, keep_all), (_, score) = replayed(variants(["safe", "keep-all"]))
    assert all(truth.verdict == "sound" for _, _, truth in safe)
    assert keep_all == []
    assert score.elided == score.if_unknown_reads == score.steps.get(Step.KNOWN, Tally()) == Tally()
    assert (score.places, score.tools, score.sessions, score.beside, score.largest) == ({}, {}, {}, {}, 0)


@settings(max_examples=30)
@given(pasts(kinds=["compaction", "rewind", "turn"], keeps="suffix", copies=False))
def test_no_policy_saves_more_text_than_exact(past: Past) -> None:
    """Truly saves, where the older result never outlives the newer one and no fork takes results along.

    `exact` shows again as late as it can, which is then the best that can be done for each text of each
    context; the tests below show why each condition is there.
    """
    by_key = put(shared(), past)
    names = [variant.spec.label for variant in ALL]
    elisions, _ = replayed(ALL)
    bound = sum(by_key[row].size for row, _, _ in elisions[names.index("exact")])
    best = sum(by_key[row].size for row, _, _ in elisions[names.index("safe")])
    for variant, found in zip(ALL, elisions, strict=True):
        sound = [by_key[row] for row, _, truth in found if truth.verdict == "sound" and by_key[row].is_text]
        assert sum(result.size for result in sound) <= bound, variant.spec
        if variant.spec.policy().reach == "all":
            # a policy that sees the shell alone counts commands that only read as such, `safe` does not
            assert sum(result.size for result in sound) <= best, variant.spec


def saved(past: Past, *policies: str) -> list[list[int]]:
    """Places of what some policies truly save."""
    by_key = put(shared(), past)
    found, _ = replayed(variants(policies))
    return [[by_key[row].place for row, _, truth in one if truth.verdict == "sound"] for one in found]


BY_CALL = "docker-agent:v1,wiring=transform,ledger=session,errors=host"


def test_exact_may_save_less_where_a_newer_result_leaves_first() -> None:
    """It cannot know that the second result will outlive the third, and leaves a marker in its place.

    An engine that goes by the call shows the second in full, which then serves the third and fourth.
    """
    writer = Writer()
    first = writer.result(1, call="a")
    writer.result(1, call="b")
    writer.happens("micro_compaction", 1, lambda result: result is not first)
    third = writer.result(1, call="b")
    writer.happens("rewind", 1, lambda result: result is not third)
    writer.result(1, call="b")
    assert saved(writer.past, "exact", BY_CALL) == [[1], [3, 5]]


def test_exact_may_save_less_where_forks_take_a_marker_along() -> None:
    """Two forks begin with a copy of the second result, which `exact` showed as a marker."""
    writer = Writer()
    first = writer.result(1, call="a")
    second = writer.result(1, call="b")
    writer.happens("compaction", 1, lambda result: result is not first)
    for fork in (4, 7):
        writer.copy(fork, second)
        writer.result(fork, call="b")
    assert saved(writer.past, "exact", BY_CALL) == [[1], [4, 6]]


def test_exact_leaves_what_is_no_text_though_an_engine_may_elide_it() -> None:
    """Two equal stubs of the host: a short text for a short text, and no saving that tables speak of."""
    writer = Writer()
    writer.result(1, klass="stub")
    writer.result(1, klass="stub")
    assert saved(writer.past, "exact", BY_CALL) == [[], [1]]


@settings(max_examples=25)
@given(pasts(keeps="nothing", copies=False))
def test_exact_is_a_window_where_boundaries_keep_nothing(past: Past) -> None:
    put(shared(), past)
    (found,), _ = replayed(variants(["exact"]))
    expected = shared().query(
        """
        with stretch as (
            select *, row_number() over same as n
            from emission
            window same as (partition by context_key, sha256, coalesce(left_at, -1) order by seq)
        )
        select emission_key, bytes from stretch
        where n > 1 and class in ('text', 'truncated') and not is_error and call_key is not null
        """
    )
    assert {row for row, _, _ in found} == {key for key, _ in expected}
    (variant_score,) = simulate(shared(), variants(["exact"])).scores
    assert variant_score.elided.bytes == sum(size for _, size in expected)
