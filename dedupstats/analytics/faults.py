"""What an import could not use: records that were skipped, and files that could not be read at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dedupstats.ingest.summary import UNREADABLE

if TYPE_CHECKING:
    from dedupstats.store import Store


@dataclass(frozen=True, slots=True)
class Faults:
    """What is in no figure, in the whole store.

    Attributes:
        records: Records that were skipped.
        files: Files of which nothing could be read; they are no records.
    """

    records: int
    files: int


def faults(store: Store) -> Faults:
    """Count the rows of the view `skipped` by what they are.

    Example:
        >>> from dedupstats.store import open_store
        >>> with open_store(":memory:") as store:
        ...     faults(store)
        Faults(records=0, files=0)
    """
    ((records, files),) = store.query(
        "select coalesce(sum(records) filter (not is_file), 0)::bigint, count(*) filter (is_file) "
        "from (select records, line = 0 and starts_with(reason, ?) as is_file from skipped)",
        [UNREADABLE],
    )
    return Faults(records, files)
