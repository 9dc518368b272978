from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb
import pytest
from support.command import run
from support.judged import Result, put

from dedupstats.analytics.export import export_views
from dedupstats.errors import DedupstatsError, UsageError
from dedupstats.store import open_store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from dedupstats.store import Store


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    with open_store(":memory:") as opened:
        put(opened, [Result(5, tool="a\x00b"), Result(7)])
        yield opened


def test_every_view_is_a_file_with_its_rows(store: Store, tmp_path: Path) -> None:
    folder = tmp_path / "it's out"
    written = export_views(store, folder)
    names = {name for (name,) in store.query("select view_name from duckdb_views() where not internal")}
    assert {path.stem for path, _ in written} == names
    assert {path.name for path in folder.iterdir()} == {f"{name}.parquet" for name in names}
    emission = dict(written)[folder / "emission.parquet"]
    assert emission == 2
    place = str(folder / "emission.parquet").replace("'", "''")
    found = duckdb.connect().execute(f"select tool, bytes from '{place}' order by bytes").fetchall()
    assert found == [("a\x00b", 5), ("Read", 7)]
    assert [entry.name for entry in tmp_path.iterdir()] == ["it's out"]


def test_the_same_history_gives_the_same_files(store: Store, tmp_path: Path) -> None:
    export_views(store, tmp_path / "a")
    export_views(store, tmp_path / "b")
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()


def test_an_export_may_be_renewed_and_other_files_are_left_alone(store: Store, tmp_path: Path) -> None:
    export_views(store, tmp_path / "out")
    export_views(store, tmp_path / "out")
    (tmp_path / "out" / "thesis.tex").write_text("mine")
    with pytest.raises(UsageError, match=r"holds other files \(1, 'thesis.tex' among them\)"):
        export_views(store, tmp_path / "out")
    export_views(store, tmp_path / "out", force=True)
    assert (tmp_path / "out" / "thesis.tex").read_text() == "mine"


def test_what_cannot_be_written_is_one_line(store: Store, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="is a file"):
        export_views(store, tmp_path / "file")
    with pytest.raises(DedupstatsError, match=r"cannot write to .*: Not a directory"):
        export_views(store, tmp_path / "file" / "out")


def test_the_command_says_what_it_wrote(tmp_path: Path) -> None:
    with open_store(tmp_path / "s.duckdb") as opened:
        put(opened, [Result()])
    ran = run("export", str(tmp_path / "out"), "--db", str(tmp_path / "s.duckdb"))
    assert ran.code == 0
    assert f"{tmp_path / 'out' / 'emission.parquet'}  1 rows" in ran.out.splitlines()
