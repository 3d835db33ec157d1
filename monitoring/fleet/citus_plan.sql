-- The commands of all nodes in the order of plan.sql, with the distributed table.  A command
-- runs on its node: there by psql, or from the coordinator by the query in run_on_node.
-- That waits for the end of the command, and works as long as it is SQL (not pg_repack).
WITH rebuilt AS (
	SELECT node, coalesce(rebuilt_by, format('%I.%I', schema_name, relation_name)) AS name,
	       coalesce(bool_or(corrupt_pages > 0), false) AS is_corrupt,
	       coalesce(bool_or(NOT is_valid) FILTER (WHERE rebuilt_by IS NULL), false) AS is_invalid
	  FROM fleet.relations
	 GROUP BY 1, 2)
SELECT t.distributed_table, c.node, c.command, c.lock_mode, c.blocks_reads, c.blocks_writes,
       pg_size_pretty(c.scratch_bytes) AS scratch, c.reclaimable_bytes,
       c.reclaimable_bytes_low, c.reclaimable_bytes_high, c.reason,
       format('SELECT * FROM master_run_on_worker(ARRAY[%L], ARRAY[%s], ARRAY[%L], false)',
              n.nodename, n.nodeport, c.command) AS run_on_node
  FROM fleet.commands c
  LEFT JOIN pg_dist_node n ON n.nodename || ':' || n.nodeport = c.node
  LEFT JOIN fleet.citus_relations t ON t.node = c.node AND t.schema_name = c.schema_name
   AND t.relation_name = c.relation_name
  LEFT JOIN rebuilt r ON r.node = c.node AND r.name = format('%I.%I', c.schema_name, c.relation_name)
 ORDER BY r.is_corrupt DESC NULLS LAST, r.is_invalid DESC NULLS LAST, c.is_online DESC NULLS LAST,
          c.reclaimable_bytes DESC NULLS LAST, c.node, c.rank;
