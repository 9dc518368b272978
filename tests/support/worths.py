"""Tokens and carrying costs of repeats, added up row by row in Python: another route than the rates' SQL."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

from dedupstats.economics.tokens import Level
from support.judged import EXACT

if TYPE_CHECKING:
    from dedupstats import Store
    from dedupstats.analytics.tallies import Tally


@dataclass
class Plain:
    """Sums without any rounding."""

    results: int = 0
    bytes: int = 0
    bytes4: int = 0
    unseen: int = 0
    sums: list[Fraction] = field(default_factory=lambda: [Fraction()] * 5)
    levels: list[Fraction] = field(default_factory=lambda: [Fraction()] * len(Level))

    def agrees(self, tally: Tally) -> bool:
        """Whether a tally holds the same, to the last digits that floating numbers have."""
        found = (tally.tokens, tally.sent, tally.usd, tally.unpriced_sent, tally.modelled_sent, *tally.levels)
        return (self.results, self.bytes, self.unseen) == (tally.results, tally.bytes, tally.unseen) and all(
            abs(one - float(other)) <= 1e-9 * max(abs(one), 1)
            for one, other in zip(found, (*self.sums, *self.levels), strict=True)
        )


def worths(store: Store, by: str) -> dict[str, dict[str, Plain]]:
    """By group, then by rule (`all`: every result), originals alone, each with the lives of its copies."""
    costs = {
        # whole tokens result by result; dollars as they are
        key: [Fraction(number) if place == 2 else Fraction(round(number)) for place, number in enumerate(row)]
        for key, *row in store.query(
            "select emission_key, tokens, carried_tokens, usd, unpriced_tokens, modelled_tokens "
            "from emission_cost"
        )
    }
    levels = dict(store.query("select emission_key, level from emission_cost"))
    asked = {key for (key,) in store.query("select context_key from request")}
    rows = store.query(
        f"select emission_key, copy_of, {by}, context_key, bytes, {', '.join(EXACT)} "
        "from emission join emission_repeat using (emission_key)"
    )
    copies = defaultdict(list)
    for key, original, *_ in rows:
        if original is not None:
            copies[original].append(key)
    found: dict[str, dict[str, Plain]] = defaultdict(lambda: defaultdict(Plain))
    for key, original, group, context, size, *flags in rows:
        if original is not None:
            continue
        tokens, *life = costs[key]
        for copy in copies[key]:
            life = [one + other for one, other in zip(life, costs[copy][1:], strict=True)]
        for rule in ("all", *(name for name, flag in zip(EXACT, flags, strict=True) if flag)):
            plain = found[str(group)][rule.replace("_", "-")]
            plain.results += 1
            plain.bytes += size
            plain.bytes4 += -(-size // 4)
            plain.unseen += context not in asked and not life[0]
            plain.sums = [one + other for one, other in zip(plain.sums, (tokens, *life), strict=True)]
            plain.levels[levels[key]] += tokens
    return found
