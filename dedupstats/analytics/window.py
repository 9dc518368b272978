"""Which tool results a figure is about: a span of time, agents, projects, tools, models; and the time zone.

A window cuts emissions, not sessions: whether a result inside it is a repeat is still judged against the
whole history (fault cases T03, T04). Undated results are in no window that has a beginning or an end.
"""

from __future__ import annotations

import os
import re
import time
import zoneinfo
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dedupstats.errors import UsageError

if TYPE_CHECKING:
    from dedupstats.store import Store

_SPAN = re.compile(r"(\d{1,6})([hdw])", re.ASCII)
_HOURS = {"h": 1, "d": 24, "w": 24 * 7}
_FIXED = re.compile(r"UTC(?:([+-])(\d{1,2})(?::?(\d{2}))?)?", re.ASCII | re.IGNORECASE)
_LISTED = 12
"""How many known names an error lists: what fits on a line or two."""

_FORMS = "a date (2026-09-15), a date with time (2026-09-15T12:00) or a span back from now (7d, 12h, 4w)"


@dataclass(frozen=True, slots=True)
class Window:
    """What is counted; the empty window counts everything.

    Attributes:
        since: Results at this instant or later; aware.
        until: Results before this instant; aware.
        sources: Names of sources (`claude_code`).
        projects: Working directories, whole or their last part.
        tools: Names of tools.
        models: Ids of models.
        sessions: Ids of sessions, or how they begin.
        zone: Name of the time zone that days are days of; None: the local one.

    Example:
        >>> Window(since=datetime(2026, 9, 15, tzinfo=UTC), tools=("Read", "Bash")).where()
        ('ts >= ? and tool in (?, ?)', [datetime.datetime(2026, 9, 15, 0, 0), 'Read', 'Bash'])
        >>> Window().where()
        ('true', [])
    """

    since: datetime | None = None
    until: datetime | None = None
    sources: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    zone: str | None = None
    sessions: tuple[str, ...] = ()

    def where(self) -> tuple[str, list[Any]]:
        """A condition on the view `emission` (or any relation with its columns), and its parameters."""
        terms: list[str] = []
        parameters: list[Any] = []
        for operator, instant in ((">=", self.since), ("<", self.until)):
            if instant is not None:
                terms.append(f"ts {operator} ?")
                # the views' times are UTC without a zone
                parameters.append(instant.astimezone(UTC).replace(tzinfo=None))
        for column, values in (("source", self.sources), ("tool", self.tools), ("model", self.models)):
            if values:
                terms.append(f"{column} in ({_marks(values)})")
                parameters.extend(values)
        if self.projects:
            projects = tuple(map(fold_drive, self.projects))
            terms.append(f"(project in ({_marks(projects)}) or {_LAST_PART} in ({_marks(projects)}))")
            parameters.extend(projects * 2)
        if self.sessions:
            terms.append(f"({' or '.join(['starts_with(session_id, ?)'] * len(self.sessions))})")
            parameters.extend(self.sessions)
        return " and ".join(terms) or "true", parameters

    def counted(self) -> tuple[str, dict[str, Any]]:
        """A condition on the view `emission`, called `e` in a query with names of its own, and its `$names`.

        Example:
            >>> Window(tools=("Read",)).counted()
            ('e.emission_key in (select emission_key from emission where tool in ($p0))', {'p0': 'Read'})
        """
        where, values = self.where()
        if not values:
            return where, {}
        first, *rest = where.split("?")
        named = first + "".join(f"$p{number}{piece}" for number, piece in enumerate(rest))
        parameters = {f"p{number}": value for number, value in enumerate(values)}
        return f"e.emission_key in (select emission_key from emission where {named})", parameters

    def whole(self) -> Window:
        """The same window without beginning and end."""
        return replace(self, since=None, until=None)

    @property
    def is_everything(self) -> bool:
        """Whether nothing is left out: no filter, no beginning, no end."""
        return self.where()[0] == "true"


_LAST_PART = "split_part(rtrim(replace(project, '\\', '/'), '/'), '/', -1)"


def fold_drive(path: str) -> str:
    r"""A Windows path with its drive letter in lower case, as the views show projects; others as they are.

    Example:
        >>> fold_drive("D:/x"), fold_drive("d:\\x"), fold_drive("/D:/x")
        ('d:/x', 'd:\\x', '/D:/x')
    """
    return path[0].lower() + path[1:] if path[1:2] == ":" else path


def _marks(values: tuple[str, ...]) -> str:
    return ", ".join("?" * len(values))


# -- time zones ----------------------------------------------------------------------------------------------


def local_zone() -> str:
    """Name of the local time zone: `TZ`, else what /etc/localtime points at, else the present UTC offset.

    The offset (`UTC+02:00`) is the last resort because it knows no summer time.
    """
    wanted = os.environ.get("TZ", "").removeprefix(":")
    if wanted:
        named = _zone_of_file(Path(wanted)) if wanted.startswith("/") else wanted
        if named and _found(named):
            return named
    else:
        named = _zone_of_file(Path("/etc/localtime"))
        if named and _found(named):
            return named
    offset = time.localtime().tm_gmtoff
    return _offset_name(timedelta(seconds=offset))


def zone_info(name: str) -> tzinfo:
    """The time zone of a name: an IANA name, `UTC` or a fixed offset such as `UTC+02:00`.

    Raises:
        UsageError: There is no such zone; the hint has near names.
    """
    fixed = fixed_offset(name)
    if fixed is not None:
        return timezone(fixed)
    found = _found(name)
    if found is None:
        names = zoneinfo.available_timezones()
        last = name.strip().replace(" ", "_").lower()
        near = sorted(zone for zone in names if zone.lower().rpartition("/")[2] == last)
        from difflib import get_close_matches

        near = near or get_close_matches(name, names, n=3)
        hint = f"did you mean {' or '.join(near[:3])}?" if near else "e.g. Europe/Madrid, UTC or UTC+02:00"
        raise UsageError(f"unknown time zone {name!r}", hint)
    return found


def fixed_offset(name: str) -> timedelta | None:
    """Offset of `UTC`, `UTC+2`, `UTC-03:30`; None for the name of a zone with rules."""
    match = _FIXED.fullmatch(name.strip())
    if match is None:
        return None
    sign, hours, minutes = match.groups(default="0")
    offset = timedelta(hours=int(hours), minutes=int(minutes))
    if offset >= timedelta(days=1):
        return None
    return -offset if sign == "-" else offset


def _found(name: str) -> tzinfo | None:
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        return None


def _zone_of_file(path: Path) -> str | None:
    """`Europe/Madrid` for a link to /usr/share/zoneinfo/Europe/Madrid."""
    parts = path.resolve().as_posix().partition("/zoneinfo/")
    return parts[2] or None


def _offset_name(offset: timedelta) -> str:
    if not offset:
        return "UTC"
    minutes = round(abs(offset).total_seconds()) // 60
    return f"UTC{'-' if offset < timedelta(0) else '+'}{minutes // 60:02}:{minutes % 60:02}"


# -- times as people type them -------------------------------------------------------------------------------


def parse_since(text: str, zone: str, now: datetime) -> datetime:
    """The instant at which a window begins.

    Args:
        text: A date (from the first instant of that local day), a date with time (local unless it has an
            offset), or a span back from now (`7d`, `12h`, `4w`).
        zone: Name of the time zone of local dates.
        now: The present, aware.

    Raises:
        UsageError: It is none of these.

    Example:
        >>> parse_since("2026-09-15", "Asia/Seoul", datetime(2026, 10, 1, tzinfo=UTC)).isoformat()
        '2026-09-14T15:00:00+00:00'
    """
    day = _date(text)
    return day_start(day, zone) if day else _instant("--since", text, zone, now)


def parse_until(text: str, zone: str, now: datetime) -> datetime:
    """The instant before which a window ends; a date includes its whole day. See `parse_since`.

    Example:
        >>> parse_until("2026-07-04", "UTC", datetime(2026, 10, 1, tzinfo=UTC)).isoformat()
        '2026-07-05T00:00:00+00:00'
    """
    day = _date(text)
    if day == date.max:
        return datetime.max.replace(tzinfo=UTC)
    return day_start(day + timedelta(days=1), zone) if day else _instant("--until", text, zone, now)


def day_start(day: date, zone: str) -> datetime:
    """The first instant of a local day, in UTC, also where that day has no midnight (fault case T07)."""
    info = zone_info(zone)
    try:
        before = datetime(day.year, day.month, day.day, tzinfo=info)
        start = before.astimezone(UTC)
        if start.astimezone(info).replace(tzinfo=None) == before.replace(tzinfo=None):
            return start
    except OverflowError:
        return datetime(day.year, day.month, day.day, tzinfo=UTC)
    # midnight lies in a gap: the day begins when the clock jumps; find that second by halving
    new_offset = before.replace(fold=1).utcoffset()
    low, high = sorted((before.replace(fold=1).astimezone(UTC), start))
    while high - low > timedelta(seconds=1):
        middle = low + timedelta(seconds=(high - low).total_seconds() // 2)
        if middle.astimezone(info).utcoffset() == new_offset:
            high = middle
        else:
            low = middle
    return high


def _date(text: str) -> date | None:
    try:
        # only the form with dashes: 20260915 and 2026-W38 read like slips
        return date.fromisoformat(text) if re.fullmatch(r"\d{4}-\d\d-\d\d", text, re.ASCII) else None
    except ValueError:
        return None


def _instant(option: str, text: str, zone: str, now: datetime) -> datetime:
    span = _SPAN.fullmatch(text.strip())
    try:
        if span:
            return (now - timedelta(hours=int(span[1]) * _HOURS[span[2]])).astimezone(UTC)
        if not re.match(r"\d{4}-\d\d-\d\d[T ]\d", text, re.ASCII):
            raise UsageError(f"{option} {text!r} is no time", f"use {_FORMS}")
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=zone_info(zone))).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise UsageError(f"{option} {text!r} is no time", f"use {_FORMS}") from error


# -- names that exist ----------------------------------------------------------------------------------------


def check_names(store: Store, window: Window) -> None:
    """Refuse a window that names a source, project, tool or model that the store does not have.

    Raises:
        UsageError: With near names, or the list where it is short.
    """
    for column, option, wanted in (
        ("source", "agent", window.sources),
        ("project", "project", window.projects),
        ("tool", "tool", window.tools),
        ("model", "model", window.models),
    ):
        if not wanted:
            continue
        shown = f"{column}, {_LAST_PART}" if column == "project" else column
        found = store.query(f"select distinct {shown} from emission where {column} is not null order by all")
        known = list(dict.fromkeys(str(name) for row in found for name in row))
        for name in wanted:
            if (fold_drive(name) if column == "project" else name) not in known:
                raise UsageError(f"--{option} {name!r}: no tool result of that {option}", near(name, known))
    for name in window.sessions:
        if not store.query("select 1 from emission where starts_with(session_id, ?) limit 1", [name]):
            raise UsageError(
                f"--session {name!r}: no session with results whose id begins so",
                "type `dedupstats rates --by session` for the ids",
            )


def near(name: str, known: list[str]) -> str:
    """A hint for a name that is not known: those that look like it, else some that are."""
    from difflib import get_close_matches

    folded = {other.lower(): other for other in known}
    alike = [folded[match] for match in get_close_matches(name.lower(), folded, n=3)]
    if alike:
        # repr makes control characters of foreign names visible
        return f"did you mean {' or '.join(map(repr, alike))}?"
    if len(known) > _LISTED:
        return f"{len(known)} are known, among them {', '.join(map(repr, known[:_LISTED]))}"
    return f"known are {', '.join(map(repr, known))}" if known else "the store has none"
