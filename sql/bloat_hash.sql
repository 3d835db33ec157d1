--
-- bloat: hash indexes, by how many entries each bucket gets
--
SET client_min_messages = warning;
SET max_parallel_maintenance_workers = 0;

CREATE TABLE rhs (id int, few int, several int, half int) WITH (autovacuum_enabled = off);
CREATE INDEX rhs_unique ON rhs USING hash (id);
CREATE INDEX rhs_few ON rhs USING hash (few);
CREATE INDEX rhs_several ON rhs USING hash (several);
CREATE INDEX rhs_half ON rhs USING hash (half);
CREATE INDEX rhs_partial ON rhs USING hash (id) WHERE id % 8 = 0;
INSERT INTO rhs SELECT id, id % 20, abs(hashint4(id)) % 300, CASE WHEN id % 2 = 0 THEN id END
	FROM generate_series(1, 60000) id;
ANALYZE rhs;

-- Exact when all was read; no ANALYZE helps where nulls or rows outside the predicate have no entry.
CREATE TABLE rhs_said AS
	SELECT indexrelid::regclass AS index, predicted_bytes, predicted_bytes_low AS low, predicted_bytes_high AS high, note
	FROM pg_index, streamstat.bloat(indexrelid, 1000000) WHERE indrelid = 'rhs'::regclass;
REINDEX TABLE rhs;
SELECT index, predicted_bytes = pg_relation_size(index) AS exact, high - low <= 8192 * 4 AS narrow, note
	FROM rhs_said ORDER BY index::text;
DROP TABLE rhs, rhs_said;

-- The table had ten times as many rows when it was analyzed.  The first REINDEX
-- gives nothing back, but tells the server how many there are, as ANALYZE would.
CREATE TABLE rhs_stale (id int) WITH (autovacuum_enabled = off);
INSERT INTO rhs_stale SELECT generate_series(1, 60000);
CREATE INDEX rhs_stale_id ON rhs_stale USING hash (id);
ANALYZE rhs_stale;
DELETE FROM rhs_stale WHERE id % 10 > 0;
CALL wait_for_horizon();
SELECT abs(predicted_bytes - bytes) < 0.2 * bytes AS as_large, note FROM streamstat.bloat('rhs_stale_id');
ANALYZE rhs_stale;
SELECT predicted_bytes < 0.2 * bytes AS smaller, note FROM streamstat.bloat('rhs_stale_id');
DROP TABLE rhs_stale;

-- VACUUM has counted the rows, but not which of them are null.
CREATE TABLE rhs_nulls (id int) WITH (autovacuum_enabled = off);
CREATE INDEX rhs_nulls_id ON rhs_nulls USING hash (id);
INSERT INTO rhs_nulls SELECT CASE WHEN g % 10 = 0 THEN g END FROM generate_series(1, 60000) g;
VACUUM rhs_nulls;
SELECT note FROM streamstat.bloat('rhs_nulls_id');
DROP TABLE rhs_nulls;

-- Samples of an index whose entries are nearly as many as a step of its buckets, most of them dead
CREATE TABLE rhs_steps (k int, st int) WITH (autovacuum_enabled = off, fillfactor = 10);
INSERT INTO rhs_steps SELECT g, g * 7 % 5 FROM generate_series(1, 20164) g;
CREATE INDEX rhs_steps_k ON rhs_steps USING hash (k) WITH (fillfactor = 10);
VACUUM ANALYZE rhs_steps;
INSERT INTO rhs_steps SELECT g, g * 7 % 5 FROM generate_series(20165, 30246) g;
UPDATE rhs_steps SET k = -k WHERE st < 3;
UPDATE rhs_steps SET k = k + 1000000 WHERE st = 4;
CALL wait_for_horizon();
CREATE TEMP TABLE rhs_samples AS SELECT predicted_bytes_low AS low, predicted_bytes_high AS high
	FROM unnest('{64, 200}'::int[]) n, generate_series(1, 20) seed, LATERAL streamstat.bloat('rhs_steps_k', n, seed => seed);
REINDEX INDEX rhs_steps_k;
SELECT count(*) FILTER (WHERE pg_relation_size('rhs_steps_k') BETWEEN low AND high) >= 38 AS inside FROM rhs_samples;
DROP TABLE rhs_steps, rhs_samples;

-- How long a build takes where many entries are equal, by a few blocks of the index and by all
CREATE TABLE rhs_equal (k int) WITH (autovacuum_enabled = off);
INSERT INTO rhs_equal SELECT CASE WHEN g % 2 = 0 THEN 0 ELSE g END FROM generate_series(1, 160000) g;
CREATE INDEX rhs_equal_k ON rhs_equal USING hash (k);
DELETE FROM rhs_equal WHERE k % 8 > 1;
CALL wait_for_horizon();
VACUUM ANALYZE rhs_equal;
CREATE TEMP TABLE rhs_plans AS SELECT budget, duration
	FROM unnest('{1GB, 2MB}'::text[]) budget, LATERAL streamstat.database_plan(tables => '{rhs_equal}', budget => budget, seed => 1, online => false)
	WHERE command NOT LIKE 'REINDEX %';
SELECT sample.duration BETWEEN whole.duration / 1.5 AND whole.duration * 1.5 AS as_long
	FROM rhs_plans sample, rhs_plans whole WHERE sample.budget = '2MB' AND whole.budget = '1GB';
DROP TABLE rhs_equal, rhs_plans;
