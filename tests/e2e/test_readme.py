"""Every command and every Python example of README and docs runs as it stands there."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(sh|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
KEY = re.compile(r"0x[0-9a-f]{16}")
OURS = ("dedupstats", "python -m dedupstats")
ELSEWHERE = ("make", "python3", ".venv-dedupstats/bin/pip", ".", "git", "cd")

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the pages show a POSIX shell")


def blocks(kind: str) -> list[tuple[str, str]]:
    return [
        (page.name, found[2])
        for page in PAGES
        for found in BLOCK.finditer(page.read_text("utf-8"))
        if found[1] == kind
    ]


def lines() -> list[tuple[str, list[str]]]:
    """Page and words of every line of every shell block."""
    return [
        (page, shlex.split(line, comments=True))
        for page, text in blocks("sh")
        for line in text.splitlines()
        if shlex.split(line, comments=True)
    ]


def environment(home: Path) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    return {**kept, "HOME": str(home), "TZ": "UTC", "LANG": "C.UTF-8"}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with logs in the default places, and the samples where the pages have them."""
    home = tmp_path_factory.mktemp("home")
    samples = shutil.copytree(ROOT / "sample_data", home / "sample_data")
    shutil.copytree(samples / "claude_code", home / ".claude")
    (home / ".cagent").mkdir()
    shutil.copy(samples / "docker_agent/session.db", home / ".cagent")
    (home / ".local/share/rtk").mkdir(parents=True)
    shutil.copy(samples / "rtk/history.db", home / ".local/share/rtk")
    return home


def test_the_pages_hold_commands() -> None:
    ours = [words for _, words in lines() if words[0] == "dedupstats"]
    assert len(ours) >= 10
    typed = {words[1] for words in ours if len(words) > 1}
    assert {"import", "rates", "report", "sql", "export", "simulate"} <= typed
    assert blocks("python")


def test_what_else_is_typed_is_known() -> None:
    """Targets of make are there; other programs are those that a newcomer has."""
    targets = re.findall(r"^([a-z]+):.*##", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    for page, words in lines():
        if " ".join(words).startswith(OURS):
            continue
        assert words[0] in ELSEWHERE, (page, words)
        if words[0] == "make":
            assert set(words[1:]) <= set(targets), (page, words)


def test_every_command_runs(home: Path) -> None:
    failed = []
    # the pages are read in this order, and the first command without arguments imports
    for page, words in lines():
        if not " ".join(words).startswith(OURS):
            continue
        arguments = words[1:] if words[0] == "dedupstats" else words[3:]
        arguments = [str(home) + word[1:] if word.startswith("~/") else word for word in arguments]
        ran = subprocess.run(
            [sys.executable, "-m", "dedupstats", *arguments],
            cwd=home,
            env=environment(home),
            capture_output=True,
            text=True,
            check=False,
        )
        if ran.returncode or "Traceback" in ran.stderr:
            failed.append((page, words, ran.returncode, ran.stderr))
    assert failed == []


def test_every_python_example_runs(home: Path) -> None:
    for page, text in blocks("python"):
        ran = subprocess.run(
            [sys.executable, "-W", "error", "-c", text],
            cwd=home,
            env=environment(home),
            capture_output=True,
            text=True,
            check=False,
        )
        assert not ran.returncode, (page, text, ran.stderr)
        assert not ran.stderr, page


def test_links_between_pages_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+)", page.read_text("utf-8")):
            if "://" not in target:
                assert (page.parent / target).exists(), (page.name, target)


def test_the_readme_shows_what_the_demo_prints(tmp_path: Path) -> None:
    shown = re.findall(r"```text\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)[0]
    store = str(tmp_path / "demo.duckdb")
    run = partial(subprocess.run, check=True, capture_output=True, text=True, encoding="utf-8")
    run([sys.executable, "-m", "dedupstats", "import", str(ROOT / "sample_data"), "--db", store])
    printed = run(
        [sys.executable, "-m", "dedupstats", "report", "--demo", "--db", store, "-o", str(tmp_path / "r.md")]
    ).stdout
    assert shown in printed


def test_the_readme_shows_what_explain_prints(home: Path, tmp_path: Path) -> None:
    page = (ROOT / "README.md").read_text("utf-8").partition("## Why was this elided?")[2]
    shown = re.findall(r"```text\n(.*?)```", page, re.DOTALL)[0]
    store = str(tmp_path / "demo.duckdb")
    run = partial(
        subprocess.run, check=True, capture_output=True, text=True, encoding="utf-8", env=environment(home)
    )
    run([sys.executable, "-m", "dedupstats", "import", str(home / "sample_data"), "--db", store])
    words = next(words for _, words in lines() if words[:3] == ["dedupstats", "explain", "--verdict"])
    printed = run([sys.executable, "-m", "dedupstats", *words[1:], "--db", store]).stdout
    # an emission's key is made from its file's path
    assert KEY.sub("0x", shown) in KEY.sub("0x", printed)
