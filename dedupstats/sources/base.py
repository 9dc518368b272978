"""What a source is: the contract, and the small things that every source shares.

A source turns the log files of one kind of agent into the records of `dedupstats.model`. It knows nothing
of the store, of repeat rules or of policies. Adding one: a file in this folder with a class that fulfils
`Source`, a line in `sources/__init__.py` (or an entry point `dedupstats.sources`), and a test file.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from dedupstats.model import Provenance, ReadOnly, Record, Skipped

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from dedupstats.model import CompactionRule
    from dedupstats.sources.probe import Probe


class Place(NamedTuple):
    """A default place where a source's logs lie."""

    path: Path
    shown_as: str
    """as a person writes it (`~/.claude/projects`)"""


class FileInfo(NamedTuple):
    """A file as the walk met it."""

    path: str
    size: int
    mtime_ns: int


class Claim(NamedTuple):
    """A source's word that a file is its own."""

    unit_key: str
    """names the unit that the file belongs to (a path); files with the same unit key are read together"""


class Tool(NamedTuple):
    """What a source knows of one of its tools, as data."""

    category: str | None
    read_only: ReadOnly
    target: tuple[str, ...] = ()
    """arguments that name what the call is about, joined by a blank"""
    provenance: Provenance = Provenance.TABLE


class Capabilities(NamedTuple):
    """What a source's logs hold; what they do not hold, no command may pretend to know."""

    content: bool
    """hashes of shown text: repeat rules by bytes apply"""
    usage: bool
    sessions: bool
    hints: bool
    note: str
    """one line for people: what figures from this source mean"""


@dataclass(slots=True)
class Unit:
    """What must be read together: a session file with its companions, or one database."""

    source: str
    key: str
    files: list[FileInfo] = field(default_factory=list)
    probes: dict[str, Probe] = field(default_factory=dict)
    """by path, where the file was looked at in this run"""


def hash64(*parts: str) -> int:
    """Signed 64-bit hash of some text: the key of everything in the store.

    The same native ids give the same key on every machine, so stores can be merged. Parts are separated by
    NUL. Source: DESIGN.md section 4, Store.

    Example:
        >>> hash64("claude_code", "a") == hash64("claude_code", "a") != hash64("claude_codea")
        True
    """
    data = "\0".join(parts).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "big", signed=True)


_MASK = (1 << 64) - 1
_ODD = 0x9E3779B97F4A7C15
_TOP = 1 << 63


def mix64(key: int, number: int) -> int:
    """Signed 64-bit hash of a key and a small number: cheap keys for the many rows of one context.

    One round of splitmix64 (Steele et al. 2014) over both.
    """
    value = (key + (number + 1) * _ODD) & _MASK
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _MASK
    value ^= value >> 31
    return value - (1 << 64) if value & _TOP else value


TokenizerOf = Callable[[str], Callable[[str], int] | None]
"""finds what counts the tokens of a text for a model, by the model's name; None: nothing here does"""


class Names:
    """Interns text that repeats (tools, models, sessions, versions ...) to 64-bit keys.

    One object serves one import; `ingest` writes what is new into the store.

    Attributes:
        texts: Key to text.
        tools: Key to (name, category, read-only, provenance, bytes of the name).
    """

    def __init__(self) -> None:
        self.texts: dict[int, str] = {}
        self.tools: dict[int, tuple[str, str | None, str, str, int]] = {}
        self._keys: dict[str, int] = {}
        self._tool_keys: dict[tuple[str, str | None, str, str], int] = {}

    def key(self, text: str) -> int:
        """The key of a text; the same text has the same key in every store."""
        key = self._keys.get(text)
        if key is None:
            key = self._keys[text] = hash64(text)
            self.texts[key] = text
        return key

    def optional(self, text: str | None) -> int | None:
        """The key of a text, or None for none or an empty one."""
        return self.key(text) if text else None

    def tool(
        self,
        name: str,
        category: str | None = None,
        read_only: ReadOnly = ReadOnly.UNKNOWN,
        provenance: Provenance = Provenance.NONE,
    ) -> int:
        """The key of a tool together with what is known about it in this log."""
        found = (name, category, read_only.value, provenance.value)
        key = self._tool_keys.get(found)
        if key is None:
            key = self._tool_keys[found] = hash64("tool", name, category or "", read_only, provenance)
            self.tools[key] = (*found, len(name.encode("utf-8", "surrogatepass")))
        return key


MAX_LINE_BYTES = 16 * 1024 * 1024
"""Longer lines are skipped and counted without being held."""


LONG_INTEGER = 4000
"""digits from which Python refuses to read an integer (its own limit is 4,300)"""


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits) < LONG_INTEGER else float(digits)


JSON_DECODER = json.JSONDecoder(strict=False, parse_int=_integer)


def text_of_json(data: bytes) -> str:
    """The text of some JSON: halves of surrogate pairs stay, other bytes that are no UTF-8 become marks."""
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace")


def parse_json(data: bytes | str) -> Any:
    """The value of a JSON text, read as forgivingly as can be: one odd number must not cost all the rest.

    Control characters in strings, `NaN` and integers of any length are read; the longest as floats.

    Raises:
        ValueError: It is no JSON all the same.
        RecursionError: It is nested too deep.

    Example:
        >>> parse_json("9" * 5000)
        inf
    """
    return JSON_DECODER.decode(data if isinstance(data, str) else text_of_json(data))


MANY_VALUES = 1_000_000
"""JSON of more values is not parsed: an empty object of two bytes takes sixty-four."""
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_MARKS = (b",", b"[", b"{")


def has_many_values(data: bytes) -> bool:
    """Whether some JSON holds more values than `MANY_VALUES`, judged without parsing it.

    Example:
        >>> many = b"{}," * MANY_VALUES
        >>> has_many_values(b"[" + many), has_many_values(b'["' + many + b'"]')
        (True, False)
    """
    if sum(map(data.count, _MARKS)) <= MANY_VALUES:
        return False
    return sum(map(_STRING.sub(b"", data).count, _MARKS)) > MANY_VALUES


LATEST = 7_258_118_400_000_000
"""Year 2200 in UTC microseconds: what claims to be later, or before 1970, is no time at all."""
LARGEST = 1 << 40
"""A trillion tokens, bytes or milliseconds: what is not below is no count, and sums keep within 64 bits."""
DEAREST = 1_000_000.0
"""US dollars that no request costs: what is above is no price, and sums of less stay finite."""


def plausible_time(at: int) -> int | None:
    """UTC microseconds that can be the time of a record; None for what cannot.

    Example:
        >>> plausible_time(1_770_110_815_000_000), plausible_time(0), plausible_time(1 << 62)
        (1770110815000000, None, None)
    """
    return at if 0 < at < LATEST else None


def plausible_count(value: Any) -> int | None:
    """A number of tokens, bytes or the like; None for what is no number, negative, or beyond all sense.

    Example:
        >>> plausible_count(12.0), plausible_count(-1), plausible_count(10**400), plausible_count(True)
        (12, None, None, None)
    """
    if type(value) is not int and not isinstance(value, float):
        return None
    return int(value) if 0 <= value < LARGEST else None


def plausible_price(value: Any) -> float | None:
    """A price in US dollars; None for what is no number, negative, or beyond all sense.

    Example:
        >>> plausible_price(0.25), plausible_price(float("nan")), plausible_price(10**400)
        (0.25, None, None)
    """
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and 0 <= value < DEAREST else None


@dataclass(slots=True)
class Reading:
    """How a unit is to be read."""

    names: Names
    keep_content: bool = False
    keep_targets: bool = True
    max_line_bytes: int = MAX_LINE_BYTES
    tokenizer_of: TokenizerOf | None = None
    """counts tokens of texts where the extra `tokens` is installed"""

    def o200k_tokens(self, model_key: int | None, text: str) -> int | None:
        """Tokens of a result by the o200k encoding; None: not installed, or not the model's tokenizer.

        Args:
            model_key: Name key of the model that made the call.
            text: The shown text.
        """
        if self.tokenizer_of is None or model_key is None:
            return None
        count = self.tokenizer_of(self.names.texts[model_key])
        return None if count is None else count(text)


def not_understood(error: Exception) -> str:
    """Why a record, or a log, that breaks its reader was left out: a fault of ours, said as such."""
    return f"not understood ({type(error).__name__}: {str(error)[:200]})"


SHOWN_FAULTS = 1_000
"""Records of one file that are named when they cannot be used; further ones are only counted."""
REASON_CHARS = 500
"""Longest reason: some quote what stands in the log."""


class Faults:
    """The records of one file that cannot be used: the first ones with their reasons, the rest as a number.

    Attributes:
        path: The file.
        count: How many there are.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.count = 0
        self._rest_from: int | None = None

    def add(self, line: int, reason: str) -> Iterator[Skipped]:
        """Count one; yields its record as long as there are not too many."""
        self.count += 1
        if self.count <= SHOWN_FAULTS:
            yield Skipped(
                self.path, line, reason if len(reason) <= REASON_CHARS else reason[:REASON_CHARS] + "…"
            )
        elif self.count == SHOWN_FAULTS + 1:
            self._rest_from = line

    def rest(self) -> Iterator[Skipped]:
        """At the end of the file: one record for all that were not named."""
        if self._rest_from is not None:
            rest = self.count - SHOWN_FAULTS
            yield Skipped(self.path, self._rest_from, f"{rest:,} further records of this file", rest)


class Source(Protocol):
    """One kind of log. See the module's docstring for how to add one."""

    name: str
    """`claude_code`: the word of the vocabulary, used in tables and options"""
    title: str
    """as people read it: `Claude Code`"""
    capabilities: Capabilities
    hinted_effects: frozenset[tuple[str, str]]
    """category and name of tools whose own hint says that they only read, though they have an effect: engines
    are told the hint, and an elision hides the effect"""
    compaction: tuple[CompactionRule, ...]
    """when the agent compacts by itself, newest rule first; empty: no rule is known"""

    def places(self, env: Mapping[str, str], home: Path, platform: str) -> list[Place]:
        """Default places, most usual first, whether they exist or not.

        Args:
            env: Environment variables.
            home: The user's home folder.
            platform: `sys.platform`.
        """

    def claim(self, probe: Probe) -> Claim | None:
        """Whether a file is this source's, judged by its content alone. Exclusive among sources."""

    def companions(self, path: str) -> list[str]:
        """Files or folders that must be read with the file at `path`, whether they exist or not."""

    def read(self, unit: Unit, reading: Reading) -> Iterator[Record]:
        """The records of a unit, in an order that is the same on every run.

        Raises:
            UnreadableUnitError: Nothing of the unit can be read.
        """
