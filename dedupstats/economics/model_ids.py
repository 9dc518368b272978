"""What the id of a model says: who sells it, in which region, and what it is called without trimmings.

Logs spell one model in many ways: with a vendor in front (`anthropic/`), as Bedrock does
(`us.anthropic.claude-sonnet-4-5-20250929-v1:0`), with a date, with `[1m]` for a long window
(token-economics.md 6.3).
"""

from __future__ import annotations

import re
from typing import NamedTuple

_VENDORS = {
    "anthropic": "anthropic",
    "bedrock": "aws",
    "deepseek": "deepseek",
    "gemini": "google",
    "google": "google",
    "minimax": "minimax",
    "mistral": "mistral",
    "openai": "openai",
    "vertex_ai": "google",
    "x-ai": "x-ai",
    "xai": "x-ai",
    "z-ai": "zai",
}
"""What may stand before a slash, and the provider that it names. Other words before a slash are gateways of
their own (`accounts/fireworks/...`), whose prices are theirs: such an id is not taken apart."""

_BEDROCK = re.compile(
    r"^(?:(?:us|eu|apac|au|jp|us-gov|global|regional)\.)?(?:anthropic|amazon|meta|mistral)\."
)
_LONG = re.compile(r"\[1m\]$|-1m$")
_TRIMMINGS = re.compile(
    r"(?:\[1m\]|-1m|-latest|@latest|@default|-v\d+(?::\d+)?|[-@]20\d{6}|-20\d\d-\d\d-\d\d|:beta)$"
)


class ModelId(NamedTuple):
    """The id of a model, taken apart."""

    name: str
    """as the provider knows it: lower case, without vendor and `[1m]`, with region and date"""
    provider: str | None
    """who sells it, by the form of the id; None: the name alone must tell"""
    is_long: bool
    """asked for with a window of a million tokens"""
    is_known_form: bool
    """False for what a gateway of its own sells under a path"""


def parse(model: str) -> ModelId:
    """Take an id apart.

    Example:
        >>> parse("anthropic/claude-sonnet-4-5[1m]")
        ModelId(name='claude-sonnet-4-5', provider='anthropic', is_long=True, is_known_form=True)
        >>> parse("us.anthropic.claude-opus-4-6-v1").provider
        'aws'
    """
    name = model.strip().lower()
    provider = None
    if "/" in name:
        vendor, _, rest = name.partition("/")
        provider = _VENDORS.get(vendor)
        if provider is None or "/" in rest:
            return ModelId(name, None, bool(_LONG.search(name)), False)
        name = rest
    if _BEDROCK.match(name):
        provider = "aws"
    is_long = bool(_LONG.search(name))
    return ModelId(name.removesuffix("[1m]"), provider, is_long, True)


def bare(name: str) -> str:
    """A model's name without region, vendor, date, revision and window, to compare spellings of one model.

    Example:
        >>> bare("us.anthropic.claude-opus-4-6-v1:0"), bare("claude-opus-4.6-1m"), bare("claude-opus-4-10")
        ('claude-opus-4-6', 'claude-opus-4-6', 'claude-opus-4-10')
    """
    name = _BEDROCK.sub("", name.lower())
    while True:
        shorter = _TRIMMINGS.sub("", name)
        if shorter == name:
            return name.replace(".", "-")
        name = shorter
