"""Builds the Report from the store: asks the analytics for figures and adds the words that go with them."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import TYPE_CHECKING

from dedupstats._version import __version__
from dedupstats.analytics import rates as rates_
from dedupstats.analytics.rates import DEFAULT_RULES, RULES
from dedupstats.analytics.tallies import FLOOR_BYTES
from dedupstats.analytics.units import TOKEN_RULES
from dedupstats.analytics.window import Window, local_zone
from dedupstats.history.pricing import is_priced, price_list
from dedupstats.report import build_corpus, build_rtk, money, rate_tables
from dedupstats.report.blocks import pct, plural
from dedupstats.report.build_calls import calls
from dedupstats.report.build_economics import economics
from dedupstats.report.build_replay import replay
from dedupstats.report.model import (
    SCHEMA_VERSION,
    Concentration,
    Distribution,
    OverTime,
    Period,
    Repeats,
    Report,
    Reproduce,
    ResultClass,
    Rule,
    Scope,
    Tool,
    Tools,
    TopSession,
    Worth,
)
from dedupstats.report.names import Names
from dedupstats.report.scope import filters, in_words
from dedupstats.report.share import share_of
from dedupstats.report.text import count, percent
from dedupstats.report.words import CLASSES, KINDS, LIMITS, REPEATABLE
from dedupstats.store.store import MIGRATIONS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dedupstats.analytics.rates import By, Rates, Row
    from dedupstats.analytics.tallies import Tally
    from dedupstats.analytics.units import TokenRule
    from dedupstats.report.model import Rtk
    from dedupstats.report.share import Share
    from dedupstats.store import Store

TOOLS_SHOWN = 12
TOP_SESSIONS = 5
_DAYS_BY_DAY = 31
_DAYS_BY_WEEK = 400
_ALL_RULES = tuple(rule.name for rule in RULES)
_VISIBLE = "repeat-in-sight"


def build(
    store: Store,
    *,
    window: Window | None = None,
    anonymize: bool = False,
    full_paths: bool = False,
    tokens: TokenRule = "ladder",
) -> Report:
    """Build the report.

    Args:
        store: An open store; reading is enough.
        window: What to report on; by default everything, days in the local time zone.
        anonymize: Show numbers instead of the names of projects, paths and sessions.
        full_paths: Show projects and paths whole instead of by their last part.
        tokens: How tokens of repeats are counted: measured or estimated by the `ladder`, or `bytes4`, as RTK
            counts.

    Raises:
        UsageError: The window names something that the store does not have.

    Example:
        >>> from dedupstats.store import open_store
        >>> with open_store(":memory:") as store:
        ...     build(store).headline
        'No tool results: no data.'
    """
    window = window or Window()
    zone = window.zone or local_zone()
    names = Names.of(store, anonymize=anonymize, full_paths=full_paths, projects=window.projects)
    by_tool = _rates(store, window, "tool", tokens)
    by_session = _rates(store, window, "session", tokens)
    # what holds copies alone is no session of this history
    by_session = replace(by_session, rows=tuple(row for row in by_session.rows if row.results.results))
    rtk = build_rtk.rtk(store, window, names)
    worth = _Worths.of_rates(store, by_tool)
    scope = _scope(window, zone, names)
    asked = in_words(scope.filters)
    return Report(
        schema_version=SCHEMA_VERSION,
        headline=_headline(by_tool, rtk, asked),
        scope=scope,
        economics=economics(store, window, names, zone),
        corpus=build_corpus.corpus(store, window, zone, round(by_tool.total.results.tokens)),
        floor_bytes=FLOOR_BYTES,
        tokens=tokens,
        token_rule=_token_rule(by_tool, rtk),
        worth=worth.of(by_tool.total.results),
        cost_notes=worth.notes,
        rules=tuple(_rule(name, by_tool.total, by_session, worth) for name in _ALL_RULES),
        replay=replay(store, window, names, rtk, asked, tokens=tokens),
        tools=_tools(by_tool),
        calls=calls(store, window, names, by_tool.total.rules["repeat-session"].bytes),
        sessions=tuple(_distribution(name, by_session) for name in DEFAULT_RULES),
        concentration=_concentration(store, by_tool, by_session, names),
        over_time=_over_time(store, window, by_tool, zone),
        classes=_classes(by_tool.total),
        rtk=rtk,
        accounting=build_corpus.accounting(store, names),
        limits=LIMITS,
        reproduce=_reproduce(window, zone, names, tokens),
    )


def _rates(store: Store, window: Window, by: By, tokens: TokenRule) -> Rates:
    return rates_.rates(store, by=by, window=window, all_rules=True, tokens=tokens)


class _Worths:
    """Results in four units, as the rates know them."""

    def __init__(self, found: Rates, refused: str | None) -> None:
        self._found = found
        self._has_cost = not (refused or rate_tables.is_without_cost(found))
        self.notes = (refused,) if refused else tuple(rate_tables.cost_notes(found))

    @classmethod
    def of_rates(cls, store: Store, found: Rates) -> _Worths:
        """Those of these rates; without cost where it is of another price list, or not asked for."""
        if found.tokens == "bytes4":
            return cls(found, "Bytes / 4 are not what requests were charged for: no cost.")
        if found.input.requests and not is_priced(store, price_list()):
            return cls(
                found, "Figures of cost are of another price list: `dedupstats import` makes them anew."
            )
        return cls(found, None)

    def of(self, tally: Tally) -> Worth:
        """A tally."""
        worth = tally.worth
        is_known = self._has_cost
        return Worth(
            tokens=worth.tokens,
            sent=worth.known_sent if is_known else None,
            usd=worth.paid if is_known else None,
            share=self._found.input.share(worth) if is_known else None,
            known_by=money.BYTES4 if self._found.tokens == "bytes4" else money.known_by(worth.by_level),
        )


def _token_rule(found: Rates, rtk: Rtk | None) -> str:
    """How tokens are known, briefly."""
    levels = found.total.results.worth.by_level
    if found.tokens == "bytes4":
        return money.BYTES4
    said = money.known_briefly(levels) if levels else TOKEN_RULES["ladder"]
    return f"{said}; RTK's own rows: {TOKEN_RULES['bytes4']}" if rtk else said


def _headline(found: Rates, rtk: Rtk | None, scope: str) -> str:
    """The one sentence that is quoted alone: with its scope."""
    said = _said(found.total, rtk)
    return f"In this scope ({scope}): {said[0].lower()}{said[1:]}" if scope else said


def _said(total: Row, rtk: Rtk | None) -> str:
    if not total.results.results:
        if rtk is None:
            return "No tool results: no data."
        measure = rtk.bounds[0]
        return (
            f"Of {plural(rtk.commands, 'RTK command')}, {pct(measure.commands)} repeat a command line, with "
            f"{pct(measure.tokens)} of the tokens shown: an upper bound, whatever came back."
        )
    if not total.results.bytes:
        return f"No bytes were shown in {count(total.results.results)} tool results: no data on repeats."
    repeats = total.rules[_VISIBLE]
    share = percent(rates_.share(repeats.bytes, total.results.bytes))
    counted = f"{count(repeats.results)} of {count(total.results.results)} results"
    return f"{share} of tool-result bytes were repeats still visible to the model ({counted})."


def _repeats(part: Tally, whole: Tally) -> Repeats:
    return Repeats(
        share_of(part.results, whole.results),
        share_of(part.bytes, whole.bytes),
        share_of(round(part.tokens), round(whole.tokens)),
    )


def _all_repeats(row: Row, rules: Sequence[str]) -> dict[str, Repeats]:
    return {name: _repeats(row.rules[name], row.results) for name in rules}


def _rule(name: str, total: Row, by_session: Rates, worth: _Worths) -> Rule:
    rule = next(rule for rule in RULES if rule.name == name)
    with_any = sum(row.rules[name].results > 0 for row in by_session.rows)
    return Rule(
        name=name,
        words=rule.meaning,
        kind=KINDS[name],
        is_upper_bound=rule.kind == "upper bound",
        repeats=_repeats(total.rules[name], total.results),
        floor=_repeats(total.rules_floor[name], total.floor),
        sessions=share_of(with_any, len(by_session.rows)),
        worth=worth.of(total.rules[name]),
    )


def _tools(found: Rates) -> Tools:
    whole = found.total.results.bytes

    def tool(row: Row) -> Tool:
        return Tool(
            row.group,
            share_of(row.results.bytes, whole),
            row.results.results,
            round(row.results.tokens),
            _all_repeats(row, found.rules),
        )

    rest = found.rows[TOOLS_SHOWN:]
    others = plural(len(rest), "other tool")
    return Tools(
        tuple(map(tool, found.rows)),
        TOOLS_SHOWN,
        tool(rates_.summed(rest, others)) if rest else None,
    )


def _distribution(name: str, by_session: Rates) -> Distribution:
    found = by_session.sessions[name]
    return Distribution(
        rule=name,
        sessions=found.n,
        with_any=share_of(found.with_any, found.n),
        median=found.median,
        p90=found.p90,
        max=found.max,
        values=tuple(
            sorted(row.rules[name].bytes / row.results.bytes for row in by_session.rows if row.results.bytes)
        ),
    )


def _concentration(store: Store, found: Rates, by_session: Rates, names: Names) -> Concentration:
    # the strictest rule that has any repeat; without repeats there is nothing to concentrate
    rule = next((name for name in reversed(DEFAULT_RULES) if found.total.rules[name].bytes), _VISIBLE)
    total = found.total.rules[rule].bytes
    heaviest = sorted(
        (row for row in by_session.rows if row.rules[rule].bytes),
        key=lambda row: (-row.rules[rule].bytes, row.group),
    )
    about = build_corpus.sessions(store, [row.group for row in heaviest[:TOP_SESSIONS]], names, found.zone)
    calls = found.by_call[rule]
    return Concentration(
        rule=rule,
        repeat_bytes=total,
        top=tuple(
            TopSession(
                names.session(row.group),
                *about[row.group],
                share_of(row.rules[rule].bytes, total),
                share_of(row.rules[rule].bytes, row.results.bytes),
            )
            for row in heaviest[:TOP_SESSIONS]
        ),
        cumulated={
            str(k): share_of(sum(row.rules[rule].bytes for row in heaviest[:k]), total)
            for k in (1, 3, TOP_SESSIONS)
            if k <= len(heaviest)
        },
        without_top=_without(heaviest[0], rule, found.total) if heaviest else None,
        calls=calls.groups,
        # bytes, as nothing else was asked for
        top_call=share_of(int(calls.top1), total),
        top_call_tool=calls.name,
    )


def _without(top: Row, rule: str, total: Row) -> Share:
    return share_of(total.rules[rule].bytes - top.rules[rule].bytes, total.results.bytes - top.results.bytes)


def _over_time(store: Store, window: Window, found: Rates, zone: str) -> OverTime:
    days = (found.last - found.first).days if found.first and found.last else 0
    unit: By = "day" if days <= _DAYS_BY_DAY else "week" if days <= _DAYS_BY_WEEK else "month"
    by_period = _rates(store, window, unit, found.tokens)
    return OverTime(
        unit=unit,
        tz=zone,
        periods=tuple(
            Period(
                row.group,
                row.begins.isoformat(),
                row.partial,
                row.results.results,
                row.results.bytes,
                _all_repeats(row, DEFAULT_RULES),
            )
            for row in by_period.rows
            if row.begins is not None
        ),
        undated=by_period.undated,
    )


def _classes(total: Row) -> tuple[ResultClass, ...]:
    found = {name: tally for name, tally in total.by_class.items() if tally.results}
    if total.errors.results:
        found["errors"] = total.errors
    return tuple(
        ResultClass(
            name,
            CLASSES[name],
            name in REPEATABLE,
            share_of(found[name].results, total.results.results),
            share_of(found[name].bytes, total.results.bytes),
        )
        for name in CLASSES
        if name in found
    )


def _scope(window: Window, zone: str, names: Names) -> Scope:
    return Scope(
        since=window.since.isoformat() if window.since else None,
        until=window.until.isoformat() if window.until else None,
        tz=zone,
        filters=filters(window, zone, names.filters(window.projects)),
        names=names.mode,
    )


def _reproduce(window: Window, zone: str, names: Names, tokens: TokenRule) -> Reproduce:
    words = ["dedupstats report", f"--tz {zone}"]
    if tokens != "ladder":
        words.append(f"--tokens {tokens}")
    for option, at in (("--since", window.since), ("--until", window.until)):
        if at is not None:
            words.append(f"{option} {at.isoformat()}")
    for option, values in (
        ("--agent", window.sources),
        ("--project", names.filters(window.projects)),
        ("--tool", window.tools),
        ("--model", window.models),
    ):
        words += [f"{option} {shlex.quote(value)}" for value in values]
    words += names.options
    return Reproduce(" ".join(words), __version__, MIGRATIONS(), "none: nothing is drawn by lot")
