"""What commands say where a store has nothing to answer from: one line, and what to type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from dedupstats.store import Store

_TABLES: Final = {"tool results": "emission", "requests of a model": "request"}


def refuse_without(store: Store, what: Literal["tool results", "requests of a model"]) -> None:
    """Refuse a store that holds none of what a command is about.

    Raises:
        NothingFoundError: It is empty, or has RTK's rows alone.
    """
    from dedupstats.errors import NothingFoundError

    if store.query(f"select 1 from {_TABLES[what]} limit 1"):
        return
    if store.query("select 1 from rtk_command limit 1"):
        raise NothingFoundError(
            f"the store {store.path} holds RTK's rows alone, and no {what}",
            "type `dedupstats report` for what these tell, or `dedupstats import PATH` to add logs",
        )
    raise NothingFoundError(
        f"the store {store.path} holds no {what}",
        "type `dedupstats import` (default places) or `dedupstats import PATH`",
    )
