"""The part of the Report on replays: what engines would have decided on this history.

Only sound elisions are savings. Everything else that a policy elides is risk: a text in front of the model
that is not true. Nothing here is a promise about logs to come.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dedupstats.economics.tokens import TokenRule  # noqa: TC001 - read at run time
from dedupstats.report.model_economics import Known  # noqa: TC001 - read at run time
from dedupstats.report.share import Share  # noqa: TC001 - read at run time

if TYPE_CHECKING:
    from collections.abc import Iterable

Value = int | bool | str | list[str]
"""of a parameter, as JSON has it"""


@dataclass(frozen=True, slots=True)
class Sums:
    """Results, what they weigh, and what the markers weigh that stand in their place.

    Attributes:
        results: Their number.
        bytes: UTF-8 bytes of what they show.
        tokens: First-pass tokens, as `Replay.tokens` counts them.
        sent: Tokens times the requests that carried them, copies included; None: nothing is known of
            requests.
        usd: What the requests with a price charged for that, USD at list prices; None: none has one.
        marker_bytes: Bytes of the markers.
        marker_tokens: Their tokens, by the same rule, framing included as in `tokens`.
        marker_sent: Those times the same requests.
        marker_usd: What these would have charged for them.
        unpriced_sent: The part of `sent` whose requests have no price.
        modelled_sent: The part of `sent` whose requests have no usage in the log.
        uncosted: Results of which nothing is known but bytes: their tokens are bytes / 4, nothing was sent.
    """

    results: int = 0
    bytes: int = 0
    tokens: int = 0
    sent: int | None = None
    usd: float | None = None
    marker_bytes: int = 0
    marker_tokens: int = 0
    marker_sent: int | None = None
    marker_usd: float | None = None
    unpriced_sent: int = 0
    modelled_sent: int = 0
    uncosted: int = 0


@dataclass(frozen=True, slots=True)
class Against:
    """What a policy saves net, in one unit, beside what it is measured against.

    Attributes:
        unit: `tokens`, `sent`, `usd`, or `share` (of the input-side cost, in USD).
        words: What it is measured against.
        net: What sound elisions save, their markers paid; can be negative. None: not known.
        whole: What it is measured against; None: not known.
        share: Net of the whole, 0 to 1, or below; None: nothing to divide by.
    """

    unit: str
    words: str
    net: float | None
    whole: float | None
    share: float | None


@dataclass(frozen=True, slots=True)
class LadderStep:
    """A step from the upper bound to what a policy saves: what it takes away, and what is left.

    Attributes:
        name: `same_call`, `same_bytes` ... `sound`, as in `Step` of the simulator; then
            `unruled` (sound elisions that no repeat rule counts come back, where there are any) and `net`.
        words: What the step takes away; of the first step, what the upper bound is.
        left: What is left behind it.
        removed_results: Results that it takes away; negative: that it adds.
        removed_tokens: Their tokens; of `net`: the tokens of the markers.
    """

    name: str
    words: str
    left: Sums
    removed_results: int
    removed_tokens: int


@dataclass(frozen=True, slots=True)
class AnchorPlace:
    """Where the earlier results stand that markers speak of, seen from the context that reads the marker.

    Attributes:
        name: `in_sight`, `gone` (in this context, no longer visible), `parent`, `sibling`, `child`, `other`.
        elided: Elisions with such an anchor.
        sound: The sound ones of them.
    """

    name: str
    elided: Sums
    sound: Sums


@dataclass(frozen=True, slots=True)
class ElidedTool:
    """What a policy elides of one tool.

    Attributes:
        name: Name of the tool.
        elided: All its elisions.
        sound: The sound ones of them.
    """

    name: str
    elided: Sums
    sound: Sums


@dataclass(frozen=True, slots=True)
class ReplayExample:
    """An elision in words: who was told what, and what is true.

    Attributes:
        verdict: `hidden`, `false` or `dangling`.
        place: Where its anchor stands, as in `AnchorPlace`.
        tool: The tool that was called.
        target: What it was called on, shown as all targets of the report are.
        bytes: UTF-8 bytes that the marker replaces.
        told: The context that reads the marker.
        claim: The marker's own words.
        truth: What is true, in a sentence.
        id: Id of the call, or the key of the emission, for `dedupstats explain`; None if names are numbered.
    """

    verdict: str
    place: str
    tool: str
    target: str
    bytes: int
    told: str
    claim: str
    truth: str
    id: str | None


@dataclass(frozen=True, slots=True)
class PolicyReplay:
    """One policy with its settings, replayed.

    Attributes:
        label: As options and tables have it: `docker-agent:v3 (host)`.
        words: The same for people.
        policy: Its name.
        revision: Its revision; empty: it has none.
        preset: `host`, `documented` ...; empty: as it is.
        kind: `engine`; `what-if`: an engine with another ledger or reach than its host's; `reference`.
        is_headline: The newest revision of an engine, as its host runs it.
        settings: Every parameter's value: a number, true or false, a word, or a list of words.
        asked: Results that it was asked about.
        reasons: Results by what decided on them; `not_reached`: it is not asked about such calls.
        elided: All it elides: what it would claim itself.
        sound: The sound ones of them: savings before their markers.
        untrue: The others.
        saved: Net tokens of the sound ones (their markers paid; can be negative), of all tokens shown.
        claimed: Net tokens of everything elided, of all tokens shown.
        against: Net of the sound ones against four denominators.
        known: How the tokens of the sound ones are known.
        verdicts: Elisions by verdict: `sound`, `dangling`, `false`, `hidden`.
        places: Elisions by where the anchor stands.
        beside: Sound ones by what is counted beside: `other_call`, `twice_removed`, `changed_between`,
            `later_dangling`.
        mixed: Elisions of shell commands of which RTK would see a part only; in all other figures too.
        if_unknown_reads: More sound ones if tools of which nobody says so only read; None: not asked.
        key_lost: Results shown though the session had the same bytes of a call that differs in spelling only.
        largest_ledger: Entries of the largest ledger met.
        cap: Entries at which a ledger is full; None: it has no such limit.
        steps: The ladder.
        tools: By tool, most tokens first.
        with_any: Sessions with any sound elision, of all sessions with results.
        top_session: Bytes of sound elisions in the session with most, of all.
        examples: The largest untrue elisions of each verdict.
    """

    label: str
    words: str
    policy: str
    revision: str
    preset: str
    kind: str
    is_headline: bool
    settings: dict[str, Value]
    asked: Sums
    reasons: dict[str, int]
    elided: Sums
    sound: Sums
    untrue: Sums
    saved: Share
    claimed: Share
    against: tuple[Against, ...]
    known: Known
    verdicts: dict[str, Sums]
    places: tuple[AnchorPlace, ...]
    beside: dict[str, Sums]
    mixed: Sums
    if_unknown_reads: Sums | None
    key_lost: Sums
    largest_ledger: int
    cap: int | None
    steps: tuple[LadderStep, ...]
    tools: tuple[ElidedTool, ...]
    with_any: Share
    top_session: Share
    examples: tuple[ReplayExample, ...]


@dataclass(frozen=True, slots=True)
class RevisionChange:
    """What a change between two revisions of an engine is worth on this history: later minus earlier.

    Attributes:
        policy: Name of the engine.
        earlier: The earlier revision.
        later: The later one.
        preset: The preset under which both were replayed.
        words: What changed.
        is_whole: All changes together; the rows before it add up to this one.
        is_isolated: Both replays differ in this alone; else no parameter tells its parts from each other.
        elided: Elisions more (fewer if negative).
        sound: Sound ones more.
        untrue: Others more.
        saved_tokens: Net tokens of sound ones more.
    """

    policy: str
    earlier: str
    later: str
    preset: str
    words: str
    is_whole: bool
    is_isolated: bool
    elided: int
    sound: int
    untrue: int
    saved_tokens: int


@dataclass(frozen=True, slots=True)
class Replay:
    """All replays of the report: one pass over the whole history, counted in the report's scope.

    Attributes:
        headline: The sentence for a pull request; None: no engine was replayed.
        refused: Why nothing was replayed; None: it was. The upper bound stands in its place.
        scope: What shares an engine's state: `session`.
        tokens: How tokens are counted: `ladder` (measured or estimated) or `bytes4` (bytes / 4, rounded up).
        known: How the tokens of all results are known.
        basis: Where prices are from, with their date; None: no cost was looked at.
        results: Everything that was shown and counts.
        sessions: Sessions with such results.
        policies: Engines with their presets, what-ifs, references.
        changes: What the changes between revisions are worth.
    """

    headline: str | None
    refused: str | None
    scope: str
    tokens: TokenRule
    known: Known
    basis: str | None
    results: Sums
    sessions: int
    policies: tuple[PolicyReplay, ...]
    changes: tuple[RevisionChange, ...]

    @property
    def headlines(self) -> tuple[PolicyReplay, ...]:
        """The newest revision of each engine, as its host runs it."""
        return tuple(policy for policy in self.policies if policy.is_headline)

    @property
    def engines(self) -> tuple[PolicyReplay, ...]:
        """Every revision of every engine in every preset."""
        return of_kind(self.policies, "engine")


def of_kind(policies: Iterable[PolicyReplay], kind: str) -> tuple[PolicyReplay, ...]:
    """Those of one kind."""
    return tuple(policy for policy in policies if policy.kind == kind)
