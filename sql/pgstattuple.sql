--
-- Tuples of indexes, beside those of pgstattuple
--
SET client_min_messages = warning;
CREATE FUNCTION index_difference(index regclass) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	result text[];
BEGIN
	IF NOT have_table_oracles() THEN
		RETURN 'none';
	END IF;
	SELECT result || differs('regclass', 9, to_jsonb(o), to_jsonb(c)) INTO result
		FROM streamstat.pgstattuple(index) o, contrib.pgstattuple(index) c;
	SELECT result || differs('text', 9, to_jsonb(o), to_jsonb(c)) INTO result
		FROM streamstat.pgstattuple(index::text) o, contrib.pgstattuple(index) c;
	SELECT result || differs('free', 5, to_jsonb(o), to_jsonb(c)) INTO result
		FROM streamstat.free_space_map_summary(index) o,
			(SELECT blocks(index) AS pages, 0 AS corrupt_map_pages, sum(f) AS free_bytes,
				count(*) FILTER (WHERE f > 0) AS nonfull_pages,
				max(f) AS largest_free_bytes,
				100.0::float8 * sum(f) / pg_relation_size(index) AS free_percent
			 FROM generate_series(0, blocks(index) - 1) b, contrib.pg_freespace(index, b) f) c;
	RETURN coalesce(nullif(array_to_string(result, E'\n'), ''), 'none');
END
$$;
CREATE TABLE tx (i int, n int, p point) WITH (autovacuum_enabled = off);
CREATE INDEX tx_empty ON tx (i) WHERE i < 0;
CREATE INDEX tx_empty_hash ON tx USING hash (i) WHERE i < 0;
CREATE INDEX tx_empty_gist ON tx USING gist (p) WHERE i < 0;
CREATE INDEX tx_btree ON tx (i);
CREATE INDEX tx_equal ON tx (n);
CREATE INDEX tx_hash ON tx USING hash (i);
CREATE INDEX tx_many ON tx USING hash (n);
CREATE INDEX tx_gist ON tx USING gist (p);
INSERT INTO tx SELECT i, i % 5, point(i % 100, i / 100) FROM generate_series(1, 10000) i;
CREATE INDEX tx_built ON tx (i);
CREATE INDEX tx_built_gist ON tx USING gist (p);
CREATE VIEW tx_differences AS
	SELECT relname, index_difference(c.oid) AS difference
	FROM pg_index JOIN pg_class c ON c.oid = indexrelid WHERE indrelid = 'tx'::regclass;
SELECT relname, difference, tuple_count, dead_tuple_count
	FROM tx_differences, streamstat.pgstattuple(relname) ORDER BY relname COLLATE "C";
-- dead items
DELETE FROM tx WHERE i BETWEEN 2000 AND 6000;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
CALL wait_for_horizon();
SELECT count(*) FROM tx WHERE i BETWEEN 1900 AND 6100;
SELECT sum(c) FROM generate_series(1990, 2100) g, LATERAL (SELECT count(p) AS c FROM tx WHERE i = g OFFSET 0) x;
SELECT count(*) FROM tx WHERE p <@ box '(0,10),(100,70)';
RESET enable_seqscan;
RESET enable_bitmapscan;
SELECT relname, difference FROM tx_differences ORDER BY relname COLLATE "C";
SELECT sum(dead_tuple_count) > 4000 AS dead FROM tx_differences, streamstat.pgstattuple(relname);
-- deleted pages, once they can be used again, too
VACUUM (INDEX_CLEANUP on) tx;
SELECT relname, difference FROM tx_differences ORDER BY relname COLLATE "C";
SELECT deleted_pages > 5 AS deleted FROM streamstat.btree_stats('tx_btree');
SELECT pg_current_xact_id() IS NOT NULL;
DELETE FROM tx WHERE i > 9000;
CALL wait_for_horizon(true);
VACUUM (INDEX_CLEANUP on) tx;
SELECT relname, difference, tuple_count < 9000 AS fewer
	FROM tx_differences, streamstat.pgstattuple(relname) ORDER BY relname COLLATE "C";
SELECT nonfull_pages > 5 AS freed FROM streamstat.free_space_map_summary('tx_btree');
-- pgstattuple_approx where the catalog does not know the number of tuples, as behind
-- COPY FREEZE: contrib's gives -1 (on arm64 0), ours counts on some pages.  All else is the same.
CREATE FUNCTION approx(name text, relation regclass) RETURNS jsonb
LANGUAGE plpgsql AS $$
DECLARE
	result jsonb;
BEGIN
	IF name = 'streamstat' OR have_contrib() THEN
		EXECUTE format('SELECT to_jsonb(a) FROM %I.pgstattuple_approx($1) a', name) INTO result USING relation;
	END IF;
	RETURN result;
END
$$;
CREATE TABLE tx_unknown WITH (autovacuum_enabled = off) AS SELECT g AS i, repeat('x', g % 60) AS t FROM generate_series(1, 30000) g;
CALL wait_for_horizon();
-- without new pages at the end
VACUUM (FULL) tx_unknown;
VACUUM tx_unknown;
CREATE TABLE tx_partial WITH (autovacuum_enabled = off) AS TABLE tx_unknown;
CALL wait_for_horizon();
VACUUM (FULL) tx_partial;
VACUUM tx_partial;
DELETE FROM tx_partial WHERE i = 30000;
CREATE VIEW tx_approx AS
	SELECT r, abs((o->>'approx_tuple_count')::float8 / count - 1) < 0.05 AS close,
		have_contrib() <> (c IS NULL) AND coalesce((c->>'approx_tuple_count')::float8 IN (-1, 0), true) AS contribs,
		coalesce(o - 'approx_tuple_count' = c - 'approx_tuple_count', true) AS same
	FROM unnest('{tx_unknown, tx_partial}'::regclass[], '{30000, 29999}'::int[]) u (r, count),
		approx('streamstat', r) o, approx('contrib', r) c;
UPDATE pg_class SET reltuples = -1 WHERE relname IN ('tx_unknown', 'tx_partial');
CALL wait_for_horizon();
SELECT * FROM tx_approx;
UPDATE pg_class SET relpages = 0 WHERE relname IN ('tx_unknown', 'tx_partial');
SELECT * FROM tx_approx;
-- what it read is told; and a table without pages has no tuples
SELECT blocks_requested BETWEEN 64 AND 80 AS few
	FROM streamstat.pgstattuple_approx('tx_unknown') a, LATERAL (SELECT a.*) b, streamstat.stream_stats() s;
CREATE TABLE tx_none (i int);
SELECT approx_tuple_count FROM streamstat.pgstattuple_approx('tx_none');
