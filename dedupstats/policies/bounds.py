"""Bounds: nobody's code, but what the engines are measured against.

`keep-all` and `ceiling` are the two ends, one that elides nothing and one that ignores bytes. `exact` and
`safe` know what the model truly has in sight, which no engine does. Their markers are empty: a bound costs
nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dedupstats.policies.base import Action, Decision, Stage, show
from dedupstats.policies.spec import Definition

if TYPE_CHECKING:
    from dedupstats.policies.base import Emission, Event, LedgerId, Reach, Wiring
    from dedupstats.policies.spec import Settings

_KEPT: Final = show("kept")
_FIRST: Final = show("first")
_NO_TEXT: Final = show("no_text")
_NOT_READ_ONLY: Final = show("not_read_only")
_ERROR: Final = show("error")


def _elide(anchor: int) -> Decision:
    return Decision(Action.ELIDE, "repeat", anchor, "", 0)


class _Bound:
    """What bounds share: no event reaches them, since emissions say when they leave sight."""

    needs: frozenset[str] = frozenset()
    wiring: Wiring = "transform"
    reach: Reach = "all"
    largest = 0

    def __init__(self, revision: str, settings: Settings) -> None:
        """A bound has neither."""
        del revision, settings

    def notify(self, event: Event) -> None:
        del event


class _KeepAll(_Bound):
    """Elides nothing."""

    def decide(self, emission: Emission) -> Decision:
        del emission
        return _KEPT

    def forget(self, ledger: LedgerId) -> None:
        del ledger


class _Ceiling(_Bound):
    """Elides each call that was made before in the session, whatever it printed: the upper bound by calls."""

    needs = frozenset({"session", "call_key"})

    def __init__(self, revision: str, settings: Settings) -> None:
        super().__init__(revision, settings)
        self._calls: dict[LedgerId, dict[int, int]] = {}

    def decide(self, emission: Emission) -> Decision:
        calls = self._calls.setdefault(emission.session, {})
        anchor = calls.setdefault(emission.call_key, emission.seq)
        return _FIRST if anchor == emission.seq else _elide(anchor)

    def forget(self, ledger: LedgerId) -> None:
        self._calls.pop(ledger, None)


class _Exact(_Bound):
    """Elides text of which this policy left a full copy in sight of the context, whichever call showed it.

    The text may be truncated in place but is no failure; the copy may be anything that the model was shown
    (claude-code.md section 15, References).
    """

    needs = frozenset({"context", "ordinal", "left_at", "sha64", "repeatable", "is_error"})
    _only_reads = False

    def __init__(self, revision: str, settings: Settings) -> None:
        super().__init__(revision, settings)
        # of the copies shown in full, the one that stays in sight longest
        self._longest: dict[LedgerId, dict[int, Emission]] = {}

    def decide(self, emission: Emission) -> Decision:
        # what `witness` does stands here too: this runs for each result, and a call would cost as much again
        longest = self._longest.get(emission.context)
        if longest is None:
            longest = self._longest[emission.context] = {}
        known = longest.get(emission.sha64)
        if not emission.repeatable:
            answer = _NO_TEXT
        elif emission.is_error:
            answer = _ERROR
        elif self._only_reads and not emission.read_only:
            answer = _NOT_READ_ONLY
        elif known is not None and known.left_at > emission.ordinal:
            return _elide(known.seq)
        else:
            answer = _FIRST
        if known is None or known.left_at < emission.left_at:
            longest[emission.sha64] = emission
        return answer

    def witness(self, emission: Emission) -> None:
        """Know of an emission that is shown in full."""
        longest = self._longest.setdefault(emission.context, {})
        known = longest.get(emission.sha64)
        if known is None or known.left_at < emission.left_at:
            longest[emission.sha64] = emission

    def forget(self, ledger: LedgerId) -> None:
        self._longest.pop(ledger, None)


class _Safe(_Exact):
    """Elides what `exact` does where nothing is hidden by it: of calls that only read."""

    needs = _Exact.needs | {"read_only"}
    _only_reads = True


KEEP_ALL: Final = Definition("keep-all", "Shows everything", _KeepAll, reasons={"kept": Stage.ELIGIBLE})
CEILING: Final = Definition(
    "ceiling",
    "Elides every repeated call of the session, whatever it printed",
    _Ceiling,
    reasons={"first": Stage.LEDGER},
)
EXACT: Final = Definition(
    "exact",
    "Elides every text without an error that is in sight, whichever call printed it",
    _Exact,
    keyed_by="bytes",
    reasons={"first": Stage.LEDGER, "no_text": Stage.ELIGIBLE, "error": Stage.ELIGIBLE},
)
SAFE: Final = Definition(
    "safe",
    "Elides every text that is in sight, of calls that only read",
    _Safe,
    keyed_by="bytes",
    reasons=dict(EXACT.reasons) | {"not_read_only": Stage.ELIGIBLE},
)
