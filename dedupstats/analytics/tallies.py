"""Sizes of tool results, summed in SQL over the views `emission`, `emission_repeat` and `emission_cost`.

Bytes and results are those of originals; so are first-pass tokens. What was sent, and what that cost, is of a
result's whole life: its copies in resumed and forked contexts were sent too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from dedupstats.analytics.concentration import Concentration
from dedupstats.analytics.units import EXACT, NO_LEVELS, Worth, at_level, summed_levels
from dedupstats.economics.tokens import Level

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dedupstats.analytics.units import TokenRule, Unit
    from dedupstats.analytics.window import Window
    from dedupstats.store import Store

FLOOR_BYTES = 256
"""Results below it are left out of `rules_floor`: a marker would be about as long as they are."""


@dataclass(frozen=True, slots=True)
class Tally:
    """Tool results with their size, and what carrying them cost.

    Attributes:
        results: How many.
        bytes: UTF-8 bytes as the model was shown them.
        tokens: First-pass tokens, by the rule of `Rates.tokens`.
        levels: These by how they are known: measured, a measured sum split, from the growth of the prompt, by
            model family, bytes / 4, by the model's own tokenizer; they add up to `tokens`.
        sent: Context-token-requests: tokens times the requests that carried them, those of copies too.
        usd: What those of these requests charged for it that have a price, USD at list prices.
        unpriced_sent: The part of `sent` whose requests have no price: it is in no dollars.
        modelled_sent: The part of `sent` whose requests have no usage in the log.
        unseen: Results in contexts of which the log has no request: in tokens, not in `sent` and `usd`.
    """

    results: int = 0
    bytes: int = 0
    tokens: float = 0.0
    levels: tuple[float, ...] = NO_LEVELS
    sent: float = 0.0
    usd: float = 0.0
    unpriced_sent: float = 0.0
    modelled_sent: float = 0.0
    unseen: int = 0

    @property
    def worth(self) -> Worth:
        """Tokens and what carrying them cost."""
        return Worth(self.levels, self.sent, self.usd, self.unpriced_sent, self.modelled_sent, self.unseen)

    def weight(self, unit: Unit | None) -> float:
        """What it weighs beside others: in a unit, in bytes without one."""
        if unit is None:
            return self.bytes
        return {"tokens": self.tokens, "sent": self.sent}.get(unit, self.usd)


_EMPTY = Tally()

_SUMS = (
    "count(*), sum(bytes), sum(first_pass)::double, sum(sent)::double, sum(usd)::double, "
    "sum(unpriced)::double, sum(modelled)::double, count(*) filter (is_unseen)"
)
"""the fields of a tally, of results of one level"""

_BYTES4 = f"""
counted as (
    select e.*, r.* exclude (emission_key), {Level.UNKNOWN.value} as level, e.tokens as first_pass,
        0 as sent, 0 as usd, 0 as unpriced, 0 as modelled, false as is_unseen
    from emission e join emission_repeat r using (emission_key)
)
"""
_LADDER = f"""
life as (
    -- whole tokens result by result, as a replay counts them
    select original_key as emission_key, sum(round_even(carried_tokens, 0)::{EXACT}) as sent,
        sum(usd::{EXACT}) as usd, sum(round_even(unpriced_tokens, 0)::{EXACT}) as unpriced,
        sum(round_even(modelled_tokens, 0)::{EXACT}) as modelled
    from emission_cost group by all
), asked as (
    select distinct context_key from request_cost
), counted as (
    -- a copy has no life of its own: what it was sent is of its original's too
    select e.*, r.* exclude (emission_key), coalesce(c.level, {Level.UNKNOWN.value}) as level,
        coalesce(round_even(c.tokens, 0), e.tokens)::{EXACT} as first_pass,
        coalesce(l.sent, 0) as sent, coalesce(l.usd, 0) as usd, coalesce(l.unpriced, 0) as unpriced,
        coalesce(l.modelled, 0) as modelled,
        a.context_key is null and coalesce(l.sent, 0) = 0 as is_unseen
    from emission e join emission_repeat r using (emission_key)
    left join emission_cost c using (emission_key)
    left join life l using (emission_key)
    left join asked a on a.context_key = e.context_key
)
"""


def tally_of(parts: Iterable[Tally]) -> Tally:
    """Several as one; the sums do not depend on their order."""
    every = tuple(parts)
    if len(every) <= 1:
        return every[0] if every else _EMPTY
    return Tally(
        results=sum(one.results for one in every),
        bytes=sum(one.bytes for one in every),
        tokens=math.fsum(one.tokens for one in every),
        levels=summed_levels(one.levels for one in every),
        sent=math.fsum(one.sent for one in every),
        usd=math.fsum(one.usd for one in every),
        unpriced_sent=math.fsum(one.unpriced_sent for one in every),
        modelled_sent=math.fsum(one.modelled_sent for one in every),
        unseen=sum(one.unseen for one in every),
    )


class Cell(NamedTuple):
    """Sums over the results of one group that agree in class, flags, floor, level and repeats."""

    klass: str
    is_error: bool
    is_copy: bool
    is_floored: bool
    repeats: Sequence[bool]
    """by rule"""
    tally: Tally


class Counted:
    """The results of a window, each with its size by a rule for tokens."""

    def __init__(self, store: Store, window: Window, tokens: TokenRule, columns: Sequence[str]) -> None:
        """What is counted.

        Args:
            store: An open store.
            window: What to count.
            tokens: The rule for tokens.
            columns: Columns of the view `emission_repeat`, one for each rule.
        """
        where, self._values = window.where()
        self._store = store
        self._columns = columns
        self._sizes = _BYTES4 if tokens == "bytes4" else _LADDER
        self._from = f"from counted where {where}"

    def cells(self, group: str, values: Sequence[Any] = ()) -> dict[Any, list[Cell]]:
        """Sums by group, an SQL expression that may have parameters."""
        rules = "".join(f", {column}" for column in self._columns)
        found = self._store.query(
            f"with {self._sizes} select {group} as grouped, class, is_error, is_copy, "
            f"bytes >= {FLOOR_BYTES} as floored, level{rules}, {_SUMS} {self._from} "
            "group by all order by all",
            [*values, *self._values],
        )
        cells: dict[Any, list[Cell]] = {}
        for grouped, klass, is_error, is_copy, floored, level, *rest in found:
            repeats, sums = rest[: len(self._columns)], rest[len(self._columns) :]
            results, size, tokens, sent, usd, unpriced, modelled, unseen = sums
            levels = at_level(level, tokens)
            tally = Tally(results, size, tokens, levels, sent, usd, unpriced, modelled, unseen)
            cells.setdefault(grouped, []).append(Cell(klass, is_error, is_copy, floored, repeats, tally))
        return cells

    def by_session(self, unit: Unit | None) -> list[tuple[Any, ...]]:
        """Of each session its id, what its originals weigh, and their repeats by rule."""
        sums = "".join(f", {_sum(unit, column)}" for column in self._columns)
        return self._store.query(
            f"with {self._weights(unit)} select session_id, {_sum(unit)}{sums} {self._from} and not is_copy "
            "group by session_key, session_id order by all",
            self._values,
        )

    def by_call(self, unit: Unit | None, call: str) -> list[Concentration]:
        """Per rule, the concentration over calls: in SQL, since there may be as many calls as results.

        Args:
            unit: What calls are weighed in.
            call: The column that tells calls apart.
        """
        weight = _weight(unit)
        places = range(len(self._columns))
        sums = ", ".join(
            f"sum({weight}) filter ({column}) as held{place}" for place, column in enumerate(self._columns)
        )
        as_type = "double" if unit else "bigint"
        figures = ", ".join(
            f"coalesce(sum(held{place}), 0)::{as_type}, count(*) filter (held{place} > 0), "
            f"max(held{place}, 5)::{as_type}[], "
            # the largest; of equals the first by name
            f"min(row(-held{place}, tool)) filter (held{place} > 0)"
            for place in places
        )
        row = self._store.query(
            # a result whose call is not in its file is a call of its own
            f"with {self._weights(unit)}, calls as (select min(tool) as tool, {sums} {self._from} "
            f"and ({' or '.join(self._columns)}) group by coalesce({call}, emission_key), {call} is null) "
            f"select {figures} from calls",
            self._values,
        )[0]
        found = []
        for place in places:
            total, groups, top, largest = row[4 * place : 4 * place + 4]
            top = top or [0]
            found.append(Concentration(total, groups, top[0], sum(top), largest and largest[1]))
        return found

    def _weights(self, unit: Unit | None) -> str:
        """Where weights are from: bytes need no join with costs."""
        return self._sizes if unit else _BYTES4


def _weight(unit: Unit | None) -> str:
    if unit is None:
        return "bytes"
    return {"tokens": "first_pass", "sent": "sent"}.get(unit, "usd")


def _sum(unit: Unit | None, condition: str = "true") -> str:
    # decimals, so that sums do not depend on the order of rows
    as_type = "::double" if unit else ""
    return f"coalesce(sum({_weight(unit)}) filter ({condition}), 0){as_type}"
