"""What is known of tools: what the logs and the sources say, and what a person says in a file."""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from dedupstats.errors import DedupstatsError, UsageError
from dedupstats.model import ReadOnly
from dedupstats.paths import plain_file

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_FORM = 'a table a tool, as in [tools.mcp__db__query] read_only = true; read_only is true, false or "unknown"'


class Said(NamedTuple):
    """What a person says of a tool; None leaves what the source says."""

    read_only: ReadOnly | None
    category: str | None


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What goes before the knowledge of sources in a run."""

    tools: Mapping[str, Said] = field(default_factory=dict)
    """by the tool's name"""
    shell_reads: bool = False
    """shell commands that only read count as read-only for every policy, not only for those that see nothing
    but the shell"""

    @property
    def said(self) -> str:
        """As JSON, the same for the same knowledge; `{}` where nothing is said.

        Example:
            >>> Knowledge({"peek": Said(ReadOnly.YES, None)}, shell_reads=True).said
            '{"shell_reads":true,"tools":{"peek":{"read_only":"yes"}}}'
        """
        tools = {
            name: {key: str(word) for key, word in said._asdict().items() if word is not None}
            for name, said in self.tools.items()
        }
        found = {"shell_reads": self.shell_reads, "tools": tools}
        return json.dumps(
            {key: one for key, one in found.items() if one}, sort_keys=True, separators=(",", ":")
        )


def read_tools(path: Path) -> dict[str, Said]:
    """The tools of a TOML file: `[tools.NAME]` with `read_only` (true, false, "unknown") and `category`.

    Raises:
        DedupstatsError: It cannot be read, is no plain file, or is no TOML.
        UsageError: It says something else than that.
    """
    try:
        # some editors write a byte order mark
        given = tomllib.loads(plain_file(path, f"name a TOML file: it wants {_FORM}").read_text("utf-8-sig"))
    except OSError as error:
        raise DedupstatsError(f"cannot read {path}: {error.strerror or error}") from error
    # no UTF-8, no TOML, a number that is too long; brackets that are too many
    except (ValueError, RecursionError) as error:
        raise DedupstatsError(f"{path} is no TOML: {error}", f"it wants {_FORM}") from error
    tools = given.pop("tools", {})
    if given or not isinstance(tools, dict):
        raise UsageError(
            f"{path} holds {', '.join(map(repr, given)) or 'no tables'} beside tools", f"it wants {_FORM}"
        )
    return {name: _said(path, name, table) for name, table in tools.items()}


def _said(path: Path, name: str, table: Any) -> Said:
    known = dict(table) if isinstance(table, dict) else {"": table}
    read_only, category = known.pop("read_only", None), known.pop("category", None)
    words = {True: ReadOnly.YES, False: ReadOnly.NO, "unknown": ReadOnly.UNKNOWN, None: None}
    is_word = isinstance(read_only, bool | str | None) and read_only in words
    if known or not is_word or not isinstance(category, str | None):
        raise UsageError(f"{path}: tool {name!r} is not described as it should be", f"it wants {_FORM}")
    return Said(words[read_only], category)
