"""The story of one decision: what a small log leads one to expect, and what a replay of everything says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from support.command import run
from support.pipeline import Log, imported

from dedupstats import import_paths, open_store
from dedupstats.errors import UsageError
from dedupstats.policies import rtk
from dedupstats.policies.base import Action
from dedupstats.policies.docker_agent import marker
from dedupstats.report.explain_text import Facts, explained
from dedupstats.report.explain_words import decision
from dedupstats.simulate.explain import Account, Explanation, explain
from dedupstats.simulate.find import find, largest, shown_key
from dedupstats.simulate.held import held
from dedupstats.simulate.knowledge import Knowledge
from dedupstats.simulate.otherwise import otherwise
from dedupstats.simulate.replay import Replay
from dedupstats.simulate.run import simulate
from dedupstats.simulate.timeline import Timeline
from dedupstats.simulate.variants import variants
from dedupstats.simulate.verdicts import VERDICTS, Place, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dedupstats import Store
    from dedupstats.simulate.chunk import Chunk
    from dedupstats.simulate.replay import Replayed

SAMPLES = Path(__file__).resolve().parents[3] / "sample_data"
FILE = "/home/u/p/a.py"
TEXT = "def a():\n" * 40  # 360 bytes
OUTPUT = "commit abc\n" * 100  # 1,100 bytes, 275 tokens


@pytest.fixture(scope="module")
def samples() -> Iterator[Store]:
    with open_store(":memory:") as store:
        import_paths(store, [SAMPLES])
        yield store


def story(log: Log, tmp_path: Path, call_id: str, *policies: str) -> Explanation:
    store = imported(log.write(tmp_path / "s1.jsonl")).store
    return explain(store, find(store, call_id), [one for one in variants(policies) if one.is_headline])


def account(log: Log, tmp_path: Path, call_id: str, policy: str) -> Account:
    (found,) = story(log, tmp_path, call_id, policy).accounts
    return found


def log_of(*steps: str) -> Log:
    """A log of steps: `r1` reads the file, `x1` reads other bytes of it, `w` writes it, `.` is a turn."""
    log = Log()
    log.user("go")
    for step in steps:
        if step == ".":
            log.user("and on")
        elif step == "|":
            log.compact()
        elif step == "w":
            log.call(step, "Write", {"file_path": FILE, "content": "x"})
            log.result(step, "done")
        else:
            log.read(step, FILE, TEXT if step.startswith("r") else TEXT + "x")
    return log


# -- small logs ----------------------------------------------------------------------------------------------


def test_a_sound_elision(tmp_path: Path) -> None:
    found = story(log_of("r1", "r2"), tmp_path, "r2", "docker-agent")
    assert (found.result.call_id, found.result.bytes, found.result.line) == ("r2", 360, 5)
    (earlier,) = found.earlier
    assert (earlier.result.call_id, earlier.place, earlier.same_call) == ("r1", Place.IN_SIGHT, True)
    (told,) = found.accounts
    assert (told.outcome.reason, told.outcome.verdict) == ("repeat", Verdict.SOUND)
    assert told.marker == marker("Read", 360)
    assert told.full_copy == earlier.result
    assert told.ledger is not None
    assert (told.ledger.entry, told.ledger.is_forgotten) == (earlier, False)


def test_what_changed_in_the_meantime(tmp_path: Path) -> None:
    told = account(log_of("r1", "x1", "r2"), tmp_path, "r2", "docker-agent")
    assert told.ledger is not None
    assert (told.outcome.reason, told.ledger.entry.result.call_id) == ("changed", "x1")
    assert (told.ledger.entry.same_call, told.ledger.entry.same_bytes) == (True, False)
    assert told.full_copy is not None
    assert told.full_copy.call_id == "r1"


def test_a_turn_makes_the_host_s_engine_forget(tmp_path: Path) -> None:
    # rows: 1 prompt, 2 and 3 the read, 4 an answer that ends the run, 5 the next prompt
    log = log_of("r1")
    log.say("done")
    log.user("again")
    log.read("r2", FILE, TEXT)
    told = account(log, tmp_path, "r2", "docker-agent")
    assert told.ledger is not None
    assert (told.outcome.reason, told.ledger.is_forgotten) == ("first", True)
    assert (told.ledger.cause, told.ledger.cause_line) == ("turn", 5)
    by_change = {other.change: (other.reason, other.verdict) for other in told.others}
    assert by_change == {
        "revision v1": ("first", None),
        "revision v2": ("first", None),
        "preset documented": ("repeat", "sound"),
        "wiring = transform": ("repeat", "sound"),
        "wiring = session": ("repeat", "sound"),
        "errors = documented": ("first", None),
        "ledger = session": ("first", None),
        "bound exact": ("repeat", "sound"),
        "bound safe": ("repeat", "sound"),
    }


def test_the_first_of_several_events_is_the_one_that_made_it_forget(tmp_path: Path) -> None:
    log = log_of("r1")
    for _ in range(2):
        log.say("done")
        log.user("again")
    log.read("r2", FILE, TEXT)
    told = account(log, tmp_path, "r2", "docker-agent")
    assert told.ledger is not None
    assert told.ledger.cause_line == 5


def test_a_new_session_id_is_a_new_ledger(tmp_path: Path) -> None:
    log = log_of("r1")
    log.clear("s2")
    log.read("r2", FILE, TEXT)
    found = story(log, tmp_path, "r2", "docker-agent:v1,wiring=transform", "exact")
    assert [told.outcome.reason for told in found.accounts] == ["first", "first"]
    engine, bound = found.accounts
    assert engine.ledger is None
    assert bound.ledger is not None
    assert found.earlier[0].result.left_kind == "clear"


@pytest.mark.parametrize(
    ("policy", "reason", "cause"),
    [
        ("docker-agent:v1,wiring=session", "repeat", None),
        ("docker-agent:v2,wiring=session", "first", "compaction"),
        ("docker-agent:v3,wiring=transform", "repeat", None),
        ("docker-agent:v3", "first", "compaction"),
    ],
)
def test_a_compaction(tmp_path: Path, policy: str, reason: str, cause: str | None) -> None:
    # rows: 1 prompt, 2 and 3 the read, 4 the boundary
    found = story(log_of("r1", "|", "r2"), tmp_path, "r2", policy)
    (told,) = found.accounts
    assert told.ledger is not None
    assert (told.outcome.reason, told.ledger.cause) == (reason, cause)
    assert told.outcome.verdict == (Verdict.DANGLING if reason == "repeat" else None)
    assert told.full_copy is None
    (earlier,) = found.earlier
    assert (earlier.place, earlier.result.left_kind, earlier.result.left_line) == (
        Place.GONE,
        "compaction",
        4,
    )


def test_a_marker_is_no_full_copy(tmp_path: Path) -> None:
    found = story(log_of("r1", "r2", "r3"), tmp_path, "r3", "docker-agent")
    (told,) = found.accounts
    assert [earlier.result.call_id for earlier in found.earlier] == ["r1", "r2"]
    assert told.not_in_full == (found.earlier[1].result.emission_key,)
    assert told.full_copy == found.earlier[0].result


def test_rtk_s_marker_names_the_command(tmp_path: Path) -> None:
    log = Log()
    log.bash("b1", "git log --stat", OUTPUT)
    log.bash("b2", "git log --stat -5", OUTPUT)
    told = account(log, tmp_path, "b2", "rtk")
    assert told.marker == rtk.marker(1, 100, 275, "git log --stat -5")
    assert told.marker_bytes == len(told.marker.encode())
    assert [name.value for name in told.beside] == ["other_call"]


def test_rtk_asked_about_every_tool(tmp_path: Path) -> None:
    log = Log()
    log.read("r1", FILE, OUTPUT)
    log.read("r2", FILE, OUTPUT)
    log.call("g", "Grep", {"pattern": "x"})
    log.result("g", OUTPUT)
    assert account(log, tmp_path, "r2", "rtk").outcome.action is None
    told = account(log, tmp_path, "r2", "rtk,tools=all")
    assert told.marker == rtk.marker(1, 100, 275, f"read:{FILE}")
    assert account(log, tmp_path, "g", "rtk,tools=all").marker == rtk.marker(1, 100, 275, "Grep")


def test_rtk_forgets_what_was_idle(tmp_path: Path) -> None:
    log = Log()
    log.bash("b1", "git log --stat", OUTPUT)
    log._second = 3 * 24 * 3600
    # a ledger is pruned behind a command, so one more must come first
    log.bash("b2", "git status", OUTPUT + "x")
    log.bash("b3", "git log --stat", OUTPUT)
    told = account(log, tmp_path, "b3", "rtk")
    assert told.ledger is not None
    assert (told.outcome.reason, told.ledger.entry.result.call_id) == ("first", "b1")
    assert (told.ledger.is_forgotten, told.ledger.cause) == (True, None)


def test_what_has_no_call_is_asked_of_nobody(tmp_path: Path) -> None:
    log = Log()
    log.user("go")
    log.result("lost", TEXT)
    told = account(log, tmp_path, "lost", "docker-agent")
    assert (told.outcome.action, told.ledger, told.marker) == (None, None, None)


# -- finding -------------------------------------------------------------------------------------------------


def test_ids(tmp_path: Path) -> None:
    log = log_of("read-1", "r-2")
    store = imported(log.write(tmp_path / "s1.jsonl")).store
    keys = dict(store.query("select call_id, emission_key from emission"))
    key = keys["read-1"]
    for text in ("read-1", "read", "rea", str(key), shown_key(key), shown_key(key)[2:], f" {key} "):
        assert find(store, text) == key, text
    with pytest.raises(UsageError, match="2 tool results") as several:
        find(store, "r")
    assert shown_key(key) in several.value.hint
    with pytest.raises(UsageError, match="'read-2'") as unknown:
        find(store, "read-2")
    assert unknown.value.hint == "did you mean read-1?"
    for text in ("", "zzz", "9" * 19, "0x", "-"):
        with pytest.raises(UsageError):
            find(store, text)


def test_a_copy_is_explained_as_its_original(samples: Store) -> None:
    copy, original = samples.query("select emission_key, copy_of from emission where is_copy limit 1")[0]
    assert find(samples, str(copy)) == original
    found = explain(samples, original, variants(["safe"]))
    assert found.result.copies >= len(found.copies) > 0
    assert all(one.is_copy for one in found.copies)
    # the id in full stands for both
    assert find(samples, found.result.call_id or "") == original
    facts = next(one for one in explained(found, full_paths=False) if isinstance(one, Facts))
    assert dict(facts.rows)["copies"].startswith(f"line {found.copies[0].line} of ")


# -- against a replay of everything --------------------------------------------------------------------------


def test_one_family_decides_as_the_whole_history(samples: Store) -> None:
    policies = variants(["docker-agent:v1", "docker-agent", "rtk,tools=all"])
    expected: dict[int, dict[str, tuple[str | None, Verdict | None]]] = {}

    def take(chunk: Chunk, replayed: list[Replayed]) -> None:
        keys = chunk.columns.list("emission_key")
        for one in replayed:
            verdicts = dict(zip(one.judged.row.tolist(), one.judged.verdict.tolist(), strict=True))
            for row, answer in zip(one.asked.tolist(), one.answers, strict=True):
                verdict = VERDICTS[verdicts[row]] if row in verdicts else None
                expected.setdefault(keys[row], {})[one.variant.label] = (answer.reason, verdict)

    simulate(samples, policies, take=take)
    elided = [key for key, answers in expected.items() if any(verdict for _, verdict in answers.values())]
    assert len(elided) > 10
    for key in elided[:12]:
        found = explain(samples, key, policies)
        assert {
            told.outcome.policy: (told.outcome.reason, told.outcome.verdict) for told in found.accounts
        } == expected[key]


def test_what_ledgers_held_agrees_with_what_they_answered(samples: Store) -> None:
    every = [
        other
        for one in variants(["docker-agent:v1", "docker-agent", "rtk,tools=all,min_tokens=1"])
        for _, other in [("", one), *otherwise(one)]
    ]
    reasons = set()
    for chunk in Timeline(samples, "session", Knowledge()).chunks():
        sha = chunk.columns["sha64"]
        for one in Replay(every, "session").chunk(chunk):
            answers = dict(zip(one.asked.tolist(), one.answers, strict=True))
            for row, answer in answers.items():
                found = held(chunk, row, one.variant, answers)
                reasons.add(answer.reason)
                if answer.reason in {"repeat", "changed"}:
                    assert found is not None
                    assert not found.is_forgotten
                    assert (sha[found.row] == sha[row]) == (answer.reason == "repeat")
                elif answer.reason == "first":
                    assert found is None or found.is_forgotten
                    # nothing of the samples is idle for two days, nor are there 256 sessions in one
                    assert found is None or found.cause is not None
    assert {"repeat", "changed", "first"} <= reasons


@pytest.mark.parametrize("verdict", list(Verdict))
def test_the_largest_of_a_verdict_are_those_that_scores_name(samples: Store, verdict: Verdict) -> None:
    policies = variants(["docker-agent:v1", "rtk,tools=all"])
    scores = simulate(samples, policies).scores
    named = sorted(
        (-example.bytes, example.emission_key, number)
        for number, score in enumerate(scores)
        for example in score.examples.get(verdict, ())
    )[:3]
    found = largest(samples, policies, verdict, 3)
    assert [elision.bytes for elision in found] == [-size for size, _, _ in named]


# -- what another policy would have done ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("policy", "changes"),
    [
        ("docker-agent:v2", ["revision v1", "revision v3", "preset documented", "wiring = transform",
                             "wiring = session", "errors = documented", "ledger = session"]),
        ("rtk", ["revision v1", "preset no handler", "ledger = context", "tools = all"]),
        ("rtk:v1", ["revision v2", "ledger = context", "tools = all"]),
        ("safe", []),
    ],
)  # fmt: skip
def test_one_thing_changed(policy: str, changes: list[str]) -> None:
    found = otherwise(variants([policy])[0])
    assert [change for change, _ in found] == changes


@pytest.mark.parametrize(
    ("policy", "repeat", "first"),
    [
        (
            "ceiling",
            "the call had been made before in the session, whatever it printed",
            "not been made before",
        ),
        ("exact", "a full copy of the bytes was in sight", "no full copy of the bytes was in sight"),
        ("safe", "a full copy of the bytes was in sight", "no full copy of the bytes was in sight"),
        ("docker-agent", "the ledger held the same bytes", "the ledger held nothing of this call"),
        (
            "rtk,tools=all,min_tokens=1",
            "the ledger held the same bytes",
            "the ledger held nothing of these bytes",
        ),
    ],
)
def test_reasons_are_worded_by_what_a_policy_goes_by(
    tmp_path: Path, policy: str, repeat: str, first: str
) -> None:
    history = imported(log_of("r1", "r2").write(tmp_path / "s1.jsonl"))
    for call, words in (("r1", first), ("r2", repeat)):
        story = explain(history.store, find(history.store, call), variants([policy])[:1])
        (account,) = story.accounts
        assert words in decision(account, story.result)


def test_what_a_person_set_goes_along() -> None:
    (one, *_) = variants(["docker-agent:v3,min_bytes=700,categories=filesystem"])
    others = dict(otherwise(one))
    assert others["revision v1"].spec.settings["min_bytes"] == 700
    assert others["revision v2"].spec.settings["categories"] == {"filesystem"}
    assert others["revision v2"].spec.settings["wiring"] == "runtime"


# -- the command ---------------------------------------------------------------------------------------------


@pytest.fixture
def db(tmp_path: Path) -> str:
    log = log_of("r1", "r2", "|", "r3")
    log.read(
        "s",
        FILE,
        "Wasted call — file unchanged since your last Read. Refer to that earlier tool_result instead.",
    )
    log.bash("e\x1b[31m", "git log \x1b[31m", OUTPUT)
    with open_store(tmp_path / "a.duckdb") as store:
        import_paths(store, [log.write(tmp_path / "logs" / "s1.jsonl")])
    return str(tmp_path / "a.duckdb")


def told(db: str, *arguments: str) -> dict[str, Any]:
    ran = run("explain", "--db", db, *arguments, "--format", "json")
    assert (ran.code, ran.err) == (0, "")
    found: dict[str, Any] = json.loads(ran.out)
    return found


def test_the_command_tells_one_call(db: str) -> None:
    ran = run("explain", "--db", db, "r2")
    assert ran.code == 0
    assert "Read a.py\n" in ran.out
    assert "docker-agent:v3 (host): elided, sound\n" in ran.out
    assert "held line 3 (same call, same bytes; in sight)" in ran.out
    assert f"{marker('Read', 360)} (229 bytes)" in " ".join(ran.out.split())
    assert "/home/u/p" not in ran.out
    assert "/home/u/p/a.py" in run("explain", "--db", db, "r2", "--full-paths").out


def test_a_gone_anchor_is_told_with_its_boundary(db: str) -> None:
    ran = run("explain", "--db", db, "r3", "--policy", "docker-agent:v1", "--set", "wiring=session")
    text = " ".join(ran.out.split())
    assert "elided, dangling" in text
    assert "dangling: no full copy of the bytes is in sight; line 5 is out of sight since the comp" in text
    assert "since the compaction at line 6" in text


def test_the_document_is_versioned(db: str) -> None:
    found = told(db, "r2", "--policy", "docker-agent")
    assert (found["schema_version"], found["elisions"], found["stubs"]) == (2, [], [])
    ((story,),) = (found["explanations"],)
    assert story["accounts"][0]["outcome"]["action"] == Action.ELIDE
    assert story["accounts"][0]["settings"]["categories"] == [
        "filesystem",
        "git",
        "knowledge",
        "lsp",
        "memory",
    ]
    assert story["result"]["target"] == FILE


def test_the_largest_of_a_verdict(db: str) -> None:
    found = told(db, "--verdict", "sound", "--policy", "docker-agent", "--top", "1")
    assert [elision["bytes"] for elision in found["elisions"]] == [360]
    assert [story["result"]["call_id"] for story in found["explanations"]] == ["r2"]
    none = run("explain", "--db", db, "--verdict", "false")
    assert (none.code, none.out.splitlines()[0]) == (0, "No elision is false.")


def test_stubs(db: str) -> None:
    (stub,) = told(db, "--stubs")["stubs"]
    assert (stub["call_id"], stub["verdict"], stub["anchor_line"]) == ("s", "sound", 9)
    assert "Markers in these logs: 1 (1 sound)" in run("explain", "--db", db, "--stubs").out
    assert "the Read at line 9 is in sight" in " ".join(run("explain", "--db", db, "s").out.split())


def test_a_negative_key_is_no_option(db: str) -> None:
    with open_store(db, read_only=True) as store:
        keys = [key for (key,) in store.query("select emission_key from emission")]
    for key in keys:
        assert told(db, str(key))["explanations"][0]["result"]["emission_key"] == key


def test_foreign_text_is_escaped(db: str) -> None:
    for form in ("table", "md"):
        ran = run("explain", "--db", db, "e", "--format", form)
        assert ran.code == 0
        assert "\x1b" not in ran.out
        assert "x1b" in ran.out


def test_wrong_use(db: str) -> None:
    for arguments in ((), ("r1", "--stubs"), ("r1", "--verdict", "sound")):
        ran = run("explain", "--db", db, *arguments)
        assert (ran.code, ran.out) == (2, "")
        assert "give one of CALL_ID, --verdict or --stubs" in ran.err
    unknown = run("explain", "--db", db, "nope")
    assert (unknown.code, unknown.out) == (2, "")
    assert "no tool result has the id 'nope'" in unknown.err
    assert run("explain", "--db", db, "r1", "-o", "a.csv").code == 2
