-- All nodes of a Citus cluster, asked by its coordinator at the same time.
-- Rights: those of ask.sql on each node; Citus connects to the nodes as the role that asks.
-- Locks: AccessShareLock, on one relation at a time, never waited for.
-- Cost: each node reads 1 GB at most, in 60 seconds, and holds a snapshot meanwhile.
INSERT INTO fleet.answers
SELECT coalesce(n.nodename || ':' || n.nodeport, 'coordinator'), now(),
       CASE WHEN a.success AND a.result <> '' THEN a.result::json
            ELSE json_build_object('error', coalesce(nullif(a.result, ''), 'no answer')) END
  FROM run_command_on_all_nodes($ask$
	WITH report AS MATERIALIZED (
		SELECT json_agg(r) AS relations
		  FROM streamstat.database_report(budget => '1GB', max_time => '60 s') r)
	SELECT json_build_object(
		'datname', current_database(),
		'relations', relations,
		'commands', (SELECT coalesce(json_agg(c), '[]') FROM streamstat.last_database_plan() c WHERE relations IS NOT NULL),
		'run', (SELECT row_to_json(s) FROM streamstat.database_report_summary() s WHERE relations IS NOT NULL))
	  FROM report $ask$) a
  LEFT JOIN pg_dist_node n USING (nodeid)
ON CONFLICT (node) DO UPDATE SET asked = EXCLUDED.asked, answer = EXCLUDED.answer;
