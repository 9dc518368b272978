"""A folder in memory, and what the tools of an agent answer about it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
"""a PNG of one pixel, in base64"""
TODO_ANSWER = (
    "Todos have been modified successfully. Ensure that you continue to use the todo list to track your "
    "progress. Please proceed with the current tasks if applicable"
)
READ_STUB = "Wasted call — file unchanged since your last Read. Refer to that earlier tool_result instead."


@dataclass(frozen=True)
class Call:
    """A tool call with its result.

    Attributes:
        tool: Name of the tool.
        arguments: Its input.
        content: What the model is shown: text, or blocks.
        is_error: Whether it failed.
        details: The host's own record of the result (`toolUseResult`), which the model never sees.
    """

    tool: str
    arguments: dict[str, Any]
    content: str | list[dict[str, Any]]
    is_error: bool = False
    details: Any = None


@dataclass
class Workspace:
    """Files by relative path, below a root folder, seen through the tools of Claude Code.

    Attributes:
        root: Absolute path of the folder.
        files: Text by path relative to the root.
        arrow: What stands between a line's number and its text (it changed with Claude Code's versions).
        silence: What a command without output answers (likewise).
    """

    root: str
    files: dict[str, str]
    arrow: str = "→"
    silence: str = ""
    edits: list[str] = field(default_factory=list)

    def path(self, name: str) -> str:
        """The absolute path of a file, in the manner of its system."""
        separator = "\\" if "\\" in self.root else "/"
        return self.root + separator + name.replace("/", separator)

    def numbered(self, name: str, offset: int = 1, limit: int | None = None) -> str:
        """The text of a file with line numbers, as `Read` shows it."""
        lines = self.files[name].split("\n")[offset - 1 :]
        rows = lines if limit is None else lines[:limit]
        width = 6 if self.arrow == "→" else 0
        return "\n".join(
            f"{number:>{width}}{self.arrow}{row}" for number, row in enumerate(rows, start=offset)
        )

    def read(self, name: str, offset: int | None = None, limit: int | None = None) -> Call:
        """`Read` of a file or of a window of it; a file that is missing is an error."""
        arguments: dict[str, Any] = {"file_path": self.path(name)}
        if offset is not None:
            arguments |= {"offset": offset, "limit": limit}
        if name not in self.files:
            text = "<tool_use_error>File does not exist.</tool_use_error>"
            return Call("Read", arguments, text, is_error=True, details="Error: File does not exist.")
        text = self.numbered(name, offset or 1, limit)
        return Call("Read", arguments, text)

    def read_unchanged(self, name: str) -> Call:
        """`Read` of a file that the host knows to be unchanged: it shows a stub of its own."""
        arguments = {"file_path": self.path(name)}
        details = {"type": "file_unchanged", "file": {"filePath": self.path(name)}}
        return Call("Read", arguments, READ_STUB, details=details)

    def read_image(self, name: str) -> Call:
        """`Read` of a picture."""
        source = {"type": "base64", "media_type": "image/png", "data": PIXEL}
        return Call("Read", {"file_path": self.path(name)}, [{"type": "image", "source": source}])

    def grep(self, pattern: str, path: str = "", *, content: bool = True) -> Call:
        """`Grep`, by lines or by files."""
        arguments: dict[str, Any] = {"pattern": pattern}
        if path:
            arguments["path"] = self.path(path)
        arguments["output_mode"] = "content" if content else "files_with_matches"
        found = [
            (name, number, line)
            for name, text in sorted(self.files.items())
            if name.startswith(path)
            for number, line in enumerate(text.split("\n"), start=1)
            if re.search(pattern, line)
        ]
        names = list(dict.fromkeys(name for name, _, _ in found))
        if not found:
            text = "No matches found" if content else "No files found"
        elif content:
            text = "\n".join(f"{name}:{number}:{line}" for name, number, line in found)
        else:
            text = f"Found {len(names)} file{'s'[: len(names) - 1]}\n" + "\n".join(names)
        return Call(
            "Grep", arguments, text, details={"mode": arguments["output_mode"], "numFiles": len(names)}
        )

    def glob(self, pattern: str, *, truncated: bool = False) -> Call:
        """`Glob`; a truncated answer says so in its last line."""
        names = [
            self.path(name) for name in sorted(self.files) if fnmatchcase(name, pattern.replace("**/", "*"))
        ]
        text = "\n".join(names) or "No files found"
        if truncated:
            text += "\n(Results are truncated. Consider using a more specific path or pattern.)"
        return Call(
            "Glob", {"pattern": pattern}, text, details={"numFiles": len(names), "truncated": truncated}
        )

    def edit(self, name: str, old: str, new: str, *, snippet: bool = False) -> Call:
        """`Edit`; old versions answer with a snippet of the file."""
        before = self.files[name]
        if before.count(old) != 1:
            raise ValueError(f"{name}: {old!r} does not stand there once")
        self.files[name] = before.replace(old, new)
        self.edits.append(name)
        path = self.path(name)
        if snippet:
            line = before[: before.index(old)].count("\n") + 1
            start = max(1, line - 2)
            shown = self.numbered(name, start, new.count("\n") + 6)
            text = (
                f"The file {path} has been updated. Here's the result of running `cat -n` on a snippet of "
                f"the edited file:\n{shown}"
            )
        else:
            text = f"The file {path} has been updated successfully."
        arguments = {"file_path": path, "old_string": old, "new_string": new}
        return Call("Edit", arguments, text, details={"filePath": path, "originalFile": before[:60]})

    def write(self, name: str, text: str) -> Call:
        """`Write` of a whole file."""
        path = self.path(name)
        is_new = name not in self.files
        self.files[name] = text
        self.edits.append(name)
        answer = (
            f"File created successfully at: {path}"
            if is_new
            else f"The file {path} has been updated successfully."
        )
        details = {"type": "create" if is_new else "update", "filePath": path}
        return Call("Write", {"file_path": path, "content": text}, answer, details=details)

    def bash(self, command: str, output: str = "", about: str = "", *, is_error: bool = False) -> Call:
        """`Bash`; a command without output answers with the version's own silence."""
        arguments = {"command": command}
        if about:
            arguments["description"] = about
        text = output or self.silence
        details: Any = f"Error: {text}" if is_error else {"stdout": "", "stderr": "", "interrupted": False}
        return Call("Bash", arguments, text, is_error=is_error, details=details)

    def cat(self, name: str) -> Call:
        """`Bash` with `cat`: the bytes of the file without numbers."""
        return self.bash(f"cat {name}", self.files[name].removesuffix("\n"), f"Show {name}")

    def ls(self, folder: str) -> Call:
        """`Bash` with `ls`."""
        names = {
            name.removeprefix(f"{folder}/").split("/")[0]
            for name in self.files
            if name.startswith(f"{folder}/")
        }
        return self.bash(f"ls {folder}", "\n".join(sorted(names)), f"List {folder}")

    def git_status(self) -> Call:
        """`Bash` with `git status --short`: the files edited so far."""
        text = "\n".join(f" M {name}" for name in sorted(set(self.edits)))
        return self.bash("git status --short", text, "Show changed files")

    def todo(self, *items: str, done: int = 0) -> Call:
        """`TodoWrite`, whose answer is always the same."""
        states = ["completed"] * done + ["in_progress"] + ["pending"] * len(items)
        todos = [
            {"content": item, "status": state, "activeForm": item}
            for item, state in zip(items, states, strict=False)
        ]
        return Call("TodoWrite", {"todos": todos}, TODO_ANSWER, details={"oldTodos": []})

    def fetch(self, url: str, prompt: str, text: str) -> Call:
        """`WebFetch`: a page, summed up."""
        details = {"bytes": 20 * len(text), "code": 200, "codeText": "OK", "url": url}
        return Call("WebFetch", {"url": url, "prompt": prompt}, text, details=details)


def compact(value: Any) -> str:
    """JSON as the agents write it: no blanks, no escapes but the needed ones."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
