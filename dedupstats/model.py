"""The records that stream from a source into the store, and their enumerations.

A source yields these in file order, unit by unit. They are plain tuples built by position, because an
import builds hundreds of thousands of them; the field order of each record is the column order of its
table in `store/schema.sql`, and a test holds the two together.

Conventions for all records: `*_key` is a signed 64-bit hash made by `sources.base.hash64` (or, for names,
by `Names.key`); times are UTC microseconds since 1970 (`None` = undated); sizes are UTF-8 bytes (a lone
surrogate counts three).
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

Digest = bytes
"""a SHA-256; named, because records have a field called `bytes`"""


class Class(StrEnum):
    """What a tool result was when the model was shown it (first match wins)."""

    IMAGE = "image"
    STUB = "stub"
    MASKED = "masked"
    SPILLED = "spilled"
    EMPTY = "empty"
    TRUNCATED = "truncated"
    TEXT = "text"


class ReadOnly(StrEnum):
    """Whether a call only reads: what its source declares, never a guess."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


class Provenance(StrEnum):
    """Where the knowledge about a tool comes from."""

    HINT = "hint"
    """the log's own annotation (readOnlyHint)"""
    TABLE = "table"
    """the tool table that the source declares"""
    NONE = "none"
    """nobody said"""


class ContextKind(StrEnum):
    """What a context is to its session."""

    MAIN = "main"
    AGENT = "agent"
    """a subagent or sub-session"""
    SIDE = "side"
    """requests that carry a copy of a context (summariser, side question, suggestion): no emissions"""


class BoundaryKind(StrEnum):
    """Why something left the model's sight."""

    COMPACTION = "compaction"
    MICRO = "micro_compaction"
    CLEAR = "clear"
    REWIND = "rewind"


class EnteredKind(StrEnum):
    """What else entered a context, other than as a tool result or as the model's own output."""

    USER = "user"
    ATTACHMENT = "attachment"
    SUMMARY = "summary"
    SYSTEM = "system"


class CompactionRule(NamedTuple):
    """When an agent compacts a context by itself: what a source declares (token-economics.md 4.1).

    A context is compacted before a request whose size reaches a share of the window less a reserve. A source
    lists its rules newest first; the first one whose `since` is not above the agent's version holds.
    """

    since: tuple[int, ...] = ()
    """first version of the agent's program that has it"""
    window: int | None = None
    """tokens of the window that the agent reckons with, whatever the model; None: the model's own"""
    share: float = 1.0
    """of the window; the result is rounded down"""
    reserve: int = 0
    """tokens kept free"""
    is_strict: bool = False
    """only above the limit, not at it"""
    counts_entered: bool = True
    """what entered since the last usage counts too, as the agent itself estimates it"""
    counts_inputs: bool = False
    """and, a second time, the tool inputs of the answer before it"""
    bytes_per_token: float = 4.0
    """of that estimate"""


class Context(NamedTuple):
    """One thing that a model is sent: a main thread, a subagent, or a side request."""

    context_key: int
    native_id: str
    """unique within the unit: file name or id of the agent, sidechain, sub-session"""
    kind: ContextKind
    session_id: str
    """native id of the session (the root conversation with all its subagents)"""
    parent_key: int | None
    """context that started this one, where the log tells"""
    agent: str | None
    """kind of subagent or name of the agent, where the log tells"""
    path: str
    """file that holds it"""
    cwd: str | None
    """first working directory seen: names the project"""
    started_at: int | None
    ended_at: int | None
    """first and last time seen in the context's rows"""
    is_moved: bool
    """the file's own name is no session id of its rows (a renamed or copied file)"""


class Turn(NamedTuple):
    """From one message of the person to the next, within one context. The first turn is number 1."""

    context_key: int
    turn: int
    line: int
    at: int | None
    emissions_before: int
    is_steering: bool
    """the message follows a tool result: it does not end the host's run"""


class Request(NamedTuple):
    """One call of the model, merged over all rows of its message within one context."""

    request_key: int
    """hash of (source, native message id): equal for the copies of a request in several files"""
    context_key: int
    native_id: str
    line: int
    """line of its first row"""
    at: int | None
    """time of its first row"""
    clock: int | None
    """running maximum of times in the context up to its first row"""
    turn: int
    emissions_before: int
    """tool results of this context that stand before its first row"""
    model_key: int | None
    tier_key: int | None
    stop_key: int | None
    version_key: int | None
    """name keys of model, service tier, stop reason, version of the agent program"""
    input_tokens: int | None
    """uncached input; the four input parts exclude each other; None = the log does not tell"""
    cache_read_tokens: int | None
    cache_write_5m_tokens: int | None
    cache_write_1h_tokens: int | None
    output_tokens: int | None
    output_known: bool
    """False where the logged output count is a placeholder of the stream"""
    text_bytes: int
    thinking_bytes: int
    tool_input_bytes: int
    calls: int
    hidden_thinking: int
    """thinking blocks without text"""
    cost_usd: float | None
    """price that the log itself states, if any"""
    is_fork: bool
    is_home: bool
    is_sidechain: bool
    """the three marks by which an original is told from its copies (see Emission); sidechain: in-file"""
    assumed_write_tokens: int
    """of `cache_write_5m_tokens`, what was written for a time that the log does not tell"""


class Emission(NamedTuple):
    """One tool result as the model was shown it, with the call that it answers."""

    emission_key: int
    context_key: int
    ordinal: int
    """0, 1, 2 ... within the context, in the order of arrival"""
    line: int
    at: int | None
    clock: int | None
    """running maximum of the times of the context's rows up to this one"""
    turn: int
    request_key: int | None
    call_id: str
    copy_key: int | None
    """equal for an emission and its copies: hash of what identifies the result across files"""
    is_fork: bool
    """the row says itself that it was copied (forkedFrom)"""
    is_home: bool
    """the row's own session id is the file's name"""
    is_return: bool
    """no record of its own: an emission that stands here once more because its branch came back into sight"""
    ledger_key: int | None
    """name key of the row's own session id: what an engine would have kept its state under"""
    version_key: int | None
    model_key: int | None
    """name key of the model that made the call"""
    tool_key: int
    call_key: int | None
    """None: there is no call for it in its file, so it equals no call"""
    args_sha64: int | None
    norm_key: int | None
    target_sha64: int | None
    target: str | None
    klass: Class
    is_error: bool
    did_not_run: bool
    sha256: Digest
    sha64: int
    bytes: int
    chars: int
    lines: int
    letters: int
    digits: int
    newlines: int
    other_ascii: int
    non_ascii: int
    """counts of bytes by character class (token-economics.md 5.5); blanks are what is left of `bytes`"""
    shell_reads: bool | None
    """a shell command that only reads; None: no shell tool"""
    rtk_mode: str | None
    """what RTK's hook would make of the command: no, no_session, exact, mixed; None: no command"""
    rtk_identity_bytes: int | None
    rtk_ran: bool
    """the log holds the hook's own answer that it rewrote this command"""
    content: str | None
    """only with --keep-content"""
    o200k_tokens: int | None = None
    """by the o200k encoding, where that is the tokenizer of the call's model and is installed"""


class Entered(NamedTuple):
    """Text that entered a context other than as a tool result."""

    context_key: int
    line: int
    at: int | None
    turn: int
    emissions_before: int
    kind: EnteredKind
    type_key: int
    """name key of the attachment's or message's type"""
    bytes: int
    letters: int
    digits: int
    newlines: int
    other_ascii: int
    non_ascii: int
    sha256: Digest | None
    """of a file's content: it puts bytes in sight without a tool result"""
    target_sha64: int | None


class Boundary(NamedTuple):
    """A point of a context where emissions leave the model's sight.

    Emissions with `ordinal < at_ordinal` are concerned. A compaction or a clear removes all of them but
    `kept`; a micro-compaction or a rewind removes `removed` only.
    """

    context_key: int
    at_ordinal: int
    line: int
    at: int | None
    kind: BoundaryKind
    trigger: str | None
    tokens_before: int | None
    tokens_after: int | None
    kept: tuple[int, ...]
    removed: tuple[int, ...]


class RtkCommand(NamedTuple):
    """One row of RTK's `commands`."""

    row_key: int
    native_id: int
    copy_key: int
    at: int | None
    stamp: str
    """the time as stored: RTK's fractions are finer than microseconds"""
    original_sha64: int
    rtk_sha64: int
    rtk_name: str
    """the first two words of the command as RTK names it (`rtk read`, `rtk git`)"""
    original: str | None
    rtk: str | None
    """command texts; None with --no-targets"""
    is_read: bool
    is_recovery: bool
    """`rtk proxy` or `rtk bypass`: full output asked for"""
    input_tokens: int
    output_tokens: int
    saved_tokens: int
    exec_ms: int | None
    project_key: int | None
    identity_bytes: int


class RtkOutput(NamedTuple):
    """One row of `session_outputs`: an output that RTK's dedup recorded, and how often it was met."""

    row_key: int
    native_id: int
    session_key: int
    content_sha64: int
    identity_sha64: int
    output_tokens: int
    line_count: int
    step: int
    emit_count: int
    first_at: int | None
    last_at: int | None


class RtkHookDecision(NamedTuple):
    """One row of `hook_decisions`: what RTK's Claude hook answered for one Bash call."""

    row_key: int
    native_id: int
    at: int | None
    session_key: int | None
    call_id: str
    project_key: int | None
    raw_sha64: int
    rewritten_sha64: int | None
    decision: str
    version_key: int | None


class Skipped(NamedTuple):
    """A record that could not be used, with the reason. Never silent."""

    path: str
    line: int
    reason: str
    records: int = 1
    """more than one: this row stands for what is left of very many in one file"""


class FileCount(NamedTuple):
    """How the records of one file were used; the parts add up to `records`."""

    path: str
    records: int
    used: int
    copies: int
    """rows that the source itself dropped as copies; results that are copies are settled by the history"""
    ignored: int
    skipped: int
    unfinished: bool
    """the last line has no end yet: it waits for the next import and is not counted"""


class Ignored(NamedTuple):
    """How many records of one type a file holds that no figure needs."""

    path: str
    type: str
    records: int


Record = (
    Context
    | Turn
    | Request
    | Emission
    | Entered
    | Boundary
    | RtkCommand
    | RtkOutput
    | RtkHookDecision
    | Skipped
    | FileCount
    | Ignored
)
