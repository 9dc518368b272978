"""How the report shows names that could give away what a person works on: shortened, whole or numbered."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from dedupstats.analytics.window import Window
from dedupstats.report.text import short_path, short_paths, short_session
from dedupstats.sources.rtk import public_name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dedupstats.store import Store

_SESSION, _UNREAD = "session ", " cannot be read"
"""how reasons name a session"""
_QUOTED = re.compile(r"'[^']{2,}'|\"[^\"]{2,}\"")
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")

_BY_TIME = """
    select project from (
        select project, started_at as ts from session where project is not null
        union all select project, ts from rtk_command where project <> ''
    ) where {} group by project order by min(ts) nulls last, project
"""
"""projects in order of their first time"""
_NUMBERED = "numbered"


@dataclass(frozen=True, slots=True)
class Names:
    """Shows names of projects, files and sessions in one of three ways.

    A numbered name says nothing but which ones are the same within one report: a hash would give the name
    away to whoever can guess it.

    Attributes:
        mode: The way in words, as the report states it.
        options: What to type for it.
        short: Shortened names of the known projects; empty unless names are shortened.
        asked: Projects that each name of a filter means, to be numbered.
        numbers: Stand-ins given so far, by kind and name.
    """

    mode: str
    options: tuple[str, ...]
    short: dict[str, str] = field(default_factory=dict)
    asked: dict[str, list[str]] = field(default_factory=dict)
    numbers: dict[str, dict[str, str]] = field(default_factory=dict)

    @classmethod
    def of(cls, store: Store, *, anonymize: bool, full_paths: bool, projects: tuple[str, ...] = ()) -> Self:
        """The way that the options ask for; to number goes before to show whole.

        Args:
            store: An open store. Its projects and sessions are numbered in order of their first time.
            anonymize: Number names.
            full_paths: Show names whole.
            projects: Projects that the report is cut to, as they were typed.
        """
        if anonymize:
            made = cls(_NUMBERED, ("--anonymize",))
            for name in projects:
                where, parameters = Window(projects=(name,)).where()
                made.asked[name] = _column(store.query(_BY_TIME.format(where), parameters))
            known = _column(store.query(_BY_TIME.format("true")))
            sessions = store.query(
                "select session_id from session group by session_id "
                "order by min(started_at) nulls last, session_id"
            )
            for kind, names in (("project", known), ("session", _column(sessions))):
                made.numbers[kind] = {name: f"{kind}-{number}" for number, name in enumerate(names, 1)}
            return made
        if full_paths:
            return cls("whole paths", ("--full-paths",))
        shown = store.query("select distinct project from session where project is not null order by all")
        return cls("last part of paths", (), short_paths(_column(shown)))

    def project(self, project: str | None) -> str:
        """The name of a project; projects with the same last part keep as much as tells them apart."""
        if not project:
            return "unknown"
        if self.mode == _NUMBERED:
            return self._numbered("project", project)
        return project if self.options else self.short.get(project) or short_path(project)

    def filters(self, projects: Iterable[str]) -> tuple[str, ...]:
        """The names of projects that were asked for, typed whole or by their last part."""
        found = (name for asked in projects for name in self.asked.get(asked) or [asked])
        return tuple(dict.fromkeys(map(self.project, found)))

    def path(self, path: str) -> str:
        """The name of a file."""
        if self.mode == _NUMBERED:
            return self._numbered("file", path)
        return path if self.options else short_path(path)

    def reason(self, reason: str) -> str:
        """A reason for skipping, which may name a session and quote what stands in the log."""
        if self.mode != _NUMBERED:
            return reason
        if reason.startswith(_SESSION):
            rest = reason.removeprefix(_SESSION)
            known = max(filter(rest.startswith, self.numbers.get("session", ())), key=len, default="")
            # of one that is not known nothing tells where its id ends: at the last place that it can
            end = max(rest.rfind(": "), rest.rfind(_UNREAD))
            found = known or (rest[:end] if end > 0 else rest)
            reason = f"{_SESSION}{self._numbered('session', found)}{rest[len(found) :]}"
        reason = _UUID.sub(lambda match: self._numbered("session", match[0]), reason)
        return _QUOTED.sub("'…'", reason)

    def session(self, session: str) -> str:
        """The name of a session: the start of its id, which is enough to find it."""
        if self.mode == _NUMBERED:
            return self._numbered("session", session)
        return short_session(session)

    def rtk(self, name: str) -> str:
        """The name of one of RTK's commands; what is no word of RTK's own may be a path."""
        return name if self.mode != _NUMBERED and self.options else public_name(name)

    def _numbered(self, kind: str, name: str) -> str:
        """The stand-in of a name, the next number for a new one."""
        given = self.numbers.setdefault(kind, {})
        return given.setdefault(name, f"{kind}-{len(given) + 1}")


def _column(rows: list[tuple[str]]) -> list[str]:
    return [value for (value,) in rows]
