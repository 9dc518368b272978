"""What an engine's ledger held when it decided, told from its answers.

A policy shows its decisions and not its ledgers. What it recorded is known all the same: a result that it
showed because the ledger did not hold it is what it recorded of that call, or of these bytes. Whether an
event since made it forget is asked of a new object of the same policy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dedupstats.policies.base import Stage, Witness, delivered

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dedupstats.policies.base import Decision, Emission, Event
    from dedupstats.simulate.chunk import Arrival, Chunk
    from dedupstats.simulate.variants import Variant


class Held(NamedTuple):
    """The last result of the same call, or of the same bytes, that a ledger recorded."""

    row: int
    """of the chunk"""
    is_forgotten: bool
    """the ledger no longer held it"""
    cause: Arrival | None
    """the event that made it forget; None: none did (idle too long, or too many ledgers)"""


def held(chunk: Chunk, row: int, variant: Variant, answers: Mapping[int, Decision]) -> Held | None:
    """What the ledger held for a result, before it was asked about it.

    Args:
        chunk: The family of the result.
        row: The result.
        variant: What decided, with a process for each session.
        answers: What it answered, by row.

    Returns:
        None: it had recorded nothing alike.
    """
    decision = answers[row]
    if decision.anchor is not None:
        return Held(int(chunk.rows(np.array([decision.anchor]))[0]), False, None)
    reasons = variant.spec.definition.reasons
    recorded = [
        other
        for other in _alike(chunk, row, variant)
        if other in answers and reasons.get(answers[other].reason) is Stage.LEDGER
    ]
    if not recorded:
        return None
    latest = recorded[-1]
    ledger = chunk.columns["ledger_no"][row]
    cause = next(
        (
            arrival
            for arrival in chunk.arrivals
            if latest < arrival.row <= row
            and arrival.ledger == ledger
            and _forgets(variant, chunk.emissions[latest], arrival.event)
        ),
        None,
    )
    is_new = reasons.get(decision.reason) is Stage.LEDGER and decision.reason == answers[recorded[0]].reason
    return Held(latest, cause is not None or is_new, cause)


def _alike(chunk: Chunk, row: int, variant: Variant) -> list[int]:
    """Earlier rows of the same ledger with the same call, or the same bytes."""
    spec = variant.spec
    is_reference = isinstance(spec.policy(), Witness)
    names = ["call_key" if spec.definition.keyed_by == "call" else "sha64"]
    # a reference keeps sight, whatever the rows of a context call their session
    names += [] if is_reference else ["ledger_no"]
    names += ["context_key"] if is_reference or spec.settings.get("ledger") == "context" else []
    is_alike = np.ones(row, dtype=bool)
    for column in map(chunk.columns.__getitem__, names):
        is_alike &= column[:row] == column[row]
    found: list[int] = np.flatnonzero(is_alike).tolist()
    return found


def _forgets(variant: Variant, emission: Emission, event: Event) -> bool:
    """Whether an event makes the policy forget a result that it recorded."""
    policy = variant.spec.policy()
    policy.decide(emission)
    for kind in delivered(policy.wiring, event.kind):
        policy.notify(event._replace(kind=kind))
    told = policy.decide(emission).reason
    untold = variant.spec.policy()
    untold.decide(emission)
    return told != untold.decide(emission).reason
