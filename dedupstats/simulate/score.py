"""What a replay adds up to: one score per variant, sums of its chunks.

Sums are of whole numbers, so that neither the order of chunks nor the number of processes can be told from
them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dedupstats.simulate.verdicts import VERDICTS, Place, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray


NOT_REACHED = "not_reached"
"""the reason of results that an engine is not asked about: their call is of another kind, or in no file"""

NANO = 1_000_000_000
"""billionths of a dollar in a dollar"""

EXAMPLES = 5
"""elisions of each verdict that a score names"""


class Tally(NamedTuple):
    """Results, what they weigh, and what their markers weigh. See `dedupstats.simulate.weights`."""

    results: int = 0
    bytes: int = 0
    tokens: int = 0
    """first-pass tokens, of each result once"""
    sent: int = 0
    """tokens times the requests that carried them, copies included"""
    nano_usd: int = 0
    """what the requests with a price charged for that, billionths of a dollar"""
    unpriced_sent: int = 0
    """the part of `sent` whose requests have no price"""
    modelled_sent: int = 0
    """the part of `sent` whose requests have no usage in the log"""
    uncosted: int = 0
    """results of which nothing is known but bytes: their tokens are bytes / 4, and no request counts"""
    marker_bytes: int = 0
    marker_tokens: int = 0
    marker_sent: int = 0
    marker_nano_usd: int = 0

    @property
    def net_bytes(self) -> int:
        """Bytes saved once the markers are paid; negative where markers are longer than what they replace."""
        return self.bytes - self.marker_bytes

    @property
    def net_tokens(self) -> int:
        """Tokens saved once the markers are paid."""
        return self.tokens - self.marker_tokens

    @property
    def is_costed(self) -> bool:
        """Whether it is known how often any of these tokens were sent."""
        return self.uncosted < self.results or not self.results

    @property
    def net_sent(self) -> int | None:
        """Tokens sent that are saved; None: nothing is known of requests."""
        return self.sent - self.marker_sent if self.is_costed else None

    @property
    def is_priced(self) -> bool:
        """Whether there is a dollar to speak of: what no request with a price carried is not free."""
        return self.is_costed and (self.unpriced_sent < self.sent or not self.sent)

    @property
    def usd(self) -> float | None:
        """What carrying them cost, USD at list prices; None: no price."""
        return self.nano_usd / NANO if self.is_priced else None

    @property
    def marker_usd(self) -> float | None:
        """What carrying the markers would have cost; None: no price."""
        return self.marker_nano_usd / NANO if self.is_priced else None

    @property
    def net_usd(self) -> float | None:
        """Dollars saved once the markers are paid; None: no price."""
        return (self.nano_usd - self.marker_nano_usd) / NANO if self.is_priced else None

    def plus(self, other: Tally) -> Tally:
        """The sum of both."""
        return Tally(*(one + two for one, two in zip(self, other, strict=True)))


NOTHING = Tally()


class Beside(StrEnum):
    """What is counted beside the verdict of a sound elision."""

    OTHER_CALL = "other_call"
    TWICE_REMOVED = "twice_removed"
    CHANGED_BETWEEN = "changed_between"
    LATER_DANGLING = "later_dangling"


class Step(StrEnum):
    """The steps from the upper bound to what a policy saves, each a part of the one before (section 7)."""

    SAME_CALL = "same call, anywhere"
    SAME_BYTES = "same call and bytes, anywhere"
    SAME_SESSION = "same call and bytes, in the session"
    BYTES_IN_SESSION = "same bytes, in the session"
    IN_SIGHT = "still in sight"
    REACHED = "the policy is asked"
    ELIGIBLE = "eligible"
    THRESHOLD = "within its thresholds"
    CAP = "the ledger has room"
    KNOWN = "the ledger knows it"
    SOUND = "and it is true"


class Example(NamedTuple):
    """An elision worth a look."""

    bytes: int
    position: int
    """in the run's order: of equal sizes the first is taken, wherever the logs lie"""
    emission_key: int
    anchor_key: int
    verdict: Verdict
    place: Place


Group = dict[Verdict, Tally]

_Part = tuple["NDArray[Any]", "NDArray[Any]", "NDArray[Any]"]
"""names (numbers), numbers in `VERDICTS`, fields of a tally in rows; a column for each pair that occurs"""

_PARTS = 64
"""so many are put together at once"""


class BySession(Mapping[int, Group]):
    """Tallies by session key and verdict, kept in columns.

    A large history has tens of thousands of sessions: a dictionary of tallies for each would be most of what
    a replay holds in memory.

    Args:
        part: What there is, as `summed` makes it; None: nothing yet.
    """

    def __init__(self, part: _Part | None = None) -> None:
        self._parts = [] if part is None else [part]

    def add(self, other: BySession) -> None:
        """Take up what another chunk has."""
        self._parts += other._parts
        if len(self._parts) > _PARTS:
            self._whole()

    def _whole(self) -> _Part:
        """All in one part, in order, each pair once."""
        if not self._parts:
            return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros((len(Tally._fields), 0), np.int64)
        if len(self._parts) > 1:
            keys, verdicts, sums = (
                np.concatenate(columns, axis=-1) for columns in zip(*self._parts, strict=True)
            )
            self._parts = [summed(keys, verdicts, sums)]
        return self._parts[0]

    def __iter__(self) -> Iterator[int]:
        yield from np.unique(self._whole()[0]).tolist()

    def __len__(self) -> int:
        return len(np.unique(self._whole()[0]))

    def __getitem__(self, key: int) -> Group:
        keys, verdicts, sums = self._whole()
        first, last = np.searchsorted(keys, [key, key + 1]).tolist()
        if first == last:
            raise KeyError(key)
        return {
            VERDICTS[verdict]: Tally(*column)
            for verdict, column in zip(
                verdicts[first:last].tolist(), sums[:, first:last].T.tolist(), strict=True
            )
        }


def summed(names: NDArray[Any], verdicts: NDArray[Any], weighed: NDArray[Any]) -> _Part:
    """Sums by name (a number) and verdict, in order of both.

    Args:
        names: One for each elision, or for each sum of some.
        verdicts: Numbers in `VERDICTS`.
        weighed: The fields of a tally in rows, a column each.
    """
    order = np.lexsort((verdicts, names))
    names, verdicts = names[order], verdicts[order]
    is_new = np.ones(len(order), dtype=bool)
    is_new[1:] = (names[1:] != names[:-1]) | (verdicts[1:] != verdicts[:-1])
    starts = np.flatnonzero(is_new)
    if not len(starts):
        return names, verdicts, weighed
    return names[starts], verdicts[starts], np.add.reduceat(weighed.take(order, axis=1), starts, axis=1)


@dataclass(slots=True)
class Score:
    """What one variant did to a history. Everything counts elisions unless it says otherwise."""

    asked: Tally = NOTHING
    """results that the policy was asked about"""
    reasons: dict[str, int] = field(default_factory=dict)
    """results by what decided on them; `not_reached`: the policy is not asked about such calls"""
    verdicts: Group = field(default_factory=dict)
    places: dict[Place, Group] = field(default_factory=dict)
    tools: dict[str, Group] = field(default_factory=dict)
    sessions: BySession = field(default_factory=BySession)
    mixed: Group = field(default_factory=dict)
    """of shell commands of which RTK would see a part only (rtk.md 2.5); they are in all other figures too"""
    beside: dict[Beside, Tally] = field(default_factory=dict)
    """of the sound ones"""
    if_unknown_reads: Tally = NOTHING
    """that would be sound, or would be made, if tools of which nobody says so only read"""
    key_lost: Tally = NOTHING
    """results shown though the session had the same bytes of a call that differs in spelling only"""
    steps: dict[Step, Tally] = field(default_factory=dict)
    known_by: dict[int, int] = field(default_factory=dict)
    """tokens of the sound ones by how they are known (`dedupstats.economics.tokens.Level`)"""
    largest: int = 0
    """entries of the largest ledger"""
    examples: dict[Verdict, list[Example]] = field(default_factory=dict)
    """the largest of each verdict"""

    @property
    def elided(self) -> Tally:
        """All elisions, whatever their verdict: what the policy itself would claim."""
        return total(self.verdicts.values())

    @property
    def sound(self) -> Tally:
        """The savings that are savings."""
        return self.verdicts.get(Verdict.SOUND, NOTHING)

    @property
    def untrue(self) -> Tally:
        """Every other elision."""
        return total(sums for verdict, sums in self.verdicts.items() if verdict is not Verdict.SOUND)

    def add(self, other: Score) -> None:
        """Take up the score of another chunk of the same variant."""
        self.asked = self.asked.plus(other.asked)
        self.reasons = dict(Counter(self.reasons) + Counter(other.reasons))
        add(self.verdicts, other.verdicts)
        _add_groups(self.places, other.places)
        _add_groups(self.tools, other.tools)
        self.sessions.add(other.sessions)
        add(self.mixed, other.mixed)
        add(self.beside, other.beside)
        self.if_unknown_reads = self.if_unknown_reads.plus(other.if_unknown_reads)
        self.key_lost = self.key_lost.plus(other.key_lost)
        add(self.steps, other.steps)
        self.known_by = dict(Counter(self.known_by) + Counter(other.known_by))
        self.largest = max(self.largest, other.largest)
        for verdict, examples in other.examples.items():
            both = [*self.examples.get(verdict, []), *examples]
            self.examples[verdict] = sorted(both, key=lambda one: (-one.bytes, one.position))[:EXAMPLES]


def total(tallies: Iterable[Tally]) -> Tally:
    """The sum of some tallies."""
    found = NOTHING
    for one in tallies:
        found = found.plus(one)
    return found


def add(mine: dict[Any, Tally], theirs: Mapping[Any, Tally]) -> None:
    """Take up the tallies of another dictionary."""
    for name, sums in theirs.items():
        mine[name] = mine.get(name, NOTHING).plus(sums)


def _add_groups(mine: dict[Any, Group], theirs: Mapping[Any, Group]) -> None:
    for name, group in theirs.items():
        add(mine.setdefault(name, {}), group)
