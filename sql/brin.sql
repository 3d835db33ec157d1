--
-- brin_stats beside what pageinspect says of every page
--
SET client_min_messages = warning;

CREATE FUNCTION contrib_brin(index regclass) RETURNS jsonb
LANGUAGE plpgsql AS $$
DECLARE
	usable int := current_setting('block_size')::int - 24 - 8;
	tableid regclass := (SELECT indrelid FROM pg_index WHERE indexrelid = index);
	result jsonb;
BEGIN
	SELECT jsonb_build_object(
			'version', m.version,
			'pages_per_range', m.pagesperrange,
			'bytes', pg_relation_size(index), 'pages', blocks(index),
			'revmap_pages', count(*) FILTER (WHERE type = 'revmap'),
			'regular_pages', count(*) FILTER (WHERE type = 'regular'),
			'new_pages', count(*) FILTER (WHERE type IS NULL),
			'corrupt_pages', 0, 'first_new_block', null, 'first_corrupt_block', null,
			'ranges', r.ranges,
			'summarized_ranges', coalesce(sum(summarized), 0),
			'unsummarized_ranges', greatest(r.ranges - coalesce(sum(summarized), 0), 0),
			'live_items', coalesce(sum(items), 0),
			'placeholder_items', coalesce(sum(placeholders), 0),
			'free_bytes', coalesce(sum(free), 0),
			'avg_density', 100 - 100 * avg(free / usable::float8))
		INTO result
		FROM contrib.brin_metapage_info(contrib.get_raw_page(index::text, 0)) m,
			LATERAL (SELECT ceil(blocks(tableid)::numeric / m.pagesperrange) AS ranges) r,
			generate_series(1, blocks(index) - 1) AS block,
			contrib.get_raw_page(index::text, block) AS raw,
			contrib.page_header(raw) AS h,
			contrib.brin_page_type(raw) AS type,
			-- before 18, a page's free space leaves out a line pointer
			LATERAL (SELECT CASE WHEN type = 'regular' THEN greatest(h.upper - h.lower -
				CASE WHEN server_version() < 18 THEN 4 ELSE 0 END, 0) END AS free) f,
			LATERAL (SELECT CASE WHEN type = 'revmap' THEN
				(SELECT count(*) FROM contrib.brin_revmap_data(raw) d
				 WHERE d::text NOT LIKE '%,0)') END AS summarized) s,
			-- brin_page_items() has a row for every column, and none of use
			-- without items
			LATERAL (SELECT CASE WHEN type = 'regular' AND h.lower > 24 THEN
				(SELECT ARRAY[count(DISTINCT itemoffset) FILTER (WHERE blknum IS NOT NULL),
					count(DISTINCT itemoffset) FILTER (WHERE placeholder)]
				 FROM contrib.brin_page_items(raw, index)) END AS counts) c,
			LATERAL (SELECT counts[1] AS items, counts[2] AS placeholders) i
		GROUP BY m.version, m.pagesperrange, r.ranges;
	RETURN result;
END
$$;

CREATE FUNCTION brin_difference(index regclass) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	ours jsonb := (SELECT to_jsonb(s) FROM streamstat.brin_stats(index) s);
	theirs jsonb;
BEGIN
	IF have_contrib() THEN
		theirs := contrib_brin(index);
		IF (SELECT count(*) FROM jsonb_object_keys(theirs)) <>
			(SELECT count(*) FROM jsonb_object_keys(ours)) THEN
			RETURN 'other columns';
		END IF;
	END IF;
	RETURN coalesce(numbers_differ(ours, theirs), 'none') ||
		coalesce('; sample: ' || sample_differs(index, ours), '');
END
$$;

-- An expression that fails on demand
CREATE FUNCTION br_expression(i int) RETURNS int
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	IF current_setting('test.fail', true) = 'on' THEN
		RAISE EXCEPTION 'failed as asked';
	END IF;
	RETURN i;
END
$$;

-- One row a block
CREATE TABLE br (i int, t text, b box, n inet)
	WITH (autovacuum_enabled = off, fillfactor = 10);
CREATE INDEX br_1 ON br USING brin (i) WITH (pages_per_range = 1);
CREATE INDEX br_7 ON br USING brin (i, t) WITH (pages_per_range = 7);
CREATE INDEX br_default ON br USING brin (i);
CREATE INDEX br_inclusion ON br USING brin (b, n inet_inclusion_ops) WITH (pages_per_range = 4);
CREATE INDEX br_bloom ON br USING brin (i int4_bloom_ops) WITH (pages_per_range = 32);
CREATE INDEX br_multi ON br USING brin (i int4_minmax_multi_ops) WITH (pages_per_range = 16);
CREATE INDEX br_expression ON br USING brin (br_expression(i)) WITH (pages_per_range = 16);
CREATE VIEW br_differences AS
	SELECT c.relname::text, brin_difference(c.oid) AS difference
	FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
	WHERE i.indrelid = 'br'::regclass;
CREATE FUNCTION br_insert(first int, last int) RETURNS void
LANGUAGE sql
BEGIN ATOMIC
	INSERT INTO br SELECT i, repeat('x', 900), box(point(i, i), point(i + 1, i + 1)),
			'10.0.0.0'::inet + i
		FROM generate_series(first, last) i;
END;

-- Nothing: an empty table has no range, and its index a summary of the first one.
SELECT relname, difference FROM br_differences ORDER BY relname COLLATE "C";
SELECT version, pages_per_range, bytes, revmap_pages, regular_pages, new_pages, corrupt_pages,
		first_new_block, first_corrupt_block, ranges, summarized_ranges, unsummarized_ranges, live_items,
		placeholder_items, free_bytes > 8100 AS free, avg_density < 1 AS density
	FROM streamstat.brin_stats('br_7') \gx

-- The first range is summarized by and by, the others when asked for.
SELECT br_insert(1, 1);
SELECT relname, difference, ranges, summarized_ranges, unsummarized_ranges, live_items
	FROM br_differences, streamstat.brin_stats(relname::regclass)
	ORDER BY relname COLLATE "C";
SELECT br_insert(2, 1000);
SELECT blocks('br');
SELECT relname, difference, ranges, summarized_ranges, unsummarized_ranges, live_items
	FROM br_differences, streamstat.brin_stats(relname::regclass)
	ORDER BY relname COLLATE "C";
SELECT brin_summarize_range('br_1', 20), brin_summarize_new_values('br_7'),
	brin_summarize_range('br_bloom', 992);
SELECT relname, difference, ranges, summarized_ranges, unsummarized_ranges, live_items
	FROM br_differences, streamstat.brin_stats(relname::regclass)
	WHERE relname IN ('br_1', 'br_7', 'br_bloom') ORDER BY relname COLLATE "C";

-- A summary that was given up leaves a placeholder.
SET test.fail = on;
SELECT error_of('SELECT brin_summarize_range(''br_expression'', 32)');
RESET test.fail;
SELECT brin_difference('br_expression'), summarized_ranges, live_items, placeholder_items
	FROM streamstat.brin_stats('br_expression');
CALL wait_for_horizon();

-- VACUUM summarizes all; growth; the range map gets more pages, in whose way
-- are regular ones.
VACUUM (TRUNCATE off) br;
SELECT relname, difference, ranges, summarized_ranges, unsummarized_ranges, live_items, placeholder_items
	FROM br_differences, streamstat.brin_stats(relname::regclass)
	ORDER BY relname COLLATE "C";
SELECT br_insert(1001, 2900);
SELECT relname, difference, ranges, summarized_ranges, unsummarized_ranges, live_items
	FROM br_differences, streamstat.brin_stats(relname::regclass)
	ORDER BY relname COLLATE "C";
VACUUM (TRUNCATE off) br;
CREATE INDEX br_built ON br USING brin (i, t) WITH (pages_per_range = 1);
SELECT relname, difference, revmap_pages, summarized_ranges, unsummarized_ranges, live_items,
		regular_pages > 0 AS regular, avg_density BETWEEN 1 AND 99 AS density
	FROM br_differences, streamstat.brin_stats(relname::regclass)
	ORDER BY relname COLLATE "C";

-- Summaries thrown away leave unused line pointers, and even empty pages.
SELECT brin_desummarize_range('br_1', 0), brin_desummarize_range('br_1', 1500);
SELECT count(brin_desummarize_range('br_built', n)) FROM generate_series(100, 2899) n;
SELECT relname, difference, summarized_ranges, unsummarized_ranges, live_items
	FROM br_differences, streamstat.brin_stats(relname::regclass)
	WHERE relname IN ('br_1', 'br_built') ORDER BY relname COLLATE "C";

-- A table that has been truncated has fewer ranges than the index.
DELETE FROM br WHERE i > 100;
CALL wait_for_horizon();
VACUUM br;
SELECT blocks('br');
SELECT relname, difference, ranges, summarized_ranges, unsummarized_ranges
	FROM br_differences, streamstat.brin_stats(relname::regclass)
	WHERE relname IN ('br_1', 'br_7') ORDER BY relname COLLATE "C";

-- At the end no lock is held, neither on the index nor on the table.
BEGIN;
SELECT count(*) FROM streamstat.brin_stats('br_1');
SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND relation IN
	('br'::regclass, 'br_1'::regclass);
COMMIT;
