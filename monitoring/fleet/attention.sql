-- What is corrupt, and which indexes are not valid, on all servers.
SELECT r.node, r.schema_name, r.relation_name, r.parent_name, r.kind, r.bytes,
       r.corrupt_pages, r.is_valid, r.note
  FROM fleet.relations r
 WHERE r.corrupt_pages > 0 OR NOT r.is_valid
 ORDER BY r.corrupt_pages > 0 DESC NULLS LAST, r.corrupt_pages DESC NULLS LAST, r.bytes DESC, r.node;
