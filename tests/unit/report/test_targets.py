"""Targets made short: paths by their last part, arguments not at all where a report may be shared."""

from __future__ import annotations

import pytest

from dedupstats.report.names import Names
from dedupstats.report.targets import is_path, shared_target, short_targets

SHORT = Names("last part of paths", ())


@pytest.mark.parametrize(
    ("tool", "target", "shown"),
    [
        ("Read", "/home/u/a b/c.py", "c.py"),
        ("Read", "D:\\20. POC\\x.md", "x.md"),
        ("Bash", "KEY=secret curl -H 'x' https://a/b", "curl …"),
        ("mcp__acp__Bash", "/usr/bin/git log --all", "git …"),
        ("Bash", "'quoted program' x", "(command)"),
        ("WebFetch", "https://user:pw@docs.example:8080/a?key=1", "docs.example …"),
        ("Grep", "password /srv/app", "(text)"),
        ("WebSearch", "how to hide", "(text)"),
    ],
)
def test_a_shared_target_says_no_argument(tool: str, target: str, shown: str) -> None:
    assert shared_target(tool, target, SHORT) == shown


def test_paths_keep_what_tells_them_apart_and_commands_are_whole() -> None:
    assert short_targets(["/a/x.py", "/b/x.py", "/c/y.py", "cat /a/x.py -n"]) == {
        "/a/x.py": "a/x.py",
        "/b/x.py": "b/x.py",
        "/c/y.py": "y.py",
        "cat /a/x.py -n": "cat /a/x.py -n",
    }


def test_what_holds_a_line_end_or_shell_syntax_is_no_path() -> None:
    assert not any(map(is_path, ("/a\n/b", "/bin/x | y", "~/x; rm", "/a $HOME")))
