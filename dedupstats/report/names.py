"""How the report shows names that could give away what a person works on: shortened, whole or hashed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from dedupstats.report.text import anonymised, short_path, short_paths

if TYPE_CHECKING:
    from dedupstats.store import Store

_ID_CHARS = 8
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


@dataclass(frozen=True, slots=True)
class Names:
    """Shows names of projects, files and sessions in one of three ways.

    Attributes:
        mode: The way in words, as the report states it.
        options: What to type for it.
        short: Shortened names of the known projects; empty unless names are shortened.
    """

    mode: str
    options: tuple[str, ...]
    short: dict[str, str]

    @classmethod
    def of(cls, store: Store, *, anonymize: bool, full_paths: bool) -> Self:
        """The way that the options ask for; to hash goes before to show whole."""
        if anonymize:
            return cls("hashed", ("--anonymize",), {})
        if full_paths:
            return cls("whole paths", ("--full-paths",), {})
        projects = store.query("select distinct project from session where project is not null order by all")
        return cls("last part of paths", (), short_paths(project for (project,) in projects))

    def project(self, project: str | None) -> str:
        """The name of a project; projects with the same last part keep as much as tells them apart."""
        if not project:
            return "unknown"
        if self.mode == "hashed":
            return anonymised(project, "project")
        return project if self.options else self.short.get(project) or short_path(project)

    def path(self, path: str) -> str:
        """The name of a file."""
        if self.mode == "hashed":
            return anonymised(path, "file")
        return path if self.options else short_path(path)

    def reason(self, reason: str) -> str:
        """A reason for skipping, which may name a session."""
        if self.mode == "hashed":
            return _UUID.sub(lambda match: anonymised(match[0], "session"), reason)
        return reason

    def session(self, session: str) -> str:
        """The name of a session: the start of its id, which is enough to find it."""
        if self.mode == "hashed":
            return anonymised(session, "session")
        return session[:_ID_CHARS]
