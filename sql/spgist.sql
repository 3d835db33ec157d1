--
-- spgist_stats beside the bytes of every page
--
SET client_min_messages = warning;

-- pageinspect has no functions for SP-GiST: numbers are put together from their
-- bytes.  (Bit fields are those of little-endian machines.)
CREATE FUNCTION uint16(raw bytea, pos int) RETURNS int
LANGUAGE sql IMMUTABLE
RETURN get_byte(raw, pos) + 256 * get_byte(raw, pos + 1);

-- How many tuples of a page have each of the four states
CREATE FUNCTION tuple_states(raw bytea, nitems int) RETURNS bigint[]
LANGUAGE sql IMMUTABLE
BEGIN ATOMIC
	SELECT ARRAY[count(*) FILTER (WHERE state = 0), count(*) FILTER (WHERE state = 1),
			count(*) FILTER (WHERE state = 2), count(*) FILTER (WHERE state = 3)]
		FROM generate_series(0, nitems - 1) i,
			LATERAL (SELECT get_byte(raw, uint16(raw, 24 + 4 * i) & 32767) & 3 AS state OFFSET 0) t;
END;

CREATE FUNCTION contrib_spgist(index regclass) RETURNS jsonb
LANGUAGE plpgsql AS $$
DECLARE
	-- the special space
	opaque int := current_setting('block_size')::int - 8;
	usable int := opaque - 24;
	own_counts boolean;
	result jsonb;
BEGIN
	SELECT jsonb_build_object(
			'bytes', pg_relation_size(index), 'pages', blocks(index),
			'inner_pages', count(*) FILTER (WHERE kind = 'inner'),
			'leaf_pages', count(*) FILTER (WHERE kind = 'leaf'),
			'nulls_pages', count(*) FILTER (WHERE bits & 8 <> 0 AND kind IN ('leaf', 'inner')),
			'deleted_pages', count(*) FILTER (WHERE kind = 'deleted'),
			'new_pages', count(*) FILTER (WHERE kind = 'new'),
			'corrupt_pages', 0, 'first_new_block', null, 'first_corrupt_block', null,
			'live_items', coalesce(sum(states[1]) FILTER (WHERE kind = 'leaf'), 0),
			'dead_items', coalesce(sum(states[3]), 0),
			'redirect_items', coalesce(sum(states[2]), 0),
			'placeholder_items', coalesce(sum(states[4]), 0),
			'free_bytes', coalesce(sum(free) FILTER (WHERE kind = 'leaf'), 0),
			'inner_free_bytes', coalesce(sum(free) FILTER (WHERE kind = 'inner'), 0),
			'avg_leaf_density', 100 - 100 * avg(free / usable::float8) FILTER (WHERE kind = 'leaf'),
			'avg_inner_density', 100 - 100 * avg(free / usable::float8) FILTER (WHERE kind = 'inner')),
			-- a page says itself how many it has of two kinds
			bool_and(states[2] = uint16(raw, opaque + 2) AND states[4] = uint16(raw, opaque + 4))
				FILTER (WHERE kind IN ('leaf', 'inner'))
		INTO result, own_counts
		FROM generate_series(1, blocks(index) - 1) AS block,
			contrib.get_raw_page(index::text, block) AS raw,
			contrib.page_header(raw) AS h,
			LATERAL (SELECT uint16(raw, opaque) AS bits,
				-- before 18, a page's free space leaves out a line pointer
				greatest(h.upper - h.lower -
					CASE WHEN server_version() < 18 THEN 4 ELSE 0 END, 0) AS free) f,
			LATERAL (SELECT CASE
				WHEN h.upper = 0 THEN 'new'
				WHEN bits & 2 <> 0 OR block > 2 AND h.lower = 24 THEN 'deleted'
				WHEN bits & 4 <> 0 THEN 'leaf'
				ELSE 'inner' END AS kind) k,
			LATERAL (SELECT CASE WHEN kind IN ('leaf', 'inner')
				THEN tuple_states(raw, (h.lower - 24) / 4) END AS states) s;
	IF NOT own_counts THEN
		RAISE EXCEPTION 'tuples are not as the pages count them';
	END IF;
	RETURN result;
END
$$;

CREATE FUNCTION spgist_difference(index regclass) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	ours jsonb := (SELECT to_jsonb(s) FROM streamstat.spgist_stats(index) s);
	theirs jsonb;
BEGIN
	IF have_contrib() THEN
		-- page size and layout version, the latter first if little-endian
		IF get_byte(contrib.get_raw_page(index::text, 0), 18) < 16 THEN
			theirs := contrib_spgist(index);
			IF (SELECT count(*) FROM jsonb_object_keys(theirs)) <>
				(SELECT count(*) FROM jsonb_object_keys(ours)) THEN
				RETURN 'other columns';
			END IF;
		END IF;
	END IF;
	RETURN coalesce(numbers_differ(ours, theirs), 'none') ||
		coalesce('; sample: ' || sample_differs(index, ours), '');
END
$$;

CREATE TABLE sp (n int, p point, t text, i inet, r int4range, b box)
	WITH (autovacuum_enabled = off);
CREATE INDEX sp_box ON sp USING spgist (b);
CREATE INDEX sp_include ON sp USING spgist (p) INCLUDE (n, t);
CREATE INDEX sp_inet ON sp USING spgist (i);
CREATE INDEX sp_kd ON sp USING spgist (p kd_point_ops);
CREATE INDEX sp_quad ON sp USING spgist (p quad_point_ops) WITH (fillfactor = 100);
CREATE INDEX sp_range ON sp USING spgist (r);
CREATE INDEX sp_text ON sp USING spgist (t text_ops);
CREATE VIEW sp_differences AS
	SELECT c.relname::text, spgist_difference(c.oid) AS difference
	FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
	WHERE i.indrelid = 'sp'::regclass OFFSET 0;
CREATE FUNCTION sp_insert(first int, last int) RETURNS void
LANGUAGE sql
BEGIN ATOMIC
	INSERT INTO sp SELECT n, point(n % 130, n), 'text ' || n % 1009 || ' of ' || n,
			'10.0.0.0'::inet + 7 * n, int4range(n, n + n % 50),
			box(point(n, n % 100), point(n + 3, n % 100 + 3))
		FROM (SELECT first + g * 7919 % 12007 AS n FROM generate_series(0, last - first) g) g;
END;

-- Nothing: a metapage, and two roots that are leaf pages.  Then some rows, and
-- one of nulls
SELECT relname, difference FROM sp_differences ORDER BY relname COLLATE "C";
SELECT bytes, inner_pages, leaf_pages, nulls_pages, deleted_pages, new_pages, corrupt_pages,
		first_new_block, first_corrupt_block, live_items, dead_items, redirect_items,
		placeholder_items, free_bytes > 16200 AS free, inner_free_bytes,
		avg_leaf_density < 0.1 AS density, avg_inner_density
	FROM streamstat.spgist_stats('sp_quad') \gx
SELECT sp_insert(0, 9);
INSERT INTO sp DEFAULT VALUES;
SELECT relname, difference, inner_pages, leaf_pages, nulls_pages, live_items, redirect_items
	FROM sp_differences, streamstat.spgist_stats(relname::regclass)
	ORDER BY relname COLLATE "C";

-- Many pages, by insertion, which leaves redirects and placeholders, and built
SELECT sp_insert(10, 3009);
CREATE INDEX sp_built_kd ON sp USING spgist (p kd_point_ops);
CREATE INDEX sp_built_text ON sp USING spgist (t);
SELECT relname, difference, live_items, dead_items, redirect_items > 0 AS redirects,
		placeholder_items > 0 AS placeholders, inner_pages > 0 AS inner_pages, leaf_pages > 5 AS leaves,
		nulls_pages, avg_leaf_density BETWEEN 20 AND 100 AS density,
		avg_inner_density BETWEEN 1 AND 100 AS inner_density,
		inner_free_bytes > 0 AS inner_free
	FROM sp_differences, streamstat.spgist_stats(relname::regclass)
	ORDER BY relname COLLATE "C";

-- Into built ones, too: rows that go where others are, and long texts
SELECT sp_insert(0, 400);
INSERT INTO sp (t) SELECT repeat(chr(97 + n % 26), 100 + n * 10) || n FROM generate_series(1, 200) n;
SELECT relname, difference, live_items, redirect_items > 0 AS redirects
	FROM sp_differences, streamstat.spgist_stats(relname::regclass)
	WHERE relname LIKE '%text' OR relname LIKE '%kd' ORDER BY relname COLLATE "C";

-- So many nulls that their tree has an inner page
INSERT INTO sp (n) SELECT n FROM generate_series(1, 1500) n;
SELECT relname, difference, nulls_pages > 3 AS nulls, live_items
	FROM sp_differences, streamstat.spgist_stats(relname::regclass)
	ORDER BY relname COLLATE "C";

-- VACUUM makes redirects placeholders.  A chain of tuples that is gone leaves
-- a dead one.  Pages that are empty then count as deleted: they are used again.
DELETE FROM sp WHERE n BETWEEN 500 AND 4500;
CALL wait_for_horizon();
VACUUM (INDEX_CLEANUP on, TRUNCATE off) sp;
SELECT relname, difference, live_items = (SELECT count(*) FROM sp) AS live,
		dead_items > 0 AS dead, placeholder_items > 0 AS placeholders
	FROM sp_differences, streamstat.spgist_stats(relname::regclass)
	ORDER BY relname COLLATE "C";
SELECT sp_insert(20000, 21000);
SELECT difference, count(*), CASE WHEN difference <> 'none' THEN min(relname) END AS first
	FROM sp_differences GROUP BY 1;
DELETE FROM sp;
CALL wait_for_horizon();
VACUUM (INDEX_CLEANUP on, TRUNCATE off) sp;
SELECT relname, difference, live_items, leaf_pages > 5 AS leaves,
		sum(deleted_pages) OVER () > 5 AS deleted
	FROM sp_differences, streamstat.spgist_stats(relname::regclass)
	ORDER BY relname COLLATE "C";

-- At the end no lock is held.
BEGIN;
SELECT count(*) FROM streamstat.spgist_stats('sp_quad');
SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND relation = 'sp_quad'::regclass;
COMMIT;
