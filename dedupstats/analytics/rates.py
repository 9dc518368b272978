"""Repeat rates of tool results: how much of what an agent was shown had it been shown before.

One row per group (tool, day, project ...) and one for the total, each with counts, bytes and tokens of all
results and of the repeats by each rule (DESIGN.md section 6). All of it is summed in SQL over the views
`emission` and `emission_repeat`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from dedupstats.analytics.window import Window

if TYPE_CHECKING:
    from datetime import date, datetime

    from dedupstats.analytics.concentration import Concentration, Distribution
    from dedupstats.store.store import Store

FLOOR_BYTES = 256
"""Results below it are left out of `rules_floor`: a marker would be about as long as they are."""

TOKEN_RULE = "bytes / 4, rounded up"  # noqa: S105

By = Literal["tool", "agent", "project", "session", "model", "version", "day", "week", "month"]
Key = Literal["exact", "normalised"]


@dataclass(frozen=True, slots=True)
class Rule:
    """One repeat rule, as people meet it.

    Attributes:
        name: `call-session`, as printed and as the key of `Row.rules`.
        kind: What the figure is good for.
        meaning: What it counts, in words.
    """

    name: str
    kind: Literal["upper bound", "repeat", "never a repeat"]
    meaning: str

    def column(self, key: Key = "exact") -> str:
        """Its column in the view `emission_repeat`."""
        plain = self.name.replace("-", "_")
        # bytes-session asks for no call, so it has one column for both keys
        return plain if key == "exact" or self.name == "bytes-session" else f"norm_{plain}"


RULES = (
    Rule("call-pooled", "upper bound", "same call, anywhere in the history, whatever came back"),
    Rule("call-session", "upper bound", "same call in the session, whatever came back"),
    Rule("repeat-pooled", "upper bound", "same call, same bytes, anywhere in the history"),
    Rule("bytes-session", "upper bound", "same bytes in the session, from any call"),
    Rule("repeat-session", "repeat", "same call, same bytes, in the session"),
    Rule("repeat-turn", "repeat", "same call, same bytes, in the same turn"),
    Rule("repeat-in-sight", "repeat", "same call, same bytes, and a full copy still visible"),
    Rule("changed", "never a repeat", "same call in the session, but new bytes"),
)
DEFAULT_RULES = ("call-session", "repeat-session", "repeat-in-sight")


@dataclass(frozen=True, slots=True)
class Tally:
    """Tool results with their size.

    Attributes:
        results: How many.
        bytes: UTF-8 bytes as the model was shown them.
        tokens: Estimated, `bytes / 4, rounded up` per result.
    """

    results: int = 0
    bytes: int = 0
    tokens: int = 0

    def __add__(self, other: Tally) -> Tally:
        return Tally(self.results + other.results, self.bytes + other.bytes, self.tokens + other.tokens)


@dataclass(frozen=True, slots=True)
class Row:
    """One group's figures. The denominator of every rate is `results` (with a floor: `floor`).

    Attributes:
        group: Name of the tool, day, project ...; for a session its id.
        results: All results of all classes, copies left out.
        repeatable: Those that can be a repeat: class text or truncated, no error.
        by_class: All results by class (text, truncated, image, empty, stub, spilled, masked).
        errors: Results with the error flag, whatever their class.
        copies: What a resume, fork or branch wrote once more; in no other figure.
        rules: Repeats by rule, keyed by the rule's name.
        floor: Results of at least 256 bytes.
        rules_floor: Repeats of at least 256 bytes by rule.
        begins: First day of the period, with `by` day, week or month.
        partial: The window cuts this period: it holds less than a whole day, week or month.
    """

    group: str
    results: Tally
    repeatable: Tally
    by_class: dict[str, Tally]
    errors: Tally
    copies: Tally
    rules: dict[str, Tally]
    floor: Tally
    rules_floor: dict[str, Tally]
    begins: date | None = None
    partial: bool = False


@dataclass(frozen=True, slots=True)
class Rates:
    """Repeat rates of a history or a window of it.

    Attributes:
        by: What rows are groups of.
        key: How calls are compared: exact, or after normalising their arguments.
        rules: Names of the rules shown, in the order of DESIGN.md section 6.
        rows: Largest bytes first, then by name; periods in order of time.
        total: All rows together.
        sessions: Per rule, the distribution over sessions of the share of repeated bytes.
        by_session: Per rule, how much of the repeated bytes the largest sessions hold.
        by_call: Per rule, how much of the repeated bytes the largest calls hold.
        undated: Results without a time; in the totals of a window without beginning and end, else left out.
        window: What was counted.
        first: Time of the first dated result, UTC; None without one.
        last: Time of the last.
        zone: Time zone of days, weeks and months.
        token_rule: How tokens were estimated.
    """

    by: By
    key: Key
    rules: tuple[str, ...]
    rows: tuple[Row, ...]
    total: Row
    sessions: dict[str, Distribution]
    by_session: dict[str, Concentration]
    by_call: dict[str, Concentration]
    undated: int
    window: Window
    first: datetime | None
    last: datetime | None
    zone: str
    token_rule: str = TOKEN_RULE


def share(part: int, whole: int) -> float | None:
    """The part of a whole, 0 to 1; None where there is nothing to divide by (fault case S08).

    Example:
        >>> share(1, 4), share(0, 0)
        (0.25, None)
    """
    return part / whole if whole else None
