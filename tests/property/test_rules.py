"""The repeat rules against a literal reading of their definitions (DESIGN.md section 6)."""

from __future__ import annotations

from functools import cache
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from support.rows import context, emission, fill

from dedupstats.store import Store, open_store

RULES = (
    "call_pooled", "call_session", "repeat_pooled", "bytes_session", "repeat_session", "repeat_turn",
    "repeat_in_sight", "changed",
)  # fmt: skip


@cache
def shared() -> Store:
    return open_store(":memory:")


@st.composite
def histories(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Emissions of up to three contexts in two sessions, with copies, errors, stubs and departures."""
    count = draw(st.integers(1, 24))
    ordinals = {1: 0, 2: 0, 3: 0}
    rows: list[dict[str, Any]] = []
    for place in range(count):
        key = draw(st.sampled_from([1, 2, 3]))
        older = [row for row in rows if row["copy_of"] is None and row["context"] != key]
        copied = draw(st.sampled_from(older)) if older and draw(st.integers(0, 5)) == 0 else None
        rows.append(
            {
                "place": place,
                "context": key,
                "session": "s1" if key < 3 else "s2",
                "ordinal": ordinals[key],
                "copy_of": copied,
                "call": copied["call"] if copied else draw(st.sampled_from(["a", "b", None])),
                "text": copied["text"] if copied else draw(st.sampled_from(["x" * 300, "y" * 300, "z"])),
                "klass": copied["klass"]
                if copied
                else draw(st.sampled_from(["text", "text", "truncated", "stub"])),
                "error": copied["error"] if copied else draw(st.integers(0, 4)) == 0,
                "turn": draw(st.integers(1, 2)),
                "left": None,
            }
        )
        ordinals[key] += 1
    for row in rows:
        later = [
            other["ordinal"]
            for other in rows
            if other["context"] == row["context"] and other["ordinal"] > row["ordinal"]
        ]
        if later and draw(st.booleans()):
            row["left"] = draw(st.sampled_from(later))
    return rows


def literal(rows: list[dict[str, Any]], e: dict[str, Any]) -> dict[str, bool]:
    """Each rule by its sentence: "an emission is a repeat if an earlier one ..."."""

    def comparable(row: dict[str, Any]) -> bool:
        return row["klass"] in ("text", "truncated") and not row["error"]

    none = dict.fromkeys(RULES, False)
    if e["copy_of"] is not None or not comparable(e):
        return none
    earlier = [row for row in rows if row["place"] < e["place"]]
    originals = [row for row in earlier if row["copy_of"] is None]
    session = [row for row in earlier if row["session"] == e["session"]]
    same_call = [row for row in session if e["call"] is not None and row["call"] == e["call"]]
    same_both = [row for row in same_call if row["text"] == e["text"] and comparable(row)]
    in_sight = any(
        row["context"] == e["context"]
        and row["text"] == e["text"]
        and comparable(row)
        and (row["left"] is None or row["left"] > e["ordinal"])
        for row in earlier
    )
    return {
        "call_pooled": e["call"] is not None and any(row["call"] == e["call"] for row in originals),
        "call_session": bool(same_call),
        "repeat_pooled": e["call"] is not None
        and any(
            row["call"] == e["call"] and row["text"] == e["text"] and comparable(row) for row in originals
        ),
        "bytes_session": any(row["text"] == e["text"] and comparable(row) for row in session),
        "repeat_session": bool(same_both),
        "repeat_turn": any(row["context"] == e["context"] and row["turn"] == e["turn"] for row in same_both),
        "repeat_in_sight": bool(same_both) and in_sight,
        "changed": bool(same_call) and not any(row["text"] == e["text"] for row in session),
    }


def repeated(rows: list[dict[str, Any]], e: dict[str, Any]) -> int | None:
    """The place of the nearest earlier emission that makes `repeat_session` true."""
    if not literal(rows, e)["repeat_session"]:
        return None
    for row in reversed(rows[: e["place"]]):
        if (row["session"], row["call"], row["text"]) == (e["session"], e["call"], e["text"]) and (
            row["klass"] in ("text", "truncated") and not row["error"]
        ):
            return int(row["place"])
    return None


@settings(max_examples=60, deadline=None)
@given(histories())
def test_rules_are_what_their_sentences_say(rows: list[dict[str, Any]]) -> None:
    made = {}
    left = {}
    for row in rows:
        source = row["copy_of"]
        made[row["place"]] = e = emission(
            row["context"],
            row["ordinal"],
            row["text"],
            call=row["call"] or "",
            at=row["place"],
            clock=row["place"],
            line=row["place"],
            turn=row["turn"],
            klass=row["klass"],
            is_error=row["error"],
            **({"call_key": None, "norm_key": None} if row["call"] is None else {}),
            **({"copy_key": made[source["place"]].copy_key, "is_fork": True} if source else {}),
        )
        if row["left"] is not None:
            left[e.emission_key] = row["left"]
    fill(shared(), [context(1), context(2), context(3, "s2")], list(made.values()), left)
    columns = ", ".join(RULES)
    found = {
        key: dict(zip(RULES, flags, strict=True))
        for key, *flags in shared().query(f"select emission_key, {columns} from emission_repeat")
    }
    assert {place: found[e.emission_key] for place, e in made.items()} == {
        row["place"]: literal(rows, row) for row in rows
    }
    keys = {e.emission_key: place for place, e in made.items()} | {None: None}
    repeats = shared().query("select emission_key, repeats_key from emission_repeat")
    assert {keys[key]: keys[repeats_key] for key, repeats_key in repeats} == {
        row["place"]: repeated(rows, row) for row in rows
    }


def test_an_original_is_no_repeat_of_its_own_copy_that_stands_earlier() -> None:
    # the same session file under two folders: equal times, the copy's path sorts first
    first = emission(1, 0, copy_key=7)
    twin = emission(2, 0, copy_key=7)
    with open_store(":memory:") as store:
        fill(
            store,
            [context(1, path="/b.jsonl", ended_at=1), context(2, path="/a.jsonl", ended_at=2)],
            [first, twin],
        )
        assert store.query("select is_copy, path from emission order by path") == [
            (True, "/a.jsonl"),
            (False, "/b.jsonl"),
        ]
        assert not store.query(
            "from emission_repeat where repeat_session or bytes_session or repeats_key is not null"
        )
