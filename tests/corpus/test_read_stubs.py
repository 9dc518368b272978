"""The read stubs of real transcripts: verdicts and lines as they were read off the raw rows by hand."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.pipeline import imported

from dedupstats.simulate.stubs import stubs

ROOT = Path(__file__).parents[2].parent / "shared" / "corpus" / "claude_code"
pytestmark = pytest.mark.skipif(not ROOT.is_dir(), reason=f"no corpus of real logs at {ROOT}")

STUBS = {
    # file: line of the stub, verdict, line of the Read, of the attachment, of the model's own write
    "608ef708-f0ad-4a24-8590-d531b13c9048": (21, "sound", 12, None, None),
    "65ae317f-3509-4d60-9e00-635267885950": (114, "sound", 13, None, None),
    "67369027-c481-4329-9f6f-5b4960ac4ada": (173, "sound", 68, None, None),
    "762cc180-ae9a-436f-9b2e-d6e7763bbb47": (541, "attachment", None, 466, 447),
}


def test_verdicts_of_the_corpus() -> None:
    found = stubs(imported(ROOT).store)
    assert {
        Path(stub.path).stem: (
            stub.line,
            stub.verdict.value,
            stub.anchor_line,
            stub.attachment_line,
            stub.written_line,
        )
        for stub in found
    } == STUBS
