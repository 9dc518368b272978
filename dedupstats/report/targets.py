r"""What a call was about (a path, a command, a pattern, an address), made short.

A path becomes its last part. What else stands there is an argument, which a report that may be shared shows
only by its kind; `rates`, which prints for its own reader, shows it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dedupstats.report.text import short_path, short_paths

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dedupstats.report.names import Names

_ROOTED = re.compile(r"(?:[A-Za-z]:|~|\.{1,2})?[/\\]")
_NO_PATH = re.compile(r"[\n|&;<>$\"'`]|://|\s-")
_FILE = re.compile(r"[^\s/\\]+\.\w{1,8}")
_SHELL = re.compile(r"bash|shell|terminal|command|exec", re.IGNORECASE)
_PROGRAM = re.compile(r"[\w.+~:/\\-]+")
_HOST = re.compile(r"[a-z]+://(?:[^/@\s]*@)?([^/:?#\s]+)")


def is_path(target: str) -> bool:
    r"""Whether a target looks like the path of a file or folder, and like nothing else.

    Example:
        >>> [is_path(text) for text in ("/a/b c.py", "D:\\x", "src/a.py", "a.py")]
        [True, True, True, True]
        >>> [is_path(text) for text in ("ls /a -l", "https://a/b", "x", "cat a/b")]
        [False, False, False, False]
    """
    if _NO_PATH.search(target):
        return False
    if _ROOTED.match(target) or _FILE.fullmatch(target):
        return True
    return "/" in target and not re.search(r"\s", target)


def short_targets(targets: Iterable[str]) -> dict[str, str]:
    """Paths by their last part, or as much as tells them apart; everything else whole."""
    wanted = set(targets)
    return {target: target for target in wanted} | short_paths(sorted(filter(is_path, wanted)))


def shared_target(tool: str, target: str, names: Names) -> str:
    """A target as a report shows it: a path by its name, a command by its program, an address by its host."""
    if is_path(target):
        return names.path(target)
    is_secret = "--anonymize" in names.options
    if names.options and not is_secret:
        return target
    host = _HOST.match(target)
    if host:
        return "(address)" if is_secret else f"{host[1]} …"
    if _SHELL.search(tool):
        if is_secret:
            return "(command)"
        words = (word for word in target.split() if "=" not in word)
        program = next(words, "")
        return f"{short_path(program)} …" if _PROGRAM.fullmatch(program) else "(command)"
    return "(text)"
