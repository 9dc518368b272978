"""What events leave unsaid, and what is said about those that cannot be read."""

from __future__ import annotations

import base64
import hashlib
from datetime import UTC, datetime
from typing import Any

import pytest

from dedupstats.policies.base import NEVER, Emission, Event, EventKind
from dedupstats.simulate.events import TOLD, Asked, EventError, Events
from dedupstats.sources.calls import keys

CALL = {"event": "result", "session": "s", "tool": "t", "read_only": True, "args": {}, "payload": "x"}
OUTPUT = {"event": "result", "session": "s", "identity": "i", "raw": "x"}
FILL = {"event": "fill", "tool": "t", "read_only": True, "payload": "x"}


def asked(*events: dict[str, Any]) -> list[Asked]:
    reader = Events()
    for place, event in enumerate(events, 1):
        reader.add(event, place)
    return [step for step in reader.steps() if isinstance(step, Asked)]


def emissions(*events: dict[str, Any]) -> list[Emission]:
    return [step.emission for step in asked(*events)]


def sha64(data: bytes) -> int:
    return int.from_bytes(hashlib.sha256(data).digest()[:8], "big", signed=True)


def test_a_result_of_docker_agent() -> None:
    arguments = '{"n": 1.0, "é": null}'
    event = {**CALL, "category": "git", "error": True, "args_raw": arguments, "payload": "é\nb"}
    (found,) = emissions(event)
    assert (found.session, found.context, found.tool, found.category) == ("s", "s", "t", "git")
    assert (found.read_only, found.is_error, found.did_not_run, found.repeatable) == (True, True, True, True)
    assert (found.bytes, found.lines, found.sha64) == (4, 2, sha64("é\nb".encode()))
    assert found.call_key == keys("t", arguments, None).call_key


def test_a_result_of_rtk() -> None:
    event = {
        **OUTPUT,
        "raw": [{"repeat": "ab", "times": 2}, "c"],
        "shown": "é\n",
        "ok": False,
        "session": None,
    }
    (found,) = emissions(event)
    assert (found.session, found.identity, found.is_error) == ("", "i", True)
    assert (found.raw_sha64, found.sha64, found.bytes, found.lines) == (
        sha64(b"ababc"),
        sha64("é\n".encode()),
        3,
        1,
    )


@pytest.mark.parametrize(
    ("args", "same_as"),
    [
        ({"a": 1}, '{"a":1}'),
        ({}, "null"),
        (None, "null"),
        ([1], "null"),
        ({"a": -0.0}, '{"a":-0}'),
        ({"a": 2**60}, '{"a":1152921504606846976}'),
        ({"a": "\ud800"}, '{"a":"\ufffd"}'),
        ({"a": float("inf")}, "null"),
    ],
)
def test_arguments_as_a_value(args: Any, same_as: str) -> None:
    """A value stands for its JSON."""
    (found,) = emissions({**CALL, "args": args})
    assert found.call_key == keys("t", same_as, None).call_key


def test_payloads_in_parts() -> None:
    whole = {**CALL, "payload": "<ababab>"}
    parts = {**CALL, "payload": {"repeat": "ab", "times": 3, "prefix": "<", "suffix": ">"}}
    assert [found.sha64 for found in emissions(whole, parts)] == [sha64(b"<ababab>")] * 2


def test_bytes_that_are_no_text() -> None:
    """Each invalid byte becomes U+FFFD, of three bytes, for the engine alone (docker-agent.md 1.1)."""
    data = b"a\xe2\x82\xff"
    (found,) = asked({**CALL, "payload": None, "payload_b64": base64.b64encode(data).decode()})
    assert found.full_bytes == 4
    assert (found.emission.bytes, found.emission.sha64) == (10, sha64("a\ufffd\ufffd\ufffd".encode()))


def test_order_within_sessions() -> None:
    found = emissions(CALL, {**CALL, "session": "t"}, {**CALL, "payload": " \n"})
    assert [(one.seq, one.session, one.ordinal) for one in found] == [(1, "s", 0), (2, "t", 0), (3, "s", 1)]
    assert [one.repeatable for one in found] == [True, True, False]


def test_a_compaction_removes_what_came_before_it_in_its_session() -> None:
    compaction = {"event": "compaction", "session": "s"}
    found = emissions(
        compaction, CALL, {**CALL, "session": "t"}, CALL, compaction, compaction, CALL, compaction, CALL
    )
    assert [one.left_at for one in found] == [2, NEVER, 2, 3, NEVER]


def test_time_stands_still_unless_told() -> None:
    at = {"at": "2026-01-01T02:00:00.5+01:00"}
    first, second, third = emissions(OUTPUT, {**OUTPUT, **at}, OUTPUT)
    assert first.at == datetime(2026, 1, 1, tzinfo=UTC).timestamp() * 1_000_000
    assert second.at == third.at == first.at + 3_600_500_000


def test_the_time_of_a_compaction_counts() -> None:
    (found,) = emissions({"event": "compaction", "session": "s", "at": "2026-01-01T00:00:01Z"}, OUTPUT)
    assert found.at % 60_000_000 == 1_000_000


def test_fills() -> None:
    by_args = asked({**FILL, "session": "s", "count": 3, "over": "args"})
    assert [step.emission.call_key for step in by_args] == [
        keys("t", f'{{"k":{number}}}', None).call_key for number in range(3)
    ]
    by_session = asked({**FILL, "count": 3, "over": "session"})
    assert [step.emission.session for step in by_session] == ["s0", "s1", "s2"]
    assert all(step.is_fill and step.place == 1 for step in [*by_args, *by_session])


def test_other_events_keep_their_order() -> None:
    reader = Events()
    for kind in EventKind:
        reader.add({"event": kind.value, "session": "s"}, 1)
    assert reader.steps() == [Event(kind, "s", "s") for kind in EventKind]


def test_the_two_forms_tell_different_things() -> None:
    assert TOLD["docker_agent"] ^ TOLD["rtk"] == {
        *("tool", "category", "read_only", "did_not_run", "call_key"),
        *("raw_sha64", "identity", "at"),
    }


@pytest.mark.parametrize(
    ("event", "message"),
    [
        (5, "no event is called 'None'; known are result, fill, session_start"),
        ({"event": "resume"}, "no event is called 'resume'"),
        ({"event": ["x"]}, "no event is called"),
        ({**CALL, "read_only": 1}, "Expected `bool`, got `int` - at `$.read_only`"),
        ({"event": "result", "session": "s", "tool": "t"}, "missing required field `read_only`"),
        ({**CALL, "payload": None}, "a result wants payload or payload_b64"),
        ({**CALL, "payload_b64": "a"}, "payload_b64 is no base64"),
        ({**CALL, "payload": {"repeat": "x", "times": -1}}, "Expected `int` >= 0"),
        (
            {**CALL, "payload": {"repeat": "x", "times": 10**12}},
            "a payload of 1000000000000 characters is too long",
        ),
        ({**OUTPUT, "at": "soon"}, "at is no time with a zone"),
        ({**OUTPUT, "at": "2026-01-01T00:00:00"}, "at is no time with a zone"),
        ({**OUTPUT, "at": "2025-12-31T00:00:00Z"}, "times never go back"),
        ({**FILL, "count": 2, "over": "tools"}, "Invalid enum value 'tools'"),
        ({"event": "compaction"}, "missing required field `session`"),
    ],
)
def test_what_cannot_be_read(event: Any, message: str) -> None:
    with pytest.raises(EventError) as caught:
        asked(event)
    assert message in str(caught.value)
