"""The wheel holds what the program needs, and works where nothing else of the project is."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "dedupstats"
NEEDED = ("build", "setuptools")


def setuptools_major() -> int:
    return int(importlib.metadata.version("setuptools").split(".")[0])


pytestmark = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in NEEDED) or setuptools_major() < 77,
    reason="building without a network wants `build` and `setuptools>=77` in the environment",
)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from a copy of what it is made of, so that the project's folder stays as it is."""
    source = tmp_path_factory.mktemp("source")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    for folder in ("dedupstats", "tests/support"):
        shutil.copytree(ROOT / folder, source / folder, ignore=shutil.ignore_patterns("__pycache__"))
    target = tmp_path_factory.mktemp("wheel")
    ran = subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", target, source],
        capture_output=True,
        text=True,
        check=False,
    )
    assert not ran.returncode, ran.stdout + ran.stderr
    (found,) = target.glob("*.whl")
    return found


def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_wheel_holds_every_file_of_the_package(wheel: Path) -> None:
    """Code, SQL, texts of columns, tables of tools, style and script of the report, the mark of types."""
    wanted = {
        path.relative_to(ROOT).as_posix()
        for path in PACKAGE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".orig"
    }
    assert {"dedupstats/py.typed", "dedupstats/store/views.sql", "dedupstats/report/report.css"} <= wanted
    assert sorted(wanted - names(wheel)) == []


def test_wheel_holds_nothing_else(wheel: Path) -> None:
    tops = {name.split("/")[0] for name in names(wheel)}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"dedupstats"}
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names(wheel))


def test_wheel_works_alone(wheel: Path, tmp_path: Path) -> None:
    """In an environment of its own: only the libraries that it names are lent to it."""
    place = tmp_path / "venv"
    venv.create(place, with_pip=False)
    scheme = {"base": str(place), "platbase": str(place)}
    site = Path(sysconfig.get_path("purelib", "venv", scheme))
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    # editable installs come by files of this kind, which a path on PYTHONPATH does not follow
    lent = {"PYTHONPATH": sysconfig.get_path("purelib")}
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "LANG": "C.UTF-8", **lent}
    python = Path(sysconfig.get_path("scripts", "venv", scheme)) / "python"

    def run(*arguments: str) -> str:
        ran = subprocess.run(
            [python, *arguments], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert not ran.returncode, ran.stderr
        return ran.stdout

    assert run("-c", "import dedupstats; print(dedupstats.__file__)").startswith(str(site))
    assert "rates" in run("-m", "dedupstats", "--help")
    shutil.copytree(ROOT / "sample_data" / "rtk", tmp_path / "rtk")
    shutil.copytree(ROOT / "sample_data" / "docker_agent", tmp_path / "docker_agent")
    run("-m", "dedupstats", "import", "rtk", "docker_agent")
    assert "56.9 %" in run("-m", "dedupstats", "report", "--brief")
    run("-m", "dedupstats", "report", "-o", "report.html")
    assert (tmp_path / "report.html").stat().st_size > 1_000_000


def test_wheel_s_console_script(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith("entry_points.txt")]
        assert "dedupstats = dedupstats.__main__:main" in archive.read(name).decode()
