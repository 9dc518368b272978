"""Imports of the samples give the committed texts; `python tests/golden/make.py` writes them anew."""

from __future__ import annotations

from difflib import unified_diff

import pytest
from golden.make import FOLDER, PARTS, dump


@pytest.mark.parametrize("part", PARTS)
def test_import_of_a_sample(part: str) -> None:
    golden = (FOLDER / f"{part}.tsv").read_text("utf-8").splitlines()
    found = dump(part).splitlines()
    changes = "\n".join(unified_diff(golden, found, "committed", "found", lineterm="", n=1))
    assert not changes, f"{changes}\nIf this is right, type: python tests/golden/make.py"
