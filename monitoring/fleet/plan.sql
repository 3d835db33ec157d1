-- The commands of all servers in one order: as in a server's own plan, first those that
-- rebuild something corrupt, then those for an index that is not valid, then what runs online,
-- and what needs downtime; of these, what gives back most.
WITH rebuilt AS (
	SELECT node, coalesce(rebuilt_by, format('%I.%I', schema_name, relation_name)) AS name,
	       coalesce(bool_or(corrupt_pages > 0), false) AS is_corrupt,
	       coalesce(bool_or(NOT is_valid) FILTER (WHERE rebuilt_by IS NULL), false) AS is_invalid
	  FROM fleet.relations
	 GROUP BY 1, 2)
SELECT c.node, c.command, c.lock_mode, c.blocks_reads, c.blocks_writes, pg_size_pretty(c.scratch_bytes) AS scratch,
       pg_size_pretty(c.reclaimable_bytes) AS reclaimable, c.reclaimable_bytes,
       c.reclaimable_bytes_low, c.reclaimable_bytes_high, c.reason
  FROM fleet.commands c
  LEFT JOIN rebuilt r ON r.node = c.node AND r.name = format('%I.%I', c.schema_name, c.relation_name)
 ORDER BY r.is_corrupt DESC NULLS LAST, r.is_invalid DESC NULLS LAST, c.is_online DESC NULLS LAST,
          c.reclaimable_bytes DESC NULLS LAST, c.node, c.rank;
