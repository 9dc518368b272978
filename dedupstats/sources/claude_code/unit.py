"""The files of one unit read one after the other, and their contexts brought together."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from dedupstats.errors import UnreadableUnitError
from dedupstats.model import Context, ContextKind, FileCount, Ignored, Skipped
from dedupstats.sources.base import parse_json
from dedupstats.sources.claude_code import layout
from dedupstats.sources.claude_code.line_up import records
from dedupstats.sources.claude_code.reader import Transcript
from dedupstats.sources.lines import CHUNK_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dedupstats.model import Record
    from dedupstats.sources.base import FileInfo, Unit
    from dedupstats.sources.claude_code.tools import Calls


def _read_bounded(path: str, longest: int) -> bytes:
    with Path(path).open("rb") as file:
        data = file.read(longest + 1)
    if len(data) > longest:
        raise ValueError(f"longer than {longest} bytes")
    return data


def _count_lines(path: str) -> int:
    """How many lines of a file hold something; no line is held whole."""
    count, is_blank = 0, True
    with Path(path).open("rb") as file:
        while data := file.read(CHUNK_BYTES):
            *ended, rest = data.split(b"\n")
            for line in ended:
                count += not is_blank or bool(line.strip())
                is_blank = True
            is_blank = is_blank and not rest.strip()
    return count + (not is_blank)


class UnitReader:
    """Reads the files of one unit and brings their contexts together.

    Args:
        unit: The unit.
        calls: The facts of calls, remembered over the units of an import.
    """

    def __init__(self, unit: Unit, calls: Calls) -> None:
        self._unit = unit
        self._calls = calls
        self._longest = calls.reading.max_line_bytes
        self._agent_kinds: dict[str, str] = {}
        self._contexts: list[Context] = []
        self._spawned: dict[str, int] = {}
        self._main_key: int | None = None
        self._stems = {Path(file.path).name.removesuffix(layout.SUFFIX) for file in unit.files}

    def read(self) -> Iterator[Record]:
        """The records of all files, contexts last.

        Raises:
            UnreadableUnitError: No file of the unit can be read.
        """
        files = sorted(self._unit.files, key=lambda file: file.path)
        for file in files:
            if file.path.endswith(layout.META_SUFFIX):
                yield from self._meta(file)
        roles = [
            layout.role_of(file.path, self._unit.key)
            for file in files
            if not file.path.endswith(layout.META_SUFFIX) and Path(file.path).name != layout.JOURNAL
        ]
        # the main thread first: it tells who started which subagent
        roles.sort(key=lambda role: role.kind is not ContextKind.MAIN)
        failures = []
        for role in roles:
            transcript = Transcript(role, self._calls, self._has_agent(role.path))
            try:
                transcript.read()
            except OSError as error:
                failures.append(f"{role.path}: {error.strerror or error}")
                yield Skipped(role.path, 0, f"cannot be read: {error.strerror or error}")
                yield FileCount(role.path, 1, 0, 0, 0, 1, False)
                continue
            yield from records(transcript, self._calls.missing)
            self._gather(transcript)
        if roles and len(failures) == len(roles):
            raise UnreadableUnitError(failures[0], "check that the file exists and may be read")
        for file in files:
            if Path(file.path).name == layout.JOURNAL:
                yield from self._journal(file)
        for context in self._contexts:
            yield self._with_parent(context)

    def _meta(self, file: FileInfo) -> Iterator[Record]:
        """The kind of a subagent from the small file beside its own."""
        try:
            meta = parse_json(_read_bounded(file.path, self._longest))
        except (OSError, ValueError, RecursionError) as error:
            yield Skipped(file.path, 1, f"cannot be read: {error}")
            yield FileCount(file.path, 1, 0, 0, 0, 1, False)
            return
        kind = meta.get("agentType") if isinstance(meta, dict) else None
        if isinstance(kind, str):
            self._agent_kinds[file.path.removesuffix(layout.META_SUFFIX)] = kind
        yield FileCount(file.path, 1, 1, 0, 0, 0, False)

    def _journal(self, file: FileInfo) -> Iterator[Record]:
        """A workflow's journal: counted, not used."""
        try:
            count = _count_lines(file.path)
        except OSError as error:
            yield Skipped(file.path, 0, f"cannot be read: {error.strerror or error}")
            yield FileCount(file.path, 1, 0, 0, 0, 1, False)
            return
        if count:
            yield Ignored(file.path, "workflow journal", count)
        yield FileCount(file.path, count, 0, 0, count, 0, False)

    def _has_agent(self, path: str) -> Callable[[str], bool]:
        """Tells whether a subagent has a file of its own."""
        known: dict[str, bool] = {}

        def has_agent(agent_id: str) -> bool:
            if agent_id not in known:
                known[agent_id] = layout.AGENT + agent_id in self._stems or any(
                    # not Path.exists, which raises below a folder that may not be read
                    os.path.exists(place)  # noqa: PTH110
                    for place in layout.agent_places(agent_id, self._unit.key, path)
                )
            return known[agent_id]

        return has_agent

    def _gather(self, transcript: Transcript) -> None:
        """Keep what contexts need once the file's own records are written."""
        role, sessions = transcript.role, transcript.sessions
        session = role.session
        is_main = role.kind is ContextKind.MAIN
        is_moved = is_main and bool(sessions) and session not in sessions
        if session is None or is_moved:
            session = sessions.most_common(1)[0][0] if sessions else role.native_id
        for agent_id, key in transcript.spawned.items():
            self._spawned.setdefault(agent_id, key)
        for thread in transcript.threads:
            if is_main and thread is transcript.main:
                self._main_key = thread.key
            kind = self._agent_kinds.get(role.path.removesuffix(layout.SUFFIX))
            self._contexts.append(
                Context(
                    thread.key,
                    thread.native_id,
                    thread.kind,
                    session,
                    None,
                    thread.agent if is_main else kind or thread.agent,
                    role.path,
                    # the folder's name is a lossy form of the directory, but all that is left
                    thread.cwd or Path(self._unit.key).parent.name or None,
                    thread.started,
                    thread.clock,
                    is_moved,
                )
            )

    def _with_parent(self, context: Context) -> Context:
        if context.kind is ContextKind.MAIN:
            return context
        return context._replace(parent_key=self._spawned.get(context.native_id, self._main_key))
