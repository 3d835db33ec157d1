--
-- Our functions dirty no page and write no WAL, even when they are the first to
-- read freshly written rows.  A plain scan would set hint bits on them.
--
SET client_min_messages = warning;

CREATE FUNCTION writes(query text) RETURNS TABLE (dirtied int, written int, wal int)
LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, WAL, FORMAT JSON) ' || query INTO plan;
	plan := plan -> 0 -> 'Plan';
	RETURN QUERY SELECT
		(plan ->> 'Shared Dirtied Blocks')::int + (plan ->> 'Local Dirtied Blocks')::int,
		(plan ->> 'Shared Written Blocks')::int,
		(plan ->> 'WAL Records')::int;
END
$$;

CREATE TABLE w (i int, t text) WITH (autovacuum_enabled = off);
CREATE INDEX w_i ON w (i);
CREATE INDEX w_hash ON w USING hash (i);
CREATE INDEX w_gin ON w USING gin ((ARRAY[i]));
CREATE INDEX w_brin ON w USING brin (i) WITH (pages_per_range = 4);
INSERT INTO w SELECT i, repeat('x', 50) FROM generate_series(1, 20000) i;
UPDATE w SET i = i + 1 WHERE i % 10 = 0;
DELETE FROM w WHERE i % 7 = 0;
CHECKPOINT;
SELECT call, w.*
	FROM unnest(ARRAY['btree_stats(''w_i'')', 'hash_stats(''w_hash'')',
		'gin_stats(''w_gin'')', 'brin_stats(''w_brin'')', 'sample(''w_gin'')',
		'sample(''w'')', 'sample(''w'', 10)', 'sample(''w_i'')', 'sample(''w_hash'')',
		'pgstatindex(''w_i'')', 'pgstatindex(''w_i''::regclass)',
		'pgstathashindex(''w_hash'')', 'pgstatginindex(''w_gin'')',
		'pg_relpages(''w'')', 'pg_relpages(''w_i''::regclass)',
		'pg_prewarm(''w'')', 'pg_prewarm(''w'', ''read'')', 'pg_prewarm(''w'', ''prefetch'')',
		'stream_stats()']) call,
		writes('SELECT * FROM streamstat.' || call) w;
SELECT dirtied > 0 AS a_scan_dirties FROM writes('SELECT * FROM w');

-- Nor do they make pages look as if they were in demand: a scan again and again
-- raises no buffer's usage count.
CREATE FUNCTION usage_raised(rel regclass, call text) RETURNS int
LANGUAGE plpgsql AS $$
DECLARE
	raised int;
BEGIN
	IF NOT EXISTS (SELECT FROM pg_extension WHERE extname = 'pg_buffercache') THEN
		RETURN 0;
	END IF;
	PERFORM streamstat.pg_prewarm(rel);
	CREATE TEMP TABLE before AS SELECT * FROM contrib.pg_buffercache
		WHERE relfilenode = pg_relation_filenode(rel);
	FOR i IN 1..3 LOOP
		EXECUTE 'SELECT * FROM streamstat.' || call;
	END LOOP;
	SELECT count(*) INTO raised FROM before b JOIN contrib.pg_buffercache a
		USING (bufferid, relfilenode, relblocknumber)
		WHERE a.usagecount > b.usagecount;
	DROP TABLE before;
	RETURN raised;
END
$$;
CREATE TABLE u (i int) WITH (autovacuum_enabled = off);
INSERT INTO u SELECT generate_series(1, 100000);
CREATE INDEX u_i ON u (i);
SELECT usage_raised('u_i', 'btree_stats(''u_i'')') AS btree_stats,
	usage_raised('u_i', 'pgstatindex(''u_i'')') AS pgstatindex;
-- A prewarm does: pages that are there already are to stay.
SELECT NOT EXISTS (SELECT FROM pg_extension WHERE extname = 'pg_buffercache') OR
	usage_raised('u_i', 'pg_prewarm(''u_i'')') > blocks('u_i') / 2 AS pg_prewarm;
