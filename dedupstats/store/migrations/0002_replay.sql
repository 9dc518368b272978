-- What happens between tool results, in the order in which it reaches an engine; made anew after each import.

create table derived.event (
    context_key bigint, family_key bigint, seq bigint, kind varchar, ledger_key bigint, is_steering boolean,
    line bigint, ts bigint
);

-- Schema `saved`: decisions of replays that were to be kept (`simulate --save`). An import leaves them alone.

create schema saved;
create table saved.replay (
    replay_key bigint, name varchar, policy varchar, preset varchar, settings varchar, scope varchar,
    saved_at bigint
);
create table saved.decision (
    replay_key bigint, emission_key bigint, action varchar, reason varchar, verdict varchar,
    anchor_key bigint, anchor_place varchar, marker_bytes bigint, other_call boolean, twice_removed boolean,
    changed_between boolean, later_dangling boolean, if_unknown_reads boolean
);

insert into raw.meta
select 'stale', 'the store was made by an earlier version, which did not keep the order of events'
where exists (from raw.context);
