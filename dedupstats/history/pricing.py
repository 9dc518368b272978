"""Which prices the figures of a store are from.

Figures depend on the price list and on the rules by which they are made, so the store notes both; what finds
another note than its own has the figures made anew (`costs.settle_costs`).
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from dedupstats.economics.prices import Prices, parse_overrides
from dedupstats.errors import UsageError
from dedupstats.paths import expanded, plain_file

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dedupstats.store import Store

VARIABLE = "DEDUPSTATS_PRICES"
REVISION = 4
"""Of the rules of `costs` and of the economics: a store with figures of another one gets new ones."""


def price_list(environment: Mapping[str, str] | None = None) -> Prices:
    """The price list: genai-prices, with the user's own prices on top if there is a file of them.

    Args:
        environment: Environment variables; `DEDUPSTATS_PRICES` names the file; else `dedupstats/prices.toml`
            in the folder of settings is read if it is there.

    Raises:
        DedupstatsError: What the variable names is no plain file.
        UsageError: The file that the variable names cannot be read, or what it says makes no sense.
    """
    environment = os.environ if environment is None else environment
    named = environment.get(VARIABLE)
    if named:
        path = expanded(named)
    else:
        from platformdirs import user_config_path

        path = user_config_path("dedupstats", appauthor=False) / "prices.toml"
        # a folder that may not be read is none: not an error
        if not os.path.isfile(path):  # noqa: PTH113
            return Prices()
    try:
        text = plain_file(path, f"name a file in {VARIABLE}").read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "no UTF-8"
        raise UsageError(f"cannot read the prices {path}: {reason}", f"check {VARIABLE}") from error
    return Prices(parse_overrides(text, str(path)))


def stamp(prices: Prices) -> str:
    """What figures of these prices and of these rules are marked with."""
    return f"{REVISION} {prices.stamp}"


def basis(store: Store) -> str | None:
    """Where the prices of the store's figures are from, in words; None: it has no figures yet."""
    found = store.query("select value from raw.meta where key = 'price_basis'")
    return found[0][0] if found else None


def is_priced(store: Store, prices: Prices) -> bool:
    """Whether the figures of the store are of these prices."""
    return store.query("select value from raw.meta where key = 'prices'") == [(stamp(prices),)]
