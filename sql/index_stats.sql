--
-- index_stats: the same columns for every access method
--
SET client_min_messages = warning;

CREATE TABLE i (n int, t text, a int[], p point) WITH (autovacuum_enabled = off);
INSERT INTO i SELECT g * 7919 % 10007, 'text ' || g, ARRAY[g, g % 10], point(g % 100, g / 100)
	FROM generate_series(1, 10006) g;
CREATE INDEX i_btree ON i (n);
CREATE INDEX i_hash ON i USING hash (n);
CREATE INDEX i_gin ON i USING gin (a);
CREATE INDEX i_gist ON i USING gist (p);
CREATE INDEX i_spgist ON i USING spgist (p);
CREATE INDEX i_brin ON i USING brin (n) WITH (pages_per_range = 2);
CREATE TEMP TABLE i_temp (n int PRIMARY KEY);
DELETE FROM i WHERE n BETWEEN 2000 AND 6000;
CALL wait_for_horizon();
VACUUM i;

-- Every page is of one class, the metapage of none.
CREATE VIEW i_stats AS
	SELECT c.relname, s.*, s.leaf_pages + s.internal_pages + s.deleted_pages +
		s.new_pages + s.corrupt_pages + (s.access_method <> 'gist')::int AS classified
	FROM pg_index x JOIN pg_class c ON c.oid = x.indexrelid, streamstat.index_stats(c.oid) s
	WHERE x.indrelid = 'i'::regclass;
SELECT relation, access_method, bytes = pg_relation_size(relation) AS size,
		pages = blocks(relation) AS pages, classified = pages AS classified,
		leaf_pages > 0 AS leaf, corrupt_pages,
		avg_leaf_density BETWEEN 1 AND 100 AS density, leaf_fragmentation IS NULL AS no_order,
		free_bytes < bytes AS free, note
	FROM i_stats ORDER BY access_method COLLATE "C";

-- They are the numbers of the functions for one access method.
SELECT difference(to_jsonb(i), to_jsonb(b) || jsonb_build_object(
		'deleted_pages', b.empty_pages + b.deleted_pages)) AS btree
	FROM streamstat.index_stats('i_btree') i, streamstat.btree_stats('i_btree') b;
SELECT i.leaf_pages = h.bucket_pages + h.overflow_pages AS leaf,
		i.internal_pages = h.bitmap_pages AS internal,
		i.deleted_pages + i.new_pages = h.unused_pages AS unused,
		i.free_bytes = h.free_bytes AND h.unused_pages > 0 AS free,
		i.free_bytes = (SELECT round(estimate) FROM streamstat.sample_stats('i_hash', 100000)
			WHERE statistic = 'free_bytes') AS sample
	FROM streamstat.index_stats('i_hash') i, streamstat.hash_stats('i_hash') h;
SELECT difference(to_jsonb(i) - 'avg_leaf_density', to_jsonb(g) || jsonb_build_object(
		'leaf_pages', g.entry_leaf_pages + g.posting_leaf_pages + g.pending_list_pages,
		'internal_pages', g.entry_internal_pages + g.posting_internal_pages)) AS gin,
		abs(i.leaf_fragmentation - g.leaf_fragmentation) < 0.01 AS fragmentation
	FROM streamstat.index_stats('i_gin') i, streamstat.gin_stats('i_gin') g;
SELECT difference(to_jsonb(i), to_jsonb(g)) AS gist
	FROM streamstat.index_stats('i_gist') i, streamstat.gist_stats('i_gist') g;
SELECT difference(to_jsonb(i), to_jsonb(s) || jsonb_build_object('internal_pages', s.inner_pages)) AS spgist
	FROM streamstat.index_stats('i_spgist') i, streamstat.spgist_stats('i_spgist') s;
SELECT difference(to_jsonb(i), to_jsonb(b) || jsonb_build_object('leaf_pages', b.regular_pages, 'avg_leaf_density', b.avg_density,
		'internal_pages', b.revmap_pages)) AS brin
	FROM streamstat.index_stats('i_brin') i, streamstat.brin_stats('i_brin') b;

-- Whoever loops over all indexes is not stopped by one of them.
\set VERBOSITY terse
CREATE UNIQUE INDEX CONCURRENTLY i_incomplete ON i ((n / 2));
-- as whoever builds it may still write it past the buffers
SELECT streamstat.pg_prewarm('i_incomplete');
SELECT * FROM streamstat.layout_map('i_incomplete');
\set VERBOSITY default
CREATE INDEX i_invalid ON i ((n / 2));
UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'i_invalid'::regclass;
CREATE TABLE i_part (n int, m int) PARTITION BY RANGE (n);
CREATE TABLE i_part_1 PARTITION OF i_part FOR VALUES FROM (0) TO (1000);
CREATE TABLE i_part_2 PARTITION OF i_part FOR VALUES FROM (1000) TO (5000) PARTITION BY RANGE (n);
CREATE TABLE i_part_2_1 PARTITION OF i_part_2 FOR VALUES FROM (1000) TO (3000);
CREATE TABLE i_part_2_2 PARTITION OF i_part_2 FOR VALUES FROM (3000) TO (5000);
CREATE INDEX i_part_n ON i_part (n);
INSERT INTO i_part SELECT g, g FROM generate_series(0, 4999) g;
SELECT relation, leaf_pages IS NULL AS unread, note FROM unnest('{i_invalid, i_incomplete}'::regclass[]) i, streamstat.index_stats(i);
SELECT relation, access_method, pages, note FROM streamstat.index_stats('i_part_n');
SELECT relation, access_method, pages, note FROM streamstat.index_stats(123456789);
SELECT relation, leaf_pages, note FROM streamstat.index_stats('i_temp_pkey');
SELECT count(*) > 100 AS many, count(*) = (SELECT count(*) FROM pg_class WHERE relkind IN ('i', 'I')) AS all,
		sum(corrupt_pages) AS corrupt,
		bool_and((pages IS NULL) = (relkind = 'I' OR relname ~ 'incomplete')) AS read,
		bool_and((note IS NULL) = (relkind = 'i' AND relname !~ 'invalid|incomplete')) AS notes
	FROM pg_class c, streamstat.index_stats(c.oid) s WHERE c.relkind IN ('i', 'I');

-- An access method that is not the server's own
-- the name is not only pgvector's
CREATE ACCESS METHOD hnsw TYPE INDEX HANDLER gisthandler;
CREATE OPERATOR CLASS other_ops DEFAULT FOR TYPE box USING hnsw AS
	OPERATOR 3 &&, FUNCTION 1 gist_box_consistent(internal, box, int2, oid, internal),
	FUNCTION 2 gist_box_union(internal, internal), FUNCTION 5 gist_box_penalty(internal, internal, internal),
	FUNCTION 6 gist_box_picksplit(internal, internal), FUNCTION 7 gist_box_same(box, box, internal);
CREATE INDEX i_other ON i USING hnsw (box(point(n, n)));
SELECT relation, access_method, pages = blocks(relation) AS pages,
		leaf_pages, internal_pages, deleted_pages, new_pages, corrupt_pages,
		free_bytes > 0 AS free, avg_leaf_density, note
	FROM streamstat.index_stats('i_other');
SELECT statistic, CASE WHEN statistic LIKE '%pages' THEN estimate::text
		ELSE (estimate > 0)::text END AS estimate, measured
	FROM streamstat.sample_stats('i_other');
-- Its size after a rebuild is not known, nor is a sum of such sizes.
CREATE INDEX i_part_other ON i_part USING hnsw (box(point(n, n)));
SELECT is_sum, count(*), count(predicted_bytes) AS predicted, bool_and(bytes > 0) AS bytes, min(note) AS note
	FROM streamstat.bloat_tree('i_part_other') GROUP BY is_sum ORDER BY is_sum;
DROP INDEX i_other, i_part_other;

-- Partitioned: a row for each, and their sum
SELECT relation, is_sum, access_method, note, pages = CASE WHEN is_sum
		THEN (SELECT sum(blocks(relid)) FROM pg_partition_tree('i_part_n') WHERE isleaf)
		ELSE blocks(relation) END AS pages
	FROM streamstat.index_stats_tree('i_part_n');
CREATE FUNCTION sums(stats jsonb) RETURNS jsonb
LANGUAGE sql BEGIN ATOMIC
	SELECT stats - '{relation, is_sum, access_method, avg_leaf_density, leaf_fragmentation, note,
		first_new_block, first_corrupt_block}'::text[];
END;
SELECT bool_and(value::int8 = sum) AS sums, count(*)
	FROM (SELECT key, sum(value::int8) AS sum
			FROM pg_partition_tree('i_part_n'), streamstat.index_stats(relid) s,
				jsonb_each_text(sums(to_jsonb(s)))
			WHERE isleaf GROUP BY key) leaves
		JOIN jsonb_each_text((SELECT sums(to_jsonb(s)) FROM streamstat.index_stats_tree('i_part_n') s
			WHERE is_sum)) USING (key);
-- An index that is not partitioned has its row only.
SELECT relation, is_sum, pages, leaf_pages FROM streamstat.index_stats_tree('i_temp_pkey');

-- Not indexes
SELECT relation, access_method, pages, note FROM streamstat.index_stats('i');
SELECT error_of('SELECT streamstat.index_stats(NULL)');
SELECT relation, access_method, pages, note FROM streamstat.index_stats_tree('i_part');
SELECT error_of('SELECT streamstat.index_stats_tree(NULL)');
SELECT relation, access_method, pages, note FROM streamstat.index_stats_tree(123456789);
