"""Rows of the program itself: compactions, and what only stands in the chain (sections 5, 7, 8)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dedupstats.model import BoundaryKind
from dedupstats.sources.base import plausible_count
from dedupstats.sources.claude_code.rows import CompactMetadata
from dedupstats.sources.claude_code.threads import Event
from dedupstats.sources.claude_code.tree import ROOT

if TYPE_CHECKING:
    from dedupstats.sources.claude_code.reader import Transcript
    from dedupstats.sources.claude_code.rows import Row
    from dedupstats.sources.claude_code.threads import Thread

COMPACTION = "compact_boundary"
MICRO = "microcompact_boundary"


def take_system(file: Transcript, line: int, row: Row) -> None:
    """Take in a row of type `system`.

    Args:
        file: The transcript that is being read.
        line: Line of the row.
        row: The row.
    """
    subtype = row.subtype or "(no subtype)"
    kind = "" if subtype in (COMPACTION, MICRO) else f"system/{subtype}"
    thread = file.enter(line, row, kind)
    if thread is None:
        return
    if kind:
        file.ignored[kind] += 1
        return
    file.used += 1
    if subtype == COMPACTION:
        take_compaction(file, thread, thread.last_node, row.compactMetadata or CompactMetadata())
        thread.is_fresh = True
        return
    found = row.microcompactMetadata or CompactMetadata()
    before, saved = plausible_count(found.preTokens), plausible_count(found.tokensSaved)
    event = Event(
        thread.last_node,
        BoundaryKind.MICRO,
        found.trigger,
        before,
        None if before is None or saved is None else before - saved,
        cleared=tuple(dict.fromkeys(found.compactedToolIds or ())),
    )
    thread.events.append(event)


def take_compaction(file: Transcript, thread: Thread, node: int, found: CompactMetadata) -> None:
    """Note a compaction at a row; the rows that it kept are looked up among those before it."""
    tree = file.tree
    tree.up[node] = ROOT
    kept: list[int] = []
    messages, segment = found.preservedMessages, found.preservedSegment
    if messages is not None and messages.uuids is not None:
        nodes = [tree.latest.get(uuid) for uuid in messages.uuids]
        kept = [row for row in nodes if row is not None]
    elif segment is not None:
        head, tail = tree.latest.get(segment.headUuid), tree.latest.get(segment.tailUuid)
        if head is not None and tail is not None:
            kept = tree.segment(head, tail)
    thread.boundary = node
    thread.root = ROOT
    event = Event(
        node,
        BoundaryKind.COMPACTION,
        found.trigger,
        plausible_count(found.preTokens),
        plausible_count(found.postTokens),
        kept=tuple(dict.fromkeys(kept)),
    )
    thread.events.append(event)
