--
-- Ways to call: from SQL, PL/pgSQL and prepared statements, and by whom
--
SET client_min_messages = warning;

CREATE TABLE ca (i int PRIMARY KEY, t text) WITH (autovacuum_enabled = off);
INSERT INTO ca SELECT i, repeat('t', 100) FROM generate_series(1, 1000) i;
CREATE TABLE ca_log (how text);
-- When the last report began
CREATE FUNCTION ca_started() RETURNS timestamptz LANGUAGE sql AS
	'SELECT started FROM streamstat.database_report_summary()';

--
-- The procedure: its limits are all that it takes.
--
SELECT proargmodes, proallargtypes, pronargs, pronargdefaults FROM pg_proc WHERE proname = 'run_database_report';
CALL streamstat.run_database_report();
CALL streamstat.run_database_report(budget => '1MB');
SELECT ended_by, relations > 100 AS relations FROM streamstat.database_report_summary();
CALL streamstat.run_database_report(2, '1MB', '10 s', '1GB', 1);
CALL streamstat.run_database_report(NULL, '1MB', NULL, NULL, NULL);
CALL streamstat.run_database_report(budget => NULL);
-- A margin comes first.
CALL streamstat.run_database_report('1GB');

-- Where CALL may commit, it does, and elsewhere the caller's transaction goes on:
-- so what a rollback after the call takes back is what was done in it.
CREATE PROCEDURE ca_procedure(how text, budget text)
LANGUAGE plpgsql AS $$
DECLARE
	before timestamptz := ca_started();
BEGIN
	INSERT INTO ca_log VALUES (how);
	CALL streamstat.run_database_report(budget => budget, seed => 1);
	IF ca_started() IS NOT DISTINCT FROM before THEN
		RAISE EXCEPTION 'no report';
	END IF;
END
$$;
CREATE FUNCTION ca_function(how text, budget text DEFAULT '1MB') RETURNS text
LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO ca_log VALUES (how);
	CALL streamstat.run_database_report(budget => budget);
	RETURN (SELECT ended_by IS NOT NULL FROM streamstat.database_report_summary());
END
$$;
CREATE FUNCTION ca_sql_function(how text) RETURNS boolean
LANGUAGE sql AS $$
	INSERT INTO ca_log VALUES (how);
	CALL streamstat.run_database_report(budget => '1MB');
	SELECT ended_by IS NOT NULL FROM streamstat.database_report_summary();
$$;
DO $$
BEGIN
	CALL ca_procedure('procedure in DO', '1MB');
	ROLLBACK;
	INSERT INTO ca_log VALUES ('DO');
	CALL streamstat.run_database_report(budget => '1MB');
	ROLLBACK;
END
$$;
CALL ca_procedure('procedure', '1MB');
BEGIN;
INSERT INTO ca_log VALUES ('block');
CALL streamstat.run_database_report(budget => '1MB');
SAVEPOINT s;
CALL ca_procedure('procedure in block', '1MB');
ROLLBACK TO s;
DO $$ BEGIN CALL streamstat.run_database_report(budget => '1MB'); END $$;
ROLLBACK;
DO $$
BEGIN
	BEGIN
		INSERT INTO ca_log VALUES ('exception block');
		CALL streamstat.run_database_report(budget => '1MB');
		RAISE division_by_zero;
	EXCEPTION WHEN division_by_zero THEN
		NULL;
	END;
END
$$;
BEGIN;
SELECT ca_function('function in block'), ca_sql_function('SQL function in block');
ROLLBACK;
SELECT ca_function('function'), ca_sql_function('SQL function');
SELECT how FROM ca_log;

-- Prepared statements: parameters for all that may be one
PREPARE ca_report(text, interval, float8, text, bigint) AS
	SELECT count(*) > 100 AS relations FROM streamstat.database_report($3, $1, $2, $4, $5);
EXECUTE ca_report('1MB', '10 s', 2, '1GB', 1);
EXECUTE ca_report('1MB', NULL, NULL, NULL, NULL);
PREPARE ca_one(regclass, int, bigint) AS
	SELECT (SELECT count(*) FROM streamstat.bloat($1, $2, $3)) AS bloat,
		(SELECT count(*) FROM streamstat.sample_stats($1, $2, seed => $3)) AS sample_stats,
		(SELECT count(*) FROM streamstat.table_stats($1, 'row')) AS table_stats;
EXECUTE ca_one('ca', 10, 1);
EXECUTE ca_one('ca_pkey', 10, NULL);
-- a generic plan, too
SET plan_cache_mode = force_generic_plan;
EXECUTE ca_one('ca', 10, 1);
EXECUTE ca_report('1MB', '10 s', 2, NULL, 1);
RESET plan_cache_mode;

--
-- EXECUTE alone decides: whoever owns a table has no more rights than others, and
-- whoever may execute a function may name any relation.  So it is with pgstattuple.
--
CREATE ROLE regress_streamstat_owner;
CREATE ROLE regress_streamstat_other;
ALTER TABLE ca OWNER TO regress_streamstat_owner;
GRANT SELECT ON ca TO regress_streamstat_owner;
DO $$
BEGIN
	IF have_contrib() THEN
		GRANT USAGE ON SCHEMA contrib TO PUBLIC;
		GRANT EXECUTE ON FUNCTION contrib.pgstattuple(regclass) TO regress_streamstat_other;
	END IF;
END
$$;
GRANT EXECUTE ON FUNCTION streamstat.pgstattuple(regclass), streamstat.table_stats(regclass, text) TO regress_streamstat_other;
SET ROLE regress_streamstat_owner;
SELECT call, error_of('SELECT streamstat.' || call)
	FROM unnest('{table_stats(''ca''), sample_stats(''ca''), bloat(''ca''), bloat_tree(''ca''), index_stats(''ca_pkey''),
		btree_stats(''ca_pkey''), pgstattuple(''ca''::regclass), pg_prewarm(''ca'')}'::text[]) call;
SELECT fails_as_contrib('pgstattuple(''ca''::regclass)');
SET ROLE regress_streamstat_other;
SELECT has_table_privilege('ca', 'SELECT') AS may_select,
	error_of('SELECT * FROM streamstat.table_stats(''ca'')') AS table_stats,
	error_of('SELECT * FROM streamstat.pgstattuple(''ca''::regclass)') AS pgstattuple,
	CASE WHEN have_contrib() THEN error_of('SELECT * FROM contrib.pgstattuple(''ca''::regclass)') ELSE 'no error' END AS as_contrib,
	error_of('SELECT * FROM streamstat.pg_prewarm(''ca'')') AS pg_prewarm;
RESET ROLE;

DROP OWNED BY regress_streamstat_other;
DROP TABLE ca, ca_log;
DROP ROLE regress_streamstat_owner, regress_streamstat_other;
DROP FUNCTION ca_started, ca_function, ca_sql_function;
DROP PROCEDURE ca_procedure;
