"""The Report as a JSON document, and back: strict JSON, versioned, complete."""

from __future__ import annotations

import msgspec

from dedupstats.errors import UsageError
from dedupstats.report.model import SCHEMA_VERSION, Report
from dedupstats.report.text import safe_json


def render(report: Report) -> str:
    """The report as indented JSON that ends in a newline; what has no value is null, never NaN.

    Example:
        >>> from dedupstats.report.build import build
        >>> from dedupstats.store import open_store
        >>> with open_store(":memory:") as store:
        ...     report = build(store)
        >>> parse(render(report)) == report
        True
    """
    return safe_json(msgspec.json.format(msgspec.json.encode(report), indent=2).decode()) + "\n"


def parse(text: str | bytes) -> Report:
    """The report that `render` wrote.

    Raises:
        UsageError: The text is no report, or one of another version.
    """
    try:
        version = msgspec.json.decode(text, type=_Versioned).schema_version
        if version == SCHEMA_VERSION:
            return msgspec.json.decode(text, type=Report)
    except msgspec.DecodeError as error:
        raise UsageError(
            f"not a report of dedupstats: {error}", "make one: dedupstats report -o report.json"
        ) from error
    raise UsageError(
        f"the report has schema version {version}, this program reads {SCHEMA_VERSION}",
        "make it again: dedupstats report -o report.json",
    )


class _Versioned(msgspec.Struct):
    schema_version: int
