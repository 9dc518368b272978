"""By which constants results are estimated, by source: fitted on the store's own where that is better.

Sources are fitted apart: what one program's clients report must not spoil the estimates of another's.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from dedupstats.economics.events import singles
from dedupstats.economics.families import FAMILIES, family_of
from dedupstats.economics.fit import Basis, Measured, fitted
from dedupstats.economics.tokens import session_factor

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dedupstats.economics.carry import FamilyOf
    from dedupstats.economics.families import Family
    from dedupstats.economics.fit import Fitted
    from dedupstats.history.costs import ContextLegs
    from dedupstats.store import Store

NO_FAMILY = "other models"
"""of which no tokenizer is known: their estimate is bytes / 4"""

_ORDER = [*(family.name for family in FAMILIES), NO_FAMILY]


class Fits:
    """The constants in use, by source and family.

    Attributes:
        found: What became of each family of each source that has a result measured alone; in order.
    """

    def __init__(self, sessions: Iterable[list[ContextLegs]]) -> None:
        """Fit what can be fitted.

        Args:
            sessions: What happened in every session, in an order that is the same however they came in.
        """
        steps: defaultdict[tuple[str, Family | None], list[Measured]] = defaultdict(list)
        for contexts in sessions:
            for one in contexts:
                for single in singles(one.legs):
                    # what a copy says again was measured once
                    if single.asked.is_billed:
                        measured = Measured(one.session_key, single.entry.counts, single.tokens)
                        steps[one.source, family_of(single.asked.model)].append(measured)
        made = {key: fitted(key[1], own) for key, own in steps.items()}
        self.found: dict[tuple[str, str], Fitted] = {
            (source, name(family)): made[source, family]
            for source, family in sorted(made, key=lambda key: (key[0], _ORDER.index(name(key[1]))))
        }
        self._factors = _factors(made, steps)
        self._by_source: dict[str, FamilyOf] = {}

    def factor(self, session_key: int) -> float:
        """A session's own factor on the constants in use (5.5)."""
        return self._factors.get(session_key, 1.0)

    def families(self, source: str) -> FamilyOf:
        """Finds the family of a model, with the constants in use for a source."""
        if source not in self._by_source:
            self._by_source[source] = self._families(source)
        return self._by_source[source]

    def _families(self, source: str) -> FamilyOf:
        own = {
            name: one.family
            for (of, name), one in self.found.items()
            if of == source and one.basis is Basis.FITTED
        }
        if not own:
            return family_of
        by_model: dict[str | None, Family | None] = {}

        def found(model: str | None) -> Family | None:
            if model not in by_model:
                sheet = family_of(model)
                by_model[model] = own.get(sheet.name, sheet) if sheet else None
            return by_model[model]

        return found

    def save(self, store: Store) -> None:
        """Fill `derived.calibration_fit`, in the transaction that is open."""
        store.query("delete from derived.calibration_fit")
        rows = []
        for key, one in self.found.items():
            classes = one.family.classes if one.family else None
            refit = one.refit or (None, None)
            rows.append(
                (
                    *key,
                    one.basis.value,
                    one.steps,
                    one.sessions,
                    one.tested,
                    *(classes or (None,) * 6),
                    *one.sheet,
                    *refit,
                    one.bytes4,
                )
            )
        store.append("derived.calibration_fit", rows)


def _factors(
    made: dict[tuple[str, Family | None], Fitted],
    steps: Mapping[tuple[str, Family | None], Sequence[Measured]],
) -> dict[int, float]:
    ratios: defaultdict[int, list[float]] = defaultdict(list)
    for key, own in steps.items():
        family = made[key].family
        if family is not None:
            for one in own:
                ratios[one.session].append(one.tokens / family.tokens(one.counts))
    return {session: session_factor(found) for session, found in ratios.items()}


def name(family: Family | None) -> str:
    """A family as people and tables read it."""
    return family.name if family else NO_FAMILY
