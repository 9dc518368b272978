"""Automatic compactions in words: counts with intervals, what is in no claim, and a sensitivity."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dedupstats.analytics.intervals import clopper_pearson
from dedupstats.report import money
from dedupstats.report.blocks import plural
from dedupstats.report.text import count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dedupstats.analytics.compactions import Compactions, ContextCount

_LISTED: Final = 4


def with_interval(said: str, found: int, of: int) -> str:
    """Some words with the 95 % interval of a share (Clopper-Pearson); one case alone has none worth telling.

    Example:
        >>> with_interval("38 of 44 contexts", 38, 44), with_interval("1 of 1", 1, 1)
        ('38 of 44 contexts; 95 % interval 72.6 to 94.8 %', '1 of 1')
    """
    if of <= 1:
        return said
    low, high = clopper_pearson(found, of)
    return f"{said}; 95 % interval {100 * low:.1f} to {100 * high:.1f} %"


def recorded(found: Compactions) -> str:
    """What the logs have, and how much of it the replay reproduces, with intervals over contexts (4.2).

    Example:
        >>> from dedupstats.analytics.compactions import Compactions
        >>> from textwrap import fill
        >>> print(fill(recorded(Compactions(3, reproduced=3, contexts=2, compacted=2, exact=2)), 100))
        Automatic compactions: 3 recorded, 3 of 3 reproduced by the replay (2 of 2 contexts; 95 % interval
        15.8 to 100.0 %).
    """
    told = found.recorded - found.untold
    said = [f"Automatic compactions: {count(told)} recorded"]
    if told:
        said.append(
            f"{count(found.reproduced - found.reproduced_untold)} of {count(told)} reproduced by the replay"
        )
    if found.untold:
        part = f"{count(found.reproduced_untold)} of {count(found.untold)}"
        said.append(f"{count(found.untold)} more of unknown trigger, {part} reproduced")
    if found.recorded:
        contexts = f"{count(found.exact)} of {plural(found.compacted, 'context')}"
        both = "in all " if told and found.untold else ""
        said[-1] += f" ({both}{with_interval(contexts, found.exact, found.compacted)})"
    without = found.contexts - found.compacted
    if without:
        invented = found.not_reproduced - (found.compacted - found.exact)
        where = f"{count(invented)} of {plural(without, 'context')}"
        said.append(f"made up in those without one: {with_interval(where, invented, without)}")
    return f"{', '.join(said)}."


def pair(found: Compactions, policy: str) -> str:
    """The pair of counts: without a policy and with one, through the same replay.

    Example:
        >>> from dedupstats.analytics.compactions import Compactions
        >>> pair(Compactions(recorded=3, reproduced=3, under_policy=2, contexts=10), "safe")
        'Replayed in the contexts that are reproduced: 3 without a policy, 2 with safe.'
    """
    return (
        f"Replayed in the contexts that are reproduced: {count(found.reproduced)} without a policy, "
        f"{count(found.under_policy)} with {policy}."
    )


def sensitivity(found: Compactions, policy: str) -> str | None:
    """What summary calls that are not made would have cost: a label of its own; None: as many are made."""
    if not found.changed:
        return None
    fewer = found.reproduced - found.under_policy
    priced = len(found.changed) - found.unpriced
    price = f"{money.usd(found.summary_usd)} at list prices" if priced else "no price is known"
    if priced and found.unpriced:
        price += f", without {plural(found.unpriced, 'context')} that has none"
    return (
        f"Sensitivity, modelled and in no other figure: {_difference(fewer)} with {policy}; summary calls "
        f"that are not made: {price}."
    )


def _difference(fewer: int) -> str:
    return plural(abs(fewer), "compaction") + (" fewer" if fewer >= 0 else " more")


def notes(found: Compactions, policy: str, named: Callable[[str], str]) -> Iterator[str]:
    """The counts, and what they leave out.

    Args:
        found: Of some contexts.
        policy: Its label.
        named: How ids of sessions are shown.
    """
    if found.contexts:
        yield recorded(found)
        yield pair(found, policy)
    yield from difference(found, policy, named)
    yield from left_out(found, named)


def difference(found: Compactions, policy: str, named: Callable[[str], str]) -> Iterator[str]:
    """The contexts that have more or fewer under the policy, and the sensitivity."""
    if found.changed:
        yield f"More or fewer with {policy}: {_listed(found.changed, named)}."
    if said := sensitivity(found, policy):
        yield said


def left_out(found: Compactions, named: Callable[[str], str]) -> Iterator[str]:
    """The contexts of which nothing is claimed."""
    if found.unlike:
        yield (
            f"In no claim: {plural(found.not_reproduced, 'context')} with more or fewer in the log than in "
            f"the replay: {_listed(found.unlike, named)}."
        )
    if found.untold:
        yield "Unknown trigger: it may have been by hand, which no replay reproduces."
    for number, why in (
        (found.left_out, "went on above the usual limit (a larger window, or compaction is off)"),
        (found.no_rule, "of an agent without a known limit, or of a model whose window is not known"),
        (found.no_usage, "without usage in the log"),
    ):
        if number:
            yield f"Not replayed: {plural(number, 'context')} {why}."


def _listed(contexts: Sequence[ContextCount], named: Callable[[str], str]) -> str:
    said = [_context(one, named) for one in contexts[:_LISTED]]
    if len(contexts) > _LISTED:
        said.append(f"{count(len(contexts) - _LISTED)} more")
    return ", ".join(said)


def _context(one: ContextCount, named: Callable[[str], str]) -> str:
    name = named(one.session) + (", subagent" if one.kind != "main" else "")
    if one.under_policy is None:
        return f"{name} ({count(one.recorded)} recorded, {count(one.replayed)} replayed)"
    return f"{name} ({count(one.under_policy)} instead of {count(one.replayed)})"
