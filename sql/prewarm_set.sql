--
-- prewarm and its like: what belongs together, in which order, and within which limits
--
CREATE SCHEMA ps;
SET search_path = ps, public;
CREATE TABLE ps.t (i int PRIMARY KEY, b int, s text, long text) WITH (autovacuum_enabled = off);
ALTER TABLE ps.t ALTER long SET STORAGE external;
INSERT INTO ps.t SELECT g, g, repeat('x', 100), CASE WHEN g % 10 = 0 THEN repeat('y', 5000) END FROM generate_series(1, 5000) g;
CREATE INDEX t_b ON ps.t (b);
CREATE INDEX t_hash ON ps.t USING hash (i);
CREATE INDEX t_brin ON ps.t USING brin (i);
VACUUM ps.t;
CREATE TABLE ps.none (i int);
CREATE MATERIALIZED VIEW ps.mat AS SELECT i FROM ps.t;
CREATE INDEX mat_i ON ps.mat (i);
CREATE SEQUENCE ps.seq;
CREATE VIEW ps.view AS SELECT 1 AS one;
CREATE FOREIGN DATA WRAPPER ps_wrapper;
CREATE SERVER ps_server FOREIGN DATA WRAPPER ps_wrapper;
CREATE FOREIGN TABLE ps.elsewhere (i int) SERVER ps_server;
CREATE TEMP TABLE mine AS SELECT 1 AS i;

-- Free buffers may be all in use here; see t/037_prewarm_sets.pl.
CREATE FUNCTION warmed(call text) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	result text;
BEGIN
	EXECUTE format('SELECT string_agg(concat_ws('' '', regexp_replace(relation_name, ''toast_\d+'', ''toast''), fork, note), '', '' ORDER BY n)
		FROM streamstat.%s WITH ORDINALITY AS r (%s, n) WHERE NOT is_sum',
		left(call, -1) || ', stop_when_full => false)',
		(SELECT string_agg(attname, ', ' ORDER BY attnum) FROM pg_attribute WHERE attrelid = 'streamstat.prewarm_row'::regclass))
		INTO result;
	RETURN result;
END
$$;

-- What belongs to a table
SELECT warmed('prewarm(''t'')');
SELECT warmed('prewarm(''t'', include_indexes => false)') AS no_indexes;
SELECT warmed('prewarm(''t'', include_toast => false)') AS no_toast;
SELECT warmed('prewarm(''t'', include_maps => false)') AS no_maps;
SELECT warmed('prewarm(''t'', only_maps => true)') AS only_maps;
SELECT warmed('prewarm(''t'', only_maps => true, include_indexes => false, include_toast => false)') AS its_maps;
SELECT warmed('prewarm(''t'', include_indexes => NULL, include_toast => NULL, include_maps => NULL, only_maps => NULL)') =
	warmed('prewarm(''t'')') AS null_is_default;

-- An index alone, a TOAST table with its index, others
SELECT warmed('prewarm(''t_b'')') AS index,
	warmed('prewarm(''t_b'', include_indexes => false, include_maps => false)') AS whatever_is_asked_for,
	warmed('prewarm(''t_brin'', include_maps => false)') AS with_its_map,
	warmed('prewarm(''t_brin'', only_maps => true)') AS only_maps;
SELECT warmed(format('prewarm(%s::regclass)', reltoastrelid::oid)) AS toast
	FROM pg_class WHERE oid = 't'::regclass;
SELECT warmed('prewarm(''mat'', include_maps => false)') AS mat, warmed('prewarm(''seq'')') AS seq, warmed('prewarm(''none'')') AS none,
	warmed('prewarm(''mine'')') AS temporary, warmed('prewarm(4294967295)') AS missing;

-- The rows: nothing is read twice, and sums add up
CREATE TABLE ps.kept AS SELECT * FROM streamstat.prewarm('t', stop_when_full => false) WITH ORDINALITY r
	(is_sum, relid, schema_name, relation_name, parent_name, kind, fork, blocks_total, blocks_requested,
	blocks_cached, blocks_read, elapsed_ms, ended_by, resume_from, note, n);
SELECT bool_and(blocks_total = pg_relation_size(relid, fork) / current_setting('block_size')::int) AS total,
	bool_and(blocks_requested = blocks_total) AS requested,
	bool_and(blocks_cached + blocks_read = blocks_requested) AS cached_or_read,
	bool_and(elapsed_ms >= 0) AS elapsed, count(ended_by) + count(resume_from) + count(note) AS only_in_the_sum
	FROM kept WHERE NOT is_sum;
SELECT s.n = 1 AS first, s.blocks_total = r.total AS total, s.blocks_requested = r.requested AS requested,
	s.blocks_cached = r.cached AS cached, s.blocks_read = r.read AS read, abs(s.elapsed_ms - r.ms) < 0.001 AS ms,
	ended_by, resume_from, num_nulls(relid, schema_name, relation_name, parent_name, kind, fork, note)
	FROM kept s, (SELECT sum(blocks_total) AS total, sum(blocks_requested) AS requested, sum(blocks_cached) AS cached,
		sum(blocks_read) AS read, sum(elapsed_ms) AS ms FROM kept WHERE NOT is_sum) r WHERE is_sum;
SELECT blocks_read, blocks_cached = blocks_requested AS all_cached, ended_by
	FROM streamstat.prewarm('t', stop_when_full => false) WHERE is_sum;
SELECT DISTINCT schema_name, regexp_replace(parent_name, '\d+', '') AS parent_name, kind FROM kept WHERE NOT is_sum ORDER BY 1, 2, 3;
SELECT function, relation, workers FROM streamstat.stream_stats();

-- Partitions, newest first, also below each other, and their indexes
CREATE TABLE ps.p (d date, k int) PARTITION BY RANGE (d);
CREATE TABLE ps.p_2025 PARTITION OF ps.p FOR VALUES FROM ('2025-01-01') TO ('2026-01-01');
CREATE TABLE ps.p_default PARTITION OF ps.p DEFAULT;
CREATE TABLE ps.p_2027 PARTITION OF ps.p FOR VALUES FROM ('2027-01-01') TO (MAXVALUE);
CREATE TABLE ps.p_2026 PARTITION OF ps.p FOR VALUES FROM ('2026-01-01') TO ('2027-01-01') PARTITION BY LIST (k);
CREATE TABLE ps.p_2026_a PARTITION OF ps.p_2026 FOR VALUES IN (1);
CREATE TABLE ps.p_2026_default PARTITION OF ps.p_2026 DEFAULT;
CREATE TABLE ps.p_2026_b PARTITION OF ps.p_2026 FOR VALUES IN (2) PARTITION BY HASH (d);
CREATE TABLE ps.p_2026_b0 PARTITION OF ps.p_2026_b FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE ps.p_2026_b1 PARTITION OF ps.p_2026_b FOR VALUES WITH (MODULUS 2, REMAINDER 1);
CREATE TABLE ps.p_2024 PARTITION OF ps.p FOR VALUES FROM (MINVALUE) TO ('2025-01-01');
CREATE INDEX p_k ON ps.p (k);
CREATE TABLE ps.p_none (i int) PARTITION BY RANGE (i);
SELECT warmed('prewarm(''p'', include_indexes => false)') AS partitions;
SELECT warmed('prewarm(''p_k'')') AS indexes;
SELECT warmed('prewarm(''p_2026'')') AS branch;
SELECT warmed('prewarm(''p_none'')') AS none;
SELECT DISTINCT kind, parent_name FROM streamstat.prewarm('p', stop_when_full => false) WHERE relation_name !~ 'idx' ORDER BY 1, 2;

-- Several, as given, each once; what cannot be warmed has a note
SELECT warmed('prewarm_relations(''{none, t_hash, view, p_2025, elsewhere, t_hash, mine, 4294967295, p, none}'')');
SELECT warmed('prewarm_relations(ARRAY(SELECT oid::regclass FROM pg_class WHERE relname ~ ''^p_2026_b'' AND relkind = ''r'' ORDER BY relname))');
SELECT is_sum, blocks_requested, ended_by FROM streamstat.prewarm_relations('{}');
SELECT kind, relid IS NULL AS no_relation, blocks_total, blocks_requested
	FROM streamstat.prewarm_relations('{view, elsewhere, 4294967295}') WHERE NOT is_sum;
SELECT note FROM streamstat.prewarm_relations('{view, none, elsewhere}') WHERE is_sum;

-- A schema: what is used most comes first; but by OID where the next call has to find the same order
CREATE SCHEMA ps_used;
CREATE TABLE ps_used.seldom WITH (autovacuum_enabled = off) AS SELECT g AS i FROM generate_series(1, 1000) g;
CREATE TABLE ps_used.often WITH (autovacuum_enabled = off) AS SELECT g AS i FROM generate_series(1, 20000) g;
CREATE TABLE ps_used.never (i int);
CREATE TABLE ps_used.never_large AS SELECT 1 AS i WHERE false;
CREATE INDEX often_i ON ps_used.often (i);
SELECT count(pg_stat_reset_single_table_counters(oid)) > 0 AS reset
	FROM (SELECT oid FROM pg_class WHERE relnamespace = 'ps_used'::regnamespace AND pg_stat_force_next_flush() IS NOT NULL OFFSET 0) c;
SET enable_indexscan = off; SET enable_bitmapscan = off; SET enable_indexonlyscan = off;
SELECT sum(i) FROM ps_used.often;
SELECT sum(i) FROM ps_used.often;
SELECT sum(i) FROM ps_used.often;
SELECT sum(i) FROM ps_used.seldom;
RESET enable_indexscan; RESET enable_bitmapscan; RESET enable_indexonlyscan;
SELECT pg_stat_force_next_flush();
SELECT warmed('prewarm_schema(''ps_used'', include_maps => false)') AS by_use;
SELECT warmed('prewarm_schema(''ps_used'', ''read'', include_maps => false)') AS by_oid, warmed('prewarm_schema(''ps_used'', ''prefetch'', include_maps => false)') AS too;
SELECT count(*) > 20 AS toast_tables FROM streamstat.prewarm_schema('pg_toast', stop_when_full => false) WHERE kind = 'toast table';
SELECT bool_or(schema_name = 'pg_catalog' AND relation_name = 'pg_class' AND fork = 'main') AS catalogs,
	bool_or(schema_name = 'ps_used') AS tables, bool_or(kind = 'toast table') AS toast, bool_or(relation_name = 'mine' AND note IS NOT NULL) AS temporary,
	count(*) = count(DISTINCT (relid, fork)) AS each_once, count(*) FILTER (WHERE is_sum) AS sums
	FROM streamstat.prewarm_database(stop_when_full => false);

-- Limits, and going on where a call ended.  A b-tree that was built is in no buffer.
CREATE TABLE ps.cold (i int, s text) WITH (autovacuum_enabled = off);
INSERT INTO ps.cold SELECT g, repeat('x', 200) FROM generate_series(1, 20000) g;
CREATE INDEX cold_i ON ps.cold (i);
CREATE INDEX cold_s ON ps.cold (s, i);
CREATE FUNCTION go_on(call text, step text) RETURNS TABLE (calls bigint, relation_name text, total bigint, requested numeric, read numeric)
LANGUAGE plpgsql AS $$
DECLARE
	place text;
BEGIN
	CREATE TEMP TABLE steps (LIKE streamstat.prewarm_row) ON COMMIT DROP;
	LOOP
		EXECUTE format('INSERT INTO steps SELECT * FROM streamstat.%s, max_bytes => %L, stop_when_full => false, resume_from => %L)', call, step, place);
		SELECT s.resume_from INTO place FROM steps s WHERE is_sum ORDER BY ctid DESC LIMIT 1;
		EXIT WHEN place IS NULL;
	END LOOP;
	RETURN QUERY SELECT count(*), s.relation_name, max(s.blocks_total), sum(s.blocks_requested), sum(s.blocks_read) FROM steps s
		WHERE fork = 'main' AND s.blocks_requested > 0 GROUP BY 2 ORDER BY 2;
	DROP TABLE steps;
END
$$;
REINDEX TABLE ps.cold;
SELECT blocks_read * current_setting('block_size')::int AS bytes, ended_by, resume_from ~ format('^%s/main/\d+$', 'cold_i'::regclass::oid) AS place
	FROM streamstat.prewarm('cold', max_bytes => '128kB', include_toast => false, stop_when_full => false) WHERE is_sum;
-- What the call did not come to has its size all the same.
SELECT bool_and(blocks_total IS NOT DISTINCT FROM pg_relation_size(relid, fork) / current_setting('block_size')::int) AS sizes, count(*) FILTER (WHERE blocks_requested = 0) > 0 AS some_left
	FROM streamstat.prewarm('cold', max_bytes => '128kB', include_toast => false, stop_when_full => false) WHERE NOT is_sum;
REINDEX TABLE ps.cold;
SELECT relation_name, calls > 1 OR relation_name = 'cold' AS calls, total > 50 AND requested = total AS requested, read = CASE relation_name WHEN 'cold' THEN 0 ELSE total END AS read
	FROM go_on('prewarm(''cold''', '200kB') WHERE relation_name ~ 'cold';
SELECT blocks_read FROM streamstat.prewarm('cold', stop_when_full => false, include_toast => false) WHERE is_sum;
REINDEX TABLE ps.cold;
SELECT relation_name, requested = total AS requested, read = CASE relation_name WHEN 'cold' THEN 0 ELSE total END AS read
	FROM go_on('prewarm_relations(''{cold_s, cold, cold_i}''', '1MB') WHERE relation_name ~ 'cold';
SELECT blocks_requested, ended_by, resume_from ~ '^\d+/\w+/0$' AS at_the_beginning
	FROM streamstat.prewarm('cold', 'buffer', max_time => '0', stop_when_full => false) WHERE is_sum;
SELECT ended_by, resume_from FROM streamstat.prewarm('cold', max_bytes => '1 GB', max_time => '1 hour', max_rate => '100 GB', stop_when_full => false) WHERE is_sum;

-- A relation that is gone by then is no place to go on at.
CREATE FUNCTION place_in(call text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
BEGIN
	EXECUTE format('SELECT resume_from FROM streamstat.%s, max_time => ''0'') WHERE is_sum', call) INTO result;
	RETURN result;
END
$$;
SELECT place_in('prewarm(''cold'', include_toast => false, include_maps => false') AS place \gset
DROP INDEX cold_i;
SELECT regexp_replace(error_of(format('SELECT * FROM streamstat.prewarm(''cold'', resume_from => %L)', :'place')), '\d+/', 'N/') AS dropped;
SELECT place_in('prewarm_relations(''{p, t}''') AS place \gset
SELECT error_of(format('SELECT * FROM streamstat.prewarm(''seq'', resume_from => %L)', :'place')) AS other_arguments;
SELECT warmed(format('prewarm(''t'', include_toast => false, include_maps => false, resume_from => ''%s/main/3'')', 't_hash'::regclass::oid)) AS from_the_hash_index;
SELECT blocks_total - blocks_requested AS left_out
	FROM streamstat.prewarm('t_hash', stop_when_full => false, resume_from => format('%s/main/3', 't_hash'::regclass::oid)) WHERE NOT is_sum;
SELECT blocks_requested FROM streamstat.prewarm('t_hash', stop_when_full => false, resume_from => format('%s/main/4294967294', 't_hash'::regclass::oid)) WHERE is_sum;

-- Errors
CREATE TABLE ps.calls (call text);
INSERT INTO calls VALUES ('prewarm(NULL)'), ('prewarm_relations(NULL)'), ('prewarm_relations(''{none, NULL}'')'), ('prewarm_schema(NULL)'),
	('prewarm_schema(''0'')'), ('prewarm(''view'')'), ('prewarm(''elsewhere'')'), ('prewarm(''streamstat.prewarm_row'')'),
	('prewarm(''none'', NULL)'), ('prewarm(''none'', ''Buffer'')'), ('prewarm_database('''')'),
	('prewarm(''none'', max_bytes => ''0'')'), ('prewarm(''none'', max_bytes => ''-1 MB'')'), ('prewarm(''none'', max_bytes => ''much'')'),
	('prewarm(''none'', max_time => ''-1 s'')'), ('prewarm_schema(''ps'', max_rate => ''0'')'),
	('prewarm(''none'', only_maps => true, include_maps => false)');
SELECT call, error_of('SELECT * FROM streamstat.' || call) FROM calls;
SELECT token, substr(split_part(error_of(format('SELECT * FROM streamstat.prewarm(''t_b'', resume_from => %L)', token)), E'\n', 1), 1, 40)
	FROM unnest('{"", " ", +, 1, 1/main, 1/main/, 1/main/-1, 1/main/99999999999999999999, 1/most/0, 0/main/0, 4294967296/main/0,
		"1/main/0 ", " 1/main/0", 1/main/+0, 1/main/00, 1/main/0x, 1/MAIN/0, 1/mainmain/0, 1/main/0}'::text[]) token;

RESET search_path;
SET client_min_messages = warning;
DROP SERVER ps_server CASCADE;
DROP FOREIGN DATA WRAPPER ps_wrapper;
DROP SCHEMA ps, ps_used CASCADE;
DROP TABLE mine;
RESET client_min_messages;
