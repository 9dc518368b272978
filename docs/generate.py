"""Writes docs/REFERENCE.md: every command's help, policy, view and member of an output, taken from the code.

Usage: python docs/generate.py [FILE]. A test compares the result with the committed file.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
import textwrap
import tomllib
from dataclasses import fields, is_dataclass
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

from typer.testing import CliRunner

from dedupstats.analytics import rates
from dedupstats.analytics.context import AllContexts, SessionContexts
from dedupstats.analytics.replays import replay
from dedupstats.analytics.spend import Spend
from dedupstats.analytics.tallies import FLOOR_BYTES
from dedupstats.analytics.top import Dear
from dedupstats.cli.app import app
from dedupstats.ingest import import_paths
from dedupstats.model import Class
from dedupstats.policies import POLICIES, all_policies
from dedupstats.report.model import Report
from dedupstats.report.rate_tables import flat_table
from dedupstats.report.replay_forms import SIZES
from dedupstats.report.replay_forms import flat_table as flat_replays
from dedupstats.report.replay_tables import By
from dedupstats.simulate.explain import Explanation
from dedupstats.simulate.find import Elision
from dedupstats.simulate.score import Beside
from dedupstats.simulate.variants import variants
from dedupstats.simulate.verdicts import Place, Verdict
from dedupstats.store import open_store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dedupstats.policies.parameters import Parameter


def commands() -> str:
    """The help of the program and of every command, as a terminal of 100 columns shows it."""
    parts = ["## Commands\n"]
    for name in ["", *(command.name or "" for command in app.registered_commands)]:
        full = f"dedupstats {name}".strip()
        shown = CliRunner().invoke(
            app,
            [*full.split()[1:], "--help"],
            prog_name="dedupstats",
            env={"COLUMNS": "100", "TERMINAL_WIDTH": "100"},
            catch_exceptions=False,
        )
        parts.append(f"### {full}\n\n```text\n{shown.stdout.strip()}\n```\n")
    return "\n".join(parts)


def policies() -> str:
    """Every policy of our own and its parameters."""
    parts = [
        "## Policies\n",
        """\
Named as `docker-agent:v2` or `docker-agent/v2`; without a revision the newest decides.
Parameters are set with `--set key=value`; where revisions differ, each has its own default.
Sections are those of the fact sheets docker-agent.md and rtk.md, which say what the real code has.
""",
    ]
    for name in POLICIES:
        definition = all_policies()[name]
        revisions = f" Revisions: {', '.join(definition.revisions)}." if definition.revisions else ""
        parts.append(f"### {name}\n\n{definition.title}.{revisions}\n")
        if definition.parameters:
            parts.append(
                "| parameter | default | range | unit | meaning | section |\n|---|---|---|---|---|---|"
            )
            parts.extend(
                f"| `{parameter.name}` | {defaults(parameter)} | {parameter.range} | {parameter.unit} "
                f"| {parameter.help} | {parameter.source} |"
                for parameter in definition.parameters
            )
            parts.append("")
    return "\n".join(parts)


def defaults(parameter: Parameter) -> str:
    """The default of a parameter, or that of each revision where they differ or lack it."""
    texts = {}
    for revision, value in parameter.defaults.items():
        words = ", ".join(sorted(value)) if isinstance(value, frozenset) else value
        texts[revision] = str(words).lower() if isinstance(value, bool) else str(words)
    if len(set(texts.values())) == 1:
        (text,) = set(texts.values())
        return f"{text} ({', '.join(texts)})"
    return "; ".join(f"{text} ({revision})" for revision, text in texts.items())


def views() -> str:
    """Every view and its columns, with the comments that the store holds."""
    parts = [
        "## Views\n",
        "What `dedupstats sql`, `dedupstats export` and notebooks read. Times are UTC, sizes UTF-8 bytes.\n",
    ]
    with TemporaryDirectory() as folder, open_store(Path(folder) / "empty.duckdb") as store:
        for view, comment in store.query(
            "select view_name, comment from duckdb_views() where not internal order by view_name"
        ):
            parts.append(
                f"### {view}\n\n{comment[0].upper()}{comment[1:]}.\n\n"
                "| column | type | meaning |\n|---|---|---|"
            )
            parts.extend(
                f"| `{column}` | {kind.lower()} | {text} |"
                for column, kind, text in store.query(
                    "select column_name, data_type, comment from duckdb_columns() "
                    "where schema_name = 'main' and table_name = ? order by column_index",
                    [view],
                )
            )
            parts.append("")
    return "\n".join(parts)


_FLOOR = f"""\
"Floor": {FLOOR_BYTES} bytes. The marker that stands in place of a repeat is about as long as
a shorter result, so that leaving one out saves nothing; figures with `floor` count results of at least
that many bytes alone. "Repeatable": what could be a repeat at all, text (whole or truncated in place)
without an error; images, empty results, stubs of the host, texts spilled to a file or masked are counted
and never a repeat.
"""
SIX = ("results", "bytes", "tokens", "sent", "usd", "share_of_input")
"""how columns of a tally end"""
_SIXES = {
    "": "all results of the group, of every class, copies left out: the denominator of every share",
    "repeatable_": "those that can be a repeat",
    "floor_": "those of at least the floor: the denominator for the columns with `_floor_`",
    "errors_": "those with the error flag, whatever their class",
    "copies_": (
        "what a resume, fork or branch wrote once more; what was sent of it is in the figures of its "
        "original: `sent`, `usd` and `share_of_input` are empty"
    ),
    "CLASS_": "those of a class: text, truncated, image, empty, stub, spilled, masked",
    "RULE_": "repeats by a rule, its name with `_` (`repeat_in_sight_bytes`)",
    "RULE_floor_": "repeats by that rule of at least the floor",
}
_SINGLE = {
    "BY": "name of the group; the column is called as the word after `--by`: `tool`, `day` ...",
    "tool": "with `--by target`: the tool that was called",
    "project": "with `--by session`: its project",
    "begun": "with `--by session`: its first day",
    "begins": "with `--by day`, `week`, `month`: first day of the period",
    "is_partial": "likewise: the window holds only a part of it",
    "key": "how calls were compared: exact, normalised",
    "RULE_share_of_UNIT": (
        "repeats / all, by `results`, `bytes`, `tokens`, `sent`, `usd`: 0 to 1; empty: no data"
    ),
    "tokens_level_N": (
        "of `tokens`, those of a level: 0 measured, 1 a measured sum split, 2 from the growth of the prompt, "
        "3 by model family, 4 bytes / 4, 5 by the model's own tokenizer; also `RULE_tokens_level_N`"
    ),
    "unpriced_sent": (
        "of `sent`, what requests without a price were sent: in no dollars; also `RULE_unpriced_sent`"
    ),
    "modelled_sent": "of `sent`, what requests without usage in the log were sent; also `RULE_modelled_sent`",
    "unseen": (
        "results in contexts of which the log has no request: in `tokens`, in no `sent` and `usd`; also "
        "`RULE_unseen`"
    ),
}


def formats() -> str:
    """The columns of rates' flat form, and the members of rates' and report's JSON."""
    parts = [
        "## Formats\n",
        _FLOOR,
        """\
### rates as CSV and Parquet

One row per group; the rows add up to the total. Each figure is in four units: `tokens` (first-pass tokens,
measured or estimated), `sent` (tokens times the requests that carried them, over the whole life of a
result, its copies in resumed and forked sessions included), `usd` (the list price of that; empty where
nothing has a price) and `share_of_input` (of what all input of the window cost). With `--tokens bytes4`,
tokens are bytes / 4, and the others empty.
""",
        "| column | meaning |\n|---|---|",
        *(f"| `{name}` | {text} |" for name, text in _SINGLE.items()),
        *(f"| {', '.join(f'`{prefix}{end}`' for end in SIX)} | {text} |" for prefix, text in _SIXES.items()),
        "",
        """\
### rates as JSON

`schema_version` first, then the members of Rates, with `rules` as objects (`name`, `kind`, `meaning`), then
`floor_bytes` and `notes`. Each Tally also has `share_of_input`, its `usd` of that of `input`; each of a
rule also `share_of_results`, `share_of_bytes`, `share_of_tokens`, `share_of_sent`, `share_of_usd`. `sent`
and `usd` are null where nothing is known of them, and with `--tokens bytes4`.
""",
        *_members(rates.Rates),
        _replays(),
        "### report as JSON\n\nThe members of Report.\n",
        *_members(Report),
        """\
### explain as JSON

`schema_version` first, then the lists `elisions` (with `--verdict`; else empty), `explanations` (of them, or
of the one call) and `stubs` (with `--stubs`; else empty) of these:
""",
        *_members(Elision, Explanation),
    ]
    return "\n".join(parts)


_SIZES = ", ".join(SIZES)
_SIZE_WORDS = """\
`tokens`: first-pass tokens, as `--tokens` counts them. `sent`: tokens times the requests that carried them,
copies included. `usd`: what those with a price charged for that, at list prices. `share`: that of the
input-side cost of all requests of the window, 0 to 1. `marker_`: the same of the markers, over the same
requests; both have the framing of a tool result in them. `net_`: the first less the second; can be
negative. `unpriced_sent` and `modelled_sent`: the parts of `sent` without a price, and without usage in the
log. `uncosted`: results of which nothing is known but bytes: their tokens are bytes / 4, and they are in no
`sent` and no `usd`. Empty (JSON: null): not known, as by `--tokens bytes4`.
"""
_MEANINGS: dict[str, Any] = tomllib.loads(Path(__file__).with_name("members.toml").read_text("utf-8"))


def _replays() -> str:
    """The outputs of simulate."""
    return "\n".join(
        [
            "### simulate as CSV and Parquet\n",
            f"One row per variant, and per what `--by` names. SIZE: {_SIZES}.\n",
            _SIZE_WORDS,
            "| column | meaning |\n|---|---|",
            *(f"| `{name}` | {text} |" for name, text in _MEANINGS["replay_columns"].items()),
            "\n### simulate as JSON\n",
            f"`schema_version` first; complete, whatever `--by` says. Sizes are objects of {_SIZES}.\n",
            "| member | meaning |\n|---|---|",
            *(f"| `{name}` | {text} |" for name, text in _MEANINGS["replay_members"].items()),
            "",
        ]
    )


def replay_columns() -> set[str]:
    """Every column of the flat forms of simulate, sizes, verdicts and places as the page writes them."""
    found = set()
    sizes = _SIZES.replace(", ", "|")
    verdicts, besides, places = ("|".join(kind) for kind in (Verdict, Beside, Place))
    with open_store(":memory:") as store:
        import_paths(store, [Path(__file__).parents[1] / "sample_data" / "claude_code"])
        replays = replay(store, variants(["safe"]))
    for by in get_args(By):
        for column in flat_replays(replays, by).columns:
            name = re.sub(r"share_of_\w+", "share_of_UNIT", column.name)
            name = re.sub(rf"^(?:{besides})_results$", "BESIDE_results", name)
            name = re.sub(rf"^place_(?:{places})_", "place_PLACE_", name)
            name = re.sub(rf"^(?:{verdicts})_(?:{sizes})$", "VERDICT_SIZE", name)
            name = re.sub(
                rf"^((?:asked|elided|untrue|if_unknown_reads|key_lost|mixed)_)?(?:{sizes})$", r"\1SIZE", name
            )
            found.add(name)
    return found


def flat_columns() -> set[str]:
    """Every column of rates' flat form, classes and rules as the page writes them."""
    found = set()
    classes = "|".join(kind.value for kind in Class)
    rules = "|".join(rule.name.replace("-", "_") for rule in rates.RULES)
    with open_store(":memory:") as store:
        for by in get_args(rates.By):
            for column in flat_table(rates.rates(store, by=by, all_rules=True, tz="UTC")).columns[1:]:
                name = re.sub(rf"^(?:{classes})_", "CLASS_", column.name)
                name = re.sub(rf"^(?:{rules})_", "RULE_", name)
                name = re.sub(r"tokens_level_\d$", "tokens_level_N", name)
                found.add(re.sub(r"share_of_(?!input)\w+", "share_of_UNIT", name))
    return found


def _members(*roots: type) -> Iterator[str]:
    """A table per dataclass, from the roots on, each once."""
    waiting, met = list(roots), set(roots)
    while waiting:
        kind = waiting.pop(0)
        doc = inspect.getdoc(kind) or ""
        about = re.sub(r"\bNone\b", "null", doc.partition("\n\n")[0].replace("\n", " "))
        yield f"**{kind.__name__}**: {about}\n\n| member | type | meaning |\n|---|---|---|"
        texts = _attributes(doc) or _field_texts(kind)
        hints = get_type_hints(kind)
        for field in fields(kind):
            text = texts.get(field.name) or _MEANINGS.get(f"{kind.__name__}.{field.name}")
            text = text or _MEANINGS.get(field.name, "")
            yield f"| `{field.name}` | {_type(str(field.type))} | {text} |"
            for inner in _dataclasses(hints[field.name]):
                if inner not in met:
                    met.add(inner)
                    waiting.append(inner)
        yield ""


def _dataclasses(hint: Any) -> Iterator[type]:
    if isinstance(hint, type) and is_dataclass(hint):
        yield hint
    for inner in get_args(hint):
        yield from _dataclasses(inner)


def _attributes(doc: str) -> dict[str, str]:
    """The texts of a docstring's section `Attributes`."""
    section = doc.partition("Attributes:\n")[2].partition("\n\n")[0]
    found = re.findall(r"^    (\w+): (.*(?:\n     +.*)*)", section, re.MULTILINE)
    return {name: re.sub(r"\bNone\b", "null", " ".join(text.split())).rstrip(".") for name, text in found}


def _field_texts(kind: type) -> dict[str, str]:
    """The texts that stand below the fields of a class."""
    (found,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    assert isinstance(found, ast.ClassDef)
    return {
        field.target.id: re.sub(r"\bNone\b", "null", " ".join(text.value.value.split()))
        for field, text in pairwise(found.body)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
        and isinstance(text.value.value, str)
    }


def _type(annotation: str) -> str:
    """An annotation as the reader of JSON meets it."""
    text = annotation.removesuffix(" | None")
    text = re.sub(r"^tuple\[(\w+), \.\.\.\]$", r"list of \1", text)
    text = re.sub(r"^tuple\[.*\]$", "list of lists", text)
    text = re.sub(r"^dict\[(?:str|int), (\w+)\]$", r"object of \1", text)
    for names, word in (
        ("str|By|Key|TokenRule|Unit|date|datetime", "text"),
        ("int", "integer"),
        ("float", "number"),
        ("bool", "true or false"),
    ):
        text = re.sub(rf"\b(?:{names})\b", word, text)
    return text + (" or null" if annotation.endswith(" | None") else "")


_PRICES = """\
## Prices of your own

A TOML file that `DEDUPSTATS_PRICES` names, or `prices.toml` in the folder of settings (on Linux
`~/.config/dedupstats`), goes before the price list. Rates are USD per million tokens; reads and writes of the
cache that are left out cost what input costs.

```toml
[[price]]
model = "private-x"     # the id as logged
from = 2026-04-01       # optional: the first day (UTC)
input = 5.0
output = 25.0
cache_read = 0.5
cache_write_5m = 6.25
cache_write_1h = 10.0

[[price.above]]         # optional: what every token of a request with a larger prompt costs
tokens = 200000
input = 10.0
output = 37.5
```

"""


def spending() -> str:
    """The columns of the flat forms of spend and top."""
    parts = [
        _SPEND_HEAD,
        "| column | meaning |\n|---|---|",
        *(f"| `{name}` | {text} |" for name, text in _SPEND.items()),
        "\n### spend as JSON\n\nThe members of Spend, with `levels` (their words and errors) and `notes`.\n",
        *_members(Spend),
        "### top as CSV and Parquet\n\nOne row per result, dearest first.\n",
        "| column | meaning |\n|---|---|",
        *(f"| `{name}` | {text} |" for name, text in _attributes(inspect.getdoc(Dear) or "").items()),
        "",
        "### context as CSV\n\nOne row per request; without a session one per session, as Large below.\n",
        "| column | meaning |\n|---|---|",
        *(f"| `{name}` | {text} |" for name, text in _CONTEXT.items()),
        "",
        _CONTEXT_JSON,
        *_members(SessionContexts, AllContexts),
    ]
    return "\n".join(parts)


_SPEND_HEAD = """\
### spend as CSV and Parquet

One row per group, kind and tool; the rows of the input add up to it, `answers` stand beside it. Kinds are
those of the view `request_share`.
"""
_SPEND = {
    "BY": "name of the group, with `--by`; the column is called as the word after it",
    "kind": "what stood in the prompts: floor, result, output ...; answers: what the model wrote",
    "tool": "tool of the results; empty for other kinds",
    "tokens": "tokens times requests that carried them; of answers: their tokens",
    "priced_tokens": "those of requests with a price",
    "usd": "list price in USD; empty: nothing of it has one",
    "share_of_tokens": "of the group's input tokens, 0 to 1",
    "share_of_usd": "of the group's input price, 0 to 1",
    "again_tokens": "tokens that an expired cache made requests send once more at full price",
    "again_usd": "what those cost",
}


_CONTEXT = {
    "context_key": "key of the context in the views",
    "context": "its id, as logged",
    "request": "number of the request within the context, from 1",
    "line": "of its first row in the log",
    "ts": "its time, UTC; empty: undated",
    "model": "as logged",
    "prompt_tokens": "input, cache reads and cache writes",
    "is_measured": "recorded; else an estimate by bytes / 4",
    "removed_tokens": "what the policy would have taken out of it, less markers",
    "results": "tool results that entered since the request before",
    "result_tokens": "their tokens",
    "boundaries": "kinds of the boundaries since the request before, in order",
}
_CONTEXT_JSON = """\
### context as JSON

`schema_version` first, then the members of SessionContexts, or without a session of AllContexts, and `notes`.
Each Curve also has `largest_request` (the number of the request with the largest prompt) and `notes`.
"""


def reference() -> str:
    """The whole page."""
    head = "# Reference\n\nMade by `make docs` from the code; do not edit.\n"
    parts = (head, commands(), formats(), spending(), _PRICES + policies(), views())
    return "\n".join(parts).rstrip() + "\n"


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("REFERENCE.md")
    target.write_text(reference(), encoding="utf-8", newline="\n")
