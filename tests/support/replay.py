"""What policies did to an imported history, told by call ids."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dedupstats.policies.base import Action
from dedupstats.simulate.run import simulate
from dedupstats.simulate.score import Beside
from dedupstats.simulate.variants import variants
from dedupstats.simulate.verdicts import PLACES, VERDICTS

if TYPE_CHECKING:
    from dedupstats.simulate.chunk import Chunk
    from dedupstats.simulate.knowledge import Knowledge
    from dedupstats.simulate.replay import Replayed
    from dedupstats.simulate.score import Score
    from dedupstats.simulate.timeline import Scope
    from dedupstats.store import Store


class Elided(NamedTuple):
    """One elision: `t2` against `t1`, `sound`, `in_sight`, and the counters beside it."""

    anchor: str
    verdict: str
    place: str
    counters: frozenset[str] = frozenset()


class Did(NamedTuple):
    """What one variant did."""

    elided: dict[str, Elided]
    reasons: dict[str, str]
    """why each result that it was asked about was shown or elided"""
    shortened: list[str]
    score: Score

    @property
    def verdicts(self) -> dict[str, str]:
        return {call: elided.verdict for call, elided in self.elided.items()}


def did(
    store: Store,
    policy: str,
    *assignments: str,
    scope: Scope = "session",
    knowledge: Knowledge | None = None,
    names: dict[int, str] | None = None,
) -> Did:
    """Replay a store under one variant: `docker-agent:v1` with what is set, `wiring=session` unless it says
    otherwise.

    Args:
        store: What was imported.
        policy: Its name and revision.
        assignments: As after `--set`.
        scope: As `simulate` has it.
        knowledge: As `simulate` has it.
        names: What to call each emission, by its key; without it the call id.
    """
    settings = list(assignments)
    if policy.startswith("docker-agent"):
        given = {assignment.partition("=")[0] for assignment in assignments}
        usual = {"wiring": "session", "errors": "documented"}
        settings += [f"{name}={value}" for name, value in usual.items() if name not in given]
    if policy.startswith("rtk") and "rtk:v1" not in policy:
        settings += [] if "compaction_handler" in str(assignments) else ["compaction_handler=true"]
    variant = variants([policy], settings)[0]
    calls = names or dict(store.query("select emission_key, call_id from emission"))
    elided: dict[str, Elided] = {}
    reasons: dict[str, str] = {}
    shortened: list[str] = []

    def take(chunk: Chunk, done: list[Replayed]) -> None:
        keys = [calls[key] for key in chunk.columns["emission_key"].tolist()]
        (one,) = done
        for row, answer in zip(one.asked.tolist(), one.answers, strict=True):
            reasons[keys[row]] = answer.reason
            if answer.action is Action.SHORTEN:
                shortened.append(keys[row])
        columns = (column.tolist() for column in one.judged)
        for row, anchor, _, verdict, place, *counters, _ in zip(*columns, strict=True):
            beside = frozenset(name.value for name, holds in zip(Beside, counters, strict=True) if holds)
            elided[keys[row]] = Elided(keys[anchor], VERDICTS[verdict].value, PLACES[place].value, beside)

    found = simulate(store, [variant], scope=scope, knowledge=knowledge, take=take)
    return Did(elided, reasons, shortened, found.scores[0])
