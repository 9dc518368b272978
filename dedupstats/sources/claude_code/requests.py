"""Requests, merged over the rows of their message.

A message is logged as one row per content block, each with the usage so far: one request is one message id,
and each usage field counts with its maximum (claude-code.md section 3). Summing rows doubles every figure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dedupstats.model import Request
from dedupstats.sources.base import plausible_count

if TYPE_CHECKING:
    from dedupstats.sources.claude_code.rows import CacheCreation, Number, Usage

Whole = int | None

_BYTES_PER_TOKEN = 6
"""Visible bytes that a token of a final output count stands for at most."""
COUNTS = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")
SPLIT = ("ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens")
"""members of a usage, and of its split of cache writes, that count with their maximum"""


class Draft:
    """A request while rows of its message may still come.

    Attributes:
        number: Its number within the context.
        key: Hash of the source and the native message id.
        model_key: Name key of the model.
        calls: Tool calls of the message.
    """

    # What most requests do not have is no attribute of theirs: that halves the time to begin one.
    tier_key: int | None = None
    stop_key: int | None = None
    usage: Usage | None = None
    text_bytes = 0
    thinking_bytes = 0
    tool_bytes = 0
    calls = 0
    hidden = 0
    cost: float | None = None
    has_grown = False

    def __init__(
        self,
        number: int,
        key: int,
        *,
        head: tuple[int, str, int, int | None, int | None, int, int],
        marks: tuple[bool, bool, bool],
        model_key: int | None,
        version_key: int | None,
    ) -> None:
        """Begin with the first row.

        Args:
            number: Its number within the context.
            key: Hash of the source and the native message id.
            head: context_key, native_id, line, at, clock, turn, emissions_before.
            marks: is_fork, is_home, is_sidechain.
            model_key: Name key of the model.
            version_key: Name key of the version.
        """
        self.number = number
        self.key = key
        self.model_key = model_key
        self._head = head
        self._marks = marks
        self._version_key = version_key

    def merge(self, usage: Usage) -> None:
        """Take in the usage of one more row."""
        known = self.usage
        if known is None:
            self.usage = usage
        elif usage != known:
            before = known.output_tokens
            _raise(known, usage, COUNTS)
            if known.cache_creation is None:
                known.cache_creation = usage.cache_creation
            elif usage.cache_creation is not None:
                _raise(known.cache_creation, usage.cache_creation, SPLIT)
            self.has_grown = self.has_grown or (before is not None and known.output_tokens != before)

    def record(self, emissions_before: int | None = None) -> Request:
        """The finished request.

        Args:
            emissions_before: Replaces the number of emissions noted at the first row.
        """
        head = self._head if emissions_before is None else (*self._head[:6], emissions_before)
        tokens, assumed = (_NOTHING, 0) if self.usage is None else _tokens(self.usage)
        # by position and past the constructor, as in line_up
        return tuple.__new__(
            Request,
            (
                self.key,
                *head,
                self.model_key,
                self.tier_key,
                self.stop_key,
                self._version_key,
                *tokens,
                self.stop_key is not None or self._is_plausible(),
                self.text_bytes,
                self.thinking_bytes,
                self.tool_bytes,
                self.calls,
                self.hidden,
                self.cost,
                *self._marks,
                assumed,
            ),
        )

    def _is_plausible(self) -> bool:
        """Whether the output count of a message without a stop reason is final all the same.

        Such a message may hold the first count of a stream, a placeholder (claude-code.md section 3). One
        that grew from row to row and is in proportion to what is visible is none (token-economics.md 1.2).
        """
        if not self.has_grown or self.usage is None:
            return False
        visible = self.text_bytes + self.thinking_bytes + self.tool_bytes
        return (self.usage.output_tokens or 0) * _BYTES_PER_TOKEN >= visible

    @property
    def emissions_before(self) -> int:
        """Tool results of the context before the first row."""
        return self._head[6]


Tokens = tuple[Whole, Whole, Whole, Whole, Whole]
"""uncached input, cache reads, cache writes for 5 minutes and for an hour, output"""
_NOTHING: Tokens = (None, None, None, None, None)


def _whole(number: Number) -> Whole:
    """A usage field as a count; what cannot be one is none."""
    return None if number is None else plausible_count(number) or 0


def _raise(known: Usage | CacheCreation, other: Usage | CacheCreation, names: tuple[str, ...]) -> None:
    """Raise counts to those of another row."""
    for name in names:
        value, before = getattr(other, name), getattr(known, name)
        if value is not None and (before is None or value > before):
            setattr(known, name, value)


def _tokens(usage: Usage) -> tuple[Tokens, int]:
    """The tokens that a request is billed for; and those written for 5 minutes that the log does not call so.

    Without any split all are written for 5 minutes (token-economics.md 1.1): that is known, not assumed.
    """
    assumed = 0
    short: Whole = None
    long: Whole = None
    split, writes = usage.cache_creation, _whole(usage.cache_creation_input_tokens)
    if split is not None:
        short, long = _whole(split.ephemeral_5m_input_tokens), _whole(split.ephemeral_1h_input_tokens)
    if writes is not None:
        # what the split does not explain was priced as the default kind ($02)
        long = long or 0
        rest = max(writes - long, 0)
        assumed = max(rest - (short or 0), 0) if split is not None else 0
        short = max(short or 0, rest)
    output = _whole(usage.output_tokens)
    found = (_whole(usage.input_tokens), _whole(usage.cache_read_input_tokens), short, long, output)
    # a request without any token does not exist: the log does not tell ($14)
    return (found, assumed) if any(found) else (_NOTHING, 0)
