"""How well the estimates by model family fit the user's own logs: beside results that the host counted alone.

The constants of the families come from public logs (token-economics.md 5.5), so what the store holds was held
out. The rows are those of the view `calibration`; errors of models become those of a family only over them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dedupstats.analytics.window import Window
from dedupstats.economics.families import FAMILIES, family_of

if TYPE_CHECKING:
    from dedupstats.store import Store

NO_FAMILY = "other models"
"""of which no tokenizer is known: their estimate is bytes / 4"""
LEAST_BYTES = 400
"""of a result that is compared, as in the view: below, what frames a result outweighs it"""


@dataclass(frozen=True, slots=True)
class Fit:
    """The estimates of one model family beside what was measured.

    Attributes:
        family: Name of the family of tokenizers; `other models`: none is known.
        steps: Results of 400 bytes or more that entered alone between two requests, which measure them.
        sessions: Sessions that have any.
        tokens: Their measured tokens.
        bytes_per_token: Bytes by measured tokens, of all together.
        median_error: Median size of the estimate's error, of the measured tokens: 0.08 is 8 %.
        p90_error: Not exceeded by 90 % of them.
        bias: Median error with its sign; negative: estimates are low.
        bytes4_bias: The same of bytes / 4.
    """

    family: str
    steps: int
    sessions: int
    tokens: float
    bytes_per_token: float
    median_error: float
    p90_error: float
    bias: float
    bytes4_bias: float


def calibration(store: Store, *, window: Window | None = None) -> tuple[Fit, ...]:
    """How well the estimates fit, family by family, in their order; those without a measured result left out.

    Args:
        store: An open store; reading is enough.
        window: Which results.

    Example:
        >>> from dedupstats.store import open_store
        >>> with open_store(":memory:") as store:
        ...     calibration(store)
        ()
    """
    where, values = (window or Window()).where()
    models = [model for (model,) in store.query("select distinct model from emission")]
    names = {model: family.name if (family := family_of(model)) else NO_FAMILY for model in models}
    given = " ".join(["when ? then ?"] * sum(model is not None for model in names))
    families = f"case model {given} else '{NO_FAMILY}' end" if given else f"'{NO_FAMILY}'"
    pairs = [text for model, name in names.items() if model is not None for text in (model, name)]
    rows = store.query(
        f"""
        with step as (
            select {families} as family, e.session_key, e.bytes, c.tokens,
                c.class_tokens / c.tokens - 1 as error,
                (e.bytes + 3) // 4 / c.tokens - 1 as bytes4_error
            from emission e join emission_cost c using (emission_key)
            where c.level = 0 and not e.is_copy and e.bytes >= {LEAST_BYTES} and e.class <> 'image'
                and c.tokens > 0
                and e.emission_key in (select emission_key from emission where {where})
        )
        select family, count(*), count(distinct session_key), sum(tokens::decimal(28, 12))::double,
            (sum(bytes) / sum(tokens::decimal(28, 12)))::double, median(abs(error)),
            quantile_cont(abs(error), 0.9), median(error), median(bytes4_error)
        from step group by all
        """,
        [*pairs, *values],
    )
    order = [*(family.name for family in FAMILIES), NO_FAMILY]
    return tuple(sorted((Fit(*row) for row in rows), key=lambda fit: order.index(fit.family)))
