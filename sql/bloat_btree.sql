--
-- bloat: b-trees whose keys have many rows, or are wide
--
-- Their pages were filled by inserts, so that they are not in the order of the keys.
--
SET client_min_messages = warning;
SET max_parallel_maintenance_workers = 0;

-- One in twenty keys is long.
CREATE FUNCTION reb_spread(id int) RETURNS text IMMUTABLE
LANGUAGE sql RETURN CASE WHEN id % 20 = 0 THEN (SELECT string_agg(md5(id || '/' || g), '') FROM generate_series(1, 15) g) ELSE left(md5(id::text), 10) END;
CREATE TABLE reb (id int, few text, many text, wide text, half int, one int) WITH (autovacuum_enabled = off);
ALTER TABLE reb ALTER wide SET STORAGE plain;
CREATE INDEX reb_few ON reb ((left(few, 1)));
CREATE INDEX reb_few_half ON reb ((left(few, 1))) WITH (fillfactor = 50);
CREATE INDEX reb_few_full ON reb (few, half) WITH (fillfactor = 100);
CREATE INDEX reb_fifty ON reb ((abs(hashint4(id)) % 50));
CREATE INDEX reb_groups ON reb ((abs(hashint4(id)) % 170));
CREATE INDEX reb_groups_apart ON reb ((abs(hashint4(id)) % 170)) WITH (deduplicate_items = off);
CREATE INDEX reb_groups_include ON reb ((abs(hashint4(id)) % 170)) INCLUDE (id, half, one);
CREATE INDEX reb_lengths ON reb ((CASE WHEN id % 3 > 0 THEN 'a' ELSE repeat(md5((id % 400)::text), 8) END));
CREATE INDEX reb_lengths_apart ON reb ((CASE WHEN id % 3 > 0 THEN 'a' ELSE repeat(md5((id % 400)::text), 8) END)) WITH (deduplicate_items = off);
CREATE INDEX reb_many ON reb (many);
CREATE INDEX reb_half_nulls ON reb (half);
CREATE INDEX reb_nulls ON reb (one);
CREATE INDEX reb_wide ON reb (wide) WHERE id <= 4000;
CREATE INDEX reb_spread_first ON reb (reb_spread(id), id) WHERE id <= 12000;
CREATE INDEX reb_spread_last ON reb (hashint4(id), reb_spread(id)) WHERE id <= 12000;
CREATE INDEX reb_spread_equal ON reb ((hashint4(id % 2000)), reb_spread(id % 2000)) WHERE id <= 20000;
CREATE INDEX reb_unique ON reb ((hashint4(id)));
INSERT INTO reb
	SELECT id, (id * 7919 % 11)::text || 'x', (hashint4(id) % 5000)::text,
		CASE WHEN id <= 4000 THEN left(repeat(md5(id::text), 80), 10 + abs(hashint4(id)) % 2500) END, CASE WHEN id % 2 = 0 THEN hashint4(id) END, NULL
	FROM generate_series(1, 60000) id;

-- Exact when all was read, but for the upper levels of a tree of wide keys; the
-- numbers of a sample are right as far as they say.
CREATE TABLE reb_said AS
	SELECT index::regclass, p.predicted_bytes, p.predicted_bytes_low AS low, p.predicted_bytes_high AS high, NULL::int8 AS bytes,
		(SELECT array_agg(row(s.predicted_bytes_low, s.predicted_bytes_high)::text)
			FROM generate_series(1, 6) seed, streamstat.bloat(index, 40, seed) s) AS samples
	FROM (SELECT indexrelid AS index FROM pg_index WHERE indrelid = 'reb'::regclass) i, streamstat.bloat(index, 1000000) p;
CREATE FUNCTION said_of_rebuilt(OUT index regclass, OUT exact boolean, OUT narrow boolean, OUT samples boolean, OUT again boolean)
	RETURNS SETOF record
LANGUAGE plpgsql AS $$
BEGIN
	REINDEX TABLE reb;
	UPDATE reb_said s SET bytes = pg_relation_size(s.index);
	RETURN QUERY SELECT s.index, abs(s.predicted_bytes - s.bytes) <= greatest(s.bytes * 0.005, 8192),
			s.high - s.low <= 8192 * 2 + s.bytes * 0.025,
			(SELECT count(*) >= 5 FROM unnest(s.samples) t WHERE s.bytes BETWEEN
				split_part(trim('()' FROM t), ',', 1)::int8 AND split_part(trim('()' FROM t), ',', 2)::int8),
			abs(b.predicted_bytes - s.bytes) <= greatest(s.bytes * 0.005, 8192)
		FROM reb_said s, streamstat.bloat(s.index, 1000000) b ORDER BY s.index::text;
END
$$;
SELECT * FROM said_of_rebuilt();

DROP FUNCTION said_of_rebuilt;
DROP TABLE reb, reb_said;
DROP FUNCTION reb_spread;

-- In a large index, most pages whose items differ are left out: the others tell what they take.
CREATE TABLE large (id int) WITH (autovacuum_enabled = off);
CREATE INDEX large_alike ON large ((hashint4(id)));
CREATE INDEX large_lengths ON large ((left(md5(id::text), 5 + abs(hashint4(id)) % 27)));
CREATE INDEX large_four ON large ((abs(hashint4(id)) % 50000));
CREATE INDEX large_four_apart ON large ((abs(hashint4(id)) % 50000)) WITH (deduplicate_items = off);
CREATE INDEX large_half ON large ((CASE WHEN hashint4(id) > 0 THEN hashint4(id) ELSE -(abs(hashint4(id)) % 50) END));
CREATE INDEX large_among ON large ((CASE WHEN id % 2 = 0 THEN abs(hashint4(id)) % 300 * 1000000 ELSE abs(hashint4(id)) % 300000000 END));
CREATE INDEX large_later ON large ((CASE WHEN id < 100000 THEN id ELSE 200000 + id / 4 END));
INSERT INTO large SELECT generate_series(1, 200000);
CREATE TABLE large_said AS
	SELECT index::regclass, p.predicted_bytes, p.predicted_bytes_low AS low, p.predicted_bytes_high AS high
	FROM (SELECT indexrelid AS index FROM pg_index WHERE indrelid = 'large'::regclass) i, streamstat.bloat(index, 1000000) p;
REINDEX TABLE large;
SELECT index, abs(predicted_bytes - bytes) <= 0.01 * bytes AS near, bytes BETWEEN low AND high AS inside, high - low < 0.04 * bytes AS narrow
FROM large_said, pg_relation_size(index) bytes ORDER BY index::text;
DROP TABLE large, large_said;

-- Of 130 rows at a fillfactor of 10, one page has a fifth, and becomes 15.  The interval says so
-- in samples of few blocks: of 100 seeds, no fewer than 93 have the true size.
CREATE TABLE few_rows (i int4, t text);
ALTER TABLE few_rows ALTER t SET STORAGE plain;
CREATE INDEX few_rows_i ON few_rows (t, i) WITH (fillfactor = 10);
INSERT INTO few_rows SELECT g, repeat('x', 250) FROM generate_series(1, 130) g;
CREATE TEMP TABLE few_samples AS
	SELECT blocks, seed, predicted_bytes_low AS low, predicted_bytes_high AS high
	FROM unnest('{7, 10, 20, 30, 35}'::int[]) blocks, generate_series(1, 100) seed, LATERAL streamstat.bloat('few_rows_i', blocks, seed => seed);
REINDEX INDEX few_rows_i;
SELECT blocks, count(*) FROM few_samples WHERE pg_relation_size('few_rows_i') NOT BETWEEN low AND high GROUP BY blocks HAVING count(*) > 7 ORDER BY blocks;
DROP TABLE few_rows, few_samples;

-- Of two blocks of five, which can be the metapage and the root, nothing is known about the
-- leaf pages; and a table of 17 blocks can be full although the last one has few rows.
CREATE TABLE few_pages (i int) WITH (autovacuum_enabled = off);
CREATE INDEX few_pages_i ON few_pages (i);
INSERT INTO few_pages SELECT generate_series(1, 1000);
REINDEX INDEX few_pages_i;
CREATE TEMP TABLE few_samples AS
	SELECT rel, pg_relation_size(rel) AS bytes, predicted_bytes_low AS low, predicted_bytes_high AS high
	FROM (VALUES ('few_pages_i'::regclass, 2), ('few_pages_i', 3)) v (rel, blocks), generate_series(1, 100) seed, LATERAL streamstat.bloat(rel, blocks, seed => seed);
INSERT INTO few_pages SELECT generate_series(1, 16 * 226 + 45 - 1000);
INSERT INTO few_samples SELECT 'few_pages', pg_relation_size('few_pages'), predicted_bytes_low, predicted_bytes_high
	FROM generate_series(1, 100) seed, LATERAL streamstat.bloat('few_pages', 5, seed => seed);
SELECT rel, bytes / 8192 AS pages, count(*) FILTER (WHERE bytes NOT BETWEEN low AND high) <= 7 AS inside FROM few_samples GROUP BY rel, bytes ORDER BY rel::text;
DROP TABLE few_pages, few_samples;

-- One page of a hundred is an inner one, which most samples of 80 do not have.
CREATE TABLE few_inner (c text COLLATE "C", n int, b char(30)) WITH (autovacuum_enabled = off);
INSERT INTO few_inner SELECT 'User' || g * 7919 % 120000, g % 300, 'b' || g % 9 FROM generate_series(1, 120000) g;
CREATE INDEX few_inner_i ON few_inner (b, c);
DELETE FROM few_inner WHERE n < 100;
CALL wait_for_horizon();
VACUUM few_inner;
CREATE TEMP TABLE few_samples AS SELECT predicted_bytes_low AS low, predicted_bytes_high AS high FROM generate_series(1, 100) seed, LATERAL streamstat.bloat('few_inner_i', 80, seed => seed);
REINDEX INDEX few_inner_i;
SELECT count(*) FILTER (WHERE pg_relation_size('few_inner_i') BETWEEN low AND high) >= 93 AS inside FROM few_samples;
DROP TABLE few_inner, few_samples;

-- Dead rows have no entries in a younger index, and rows of different lengths make it uncertain
-- how many are alive.
CREATE TABLE younger WITH (autovacuum_enabled = off) AS
	SELECT n, repeat('f', CASE WHEN n / 500 % 4 = 0 THEN 1500 ELSE 0 END) AS f FROM generate_series(1, 100000) n;
DELETE FROM younger WHERE n % 10 < 4;
CALL wait_for_horizon();
CREATE INDEX younger_n ON younger (n);
SELECT count(*) FILTER (WHERE reclaimable_bytes_low > 0) <= 3 AS nothing FROM generate_series(1, 20) seed, streamstat.bloat('younger_n', 60, seed);

-- All dead rows have keys of their own, and those of the living are shared by many.
CREATE TABLE own_keys (t text) WITH (autovacuum_enabled = off);
INSERT INTO own_keys SELECT repeat('t', g % 100) FROM generate_series(1, 100000) g;
CREATE INDEX own_keys_t ON own_keys (t);
BEGIN;
INSERT INTO own_keys SELECT 'aborted' || g FROM generate_series(200001, 260000) g;
ROLLBACK;
CREATE TEMP TABLE few_samples AS SELECT predicted_bytes_low AS low, predicted_bytes_high AS high FROM generate_series(1, 20) seed, LATERAL streamstat.bloat('own_keys_t', 60, seed => seed);
REINDEX INDEX own_keys_t;
SELECT count(*) FILTER (WHERE pg_relation_size('own_keys_t') BETWEEN low AND high) >= 18 AS inside FROM few_samples;
DROP TABLE own_keys, few_samples;

-- Keys become longer in their order, so that pages have more and more bytes for each inner item.
CREATE TABLE longer (i int, u text) WITH (autovacuum_enabled = off);
INSERT INTO longer SELECT g, 'https://www.example.com/shop/category/' || g % 40 || '/' || repeat('product/', g % 40) || g % 5000 FROM generate_series(1, 40000) g;
CREATE INDEX longer_u ON longer (u, i);
SELECT measured, pg_relation_size('longer_u') BETWEEN predicted_bytes_low AND predicted_bytes_high AS inside FROM streamstat.bloat('longer_u');
DROP TABLE longer;

-- All dead rows may have entries in a partial index, and here they do not.
CREATE TABLE jobs (i int, done bool, t timestamp) WITH (autovacuum_enabled = off);
CREATE INDEX jobs_done ON jobs (t) WHERE done;
INSERT INTO jobs SELECT g, false, timestamp '2026-01-01' + g * interval '1 s' FROM generate_series(1, 100000) g;
UPDATE jobs SET done = true WHERE i < 80000;
CREATE TEMP TABLE few_samples AS SELECT predicted_bytes_low AS low, predicted_bytes_high AS high FROM generate_series(1, 100) seed, LATERAL streamstat.bloat('jobs_done', 64, seed => seed);
REINDEX INDEX jobs_done;
SELECT count(*) FILTER (WHERE pg_relation_size('jobs_done') BETWEEN low AND high) >= 93 AS inside FROM few_samples;
DROP TABLE jobs, few_samples;

-- Rows that were deleted take their keys with them; of those that were updated, the keys stay.
CREATE TABLE mixed_keys (i int, t text, n int) WITH (autovacuum_enabled = off);
CREATE INDEX mixed_keys_t ON mixed_keys (t);
CREATE INDEX mixed_keys_n ON mixed_keys (n);
INSERT INTO mixed_keys SELECT g, CASE WHEN g % 3 = 0 THEN 'x' ELSE md5(g::text) END, g FROM generate_series(1, 50000) g;
CREATE TEMP TABLE few_samples (step text, value float8, low float8, high float8, real float8);
UPDATE mixed_keys SET n = -n WHERE i % 5 = 0;
INSERT INTO few_samples SELECT 'updated', predicted_bytes, predicted_bytes_low, predicted_bytes_high FROM generate_series(1, 40) seed, LATERAL streamstat.bloat('mixed_keys_t', 64, seed => seed);
REINDEX INDEX mixed_keys_t;
UPDATE few_samples SET real = pg_relation_size('mixed_keys_t') WHERE real IS NULL;
VACUUM mixed_keys;
DELETE FROM mixed_keys WHERE i % 5 < 2;
INSERT INTO few_samples SELECT 'deleted', predicted_bytes, predicted_bytes_low, predicted_bytes_high FROM generate_series(1, 40) seed, LATERAL streamstat.bloat('mixed_keys_t', 30, seed => seed);
REINDEX INDEX mixed_keys_t;
UPDATE few_samples SET real = pg_relation_size('mixed_keys_t') WHERE real IS NULL;
SELECT step, count(*) FILTER (WHERE real BETWEEN low AND high) >= 38 AS inside, avg(value) BETWEEN 0.9 * min(real) AND 1.1 * max(real) AS near FROM few_samples GROUP BY step ORDER BY step;
DROP TABLE mixed_keys, few_samples;
