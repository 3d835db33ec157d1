-- What CALL streamstat.collect() stored last in this database, as a record of CSV:
-- node, time, answer.  It reads no page of any relation, and works on a standby.
-- Rights: SELECT on the three tables, as members of pg_monitor have.
COPY (
	SELECT :'node', now(), json_build_object(
		'datname', s.datname,
		'relations', (SELECT json_agg(r) FROM streamstat.report_run_relations r WHERE r.run = s.run),
		'commands', (SELECT coalesce(json_agg(c), '[]') FROM streamstat.report_run_commands c WHERE c.run = s.run),
		'run', s)
	  FROM streamstat.report_runs s
	 WHERE s.datname = current_database()
	 ORDER BY s.is_partial, s.run DESC LIMIT 1
) TO STDOUT (FORMAT csv);
