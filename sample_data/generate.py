"""Write the sample logs: `python sample_data/generate.py [DIR]`, by default beside this file.

Everything is made up, from a fixed seed and fixed dates, with the standard library alone: the same files on
every machine. README.md says what each of them shows.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from samples import claude_code, docker_agent, rtk


def generate(folder: Path) -> None:
    """Write all samples below a folder. What an earlier run left in their folders is removed.

    Raises:
        OSError: The folder cannot be written.
    """
    for name in ("claude_code", "docker_agent", "rtk"):
        shutil.rmtree(folder / name, ignore_errors=True)
        (folder / name).mkdir(parents=True)
    files, hooked = claude_code.build()
    for name, text in sorted(files.items()):
        path = folder / "claude_code" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
    docker_agent.write(folder / "docker_agent" / "session.db", folder / "docker_agent" / "export.json")
    rtk.write(folder / "rtk" / "history.db", hooked)


if __name__ == "__main__":
    if len(sys.argv) > 2 or sys.argv[1:] in (["-h"], ["--help"]):  # noqa: PLR2004
        sys.exit(__doc__)
    generate(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
