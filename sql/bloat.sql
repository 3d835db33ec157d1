--
-- bloat: what a relation would have after a rebuild
--
-- Each prediction is compared with what the rebuild then makes of the relation.
--
SET client_min_messages = warning;
SET max_parallel_maintenance_workers = 0;

-- How far the prediction is off, and whether that of a sample is right as far as
-- it says; then what is predicted of the new relation
CREATE FUNCTION after_rebuild(rel regclass, rebuild text, tolerance float8,
	OUT prediction text, OUT sample boolean, OUT again text)
LANGUAGE plpgsql AS $$
DECLARE
	p record;
	s record;
	f record;
	bytes int8;
	off float8;
BEGIN
	SELECT * INTO p FROM streamstat.bloat(rel, 1000000, with_toast => 'no');
	SELECT * INTO s FROM streamstat.bloat(rel, 50, 1, 'no');
	EXECUTE format(rebuild, rel);
	SELECT * INTO f FROM streamstat.bloat(rel, 1000000, with_toast => 'no');
	bytes := pg_relation_size(rel);

	off := 100.0 * (p.predicted_bytes - bytes) / bytes;
	prediction := CASE
		WHEN p.predicted_bytes IS NULL THEN p.note
		-- in a small relation, a block is more than that
		WHEN abs(off) <= tolerance OR abs(p.predicted_bytes - bytes) <= 8192
			THEN format('within %s %%', tolerance)
		ELSE format('%s instead of %s: %s %%', p.predicted_bytes, bytes, round(off::numeric, 1)) END;
	sample := bytes BETWEEN s.predicted_bytes_low AND s.predicted_bytes_high AND s.blocks_read <= 50;
	again := CASE
		-- for certain
		WHEN f.reclaimable_bytes_low = 0 AND f.measured = 'exact' THEN 'nothing'
		ELSE format('%s of %s', f.reclaimable_bytes, f.bytes) END;
END
$$;

CREATE FUNCTION after_reindex(index regclass, tolerance float8 DEFAULT 1,
	OUT prediction text, OUT sample boolean, OUT again text)
LANGUAGE sql BEGIN ATOMIC
	SELECT r.* FROM after_rebuild(index, 'REINDEX INDEX %s', tolerance) r;
END;

-- Keys of all kinds, inserted in no order
CREATE PROCEDURE make_rec()
LANGUAGE plpgsql AS $$
BEGIN
	DROP TABLE IF EXISTS rec;
	CREATE TABLE rec (i int, few int, t text, b int8, n int) WITH (autovacuum_enabled = off);
	CREATE UNIQUE INDEX rec_unique ON rec (i);
	CREATE INDEX rec_few ON rec (few);
	CREATE INDEX rec_few_apart ON rec (few) WITH (deduplicate_items = off);
	CREATE INDEX rec_text ON rec (t);
	CREATE INDEX rec_long ON rec ((repeat(t, 12))) WHERE i % 3 = 1;
	CREATE INDEX rec_composite ON rec (few, t, b);
	CREATE INDEX rec_partial ON rec (i) WHERE i % 3 = 0;
	CREATE INDEX rec_expression ON rec ((b % 300));
	CREATE INDEX rec_include ON rec (i) INCLUDE (t);
	CREATE INDEX rec_half ON rec (i) WITH (fillfactor = 50);
	CREATE INDEX rec_full ON rec (few, i) WITH (fillfactor = 100);
	CREATE INDEX rec_nulls ON rec (n);
	CREATE INDEX rec_hash ON rec USING hash (i);
	CREATE INDEX rec_hash_groups ON rec USING hash ((b % 300));
	CREATE INDEX rec_hash_few ON rec USING hash (few);
	INSERT INTO rec SELECT n, n % 20, md5(n::text), n::int8 * 1000003,
			CASE WHEN n % 4 = 0 THEN n % 2500 END
		FROM (SELECT (g::int8 * 7919 % 20011)::int4 AS n FROM generate_series(1, 20010) g) g;
END
$$;
CREATE VIEW rec_indexes AS SELECT indexrelid::regclass AS index, a.amname AS am,
		CASE WHEN a.amname <> 'hash' THEN 1 WHEN c.relname LIKE '%few' THEN 25 ELSE 5 END AS tolerance
	FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am a ON a.oid = c.relam
	WHERE indrelid = to_regclass('rec')
	-- the first rebuild tells the server how many rows there are
	ORDER BY indexrelid;

CALL make_rec();
SELECT index, r.* FROM rec_indexes, after_reindex(index, tolerance) r ORDER BY index::text;

-- Most rows deleted, and their entries
DELETE FROM rec WHERE i % 3 = 2 OR i < 7000;
CALL wait_for_horizon();
VACUUM rec;
SELECT index, r.* FROM rec_indexes, after_reindex(index, tolerance) r ORDER BY index::text;
-- and so many that nothing is left
DELETE FROM rec;
CALL wait_for_horizon();
VACUUM rec;
SELECT index, r.* FROM rec_indexes, after_reindex(index, tolerance) r ORDER BY index::text;

-- Rows deleted, with their entries still there: the table tells
CALL make_rec();
DELETE FROM rec WHERE i % 2 = 0 OR i < 7000;
CALL wait_for_horizon();
SELECT index, r.* FROM rec_indexes, after_reindex(index, CASE WHEN am = 'btree' THEN 2 ELSE 15 END) r
	WHERE index::text !~ 'hash_few' ORDER BY index::text;
SELECT index, r.* FROM rec_indexes, after_reindex(index, 25) r
	WHERE index::text ~ 'hash_few' ORDER BY index::text;

-- Rows updated time and again: the versions of a row have the same keys.
CALL make_rec();
CALL wait_for_horizon();
VACUUM rec;
UPDATE rec SET b = b + 1 WHERE i % 2 = 0;
UPDATE rec SET b = b + 1 WHERE i % 3 = 0;
CALL wait_for_horizon();
SELECT index, r.* FROM rec_indexes, after_reindex(index, CASE WHEN am = 'btree' THEN 2 ELSE 15 END) r
	WHERE index::text !~ 'hash_few' ORDER BY index::text;
SELECT index, r.* FROM rec_indexes, after_reindex(index, 25) r
	WHERE index::text ~ 'hash_few' ORDER BY index::text;
-- HOT updates make no entries.
UPDATE rec SET t = t WHERE i % 10 = 0;
CREATE TABLE rec_hot (i int, t text) WITH (fillfactor = 40, autovacuum_enabled = off);
CREATE INDEX rec_hot_i ON rec_hot (i);
INSERT INTO rec_hot SELECT g, 'x' FROM generate_series(1, 10000) g;
CALL wait_for_horizon();
REINDEX INDEX rec_hot_i;
UPDATE rec_hot SET t = 'y';
CALL wait_for_horizon();
SELECT * FROM after_reindex('rec_hot_i');

-- Indexes with nothing, or next to nothing
CREATE TABLE rec_none (i int) WITH (autovacuum_enabled = off);
CREATE INDEX rec_none_btree ON rec_none (i);
CREATE INDEX rec_none_hash ON rec_none USING hash (i);
SELECT index, r.*, CASE WHEN index::text !~ 'hash' THEN blocks(index) END AS blocks FROM unnest('{rec_none_btree, rec_none_hash}'::regclass[]) index,
	after_reindex(index) r;
INSERT INTO rec_none VALUES (1);
SELECT index, r.*, CASE WHEN index::text !~ 'hash' THEN blocks(index) END AS blocks FROM unnest('{rec_none_btree, rec_none_hash}'::regclass[]) index,
	after_reindex(index) r;
-- one that has lost all it had
CREATE TABLE rec_emptied (i int) WITH (autovacuum_enabled = off);
INSERT INTO rec_emptied SELECT generate_series(1, 20000);
CREATE INDEX rec_emptied_hash ON rec_emptied USING hash (i);
DELETE FROM rec_emptied;
CALL wait_for_horizon();
VACUUM rec_emptied;
SELECT measured, predicted_bytes_high < bytes / 10 AS high, reclaimable_bytes > bytes * 0.9 AS reclaimable
	FROM streamstat.bloat('rec_emptied_hash');
-- a BRIN index is taken to keep its size
CREATE TABLE rec_brin (i int) WITH (autovacuum_enabled = off);
CREATE INDEX rec_brin_i ON rec_brin USING brin (i) WITH (pages_per_range = 1);
INSERT INTO rec_brin SELECT generate_series(1, 20000);
SELECT bytes = predicted_bytes AS kept, bytes - predicted_bytes_low AS low, predicted_bytes_high - bytes AS high, reclaimable_bytes, measured, note
	FROM unnest('{10, 1000000}'::int[]) blocks, streamstat.bloat('rec_brin_i', blocks);

-- The row: what adds up
SELECT relation, bytes = pg_relation_size('rec_text') AS bytes, bytes = blocks_total * 8192 AS blocks,
		reclaimable_bytes = greatest(bytes - predicted_bytes, 0) AS reclaimable,
		reclaimable_bytes_low = greatest(bytes - predicted_bytes_high, 0) AS low,
		reclaimable_bytes_high = greatest(bytes - predicted_bytes_low, 0) AS high,
		abs(reclaimable_percent - 100.0 * reclaimable_bytes / bytes) < 1e-6 AS percent,
		blocks_read, measured, note
	FROM streamstat.bloat('rec_text', 50, seed => 1);
SELECT count(DISTINCT r::text) = 1 AS same_seed FROM generate_series(1, 3), streamstat.bloat('rec_text', 100, 42, 'no') r;
SELECT count(DISTINCT predicted_bytes) > 1 AS no_seed
	FROM generate_series(1, 8) g, streamstat.bloat('rec_text', 20 + g * 0);

-- A table with TOAST table: rows
CREATE TABLE rec_toast (t text) WITH (autovacuum_enabled = off);
SELECT with_toast, count(*) AS rows, count(DISTINCT relation) AS relations,
		count(*) FILTER (WHERE relation = 'rec_toast'::regclass) AS table,
		sum(bytes) = pg_relation_size('rec_toast') AS bytes
	FROM unnest('{no, row, sum, NULL}'::text[]) with_toast, streamstat.bloat('rec_toast', with_toast => with_toast)
	GROUP BY with_toast ORDER BY with_toast;

DROP VIEW rec_indexes;
DROP PROCEDURE make_rec;
DROP TABLE rec, rec_hot, rec_none, rec_brin, rec_toast;
