"""Options that several commands share, declared once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Db = Annotated[
    Path | None,
    typer.Option(
        "--db",
        envvar="DEDUPSTATS_DB",
        help="The store (a DuckDB file).",
        show_default="in your data folder",
        rich_help_panel="Store",
    ),
]
