"""The corner cases of docs/CORNER_CASES.md: each sequence is replayed, and the page must say what came of it.

The page's cells were checked by hand against what the engines' own code decided (tests/conformance) and the
definitions of verdicts; here they are what is expected.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
from support.histories import Past, Writer, put
from support.replay import did

from dedupstats.store import Store, open_store

if TYPE_CHECKING:
    from support.histories import Result

PAGE = Path(__file__).parents[2] / "docs" / "CORNER_CASES.md"

#: A result: text (a letter, repeated), size, call, tool, context, `!` failed, `!!` did not run, arguments.
RESULT = re.compile(
    r"(?P<text>[A-Z])(=(?P<size>\d+))?(/(?P<call>\w+))?(:(?P<tool>\w+))?(@(?P<context>\d))?(?P<failed>!{0,2})"
    r"(~(?P<arguments>\w+))?"
)

LONG = "t" * 60

#: By case: what happens, and what is set. The decision on the last result is the case; what stands behind
#: a bar happens later.
DOCKER_AGENT: Final[dict[str, tuple[str, str]]] = {
    "D01": ("A A A", ""),
    "D02": ("A B", ""),
    "D03": ("A B A", ""),
    "D03b": ("A B A A", ""),
    "D04": ("A B A B A B", ""),
    "D05": ("A Z!! A", ""),
    "D06": ("A Z! A", "errors=host"),
    "D07": ("Z! Z! Z!", ""),
    "D08": ("Z! Z! Z!", "errors=host"),
    "D09 transform": ("A compact A", "wiring=transform"),
    "D09 session": ("A compact A", "wiring=session"),
    "D09 runtime": ("A compact A", "wiring=runtime"),
    "D09 kept": ("A compact+ A", "wiring=transform"),
    "D10 transform": ("A turn A", "wiring=transform"),
    "D10 session": ("A turn A", "wiring=session"),
    "D10 runtime": ("A turn A", "wiring=runtime"),
    "D12 child": ("A@5 A@6 A@6", ""),
    "D12 parent": ("A@5 A@6 A@6 A@5", ""),
    "D13": ("A/a A/b", ""),
    "D14": ("A/a A/a", ""),
    "D16": ("A/id~992 A/id~993", ""),
    "D17": ("A/null~broken A/null~empty", ""),
    "D22 254": ("A=254 A=254", ""),
    "D22 255": ("A=255 A=255", ""),
    "D22 256": ("A=256 A=256", ""),
    "D22 234": ("A=234 A=234", ""),
    "D22 235": ("A=235 A=235", ""),
    "D23 long name": (f"A=256:{LONG} A=256:{LONG}", ""),
    "D24 51,199": ("A=51199 A=51199", ""),
    "D24 51,200": ("A=51200 A=51200", ""),
    "D24 51,201": ("A=51201 A=51201", ""),
    "D24 lsp": ("A=60000:lsp A=60000:lsp", ""),
    "D25 front": ("A=51200 A=51200", "limiter=front"),
    "D25 front, large": ("A=60000 A=60000", "limiter=front"),
    "D25 back, large": ("A=60000 A=60000", "limiter=back"),
    "D28 rag": ("A:rag A:rag", ""),
    "D28 knowledge": ("A:knowledge A:knowledge", ""),
    "D28 mcp": ("A:mcp A:mcp", ""),
    "D29": ("A:shell A:shell", ""),
    "D30": ("A:update_todos A:update_todos", ""),
    "D31": ("A:transfer_task A:transfer_task", ""),
    "D34": ("A=0 A=0", ""),
    "D35": ("A Z=5 A", ""),
    "D36": ("A B=60000 A", ""),
    "D37": ("A B=60000 A", "limiter=front"),
    "D38 third": ("A/a A/b A/c A/c", "max_keys=2"),
    "D38 known": ("A/a A/b A/c A/a", "max_keys=2"),
    "D39": ("A A", "max_keys=0"),
    "D40": ("A@1 A@2 A@1 A@3 A@1 | B@2 B@3", "max_sessions=2"),
    "D42": ("A@1 A@2 A@1 | B@2", "max_sessions=1"),
    "D43": ("id= A A", ""),
    "D46": ("A:read_file A:lsp", ""),
}
RTK: Final[dict[str, tuple[str, str]]] = {
    "R1": ("A A", ""),
    "R2": ("A B A", ""),
    "R3": ("A B", ""),
    "R4": ("A others=100 A", ""),
    "R5": ("A others=101 A", ""),
    "R6": ("A compact A", ""),
    "R7": ("A compact A", "compaction_handler=false"),
    "R8": ("A rewind A", ""),
    "R9": ("A@1 A@2", ""),
    "R10": ("A@2 A@1", ""),
    "R11": ("A@1 compact@2 A@1", ""),
    "R12": ("A@1 A@5", ""),
    "R13": ("A/a A/b", ""),
    "R20 796": ("A=796 A=796", "min_tokens=200"),
    "R20 797": ("A=797 A=797", "min_tokens=200"),
    "R22": ("Z! Z!", ""),
    "R23": ("A A!", ""),
    "R23 suppress": ("A A!", "suppress_on_error=true"),
    "R24": ("A! A", "suppress_on_error=true"),
    "R25": ("A:shell A:shell", ""),
    "R30": ("A idle=60 A", ""),
    "R31": ("A idle=49 B A", ""),
    "R33": ("A idle=40 A idle=40 A idle=40 B A", ""),
    "R35": ("id= A A", ""),
    "R35 dot": ("id=a.b A A", ""),
    "R44": ("A=0 A=0", ""),
    "R45": ("A=40 A=40", ""),
    "R46": ("A B B B B A", "recency_window=1"),
}


def told(steps: str) -> Past:
    """The history that some steps make."""
    writer = Writer()
    for step in steps.replace("|", " ").split():
        name, _, what = step.partition("=")
        if match := RESULT.fullmatch(step):
            add(writer, match)
        elif name == "idle":
            writer.wait(int(what))
        elif name == "id":
            writer.move(1, what)
        elif name == "others":
            for number in range(int(what)):
                writer.result(1, tool="read_file", call=f"other-{number}", text=f"{number:<1025}")
        elif name == "turn":
            writer.happens("turn", 1)
        else:
            kind, _, key = name.partition("@")
            kinds = {"compact": "compaction", "compact+": "compaction", "rewind": "rewind"}
            keep = everything if kind.endswith("+") else nothing
            writer.happens(kinds[kind], int(key or 1), keep)
    return writer.past


def everything(_: Result) -> bool:
    return True


def nothing(_: Result) -> bool:
    return False


def add(writer: Writer, match: re.Match[str]) -> Result:
    size = 1_025 if match["size"] is None else int(match["size"])
    return writer.result(
        int(match["context"] or 1),
        tool=match["tool"] or "read_file",
        call=match["call"] or "a",
        arguments=match["arguments"] or match["call"] or "a",
        text=match["text"] * size,
        klass="text" if size else "empty",
        is_error=bool(match["failed"]),
        did_not_run=match["failed"] == "!!",
    )


@cache
def shared() -> Store:
    return open_store(":memory:")


def outcomes(steps: str, runs: list[tuple[str, str]]) -> list[str]:
    """What becomes of the last result under some policies, as the page says it."""
    names = {key: str(result.place) for key, result in put(shared(), told(steps)).items()}
    judged = told(steps.partition("|")[0]).results[-1].place
    return [outcome(names, str(judged), *run) for run in runs]


def outcome(names: dict[int, str], last: str, policy: str, settings: str) -> str:
    found = did(shared(), policy, *settings.split(), names=names)
    if last in found.shortened:
        return "excerpt"
    if last not in found.elided:
        return "shown"
    elided = found.elided[last]
    said = [elided.verdict, *sorted(name.replace("_", " ") for name in elided.counters)]
    where = [] if elided.place == "in_sight" else [f"anchor {elided.place}"]
    return "elided: " + ", ".join(said + where)


def page(prefix: str) -> dict[str, list[str]]:
    """The rows of the page whose first cell begins with a letter and a number."""
    rows = [
        line.strip("|").split("|") for line in PAGE.read_text("utf-8").splitlines() if line.startswith("|")
    ]
    cells = [[cell.strip() for cell in row] for row in rows]
    return {row[0]: row[1:] for row in cells if re.match(rf"{prefix}\d", row[0])}


def allowed(policy: str, settings: str) -> str:
    """The settings that a revision has."""
    missing = {"docker-agent:v1": ("max_sessions",), "rtk:v1": ("recency_window", "compaction_handler")}
    return " ".join(one for one in settings.split() if one.partition("=")[0] not in missing.get(policy, ()))


@pytest.mark.parametrize(
    ("case", "steps", "settings"), [(name, *case) for name, case in DOCKER_AGENT.items()]
)
def test_docker_agent(case: str, steps: str, settings: str) -> None:
    engines = [f"docker-agent:{revision}" for revision in ("v1", "v2", "v3")]
    assert (
        outcomes(steps, [(engine, allowed(engine, settings)) for engine in engines]) == page("D")[case][1:4]
    )


@pytest.mark.parametrize(("case", "steps", "settings"), [(name, *case) for name, case in RTK.items()])
def test_rtk(case: str, steps: str, settings: str) -> None:
    usual = "tools=all" + (" min_tokens=0" if "min_tokens" not in settings else "")
    runs = [(engine, f"{usual} {allowed(engine, settings)}") for engine in ("rtk:v1", "rtk:v2")]
    assert outcomes(steps, runs) == page("R")[case][1:3]


def test_every_case_of_the_page_is_replayed_or_says_why_not() -> None:
    """Rows with outcomes are those above; the others give a reason."""
    for prefix, cases in (("D", DOCKER_AGENT), ("R", RTK), ("N", {})):
        rows = page(prefix)
        replayed = [name for name, cells in rows.items() if len(cells) > 2]
        assert replayed == list(cases)
        assert all(reason for name, cells in rows.items() if len(cells) == 1 for reason in cells)
    listed = {*page("D"), *page("R"), *page("N")}
    covered = {int(number) for name in listed if name[0] == "D" for number in re.findall(r"D(\d+)", name)}
    assert covered == set(range(1, 62))
    assert {int(n) for name in listed if name[0] == "R" for n in re.findall(r"R(\d+)", name)} == {
        *range(1, 49)
    }
    assert {int(n) for name in listed if name[0] == "N" for n in re.findall(r"N(\d+)", name)} == {
        *range(1, 16)
    }
