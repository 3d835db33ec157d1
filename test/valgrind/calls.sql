-- Every function on relations of every kind, for tools/valgrind: with what it
-- makes sense for, and what it refuses.  Errors are welcome.  The variable functions
-- names a file of calls.

\set VERBOSITY terse
CREATE TEMP TABLE temporary AS SELECT i FROM generate_series(1, 2000) i;
CREATE INDEX temporary_i ON temporary (i);

-- what tools/valgrind looks for: io_uring was used, and workers
SELECT FROM streamstat.btree_stats('l_dup');
SELECT 'read by ' || coalesce(io_method, stream) AS said FROM streamstat.stream_stats() \gset
\warn :said
SELECT FROM streamstat.table_stats('big');
SELECT 'with workers: ' || workers AS said FROM streamstat.stream_stats() \gset
\warn :said

CREATE TEMP TABLE relation AS
	SELECT c.oid::regclass AS name, relkind, amname
	FROM pg_class c LEFT JOIN pg_am a ON a.oid = relam
	WHERE c.oid >= 16384 AND relkind IN ('r', 'm', 'p', 'i', 'I', 'S', 'v')
			AND relname <> 'big' AND relnamespace = ANY (ARRAY['public'::regnamespace, pg_my_temp_schema()])
		OR c.oid = ANY (ARRAY['pg_class'::regclass, 'pg_class_oid_index'::regclass,
			(SELECT reltoastrelid FROM pg_class WHERE oid = 't'::regclass)]);

-- with the arguments that have no default: functions of one relation, with those
-- of their kind and some of others
SELECT format('SELECT * FROM streamstat.%I(%L)', proname, name)
FROM pg_proc, relation
WHERE pronamespace = 'streamstat'::regnamespace AND pronargs - pronargdefaults = 1
	AND proargtypes[0] = 'regclass'::regtype
	AND (split_part(proname, '_', 1) NOT IN (SELECT pg_am.amname FROM pg_am)
		OR split_part(proname, '_', 1) = amname OR name::text IN ('t', 't_brin', 'view', 'part'))
ORDER BY 1 \gexec
SELECT format('SELECT * FROM streamstat.%I(%L::text)', proname, name)
FROM pg_proc, unnest(ARRAY['t', 't_int', 't_hash', 'nothing', '']) AS name
WHERE pronamespace = 'streamstat'::regnamespace
	AND pronargs = 1 AND proargtypes[0] = 'text'::regtype
ORDER BY 1 \gexec
SELECT * FROM streamstat.btree_stats(0);
SELECT * FROM streamstat.table_stats(4000000000);

-- as the other tests call it (t/lib/Functions.pm)
\i :functions

-- with other arguments
SELECT format('SELECT * FROM streamstat.%s', replace(call, '$', quote_literal(name)))
FROM relation, unnest(ARRAY['sample_stats($, 20, seed => 1)', 'sample_stats($, 10, 5, ''1 s'')',
	'bloat($, 10, 1, ''sum'')', 'bloat($, 20, with_toast => ''no'')', 'layout_map($, 3)',
	'bloat_tree($, 10, 1, ''row'')', 'table_stats($, ''rows'')', 'table_stats_tree($, ''sum'')', 'pg_prewarm($, ''read'')',
	'pg_prewarm($, ''prefetch'', ''fsm'')', 'pg_prewarm($, ''buffer'', ''vm'')',
	'pg_prewarm($, ''buffer'', ''main'', 1, 2)']) call
WHERE relkind IN ('r', 'm', 'i', 't')
\gexec

-- in a statement that goes on, row by row, after an error, and with less of everything
SELECT format('SELECT * FROM streamstat.%s', call)
FROM unnest(ARRAY['stream_stats()', 'stream_stats_workers()', 'stat_get_progress()', 'stat_progress', 'report_metrics', 'report_advice',
	'database_report(budget => ''300 kB'', seed => 1)', 'database_report(budget => ''1 GB'', max_time => ''2 s'', max_rate => ''10 MB'')',
	'database_report(budget => ''x'')', 'last_database_report()', 'last_database_plan()', 'report_drop_candidates', 'database_report_summary()']) call
\gexec
CALL streamstat.run_database_report(budget => '2 MB', max_time => '3 s', seed => 3);
CALL streamstat.collect(budget => '2 MB', max_time => '3 s', seed => 3);
TABLE streamstat.report_metrics;
TABLE streamstat.report_run_metrics;
SELECT * FROM streamstat.report_history('t');
SELECT * FROM streamstat.last_database_report();
SELECT * FROM streamstat.database_report_summary();
BEGIN;
DECLARE c CURSOR FOR SELECT streamstat.layout_map('l', 7), streamstat.sample_stats('l', 30, seed => 1);
FETCH 2 FROM c;
SAVEPOINT s;
SELECT * FROM streamstat.gin_stats('l_int');
ROLLBACK TO s;
FETCH 2 FROM c;
SELECT * FROM streamstat.table_stats('part_1');
ROLLBACK;
DO $$
DECLARE
	r record;
BEGIN
	FOR r IN SELECT name FROM relation LOOP
		BEGIN
			PERFORM streamstat.index_stats(r.name), streamstat.pgstatindex(r.name);
		EXCEPTION WHEN OTHERS THEN
			PERFORM streamstat.sample_stats(r.name, 5, seed => 1);
		END;
	END LOOP;
EXCEPTION WHEN OTHERS THEN
END
$$;
SET streamstat.io_concurrency = 1;
SET streamstat.io_combine_limit = 1;
SELECT * FROM streamstat.table_stats('l');
SELECT * FROM streamstat.btree_stats('l_int');
SET streamstat.io_concurrency = 1000;
SET streamstat.io_combine_limit = 32;
SELECT * FROM streamstat.table_stats('l');
SELECT * FROM streamstat.btree_stats('l_int');
SET streamstat.max_rate = '2 MB';
SELECT * FROM streamstat.table_stats('l');
RESET streamstat.max_rate;
RESET streamstat.io_concurrency;
RESET streamstat.io_combine_limit;

-- with parallel workers
SELECT * FROM streamstat.table_stats('big');
SELECT * FROM streamstat.pgstattuple('big'::regclass);
SELECT * FROM streamstat.pg_prewarm('big', 'read');

-- canceled, somewhere
SELECT format('SET statement_timeout = %s', 2 * n * n),
	format('SELECT * FROM streamstat.%s', (ARRAY['table_stats(''big'')', 'sample_stats(''big'', 3000, seed => 1)', 'bloat(''l_gin'')',
		'bloat(''l_int'')', 'database_report()', 'pg_prewarm(''big'')', 'btree_stats(''l_dup'')',
		'layout_map(''big'')', 'pgstattuple_approx(''t'')'])[1 + m]),
	'SELECT * FROM streamstat.stream_stats()'
FROM generate_series(1, 6) n, generate_series(0, 8) m
\gexec
RESET statement_timeout;
