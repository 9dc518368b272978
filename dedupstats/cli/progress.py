"""What a person sees of a command at work: a progress bar, and what an interrupt leaves behind."""

from __future__ import annotations

import signal
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Self

from dedupstats.errors import DedupstatsError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.progress import Progress, TaskID


_STOPS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
"""what asks a program to end, besides Ctrl-C; by default it would end at once and leave its copies behind"""


class StoppedError(DedupstatsError):
    """Ctrl-C or another signal while an import was at work."""

    exit_code = 130


@contextmanager
def interruptible() -> Iterator[None]:
    """Say what an interrupt leaves behind; typer would end without a word.

    Raises:
        StoppedError: In place of `KeyboardInterrupt`.
    """
    met: list[int] = []

    def stop(number: int, _frame: object) -> None:
        met.append(number)
        raise KeyboardInterrupt

    # only the main thread may ask
    is_main = threading.current_thread() is threading.main_thread()
    before = {number: signal.signal(number, stop) for number in _STOPS} if is_main else {}
    try:
        yield
    except KeyboardInterrupt as error:
        stopped = StoppedError(
            "interrupted; what was committed stays", "type the same again to read the rest"
        )
        if met:
            stopped.exit_code = 128 + met[0]
        raise stopped from error
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


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
