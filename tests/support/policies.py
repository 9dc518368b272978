"""Emissions by their differences from a usual one, and what policies make of them."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from dedupstats.policies import chosen
from dedupstats.policies.base import NEVER, Decision, Emission, Event, EventKind, Policy

USUAL = Emission(
    seq=0,
    session="s",
    context="s",
    ordinal=0,
    left_at=NEVER,
    at=0,
    tool="read_file",
    category="filesystem",
    read_only=True,
    is_error=False,
    did_not_run=False,
    call_key=1,
    sha64=1,
    bytes=1_000,
    lines=10,
    repeatable=True,
    raw_sha64=1,
    identity="read:a",
)
HOUR = 3_600_000_000


def policy(name: str, *assignments: str) -> Policy:
    return chosen(name).set(assignments).policy()


def decisions(engine: Policy, *steps: dict[str, Any] | Event) -> list[Decision]:
    """What an engine decides on emissions, given by what is unusual about them; `seq` counts from 0."""
    found = []
    for step in steps:
        if isinstance(step, Event):
            engine.notify(step)
        else:
            found.append(engine.decide(replace(USUAL, seq=len(found), **step)))
    return found


def reasons(engine: Policy, *steps: dict[str, Any] | Event) -> list[str]:
    return [decision.reason for decision in decisions(engine, *steps)]


def compaction(session: str = "s", context: str | None = None) -> Event:
    return Event(EventKind.COMPACTION, session, session if context is None else context)


def end(session: str = "s", context: str | None = None) -> Event:
    return Event(EventKind.SESSION_END, session, session if context is None else context)
