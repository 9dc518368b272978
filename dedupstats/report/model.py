"""The Report: everything that a renderer prints, as plain data.

Built once by `report.build`; the renderers are pure functions of it and compute no figure. It survives the
way to JSON and back unchanged (`report.document`). A change that a reader of the JSON could notice raises
`SCHEMA_VERSION`.

Sizes are UTF-8 bytes; tokens are counted as `Report.token_rule` says, but for RTK's rows (RTK's own
bytes / 4) and replays. Times are ISO 8601 texts in the time zone of `Scope.tz`.
Names that come from logs are already shortened or numbered; they are foreign text all the same, and every
renderer makes them safe.
"""

from __future__ import annotations

from dataclasses import dataclass

from dedupstats.report.model_economics import Economics  # noqa: TC001 - read at run time
from dedupstats.report.model_replay import Replay  # noqa: TC001 - read at run time
from dedupstats.report.share import Share  # noqa: TC001 - read at run time

SCHEMA_VERSION = 4
"""version of the JSON document"""


@dataclass(frozen=True, slots=True)
class Repeats:
    """How much of some results is repeated: by number, by bytes and by tokens."""

    results: Share
    bytes: Share
    tokens: Share


@dataclass(frozen=True, slots=True)
class Worth:
    """Some results in four units.

    Attributes:
        tokens: First-pass tokens.
        sent: Context-token-requests: tokens times the requests that carried them; None: nothing is known.
        usd: What those with a price charged, USD at list prices; None: none has one, or nothing is known.
        share: That of the input-side cost of all requests in scope, 0 to 1.
        known_by: How the tokens are known, with the error of each part, in words.
    """

    tokens: float
    sent: float | None
    usd: float | None
    share: float | None
    known_by: str


@dataclass(frozen=True, slots=True)
class Rule:
    """Repeats of the whole history under one repeat rule.

    Attributes:
        name: As in every table (`repeat-in-sight`).
        words: When a result is a repeat, for people.
        kind: What the figure is (an upper bound, or what which ledger could elide).
        is_upper_bound: No engine can elide as much.
        repeats: All results.
        floor: Results of at least `Report.floor_bytes` bytes alone.
        sessions: Sessions with any such repeat, of all sessions with results.
        worth: The repeats in four units.
    """

    name: str
    words: str
    kind: str
    is_upper_bound: bool
    repeats: Repeats
    floor: Repeats
    sessions: Share
    worth: Worth


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool: its share of all bytes, and its repeats by the name of the rule."""

    name: str
    bytes: Share
    results: int
    tokens: int
    repeats: dict[str, Repeats]


@dataclass(frozen=True, slots=True)
class Tools:
    """All tools, most bytes first.

    Attributes:
        rows: Every tool.
        shown: How many of them a short table shows.
        others: The sum of those behind; None: there are none.
    """

    rows: tuple[Tool, ...]
    shown: int
    others: Tool | None


@dataclass(frozen=True, slots=True)
class Distribution:
    """The repeat share of bytes over sessions, those without any repeat included.

    Attributes:
        rule: Name of the repeat rule.
        sessions: Sessions with at least one byte of results.
        with_any: Those with any repeat.
        median: Median share; quantiles interpolate linearly. None: no session.
        p90: 90th percentile.
        max: Largest share.
        values: Every session's share, ascending.
    """

    rule: str
    sessions: int
    with_any: Share
    median: float | None
    p90: float | None
    max: float | None
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class TopSession:
    """A session that holds much of the repeated bytes: what it adds to them, and its own share."""

    name: str
    project: str
    started: str | None
    of_repeats: Share
    repeats: Share


@dataclass(frozen=True, slots=True)
class Concentration:
    """How much of the repeated bytes of `rule` a few sessions hold.

    Attributes:
        rule: Name of the repeat rule.
        repeat_bytes: Repeated bytes in all.
        top: The heaviest sessions, heaviest first.
        cumulated: Share of the k heaviest together, by k.
        without_top: Repeat share of bytes of the history without its heaviest session; None: no repeats.
        calls: Calls that have repeats.
        top_call: What the heaviest of them holds of the repeated bytes.
        top_call_tool: Its tool; None: no repeats.
    """

    rule: str
    repeat_bytes: int
    top: tuple[TopSession, ...]
    cumulated: dict[str, Share]
    without_top: Share | None
    calls: int
    top_call: Share
    top_call_tool: str | None


@dataclass(frozen=True, slots=True)
class RepeatedCalls:
    """Calls by tool and target whose results came back alike (`repeat-session`).

    Attributes:
        tool: The tool.
        target: What it was called on: a path by its last part; of other arguments, only what they are.
        times: Repeated results.
        bytes: Repeated bytes, of all repeated bytes.
        visible: Those of them that were still visible, of the call's repeated bytes.
    """

    tool: str
    target: str
    times: int
    bytes: Share
    visible: Share


@dataclass(frozen=True, slots=True)
class Period:
    """One day, week or month: results in it and their repeats by the name of the rule."""

    label: str
    begins: str
    is_partial: bool
    results: int
    bytes: int
    repeats: dict[str, Repeats]


@dataclass(frozen=True, slots=True)
class OverTime:
    """Repeats over time.

    Attributes:
        unit: `day`, `week` (ISO, from Monday) or `month`.
        tz: Name of the time zone that days are cut in.
        periods: In order; those without results are left out.
        undated: Results without a time: in no period.
    """

    unit: str
    tz: str
    periods: tuple[Period, ...]
    undated: int


@dataclass(frozen=True, slots=True)
class ResultClass:
    """Results of one class: what they are, how many, and whether they can be repeats."""

    name: str
    words: str
    can_repeat: bool
    results: Share
    bytes: Share


@dataclass(frozen=True, slots=True)
class Source:
    """What one kind of log gave.

    Attributes:
        name: `claude_code`, `docker_agent`, `rtk`.
        words: Its name for people.
        units: Source units with anything in scope: session files with their companions, or databases.
        commands: Rows of RTK's `commands`, each once.
        versions: Versions of the program that wrote the logs, oldest first, with their results.
    """

    name: str
    words: str
    units: int
    sessions: int
    subagents: int
    results: int
    bytes: int
    copies: int
    commands: int
    first: str | None
    last: str | None
    versions: dict[str, int]


@dataclass(frozen=True, slots=True)
class Records:
    """Where the records of one source went; `records` = `used` + `copies` + `ignored` + `skipped`."""

    source: str
    words: str
    files: int
    records: int
    used: int
    copies: int
    ignored: int
    skipped: int
    unfinished: int


@dataclass(frozen=True, slots=True)
class Counted:
    """Something of one source with its number: a type of ignored records, a reason for skipping."""

    source: str
    what: str
    count: int


@dataclass(frozen=True, slots=True)
class SkippedRecord:
    """A record that could not be used."""

    source: str
    path: str
    line: int | None
    reason: str


@dataclass(frozen=True, slots=True)
class ContextKind:
    """Contexts of one kind and what they were shown.

    Attributes:
        contexts: All of them; one that was read from two folders is one.
        with_results: Those with at least one result that counts.
        results: Results that count.
        copies: Results that are in sight there and counted elsewhere.
    """

    kind: str
    words: str
    contexts: int
    with_results: int
    results: int
    copies: int


@dataclass(frozen=True, slots=True)
class Corpus:
    """What was read, in the scope of the report.

    Attributes:
        sessions: Sessions with results in scope; what holds copies alone is none.
        subagents: Contexts of subagents with results in scope: `with_results` of their kind in `contexts`.
        results: Results of every class, copies not among them.
        copies: Results that stand in another file or place already, counted once.
        skipped: Records that could not be used, in the whole store.
        unread: Files of which nothing could be read, in the whole store.
        gone: Results whose logs have vanished since they were read.
        boundaries: Points where something left the model's sight, by kind.
        notes: What a reader must know of it.
    """

    sessions: int
    subagents: int
    projects: int
    results: int
    bytes: int
    tokens: int
    copies: int
    gone: int
    skipped: int
    unread: int
    first: str | None
    last: str | None
    dates: str
    sources: tuple[Source, ...]
    contexts: tuple[ContextKind, ...]
    boundaries: dict[str, int]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Accounting:
    """What became of the records of all files; the scope of the report does not touch it."""

    records: tuple[Records, ...]
    ignored: tuple[Counted, ...]
    reasons: tuple[Counted, ...]
    skipped: tuple[SkippedRecord, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RtkBound:
    """Repeated command lines under one rule of RTK's measure: upper bounds, from loose to tight."""

    name: str
    words: str
    commands: Share
    tokens: Share


@dataclass(frozen=True, slots=True)
class RtkThreshold:
    """What a threshold on the shown size leaves, at any time and near an earlier alike one."""

    min_tokens: int
    commands: Share
    tokens: Share
    near_commands: Share
    near_tokens: Share


@dataclass(frozen=True, slots=True)
class RtkGap:
    """What a limit on the time since the latest alike leaves (None: no limit), and of it the large ones."""

    hours: float | None
    commands: Share
    tokens: Share
    large_commands: Share
    large_tokens: Share


@dataclass(frozen=True, slots=True)
class RtkClaim:
    """One command's claim to have saved tokens by filtering: as stored and capped."""

    name: str
    saved: int
    capped: int


@dataclass(frozen=True, slots=True)
class RtkFiltering:
    """What filtering is said to have saved, of the tokens before it. Never to be added to the bounds."""

    saved: Share
    capped: Share
    top: tuple[RtkClaim, ...]


@dataclass(frozen=True, slots=True)
class RtkElided:
    """What RTK's own dedup elided, by its ledger."""

    outputs: int
    elided: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Rtk:
    """What RTK's own rows tell. Bounds count commands and the tokens that they showed."""

    commands: int
    distinct: int
    undated: int
    zero_output: int
    recoveries: int
    gap_hours: float
    min_tokens: int
    mean_repeat_tokens: float | None
    bounds: tuple[RtkBound, ...]
    thresholds: tuple[RtkThreshold, ...]
    gaps: tuple[RtkGap, ...]
    filtering: RtkFiltering
    elided: RtkElided | None
    hook_decisions: dict[str, int]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Scope:
    """What the report is about.

    Attributes:
        since: Start of the window, included; None: open.
        until: End of the window, excluded; None: open.
        tz: Name of the time zone of all dates.
        filters: What was asked for (`project`: its names), none: the whole store.
        names: How names of projects and paths are shown: `last part of paths`, `whole paths`, `numbered`.
    """

    since: str | None
    until: str | None
    tz: str
    filters: tuple[tuple[str, str], ...]
    names: str


@dataclass(frozen=True, slots=True)
class Reproduce:
    """What it takes to get the same report again."""

    command: str
    version: str
    store_format: int
    seeds: str


@dataclass(frozen=True, slots=True)
class Report:
    """The whole report. Renderers print it in the order of the fields."""

    schema_version: int
    headline: str
    scope: Scope
    economics: Economics | None
    corpus: Corpus
    floor_bytes: int
    tokens: str
    token_rule: str
    worth: Worth
    cost_notes: tuple[str, ...]
    rules: tuple[Rule, ...]
    replay: Replay | None
    tools: Tools
    calls: tuple[RepeatedCalls, ...]
    sessions: tuple[Distribution, ...]
    concentration: Concentration
    over_time: OverTime
    classes: tuple[ResultClass, ...]
    rtk: Rtk | None
    accounting: Accounting
    limits: tuple[str, ...]
    reproduce: Reproduce
