"""Importing: from files to a store whose history is settled.

Finds, recognises and reads files through the sources, writes through the store, then lets the history
settle what depends on more than one file.
"""

from __future__ import annotations

import os
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

from dedupstats.collector import collector_off
from dedupstats.economics import o200k
from dedupstats.history.pricing import is_priced, price_list
from dedupstats.ingest.find import is_gone, real_path
from dedupstats.ingest.plan import Plan
from dedupstats.ingest.summary import ImportSummary, Progress
from dedupstats.sources import all_sources
from dedupstats.sources.base import MAX_LINE_BYTES, Names, Reading, Unit
from dedupstats.sources.probe import WAL_SUFFIX
from dedupstats.store.store import WRITE_ERRORS, refused

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from dedupstats.economics.prices import Prices
    from dedupstats.store import Store

__all__ = ["ImportSummary", "import_paths"]


def import_paths(
    store: Store,
    paths: Sequence[str | Path] | None = None,
    *,
    force: bool = False,
    keep_content: bool = False,
    keep_targets: bool = True,
    max_line_bytes: int = MAX_LINE_BYTES,
    progress: Progress | None = None,
    environment: Mapping[str, str] | None = None,
) -> ImportSummary:
    """Import logs into the store.

    Files are recognised by content; unchanged ones are skipped; a changed one is read again and replaces
    its rows; rows whose file has vanished stay and are marked gone. Afterwards copies, sight and repeat
    rules are settled over the whole store, so that the order of imports does not matter.

    Args:
        store: An open, writable store.
        paths: Files and folders; None means every source's default places.
        force: Read unchanged files too.
        keep_content: Store the shown text of tool results.
        keep_targets: Store what calls are about (paths, commands); their hashes are stored anyhow.
        max_line_bytes: Longer lines are skipped and counted.
        progress: Called after each unit.
        environment: Environment variables by which default places, and prices of your own, are found.

    Returns:
        What was found, read, skipped.

    Raises:
        NothingFoundError: A path does not exist. That no log was found is no error here: see `files` of the
            summary.
        StoreError: The store cannot be written (a full disk, for one).
        UsageError: The prices of your own cannot be read.

    Example:
        >>> from dedupstats.store import open_store
        >>> with open_store(":memory:") as store:
        ...     import_paths(store, ["sample_data/rtk"]).files["rtk"]
        1
    """
    begun = time.monotonic()
    summary = ImportSummary()
    environment = os.environ if environment is None else environment
    prices = price_list(environment)
    counting = o200k.tokenizer_of if o200k.is_installed() else None
    reading = Reading(Names(), keep_content, keep_targets, max_line_bytes, counting)
    try:
        store.limit_memory()
        store.query("set checkpoint_threshold = '1GB'")
        with collector_off(), ExitStack() as probes:
            plan = Plan(store, {source.name: source for source in all_sources()}, summary, force=force)
            units = plan.units(plan.roots(paths, environment), probes)
            read_units = _take(store, plan, units, reading, progress)
        _finish(store, plan, prices)
        if read_units:
            _count_copies(store, summary, read_units)
    except WRITE_ERRORS as error:
        raise refused(store.path, error) from error
    summary.seconds = time.monotonic() - begun
    return summary


# Most imports of a day find nothing new: what writes and settles is loaded where there is something to do.


def _take(
    store: Store, plan: Plan, units: list[Unit], reading: Reading, progress: Progress | None
) -> list[int]:
    """Read what has to be read; returns the keys of the units that were."""
    if not (units or plan.broken or plan.dropped):
        return []
    from dedupstats.ingest.take import Taker

    taker = Taker(store, plan, reading)
    taker.read(units, progress)
    return taker.read_units


def _finish(store: Store, plan: Plan, prices: Prices) -> None:
    """Mark what is gone, settle the history if anything changed, fold the log into the file."""
    gone, back = _gone_and_back(plan)
    # nothing hangs on strangers and on notes of what could not be read: they go with their files
    vanished = [
        path
        for path, known in plan.known.items()
        if known.unit_key is None and path not in plan.seen and is_gone(real_path(path))
    ]
    unnoted = [path for path in plan.notes if path not in plan.seen and is_gone(real_path(path))]
    if gone or back or vanished or plan.notes or plan.strangers or plan.has_new_judges or store.is_stale:
        from dedupstats.ingest.write import append, delete_paths

        with store.transaction():
            _mark(store, gone, time.time_ns() // 1000)
            _mark(store, back, None)
            delete_paths(store, "raw.skipped", unnoted, "line = 0 and")
            delete_paths(store, "raw.file", [*vanished, *(row[0] for row in plan.strangers)])
            append(store, "raw.file", plan.strangers)
            store.query("delete from raw.meta where key = 'judges'")
            store.query("insert into raw.meta values ('judges', ?)", [plan.judges])
            store.query(_DROP_EMPTY_UNITS)
            if store.is_stale:
                from dedupstats import history

                history.complete(store)
                _settle_costs(store, prices)
                store.query("delete from raw.meta where key = 'stale'")
        store.checkpoint()
    if not is_priced(store, prices):
        with store.transaction():
            _settle_costs(store, prices)


def _settle_costs(store: Store, prices: Prices) -> None:
    from dedupstats.history.costs import settle_costs

    settle_costs(store, prices)


def _gone_and_back(plan: Plan) -> tuple[list[str], list[str]]:
    """Files of units that have vanished, and that are here again, since the store was last told."""
    gone, back = [], []
    for path, known in plan.known.items():
        # a write-ahead log comes and goes with the work on its database
        if known.unit_key is None or path.endswith(WAL_SUFFIX):
            continue
        if path not in plan.seen and is_gone(real_path(path)):
            gone.append((path, known.gone))
        elif known.gone:
            back.append(path)
    plan.summary.files_gone = len(gone)
    new = [path for path, is_known in gone if not is_known]
    plan.summary.files_gone_now = len(new)
    return new, back


def _count_copies(store: Store, summary: ImportSummary, read_units: list[int]) -> None:
    """Move results that the history found to be copies from used to copies, as the view `file` has it."""
    from dedupstats.ingest.write import append

    store.query("create or replace temp table met (unit_key bigint)")
    append(store, "met", [(key,) for key in read_units])
    ((copies,),) = store.query(
        "select coalesce(sum(f.copies), 0) - coalesce(sum(n.copies), 0) from file f "
        "join raw.file_count n on n.unit_key = f.unit_key and n.path = f.path "
        "where f.unit_key in (select unit_key from met)"
    )
    store.query("drop table met")
    summary.used -= int(copies)
    summary.copies += int(copies)


_DROP_EMPTY_UNITS = """
delete from raw.unit
where unit_key not in (select unit_key from raw.file where unit_key is not null)
    and unit_key not in (select unit_key from raw.skipped)
"""


def _mark(store: Store, paths: list[str], gone_at: int | None) -> None:
    """Set the time at which files were found to be gone, or None for those that are here again."""
    if paths:
        from dedupstats.ingest.write import met

        with met(store, paths):
            store.query("update raw.file set gone_at = ? where path in (select path from met)", [gone_at])
