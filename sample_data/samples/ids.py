"""Seeded identifiers and random choices: the same on every machine and in every run."""

from __future__ import annotations

from random import Random

SEED = 20261130
"""printed in README.md; another seed gives other identifiers and sizes, and the same stories"""

_BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


class Ids:
    """A stream of identifiers of its own for each name, so that one story can change without the others."""

    def __init__(self, name: str) -> None:
        # seeded on purpose; a text seed goes through SHA-512, never through the salted hash()
        self.random = Random(f"{SEED}/{name}")

    def uuid(self) -> str:
        """A UUID of version 4."""
        digits = f"{self.random.getrandbits(128):032x}"
        variant = "89ab"[self.random.getrandbits(2)]
        return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}"

    def api(self, prefix: str) -> str:
        """An identifier as the API gives them: `toolu_01...`, `msg_01...`, `req_01...`."""
        return f"{prefix}_01{self.letters(22)}"

    def letters(self, count: int) -> str:
        """So many letters and digits."""
        return "".join(_BASE58[self.below(len(_BASE58))] for _ in range(count))

    def hex(self, count: int) -> str:
        """So many hexadecimal digits."""
        return f"{self.random.getrandbits(4 * count):0{count}x}"

    def below(self, limit: int) -> int:
        """A number from 0 to limit - 1."""
        return int(self.random.random() * limit)

    def between(self, low: int, high: int) -> int:
        """A number from low to high, both included."""
        return low + self.below(high - low + 1)

    def chance(self, probability: float) -> bool:
        """True with this probability."""
        return self.random.random() < probability
