--
-- bloat of GIN indexes, and what a rebuild then makes of them
--
SET client_min_messages = warning;
SET max_parallel_maintenance_workers = 0;

CREATE TABLE gr_said (name text, index regclass, memory text, value int8, low int8, high int8, samples int8range[], real int8);

-- Predict the size of indexes from all blocks and from samples, and rebuild them.
CREATE PROCEDURE gr_rebuild(indexes regclass[], memory text DEFAULT '64MB')
LANGUAGE plpgsql AS $$
DECLARE
	i regclass;
BEGIN
	PERFORM set_config('maintenance_work_mem', memory, true);
	FOREACH i IN ARRAY indexes LOOP
		INSERT INTO gr_said
			SELECT i::text, i, memory, predicted_bytes, predicted_bytes_low, predicted_bytes_high,
					(SELECT array_agg(int8range(s.predicted_bytes_low, s.predicted_bytes_high, '[]'))
						FROM unnest('{12, 60}'::int[]) n, streamstat.bloat(i, n, 3) s)
				FROM streamstat.bloat(i, 1000000);
		EXECUTE format('REINDEX INDEX %s', i);
		UPDATE gr_said s SET real = pg_relation_size(s.index) WHERE s.index = i AND s.real IS NULL;
	END LOOP;
END
$$;

-- Within some percent or a block, between the ends, and between those of samples
CREATE FUNCTION gr_result(percent float8, OUT name text, OUT memory text, OUT near boolean, OUT inside boolean, OUT narrow boolean,
	OUT in_samples boolean, OUT width boolean)
RETURNS SETOF record
LANGUAGE sql BEGIN ATOMIC
	SELECT name, memory, abs(value - real) <= greatest(percent / 100 * real, 8192), real BETWEEN low AND high,
			high - low <= greatest(0.25 * real, 16384), real <@ ALL (samples), lower(samples[1]) < upper(samples[1])
		FROM gr_said ORDER BY name COLLATE "C", length(memory), memory;
END;

-- Rows of the pending list: some of their keys are in the tree, or none.
CREATE TABLE gr (a int[], v tsvector, j jsonb) WITH (autovacuum_enabled = off);
CREATE INDEX gr_pending ON gr USING gin (v) WITH (gin_pending_list_limit = 1000000);
CREATE INDEX gr_unique ON gr USING gin (a) WITH (gin_pending_list_limit = 1000000);
INSERT INTO gr
	SELECT ARRAY[n * 7919 % 100003, -n],
			to_tsvector('simple', 'all some' || n % 5 || ' w' || n * 7919 % 3000 || ' x' || n),
			jsonb_build_object('k', n % 4000, 'all', 1)
		FROM generate_series(1, 6000) n;
CREATE INDEX gr_half ON gr USING gin (v) WITH (gin_pending_list_limit = 1000000);
CREATE INDEX gr_multi ON gr USING gin (v, a) WITH (gin_pending_list_limit = 1000000);
INSERT INTO gr
	SELECT ARRAY[n * 7919 % 100003, -n], to_tsvector('simple', 'all some' || n % 5 || ' w' || n * 7919 % 3000 || ' x' || n)
		FROM generate_series(6001, 8000) n;
SELECT (SELECT bool_and(pending_tuples > 0) FROM unnest('{gr_pending, gr_unique, gr_half, gr_multi}'::regclass[]) i, streamstat.gin_stats(i)) AS pending;
SELECT note FROM streamstat.bloat('gr_pending', 20, 1);
SELECT note FROM streamstat.bloat('gr_pending', 1000000);
CALL gr_rebuild('{gr_pending, gr_unique, gr_half, gr_multi}');
-- There is no pending list any more.
UPDATE gr_said SET name = name || ' pending';
CALL wait_for_horizon();
CALL gr_rebuild('{gr_pending, gr_unique, gr_half, gr_multi}');
SELECT name, inside, in_samples FROM gr_result(5) WHERE name LIKE '% pending';
SELECT * FROM gr_result(5) WHERE name NOT LIKE '% pending';
TRUNCATE gr_said;

-- With too little memory for all, keys that come in order leave other pages than keys at random.
CREATE TABLE gr_memory WITH (autovacuum_enabled = off) AS
	SELECT ARRAY[n] AS ordered, ARRAY[n * 7919 % 100003] AS random, ARRAY[n % 1000, 1000 + n % 7, n % 2 - 5] AS repeated
		FROM generate_series(1, 30000) n;
CREATE INDEX gr_ordered ON gr_memory USING gin (ordered);
CREATE INDEX gr_random ON gr_memory USING gin (random);
CREATE INDEX gr_repeated ON gr_memory USING gin (repeated);
CALL gr_rebuild('{gr_ordered, gr_random, gr_repeated}', '1MB');
CALL gr_rebuild('{gr_ordered, gr_random, gr_repeated}', '2MB');
CALL gr_rebuild('{gr_ordered, gr_random, gr_repeated}', '64MB');
SELECT * FROM gr_result(10);
SET maintenance_work_mem = '1MB';
SELECT note FROM streamstat.bloat('gr_ordered');
SET maintenance_work_mem = '64MB';
SELECT note FROM streamstat.bloat('gr_ordered');
RESET maintenance_work_mem;
SELECT count(DISTINCT real) > 1 AS depends FROM gr_said WHERE name = 'gr_random';
TRUNCATE gr_said;

-- Keys that are compressed in their tuples take all of their bytes in the memory of a build.
CREATE TABLE gr_long AS SELECT ARRAY[repeat(md5(n::text), 30)] AS a, ARRAY[n] AS b FROM generate_series(1, 4000) n;
CREATE INDEX gr_one_column ON gr_long USING gin (a);
CREATE INDEX gr_two_columns ON gr_long USING gin (a, b);
CALL gr_rebuild('{gr_one_column, gr_two_columns}', '2MB');
SELECT name, near, inside FROM gr_result(10);
TRUNCATE gr_said;

-- New versions of rows come at the end of the table, and old ones not at all.
CREATE TABLE gr_updated WITH (autovacuum_enabled = off) AS SELECT n, ARRAY[n] AS ordered FROM generate_series(1, 30000) n;
CREATE INDEX gr_again ON gr_updated USING gin (ordered) WITH (fastupdate = off);
UPDATE gr_updated SET n = -n WHERE n % 10 < 3;
CALL wait_for_horizon();
CALL gr_rebuild('{gr_again}', '1MB');
SELECT name, near, inside, in_samples FROM gr_result(5);
TRUNCATE gr_said;

-- Most rows are in the second half of the table.
CREATE TABLE gr_late WITH (autovacuum_enabled = off) AS
	SELECT n, ARRAY[n * 7919 % 100003] AS random FROM generate_series(1, 30000) n;
UPDATE gr_late SET n = -n WHERE n % 10 > 0;
CALL wait_for_horizon();
VACUUM gr_late;
CREATE INDEX gr_late_random ON gr_late USING gin (random);
CALL gr_rebuild('{gr_late_random}', '2MB');
SELECT name, near, inside FROM gr_result(10);
TRUNCATE gr_said;

-- The keys of a row are neighbours, and go together: pages are not alike.
CREATE TABLE gr_together WITH (autovacuum_enabled = off) AS
	SELECT n AS id, (SELECT array_agg(n * 50 + k) FROM generate_series(1, 50) k) AS keys FROM generate_series(1, 3000) n;
CREATE INDEX gr_together_keys ON gr_together USING gin (keys);
DELETE FROM gr_together WHERE hashint4(id) % 2 = 0;
CALL wait_for_horizon();
CALL gr_rebuild('{gr_together_keys}');
SELECT name, inside FROM gr_result(5);
TRUNCATE gr_said;

-- Rows whose insertion was rolled back have keys of their own.
CREATE TABLE gr_aborted WITH (autovacuum_enabled = off) AS SELECT ARRAY['k' || n % 100] AS a FROM generate_series(1, 20000) n;
CREATE INDEX gr_own ON gr_aborted USING gin (a) WITH (fastupdate = off);
BEGIN;
INSERT INTO gr_aborted SELECT ARRAY['aborted' || n] FROM generate_series(1, 12000) n;
ROLLBACK;
CALL gr_rebuild('{gr_own}');
SELECT name, near, inside, in_samples FROM gr_result(5);
TRUNCATE gr_said;

-- Posting trees of one page, of some pages, and with an empty tail; keys without rows
CREATE TABLE gr_trees WITH (autovacuum_enabled = off) AS
	SELECT ARRAY[n % 3, 10 + n % 7] AS few, ARRAY[n % 40] AS one_page, ARRAY[n] AS each, n FROM generate_series(1, 60000) n;
CREATE INDEX gr_few ON gr_trees USING gin (few);
CREATE INDEX gr_one_page ON gr_trees USING gin (one_page);
CREATE INDEX gr_each ON gr_trees USING gin (each);
CALL gr_rebuild('{gr_few, gr_one_page, gr_each}');
UPDATE gr_said SET name = name || ' built';
DELETE FROM gr_trees WHERE n % 3 <> 0;
CALL wait_for_horizon();
VACUUM (INDEX_CLEANUP on, TRUNCATE off) gr_trees;
CALL gr_rebuild('{gr_few, gr_one_page, gr_each}');
SELECT * FROM gr_result(1);

-- Workers need no batches.  They build what the server plans them for: not the index of a
-- small table, unless that says so.
RESET max_parallel_maintenance_workers;
TRUNCATE gr_said;
CREATE TABLE gr_small WITH (autovacuum_enabled = off) AS
	SELECT (SELECT array_agg(((n * 60 + k) * 7919::int8 % 1000003)::int) FROM generate_series(1, 60) k) AS a FROM generate_series(1, 15000) n;
CREATE INDEX gr_small_a ON gr_small USING gin (a);
CALL gr_rebuild('{gr_small_a}');
SELECT * FROM gr_result(4);
UPDATE gr_said SET name = 'alone';
ALTER TABLE gr_small SET (parallel_workers = 2);
CALL gr_rebuild('{gr_small_a}');
-- where workers are to be had
SELECT w.real = alone.real OR (abs(w.value - w.real) <= 0.04 * w.real AND w.real BETWEEN w.low AND w.high) AS good,
		(w.value > 1.2 * alone.value) = (current_setting('server_version_num')::int >= 180000) AS other_build
	FROM gr_said w, gr_said alone WHERE w.name <> 'alone' AND alone.name = 'alone';
SET max_parallel_maintenance_workers = 0;

-- Keys of which a build needs almost all of its memory
CREATE TABLE gr_keys WITH (autovacuum_enabled = off) AS
	SELECT ARRAY[left(repeat(md5(n::text), 2), 59)] AS k FROM generate_series(1, 4600) n;
CREATE INDEX gr_keys_k ON gr_keys USING gin (k);
TRUNCATE gr_said;
CALL gr_rebuild('{gr_keys_k}', '1MB');
SELECT * FROM gr_result(1);

-- Few keys, with so many rows that their lists are part of the entry after the first batch only
CREATE TABLE gr_grown WITH (autovacuum_enabled = off) AS
	SELECT ARRAY[n % 75] AS few, ARRAY[n % 1000, 1000 + n % 11] AS more FROM generate_series(1, 195000) n;
CREATE INDEX gr_grown_few ON gr_grown USING gin (few);
CREATE INDEX gr_grown_more ON gr_grown USING gin (more);
TRUNCATE gr_said;
CALL gr_rebuild('{gr_grown_few, gr_grown_more}', '1MB');
CALL gr_rebuild('{gr_grown_few, gr_grown_more}', '1MB');
SELECT DISTINCT name, near OR name = 'gr_grown_more' AS near, inside FROM gr_result(5) ORDER BY name;

-- Predictions of indexes from all blocks, and from samples of so many
CREATE TABLE gr_sampled (name text, index regclass, seed int, bytes int8, value int8, low int8, high int8, real int8);
CREATE PROCEDURE gr_sample(indexes regclass[], blocks int, seeds int DEFAULT 20)
LANGUAGE plpgsql AS $$
DECLARE
	i regclass;
BEGIN
	FOREACH i IN ARRAY indexes LOOP
		INSERT INTO gr_sampled SELECT i::text, i, seed, bytes, predicted_bytes, predicted_bytes_low, predicted_bytes_high
			FROM generate_series(0, seeds) seed, streamstat.bloat(i, CASE seed WHEN 0 THEN 1000000 ELSE blocks END, seed);
		EXECUTE format('REINDEX INDEX %s', i);
		UPDATE gr_sampled s SET real = pg_relation_size(s.index) WHERE s.index = i AND s.real IS NULL;
	END LOOP;
END
$$;

-- Near: from all blocks, within some percent.  Smaller: no end is above the size before.
CREATE FUNCTION gr_sampled(percent float8, OUT name text, OUT all_blocks boolean, OUT in_samples boolean, OUT near boolean, OUT smaller boolean)
RETURNS SETOF record
LANGUAGE sql BEGIN ATOMIC
	SELECT s.name, bool_and(real BETWEEN low AND high) FILTER (WHERE seed = 0),
			count(*) FILTER (WHERE seed > 0 AND real BETWEEN low AND high) >= 0.85 * max(seed),
			bool_and(abs(value / real::float8 - 1) <= percent / 100) FILTER (WHERE seed = 0), bool_and(high <= bytes)
		FROM gr_sampled s GROUP BY s.name ORDER BY s.name COLLATE "C";
END;

-- A sample has leaf pages of a posting tree, and seldom its root.
CREATE TABLE gr_one (a int[]) WITH (autovacuum_enabled = off);
CREATE INDEX gr_one_a ON gr_one USING gin (a);
INSERT INTO gr_one SELECT ARRAY[1] FROM generate_series(1, 150000);
VACUUM gr_one;
CALL gr_sample('{gr_one_a}', 150);

-- Posting trees that have become small, and those that become part of entries
CREATE TABLE gr_left (id int, a int[], b int[]) WITH (autovacuum_enabled = off);
INSERT INTO gr_left SELECT g, ARRAY[g % 10, g % 1000], ARRAY[g % 7, g % 70] FROM generate_series(1, 200000) g ORDER BY md5(g::text);
CREATE INDEX gr_left_a ON gr_left USING gin (a);
CREATE INDEX gr_left_b ON gr_left USING gin (b);
DELETE FROM gr_left WHERE id < 150000;
VACUUM gr_left;
CALL gr_sample('{gr_left_a, gr_left_b}', 60);

-- Keys that many rows have, and those that one row had, are on pages of their own.
CREATE TABLE gr_kinds WITH (autovacuum_enabled = off) AS
	SELECT g AS id, jsonb_build_object('a', g % 50, 'b', md5((g % 3000)::text), 'c', g) AS j FROM generate_series(1, 100000) g;
CREATE INDEX gr_kinds_j ON gr_kinds USING gin (j);
DELETE FROM gr_kinds WHERE hashint4(id) % 10 <> 0;
VACUUM gr_kinds;
CALL gr_sample('{gr_kinds_j}', 100000);

-- Words as in texts: posting trees of all lengths, which inserts have split since
SET maintenance_work_mem = '64MB';
CREATE TABLE gr_words (id int, n int, v tsvector) WITH (autovacuum_enabled = off);
INSERT INTO gr_words SELECT g, 0, to_tsvector('simple', (SELECT string_agg('w' || exp((hashint4(g * 32 + k) + 2147483648) / 429496730.0::float8)::int, ' ') FROM generate_series(1, 4 + g % 19) k))
	FROM generate_series(1, 70000) g;
CREATE INDEX gr_words_v ON gr_words USING gin (v);
UPDATE gr_words SET n = 1 WHERE id % 6 = 0;
DELETE FROM gr_words WHERE id % 5 = 1 AND id < 46000;
VACUUM gr_words;
CALL gr_sample('{gr_words_v}', 500, 40);

-- Posting trees of one page that is almost full; after deletes, trees that are alike beside
-- lists that are part of entries; and trees of which only the last pages are full
CREATE TABLE gr_full WITH (autovacuum_enabled = off) AS SELECT ARRAY[g % 10] AS a, repeat('p', 700) AS pad FROM generate_series(1, 40000) g;
CREATE INDEX gr_full_a ON gr_full USING gin (a);
CALL gr_sample('{gr_full_a}', 100000);
CREATE TABLE gr_alike WITH (autovacuum_enabled = off) AS
	SELECT g AS id, ARRAY[g % 10, 10 + g % 100] AS a, repeat('p', 250) AS pad FROM generate_series(1, 90000) g;
CREATE INDEX gr_alike_a ON gr_alike USING gin (a);
DELETE FROM gr_alike WHERE id % 3 < 2 AND id < 60000;
VACUUM gr_alike;
INSERT INTO gr_alike SELECT id + 10000000, a, pad FROM gr_alike WHERE id % 10 = 0;
VACUUM gr_alike;
CALL gr_sample('{gr_alike_a}', 80, 40);
CREATE TABLE gr_refilled (id int, a int[]) WITH (autovacuum_enabled = off);
CREATE INDEX gr_refilled_a ON gr_refilled USING gin (a);
INSERT INTO gr_refilled SELECT g, ARRAY[g % 20, 100 + g % 40] FROM generate_series(1, 250000) g;
VACUUM gr_refilled;
DELETE FROM gr_refilled WHERE id % 50 > 1;
INSERT INTO gr_refilled SELECT g, ARRAY[g % 20, 100 + g % 40] FROM generate_series(250001, 330000) g;
VACUUM gr_refilled;
CALL gr_sample('{gr_refilled_a}', 100);

-- Trees that take one full page or three, beside a few that have many: a sample shows hardly any root of these.
CREATE FUNCTION gr_mixed(rows int) RETURNS SETOF int[] LANGUAGE sql BEGIN ATOMIC
	SELECT ARRAY[1, 2, 3] || ARRAY(SELECT 10 + abs(hashint4(g * 8 + k)) % 60 FROM generate_series(1, 6) k) FROM generate_series(1, rows) g;
END;
CREATE TABLE gr_pages (n serial, a int[]) WITH (autovacuum_enabled = off);
CREATE INDEX gr_pages_a ON gr_pages USING gin (a);
INSERT INTO gr_pages (a) SELECT gr_mixed(70800);
CREATE TABLE gr_mixed (n serial, a int[]) WITH (autovacuum_enabled = off);
CREATE INDEX gr_mixed_a ON gr_mixed USING gin (a);
INSERT INTO gr_mixed (a) SELECT gr_mixed(85000);
UPDATE gr_pages SET n = -n WHERE n % 5 < 2;
UPDATE gr_mixed SET n = -n WHERE n % 5 < 2;
VACUUM gr_pages, gr_mixed;
CALL gr_sample('{gr_pages_a, gr_mixed_a}', 60, 40);

-- All that is on entry pages will be lists of posting trees that have become short.
CREATE TABLE gr_shortened (n serial, a int[], pad text) WITH (autovacuum_enabled = off);
CREATE INDEX gr_shortened_a ON gr_shortened USING gin (a) WITH (fastupdate = off);
INSERT INTO gr_shortened (a, pad) SELECT CASE WHEN hashint4(g) % 10 = 0 THEN ARRAY(SELECT generate_series(1, 40)) END, repeat('p', 200) FROM generate_series(1, 15000) g;
VACUUM gr_shortened;
UPDATE gr_shortened SET n = -n;
VACUUM gr_shortened;
CALL gr_sample('{gr_shortened_a}', 1000);

SELECT * FROM gr_sampled(4);
SELECT abs(avg(value) / max(real) - 1) < 0.03 AS near FROM gr_sampled WHERE name = 'gr_words_v' AND seed > 0;
TRUNCATE gr_sampled;

-- Dead rows may all have entries in a partial index, with many keys each.
CREATE TABLE gr_partial (id int, state text, a int[], pad text) WITH (autovacuum_enabled = off);
INSERT INTO gr_partial SELECT g, 'new', ARRAY(SELECT hashint4(g * 32 + k) % 1000 FROM generate_series(1, 20) k), repeat('p', 100) FROM generate_series(1, 20000) g;
CREATE INDEX gr_partial_a ON gr_partial USING gin (a) WHERE state = 'new';
UPDATE gr_partial SET state = 'done' WHERE id % 10 < 8;
CALL wait_for_horizon();
CALL gr_sample('{gr_partial_a}', 64);
SELECT name, all_blocks, in_samples FROM gr_sampled(4);

-- Rows that are dead: those that were deleted take keys with them, the others do not.
CREATE TABLE gr_dead (id int, n int, a text[]) WITH (autovacuum_enabled = off);
CREATE INDEX gr_dead_n ON gr_dead (n);
CREATE INDEX gr_dead_a ON gr_dead USING gin (a) WITH (fastupdate = off);
INSERT INTO gr_dead SELECT g, g, ARRAY['user' || g / 3, 'land' || g % 20] FROM generate_series(1, 60000) g;
CREATE TABLE gr_dead_said (step text, value float8, real float8);
DELETE FROM gr_dead WHERE hashint4(id) % 2 = 0;
INSERT INTO gr_dead_said SELECT 'deleted', predicted_bytes FROM generate_series(1, 10) seed, streamstat.bloat('gr_dead_a', 64, seed);
REINDEX INDEX gr_dead_a;
UPDATE gr_dead_said SET real = pg_relation_size('gr_dead_a') WHERE real IS NULL;
VACUUM gr_dead;
UPDATE gr_dead SET n = -n WHERE hashint4(id) % 3 = 0;
INSERT INTO gr_dead_said SELECT 'updated', predicted_bytes FROM generate_series(1, 10) seed, streamstat.bloat('gr_dead_a', 64, seed);
REINDEX INDEX gr_dead_a;
UPDATE gr_dead_said SET real = pg_relation_size('gr_dead_a') WHERE real IS NULL;
SELECT step, abs(avg(value / real) - 1) < 0.1 AS near FROM gr_dead_said GROUP BY step ORDER BY step;

-- Lists of posting trees of several pages become part of entries, and posting trees have room for TIDs of the pending list.
CREATE TABLE gr_deleted WITH (autovacuum_enabled = off) AS
	SELECT g AS n, ARRAY(SELECT hashint4(g * 31 + k) & 15 FROM generate_series(1, 10) k) AS a FROM generate_series(1, 36000) g;
CREATE INDEX gr_deleted_a ON gr_deleted USING gin (a);
DELETE FROM gr_deleted WHERE n % 9 <> 0;
CREATE TABLE gr_room (n int, a int[], pad text) WITH (autovacuum_enabled = off);
CREATE INDEX gr_room_a ON gr_room USING gin (a) WITH (gin_pending_list_limit = 1000000);
INSERT INTO gr_room SELECT g, ARRAY(SELECT hashint4(g * 31 + k) & 31 FROM generate_series(1, 10) k), repeat('p', 900) FROM generate_series(1, 8000) g;
SELECT gin_clean_pending_list('gr_room_a') > 0 AS cleaned;
INSERT INTO gr_room SELECT g, ARRAY(SELECT hashint4(g * 31 + k) & 31 FROM generate_series(1, 10) k), repeat('p', 900) FROM generate_series(8001, 13000) g;
CALL wait_for_horizon();
TRUNCATE gr_said;
CALL gr_rebuild('{gr_deleted_a, gr_room_a}');
SELECT name, inside FROM gr_result(100);
DROP TABLE gr_deleted, gr_room;

DROP FUNCTION gr_result, gr_sampled, gr_mixed;
DROP TABLE gr, gr_memory, gr_updated, gr_aborted, gr_trees, gr_small, gr_keys, gr_grown, gr_one, gr_left, gr_kinds, gr_dead, gr_dead_said, gr_words,
	gr_full, gr_alike, gr_refilled, gr_pages, gr_mixed, gr_shortened, gr_partial, gr_said, gr_sampled;
DROP PROCEDURE gr_rebuild, gr_sample;

-- Of a long pending list, no key may be new.
CREATE TABLE pending_known (k int[]) WITH (autovacuum_enabled = off);
CREATE INDEX pending_known_k ON pending_known USING gin (k) WITH (gin_pending_list_limit = 100000);
INSERT INTO pending_known SELECT ARRAY[g % 11, g % 101] FROM generate_series(1, 300000) g;
SELECT gin_clean_pending_list('pending_known_k') > 0 AS cleaned;
INSERT INTO pending_known SELECT ARRAY[g % 3] FROM generate_series(1, 100000) g;
CREATE TEMP TABLE pending_ends AS SELECT predicted_bytes_low AS low, predicted_bytes_high AS high FROM streamstat.bloat('pending_known_k');
REINDEX INDEX pending_known_k;
SELECT pg_relation_size('pending_known_k') BETWEEN low AND high AS inside FROM pending_ends;
DROP TABLE pending_known, pending_ends;

-- Keys of different lengths, on pages whose blocks are in another order
CREATE TABLE gr_order (id int, t text, a int[]) WITH (autovacuum_enabled = off);
CREATE INDEX gr_order_t ON gr_order USING gin ((string_to_array(t, ' ')));
CREATE INDEX gr_order_a ON gr_order USING gin (a) WHERE id <= 2000;
INSERT INTO gr_order SELECT id, repeat('ab', ((hashint4(id) + 2147483648) % 300)::int),
	ARRAY[(hashint4(id) + 2147483648) % 10, (hashint4(id + 7) + 2147483648) % 100, id % 7] FROM generate_series(1, 20000) id;
VACUUM gr_order;
CREATE TEMP TABLE said AS SELECT relation, predicted_bytes_low AS low, predicted_bytes_high AS high
	FROM unnest('{gr_order_t, gr_order_a}'::regclass[]) r, streamstat.bloat(r, 1000000);
REINDEX TABLE gr_order;
SELECT relation, bytes BETWEEN low AND high AS inside, high - low <= 0.1 * bytes + 8192 AS narrow
FROM said, pg_relation_size(relation) bytes ORDER BY relation::text;
DROP TABLE gr_order, said;
