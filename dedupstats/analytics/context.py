"""The curve of a context: each request's prompt, what entered and left, what a policy would have removed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime  # noqa: TC003 - the reference page looks at the types of fields
from typing import TYPE_CHECKING

from dedupstats.analytics.compactions import (
    Compactions,
    Triggers,
    compactions,
    counted,
    elisions,
    net_removed,
)
from dedupstats.errors import UsageError
from dedupstats.history.course import Came, Gone, Sent, courses
from dedupstats.model import BoundaryKind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dedupstats.history.course import Course
    from dedupstats.simulate.variants import Variant
    from dedupstats.store import Store

_NAMED = 4
_CLEARS = (BoundaryKind.COMPACTION, BoundaryKind.CLEAR)


@dataclass(frozen=True, slots=True)
class Arrived:
    """A tool result that entered before a request.

    Attributes:
        emission_key: Its key in the views.
        tool: The tool that was called.
        target: What the call is about; None without targets.
        tokens: First-pass tokens.
        level: How these are known (0 to 5, see `emission_cost.level`).
        is_elided: The policy soundly leaves it out.
    """

    emission_key: int
    tool: str
    target: str | None
    tokens: float
    level: int
    is_elided: bool


@dataclass(frozen=True, slots=True)
class Point:
    """A request.

    Attributes:
        request: Its number within the context, from 1.
        line: Of its first row in the log.
        ts: Its time, UTC; None: undated.
        model: As logged.
        prompt_tokens: Input, cache reads and cache writes.
        is_measured: These are recorded; else they are bytes / 4 of what was in sight since the last request
            with usage, on top of that one's prompt, or without the system prompt where none came before.
        removed_tokens: What the policy would have taken out of it: soundly elided results that are in sight,
            less their markers; at most a share of the prompt, see `Curve.shrunk`.
        results: Tool results that entered since the request before.
    """

    request: int
    line: int
    ts: datetime | None
    model: str | None
    prompt_tokens: float
    is_measured: bool
    removed_tokens: float
    results: tuple[Arrived, ...]


@dataclass(frozen=True, slots=True)
class Mark:
    """A recorded boundary.

    Attributes:
        kind: compaction, micro_compaction, clear or rewind.
        trigger: auto, manual; None: the log does not tell.
        line: Of the log.
        ts: Its time, UTC; None: undated.
        request: Number of the request that follows; one more than there are: none does.
    """

    kind: str
    trigger: str | None
    line: int
    ts: datetime | None
    request: int


@dataclass(frozen=True, slots=True)
class Curve:
    """A context over its requests.

    Attributes:
        context_key: Its key in the views.
        kind: main or agent.
        agent: Kind of the subagent, where the log tells.
        native_id: Of the context, as logged.
        points: Its requests, in order of the log.
        marks: Its boundaries, likewise.
        removed_by_level: Tokens of the elided results, by how they are known, markers not taken off.
        copies: Requests that stand in another context as well: drawn, and in no count of compactions.
        shrunk: Requests whose prompt is smaller than the results that should be in sight: something left that
            the log does not tell of, and what the policy removes is shrunk like everything else.
        compactions: Automatic ones, recorded and replayed.
    """

    context_key: int
    kind: str
    agent: str | None
    native_id: str
    points: tuple[Point, ...]
    marks: tuple[Mark, ...]
    removed_by_level: dict[int, float]
    copies: int
    shrunk: int
    compactions: Compactions

    @property
    def measured(self) -> int:
        """Requests with usage."""
        return sum(point.is_measured for point in self.points)


@dataclass(frozen=True, slots=True)
class SessionContexts:
    """The contexts of a session.

    Attributes:
        session: Its id.
        source: Name of its source.
        project: Its working directory.
        policy: Label of the policy.
        contexts: How many contexts with requests the session has.
        curves: Those that are shown, main thread first.
        compactions: Automatic ones of all its contexts.
    """

    session: str
    source: str
    project: str | None
    policy: str
    contexts: int
    curves: tuple[Curve, ...]
    compactions: Compactions


@dataclass(frozen=True, slots=True)
class Large:
    """A session with the largest prompt that one of its requests sent.

    Attributes:
        session: Its id.
        project: Its working directory.
        requests: How many it has.
        prompt_tokens: The largest prompt, as recorded.
        compactions: Recorded ones, by whatever trigger.
    """

    session: str
    project: str | None
    requests: int
    prompt_tokens: int
    compactions: int


@dataclass(frozen=True, slots=True)
class AllContexts:
    """Automatic compactions of a whole store, and its sessions with the largest contexts.

    Attributes:
        policy: Label of the policy.
        compactions: Automatic ones, recorded and replayed.
        largest: Sessions by their largest prompt.
        sessions: How many sessions have a request with usage.
    """

    policy: str
    compactions: Compactions
    largest: tuple[Large, ...]
    sessions: int


def session_contexts(
    store: Store, session: str, policy: Variant, *, context: str | None = None, every: bool = False
) -> SessionContexts:
    """The context curves of a session.

    Args:
        store: An open store; read-only will do.
        session: Its id or the beginning of one.
        policy: Whose sound elisions are taken out of the curve.
        context: Only the context with this id, or that whose id begins so.
        every: All contexts; else the first, which is the main thread where there is one.

    Raises:
        UsageError: No session or context has such an id, several have, or the session has no requests.
    """
    key, session_id, source, project, family = _session(store, session)
    with_requests = [
        course for course in courses(store, [key]) if any(isinstance(step, Sent) for step in course.steps)
    ]
    if not with_requests:
        raise UsageError(
            f"the log of session {session_id} has no requests of a model: there is no context to show",
            f"its results: dedupstats rates --session {session_id}",
        )
    # logs that were read twice have a context twice: the one whose requests count goes first
    with_requests.sort(key=lambda course: not any(_is_own(step) for step in course.steps))
    chosen = with_requests if every else with_requests[:1]
    if context is not None:
        chosen = _chosen(with_requests, context)
    (removed,) = elisions(store, [policy], families=[family])
    triggers = Triggers.of_store(store)
    counts = {course.context_key: counted(course, removed, triggers) for course in with_requests}
    return SessionContexts(
        session_id,
        source,
        project,
        policy.label,
        len(with_requests),
        tuple(curve(course, removed, counts[course.context_key]) for course in chosen),
        sum(counts.values(), Compactions()),
    )


def all_contexts(
    store: Store,
    policy: Variant,
    *,
    limit: int = 10,
    progress: Callable[[int, int], None] | None = None,
) -> AllContexts:
    """Automatic compactions of a whole store under a policy, and its largest contexts.

    Args:
        store: An open store; read-only will do.
        policy: Whose sound elisions keep text out.
        limit: How many sessions are named.
        progress: Is told how many of how many chunks are done.
    """
    rows = store.query(_LARGEST)
    largest = tuple(Large(*row) for row in rows[:limit])
    (found,) = compactions(store, [policy], progress=progress)
    return AllContexts(policy.label, found, largest, len(rows))


_LARGEST = """
with sized as (
    select session_key, session_id, project, coalesce(input_tokens, 0) + coalesce(cache_read_tokens, 0)
        + coalesce(cache_write_5m_tokens, 0) + coalesce(cache_write_1h_tokens, 0) as prompt
    from request where context_kind <> 'side'
)
select session_id, project, count(*) as requests, max(prompt) as prompt,
    (select count(*) from boundary b where b.session_key = s.session_key and b.kind = 'compaction')
from sized s
group by s.session_key, session_id, project
having max(prompt) > 0
order by prompt desc, session_id, s.session_key
"""


def curve(course: Course, removed: Mapping[int, int], compacted: Compactions) -> Curve:
    """The curve of one context.

    Args:
        course: What happened in it.
        removed: Bytes of the marker by emission key, of what the policy elides.
        compacted: Its automatic compactions.
    """
    drawing = _Drawing(removed)
    for step in course.steps:
        drawing.take(step)
    return Curve(
        course.context_key,
        course.kind,
        course.agent,
        course.native_id,
        tuple(drawing.points),
        tuple(drawing.marks),
        dict(sorted(drawing.by_level.items())),
        len(drawing.points) - sum(map(_is_own, course.steps)),
        drawing.shrunk,
        compacted,
    )


class _Drawing:
    """A curve while its context goes by."""

    def __init__(self, removed: Mapping[int, int]) -> None:
        self.points: list[Point] = []
        self.marks: list[Mark] = []
        self.by_level: dict[int, float] = {}
        self.shrunk = 0
        self._removed = removed
        self._elided: list[tuple[Came, float]] = []
        self._results: list[Arrived] = []
        self._rough = 0.0
        """the prompt where no usage tells it"""
        self._in_sight: list[Came] = []
        self._tokens = self._net = 0.0
        """of the results in sight; of what is taken out of them"""

    def take(self, step: Sent | Came | Gone) -> None:
        """Move on."""
        if isinstance(step, Came):
            self._enter(step)
        elif isinstance(step, Gone):
            self._leave(step)
        else:
            self._send(step)

    def _enter(self, came: Came) -> None:
        self._rough += came.bytes / 4
        if came.key is None:
            return
        is_elided = came.key in self._removed
        self._in_sight.append(came)
        self._tokens += came.tokens
        self._results.append(
            Arrived(came.key, came.tool or "", came.target, came.tokens, came.level, is_elided)
        )
        if is_elided:
            net = net_removed(came, self._removed[came.key])
            self._elided.append((came, net))
            self._net += net
            self.by_level[came.level] = self.by_level.get(came.level, 0.0) + came.tokens

    def _leave(self, gone: Gone) -> None:
        self.marks.append(Mark(gone.kind, gone.trigger, gone.line, gone.ts, len(self.points) + 1))
        staying = [came for came in self._in_sight if not _left(came, gone)]
        if gone.kind in _CLEARS:
            self._rough = sum(came.bytes for came in staying) / 4
        else:
            lost = sum(came.bytes for came in self._in_sight) - sum(came.bytes for came in staying)
            self._rough = max(self._rough - lost / 4, 0.0)
        self._in_sight = staying
        self._elided = [(came, net) for came, net in self._elided if not _left(came, gone)]
        self._tokens = sum((came.tokens for came in staying), 0.0)
        self._net = sum((net for _, net in self._elided), 0.0)

    def _send(self, sent: Sent) -> None:
        is_measured = sent.prompt is not None
        if sent.prompt is not None:
            self._rough = float(sent.prompt)
        share = 1.0
        if sent.prompt is not None and self._tokens > sent.prompt:
            self.shrunk += 1
            share = sent.prompt / self._tokens
        self.points.append(
            Point(
                len(self.points) + 1,
                sent.line,
                sent.ts,
                sent.model,
                self._rough,
                is_measured,
                self._net * share,
                tuple(self._results),
            )
        )
        self._rough += sent.visible_bytes / 4
        self._results = []


def _left(came: Came, gone: Gone) -> bool:
    return came.left is not None and came.left <= gone.at


def _is_own(step: Sent | Came | Gone) -> bool:
    return isinstance(step, Sent) and step.is_own


def _session(store: Store, text: str) -> tuple[int, str, str, str | None, int]:
    wanted = text.strip()
    rows = store.query(
        "select session_key, session_id, source, project, family_key from session "
        "where session_id = $text or starts_with(session_id, $text) "
        "order by session_id <> $text, session_id, source, session_key",
        {"text": wanted},
    )
    if wanted and rows and (len(rows) == 1 or (rows[0][1] == wanted and rows[1][1] != wanted)):
        return rows[0]
    hint = "dedupstats context (without a session) names those with the largest contexts"
    if not wanted or not rows:
        raise UsageError(f"no session has an id that begins with {text!r}", hint)
    named = ", ".join(dict.fromkeys(row[1] for row in rows[:_NAMED]))
    more = f" and {len(rows) - _NAMED:,} more" if len(rows) > _NAMED else ""
    raise UsageError(f"{len(rows):,} sessions have ids that begin with {text!r}", f"{named}{more}")


def _chosen(found: list[Course], text: str) -> list[Course]:
    matching = [one for one in found if one.native_id == text]
    matching = matching or [one for one in found if text and one.native_id.startswith(text)]
    if len(matching) == 1:
        return matching
    names = [one.native_id for one in matching or found]
    named = ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else "")
    if matching:
        raise UsageError(f"{len(matching):,} contexts have ids that begin with {text!r}", named)
    raise UsageError(f"--context {text!r}: the session has no such context", f"it has {named}")
