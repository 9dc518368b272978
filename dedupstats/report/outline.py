"""What the report says, in which order: the same sections for every renderer.

Figures are those of the Report; here they only become text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dedupstats.report import (
    money,
    outline_economics,
    outline_policies,
    outline_records,
    outline_replay,
    outline_rtk,
)
from dedupstats.report.blocks import Column, Section, Table, columns, names, of, of_pct, pct, plural
from dedupstats.report.text import NO_DATA, count, percent, size

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dedupstats.report.model import Concentration, Distribution, Report, Tool, Worth

NESTED_RULES = ("call-session", "repeat-session", "repeat-in-sight")
"""the rules that are shown where there is room for three; each contains the next"""
LABELS = {
    "call-session": "same call *",
    "repeat-session": "same call, same bytes",
    "repeat-in-sight": "still visible",
}
"""headings of their columns; a star marks an upper bound"""
STAR = "* Upper bound."
NESTED_NOTE = (
    "Same call (rule `call-session`): it was made before in the session, whatever came back. Same call, same "
    "bytes (`repeat-session`): it had also brought the same bytes, in the session. Still visible "
    "(`repeat-in-sight`): the same, and a full copy is still visible to the model."
)
LINES_NOTE = "The lines on logs are the rules `call-session`, `repeat-session` and `repeat-in-sight`."
LAST_LINE = "Only the last line can be left out without pointing at text the model lacks."
_LATEST_PERIODS = 14


def outline(report: Report) -> tuple[Section, ...]:
    """The sections of the report, in order; those about nothing are left out."""
    sections = [outline_economics.spend(report.economics)] if report.economics else []
    sections += [_shown_before(report), *outline_replay.sections(report)]
    sections += [*outline_economics.details(report.economics), _read(report)]
    sections += outline_policies.sections(report)
    if report.corpus.results:
        sections += [_tools(report), *_calls(report), _rules(report), _sessions(report), _over_time(report)]
        sections += [_classes(report), _contexts(report)]
    if report.rtk:
        sections += outline_rtk.sections(report.rtk, is_cut=bool(report.scope.filters))
    sections += [outline_records.section(report), _limits(report), _reproduce(report)]
    return tuple(sections)


def read_line(report: Report, seconds: float | None = None) -> str:
    """What was read, in one sentence; and how long that took, where it has just been done."""
    corpus = report.corpus
    parts = []
    if corpus.results:
        agents = f" with {plural(corpus.subagents, 'subagent')}" if corpus.subagents else ""
        parts.append(f"{plural(corpus.sessions, 'session')}{agents}")
        parts.append(f"{plural(corpus.results, 'tool result')} ({size(corpus.bytes)})")
    if report.rtk:
        parts.append(plural(report.rtk.commands, "RTK command"))
    if not parts:
        return "No tool results and no RTK commands."
    if corpus.dates:
        parts.append(corpus.dates)
    if seconds is not None:
        parts.append(f"in {seconds:.1f} s")
    return ", ".join(parts) + "."


def counted_line(report: Report) -> str:
    """What was not counted, or not twice."""
    corpus = report.corpus
    copies = f"{plural(corpus.copies, 'copy', 'copies')} counted once" if corpus.copies else "No copies"
    skipped = plural(corpus.skipped, "record") if corpus.skipped else "no records"
    unread = f", {plural(corpus.unread, 'file')} not readable" if corpus.unread else ""
    where = f"{unread} in the whole store" if report.scope.filters else unread
    if not corpus.results and not corpus.copies:
        return f"{skipped[0].upper()}{skipped[1:]} skipped{where}."
    return f"{copies}, {skipped} skipped{where}."


def shown_before(report: Report) -> Table:
    """The table that the report is about: from RTK's own measure down to what can be left out."""
    rows = outline_rtk.measures(report.rtk) if report.rtk else []
    if report.corpus.results:
        found = {rule.name: rule.repeats for rule in report.rules}
        words = {
            "call-session": "Logs: same call, whatever came back *",
            "repeat-session": "Logs: same call, same bytes, in the session",
            "repeat-in-sight": "Logs: the same, and still visible to the model",
        }
        rows += [(words[name], of(found[name].results), pct(found[name].tokens)) for name in words]
    return Table(
        f"Repeats, and their share of all tokens shown. Tokens are {report.token_rule}. {STAR}",
        columns("", "repeats", "tokens"),
        tuple(rows),
        is_last_strong=report.corpus.results > 0,
    )


def _read(report: Report) -> Section:
    corpus = report.corpus
    rows = [
        (
            source.words,
            count(source.units),
            count(source.sessions) if source.sessions else "",
            plural(source.commands, "command") if source.commands else count(source.results),
            size(source.bytes) if source.results else "",
            source.first or "",
            source.last or "",
        )
        for source in corpus.sources
    ]
    return Section(
        "read",
        "What was read",
        tables=(
            Table(
                "By kind of log. `logs`: session files with their companions, or databases, with anything in "
                "scope.",
                columns("source", "logs", "sessions", "results", "bytes", "from", "to"),
                tuple(rows),
            ),
        ),
        terms=(*report.scope.filters, *_versions(report)),
        notes=corpus.notes,
    )


def _versions(report: Report) -> Iterator[tuple[str, str]]:
    for source in report.corpus.sources:
        found = list(source.versions)
        if found:
            shown = found[0] if len(found) == 1 else f"{found[0]} to {found[-1]} ({len(found)} versions)"
            yield f"versions of {source.words}", shown


def _shown_before(report: Report) -> Section:
    table = shown_before(report)
    if not table.rows:
        return Section("shown-before", "How much had been shown before?", lead=("No data.",))
    return Section(
        "shown-before",
        "How much had been shown before?",
        tables=(table,),
        notes=(LAST_LINE, LINES_NOTE) if report.corpus.results else (),
    )


def _tools(report: Report) -> Section:
    tools = report.tools
    rows = [_tool_row(tool) for tool in tools.rows[: tools.shown]]
    if tools.others:
        rows.append(_tool_row(tools.others))
    return Section(
        "tools",
        "Per tool",
        tables=(
            Table(
                "Most bytes first. `of all`: of the bytes of all tools; the last three: repeated bytes, of "
                f"the tool's own. {STAR}",
                columns("tool", "results", "bytes", "of all", *LABELS.values()),
                tuple(rows),
            ),
        ),
        notes=(NESTED_NOTE,),
    )


def _tool_row(tool: Tool) -> tuple[str, ...]:
    shares = (pct(tool.repeats[rule].bytes) for rule in NESTED_RULES)
    return (tool.name, count(tool.results), size(tool.bytes.part), pct(tool.bytes), *shares)


def _calls(report: Report) -> Iterator[Section]:
    if not report.calls:
        return
    rows = tuple(
        (
            found.target,
            found.tool,
            count(found.times),
            size(found.bytes.part),
            pct(found.bytes),
            size(found.visible.part),
        )
        for found in report.calls
    )
    yield Section(
        "calls",
        "The calls repeated most",
        tables=(
            Table(
                "Same call, same bytes (`repeat-session`), by what was read, run or searched. `of repeated`: "
                "of all such bytes; `still visible`: those of them that the model could still see.",
                (
                    names("called on"),
                    names("tool"),
                    Column("times repeated"),
                    Column("bytes repeated"),
                    Column("of repeated"),
                    Column("still visible"),
                ),
                rows,
            ),
        ),
        notes=("All of them, with their sizes: `dedupstats rates --by target`.",),
    )


def _rules(report: Report) -> Section:
    rows = [
        (
            rule.name,
            "yes" if rule.is_upper_bound else "no",
            count(rule.repeats.results.part),
            pct(rule.repeats.results),
            size(rule.repeats.bytes.part),
            pct(rule.repeats.bytes),
            pct(rule.floor.bytes),
            count(rule.sessions.part),
        )
        for rule in report.rules
    ]
    corpus = report.corpus
    floored = f"from {report.floor_bytes} B"
    return Section(
        "rules",
        "All eight repeat rules",
        tables=(
            Table(
                f"Of {plural(corpus.results, 'result')}, {size(corpus.bytes)}, "
                f"{plural(corpus.sessions, 'session')}. `{floored}`: repeated bytes among results of at "
                "least that size, of the bytes of those. `sessions`: with any.",
                columns(
                    "rule", "upper bound", "results", "of results", "bytes", "of bytes", floored, "sessions"
                ),
                tuple(rows),
            ),
            *([] if report.worth.sent is None else [_worths(report)]),
        ),
        terms=tuple((rule.name, f"{rule.words} ({rule.kind})") for rule in report.rules),
        notes=(*report.cost_notes, *_known(report)),
        folded=True,
    )


def _worths(report: Report) -> Table:
    """The repeats in four units."""
    rows = [(rule.name, *_in_units(rule.worth)) for rule in report.rules]
    return Table(
        "In four units; what repeats cost to carry is not what leaving them out saves: a marker costs too.",
        columns("rule", *money.UNITS.values()),
        (*rows, ("all results", *_in_units(report.worth))),
        is_last_strong=True,
    )


def _in_units(worth: Worth) -> tuple[str, ...]:
    sent = NO_DATA if worth.sent is None else money.tokens(worth.sent)
    of_input = money.usd(None) if worth.usd is None else percent(worth.share)
    return (money.tokens(worth.tokens), sent, money.usd(worth.usd), of_input)


def _known(report: Report) -> Iterator[str]:
    yield f"Tokens of all results: {report.worth.known_by}."
    if report.tokens == "ladder":
        for rule in report.rules:
            if rule.repeats.results.part:
                yield f"Tokens of `{rule.name}`: {rule.worth.known_by}."


def _sessions(report: Report) -> Section:
    spread = Table(
        "Share of repeated bytes of each session that has bytes, sessions without any repeat included. "
        f"Quantiles are linear. {STAR}",
        columns("rule", "with any", "median", "p90", "max"),
        tuple(_spread_row(spread) for spread in report.sessions),
    )
    found = report.concentration
    tables = [spread]
    lead: tuple[str, ...] = ("No repeats: nothing is concentrated anywhere.",)
    if found.top:
        lead = tuple(_concentrated(found))
        tables.append(
            Table(
                f"{_label(found.rule)}: the sessions with most repeated bytes. `of repeated`: of the "
                "repeated bytes of all sessions; `of its own`: of the session's bytes.",
                (
                    names("session"),
                    names("project"),
                    names("begun"),
                    Column("repeated"),
                    Column("of repeated"),
                    Column("of its own"),
                ),
                tuple(
                    (
                        top.name,
                        top.project,
                        top.started or "undated",
                        size(top.of_repeats.part),
                        pct(top.of_repeats),
                        pct(top.repeats),
                    )
                    for top in found.top
                ),
            )
        )
    return Section("sessions", "Over sessions", lead=lead, tables=tuple(tables))


def _concentrated(found: Concentration) -> Iterator[str]:
    held = ", ".join(
        f"the top {'session holds' if k == '1' else f'{k} hold'} {pct(share)}"
        for k, share in found.cumulated.items()
    )
    yield f"{_label(found.rule)}: {size(found.repeat_bytes)} repeated. Of these, {held}."
    if found.without_top:
        yield f"Without the top session, the share of repeated bytes is {pct(found.without_top)}."
    yield (
        f"The top one of the {plural(found.calls, 'call')} that came back alike holds {pct(found.top_call)} "
        "of the repeated bytes."
    )


def _spread_row(spread: Distribution) -> tuple[str, ...]:
    quantiles = (percent(value) for value in (spread.median, spread.p90, spread.max))
    return (_label(spread.rule), of_pct(spread.with_any), *quantiles)


def _label(rule: str) -> str:
    return LABELS.get(rule, rule).capitalize()


def _over_time(report: Report) -> Section:
    found = report.over_time
    rows = tuple(
        (
            period.label + (" (part)" if period.is_partial else ""),
            count(period.results),
            size(period.bytes),
            *(pct(period.repeats[rule].bytes) for rule in NESTED_RULES),
        )
        for period in found.periods
    )
    undated = f"{plural(found.undated, 'result')} without a time: in no {found.unit}."
    return Section(
        "over-time",
        "Over time",
        tables=(
            Table(
                f"Per {found.unit}, time zone {found.tz}. The last three: repeated bytes, of the "
                f"{found.unit}'s bytes. {STAR}",
                columns(found.unit, "results", "bytes", *LABELS.values()),
                rows,
                latest=_LATEST_PERIODS,
            ),
        ),
        notes=(undated,) if found.undated else (),
    )


def _classes(report: Report) -> Section:
    corpus = report.corpus
    return Section(
        "classes",
        "What the results were",
        tables=(
            Table(
                f"Of {plural(corpus.results, 'result')}, {size(corpus.bytes)}.",
                columns("class", "results", "of results", "bytes", "of bytes"),
                tuple(
                    (
                        found.name,
                        count(found.results.part),
                        pct(found.results),
                        size(found.bytes.part),
                        pct(found.bytes),
                    )
                    for found in report.classes
                ),
            ),
        ),
        terms=tuple((found.name, found.words) for found in report.classes),
        folded=True,
    )


def _contexts(report: Report) -> Section:
    corpus = report.corpus
    rows = tuple(
        (
            found.words,
            count(found.contexts),
            count(found.with_results),
            count(found.results),
            count(found.copies),
        )
        for found in corpus.contexts
    )
    ends = tuple((kind.replace("_", "-"), count(number)) for kind, number in corpus.boundaries.items())
    tables = [
        Table(
            "What the model was sent, by kind of context. `with results`: with any that is no copy.",
            columns("context", "all", "with results", "results", "copies"),
            rows,
        )
    ]
    if ends:
        tables.append(Table("Where results left the model's sight.", columns("by", "number"), ends))
    return Section(
        "contexts",
        "Copies and contexts",
        tables=tuple(tables),
        notes=(
            (
                "A copy is a result that a resume, fork, branch or compaction wrote again: it is in sight "
                "there, counts once, and is never a repeat."
            ),
            (
                f"The {plural(corpus.subagents, 'subagent')} of the first lines are those with results. "
                "A session may have no main thread with results (its log is missing, or its subagents alone "
                "have any), or several (a fork)."
            ),
        ),
        folded=True,
    )


def _limits(report: Report) -> Section:
    return Section("limits", "What this does not say", notes=report.limits)


def _reproduce(report: Report) -> Section:
    found = report.reproduce
    return Section(
        "reproduce",
        "How to reproduce",
        commands=(found.command,),
        terms=(
            ("version", f"dedupstats {found.version}, store format {found.store_format}"),
            ("seeds", found.seeds),
            ("tokens", report.token_rule),
            ("time zone", report.scope.tz),
            ("names", report.scope.names),
        ),
        folded=True,
    )
