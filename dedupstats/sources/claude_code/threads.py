"""What is gathered about one context while a file is read: plain fields, filled by the reader."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dedupstats.sources.claude_code.tree import ROOT

if TYPE_CHECKING:
    from dedupstats.model import BoundaryKind, Class, ContextKind, Entered, Turn
    from dedupstats.sources.claude_code.requests import Draft
    from dedupstats.sources.measure import Measured


class Result(NamedTuple):
    """A tool result before it meets its call, which may stand after it; fields in groups as in `Emission`."""

    node: int
    call_id: str
    moment: tuple[int, int | None, int | None, int]
    """line, at, clock, turn"""
    marks: tuple[bool, bool]
    """is_fork, is_home"""
    keys: tuple[int | None, int | None]
    """ledger_key, version_key"""
    klass: Class
    cuts: int
    """marks of a cut in place; which of them counts depends on the tool"""
    failure: tuple[bool, bool]
    """is_error, did_not_run"""
    measured: Measured
    content: str | None
    o200k_tokens: int | None


class Event(NamedTuple):
    """A row at which something leaves sight by the log's own word."""

    node: int
    kind: BoundaryKind
    trigger: str | None = None
    tokens_before: int | None = None
    tokens_after: int | None = None
    kept: tuple[int, ...] = ()
    """rows that a compaction kept"""
    cleared: tuple[str, ...] = ()
    """ids of the calls whose results a micro-compaction cleared"""


class Thread:
    """One context of a file, while it is read.

    Attributes:
        last_node: Last row so far: the parent of a row whose own is missing.
        boundary: Last compaction so far, as a row.
        prompt_parents: Rows on which a message of the person hangs.
        root: Last root row that may be the beginning after a clear.
        tip: Last row that takes part in the conversation.
        count: Tool results so far.
        follows_result: Whether the last row that counts for steering was a tool result.
    """

    __slots__ = (
        "agent",
        "boundary",
        "clock",
        "count",
        "cwd",
        "drafts",
        "entered",
        "events",
        "follows_result",
        "has_answer",
        "is_fresh",
        "is_side",
        "key",
        "kind",
        "last_node",
        "native_id",
        "prompt_parents",
        "results",
        "root",
        "started",
        "tip",
        "turn",
        "turns",
    )

    def __init__(self, key: int, native_id: str, kind: ContextKind, *, is_side: bool) -> None:
        self.key = key
        self.native_id = native_id
        self.kind = kind
        self.is_side = is_side
        self.agent: str | None = None
        self.cwd: str | None = None
        self.started: int | None = None
        self.clock: int | None = None
        self.turn = 0
        self.count = 0
        self.last_node = ROOT
        self.boundary = ROOT
        self.is_fresh = False
        self.root = ROOT
        self.tip = ROOT
        self.has_answer = False
        self.follows_result = False
        self.prompt_parents: set[int] = set()
        self.turns: list[Turn] = []
        self.entered: list[Entered] = []
        self.drafts: dict[str, Draft] = {}
        self.results: list[Result] = []
        self.events: list[Event] = []
