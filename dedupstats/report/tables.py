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
from typing import TYPE_CHECKING, Any, Literal, get_args

from dedupstats.errors import DedupstatsError, UsageError
from dedupstats.report import text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import TextIO

SCHEMA_VERSION = 1
"""Of the JSON form; grows when a reader of the old form would stumble."""

Kind = Literal["text", "figure", "int", "bytes", "percent", "raw", "float", "bool", "time"]
"""What a column holds: text; a `figure` is a number already worded for people; `int` and `bytes` are exact
counts, shown with separators and units; `percent` is a share, 0 to 1; `raw` is an integer shown as it is."""

Format = Literal["table", "md", "csv", "json", "parquet"]
FORMATS: tuple[Format, ...] = get_args(Format)

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
    cells = _cells(table, text.safe_text)
    natural = _natural_widths(table, cells)
    parts = [
        "\n".join(_part(table, cells, _narrowed(table, natural, chosen, width), colour=colour))
        for chosen in _fitting(natural, width)
    ]
    notes = "\n".join(_wrapped(text.safe_text(note), width) for note in table.notes)
    title = _wrapped(text.safe_text(table.title), width)
    return "\n\n".join(block for block in (title, *parts, notes) if block) + "\n"


def markdown(table: Table) -> str:
    """The table as GitHub-flavoured Markdown, its notes as a list below."""
    cells = _cells(table, text.safe_markdown)
    titles = [
        text.safe_markdown((column.title or column.name).replace("\n", " ")) for column in table.columns
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
    return orjson.dumps(_json_value(document), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


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


# -- where an output goes ------------------------------------------------------------------------------------


def check_destination(form: Format, output: Path | None) -> None:
    """Refuse, before any work is done, what would fill a terminal with bytes.

    Raises:
        UsageError: Parquet to a terminal.
    """
    if form == "parquet" and output is None and sys.stdout.isatty():
        raise UsageError("Parquet is not for a terminal", "name a file with -o FILE, or pipe it")


def deliver(data: str | bytes, output: Path | None) -> None:
    """Write to a file, whole or not at all, or to stdout.

    Raises:
        DedupstatsError: The file cannot be written.
    """
    if output is not None:
        write_file(output, data)
    elif isinstance(data, str):
        sys.stdout.write(data)
        sys.stdout.flush()
    else:
        # machine formats are UTF-8 whatever the terminal's encoding
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


def write_file(path: Path, data: str | bytes) -> None:
    """Write a file through a temporary one beside it, so that a reader sees the old or the new one.

    Raises:
        DedupstatsError: It cannot be written; the message names the file and the reason.
    """
    content = data.encode("utf-8", "backslashreplace") if isinstance(data, str) else data
    target = Path(os.path.realpath(path.expanduser()))
    try:
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


def _markdown_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


# -- terminal ------------------------------------------------------------------------------------------------

# Own lines instead of rich's table, which reads markup and emoji codes (U01, U04), cuts with an ellipsis (U02)
# and takes 20 s for a thousand rows of the view `emission`. Its widths of characters (U09) are used.

_GAP = 2


def _natural_widths(table: Table, cells: list[list[str]]) -> list[int]:
    """Width of each column in terminal cells, if nothing is folded."""
    from rich.cells import cell_len

    return [
        max(map(cell_len, (*_titles(column), *(row[place] for row in cells))))
        for place, column in enumerate(table.columns)
    ]


def _fitting(natural: list[int], width: int | None) -> Iterator[list[int]]:
    """Places of the columns of each part: the first, and as many others as fit beside it, at least one."""
    if width is None or not natural:
        yield list(range(len(natural)))
        return
    # a long first column is folded rather than leaving no place for others: to a quarter of the terminal, if
    # all others fit beside it, else to half
    room = width - sum(natural[1:]) - _GAP * (len(natural) - 1)
    first = min(natural[0], room if room >= width // 4 else width // 2)
    part, used = [0], first
    for place in range(1, len(natural)):
        wide = natural[place] + _GAP
        if used + wide > width and len(part) > 1:
            yield part
            part, used = [0], first
        part.append(place)
        used += wide
    yield part


def _narrowed(table: Table, natural: list[int], chosen: list[int], width: int | None) -> dict[int, int]:
    """The columns of a part with their widths; where they are too wide, text gives way, the widest first."""
    widths = {place: natural[place] for place in chosen}
    excess = sum(widths.values()) + _GAP * (len(chosen) - 1) - (width or sys.maxsize)
    foldable = [place for place in chosen if table.columns[place].kind in _LEFT]
    while excess > 0 and (widest := max(foldable, key=lambda place: widths[place], default=None)) is not None:
        cut = min(excess, widths[widest] - 1)
        others = [widths[place] for place in foldable if place != widest]
        if others and cut > 1:
            # down to the next widest only, so that columns narrow together
            cut = max(1, min(cut, widths[widest] - max(others)))
        if cut <= 0:
            break
        widths[widest] -= cut
        excess -= cut
    return widths


def _part(table: Table, cells: list[list[str]], widths: dict[int, int], *, colour: bool) -> Iterator[str]:
    """The lines of some columns: titles, rule, rows, and the total behind a second rule."""
    bold = "\x1b[1m{}\x1b[0m" if colour else "{}"
    left = {place: table.columns[place].kind in _LEFT for place in widths}
    rule = "-" * (sum(widths.values()) + _GAP * (len(widths) - 1))
    titles = {place: _titles(table.columns[place]) for place in widths}
    height = max(map(len, titles.values()), default=0)
    for line in range(-height, 0):
        row = {place: [rows[line] if -line <= len(rows) else ""] for place, rows in titles.items()}
        yield from map(bold.format, _lines(row, widths, left))
    yield rule
    for number, cell in enumerate(cells):
        is_total = table.total is not None and number == len(cells) - 1
        if is_total:
            yield rule
        lines = _lines({place: _folded(cell[place], widths[place]) for place in widths}, widths, left)
        yield from map(bold.format, lines) if is_total else lines


def _lines(row: dict[int, list[str]], widths: dict[int, int], left: dict[int, bool]) -> Iterator[str]:
    """One row of the table: as many lines as its tallest cell has, columns aligned."""
    from rich.cells import cell_len

    for line in range(max(map(len, row.values()))):
        shown = []
        for place, folded in row.items():
            cell = folded[line] if line < len(folded) else ""
            blank = " " * (widths[place] - cell_len(cell))
            shown.append(cell + blank if left[place] else blank + cell)
        yield (" " * _GAP).join(shown).rstrip()


def _folded(cell: str, width: int) -> list[str]:
    return _wrapped(cell, width).split("\n")


def _titles(column: Column) -> list[str]:
    return [text.safe_text(line) for line in (column.title or column.name).split("\n")]


def _wrapped(line: str, width: int | None) -> str:
    from rich.cells import cell_len, chop_cells

    if width is None or cell_len(line) <= width:
        return line
    rows = [""]
    for word in line.split(" "):
        joined = f"{rows[-1]} {word}" if rows[-1] else word
        if cell_len(joined) <= width:
            rows[-1] = joined
        else:
            rows.extend(chop_cells(word, width))
    return "\n".join(row for row in rows if row)
