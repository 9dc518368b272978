"""Events as recorded decisions hold them, made into what policies are shown.

Two forms of `result` are known: docker-agent's (tool, arguments, payload) and RTK's (identity, raw and shown
text); `tests/conformance` has many of both. Beside them `session_start`, `session_end`, `compaction`, `turn`
and, to fill ledgers without a page of lines, `fill`.
"""

from __future__ import annotations

import base64
import binascii
import json
from bisect import bisect_right
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, NamedTuple, TypeVar

import msgspec
from msgspec.structs import replace

from dedupstats.policies.base import NEVER, Emission, Event, EventKind
from dedupstats.sources.calls import keys
from dedupstats.sources.go_json import text_of, without_surrogates
from dedupstats.sources.measure import measure

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dedupstats.sources.measure import Measured

_FIRST_MOMENT: Final = datetime(2026, 1, 1, tzinfo=UTC)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)

#: Larger payloads are refused: nobody means them, and they would fill the memory.
_MAX_PAYLOAD: Final = 1 << 26
#: More results are refused, those that fills stand for among them: all of them are held.
_MAX_RESULTS: Final = 1_000_000

Form = Literal["docker_agent", "rtk"]

#: An emission of which nothing is known.
_UNTOLD: Final = Emission(
    seq=0,
    session="",
    context="",
    ordinal=0,
    left_at=NEVER,
    at=0,
    tool="",
    category="",
    read_only=False,
    is_error=False,
    did_not_run=False,
    call_key=0,
    sha64=0,
    bytes=0,
    lines=0,
    repeatable=False,
    raw_sha64=0,
    identity="",
)
_CALL_ALONE: Final = {"tool", "category", "read_only", "did_not_run", "call_key"}
_OUTPUT_ALONE: Final = {"raw_sha64", "identity", "at"}
#: The fields of an emission that each form of result tells.
TOLD: Final[dict[Form, frozenset[str]]] = {
    "docker_agent": frozenset(Emission.__struct_fields__) - _OUTPUT_ALONE,
    "rtk": frozenset(Emission.__struct_fields__) - _CALL_ALONE,
}


class _Repeat(msgspec.Struct):
    repeat: str
    times: Annotated[int, msgspec.Meta(ge=0)]
    prefix: str = ""
    suffix: str = ""

    @property
    def length(self) -> int:
        return len(self.prefix) + len(self.repeat) * self.times + len(self.suffix)

    @property
    def text(self) -> str:
        # nothing, however often, is nothing; Python multiplies it by small numbers alone
        return self.prefix + self.repeat * (self.times if self.repeat else 0) + self.suffix


_Payload = str | _Repeat | list[str | _Repeat]


class _Call(msgspec.Struct):
    """A result in docker-agent's form."""

    tool: str
    read_only: bool
    session: str | None
    category: str = ""
    error: bool = False
    args: Any = None
    args_raw: str | None = None
    payload: _Payload | None = None
    payload_b64: str | None = None


class _Fill(_Call, kw_only=True):
    """Many results that differ in arguments or session alone."""

    session: str | None = None
    count: int
    over: Literal["args", "session"]


class _Output(msgspec.Struct):
    """A result in RTK's form."""

    identity: str
    raw: _Payload
    session: str | None
    shown: _Payload | None = None
    ok: bool = True
    at: str | None = None


class _Happening(msgspec.Struct):
    """What happens to a session between its results."""

    session: str | None
    at: str | None = None


_Struct = TypeVar("_Struct", bound=msgspec.Struct)
_KINDS: Final = frozenset(EventKind)


class EventError(ValueError):
    """What is wrong with an event, as the end of a sentence that begins with its place."""


class Asked(NamedTuple):
    """A result that a policy is asked about."""

    emission: Emission
    form: Form
    place: int
    """number of the event, as it was given"""
    is_fill: bool
    """its answer is nobody's interest"""
    full_bytes: int
    """of the result as it is; an engine may have measured another form of it"""


class Events:
    """Turns events into what a policy is asked and told; a session is one context.

    Keeps what events leave unsaid: the order, the time, and what a compaction removes from sight.
    """

    def __init__(self) -> None:
        self._steps: list[Asked | Event] = []
        self._seq = 0
        self._now = (_FIRST_MOMENT - _EPOCH) // _MICROSECOND
        self._ordinals: defaultdict[str, int] = defaultdict(int)
        self._compactions: defaultdict[str, list[int]] = defaultdict(list)
        """by session, the ordinals that followed"""

    def add(self, event: Any, place: int) -> None:
        """Take the next event.

        Args:
            event: The event, as parsed from JSON.
            place: Its number, for messages.

        Raises:
            EventError: It is of no known form.
        """
        kind = event.get("event") if isinstance(event, dict) else None
        if kind == "result":
            if "raw" in event:
                self._add_output(_converted(event, _Output), place)
            else:
                self._add_calls([_converted(event, _Call)], place, is_fill=False)
        elif kind == "fill":
            fill = _converted(event, _Fill)
            if fill.count > _MAX_RESULTS - len(self._steps):
                raise EventError(
                    f"a fill of {fill.count:,} is too many: at most {_MAX_RESULTS:,} results are read"
                )
            self._add_calls(_filled(fill), place, is_fill=True)
        elif isinstance(kind, str) and kind in _KINDS:
            self._add_happening(EventKind(kind), _converted(event, _Happening))
        else:
            known = ", ".join(("result", "fill", *EventKind))
            raise EventError(f"no event is called {str(kind)[:40]!r}; known are {known}")

    def steps(self) -> list[Asked | Event]:
        """Everything so far, in order."""
        return [self._with_sight(step) if isinstance(step, Asked) else step for step in self._steps]

    def _with_sight(self, asked: Asked) -> Asked:
        emission = asked.emission
        compactions = self._compactions.get(emission.session, [])
        following = bisect_right(compactions, emission.ordinal)
        if following == len(compactions):
            return asked
        return asked._replace(emission=replace(emission, left_at=compactions[following]))

    def _add_happening(self, kind: EventKind, happening: _Happening) -> None:
        self._pass_time(happening.at)
        session = without_surrogates(happening.session or "")
        if kind is EventKind.COMPACTION:
            self._compactions[session].append(self._ordinals[session])
        self._steps.append(Event(kind, session, session))

    def _add_calls(self, calls: Iterable[_Call], place: int, *, is_fill: bool) -> None:
        text, full_bytes = "", -1
        for call in calls:
            if full_bytes < 0:
                # the calls of a fill share their payload
                text, full_bytes = _received(call)
                measured = measure(text)
            tool = without_surrogates(call.tool)
            arguments = json.dumps(call.args) if call.args_raw is None else call.args_raw
            emission = self._emission(
                call.session,
                measured,
                text,
                tool=tool,
                category=without_surrogates(call.category),
                read_only=call.read_only,
                is_error=call.error,
                did_not_run=call.error,
                call_key=keys(tool, arguments, None).call_key,
            )
            self._steps.append(Asked(emission, "docker_agent", place, is_fill, full_bytes))

    def _add_output(self, output: _Output, place: int) -> None:
        self._pass_time(output.at)
        raw = _text(output.raw)
        shown = raw if output.shown is None else _text(output.shown)
        measured = measure(shown)
        emission = self._emission(
            output.session,
            measured,
            shown,
            is_error=not output.ok,
            raw_sha64=measured.sha64 if shown is raw else measure(raw).sha64,
            identity=without_surrogates(output.identity),
        )
        self._steps.append(Asked(emission, "rtk", place, is_fill=False, full_bytes=measured.bytes))

    def _emission(self, session: str | None, measured: Measured, text: str, **told: Any) -> Emission:
        name = without_surrogates(session or "")
        ordinal = self._ordinals[name]
        self._ordinals[name] += 1
        self._seq += 1
        return replace(
            _UNTOLD,
            seq=self._seq,
            session=name,
            context=name,
            ordinal=ordinal,
            at=self._now,
            sha64=measured.sha64,
            bytes=measured.bytes,
            lines=measured.lines,
            repeatable=bool(text.strip()),
            **told,
        )

    def _pass_time(self, at: str | None) -> None:
        if at is None:
            return
        try:
            moment = (datetime.fromisoformat(at) - _EPOCH) // _MICROSECOND
        except (ValueError, TypeError):
            raise EventError(
                f"at is no time with a zone, such as 2026-01-01T00:00:00Z: {at[:40]!r}"
            ) from None
        if moment < self._now:
            raise EventError(f"times never go back, as {at!r} does")
        self._now = moment


def _converted(event: dict[str, Any], form: type[_Struct]) -> _Struct:
    try:
        return msgspec.convert(event, form)
    except UnicodeEncodeError:
        raise EventError("a text has half of a pair of surrogates where a known word is wanted") from None
    except msgspec.ValidationError as error:
        raise EventError(str(error)) from None


def _filled(fill: _Fill) -> Iterator[_Call]:
    """The results that a fill stands for."""
    for number in range(fill.count):
        if fill.over == "args":
            fill.args_raw = f'{{"k":{number}}}'
        else:
            fill.session = f"s{number}"
        yield fill


def _received(call: _Call) -> tuple[str, int]:
    """The payload as it reaches the engine, and the bytes that it has outside (docker-agent.md 1.1)."""
    if call.payload_b64 is not None:
        try:
            data = base64.b64decode(call.payload_b64, validate=True)
        except (binascii.Error, ValueError):
            raise EventError("payload_b64 is no base64") from None
        return without_surrogates(text_of(data)), len(data)
    if call.payload is None:
        raise EventError("a result wants payload or payload_b64")
    text = _text(call.payload)
    return text, len(text.encode())


def _text(payload: _Payload) -> str:
    parts = payload if isinstance(payload, list) else [payload]
    length = sum(len(part) if isinstance(part, str) else part.length for part in parts)
    if length > _MAX_PAYLOAD:
        raise EventError(f"a payload of {length} characters is too long; at most {_MAX_PAYLOAD} are read")
    return without_surrogates("".join(part if isinstance(part, str) else part.text for part in parts))
