"""A run: a store's history under every variant, in one pass over its chunks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dedupstats.collector import collector_off
from dedupstats.simulate.knowledge import Knowledge
from dedupstats.simulate.replay import Replay
from dedupstats.simulate.score import Score
from dedupstats.simulate.timeline import Timeline

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from dedupstats.economics.tokens import TokenRule
    from dedupstats.simulate.chunk import Chunk
    from dedupstats.simulate.replay import Replayed
    from dedupstats.simulate.score import Tally
    from dedupstats.simulate.timeline import Scope
    from dedupstats.simulate.variants import Variant
    from dedupstats.store import Store


@dataclass(slots=True)
class Simulation:
    """What a run found."""

    scope: Scope
    tokens: TokenRule
    results: Tally
    """of the history: every result that is counted, copies left out"""
    known_by: dict[int, int]
    """their tokens by how they are known (`dedupstats.economics.tokens.Level`)"""
    sessions: int
    """sessions with such results"""
    variants: list[Variant]
    scores: list[Score] = field(default_factory=list)
    """one for each variant"""


def simulate(
    store: Store,
    variants: Sequence[Variant],
    *,
    scope: Scope = "session",
    knowledge: Knowledge | None = None,
    counted: str = "true",
    parameters: Mapping[str, Any] | None = None,
    families: Sequence[int] | None = None,
    tokens: TokenRule = "ladder",
    take: Callable[[Chunk, list[Replayed]], None] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Simulation:
    """Replay a store's history under some policies.

    Args:
        store: An open store; read-only will do.
        variants: See `dedupstats.simulate.variants.variants`.
        scope: `session`: each session has a process of the engine to itself. `history`: one process lives
            through all sessions, in order of time.
        knowledge: What a person says of tools.
        counted: SQL condition on the view `emission` (called `e`): which results are counted. The whole
            history is replayed whatever it says.
        parameters: Values of the condition's `$names`.
        families: Only these, as if there were no others; None: all of them.
        tokens: How tokens are counted: by the estimator ladder, with what carrying them cost, or by bytes.
        take: Is shown each chunk with what every variant did in it.
        progress: Is told how many of how many chunks are done.
    """
    timeline = Timeline(
        store,
        scope,
        knowledge or Knowledge(),
        counted,
        parameters,
        families=families,
        tokens=tokens,
    )
    found = begun(timeline, scope, tokens, variants)
    replay = Replay(variants, scope)
    stretches = timeline.stretches
    with collector_off():
        for number, (first, last) in enumerate(stretches):
            chunk = timeline.chunk(first, last)
            replayed = replay.chunk(chunk)
            for mine, theirs in zip(found.scores, replayed, strict=True):
                mine.add(theirs.score)
            if take is not None:
                take(chunk, replayed)
            if progress is not None:
                progress(number + 1, len(stretches))
    return found


def begun(timeline: Timeline, scope: Scope, tokens: TokenRule, variants: Sequence[Variant]) -> Simulation:
    """A simulation of which everything is known but the scores."""
    return Simulation(
        scope,
        tokens,
        timeline.counted,
        timeline.known_by,
        timeline.sessions,
        list(variants),
        [Score() for _ in variants],
    )
