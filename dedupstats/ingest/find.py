"""Walking folders for candidate files, each file once, and telling cheaply whether a file has changed."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from dedupstats.sources.base import FileInfo

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_LEFT_OUT = frozenset({".git"})
"""Folders that hold thousands of files and never a log."""

_EDGE = 4096


def walk(roots: Iterable[str], on_error: Callable[[str, str], None]) -> list[FileInfo]:
    """All regular files below the roots, sorted by path; symbolic links are followed, no file comes twice.

    Args:
        roots: Files and folders.
        on_error: Told of what cannot be read: path and reason.
    """
    found: dict[str, FileInfo] = {}
    seen: set[tuple[int, int]] = set()
    pending = [os.path.realpath(root) for root in roots]
    while pending:
        path = pending.pop()
        try:
            status = os.stat(path)
        except OSError as error:
            on_error(path, error.strerror or str(error))
            continue
        identity = (status.st_dev, status.st_ino)
        if identity in seen:
            continue
        if stat.S_ISREG(status.st_mode):
            seen.add(identity)
            found[path] = FileInfo(path, status.st_size, status.st_mtime_ns)
        elif stat.S_ISDIR(status.st_mode):
            seen.add(identity)
            try:
                pending.extend(_entries(path, found, seen))
            except OSError as error:
                on_error(path, error.strerror or str(error))
    return [found[path] for path in sorted(found)]


def _entries(folder: str, found: dict[str, FileInfo], seen: set[tuple[int, int]]) -> list[str]:
    """Take the folder's files; return what has to be looked at further: folders and links."""
    further = []
    with os.scandir(folder) as entries:
        # sorted, so that of two hard links the same one is taken on every run
        for entry in sorted(entries, key=lambda entry: entry.name):
            if entry.is_symlink():
                further.append(os.path.realpath(entry.path))
            elif entry.is_dir():
                if entry.name not in _LEFT_OUT:
                    further.append(entry.path)
            elif entry.is_file():
                status = entry.stat()
                identity = (status.st_dev, status.st_ino)
                if identity not in seen or not status.st_ino:
                    seen.add(identity)
                    found[entry.path] = FileInfo(entry.path, status.st_size, status.st_mtime_ns)
    return further


def fingerprint(file: FileInfo) -> bytes | None:
    """Hash of the first and last 4 KiB; None if the file cannot be read.

    Guards against copies with preserved or coarse times. It does not see an edit in the middle that keeps
    size, head, tail and time (methods.md 1.4): `--force` is for that.
    """
    try:
        with Path(file.path).open("rb", buffering=0) as opened:
            digest = hashlib.blake2b(opened.read(_EDGE), digest_size=16)
            if file.size > _EDGE:
                opened.seek(max(_EDGE, file.size - _EDGE))
                digest.update(opened.read(_EDGE))
            return digest.digest()
    except OSError:
        return None
