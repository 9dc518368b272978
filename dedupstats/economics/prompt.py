"""A prompt as a line of pieces: what stands where, and what each request charges for it."""

from __future__ import annotations

from bisect import bisect_left
from enum import StrEnum
from itertools import accumulate, compress
from operator import sub
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class Kind(StrEnum):
    """What a piece of a prompt is."""

    FLOOR = "floor"
    """the fixed start of a context: system prompt, tools, memory files, first message"""
    RESULT = "result"
    OUTPUT = "output"
    """the model's own answer, sent again"""
    USER = "user"
    ATTACHMENT = "attachment"
    SUMMARY = "summary"
    META = "meta"
    """what the program writes in the user's name, and growth that the log does not explain"""
    SIDE = "side"
    """the whole prompt of a summary call or side question"""


class Prompt:
    """Pieces end to end from position 0, each with a number that the caller gives.

    Both lists grow in place; whatever else moves pieces makes new ones, so that who kept the old ones still
    has what stood there. Stretching them all alike only changes the unit, `scale` tokens, that edges are in.

    Attributes:
        pieces: Numbers of the pieces, in order.
        edges: Where they begin and, last, where the last one ends; units.
        scale: Tokens of a unit.
        end: Length of the prompt, tokens.
    """

    def __init__(self) -> None:
        self.pieces: list[int] = []
        self.edges: list[float] = [0.0]
        self.scale = 1.0
        self.end = 0.0

    def add(self, piece: int, tokens: float) -> None:
        """Put a piece at the end; one without tokens takes no place."""
        if tokens > 0:
            self.end += tokens
            self.pieces.append(piece)
            self.edges.append(self.end / self.scale)

    def cut(self, end: float) -> None:
        """Cut everything beyond a position from the tail (2.2)."""
        if not self.pieces or end >= self.end:
            return
        edges = self._tokens()
        left = bisect_left(edges, end, 0, len(edges) - 1)
        self._begin(self.pieces[:left], [*edges[:left], end] if left else [0.0])

    def keep(self, pieces: Iterable[int]) -> None:
        """Keep these pieces alone; what stood behind a lost one moves up."""
        wanted = set(pieces)
        edges = self._tokens()
        sizes = list(map(sub, edges[1:], edges))
        stays = [size > 0 and piece in wanted for piece, size in zip(self.pieces, sizes, strict=True)]
        ends = accumulate(compress(sizes, stays), initial=0.0)
        self._begin(list(compress(self.pieces, stays)), list(ends))

    def start_of(self, piece: int) -> float | None:
        """Where a piece begins; None: it is not there."""
        return self.edges[self.pieces.index(piece)] * self.scale if piece in self.pieces else None

    def stretch(self, end: float) -> None:
        """Stretch or shrink all pieces alike, so that the prompt ends there (another tokenizer counts)."""
        if end <= 0:
            self._begin(list(self.pieces), [0.0] * len(self.edges))
        elif self.end > 0:
            self.scale = end / self.edges[-1]
            self.end = end

    def widen(self, piece: int, tokens: float) -> None:
        """Put tokens before everything else, in a piece that is the first one or becomes it."""
        is_first = bool(self.pieces) and self.pieces[0] == piece
        self._begin(
            [*([] if is_first else [piece]), *self.pieces],
            [0.0, *(edge + tokens for edge in self._tokens()[1 if is_first else 0 :])],
        )

    def _begin(self, pieces: list[int], edges: list[float]) -> None:
        """Go on with other lists, in tokens."""
        self.pieces, self.edges, self.scale, self.end = pieces, edges, 1.0, edges[-1]

    def _tokens(self) -> list[float]:
        """The edges in tokens."""
        scale = self.scale
        return self.edges if scale == 1.0 else [*(edge * scale for edge in self.edges[:-1]), self.end]
