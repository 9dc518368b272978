"""What RTK's own rows can say about repeats: upper bounds, from loose to tight (rtk.md section 3).

RTK's `commands` has no hash and no session. So a repeat is *the same command line*, which is the measure
that RTK published (M), and every further rule adds a condition that equal output meets as well. No rule
proves equal bytes. What filtering saved stands beside the bounds and is never added to them: it counts
tokens before filtering, a bound is a share of what was left after.

All functions read documented views (`rtk_command`, `rtk_output`, `rtk_hook_decision`), in which a row that
stands in several copies of a database appears once. Sizes are RTK's tokens: bytes / 4, rounded up.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from duckdb import DuckDBPyConnection

CAP_TOKENS = 7_500
"""hosts cut a result at about 30,000 characters (rtk.md 2.5): more was never shown, nor saved"""
MARKER_BYTES = 102
"""RTK's marker with its four fields empty (rtk.md 1.5)"""
UNKNOWN_DIGITS = 2
"""one digit each for the marker's step and line count, which `commands` does not hold: the least"""
MIN_TOKENS_GRID = (0, 25, 50, 100, 150, 200, 300, 400, 600, 800, 1000, 2000)
GAP_HOURS_GRID = (0.25, 1.0, 2.0, 5.0, 12.0, 24.0, 48.0, 168.0)
TOP_CLAIMS = 5

NOTES = (
    "A repeat is the same command line, whatever came back: an upper bound for programs that go by the call.",
    "Output equal to another command's is not seen here; RTK's dedup would leave it out too.",
    "Hours or a day stand in for the session, which RTK does not record: neither bound is strict.",
    f"Capped: no command can have saved more than {CAP_TOKENS:,} tokens (30,000 characters) less its output.",
    (
        "Net: the step and the line count that RTK's line names are unknown and taken as one digit each, the "
        "least."
    ),
)
"""what a reader must know of the figures"""


@dataclass(frozen=True, slots=True)
class Bound:
    """Repeats under one rule.

    Attributes:
        name: As in rtk.md section 3 (`M`, `B1` ...).
        words: The rule as people read it.
        repeats: Commands that have an earlier one as the rule says.
        commands: Commands that the rule is about.
        repeat_tokens: Output tokens of the repeats (`net`: less the marker shown instead of each).
        output_tokens: Output tokens of `commands`.
    """

    name: str
    words: str
    repeats: int
    commands: int
    repeat_tokens: int
    output_tokens: int

    @property
    def count_share(self) -> float | None:
        """Repeats / commands; None without commands."""
        return _share(self.repeats, self.commands)

    @property
    def token_share(self) -> float | None:
        """Repeat tokens / output tokens; None without output."""
        return _share(self.repeat_tokens, self.output_tokens)


@dataclass(frozen=True, slots=True)
class MinTokensPoint:
    """Repeats that a threshold on the shown size leaves: of M, and of B4 (`near`)."""

    min_tokens: int
    repeats: int
    repeat_tokens: int
    near_repeats: int
    near_repeat_tokens: int


@dataclass(frozen=True, slots=True)
class GapPoint:
    """Repeats of B3 at most `gap_hours` (None: any time) after the latest alike: all, and the `large` ones.

    Large: at least as many tokens as the threshold of B5.
    """

    gap_hours: float | None
    repeats: int
    repeat_tokens: int
    large_repeats: int
    large_repeat_tokens: int


@dataclass(frozen=True, slots=True)
class SavedClaim:
    """One command's claim to have saved tokens by filtering, as stored and capped."""

    rtk_name: str
    input_tokens: int
    output_tokens: int
    saved_tokens: int
    capped_saved_tokens: int


@dataclass(frozen=True, slots=True)
class RtkBounds:
    """Everything that RTK's `commands` tells about repeats and filtering.

    Attributes:
        commands: Commands counted.
        distinct: Distinct command lines among them.
        undated: Commands without a usable time: they have no gap and no day.
        input_tokens: Tokens before filtering.
        output_tokens: Tokens shown.
        saved_tokens: Saved by filtering, as `rtk gain` adds it up; may be negative.
        capped_saved_tokens: The same with each command's claim capped (`CAP_TOKENS` less its output).
        zero_output_rows: Commands with 0 output tokens: they count and weigh nothing.
        recoveries: Runs of `rtk proxy` or `rtk bypass`.
        gap_hours: Gap of B4, B5 and net.
        min_tokens: Threshold of B5 and net.
        bounds: M, M2, M-reads, B1, B2, B3, B4, B4d, B5, net.
        curve_min_tokens: By ascending threshold.
        curve_gap: By ascending gap, any time last.
        mean_repeat_tokens: Mean output tokens of the repeats of M; None without repeats.
        top_claims: The largest claims to have saved, largest first.
        notes: What a reader must know of these figures.
    """

    commands: int
    distinct: int
    undated: int
    input_tokens: int
    output_tokens: int
    saved_tokens: int
    capped_saved_tokens: int
    zero_output_rows: int
    recoveries: int
    gap_hours: float
    min_tokens: int
    bounds: tuple[Bound, ...]
    curve_min_tokens: tuple[MinTokensPoint, ...]
    curve_gap: tuple[GapPoint, ...]
    mean_repeat_tokens: float | None
    top_claims: tuple[SavedClaim, ...]
    notes: tuple[str, ...] = NOTES

    @property
    def saved_share(self) -> float | None:
        """Saved / input tokens, the percentage of `rtk gain`; None without input."""
        return _share(self.saved_tokens, self.input_tokens)

    def bound(self, name: str) -> Bound:
        """The bound of that name.

        Raises:
            KeyError: There is none.
        """
        return {bound.name: bound for bound in self.bounds}[name]


@dataclass(frozen=True, slots=True)
class RtkRealised:
    """What RTK's own dedup elided, by its ledger as it is now (rtk.md 1.11).

    Compaction and pruning erase past savings; the markers' own tokens are not deducted.
    """

    rows: int
    repeats: int
    saved_tokens: int


@dataclass(frozen=True, slots=True)
class _Rule:
    """A bound before it is counted: SQL conditions over `_JUDGED`, and what a repeat weighs."""

    name: str
    words: str
    repeat: str
    among: str = "true"
    weight: str = "output_tokens"


_JUDGED = """
with dated as (
  select *, epoch_us(ts) as ts_us,
    -- digits finer than microseconds still order commands (rtk.md 2.2: up to 9)
    rpad(substr(regexp_extract(stamp, '\\.([0-9]+)', 1), 7, 3), 3, '0') as finer
  from rtk_command
), judged as (
  select *,
    row_number() over m > 1 as is_m,
    row_number() over m2 > 1 as is_m2,
    row_number() over b1 > 1 as is_b1,
    row_number() over b2 > 1 as is_b2,
    row_number() over b3 > 1 as is_b3,
    ts_us - lag(ts_us) over b3 as gap_us,
    ts is not null and row_number() over b4d > 1 as is_b4d
  from dated
  window
    m as (partition by original_sha64 order by ts nulls last, finer, unit_key, native_id),
    m2 as (partition by original_sha64, rtk_sha64 order by ts nulls last, finer, unit_key, native_id),
    b1 as (partition by original_sha64, output_tokens
           order by ts nulls last, finer, unit_key, native_id),
    b2 as (partition by original_sha64, output_tokens, input_tokens
           order by ts nulls last, finer, unit_key, native_id),
    b3 as (partition by original_sha64, output_tokens, input_tokens, project
           order by ts nulls last, finer, unit_key, native_id),
    b4d as (partition by original_sha64, output_tokens, input_tokens, project, cast(ts as date)
            order by ts nulls last, finer, unit_key, native_id)
)
"""
"""every command with its verdict under each rule, judged against the whole history"""

_CAPPED = f"""case when saved_tokens > 0
  then least(saved_tokens, greatest({CAP_TOKENS} - output_tokens, 0)) else saved_tokens end"""
_MARKER_TOKENS = (
    f"(({MARKER_BYTES + UNKNOWN_DIGITS} + length(cast(output_tokens as text)) + identity_bytes + 3) // 4)"
)


def rtk_bounds(
    connection: DuckDBPyConnection,
    *,
    gap_hours: float = 5.0,
    min_tokens: int = 200,
    where: str = "true",
    parameters: Sequence[object] = (),
) -> RtkBounds | None:
    """Upper bounds for repeats among the commands that RTK ran (rtk.md section 3).

    Args:
        connection: Has the view `rtk_command`.
        gap_hours: How long after the latest alike a command still counts as near (B4, B5, net).
        min_tokens: Threshold of RTK's dedup on shown tokens, 200 by default; equal passes (B5, net).
        where: SQL condition over the view's columns that says which commands are counted. Whether they
            repeat is judged against the whole history all the same.
        parameters: Values for the `?` of `where`.

    Returns:
        The figures, or None if there is no such command (then there is nothing to divide by).
    """
    rules = _rules(gap_hours, min_tokens)
    thresholds = sorted({*MIN_TOKENS_GRID, min_tokens})
    gaps = [*sorted({*GAP_HOURS_GRID, float(gap_hours)}), None]
    near = _within(gap_hours)
    sums = [pair for rule in rules for pair in ((rule.among, "output_tokens"), (rule.repeat, rule.weight))]
    sums += [
        (f"{repeat} and output_tokens >= {threshold}", "output_tokens")
        for threshold in thresholds
        for repeat in ("is_m", near)
    ]
    sums += [
        (f"{_within(gap)} and output_tokens >= {least}", "output_tokens")
        for gap in gaps
        for least in (0, min_tokens)
    ]
    totals, counted = _count(connection, sums, where, parameters)
    commands, distinct, undated, sent, shown, saved, capped, empty, recoveries = totals
    if not commands:
        return None
    bounds = tuple(_bound(rule, next(counted), next(counted)) for rule in rules)
    return RtkBounds(
        commands=commands,
        distinct=distinct,
        undated=undated,
        input_tokens=sent,
        output_tokens=shown,
        saved_tokens=saved,
        capped_saved_tokens=capped,
        zero_output_rows=empty,
        recoveries=recoveries,
        gap_hours=gap_hours,
        min_tokens=min_tokens,
        bounds=bounds,
        curve_min_tokens=tuple(
            MinTokensPoint(threshold, *next(counted), *next(counted)) for threshold in thresholds
        ),
        curve_gap=tuple(GapPoint(gap, *next(counted), *next(counted)) for gap in gaps),
        mean_repeat_tokens=_share(bounds[0].repeat_tokens, bounds[0].repeats),
        top_claims=_top_claims(connection, where, parameters),
    )


def rtk_realised(connection: DuckDBPyConnection) -> RtkRealised | None:
    """What RTK's dedup really elided: sum of `output_tokens * (emit_count - 1)` (rtk.md 1.11).

    Args:
        connection: Has the view `rtk_output`.

    Returns:
        The sums, or None if no ledger was found: every release lacks it (rtk.md section 0).
    """
    rows, repeats, saved = connection.execute(
        "select count(*), sum(emit_count - 1), sum(output_tokens::hugeint * (emit_count - 1)) from rtk_output"
    ).fetchall()[0]
    return RtkRealised(rows, int(repeats), int(saved)) if rows else None


def rtk_hook_decisions(connection: DuckDBPyConnection) -> dict[str, int]:
    """How often RTK's hook answered what (`allow`, `ask`, `defer`, `deny`), by name (rtk.md 2.2).

    Args:
        connection: Has the view `rtk_hook_decision`.
    """
    return dict(
        connection.execute(
            "select decision, count(*) from rtk_hook_decision group by decision order by decision"
        ).fetchall()
    )


def _rules(gap_hours: float, min_tokens: int) -> list[_Rule]:
    hours = f"{gap_hours:g} hour{'' if gap_hours == 1 else 's'}"
    near = _within(gap_hours)
    large = f"{near} and output_tokens >= {min_tokens}"
    in_folder = "and same sizes, same folder"
    return [
        _Rule("M", "same command line, any time", "is_m"),
        _Rule("M2", "same command line, through the same filter, any time", "is_m2"),
        _Rule("M-reads", "reads alone: same command line, any time", "is_m and is_read", among="is_read"),
        _Rule("B1", "and same shown size", "is_b1"),
        _Rule("B2", "and same sizes", "is_b2"),
        _Rule("B3", in_folder, "is_b3"),
        _Rule("B4", f"{in_folder}, within {hours}", near),
        _Rule("B4d", "same command line, sizes and folder, on the same day (UTC)", "is_b4d"),
        _Rule("B5", f"{in_folder}, within {hours}, {min_tokens:,} tokens or more", large),
        _Rule(
            "net",
            "the same, net of the line that RTK shows instead",
            large,
            weight=f"output_tokens - {_MARKER_TOKENS}",
        ),
    ]


def _within(gap_hours: float | None) -> str:
    """B4 as SQL: at most so long after the latest alike; None is any time (B3)."""
    return "is_b3" if gap_hours is None else f"gap_us <= {round(gap_hours * 3_600_000_000)}"


def _count(
    connection: DuckDBPyConnection, sums: list[tuple[str, str]], where: str, parameters: Sequence[object]
) -> tuple[list[int], Iterator[tuple[int, int]]]:
    """The totals of `RtkBounds` in their order, and (rows, tokens) per (condition, weight), in one scan."""
    selected = ", ".join(
        f"count(*) filter (where {condition}), coalesce(sum({weight}) filter (where {condition}), 0)"
        for condition, weight in sums
    )
    row = connection.execute(
        f"""{_JUDGED}
        select count(*), count(distinct original_sha64), count(*) filter (where ts is null),
          coalesce(sum(input_tokens), 0), coalesce(sum(output_tokens), 0),
          coalesce(sum(saved_tokens), 0), coalesce(sum({_CAPPED}), 0),
          count(*) filter (where output_tokens = 0), count(*) filter (where is_recovery),
          {selected}
        from judged where ({where})""",
        list(parameters),
    ).fetchall()[0]
    numbers = [int(value) for value in row]
    split = len(numbers) - 2 * len(sums)
    return numbers[:split], zip(numbers[split::2], numbers[split + 1 :: 2], strict=True)


def _bound(rule: _Rule, among: tuple[int, int], repeats: tuple[int, int]) -> Bound:
    return Bound(rule.name, rule.words, repeats[0], among[0], repeats[1], among[1])


def _top_claims(
    connection: DuckDBPyConnection, where: str, parameters: Sequence[object]
) -> tuple[SavedClaim, ...]:
    rows = connection.execute(
        f"""select rtk_name, input_tokens, output_tokens, saved_tokens, {_CAPPED}
        from rtk_command where saved_tokens > 0 and ({where})
        order by saved_tokens desc, ts nulls last, stamp, unit_key, native_id limit {TOP_CLAIMS}""",
        list(parameters),
    ).fetchall()
    return tuple(SavedClaim(*row) for row in rows)


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
