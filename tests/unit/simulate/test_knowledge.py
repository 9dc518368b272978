"""What a person says of tools in a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dedupstats.errors import DedupstatsError, UsageError
from dedupstats.model import ReadOnly
from dedupstats.simulate.knowledge import Said, read_tools

if TYPE_CHECKING:
    from pathlib import Path


def test_tools_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "tools.toml"
    path.write_text(
        "[tools.mcp__db__query]\nread_only = true\n"
        '[tools."a b"]\nread_only = "unknown"\ncategory = "shell"\n'
        "[tools.Write]\nread_only = false\n[tools.x]\n",
        "utf-8",
    )
    assert read_tools(path) == {
        "mcp__db__query": Said(ReadOnly.YES, None),
        "a b": Said(ReadOnly.UNKNOWN, "shell"),
        "Write": Said(ReadOnly.NO, None),
        "x": Said(None, None),
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[tools.x]\nread_only = 1\n", "'x' is not described"),
        ('[tools.x]\nread_only = "yes"\n', "'x' is not described"),
        ("[tools.x]\nreadonly = true\n", "'x' is not described"),
        ("[tools.x]\ncategory = 5\n", "'x' is not described"),
        ("[tools]\nx = true\n", "'x' is not described"),
        ("[tool.x]\nread_only = true\n", "'tool' beside tools"),
        ("tools = 5\n", "beside tools"),
    ],
)
def test_what_is_no_description(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "tools.toml"
    path.write_text(text, "utf-8")
    with pytest.raises(UsageError, match=message) as caught:
        read_tools(path)
    assert "read_only = true" in caught.value.hint


@pytest.mark.parametrize("data", [b"tools = [", b"\xff\xfe", b"x = " + b"[" * 5000])
def test_what_is_no_toml(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "tools.toml"
    path.write_bytes(data)
    with pytest.raises(DedupstatsError, match="is no TOML") as caught:
        read_tools(path)
    assert caught.value.exit_code == 3


def test_a_byte_order_mark_is_no_part_of_a_description(tmp_path: Path) -> None:
    path = tmp_path / "tools.toml"
    path.write_bytes(b"\xef\xbb\xbf[tools.x]\r\nread_only = true\r\n")
    assert read_tools(path)["x"].read_only is ReadOnly.YES


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DedupstatsError, match="No such file"):
        read_tools(tmp_path / "none.toml")
