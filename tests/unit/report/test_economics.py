"""Tokens and money in the report: computed by hand on one session, refused where nothing can be trusted."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from support.pipeline import Log, write

from dedupstats import import_paths, open_store
from dedupstats.analytics.calibration import calibration
from dedupstats.analytics.window import Window
from dedupstats.economics.families import family_of
from dedupstats.economics.fit import LEAST_BYTES
from dedupstats.history.pricing import VARIABLE
from dedupstats.report import document, html, markdown, outline_economics, terminal
from dedupstats.report.build import build

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dedupstats import Store
    from dedupstats.report.model import Report
    from dedupstats.report.model_economics import Economics, Spending

SAMPLES = Path(__file__).parents[3] / "sample_data"
SONNET = "claude-sonnet-4-5-20250929"
UTC_WINDOW = Window(zone="UTC")


def session(name: str, model: str) -> Log:
    """Prompts of 5,000, 7,000 and 8,000 tokens; results of 1,800 and 900 tokens, sent twice and once."""
    log = Log(name, "/home/u/secret")
    common: dict[str, Any] = {"model": model, "stop": "tool_use"}
    log.user("go")
    log.call(
        f"{name}a",
        "Read",
        {"file_path": "/home/u/secret/plan.md"},
        f"{name}1",
        usage=(10, 4_990, 0, 200),
        **common,
    )
    log.result(f"{name}a", "x" * 6_000)
    log.call(f"{name}b", "Bash", {"command": "b"}, f"{name}2", usage=(10, 2_000, 4_990, 100), **common)
    log.result(f"{name}b", "x" * 1_200)
    log.assistant("done", f"{name}3", usage=(10, 1_000, 6_990, 50), model=model)
    return log


def imported(store: Store, folder: Path, *logs: Log) -> None:
    for log in logs:
        write(folder / f"{log.session}.jsonl", log.rows)
    import_paths(store, [folder], environment={})


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with open_store(":memory:") as opened:
        imported(opened, tmp_path_factory.mktemp("logs"), session("s1", SONNET), session("s2", "private-x"))
        yield opened


def economics(report: Report) -> Economics:
    assert report.economics
    return report.economics


def spending(report: Report) -> Spending:
    found = economics(report).spend
    assert found
    return found


PAID = 10 * 3 * 3 + (4_990 + 2_000 + 1_000) * 3.75 + (4_990 + 6_990) * 0.3
"""millionths of a dollar that the three requests of s1 cost"""


def test_the_block_holds_what_the_requests_recorded(store: Store) -> None:
    found = spending(build(store, window=UTC_WINDOW))

    assert (found.requests, found.unpriced, found.share_of) == (6, 3, "list price")
    assert found.input.tokens == 2 * 20_000
    assert found.input.usd == pytest.approx(PAID / 1e6)
    assert found.output_usd == pytest.approx(350 * 15 / 1e6)
    assert found.floor_tokens == 5_000
    for parts in (found.parts, found.blocks):
        assert sum(part.tokens for part in parts) == pytest.approx(found.input.tokens)
        assert sum(part.share or 0 for part in parts) == pytest.approx(1)
    # Read: written at the second request, read at the third; Bash: written at the third
    assert {part.name: part.tokens for part in found.tools} == pytest.approx(
        {"Read": 3_600 * 2, "Bash": 1_800}
    )
    # s2's model has no tokenizer, its growth measures all the same
    assert found.results.tokens == 2 * 2_700
    assert found.results.requests == pytest.approx(9_000 / 5_400)
    assert sum(level.share for level in found.results.known.levels) == pytest.approx(1)


def test_no_price_is_no_dollar_but_tokens(store: Store) -> None:
    report = build(store, window=Window(models=("private-x",), zone="UTC"))
    found = spending(report)

    assert (found.share_of, found.input.usd, found.again_share) == ("tokens sent", None, None)
    assert found.input.tokens == 20_000
    screen = terminal.short(report)
    assert "INPUT TOKENS sent (no price known)" in screen
    assert "$" not in screen
    assert "3 of 3 requests have no price" in screen


def test_the_first_screen_begins_with_where_tokens_go(store: Store) -> None:
    report = build(store, window=UTC_WINDOW)
    lines = outline_economics.first_lines(spending(report))

    assert lines[0][:2] == ("INPUT COST at list prices", f"${PAID / 1e6:.2g}")
    screen = terminal.short(report)
    assert screen.index("INPUT COST") < screen.index("SHOWN BEFORE")
    for text in (screen, terminal.render(report), markdown.render(report), html.render(report)):
        joined = " ".join(text.replace("\u00a0", " ").split())
        assert "List-price equivalent, not a bill: genai-prices " in joined
        assert "have no price" in joined
    assert terminal.render(report).index("WHERE MY TOKENS GO") < terminal.render(report).index("SHOWN BEFORE")


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_the_block_fits_every_width(sample_report: Report, width: int) -> None:
    block = terminal.short(sample_report, width=width).partition("INPUT COST")[2].partition("SHOWN BEFORE")[0]
    assert max(map(len, block.splitlines())) <= width


def test_the_dearest_results_are_shown_as_all_names_are(store: Store) -> None:
    named = economics(build(store, window=UTC_WINDOW)).dearest
    numbered = build(store, window=UTC_WINDOW, anonymize=True)

    assert named
    first = named.rows[0]
    assert (first.target, first.tool, first.bytes, first.requests) == ("plan.md", "Read", 6_000, 2)
    assert (first.tokens, first.level, first.carried_tokens) == (1_800, 0, 3_600)
    assert first.share == pytest.approx((first.usd or 0) / (PAID / 1e6))
    assert all(row.usd is None for row in named.rows if row.session == "s2")
    text = document.render(numbered)
    assert "plan.md" not in text
    assert "secret" not in text


def test_a_scope_of_tools_says_that_requests_are_not_cut(store: Store) -> None:
    found = spending(build(store, window=Window(tools=("Bash",), zone="UTC")))

    assert [part.name for part in found.tools] == ["Bash"]
    assert found.requests == 6
    assert found.notes[0] == "Of all requests in scope, whatever tools they had called."


def test_the_fit_by_family_is_over_the_rows_of_the_view(sample_store: Path) -> None:
    with open_store(sample_store, read_only=True) as samples:
        found = calibration(samples)
        ((results,),) = samples.query("select sum(results) from calibration")
        rows = samples.query(
            "select e.source, e.model, e.tool, e.bytes, c.tokens, c.class_tokens from emission e "
            "join emission_cost c using (emission_key) "
            "where c.level = 0 and not e.is_copy and e.class <> 'image'"
        )
    assert results
    assert sum(one.steps for one in found.tools) == sum(fit.tested for fit in found.fits) == results
    assert sum(fit.steps for fit in found.fits) == len(rows)
    families: dict[tuple[str, str], list[float]] = {}
    tools: dict[tuple[str, str, str], list[float]] = {}
    for source, model, tool, size, tokens, estimate in rows:
        if size >= LEAST_BYTES:
            family = family_of(model)
            error = abs(estimate / tokens - 1)
            families.setdefault((source, family.name if family else "other models"), []).append(error)
            tools.setdefault((source, model, tool), []).append(error)
    assert {(fit.source, fit.family): fit.median_error for fit in found.fits if fit.tested} == {
        key: pytest.approx(statistics.median(errors)) for key, errors in families.items()
    }
    assert {(one.source, one.model, one.tool): one.median_error for one in found.tools} == {
        key: pytest.approx(statistics.median(errors)) for key, errors in tools.items()
    }
    assert {fit.basis for fit in found.fits} == {"few"}


def test_figures_of_other_prices_are_refused_in_one_line(
    sample_store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text('[[price]]\nmodel = "claude-sonnet-4-6"\ninput = 1.0\noutput = 2.0\n', "utf-8")
    monkeypatch.setenv(VARIABLE, str(prices))
    with open_store(sample_store, read_only=True) as samples:
        report = build(samples, window=UTC_WINDOW)

    found = economics(report)
    assert (found.spend, found.dearest, found.observed, found.calibration) == (None, None, None, None)
    assert found.refused
    assert found.refused.startswith("No figures: prices or rules have changed")
    for text in (terminal.short(report), terminal.render(report), markdown.render(report)):
        assert "prices or rules have changed" in " ".join(text.split())
        assert "$" not in text.replace("&#36;", "$")
    assert document.parse(document.render(report)) == report


def test_without_requests_there_is_no_block(tmp_path: Path) -> None:
    with open_store(tmp_path / "s.duckdb") as alone:
        import_paths(alone, [SAMPLES / "rtk"])
        report = build(alone, window=UTC_WINDOW)
    assert report.economics is None
    assert "INPUT" not in terminal.short(report)


def test_logs_without_usage_say_so(tmp_path: Path) -> None:
    log = Log()
    log.read("t1", "/p/a", "x" * 300)
    for row in log.rows:
        row["message"].pop("usage", None)
    with open_store(":memory:") as alone:
        imported(alone, tmp_path, log)
        report = build(alone, window=UTC_WINDOW)
    assert economics(report).refused == "No usage in these logs: what requests sent is not known."
    assert "Where my tokens go: No usage in these logs" in terminal.short(report)


def test_markers_are_told_in_a_sentence_and_a_table(sample_report: Report) -> None:
    found = economics(sample_report).observed

    assert found
    assert found.sentence == ("3 markers in these logs: 2 text visible, 1 attached; read again after 0 of 3.")
    assert sum(one.markers for one in found.engines) == 3
    assert found.sentence in " ".join(terminal.short(sample_report).split())
    assert '<section id="observed"' in html.render(sample_report)
