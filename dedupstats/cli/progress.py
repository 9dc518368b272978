"""What a person sees of a command at work: a progress bar, and what an interrupt leaves behind."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Self

from dedupstats.errors import DedupstatsError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.progress import Progress, TaskID


class StoppedError(DedupstatsError):
    """Ctrl-C while an import was at work."""

    exit_code = 130


@contextmanager
def interruptible() -> Iterator[None]:
    """Say what an interrupt leaves behind; typer would end without a word.

    Raises:
        StoppedError: In place of `KeyboardInterrupt`.
    """
    try:
        yield
    except KeyboardInterrupt as stop:
        raise StoppedError(
            "interrupted; what was committed stays", "type the same again to read the rest"
        ) from stop


class Bar:
    """A progress bar on a terminal, nothing when piped.

    Args:
        word: What is at work: `Reading`.
        is_sized: What is done is counted in bytes.
    """

    def __init__(self, word: str, *, is_sized: bool = False) -> None:
        self._word = word
        self._is_sized = is_sized
        self._bar: Progress | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def update(self, done: int, total: int, _unit: str = "") -> None:
        """Show how much is done; the bar appears with the first piece."""
        if self._bar is None:
            if not sys.stderr.isatty():
                return
            from rich.console import Console
            from rich.progress import (
                BarColumn,
                DownloadColumn,
                MofNCompleteColumn,
                Progress,
                TextColumn,
                TimeRemainingColumn,
            )

            self._bar = Progress(
                TextColumn(self._word),
                BarColumn(),
                DownloadColumn() if self._is_sized else MofNCompleteColumn(),
                TimeRemainingColumn(),
                console=Console(stderr=True),
                transient=True,
            )
            self._bar.start()
            self._task = self._bar.add_task("", total=total)
        if self._task is not None:
            self._bar.update(self._task, completed=done)
