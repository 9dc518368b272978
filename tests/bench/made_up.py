"""Made-up Claude Code transcripts of any size, with the mix of row types and lengths of real ones.

Every figure below was measured on public logs (203 files, 16,740 lines; median 1.0 kB, mean 2.3 kB, 23 of
100 lines with a result, 2.0 rows a request): per row type its share of the lines, of each part of a row the
length in bytes at the quantiles `AT`, how often a call or a result comes again, and how commands look.
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
    "tool_use": 230,
    "text": 109,
    "thinking": 81,
    "result": 229,
    "progress": 111,
    "user": 56,
    "attachment": 40,
    "file-history-snapshot": 35,
    "queue-operation": 19,
    "system": 18,
    "summary": 17,
    "last-prompt": 16,
    "permission-mode": 10,
    "ai-title": 9,
    "mode": 6,
}
MODEL = frozenset({"tool_use", "text", "thinking"})
"""rows of the model: each holds one block of a message, a message has two on average"""
TEXT_BYTES = (2, 49, 70, 120, 390, 1_333, 9_014, 33_070)
THINKING_BYTES = (0, 0, 0, 97, 354, 966, 3_394, 11_704)
SIGNATURE_BYTES = (200, 300, 400, 600, 900, 1_600, 4_000, 12_000)
RESULT_BYTES = (0, 30, 95, 253, 1_254, 4_676, 26_259, 211_785)
HOST_BYTES = (0, 0, 75, 427, 1_614, 5_804, 27_027, 211_785)
"""the host's own record of a result"""
SAME_HOST = 0.8
"""how often that record holds the shown text once more"""
USER_BYTES = (1, 21, 48, 114, 367, 1_702, 45_456, 200_000)
ATTACHMENT_BYTES = (25, 51, 91, 91, 1_199, 5_205, 39_445, 40_865)
PROGRESS_BYTES = (10, 30, 40, 50, 60, 1_150, 9_543, 30_643)
SNAPSHOT_BYTES = (60, 90, 100, 210, 500, 1_570, 2_770, 3_030)
TOOLS = {
    "Bash": 42,
    "Read": 18,
    "TodoWrite": 7,
    "Write": 7,
    "Edit": 6,
    "Glob": 4,
    "Grep": 3,
    "WebFetch": 3,
    "mcp__browser__click": 10,
}
COMMAND_BYTES = (5, 25, 45, 80, 140, 330, 2_100, 3_500)
PATH_BYTES = (12, 33, 43, 58, 87, 111, 149, 183)
INPUT_BYTES = {
    "TodoWrite": (2, 353, 432, 594, 755, 898, 1_252, 1_254),
    "Write": (20, 400, 1_100, 2_150, 6_850, 13_850, 28_700, 37_800),
    "Edit": (30, 90, 150, 330, 680, 1_380, 3_500, 5_000),
    "mcp__browser__click": (8, 24, 65, 110, 220, 500, 1_200, 3_000),
}
"""of the texts that a call passes on; an edit has two of them"""
CALLS_AGAIN, RESULTS_AGAIN = 0.08, 0.27
"""how often a call or the text of a result was there before"""
REMEMBERED = 200
"""calls and texts that may come again"""
FLOOR, BYTES_PER_TOKEN = 20_000, 3
EXPIRES, SHRINKS = 0.015, 0.015
"""how often a request finds no cache, or a prompt shorter than the one before"""
BEGINNINGS = (
    ("cd {p} && {c}", 20),
    ("{c} | {f}", 12),
    ("{c} 2>&1 | {f}", 9),
    ("{c}", 60),
    ("{c} && {c}", 6),
    ("{c}; {c}", 3),
    ("{c} > {p} 2>&1", 3),
    ('for f in {p}; do {c} "$f"; done', 2),
    ('{c} "$({c})"', 2),
    ("cat > {p} << 'EOF'\n{w}\nEOF", 3),
)
COMMANDS = (
    "git status",
    "git log --oneline -10",
    "git diff HEAD~1 -- {p}",
    "git add -A",
    "git commit -m '{w}'",
    "git push",
    "ls -la {p}",
    "ls {p}",
    "cat {p}",
    "grep -rn '{w}' {p}",
    "find {p} -name '*.py' -type f",
    "sed -n '10,80p' {p}",
    "head -50 {p}",
    "wc -l {p}",
    "mkdir -p {p}",
    "rm -f {p}",
    "cp {p} {p}",
    "python3 {p}",
    "python -m pytest -x {p}",
    "npm run build",
    "npm test -- {p}",
    "npx tsc --noEmit",
    "node {p}",
    "docker compose ps",
    "curl -s http://localhost:8080/{w}",
    'echo "{w}"',
    "sleep 5",
    "chmod +x {p}",
    "which node",
    "gh pr view 12",
    "ps aux",
    "source .venv/bin/activate",
    "./run.sh {p}",
    "sqlite3 {p} '{w}'",
    "python3 -c '{w}'",
    "lsof -i :3000",
    "pkill -f {p}",
    "touch {p}",
    "open {p}",
    "bash {p}",
)
FILTERS = ("head -20", "tail -30", "grep -i error", "wc -l", "sort", "head -100")
WORDS = re.split(
    r"\s+",
    """order cart price stock basket total discount shipping invoice refund customer address payment
    return def class import self none true value index range list dict path open read write close
    error raise { } ( ) [ ] = == != + - * / // . , : ; 0 1 2 10 42 100 404 2026""",
)
PARTS = WORDS[:15]


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
    world = _World(dice)
    written = files = 0
    while written < size:
        session = str(uuid.UUID(int=dice.getrandbits(128), version=4))
        path = folder / f"-home-u-project{files % 10}" / f"{session}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = b"".join(
            json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
            for row in _rows(world, session, rows, f"/home/u/project{files % 10}")
        )
        path.write_bytes(lines)
        written += len(lines)
        files += 1
    return files


class _World:
    """Texts of wished lengths, cut from a long random one; calls and results, some of them once more."""

    def __init__(self, dice: random.Random) -> None:
        self.dice = dice
        self._calls: list[tuple[str, dict[str, Any]]] = []
        self._results: list[str] = []
        self._long = " ".join(
            dice.choice(WORDS) + ("\n" if dice.random() < 0.1 else "") for _ in range(200_000)
        )
        self._paths = [f"src/{dice.choice(PARTS)}/{dice.choice(PARTS)}{n}.py" for n in range(2_000)]

    def of(self, quantiles: tuple[int, ...]) -> str:
        """A text whose length follows the quantiles at `AT`."""
        size = self.length(quantiles)
        begin = self.dice.randrange(len(self._long) - size)
        return self._long[begin : begin + size]

    def length(self, quantiles: tuple[int, ...]) -> int:
        """A length that follows the quantiles at `AT`; between two of them by their logarithms."""
        at = self.dice.random()
        upper = next(n for n, point in enumerate(AT) if point >= at and n > 0)
        low, high = AT[upper - 1], AT[upper]
        smaller, larger = quantiles[upper - 1] + 1, quantiles[upper] + 1
        return int(smaller * (larger / smaller) ** ((at - low) / (high - low))) - 1

    def path(self) -> str:
        """A path below the working directory."""
        return self.dice.choice(self._paths)

    def call(self, cwd: str) -> tuple[str, dict[str, Any]]:
        """A tool and its arguments."""
        if self._calls and self.dice.random() < CALLS_AGAIN:
            return self.dice.choice(self._calls)
        (tool,) = self.dice.choices(list(TOOLS), list(TOOLS.values()))
        made = tool, self._arguments(tool, cwd)
        _remember(self._calls, made, self.dice)
        return made

    def result(self) -> str:
        """The text of a result."""
        if self._results and self.dice.random() < RESULTS_AGAIN:
            return self.dice.choice(self._results)
        made = self.of(RESULT_BYTES)
        _remember(self._results, made, self.dice)
        return made

    def _arguments(self, tool: str, cwd: str) -> dict[str, Any]:
        dice = self.dice
        if tool == "Bash":
            command = self._command(cwd)
            told = {"description": self.of(PATH_BYTES)[:50]} if dice.random() < 0.9 else {}
            return {"command": command, **told}
        path = f"{cwd}/{self.path()}"
        if tool == "Read":
            part = {"offset": dice.randrange(1_000), "limit": 100} if dice.random() < 0.3 else {}
            return {"file_path": path, **part}
        if tool == "Edit":
            old, new = self.of(INPUT_BYTES[tool]), self.of(INPUT_BYTES[tool])
            return {"file_path": path, "old_string": old, "new_string": new, "replace_all": False}
        if tool == "Write":
            return {"file_path": path, "content": self.of(INPUT_BYTES[tool])}
        if tool == "TodoWrite":
            items = [self.of(PATH_BYTES) for _ in range(dice.randrange(1, 8))]
            return {"todos": [{"content": item, "status": "pending", "activeForm": item} for item in items]}
        if tool == "WebFetch":
            return {"url": f"https://example.com/{self.path()}", "prompt": self.of(TEXT_BYTES)[:200]}
        if tool in ("Glob", "Grep"):
            return {"pattern": f"**/{self.path()}", "path": cwd}
        return {"element": self.of(INPUT_BYTES[tool]), "ref": f"e{dice.randrange(900)}"}

    def _command(self, cwd: str) -> str:
        """A command of one to four clauses, as long as real ones; the hook leaves six of ten alone."""
        dice = self.dice
        wished = self.length(COMMAND_BYTES)
        (command,) = dice.choices([text for text, _ in BEGINNINGS], [many for _, many in BEGINNINGS])
        command = re.sub(r"\{c\}", lambda _: dice.choice(COMMANDS), command)
        command = re.sub(r"\{f\}", lambda _: dice.choice(FILTERS), command)
        command = re.sub(
            r"\{p\}", lambda _: self.path() if dice.random() < 0.7 else f"{cwd}/{self.path()}", command
        )
        room = wished - len(command)
        if room > 20 and "{w}" not in command:
            command += " '{w}'"
        return command.replace("{w}", " ".join(dice.choices(PARTS, k=max(1, room // 7))))


def _remember(known: list[Any], made: Any, dice: random.Random) -> None:
    if len(known) < REMEMBERED:
        known.append(made)
    else:
        known[dice.randrange(REMEMBERED)] = made


def _rows(world: _World, session: str, count: int, cwd: str) -> Iterator[dict[str, Any]]:
    dice = world.dice
    kinds, weights = list(SHARES), list(SHARES.values())
    parent: str | None = None
    waiting: list[str] = []
    message = 0
    prompt = _Prompt()
    for number in range(count):
        stamp = f"2026-10-{1 + number * 27 // count:02d}T12:{number // 60 % 60:02d}:{number % 60:02d}.000Z"
        common = {
            "parentUuid": parent,
            "isSidechain": False,
            "userType": "external",
            "cwd": cwd,
            "sessionId": session,
            "version": "2.1.81",
            "gitBranch": "main",
            "slug": "quiet-orders-wandering-cart",
            "uuid": str(uuid.UUID(int=dice.getrandbits(128), version=4)),
            "timestamp": stamp,
        }
        kind = dice.choices(kinds, weights)[0]
        if kind == "result" and not waiting:
            kind = "tool_use"
        if kind in MODEL:
            if not message or dice.random() < 0.5:
                message += 1
                prompt.ask(dice)
            block = _block(world, kind, cwd)
            if kind == "tool_use":
                waiting.append(block["id"])
            answer = _message(f"{session}-{message}", block, prompt.usage())
            prompt.enter(len(str(block)))
            request = {"requestId": f"req_{message:024}", "type": "assistant", "message": answer}
            yield {**common, **request}
            parent = common["uuid"]
        elif kind == "result":
            shown = world.result()
            prompt.enter(len(shown))
            block = {
                "tool_use_id": waiting.pop(),
                "type": "tool_result",
                "content": shown,
                "is_error": dice.random() < 0.1,
            }
            other = shown if dice.random() < SAME_HOST else world.of(HOST_BYTES)
            yield {
                **common,
                "type": "user",
                "message": {"role": "user", "content": [block]},
                "toolUseResult": {"stdout": other, "stderr": "", "interrupted": False, "isImage": False},
                "sourceToolAssistantUUID": parent,
            }
            parent = common["uuid"]
        elif kind == "user":
            said = world.of(USER_BYTES)
            prompt.enter(len(said))
            yield {**common, "type": kind, "message": {"role": "user", "content": said}}
            parent = common["uuid"]
        elif kind == "attachment":
            attachment = {"type": "task_reminder", "content": world.of(ATTACHMENT_BYTES)}
            prompt.enter(len(attachment["content"]))
            yield {**common, "type": kind, "attachment": attachment}
        elif kind == "progress":
            data = {"type": "bash_progress", "output": world.of(PROGRESS_BYTES)}
            yield {**common, "type": kind, "data": data}
        elif kind == "system":
            yield {**common, "type": kind, "subtype": "turn_duration", "durationMs": 1200}
        elif kind == "summary":
            yield {"type": kind, "summary": "A session about orders", "leafUuid": parent}
        elif kind == "file-history-snapshot":
            snapshot = {"trackedFileBackups": world.of(SNAPSHOT_BYTES), "timestamp": stamp}
            yield {"type": kind, "messageId": common["uuid"], "snapshot": snapshot, "isSnapshotUpdate": False}
        else:
            yield {"type": kind, "sessionId": session, "timestamp": stamp, "operation": "enqueue"}


def _block(world: _World, kind: str, cwd: str) -> dict[str, Any]:
    """A content block of the model's."""
    if kind == "tool_use":
        tool, arguments = world.call(cwd)
        return {
            "type": kind,
            "id": f"toolu_{world.dice.getrandbits(96):024x}",
            "name": tool,
            "input": arguments,
        }
    if kind == "text":
        return {"type": kind, "text": world.of(TEXT_BYTES)}
    signature = "x" * world.length(SIGNATURE_BYTES)
    return {"type": kind, "thinking": world.of(THINKING_BYTES), "signature": signature}


class _Prompt:
    """The usage of a session's requests: each prompt holds the one before and what entered since."""

    def __init__(self) -> None:
        self._length, self._read, self._written, self._output = FLOOR, 0, FLOOR, 0
        self._entered = 0

    def enter(self, size: int) -> None:
        """So many bytes stand in the next prompt."""
        self._entered += size // BYTES_PER_TOKEN

    def ask(self, dice: random.Random) -> None:
        """The next request; now and then the cache has expired, or the prompt has lost its thinking."""
        length = max(self._length + self._entered, FLOOR)
        if dice.random() < SHRINKS:
            length = max(FLOOR, self._length - dice.randrange(2_000))
        self._read = 0 if dice.random() < EXPIRES else min(self._length, length)
        self._written, self._length, self._entered = length - self._read, length, 0
        self._output = dice.randrange(1_000)

    def usage(self) -> dict[str, Any]:
        """As the answer's rows hold it."""
        return {
            "input_tokens": 3,
            "cache_creation_input_tokens": self._written,
            "cache_read_input_tokens": self._read,
            "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0},
            "output_tokens": self._output,
            "service_tier": "standard",
            "inference_geo": "not_available",
        }


def _message(name: str, block: dict[str, Any], usage: dict[str, Any]) -> dict[str, Any]:
    return {
        "model": "claude-sonnet-4-6",
        "id": f"msg_{name}",
        "type": "message",
        "role": "assistant",
        "content": [block],
        "stop_reason": "tool_use" if block["type"] == "tool_use" else None,
        "stop_sequence": None,
        "usage": usage,
    }
