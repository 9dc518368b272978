"""What engines that already run have done, as a table for people and a flat one for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dedupstats.analytics.observed import WITHIN
from dedupstats.report import money, text
from dedupstats.report.blocks import plural
from dedupstats.report.scope import filters, in_words, title
from dedupstats.report.tables import Column, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dedupstats.analytics.observed import Again, Markers, Observed

_FEW = 10
"""markers below which a share says nothing that its interval does not"""
_PER_SESSION = 2
"""results of a session above which they are not taken as independent without a word (7.5)"""

VERDICTS = {
    "sound": ("text visible", "the text was still visible"),
    "attachment": ("attached", "it was, but in an attachment alone, and the marker names a result"),
    "false": ("visible text too old", "what was visible was older: the model had written the file since"),
    "dangling": ("text not visible", "the text was not visible to the model"),
    "unknown": ("text not in the log", "no earlier result of the call is in the log of its context"),
}
"""verdicts of markers, the same as in `dedupstats explain --stubs`: in brief, and what they mean"""
_AGAIN = (
    f"Read again: the same target within {WITHIN} requests, before an edit of it and while the marker was "
    "visible; 95 % interval (Clopper-Pearson)."
)


def people_table(found: Observed) -> Table:
    """One line an engine: markers, whether they were true, and whether the model fetched again."""
    words = in_words(filters(found.window, found.window.zone or "UTC", found.window.projects))
    met = verdicts(found.engines)
    return Table(
        title=f"Markers of engines that already run{f' ({words})' if words else ''}",
        columns=(
            Column("engine"),
            Column("markers", "int"),
            *(Column(name, "int") for name in met),
            Column("saved_tokens", "figure", "tokens\nsaved"),
            Column("saved", "figure", "list price\nsaved"),
            Column("after_marker", "figure", "read again\nafter a marker"),
            Column("after_repeat", "figure", "read again\nafter a full repeat"),
        ),
        rows=[
            (
                title(one.source),
                one.markers,
                *(getattr(one, name) for name in met),
                money.tokens(one.saved_tokens) if one.markers else "",
                money.usd(one.saved_usd) if one.markers else "",
                again_words(one.after_marker),
                again_words(one.after_repeat),
            )
            for one in found.engines
        ],
        notes=tuple(notes(found)),
    )


def verdicts(engines: Sequence[Markers]) -> list[str]:
    """The verdicts that have a column: `sound`, and every other one that was met."""
    return [name for name in VERDICTS if name == "sound" or any(getattr(one, name) for one in engines)]


def notes(found: Observed) -> list[str]:
    """What a reader must know beside the figures."""
    said = []
    if any(one.markers for one in found.engines):
        met = "; ".join(f"{name}: {VERDICTS[name][1]}" for name in verdicts(found.engines))
        said.append(f"A marker is a result that was shown in place of a text. {met[:1].upper()}{met[1:]}.")
        said.append(
            "Saved: by the sound ones, the text less the marker; of the others nothing counts as saved."
        )
        if found.saved_by_level:
            said.append(f"Tokens of these texts: {money.known_by(found.saved_by_level)}.")
    else:
        where = "is in these logs" if found.window.is_everything else "lies in this window"
        said.append(f"No marker {where}.")
    if found.engines:
        said.append(_AGAIN)
    said += [sentence for one in found.engines if (sentence := _difference(one))]
    said += [sentence for one in found.engines if (sentence := _expected(one))]
    rtk = found.rtk
    if rtk.commands:
        whole = "" if found.window.is_everything else ", all of it"
        said.append(
            f"RTK's own history{whole}: {text.part_of(rtk.recoveries, rtk.commands)} commands asked for "
            f"full output (rtk proxy); {plural(rtk.met_again, 'time')} one of {text.count(rtk.outputs)} "
            "recorded outputs came again."
        )
    said.append(f"{money.BASIS}: {found.basis or 'no prices yet'}.")
    return said


def again_words(again: Again) -> str:
    """How often the same was read again, with its interval; a share only of enough of them."""
    if not again.of:
        return "none"
    bounds = f"[{100 * again.low:.1f}, {100 * again.high:.1f}]"
    share = f"{text.percent(again.share)} " if again.of >= _FEW else ""
    return f"{text.count(again.found)} of {text.count(again.of)} {share}{bounds}"


def _difference(one: Markers) -> str:
    """Whether markers backfire: q less that of the control, and what its parts rest on (7.5, 7.6)."""
    marker, repeat = one.after_marker, one.after_repeat
    if marker.share is None:
        return ""
    sessions = f"markers of {plural(marker.sessions, 'session')}"
    if repeat.share is None:
        said = f"{title(one.source)}: no identical full repeat to compare with"
    else:
        sessions += f", repeats of {text.count(repeat.sessions)}"
        points = 100 * (marker.share - repeat.share)
        apart = "apart" if marker.low > repeat.high or marker.high < repeat.low else "overlap"
        clear = (
            "the intervals are apart" if apart == "apart" else "the intervals overlap: no difference shown"
        )
        said = (
            f"{title(one.source)}: read again {text.percent(marker.share)} after a marker, "
            f"{text.percent(repeat.share)} after a full repeat, {points:+.1f} points; {clear}"
        )
    crowded = any(again.of > _PER_SESSION * again.sessions for again in (marker, repeat))
    narrow = ", of which some have many: intervals may be too narrow" if crowded else ""
    return f"{said}. Results taken as independent ({sessions}{narrow})."


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
    """One row an engine with every figure."""
    columns = [
        Column("source"),
        *(Column(name, "int") for name in ("markers", *VERDICTS)),
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
        *(getattr(one, name) for name in VERDICTS),
        one.tokens,
        one.saved_tokens,
        one.saved_usd,
        one.trip_usd,
        *parts(one.after_marker),
        *parts(one.after_repeat),
        one.break_even,
    )
