"""Constants fitted on the store's own results, from logs to the figures that they change."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from support.pipeline import Log

from dedupstats import import_paths, open_store
from dedupstats.economics.families import Classes, Counts
from dedupstats.history import costs
from dedupstats.history.pricing import price_list
from dedupstats.sources.measure import measure

if TYPE_CHECKING:
    from pathlib import Path

    from dedupstats import Store

MODEL = "claude-sonnet-4-5-20250929"
OWN = Classes(20.0, 0.30, 1.20, 1.50, 0.60, 0.50)
"""what the program behind these logs counts by: within a third of the published constants"""
SESSIONS, STEPS = 22, 15


def counts(text: str) -> Counts:
    found = measure(text)
    return Counts(
        found.bytes, found.letters, found.digits, found.newlines, found.other_ascii, found.non_ascii
    )


def session(number: int, factor: float = 1.0) -> Log:
    """Fifteen results, each alone between two requests; then one behind an answer without a known size."""
    draw = random.Random(number)
    name = f"s{number:02}"
    log = Log(name, prefix=f"{name}-", start=number * 1_000)
    log.user("go")
    prompt = 10_000

    def call(place: int, *, stop: str | None = "tool_use") -> None:
        log.call(
            f"{name}-{place}",
            "Bash",
            {"command": f"{number} {place}"},
            f"{name}-m{place}",
            usage=(0, 0, prompt, 50),
            model=MODEL,
            stop=stop,
        )

    for place in range(STEPS):
        call(place)
        text = "".join(
            draw.choice(("word ", "12 ", "(x);", "line\n", "é")) for _ in range(draw.randint(90, 600))
        )
        log.result(f"{name}-{place}", text)
        prompt += 50 + round(factor * OWN.tokens(counts(text)))
    # the last result is sent by no request: only its characters tell its tokens
    call(STEPS)
    log.result(f"{name}-{STEPS}", "last word 123\n" * 100)
    return log


def logs(folder: Path, *, sessions: int = SESSIONS, factor: float = 1.0) -> list[Path]:
    return [session(number, factor).write(folder / f"s{number:02}.jsonl") for number in range(sessions)]


def fits(store: Store) -> list[tuple[object, ...]]:
    return store.query(
        "select source, family, basis, is_refitted, steps, sessions from calibration_fit order by all"
    )


def last(store: Store) -> list[float]:
    """Tokens of the results that only their characters tell."""
    return [
        tokens
        for (tokens,) in store.query(
            "select c.tokens from emission_cost c join emission e using (emission_key) "
            f"where e.ordinal = {STEPS} and c.level = 3 order by all"
        )
    ]


PUBLISHED = 12.497 + 0.262 * 800 + 0.881 * 300 + 1.016 * 100
"""of the last result by the constants of the sheet: 8 letters, 3 digits, a newline, a hundred times"""
FITTED = 20 + 0.30 * 800 + 1.20 * 300 + 1.50 * 100


@pytest.fixture
def store() -> Store:
    return open_store(":memory:")


def test_enough_results_of_a_family_are_fitted(tmp_path: Path, store: Store) -> None:
    import_paths(store, logs(tmp_path), environment={})
    assert fits(store) == [("claude_code", "Claude up to 4.6", "fitted", True, SESSIONS * STEPS, SESSIONS)]
    ((letter, digit, sheet, refit),) = store.query(
        "select letter, digit, sheet_median_error, refit_median_error from calibration_fit"
    )
    assert (letter, digit) == (pytest.approx(0.30, rel=0.05), pytest.approx(1.20, rel=0.05))
    assert refit < 0.01 < sheet
    # the session's own factor is then about 1
    assert last(store) == [pytest.approx(FITTED, rel=0.02)] * SESSIONS
    # what is measured is measured, whatever the constants
    assert store.query("select count(*) from emission_cost where level = 0") == [(SESSIONS * STEPS,)]


def test_a_session_less_than_enough_keeps_the_published_ones(tmp_path: Path, store: Store) -> None:
    import_paths(store, logs(tmp_path, sessions=19), environment={})
    assert fits(store) == [("claude_code", "Claude up to 4.6", "few", False, 19 * STEPS, 19)]
    assert store.query("select const, letter from calibration_fit") == [(12.497, 0.262)]
    estimates = store.query(
        f"select class_tokens from emission_cost join emission using (emission_key) where ordinal = {STEPS}"
    )
    assert estimates == [(pytest.approx(PUBLISHED),)] * 19


def test_an_import_that_adds_sessions_fits_anew_whatever_the_order(tmp_path: Path) -> None:
    paths = logs(tmp_path)
    found = []
    for parts in ([paths], [paths[:15], paths[15:]], [paths[10:][::-1], paths[:10]]):
        with open_store(":memory:") as store:
            for part in parts:
                import_paths(store, part, environment={})
            found.append(
                (
                    store.query("from calibration_fit order by all"),
                    store.query("from emission_cost order by all"),
                )
            )
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("kept", [0, 200, 100_000])
def test_what_memory_does_not_hold_is_read_again(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch, kept: int
) -> None:
    import_paths(store, logs(tmp_path), environment={})
    tables = ("request_cost", "request_share", "emission_cost", "calibration_fit")
    whole = [store.query(f"from derived.{table} order by all") for table in tables]
    monkeypatch.setattr(costs, "_ROWS", 50)
    monkeypatch.setattr(costs, "_KEPT", kept)
    costs.settle_costs(store, price_list({}))
    assert [store.query(f"from derived.{table} order by all") for table in tables] == whole


def test_made_up_usage_is_not_fitted(tmp_path: Path, store: Store) -> None:
    import_paths(store, logs(tmp_path, factor=0.5), environment={})
    assert fits(store) == [("claude_code", "Claude up to 4.6", "foreign", False, SESSIONS * STEPS, SESSIONS)]
    assert store.query("select const, letter from calibration_fit") == [(12.497, 0.262)]


def test_copies_are_measured_once(tmp_path: Path, store: Store) -> None:
    path = session(0).write(tmp_path / "s00.jsonl")
    copy = tmp_path / "again" / "s00.jsonl"
    copy.parent.mkdir()
    copy.write_bytes(path.read_bytes())
    import_paths(store, [path, copy], environment={})
    assert fits(store) == [("claude_code", "Claude up to 4.6", "few", False, STEPS, 1)]
