"""Hashing and measuring of shown text: the one place where it happens, where the bytes are.

Counts of bytes by character class follow token-economics.md 5.5: ASCII letters, ASCII digits, newlines
(CR and LF), other ASCII without blanks (spaces and tabs are in no class), bytes of non-ASCII characters.
"""

from __future__ import annotations

import hashlib
from typing import NamedTuple

import numpy as np

_LETTERS = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_DIGITS = frozenset(b"0123456789")
_NEWLINES = frozenset(b"\r\n")
_BLANKS = frozenset(b" \t")


def _class_of(byte: int) -> int | None:
    if byte in _LETTERS:
        return 0
    if byte in _DIGITS:
        return 1
    if byte in _NEWLINES:
        return 2
    if byte in _BLANKS:
        return None
    return 3 if byte < 0x80 else 4  # noqa: PLR2004


_MATRIX = np.zeros((256, 5), dtype=np.int64)
for _byte in range(256):
    _column = _class_of(_byte)
    if _column is not None:
        _MATRIX[_byte, _column] = 1


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
    return int.from_bytes(hashlib.sha256(data).digest()[:8], "big", signed=True)


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
    size = len(data)
    if size:
        lines = data.count(b"\n") + (data[-1] != 10)  # noqa: PLR2004
        # one histogram and one small product instead of five scans of the text
        counts = (np.bincount(np.frombuffer(data, np.uint8), minlength=256) @ _MATRIX).tolist()
    else:
        lines, counts = 0, (0, 0, 0, 0, 0)
    return Measured(digest, int.from_bytes(digest[:8], "big", signed=True), size, len(text), lines, *counts)


def class_counts(data: bytes) -> tuple[int, int, int, int, int]:
    """Counts of bytes by character class: letters, digits, newlines, other ASCII, non-ASCII."""
    if not data:
        return (0, 0, 0, 0, 0)
    letters, digits, newlines, other, non_ascii = (
        np.bincount(np.frombuffer(data, np.uint8), minlength=256) @ _MATRIX
    ).tolist()
    return letters, digits, newlines, other, non_ascii
