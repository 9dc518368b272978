"""The `rtk` source: RTK's tracking database `history.db` (rtk.md section 2).

RTK writes one row per command that it ran. The rows hold command lines and sizes, no hash and no session,
so they yield upper bounds only (`analytics/rtk_bounds.py`). Columns are read by name, because releases and
unmerged branches added some (rtk.md 2.2); a column that is missing reads as NULL.
"""

from __future__ import annotations

import re
import reprlib
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Self

from dedupstats.model import FileCount, Ignored, RtkCommand, RtkHookDecision, RtkOutput
from dedupstats.sources.base import LARGEST, Capabilities, Claim, Faults, hash64, plausible_time
from dedupstats.sources.measure import sha64, to_storable
from dedupstats.sources.probe import DAMAGE, Probe, damaged
from dedupstats.sources.rtk_places import places
from dedupstats.sources.rtk_rules import ROWS

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from dedupstats.model import CompactionRule, Record
    from dedupstats.sources.base import Place, Reading, Unit

_REQUIRED = frozenset(
    ("timestamp", "original_cmd", "rtk_cmd", "input_tokens", "output_tokens", "saved_tokens")
)
"""columns of `commands` in every release since 0.1.9 (rtk.md 2.2)"""
_RECOVERIES = frozenset(("rtk proxy", "rtk bypass"))
_KNOWN_NAMES = frozenset((*(f"rtk {row.rtk}" for row in ROWS if row.rtk), *_RECOVERIES, "rtk fallback:"))
"""names that are RTK's own words (rtk.md 2.3, 2.4); any other second word is what a person typed"""
_OTHER_NAME = "rtk (other)"
_STAMP = re.compile(r"(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)?")
_SHA256_HEX = re.compile(r"[0-9a-f]{64}")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)

_Row = dict[str, Any]


def public_name(name: str) -> str:
    """The name of a command (`rtk git`) if it is RTK's own word; else one that tells nothing.

    Example:
        >>> public_name("rtk git"), public_name("rtk ./secret.sh")
        ('rtk git', 'rtk (other)')
    """
    return name if name in _KNOWN_NAMES else _OTHER_NAME


class _SenselessError(ValueError):
    """A row that cannot be used, because of the value of one column."""

    @classmethod
    def of(cls, value: object, column: str, reason: str) -> Self:
        return cls(f"{column} is {reprlib.repr(value)}, {reason}")


@dataclass(slots=True)
class _Tally:
    """How the rows of one database were used."""

    faults: Faults
    used: int = 0
    ignored: int = 0


class Rtk:
    """RTK's tracking databases."""

    name = "rtk"
    title = "RTK"
    capabilities = Capabilities(
        content=False,
        usage=False,
        sessions=False,
        hints=False,
        note="command lines and sizes, no hash and no session: upper bounds only",
    )
    hinted_effects: frozenset[tuple[str, str]] = frozenset()
    compaction: tuple[CompactionRule, ...] = ()

    def places(self, env: Mapping[str, str], home: Path, platform: str) -> list[Place]:
        """Default databases; see `rtk_places.places`."""
        return places(env, home, platform)

    def claim(self, probe: Probe) -> Claim | None:
        """A SQLite database whose table `commands` has RTK's columns."""
        if probe.tables.get("commands", frozenset()) >= _REQUIRED:
            return Claim(probe.path)
        return None

    def companions(self, path: str) -> list[str]:
        """The write-ahead log: rows may be in it alone."""
        return [f"{path}-wal"]

    def read(self, unit: Unit, reading: Reading) -> Iterator[Record]:
        """The rows of one database, table by table, by ascending id.

        Yields:
            `RtkCommand`, `RtkOutput`, `RtkHookDecision`, `Skipped` for rows with senseless values (`line` is
            the row's id), `Ignored` per other table, and one `FileCount`.

        Raises:
            UnreadableUnitError: The database is damaged or cannot be opened.
        """
        probe = unit.probes.get(unit.key)
        if probe is not None:
            yield from _read(probe, reading)
        else:
            with Probe(unit.key, sum(file.size for file in unit.files)) as probe:
                yield from _read(probe, reading)


def _read(probe: Probe, reading: Reading) -> Iterator[Record]:
    """All records of one database."""
    makers: dict[str, tuple[tuple[str, ...], Callable[[_Row], Record]]] = {
        "commands": (_Commands.columns, _Commands(probe.path, reading).record),
        "session_outputs": (_Outputs.columns, _Outputs(probe.path, reading).record),
        "hook_decisions": (_Decisions.columns, _Decisions(probe.path, reading).record),
    }
    tally = _Tally(Faults(probe.path))
    try:
        # byte for byte: two command lines that differ in bytes that are no UTF-8 stay two
        probe.database.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
        for table, columns in probe.tables.items():
            if table in makers:
                wanted, make = makers[table]
                rows = _rows(
                    probe, table, [name for name in wanted if name in columns], reading.max_line_bytes
                )
                yield from _used(table, rows, make, tally)
            elif not table.startswith("sqlite_"):
                count = _count_rows(probe.database, table)
                tally.ignored += count
                if count:
                    yield Ignored(probe.path, to_storable(table), count)
    except DAMAGE as error:
        raise damaged(probe.path, error) from error
    yield from tally.faults.rest()
    records = tally.used + tally.ignored + tally.faults.count
    yield FileCount(probe.path, records, tally.used, 0, tally.ignored, tally.faults.count, False)


def _rows(probe: Probe, table: str, columns: list[str], longest: int) -> Iterator[_Row]:
    """Rows as dictionaries; `rowid` is RTK's `id` (INTEGER PRIMARY KEY), or the place where there is none.

    One that is longer than a record may be has only that, and the reason as `too long`.
    """
    row_id = probe.row_id(table)
    ordered = f"order by {row_id}" if row_id else ""
    query = f"select {', '.join([row_id or 'null', *columns])} from {table} {ordered}"
    for place, row in enumerate(probe.select(query, longest=longest), 1):
        number = place
        if row_id and row:
            number = row[0]
        elif row_id:
            query_id = f"select {row_id} from {table} {ordered} limit 1 offset {place - 1}"
            ((number,),) = probe.database.execute(query_id)
        if row is None or sum(len(value) for value in row if isinstance(value, str | bytes)) > longest:
            yield {"rowid": number, "too long": f"longer than {longest} bytes"}
        else:
            yield dict(zip(["rowid", *columns], (number, *row[1:]), strict=True))


def _used(
    table: str, rows: Iterator[_Row], make: Callable[[_Row], Record], tally: _Tally
) -> Iterator[Record]:
    """The record of each row, or `Skipped` with the reason."""
    for row in rows:
        try:
            record = _made(row, make)
        except _SenselessError as error:
            yield from tally.faults.add(row["rowid"], f"{table}: {error}")
        else:
            tally.used += 1
            yield record


def _made(row: _Row, make: Callable[[_Row], Record]) -> Record:
    if "too long" in row:
        raise _SenselessError(row["too long"])
    return make(row)


def _count_rows(database: sqlite3.Connection, table: str) -> int:
    quoted = table.replace('"', '""')
    count: int = database.execute(f'select count(*) from "{quoted}"').fetchone()[0]
    return count


class _Commands:
    """Rows of `commands` (rtk.md 2.2, 2.3)."""

    columns = (*sorted(_REQUIRED), "exec_time_ms", "project_path")

    def __init__(self, path: str, reading: Reading) -> None:
        self._path = path
        self._reading = reading
        self._alike: Counter[int] = Counter()

    def record(self, row: _Row) -> RtkCommand:
        stamp, original, rtk = (_text(row, name) for name in ("timestamp", "original_cmd", "rtk_cmd"))
        project = _text(row, "project_path")
        sent, shown = _number(row, "input_tokens"), _number(row, "output_tokens")
        name = to_storable(" ".join(rtk.split(None, 2)[:2]))
        keep = self._reading.keep_targets
        return RtkCommand(
            row_key=hash64("rtk", self._path, "commands", str(row["rowid"])),
            native_id=row["rowid"],
            copy_key=self._copy_key(stamp, original, rtk, str(sent), str(shown), project),
            at=_microseconds(stamp),
            stamp=to_storable(stamp),
            original_sha64=sha64(_bytes(original)),
            rtk_sha64=sha64(_bytes(rtk)),
            rtk_name=name if keep else public_name(name),
            original=to_storable(original) if keep else None,
            rtk=to_storable(rtk) if keep else None,
            is_read=name == "rtk read",
            is_recovery=name in _RECOVERIES,
            input_tokens=sent,
            output_tokens=shown,
            saved_tokens=_number(row, "saved_tokens", minimum=None),
            exec_ms=None if row.get("exec_time_ms") is None else _number(row, "exec_time_ms"),
            project_key=self._reading.names.optional(to_storable(project)),
            identity_bytes=len(_bytes(_identity(original, is_read=name == "rtk read"))),
        )

    def _copy_key(self, *values: str) -> int:
        """Equal for a row and the same row in another copy of the database.

        Rows of one database that are alike in everything are different commands (whole-second clocks): from
        the second on their number takes part.
        """
        key = hash64("rtk", *values)
        self._alike[key] += 1
        number = self._alike[key]
        return key if number == 1 else hash64("rtk", *values, str(number))


class _Outputs:
    """Rows of `session_outputs`, the ledger of RTK's dedup (rtk.md 1.2, 1.11, 2.2)."""

    columns = (
        "session_id",
        "content_hash",
        "identity",
        "output_tokens",
        "line_count",
        "step_ordinal",
        "emit_count",
        "first_seen",
        "last_seen",
    )

    def __init__(self, path: str, reading: Reading) -> None:
        self._path = path
        self._reading = reading

    def record(self, row: _Row) -> RtkOutput:
        content = _text(row, "content_hash")
        if not _SHA256_HEX.fullmatch(content):
            raise _SenselessError.of(content, "content_hash", "no SHA-256")
        tokens, times = _number(row, "output_tokens"), _number(row, "emit_count", minimum=1)
        if tokens * times >= LARGEST:
            raise _SenselessError.of(times, "emit_count", f"of {tokens:,} tokens each")
        return RtkOutput(
            row_key=hash64("rtk", self._path, "session_outputs", str(row["rowid"])),
            native_id=row["rowid"],
            session_key=self._reading.names.key(to_storable(_text(row, "session_id"))),
            # the same form as measure.sha64: it meets the hashes of logged texts
            content_sha64=int.from_bytes(bytes.fromhex(content[:16]), "big", signed=True),
            identity_sha64=sha64(_bytes(_text(row, "identity"))),
            output_tokens=tokens,
            line_count=_number(row, "line_count"),
            step=_number(row, "step_ordinal"),
            emit_count=times,
            first_at=_microseconds(_text(row, "first_seen")),
            last_at=_microseconds(_text(row, "last_seen")),
        )


class _Decisions:
    """Rows of `hook_decisions` (rtk.md 2.2)."""

    columns = (
        "timestamp",
        "session_id",
        "tool_use_id",
        "project_path",
        "raw_cmd",
        "decision",
        "rewritten_cmd",
        "rtk_version",
    )

    def __init__(self, path: str, reading: Reading) -> None:
        self._path = path
        self._reading = reading

    def record(self, row: _Row) -> RtkHookDecision:
        names = self._reading.names
        decision = _text(row, "decision")
        if not decision:
            raise _SenselessError.of(decision, "decision", "no decision")
        has_rewritten = row.get("rewritten_cmd") is not None
        return RtkHookDecision(
            row_key=hash64("rtk", self._path, "hook_decisions", str(row["rowid"])),
            native_id=row["rowid"],
            at=_microseconds(_text(row, "timestamp")),
            session_key=names.optional(to_storable(_text(row, "session_id"))),
            call_id=to_storable(_text(row, "tool_use_id")),
            project_key=names.optional(to_storable(_text(row, "project_path"))),
            raw_sha64=sha64(_bytes(_text(row, "raw_cmd"))),
            rewritten_sha64=sha64(_bytes(_text(row, "rewritten_cmd"))) if has_rewritten else None,
            decision=to_storable(decision),
            version_key=names.optional(to_storable(_text(row, "rtk_version"))),
        )


def _text(row: _Row, name: str) -> str:
    """A text column; NULL and a missing column are the empty text."""
    value = row.get(name)
    if value is None:
        return ""
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else str(value)


def _bytes(text: str) -> bytes:
    """The bytes that the database holds for a text."""
    return text.encode("utf-8", "surrogateescape")


def _number(row: _Row, name: str, minimum: int | None = 0) -> int:
    """A whole number; SQLite keeps whatever was written, so text and fractions can stand here."""
    value = row.get(name)
    if not isinstance(value, int):
        raise _SenselessError.of(value, name, "no whole number")
    if minimum is not None and value < minimum:
        raise _SenselessError.of(value, name, f"less than {minimum}")
    if abs(value) >= LARGEST:
        raise _SenselessError.of(value, name, f"beyond {LARGEST:,}")
    return value


def _identity(original: str, *, is_read: bool) -> str:
    """What RTK's marker names in brackets (rtk.md 1.6).

    `read:PATH` for a read, which is stored as `cat PATH`, or as `cat - (stdin)`. Else the label of the run,
    the words after `rtk`: `original_cmd` holds them all, `rtk_cmd` may lack the arguments (`rtk grep`).
    """
    if is_read:
        path = original.removeprefix("cat ")
        return f"read:{'(stdin)' if path == '- (stdin)' else path}"
    return original.removeprefix("rtk ")


def _microseconds(stamp: str) -> int | None:
    """UTC microseconds of an RFC 3339 stamp; finer digits are cut; None if it is no such stamp."""
    match = _STAMP.fullmatch(stamp)
    if match is None:
        return None
    second, fraction, zone = match.groups()
    try:
        at = datetime.fromisoformat(second + (zone or "Z"))
    except ValueError:
        return None
    found = (at - _EPOCH) // _MICROSECOND + int((fraction or "0")[:6].ljust(6, "0"))
    return plausible_time(found)
