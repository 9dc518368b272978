"""Families of tokenizers: what a text of so many letters, digits and other characters has in tokens.

Constants are those of token-economics.md 5.5 (text) and 5.3 (the model's own output), fitted on 10,468
results of public logs; a family is found by the id of the model.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from dedupstats.economics.model_ids import bare, parse


class Counts(NamedTuple):
    """Sizes of a text by class of character; blanks are what is left of `bytes`."""

    bytes: int
    letters: int = 0
    digits: int = 0
    newlines: int = 0
    other_ascii: int = 0
    non_ascii: int = 0
    o200k: int | None = None
    """tokens of the o200k encoding; None: not counted"""


class Visible(NamedTuple):
    """What the log shows of a model's answer."""

    text_bytes: int = 0
    tool_input_bytes: int = 0
    thinking_bytes: int = 0
    calls: int = 0
    hidden_thinking: int = 0
    """thinking blocks without text, whose size nobody knows"""

    @property
    def bytes(self) -> int:
        """All visible bytes."""
        return self.text_bytes + self.tool_input_bytes + self.thinking_bytes


class Classes(NamedTuple):
    """Tokens of a text: a constant, and so much for each byte of a class (5.5)."""

    const: float
    letter: float
    digit: float
    newline: float
    other_ascii: float
    non_ascii: float

    def tokens(self, counts: Counts) -> float:
        """Tokens of a text, at least those of the constant.

        Example:
            >>> fit = Classes(12.497, 0.262, 0.881, 1.016, 0.858, 0.419)
            >>> round(fit.tokens(Counts(2000, 1400, 100, 50, 150)), 1)
            646.9
        """
        return (
            self.const
            + self.letter * counts.letters
            + self.digit * counts.digits
            + self.newline * counts.newlines
            + self.other_ascii * counts.other_ascii
            + self.non_ascii * counts.non_ascii
        )


class Output(NamedTuple):
    """Tokens of a model's answer from what is visible of it (5.3)."""

    const: float
    text: float
    tool_input: float
    thinking: float
    call: float

    def tokens(self, visible: Visible) -> float:
        """Tokens of an answer whose thinking is all visible."""
        return (
            self.const
            + self.text * visible.text_bytes
            + self.tool_input * visible.tool_input_bytes
            + self.thinking * visible.thinking_bytes
            + self.call * visible.calls
        )


@dataclass(frozen=True, slots=True)
class Family:
    """A family of tokenizers.

    Attributes:
        name: As people and tables read it.
        classes: Tokens by class of character; None: only bytes tell.
        output: Tokens of the model's own answers; None: no rule.
        bytes_const, bytes_per_token: Tokens where only bytes are known: const + bytes / bytes_per_token.
        over_o200k: o200k is its own tokenizer, and this comes on top of a count; None: it is not.
    """

    name: str
    classes: Classes | None
    output: Output | None
    bytes_const: float
    bytes_per_token: float
    over_o200k: float | None = None

    def is_counted(self, counts: Counts) -> bool:
        """Whether its own tokenizer has counted a text."""
        return self.over_o200k is not None and counts.o200k is not None

    def tokens(self, counts: Counts) -> float:
        """Tokens of a tool result or other text of these counts, framing included (level 3)."""
        if self.over_o200k is not None and counts.o200k is not None:
            return counts.o200k + self.over_o200k
        if self.classes is None or not any(counts[1:6]):
            return self.bytes_const + counts.bytes / self.bytes_per_token
        return self.classes.tokens(counts)

    def output_tokens(self, visible: Visible) -> float | None:
        """Tokens of an answer of which this is visible; None: thinking is hidden, or no rule is known."""
        return None if self.output is None or visible.hidden_thinking else self.output.tokens(visible)


CLAUDE_4_6 = Family(
    "Claude up to 4.6",
    Classes(12.497, 0.262, 0.881, 1.016, 0.858, 0.419),
    Output(15.423, 0.304, 0.319, 0.306, 37.776),
    12,
    3.10,
)
CLAUDE_4_7 = Family(
    "Claude from 4.7",
    Classes(10.393, 0.376, 0.818, 2.481, 1.083, 0.412),
    # thinking of these models is hidden but for 1 block of 5,941: a visible one is measured as text
    Output(3.6, 0.448, 0.394, 0.448, 77.9),
    7,
    2.02,
)
DEEPSEEK = Family(
    "DeepSeek",
    Classes(12.267, 0.191, 0.695, 0.986, 0.838, 0.228),
    Output(12.3, 0.240, 0.264, 0.238, 40.0),
    9,
    3.37,
)
OPENAI = Family("GPT-5", None, None, 21, 3.58, over_o200k=26)

FAMILIES = (CLAUDE_4_6, CLAUDE_4_7, DEEPSEEK, OPENAI)

_NEW = (4, 7)
"""first version of Claude with the newer tokenizer (5.3, where the tokenizer changes)"""
_VERSION = re.compile(r"-(\d{1,2})(?:-(\d{1,2}))?(?=-|$)")
_OPENAI = re.compile(r"gpt-|o\d|codex")


@cache
def family_of(model: str | None) -> Family | None:
    """The family of a model by its id; None: its tokenizer is not known (level 4).

    Example:
        >>> [family_of(name).name for name in ("claude-opus-4-6[1m]", "claude-opus-4-7", "claude-fable-5")]
        ['Claude up to 4.6', 'Claude from 4.7', 'Claude from 4.7']
        >>> family_of("MiniMax-M2.1") is None
        True
    """
    if not model:
        return None
    name = bare(parse(model).name)
    if name.startswith("claude"):
        if "fable" in name or "mythos" in name:
            return CLAUDE_4_7
        version = _VERSION.search(name)
        number = (int(version[1]), int(version[2] or 0)) if version else (0, 0)
        return CLAUDE_4_7 if number >= _NEW else CLAUDE_4_6
    if name.startswith("deepseek"):
        return DEEPSEEK
    return OPENAI if _OPENAI.match(name) else None
