"""`dedupstats explain`: why a result was elided or shown, and whether the elision was true."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer.core import TyperCommand

from dedupstats.cli.options import Db, Output, Settings, ShellReads, Tools, opened, reprice, typed

if TYPE_CHECKING:
    from dedupstats.report.explain_text import Part
    from dedupstats.simulate.knowledge import Knowledge
    from dedupstats.simulate.variants import Variant
    from dedupstats.store import Store

    _Answer = tuple[list[Part], dict[str, Any]]

_FORMATS: dict[str, Literal["table", "md", "json"]] = {
    ".txt": "table",
    ".md": "md",
    ".markdown": "md",
    ".json": "json",
}
_ENGINES = ("docker-agent", "rtk")
_NEGATIVE = re.compile(r"-\d{2,}")


class Command(TyperCommand):
    """Takes an emission key as SQL prints it, which may be negative, for no option."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        """Read the words of the command line."""
        keys = [f"0x{int(word) & (1 << 64) - 1:x}" if _NEGATIVE.fullmatch(word) else word for word in args]
        return super().parse_args(ctx, keys)


def explain(
    call: Annotated[
        str | None,
        typer.Argument(
            metavar="[CALL_ID]",
            help="A call's id or its beginning, or an emission_key, decimal or 0x...",
        ),
    ] = None,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            help="A policy, as docker-agent:v1 or rtk,min_tokens=50.", show_default="docker-agent, rtk"
        ),
    ] = None,
    assignments: Settings = None,
    verdict: Annotated[
        Literal["sound", "dangling", "false", "hidden"] | None,
        typer.Option(help="Explain the largest elisions of this verdict, instead of one call."),
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="With --verdict: so many.")] = 5,
    stubs: Annotated[
        bool,
        typer.Option(
            "--stubs", help="List the markers that hosts and engines left in the logs, with their verdicts."
        ),
    ] = False,
    tools: Tools = None,
    shell_reads: ShellReads = False,
    form: Annotated[
        Literal["table", "md", "json"] | None,
        typer.Option("--format", help="Guessed from the file's name.", show_default="table"),
    ] = None,
    output: Output = None,
    full_paths: Annotated[
        bool, typer.Option("--full-paths", help="Paths, commands and session ids whole.")
    ] = False,
    db: Db = None,
) -> None:
    """Why was this elided, and was it true? The full story of one decision.

    Tells the call, its earlier results and where they stood, what the ledger held, what the elision truly
    was, and what another revision, preset, wiring or ledger would have done. Each session has the engine to
    itself. --policy and --set may be given several times; a policy is explained in its first preset.

    Example: dedupstats explain --policy rtk --verdict false --top 5
    """
    from dedupstats.cli.nothing import refuse_without
    from dedupstats.errors import UsageError
    from dedupstats.report.tables import format_of

    if (call is not None) + (verdict is not None) + stubs != 1:
        raise UsageError(
            "give one of CALL_ID, --verdict or --stubs", "e.g. dedupstats explain --verdict dangling --top 3"
        )
    chosen = form or ("table" if output is None else format_of(output, _FORMATS))
    knowledge = _knowledge(tools, shell_reads=shell_reads)
    if not stubs:
        reprice(db)
    with opened(db) as store:
        refuse_without(store, "tool results")
        if stubs:
            parts, members = _stubs(store, full_paths=full_paths)
        else:
            asked = _Asked(store, _variants(policy, assignments), knowledge, full_paths)
            parts, members = (
                asked.call(typed("the call", call or "")) if verdict is None else asked.verdict(verdict, top)
            )
    _deliver(parts, members, chosen, output)


def _knowledge(tools: Path | None, *, shell_reads: bool) -> Knowledge:
    from dedupstats.simulate.knowledge import Knowledge, read_tools

    return Knowledge({} if tools is None else read_tools(tools), shell_reads)


def _variants(policies: list[str] | None, assignments: list[str] | None) -> list[Variant]:
    """Each policy in its headline preset."""
    from dedupstats.simulate.variants import variants

    return [one for one in variants(policies or _ENGINES, assignments or ()) if one.is_headline]


def _stubs(store: Store, *, full_paths: bool) -> _Answer:
    from dedupstats.report import explain_text
    from dedupstats.simulate import stubs

    found = stubs.stubs(store)
    return [explain_text.stubs(found, full_paths=full_paths)], explain_text.document(stubs=found)


@dataclass(frozen=True, slots=True)
class _Asked:
    """What decisions are asked about, and how they are to be shown."""

    store: Store
    policies: list[Variant]
    knowledge: Knowledge
    full_paths: bool

    def call(self, text: str) -> _Answer:
        """One result in full."""
        from dedupstats.report import explain_text
        from dedupstats.simulate.explain import explain as told
        from dedupstats.simulate.find import find

        story = told(self.store, find(self.store, text), self.policies, knowledge=self.knowledge)
        parts = list(explain_text.explained(story, full_paths=self.full_paths))
        return parts, explain_text.document(explanations=[story])

    def verdict(self, verdict: str, top: int) -> _Answer:
        """The largest elisions of a verdict, each told in brief by those that made it."""
        from dedupstats.report import explain_text
        from dedupstats.simulate.explain import explain as told
        from dedupstats.simulate.find import largest
        from dedupstats.simulate.verdicts import Verdict

        found = largest(self.store, self.policies, Verdict(verdict), top, knowledge=self.knowledge)
        stories = []
        for key in dict.fromkeys(elision.emission_key for elision in found):
            made = {elision.policy for elision in found if elision.emission_key == key}
            theirs = [policy for policy in self.policies if policy.label in made]
            stories.append(told(self.store, key, theirs, knowledge=self.knowledge, with_others=False))
        parts: list[Part] = [explain_text.elisions(found, stories, verdict, full_paths=self.full_paths)]
        for story in stories:
            parts += explain_text.explained(story, full_paths=self.full_paths, brief=True)
        return parts, explain_text.document(explanations=stories, elisions=found)


def _deliver(
    parts: list[Part], members: dict[str, Any], form: Literal["table", "md", "json"], output: Path | None
) -> None:
    import sys

    from dedupstats.report import explain_text
    from dedupstats.report.tables import deliver, json_document, wants_colour, width_of

    stream = sys.stdout if output is None else None
    if form == "json":
        deliver(json_document(members), output)
    elif form == "md":
        deliver(explain_text.as_markdown(parts), output)
    else:
        deliver(explain_text.printed(parts, width=width_of(stream), colour=wants_colour(stream)), output)
