--
-- Rows are filled by column name: the library and the SQL script need not be of
-- one version.
--
CREATE TABLE r (i int PRIMARY KEY) WITH (autovacuum_enabled = off);
INSERT INTO r SELECT generate_series(1, 1000);

-- A query's error and hint
CREATE FUNCTION error_and_hint(query text, OUT error text, OUT hint text)
LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE query;
EXCEPTION WHEN others THEN
	GET STACKED DIAGNOSTICS error = MESSAGE_TEXT, hint = PG_EXCEPTION_HINT;
	error := SQLSTATE || ': ' || error;
END
$$;

-- An older script has fewer columns, maybe in another order.
CREATE FUNCTION older_stats(relation regclass, OUT live_items bigint, OUT bytes bigint, OUT version int)
	AS '$libdir/streamstat', 'sst_btree_stats' LANGUAGE C;
SELECT o.live_items, o.bytes = b.bytes AS bytes, o.version = b.version AS version
	FROM older_stats('r_pkey') o, streamstat.btree_stats('r_pkey') b;
CREATE FUNCTION older_samples(relation regclass, blocks int, margin float8, max_time interval, seed bigint,
	OUT high float8, OUT statistic text)
	RETURNS SETOF record AS '$libdir/streamstat', 'sst_sample_stats' LANGUAGE C;
SELECT * FROM older_samples('r_pkey', 1000, NULL, NULL, NULL) WHERE statistic ~ 'items';
CREATE FUNCTION older_report(OUT measured text, OUT bytes bigint) RETURNS SETOF record
	AS '$libdir/streamstat', 'sst_last_database_report' LANGUAGE C;
CALL streamstat.run_database_report(budget => '0');
SELECT count(*) > 0 AS rows FROM older_report();

-- A newer script has more columns, or other types.
CREATE FUNCTION newer_stats(relation regclass, OUT live_items bigint, OUT beauty_percent float8)
	AS '$libdir/streamstat', 'sst_btree_stats' LANGUAGE C;
CREATE FUNCTION newer_samples(relation regclass, blocks int, margin float8, max_time interval, seed bigint,
	OUT statistic text, OUT beauty_percent float8)
	RETURNS SETOF record AS '$libdir/streamstat', 'sst_sample_stats' LANGUAGE C;
CREATE FUNCTION other_stats(relation regclass, OUT live_items numeric, OUT bytes bigint)
	AS '$libdir/streamstat', 'sst_btree_stats' LANGUAGE C;

-- The hint says what is behind: nothing of the extension's, ...
SELECT * FROM error_and_hint('SELECT newer_stats(''r_pkey'')');
-- ... the library, ...
BEGIN;
UPDATE pg_extension SET extversion = '99.0' WHERE extname = 'streamstat';
-- (also where the function was taken out of the extension)
SELECT * FROM error_and_hint('SELECT newer_stats(''r_pkey'')');
ALTER EXTENSION streamstat ADD FUNCTION newer_stats(regclass);
ALTER EXTENSION streamstat ADD FUNCTION newer_samples(regclass, int, float8, interval, bigint);
SELECT * FROM error_and_hint('SELECT newer_stats(''r_pkey'')');
SELECT * FROM error_and_hint('SELECT * FROM newer_samples(''r_pkey'', 10, NULL, NULL, NULL)');
ROLLBACK;
-- ... or the script
BEGIN;
ALTER EXTENSION streamstat ADD FUNCTION other_stats(regclass);
UPDATE pg_extension SET extversion = '0.9' WHERE extname = 'streamstat';
SELECT * FROM error_and_hint('SELECT other_stats(''r_pkey'')');
ROLLBACK;

-- An update adds a column while views and tables depend on it.
CREATE VIEW r_view AS SELECT * FROM streamstat.index_stats('r_pkey');
CREATE TABLE r_kept AS SELECT i AS stats FROM streamstat.index_stats('r_pkey') i;
BEGIN;
ALTER TYPE streamstat.index_stats_row ADD ATTRIBUTE beauty_percent float8;
SELECT count(*) FROM r_kept;
-- which this library does not know
SELECT * FROM error_and_hint('SELECT pages FROM r_view');
ROLLBACK;
SELECT relation, access_method, pages, note FROM r_view;
DROP VIEW r_view;
-- ... or removes one
BEGIN;
ALTER TYPE streamstat.index_stats_row DROP ATTRIBUTE bytes;
SELECT relation, access_method, pages, note FROM streamstat.index_stats('r_pkey');
ROLLBACK;

DROP TABLE r, r_kept;
DROP FUNCTION error_and_hint, older_stats, older_samples, older_report, newer_stats, newer_samples, other_stats;
