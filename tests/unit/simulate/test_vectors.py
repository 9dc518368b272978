"""Lines of vectors: what is answered, what is compared, what is said about bad ones."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest

from dedupstats.errors import DedupstatsError, NothingFoundError, UsageError
from dedupstats.policies import chosen
from dedupstats.simulate.vectors import Checked, Difference, Vector, check, read

CALL = {
    "event": "result",
    "session": "s",
    "tool": "read_file",
    "category": "filesystem",
    "read_only": True,
    "error": False,
    "args": {"path": "a"},
    "payload": {"repeat": "x", "times": 300},
}
OUTPUT = {"event": "result", "session": "s", "identity": "ls", "raw": {"repeat": "x", "times": 900}}
MARKER = (
    "[docker-agent] The read_file tool ran and returned output byte-for-byte identical to its earlier result "
    "for these same arguments in this session, so the 300-byte payload is not repeated here. "
    "Nothing has changed since you last saw it."
)
FULL = {"elided": False, "marker": None, "shown_bytes": 300, "reason": "first"}
ELIDED = {"elided": True, "marker": MARKER, "shown_bytes": 234, "reason": "repeat"}


def vector(*events: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"engine": "docker-agent:v3", "params": {}, "events": list(events), **more}


def lines(*given: Any) -> bytes:
    return b"".join(json.dumps(line).encode() + b"\n" for line in given)


def vectors(*given: Any, policy: str | None = None) -> list[Vector]:
    return list(read(lines(*given), "f", chosen(policy) if policy else None))


def test_a_vector_names_its_engine_and_starts_empty() -> None:
    one, two = vectors(vector(CALL, CALL), vector(CALL, engine="docker-agent/v1", params={"min_bytes": 301}))
    assert one.answers == [FULL, ELIDED]
    assert two.answers == [{**FULL, "reason": "too_small"}]


def test_bare_events_go_to_one_policy() -> None:
    fill = {**CALL, "event": "fill", "count": 2, "over": "args"}
    (found,) = vectors(CALL, fill, {"event": "turn", "session": "s"}, CALL, policy="docker-agent")
    assert found.answers == [FULL, ELIDED]
    assert found.places == [1, 4]


def test_wiring() -> None:
    steps = [CALL, {"event": "turn", "session": "s"}, CALL]
    for wiring, last in (("transform", ELIDED), ("session", ELIDED), ("runtime", FULL)):
        (found,) = vectors(vector(*steps, params={"wiring": wiring}))
        assert found.answers == [FULL, last]


def test_bounds_take_both_forms_where_they_tell_enough() -> None:
    compaction = {"event": "compaction", "session": "s"}
    (found,) = vectors(CALL, {**CALL, "tool": "x"}, compaction, CALL, policy="exact")
    assert [answer["reason"] for answer in found.answers] == ["first", "repeat", "first"]
    assert found.answers[1] == {"elided": True, "marker": "", "shown_bytes": 0, "reason": "repeat"}
    (found,) = vectors(OUTPUT, OUTPUT, policy="exact")
    assert found.answers[1] == {
        "elided": True,
        "marker": "",
        "shown_bytes": 0,
        "reason": "repeat",
        "shown_tokens": 0,
    }
    with pytest.raises(DedupstatsError, match="f: line 1 does not tell what ceiling needs: call_key"):
        vectors(OUTPUT, policy="ceiling")


def test_a_limited_result_has_no_known_size() -> None:
    params = {"limiter": "front", "max_result_bytes": 299}
    first, second = vectors(vector(CALL, CALL, engine="docker-agent:v1", params=params))[0].answers
    assert first == {"elided": False, "marker": None, "shown_bytes": None, "reason": "first", "limited": True}
    assert second == {**first, "reason": "repeat", "engine_elided": True}


def test_rewrites() -> None:
    made = vectors({"command": "git status"}, {"command": "a |& b"})
    releases = ["0.42.4", "0.44.2", "1.1.0"]
    assert made[0].answers == [
        {"rewritten": dict.fromkeys(releases, "rtk git status"), "session_at": dict.fromkeys(releases, 3)}
    ]
    assert made[1].answers == [{"rewritten": dict.fromkeys(releases), "session_at": dict.fromkeys(releases)}]


def test_recorded_decisions_are_compared_whole() -> None:
    good = vector(CALL, CALL, expect=[FULL, ELIDED])
    assert check(vectors(good, {"args_json": "{}", "canonical": "null"})) == Checked(2, 3, None)
    wrong = {**ELIDED, "shown_bytes": 235}
    assert check(vectors(good, vector(CALL, CALL, expect=[FULL, wrong], name="D"))) == Checked(
        1, 3, Difference("f line 2 (D), event 2", wrong, ELIDED)
    )


@pytest.mark.parametrize(
    ("expect", "difference"),
    [
        ([], Difference("f line 1, event 1", None, FULL)),
        ([FULL, ELIDED], Difference("f line 1, entry 2 of expect", ELIDED, None)),
    ],
)
def test_a_missing_entry_is_a_difference(expect: list[dict[str, Any]], difference: Difference) -> None:
    assert check(vectors(vector(CALL, expect=expect))).difference == difference


@pytest.mark.parametrize("given", [CALL, vector(CALL), {"command": "ls"}, {"args_json": ""}])
def test_without_recorded_decisions_there_is_nothing_to_compare(given: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="records no decisions"):
        check(vectors(given, policy="docker-agent"))


def test_compressed_and_blank_lines() -> None:
    data = b"\n" + lines(vector(CALL)) + b"  \r\n\n"
    assert list(read(gzip.compress(data), "f", None)) == list(read(data, "f", None))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"{", "f line 1: no JSON: Expecting property name"),
        (lines(vector(CALL)) + b"\xff", "f line 2: no JSON: "),
        (b"[" * 100_000, "f line 1: no JSON: "),
        (b"[]", "f line 1: a line wants a JSON object"),
        (b"{}", "f line 1: neither a vector"),
        (lines({"engine": "rtk"}), "f line 1: events is to be a list"),
        (lines({"engine": 1, "events": []}), "f line 1: engine is to be a text"),
        (lines(vector(CALL, engine="rkt")), "f line 1: no policy is called 'rkt'"),
        (lines(vector(CALL, params={"x": 1})), "f line 1: docker-agent:v3 has no parameter 'x'"),
        (lines(vector(CALL, params=[1])), "f line 1: params is to be an object"),
        (lines(vector(CALL, params={"max_keys": -1})), "f line 1: max_keys cannot be '-1'"),
        (lines(vector(CALL, expect={})), "f line 1: expect is to be a list"),
        (lines(vector(CALL, {"event": "x"})), "f line 1: event 2: no event is called 'x'"),
        (lines(vector(OUTPUT)), "f line 1: event 1 does not tell what docker-agent:v3 needs: call_key, "),
        (lines({"command": 1}), "f line 1: command is to be a text"),
        (
            lines({"command": "ls", "rewritten": {"9": None}}),
            "f line 1: release '9' is not known, only 0.42.4",
        ),
        (lines({"args_json": None}), "f line 1: args_json is to be a text"),
        # mtime=0: the header would carry the time of day into the name of the case
        (gzip.compress(b"{}", mtime=0)[:-1], "f cannot be unpacked: "),
        (lines(vector(CALL), CALL), "f line 2: vectors and bare events want files of their own"),
        (lines(CALL, vector(CALL)), "f line 2: vectors and bare events want files of their own"),
    ],
)
def test_bad_lines_are_named(data: bytes, message: str) -> None:
    with pytest.raises(DedupstatsError) as caught:
        list(read(data, "f", None))
    assert caught.value.message.startswith(message)
    assert caught.value.exit_code == 3


def test_a_file_that_holds_nothing() -> None:
    with pytest.raises(NothingFoundError, match="f holds neither vectors nor events"):
        vectors()


def test_bare_events_want_a_policy() -> None:
    with pytest.raises(UsageError, match="which policy is to decide"):
        vectors(CALL)
