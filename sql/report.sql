--
-- database_report, its procedure and views: shape and errors
--
SET client_min_messages = warning;

-- Nothing before the first report.
SELECT error_of('SELECT streamstat.' || f) FROM unnest('{database_report_summary(), last_database_report(), last_database_plan(), report_json()}'::text[]) AS f;

CREATE TABLE report_t (i int PRIMARY KEY, t text) WITH (autovacuum_enabled = off);
INSERT INTO report_t SELECT g, repeat('x', 100) FROM generate_series(1, 20000) g;
CREATE INDEX report_t_hash ON report_t USING hash (i);
DELETE FROM report_t WHERE i % 2 = 0;
CALL wait_for_horizon();

SELECT relid::regclass, schema_name, relation_name, parent_name, kind, access_method, measured,
		bytes = pg_relation_size(relid) AS bytes, bytes_read >= bytes AS bytes_read,
		free_percent BETWEEN free_percent_low AND free_percent_high AS free,
		free_percent_low = free_percent_high AS free_exact, last_vacuum
	FROM streamstat.database_report(budget => '1GB', max_time => '10 min', margin => 0) WHERE relation_name LIKE 'report_t%' AND kind <> 'toast table'
	ORDER BY relation_name COLLATE "C";
SELECT abs(r.free_percent - 100.0 * s.free_space / s.table_len) < 1e-6 AS free
	FROM streamstat.last_database_report() r, streamstat.pgstattuple('report_t') s WHERE r.relid = 'report_t'::regclass;

-- What VACUUM makes of dead rows is free space.
VACUUM report_t;
SELECT free_percent > 40 AS free, dead_percent = 0 AS dead, last_vacuum <= now() + interval '1 hour' AS last_vacuum
	FROM streamstat.database_report(margin => 0) WHERE relation_name = 'report_t';

-- The sums are those of the rows.
SELECT s.relations = count(*) AS relations, s.exact_relations + s.sampled_relations + s.skipped_relations = count(*) AS measured,
		s.bytes_total = sum(r.bytes) AS total, s.bytes_read = sum(r.bytes_read) AS read,
		coalesce(s.reclaimable_bytes = sum(r.reclaimable_bytes), true) AS back, s.ended_by, s.bytes_left <= s.bytes_skipped AS nothing_left,
		s.elapsed_ms > 0 AS elapsed, s.started BETWEEN now() - interval '1 hour' AND clock_timestamp() AS started
	FROM streamstat.database_report_summary() s, streamstat.last_database_report() r
	GROUP BY s.relations, s.exact_relations, s.sampled_relations, s.skipped_relations, s.bytes_total, s.bytes_read, s.reclaimable_bytes, s.ended_by,
		s.bytes_skipped, s.bytes_left, s.elapsed_ms, s.started;

-- The procedure returns nothing: the summary has its result.
CALL streamstat.run_database_report(budget => '64kB', seed => 1);
SELECT ended_by, bytes_read, skipped_relations > 100 AS skipped FROM streamstat.database_report_summary();
SELECT bool_and((corrupt_pages IS NULL) = (measured = 'skipped')) AS corrupt_pages, bool_and((is_valid IS NULL) = (kind <> 'index')) AS is_valid
	FROM streamstat.last_database_report();

-- The view
SELECT count(*) > 0 AS rows, bool_and(reason IS NOT NULL AND (command IS NULL) = (lock_mode IS NULL)) AS commands FROM streamstat.report_advice;

-- Without limits of its own: 2 points, 1 GB, 60 seconds
SELECT count(*) > 0 AS rows FROM streamstat.database_report(margin => NULL, budget => '0', max_time => NULL, max_rate => NULL, seed => NULL);

-- Reports on some tables have what belongs to them, and that alone: by an index, a TOAST
-- table, a partitioned table, schemas, and the size of all together.
CREATE TABLE report_parts (i int, t text) PARTITION BY RANGE (i);
CREATE TABLE report_part_1 PARTITION OF report_parts FOR VALUES FROM (0) TO (10);
CREATE INDEX report_parts_i ON report_parts (i);
CREATE VIEW scope AS
	SELECT coalesce(t.relname || ' ', '') || CASE WHEN r.schema_name = 'pg_toast' THEN r.kind ELSE r.relation_name END COLLATE "C" AS relation
	FROM streamstat.last_database_report() r LEFT JOIN pg_class t ON t.reltoastrelid = r.relid;
CALL streamstat.run_database_report(tables => '{report_t_hash,report_parts_i}');
SELECT relation FROM scope ORDER BY relation;
DO $$ BEGIN EXECUTE format('CALL streamstat.run_database_report(tables => ARRAY[%s, 4294967295]::regclass[])', (SELECT reltoastrelid FROM pg_class WHERE relname = 'report_t')); END $$;
SELECT relation FROM scope ORDER BY relation;
SET client_min_messages = notice;
CALL streamstat.run_database_report(tables => '{}');
SET client_min_messages = warning;
SELECT relations, bytes_total FROM streamstat.database_report_summary();
CALL streamstat.run_database_report(schemas => '{public,streamstat}', budget => '0', min_table_size => '1MB');
SELECT count(*) > 0 AS some, bool_and(t.relnamespace IN ('public'::regnamespace, 'streamstat'::regnamespace)) AS schemas, bool_and(pg_table_size(t.oid) + pg_indexes_size(t.oid) >= 1024 * 1024) AS sizes,
		bool_or(r.relation_name = 'report_t') AND bool_or(r.relation_name = 'report_t_pkey') AND bool_or(r.kind = 'toast table') AS with_parts
	FROM streamstat.last_database_report() r LEFT JOIN pg_index i ON i.indexrelid = r.relid
	LEFT JOIN pg_class t ON t.oid = coalesce((SELECT o.oid FROM pg_class o WHERE o.reltoastrelid = coalesce(i.indrelid, r.relid)), i.indrelid, r.relid);
SELECT error_of('SELECT count(*) FROM streamstat.database_report(min_table_size => ''-1'')');
DROP VIEW scope;
DROP TABLE report_parts;

-- The report and bloat() have one estimate: of entries of dead rows as well.
CREATE TABLE report_d WITH (autovacuum_enabled = off) AS
	SELECT g AS i, g % 50 AS few, ARRAY[g, g % 50] AS a, point(g * 7919 % 20011, g * 6271 % 20011) AS p FROM generate_series(1, 20000) g;
CREATE INDEX report_d_btree ON report_d (i);
CREATE INDEX report_d_few ON report_d (few);
CREATE INDEX report_d_hash ON report_d USING hash (i);
CREATE INDEX report_d_gin ON report_d USING gin (a);
CREATE INDEX report_d_gist ON report_d USING gist (p);
CREATE INDEX report_d_brin ON report_d USING brin (i) WITH (pages_per_range = 1);
-- larger than its table
CREATE INDEX report_d_wide ON report_d ((repeat(few::text, 100)), i) WITH (fillfactor = 10);
CREATE INDEX report_d_partial ON report_d (i) WHERE few > 10;
DELETE FROM report_d WHERE i % 2 = 0;
CALL wait_for_horizon();
SELECT r.relation_name, r.measured, r.predicted_bytes = b.predicted_bytes AS predicted, r.reclaimable_bytes = b.reclaimable_bytes AS reclaimable,
		r.reclaimable_bytes_low = b.reclaimable_bytes_low AS low, r.reclaimable_bytes_high = b.reclaimable_bytes_high AS high,
		r.predicted_bytes < r.bytes AS smaller, r.note IS NOT DISTINCT FROM b.note AS note
	FROM streamstat.database_report(0, '1GB', '10 min') r, streamstat.bloat(r.relid, 1000000) b
	WHERE r.relation_name LIKE 'report_d%' ORDER BY r.relation_name COLLATE "C";
REINDEX INDEX report_d_btree;
SELECT predicted_bytes = pg_relation_size(relid) AS as_predicted FROM streamstat.last_database_report() WHERE relation_name = 'report_d_btree';
DROP TABLE report_d;

-- Errors
SELECT count(*) FROM streamstat.database_report(budget => NULL);
SELECT count(*) FROM streamstat.database_report(budget => '-1 MB');
SELECT count(*) FROM streamstat.database_report(budget => 'much');
SELECT count(*) FROM streamstat.database_report(max_time => '-1 s');
SELECT count(*) FROM streamstat.database_report(max_rate => '0');
SELECT count(*) FROM streamstat.database_report(max_rate => '-1');
SELECT count(*) FROM streamstat.database_report(max_rate => 'fast');
SELECT count(*) FROM streamstat.database_report(margin => -1);
SELECT count(*) FROM streamstat.database_report(margin => 'NaN');
SELECT count(*) FROM streamstat.database_report(margin => 200);
CALL streamstat.run_database_report(budget => '-1');
-- ... that leave the last report alone
SELECT ended_by FROM streamstat.database_report_summary();
SELECT count(*) > 0 AS rows FROM streamstat.database_report(budget => '0', max_time => '1000000 years', margin => 0);

DROP TABLE report_t;

-- Blocks that the budget does not leave for a second reading end nothing.
CREATE TABLE rp_twice WITH (autovacuum_enabled = off) AS SELECT g AS i, md5(g::text) AS t FROM generate_series(1, 20000) g;
CREATE INDEX rp_twice_i ON rp_twice (i);
DELETE FROM rp_twice WHERE i % 3 = 0;
CREATE TEMP TABLE rp_ends (ended_by text, all_exact boolean);
DO $$
BEGIN
	FOR blocks IN 200 .. 600 BY 25 LOOP
		PERFORM count(*) FROM streamstat.database_report(budget => blocks * 8 || 'kB', margin => 0, tables => '{rp_twice}');
		INSERT INTO rp_ends SELECT s.ended_by, relations = exact_relations FROM streamstat.database_report_summary() s;
	END LOOP;
END
$$;
SELECT DISTINCT * FROM rp_ends ORDER BY 1;
DROP TABLE rp_twice, rp_ends;

-- What the budget has no room for does not make it the end, if time is over before.
CREATE TABLE rp_slow WITH (autovacuum_enabled = off) AS SELECT repeat('x', 900) FROM generate_series(1, 60000);
CREATE TABLE rp_slow_too WITH (autovacuum_enabled = off) AS SELECT repeat('x', 900) FROM generate_series(1, 30000);
CALL streamstat.run_database_report(budget => '6MB', max_rate => '2MB', max_time => '2 s', margin => 0, tables => '{rp_slow,rp_slow_too}');
SELECT ended_by, bytes_read < 5000000 AS unspent FROM streamstat.database_report_summary();
DROP TABLE rp_slow, rp_slow_too;
