-- The documented interface: everything downstream (rates, reports, `dedupstats sql`, notebooks) reads these
-- views and nothing else. Column texts are in columns.toml. Made anew whenever this file changes.

create or replace view unit as
select u.unit_key, u.source, u.key as path, make_timestamp(u.imported_at) as imported_at,
    count(f.path) as files, coalesce(bool_and(f.gone_at is not null), false) as is_gone
from raw.unit u
left join raw.file f using (unit_key)
group by all;

create or replace view session as
-- of two spellings of a drive letter one is kept, so that one folder is one project
select s.session_key, s.source, s.session_id, s.family_key,
    case when s.cwd[2] = ':' then lower(s.cwd[1]) || s.cwd[2:] else s.cwd end as project,
    count(c.context_key) as contexts, make_timestamp(min(c.started_at)) as started_at,
    make_timestamp(max(c.ended_at)) as ended_at,
    coalesce(bool_and(f.gone_at is not null), false) as is_gone
from derived.session s
join raw.context c using (session_key)
left join raw.file f on f.path = c.path
group by all;

create or replace view context as
select c.context_key, c.session_key, s.family_key, c.source, c.session_id, c.kind, c.native_id,
    c.parent_key, c.agent,
    case when c.cwd[2] = ':' then lower(c.cwd[1]) || c.cwd[2:] else c.cwd end as project,
    c.path, c.unit_key,
    make_timestamp(c.started_at) as started_at, make_timestamp(c.ended_at) as ended_at, c.is_moved
from raw.context c
join derived.session s using (session_key);

create or replace view turn as
select t.context_key, t.turn, t.line, make_timestamp(t.ts) as ts, t.emissions_before, t.is_steering
from raw.turn t;

create or replace view emission as
select e.emission_key, c.source, d.session_key, d.family_key, e.context_key, c.session_id,
    c.kind as context_kind, c.agent,
    case when s.cwd[2] = ':' then lower(s.cwd[1]) || s.cwd[2:] else s.cwd end as project,
    d.seq, e.ordinal, e.turn, e.line, c.path,
    make_timestamp(e.ts) as ts, make_timestamp(e.clock) as clock, e.request_key, e.call_id, d.copy_of, d.copy_of is not null as is_copy,
    ledger.text as ledger_session, version.text as version, model.text as model, t.name as tool,
    t.name_bytes as tool_bytes, t.category, t.read_only, t.provenance, e.call_key, e.args_sha64,
    e.norm_key, e.target, e.target_sha64, e.class, e.is_error, e.did_not_run, e.sha256, e.sha64, e.bytes,
    (e.bytes + 3) // 4 as tokens, e.chars, e.lines, e.letters, e.digits, e.newlines, e.other_ascii,
    e.non_ascii, e.o200k_tokens, e.shell_reads, e.rtk_mode, e.rtk_identity_bytes, e.rtk_ran, e.left_at, e.left_line,
    c.unit_key, f.gone_at is not null as is_gone, e.content
from raw.emission e
join derived.emission d using (emission_key)
join raw.context c using (context_key)
join derived.session s on s.session_key = d.session_key
join raw.tool t using (tool_key)
left join raw.file f on f.path = c.path
left join raw.name ledger on ledger.name_key = e.ledger_key
left join raw.name version on version.name_key = e.version_key
left join raw.name model on model.name_key = e.model_key;

create or replace view emission_repeat as
select d.emission_key, d.call_pooled, d.call_session, d.repeat_pooled, d.bytes_session, d.repeat_session,
    d.repeat_turn, d.repeat_in_sight, d.changed, d.in_sight, d.norm_call_pooled, d.norm_call_session,
    d.norm_repeat_pooled, d.norm_repeat_session, d.norm_repeat_turn, d.norm_repeat_in_sight, d.norm_changed,
    d.repeats_key
from derived.emission d;

create or replace view request as
select d.request_key, c.source, c.session_key, c.session_id, r.context_key, c.kind as context_kind,
    case when s.cwd[2] = ':' then lower(s.cwd[1]) || s.cwd[2:] else s.cwd end as project,
    r.native_id, r.turn, r.line, make_timestamp(r.ts) as ts, r.emissions_before,
    model.text as model, tier.text as service_tier, stop.text as stop_reason, version.text as version,
    d.input_tokens, d.cache_read_tokens, d.cache_write_5m_tokens, d.cache_write_1h_tokens,
    d.output_tokens, d.output_known, r.text_bytes, r.thinking_bytes, r.tool_input_bytes, r.calls,
    r.hidden_thinking, r.cost_usd, r.assumed_write_tokens, d.files
from derived.request d
join raw.request r on r.request_key = d.request_key and r.context_key = d.context_key
join raw.context c on c.context_key = r.context_key
join derived.session s on s.session_key = c.session_key
left join raw.name model on model.name_key = r.model_key
left join raw.name tier on tier.name_key = r.tier_key
left join raw.name stop on stop.name_key = r.stop_key
left join raw.name version on version.name_key = r.version_key;

create or replace view entered as
select e.context_key, c.session_key, c.source, e.turn, e.line, make_timestamp(e.ts) as ts,
    e.emissions_before, e.kind, type.text as type, e.bytes, e.letters, e.digits, e.newlines,
    e.other_ascii, e.non_ascii, e.sha256, e.target_sha64
from raw.entered e
join raw.context c using (context_key)
left join raw.name type on type.name_key = e.type_key;

create or replace view boundary as
select b.context_key, c.session_key, c.source, b.at_ordinal, b.line, make_timestamp(b.ts) as ts, b.kind,
    b.trigger, b.tokens_before, b.tokens_after, b.kept, b.removed, b.kept_count, b.removed_count
from raw.boundary b
join raw.context c using (context_key);

create or replace view event as
select v.context_key, c.session_key, v.family_key, c.source, v.seq, v.kind, v.is_steering,
    coalesce(ledger.text, c.session_id) as ledger_session, v.line, make_timestamp(v.ts) as ts
from derived.event v
join raw.context c using (context_key)
left join raw.name ledger on ledger.name_key = v.ledger_key;

create or replace view decision as
select r.name, r.policy, r.preset, r.settings, r.scope, r.knowledge, d.emission_key, d.action, d.reason, d.verdict,
    d.anchor_key, d.anchor_place, d.marker_bytes, d.other_call, d.twice_removed, d.changed_between,
    d.later_dangling, d.if_unknown_reads, make_timestamp(r.saved_at) as saved_at,
    r.saved_at >= coalesce((select max(value::bigint) from raw.meta where key = 'settled'), 0) as is_current
from saved.decision d
join saved.replay r using (replay_key);

create or replace view rtk_command as
select r.row_key, r.unit_key, r.native_id, make_timestamp(r.ts) as ts, r.stamp, r.original_sha64,
    r.rtk_sha64, r.rtk_name, r.original, r.rtk, r.is_read, r.is_recovery, r.input_tokens,
    r.output_tokens, r.saved_tokens, r.exec_ms,
    coalesce(case when project.text[2] = ':' then lower(project.text[1]) || project.text[2:]
        else project.text end, '') as project,
    r.identity_bytes
from raw.rtk_command r
join raw.unit u using (unit_key)
left join raw.name project on project.name_key = r.project_key
qualify row_number() over (partition by r.copy_key order by u.key, r.native_id) = 1;

create or replace view rtk_output as
select r.row_key, r.unit_key, r.native_id, session.text as session_id, r.content_sha64, r.identity_sha64,
    r.output_tokens, r.line_count, r.step, r.emit_count, make_timestamp(r.first_at) as first_at,
    make_timestamp(r.last_at) as last_at
from raw.rtk_output r
join raw.unit u using (unit_key)
left join raw.name session on session.name_key = r.session_key
qualify row_number() over (
    -- of two copies of a database the later one has counted more
    partition by r.session_key, r.content_sha64, r.step, r.first_at
    order by r.emit_count desc, u.key, r.native_id) = 1;

create or replace view rtk_hook_decision as
select r.row_key, r.unit_key, r.native_id, make_timestamp(r.ts) as ts, session.text as session_id, r.call_id,
    coalesce(case when project.text[2] = ':' then lower(project.text[1]) || project.text[2:]
        else project.text end, '') as project,
    r.raw_sha64, r.rewritten_sha64, r.decision,
    version.text as version
from raw.rtk_hook_decision r
join raw.unit u using (unit_key)
left join raw.name session on session.name_key = r.session_key
left join raw.name project on project.name_key = r.project_key
left join raw.name version on version.name_key = r.version_key
qualify row_number() over (
    partition by r.call_id, r.ts, r.raw_sha64 order by u.key, r.native_id) = 1;

create or replace view file as
select f.path, f.unit_key, u.source, f.size, make_timestamp(f.mtime_ns // 1000) as modified_at,
    n.records, n.used - coalesce(k.copies, 0) as used, n.copies + coalesce(k.copies, 0) as copies,
    n.ignored, n.skipped, n.unfinished, make_timestamp(f.gone_at) as gone_at
from raw.file f
left join raw.unit u using (unit_key)
left join raw.file_count n on n.unit_key = f.unit_key and n.path = f.path
left join (
    select unit_key, path, count(*) as copies
    from (
        -- a row is a copy if every result on it is one
        select c.unit_key, c.path, e.context_key, e.line
        from raw.emission e
        join derived.emission d using (emission_key)
        join raw.context c using (context_key)
        where not e.is_return
        group by all
        having bool_and(d.copy_of is not null)
        union all
        -- a row of RTK's is one if its view leaves it out
        select r.unit_key, u.key, r.row_key, r.native_id
        from (
            select unit_key, row_key, native_id from raw.rtk_command anti join rtk_command using (row_key)
            union all
            select unit_key, row_key, native_id from raw.rtk_output anti join rtk_output using (row_key)
            union all
            select unit_key, row_key, native_id
            from raw.rtk_hook_decision anti join rtk_hook_decision using (row_key)
        ) r
        join raw.unit u using (unit_key)
    )
    group by all
) k on k.unit_key = f.unit_key and k.path = f.path;

create or replace view ignored as
select i.unit_key, u.source, i.path, i.type, i.records
from raw.ignored i
join raw.unit u using (unit_key);

create or replace view skipped as
select s.unit_key, u.source, s.path, s.line, s.reason, s.records
from raw.skipped s
join raw.unit u using (unit_key);

create or replace view request_cost as
select r.request_key, r.context_key, r.session_key, r.session_id, r.source, r.context_kind, x.agent,
    r.project, r.model, r.ts,
    c.read_tokens + c.write_1h_tokens + c.write_5m_tokens + c.uncached_tokens as prompt_tokens,
    c.read_tokens, c.write_1h_tokens, c.write_5m_tokens, c.uncached_tokens, c.input_usd,
    c.output_tokens, c.is_output_known, c.output_usd, c.is_modelled, c.is_expired, r.assumed_write_tokens
from derived.request_cost c
join request r using (request_key)
join raw.context x on x.context_key = r.context_key;

create or replace view request_share as
select s.request_key, s.kind, s.label,
    s.read_tokens + s.write_1h_tokens + s.write_5m_tokens + s.uncached_tokens as tokens,
    s.read_tokens, s.write_1h_tokens, s.write_5m_tokens, s.uncached_tokens, s.usd, s.again_tokens,
    s.again_usd
from derived.request_share s;

create or replace view emission_cost as
select e.emission_key, coalesce(d.copy_of, e.emission_key) as original_key, e.tokens, e.level,
    e.class_tokens, e.requests,
    e.read_tokens + e.write_1h_tokens + e.write_5m_tokens + e.uncached_tokens as carried_tokens,
    e.read_tokens, e.write_1h_tokens, e.write_5m_tokens, e.uncached_tokens, e.usd, e.unpriced_tokens,
    e.modelled_tokens
from derived.emission_cost e
join derived.emission d using (emission_key);

create or replace view calibration as
select e.source, e.model, e.tool, count(*) as results, count(distinct e.session_key) as sessions,
    sum(e.bytes) / sum(c.tokens) as bytes_per_token,
    median((e.bytes + 3) // 4 / c.tokens - 1) as bytes4_error,
    median(c.class_tokens / c.tokens - 1) as class_error,
    median(abs(c.class_tokens / c.tokens - 1)) as class_median_error,
    quantile_cont(abs(c.class_tokens / c.tokens - 1), 0.9) as class_p90_error
from derived.emission_cost c
join emission e using (emission_key)
where c.level = 0 and not e.is_copy and e.bytes >= 400 and e.class <> 'image' and c.tokens > 0
group by all;

create or replace view calibration_fit as
select f.source, f.family, f.basis, f.basis = 'fitted' as is_refitted, f.steps, f.sessions, f.tested,
    f.const, f.letter, f.digit, f.newline, f.other_ascii, f.non_ascii,
    case when f.basis = 'fitted' then f.refit_median_error else f.sheet_median_error end as median_error,
    case when f.basis = 'fitted' then f.refit_p90_error else f.sheet_p90_error end as p90_error,
    f.sheet_median_error, f.sheet_p90_error, f.refit_median_error, f.refit_p90_error, f.bytes4_error
from derived.calibration_fit f;
