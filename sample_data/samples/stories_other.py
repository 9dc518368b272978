"""What happens in the Claude Code sessions on the label printer and on the shop's site."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from samples.shop import LABELS, SITE
from samples.stories_shop import GIT_LOG, NO_OUTPUT
from samples.workspace import Call, Workspace, compact

if TYPE_CHECKING:
    from datetime import datetime

    from samples.transcript import Transcript


@dataclass(frozen=True)
class HookedCommand:
    """A command that RTK's hook saw in a session; `rewritten` is empty if the hook left it alone."""

    at: datetime
    session: str
    call: str
    command: str
    rewritten: str
    shown: str


def label_batch(log: Transcript) -> None:
    """An old session: output counts are placeholders, edits answer with snippets, a command is truncated."""
    folder = Workspace("/srv/labels", dict(LABELS))
    log.loose("summary", summary="Labels for jars", leafUuid=log.ids.uuid())
    log.prompt("Print the batch number on the left, in small letters.")
    log.step(folder.read("labels/layout.py"))
    log.step(folder.read("labels/printer.py"))
    log.step(folder.grep("batch"), folder.ls("labels"))
    log.step(folder.bash("python -m labels --dry batch.csv", _dry_run(), "Dry run"))
    log.step(
        folder.edit(
            "labels/layout.py", 'f"Batch {label.batch}"', 'f"batch {label.batch.lower()}"', snippet=True
        )
    )
    log.step(folder.read("labels/layout.py"))
    log.step(folder.bash("python -m compileall -q labels", "", "Check the syntax"))
    log.step(folder.todo("Small letters", "Print one"))
    log.step(
        folder.cat("batch.csv"),
        folder.bash("git diff --stat", " labels/layout.py | 2 +-", "Size of the change"),
    )
    log.say("Done: `batch 26-11a`, on the left.")


def _dry_run() -> str:
    """A long output that old versions cut in the middle."""
    rows = [f"label {number:>3}: THYME 40 g 26-11A" for number in range(1, 13)]
    return "\n".join([*rows[:6], "", "... [102 lines truncated] ...", "", *rows[6:]])


def label_batch_again(log: Transcript) -> None:
    """The same session, resumed on the next day: all its rows stand in this file again."""
    folder = Workspace("/srv/labels", dict(LABELS))
    folder.edit("labels/layout.py", 'f"Batch {label.batch}"', 'f"batch {label.batch.lower()}"')
    log.prompt("The printer cuts off the umlaut of Kümmel. Which encoding does it want?")
    log.step(folder.read("labels/printer.py"), say="The printer again.")
    log.step(folder.grep("encode"), folder.read("labels/layout.py"))
    log.step(
        folder.bash("python -c \"print('Kümmel'.encode('cp437'))\"", "b'K\\x81mmel'", "Try the encoding")
    )
    log.step(folder.edit("labels/printer.py", '"cp437"', '"cp850"', snippet=True))
    log.step(folder.read("labels/printer.py"))
    log.step(folder.bash("python -m compileall -q labels", "", "Check the syntax"))
    log.say("cp850 knows the umlauts at the same places; `upper()` of ü was the letter that was missing.")


def fork_trunk(log: Transcript) -> None:
    """A micro-compaction: the host clears old results by itself, their rows stay in the file."""
    folder = Workspace("/srv/labels", dict(LABELS))
    log.prompt("The printer sleeps after a minute. Wake it before each batch.")
    first = log.step(folder.read("labels/printer.py"), folder.read("labels/layout.py"))
    first += log.step(folder.grep("_port"), folder.glob("**/*.py"))
    log.step(folder.cat("README.md"), folder.bash("git log --oneline -3", GIT_LOG, "Recent changes"))
    log.step(folder.read("batch.csv"))
    metadata = {"trigger": "auto", "preTokens": 18_300, "tokensSaved": 980, "compactedToolIds": first}
    log.system(
        "microcompact_boundary",
        content="Context microcompacted",
        isMeta=False,
        level="info",
        microcompactMetadata={**metadata, "clearedAttachmentUUIDs": []},
    )
    log.forget(980)
    log.step(folder.read("labels/printer.py"), say="The queue once more.")
    log.step(
        folder.edit(
            "labels/printer.py", "        done = 0\n", '        self._port.write(b"\\0")\n        done = 0\n'
        )
    )
    log.step(folder.read("labels/printer.py"))
    log.say("A zero byte wakes the printer before each batch.")


def fork_branch(log: Transcript) -> None:
    """A fork of that session: its rows again, each with the mark of its origin, and another end."""
    folder = Workspace("/srv/labels", dict(LABELS))
    folder.edit(
        "labels/printer.py", "        done = 0\n", '        self._port.write(b"\\0")\n        done = 0\n'
    )
    log.prompt("Alternatively: can we keep it from sleeping at all?")
    log.step(folder.read("labels/printer.py"))
    log.step(
        folder.fetch(
            "https://printers.example/manual",
            "How is the sleep timer set?",
            "Send ESC 8 and a byte of minutes.",
        ),
        folder.grep("_pause"),
    )
    log.step(folder.read("labels/layout.py"))
    log.step(
        folder.grep("_port"), folder.bash("git status --short", " M labels/printer.py", "Show changed files")
    )
    log.say("Yes: `ESC 8 0` switches the timer off until the power is cut.")


def windows(log: Transcript, hooked: list[HookedCommand]) -> None:
    """Windows paths, letters of several scripts, and RTK's hook, which rewrites commands unseen."""
    folder = Workspace("C:\\work\\tansy-site", dict(SITE), arrow="\t", silence=NO_OUTPUT)
    log.prompt("Please check the page about tea: are 紫蘇 and ヨモギ right? 🌿")

    def run(command: str, rewritten: str, shown: str) -> None:
        """A command that the hook rewrites between the call and its result."""
        name = log.step(folder.bash(command, shown))[0]
        result = log.rows[-1]
        answer = {
            "hookEventName": "PreToolUse",
            "permissionDecisionReason": "RTK auto-rewrite",
            "updatedInput": {"command": rewritten},
        }
        call = result["parentUuid"]
        log.tip = call
        log.attach(
            type="hook_success",
            hookName="PreToolUse:Bash",
            toolUseID=name,
            hookEvent="PreToolUse",
            content="",
            stdout=compact({"hookSpecificOutput": answer}) + "\n",
            stderr="",
            exitCode=0,
            command="rtk hook claude",
            durationMs=31,
        )
        log.rows[-2:] = [log.rows[-1], result]
        log.tip = result["uuid"]
        hooked.append(HookedCommand(log.now, log.session, name, command, rewritten, shown))

    run("git status", "rtk git status", "* spring-🌱\nclean — nothing to commit")
    log.step(folder.read("pages/tea.md"), folder.read("config.json"))
    run(
        "rg -n shiso pages",
        "rtk grep -n shiso pages",
        "1 matches in 1 files:\n\npages/tea.md:5:... 紫蘇 (shiso), ...",
    )
    run("ls pages", "rtk ls pages", "index.md\nshipping.md\ntea.md")
    log.step(
        folder.fetch(
            "https://herbs.example/shiso",
            "Which characters stand for shiso?",
            "Shiso (シソ) is written 紫蘇; 蘓 is old.",
        )
    )
    log.step(folder.edit("pages/tea.md", "lemongrass", "lemongrass (レモングラス)"))
    run("git status", "rtk git status", "* spring-🌱\n M pages/tea.md")
    log.step(folder.read("pages/tea.md"), folder.read("pages/shipping.md"))
    run(
        "cat pages/tea.md",
        "rtk read pages/tea.md",
        SITE["pages/tea.md"].replace("lemongrass", "lemongrass (レモングラス)"),
    )
    run("git diff --stat", "rtk git diff --stat", " pages/tea.md | 2 +-")
    task = "Task #1 created successfully: Proofread shipping.md"
    log.step(
        Call("TaskCreate", {"subject": "Proofread shipping.md", "description": "Check the prices"}, task)
    )
    log.step(folder.read("theme/site.css"), folder.read("pages/index.md"))
    run("npm run build", "rtk npm run build", "✓ 4 pages in 212 ms\n⚠ shipping.md: no description")
    plain = "type nul > static\\.keep"
    name = log.step(folder.bash(plain, "", "Empty file"))[0]
    hooked.append(HookedCommand(log.now, log.session, name, plain, "", NO_OUTPUT))
    log.step(Call("TaskUpdate", {"taskId": "1", "status": "completed"}, "Updated task #1 status"))
    run("git status", "rtk git status", "* spring-🌱\n M pages/tea.md")
    log.say("Both are right. Lemongrass now has its name beside it: レモングラス.")
