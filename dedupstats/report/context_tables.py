"""Context curves for a terminal, as one flat table for programs, and as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from dedupstats.report import compaction_words
from dedupstats.report import context_words as words
from dedupstats.report.context_chart import drawn, largest, legend
from dedupstats.report.grid import wrapped
from dedupstats.report.tables import Column, Table, terminal
from dedupstats.report.text import count, safe_text, short_paths, short_session

if TYPE_CHECKING:
    from dedupstats.analytics.compactions import Compactions
    from dedupstats.analytics.context import AllContexts, Curve, SessionContexts
    from dedupstats.report.context_chart import Signs

_PROSE: Final = 80
"""columns of prose, as of the chart, where there is no terminal to fit"""

_FIGURES: Final = 30
"""columns of a jump's figures, with the gaps"""

JUMPS: Final = (
    Column("request", "figure"),
    Column("growth", "figure", "grew by"),
    Column("prompt", "figure", "to"),
    Column("entered", "text", "tool results that entered"),
)


def printed(
    found: SessionContexts, signs: Signs, *, width: int | None, colour: bool, full_paths: bool
) -> str:
    """The curves for a terminal, one below the other; what holds for the whole session at the end."""
    prose = width or _PROSE
    blocks = []
    for curve in found.curves:
        title = safe_text(
            f"{words.session_title(found, full_paths=full_paths)}, {words.context_title(curve)}: "
            f"{words.size_line(curve)}"
        )
        title = wrapped(title, prose)
        blocks.append(f"\x1b[1m{title}\x1b[0m" if colour else title)
        chart = drawn(curve, width, signs)
        blocks.append("\n".join(chart))
        blocks.append(wrapped(safe_text(legend(curve, chart, width, signs, found.policy)), prose))
        jumps = words.jumps(curve, full_paths=full_paths, room=prose - _FIGURES)
        if jumps:
            table = Table("Largest jumps, in tokens:", JUMPS, jumps)
            blocks.append(terminal(table, width=width, colour=colour).rstrip("\n"))
        notes = map(safe_text, words.curve_notes(curve, found.policy))
        blocks.append("\n".join(wrapped(note, prose) for note in notes))
    whole = session_notes(found, full_paths=full_paths)
    blocks.append("\n".join(wrapped(safe_text(note), prose) for note in whole))
    return "\n\n".join(block for block in blocks if block) + "\n"


def session_notes(found: SessionContexts, *, full_paths: bool = False) -> list[str]:
    """What holds for the whole session."""
    notes = _compactions(found.compactions, found.policy, full_paths=full_paths)
    others = found.contexts - len(found.curves)
    if others > 0:
        notes.append(
            f"{count(len(found.curves))} of the session's {count(found.contexts)} contexts shown; the "
            "others: --all, or --context ID."
        )
    return notes


def flat_table(found: SessionContexts) -> Table:
    """One row a request."""
    columns = (
        Column("context_key", "raw"),
        Column("context"),
        Column("request", "raw"),
        Column("line", "raw"),
        Column("ts", "time"),
        Column("model"),
        Column("prompt_tokens", "float"),
        Column("is_measured", "bool"),
        Column("removed_tokens", "float"),
        Column("results", "int"),
        Column("result_tokens", "float"),
        Column("boundaries"),
    )
    return Table("", columns, [row for curve in found.curves for row in _rows(curve)])


def _rows(curve: Curve) -> list[tuple[Any, ...]]:
    before: dict[int, list[str]] = {}
    for mark in curve.marks:
        before.setdefault(mark.request, []).append(mark.kind)
    return [
        (
            curve.context_key,
            curve.native_id,
            point.request,
            point.line,
            point.ts,
            point.model,
            point.prompt_tokens,
            point.is_measured,
            point.removed_tokens,
            len(point.results),
            sum(result.tokens for result in point.results),
            " ".join(before.get(point.request, ())),
        )
        for point in curve.points
    ]


def document(found: SessionContexts) -> dict[str, Any]:
    """The members of the JSON document."""
    members = asdict(found)
    for curve, member in zip(found.curves, members["curves"], strict=True):
        member["largest_request"] = largest(curve.points).request
        member["notes"] = list(words.curve_notes(curve, found.policy))
    return members | {"notes": session_notes(found)}


# -- the whole store -----------------------------------------------------------------------------------------


def all_table(found: AllContexts, *, full_paths: bool) -> Table:
    """The sessions with the largest contexts, and the compactions of all of them."""
    names = {one.project: one.project or "" for one in found.largest}
    if not full_paths:
        short = short_paths(project for project in names if project)
        names = {project: short.get(project or "", "") for project in names}
    return Table(
        f"Sessions with the largest contexts: {count(len(found.largest))} of {count(found.sessions)}",
        (
            Column("session"),
            Column("project"),
            Column("requests", "int"),
            Column("prompt_tokens", "int", "largest prompt,\ntokens"),
            Column("compactions", "int", "compactions\nof any kind"),
        ),
        [
            (one.session, names[one.project], one.requests, one.prompt_tokens, one.compactions)
            for one in found.largest
        ],
        notes=tuple(all_notes(found, full_paths=full_paths)),
    )


def all_notes(found: AllContexts, *, full_paths: bool = False) -> list[str]:
    """Automatic compactions of the store."""
    return _compactions(found.compactions, found.policy, full_paths=full_paths)


def _compactions(found: Compactions, policy: str, *, full_paths: bool) -> list[str]:
    named = str if full_paths else short_session
    return list(compaction_words.notes(found, policy, named))


def all_document(found: AllContexts) -> dict[str, Any]:
    """The members of the JSON document of a whole store."""
    return asdict(found) | {"notes": all_notes(found)}
