"""Policies replayed on a store's history, with what a reader needs beside the figures.

The replay itself is `dedupstats.simulate`; here a window becomes what is counted, keys get their names, and
sources whose logs no policy can be replayed on are named with the reason.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

from dedupstats.analytics.rtk_bounds import rtk_bounds
from dedupstats.analytics.units import input_side
from dedupstats.analytics.window import Window, check_names, local_zone, near
from dedupstats.errors import NothingFoundError, UsageError
from dedupstats.history.pricing import basis
from dedupstats.model import ReadOnly
from dedupstats.policies.parameters import Words
from dedupstats.simulate import run
from dedupstats.simulate.knowledge import Knowledge
from dedupstats.simulate.save import Spool
from dedupstats.simulate.variants import variants as all_variants
from dedupstats.sources import all_sources

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from dedupstats.analytics.units import InputSide, TokenRule
    from dedupstats.policies.parameters import Value
    from dedupstats.simulate.run import Simulation
    from dedupstats.simulate.score import Score
    from dedupstats.simulate.timeline import Scope
    from dedupstats.simulate.variants import Variant
    from dedupstats.store import Store


class Named(NamedTuple):
    """A session as people know it."""

    session_id: str
    project: str | None
    begins: datetime | None
    """aware; of the session's first row"""


class Called(NamedTuple):
    """A tool result that is an example."""

    call_id: str | None
    """of the log; None: it has none"""
    tool: str
    session_id: str


@dataclass(frozen=True, slots=True)
class Refused:
    """A source in the store that no policy can be replayed on, and what its records can tell instead.

    Attributes:
        source: Its name.
        title: As people call it.
        why: What its logs lack.
        commands: Commands that it recorded; 0: it records none.
        repeats: Of these, those with an earlier one of the same command line: an upper bound.
    """

    source: str
    title: str
    why: str
    commands: int
    repeats: int


@dataclass(frozen=True, slots=True)
class Replays:
    """What policies would have done on a history.

    Attributes:
        simulation: The replay: sums of what is counted, variants, and the score of each.
        knowledge: What a person said of tools.
        window: What is counted; the whole history was replayed.
        zone: Name of the time zone of dates.
        first: Time of the first result that is counted, aware; None: none has a time.
        last: Time of the last.
        sessions: Sessions with an elision, by key.
        examples: Elisions that are named as examples, by emission key.
        unknown: Results by tool of which nobody says whether it only reads, most first.
        refused: Sources that are left out, with the reason.
        side: The input of all requests of the window; None: tokens are bytes / 4, and no cost was looked at.
        basis: Where prices are from, with their date; None: there are none.
        unmet: What was said of tools and toolsets that no result is of, in words: most likely misspelt.
    """

    simulation: Simulation
    knowledge: Knowledge
    window: Window
    zone: str
    first: datetime | None
    last: datetime | None
    sessions: dict[int, Named]
    examples: dict[int, Called]
    unknown: dict[str, int]
    refused: tuple[Refused, ...]
    side: InputSide | None
    basis: str | None
    unmet: tuple[str, ...]

    @property
    def rows(self) -> list[tuple[Variant, Score]]:
        """Each variant with its score."""
        return list(zip(self.simulation.variants, self.simulation.scores, strict=True))


def replay(
    store: Store,
    variants: Sequence[Variant] | None = None,
    *,
    window: Window | None = None,
    scope: Scope = "session",
    knowledge: Knowledge | None = None,
    jobs: int = 1,
    save: str | None = None,
    tokens: TokenRule = "ladder",
    progress: Callable[[int, int], None] | None = None,
) -> Replays:
    """Replay a store's history under some policies and say what their decisions were worth, and how true.

    Args:
        store: An open store; read-only will do unless `save` is given.
        variants: Policies with their settings, from `dedupstats.variants`; None: all that are shipped.
        window: Which results are counted; the whole history is replayed whatever it says.
        scope: `session`: each session has a process of the engine to itself. `history`: one process lives
            through all sessions, in order of time.
        knowledge: What goes before the sources' knowledge of tools.
        jobs: Processes; more than one need a store that is open for reading only, and scope `session`.
            A script that asks for more than one has its statements below `if __name__ == "__main__":`.
        save: Keep the decisions in the store under this name, for the view `decision`.
        tokens: How tokens are counted: by the estimator ladder, with what carrying them cost; or `bytes4`,
            bytes / 4, rounded up, and no costs.
        progress: Is told how many of how many pieces are done.

    Returns:
        Sums for each variant, in UTF-8 bytes, tokens of results once, tokens times the requests that sent
        them, and USD at list prices.

    Raises:
        NothingFoundError: The store holds no tool results; of RTK's rows alone it names the upper bound.
        UsageError: Several processes with scope `history` or with `save`; a window with a name that the store
            does not have.

    Example:
        >>> import dedupstats
        >>> with dedupstats.open_store(":memory:") as store:
        ...     summary = dedupstats.import_paths(store, ["sample_data/claude_code"])
        ...     found = dedupstats.replay(store, dedupstats.variants(["docker-agent", "safe"]))
        >>> [variant.label for variant, _ in found.rows]
        ['docker-agent:v3 (host)', 'docker-agent:v3 (documented)', 'safe']
        >>> all(score.sound.results <= score.elided.results for _, score in found.rows)
        True
    """
    if save is None:
        return replayed(
            store,
            variants,
            window=window,
            scope=scope,
            knowledge=knowledge,
            jobs=jobs,
            tokens=tokens,
            progress=progress,
        )
    if jobs > 1:
        raise UsageError("several processes cannot read a store that is open for saving", "use one process")
    with TemporaryDirectory(prefix="dedupstats-") as folder:
        spool, begun = Spool(Path(folder)), time.time_ns() // 1000
        found = replayed(
            store,
            variants,
            window=window,
            scope=scope,
            knowledge=knowledge,
            spool=spool,
            tokens=tokens,
            progress=progress,
        )
        spool.keep(store, save, found.simulation, found.knowledge, begun)
    return found


def replayed(
    store: Store,
    variants: Sequence[Variant] | None = None,
    *,
    window: Window | None = None,
    scope: Scope = "session",
    knowledge: Knowledge | None = None,
    jobs: int = 1,
    spool: Spool | None = None,
    tokens: TokenRule = "ladder",
    progress: Callable[[int, int], None] | None = None,
) -> Replays:
    """As `replay`, for a store that is open for reading only; a spool takes the decisions.

    Raises:
        NothingFoundError: As `replay`.
        UsageError: Several processes with scope `history`; a window with a name that the store does not have.
    """
    if jobs > 1 and scope == "history":
        raise UsageError(
            "--scope history is one process over all sessions: it cannot be parted", "leave out --jobs"
        )
    left_out = refused(store)
    window, knowledge = window or Window(), knowledge or Knowledge()
    _check(store, window, left_out)
    counted, parameters = window.counted()
    chosen = all_variants() if variants is None else variants
    if jobs > 1 and isinstance(store.path, Path):
        from dedupstats.simulate.workers import Job, simulate_in_processes

        job = Job(store.path, chosen, knowledge, counted, parameters, spool, tokens)
        simulation = simulate_in_processes(store, job, jobs, progress)
    else:
        simulation = run.simulate(
            store,
            chosen,
            scope=scope,
            knowledge=knowledge,
            counted=counted,
            parameters=parameters,
            tokens=tokens,
            take=spool.take if spool is not None else None,
            progress=progress,
        )
    first, last = _span(store, counted, parameters)
    return Replays(
        simulation,
        knowledge,
        window,
        window.zone or local_zone(),
        first,
        last,
        _sessions(store, simulation),
        _examples(store, simulation),
        _unknown(store, knowledge, counted, parameters),
        left_out,
        None if tokens == "bytes4" else input_side(store, window),
        basis(store),
        _unmet(store, knowledge, chosen),
    )


def refused(store: Store) -> tuple[Refused, ...]:
    """The sources in a store whose logs lack what policies need."""
    there = {source for (source,) in store.query("select distinct source from unit")}
    found = []
    for source in all_sources():
        if source.name not in there or source.capabilities.content:
            continue
        bounds = rtk_bounds(store.connection) if source.name == "rtk" else None
        if source.name == "rtk" and bounds is None:
            continue
        published = bounds.bounds[0] if bounds is not None else None
        found.append(
            Refused(
                source.name,
                source.title,
                "no text and no sessions" if not source.capabilities.sessions else "no text",
                published.commands if published is not None else 0,
                published.repeats if published is not None else 0,
            )
        )
    return tuple(found)


def in_words(source: Refused) -> str:
    """Why a source is left out, and the upper bound that stands in its place.

    Example:
        >>> in_words(Refused("x", "X", "no text", 0, 0))
        'X holds no text: no policy can be replayed on it'
    """
    if not source.commands:
        return f"{source.title} holds {source.why}: no policy can be replayed on it"
    return (
        f"{source.title} holds {source.why}: no policy can be replayed on its {source.commands:,} commands. "
        f"Upper bound: {source.repeats:,} of them repeat a command line"
    )


def _check(store: Store, window: Window, left_out: tuple[Refused, ...]) -> None:
    """Refuse a store without tool results, a window on sources that are left out, and unknown names."""
    asked = [source for source in left_out if source.source in window.sources]
    is_empty = not store.query("select 1 from emission limit 1")
    if asked or (is_empty and left_out):
        raise NothingFoundError(
            "; ".join(map(in_words, asked or left_out)), "`dedupstats import PATH` adds the logs of an agent"
        )
    if is_empty:
        raise NothingFoundError(
            f"the store {store.path} holds no tool results",
            "type `dedupstats import` (default places) or `dedupstats import PATH`",
        )
    check_names(store, window)


def _span(store: Store, counted: str, parameters: dict[str, Any]) -> tuple[datetime | None, datetime | None]:
    ((first, last),) = store.query(
        f"select min(e.ts), max(e.ts) from emission e where not e.is_copy and {counted}", parameters
    )
    return first and first.replace(tzinfo=UTC), last and last.replace(tzinfo=UTC)


def _sessions(store: Store, simulation: Simulation) -> dict[int, Named]:
    wanted = {key for score in simulation.scores for key in score.sessions}
    rows = store.query(
        "select session_key, session_id, project, started_at from session where session_key in "
        "(select unnest(?::bigint[])) order by session_key",
        [sorted(wanted)],
    )
    return {
        key: Named(session_id, project, begins and begins.replace(tzinfo=UTC))
        for key, session_id, project, begins in rows
    }


def _examples(store: Store, simulation: Simulation) -> dict[int, Called]:
    wanted = {
        example.emission_key
        for score in simulation.scores
        for examples in score.examples.values()
        for example in examples
    }
    rows = store.query(
        "select emission_key, call_id, tool, session_id from emission where emission_key in "
        "(select unnest(?::bigint[])) order by emission_key",
        [sorted(wanted)],
    )
    return {key: Called(*row) for key, *row in rows}


def _unmet(store: Store, knowledge: Knowledge, variants: Sequence[Variant]) -> tuple[str, ...]:
    """What a person said of tools and toolsets that are in no log."""
    tools = [tool for (tool,) in store.query("select distinct tool from emission order by tool")]
    found = [
        f"--tools: no result is of {name!r}; {near(name, tools)}"
        for name in sorted(knowledge.tools.keys() - set(tools))
    ]
    rows = store.query("select distinct category from emission where category is not null order by all")
    toolsets = {toolset for (toolset,) in rows} | {one.category for one in knowledge.tools.values()}
    wanted: set[str] = set()
    for variant in variants:
        for parameter in variant.spec.definition.parameters:
            if isinstance(parameter, Words):
                toolsets |= _words(parameter.defaults.values())
                wanted |= _words([variant.spec.settings.get(parameter.name)])
    known = sorted(toolset for toolset in toolsets if toolset)
    return (
        *found,
        *(
            f"categories: no tool is of the toolset {name!r}; {near(name, known)}"
            for name in sorted(wanted - set(known))
        ),
    )


def _words(values: Iterable[Value | None]) -> set[str]:
    """Every word of the values that are sets of words."""
    return {word for value in values if isinstance(value, frozenset) for word in value}


def _unknown(store: Store, knowledge: Knowledge, counted: str, parameters: dict[str, Any]) -> dict[str, int]:
    """Counted results by tool of which neither its source nor the person says whether it only reads."""
    rows = store.query(
        "select e.tool, e.read_only, count(*) as n from emission e "
        f"where not e.is_copy and e.call_key is not null and {counted} "
        "group by all order by n desc, e.tool, e.read_only",
        parameters,
    )
    found: dict[str, int] = {}
    for tool, read_only, number in rows:
        said = knowledge.tools.get(tool)
        known = said.read_only if said is not None and said.read_only is not None else ReadOnly(read_only)
        if known is ReadOnly.UNKNOWN:
            found[tool] = found.get(tool, 0) + number
    return found
