"""The list of sources: the table of contents of what dedupstats can read.

A new source is a line here, or an entry point in the group `dedupstats.sources` of another package.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dedupstats.sources.base import Source

SOURCES = {
    "claude_code": "dedupstats.sources.claude_code:ClaudeCode",
    "docker_agent": "dedupstats.sources.docker_agent:DockerAgent",
    "rtk": "dedupstats.sources.rtk:Rtk",
}


def all_sources() -> list[Source]:
    """Every source, our own first, each made anew; foreign ones through their entry points."""
    found: list[Source] = []
    for target in SOURCES.values():
        module, _, name = target.partition(":")
        found.append(getattr(import_module(module), name)())
    found.extend(point.load()() for point in entry_points(group="dedupstats.sources"))
    return found
