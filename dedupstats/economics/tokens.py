"""How many tokens a tool result has: measured where the log tells, else estimated, always with a level.

The ladder of token-economics.md 5.5: what entered between two requests is the growth of the prompt without
the model's own answer. One result alone is exact (L0); several share an exact sum (L1); with an estimated
answer the growth still anchors (L2); else the tokenizer's family tells (L3); of an unknown model bytes / 4
(L4).
"""

from __future__ import annotations

import math
from enum import IntEnum
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dedupstats.economics.families import Counts, Family, Visible

TokenRule = Literal["ladder", "bytes4"]
"""how tokens are counted: by the ladder of token-economics.md 5.5, or bytes / 4, rounded up per result"""


class Level(IntEnum):
    """How a count of tokens is known, best first; the numbers are those of the sheet's ladder.

    The sheet has two estimates of its third level (5.5): by the model's own tokenizer, and by the characters
    of the text. They err differently, so the first has a number of its own.
    """

    EXACT = 0
    SPLIT = 1
    ANCHORED = 2
    COUNTED = 5
    CALIBRATED = 3
    UNKNOWN = 4


class Band(NamedTuple):
    """Error of a level on held-out results of 400 bytes or more (5.4), as shares."""

    words: str
    median: float
    most: float
    """not exceeded in 90 % of results"""


BANDS = {
    Level.EXACT: Band("measured", 0.0, 0.0),
    Level.SPLIT: Band("measured as a sum, split", 0.04, 0.17),
    Level.ANCHORED: Band("from the growth of the prompt", 0.02, 0.12),
    # o200k for GPT-5: the median of 50 results (5.5, offline tokenizers), 90 % of 41 of 400 bytes or more
    Level.COUNTED: Band("counted by the model's own tokenizer", 0.024, 0.05),
    Level.CALIBRATED: Band("estimated by model family", 0.08, 0.28),
    # bytes / 4 is 25 to 52 % low (5.4): its own kind of error, always one way
    Level.UNKNOWN: Band("bytes / 4, model not known", 0.25, 0.52),
}

FRAMING = 11
"""Tokens around a result, which a marker has as well (2.3)."""

MOST_FRAMING = 64
"""Tokens around a result at most (5.3: 90 % have 63 or less in the family that has most)."""

_OUTPUT_ERROR, _CLASS_ERROR = 0.25, 0.18
"""Relative errors that weigh growth against character classes in L2 (5.5)."""

FACTOR_STEPS = 5
"""So many exact results let a session's own factor correct the character classes (5.5)."""


class Extra(NamedTuple):
    """What an attachment of a type has in tokens, whatever the log shows of it."""

    tokens: float
    is_exact: bool
    """of always the same size: a step with it can still be exact"""


EXTRAS = {
    "hook_success": Extra(0, True),
    "async_hook_response": Extra(0, True),
    "hook_non_blocking_error": Extra(0, True),
    "total_tokens_reminder": Extra(25, True),
    "task_reminder": Extra(123, False),
    "todo_reminder": Extra(109, False),
    "queued_command": Extra(149, False),
    "hook_additional_context": Extra(46, False),
    "plan_mode_exit": Extra(60, False),
    "plan_mode": Extra(101, False),
}
"""Attachments of a small known size: medians measured beside one result (5.2, trap 4)."""


class Entry(NamedTuple):
    """What entered a context between two requests, other than the model's own answer."""

    counts: Counts
    is_result: bool
    is_image: bool = False
    """no byte count says anything (5.2, trap 5)"""
    extra: Extra | None = None
    """of a known size"""
    is_whole: bool = True
    """the log holds all of its text: not true of what the program renders around an attachment"""

    @property
    def most(self) -> float:
        """More tokens than this it cannot have: none holds less than a byte."""
        if self.is_image or self.extra is not None or not self.is_whole:
            return math.inf
        return self.counts.bytes + MOST_FRAMING


class Step(NamedTuple):
    """What lies between two requests of a context that follow each other."""

    growth: float | None
    """prompt of the second less that of the first, tokens; None: a usage is missing, the model is another
    one, or something left sight in between"""
    output: int | None
    is_output_known: bool
    visible: Visible
    entries: Sequence[Entry]


class Estimate(NamedTuple):
    """Tokens of one entry, framing included."""

    tokens: float
    level: Level
    by_classes: float
    """what the family's character classes alone say, without any measurement (L3, L4)"""


class Sized(NamedTuple):
    """A step with sizes: the first answer's and its entries'."""

    output: float | None
    """None: there is no telling"""
    estimates: list[Estimate]


def bytes4(counts: Counts) -> int:
    """Bytes / 4, rounded up: the rule that RTK uses, 25 to 52 % low for today's models (5.3).

    Example:
        >>> from dedupstats.economics.families import Counts
        >>> bytes4(Counts(6)), bytes4(Counts(0))
        (2, 0)
    """
    return -(-counts.bytes // 4)


def by_classes(entry: Entry, family: Family | None) -> float:
    """Tokens of an entry by its characters alone: of a known size, by family (L3) or bytes / 4 (L4).

    An image has none: what nobody knows is not guessed.
    """
    if entry.extra is not None:
        return entry.extra.tokens
    if entry.is_image:
        return 0.0
    return bytes4(entry.counts) if family is None else family.tokens(entry.counts)


def output_of(output: int | None, visible: Visible, family: Family | None, *, is_known: bool) -> float | None:
    """Tokens of an answer, known or estimated; None: there is no telling.

    A count that is only a lower bound is never used as the size, but the estimate is not below it (1.2).

    Args:
        output: The log's count.
        visible: What the log shows of the answer.
        family: Tokenizer of the model; None: not known.
        is_known: The count is the final one.
    """
    if is_known and output is not None:
        return float(output)
    guess = None if family is None else family.output_tokens(visible)
    return None if guess is None else max(guess, float(output or 0))


def exact_net(step: Step) -> float | None:
    """Tokens that entered, measured: growth without a known answer; None: not measurable.

    A net that is not above zero measures nothing: thinking of the turn before has left the prompt (5.2,
    trap 2).
    """
    if step.growth is None or not step.is_output_known or step.output is None:
        return None
    net = step.growth - step.output - _fixed(step)
    return net if net > 0 else None


def clean_single(step: Step) -> int | None:
    """Place of the one result of a step with nothing else but attachments of fixed size; else None."""
    free = [place for place, entry in enumerate(step.entries) if not _is_fixed(entry)]
    return free[0] if len(free) == 1 and step.entries[free[0]].is_result else None


def has_hidden(step: Step, output: float | None) -> bool:
    """Whether more entered than the entries can hold, so that the growth measures something unseen.

    Early versions wrote reminders into the prompt that no log has; whole files, where a command changed many.
    """
    if step.growth is None or output is None or not step.entries:
        return False
    most = sum([entry.most for entry in step.entries if not _is_fixed(entry)])
    return step.growth - output - _fixed(step) > most


def size_step(step: Step, family: Family | None, factor: float = 1.0) -> Sized:
    """Sizes of everything in a step, by the best rule that it allows (5.5).

    Args:
        step: The step.
        family: Tokenizer of the second request's model; None: not known.
        factor: The session's own factor on character classes, where nothing else anchors.

    Returns:
        One estimate per entry, and the size of the first answer. Where the growth is known and positive, all
        of them add up to it, unless more entered than they can hold, or images alone with nothing to
        measure them.

    Example:
        >>> from dedupstats.economics.families import Counts, Visible
        >>> step = Step(2000, 200, True, Visible(), [Entry(Counts(5000, 4000), is_result=True)])
        >>> size_step(step, None).estimates[0][:2]
        (1800, <Level.EXACT: 0>)
    """
    alone = [by_classes(entry, family) for entry in step.entries]
    net = exact_net(step)
    output = output_of(step.output, step.visible, family, is_known=step.is_output_known)
    if has_hidden(step, output):
        estimates = [
            Estimate(size, _level(entry, family), size)
            for entry, size in zip(step.entries, alone, strict=True)
        ]
        return Sized(output, estimates)
    if net is not None and step.output is not None:
        return Sized(step.output, _measured(step, net, alone, family))
    anchored = _anchored(step, family, alone, output)
    if anchored is not None:
        return anchored
    estimates = [
        Estimate(size if entry.extra else size * factor, _level(entry, family), size)
        for entry, size in zip(step.entries, alone, strict=True)
    ]
    return Sized(output, estimates)


def _measured(step: Step, net: float, alone: list[float], family: Family | None) -> list[Estimate]:
    """Entries that fill a measured net: one alone exactly (L0), results alone by their weights (L1).

    Others are split likewise but keep the level of the weights, because the error of L1 was measured on
    results alone.
    """
    entries = step.entries
    free = [place for place, entry in enumerate(entries) if not _is_fixed(entry)]
    # what of the net is of a size of its own: reminders beside a result, texts beside an image
    has_image = len(free) > 1 and any(entries[place].is_image for place in free)
    rough = [place for place in free if entries[place].extra is not None]
    beside = [place for place in free if not entries[place].is_image] if has_image else rough
    rest = [place for place in free if place not in beside]
    left = net - sum(alone[place] for place in beside)
    if not beside or not rest or left <= 0:
        beside, rest, left = [], free, net
    sizes = list(alone)
    levels = [_level(entry, family) for entry in entries]
    for place, share in zip(rest, split(left, [alone[place] for place in rest]), strict=True):
        sizes[place] = share
    if all(entries[place].is_result for place in rest) and not has_image:
        known = Level.EXACT if len(rest) == 1 else Level.SPLIT
        for place in rest:
            levels[place] = Level.ANCHORED if beside else known
    return [Estimate(*parts) for parts in zip(sizes, levels, alone, strict=True)]


def _anchored(step: Step, family: Family | None, alone: list[float], output: float | None) -> Sized | None:
    """Results and nothing else after an answer of unknown size: growth and classes weighed (L2)."""
    if family is None or step.growth is None or output is None:
        return None
    free = [place for place, entry in enumerate(step.entries) if not _is_fixed(entry)]
    weights = [alone[place] for place in free]
    if not free or not all(step.entries[place].is_result for place in free):
        return None
    total = combined(step.growth - _fixed(step), output, sum(weights))
    if total is None:
        return None
    sizes, levels = list(alone), [Level.EXACT] * len(alone)
    for place, share in zip(free, split(total, weights), strict=True):
        sizes[place] = share
        levels[place] = Level.ANCHORED
    left = step.growth - _fixed(step) - total
    estimates = [Estimate(*parts) for parts in zip(sizes, levels, alone, strict=True)]
    return Sized(max(left, 0.0), estimates)


def combined(growth: float, output: float, classes: float) -> float | None:
    """Tokens of results from the growth and an estimated answer, weighed with character classes (5.5, L2).

    Args:
        growth: Growth of the prompt, without attachments of fixed size.
        output: The answer's estimate.
        classes: The results' tokens by character classes; not above 0 (an image): the growth alone counts.

    Returns:
        Tokens; None where less than nothing is left for them.

    Example:
        >>> round(combined(2000, 192.25, 0), 2)
        1807.75
    """
    anchored = growth - output
    if anchored <= 0:
        return None
    if classes <= 0:
        return anchored
    weight = 1 / (1 + (_OUTPUT_ERROR * output / (_CLASS_ERROR * classes)) ** 2)
    return min(weight * anchored + (1 - weight) * classes, growth)


def split(total: float, weights: Sequence[float]) -> list[float]:
    """A total split by weights, to whole tokens by the largest remainder if it is whole (5.5, L1).

    The parts add up to the total. Without any weight they are equal.

    Example:
        >>> split(900, [1200, 600]), split(10, [1, 1, 1]), split(1.5, [2, 1])
        ([600, 300], [4, 3, 3], [1.0, 0.5])
    """
    if not weights:
        return []
    whole = sum(weights)
    if whole <= 0:
        weights, whole = [1.0] * len(weights), float(len(weights))
    shares = [total * weight / whole for weight in weights]
    if total != int(total):
        return shares
    parts = [math.floor(share) for share in shares]
    order = sorted(range(len(shares)), key=lambda place: (parts[place] - shares[place], place))
    for place in order[: int(total) - sum(parts)]:
        parts[place] += 1
    return list(parts)


def session_factor(ratios: Sequence[float]) -> float:
    """A session's own factor on character classes: the median of measured / estimated, 1 if too few (5.5).

    Example:
        >>> session_factor([1.2, 1.0, 1.3, 1.1, 1.2]), session_factor([2.0])
        (1.2, 1.0)
    """
    if len(ratios) < FACTOR_STEPS:
        return 1.0
    ordered = sorted(ratios)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def _is_fixed(entry: Entry) -> bool:
    return entry.extra is not None and entry.extra.is_exact


def _fixed(step: Step) -> float:
    return sum([entry.extra.tokens for entry in step.entries if entry.extra and entry.extra.is_exact])


def _level(entry: Entry, family: Family | None) -> Level:
    """Level of an entry by its characters alone."""
    if _is_fixed(entry):
        return Level.EXACT
    if entry.is_image or family is None:
        return Level.UNKNOWN
    return Level.COUNTED if family.is_counted(entry.counts) else Level.CALIBRATED
