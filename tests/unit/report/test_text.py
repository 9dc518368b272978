"""Foreign text made plain for each output, judged by that output's own reader where there is one."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from dedupstats.report import text
from dedupstats.report.tables import Column, Table, json_bytes

anything = st.text(st.characters(codec=None))
HIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def cells(row: str) -> list[str]:
    """Text of the cells of one Markdown table row, as a renderer shows it."""
    source = f"| a | b |\n| --- | --- |\n{row}\n"
    html = MarkdownIt("commonmark", {"html": True}).enable("table").render(source)
    found: list[str] = []

    class Reader(HTMLParser):
        inside = False

        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            assert tag in {"table", "thead", "tbody", "tr", "th", "td"}, f"{tag} {attrs} came out of a name"
            if tag == "td":
                found.append("")
                self.inside = True

        def handle_endtag(self, tag: str) -> None:
            self.inside = self.inside and tag != "td"

        def handle_data(self, data: str) -> None:
            if self.inside:
                found[-1] += data

    reader = Reader()
    reader.feed(html)
    reader.close()
    return found


@pytest.mark.parametrize(
    ("raw", "right"),
    [
        ("a\x1b[2J\x1b]0;pwned\x07b\rc\nd", r"a\x1b[2J\x1b]0;pwned\x07b\rc\nd"),
        ("a\u202egpj.exe", r"a\u202egpj.exe"),
        ("\x7f\x85\x9b\u200f\u2028\u2066", r"\x7f\x85\x9b\u200f\u2028\u2066"),
        ("a\ud83d", r"a\ud83d"),
        ("日本語 مشروع app/[id]/page.tsx", "日本語 مشروع app/[id]/page.tsx"),
    ],
)
def test_control_and_direction_characters_become_visible(raw: str, right: str) -> None:
    assert text.safe_text(raw) == right


@given(anything)
def test_safe_text_is_one_line_of_valid_utf8_without_controls(raw: str) -> None:
    safe = text.safe_text(raw)
    assert not HIDDEN.search(safe)
    assert safe.encode().decode() == safe
    assert len((safe + ".").splitlines()) == 1


def test_markdown_shows_the_name_of_fault_case_u12_literally() -> None:
    name = "a|b`c<img src=x>@team #12"
    first, second = cells(f"| {text.safe_markdown(name)} | 5 |")
    assert first.replace("\u200b", "") == name
    assert second == "5"
    # GitHub looks for mentions and issues in the finished text
    assert "@team" not in first
    assert "#12" not in first


@pytest.mark.parametrize(
    "name",
    [
        "a\\|b",
        "\\",
        "**x** _y_ ~~z~~ [l](http://e.org) ![i](j)",
        "<!-- -->",
        "&amp; &#124;",
        "`a``b`",
        "$x$",
        "www.example.org http://example.org a@b.org GH-3 :smile: o/r#7",
        "app/[id]/page.tsx",
    ],
)
def test_markdown_of_other_markup(name: str) -> None:
    first, _ = cells(f"| {text.safe_markdown(name)} | 5 |")
    assert first.replace("\u200b", "") == name
    assert not re.search(r"@\w|#\d|://|www\.|GH-\d|:smile", first)


@given(st.text(st.characters(min_codepoint=32, max_codepoint=0x2FFF, exclude_categories=("Cc", "Cs", "Zs"))))
def test_markdown_of_anything_is_one_cell_of_the_same_text(name: str) -> None:
    found = cells(f"| {text.safe_markdown(name)} | 5 |")
    assert [cell.replace("\u200b", "") for cell in found] == [
        text.safe_text(name).replace("\u200b", "").strip(),
        "5",
    ]


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "\n"])
def test_csv_marks_what_a_spreadsheet_would_run(start: str) -> None:
    assert text.safe_csv(f"{start}1+1").startswith(f"'{start}")


def test_csv_leaves_other_text_alone() -> None:
    assert text.safe_csv('a,"b"\nc=1') == 'a,"b"\nc=1'
    assert text.safe_csv("") == ""
    assert text.safe_csv("\x1b[2J\ud83d") == r"\x1b[2J\ud83d"


@pytest.mark.parametrize("name", ["</script><script>alert(1)</script>", "\" onload='x'", "<!--", "a\u202eb"])
def test_html_is_text_and_nothing_else(name: str) -> None:
    parts: list[str] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            assert (tag, [key for key, _ in attrs]) == ("p", ["title"])
            parts.append(str(attrs[0][1]))

        def handle_data(self, data: str) -> None:
            parts.append(data)

    safe = text.safe_html(name)
    reader = Reader()
    reader.feed(f'<p title="{safe}">{safe}</p>')
    reader.close()
    assert parts == [text.safe_text(name)] * 2


@pytest.mark.parametrize(
    ("number", "right"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.00 kB"),
        (9_994, "9.99 kB"),
        (9_996, "10.0 kB"),
        (99_960, "100 kB"),
        (999_499, "999 kB"),
        (999_500, "1.00 MB"),
        (-2_500_000, "-2.50 MB"),
        (5_000_000_000_000_000, "5,000 TB"),
    ],
)
def test_sizes(number: int, right: str) -> None:
    assert text.size(number) == right


@pytest.mark.parametrize(
    ("share", "right"),
    [
        (537 / 943, "56.9 %"),
        (0, "0.0 %"),
        (-0.0, "0.0 %"),
        (1, "100.0 %"),
        (0.0004, "<0.1 %"),
        (-0.0004, ">-0.1 %"),
        (0.9996, ">99.9 %"),
        (-90 / 251, "-35.9 %"),
        (12.5, "1,250.0 %"),
        (None, "no data"),
    ],
)
def test_percentages(share: float | None, right: str) -> None:
    assert text.percent(share) == right


def test_part_of_names_both() -> None:
    assert text.part_of(1912, 9842) == "1,912 of 9,842 (19.4 %)"


@pytest.mark.parametrize(
    ("path", "right"),
    [
        ("/home/a/my app", "my app"),
        ("/home/a/app/", "app"),
        ("C:\\Users\\a\\app", "app"),
        ("C:\\", "C:"),
        ("/", "/"),
        ("", ""),
        ("no project", "no project"),
    ],
)
def test_short_path(path: str, right: str) -> None:
    assert text.short_path(path) == right


@given(st.lists(st.text("ab/\\", max_size=6), unique=True))
def test_short_paths_keep_different_projects_apart(paths: list[str]) -> None:
    short = text.short_paths(paths)
    assert list(short) == paths
    by_parts = {tuple(text._parts(path)) for path in paths}
    assert len(set(short.values())) >= len(by_parts)


def test_what_has_no_width_is_seen() -> None:
    unseen = "\u200b\ufeff\u2060\u00ad\u3164\U000e0041\U000e007f"
    assert text.safe_text(f"a{unseen}b") == ("a\\u200b\\ufeff\\u2060\\xad\\u3164\\U000e0041\\U000e007fb")
    # an emoji made of several, a word with a joiner
    assert text.safe_text("👩\u200d💻 क्\u200cष") == "👩\u200d💻 क्\u200cष"


@given(st.text())
def test_json_hides_nothing_and_says_the_same(name: str) -> None:
    written = text.safe_json(json.dumps({"a": name}, ensure_ascii=False))
    assert json.loads(written) == {"a": name}
    assert not set("\x7f\x9b\u202e\u2066\u200b\U000e0041") & set(written)


def test_documents_hide_nothing() -> None:
    table = Table("", (Column("a"),), [("\x9b\u202e\U000e0041",)])
    assert json_bytes(table).isascii()
    assert json.loads(json_bytes(table))["rows"] == [{"a": "\x9b\u202e\U000e0041"}]
