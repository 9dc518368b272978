"""What was asked for, in words: the filters of a window, which every headline and heading repeats."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dedupstats.analytics.window import zone_info
from dedupstats.report.words import SOURCES

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from dedupstats.analytics.window import Window

Filters = tuple[tuple[str, str], ...]


def filters(window: Window, zone: str, projects: Iterable[str]) -> Filters:
    """What a window asks for, as pairs of what and value; projects by the names given."""
    times = [
        (what, minute(at, zone))
        for what, at in (("from", window.since), ("before", window.until))
        if at is not None
    ]
    asked = [
        (what, value)
        for what, values in (
            ("agent", tuple(map(title, window.sources))),
            ("project", tuple(projects)),
            ("session", window.sessions),
            ("tool", window.tools),
            ("model", window.models),
        )
        for value in values
    ]
    return (*times, *asked)


def in_words(found: Iterable[tuple[str, str]]) -> str:
    """Filters in one phrase; nothing without any.

    Example:
        >>> in_words([("from", "2026-09-15 00:00 (UTC)"), ("tool", "Read"), ("tool", "Bash")])
        'from 2026-09-15 00:00 (UTC), tool Read or Bash'
    """
    values: dict[str, list[str]] = {}
    for what, value in found:
        values.setdefault(what, []).append(value)
    return ", ".join(f"{what} {' or '.join(of)}" for what, of in values.items())


def title(source: str) -> str:
    """How people call a source."""
    if source in SOURCES:
        return SOURCES[source]
    from dedupstats.sources import all_sources

    return next((found.title for found in all_sources() if found.name == source), source)


def minute(at: datetime, zone: str) -> str:
    """An aware time as local text."""
    return f"{at.astimezone(zone_info(zone)):%Y-%m-%d %H:%M} ({zone})"


def period(first: datetime | None, last: datetime | None, zone: str) -> str:
    """First and last day of what was counted, with the time zone; both are aware."""
    if first is None or last is None:
        return "no dates"
    one, two = (moment.astimezone(zone_info(zone)).date().isoformat() for moment in (first, last))
    return f"{one} to {two} ({zone})" if one != two else f"{one} ({zone})"
