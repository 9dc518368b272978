"""What happened in a context, in order: what entered, what left sight, what was asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dedupstats.economics.families import Visible
from dedupstats.economics.tokens import Step, clean_single, exact_net, has_hidden

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dedupstats.economics.cost import Usage
    from dedupstats.economics.prompt import Kind
    from dedupstats.economics.tokens import Entry


class Asked(NamedTuple):
    """A request."""

    key: int
    at: int | None
    """microseconds UTC"""
    model: str | None
    tier: str | None
    usage: Usage | None
    """None: the log does not tell"""
    output: int | None
    is_output_known: bool
    visible: Visible
    is_billed: bool
    """False for the copy of a request that another context pays for: it tells what stood in the prompt"""


class Entered(NamedTuple):
    """A tool result, or a text that entered otherwise."""

    key: int | None
    """key of the emission; None: no tool result"""
    ordinal: int | None
    kind: Kind
    label: str | None
    """tool, or type of the attachment"""
    entry: Entry


class Left(NamedTuple):
    """A boundary: what stood before it leaves sight."""

    clears: bool
    """a compaction or clear, which removes all but the ordinals; else only they are removed"""
    is_rewind: bool
    """what stood behind the first one removed was on the abandoned branch, and goes too"""
    ordinals: frozenset[int]


Event = Asked | Entered | Left


class Leg(NamedTuple):
    """What lies between two requests of a context."""

    before: Asked | None
    entered: list[Entered]
    left: list[tuple[int, Left]]
    """boundaries, each with how much had entered before it"""
    after: Asked | None
    step: Step
    """all of it to be measured (token-economics.md 5.1); the growth is None where nothing can be"""


def legs(events: Iterable[Event]) -> Iterator[Leg]:
    """The events of a context, cut at its requests; the last leg has no request behind it."""
    before: Asked | None = None
    entered: list[Entered] = []
    left: list[tuple[int, Left]] = []
    for event in events:
        if isinstance(event, Entered):
            entered.append(event)
        elif isinstance(event, Left):
            left.append((len(entered), event))
        else:
            yield Leg(before, entered, left, event, _step(before, entered, left, event))
            before, entered, left = event, [], []
    yield Leg(before, entered, left, None, _step(before, entered, left, None))


_NOTHING = Visible()


def _step(
    before: Asked | None, entered: list[Entered], left: list[tuple[int, Left]], after: Asked | None
) -> Step:
    entries = [one.entry for one in entered]
    if before is None:
        return Step(None, 0, True, _NOTHING, entries)
    growth = None
    if (
        after is not None
        and before.usage is not None
        and after.usage is not None
        and before.model == after.model
        and not left
    ):
        growth = after.usage.prompt - before.usage.prompt
    return Step(growth, before.output, before.is_output_known, before.visible, entries)


class Single(NamedTuple):
    """A result that is measured alone: what entered between two requests is it and nothing else (5.1)."""

    asked: Asked
    """the request that sent it first"""
    step: Step
    entry: Entry
    tokens: float


def singles(legs: Iterable[Leg]) -> Iterator[Single]:
    """Every result of a context that is measured alone; images left out, of which no byte tells anything."""
    for leg in legs:
        step = leg.step
        net = exact_net(step)
        if leg.after is None or net is None:
            continue
        place = clean_single(step)
        if place is None or step.entries[place].is_image or has_hidden(step, step.output):
            continue
        yield Single(leg.after, step, step.entries[place], net)
