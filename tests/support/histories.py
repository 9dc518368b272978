"""Random histories: drawn as a list of what happened, put into a store as rows, or read literally.

Everything happens one second after the other, so that the order of the list is the order of arrival. What is
in sight is kept here as a plain set per context; the store is told when each result left it.
"""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from hypothesis import strategies as st

from dedupstats.model import ContextKind, Emission, ReadOnly
from dedupstats.sources.base import hash64
from support.rows import NAMES, context, emission, fill

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dedupstats.model import Context
    from dedupstats.store import Store

SECOND: Final = 1_000_000
HOUR: Final = 3_600 * SECOND


@dataclass(frozen=True)
class Thread:
    """A context, as histories are made of them."""

    key: int
    session: str
    parent: int | None = None
    is_main: bool = True
    own_ledger: str | None = None
    """id that a sub-session's rows carry instead of the session's"""

    @property
    def name(self) -> str:
        return self.own_ledger or f"c{self.key}"


THREADS: Final = {
    thread.key: thread
    for thread in (
        Thread(1, "s1"),
        Thread(2, "s1", 1, is_main=False),
        Thread(3, "s1", 2, is_main=False),
        Thread(4, "s1", None, is_main=False),
        Thread(5, "s2"),
        Thread(6, "s2", 5, is_main=False, own_ledger="sub"),
        # a second file of the same session
        Thread(7, "s1"),
    )
}

#: Tools by name: what is known of them, and their toolset.
TOOLS: Final[dict[str, tuple[ReadOnly, str | None]]] = {
    "Read": (ReadOnly.YES, "filesystem"),
    "Remember": (ReadOnly.YES, None),
    "Edit": (ReadOnly.NO, "filesystem"),
    "mcp__x__get": (ReadOnly.UNKNOWN, None),
    "Bash": (ReadOnly.UNKNOWN, None),
}


#: Tools that only tests of single cases use.
OTHERS: Final[dict[str, tuple[ReadOnly, str | None]]] = {
    "read_file": (ReadOnly.YES, "filesystem"),
    "rag": (ReadOnly.YES, "rag"),
    "knowledge": (ReadOnly.YES, "knowledge"),
    "lsp": (ReadOnly.YES, "lsp"),
    "mcp": (ReadOnly.YES, "mcp"),
    "update_todos": (ReadOnly.YES, "todo"),
    "transfer_task": (ReadOnly.YES, "transfer"),
    "shell": (ReadOnly.NO, "shell"),
    "t" * 60: (ReadOnly.YES, "filesystem"),
}


def known(tool: str) -> tuple[ReadOnly, str | None]:
    """What is known of a tool, and its toolset."""
    return (TOOLS | OTHERS)[tool]


class Cost(NamedTuple):
    """What a result has in tokens and what carrying it cost, as a row of `emission_cost` has it."""

    tokens: float
    level: int
    sent: float
    usd: float
    unpriced: float
    modelled: float


MODELS: Final = ("claude-sonnet-4-5", "claude-opus-5", "deepseek-v4-pro", "gpt-5-codex", "acme-1", None)


@dataclass(eq=False, repr=False)
class Result:
    """A tool result."""

    place: int
    thread: Thread
    ordinal: int
    ledger: str
    tool: str = "Read"
    call: str | None = "a"
    arguments: str = "a"
    """differ under one call where two spellings have one key"""
    text: str = "x" * 900
    klass: str = "text"
    is_error: bool = False
    did_not_run: bool = False
    shell_reads: bool | None = None
    hook: str | None = None
    turn: int = 1
    copy_of: Result | None = None
    left: int | None = None
    idle: int = 0
    """hours in which nothing happened, so far"""

    def __repr__(self) -> str:
        usual = Result(self.place, self.thread, self.ordinal, self.ledger)
        told = {name: value for name, value in vars(self).items() if value != getattr(usual, name)}
        told["text"] = self.text[0]
        return f"{self.place}: c{self.thread.key}/{self.ordinal} {self.ledger} {told}"

    @property
    def size(self) -> int:
        return len(self.text.encode())

    @property
    def at(self) -> int:
        return self.place * SECOND + self.idle * HOUR

    @cached_property
    def model(self) -> str | None:
        return random.Random(f"model {self.place}").choice(MODELS)

    @cached_property
    def cost(self) -> Cost | None:
        """Drawn from the place: of some nothing is known, some were never sent, some have no price."""
        dice = random.Random(f"cost {self.place}")
        if dice.random() < 0.1:
            return None
        tokens = dice.choice([0.0, 0.4, 11.5, 12.5, 250.0, 306.7])
        sent = tokens * dice.choice([0, 0, 1, 2.25, 30])
        unpriced = sent * dice.choice([0, 0, 0.5, 1])
        usd = (sent - unpriced) * dice.choice([3e-7, 3.75e-6])
        return Cost(tokens, dice.randrange(5), sent, usd, unpriced, sent * dice.choice([0, 1]))

    @property
    def is_text(self) -> bool:
        return self.klass in {"text", "truncated"}

    @property
    def known(self) -> ReadOnly:
        return known(self.tool)[0]

    def sees(self, other: Result) -> bool:
        """Whether another result is in sight when this one arrives."""
        return (
            other.thread is self.thread
            and other.ordinal < self.ordinal
            and (other.left is None or other.left > self.ordinal)
        )


@dataclass(eq=False, repr=False)
class Happening:
    """A message of the person, or something that takes results out of sight."""

    place: int
    kind: str
    thread: Thread
    ledger: str
    before: int
    """results of its context so far"""
    is_steering: bool = False
    removed: list[int] = field(default_factory=list)

    def __repr__(self) -> str:
        steering = " (steering)" if self.is_steering else ""
        return f"{self.place}: c{self.thread.key}/{self.before} {self.kind}{steering} removes {self.removed}"


class Past:
    """A history."""

    def __init__(self) -> None:
        self.items: list[Result | Happening] = []

    def __repr__(self) -> str:
        return "".join(f"\n    {item}" for item in self.items)

    @property
    def results(self) -> list[Result]:
        return [item for item in self.items if isinstance(item, Result)]

    def families(self) -> list[Past]:
        """Sessions that share a copy, each with what happened in them."""
        family = {thread.session: thread.session for thread in THREADS.values()}
        for result in self.results:
            if result.copy_of is not None:
                one, other = family[result.thread.session], family[result.copy_of.thread.session]
                family = {session: one if root == other else root for session, root in family.items()}
        parts: dict[str, Past] = defaultdict(Past)
        for item in self.items:
            parts[family[item.thread.session]].items.append(item)
        return list(parts.values())


class Writer:
    """Makes a history step by step; keeps what is in sight."""

    def __init__(self) -> None:
        self.past = Past()
        self._following: dict[int, int] = defaultdict(int)
        self._in_sight: dict[int, list[Result]] = defaultdict(list)
        self._ledgers: dict[int, str] = {}
        self._turns: dict[int, int] = defaultdict(int)
        self._idle = 0

    def wait(self, hours: int) -> None:
        """Nothing happens for some hours."""
        self._idle += hours

    def ledger(self, thread: Thread) -> str:
        return self._ledgers.get(thread.key, thread.own_ledger or thread.session)

    def move(self, key: int, ledger: str) -> None:
        """From here on the rows of a context carry another session's id."""
        self._ledgers[key] = ledger

    def result(self, key: int, **told: Any) -> Result:
        thread = THREADS[key]
        found = Result(
            len(self.past.items),
            thread,
            self._following[key],
            self.ledger(thread),
            turn=self._turns[key],
            idle=self._idle,
            **told,
        )
        self._following[key] += 1
        self._in_sight[key].append(found)
        self.past.items.append(found)
        return found

    def copy(self, key: int, original: Result) -> Result:
        same = (
            "tool",
            "call",
            "arguments",
            "text",
            "klass",
            "is_error",
            "did_not_run",
            "shell_reads",
            "hook",
        )
        return self.result(key, copy_of=original, **{name: getattr(original, name) for name in same})

    def visible(self, key: int) -> list[Result]:
        return list(self._in_sight[key])

    def happens(
        self,
        kind: str,
        key: int,
        keep: Callable[[Result], bool] = lambda _: False,
        *,
        is_steering: bool = False,
    ) -> None:
        """A turn, or a boundary that leaves in sight what is to be kept."""
        thread = THREADS[key]
        happening = Happening(
            len(self.past.items), kind, thread, self.ledger(thread), self._following[key], is_steering
        )
        if kind == "turn":
            self._turns[key] += 1
        else:
            for result in self.visible(key):
                if not keep(result):
                    result.left = happening.before
                    happening.removed.append(result.ordinal)
            self._in_sight[key] = [result for result in self.visible(key) if result.left is None]
        self.past.items.append(happening)


# -- drawn ---------------------------------------------------------------------------------------------------


@st.composite
def pasts(
    draw: st.DrawFn,
    *,
    kinds: Sequence[str] = (
        "compaction",
        "compaction",
        "micro_compaction",
        "clear",
        "rewind",
        "turn",
        "turn",
    ),
    keeps: str = "anything",
    copies: bool = True,
    moves: bool = True,
    threads: Sequence[int] = tuple(THREADS),
    max_size: int = 30,
) -> Past:
    """A history.

    Args:
        draw: Hypothesis' own.
        kinds: What may happen between results.
        keeps: What boundaries keep: `anything`, a `suffix` (newest results), or `nothing`.
        copies: Whether results come again as copies.
        moves: Whether the rows of a context may come to carry another session's id.
        threads: The contexts that may take part.
        max_size: Steps at most.
    """
    writer = Writer()
    used = draw(st.lists(st.sampled_from(threads), min_size=1, max_size=4, unique=True))
    for _ in range(draw(st.integers(1, max_size))):
        key = draw(st.sampled_from(used))
        step = draw(st.integers(0, 9))
        originals = [result for result in writer.past.results if result.copy_of is None]
        if step == 0 and moves:
            writer.move(key, draw(st.sampled_from(["s1", "s2", "s3", ""])))
        elif step == 1 and copies and originals:
            writer.copy(key, draw(st.sampled_from(originals)))
        elif step <= 3 and kinds:
            visible = writer.visible(key)
            kind = draw(st.sampled_from(kinds))
            kept = set(visible)
            if kind != "turn":
                kept = set(draw(_kept(visible, keeps)))
            writer.happens(kind, key, kept.__contains__, is_steering=draw(st.integers(0, 3)) == 0)
        else:
            writer.result(key, **draw(_told()))
    return writer.past


def _kept(visible: list[Result], keeps: str) -> st.SearchStrategy[list[Result]]:
    if keeps == "nothing" or not visible:
        return st.just([])
    if keeps == "suffix":
        return st.integers(0, len(visible)).map(lambda first: visible[first:])
    return st.lists(st.sampled_from(visible), unique=True)


@st.composite
def _told(draw: st.DrawFn) -> dict[str, Any]:
    tool = draw(st.sampled_from(["Read", "Read", "Read", *TOOLS]))
    is_error = draw(st.integers(0, 7)) == 0
    call = draw(st.sampled_from(["a", "a", "b", None])) if draw(st.integers(0, 3)) == 0 else "a"
    told: dict[str, Any] = {
        "tool": tool,
        "call": call,
        "arguments": draw(st.sampled_from(["a", "a", "a", "other"])),
        "text": draw(st.sampled_from(["x" * 900, "x" * 900, "y" * 900, "z"])),
        "klass": draw(st.sampled_from(["text", "text", "text", "truncated", "stub"])),
        "is_error": is_error,
        "did_not_run": is_error and draw(st.booleans()),
    }
    if tool == "Bash":
        told["shell_reads"] = draw(st.booleans())
        told["hook"] = draw(st.sampled_from(["exact", "exact", "mixed", "no"]))
    return told


# -- in a store ----------------------------------------------------------------------------------------------


def put(store: Store, past: Past) -> dict[int, Result]:
    """Put a history into the store, in place of what it held; returns the results by their emission key."""
    rows = {_key(result): result for result in past.results}
    turns = [item for item in past.items if isinstance(item, Happening) and item.kind == "turn"]
    boundaries = [item for item in past.items if isinstance(item, Happening) and item.kind != "turn"]
    fill(
        store,
        [_context(thread) for thread in THREADS.values()],
        [_row(result) for result in rows.values()],
        {key: result.left for key, result in rows.items() if result.left is not None},
        turns=[
            (item.thread.key, 1, item.place, item.place * SECOND, item.before, item.is_steering)
            for item in turns
        ],
        boundaries=[
            (item.thread.key, item.before, item.place, item.place * SECOND, item.kind) for item in boundaries
        ],
    )
    store.query("delete from derived.emission_cost")
    costs = {key: result.cost for key, result in rows.items()}
    store.append(
        "derived.emission_cost",
        [
            (key, cost.tokens, cost.level, 0.0, 0, cost.sent, 0.0, 0.0, 0.0, *cost[3:])
            for key, cost in costs.items()
            if cost is not None
        ],
    )
    return rows


def _key(result: Result) -> int:
    return hash64("emission", str(result.thread.key), str(result.ordinal))


def _context(thread: Thread) -> Context:
    kind = ContextKind.MAIN if thread.is_main else ContextKind.AGENT
    return context(thread.key, thread.session, kind=kind, parent_key=thread.parent, native_id=thread.name)


def _row(result: Result) -> Emission:
    read_only, category = known(result.tool)
    call_key = None if result.call is None else hash64(result.tool, result.call)
    original = result.copy_of or result
    return emission(
        result.thread.key,
        result.ordinal,
        result.text,
        emission_key=_key(result),
        tool_key=NAMES.tool(result.tool, category, read_only),
        call_key=call_key,
        norm_key=call_key,
        args_sha64=None if result.call is None else hash64(result.tool, result.call, result.arguments),
        at=result.at,
        clock=result.at,
        line=result.place,
        turn=result.turn,
        ledger_key=NAMES.optional(result.ledger),
        model_key=NAMES.optional(result.model),
        klass=result.klass,
        is_error=result.is_error,
        did_not_run=result.did_not_run,
        copy_key=hash64("copy", str(original.place)),
        is_fork=result.copy_of is not None,
        shell_reads=result.shell_reads,
        rtk_mode=result.hook,
        rtk_identity_bytes=7 if result.hook in {"exact", "mixed"} else None,
    )
