"""Finding the results that a person asks about: by an id, or as the largest elisions of a verdict."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime  # noqa: TC003 - the reference page looks at the types of fields
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

import numpy as np

from dedupstats.errors import UsageError
from dedupstats.simulate.run import simulate
from dedupstats.simulate.verdicts import VERDICTS, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dedupstats.simulate.chunk import Chunk
    from dedupstats.simulate.knowledge import Knowledge
    from dedupstats.simulate.replay import Replayed
    from dedupstats.simulate.variants import Variant
    from dedupstats.store import Store

_CANDIDATES = 4
_ID_CHARS = 8
_ALIKE = 0.92
"""Jaro-Winkler similarity from which an id may be another one mistyped"""
_KEY = re.compile(r"-?\d{1,19}|0[xX][0-9a-fA-F]{1,16}|[0-9a-fA-F]{16}")


@dataclass(frozen=True, slots=True)
class Result:
    """A tool result as the log has it, with the call that it answers. Sizes are UTF-8 bytes."""

    emission_key: int
    call_id: str | None
    tool: str
    target: str | None
    """path, command, pattern, URL; None: imported without targets, or the call has none"""
    source: str
    session_id: str
    context_kind: str
    agent: str | None
    ts: datetime | None
    """UTC"""
    path: str
    """file of the log"""
    line: int
    bytes: int
    lines: int
    result_class: str
    is_error: bool
    did_not_run: bool
    has_call: bool
    category: str | None
    read_only: str
    shell_reads: bool | None
    rtk_mode: str | None
    left_line: int | None
    """the boundary that took it out of sight; None: it stayed"""
    left_kind: str | None
    is_copy: bool
    copies: int
    """how often a resume, fork or branch wrote it again"""


_RESULTS: Final = """
select e.emission_key, call_id, tool, target, source, session_id, context_kind, agent, ts, path, line,
    bytes, lines, class, is_error, did_not_run, call_key is not null, category, read_only, shell_reads,
    rtk_mode, left_line, (
        select min(b.kind) from boundary b
        where b.context_key = e.context_key and b.line = e.left_line and b.at_ordinal = e.left_at
    ), is_copy, (
        select count(*) from emission c where c.family_key = e.family_key and c.copy_of = e.emission_key
    )
from emission e
where e.family_key in (select family_key from emission where emission_key in (select unnest($keys)))
    and e.emission_key in (select unnest($keys))
"""


def results(store: Store, keys: Iterable[int]) -> dict[int, Result]:
    """Results by emission key."""
    wanted = sorted(set(keys))
    return {row[0]: Result(*row) for row in store.query(_RESULTS, {"keys": wanted})}


def copies(store: Store, emission_key: int) -> tuple[Result, ...]:
    """Where a result was written again, the first few places, in order of arrival."""
    rows = store.query(
        "select emission_key from emission where copy_of = $key and family_key = "
        "(select family_key from emission where emission_key = $key) order by seq limit $most",
        {"key": emission_key, "most": _CANDIDATES},
    )
    found = results(store, (key for (key,) in rows))
    return tuple(found[key] for (key,) in rows)


def shown_key(emission_key: int) -> str:
    """An emission key as outputs print it: unsigned, so that no shell or option parser stumbles over a sign.

    Example:
        >>> shown_key(-1), shown_key(255)
        ('0xffffffffffffffff', '0x00000000000000ff')
    """
    return f"0x{emission_key & (1 << 64) - 1:016x}"


def find(store: Store, text: str) -> int:
    """The emission key of the result that an id names; of a copy, that of its original.

    Args:
        store: An open store.
        text: A call's own id or the beginning of one, or an emission key, decimal or hexadecimal.

    Raises:
        UsageError: No result has such an id, or several have; the hint names near or some ones.
    """
    wanted = text.strip()
    found = _matches(store, "call_id = $text or emission_key = $key", wanted)
    is_whole = bool(found)
    found = found or (_matches(store, "starts_with(call_id, $text)", wanted) if wanted else [])
    if not found:
        near = store.query(
            "select call_id, jaro_winkler_similarity(call_id, $text) as alike from emission "
            "where not is_copy and alike > $least group by all order by alike desc, call_id limit 2",
            {"text": wanted, "least": _ALIKE},
        )
        hint = " or ".join(call_id for call_id, _ in near)
        raise UsageError(
            f"no tool result has the id {text!r}",
            f"did you mean {hint}?"
            if hint
            else 'ids: dedupstats sql "select call_id, tool, path, line from emission"',
        )
    if len(found) > 1:
        some = list(results(store, found[:_CANDIDATES]).values())
        listed = ", ".join(
            f"{shown_key(one.emission_key)} ({one.tool} of session {one.session_id[:_ID_CHARS]}, "
            f"{PurePath(one.path).name} line {one.line})"
            for one in some
        )
        more = f" and {len(found) - len(some):,} more" if len(found) > len(some) else ""
        if is_whole:
            raise UsageError(
                f"{len(found):,} tool results have the id {text!r}, none of them a copy",
                f"give one of {listed}{more}",
            )
        raise UsageError(
            f"{len(found):,} tool results have ids that begin with {text!r}",
            f"give more of the id, or one of {listed}{more}",
        )
    return found[0]


def _matches(store: Store, condition: str, text: str) -> list[int]:
    """Originals of the results that a condition on `$text` and `$key` chooses, in order of arrival."""
    rows = store.query(
        "with named as (select $text as text, $key::bigint as key) "
        "select coalesce(copy_of, emission_key) from emission, named "
        f"where {condition.replace('$text', 'named.text').replace('$key', 'named.key')} "
        "group by all order by min(family_key), min(seq)",
        {"text": text, "key": _key(text)},
    )
    return [key for (key,) in rows]


def _key(text: str) -> int | None:
    """The emission key that a text stands for, if it can be one."""
    if not _KEY.fullmatch(text):
        return None
    is_hex = text[:2] in {"0x", "0X"} or not re.fullmatch(r"-?\d{1,19}", text)
    number = int(text, 16 if is_hex else 10)
    if is_hex and number >= 1 << 63:
        number -= 1 << 64
    return number if -(1 << 63) <= number < 1 << 63 else None


@dataclass(frozen=True, slots=True)
class Elision:
    """An elision that a replay made."""

    policy: str
    """label of the variant"""
    emission_key: int
    bytes: int


def largest(
    store: Store,
    policies: Sequence[Variant],
    verdict: Verdict,
    top: int,
    *,
    knowledge: Knowledge | None = None,
) -> list[Elision]:
    """The largest elisions of one verdict that some policies make in the whole history, largest first.

    Args:
        store: An open store; read-only will do.
        policies: What is replayed.
        verdict: Which elisions.
        top: How many at most, over all policies.
        knowledge: What a person says of tools.
    """
    best: list[tuple[int, int, int]] = []

    def take(chunk: Chunk, replayed: list[Replayed]) -> None:
        for number, one in enumerate(replayed):
            rows = one.judged.row[one.judged.verdict == VERDICTS.index(verdict)]
            rows = rows[np.argsort(-chunk.columns["bytes"][rows], kind="stable")]
            sizes, keys = chunk.columns["bytes"][rows].tolist(), chunk.columns["emission_key"][rows].tolist()
            best.extend((-size, key, number) for size, key in zip(sizes, keys, strict=True))
        best.sort()
        del best[top:]

    # decisions alone are wanted, not what they are worth
    simulate(store, policies, knowledge=knowledge, tokens="bytes4", take=take)
    return [Elision(policies[number].label, key, -size) for size, key, number in best]
