"""Markers in logs, what came after them, and the intervals of both."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from support.pipeline import Log, write

from dedupstats import import_paths, open_store
from dedupstats.analytics.intervals import beta_quantile, clopper_pearson, incomplete_beta
from dedupstats.analytics.observed import Markers, Observed, observed
from dedupstats.economics.rebound import break_even, expected_saving
from dedupstats.policies.rtk import marker
from dedupstats.report import observed_tables
from dedupstats.report.tables import json_document
from dedupstats.sources.claude_code.texts import READ_STUBS

if TYPE_CHECKING:
    from pathlib import Path

STUB = min(READ_STUBS)


def seen(tmp_path: Path, shown: str) -> Observed:
    """A letter a step: `f` the file in full, `s` a stub, `e` an edit, `o` another file, `c` compaction.

    And `a`, an attachment of the file.
    """
    log = Log("s1")
    log.user("go")
    for number, kind in enumerate(shown):
        if kind == "c":
            log.row(
                "system",
                subtype="compact_boundary",
                compactMetadata={"trigger": "auto", "preTokens": 9},
                parent=None,
            )
            continue
        if kind == "a":
            content = {"type": "text", "file": {"content": "x" * 900}}
            log.attachment("file", filename="/a", content=content)
            continue
        tool = "Edit" if kind == "e" else "Read"
        arguments = {"file_path": "/b" if kind == "o" else "/a"}
        usage = (10, 1_000 * (number + 1), 0, 9)
        log.call(f"c{number}", tool, arguments, f"m{number}", usage=usage, stop="tool_use")
        log.result(f"c{number}", {"s": STUB, "e": "done", "o": "other"}.get(kind, "x" * 900))
    log.assistant("done", "last", usage=(10, 50_000, 0, 5))
    with open_store(":memory:") as store:
        import_paths(store, [write(tmp_path / "s1.jsonl", log.rows)], environment={})
        return observed(store)


def reads(tmp_path: Path, shown: str) -> Markers:
    """The one engine of a log; see `seen`."""
    found = seen(tmp_path, shown)
    (one,) = found.engines
    table = observed_tables.people_table(found)
    assert len(table.rows[0]) == len(table.columns)
    flat = observed_tables.flat_table(found)
    assert len(flat.rows[0]) == len(flat.columns)
    assert json.loads(json_document({"notes": observed_tables.notes(found)}))["notes"]
    return one


def test_three_of_four_asked_again(tmp_path: Path) -> None:
    """Fault case S17: a full read, then four stubs for it, the first three followed by the same call."""
    found = reads(tmp_path, "fssss")
    assert (found.markers, found.sound, found.dangling, found.unknown) == (4, 4, 0, 0)
    assert (found.after_marker.found, found.after_marker.of) == (3, 4)
    assert found.saved_usd is not None
    assert found.saved_usd > 0


@pytest.mark.parametrize(
    ("shown", "again"),
    [
        ("fsf", 1),
        ("fs" + "o" * 9 + "f", 1),
        ("fs" + "o" * 10 + "f", 0),  # too far
        ("fsef", 0),  # edited in between: reading again is due
        ("fscf", 0),  # the marker has left sight
        ("fso", 0),
    ],
)
def test_what_counts_as_reading_again(tmp_path: Path, shown: str, again: int) -> None:
    assert (reads(tmp_path, shown).after_marker.found, reads(tmp_path, shown).after_marker.of) == (again, 1)


def test_verdicts_are_those_of_explain_and_only_sound_ones_save(tmp_path: Path) -> None:
    gone = reads(tmp_path, "fcs")
    assert (gone.sound, gone.dangling, gone.unknown) == (0, 1, 0)
    never = reads(tmp_path, "s")
    assert (never.sound, never.dangling, never.unknown) == (0, 1, 0)
    old = reads(tmp_path, "fes")
    assert (old.sound, old.false) == (0, 1)
    for found in (gone, never, old):
        assert (found.saved_tokens, found.saved_usd, found.break_even) == (0, None, None)


def test_a_file_in_an_attachment_is_visible_and_saves_nothing_that_is_known(tmp_path: Path) -> None:
    found = reads(tmp_path, "fcas")
    assert (found.markers, found.attachment, found.dangling) == (1, 1, 0)
    assert found.saved_usd is None
    assert "in an attachment alone" in " ".join(observed_tables.notes(seen(tmp_path, "fcas")))


def test_both_shares_their_difference_and_what_they_rest_on_are_told(tmp_path: Path) -> None:
    said = " ".join(observed_tables.notes(seen(tmp_path, "fsssffff"))).replace("100.0", "100")
    again = seen(tmp_path, "fsssffff").engines[0]
    assert (again.after_marker.found, again.after_marker.of) == (3, 3)
    assert (again.after_repeat.found, again.after_repeat.of) == (3, 4)
    assert "read again 100 % after a marker, 75.0 % after a full repeat, +25.0 points" in said
    assert "no difference shown" in said
    assert "markers of 1 session, repeats of 1, of which some have many" in said


def test_rtk_markers_and_the_proxy_that_fetches_again(tmp_path: Path) -> None:
    """other-agent-formats.md 5: a marker of RTK in a shell result; `rtk proxy` with the same command."""
    shown = "x" * 900
    for again, command in [(1, "rtk proxy git log"), (1, "git log"), (0, "rtk proxy git show")]:
        log = Log(f"s-{command}".replace(" ", "-"))
        log.user("go")
        log.bash("c1", "git log", shown)
        log.bash("c2", "rtk git log", marker(1, 1, 225, "git log"))
        log.bash("c3", command, shown)
        with open_store(":memory:") as store:
            import_paths(store, [log.write(tmp_path / f"{log.session}.jsonl")], environment={})
            found = {one.source: one for one in observed(store).engines}
        assert set(found) == {"rtk"}
        assert (found["rtk"].markers, found["rtk"].after_marker.found) == (1, again)


def test_the_control_of_rtk_is_repeats_of_commands_that_read(tmp_path: Path) -> None:
    log = Log("s1")
    log.user("go")
    for number in range(3):
        log.bash(f"c{number}", "git log", "x" * 900)
        # no claim: it may do anything
        log.bash(f"d{number}", "make", "y" * 900)
    log.bash("m", "git show", marker(1, 1, 225, "git show"))
    with open_store(":memory:") as store:
        import_paths(store, [log.write(tmp_path / "s1.jsonl")], environment={})
        (found,) = observed(store).engines
    assert (found.source, found.after_repeat.found, found.after_repeat.of) == ("rtk", 1, 2)


def test_the_control_is_full_repeats(tmp_path: Path) -> None:
    found = reads(tmp_path, "fff")
    assert (found.markers, found.after_repeat.found, found.after_repeat.of) == (0, 1, 2)
    assert found.after_marker.of == 0


def test_rebound_of_vector_10() -> None:
    whole, marker = 1_800 * 6.45, 45 * 6.45
    trips = {30_000: 10_930.5, 120_000: 37_930.5, 0: 1_930.5}
    for context, trip in trips.items():
        # the call's 90 tokens: written once at $15, then carried; the context read once
        assert 90 * 15 + 90 * 6.45 + context * 0.3 == pytest.approx(trip)
    assert [round(break_even(whole, marker, trip) or 0, 3) for trip in trips.values()] == [
        0.502,
        0.228,
        0.836,
    ]
    assert expected_saving(whole, marker, trips[30_000], 0.1) == pytest.approx(9_065.70)
    assert expected_saving(whole, marker, trips[120_000], 0.1) == pytest.approx(6_365.70)
    assert expected_saving(whole, marker, 0, 0) == whole - marker
    assert break_even(0, 0, 0) is None


@pytest.mark.parametrize(
    ("found", "of", "bounds"),
    [
        # token-economics.md 7.5, 7.6 and 4.2
        (0, 10, (0, 30.8)),
        (1, 30, (0.1, 17.2)),
        (22, 223, (6.3, 14.6)),
        (38, 44, (73, 95)),
        (2_746, 2_746, (99.9, 100)),
        # tables of exact limits: 5 of 10, and all of one
        (5, 10, (18.7, 81.3)),
        (1, 1, (2.5, 100)),
        (0, 0, (0, 100)),
    ],
)
def test_exact_intervals(found: int, of: int, bounds: tuple[float, float]) -> None:
    assert [100 * bound for bound in clopper_pearson(found, of)] == pytest.approx(bounds, abs=0.5)


def test_the_bounds_leave_a_tail_each() -> None:
    """By the binomial sums that define them, added up term by term."""
    from math import comb

    for found, of in ((1, 30), (22, 223), (7, 9)):
        low, high = clopper_pearson(found, of)
        at_least = sum(comb(of, k) * low**k * (1 - low) ** (of - k) for k in range(found, of + 1))
        at_most = sum(comb(of, k) * high**k * (1 - high) ** (of - k) for k in range(found + 1))
        assert (at_least, at_most) == pytest.approx((0.025, 0.025))


def test_the_incomplete_beta_function() -> None:
    # I_x(1, 1) = x, I_x(a, 1) = x^a, and the symmetry
    assert incomplete_beta(0.3, 1, 1) == pytest.approx(0.3)
    assert incomplete_beta(0.3, 5, 1) == pytest.approx(0.3**5)
    assert incomplete_beta(0.2, 3, 7) == pytest.approx(1 - incomplete_beta(0.8, 7, 3))
    assert (incomplete_beta(0, 2, 2), incomplete_beta(1, 2, 2)) == (0, 1)
    assert beta_quantile(0.5, 4, 4) == pytest.approx(0.5)
