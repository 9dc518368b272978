"""Recorded automatic compactions of public logs, reproduced by the trigger's rule; and none invented."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from dedupstats import import_paths, open_store
from dedupstats.economics.compaction import GrowthStep, Trigger, claude_code, is_limited, replay
from dedupstats.economics.families import Visible, family_of
from dedupstats.economics.tokens import Step, output_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dedupstats import Store

CORPUS = (Path(__file__).resolve().parents[3] / "shared" / "corpus").resolve()

pytestmark = pytest.mark.skipif(not CORPUS.is_dir(), reason=f"no corpus at {CORPUS}")

_REQUESTS = """
select context_key, emissions_before, line, 'request', version, model,
    coalesce(input_tokens, 0) + coalesce(cache_read_tokens, 0) + coalesce(cache_write_5m_tokens, 0)
        + coalesce(cache_write_1h_tokens, 0), output_tokens, output_known, text_bytes, tool_input_bytes,
    thinking_bytes, calls, hidden_thinking
from request where source = 'claude_code' and context_kind <> 'side'
"""
_ENTERED = """
select context_key, emissions_before, line, 'entry', bytes from entered where source = 'claude_code'
union all
-- a result stands behind what has as many before it
select context_key, ordinal + 0.5, line, 'entry', bytes from emission where source = 'claude_code'
"""
_BOUNDARIES = """
select context_key, at_ordinal, line, 'boundary', kind, trigger from boundary
where source = 'claude_code' and kind in ('compaction', 'clear')
"""


@pytest.fixture(scope="module")
def contexts() -> Iterator[list[list[tuple[Any, ...]]]]:
    with open_store(":memory:") as store:
        folders = [folder for folder in (CORPUS / "claude_code").iterdir() if folder.name != "_fixtures"]
        import_paths(store, sorted(folders), environment={})
        yield in_order(store)


def in_order(store: Store) -> list[list[tuple[Any, ...]]]:
    """What happened in every context: requests, what entered, boundaries."""
    rank = {"boundary": 0, "entry": 1, "request": 2}
    found = defaultdict(list)
    for query in (_REQUESTS, _ENTERED, _BOUNDARIES):
        for context, *row in store.query(query):
            found[context].append(tuple(row))
    return [sorted(rows, key=lambda row: (row[0], row[1], rank[row[2]])) for _, rows in sorted(found.items())]


def answer(row: tuple[Any, ...]) -> float:
    """Tokens of a request's answer, known or estimated."""
    model, output, is_known, text, arguments, thinking, calls, hidden = row[4], *row[6:]
    visible = Visible(text, arguments, thinking, calls, hidden)
    return output_of(Step(None, output, is_known, visible, ()), family_of(model)) or float(output or 0)


def steps(rows: list[tuple[Any, ...]]) -> tuple[list[float], list[GrowthStep], int, Trigger]:
    """First prompt and those after which it went on; steps; recorded automatic compactions; trigger."""
    trigger = claude_code(next((row[3] for row in rows if row[2] == "request"), None))
    prompts: list[float] = []
    found: list[GrowthStep] = []
    last: tuple[Any, ...] | None = None
    entered, boundary, recorded = 0, None, 0
    for row in rows:
        if row[2] == "entry":
            # what comes behind a boundary is not what triggered it
            entered += 0 if boundary else row[3] // 4
        elif row[2] == "boundary":
            boundary = row
        elif row[5]:
            if last is not None:
                output = answer(last)
                counted = output + entered * trigger.counts_entered + last[8] // 4 * trigger.counts_inputs
                is_auto = boundary is not None and boundary[4] == "auto"
                recorded += is_auto
                found.append(
                    GrowthStep(
                        output + entered if boundary else row[5] - last[5],
                        counted,
                        after=row[5] if is_auto else None,
                        fixed=row[5] if boundary is not None and not is_auto else None,
                    )
                )
                if boundary is None:
                    prompts.append(last[5])
            else:
                prompts.append(row[5])
            last, entered, boundary = row, 0, None
    return prompts, found, recorded, trigger


def test_recorded_compactions_and_no_others(contexts: list[list[tuple[Any, ...]]]) -> None:
    """token-economics.md 4.2: on the corpus 3 of 3 contexts, and none invented in 151."""
    reproduced = quiet = left_out = 0
    for rows in contexts:
        prompts, found, recorded, trigger = steps(rows)
        if not prompts:
            continue
        if not is_limited(prompts, trigger):
            left_out += 1
            continue
        fired = len(replay(prompts[0], found, trigger).fired)
        assert fired == recorded
        reproduced += recorded
        quiet += not recorded
    assert reproduced == 3
    assert quiet > 140
    assert left_out < 10
