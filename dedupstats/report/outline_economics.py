"""What the report says about tokens and money: where they go, what was dearest, how tokens are known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dedupstats.economics.fit import LEAST_SESSIONS, LEAST_STEPS, Basis
from dedupstats.economics.prompt import Kind
from dedupstats.economics.tokens import Level
from dedupstats.report import money, observed_tables, outline_compactions
from dedupstats.report.blocks import Column, Section, Table, columns, names, plural
from dedupstats.report.scope import title as source_title
from dedupstats.report.spend_tables import floorless
from dedupstats.report.text import count, percent, safe_text

if TYPE_CHECKING:
    from dedupstats.analytics.calibration import Calibration, Fit, ToolFit
    from dedupstats.report.model_economics import (
        Dearest,
        Economics,
        LevelMix,
        ObservedMarkers,
        Part,
        Spending,
    )

TITLE = "Where my tokens go"
CALIBRATION = "How well tokens are known"
_TOOLS_SHOWN = 2
_LEAST_SHARE = 0.01
_TOOL_CHARS = 16
_HEADS = ("tokens sent", "list price", "share", "after a pause")


def spend(found: Economics) -> Section:
    """The first block: the input of all requests, by what stood in their prompts."""
    spending = found.spend
    if spending is None:
        return Section("spend", TITLE, lead=(found.refused or "No data.",))
    observed = found.observed
    markers = (observed.sentence,) if observed and observed.sentence else ()
    parts = Table(
        f"Input of {count(spending.requests)} requests, by what stood in their prompts. `share`: of the "
        f"{spending.share_of} of all input; `after a pause`: what of it was paid again because the cache had "
        "expired.",
        columns("part", *_HEADS),
        (*map(_row, spending.parts), _row(spending.input)),
        is_last_strong=True,
    )
    shown = (*spending.tools[: spending.shown], *([spending.other_tools] if spending.other_tools else []))
    tools = Table(
        f"Of it, tool results by tool. `share`: of the {spending.share_of} of all input.",
        columns("tool", *_HEADS),
        tuple(map(_row, shown)),
    )
    return Section(
        "spend",
        TITLE,
        tables=(parts, *([tools] if spending.tools else [])),
        notes=(*markers, *spending.notes),
    )


def _row(part: Part) -> tuple[str, ...]:
    again = money.usd(part.again_usd) if part.again_usd else ""
    return (part.words, money.tokens(part.tokens), money.usd(part.usd), percent(part.share), again)


def first_lines(spending: Spending) -> list[tuple[str, str, str, str]]:
    """The block for one screen: what, how much, its share of all input, a word on it; the first is all."""
    is_priced = spending.input.usd is not None
    answers = money.usd(spending.output_usd) if is_priced else money.tokens(spending.output_tokens)
    head = "INPUT COST at list prices" if is_priced else "INPUT TOKENS sent (no price known)"
    rows = [(head, _amount(spending.input, is_priced=is_priced), "share", f"output beside it: {answers}")]
    for part in spending.blocks:
        words, said = _block(part, spending)
        rows.append((f"  {words}", _amount(part, is_priced=is_priced), percent(part.share), said))
    if spending.again_share and spending.expired:
        again = plural(spending.expired, "expired cache")
        share = percent(spending.again_share)
        rows.append(
            ("  of all this, written after a pause", money.usd(spending.input.again_usd), share, again)
        )
    return rows


def _amount(part: Part, *, is_priced: bool) -> str:
    return money.usd(part.usd) if is_priced else money.tokens(part.tokens)


def _block(part: Part, spending: Spending) -> tuple[str, str]:
    """The label of a line of the first screen, and what is said beside it."""
    if part.name == Kind.RESULT:
        sent = spending.results.requests
        label = part.words if sent is None else f"{part.words}, each sent {sent:.0f} times"
        shown = (tool for tool in spending.tools[:_TOOLS_SHOWN] if (tool.share or 0.0) >= _LEAST_SHARE)
        return label, ", ".join(
            f"{safe_text(tool.name)[:_TOOL_CHARS]} {percent(tool.share)}" for tool in shown
        )
    if part.name == Kind.FLOOR and spending.floor_tokens is not None:
        return part.words, f"median {spending.floor_tokens:,.0f} tokens"
    return part.words, ""


def first_notes(found: Economics) -> list[str]:
    """What must be known of the figures of the first screen."""
    spending = found.spend
    if spending is None:
        return []
    counted = f"{count(spending.unpriced)} of {plural(spending.requests, 'request')}"
    said = f"{counted} have no price and are in no dollar. " if spending.unpriced else ""
    if spending.floorless:
        said += f"{floorless(spending.floorless)}. "
    notes = [f"{said}{money.BASIS}: {found.basis}."]
    if spending.results.known.levels:
        notes.append(f"Tokens of results: {spending.results.known.brief}.")
    if found.observed and found.observed.sentence:
        notes.append(found.observed.sentence)
    return notes


def details(found: Economics | None) -> tuple[Section, ...]:
    """The dearest results, markers in the logs, and how tokens are known: each where there is any."""
    if found is None or found.spend is None:
        return ()
    made = []
    if found.dearest and found.dearest.rows:
        made.append(_dearest(found.dearest))
    if found.observed and found.observed.sentence:
        made.append(_observed(found.observed))
    made += outline_compactions.section(found.compactions)
    if found.spend.results.known.levels:
        made.append(_calibration(found.spend, found.calibration))
    return tuple(made)


def _dearest(found: Dearest) -> Section:
    rows = tuple(
        (
            row.target,
            row.tool,
            money.tokens(row.tokens),
            count(row.requests),
            money.usd(row.usd),
            percent(row.share),
            row.superseded or "",
        )
        for row in found.rows
    )
    return Section(
        "dearest",
        "The results that cost most to carry",
        tables=(
            Table(
                f"The dearest {len(rows)}. `tokens`: of the result, once; `sent`: requests that carried it; "
                "`of input`: of the list price of all input.",
                (
                    names("called on"),
                    names("tool"),
                    Column("tokens"),
                    Column("sent"),
                    Column("list price"),
                    Column("of input"),
                    Column("came again"),
                ),
                rows,
            ),
        ),
        notes=(*found.notes, "More of them, with their targets whole: `dedupstats top --limit 50`."),
    )


def _observed(found: ObservedMarkers) -> Section:
    met = observed_tables.verdicts(found.engines)
    rows = tuple(
        (
            source_title(one.source),
            count(one.markers),
            *(count(getattr(one, name)) for name in met),
            money.tokens(one.saved_tokens) if one.markers else "",
            money.usd(one.saved_usd) if one.markers else "",
        )
        for one in found.engines
    )
    again = tuple(
        (
            source_title(one.source),
            observed_tables.again_words(one.after_marker),
            observed_tables.again_words(one.after_repeat),
        )
        for one in found.engines
    )
    return Section(
        "observed",
        "Markers of engines that already run",
        tables=(
            Table(
                "Markers in the logs, and whether they were true. `saved`: tokens of the text that the sound "
                "ones stand for, less the marker's, once; and what carrying them would have cost.",
                columns("engine", "markers", *met, "tokens saved", "list price saved"),
                rows,
            ),
            Table(
                "How often the model read the same again: after a marker, and after an identical result "
                "shown in full.",
                columns("engine", "after a marker", "after a full repeat"),
                again,
            ),
        ),
        notes=(*found.notes, "One by one: `dedupstats explain --stubs`."),
    )


def _calibration(spending: Spending, found: Calibration | None) -> Section:
    mix = Table(
        "How the tokens of tool results are known. `share`: of their tokens, each result once; the errors "
        "are those met on public logs.",
        columns("tokens are", "tokens", "share", "median error", "p90 error"),
        tuple(
            (
                level.words,
                money.tokens(level.tokens),
                percent(level.share),
                *_errors(level),
            )
            for level in spending.results.known.levels
        ),
    )
    if found is None or not found.fits:
        notes: tuple[str, ...] = ("No result of these logs is measured alone: estimates have no check.",)
        return Section("calibration", CALIBRATION, tables=(mix,), notes=notes, folded=True)
    met = {Basis(one.basis) for one in found.fits}
    return Section(
        "calibration",
        CALIBRATION,
        tables=(mix, *_constants(found.fits), *([_by_tool(found.tools)] if found.tools else [])),
        terms=tuple((words, meaning) for basis, (words, meaning) in _BASES.items() if basis in met),
        notes=(*_FIT_NOTES, *uncounted_notes(found.uncounted)),
        folded=True,
    )


def _constants(fits: tuple[Fit, ...]) -> tuple[Table, Table]:
    """By which constants each family is estimated; and how well these do on what they have not seen."""
    named = [(f"{one.family}, {source_title(one.source)}", one) for one in fits]
    used = Table(
        "By which constants results are estimated, by model family and source, in the whole store. `steps`: "
        "results that it measured one by one.",
        (names("family"), names("constants"), Column("steps"), Column("sessions")),
        tuple(
            (name, _BASES[Basis(one.basis)][0], count(one.steps), count(one.sessions)) for name, one in named
        ),
    )
    errors = Table(
        "How far these err on steps of 400 bytes or more, median and p90. `published`: constants from public "
        "logs; `fitted`: constants fitted here, where that was tried, on sessions that they have not seen; "
        "`bytes/4`: its median with its sign, negative: low.",
        columns("family", "published", "p90", "fitted", "fitted p90", "bytes/4"),
        tuple(
            (
                name,
                percent(one.sheet_median_error),
                percent(one.sheet_p90_error),
                "" if one.refit_median_error is None else percent(one.refit_median_error),
                "" if one.refit_p90_error is None else percent(one.refit_p90_error),
                percent(one.bytes4_bias),
            )
            for name, one in named
        ),
    )
    return used, errors


def _by_tool(tools: tuple[ToolFit, ...]) -> Table:
    shown = tools[:_FITS_SHOWN]
    more = f", the {_FITS_SHOWN} with most" if len(tools) > _FITS_SHOWN else ""
    return Table(
        f"Measured results of 400 bytes or more by model and tool{more}. `error`: of the constants in use.",
        columns("model: tool", "steps", "sessions", "bytes per token", "error", "p90 error", "bytes/4"),
        tuple(
            (
                f"{one.model or 'not told'}: {one.tool}",
                count(one.steps),
                count(one.sessions),
                f"{one.bytes_per_token:.2f}",
                percent(one.median_error),
                percent(one.p90_error),
                percent(one.bytes4_bias),
            )
            for one in shown
        ),
    )


_FITS_SHOWN = 12


def uncounted_notes(uncounted: int) -> tuple[str, ...]:
    """How to have results counted that the model's own tokenizer has not counted."""
    if not uncounted:
        return ()
    note = (
        f"{plural(uncounted, 'result')} of GPT models not counted by their own tokenizer, which was not "
        "installed when they were read: `pip install 'dedupstats[tokens]'`, then `dedupstats import --force`."
    )
    return (note,)


def _errors(level: LevelMix) -> tuple[str, str]:
    if level.level == Level.UNKNOWN:
        # always one way, with the model: no error around a middle
        return f"{100 * level.median_error:.0f} to {100 * level.p90_error:.0f} % low", ""
    if not level.p90_error:
        return "none", "none"
    return percent(level.median_error), percent(level.p90_error)


_BASES = {
    Basis.FITTED: (
        "fitted here",
        "fitted on the steps of this store; its errors are on sessions that had no part in it",
    ),
    Basis.FEW: (
        "published: too few",
        f"from public logs: there are under {LEAST_STEPS} steps in {LEAST_SESSIONS} sessions to fit them on",
    ),
    Basis.NO_BETTER: (
        "published: fit no better",
        "from public logs: a fit on this store errs no less on sessions that it has not seen",
    ),
    Basis.FOREIGN: (
        "published: foreign counts",
        "from public logs: the counts are not this family's (a gateway's, made up); none is fitted to them",
    ),
    Basis.NO_RULE: (
        "none",
        "no constants by character: GPT-5 by its own tokenizer or by bytes, other models by bytes / 4",
    ),
}
"""names of the constants in use, and why these"""

_FIT_NOTES = (
    'Constants: `dedupstats sql "from calibration_fit"`.',
    'By model and tool: `dedupstats sql "from calibration order by results desc"`.',
)
