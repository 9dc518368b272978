from __future__ import annotations

import runpy
from pathlib import Path

from dedupstats import import_paths, open_store, replay, variants
from dedupstats.report.replay_forms import document

DOCS = Path(__file__).parents[3] / "docs"


def test_the_reference_is_what_the_code_says() -> None:
    made = runpy.run_path(str(DOCS / "generate.py"))["reference"]()
    assert made == (DOCS / "REFERENCE.md").read_text("utf-8"), "type `make docs`"


def test_every_column_and_member_is_explained() -> None:
    page = runpy.run_path(str(DOCS / "generate.py"))
    sixes = {f"{prefix}{end}" for prefix in page["_SIXES"] for end in page["SIX"]}
    details = {"tokens_level_N", "unpriced_sent", "modelled_sent", "unseen"}
    assert details < set(page["_SINGLE"])
    explained = sixes | set(page["_SINGLE"]) | {f"RULE_{name}" for name in details}
    assert page["flat_columns"]() == explained - {"BY"}
    rows = [line for line in page["formats"]().splitlines() if line.startswith("| `")]
    assert len(rows) > 100
    assert [row for row in rows if row.rstrip("|").rstrip().endswith("|")] == []


def test_every_column_and_member_of_replays_is_explained() -> None:
    page = runpy.run_path(str(DOCS / "generate.py"))
    assert page["replay_columns"]() == set(page["_MEANINGS"]["replay_columns"])
    with open_store(":memory:") as store:
        import_paths(store, [DOCS.parent / "sample_data" / "claude_code"])
        found = document(replay(store, variants(["rtk"])), [])
    members = page["_MEANINGS"]["replay_members"]
    assert set(found) == {name for name in members if "." not in name}
    told = " ".join((*members, *members.values()))
    assert [name for name in found["variants"][0] if name not in told] == []
