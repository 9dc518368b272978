"""Walking folders for candidate files, each file once, and telling cheaply whether a file has changed."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from typing import TYPE_CHECKING, NamedTuple

from dedupstats.sources.base import FileInfo
from dedupstats.sources.probe import BOM, SQLITE_MAGIC

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

Identity = tuple[int, int] | str
"""Device and inode, which links to one file share; the path where the system has no inodes."""

_LEFT_OUT = frozenset({".git"})
"""Folders that hold thousands of files and never a log."""

_EDGE = 4096
_FLAGS = os.O_RDONLY | getattr(os, "O_BINARY", 0)


def walk(roots: Iterable[str], on_error: Callable[[str, str], None]) -> list[FileInfo]:
    """All regular files below the roots, sorted by path; symbolic links are followed, no file comes twice.

    Pipes, sockets and devices are passed over without being opened. Of several hard links to one file the
    smallest path is taken, whatever the order of the roots.

    Args:
        roots: Files and folders.
        on_error: Told of what cannot be read: path and reason.
    """
    found: dict[Identity, FileInfo] = {}
    walked: set[Identity] = set()
    pending = [os.path.realpath(root) for root in roots]
    while pending:
        path = pending.pop()
        try:
            status = os.stat(path)
            if stat.S_ISREG(status.st_mode):
                _take(found, path, status)
            elif stat.S_ISDIR(status.st_mode) and (identity := _identity(path, status)) not in walked:
                walked.add(identity)
                pending.extend(_entries(path, found, on_error))
        except OSError as error:
            on_error(path, error.strerror or str(error))
    return sorted(found.values())


def _entries(folder: str, found: dict[Identity, FileInfo], on_error: Callable[[str, str], None]) -> list[str]:
    """Take the folder's files; return what has to be looked at further: folders and what links lead to."""
    further = []
    with os.scandir(folder) as entries:
        for entry in entries:
            # one that vanishes meanwhile must not take the rest of the folder with it
            try:
                # most are plain files
                if entry.is_file(follow_symlinks=False):
                    _take(found, entry.path, entry.stat())
                elif entry.is_symlink():
                    further.extend(_target(entry.path, on_error))
                elif entry.is_dir(follow_symlinks=False) and entry.name not in _LEFT_OUT:
                    further.append(entry.path)
            except OSError as error:
                on_error(entry.path, error.strerror or str(error))
    return further


def _target(link: str, on_error: Callable[[str, str], None]) -> list[str]:
    """Where a link leads; nothing if it leads nowhere, or round in a circle."""
    try:
        return [os.path.realpath(link, strict=True)]
    except OSError as error:
        on_error(link, f"link to {_linked(link)}: {error.strerror or error}")
        return []


def _linked(link: str) -> str:
    try:
        return os.readlink(link)
    except OSError:
        return "nowhere"


def _take(found: dict[Identity, FileInfo], path: str, status: os.stat_result) -> None:
    identity = _identity(path, status)
    other = found.get(identity)
    if other is None or path < other.path:
        found[identity] = FileInfo(path, status.st_size, status.st_mtime_ns)


def _identity(path: str, status: os.stat_result) -> Identity:
    return (status.st_dev, status.st_ino) if status.st_ino else path


def stat_file(path: str) -> FileInfo | None:
    """Size and time of a regular file; None for anything else, and for what cannot be looked at."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return FileInfo(path, status.st_size, status.st_mtime_ns) if stat.S_ISREG(status.st_mode) else None


def is_gone(path: str) -> bool:
    """Whether there is certainly no such file any more; not so if its folder merely cannot be read."""
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False


_ESCAPED_BYTE = re.compile(r"\\udc([89a-f][0-9a-f])")


def real_path(stored: str) -> str:
    r"""The path of a file as the system knows it, from the text that the store holds.

    Bytes of a name that are no UTF-8 stand in the store as visible escapes (`\udcff`).

    Example:
        >>> real_path(r"/no/such/a\udcff") == "/no/such/a\udcff"
        True
    """
    if "\\udc" not in stored or os.path.lexists(stored):
        return stored
    return _ESCAPED_BYTE.sub(lambda match: chr(0xDC00 + int(match[1], 16)), stored)


class Look(NamedTuple):
    """What the ends of a file tell."""

    fingerprint: bytes
    """hash of the first and last 4 KiB; empty if the file cannot be read"""
    is_database: bool
    """it begins as a SQLite file does"""
    is_text: bool
    """by its beginning it is neither a database nor JSON objects: text, media"""


def look(file: FileInfo) -> Look:
    """Look at the first and last 4 KiB of a file.

    The fingerprint guards against copies with preserved or coarse times. It does not see an edit in the
    middle that keeps size, head, tail and time (methods.md 1.4): `--force` is for that.
    """
    # Through the system's own calls: file objects cost a third of an import that finds nothing new.
    try:
        opened = os.open(file.path, _FLAGS)
        try:
            ends = head = os.read(opened, _EDGE)
            if file.size > _EDGE:
                os.lseek(opened, max(_EDGE, file.size - _EDGE), os.SEEK_SET)
                ends += os.read(opened, _EDGE)
        finally:
            os.close(opened)
    except OSError:
        return Look(b"", is_database=False, is_text=False)
    is_object = head.startswith(b"{") or head.removeprefix(BOM).lstrip().startswith(b"{")
    is_database = not is_object and head.startswith(SQLITE_MAGIC)
    mark = hashlib.blake2b(ends, digest_size=16).digest()
    return Look(mark, is_database, not (is_object or is_database))
