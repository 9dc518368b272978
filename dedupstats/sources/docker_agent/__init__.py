"""The `docker_agent` source: docker-agent's `session.db` and its JSON exports (docker-agent.md section 3).

One file is one unit. `layout` turns either layout of a database, or an export, into sessions made of items;
`thread` turns the items of one session into records; `messages` holds what a single message says.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dedupstats.errors import UnreadableUnitError
from dedupstats.model import CompactionRule, FileCount, Ignored, Skipped
from dedupstats.sources.base import Capabilities, Claim, Faults, Place
from dedupstats.sources.docker_agent.layout import (
    Problem,
    is_database,
    is_export,
    orphans,
    sessions_of_database,
    sessions_of_export,
)
from dedupstats.sources.probe import Probe

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dedupstats.model import Record
    from dedupstats.sources.base import Reading, Unit
    from dedupstats.sources.docker_agent.layout import Session


class DockerAgent:
    """docker-agent's databases, their set-aside `.bak` files, and its exports."""

    name = "docker_agent"
    title = "docker-agent"
    capabilities = Capabilities(
        content=True,
        usage=True,
        sessions=True,
        hints=True,
        note="what the model was shown, after all rewrites; what configuration cuts later leaves no trace",
    )
    #: docker-agent.md section 2.4: the host's hints, against what the tools do
    hinted_effects = frozenset(
        {
            ("todo", "create_todo"),
            ("todo", "create_todos"),
            ("todo", "update_todos"),
            ("deferred", "add_tool"),
            ("transfer", "transfer_task"),
            ("handoff", "handoff"),
            ("model", "change_model"),
            ("model", "revert_model"),
            ("user_prompt", "user_prompt"),
        }
    )

    #: token-economics.md 4.1, by default; a threshold of one's own is in no log
    compaction = (CompactionRule(share=0.9, is_strict=True, bytes_per_token=3.5),)

    def places(self, env: Mapping[str, str], home: Path, platform: str) -> list[Place]:
        """The database, and the one that an automatic recovery set aside (docker-agent.md section 3.1)."""
        windows = platform == "win32"
        base = Path(env.get("USERPROFILE" if windows else "HOME") or home)
        shown = r"%USERPROFILE%\.cagent" + "\\" if windows else "~/.cagent/"
        return [Place(base / ".cagent" / name, shown + name) for name in ("session.db", "session.db.bak")]

    def claim(self, probe: Probe) -> Claim | None:
        """A SQLite database or a JSON document of docker-agent's shape."""
        mine = is_database(probe.tables) if probe.is_sqlite else is_export(_document(probe))
        return Claim(probe.path) if mine else None

    def companions(self, path: str) -> list[str]:
        """The write-ahead log: rows, and even the schema, may be in it alone."""
        return [f"{path}-wal"]

    def read(self, unit: Unit, reading: Reading) -> Iterator[Record]:
        """The records of one database or export, session by session, sub-sessions after their parent.

        Yields:
            Per session its `Context`, then what its items hold in stored order; then `Ignored` by type of
            item, and one `FileCount` whose records are items.

        Raises:
            UnreadableUnitError: The file is damaged as a whole, or not docker-agent's.
        """
        probe = unit.probes.get(unit.key)
        if probe is not None:
            yield from _read(probe, reading)
        else:
            with Probe(unit.key, sum(file.size for file in unit.files)) as probe:
                yield from _read(probe, reading)


@dataclass(slots=True)
class Tally:
    """How the items of one file were used."""

    path: str
    is_database: bool
    """of a database and an export of it the database is the original (fault case D16)"""
    records: int = 0
    used: int = 0
    ignored: Counter[str] = field(default_factory=Counter)
    faults: Faults = field(init=False)

    def __post_init__(self) -> None:
        self.faults = Faults(self.path)

    def skip(self, line: int, reason: str) -> Iterator[Skipped]:
        """Count a record that cannot be used."""
        self.records += 1
        return self.faults.add(line, reason)

    def ignore(self, kind: str, count: int = 1) -> None:
        """Count records that no figure needs."""
        if count:
            self.records += count
            self.ignored[kind] += count

    def use(self, count: int = 1) -> None:
        """Count records that were used; -1 for one that proves to be unusable."""
        self.records += count
        self.used += count

    def totals(self) -> Iterator[Record]:
        """What was ignored, by type, what else was skipped, and the count of the file."""
        yield from self.faults.rest()
        for kind, count in sorted(self.ignored.items()):
            yield Ignored(self.path, kind, count)
        yield FileCount(
            self.path, self.records, self.used, 0, self.ignored.total(), self.faults.count, unfinished=False
        )


def _read(probe: Probe, reading: Reading) -> Iterator[Record]:
    # loaded where something has to be read: most imports of a day find nothing new
    from dedupstats.sources.docker_agent.thread import Thread

    tally = Tally(probe.path, probe.is_sqlite)
    for session in _sessions(probe, reading.max_line_bytes):
        if isinstance(session, Problem):
            yield from tally.skip(session.line, session.reason)
        else:
            yield from Thread(session, reading, tally).records()
    if probe.is_sqlite:
        tally.ignore("item of a deleted session", orphans(probe))
    yield from tally.totals()


def _sessions(probe: Probe, longest: int) -> Iterator[Session | Problem]:
    if probe.is_sqlite and is_database(probe.tables):
        return sessions_of_database(probe, longest)
    if is_export(_document(probe)):
        return sessions_of_export(probe.document)
    message = f"{probe.path}: neither a session database nor a session export of docker-agent"
    raise UnreadableUnitError(message)


def _document(probe: Probe) -> Any:
    """The JSON document, or None; most foreign ones are told by their beginning alone, without parsing."""
    return probe.document if b'"messages"' in probe.head else None
