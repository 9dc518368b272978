"""Writes docs/REFERENCE.md: every command's help, every policy, and every view, taken from the code.

Usage: python docs/generate.py [FILE]. A test compares the result with the committed file.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from typer.testing import CliRunner

from dedupstats.cli.app import app
from dedupstats.policies import POLICIES, all_policies
from dedupstats.store import open_store

if TYPE_CHECKING:
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


def reference() -> str:
    """The whole page."""
    head = "# Reference\n\nMade by `make docs` from the code; do not edit.\n"
    return f"{head}\n{commands()}\n{policies()}\n{views()}".rstrip() + "\n"


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("REFERENCE.md")
    target.write_text(reference(), encoding="utf-8", newline="\n")
