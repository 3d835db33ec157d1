--
-- bloom_stats beside the bytes of every page, and bloat beside REINDEX
--
-- On a server without the extension bloom there are no indexes, and so no differences.
--
SET client_min_messages = warning;

DO $$
BEGIN
	IF EXISTS (SELECT FROM pg_available_extensions WHERE name = 'bloom') THEN
		CREATE EXTENSION bloom SCHEMA contrib;
	END IF;
END
$$;
CREATE FUNCTION have_bloom() RETURNS boolean
LANGUAGE sql BEGIN ATOMIC
	SELECT EXISTS (SELECT FROM pg_am WHERE amname = 'bloom');
END;
-- What happens to bloom indexes
CREATE PROCEDURE with_bloom(commands text)
LANGUAGE plpgsql AS $$ BEGIN IF have_bloom() THEN EXECUTE commands; END IF; END $$;

-- pageinspect has no functions for bloom: numbers are put together from their bytes.
CREATE FUNCTION bloom_word(raw bytea, pos int) RETURNS int
LANGUAGE sql IMMUTABLE
RETURN CASE WHEN get_byte(raw, 18) < 16 THEN get_byte(raw, pos) + 256 * get_byte(raw, pos + 1)
	ELSE 256 * get_byte(raw, pos) + get_byte(raw, pos + 1) END;
CREATE FUNCTION bloom_pages(index regclass) RETURNS jsonb
LANGUAGE plpgsql AS $$
DECLARE
	own int := current_setting('block_size')::int - 8;
	meta bytea := contrib.get_raw_page(index::text, 0);
BEGIN
	RETURN (SELECT jsonb_build_object(
			'signature_bits', 16 * greatest(bloom_word(meta, 36), bloom_word(meta, 38)),
			'bytes', pg_relation_size(index), 'pages', blocks(index),
			'leaf_pages', count(*) FILTER (WHERE kind = 0 AND upper > 0),
			'deleted_pages', count(*) FILTER (WHERE kind = 2),
			'nonfull_pages', bloom_word(meta, 30) - bloom_word(meta, 28),
			'live_items', coalesce(sum(ntuples), 0),
			'free_bytes', coalesce(sum(upper - lower) FILTER (WHERE kind = 0), 0),
			'avg_leaf_density', 100 - 100 * avg((upper - lower) / (own - 24)::float8) FILTER (WHERE kind = 0 AND upper > 0),
			'new_pages', count(*) FILTER (WHERE upper = 0),
			'corrupt_pages', 0, 'first_corrupt_block', null,
			'first_new_block', min(block) FILTER (WHERE upper = 0))
		FROM generate_series(1, blocks(index) - 1) AS block, contrib.get_raw_page(index::text, block) AS raw,
			contrib.page_header(raw) AS h,
			LATERAL (SELECT bloom_word(raw, own) AS ntuples, bloom_word(raw, own + 2) AS kind) s);
END
$$;
CREATE FUNCTION bloom_difference(index regclass) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	ours jsonb := (SELECT to_jsonb(s) FROM streamstat.bloom_stats(index) s);
	theirs jsonb := bloom_pages(index);
BEGIN
	RETURN nullif(concat_ws('; ', numbers_differ(ours, theirs),
		CASE WHEN ARRAY(SELECT jsonb_object_keys(ours)) <> ARRAY(SELECT jsonb_object_keys(theirs)) THEN 'other columns' END,
		'sample: ' || sample_differs(index, ours),
		'index_stats: ' || nullif((SELECT difference(to_jsonb(i), ours) FROM streamstat.index_stats(index) i), 'none'),
		(SELECT 'corrupt block ' || min(block_no) FROM streamstat.corrupt_blocks(index) HAVING count(*) > 0)), '');
END
$$;

CREATE TABLE bl (i int, n int, t text, other int) WITH (autovacuum_enabled = off, fillfactor = 70);
CALL with_bloom($$
CREATE INDEX bl_default ON bl USING bloom (i);
CREATE INDEX bl_short ON bl USING bloom (i, n) WITH (length = 1);
CREATE INDEX bl_odd ON bl USING bloom (t) WITH (length = 100, col1 = 4);
CREATE INDEX bl_long ON bl USING bloom (i, t) WITH (length = 4096);
CREATE INDEX bl_nulls ON bl USING bloom (n);
CREATE INDEX bl_partial ON bl USING bloom (i) WHERE i % 3 = 0;
CREATE INDEX bl_expression ON bl USING bloom ((i / 2)) WITH (length = 600);
$$);
CREATE VIEW bl_indexes AS SELECT indexrelid::regclass AS index FROM pg_index WHERE indrelid = 'bl'::regclass;

-- What pages have; what all blocks and ten samples say, and what REINDEX makes, which is undone.
-- So the index keeps its history.
CREATE TABLE bl_said (index text, state text, difference text, said streamstat.bloat_row, samples int8range[], real int8);
CREATE PROCEDURE compare_bl(state text)
LANGUAGE plpgsql AS $$
DECLARE
	sizes jsonb;
BEGIN
	INSERT INTO bl_said SELECT x.index::text, state, bloom_difference(x.index), b, ARRAY(
			SELECT int8range(s.predicted_bytes_low, s.predicted_bytes_high, '[]')
				FROM generate_series(1, 10) seed, streamstat.bloat(x.index, 20, seed => seed) s)
		FROM bl_indexes x, streamstat.bloat(x.index, 1000000) b;
	BEGIN
		REINDEX TABLE bl;
		sizes := (SELECT jsonb_object_agg(x.index, pg_relation_size(x.index)) FROM bl_indexes x);
		RAISE EXCEPTION USING ERRCODE = 'triggered_action_exception';
	EXCEPTION WHEN triggered_action_exception THEN
		UPDATE bl_said b SET real = (sizes ->> b.index)::int8 WHERE b.state = compare_bl.state;
	END;
END
$$;
CREATE PROCEDURE fill_bl(first int, last int)
LANGUAGE sql AS $$ INSERT INTO bl SELECT i, nullif(i % 5, 0), md5(i::text), 0 FROM generate_series(first, last) i; $$;

CALL compare_bl('nothing');
CALL fill_bl(1, 1);
CALL compare_bl('one row');
CALL fill_bl(2, 9000);
CALL compare_bl('inserted');
DELETE FROM bl WHERE i % 4 = 0;
CALL wait_for_horizon();
CALL compare_bl('deleted, not vacuumed');
VACUUM bl;
CALL compare_bl('vacuumed');
CALL fill_bl(9001, 10500);
CALL compare_bl('inserted again');
UPDATE bl SET other = 1;
CALL wait_for_horizon();
CALL compare_bl('HOT updates, and others');
UPDATE bl SET i = i + 1 WHERE i % 2 = 0;
CALL wait_for_horizon();
VACUUM bl;
CALL compare_bl('updated and vacuumed');
DELETE FROM bl WHERE i BETWEEN 1000 AND 7000;
CALL wait_for_horizon();
VACUUM bl;
CALL compare_bl('pages deleted');
-- The metapage has the length of the last build.
CALL with_bloom('ALTER INDEX bl_default SET (length = 300); ALTER INDEX bl_odd RESET (length);');
CALL fill_bl(20000, 22000);
CALL compare_bl('other length');
REINDEX TABLE bl;
CALL compare_bl('rebuilt');
BEGIN;
CALL fill_bl(30000, 31000);
ROLLBACK;
CALL wait_for_horizon();
CALL compare_bl('rolled back');
DELETE FROM bl;
CALL wait_for_horizon();
CALL compare_bl('all dead');
VACUUM (TRUNCATE off) bl;
CALL compare_bl('empty');

SELECT count(*) = CASE WHEN have_bloom() THEN 7 * 14 ELSE 0 END AS all, count(difference) AS differences, min(difference) AS first
	FROM bl_said;
-- The prediction is exact, and has the ends of one that is.
SELECT index, state, (said).predicted_bytes, (said).predicted_bytes_low, (said).predicted_bytes_high, real, (said).measured, (said).note
	FROM bl_said
	WHERE ((said).predicted_bytes, (said).predicted_bytes_low, (said).predicted_bytes_high, (said).measured) <>
			(real, real - current_setting('block_size')::int, real + current_setting('block_size')::int, 'exact')
		OR (said).note IS NOT NULL
	ORDER BY index, state COLLATE "C";
SELECT sum((SELECT count(*) FROM unnest(samples) s WHERE s @> real)) >= 0.93 * sum(cardinality(samples)) OR NOT have_bloom() AS samples
	FROM bl_said;
SELECT coalesce(bool_and(have), true) AS states FROM (
	SELECT bool_or((said).reclaimable_bytes > 100000) FROM bl_said UNION ALL
	SELECT bool_or((streamstat.bloom_stats(index)).deleted_pages > 100) FROM bl_indexes UNION ALL
	SELECT bool_or((streamstat.bloom_stats(index)).signature_bits = 304) FROM bl_indexes) s (have);

-- All other functions take it, and an index of another access method is refused.
SELECT coalesce(bool_and(access_method = 'bloom' AND measured = 'exact' AND predicted_bytes = current_setting('block_size')::int AND note IS NULL), true) AS report
	FROM streamstat.database_report(margin => 0) WHERE parent_name = 'public.bl' AND kind = 'index';
SELECT coalesce(bool_and((SELECT max(free_percent) = 100 FROM streamstat.layout_map(index, 5))), true) AS layout FROM bl_indexes;
CREATE INDEX bl_btree ON bl (i);
SELECT error_of('SELECT streamstat.bloom_stats(''bl_btree'')');
SELECT error_of('SELECT streamstat.bloom_stats(''bl'')');
SELECT error_of('SELECT streamstat.bloom_stats(NULL)');
