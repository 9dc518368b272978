"""The errors that a person sees: one line that says what is wrong, and a hint that says what to do."""

from __future__ import annotations


class DedupstatsError(Exception):
    """Root of all errors that are the input's or the user's, not ours.

    Attributes:
        message: What is wrong and where, on one line.
        hint: What to do or type next; may be empty.
        exit_code: The exit status of the command (DESIGN: 1 gate, 2 wrong use, 3 unusable input or store).
    """

    exit_code = 3

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(DedupstatsError):
    """An option or argument that makes no sense."""

    exit_code = 2


class StoreError(DedupstatsError):
    """The store is locked, newer than this program, damaged, or cannot be written."""


class NothingFoundError(DedupstatsError):
    """No logs at the places that were searched."""


class UnreadableUnitError(DedupstatsError):
    """A whole source unit cannot be read; the import reports it and goes on with the others."""


class GateError(DedupstatsError):
    """A check that was asked for (`--strict`) failed."""

    exit_code = 1
