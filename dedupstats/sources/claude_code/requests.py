"""Requests, merged over the rows of their message.

A message is logged as one row per content block, each with the usage so far: one request is one message id,
and each usage field counts with its maximum (claude-code.md section 3). Summing rows doubles every figure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dedupstats.model import Request

if TYPE_CHECKING:
    from dedupstats.sources.claude_code.rows import Number, Usage

Whole = int | None


def _whole(number: Number) -> Whole:
    """A usage field as a count; what cannot be one is none."""
    return None if number is None else int(number) if 0 <= number < 1 << 62 else 0


class Draft:
    """A request while rows of its message may still come.

    Attributes:
        key: Hash of the source and the native message id.
        calls: Tool calls of the message.
    """

    __slots__ = (
        "_1h",
        "_5m",
        "_head",
        "_input",
        "_marks",
        "_output",
        "_read",
        "_writes",
        "calls",
        "cost",
        "hidden",
        "key",
        "model_key",
        "number",
        "stop_key",
        "text_bytes",
        "thinking_bytes",
        "tier_key",
        "tool_bytes",
        "version_key",
    )

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
        self._head = head
        self._marks = marks
        self.model_key = model_key
        self.version_key = version_key
        self.tier_key: int | None = None
        self.stop_key: int | None = None
        self._input: Number = None
        self._read: Number = None
        self._writes: Number = None
        self._5m: Number = None
        self._1h: Number = None
        self._output: Number = None
        self.text_bytes = 0
        self.thinking_bytes = 0
        self.tool_bytes = 0
        self.calls = 0
        self.hidden = 0
        self.cost: float | None = None

    def merge(self, usage: Usage) -> None:
        """Take in the usage of one more row."""
        # written out, because it runs for every row of every message
        value = usage.input_tokens
        if value is not None and (self._input is None or value > self._input):
            self._input = value
        value = usage.cache_read_input_tokens
        if value is not None and (self._read is None or value > self._read):
            self._read = value
        value = usage.cache_creation_input_tokens
        if value is not None and (self._writes is None or value > self._writes):
            self._writes = value
        value = usage.output_tokens
        if value is not None and (self._output is None or value > self._output):
            self._output = value
        split = usage.cache_creation
        if split is not None:
            value = split.ephemeral_5m_input_tokens
            if value is not None and (self._5m is None or value > self._5m):
                self._5m = value
            value = split.ephemeral_1h_input_tokens
            if value is not None and (self._1h is None or value > self._1h):
                self._1h = value

    def _usage(self) -> tuple[Whole, Whole, Whole, Whole, Whole]:
        """Uncached input, cache reads, cache writes for 5 minutes and for an hour, output."""
        short, long, writes = _whole(self._5m), _whole(self._1h), _whole(self._writes)
        if writes is not None:
            # what the split does not explain was priced as the default kind ($02)
            long = long or 0
            short = max(short or 0, writes - long)
        found = (_whole(self._input), _whole(self._read), short, long, _whole(self._output))
        # a request without any token does not exist: the log does not tell ($14)
        return found if any(found) else (None, None, None, None, None)

    def record(self, emissions_before: int | None = None) -> Request:
        """The finished request.

        Args:
            emissions_before: Replaces the number of emissions noted at the first row.
        """
        head = self._head if emissions_before is None else (*self._head[:6], emissions_before)
        return Request(
            self.key,
            *head,
            self.model_key,
            self.tier_key,
            self.stop_key,
            self.version_key,
            *self._usage(),
            # a message without a stop reason was cut off while it was streamed: its output count is a
            # placeholder (claude-code.md section 3)
            self.stop_key is not None,
            self.text_bytes,
            self.thinking_bytes,
            self.tool_bytes,
            self.calls,
            self.hidden,
            self.cost,
            *self._marks,
        )

    @property
    def emissions_before(self) -> int:
        """Tool results of the context before the first row."""
        return self._head[6]
