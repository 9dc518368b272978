"""What the report says about replays: the engines, from upper bound to net, and whether markers were true."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from dedupstats.report import money
from dedupstats.report import policy_words as words
from dedupstats.report.blocks import Section, Table, columns, of, of_pct, pct, plural
from dedupstats.report.text import count, percent, size
from dedupstats.simulate.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dedupstats.report.model import Report, Rtk
    from dedupstats.report.model_replay import Against, PolicyReplay, Replay, ReplayExample

NOT_A_FORECAST = (
    "Replayed, not a forecast: what each engine would have decided on this history, had the model gone on as "
    "it did."
)
_EXAMPLES_SHOWN = 2
HEADS = ("elided", "true", "untrue", "tokens saved", "of input cost")
_NOT_REPLAYED = ("commands", "tokens")


def title(replay: Replay) -> str:
    """The heading of the block."""
    number = {1: "One proposed engine", 2: "Two proposed engines"}.get(len(replay.headlines))
    return f"{number or 'Proposed engines'}, replayed"


def headlines(report: Report) -> Table:
    """The newest engines as their hosts run them; without outputs, upper bounds and why they stand there."""
    replay = report.replay
    if replay is None or replay.refused:
        rows = refused_rows(report.rtk) if replay and report.rtk else []
        return Table(refused(report), columns("", *_NOT_REPLAYED), tuple(rows))
    rows = [(policy.words, *outcome(policy, replay)) for policy in replay.headlines]
    return Table(saved_of(replay), columns("", *heads(replay)), tuple(rows))


def saved_of(replay: Replay) -> str:
    """What the percentages are of."""
    rule = _rule(replay)
    saved = "Saved: true elisions less their markers, "
    return (
        f"{saved}tokens of {count(replay.results.tokens)} in all{rule}; and what carrying those would have "
        "cost, of the input cost of all requests."
        if is_costed(replay)
        else f"{saved}of {count(replay.results.tokens)} tokens in all{rule}."
    )


def _rule(replay: Replay) -> str:
    """How tokens are counted, where not as they are known best."""
    return "" if replay.tokens == "ladder" else " (bytes / 4, rounded up)"


def is_costed(replay: Replay) -> bool:
    """Whether any request has a price, so that there are dollars to speak of."""
    return any(policy.against[-1].whole for policy in replay.policies)


def heads(replay: Replay) -> tuple[str, ...]:
    """Headings of `outcome`."""
    return HEADS if is_costed(replay) else HEADS[:-1]


def refused(report: Report) -> str:
    """Why nothing was replayed; nothing, if it was."""
    replay = report.replay
    return f"{replay.refused} Upper bounds instead:" if replay and replay.refused else ""


def refused_rows(rtk: Rtk) -> list[tuple[str, ...]]:
    """What stands in the place of a replay where outputs are unknown."""
    measure = rtk.bounds[0]
    rows: list[tuple[str, ...]] = [
        (f"RTK dedup: {measure.words} *", of(measure.commands), pct(measure.tokens))
    ]
    rows += [
        (f"  and {point.min_tokens} tokens or more *", count(point.commands.part), pct(point.tokens))
        for point in rtk.thresholds
        if point.min_tokens == rtk.min_tokens
    ]
    return rows


def first_lines(replay: Replay) -> Table:
    """The same for the first screen, where little fits: shares, and dollars if there are any."""
    with_usd = is_costed(replay)
    rows = [
        (
            policy.words,
            _of(policy.untrue.results, policy.elided.results),
            *((pct(policy.saved), outcome(policy, replay)[-1]) if with_usd else outcome(policy, replay)[-1:]),
        )
        for policy in replay.headlines
    ]
    whole = f"of {count(replay.results.tokens)} tokens{_rule(replay)}"
    return Table(
        f"Saved, true ones less their markers: {whole}{', and of the input cost' if with_usd else ''}.",
        columns("", "untrue", "tokens saved", *(("input cost",) if with_usd else ())),
        tuple(rows),
    )


def outcome(policy: PolicyReplay, replay: Replay) -> tuple[str, ...]:
    """The cells of a policy: elided, true, untrue, saved tokens, and dollars of input cost if known."""
    cells = (
        count(policy.elided.results),
        count(policy.sound.results),
        count(policy.untrue.results),
        f"{count(policy.saved.part)} ({pct(policy.saved)})",
    )
    if not is_costed(replay):
        return cells
    against = policy.against[-1]
    share = f" ({percent(against.share)})" if against.net else ""
    return (*cells, f"{money.usd(against.net)}{share}")


def example(replay: Replay) -> ReplayExample | None:
    """The untrue elision that is told on the first screen: of the engine that has most."""
    worst = max(replay.headlines, key=lambda policy: policy.untrue.results, default=None)
    return worst.examples[0] if worst and worst.examples else None


def told(found: ReplayExample) -> str:
    """An example in words, and what to type for its whole story."""
    hint = f" dedupstats explain {shlex.quote(found.id)}" if found.id else ""
    return f'{found.told} was told "{found.claim}". {found.truth}{hint}'


def sections(report: Report) -> Iterator[Section]:
    """The sections on what the engines did, in order; what is about nothing is left out."""
    replay = report.replay
    if replay is None:
        return
    if replay.refused:
        yield Section("engines", "Proposed engines", tables=(headlines(report),), notes=("* Upper bound.",))
        return
    yield _engines(report, replay)
    for policy in replay.headlines:
        yield _ladder(policy, replay)
    if any(policy.untrue.results for policy in replay.engines):
        yield _truth(replay)


def _engines(report: Report, replay: Replay) -> Section:
    found = example(replay)
    notes = [NOT_A_FORECAST]
    terms: tuple[tuple[str, str], ...] = ()
    if found:
        terms = (("untrue, e.g.", told(found)),)
    notes.append("Saved means tokens, not time: the tools still run.")
    notes.extend(_limits(report, replay))
    return Section("engines", title(replay), tables=(headlines(report),), terms=terms, notes=tuple(notes))


def _limits(report: Report, replay: Replay) -> Iterator[str]:
    """What a reader must know of these figures."""
    if replay.tokens == "ladder":
        yield f"Tokens of all results: {replay.known.words}."
    if is_costed(replay):
        yield f"{money.SENT}, copies included. {money.BASIS}: {replay.basis or 'no prices yet'}."
    yield (
        "Each session has a process of the engine to itself. Where nobody says whether a tool only reads, it "
        "counts as one that does not."
    )
    for policy in replay.headlines:
        yield from _of_policy(policy)
    if any(policy.policy == "rtk" for policy in replay.headlines):
        yield (
            "RTK sees a command's output before and after its filter; logs hold what was shown alone, which "
            "stands for both. It is asked about shell commands that its hook (release 0.44.2) would rewrite "
            "and give a session."
        )
    if report.rtk:
        yield (
            f"RTK's own {plural(report.rtk.commands, 'command')} are not replayed: its history holds neither "
            "outputs nor sessions. Their upper bounds stand in a section of their own."
        )


def _of_policy(policy: PolicyReplay) -> Iterator[str]:
    named = words.engine(policy.policy, policy.revision)
    room = "no limit" if policy.cap is None else f"room for {count(policy.cap)}"
    said = f"{named}: asked about {plural(policy.asked.results, 'result')}; largest ledger "
    said += f"{plural(policy.largest_ledger, 'entry', 'entries')} ({room})"
    if policy.steps[0].name == "same_call":
        lost = plural(policy.key_lost.results, "repeat")
        said += f"; {lost} lost because the call was spelled in another way"
    if policy.policy == "rtk":
        said += f"; {plural(policy.mixed.results, 'elision')} of commands of which RTK sees a part only"
    yield f"{said}."


def _ladder(policy: PolicyReplay, replay: Replay) -> Section:
    rows = [
        (
            step.words,
            count(-step.removed_results) if place else "",
            count(step.left.results),
            count(-step.removed_tokens) if place else "",
            count(policy.saved.part if step.name == "net" else step.left.tokens),
        )
        for place, step in enumerate(policy.steps)
    ]
    saved = policy.saved
    claim = (
        f"The engine itself would claim {plural(policy.elided.results, 'elision')} and "
        f"{count(policy.claimed.part)} tokens net ({pct(policy.claimed)}); true are "
        f"{_of(policy.sound.results, policy.elided.results)}, {count(saved.part)} tokens ({pct(saved)})."
    )
    return Section(
        f"ladder-{policy.policy}",
        f"From upper bound to net: {policy.words}",
        tables=(
            Table(
                f"Each line takes away what it names, of {count(replay.results.tokens)} tokens; the last is "
                "what is saved, once the markers are paid.",
                columns("taken away", "results", "results left", "tokens", "tokens left"),
                tuple(rows),
                is_last_strong=True,
            ),
            *((_against(policy),) if is_costed(replay) else ()),
        ),
        notes=(claim, *_spread(policy), *_known(policy, replay)),
    )


def _against(policy: PolicyReplay) -> Table:
    return Table(
        "What it is worth against four denominators.",
        columns("", "saved", "of", "share"),
        tuple(
            (f"{one.words}", _in_unit(one, one.net), _in_unit(one, one.whole), percent(one.share))
            for one in policy.against
        ),
    )


def _in_unit(one: Against, value: float | None) -> str:
    if one.unit in {"usd", "share"}:
        return money.usd(value)
    return "unknown" if value is None else count(round(value))


def _known(policy: PolicyReplay, replay: Replay) -> Iterator[str]:
    """How the tokens of what is truly elided are known, and what of them is in no dollar."""
    sound = policy.sound
    if replay.tokens == "ladder" and policy.known.levels:
        yield f"Tokens of what is truly elided: {policy.known.words}."
    if is_costed(replay) and sound.unpriced_sent and sound.sent:
        part = f"{money.tokens(sound.unpriced_sent)} of {money.tokens(sound.sent)}"
        yield f"Without a price, and in no dollars: {part} tokens sent of what is truly elided."


def _of(part: int, whole: int) -> str:
    """`8 of 9`."""
    return f"{count(part)} of {count(whole)}"


def _spread(policy: PolicyReplay) -> Iterator[str]:
    if policy.sound.results:
        yield (
            f"{of_pct(policy.with_any)} sessions have any true elision; the top one holds "
            f"{pct(policy.top_session)} of their bytes."
        )


def _truth(replay: Replay) -> Section:
    engines = [policy for policy in replay.engines if policy.elided.results]
    verdicts = Table(
        "What elisions truly were. `not visible`: the marker points at text that the model cannot see; "
        "`wrong text`: at other text, or at a call with other arguments; `hides`: the call had an effect or "
        "failed, and the marker does not say so.",
        columns("", "elided", "true", "not visible", "wrong text", "hides"),
        tuple(
            (
                policy.words,
                count(policy.elided.results),
                *(count(sums.results) for sums in policy.verdicts.values()),
            )
            for policy in engines
        ),
    )
    places = Table(
        "Where the earlier result stood of which the marker speaks: `here` (still visible in the context "
        "that reads it), gone from there, in its parent, sibling or child, or in another session.",
        columns("", "here", "gone", "parent", "sibling", "child", "other"),
        tuple(
            (policy.words, *(count(place.elided.results) for place in policy.places)) for policy in engines
        ),
    )
    counted = any(sums.results for policy in engines for sums in policy.beside.values())
    return Section(
        "truth",
        "Was the marker true?",
        tables=(verdicts, places, *([_beside(engines)] if counted else [])),
        terms=tuple(_examples(replay)),
        notes=tuple(_truth_notes(replay, counted=counted)),
    )


def _beside(engines: Sequence[PolicyReplay]) -> Table:
    return Table(
        "Of the true ones. `other call`: the earlier result answers another call; `marker`: it is a marker "
        "itself, the text stands elsewhere; `changed`: in between the call gave another result; `outlives`: "
        "still visible after the last full copy has left.",
        columns("", "other call", "marker", "changed", "outlives"),
        tuple(
            (policy.words, *(count(sums.results) for sums in policy.beside.values())) for policy in engines
        ),
    )


def _truth_notes(replay: Replay, *, counted: bool) -> Iterator[str]:
    if not counted and any(policy.sound.results for policy in replay.engines):
        yield (
            "Every true one speaks of a full copy of the same call, with no other result in between, that "
            "stays visible as long as the marker."
        )
    for policy in replay.headlines:
        if policy.if_unknown_reads is not None:
            more = count(policy.if_unknown_reads.results)
            named = words.engine(policy.policy, policy.revision)
            yield f"{named}: {more} more true ones if unknown tools only read."


def _examples(replay: Replay) -> Iterator[tuple[str, str]]:
    """The largest untrue ones, some of each verdict of each engine as its host runs it."""
    for policy in replay.headlines:
        shown: dict[str, int] = {}
        for found in policy.examples:
            shown[found.verdict] = shown.get(found.verdict, 0) + 1
            if shown[found.verdict] <= _EXAMPLES_SHOWN:
                verdict = words.VERDICTS[Verdict(found.verdict)]
                about = f"{found.tool} on {found.target}, {size(found.bytes)}, {verdict}"
                yield words.engine(policy.policy, policy.revision), f"{about}: {told(found)}"


def pull_request(report: Report, replay: Replay) -> Iterator[str]:
    """The first paragraph for a pull request, sentence by sentence; `**` marks what counts."""
    first, *others = replay.headlines
    sources = " and ".join(source.words for source in report.corpus.sources if source.results)
    yield f"Replayed, not a forecast; logs of {sources}, as if the model had gone on as it did."
    yield f"{_as(first)}: {_judged(first)}."
    documented = _variant(replay, first, "engine", preset="documented")
    if documented:
        yield f"{_as(documented)}: {_judged(documented)}."
    shared = _variant(replay, first, "what-if", ledger="session")
    if shared:
        yield (
            "With one ledger shared by a session and its subagents it would have been "
            f"{count(shared.elided.results)}, {count(shared.untrue.results)} of them untrue."
        )
    for policy in others:
        net = f"{count(policy.saved.part)} tokens net ({pct(policy.saved)})"
        yield f"{policy.words}: {_judged(policy)}, {net}."


def _as(policy: PolicyReplay) -> str:
    said = words.PRESETS.get(policy.preset, policy.words)
    forgets = words.FORGETS.get((policy.policy, policy.preset))
    return f"{said[0].upper()}{said[1:]}" + (f" ({forgets})" if forgets else "")


def _judged(policy: PolicyReplay) -> str:
    found = f"{_of(policy.elided.results, policy.asked.results)} results elided"
    if not policy.untrue.results:
        return f"{found}, all true" if policy.elided.results else found
    untrue = ", ".join(
        f"{words.VERDICTS[Verdict(name)]} {count(sums.results)}"
        for name, sums in policy.verdicts.items()
        if name != "sound" and sums.results
    )
    return f"{found}, of which **{count(policy.sound.results)} true** (untrue: {untrue})"


def _variant(
    replay: Replay, like: PolicyReplay, kind: str, *, preset: str = "", ledger: str = ""
) -> PolicyReplay | None:
    candidates: Iterable[PolicyReplay] = (
        policy
        for policy in replay.policies
        if (policy.policy, policy.revision, policy.kind) == (like.policy, like.revision, kind)
    )
    return next(
        (
            policy
            for policy in candidates
            if (not preset or policy.preset == preset) and (not ledger or policy.settings["ledger"] == ledger)
        ),
        None,
    )
