--
-- layout_map: where in the file the space is
--
SET client_min_messages = warning;

-- A fifth full, a fifth dead, a fifth removed, two fifths full
CREATE TABLE l (n int, t text) WITH (autovacuum_enabled = off);
INSERT INTO l SELECT g, repeat('x', 100) FROM generate_series(1, 25000) g;
CREATE INDEX l_n ON l (n);
DELETE FROM l WHERE n BETWEEN 10001 AND 15000;
CALL wait_for_horizon();
VACUUM (TRUNCATE off) l;
DELETE FROM l WHERE n BETWEEN 5001 AND 10000;
CALL wait_for_horizon();
SELECT bucket, round(free_percent / 10) AS free, round(dead_percent / 10) AS dead, bar
	FROM streamstat.layout_map('l', 5);
SELECT bucket, round(free_percent / 20) AS free, dead_percent, bar
	FROM streamstat.layout_map('l_n', 5);

-- The buckets cover all blocks once, whatever their number.
SELECT relation, buckets, count(*) = least(buckets, blocks(relation)) AS number,
		min(first_block) = 0 AND max(last_block) = blocks(relation) - 1 AND
		sum(last_block - first_block + 1) = blocks(relation) AS all_blocks,
		bool_and(first_block = (SELECT sum(p.last_block - p.first_block + 1)
			FROM streamstat.layout_map(relation, buckets) p WHERE p.bucket < m.bucket) OR bucket = 1) AS in_order,
		max(last_block - first_block) - min(last_block - first_block) <= 1 AS equal,
		bool_and(length(bar) = 40) AS bars
	FROM unnest('{l, l_n}'::regclass[]) relation, unnest('{1, 7, 64}'::int[]) buckets,
		streamstat.layout_map(relation, buckets) m
	GROUP BY relation, buckets ORDER BY 1, 2;
SELECT count(*) = blocks('l') FROM streamstat.layout_map('l', 10000);
SELECT count(*) FROM streamstat.layout_map('l');

-- Together they say what table_stats says.
SELECT abs(sum(m.free_percent * (last_block - first_block + 1)) / pages - s.free_percent) < 0.01 AS free,
		abs(sum(m.dead_percent * (last_block - first_block + 1)) / pages - s.dead_tuple_percent) < 0.01 AS dead
	FROM streamstat.layout_map('l') m, streamstat.table_stats('l') s
	GROUP BY pages, s.free_percent, s.dead_tuple_percent;

-- In buffers
SELECT streamstat.pg_prewarm('l') = blocks('l') AS prewarmed;
SELECT min(buffered_percent) FROM streamstat.layout_map('l');
SELECT count(*) FILTER (WHERE page_cache_percent NOT BETWEEN 0 AND 100) FROM streamstat.layout_map('l', 100);

-- Nothing, and other kinds
CREATE TABLE l_empty (n int);
SELECT count(*) FROM streamstat.layout_map('l_empty');
CREATE SEQUENCE l_seq;
SELECT bucket, first_block, last_block, dead_percent FROM streamstat.layout_map('l_seq');
CREATE TEMP TABLE l_temp AS SELECT * FROM l WHERE n <= 5000;
SELECT count(*), sum(dead_percent) FROM streamstat.layout_map('l_temp', 8);
SELECT error_of('SELECT streamstat.layout_map(''l'', 0)');
SELECT error_of('SELECT streamstat.layout_map(''l'', 10001)');
SELECT error_of('SELECT streamstat.layout_map(''l'', NULL)');
SELECT error_of('SELECT streamstat.layout_map(NULL)');
SELECT error_of('SELECT streamstat.layout_map(''i_part'')');
