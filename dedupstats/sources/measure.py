"""Hashing and measuring of shown text: the one place where it happens, where the bytes are.

Counts of bytes by character class follow token-economics.md 5.5: ASCII letters, ASCII digits, newlines
(CR and LF), other ASCII without blanks (spaces and tabs are in no class), bytes of non-ASCII characters.
"""

from __future__ import annotations

import hashlib
import struct
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_LETTERS = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_DIGITS = b"0123456789"
_NEWLINES = b"\r\n"
_BLANKS = b" \t"
_NON_ASCII = bytes(range(0x80, 0x100))
_OTHER_ASCII = bytes(set(range(0x80)) - {*_LETTERS, *_DIGITS, *_NEWLINES, *_BLANKS})
_OTHER = _OTHER_ASCII + _NON_ASCII

LF = 10
SHORT = 8192
"""bytes up to which deleting class by class costs less than a histogram (a quarter at 200 bytes; at 4,000 a
histogram costs half by itself, but more amid other work, whose data it drives out of the cache)"""

Counts = tuple[int, int, int, int, int]
"""letters, digits, newlines, other ASCII, non-ASCII"""

_first_eight_bytes = struct.Struct(">q").unpack_from


class Measured(NamedTuple):
    """Hash and size of a text; the field order is that of `Emission` from `sha256` on."""

    sha256: bytes
    sha64: int
    bytes: int
    chars: int
    lines: int
    letters: int
    digits: int
    newlines: int
    other_ascii: int
    non_ascii: int


def to_bytes(text: str) -> bytes:
    """UTF-8 bytes of a text; a lone surrogate, which JSON may hold, becomes its three bytes."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def to_storable(text: str) -> str:
    r"""The text as DuckDB accepts it: lone surrogates written as visible escapes (`\\\\ud83d`)."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace").decode()
    return text


def sha64(data: bytes) -> int:
    """First eight bytes of the SHA-256 of `data` as a signed big-endian integer."""
    key: int = _first_eight_bytes(hashlib.sha256(data).digest())[0]
    return key


def measure(text: str, hashed_suffix: bytes = b"") -> Measured:
    r"""Measure a text as the model was shown it.

    Args:
        text: The shown text.
        hashed_suffix: Bytes that take part in the hash but not in the sizes (blocks that are no text).

    Returns:
        Hash (SHA-256, and its first eight bytes as a signed integer), bytes, characters (code points),
        lines (LF, plus one if the text is non-empty and does not end in LF) and counts by class.

    Example:
        >>> m = measure("ab\n12")
        >>> m.bytes, m.chars, m.lines, m.letters, m.digits, m.newlines
        (5, 5, 2, 2, 2, 1)
    """
    data = to_bytes(text)
    digest = hashlib.sha256(data + hashed_suffix if hashed_suffix else data).digest()
    (key,) = _first_eight_bytes(digest)
    feeds, counts = _scanned(data)
    lines = feeds + (not data.endswith(b"\n")) if data else 0
    return Measured(digest, key, len(data), len(text), lines, *counts)


def class_counts(data: bytes) -> Counts:
    """Counts of bytes by character class: letters, digits, newlines, other ASCII, non-ASCII."""
    return _scanned(data)[1]


def _scanned(data: bytes) -> tuple[int, Counts]:
    """Number of LF, and counts by character class."""
    if len(data) > SHORT:
        # numpy takes a third of an import that finds nothing new: it is loaded for the first long text
        import numpy as np

        # one histogram and one small product instead of many scans of the text
        histogram = np.bincount(np.frombuffer(data, np.uint8), minlength=256)
        return int(histogram[LF]), tuple((histogram @ _membership()).tolist())
    # class by class taken out of what is left
    no_letters = data.translate(None, _LETTERS)
    no_digits = no_letters.translate(None, _DIGITS)
    blanks = no_digits.translate(None, _OTHER)
    feeds = blanks.count(b"\n")
    rest = len(no_letters)
    non_ascii = 0 if data.isascii() else rest - len(no_letters.translate(None, _NON_ASCII))
    return feeds, (
        len(data) - rest,
        rest - len(no_digits),
        feeds + blanks.count(b"\r"),
        len(no_digits) - len(blanks) - non_ascii,
        non_ascii,
    )


@cache
def _membership() -> NDArray[np.int64]:
    """Byte values by classes: 1 where the byte belongs to the class."""
    import numpy as np

    matrix = np.zeros((256, 5), dtype=np.int64)
    for column, members in enumerate((_LETTERS, _DIGITS, _NEWLINES, _OTHER_ASCII, _NON_ASCII)):
        matrix[list(members), column] = 1
    return matrix
