"""What figures are counted in: tokens by which rule, four units side by side, and what shares are shares of.

`tokens` are first-pass tokens; `sent` are context-token-requests, tokens times the requests that carried
them; `usd` is the list price of carrying them; `share` is that price of the input-side cost of all requests
in the window (token-economics.md 2.1).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from dedupstats.economics import tokens as economics
from dedupstats.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dedupstats.analytics.window import Window
    from dedupstats.store import Store

TokenRule = economics.TokenRule
Unit = Literal["tokens", "sent", "usd", "share"]

TOKEN_RULES: dict[TokenRule, str] = {
    "ladder": "measured where the log tells, else estimated",
    "bytes4": "bytes / 4, rounded up",
}
"""the rules in words"""

Levels = tuple[float, ...]
"""counts of tokens by how they are known, the number of the level is the place: measured, a measured sum
split, from the growth of the prompt, by model family, bytes / 4, by the model's own tokenizer"""
NO_LEVELS: Levels = (0.0,) * len(economics.Level)


@dataclass(frozen=True, slots=True)
class Worth:
    """What some text has in tokens, and what carrying it cost.

    Attributes:
        levels: First-pass tokens by level; they add up to `tokens`.
        sent: Tokens times the requests that carried them.
        usd: What those requests charged for it that have a price, USD at list prices.
        unpriced_sent: The part of `sent` whose requests have no price: it is in no dollar.
        modelled_sent: The part of `sent` whose requests have no usage in the log.
        unseen: Results in contexts of which the log has no request: in `tokens`, not in `sent` and `usd`.

    Example:
        >>> half = Worth(levels=at_level(0, 1800), sent=5400, usd=0.0072825, unpriced_sent=1800)
        >>> half.tokens, half.paid, Worth(sent=100, unpriced_sent=100).paid
        (1800.0, 0.0072825, None)
    """

    levels: Levels = NO_LEVELS
    sent: float = 0.0
    usd: float = 0.0
    unpriced_sent: float = 0.0
    modelled_sent: float = 0.0
    unseen: int = 0

    @property
    def tokens(self) -> float:
        """First-pass tokens."""
        return math.fsum(self.levels)

    @property
    def by_level(self) -> dict[int, float]:
        """First-pass tokens by level, levels without any left out."""
        return {level: tokens for level, tokens in enumerate(self.levels) if tokens}

    @property
    def paid(self) -> float | None:
        """Dollars; None where no request that sent it has a price, or none is known: never $0."""
        if self.known_sent is None:
            return None
        return self.usd if self.unpriced_sent < self.sent or not self.sent else None

    @property
    def known_sent(self) -> float | None:
        """Tokens times requests; None where the log has no request that could have sent it."""
        return None if self.unseen and not self.sent else self.sent


def summed_levels(parts: Iterable[Levels]) -> Levels:
    """Levels added up one by one.

    Example:
        >>> summed_levels([at_level(0, 1.0), at_level(4, 2.0), at_level(0, 3.0)])
        (4.0, 0.0, 0.0, 0.0, 2.0, 0.0)
    """
    return tuple(map(math.fsum, zip(NO_LEVELS, *parts, strict=True)))


def at_level(level: int, tokens: float) -> Levels:
    """Tokens of one level.

    Example:
        >>> at_level(1, 7.0)
        (0.0, 7.0, 0.0, 0.0, 0.0, 0.0)
    """
    return (*NO_LEVELS[:level], tokens, *NO_LEVELS[level + 1 :])


@dataclass(frozen=True, slots=True)
class InputSide:
    """The input of all requests of a window: what a share of cost is a share of.

    Attributes:
        requests: Calls of the model, each counted once.
        unpriced: Those whose model has no price.
        modelled: Those without usage in the log: their prompt is estimated.
        tokens: Tokens of all prompts, so a token counts at each request that carried it.
        unpriced_tokens: Those of requests without a price.
        usd: What the prompts of the others cost, USD at list prices.
    """

    requests: int = 0
    unpriced: int = 0
    modelled: int = 0
    tokens: float = 0.0
    unpriced_tokens: float = 0.0
    usd: float = 0.0

    @property
    def paid(self) -> float | None:
        """Dollars; None where no request has a price: never $0."""
        return self.usd if self.unpriced < self.requests else None

    def share(self, worth: Worth) -> float | None:
        """What a worth is of the input-side cost, 0 to 1; None where either has no price."""
        return worth.paid / self.usd if self.usd and worth.paid is not None else None


def input_side(store: Store, window: Window) -> InputSide:
    """The input of all requests of a window, by their own time, model and session; tools are no matter."""
    where, values = replace(window, tools=()).where()
    unpriced = "input_usd is null"
    ((requests, without, modelled, tokens, unpriced_tokens, usd),) = store.query(
        f"select count(*), count(*) filter ({unpriced}), count(*) filter (is_modelled), "
        f"{exact_sum('prompt_tokens')}, {exact_sum('prompt_tokens', unpriced)}, {exact_sum('input_usd')} "
        f"from request_cost where {where}",
        values,
    )
    return InputSide(requests, without, modelled, tokens, unpriced_tokens, usd)


def check_unit(unit: Unit | None, tokens: TokenRule) -> None:
    """Refuse a unit that a rule for tokens has no figure in.

    Raises:
        UsageError: Bytes / 4 with another unit than tokens.
    """
    if tokens == "bytes4" and unit not in {None, "tokens"}:
        raise UsageError(
            f"--unit {unit} needs the tokens that requests were charged for, which bytes / 4 are not",
            "leave out --tokens bytes4, or --unit",
        )


EXACT = "decimal(28, 12)"
"""SQL type whose sums do not depend on the order of rows, as those of floating numbers do"""


def exact_sum(column: str, condition: str = "true") -> str:
    """SQL of a sum that does not depend on the order of rows."""
    return f"coalesce(sum({column}::{EXACT}) filter ({condition}), 0)::double"
