"""Laws that policies keep on random histories; those of the bounds against a literal reading of sight."""

from __future__ import annotations

import collections
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from support.policies import HOUR, USUAL, policy

from dedupstats.policies import all_policies
from dedupstats.policies.base import Action, Decision, Emission, Event, EventKind, LedgerId, Policy, delivered

Steps = list[Emission | Event]

VARIANTS = [
    *(name for name in all_policies() if not all_policies()[name].revisions),
    "docker-agent:v1",
    "docker-agent:v1 wiring=transform errors=host",
    "docker-agent:v2",
    "docker-agent:v2 max_sessions=1 max_keys=2",
    "docker-agent:v3",
    "docker-agent:v3 wiring=runtime ledger=session",
    "docker-agent:v3 limiter=front max_result_bytes=900",
    "rtk:v1",
    "rtk:v1 suppress_on_error=true idle_hours=1",
    "rtk:v2 recency_window=1",
    "rtk:v2 ledger=context compaction_handler=false",
]
ENGINES = [variant for variant in VARIANTS if variant != "ceiling"]


def made(variant: str) -> Policy:
    name, *assignments = variant.split()
    return policy(name, *assignments)


small = st.integers(0, 2)
results = st.fixed_dictionaries(
    {
        "session": st.sampled_from(["s", "t", ""]),
        "context": st.sampled_from(["main", "sub"]),
        "tool": st.sampled_from(["read_file", "t" * 60]),
        "category": st.sampled_from(["filesystem", "git", "shell", ""]),
        "read_only": st.sampled_from([True, True, True, False]),
        "is_error": st.sampled_from([False, False, False, True]),
        "call_key": small,
        "sha64": small,
        "bytes": st.sampled_from([0, 300, 1_000]),
        "repeatable": st.sampled_from([True, True, True, False]),
        "raw_sha64": small,
    }
)
events = st.builds(
    lambda kind, session, context: Event(kind, session, f"{session}/{context}"),
    st.sampled_from(EventKind),
    st.sampled_from(["s", "t"]),
    st.sampled_from(["main", "sub"]),
)


def settled(drawn: list[tuple[dict[str, Any] | Event, int]]) -> Steps:
    """A history: contexts belong to one session, a compaction removes all that its context has in sight."""
    steps: Steps = []
    following: collections.Counter[LedgerId] = collections.Counter()
    now = 0
    for step, hours in drawn:
        now += hours * HOUR
        if isinstance(step, Event):
            if step.kind is EventKind.COMPACTION:
                steps = [removed(old, step.context, following[step.context]) for old in steps]
            steps.append(step)
            continue
        context = f"{step['session']}/{step['context']}"
        told = {**step, "context": context, "did_not_run": step["is_error"] and step["read_only"]}
        steps.append(replace(USUAL, **told, seq=len(steps), ordinal=following[context], at=now))
        following[context] += 1
    return steps


def removed(step: Emission | Event, context: LedgerId, ordinal: int) -> Emission | Event:
    if isinstance(step, Event) or step.context != context:
        return step
    return replace(step, left_at=min(step.left_at, ordinal))


histories = st.lists(st.tuples(results | events, st.sampled_from([0, 0, 0, 1, 30])), max_size=25).map(settled)


def answers(engine: Policy, steps: Steps) -> list[tuple[Emission, Decision]]:
    found = []
    for step in steps:
        if isinstance(step, Emission):
            found.append((step, engine.decide(step)))
        else:
            for kind in delivered(engine.wiring, step.kind):
                engine.notify(step._replace(kind=kind))
    return found


@pytest.mark.parametrize("variant", ENGINES)
@settings(max_examples=40)
@given(histories)
def test_what_is_elided_is_what_the_anchor_was(variant: str, steps: Steps) -> None:
    by_seq = {step.seq: step for step in steps if isinstance(step, Emission)}
    full = set()
    for emission, decision in answers(made(variant), steps):
        if decision.action is Action.SHOW:
            full.add(emission.seq)
        if decision.action is Action.ELIDE:
            assert decision.anchor is not None
            anchor = by_seq[decision.anchor]
            hashed = "raw_sha64" if variant.startswith("rtk") else "sha64"
            assert getattr(anchor, hashed) == getattr(emission, hashed)
            assert anchor.seq < emission.seq
            assert anchor.seq in full
            assert decision.shown_bytes == len((decision.marker or "").encode())


@pytest.mark.parametrize("variant", VARIANTS)
@settings(max_examples=40)
@given(histories, st.data())
def test_policies_share_nothing_and_do_not_know_strangers(
    variant: str, steps: Steps, data: st.DataObject
) -> None:
    """A second object at work, and events of sessions that do not exist, change no decision."""
    alone = answers(made(variant), steps)
    engine, other = made(variant), made(variant)
    found = []
    for step in steps:
        answers(other, data.draw(st.lists(st.sampled_from(steps), max_size=2)))
        engine.notify(Event(data.draw(st.sampled_from(EventKind)), "stranger", "stranger"))
        engine.forget("stranger")
        found += answers(engine, [step])
    assert found == alone


class Guarded:
    """An emission that only tells what a policy declares to need."""

    def __init__(self, emission: Emission, needs: frozenset[str]) -> None:
        self._told = {name: getattr(emission, name) for name in {*needs, "seq"}}

    def __getattr__(self, name: str) -> Any:
        if name in self.__dict__["_told"]:
            return self.__dict__["_told"][name]
        raise AssertionError(f"{name} was read and is not among the needs")


@pytest.mark.parametrize("variant", VARIANTS)
@settings(max_examples=40)
@given(histories)
def test_policies_see_what_they_declare_and_no_more(variant: str, steps: Steps) -> None:
    engine = made(variant)
    assert engine.needs <= set(Emission.__struct_fields__)
    expected = [decision for _, decision in answers(made(variant), steps)]
    found = []
    for step in steps:
        if isinstance(step, Emission):
            found.append(engine.decide(Guarded(step, engine.needs)))  # type: ignore[arg-type]
        else:
            answers(engine, [step])
    assert found == expected


@pytest.mark.parametrize("revision", ["v2", "v3"])
@given(histories)
def test_nothing_dangles_where_compactions_are_the_only_boundaries(revision: str, steps: Steps) -> None:
    by_seq = {step.seq: step for step in steps if isinstance(step, Emission)}
    for emission, decision in answers(made(f"docker-agent:{revision} wiring=session ledger=context"), steps):
        if decision.anchor is not None:
            assert by_seq[decision.anchor].left_at > emission.ordinal


@pytest.mark.parametrize("name", ["exact", "safe"])
@given(histories)
def test_bounds_elide_exactly_what_is_in_sight(name: str, steps: Steps) -> None:
    shown: list[Emission] = []
    for emission, decision in answers(made(name), steps):
        may = emission.repeatable and not emission.is_error
        if name == "safe":
            may = may and emission.read_only
        in_sight = any(
            copy.context == emission.context
            and copy.sha64 == emission.sha64
            and copy.left_at > emission.ordinal
            for copy in shown
        )
        assert (decision.action is Action.ELIDE) == (may and in_sight)
        if decision.action is Action.SHOW:
            shown.append(emission)
