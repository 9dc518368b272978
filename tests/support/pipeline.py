"""The whole way from files to figures: transcripts written, imported and counted.

`imported` reads files into an emptied store and checks what must hold of every history, before a test looks
at its own figures.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dedupstats import import_paths, open_store, rates
from dedupstats.analytics.rates import RULES
from support.claude import Transcript

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dedupstats import ImportSummary, Rates, Store

JSON = dict[str, Any]

_VIEWS = ("emission", "emission_repeat", "request", "session", "context", "turn", "boundary", "file")


# -- transcripts ---------------------------------------------------------------------------------------------


class Log(Transcript):
    """A transcript whose messages are named by their calls, so that no two files share one by accident."""

    def call(
        self, call_id: str, tool: str, arguments: JSON, message: str | None = None, **fields: Any
    ) -> str:
        """The model calls a tool."""
        return super().call(call_id, tool, arguments, message or f"m-{call_id}", **fields)

    def bash(self, call_id: str, command: str, text: str) -> str:
        """A shell command and its result."""
        self.call(call_id, "Bash", {"command": command})
        return self.result(call_id, text)


def copied(rows: Sequence[Any], **changes: Any) -> list[JSON]:
    """The same rows once more, with other values in some fields."""
    return [json.loads(json.dumps(row)) | changes for row in rows]


def write(path: Path, rows: Sequence[JSON | str]) -> Path:
    """Write rows to a transcript, folders and all; text stands there as it is, as a line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) for row in rows]
    path.write_text("".join(line + "\n" for line in lines), "utf-8")
    return path


# -- what came of them ---------------------------------------------------------------------------------------


class Records(NamedTuple):
    """How the records of all files were used; they add up to what was read."""

    used: int
    copies: int
    ignored: int
    skipped: int


class Sent(NamedTuple):
    """A request with its tokens, as the sheet writes `u(in,cw,cr,out)`."""

    message: str
    input: int
    write: int
    read: int
    output: int


@dataclass(frozen=True)
class History:
    """A store after its imports.

    Attributes:
        store: Shared with other tests: read it before the next import.
        summary: What the last import said.
    """

    store: Store
    summary: ImportSummary

    @cached_property
    def rates(self) -> Rates:
        """Rates of everything, all rules."""
        return rates(self.store, all_rules=True, tz="UTC")

    @cached_property
    def results(self) -> list[str]:
        """Call ids of the results that count, in order of arrival."""
        return self.column("select call_id from emission where not is_copy order by family_key, seq")

    @cached_property
    def repeats(self) -> dict[str, list[str]]:
        """Call ids of the repeats under each rule that has any, in order of arrival."""
        found = {
            rule.name: self.column(
                f"select call_id from emission join emission_repeat using (emission_key) "
                f"where {rule.column()} order by family_key, seq"
            )
            for rule in RULES
        }
        return {name: calls for name, calls in found.items() if calls}

    @cached_property
    def requests(self) -> list[Sent]:
        """Requests, by the id of their message."""
        return [
            Sent(*row)
            for row in self.store.query(
                "select native_id, input_tokens, cache_write_5m_tokens + cache_write_1h_tokens, "
                "cache_read_tokens, output_tokens from request order by all"
            )
        ]

    @cached_property
    def records(self) -> Records:
        """How records were used, in total."""
        (row,) = self.store.query("select sum(used), sum(copies), sum(ignored), sum(skipped) from file")
        return Records(*(int(number or 0) for number in row))

    @cached_property
    def classes(self) -> dict[str, str]:
        """Class of each result, by its call id."""
        return dict(self.store.query("select call_id, class from emission where not is_copy order by seq"))

    def column(self, query: str) -> list[Any]:
        """The first column of a query."""
        return [row[0] for row in self.store.query(query)]

    def snapshot(self) -> list[list[tuple[Any, ...]]]:
        """All rows of the views, which two imports of the same files must agree in to the last value."""
        return [self.store.query(f"from {view} order by all") for view in _VIEWS]


def imported(*paths: Path | Sequence[Path], **options: Any) -> History:
    """Import into the shared store, emptied before, and check what must hold of every history.

    Args:
        paths: Each is one import: a file or folder, or several.
        options: As `import_paths` has them.
    """
    history = _read(paths, **options)
    _check(history)
    said = history.summary
    if len(paths) == 1:
        assert Records(said.used, said.copies, said.ignored, said.skipped) == history.records
    return history


def agree(*paths: Path) -> History:
    """Import files together, in the other order one by one, and twice: all must come to the same rows.

    Every order and every partition of the samples is tried by tests/property/test_import_order.py.
    """
    together = list(paths)
    found = [_read([together, together], force=True).snapshot()]
    if len(paths) > 1:
        found += [_read(paths[::-1]).snapshot(), _read([paths[-1], together]).snapshot()]
    history = imported(together)
    expected = history.snapshot()
    assert all(snapshot == expected for snapshot in found)
    return history


def _read(imports: Sequence[Path | Sequence[Path]], **options: Any) -> History:
    store = _shared_store()
    _empty(store)
    for paths in imports:
        group = [paths] if isinstance(paths, Path) else paths
        summary = import_paths(store, group, **options)
    return History(store, summary)


@cache
def _shared_store() -> Store:
    return open_store(":memory:")


def _empty(store: Store) -> None:
    with store.transaction():
        for schema, table in store.query(
            "select schema_name, table_name from duckdb_tables() where schema_name in ('raw', 'derived')"
        ):
            if table not in {"migration", "meta"}:
                store.query(f"delete from {schema}.{table}")


def _check(history: History) -> None:
    """What the sheet demands of every import (P22), and what rules, copies and order mean by definition."""
    query = history.store.query
    assert not query(
        "select path from file where source is not null and (records <> used + copies + ignored + skipped "
        "or least(used, copies, ignored, skipped) < 0)"
    )
    total = history.rates.total
    assert total.results.results == len(history.results)
    assert total.results.results + total.copies.results == query("select count(*) from emission")[0][0]
    assert {name: tally.results for name, tally in total.rules.items() if tally.results} == {
        name: len(calls) for name, calls in history.repeats.items()
    }
    assert not query(
        "select 1 from emission join emission_repeat using (emission_key) where "
        "(is_copy and (call_session or bytes_session or call_pooled or changed)) "
        "or (repeat_in_sight and not repeat_session) or (repeat_turn and not repeat_session) "
        "or (repeat_session and not (bytes_session and call_session)) "
        "or (repeat_pooled and not call_pooled) or (changed and (bytes_session or not call_session))"
    )
    assert not query("select context_key from emission group by 1 having max(ordinal) + 1 <> count(*)")
    assert not query("select family_key, seq from emission group by all having count(*) > 1")
    assert not query(
        "select 1 from emission later join emission earlier using (context_key) "
        "where later.ordinal > earlier.ordinal and later.seq < earlier.seq"
    )
