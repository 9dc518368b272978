"""The samples, imported once for all tests of the report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dedupstats import import_paths
from dedupstats.analytics.window import Window
from dedupstats.report.build import build
from dedupstats.store import open_store

if TYPE_CHECKING:
    from dedupstats.report.model import Report

SAMPLES = Path(__file__).parents[3] / "sample_data"


@pytest.fixture(scope="session")
def sample_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("samples") / "s.duckdb"
    with open_store(path) as store:
        import_paths(store, [SAMPLES])
    return path


@pytest.fixture(scope="session")
def sample_report(sample_store: Path) -> Report:
    with open_store(sample_store, read_only=True) as store:
        return build(store, window=Window(zone="UTC"))
