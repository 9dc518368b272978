"""Writes docs/REFERENCE.md: every command's help, and every view with its columns, taken from the code.

Usage: python docs/generate.py [FILE]. A test compares the result with the committed file.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from typer.testing import CliRunner

from dedupstats.cli.app import app
from dedupstats.store import open_store


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
    return f"{head}\n{commands()}\n{views()}".rstrip() + "\n"


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("REFERENCE.md")
    target.write_text(reference(), encoding="utf-8", newline="\n")
