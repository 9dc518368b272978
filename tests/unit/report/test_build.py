"""The Report's figures, against values worked out by hand on results whose repeats are known."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.judged import Result, put
from support.pipeline import Log

from dedupstats import import_paths
from dedupstats.analytics.window import Window
from dedupstats.report.build import build
from dedupstats.report.model import RepeatedCalls, Repeats, Report
from dedupstats.report.share import Share
from dedupstats.store import open_store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dedupstats.store import Store

SAMPLES = Path(__file__).parents[3] / "sample_data"
UTC_WINDOW = Window(zone="UTC")
CALL = ("call_session",)
SAME = (*CALL, "repeat_session", "bytes_session")
SEEN = (*SAME, "repeat_in_sight")


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    with open_store(":memory:") as opened:
        yield opened


def built(store: Store, *results: Result, window: Window = UTC_WINDOW, **options: bool) -> Report:
    put(store, results)
    return build(store, window=window, **options)


def test_each_rule_states_part_and_whole_by_results_bytes_and_tokens(store: Store) -> None:
    report = built(store, Result(400), Result(200, SEEN), Result(301, CALL), Result(99, SAME, session="s2"))

    rules = {rule.name: rule for rule in report.rules}
    assert list(rules) == [
        "call-pooled",
        "call-session",
        "repeat-pooled",
        "bytes-session",
        "repeat-session",
        "repeat-turn",
        "repeat-in-sight",
        "changed",
    ]
    # tokens: 100 + 50 + 76 + 25
    assert rules["call-session"].repeats == Repeats(
        Share(3, 4, 0.75), Share(600, 1000, 0.6), Share(151, 251, 151 / 251)
    )
    assert rules["repeat-in-sight"].repeats.bytes == Share(200, 1000, 0.2)
    assert rules["repeat-in-sight"].sessions == Share(1, 2, 0.5)
    # 200 and 99 bytes are below the floor of 256
    assert rules["call-session"].floor.bytes == Share(301, 701, 301 / 701)
    assert {name for name, rule in rules.items() if rule.is_upper_bound} == {
        "call-pooled",
        "call-session",
        "repeat-pooled",
        "bytes-session",
    }
    assert report.headline == (
        "20.0 % of tool-result bytes were repeats still visible to the model (1 of 4 results)."
    )


def test_an_empty_store_has_no_data_and_no_zero_percent(store: Store) -> None:
    report = built(store)

    assert report.headline == "No tool results: no data."
    assert {rule.repeats.bytes.share for rule in report.rules} == {None}
    assert [spread.median for spread in report.sessions] == [None, None, None]
    assert report.concentration.top == ()
    assert report.concentration.without_top is None
    assert report.rtk is None


def test_a_tool_without_bytes_has_no_share(store: Store) -> None:
    report = built(store, Result(100), Result(0, tool="Quiet", klass="empty"))

    quiet = report.tools.rows[1]
    assert quiet.bytes == Share(0, 100, 0.0)
    assert quiet.repeats["call-session"].bytes == Share(0, 0, None)
    assert quiet.repeats["call-session"].results == Share(0, 1, 0.0)


def test_sessions_without_repeats_belong_to_the_distribution(store: Store) -> None:
    # fault case S11: shares 0, 0 and 60 %
    report = built(
        store,
        Result(100, session="a"),
        Result(100, session="b"),
        Result(40, session="c"),
        Result(60, SEEN, session="c"),
    )

    spread = report.sessions[-1]
    assert spread.rule == "repeat-in-sight"
    assert (spread.median, spread.max) == (0.0, 0.6)
    assert spread.p90 == pytest.approx(0.48)
    assert spread.with_any == Share(1, 3, 1 / 3)
    assert spread.values == (0.0, 0.0, 0.6)


def test_concentration_names_the_heaviest_sessions_and_what_is_left_without_them(store: Store) -> None:
    # fault case S07: a few rows are the whole sum
    light = [Result(10, SEEN, session=f"light-{number}") for number in range(9)]
    report = built(store, *light, Result(910, SEEN, session="heavy-session-id"), Result(500))

    found = report.concentration
    assert found.rule == "repeat-in-sight"
    assert found.top[0].name == "heavy-se"
    assert found.top[0].of_repeats == Share(910, 1000, 0.91)
    assert found.top[0].repeats == Share(910, 910, 1.0)
    assert found.cumulated["3"] == Share(930, 1000, 0.93)
    assert found.without_top == Share(90, 590, 90 / 590)


def test_concentration_speaks_of_the_strictest_rule_that_has_any_repeat(store: Store) -> None:
    assert built(store, Result(10), Result(10, CALL)).concentration.rule == "call-session"


def test_tools_beyond_the_table_are_summed(store: Store) -> None:
    results = [Result(1000 - number, SEEN, tool=f"tool-{number:02}") for number in range(15)]
    tools = built(store, *results).tools

    assert len(tools.rows) == 15
    assert tools.rows[0].name == "tool-00"
    assert tools.shown == 12
    assert tools.others is not None
    assert tools.others.name == "3 other tools"
    assert tools.others.bytes.part == 988 + 987 + 986
    assert tools.others.repeats["repeat-in-sight"].results == Share(3, 3, 1.0)


def test_days_are_days_of_the_time_zone(store: Store) -> None:
    # fault case T01
    report = built(store, Result(at="2026-01-25T04:08:00Z"), window=Window(zone="America/Los_Angeles"))

    (period,) = report.over_time.periods
    assert (report.over_time.unit, period.label, period.begins) == ("day", "2026-01-24", "2026-01-24")
    assert report.corpus.dates == "24 Jan 2026"


@pytest.mark.parametrize(
    ("last", "unit", "labels"),
    [
        ("2026-01-20T12:00:00Z", "day", ["2026-01-01", "2026-01-20"]),
        ("2026-03-01T12:00:00Z", "week", ["2026-W01", "2026-W09"]),
        ("2027-06-01T12:00:00Z", "month", ["2026-01", "2027-06"]),
    ],
)
def test_long_histories_are_cut_in_longer_periods(
    store: Store, last: str, unit: str, labels: list[str]
) -> None:
    report = built(store, Result(at="2026-01-01T12:00:00Z"), Result(at=last))

    assert report.over_time.unit == unit
    assert [period.label for period in report.over_time.periods] == labels


def test_undated_results_are_counted_and_in_no_period(store: Store) -> None:
    report = built(store, Result(at=None), Result())

    assert report.corpus.results == 2
    assert report.over_time.undated == 1
    assert sum(period.results for period in report.over_time.periods) == 1


def test_a_window_cuts_results_and_names_itself(store: Store) -> None:
    window = Window(since=datetime(2026, 2, 1, tzinfo=UTC), tools=("Read",), zone="UTC")
    report = built(
        store, Result(at="2026-01-31T00:00:00Z"), Result(200, at="2026-02-01T00:00:00Z"), window=window
    )

    assert report.corpus.results == 1
    assert report.corpus.bytes == 200
    assert report.scope.filters == (("from", "2026-02-01 00:00 (UTC)"), ("tool", "Read"))
    assert (
        report.reproduce.command == "dedupstats report --tz UTC --since 2026-02-01T00:00:00+00:00 --tool Read"
    )


def test_classes_and_errors_are_told_apart(store: Store) -> None:
    report = built(
        store,
        Result(100),
        Result(50, klass="image"),
        Result(30, is_error=True),
        Result(20, klass="truncated"),
    )

    assert [(found.name, found.results.part, found.can_repeat) for found in report.classes] == [
        ("text", 2, True),
        ("truncated", 1, True),
        ("image", 1, False),
        ("errors", 1, False),
    ]


def test_copies_stand_beside_the_results(store: Store) -> None:
    report = built(store, Result(100), Result(100, is_copy=True), Result(100, agent="x", kind="agent"))

    assert (report.corpus.results, report.corpus.copies, report.corpus.subagents) == (2, 1, 1)
    assert [(found.kind, found.results, found.copies) for found in report.corpus.contexts] == [
        ("main", 1, 1),
        ("agent", 1, 0),
    ]


def test_versions_are_in_their_natural_order(store: Store) -> None:
    versions = ("2.0.14", "2.0.9", "1.0.100")
    report = built(store, *(Result(version=version) for version in versions))

    assert list(report.corpus.sources[0].versions) == ["1.0.100", "2.0.9", "2.0.14"]


def projects(report: Report) -> list[str]:
    return sorted(top.project for top in report.concentration.top)


def test_projects_are_shown_by_their_last_part_unless_asked_otherwise(store: Store) -> None:
    results = (
        Result(100, SEEN, project="/home/u/secret/app", session="a"),
        Result(90, SEEN, project="/home/u/other/app", session="b"),
        Result(80, SEEN, project=r"C:\work\lib", session="c"),
        Result(70, SEEN, project=None, session="d"),
    )

    assert projects(built(store, *results)) == ["lib", "other/app", "secret/app", "unknown"]
    assert projects(built(store, *results, full_paths=True))[:2] == [
        "/home/u/other/app",
        "/home/u/secret/app",
    ]


def test_anonymised_names_are_numbers_and_the_same_project_has_one(store: Store) -> None:
    results = (
        Result(100, SEEN, project="/home/u/secret", session="session-of-mine"),
        Result(100, SEEN, project="/home/u/alpha", session="the-first"),
        Result(100, SEEN, project="/srv/secret", session="the-last"),
    )
    whole = built(store, *results, anonymize=True)
    assert whole.scope.names == "numbered"
    assert {top.name: top.project for top in whole.concentration.top} == {
        "session-1": "project-2",
        "session-2": "project-1",
        "session-3": "project-3",
    }
    # typed by its last part, a filter means both projects
    for asked, meant in (("/home/u/secret", ["project-2"]), ("secret", ["project-2", "project-3"])):
        cut = built(store, *results, window=Window(projects=(asked,), zone="UTC"), anonymize=True)
        assert cut == built(store, *results, window=Window(projects=(asked,), zone="UTC"), anonymize=True)
        assert [value for what, value in cut.scope.filters if what == "project"] == meant
        assert projects(cut) == meant
        assert f"--project {meant[0]} " in cut.reproduce.command
        assert [name for name in ("secret", "alpha", "of-mine", "the-") if name in repr(cut.scope)] == []
        assert "secret" not in repr(cut.concentration)
        assert "secret" not in repr(cut.reproduce)


def test_the_samples_give_the_published_rates_and_add_up(sample_store: Path) -> None:
    with open_store(sample_store, read_only=True) as store:
        report = build(store, window=UTC_WINDOW)
        assert build(store, window=UTC_WINDOW) == report

    assert report.rtk is not None
    bounds = {bound.name: bound for bound in report.rtk.bounds}
    assert bounds["M"].commands == Share(537, 943, 537 / 943)
    assert bounds["M"].tokens.share == pytest.approx(0.485, abs=5e-4)
    assert bounds["M-reads"].commands.share == pytest.approx(0.69, abs=5e-3)
    for row in report.accounting.records:
        assert row.records == row.used + row.copies + row.ignored + row.skipped
    assert sum(source.results for source in report.corpus.sources) == report.corpus.results
    assert sum(period.results for period in report.over_time.periods) == report.corpus.results
    assert sum(kind.copies for kind in report.corpus.contexts) == report.corpus.copies
    assert report.corpus.skipped == len(report.accounting.skipped) == 1
    assert report.accounting.skipped[0].path.endswith(".jsonl")
    assert "/" not in report.accounting.skipped[0].path


def test_rtk_can_be_asked_for_alone(sample_store: Path) -> None:
    with open_store(sample_store, read_only=True) as store:
        alone = build(store, window=Window(sources=("rtk",), zone="UTC"))
        without = build(store, window=Window(tools=("Read",), zone="UTC"))

    assert (alone.corpus.results, alone.rtk is None) == (0, False)
    assert without.rtk is None
    assert any("RTK's rows are left out" in note for note in without.corpus.notes)


def test_reading_again_in_another_order_changes_nothing(sample_store: Path, tmp_path: Path) -> None:
    with open_store(tmp_path / "again.duckdb") as store:
        for folder in ("rtk", "docker_agent", "claude_code"):
            import_paths(store, [SAMPLES / folder])
        again = build(store, window=UTC_WINDOW)
    with open_store(sample_store, read_only=True) as store:
        assert build(store, window=UTC_WINDOW) == again


def test_the_headline_names_its_scope(store: Store) -> None:
    results = (Result(300, tool="Read"), Result(100, SEEN, tool="Read"), Result(600, tool="Bash"))
    window = Window(tools=("Read",), projects=("p",), zone="UTC")

    assert built(store, *results, window=window).headline == (
        "In this scope (project p, tool Read): 25.0 % of tool-result bytes were repeats still visible to the "
        "model (1 of 2 results)."
    )
    assert built(store, *results).headline.startswith("10.0 % of tool-result bytes")


def test_rtk_alone_opens_with_its_own_figures(sample_store: Path) -> None:
    with open_store(sample_store, read_only=True) as opened:
        report = build(opened, window=Window(sources=("rtk",), zone="UTC"))

    assert report.headline == (
        "In this scope (agent RTK): of 943 RTK commands, 56.9 % repeat a command line, with 48.5 % of the "
        "tokens shown: an upper bound, whatever came back."
    )


def test_what_holds_copies_alone_is_no_subagent_and_no_session(store: Store) -> None:
    report = built(
        store,
        Result(100, SEEN, agent="x", kind="agent"),
        # the same subagent of another folder, and a session that a resume began and nobody went on with
        Result(100, agent="y", kind="agent", is_copy=True),
        Result(100, session="s2", project="/q", is_copy=True),
    )

    corpus = report.corpus
    assert (corpus.sessions, corpus.subagents, corpus.projects, corpus.copies) == (1, 1, 1, 2)
    agents = {found.kind: found for found in corpus.contexts}["agent"]
    assert (agents.contexts, agents.with_results, agents.results, agents.copies) == (2, 1, 1, 1)
    assert {rule.sessions.whole for rule in report.rules} == {1}


def test_logs_read_from_a_second_folder_change_no_count_but_copies(tmp_path: Path) -> None:
    samples = SAMPLES / "claude_code"
    again = tmp_path / "again"
    shutil.copytree(samples, again)
    with open_store(tmp_path / "s.duckdb") as opened:
        import_paths(opened, [samples])
        once = build(opened, window=UTC_WINDOW)
        import_paths(opened, [again])
        twice = build(opened, window=UTC_WINDOW)

    assert twice.corpus.copies > once.corpus.copies
    for name in ("sessions", "subagents", "projects", "results", "bytes", "boundaries"):
        assert getattr(twice.corpus, name) == getattr(once.corpus, name), name
    for before, after in zip(once.corpus.contexts, twice.corpus.contexts, strict=True):
        assert (before.contexts, before.with_results) == (after.contexts, after.with_results)
    assert twice.headline == once.headline
    assert twice.calls == once.calls


def test_the_calls_repeated_most_come_with_their_targets(tmp_path: Path) -> None:
    log = Log()
    for number in range(3):
        log.read(f"r{number}", "/home/u/secret/app.py", "x" * 400)
    log.bash("b1", "TOKEN=abc git log --all", "y" * 300)
    log.bash("b2", "TOKEN=abc git log --all", "y" * 300)
    log.read("r9", "/home/u/secret/once.py", "z" * 900)
    log.write(tmp_path / "p" / "s.jsonl")
    with open_store(tmp_path / "s.duckdb") as opened:
        import_paths(opened, [tmp_path / "p"])
        plain = build(opened, window=UTC_WINDOW)
        hidden = build(opened, window=UTC_WINDOW, anonymize=True)
        whole = build(opened, window=UTC_WINDOW, full_paths=True)

    assert plain.calls == (
        RepeatedCalls("Read", "app.py", 2, Share(800, 1100, 800 / 1100), Share(800, 800, 1.0)),
        RepeatedCalls("Bash", "git …", 1, Share(300, 1100, 300 / 1100), Share(300, 300, 1.0)),
    )
    assert [found.target for found in hidden.calls] == ["file-1", "(command)"]
    assert [found.target for found in whole.calls] == ["/home/u/secret/app.py", "TOKEN=abc git log --all"]
