--
-- gin_stats, and pgstatginindex beside contrib's
--
SET client_min_messages = warning;

CREATE TABLE g (a int[]) WITH (autovacuum_enabled = off);
CREATE INDEX g_fast ON g USING gin (a) WITH (fastupdate = on);
CREATE INDEX g_slow ON g USING gin (a) WITH (fastupdate = off);

CREATE FUNCTION gin_as_contrib(index regclass) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
	result boolean := true;
BEGIN
	IF have_contrib() THEN
		EXECUTE 'SELECT a = b FROM streamstat.pgstatginindex($1) a,
			contrib.pgstatginindex($1) b' INTO result USING index;
	END IF;
	RETURN result;
END
$$;

SELECT i, gin_as_contrib(i), s.*
	FROM unnest('{g_fast, g_slow}'::regclass[]) i, streamstat.pgstatginindex(i) s;

-- The pending list
INSERT INTO g SELECT ARRAY[i, i % 10, i % 1000] FROM generate_series(1, 2000) i;
SELECT i, gin_as_contrib(i), s.version, s.pending_pages > 5 AS pages, s.pending_tuples
	FROM unnest('{g_fast, g_slow}'::regclass[]) i, streamstat.pgstatginindex(i) s;

-- Flushed
SELECT gin_clean_pending_list('g_fast') > 5 AS flushed;
SELECT i, gin_as_contrib(i), s.*
	FROM unnest('{g_fast, g_slow}'::regclass[]) i, streamstat.pgstatginindex(i) s;

--
-- gin_stats beside what pageinspect says of every page
--

CREATE FUNCTION contrib_gin(index regclass) RETURNS jsonb
LANGUAGE plpgsql AS $$
DECLARE
	-- less the header, a special space, and a right bound in posting trees
	usable int := current_setting('block_size')::int - 24 - 8;
	result jsonb;
BEGIN
	SELECT jsonb_build_object(
			'version', m.version,
			'pending_pages', m.n_pending_pages,
			'pending_tuples', m.n_pending_tuples,
			'bytes', pg_relation_size(index), 'pages', blocks(index),
			'entry_internal_pages', count(*) FILTER (WHERE kind = 'entry'),
			'entry_leaf_pages', count(*) FILTER (WHERE kind = 'entry leaf'),
			'posting_internal_pages', count(*) FILTER (WHERE kind = 'posting'),
			'posting_leaf_pages', count(*) FILTER (WHERE kind = 'posting leaf'),
			'pending_list_pages', count(*) FILTER (WHERE kind = 'pending'),
			'deleted_pages', count(*) FILTER (WHERE kind = 'deleted'),
			'new_pages', count(*) FILTER (WHERE kind = 'new'),
			'corrupt_pages', 0, 'first_new_block', null, 'first_corrupt_block', null,
			'entry_items', coalesce(sum(items) FILTER (WHERE kind = 'entry leaf'), 0),
			'posting_items', coalesce(sum(tids), 0),
			'pending_items', coalesce(sum(items) FILTER (WHERE kind = 'pending'), 0),
			'entry_free_bytes', coalesce(sum(free) FILTER (WHERE kind = 'entry leaf'), 0),
			'posting_free_bytes', coalesce(sum(hole) FILTER (WHERE kind = 'posting leaf'), 0),
			'pending_free_bytes', coalesce(sum(free) FILTER (WHERE kind = 'pending'), 0),
			'free_bytes', coalesce(sum(CASE kind WHEN 'posting leaf' THEN hole ELSE free END)
				FILTER (WHERE kind IN ('entry leaf', 'posting leaf', 'pending')), 0),
			'entry_leaf_density', 100 - 100 * avg(free / usable::float8)
				FILTER (WHERE kind = 'entry leaf'),
			'posting_leaf_density', 100 - 100 * avg(hole / (usable - 8)::float8)
				FILTER (WHERE kind = 'posting leaf'),
			'leaf_fragmentation', 100 * avg((rightlink < block)::int)
				FILTER (WHERE kind IN ('entry leaf', 'posting leaf')))
		INTO result
		FROM contrib.gin_metapage_info(contrib.get_raw_page(index::text, 0)) m,
			generate_series(1, blocks(index) - 1) AS block,
			contrib.get_raw_page(index::text, block) AS raw,
			contrib.page_header(raw) AS h,
			LATERAL (SELECT (h.lower - 24) / 4 AS items, h.upper - h.lower AS hole,
				-- before 18, a page's free space leaves out a line pointer
				greatest(h.upper - h.lower -
					CASE WHEN server_version() < 18 THEN 4 ELSE 0 END, 0) AS free) f,
			contrib.gin_page_opaque_info(raw) AS o,
			LATERAL (SELECT CASE
				WHEN h.upper = 0 THEN 'new'
				WHEN 'deleted' = ANY (o.flags) THEN 'deleted'
				WHEN 'list' = ANY (o.flags) THEN 'pending'
				WHEN o.flags @> '{data, leaf}' THEN 'posting leaf'
				WHEN 'data' = ANY (o.flags) THEN 'posting'
				WHEN 'leaf' = ANY (o.flags) THEN 'entry leaf'
				ELSE 'entry' END AS kind) k,
			-- (a page whose lists are all empty has no rows)
			LATERAL (SELECT CASE WHEN kind = 'posting leaf' THEN
				(SELECT sum(cardinality(i.tids)) FROM contrib.gin_leafpage_items(raw) i)
				END AS tids) t
		GROUP BY m.version, m.n_pending_pages, m.n_pending_tuples;
	RETURN result;
END
$$;

CREATE FUNCTION gin_difference(index regclass) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	ours jsonb := (SELECT to_jsonb(s) FROM streamstat.gin_stats(index) s);
	theirs jsonb;
BEGIN
	IF have_contrib() THEN
		theirs := contrib_gin(index);
		IF (SELECT count(*) FROM jsonb_object_keys(theirs)) <>
			(SELECT count(*) FROM jsonb_object_keys(ours)) THEN
			RETURN 'other columns';
		END IF;
	END IF;
	RETURN coalesce(numbers_differ(ours, theirs), 'none') ||
		coalesce('; sample: ' || sample_differs(index, ours), '');
END
$$;

CREATE TABLE gs (a int[], t text, v tsvector, j jsonb) WITH (autovacuum_enabled = off);
CREATE INDEX gs_fast ON gs USING gin (a) WITH (fastupdate = on, gin_pending_list_limit = 100000);
CREATE INDEX gs_slow ON gs USING gin (a) WITH (fastupdate = off);
CREATE INDEX gs_multi ON gs USING gin (v, a) WITH (fastupdate = off);
CREATE INDEX gs_tsvector ON gs USING gin (v) WITH (fastupdate = off);
CREATE INDEX gs_jsonb ON gs USING gin (j) WITH (fastupdate = off);
CREATE INDEX gs_path ON gs USING gin (j jsonb_path_ops) WITH (fastupdate = on);
CREATE VIEW gs_differences AS
	SELECT c.relname::text, gin_difference(c.oid) AS difference
	FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
	WHERE i.indrelid = 'gs'::regclass;

-- Nothing, and one row: an empty array and a null have an entry, too.
SELECT relname, difference FROM gs_differences ORDER BY relname COLLATE "C";
SELECT version, pending_pages, pending_tuples, bytes, entry_internal_pages, entry_leaf_pages,
		posting_internal_pages, posting_leaf_pages, pending_list_pages, deleted_pages, new_pages,
		corrupt_pages, first_new_block, first_corrupt_block, entry_items, posting_items, pending_items,
		entry_free_bytes = free_bytes AS free, posting_free_bytes, pending_free_bytes,
		entry_leaf_density < 0.1 AS density, posting_leaf_density, leaf_fragmentation
	FROM streamstat.gin_stats('gs_slow') \gx
INSERT INTO gs VALUES ('{}', 'no', 'some words', '{"a": null}'), (null, null, null, null);
SELECT relname, difference, entry_items, pending_items, posting_items
	FROM gs_differences, streamstat.gin_stats(relname::regclass)
	ORDER BY relname COLLATE "C";

-- Many pages: 0 is in all rows, 1 to 6 in some, and the others are rare.
INSERT INTO gs SELECT ARRAY[0, n % 7, n + 10], 't' || n,
		to_tsvector('simple', 'all some' || n % 5 || ' w' || n % 3000),
		jsonb_build_object('k', n % 4000, 'all', 1)
	FROM (SELECT g * 7919 % 12007 AS n FROM generate_series(1, 12006) g) g;
CREATE INDEX gs_built ON gs USING gin (a);
SELECT relname, difference, entry_items, posting_items, pending_items,
		entry_internal_pages > 0 AS entry_tree, posting_internal_pages > 0 AS posting_trees,
		posting_leaf_pages > 0 AS posting_leaves, pending_list_pages > 1 AS pending,
		leaf_fragmentation > 0 AS fragmentation
	FROM gs_differences, streamstat.gin_stats(relname::regclass)
	ORDER BY relname COLLATE "C";
SELECT pending_pages = pending_list_pages AS as_metapage, pending_tuples
	FROM streamstat.gin_stats('gs_fast');

-- The pending list goes, and leaves deleted pages behind.
SELECT gin_clean_pending_list('gs_fast') > 10 AS flushed;
SELECT gin_difference('gs_fast'), s.pending_pages, s.pending_list_pages, s.pending_items,
		s.pending_free_bytes, s.deleted_pages > 10 AS deleted,
		s.entry_items = b.entry_items AS entries
	FROM streamstat.gin_stats('gs_fast') s, streamstat.gin_stats('gs_built') b;

-- A key in so many rows that its posting tree has a root above many leaves
CREATE TABLE gs_frequent (a int[]) WITH (autovacuum_enabled = off);
INSERT INTO gs_frequent SELECT ARRAY[1] FROM generate_series(1, 110000);
CREATE INDEX gs_frequent_a ON gs_frequent USING gin (a);
SELECT gin_difference('gs_frequent_a'), entry_items, posting_items, posting_internal_pages,
		posting_leaf_pages > 10 AS leaves, posting_leaf_density > 50 AS density
	FROM streamstat.gin_stats('gs_frequent_a');

-- VACUUM deletes posting tree pages that have become empty, and keeps others.
DELETE FROM gs_frequent WHERE ctid >= '(50,1)' AND ctid < '(350,1)' OR ctid >= '(400,1)';
CALL wait_for_horizon();
VACUUM (INDEX_CLEANUP on, TRUNCATE off) gs_frequent;
SELECT gin_difference('gs_frequent_a'), deleted_pages > 5 AS deleted,
		posting_items = (SELECT count(*) FROM gs_frequent) AS posting_items
	FROM streamstat.gin_stats('gs_frequent_a');
DELETE FROM gs WHERE a[3] % 20 <> 1;
CALL wait_for_horizon();
VACUUM (INDEX_CLEANUP on, TRUNCATE off) gs;
SELECT difference, count(*), CASE WHEN difference <> 'none' THEN min(relname) END AS first
	FROM gs_differences GROUP BY 1;
-- all rows gone: the trees stay
DELETE FROM gs_frequent;
CALL wait_for_horizon();
VACUUM (INDEX_CLEANUP on, TRUNCATE off) gs_frequent;
SELECT gin_difference('gs_frequent_a'), entry_items, posting_items, posting_leaf_pages > 0 AS leaves
	FROM streamstat.gin_stats('gs_frequent_a');
-- and are filled again, from pages that were freed, so in another order
INSERT INTO gs SELECT ARRAY[0, n % 7, n], 't' || n FROM generate_series(20000, 24000) n;
SELECT difference, count(*), CASE WHEN difference <> 'none' THEN min(relname) END AS first
	FROM gs_differences GROUP BY 1;
