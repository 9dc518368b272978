"""Tables of RTK's `history.db` as release 0.49 makes them, with the one that dedup adds."""

TABLES = (
    """CREATE TABLE commands (
            id INTEGER PRIMARY KEY,
            timestamp TEXT NOT NULL,
            original_cmd TEXT NOT NULL,
            rtk_cmd TEXT NOT NULL,
            input_tokens INTEGER NOT NULL,
            output_tokens INTEGER NOT NULL,
            saved_tokens INTEGER NOT NULL,
            savings_pct REAL NOT NULL
        , exec_time_ms INTEGER DEFAULT 0, project_path TEXT DEFAULT '')""",
    """CREATE TABLE parse_failures (
            id INTEGER PRIMARY KEY,
            timestamp TEXT NOT NULL,
            raw_command TEXT NOT NULL,
            error_message TEXT NOT NULL,
            fallback_succeeded INTEGER NOT NULL DEFAULT 0
        )""",
    """CREATE TABLE hook_decisions (
            id INTEGER PRIMARY KEY,
            timestamp TEXT NOT NULL,
            session_id TEXT NOT NULL,
            tool_use_id TEXT NOT NULL,
            project_path TEXT DEFAULT '',
            raw_cmd TEXT NOT NULL,
            decision TEXT NOT NULL,
            rewritten_cmd TEXT,
            rtk_version TEXT NOT NULL
        )""",
    """CREATE TABLE session_outputs (
            id INTEGER PRIMARY KEY,
            session_id TEXT NOT NULL,
            content_hash TEXT NOT NULL,
            identity TEXT NOT NULL,
            output_tokens INTEGER NOT NULL,
            line_count INTEGER NOT NULL,
            step_ordinal INTEGER NOT NULL,
            emit_count INTEGER NOT NULL DEFAULT 1,
            first_seen TEXT NOT NULL,
            last_seen TEXT NOT NULL
        )""",
)
INDEXES = (
    "CREATE INDEX idx_pf_timestamp ON parse_failures(timestamp)",
    "CREATE INDEX idx_hook_decisions_tool_use_id ON hook_decisions(tool_use_id)",
    "CREATE INDEX idx_hook_decisions_timestamp ON hook_decisions(timestamp)",
    "CREATE INDEX idx_dedup_lookup ON session_outputs(session_id, content_hash)",
)
"""those on `commands` are left out: no reader needs them, and they would make the file half as big again"""
