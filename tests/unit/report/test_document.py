"""The JSON document: strict, complete, and the same report when it is read back."""

from __future__ import annotations

import json
from typing import NoReturn

import pytest
from support.judged import Result, put

from dedupstats.analytics.window import Window
from dedupstats.errors import UsageError
from dedupstats.report import document
from dedupstats.report.build import build
from dedupstats.report.model import SCHEMA_VERSION, Report
from dedupstats.store import open_store


def refuse(constant: str) -> NoReturn:
    raise AssertionError(f"{constant} is not JSON")


def test_the_report_survives_the_way_to_json_and_back(sample_report: Report) -> None:
    assert document.parse(document.render(sample_report)) == sample_report


def test_an_empty_report_is_strict_json_with_null_for_no_data() -> None:
    with open_store(":memory:") as store:
        report = build(store, window=Window(zone="UTC"))
    text = document.render(report)

    found = json.loads(text, parse_constant=refuse)
    assert found["schema_version"] == SCHEMA_VERSION
    assert found["rules"][0]["repeats"]["bytes"] == {"part": 0, "whole": 0, "share": None}
    assert document.parse(text) == report


def test_names_from_logs_survive() -> None:
    names = ["</script>", "a\u202eb", "日本語", 'q"\\', "\x1b[2J\n"]
    with open_store(":memory:") as store:
        put(store, [Result(tool=name) for name in names])
        report = build(store, window=Window(zone="UTC"))

    assert sorted(tool.name for tool in document.parse(document.render(report)).tools.rows) == sorted(names)


@pytest.mark.parametrize(
    "text", ["", "[]", '{"schema_version": "x"}', f'{{"schema_version": {SCHEMA_VERSION}}}', "\ufeff{}"]
)
def test_what_is_no_report_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(UsageError, match="not a report") as refused:
        document.parse(text)
    assert "\n" not in refused.value.message


def test_another_version_is_refused_with_both_numbers() -> None:
    with pytest.raises(UsageError, match=f"schema version 99, this program reads {SCHEMA_VERSION}"):
        document.parse('{"schema_version": 99, "headline": "from the future"}')
