"""Money, tokens and how they are known, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dedupstats.economics.tokens import BANDS, Level
from dedupstats.report import text
from dedupstats.report.blocks import plural

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dedupstats.analytics.units import InputSide, Unit, Worth

UNITS: dict[Unit, str] = {
    "tokens": "first-pass tokens",
    "sent": "tokens sent",
    "usd": "list price",
    "share": "share of input cost",
}
"""what a figure is counted in, as headings say it"""
SENT = "Tokens sent: a token counts at each request that carried it"
LIFE = "A result counts with its whole life, in resumed and forked sessions and after the window too."
BYTES4 = "bytes / 4, rounded up per result, as RTK counts: 25 to 52 % low for today's models"
BASIS = "List-price equivalent, not a bill"


def usd(amount: float | None) -> str:
    """Dollars: whole from 100 on, cents from 10 cents on, else two digits; nothing known is no zero.

    Example:
        >>> usd(312.4), usd(3.456), usd(0.01234), usd(0.0), usd(-2.5), usd(None)
        ('$312', '$3.46', '$0.012', '$0', '-$2.50', 'no price')
    """
    if amount is None:
        return "no price"
    size = abs(amount)
    sign = "-" if amount < 0 else ""
    if size >= 100:  # noqa: PLR2004
        return f"{sign}${size:,.0f}"
    if size >= 0.0995:  # noqa: PLR2004
        return f"{sign}${size:.2f}"
    return f"{sign}${size:.2g}" if size >= 1e-4 else "$0" if not size else f"{sign}<$0.0001"  # noqa: PLR2004


def tokens(number: float) -> str:
    """Tokens to three digits.

    Example:
        >>> tokens(67_558_349.8), tokens(17_492), tokens(646.9), tokens(999_600)
        ('67.6 M', '17.5 k', '647', '1.00 M')
    """
    # what would be rounded up to 1,000 belongs to the next unit
    for least, unit, name in ((999_500, 1_000_000, "M"), (999.5, 1_000, "k")):
        if abs(number) >= least:
            value = number / unit
            digits = 2 if abs(value) < 9.995 else 1 if abs(value) < 99.95 else 0  # noqa: PLR2004
            return f"{value:,.{digits}f} {name}"
    return f"{number:,.0f}"


def amount(worth: Worth, unit: Unit, side: InputSide) -> str:
    """A worth in one unit; what has no price is said to have none.

    Example:
        >>> from dedupstats.analytics.units import InputSide, Worth
        >>> worth, side = Worth((1800, 0, 0, 0, 0), sent=5400, usd=0.5), InputSide(requests=2, usd=8.0)
        >>> [amount(worth, unit, side) for unit in ("tokens", "sent", "usd", "share")]
        ['1.80 k', '5.40 k', '$0.50', '6.2 %']
    """
    if unit != "tokens" and worth.known_sent is None:
        return text.NO_DATA
    if unit == "usd":
        return usd(worth.paid)
    if unit == "share":
        return text.percent(side.share(worth)) if worth.paid is not None else usd(None)
    return tokens(worth.tokens if unit == "tokens" else worth.sent)


def input_words(side: InputSide) -> str:
    """What shares of cost are of: the input-side cost of a window's requests, with what has no price.

    Example:
        >>> from dedupstats.analytics.units import InputSide
        >>> input_words(InputSide(requests=4, unpriced=1, tokens=28500, unpriced_tokens=8000, usd=179.7))
        '$180 input-side cost of 3 requests in this window (1 of 4 has no price: 28.1 % of input tokens)'
    """
    said = f"{usd(side.paid)} input-side cost of {plural(side.requests - side.unpriced, 'request')}"
    if side.paid is None:
        return f"no input-side cost: none of {plural(side.requests, 'request')} in this window has a price"
    said = f"{said} in this window"
    if not side.unpriced:
        return said
    part = text.percent(side.unpriced_tokens / side.tokens if side.tokens else None)
    has = "has" if side.unpriced == 1 else "have"
    without = f"{text.count(side.unpriced)} of {text.count(side.requests)}"
    return f"{said} ({without} {has} no price: {part} of input tokens)"


def left_out(worth: Worth) -> list[str]:
    """What dollars of a worth leave out or only model, in sentences; none where they are whole.

    Example:
        >>> from dedupstats.analytics.units import Worth
        >>> left_out(Worth(sent=5400, usd=0.007, unpriced_sent=1800))
        ['Without a price, and in no dollars: 1.80 k of 5.40 k tokens sent (33.3 %).']
    """
    said = []
    for part, words in (
        (worth.unpriced_sent, "Without a price, and in no dollars"),
        (worth.modelled_sent, "Modelled, as the log has no usage"),
    ):
        if part:
            shown = f"{tokens(part)} of {tokens(worth.sent)} tokens sent ({text.percent(part / worth.sent)})"
            said.append(f"{words}: {shown}.")
    if worth.unseen:
        said.append(
            f"No request in the log that could have sent them: {plural(worth.unseen, 'result')}; "
            "in no tokens sent and no dollars."
        )
    return said


def known_by(by_level: Mapping[int, float]) -> str:
    """The mix of levels of some tokens, with the error band of each (token-economics.md 5.4).

    Example:
        >>> known_by({0: 75.0, 3: 25.0})
        '75.0 % measured, 25.0 % estimated by model family (median error 8 %, 90 % within 28 %)'
    """
    whole = sum(by_level.values())
    if not whole:
        return "none"
    parts = []
    for level in Level:
        part = by_level.get(level, 0.0)
        band = BANDS[level]
        if not part:
            continue
        error = ""
        if level is Level.UNKNOWN:
            error = " (25 to 52 % low)"
        elif band.most:
            error = f" (median error {100 * band.median:.0f} %, 90 % within {100 * band.most:.0f} %)"
        parts.append(f"{text.percent(part / whole)} {band.words}{error}")
    return ", ".join(parts)


_BRIEF = {
    Level.EXACT: "measured",
    Level.SPLIT: "split of a sum",
    Level.ANCHORED: "growth of the prompt",
    Level.CALIBRATED: "by model family",
    Level.UNKNOWN: "bytes / 4",
}


def known_briefly(by_level: Mapping[int, float]) -> str:
    """The same in a line or two, with the median errors alone.

    Example:
        >>> known_briefly({0: 70.0, 1: 20.0, 3: 10.0})
        '70.0 % measured, 20.0 % split of a sum (median error 4 %), 10.0 % by model family (8 %)'
    """
    whole = sum(by_level.values())
    parts, words = [], "median error "
    for level in Level:
        part = by_level.get(level, 0.0)
        if not part:
            continue
        error = ""
        if level is Level.UNKNOWN:
            error = " (25 to 52 % low)"
        elif level is not Level.EXACT:
            error, words = f" ({words}{100 * BANDS[level].median:.0f} %)", ""
        parts.append(f"{text.percent(part / whole)} {_BRIEF[level]}{error}")
    return ", ".join(parts) or "none"
