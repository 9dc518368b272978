"""The report: built once as plain data, then printed by renderers that compute nothing."""

from __future__ import annotations

from dedupstats.report.build import build
from dedupstats.report.model import SCHEMA_VERSION, Report

__all__ = ["SCHEMA_VERSION", "Report", "build"]
