--
-- bloat of indexes whose tables have dead rows: an index build leaves their entries
-- out, and which entries these are, only the table knows
--
SET client_min_messages = warning;
SET max_parallel_maintenance_workers = 0;

-- How far the prediction by all blocks is off, and whether it is right as far as it
-- says; whether those of samples are, 17 of 20 at least.  Of index and of table, a
-- sample reads so many blocks.
CREATE FUNCTION dr_reindex(indexes regclass[], blocks int, tolerance float8 DEFAULT 1,
	OUT index regclass, OUT prediction text, OUT low_high boolean, OUT samples boolean, OUT smaller boolean, OUT note text)
RETURNS SETOF record
LANGUAGE plpgsql AS $$
DECLARE
	p record;
	lows int8[];
	highs int8[];
	bytes int8;
BEGIN
	FOREACH index IN ARRAY indexes LOOP
		SELECT * INTO p FROM streamstat.bloat(index, 1000000);
		SELECT array_agg(r.predicted_bytes_low), array_agg(r.predicted_bytes_high) INTO lows, highs
			FROM generate_series(1, 20) seed, streamstat.bloat(index, blocks, seed) r;
		EXECUTE format('REINDEX INDEX %s', index);
		bytes := pg_relation_size(index);
		prediction := CASE WHEN abs(p.predicted_bytes - bytes) <= greatest(tolerance / 100 * bytes, 8192)
			THEN format('within %s %%', tolerance)
			ELSE format('%s instead of %s', p.predicted_bytes, bytes) END;
		low_high := bytes BETWEEN p.predicted_bytes_low AND p.predicted_bytes_high;
		samples := (SELECT count(*) FROM unnest(lows, highs) s(low, high) WHERE bytes BETWEEN low AND high) >= 17;
		smaller := p.reclaimable_bytes > 0;
		note := p.note;
		RETURN NEXT;
	END LOOP;
END
$$;

-- Partial indexes: rows have left the predicate, most of them, half, and none
CREATE TABLE dr_queue (i int, state text) WITH (autovacuum_enabled = off);
INSERT INTO dr_queue SELECT g, 'new' FROM generate_series(1, 20000) g;
CREATE INDEX dr_queue_new ON dr_queue (i) WHERE state = 'new';
CALL wait_for_horizon();
VACUUM dr_queue;
UPDATE dr_queue SET state = 'done' WHERE i > 50;
CALL wait_for_horizon();
SELECT * FROM dr_reindex('{dr_queue_new}', 40);
TRUNCATE dr_queue;
INSERT INTO dr_queue SELECT g, 'new' FROM generate_series(1, 20000) g;
CALL wait_for_horizon();
VACUUM dr_queue;
UPDATE dr_queue SET state = 'done' WHERE i <= 10000;
CALL wait_for_horizon();
SELECT * FROM dr_reindex('{dr_queue_new}', 40);
CREATE INDEX dr_queue_done ON dr_queue (i) WHERE state = 'done';
SELECT * FROM dr_reindex('{dr_queue_done}', 40);

-- Only wide rows are deleted.
CREATE TABLE dr_wide (i int, t text) WITH (autovacuum_enabled = off);
INSERT INTO dr_wide SELECT g, md5(g::text) || CASE WHEN g % 5 = 0 THEN repeat(md5((-g)::text), 20) ELSE '' END FROM generate_series(1, 10000) g;
CREATE INDEX dr_wide_t ON dr_wide (t);
DELETE FROM dr_wide WHERE i % 5 = 0;
CALL wait_for_horizon();
SELECT * FROM dr_reindex('{dr_wide_t}', 40);

-- All kinds of indexes: rows in no order, and a range of keys is deleted
CREATE TABLE dr_kinds (i int, few int, p point) WITH (autovacuum_enabled = off);
INSERT INTO dr_kinds SELECT n, n % 100, point(n::int8 * n % 20021, n::int8 * 7919 % 20023) FROM (SELECT (g::int8 * 7919 % 20011)::int4 FROM generate_series(1, 20010) g) g(n);
CREATE INDEX dr_kinds_btree ON dr_kinds (i);
CREATE INDEX dr_kinds_few ON dr_kinds (few);
CREATE INDEX dr_kinds_apart ON dr_kinds (few) WITH (deduplicate_items = off);
CREATE INDEX dr_kinds_gin ON dr_kinds USING gin ((ARRAY[i, few])) WITH (fastupdate = off);
CREATE INDEX dr_kinds_gist ON dr_kinds USING gist (p);
CREATE INDEX dr_kinds_spgist ON dr_kinds USING spgist (p);
CREATE INDEX dr_kinds_hash ON dr_kinds USING hash (i);
DELETE FROM dr_kinds WHERE i < 12000;
CALL wait_for_horizon();
-- a build of a hash index begins with as many buckets as that asks for
ANALYZE dr_kinds;
SELECT * FROM dr_reindex('{dr_kinds_btree, dr_kinds_few, dr_kinds_apart}', 40);
SELECT * FROM dr_reindex('{dr_kinds_hash, dr_kinds_gin}', 40, 8);
SELECT * FROM dr_reindex('{dr_kinds_gist, dr_kinds_spgist}', 40, 35);

-- Versions of rows have the same keys.
CREATE TABLE dr_updated (i int, few int, n int) WITH (autovacuum_enabled = off);
INSERT INTO dr_updated SELECT g, g % 50, 0 FROM generate_series(1, 10000) g;
CREATE INDEX dr_updated_i ON dr_updated (i);
CREATE INDEX dr_updated_n ON dr_updated (n, i);
UPDATE dr_updated SET n = n + 1;
UPDATE dr_updated SET n = n + 1 WHERE i % 2 = 0;
CALL wait_for_horizon();
SELECT * FROM dr_reindex('{dr_updated_i, dr_updated_n}', 40);

-- HOT updates: an entry leads to the last version, through a redirect or not.
CREATE TABLE dr_hot (i int, t text) WITH (fillfactor = 40, autovacuum_enabled = off);
INSERT INTO dr_hot SELECT g, 'x' FROM generate_series(1, 10000) g;
CREATE INDEX dr_hot_i ON dr_hot (i);
UPDATE dr_hot SET t = 'y';
CALL wait_for_horizon();
UPDATE dr_hot SET t = 'z' WHERE i % 3 = 0;
CALL wait_for_horizon();
SELECT redirect_line_pointers > 100 AS redirects FROM streamstat.table_stats('dr_hot');
SELECT * FROM dr_reindex('{dr_hot_i}', 20);
DELETE FROM dr_hot WHERE i % 7 < 3;
CALL wait_for_horizon();
SELECT * FROM dr_reindex('{dr_hot_i}', 20);
-- what pruning leaves of rows: dead line pointers
CREATE TABLE dr_pruned (i int, t text) WITH (autovacuum_enabled = off);
INSERT INTO dr_pruned SELECT g, repeat('x', 60) FROM generate_series(1, 10000) g;
CREATE INDEX dr_pruned_i ON dr_pruned (i);
DELETE FROM dr_pruned WHERE i % 3 = 0;
CALL wait_for_horizon();
SELECT count(*) FROM dr_pruned;
DELETE FROM dr_pruned WHERE i % 6 = 1;
CALL wait_for_horizon();
SELECT dead_line_pointers > 1000 AS dead_line_pointers, dead_tuples > 1000 AS dead_tuples FROM streamstat.table_stats('dr_pruned');
SELECT * FROM dr_reindex('{dr_pruned_i}', 20);

-- A transaction that was rolled back, of which rows have entries
CREATE TABLE dr_aborted (i int) WITH (autovacuum_enabled = off);
CREATE INDEX dr_aborted_i ON dr_aborted (i);
INSERT INTO dr_aborted SELECT generate_series(1, 10000);
BEGIN;
INSERT INTO dr_aborted SELECT generate_series(10001, 20000);
ROLLBACK;
SELECT * FROM dr_reindex('{dr_aborted_i}', 20);

-- Rows that an own delete has hidden may come back.  Nothing is dead either where all
-- is visible to all, which no block has to be read for.  Other sessions do not keep
-- VACUUM from finding that of a temporary table.
CREATE TEMP TABLE dr_own (i int);
INSERT INTO dr_own SELECT generate_series(1, 10000);
CREATE INDEX dr_own_i ON dr_own (i);
BEGIN;
DELETE FROM dr_own WHERE i > 100;
SELECT bytes = predicted_bytes AS same, predicted_bytes_low > 0.9 * bytes AS low FROM streamstat.bloat('dr_own_i', 1000);
ROLLBACK;
CALL wait_for_horizon();
VACUUM dr_own;
CREATE FUNCTION dr_blocks_read(query text) RETURNS int8 LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE query;
	RETURN (SELECT blocks_requested FROM streamstat.stream_stats());
END
$$;
SELECT dr_blocks_read($$SELECT * FROM streamstat.bloat('dr_own_i', 1000)$$) = 1 + pg_relation_size('dr_own_i') / current_setting('block_size')::int AS map_and_index;
-- of index and table, no more blocks than that
DELETE FROM dr_own WHERE i % 2 = 0;
CALL wait_for_horizon();
SELECT dr_blocks_read($$SELECT * FROM streamstat.bloat('dr_own_i', 20)$$) BETWEEN 25 AND 41 AS twenty_each;

-- Of most rows nothing is left, and few blocks are read.
CREATE TABLE dr_most (i int) WITH (autovacuum_enabled = off);
INSERT INTO dr_most SELECT generate_series(1, 200000);
CREATE INDEX dr_most_i ON dr_most (i);
DELETE FROM dr_most WHERE i % 10 > 0;
CALL wait_for_horizon();
SELECT * FROM dr_reindex('{dr_most_i}', 7);

-- Posting lists that lose TIDs fill pages otherwise.  What a key takes beside its TIDs
-- stays as long as it has one.
CREATE TABLE dr_lists (few int, many int) WITH (autovacuum_enabled = off);
INSERT INTO dr_lists SELECT (hashint4(i)::int8 + 2147483648) % 200, (hashint4(i)::int8 + 2147483648) % 8000 FROM generate_series(1, 60000) i;
CREATE INDEX dr_lists_few ON dr_lists (few);
CREATE INDEX dr_lists_many ON dr_lists (many);
DELETE FROM dr_lists WHERE (hashtid(ctid)::int8 + 2147483648) % 4 = 0;
CALL wait_for_horizon();
SELECT * FROM dr_reindex('{dr_lists_few}', 200);
REINDEX INDEX dr_lists_many;
DELETE FROM dr_lists WHERE (hashtid(ctid)::int8 + 2147483648) % 3 = 0;
CALL wait_for_horizon();
CREATE TABLE dr_said AS SELECT avg(predicted_bytes) AS bytes FROM generate_series(1, 5) seed, streamstat.bloat('dr_lists_many', 200, seed);
REINDEX INDEX dr_lists_many;
SELECT abs(bytes / pg_relation_size('dr_lists_many') - 1) < 0.05 AS near FROM dr_said;

DROP FUNCTION dr_reindex, dr_blocks_read;
DROP TABLE dr_queue, dr_wide, dr_kinds, dr_updated, dr_hot, dr_pruned, dr_aborted, dr_own, dr_most, dr_lists, dr_said;
