"""The table of commands."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from dedupstats._version import __version__
from dedupstats.cli import (
    context as context_,
)
from dedupstats.cli import (
    decide,
    explain,
    export,
    import_,
    rates,
    report,
    simulate,
    spend,
    sql,
)
from dedupstats.cli.options import Db

VARIABLE = "DEDUPSTATS_DB"

app = typer.Typer(
    name="dedupstats",
    no_args_is_help=False,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode=None,
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"dedupstats {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def main(
    context: typer.Context,
    db: Db = None,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """How much of what coding agents are shown had they been shown before?

    Without a command: imports the logs found in the default places, then prints the short report.
    Nothing leaves this machine, and no log is changed.
    """
    del version
    if db is not None:
        # said before a command, as in `dedupstats --db FILE rates`, it holds for the command
        before = os.environ.get(VARIABLE, "")
        os.environ[VARIABLE] = str(db)
        context.call_on_close(lambda: os.environ.update({VARIABLE: before}))
    if context.invoked_subcommand is None:
        report.short(db)


app.command("import")(import_.import_logs)
app.command("rates")(rates.rates)
app.command("spend")(spend.spend)
app.command("top")(spend.top)
app.command("observed")(spend.observed)
app.command("context")(context_.context)
app.command("report")(report.report)
app.command("simulate")(simulate.simulate)
app.command("sql")(sql.sql)
app.command("export")(export.export)
app.command("decide")(decide.decide)
app.command("explain", cls=explain.Command)(explain.explain)
