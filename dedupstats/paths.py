"""Paths as a person types them."""

from __future__ import annotations

from pathlib import Path

from dedupstats.errors import DedupstatsError, UsageError


def expanded(path: Path | str) -> Path:
    """The path with `~` or `~user` in front replaced by the home folder.

    Raises:
        UsageError: There is no such user, or nobody knows where the home folder is.
    """
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        raise UsageError(
            f"there is no home folder {Path(path).parts[0]}", "write the path without ~, or ./~ for that name"
        ) from error


def plain_file(path: Path, hint: str = "name a file") -> Path:
    """The path, if it is no folder, pipe, socket or device, from which reading could wait for ever.

    Args:
        path: As typed; a missing file is told when it is opened.
        hint: What to do instead.

    Raises:
        DedupstatsError: It is one of these.
    """
    if not path.is_file() and path.exists():
        kind = "a folder" if path.is_dir() else "no plain file (a pipe, socket or device)"
        raise DedupstatsError(f"cannot read {path}: it is {kind}", hint)
    return path


def for_duckdb(path: Path) -> str:
    """The path as DuckDB takes it: as UTF-8.

    Raises:
        UsageError: Its name has bytes that are none.
    """
    text = str(path)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise UsageError(f"the name of {path} is no UTF-8, which DuckDB wants", "name another") from error
    return text
