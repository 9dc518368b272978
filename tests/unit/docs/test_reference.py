from __future__ import annotations

import runpy
from pathlib import Path

DOCS = Path(__file__).parents[3] / "docs"


def test_the_reference_is_what_the_code_says() -> None:
    made = runpy.run_path(str(DOCS / "generate.py"))["reference"]()
    assert made == (DOCS / "REFERENCE.md").read_text("utf-8"), "type `make docs`"


def test_every_column_and_member_is_explained() -> None:
    page = runpy.run_path(str(DOCS / "generate.py"))
    triples = {f"{prefix}{unit}" for prefix in page["_TRIPLES"] for unit in ("results", "bytes", "tokens")}
    assert page["flat_columns"]() == (triples | set(page["_SINGLE"])) - {"BY"}
    rows = [line for line in page["formats"]().splitlines() if line.startswith("| `")]
    assert len(rows) > 100
    assert [row for row in rows if row.rstrip("|").rstrip().endswith("|")] == []
