from __future__ import annotations

import runpy
from pathlib import Path

DOCS = Path(__file__).parents[3] / "docs"


def test_the_reference_is_what_the_code_says() -> None:
    made = runpy.run_path(str(DOCS / "generate.py"))["reference"]()
    assert made == (DOCS / "REFERENCE.md").read_text("utf-8"), "type `make docs`"
