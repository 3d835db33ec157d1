--
-- Stored reports: what is stored, what metrics show of it, history, rights, errors
--
SET client_min_messages = warning;

-- Nothing before the first
SELECT (SELECT count(*) FROM streamstat.report_relation_metrics) AS relations, (SELECT count(*) FROM streamstat.report_run_metrics) AS runs,
	(SELECT count(*) FROM streamstat.report_metrics) AS metrics, (SELECT count(*) FROM streamstat.report_history('pg_class')) AS history,
	(SELECT count(*) FROM streamstat.report_growth()) AS growth;

CREATE SCHEMA "co.1 ""x""";
CREATE TABLE "co.1 ""x"""."T 'a'" (i int, w text) WITH (autovacuum_enabled = off);
ALTER TABLE "co.1 ""x"""."T 'a'" ALTER w SET STORAGE external;
INSERT INTO "co.1 ""x"""."T 'a'" SELECT g, repeat('x', 4000) FROM generate_series(1, 600) g;
CREATE TABLE co_t WITH (autovacuum_enabled = off) AS SELECT g AS i, repeat('x', 100) AS t FROM generate_series(1, 30000) g;
CREATE INDEX co_i ON co_t (i);
CREATE INDEX co_broken ON co_t (t);
UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'co_broken'::regclass;
DELETE FROM co_t WHERE i % 3 > 0;
CALL wait_for_horizon();
VACUUM co_t;

-- The stored rows are those of the session's last report: of the largest relations, and of
-- those that have a command or are damaged.
CALL streamstat.collect(margin => 0);
SELECT count(*) > 100 AS relations FROM streamstat.report_run_relations;
CREATE TEMP TABLE co_now AS SELECT to_jsonb(r) - 'relid' AS r FROM streamstat.last_database_report() r;
CREATE TEMP TABLE co_stored AS SELECT to_jsonb(r) - '{run, bytes_rank, reclaimable_rank, is_shown}'::text[] AS r FROM streamstat.report_run_relations r;
SELECT count(*) AS others FROM (TABLE co_stored EXCEPT ALL TABLE co_now) d;
SELECT count(*) > 0 AS not_stored, bool_and((r ->> 'bytes')::bigint < 1024 * 1024 AND r ->> 'command' IS NULL AND r ->> 'is_valid' IS DISTINCT FROM 'false') AS small
	FROM (TABLE co_now EXCEPT ALL TABLE co_stored) d;
DROP TABLE co_now, co_stored;
SELECT to_jsonb(u) - '{run, datname, top_relations, min_bytes, server_version, is_partial, note}'::text[] = to_jsonb(s) AS summary,
		datname = current_database() AS datname, top_relations, min_bytes, server_version = current_setting('server_version') AS server_version, note
	FROM streamstat.report_runs u, streamstat.database_report_summary() s;
SELECT count(*) > 0 AS commands, bool_and(to_jsonb(c) - 'run' = to_jsonb(p) - 'relid') AS same
	FROM streamstat.report_run_commands c FULL JOIN streamstat.last_database_plan() p USING (rank);
-- Ranks are places in both orders.
SELECT count(*) AS ranked_otherwise FROM (SELECT bytes_rank, reclaimable_rank, row_number() OVER (ORDER BY bytes DESC NULLS LAST) AS place, bytes,
		lag(bytes) OVER (ORDER BY bytes_rank) AS larger, reclaimable_bytes, lag(reclaimable_bytes) OVER (ORDER BY reclaimable_rank) AS more
	FROM streamstat.report_run_relations) r WHERE larger < bytes OR more < reclaimable_bytes;
SELECT count(DISTINCT bytes_rank) = count(*) AND count(DISTINCT reclaimable_rank) = count(*) AND max(greatest(bytes_rank, reclaimable_rank)) <= max(u.relations) AS ranks
	FROM streamstat.report_run_relations, streamstat.report_runs u;

-- The metrics: what is large, what gives much back, what is broken, and the rest by kind.  All of it counts once.
SELECT regexp_replace(relation_name, '[0-9]+', 'N') AS relation_name, parent_name, kind, access_method, is_invalid, is_measured, is_exact, relations FROM streamstat.report_relation_metrics
	WHERE relation_name ~ '^(co_|T )' OR parent_name ~ 'co\.1' ORDER BY kind, report_relation_metrics.relation_name COLLATE "C";
SELECT sum(m.bytes) = u.bytes_total AS bytes, sum(m.relations) = u.relations AS relations, sum(m.reclaimable_bytes) = u.reclaimable_bytes AS reclaimable,
		count(*) FILTER (WHERE num_nulls(m.datname, schema_name, relation_name, parent_name, kind, access_method) > 0) AS null_labels,
		count(*) FILTER (WHERE relation_name = '(others)') > 2 AS others, bool_and(m.free_ratio BETWEEN 0 AND 1) AS ratios
	FROM streamstat.report_relation_metrics m, streamstat.report_runs u GROUP BY u.bytes_total, u.relations, u.reclaimable_bytes;
SELECT count(*) AS shown_otherwise FROM streamstat.report_run_relations r, streamstat.report_runs u
	WHERE is_shown <> (coalesce(bytes >= min_bytes AND least(bytes_rank, reclaimable_rank) <= u.top_relations, false)
		OR coalesce(corrupt_pages > 0, false) OR is_valid IS NOT DISTINCT FROM false);
SELECT count(*) AS sums, bool_and(o.relations = r.relations AND o.bytes = r.bytes AND abs(o.free_percent - r.free_percent) < 1e-6) AS same
	FROM streamstat.report_run_others o JOIN (SELECT kind, count(*) AS relations, sum(bytes) AS bytes,
			sum(free_percent * bytes) / sum(bytes) FILTER (WHERE free_percent IS NOT NULL) AS free_percent
		FROM streamstat.last_database_report() d WHERE NOT EXISTS (SELECT FROM streamstat.report_run_relations s
			WHERE s.is_shown AND s.schema_name = d.schema_name AND s.relation_name = d.relation_name) GROUP BY kind) r USING (kind);
SELECT m.bytes = u.bytes_total AS bytes, m.relations = u.relations AS relations, corrupt_relations, corrupt_pages, invalid_indexes,
		age_seconds BETWEEN 0 AND 3600 AS age, elapsed_seconds = elapsed_ms / 1000 AS elapsed, is_complete
	FROM streamstat.report_run_metrics m, streamstat.report_runs u;
SELECT metric, value = bytes AS same FROM streamstat.report_metrics JOIN streamstat.report_relation_metrics USING (schema_name, relation_name)
	WHERE relation_name = 'co_t' AND metric ~ 'relation_bytes$';
SELECT metric, count(*) > 2 AS some, bool_and(value IS NOT NULL) AS known FROM streamstat.report_metrics GROUP BY metric ORDER BY metric COLLATE "C";

-- Other bounds
CALL streamstat.collect(margin => 0, top_relations => 0, min_bytes => '0');
SELECT count(*) = max(u.relations) AS all_stored FROM streamstat.report_run_relations JOIN streamstat.report_runs u USING (run) WHERE run = 2;
SELECT relation_name, count(*) FROM streamstat.report_relation_metrics WHERE relation_name <> '(others)' GROUP BY 1;
SELECT sum(m.relations) = u.relations AS relations FROM streamstat.report_relation_metrics m, streamstat.report_runs u
	WHERE run = (SELECT max(run) FROM streamstat.report_runs) GROUP BY u.relations;
CALL streamstat.collect(margin => 0, top_relations => 1000000, min_bytes => '0');
SELECT count(*) FILTER (WHERE relation_name = '(others)') AS others, count(*) > 100 AS shown FROM streamstat.report_relation_metrics;
CALL streamstat.collect(top_relations => 1000000, min_bytes => '1 TB', budget => '64kB');
SELECT relation_name, count(*), sum(is_complete) FROM streamstat.report_relation_metrics, streamstat.report_run_metrics WHERE relation_name <> '(others)' GROUP BY 1;

-- History, by names; of a TOAST table by its table's
INSERT INTO co_t SELECT g, repeat('x', 100) FROM generate_series(1, 30000) g;
CALL streamstat.collect(budget => '0');
SELECT row_number() OVER () AS n, h.measured, h.bytes = lag(h.bytes) OVER () AS same, h.bytes_per_day > 0 AS grows, h.predicted_bytes <= h.bytes AS predicted,
		h.free_percent BETWEEN 0 AND 100 AS free
	FROM streamstat.report_history('co_t') h WHERE run <> 4;
SELECT count(*) AS wrong FROM (SELECT bytes_per_day, (bytes - lag(bytes) OVER w) / nullif(extract(epoch FROM started - lag(started) OVER w) / 86400, 0) AS expected
		FROM streamstat.report_history('co_t') WINDOW w AS (ORDER BY started)) h
	WHERE (bytes_per_day IS NULL) <> (expected IS NULL) OR abs(bytes_per_day - expected) > 1e-6 * abs(expected);
SET quote_all_identifiers = on;
CALL streamstat.collect(budget => '0');
SELECT count(*) AS toast FROM pg_class c, streamstat.report_history(reltoastrelid) WHERE c.oid = '"co.1 ""x"""."T ''a''"'::regclass;
SELECT count(*) > 0 AS plain FROM pg_class c, streamstat.report_history(reltoastrelid) WHERE c.oid = 'co_t'::regclass;
RESET quote_all_identifiers;
SELECT count(*) AS toast FROM pg_class c, streamstat.report_history(reltoastrelid) WHERE c.oid = '"co.1 ""x"""."T ''a''"'::regclass;
SELECT count(*) > 0 AS quoted FROM streamstat.report_history('"co.1 ""x"""."T ''a''"');
SELECT count(*) AS of_nothing FROM unnest(ARRAY[NULL, 0, 1]::regclass[]) r, streamstat.report_history(r);
-- A relation with another name has another history.
ALTER TABLE co_t RENAME TO co_new;
CALL streamstat.collect(budget => '0');
SELECT count(*) AS new_name, min(bytes_per_day) FROM streamstat.report_history('co_new');

-- Growth: against the run that is closest to so long before
UPDATE streamstat.report_runs SET started = started - run * interval '1 day' WHERE run < 4;
SELECT r.run, g.since = r.started AS since, g.bytes - b.bytes = g.grown_bytes AS grown, abs(g.bytes_per_day / (g.grown_bytes * 86400 /
		extract(epoch FROM (SELECT max(started) FROM streamstat.report_runs) - r.started)) - 1) < 1e-6 AS per_day
	FROM streamstat.report_growth('2 days') g, streamstat.report_runs r JOIN streamstat.report_run_relations b USING (run)
	WHERE r.run = 2 AND g.relation_name = 'co_i' AND b.relation_name = 'co_i';
SELECT count(DISTINCT since), min(since) = (SELECT started FROM streamstat.report_runs WHERE run = 3) AS since FROM streamstat.report_growth('100 days');
-- With less than half of the period there is no rate.
SELECT period, since < now() AS since, count(grown_bytes) > 0 AS grown, count(bytes_per_day) > 0 AS per_day
	FROM unnest('{2 days, 7 days, 0}'::interval[]) period, streamstat.report_growth(period) GROUP BY period, since < now() ORDER BY period;
\set SHOW_CONTEXT never
SELECT count(*) FROM streamstat.report_growth('-1 day');
\set SHOW_CONTEXT errors
SELECT relation_name, grown_bytes = bytes AS new FROM streamstat.report_growth() WHERE relation_name = 'co_new';
-- One that was not stored may have been there, and small.
SELECT since = started AS since, bytes - grown_bytes = min_bytes AS beyond FROM streamstat.report_growth('1 day'), streamstat.report_runs WHERE relation_name = 'co_new' AND run = 1;
SELECT kind, count(*), sum(grown_bytes) FROM streamstat.report_growth() WHERE parent_name ~ 'co\.1' AND kind = 'toast table' GROUP BY kind;

-- Retention: what began earlier goes, with all its rows; what has just been stored stays.
CALL streamstat.collect(budget => '0', retention => NULL);
SELECT count(*) FROM streamstat.report_runs WHERE run <= 8;
CALL streamstat.collect(budget => '0', retention => '36 hours');
SELECT string_agg(run::text, ' ' ORDER BY run) AS runs FROM streamstat.report_runs;
SELECT string_agg(DISTINCT run::text, ' ') AS relations FROM streamstat.report_run_relations WHERE run < 4;
CALL streamstat.collect(budget => '0', retention => '0');
SELECT count(*), max(run) FROM streamstat.report_runs;
SELECT count(DISTINCT run) FROM streamstat.report_run_relations;

-- In a transaction block
BEGIN;
CALL streamstat.collect(budget => '0');
SELECT count(*), max(note) FROM streamstat.report_runs;
ROLLBACK;
SELECT count(*) FROM streamstat.report_runs;
DO $$
BEGIN
	BEGIN
		CALL streamstat.collect(budget => '0');
		RAISE division_by_zero;
	EXCEPTION WHEN division_by_zero THEN
		NULL;
	END;
	CALL streamstat.collect(budget => '0');
END
$$;
SELECT count(*), count(note) FROM streamstat.report_runs;

-- Rights: members of pg_stat_scan_tables collect and read, and write nothing themselves.
CREATE ROLE regress_co_scanner IN ROLE pg_stat_scan_tables;
CREATE ROLE regress_co_nobody;
SET ROLE regress_co_scanner;
CALL streamstat.collect(budget => '0', retention => NULL);
SELECT current_user, (SELECT count(*) FROM streamstat.report_runs) AS runs, (SELECT count(*) > 1 FROM streamstat.report_relation_metrics) AS metrics,
	(SELECT count(*) FROM streamstat.report_history('co_new')) AS history, (SELECT count(*) >= 100 FROM streamstat.report_growth()) AS growth;
-- What is stored stays, whatever retention they give, unless they may delete it.
CALL streamstat.collect(budget => '0', retention => '0');
SELECT count(*) > 2 AS kept FROM streamstat.report_runs;
DELETE FROM streamstat.report_runs;
INSERT INTO streamstat.report_runs (run) VALUES (100);
UPDATE streamstat.report_run_relations SET bytes = 0;
DELETE FROM streamstat.report_run_commands;
DELETE FROM streamstat.report_run_others;
SELECT nextval('streamstat.report_runs_run_seq');
TRUNCATE streamstat.report_runs CASCADE;
RESET ROLE;
BEGIN;
GRANT DELETE ON streamstat.report_runs TO regress_co_scanner;
SET ROLE regress_co_scanner;
CALL streamstat.collect(budget => '0', retention => '0');
SELECT count(*), (SELECT count(DISTINCT run) FROM streamstat.report_run_relations) AS with_relations FROM streamstat.report_runs;
ROLLBACK;
SET ROLE regress_co_nobody;
CALL streamstat.collect(budget => '0');
SELECT count(*) FROM streamstat.report_runs;
SELECT count(*) FROM streamstat.report_relation_metrics;
SELECT count(*) FROM streamstat.report_history('pg_class');
SELECT count(*) FROM streamstat.report_growth();
RESET ROLE;

-- What the caller has in front of the path, in settings or in temporary tables is not looked at.
GRANT CREATE ON SCHEMA public TO regress_co_scanner;
GRANT TEMPORARY ON DATABASE :DBNAME TO regress_co_scanner;
CREATE SCHEMA co_evil AUTHORIZATION regress_co_scanner;
SET ROLE regress_co_scanner;
CREATE FUNCTION co_evil.evil() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RAISE 'evil, as %', current_user; END $$;
CREATE FUNCTION co_evil.nextval(regclass) RETURNS bigint LANGUAGE sql AS 'SELECT co_evil.evil()::bigint';
CREATE FUNCTION co_evil.current_database() RETURNS name LANGUAGE sql AS 'SELECT co_evil.evil()::text::name';
CREATE FUNCTION co_evil.less(timestamptz, timestamptz) RETURNS boolean LANGUAGE sql AS 'SELECT co_evil.evil() > 0';
CREATE OPERATOR co_evil.< (LEFTARG = timestamptz, RIGHTARG = timestamptz, FUNCTION = co_evil.less);
CREATE TEMP TABLE report_rows AS SELECT 1 AS bytes;
CREATE TEMP TABLE plan_rows AS SELECT 1 AS rank;
CREATE TEMP TABLE report_runs AS SELECT 1 AS run;
CREATE TEMP TABLE report_run_relations AS SELECT 1 AS run;
SET search_path = co_evil, pg_temp, pg_catalog, public;
SET DateStyle = 'German';
SET IntervalStyle = 'iso_8601';
SET transform_null_equals = on;
SET array_nulls = off;
SET default_transaction_isolation = 'serializable';
CALL streamstat.collect(budget => '0', retention => '1000 years');
SELECT co_evil.evil() AS it_runs;
RESET search_path;
SELECT count(*) AS runs FROM streamstat.report_runs;
RESET ROLE;
RESET DateStyle;
RESET IntervalStyle;
RESET transform_null_equals;
RESET array_nulls;
RESET default_transaction_isolation;
SELECT count(*) FROM streamstat.report_runs WHERE started > now() - interval '1 hour';
DROP TABLE pg_temp.report_rows, pg_temp.plan_rows, pg_temp.report_runs, pg_temp.report_run_relations;
SET client_min_messages = error;
DROP OWNED BY regress_co_scanner CASCADE;
DROP ROLE regress_co_scanner, regress_co_nobody;

-- Errors, before anything is read
CALL streamstat.collect(retention => '-1 day');
CALL streamstat.collect(retention => '170000000 years');
CALL streamstat.collect(top_relations => NULL);
CALL streamstat.collect(top_relations => -1);
CALL streamstat.collect(min_bytes => NULL);
CALL streamstat.collect(min_bytes => '-1');
CALL streamstat.collect(min_bytes => 'much');
CALL streamstat.collect(budget => '-1');
BEGIN READ ONLY;
CALL streamstat.collect();
ROLLBACK;
SELECT count(*) FROM streamstat.report_runs;

-- Of no size, only what has a command or is damaged
CALL streamstat.collect(margin => 0, top_relations => 0, min_bytes => '1TB');
SELECT count(*) FILTER (WHERE command IS NOT NULL AND is_valid IS NOT FALSE) > 0 AS with_command, count(*) FILTER (WHERE relation_name = 'co_broken') AS broken,
		count(*) FILTER (WHERE command IS NULL AND is_valid IS NOT FALSE) AS others
	FROM streamstat.report_run_relations WHERE run = (SELECT max(run) FROM streamstat.report_runs);

-- A session that has made no report has the last stored one.
\c -
SET client_min_messages = warning;
SELECT count(*) > 0 AS relations, bool_and(r.relid = c.oid) AS relids, bool_and(to_jsonb(r) - 'relid' = to_jsonb(s) - '{run, bytes_rank, reclaimable_rank, is_shown}'::text[]) AS same
	FROM streamstat.last_database_report() AS r
	FULL JOIN (SELECT * FROM streamstat.report_run_relations WHERE run = (SELECT max(run) FROM streamstat.report_runs)) AS s USING (schema_name, relation_name)
	LEFT JOIN pg_class AS c ON c.relname = relation_name AND c.relnamespace = (SELECT n.oid FROM pg_namespace AS n WHERE n.nspname = schema_name);
SELECT count(*) > 0 AS commands, bool_and(to_jsonb(p) - 'relid' = to_jsonb(c) - 'run') AS same
	FROM streamstat.last_database_plan() AS p FULL JOIN (SELECT * FROM streamstat.report_run_commands WHERE run = (SELECT max(run) FROM streamstat.report_runs)) AS c USING (rank);
SELECT count(p.command) AS commands, sum(p.reclaimable_bytes) = u.planned_bytes AS all_left_out, to_jsonb(s) = to_jsonb(u) - '{run, datname, top_relations, min_bytes, server_version, is_partial, note}'::text[] AS summary,
		(streamstat.report_json() #>> '{run,started}')::timestamptz = u.started AS document
	FROM streamstat.last_database_plan(max_duration => '0') AS p, streamstat.database_report_summary() AS s, streamstat.report_runs AS u
	WHERE u.run = (SELECT max(run) FROM streamstat.report_runs) GROUP BY s, u.run;
SELECT error_of('SELECT streamstat.last_database_plan(online => false)');
-- Some tables: such a run is neither compared with whole ones nor shown instead of one.
CREATE TEMP TABLE co_growth AS SELECT * FROM streamstat.report_growth();
CALL streamstat.collect(tables => '{co_new}');
SELECT relations BETWEEN 1 AND 9 AS few, is_partial, note FROM streamstat.report_runs ORDER BY run DESC LIMIT 1;
SELECT (SELECT count(*) > 0 FROM co_growth) AS grown, (SELECT count(*) FROM (SELECT * FROM streamstat.report_growth() EXCEPT TABLE co_growth) g) AS others,
	(SELECT relations > 9 FROM streamstat.report_run_metrics) AS run,
	json_array_length(streamstat.report_json() -> 'history') = (SELECT count(*) FROM streamstat.report_runs WHERE NOT is_partial) AS history_of_whole,
	(SELECT json_array_length(streamstat.report_json(max(u.run)) -> 'history') FROM streamstat.report_runs AS u) AS history_of_part;
DROP TABLE co_growth;
DELETE FROM streamstat.report_runs;
SELECT (SELECT count(*) FROM streamstat.report_run_relations) AS relations, (SELECT count(*) FROM streamstat.report_run_others) AS others,
	(SELECT count(*) FROM streamstat.report_run_commands) AS commands;
DROP TABLE co_new;
DROP SCHEMA "co.1 ""x""" CASCADE;
