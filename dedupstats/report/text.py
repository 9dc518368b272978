"""Text for people: foreign names made safe for each output, numbers as people read them, names made short.

Names of tools, projects and models come from logs and may hold anything: escape sequences, line ends,
markup of every kind, formulas, half surrogates. Each output has one function that makes such a text plain
text there (fault cases of class U).
"""

from __future__ import annotations

import html
import json
import re
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

NO_DATA = "no data"
"""Shown where there is nothing to divide by (fault case S08)."""

_LINE_ENDS = "\t\n\r"
_UNSEEN = (
    # DEL and C1; marks, embeddings, overrides, isolates of writing direction; separators of lines, paragraphs
    "\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"
    # what has no width: soft hyphen, spaces and joiners, fillers, notes, tags (which spell whole words
    # unseen); but for the joiners that scripts and emoji are made with
    "\u00ad\u115f\u1160\u180e\u200b\u2060-\u2065\u3164\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff"
)
# C0; halves of surrogate pairs, which no UTF-8 output can hold
_HIDDEN = re.compile(f"[\x00-\x1f{_UNSEEN}\ud800-\udfff]")
_HIDDEN_IN_JSON = re.compile(f"[{_UNSEEN}]")
_SHORT_ESCAPES = {"\t": "\\t", "\n": "\\n", "\r": "\\r"}
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")

_MARKDOWN = re.compile(r"[\\`*_\[\]~|]")
_MARKDOWN_ENTITIES = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", "$": "&#36;", "\u200b": "&#8203;"}
)
_MARKDOWN_LINKS = re.compile(
    r"[@#](?=\w)"  # mentions, issues
    r"|:(?=[\w+/-])"  # addresses, emoji codes
    r"|\bwww(?=\.)|\bGH-(?=\d)",
    re.IGNORECASE,
)


# -- foreign text --------------------------------------------------------------------------------------------


def safe_text(text: str) -> str:
    r"""The text on one line, its control and direction characters as visible escapes (U03, U13).

    Example:
        >>> print(safe_text("a\x1b[2Jb\nc\u202ed"))
        a\x1b[2Jb\nc\u202ed
    """
    return _HIDDEN.sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    character = match[0]
    code = ord(character)
    wide = f"\\U{code:08x}" if code > 0xFFFF else f"\\u{code:04x}"  # noqa: PLR2004
    return _SHORT_ESCAPES.get(character) or (f"\\x{code:02x}" if code < 0x100 else wide)  # noqa: PLR2004


def safe_markdown(text: str) -> str:
    r"""The text as one cell of a Markdown table, shown literally (U12).

    Nothing in it becomes markup, HTML, a mention, a link to an issue or address, or an emoji: where GitHub
    looks at the finished text, a zero-width space parts what it would look for.

    Example:
        >>> safe_markdown("a|b @team #12")
        'a\\|b @&#8203;team #&#8203;12'
    """
    parted = _MARKDOWN_LINKS.sub("\\g<0>\u200b", safe_text(text))
    return _MARKDOWN.sub(r"\\\g<0>", parted).translate(_MARKDOWN_ENTITIES)


def safe_csv(text: str) -> str:
    """The text as a CSV cell that no spreadsheet takes for a formula (U05); quoting is the CSV writer's.

    Line ends stay: a reader gets one field of the same text (U06).

    Example:
        >>> safe_csv("=1+1"), safe_csv("a=1")
        ("'=1+1", 'a=1')
    """
    marked = f"'{text}" if text.startswith(_FORMULA) else text
    return _HIDDEN.sub(lambda match: match[0] if match[0] in _LINE_ENDS else _escaped(match), marked)


def safe_html(text: str) -> str:
    """The text as HTML text or as the value of a quoted attribute (U07).

    Example:
        >>> safe_html("</script>")
        '&lt;/script&gt;'
    """
    return html.escape(safe_text(text), quote=True)


def valid_utf8(text: str) -> str:
    r"""The text with halves of surrogate pairs as visible escapes, everything else as it is: for JSON.

    Example:
        >>> print(valid_utf8("a\ud83d"))
        a\ud83d
    """
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def safe_json(document: str) -> str:
    r"""A JSON document with what no reader would see as escapes: the same values, and nothing hidden.

    Example:
        >>> print(safe_json('{"a": "b\u202ec"}'))
        {"a": "b\u202ec"}
    """
    return _HIDDEN_IN_JSON.sub(lambda match: json.dumps(match[0])[1:-1], document)


# -- numbers -------------------------------------------------------------------------------------------------


def count(number: int) -> str:
    """A count with thousands separators.

    Example:
        >>> count(-12345)
        '-12,345'
    """
    return f"{number:,}"


def size(number: int) -> str:
    """Bytes in decimal units, three digits or more.

    Example:
        >>> size(999), size(1_000), size(48_250_000), size(-90)
        ('999 B', '1.00 kB', '48.2 MB', '-90 B')
    """
    value = float(abs(number))
    sign = "-" if number < 0 else ""
    if value < 1000:  # noqa: PLR2004
        return f"{number} B"
    for unit in ("kB", "MB", "GB", "TB"):
        value /= 1000
        # what would be rounded up to 1,000 belongs to the next unit
        if value < 999.5 or unit == "TB":  # noqa: PLR2004
            break
    digits = 2 if value < 9.995 else 1 if value < 99.95 else 0  # noqa: PLR2004
    return f"{sign}{value:,.{digits}f} {unit}"


def percent(share: float | None) -> str:
    """A share as people read it: one decimal; a trace is never shown as nothing, nor all but one as all.

    Example:
        >>> percent(0.485), percent(0.0), percent(0.0001), percent(0.99999), percent(-0.3586), percent(None)
        ('48.5 %', '0.0 %', '<0.1 %', '>99.9 %', '-35.9 %', 'no data')
    """
    if share is None:
        return NO_DATA
    value = share * 100 + 0.0  # no negative zero
    if 0 < abs(value) < 0.05:  # noqa: PLR2004
        return "<0.1 %" if value > 0 else ">-0.1 %"
    if 99.95 <= value < 100:  # noqa: PLR2004
        return ">99.9 %"
    return f"{value:,.1f} %"


def part_of(part: int, whole: int) -> str:
    """A percentage with its numerator and denominator.

    Example:
        >>> part_of(537, 943), part_of(0, 0)
        ('537 of 943 (56.9 %)', '0 of 0 (no data)')
    """
    return f"{count(part)} of {count(whole)} ({percent(part / whole if whole else None)})"


# -- names ---------------------------------------------------------------------------------------------------


_ID_CHARS = 8


def short_session(session: str) -> str:
    """The start of a session's id, which is enough to find it."""
    return session[:_ID_CHARS]


def short_path(path: str) -> str:
    r"""The last part of a POSIX or Windows path.

    Example:
        >>> short_path("/home/a/app/"), short_path("C:\\work\\app"), short_path("app"), short_path("/")
        ('app', 'app', 'app', '/')
    """
    return _parts(path)[-1] if _parts(path) else path


def short_paths(paths: Iterable[str]) -> dict[str, str]:
    """Each path's shortest ending that no other of them shares, so that two projects never look like one.

    Example:
        >>> short_paths(["/a/x/app", "/a/y/app", "/a/lib"])
        {'/a/x/app': 'x/app', '/a/y/app': 'y/app', '/a/lib': 'lib'}
    """
    wanted = list(dict.fromkeys(paths))
    # sorted by their ends, a path shares most with one of its neighbours
    ends = sorted((_parts(path)[::-1], path) for path in wanted)
    shared = [_common(one[0], other[0]) for one, other in pairwise(ends)]
    short = {}
    for (parts, path), before, after in zip(ends, [0, *shared], [*shared, 0], strict=False):
        depth = max(before, after) + 1
        short[path] = "/".join(parts[:depth][::-1]) if depth <= len(parts) else path
    return {path: short[path] for path in wanted}


def _common(one: list[str], other: list[str]) -> int:
    """How many parts two lists share from their beginning."""
    return next(
        (place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b),
        min(len(one), len(other)),
    )


def _parts(path: str) -> list[str]:
    return [part for part in re.split(r"[/\\]", path) if part]
