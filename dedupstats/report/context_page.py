"""Context curves as one HTML file that needs nothing else."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from dedupstats._version import __version__
from dedupstats.report import context_words as words
from dedupstats.report import html, money
from dedupstats.report.blocks import Column, Section, Table, names
from dedupstats.report.charts import Chart, axis_title, figure_of, label_of, layout_of
from dedupstats.report.context_chart import MARKS, largest, mark_key, thinned
from dedupstats.report.context_tables import session_notes
from dedupstats.report.text import count

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dedupstats.analytics.context import Curve, Point, SessionContexts

MOST: Final = 1_000
"""requests that are drawn: more than a screen has pixels would only slow it down"""
_HEIGHT: Final = 360
_NAMED: Final = 3
_LABEL: Final = 48
_SYMBOLS: Final = dict(
    zip(MARKS, ("diamond", "diamond-open", "x", "triangle-down", "triangle-left"), strict=True)
)


def render(found: SessionContexts, *, full_paths: bool) -> str:
    """The page: a section a context, with its chart and the largest jumps."""
    head = html.Head(
        "dedupstats context",
        f"Contexts of {words.session_title(found, full_paths=full_paths)}",
        " ".join(session_notes(found, full_paths=full_paths)),
        __version__,
    )
    sections, figures = [], []
    for number, curve in enumerate(found.curves, start=1):
        key = f"context-{number}"
        sections.append(_section(key, curve, found.policy, full_paths=full_paths))
        figures.append(_chart(key, curve, found.policy))
    return html.page(head, sections, figures)


def _section(key: str, curve: Curve, policy: str, *, full_paths: bool) -> Section:
    rows = words.jumps(curve, full_paths=full_paths)
    columns = (names("request"), Column("grew by"), Column("to"), names("tool results that entered"))
    notes = list(words.curve_notes(curve, policy))
    if len(curve.points) > MOST:
        several = -(-len(curve.points) // MOST)
        notes.append(f"The chart draws the largest of up to {count(several)} requests at a time.")
    title = words.context_title(curve)
    return Section(
        key,
        title[:1].upper() + title[1:],
        tables=(Table("The largest jumps, in tokens", columns, tuple(rows)),) if rows else (),
        notes=tuple(notes),
    )


def _chart(key: str, curve: Curve, policy: str) -> Chart:
    groups = thinned(curve.points, MOST)
    traces = [_prompts(groups)]
    if any(point.removed_tokens for point in curve.points):
        traces.append(_left(groups, policy))
    if any(point.results for point in curve.points):
        traces.append(_results(groups))
    traces += _boundaries(curve)
    layout = layout_of(
        _HEIGHT,
        xaxis={"fixedrange": True, "nticks": 6, "tickangle": 0, "showgrid": False} | axis_title("request"),
        yaxis={
            "fixedrange": True,
            "nticks": 5,
            "tickformat": "~s",
            "rangemode": "tozero",
            "gridcolor": "var(--grid)",
            "zerolinecolor": "var(--axis)",
        }
        | axis_title("tokens"),
    )
    return Chart(
        key,
        "Prompt of each request, and the tool results that entered before it",
        f"{words.size_line(curve)}.",
        _HEIGHT,
        figure_of(traces, layout),
    )


def _prompts(groups: Sequence[Sequence[Point]]) -> dict[str, Any]:
    shown = [largest(group) for group in groups]
    return {
        "type": "scatter",
        "mode": "lines" if len(shown) > 1 else "markers",
        "name": "prompt",
        "x": [point.request for point in shown],
        "y": [point.prompt_tokens for point in shown],
        "fill": "tozeroy",
        "line": {"color": "var(--rule-session)", "width": 1.5},
        "customdata": [
            [money.tokens(point.prompt_tokens), "" if point.is_measured else " (bytes / 4)"]
            for point in shown
        ],
        "hovertemplate": "request %{x:,}: %{customdata[0]} tokens%{customdata[1]}<extra></extra>",
    }


def _left(groups: Sequence[Sequence[Point]], policy: str) -> dict[str, Any]:
    shown = [largest(group) for group in groups]
    return {
        "type": "scatter",
        "mode": "lines" if len(shown) > 1 else "markers",
        "name": f"with {policy}",
        "x": [point.request for point in shown],
        "y": [point.prompt_tokens - point.removed_tokens for point in shown],
        "line": {"color": "var(--accent)", "width": 1.5, "dash": "dot"},
        "customdata": [[money.tokens(point.removed_tokens)] for point in shown],
        "hovertemplate": "request %{x:,}: %{customdata[0]} tokens fewer<extra></extra>",
    }


def _results(groups: Sequence[Sequence[Point]]) -> dict[str, Any]:
    places, sizes, told = [], [], []
    for group in groups:
        results = sorted(
            (result for point in group for result in point.results),
            key=lambda result: (-result.tokens, result.emission_key),
        )
        if results:
            places.append(largest(group).request)
            sizes.append(sum(result.tokens for result in results))
            named = [
                f"{label_of(f'{result.tool} {result.target or str()}'.strip(), _LABEL)} "
                f"{money.tokens(result.tokens)}"
                for result in results[:_NAMED]
            ]
            more = [f"{count(len(results) - _NAMED)} more"] if len(results) > _NAMED else []
            told.append(["<br>".join([*named, *more])])
    return {
        "type": "bar",
        "name": "tool results that entered",
        "x": places,
        "y": sizes,
        "marker": {"color": "var(--rule-visible)", "line": {"width": 0}},
        "customdata": told,
        "hovertemplate": "%{customdata[0]}<extra></extra>",
    }


def _boundaries(curve: Curve) -> Iterator[dict[str, Any]]:
    """A trace per kind of boundary, at the height of the request before it."""
    order = list(MARKS)
    marks = sorted(curve.marks, key=lambda mark: (order.index(mark_key(mark)), mark.request, mark.line))
    for key, group in groupby(marks, key=mark_key):
        listed = list(group)
        before = [curve.points[max(mark.request - 2, 0)] for mark in listed]
        words_of = MARKS[key][1]
        yield {
            "type": "scatter",
            "mode": "markers",
            "name": words_of,
            "x": [mark.request - 0.5 for mark in listed],
            "y": [point.prompt_tokens for point in before],
            "marker": {"color": "var(--ink)", "size": 9, "symbol": _SYMBOLS[key]},
            "customdata": [[count(mark.request), count(mark.line)] for mark in listed],
            "hovertemplate": (
                f"{words_of} before request %{{customdata[0]}}, line %{{customdata[1]}}<extra></extra>"
            ),
        }
