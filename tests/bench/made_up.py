"""Made-up Claude Code transcripts of any size, with the mix of row types and lengths of real ones.

The quantiles below were measured on public logs (9,846 lines; median 1.0 kB, mean 2.6 kB): per row type its
share of the lines, and of its length the 10th, 25th, 50th, 75th, 90th and 99th percentile.
"""

from __future__ import annotations

import json
import random
import re
import uuid
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

AT = (0.0, 0.10, 0.25, 0.50, 0.75, 0.90, 0.99, 1.0)
SHARES = {
    "assistant": 46,
    "result": 25,
    "progress": 7,
    "user": 6,
    "file-history-snapshot": 3,
    "summary": 3,
    "attachment": 3,
    "queue-operation": 3,
    "system": 2,
    "last-prompt": 2,
}
INPUT_BYTES = (20, 60, 90, 150, 400, 1_300, 9_000, 30_000)
RESULT_BYTES = (0, 31, 99, 225, 1_219, 4_760, 25_487, 211_804)
OTHER_BYTES = (50, 150, 250, 400, 900, 2_000, 12_000, 40_000)
TOOLS = ("Read",) * 5 + ("Bash",) * 9 + ("Grep", "Glob", "Edit", "Edit", "Write", "TodoWrite", "WebFetch")
ARGUMENTS = {"Read": "file_path", "Bash": "command", "Grep": "pattern", "Glob": "pattern"}
WORDS = re.split(
    r"\s+",
    """order cart price stock basket total discount shipping invoice refund customer address payment
    return def class import self none true value index range list dict path open read write close
    error raise { } ( ) [ ] = == != + - * / // . , : ; 0 1 2 10 42 100 404 2026""",
)


def write_sessions(folder: Path, size: int, seed: int = 1, rows: int = 250) -> int:
    """Write session files below `folder` until they hold `size` bytes.

    Args:
        folder: An empty folder; files are spread over ten projects.
        size: Bytes in all.
        seed: Of the random numbers.
        rows: Lines of a file.

    Returns:
        Number of files.
    """
    dice = random.Random(seed)
    text = _Text(dice)
    written = files = 0
    while written < size:
        session = str(uuid.UUID(int=dice.getrandbits(128), version=4))
        path = folder / f"-home-u-project{files % 10}" / f"{session}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = b"".join(
            json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
            for row in _rows(dice, text, session, rows, f"/home/u/project{files % 10}")
        )
        path.write_bytes(lines)
        written += len(lines)
        files += 1
    return files


class _Text:
    """Text of a wished length, cut from a long random one."""

    def __init__(self, dice: random.Random) -> None:
        self._dice = dice
        self._long = " ".join(
            dice.choice(WORDS) + ("\n" if dice.random() < 0.1 else "") for _ in range(200_000)
        )

    def of(self, quantiles: tuple[int, ...]) -> str:
        """A text whose length follows the quantiles at `AT`."""
        at = self._dice.random()
        upper = next(n for n, point in enumerate(AT) if point >= at and n > 0)
        low, high = AT[upper - 1], AT[upper]
        smaller, larger = quantiles[upper - 1], quantiles[upper]
        size = int(smaller + (larger - smaller) * (at - low) / (high - low))
        begin = self._dice.randrange(len(self._long) - size)
        return self._long[begin : begin + size]


def _rows(dice: random.Random, text: _Text, session: str, count: int, cwd: str) -> Iterator[dict[str, Any]]:
    kinds, weights = list(SHARES), list(SHARES.values())
    parent: str | None = None
    waiting: list[tuple[str, str]] = []
    clock = 1_790_000_000.0
    message = 0
    for number in range(count):
        clock += dice.random() * 20
        stamp = f"2026-10-{1 + number * 27 // count:02d}T12:{number // 60 % 60:02d}:{number % 60:02d}.000Z"
        common = {
            "parentUuid": parent,
            "isSidechain": False,
            "userType": "external",
            "cwd": cwd,
            "sessionId": session,
            "version": "2.1.81",
            "gitBranch": "main",
            "uuid": str(uuid.UUID(int=dice.getrandbits(128), version=4)),
            "timestamp": stamp,
        }
        kind = dice.choices(kinds, weights)[0]
        if kind == "result" and not waiting:
            kind = "assistant"
        if kind == "assistant":
            message += 1
            call, tool = f"toolu_{dice.getrandbits(96):024x}", dice.choice(TOOLS)
            waiting.append((call, tool))
            answer = _message(dice, text, f"{session}-{message}", call, tool)
            yield {**common, "type": kind, "message": answer}
            parent = common["uuid"]
        elif kind == "result":
            call, tool = waiting.pop()
            shown = text.of(RESULT_BYTES)
            block = {"tool_use_id": call, "type": "tool_result", "content": shown, "is_error": False}
            other = shown if dice.random() < 0.8 else text.of(OTHER_BYTES)
            yield {
                **common,
                "type": "user",
                "message": {"role": "user", "content": [block]},
                "toolUseResult": {"stdout": other, "stderr": "", "interrupted": False},
            }
            parent = common["uuid"]
        elif kind == "user":
            yield {**common, "type": kind, "message": {"role": "user", "content": text.of(OTHER_BYTES)}}
            parent = common["uuid"]
        elif kind == "summary":
            yield {"type": kind, "summary": "A session about orders", "leafUuid": parent}
        elif kind in ("queue-operation", "last-prompt", "file-history-snapshot"):
            content = text.of(OTHER_BYTES)[:150]
            yield {"type": kind, "sessionId": session, "timestamp": stamp, "content": content}
        elif kind == "attachment":
            attachment = {"type": "task_reminder", "content": text.of(OTHER_BYTES)}
            yield {**common, "type": kind, "attachment": attachment}
        elif kind == "progress":
            data = {"type": "bash_progress", "output": text.of(OTHER_BYTES)[:900]}
            yield {**common, "type": kind, "data": data}
        else:
            yield {**common, "type": kind, "subtype": "turn_duration", "durationMs": 1200}


def _message(dice: random.Random, text: _Text, name: str, call: str, tool: str) -> dict[str, Any]:
    argument = ARGUMENTS.get(tool, "content")
    value = text.of(INPUT_BYTES)
    if tool in ("Read", "Grep", "Glob", "Bash"):
        value = value[:160].replace("\n", " ")
    if tool == "Bash":
        value = (
            dice.choice(("git status && ", "cat src/", "python -m pytest ", "ls ", "sed -n '1,9p' ")) + value
        )
    return {
        "id": f"msg_{name}",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-6",
        "content": [{"type": "tool_use", "id": call, "name": tool, "input": {argument: value}}],
        "stop_reason": "tool_use",
        "usage": {
            "input_tokens": 3,
            "cache_creation_input_tokens": dice.randrange(4_000),
            "cache_read_input_tokens": dice.randrange(150_000),
            "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0},
            "output_tokens": dice.randrange(1_000),
            "service_tier": "standard",
        },
    }
