--
-- Statistics of tables, beside those of pgstattuple, pg_visibility and
-- pg_freespacemap, and beside what pageinspect shows of each tuple
--
SET client_min_messages = warning;

-- Have all of contrib that this needs?
CREATE FUNCTION have_table_oracles() RETURNS boolean
LANGUAGE sql STABLE
BEGIN ATOMIC
	SELECT have_contrib() AND count(*) = 2 FROM pg_extension
	WHERE extname IN ('pg_freespacemap', 'pg_visibility');
END;

-- What became of a transaction.  No other session is at work here, and the
-- cluster is in its first epoch.
CREATE FUNCTION status_of(xid xid) RETURNS text
LANGUAGE sql STABLE
BEGIN ATOMIC
	SELECT CASE WHEN xid::text::int8 = 0 THEN 'aborted'
		WHEN xid::text::int8 < 3 THEN 'committed'
		ELSE pg_xact_status(xid::text::xid8) END;
END;

-- The transaction that deleted a tuple, or 0
CREATE FUNCTION deleter(xmax xid, infomask int) RETURNS xid
LANGUAGE sql STABLE
BEGIN ATOMIC
	SELECT CASE
		WHEN infomask & x'0880'::int <> 0 THEN '0'	-- invalid, or a locker
		WHEN infomask & x'1000'::int = 0 THEN xmax
		ELSE coalesce((SELECT m.xid FROM pg_get_multixact_members(xmax) m
			WHERE m.mode IN ('nokeyupd', 'upd')), '0') END;
END;

-- All that can be learned from the pages one by one
CREATE FUNCTION contrib_pages(rel regclass) RETURNS jsonb
LANGUAGE plpgsql AS $$
DECLARE
	result jsonb;
BEGIN
	SELECT to_jsonb(s) INTO result
	FROM (
		WITH page AS MATERIALIZED (
			SELECT blkno, raw, h.upper = 0 AS new, h.lower, h.upper
			FROM generate_series(0, blocks(rel) - 1) blkno,
				contrib.get_raw_page(rel::text, blkno) raw,
				contrib.page_header(raw) h
		), item AS MATERIALIZED (
			SELECT p.blkno, i.lp_flags, i.lp_len,
				CASE WHEN t_infomask & 256 <> 0 THEN 'committed'
					WHEN t_infomask & 512 <> 0 THEN 'aborted'
					ELSE status_of(t_xmin) END AS xmin,
				CASE WHEN i.lp_flags = 1 THEN status_of(deleter(t_xmax, t_infomask)) END AS xmax
			FROM page p, contrib.heap_page_items(raw) i
			WHERE NOT new
		), tuple AS MATERIALIZED (
			SELECT *, xmin <> 'aborted' AND xmax = 'aborted' AS live
			FROM item WHERE lp_flags = 1
		), free AS MATERIALIZED (
			-- before 18, free space leaves out a line pointer, and pages that
			-- have all the line pointers that they can have
			SELECT blkno, CASE
				WHEN new THEN 0
				WHEN server_version() >= 18 THEN upper - lower
				WHEN nitems >= 291 AND all_used THEN 0
				ELSE greatest(upper - lower - 4, 0) END AS bytes
			FROM page LEFT JOIN (SELECT blkno, count(*) AS nitems,
					bool_and(lp_flags <> 0) AS all_used
				FROM item GROUP BY blkno) i USING (blkno)
		)
		SELECT pg_relation_size(rel) AS bytes,
			blocks(rel) AS pages,
			(SELECT count(*) FROM page WHERE new) AS new_pages,
			(SELECT min(blkno) FROM page WHERE new) AS first_new_block,
			(SELECT coalesce(max(bytes), 0) FROM free) AS largest_free_bytes,
			(SELECT count(*) FROM item WHERE lp_flags = 0) AS unused_line_pointers,
			(SELECT count(*) FROM item WHERE lp_flags = 2) AS redirect_line_pointers,
			(SELECT count(*) FROM item WHERE lp_flags = 3) AS dead_line_pointers,
			blocks(rel) - (SELECT coalesce(max(blkno) + 1, 0) FROM tuple
				WHERE xmin <> 'aborted' AND xmax <> 'committed') AS truncatable_pages,
			t.*
		FROM (
			SELECT count(*) FILTER (WHERE live) AS live_tuples,
				coalesce(sum(lp_len) FILTER (WHERE live), 0) AS live_tuple_bytes,
				count(*) FILTER (WHERE NOT live) AS dead_tuples,
				coalesce(sum(lp_len) FILTER (WHERE NOT live), 0) AS dead_tuple_bytes,
				count(*) FILTER (WHERE live AND xmin = 'in progress') AS insert_in_progress_tuples,
				count(*) FILTER (WHERE xmin <> 'aborted' AND xmax = 'in progress')
					AS delete_in_progress_tuples
			FROM tuple) t
	) s;
	RETURN result;
END
$$;

-- What the maps say, block by block
CREATE FUNCTION contrib_maps(rel regclass) RETURNS jsonb
LANGUAGE plpgsql AS $$
DECLARE
	result jsonb;
BEGIN
	SELECT to_jsonb(s) INTO result
	FROM (
		WITH block AS MATERIALIZED (
			SELECT b AS blkno, contrib.pg_freespace(rel, b) AS free, m.*
			FROM generate_series(0, blocks(rel) - 1) b,
				contrib.pg_visibility_map(rel, b) m
		), range AS MATERIALIZED (
			SELECT min(blkno) AS first_block, max(blkno) AS last_block
			FROM (SELECT blkno, blkno - row_number() OVER (ORDER BY blkno) AS island
				FROM block WHERE NOT all_frozen) b
			GROUP BY island
		)
		SELECT blocks(rel) AS pages,
			v.all_visible AS all_visible_pages, v.all_frozen AS all_frozen_pages,
			(SELECT count(*) FROM range) AS unfrozen_ranges,
			(SELECT coalesce(max(last_block - first_block + 1), 0) FROM range) AS largest_unfrozen_range_pages,
			(SELECT jsonb_agg(r ORDER BY first_block) FROM range r) AS ranges,
			0 AS corrupt_map_pages,
			f.*,
			fsm_free_bytes AS free_bytes, fsm_nonfull_pages AS nonfull_pages,
			fsm_largest_free_bytes AS largest_free_bytes,
			100.0::float8 * fsm_free_bytes / nullif(pg_relation_size(rel), 0) AS free_percent
		FROM contrib.pg_visibility_map_summary(rel) v,
			(SELECT coalesce(sum(free), 0) AS fsm_free_bytes,
				count(*) FILTER (WHERE free > 0) AS fsm_nonfull_pages,
				coalesce(max(free), 0) AS fsm_largest_free_bytes
			 FROM block) f
	) s;
	RETURN result;
END
$$;

-- Multixacts in a table, and whether some have an updater, and others none
CREATE FUNCTION multixacts(rel regclass, OUT many boolean, OUT updaters boolean, OUT lockers boolean)
LANGUAGE plpgsql AS $$
BEGIN
	many := true;
	updaters := true;
	lockers := true;
	IF have_table_oracles() THEN
		SELECT count(*) >= 40, bool_or(deleter(t_xmax, t_infomask) <> '0'),
				bool_or(deleter(t_xmax, t_infomask) = '0')
			INTO many, updaters, lockers
			FROM generate_series(0, blocks(rel) - 1) blkno,
				contrib.heap_page_items(contrib.get_raw_page(rel::text, blkno))
			WHERE t_infomask & x'1000'::int <> 0;
	END IF;
END
$$;

-- Where two sets of numbers differ, that have at least so many columns in common
CREATE FUNCTION differs(what text, ncommon int, ours jsonb, theirs jsonb) RETURNS text
LANGUAGE sql IMMUTABLE
BEGIN ATOMIC
	SELECT CASE WHEN count(*) < ncommon THEN what || ': nothing to compare'
		ELSE string_agg(format('%s.%s: %s, not %s', what, key, o.value, t.value), '; ' ORDER BY key)
			FILTER (WHERE o.value <> t.value) END
	FROM jsonb_each(ours) o JOIN jsonb_each(theirs) t USING (key);
END;

-- All that our functions say of a table
CREATE FUNCTION ours(rel regclass) RETURNS jsonb
LANGUAGE plpgsql AS $$
DECLARE
	result jsonb;
	maps boolean := (SELECT relkind <> 'S' FROM pg_class WHERE oid = rel);
BEGIN
	SELECT jsonb_build_object('stats', to_jsonb(t)) INTO result
		FROM streamstat.table_stats(rel) t;
	SELECT result || jsonb_build_object('text', to_jsonb(t)) INTO result
		FROM streamstat.pgstattuple(rel::text) t;
	SELECT result || jsonb_build_object('regclass', to_jsonb(t)) INTO result
		FROM streamstat.pgstattuple(rel) t;
	IF maps THEN
		SELECT result || jsonb_build_object('approx', to_jsonb(t)) INTO result
			FROM streamstat.pgstattuple_approx(rel) t;
		SELECT result || jsonb_build_object('visibility', to_jsonb(t)) INTO result
			FROM streamstat.visibility_map_summary(rel) t;
		SELECT result || jsonb_build_object('ranges', jsonb_build_object('ranges', jsonb_agg(t))) INTO result
			FROM streamstat.unfrozen_ranges(rel) t;
		SELECT result || jsonb_build_object('free', to_jsonb(t)) INTO result
			FROM streamstat.free_space_map_summary(rel) t;
	END IF;
	RETURN result;
END
$$;

-- Ours before contrib's, which sets hint bits, and once more behind it
CREATE FUNCTION table_difference(rel regclass) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	o jsonb := ours(rel);
	again jsonb;
	theirs jsonb;
	pages jsonb;
	maps jsonb;
	result text[];
BEGIN
	result := ARRAY[differs('text', 9, o -> 'text', as_contrib(o -> 'stats')),
		differs('regclass', 9, o -> 'regclass', as_contrib(o -> 'stats')),
		differs('stats', 1, o -> 'stats', '{"corrupt_pages": 0}')];
	IF have_table_oracles() THEN
		pages := contrib_pages(rel);
		result := result || differs('pages', 15, o -> 'stats', pages);
		IF o ? 'approx' THEN
			maps := contrib_maps(rel);
			SELECT result || differs('approx', 10, o -> 'approx', to_jsonb(t)) INTO result
				FROM contrib.pgstattuple_approx(rel) t;
			result := result || differs('maps', 6, o -> 'stats', maps - 'free_bytes' - 'free_percent' - 'largest_free_bytes')
				|| differs('visibility', 6, o -> 'visibility', maps)
				|| differs('ranges', 1, o -> 'ranges', maps)
				|| differs('free', 6, o -> 'free', maps);
		END IF;
		SELECT result || differs('pgstattuple', 9, o -> 'regclass', to_jsonb(t)) INTO result
			FROM contrib.pgstattuple(rel) t;
	END IF;
	again := ours(rel);
	RETURN coalesce(nullif(array_to_string(result ||
		(SELECT array_agg(differs('again: ' || key, 1, value, again -> key)) FROM jsonb_each(o)), E'\n'), ''), 'none');
END
$$;

SELECT differs('a', 2, '{"a": 1, "b": 2}', '{"a": 1, "b": 2, "c": 3}') IS NULL,
	differs('a', 3, '{"a": 1, "b": 2}', '{"a": 1, "b": 2, "c": 3}'),
	differs('a', 2, '{"a": 1, "b": 2}', '{"a": 1, "b": 3}');

-- One row of a test: what differs, and what the numbers are
CREATE FUNCTION look(rel regclass, OUT difference text, OUT live int8,
	OUT dead int8, OUT recent int8, OUT ins int8, OUT del int8)
LANGUAGE plpgsql AS $$
BEGIN
	difference := table_difference(rel);
	SELECT live_tuples, dead_tuples, recently_dead_tuples,
			insert_in_progress_tuples, delete_in_progress_tuples
		INTO live, dead, recent, ins, del
		FROM streamstat.table_stats(rel) t;
END
$$;

--
-- Inserts and deletes: nobody has set a hint bit
--
CREATE TABLE th (i int, t text) WITH (autovacuum_enabled = off);
SELECT * FROM look('th');
INSERT INTO th VALUES (1, 'a'), (2, 'b');
SELECT * FROM look('th');

TRUNCATE th;
INSERT INTO th SELECT i, 'text ' || i FROM generate_series(1, 3000) i;
SELECT * FROM look('th');
DELETE FROM th WHERE i % 3 = 0;
CALL wait_for_horizon();
SELECT * FROM look('th');
BEGIN;
DELETE FROM th WHERE i % 5 = 0;
SELECT * FROM look('th');
ROLLBACK;
SELECT * FROM look('th');
BEGIN;
INSERT INTO th SELECT i, 'more' FROM generate_series(3001, 3500) i;
SELECT * FROM look('th');
DELETE FROM th WHERE i > 3400;
SELECT * FROM look('th');
ROLLBACK;
SELECT * FROM look('th');
-- with the bits
BEGIN;
SELECT count(*) FROM th;
DELETE FROM th WHERE i <= 100;
SELECT difference, live, dead >= del AS dead, del FROM look('th');
COMMIT;
CALL wait_for_horizon();
SELECT count(*) FROM th;
SELECT difference, live, dead >= 67 AS dead, del FROM look('th');
CALL wait_for_horizon();
VACUUM (INDEX_CLEANUP on, TRUNCATE off) th;
SELECT * FROM look('th');
DELETE FROM th WHERE i > 2000;
CALL wait_for_horizon();
SELECT * FROM look('th');
SELECT truncatable_pages > 4 AS truncatable, truncatable_pages < pages AS not_all
	FROM streamstat.table_stats('th');
CALL wait_for_horizon();
VACUUM (FREEZE, TRUNCATE off) th;
SELECT * FROM look('th');
SELECT all_frozen_pages = pages AS frozen, fsm_free_bytes > 0 AS free,
		truncatable_pages > 4 AS truncatable
	FROM streamstat.table_stats('th');
-- runs of pages that are not all-frozen
DELETE FROM th WHERE i IN (200, 1000, 1900);
CALL wait_for_horizon();
SELECT * FROM look('th');
SELECT all_visible_pages = all_frozen_pages AND all_frozen_pages = pages - 3 AS frozen, unfrozen_ranges,
		largest_unfrozen_range_pages
	FROM streamstat.visibility_map_summary('th');
SELECT count(*), bool_and(first_block <= last_block) FROM streamstat.unfrozen_ranges('th');
CALL wait_for_horizon();
VACUUM th;
SELECT * FROM look('th');
DELETE FROM th;
CALL wait_for_horizon();
SELECT * FROM look('th');
SELECT truncatable_pages = pages AS all FROM streamstat.table_stats('th');
CALL wait_for_horizon();
VACUUM th;
SELECT * FROM look('th');

-- Larger than a page of the map's has slots for
CREATE TABLE th_large (i int, t text) WITH (fillfactor = 10, autovacuum_enabled = off);
ALTER TABLE th_large ALTER t SET STORAGE PLAIN;
INSERT INTO th_large SELECT i, repeat('x', 800 + i % 7 * 100) FROM generate_series(1, 4200) i;
CALL wait_for_horizon();
VACUUM (FREEZE) th_large;
UPDATE th_large SET i = -i WHERE i IN (1, 2, 100, 1000, 1001, 1002, 4199);
CALL wait_for_horizon();
DELETE FROM th_large WHERE i = 4000;
CALL wait_for_horizon();
SELECT * FROM look('th_large');
SELECT pages > 4096 AS large, unfrozen_ranges >= 5 AS ranges, all_frozen_pages > 4180 AS frozen
	FROM streamstat.visibility_map_summary('th_large');
SELECT nonfull_pages > 4096 AS with_free_space, free_percent > 70 AS free
	FROM streamstat.free_space_map_summary('th_large');

--
-- Updates
--
CREATE TABLE tu (i int, n int, t text) WITH (fillfactor = 50, autovacuum_enabled = off);
INSERT INTO tu SELECT i, 0, 'text' FROM generate_series(1, 2000) i;
CREATE INDEX tu_i ON tu (i);
UPDATE tu SET n = n + 1 WHERE i % 4 = 0;
CALL wait_for_horizon();
SELECT * FROM look('tu');
CALL wait_for_horizon();
UPDATE tu SET i = -i WHERE i % 4 = 1;
CALL wait_for_horizon();
SELECT * FROM look('tu');
CALL wait_for_horizon();
BEGIN;
UPDATE tu SET n = n + 1 WHERE i % 4 = 2;
UPDATE tu SET n = n + 1 WHERE i % 8 = 2;
SELECT * FROM look('tu');
ROLLBACK;
SELECT * FROM look('tu');
-- pruned, and not cleaned up
CALL wait_for_horizon();
VACUUM (INDEX_CLEANUP off) tu;
SELECT * FROM look('tu');
SELECT redirect_line_pointers, dead_line_pointers FROM streamstat.table_stats('tu');
CALL wait_for_horizon();
VACUUM (INDEX_CLEANUP on) tu;
SELECT * FROM look('tu');
SELECT redirect_line_pointers, dead_line_pointers, unused_line_pointers > 0 AS unused
	FROM streamstat.table_stats('tu');
UPDATE tu SET n = n + 1;
UPDATE tu SET n = n + 1 WHERE i % 2 = 0;
CALL wait_for_horizon();
SELECT difference, live, dead > 0 AS dead FROM look('tu');

--
-- Subtransactions
--
CREATE TABLE ts (i int, t text) WITH (autovacuum_enabled = off);
INSERT INTO ts SELECT i, 'before' FROM generate_series(1, 100) i;
BEGIN;
INSERT INTO ts SELECT i, 'top' FROM generate_series(101, 110) i;
SAVEPOINT a;
INSERT INTO ts SELECT i, 'a' FROM generate_series(201, 220) i;
DELETE FROM ts WHERE i <= 10;
SAVEPOINT b;
INSERT INTO ts SELECT i, 'b' FROM generate_series(301, 340) i;
DELETE FROM ts WHERE i <= 20;
DELETE FROM ts WHERE i BETWEEN 101 AND 103;
SELECT * FROM look('ts');
ROLLBACK TO b;
SELECT * FROM look('ts');
DELETE FROM ts WHERE i BETWEEN 11 AND 15;
DELETE FROM ts WHERE i BETWEEN 201 AND 204;
RELEASE a;
SELECT * FROM look('ts');
SAVEPOINT c;
DELETE FROM ts;
SELECT * FROM look('ts');
ROLLBACK TO c;
SELECT * FROM look('ts');
COMMIT;
CALL wait_for_horizon();
SELECT * FROM look('ts');

-- Row locks.  A transaction and its subtransaction make a multixact.
CREATE TABLE tl (i int PRIMARY KEY, n int) WITH (autovacuum_enabled = off);
INSERT INTO tl SELECT i, 0 FROM generate_series(1, 100) i;
BEGIN;
SELECT count(*) FROM (SELECT FROM tl WHERE i <= 10 FOR UPDATE) x;
SELECT count(*) FROM (SELECT FROM tl WHERE i BETWEEN 11 AND 20 FOR SHARE) x;
SELECT * FROM look('tl');
SELECT count(*) FROM (SELECT FROM tl WHERE i BETWEEN 21 AND 60 FOR KEY SHARE) x;
SAVEPOINT a;
SELECT count(*) FROM (SELECT FROM tl WHERE i BETWEEN 21 AND 30 FOR UPDATE) x;
UPDATE tl SET n = n + 1 WHERE i BETWEEN 31 AND 40;
DELETE FROM tl WHERE i BETWEEN 41 AND 50;
SELECT * FROM look('tl');
SAVEPOINT b;
DELETE FROM tl WHERE i BETWEEN 51 AND 60;
SELECT * FROM look('tl');
ROLLBACK TO b;
SELECT * FROM look('tl');
COMMIT;
CALL wait_for_horizon();
SELECT * FROM look('tl');
BEGIN;
SELECT count(*) FROM (SELECT FROM tl WHERE i BETWEEN 61 AND 70 FOR KEY SHARE) x;
SAVEPOINT a;
DELETE FROM tl WHERE i BETWEEN 61 AND 70;
SELECT * FROM look('tl');
ROLLBACK;
SELECT * FROM look('tl');
-- there have been multixacts with an updater, and without
SELECT multixacts('tl');

--
-- Wide rows: the TOAST table is a table, too.
--
CREATE TABLE tw (i int, t text) WITH (autovacuum_enabled = off);
ALTER TABLE tw ALTER t SET STORAGE EXTERNAL;
INSERT INTO tw SELECT i, repeat('x', 5000) FROM generate_series(1, 200) i;
DELETE FROM tw WHERE i % 10 = 0;
CREATE FUNCTION toast_of(rel regclass) RETURNS regclass
LANGUAGE sql STABLE
BEGIN ATOMIC
	SELECT reltoastrelid::regclass FROM pg_class WHERE oid = rel;
END;
CALL wait_for_horizon();
SELECT * FROM look('tw');
SELECT * FROM look(toast_of('tw'));
SELECT relation = 'tw'::regclass AS main, relation = toast_of('tw') AS toast, live_tuples, dead_tuples
	FROM streamstat.table_stats('tw', 'no');
SELECT relation = 'tw'::regclass AS main, relation = toast_of('tw') AS toast, live_tuples, dead_tuples
	FROM streamstat.table_stats('tw', 'row');
SELECT relation = 'tw'::regclass AS main, relation = toast_of('tw') AS toast, live_tuples, dead_tuples
	FROM streamstat.table_stats('tw', 'sum');

-- Where rows and their sum differ
CREATE FUNCTION sum_difference(rows text, sum text, root regclass) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	total jsonb;
	result text;
BEGIN
	EXECUTE format('SELECT to_jsonb(t) FROM %s t', sum) INTO total;
	EXECUTE format('SELECT differs(''sum'', 27, $1, to_jsonb(s) || jsonb_build_object(
			''live_tuple_percent'', 100::float8 * live_tuple_bytes::float8 / bytes::float8,
			''dead_tuple_percent'', 100::float8 * dead_tuple_bytes::float8 / bytes::float8,
			''free_percent'', 100::float8 * free_bytes::float8 / bytes::float8))
		FROM (SELECT $2 AS relation, sum(bytes) AS bytes, sum(live_tuples) AS live_tuples, sum(live_tuple_bytes) AS live_tuple_bytes,
			sum(dead_tuples) AS dead_tuples, sum(dead_tuple_bytes) AS dead_tuple_bytes,
			sum(free_bytes) AS free_bytes, sum(recently_dead_tuples) AS recently_dead_tuples,
			sum(insert_in_progress_tuples) AS insert_in_progress_tuples,
			sum(delete_in_progress_tuples) AS delete_in_progress_tuples,
			sum(dead_line_pointers) AS dead_line_pointers,
			sum(redirect_line_pointers) AS redirect_line_pointers,
			sum(unused_line_pointers) AS unused_line_pointers, sum(pages) AS pages,
			sum(all_visible_pages) AS all_visible_pages, sum(all_frozen_pages) AS all_frozen_pages,
			sum(truncatable_pages) AS truncatable_pages, sum(new_pages) AS new_pages,
			sum(corrupt_pages) AS corrupt_pages, null AS first_new_block, null AS first_corrupt_block,
			max(largest_free_bytes) AS largest_free_bytes, sum(fsm_free_bytes) AS fsm_free_bytes,
			sum(fsm_nonfull_pages) AS fsm_nonfull_pages,
			max(fsm_largest_free_bytes) AS fsm_largest_free_bytes, null AS note
			FROM %s t) s', rows) INTO result USING total, root;
	RETURN coalesce(result, 'none');
END
$$;
SELECT sum_difference('streamstat.table_stats(''tw'', ''row'')',
	'streamstat.table_stats(''tw'', ''sum'')', 'tw');
BEGIN;
DELETE FROM tw WHERE i % 10 = 1;
INSERT INTO tw SELECT i, repeat('y', 5000) FROM generate_series(201, 210) i;
SELECT * FROM look('tw');
SELECT * FROM look(toast_of('tw'));
SELECT sum_difference('streamstat.table_stats(''tw'', ''row'')',
	'streamstat.table_stats(''tw'', ''sum'')', 'tw');
COMMIT;
CALL wait_for_horizon();
VACUUM (TRUNCATE off) tw;
DELETE FROM tw WHERE i > 100;
CALL wait_for_horizon();
SELECT * FROM look('tw');
SELECT * FROM look(toast_of('tw'));
SELECT sum_difference('streamstat.table_stats(''tw'', ''row'')',
	'streamstat.table_stats(''tw'', ''sum'')', 'tw');
-- a table without one
SELECT count(*), sum(pages) FROM streamstat.table_stats('th', 'row');
SELECT count(*), sum(pages) FROM streamstat.table_stats('th', 'sum');

--
-- Other kinds of tables
--
CREATE MATERIALIZED VIEW tm WITH (autovacuum_enabled = off) AS SELECT i, 'row ' || i AS t FROM generate_series(1, 1000) i;
SELECT * FROM look('tm');
REFRESH MATERIALIZED VIEW tm;
SELECT * FROM look('tm');

CREATE SEQUENCE tq;
SELECT * FROM look('tq');
SELECT nextval('tq');
SELECT * FROM look('tq');

CREATE UNLOGGED TABLE tn (i int) WITH (autovacuum_enabled = off);
INSERT INTO tn SELECT generate_series(1, 1000);
DELETE FROM tn WHERE i % 2 = 0;
CALL wait_for_horizon();
SELECT * FROM look('tn');
CALL wait_for_horizon();
VACUUM (TRUNCATE off) tn;
SELECT * FROM look('tn');

CREATE TEMP TABLE tt (i int, t text);
INSERT INTO tt SELECT i, repeat('x', 3000) FROM generate_series(1, 1000) i;
DELETE FROM tt WHERE i % 2 = 0;
CALL wait_for_horizon();
SELECT * FROM look('tt');
BEGIN;
DELETE FROM tt WHERE i % 3 = 0;
SELECT difference, live, dead >= del AS dead, del FROM look('tt');
COMMIT;
CALL wait_for_horizon();
VACUUM (TRUNCATE off) tt;
SELECT * FROM look('tt');

-- Autovacuum keeps off them meanwhile, and there is nothing that a look at them prunes.
CALL wait_for_horizon(true);
VACUUM pg_class, pg_database, pg_type;
BEGIN;
LOCK pg_class, pg_database, pg_type IN SHARE UPDATE EXCLUSIVE MODE;
SELECT relname, difference FROM pg_class c, look(c.oid)
	WHERE relname IN ('pg_class', 'pg_database', 'pg_type')
	ORDER BY relname COLLATE "C";
COMMIT;

--
-- Trees
--
CREATE FOREIGN DATA WRAPPER tp_wrapper;
CREATE SERVER tp_server FOREIGN DATA WRAPPER tp_wrapper;
CREATE TABLE tp (i int, j int, t text) PARTITION BY RANGE (i);
CREATE TABLE tp_1 PARTITION OF tp FOR VALUES FROM (0) TO (100) WITH (autovacuum_enabled = off);
CREATE TABLE tp_2 PARTITION OF tp FOR VALUES FROM (100) TO (200) PARTITION BY LIST (j);
CREATE TABLE tp_2_1 PARTITION OF tp_2 FOR VALUES IN (1) WITH (autovacuum_enabled = off);
CREATE TABLE tp_2_2 PARTITION OF tp_2 FOR VALUES IN (2) WITH (autovacuum_enabled = off);
CREATE TABLE tp_2_d PARTITION OF tp_2 DEFAULT WITH (autovacuum_enabled = off);
CREATE FOREIGN TABLE tp_3 PARTITION OF tp FOR VALUES FROM (200) TO (300) SERVER tp_server;
ALTER TABLE tp_2_1 ALTER t SET STORAGE EXTERNAL;
INSERT INTO tp SELECT i, i % 3, repeat('x', 4000) FROM generate_series(0, 199) i;
DELETE FROM tp_2_1 WHERE i % 2 = 0;
CALL wait_for_horizon();
VACUUM (TRUNCATE off) tp_2_1;
DELETE FROM tp_1 WHERE i % 3 = 0;
CALL wait_for_horizon();
SELECT relation, live_tuples, dead_tuples, bytes IS NULL AS unread, note
	FROM streamstat.table_stats_tree('tp') WITH ORDINALITY t ORDER BY ordinality;
SELECT relation, live_tuples, dead_tuples, note
	FROM streamstat.table_stats_tree('tp', 'sum') WITH ORDINALITY t ORDER BY ordinality;
SELECT replace(relation::text, toast_of('tp_2_1')::text, 'its TOAST table') AS relation,
		live_tuples, dead_tuples, note
	FROM streamstat.table_stats_tree('tp', 'row') WITH ORDINALITY t
	WHERE relation IN ('tp_2_1', toast_of('tp_2_1'), 'tp') ORDER BY ordinality;
SELECT with_toast, sum_difference(
		format('(SELECT * FROM streamstat.table_stats_tree(''tp'', %L) WHERE NOT is_sum)', with_toast),
		format('(SELECT * FROM streamstat.table_stats_tree(''tp'', %L) WHERE is_sum)', with_toast),
		'tp')
	FROM unnest('{no, row, sum}'::text[]) with_toast;
-- the rows are those of table_stats
SELECT with_toast, count(*) AS rows, count(*) FILTER (WHERE t IS DISTINCT FROM s) AS others
	FROM unnest('{no, sum}'::text[]) with_toast,
		streamstat.table_stats_tree('tp', with_toast) t
		LEFT JOIN LATERAL streamstat.table_stats(CASE WHEN t.note IS NULL AND t.relation <> 'tp'::regclass
			THEN t.relation ELSE 'tp_1' END, with_toast) s ON s.relation = t.relation
	WHERE t.note IS NULL AND t.relation <> 'tp'::regclass
	GROUP BY with_toast ORDER BY with_toast COLLATE "C";
-- a tree under a tree, and of one table
SELECT relation, is_sum, live_tuples FROM streamstat.table_stats_tree('tp_2') WITH ORDINALITY t ORDER BY ordinality;
SELECT relation, is_sum, live_tuples FROM streamstat.table_stats_tree('tp_1') WITH ORDINALITY t ORDER BY ordinality;
CREATE TABLE tp_none (i int) PARTITION BY RANGE (i);
SELECT relation, bytes, live_tuples, live_tuple_percent, free_percent, pages, note
	FROM streamstat.table_stats_tree('tp_none');

CREATE TABLE ti (i int) WITH (autovacuum_enabled = off);
CREATE TABLE ti_1 () INHERITS (ti) WITH (autovacuum_enabled = off);
CREATE TABLE ti_2 () INHERITS (ti) WITH (autovacuum_enabled = off);
CREATE TABLE ti_1_1 () INHERITS (ti_1, ti_2) WITH (autovacuum_enabled = off);
INSERT INTO ti VALUES (1);
INSERT INTO ti_1 SELECT generate_series(1, 2);
INSERT INTO ti_2 SELECT generate_series(1, 4);
INSERT INTO ti_1_1 SELECT generate_series(1, 8);
SELECT relation, is_sum, live_tuples FROM streamstat.table_stats_tree('ti') WITH ORDINALITY t ORDER BY ordinality;

