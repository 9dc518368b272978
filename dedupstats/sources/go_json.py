"""Go's ``encoding/json`` of the arguments of a call, byte for byte (docker-agent.md 1.4).

Nearly every call of a log is plain: an object of strings, booleans, null and small integers. For those orjson
writes Go's text but for five characters (the fast path). Everything else is parsed and written here (the slow
path), without recursion, since Go accepts 10,000 levels of nesting.
"""

import json
import math
import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any, Final, NamedTuple

import msgspec
import orjson

#: Depth up to which Go's decoder follows containers (``maxNestingDepth``).
_MAX_DEPTH: Final = 10_000
#: Magnitudes that Go writes without exponent.
_GO_PLAIN_FROM: Final = 1e-6
_GO_PLAIN_BELOW: Final = 1e21


def canonical(arguments: bytes | str) -> str:
    """Return the arguments as Go's ``encoding/json`` writes them after reading them.

    "null" stands for everything that is not a non-empty object that Go accepts.
    """
    try:
        plain, exact = read_plain(arguments)
        return to_go_text(exact).decode() if isinstance(plain, dict) and plain else "null"
    except NOT_PLAIN:
        pass
    try:
        return go_json(parse(text_of(arguments))).decode()
    except ValueError:
        return "null"


# ------------------------------------------------------------------------------
# Fast path


def _refuse_float(text: str) -> float:
    """Send floats to the slow path: Go and orjson write them differently."""
    raise ValueError(text)


#: What the fast path raises at arguments that are not plain: floats, integers beyond 53 bits, lone
#: surrogates, invalid UTF-8, broken JSON, deep nesting.
NOT_PLAIN: Final = (ValueError, TypeError, RecursionError, msgspec.MsgspecError)
_DECODER: Final = msgspec.json.Decoder(float_hook=_refuse_float)
_PLAIN: Final = orjson.OPT_SORT_KEYS | orjson.OPT_STRICT_INTEGER
_NEGATIVE_ZERO: Final = re.compile(rb"(?:[\[:,]|\A)[ \t\n\r]*-0[ \t\n\r]*(?:[\],}]|\Z)")


def read_plain(arguments: bytes | str) -> tuple[Any, bytes]:
    """Return plain arguments and their exact JSON.

    Raises:
        Exception: One of `NOT_PLAIN`.
    """
    raw = arguments.encode() if isinstance(arguments, str) else arguments
    # msgspec reads -0 as the integer 0, Go keeps it. find() spares nearly all the search, in a quarter of the
    # time of "in".
    if raw.find(b"-0") >= 0 and _NEGATIVE_ZERO.search(raw):
        raise ValueError(arguments)
    plain = _DECODER.decode(raw)
    return plain, orjson.dumps(plain, option=_PLAIN)


def plain_go_json(plain: dict[str, Any]) -> bytes:
    """Return Go's JSON of plain arguments that are not empty."""
    return to_go_text(orjson.dumps(plain, option=_PLAIN))


def to_go_text(exact: bytes) -> bytes:
    """Escape the characters that Go escapes and others do not; in JSON they only occur in strings."""
    exact = exact.replace(b"<", b"\\u003c").replace(b">", b"\\u003e").replace(b"&", b"\\u0026")
    if not exact.isascii():
        exact = exact.replace(b"\xe2\x80\xa8", b"\\u2028").replace(b"\xe2\x80\xa9", b"\\u2029")
    return exact


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


def text_of(arguments: bytes | str) -> str:
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


def parse(text: str) -> Any:
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


def without_surrogates(text: str) -> str:
    """Return the text with U+FFFD for each lone surrogate, as Go reads it."""
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


_GO: Final = _Style(without_surrogates, _go_number)
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


def exact_json(value: Any) -> bytes:
    """Return a parsed value with its numbers as exact as they were written, lone surrogates as three bytes.

    Raises:
        ValueError: A number is beyond a float64.
    """
    return _write(value, _EXACT)


def go_json(value: Any) -> bytes:
    """Return Go's JSON of a parsed value.

    Raises:
        ValueError: A number is beyond a float64.
    """
    return to_go_text(_write(value, _GO)) if isinstance(value, dict) and value else b"null"
