"""The part of the Report on tokens and money: where the input went, what it cost to carry, how that is known.

Tokens are measured where the log tells and estimated elsewhere, `Known` says how much of them is which; money
is in USD at list prices of each request's own time, an equivalent and no bill. Nothing here is bytes / 4
unless it says so.
"""

from __future__ import annotations

from dataclasses import dataclass

from dedupstats.analytics.calibration import Calibration  # noqa: TC001 - read at run time
from dedupstats.analytics.compactions import Compactions  # noqa: TC001 - read at run time
from dedupstats.analytics.observed import Markers, RtkRecoveries  # noqa: TC001 - read at run time


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the input of all requests.

    Attributes:
        name: Kind of piece (`floor`, `result`, `output`, `user`, `attachment`, `summary`, `meta`, `side`),
            the tool for a part of the results, or `input` for all of it.
        words: The same for people.
        tokens: Tokens times requests that carried them, with and without a price.
        usd: What those with a price cost; None: none has one.
        share: Of all input, 0 to 1, by `Spending.share_of`; None: nothing to divide by.
        again_usd: What of it was paid because the cache had expired in a pause.
    """

    name: str
    words: str
    tokens: float
    usd: float | None
    share: float | None
    again_usd: float


@dataclass(frozen=True, slots=True)
class LevelMix:
    """Tokens of one level of the ladder of estimates.

    Attributes:
        level: 0 (measured) to 5, as `emission_cost.level`.
        words: How such tokens are known.
        tokens: So many of them.
        share: Of all these tokens, 0 to 1.
        median_error: Half of such results err by no more; measured on public logs.
        p90_error: 90 % of them err by no more.
    """

    level: int
    words: str
    tokens: float
    share: float
    median_error: float
    p90_error: float


@dataclass(frozen=True, slots=True)
class Known:
    """How some tokens are known.

    Attributes:
        words: The mix of levels with their errors, in a sentence; `none` without any tokens.
        brief: The same with the median errors alone.
        levels: The same as figures, levels without tokens left out.
    """

    words: str
    brief: str
    levels: tuple[LevelMix, ...]


@dataclass(frozen=True, slots=True)
class Carried:
    """How often the tokens of tool results were sent.

    Attributes:
        tokens: First-pass tokens: each result once.
        carried_tokens: Tokens times requests that carried them.
        requests: Carried by first-pass tokens; None: no tokens.
        median_requests: Median of that over sessions.
        known: How the first-pass tokens are known.
    """

    tokens: float
    carried_tokens: float
    requests: float | None
    median_requests: float | None
    known: Known


@dataclass(frozen=True, slots=True)
class Spending:
    """Where the input of requests went.

    Attributes:
        requests: Calls of a model in scope, each once; a scope of tools does not cut them.
        unpriced: Those whose model has no price: they count in tokens, not in USD.
        modelled: Those without usage in the log: their prompt is estimated.
        floorless: Those of them whose fixed start is not known and left out.
        expired: Those before which a pause had outlived the cache.
        share_of: What shares are of: `list price`; `tokens sent`, if nothing has a price.
        input: All input.
        parts: By kind of piece, largest share first; they add up to it.
        blocks: The same in the few lines of the first screen.
        tools: Tool results by tool, largest first; in a scope of tools those alone.
        shown: How many tools a short table shows.
        other_tools: The sum of those behind; None: there are none.
        again_share: What was written again after a pause, of the list price of all input; None: no price.
        output_tokens: Tokens of the answers, beside the input.
        estimated_output_tokens: Those of them that are estimated.
        output_usd: What answers with a price cost; None: none has one.
        floor_tokens: Median first prompt of contexts, as the logs' own usage has it; None: not known.
        results: How often tool results were sent.
        notes: What a reader must know of the figures.
    """

    requests: int
    unpriced: int
    modelled: int
    floorless: int
    expired: int
    share_of: str
    input: Part
    parts: tuple[Part, ...]
    blocks: tuple[Part, ...]
    tools: tuple[Part, ...]
    shown: int
    other_tools: Part | None
    again_share: float | None
    output_tokens: float
    estimated_output_tokens: float
    output_usd: float | None
    floor_tokens: float | None
    results: Carried
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DearResult:
    """A tool result with what carrying it cost over its whole life.

    Attributes:
        tool: The tool that was called.
        target: What it was called on, shown as all targets of the report are.
        project: Project of its session, shown as all names are.
        session: Its session.
        bytes: UTF-8 bytes, as shown.
        tokens: First-pass tokens.
        level: How these are known, 0 to 5.
        requests: Requests that carried it, those of its copies too.
        carried_tokens: Tokens times requests.
        usd: What requests with a price charged; None: none has one.
        share: Of the list price of all input in scope, 0 to 1; None: no price.
        superseded: What came later in its context while it was carried: `same call` or `same target`.
    """

    tool: str
    target: str
    project: str
    session: str
    bytes: int
    tokens: float
    level: int
    requests: int
    carried_tokens: float
    usd: float | None
    share: float | None
    superseded: str | None


@dataclass(frozen=True, slots=True)
class Dearest:
    """The results that cost most to carry.

    Attributes:
        rows: Dearest first.
        notes: What they cost together and beside what, and how their tokens are known.
    """

    rows: tuple[DearResult, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ObservedMarkers:
    """What engines that already run have done.

    Attributes:
        sentence: It in one sentence; None: no marker is in these logs.
        engines: By source.
        rtk: RTK's own counts, of the whole store.
        notes: What a reader must know of the figures.
    """

    sentence: str | None
    engines: tuple[Markers, ...]
    rtk: RtkRecoveries
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Compacted:
    """Automatic compactions under a policy; sessions are shown as all names are.

    Attributes:
        policy: Label of the policy.
        found: Counts, recorded and replayed.
    """

    policy: str
    found: Compactions


@dataclass(frozen=True, slots=True)
class Economics:
    """Tokens and money, in the scope of the report.

    Attributes:
        refused: Why there are no figures, in a sentence; None: there are.
        basis: Where prices are from, with version and date; None: no figures.
        spend: Where the input went.
        dearest: The results that cost most.
        observed: Markers in the logs.
        compactions: Automatic ones, by policy; empty: no context can be replayed.
        calibration: How well estimates fit what these logs measured.
    """

    refused: str | None
    basis: str | None = None
    spend: Spending | None = None
    dearest: Dearest | None = None
    observed: ObservedMarkers | None = None
    compactions: tuple[Compacted, ...] = ()
    calibration: Calibration | None = None
