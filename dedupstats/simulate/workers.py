"""A run in several processes: each opens the store for reading and replays stretches of whole families.

Their scores are whole numbers and are added in the order of the stretches, so the figures are those of one
process. Only sessions that share no state can be parted, so the scope is always `session`.
"""

from __future__ import annotations

import signal
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from dedupstats.errors import DedupstatsError
from dedupstats.simulate.replay import Replay
from dedupstats.simulate.run import begun
from dedupstats.simulate.timeline import Timeline
from dedupstats.store import open_store

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from dedupstats.economics.tokens import TokenRule
    from dedupstats.simulate.knowledge import Knowledge
    from dedupstats.simulate.run import Simulation
    from dedupstats.simulate.save import Spool
    from dedupstats.simulate.score import Score
    from dedupstats.simulate.variants import Variant
    from dedupstats.store import Store


class Job(NamedTuple):
    """What each process is told: the arguments of `dedupstats.simulate.run.simulate`."""

    path: Path
    variants: Sequence[Variant]
    knowledge: Knowledge
    counted: str
    parameters: Mapping[str, Any]
    spool: Spool | None
    """takes the decisions, if they are to be saved"""
    tokens: TokenRule = "ladder"

    def timeline(self, store: Store) -> Timeline:
        """The history in order, of a store that is open."""
        return Timeline(
            store,
            "session",
            self.knowledge,
            self.counted,
            self.parameters,
            tokens=self.tokens,
        )


def simulate_in_processes(
    store: Store, job: Job, jobs: int, progress: Callable[[int, int], None] | None = None
) -> Simulation:
    """Replay a store's history in several processes.

    Args:
        store: The store of the job, open for reading only: nobody can read along with a writer.
        job: What is replayed.
        jobs: How many processes; never more than there are stretches.
        progress: Is told how many of how many stretches are done.

    Raises:
        StoreError: Another process cannot open the store.
        DedupstatsError: One of the processes was ended before its work was done.
    """
    timeline = job.timeline(store)
    found = begun(timeline, "session", job.tokens, job.variants)
    stretches = timeline.stretches
    if not stretches:
        return found
    with ProcessPoolExecutor(
        min(jobs, len(stretches)),
        # a fork would take over DuckDB's threads in the middle of what they do
        mp_context=get_context("spawn"),
        initializer=_begin,
        initargs=(job,),
    ) as pool:
        try:
            for number, scores in enumerate(pool.map(_replay, stretches), 1):
                for mine, theirs in zip(found.scores, scores, strict=True):
                    mine.add(theirs)
                if progress is not None:
                    progress(number, len(stretches))
        except BrokenProcessPool as error:
            raise DedupstatsError(
                "a process of the replay was ended before its work was done (by hand, or for want of memory)",
                "leave out --jobs",
            ) from error
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return found


# -- in a worker ---------------------------------------------------------------------------------------------

_JOB: Final[list[Job]] = []
_AT_WORK: Final[list[tuple[Timeline, Replay]]] = []
"""made by the first stretch: what fails in a task is raised where its result is wanted, with its own words"""


def _begin(job: Job) -> None:
    # an interrupt ends a worker without a word; the parent has one
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    _JOB.append(job)


def _replay(stretch: tuple[int, int]) -> list[Score]:
    job = _JOB[0]
    if not _AT_WORK:
        # open until the process ends
        store = open_store(job.path, read_only=True)
        timeline = job.timeline(store)
        _AT_WORK.append((timeline, Replay(job.variants, "session")))
    timeline, replay = _AT_WORK[0]
    chunk = timeline.chunk(*stretch)
    replayed = replay.chunk(chunk)
    if job.spool is not None:
        job.spool.take(chunk, replayed)
    return [one.score for one in replayed]
