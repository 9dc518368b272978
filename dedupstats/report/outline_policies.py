"""What the report says about replays in detail: every policy, the changes between revisions, per tool."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dedupstats.report import policy_words as words
from dedupstats.report.blocks import Column, Section, Table, columns, names
from dedupstats.report.model_replay import of_kind
from dedupstats.report.outline_replay import heads, outcome, saved_of
from dedupstats.report.text import count

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dedupstats.report.model import Report
    from dedupstats.report.model_replay import Replay

_TOOLS_SHOWN = 6


def sections(report: Report) -> Iterator[Section]:
    """The sections, in order; none where nothing was replayed."""
    replay = report.replay
    if replay is None or replay.refused:
        return
    yield _policies(replay)
    yield _changes(replay)
    yield _tools(replay)


def _policies(replay: Replay) -> Section:
    captions = {
        "engine": f"Every revision under every preset. {saved_of(replay)}",
        "what-if": "With another ledger or reach than their hosts give them.",
        "reference": (
            "References, nobody's code; their markers have no text. `ceiling` elides every call that the "
            "session made before, failures too, and no other: it bounds engines that know calls, not those "
            "that know bytes. `safe` takes no shell command for one that only reads; RTK, which sees nothing "
            "else, is judged with those that do."
        ),
    }
    tables = [
        Table(
            caption,
            columns("", *heads(replay)),
            tuple((policy.words, *outcome(policy, replay)) for policy in of_kind(replay.policies, kind)),
        )
        for kind, caption in captions.items()
    ]
    return Section(
        "policies", "Every policy, replayed", tables=tuple(table for table in tables if table.rows)
    )


def _changes(replay: Replay) -> Section:
    presets = dict.fromkeys(change.preset for change in replay.changes)
    tables = [
        Table(
            f"Later minus earlier revision{_under(preset)}.",
            columns("", "elided", "true", "untrue", "saved tokens"),
            tuple(_change_rows(replay, preset)),
        )
        for preset in presets
    ]
    unisolated = dict.fromkeys(
        f"{words.engine(change.policy, change.later)}: {words.UNISOLATED.get(change.words, change.words)}"
        for change in replay.changes
        if not change.is_isolated and not change.is_whole
    )
    notes = [
        (
            "Each row changes one thing more on the way between two revisions, in the order shown (in "
            "another order rows can differ); `all together` is their sum, replayed as it is."
        )
    ]
    notes += [f"No parameter tells these apart: {said}." for said in unisolated]
    return Section(
        "changes",
        "What review findings are worth on this history",
        tables=tuple(tables),
        notes=tuple(notes),
        folded=True,
    )


def _under(preset: str) -> str:
    return f", {words.PRESETS.get(preset, preset)}" if preset else ""


def _change_rows(replay: Replay, preset: str) -> Iterator[tuple[str, ...]]:
    way = None
    for change in replay.changes:
        if change.preset != preset:
            continue
        if way != (change.policy, change.later):
            way = (change.policy, change.later)
            yield f"{words.engine(change.policy, change.earlier)} to {change.later}", "", "", "", ""
        yield (
            f"  {change.words}",
            *map(_signed, (change.elided, change.sound, change.untrue, change.saved_tokens)),
        )


def _signed(number: int) -> str:
    return f"+{count(number)}" if number > 0 else count(number)


def _tools(replay: Replay) -> Section:
    rows = [
        (
            words.engine(policy.policy, policy.revision),
            tool.name,
            count(tool.elided.results),
            count(tool.sound.results),
            count(tool.elided.tokens),
            count(tool.sound.tokens),
        )
        for policy in replay.headlines
        for tool in policy.tools[:_TOOLS_SHOWN]
    ]
    return Section(
        "elided-tools",
        "What the engines elide, per tool",
        tables=(
            Table(
                f"As their hosts run them; the {_TOOLS_SHOWN} tools with most tokens. Tokens before markers.",
                (
                    names("engine"),
                    names("tool"),
                    Column("elided"),
                    Column("true"),
                    Column("tokens"),
                    Column("true tokens"),
                ),
                tuple(rows),
            ),
        )
        if rows
        else (),
        lead=() if rows else ("Nothing is elided.",),
        folded=True,
    )
