"""Counting with a model's own tokenizer: o200k of GPT models, where the extra `tokens` is installed.

`bpe-openai` holds the encoding itself and asks no network (token-economics.md 5.5, offline tokenizers).
"""

from __future__ import annotations

import warnings
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_ENCODING = "o200k_base"
_PIECE = 50_000
"""characters that are encoded at once: the tokenizer refuses 200,000 tokens, and a character has at most 4"""


def is_installed() -> bool:
    """Whether the extra `tokens` is there."""
    return find_spec("bpe_openai") is not None


def tokenizer_of(model: str) -> Callable[[str], int] | None:
    """What counts the tokens of a text as a model does; None: its tokenizer is another one, or not installed.

    Only models known to use o200k are counted: of an unknown one the count would tell nothing.
    """
    # most imports of a day have nothing to count
    from dedupstats.economics.families import family_of

    family = family_of(model)
    if family is None or family.over_o200k is None or _encoding() is None:
        return None
    return count


def count(text: str) -> int:
    """Tokens of a text by o200k, framing left out; it must be installed.

    What looks like a special token is plain text. Long texts are cut, which adds at most a token a cut.
    """
    encoding = _encoding()
    pieces = (text[start : start + _PIECE] for start in range(0, len(text), _PIECE))
    return sum(len(encoding.encode(piece, disallowed_special=())) for piece in pieces)


@cache
def _encoding() -> Any:
    """The encoding; None: it is not installed."""
    if not is_installed():
        return None
    with warnings.catch_warnings():
        # it reads its data in a way that Python means to drop
        warnings.simplefilter("ignore", DeprecationWarning)
        # by name: its table of models does not know the newest ones
        return import_module("bpe_openai").get_encoding(_ENCODING)
