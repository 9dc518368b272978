"""Compactions counted with and without a policy: the hand vector of the fact sheet on whole contexts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from support.economics import PRICES, UNDATED
from support.pipeline import Log, imported

from dedupstats import variants
from dedupstats.analytics import compactions
from dedupstats.analytics.compactions import Compactions, ContextCount, Triggers, net_removed
from dedupstats.analytics.window import Window
from dedupstats.economics.tokens import FRAMING
from dedupstats.history.course import Came, Course, Gone, Sent
from dedupstats.report import document
from dedupstats.report.build import build
from dedupstats.report.compaction_words import sensitivity
from dedupstats.report.outline import outline

if TYPE_CHECKING:
    from pathlib import Path

    from dedupstats import Store

STEP = 19_000
START = 20_000
AFTER = 34_000


TRIGGERS = Triggers(PRICES, UNDATED)


def counted(course: Course, removed: dict[int, int]) -> Compactions:
    return compactions.counted(course, removed, TRIGGERS)


def sent(prompt: int | None, **changes: Any) -> Sent:
    return Sent(0, None, "hand", "2.1.60", prompt, 0.0, 0, 0, is_own=True)._replace(**changes)


def came(key: int, left: tuple[int, int] | None = None) -> Came:
    return Came(1, key, STEP * 4, float(STEP), 4, "Read", "a", left)


def course(*steps: Sent | Came | Gone, source: str = "claude_code") -> Course:
    return Course(1, "s", 1, source, "main", None, "c", list(steps))


def vector_11(trigger: str | None = "auto") -> Course:
    """Prompts of 20,000 that grow by 19,000 a step, compacted at steps 8 and 15 to 34,000 (8.11)."""
    steps: list[Sent | Came | Gone] = [sent(START)]
    prompt = START
    for step in range(1, 19):
        # each result leaves at the next of the two boundaries
        left = (8, 8) if step <= 8 else (15, 15) if step <= 15 else None
        steps.append(came(step, left))
        if step in {8, 15}:
            steps.append(Gone(step, None, "compaction", trigger, (step, step)))
            prompt = AFTER
        else:
            prompt += STEP
        steps.append(sent(prompt))
    return course(*steps)


def both(number: int, **others: int) -> Compactions:
    """A context with so many recorded ones, all of them reproduced."""
    some = int(number > 0)
    counts = {"reproduced": number, "under_policy": number, "contexts": 1, "compacted": some, "exact": some}
    return Compactions(number, **counts | others)


def test_vector_11() -> None:
    # markers of 60,000 of 76,000 bytes keep 4,000 tokens out of each step
    assert net_removed(came(1), 60_000) == pytest.approx(4_000)
    removed = dict.fromkeys(range(1, 19), 60_000)
    assert counted(vector_11(), {}) == both(2)
    under = counted(vector_11(), removed)
    assert (under.reproduced, under.under_policy) == (2, 1)
    assert under.changed == (ContextCount("s", "c", "main", 2, 2, 1),)
    # prompts of 153,000 and 148,000 summed up without the policy, one of 155,000 with it; $0.30, $3.75, $15
    read, written = 0.982 * 0.3, 0.018 * 3.75
    calls = [size * (read + written) + 4_630 * 15 for size in (153_000, 148_000, 155_000)]
    assert under.summary_usd == pytest.approx((calls[0] + calls[1] - calls[2]) / 1e6)
    assert replace(under, under_policy=2, changed=(), summary_usd=0.0) == both(2)


def test_fewer_compactions_of_a_model_without_a_price_are_no_zero_dollars() -> None:
    steps = [step._replace(model="acme-1") if isinstance(step, Sent) else step for step in vector_11().steps]
    under = counted(course(*steps), dict.fromkeys(range(1, 19), 60_000))
    assert (under.under_policy, under.unpriced, under.summary_usd) == (1, 1, 0.0)
    assert "no price is known" in (sensitivity(under, "p") or "")


def test_a_compaction_by_hand_is_no_automatic_one() -> None:
    assert counted(vector_11("manual"), {}) == both(0)


def test_one_of_unknown_trigger_counts_and_is_told_apart() -> None:
    assert counted(vector_11(None), {}) == both(2, untold=2, reproduced_untold=2)


def test_a_context_whose_log_has_another_count_is_in_no_claim() -> None:
    # nothing near the limit, and yet the log has a compaction
    early = course(sent(START), came(1), Gone(1, None, "compaction", "auto", (1, 1)), sent(AFTER))
    unlike = (ContextCount("s", "c", "main", 1, 0, None),)
    assert counted(early, {}) == Compactions(1, contexts=1, compacted=1, not_reproduced=1, unlike=unlike)


def test_a_context_above_the_limit_is_left_out() -> None:
    assert counted(course(sent(400_000), came(1), sent(419_000)), {}) == Compactions(left_out=1)


@pytest.mark.parametrize(
    ("unusable", "why"),
    [
        (course(sent(None), came(1), sent(None)), "no_usage"),
        # docker-agent's limit hangs on the window of a model, and nobody knows that of `hand`
        (course(sent(START), source="docker_agent"), "no_rule"),
        (course(sent(START), source="another"), "no_rule"),
    ],
)
def test_without_usage_or_a_rule_nothing_is_replayed(unusable: Course, why: str) -> None:
    assert counted(unusable, {}) == Compactions(**{why: 1})


def test_docker_agents_limit_is_that_of_the_model() -> None:
    model = "anthropic/claude-sonnet-4-5"  # 200,000 tokens
    gone = Gone(2, None, "compaction", None, (1, 2))

    def compacted(before: int) -> Course:
        first, after = sent(before, model=model, answer=500.0), sent(AFTER, line=3, model=model)
        # the request that made the summary stands on its line, and is what the compaction brought about
        summary = sent(before + 9_000, line=2, model=model, answer=9_000.0)
        return course(first, summary, gone, after, source="docker_agent")

    assert counted(compacted(179_501), {}) == both(1, untold=1, reproduced_untold=1)
    # 180,000 is not above the limit
    assert counted(compacted(179_500), {}).not_reproduced == 1


def test_copies_of_requests_are_replayed_where_they_come_from() -> None:
    copied = [step._replace(is_own=False) if isinstance(step, Sent) else step for step in vector_11().steps]
    assert counted(course(*copied), {}) == Compactions()
    assert counted(course(*copied, sent(110_000)), {}) == both(0)


def test_what_a_micro_compaction_takes_out_was_kept_out_before() -> None:
    """The log's prompt falls by the whole result; under the policy only its marker was there."""
    micro = Gone(3, None, "micro_compaction", "auto", (2, 3))
    steps = (sent(100_000), came(1, (2, 3)), sent(100_000 + STEP), micro, sent(100_000), sent(166_990))
    removed = {1: 0}
    # 166,990 is below the limit; it is reached if what was kept out were not given back
    assert counted(course(*steps), removed) == both(0)
    fired = course(*steps, came(2), Gone(9, None, "compaction", "auto", (3, 9)), sent(AFTER))
    assert counted(fired, removed) == both(1)


def test_a_marker_that_is_longer_than_its_result_saves_less_than_nothing() -> None:
    short = Came(1, 1, 40, 10.0 + FRAMING, 0, "Read", None, None)
    assert net_removed(short, 80) == pytest.approx(-10)
    # nothing to measure by
    assert net_removed(short._replace(bytes=0, tokens=0.0), 80) == pytest.approx(-20 - FRAMING)


def test_sums() -> None:
    one = (ContextCount("s", "c", "main", 1, 0, None),)
    first, second = Compactions(1, 2, unlike=one, summary_usd=0.5), Compactions(3, 4, unlike=one, changed=one)
    assert first + second == Compactions(4, 6, unlike=one * 2, changed=one, summary_usd=0.5)


# -- from logs to counts -------------------------------------------------------------------------------------

SAME = f"{'x = 1; ' * 20}\n" * 250
"""few lines: what has more than 2,000 is cut by docker-agent's limiter, and never elided"""


def avoidable(name: str = "s1") -> Log:
    """A compaction that only the 18,000 tokens of a repeated read bring about: 136,150 and 31,000 more."""
    log = Log(name, prefix=name)
    log.user("go")
    for number, (prompt, text) in enumerate([(100_000, SAME), (118_050, SAME), (136_100, "x" * 124_000)]):
        path = "/home/u/p/b.py" if number == 2 else "/home/u/p/a.py"
        usage = (10, 90, prompt - 100, 50)
        log.call(f"{name}r{number}", "Read", {"file_path": path}, usage=usage, model=SONNET)
        log.result(f"{name}r{number}", text)
    log.compact()
    log.say("on", f"{name}m4", usage=(10, 0, 29_990, 5), model=SONNET)
    return log


SONNET = "claude-sonnet-4-5-20250929"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    short = Log("s2", prefix="s2")
    short.user("go")
    short.say("x", "s2m", usage=(10, 0, 9_990, 5))
    short.write(tmp_path / "s2.jsonl")
    avoidable().write(tmp_path / "s1.jsonl")
    return imported(tmp_path).store


def test_a_policy_avoids_a_compaction_of_a_log(store: Store) -> None:
    policies = variants(["docker-agent"])[:1] + variants(["keep-all"])
    found = compactions.compactions(store, policies)
    assert [(one.reproduced, one.under_policy, one.contexts, one.exact) for one in found] == [
        (1, 0, 2, 1),
        (1, 1, 2, 1),
    ]
    # Sonnet 4.5: $0.30 read, $3.75 written, $15 answered; the call reads what the last request had sent
    expected = (136_100 * (0.982 * 0.3 + 0.018 * 3.75) + 4_630 * 15) / 1e6
    assert found[0].summary_usd == pytest.approx(expected)
    assert (found[0].changed[0].session, found[1].changed) == ("s1", ())


def test_a_window_counts_whole_contexts(store: Store) -> None:
    policies = variants(["keep-all"])
    (one,) = compactions.compactions(store, policies, window=Window(sessions=("s2",)))
    assert (one.contexts, one.recorded) == (1, 0)
    # what results are counted is no matter: a context is one
    (one,) = compactions.compactions(store, policies, window=Window(models=(SONNET,), tools=("Bash",)))
    assert (one.contexts, one.recorded) == (1, 1)


def test_the_report_tells_the_pair_and_keeps_it_out_of_savings(store: Store) -> None:
    report = build(store, window=Window(zone="UTC"), anonymize=True)
    assert report.economics
    host, rtk = report.economics.compactions
    assert (host.found.reproduced, host.found.under_policy, rtk.found.under_policy) == (1, 0, 1)
    (section,) = (one for one in outline(report) if one.key == "compactions")
    assert section.tables[0].rows[0] == (host.policy, "1", "0", "1")
    said = " ".join(section.notes)
    assert "session-1 (0 instead of 1)" in said
    assert "Sensitivity, modelled and in no other figure: 1 compaction fewer" in said
    assert "s1" not in document.render(report).partition('"compactions"')[2].partition('"calibration"')[0]
    assert document.parse(document.render(report)) == report
