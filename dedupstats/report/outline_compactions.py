"""What the report says about automatic compactions: counts of a replay, in no saving."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dedupstats.report import compaction_words as words
from dedupstats.report.blocks import Section, Table, columns
from dedupstats.report.text import count

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dedupstats.report.model_economics import Compacted


def section(found: tuple[Compacted, ...]) -> Iterator[Section]:
    """The section, if any context can be replayed."""
    if not found:
        return
    first = found[0].found
    table = Table(
        "Replayed with each agent's own limit, in the contexts whose recorded number it reproduces. A policy "
        "keeps out what it soundly elides.",
        columns("policy", "compactions without", "with", "contexts with another number"),
        tuple(
            (
                one.policy,
                count(one.found.reproduced),
                count(one.found.under_policy),
                count(len(one.found.changed)),
            )
            for one in found
        ),
    )
    yield Section(
        "compactions",
        "Automatic compactions, counted by a replay",
        lead=(words.recorded(first),),
        tables=(table,),
        notes=(
            *(said for one in found for said in words.difference(one.found, one.policy, str)),
            *words.left_out(first, str),
            "Counts of a replay: a compaction that a policy avoids is in no saving of this report.",
            "By context: `dedupstats context SESSION`.",
        ),
    )
