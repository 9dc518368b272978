"""What engines that already run have done, as a table for people and a flat one for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dedupstats.analytics.observed import WITHIN
from dedupstats.report import money, text
from dedupstats.report.scope import filters, in_words, title
from dedupstats.report.tables import Column, Table

if TYPE_CHECKING:
    from dedupstats.analytics.observed import Again, Markers, Observed

_FEW = 10
"""markers below which a share says nothing that its interval does not"""


_MEANING = (
    "A marker is a result that the host showed in place of a text. Read again: the same target within "
    f"{WITHIN} requests, before an edit of it and while the marker was visible; 95 % interval "
    "(Clopper-Pearson)."
)


def people_table(found: Observed) -> Table:
    """One line a source: markers, whether they were true, and whether the model fetched again."""
    words = in_words(filters(found.window, found.window.zone or "UTC", found.window.projects))
    return Table(
        title=f"Markers of engines that already run{f' ({words})' if words else ''}",
        columns=(
            Column("source"),
            Column("markers", "int"),
            Column("true", "int", "text still\nvisible"),
            Column("gone", "int", "text\ngone"),
            Column("unknown", "int", "text not\nin the log"),
            Column("saved_tokens", "figure", "tokens\nsaved"),
            Column("saved", "figure", "list price\nsaved"),
            Column("after_marker", "figure", "read again\nafter a marker"),
            Column("after_repeat", "figure", "read again\nafter a full repeat"),
        ),
        rows=[
            (
                title(one.source),
                one.markers,
                one.sound,
                one.gone,
                one.unknown,
                money.tokens(one.saved_tokens),
                money.usd(one.saved_usd) if one.markers else "",
                again_words(one.after_marker),
                again_words(one.after_repeat),
            )
            for one in found.engines
        ],
        notes=tuple(notes(found)),
    )


def notes(found: Observed) -> list[str]:
    """What a reader must know beside the figures."""
    said = [_MEANING]
    said += [sentence for one in found.engines if (sentence := _expected(one))]
    rtk = found.rtk
    if rtk.commands:
        said.append(
            f"RTK: {text.part_of(rtk.recoveries, rtk.commands)} commands asked for full output (rtk proxy); "
            f"{text.count(rtk.met_again)} times one of {text.count(rtk.outputs)} recorded outputs came again."
        )
    if not any(one.markers for one in found.engines):
        said.append("No marker is in these logs.")
    said.append(f"{money.BASIS}: {found.basis or 'no prices yet'}.")
    return said


def again_words(again: Again) -> str:
    """How often the same was read again, with its interval; a share only of enough of them."""
    if not again.of:
        return "none"
    bounds = f"[{100 * again.low:.1f}, {100 * again.high:.1f}]"
    share = f"{text.percent(again.share)} " if again.of >= _FEW else ""
    return f"{text.count(again.found)} of {text.count(again.of)} {share}{bounds}"


def _expected(one: Markers) -> str:
    if one.break_even is None or not one.markers:
        return ""
    costs = ", ".join(
        f"{money.usd(amount)} if {float(share):.0%} are fetched again".replace("%", " %")
        for share, amount in one.expected_usd.items()
    )
    even = "never pays" if one.break_even <= 0 else f"breaks even at {text.percent(one.break_even)}"
    return f"{title(one.source)}: expected saving {costs}; {even}. Markers that backfire are charged in full."


def flat_table(found: Observed) -> Table:
    """One row a source with every figure."""
    columns = [
        Column("source"),
        *(Column(name, "int") for name in ("markers", "sound", "gone", "unknown")),
        *(Column(name, "float") for name in ("tokens", "saved_tokens", "saved_usd", "trip_usd")),
    ]
    for name in ("after_marker", "after_repeat"):
        columns += [Column(f"{name}_{part}", "int") for part in ("found", "of", "sessions")]
        columns += [Column(f"{name}_{part}", "percent") for part in ("low", "high")]
    columns.append(Column("break_even", "percent"))
    return Table(
        title="Markers of engines that already run",
        columns=tuple(columns),
        rows=[_flat(one) for one in found.engines],
    )


def _flat(one: Markers) -> tuple[Any, ...]:
    def parts(again: Again) -> tuple[Any, ...]:
        return again.found, again.of, again.sessions, again.low, again.high

    return (
        one.source,
        one.markers,
        one.sound,
        one.gone,
        one.unknown,
        one.tokens,
        one.saved_tokens,
        one.saved_usd,
        one.trip_usd,
        *parts(one.after_marker),
        *parts(one.after_repeat),
        one.break_even,
    )
