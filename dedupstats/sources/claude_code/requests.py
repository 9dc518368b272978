"""Requests, merged over the rows of their message.

A message is logged as one row per content block, each with the usage so far: one request is one message id,
and each usage field counts with its maximum (claude-code.md section 3). Summing rows doubles every figure.
"""

from __future__ import annotations

from dedupstats.model import Request
from dedupstats.sources.claude_code.rows import Number, Usage

Whole = int | None


def _larger(known: Whole, seen: Number) -> Whole:
    if seen is None:
        return known
    value = int(seen) if 0 <= seen < 1 << 62 else 0
    return value if known is None or value > known else known


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
        "stop_key",
        "text_bytes",
        "thinking_bytes",
        "tier_key",
        "tool_bytes",
        "version_key",
    )

    def __init__(
        self,
        key: int,
        head: tuple[int, str, int, int | None, int | None, int, int],
        marks: tuple[bool, bool, bool],
        model_key: int | None,
        version_key: int | None,
    ) -> None:
        """Begin with the first row.

        Args:
            key: Hash of the source and the native message id.
            head: context_key, native_id, line, at, clock, turn, emissions_before.
            marks: is_fork, is_home, is_sidechain.
            model_key: Name key of the model.
            version_key: Name key of the version.
        """
        self.key = key
        self._head = head
        self._marks = marks
        self.model_key = model_key
        self.version_key = version_key
        self.tier_key: int | None = None
        self.stop_key: int | None = None
        self._input: Whole = None
        self._read: Whole = None
        self._writes: Whole = None
        self._5m: Whole = None
        self._1h: Whole = None
        self._output: Whole = None
        self.text_bytes = 0
        self.thinking_bytes = 0
        self.tool_bytes = 0
        self.calls = 0
        self.hidden = 0
        self.cost: float | None = None

    def merge(self, usage: Usage) -> None:
        """Take in the usage of one more row."""
        self._input = _larger(self._input, usage.input_tokens)
        self._read = _larger(self._read, usage.cache_read_input_tokens)
        self._writes = _larger(self._writes, usage.cache_creation_input_tokens)
        self._output = _larger(self._output, usage.output_tokens)
        split = usage.cache_creation
        if split is not None:
            self._5m = _larger(self._5m, split.ephemeral_5m_input_tokens)
            self._1h = _larger(self._1h, split.ephemeral_1h_input_tokens)

    def _usage(self) -> tuple[Whole, Whole, Whole, Whole, Whole]:
        """Uncached input, cache reads, cache writes for 5 minutes and for an hour, output."""
        short, long = self._5m, self._1h
        if self._writes is not None:
            # what the split does not explain was priced as the default kind ($02)
            long = long or 0
            short = max(short or 0, self._writes - long)
        found = (self._input, self._read, short, long, self._output)
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
