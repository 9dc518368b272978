"""`dedupstats export`: all views as Parquet files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dedupstats.cli.options import Db, opened


def export(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Where to; made if need be.", show_default=False)
    ],
    force: Annotated[
        bool, typer.Option("--force", help="Also into a folder that holds other files; they stay.")
    ] = False,
    db: Db = None,
) -> None:
    """Write every view of the store as a Parquet file.

    They hold paths and commands as the logs do; after `import --no-targets` still the paths of log files and
    the working directories. Think before sharing.

    Example: dedupstats export parquet/
    """
    from dedupstats.analytics.export import export_views
    from dedupstats.report.text import count, safe_text

    with opened(db) as store:
        written = export_views(store, folder, force=force)
    for path, rows in written:
        typer.echo(f"{safe_text(str(path))}  {count(rows)} rows")
