"""Explanations of decisions for a terminal and as Markdown, and as a JSON document.

What is explained is the reader's own: paths are shortened to their last part as everywhere, but commands,
which RTK's marker prints anyway, are shown.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from dedupstats.report import explain_words as words
from dedupstats.report.blocks import plural
from dedupstats.report.grid import definitions
from dedupstats.report.scope import title
from dedupstats.report.tables import Column, Table, markdown, terminal
from dedupstats.report.targets import short_targets
from dedupstats.report.text import count, safe_markdown, safe_text, short_path
from dedupstats.simulate.find import shown_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dedupstats.simulate.explain import Account, Earlier, Explanation, Outcome
    from dedupstats.simulate.find import Elision, Result
    from dedupstats.simulate.stubs import Stub

_SHOWN_EARLIER: Final = 6
_TARGET: Final = 60
_WIDTH: Final = 100
"""of prose where there is no terminal to fit"""


@dataclass(frozen=True, slots=True)
class Heading:
    """A line that begins a part."""

    text: str


@dataclass(frozen=True, slots=True)
class Facts:
    """Names with what they mean, behind a heading."""

    rows: tuple[tuple[str, str], ...]


Part = Heading | Facts | Table


def printed(parts: Iterable[Part], *, width: int | None, colour: bool) -> str:
    """The parts for a terminal; without a width tables are not folded, and prose is for 100 columns."""
    blocks = []
    for part in parts:
        if isinstance(part, Heading):
            text = safe_text(part.text)
            blocks.append(f"\x1b[1m{text}\x1b[0m" if colour else text)
        elif isinstance(part, Facts):
            rows = [(safe_text(name), safe_text(meaning)) for name, meaning in part.rows]
            # facts stand right below their heading
            blocks.append(blocks.pop() + definitions("", rows, width or _WIDTH))
        else:
            blocks.append(terminal(part, width=width, colour=colour).rstrip("\n"))
    return "\n\n".join(blocks) + "\n"


def as_markdown(parts: Iterable[Part]) -> str:
    """The parts as Markdown."""
    blocks = []
    for part in parts:
        if isinstance(part, Heading):
            blocks.append(f"### {safe_markdown(part.text)}")
        elif isinstance(part, Facts):
            blocks.append(
                "\n".join(
                    f"- **{safe_markdown(name)}**: {safe_markdown(meaning)}" for name, meaning in part.rows
                )
            )
        else:
            blocks.append(markdown(part).rstrip("\n"))
    return "\n\n".join(blocks) + "\n"


def document(
    *,
    explanations: Sequence[Explanation] = (),
    elisions: Sequence[Elision] = (),
    stubs: Sequence[Stub] = (),
) -> dict[str, Any]:
    """The members of the JSON document, names whole."""
    return {
        "elisions": list(map(asdict, elisions)),
        "explanations": list(map(asdict, explanations)),
        "stubs": list(map(asdict, stubs)),
    }


# -- one decision --------------------------------------------------------------------------------------------


def explained(explanation: Explanation, *, full_paths: bool, brief: bool = False) -> Iterator[Part]:
    """The story of one result; `brief` leaves out its past and what other variants do."""
    result = explanation.result
    yield Heading(_heading(result, full_paths=full_paths))
    yield Facts(tuple(_facts(explanation, full_paths=full_paths, brief=brief)))
    if explanation.earlier and not brief:
        yield from _past(explanation)
    for account in explanation.accounts:
        yield Heading(f"{account.outcome.policy}: {words.verdict(account)}")
        yield Facts(tuple(_account(account, explanation)))
        if account.others:
            yield _others(account.others)


def _heading(result: Result, *, full_paths: bool) -> str:
    target = _target(result.target, full_paths=full_paths)
    return f"{result.tool} {target}" if target else result.tool


def _target(target: str | None, *, full_paths: bool) -> str:
    if target is None or full_paths:
        return target or ""
    short = short_targets([target])[target]
    return short if len(short) <= _TARGET else f"{short[: _TARGET - 1]}…"


def _facts(explanation: Explanation, *, full_paths: bool, brief: bool) -> Iterator[tuple[str, str]]:
    result = explanation.result
    yield "id", f"{result.call_id or 'none'} ({shown_key(result.emission_key)})"
    thread = "main thread" if result.context_kind == "main" else result.context_kind
    agent = f" {result.agent}" if result.agent and result.context_kind != "main" else ""
    session = result.session_id if full_paths else result.session_id[:8]
    yield "session", f"{title(result.source)} {session}, {thread}{agent}"
    path = _path(result.path, full_paths=full_paths)
    when = f", {result.ts:%Y-%m-%d %H:%M:%S} UTC" if result.ts else ", undated"
    yield "place", f"line {count(result.line)} of {path}{when}"
    flags = [f"class {result.result_class}"]
    flags += ["a failure"] if result.is_error else []
    flags += ["did not run"] if result.did_not_run else []
    flags += [f"written again in {plural(result.copies, 'place')}"] if result.copies else []
    size = f"{plural(result.bytes, 'byte')} in {plural(result.lines, 'line')}"
    yield "result", ", ".join([size, *flags])
    if explanation.copies and not brief:
        places = [
            f"line {count(one.line)} of {_path(one.path, full_paths=full_paths)}"
            for one in explanation.copies
        ]
        more = result.copies - len(places)
        places += [f"{count(more)} more"] if more > 0 else []
        yield "copies", ", ".join(places)
    yield "tokens", words.weight(explanation)
    if explanation.stub is not None:
        stub = explanation.stub
        yield "stub", f"{title(stub.engine)}'s own, {stub.verdict}: {words.stub(stub)}."


def _path(path: str, *, full_paths: bool) -> str:
    return path if full_paths else short_path(path)


def _past(explanation: Explanation) -> Iterator[Part]:
    shown = explanation.earlier[-_SHOWN_EARLIER:]
    of = plural(explanation.earlier_results, "earlier result") + " of the same call or the same bytes"
    yield Heading(of if len(shown) == explanation.earlier_results else f"The latest {len(shown)} of {of}")
    yield Facts(tuple((words.spot(one.result, explanation.result), _earlier(one)) for one in shown))


def _earlier(earlier: Earlier) -> str:
    result = earlier.result
    facts = (words.alike(earlier), plural(result.bytes, "byte"), words.whereabouts(earlier))
    return f"{', '.join(facts)} ({result.call_id or shown_key(result.emission_key)})"


def _account(account: Account, explanation: Explanation) -> Iterator[tuple[str, str]]:
    yield "decision", words.decision(account, explanation.result)
    ledger = words.ledger(account, explanation.result)
    if ledger is not None:
        yield "ledger", ledger
    truth = words.truth(account, explanation)
    if truth is not None:
        yield "truth", truth
    if account.saved is not None:
        yield "saved", words.saved(account, explanation)
    if account.marker:
        yield "marker", f"{account.marker.strip()} ({count(account.marker_bytes or 0)} bytes)"


def _others(others: Sequence[Outcome]) -> Table:
    rows = [
        (
            outcome.change,
            "not asked" if outcome.action is None else outcome.action.value,
            outcome.reason or "",
            outcome.verdict or "",
            "" if outcome.place is None else words.PLACES[outcome.place],
        )
        for outcome in others
    ]
    titles = ("with", "decision", "reason", "verdict", "anchor")
    return Table("", tuple(map(Column, titles)), rows)


# -- lists ---------------------------------------------------------------------------------------------------


def elisions(
    found: Sequence[Elision], explanations: Sequence[Explanation], verdict: str, *, full_paths: bool
) -> Part:
    """The largest elisions of a verdict, in the order found."""
    if not found:
        return Heading(f"No elision is {verdict}.")
    known = {one.result.emission_key: one.result for one in explanations}
    rows = []
    for elision in found:
        result = known[elision.emission_key]
        rows.append(
            (
                result.call_id or shown_key(result.emission_key),
                elision.bytes,
                _heading(result, full_paths=full_paths),
                elision.policy,
            )
        )
    columns = (Column("id"), Column("bytes", "int"), Column("call"), Column("policy"))
    return Table(f"The largest elisions that are {verdict}:", columns, rows)


def stubs(found: Sequence[Stub], *, full_paths: bool) -> Part:
    """The markers in the logs with their verdicts."""
    if not found:
        return Heading("No marker of a host or an engine is in these logs.")
    rows = [
        (
            stub.call_id or shown_key(stub.emission_key),
            title(stub.engine),
            stub.verdict,
            _target(stub.target, full_paths=full_paths) or stub.tool,
            f"line {count(stub.line)}: {words.stub(stub)}",
        )
        for stub in found
    ]
    verdicts = {
        name: sum(stub.verdict == name for stub in found) for name in sorted({s.verdict for s in found})
    }
    counted = ", ".join(f"{count(number)} {name}" for name, number in verdicts.items())
    columns = tuple(map(Column, ("id", "engine", "verdict", "call on", "because")))
    return Table(f"Markers in these logs: {count(len(rows))} ({counted})", columns, rows)
