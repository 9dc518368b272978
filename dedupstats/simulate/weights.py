"""What each result of a chunk weighs: bytes, tokens, tokens sent and dollars, and what a marker would weigh.

Everything is a whole number per result (tokens and tokens sent are rounded, money is in billionths of a
dollar), so that sums do not depend on the order of chunks or the number of processes.

Sizes in tokens have the framing of a tool result in them, the marker's too: a marker is a result as well. So
gross less marker is x - m, as token-economics.md 2.3 has it, and a gross figure is the same as that of the
repeat rules. A marker of no bytes, as bounds have, weighs the framing that stays.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dedupstats.economics.cost import Borne, EntryElision
from dedupstats.economics.families import FAMILIES
from dedupstats.economics.tokens import Level

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dedupstats.economics.cost import Change
    from dedupstats.simulate.chunk import Columns

COLUMNS: Final = (
    "results",
    "bytes",
    "tokens",
    "sent",
    "nano_usd",
    "unpriced_sent",
    "modelled_sent",
    "uncosted",
)
"""rows of `Weights.whole`, in the order of the fields of a tally"""
_TOKENS, _SENT, _NANO_USD = map(COLUMNS.index, ("tokens", "sent", "nano_usd"))
_CONST = np.array([0.0, *(family.bytes_const for family in FAMILIES)])
_PER_TOKEN = np.array([4.0, *(family.bytes_per_token for family in FAMILIES)])
"""by number of the tokenizer's family; 0: not known"""


@dataclass(frozen=True, slots=True)
class Weights:
    """The results of a chunk.

    Attributes:
        whole: One row for each of `COLUMNS`, one column for each result.
        level: How the tokens of each are known, as `Level`.
        family: Number of the tokenizer's family of each; 0: not known, or tokens are bytes / 4.
        is_costed: Costs were looked at.
    """

    whole: NDArray[Any]
    level: NDArray[Any]
    family: NDArray[Any]
    is_costed: bool

    def by_level(self, rows: NDArray[Any]) -> dict[int, int]:
        """Tokens of some results by level."""
        sums = np.bincount(self.level[rows], self.whole[_TOKENS][rows])
        return {level: int(tokens) for level, tokens in enumerate(sums.tolist()) if tokens}

    def instead(self, rows: NDArray[Any], marker_bytes: NDArray[Any]) -> NDArray[Any]:
        """What markers weigh in the place of some results: bytes, tokens, sent, nano_usd by row.

        A policy that rewrites what is already in context brings a `Change` of its own kind here.
        """
        markers = self._marker_tokens(rows, marker_bytes)
        if not self.is_costed:
            nothing = np.zeros_like(marker_bytes)
            return np.vstack([marker_bytes, markers, nothing, nothing])
        change: Change = EntryElision(markers)
        whole = self.whole.take(rows, axis=1)
        paid = change.instead(Borne(whole[_TOKENS], whole[_SENT], whole[_NANO_USD]))
        return np.vstack([marker_bytes, *paid])

    def _marker_tokens(self, rows: NDArray[Any], marker_bytes: NDArray[Any]) -> NDArray[Any]:
        """By the family's rule for bytes; of an unknown tokenizer bytes / 4, rounded up."""
        family = self.family[rows]
        by_bytes = _CONST[family] + marker_bytes / _PER_TOKEN[family]
        found: NDArray[Any] = np.where(
            family > 0, np.rint(by_bytes).astype(np.int64), (marker_bytes + 3) // 4
        )
        return found


def ladder_weights(columns: Columns) -> Weights:
    """By the estimator ladder, with what carrying cost."""
    ones = np.ones(len(columns["bytes"]), dtype=np.int64)
    return Weights(
        np.vstack([ones, *(columns[name] for name in COLUMNS[1:])], dtype=np.int64),
        columns["level"],
        columns["family"],
        is_costed=True,
    )


def bytes4_weights(columns: Columns) -> Weights:
    """By bytes / 4, rounded up: nothing is known of requests and dollars."""
    sizes = columns["bytes"].astype(np.int64)
    ones, nothing = np.ones_like(sizes), np.zeros_like(sizes)
    whole = np.vstack([ones, sizes, (sizes + 3) // 4, nothing, nothing, nothing, nothing, ones])
    return Weights(
        whole,
        np.full(len(sizes), Level.UNKNOWN.value, dtype=np.int8),
        np.zeros(len(sizes), dtype=np.int8),
        is_costed=False,
    )
