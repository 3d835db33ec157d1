--
-- Every relation of pg_class: none of them ends a loop
--
SET client_min_messages = warning;

CREATE TABLE ev (i int, t text, a int[], p point) WITH (autovacuum_enabled = off);
INSERT INTO ev SELECT i, repeat('t', i), ARRAY[i], point(i, i) FROM generate_series(1, 1000) i;
DELETE FROM ev WHERE i > 500;
CREATE INDEX ev_btree ON ev (i);
CREATE INDEX ev_hash ON ev USING hash (i);
CREATE INDEX ev_gin ON ev USING gin (a);
CREATE INDEX ev_gist ON ev USING gist (p);
CREATE INDEX ev_spgist ON ev USING spgist (p);
CREATE INDEX ev_brin ON ev USING brin (i);
CREATE INDEX ev_invalid ON ev ((i + 1));
CREATE INDEX ev_unready ON ev ((i + 2));
UPDATE pg_index SET indisvalid = false WHERE indexrelid IN ('ev_invalid'::regclass, 'ev_unready'::regclass);
UPDATE pg_index SET indisready = false WHERE indexrelid = 'ev_unready'::regclass;
CREATE TABLE ev_part (i int, t text) PARTITION BY RANGE (i);
CREATE TABLE ev_part_1 PARTITION OF ev_part FOR VALUES FROM (0) TO (1000) WITH (autovacuum_enabled = off);
CREATE TABLE ev_part_2 PARTITION OF ev_part FOR VALUES FROM (1000) TO (5000) PARTITION BY RANGE (i);
CREATE TABLE ev_part_2_1 PARTITION OF ev_part_2 FOR VALUES FROM (1000) TO (5000) WITH (autovacuum_enabled = off);
CREATE INDEX ev_part_i ON ev_part (i);
CREATE TABLE ev_empty (i int) PARTITION BY RANGE (i);
INSERT INTO ev_part SELECT i, repeat('t', 100) FROM generate_series(0, 4999) i;
DELETE FROM ev_part WHERE i % 3 > 0;
CALL wait_for_horizon();
VACUUM ev_part;
CREATE VIEW ev_view AS SELECT 1 AS i;
CREATE MATERIALIZED VIEW ev_matview AS SELECT 1 AS i;
CREATE SEQUENCE ev_seq;
CREATE TYPE ev_type AS (i int);
CREATE FOREIGN DATA WRAPPER ev_wrapper;
CREATE SERVER ev_server FOREIGN DATA WRAPPER ev_wrapper;
CREATE FOREIGN TABLE ev_foreign (i int) SERVER ev_server;
CREATE TABLE ev_child () INHERITS (ev_foreign);
INSERT INTO ev_child VALUES (1);
CREATE FOREIGN TABLE ev_part_3 PARTITION OF ev_empty FOR VALUES FROM (0) TO (10) SERVER ev_server;
CREATE ACCESS METHOD ev_method TYPE TABLE HANDLER heap_tableam_handler;
CREATE TABLE ev_other (i int) USING ev_method;
CREATE TEMP TABLE ev_temp (i int PRIMARY KEY);
CREATE UNLOGGED TABLE ev_unlogged (i int PRIMARY KEY);

-- An OID that is none's stands for a relation that is dropped meanwhile.
CREATE TEMP TABLE every AS
	SELECT row_number() OVER (ORDER BY relkind, relname COLLATE "C") AS ord, oid::regclass AS relation
		FROM pg_class WHERE relname ~ '^ev_' AND relkind <> 't'
	UNION ALL SELECT 1000, 123456789;

-- What each function says of each kind that it has nothing to read of
SELECT relation, note FROM every, LATERAL (SELECT note FROM streamstat.table_stats(relation)) s
	WHERE note IS NOT NULL ORDER BY ord;
SELECT relation, note FROM every, LATERAL (SELECT note FROM streamstat.index_stats(relation)) s
	WHERE note IS NOT NULL ORDER BY ord;
SELECT relation, statistic, estimate, low, high, blocks_read, blocks_total, measured, ended_by, note
	FROM every, streamstat.sample_stats(relation)
	WHERE measured = 'skipped' ORDER BY ord;
SELECT b.* FROM every e, streamstat.bloat(e.relation) b
	WHERE measured = 'skipped' ORDER BY ord;
SELECT relation, c.* FROM every, LATERAL streamstat.corrupt_blocks(relation) c ORDER BY ord;
-- and what there is to read with a note
SELECT relation, count(*) > 3 AS read, note FROM every, streamstat.sample_stats(relation)
	WHERE note IS NOT NULL AND measured <> 'skipped' GROUP BY ord, relation, note ORDER BY ord;

-- Nothing that can be read is left out.
SELECT relkind, count(*) > 0 AS are_there, count(*) = count(t.pages) AS by_table_stats,
		count(*) = count(b.blocks_total) AS by_bloat
	FROM pg_class c, streamstat.table_stats(c.oid) t, streamstat.bloat(c.oid, 10, 1) b
	WHERE relkind IN ('r', 't', 'm', 'S') AND relam <> (SELECT oid FROM pg_am WHERE amname = 'ev_method')
	GROUP BY relkind ORDER BY relkind;

-- One row for each, whatever it is
SELECT count(*) = (SELECT count(*) FROM pg_class) AS every, count(note) > 100 AS notes,
		count(*) FILTER (WHERE (pages IS NULL) <> (note IS NOT NULL)) AS neither
	FROM pg_class c, streamstat.table_stats(c.oid);
SELECT count(*) = (SELECT count(*) FROM pg_class) AS every, count(note) > 100 AS notes,
		count(*) FILTER (WHERE pages IS NULL AND note IS NULL) AS neither
	FROM pg_class c, streamstat.index_stats(c.oid);
SELECT count(DISTINCT c.oid) = (SELECT count(*) FROM pg_class) AS every, count(note) > 50 AS notes,
		count(*) FILTER (WHERE statistic IS NULL AND note IS NULL) AS neither
	FROM pg_class c, streamstat.sample_stats(c.oid, 10, seed => 1);
SELECT count(*) = (SELECT count(*) FROM pg_class) AS every, count(note) > 50 AS notes,
		count(*) FILTER (WHERE bytes IS NULL AND note IS NULL) AS neither
	FROM pg_class c, streamstat.bloat(c.oid, 10, 1);
SELECT (SELECT count(*) FROM pg_class c, streamstat.table_stats_tree(c.oid, 'row')) > 300 AS tables,
	(SELECT count(*) FROM pg_class c, streamstat.index_stats_tree(c.oid)) > 300 AS indexes,
	(SELECT count(*) FROM pg_class c, streamstat.bloat_tree(c.oid, 10, 1, 'sum')) > 300 AS bloat;

-- What is wrong with the call is an error, whatever the relation.
SELECT call, error_of('SELECT * FROM streamstat.' || call)
	FROM unnest(ARRAY['table_stats(''ev_view'', ''all'')', 'sample_stats(''ev_view'', 0)',
		'bloat(''ev_view'', 0)', 'bloat(''ev_part'', with_toast => ''all'')', 'bloat_tree(NULL)',
		'bloat_tree(''ev_part'', NULL)', 'bloat_tree(''ev_part'', 0)',
		'bloat_tree(''ev_part'', with_toast => ''all'')', 'index_stats_tree(NULL)']) call;

-- Trees: rows of the partitions, and their sum
SELECT relation, is_sum, bytes, predicted_bytes, reclaimable_bytes, measured, note
	FROM streamstat.bloat_tree('ev_part', seed => 1);
SELECT relation, is_sum, bytes > 0 AS bytes, reclaimable_bytes > 0 AS reclaimable, measured, note
	FROM streamstat.bloat_tree('ev_part_i', seed => 1);
CREATE VIEW sums AS
	SELECT jsonb_object_agg(key, value) AS found
	FROM (SELECT is_sum, key, sum(value::text::numeric) AS value
		FROM (SELECT is_sum, to_jsonb(b) - '{relation, is_sum, measured, note, reclaimable_percent}'::text[] AS row
			FROM unnest('{ev_part, ev_part_i}'::regclass[]) r, streamstat.bloat_tree(r, 10, 1, 'row') b) r, jsonb_each(row)
		GROUP BY is_sum, key) s
	GROUP BY is_sum;
SELECT count(*) AS ways, count(DISTINCT found) AS results FROM sums;
-- A partition has the same row by itself.
SELECT count(*) AS relations, bool_and(to_jsonb(t) = to_jsonb(b)) AS same
	FROM unnest('{ev_part, ev_part_i}'::regclass[]) r, streamstat.bloat_tree(r, 10, 1) t, streamstat.bloat(t.relation, 10, 1) b
	WHERE NOT t.is_sum;
-- without others below: the row of bloat
SELECT count(*) AS relations, bool_and(to_jsonb(t) IS NOT DISTINCT FROM to_jsonb(b)) AS same
	FROM every e, streamstat.bloat_tree(e.relation, 10, 1) t, streamstat.bloat(e.relation, 10, 1) b
	WHERE e.relation NOT IN ('ev_foreign'::regclass, 'ev_part', 'ev_part_2', 'ev_empty', 'ev_part_i')
		AND e.relation::text <> 'ev_part_2_i_idx';
-- with others that cannot be read, or with none
SELECT relation, is_sum, bytes, reclaimable_bytes, measured, note FROM streamstat.bloat_tree('ev_foreign');
SELECT relation, is_sum, bytes, reclaimable_bytes, measured, note FROM streamstat.bloat_tree('ev_empty');
SELECT relation, is_sum, pages, note FROM streamstat.table_stats_tree('ev_foreign');
SELECT relation, is_sum, note FROM streamstat.table_stats_tree('ev_part_i');
SELECT relation, is_sum, note FROM streamstat.index_stats_tree('ev_part');
SELECT relation, is_sum, note FROM streamstat.index_stats_tree('ev_btree');
SELECT relation, is_sum, note FROM streamstat.index_stats_tree('ev');
SELECT relation, is_sum, note FROM streamstat.table_stats_tree(123456789);
-- An index that is not valid has no part in the sum of others.
CREATE TABLE ev_mixed (i int, p point) PARTITION BY RANGE (i);
CREATE TABLE ev_mixed_1 PARTITION OF ev_mixed FOR VALUES FROM (0) TO (10000) WITH (autovacuum_enabled = off);
CREATE TABLE ev_mixed_2 PARTITION OF ev_mixed FOR VALUES FROM (10000) TO (20000) WITH (autovacuum_enabled = off);
INSERT INTO ev_mixed SELECT i, point(i, i) FROM generate_series(1, 19999) i;
CREATE INDEX ev_mixed_p ON ev_mixed USING gist (p);
UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'ev_mixed_2_p_idx'::regclass;
CREATE VIEW ev_mixed_rows AS
	SELECT *, sum(bytes) FILTER (WHERE NOT is_sum) OVER () AS all_bytes,
		sum(coalesce(predicted_bytes, bytes)) FILTER (WHERE NOT is_sum) OVER () AS all_predicted_bytes
	FROM streamstat.bloat_tree('ev_mixed_p');
SELECT relation, is_sum, predicted_bytes IS NULL AS unpredicted, bytes = all_bytes AS bytes,
		predicted_bytes = all_predicted_bytes AS predicted_bytes, note
	FROM ev_mixed_rows;
UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'ev_mixed_1_p_idx'::regclass;
SELECT relation, is_sum, predicted_bytes, reclaimable_bytes, note FROM ev_mixed_rows WHERE is_sum;

-- An index that is not valid has one description everywhere.
SELECT relation, said, string_agg(who, ', ' ORDER BY who COLLATE "C") AS by
	FROM unnest('{ev_invalid, ev_unready}'::regclass[]) r (relation), LATERAL (
		SELECT 'index_stats', note FROM streamstat.index_stats(relation)
		UNION ALL SELECT 'index_stats_tree', note FROM streamstat.index_stats_tree(relation)
		UNION ALL SELECT DISTINCT 'sample_stats', note FROM streamstat.sample_stats(relation)
		UNION ALL SELECT 'bloat', note FROM streamstat.bloat(relation)
		UNION ALL SELECT 'bloat_tree', note FROM streamstat.bloat_tree(relation)
		UNION ALL SELECT 'database_report', note FROM streamstat.database_report() d WHERE d.relation_name = r.relation::text
		UNION ALL SELECT 'last_database_report', note FROM streamstat.last_database_report() d WHERE d.relation_name = r.relation::text
		UNION ALL SELECT f, error_of(format('SELECT streamstat.%s(%L)', f, relation))
			FROM unnest('{btree_stats, free_space_map_summary, layout_map, pgstatindex}'::text[]) f
	) s (who, said)
	GROUP BY relation, said ORDER BY relation::text, said COLLATE "C";

-- Functions of one kind hint at the function for the relation.
SELECT relation, function, error_of(format('SELECT streamstat.%s(%L)', function, relation))
	FROM unnest('{ev, ev_hash, ev_part_i, ev_view, ev_seq}'::text[]) WITH ORDINALITY r (relation, ord),
		unnest('{btree_stats, visibility_map_summary, layout_map}'::text[]) function
	WHERE (relation, function) NOT IN (('ev', 'visibility_map_summary'), ('ev', 'layout_map'),
		('ev_hash', 'layout_map'), ('ev_seq', 'layout_map'))
	ORDER BY ord, function;
SELECT relation, substring(error_of(format('SELECT streamstat.brin_stats(%L)', relation)) FROM 'HINT.*')
	FROM unnest('{ev_btree, ev_hash, ev_gin, ev_gist, ev_spgist}'::text[]) relation;

DROP VIEW sums, ev_mixed_rows, ev_view;
DROP MATERIALIZED VIEW ev_matview;
DROP TABLE every, ev, ev_part, ev_empty, ev_mixed, ev_other, ev_temp, ev_unlogged;
DROP SEQUENCE ev_seq;
DROP TYPE ev_type;
DROP ACCESS METHOD ev_method;
DROP FOREIGN DATA WRAPPER ev_wrapper CASCADE;
