-- Of a file with very many records that cannot be used, the first are rows of their own and the rest is one.
alter table raw.skipped add column records bigint default 1;
