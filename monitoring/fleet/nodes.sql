-- Each server: what was found, what it would give back, what did not answer.
SELECT r.node, coalesce(r.error, 'ended by: ' || r.ended_by) AS outcome, r.relations, r.skipped_relations,
       pg_size_pretty(r.bytes_total) AS size, pg_size_pretty(r.bytes_read) AS read,
       pg_size_pretty(r.reclaimable_bytes) AS reclaimable, r.reclaimable_bytes,
       r.reclaimable_bytes_low, r.reclaimable_bytes_high, r.commands, r.planned_bytes
  FROM fleet.runs r
 ORDER BY r.error IS NULL, r.reclaimable_bytes DESC, r.node;
