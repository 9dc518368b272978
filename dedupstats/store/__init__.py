"""The store: one DuckDB file, its migrations, its views."""

from dedupstats.store.store import MIGRATIONS, Store, default_path, open_store

__all__ = ["MIGRATIONS", "Store", "default_path", "open_store"]
