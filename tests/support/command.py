"""Running the command line in this process, as `python -m dedupstats` does."""

from __future__ import annotations

import io
import sys
from typing import NamedTuple

import pytest

from dedupstats.__main__ import main


class Ran(NamedTuple):
    """What a command left behind."""

    code: int
    data: bytes
    out: str
    err: str


def run(*arguments: str, terminal: bool = False, encoding: str = "utf-8") -> Ran:
    """Run `dedupstats` with arguments; `terminal` makes stdout look like one."""

    class Stream(io.TextIOWrapper):
        def isatty(self) -> bool:
            return terminal

    out, err = io.BytesIO(), io.BytesIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["dedupstats", *arguments])
        patch.setattr(sys, "stdout", Stream(out, encoding=encoding))
        patch.setattr(sys, "stderr", io.TextIOWrapper(err, encoding="utf-8"))
        code = 0
        try:
            main()
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 0
        sys.stdout.flush()
        sys.stderr.flush()
        return Ran(code, out.getvalue(), out.getvalue().decode(encoding, "replace"), err.getvalue().decode())
