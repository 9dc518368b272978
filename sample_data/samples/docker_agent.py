"""Three docker-agent sessions and a sub-session, as a database and one of them as a JSON export."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from samples.database import write_database
from samples.docker_schema import INDEXES, MIGRATIONS, TABLES
from samples.ids import Ids
from samples.shop import LABELS, SHOP
from samples.transcript import json_text
from samples.workspace import compact

if TYPE_CHECKING:
    from pathlib import Path

Item = dict[str, Any]
Shown = tuple[str, dict[str, Any], str, bool]
"""a tool, its arguments, what the model was shown, whether it failed"""

ZONE = timezone(timedelta(hours=1))
MODEL = "anthropic/claude-sonnet-4-6"
CONTEXT_START = 2_900
"""tokens of the system prompt and the tools"""
TOOLS = {
    "read_file": ("filesystem", True),
    "list_directory": ("filesystem", True),
    "search_files_content": ("filesystem", True),
    "edit_file": ("filesystem", False),
    "shell": ("shell", False),
    "transfer_task": ("transfer", True),
}
"""category and readOnlyHint, as the toolsets declare them"""


def marker(tool: str, size: int) -> str:
    """What an elision shows instead of a result (docker-agent, elide_repeated_tool_results)."""
    return (
        f"[docker-agent] The {tool} tool ran and returned output byte-for-byte identical to its earlier "
        f"result for these same arguments in this session, so the {size}-byte payload is not repeated "
        "here. Nothing has changed since you last saw it."
    )


@dataclass
class Folder:
    """Files in memory, seen through the tools of docker-agent."""

    files: dict[str, str]

    def read(self, path: str) -> Shown:
        """`read_file`; a missing file is an error of the tool itself."""
        if path not in self.files:
            text = f"Error calling tool: open {path}: no such file or directory"
            return "read_file", {"path": path}, text, True
        return "read_file", {"path": path}, self.files[path], False

    def read_elided(self, path: str) -> Shown:
        """`read_file` under an engine that elides repeats."""
        return "read_file", {"path": path}, marker("read_file", len(self.files[path].encode())), False

    def list(self, path: str, why: str) -> Shown:
        """`list_directory`, which takes a remark of the model's own: part of its arguments."""
        names = {
            name.removeprefix(f"{path}/").split("/")[0] for name in self.files if name.startswith(f"{path}/")
        }
        text = "\n".join(f"FILE {name}" for name in sorted(names))
        return "list_directory", {"path": path, "description": why}, text, False

    def search(self, query: str, pattern: str, why: str) -> Shown:
        """`search_files_content`."""
        found = [
            f"{name}:{number}:{line.strip()}"
            for name, text in sorted(self.files.items())
            if fnmatchcase(name, pattern)
            for number, line in enumerate(text.split("\n"), start=1)
            if re.search(query, line)
        ]
        arguments = {"path": ".", "query": query, "description": why}
        return "search_files_content", arguments, "\n".join(found) or "No matches found", False

    def edit(self, path: str, old: str, new: str) -> Shown:
        """`edit_file`."""
        self.files[path] = self.files[path].replace(old, new)
        arguments = {"path": path, "edits": [{"oldText": old, "newText": new}], "description": "Edit"}
        return "edit_file", arguments, "File edited successfully. Changes:\nEdit 1: Replaced 1 line(s)", False

    def shell(self, command: str, output: str, *, failed: bool = False) -> Shown:
        """`shell`; blank output is shown as `(no output)`."""
        return "shell", {"cmd": command, "cwd": ".", "description": command}, output or "(no output)", failed


@dataclass
class Session:
    """A session and its items, in the order of their positions."""

    ids: Ids
    title: str
    folder: str
    now: datetime
    agent: str = "root"
    parent: Session | None = None
    children: list[Session] = field(default_factory=list)
    items: list[Item] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.id = self.ids.uuid()
        self.started = self.now
        self.context, self.cached, self.cost, self.output = CONTEXT_START, 0, 0.0, 0
        self._pending: list[str] = []

    def prompt(self, text: str, *, is_implicit: bool = False) -> None:
        """A message of the person, or one that the host made up."""
        self._add("", {"role": "user", "content": text}, wait=40, implicit=is_implicit)

    def system(self, text: str) -> None:
        """A system message."""
        self._add("", {"role": "system", "content": text}, wait=1)

    def step(self, *shown: Shown, say: str = "") -> None:
        """A message of the model with its calls, and their results."""
        names = self._ask(say, [(tool, arguments) for tool, arguments, _, _ in shown])
        for name, (_, _, text, failed) in zip(names, shown, strict=True):
            self._answer(name, text, failed=failed)

    def say(self, text: str) -> None:
        """The last message of a turn."""
        self._ask(text, [])

    def transfer(self, agent: str, task: str, answer: str) -> Session:
        """A sub-session: it stands between the call that asked for it and the result. Call `finish` on it."""
        self._pending = self._ask(
            "", [("transfer_task", {"agent": agent, "task": task, "expected_output": answer})]
        )
        child = Session(Ids(f"{self.id}/{agent}"), "Transferred task", self.folder, self.now, agent, self)
        self.children.append(child)
        child.system(f"You are a member of a team. Your task: {task}")
        child.prompt("Please proceed.", is_implicit=True)
        return child

    def finish(self, answer: str) -> None:
        """The end of a sub-session: back to the one that asked."""
        self.say(answer)
        if self.parent is not None:
            self.parent.now = self.now
            self.parent.items.append({"item_type": "subsession", "session": self})
            self.parent._answer(self.parent._pending[0], answer)  # noqa: SLF001

    def summarise(self, text: str, kept: int) -> None:
        """A compaction that keeps the items from number `kept` on."""
        usage = {"input_tokens": self.context, "output_tokens": len(text) // 4}
        usage |= {"cached_input_tokens": 0, "cached_write_tokens": 0}
        summary = {"summary": text, "first_kept_entry": kept, "cost": 0.004, "model": MODEL, "usage": usage}
        self.items.append({"item_type": "summary", **summary})
        self.context, self.cached = CONTEXT_START + len(text) // 4, 0

    def failure(self, text: str) -> None:
        """An error of a run: no part of the conversation."""
        error = {
            "message": text,
            "code": "model_error",
            "agent_name": self.agent,
            "created_at": self._stamp(2),
        }
        self.items.append({"item_type": "error", "error": error})

    def _ask(self, say: str, calls: list[tuple[str, dict[str, Any]]]) -> list[str]:
        names = [f"toolu_{self.ids.letters(20)}" for _ in calls]
        output = 30 + len(say) // 4 + sum(len(compact(arguments)) // 4 for _, arguments in calls)
        written = self.context - self.cached
        usage = {"input_tokens": 4, "output_tokens": output}
        usage |= {"cached_input_tokens": self.cached, "cached_write_tokens": written}
        cost = round((3.75 * written + 0.3 * self.cached + 15 * output) / 1e6, 6)
        message: Item = {"role": "assistant", "content": say}
        if calls:
            message["tool_calls"] = [
                {"id": name, "type": "function", "function": {"name": tool, "arguments": compact(arguments)}}
                for name, (tool, arguments) in zip(names, calls, strict=True)
            ]
            message["tool_definitions"] = [_definition(tool) for tool in TOOLS]
        reason = "tool_calls" if calls else "stop"
        self._add(self.agent, message, wait=8, usage=usage, model=MODEL, cost=cost, finish_reason=reason)
        self.cached, self.context = self.context, self.context + output
        self.cost, self.output = self.cost + cost, output
        return names

    def _answer(self, name: str, text: str, *, failed: bool = False) -> None:
        message: Item = {"role": "tool", "content": text, "tool_call_id": name}
        if failed:
            message["is_error"] = True
        self._add(self.agent, message, wait=3)
        self.context += len(text.encode()) // 4

    def _add(self, agent: str, message: Item, wait: int, *, implicit: bool = False, **own: Any) -> None:
        told = {**message, "created_at": self._stamp(wait), **own}
        self.items.append(
            {"item_type": "message", "agent_name": agent, "message": told, "implicit": implicit}
        )

    def _stamp(self, wait: int) -> str:
        self.now += timedelta(seconds=self.ids.between(1, wait))
        return self.now.isoformat(timespec="seconds")


def _definition(tool: str) -> Item:
    category, reads = TOOLS[tool]
    return {"name": tool, "category": category} | ({"annotations": {"readOnlyHint": True}} if reads else {})


def _started(name: str, title: str, folder: str, day: int, hour: int) -> Session:
    return Session(Ids(f"docker_agent/{name}"), title, folder, datetime(2026, 11, day, hour, 10, tzinfo=ZONE))


def _low_stock() -> Session:
    """Repeats within a turn and across turns, a marker, failures, a spilled output."""
    folder = Folder(dict(SHOP))
    session = _started("stock", "Letter for low stock", "/srv/tansy", 4, 10)
    session.prompt("Send a letter to the buyer when fewer than five pieces are left.")
    session.step(folder.list("tansy", "See the modules"), folder.read("tansy/stock.py"))
    session.step(folder.read("tansy/mail.py"), folder.search("low\\(", "tansy/*", "Who asks for low stock?"))
    session.step(folder.read("templates/mail/low.txt"), say="Is there a letter already?")
    session.step(folder.shell("cut -d, -f5 data/counts.csv", _counts()), say="How often does it happen?")
    session.step(folder.read_elided("tansy/stock.py"), say="I look at the counts again.")
    session.step(folder.edit("tansy/stock.py", "limit: int = 5", "limit: int = 4"))
    session.step(folder.read("tansy/stock.py"))
    session.step(folder.list("tansy", "Look again"), folder.shell("pytest -q", "8 passed in 0.30s"))
    session.say("`low` now finds products with fewer than four pieces. Shall I write the letter?")
    session.prompt("Five, please, as before. And yes.")
    session.step(folder.edit("tansy/stock.py", "limit: int = 4", "limit: int = 5"))
    session.step(folder.read("tansy/stock.py"), folder.read("templates/mail/placed.txt"))
    session.step(folder.read("templates/mail/low.txt"))
    session.step(folder.shell("printf 'Low: $sku\\n' > templates/mail/low.txt", ""))
    session.step(folder.shell("pytest -q", "8 passed in 0.30s"), folder.read("tansy/mail.py"))
    session.step(folder.shell("pytest -k low", "no tests ran in 0.02s\nError: exit status 5", failed=True))
    session.say("The letter is in templates/mail/low.txt.")
    return session


def _counts() -> str:
    """The notice of an output of more than 2,000 lines: its end is shown."""
    rows = [str(number * 7 % 40) for number in range(2_110)]
    size = len("\n".join(rows).encode())
    file = "/tmp/docker-agent-tool-results/4c1d/tool-result-2847190356.txt"  # noqa: S108
    return (
        f"Tool call result was too large ({size} bytes; limit 51200 bytes). The full result is available in "
        f"a file: {file}\n\nShowing the last 2000 lines (up to 51200 bytes):\n\n" + "\n".join(rows[-2_000:])
    )


def _letters() -> Session:
    """A compaction that keeps its last items, re-reads after it, an error of the run."""
    folder = Folder(dict(SHOP))
    session = _started("letters", "Kinder letters", "/srv/tansy", 11, 15)
    session.prompt("Make the letters kinder. Keep the numbers.")
    session.step(folder.list("templates/mail", "Which letters are there?"))
    session.step(folder.read("templates/mail/placed.txt"), folder.read("templates/mail/cancelled.txt"))
    session.step(folder.read("tansy/orders.py"))
    session.step(folder.read("tansy/mail.py"), folder.read("CLAUDE.md"))
    kept = len(session.items)
    session.step(folder.read("README.md"), say="The tone of the README is a good measure.")
    session.failure("HTTP 529 from the model")
    session.summarise(
        "Letters are in templates/mail. Read: orders.py, mail.py. Next: write kinder texts.", kept
    )
    session.prompt("go on")
    session.step(folder.read("README.md"), folder.read("tansy/orders.py"))
    session.step(folder.edit("templates/mail/placed.txt", "Thank you.", "Thank you, and welcome."))
    session.step(folder.read("templates/mail/placed.txt"), folder.read("templates/mail/cancelled.txt"))
    session.step(folder.edit("templates/mail/cancelled.txt", "was cancelled", "is cancelled, as you wished"))
    session.step(folder.read("templates/mail/cancelled.txt"), folder.shell("pytest -q", "8 passed in 0.29s"))
    session.say("Both letters are kinder now; the numbers are where they were.")
    return session


def _labels() -> Session:
    """A task handed to another agent, which reads what the first one has read."""
    folder = Folder(dict(LABELS))
    session = _started("labels", "Wider labels", "/srv/labels", 13, 9)
    session.prompt("Can the labels be 62 mm wide? Ask the reviewer.")
    session.step(
        folder.read("labels/layout.py"), folder.search("WIDTH", "labels/*", "Where is the width used?")
    )
    child = session.transfer("reviewer", "Find what depends on the width.", "A list of places")
    child.step(folder.read("labels/layout.py"), folder.list("labels", "All modules"))
    child.step(folder.read("labels/printer.py"), folder.search("width", "labels/*", "Uses of the width"))
    child.step(folder.read("labels/layout.py"))
    child.finish("Only `lines` depends on it, by its parameter `width`; the constant is not used.")
    session.step(
        folder.edit("labels/layout.py", "WIDTH_MM, HEIGHT_MM = 57, 32", "WIDTH_MM, HEIGHT_MM = 62, 32")
    )
    session.step(folder.read("labels/layout.py"))
    session.prompt("And the printer?")
    session.step(folder.read("labels/printer.py"), folder.read("labels/layout.py"))
    session.say("The printer takes lines of any length. Nothing else has to change.")
    return session


def write(database: Path, export: Path) -> None:
    """Write `session.db`, and the session on labels once more as an export."""
    roots = [_low_stock(), _letters(), _labels()]
    every = [session for root in roots for session in (root, *root.children)]
    items = [(session, position, item) for session in every for position, item in enumerate(session.items)]
    rows: dict[str, list[tuple[Any, ...]]] = {
        "migrations": [
            (number, f"{number:03}_{name}", name.replace("_", " ").capitalize(), "2026-10-01T08:00:00Z")
            for number, name in enumerate(MIGRATIONS, start=1)
        ],
        "sessions": [_session_row(session) for session in every],
        "session_items": [_item_row(number, *item) for number, item in enumerate(items, start=1)],
    }
    write_database(database, TABLES, rows, INDEXES)
    export.write_text(json_text(_exported(roots[2])), encoding="utf-8", newline="\n")


def _session_row(session: Session) -> tuple[object, ...]:
    return (
        session.id,
        session.started.isoformat(timespec="seconds"),
        0,
        session.context,
        session.output,
        session.title,
        round(session.cost, 6),
        int(session.parent is None),
        0,
        session.folder,
        0,
        "",
        "{}",
        "[]",
        1,
        session.parent.id if session.parent else None,
        "",
        "",
        "{}",
        "run",
        "{}",
    )


def _item_row(number: int, session: Session, position: int, item: Item) -> tuple[object, ...]:
    told = item.get("message") or item.get("error")
    child = item.get("session")
    usage = compact(item["usage"]) if item["item_type"] == "summary" else ""
    return (
        number,
        session.id,
        position,
        item["item_type"],
        item.get("agent_name"),
        compact(told) if told else None,
        int(item.get("implicit", False)),
        child.id if child else None,
        item.get("summary"),
        item.get("first_kept_entry", 0),
        item.get("cost", 0.0),
        item.get("model", ""),
        usage,
        *(0, 0),
        *("",) * 8,
    )


def _exported(session: Session) -> Item:
    """A session as `/eval` writes it."""
    return {
        "id": session.id,
        "title": session.title,
        "messages": [_exported_item(item) for item in session.items],
        "created_at": session.started.isoformat(timespec="seconds"),
        "tools_approved": False,
        "working_dir": session.folder,
        "SendUserMessage": True,
        "max_iterations": 0,
        "starred": False,
        "input_tokens": session.context,
        "output_tokens": session.output,
        "cost": round(session.cost, 6),
    }


def _exported_item(item: Item) -> Item:
    if item["item_type"] == "message":
        message = {"agent_name": item["agent_name"], "message": item["message"]}
        return {"message": {**message, "implicit": True} if item["implicit"] else message}
    if item["item_type"] == "error":
        return {"error": item["error"]}
    if item["item_type"] == "subsession":
        return {"sub_session": _exported(item["session"])}
    return {key: value for key, value in item.items() if key != "item_type"}
