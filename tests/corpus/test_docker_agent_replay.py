"""docker-agent's made-up stores of the corpus, replayed: each decision against the list of expected ones."""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
from support.replay import did

from dedupstats import import_paths, open_store

if TYPE_CHECKING:
    from dedupstats import Store

SYNTH = Path(__file__).parents[3] / "shared" / "corpus" / "docker-agent" / "synth"
EXPECTED = SYNTH / "expected.tsv"

pytestmark = pytest.mark.skipif(not EXPECTED.is_file(), reason=f"no corpus at {SYNTH}")

IMAGE = "the engine hashes text alone; here an image beside it belongs to the bytes"
MARKER = "the store holds the marker that was shown, so that it is what the engine is given"
#: What the store cannot tell as the engine saw it: decisions that differ from the list, in every column.
EXCEPTIONS: Final = {
    "export-new-key.json": {"80000001/129": IMAGE},
    "future-level41.db": {"f0000001/130": IMAGE, "f0000007/195": MARKER, "f0000007/197": MARKER},
    "newest-level38.db": {"d0000001/130": IMAGE, "d0000007/195": MARKER, "d0000007/197": MARKER},
}

WIRINGS: Final = {"transform_only": "transform", "runtime": "runtime", "session": "session"}
REASONS: Final = {"small": "too_small", "large": "too_large"}


def rows() -> list[dict[str, str]]:
    if not EXPECTED.is_file():
        return []
    with EXPECTED.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def name_of(session: str, row: str) -> str:
    """A result by its session and its place in it."""
    return f"{session[:8]}/{row.rsplit('[', 1)[-1].rstrip(']')}"


@cache
def stored(name: str) -> tuple[Store, dict[int, str]]:
    store = open_store(":memory:")
    import_paths(store, [SYNTH / name])
    names = store.query(
        "select e.emission_key, c.native_id, e.line from emission e join context c using (context_key)"
    )
    return store, {key: name_of(session, str(line)) for key, session, line in names}


def wanted(row: dict[str, str], column: str) -> str:
    said = row[column]
    kind, _, what = said.replace("@", ":").partition(":")
    if kind == "elide":
        return f"repeat {name_of(row['session'], what)}"
    return REASONS.get(what, what) or kind


NAMES: Final = sorted({row["db"] for row in rows()})
COLUMNS: Final = [name for name in (rows() or [{}])[0] if name.partition("_")[0] in {"v1", "v2", "v3"}]


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("name", NAMES)
def test_decisions_are_the_expected_ones(name: str, column: str) -> None:
    revision, _, wiring = column.removesuffix("_actual_errors").partition("_")
    errors = "host" if column.endswith("_actual_errors") else "documented"
    store, names = stored(name)
    found = did(
        store, f"docker-agent:{revision}", f"wiring={WIRINGS[wiring]}", f"errors={errors}", names=names
    )
    expected = {
        name_of(row["session"], row["row"]): wanted(row, column) for row in rows() if row["db"] == name
    }
    got = {
        call: f"repeat {found.elided[call].anchor}" if call in found.elided else reason
        for call, reason in found.reasons.items()
    } | dict.fromkeys(set(names.values()) - found.reasons.keys(), "copy")
    assert got.keys() == expected.keys()
    differing = {call: (got[call], what) for call, what in expected.items() if got[call] != what}
    assert differing.keys() == EXCEPTIONS.get(name, {}).keys(), differing
