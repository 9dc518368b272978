"""What figures of replays are counted in: each of four units, beside what it is a share of, in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from dedupstats.analytics.units import TOKEN_RULES, Worth, at_level, summed_levels
from dedupstats.report import money, text
from dedupstats.report.blocks import plural

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dedupstats.analytics.replays import Replays
    from dedupstats.analytics.units import InputSide, Unit
    from dedupstats.simulate.score import Tally

Part = Literal["gross", "markers", "net"]

_FIELDS: Final[dict[Unit, dict[Part, str]]] = {
    "tokens": {"gross": "tokens", "markers": "marker_tokens", "net": "net_tokens"},
    "sent": {"gross": "sent", "markers": "marker_sent", "net": "net_sent"},
    "usd": {"gross": "usd", "markers": "marker_usd", "net": "net_usd"},
    "share": {"gross": "usd", "markers": "marker_usd", "net": "net_usd"},
}
NET: Final[dict[Unit, str]] = {
    "tokens": "net tokens\nsaved",
    "sent": "net tokens\nsent saved",
    "usd": "net list\nprice saved",
    "share": "net of\ninput cost",
}
"""headings of what is saved"""
_FRAMES = (
    "A marker has the framing of a tool result, as what it stands for had; those of bounds have nothing else."
)


@dataclass(frozen=True, slots=True)
class InUnit:
    """The figures of a replay in one unit.

    Attributes:
        unit: The unit.
        whole: Everything that counts, which 100 % are.
        side: The input of all requests of the window; None: no cost was looked at.
    """

    unit: Unit
    whole: Tally
    side: InputSide | None

    @classmethod
    def of(cls, found: Replays, unit: Unit) -> InUnit:
        """For the figures of a replay."""
        return cls(unit, found.simulation.results, found.side)

    @property
    def knows_requests(self) -> bool:
        """Whether it is known how often anything was sent: logs without requests tell nothing."""
        return self.side is not None and (self.whole.sent > 0 or self.side.requests > 0)

    def value(self, tally: Tally, part: Part = "net") -> float | None:
        """A figure, exact; a share 0 to 1. None: no request is known, or none with a price."""
        if self.unit != "tokens" and not (self.knows_requests and tally.is_costed):
            return None
        value: float | None = getattr(tally, _FIELDS[self.unit][part])
        if self.unit != "share" or value is None:
            return value
        return value / self.side.usd if self.side is not None and self.side.usd else None

    def shown(self, tally: Tally, part: Part = "net") -> str:
        """A figure in words."""
        value = self.value(tally, part)
        if value is None:
            return "unknown" if self.unit == "sent" else money.usd(None)
        if self.unit == "share":
            return text.percent(value)
        return money.usd(value) if self.unit == "usd" else text.count(round(value))

    def share(self, tally: Tally, part: Part = "net") -> float | None:
        """What a figure is of everything that counts, or of all input cost; None: of nothing."""
        value = self.value(tally, part)
        whole = 1.0 if self.unit == "share" else self.value(self.whole, "gross")
        return value / whole if value is not None and whole else None

    def of_whole(self, tally: Tally, part: Part = "net") -> str:
        """A figure with its share of everything that counts; a share of the input cost with its dollars."""
        shown = self.shown(tally, part)
        if not self.value(tally, part):
            return shown
        if self.unit == "share":
            return f"{shown} ({money.usd(getattr(tally, _FIELDS['share'][part]))})"
        return f"{shown} ({text.percent(self.share(tally, part))})"


def unit_notes(found: Replays, units: Iterable[Unit]) -> Iterator[str]:
    """What the figures are of and how they are known, for the units that are shown."""
    simulation = found.simulation
    whole = simulation.results
    asked = list(units)
    is_ladder = simulation.tokens == "ladder"
    results, sessions = plural(whole.results, "tool result"), plural(simulation.sessions, "session")
    rule = "" if is_ladder else f" ({TOKEN_RULES['bytes4']})"
    yield (
        f"100 % are all {results} of {sessions}, copies left out: {text.count(whole.tokens)} tokens{rule}, "
        f"{text.size(whole.bytes)}."
    )
    if not is_ladder:
        yield f"Tokens: {money.BYTES4}."
        return
    yield from _known(found)
    if not InUnit.of(found, "sent").knows_requests:
        yield "No request is recorded: nothing is known of tokens sent and of dollars."
        return
    yield from _carried(found, asked)


def _known(found: Replays) -> Iterator[str]:
    simulation = found.simulation
    yield f"Tokens of all results: {money.known_by(simulation.known_by)}."
    saving = next(((variant, score) for variant, score in found.rows if score.known_by), None)
    if saving is not None:
        variant, score = saving
        yield f"Of what {variant.label} truly elides: {money.known_by(score.known_by)}."
    if simulation.results.uncosted:
        results = plural(simulation.results.uncosted, "result")
        yield (
            f"Of {results} nothing is known but bytes: their tokens are {TOKEN_RULES['bytes4']}, and they "
            "are in no tokens sent and no dollars."
        )
    yield _FRAMES


def _carried(found: Replays, units: list[Unit]) -> Iterator[str]:
    whole = found.simulation.results
    if "sent" in units:
        yield (f"{money.SENT}, copies included: 100 % are the {text.count(whole.sent)} of all these results.")
    if "usd" in units:
        yield f"List price: 100 % are {money.usd(whole.usd)}, what carrying all these results cost."
    if "share" in units and found.side is not None:
        yield f"Share: of {money.input_words(found.side)}."
    if len({"sent", "usd", "share"} & set(units)):
        yield from money.left_out(worth(whole, found.simulation.known_by))
    if {"usd", "share"} & set(units):
        yield f"{money.BASIS}: {found.basis or 'no prices yet'}."


def worth(tally: Tally, known_by: dict[int, int]) -> Worth:
    """A tally, gross, as all analyses have it."""
    return Worth(
        levels=summed_levels(at_level(level, float(tokens)) for level, tokens in known_by.items()),
        sent=float(tally.sent),
        usd=tally.usd or 0.0,
        unpriced_sent=float(tally.unpriced_sent),
        modelled_sent=float(tally.modelled_sent),
    )
