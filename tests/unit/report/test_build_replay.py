"""Replays in the Report: figures worked out by hand, and against the report's other parts."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from support.rows import NAMES, context, emission, fill

from dedupstats.analytics.window import Window
from dedupstats.model import ReadOnly
from dedupstats.report import document, html, markdown, terminal
from dedupstats.report.build import build
from dedupstats.report.share import Share
from dedupstats.store import open_store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from dedupstats.model import Emission
    from dedupstats.report.model import Report
    from dedupstats.report.model_replay import PolicyReplay, Replay, RevisionChange
    from dedupstats.store import Store

UTC_WINDOW = Window(zone="UTC")
READER = NAMES.tool("read_file", "filesystem", ReadOnly.YES)
UNLISTED = NAMES.tool("read_file", "todo", ReadOnly.YES)
LONG_NAME = NAMES.tool("read_" + "x" * 40, "filesystem", ReadOnly.YES)
UNKNOWN = NAMES.tool("mcp__docs__get", "filesystem", ReadOnly.UNKNOWN)


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    with open_store(":memory:") as opened:
        yield opened


def shown(*results: tuple[str, int], tool_key: int = READER, **changes: Any) -> list[Emission]:
    """Results of one session: what each call is, and how many bytes came back."""
    facts = {"tool_key": tool_key, "ledger_key": NAMES.key("s1"), **changes}
    return [
        emission(1, ordinal, call[0] * size, tool="read_file", call=call, **facts)
        for ordinal, (call, size) in enumerate(results)
    ]


def replayed(store: Store, emissions: list[Emission], window: Window = UTC_WINDOW) -> Replay:
    fill(store, [context(1)], emissions)
    found = build(store, window=window).replay
    assert found is not None
    return found


def policy(found: Replay | None, label: str) -> PolicyReplay:
    assert found is not None
    return next(policy for policy in found.policies if policy.label == label)


def changes(found: Replay, later: str, preset: str = "host") -> dict[str, RevisionChange]:
    return {
        change.words: change
        for change in found.changes
        if (change.policy, change.later, change.preset) == ("docker-agent", later, preset)
    }


def test_saved_is_what_is_true_less_the_markers(store: Store) -> None:
    found = replayed(store, shown(("a", 400), ("a", 400), ("b", 100)))

    engine = policy(found, "docker-agent:v3 (host)")
    # a marker has 222 bytes, the tool's name and the digits of the size: 234, which is 59 tokens
    assert engine.saved == Share(100 - 59, 225, 41 / 225)
    assert (engine.sound.results, engine.sound.marker_bytes, engine.untrue.results) == (1, 234, 0)
    assert (engine.largest_ledger, engine.cap, engine.is_headline) == (1, 4_096, True)
    assert found.headline == (
        "docker-agent v3 on 1 session of agent history: 18.2 % of tool-result tokens saved (41 of 225)"
    )


def test_what_a_marker_costs_too_much_stays_negative(store: Store) -> None:
    found = replayed(store, shown(("a", 256), ("a", 256), tool_key=LONG_NAME))

    # v1 elides from 256 bytes on, whatever the marker's length: 222 + 45 + 3 bytes are 68 tokens
    engine = policy(found, "docker-agent:v1 (host)")
    assert engine.saved.part == 64 - 68
    assert changes(found, "v2")["forgets at compactions; long tool names"].saved_tokens == 4
    text = terminal.render(build(store, window=UTC_WINDOW))
    assert "-4 (-3.1 %)" in text


@pytest.mark.parametrize(
    ("later", "words", "emissions", "tokens"),
    [
        ("v2", "least size: the marker's, not 256 bytes", shown(("a", 244), ("a", 244)), 61 - 59),
        ("v2", "listed toolsets only", shown(("a", 400), ("a", 400), tool_key=UNLISTED), -41),
        (
            "v2",
            "results of 51,200 bytes or more shown",
            shown(("a", 60_000), ("a", 60_000), tool_key=NAMES.tool("read_file", "git", ReadOnly.YES)),
            -(15_000 - 59),
        ),
        (
            "v3",
            "large only where the limiter acts",
            shown(("a", 60_000), ("a", 60_000), tool_key=NAMES.tool("read_file", "git", ReadOnly.YES)),
            15_000 - 59,
        ),
        (
            "v3",
            "toolset knowledge instead of rag",
            shown(("a", 400), ("a", 400), tool_key=NAMES.tool("read_file", "knowledge", ReadOnly.YES)),
            41,
        ),
    ],
)
def test_each_change_is_told_from_the_others(
    store: Store, later: str, words: str, emissions: list[Emission], tokens: int
) -> None:
    found = changes(replayed(store, emissions), later)

    assert found[words].saved_tokens == found["all together"].saved_tokens == tokens
    assert {change.words for change in found.values() if change.saved_tokens} == {words, "all together"}


def test_changes_add_up_to_the_whole(sample_report: Report) -> None:
    replay = sample_report.replay
    assert replay is not None
    ways = {(change.policy, change.earlier, change.later, change.preset) for change in replay.changes}
    assert len(ways) == 5
    for name, earlier, later, preset in ways:
        parts = [
            change
            for change in replay.changes
            if (change.policy, change.later, change.preset) == (name, later, preset)
        ]
        whole = parts.pop()
        assert whole.is_whole
        suffix = f" ({preset})" if preset else ""
        one, two = policy(replay, f"{name}:{earlier}{suffix}"), policy(replay, f"{name}:{later}{suffix}")
        assert whole.sound == sum(change.sound for change in parts) == two.sound.results - one.sound.results
        assert whole.untrue == sum(change.untrue for change in parts)
        assert whole.saved_tokens == sum(change.saved_tokens for change in parts)


def test_the_ladder_meets_the_repeat_rules_and_the_verdicts(sample_report: Report) -> None:
    rules = {rule.name: rule.repeats for rule in sample_report.rules}
    assert sample_report.replay is not None
    for found in sample_report.replay.policies:
        steps = {step.name: step for step in found.steps}
        names = {"in_sight": "repeat-in-sight", "same_call": "call-pooled", "same_session": "repeat-session"}
        if found.policy in {"docker-agent", "ceiling", "keep-all"}:
            for step, rule in names.items():
                assert steps[step].left.results == rules[rule].results.part
                assert steps[step].left.bytes == rules[rule].bytes.part
                # both count whole tokens result by result
                assert steps[step].left.tokens == rules[rule].tokens.part
        else:
            assert steps["bytes_in_session"].left.results == rules["bytes-session"].results.part
        for before, after in pairwise(found.steps):
            assert after.left.results == before.left.results - after.removed_results
        assert steps["net"].left == found.sound
        assert found.steps[-2].left.tokens - steps["net"].removed_tokens == found.saved.part
        assert sum(sums.results for sums in found.verdicts.values()) == found.elided.results
        assert sum(place.elided.results for place in found.places) == found.elided.results
        assert sum(tool.elided.results for tool in found.tools) == found.elided.results


def test_rtk_and_the_subagents_of_the_samples(sample_report: Report) -> None:
    """`cat tansy/orders.py` is shown to a subagent, then named to it, its sibling and its parent."""
    found = policy(sample_report.replay, "rtk:v2")

    assert (found.sound.results, found.untrue.results, found.sound.tokens) == (1, 2, 546)
    name = len("read tansy/orders.py")
    marker = len("rtk-dedup: identical to output at step 1 \u00b7 57 lines / ~546 tok suppressed []".encode())
    assert found.sound.marker_bytes == marker + name + len(" (force full: rtk proxy <cmd>)\n")
    assert {place.name: place.elided.results for place in found.places if place.elided.results} == {
        "in_sight": 1,
        "child": 1,
        "sibling": 1,
    }
    assert {(one.told, one.claim, one.truth) for one in found.examples} == {
        ("subagent b", "identical to output at step 1", "Step 1 was shown to subagent a."),
        ("the main thread", "identical to output at step 1", "Step 1 was shown to subagent a."),
    }
    # a ledger of each context's own knows of the first alone
    alone = policy(sample_report.replay, "rtk:v2,ledger=context")
    assert (alone.kind, alone.sound.results, alone.untrue.results) == ("what-if", 1, 0)


def test_a_window_counts_less_and_replays_everything(sample_store: Path, sample_report: Report) -> None:
    with open_store(sample_store, read_only=True) as opened:
        cut = build(opened, window=Window(tools=("Read",), zone="UTC"))

    whole = policy(sample_report.replay, "docker-agent:v3 (documented)")
    part = policy(cut.replay, "docker-agent:v3 (documented)")
    reads = next(tool for tool in whole.tools if tool.name == "Read")
    assert 0 < part.elided.results < whole.elided.results
    assert (part.elided, part.sound) == (reads.elided, reads.sound)
    assert cut.replay is not None
    assert cut.replay.results.results == cut.corpus.results
    assert "(tool Read): " in (cut.replay.headline or "")


def test_what_unknown_tools_would_add_is_asked_of_the_newest(store: Store) -> None:
    found = replayed(store, shown(("a", 400), ("a", 400), tool_key=UNKNOWN))

    newest = policy(found, "docker-agent:v3 (host)")
    assert newest.elided.results == 0
    assert newest.if_unknown_reads is not None
    assert newest.if_unknown_reads.results == 1
    assert policy(found, "docker-agent:v1 (host)").if_unknown_reads is None


def test_rtk_alone_is_refused_with_its_upper_bound(sample_store: Path) -> None:
    with open_store(sample_store, read_only=True) as opened:
        report = build(opened, window=Window(sources=("rtk",), zone="UTC"))

    assert report.replay is not None
    assert report.replay.policies == ()
    assert document.parse(document.render(report)) == report
    for text in (
        terminal.render(report),
        terminal.short(report),
        markdown.render(report, brief=True),
        html.render(report),
    ):
        joined = " ".join(text.split())
        assert "Nothing was replayed" in joined
        assert "537 of 943" in joined.replace("\u00a0", " ")


def test_numbered_names_leave_no_id_to_look_up(sample_store: Path) -> None:
    with open_store(sample_store, read_only=True) as opened:
        report = build(opened, window=UTC_WINDOW, anonymize=True)

    assert report.replay is not None
    assert {one.id for found in report.replay.policies for one in found.examples} == {None}
    assert "toolu_" not in document.render(report)
    assert "dedupstats explain" not in terminal.short(report)


def test_the_first_screens_show_both_engines_and_one_untrue_marker(sample_report: Report) -> None:
    for screen in (
        terminal.demo(sample_report, ["r.html"], "skipped.csv", width=80),
        terminal.short(sample_report, width=80),
    ):
        joined = " ".join(screen.split())
        # its marker's tokens by the rule for bytes of the model's family, and dollars as spend has them
        assert "docker-agent v3, as its host runs it 1 of 9 6.2 % $0.013 (0.5 %)" in joined
        assert "RTK dedup v2, shell results only 2 of 3 1.6 % $0.00061 (<0.1 %)" in joined
        assert (
            'told "identical to output at step 1". Step 1 was shown to subagent a. dedupstats explain'
            in joined
        )
        assert "Saved means tokens, not time: the tools still run." in joined


def test_the_pull_request_begins_with_both_presets_and_a_shared_ledger(sample_report: Report) -> None:
    paragraph = markdown.render(sample_report, brief=True).split("\n\n")[1]

    assert paragraph.startswith("Replayed, not a forecast; logs of Claude Code and docker-agent")
    host = "As its host runs it (the ledger is dropped at each turn): 9 of 224 results elided, "
    assert f"{host}of which **8 true**" in paragraph
    assert "As documented (dropped at compaction and session end): 12 of 224" in paragraph
    assert (
        "With one ledger shared by a session and its subagents it would have been 14, 8 of them" in paragraph
    )


def test_the_risk_table_is_there_only_where_something_is_untrue(store: Store, sample_report: Report) -> None:
    replayed(store, shown(("a", 400), ("a", 400)))
    all_true = terminal.render(build(store, window=UTC_WINDOW))

    assert "WAS THE MARKER TRUE?" not in all_true
    assert "WAS THE MARKER TRUE?" in terminal.render(sample_report)
