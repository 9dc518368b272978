-- What was written to the cache for a time that the log does not tell. Rows read before have none until they are read
-- again (`import --force`).

alter table raw.request add column assumed_write_tokens bigint default 0;
