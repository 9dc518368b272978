"""The report for a terminal: in full, as the short report, and as the first screen of the demo."""

from __future__ import annotations

import textwrap
from dataclasses import replace
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size

from dedupstats.report import outline_economics, outline_replay, tables
from dedupstats.report.blocks import Section, Table, columns, of_pct, pct, plural
from dedupstats.report.outline import (
    LABELS,
    LAST_LINE,
    LINES_NOTE,
    NESTED_RULES,
    STAR,
    counted_line,
    outline,
    read_line,
    shown_before,
)
from dedupstats.report.text import count, percent, safe_text, size

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dedupstats.report.model import Report
    from dedupstats.report.model_economics import Economics
    from dedupstats.report.share import Share

_WIDTH = 80
"""of paragraphs and of the short report; a wider terminal is no reason to read longer lines"""
_NARROWEST = 40
_NARROWEST_NAME = 16
_NARROWEST_NOTE = 18
_FOLDED = 8
"""cells that the ends of three lines may leave empty"""
_SHORT_TOOLS = 4
_TERM_WIDTH = 18
_DEMO = "dedupstats demo: made-up logs from sample_data/, not yours. Nothing leaves this machine."
_TIME_LINE = "Saved means tokens, not time: the tools still run."


def render(report: Report, *, width: int | None = None, colour: bool = False) -> str:
    """The full report.

    Args:
        report: What to print.
        width: Columns of the terminal; None cuts and folds no table (for a pipe or a file).
        colour: Whether escape sequences for bold text are wanted.
    """
    prose = _prose_width(width)
    blocks = [
        _bold(_filled(safe_text(report.headline), prose), colour=colour),
        _filled(f"{read_line(report)} {counted_line(report)}", prose),
    ]
    for section in outline(report):
        blocks.extend(_section(section, width, prose, colour=colour))
    return "\n\n".join(blocks) + "\n"


def short(
    report: Report, *, seconds: float | None = None, width: int | None = None, colour: bool = False
) -> str:
    """The short report: one screen. `seconds` is what a preceding import took."""
    prose = _prose_width(width)
    notes = " ".join(report.corpus.notes[:1])
    blocks = [
        "\n".join(
            (_filled(read_line(report, seconds), prose), _filled(f"{counted_line(report)} {notes}", prose))
        ),
        _bold(_filled(safe_text(report.headline), prose), colour=colour),
    ]
    if report.economics:
        blocks.append(_spend(report.economics, prose, colour=colour))
    if report.corpus.results or report.rtk:
        blocks.append(_short_measures(report, prose, colour=colour))
    if report.replay:
        blocks.append(_engines(report, prose, is_short=True, colour=colour))
    if report.corpus.results and (report.economics is None or report.economics.spend is None):
        # where it is known what results cost, that names the tools
        blocks.append(_short_tools(report, width, colour=colour))
    more = "More: report -o report.html | rates --by project | sql --views"
    blocks.append("\n".join((_filled(_TIME_LINE, prose), _filled(more, prose))))
    return "\n\n".join(blocks) + "\n"


def demo(report: Report, written: Sequence[str], skipped: str, *, width: int | None = None) -> str:
    """The first screen of the demo: made-up logs, what they show, and where the files are.

    Args:
        report: What to print.
        written: Files of the report.
        skipped: File that lists the skipped records.
        width: Columns of the terminal.
    """
    prose = _prose_width(width)
    corpus = report.corpus
    read = [
        plural(source.sessions, f"{source.words} session") for source in corpus.sources if source.sessions
    ]
    read += [plural(source.units, f"{source.words} database") for source in corpus.sources if source.commands]
    counted = (
        f"{plural(corpus.results, 'tool result')}; {plural(corpus.copies, 'copy', 'copies')} counted once; "
        f"{plural(corpus.skipped, 'record')} skipped ({skipped})"
    )
    files = "  ".join(f"{name} (for a pull request)" if name.endswith(".md") else name for name in written)
    own = "dedupstats  (reads ~/.claude, ~/.cagent and RTK's history.db; changes none of them)"
    return (
        "\n\n".join(
            (
                _filled(_DEMO, prose),
                f"{_labelled('Read', ', '.join(read), prose)}\n{_labelled('', counted, prose)}",
                _measures(report, "How much had been shown before?", prose),
                *([_engines(report, prose)] if report.replay else []),
                _filled(f"{_TIME_LINE} Tokens of repeats are {report.token_rule}.", prose)
                + "\n"
                + _labelled("Written", files, prose)
                + "\n"
                + _labelled("Your logs", own, prose),
            )
        )
        + "\n"
    )


def _measures(report: Report, title: str, width: int) -> str:
    table = shown_before(report)
    headed = [(title, "repeats", "tokens"), *((f"  {label}", *numbers) for label, *numbers in table.rows)]
    lines = (STAR, LAST_LINE, _own(LINES_NOTE)) if report.corpus.results else (STAR,)
    notes = [_filled(line, width, indent="  ") for line in lines]
    return "\n".join([*_aligned(headed, width), *notes])


def _engines(report: Report, width: int, *, is_short: bool = False, colour: bool = False) -> str:
    """The newest engines, replayed, with one untrue elision in words."""
    replay = report.replay
    if replay is None:
        return ""
    table = outline_replay.headlines(report) if replay.refused else outline_replay.first_lines(replay)
    title = outline_replay.title(replay)
    if is_short:
        title = title.upper()
    head, *rows = _aligned(
        [
            (title, *(column.title for column in table.columns[1:])),
            *((f"  {label}", *numbers) for label, *numbers in table.rows),
        ],
        width,
    )
    found = outline_replay.example(replay)
    notes = [table.caption if replay.refused is None else f"{replay.refused} {STAR}"]
    if found:
        notes.append(f"Untrue, e.g.: {outline_replay.told(found)}")
    return "\n".join(
        [_bold(head, colour=colour), *rows, *(_filled(safe_text(note), width, indent="  ") for note in notes)]
    )


def _spend(found: Economics, width: int, *, colour: bool) -> str:
    """Where the input went, in a few lines, with a word beside each where there is room."""
    if found.spend is None:
        return _filled(f"{outline_economics.TITLE}: {found.refused}", width)
    rows = outline_economics.first_lines(found.spend)
    lines = _aligned([row[:3] for row in rows], width)
    told = []
    column = max(len(line) for text in lines for line in text.split("\n")) + 2
    for place, (text, (*_, said)) in enumerate(zip(lines, rows, strict=True)):
        *above, last = text.split("\n")
        if said and width - column >= _NARROWEST_NOTE:
            last = _filled(said, width, first=f"{last:<{column}}", indent=" " * column)
        told += [_bold(line, colour=colour and not place) for line in (*above, last)]
    notes = outline_economics.first_notes(found)
    return "\n".join([*told, *(_filled(note, width, indent="  ") for note in notes)])


def _short_measures(report: Report, width: int, *, colour: bool) -> str:
    rows: list[tuple[str, ...]] = []
    found = {rule.name: rule for rule in report.rules}
    words = {
        "call-session": "same call, whatever came back *",
        "repeat-session": "same call, same bytes, in the session",
        "repeat-in-sight": "the same, and still visible to the model",
    }
    if report.corpus.results:
        rows.append(("SHOWN BEFORE", "results", "bytes"))
        rows += [
            (
                f"  {words[name]}",
                _part_pct(found[name].repeats.results),
                pct(found[name].repeats.bytes),
            )
            for name in NESTED_RULES
        ]
    if report.rtk:
        rows.append(("RTK'S OWN ROWS", "commands", "tokens"))
        rows += [
            (
                f"  {bound.words} *",
                _part_pct(bound.commands),
                pct(bound.tokens),
            )
            for bound in report.rtk.bounds
            if bound.name in {"M", "B4"}
        ]
    lines = _aligned(rows, width)
    heads = [place for place, row in enumerate(rows) if not row[0].startswith(" ")]
    lines = [_bold(line, colour=colour) if place in heads else line for place, line in enumerate(lines)]
    notes = [STAR]
    if report.corpus.results:
        notes = [f"{STAR} Rules: {', '.join(NESTED_RULES)}.", _short_sessions(report)]
    return "\n".join([*lines, *(_filled(note, width, indent="  ") for note in notes)])


def _part_pct(share: Share) -> str:
    return f"{count(share.part)} ({pct(share):>6})"


def _short_tools(report: Report, width: int | None, *, colour: bool) -> str:
    shown = report.tools.rows[:_SHORT_TOOLS]
    rows = tuple(
        (
            tool.name,
            count(tool.results),
            size(tool.bytes.part),
            pct(tool.bytes),
            *(pct(tool.repeats[rule].bytes) for rule in NESTED_RULES[1:]),
        )
        for tool in shown
    )
    heads = columns("MOST BYTES", "results", "bytes", "of all", *(LABELS[rule] for rule in NESTED_RULES[1:]))
    return _grid(Table("", heads, rows), width, colour=colour)


def _short_sessions(report: Report) -> str:
    spread = report.sessions[-1]
    return (
        f"Over sessions, still visible: median {percent(spread.median)}, p90 {percent(spread.p90)}, max "
        f"{percent(spread.max)} of a session's bytes; {of_pct(spread.with_any)} have any."
    )


def _section(section: Section, width: int | None, prose: int, *, colour: bool) -> Iterator[str]:
    yield _bold(_filled(section.title.upper(), prose), colour=colour)
    yield from (_filled(_own(paragraph), prose) for paragraph in section.lead)
    for table in section.tables:
        yield _table(table, width, prose, colour=colour)
    if section.terms:
        yield "\n".join(
            _labelled(term, safe_text(meaning), prose, _TERM_WIDTH) for term, meaning in section.terms
        )
    yield from (f"  {safe_text(command)}" for command in section.commands)
    if section.notes:
        yield "\n".join(_filled(_own(note), prose, first="- ", indent="  ") for note in section.notes)


def _table(table: Table, width: int | None, prose: int, *, colour: bool) -> str:
    rows = list(table.rows)
    caption = table.caption
    if table.latest is not None and len(rows) > table.latest:
        caption += f" The latest {table.latest} of {count(len(rows))}; all are in the other formats."
        rows = rows[-table.latest :]
    return f"{_filled(_own(caption), prose)}\n{_grid(replace(table, rows=tuple(rows)), width, colour=colour)}"


def _grid(table: Table, width: int | None, *, colour: bool) -> str:
    """The rows in columns; headings of numbers are broken into lines, and names cut, so that all fits."""
    heads = [_heading(column.title) if column.numeric else column.title for column in table.columns]
    rows = list(table.rows)
    if width is not None and all(column.numeric for column in table.columns[2:]):
        room = width - sum(
            2 + max(cell_len(text) for text in [*heads[place].split("\n"), *(row[place] for row in rows)])
            for place in range(1, len(heads))
        )
        rows = [(_cut(safe_text(row[0]), max(room, _NARROWEST_NAME)), *row[1:]) for row in rows]
    total = rows.pop() if table.is_last_strong else None
    kinds: list[tables.Kind] = ["figure" if column.numeric else "text" for column in table.columns]
    made = tables.Table("", tuple(map(tables.Column, heads, kinds)), rows, total=total)
    return tables.terminal(made, width=width, colour=colour).rstrip("\n")


def _heading(title: str) -> str:
    """A heading in two lines: broken before a bracket, behind a comma, or else behind its first word."""
    if " (" in title:
        return title.replace(" (", "\n(", 1)
    return title.replace(", ", ",\n", 1) if ", " in title else title.replace(" ", "\n", 1)


def _cut(name: str, room: int) -> str:
    """A name cut in its middle to so many cells of the terminal; the other formats have it whole.

    Words that three lines hold are left to be folded: what is cut out may be what tells two rows apart.
    """
    if cell_len(name) <= room or (" " in name and cell_len(name) <= 3 * room - _FOLDED):
        return name
    head = set_cell_size(name, (room - 1) // 2).rstrip()
    tail = set_cell_size(name[::-1], room - 1 - cell_len(head)).rstrip()[::-1]
    return f"{head}…{tail}"


def _aligned(rows: Iterable[Sequence[str]], width: int) -> list[str]:
    """Rows with their first cell on the left and the others on the right; what is too long is broken.

    For our own words only: widths are counted in characters.
    """
    grid = [tuple(row) for row in rows]
    widths = [max(len(row[place]) for row in grid) for place in range(len(grid[0]))]
    room = width - sum(wide + 2 for wide in widths[1:])
    first = min(widths[0], max(room, _NARROWEST // 2))
    lines = []
    for label, *numbers in grid:
        indent = " " * (len(label) - len(label.lstrip()))
        *above, last = textwrap.wrap(
            label, first, subsequent_indent=f"{indent}  ", drop_whitespace=False
        ) or [""]
        cells = "".join(f"  {number:>{wide}}" for number, wide in zip(numbers, widths[1:], strict=True))
        lines.append(
            "\n".join([*(line.rstrip() for line in above), f"{last.rstrip():<{first}}{cells}".rstrip()])
        )
    return lines


def _labelled(label: str, text: str, width: int, label_width: int = 9) -> str:
    head = f"{label:<{label_width}}  "
    return _filled(text, width, first=head, indent=" " * len(head))


def _filled(text: str, width: int, *, first: str = "", indent: str = "") -> str:
    return textwrap.fill(
        text,
        width,
        initial_indent=first or indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _own(text: str) -> str:
    """Our own words; marks of code are for outputs that can show them."""
    return text.replace("`", "")


def _bold(text: str, *, colour: bool) -> str:
    return f"\x1b[1m{text}\x1b[0m" if colour else text


def _prose_width(width: int | None) -> int:
    return max(_NARROWEST, min(width or _WIDTH, _WIDTH))
