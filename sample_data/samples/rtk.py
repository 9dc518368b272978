"""RTK's tracking database, made so that it gives the published rates.

The published measure (PR 2937): 943 commands of which 537 repeat an earlier command line (56.9 %); the
repeats carry 48.5 % of about 214,000 output tokens; of the reads 69 % are repeats, with 80 % of the reads'
tokens; filtering removed about 894,000 tokens. The rows below are invented; their sums are made to fit.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from samples.database import write_database
from samples.ids import Ids
from samples.rtk_commands import COMMANDS, PROJECTS, PROXIED, Command
from samples.rtk_schema import INDEXES, TABLES

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from samples.stories_other import HookedCommand

TARGETS = {
    ("read", "repeat"): 72_000,
    ("read", "first"): 18_000,
    ("other", "repeat"): 31_990,
    ("other", "first"): 92_410,
}
"""output tokens by group: 214,400 in all, 103,990 (48.5 %) on repeats, 80.0 % of the reads' on repeats"""
SAVED = 894_180
BLOCKS = 34
BLOCK_MINUTES = 170
STAY = 0.38
"""how likely a command is run again in the same block of work"""
LEDGER_FROM = datetime(2026, 11, 24, tzinfo=UTC)
"""from this day on a build with dedup kept its ledger (`session_outputs`): one session a day"""
LEDGER_TOKENS = 200
VERSION = "0.49.0"


@dataclass
class Size:
    """A number of output tokens that several runs share and the fitting may change."""

    tokens: int
    is_fixed: bool = False


@dataclass
class State:
    """What a command answers until it changes: its shown size, and how much filtering takes off."""

    size: Size
    taken: float
    saved: int = 0


@dataclass
class Run:
    """One command that RTK ran."""

    at: datetime
    nanoseconds: int
    command: Command
    project: str
    rtk: str = ""
    state: State = field(default_factory=lambda: State(Size(0, is_fixed=True), 0.0))
    is_repeat: bool = False

    @property
    def group(self) -> tuple[str, str]:
        """Which of the fitted sums it belongs to."""
        kind = "read" if self.rtk == "rtk read" else "other"
        return kind, "repeat" if self.is_repeat else "first"

    @property
    def stamp(self) -> str:
        """RFC 3339 with as many digits as the clock had: trailing groups of zeros are left out."""
        digits = f"{self.nanoseconds:09}"
        while digits.endswith("000"):
            digits = digits[:-3]
        return self.at.strftime("%Y-%m-%dT%H:%M:%S") + (f".{digits}" if digits else "") + "+00:00"


def write(path: Path, hooked: list[HookedCommand]) -> None:
    """Write `history.db`.

    Args:
        path: Where to.
        hooked: Commands of a Claude Code session that the hook saw: they stand in this history, too.
    """
    ids = Ids("rtk")
    runs = _scheduled(ids) + _of_session(hooked)
    runs.sort(key=lambda run: (run.at, run.nanoseconds))
    _judge(runs)
    _set_states(ids, runs)
    for group, target in TARGETS.items():
        _fit_output(runs, group, target)
    _fit_saved(runs)
    rows = {
        "commands": [_row(ids, number, run) for number, run in enumerate(runs, start=1)],
        "parse_failures": _failures(runs),
        "session_outputs": _ledger(ids, runs),
        "hook_decisions": _decisions(hooked),
    }
    write_database(path, TABLES, rows, INDEXES, user_version=1)


def _scheduled(ids: Ids) -> list[Run]:
    """Every run of the invented commands, in blocks of work that belong to one project each."""
    blocks = []
    for number in range(BLOCKS):
        day, hour = 2 + number // 2 * 26 // (BLOCKS // 2), (8, 14)[number % 2]
        project = list(PROJECTS)[number // 4 % 4] if number % 4 > 1 else "tansy"
        blocks.append((datetime(2026, 11, day, hour, tzinfo=UTC), project))
    runs: list[Run] = []
    for command in COMMANDS:
        own: list[Run] = []
        homes = [number for number, (_, project) in enumerate(blocks) if project in command.projects]
        block = homes[ids.below(len(homes))]
        for _ in range(command.runs):
            if own and not ids.chance(STAY):
                block = homes[ids.below(len(homes))]
            own.append(_run(ids, command, blocks[block]))
        if command.original in PROXIED:
            own.append(_recovery(ids, max(own, key=lambda run: run.at)))
        runs += own
    return runs


def _run(ids: Ids, command: Command, block: tuple[datetime, str]) -> Run:
    start, project = block
    nanoseconds = ids.below(10**9)
    if "\\" in PROJECTS[project]:
        nanoseconds -= nanoseconds % 100  # the clock of Windows
    elif ids.chance(0.08):
        nanoseconds -= nanoseconds % (10**3, 10**6, 10**9)[ids.below(3)]
    at = start + timedelta(seconds=ids.below(BLOCK_MINUTES * 60))
    return Run(at, nanoseconds, command, project, command.rtk)


def _recovery(ids: Ids, last: Run) -> Run:
    """Full output asked for by `rtk proxy`, soon after the command itself."""
    at = last.at + timedelta(seconds=ids.between(20, 90))
    tokens = Size(ids.between(150, 420), is_fixed=True)
    rtk = f"rtk proxy {last.command.original}"
    return Run(at, ids.below(10**9), last.command, last.project, rtk, State(tokens, 0.0))


def _of_session(hooked: list[HookedCommand]) -> list[Run]:
    """Runs that a Claude Code session tells of: their shown size is known from there."""
    runs = []
    for number, seen in enumerate(hooked):
        if not seen.rewritten:
            continue
        words = seen.rewritten.split()
        original = " ".join(words[1:]).replace("read ", "cat ", 1)
        rtk = f"rtk {words[1]}" if words[1] in ("read", "grep") else seen.rewritten
        size = Size(-(-len(seen.shown.encode()) // 4), is_fixed=True)
        command = Command(original, rtk, ("site",), 1, size.tokens, 0.5)
        state = State(size, 0.0 if words[1] == "read" else 1.4)
        at = seen.at.replace(microsecond=0)
        runs.append(Run(at, 1_234_500 * (number + 1), command, "site", rtk, state))
    return runs


def _judge(runs: list[Run]) -> None:
    """The published measure: a repeat is a command line that stood in the history before."""
    seen: set[str] = set()
    for run in runs:
        run.is_repeat = run.command.original in seen
        seen.add(run.command.original)


def _set_states(ids: Ids, runs: list[Run]) -> None:
    """What each run answered: the same as last time in its project, or elsewhere, or something new."""
    states: dict[tuple[str, str], State] = {}
    anywhere: dict[str, State] = {}
    for run in runs:
        if run.state.size.tokens or not run.command.size:  # known already, or a command that shows nothing
            continue
        key = run.command.original, run.project
        state = states.get(key)
        if state is None and ids.chance(0.6):
            state = anywhere.get(run.command.original)
        if state is None or ids.chance(run.command.churn):
            tokens = max(1, round(run.command.size * (0.6 + 0.8 * ids.random.random())))
            size = state.size if state and ids.chance(0.2) else Size(tokens)
            state = State(size, run.command.taken * (0.7 + 0.6 * ids.random.random()))
        run.state = states[key] = anywhere[run.command.original] = state


def _fit_output(runs: list[Run], group: tuple[str, str], target: int) -> None:
    """Change the sizes of a group until their sum is exact, but those that an earlier group has settled."""
    uses: dict[int, int] = {}
    sizes: dict[int, Size] = {}
    for run in runs:
        if run.group == group and not run.state.size.is_fixed:
            uses[id(run.state.size)] = uses.get(id(run.state.size), 0) + 1
            sizes[id(run.state.size)] = run.state.size
    fixed = sum(run.state.size.tokens for run in runs if run.group == group and run.state.size.is_fixed)
    now = sum(sizes[key].tokens * count for key, count in uses.items())
    factor = (target - fixed) / now * 0.99
    for size in sizes.values():
        size.tokens = max(1, int(size.tokens * factor))
    missing = target - fixed - sum(sizes[key].tokens * count for key, count in uses.items())
    once = [sizes[key] for key, count in uses.items() if count == 1]
    for size, more in zip(once, _shares(missing, len(once)), strict=True):
        size.tokens += more
    for size in sizes.values():
        size.is_fixed = True


def _fit_saved(runs: list[Run]) -> None:
    """The same for what filtering took off."""
    states = {id(run.state): run.state for run in runs}
    uses: dict[int, int] = {}
    for run in runs:
        uses[id(run.state)] = uses.get(id(run.state), 0) + 1
    wanted = {key: state.size.tokens * state.taken for key, state in states.items()}
    factor = SAVED / sum(wanted[key] * count for key, count in uses.items()) * 0.99
    for key, state in states.items():
        state.saved = int(wanted[key] * factor)
    missing = SAVED - sum(states[key].saved * count for key, count in uses.items())
    once = [state for key, state in states.items() if uses[key] == 1 and state.saved > 0]
    for state, more in zip(once, _shares(missing, len(once)), strict=True):
        state.saved += more


def _shares(total: int, count: int) -> Iterable[int]:
    """A number as so many whole shares that differ by one at most."""
    return [total // count + (number < total % count) for number in range(count)]


def _row(ids: Ids, number: int, run: Run) -> tuple[object, ...]:
    shown, saved = run.state.size.tokens, run.state.saved
    before = shown + saved
    percent = saved / before * 100 if before else 0.0
    spent = ids.between(3, 480)
    folder = PROJECTS[run.project]
    return number, run.stamp, run.command.original, run.rtk, before, shown, saved, percent, spent, folder


def _failures(runs: list[Run]) -> list[tuple[object, ...]]:
    """Commands that RTK did not know and ran natively."""
    message = "error: unrecognized subcommand '{}'\n\nFor more information, try '--help'.\n"
    unknown = [run for run in runs if run.rtk.startswith("rtk fallback: ")]
    return [
        (number, run.stamp, run.command.original, message.format(run.command.original.split()[0]), 1)
        for number, run in enumerate(unknown, start=1)
    ]


def _ledger(ids: Ids, runs: list[Run]) -> list[tuple[object, ...]]:
    """What dedup recorded: for each day the outputs of 200 tokens and more, and how often."""
    met: dict[tuple[str, int], list[Run]] = {}
    for run in runs:
        if (
            run.at >= LEDGER_FROM
            and run.state.size.tokens >= LEDGER_TOKENS
            and not run.rtk.startswith("rtk proxy")
        ):
            met.setdefault((run.stamp[:10], id(run.state)), []).append(run)
    rows: list[tuple[object, ...]] = []
    sessions: dict[str, str] = {}
    steps: dict[str, int] = {}
    for (day, _), same in met.items():
        session = sessions.setdefault(day, ids.uuid())
        steps[session] = steps.get(session, 0) + 1
        first, last = same[0], same[-1]
        identity = first.command.original
        if first.rtk == "rtk read":
            identity = "read:" + identity.removeprefix("cat ")
        content = hashlib.sha256(f"{identity}\n{first.stamp}".encode()).hexdigest()
        tokens = first.state.size.tokens
        counts = (tokens, tokens // 9 + 1, steps[session], len(same))
        rows.append((len(rows) + 1, session, content, identity, *counts, first.stamp, last.stamp))
    return rows


def _decisions(hooked: list[HookedCommand]) -> list[tuple[object, ...]]:
    """What the hook answered in the Claude Code session, and two answers that nobody else tells of."""
    folder = PROJECTS["site"]
    rows: list[tuple[object, ...]] = []
    for seen in hooked:
        asked_at = seen.at - timedelta(seconds=1)  # before the command's own stamp
        at = asked_at.strftime("%Y-%m-%dT%H:%M:%S.%f000+00:00")
        decision, rewritten = ("allow", seen.rewritten) if seen.rewritten else ("defer", None)
        told = (seen.session, seen.call, folder, seen.command, decision, rewritten)
        rows.append((len(rows) + 1, at, *told, VERSION))
    at, session = "2026-11-18T16:20:00.500000000+00:00", hooked[-1].session
    for command, decision, rewritten in (
        ("git push", "ask", "rtk git push"),
        ("rd /s /q static", "deny", None),
    ):
        call = f"toolu_01Sample{len(rows):016}"
        rows.append((len(rows) + 1, at, session, call, folder, command, decision, rewritten, VERSION))
    return rows
