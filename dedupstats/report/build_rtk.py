"""What RTK's own rows tell, for the Report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dedupstats.analytics.rtk_bounds import rtk_bounds, rtk_hook_decisions, rtk_realised
from dedupstats.report.build_corpus import rtk_window
from dedupstats.report.model import Rtk, RtkBound, RtkClaim, RtkElided, RtkFiltering, RtkGap, RtkThreshold
from dedupstats.report.share import share_of

if TYPE_CHECKING:
    from dedupstats.analytics.rtk_bounds import RtkBounds
    from dedupstats.analytics.window import Window
    from dedupstats.report.names import Names
    from dedupstats.store import Store


def rtk(store: Store, window: Window, names: Names) -> Rtk | None:
    """RTK's bounds, curves and filtering within the window; None: no such rows."""
    asked = rtk_window(window)
    if asked is None:
        return None
    where, parameters = asked.where()
    found = rtk_bounds(store.connection, where=where, parameters=parameters)
    if found is None:
        return None
    elided = rtk_realised(store.connection)
    return Rtk(
        commands=found.commands,
        distinct=found.distinct,
        undated=found.undated,
        zero_output=found.zero_output_rows,
        recoveries=found.recoveries,
        gap_hours=found.gap_hours,
        min_tokens=found.min_tokens,
        mean_repeat_tokens=found.mean_repeat_tokens,
        bounds=tuple(
            RtkBound(
                bound.name,
                bound.words,
                share_of(bound.repeats, bound.commands),
                share_of(bound.repeat_tokens, bound.output_tokens),
            )
            for bound in found.bounds
        ),
        thresholds=_thresholds(found),
        gaps=_gaps(found),
        filtering=RtkFiltering(
            saved=share_of(found.saved_tokens, found.input_tokens),
            capped=share_of(found.capped_saved_tokens, found.input_tokens),
            top=tuple(
                RtkClaim(names.rtk(claim.rtk_name), claim.saved_tokens, claim.capped_saved_tokens)
                for claim in found.top_claims
            ),
        ),
        elided=RtkElided(elided.rows, elided.repeats, elided.saved_tokens) if elided else None,
        hook_decisions=rtk_hook_decisions(store.connection),
        notes=found.notes,
    )


def _thresholds(found: RtkBounds) -> tuple[RtkThreshold, ...]:
    return tuple(
        RtkThreshold(
            point.min_tokens,
            share_of(point.repeats, found.commands),
            share_of(point.repeat_tokens, found.output_tokens),
            share_of(point.near_repeats, found.commands),
            share_of(point.near_repeat_tokens, found.output_tokens),
        )
        for point in found.curve_min_tokens
    )


def _gaps(found: RtkBounds) -> tuple[RtkGap, ...]:
    return tuple(
        RtkGap(
            point.gap_hours,
            share_of(point.repeats, found.commands),
            share_of(point.repeat_tokens, found.output_tokens),
            share_of(point.large_repeats, found.commands),
            share_of(point.large_repeat_tokens, found.output_tokens),
        )
        for point in found.curve_gap
    )
