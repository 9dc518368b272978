-- Schema `raw`: what the sources said, row by row; the columns of a table are the fields of its record in
-- model.py, behind the columns that only the store knows. Nothing downstream reads it: see views.sql.
-- Column types are BIGINT, BOOLEAN, DOUBLE, VARCHAR, BLOB; times are BIGINT microseconds UTC.
-- No primary keys: they cost a third of an import; uniqueness is the importer's duty and checked by a test.

create table raw.unit (
    unit_key bigint, source varchar, key varchar, imported_at bigint
);
create table raw.file (
    path varchar, unit_key bigint, size bigint, mtime_ns bigint, fingerprint blob, gone_at bigint
);
create table raw.file_count (
    unit_key bigint, path varchar, records bigint, used bigint, copies bigint, ignored bigint,
    skipped bigint, unfinished boolean
);
create table raw.ignored (unit_key bigint, path varchar, type varchar, records bigint);
create table raw.skipped (unit_key bigint, path varchar, line bigint, reason varchar);
create table raw.name (name_key bigint, text varchar);
create table raw.tool (
    tool_key bigint, name varchar, category varchar, read_only varchar, provenance varchar, name_bytes bigint
);
create table raw.context (
    unit_key bigint, source varchar, session_key bigint,
    context_key bigint, native_id varchar, kind varchar, session_id varchar, parent_key bigint, agent varchar,
    path varchar, cwd varchar, started_at bigint, ended_at bigint, is_moved boolean
);
create table raw.turn (
    context_key bigint, turn bigint, line bigint, ts bigint, emissions_before bigint, is_steering boolean
);
create table raw.request (
    request_key bigint, context_key bigint, native_id varchar, line bigint, ts bigint, clock bigint,
    turn bigint, emissions_before bigint, model_key bigint, tier_key bigint, stop_key bigint,
    version_key bigint, input_tokens bigint, cache_read_tokens bigint, cache_write_5m_tokens bigint,
    cache_write_1h_tokens bigint, output_tokens bigint, output_known boolean, text_bytes bigint,
    thinking_bytes bigint, tool_input_bytes bigint, calls bigint, hidden_thinking bigint, cost_usd double,
    is_fork boolean, is_home boolean, is_sidechain boolean
);
create table raw.emission (
    left_at bigint, left_line bigint,
    emission_key bigint, context_key bigint, ordinal bigint, line bigint, ts bigint, clock bigint,
    turn bigint, request_key bigint, call_id varchar, copy_key bigint, is_fork boolean, is_home boolean,
    is_return boolean, ledger_key bigint, version_key bigint, model_key bigint, tool_key bigint,
    call_key bigint, args_sha64 bigint, norm_key bigint, target_sha64 bigint, target varchar,
    class varchar, is_error boolean, did_not_run boolean, sha256 blob, sha64 bigint, bytes bigint,
    chars bigint, lines bigint, letters bigint, digits bigint, newlines bigint, other_ascii bigint,
    non_ascii bigint, shell_reads boolean, rtk_mode varchar, rtk_identity_bytes bigint, rtk_ran boolean,
    content varchar
);
create table raw.entered (
    context_key bigint, line bigint, ts bigint, turn bigint, emissions_before bigint, kind varchar,
    type_key bigint, bytes bigint, letters bigint, digits bigint, newlines bigint, other_ascii bigint,
    non_ascii bigint, sha256 blob, target_sha64 bigint
);
create table raw.boundary (
    context_key bigint, at_ordinal bigint, line bigint, ts bigint, kind varchar, trigger varchar,
    tokens_before bigint, tokens_after bigint, kept varchar, removed varchar, kept_count bigint,
    removed_count bigint
);
create table raw.rtk_command (
    unit_key bigint,
    row_key bigint, native_id bigint, copy_key bigint, ts bigint, stamp varchar, original_sha64 bigint,
    rtk_sha64 bigint, rtk_name varchar, original varchar, rtk varchar, is_read boolean,
    is_recovery boolean, input_tokens bigint, output_tokens bigint, saved_tokens bigint, exec_ms bigint,
    project_key bigint, identity_bytes bigint
);
create table raw.rtk_output (
    unit_key bigint,
    row_key bigint, native_id bigint, session_key bigint, content_sha64 bigint, identity_sha64 bigint,
    output_tokens bigint, line_count bigint, step bigint, emit_count bigint, first_at bigint, last_at bigint
);
create table raw.rtk_hook_decision (
    unit_key bigint,
    row_key bigint, native_id bigint, ts bigint, session_key bigint, call_id varchar, project_key bigint,
    raw_sha64 bigint, rewritten_sha64 bigint, decision varchar, version_key bigint
);

-- Schema `derived`: what the history says about the raw rows, made anew after each import (history/).

create table derived.session (
    session_key bigint, source varchar, session_id varchar, family_key bigint, cwd varchar
);
create table derived.emission (
    emission_key bigint, session_key bigint, family_key bigint, seq bigint, copy_of bigint,
    in_sight boolean, call_pooled boolean, call_session boolean, repeat_pooled boolean,
    bytes_session boolean, repeat_session boolean, repeat_turn boolean, repeat_in_sight boolean,
    changed boolean, norm_call_pooled boolean, norm_call_session boolean, norm_repeat_pooled boolean,
    norm_repeat_session boolean, norm_repeat_turn boolean, norm_repeat_in_sight boolean,
    norm_changed boolean
);
create table derived.request (
    request_key bigint, context_key bigint, input_tokens bigint, cache_read_tokens bigint,
    cache_write_5m_tokens bigint, cache_write_1h_tokens bigint, output_tokens bigint, output_known boolean,
    files bigint
);
