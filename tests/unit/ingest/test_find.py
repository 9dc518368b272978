"""Walking folders: each file once, nothing opened that is no file, nothing lost to a neighbour's fault."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from dedupstats.ingest import find
from dedupstats.sources.base import FileInfo
from dedupstats.sources.measure import to_storable


def walked(*roots: Path) -> tuple[list[str], list[tuple[str, str]]]:
    """Paths found, and faults."""
    faults: list[tuple[str, str]] = []
    found = find.walk([str(root) for root in roots], lambda path, reason: faults.append((path, reason)))
    return [file.path for file in found], faults


def filled(folder: Path, *names: str) -> list[str]:
    """Files of those names, and their paths."""
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return sorted(str(folder / name) for name in names)


def test_files_of_all_folders_hidden_ones_too(tmp_path: Path) -> None:
    expected = filled(tmp_path, "b", "a/c", "a/.hidden/d", ".e")
    filled(tmp_path, ".git/objects/f")
    assert walked(tmp_path) == (expected, [])


def test_size_and_time_are_told(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"abc")
    os.utime(path, ns=(1, 1_234_567_890_123_456_789))
    assert find.walk([str(tmp_path)], pytest.fail) == [FileInfo(str(path), 3, 1_234_567_890_123_456_789)]


def test_the_same_root_twice_and_roots_within_roots(tmp_path: Path) -> None:
    expected = filled(tmp_path, "a/b/c", "a/d")
    roots = [tmp_path, tmp_path, tmp_path / "a", tmp_path / "a" / "b", Path(expected[0])]
    assert walked(*roots) == walked(*roots[::-1]) == (expected, [])


def test_links_are_followed_and_nothing_comes_twice(tmp_path: Path) -> None:
    (real,) = filled(tmp_path, "outside/a")
    filled(tmp_path, "in/b")
    inside = tmp_path / "in"
    (inside / "to_file").symlink_to(real)
    (inside / "to_folder").symlink_to(tmp_path / "outside")
    (inside / "round").symlink_to(inside)
    (inside / "sub").mkdir()
    (inside / "sub" / "up").symlink_to(tmp_path)
    assert walked(inside) == ([str(inside / "b"), real], [])


def test_links_that_lead_nowhere_are_named_as_they_are(tmp_path: Path) -> None:
    (a,) = filled(tmp_path, "a")
    (tmp_path / "gone").symlink_to("nothing")
    (tmp_path / "itself").symlink_to("itself")
    found, faults = walked(tmp_path)
    assert found == [a]
    assert sorted(faults) == [
        (str(tmp_path / "gone"), "link to nothing: No such file or directory"),
        (str(tmp_path / "itself"), "link to itself: Too many levels of symbolic links"),
    ]


def test_of_hard_links_the_smallest_path_is_taken(tmp_path: Path) -> None:
    (b,) = filled(tmp_path, "b/x")
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "y").hardlink_to(b)
    (tmp_path / "b" / "w").hardlink_to(b)
    roots = [tmp_path / "a", tmp_path / "b"]
    assert walked(*roots) == walked(*roots[::-1]) == ([str(tmp_path / "a" / "y")], [])


def test_pipes_sockets_and_devices_are_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (a,) = filled(tmp_path, "a")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    (tmp_path / "null").symlink_to("/dev/null")
    monkeypatch.chdir(tmp_path)  # a socket's path must be short
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket")
        assert walked(tmp_path, tmp_path / "pipe", Path("/dev/null")) == ([a], [])


@pytest.mark.parametrize("name", ["pipe", "folder"])
def test_a_write_ahead_log_that_is_no_file(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    assert find.stat_file(str(tmp_path / name)) is None


def test_a_folder_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a, _ = filled(tmp_path, "a", "closed/b")
    scandir = os.scandir

    def refuse(path: str) -> object:
        if path.endswith("closed"):
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    assert walked(tmp_path) == ([a], [(str(tmp_path / "closed"), "Permission denied")])


def test_a_file_that_vanishes_meanwhile_takes_no_other_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b, c = filled(tmp_path, "a", "b", "c/d")
    scandir = os.scandir

    class Vanishing:
        def __init__(self, entry: os.DirEntry[str]) -> None:
            self._entry = entry

        def __getattr__(self, name: str) -> object:
            if name == "stat" and self._entry.name == "a":
                raise FileNotFoundError(2, "No such file or directory")
            return getattr(self._entry, name)

    class Listing:
        def __init__(self, path: str) -> None:
            self._entries = scandir(path)

        def __enter__(self) -> list[Vanishing]:
            return [Vanishing(entry) for entry in sorted(self._entries, key=lambda entry: entry.name)]

        def __exit__(self, *_: object) -> None:
            self._entries.close()

    monkeypatch.setattr(os, "scandir", Listing)
    assert walked(tmp_path) == ([b, c], [(a, "No such file or directory")])


def test_names_that_are_no_utf8(tmp_path: Path) -> None:
    name = os.fsdecode(b"a\xff.jsonl")
    (tmp_path / name).write_text("x")
    (found,), _ = walked(tmp_path)
    assert found == str(tmp_path / name)
    stored = to_storable(found)
    assert stored == str(tmp_path / r"a\udcff.jsonl")
    assert find.real_path(stored) == found
    # a name that merely looks like one
    (tmp_path / r"b\udcff.jsonl").write_text("x")
    assert find.real_path(str(tmp_path / r"b\udcff.jsonl")) == str(tmp_path / r"b\udcff.jsonl")


def test_what_is_gone_and_what_merely_cannot_be_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (a,) = filled(tmp_path, "a")
    assert [find.is_gone(path) for path in (a, a + "x", a + "/below")] == [False, True, True]

    def refuse(_: str) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "stat", refuse)
    assert not find.is_gone(a)


def test_a_fingerprint_sees_both_ends(tmp_path: Path) -> None:
    path = tmp_path / "a"

    def mark(data: bytes) -> bytes:
        path.write_bytes(data)
        return find.look(FileInfo(str(path), len(data), 0)).fingerprint

    whole = b"x" * 10_000
    assert mark(whole) == mark(whole)
    assert len({mark(whole), mark(b"y" + whole[1:]), mark(whole[:-1] + b"y")}) == 3
    assert mark(b"") != mark(b"x")
    # documented: the middle is not looked at
    assert mark(whole[:5000] + b"y" + whole[5001:]) == mark(whole)
    assert find.look(FileInfo(str(tmp_path / "gone"), 1, 0)).fingerprint == b""
    assert find.look(FileInfo(str(tmp_path), 1, 0)).fingerprint == b""
