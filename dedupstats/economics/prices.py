"""What a token costs: list prices by model and time, from genai-prices, without a network.

Money is in USD, rates in USD per million tokens: a count of tokens times a rate is in millionths of a dollar.
What has no price is unpriced (None), never $0 and never guessed by likeness (token-economics.md 6.1, 6.3).
"""

from __future__ import annotations

import math
import tomllib
from bisect import bisect_left
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from dedupstats.economics.model_ids import bare, parse
from dedupstats.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from genai_prices.types import ModelInfo, ModelPrice, TieredPrices

PACKAGE = "genai-prices"
_RELEASED = {"0.2.3": "2026-11"}
"""Month of release of the versions that this program was tried with: their data holds no date (6.1)."""

LONG_WRITE = 2.0
"""Price of a write for an hour in input prices (6.2), where a list has none for one of Anthropic's models."""

_CONTEXTS = {
    "batch": {"processing": "batch"},
    "fast": {"speed": "fast", "service_tier": "fast"},
    "flex": {"service_tier": "flex"},
    "priority": {"service_tier": "priority"},
}
"""What a service tier of a log is called in the price list; `standard` and others cost the list price."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_HALF_HOUR = 1_800_000_000
"""microseconds; prices by the time of day change at half hours"""


class Rates(NamedTuple):
    """Prices of one request's tokens, in USD per million tokens."""

    input: float
    read: float
    """read from the cache"""
    write_5m: float
    """written to the cache for five minutes; the input price where a provider bills no writes"""
    write_1h: float
    output: float


@dataclass(frozen=True, slots=True)
class Steps:
    """One rate of a price list: a base, and what every token of a request costs above a size (6.3, cliffs).

    Attributes:
        base: USD per million tokens.
        above: Prompt sizes in tokens, ascending, each with the rate of requests larger than it.
    """

    base: float
    above: tuple[tuple[int, float], ...] = ()

    def at(self, prompt: float) -> float:
        """The rate of a request with a prompt of so many tokens; exactly at a size is not above it ($07)."""
        return next((rate for size, rate in reversed(self.above) if prompt > size), self.base)


@dataclass(frozen=True, slots=True)
class Sheet:
    """All rates of a model at a time.

    Attributes:
        input, read, write_5m, write_1h, output: Rates, each with its steps.
    """

    input: Steps
    read: Steps
    write_5m: Steps
    write_1h: Steps
    output: Steps

    def at(self, prompt: float) -> Rates:
        """The rates of a request, chosen by its whole prompt ($06).

        Example:
            >>> sheet = Sheet(*[Steps(3.0, ((200_000, 6.0),))] * 5)
            >>> sheet.at(200_000).input, sheet.at(200_001).input
            (3.0, 6.0)
        """
        return Rates(*(getattr(self, part).at(prompt) for part in Rates._fields))

    def sizes(self) -> list[int]:
        """Prompt sizes in tokens above which any of the rates changes, ascending."""
        return sorted({size for part in Rates._fields for size, _ in getattr(self, part).above})


@dataclass(frozen=True, slots=True)
class Override:
    """A price of the user's own.

    Attributes:
        model: Id as in the log, exactly (but for upper and lower case).
        begins: First day (UTC) on which it holds; None: always.
        sheet: Its rates.
    """

    model: str
    begins: date | None
    sheet: Sheet


class Prices:
    """Price lists: the user's own first, then genai-prices.

    Attributes:
        version: Version of genai-prices.
        released: Month of its release, `2026-11`; empty if this program does not know it.
        overrides: The user's own prices.

    Example:
        >>> prices = Prices()
        >>> at = datetime(2026, 10, 1, tzinfo=UTC)
        >>> prices.rates("claude-sonnet-4-6", at)
        Rates(input=3.0, read=0.3, write_5m=3.75, write_1h=6.0, output=15.0)
        >>> prices.rates("claude-opus-4-10", at) is None
        True
    """

    def __init__(self, overrides: tuple[Override, ...] = ()) -> None:
        from importlib.metadata import version

        self.version = version(PACKAGE)
        self.released = _RELEASED.get(self.version, "")
        self.overrides = overrides
        self._models: dict[str, ModelInfo | None] = {}
        # by model, tier and time: the sizes at which rates change, and the rates up to and above each
        self._rates: dict[tuple[str, str | None, int], tuple[list[int], list[Rates | None]]] = {}

    @property
    def basis(self) -> str:
        """Where the prices are from, in words for people: `genai-prices 0.2.3 (2026-11)`."""
        own = f", {len(self.overrides)} of your own" if self.overrides else ""
        dated = f" ({self.released})" if self.released else ""
        return f"{PACKAGE} {self.version}{dated}{own}"

    @property
    def stamp(self) -> str:
        """Equal for price lists that give equal prices."""
        return f"{self.version} {sha256(repr(self.overrides).encode()).hexdigest()[:16]}"

    def rates(
        self, model: str | None, at: datetime, prompt: float = 0, tier: str | None = None
    ) -> Rates | None:
        """The rates of one request; None: it has no price.

        Args:
            model: Id as in the log.
            at: Time of the request; a naive one is UTC.
            prompt: All its input tokens, cached or not: above a size every token can cost more.
            tier: Service tier as in the log (`priority`, `batch`).
        """
        at = at.replace(tzinfo=UTC) if at.tzinfo is None else at
        return self.rates_at(model, (at - _EPOCH) // timedelta(microseconds=1), prompt, tier)

    def rates_at(self, model: str | None, at: int, prompt: float, tier: str | None) -> Rates | None:
        """As `rates`, at a time in microseconds UTC."""
        if not model:
            return None
        key = (model, tier, at // _HALF_HOUR)
        found = self._rates.get(key)
        if found is None:
            sheet = self._sheet(model, _EPOCH + timedelta(microseconds=at), tier)
            sizes = sheet.sizes() if sheet is not None else []
            rates = [None if sheet is None else sheet.at(size) for size in (*sizes, math.inf)]
            found = self._rates[key] = sizes, rates
        sizes, rates = found
        return rates[bisect_left(sizes, prompt)]

    def window(self, model: str | None) -> int | None:
        """Tokens that fit into the window of a model, as genai-prices has it; None: not known.

        Example:
            >>> Prices().window("claude-sonnet-4-5"), Prices().window("acme-1")
            (200000, None)
        """
        listed = self._entry(model) if model else None
        return None if listed is None else listed.context_window

    def _entry(self, model: str) -> ModelInfo | None:
        if model not in self._models:
            self._models[model] = _listed(model)
        return self._models[model]

    def _sheet(self, model: str, at: datetime, tier: str | None) -> Sheet | None:
        own = [
            override
            for override in self.overrides
            if override.model.lower() == model.lower() and (override.begins or date.min) <= at.date()
        ]
        if own:
            return max(own, key=lambda override: override.begins or date.min).sheet
        listed = self._entry(model)
        if listed is None:
            return None
        return _sheet_of(
            listed.get_prices(at, _CONTEXTS.get(tier or "")), is_claude="claude" in model.lower()
        )


def _listed(model: str) -> ModelInfo | None:
    """The entry of the price list that is this very model.

    The list matches beginnings and parts of names, so that `claude-opus-4-10` finds Opus 4.1 and
    `claude-opus-4-7-fast` Opus 4.7: what it finds must be called as what was asked for (6.3).
    """
    from genai_prices.data_snapshot import get_snapshot

    wanted = parse(model)
    if not wanted.is_known_form:
        return None
    try:
        _, found = get_snapshot().find_provider_model(wanted.name, None, wanted.provider, None)
    except LookupError:
        return None
    asked = bare(wanted.name)
    names = {bare(found.id), *(bare(name) for name in _names(found.match))}
    return found if asked in names else None


def _names(clause: Any) -> Iterator[str]:
    """Every name that a matching rule of the price list spells out whole."""
    for inner in (*getattr(clause, "or_", ()), *getattr(clause, "and_", ())):
        yield from _names(inner)
    for kind in ("equals", "starts_with", "ends_with", "contains"):
        name = getattr(clause, kind, None)
        if isinstance(name, str):
            yield name


def _sheet_of(price: ModelPrice, *, is_claude: bool) -> Sheet | None:
    """The list's rates; what it leaves out costs what the provider bills for it.

    No price for reads or writes: the input price (6.2). None for an hour's writes: the price of a write, but
    for Anthropic's models twice the input price ($01).
    """
    if price.input_mtok is None or price.output_mtok is None:
        return None
    plain, output = _steps(price.input_mtok), _steps(price.output_mtok)
    read = plain if price.cache_read_mtok is None else _steps(price.cache_read_mtok)
    short = price.cache_write_5m_mtok if price.cache_write_5m_mtok is not None else price.cache_write_mtok
    write = plain if short is None else _steps(short)
    if price.cache_write_1h_mtok is not None:
        long = _steps(price.cache_write_1h_mtok)
    elif is_claude:
        long = Steps(plain.base * LONG_WRITE, tuple((size, rate * LONG_WRITE) for size, rate in plain.above))
    else:
        long = write
    return Sheet(plain, read, write, long, output)


def _steps(price: Any) -> Steps:
    tiers: TieredPrices | None = price if hasattr(price, "tiers") else None
    if tiers is None:
        return Steps(float(price))
    return Steps(float(tiers.base), tuple((tier.start, float(tier.price)) for tier in tiers.tiers))


# -- prices of the user's own --------------------------------------------------------------------------------

_RATES = ("input", "output", "cache_read", "cache_write_5m", "cache_write_1h")
DEAREST = 1_000_000
"""USD per million tokens that a price may be: sums of what it makes stay exact"""
_MEMBERS = {"model", "from", "above", *_RATES}
_STEP = {"tokens", *_RATES}


def parse_overrides(text: str, name: str = "prices") -> tuple[Override, ...]:
    """Prices from a TOML text: tables `[[price]]` with `model`, `input`, `output` in USD per million tokens.

    Optional are `cache_read`, `cache_write_5m`, `cache_write_1h` (the input price if left out), `from` (the
    first day), and `[[price.above]]` with `tokens` and the same rates for requests with a larger prompt.

    Args:
        text: The TOML.
        name: What it is called in messages.

    Raises:
        UsageError: It is no TOML, a table lacks or misspells something, or two say the same.

    Example:
        >>> own = parse_overrides('''
        ... [[price]]
        ... model = "private-x"
        ... input = 5.0
        ... output = 10.0
        ... ''')
        >>> Prices(own).rates("private-x", datetime(2026, 1, 1, tzinfo=UTC)).read
        5.0
    """
    try:
        given = tomllib.loads(text)
    # numbers that are too long and brackets that are too many have errors of their own
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{name} is no TOML: {error}", "see `[[price]]` in docs/REFERENCE.md") from error
    tables = given.pop("price", [])
    # a misspelt name would leave the list's prices in force without a word
    _refuse_unknown(given, set(), name, "begin each price with [[price]]")
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise UsageError(f"{name}: `price` must be tables", "begin each with [[price]]")
    found: dict[tuple[str, date | None], Override] = {}
    for number, table in enumerate(tables, start=1):
        own = _override(table, f"{name}: price {number}")
        key = own.model.lower(), own.begins
        if key in found:
            since = f" from {own.begins}" if own.begins else ""
            raise UsageError(
                f"{name}: price {number} is another one of {own.model}{since}",
                "leave one out, or give it a `from`",
            )
        found[key] = own
    return tuple(found.values())


def _refuse_unknown(table: dict[str, Any], known: set[str], where: str, hint: str) -> None:
    if unknown := sorted(table.keys() - known):
        raise UsageError(f"{where}: unknown {', '.join(unknown)}", hint)


def _override(table: dict[str, Any], where: str) -> Override:
    _refuse_unknown(table, _MEMBERS, where, f"known are {', '.join(sorted(_MEMBERS))}")
    model, begins = table.get("model"), table.get("from")
    if not isinstance(model, str) or not model:
        raise UsageError(f"{where}: no model", 'add model = "the id in the log"')
    if isinstance(begins, datetime):
        begins = begins.date()
    if begins is not None and not isinstance(begins, date):
        raise UsageError(f"{where}: `from` is no date", "write from = 2026-04-01, without quotes")
    base = _own_rates(table, where)
    above = table.get("above", [])
    if not isinstance(above, list):
        raise UsageError(f"{where}: `above` must be tables", "begin each with [[price.above]]")
    sized: list[tuple[int, Rates]] = []
    for step in above:
        size = step.get("tokens") if isinstance(step, dict) else None
        if not isinstance(size, int) or isinstance(size, bool) or size < 0:
            raise UsageError(f"{where}: `above` without tokens", "add tokens = 200000")
        _refuse_unknown(step, _STEP, f"{where}: `above`", f"known are {', '.join(sorted(_STEP))}")
        if size in dict(sized):
            raise UsageError(f"{where}: two `above` with {size} tokens", "leave one out")
        sized.append((size, _own_rates(step, where)))
    sized.sort()
    return Override(
        model,
        begins,
        Sheet(
            *(
                Steps(getattr(base, part), tuple((size, getattr(rates, part)) for size, rates in sized))
                for part in Rates._fields
            )
        ),
    )


def _own_rates(table: dict[str, Any], where: str) -> Rates:
    given: dict[str, float] = {}
    for part in _RATES:
        value = table.get(part)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
            raise UsageError(f"{where}: {part} is no price", f"write {part} = 3.0 (USD per million tokens)")
        if value > DEAREST:
            raise UsageError(
                f"{where}: {part} is more than {DEAREST:,}", f"write {part} = 3.0 (USD per million tokens)"
            )
        given[part] = float(value)
    for part in ("input", "output"):
        if part not in given:
            raise UsageError(f"{where}: no {part}", f"add {part} = 3.0 (USD per million tokens)")
    plain = given["input"]
    return Rates(
        plain,
        given.get("cache_read", plain),
        given.get("cache_write_5m", plain),
        given.get("cache_write_1h", plain),
        given["output"],
    )
