--
-- btree_stats and pgstatindex beside contrib's
--
SET max_parallel_maintenance_workers = 0;
SET client_min_messages = warning;

--
-- Keys of all kinds, in indexes built at once and in such as grew by inserts
-- in random order.  Some keys are there once, some in pairs, some often, some
-- are null: posting list tuples of all lengths beside plain ones.
--
CREATE TABLE bt (
	one int4,
	pair int4,
	many int4,
	bool boolean,
	two int2,
	eight int8,
	at timestamp,
	num numeric,
	real float8,
	id uuid,
	txt text COLLATE "C",
	chr bpchar(12) COLLATE "C",
	mostly_null int4,
	pair_null int4,
	null8 int8,
	always_null int4
) WITH (autovacuum_enabled = off);

CREATE TABLE bt_indexes (name text, definition text);
INSERT INTO bt_indexes VALUES
	('int4', 'btree (one)'),
	('int4_pair', 'btree (pair)'),
	('int4_many', 'btree (many)'),
	('int4_plain', 'btree (many) WITH (deduplicate_items = off)'),
	('bool', 'btree (bool)'),
	('int2', 'btree (two)'),
	('int8', 'btree (eight)'),
	('timestamp', 'btree (at DESC)'),
	('numeric', 'btree (num)'),
	('float8', 'btree (real)'),
	('uuid', 'btree (id)'),
	('text', 'btree (txt)'),
	('bpchar', 'btree (chr) WITH (deduplicate_items = off)'),
	('composite', 'btree (pair, eight, at)'),
	('composite_many', 'btree (many, two)'),
	('composite_text', 'btree (many, txt, one)'),
	('nulls', 'btree (mostly_null)'),
	('nulls_pair', 'btree (pair_null NULLS FIRST)'),
	('nulls_int8', 'btree (null8)'),
	('nulls_composite', 'btree (pair_null, null8, two)'),
	('nulls_all', 'btree (always_null)'),
	('fillfactor_50', 'btree (one) WITH (fillfactor = 50)'),
	('fillfactor_100', 'btree (pair) WITH (fillfactor = 100)'),
	('unique', 'UNIQUE btree (one)'),
	('partial', 'btree (pair) WHERE many < 3'),
	('expression', 'btree (lower(txt), (one % 7))'),
	('include', 'btree (pair) INCLUDE (eight, txt)');

CREATE PROCEDURE bt_create(prefix text)
LANGUAGE plpgsql AS $$
DECLARE
	i record;
BEGIN
	FOR i IN SELECT name,
			CASE WHEN starts_with(definition, 'UNIQUE') THEN 'UNIQUE' ELSE '' END AS uniq,
			replace(definition, 'UNIQUE ', '') AS definition FROM bt_indexes
	LOOP
		EXECUTE format('CREATE %s INDEX %I ON bt USING %s', i.uniq,
			prefix || '_' || i.name, i.definition);
	END LOOP;
END
$$;

CREATE VIEW bt_differences AS
	SELECT c.relname, btree_difference(c.oid) AS difference
	FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
	WHERE i.indrelid = 'bt'::regclass;

-- Empty ones first: nothing but a metapage
CALL bt_create('grown');
SET test.phase = 'empty';
SELECT btree_difference('grown_int4'), btree_difference('grown_float8');
SELECT avg_leaf_density, leaf_fragmentation, live_items, posting_percent
	FROM streamstat.btree_stats('grown_int4');

INSERT INTO bt
	SELECT n, n / 2, n % 20, n % 2 = 0, n % 300, (n / 3)::int8 * 1000000007,
		timestamp '2026-01-01' + n / 2 * interval '1 hour',
		(n / 2)::numeric / 4, (n / 4)::float8 / 3,
		md5((n / 5)::text)::uuid, repeat('y', n / 4 % 9) || n / 4, n / 2,
		CASE WHEN n % 20 = 0 THEN n / 40 END,
		CASE WHEN n % 3 <> 0 THEN n / 6 END,
		CASE WHEN n % 2 <> 0 THEN n / 8 END,
		NULL
	FROM (SELECT (g * 7919 % 5003)::int4 AS n FROM generate_series(1, 5002) g) g;
CALL bt_create('built');
SET test.phase = 'loaded';
SELECT difference, count(*), CASE WHEN difference <> 'none' THEN min(relname) END AS first
	FROM bt_differences GROUP BY 1;
SELECT name, b.tree_level > 0 AS several_levels,
	g.leaf_fragmentation > 20 AS grown_is_fragmented, b.leaf_fragmentation AS built,
	b.posting_percent > 0 AS built_posting, g.posting_percent > 0 AS grown_posting,
	b.posting_percent < 100 AS built_plain,
	-- 16 has made equal bpchar values identical ones
	name <> 'bpchar' AND b.allequalimage AS allequalimage
	FROM bt_indexes, streamstat.btree_stats(('built_' || name)::regclass) b,
		streamstat.btree_stats(('grown_' || name)::regclass) g
	ORDER BY name COLLATE "C";

-- Mass deletes: deleted pages
DELETE FROM bt WHERE one BETWEEN 1000 AND 4000 OR many BETWEEN 4 AND 15;
CALL wait_for_horizon();
VACUUM (INDEX_CLEANUP on, TRUNCATE off) bt;
SET test.phase = 'vacuumed';
SELECT difference, count(*), CASE WHEN difference <> 'none' THEN min(relname) END AS first
	FROM bt_differences GROUP BY 1;
SELECT count(*) >= 10 AS many_have_deleted_pages
	FROM bt_indexes, streamstat.btree_stats(('grown_' || name)::regclass) b
	WHERE b.deleted_pages > 0;

-- All rows
DELETE FROM bt;
CALL wait_for_horizon();
VACUUM (INDEX_CLEANUP on, TRUNCATE off) bt;
SET test.phase = 'emptied';
SELECT btree_difference('grown_int4'), btree_difference('built_text');
SELECT live_items, dead_items, deleted_pages > 10 AS deleted_pages
	FROM streamstat.btree_stats('grown_int4');

--
-- A single page, and more levels than two
--
RESET test.phase;
CREATE TABLE bt_small (i int PRIMARY KEY) WITH (autovacuum_enabled = off);
INSERT INTO bt_small SELECT generate_series(1, 100);
SELECT btree_difference('bt_small_pkey');
SELECT tree_level, internal_pages, leaf_pages, live_items
	FROM streamstat.btree_stats('bt_small_pkey');

CREATE TABLE bt_wide (t text COLLATE "C") WITH (autovacuum_enabled = off);
INSERT INTO bt_wide SELECT lpad(i::text, 480, 'x') FROM generate_series(1, 5000) i;
CREATE INDEX bt_wide_built ON bt_wide (t);
SELECT btree_difference('bt_wide_built');
SELECT tree_level >= 2 AS levels, internal_pages > 10 AS internal_pages
	FROM streamstat.btree_stats('bt_wide_built');

-- In a large index not every page may be asked for its posting lists, where a
-- tuple's length does not tell; all else is exact.  Of three rows here, two
-- have the same key: half of the tuples are posting lists.
CREATE TABLE bt_large (t text COLLATE "C") WITH (autovacuum_enabled = off);
INSERT INTO bt_large
	SELECT lpad(md5(i::text), 400, 'x') FROM generate_series(1, 24000) i
	UNION ALL SELECT lpad(md5(i::text), 400, 'x') FROM generate_series(1, 12000) i;
CREATE INDEX bt_large_t ON bt_large (t);
SELECT blocks('bt_large_t') > 1024 AS large, live_items,
	posting_percent BETWEEN 45 AND 55 AS about_half
	FROM streamstat.btree_stats('bt_large_t');

-- A posting list tuple of nulls may be shorter than a plain one without any.
CREATE TABLE bt_nulls (a int8, b int8, c int8, d int8) WITH (autovacuum_enabled = off);
INSERT INTO bt_nulls
	SELECT CASE WHEN i & 1 <> 0 THEN i END, CASE WHEN i & 2 <> 0 THEN i END,
		CASE WHEN i & 4 <> 0 THEN i END, CASE WHEN i & 8 <> 0 THEN i END
	FROM generate_series(1, 1000) i, generate_series(1, 2) WHERE i & 15 <> 0
	UNION ALL SELECT NULL, NULL, NULL, NULL FROM generate_series(1, 2)
	UNION ALL SELECT i, i, i, i FROM generate_series(2001, 2500) i;
CREATE INDEX bt_nulls_built ON bt_nulls (a, b, c, d);
SELECT btree_difference('bt_nulls_built'), posting_percent BETWEEN 60 AND 70 AS two_thirds
	FROM streamstat.btree_stats('bt_nulls_built');

-- A primary key's columns are not null, those that it includes may be.
CREATE TABLE bt_primary (eight int8, four int4, two int2, one boolean,
	PRIMARY KEY (eight) INCLUDE (four, two, one)) WITH (autovacuum_enabled = off);
INSERT INTO bt_primary SELECT i, i, 1, CASE WHEN i % 2 = 0 THEN true END
	FROM generate_series(1, 1000) i;
CREATE TABLE bt_primary2 (four int4, two int2, PRIMARY KEY (four, two)) WITH (autovacuum_enabled = off);
INSERT INTO bt_primary2 SELECT i / 100, i % 100 FROM generate_series(1, 1000) i;
SELECT btree_difference('bt_primary_pkey') AS including, btree_difference('bt_primary2_pkey') AS two_columns;

--
-- Items marked dead, by index scans that met dead rows
--
CREATE TABLE bt_dead (i int, many int, t text COLLATE "C") WITH (autovacuum_enabled = off);
INSERT INTO bt_dead SELECT i, i % 100, 'key ' || i / 3 FROM generate_series(1, 10000) i;
CREATE INDEX bt_dead_i ON bt_dead (i);
CREATE INDEX bt_dead_many ON bt_dead (many);
CREATE INDEX bt_dead_t ON bt_dead (t);
DELETE FROM bt_dead WHERE many < 30 OR i < 1000;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SET enable_indexonlyscan = off;
CALL wait_for_horizon();
SELECT count(t) FROM bt_dead WHERE i >= 0;
SELECT count(t) FROM bt_dead WHERE many >= 0;
SELECT count(i) FROM bt_dead WHERE t >= '';
RESET enable_seqscan;
RESET enable_bitmapscan;
RESET enable_indexonlyscan;
SELECT i, btree_difference(i), b.dead_items > 10 AS dead, b.live_items > 10 AS live
	FROM unnest('{bt_dead_i, bt_dead_many, bt_dead_t}'::regclass[]) i,
		streamstat.btree_stats(i) b;

--
-- A half-dead page stays only where a VACUUM was cut short.  Append one to a
-- file that has been written out: a copy of a leaf page, with the flags
-- BTP_LEAF and BTP_HALF_DEAD and with its own checksum, which pageinspect
-- computes.  Append one of zeros behind it; pgstatindex takes that for an
-- internal page.
--
CREATE TABLE bt_half (i int) WITH (autovacuum_enabled = off);
INSERT INTO bt_half SELECT generate_series(1, 2000);
CREATE INDEX bt_half_i ON bt_half (i);
CHECKPOINT;
CREATE FUNCTION append_pages() RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
	path text := pg_relation_filepath('bt_half_i');
	file bytea := pg_read_binary_file(path);
	blocks int := length(file) / 8192;
	page bytea := substr(file, 8192 + 1, 8192);
	-- where a word has its low byte: that of the page's layout is 4
	low int := CASE WHEN get_byte(page, 18) = 4 THEN 0 ELSE 1 END;
	sum int;
	file_oid oid;
BEGIN
	IF NOT have_contrib() AND current_setting('data_checksums') = 'on' THEN
		RETURN false;
	END IF;
	-- btpo_flags are the last but one of the page's 16-bit words
	page := set_byte(page, 8188 + low, 17);
	page := set_byte(page, 8189 - low, 0);
	-- of the items, the high key is left: pd_lower
	page := set_byte(page, 12 + low, 28);
	page := set_byte(page, 13 - low, 0);
	IF have_contrib() THEN
		EXECUTE 'SELECT contrib.page_checksum($1, $2)' INTO sum USING page, blocks;
		page := set_byte(page, 8 + low, sum & 255);
		page := set_byte(page, 9 - low, (sum >> 8) & 255);
	END IF;
	file_oid := lo_from_bytea(0, file || page || decode(repeat('00', 8192), 'hex'));
	PERFORM lo_export(file_oid, path);
	PERFORM lo_unlink(file_oid);
	RETURN true;
END
$$;
CREATE TABLE bt_before AS
	SELECT *, pg_relation_size('bt_half_i') / 8192 AS blocks
	FROM streamstat.btree_stats('bt_half_i');
SELECT append_pages() AS appended \gset
SELECT NOT :'appended' OR
		(a.empty_pages = 1 AND b.empty_pages = 0 AND a.new_pages = 1 AND
		 a.first_new_block = b.blocks + 1 AND a.corrupt_pages = 0 AND
		 a.leaf_pages = b.leaf_pages AND a.live_items = b.live_items AND
		 a.internal_pages = b.internal_pages AND a.free_bytes = b.free_bytes) AS ours,
	NOT :'appended' OR
		(p.empty_pages = 1 AND p.internal_pages = b.internal_pages + 1 AND
		 p.leaf_pages = b.leaf_pages) AS drop_in
	FROM streamstat.btree_stats('bt_half_i') a, bt_before b,
		streamstat.pgstatindex('bt_half_i'::regclass) p;
-- contrib's looks behind the page of zeros, where a server with assertions ends.
CREATE FUNCTION same_as_contrib(index regclass) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
	result boolean := true;
BEGIN
	IF have_contrib() AND (index::text <> 'bt_half_i' OR
		NOT current_setting('debug_assertions')::boolean) THEN
		EXECUTE 'SELECT a IS NOT DISTINCT FROM b
			FROM (SELECT (x).* FROM streamstat.pgstatindex($1) x) a,
				(SELECT (x).* FROM contrib.pgstatindex($1) x) b' INTO result USING index;
	END IF;
	RETURN result;
END
$$;
SELECT same_as_contrib('bt_half_i');
DROP TABLE bt_half;

-- Temporary tables are read through local buffers.
CREATE TEMP TABLE bt_temp AS SELECT i FROM generate_series(1, 20000) i;
CREATE INDEX bt_temp_i ON bt_temp (i);
SELECT same_as_contrib('bt_temp_i'), leaf_pages > 40 AS pages, live_items
	FROM streamstat.btree_stats('bt_temp_i');
