--
-- Our functions dirty no page and write no WAL, even when they are the first to
-- read freshly written rows.  A plain scan would set hint bits on them.
--
SET client_min_messages = warning;
-- Rows that sql/plan rolled back: from 19 on, who reads them prunes them.
VACUUM pg_extension;

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
CREATE INDEX w_gist ON w USING gist (point(i, i));
CREATE INDEX w_spgist ON w USING spgist (point(i, i));
CREATE INDEX w_brin ON w USING brin (i) WITH (pages_per_range = 4);
INSERT INTO w SELECT i, repeat('x', 50) FROM generate_series(1, 10000) i;
UPDATE w SET i = i + 1 WHERE i % 10 = 0;
DELETE FROM w WHERE i % 7 = 0;
-- with multixacts, subtransactions that were rolled back, pages for VACUUM to
-- skip, and a TOAST table
CREATE TABLE w_large (i int PRIMARY KEY, t text) WITH (autovacuum_enabled = off);
ALTER TABLE w_large ALTER t SET STORAGE EXTERNAL;
INSERT INTO w_large SELECT i, repeat('x', 100) FROM generate_series(1, 5000) i;
VACUUM (FREEZE) w_large;
INSERT INTO w_large SELECT i, repeat('y', 5000) FROM generate_series(5001, 5500) i;
BEGIN;
SELECT count(*) FROM (SELECT FROM w_large WHERE i > 4000 FOR KEY SHARE) x;
SAVEPOINT a;
DELETE FROM w_large WHERE i > 5400;
SAVEPOINT b;
DELETE FROM w_large WHERE i BETWEEN 4001 AND 4100;
ROLLBACK TO b;
COMMIT;
CREATE TABLE w_part (i int PRIMARY KEY) PARTITION BY RANGE (i);
CREATE TABLE w_part_1 PARTITION OF w_part FOR VALUES FROM (0) TO (1000) WITH (autovacuum_enabled = off);
CREATE TABLE w_part_2 PARTITION OF w_part DEFAULT WITH (autovacuum_enabled = off);
INSERT INTO w_part SELECT generate_series(1, 3000);
DELETE FROM w_part WHERE i % 3 = 0;
-- and large enough for a worker, where most of it is not in buffers: a row a page
CREATE TABLE w_parallel WITH (fillfactor = 10, autovacuum_enabled = off)
	AS SELECT i, repeat('x', 500) AS t FROM generate_series(1, 16500) i;

CREATE TABLE w_calls (ord serial, call text);
INSERT INTO w_calls (call) VALUES
	('btree_stats(''w_i'')'), ('hash_stats(''w_hash'')'), ('sample_stats(''w'')'),
	('sample_stats(''w'', 10)'), ('sample_stats(''w_i'')'), ('sample_stats(''w_hash'')'),
	('pgstatindex(''w_i'')'), ('pgstatindex(''w_i''::regclass)'),
	('pgstathashindex(''w_hash'')'), ('pgstatginindex(''w_gin'')'), ('pg_relpages(''w'')'),
	('pg_relpages(''w_i''::regclass)'), ('pg_prewarm(''w'')'),
	('pg_prewarm(''w'', ''read'')'), ('pg_prewarm(''w'', ''prefetch'')'),
	('table_stats(''w'')'), ('table_stats(''w'', ''row'')'), ('table_stats(''w'', ''sum'')'),
	('table_stats_tree(''w'')'), ('pgstattuple(''w'')'), ('pgstattuple(''w''::regclass)'),
	('pgstattuple_approx(''w'')'), ('pgstattuple(''w_i'')'), ('pgstattuple(''w_hash'')'),
	('visibility_map_summary(''w'')'), ('unfrozen_ranges(''w'')'), ('free_space_map_summary(''w'')'),
	('free_space_map_summary(''w_i'')'), ('layout_map(''w'')'), ('layout_map(''w_i'')'),
	('layout_map(''w_gin'')'), ('index_stats(''w_i'')'), ('index_stats(''w_hash'')'),
	('index_stats(''w_gin'')'), ('table_stats(''w_large'')'),
	('pgstattuple_approx(''w_large'')'), ('gin_stats(''w_gin'')'), ('brin_stats(''w_brin'')'),
	('sample_stats(''w_gin'')'), ('gist_stats(''w_gist'')'), ('spgist_stats(''w_spgist'')'),
	('sample_stats(''w_gist'')'), ('sample_stats(''w_spgist'')'), ('sample_stats(''w_brin'')'),
	('bloat(''w_large'')'), ('bloat(''w_i'')'), ('bloat(''w_hash'')'), ('bloat(''w_brin'')'),
	('bloat(''w_gin'')'), ('bloat(''w_gist'')'), ('bloat(''w_spgist'')'), ('bloat(''w'')'),
	('table_stats_tree(''w_part'')'), ('index_stats_tree(''w_part_pkey'')'),
	('database_report(budget => ''1 MB'', seed => 1)'), ('last_database_report()'), ('database_report_summary()'),
	('cache_save()'), ('cache_load(streamstat.cache_save())'), ('cache_load(streamstat.cache_save(), ''read'')'),
	('report_advice'), ('stat_progress'), ('stat_get_progress()'), ('stream_stats()'),
	('table_stats(''w_parallel'')'), ('prewarm(''w'')'), ('prewarm(''w_part'', ''read'')'),
	('prewarm(''w_i'', only_maps => true)'), ('prewarm_relations(''{w_gin, w_large}'', ''prefetch'')');

-- Pages in shared buffers that are to be written, of the tables and all they have
CREATE FUNCTION dirty_pages() RETURNS int8
LANGUAGE plpgsql AS $$
DECLARE
	result int8 := 0;
BEGIN
	IF EXISTS (SELECT FROM pg_extension WHERE extname = 'pg_buffercache') THEN
		SELECT count(*) INTO result FROM contrib.pg_buffercache b
			JOIN pg_class c ON b.relfilenode = pg_relation_filenode(c.oid)
			JOIN pg_class t ON t.relname ~ '^w(_large|_part_.|_parallel)?$' AND t.relkind = 'r'
			WHERE b.isdirty AND (c.oid IN (t.oid, t.reltoastrelid) OR c.oid IN
				(SELECT indexrelid FROM pg_index WHERE indrelid IN (t.oid, t.reltoastrelid)));
	END IF;
	RETURN result;
END
$$;

-- Bytes of WAL that were written since, for pages of this database where pg_walinspect
-- tells: a busy server writes for others all the time.
CREATE FUNCTION wal_since(start pg_lsn) RETURNS numeric
LANGUAGE plpgsql AS $$
DECLARE
	now_at pg_lsn := pg_current_wal_insert_lsn();
	result numeric := now_at - start;
BEGIN
	IF result > 0 AND EXISTS (SELECT FROM pg_extension WHERE extname = 'pg_walinspect') THEN
		WHILE pg_current_wal_flush_lsn() < now_at LOOP
			PERFORM pg_sleep(0.01);
		END LOOP;
		SELECT coalesce(sum(record_length), 0) INTO result
			FROM contrib.pg_get_wal_records_info(start, now_at), pg_database d
			WHERE datname = current_database() AND block_ref ~ format('rel \d+/%s/', d.oid);
	END IF;
	RETURN result;
END
$$;

-- The same for all sessions: bytes of WAL and dirty pages that calls bring about.
-- The server itself writes WAL now and then: if there is any, another try.
CREATE FUNCTION all_writes(calls text[], OUT wal numeric, OUT dirtied int8)
LANGUAGE plpgsql AS $$
DECLARE
	call text;
	dirty int8;
	position pg_lsn;
BEGIN
	dirty := dirty_pages();
	FOR try IN 1..3 LOOP
		position := pg_current_wal_insert_lsn();
		FOREACH call IN ARRAY calls LOOP
			EXECUTE 'SELECT * FROM streamstat.' || call;
		END LOOP;
		wal := wal_since(position);
		EXIT WHEN wal = 0;
	END LOOP;
	dirtied := dirty_pages() - dirty;
END
$$;

CREATE PROCEDURE report_writes(INOUT wal numeric DEFAULT NULL, INOUT dirtied int8 DEFAULT NULL)
LANGUAGE plpgsql AS $$
DECLARE
	dirty int8 := dirty_pages();
	position pg_lsn;
BEGIN
	FOR try IN 1..3 LOOP
		position := pg_current_wal_insert_lsn();
		CALL streamstat.run_database_report(budget => '1MB', max_time => '1 min', seed => 1);
		wal := wal_since(position);
		EXIT WHEN wal = 0;
	END LOOP;
	dirtied := dirty_pages() - dirty;
END
$$;

-- The catalogs are read, too, as any statement reads them.
CALL autovacuum_off();
CALL wait_for_horizon();
VACUUM pg_am, pg_amop, pg_amproc, pg_attribute, pg_class, pg_constraint, pg_depend, pg_index,
	pg_inherits, pg_namespace, pg_opclass, pg_operator, pg_proc, pg_rewrite, pg_statistic, pg_trigger, pg_type;
CHECKPOINT;
SELECT dirty_pages();
SELECT call, w.*
	FROM w_calls, writes('SELECT * FROM streamstat.' || call) w
	ORDER BY ord;
SELECT * FROM all_writes((SELECT array_agg(call ORDER BY ord) FROM w_calls));
SELECT workers > 0 AS the_last_one_had_workers FROM streamstat.stream_stats();
-- the procedure, which commits after each relation
CALL report_writes();
-- and a scan that does
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
DROP TABLE w_parallel;
-- After all that, no page of this database is corrupt: all relations of the files before
-- this one are here.
SELECT c.oid::regclass AS relation, b.* FROM pg_class c, streamstat.corrupt_blocks(c.oid) b
	WHERE error <> 'not read' OR block_no IS NOT NULL;
