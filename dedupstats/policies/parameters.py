"""Parameters of policies, declared as data: they serve `--set`, validation and the reference pages."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

from dedupstats.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

Value = int | bool | str | frozenset[str]

_SHOWN_CHARACTERS = 40


@dataclass(frozen=True, slots=True)
class Parameter(ABC):
    """One setting of a policy."""

    name: str
    defaults: Mapping[str, Value]
    """by revision; a revision that is not there does not have the parameter. Policies without any have ''"""
    help: str
    _: KW_ONLY
    source: str = ""
    """where it is written down what the real code has"""
    unit: str = ""

    @property
    @abstractmethod
    def range(self) -> str:
        """What may be given, in words."""

    @abstractmethod
    def accepts(self, value: Any) -> bool:
        """Whether a value, as JSON has it, is of the right type and in range."""

    @abstractmethod
    def read(self, text: str) -> Any:
        """The value that a text stands for, in range or not; the text itself if it stands for none."""

    def value(self, given: Any) -> Value:
        """A value as JSON has it, checked.

        Raises:
            UsageError: It is of another type, or out of range.
        """
        if not self.accepts(given):
            text = given if isinstance(given, str) else repr(given)
            cut = text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "..."
            raise UsageError(f"{self.name} cannot be {cut!r}", f"its range is {self.range}")
        return frozenset(given) if isinstance(given, list) else given


@dataclass(frozen=True, slots=True)
class Number(Parameter):
    """A whole number."""

    least: int = 0

    @property
    def range(self) -> str:
        """What may be given, in words."""
        return f"whole numbers from {self.least}"

    def accepts(self, value: Any) -> bool:
        """Whether it is an integer from the least one on."""
        return isinstance(value, int) and not isinstance(value, bool) and value >= self.least

    def read(self, text: str) -> Any:
        """The number that a text stands for; `51_200` is one."""
        try:
            return int(text)
        except ValueError:
            return text


@dataclass(frozen=True, slots=True)
class Flag(Parameter):
    """Yes or no."""

    @property
    def range(self) -> str:
        """What may be given, in words."""
        return "true, false"

    def accepts(self, value: Any) -> bool:
        """Whether it is a boolean."""
        return isinstance(value, bool)

    def read(self, text: str) -> Any:
        """The boolean that a text stands for."""
        return {"true": True, "false": False}.get(text.lower(), text)


@dataclass(frozen=True, slots=True)
class Choice(Parameter):
    """One word of several."""

    choices: tuple[str, ...]

    @property
    def range(self) -> str:
        """What may be given, in words."""
        return ", ".join(self.choices)

    def accepts(self, value: Any) -> bool:
        """Whether it is one of the words."""
        return value in self.choices

    def read(self, text: str) -> Any:
        """The word itself."""
        return text


@dataclass(frozen=True, slots=True)
class Words(Parameter):
    """A set of words."""

    @property
    def range(self) -> str:
        """What may be given, in words."""
        return "words with commas between them"

    def accepts(self, value: Any) -> bool:
        """Whether it is a list of words."""
        return isinstance(value, list) and all(isinstance(word, str) for word in value)

    def read(self, text: str) -> Any:
        """The words of a text."""
        return [word.strip() for word in text.split(",") if word.strip()]
