"""What a request charges for a place in its prompt, and what leaving a result out saves.

A prompt is a line of positions. What the cache held is read, what follows is written to it, the rest is
uncached (token-economics.md 2.2). Money is in millionths of a dollar (µ$): tokens times USD per million.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[Any]

TTL_5M, TTL_1H = 300.0, 3600.0
"""Life of what is written to the cache, in seconds from its last use (2.4)."""


class Usage(NamedTuple):
    """Input tokens of a request in four parts that exclude each other (1.1)."""

    uncached: float
    read: float
    write_5m: float
    write_1h: float

    @property
    def prompt(self) -> float:
        """The whole prompt."""
        return self.uncached + self.read + self.write_5m + self.write_1h


def modelled_usage(
    prompt: float, cached: float, gap: float | None, ttl: float, *, bills_writes: bool = True
) -> Usage:
    """The usage of a request that recorded none, by the all-hit model (2.3): a figure from it is "modelled".

    Args:
        prompt: Its whole prompt, tokens.
        cached: How much of it the request before had sent.
        gap: Seconds since the request before; None: not known, so that the cache still holds it. Below zero
            (a clock that ran backwards) is 0.
        ttl: Life of the cache in seconds.
        bills_writes: The provider charges for writes; else what is new is uncached.
    """
    read = 0.0 if gap is not None and gap > ttl else min(cached, prompt)
    rest = prompt - read
    if not bills_writes:
        return Usage(rest, read, 0, 0)
    return Usage(0, read, 0, rest) if ttl > TTL_5M else Usage(0, read, rest, 0)


# -- changes -------------------------------------------------------------------------------------------------


class Borne(NamedTuple):
    """Emissions in tokens, and what carrying them was charged: whole numbers, one entry each."""

    tokens: Numbers
    """first-pass tokens, framing included"""
    sent: Numbers
    """tokens times the requests that carried them"""
    nano_usd: Numbers
    """billionths of a dollar, of the requests with a price"""


class Change(Protocol):
    """What a policy does to emissions.

    Kinds have formulas of their own: leaving out at entry scales what was charged, rewriting later pays for
    the cache that it breaks (3.1).
    """

    def instead(self, whole: Borne) -> Borne:
        """What is borne in the place of emissions, all else as it was; what is saved is the whole less this.

        It is never cut: where more is borne than before, a change costs more than it saves (S03).
        """


@dataclass(frozen=True, slots=True)
class EntryElision:
    """Markers are shown instead of results when these arrive (2.3): no cache is broken.

    Attributes:
        markers: Tokens of the markers, framing included (the results have the same).
    """

    markers: Numbers

    def instead(self, whole: Borne) -> Borne:
        """C(m) over the same requests: m / x of what was charged, to first order.

        What has no tokens is an image that nobody could measure: nothing is said of it. An empty result has
        those of its framing.

        Example:
            >>> import numpy as np
            >>> one, three = np.array([20]), Borne(np.array([100]), np.array([300]), np.array([3_000]))
            >>> [int(part[0]) for part in EntryElision(one).instead(three)]
            [20, 60, 600]
        """
        # numpy takes as long to load as an import that finds nothing new, which needs `Usage` all the same
        import numpy as np

        is_some = whole.tokens > 0
        part = self.markers / np.where(is_some, whole.tokens, 1) * is_some
        return Borne(*(np.rint(column * part).astype(np.int64) for column in whole))
