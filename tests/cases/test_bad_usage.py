"""Usage that is missing, null, zero, of an unknown model, or with clocks that run backwards, by the commands.

Figures fall to the next level and say so: no crash, no figure that is none, no zero for what nobody knows.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NoReturn

import pytest
from support.command import run
from support.pipeline import Log

if TYPE_CHECKING:
    from pathlib import Path

FIELDS = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
MODEL = "claude-sonnet-4-6"
TEXT = "word 12\n" * 100
ESTIMATE = 12.497 + 0.262 * 400 + 0.881 * 200 + 1.016 * 100
"""its tokens by the constants of Claude up to 4.6; bytes / 4 are 200"""

MISSING = [None] * 3
NULL = [dict.fromkeys(FIELDS)] * 3
ZERO = [dict.fromkeys(FIELDS, 0)] * 3
KNOWN = [(10, 5_000, 0, 50), (10, 600, 5_000, 50), (10, 600, 5_600, 50)]


def strictly(text: str) -> Any:
    def refuse(constant: str) -> NoReturn:
        message = f"{constant} is no JSON"
        raise AssertionError(message)

    return json.loads(text, parse_constant=refuse)


def stored(
    folder: Path, usages: list[Any], model: str = MODEL, times: tuple[str, ...] | None = None
) -> tuple[str, ...]:
    """A session of calls and their results, imported; the options that name its store."""
    log = Log("s1")
    log.user("go")
    for place, usage in enumerate(usages):
        clock = {"timestamp": times[place]} if times else {}
        log.call(f"c{place}", "Read", {"file_path": "a"}, f"m{place}", usage=usage, model=model, **clock)
        log.result(f"c{place}", TEXT, **clock)
    path = log.write(folder / "s1.jsonl")
    options = ("--db", str(folder / "x.duckdb"))
    assert run("import", str(path), *options).code == 0
    return options


def everything(options: tuple[str, ...]) -> dict[str, str]:
    """What the commands print, for people and for programs; each must succeed, and hold no NaN."""
    found = {}
    for command in ("spend", "top", "rates", "report"):
        for form in ("md", "json"):
            ran = run(command, *options, "--format", form)
            assert ran.code == 0, (command, form, ran.err)
            assert "Traceback" not in ran.err
            if form == "json":
                strictly(ran.out)
            assert not re.search(r"\b(nan|inf|-inf|infinity)\b", ran.out.lower()), (command, form)
            found[f"{command} {form}"] = " ".join(ran.out.replace("&#36;", "$").replace("\\", "").split())
        assert run(command, *options).code == 0
    return found


@pytest.mark.parametrize("usages", [MISSING, NULL, ZERO], ids=["missing", "null", "zero"])
def test_no_usage_at_all(tmp_path: Path, usages: list[Any]) -> None:
    options = stored(tmp_path, usages)
    said = everything(options)
    assert "3 of 3 (100.0 %) requests have no usage in the log" in said["spend md"]
    assert "3 requests without usage: fixed start unknown, left out" in said["spend md"]
    # and the part itself is no zero
    assert re.search(r"fixed start of every context \| not known \| not known \| no data", said["spend md"])
    assert "100.0 % estimated by model family (median error 8 %, 90 % within 28 %)" in said["top md"]
    assert "No usage in these logs" in said["report md"]
    spend = strictly(run("spend", *options, "--format", "json").out)
    total = spend["total"]
    assert (total["requests"], total["modelled"], total["floorless"]) == (3, 3, 3)
    assert total["by_kind"]["floor"]["tokens"] == 0
    # the first result is sent twice, the second once
    assert total["by_kind"]["result"]["tokens"] == pytest.approx(3 * ESTIMATE)
    assert total["input"]["usd"] > 0
    # results are rated by their bytes, which need no usage
    assert strictly(run("rates", *options, "--format", "json").out)["total"]["results"]["results"] == 3


def test_usage_that_begins_later(tmp_path: Path) -> None:
    """The request before it stays without a fixed start; the one in between has it."""
    options = stored(tmp_path, [None, (10, 0, 5_000, 50), None, (10, 0, 6_000, 50)])
    said = everything(options)
    assert "2 of 4 (50.0 %) requests have no usage in the log" in said["spend md"]
    for place in ("spend md", "report md"):
        assert "1 request without usage: fixed start unknown, left out" in said[place]
        assert "fixed start of every context, where known" in said[place]
    assert "1 request without usage: fixed start unknown, left out" in run(*options).out.replace("\n  ", " ")


def test_with_usage_nothing_of_it_is_said(tmp_path: Path) -> None:
    said = everything(stored(tmp_path, KNOWN))
    for words in ("without usage", "where known", "no usage", "time before", "no price"):
        assert not any(words in text for name, text in said.items() if name in {"spend md", "top md"}), words


def test_an_unknown_model(tmp_path: Path) -> None:
    options = stored(tmp_path, KNOWN, "private-x")
    said = everything(options)
    assert "3 of 3 (100.0 %) requests have no price" in said["spend md"]
    assert "bytes / 4, model not known (25 to 52 % low)" in said["spend md"]
    assert "None of the 3 results has a price; all input: no price." in said["top md"]
    assert "$" not in said["spend md"]
    top = strictly(run("top", *options, "--format", "json").out)
    assert (top["usd"], top["input_usd"]) == (None, None)
    # what is measured needs no tokenizer
    assert [row["level"] for row in top["rows"]] == [0, 0, 4]
    assert [row["tokens"] for row in top["rows"]] == [550, 550, 200]


def test_an_unknown_model_without_usage(tmp_path: Path) -> None:
    options = stored(tmp_path, MISSING, "private-x")
    said = everything(options)
    assert "100.0 % bytes / 4, model not known (25 to 52 % low)" in said["spend md"]
    assert "3 requests without usage: fixed start unknown, left out" in said["spend md"]
    assert "$" not in said["spend md"]


def test_some_results_without_a_price(tmp_path: Path) -> None:
    log = Log("s1")
    log.user("go")
    for place, model in enumerate((MODEL, MODEL, "private-x", "private-x")):
        usage = (10, 600, 5_000 + 600 * place, 50)
        log.call(f"c{place}", "Read", {"file_path": "a"}, f"m{place}", usage=usage, model=model)
        log.result(f"c{place}", TEXT)
    options = ("--db", str(tmp_path / "x.duckdb"))
    assert run("import", str(log.write(tmp_path / "s1.jsonl")), *options).code == 0
    said = everything(options)
    assert (
        "3 of 4 (75.0 %) results were sent by requests without a price, which are in no dollar."
        in said["top md"]
    )
    assert "2 of 4 (50.0 %) requests have no price" in said["spend md"]


def test_a_row_without_any_price_has_no_zero(tmp_path: Path) -> None:
    options = stored(tmp_path, KNOWN, model="private-x")
    words = run("spend", "--by", "model", *options).out
    row = next(line for line in words.splitlines() if line.startswith("private-x"))
    assert "$" not in row
    refused = run("spend", "--unit", "share", *options)
    assert (refused.code, refused.err.splitlines()[0]) == (
        2,
        "dedupstats: --unit says what the rows of --by are counted in",
    )


def test_requests_without_a_time(tmp_path: Path) -> None:
    """They are in no window of time, and another model's are of no concern."""
    options = stored(tmp_path, KNOWN, times=("", "2026-03-01T09:00:00Z", ""))
    for window, requests, undated, said in (
        ((), 3, 2, "Without a time, so priced at the newest one known: 2 requests."),
        (("--since", "2026-01-01"), 1, 2, "Without a time, so left out: 2 requests."),
        (("--model", "private-x"), 0, 0, None),
    ):
        words = run("spend", *options, *window, "--format", "md").out
        assert ("Without a time" in words) == (said is not None)
        assert said is None or said in words
        spend = strictly(run("spend", *options, *window, "--format", "json").out)
        assert (spend["total"]["requests"], spend["undated"]) == (requests, undated)


def test_clocks_that_run_backwards(tmp_path: Path) -> None:
    times = ("2026-03-01T09:00:00Z", "2026-02-01T09:00:00Z", "2026-02-01T09:01:00Z")
    options = stored(tmp_path, KNOWN, times=times)
    said = everything(options)
    assert "1 request with a time before that of the one before: no pause is told there." in said["spend md"]
    spend = strictly(run("spend", *options, "--format", "json").out)
    assert (spend["backwards"], spend["total"]["expired"]) == (1, 0)
    assert spend["total"]["input"]["tokens"] == 5_010 + 5_610 + 6_210
