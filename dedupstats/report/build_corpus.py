"""What was read: sources, dates, copies, contexts, and where every record went."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from dedupstats.analytics.faults import faults
from dedupstats.analytics.window import Window, zone_info
from dedupstats.report.blocks import plural
from dedupstats.report.model import (
    Accounting,
    ContextKind,
    Corpus,
    Counted,
    Records,
    SkippedRecord,
    Source,
)
from dedupstats.report.scope import title
from dedupstats.report.words import CONTEXTS, RETENTION

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dedupstats.report.names import Names
    from dedupstats.store import Store


# a context that was read from two folders is two contexts of the store with the same id of their own
_EMISSION = "(select * from emission join (select context_key, native_id from context) using (context_key))"
_SUBAGENTS = (
    "count(distinct (session_key, native_id)) filter (context_kind = 'agent' and not is_copy) as subagents"
)


def corpus(store: Store, window: Window, zone: str, tokens: int) -> Corpus:
    """What was read, within the window; the tokens of its results are told."""
    where, parameters = window.where()
    row = store.query(
        f"""select count(distinct session_key) filter (not is_copy), {_SUBAGENTS},
            count(distinct project) filter (not is_copy), count(*) filter (not is_copy),
            coalesce(sum(bytes) filter (not is_copy), 0),
            count(*) filter (is_copy), count(*) filter (is_gone and not is_copy)
        from {_EMISSION} where {where}""",
        parameters,
    )[0]
    sources = tuple(_sources(store, window, zone))
    met = faults(store)
    first = min((source.first for source in sources if source.first), default=None)
    last = max((source.last for source in sources if source.last), default=None)
    sessions, subagents, projects, results, size, copies, gone = map(int, row)
    return Corpus(
        sessions=sessions,
        subagents=subagents,
        projects=projects,
        results=results,
        bytes=size,
        tokens=tokens,
        copies=copies,
        gone=gone,
        skipped=met.records,
        unread=met.files,
        first=first,
        last=last,
        dates=span(first, last),
        sources=sources,
        contexts=tuple(_contexts(store, window)),
        boundaries=_boundaries(store, window),
        notes=tuple(_notes(store, sources, gone, window)),
    )


def span(first: str | None, last: str | None) -> str:
    """Two ISO dates as people write them.

    Example:
        >>> span("2026-10-31", "2026-11-29"), span("2026-11-29", "2026-11-29"), span(None, None)
        ('31 Oct to 29 Nov 2026', '29 Nov 2026', '')
    """
    if first is None or last is None:
        return ""
    begin, end = _day(first), _day(last)
    if begin == end:
        return end
    return f"{begin.removesuffix(end[-5:])} to {end}"


def _day(iso: str) -> str:
    # not strftime: its month names follow the locale
    months = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
    year, month, day = iso.split("-")
    return f"{int(day)} {months[int(month) - 1]} {year}"


def day(at: datetime | None, zone: str) -> str | None:
    """The local day of a time of the store (UTC without a zone) as ISO text."""
    return at.replace(tzinfo=UTC).astimezone(zone_info(zone)).date().isoformat() if at else None


def sessions(
    store: Store, wanted: Sequence[str], names: Names, zone: str
) -> dict[str, tuple[str, str | None]]:
    """Project and first day of sessions, by session id."""
    rows = store.query(
        """select session_id, min(project), min(started_at) from session
        where list_contains(?, session_id) group by session_id""",
        [list(wanted)],
    )
    return {session: (names.project(project), day(at, zone)) for session, project, at in rows}


def _sources(store: Store, window: Window, zone: str) -> Iterator[Source]:
    where, parameters = window.where()
    rows = store.query(
        f"""select source, count(distinct unit_key), count(distinct session_key) filter (not is_copy),
            {_SUBAGENTS}, count(*) filter (not is_copy),
            coalesce(sum(bytes) filter (not is_copy), 0), count(*) filter (is_copy),
            min(ts) filter (not is_copy), max(ts) filter (not is_copy)
        from {_EMISSION} where {where} group by source order by source""",
        parameters,
    )
    for source, *numbers, first, last in rows:
        units, found, subagents, results, size, copies = map(int, numbers)
        yield Source(
            name=source,
            words=title(source),
            units=units,
            sessions=found,
            subagents=subagents,
            results=results,
            bytes=size,
            copies=copies,
            commands=0,
            first=day(first, zone),
            last=day(last, zone),
            versions=_versions(store, window, source),
        )
    yield from _rtk_source(store, window, zone)


def _rtk_source(store: Store, window: Window, zone: str) -> Iterator[Source]:
    asked = rtk_window(window)
    if asked is None:
        return
    where, parameters = asked.where()
    units, commands, first, last = store.query(
        f"select count(distinct unit_key), count(*), min(ts), max(ts) from rtk_command where {where}",
        parameters,
    )[0]
    if commands:
        yield Source(
            "rtk", title("rtk"), units, 0, 0, 0, 0, 0, commands, day(first, zone), day(last, zone), {}
        )


def rtk_window(window: Window) -> Window | None:
    """The window as far as RTK's rows know it; None: it asks for what they have not, or for other sources."""
    if window.tools or window.models or window.sessions or (window.sources and "rtk" not in window.sources):
        return None
    return Window(since=window.since, until=window.until, projects=window.projects, zone=window.zone)


def _versions(store: Store, window: Window, source: str) -> dict[str, int]:
    where, parameters = window.where()
    rows = store.query(
        f"""select version, count(*) from emission
        where {where} and source = ? and not is_copy and version is not null group by version""",
        [*parameters, source],
    )
    return dict(sorted(rows, key=lambda row: (_natural(row[0]), row[0])))


def _natural(version: str) -> tuple[int, ...]:
    """Orders 2.0.9 before 2.0.14."""
    return tuple(int(part) for part in re.findall(r"[0-9]{1,18}", version))


def _contexts(store: Store, window: Window) -> Iterator[ContextKind]:
    where, parameters = window.where()
    # a side request has no results of its own: without a window it counts all the same
    join = "left join" if where == "true" else "join"
    rows = store.query(
        f"""select c.kind, count(distinct (c.session_key, c.native_id)),
            count(distinct (c.session_key, c.native_id)) filter (not e.is_copy),
            count(e.emission_key) filter (not e.is_copy), count(e.emission_key) filter (e.is_copy)
        from context c {join} (select * from emission where {where}) e using (context_key)
        group by c.kind""",
        parameters,
    )
    found = {kind: numbers for kind, *numbers in rows}
    for kind, words in CONTEXTS.items():
        if kind in found:
            yield ContextKind(kind, words, *map(int, found[kind]))


def _boundaries(store: Store, window: Window) -> dict[str, int]:
    where, parameters = window.where()
    among = (
        "" if where == "true" else f"where context_key in (select context_key from emission where {where})"
    )
    return dict(
        store.query(
            # a log that was read from two folders has each boundary twice
            "select kind, count(distinct (session_key, at_ordinal, line, ts)) "
            f"from boundary {among} group by kind order by kind",
            parameters,
        )
    )


def _notes(store: Store, sources: Sequence[Source], gone: int, window: Window) -> Iterator[str]:
    read = {source.name for source in sources}
    kept = [words for name, words in RETENTION.items() if name in read]
    if kept:
        yield f"{' and '.join(kept)}; the store keeps the figures."
        yield "Older sessions may have been removed before they were read."
    if gone:
        yield f"{plural(gone, 'result')} of logs that have vanished since they were read; the figures stay."
    if window.is_everything:
        without = store.query(
            "select count(*) from session where session_key not in "
            "(select session_key from emission where not is_copy)"
        )[0][0]
        if without:
            yield f"{plural(without, 'further session')} without any tool result of their own."
    else:
        yield "Whether a result in this scope is a repeat is judged against the whole history."
    if rtk_window(window) is None and store.query("select count(*) from rtk_command")[0][0]:
        yield "RTK's rows are left out: they know no tool and no model, or were not asked for."


def accounting(store: Store, names: Names) -> Accounting:
    """What became of the records of all files."""
    records = tuple(
        Records(source, title(source), *map(int, numbers))
        for source, *numbers in store.query(
            """select source, count(*), coalesce(sum(records), 0), coalesce(sum(used), 0),
                coalesce(sum(copies), 0), coalesce(sum(ignored), 0), coalesce(sum(skipped), 0),
                count(*) filter (unfinished)
            from file where source is not null group by source order by source"""
        )
    )
    unknown = store.query("select count(*) from file where source is null and size > 0")[0][0]
    ignored = store.query("select source, type, sum(records) from ignored group by all order by 3 desc, 1, 2")
    reasons = store.query(
        "select source, reason, sum(records) from skipped group by all order by 3 desc, 1, 2"
    )
    skipped = store.query("select coalesce(source, 'unknown'), path, line, reason from skipped order by all")
    return Accounting(
        records=records,
        ignored=tuple(Counted(source, what, int(number)) for source, what, number in ignored),
        reasons=tuple(Counted(source, names.reason(what), int(number)) for source, what, number in reasons),
        skipped=tuple(
            SkippedRecord(source, names.path(path), line or None, names.reason(reason))
            for source, path, line, reason in skipped
        ),
        notes=tuple(_accounting_notes(records, unknown)),
    )


def _accounting_notes(records: Sequence[Records], unknown: int) -> Iterator[str]:
    if unknown:
        yield f"{plural(unknown, 'file')} not recognised as a log."
    for row in records:
        rest = row.records - row.used - row.copies - row.ignored - row.skipped
        if rest:
            yield f"{rest:,} records of {row.words} are in none of these parts."
