"""`dedupstats context`: how large a session's contexts grew, what entered them, and what was compacted."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from dedupstats.cli.options import Db, Output, priced

if TYPE_CHECKING:
    from dedupstats.analytics.context import AllContexts, SessionContexts
    from dedupstats.simulate.variants import Variant

    _Form = Literal["table", "html", "csv", "json"]

_FORMATS: dict[str, Literal["table", "html", "csv", "json"]] = {
    ".txt": "table",
    ".html": "html",
    ".htm": "html",
    ".csv": "csv",
    ".json": "json",
}


def context(
    session: Annotated[
        str | None,
        typer.Argument(
            metavar="[SESSION]",
            help="A session's id, or its beginning.",
            show_default="the largest contexts of all sessions",
        ),
    ] = None,
    only: Annotated[
        str | None, typer.Option("--context", help="The context with this id, or whose id begins so.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Every context, not the main thread alone.")] = False,
    policy: Annotated[
        str, typer.Option(help="What would have left results out, as docker-agent:v1 or safe.")
    ] = "docker-agent",
    form: Annotated[
        Literal["table", "html", "csv", "json"] | None,
        typer.Option("--format", help="Guessed from the file's name.", show_default="table"),
    ] = None,
    output: Output = None,
    full_paths: Annotated[bool, typer.Option("--full-paths", help="Paths and session ids whole.")] = False,
    db: Db = None,
) -> None:
    """How large a context grew, and what a policy would keep out.

    The prompt of each request as its recorded usage tells, with tool results and compactions. The policy
    runs in its first preset; what it soundly leaves out is taken off. Compactions are counted by a replay,
    with and without the policy, never forecast.

    Example: dedupstats context 92d7d0b4 -o context.html
    """
    from dedupstats.analytics.context import all_contexts, session_contexts
    from dedupstats.errors import UsageError
    from dedupstats.report.tables import format_of
    from dedupstats.simulate.variants import variants

    chosen = form or ("table" if output is None else format_of(output, _FORMATS))
    if only is not None and every:
        raise UsageError("--context names one context, --all means every one", "leave out one of the two")
    if session is None and (only is not None or every or chosen == "html"):
        raise UsageError(
            "--context, --all and HTML need a session", "`dedupstats context` names the largest ones"
        )
    replayed: Variant = variants([policy])[0]
    with priced(db) as store:
        if session is None:
            _print_all(all_contexts(store, replayed), chosen, output, full_paths=full_paths)
            return
        found = session_contexts(store, session, replayed, context=only, every=every)
    _print(found, chosen, output, full_paths=full_paths)


def _print(found: SessionContexts, form: _Form, output: Path | None, *, full_paths: bool) -> None:
    import sys

    from dedupstats.report import context_tables
    from dedupstats.report.context_chart import signs_for
    from dedupstats.report.tables import deliver, json_document, wants_colour, width_of, written

    if form == "table":
        stream = sys.stdout if output is None else None
        signs = signs_for("utf-8" if stream is None else stream.encoding)
        width, colour = width_of(stream), wants_colour(stream)
        deliver(
            context_tables.printed(found, signs, width=width, colour=colour, full_paths=full_paths), output
        )
    elif form == "html":
        from dedupstats.report.context_page import render

        deliver(render(found, full_paths=full_paths), output)
    elif form == "json":
        deliver(json_document(context_tables.document(found)), output)
    else:
        deliver(written(context_tables.flat_table(found), form), output)
        for note in context_tables.session_notes(found):
            typer.echo(note, err=True)


def _print_all(found: AllContexts, form: _Form, output: Path | None, *, full_paths: bool) -> None:
    import sys

    from dedupstats.report import context_tables
    from dedupstats.report.tables import deliver, json_document, written

    table = context_tables.all_table(found, full_paths=full_paths)
    if form == "json":
        deliver(json_document(context_tables.all_document(found)), output)
    else:
        stream = sys.stdout if output is None else None
        deliver(written(table, "csv" if form == "csv" else "table", stream=stream), output)
