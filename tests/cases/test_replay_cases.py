"""Fault cases of class R, as far as they name a policy, a ledger or a verdict, and S14.

Small logs, imported as a person's would be, and replayed. `docker-agent` stands for wiring `session` and
documented errors, `rtk` for all tools and no least size, as the sheet has it.
"""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace
from support import docker_agent
from support.pipeline import Log, copied, imported
from support.replay import Did, Elided, did

from dedupstats.policies import all_policies, chosen
from dedupstats.policies.spec import Definition
from dedupstats.simulate.score import NOTHING, Beside, Step

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from dedupstats import Store
    from dedupstats.policies.base import Decision, Emission

X, Y, Z = "x" * 300, "y" * 300, "z" * 300
V1, V2 = "docker-agent:v1", "docker-agent:v2"

UNCHANGED = (
    "File unchanged since last read. The content from the earlier Read tool_result in this conversation is "
    "still current — refer to that instead of re-reading."
)


def stored(log: Log, folder: Path, *agents: Log) -> Store:
    """A session, and its subagents beside it."""
    for agent in agents:
        agent.write(folder / "s1" / "subagents" / f"agent-{agent.agent}.jsonl")
    log.write(folder / "s1.jsonl")
    return imported(folder).store


def subagent(name: str, start: float = 0) -> Log:
    return Log(agent=name, prefix=name, start=start)


def rtk(store: Store, *assignments: str, revision: str = "v1") -> Did:
    return did(store, f"rtk:{revision}", "tools=all", "min_tokens=0", *assignments)


def test_r01_compaction_between_two_reads(tmp_path: Path) -> None:
    log = Log()
    log.read("t1", "a", X)
    log.compact()
    log.read("t2", "a", X)
    store = stored(log, tmp_path)
    assert did(store, V1).elided == {"t2": Elided("t1", "dangling", "gone")}
    for policy in (V2, "docker-agent:v3", "exact", "safe"):
        assert did(store, policy).elided == {}
    assert rtk(store).verdicts == {"t2": "dangling"}
    assert rtk(store, revision="v2").elided == {}
    assert rtk(store, "compaction_handler=false", revision="v2").verdicts == {"t2": "dangling"}


@pytest.mark.parametrize("policy", [V1, V2, "docker-agent:v3"])
def test_r02_rewind_between_two_reads(tmp_path: Path, policy: str) -> None:
    """No engine hears of it."""
    log = Log()
    before = log.user("hi")
    log.read("t1", "a", X)
    log.rewind(before)
    log.read("t2", "a", X)
    assert did(stored(log, tmp_path), policy).elided == {"t2": Elided("t1", "dangling", "gone")}


def family(folder: Path, *order: str) -> Store:
    """The main thread and subagents read the same file, one after the other."""
    threads = {"main": Log(), "a": subagent("a"), "b": subagent("b")}
    for number, name in enumerate(order, 1):
        log = threads[name]
        log._second = number * 10  # the order of arrival
        log.read(f"t{number}", "a", X)
    threads["main"].user("bye")
    return stored(threads["main"], folder, *(threads[name] for name in {*order} - {"main"}))


@pytest.mark.parametrize(
    ("order", "place"),
    [
        (("main", "a"), "parent"),  # R03
        (("a", "b"), "sibling"),  # R04
        (("a", "main"), "child"),  # R05
    ],
)
def test_r03_r04_r05_a_ledger_that_contexts_share(tmp_path: Path, order: tuple[str, str], place: str) -> None:
    store = family(tmp_path, *order)
    assert rtk(store).elided == {"t2": Elided("t1", "dangling", place)}
    assert did(store, V1, "ledger=session").elided == {"t2": Elided("t1", "dangling", place)}
    assert did(store, V1).elided == {}
    assert did(store, "exact").elided == {}


def test_r05_a_docker_agent_sub_session(tmp_path: Path) -> None:
    """It has an id of its own; a ledger that both would share is the parent's."""
    child = docker_agent.session("child", docker_agent.read("t1", "a", X, 2))
    parent = docker_agent.session(
        "parent",
        [docker_agent.user("hi", 1), {"sub_session": child}, *docker_agent.read("t2", "a", X, 9)],
    )
    store = imported(docker_agent.export(tmp_path / "e.json", parent)).store
    assert did(store, V2).elided == {}
    assert did(store, V2, "ledger=session").elided == {"t2": Elided("t1", "dangling", "child")}


def test_r06_the_hosts_own_stub_is_no_saving(tmp_path: Path) -> None:
    log = Log()
    log.read("t1", "a", X)
    log.read("t2", "a", UNCHANGED)
    store = stored(log, tmp_path)
    for policy in (V1, V2, "exact", "safe", "keep-all"):
        found = did(store, policy)
        assert (found.elided, found.score.elided) == ({}, NOTHING)
    assert rtk(store).elided == {}


def test_r07_a_b_a(tmp_path: Path) -> None:
    log = Log()
    for call, text in (("t1", X), ("t2", Y), ("t3", X)):
        log.read(call, "a", text)
    store = stored(log, tmp_path)
    assert did(store, V1).elided == {}
    assert did(store, V1).reasons == {"t1": "first", "t2": "changed", "t3": "changed"}
    sound = Elided("t1", "sound", "in_sight", frozenset({"changed_between"}))
    assert rtk(store).elided == {"t3": sound}
    assert rtk(store).score.beside[Beside.CHANGED_BETWEEN].results == 1


def test_r09_errors(tmp_path: Path) -> None:
    log = Log()
    for call in ("t1", "t2"):
        log.call(call, "Bash", {"command": "make"})
        log.result(call, "E" * 300, error=True)
    store = stored(log, tmp_path)
    for policy in (V1, V2, "exact", "safe"):
        assert did(store, policy).elided == {}
    assert rtk(store).reasons == {"t1": "error", "t2": "error"}
    assert rtk(store, "suppress_on_error=true").verdicts == {"t2": "hidden"}


def test_r09_a_failure_that_the_host_does_not_flag(tmp_path: Path) -> None:
    """Of a call that only reads: the host tells the engine that it succeeded."""
    log = Log()
    for call in ("t1", "t2"):
        log.call(call, "Read", {"file_path": "a"})
        log.result(call, "E" * 300, error=True)
    store = stored(log, tmp_path)
    assert did(store, V1).elided == {}
    assert did(store, V1, "errors=host").elided == {"t2": Elided("t1", "hidden", "in_sight")}


def test_r10_a_call_with_an_effect(tmp_path: Path) -> None:
    log = Log()
    for call in ("t1", "t2"):
        log.call(call, "Edit", {"file_path": "a", "old_string": "b", "new_string": "c"})
        log.result(call, "ok" * 150)
    store = stored(log, tmp_path)
    for policy in (V1, V2):
        found = did(store, policy)
        assert found.reasons == {"t1": "not_read_only", "t2": "not_read_only"}
        assert found.score.steps[Step.IN_SIGHT].results == 1
        assert found.score.steps[Step.ELIGIBLE] == NOTHING
    assert rtk(store).verdicts == {"t2": "hidden"}
    assert did(store, "exact").verdicts == {"t2": "hidden"}
    assert did(store, "exact").score.if_unknown_reads == NOTHING


def test_r11_nobody_said_whether_it_is_read_only(tmp_path: Path) -> None:
    log = Log()
    for call in ("t1", "t2"):
        log.call(call, "mcp__x__get", {"id": 1})
        log.result(call, X)
    store = stored(log, tmp_path)
    assert did(store, V1).elided == {}
    for found in (rtk(store), did(store, "exact")):
        assert found.verdicts == {"t2": "hidden"}
        assert found.score.sound == NOTHING
        assert found.score.if_unknown_reads[:2] == (1, 300)
    for policy in (V1, "safe"):
        assert did(store, policy).score.if_unknown_reads[:2] == (1, 300)
    # no toolset is known of it either
    assert did(store, V2).score.if_unknown_reads == NOTHING


def test_r14_micro_compaction(tmp_path: Path) -> None:
    log = Log()
    log.read("t1", "a", X)
    log.micro(["t1"])
    log.read("t2", "a", X)
    log.read("t3", "a", X)
    store = stored(log, tmp_path)
    assert did(store, "safe").elided == {"t3": Elided("t2", "sound", "in_sight")}
    # it hears of none, keeps its first anchor, and leaves no full copy for the third
    assert did(store, V2).verdicts == {"t2": "dangling", "t3": "dangling"}


def test_r16_a_marker_that_points_at_a_marker(tmp_path: Path) -> None:
    log = Log()
    log.read("t1", "a", X)
    log.read("t2", "a", X)
    log.micro(["t1"])
    log.read("t3", "a", X)
    store = stored(log, tmp_path)
    assert did(store, V2).elided == {
        "t2": Elided("t1", "sound", "in_sight", frozenset({"later_dangling"})),
        "t3": Elided("t1", "dangling", "gone"),
    }
    beside = did(store, V2).score.beside
    assert {name: (tally.results, tally.bytes, tally.marker_bytes) for name, tally in beside.items()} == {
        Beside.LATER_DANGLING: (1, 300, 229)
    }


def test_r17_two_reads_in_one_batch(tmp_path: Path) -> None:
    log = Log()
    log.call("t1", "Read", {"file_path": "a"}, "m1")
    log.call("t2", "Read", {"file_path": "a"}, "m1")
    log.result("t1", X)
    log.result("t2", X)
    store = stored(log, tmp_path)
    for policy in (V1, V2, "exact", "safe"):
        assert did(store, policy).elided == {"t2": Elided("t1", "sound", "in_sight")}


def test_r20_the_hashed_text_is_not_the_shown_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The filter made something else of the same raw output: logs do not hold that."""
    log = Log()
    log.read("t1", "a", "full" * 300)
    log.read("t2", "b", "short" * 100)
    store = stored(log, tmp_path)

    class _AllRawIsOne:
        """The engine as it would have run: every raw output is the same."""

        def __init__(self, *_: object) -> None:
            self._engine = chosen("rtk:v1").set(["min_tokens=0", "tools=all"]).policy()

        def __getattr__(self, name: str) -> object:
            return getattr(self._engine, name)

        def decide(self, emission: Emission) -> Decision:
            return self._engine.decide(replace(emission, raw_sha64=7))

    found = Definition("raw", "RTK with the raw text told", _AllRawIsOne, keyed_by="bytes")  # type: ignore[arg-type]
    monkeypatch.setitem(all_policies(), "raw", found)
    assert did(store, "raw").elided == {"t2": Elided("t1", "false", "in_sight", frozenset({"other_call"}))}


@pytest.mark.parametrize(("answered", "elided"), [(True, []), (False, ["t2"])])
def test_r22_session_end_at_every_turn(tmp_path: Path, elided: list[str], *, answered: bool) -> None:
    """A message that follows a result is steering and ends no run."""
    log = Log()
    log.user("hi")
    log.read("t1", "a", X)
    if answered:
        log.say("done", "m-done")
    log.user("again")
    log.read("t2", "a", X)
    store = stored(log, tmp_path)
    assert list(did(store, V1, "wiring=session").elided) == ["t2"]
    assert list(did(store, V1, "wiring=runtime").elided) == elided
    assert list(did(store, V1, "wiring=transform").elided) == ["t2"]


def test_r23_the_cap(tmp_path: Path) -> None:
    log = Log()
    for number in range(4_097):
        log.read(f"t{number + 1}", f"file-{number}", f"{number:<300}")
    log.read("again", "file-4096", f"{4096:<300}")
    log.read("first", "file-0", f"{0:<300}")
    found = did(stored(log, tmp_path), V1)
    assert list(found.elided) == ["first"]
    assert (found.reasons["t4097"], found.reasons["again"], found.score.largest) == ("cap", "cap", 4_096)
    assert found.score.steps[Step.THRESHOLD].results == 2
    assert found.score.steps[Step.CAP].results == 1


@pytest.mark.parametrize(("others", "reason"), [(100, "repeat"), (101, "stale")])
def test_r24_the_window(tmp_path: Path, others: int, reason: str) -> None:
    log = Log()
    log.read("t0", "a", X)
    for number in range(others):
        log.read(f"n{number}", f"file-{number}", f"{number:<300}")
    log.read("again", "a", X)
    assert rtk(stored(log, tmp_path), revision="v2").reasons["again"] == reason


def test_r25_compound_commands(tmp_path: Path) -> None:
    log = Log()
    for number, command in enumerate(["ls x && git status", "for i in 1 2; do git status; done"] * 2, 1):
        log.bash(f"t{number}", command, (X, Y)[number % 2])
    found = did(stored(log, tmp_path), "rtk:v1", "min_tokens=0")
    assert found.reasons == {"t1": "first", "t3": "repeat"}
    # nobody knows that the commands only read; `ls` and `git status` do
    assert found.elided == {"t3": Elided("t1", "sound", "in_sight")}
    assert {verdict.value: tally.results for verdict, tally in found.score.mixed.items()} == {"sound": 1}
    assert found.score.reasons == {"first": 1, "repeat": 1, "not_reached": 2}


@pytest.mark.parametrize("carrier", ["uuids", "segment"])
def test_r28_what_compaction_kept(tmp_path: Path, carrier: str) -> None:
    log = Log()
    log.read("t1", "a", X)
    kept = log.read("t2", "b", Y)
    if carrier == "uuids":
        log.compact([kept])
    else:
        log.compact(segment=(kept, kept))
    log.read("t3", "b", Y)
    log.read("t4", "a", X)
    store = stored(log, tmp_path)
    assert did(store, "safe").elided == {"t3": Elided("t2", "sound", "in_sight")}
    assert did(store, V1).elided == {
        "t3": Elided("t2", "sound", "in_sight"),
        "t4": Elided("t1", "dangling", "gone"),
    }
    # hears of the compaction and not of what it kept: the saving is missed
    assert did(store, V2).elided == {}


def test_r31_duplicates_that_no_mechanism_in_one_window_can_reach(tmp_path: Path) -> None:
    log = Log()
    log.read("t1", "a", X)
    log.read("t2", "a", X)
    log.compact()
    log.read("t3", "a", X)
    found = did(stored(log, tmp_path), "safe")
    assert found.elided == {"t2": Elided("t1", "sound", "in_sight")}
    assert found.score.steps[Step.BYTES_IN_SESSION].bytes == 600
    assert found.score.steps[Step.IN_SIGHT].bytes == found.score.sound.bytes == 300


def failing(log: Log) -> None:
    for call in ("t1", "t2"):
        log.call(call, "Bash", {"command": "make"})
        log.result(call, "E" * 300, error=True)


def rewound(log: Log) -> None:
    before = log.user("hi")
    log.read("t1", "a", X)
    log.rewind(before)
    log.read("t2", "a", X)


@pytest.mark.parametrize("make", [failing, rewound])
def test_s14_doing_nothing_saves_nothing(tmp_path: Path, make: Callable[[Log], None]) -> None:
    log = Log()
    make(log)
    score = did(stored(log, tmp_path), "keep-all").score
    assert score.elided == score.sound == score.untrue == score.if_unknown_reads == NOTHING
    assert (score.reasons, score.largest) == ({"kept": 2}, 0)
    assert score.elided.net_bytes == score.elided.net_tokens == 0


def test_the_order_of_files_changes_nothing(tmp_path: Path) -> None:
    """A session, its subagent, a fork that begins with copies, and another session with the same file."""
    log = Log()
    log.user("hi")
    log.read("t1", "a", X)
    log.read("t2", "a", X)
    log.compact()
    log.read("t3", "a", X)
    agent = subagent("a", start=2)
    agent.read("t4", "a", X)
    agent.read("t5", "a", X)
    fork = Log("s2", prefix="f", start=30)
    fork.rows = copied(log.rows, sessionId="s2", forkedFrom={"sessionId": "s1", "messageUuid": "u1"})
    fork.tip = log.tip
    fork.read("t6", "a", X)
    other = Log("s3", prefix="o", start=60)
    other.read("t7", "a", X)
    paths = [
        log.write(tmp_path / "s1.jsonl"),
        agent.write(tmp_path / "s1" / "subagents" / "agent-a.jsonl"),
        fork.write(tmp_path / "s2.jsonl"),
        other.write(tmp_path / "s3.jsonl"),
    ]
    policies = [V1, "rtk:v1", "ceiling", "exact", "safe"]
    found = []
    for order in permutations(paths):
        store = imported(*order).store
        names = dict(store.query("select emission_key, path || call_id from emission"))
        found.append([did(store, policy, names=names) for policy in policies])
    assert all(one == found[0] for one in found)
    safe = {call[-2:]: elided.verdict for call, elided in found[0][-1].elided.items()}
    assert safe == {"t2": "sound", "t5": "sound", "t6": "sound"}
