"""The report as one HTML file that needs nothing else: text and tables first, charts drawn over them.

Nothing is requested: style, scripts, figures and plotly.js are in the file, and its content security policy
forbids every connection and every script but its own two, which it names by their hashes.
"""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from dedupstats.report.charts import charts
from dedupstats.report.outline import counted_line, outline, read_line
from dedupstats.report.text import safe_html

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dedupstats.report.blocks import Section, Table
    from dedupstats.report.charts import Chart
    from dedupstats.report.model import Report

_ALIGNED = 4
"""cells that fit side by side on a telephone"""
_FOOTER = "This page loads nothing and sends nothing."
_CODE = re.compile(r"`([^`]*)`")
_BOUND = re.compile(r"(?<=\d) (?=%|[kMGT]?B\b)| (?=\*)")
_JSON_ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def render(report: Report) -> str:
    """The page."""
    sections = outline(report)
    head = Head(
        "dedupstats report",
        report.headline,
        f"{read_line(report)} {counted_line(report)}",
        report.reproduce.version,
    )
    return page(head, sections, charts(report))


@dataclass(frozen=True, slots=True)
class Head:
    """What stands above the sections of a page.

    Attributes:
        eyebrow: A line above the headline.
        headline: The headline.
        lead: A paragraph below it.
        version: Of this program, for the last line of the page.
    """

    eyebrow: str
    headline: str
    lead: str
    version: str


def page(head: Head, sections: Iterable[Section], figures: Iterable[Chart]) -> str:
    """A page of sections, each with the chart of its key, if there is one."""
    sections = list(sections)
    drawn = {chart.key: chart for chart in figures}
    scripts = [_plotly(), _resource("report.js")] if drawn else []
    parts = [
        "<!doctype html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{_policy(scripts)}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="light dark">',
        '<meta name="referrer" content="no-referrer">',
        f"<title>{safe_html(f'dedupstats: {head.headline}')}</title>",
        f"<style>\n{_resource('report.css')}</style>",
        "</head>",
        "<body>",
        *_header(head, sections),
        "<main>",
        *(line for section in sections for line in _section(section, drawn.get(section.key))),
        "</main>",
        f"<footer>dedupstats {safe_html(head.version)}. {_FOOTER}</footer>",
        *(_scripts(drawn.values(), scripts) if drawn else ()),
        "</body>",
        "</html>",
    ]
    return "\n".join(parts) + "\n"


def _policy(scripts: Iterable[str]) -> str:
    hashes = " ".join(f"'sha256-{_sha256(script)}'" for script in scripts) or "'none'"
    # plotly.js sets styles from its script
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data: blob:; "
        "connect-src 'none'; base-uri 'none'; form-action 'none'"
    )


def _sha256(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


@cache
def _plotly() -> str:
    from plotly.offline import get_plotlyjs  # type: ignore[import-untyped]

    return str(get_plotlyjs())


@cache
def _resource(name: str) -> str:
    return (files("dedupstats.report") / name).read_text("utf-8")


def _header(head: Head, sections: Iterable[Section]) -> Iterator[str]:
    yield "<header>"
    yield f'<p class="eyebrow">{_words(head.eyebrow)}</p>'
    yield f"<h1>{_words(head.headline)}</h1>"
    yield f'<p class="lead">{_words(head.lead)}</p>'
    links = (f'<a href="#{section.key}">{_words(section.title)}</a>' for section in sections)
    yield f'<nav aria-label="Sections">{" ".join(links)}</nav>'
    yield "</header>"


def _section(section: Section, chart: Chart | None) -> Iterator[str]:
    yield f'<section id="{section.key}" aria-labelledby="{section.key}-title">'
    title = f'<h2 id="{section.key}-title">{_words(section.title)}</h2>'
    if section.folded:
        yield f"<details><summary>{title}</summary>"
    else:
        yield title
    yield from (f"<p>{_words(paragraph)}</p>" for paragraph in section.lead)
    for table in section.tables:
        yield from _table(table)
    if chart:
        yield from _chart(chart)
    if section.terms:
        yield "<dl>"
        for term, meaning in section.terms:
            yield f"<div><dt>{_words(term)}</dt><dd>{_foreign(meaning)}</dd></div>"
        yield "</dl>"
    for command in section.commands:
        yield f"<pre><code>{safe_html(command)}</code></pre>"
    if section.notes:
        yield "<ul>"
        yield from (f"<li>{_words(note)}</li>" for note in section.notes)
        yield "</ul>"
    if section.folded:
        yield "</details>"
    yield "</section>"


def _table(table: Table) -> Iterator[str]:
    caption = _words(table.caption)
    beside = len(table.columns) - 1
    # on a narrow screen the name of a row stands above its cells: a few figures below the headings of their
    # columns, all else each with its own; what is wider still scrolls inside its box, by keyboard too
    is_aligned = beside <= _ALIGNED and all(column.numeric for column in table.columns[1:])
    form = "rows" if is_aligned else "cards"
    yield (
        f'<div class="scroll {form}" style="--cells: {beside}" role="region" tabindex="0" '
        f'aria-label="{_plain(table.caption)}"><table>'
    )
    yield f"<caption><span>{caption}</span></caption>"
    heads = (
        f'<th scope="col"{_number(column.numeric)}>{_words(column.title)}</th>' for column in table.columns
    )
    yield f"<thead><tr>{''.join(heads)}</tr></thead>"
    yield "<tbody>"
    for place, row in enumerate(table.rows):
        strong = ' class="strong"' if table.is_last_strong and place == len(table.rows) - 1 else ""
        cells = [f'<th scope="row">{_foreign(row[0])}</th>']
        cells += [
            f"<td{_number(column.numeric)}{_label(column.title)}>{_foreign(cell)}</td>"
            for column, cell in zip(table.columns[1:], row[1:], strict=True)
        ]
        yield f"<tr{strong}>{''.join(cells)}</tr>"
    yield "</tbody></table></div>"


def _label(title: str) -> str:
    return f' data-label="{_kept_together(_plain(title))}"'


def _number(is_numeric: bool) -> str:  # noqa: FBT001
    return ' class="number"' if is_numeric else ""


def _chart(chart: Chart) -> Iterator[str]:
    yield "<figure>"
    yield (
        f'<div id="chart-{chart.key}" class="chart" role="img" aria-label="{safe_html(chart.alt)}" '
        f'style="height: {chart.height}px"></div>'
    )
    yield f"<figcaption><strong>{_words(chart.title)}.</strong> {_foreign(chart.alt)}</figcaption>"
    yield "</figure>"


def _scripts(drawn: Iterable[Chart], scripts: Iterable[str]) -> Iterator[str]:
    figures = {f"chart-{chart.key}": chart.figure for chart in drawn}
    yield "<noscript><p>The charts need JavaScript; their numbers are in the tables.</p></noscript>"
    yield f'<script type="application/json" id="figures">{_json(figures)}</script>'
    # the hash is that of the text between the tags: nothing may be put there, not even a line end
    yield from (f"<script>{script}</script>" for script in scripts)


def _json(value: object) -> str:
    """JSON that cannot end its script element, whatever the names in it are (U07)."""
    import orjson

    encoded = orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY).decode()
    return re.sub("[<>&\u2028\u2029]", lambda match: _JSON_ESCAPES[match[0]], encoded)


def _words(text: str) -> str:
    """Our own words, `code` marked as such."""
    return _CODE.sub(r"<code>\1</code>", _kept_together(safe_html(text)))


def _plain(text: str) -> str:
    return safe_html(text.replace("`", ""))


def _foreign(text: str) -> str:
    """Text that may hold a name from a log: literal, and set apart in its writing direction (U13)."""
    return f'<bdi dir="auto">{_kept_together(safe_html(text))}</bdi>'


def _kept_together(text: str) -> str:
    """A number and its unit, a word and its star, on one line."""
    return _BOUND.sub("\u00a0", text)
