from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedupstats.economics.families import (
    CLAUDE_4_6,
    CLAUDE_4_7,
    DEEPSEEK,
    FAMILIES,
    OPENAI,
    Counts,
    Family,
    Visible,
    family_of,
)
from dedupstats.economics.tokens import (
    EXTRAS,
    Entry,
    Level,
    Step,
    bytes4,
    clean_single,
    combined,
    session_factor,
    size_step,
    split,
)

NOTHING = Visible()


def result(size: int, **classes: int) -> Entry:
    return Entry(Counts(size, **classes), is_result=True)


def attachment(kind: str) -> Entry:
    return Entry(Counts(0), is_result=False, extra=EXTRAS[kind])


USER = Entry(Counts(400, 400), is_result=False)
IMAGE = Entry(Counts(0), is_result=True, is_image=True)


def tokens(step: Step, family: Family | None = CLAUDE_4_6) -> list[tuple[float, Level]]:
    return [(round(found.tokens, 3), found.level) for found in size_step(step, family).estimates]


def test_first_pass_of_vector_1() -> None:
    assert tokens(Step(7_000 - 5_000, 200, True, NOTHING, [result(5_400, letters=5_400)])) == [
        (1_800, Level.EXACT)
    ]
    # by bytes, as the vector has it: of an unknown model the weights are bytes / 4
    both = Step(8_000 - 7_000, 100, True, NOTHING, [result(1_200), result(600)])
    assert tokens(both, None) == [(600, Level.SPLIT), (300, Level.SPLIT)]


def test_growth_anchors_vector_7() -> None:
    """The answer's count is a placeholder: 300 bytes of text, 150 of tool input, one call are visible."""
    visible = Visible(text_bytes=300, tool_input_bytes=150, calls=1)
    answer = CLAUDE_4_6.output_tokens(visible)
    assert answer == pytest.approx(192.25, abs=0.005)
    assert combined(2_000, answer, 0) == pytest.approx(1_807.75, abs=0.005)
    step = Step(
        2_000, 1, False, visible, [result(6_000, letters=5_000, digits=200, newlines=100, other_ascii=300)]
    )
    classes = 12.497 + 5_000 * 0.262 + 200 * 0.881 + 100 * 1.016 + 300 * 0.858
    weight = 1 / (1 + (0.25 * 192.249 / (0.18 * classes)) ** 2)
    ((found, level),) = tokens(step)
    assert level == Level.ANCHORED
    assert found == pytest.approx(weight * 1_807.751 + (1 - weight) * classes, abs=0.01)
    # what is left is the answer's: a step is a sum
    assert (size_step(step, CLAUDE_4_6).output or 0) + found == pytest.approx(2_000)


def test_a_negative_net_measures_nothing_vector_8() -> None:
    shown = result(2_000, letters=1_400, digits=100, newlines=50, other_ascii=150)
    step = Step(900, 2_600, True, NOTHING, [shown, USER])
    (size, level), _ = tokens(step)
    assert (size, level) == (pytest.approx(646.9, abs=0.05), Level.CALIBRATED)
    assert bytes4(shown.counts) == 500


@pytest.mark.parametrize(
    ("step", "level"),
    [
        (Step(None, 10, True, NOTHING, [result(4_000, letters=3_000)]), Level.CALIBRATED),
        (Step(50, 10, False, Visible(hidden_thinking=1), [result(4_000, letters=3_000)]), Level.CALIBRATED),
        (Step(-300, 10, True, NOTHING, [result(4_000, letters=3_000)]), Level.CALIBRATED),
        (Step(10, None, False, Visible(text_bytes=4_000), [result(4_000, letters=3_000)]), Level.CALIBRATED),
    ],
)
def test_what_is_not_measured_falls_to_the_family(step: Step, level: Level) -> None:
    assert tokens(step) == [(round(12.497 + 3_000 * 0.262, 3), level)]
    assert tokens(step, None) == [(1_000, Level.UNKNOWN)]
    ((found, _),) = [(round(one.tokens, 3), one) for one in size_step(step, CLAUDE_4_6, factor=1.5).estimates]
    assert found == pytest.approx(1.5 * (12.497 + 3_000 * 0.262), abs=0.001)


def test_attachments_beside_a_result() -> None:
    """5.2, trap 4: silent ones and the fixed line leave a step exact, a reminder costs its median."""
    shown = result(4_000, letters=3_000)
    silent = [attachment("hook_success"), shown, attachment("total_tokens_reminder")]
    assert tokens(Step(1_125, 100, True, NOTHING, silent)) == [
        (0, Level.EXACT),
        (1_000, Level.EXACT),
        (25, Level.EXACT),
    ]
    assert clean_single(Step(1, 1, True, NOTHING, silent)) == 1
    reminded = [shown, attachment("task_reminder")]
    assert tokens(Step(1_223, 100, True, NOTHING, reminded)) == [
        (1_000, Level.ANCHORED),
        (123, Level.CALIBRATED),
    ]
    assert clean_single(Step(1, 1, True, NOTHING, reminded)) is None
    # a reminder larger than what entered: the sum is split
    assert sum(size for size, _ in tokens(Step(200, 100, True, NOTHING, reminded))) == 100


def test_user_text_beside_a_result_keeps_the_level_of_the_weights() -> None:
    found = tokens(Step(1_000, 100, True, NOTHING, [result(4_000, letters=3_000), USER]))
    assert [level for _, level in found] == [Level.CALIBRATED, Level.CALIBRATED]
    weights = (12.497 + 3_000 * 0.262, 12.497 + 400 * 0.262)
    assert [size for size, _ in found] == [round(900 * weight / sum(weights)) for weight in weights]


def test_images() -> None:
    """Alone an image is measured; beside a text it takes what the text leaves (5.2, trap 5)."""
    assert tokens(Step(1_600, 100, True, NOTHING, [IMAGE])) == [(1_500, Level.EXACT)]
    text = result(4_000, letters=3_000)
    assert tokens(Step(2_000, 100, True, NOTHING, [IMAGE, text])) == [
        (pytest.approx(1_900 - 798.497), Level.UNKNOWN),
        (798.497, Level.CALIBRATED),
    ]
    assert tokens(Step(None, None, False, NOTHING, [IMAGE])) == [(0, Level.UNKNOWN)]


def test_more_than_its_bytes_is_hidden_text() -> None:
    """An empty result cannot have 5,000 tokens: the program wrote a reminder that is in no log."""
    for step in (
        Step(5_100, 100, True, NOTHING, [result(0)]),
        Step(5_100, None, False, Visible(text_bytes=100), [result(0), result(300, letters=300)]),
    ):
        sized = size_step(step, CLAUDE_4_6)
        assert {found.level for found in sized.estimates} == {Level.CALIBRATED}
        assert sized.estimates[0].tokens < 20
    # as many tokens as bytes, and the framing, can be
    assert tokens(Step(464, 0, True, NOTHING, [result(400)])) == [(464, Level.EXACT)]
    assert tokens(Step(465, 0, True, NOTHING, [result(400)]))[0][1] == Level.CALIBRATED


def test_a_placeholder_is_a_lower_bound() -> None:
    """1.2: the estimate of an answer is not below what the log counted so far."""
    step = Step(5_000, 900, False, Visible(text_bytes=100), [result(9_000, letters=9_000)])
    assert size_step(step, CLAUDE_4_6).estimates[0].tokens <= 5_000 - 900 * 0.9


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("claude-sonnet-4-20250514", CLAUDE_4_6),
        ("claude-3-5-haiku-20241022", CLAUDE_4_6),
        ("anthropic/claude-opus-4.6-1m", CLAUDE_4_6),
        ("claude-opus-4-7", CLAUDE_4_7),
        ("us.anthropic.claude-opus-4-8-v1:0", CLAUDE_4_7),
        ("claude-sonnet-5", CLAUDE_4_7),
        ("claude-haiku-5-5", CLAUDE_4_7),
        ("claude-mythos-5-2", CLAUDE_4_7),
        ("claude-opus-10", CLAUDE_4_7),
        ("deepseek/deepseek-v4-pro", DEEPSEEK),
        ("gpt-5-codex", OPENAI),
        ("o4-mini", OPENAI),
        ("MiniMax-M2.1", None),
        ("gemini-2.5-pro", None),
        ("", None),
        (None, None),
    ],
)
def test_families(model: str | None, family: Family | None) -> None:
    assert family_of(model) is family


def test_where_only_bytes_are_known() -> None:
    assert CLAUDE_4_6.tokens(Counts(3_100)) == pytest.approx(1_012)
    assert OPENAI.tokens(Counts(3_580, 3_000)) == pytest.approx(1_021)


def test_a_sessions_own_factor() -> None:
    assert session_factor([1, 2, 3, 4]) == 1
    assert session_factor([1, 9, 2, 8, 3, 4]) == 3.5


counts = st.integers(0, 5_000).map(lambda size: Counts(size, size // 2, size // 8, size // 40, size // 10, 0))
entries = st.lists(
    st.one_of(
        st.builds(Entry, counts, st.just(True), st.booleans()),
        st.builds(Entry, counts, st.just(False)),
        st.sampled_from(sorted(EXTRAS)).map(attachment),
    ),
    max_size=5,
)
steps = st.builds(
    Step,
    st.none() | st.integers(-5_000, 20_000),
    st.none() | st.integers(0, 5_000),
    st.booleans(),
    st.builds(
        Visible,
        st.integers(0, 4_000),
        st.integers(0, 500),
        st.integers(0, 500),
        st.integers(0, 4),
        st.integers(0, 1),
    ),
    entries,
)


@given(steps, st.sampled_from([None, *FAMILIES]))
def test_no_size_is_negative_and_what_is_measured_adds_up(step: Step, family: Family | None) -> None:
    sized = size_step(step, family)
    assert len(sized.estimates) == len(step.entries)
    assert sized.output is None or sized.output >= 0
    assert all(found.tokens >= 0 for found in sized.estimates)
    measured = {Level.EXACT, Level.SPLIT} & {
        found.level
        for found, entry in zip(sized.estimates, step.entries, strict=True)
        if not (entry.extra and entry.extra.is_exact)
    }
    if measured:
        assert step.growth is not None
        assert sized.output is not None
        assert sum(found.tokens for found in sized.estimates) + sized.output == pytest.approx(step.growth)


@given(st.integers(0, 10_000), st.lists(st.integers(0, 999), min_size=1, max_size=8))
def test_a_split_is_whole_and_adds_up(total: int, weights: list[int]) -> None:
    parts = split(total, weights)
    assert sum(parts) == total
    assert all(isinstance(part, int) for part in parts)
    if sum(weights):
        assert all(
            abs(part - total * weight / sum(weights)) < 1 for part, weight in zip(parts, weights, strict=True)
        )
