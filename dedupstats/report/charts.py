"""The three charts of the HTML page, as plotly figures in JSON: they show what the tables say.

The default rules contain each other (still visible, in the session, same call), so their bars lie inside
each other. Colours are names of CSS variables: the page puts the values in, so that one file serves light
and dark. Names from logs are escaped for plotly, which reads a little HTML in its labels.
"""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dedupstats.report import text
from dedupstats.report.outline import DEFAULT_RULES, RULE_LABELS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dedupstats.report.model import Distribution, OverTime, Repeats, Report, Tools

_WIDTHS = (0.84, 0.56, 0.28)
"""of a bar and the two inside it, widest rule first"""
_LABEL_CHARS = 26
_ROW_PX = 34


@dataclass(frozen=True, slots=True)
class Chart:
    """A figure for plotly.js, and what it shows in words, for those who cannot see it.

    Attributes:
        key: Key of the section that it belongs to; the id of its element.
        title: What is drawn.
        alt: What is to be seen in it, with the numbers.
        height: Height in pixels.
        figure: `data` and `layout` for `Plotly.newPlot`.
    """

    key: str
    title: str
    alt: str
    height: int
    figure: dict[str, Any]
