-- One server's report and plan, as a record of CSV: node, time, answer.
-- Rights: EXECUTE on the three functions, as members of pg_monitor have.
-- Locks: AccessShareLock, on one relation at a time, never waited for.
-- Cost: reads 1 GB at most, in 60 seconds, and holds a snapshot meanwhile.
COPY (
	WITH report AS MATERIALIZED (
		SELECT json_agg(r) AS relations
		  FROM streamstat.database_report(budget => '1GB', max_time => '60 s') r)
	SELECT :'node', now(), json_build_object(
		'datname', current_database(),
		'relations', relations,
		'commands', (SELECT coalesce(json_agg(c), '[]') FROM streamstat.last_database_plan() c WHERE relations IS NOT NULL),
		'run', (SELECT row_to_json(s) FROM streamstat.database_report_summary() s WHERE relations IS NOT NULL))
	  FROM report
) TO STDOUT (FORMAT csv);
