"""GPT models' own tokenizer: the real one where it is installed, and a stand-in for what surrounds it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support import docker_agent
from support.pipeline import Log

from dedupstats import import_paths, open_store
from dedupstats.analytics.calibration import calibration, counted_results
from dedupstats.economics import o200k
from dedupstats.economics.families import CLAUDE_4_6, OPENAI, Counts, Visible
from dedupstats.economics.tokens import Entry, Level, Step, size_step

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

installed = pytest.mark.skipif(
    not o200k.is_installed(), reason="the extra `tokens` (bpe-openai) is not installed"
)


class StandIn:
    """A tokenizer of a token per word that refuses what the real one refuses."""

    LIMIT = 200_000

    def encode(self, text: str, *, disallowed_special: tuple[str, ...] | str = "all") -> list[str]:
        assert disallowed_special == (), "text that looks like a special token must be allowed"
        words = text.split()
        assert len(text) <= self.LIMIT // 4, "a longer text could have too many tokens"
        return words


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(o200k, "is_installed", lambda: True)
    monkeypatch.setattr(o200k, "import_module", lambda _name: o200k_module)
    o200k._encoding.cache_clear()
    yield
    o200k._encoding.cache_clear()


class o200k_module:  # noqa: N801 - stands for a module
    @staticmethod
    def get_encoding(name: str) -> StandIn:
        assert name == "o200k_base"
        return StandIn()


@pytest.fixture
def missing(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(o200k, "is_installed", lambda: False)
    o200k._encoding.cache_clear()
    yield
    o200k._encoding.cache_clear()


# -- the real one --------------------------------------------------------------------------------------------


@installed
def test_the_encoding_counts_known_texts() -> None:
    # "hello" and " world"; <|endoftext|> spelled out, since as text it is no special token
    assert o200k.count("hello world") == 2
    assert o200k.count("<|endoftext|>") > 1
    assert o200k.count("") == 0


@installed
def test_texts_of_any_length_and_kind_are_counted() -> None:
    line = "x = 1\n"
    once = o200k.count(line * 1_000)
    assert o200k.count(line * 100_000) == pytest.approx(100 * once, rel=0.001)
    assert o200k.count("a\ud83db") >= 1
    assert o200k.count("\u20ac\U0001f600" * 60_000) > 60_000


# -- whose it is ---------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("stand_in")
def test_only_models_that_use_it_are_counted() -> None:
    for model in ("gpt-5", "openai/gpt-5-mini", "gpt-5.2-codex", "o4-mini"):
        assert o200k.tokenizer_of(model) is o200k.count
    for model in ("claude-opus-4-6", "deepseek-v4-pro", "gemini-3-pro", "private-x", ""):
        assert o200k.tokenizer_of(model) is None


@pytest.mark.usefixtures("stand_in")
def test_long_texts_go_in_pieces() -> None:
    assert o200k.count("word " * 100_000) == 100_000


@pytest.mark.usefixtures("missing")
def test_without_it_nothing_is_counted() -> None:
    assert o200k.tokenizer_of("gpt-5") is None


# -- the ladder ----------------------------------------------------------------------------------------------

NOTHING = Visible()


def alone(counts: Counts, family: Any = OPENAI) -> tuple[float, Level]:
    ((tokens, level, _),) = size_step(
        Step(None, None, False, NOTHING, [Entry(counts, True)]), family
    ).estimates
    return tokens, level


def test_a_count_is_better_than_bytes_and_worse_than_a_measurement() -> None:
    assert alone(Counts(3_580, 3_000)) == (21 + 1_000, Level.CALIBRATED)
    assert alone(Counts(3_580, 3_000, o200k=900)) == (926, Level.COUNTED)
    # a count by this tokenizer says nothing of another family's tokens
    assert alone(Counts(4_000, 4_000, o200k=900), CLAUDE_4_6)[1] is Level.CALIBRATED
    assert alone(Counts(4_000, 4_000, o200k=900), None) == (1_000, Level.UNKNOWN)
    measured = Step(1_100, 100, True, NOTHING, [Entry(Counts(3_580, o200k=900), is_result=True)])
    assert size_step(measured, OPENAI).estimates[0][:2] == (1_000, Level.EXACT)


def test_counts_split_an_exact_sum() -> None:
    entries = [Entry(Counts(3_000, o200k=974), True), Entry(Counts(3_000, o200k=474), True)]
    found = size_step(Step(1_600, 100, True, NOTHING, entries), OPENAI).estimates
    assert [(one.tokens, one.level) for one in found] == [(1_000, Level.SPLIT), (500, Level.SPLIT)]


def test_no_text_has_no_tokens_but_its_frame() -> None:
    assert alone(Counts(0, o200k=0)) == (26, Level.COUNTED)


# -- from logs -----------------------------------------------------------------------------------------------

WORDS = "one two three four " * 100


def transcript(folder: Path, model: str) -> Path:
    log = Log("s1")
    log.user("go")
    log.call("a", "Read", {"file_path": "a"}, "m1", usage=(10, 0, 0, 5), model=model)
    log.result("a", WORDS)
    return log.write(folder / "s1.jsonl")


@pytest.mark.usefixtures("stand_in")
def test_results_are_counted_where_their_bytes_are(tmp_path: Path) -> None:
    session = docker_agent.session("s1", docker_agent.read("r1", "a", WORDS, 1))
    for message in session["messages"]:
        inner = message.get("message", {}).get("message", {})
        if inner.get("role") == "assistant":
            inner["model"] = "openai/gpt-5"
    exported = docker_agent.export(tmp_path / "s1.json", session)
    with open_store(":memory:") as store:
        import_paths(store, [transcript(tmp_path / "a", "gpt-5-codex"), exported], environment={})
        found = store.query("select source, o200k_tokens from emission order by all")
        assert found == [("claude_code", 400), ("docker_agent", 400)]
        rows = store.query("select c.tokens, c.level from emission_cost c join emission using (emission_key)")
        assert rows == [(426, 5), (426, 5)]
        assert counted_results(store) == (2, 0)


@pytest.mark.usefixtures("stand_in")
def test_results_of_other_models_are_not(tmp_path: Path) -> None:
    with open_store(":memory:") as store:
        import_paths(store, [transcript(tmp_path, "claude-opus-4-6")], environment={})
        assert store.query("select o200k_tokens from emission") == [(None,)]
        assert counted_results(store) == (0, 0)


def test_forcing_an_import_counts_what_was_read_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = transcript(tmp_path, "gpt-5")
    with open_store(":memory:") as store:
        with monkeypatch.context() as patch:
            patch.setattr(o200k, "is_installed", lambda: False)
            import_paths(store, [path], environment={})
        assert store.query("select c.tokens, c.level from emission_cost c") == [
            (pytest.approx(21 + len(WORDS) / 3.58), 3)
        ]
        assert (calibration(store).counted, calibration(store).uncounted) == (0, 1)
        monkeypatch.setattr(o200k, "is_installed", lambda: True)
        monkeypatch.setattr(o200k, "_encoding", StandIn)
        import_paths(store, [path], environment={})
        assert store.query("select o200k_tokens from emission") == [(None,)]
        import_paths(store, [path], force=True, environment={})
        assert store.query("select o200k_tokens from emission") == [(400,)]
        assert store.query("select c.tokens, c.level from emission_cost c") == [(426, 5)]
        assert calibration(store).uncounted == 0
