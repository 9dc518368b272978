"""What a replay found of one decision, in sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dedupstats.economics.tokens import BANDS, Level
from dedupstats.model import Class
from dedupstats.policies.base import Action
from dedupstats.report import money
from dedupstats.report.blocks import plural
from dedupstats.report.text import count, short_path
from dedupstats.simulate.score import Beside
from dedupstats.simulate.stubs import StubVerdict
from dedupstats.simulate.verdicts import Place, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dedupstats.simulate.explain import Account, Earlier, Explanation, Weight
    from dedupstats.simulate.find import Result
    from dedupstats.simulate.stubs import Stub

PLACES = {
    Place.IN_SIGHT: "in sight",
    Place.GONE: "out of sight",
    Place.PARENT: "the parent's",
    Place.SIBLING: "a sibling agent's",
    Place.CHILD: "a subagent's",
    Place.OTHER: "another session's",
}
"""in tables; whose context it is, if it is another one"""
_REASONS = {
    "not_read_only": "the call is not known to only read ({read_only})",
    "category": "its toolset ({category}) is not one of {categories}",
    "error": "the call failed",
    "no_session": "no session is known",
    "too_large": "it is as large as what the limiter rewrites",
    "cap": "the ledger was full ({max_keys} calls)",
    "first": "the ledger held nothing of {what}",
    "changed": "the ledger held other bytes of this call",
    "disabled": "it is switched off",
    "stale": "the same bytes were recorded more than {recency_window} outputs ago",
    "repeat": "the ledger held the same {alike}",
    "kept": "it elides nothing",
    "no_text": "it is no text",
}
_IN_SIGHT = {
    "repeat": "a full copy of the bytes was in sight",
    "first": "no full copy of the bytes was in sight",
}
_OF_BOUNDS = {
    "exact": _IN_SIGHT,
    "safe": _IN_SIGHT,
    "ceiling": {
        "repeat": "the call had been made before in the session, whatever it printed",
        "first": "the call had not been made before in the session",
    },
}
"""reasons of policies that keep no ledger of bytes: what they go by instead"""
_BESIDE = {
    Beside.OTHER_CALL: "the anchor is the result of another call",
    Beside.TWICE_REMOVED: "the anchor is itself a marker",
    Beside.CHANGED_BETWEEN: "the same call gave other bytes, or failed, since the anchor",
    Beside.LATER_DANGLING: "this result stays in sight when the last full copy has left",
}
_EVENTS = {
    "compaction": "the compaction",
    "turn": "the new turn",
    "session_start": "the start of the session",
    "session_end": "the end of the session",
}
_BOUNDARIES = {"micro_compaction": "micro-compaction"}


def spot(result: Result, seen_from: Result) -> str:
    """Where a result stands: its line, and the file if it is another one."""
    if result.path == seen_from.path:
        return f"line {count(result.line)}"
    return f"line {count(result.line)} of {short_path(result.path)}"


def whereabouts(earlier: Earlier) -> str:
    """Where an earlier result stood, and if it had left, when and why."""
    words = PLACES[earlier.place]
    if earlier.place not in {Place.IN_SIGHT, Place.GONE}:
        return f"in {words} context"
    if earlier.place is Place.GONE and earlier.result.left_line is not None:
        words += f" since the {_boundary(earlier.result)}"
    return words


def _boundary(result: Result) -> str:
    kind = result.left_kind or "boundary"
    return f"{_BOUNDARIES.get(kind, kind)} at line {count(result.left_line or 0)}"


def alike(earlier: Earlier) -> str:
    """What an earlier result has in common with the one that is explained, and what is special about it."""
    call = "same call" if earlier.same_call else "other call"
    common = [call, "same bytes" if earlier.same_bytes else "other bytes"]
    common += ["failed"] if earlier.result.is_error else []
    common += [earlier.result.result_class] if earlier.result.result_class != Class.TEXT else []
    common += ["copy"] if earlier.result.is_copy else []
    return ", ".join(common)


def verdict(account: Account) -> str:
    """The decision and its verdict in a few words, for a heading."""
    outcome = account.outcome
    if outcome.action is None:
        return "not asked"
    if outcome.action is Action.SHOW:
        return "shown in full"
    if outcome.action is Action.SHORTEN:
        return "shortened by the limiter"
    return f"elided, {outcome.verdict}"


def decision(account: Account, result: Result) -> str:
    """Why the policy decided as it did."""
    outcome = account.outcome
    if outcome.action is None:
        return _unasked(account, result)
    reason = outcome.reason or ""
    bound = _OF_BOUNDS.get(outcome.policy.partition(",")[0], {})
    if reason in bound:
        return f"{reason}: {bound[reason]}."
    if reason == "too_small":
        words = _too_small(account)
    else:
        template = _REASONS.get(reason, reason.replace("_", " "))
        values = {name: _value(value) for name, value in account.settings.items()}
        words = template.format_map(
            {
                **values,
                "read_only": result.read_only,
                "category": result.category or "none known",
                "alike": "bytes" if account.ledger is None or account.ledger.entry.same_bytes else "call",
                "what": "this call" if "max_keys" in account.settings else "these bytes",
            }
        )
    if reason == "first" and account.ledger is not None:
        words += " any more"
    return f"{reason}: {words}."


def _unasked(account: Account, result: Result) -> str:
    if not result.has_call:
        return "it answers no call in its file."
    if account.reach != "hook" or result.rtk_mode is None:
        return "it is asked about shell commands alone."
    if result.rtk_mode == "no":
        return "RTK's hook leaves this command alone."
    return "no process of the command as RTK's hook rewrites it is given a session."


def _too_small(account: Account) -> str:
    settings = account.settings
    if "min_tokens" in settings:
        return f"it has fewer than {_value(settings['min_tokens'])} tokens"
    least = settings.get("min_bytes")
    floor = f"it has fewer than {_value(least)} bytes" if least else ""
    if "max_sessions" in settings:
        return " or ".join(part for part in ("it is no longer than its marker", floor) if part)
    return floor


def _value(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(value)
    return count(value) if isinstance(value, int) and not isinstance(value, bool) else str(value)


def ledger(account: Account, result: Result) -> str | None:
    """What the ledger had recorded; None: the policy is not asked."""
    found = account.ledger
    if account.outcome.action is None:
        return None
    if found is None:
        return "had recorded nothing like it."
    entry = found.entry
    words = f"{spot(entry.result, result)} ({alike(entry)}; {whereabouts(entry)})"
    if not found.is_forgotten:
        return f"held {words}."
    if found.cause is None:
        # what no event explains: a reference forgets what leaves sight, an engine what is idle or crowded out
        return f"had recorded {words}, and held it no more (out of sight, idle too long, or crowded out)."
    cause = _EVENTS.get(found.cause, found.cause)
    at = f" at line {count(found.cause_line)}" if found.cause_line else ""
    return f"had recorded {words}, and forgot it at {cause}{at}."


def truth(account: Account, explanation: Explanation) -> str | None:
    """What the elision truly was; of a text that is shown, whether the model could still see its bytes."""
    result, outcome = explanation.result, account.outcome
    if outcome.verdict is None:
        is_text = outcome.action is not None and result.result_class in {Class.TEXT, Class.TRUNCATED}
        return f"{_sight(account, explanation)}." if is_text else None
    words = {
        Verdict.SOUND: lambda: _sight(account, explanation),
        Verdict.DANGLING: lambda: _sight(account, explanation),
        Verdict.FALSE: lambda: _falsehood(account),
        Verdict.HIDDEN: lambda: _hidden(account, result),
    }[outcome.verdict]()
    sentences = [f"{outcome.verdict}: {words}", *(_BESIDE[name] for name in account.beside)]
    return f"{'; '.join(sentences)}."


def _sight(account: Account, explanation: Explanation) -> str:
    if account.full_copy is not None:
        return f"a full copy of the bytes is in sight, {spot(account.full_copy, explanation.result)}"
    return "; ".join(["no full copy of the bytes is in sight", *_why_none(account, explanation)])


def _why_none(account: Account, explanation: Explanation) -> Iterator[str]:
    """What became of the copies: of each kind the latest."""
    met = set()
    for earlier in reversed(explanation.earlier):
        if not earlier.same_bytes:
            continue
        at = spot(earlier.result, explanation.result)
        is_marker = earlier.place is Place.IN_SIGHT and earlier.result.emission_key in account.not_in_full
        kind = "marker" if is_marker else earlier.place.value
        if kind not in met:
            met.add(kind)
            yield f"{at} is itself a marker" if is_marker else f"{at} is {whereabouts(earlier)}"


def _falsehood(account: Account) -> str:
    if account.ledger is not None and account.ledger.entry.same_bytes:
        return "the marker speaks of the same arguments, and they differ where the engine does not look"
    return "the anchor shows other bytes"


def _hidden(account: Account, result: Result) -> str:
    if result.is_error:
        return "the call failed, and the marker does not say so"
    words = f"the call may have an effect (read-only: {result.read_only}), and the marker does not say so"
    return words + "; sound if it only reads" if account.if_unknown_reads else words


def stub(found: Stub) -> str:
    """What a stub in the logs truly was."""
    is_read = found.engine == "claude_code"
    written = f"the model wrote the file at line {count(found.written_line)}" if found.written_line else ""
    name = "the Read" if is_read else "the same call's result"
    anchor = f"{name} at line {count(found.anchor_line)}" if found.anchor_line else ""
    if found.verdict is StubVerdict.SOUND:
        return f"{anchor} is in sight{', and the model has not written the file since' if is_read else ''}"
    if found.verdict is StubVerdict.FALSE:
        return f"{anchor} is in sight and shows older bytes: {written}"
    if found.verdict is StubVerdict.UNKNOWN:
        return "no earlier result of the call is in the log of its context"
    gone = ""
    if found.gone_line is not None:
        kind = _BOUNDARIES.get(found.gone_kind or "", found.gone_kind)
        gone = f" since the {kind} at line {count(found.gone_line)}"
    if found.verdict is StubVerdict.ATTACHMENT:
        at = count(found.attachment_line or 0)
        words = f"no Read of it is in sight{gone}, but the attachment at line {at} holds it"
        return f"{words}; {written}" if written else words
    if not is_read:
        return f"no result of the call is in sight{gone}"
    words = f"no Read of it is in sight{gone}, nor an attachment"
    return f"{words}; {anchor} had other arguments" if anchor else words


def weight(explanation: Explanation) -> str:
    """What the result weighs, how that is known, how often it was sent and what that cost."""
    whole = explanation.weight
    band = BANDS[Level(explanation.level)]
    error = f", median error {100 * band.median:.0f} %" if 0 < explanation.level < Level.UNKNOWN else ""
    known = f"{count(whole.tokens)} tokens ({band.words}{error})"
    if whole.sent is None:
        return f"{known}; nothing is known of requests"
    times = plural(explanation.requests, "request")
    return f"{known}, sent by {times}: {count(whole.sent)} tokens sent, {_paid(whole)}"


def saved(account: Account, explanation: Explanation) -> str:
    """What the marker would have saved, or what it claims where it is untrue."""
    net = account.saved
    if net is None:
        return "nothing"
    sent = "" if net.sent is None else f", {count(net.sent)} tokens sent, {_paid(net)}"
    word = "" if account.outcome.verdict is Verdict.SOUND else "only claimed, as it is not true: "
    return f"{word}{count(net.tokens)} of {count(explanation.weight.tokens)} tokens{sent}, its marker paid"


def _paid(found: Weight) -> str:
    if not found.unpriced_sent or found.usd is None:
        return f"{money.usd(found.usd)}{'' if found.usd is None else ' at list prices'}"
    return f"{money.usd(found.usd)} at list prices (without {count(found.unpriced_sent)} that have none)"
