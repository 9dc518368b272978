"""What a policy is: the contract, what it is shown, and what it answers.

A policy decides, for each tool result in order of arrival, whether the model is shown it in full. One object
is one process of the real engine and holds its ledgers; it knows nothing of files, prices or verdicts.
Adding one: a file in this folder with a `Definition`, a line in `policies/__init__.py` (or an entry point
`dedupstats.policies`), and a test file.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final, Literal, NamedTuple, Protocol, runtime_checkable

from msgspec import Struct

LedgerId = str | int
"""names a ledger: a session or a context"""

NEVER: Final = (1 << 63) - 1
"""the ordinal that no emission has: what is removed then never leaves sight"""


class Emission(Struct, frozen=True, gc=False):
    """One tool result as policies are shown it; a policy declares the fields that it reads (`Policy.needs`).

    Hashes are the first eight bytes of a SHA-256 as signed integers, sizes are UTF-8 bytes.
    """

    seq: int
    """index over all contexts of the family: the name of this emission in `Decision.anchor`"""
    session: str
    """native id of the session, subagents included; empty: none is known"""
    context: LedgerId
    """what the model was sent: the main thread, or one subagent"""
    ordinal: int
    """0, 1, 2 ... within the context"""
    left_at: int
    """the ordinal of the context at which a boundary removes this emission from sight; `NEVER`: none does"""
    at: int
    """microseconds UTC; never less than that of the emission before"""
    tool: str
    category: str
    """the toolset as docker-agent names it; empty: none is known"""
    read_only: bool
    """whether the call is known to have no effect"""
    is_error: bool
    """the result is marked as a failure"""
    did_not_run: bool
    """a failure of a call that was refused, denied or cancelled before it ran"""
    call_key: int
    """of tool and Go-canonical arguments"""
    sha64: int
    """of the shown text"""
    bytes: int
    lines: int
    """of the shown text: LF, plus one if it is non-empty and does not end in LF"""
    repeatable: bool
    """whether it is text, whole or truncated in place; nothing else can be a repeat"""
    raw_sha64: int
    """of the output before filtering (RTK)"""
    identity: str
    """what RTK calls the command"""


class Action(StrEnum):
    """What happens to a result on its way to the model."""

    SHOW = "show"
    ELIDE = "elide"
    SHORTEN = "shorten"


class Decision(Struct, frozen=True, gc=False):
    """A policy's answer for one emission; answers that show are made once per reason, not per emission."""

    action: Action
    reason: str
    """the rule that decided, in the engine's order of checks"""
    anchor: int | None
    """`seq` of the emission that the marker speaks of"""
    marker: str | None
    """what is shown instead, to the byte; empty for bounds, whose markers have no text"""
    shown_bytes: int | None
    """of the marker; None: the result as it is (show), or a size that is not known (shorten)"""


class Stage(StrEnum):
    """At which step of the way from what could be elided to what is, a reason shows a result in full."""

    ELIGIBLE = "eligible"
    """the policy leaves such results alone, or is not asked"""
    THRESHOLD = "threshold"
    """too small, too large, too old"""
    CAP = "cap"
    """the ledger was full"""
    LEDGER = "ledger"
    """the ledger does not hold it (any more)"""


def show(reason: str) -> Decision:
    """The answer that shows a result as it is."""
    return Decision(Action.SHOW, reason, None, None, None)


class EventKind(StrEnum):
    """What happens to a session between its tool results."""

    SESSION_START = "session_start"
    SESSION_END = "session_end"
    COMPACTION = "compaction"
    TURN = "turn"
    """a new message of the person; reaches a policy only as what its wiring makes of it"""


class Event(NamedTuple):
    """Something that may make an engine forget."""

    kind: EventKind
    session: str
    context: LedgerId


Wiring = Literal["transform", "session", "runtime"]
"""which lifecycle events reach an engine"""


def delivered(wiring: Wiring, kind: EventKind) -> tuple[EventKind, ...]:
    """What an engine is told when something happens (docker-agent.md 0.2).

    Args:
        wiring: `transform`: results only. `session`: what happens to the person's session. `runtime`: also
            that each new turn is, for the host, the end of a session and the start of one.
        kind: What happened.

    Example:
        >>> [kind.value for kind in delivered("runtime", EventKind.TURN)]
        ['session_end', 'session_start']
        >>> delivered("session", EventKind.TURN)
        ()
    """
    if wiring == "transform":
        return ()
    if kind is not EventKind.TURN:
        return (kind,)
    return (EventKind.SESSION_END, EventKind.SESSION_START) if wiring == "runtime" else ()


Reach = Literal["all", "hook"]
"""which results an engine is asked about: every one with a call, or those of shell commands that RTK's hook
rewrites and gives a session"""


class Policy(Protocol):
    """One process of an engine, or of a bound. See the module's docstring for how to add one."""

    @property
    def needs(self) -> frozenset[str]:
        """The fields of `Emission` that decisions depend on; `seq` alone is always there."""

    @property
    def wiring(self) -> Wiring:
        """Which events `notify` is to be called with, by way of `delivered`."""

    @property
    def reach(self) -> Reach:
        """Which results it is asked about."""

    @property
    def largest(self) -> int:
        """Entries of the largest ledger that there has been; 0 for a policy without ledgers."""

    def decide(self, emission: Emission) -> Decision:
        """Decide on the next emission, in order of `seq`."""

    def notify(self, event: Event) -> None:
        """Take notice of an event that the wiring delivers; those of unknown sessions change nothing."""

    def forget(self, ledger: LedgerId) -> None:
        """Free what is kept for a session or context from which nothing more will come.

        This is the caller's housekeeping, not an event: it changes no decision on any other session.
        """


@runtime_checkable
class Witness(Policy, Protocol):
    """A policy that also knows what is in sight without a decision of its own, as references do."""

    def witness(self, emission: Emission) -> None:
        """Take notice of an emission that is shown in full unasked: a copy, or a result without a call."""
