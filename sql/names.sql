--
-- Names: the rules that all functions, arguments, columns and views keep
--

-- The columns, each with one type and one meaning (by the comments of the script), in
-- groups: 1 what the row is about, 2 bytes, 3 pages, 4 items and tuples, 5 space,
-- 6 damage, 7 how it was measured, 8 note.
CREATE TABLE glossary (place int, type text, name text PRIMARY KEY);
INSERT INTO glossary SELECT place, type, regexp_split_to_table(names, '\s+')
FROM (VALUES
	(1, 'bigint',
		'block_no first_block last_block root_block_no buckets rank run depth request_bytes'),
	(1, 'boolean',
		'is_sum allequalimage is_direct'),
	(1, 'integer',
		'bucket version signature_bits dimensions m ef_construction entry_level lists tree_level pages_per_range pid worker workers'),
	(1, 'name',
		'datname'),
	(1, 'oid',
		'datid relid'),
	(1, 'regclass',
		'relation'),
	(1, 'text',
		'schema_name relation_name parent_name kind access_method statistic function phase
		stream io_method metric error fork tablespace_name pattern setting present_value advised_value'),
	(1, 'timestamp with time zone',
		'last_vacuum started since counted_since last_idx_scan'),
	(2, 'bigint',
		'bytes buffered_bytes dirty_bytes pinned_bytes page_cache_bytes'),
	(3, 'bigint',
		'pages leaf_pages internal_pages inner_pages nulls_pages empty_pages deleted_pages
		bucket_pages overflow_pages bitmap_pages unused_pages entry_internal_pages
		entry_leaf_pages posting_internal_pages posting_leaf_pages pending_list_pages
		pending_pages revmap_pages regular_pages all_visible_pages all_frozen_pages
		truncatable_pages list_pages nonfull_pages fsm_nonfull_pages largest_unfrozen_range_pages'),
	(4, 'bigint',
		'live_items dead_items entry_items posting_items pending_items pending_tuples
		redirect_items placeholder_items neighbor_items heap_tids ranges summarized_ranges unsummarized_ranges
		unfrozen_ranges live_tuples dead_tuples recently_dead_tuples insert_in_progress_tuples
		delete_in_progress_tuples dead_line_pointers redirect_line_pointers
		unused_line_pointers relations exact_relations sampled_relations skipped_relations
		commands index_scans
		live_tuple_bytes dead_tuple_bytes'),
	(4, 'double precision',
		'posting_percent live_tuple_percent dead_tuple_percent'),
	(5, 'bigint',
		'free_bytes entry_free_bytes posting_free_bytes pending_free_bytes inner_free_bytes
		largest_free_bytes fsm_free_bytes fsm_largest_free_bytes predicted_bytes
		predicted_bytes_low predicted_bytes_high reclaimable_bytes reclaimable_bytes_low
		reclaimable_bytes_high planned_bytes planned_bytes_low planned_bytes_high
		scratch_bytes bytes_to_read bytes_to_write grown_bytes'),
	(5, 'interval',
		'duration duration_low duration_high'),
	(5, 'text',
		'size reclaimable_size scratch_size'),
	(5, 'double precision',
		'free_percent free_percent_low free_percent_high dead_percent dead_percent_low
		dead_percent_high buffered_percent page_cache_percent usage_count reclaimable_percent avg_leaf_density
		avg_inner_density avg_density entry_leaf_density posting_leaf_density
		leaf_fragmentation free_ratio free_ratio_low free_ratio_high dead_ratio dead_ratio_low
		dead_ratio_high'),
	(6, 'bigint',
		'new_pages corrupt_pages corrupt_map_pages first_new_block first_corrupt_block
		corrupt_relations invalid_indexes is_invalid'),
	(6, 'boolean',
		'is_valid'),
	(7, 'bigint',
		'blocks_read blocks_total blocks_done blocks_requested blocks_cached blocks_hit blocks_missed
		blocks_private blocks_mapped blocks_page_cache blocks_disk reads read_waits
		reads_in_flight_max advice_calls look_ahead_max relations_done relations_total
		bytes_done bytes_total bytes_read bytes_skipped bytes_left min_bytes is_measured is_exact
		is_complete'),
	(7, 'bigint[]',
		'reads_by_size blocks_by_size'),
	(7, 'integer',
		'top_relations'),
	(7, 'double precision',
		'estimate low high value avg_read_bytes read_wait_ms reads_in_flight_avg
		avg_advice_bytes look_ahead_avg elapsed_ms bytes_per_second
		done_percent last_vacuum_timestamp_seconds started_timestamp_seconds age_seconds
		elapsed_seconds bytes_per_day reads_per_second
		reads_per_second_low reads_per_second_high latency_ms latency_ms_p99 loss_percent'),
	(7, 'text',
		'measured ended_by resume_from server_version takes_effect'),
	(7, 'timestamp with time zone',
		'expected_end'),
	(7, 'boolean',
		'deeper_pays'),
	(8, 'boolean',
		'blocks_reads blocks_writes is_online is_partial is_shown'),
	(8, 'integer',
		'bytes_rank reclaimable_rank'),
	(8, 'text',
		'foreign_key note detail command rebuilt_by lock_mode waits_for reason bar picture')) g (place, type, names);

-- Arguments, in their order
CREATE TABLE arguments (place serial, name text PRIMARY KEY, type regtype);
INSERT INTO arguments (name, type) VALUES ('relation', 'regclass'), ('relations', 'regclass[]'),
	('schema', 'regnamespace'), ('saved', 'text'), ('mode', 'text'), ('min_usage_count', 'int'),
	('buckets', 'int'), ('width', 'int'), ('run', 'bigint'),
	('first_block', 'bigint'), ('max_rows', 'bigint'), ('blocks', 'int'), ('margin', 'float8'),
	('budget', 'text'), ('max_bytes', 'text'), ('max_time', 'interval'), ('max_rate', 'text'),
	('seed', 'bigint'), ('tables', 'regclass[]'), ('schemas', 'regnamespace[]'), ('min_table_size', 'text'), ('online', 'boolean'), ('max_duration', 'interval'), ('retention', 'interval'), ('keep_since', 'timestamptz'), ('top_relations', 'int'), ('min_bytes', 'text'), ('is_partial', 'boolean'), ('note', 'text'),
	('period', 'interval'), ('stop_when_full', 'boolean'), ('details', 'boolean'), ('include_indexes', 'boolean'),
	('include_toast', 'boolean'), ('include_maps', 'boolean'), ('only_maps', 'boolean'),
	('resume_from', 'text'), ('with_toast', 'text');

CREATE VIEW members AS
	SELECT classid, objid FROM pg_depend
	WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e' AND refobjid =
		(SELECT oid FROM pg_extension WHERE extname = 'streamstat');

CREATE VIEW functions AS
	SELECT p.*, p.oid::regprocedure::text AS signature,
		proname IN ('pgstattuple', 'pgstattuple_approx', 'pgstatindex', 'pgstathashindex',
			'pgstatginindex', 'pg_relpages', 'pg_prewarm') AS drop_in
	FROM members m JOIN pg_proc p ON m.classid = 'pg_proc'::regclass AND m.objid = p.oid;

-- Tables and views, and the row types of functions
CREATE VIEW relations AS
	SELECT c.* FROM members m JOIN pg_class c
		ON m.classid = 'pg_class'::regclass AND m.objid = c.oid
	UNION ALL
	SELECT c.* FROM members m JOIN pg_type t ON m.classid = 'pg_type'::regclass AND m.objid = t.oid
		JOIN pg_class c ON t.typrelid = c.oid AND c.relkind = 'c';

CREATE VIEW columns AS
	SELECT r.oid, r.relname, a.attname::text AS name, a.attnum, format_type(a.atttypid, a.atttypmod) AS type
	FROM relations r JOIN pg_attribute a ON a.attrelid = r.oid AND a.attnum > 0 AND NOT a.attisdropped
		AND r.relkind <> 'S';

-- Arguments of our own functions
CREATE VIEW inputs AS
	SELECT f.signature, a.ord, f.proargnames[a.ord] AS name, a.type,
		CASE WHEN a.ord > f.pronargs - f.pronargdefaults THEN pg_get_function_arg_default(f.oid, a.ord::int) END AS preset
	FROM functions f, unnest(f.proargtypes::oid[]) WITH ORDINALITY a (type, ord)
	WHERE NOT drop_in;

CREATE VIEW complaints AS
	SELECT 'not in the glossary' AS complaint, relname || '.' || name AS what
		FROM columns c WHERE NOT EXISTS (SELECT FROM glossary g WHERE g.name = c.name)
	UNION ALL
	SELECT 'in the glossary, and nowhere else', name
		FROM glossary g WHERE NOT EXISTS (SELECT FROM columns c WHERE g.name = c.name)
	UNION ALL
	SELECT 'another type than in the glossary', relname || '.' || name
		FROM columns c JOIN glossary g USING (name) WHERE c.type <> g.type
	UNION ALL
	SELECT 'out of order', relname || '.' || name
		FROM (SELECT *, lag(place) OVER (PARTITION BY relname ORDER BY attnum) AS previous
			FROM columns JOIN glossary USING (name)) c WHERE place < previous
	UNION ALL
	SELECT 'ends of an interval without its number', relname || '.' || name
		FROM columns c WHERE name ~ '_(low|high)$' AND NOT EXISTS (SELECT FROM columns n
			WHERE n.relname = c.relname AND n.name = regexp_replace(c.name, '_(low|high)$', ''))
	UNION ALL
	SELECT 'has to be quoted', n
		FROM (SELECT proname FROM functions UNION SELECT relname FROM relations UNION SELECT name FROM columns
			UNION SELECT unnest(proargnames) FROM functions) q (n)
		WHERE n <> '' AND quote_ident(n) <> n
	UNION ALL
	SELECT 'not a name for an argument', signature || ': ' || coalesce(name, '')
		FROM inputs i WHERE NOT EXISTS (SELECT FROM arguments a WHERE a.name = i.name)
	UNION ALL
	SELECT 'argument of another type', signature || ': ' || name
		FROM inputs i JOIN arguments a USING (name) WHERE i.type <> a.type
	UNION ALL
	SELECT 'argument out of order', signature || ': ' || name
		FROM (SELECT *, lag(place) OVER (PARTITION BY signature ORDER BY ord) AS previous
			FROM inputs JOIN arguments USING (name)) i WHERE place < previous
	UNION ALL
	SELECT 'a relation that is not the first argument', signature
		FROM inputs WHERE (name = 'relation' OR type = 'regclass'::regtype) AND (ord > 1 OR name <> 'relation')
	UNION ALL
	SELECT 'several defaults', name || ': ' || string_agg(DISTINCT coalesce(preset, 'none'), ', ')
		FROM inputs WHERE NOT (name = 'relation' AND preset IS NOT DISTINCT FROM 'NULL::regclass')
			-- a picture is of all blocks, and in more buckets than rows for people to read
			AND (signature !~ '^streamstat.layout_' OR name NOT IN ('blocks', 'buckets'))
		GROUP BY name HAVING count(DISTINCT coalesce(preset, 'none')) > 1
	UNION ALL
	SELECT 'columns that an update cannot add to', signature
		FROM functions WHERE NOT drop_in AND proargmodes IS NOT NULL
	UNION ALL
	SELECT 'not a row type of its own', signature
		FROM functions f WHERE NOT drop_in AND prokind = 'f' AND prorettype NOT IN ('text'::regtype, 'json'::regtype, 'timestamptz'::regtype)
			AND NOT EXISTS (SELECT FROM relations r WHERE r.reltype = f.prorettype
				AND relname IN (proname || '_row', regexp_replace(proname, '^last_|_tree$|(?<=^prewarm)_.*', '') || '_row',
					regexp_replace(proname, '^cache_load$', 'prewarm') || '_row'))
	UNION ALL
	SELECT 'no ROWS', signature
		FROM functions WHERE NOT drop_in AND proretset AND prorows = 1000
	UNION ALL
	SELECT 'no COST', signature
		FROM functions f WHERE NOT drop_in AND prokind = 'f' AND procost <= 1
			AND signature IN (SELECT signature FROM inputs)
	UNION ALL
	SELECT 'could shadow a table', relname
		FROM relations WHERE relname !~ CASE relkind WHEN 'c' THEN '_row$' ELSE '^(stat|report)_[a-z]' END
	UNION ALL
	SELECT 'no comment', signature
		FROM functions WHERE obj_description(oid, 'pg_proc') IS NULL
	UNION ALL
	SELECT 'no comment', relname
		FROM relations WHERE obj_description(CASE relkind WHEN 'c' THEN reltype ELSE oid END,
			CASE relkind WHEN 'c' THEN 'pg_type' ELSE 'pg_class' END) IS NULL
	UNION ALL
	SELECT 'no comment', relname || '.' || name
		FROM columns WHERE col_description(oid, attnum) IS NULL;
SELECT * FROM complaints ORDER BY complaint, what COLLATE "C";
SELECT count(*) > 30 AS functions, count(*) FILTER (WHERE drop_in) > 8 AS drop_ins FROM functions;
SELECT count(*) > 15 AS relations FROM relations;

-- What breaks them is found.
BEGIN;
ALTER TYPE streamstat.bloat_row ADD ATTRIBUTE "dead_percent" int, ADD ATTRIBUTE pages_low bigint;
CREATE TYPE streamstat.rows AS ("Pages" bigint);
ALTER EXTENSION streamstat ADD TYPE streamstat.rows;
CREATE VIEW streamstat.metrics AS SELECT 1::bigint AS corrupt_pages, 2::bigint AS pages;
ALTER EXTENSION streamstat ADD VIEW streamstat.metrics;
CREATE FUNCTION streamstat.one(seed bigint DEFAULT 1, relation regclass DEFAULT NULL, "table" text DEFAULT NULL) RETURNS SETOF streamstat.rows
	AS '$libdir/streamstat', 'sst_bloat' LANGUAGE C;
ALTER EXTENSION streamstat ADD FUNCTION streamstat.one(bigint, regclass, text);
CREATE FUNCTION streamstat.two(budget int, OUT bytes bigint) AS '$libdir/streamstat', 'sst_bloat' LANGUAGE C;
ALTER EXTENSION streamstat ADD FUNCTION streamstat.two(int);
UPDATE glossary SET name = 'octets' WHERE name = 'bytes';
SELECT * FROM complaints WHERE what !~ '\.bytes$' OR what ~ '^hash' ORDER BY complaint COLLATE "C", what COLLATE "C";
ROLLBACK;

DROP VIEW complaints, inputs, columns, relations, functions, members;
DROP TABLE glossary, arguments;
