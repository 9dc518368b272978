"""Session T of token-economics.md 8, from which its hand vectors are: as a transcript."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from support.pipeline import Log

if TYPE_CHECKING:
    from collections.abc import Callable


def session_t(
    session: str = "s1",
    *,
    third: str = "claude-sonnet-4-5-20250929",
    before_last: Callable[[Log], object] = lambda _: None,
    **last: Any,
) -> Log:
    """Requests of 5,000, 7,000, 8,000 and 8,500 tokens at $3, $0.30, $3.75; results A, B, C."""
    log = Log(session)
    model = "claude-sonnet-4-5-20250929"
    log.user("go")
    log.call(
        "a",
        "Read",
        {"file_path": "a"},
        f"{session}1",
        usage=(10, 4_990, 0, 200),
        model=model,
        stop="tool_use",
    )
    log.result("a", "x" * 6_000)
    log.call(
        "b",
        "Bash",
        {"command": "b"},
        f"{session}2",
        usage=(10, 2_000, 4_990, 100),
        model=model,
        stop="tool_use",
    )
    log.call(
        "c",
        "Bash",
        {"command": "c"},
        f"{session}2",
        usage=(10, 2_000, 4_990, 100),
        model=model,
        stop="tool_use",
    )
    log.result("b", "x" * 1_200)
    log.result("c", "x" * 600)
    log.assistant("done", f"{session}3", usage=(10, 1_000, 6_990, 50), model=third)
    log.user("and now?" * 60)
    before_last(log)
    log.assistant("yes", f"{session}4", **{"usage": (10, 500, 7_990, 60), "model": model, **last})
    return log
