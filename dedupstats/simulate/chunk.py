"""A piece of a history, as replays, verdicts and scores share it.

Rows are numbers within the chunk; ordinals count within a context and positions over the whole timeline.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dedupstats.policies.base import Emission, Event
from dedupstats.simulate.weights import bytes4_weights, ladder_weights

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from dedupstats.economics.tokens import TokenRule
    from dedupstats.simulate.score import Step, Tally
    from dedupstats.simulate.weights import Weights

NO, YES, UNKNOWN = 0, 1, 2
"""what is known of a call: that it has an effect, that it only reads, nothing"""

EXACT, MIXED = 1, 2
"""a shell command that RTK's hook gives a session: the whole of what is shown, or a part (rtk.md 2.5)"""


class Arrival(NamedTuple):
    """An event with its place in a chunk."""

    row: int
    """of the chunk, before which it happens"""
    ledger: int
    """number of the ledger whose process hears of it, where each session has one of its own"""
    event: Event
    """as the engine is told; what does not concern the ledger that subagents share names no session"""
    line: int = 0
    """of the context's file, where the log tells of it; 0: it follows from the results alone"""


class ContextFacts(NamedTuple):
    """What places of anchors are told from."""

    parent: int | None
    is_main: bool
    session: int


@dataclass(slots=True)
class Columns:
    """The rows of a chunk by column; one array entry an emission."""

    arrays: dict[str, NDArray[Any]]

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.arrays[name]

    def list(self, name: str) -> list[Any]:
        """A column as Python values."""
        values: list[Any] = self.arrays[name].tolist()
        return values


@dataclass
class Chunk:
    """Whole families, or (scope `history`) a stretch of time with what came before it in its families."""

    start: int
    """the first row that is new; those before it were decided in an earlier chunk"""
    columns: Columns
    """see `replay_row` of timeline.py; flags are those of the view `emission_repeat`"""
    tools: Sequence[str]
    """name of each tool by `tool_no`"""
    categories: Sequence[str]
    """its toolset; empty: none is known"""
    told: NDArray[Any]
    """`NO`, `YES` or `UNKNOWN` for each row: what an engine is told of whether the call only reads"""
    known: NDArray[Any]
    """`NO`, `YES` or `UNKNOWN` for each row: whether the call only reads"""
    ledgers: Sequence[str]
    """session id by `ledger_no`; two families may have ledgers of the same id"""
    arrivals: Sequence[Arrival]
    """events in order"""
    contexts: Mapping[int, ContextFacts]
    """by context key"""
    tokens: TokenRule
    by_rules: dict[str, tuple[NDArray[Any], dict[Step, Tally]]] = field(default_factory=dict)
    """steps of ladders that are the same for all policies, kept by the first score that wants them"""

    def __len__(self) -> int:
        return len(self.known)

    @cached_property
    def weights(self) -> Weights:
        """What each row weighs."""
        return (bytes4_weights if self.tokens == "bytes4" else ladder_weights)(self.columns)

    @cached_property
    def known_to_shell(self) -> NDArray[Any]:
        """`known` for an engine that sees nothing but the shell: commands that only read are read-only."""
        found: NDArray[Any] = np.where((self.known == UNKNOWN) & self.columns["shell_reads"], YES, self.known)
        return found

    @cached_property
    def emissions(self) -> list[Emission]:
        """Each row as policies are shown it."""
        return self.told_as(np.arange(len(self)), self.told == YES)

    def told_as(self, rows: NDArray[Any], reads: NDArray[Any]) -> list[Emission]:
        """Some rows as policies are shown them; `seq` is the row's position in the whole timeline.

        Args:
            rows: Of the chunk.
            reads: For each of them whether the policy is told that the call only reads.
        """
        columns = self.columns

        def listed(name: str) -> list[Any]:
            values: list[Any] = columns[name][rows].tolist()
            return values

        tools, hashes = listed("tool_no"), listed("sha64")
        names = np.where(columns["hook"] > 0, columns["hook_identity"], columns["identity"])
        identities = names[rows].tolist()
        texts = {length: "?" * length for length in set(identities)}
        return list(
            map(
                Emission,
                listed("position"),
                map(self.ledgers.__getitem__, listed("ledger_no")),
                listed("context_key"),
                listed("ordinal"),
                listed("left_at"),
                listed("clock"),
                map(self.tools.__getitem__, tools),
                map(self.categories.__getitem__, tools),
                reads.tolist(),
                listed("is_error"),
                listed("did_not_run"),
                listed("call_key"),
                hashes,
                listed("bytes"),
                listed("lines"),
                listed("repeatable"),
                hashes,
                map(texts.__getitem__, identities),
            )
        )

    @cached_property
    def unasked(self) -> NDArray[Any]:
        """Rows that no engine is asked about: copies, and results without a call."""
        found: NDArray[Any] = self.columns["is_copy"] | ~self.columns["has_call"]
        return found

    @cached_property
    def original(self) -> dict[int, int]:
        """The row of each copy's original; one whose original stands elsewhere in time is not there."""
        columns = self.columns
        copies = np.flatnonzero(columns["is_copy"])
        wanted = columns["copy_of"][copies]
        keys = columns["emission_key"]
        order = np.argsort(keys)
        found = order[np.minimum(np.searchsorted(keys, wanted, sorter=order), len(keys) - 1)]
        agrees = keys[found] == wanted
        return dict(zip(copies[agrees].tolist(), found[agrees].tolist(), strict=True))

    @cached_property
    def original_row(self) -> NDArray[Any]:
        """For each row the row that was decided on in its place: of a copy its original, else itself."""
        found = np.arange(len(self))
        found[list(self.original)] = list(self.original.values())
        return found

    @cached_property
    def copies(self) -> dict[int, list[int]]:
        """The copies of each original, by row."""
        found: dict[int, list[int]] = {}
        for copy, original in self.original.items():
            found.setdefault(original, []).append(copy)
        return found

    @cached_property
    def same_bytes(self) -> NDArray[Any]:
        """A number for each row, equal for rows of one context with the same bytes."""
        return grouped(self.columns["context_key"], self.columns["sha64"])

    @cached_property
    def left_at_ranked(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """The different values of `left_at`, ascending, and for each row which of them is its own."""
        values, ranks = np.unique(self.columns["left_at"], return_inverse=True)
        return values, ranks

    @cached_property
    def same_call(self) -> NDArray[Any]:
        """A number for each row, equal for rows of one ledger session with the same call."""
        return grouped(self.columns["ledger_no"], self.columns["call_key"])

    @cached_property
    def last_other(self) -> NDArray[Any]:
        """The row of the session before each row that gave the same call another result, or failed; else -1.

        What has no call has none; copies are no results of their own.
        """
        columns = self.columns
        calls = grouped(columns["session_key"], columns["call_key"])
        rows = np.flatnonzero((np.bincount(calls)[calls] > 1) & ~self.unasked)
        rows = rows[np.argsort(calls[rows], kind="stable")]
        calls, sha, is_error = calls[rows], columns["sha64"][rows], columns["is_error"][rows]
        # of a change the row before it counts, and a failure itself: both stand right before another row of
        # the call, and the latest so far holds for all behind it
        is_other = (calls[1:] == calls[:-1]) & ((sha[1:] != sha[:-1]) | is_error[:-1])
        found = np.full(len(self), -1, dtype=np.int64)
        found[rows[1:][is_other]] = rows[:-1][is_other]
        found[rows] = latest(calls, found[rows])
        return found

    def rows(self, positions: NDArray[Any]) -> NDArray[Any]:
        """Rows by their position in the whole timeline."""
        found: NDArray[Any] = np.searchsorted(self.columns["position"], positions)
        return found


def grouped(*keys: NDArray[Any]) -> NDArray[Any]:
    """A number for each row, equal where all keys are."""
    groups = np.zeros(len(keys[0]), dtype=np.int64)
    for key in keys:
        # two numbers below the row count fit in one
        _, numbers = np.unique(key, return_inverse=True)
        _, groups = np.unique(groups * (len(key) + 1) + numbers, return_inverse=True)
    return groups


def latest(groups: NDArray[Any], values: NDArray[Any]) -> NDArray[Any]:
    """The largest value so far in each entry's group.

    Args:
        groups: Numbers, ascending.
        values: From -1 on, which stands for none.
    """
    # a number for group and value together: its running maximum begins anew with each group
    begin = groups * (int(values.max(initial=0)) + 2) + 1
    found: NDArray[Any] = np.maximum.accumulate(begin + values) - begin
    return found
