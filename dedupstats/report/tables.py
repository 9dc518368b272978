"""One table, five outputs: terminal, Markdown, CSV, JSON, Parquet; and the way of each to a file or stdout.

A `Table` holds plain values. What people read (terminal, Markdown) gets units, separators and its notes; what
programs read (CSV, JSON, Parquet) gets exact numbers. Every text is made safe by the writer, so a table may
hold any name that a log holds.
"""

from __future__ import annotations

import math
import os
import shutil
import sys
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from io import BytesIO, StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from dedupstats.errors import DedupstatsError, UsageError
from dedupstats.paths import expanded
from dedupstats.report import text
from dedupstats.report.grid import Grid, laid_out, wrapped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import TextIO

SCHEMA_VERSION = 2
"""Of the JSON form; grows when a reader of the old form would stumble."""

Kind = Literal["text", "figure", "int", "bytes", "percent", "raw", "float", "bool", "time"]
"""What a column holds: text; a `figure` is a number already worded for people; `int` and `bytes` are exact
counts, shown with separators and units; `percent` is a share, 0 to 1; `raw` is an integer shown as it is."""

Format = Literal["table", "md", "csv", "json", "parquet"]
_Name = TypeVar("_Name", bound=str)

_INTEGERS = ("int", "bytes", "raw")
_LEFT = ("text", "time")
_INT64 = 1 << 63


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table.

    Attributes:
        name: As programs read it (`call_session_bytes`).
        kind: What it holds.
        title: As people read it; may have two lines. The name if empty.
    """

    name: str
    kind: Kind = "text"
    title: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of plain values, None where there is no data.

    Attributes:
        title: One line above the table; may be empty.
        columns: In order.
        rows: One value per column.
        notes: What a reader must know, one sentence or two each; below the table, or on stderr for programs.
        total: A last row, set apart; only where people read.
    """

    title: str
    columns: tuple[Column, ...]
    rows: Sequence[tuple[Any, ...]]
    notes: tuple[str, ...] = ()
    total: tuple[Any, ...] | None = None


# -- outputs -------------------------------------------------------------------------------------------------


def terminal(table: Table, *, width: int | None = None, colour: bool = False) -> str:
    """The table for a terminal; a width of None cuts and folds nothing.

    A table wider than the terminal is printed in parts that repeat the first column: no number is ever cut.
    """
    grid = Grid(
        titles=[[text.safe_text(line) for line in _title(column).split("\n")] for column in table.columns],
        is_left=[column.kind in _LEFT for column in table.columns],
        cells=_cells(table, text.safe_text),
        has_total=table.total is not None,
    )
    notes = "\n".join(wrapped(text.safe_text(note), width) for note in table.notes)
    blocks = (wrapped(text.safe_text(table.title), width), *laid_out(grid, width, colour=colour), notes)
    return "\n\n".join(block for block in blocks if block) + "\n"


def markdown(table: Table) -> str:
    """The table as GitHub-flavoured Markdown, its notes as a list below."""
    cells = _cells(table, text.safe_markdown)
    titles = [
        text.safe_markdown(_title(column).replace("-\n", "-").replace("\n", " ")) for column in table.columns
    ]
    marks = [":---" if column.kind in _LEFT else "---:" for column in table.columns]
    lines = [_markdown_row(row) for row in (titles, marks, *cells)]
    if table.total is not None:
        # the total is told from the rows by its weight alone
        lines[-1] = _markdown_row([f"**{cell}**" if cell else "" for cell in cells[-1]])
    notes = "\n".join(f"- {text.safe_markdown(note)}" for note in table.notes)
    title = f"**{text.safe_markdown(table.title)}**" if table.title else ""
    return "\n\n".join(block for block in (title, "\n".join(lines), notes) if block) + "\n"


def csv_text(table: Table) -> str:
    """The rows as CSV with exact numbers: shares as 0 to 1, nothing for no data."""
    import csv

    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([text.safe_csv(column.name) for column in table.columns])
    writer.writerows([_csv_cell(value) for value in row] for row in table.rows)
    return out.getvalue()


def json_bytes(table: Table) -> bytes:
    """The table as strict JSON: `schema_version`, `title`, `columns`, `rows` (objects), `notes`."""
    names = [column.name for column in table.columns]
    return json_document(
        {
            "title": table.title,
            "columns": [{"name": column.name, "kind": column.kind} for column in table.columns],
            "rows": [dict(zip(names, row, strict=True)) for row in table.rows],
            "notes": list(table.notes),
        }
    )


def json_document(members: dict[str, Any]) -> bytes:
    """A JSON document of this program: `schema_version` first, then the members; never NaN, always UTF-8."""
    import orjson

    document = {"schema_version": SCHEMA_VERSION} | members
    data = orjson.dumps(_json_value(document), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    return text.safe_json(data.decode()).encode()


def parquet_bytes(table: Table) -> bytes:
    """The rows as a Parquet file with typed columns."""
    import polars as pl

    types = {"bool": pl.Boolean, "percent": pl.Float64, "float": pl.Float64}
    series = []
    for place, column in enumerate(table.columns):
        values = [row[place] for row in table.rows]
        if column.kind in _INTEGERS and all(value is None or -_INT64 <= value < _INT64 for value in values):
            made = pl.Series(column.name, values, dtype=pl.Int64)
        elif column.kind == "time":
            made = pl.Series(column.name, [_utc(value) for value in values], dtype=pl.Datetime("us"))
        elif column.kind in types:
            made = pl.Series(column.name, values, dtype=types[column.kind], strict=False)
        else:
            shown = [None if value is None else text.valid_utf8(plain(value)) for value in values]
            made = pl.Series(column.name, shown, dtype=pl.String)
        series.append(made)
    out = BytesIO()
    pl.DataFrame(series).write_parquet(out)
    return out.getvalue()


def written(table: Table, form: Format, *, stream: TextIO | None = None) -> str | bytes:
    """The table in a format; `stream` is where a terminal table is going, None for a file."""
    if form == "table":
        return terminal(table, width=width_of(stream), colour=wants_colour(stream))
    if form == "md":
        return markdown(table)
    if form == "csv":
        return csv_text(table).encode()
    return json_bytes(table) if form == "json" else parquet_bytes(table)


def written_for_people(tables: Iterable[Table], form: Literal["table", "md"], output: Path | None) -> str:
    """Tables one below the other; `output` is the file that they are written to, None for stdout."""
    stream = sys.stdout if output is None else None
    if form == "md":
        return "\n".join(map(markdown, tables))
    width, colour = width_of(stream), wants_colour(stream)
    return "\n".join(terminal(table, width=width, colour=colour) for table in tables)


# -- where an output goes ------------------------------------------------------------------------------------

SUFFIXES: dict[str, Format] = {
    ".txt": "table",
    ".md": "md",
    ".markdown": "md",
    ".csv": "csv",
    ".json": "json",
    ".parquet": "parquet",
}
"""Endings of files by which the format of a table is known."""


def format_of(path: Path, suffixes: Mapping[str, _Name]) -> _Name:
    """The format of an output by the ending of its file.

    Args:
        path: The file.
        suffixes: Formats by ending, the most usual ending of each first.

    Raises:
        UsageError: It has no such ending.

    Example:
        >>> format_of(Path("a.CSV"), SUFFIXES)
        'csv'
    """
    found = suffixes.get(path.suffix.lower())
    if found is None:
        usual: dict[str, str] = {}
        for ending, form in suffixes.items():
            usual.setdefault(form, ending)
        *endings, last = usual.values()
        raise UsageError(
            f"cannot tell the format of {path} from its name",
            f"end it in {', '.join(endings)} or {last}, or give --format",
        )
    return found


def table_format(form: Format | None, output: Path | None) -> Format:
    """The format of a table: the one asked for, else that of the file's name, else a table for people.

    Refuses, before any work is done, what would fill a terminal with bytes.

    Raises:
        UsageError: The file's name tells no format; Parquet to a terminal.
    """
    chosen = form or ("table" if output is None else format_of(output, SUFFIXES))
    check_destination(chosen, output)
    return chosen


def check_destination(form: Format, output: Path | None) -> None:
    """Refuse, before any work is done, what would fill a terminal with bytes.

    Raises:
        UsageError: Parquet to a terminal.
    """
    if form == "parquet" and output is None and sys.stdout.isatty():
        raise UsageError("Parquet is not for a terminal", "name a file with -o FILE, or pipe it")


def deliver(data: str | bytes, output: Path | None) -> None:
    """Write to a file, whole or not at all, or to stdout; a reader that stops ends the command quietly.

    Raises:
        DedupstatsError: The file cannot be written.
    """
    if output is not None:
        write_file(output, data)
        return
    try:
        if isinstance(data, str):
            sys.stdout.write(data)
        else:
            # machine formats are UTF-8 whatever the terminal's encoding
            sys.stdout.flush()
            sys.stdout.buffer.write(data)
        sys.stdout.flush()
    except BrokenPipeError:
        # the reader has seen enough (U11): no failure, but typer would make it status 1; what is still in
        # Python's buffer goes nowhere
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)


def _is_database(path: Path) -> bool:
    """Whether a file is a DuckDB file: a store must not be lost to a slip of the keyboard."""
    with path.open("rb") as file:
        return file.read(12)[8:] == b"DUCK"


def write_file(path: Path, data: str | bytes) -> None:
    """Write a file through a temporary one beside it, so that a reader sees the old or the new one.

    Raises:
        DedupstatsError: It cannot be written; the message names the file and the reason.
    """
    content = data.encode("utf-8", "backslashreplace") if isinstance(data, str) else data
    target = Path(os.path.realpath(expanded(path)))
    try:
        if target.is_file() and _is_database(target):
            raise DedupstatsError(f"{path} is a DuckDB file and stays as it is", "name another file with -o")
        if target.exists() and not (target.is_file() or target.is_dir()):
            target.write_bytes(content)  # a device or a pipe cannot be replaced
            return
        beside = target.with_name(f".{target.name}.{os.getpid()}.tmp")
        try:
            beside.write_bytes(content)
            beside.replace(target)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as error:
        reason = error.strerror or str(error)
        raise DedupstatsError(f"cannot write {path}: {reason}", "name another file with -o") from error


def width_of(stream: TextIO | None) -> int | None:
    """Width for text on a stream: `COLUMNS`, else the terminal's; None (no limit) for a pipe or file."""
    if stream is None:
        return None
    with suppress(ValueError):
        if (columns := int(os.environ.get("COLUMNS", ""))) > 0:
            return columns
    return shutil.get_terminal_size().columns if stream.isatty() else None


def wants_colour(stream: TextIO | None) -> bool:
    """Whether text on a stream may have colour: NO_COLOR, FORCE_COLOR, TERM, the stream decide."""
    if stream is None or os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR", "0") not in {"", "0"}:
        return True
    return stream.isatty() and os.environ.get("TERM") not in {"dumb", "unknown"}


# -- cells ---------------------------------------------------------------------------------------------------


def plain(value: Any) -> str:
    """A value of any DuckDB type as text, exactly: bytes in hexadecimal, nested values as JSON."""
    if value is None:
        return ""
    if isinstance(value, bytes | bytearray):
        return value.hex()
    if isinstance(value, datetime):
        return value.isoformat(" ")
    if isinstance(value, list | tuple | dict):
        import orjson

        return orjson.dumps(_json_value(value)).decode()
    return str(value)


def _people(value: Any, kind: Kind) -> str:
    if kind == "percent":
        return text.percent(value)
    if value is None:
        return ""
    if kind in {"int", "bytes"}:
        return text.count(value) if kind == "int" else text.size(value)
    return plain(value)


def _csv_cell(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | Decimal):
        return value
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else None
    return text.safe_csv(plain(value))


def _json_value(value: Any) -> Any:
    """A value as JSON can hold it: NaN becomes null, integers of more than 64 bits become text."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if -_INT64 <= value < _INT64 * 2 else str(value)
    if isinstance(value, float | Decimal):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, dict):
        return {text.valid_utf8(plain(key)): _json_value(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [_json_value(member) for member in value]
    if isinstance(value, datetime | date):
        return value.isoformat()
    return text.valid_utf8(plain(value))


def _utc(value: datetime | None) -> datetime | None:
    return value.astimezone(UTC).replace(tzinfo=None) if value is not None and value.tzinfo else value


def _cells(table: Table, safe: Callable[[str], str]) -> list[list[str]]:
    """All cells as people read them; the total is the last row, if there is one."""
    rows = [*table.rows, table.total] if table.total is not None else table.rows
    kinds = [column.kind for column in table.columns]
    return [[safe(_people(value, kind)) for value, kind in zip(row, kinds, strict=True)] for row in rows]


def _title(column: Column) -> str:
    return column.title or column.name


def _markdown_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
