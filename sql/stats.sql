--
-- stream_stats, the settings, and what the catalogs say about the functions
--

-- Nothing before the first call.  What is there is the last call's.
SELECT * FROM streamstat.stream_stats();
SELECT count(*) FROM streamstat.stream_stats_workers();

CREATE TABLE s (i int, t text) WITH (autovacuum_enabled = off);
INSERT INTO s SELECT i, repeat('x', 100) FROM generate_series(1, 20000) i;
CREATE INDEX s_i ON s (i);
CREATE INDEX s_hash ON s USING hash (i);
CREATE INDEX s_gin ON s USING gin ((ARRAY[i]));

-- Not every kernel tells what its page cache has.
CREATE TABLE s_page_cache AS SELECT count(page_cache_bytes) > 0 AS is_known FROM streamstat.cache_summary() WHERE bytes > 0;
-- The call's count must be that of what it read, where all was asked for.
CREATE FUNCTION stats_after(call text, blocks int8) RETURNS TABLE (
	function text, relation regclass, requested boolean, hit_and_read boolean,
	look_ahead boolean, some_time boolean, speed boolean, reads boolean, advice boolean,
	sizes boolean, sources boolean, waits boolean, in_flight boolean, workers boolean)
LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE 'SELECT count(*) FROM streamstat.' || call;
	RETURN QUERY SELECT s.function, s.relation, s.blocks_requested = blocks,
			s.blocks_hit + s.blocks_missed = s.blocks_requested,
			s.look_ahead_max BETWEEN 1 AND s.blocks_requested AND
				s.look_ahead_avg BETWEEN 1 AND s.look_ahead_max,
			s.elapsed_ms > 0,
			abs(s.bytes_per_second * s.elapsed_ms / 1000 / 8192 - blocks) < 0.001,
			s.reads IS NULL AND s.avg_read_bytes IS NULL OR
			s.reads BETWEEN 0 AND s.blocks_missed AND
			coalesce(CASE s.stream WHEN 'file stream' THEN
				s.reads * s.avg_read_bytes > s.blocks_private * 8192 - 0.001 ELSE
				abs(s.reads * s.avg_read_bytes - s.blocks_missed * 8192) < 0.001 END,
				s.reads = 0),
			s.advice_calls IS NULL AND s.avg_advice_bytes IS NULL AND
				s.stream = 'read stream of the server' OR
			(s.avg_advice_bytes IS NULL) = (s.advice_calls = 0) AND
				s.stream IN ('bundled read stream', 'file stream'),
			coalesce(s.reads = (SELECT sum(n) FROM unnest(s.reads_by_size) n) AND
				coalesce(s.reads * s.avg_read_bytes, 0) / 8192 = (SELECT sum(n) FROM unnest(s.blocks_by_size) n) AND
				NOT EXISTS (SELECT FROM unnest(s.reads_by_size, s.blocks_by_size) WITH ORDINALITY z (reads, blocks, n)
					WHERE z.blocks NOT BETWEEN z.reads * 2 ^ (n - 1) AND z.reads * (2 ^ n - 1)),
				s.stream = 'read stream of the server'),
			coalesce(s.blocks_hit + s.blocks_page_cache + s.blocks_disk = blocks AND
				s.blocks_page_cache >= 0 AND s.blocks_disk >= 0,
				s.stream = 'read stream of the server' OR NOT (SELECT is_known FROM s_page_cache)),
			coalesce(s.read_waits BETWEEN 0 AND s.reads AND s.read_wait_ms BETWEEN 0 AND s.elapsed_ms AND
				-- the server's time has what it takes to start a read, too
				(s.read_waits > 0 OR s.read_wait_ms = 0 OR s.stream = 'read stream of the server'),
				s.stream = 'read stream of the server'),
			coalesce(s.reads_in_flight_max, 0) = 0 AND s.reads_in_flight_avg IS NULL OR
				s.reads_in_flight_avg BETWEEN 1 AND s.reads_in_flight_max,
			(SELECT count(*) = 1 AND min(w.worker) = 0 AND
				(min(w.blocks_requested), min(w.reads), min(w.look_ahead_avg), min(w.reads_in_flight_max), min(w.reads_by_size)) IS NOT DISTINCT FROM
				(s.blocks_requested, s.reads, s.look_ahead_avg, s.reads_in_flight_max, s.reads_by_size)
				FROM streamstat.stream_stats_workers() w)
		FROM streamstat.stream_stats() s;
END
$$;
CREATE TABLE s_calls AS SELECT * FROM (VALUES
		('btree_stats(''s_i'')', blocks('s_i')),
		('btree_stats(''s_i'')', blocks('s_i')),
		('hash_stats(''s_hash'')', blocks('s_hash')),
		('pgstatindex(''s_i'')', blocks('s_i')),
		('pgstatindex(''s_i''::regclass)', blocks('s_i')),
		('pgstathashindex(''s_hash'')', blocks('s_hash')),
		('pgstatginindex(''s_gin'')', 1),
		('sample_stats(''s'', 100, seed => 1)', 100),
		('sample_stats(''s'')', blocks('s')),
		('sample_stats(''s_i'', 1, seed => 1)', 1),
		('pg_prewarm(''s'')', blocks('s')),
		('pg_prewarm(''s'', ''buffer'', ''main'', 7, 16)', 10)) c(call, blocks);
SET streamstat.io_path = buffer;
SELECT s.* FROM s_calls c, LATERAL stats_after(c.call, c.blocks) s;
SET streamstat.io_path = file;
SELECT s.* FROM s_calls c, LATERAL stats_after(c.call, c.blocks) s;

-- A failed call changes nothing.
SELECT error_of('SELECT streamstat.btree_stats(''s'')');
SELECT function, relation, blocks_requested FROM streamstat.stream_stats();

-- What the server shows of it: hits and reads, also of the files.
CREATE INDEX s_explained ON s (t, i);
CREATE FUNCTION explained(call text) RETURNS TABLE (stream boolean, hit boolean, read boolean)
LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	EXECUTE 'SELECT FROM streamstat.' || call;
	EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, FORMAT json) SELECT FROM streamstat.' || call INTO plan;
	RETURN QUERY SELECT s.stream = 'file stream',
			(plan -> 0 -> 'Plan' ->> 'Shared Hit Blocks')::int8 BETWEEN s.blocks_hit AND s.blocks_hit + 99,
			(plan -> 0 -> 'Plan' ->> 'Shared Read Blocks')::int8 = s.blocks_missed
		FROM streamstat.stream_stats() s;
END
$$;
SELECT * FROM explained('btree_stats(''s_explained'')');
SELECT * FROM explained('pg_prewarm(''s_explained'', ''read'')');
SELECT * FROM explained('pg_prewarm(''s_explained'')');
SELECT * FROM explained('btree_stats(''s_explained'')');
SHOW track_io_timing;

-- Which stream, in the words of the server's own version
SELECT count(*) FROM streamstat.btree_stats('s_i');
SELECT stream, workers FROM streamstat.stream_stats();
SET streamstat.io_path = buffer;
SELECT streamstat.pg_prewarm('s_i') = blocks('s_i') AS warm;
SELECT count(*) FROM streamstat.btree_stats('s_i');
SELECT stream = 'bundled read stream' OR stream = 'read stream of the server' AND
		server_version() >= 17 AS known,
	look_ahead_max = 1 OR blocks_missed > 0 AS looked_up
	FROM streamstat.stream_stats();

-- Cold: a b-tree's build writes past the buffers.  The reads are counted where
-- that can be done, and there are no fewer than the limit on their size says.
CREATE INDEX s_cold ON s (t, i);
CREATE INDEX s_cold_too ON s (t, i);
SET streamstat.io_combine_limit = '64kB';
SET streamstat.io_concurrency = 4;
SELECT count(*) FROM streamstat.btree_stats('s_cold');
SELECT blocks_missed = blocks_requested AS cold,
		coalesce(reads >= blocks_missed / 8 AND avg_read_bytes <= 8 * 8192, server_version() = 17) AS reads,
		coalesce(avg_advice_bytes <= 8 * 8192, stream = 'read stream of the server') AS advice,
		look_ahead_max BETWEEN 8 AND (4 + 2) * 8 AS look_ahead
	FROM streamstat.stream_stats();

-- The same from the files: no block is brought into a buffer.
SET streamstat.io_path = file;
SELECT count(*) FROM streamstat.btree_stats('s_cold_too');
SELECT count(*) FROM streamstat.btree_stats('s_cold_too');
SELECT stream, blocks_missed = blocks_requested AND blocks_private = blocks_missed AS cold,
		reads BETWEEN blocks_missed / 8 AND blocks_missed / 8 + 1 AS reads, avg_read_bytes <= 8 * 8192 AS sizes,
		look_ahead_max BETWEEN 8 AND 4 * 8 AS look_ahead
	FROM streamstat.stream_stats();
RESET streamstat.io_combine_limit;
RESET streamstat.io_concurrency;

--
-- Settings
--
SHOW streamstat.io_concurrency;
SHOW streamstat.io_combine_limit;
SET streamstat.io_concurrency = 1000;
SET streamstat.io_concurrency = 1001;
SET streamstat.io_concurrency = -1;
SET streamstat.io_combine_limit = 4;
SHOW streamstat.io_combine_limit;
SET streamstat.io_combine_limit = '256kB';
SHOW streamstat.io_combine_limit;
SET streamstat.io_combine_limit = '1MB';
SHOW streamstat.io_combine_limit;
-- how the range is printed has changed in 17
SELECT error_of('SET streamstat.io_combine_limit = ''2MB''') ~ '^22023: 256 8kB is outside',
	error_of('SET streamstat.io_combine_limit = -1') ~ '^22023: -1 8kB is outside',
	error_of('SET streamstat.io_combine_limit = ''1 TB''') ~ '^22023: ',
	error_of('SET streamstat.io_combine_limit = ''1 s''') ~ '^22023: invalid value for parameter';
SET streamstat.no_such_setting = 1;
RESET streamstat.io_concurrency;
RESET streamstat.io_combine_limit;
SET streamstat.io_path = mmap;
SET streamstat.io_method = worker;
SET streamstat.max_workers = -1;
SELECT name, unit, context, vartype, min_val, max_val, boot_val
	FROM pg_settings WHERE name LIKE 'streamstat.%' ORDER BY name;

-- A call with them leaves the server's settings alone, in its transaction and
-- behind it.
CREATE TABLE s_settings AS SELECT name, setting, source FROM pg_settings
	WHERE name IN ('maintenance_io_concurrency', 'effective_io_concurrency', 'io_combine_limit');
SET streamstat.io_path = buffer;
SET streamstat.io_concurrency = 77;
SET streamstat.io_combine_limit = '32kB';
BEGIN;
SELECT count(*) FROM streamstat.btree_stats('s_cold');
SELECT count(*) FROM streamstat.sample_stats('s', 10);
SELECT count(*) FROM streamstat.pgstatindex('s_cold');
SELECT streamstat.pg_prewarm('s') > 0 AS prewarmed;
SELECT count(*) FROM pg_settings JOIN s_settings b USING (name)
	WHERE (pg_settings.setting, pg_settings.source) IS DISTINCT FROM (b.setting, b.source);
COMMIT;
SELECT count(*) FROM pg_settings JOIN s_settings b USING (name)
	WHERE (pg_settings.setting, pg_settings.source) IS DISTINCT FROM (b.setting, b.source);
RESET streamstat.io_concurrency;
RESET streamstat.io_combine_limit;

--
-- The catalogs
--
SELECT p.oid::regprocedure AS function,
		obj_description(p.oid, 'pg_proc') IS NOT NULL AS comment,
		has_function_privilege('public', p.oid, 'EXECUTE') AS everybody,
		has_function_privilege('pg_stat_scan_tables', p.oid, 'EXECUTE') AS scan_tables,
		provolatile, proparallel, proisstrict
	FROM pg_proc p
	WHERE pronamespace = 'streamstat'::regnamespace
	ORDER BY p.oid::regprocedure::text COLLATE "C";
SELECT has_schema_privilege('public', 'streamstat', 'USAGE') AS usage,
	has_schema_privilege('public', 'streamstat', 'CREATE') AS create;
SELECT count(*) FROM pg_proc WHERE pronamespace = 'streamstat'::regnamespace
	AND obj_description(oid, 'pg_proc') !~* 'lock';

-- Same arguments and columns as contrib's
SELECT count(*) FROM pg_proc a JOIN pg_proc b USING (proname)
	WHERE a.pronamespace = 'streamstat'::regnamespace
		AND b.pronamespace = 'contrib'::regnamespace
		AND a.proargtypes = b.proargtypes
		AND (a.prorettype, a.proretset, a.proallargtypes, a.proargmodes, a.proargnames,
			pg_get_expr(a.proargdefaults, 0), a.proisstrict)
			IS DISTINCT FROM
			(b.prorettype, b.proretset, b.proallargtypes, b.proargmodes, b.proargnames,
			pg_get_expr(b.proargdefaults, 0), b.proisstrict);
