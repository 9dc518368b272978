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

#: All arguments that are looked at.
_NORMALISED: Final = PATH_ARGUMENTS | COMMAND_ARGUMENTS | IGNORED_ARGUMENTS | {"description"}

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
    """Return the keys of a call, remembered for those that come again.

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
    found, _ = read_call(tool, arguments, cwd)
    if len(arguments) <= _MEMO_LENGTH:
        if len(_memo) >= _MEMO_CALLS:
            _memo.clear()
        _memo[memo_key] = found
    return found


_memo: dict[tuple[str, bytes | str, str | None], Keys] = {}


def read_call(tool: str, arguments: bytes | str, cwd: str | None) -> tuple[Keys, dict[str, Any] | None]:
    """Return the keys of a call and, where they are plain, its arguments, parsed once for all who ask.

    Args:
        tool: Name of the tool.
        arguments: JSON text of the arguments.
        cwd: Working directory of the call.
    """
    try:
        return _fast_keys(tool, arguments, cwd)
    except NOT_PLAIN:
        return _slow_keys(tool, arguments, cwd), None


def _fast_keys(tool: str, arguments: bytes | str, cwd: str | None) -> tuple[Keys, dict[str, Any] | None]:
    plain, exact = read_plain(arguments)
    args_sha64 = _sha64(_NONE if exact == _NULL else exact)
    if not isinstance(plain, dict) or not plain:
        null = _call_key(tool, b"null")
        return Keys(null, args_sha64, null), None
    call_key = norm_key = _call_key(tool, to_go_text(exact))
    normal = _normalised(tool, plain, cwd)
    if normal is not plain:
        norm_key = _call_key(tool, plain_go_json(normal) if normal else b"null")
    return Keys(call_key, args_sha64, norm_key), plain


@lru_cache(maxsize=256)
def _prefix(tool: str) -> bytes:
    try:
        name = tool.encode()
    except UnicodeEncodeError:
        name = without_surrogates(tool).encode()
    return name + b"\0"


def _call_key(tool: str, canonical: bytes) -> int:
    return _sha64(_prefix(tool) + canonical)


_first_eight_bytes: Final = struct.Struct(">q").unpack_from
_sha256: Final = hashlib.sha256


#: A call without arguments: providers write it as {}, as null, or as nothing.
_NONE: Final = b"{}"
_NULL: Final = b"null"


def _sha64(data: bytes) -> int:
    key: int = _first_eight_bytes(_sha256(data).digest())[0]
    return key


def _slow_keys(tool: str, arguments: bytes | str, cwd: str | None) -> Keys:
    text = text_of(arguments)
    try:
        value = parse(text) if text.strip() else None
        args_sha64 = _sha64(_NONE if value is None else exact_json(value))
    except ValueError:
        raw = arguments if isinstance(arguments, bytes) else text.encode("utf-8", "surrogatepass")
        null = _call_key(tool, b"null")
        return Keys(null, _sha64(raw), null)
    try:
        canonical = go_json(value)
    except ValueError:
        canonical = b"null"
    call_key = _call_key(tool, canonical)
    if canonical == b"null" or value is None:
        return Keys(call_key, args_sha64, call_key)
    return Keys(call_key, args_sha64, _call_key(tool, go_json(_normalised(tool, value, cwd))))


# ------------------------------------------------------------------------------
# Normalisation


def _normalised(tool: str, arguments: dict[str, Any], cwd: str | None) -> dict[str, Any]:
    """Return the arguments without what does not change the call, the same object if all of it does.

    Members of members are left alone.
    """
    normal: dict[str, Any] | None = None
    for name, given in arguments.items():
        value = given
        if name in _NORMALISED:
            if name in PATH_ARGUMENTS:
                value = _paths(value, cwd)
            elif name in COMMAND_ARGUMENTS:
                if isinstance(value, str):
                    value = _command(value, _POWERSHELL_BLANKS if tool in _BACKTICK_TOOLS else _SHELL_BLANKS)
            elif name in IGNORED_ARGUMENTS or tool in DESCRIBED_TOOLS:
                value = None
        elif value:
            # most arguments end here
            continue
        if not value and (value is None or isinstance(value, str | list | dict)):
            normal = dict(arguments) if normal is None else normal
            del normal[name]
        elif value is not given and value != given:
            normal = dict(arguments) if normal is None else normal
            normal[name] = value
    return arguments if normal is None else normal


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
