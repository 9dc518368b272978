"""What must not matter: order and number of imports, size of batches, copies of files; what must: bytes."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from dedupstats import import_paths, open_store, rates
from dedupstats.analytics.rates import RULES
from dedupstats.analytics.rtk_bounds import rtk_bounds
from dedupstats.ingest import write

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dedupstats import Store

SAMPLES = Path(__file__).resolve().parents[2] / "sample_data"
FOLDERS = [SAMPLES / name for name in ("claude_code", "docker_agent", "rtk")]
LOGS = sorted(
    path for folder in FOLDERS for path in folder.rglob("*") if path.is_file() and ".meta" not in path.name
)
BY_BYTES = ("repeat_pooled", "bytes_session", "repeat_session", "repeat_turn", "repeat_in_sight")

NO_EXPLANATION = (Phase.generate, Phase.shrink)

Rows = dict[str, list[tuple[Any, ...]]]


@cache
def shared() -> Store:
    return open_store(":memory:")


def emptied() -> Store:
    """One store for all examples: making one costs more than filling it."""
    store = shared()
    tables = store.query(
        "select schema_name || '.' || table_name from duckdb_tables() "
        "where schema_name in ('raw', 'derived') and table_name not in ('migration', 'meta')"
    )
    with store.transaction():
        for (table,) in tables:
            store.query(f"delete from {table}")
    return store


def every_view(store: Store) -> Rows:
    """All rows of all views, but for the time of the import."""
    names = store.query("select view_name from duckdb_views() where not internal and schema_name = 'main'")
    return {
        name: store.query(
            f"select {'* exclude (imported_at)' if name == 'unit' else '*'} from {name} order by all"
        )
        for (name,) in names
    }


@cache
def at_once() -> Rows:
    """What one import of everything gives."""
    store = emptied()
    import_paths(store, FOLDERS)
    return every_view(store)


def unlike(found: Rows, wanted: Rows) -> dict[str, list[tuple[Any, ...]]]:
    """The first rows per view that only one side has."""
    assert found.keys() == wanted.keys()
    return {
        name: [row for row in found[name] + wanted[name] if (row in found[name]) != (row in wanted[name])][:2]
        for name in wanted
        if found[name] != wanted[name]
    }


def test_one_import_fills_every_view() -> None:
    # decisions are saved by replays, and by them alone
    assert [name for name, rows in at_once().items() if not rows] == ["decision"]


@st.composite
def imports(draw: st.DrawFn) -> list[tuple[list[Path], bool]]:
    """Some imports, each of some files, with `force` or not, that together take every file."""
    order = draw(st.permutations(LOGS))
    cuts = sorted(draw(st.lists(st.integers(1, len(order) - 1), max_size=3, unique=True)))
    groups = [list(order[start:end]) for start, end in zip([0, *cuts], [*cuts, len(order)], strict=True)]
    again = draw(st.lists(st.sampled_from(groups), max_size=1))
    return [(group, draw(st.booleans())) for group in [*groups[:-1], *again, groups[-1]]]


@settings(max_examples=8, deadline=None, phases=NO_EXPLANATION)
@given(imports())
def test_order_of_imports(steps: list[tuple[list[Path], bool]]) -> None:
    wanted = at_once()
    store = emptied()
    for paths, force in steps:
        import_paths(store, paths, force=force)
    assert not unlike(every_view(store), wanted)


@pytest.mark.parametrize("order", ["forwards", "backwards"])
def test_folder_by_folder_and_once_more(order: str) -> None:
    wanted = at_once()
    store = emptied()
    projects = sorted((SAMPLES / "claude_code" / "projects").iterdir())
    for folder in sorted([*projects, *FOLDERS[1:]], reverse=order == "backwards"):
        import_paths(store, [folder])
    assert not unlike(every_view(store), wanted)
    summary = import_paths(store, FOLDERS)
    assert not summary.units_read
    assert not unlike(every_view(store), wanted)


@pytest.mark.parametrize(("rows", "files"), [(1, 200), (30_000, 1), (50, 3)])
def test_size_of_batches(rows: int, files: int, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = at_once()
    monkeypatch.setattr(write, "BATCH_ROWS", rows)
    monkeypatch.setattr(write, "BATCH_FILES", files)
    store = emptied()
    import_paths(store, FOLDERS)
    assert not unlike(every_view(store), wanted)


def figures(store: Store) -> list[Any]:
    """Every rate, by tool and by session; how many copies there are is left out."""
    found: list[Any] = [rtk_bounds(store.connection)]
    for by in ("tool", "session"):
        counted = rates(store, by=by, all_rules=True, tz="UTC")
        none = replace(counted.total, copies=counted.total.results)
        rows = [replace(row, copies=none.copies) for row in counted.rows if row.results.results]
        found.append(replace(counted, rows=tuple(rows), total=none))
    return found


@cache
def figures_at_once() -> list[Any]:
    store = emptied()
    import_paths(store, FOLDERS)
    return figures(store)


@settings(max_examples=6, deadline=None, phases=NO_EXPLANATION)
@given(
    st.lists(st.sampled_from(LOGS), min_size=1, max_size=6, unique=True),
    st.sampled_from(["a", "z"]),
    st.sampled_from(["same name", "renamed"]),
)
def test_copies_of_files_count_once(
    tmp_path_factory: pytest.TempPathFactory, copied: Sequence[Path], folder: str, name: str
) -> None:
    """The same logs also lie in another folder, or under another name: a backup, a moved profile."""
    wanted = figures_at_once()
    beside = tmp_path_factory.mktemp(folder)
    for path in copied:
        target = beside / path.relative_to(SAMPLES)
        if name == "renamed" and "subagents" not in path.parts:
            target = target.with_stem(f"{folder}-{path.stem}")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
    store = emptied()
    import_paths(store, [beside, *FOLDERS])
    assert figures(store) == wanted


def repeated() -> list[tuple[str, int, str]]:
    """File, line and call of every result of a main thread that is repeated in its own file."""
    store = emptied()
    import_paths(store, FOLDERS[:1])
    return [
        (path, line, call)
        for path, line, call in store.query(
            "select e.path, e.line, e.call_id from emission e join emission_repeat using (emission_key) "
            "where repeat_session and context_kind = 'main' and (select count(*) from context c "
            "where c.session_key = e.session_key) = 1 order by all"
        )
    ]


@settings(max_examples=15, deadline=None, phases=NO_EXPLANATION)
@given(st.data())
def test_changed_bytes_are_no_repeat(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """One character of a repeated result becomes another, of the same size or not."""
    path, line, call = data.draw(st.sampled_from(sorted(_repeated())))
    rows = Path(path).read_bytes().split(b"\n")
    row = json.loads(rows[line - 1])
    (block,) = row["message"]["content"]
    text = block["content"]
    place = data.draw(st.sampled_from([at for at, letter in enumerate(text) if letter.isalpha()]))
    block["content"] = text[:place] + data.draw(st.sampled_from("#é")) + text[place + 1 :]
    rows[line - 1] = json.dumps(row).encode()
    changed = tmp_path_factory.mktemp("changed") / Path(path).name
    changed.write_bytes(b"\n".join(rows))
    store = emptied()
    import_paths(store, [changed])
    columns = ", ".join(rule.column() for rule in RULES)
    found = store.query(
        f"select {columns} from emission join emission_repeat using (emission_key) "
        "where call_id = ? and line = ?",
        [call, line],
    )
    (flags,) = [dict(zip([rule.column() for rule in RULES], row, strict=True)) for row in found]
    assert [name for name in BY_BYTES if flags[name]] == []
    assert flags["call_session"]
    assert flags["changed"]


@cache
def _repeated() -> list[tuple[str, int, str]]:
    return repeated()
