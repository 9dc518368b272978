"""RTK's own marker in somebody's transcript (rtk.md 1.5): an output that RTK did not show again."""

from __future__ import annotations

import re

_START = "rtk-dedup: "
_LINE = re.compile(
    r"rtk-dedup: identical to output at step \d+ \u00b7 \d+ lines / ~\d+ tok suppressed \[.*\] "
    r"\(force full: rtk proxy <cmd>\)\n?",
    re.DOTALL,
)


def is_rtk_marker(text: str) -> bool:
    r"""Whether a whole result is the line that RTK prints; hosts may take away its line feed.

    Example:
        >>> line = "rtk-dedup: identical to output at step 3 \u00b7 4 lines / ~9 tok suppressed [git log] "
        >>> is_rtk_marker(line + "(force full: rtk proxy <cmd>)"), is_rtk_marker(line)
        (True, False)
    """
    return text.startswith(_START) and _LINE.fullmatch(text) is not None
