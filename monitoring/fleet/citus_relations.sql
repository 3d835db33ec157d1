-- Which distributed table, and which of its indexes, each relation of a node belongs
-- to: once, on the coordinator, after answers.sql.  shard_name() is Citus's: a name
-- that would become too long has a hash in it.
CREATE VIEW fleet.citus_placements AS
	SELECT s.logicalrelid AS distributed_table, s.shardid, n.nodename || ':' || n.nodeport AS node,
	       format('%s.%I', c.relnamespace::regnamespace, name[cardinality(name)]) AS shard
	  FROM pg_dist_shard s
	  JOIN pg_dist_placement p USING (shardid)
	  JOIN pg_dist_node n USING (groupid)
	  JOIN pg_class c ON c.oid = s.logicalrelid,
	       parse_ident(shard_name(s.logicalrelid, s.shardid)) AS name;

CREATE VIEW fleet.citus_relations AS
	WITH relations AS (
		-- the table of a TOAST table's index is that of the TOAST table
		SELECT r.*, coalesce(t.parent_name, r.parent_name) AS table_name
		  FROM fleet.relations r
		  LEFT JOIN fleet.relations t ON r.kind = 'index' AND t.kind = 'toast table' AND t.node = r.node
		   AND r.parent_name = format('%I.%I', t.schema_name, t.relation_name)),
	indexes AS (
		SELECT p.node, p.shardid, i.indexrelid::regclass AS distributed_index, name[cardinality(name)] AS index_name
		  FROM fleet.citus_placements p
		  JOIN pg_index i ON i.indrelid = p.distributed_table,
		       parse_ident(shard_name(i.indexrelid, p.shardid)) AS name)
	SELECT p.distributed_table, p.shardid, i.distributed_index, r.*
	  FROM fleet.citus_placements p
	  JOIN relations r ON r.node = p.node
	   AND p.shard = CASE WHEN r.kind IN ('index', 'toast table') THEN r.table_name
	                      ELSE format('%I.%I', r.schema_name, r.relation_name) END
	  LEFT JOIN indexes i ON r.kind = 'index' AND i.node = r.node AND i.shardid = p.shardid
	   AND i.index_name = r.relation_name;
