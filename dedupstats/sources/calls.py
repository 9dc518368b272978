"""Keys of a call: when are two tool calls the same call?

Three answers, each a signed 64-bit integer cut from a SHA-256:

* ``call_key``: equal tool and equal arguments after the round trip through Go's ``encoding/json`` that
  docker-agent makes before it hashes (docker-agent.md 1.4): numbers pass through float64, broken text is
  ``null``.
* ``args_sha64``: equal arguments, exactly. Calls with one ``call_key`` and two of these are calls that the
  engine confuses.
* ``norm_key``: the call key after harmless differences of spelling are taken out (DESIGN.md section 6).

Plain calls, nearly all of a log, take the fast path of `go_json`, the others the slow one.
"""

import hashlib
import posixpath
import re
import struct
from functools import lru_cache
from typing import Any, Final, NamedTuple

from dedupstats.sources.go_json import (
    NOT_PLAIN,
    exact_json,
    go_json,
    parse,
    plain_go_json,
    read_plain,
    text_of,
    to_go_text,
    without_surrogates,
)

# ------------------------------------------------------------------------------
# What normalisation knows, as data

#: Arguments that hold a path or a list of paths, over all agents read.
PATH_ARGUMENTS: Final = frozenset(
    {
        "absolute_path",
        "cwd",
        "dir",
        "dir_path",
        "directory",
        "file",
        "filePath",
        "file_path",
        "files",
        "notebook_path",
        "path",
        "paths",
        "relative_path",
        "root",
        "target_directory",
        "target_file",
        "workdir",
        "working_dir",
        "working_directory",
    },
)

#: Arguments that hold the text of a shell command.
COMMAND_ARGUMENTS: Final = frozenset({"command", "cmd"})

#: Arguments that change how long a call may take, never what it asks for.
IGNORED_ARGUMENTS: Final = frozenset({"timeout"})

#: Tools whose ``description`` is a remark for the reader: Claude's shells, docker-agent's ``+d`` tools (2.4).
DESCRIBED_TOOLS: Final = frozenset(
    {
        "Bash",
        "PowerShell",
        "mcp__acp__Bash",
        "edit_file",
        "git_blame",
        "git_branches",
        "git_log",
        "git_show",
        "git_status",
        "list_background_jobs",
        "list_directory",
        "run_background_job",
        "search_files_content",
        "shell",
        "stop_background_job",
        "view_background_job",
        "write_file",
    },
)

#: Tools whose commands escape with a backtick instead of a backslash.
_BACKTICK_TOOLS: Final = frozenset({"PowerShell"})

# ------------------------------------------------------------------------------
# Limits

#: Calls remembered, and the longest arguments that are: together at most some 64 MB per process.
_MEMO_CALLS: Final = 16_384
_MEMO_LENGTH: Final = 4_096


class Keys(NamedTuple):
    """The three keys of one call, each the first eight bytes of a SHA-256 as a signed big-endian integer.

    Attributes:
        call_key: Of tool, one zero byte and the Go-canonical arguments.
        args_sha64: Of the arguments' exact JSON (sorted keys, no blanks, UTF-8 with lone surrogates as three
            bytes), or of the raw text where that is no JSON.
        norm_key: The call key of the normalised arguments.
    """

    call_key: int
    args_sha64: int
    norm_key: int


def keys(tool: str, arguments: bytes | str, cwd: str | None) -> Keys:
    """Return the keys of a call.

    Args:
        tool: Name of the tool, as logged.
        arguments: JSON text of the arguments, as logged; any text or bytes are accepted.
        cwd: Working directory of the call, POSIX or Windows whatever this machine is. None leaves relative
            paths relative (they are only cleaned).
    """
    memo_key = (tool, arguments, cwd)
    found = _memo.get(memo_key)
    if found is not None:
        return found
    try:
        found = _fast_keys(tool, arguments, cwd)
    except NOT_PLAIN:
        found = _slow_keys(tool, arguments, cwd)
    if len(arguments) <= _MEMO_LENGTH:
        if len(_memo) >= _MEMO_CALLS:
            _memo.clear()
        _memo[memo_key] = found
    return found


_memo: dict[tuple[str, bytes | str, str | None], Keys] = {}


def _call_key(tool: str, canonical: bytes) -> int:
    try:
        name = tool.encode()
    except UnicodeEncodeError:
        name = without_surrogates(tool).encode()
    return _sha64(name + b"\0" + canonical)


_first_eight_bytes: Final = struct.Struct(">q").unpack_from


def _sha64(data: bytes) -> int:
    key: int = _first_eight_bytes(hashlib.sha256(data).digest())[0]
    return key


def _fast_keys(tool: str, arguments: bytes | str, cwd: str | None) -> Keys:
    plain, exact = read_plain(arguments)
    args_sha64 = _sha64(exact)
    if not isinstance(plain, dict) or not plain:
        null = _call_key(tool, b"null")
        return Keys(null, args_sha64, null)
    call_key = _call_key(tool, to_go_text(exact))
    normal = _normalised(tool, plain, cwd)
    if normal == plain:
        return Keys(call_key, args_sha64, call_key)
    return Keys(call_key, args_sha64, _call_key(tool, plain_go_json(normal) if normal else b"null"))


def _slow_keys(tool: str, arguments: bytes | str, cwd: str | None) -> Keys:
    text = text_of(arguments)
    try:
        value = parse(text)
        args_sha64 = _sha64(exact_json(value))
    except ValueError:
        raw = arguments if isinstance(arguments, bytes) else text.encode("utf-8", "surrogatepass")
        null = _call_key(tool, b"null")
        return Keys(null, _sha64(raw), null)
    try:
        canonical = go_json(value)
    except ValueError:
        canonical = b"null"
    call_key = _call_key(tool, canonical)
    if canonical == b"null":
        return Keys(call_key, args_sha64, call_key)
    return Keys(call_key, args_sha64, _call_key(tool, go_json(_normalised(tool, value, cwd))))


# ------------------------------------------------------------------------------
# Normalisation


def _normalised(tool: str, arguments: dict[str, Any], cwd: str | None) -> dict[str, Any]:
    """Return the arguments without what does not change the call; members of members are left alone."""
    normal = {}
    for name, given in arguments.items():
        value = given
        if name in IGNORED_ARGUMENTS or (name == "description" and tool in DESCRIBED_TOOLS):
            continue
        if name in PATH_ARGUMENTS:
            value = _paths(value, cwd)
        elif name in COMMAND_ARGUMENTS and isinstance(value, str):
            value = _command(value, _SHELL_BLANKS if tool not in _BACKTICK_TOOLS else _POWERSHELL_BLANKS)
        if value or (value is not None and not isinstance(value, str | list | dict)):
            normal[name] = value
    return normal


def _paths(value: Any, cwd: str | None) -> Any:
    if isinstance(value, str):
        return _path(value, cwd) if value else value
    if isinstance(value, list):
        return [_path(item, cwd) if isinstance(item, str) else item for item in value]
    return value


# Quoted parts first, so that only blanks outside them are left to the last branch; what is never closed is
# quoted to its end.
_SHELL_BLANKS: Final = re.compile(
    r"""'[^']*+'?|"(?:[^"\\]++|\\.)*+"?|\\.|(?P<blanks>[ \t]++)""",
    re.DOTALL,
)
_POWERSHELL_BLANKS: Final = re.compile(
    r"""'[^']*+'?|"(?:[^"`]++|`.)*+"?|`.|(?P<blanks>[ \t]++)""",
    re.DOTALL,
)


def _command(command: str, blanks: re.Pattern[str]) -> str:
    """Trim a command, make each run of blanks outside quotes one; a here-document keeps its blanks."""
    command = command.strip(" \t\r\n")
    if "<<" in command or not ("  " in command or "\t" in command):
        return command
    return blanks.sub(lambda match: " " if match["blanks"] else match[0], command)


_DRIVE: Final = re.compile(r"[A-Za-z]:")
#: A path that needs nothing of the working directory: from a share, a home folder or the root of a drive.
_ABSOLUTE: Final = re.compile(r"\\\\|//|~(?:[/\\]|\Z)|[A-Za-z]:[/\\]")
#: A path that has nothing to normalise; most have not.
_CLEAN_POSIX: Final = re.compile(r"(?:/(?!\.\.?(?:/|\Z))[^/\\]++)++")


@lru_cache(maxsize=4_096)
def _path(path: str, cwd: str | None) -> str:
    """Resolve a path against the working directory: slashes, a small drive letter, no dot segments.

    Pure string work, POSIX and Windows alike, so that a store is the same wherever it is made. A URL stays as
    it is; ``~/`` is taken for absolute, since its meaning does not depend on the working directory.
    """
    windows = cwd is not None and (_DRIVE.match(cwd) is not None or cwd.startswith("\\\\"))
    if "://" in path or (not windows and _CLEAN_POSIX.fullmatch(path)):
        return path
    joined = path if cwd is None else _joined(path, cwd, windows=windows)
    # Two leading slashes name a Windows share; on POSIX they are one.
    share = joined.startswith("\\\\") or (windows and joined.startswith("//"))
    joined = joined.replace("\\", "/")
    drive = match[0] if (match := _DRIVE.match(joined)) else ""
    rest = joined[len(drive) :]
    if rest.startswith("//") and not share:
        rest = "/" + rest.lstrip("/")
    return drive.lower() + posixpath.normpath(rest)


def _joined(path: str, cwd: str, *, windows: bool) -> str:
    """Return a path with the part of the working directory that it lacks in front."""
    if _ABSOLUTE.match(path):
        return path
    if match := _DRIVE.match(path):
        # "c:x" is x in the working directory of drive c, which is only known of the current drive.
        if windows:
            return f"{cwd}/{path[2:]}" if cwd[:2].lower() == match[0].lower() else path
    elif path.startswith(("/", "\\")):
        return cwd[:2] + path if windows and _DRIVE.match(cwd) else path
    return f"{cwd}/{path}"
