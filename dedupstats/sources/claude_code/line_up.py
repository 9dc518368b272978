"""The records of a file that was read: calls meet their results, the tree becomes a line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dedupstats.model import Boundary, Class, Emission, FileCount, Ignored
from dedupstats.sources.base import hash64, mix64
from dedupstats.sources.claude_code.layout import NAME
from dedupstats.sources.claude_code.sight import Left, Sight
from dedupstats.sources.claude_code.texts import CUTS
from dedupstats.sources.claude_code.tree import NO_MESSAGE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dedupstats.model import Record
    from dedupstats.sources.claude_code.answers import Call
    from dedupstats.sources.claude_code.reader import Transcript
    from dedupstats.sources.claude_code.threads import Result, Thread
    from dedupstats.sources.claude_code.tools import Facts


def records(transcript: Transcript, missing: Facts) -> Iterator[Record]:
    """Everything that a file yields but its contexts.

    Args:
        transcript: The file, read to its end.
        missing: The facts of a call that is not in the file.
    """
    for thread in transcript.threads:
        places: list[int] = []
        yield from _in_line(transcript, thread, missing, places)
        yield from _beside(thread, places)
    path = transcript.role.path
    yield from transcript.skipped
    yield from transcript.faults.rest()
    for kind, count in sorted(transcript.ignored.items()):
        yield Ignored(path, kind, count)
    ignored = sum(transcript.ignored.values())
    skipped = transcript.faults.count
    total = transcript.used + transcript.copies + ignored + skipped
    yield FileCount(path, total, transcript.used, transcript.copies, ignored, skipped, transcript.unfinished)


def _beside(thread: Thread, places: list[int]) -> Iterator[Record]:
    """Turns, texts and requests, with the number of emissions before each.

    They were counted by results; where results came back into sight, the line has more places than that.
    """
    drafts = thread.drafts.values()
    if not places or places[-1] == len(places) - 1:
        yield from thread.turns
        yield from thread.entered
        for draft in drafts:
            yield draft.record()
        return
    before = [0, *(place + 1 for place in places)]
    for turn in thread.turns:
        yield turn._replace(emissions_before=before[turn.emissions_before])
    for entered in thread.entered:
        yield entered._replace(emissions_before=before[entered.emissions_before])
    for draft in drafts:
        yield draft.record(before[draft.emissions_before])


def _in_line(
    transcript: Transcript, thread: Thread, missing: Facts, places: list[int]
) -> Iterator[Emission | Boundary]:
    """Emissions and boundaries of a context; the ordinal of each result is added to `places`."""
    results, calls, rewritten = thread.results, transcript.calls, transcript.rewritten
    if not results and not thread.events:
        return
    sight = Sight(transcript.tree, thread.events)
    ordinal = 0
    for result in results:
        call_id = result.call_id
        call = calls.get(call_id)
        message = call[2].number if call is not None and call[1] is thread else NO_MESSAGE
        for step in sight.add(result.node, message, call_id):
            if isinstance(step, Left):
                yield _boundary(transcript, thread, step)
                continue
            back = results[step.number]
            ran = back.call_id in rewritten
            emission = _emission(thread.key, ordinal, back, calls.get(back.call_id), missing, ran=ran)
            # it stands once more where it came back into sight: before the result that sees it
            _, _, clock, turn = result.moment
            yield emission._replace(clock=clock, turn=turn, is_return=True)
            ordinal += 1
        yield _emission(thread.key, ordinal, result, call, missing, ran=call_id in rewritten)
        places.append(ordinal)
        ordinal += 1
    for left in sight.finish(thread.tip, thread.last_node):
        yield _boundary(transcript, thread, left)


def _emission(
    context_key: int, ordinal: int, result: Result, call: Call | None, missing: Facts, *, ran: bool
) -> Emission:
    # unpacked at once: one by one, the fields of a tuple cost more
    _, call_id, moment, marks, keys, klass, cuts, failure, measured, content, o200k_tokens = result
    if call is None:
        facts, request_key, model_key = missing, None, None
        copy_key = hash64(NAME, call_id)
    else:
        facts, _, draft = call
        request_key, model_key = draft.key, draft.model_key
        copy_key = hash64(NAME, call_id, str(facts.call_key))
    name, tool_key, call_key, args_sha64, norm_key, target_sha64, target, *shell, _ = facts
    is_cut = cuts and cuts & CUTS.get(name, 0)
    # by position and past the constructor: this runs for every result
    return tuple.__new__(
        Emission,
        (
            mix64(context_key, ordinal),
            context_key,
            ordinal,
            *moment,
            request_key,
            call_id,
            copy_key,
            *marks,
            False,
            *keys,
            model_key,
            tool_key,
            call_key,
            args_sha64,
            norm_key,
            target_sha64,
            target,
            Class.TRUNCATED if is_cut else klass,
            *failure,
            *measured,
            *shell,
            ran,
            content,
            o200k_tokens,
        ),
    )


def _boundary(transcript: Transcript, thread: Thread, left: Left) -> Boundary:
    event = left.event
    return Boundary(
        thread.key,
        left.at_ordinal,
        *transcript.tree.rows[left.node][3:],
        left.kind,
        event.trigger if event else None,
        event.tokens_before if event else None,
        event.tokens_after if event else None,
        left.kept,
        left.removed,
    )
