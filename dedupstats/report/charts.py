"""The charts of the HTML page, as plotly figures: they show what the tables beside them say.

The three rules contain each other, so their bars lie inside each other. A colour is the name of a CSS
variable of the page, which puts the value in: one file serves light and dark. Names from logs are escaped
once for plotly, which reads some HTML in its labels.
"""

from __future__ import annotations

import html
import math
from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

from dedupstats.analytics.rates import PERIODS
from dedupstats.report.blocks import of_pct, pct, plural
from dedupstats.report.outline import LABELS, NESTED_RULES
from dedupstats.report.text import count, percent, safe_text, size

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dedupstats.report.model import Distribution, OverTime, Repeats, Report, Tool
    from dedupstats.report.model_replay import PolicyReplay

_COLOURS = dict(
    zip(NESTED_RULES, ("var(--rule-call)", "var(--rule-session)", "var(--rule-visible)"), strict=True)
)
_WIDTHS = dict(zip(NESTED_RULES, (0.84, 0.54, 0.26), strict=True))
"""of a bar and of the bars inside it"""
_NAMES = {rule: label.replace("*", "(upper bound)") for rule, label in LABELS.items()}
_LABEL_CHARS = 22
_NAME_CHARS = 60
_ROW_PX = 36
_FRAME_PX = 96
_HEIGHT_PX = 340
_SMALLEST_SCALE = 0.02
"""upper end of a scale that would else magnify traces"""
_ECDF_POINTS = 400
_TICKS = {"day": 3, "week": 4, "month": 5}
"""labels of periods that a phone has room for"""


@dataclass(frozen=True, slots=True)
class Chart:
    """A figure for plotly.js, and what is to be seen in it for those who cannot see it.

    Attributes:
        key: Key of the section that it belongs to.
        title: What is drawn.
        alt: What it shows, with the numbers.
        height: Pixels.
        figure: `data` and `layout`, for `Plotly.newPlot`.
    """

    key: str
    title: str
    alt: str
    height: int
    figure: dict[str, Any]


def charts(report: Report) -> tuple[Chart, ...]:
    """The charts of the report: per tool, over sessions, over time, per engine; none without results."""
    if not report.corpus.results:
        return ()
    shown = report.tools.rows[: report.tools.shown]
    made = [_tools(shown), _sessions(report.sessions)]
    if report.replay:
        made += [chart for policy in report.replay.headlines for chart in _ladder(policy)]
    if report.over_time.periods:
        made.append(_over_time(report.over_time))
    return tuple(made)


def _tools(tools: Sequence[Tool]) -> Chart:
    places = list(range(len(tools)))
    traces = [
        _bar(
            rule,
            y=places,
            x=[tool.repeats[rule].bytes.share or 0 for tool in tools],
            orientation="h",
            customdata=[[label_of(tool.name, _NAME_CHARS), _counted(tool.repeats[rule])] for tool in tools],
            hovertemplate="<b>%{customdata[0]}</b><br>" + _NAMES[rule] + ": %{customdata[1]}<extra></extra>",
        )
        for rule in NESTED_RULES
    ]
    height = _FRAME_PX + _ROW_PX * len(tools)
    top = max((tool.repeats[NESTED_RULES[0]].bytes.share or 0 for tool in tools), default=0)
    layout = layout_of(
        height,
        xaxis=_share_axis(top),
        yaxis={
            "tickvals": places,
            "ticktext": [f"{label_of(tool.name, _LABEL_CHARS)}  " for tool in tools],
            "autorange": "reversed",
            "automargin": True,
            "fixedrange": True,
            "showgrid": False,
        },
    )
    visible = [
        f"{_cut(tool.name, _NAME_CHARS)} {pct(tool.repeats[NESTED_RULES[-1]].bytes)}" for tool in tools[:3]
    ]
    return Chart(
        "tools",
        "Repeated bytes per tool, of the tool's own bytes",
        f"Bars for the {len(tools)} tools with most bytes, each rule inside the wider one. Still visible: "
        f"{', '.join(visible)}.",
        height,
        figure_of(traces, layout),
    )


def _over_time(found: OverTime) -> Chart:
    labels = [period.label for period in found.periods]
    begins = [date.fromisoformat(period.begins) for period in found.periods]
    # days without results are gaps: the axis is time, not the list of periods
    places = [_place(found.unit, begins[0], day) for day in begins]
    traces = [
        _bar(
            rule,
            x=places,
            y=[period.repeats[rule].bytes.share or 0 for period in found.periods],
            customdata=[
                [label, _counted(period.repeats[rule])]
                for label, period in zip(labels, found.periods, strict=True)
            ],
            hovertemplate="<b>%{customdata[0]}</b><br>" + _NAMES[rule] + ": %{customdata[1]}<extra></extra>",
        )
        for rule in NESTED_RULES
    ]
    ticks = range(0, places[-1] + 1, max(1, math.ceil((places[-1] + 1) / _TICKS[found.unit])))
    highest = max(found.periods, key=lambda period: period.repeats[NESTED_RULES[-1]].bytes.share or 0)
    layout = layout_of(
        _HEIGHT_PX,
        yaxis=_share_axis(max(period.repeats[NESTED_RULES[0]].bytes.share or 0 for period in found.periods)),
        xaxis={
            "tickvals": list(ticks),
            "ticktext": [_period_label(found.unit, begins[0], place) for place in ticks],
            "tickangle": 0,
            "fixedrange": True,
            "showgrid": False,
            "range": [-0.6, max(places[-1] + 1, 4) - 0.4],
        },
    )
    shown = pct(highest.repeats[NESTED_RULES[-1]].bytes)
    return Chart(
        "over-time",
        f"Repeated bytes per {found.unit}, of the {found.unit}'s bytes ({found.tz})",
        f"{plural(len(labels), found.unit)} with results from {labels[0]} to {labels[-1]}; "
        f"most still visible in {highest.label}: {shown}.",
        _HEIGHT_PX,
        figure_of(traces, layout),
    )


def _place(unit: str, first: date, day: date) -> int:
    """How many periods a period begins after the first one."""
    if unit == "month":
        return (day.year - first.year) * 12 + day.month - first.month
    return (day - first).days // (7 if unit == "week" else 1)


def _period_label(unit: str, first: date, place: int) -> str:
    """The label of a period, with results or without."""
    if unit == "month":
        months = first.year * 12 + first.month - 1 + place
        return PERIODS[unit](date(months // 12, months % 12 + 1, 1))
    return PERIODS[unit](first + timedelta(days=place * (7 if unit == "week" else 1)))


def _sessions(spreads: Sequence[Distribution]) -> Chart:
    traces: list[dict[str, Any]] = []
    for spread in spreads:
        points = _ecdf(spread.values)
        traces.append(
            {
                "type": "scatter",
                "mode": "lines",
                "name": _NAMES[spread.rule],
                "x": [x for x, _ in points],
                "y": [y for _, y in points],
                "line": {"shape": "hv", "width": 2.5, "color": _COLOURS[spread.rule]},
                "hovertemplate": (
                    f"{_NAMES[spread.rule]}: at most %{{x:.1%}} in %{{y:.0%}} of sessions<extra></extra>"
                ),
            }
        )
    top = max((spread.max or 0 for spread in spreads), default=0)
    layout = layout_of(
        _HEIGHT_PX,
        xaxis=_share_axis(top) | axis_title("repeated bytes of a session"),
        yaxis=_share_axis(1) | axis_title("sessions with at most so much"),
    )
    said = "; ".join(
        f"{_NAMES[spread.rule]}: median {percent(spread.median)}, p90 {percent(spread.p90)}, "
        f"max {percent(spread.max)}, {of_pct(spread.with_any)} with any"
        for spread in spreads
    )
    return Chart(
        "sessions",
        "How sessions differ: share of sessions with at most so many repeated bytes",
        f"Steps from no repeat to the session with most. {said}.",
        _HEIGHT_PX,
        figure_of(traces, layout),
    )


def _ladder(policy: PolicyReplay) -> Iterator[Chart]:
    """A waterfall in tokens; none where there is not even an upper bound."""
    first, *steps = policy.steps
    if not first.left.tokens:
        return
    words = ["upper bound", *(step.words.partition(" (")[0] for step in steps[:-1]), "markers", "saved"]
    values = [first.left.tokens, *(-step.removed_tokens for step in steps), policy.saved.part]
    left = [*(step.left.tokens for step in policy.steps[:-1]), policy.saved.part, policy.saved.part]
    measures = [*("relative" for _ in policy.steps), "total"]
    places = list(range(len(words)))
    trace = {
        "type": "waterfall",
        "orientation": "h",
        "measure": measures,
        "y": places,
        "x": values,
        "base": 0,
        "customdata": [
            [word, f"{count(value)} tokens", f"{count(rest)} tokens"]
            for word, value, rest in zip(words, values, left, strict=True)
        ],
        "hovertemplate": "<b>%{customdata[0]}</b><br>%{customdata[1]}; left: %{customdata[2]}<extra></extra>",
        "connector": {"line": {"color": "var(--axis)", "width": 1}},
        "decreasing": {"marker": {"color": "var(--rule-call)"}},
        "increasing": {"marker": {"color": "var(--rule-session)"}},
        "totals": {"marker": {"color": "var(--rule-visible)"}},
    }
    height = _FRAME_PX + _ROW_PX * len(words)
    layout = layout_of(
        height,
        xaxis={
            "fixedrange": True,
            "nticks": 4,
            "tickangle": 0,
            "tickformat": "~s",
            "rangemode": "tozero",
            "gridcolor": "var(--grid)",
            "zerolinecolor": "var(--axis)",
        }
        | axis_title("tokens"),
        yaxis={
            "tickvals": places,
            "ticktext": [f"{label_of(word, _LABEL_CHARS)}  " for word in words],
            "autorange": "reversed",
            "automargin": True,
            "fixedrange": True,
            "showgrid": False,
        },
    )
    yield Chart(
        f"ladder-{policy.policy}",
        f"{policy.words}: from upper bound to net, replayed",
        f"From {count(first.left.tokens)} tokens, the upper bound, down to {count(policy.saved.part)} saved: "
        f"{pct(policy.saved)} of all tokens shown.",
        height,
        figure_of([trace], layout),
    )


def _ecdf(values: Sequence[float]) -> list[tuple[float, float]]:
    """Share of values at most x, at each step; thinned where there are more than an eye can tell."""
    if not values:
        return []
    steps: dict[float, float] = {0.0: 0.0}
    for place, value in enumerate(values, start=1):
        steps[value] = place / len(values)
    points = list(steps.items())
    stride = max(1, len(points) // _ECDF_POINTS)
    return [*points[:-1:stride], points[-1]]


def _bar(rule: str, **trace: Any) -> dict[str, Any]:
    return {
        "type": "bar",
        "name": _NAMES[rule],
        "width": _WIDTHS[rule],
        "marker": {"color": _COLOURS[rule], "line": {"width": 0}},
        **trace,
    }


def _counted(repeats: Repeats) -> str:
    return (
        f"{pct(repeats.bytes)} of bytes<br>{size(repeats.bytes.part)} of {size(repeats.bytes.whole)}, "
        f"{of_pct(repeats.results)} results"
    )


def label_of(name: str, longest: int) -> str:
    """A name as plotly shows it: literal, isolated in its writing direction."""
    return f"\u2068{html.escape(_cut(name, longest), quote=False)}\u2069"


def _cut(name: str, longest: int) -> str:
    """A name without control characters, cut in its middle."""
    shown = safe_text(name)
    if len(shown) <= longest:
        return shown
    half = (longest - 1) // 2
    return f"{shown[:half]}…{shown[-half:]}"


def _share_axis(top: float) -> dict[str, Any]:
    """An axis of shares from 0 to a bit more than the largest."""
    return {
        "range": [0, min(1.02, max(top * 1.06, _SMALLEST_SCALE))],
        "tickformat": ".0%" if top > 0.1 else ".1%",  # noqa: PLR2004
        "fixedrange": True,
        "nticks": 5,
        "tickangle": 0,
        "gridcolor": "var(--grid)",
        "zerolinecolor": "var(--axis)",
    }


def axis_title(words: str) -> dict[str, Any]:
    """The title of an axis, as a member of it."""
    return {"title": {"text": words, "font": {"size": 13}, "standoff": 8}}


def layout_of(height: int, *, xaxis: dict[str, Any], yaxis: dict[str, Any]) -> dict[str, Any]:
    """What the layouts of all charts share."""
    return {
        "barmode": "overlay",
        "height": height,
        "dragmode": False,
        "margin": {"l": 56, "r": 12, "t": 36, "b": 48},
        "legend": {"orientation": "h", "x": 0, "xanchor": "left", "y": 1, "yanchor": "bottom"},
        "hoverlabel": {"align": "left"},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"size": 13, "color": "var(--ink)"},
        "xaxis": xaxis,
        "yaxis": yaxis,
    }


def figure_of(traces: list[dict[str, Any]], layout: dict[str, Any]) -> dict[str, Any]:
    """Checked by plotly, so that a wrong key fails here and not silently in a browser."""
    import plotly.graph_objects as go  # type: ignore[import-untyped]

    figure = go.Figure(data=traces, layout={"template": "none", **layout})
    plain: dict[str, Any] = figure.to_plotly_json()
    return {"data": plain["data"], "layout": plain["layout"]}
