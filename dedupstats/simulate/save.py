"""Decisions kept in the store, where the view `decision` answers by SQL what no command foresaw.

A run writes them to files of its own, one for each chunk, and they go into the store at its end: so the store
is held for writing only as long as that takes, and several processes can write at the same time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dedupstats.errors import DedupstatsError
from dedupstats.simulate.verdicts import PLACES, VERDICTS
from dedupstats.sources.base import hash64

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import polars as pl

    from dedupstats.simulate.chunk import Chunk
    from dedupstats.simulate.knowledge import Knowledge
    from dedupstats.simulate.replay import Replayed
    from dedupstats.simulate.run import Simulation
    from dedupstats.simulate.variants import Variant
    from dedupstats.store import Store

_COLUMNS: Final = (
    "emission_key, action, reason, verdict, anchor_key, anchor_place, marker_bytes, other_call, "
    "twice_removed, changed_between, later_dangling, if_unknown_reads"
)


class Spool:
    """Takes the decisions of a run, chunk by chunk (`take` of `dedupstats.simulate.run.simulate`).

    Args:
        folder: An empty folder; the caller's to remove.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def take(self, chunk: Chunk, replayed: Sequence[Replayed]) -> None:
        """Write what every variant decided in a chunk.

        Raises:
            DedupstatsError: The folder cannot be written.
        """
        import polars as pl

        if chunk.start == len(chunk):
            return
        frames = [
            _frame(chunk, one).with_columns(pl.lit(number, pl.Int64).alias("variant"))
            for number, one in enumerate(replayed)
        ]
        # named by its place in the timeline, so that sorted names are the order of arrival
        file = self.folder / f"{int(chunk.columns['position'][chunk.start]):012}.parquet"
        try:
            pl.concat(frames).write_parquet(file)
        except OSError as error:
            raise DedupstatsError(
                f"cannot write {file}: {error.strerror or error}",
                "make room, or set TMPDIR to another folder",
            ) from error

    def keep(
        self, store: Store, name: str, simulation: Simulation, knowledge: Knowledge, saved_at: int
    ) -> int:
        """Put the decisions into the store, in place of those that an earlier run saved under the same name.

        Args:
            store: Open for writing.
            name: Of the saved replay: the column `name` of the view `decision`.
            simulation: The run that filled this spool.
            knowledge: What a person said of tools.
            saved_at: When it began to read the history, in microseconds UTC: an import after that makes the
                decisions those of another history (`is_current`).

        Returns:
            How many decisions were saved.
        """
        keys = [replay_key(name, variant) for variant in simulation.variants]
        with store.transaction():
            store.query(
                "delete from saved.decision where replay_key in "
                "(select replay_key from saved.replay where name = ?)",
                [name],
            )
            store.query("delete from saved.replay where name = ?", [name])
            store.append(
                "saved.replay",
                [
                    (
                        key,
                        name,
                        variant.spec.label,
                        variant.preset,
                        variant.settings,
                        simulation.scope,
                        saved_at,
                        knowledge.said,
                    )
                    for key, variant in zip(keys, simulation.variants, strict=True)
                ],
            )
            files = [str(file) for file in sorted(self.folder.glob("*.parquet"))]
            if not files:
                return 0
            rows = store.query(
                f"insert into saved.decision (replay_key, {_COLUMNS}) "
                f"select $keys[variant + 1], {_COLUMNS} from read_parquet($files)",
                {"keys": keys, "files": files},
            )
        return int(rows[0][0])


def replay_key(name: str, variant: Variant) -> int:
    """The key of a saved replay of one variant."""
    return hash64("replay", name, variant.label)


def _frame(chunk: Chunk, replayed: Replayed) -> pl.DataFrame:
    """One row for each result that the policy was asked about, as `saved.decision` holds them."""
    import polars as pl

    keys, judged = chunk.columns["emission_key"], replayed.judged
    asked = pl.DataFrame(
        {
            "place": np.arange(len(replayed.asked)),
            "emission_key": keys[replayed.asked].astype(np.int64),
            "action": pl.Series([answer.action.value for answer in replayed.answers], dtype=pl.String),
            "reason": pl.Series([answer.reason for answer in replayed.answers], dtype=pl.String),
        }
    )
    elided = pl.DataFrame(
        {
            "place": np.searchsorted(replayed.asked, judged.row),
            "verdict": _words(VERDICTS, judged.verdict),
            "anchor_key": keys[judged.anchor].astype(np.int64),
            "anchor_place": _words(PLACES, judged.place),
            "marker_bytes": judged.marker_bytes,
            "other_call": judged.other_call,
            "twice_removed": judged.twice_removed,
            "changed_between": judged.changed_between,
            "later_dangling": judged.later_dangling,
            "if_unknown_reads": judged.if_unknown_reads,
        }
    )
    return asked.join(elided, on="place", how="left", maintain_order="left").drop("place")


def _words(names: Sequence[str], numbers: Any) -> pl.Series:
    import polars as pl

    return pl.Series([str(names[number]) for number in numbers.tolist()], dtype=pl.String)
