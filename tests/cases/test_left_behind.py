"""Private copies of databases hold what a person worked on: none is left in the temporary folder."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import textwrap
from typing import TYPE_CHECKING

import pytest
from support import rtk

from dedupstats.sources import probe

if TYPE_CHECKING:
    from pathlib import Path

SCRIPT = """
    import os, sys
    from dedupstats.sources.rtk import Rtk

    number = int(sys.argv[1])

    def read(self, unit, reading):
        os.kill(os.getpid(), number)
        yield

    Rtk.read = read
    sys.argv = ["dedupstats", "import", *sys.argv[2:]]
    from dedupstats.__main__ import main
    main()
"""


@pytest.fixture
def history(tmp_path: Path) -> Path:
    row = rtk.Command("2026-03-01T09:00:00+00:00", "git status", "rtk git status", 100, 40)
    return rtk.write_history(tmp_path / "history.db", commands=[row])


@pytest.mark.skipif(sys.platform == "win32", reason="no such signals")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGINT"])
def test_a_signal_leaves_no_copy(tmp_path: Path, history: Path, name: str) -> None:
    number = getattr(signal, name)
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    ran = subprocess.run(
        [
            sys.executable,
            "-c",
            textwrap.dedent(SCRIPT),
            str(int(number)),
            history,
            "--db",
            tmp_path / "s.duckdb",
        ],
        env={**os.environ, "TMPDIR": str(temporary)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 128 + number
    assert ran.stderr.startswith("dedupstats: interrupted; what was committed stays")
    assert list(temporary.iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="processes cannot be asked for")
def test_copies_of_dead_processes_are_removed(
    tmp_path: Path, history: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True
    )
    dead = int(ended.stdout)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    names = [f"dedupstats-{dead}-old", f"dedupstats-{os.getpid()}-mine", "dedupstats-x-y", f"other-{dead}-z"]
    for name in (*names, f"dedupstats-{dead}-new"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "copy.db").touch()
    for name in names:
        os.utime(tmp_path / name, (0, 0))
    probe.remove_stale_copies.cache_clear()
    with probe.Probe(str(history), history.stat().st_size) as opened:
        assert opened.tables
    left = {path.name for path in tmp_path.iterdir() if path.is_dir()}
    assert left == {*names[1:], f"dedupstats-{dead}-new"}
