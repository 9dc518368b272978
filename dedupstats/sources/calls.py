"""Keys of a call: when are two tool calls the same call?

Three answers, each a signed 64-bit integer cut from a SHA-256:

* ``call_key``: equal tool and equal arguments after the round trip through Go's ``encoding/json`` that
  docker-agent makes before it hashes (docker-agent.md 1.4): numbers pass through float64, broken text is
  ``null``.
* ``args_sha64``: equal arguments, exactly. Calls with one ``call_key`` and two of these are calls that the
  engine confuses.
* ``norm_key``: the call key after harmless differences of spelling are taken out (DESIGN.md section 6).

Nearly every call of a log is plain: an object of strings, booleans, null and small integers. For those orjson
writes Go's text but for five characters (the fast path). Everything else is parsed and written here (the slow
path), without recursion, since Go accepts 10,000 levels of nesting.
"""

import hashlib
import json
import math
import posixpath
import re
import struct
from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final, NamedTuple

import msgspec
import orjson

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

#: Depth up to which Go's decoder follows containers (``maxNestingDepth``).
_MAX_DEPTH: Final = 10_000
#: Magnitudes that Go writes without exponent.
_GO_PLAIN_FROM: Final = 1e-6
_GO_PLAIN_BELOW: Final = 1e21
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
    except _NOT_PLAIN:
        found = _slow_keys(tool, arguments, cwd)
    if len(arguments) <= _MEMO_LENGTH:
        if len(_memo) >= _MEMO_CALLS:
            _memo.clear()
        _memo[memo_key] = found
    return found


def canonical(arguments: bytes | str) -> str:
    """Return the arguments as Go's ``encoding/json`` writes them after reading them.

    "null" stands for everything that is not a non-empty object that Go accepts.
    """
    try:
        plain, exact = _read_plain(arguments)
        return _escaped(exact).decode() if isinstance(plain, dict) and plain else "null"
    except _NOT_PLAIN:
        pass
    try:
        return _go_json(_parse(_text(arguments))).decode()
    except ValueError:
        return "null"


_memo: dict[tuple[str, bytes | str, str | None], Keys] = {}


def _call_key(tool: str, go_json: bytes) -> int:
    try:
        name = tool.encode()
    except UnicodeEncodeError:
        name = _without_surrogates(tool).encode()
    return _sha64(name + b"\0" + go_json)


_first_eight_bytes: Final = struct.Struct(">q").unpack_from


def _sha64(data: bytes) -> int:
    key: int = _first_eight_bytes(hashlib.sha256(data).digest())[0]
    return key


# ------------------------------------------------------------------------------
# Fast path


def _refuse_float(text: str) -> float:
    """Send floats to the slow path: Go and orjson write them differently."""
    raise ValueError(text)


#: What the fast path raises at arguments that are not plain: floats, integers beyond 53 bits, lone
#: surrogates, invalid UTF-8, broken JSON, deep nesting.
_NOT_PLAIN: Final = (ValueError, TypeError, RecursionError, msgspec.MsgspecError)
_DECODER: Final = msgspec.json.Decoder(float_hook=_refuse_float)
_PLAIN: Final = orjson.OPT_SORT_KEYS | orjson.OPT_STRICT_INTEGER
_NEGATIVE_ZERO: Final = re.compile(rb"(?:[\[:,]|\A)[ \t\n\r]*-0[ \t\n\r]*(?:[\],}]|\Z)")


def _read_plain(arguments: bytes | str) -> tuple[Any, bytes]:
    """Return plain arguments and their exact JSON.

    Raises:
        Exception: One of `_NOT_PLAIN`.
    """
    raw = arguments.encode() if isinstance(arguments, str) else arguments
    # msgspec reads -0 as the integer 0, Go keeps it. find() spares nearly all the search, in a quarter of the
    # time of "in".
    if raw.find(b"-0") >= 0 and _NEGATIVE_ZERO.search(raw):
        raise ValueError(arguments)
    plain = _DECODER.decode(raw)
    return plain, orjson.dumps(plain, option=_PLAIN)


def _escaped(exact: bytes) -> bytes:
    """Escape the characters that Go escapes and others do not; in JSON they only occur in strings."""
    exact = exact.replace(b"<", b"\\u003c").replace(b">", b"\\u003e").replace(b"&", b"\\u0026")
    if not exact.isascii():
        exact = exact.replace(b"\xe2\x80\xa8", b"\\u2028").replace(b"\xe2\x80\xa9", b"\\u2029")
    return exact


def _fast_keys(tool: str, arguments: bytes | str, cwd: str | None) -> Keys:
    plain, exact = _read_plain(arguments)
    args_sha64 = _sha64(exact)
    if not isinstance(plain, dict) or not plain:
        null = _call_key(tool, b"null")
        return Keys(null, args_sha64, null)
    call_key = _call_key(tool, _escaped(exact))
    normal = _normalised(tool, plain, cwd)
    if normal == plain:
        return Keys(call_key, args_sha64, call_key)
    go_json = _escaped(orjson.dumps(normal, option=_PLAIN)) if normal else b"null"
    return Keys(call_key, args_sha64, _call_key(tool, go_json))


# ------------------------------------------------------------------------------
# Slow path: parse


class _Number(NamedTuple):
    """A number as it was written."""

    text: str


_TOKEN: Final = re.compile(
    r"""[ \t\n\r]*+(?:
        (?P<string>"(?:[^"\\\x00-\x1f]++|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+")
      | (?P<number>-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?)
      | (?P<constant>true|false|null)
      | (?P<mark>[{}\[\],:])
    )""",
    re.VERBOSE,
)
_CONSTANTS: Final = {"true": True, "false": False, "null": None}

_VALUE: Final = frozenset({"string", "number", "constant", "{", "["})
_FIRST_VALUE: Final = _VALUE | {"]"}
_NAME: Final = frozenset({"string"})
_FIRST_NAME: Final = _NAME | {"}"}
_COLON: Final = frozenset({":"})
_AFTER_MEMBER: Final = frozenset({",", "}"})
_AFTER_ITEM: Final = frozenset({",", "]"})
_END: Final[frozenset[str]] = frozenset()


def _text(arguments: bytes | str) -> str:
    """Return the arguments as text, each invalid byte as a lone surrogate of its own."""
    return arguments if isinstance(arguments, str) else arguments.decode("utf-8", "surrogateescape")


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    """Yield kind and text of each token; a mark is its own kind."""
    position = 0
    while match := _TOKEN.match(text, position):
        position = match.end()
        kind = match.lastgroup or ""
        token = match[kind]
        yield (token if kind == "mark" else kind), token
    if text[position:].strip(" \t\n\r"):
        message = f"no JSON at character {position}"
        raise ValueError(message)


def _parse(text: str) -> Any:
    """Return the value of a JSON text, its numbers as `_Number`, its objects in the order of last assignment.

    The order matters: names that only differ in lone surrogates become one in Go, and the last one wins.

    Raises:
        ValueError: The text is no JSON, or nested deeper than Go follows.
    """
    root: list[Any] = []
    containers: list[list[Any] | dict[str, Any]] = [root]
    name = ""
    expected = _VALUE
    for kind, token in _tokens(text):
        if kind not in expected:
            message = f"unexpected {kind} in JSON"
            raise ValueError(message)
        inner = containers[-1]
        if expected is _NAME or (expected is _FIRST_NAME and kind == "string"):
            name = json.loads(token)
            expected = _COLON
        elif kind == ":":
            expected = _VALUE
        elif kind == ",":
            expected = _NAME if isinstance(inner, dict) else _VALUE
        elif kind in {"}", "]"}:
            containers.pop()
            expected = _after_value(containers)
        else:
            value = _value(kind, token)
            if isinstance(inner, dict):
                inner.pop(name, None)
                inner[name] = value
            else:
                inner.append(value)
            if kind in {"{", "["}:
                containers.append(value)
                if len(containers) - 1 > _MAX_DEPTH:
                    message = "nested too deep"
                    raise ValueError(message)
                expected = _FIRST_NAME if kind == "{" else _FIRST_VALUE
            else:
                expected = _after_value(containers)
    if expected is not _END:
        message = "JSON ends early"
        raise ValueError(message)
    return root[0]


def _value(kind: str, token: str) -> Any:
    if kind == "string":
        return json.loads(token)
    if kind == "number":
        return _Number(token)
    if kind == "constant":
        return _CONSTANTS[token]
    return {} if kind == "{" else []


def _after_value(containers: list[list[Any] | dict[str, Any]]) -> frozenset[str]:
    if len(containers) == 1:
        return _END
    return _AFTER_MEMBER if isinstance(containers[-1], dict) else _AFTER_ITEM


# ------------------------------------------------------------------------------
# Slow path: write


class _Style(NamedTuple):
    """How strings are repaired and numbers written."""

    string: Callable[[str], str]
    number: Callable[[str], str]


_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_quoted: Final = json.JSONEncoder(ensure_ascii=False).encode


def _without_surrogates(text: str) -> str:
    return _SURROGATE.sub("\ufffd", text)


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        message = f"number out of range: {text[:20]}"
        raise ValueError(message)
    return number


def _plain_decimal(number: float) -> str:
    """Return the shortest digits that round-trip, without exponent."""
    return format(Decimal(repr(number)), "f").removesuffix(".0")


def _go_number(text: str) -> str:
    """Return a number as Go writes a float64."""
    number = _finite(text)
    if number == 0 or _GO_PLAIN_FROM <= abs(number) < _GO_PLAIN_BELOW:
        return _plain_decimal(number)
    # Out here Python always writes an exponent, but with two digits at least: 1e-07.
    mantissa, _, exponent = repr(number).partition("e")
    return f"{mantissa}e{int(exponent):+d}"


def _exact_number(text: str) -> str:
    """Return an integer digit by digit, and a whole float like the integer that it equals: 1.0 is 1."""
    if text.lstrip("-").isdigit():
        return text
    number = _finite(text)
    return _plain_decimal(number) if number.is_integer() else repr(number)


_GO: Final = _Style(_without_surrogates, _go_number)
_EXACT: Final = _Style(str, _exact_number)


def _leaf(value: str | _Number | bool | None, style: _Style) -> str:  # noqa: FBT001 - a JSON value
    if isinstance(value, str):
        return _quoted(style.string(value))
    if isinstance(value, _Number):
        return style.number(value.text)
    return {None: "null", True: "true", False: "false"}[value]


def _members(container: list[Any] | dict[str, Any], style: _Style) -> Iterator[Any]:
    """Yield the text of a container in pieces, and in their places the containers inside it."""
    if isinstance(container, dict):
        repaired = {style.string(name): member for name, member in container.items()}
        yield "{"
        separator = ""
        for name in sorted(repaired):
            member = repaired[name]
            yield f"{separator}{_quoted(name)}:"
            yield member if isinstance(member, dict | list) else _leaf(member, style)
            separator = ","
        yield "}"
    else:
        yield "["
        separator = ""
        for item in container:
            yield separator
            yield item if isinstance(item, dict | list) else _leaf(item, style)
            separator = ","
        yield "]"


def _write(value: Any, style: _Style) -> bytes:
    """Return compact JSON with sorted names.

    Raises:
        ValueError: A number is beyond a float64.
    """
    if not isinstance(value, dict | list):
        return _leaf(value, style).encode("utf-8", "surrogatepass")
    pieces: list[str] = []
    unfinished = [_members(value, style)]
    while unfinished:
        for piece in unfinished[-1]:
            if not isinstance(piece, str):
                unfinished.append(_members(piece, style))
                break
            pieces.append(piece)
        else:
            unfinished.pop()
    return "".join(pieces).encode("utf-8", "surrogatepass")


def _go_json(value: Any) -> bytes:
    """Return Go's JSON of a parsed value.

    Raises:
        ValueError: A number is beyond a float64.
    """
    return _escaped(_write(value, _GO)) if isinstance(value, dict) and value else b"null"


def _slow_keys(tool: str, arguments: bytes | str, cwd: str | None) -> Keys:
    text = _text(arguments)
    try:
        value = _parse(text)
        args_sha64 = _sha64(_write(value, _EXACT))
    except ValueError:
        raw = arguments if isinstance(arguments, bytes) else text.encode("utf-8", "surrogatepass")
        null = _call_key(tool, b"null")
        return Keys(null, _sha64(raw), null)
    try:
        go_json = _go_json(value)
    except ValueError:
        go_json = b"null"
    call_key = _call_key(tool, go_json)
    if go_json == b"null":
        return Keys(call_key, args_sha64, call_key)
    return Keys(call_key, args_sha64, _call_key(tool, _go_json(_normalised(tool, value, cwd))))


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
