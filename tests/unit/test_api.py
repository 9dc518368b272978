"""The public API: what `import dedupstats` promises."""

from __future__ import annotations

import doctest
import inspect
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest

import dedupstats

if TYPE_CHECKING:
    from collections.abc import Iterator

SAMPLES = Path(__file__).resolve().parents[2] / "sample_data"
FUNCTIONS = [name for name in dedupstats.__all__ if inspect.isfunction(getattr(dedupstats, name))]
CLASSES = [name for name in dedupstats.__all__ if inspect.isclass(getattr(dedupstats, name))]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with the samples."""
    path = tmp_path_factory.mktemp("api") / "store.duckdb"
    with dedupstats.open_store(path) as store:
        dedupstats.import_paths(store, [SAMPLES])
        dedupstats.replay(store, dedupstats.variants(["safe"]), save="here")
    return path


@pytest.fixture
def store(path: Path) -> Iterator[dedupstats.Store]:
    with dedupstats.open_store(path, read_only=True) as store:
        yield store


def test_names() -> None:
    assert sorted(dedupstats.__all__) == dir(dedupstats)
    assert [name for name in dedupstats.__all__ if getattr(dedupstats, name, None) is None] == []
    assert set(FUNCTIONS) == {
        "build_report",
        "frame",
        "import_paths",
        "open_store",
        "rates",
        "replay",
        "variants",
    }
    assert {*FUNCTIONS, *CLASSES, "__version__"} == set(dedupstats.__all__)


def test_a_name_that_is_not_there() -> None:
    with pytest.raises(AttributeError, match="no attribute 'rate'"):
        _ = dedupstats.rate


@pytest.mark.parametrize("name", [*FUNCTIONS, *CLASSES])
def test_is_documented_and_typed(name: str) -> None:
    thing = getattr(dedupstats, name)
    text = inspect.getdoc(thing) or ""
    assert text.split("\n", 1)[0].endswith((".", ")"))
    assert inspect.getmodule(thing).__name__.startswith("dedupstats")
    if name in FUNCTIONS:
        signature = inspect.signature(thing)
        assert signature.return_annotation is not inspect.Signature.empty
        assert [p.name for p in signature.parameters.values() if p.annotation is p.empty] == []
        missing = [p.name for p in signature.parameters.values() if f"{p.name}:" not in text]
        assert missing == []


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_have_an_example_that_runs(name: str) -> None:
    """The examples themselves run as doctests of their modules."""
    examples = doctest.DocTestParser().get_examples(getattr(dedupstats, name).__doc__ or "")
    assert examples
    own = getattr(dedupstats, name).__name__
    assert any(f"{own}(" in example.source for example in examples)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("rates", ["by:", "tz:", "UsageError", "tokens:", "unit:", "(0, ('call-session'"]),
        ("frame", ["One column per column", "UTC"]),
        ("import_paths", ["max_line_bytes:", "NothingFoundError", "Returns:"]),
        ("open_store", ["read_only:", "StoreError"]),
        ("replay", ["save:", "UTF-8 bytes, tokens", "NothingFoundError", "Returns:"]),
        ("variants", ["assignments:", "UsageError"]),
    ],
)
def test_units_shapes_and_errors_are_told(name: str, words: list[str]) -> None:
    text = inspect.getdoc(getattr(dedupstats, name)) or ""
    assert [word for word in words if word not in text] == []


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = (
        "import sys, dedupstats; "
        "print(sorted({'duckdb', 'polars', 'numpy', 'plotly', 'rich', 'pyarrow'} & set(sys.modules)))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_what_every_import_needs_loads_no_numpy() -> None:
    code = "import sys, dedupstats.ingest; print(sorted({'polars', 'numpy'} & set(sys.modules)))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_frame_is_polars_without_pyarrow(store: dedupstats.Store) -> None:
    frame = dedupstats.frame(
        store, "select tool, bytes, ts, is_copy from emission order by seq, emission_key"
    )
    assert isinstance(frame, pl.DataFrame)
    assert dict(frame.schema) == {
        "tool": pl.String,
        "bytes": pl.Int64,
        "ts": pl.Datetime("us"),
        "is_copy": pl.Boolean,
    }
    assert len(frame) == store.query("select count(*) from emission")[0][0]
    assert "pyarrow" not in sys.modules
    assert dedupstats.frame(store, "from emission limit 0").columns[:2] == ["emission_key", "source"]


def test_every_view_becomes_a_frame(store: dedupstats.Store) -> None:
    views = store.query("select view_name from duckdb_views() where not internal and schema_name = 'main'")
    for (view,) in views:
        frame = dedupstats.frame(store, f"from {view}")
        assert len(frame) == store.query(f"select count(*) from {view}")[0][0] > 0


def test_frames_and_rates_agree(store: dedupstats.Store) -> None:
    counted = dedupstats.rates(store, by="tool", all_rules=True, tz="UTC")
    repeated = dedupstats.frame(
        store, "from emission join emission_repeat using (emission_key) where repeat_in_sight"
    )
    tally = counted.total.rules["repeat-in-sight"]
    assert (tally.results, tally.bytes) == (len(repeated), repeated["bytes"].sum())
    costs = dedupstats.frame(
        store, "from emission_cost join emission_repeat using (emission_key) where repeat_in_sight"
    )
    # whole tokens result by result
    assert tally.tokens == sum(map(round, costs["tokens"]))
    bytes4 = dedupstats.rates(store, all_rules=True, tokens="bytes4", tz="UTC").total.rules
    assert bytes4["repeat-in-sight"].tokens == sum(-(-size // 4) for size in repeated["bytes"])


def test_replays_and_sql_agree(tmp_path: Path) -> None:
    """Sums of saved decisions are the scores of the replay that saved them."""
    with dedupstats.open_store(tmp_path / "s.duckdb") as store:
        dedupstats.import_paths(store, [SAMPLES])
        found = dedupstats.replay(store, dedupstats.variants(["docker-agent", "safe"]), save="mine")
        frame = dedupstats.frame(
            store,
            "select policy, preset, sum(bytes) as bytes, count(*) as results "
            "from decision join emission using (emission_key) where verdict = 'sound' group by all",
        )
    summed = {row[:2]: row[2:] for row in frame.rows()}
    expected = {
        (variant.spec.label, variant.preset): (score.sound.bytes, score.sound.results)
        for variant, score in found.rows
        if score.sound.results
    }
    assert summed == expected
    assert len(expected) == 3


def test_two_readers_at_a_time(path: Path) -> None:
    """In this process, and in another one meanwhile."""
    code = (
        "import sys, dedupstats\n"
        "with dedupstats.open_store(sys.argv[1], read_only=True) as store:\n"
        "    print(store.query('select count(*) from emission')[0][0])"
    )
    with (
        dedupstats.open_store(path, read_only=True) as one,
        dedupstats.open_store(path, read_only=True) as two,
    ):
        count = one.query("select count(*) from emission")
        assert two.query("select count(*) from emission") == count
        ran = subprocess.run(
            [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True
        )
    assert int(ran.stdout) == count[0][0]


def test_a_reader_cannot_write(store: dedupstats.Store) -> None:
    with pytest.raises(Exception, match="read-only"):
        store.query("delete from raw.emission")


def test_a_writer_that_meets_a_reader_says_so(path: Path) -> None:
    code = (
        "import sys, dedupstats\n"
        "try:\n"
        "    dedupstats.open_store(sys.argv[1])\n"
        "except dedupstats.DedupstatsError as error:\n"
        "    print(error.exit_code, error.message)"
    )
    with dedupstats.open_store(path, read_only=True):
        ran = subprocess.run(
            [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True
        )
    assert ran.stdout.startswith(f"3 the store {path} is in use by ")


def test_report_of_a_window(store: dedupstats.Store) -> None:
    whole = dedupstats.build_report(store)
    read = dedupstats.build_report(store, window=dedupstats.Window(tools=("Read",)))
    assert isinstance(whole, dedupstats.Report)
    assert isinstance(read, dedupstats.Report)
    assert read != whole


def test_errors_are_lines_with_a_hint(tmp_path: Path) -> None:
    with pytest.raises(dedupstats.DedupstatsError) as caught:
        dedupstats.open_store(tmp_path / "none.duckdb", read_only=True)
    assert "\n" not in caught.value.message
    assert caught.value.hint
    assert caught.value.exit_code == 3
