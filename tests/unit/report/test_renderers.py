"""What people read: the same figures in every output, foreign names harmless, room kept."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING

import pytest
from rich.cells import cell_len
from support.judged import Result, put

from dedupstats.analytics.window import Window
from dedupstats.report import charts, document, html, markdown, outline, terminal
from dedupstats.report.build import build
from dedupstats.store import open_store

if TYPE_CHECKING:
    from pathlib import Path

    from dedupstats.report.model import Report

SEEN = ("call_session", "repeat_session", "bytes_session", "repeat_in_sight")
HOSTILE = (
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "a|b`c<img src=x>@team #12",
    "a\x1b[2J\x1b]0;pwned\x07b\rc\nd",
    "a\u202egpj.exe",
    "مشروع",
    "mcp__" + "x" * 115,
    "app/[id]/page.tsx",
    "var(--ink)",
    "<b>bold</b><br>",
)


@pytest.fixture(scope="module")
def hostile_report() -> Report:
    results = [
        Result(1000 - number, SEEN, tool=name, project=f"/p/{name}", session=f"s{number}")
        for number, name in enumerate(HOSTILE)
    ]
    with open_store(":memory:") as store:
        put(store, results)
        return build(store, window=Window(zone="UTC"))


class Page(HTMLParser):
    """Elements and texts of a page, and what its scripts hold."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.scripts: list[str] = []
        self._open = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._open = tag
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        del tag
        self._open = ""

    def handle_data(self, data: str) -> None:
        if self._open == "script":
            self.scripts[-1] += data
        else:
            self.words.append(data)


def test_every_output_tells_the_same_shares(sample_report: Report) -> None:
    # 24 of 224 results, and the median over sessions (fault case S10)
    median = terminal.percent(sample_report.sessions[-1].median)
    for text in (
        terminal.render(sample_report),
        terminal.short(sample_report),
        markdown.render(sample_report),
        html.render(sample_report).replace("\u00a0", " "),
    ):
        joined = " ".join(text.split())
        assert "24 of 224" in joined
        assert median in joined
    assert '"part": 24' in document.render(sample_report)


def test_outputs_are_the_same_bytes_each_time(sample_report: Report) -> None:
    read_back = document.parse(document.render(sample_report))
    for render in (terminal.render, terminal.short, markdown.render, html.render, document.render):
        assert render(sample_report) == render(read_back)


def test_no_output_promises_anything(sample_report: Report) -> None:
    page = html.render(sample_report)
    for text in (
        *(render(sample_report) for render in (terminal.render, terminal.short, markdown.render)),
        document.render(sample_report),
        page[: page.index("<script>")],
    ):
        assert "forecast" not in text.lower().replace("replayed, not a forecast", "")


def test_an_empty_report_says_no_data_and_never_zero_percent() -> None:
    with open_store(":memory:") as store:
        report = build(store, window=Window(zone="UTC"))

    for text in (
        terminal.render(report),
        terminal.short(report),
        markdown.render(report),
        html.render(report),
        terminal.demo(report, ["r.html"], "skipped.csv"),
    ):
        assert "0 %" not in text
        assert "0.0 %" not in text
        assert "nan" not in text.lower()
    assert "No tool results" in terminal.short(report)
    assert html.render(report).count("<script") == 0


# -- terminal ------------------------------------------------------------------------------------------------


def test_the_screens_fit_80_columns_and_one_page(sample_report: Report) -> None:
    for screen in (
        terminal.short(sample_report, width=80),
        terminal.demo(sample_report, ["out/report.html", "out/report.md"], "out/skipped.csv", width=80),
    ):
        assert max(cell_len(line) for line in screen.splitlines()) <= 80
        assert screen.count("\n") <= 40
    assert max(map(cell_len, terminal.render(sample_report, width=80).splitlines())) <= 80


def test_long_names_are_whole_in_a_pipe_and_cut_on_a_terminal(hostile_report: Report) -> None:
    assert HOSTILE[6] in terminal.short(hostile_report) + terminal.render(hostile_report)
    assert max(map(cell_len, terminal.short(hostile_report, width=80).splitlines())) <= 80


def test_control_characters_stay_visible_and_on_their_row(hostile_report: Report) -> None:
    for text in (terminal.render(hostile_report), terminal.short(hostile_report, width=80)):
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f\u202e]", text)
    assert r"a\x1b[2J\x1b]0;pwned\x07b\rc\nd" in terminal.render(hostile_report)


def test_colour_only_where_it_is_wanted(sample_report: Report) -> None:
    assert "\x1b" not in terminal.render(sample_report)
    assert "\x1b[1m" in terminal.render(sample_report, colour=True)


def test_the_demo_screen_says_whose_logs_these_are(sample_report: Report) -> None:
    screen = terminal.demo(sample_report, ["out/report.html", "out/report.md"], "out/skipped.csv", width=80)

    assert screen.startswith("dedupstats demo: made-up logs from sample_data/, not yours.")
    assert "9 Claude Code sessions, 3 docker-agent sessions, 1 RTK database" in screen
    assert re.search(r"RTK's own measure: same command line, any time \* +537 of 943 +48\.5 %", screen)
    assert "Written    out/report.html  out/report.md (for a pull request)" in screen


# -- Markdown ------------------------------------------------------------------------------------------------


def test_brief_markdown_is_the_beginning_of_the_whole(sample_report: Report) -> None:
    brief = markdown.render(sample_report, brief=True)

    assert markdown.render(sample_report).startswith(brief.rstrip("\n"))
    assert brief.startswith("## docker-agent v3 on 12 sessions of agent history: 6.2 % of ")
    assert brief.count("\n") <= 13
    assert "| **Logs: the same, and still visible to the model** | **24 of 224** |" in brief


def test_folds_are_closed_and_apart_from_their_markdown(sample_report: Report) -> None:
    text = markdown.render(sample_report)

    assert text.count("<details>") == text.count("</details>") == text.count("</summary>\n\n")
    assert text.count("<details>") >= 5


def test_foreign_names_make_no_markup_in_markdown(hostile_report: Report) -> None:
    text = markdown.render(hostile_report)

    allowed = {"<details>", "</details>", "<summary>", "</summary>"}
    assert set(re.findall(r"<[^>]*>", text)) == allowed
    assert "@team" not in text
    assert "\x1b" not in text
    rows = [line for line in text.splitlines() if "&#8203;team" in line]
    assert rows
    assert all(len(re.findall(r"(?<!\\)\|", row)) in {7, 8} for row in rows)


# -- HTML ----------------------------------------------------------------------------------------------------


def test_foreign_names_make_no_elements(hostile_report: Report, sample_report: Report) -> None:
    hostile, plain = Page(html.render(hostile_report)), Page(html.render(sample_report))

    assert {tag for tag, _ in hostile.elements} <= {tag for tag, _ in plain.elements}
    assert sum(tag == "script" for tag, _ in hostile.elements) == 3
    handlers = [name for _, attributes in hostile.elements for name in attributes if name.startswith("on")]
    assert handlers == []
    shown = "".join(hostile.words)
    assert all(name in shown for name in (*HOSTILE[:3], HOSTILE[5], HOSTILE[6]))
    assert r"a\u202egpj.exe" in shown


def test_only_the_scripts_of_the_page_may_run(hostile_report: Report) -> None:
    page = Page(html.render(hostile_report))

    policy = next(
        attributes["content"]
        for tag, attributes in page.elements
        if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy"
    )
    figures, *scripts = page.scripts
    hashes = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    assert policy is not None
    allowed = " ".join(f"'sha256-{digest}'" for digest in hashes)
    assert f"default-src 'none'; script-src {allowed};" in policy
    assert "connect-src 'none'" in policy
    assert set(json.loads(figures)) == {
        "chart-tools",
        "chart-sessions",
        "chart-over-time",
        "chart-ladder-rtk",
    }


def test_nothing_in_the_page_points_elsewhere(sample_report: Report) -> None:
    page = Page(html.render(sample_report))

    for tag, attributes in page.elements:
        assert tag not in {"link", "img", "iframe", "base", "object", "embed"}
        assert "src" not in attributes
        assert attributes.get("href", "#").startswith("#")  # type: ignore[union-attr]


def test_tables_have_heads_and_charts_have_words(sample_report: Report) -> None:
    page = Page(html.render(sample_report))
    tags = [tag for tag, _ in page.elements]

    assert tags.count("table") == tags.count("caption") == tags.count("thead") > 10
    assert all("scope" in attributes for tag, attributes in page.elements if tag == "th")
    drawn = [attributes for _, attributes in page.elements if attributes.get("role") == "img"]
    assert len(drawn) == tags.count("figcaption") == 5
    assert all("%" in (attributes["aria-label"] or "") for attributes in drawn)


# -- charts --------------------------------------------------------------------------------------------------


def test_bars_are_the_shares_of_the_table(sample_report: Report) -> None:
    drawn = {chart.key: chart for chart in charts.charts(sample_report)}

    bars = drawn["tools"].figure["data"]
    assert [bar["name"] for bar in bars] == [
        "same call (upper bound)",
        "same call, same bytes",
        "still visible",
    ]
    shown = sample_report.tools.rows[: sample_report.tools.shown]
    assert list(bars[2]["x"]) == [tool.repeats["repeat-in-sight"].bytes.share for tool in shown]
    # each bar lies within the one before
    assert all(inner <= outer for inner, outer in zip(bars[2]["x"], bars[1]["x"], strict=True))


def test_steps_end_at_all_sessions(sample_report: Report) -> None:
    drawn = {chart.key: chart for chart in charts.charts(sample_report)}

    for line, spread in zip(drawn["sessions"].figure["data"], sample_report.sessions, strict=True):
        assert line["x"][0] == 0
        # those without any repeat stand at 0
        assert line["y"][0] == pytest.approx(spread.values.count(0.0) / spread.sessions)
        assert (line["x"][-1], line["y"][-1]) == (spread.max, 1.0)


def test_a_waterfall_ends_where_its_steps_lead(sample_report: Report) -> None:
    drawn = {chart.key: chart for chart in charts.charts(sample_report)}
    assert sample_report.replay is not None

    for policy in sample_report.replay.headlines:
        (trace,) = drawn[f"ladder-{policy.policy}"].figure["data"]
        *steps, last = trace["x"]
        assert sum(steps) == last == policy.saved.part
        assert list(trace["measure"]) == ["relative"] * len(steps) + ["total"]


def test_labels_are_literal_and_short(hostile_report: Report) -> None:
    drawn = {chart.key: chart for chart in charts.charts(hostile_report)}

    labels = drawn["tools"].figure["layout"]["yaxis"]["ticktext"]
    assert len(labels) == len(HOSTILE)
    assert not any("<" in label for label in labels)
    assert max(len(label.replace("&lt;", "<").replace("&gt;", ">")) for label in labels) <= 26


def test_days_without_results_are_gaps_with_even_ticks() -> None:
    days = ("2026-01-01", "2026-01-02", "2026-01-09")
    with open_store(":memory:") as store:
        put(store, [Result(100, at=f"{day}T12:00:00Z") for day in days])
        report = build(store, window=Window(zone="UTC"))

    (chart,) = [chart for chart in charts.charts(report) if chart.key == "over-time"]
    assert [list(bar["x"]) for bar in chart.figure["data"]] == [[0, 1, 8]] * 3
    axis = chart.figure["layout"]["xaxis"]
    assert list(axis["tickvals"]) == [0, 3, 6]
    assert list(axis["ticktext"]) == ["2026-01-01", "2026-01-04", "2026-01-07"]


def test_counts_of_the_whole_store_say_so_in_a_cut_report(sample_store: Path) -> None:
    with open_store(sample_store, read_only=True) as store:
        cut = build(store, window=Window(projects=("tansy",), zone="UTC"))
        whole = build(store, window=Window(zone="UTC"))

    for render in (terminal.render, terminal.short, markdown.render):
        assert "1 record skipped in the whole store." in " ".join(render(cut).split())
        assert "1 record skipped." in " ".join(render(whole).split())
    assert "All files of the whole store, whatever the scope." in " ".join(terminal.render(cut).split())


def test_each_rule_in_words_has_its_name_beside_it(sample_report: Report) -> None:
    for text in (
        terminal.short(sample_report),
        terminal.demo(sample_report, [], ""),
        markdown.render(sample_report, brief=True),
    ):
        for rule in ("call-session", "repeat-session", "repeat-in-sight"):
            assert rule in text
    assert "same bytes, still visible" not in terminal.short(sample_report)


def test_the_ladder_of_rtk_only_goes_down(sample_report: Report) -> None:
    section = next(found for found in outline.outline(sample_report) if found.key == "rtk")
    ladder, beside = section.tables

    commands = [int(row[1].split()[0]) for row in ladder.rows]
    assert commands == sorted(commands, reverse=True)
    assert {row[1].split()[2] for row in ladder.rows} == {"943"}
    assert [row[0].split(":")[0] for row in beside.rows if "reads" in row[0]] == ["reads alone"]
    # rtk.md: `rtk proxy` and `rtk bypass`
    assert any("Counted apart: 9 runs" in note for note in section.notes)


def test_no_two_rows_of_a_narrow_table_are_cut_to_the_same_name(sample_store: Path) -> None:
    with open_store(sample_store, read_only=True) as store:
        report = build(store, window=Window(zone="UTC"))

    lines = terminal.render(report, width=80).splitlines()
    assert "docker-agent v1, as its        9     8       1  1,886 (6.2 %)     $0.013 (0.5 %)" in lines
    assert not [line for line in lines if line.startswith("docker-agen…")]
    assert all(len(line) <= 80 for line in lines)


def test_the_first_screen_says_when_tokens_are_bytes_by_four(sample_store: Path) -> None:
    with open_store(sample_store, read_only=True) as store:
        report = build(store, window=Window(zone="UTC"), tokens="bytes4")

    said = " ".join(terminal.short(report).split())
    assert "Saved, true ones less their markers: of 30,200 tokens (bytes / 4, rounded up)." in said
