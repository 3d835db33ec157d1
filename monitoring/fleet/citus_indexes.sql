-- Each index of a distributed table, over all nodes.  Where distributed_index is null,
-- an index exists on one shard only, as REINDEX CONCURRENTLY may leave one behind.
SELECT distributed_table, distributed_index,
       CASE WHEN distributed_index IS NULL THEN relation_name END AS only_on_shard,
       count(*) AS placements, sum(bytes) AS bytes, sum(reclaimable_bytes) AS reclaimable_bytes,
       sum(reclaimable_bytes_low) AS reclaimable_bytes_low, sum(reclaimable_bytes_high) AS reclaimable_bytes_high,
       count(*) FILTER (WHERE corrupt_pages > 0) AS corrupt, count(*) FILTER (WHERE NOT is_valid) AS invalid
  FROM fleet.citus_relations
 WHERE kind = 'index' AND schema_name <> 'pg_toast'
 GROUP BY 1, 2, 3
 ORDER BY corrupt DESC, invalid DESC, sum(reclaimable_bytes) DESC NULLS LAST;
