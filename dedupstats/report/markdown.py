"""The report as Markdown for a pull request: a headline, the table that matters, details to unfold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dedupstats.report import tables
from dedupstats.report.outline import (
    LAST_LINE,
    LINES_NOTE,
    STAR,
    counted_line,
    outline,
    read_line,
    shown_before,
)
from dedupstats.report.outline_replay import pull_request
from dedupstats.report.text import safe_html, safe_markdown, safe_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dedupstats.report.blocks import Section, Table
    from dedupstats.report.model import Report

_IN_BRIEF = ("shown-before",)
_FOLDED = ("over-time",)
"""sections that are long and no detail"""


def render(report: Report, *, brief: bool = False) -> str:
    """The document; `brief` gives its first dozen lines, which stand alone."""
    blocks = list(_brief(report))
    if not brief:
        for section in outline(report):
            if section.key not in _IN_BRIEF:
                blocks.extend(_section(section))
    return "\n\n".join(blocks) + "\n"


def _brief(report: Report) -> Iterator[str]:
    replay = report.replay
    headline = (replay.headline if replay else None) or report.headline
    yield f"## {safe_markdown(headline)}"
    read = safe_markdown(f"{read_line(report)} {counted_line(report)}")
    if replay and replay.headlines:
        # one paragraph: of a dozen lines, the table takes eight
        yield f"{' '.join(pull_request(report, replay))} {read}"
    else:
        yield " ".join([read, *([replay.refused] if replay and replay.refused else [])])
    table = shown_before(report)
    if table.rows:
        yield _rows(table)
        last = f"{LAST_LINE} {LINES_NOTE} " if report.corpus.results else ""
        tokens = f"Tokens of repeats are {report.token_rule}"
        yield f"\\{STAR} {last}{tokens}; leaving text out saves tokens, not time."


def _section(section: Section) -> Iterator[str]:
    is_folded = section.folded or section.key in _FOLDED
    # an empty line ends the HTML block, so that Markdown goes on inside
    yield (
        f"<details>\n<summary>{safe_html(section.title)}</summary>" if is_folded else f"### {section.title}"
    )
    yield from section.lead
    for table in section.tables:
        # a star before its meaning is no emphasis
        caption = table.caption.replace("*", "\\*")
        yield f"{caption}\n\n{_rows(table)}"
    if section.terms:
        yield "\n".join(
            f"- **{safe_markdown(term)}**: {safe_markdown(meaning)}" for term, meaning in section.terms
        )
    yield from (f"```sh\n{safe_text(command)}\n```" for command in section.commands)
    if section.notes:
        yield "\n".join(f"- {note}" for note in section.notes)
    if is_folded:
        yield "</details>"


def _rows(table: Table) -> str:
    rows = [(row[0].strip(), *row[1:]) for row in table.rows]
    total = rows.pop() if table.is_last_strong else None
    columns = tuple(
        tables.Column(column.title, "figure" if column.numeric else "text") for column in table.columns
    )
    return tables.markdown(tables.Table("", columns, rows, total=total)).rstrip("\n")
