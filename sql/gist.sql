--
-- gist_stats beside what pageinspect says of every page
--
SET client_min_messages = warning;

CREATE FUNCTION contrib_gist(index regclass) RETURNS jsonb
LANGUAGE plpgsql AS $$
DECLARE
	usable int := current_setting('block_size')::int - 24 - 16;
	result jsonb;
BEGIN
	SELECT jsonb_build_object(
			'bytes', pg_relation_size(index), 'pages', blocks(index),
			'internal_pages', count(*) FILTER (WHERE kind = 'internal'),
			'leaf_pages', count(*) FILTER (WHERE kind = 'leaf'),
			'deleted_pages', count(*) FILTER (WHERE kind = 'deleted'),
			'new_pages', count(*) FILTER (WHERE kind = 'new'),
			'corrupt_pages', 0, 'first_new_block', null, 'first_corrupt_block', null,
			'live_items', coalesce(sum(live), 0),
			'dead_items', coalesce(sum(dead), 0),
			'free_bytes', coalesce(sum(free) FILTER (WHERE kind = 'leaf'), 0),
			'avg_leaf_density', 100 - 100 * avg(free / usable::float8)
				FILTER (WHERE kind = 'leaf'))
		INTO result
		FROM generate_series(0, blocks(index) - 1) AS block,
			contrib.get_raw_page(index::text, block) AS raw,
			contrib.page_header(raw) AS h,
			contrib.gist_page_opaque_info(raw) AS o,
			LATERAL (SELECT CASE
				WHEN h.upper = 0 THEN 'new'
				WHEN 'deleted' = ANY (o.flags) THEN 'deleted'
				WHEN 'leaf' = ANY (o.flags) THEN 'leaf'
				ELSE 'internal' END AS kind,
				-- before 18, a page's free space leaves out a line pointer
				greatest(h.upper - h.lower -
					CASE WHEN server_version() < 18 THEN 4 ELSE 0 END, 0) AS free) k,
			LATERAL (SELECT CASE WHEN kind = 'leaf' THEN
				(SELECT ARRAY[count(*) FILTER (WHERE NOT i.dead), count(*) FILTER (WHERE i.dead)]
				 FROM contrib.gist_page_items_bytea(raw) i) END AS counts) c,
			LATERAL (SELECT counts[1] AS live, counts[2] AS dead) i;
	RETURN result;
END
$$;

CREATE FUNCTION gist_difference(index regclass) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	ours jsonb := (SELECT to_jsonb(s) FROM streamstat.gist_stats(index) s);
	theirs jsonb;
BEGIN
	IF have_contrib() THEN
		theirs := contrib_gist(index);
		IF (SELECT count(*) FROM jsonb_object_keys(theirs)) <>
			(SELECT count(*) FROM jsonb_object_keys(ours)) THEN
			RETURN 'other columns';
		END IF;
	END IF;
	RETURN coalesce(numbers_differ(ours, theirs), 'none') ||
		coalesce('; sample: ' || sample_differs(index, ours), '');
END
$$;

CREATE TABLE gi (n int, p point, b box, r int4range, v tsvector, i inet)
	WITH (autovacuum_enabled = off);
CREATE INDEX gi_box ON gi USING gist (b);
CREATE INDEX gi_include ON gi USING gist (r) INCLUDE (n, p);
CREATE INDEX gi_inet ON gi USING gist (i inet_ops);
CREATE INDEX gi_multi ON gi USING gist (p, r);
CREATE INDEX gi_point ON gi USING gist (p);
CREATE INDEX gi_range ON gi USING gist (r) WITH (fillfactor = 50);
CREATE INDEX gi_tsvector ON gi USING gist (v);
CREATE VIEW gi_differences AS
	SELECT c.relname::text, gist_difference(c.oid) AS difference
	FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
	WHERE i.indrelid = 'gi'::regclass OFFSET 0;
CREATE FUNCTION gi_insert(first int, last int) RETURNS void
LANGUAGE sql
BEGIN ATOMIC
	INSERT INTO gi SELECT n, point(n, n % 100), box(point(n, n % 100), point(n + 3, n % 100 + 3)),
			int4range(n, n + n % 50), to_tsvector('simple', 'w' || n % 3000 || ' all'),
			'10.0.0.0'::inet + n
		FROM (SELECT first + g * 7919 % 12007 AS n FROM generate_series(0, last - first) g) g;
END;

-- Nothing: the root is a leaf page.  Then one page, with a row of nulls
SELECT relname, difference FROM gi_differences ORDER BY relname COLLATE "C";
SELECT bytes, internal_pages, leaf_pages, deleted_pages, new_pages, corrupt_pages,
		first_new_block, first_corrupt_block, live_items, dead_items,
		free_bytes > 8100 AS free, avg_leaf_density < 0.1 AS density
	FROM streamstat.gist_stats('gi_point') \gx
SELECT gi_insert(0, 9);
INSERT INTO gi DEFAULT VALUES;
SELECT relname, difference, internal_pages, leaf_pages, live_items, avg_leaf_density > 1 AS density
	FROM gi_differences, streamstat.gist_stats(relname::regclass)
	ORDER BY relname COLLATE "C";

-- Many pages, by insertion; built by sorting (points), tuple by tuple, and
-- with buffers
SELECT gi_insert(10, 4009);
CREATE INDEX gi_built_point ON gi USING gist (p);
CREATE INDEX gi_built_box ON gi USING gist (b) WITH (buffering = off);
CREATE INDEX gi_built_buffered ON gi USING gist (b) WITH (buffering = on);
SELECT relname, difference, live_items, dead_items, deleted_pages, internal_pages > 0 AS internal,
		leaf_pages > 10 AS leaves, avg_leaf_density BETWEEN 20 AND 99 AS density
	FROM gi_differences, streamstat.gist_stats(relname::regclass)
	ORDER BY relname COLLATE "C";

-- Deleted rows that an index scan comes across are marked dead.
DELETE FROM gi WHERE n BETWEEN 2000 AND 2999;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
CALL wait_for_horizon();
SELECT count(*) FROM gi WHERE p <@ box '((2100, 0), (2599, 100))';
SELECT count(*) FROM gi WHERE b <@ box '((2100, 0), (2599, 100))';
SELECT count(*) FROM gi WHERE r <@ int4range(2100, 2600);
RESET enable_seqscan;
RESET enable_bitmapscan;
SELECT bool_or(dead_items > 100) AS dead, count(*) FILTER (WHERE dead_items > 0) > 2 AS indexes,
		bool_and(live_items + dead_items = 4011) AS items,
		bool_and(dead_items <= 1000) AS no_others
	FROM gi_differences, streamstat.gist_stats(relname::regclass);
SELECT relname, difference FROM gi_differences ORDER BY relname COLLATE "C";

-- Inserting takes marked ones away.
SELECT gi_insert(4010, 4020);
SELECT gi_insert(2500, 2540);
SELECT difference, count(*), CASE WHEN difference <> 'none' THEN min(relname) END AS first
	FROM gi_differences GROUP BY 1;

-- VACUUM deletes leaf pages that have become empty, but not the last of a page.
DELETE FROM gi WHERE n BETWEEN 1000 AND 3500;
CALL wait_for_horizon();
VACUUM (INDEX_CLEANUP on, TRUNCATE off) gi;
SELECT relname, difference, live_items = (SELECT count(*) FROM gi) AS live, dead_items,
		deleted_pages > 0 AS deleted
	FROM gi_differences, streamstat.gist_stats(relname::regclass)
	WHERE relname NOT IN ('gi_tsvector', 'gi_multi') ORDER BY relname COLLATE "C";
SELECT difference, count(*), CASE WHEN difference <> 'none' THEN min(relname) END AS first
	FROM gi_differences GROUP BY 1;

-- They are used again, once nobody can see them; then all is deleted.
CREATE TABLE gi_deleted AS SELECT relname, deleted_pages
	FROM gi_differences, streamstat.gist_stats(relname::regclass);
CALL wait_for_horizon(true);
VACUUM (INDEX_CLEANUP on, TRUNCATE off) gi;
SELECT gi_insert(20000, 22000);
SELECT difference, count(*), CASE WHEN difference <> 'none' THEN min(relname) END AS first,
		bool_or(s.deleted_pages < d.deleted_pages) AS fewer
	FROM gi_differences JOIN gi_deleted d USING (relname), streamstat.gist_stats(relname::regclass) s
	GROUP BY 1;
DELETE FROM gi;
CALL wait_for_horizon();
VACUUM (INDEX_CLEANUP on, TRUNCATE off) gi;
SELECT relname, difference, live_items, dead_items, leaf_pages > 0 AS leaves, deleted_pages > 5 AS deleted,
		avg_leaf_density < 0.1 AS density
	FROM gi_differences, streamstat.gist_stats(relname::regclass)
	ORDER BY relname COLLATE "C";

-- At the end no lock is held.
BEGIN;
SELECT count(*) FROM streamstat.gist_stats('gi_point');
SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND relation = 'gi_point'::regclass;
COMMIT;
