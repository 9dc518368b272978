"""What Claude Code's own read stubs truly were: the one engine of this kind that logs show at work.

Where a file is read again and neither its time nor the range has changed, Claude Code shows a sentence that
points at "the earlier Read tool_result" (claude-code.md section 8). It compares what it remembers of the
file, not what the model can still see, and it remembers what the model wrote itself, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

from dedupstats.model import Class

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dedupstats.store import Store


def _bridged(*tools: str) -> frozenset[str]:
    """Tools with the names under which ACP bridges offer them."""
    return frozenset({*tools, *(f"mcp__acp__{tool}" for tool in tools)})


READS = _bridged("Read")
WRITES = _bridged("Edit", "Write", "MultiEdit", "NotebookEdit")


class StubVerdict(StrEnum):
    """What a read stub truly was; the first that fits."""

    FALSE = "false"
    """the Read that it points at is in sight and shows older bytes: the model wrote the file since"""
    SOUND = "sound"
    """that Read is in sight, and nothing was written since"""
    ATTACHMENT = "attachment"
    """no Read of these arguments is in sight, but the file is, in an attachment: the words are untrue"""
    DANGLING = "dangling"
    """neither is; a Read of the same file with other arguments is not what it points at"""


@dataclass(frozen=True, slots=True)
class Stub:
    """A read stub and what it points at; lines are those of the context's file."""

    emission_key: int
    call_id: str | None
    session_id: str
    path: str
    """file of the log"""
    line: int
    target: str | None
    """the file that was read; None: imported without targets"""
    verdict: StubVerdict
    anchor_key: int | None
    """the latest earlier Read in sight: of these arguments, else of the file if nothing attaches it"""
    anchor_line: int | None
    same_arguments: bool | None
    """whether the anchor was called with the same arguments, in the same spelling or another"""
    attachment_line: int | None
    """the latest attachment in sight that holds the file"""
    written_line: int | None
    """where the model last wrote the file itself: since the anchor, or if there is none, at all"""
    gone_line: int | None
    """the boundary that took the latest Read of the same arguments out of sight; None: none was taken"""
    gone_kind: str | None


class _Row(NamedTuple):
    """An emission of a context that concerns the file of a stub."""

    emission_key: int
    ordinal: int
    line: int
    tool: str
    is_error: bool
    klass: str
    call_key: int | None
    norm_key: int | None
    target_sha64: int | None
    left_at: int | None
    left_line: int | None
    left_kind: str | None


_STUBS = f"""
select emission_key, context_key, ordinal, line, call_id, session_id, path, target, target_sha64, call_key,
    norm_key
from emission
where source = 'claude_code' and class = '{Class.STUB}' and tool in $reads and not is_copy
    and ($key is null or emission_key = $key)
order by family_key, seq
"""

_SAME_FILE = """
select e.emission_key, e.ordinal, e.line, e.tool, e.is_error, e.class, e.call_key, e.norm_key, e.target_sha64,
    e.left_at, e.left_line, b.kind
from emission e
left join boundary b on b.context_key = e.context_key and b.line = e.left_line and b.at_ordinal = e.left_at
where e.context_key = ? and e.ordinal < ?
    and (e.target_sha64 = ? or e.call_key = ? or e.norm_key = ?)
order by e.ordinal
"""

_ATTACHED = """
select max(a.line)
from entered a
where a.context_key = $context and a.kind = 'attachment' and a.target_sha64 = $target and a.line < $line
    and not exists (
        from boundary b
        where b.context_key = a.context_key and b.kind in ('compaction', 'clear')
            and b.line > a.line and b.line < $line
    )
"""
"""What a compaction restores stands behind its boundary; what stood before it is gone."""


def read_stubs(store: Store, emission_key: int | None = None) -> list[Stub]:
    """Every read stub of a store with its verdict, copies left out, in order of arrival.

    Sight is that of the context which was shown the stub. Writes are those of the same context: another one
    has its own memory of files.

    Args:
        store: An open store; read-only will do.
        emission_key: Only this emission, if it is a stub.
    """
    found = []
    parameters = {"reads": sorted(READS), "key": emission_key}
    for key, context, ordinal, line, call_id, session, path, target, *hashes in store.query(
        _STUBS, parameters
    ):
        target_sha64, *keys = hashes
        near = store.query(_SAME_FILE, [context, ordinal, *hashes])
        rows = [_Row(*row) for row in near]
        attached = store.query(_ATTACHED, {"context": context, "target": target_sha64, "line": line})
        facts = _judged(rows, ordinal, keys, attached[0][0])
        found.append(Stub(key, call_id, session, path, line, target, **facts))
    return found


def _judged(
    rows: Sequence[_Row], ordinal: int, keys: Sequence[int | None], attachment: int | None
) -> dict[str, Any]:
    """The verdict, and what it comes from, by the names of `Stub`."""
    call_key, norm_key = keys
    reads = [row for row in rows if row.tool in READS and _shows_file(row)]
    same = [
        row
        for row in reads
        if row.call_key == call_key or (norm_key is not None and row.norm_key == norm_key)
    ]
    same_in_sight = _latest(row for row in same if _is_in_sight(row, ordinal))
    anchor = same_in_sight
    if anchor is None and attachment is None:
        anchor = _latest(row for row in reads if _is_in_sight(row, ordinal))
    behind = -1 if anchor is None else anchor.ordinal
    written = _latest(row for row in rows if row.tool in WRITES and not row.is_error and row.ordinal > behind)
    if anchor is not None and written is not None:
        verdict = StubVerdict.FALSE
    elif same_in_sight is not None:
        verdict = StubVerdict.SOUND
    else:
        verdict = StubVerdict.DANGLING if attachment is None else StubVerdict.ATTACHMENT
    gone = None if same_in_sight is not None else _latest(same)
    return {
        "verdict": verdict,
        "anchor_key": anchor and anchor.emission_key,
        "anchor_line": anchor and anchor.line,
        "same_arguments": anchor and anchor is same_in_sight,
        "attachment_line": attachment,
        "written_line": written and written.line,
        "gone_line": gone and gone.left_line,
        "gone_kind": gone and gone.left_kind,
    }


def _shows_file(row: _Row) -> bool:
    """Whether the model was shown the file: a stub or a failure is no anchor."""
    return not row.is_error and row.klass in {Class.TEXT, Class.TRUNCATED, Class.IMAGE, Class.SPILLED}


def _is_in_sight(row: _Row, ordinal: int) -> bool:
    return row.left_at is None or row.left_at > ordinal


def _latest(rows: Iterable[_Row]) -> _Row | None:
    return max(rows, key=lambda row: row.ordinal, default=None)
