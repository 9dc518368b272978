"""That the benchmarks run: what they print is for people, and no figure of theirs is tested."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[1] / "bench"


@pytest.mark.parametrize(
    ("script", "arguments"),
    [
        ("import_speed.py", ["1", "1"]),
        ("least_import.py", ["1", "1"]),
        ("warm_import.py", ["5"]),
        ("rates_speed.py", ["500"]),
        ("simulate_speed.py", ["2000", "1"]),
        ("cost_in_simulate.py", ["2000", "1"]),
    ],
)
def test_a_small_one_prints_its_figures_beside_the_goal(script: str, arguments: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, str(BENCH / script), *arguments], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "goal" in done.stdout
