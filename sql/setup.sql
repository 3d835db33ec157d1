--
-- What the other tests share.
--
-- Contrib's functions, where the server has them, are what ours are compared
-- with.  A server without contrib has the numbers that contrib gave for the
-- same data on version 15: the table "recorded".  Either way the output is
-- the same: comparisons print whether, and if not where, the two differ.
--
CREATE EXTENSION streamstat;

-- Compiling the comparisons below takes longer than all that they do.
DO $$
BEGIN
	EXECUTE format('ALTER DATABASE %I SET jit = off', current_database());
	EXECUTE format('ALTER DATABASE %I SET work_mem = ''64MB''', current_database());
END
$$;

CREATE SCHEMA contrib;
DO $$
DECLARE
	name text;
BEGIN
	FOR name IN SELECT a.name FROM pg_available_extensions a
		WHERE a.name IN ('pageinspect', 'pg_buffercache', 'pg_freespacemap',
			'pg_prewarm', 'pg_visibility', 'pg_walinspect', 'pgstattuple')
	LOOP
		EXECUTE format('CREATE EXTENSION %I SCHEMA contrib', name);
	END LOOP;
END
$$;

CREATE FUNCTION have_contrib() RETURNS boolean
LANGUAGE sql STABLE
BEGIN ATOMIC
	SELECT count(*) = 3 FROM pg_extension
	WHERE extname IN ('pageinspect', 'pg_prewarm', 'pgstattuple');
END;

CREATE FUNCTION server_version() RETURNS int
LANGUAGE sql STABLE
BEGIN ATOMIC
	SELECT current_setting('server_version_num')::int / 10000;
END;

CREATE FUNCTION blocks(relation regclass) RETURNS int8
LANGUAGE sql
BEGIN ATOMIC
	SELECT pg_relation_size(relation) / current_setting('block_size')::int;
END;

--
-- Other sessions
--

-- Wait until VACUUM, and all who look at dead rows from now on, can do without what
-- was deleted before this: a transaction of any database that is older, and a
-- snapshot of this one, has to end first.  On a quiet server this takes no time.
-- If one does not end, a warning names it, and later tests wait for 5 seconds.
--
-- Then write all dirty pages.  VACUUM and pruning pass over a page that another process
-- has pinned, and the checkpointer and the background writer pin dirty pages only.  So a
-- test calls this right before a VACUUM, or a statement that prunes, if it relies on its
-- effect on every page.
--
-- Pages that an index has deleted wait for snapshots of all databases, before 16.
--
-- It has to be true twice, with a COMMIT between: at the first time our own snapshot
-- can be older.  The server remembers what it has kept for others, as long as the oldest
-- transaction is the same; table_stats() has that computed anew.
CREATE TABLE held_horizons (all_databases boolean, since timestamptz DEFAULT clock_timestamp());
CREATE PROCEDURE wait_for_horizon(all_databases boolean DEFAULT false)
LANGUAGE plpgsql AS $$
DECLARE
	-- one that is newer than all there have been, as a deleted page of an index wants it
	needed bigint := pg_current_xact_id()::text::bigint + 1;
	until timestamptz := clock_timestamp() +
		CASE WHEN EXISTS (SELECT FROM held_horizons h WHERE h.all_databases = wait_for_horizon.all_databases)
			THEN interval '5 seconds' ELSE interval '2 minutes' END;
	passed int := 0;
	holder text;
BEGIN
	LOOP
		COMMIT;
		SELECT min(who) INTO holder FROM (
			SELECT 'a transaction of any database'
				WHERE pg_snapshot_xmin(pg_current_snapshot())::text::bigint < needed
			UNION ALL
			SELECT format('%s %s', backend_type, pid) FROM pg_stat_activity
				WHERE age(backend_xmin) > age((needed % 4294967296)::text::xid) AND pid <> pg_backend_pid()
					AND (all_databases OR datname = current_database() OR datname IS NULL)
			UNION ALL
			SELECT format('replication slot %s', slot_name) FROM pg_replication_slots
				WHERE age(xmin) > age((needed % 4294967296)::text::xid)) h(who);
		passed := CASE WHEN holder IS NULL THEN passed + 1 ELSE 0 END;
		IF passed = 2 THEN
			PERFORM streamstat.table_stats('held_horizons');
			EXIT;
		END IF;
		IF clock_timestamp() > until THEN
			INSERT INTO held_horizons VALUES (all_databases);
			RAISE WARNING 'dead rows are kept: %', holder
				USING HINT = 'See pg_stat_activity, pg_prepared_xacts and pg_replication_slots.';
			EXIT;
		END IF;
		CONTINUE WHEN passed = 1;
		PERFORM pg_sleep(0.01);
	END LOOP;
	-- This flushes the WAL, too: no hint bit is set for a commit that is not flushed.
	CHECKPOINT;
END
$$;

-- Keep autovacuum off the tables that there are now, catalogs included.  It would change
-- a catalog between two looks at it, and leave dead rows there that any statement may
-- remove.
CREATE PROCEDURE autovacuum_off()
LANGUAGE plpgsql SET allow_system_table_mods = on AS $$
DECLARE
	relation regclass;
BEGIN
	FOREACH relation IN ARRAY ARRAY(SELECT oid::regclass FROM pg_class
		WHERE relkind IN ('r', 'm') AND relpersistence <> 't')
	LOOP
		EXECUTE format('ALTER TABLE %s SET (autovacuum_enabled = off)', relation);
	END LOOP;
END
$$;
CALL autovacuum_off();

--
-- How a statement fails
--

CREATE FUNCTION error_of(statement text) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	state text;
	message text;
	detail text;
	hint text;
BEGIN
	EXECUTE statement;
	RETURN 'no error';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE,
		message = MESSAGE_TEXT,
		detail = PG_EXCEPTION_DETAIL,
		hint = PG_EXCEPTION_HINT;
	RETURN state || ': ' || message ||
		CASE WHEN detail = '' THEN '' ELSE E'\nDETAIL:  ' || detail END ||
		CASE WHEN hint = '' THEN '' ELSE E'\nHINT:  ' || hint END;
END
$$;

-- A call of a drop-in must fail as the same call of contrib's does.  It is
-- given without its schema.  Details are ours to add.
CREATE FUNCTION fails_as_contrib(call text) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
	ours text := error_of('SELECT streamstat.' || call);
	theirs text;
BEGIN
	IF ours = 'no error' THEN
		RETURN false;
	END IF;
	IF NOT have_contrib() THEN
		RETURN true;
	END IF;
	theirs := error_of('SELECT contrib.' || call);
	IF regexp_replace(ours, '\nDETAIL:[^\n]*', '') =
		regexp_replace(theirs, '\nDETAIL:[^\n]*', '') THEN
		RETURN true;
	END IF;
	RAISE WARNING E'%\nours: %\ncontrib: %', call, ours, theirs;
	RETURN false;
END
$$;

--
-- What contrib says
--

-- recorded.sql fills this.
CREATE TABLE recorded (relation text, phase text, numbers jsonb,
	PRIMARY KEY (relation, phase));

-- Set by the tests: the same relation can be asked about several times.
CREATE FUNCTION phase() RETURNS text
LANGUAGE sql STABLE
BEGIN ATOMIC
	SELECT coalesce(current_setting('test.phase', true), '');
END;

-- On 15, what contrib says must be what is recorded.
CREATE FUNCTION check_recorded(relation text, numbers jsonb) RETURNS jsonb
LANGUAGE plpgsql AS $$
DECLARE
	record recorded;
BEGIN
	SELECT * INTO record FROM recorded r
		WHERE r.relation = check_recorded.relation AND r.phase = phase();
	IF numbers IS NULL THEN
		RETURN record.numbers;
	END IF;
	-- whether equal bpchar values are identical ones: not all servers 15 agree
	IF relation LIKE '%bpchar' THEN
		record.numbers := jsonb_set(record.numbers, '{13}', numbers -> 13);
	END IF;
	IF server_version() = 15 AND record.numbers IS DISTINCT FROM numbers THEN
		RAISE WARNING E'not as recorded (%):\n	(%, %, %),', record.numbers,
			quote_literal(relation), quote_literal(phase()), quote_literal(numbers);
	END IF;
	RETURN numbers;
END
$$;

-- The numbers of an index, by name, as pgstattuple and pageinspect tell them
CREATE FUNCTION oracle(index regclass) RETURNS jsonb
LANGUAGE plpgsql AS $$
DECLARE
	am text := (SELECT amname FROM pg_class c JOIN pg_am a ON c.relam = a.oid
				WHERE c.oid = index);
	names text[];
	numbers jsonb;
BEGIN
	IF am = 'btree' THEN
		names := '{version, tree_level, index_size, root_block_no,
			internal_pages, leaf_pages, empty_pages, deleted_pages,
			avg_leaf_density, leaf_fragmentation, live_items, dead_items,
			free_bytes, allequalimage, posting_percent}';
	ELSE
		names := '{version, bucket_pages, overflow_pages, bitmap_pages,
			unused_pages, live_items, dead_items, free_percent, index_size,
			buckets, new_pages, free_bytes}';
	END IF;

	IF have_contrib() THEN
		EXECUTE format('SELECT contrib_%s($1)', am) INTO numbers USING index;
	END IF;
	numbers := check_recorded(index::text, numbers);

	RETURN (SELECT jsonb_object_agg(name, numbers -> (ord::int - 1))
			FROM unnest(names) WITH ORDINALITY u(name, ord));
END
$$;

CREATE FUNCTION contrib_btree(index regclass) RETURNS jsonb
LANGUAGE plpgsql AS $$
DECLARE
	result jsonb;
	blocks bigint := pg_relation_size(index) / current_setting('block_size')::int;
BEGIN
	SELECT jsonb_build_array(i.version, i.tree_level, i.index_size,
			i.root_block_no, i.internal_pages, i.leaf_pages, i.empty_pages,
			i.deleted_pages, i.avg_leaf_density, i.leaf_fragmentation,
			p.live, p.dead, p.free, m.allequalimage, p.posting)
		INTO result
		FROM contrib.pgstatindex(index) i,
			contrib.bt_metap(index::text) m,
			(SELECT coalesce(sum(live), 0) AS live,
					coalesce(sum(dead), 0) AS dead,
					coalesce(sum(free), 0) AS free,
					100.0::float8 * sum(posting)::float8 / nullif(sum(live + dead), 0)::float8 AS posting
			 FROM generate_series(1, blocks - 1) AS block,
				contrib.bt_page_stats(index::text, block) AS s,
				contrib.page_header(contrib.get_raw_page(index::text, block)) AS h,
				-- before 18, a page's free space leaves out a line pointer
				LATERAL (SELECT greatest(h.upper - h.lower -
					CASE WHEN server_version() < 18 THEN 4 ELSE 0 END, 0) AS free) f,
				-- the first item is the high key, unless there is no right sibling
				LATERAL (SELECT count(*) FILTER (WHERE NOT t.dead) AS live,
							count(*) FILTER (WHERE t.dead) AS dead,
							count(t.tids) AS posting
						 FROM contrib.bt_page_items(index::text, block) t
						 WHERE t.itemoffset > 1 OR s.btpo_next = 0) items
			 WHERE s.type = 'l') p;
	RETURN result;
END
$$;

CREATE FUNCTION contrib_hash(index regclass) RETURNS jsonb
LANGUAGE plpgsql AS $$
DECLARE
	result jsonb;
	blocks bigint := pg_relation_size(index) / current_setting('block_size')::int;
BEGIN
	SELECT jsonb_build_array(i.version, i.bucket_pages, i.overflow_pages,
			i.bitmap_pages, i.unused_pages, i.live_items, i.dead_items,
			i.free_percent, pg_relation_size(index), m.maxbucket + 1, p.new, p.free)
		INTO result
		FROM contrib.pgstathashindex(index) i,
			contrib.hash_metapage_info(contrib.get_raw_page(index::text, 0)) m,
			-- unused pages and new ones are free altogether
			(SELECT count(*) FILTER (WHERE h.upper = 0) AS new,
					coalesce(sum(CASE contrib.hash_page_type(raw)
						WHEN 'bitmap' THEN 0
						WHEN 'unused' THEN current_setting('block_size')::int - 24 - 16
						ELSE h.upper - h.lower END), 0) AS free
			 FROM generate_series(1, blocks - 1) AS block,
				contrib.get_raw_page(index::text, block) AS raw,
				contrib.page_header(raw) AS h) p;
	RETURN result;
END
$$;

-- Where two sets of numbers differ, as far as both have the column
CREATE FUNCTION difference(ours jsonb, theirs jsonb) RETURNS text
LANGUAGE sql IMMUTABLE
BEGIN ATOMIC
	SELECT CASE
		WHEN count(*) < 8 THEN 'nothing to compare'
		WHEN bool_and(o.value = t.value) THEN 'none'
		ELSE string_agg(format('%s: %s, not %s', key, o.value, t.value), '; ' ORDER BY key)
			FILTER (WHERE o.value <> t.value)
		END
	FROM jsonb_each(ours) o JOIN jsonb_each(theirs) t USING (key);
END;

-- Where the numbers of two sets with the same names are not the same
CREATE FUNCTION numbers_differ(ours jsonb, theirs jsonb) RETURNS text
LANGUAGE sql IMMUTABLE
BEGIN ATOMIC
	SELECT string_agg(format('%s: %s, not %s', key, o, t), '; ' ORDER BY key)
		FROM jsonb_each_text(theirs) j(key, t), LATERAL (SELECT ours ->> key AS o) x
		WHERE NOT ours ? key OR (o IS NULL) <> (t IS NULL)
			OR abs(o::float8 - t::float8) > 1e-6;
END;

-- A row of ours with the names and the rounding of pgstattuple
CREATE FUNCTION as_contrib(ours jsonb) RETURNS jsonb
LANGUAGE sql IMMUTABLE
BEGIN ATOMIC
	SELECT ours || jsonb_object_agg(theirs, CASE
			WHEN decimals IS NULL THEN used -> name
			ELSE coalesce(to_jsonb(round((used ->> name)::numeric, decimals)), nothing) END)
		FROM (VALUES ('index_size', 'bytes', NULL::int, NULL::jsonb), ('table_len', 'bytes', NULL, NULL),
			('tuple_count', 'live_tuples', NULL, NULL), ('tuple_len', 'live_tuple_bytes', NULL, NULL),
			('tuple_percent', 'live_tuple_percent', 2, '0'),
			('dead_tuple_count', 'dead_tuples', NULL, NULL), ('dead_tuple_len', 'dead_tuple_bytes', NULL, NULL),
			('dead_tuple_percent', 'dead_tuple_percent', 2, '0'),
			('free_space', 'free_bytes', NULL, NULL), ('free_percent', 'free_percent', 2, '0'),
			('avg_leaf_density', 'avg_leaf_density', 2, '"NaN"'),
			('leaf_fragmentation', 'leaf_fragmentation', 2, '"NaN"')) n (theirs, name, decimals, nothing),
			-- new pages of a table are not free to contrib
			(SELECT CASE WHEN ours ? 'live_tuples' THEN ours || jsonb_build_object(
				'free_bytes', (ours -> 'free_bytes')::bigint - (ours -> 'new_pages')::int * current_setting('block_size')::int,
				'free_percent', (ours ->> 'free_percent')::numeric -
					100.0 * (ours -> 'new_pages')::int / nullif((ours -> 'pages')::int, 0)) ELSE ours END) u (used)
		WHERE ours ? name;
END;

-- A sample of all blocks has to say the same.
CREATE FUNCTION sample_differs(index regclass, ours jsonb) RETURNS text
LANGUAGE sql
BEGIN ATOMIC
	SELECT CASE WHEN bool_and(measured = 'exact') AND bool_and(blocks_read = blocks(index))
		THEN numbers_differ(ours, jsonb_object_agg(statistic, estimate))
		ELSE 'not all blocks' END
		FROM streamstat.sample_stats(index, 1000000);
END;

-- The same for each function about an index of the kind
CREATE FUNCTION btree_difference(index regclass) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	theirs jsonb := oracle(index);
BEGIN
	RETURN CASE WHEN count(*) FILTER (WHERE d = 'none') = 3 THEN 'none'
			ELSE string_agg(which || ': ' || d, E'\n') END
		FROM (SELECT 'pgstatindex(regclass)', difference(to_jsonb(i), theirs)
				FROM streamstat.pgstatindex(index) i
			  UNION ALL
			  SELECT 'pgstatindex(text)', difference(to_jsonb(i), theirs)
				FROM streamstat.pgstatindex(index::text) i
			  UNION ALL
			  SELECT 'btree_stats', CASE WHEN i.new_pages + i.corrupt_pages = 0
					AND i.first_new_block IS NULL AND i.first_corrupt_block IS NULL
					THEN difference(as_contrib(to_jsonb(i)), theirs)
					ELSE 'damaged pages' END
				FROM streamstat.btree_stats(index) i) u(which, d);
END
$$;

CREATE FUNCTION hash_difference(index regclass) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	theirs jsonb := oracle(index);
BEGIN
	RETURN CASE WHEN count(*) FILTER (WHERE d = 'none') = 2 THEN 'none'
			ELSE string_agg(which || ': ' || d, E'\n') END
		FROM (SELECT 'pgstathashindex', difference(to_jsonb(i), theirs)
				FROM streamstat.pgstathashindex(index) i
			  UNION ALL
			  SELECT 'hash_stats', CASE WHEN i.corrupt_pages = 0
					AND i.first_corrupt_block IS NULL
					AND (i.first_new_block IS NULL) = (i.new_pages = 0)
					THEN difference(to_jsonb(i) || jsonb_build_object('index_size', bytes,
						'free_percent', coalesce(free_percent, 0)), theirs)
					ELSE 'damaged pages' END
				FROM streamstat.hash_stats(index) i) u(which, d);
END
$$;

SELECT difference('{"a": 1, "b": 2, "c": 3, "d": 4, "e": 5, "f": 6, "g": "NaN", "h": null}',
	'{"a": 1, "b": 2, "c": 3, "d": 4, "e": 5, "f": 7, "g": "NaN", "h": null}');
SELECT error_of('SELECT 1'), error_of('SELECT 1 / 0');
