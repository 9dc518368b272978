"""The items of one session as records: requests, results, turns, and what leaves the model's sight.

One session or sub-session is one context. What the model is sent follows docker-agent.md section 3.6: the
items from the last summary on, or from the first kept entry that the summary names.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from dedupstats.model import (
    Boundary,
    BoundaryKind,
    Context,
    ContextKind,
    Emission,
    Entered,
    EnteredKind,
    Request,
    Turn,
)
from dedupstats.sources.base import hash64, mix64, not_understood
from dedupstats.sources.calls import Keys, keys
from dedupstats.sources.docker_agent.layout import micros
from dedupstats.sources.docker_agent.messages import (
    NAME,
    arguments_of,
    calls_of,
    class_of,
    compact,
    definitions_of,
    did_not_run,
    digest,
    parsed_arguments,
    price,
    raw_text,
    shown,
    target_of,
    text_of,
    tokens,
    tool_of,
    truth,
)
from dedupstats.sources.measure import class_counts, measure, sha64, to_bytes, to_storable
from dedupstats.sources.shell import reads_only

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dedupstats.model import Record
    from dedupstats.sources.base import Reading
    from dedupstats.sources.docker_agent import Tally
    from dedupstats.sources.docker_agent.layout import Item, Session

_NO_CALL = "(no call in this file)"
KEPT_EASE, KEPT_LEAST = 8, 10_000
"""Results are kept by so many summaries on average, and so many in any case; then none keeps anything."""


class _Call(NamedTuple):
    """A tool call of an assistant message."""

    place: int
    """of the message among the session's items"""
    request_key: int
    model_key: int | None
    tool_key: int
    keys: Keys | None
    target: str | None
    shell_reads: bool | None


class _Sent(NamedTuple):
    """A tool result with its place among the session's items."""

    place: int
    call_place: int
    emission: Emission

    def stays(self, start: int) -> bool:
        """Whether it is sent if items are sent from `start` on; a result whose call is gone is dropped."""
        return self.place >= start and self.call_place >= start


def context_key(path: str, session: str) -> int:
    """Key of the context of a session in one file: copies in other files are contexts of their own."""
    return hash64(NAME, path, session)


class Thread:
    """Reads one session."""

    def __init__(self, session: Session, reading: Reading, tally: Tally) -> None:
        self._session = session
        self._reading = reading
        self._names = reading.names
        self._tally = tally
        self._key = context_key(tally.path, session.id)
        self._ledger_key = self._names.optional(session.id)
        self._records: list[Record] = []
        self._calls: dict[str, _Call] = {}
        self._sent: list[_Sent] = []
        self._in_sight: list[_Sent] = []
        self._request_keys: Counter[int] = Counter()
        self._index = -1
        self._kept = 0
        self._ordinal = 0
        self._turn = 0
        self._is_running = False
        self._clock: int | None = None
        self._started_at: int | None = None
        self._agent: str | None = None

    def records(self) -> Iterator[Record]:
        """The session's context, then its rows in stored order."""
        for item in self._session.items:
            used = self._tally.used
            try:
                self._take(item)
            except Exception as error:  # noqa: BLE001 - one hostile item must not cost the others
                self._tally.use(used - self._tally.used)
                self._skip(item, not_understood(error))
        self._session.items = ()
        yield self._context()
        yield from self._records

    def _context(self) -> Context:
        session = self._session
        return Context(
            context_key=self._key,
            native_id=session.id,
            kind=ContextKind.AGENT if session.is_sub else ContextKind.MAIN,
            session_id=session.root,
            parent_key=context_key(self._tally.path, session.parent) if session.parent else None,
            agent=self._agent,
            path=self._tally.path,
            cwd=session.cwd,
            started_at=session.created_at if self._started_at is None else self._started_at,
            ended_at=session.created_at if self._clock is None else self._clock,
            is_moved=False,
        )

    def _take(self, item: Item) -> None:
        # a reference to a deleted sub-session is left out when docker-agent loads the list (section 3.6)
        self._index += item.is_found
        if item.problem:
            self._skip(item, item.problem)
        elif item.message is not None:
            self._take_message(item, item.message)
        elif item.type == "summary":
            self._tally.use()
            self._summary(item)
        elif item.type == "subsession" and item.is_found:
            self._tally.use()
        else:
            self._tally.ignore(item.type if item.is_found else "reference to a deleted sub-session")
            self._is_running = self._is_running and item.type not in {"error", "termination"}

    def _skip(self, item: Item, reason: str) -> None:
        self._records.extend(self._tally.skip(item.line, f"session {self._session.id}: {reason}"))

    def _take_message(self, item: Item, message: dict[str, Any]) -> None:
        role = text_of(message.get("role"))
        if item.is_pending:
            self._tally.ignore("pending message")
            return
        if role not in {"assistant", "tool", "user", "system"}:
            self._tally.ignore(f"message of role {role or 'unknown'}")
            return
        self._tally.use()
        at = micros(message.get("created_at"))
        if at is not None:
            self._clock = at if self._clock is None else max(at, self._clock)
            self._started_at = at if self._started_at is None else min(at, self._started_at)
        self._agent = self._agent or item.agent
        if role == "assistant":
            self._request(item, message, at)
            self._is_running = False
        elif role == "tool":
            self._result(item, message, at)
            self._is_running = True
        elif role == "user":
            if not item.is_implicit:
                self._turn += 1
                self._records.append(
                    Turn(self._key, self._turn, item.line, at, self._ordinal, self._is_running)
                )
            kind = "implicit user message" if item.is_implicit else "user message"
            self._enter(item, at, EnteredKind.USER, kind, shown(message).text)
        else:
            self._enter(item, at, EnteredKind.SYSTEM, "system message", shown(message).text)

    def _enter(self, item: Item, at: int | None, kind: EnteredKind, name: str, text: str) -> None:
        data = to_bytes(text)
        self._records.append(
            Entered(
                self._key,
                item.line,
                at,
                self._turn,
                self._ordinal,
                kind,
                self._names.key(name),
                len(data),
                *class_counts(data),
                sha256=None,
                target_sha64=None,
            )
        )

    # --------------------------------------------------------------------------
    # Requests

    def _request(self, item: Item, message: dict[str, Any], at: int | None) -> None:
        calls = calls_of(message)
        arguments = [arguments_of(call) for call in calls]
        thinking = to_bytes(raw_text(message.get("reasoning_content")))
        signed = message.get("thinking_signature") or message.get("thought_signature")
        request = self._add_request(
            item,
            at,
            identity=(self._stamp(message), digest(message)),
            model=text_of(message.get("model")),
            usage=message.get("usage"),
            cost=message.get("cost"),
            text_bytes=len(to_bytes(shown(message).text)),
            stop_key=self._names.optional(text_of(message.get("finish_reason"))),
            thinking_bytes=len(thinking),
            tool_input_bytes=sum(len(to_bytes(text)) for text in arguments),
            calls=len(calls),
            hidden_thinking=int(bool(signed) and not thinking),
        )
        definitions = definitions_of(message)
        for call, text in zip(calls, arguments, strict=True):
            self._calls[text_of(call.get("id"))] = self._call(call, text, definitions, request)

    def _add_request(
        self,
        item: Item,
        at: int | None,
        *,
        identity: tuple[str, ...],
        model: str,
        usage: Any,
        cost: Any,
        text_bytes: int,
        stop_key: int | None = None,
        thinking_bytes: int = 0,
        tool_input_bytes: int = 0,
        calls: int = 0,
        hidden_thinking: int = 0,
    ) -> Request:
        """Add a request; `identity` tells it from every other one, but not from its own copies.

        A branch copies messages without an id that would last, so the key is made of what a copy keeps:
        when it was, and all that the message says (docker-agent.md section 3.5). The classes of input
        exclude each other (section 3.3); what is written to the cache counts as written for five minutes.
        """
        key = hash64(NAME, *identity)
        self._request_keys[key] += 1
        if (occurrence := self._request_keys[key]) > 1:
            key = hash64(NAME, *identity, str(occurrence))
        usage = usage if isinstance(usage, dict) else None
        request = Request(
            request_key=key,
            context_key=self._key,
            native_id=f"{self._session.id}:{item.line}",
            line=item.line,
            at=at,
            clock=self._clock,
            turn=self._turn,
            emissions_before=self._ordinal,
            model_key=self._names.optional(model),
            tier_key=None,
            stop_key=stop_key,
            version_key=None,
            input_tokens=tokens(usage, "input_tokens"),
            cache_read_tokens=tokens(usage, "cached_input_tokens"),
            cache_write_5m_tokens=tokens(usage, "cached_write_tokens"),
            cache_write_1h_tokens=None if usage is None else 0,
            output_tokens=tokens(usage, "output_tokens"),
            output_known=usage is not None,
            text_bytes=text_bytes,
            thinking_bytes=thinking_bytes,
            tool_input_bytes=tool_input_bytes,
            calls=calls,
            hidden_thinking=hidden_thinking,
            cost_usd=price(cost),
            is_fork=self._is_copied(at),
            is_home=self._tally.is_database,
            is_sidechain=False,
            # no lifetime is told (token-economics.md 1.1)
            assumed_write_tokens=tokens(usage, "cached_write_tokens") or 0,
        )
        self._records.append(request)
        return request

    def _call(
        self, call: dict[str, Any], arguments: str, definitions: dict[str, Any], request: Request
    ) -> _Call:
        function = call.get("function")
        name = raw_text(function.get("name")) if isinstance(function, dict) else ""
        tool = tool_of(name, definitions)
        parsed = parsed_arguments(arguments)
        shell_reads = None
        if name == "shell" and tool.category == "shell":
            shell_reads = reads_only(raw_text(parsed.get("cmd")))
        return _Call(
            place=self._index,
            request_key=request.request_key,
            model_key=request.model_key,
            tool_key=self._names.tool(to_storable(name), tool.category, tool.read_only, tool.provenance),
            keys=keys(name, arguments, self._session.cwd),
            target=target_of(parsed),
            shell_reads=shell_reads,
        )

    # --------------------------------------------------------------------------
    # Results

    def _result(self, item: Item, message: dict[str, Any], at: int | None) -> None:
        call_id = text_of(message.get("tool_call_id"))
        call = self._calls.get(call_id) or _Call(
            self._index, 0, None, self._names.tool(_NO_CALL), None, None, None
        )
        result = shown(message)
        suffix = b"\0" + compact(result.others) if result.others else b""
        is_error = truth(message.get("is_error"))
        stamp = self._stamp(message)
        self._add_result(
            call.place,
            Emission(
                emission_key=0,
                context_key=self._key,
                ordinal=0,
                line=item.line,
                at=at,
                clock=self._clock,
                turn=self._turn,
                request_key=call.request_key if call.keys else None,
                call_id=call_id,
                copy_key=hash64(NAME, call_id, stamp, digest(message)),
                is_fork=self._is_copied(at),
                is_home=self._tally.is_database,
                is_return=False,
                ledger_key=self._ledger_key,
                version_key=None,
                model_key=call.model_key,
                tool_key=call.tool_key,
                call_key=call.keys.call_key if call.keys else None,
                args_sha64=call.keys.args_sha64 if call.keys else None,
                norm_key=call.keys.norm_key if call.keys else None,
                target_sha64=None if call.target is None else sha64(to_bytes(call.target)),
                target=to_storable(call.target) if call.target and self._reading.keep_targets else None,
                klass=class_of(result),
                is_error=is_error,
                did_not_run=is_error and did_not_run(result.text),
                **measure(result.text, suffix)._asdict(),
                shell_reads=call.shell_reads,
                rtk_mode=None,
                rtk_identity_bytes=None,
                rtk_ran=False,
                content=to_storable(result.text) if self._reading.keep_content else None,
                o200k_tokens=self._reading.o200k_tokens(call.model_key, result.text),
            ),
        )

    def _add_result(self, call_place: int, emission: Emission, place: int | None = None) -> None:
        """Add an emission at the next ordinal; `place` is its item, by default the present one."""
        placed = emission._replace(emission_key=mix64(self._key, self._ordinal), ordinal=self._ordinal)
        self._ordinal += 1
        self._records.append(placed)
        sent = _Sent(self._index if place is None else place, call_place, placed)
        self._in_sight.append(sent)
        if not placed.is_return:
            self._sent.append(sent)

    # --------------------------------------------------------------------------
    # Compaction

    def _summary(self, item: Item) -> None:
        """A compaction: the request that made the summary, what it keeps, what it brings back.

        A summary has no time of its own; what stands before it in the session tells it from another one
        with the same text, and a branch copies that as well.
        """
        self._add_request(
            item,
            None,
            identity=("summary", str(self._clock), item.summary),
            model=item.model,
            usage=item.usage,
            cost=item.cost,
            text_bytes=len(to_bytes(item.summary)),
        )
        start = item.first_kept if 0 < item.first_kept < self._index else self._index + 1
        if self._kept > KEPT_EASE * len(self._sent) + KEPT_LEAST:
            start = self._index + 1
        kept = [sent for sent in self._in_sight if sent.stays(start)]
        ordinals = tuple(sent.emission.ordinal for sent in kept)
        self._records.append(
            Boundary(
                self._key,
                at_ordinal=self._ordinal,
                line=item.line,
                at=None,
                kind=BoundaryKind.COMPACTION,
                trigger=None,
                tokens_before=None,
                tokens_after=None,
                kept=ordinals,
                removed=(),
            )
        )
        # the prefix is docker-agent's (section 3.6)
        self._enter(item, None, EnteredKind.SUMMARY, "summary", "Session Summary: " + item.summary)
        self._in_sight = kept
        present = {sent.place for sent in kept}
        # a kept tail that reaches behind an earlier compaction brings back what that one had removed
        tail = self._sent[bisect_left(self._sent, start, key=attrgetter("place")) :]
        back = [sent for sent in tail if sent.stays(start) and sent.place not in present]
        self._kept += len(kept) + len(back)
        for sent in back:
            again = sent.emission._replace(line=item.line, turn=self._turn, clock=self._clock, is_return=True)
            self._add_result(sent.call_place, again, sent.place)

    # --------------------------------------------------------------------------
    # Small things

    def _stamp(self, message: dict[str, Any]) -> str:
        """When a message was, as recorded; of one without time (an unfinished one): what came before."""
        return text_of(message.get("created_at")) or str(self._clock)

    def _is_copied(self, at: int | None) -> bool:
        """Whether a row was copied into this branch; a row without time goes with the one before."""
        limit = self._session.copied_before
        moment = self._clock if at is None else at
        return limit is not None and moment is not None and moment < limit
