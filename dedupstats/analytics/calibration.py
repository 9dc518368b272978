"""How well estimates of tokens fit the user's own logs: beside results that the host counted alone.

Which constants are in use, and how far they err on results that had no part in them, is told of the whole
store (view `calibration_fit`); what was measured, by model and tool, of a window (the rows of `calibration`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dedupstats.analytics.window import Window
from dedupstats.economics.families import family_of
from dedupstats.economics.fit import LEAST_BYTES

if TYPE_CHECKING:
    from dedupstats.store import Store


@dataclass(frozen=True, slots=True)
class Fit:
    """The constants by which results of a model family are estimated, in one source.

    Attributes:
        source: Source of the results.
        family: Name of the family of tokenizers; `other models`: none is known.
        steps: Results that entered alone between two requests, which measures them.
        sessions: Sessions that have any.
        tested: Those of 400 bytes or more, on which the errors are.
        basis: Why these constants: `fitted`, `few`, `foreign`, `no_better`, `no_rule`, as in the view.
        is_refitted: They are fitted on the store's own results.
        median_error: Median size of the error of the constants in use, of the measured tokens, on results
            that had no part in them: 0.08 is 8 %; None: no result to test on.
        p90_error: Not exceeded by 90 % of them.
        sheet_median_error: Median size of the error of the published constants.
        sheet_p90_error: 90 % of those results are within it.
        refit_median_error: Median size of the error of constants fitted here, on sessions that had no part in
            them; None: not tried.
        refit_p90_error: 90 % of those results are within it; None: not tried.
        bytes4_bias: Median error of bytes / 4 with its sign; negative: it is low.
    """

    source: str
    family: str
    steps: int
    sessions: int
    tested: int
    basis: str
    is_refitted: bool
    median_error: float | None
    p90_error: float | None
    sheet_median_error: float | None
    sheet_p90_error: float | None
    refit_median_error: float | None
    refit_p90_error: float | None
    bytes4_bias: float | None


@dataclass(frozen=True, slots=True)
class ToolFit:
    """Estimates of the results of one model and tool, beside what was measured.

    Attributes:
        source: Source of the results.
        model: The model that made the call; None: not told.
        tool: The tool.
        steps: Results of 400 bytes or more that are measured alone.
        sessions: Sessions that have any.
        bytes_per_token: Bytes by measured tokens, of all together.
        median_error: Median size of the error of the constants in use.
        p90_error: Not exceeded by 90 % of the results.
        bias: Median error with its sign; negative: estimates are low.
        bytes4_bias: The same of bytes / 4.
    """

    source: str
    model: str | None
    tool: str
    steps: int
    sessions: int
    bytes_per_token: float
    median_error: float
    p90_error: float
    bias: float
    bytes4_bias: float


@dataclass(frozen=True, slots=True)
class Calibration:
    """How tokens are estimated, and how far that is off.

    Attributes:
        fits: By source and family, of the whole store.
        tools: By source, model and tool, of the window; most results first.
        counted: Results that the model's own tokenizer has counted, of the whole store.
        uncounted: Results that it could have counted, but was not installed when they were read.
    """

    fits: tuple[Fit, ...]
    tools: tuple[ToolFit, ...]
    counted: int
    uncounted: int


def calibration(store: Store, *, window: Window | None = None) -> Calibration:
    """How well estimates fit; families, models and tools without a measured result are left out.

    Args:
        store: An open store; reading is enough.
        window: Which results, for the rows by model and tool.

    Example:
        >>> from dedupstats.store import open_store
        >>> with open_store(":memory:") as store:
        ...     calibration(store).fits
        ()
    """
    where, values = (window or Window()).where()
    fits = store.query(
        """
        select source, family, steps, sessions, tested, basis, is_refitted, median_error, p90_error,
            sheet_median_error, sheet_p90_error, refit_median_error, refit_p90_error, bytes4_error
        from calibration_fit order by source, steps desc, family
        """
    )
    tools = store.query(
        f"""
        with step as (
            select e.source, e.model, e.tool, e.session_key, e.bytes, c.tokens,
                c.class_tokens / c.tokens - 1 as error,
                (e.bytes + 3) // 4 / c.tokens - 1 as bytes4_error
            from emission e join emission_cost c using (emission_key)
            where c.level = 0 and not e.is_copy and e.bytes >= {LEAST_BYTES} and e.class <> 'image'
                and c.tokens > 0
                and e.emission_key in (select emission_key from emission where {where})
        )
        select source, model, tool, count(*) as steps, count(distinct session_key),
            (sum(bytes) / sum(tokens::decimal(28, 12)))::double, median(abs(error)),
            quantile_cont(abs(error), 0.9), median(error), median(bytes4_error)
        from step group by source, model, tool order by steps desc, source, model, tool
        """,
        values,
    )
    counted, uncounted = counted_results(store)
    return Calibration(
        tuple(Fit(*row) for row in fits), tuple(ToolFit(*row) for row in tools), counted, uncounted
    )


def counted_results(store: Store) -> tuple[int, int]:
    """Results of models whose own tokenizer can be installed: how many it has counted, and how many not.

    Copies, and results without text, are left out.
    """
    models = [
        model for (model,) in store.query("select distinct model from emission where model is not null")
    ]
    own = [model for model in models if (family := family_of(model)) and family.over_o200k is not None]
    if not own:
        return 0, 0
    ((counted, whole),) = store.query(
        "select count(o200k_tokens), count(*) from emission "
        "where not is_copy and bytes > 0 and list_contains($models, model)",
        {"models": own},
    )
    return counted, whole - counted
