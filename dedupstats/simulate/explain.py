"""The whole story of one decision: the call, what came before it, what the ledger held, and what was true.

Only the family of the result is replayed. What is found is plain data; words are the report's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from dedupstats.policies.base import Action
from dedupstats.simulate.find import Result, copies, results
from dedupstats.simulate.held import Held, held
from dedupstats.simulate.knowledge import Knowledge
from dedupstats.simulate.otherwise import listed, otherwise
from dedupstats.simulate.replay import Replay
from dedupstats.simulate.score import Beside
from dedupstats.simulate.stubs import READS, Stub, stubs
from dedupstats.simulate.timeline import Timeline
from dedupstats.simulate.variants import variants
from dedupstats.simulate.verdicts import PLACES, VERDICTS, Place, Verdict, place
from dedupstats.simulate.weigh import tally
from dedupstats.sources.rtk_hook import hooked

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from dedupstats.policies.base import Decision, Reach
    from dedupstats.simulate.chunk import Chunk
    from dedupstats.simulate.replay import Replayed
    from dedupstats.simulate.variants import Variant
    from dedupstats.store import Store

EARLIER: Final = 50
"""earlier results that an explanation lists: the latest ones"""

REFERENCES: Final = ("exact", "safe")
"""the bounds that stand beside every policy"""

SHELLS: Final = frozenset({"Bash", "mcp__acp__Bash"})
_NAMED: Final = 200
"""RTK asked about every tool names a shell command by so many characters (claude-code.md section 15)"""


@dataclass(frozen=True, slots=True)
class Earlier:
    """An earlier result of the family: of the same call, of the same bytes, or both."""

    result: Result
    same_call: bool
    same_bytes: bool
    place: Place
    """seen from the context of the result that is explained, at that moment"""


@dataclass(frozen=True, slots=True)
class Ledger:
    """What the ledger had last recorded of the same call, or of the same bytes."""

    entry: Earlier
    is_forgotten: bool
    """it no longer held it"""
    cause: str | None
    """the event that made it forget; None: none did, or it did not forget"""
    cause_line: int | None
    """of the file of the context in which that happened; None: it follows from the results alone"""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a variant of a policy did with the result."""

    change: str
    """what is other than in the account that it stands beside; empty for the account itself"""
    policy: str
    """its label, with the settings that are not its preset's"""
    action: Action | None
    """None: it is not asked about this call"""
    reason: str | None
    verdict: Verdict | None
    """None: nothing was elided"""
    place: Place | None
    """of the anchor, if there is one"""


@dataclass(frozen=True, slots=True)
class Weight:
    """What a result weighs, or what eliding it would have saved once the marker is paid."""

    tokens: int
    """first-pass tokens, framing included"""
    sent: int | None
    """tokens times the requests that carried them, copies included; None: nothing is known of requests"""
    usd: float | None
    """what those with a price charged, USD at list prices; None: none has one"""
    unpriced_sent: int
    """the part of what was sent whose requests have no price"""


@dataclass(frozen=True, slots=True)
class Account:
    """One policy's decision on the result, and the truth about it."""

    outcome: Outcome
    settings: dict[str, Any]
    reach: str
    """which results the policy is asked about: all, or hook (shell commands that RTK's hook rewrites)"""
    ledger: Ledger | None
    """None: it had recorded nothing alike, or is not asked"""
    marker: str | None
    """as the engine writes it; None: shown in full, or not by a marker"""
    marker_bytes: int | None
    saved: Weight | None
    """net, if the elision were sound: (x - m) / x of what the result cost; None: nothing was elided"""
    full_copy: Result | None
    """the latest copy of the bytes in sight that this policy showed in full"""
    not_in_full: tuple[int, ...]
    """keys of the listed earlier results that this policy did not show in full"""
    beside: tuple[Beside, ...]
    """what else is true of a sound elision"""
    if_unknown_reads: bool
    """the elision would be sound, were it known that the tool only reads"""
    others: tuple[Outcome, ...]
    """what it would have done with one thing changed, and what the bounds do"""


@dataclass(frozen=True, slots=True)
class Explanation:
    """A result, its past, and what each policy made of it."""

    result: Result
    weight: Weight
    """what it has in tokens, and what carrying it cost"""
    level: int
    """how its tokens are known, 0 to 5 (see `emission_cost.level`)"""
    requests: int
    """that carried it, or a copy of it"""
    earlier: tuple[Earlier, ...]
    """the latest 50, in order of arrival"""
    earlier_results: int
    """of how many"""
    stub: Stub | None
    """the verdict on what the log shows, if that is a marker itself"""
    copies: tuple[Result, ...]
    """where a resume, fork or branch wrote it again, the first few, in order of arrival"""
    accounts: tuple[Account, ...]


def explain(
    store: Store,
    emission_key: int,
    policies: Sequence[Variant],
    *,
    knowledge: Knowledge | None = None,
    with_others: bool = True,
) -> Explanation:
    """Explain what some policies decide on one result.

    Args:
        store: An open store; read-only will do.
        emission_key: An original; see `dedupstats.simulate.find.find`.
        policies: One account is given of each.
        knowledge: What a person says of tools.
        with_others: Whether each account also says what other variants of the policy and the bounds do.
    """
    family = store.query("select family_key from emission where emission_key = ?", [emission_key])[0][0]
    timeline = Timeline(store, "session", knowledge or Knowledge(), families=[family])
    ((first, last),) = timeline.stretches
    chunk = timeline.chunk(first, last)
    row = int(np.flatnonzero(chunk.columns["emission_key"] == emission_key)[0])
    others = [otherwise(variant) if with_others else [] for variant in policies]
    bounds = variants(REFERENCES) if with_others else []
    every = [*policies, *(variant for some in others for _, variant in some), *bounds]
    replayed = iter(Replay(every, "session").chunk(chunk))
    drafts = [_draft(chunk, row, next(replayed)) for _ in policies]
    theirs = [[_outcome(row, next(replayed), change) for change, _ in some] for some in others]
    bounding = [_outcome(row, one, f"bound {one.variant.label}") for one in replayed]
    past = _past(chunk, row)
    told = _Told(store, chunk, row, {row, *past[-EARLIER:], *(one for draft in drafts for one in draft.rows)})
    ((requests,),) = store.query(
        "select coalesce(sum(requests), 0)::bigint from emission_cost where original_key = ?", [emission_key]
    )
    whole = tally(chunk, np.array([row]))
    return Explanation(
        told.result(row),
        Weight(whole.tokens, whole.sent if whole.is_costed else None, whole.usd, whole.unpriced_sent),
        int(chunk.weights.level[row]),
        requests,
        tuple(map(told.earlier, past[-EARLIER:])),
        len(past),
        next(iter(stubs(store, emission_key)), None),
        copies(store, emission_key),
        tuple(
            _account(told, draft, past, (*some, *bounding))
            for draft, some in zip(drafts, theirs, strict=True)
        ),
    )


class _Told:
    """Rows of a chunk in the words of the log."""

    def __init__(self, store: Store, chunk: Chunk, row: int, rows: Iterable[int]) -> None:
        self.chunk = chunk
        self.row = row
        self._keys: list[int] = chunk.columns.list("emission_key")
        self._results = results(store, [self._keys[one] for one in rows])

    def result(self, row: int) -> Result:
        """A row as the log has it."""
        return self._results[self._keys[row]]

    def earlier(self, row: int) -> Earlier:
        """An earlier row as seen from the one that is explained."""
        return Earlier(
            self.result(row),
            bool(_same_call(self.chunk, self.row)[row]),
            bool(_same_bytes(self.chunk, self.row)[row]),
            place(self.chunk, self.row, row),
        )


def _past(chunk: Chunk, row: int) -> list[int]:
    """Earlier rows with the same call or the same bytes.

    A copy counts where it stands in the same context; elsewhere its original stands for it.
    """
    columns = chunk.columns
    is_near = ~columns["is_copy"] | (columns["context_key"] == columns["context_key"][row])
    is_alike = _same_call(chunk, row) | _same_bytes(chunk, row)
    found: list[int] = np.flatnonzero((is_alike & is_near)[:row]).tolist()
    return found


def _same_call(chunk: Chunk, row: int) -> NDArray[Any]:
    columns = chunk.columns
    have_calls = columns["has_call"] & columns["has_call"][row]
    found: NDArray[Any] = have_calls & (columns["call_key"] == columns["call_key"][row])
    return found


def _same_bytes(chunk: Chunk, row: int) -> NDArray[Any]:
    """What is empty, an image or a stub has no bytes that could be the same."""
    columns = chunk.columns
    are_text = columns["repeatable"] & columns["repeatable"][row]
    found: NDArray[Any] = are_text & (columns["sha64"] == columns["sha64"][row])
    return found


class _Draft(NamedTuple):
    """An account in rows of the chunk."""

    replayed: Replayed
    outcome: Outcome
    decision: Decision | None
    held: Held | None
    full_copy: int | None
    not_in_full: set[int]

    @property
    def rows(self) -> list[int]:
        """What else it speaks of."""
        held = [] if self.held is None else [self.held.row]
        return held if self.full_copy is None else [*held, self.full_copy]


def _draft(chunk: Chunk, row: int, replayed: Replayed) -> _Draft:
    answers = dict(zip(replayed.asked.tolist(), replayed.answers, strict=True))
    not_in_full = {other for other, answer in answers.items() if answer.action is not Action.SHOW}
    # a copy is shown as its original was, unless that came later
    not_in_full |= {
        copy for copy, original in chunk.original.items() if original <= copy and original in not_in_full
    }
    columns = chunk.columns
    copies = np.flatnonzero((chunk.same_bytes == chunk.same_bytes[row])[:row]).tolist()
    in_sight = [
        copy
        for copy in copies
        if copy not in not_in_full and columns["left_at"][copy] > columns["ordinal"][row]
    ]
    decision = answers.get(row)
    return _Draft(
        replayed,
        _outcome(row, replayed),
        decision,
        None if decision is None else held(chunk, row, replayed.variant, answers),
        in_sight[-1] if in_sight else None,
        not_in_full,
    )


def _outcome(row: int, replayed: Replayed, change: str = "") -> Outcome:
    at = int(np.searchsorted(replayed.asked, row))
    is_asked = at < len(replayed.asked) and replayed.asked[at] == row
    decision = replayed.answers[at] if is_asked else None
    judged = _judged(row, replayed)
    return Outcome(
        change,
        replayed.variant.label,
        None if decision is None else decision.action,
        None if decision is None else decision.reason,
        None if judged is None else VERDICTS[replayed.judged.verdict[judged]],
        None if judged is None else PLACES[replayed.judged.place[judged]],
    )


def _judged(row: int, replayed: Replayed) -> int | None:
    """Where the verdict on a row stands in the columns of `Judged`; None: nothing was elided."""
    found = np.flatnonzero(replayed.judged.row == row).tolist()
    return found[0] if found else None


def _account(told: _Told, draft: _Draft, past: Sequence[int], others: tuple[Outcome, ...]) -> Account:
    replayed, decision = draft.replayed, draft.decision
    judged, at = replayed.judged, _judged(told.row, replayed)
    policy = replayed.variant.spec.policy()
    is_sound = draft.outcome.verdict is Verdict.SOUND
    marker = None if decision is None else decision.marker
    if marker and "identity" in policy.needs:
        marker = _named(marker, told.result(told.row), policy.reach)
    return Account(
        draft.outcome,
        listed(replayed.variant.spec.settings),
        policy.reach,
        draft.held and _ledger(told, draft.held),
        marker,
        None if decision is None else decision.shown_bytes,
        None if at is None else _saved(told, replayed.judged.marker_bytes[at]),
        None if draft.full_copy is None else told.result(draft.full_copy),
        tuple(told.result(row).emission_key for row in past[-EARLIER:] if row in draft.not_in_full),
        tuple(name for name in Beside if is_sound and getattr(judged, name.value)[at]),
        at is not None and bool(judged.if_unknown_reads[at]),
        others,
    )


def _saved(told: _Told, marker_bytes: int) -> Weight:
    net = tally(told.chunk, np.array([told.row]), np.array([marker_bytes]))
    return Weight(net.net_tokens, net.net_sent, net.net_usd, net.unpriced_sent)


def _ledger(told: _Told, found: Held) -> Ledger:
    cause = found.cause
    return Ledger(
        told.earlier(found.row),
        found.is_forgotten,
        cause and cause.event.kind.value,
        (cause and cause.line) or None,
    )


def _named(marker: str, result: Result, reach: Reach) -> str:
    """RTK's marker with the identity of the command, of which a store keeps the length alone.

    Without targets the marker stays as long as it is, with a question mark for each byte.
    """
    target = result.target
    if reach == "all" and result.tool not in READS | SHELLS:
        identity = result.tool
    elif target is None:
        return marker
    elif reach == "hook":
        identity = hooked(target).identity or ""
    else:
        identity = f"read:{target}" if result.tool in READS else target[:_NAMED]
    unnamed = "?" * len(identity.encode("utf-8", "surrogatepass"))
    return marker.replace(f"[{unnamed}]", f"[{identity}]", 1)
