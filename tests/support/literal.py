"""A replay read word by word from its definitions, on histories of tests/support/histories.py.

Everything is asked anew for each result, by looking through all of the history: what happens to an engine,
what is in sight, what a marker is. Slow, plain, and shares nothing with the package but the policies
themselves and the names of things.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from dedupstats.model import ReadOnly
from dedupstats.policies.base import NEVER, Action, Emission, Event, EventKind, Witness
from dedupstats.sources.base import hash64
from dedupstats.sources.measure import measure
from support.histories import THREADS, Happening, Past, Result, known

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dedupstats.policies.base import Decision, Policy
    from dedupstats.simulate.variants import Variant


class Truth(NamedTuple):
    """What one elision was."""

    verdict: str
    place: str
    other_call: bool
    twice_removed: bool
    changed_between: bool
    later_dangling: bool
    if_unknown_reads: bool


@dataclass
class Reading:
    """What a variant did to a history."""

    answers: dict[Result, Decision] = field(default_factory=dict)
    """of every result that it was asked about"""
    anchors: dict[Result, Result] = field(default_factory=dict)
    """of every elision"""
    truths: dict[Result, Truth] = field(default_factory=dict)
    copies: dict[Result, list[Result]] = field(default_factory=lambda: defaultdict(list))

    def sound(self) -> list[Result]:
        return [result for result, truth in self.truths.items() if truth.verdict == "sound"]


# -- what an engine is told ----------------------------------------------------------------------------------


def ledger_of(result: Result) -> str:
    """The session id that an engine is given: a sub-session's own id is no session of the person."""
    thread = result.thread
    is_own = not thread.is_main and result.ledger == thread.name
    return thread.session if is_own else result.ledger


def ledger_where(happening: Happening, items: Iterable[Result | Happening]) -> str:
    """That of the rows around: of the one before, or if there is none that has one, the one behind."""
    mine = [item for item in items if isinstance(item, Result) and item.thread is happening.thread]
    before = [result for result in mine if result.place < happening.place][-1:]
    behind = [result for result in mine if result.place > happening.place][:1]
    for result in before + behind:
        if result.ledger:
            return ledger_of(result)
    return happening.thread.session


def is_asked(result: Result, reach: str) -> bool:
    if result.copy_of is not None or result.call is None:
        return False
    return reach == "all" or result.hook in {"exact", "mixed"}


def told(result: Result, number: int, reach: str) -> Emission:
    """A result as an engine is shown it."""
    measured = measure(result.text)
    identity = 7
    if reach == "all":
        # without texts of commands and paths, the longest
        identity = {"Read": 5 + 200, "Bash": 200}.get(result.tool, len(result.tool))
    return Emission(
        seq=number,
        session=ledger_of(result),
        context=result.thread.key,
        ordinal=result.ordinal,
        left_at=NEVER if result.left is None else result.left,
        at=result.at,
        tool=result.tool,
        category=known(result.tool)[1] or "",
        read_only=result.known is ReadOnly.YES,
        is_error=result.is_error,
        did_not_run=result.did_not_run,
        call_key=0 if result.call is None else hash64(result.tool, result.call),
        sha64=measured.sha64,
        bytes=measured.bytes,
        lines=measured.lines,
        repeatable=result.is_text,
        raw_sha64=measured.sha64,
        identity="?" * identity,
    )


def heard(wiring: str, kind: EventKind) -> list[EventKind]:
    if wiring == "transform":
        return []
    if kind is EventKind.TURN:
        return [EventKind.SESSION_END, EventKind.SESSION_START] if wiring == "runtime" else []
    return [kind]


# -- the replay ----------------------------------------------------------------------------------------------


def read(past: Past, variant: Variant, scope: str = "session", *, unknown_reads: bool = False) -> Reading:
    """Replay a history."""
    found = Reading()
    for result in past.results:
        if result.copy_of is not None:
            found.copies[result.copy_of].append(result)
    if scope == "history":
        _run(past, past.items, variant, found, is_one=True, unknown_reads=unknown_reads)
    else:
        for family in past.families():
            _run(past, family.items, variant, found, is_one=False, unknown_reads=unknown_reads)
    for result, anchor in found.anchors.items():
        found.truths[result] = truth(past, variant, found, result, anchor)
    return found


def _run(
    past: Past,
    items: list[Result | Happening],
    variant: Variant,
    found: Reading,
    *,
    is_one: bool,
    unknown_reads: bool,
) -> None:
    processes: dict[str, Policy] = defaultdict(variant.spec.policy)
    results = [item for item in items if isinstance(item, Result)]
    by_number = dict(enumerate(past.results))
    numbers = {result: number for number, result in by_number.items()}
    is_reference = isinstance(variant.spec.policy(), Witness)

    def process(ledger: str) -> Policy:
        return processes["" if is_one or is_reference else ledger]

    def tell(ledger: str, kind: EventKind, session: str, context: Any) -> None:
        policy = process(ledger)
        for delivered in heard(policy.wiring, kind):
            policy.notify(Event(delivered, session, context))

    def lives(kind: EventKind, result: Result, others: list[Result]) -> None:
        ledger = ledger_of(result)
        if not any(ledger_of(other) == ledger and other.thread is result.thread for other in others):
            tell(ledger, kind, "", result.thread.key)
        if not any(ledger_of(other) == ledger for other in others):
            tell(ledger, kind, ledger, "")

    for item in items:
        if isinstance(item, Happening):
            ledger = ledger_where(item, items)
            if item.kind == "compaction":
                tell(ledger, EventKind.COMPACTION, ledger, item.thread.key)
            elif item.kind == "turn" and not item.is_steering:
                tell(ledger, EventKind.TURN, ledger if item.thread.is_main else "", item.thread.key)
            continue
        lives(EventKind.SESSION_START, item, results[: results.index(item)])
        policy = process(ledger_of(item))
        emission = told(item, numbers[item], policy.reach)
        if unknown_reads and item.known is ReadOnly.UNKNOWN:
            emission = replace(emission, read_only=True)
        if is_asked(item, policy.reach):
            decision = found.answers[item] = policy.decide(emission)
            if decision.action is Action.ELIDE:
                assert decision.anchor is not None
                found.anchors[item] = by_number[decision.anchor]
        elif is_reference and is_full(found, item):
            policy.witness(emission)  # type: ignore[attr-defined]
        lives(EventKind.SESSION_END, item, results[results.index(item) + 1 :])


def is_full(found: Reading, result: Result) -> bool:
    """Whether the model was shown a result in full; a copy is shown as its original was."""
    decision = found.answers.get(result.copy_of or result)
    return decision is None or decision.action is Action.SHOW


# -- the verdict (DESIGN.md section 5) -----------------------------------------------------------------------


def truth(past: Past, variant: Variant, found: Reading, e: Result, anchor: Result) -> Truth:
    """What an elision was."""
    definition = variant.spec.definition
    sees_shell_only = variant.spec.policy().reach == "hook"
    full_in_sight = [
        other
        for other in past.results
        if other.text == e.text and e.sees(other) and is_full_then(found, other)
    ]
    answer = found.answers.get(anchor)
    is_false = anchor.text != e.text or (answer is not None and answer.action is Action.SHORTEN)
    if definition.says_same_arguments and anchor.call == e.call and anchor.tool == e.tool:
        is_false |= anchor.arguments != e.arguments
    reads = e.known
    if reads is ReadOnly.UNKNOWN and sees_shell_only and e.shell_reads:
        reads = ReadOnly.YES
    if e.is_error or reads is not ReadOnly.YES:
        verdict = "hidden"
    elif is_false:
        verdict = "false"
    else:
        verdict = "sound" if full_in_sight else "dangling"
    between = [
        other
        for other in past.results
        if anchor.place < other.place < e.place
        and other.thread.session == e.thread.session
        and other.copy_of is None
        and e.call is not None
        and (other.tool, other.call) == (e.tool, e.call)
    ]
    return Truth(
        verdict,
        place(past, e, anchor),
        other_call=(anchor.tool, anchor.call) != (e.tool, e.call),
        twice_removed=anchor in found.anchors,
        changed_between=any(other.text != e.text or other.is_error for other in between),
        later_dangling=bool(full_in_sight) and outlives(e, full_in_sight),
        if_unknown_reads=(
            not e.is_error and reads is ReadOnly.UNKNOWN and not is_false and bool(full_in_sight)
        ),
    )


def is_full_then(found: Reading, result: Result) -> bool:
    """Whether a result was shown in full when it arrived; a copy before its original was."""
    original = result.copy_of
    return (original is not None and original.place > result.place) or is_full(found, result)


def outlives(e: Result, copies: list[Result]) -> bool:
    """Whether there is a moment at which an elided result is in sight and none of the copies is."""

    def in_sight(result: Result, ordinal: int) -> bool:
        return result.left is None or result.left > ordinal

    moments = range(e.ordinal, e.ordinal + 100)
    return any(in_sight(e, at) and not any(in_sight(copy, at) for copy in copies) for at in moments)


def place(past: Past, e: Result, anchor: Result) -> str:
    """Where an anchor stands, seen from the context that is shown the marker."""
    here = [
        result
        for result in past.results
        if result.thread is e.thread and result.place < e.place and anchor in {result, result.copy_of}
    ]
    if here:
        return "in_sight" if any(e.sees(result) for result in here) else "gone"
    one, two = e.thread, anchor.thread
    if one.session != two.session or (one.is_main and two.is_main):
        return "other"
    if two.is_main or two.key in ancestors(one.key):
        return "parent"
    if one.is_main or one.key in ancestors(two.key):
        return "child"
    return "sibling"


def ancestors(key: int) -> set[int]:
    parent = THREADS[key].parent
    return set() if parent is None else {parent} | ancestors(parent)


# -- sums ----------------------------------------------------------------------------------------------------


Sums = tuple[int, ...]
"""What a score has to say of some elisions: results, bytes, tokens, sent, nano_usd, unpriced and modelled
ones of those sent, results without a cost; of markers bytes, tokens, sent, nano_usd."""

BYTES_RULE = {
    "claude-sonnet-4-5": (12, 3.10),
    "claude-opus-5": (7, 2.02),
    "deepseek-v4-pro": (9, 3.37),
    "gpt-5-codex": (21, 3.58),
}
"""the one-number rule of each model's tokenizer (token-economics.md 5.5): framing, bytes per token"""


def weighed(found: Reading, result: Result, rule: str = "ladder") -> Sums:
    """What one elided result weighs, and its marker."""
    marker = found.answers[result].shown_bytes or 0
    cost = result.cost
    if rule == "bytes4":
        return 1, result.size, -(-result.size // 4), 0, 0, 0, 0, 1, marker, -(-marker // 4), 0, 0
    if cost is None:
        tokens = -(-result.size // 4)
        return 1, result.size, tokens, 0, 0, 0, 0, 1, marker, -(-marker // 4), 0, 0
    # copies are shown as their original was, those that came before it in full
    carried = [cost, *(copy.cost for copy in found.copies[result] if copy.cost and copy.place > result.place)]
    tokens = round(cost.tokens)
    sent = sum(round(one.sent) for one in carried)
    nano_usd = sum(round(one.usd * 1e9) for one in carried)
    if cost.level == 4 or result.model not in BYTES_RULE:
        shown = -(-marker // 4)
    else:
        framing, bytes_per_token = BYTES_RULE[result.model]
        shown = round(framing + marker / bytes_per_token)
    share = shown / tokens if tokens else 0.0
    return (
        *(1, result.size, tokens, sent, nano_usd),
        *(sum(round(one.unpriced) for one in carried), sum(round(one.modelled) for one in carried), 0),
        *(marker, round(tokens * share), round(sent * share), round(nano_usd * share)),
    )


def sums(found: Reading, results: Iterable[Result], rule: str = "ladder") -> Sums:
    rows = [weighed(found, result, rule) for result in results]
    return tuple(map(sum, zip(*rows, strict=True))) or (0,) * 12


def reasons(found: Reading, past: Past) -> Counter[str]:
    """Results by what decided on them."""
    counts = Counter(decision.reason for decision in found.answers.values())
    missed = [result for result in past.results if result.copy_of is None and result not in found.answers]
    if missed:
        counts["not_reached"] = len(missed)
    return counts
