-- What a person said of tools when a replay was saved.

alter table saved.replay add column knowledge varchar default '{}';
