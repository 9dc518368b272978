"""The section on RTK's own rows: upper bounds in words, what thresholds leave, and filtering beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dedupstats.report.blocks import Column, Section, Table, columns, names, of, of_pct, pct, plural
from dedupstats.report.text import count

if TYPE_CHECKING:
    from dedupstats.report.model import Rtk, RtkBound

_MEASURE, _TIGHTER = "M", "B4"
_BESIDE = ("M2", "M-reads", "B4d")
"""what is no step of the ladder: it asks for something else, or of some commands alone"""
_HEADINGS = columns("a repeat is ...", "commands", "share", "tokens", "share")


def measures(rtk: Rtk) -> list[tuple[str, ...]]:
    """RTK's published measure and a tighter bound, as two rows of the first table."""
    bounds = {bound.name: bound for bound in rtk.bounds}
    measure, tighter = bounds[_MEASURE], bounds[_TIGHTER]
    return [
        (f"RTK's own measure: {measure.words} *", of(measure.commands), pct(measure.tokens)),
        (f"  {tighter.words} *", of(tighter.commands), pct(tighter.tokens)),
    ]


def sections(rtk: Rtk, *, is_cut: bool) -> tuple[Section, Section]:
    """The bounds with filtering beside them; and, as a detail, what thresholds leave of them.

    `is_cut` says that the report is not on the whole store, as some counts are.
    """
    return (
        Section(
            "rtk",
            "RTK's own rows: upper bounds",
            lead=tuple(_lead(rtk)),
            tables=(_ladder(rtk), _beside(rtk)),
            notes=(*_apart(rtk), *_filtering(rtk), *_elided(rtk, is_cut=is_cut), *rtk.notes),
        ),
        Section(
            "rtk-thresholds",
            "RTK: what thresholds leave, and the largest claims",
            tables=(_thresholds(rtk), _gaps(rtk), *_claims(rtk)),
            folded=True,
        ),
    )


def _lead(rtk: Rtk) -> list[str]:
    lines = [
        (
            f"{plural(rtk.commands, 'command')}, {count(rtk.distinct)} distinct. RTK records neither the "
            "output nor the session: a repeat is the same command line, whatever came back."
        )
    ]
    if rtk.mean_repeat_tokens is not None:
        lines.append(
            f"A repeat shows {rtk.mean_repeat_tokens:,.0f} tokens on average; RTK's dedup, which "
            "shows one line instead of an output that it has shown before, looks only at outputs of "
            f"{rtk.min_tokens} tokens or more (its default)."
        )
    return lines


def _ladder(rtk: Rtk) -> Table:
    return Table(
        "Upper bounds, from loose to tight; each line adds a condition. Shares: of all commands, and of the "
        "tokens that they showed.",
        _HEADINGS,
        tuple(_bound(bound) for bound in rtk.bounds if bound.name not in _BESIDE),
    )


def _beside(rtk: Rtk) -> Table:
    return Table(
        "Beside them, upper bounds too. Shares: of the commands that the line is about, and of the tokens "
        "that these showed.",
        _HEADINGS,
        tuple(_bound(bound) for bound in rtk.bounds if bound.name in _BESIDE),
    )


def _bound(bound: RtkBound) -> tuple[str, ...]:
    tokens = count(bound.tokens.part), pct(bound.tokens)
    return (bound.words, of(bound.commands), pct(bound.commands), *tokens)


def _apart(rtk: Rtk) -> list[str]:
    runs = plural(rtk.recoveries, "run")
    return [
        (
            f"Counted apart: {runs} of `rtk proxy` or `rtk bypass`, which ask for the whole output; they are "
            f"in all figures above. {count(rtk.zero_output)} of the commands showed nothing."
        )
    ]


def _thresholds(rtk: Rtk) -> Table:
    return Table(
        "What a threshold on the shown tokens leaves (upper bounds; shares of the tokens of all commands). "
        f"`near`: same sizes and folder, within {rtk.gap_hours:g} hours.",
        columns("tokens at least", "repeats", "tokens", "near repeats", "near tokens"),
        tuple(
            (
                count(point.min_tokens),
                count(point.commands.part),
                pct(point.tokens),
                count(point.near_commands.part),
                pct(point.near_tokens),
            )
            for point in rtk.thresholds
        ),
    )


def _gaps(rtk: Rtk) -> Table:
    return Table(
        "What a limit on the time since the latest alike leaves: same command line, sizes and folder (upper "
        f"bounds; shares of the tokens of all commands). `large`: of {rtk.min_tokens} tokens or more.",
        columns("within", "repeats", "tokens", "large repeats", "large tokens"),
        tuple(
            (
                "any time" if point.hours is None else f"{point.hours:g} h",
                count(point.commands.part),
                pct(point.tokens),
                count(point.large_commands.part),
                pct(point.large_tokens),
            )
            for point in rtk.gaps
        ),
    )


def _claims(rtk: Rtk) -> list[Table]:
    if not rtk.filtering.top:
        return []
    return [
        Table(
            "Filtering: the largest claims to have saved, in tokens before filtering.",
            (names("command"), Column("as stored"), Column("capped")),
            tuple((claim.name, count(claim.saved), count(claim.capped)) for claim in rtk.filtering.top),
        )
    ]


def _filtering(rtk: Rtk) -> list[str]:
    found = rtk.filtering
    return [
        (
            f"Filtering, by RTK's own count, saved {of_pct(found.saved)} tokens before filtering; with "
            f"each command capped at what a host shows at most, {of_pct(found.capped)}. It stands beside the "
            "bounds and is never added to them: it counts tokens before filtering, a bound is a share of "
            "what was left after. A pipe of the agent's own (`| head`) cannot be told from RTK's filter."
        ),
    ]


def _elided(rtk: Rtk, *, is_cut: bool) -> list[str]:
    lines = []
    where = "In the whole store: " if is_cut else ""
    if rtk.elided:
        lines.append(
            f"{where}RTK's dedup has really left out {plural(rtk.elided.tokens, 'token')} in "
            f"{plural(rtk.elided.elided, 'repeat')} of {plural(rtk.elided.outputs, 'output')}, as far as its "
            "own record of shown outputs still tells; the line that it shows instead is not deducted."
        )
    if rtk.hook_decisions:
        answers = ", ".join(f"{name} {count(number)}" for name, number in rtk.hook_decisions.items())
        lines.append(f"{where}RTK's hook, which is asked before each command, answered: {answers}.")
    return lines
