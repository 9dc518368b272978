"""The HTML report in a browser: charts drawn, nothing requested, no sideways scrolling on a phone."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.judged import Result, put

from dedupstats import import_paths
from dedupstats.analytics.compactions import Compactions
from dedupstats.analytics.context import Arrived, Curve, Mark, Point, SessionContexts
from dedupstats.analytics.window import Window
from dedupstats.report import context_page, html
from dedupstats.report.build import build
from dedupstats.store import open_store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, ConsoleMessage, Page, Request

SAMPLES = Path(__file__).parents[2] / "sample_data"
SEEN = ("call_session", "repeat_session", "bytes_session", "repeat_in_sight")
SCRIPT = "</script><script>alert(1)</script>"
LONG = "x" * 120
OVERRIDE = "a\u202egpj.exe"
ARABIC = "مشروع"
PLOTLY_MARKUP = "<b>bold</b>"
NAMES = (SCRIPT, LONG, OVERRIDE, ARABIC, PLOTLY_MARKUP, "var(--ink)", "Read", "Bash")


def chromium() -> str | None:
    """A browser of this machine: CHROMIUM, or one found on the path."""
    candidates = (os.environ.get("CHROMIUM"), "chromium", "chromium-browser", "google-chrome")
    return next((path for name in candidates if name and (path := shutil.which(name))), None)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    executable = chromium()
    if executable is None:
        pytest.skip("no chromium found; install one or name it in CHROMIUM")
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with api.sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        yield running
        running.close()


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    results = [
        Result(
            4000 - number,
            SEEN if number % 2 else ("call_session",),
            tool=name,
            session=f"s{number}",
            project=f"/p/{name}",
            at=f"2026-01-{number + 1:02}T12:00:00Z",
        )
        for number, name in enumerate(NAMES)
    ]
    with open_store(":memory:") as store:
        put(store, results)
        report = build(store, window=Window(zone="UTC"))
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(html.render(report), "utf-8")
    return path


class Seen:
    """What a page did while it was open."""

    def __init__(self, page: Page) -> None:
        self.requests: list[str] = []
        self.faults: list[str] = []
        page.on("request", self._request)
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.faults.append(str(error)))
        page.on("dialog", lambda dialog: self.faults.append(f"dialog: {dialog.message}"))

    def _request(self, request: Request) -> None:
        self.requests.append(request.url)

    def _console(self, message: ConsoleMessage) -> None:
        self.faults.append(f"{message.type}: {message.text}")


def opened(browser: Browser, file: Path, width: int, scheme: str = "light") -> tuple[Page, Seen]:
    context = browser.new_context(
        viewport={"width": width, "height": 844},
        color_scheme=scheme,  # type: ignore[arg-type]
        offline=True,
    )
    page = context.new_page()
    seen = Seen(page)
    page.goto(file.as_uri())
    page.wait_for_function("document.querySelectorAll('.chart .main-svg').length >= 3", timeout=60_000)
    page.evaluate("document.querySelectorAll('details').forEach((fold) => { fold.open = true; })")
    return page, seen


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1280, "light")])
def test_the_page_draws_its_charts_and_asks_nobody(
    browser: Browser, page_file: Path, width: int, scheme: str
) -> None:
    page, seen = opened(browser, page_file, width, scheme)

    assert seen.requests == [page_file.as_uri()]
    assert seen.faults == []
    for key, marks in (("tools", 3 * len(NAMES)), ("over-time", 3 * len(NAMES))):
        assert page.locator(f"#chart-{key} .bars .point").count() == marks
    assert page.locator("#chart-sessions .scatterlayer .js-line").count() == 3
    # the upper bound, seven steps, the markers, what is saved
    assert page.locator("#chart-ladder-rtk .waterfalllayer .point").count() == 10
    page.context.close()


def test_the_page_never_scrolls_sideways(browser: Browser, page_file: Path) -> None:
    # fault case U14: a name of 120 characters without a break
    page, _ = opened(browser, page_file, 390)

    for width in (390, 320, 768):
        page.set_viewport_size({"width": width, "height": 844})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.context.close()


BEYOND = """() => [...document.querySelectorAll("main *")]
    .filter((one) => !one.closest(".chart") && one.getBoundingClientRect().right > window.innerWidth + 1)
    .map((one) => `${one.closest("section").id}: ${one.textContent.slice(0, 60)}`)
"""
"""what stands beyond the right edge, or would have to be scrolled to inside its box; charts aside"""


@pytest.fixture(scope="module")
def sample_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with open_store(":memory:") as store:
        import_paths(store, [SAMPLES], environment={})
        report = build(store, window=Window(zone="UTC"))
    path = tmp_path_factory.mktemp("sample") / "report.html"
    path.write_text(html.render(report), "utf-8")
    return path


@pytest.mark.parametrize("width", [320, 390, 1280])
def test_every_cell_is_within_the_screen(
    browser: Browser, sample_file: Path, page_file: Path, width: int
) -> None:
    for file in (sample_file, page_file):
        page, _ = opened(browser, file, width)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate(BEYOND) == []
        # the first block: where tokens go, with the share of each part
        first = page.locator("main section").first
        for cell in first.locator("td, tbody th").all():
            box = cell.bounding_box()
            assert box is not None
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= width
        page.context.close()


def test_a_cell_without_a_heading_above_it_names_its_column(browser: Browser, sample_file: Path) -> None:
    page, _ = opened(browser, sample_file, 390)
    for table in page.locator(".scroll").all():
        labels = table.locator("thead th").evaluate_all(
            "(heads) => heads.slice(1).map((one) => one.textContent)"
        )
        row = table.locator("tbody tr").first.locator("td")
        assert row.evaluate_all("(cells) => cells.map((one) => one.dataset.label)") == labels
        are_figures = row.evaluate_all("(cells) => cells.every((one) => one.className === 'number')")
        assert table.locator("thead").is_visible() == (are_figures and len(labels) <= 4)
    page.context.close()


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1280, "light")])
def test_the_page_of_a_context_draws_its_curves_and_asks_nobody(
    browser: Browser, tmp_path: Path, width: int, scheme: str
) -> None:
    results = tuple(Arrived(number, name, LONG, 900.0, 0, False) for number, name in enumerate(NAMES))
    points = tuple(
        Point(number, number, None, "m", 1_000.0 * number, True, 100.0, results) for number in range(1, 40)
    )
    marks = (Mark("compaction", "auto", 7, None, 9), Mark("clear", None, 9, None, 40))
    curves = tuple(
        Curve(key, "main", None, LONG, points, marks, {0: 1.0}, 0, 0, Compactions()) for key in (1, 2, 3)
    )
    found = SessionContexts(
        SCRIPT, "claude_code", None, "p", 3, curves, Compactions(1, reproduced=1, contexts=1)
    )
    file = tmp_path / "context.html"
    file.write_text(context_page.render(found, full_paths=True), "utf-8")
    page, seen = opened(browser, file, width, scheme)

    assert seen.requests == [file.as_uri()]
    assert seen.faults == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    # prompts, and those under the policy
    assert page.locator("#chart-context-1 .scatterlayer .js-line").count() == 2
    assert page.locator("#chart-context-1 .bars .point").count() == len(points)
    assert page.locator("#chart-context-1 .scatterlayer .points path").count() == len(marks)
    page.context.close()


def test_foreign_names_are_shown_as_they_are(browser: Browser, page_file: Path) -> None:
    # fault cases U07 and U13
    page, seen = opened(browser, page_file, 1280)

    shown = page.locator("#tools tbody th").all_inner_texts()
    assert sorted(shown) == sorted([SCRIPT, LONG, r"a\u202egpj.exe", *NAMES[3:]])
    labels = "\n".join(page.locator("#chart-tools .ytick text").all_text_contents())
    assert PLOTLY_MARKUP in labels
    assert "</script>" in labels
    assert "var(--ink)" in labels
    assert page.locator("script").count() == 3
    direction = page.locator("#tools tbody th bdi", has_text=ARABIC).evaluate(
        "(element) => getComputedStyle(element).direction"
    )
    assert direction == "rtl"
    assert seen.faults == []
    page.context.close()


def test_hovering_tells_the_numbers(browser: Browser, page_file: Path) -> None:
    page, _ = opened(browser, page_file, 1280)

    page.locator("#chart-tools").scroll_into_view_if_needed()
    page.locator("#chart-tools .bars .point path").first.hover(force=True)
    hover = page.locator("#chart-tools .hoverlayer")
    page.wait_for_function("document.querySelector('#chart-tools .hoverlayer .hovertext') !== null")
    assert "4.00 kB of 4.00 kB" in (hover.text_content() or "")
    assert "</script>" in (hover.text_content() or "")
    page.context.close()


def test_colours_follow_the_reader(browser: Browser, page_file: Path) -> None:
    page, _ = opened(browser, page_file, 1280, "light")
    bar = page.locator("#chart-tools .bars .point path").first
    light = bar.evaluate("(element) => getComputedStyle(element).fill")

    page.emulate_media(color_scheme="dark")
    page.wait_for_function(
        "([selector, before]) => getComputedStyle(document.querySelector(selector)).fill !== before",
        arg=["#chart-tools .bars .point path", light],
    )
    page.context.close()
