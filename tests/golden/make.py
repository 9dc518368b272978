"""What an import makes of each sample, as a text that people can read: `python tests/golden/make.py`.

Writes `<sample>.tsv` beside this file. Names are those of the samples, never keys of the store; paths are
relative to the sample's folder. Letters are explained in the files themselves.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from dedupstats import import_paths, open_store

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dedupstats import Store

FOLDER = Path(__file__).parent
SAMPLES = FOLDER.parents[1] / "sample_data"
PARTS = ("claude_code", "docker_agent", "rtk")

RULES = {
    "p": "call_pooled",
    "c": "call_session",
    "P": "repeat_pooled",
    "b": "bytes_session",
    "s": "repeat_session",
    "t": "repeat_turn",
    "v": "repeat_in_sight",
    "x": "changed",
}
MARKS = {"e": "is_error", "n": "did_not_run", "r": "shell_reads", "k": "rtk_ran"}
# names of contexts: numbered by file, then by time
CONTEXTS = """
create or replace temp view named as
select context_key, 'c' || printf('%02d', row_number() over (order by path, started_at, native_id)) as name,
    row_number() over (order by path, started_at, native_id) as number
from context
"""


def dump(part: str) -> str:
    """The golden text of one sample."""
    with open_store(":memory:") as store:
        import_paths(store, [SAMPLES / part])
        store.query(CONTEXTS)
        blocks = _rtk(store) if part == "rtk" else _transcripts(store)
        blocks = [_files(store), *blocks]
    root = f"{(SAMPLES / part).resolve().as_posix()}/"
    return "\n".join(blocks).replace(root, "")


def _files(store: Store) -> str:
    return "\n".join(
        (
            _block(store, "files", "path, records, used, copies, ignored, skipped, unfinished from file"),
            _block(store, "ignored", "path, type, records from ignored"),
            _block(store, "skipped", "path, line, reason from skipped"),
        )
    )


def _transcripts(store: Store) -> list[str]:
    letters = {
        name: " || ".join(f"if({column}, '{letter}', '')" for letter, column in columns.items())
        for name, columns in (
            ("rules", RULES),
            ("marks", {letter: f"coalesce({column}, false)" for letter, column in MARKS.items()}),
        )
    }
    key = "; ".join(f"{letter} {column}" for letter, column in {**RULES, **MARKS}.items())
    return [
        _block(
            store,
            "sessions",
            "s.session_id as session, f.session_id as family, s.project, s.contexts, s.started_at, "
            "s.ended_at from session s "
            "join (select family_key, min(session_id) as session_id from session group by all) f "
            "using (family_key)",
        ),
        _block(
            store,
            "contexts",
            "n.name, left(c.session_id, 8) as session, c.kind, c.native_id, p.name as parent, c.agent, "
            "c.project, c.path, c.started_at, c.ended_at, "
            "(select count(*) from turn t where t.context_key = c.context_key) as turns, c.is_moved "
            "from context c join named n using (context_key) "
            "left join named p on p.context_key = c.parent_key",
        ),
        _block(
            store,
            "boundaries",
            "n.name as context, b.line, b.at_ordinal, b.kind, b.trigger, b.tokens_before, b.tokens_after, "
            "b.kept, b.removed, b.kept_count, b.removed_count "
            "from boundary b join named n using (context_key)",
        ),
        _block(
            store,
            f"results: one line each; rules and marks: {key}",
            "n.name as context, e.ordinal, e.seq, e.turn, e.line, e.tool, e.class, e.bytes, e.lines, "
            f"e.read_only, e.is_copy as copy, e.left_at, {letters['rules']} as rules, "
            f"{letters['marks']} as marks, e.rtk_mode as rtk, left(ledger_session, 8) as ledger, "
            # a project's drive letter is in lower case, a target is as it was typed
            "left(replace(replace(e.target, e.project || '/', ''), "
            "upper(e.project[1]) || e.project[2:] || '\\', ''), 50) as target "
            "from emission e join emission_repeat using (emission_key) join named n using (context_key)",
        ),
        _block(
            store,
            "requests: per context",
            "n.name as context, r.model, r.version, r.service_tier, count(*) as requests, "
            "count(*) filter (r.output_known) as output_known, sum(r.input_tokens) as input, "
            "sum(r.cache_read_tokens) as cache_read, sum(r.cache_write_5m_tokens) as write_5m, "
            "sum(r.cache_write_1h_tokens) as write_1h, sum(r.output_tokens) as output, "
            "sum(r.calls) as calls, sum(r.text_bytes) as text, sum(r.thinking_bytes) as thinking, "
            "sum(r.tool_input_bytes) as tool_input, sum(r.files) as held "
            "from request r join named n using (context_key) group by all",
        ),
        _block(
            store,
            "entered: per context",
            "n.name as context, e.kind, e.type, count(*) as rows, sum(e.bytes) as bytes, "
            "count(e.sha256) as files from entered e join named n using (context_key) group by all",
        ),
    ]


def _rtk(store: Store) -> list[str]:
    seen = (
        "(select *, row_number() over (partition by original_sha64 order by ts, native_id) > 1 as again "
        "from rtk_command)"
    )
    sums = (
        "count(*) as commands, count(*) filter (again) as repeats, sum(input_tokens) as input, "
        "sum(output_tokens) as output, coalesce(sum(output_tokens) filter (again), 0) as repeated_output, "
        "sum(saved_tokens) as saved, count(*) filter (is_read) as reads, "
        f"count(*) filter (is_recovery) as recoveries from {seen}"
    )
    return [
        _block(store, "commands: all; a repeat has the same command line as an earlier row", sums),
        _block(store, "commands: by name", f"rtk_name, {sums} group by all"),
        _block(store, "commands: by project", f"project, {sums} group by all"),
        _block(store, "commands: by day", f"ts::date as day, {sums} group by all"),
        _block(
            store,
            "commands: forms of stamps",
            "regexp_replace(stamp, '[0-9]', '0', 'g') as form, count(*) as commands "
            "from rtk_command group by all",
        ),
        _block(
            store,
            "session outputs: by session",
            "session_id, count(*) as rows, sum(emit_count) as emitted, max(step) as last_step, "
            "sum(output_tokens) as tokens, sum(line_count) as lines, "
            "min(first_at) as first, max(last_at) as last from rtk_output group by all",
        ),
        _block(
            store,
            "hook decisions",
            "native_id as id, ts, left(session_id, 8) as session, call_id, decision, "
            "rewritten_sha64 is not null as rewritten, project, version from rtk_hook_decision",
        ),
    ]


def _block(store: Store, title: str, query: str) -> str:
    """A heading, the names of the columns, the rows in order of all columns; without rows, "none"."""
    frame = store.frame(f"select {query} order by all")
    rows = ["\t".join(_cells(row)) for row in frame.rows()]
    return "\n".join((f"# {title}", "\t".join(frame.columns), *(rows or ["none"]), ""))


def _cells(row: Sequence[Any]) -> list[str]:
    return ["-" if value in {None, ""} else str(value).replace("\n", "\\n") for value in row]


def main() -> None:
    """Write all golden files."""
    for part in PARTS:
        (FOLDER / f"{part}.tsv").write_text(dump(part), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
