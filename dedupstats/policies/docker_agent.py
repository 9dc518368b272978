"""docker-agent's `elide_repeated_tool_results`, as proposed in docker/docker-agent#3940, in three revisions.

Idea: per session one ledger from call (tool and arguments) to the hash of its last result. A result that is
the same as the last one of the same call is replaced by a sentence that says so. Only calls that the tool
itself calls read-only take part, never failures; a ledger is dropped where the model may have lost sight of
what it was shown. Sections are those of docker-agent.md.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from dedupstats.policies.base import Action, Decision, EventKind, Stage, show
from dedupstats.policies.parameters import Choice, Number, Words
from dedupstats.policies.spec import Definition, Preset

if TYPE_CHECKING:
    from dedupstats.policies.base import Emission, Event, LedgerId, Policy, Reach, Wiring
    from dedupstats.policies.spec import Settings

REVISIONS: Final = ("v1", "v2", "v3")

#: 0.1: what each revision takes for toolsets without effects. v2's "rag" matches nothing that exists.
_CATEGORIES: Final = {
    "v2": frozenset({"filesystem", "lsp", "rag", "memory", "git"}),
    "v3": frozenset({"filesystem", "lsp", "knowledge", "memory", "git"}),
}
#: 0.1: what makes each revision drop a session's ledger.
_FORGETS: Final = {
    "v1": frozenset({EventKind.SESSION_END}),
    "v2": frozenset({EventKind.SESSION_END, EventKind.COMPACTION, EventKind.SESSION_START}),
    "v3": frozenset({EventKind.SESSION_END, EventKind.COMPACTION, EventKind.SESSION_START}),
}
#: 2.1: toolsets whose large results the host's limiter moves to a file.
_LIMITED: Final = frozenset({"filesystem", "shell", "mcp", "a2a"})

PARAMETERS: Final = (
    Choice(
        "wiring",
        dict.fromkeys(REVISIONS, "session"),
        "which lifecycle events reach the engine: none, the session's, or each turn as one end and start",
        ("transform", "session", "runtime"),
        source="0.2",
    ),
    Choice(
        "errors",
        dict.fromkeys(REVISIONS, "documented"),
        "which failures the engine is told of: all, or as the real host does those of calls that did not run",
        ("documented", "host"),
        source="0.3",
    ),
    Choice(
        "ledger",
        dict.fromkeys(REVISIONS, "context"),
        "whether each context has a ledger of its own, or a session one with all its subagents",
        ("context", "session"),
        source="0.2",
    ),
    Number(
        "min_bytes",
        {"v1": 256, "v2": 0, "v3": 0},
        "smaller results are shown in full; an addition of ours in v2 and v3, which compare with the marker",
        unit="bytes",
        source="1.2, step 5",
    ),
    Number(
        "max_result_bytes",
        dict.fromkeys(REVISIONS, 51_200),
        "v2 shows results of this size in full, v3 above it where the limiter acts; also the limiter's own",
        unit="bytes",
        source="1.2, step 5; 2.1",
    ),
    Number(
        "max_result_lines",
        dict.fromkeys(REVISIONS, 2_000),
        "v3 shows longer results in full where the limiter acts; also the limiter's own",
        unit="lines",
        source="1.2, step 5; 2.1",
    ),
    Words(
        "categories",
        _CATEGORIES,
        "toolsets whose results may be elided",
        source="1.2, step 2",
    ),
    Number(
        "max_keys",
        dict.fromkeys(REVISIONS, 4_096),
        "calls that a ledger holds; when it is full, new calls are not remembered",
        unit="calls",
        source="1.2, step 10",
    ),
    Number(
        "max_sessions",
        {"v2": 256, "v3": 256},
        "ledgers that a process holds; the one opened first goes first",
        least=1,
        unit="ledgers",
        source="1.2, step 8",
    ),
    Choice(
        "limiter",
        dict.fromkeys(REVISIONS, "none"),
        "where the host's limiter of large results stands: absent, in front of the engine, or behind it",
        ("none", "front", "back"),
        source="2.2",
    ),
)

# 1.2: the answers that show, in the order of checks
_NOT_READ_ONLY: Final = show("not_read_only")
_CATEGORY: Final = show("category")
_ERROR: Final = show("error")
_NO_SESSION: Final = show("no_session")
_TOO_LARGE: Final = show("too_large")
_TOO_SMALL: Final = show("too_small")
_FIRST: Final = show("first")
_CHANGED: Final = show("changed")
_CAP: Final = show("cap")


def marker(tool: str, size: int) -> str:
    """The text that stands for a result of `size` bytes (1.3)."""
    return (
        f"[docker-agent] The {tool} tool ran and returned output byte-for-byte identical to its earlier "
        f"result for these same arguments in this session, so the {size}-byte payload is not repeated here. "
        "Nothing has changed since you last saw it."
    )


def _utf8_length(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


@lru_cache(maxsize=4_096)
def shortest(tool: str) -> int:
    """The size in bytes from which a result is longer than its marker.

    Example:
        >>> shortest("read_file")
        235
    """
    size = _utf8_length(marker(tool, 0))
    while size <= _utf8_length(marker(tool, size)):
        size += 1
    return size


class _Limits(NamedTuple):
    """The limiter's thresholds (2.1)."""

    bytes: int
    lines: int

    def rewrites(self, category: str, size: int, lines: int) -> bool:
        """Whether the limiter shows a notice and an excerpt instead of a text."""
        return category in _LIMITED and (size > self.bytes or lines > self.lines)


class _Engine:
    """What the three revisions share: the ledgers, and the checks before and after a revision's own.

    A ledger maps the key of a call to the emission whose result was recorded last.
    """

    needs = frozenset(
        {"read_only", "is_error", "did_not_run", "session", "bytes", "tool", "call_key", "sha64"}
    )

    reach: Reach = "all"

    def __init__(self, revision: str, settings: Settings) -> None:
        self.wiring: Wiring = settings["wiring"]
        self._forgets = _FORGETS[revision]
        self._all_errors: bool = settings["errors"] == "documented"
        self._by_context: bool = settings["ledger"] == "context"
        self._min_bytes: int = settings["min_bytes"]
        self._max_keys: int = settings["max_keys"]
        self._max_sessions: int | None = settings.get("max_sessions")
        if self._by_context:
            self.needs |= {"context"}
        # the order of opening is the order of the dict
        self._ledgers: dict[LedgerId, dict[int, Emission]] = {}
        self._largest_dropped = 0

    @property
    def largest(self) -> int:
        return max(self._largest_dropped, *map(len, self._ledgers.values()), 0)

    def notify(self, event: Event) -> None:
        if event.kind in self._forgets:
            self._drop(event.context if self._by_context else event.session)

    def forget(self, ledger: LedgerId) -> None:
        # its place stays taken, so that other ledgers leave when they would have left
        if ledger in self._ledgers:
            self._measure(self._ledgers[ledger])
            self._ledgers[ledger] = {}

    def _drop(self, name: LedgerId) -> None:
        ledger = self._ledgers.pop(name, None)
        if ledger is not None:
            self._measure(ledger)

    def _measure(self, ledger: dict[int, Emission]) -> None:
        self._largest_dropped = max(self._largest_dropped, len(ledger))

    def _look_up(self, emission: Emission) -> Decision:
        """Steps 7 to 10 of 1.2."""
        name = emission.context if self._by_context else emission.session
        # this line runs for each result: no call where the ledger is there
        ledger = self._ledgers.get(name) or self._ledger(name)
        key = emission.call_key
        known = ledger.get(key)
        if known is None:
            if len(ledger) >= self._max_keys:
                return _CAP
            ledger[key] = emission
            return _FIRST
        if known.sha64 != emission.sha64:
            ledger[key] = emission
            return _CHANGED
        text = marker(emission.tool, emission.bytes)
        return Decision(Action.ELIDE, "repeat", known.seq, text, _utf8_length(text))

    def _ledger(self, name: LedgerId) -> dict[int, Emission]:
        ledger = self._ledgers.get(name)
        if ledger is None:
            if self._max_sessions is not None:
                while len(self._ledgers) >= self._max_sessions:
                    self._drop(next(iter(self._ledgers)))
            ledger = self._ledgers[name] = {}
        return ledger


class _V1(_Engine):
    """As first proposed: a fixed lower bound, no upper one, any toolset; forgets at a session's end alone."""

    def decide(self, emission: Emission) -> Decision:
        if not emission.read_only:
            return _NOT_READ_ONLY
        if emission.is_error and (self._all_errors or emission.did_not_run):
            return _ERROR
        if not emission.session:
            return _NO_SESSION
        if emission.bytes < self._min_bytes:
            return _TOO_SMALL
        return self._look_up(emission)


class _V2(_Engine):
    """As revised after review: named toolsets, longer than its marker, below the limiter; few sessions."""

    needs = _Engine.needs | {"category"}

    def __init__(self, revision: str, settings: Settings) -> None:
        super().__init__(revision, settings)
        self._categories: frozenset[str] = settings["categories"]
        self._max_bytes: int = settings["max_result_bytes"]

    def decide(self, emission: Emission) -> Decision:
        if not emission.read_only:
            return _NOT_READ_ONLY
        if emission.category not in self._categories:
            return _CATEGORY
        if emission.is_error and (self._all_errors or emission.did_not_run):
            return _ERROR
        if not emission.session:
            return _NO_SESSION
        if self._is_too_large(emission):
            return _TOO_LARGE
        if emission.bytes < shortest(emission.tool) or emission.bytes < self._min_bytes:
            return _TOO_SMALL
        return self._look_up(emission)

    def _is_too_large(self, emission: Emission) -> bool:
        return emission.bytes >= self._max_bytes


class _V3(_V2):
    """The newest: knowledge instead of rag, and large only where and when the limiter would act."""

    needs = _V2.needs | {"lines"}

    def __init__(self, revision: str, settings: Settings) -> None:
        super().__init__(revision, settings)
        self._max_lines: int = settings["max_result_lines"]

    def _is_too_large(self, emission: Emission) -> bool:
        # the limits in place: most results are of a toolset that the limiter acts on
        return emission.category in _LIMITED and (
            emission.bytes > self._max_bytes or emission.lines > self._max_lines
        )


class _Limited:
    """An engine beside the host's limiter (2.2): the answers that reach the model.

    In front, the limiter judges the result, and its notice beats a marker; the engine learns nothing of that.
    Behind, it judges what the engine made of the result.
    """

    def __init__(self, engine: _V1 | _V2, limits: _Limits, *, in_front: bool) -> None:
        self.needs = engine.needs | {"category", "bytes", "lines"}
        self.wiring = engine.wiring
        self.reach = engine.reach
        self.notify = engine.notify
        self.forget = engine.forget
        self._engine = engine
        self._decide = engine.decide
        self._limits = limits
        self._in_front = in_front

    @property
    def largest(self) -> int:
        return self._engine.largest

    def decide(self, emission: Emission) -> Decision:
        decision = self._decide(emission)
        size, lines = emission.bytes, emission.lines
        if decision.marker is not None and not self._in_front:
            size, lines = _utf8_length(decision.marker), decision.marker.count("\n") + 1
        if not self._limits.rewrites(emission.category, size, lines):
            return decision
        return Decision(Action.SHORTEN, decision.reason, None, None, None)


_ENGINES: Final[dict[str, type[_V1 | _V2]]] = {"v1": _V1, "v2": _V2, "v3": _V3}


def _build(revision: str, settings: Settings) -> Policy:
    engine = _ENGINES[revision](revision, settings)
    if settings["limiter"] == "none":
        return engine
    limits = _Limits(settings["max_result_bytes"], settings["max_result_lines"])
    return _Limited(engine, limits, in_front=settings["limiter"] == "front")


DOCKER_AGENT: Final = Definition(
    "docker-agent",
    "docker-agent's elide_repeated_tool_results (pull request 3940)",
    _build,
    PARAMETERS,
    REVISIONS,
    presets=(
        # 0.2, 0.3: what the real host does, then what the engine's own text says
        Preset("host", {"wiring": "runtime", "errors": "host"}),
        Preset("documented", {"wiring": "session", "errors": "documented"}),
    ),
    says_same_arguments=True,
    capped_by="max_keys",
    ledgers_capped_by="max_sessions",
    reasons={
        "not_read_only": Stage.ELIGIBLE,
        "category": Stage.ELIGIBLE,
        "error": Stage.ELIGIBLE,
        "no_session": Stage.ELIGIBLE,
        "too_large": Stage.THRESHOLD,
        "too_small": Stage.THRESHOLD,
        "cap": Stage.CAP,
        "first": Stage.LEDGER,
        "changed": Stage.LEDGER,
    },
)
