--
-- bloat: BRIN indexes that have summaries of some ranges only
--
SET client_min_messages = warning;
SET max_parallel_maintenance_workers = 0;

CREATE TABLE rbr (id int, d int, t text, w text) WITH (autovacuum_enabled = off);
CREATE INDEX rbr_minmax ON rbr USING brin (id) WITH (pages_per_range = 1);
CREATE INDEX rbr_text ON rbr USING brin (t) WITH (pages_per_range = 1);
CREATE INDEX rbr_multi ON rbr USING brin (d int4_minmax_multi_ops) WITH (pages_per_range = 1);
CREATE INDEX rbr_bloom ON rbr USING brin (id int4_bloom_ops) WITH (pages_per_range = 4);
CREATE INDEX rbr_columns ON rbr USING brin (id, d) WITH (pages_per_range = 1);
INSERT INTO rbr SELECT id, id % 4, repeat('x', id / 400), repeat('w', 500) FROM generate_series(1, 12000) id;
SELECT count(brin_summarize_new_values(indexrelid)) FROM pg_index WHERE indrelid = 'rbr'::regclass;
-- values get longer, and more, in the ranges that have none
INSERT INTO rbr SELECT id, hashint4(id), repeat('x', id / 400), repeat('w', 500) FROM generate_series(12001, 24000) id;
SELECT count(brin_summarize_range('rbr_multi', block)) FROM generate_series(1000, 1100) block;

CREATE TABLE rbr_said AS
	SELECT indexrelid::regclass AS index, predicted_bytes, predicted_bytes_low AS low, predicted_bytes_high AS high, note
	FROM pg_index, streamstat.bloat(indexrelid, 1000000) WHERE indrelid = 'rbr'::regclass;
REINDEX TABLE rbr;
SELECT index, predicted_bytes = pg_relation_size(index) OR index::text ~ 'text|multi' AS exact,
		pg_relation_size(index) BETWEEN low AND high AS inside, high - low <= 2 * 8192 AS narrow, note
	FROM rbr_said ORDER BY index::text;
DROP TABLE rbr, rbr_said;

-- Summaries of nulls do not say how large others will be.
CREATE TABLE rbr_nulls (d int, w text) WITH (autovacuum_enabled = off);
INSERT INTO rbr_nulls SELECT NULL, repeat('w', 1000) FROM generate_series(1, 700);
CREATE INDEX rbr_nulls_d ON rbr_nulls USING brin (d) WITH (pages_per_range = 1);
SELECT bytes = predicted_bytes AS exact, note FROM streamstat.bloat('rbr_nulls_d');
INSERT INTO rbr_nulls SELECT 1, repeat('w', 1000) FROM generate_series(1, 7000);
SELECT predicted_bytes, note FROM streamstat.bloat('rbr_nulls_d');
SELECT brin_summarize_range('rbr_nulls_d', 900);
SELECT predicted_bytes AS said FROM streamstat.bloat('rbr_nulls_d') \gset
REINDEX INDEX rbr_nulls_d;
SELECT abs(:said - pg_relation_size('rbr_nulls_d')) <= 8192 AS close;
DROP TABLE rbr_nulls;

-- Ranges that VACUUM left empty have summaries now, and will have such of nulls.
CREATE TABLE rbr_gone (id int, w text) WITH (autovacuum_enabled = off);
CREATE INDEX rbr_gone_minmax ON rbr_gone USING brin (id, w) WITH (pages_per_range = 1);
CREATE INDEX rbr_gone_text ON rbr_gone USING brin (w) WITH (pages_per_range = 1);
INSERT INTO rbr_gone SELECT id, repeat('w', 150 + 200 * (id % 50 / 49)) FROM generate_series(1, 40000) id;
CALL wait_for_horizon();
VACUUM rbr_gone;
DELETE FROM rbr_gone WHERE id < 30000;
CALL wait_for_horizon();
VACUUM rbr_gone;
SELECT predicted_bytes AS said FROM streamstat.bloat('rbr_gone_minmax', 1000000) \gset
REINDEX INDEX rbr_gone_minmax;
SELECT abs(:said - pg_relation_size('rbr_gone_minmax')) <= 8192 AS close;
-- The longest values go, and the other summaries do not say so.
DELETE FROM rbr_gone WHERE length(w) > 150;
CALL wait_for_horizon();
VACUUM rbr_gone;
SELECT predicted_bytes_low AS low, predicted_bytes_high AS high FROM streamstat.bloat('rbr_gone_text', 1000000) \gset
REINDEX INDEX rbr_gone_text;
SELECT pg_relation_size('rbr_gone_text') BETWEEN :low AND :high AS inside;
DROP TABLE rbr_gone;

-- A minmax-multi summary grows when it is made from all rows at once, and a bloom filter
-- with the range that it is for.
CREATE TABLE rbr_classes (id int, w text) WITH (autovacuum_enabled = off);
INSERT INTO rbr_classes SELECT id, repeat('w', 200) FROM generate_series(1, 80000) id;
CREATE INDEX rbr_multi ON rbr_classes USING brin (id int4_minmax_multi_ops) WITH (pages_per_range = 4);
CREATE INDEX rbr_larger ON rbr_classes USING brin (id int4_bloom_ops) WITH (pages_per_range = 8);
CREATE INDEX rbr_smaller ON rbr_classes USING brin (id int4_bloom_ops) WITH (pages_per_range = 128);
ALTER INDEX rbr_larger SET (pages_per_range = 64);
ALTER INDEX rbr_smaller SET (pages_per_range = 16);
DELETE FROM rbr_classes WHERE (hashint4(id)::int8 + 2147483648) % 10 < 3;
CREATE TABLE rbr_said AS
	SELECT i, r.predicted_bytes AS value, r.predicted_bytes_low AS low, r.predicted_bytes_high AS high,
			array_agg(int8range(s.predicted_bytes_low, s.predicted_bytes_high, '[]')) AS samples
		FROM unnest('{rbr_multi, rbr_larger, rbr_smaller}'::regclass[]) i, streamstat.bloat(i, 1000000) r,
			generate_series(1, 10) seed, streamstat.bloat(i, 6, seed) s GROUP BY 1, 2, 3, 4;
REINDEX TABLE rbr_classes;
SELECT i, abs(value - pg_relation_size(i)) <= 0.2 * pg_relation_size(i) OR i = 'rbr_multi'::regclass AS near,
		pg_relation_size(i) BETWEEN low AND high AS inside,
		(SELECT count(*) FROM unnest(samples) s WHERE s @> pg_relation_size(i)) >= 8 AS samples
	FROM rbr_said ORDER BY i::text COLLATE "C";
DROP TABLE rbr_classes, rbr_said;

-- VACUUM summarizes an empty end of a table, and then truncates it.
CREATE TABLE rbr_cut (id int, w text) WITH (autovacuum_enabled = off, fillfactor = 10);
CREATE INDEX rbr_cut_w ON rbr_cut USING brin (w) WITH (pages_per_range = 1);
INSERT INTO rbr_cut SELECT id, md5(id::text) || md5((-id)::text) || md5((2 * id)::text) FROM generate_series(1, 4000) id;
BEGIN;
INSERT INTO rbr_cut SELECT id, 'w' FROM generate_series(1, 40000) id;
ROLLBACK;
CALL wait_for_horizon();
VACUUM rbr_cut;
SELECT predicted_bytes_low AS low, predicted_bytes_high AS high FROM streamstat.bloat('rbr_cut_w', 1000000) \gset
REINDEX INDEX rbr_cut_w;
SELECT pg_relation_size('rbr_cut_w') BETWEEN :low AND :high AS inside;
DROP TABLE rbr_cut;
