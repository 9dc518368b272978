-- Which emission makes another one a repeat, so that pairs need no search through the history.

alter table derived.emission add column repeats_key bigint;

insert into raw.meta
select 'stale', 'the store was made by an earlier version, which did not keep what an emission repeats'
where exists (from raw.context) and not exists (from raw.meta where key = 'stale');
