--
-- The plan of a report: one command for all that it rebuilds, and none in vain
--
SET client_min_messages = warning;
SELECT error_of('SELECT streamstat.last_database_plan(online => false)');

-- What a row says, without what depends on the server's version
CREATE VIEW plan AS
	SELECT rank, relation_name AS relation, relations, regexp_replace(command, '^(VACUUM FULL|REPACK) ', 'REBUILD ') AS command,
		lock_mode, blocks_reads AS reads, blocks_writes AS writes, reason
	FROM streamstat.last_database_plan(online => false) WHERE relation_name ~ '^plan_|_ccnew';

-- A rebuilt table takes its indexes and its TOAST table with it.  Of the other, only
-- an index is worth it.
CREATE TABLE plan_whole (i int, t text, w text) WITH (autovacuum_enabled = off);
ALTER TABLE plan_whole ALTER w SET STORAGE external;
INSERT INTO plan_whole SELECT g, repeat('x', 100), CASE WHEN g % 50 = 0 THEN repeat('x', 5000) END FROM generate_series(1, 10000) g;
CREATE INDEX plan_whole_i ON plan_whole (i);
CREATE INDEX plan_whole_t ON plan_whole (t, i);
DELETE FROM plan_whole WHERE i % 4 > 0;
CALL wait_for_horizon();
VACUUM plan_whole;
CREATE TABLE plan_part WITH (autovacuum_enabled = off) AS SELECT g AS i, repeat('x', 100) AS t FROM generate_series(1, 10000) g;
CREATE INDEX plan_part_i ON plan_part (i) WITH (fillfactor = 20);
CREATE INDEX plan_part_t ON plan_part (i, t);
ALTER INDEX plan_part_i RESET (fillfactor);
CALL streamstat.run_database_report(margin => 0);
SELECT relation, relations, command, lock_mode, reads, writes FROM plan ORDER BY rank;
SELECT relation_name ~ 'toast' AS toast, CASE WHEN relation_name !~ 'toast' THEN relation_name END AS name, kind, reclaimable_bytes > bytes / 9 AS gain, command IS NOT NULL AS command, rebuilt_by
	FROM streamstat.last_database_report() WHERE rebuilt_by = 'public.plan_whole' OR relation_name ~ '^plan_(whole|part)' ORDER BY 1, 2, 3;
-- A command gives back what all of its relations do, but for the TOAST index, which it makes
-- larger than REINDEX would.
SELECT p.relation_name, sum(r.reclaimable_bytes) - p.reclaimable_bytes BETWEEN 0 AND 16384 AS gain, p.bytes = sum(r.bytes) AS bytes, p.relations = count(*) AS relations,
		p.scratch_bytes >= sum(r.predicted_bytes) AS scratch, p.bytes_to_write - sum(r.predicted_bytes) BETWEEN 0 AND 16384 AS written, p.bytes_to_read > 0 AS read,
		abs(p.reclaimable_percent - 100.0 * p.reclaimable_bytes / p.bytes) < 1e-9 AS percent
	FROM streamstat.last_database_plan(online => false) p JOIN streamstat.last_database_report() r
		ON r.relid = p.relid OR p.kind = 'table' AND r.parent_name IN (p.relid::regclass::text, 'public.' || p.relation_name, (SELECT reltoastrelid::regclass::text FROM pg_class WHERE oid = p.relid))
	WHERE p.relation_name ~ '^plan_' GROUP BY p.rank, p.relation_name, p.reclaimable_bytes, p.bytes, p.relations, p.scratch_bytes, p.bytes_to_read, p.bytes_to_write, p.reclaimable_percent ORDER BY p.rank;
-- The total is the sum of the rows.
SELECT s.planned_bytes = sum(p.reclaimable_bytes) AS bytes, s.planned_bytes_low = sum(p.reclaimable_bytes_low) AS low,
		s.planned_bytes_high = sum(p.reclaimable_bytes_high) AS high, s.commands = count(p.command) AS commands
	FROM streamstat.database_report_summary() s, streamstat.last_database_plan() p GROUP BY s.planned_bytes, s.planned_bytes_low, s.planned_bytes_high, s.commands;
-- Sizes for people
SELECT bool_and(size = pg_size_pretty(bytes) AND reclaimable_size = pg_size_pretty(reclaimable_bytes)
		AND scratch_size IS NOT DISTINCT FROM pg_size_pretty(scratch_bytes)) AS sizes, array_agg(rank ORDER BY rank) = array_agg(n::bigint ORDER BY n) AS ranks
	FROM (SELECT *, row_number() OVER () AS n FROM streamstat.report_advice) a;

-- An online plan first rebuilds indexes that the table's command would take along, and ends
-- with that command, with what it gives back besides.
CREATE VIEW online AS
	SELECT rank, relation_name AS relation, relations, regexp_replace(command, '^(VACUUM FULL|REPACK) ', 'REBUILD ') AS command, is_online, waits_for, reclaimable_bytes
	FROM streamstat.last_database_plan() WHERE relation_name ~ '^plan_';
SELECT relation, relations, command, is_online, waits_for FROM online ORDER BY rank;
SELECT bool_and(is_online = (NOT blocks_reads AND NOT blocks_writes)) AS online, bool_and(is_online OR reason ~ 'later statements on the table wait behind it') AS queue
	FROM streamstat.last_database_plan() WHERE command IS NOT NULL;
SELECT a.bytes = b.bytes AS all_of_it FROM (SELECT sum(reclaimable_bytes) AS bytes FROM online) a,
	(SELECT sum(reclaimable_bytes) AS bytes FROM streamstat.last_database_plan(online => false) WHERE relation_name ~ '^plan_') b;

-- Each command has a duration.  A window picks what gives back most, and tells of the rest.
CALL streamstat.run_database_report(margin => 0, tables => '{plan_whole,plan_part}');
SELECT count(*) > 0 AS some, bool_and(duration_low < duration AND duration < duration_high AND duration_low > '0' AND duration_high < '10 min') AS durations
	FROM streamstat.last_database_plan() WHERE command IS NOT NULL;
CREATE VIEW windows AS
	WITH p AS MATERIALIZED (SELECT *, (row_number() OVER ())::int - 1 AS bit FROM streamstat.last_database_plan() WHERE is_online AND reclaimable_bytes > 0)
	SELECT k, w.width, (SELECT max(gain) FROM (SELECT coalesce(sum(reclaimable_bytes), 0) AS gain FROM generate_series(0, (1 << (SELECT count(*)::int FROM p)) - 1) AS mask
			LEFT JOIN p ON mask >> bit & 1 = 1 GROUP BY mask HAVING coalesce(sum(duration_high), '0') <= width * 0.99) AS sets) AS best
	FROM (SELECT k, sum(duration_high) * k / 4 AS width FROM p, generate_series(0, 4) k GROUP BY k) w;
SELECT count(*) > 2 AS some, bool_and(coalesce(p.gain, 0) >= w.best AND coalesce(p.time, '0') <= w.width + interval '1 ms') AS best, bool_and(p.left_out = 1 AND p.sum = s.sum) AS all_of_it
	FROM windows w, (SELECT sum(reclaimable_bytes) FROM streamstat.last_database_plan()) s,
		LATERAL (SELECT sum(reclaimable_bytes) FILTER (WHERE command IS NOT NULL) AS gain, sum(duration_high) FILTER (WHERE command IS NOT NULL) AS time,
			count(*) FILTER (WHERE relation_name IS NULL AND command IS NULL) AS left_out, sum(reclaimable_bytes)
			FROM streamstat.last_database_plan(max_duration => w.width + interval '1 ms')) p;
SELECT rank, relation_name, kind, command, reason ~ '^\d+ commands are left out: ' AS reason, duration_low < duration AND duration < duration_high AS duration
	FROM streamstat.last_database_plan(max_duration => '0');
SELECT streamstat.last_database_plan(max_duration => '-1 s');
DROP VIEW windows;

-- pg_repack where it is installed and the table has a key that it takes; pg_squeeze
CREATE TABLE plan_key WITH (autovacuum_enabled = off) AS SELECT g AS i, repeat('x', 1000) AS t FROM generate_series(1, 10000) g;
CREATE UNIQUE INDEX plan_key_i ON plan_key (i);
ALTER TABLE plan_key ALTER i SET NOT NULL;
CREATE TABLE "plan_ it's ""x""" (LIKE plan_key INCLUDING ALL) WITH (autovacuum_enabled = off);
INSERT INTO "plan_ it's ""x""" SELECT * FROM plan_key WHERE i < 8000;
DELETE FROM plan_key WHERE i % 2 = 0;
DELETE FROM "plan_ it's ""x""" WHERE i % 2 = 0;
CALL wait_for_horizon();
VACUUM;
BEGIN;
INSERT INTO pg_extension (oid, extname, extowner, extnamespace, extrelocatable, extversion) VALUES (1, 'pg_repack', 10, 11, false, '1');
CALL streamstat.run_database_report(margin => 0);
SELECT relation, replace(command, current_database(), 'DB') AS command, lock_mode, reads, writes FROM plan WHERE relation ~ 'whole|key| it' ORDER BY rank;
SELECT relation, reason ~ 'pg_repack cannot' AS cannot, reason ~ 'in a shell' AS shell FROM plan WHERE relation ~ 'whole|key$' ORDER BY rank;
UPDATE pg_extension SET extname = 'pg_squeeze' WHERE oid = 1;
ALTER TABLE plan_key REPLICA IDENTITY USING INDEX plan_key_i;
CALL streamstat.run_database_report(margin => 0);
SELECT relation, command = CASE WHEN current_setting('wal_level') = 'logical' OR current_setting('server_version_num')::int >= 190000
		THEN 'SELECT squeeze.squeeze_table(''public'', ''plan_key'', NULL, NULL, NULL)' ELSE 'REBUILD public.plan_key' END AS command
	FROM plan WHERE relation = 'plan_key';
ROLLBACK;
DROP TABLE plan_key, "plan_ it's ""x""";

-- ... and no INCLUDE column that can be null
CREATE TABLE plan_include (i int, n int, t text, UNIQUE (i) INCLUDE (n)) WITH (autovacuum_enabled = off);
ALTER TABLE plan_include ALTER i SET NOT NULL;
INSERT INTO plan_include SELECT g, g, repeat('x', 1000) FROM generate_series(1, 1000) g;
DELETE FROM plan_include WHERE i % 2 = 0;
CALL wait_for_horizon();
VACUUM plan_include;
BEGIN;
INSERT INTO pg_extension (oid, extname, extowner, extnamespace, extrelocatable, extversion) VALUES (1, 'pg_repack', 10, 11, false, '1');
CALL streamstat.run_database_report(margin => 0);
SELECT command ~ '^pg_repack' AS by_repack, reason ~ 'pg_repack cannot' AS cannot FROM plan WHERE relation = 'plan_include';
ALTER TABLE plan_include ALTER n SET NOT NULL;
CALL streamstat.run_database_report(margin => 0);
SELECT command ~ '^pg_repack' AS by_repack, reason ~ 'pg_repack cannot' AS cannot FROM plan WHERE relation = 'plan_include';
ROLLBACK;
DROP TABLE plan_include;

-- An index that belongs to one of the partitioned table cannot be dropped.
CREATE TABLE plan_parts (a int) PARTITION BY RANGE (a);
CREATE TABLE plan_part_1 PARTITION OF plan_parts FOR VALUES FROM (0) TO (10) WITH (autovacuum_enabled = off);
INSERT INTO plan_parts VALUES (1), (1);
CREATE UNIQUE INDEX CONCURRENTLY plan_part_1_a ON plan_part_1 (a);
CREATE UNIQUE INDEX plan_parts_a ON plan_parts (a);
CALL streamstat.run_database_report(margin => 0);
SELECT command, reason, reclaimable_bytes FROM streamstat.last_database_plan() WHERE relation_name = 'plan_part_1_a';
DELETE FROM plan_parts WHERE ctid = '(0,1)';
\set ECHO none
SELECT command FROM plan WHERE relation = 'plan_part_1_a' \gexec
\set ECHO all
SELECT indisvalid FROM pg_index WHERE indexrelid = 'plan_part_1_a'::regclass;
DROP TABLE plan_parts;

-- The gain is told where it is within the margin of error.
CREATE TABLE plan_margin (i int, t text) WITH (autovacuum_enabled = off);
INSERT INTO plan_margin SELECT g, repeat('x', 100) FROM generate_series(1, 6000) g;
DELETE FROM plan_margin WHERE i % 57 < 10 + (ctid::text::point)[0]::int % 23;
CALL wait_for_horizon();
VACUUM plan_margin;
SELECT bool_and(reclaimable_bytes > 0) AS gain, bool_or(reclaimable_bytes_low = 0) AS in_doubt
	FROM generate_series(1, 20) seed, streamstat.bloat('plan_margin', 2, seed, 'no');
DROP TABLE plan_margin;

-- Indexes that are not valid: only one that REINDEX can mend is rebuilt.
CREATE TABLE plan_invalid WITH (autovacuum_enabled = off) AS SELECT g % 1000 AS i FROM generate_series(1, 1001) g;
CREATE UNIQUE INDEX CONCURRENTLY plan_unique ON plan_invalid (i);
CREATE INDEX plan_plain ON plan_invalid (i);
CREATE INDEX plan_i_ccnew ON plan_invalid (i);
UPDATE pg_index SET indisvalid = false WHERE indexrelid IN ('plan_plain'::regclass, 'plan_i_ccnew'::regclass);
CALL streamstat.run_database_report(margin => 0);
SELECT relation, command, reason ~ 'REINDEX INDEX CONCURRENTLY public.plan_unique$' AS both_ways FROM plan WHERE command !~ 'whole|part' ORDER BY relation COLLATE "C";
SELECT relation_name, reclaimable_bytes = bytes AS all_of_it FROM streamstat.last_database_report() WHERE relation_name ~ '^plan_(u|p.*n$|i_)' ORDER BY relation_name COLLATE "C";
SELECT relation_name, is_valid, corrupt_pages FROM streamstat.last_database_report() WHERE relation_name ~ '^plan_(inv|uni|i_)|^plan_pla|^plan_part_i' ORDER BY relation_name COLLATE "C";
-- Repairs are picked before what returns more, but for one that takes nobody knows how long.
SELECT count(*) > 0 AS some, bool_and(r.is_valid IS FALSE OR r.corrupt_pages > 0) AS repairs
	FROM (SELECT sum(duration_high) AS width FROM streamstat.last_database_plan() WHERE relation_name ~ '^plan_(unique|plain|i_ccnew)$') w,
		streamstat.last_database_plan(max_duration => w.width + interval '1 ms') p JOIN streamstat.last_database_report() r USING (relid);
-- It comes before a rebuild of the table, which would fail, or build it.
ALTER TABLE plan_invalid ADD t text;
INSERT INTO plan_invalid SELECT 1, repeat('x', 100) FROM generate_series(1, 5000);
DELETE FROM plan_invalid WHERE t IS NOT NULL AND ctid < '(60,1)';
CALL wait_for_horizon();
VACUUM plan_invalid;
CALL streamstat.run_database_report(margin => 0);
SELECT relation, relations = CASE WHEN relation <> 'plan_invalid' THEN 1 WHEN server_version() >= 19 THEN 3 ELSE 4 END AS relations, command
	FROM plan WHERE command !~ 'whole|part' AND relation <> 'plan_plain' ORDER BY rank, relation COLLATE "C";
-- VACUUM FULL builds all invalid indexes, and fails where that does, but REPACK is refused beside it.
SELECT relation, reason ~ 'the invalid index "plan_plain" is built as well, and if that fails, so does the command' AS says FROM plan WHERE relation = 'plan_invalid' AND server_version() < 19 UNION ALL SELECT 'plan_invalid', true WHERE server_version() >= 19;
SELECT count(*) = CASE WHEN server_version() >= 19 THEN 1 ELSE 0 END AS own_command FROM plan WHERE relation = 'plan_plain';
\set ECHO none
SELECT command FROM streamstat.last_database_plan(online => false) WHERE command ~ 'plan_(i_|unique|plain|invalid)' ORDER BY rank \gexec
\set ECHO all
SELECT count(*) FROM pg_index WHERE indrelid = 'plan_invalid'::regclass AND NOT indisvalid;
DROP TABLE plan_invalid;
-- A rewrite that makes an index larger than what it returns of the table is no command.
CREATE TABLE plan_grows WITH (autovacuum_enabled = off) AS SELECT g AS i, repeat('x', 100) AS t FROM generate_series(1, 20000) g;
CREATE INDEX plan_grows_i ON plan_grows (i);
ALTER INDEX plan_grows_i SET (fillfactor = 10);
DELETE FROM plan_grows WHERE i % 4 = 0;
CALL wait_for_horizon();
VACUUM plan_grows;
CALL streamstat.run_database_report(margin => 0);
SELECT count(*) FROM streamstat.last_database_plan(online => false) WHERE relation_name = 'plan_grows';
DROP TABLE plan_grows;
-- Pages without rows at the end of a table are given back by VACUUM, also when they were pruned, and
-- no rewrite is needed for these.
CREATE TABLE plan_emptied (id int, t text) WITH (autovacuum_enabled = off);
INSERT INTO plan_emptied SELECT g, repeat('x', 200) FROM generate_series(1, 10000) g;
CREATE TABLE plan_kept_end (LIKE plan_emptied) WITH (autovacuum_enabled = off, vacuum_truncate = off);
INSERT INTO plan_kept_end TABLE plan_emptied;
CREATE TABLE plan_pruned (LIKE plan_emptied) WITH (autovacuum_enabled = off);
INSERT INTO plan_pruned TABLE plan_emptied;
CALL wait_for_horizon();
VACUUM plan_emptied, plan_kept_end, plan_pruned;
DELETE FROM plan_emptied WHERE id > 4000;
DELETE FROM plan_kept_end WHERE id > 4000;
DELETE FROM plan_pruned;
CREATE TABLE plan_last (LIKE plan_emptied) WITH (autovacuum_enabled = off);
INSERT INTO plan_last SELECT g, repeat('x', 200) FROM generate_series(1, 10000) g;
DELETE FROM plan_last WHERE id BETWEEN 100 AND 9990;
CALL wait_for_horizon();
SELECT count(*) FROM plan_pruned;
CALL streamstat.run_database_report(margin => 0, tables => '{plan_emptied, plan_kept_end, plan_pruned}');
CREATE TEMP TABLE plan_told AS SELECT relation_name, command, reclaimable_bytes AS bytes, pg_relation_size(relid) AS size FROM streamstat.last_database_plan();
SELECT relation_name, regexp_replace(command, 'VACUUM FULL|REPACK', 'rewrite') AS command, bytes > 0 AS returns FROM plan_told ORDER BY 1, command ~ 'VACUUM p' DESC;
-- Of a sample, the last block tells.
CALL streamstat.run_database_report(budget => '2MB', margin => 100, tables => '{plan_emptied, plan_last}');
SELECT relation_name, measured FROM streamstat.last_database_report() WHERE relation_name ~ '^plan_' ORDER BY 1;
SELECT relation_name, regexp_replace(command, 'VACUUM FULL|REPACK', 'rewrite') AS command, reclaimable_bytes > 0 AS returns, reclaimable_bytes_low > 0 AS certain FROM streamstat.last_database_plan() ORDER BY 1, command ~ 'VACUUM p' DESC;
VACUUM plan_emptied;
VACUUM plan_kept_end;
VACUUM plan_pruned;
SELECT relation_name, abs(size - bytes - pg_relation_size(relation_name::regclass)) <= 8192 AS as_told FROM plan_told WHERE command ~ '^VACUUM p' ORDER BY 1;
DROP TABLE plan_emptied, plan_kept_end, plan_pruned, plan_last, plan_told;
-- New pages that a bulk insert has left are for the next rows.
CREATE TABLE plan_inserted WITH (autovacuum_enabled = off) AS SELECT g AS i, repeat('x', 200) AS t FROM generate_series(1, 4730) g;
CALL streamstat.run_database_report(margin => 0);
SELECT command FROM streamstat.last_database_plan() WHERE relation_name = 'plan_inserted';
DROP TABLE plan_inserted;
-- VACUUM looks at each entry of the indexes.
CREATE TABLE plan_alone WITH (autovacuum_enabled = off) AS SELECT g AS i FROM generate_series(1, 100000) g;
CREATE TABLE plan_indexed (LIKE plan_alone) WITH (autovacuum_enabled = off);
INSERT INTO plan_indexed TABLE plan_alone;
\set ECHO none
SELECT format('CREATE INDEX plan_indexed_%s ON plan_indexed ((i + %1$s))', n) FROM generate_series(1, 8) n \gexec
\set ECHO all
DELETE FROM plan_alone WHERE i % 5 = 0;
DELETE FROM plan_indexed WHERE i % 5 = 0;
CALL wait_for_horizon();
CALL streamstat.run_database_report(margin => 0, tables => '{plan_alone, plan_indexed}');
SELECT sum(duration) FILTER (WHERE relation_name = 'plan_indexed') > 1.6 * sum(duration) FILTER (WHERE relation_name = 'plan_alone') AS longer
	FROM streamstat.last_database_plan() WHERE command ~ '^VACUUM p';
DROP TABLE plan_alone, plan_indexed;
-- One that somebody has begun to drop is not built again.
CREATE TABLE plan_dying AS SELECT 1 AS i;
CREATE INDEX plan_dying_i ON plan_dying (i);
UPDATE pg_index SET indislive = false, indisready = false, indisvalid = false WHERE indexrelid = 'plan_dying_i'::regclass;
CALL streamstat.run_database_report();
SELECT p.command, p.reason, d.reason = p.reason AS same FROM streamstat.report_drop_candidates d JOIN streamstat.last_database_plan() p USING (relation_name) WHERE relation_name = 'plan_dying_i';
DROP TABLE plan_dying;

-- Dead rows where a rebuild gives nothing back: VACUUM, once
CREATE TABLE plan_dead (i int, t text) WITH (autovacuum_enabled = off, fillfactor = 50);
INSERT INTO plan_dead SELECT g, repeat('x', 100) FROM generate_series(1, 5000) g;
UPDATE plan_dead SET i = -i;
CALL wait_for_horizon();
CALL streamstat.run_database_report(margin => 0);
SELECT relation, command, lock_mode, reads, writes, reason ~ 'into free space; the file does not shrink$' AS reason FROM plan WHERE relation = 'plan_dead';
SELECT reclaimable_bytes = 0 AS none FROM streamstat.last_database_plan() WHERE relation_name = 'plan_dead';
VACUUM plan_dead;
-- even in the report from before
SELECT count(*) FROM plan WHERE relation = 'plan_dead';
CALL streamstat.run_database_report(margin => 0);
SELECT count(*) FROM plan WHERE relation = 'plan_dead';
DROP TABLE plan_dead;

-- Free space that the fillfactor leaves is named.
CREATE TABLE plan_fill (i int, t text) WITH (autovacuum_enabled = off, fillfactor = 50);
INSERT INTO plan_fill SELECT g, repeat('x', 100) FROM generate_series(1, 5000) g;
CALL streamstat.run_database_report(margin => 0);
SELECT free_percent > 40 AS free, reclaimable_bytes, command, reason FROM streamstat.last_database_report() WHERE relation_name = 'plan_fill';
DROP TABLE plan_fill;

-- A hash index that REINDEX would size by a row count that is not up to date: ANALYZE,
-- REINDEX, and nothing.
CREATE TABLE plan_hash WITH (autovacuum_enabled = off) AS SELECT g AS i FROM generate_series(1, 4000) g;
CALL wait_for_horizon();
-- some versions leave empty pages at the end
VACUUM FULL plan_hash;
CREATE INDEX plan_hash_i ON plan_hash USING hash (i);
ANALYZE plan_hash;
UPDATE pg_class SET reltuples = 40000 WHERE oid = 'plan_hash'::regclass;
REINDEX INDEX plan_hash_i;
UPDATE pg_class SET reltuples = 40000 WHERE oid = 'plan_hash'::regclass;
CALL streamstat.run_database_report(margin => 0);
SELECT relation, relations, command, lock_mode, reads, writes, reason ~ 'run REINDEX after this$' AS reason FROM plan WHERE relation ~ 'plan_hash';
SELECT command, reason ~ '^no command before ANALYZE' AS reason FROM streamstat.last_database_report() WHERE relation_name = 'plan_hash_i';
ANALYZE plan_hash;
CALL streamstat.run_database_report(margin => 0);
SELECT relation, relations, command FROM plan WHERE relation ~ 'plan_hash';
SELECT reclaimable_bytes AS foretold, bytes AS before FROM streamstat.last_database_plan() WHERE relation_name = 'plan_hash_i' \gset
REINDEX INDEX CONCURRENTLY plan_hash_i;
SELECT :before - pg_relation_size('plan_hash_i') = :foretold AS came_back;
CALL streamstat.run_database_report(margin => 0);
SELECT count(*) FROM plan WHERE relation ~ 'plan_hash';
DROP TABLE plan_hash;
-- Some pages less are worth no ANALYZE.
CREATE TABLE plan_hash WITH (autovacuum_enabled = off) AS SELECT g AS i FROM generate_series(1, 100) g;
CREATE INDEX plan_hash_i ON plan_hash USING hash (i);
ANALYZE plan_hash;
UPDATE pg_class SET reltuples = 1000 WHERE oid = 'plan_hash'::regclass;
REINDEX INDEX plan_hash_i;
UPDATE pg_class SET reltuples = 1000 WHERE oid = 'plan_hash'::regclass;
CALL streamstat.run_database_report(margin => 0);
SELECT note ~ 'run ANALYZE before' AS note, reclaimable_bytes = 0 AS none FROM streamstat.last_database_report() WHERE relation_name = 'plan_hash_i';
SELECT count(*) FROM plan WHERE relation ~ 'plan_hash';
DROP TABLE plan_hash;
-- What rebuilds the table counts its rows before it builds the index.
CREATE TABLE plan_hash WITH (autovacuum_enabled = off) AS SELECT g AS i, repeat('x', 50) AS t FROM generate_series(1, 30000) g;
CREATE INDEX plan_hash_i ON plan_hash USING hash (i);
DELETE FROM plan_hash WHERE i % 10 > 0;
CALL wait_for_horizon();
CALL streamstat.run_database_report(margin => 0);
SELECT relation, relations, command FROM plan WHERE relation ~ 'plan_hash';
SELECT reclaimable_bytes AS foretold, bytes AS before, command FROM streamstat.last_database_plan(online => false) WHERE relation_name = 'plan_hash' \gset
\set ECHO none
:command;
\set ECHO all
SELECT abs((:before - pg_total_relation_size('plan_hash')) / :foretold.0 - 1) < 0.05 AS came_back;
CALL streamstat.run_database_report(margin => 0);
SELECT count(*) FROM plan WHERE relation ~ 'plan_hash';
DROP TABLE plan_hash;

-- Catalogs grow again: nothing below 10 MB
DO $$
BEGIN
	FOR i IN 1 .. 400 LOOP
		EXECUTE 'CREATE TABLE plan_churned (a int, b int, c int, d int, e int, f int, g int, h int); DROP TABLE plan_churned';
	END LOOP;
END $$;
CALL wait_for_horizon();
CALL streamstat.run_database_report(margin => 0);
SELECT max(reclaimable_bytes) > 65536 AS gain, max(bytes) < 10 * 1024 * 1024 AS small, count(command) AS commands, bool_or(reason ~ 'system catalog') AS reason
	FROM streamstat.last_database_report() WHERE schema_name = 'pg_catalog';

-- A queue needs its free space; what was deleted for good does not come again.
CREATE TABLE plan_queue (i int, t text) WITH (autovacuum_enabled = off);
CREATE TABLE plan_gone (LIKE plan_queue) WITH (autovacuum_enabled = off);
\set ECHO none
SELECT s FROM generate_series(1, 8), unnest(ARRAY['INSERT INTO plan_queue SELECT g, repeat(''x'', 100) FROM generate_series(1, 3000) g',
	'DELETE FROM plan_queue WHERE i > 10', 'DO ''BEGIN PERFORM pg_stat_force_next_flush(); END''', 'CALL wait_for_horizon()', 'VACUUM (TRUNCATE off) plan_queue']) WITH ORDINALITY u (s, n) ORDER BY generate_series, n \gexec
\set ECHO all
-- An empty one: ANALYZE knows how wide its rows are.
CREATE TABLE plan_queue_empty (LIKE plan_queue) WITH (autovacuum_enabled = off);
\set ECHO none
SELECT s FROM generate_series(1, 8), unnest(ARRAY['INSERT INTO plan_queue_empty SELECT g, repeat(''x'', 100) FROM generate_series(1, 3000) g', 'ANALYZE plan_queue_empty',
	'DELETE FROM plan_queue_empty', 'DO ''BEGIN PERFORM pg_stat_force_next_flush(); END''', 'CALL wait_for_horizon()', 'VACUUM (TRUNCATE off) plan_queue_empty']) WITH ORDINALITY u (s, n) ORDER BY generate_series, n \gexec
\set ECHO all
INSERT INTO plan_gone SELECT g, repeat('x', 100) FROM generate_series(1, 3000) g;
DELETE FROM plan_gone WHERE i > 10;
CALL wait_for_horizon();
VACUUM (TRUNCATE off) plan_gone;
SELECT pg_stat_force_next_flush();
CALL streamstat.run_database_report(margin => 0);
SELECT relation_name, reclaimable_bytes > 0 AS gain, command IS NOT NULL AS command, reason ~ 'reuse the free space' AS reused
	FROM streamstat.last_database_report() WHERE relation_name ~ '^plan_(queue|gone)' ORDER BY relation_name;
DROP TABLE plan_queue, plan_queue_empty, plan_gone;
-- A small table that is updated all the time gets no lock for the sake of some pages.
CREATE TABLE plan_busy (LIKE plan_part) WITH (autovacuum_enabled = off);
INSERT INTO plan_busy SELECT g, repeat('x', 100) FROM generate_series(1, 3000) g;
DELETE FROM plan_busy WHERE i > 500;
CALL wait_for_horizon();
\set ECHO none
SELECT s FROM generate_series(1, 60) g, unnest(ARRAY['UPDATE plan_busy SET t = t WHERE i <= 250', 'VACUUM (TRUNCATE off) plan_busy']) WITH ORDINALITY u (s, n) ORDER BY g, n \gexec
\set ECHO all
SELECT pg_stat_force_next_flush();
CALL streamstat.run_database_report(margin => 0);
SELECT command, reason ~ 'reuse the free space' AS reused FROM streamstat.last_database_report() WHERE relation_name = 'plan_busy';
DROP TABLE plan_busy;
-- VACUUM truncates a table that lost its rows, and not its index.
CREATE TABLE plan_emptied (i int, t text) WITH (autovacuum_enabled = off);
CREATE INDEX plan_emptied_i ON plan_emptied (i);
CREATE TABLE plan_nearly (LIKE plan_emptied INCLUDING ALL) WITH (autovacuum_enabled = off);
INSERT INTO plan_emptied SELECT g, repeat('x', 100) FROM generate_series(1, 20000) g;
INSERT INTO plan_nearly TABLE plan_emptied;
ANALYZE plan_emptied, plan_nearly;
DELETE FROM plan_emptied;
DELETE FROM plan_nearly WHERE i > 10;
CALL wait_for_horizon();
VACUUM plan_emptied, plan_nearly;
SELECT pg_stat_force_next_flush();
CALL streamstat.run_database_report(margin => 0);
SELECT relation_name, bytes < 20000 AS small, reclaimable_bytes > 300000 AS gain, command, reason ~ 'reuse the free space' AS reused
	FROM streamstat.last_database_report() WHERE relation_name ~ '^plan_(emptied|nearly)' ORDER BY relation_name;
DROP TABLE plan_emptied, plan_nearly;

-- Nothing is left to be advised when all commands were run.
CALL streamstat.run_database_report(margin => 0);
CREATE TABLE foretold AS SELECT sum(reclaimable_bytes) AS bytes FROM streamstat.last_database_plan() WHERE relation_name ~ '^plan_';
CREATE VIEW size AS SELECT sum(pg_total_relation_size(oid)) AS bytes FROM pg_class WHERE relname ~ '^plan_' AND relkind = 'r';
CREATE TABLE before AS SELECT * FROM size;
\set ECHO none
SELECT command FROM streamstat.last_database_plan() WHERE relation_name ~ '^plan_' AND command IS NOT NULL \gexec
\set ECHO all
SELECT abs((b.bytes - s.bytes) / f.bytes - 1) < 0.05 AS came_back FROM before b, size s, foretold f;
CALL streamstat.run_database_report(margin => 0);
SELECT count(*) FROM streamstat.last_database_plan() WHERE relation_name ~ '^plan_';
SELECT count(*) FROM streamstat.last_database_report() WHERE relation_name ~ '^plan_' AND (command IS NOT NULL OR rebuilt_by IS NOT NULL);

-- Indexes that may be dropped.  None of these tests is a week old: the view's own query
-- shows what it would say then.
DO $$ BEGIN EXECUTE 'CREATE VIEW plan_unused AS ' || replace(pg_get_viewdef('streamstat.report_drop_candidates'), '7 days', '-7 days'); END $$;
CREATE TABLE plan_drop (a int PRIMARY KEY, b int, c text, d int UNIQUE);
CREATE INDEX plan_drop_b ON plan_drop (b);
CREATE INDEX plan_drop_b_too ON plan_drop (b);
CREATE INDEX plan_drop_bc ON plan_drop (b, c);
CREATE INDEX plan_drop_b_desc ON plan_drop (b DESC);
CREATE INDEX plan_drop_b_some ON plan_drop (b) WHERE a > 1;
CREATE INDEX plan_drop_b_some_too ON plan_drop  (b)  WHERE  a > 1;
CREATE INDEX plan_drop_hash ON plan_drop USING hash (b);
CREATE INDEX plan_drop_upper ON plan_drop (upper(c), b);
CREATE INDEX plan_drop_upper_too ON plan_drop (upper(c));
CREATE INDEX plan_drop_lower ON plan_drop (lower(c));
CREATE INDEX plan_drop_a ON plan_drop (a);
CREATE INDEX plan_drop_a_b ON plan_drop (a) INCLUDE (b);
CREATE INDEX plan_drop_c ON plan_drop (c);
CREATE INDEX plan_drop_c_pattern ON plan_drop (c text_pattern_ops);
CREATE INDEX plan_drop_used ON plan_drop (c, a);
CREATE INDEX plan_drop_bad ON plan_drop (b, a);
CREATE INDEX plan_drop_brin ON plan_drop USING brin (b);
CREATE INDEX plan_drop_brin_4 ON plan_drop USING brin (b) WITH (pages_per_range = 4);
CREATE INDEX plan_drop_brin_4_too ON plan_drop USING brin (b) WITH (autosummarize, pages_per_range = 4);
CREATE INDEX plan_drop_brin_multi ON plan_drop USING brin (b int4_minmax_multi_ops);
CREATE INDEX plan_drop_brin_multi_16 ON plan_drop USING brin (b int4_minmax_multi_ops(values_per_range = 16));
UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'plan_drop_bad'::regclass;
SET enable_seqscan = off;
SELECT a FROM plan_drop WHERE c = 'x' AND a > 1;
RESET enable_seqscan;
SELECT pg_stat_force_next_flush();
SELECT relation_name, parent_name, access_method, bytes = pg_relation_size(relation_name::regclass) AS bytes, size = pg_size_pretty(bytes) AS size,
		relations, index_scans, regexp_replace(reason, '^(its columns are the first ones of |never scanned since ).*', '\1') AS reason
	FROM plan_unused WHERE parent_name = 'public.plan_drop' ORDER BY relation_name COLLATE "C";
SELECT bool_and(CASE WHEN relation_name = 'plan_drop_bad' THEN note IS NULL ELSE note ~ 'standbys' END) AS notes,
		bool_and(counted_since > now() - interval '1 day' AND (reason !~ '^never' OR strpos(reason, to_char(counted_since, 'YYYY-MM-DD')) > 0)) AS counted_since
	FROM plan_unused WHERE parent_name = 'public.plan_drop';
-- The index that the reason names is the one that makes the other redundant.
CREATE TABLE plan_drop_which (a int, b int);
CREATE INDEX plan_drop_which_2 ON plan_drop_which (a);
CREATE INDEX plan_drop_which_3 ON plan_drop_which (a);
CREATE INDEX plan_drop_which_1 ON plan_drop_which (a, b);
CREATE TABLE plan_drop_include (a int, b int);
CREATE INDEX plan_drop_include_1 ON plan_drop_include (a);
CREATE INDEX plan_drop_include_2 ON plan_drop_include (a) INCLUDE (b);
SELECT relation_name, reason FROM streamstat.report_drop_candidates WHERE parent_name ~ 'plan_drop_(which|include)' ORDER BY relation_name COLLATE "C";
DROP TABLE plan_drop_which, plan_drop_include;
-- A unique index needs no scans, unless another one keeps the same keys unique.
CREATE TABLE plan_drop_unique (a int CONSTRAINT plan_drop_unique_pkey PRIMARY KEY, b int, c int);
CREATE UNIQUE INDEX plan_drop_unique_a ON plan_drop_unique (a);
CREATE UNIQUE INDEX plan_drop_unique_ab ON plan_drop_unique (a, b);
CREATE UNIQUE INDEX plan_drop_unique_part ON plan_drop_unique (a) WHERE b > 0;
CREATE UNIQUE INDEX plan_drop_unique_b ON plan_drop_unique (b);
CREATE UNIQUE INDEX plan_drop_unique_b2 ON plan_drop_unique (b);
CREATE UNIQUE INDEX plan_drop_unique_b3 ON plan_drop_unique (b) NULLS NOT DISTINCT;
CREATE INDEX plan_drop_unique_b4 ON plan_drop_unique (b);
CREATE UNIQUE INDEX plan_drop_unique_c ON plan_drop_unique (c);
ALTER TABLE plan_drop_unique ADD CONSTRAINT plan_drop_unique_late UNIQUE (c) DEFERRABLE;
CREATE TABLE plan_drop_referenced (a int);
CREATE UNIQUE INDEX plan_drop_referenced_1 ON plan_drop_referenced (a);
CREATE TABLE plan_drop_referencing (a int REFERENCES plan_drop_referenced (a));
CREATE UNIQUE INDEX plan_drop_referenced_2 ON plan_drop_referenced (a);
SELECT relation_name, reason FROM streamstat.report_drop_candidates WHERE parent_name ~ 'plan_drop_(unique|referenced)' ORDER BY relation_name COLLATE "C";
DROP TABLE plan_drop_unique, plan_drop_referencing, plan_drop_referenced;
-- VACUUM does not count an index that is not valid.
CREATE TABLE plan_drop_only (a int);
INSERT INTO plan_drop_only VALUES (1), (1);
CREATE UNIQUE INDEX CONCURRENTLY plan_drop_only_a ON plan_drop_only (a);
VACUUM plan_drop_only;
SELECT relation_name FROM streamstat.report_drop_candidates WHERE parent_name = 'public.plan_drop_only';
DROP TABLE plan_drop_only;
-- What is not a week old is not unused.
SELECT relation_name, regexp_replace(reason, '^(its columns are the first ones of ).*', '\1') AS reason
	FROM streamstat.report_drop_candidates WHERE parent_name = 'public.plan_drop' ORDER BY relation_name COLLATE "C";
-- One that was scanned has the time, where the server knows.
CREATE INDEX plan_drop_used_too ON plan_drop (c, a, d);
SELECT relation_name, index_scans > 0 AS scanned, (last_idx_scan > now() - interval '1 day') IS NOT DISTINCT FROM CASE WHEN server_version() >= 16 THEN true END AS last_scan
	FROM plan_unused WHERE relation_name = 'plan_drop_used';
-- A partitioned table has one row for all partitions, and a foreign key is named.
CREATE TABLE plan_drop_parts (i int, a int REFERENCES plan_drop, b int REFERENCES plan_drop (d)) PARTITION BY RANGE (i);
CREATE TABLE plan_drop_part_1 PARTITION OF plan_drop_parts FOR VALUES FROM (0) TO (10);
CREATE TABLE plan_drop_part_2 PARTITION OF plan_drop_parts FOR VALUES FROM (10) TO (30) PARTITION BY RANGE (i);
CREATE TABLE plan_drop_part_21 PARTITION OF plan_drop_part_2 FOR VALUES FROM (10) TO (20);
CREATE TABLE plan_drop_part_22 PARTITION OF plan_drop_part_2 FOR VALUES FROM (20) TO (30);
CREATE INDEX plan_drop_parts_a ON plan_drop_parts (a, i);
CREATE INDEX plan_drop_parts_ia ON plan_drop_parts (i, a);
CREATE INDEX plan_drop_parts_b ON plan_drop_parts (b);
CREATE INDEX plan_drop_parts_b_too ON plan_drop_parts (b);
CREATE INDEX plan_drop_parts_i ON plan_drop_parts (i);
CREATE INDEX plan_drop_part_1_b ON plan_drop_part_1 (b);
CREATE INDEX plan_drop_part_1_b_ccnew1 ON plan_drop_part_1 (b, i);
CREATE INDEX plan_drop_parts_only ON ONLY plan_drop_parts (a);
UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'plan_drop_part_1_b_ccnew1'::regclass;
INSERT INTO plan_drop_parts (i) SELECT generate_series(0, 29);
ANALYZE plan_drop_parts;
-- by an index of a partition of a partition
SET enable_seqscan = off;
SELECT a FROM plan_drop_part_21 WHERE i = 10 AND a > 1;
RESET enable_seqscan;
SELECT pg_stat_force_next_flush();
SELECT relation_name, parent_name, relations, bytes = (SELECT sum(pg_table_size(relid)) FROM pg_partition_tree(relation_name::regclass) WHERE isleaf) AS bytes,
		foreign_key, note ~ 'foreign key' AS note, regexp_replace(reason, '^(never scanned since ).*', '\1') AS reason
	FROM plan_unused WHERE parent_name ~ '^public.plan_drop_part' ORDER BY relation_name COLLATE "C";
-- What the view and the plan say of an index that was left behind is the same.
CALL streamstat.run_database_report();
SELECT d.reason = p.reason AS same, p.command FROM streamstat.report_drop_candidates d JOIN streamstat.last_database_plan() p USING (relation_name)
	WHERE relation_name = 'plan_drop_part_1_b_ccnew1';
-- ... but none of an extension's tables
SELECT count(pg_stat_reset_single_table_counters(indexrelid)) > 0 AS reset FROM pg_index WHERE indrelid = 'streamstat.report_run_relations'::regclass;
SELECT count(*) FROM plan_unused WHERE parent_name ~ '^streamstat\.';
DROP VIEW plan_unused;
DROP TABLE plan_drop_parts;

-- What comes back of indexes whose size depends on how their pages are split is between the
-- ends, too: GiST, SP-GiST, and BRIN, which is taken to keep its size.
CREATE TABLE plan_trees WITH (autovacuum_enabled = off) AS
	SELECT i, int4range(x, x + 100) AS r, repeat('x', 60) AS t FROM (SELECT i, (i::int8 * 7919 % 20011)::int AS x FROM generate_series(1, 20000) i) i;
CREATE INDEX plan_trees_r ON plan_trees USING gist (r);
CREATE INDEX plan_trees_box ON plan_trees USING gist (box(point(i, lower(r)), point(i + 1, upper(r))));
CREATE INDEX plan_trees_sp ON plan_trees USING spgist (r);
CREATE INDEX plan_trees_brin ON plan_trees USING brin (i);
DELETE FROM plan_trees WHERE i % 5 > 0;
CALL wait_for_horizon();
VACUUM plan_trees;
CALL streamstat.run_database_report(margin => 0);
SELECT reclaimable_bytes_low AS low, reclaimable_bytes_high AS high, relations FROM streamstat.last_database_plan(online => false) WHERE relation_name = 'plan_trees' \gset
SELECT pg_table_size('plan_trees') + pg_indexes_size('plan_trees') AS old \gset
-- Ranges are split slowly.
SELECT s.duration > 2 * b.duration AS slow FROM streamstat.last_database_plan() s, streamstat.last_database_plan() b WHERE s.relation_name = 'plan_trees_sp' AND b.relation_name = 'plan_trees_box';
VACUUM FULL plan_trees;
SELECT :relations AS relations, :old - pg_table_size('plan_trees') - pg_indexes_size('plan_trees') BETWEEN :low AND :high AS inside;

-- A rewrite brings rows closer together, and so makes posting lists of GIN shorter.
CREATE TABLE plan_closer WITH (autovacuum_enabled = off) AS SELECT i, ARRAY[i % 11, i % 13, i % 7] AS a FROM generate_series(1, 200000) i;
DELETE FROM plan_closer WHERE i % 20 > 0;
CREATE INDEX plan_closer_a ON plan_closer USING gin (a);
CALL wait_for_horizon();
VACUUM ANALYZE plan_closer;
SELECT reclaimable_bytes_low AS low, reclaimable_bytes_high AS high FROM streamstat.database_plan(margin => 0, tables => '{plan_closer}', online => false) \gset
SELECT pg_table_size('plan_closer') + pg_indexes_size('plan_closer') AS old \gset
VACUUM FULL plan_closer;
SELECT :old - pg_table_size('plan_closer') - pg_indexes_size('plan_closer') BETWEEN :low AND :high AS inside;

DROP VIEW plan, online, size;
DROP TABLE plan_closer, plan_whole, plan_part, plan_drop, plan_trees, foretold, before;

-- A rewrite inserts chunks into the TOAST index one by one, which leaves its pages half
-- full, and only chunks that rows need.  The plan foretells that.
CREATE FUNCTION plan_bytes(oid) RETURNS int8 LANGUAGE sql AS $$
	SELECT sum(pg_relation_size(oid)) FROM (SELECT $1 AS oid UNION ALL SELECT c.reltoastrelid FROM pg_class c WHERE c.oid = $1 AND reltoastrelid > 0
		UNION ALL SELECT indexrelid FROM pg_index i, pg_class c WHERE c.oid = $1 AND indrelid = reltoastrelid) r $$;
CREATE TABLE plan_updated (i int, v text) WITH (autovacuum_enabled = off);
ALTER TABLE plan_updated ALTER v SET STORAGE external;
INSERT INTO plan_updated SELECT g, repeat('x', 2100) FROM generate_series(1, 10000) g;
UPDATE plan_updated SET v = v || 'y' WHERE i * 7919 % 10 < 5;
CREATE TABLE plan_dropped (i int, d text, k text) WITH (autovacuum_enabled = off);
ALTER TABLE plan_dropped ALTER d SET STORAGE external;
INSERT INTO plan_dropped SELECT g, repeat('x', 2500) FROM generate_series(1, 6000) g;
ALTER TABLE plan_dropped DROP d;
CALL wait_for_horizon();
VACUUM plan_updated, plan_dropped;
CALL streamstat.run_database_report(margin => 0);
CREATE TEMP TABLE plan_said AS SELECT p.*, plan_bytes(relid) AS before FROM streamstat.last_database_plan(online => false) p WHERE relation_name IN ('plan_updated', 'plan_dropped');
VACUUM FULL plan_updated;
VACUUM FULL plan_dropped;
SELECT relation_name, before - plan_bytes(relid) BETWEEN reclaimable_bytes_low AND reclaimable_bytes_high AS inside,
		reclaimable_bytes_high - reclaimable_bytes_low < before / 20 AS narrow, reason ~ 'REINDEX INDEX CONCURRENTLY pg_toast\.pg_toast_\d+_index(;|$)' AS reindex
	FROM plan_said ORDER BY 1;
DROP TABLE plan_updated, plan_dropped, plan_said;

-- A TOAST table's index has no name that users know.
CREATE TABLE plan_toasted (i int, v text) WITH (autovacuum_enabled = off);
ALTER TABLE plan_toasted ALTER v SET STORAGE external;
INSERT INTO plan_toasted SELECT g, repeat('x', 6000) FROM generate_series(1, 3000) g;
DELETE FROM plan_toasted WHERE i % 10 > 0;
CALL wait_for_horizon();
VACUUM plan_toasted;
SELECT reason ~ 'it is the index of the TOAST table of public\.plan_toasted(;|$)' AS named
	FROM streamstat.database_plan(margin => 0, tables => '{plan_toasted}') WHERE schema_name = 'pg_toast';
DROP TABLE plan_toasted;

-- A build of GIN takes its time for each TID, however short these are.
CREATE TABLE gin_time (i int, few int[], many text[]) WITH (autovacuum_enabled = off);
INSERT INTO gin_time SELECT g, ARRAY[g % 2, 10 + g % 3, 20 + g % 5, 30 + g % 7, 40 + g % 11, 60 + g % 13, 80 + g % 17, 100 + g % 19, 120 + g % 23, 150 + g % 29, 180 + g % 31, 220 + g % 37],
		CASE WHEN g % 2 = 0 THEN ARRAY[md5(g::text)] END FROM generate_series(1, 40000) g;
CREATE INDEX gin_time_few ON gin_time USING gin (few);
CREATE INDEX gin_time_many ON gin_time USING gin (many);
DELETE FROM gin_time WHERE i % 40 < 24;
CALL wait_for_horizon();
VACUUM ANALYZE gin_time;
SELECT few.bytes < many.bytes AS smaller, few.duration > 1.2 * many.duration AS longer
	FROM (SELECT relation_name, pg_relation_size(relid) AS bytes, duration FROM streamstat.database_plan(margin => 0, tables => '{gin_time}', online => true)) few,
		(SELECT relation_name, pg_relation_size(relid) AS bytes, duration FROM streamstat.database_plan(margin => 0, tables => '{gin_time}', online => true)) many
	WHERE few.relation_name = 'gin_time_few' AND many.relation_name = 'gin_time_many';
DROP TABLE gin_time;

-- A build of a hash index passes all pages of equal keys for each of them.
CREATE TABLE hash_time WITH (autovacuum_enabled = off) AS SELECT g AS i, g % 3 AS few, g AS each FROM generate_series(1, 200000) g;
CREATE INDEX hash_time_few ON hash_time USING hash (few);
CREATE INDEX hash_time_each ON hash_time USING hash (each);
DELETE FROM hash_time WHERE i % 2 = 0;
CALL wait_for_horizon();
VACUUM ANALYZE hash_time;
SELECT few.duration > 2.5 * each.duration AS longer
	FROM streamstat.database_plan(margin => 0, tables => '{hash_time}', online => true) few, streamstat.database_plan(margin => 0, tables => '{hash_time}', online => true) each
	WHERE few.relation_name = 'hash_time_few' AND each.relation_name = 'hash_time_each';
DROP TABLE hash_time;

DROP FUNCTION plan_bytes;
