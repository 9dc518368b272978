"""Rows of a Claude Code session file, in the order and shape in which Claude Code writes them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from samples.ids import Ids
from samples.workspace import compact

if TYPE_CHECKING:
    from collections.abc import Callable

    from samples.workspace import Call

Row = dict[str, Any]

LIFETIME = {"5m": timedelta(minutes=5), "1h": timedelta(hours=1)}
"""how long the cache remembers a context"""


@dataclass(frozen=True)
class Host:
    """The program that writes the rows, and where it runs.

    Attributes:
        version: Version of Claude Code.
        cwd: Working directory.
        branch: Git branch.
        model: Name of the model.
        cache: Which cache lifetime its requests ask for, `5m` or `1h`.
        output: What a message's rows tell of its output: `final` (all rows alike), `growing` (only the last
            row is right) or `placeholder` (none is).
        start: Tokens of the fixed start of a context (system prompt and tools).
    """

    version: str
    cwd: str
    branch: str = "main"
    model: str = "claude-sonnet-4-6"
    cache: str = "1h"
    output: str = "final"
    start: int = 14_200


@dataclass(frozen=True)
class Task:
    """Work for a subagent: `play` writes its transcript and gives its answer."""

    kind: str
    about: str
    prompt: str
    play: Callable[[Transcript], str]
    is_kept: bool = True
    """whether the subagent's own file is still there"""


@dataclass
class Transcript:
    """One file: a main thread or a subagent.

    Attributes:
        ids: Where identifiers come from.
        host: The program that writes.
        session: Id of the session, in every row.
        now: Time of the next row; it goes on by itself.
        agent: Id of the subagent; empty for a main thread.
        rows: The file's rows; a line that is no JSON as text.
        tip: Uuid of the row that the next one hangs on.
    """

    ids: Ids
    host: Host
    session: str
    now: datetime
    agent: str = ""
    rows: list[Any] = field(default_factory=list)
    tip: str | None = None
    files: dict[str, str] = field(default_factory=dict)
    """companions by path relative to the project folder"""
    _context: int = 0
    _cached: int = 0
    _asked_at: datetime | None = None
    _prompt_id: str = ""

    def __post_init__(self) -> None:
        self._context = self._context or self.host.start

    # What a story tells

    def prompt(self, text: str, *, parent: str | None = "tip", **own: Any) -> str:
        """A message of the person; `parent` for one that was edited and sent again. Returns its uuid."""
        self._wait(20, 90)
        self._prompt_id = self.ids.uuid()
        if parent != "tip":
            self.tip = parent
        row = self._link("user", promptId=self._prompt_id, message={"role": "user", "content": text}, **own)
        self._context += _tokens(text)
        return str(row["uuid"])

    def step(self, *calls: Call, say: str = "", thinking: str = "", order: str = "calls first") -> list[str]:
        """One message of the model with its calls, and the results.

        Args:
            calls: Calls made in parallel.
            say: Text before the calls.
            thinking: Thinking before the text.
            order: `calls first`, `interleaved` (each result right after its call), or `result first` (the
                result of the first call stands before the call itself).

        Returns:
            The ids of the calls.
        """
        blocks = _speech(say, thinking)
        names = [self.ids.api("toolu") for _ in calls]
        blocks += [
            {"type": "tool_use", "id": name, "name": call.tool, "input": call.arguments}
            for name, call in zip(names, calls, strict=True)
        ]
        rows = self._assistant(blocks, "tool_use" if calls else "end_turn")
        asked = rows[len(rows) - len(calls) :]
        results = [
            self._result(name, call, row["uuid"]) for name, call, row in zip(names, calls, asked, strict=True)
        ]
        self._place(rows, results, order)
        if results:
            self.tip = results[-1]["uuid"]
        return names

    def say(self, text: str, thinking: str = "") -> None:
        """The last message of a turn: text only."""
        self.step(say=text, thinking=thinking)

    def delegate(self, *tasks: Task, say: str = "", tool: str = "Agent") -> None:
        """Subagents at work: their files, their rows as progress in this one, their answers."""
        names = [self.ids.api("toolu") for _ in tasks]
        blocks = _speech(say, "")
        for name, task in zip(names, tasks, strict=True):
            given = {"description": task.about, "prompt": task.prompt, "subagent_type": task.kind}
            blocks.append({"type": "tool_use", "id": name, "name": tool, "input": given})
        rows = self._assistant(blocks, "tool_use")
        self.rows += rows
        asked = rows[-len(tasks) :]
        done = [self._run(task) for task in tasks]
        self._progress(names, [agent for agent, _ in done], asked)
        self.now = max(agent.now for agent, _ in done)
        for name, row, (agent, answer) in zip(names, asked, done, strict=True):
            hint = f"agentId: {agent.agent} (for resuming to continue this agent's work if needed)"
            content = [{"type": "text", "text": answer}, {"type": "text", "text": hint}]
            block = {"tool_use_id": name, "type": "tool_result", "content": content}
            details = {"status": "completed", "agentId": agent.agent, "totalDurationMs": 41_000}
            self.rows.append(self._answer(block, row["uuid"], details))
            self._context += _tokens(answer)
        self.tip = self.rows[-1]["uuid"]

    def compact(self, summary: str, restored: dict[str, str], postscript: str) -> None:
        """A compaction: boundary, summary, files put back; the summariser's request has a file of its own."""
        self._summarise(summary)
        metadata = {
            "trigger": "manual",
            "preTokens": self._context,
            "postTokens": self.host.start + _tokens(summary),
        }
        before, self.tip = self.tip, None
        self._link(
            "system",
            logicalParentUuid=before,
            subtype="compact_boundary",
            content="Conversation compacted",
            isMeta=False,
            level="info",
            compactMetadata=metadata,
        )
        text = (
            "This session is being continued from a previous conversation that ran out of context. "
            f"The conversation is summarized below:\n{summary}\n{postscript}"
        )
        message = {"role": "user", "content": text}
        self._link("user", message=message, isVisibleInTranscriptOnly=True, isCompactSummary=True)
        self._context, self._cached = self.host.start + _tokens(text), 0
        for path, content in restored.items():
            lines = content.count("\n") + 1
            file = {
                "filePath": path,
                "content": content,
                "numLines": lines,
                "startLine": 1,
                "totalLines": lines,
            }
            self.attach(type="file", filename=path, content={"type": "text", "file": file}, displayPath=path)
            self._context += _tokens(content)

    def attach(self, **attachment: Any) -> None:
        """An attachment: text that reaches the model as a reminder, or a hook's answer."""
        self._link("attachment", attachment=attachment)

    def system(self, subtype: str, **own: Any) -> None:
        """A system row in the chain."""
        self._link("system", subtype=subtype, **own)

    def failed_request(self, text: str) -> None:
        """A local message about a request that failed: no model wrote it, and it cost nothing."""
        zero = dict.fromkeys(
            ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"), 0
        )
        message = {
            "id": self.ids.uuid(),
            "type": "message",
            "role": "assistant",
            "model": "<synthetic>",
            "content": [{"type": "text", "text": text}],
            "stop_reason": "stop_sequence",
            "usage": zero,
        }
        self._link("assistant", message=message, isApiErrorMessage=True, error="server_error")

    def loose(self, kind: str, **own: Any) -> None:
        """A row outside the chain: metadata of the session."""
        self.rows.append({"type": kind, **own, "sessionId": self.session})

    def broken(self, text: str) -> None:
        """A line that is no JSON: the end of a long one whose beginning was lost."""
        self.rows.append(text)

    def pause(self, **span: int) -> None:
        """The person goes away for a while; the cache may forget."""
        self.now += timedelta(**span)

    def forget(self, tokens: int) -> None:
        """The host dropped so much from the context by itself; the cache is written anew from there."""
        self._context -= tokens
        self._cached = self.host.start

    def text(self) -> str:
        """The file: one row a line."""
        return "".join((row if isinstance(row, str) else compact(row)) + "\n" for row in self.rows)

    # How rows are made

    def _wait(self, low: int, high: int) -> None:
        self.now += timedelta(seconds=self.ids.between(low, high), milliseconds=self.ids.below(1000))

    def _stamp(self) -> str:
        self.now += timedelta(milliseconds=self.ids.between(3, 400))
        return stamp(self.now)

    def _row(self, kind: str, parent: str | None, **own: Any) -> Row:
        row: Row = {"parentUuid": parent}
        if "logicalParentUuid" in own:
            row["logicalParentUuid"] = own.pop("logicalParentUuid")
        row["isSidechain"] = bool(self.agent)
        if self.agent:
            row["agentId"] = self.agent
        row |= {"type": kind, **own, "uuid": self.ids.uuid(), "timestamp": self._stamp()}
        row |= {"cwd": self.host.cwd, "sessionId": self.session}
        return row | {"version": self.host.version, "gitBranch": self.host.branch}

    def _link(self, kind: str, **own: Any) -> Row:
        """A row below the tip, which it becomes."""
        row = self._row(kind, self.tip, **own)
        self.rows.append(row)
        self.tip = row["uuid"]
        return row

    def _assistant(self, blocks: list[Row], stop: str) -> list[Row]:
        """The rows of one message: one for each block, each below the one before."""
        self._wait(2, 11)
        final = sum(_tokens(compact(block)) for block in blocks) + self.ids.between(4, 40)
        usage = self._usage()
        message = {
            "model": self.host.model,
            "id": self.ids.api("msg"),
            "type": "message",
            "role": "assistant",
        }
        request = self.ids.api("req")
        rows = []
        for number, block in enumerate(blocks, start=1):
            output, reason = self._output(final, stop, number, len(blocks))
            own = {"content": [block], "stop_reason": reason}
            told = {**message, **own, "usage": {**usage, "output_tokens": output, "service_tier": "standard"}}
            rows.append(self._row("assistant", self.tip, message=told, requestId=request))
            self.tip = rows[-1]["uuid"]
        self._context += final
        return rows

    def _usage(self) -> Row:
        """The input of a request: what the cache remembers, what is new."""
        if self._asked_at is not None and self.now - self._asked_at > LIFETIME[self.host.cache]:
            self._cached = 0
        self._asked_at = self.now
        uncached = self.ids.between(2, 6)
        written = max(0, self._context - self._cached - uncached)
        usage: Row = {
            "input_tokens": uncached,
            "cache_creation_input_tokens": written,
            "cache_read_input_tokens": self._cached,
        }
        if self.host.output != "placeholder":
            usage["cache_creation"] = {
                f"ephemeral_{lifetime}_input_tokens": written if lifetime == self.host.cache else 0
                for lifetime in LIFETIME
            }
        self._cached = self._context
        return usage

    def _output(self, final: int, stop: str, number: int, count: int) -> tuple[int, str | None]:
        """Output tokens and stop reason as the row of one block tells them."""
        if self.host.output == "placeholder":
            return 1, None
        if self.host.output == "growing" and number < count:
            return min(final, 3 + 5 * number), None
        return final, stop

    def _result(self, name: str, call: Call, parent: str) -> Row:
        block: Row = {"tool_use_id": name, "type": "tool_result", "content": call.content}
        if call.is_error or call.tool == "Bash":
            block["is_error"] = call.is_error
        self._context += _tokens(call.content if isinstance(call.content, str) else compact(call.content))
        return self._answer(block, parent, call.details)

    def _answer(self, block: Row, parent: str, details: Any) -> Row:
        own: Row = {"message": {"role": "user", "content": [block]}}
        if details is not None:
            own["toolUseResult"] = details
        return self._row("user", parent, **own)

    def _place(self, rows: list[Row], results: list[Row], order: str) -> None:
        """Put the rows of calls and results into the file."""
        if order == "result first":
            at = len(rows) - len(results)
            self.rows += [*rows[:at], results[0], *rows[at:], *results[1:]]
        elif order == "interleaved":
            answers = {row["parentUuid"]: row for row in results}
            for row in rows:
                self.rows += [row, answers[row["uuid"]]] if row["uuid"] in answers else [row]
        else:
            self.rows += [*rows, *results]

    def _run(self, task: Task) -> tuple[Transcript, str]:
        """A subagent's work, in files beside this one."""
        name = "a" + self.ids.hex(15)
        host = replace(
            self.host, model="claude-haiku-4-5-20251001", cache="5m", output="growing", start=9_300
        )
        agent = Transcript(Ids(name), host, self.session, self.now, name)
        agent.prompt(task.prompt)
        answer = task.play(agent)
        agent.say(answer)
        if task.is_kept:
            folder = f"{self.session}/subagents/agent-{name}"
            self.files[f"{folder}.jsonl"] = agent.text()
            meta = {"agentType": task.kind, "description": task.about}
            self.files[f"{folder}.meta.json"] = compact(meta)
        return agent, answer

    def _progress(self, names: list[str], agents: list[Transcript], asked: list[Row]) -> None:
        """Copies of the subagents' rows in this file, in the order of time, below the last call."""
        copies = []
        for name, agent in zip(names, agents, strict=True):
            for number, row in enumerate(agent.rows[:-1]):
                kept = ("type", "message", "uuid", "timestamp", "requestId", "toolUseResult")
                inner = {key: row[key] for key in kept if key in row}
                prompt = inner["message"]["content"] if number == 0 else ""
                data = {"message": inner, "type": "agent_progress", "prompt": prompt, "agentId": agent.agent}
                copies.append((inner["timestamp"], name, data))
        parent = asked[-1]["uuid"]
        for at, name, data in sorted(copies, key=lambda copy: copy[:2]):
            row = self._row("progress", parent, data=data, parentToolUseID=name) | {"timestamp": at}
            self.rows.append(row)
            parent = row["uuid"]

    def _summarise(self, summary: str) -> None:
        """The file of the summariser: a request that carries the whole context."""
        name = f"acompact-{self.ids.hex(14)}"
        side = Transcript(Ids(name), self.host, self.session, self.now, name, _context=self._context)
        side.tip = self.tip
        last = self.rows[-1]
        side.rows.append({**last, "isSidechain": True, "agentId": name})
        side.prompt("Your task is to create a detailed summary of the conversation so far.")
        side.say(summary)
        self.now = side.now
        self.files[f"{self.session}/subagents/agent-{name}.jsonl"] = side.text()


def stamp(moment: datetime) -> str:
    """UTC with milliseconds and `Z`."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03}Z"


def resumed(original: Transcript, session: str, host: Host, now: datetime) -> Transcript:
    """A session continued in a new file, as old versions did: every row again under the new id and time."""
    copy = _successor(original, session, host, now)
    for row in original.rows:
        if isinstance(row, dict) and "uuid" in row:
            new = {"sessionId": session, "version": host.version, "timestamp": copy._stamp()}  # noqa: SLF001
            copy.rows.append({**row, **new})
    return copy


def forked(original: Transcript, session: str, now: datetime) -> Transcript:
    """A session forked off: every row again with the mark of its origin, times kept."""
    copy = _successor(original, session, original.host, now)
    for row in original.rows:
        if isinstance(row, dict) and "uuid" in row:
            origin = {"sessionId": original.session, "messageUuid": row["uuid"]}
            copy.rows.append({**row, "sessionId": session, "forkedFrom": origin})
    return copy


def _successor(original: Transcript, session: str, host: Host, now: datetime) -> Transcript:
    """An empty transcript that goes on where another one stands."""
    context = original._context  # noqa: SLF001
    return Transcript(Ids(session), host, session, now, tip=original.tip, _context=context)


def _speech(say: str, thinking: str) -> list[Row]:
    blocks: list[Row] = []
    if thinking:
        blocks.append({"type": "thinking", "thinking": thinking, "signature": "c2FtcGxl"})
    if say:
        blocks.append({"type": "text", "text": say})
    return blocks


def _tokens(text: str) -> int:
    """A rough size in tokens: four bytes each."""
    return -(-len(text.encode()) // 4)


def json_text(value: Any) -> str:
    """JSON for people: indented."""
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"
