"""A prompt as a line of pieces: what stands where, and what each request charges for it."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from dedupstats.economics.cost import bounds

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dedupstats.economics.cost import Usage

Array = np.ndarray[Any, np.dtype[np.float64]]

PARTS = 4
"""read, written for an hour, written for five minutes, uncached: rows of a matrix of charges"""


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

    Attributes:
        pieces: Numbers of the pieces, in order.
        edges: Where they begin and, last, where the prompt ends; tokens.
    """

    def __init__(self) -> None:
        self.pieces: list[int] = []
        self.edges: list[float] = [0.0]

    @property
    def end(self) -> float:
        """Length of the prompt, tokens."""
        return self.edges[-1]

    def add(self, piece: int, tokens: float) -> None:
        """Put a piece at the end; one without tokens takes no place."""
        if tokens > 0:
            self.pieces.append(piece)
            self.edges.append(self.end + tokens)

    def cut(self, end: float) -> None:
        """Cut everything beyond a position from the tail (2.2)."""
        while self.pieces and self.edges[-2] >= end:
            self.pieces.pop()
            self.edges.pop()
        if self.pieces:
            self.edges[-1] = min(self.end, end)

    def keep(self, pieces: Iterable[int]) -> None:
        """Keep these pieces alone; what stood behind a lost one moves up."""
        wanted = set(pieces)
        kept = [
            (piece, high - low)
            for piece, low, high in zip(self.pieces, self.edges, self.edges[1:], strict=False)
            if piece in wanted
        ]
        self.pieces, self.edges = [], [0.0]
        for piece, size in kept:
            self.add(piece, size)

    def start_of(self, piece: int) -> float | None:
        """Where a piece begins; None: it is not there."""
        return self.edges[self.pieces.index(piece)] if piece in self.pieces else None

    def scale(self, end: float) -> None:
        """Stretch or shrink all pieces alike, so that the prompt ends there (another tokenizer counts)."""
        if self.end > 0:
            factor = end / self.end
            self.edges = [edge * factor for edge in self.edges]
            self.cut(end)

    def widen(self, piece: int, tokens: float) -> None:
        """Put tokens before everything else, in a piece that is the first one or becomes it."""
        if not self.pieces or self.pieces[0] != piece:
            self.pieces.insert(0, piece)
            self.edges.insert(1, 0.0)
        self.edges = [0.0, *(edge + tokens for edge in self.edges[1:])]

    def charges(self, usage: Usage, until: float | None = None) -> Array:
        """How a request charged each piece: tokens, one row a part (see `PARTS`), one column a piece (2.2).

        The columns add up to the usage where the prompt is as long as it.

        Args:
            usage: The request's.
            until: Only the positions before it; None: all.
        """
        edges = np.asarray(self.edges)
        limits = np.asarray(bounds(usage))
        if until is not None:
            limits = np.minimum(limits, until)
        charged: Array = np.diff(np.clip(edges, limits[:-1, None], limits[1:, None]), axis=1)
        return charged
