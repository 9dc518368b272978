"""Context curves in words: titles, the largest jumps, and what to know of the figures."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

from dedupstats.report import money
from dedupstats.report.blocks import plural
from dedupstats.report.context_chart import MARKS, largest, mark_key
from dedupstats.report.targets import short_targets
from dedupstats.report.text import count, part_of, percent
from dedupstats.report.words import CONTEXTS, SOURCES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dedupstats.analytics.context import Arrived, Curve, Point, SessionContexts

JUMPS: Final = 5
_NAMED: Final = 3
_TARGET: Final = 40
_SHORTEST: Final = 8
_LISTED: Final = 6

Jump = tuple[str, str, str, str]
"""request, growth, prompt, what entered"""


def session_title(found: SessionContexts, *, full_paths: bool) -> str:
    """A session and its source."""
    session = found.session if full_paths else found.session[:8]
    return f"{SOURCES.get(found.source, found.source)} session {session}"


def context_title(curve: Curve) -> str:
    """A context of the session."""
    if curve.kind == "main":
        return CONTEXTS["main"]
    return " ".join(
        part for part in (CONTEXTS.get(curve.kind, curve.kind), curve.agent, curve.native_id) if part
    )


def size_line(curve: Curve) -> str:
    """How many requests there are, and the largest of them."""
    top = largest(curve.points)
    how = "as recorded" if top.is_measured else "bytes / 4, without the system prompt"
    return (
        f"{plural(len(curve.points), 'request')}; the largest prompt: {money.tokens(top.prompt_tokens)} "
        f"tokens, request {count(top.request)} ({how})"
    )


def jumps(curve: Curve, *, full_paths: bool, room: int | None = None) -> list[Jump]:
    """The requests whose prompts grew most over the one before, with the tool results that entered.

    Args:
        curve: A context.
        full_paths: Targets whole.
        room: Characters for what entered, where targets are not whole; None: as many as it needs.
    """
    grown = [
        (after.prompt_tokens - before.prompt_tokens, after)
        for before, after in pairwise(curve.points)
        # a rough size says nothing beside a recorded one
        if before.is_measured == after.is_measured and after.prompt_tokens > before.prompt_tokens
    ]
    grown.sort(key=lambda one: (-one[0], one[1].request))
    return [
        (
            count(point.request),
            f"+{money.tokens(growth)}",
            money.tokens(point.prompt_tokens),
            _entered(point, full_paths=full_paths, room=room),
        )
        for growth, point in grown[:JUMPS]
    ]


def _entered(point: Point, *, full_paths: bool, room: int | None) -> str:
    if not point.results:
        return "no tool result: the model's answer, or other text"
    dearest = sorted(point.results, key=lambda result: (-result.tokens, result.emission_key))
    said = [_result(result, full_paths=full_paths) for result in dearest]
    for named in range(min(_NAMED, len(said)), 0, -1):
        rest = [f"{len(said) - named} more"] if len(said) > named else []
        words = ", ".join([*said[:named], *rest])
        if full_paths or room is None or len(words) <= room:
            return words
    shorter = max(_TARGET - (len(words) - (room or 0)), _SHORTEST)
    return ", ".join([_result(dearest[0], full_paths=False, longest=shorter), *rest])


def _result(result: Arrived, *, full_paths: bool, longest: int = _TARGET) -> str:
    target = result.target or ""
    if not full_paths:
        target = short_targets([target])[target]
        target = target if len(target) <= longest else f"{target[: longest - 1]}…"
    name = f"{result.tool} {target}" if target else result.tool
    return f"{name} {money.tokens(result.tokens)}{' (left out)' if result.is_elided else ''}"


def curve_notes(curve: Curve, policy: str) -> Iterator[str]:
    """What to know of a curve."""
    yield _removed(curve, policy)
    without = len(curve.points) - curve.measured
    if without == len(curve.points):
        yield (
            "No request has usage in the log: sizes are bytes / 4 (25 to 52 % low) of what the log shows, "
            "without the system prompt."
        )
    elif without:
        yield (
            f"{part_of(without, len(curve.points))} requests have no usage: their sizes are bytes / 4 on top "
            "of the last recorded prompt."
        )
    if curve.shrunk:
        yield (
            f"{part_of(curve.shrunk, len(curve.points))} requests have a smaller prompt than the results "
            "that should be in sight: something left that the log does not tell of, and what would have "
            "been left out is shrunk likewise."
        )
    if curve.copies:
        yield (
            f"{plural(curve.copies, 'request')} stand in another context as well: drawn, and in no count of "
            "compactions."
        )
    if curve.marks:
        yield f"Boundaries: {', '.join(_marks(curve))}."


def _marks(curve: Curve) -> Iterator[str]:
    for mark in curve.marks[:_LISTED]:
        last = curve.points[-1].request
        where = f"before request {count(mark.request)}" if mark.request <= last else "after the last request"
        yield f"{MARKS[mark_key(mark)][1]} {where}"
    if len(curve.marks) > _LISTED:
        yield f"{count(len(curve.marks) - _LISTED)} more"


def _removed(curve: Curve, policy: str) -> str:
    most = max(curve.points, key=lambda point: (point.removed_tokens, -point.request))
    if not curve.removed_by_level:
        return f"{policy} would have left out nothing soundly in this context."
    share = most.removed_tokens / most.prompt_tokens if most.prompt_tokens else None
    how = money.known_by(curve.removed_by_level)
    return (
        f"{policy} would have kept up to {money.tokens(most.removed_tokens)} tokens out of a prompt (request "
        f"{count(most.request)}, {percent(share)} of it): results in sight that it elides soundly, less "
        f"their markers. Their tokens: {how}."
    )
