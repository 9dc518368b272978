"""Recorded decisions: what a policy answers on them, and whether that is what the original answered.

A line of a file of vectors is one of

* a vector `{"engine", "params", "events", "expect"}`: an engine that starts empty, and what it is shown,
* an event: all events of the file are shown to one policy, which is given beside the file,
* a rewrite `{"command", "rewritten", "session_at"}`: a command and what RTK's hook makes of it,
* a call's arguments `{"args_json", "canonical"}`: Go's JSON of them.
"""

from __future__ import annotations

import gzip
import json
import zlib
from contextlib import contextmanager
from io import BytesIO
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from dedupstats.errors import DedupstatsError, NothingFoundError, UsageError
from dedupstats.policies import chosen
from dedupstats.policies.base import Action, Event, delivered
from dedupstats.simulate.events import TOLD, Asked, EventError, Events
from dedupstats.sources.go_json import canonical
from dedupstats.sources.rtk_hook import rewrite, session_offset
from dedupstats.sources.rtk_rules import Release

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dedupstats.policies.base import Decision
    from dedupstats.policies.spec import Spec

_RELEASES: Final = tuple(release.version for release in Release)
_Kind = TypeVar("_Kind", str, list[Any], dict[str, Any])

Answer = dict[str, Any]
"""one decision, with the keys of an entry of `expect`"""


class Vector(NamedTuple):
    """What stands on one line, or on all lines of bare events."""

    where: str
    """file and line, and the vector's name if it has one"""
    answers: list[Answer]
    places: list[int]
    """of each answer the number of its event, or of its line where events are bare"""
    expected: list[Answer] | None
    """None: nothing was recorded"""
    is_bare: bool = False
    """the events stood on lines of their own, for a policy given beside them"""


class Difference(NamedTuple):
    """The first answer that is not the recorded one."""

    where: str
    expected: Answer | None
    answer: Answer | None
    """None: there is no such answer"""


class Checked(NamedTuple):
    """How far a comparison came."""

    vectors: int
    decisions: int
    difference: Difference | None


def read(data: bytes, name: str, spec: Spec | None) -> Iterator[Vector]:
    """Decide on everything in a file.

    Args:
        data: What the file holds, compressed by gzip or not.
        name: What messages call it.
        spec: The policy for bare events; lines with an engine name their own.

    Raises:
        UsageError: There are bare events, and no policy was given.
        DedupstatsError: A line that cannot be read or is of no known form, with file and line.
        NothingFoundError: The file holds nothing.
    """
    bare: Events | None = None
    is_empty = True
    for number, line in _lines(data, name):
        where = f"{name} line {number}"
        with _placed(where):
            given = _parsed(line)
            if is_empty and "event" in given:
                bare = Events()
            is_empty = False
            if ("event" in given) != (bare is not None):
                raise EventError("vectors and bare events want files of their own")
            if bare is not None:
                bare.add(given, number)
                continue
            vector = _decided(given, where)
        yield vector
    if bare is not None:
        if spec is None:
            raise UsageError(f"{name} holds bare events: which policy is to decide?", "add --policy NAME")
        with _placed(name):
            answers, places = _answers(bare.steps(), spec, "line")
        yield Vector(name, answers, places, None, is_bare=True)
    elif is_empty:
        raise NothingFoundError(f"{name} holds neither vectors nor events")


def check(vectors: Iterable[Vector]) -> Checked:
    """Compare answers with what was recorded, up to the first difference.

    Raises:
        UsageError: Nothing was recorded.
    """
    count = decisions = 0
    for vector in vectors:
        if vector.expected is None:
            raise UsageError(f"{vector.where} records no decisions to compare with", "leave out --check")
        for index, (answer, expected) in enumerate(zip_longest(vector.answers, vector.expected)):
            if answer != expected:
                place = f"event {vector.places[index]}" if answer else f"entry {index + 1} of expect"
                return Checked(count, decisions, Difference(f"{vector.where}, {place}", expected, answer))
            decisions += 1
        count += 1
    return Checked(count, decisions, None)


# -- lines ---------------------------------------------------------------------------------------------------

_GZIP: Final = b"\x1f\x8b"
#: Bytes of a file, unpacked, that are read: all of it is held.
LONGEST: Final = 256 * 1024 * 1024
#: Longer integers are read as floats, which Go's float64 makes of them in any case.
_LONG: Final = 1_000


def _lines(data: bytes, name: str) -> Iterator[tuple[int, bytes]]:
    """The lines that hold something, numbered from 1."""
    if data.startswith(_GZIP):
        try:
            with gzip.open(BytesIO(data)) as packed:
                data = packed.read(LONGEST + 1)
        except (OSError, EOFError, zlib.error) as error:
            raise DedupstatsError(f"{name} cannot be unpacked: {error}") from None
    if len(data) > LONGEST:
        raise DedupstatsError(f"{name} holds more than {LONGEST >> 20} MiB", "split it into several files")
    for number, line in enumerate(data.split(b"\n"), 1):
        if line.strip():
            yield number, line


@contextmanager
def _placed(where: str) -> Iterator[None]:
    """Put the place in front of what is wrong there."""
    try:
        yield
    except EventError as error:
        raise DedupstatsError(f"{where}: {error}") from None
    except UsageError as error:
        raise DedupstatsError(f"{where}: {error.message}", error.hint) from None


def _integer(text: str) -> int | float:
    # Go tells -0 from 0
    return float(text) if text == "-0" or len(text) > _LONG else int(text)


def _parsed(line: bytes) -> dict[str, Any]:
    try:
        given = json.loads(line, parse_int=_integer)
    except (ValueError, RecursionError) as error:
        raise EventError(f"no JSON: {error}") from None
    if not isinstance(given, dict):
        raise EventError("a line wants a JSON object")
    return given


def _member(given: dict[str, Any], name: str, kind: type[_Kind]) -> _Kind:
    value = given.get(name)
    if not isinstance(value, kind):
        words = {str: "a text", list: "a list", dict: "an object"}
        raise EventError(f"{name} is to be {words[kind]}")
    return value


# -- answers -------------------------------------------------------------------------------------------------


def _decided(given: dict[str, Any], where: str) -> Vector:
    if "engine" in given:
        events = Events()
        for place, event in enumerate(_member(given, "events", list), 1):
            try:
                events.add(event, place)
            except EventError as error:
                raise EventError(f"event {place}: {error}") from None
        spec = chosen(_member(given, "engine", str)).using(
            _member(given, "params", dict) if "params" in given else {}
        )
        answers, places = _answers(events.steps(), spec, "event")
        expected = _member(given, "expect", list) if "expect" in given else None
        title = f"{where} ({given['name']})" if "name" in given else where
        return Vector(title, answers, places, expected)
    if "command" in given:
        answer = _rewritten(given)
        is_recorded = "rewritten" in given and "session_at" in given
    elif "args_json" in given:
        answer = {"canonical": canonical(_member(given, "args_json", str))}
        is_recorded = "canonical" in given
    else:
        raise EventError("neither a vector (engine, params, events) nor an event nor a command")
    return Vector(where, [answer], [1], [{key: given[key] for key in answer}] if is_recorded else None)


def _answers(steps: list[Asked | Event], spec: Spec, unit: str) -> tuple[list[Answer], list[int]]:
    """What a new policy object decides, and the place of each decision's event; `unit` is of places."""
    policy = spec.policy()
    answers, places = [], []
    for step in steps:
        if isinstance(step, Event):
            for kind in delivered(policy.wiring, step.kind):
                policy.notify(step._replace(kind=kind))
            continue
        if untold := policy.needs - TOLD[step.form]:
            missing = ", ".join(sorted(untold))
            raise EventError(f"{unit} {step.place} does not tell what {spec.label} needs: {missing}")
        decision = policy.decide(step.emission)
        if not step.is_fill:
            answers.append(_answer(decision, step))
            places.append(step.place)
    return answers, places


def _answer(decision: Decision, asked: Asked) -> Answer:
    shown_bytes = asked.full_bytes if decision.action is Action.SHOW else decision.shown_bytes
    answer: Answer = {
        "elided": decision.action is Action.ELIDE,
        "marker": decision.marker,
        "shown_bytes": shown_bytes,
        "reason": decision.reason,
    }
    if asked.form == "rtk":
        answer["shown_tokens"] = None if shown_bytes is None else (shown_bytes + 3) // 4
    if decision.action is Action.SHORTEN:
        answer["limited"] = True
        if decision.reason == "repeat":
            # the engine had built a marker, which is thrown away
            answer["engine_elided"] = True
    return answer


def _rewritten(given: dict[str, Any]) -> Answer:
    """What RTK's hook makes of a command, by release, and where it splices the session into that."""
    command = _member(given, "command", str)
    recorded = _member(given, "rewritten", dict) if "rewritten" in given else dict.fromkeys(_RELEASES)
    rewritten: dict[str, str | None] = {}
    for release, text in recorded.items():
        if release not in _RELEASES:
            raise EventError(f"release {release!r} is not known, only {', '.join(_RELEASES)}")
        made = rewrite(command, release)
        # 0.42.4 alone prints `|&` as two marks, which is its fault and not reproduced
        if release == "0.42.4" and "|&" in command and isinstance(text, str):
            made = text if text.replace("| &", "|&") == made else made
        rewritten[release] = made
    offsets = {release: None if text is None else session_offset(text) for release, text in rewritten.items()}
    return {"rewritten": rewritten, "session_at": offsets}
