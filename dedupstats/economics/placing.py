"""Where things stand in a context's prompts (token-economics.md 2.2).

Request k+1 is the prompt of k, then the answer of k, then what entered, in order. The prompt's length is what
the usage says; sizes inside it are measured or estimated (5.5) and fill it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dedupstats.economics.prompt import Kind, Prompt
from dedupstats.economics.tokens import size_step

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dedupstats.economics.events import Asked, Entered, Left, Leg
    from dedupstats.economics.families import Family
    from dedupstats.economics.tokens import Estimate, Sized, Step


class Category(NamedTuple):
    """What pieces are counted as."""

    kind: Kind
    label: str | None = None
    """tool, or type of the attachment"""


FLOOR, META, OUTPUT, SIDE = (Category(kind) for kind in (Kind.FLOOR, Kind.META, Kind.OUTPUT, Kind.SIDE))


class Placing:
    """The prompt of a context while its requests go by.

    Attributes:
        prompt: The pieces of the last request's prompt. Results have numbers of their own, other things share
            one a category.
        categories: All categories met.
        category_of: Number of the category, by number of the piece.
        results: Emission key, number of the piece and size of every result met.
        cached: How much of the prompt the request before had sent, and is still there.
    """

    def __init__(self, factor: float, *, is_side: bool) -> None:
        self.prompt = Prompt()
        self.categories: list[Category] = []
        self.category_of: list[int] = []
        self.results: list[tuple[int, int, Estimate]] = []
        self.cached = 0.0
        self._factor = factor
        self._is_side = is_side
        self._shared: dict[Category, int] = {}
        self._known: dict[Category, int] = {}
        self._ordinals: dict[int, int] = {}
        self._was_modelled = False

    def take(self, leg: Leg, family: Family | None, *, is_other: bool = False) -> None:
        """Move on to the leg's second request; what entered gets its sizes.

        Args:
            leg: What lies between the two requests.
            family: Tokenizer of the second one's model.
            is_other: It is another tokenizer than the first one's: it counts what stood before anew.
        """
        before = self.prompt.end
        entered, has_answer = self._depart(leg, family)
        self.cached = min(before, self.prompt.end)
        sized = size_step(_part(leg, entered), family, self._factor)
        pieces = [self._piece(one, size) for one, size in zip(entered, sized.estimates, strict=True)]
        if leg.after is None:
            return
        usage = leg.after.usage
        if self._is_side:
            self.prompt.keep(())
            self.prompt.add(self._share(SIDE), usage.prompt if usage else 0.0)
        elif usage is None:
            if has_answer:
                self.prompt.add(self._share(OUTPUT), sized.output or 0.0)
            self._fill(pieces, [size.tokens for size in sized.estimates])
        elif leg.before is None and not self.prompt.pieces:
            self._begin(usage.prompt, entered, pieces, sized)
        else:
            if self._was_modelled or is_other:
                sizes = sum(size.tokens for size in sized.estimates)
                output = (sized.output or 0.0) if has_answer else 0.0
                self._fit(max(usage.prompt - output - sizes, 0.0), is_other=is_other)
            self._go_on(leg, entered, usage.prompt, pieces, sized, has_answer=has_answer)
        self._was_modelled = usage is None

    # -- what leaves --------------------------------------------------------------------------------------

    def _depart(self, leg: Leg, family: Family | None) -> tuple[list[Entered], bool]:
        """Take what left sight out of the prompt; the rest of the leg, and whether the last answer stays."""
        has_answer = leg.before is not None
        if not leg.left:
            return leg.entered, has_answer
        staying = list(range(len(leg.entered)))
        for place, left in leg.left:
            gone = {number for number in staying if number < place and _goes(leg.entered[number], left)}
            staying = [number for number in staying if number not in gone]
            has_answer = has_answer and not (left.clears or left.is_rewind)
            self._leave(left)
            # they were sent to no request of this context
            alone = [leg.entered[number] for number in sorted(gone)]
            for one, size in zip(alone, size_step(_part(leg, alone), family).estimates, strict=True):
                self._piece(one, size)
        return [leg.entered[number] for number in staying], has_answer

    def _leave(self, left: Left) -> None:
        named = {self._ordinals[ordinal] for ordinal in left.ordinals if ordinal in self._ordinals}
        if left.clears:
            self.prompt.keep({self._share(FLOOR), *named})
        elif left.is_rewind:
            starts = [start for piece in named if (start := self.prompt.start_of(piece)) is not None]
            if starts:
                self.prompt.cut(min(starts))
        else:
            self.prompt.keep(set(self.prompt.pieces) - named)

    # -- what stands where --------------------------------------------------------------------------------

    def _begin(self, target: float, entered: list[Entered], pieces: list[int], sized: Sized) -> None:
        """The first prompt is the floor (2.1), but for results that stand before it."""
        sizes = [
            size.tokens if one.kind is Kind.RESULT else 0.0
            for one, size in zip(entered, sized.estimates, strict=True)
        ]
        self.prompt.add(self._share(FLOOR), max(target - sum(sizes), 0.0))
        self._fill(pieces, sizes, target)

    def _go_on(
        self,
        leg: Leg,
        entered: list[Entered],
        target: float,
        pieces: list[int],
        sized: Sized,
        *,
        has_answer: bool,
    ) -> None:
        sizes = [size.tokens for size in sized.estimates]
        whole = sum(sizes)
        output = (sized.output or 0.0) if has_answer else 0.0
        room = target - self.prompt.end
        if room <= output:
            # what entered is there: the answer, or what stood before, has lost its thinking (5.2, traps 2, 3)
            output = max(room - whole, 0.0)
            self.prompt.cut(max(target - whole, 0.0))
        elif has_answer and (sized.output is None or (not whole and not _is_known(leg.before))):
            output = max(room - whole, 0.0)
        self.prompt.add(self._share(OUTPUT), output)
        room = target - self.prompt.end
        if room > sum([one.entry.most for one in entered]):
            # what entered cannot be as large: the rest is in no log (5.2, trap 4)
            self.prompt.add(self._share(META), room - whole)
        self._fill(pieces, sizes, target)

    def _fit(self, end: float, *, is_other: bool) -> None:
        """Bring what was estimated, or counted by another model, to a length that was measured."""
        if is_other and not self._was_modelled:
            self.prompt.stretch(end)
        elif end > self.prompt.end:
            # an estimated context does not know its floor
            self.prompt.widen(self._share(FLOOR), end - self.prompt.end)
        else:
            self.prompt.cut(end)

    def _fill(self, pieces: Sequence[int], sizes: Sequence[float], target: float | None = None) -> None:
        """Put pieces at the end, scaled so that they reach a target; without any, hidden text does."""
        whole = sum(sizes)
        factor = 1.0
        if target is not None:
            room = max(target - self.prompt.end, 0.0)
            if not whole:
                self.prompt.add(self._share(META), room)
                return
            factor = room / whole
        for piece, size in zip(pieces, sizes, strict=True):
            self.prompt.add(piece, size * factor)

    # -- numbers of pieces --------------------------------------------------------------------------------

    def _piece(self, one: Entered, size: Estimate) -> int:
        if one.key is None:
            return self._share(Category(one.kind, one.label))
        piece = self._new(Category(one.kind, one.label))
        self.results.append((one.key, piece, size))
        if one.ordinal is not None:
            self._ordinals[one.ordinal] = piece
        return piece

    def _share(self, category: Category) -> int:
        if category not in self._shared:
            self._shared[category] = self._new(category)
        return self._shared[category]

    def _new(self, category: Category) -> int:
        if category not in self._known:
            self._known[category] = len(self.categories)
            self.categories.append(category)
        self.category_of.append(self._known[category])
        return len(self.category_of) - 1


def _part(leg: Leg, entered: list[Entered]) -> Step:
    """So much of a leg as a step."""
    if entered is leg.entered:
        return leg.step
    return leg.step._replace(entries=[one.entry for one in entered])


def _is_known(asked: Asked | None) -> bool:
    return asked is not None and asked.is_output_known


def _goes(one: Entered, left: Left) -> bool:
    """Whether a boundary takes what had entered before it and was not sent yet."""
    if one.ordinal is None:
        return left.clears or left.is_rewind
    return (one.ordinal in left.ordinals) != left.clears
