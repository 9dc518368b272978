"""All documented views as Parquet files, for other programs and machines."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from dedupstats.errors import DedupstatsError, UsageError
from dedupstats.paths import expanded, for_duckdb

if TYPE_CHECKING:
    from dedupstats.store import Store


def export_views(store: Store, folder: Path, *, force: bool = False) -> list[tuple[Path, int]]:
    """Write every view as `<view>.parquet` into a folder, all of them or none.

    The files are made in a temporary folder beside it and then moved. Rows are sorted by all their columns:
    the same history gives the same files.

    Args:
        store: An open store; reading is enough.
        folder: Where to; made if need be.
        force: Write into a folder that holds other files too; those stay, files of these names are replaced.

    Returns:
        Each file with its number of rows.

    Raises:
        UsageError: The folder holds files that are no export, and `force` is not given.
        DedupstatsError: It cannot be written.
    """
    names = [
        name
        for (name,) in store.query(
            "select view_name from duckdb_views() where schema_name = 'main' and not internal order by all"
        )
    ]
    target = Path(os.path.realpath(expanded(folder)))
    _refuse_foreign(target, folder, names, force=force)
    beside = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        beside.mkdir(parents=True)
        try:
            counts = [_copy(store, name, beside / f"{name}.parquet") for name in names]
            target.mkdir(exist_ok=True)
            for name in names:
                (beside / f"{name}.parquet").replace(target / f"{name}.parquet")
        finally:
            shutil.rmtree(beside, ignore_errors=True)
    except (OSError, duckdb.IOException) as error:
        reason = getattr(error, "strerror", None) or str(error).splitlines()[0]
        raise DedupstatsError(f"cannot write to {folder}: {reason}", "name another folder") from error
    return [(folder / f"{name}.parquet", number) for name, number in zip(names, counts, strict=True)]


def _refuse_foreign(target: Path, folder: Path, names: list[str], *, force: bool) -> None:
    if not target.exists():
        return
    if not target.is_dir():
        raise UsageError(f"{folder} is a file", "name a folder")
    own = {f"{name}.parquet" for name in names}
    foreign = sorted(entry.name for entry in target.iterdir() if entry.name not in own)
    if foreign and not force:
        raise UsageError(
            f"{folder} holds other files ({len(foreign)}, {foreign[0]!r} among them)",
            "name an empty or new folder, or use --force: other files stay",
        )


def _copy(store: Store, view: str, path: Path) -> int:
    place = for_duckdb(path).replace("'", "''")
    rows = store.query(f"copy (from {view} order by all) to '{place}' (format parquet, compression zstd)")
    return int(rows[0][0])
