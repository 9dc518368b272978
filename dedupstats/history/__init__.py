"""What is true of a history whatever the policy: order, copies, families, sight, repeat rules.

`complete` settles it over the whole store, so that neither the order of imports nor their number matters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dedupstats.history.copies import settle_copies, settle_requests, settle_sessions
from dedupstats.history.events import settle_events
from dedupstats.history.rules import settle_rules

if TYPE_CHECKING:
    from dedupstats.store import Store

__all__ = ["complete"]


def complete(store: Store) -> None:
    """Fill the schema `derived` anew from the schema `raw`, in the transaction that is open.

    Sessions with their families, then originals and copies, then each emission's place and repeat rules,
    then the place of what happens between them, then each request's owner.
    """
    settle_copies(store)
    settle_sessions(store)
    settle_rules(store)
    settle_events(store)
    settle_requests(store)
    store.query("drop table original")
    store.query("delete from raw.meta where key = 'settled'")
    store.query("insert into raw.meta values ('settled', epoch_us(now())::varchar)")
