-- What the nodes stored last.  It reads no page of any relation.
-- Rights: those of ask_stored.sql on each node.
INSERT INTO fleet.answers
SELECT coalesce(n.nodename || ':' || n.nodeport, 'coordinator'), now(),
       CASE WHEN a.success AND a.result <> '' THEN a.result::json
            ELSE json_build_object('error', coalesce(nullif(a.result, ''), 'no answer')) END
  FROM run_command_on_all_nodes($ask$
	SELECT json_build_object(
		'datname', s.datname,
		'relations', (SELECT json_agg(r) FROM streamstat.report_run_relations r WHERE r.run = s.run),
		'commands', (SELECT coalesce(json_agg(c), '[]') FROM streamstat.report_run_commands c WHERE c.run = s.run),
		'run', s)
	  FROM streamstat.report_runs s
	 WHERE s.datname = current_database()
	 ORDER BY s.is_partial, s.run DESC LIMIT 1 $ask$) a
  LEFT JOIN pg_dist_node n USING (nodeid)
ON CONFLICT (node) DO UPDATE SET asked = EXCLUDED.asked, answer = EXCLUDED.answer;
