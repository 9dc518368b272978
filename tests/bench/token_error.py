"""How far are estimated tokens from measured ones? Usage: python tests/bench/token_error.py [LOGS ...].

Truth are results of 400 bytes or more that are measured alone (L0). For L2 the final output count of the
request before is hidden, for L3 the growth too; L1 splits the exact sum of two such neighbours of a session.
Constants are those of the program: published ones, or fitted ones where it has its own (`calibration_fit`);
then "L3 classes" flatters, and the line above it says what such a fit does on sessions that it has not seen.
Bytes / 4 stands beside them. By itself it takes real logs only: what is made up measures nothing.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from dedupstats import import_paths, open_store
from dedupstats.economics.events import singles
from dedupstats.economics.fit import Basis, Fitted
from dedupstats.economics.tokens import (
    Entry,
    Level,
    Step,
    bytes4,
    session_factor,
    size_step,
    split,
)
from dedupstats.history.costs import session_legs
from dedupstats.history.fits import Fits

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dedupstats import Store
    from dedupstats.economics.families import Family

CORPUS = Path(__file__).resolve().parents[3] / "shared" / "corpus" / "claude_code"
LEAST_BYTES = 400


class Case(NamedTuple):
    """A result measured alone."""

    source: str
    session: int
    family: Family
    """with the constants in use"""
    step: Step
    entry: Entry
    tokens: float


class Error(NamedTuple):
    """Relative errors of a rule."""

    errors: list[float]
    estimated: float
    measured: float

    def words(self) -> str:
        """Median, 90 % quantile and share within 10 % of the errors' sizes, error of the sum, and n."""
        sizes = sorted(map(abs, self.errors))
        if not sizes:
            return "no case"
        middle, most = (sizes[min(int(len(sizes) * part), len(sizes) - 1)] for part in (0.5, 0.9))
        near = sum(size <= 0.1 for size in sizes) / len(sizes)
        whole = self.estimated / self.measured - 1
        return f"{100 * middle:5.1f} {100 * most:7.1f} {100 * near:6.0f} {100 * whole:+7.1f} {len(sizes):7,}"


def cases(store: Store, fits: Fits) -> Iterator[Case]:
    """Every result that is measured alone, of a known family; copies left out."""
    for contexts in session_legs(store):
        for context in contexts:
            for one in singles(context.legs):
                family = fits.families(context.source)(one.asked.model)
                if family is not None and one.asked.is_billed:
                    yield Case(context.source, context.session_key, family, one.step, one.entry, one.tokens)


def judged(pairs: Iterable[tuple[float, float]]) -> Error:
    """Errors of estimates against measured tokens."""
    known = list(pairs)
    return Error(
        [estimate / tokens - 1 for estimate, tokens in known],
        sum(estimate for estimate, _ in known),
        sum(tokens for _, tokens in known) or 1.0,
    )


def rules(found: list[Case], everything: list[Case]) -> dict[str, Error]:
    """Every rule on the cases of a family; the factor of a session comes from its other results."""
    ratios: defaultdict[int, list[tuple[Case, float]]] = defaultdict(list)
    for case in everything:
        ratios[case.session].append((case, case.tokens / case.family.tokens(case.entry.counts)))
    anchored, own = [], []
    for case in found:
        hidden = case.step._replace(is_output_known=False, output=None)
        place = case.step.entries.index(case.entry)
        estimate = size_step(hidden, case.family).estimates[place]
        if estimate.level is Level.ANCHORED:
            anchored.append((estimate.tokens, case.tokens))
        factor = session_factor([ratio for other, ratio in ratios[case.session] if other is not case])
        own.append((factor * case.family.tokens(case.entry.counts), case.tokens))
    shares = []
    for one, other in pairwise(found):
        if one.session == other.session:
            weights = [case.family.tokens(case.entry.counts) for case in (one, other)]
            shares += zip(split(one.tokens + other.tokens, weights), (one.tokens, other.tokens), strict=True)
    return {
        "bytes / 4": judged((bytes4(case.entry.counts), case.tokens) for case in found),
        "L3 classes": judged((case.family.tokens(case.entry.counts), case.tokens) for case in found),
        "L3 x session": judged(own),
        "L2 anchored": judged(anchored),
        "L1 split": judged(shares),
        "L0 measured": judged((case.tokens, case.tokens) for case in found),
    }


def used(fit: Fitted) -> str:
    """Which constants are in use, and what a fit does on sessions that it has not seen."""
    constants = "fitted" if fit.basis is Basis.FITTED else f"published ({fit.basis.value})"
    held = ""
    if fit.refit and fit.refit.median is not None and fit.refit.p90 is not None:
        held = f"; a fit held out: {100 * fit.refit.median:.1f} median, {100 * fit.refit.p90:.1f} 90 %"
    return f"constants: {constants}, {fit.steps:,} steps in {fit.sessions} sessions{held}"


def main() -> None:
    """Print a table per family."""
    paths = [Path(name) for name in sys.argv[1:]] or [
        folder for folder in sorted(CORPUS.iterdir()) if folder.name != "_fixtures"
    ]
    with open_store(":memory:") as store:
        import_paths(store, paths, environment={})
        fits = Fits(session_legs(store))
        everything = list(cases(store, fits))
    print("Error of tokens in %: median, 90 %, within 10 %, of the sum, n")
    for source, family in dict.fromkeys((case.source, case.family) for case in everything):
        own = [case for case in everything if (case.source, case.family) == (source, family)]
        found = [case for case in own if case.entry.counts.bytes >= LEAST_BYTES]
        sessions = len({case.session for case in found})
        print(f"\n{family.name} ({source}): {len(found):,} results in {sessions} sessions")
        print(f"  {used(fits.found[source, family.name])}")
        for name, error in rules(found, everything).items():
            print(f"  {name:14} {error.words()}")


if __name__ == "__main__":
    main()
