-- Each distributed table, with its indexes and TOAST tables, over all nodes.
-- The ends of the interval are sums of those of the shards: the true one is narrower.
WITH placements AS (
	SELECT distributed_table, shardid, node, sum(bytes) AS bytes,
	       sum(bytes) FILTER (WHERE reclaimable_bytes IS NULL) AS unknown_bytes,
	       sum(reclaimable_bytes) AS reclaimable_bytes, sum(reclaimable_bytes_low) AS low,
	       sum(reclaimable_bytes_high) AS high
	  FROM fleet.citus_relations
	 GROUP BY distributed_table, shardid, node)
SELECT distributed_table, count(DISTINCT shardid) AS shards, count(*) AS placements,
       count(DISTINCT node) AS nodes, sum(bytes) AS bytes, sum(unknown_bytes) AS unknown_bytes,
       sum(reclaimable_bytes) AS reclaimable_bytes, sum(low) AS reclaimable_bytes_low,
       sum(high) AS reclaimable_bytes_high,
       (array_agg(shardid ORDER BY reclaimable_bytes DESC NULLS LAST, shardid))[1] AS worst_shard,
       (array_agg(node ORDER BY reclaimable_bytes DESC NULLS LAST, shardid))[1] AS worst_shard_node,
       max(reclaimable_bytes) AS worst_shard_reclaimable_bytes
  FROM placements
 GROUP BY distributed_table
 ORDER BY sum(reclaimable_bytes) DESC NULLS LAST;
