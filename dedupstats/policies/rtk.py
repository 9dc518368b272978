"""RTK's session output dedup, as proposed in rtk-ai/rtk#2937, in two revisions.

Idea: per session one ledger from the hash of a command's raw output to the step at which it was first seen.
Output whose raw text was seen before, of whatever command, is replaced by a line that names that step. v2
adds a recency window and forgets at compactions. Rows that were not met for 48 hours are pruned. Sections are
those of rtk.md.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from typing import TYPE_CHECKING, Final

from dedupstats.policies.base import NEVER, Action, Decision, EventKind, Stage, show
from dedupstats.policies.parameters import Choice, Flag, Number
from dedupstats.policies.spec import Definition, Preset

if TYPE_CHECKING:
    from dedupstats.policies.base import Emission, Event, LedgerId, Reach, Wiring
    from dedupstats.policies.spec import Settings

REVISIONS: Final = ("v1", "v2")

PARAMETERS: Final = (
    Flag(
        "enabled",
        dict.fromkeys(REVISIONS, True),
        "whether it is switched on; the real default is off",
        source="1.10",
    ),
    Number(
        "min_tokens",
        dict.fromkeys(REVISIONS, 200),
        "smaller outputs are shown in full and not recorded",
        unit="tokens (bytes / 4, rounded up)",
        source="1.2, 1.10",
    ),
    Flag(
        "suppress_on_error",
        dict.fromkeys(REVISIONS, False),
        "whether the output of failed commands is recorded and elided too",
        source="1.2, 1.10",
    ),
    Number(
        "recency_window",
        {"v2": 100},
        "outputs first seen more recorded outputs ago than this are shown in full; 0 is no limit",
        unit="recorded outputs",
        source="1.3, 1.10",
    ),
    Flag(
        "compaction_handler",
        {"v2": True},
        "whether the host runs `rtk hook compact`, which empties the session's ledger",
        source="1.8",
    ),
    Number(
        "idle_hours",
        dict.fromkeys(REVISIONS, 48),
        "rows that were neither made nor elided against for longer are pruned",
        unit="hours",
        source="1.9",
    ),
    Choice(
        "ledger",
        dict.fromkeys(REVISIONS, "session"),
        "whether a session has one ledger with all its subagents, or each context one of its own",
        ("session", "context"),
        source="1.7; R9 to R11",
    ),
    Choice(
        "tools",
        dict.fromkeys(REVISIONS, "hook"),
        "which results a replay asks it about: shell commands that its hook gives a session, or every call",
        ("hook", "all"),
        source="1.7, 2.4, 2.5",
    ),
)

# 1.2, 1.3: the answers that show, in the order of checks
_DISABLED: Final = show("disabled")
_NO_SESSION: Final = show("no_session")
_ERROR: Final = show("error")
_TOO_SMALL: Final = show("too_small")
_FIRST: Final = show("first")
_STALE: Final = show("stale")

#: 1.7: a session id that the hook splices into a command.
_SPLICED: Final = re.compile(r"[A-Za-z0-9_-]+")

_HOUR: Final = 3_600_000_000


def marker(step: int, lines: int, tokens: int, identity: str) -> str:
    """The line that stands for an output (1.5): sizes of the first emission, name of the present command."""
    return (
        f"rtk-dedup: identical to output at step {step} \u00b7 {lines} lines / ~{tokens} tok suppressed "
        f"[{identity}] (force full: rtk proxy <cmd>)\n"
    )


class _Row:
    """A recorded output."""

    __slots__ = ("last_seen", "lines", "seq", "step", "tokens")

    def __init__(self, step: int, tokens: int, emission: Emission) -> None:
        self.step = step
        self.tokens = tokens
        self.lines = emission.lines
        self.seq = emission.seq
        self.last_seen = emission.at


class _Ledger:
    """The recorded outputs of one session by the hash of their raw text, the one not seen longest first."""

    __slots__ = ("last_step", "rows", "unseen_since")

    def __init__(self) -> None:
        self.rows: OrderedDict[int, _Row] = OrderedDict()
        self.last_step = 0
        self.unseen_since = NEVER
        """no row was last seen before this time"""

    def prune(self, before: int) -> None:
        """Drop the rows that were last seen before a time; steps go on from the highest one left (1.9)."""
        rows = self.rows
        while rows and next(iter(rows.values())).last_seen < before:
            rows.popitem(last=False)
        self.unseen_since = next(iter(rows.values())).last_seen if rows else NEVER
        self.last_step = max((row.step for row in rows.values()), default=0)

    def record(self, emission: Emission, tokens: int) -> None:
        if not self.rows:
            self.unseen_since = emission.at
        self.last_step += 1
        self.rows[emission.raw_sha64] = _Row(self.last_step, tokens, emission)


class _Rtk:
    """Both revisions: v1 has no window and no compaction handler.

    The original prunes all sessions after each command of any. Here a ledger is pruned when it is next used,
    by the time of the command before: the same, since times do not go back.
    """

    needs = frozenset({"session", "is_error", "raw_sha64", "bytes", "lines", "identity", "at"})
    wiring: Wiring = "session"

    def __init__(self, revision: str, settings: Settings) -> None:
        del revision  # its settings say all
        self._enabled: bool = settings["enabled"]
        self._min_tokens: int = settings["min_tokens"]
        self._suppress_on_error: bool = settings["suppress_on_error"]
        self._window: int = settings.get("recency_window", 0)
        self._forgets_at_compaction: bool = settings.get("compaction_handler", False)
        self._idle: int = settings["idle_hours"] * _HOUR
        self._by_context: bool = settings["ledger"] == "context"
        if self._by_context:
            self.needs |= {"context"}
        self.reach: Reach = settings["tools"]
        self.largest = 0
        self._ledgers: dict[LedgerId, _Ledger] = {}
        self._recorded_at = 0

    def notify(self, event: Event) -> None:
        if self._forgets_at_compaction and event.kind is EventKind.COMPACTION:
            self.forget(event.context if self._by_context else event.session)

    def forget(self, ledger: LedgerId) -> None:
        self._ledgers.pop(ledger, None)

    def decide(self, emission: Emission) -> Decision:
        pruned_before = self._recorded_at - self._idle
        self._recorded_at = emission.at
        if not self._enabled:
            return _DISABLED
        ledger = self._ledgers.get(emission.context if self._by_context else emission.session)
        if ledger is None:
            if not _SPLICED.fullmatch(emission.session):
                return _NO_SESSION
            ledger = self._open(emission)
        if emission.is_error and not self._suppress_on_error:
            return _ERROR
        tokens = (emission.bytes + 3) // 4
        if tokens < self._min_tokens:
            return _TOO_SMALL
        if ledger.unseen_since < pruned_before:
            ledger.prune(pruned_before)
        row = ledger.rows.get(emission.raw_sha64)
        if row is None:
            ledger.record(emission, tokens)
            self.largest = max(self.largest, len(ledger.rows))
            return _FIRST
        if 0 < self._window < ledger.last_step - row.step:
            return _STALE
        row.last_seen = emission.at
        ledger.rows.move_to_end(emission.raw_sha64)
        text = marker(row.step, row.lines, row.tokens, emission.identity)
        return Decision(Action.ELIDE, "repeat", row.seq, text, len(text.encode("utf-8", "surrogatepass")))

    def _open(self, emission: Emission) -> _Ledger:
        ledger = _Ledger()
        self._ledgers[emission.context if self._by_context else emission.session] = ledger
        return ledger


RTK: Final = Definition(
    "rtk",
    "RTK's session output dedup (pull request 2937)",
    _Rtk,
    PARAMETERS,
    REVISIONS,
    # 1.8: whether hosts run the handler is disputed, so both are shown
    presets=(Preset("", {}), Preset("no handler", {"compaction_handler": False})),
    keyed_by="bytes",
    reasons={
        "disabled": Stage.ELIGIBLE,
        "no_session": Stage.ELIGIBLE,
        "error": Stage.ELIGIBLE,
        "too_small": Stage.THRESHOLD,
        "stale": Stage.THRESHOLD,
        "first": Stage.LEDGER,
    },
)
