--
-- io_probe, io_advice: what is measured depends on the machine, its form does not
--
SET client_min_messages = warning;

-- Nothing is known before the first one.
SELECT error_of('SELECT streamstat.io_advice()');

CREATE TABLE probed (n int, t text) WITH (autovacuum_enabled = off);
INSERT INTO probed SELECT g, repeat('x', 1000) FROM generate_series(1, 20000) g;
CREATE INDEX probed_n ON probed (n);
CREATE TABLE probed_small AS SELECT 1 AS n;
CREATE UNLOGGED TABLE probed_unlogged AS TABLE probed;
CREATE TEMP TABLE probed_temp AS TABLE probed;
CREATE VIEW probed_view AS TABLE probed;
CREATE TABLE probed_parts (n int) PARTITION BY RANGE (n);
CHECKPOINT;

-- Limits are checked.
\set VERBOSITY sqlstate
SELECT streamstat.io_probe('probed', max_bytes => '0');
SELECT streamstat.io_probe('probed', max_bytes => 'much');
SELECT streamstat.io_probe('probed', max_time => '-1 s');
SELECT streamstat.io_probe('probed', max_rate => '0');
SELECT streamstat.io_probe('no_such_relation');
\set VERBOSITY default

-- What gives no figures is a row with a note.
SELECT r.relation, p.reads, p.note
FROM unnest('{probed_small, probed_unlogged, probed_temp, probed_view, probed_parts, probed_n}'::regclass[])
	WITH ORDINALITY r (relation, place), streamstat.io_probe(r.relation, max_bytes => '1MB') p
WHERE p.relation = r.relation ORDER BY place;
SELECT relation::oid::int, reads, note FROM streamstat.io_probe(3::regclass);

-- Figures, or why the file system can give none
CREATE TABLE probe AS SELECT * FROM streamstat.io_probe('probed', max_bytes => '6MB', max_time => '1 min');
SELECT count(reads) > 0 OR bool_or(note ~ 'memory|cache|compressed|encrypted|written') AS told,
	bool_and(relation = 'probed'::regclass AND tablespace_name = 'pg_default') AS subject,
	coalesce(sum(bytes_read), 0) <= 6 * 1024 * 1024 AS within_bytes,
	coalesce(sum(elapsed_ms), 0) <= 60000 AS within_time
FROM probe;
SELECT count(*) AS wrong FROM probe
WHERE reads IS NOT NULL AND NOT (bytes_read = reads * request_bytes AND reads > 1 AND depth > 0
	AND reads_per_second > 0 AND elapsed_ms > 0
	AND (reads_per_second_low IS NULL) = (reads_per_second_high IS NULL)
	AND reads_per_second BETWEEN reads_per_second_low AND reads_per_second_high IS NOT false
	AND abs(bytes_per_second / request_bytes / reads_per_second - 1) < 0.001
	AND latency_ms > 0 AND latency_ms <= latency_ms_p99
	AND pattern IN ('random', 'sequential') AND io_method IN ('io_uring', 'advice')
	AND is_direct = (io_method = 'io_uring') AND note IS NULL);
SELECT count(*) = count(DISTINCT (pattern, depth)) AS once FROM probe WHERE reads IS NOT NULL;

-- A probe of a few bytes has no six rounds, and says so.  The advice is that of the session's last probe.
SELECT count(*) FILTER (WHERE reason !~ 'too few rounds') AS said, count(advised_value) AS advised, count(command) AS commands,
	bool_and(EXISTS (SELECT FROM pg_settings s WHERE s.name = a.setting)) IS NOT false AS settings,
	bool_and(tablespace_name = 'pg_default') IS NOT false AS tablespaces
FROM streamstat.io_advice() a;
SELECT count(*) >= 1 AS of_each_tablespace, bool_and(relation IS NOT NULL OR note IS NOT NULL) AS told
FROM streamstat.io_probe(max_bytes => '1MB', max_time => '1 s');
SELECT function, stream, blocks_hit FROM streamstat.stream_stats();

-- For members of pg_stat_scan_tables
CREATE ROLE probe_nobody;
CREATE ROLE probe_scanner IN ROLE pg_stat_scan_tables;
GRANT USAGE ON SCHEMA streamstat TO probe_nobody, probe_scanner;
SET ROLE probe_nobody;
SELECT count(*) FROM streamstat.io_probe('pg_class');
SELECT count(*) FROM streamstat.io_advice();
SET ROLE probe_scanner;
SELECT count(*) FROM streamstat.io_probe('pg_am');
SELECT count(*) FROM streamstat.io_advice();
RESET ROLE;
REVOKE USAGE ON SCHEMA streamstat FROM probe_nobody, probe_scanner;
DROP ROLE probe_nobody, probe_scanner;
DROP TABLE probe, probed_small, probed_unlogged, probed_temp, probed_parts, probed CASCADE;
