--
-- Bad input
--
SET client_min_messages = warning;

CREATE TABLE e (i int, t text, a int[], p point) WITH (autovacuum_enabled = off);
INSERT INTO e SELECT i, i, ARRAY[i], point(i, i) FROM generate_series(1, 1000) i;
INSERT INTO e VALUES (1);
CREATE INDEX e_btree ON e (i);
CREATE INDEX e_hash ON e USING hash (i);
CREATE INDEX e_gin ON e USING gin (a);
CREATE INDEX e_gist ON e USING gist (p);
CREATE INDEX e_spgist ON e USING spgist (p);
CREATE INDEX e_brin ON e USING brin (i);
\set VERBOSITY terse
CREATE UNIQUE INDEX CONCURRENTLY e_invalid ON e (i);
\set VERBOSITY default
CREATE TABLE e_part (i int) PARTITION BY RANGE (i);
CREATE TABLE e_part_1 PARTITION OF e_part FOR VALUES FROM (0) TO (10);
CREATE INDEX e_part_i ON e_part (i);
CREATE INDEX e_part_hash ON e_part USING hash (i);
CREATE VIEW e_view AS SELECT 1 AS i;
CREATE SEQUENCE e_seq;
CREATE TYPE e_type AS (i int);
CREATE FOREIGN DATA WRAPPER e_wrapper;
CREATE SERVER e_server FOREIGN DATA WRAPPER e_wrapper;
CREATE FOREIGN TABLE e_foreign (i int) SERVER e_server;

-- All kinds of relation to all functions: no surprise anywhere
CREATE TABLE e_relations (ord serial, name text);
INSERT INTO e_relations (name) VALUES ('e'), ('e_btree'), ('e_hash'), ('e_gin'),
	('e_gist'), ('e_spgist'), ('e_brin'), ('e_invalid'), ('e_part'), ('e_part_i'), ('e_part_hash'),
	('e_view'), ('e_seq'), ('e_type'), ('e_foreign');

SELECT name, error_of(format('SELECT * FROM streamstat.btree_stats(%L)', name))
	FROM e_relations ORDER BY ord;
SELECT name, error_of(format('SELECT * FROM streamstat.hash_stats(%L)', name))
	FROM e_relations ORDER BY ord;
SELECT name, error_of(format('SELECT * FROM streamstat.gin_stats(%L)', name))
	FROM e_relations ORDER BY ord;
SELECT name, error_of(format('SELECT * FROM streamstat.brin_stats(%L)', name))
	FROM e_relations ORDER BY ord;
SELECT name, error_of(format('SELECT * FROM streamstat.gist_stats(%L)', name))
	FROM e_relations ORDER BY ord;
SELECT name, error_of(format('SELECT * FROM streamstat.spgist_stats(%L)', name))
	FROM e_relations ORDER BY ord;
SELECT name, error_of(format('SELECT * FROM streamstat.sample_stats(%L)', name))
	FROM e_relations ORDER BY ord;
SELECT name, error_of(format('SELECT * FROM streamstat.bloat(%L)', name))
	FROM e_relations ORDER BY ord;

-- and to those about tables and maps, with indexes that are not valid
CREATE INDEX e_invalid_hash ON e USING hash (i);
CREATE INDEX e_invalid_gin ON e USING gin (a);
CREATE INDEX e_invalid_gist ON e USING gist (p);
CREATE INDEX e_invalid_spgist ON e USING spgist (p);
UPDATE pg_index SET indisvalid = false WHERE indexrelid IN ('e_invalid_hash'::regclass,
	'e_invalid_gin'::regclass, 'e_invalid_gist'::regclass, 'e_invalid_spgist'::regclass);
CREATE MATERIALIZED VIEW e_matview AS SELECT 1 AS i;
INSERT INTO e_relations (name) VALUES ('e_invalid_hash'), ('e_invalid_gin'),
	('e_invalid_gist'), ('e_invalid_spgist'), ('e_matview');
SELECT name, error_of(format('SELECT * FROM streamstat.table_stats(%L)', name))
	FROM e_relations ORDER BY ord;
SELECT name, error_of(format('SELECT * FROM streamstat.table_stats_tree(%L)', name))
	FROM e_relations ORDER BY ord;
SELECT name, error_of(format('SELECT * FROM streamstat.visibility_map_summary(%L)', name))
	FROM e_relations ORDER BY ord;
SELECT name, error_of(format('SELECT * FROM streamstat.free_space_map_summary(%L)', name))
	FROM e_relations ORDER BY ord;
SELECT name, error_of(format('SELECT * FROM streamstat.layout_map(%L)', name))
	FROM e_relations ORDER BY ord;
SELECT count(*) FILTER (WHERE error_of(format('SELECT * FROM streamstat.unfrozen_ranges(%L)', name))
		IS DISTINCT FROM error_of(format('SELECT * FROM streamstat.visibility_map_summary(%L)', name))) AS others
	FROM e_relations;
-- No index whatever makes index_stats fail.
SELECT name, error_of(format('SELECT * FROM streamstat.index_stats(%L)', name))
	FROM e_relations ORDER BY ord;
SELECT name, i.pages IS NULL AS unread, note
	FROM e_relations, streamstat.index_stats(name::regclass) i
	WHERE (SELECT relkind IN ('i', 'I') FROM pg_class WHERE oid = name::regclass) ORDER BY ord;
SELECT count(*) > 100 AS indexes, sum(corrupt_pages) AS corrupt
	FROM pg_class c, streamstat.index_stats(c.oid) WHERE relkind IN ('i', 'I');
SELECT relation, access_method, bytes, note FROM streamstat.index_stats(123456789);

-- Ours only
SELECT call, error_of('SELECT * FROM streamstat.' || call)
	FROM unnest(ARRAY['table_stats(NULL)', 'table_stats_tree(NULL)',
		'visibility_map_summary(NULL)', 'unfrozen_ranges(NULL)', 'free_space_map_summary(NULL)',
		'index_stats(NULL)', 'layout_map(NULL)', 'layout_map(''e'', NULL)',
		'layout_map(''e'', 0)', 'layout_map(''e'', -1)', 'layout_map(''e'', 10001)',
		'layout_map(''e'', 10000)', 'layout_map(''e'', 1)',
		'table_stats(''e'', '''')', 'table_stats(''e'', ''yes'')', 'table_stats(''e'', ''SUM'')',
		'table_stats(''e_part'', ''yes'')', 'table_stats_tree(''e_part'', ''row '')',
		'table_stats(''e'', NULL)', 'table_stats(''e'', ''no'')', 'table_stats(''e'', ''row'')',
		'table_stats(123456789)', 'table_stats_tree(123456789)', 'visibility_map_summary(123456789)',
		'unfrozen_ranges(123456789)', 'free_space_map_summary(123456789)', 'layout_map(123456789)',
		'table_stats(''no_such_table'')']) WITH ORDINALITY u(call, ord)
	ORDER BY ord;
SELECT error_of('SELECT streamstat.btree_stats(NULL)');
SELECT error_of('SELECT streamstat.hash_stats(NULL)');
SELECT error_of('SELECT streamstat.gin_stats(NULL)');
SELECT error_of('SELECT streamstat.brin_stats(NULL)');
SELECT error_of('SELECT streamstat.gist_stats(NULL)');
SELECT error_of('SELECT streamstat.spgist_stats(NULL)');
SELECT error_of('SELECT streamstat.sample_stats(NULL)');
SELECT error_of('SELECT streamstat.sample_stats(''e'', NULL)');
SELECT error_of('SELECT streamstat.sample_stats(''e'', 0)');
SELECT error_of('SELECT streamstat.sample_stats(''e'', -1)');
SELECT error_of('SELECT streamstat.btree_stats(123456789)');
SELECT error_of('SELECT streamstat.gin_stats(123456789)');
SELECT error_of('SELECT streamstat.brin_stats(123456789)');
SELECT error_of('SELECT streamstat.gist_stats(123456789)');
SELECT error_of('SELECT streamstat.spgist_stats(123456789)');
SELECT error_of('SELECT streamstat.sample_stats(123456789)');
SELECT error_of('SELECT streamstat.bloat(NULL)');
SELECT error_of('SELECT streamstat.bloat(''e'', NULL)');
SELECT error_of('SELECT streamstat.bloat(''e'', 0)');
SELECT error_of('SELECT streamstat.bloat(''e'', with_toast => ''all'')');
SELECT error_of('SELECT streamstat.bloat(123456789)');
SELECT error_of('SELECT streamstat.btree_stats(''no_such_index'')');

-- Drop-ins: the same errors as contrib's
CREATE TABLE e_calls (call text);
INSERT INTO e_calls
	SELECT format('%s(%L%s)', f.name, r.name, f.type)
	FROM e_relations r, (VALUES ('pgstatindex', ''), ('pgstatindex', '::regclass'),
		('pgstathashindex', ''), ('pgstatginindex', '')) f(name, type)
	WHERE (f.name, r.name) NOT IN (('pgstatindex', 'e_btree'),
		('pgstathashindex', 'e_hash'), ('pgstatginindex', 'e_gin'));
INSERT INTO e_calls
	SELECT format('%s(%L%s)', f.name, r.name, f.type)
	FROM e_relations r, (VALUES ('pgstattuple', ''), ('pgstattuple', '::regclass'),
		('pgstattuple_approx', '')) f(name, type)
	WHERE f.name = 'pgstattuple_approx' AND r.name NOT IN ('e', 'e_matview')
		OR r.name NOT IN ('e', 'e_matview', 'e_seq', 'e_btree', 'e_hash', 'e_gist');
INSERT INTO e_calls
	SELECT format('pg_relpages(%L%s)', r.name, type)
	FROM e_relations r, unnest(ARRAY['', '::regclass']) type
	WHERE r.name IN ('e_part', 'e_part_i', 'e_view', 'e_type', 'e_foreign');
INSERT INTO e_calls
	SELECT format('pg_prewarm(%L)', name) FROM e_relations r
	WHERE r.name IN ('e_part', 'e_part_i', 'e_view', 'e_type', 'e_foreign');
INSERT INTO e_calls VALUES
	('pgstatindex(''no_such_index'')'),
	('pgstatindex(123456789)'),
	('pgstatindex(''a.b.c.d'')'),
	('pgstatindex('''')'),
	('pgstathashindex(123456789)'),
	('pgstattuple(''no_such_table'')'),
	('pgstattuple(123456789)'),
	('pgstattuple(''a.b.c.d'')'),
	('pgstattuple('''')'),
	('pgstattuple_approx(123456789)'),
	('pgstatginindex(123456789)'),
	('pg_relpages(''no_such_table'')'),
	('pg_relpages(123456789)'),
	('pg_prewarm(NULL)'),
	('pg_prewarm(123456789)'),
	('pg_prewarm(''e'', NULL)'),
	('pg_prewarm(''e'', ''all'')'),
	('pg_prewarm(''e'', ''BUFFER'')'),
	('pg_prewarm(''e'', '''')'),
	('pg_prewarm(''e'', ''buffer'', NULL)'),
	('pg_prewarm(''e'', ''buffer'', ''no such fork'')'),
	('pg_prewarm(''e'', ''buffer'', '''')'),
	('pg_prewarm(''e'', ''buffer'', ''init'')'),
	('pg_prewarm(''e_btree'', ''read'', ''vm'')'),
	('pg_prewarm(''e'', ''buffer'', ''main'', -1)'),
	('pg_prewarm(''e'', ''buffer'', ''main'', 100000)'),
	('pg_prewarm(''e'', ''buffer'', ''main'', 10000000000)'),
	('pg_prewarm(''e'', ''buffer'', ''main'', NULL, -1)'),
	('pg_prewarm(''e'', ''read'', ''main'', 0, 100000)'),
	('pg_prewarm(''e'', ''prefetch'', ''main'', 0, 10000000000)'),
	('pg_prewarm(''e_part_1'', ''buffer'', ''main'', 0)');
SELECT fails_as_contrib(call) AS as_contrib, count(*) > 120 AS calls,
		string_agg(CASE WHEN NOT fails_as_contrib(call) THEN call END, E'\n') AS others
	FROM e_calls GROUP BY 1;
-- and some of them in full
SELECT call, error_of('SELECT streamstat.' || call)
	FROM e_calls WHERE call LIKE 'pg_prewarm(%,%)' OR
		call LIKE '%''e_view''%' AND call NOT LIKE 'pg_prewarm%'
	ORDER BY call COLLATE "C";

-- NULL makes NULL, as with contrib's.
SELECT streamstat.pgstatindex(NULL::text), streamstat.pgstatindex(NULL::regclass),
	streamstat.pgstathashindex(NULL), streamstat.pgstatginindex(NULL),
	streamstat.pg_relpages(NULL::text), streamstat.pg_relpages(NULL::regclass);
SELECT streamstat.pgstattuple(NULL::text), streamstat.pgstattuple(NULL::regclass),
	streamstat.pgstattuple_approx(NULL);

-- After all that, nothing is left open or locked.
SELECT count(*) FROM pg_locks
	WHERE pid = pg_backend_pid() AND locktype = 'relation' AND database <> 0
		AND relation::regclass::text LIKE 'e\_%';

--
-- Privileges
--
CREATE ROLE regress_streamstat_none;
CREATE ROLE regress_streamstat_scan IN ROLE pg_stat_scan_tables;
CREATE ROLE regress_streamstat_granted;
GRANT EXECUTE ON FUNCTION streamstat.btree_stats(regclass) TO regress_streamstat_granted;
GRANT SELECT ON e TO regress_streamstat_granted;
DO $$
BEGIN
	IF have_contrib() THEN
		GRANT USAGE ON SCHEMA contrib TO PUBLIC;
	END IF;
END
$$;
CREATE TABLE e_privileged (call text);
GRANT SELECT ON e_privileged TO PUBLIC;
INSERT INTO e_privileged VALUES
	('btree_stats(''e_btree'')'), ('hash_stats(''e_hash'')'),
	('gin_stats(''e_gin'')'), ('brin_stats(''e_brin'')'),
	('gist_stats(''e_gist'')'), ('spgist_stats(''e_spgist'')'), ('sample_stats(''e'', 10, seed => 1)'),
	('bloat(''e'')'), ('bloat(''e_btree'', 10, 1, ''no'')'),
	('pgstatindex(''e_btree'')'), ('pgstatindex(''e_btree''::regclass)'),
	('pgstathashindex(''e_hash'')'), ('pgstatginindex(''e_gin'')'),
	('pg_relpages(''e'')'), ('pg_relpages(''e''::regclass)'),
	('pg_prewarm(''e'')'), ('pg_prewarm(''e_btree'')'), ('pg_prewarm(''e_seq'')'),
	('stream_stats()'),
	('index_stats(''e_gin'')'), ('index_stats_tree(''e_part_i'')'),
	('table_stats(''e'')'), ('table_stats_tree(''e_part'')'), ('visibility_map_summary(''e'')'),
	('unfrozen_ranges(''e'')'), ('free_space_map_summary(''e'')'), ('layout_map(''e'')'),
	('pgstattuple(''e'')'), ('pgstattuple(''e''::regclass)'), ('pgstattuple_approx(''e'')');

SET ROLE regress_streamstat_none;
SELECT call, error_of('SELECT streamstat.' || call) FROM e_privileged;
SELECT call, fails_as_contrib(call) FROM e_privileged WHERE call LIKE 'pg%';
SET ROLE regress_streamstat_scan;
SELECT call, error_of('SELECT streamstat.' || call) FROM e_privileged;
SELECT call, fails_as_contrib(call) FROM e_privileged WHERE call LIKE 'pg_prewarm%';
SET ROLE regress_streamstat_granted;
SELECT call, error_of('SELECT streamstat.' || call) FROM e_privileged;
RESET ROLE;

DROP OWNED BY regress_streamstat_none, regress_streamstat_scan, regress_streamstat_granted;
DROP ROLE regress_streamstat_none, regress_streamstat_scan, regress_streamstat_granted;
