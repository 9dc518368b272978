"""What the stubs in the logs truly were: markers that hosts and engines showed when they were at work.

Where a file is read again and neither its time nor the range has changed, Claude Code shows a sentence that
points at "the earlier Read tool_result" (claude-code.md section 8). It compares what it remembers of the
file, not what the model can still see, and it remembers what the model wrote itself, too. docker-agent and
RTK compare the bytes of an output with those that they recorded, so their stubs hide no change; what they
stand for may be out of sight all the same (other-agent-formats.md section 5).
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, NamedTuple

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
    """What a stub truly was; the first that fits."""

    FALSE = "false"
    """the Read that it points at is in sight and shows older bytes: the model wrote the file since"""
    SOUND = "sound"
    """the result that it stands for is in sight, and no file was written since"""
    ATTACHMENT = "attachment"
    """no Read of these arguments is in sight, but the file is, in an attachment: the words are untrue"""
    DANGLING = "dangling"
    """neither is; a Read of the same file with other arguments is not what it points at"""
    UNKNOWN = "unknown"
    """of an engine that compares bytes: no earlier result of the call is in the context's log"""


_READ_STUBS: Final = "claude_code"
"""engine whose stubs go by what it remembers of a file; the others compare bytes"""


@dataclass(frozen=True, slots=True)
class Stub:
    """A stub and what it points at; lines are those of the context's file."""

    emission_key: int
    engine: str
    """whose it is: claude_code, docker_agent, rtk"""
    call_id: str | None
    session_id: str
    path: str
    """file of the log"""
    line: int
    tool: str
    target: str | None
    """the file that was read, or what else the call is about; None: imported without targets"""
    verdict: StubVerdict
    anchor_key: int | None
    """the latest earlier result of the call in sight; of a Read also of the file, if nothing attaches it"""
    anchor_line: int | None
    same_arguments: bool | None
    """whether the anchor was called with the same arguments, in the same spelling or another"""
    attachment_line: int | None
    """the latest attachment in sight that holds the file"""
    written_line: int | None
    """where the model last wrote the file itself: since the anchor, or if there is none, at all"""
    gone_line: int | None
    """the boundary that took the latest result of the same call out of sight; None: none was taken"""
    gone_kind: str | None


class _Row(NamedTuple):
    """An emission of a context that concerns the target of a stub."""

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


_STUBS: Final = f"""
create or replace temp table judged_stub as
select emission_key, context_key, ordinal, line, call_id, session_id, path, tool, target, target_sha64,
    call_key, norm_key, row_number() over (order by family_key, seq) as place,
    -- Claude Code's own stand for Reads alone, else they quote one; of the others only RTK's, which has
    -- numbers, has a sign that is no ASCII
    case when tool in ({", ".join(f"'{tool}'" for tool in sorted(READS))}) or non_ascii = 0 then source
        when digits > 0 then 'rtk' end as engine
from emission
where class = '{Class.STUB}' and not is_copy and {{where}}
qualify engine is not null
"""

_FOUND: Final = """
select emission_key, engine, call_id, session_id, path, line, tool, target, ordinal, call_key, norm_key
from judged_stub order by place
"""

_NEAR: Final = """
select s.emission_key, e.emission_key, e.ordinal, e.line, e.tool, e.is_error, e.class, e.call_key, e.norm_key,
    e.target_sha64, e.left_at, e.left_line, b.kind
from judged_stub s
join emission e on e.context_key = s.context_key and e.ordinal < s.ordinal
    and (e.target_sha64 = s.target_sha64 or e.call_key = s.call_key or e.norm_key = s.norm_key)
left join boundary b on b.context_key = e.context_key and b.line = e.left_line and b.at_ordinal = e.left_at
order by s.emission_key, e.ordinal
"""

_ATTACHED: Final = """
select s.emission_key, max(a.line)
from judged_stub s
join entered a on a.context_key = s.context_key and a.kind = 'attachment' and a.target_sha64 = s.target_sha64
    and a.line < s.line
where not exists (
    from boundary b
    where b.context_key = a.context_key and b.kind in ('compaction', 'clear')
        and b.line > a.line and b.line < s.line
)
group by all
"""
"""What a compaction restores stands behind its boundary; what stood before it is gone."""


def stubs(
    store: Store,
    emission_key: int | None = None,
    *,
    where: str = "true",
    parameters: Sequence[Any] = (),
) -> list[Stub]:
    """Every stub of a store with its verdict, copies left out, in order of arrival.

    Sight is that of the context which was shown the stub. Writes are those of the same context: another one
    has its own memory of files.

    Args:
        store: An open store; read-only will do.
        emission_key: Only this emission, if it is a stub.
        where: SQL condition on the view `emission`: which stubs.
        parameters: Values of its question marks.
    """
    only = "true" if emission_key is None else f"emission_key = {emission_key}"
    store.query(_STUBS.format(where=f"{only} and {where}"), list(parameters))
    near: dict[int, list[_Row]] = defaultdict(list)
    for key, *row in store.query(_NEAR):
        near[key].append(_Row(*row))
    attached = dict(store.query(_ATTACHED))
    found = []
    for key, engine, *about, ordinal, call_key, norm_key in store.query(_FOUND):
        if engine == _READ_STUBS:
            facts = _read_stub(near[key], ordinal, (call_key, norm_key), attached.get(key))
        else:
            facts = _same_bytes(near[key], ordinal, call_key)
        found.append(Stub(key, engine, *about, **facts))
    return found


def _read_stub(
    rows: Sequence[_Row], ordinal: int, keys: Sequence[int | None], attachment: int | None
) -> dict[str, Any]:
    """The verdict on a stub of Claude Code's own, and what it comes from, by the names of `Stub`."""
    reads = [row for row in rows if row.tool in READS and _shows(row)]
    call_key, norm_key = keys
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
    return _facts(verdict, anchor, same, same_in_sight) | {
        "attachment_line": attachment,
        "written_line": written and written.line,
    }


def _same_bytes(rows: Sequence[_Row], ordinal: int, call_key: int | None) -> dict[str, Any]:
    """The verdict on a stub of an engine that compares bytes, by the same call; RTK's may mean another."""
    same = [row for row in rows if _shows(row) and row.call_key == call_key]
    anchor = _latest(row for row in same if _is_in_sight(row, ordinal))
    verdict = StubVerdict.DANGLING if same else StubVerdict.UNKNOWN
    return _facts(verdict if anchor is None else StubVerdict.SOUND, anchor, same, anchor) | {
        "attachment_line": None,
        "written_line": None,
    }


def _facts(
    verdict: StubVerdict, anchor: _Row | None, same: Sequence[_Row], same_in_sight: _Row | None
) -> dict[str, Any]:
    gone = None if same_in_sight is not None else _latest(same)
    return {
        "verdict": verdict,
        "anchor_key": anchor and anchor.emission_key,
        "anchor_line": anchor and anchor.line,
        "same_arguments": anchor and anchor is same_in_sight,
        "gone_line": gone and gone.left_line,
        "gone_kind": gone and gone.left_kind,
    }


def _shows(row: _Row) -> bool:
    """Whether the model was shown something: a stub or a failure is no anchor."""
    return not row.is_error and row.klass in {Class.TEXT, Class.TRUNCATED, Class.IMAGE, Class.SPILLED}


def _is_in_sight(row: _Row, ordinal: int) -> bool:
    return row.left_at is None or row.left_at > ordinal


def _latest(rows: Iterable[_Row]) -> _Row | None:
    return max(rows, key=lambda row: row.ordinal, default=None)
