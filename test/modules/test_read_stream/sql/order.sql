--
-- Blocks come in the order in which the callback names them.
--
CREATE TABLE cases (n serial, what text, blocks int[]);
INSERT INTO cases (what, blocks) VALUES
	('nothing', '{}'),
	('one block', '{7}'),
	('the same block', '{5, 5}'),
	('two neighbours', '{5, 6}'),
	('forwards', seq(0, 299)),
	('backwards', seq(299, 0, -1)),
	('every other', seq(1, 299, 2)),
	('every other backwards', seq(299, 1, -2)),
	('far apart', seq(0, 299, 61)),
	('short runs', '{0, 1, 2, 10, 11, 12, 13, 20, 30, 31, 40, 41, 42, 43, 44, 45}'),
	('there and back', seq(0, 99) || seq(99, 0, -1)),
	('repeated', array_fill(3, '{200}')),
	('in pairs', (SELECT array_agg(i / 2 ORDER BY i) FROM generate_series(0, 299) i)),
	('two at a time by turns', (SELECT array_agg(CASE i % 2 WHEN 0 THEN i / 2 ELSE 299 - i / 2 END ORDER BY i)
		FROM generate_series(0, 299) i)),
	('shuffled', (SELECT array_agg(i * 7919 % 299 ORDER BY i) FROM generate_series(0, 598) i)),
	('mostly the same', (SELECT array_agg(CASE WHEN i % 17 = 0 THEN i * 31 % 299 ELSE 250 END ORDER BY i)
		FROM generate_series(0, 500) i)),
	('only an end', '{-1}'),
	('ends only', '{-1, -1, -1}'),
	('an end first', '{-1, 4, 5}'),
	('an end in the middle', seq(0, 99) || -1 || seq(50, 149)),
	('an end at the end', '{4, 5, -1}'),
	('several ends', seq(0, 20) || -1 || seq(10, 0, -1) || -1 || -1 || seq(100, 200) || -1),
	('an end after each', (SELECT array_agg(CASE WHEN i % 2 = 0 THEN i ELSE -1 END ORDER BY i)
		FROM generate_series(0, 99) i));

-- READ_STREAM_DEFAULT, _MAINTENANCE, _SEQUENTIAL, _FULL, and both of the first
-- and last.  Twice: at first, blocks may have to be read.
CREATE INDEX t_cold ON t (i) INCLUDE (txt) WITH (fillfactor = 60);
SELECT pg_relation_size('t_cold') / current_setting('block_size')::int > 300 AS blocks;
SELECT what, delivers('t_cold', blocks, 0) AS cold, delivers('t_cold', blocks, 0) AS again,
		delivers('t', blocks, 1) AS maintenance, delivers('t', blocks, 2) AS sequential,
		delivers('t', blocks, 4) AS full, delivers('t', blocks, 5) AS full_maintenance
	FROM cases ORDER BY n;

-- The same, all cold in each case.  A b-tree's build writes past the buffers.
CREATE FUNCTION delivers_cold(blocks int[], flags int, combine_limit int DEFAULT 16,
	reset_after int DEFAULT 0)
RETURNS text
LANGUAGE plpgsql AS $$
BEGIN
	REINDEX INDEX t_cold;
	RETURN delivers('t_cold', blocks, flags, reset_after, 0, combine_limit);
END
$$;
SELECT what, delivers_cold(blocks, 0) AS usual, delivers_cold(blocks, 1) AS maintenance,
		delivers_cold(blocks, 5) AS full_maintenance, delivers_cold(blocks, 4, 1) AS uncombined,
		delivers_cold(blocks, 5, 5) AS combined_by_5
	FROM cases WHERE cardinality(blocks) >= 16 ORDER BY n;

-- Whatever the settings
SET maintenance_io_concurrency = 0;
SELECT count(*), delivers_cold(blocks, 5) AS concurrency_0 FROM cases GROUP BY 2;
SET maintenance_io_concurrency = 1;
SELECT count(*), delivers_cold(blocks, 5) AS concurrency_1 FROM cases GROUP BY 2;
SET maintenance_io_concurrency = 1000;
SELECT count(*), delivers_cold(blocks, 5) AS concurrency_1000 FROM cases GROUP BY 2;
RESET maintenance_io_concurrency;

-- Reset or ended in the middle
SELECT after, count(*), delivers('t_cold', blocks, 1, after) AS reset,
		delivers('t', blocks, 5, after) AS full
	FROM cases, unnest('{1, 2, 3, 7, 16, 17, 50}'::int[]) after
	GROUP BY 1, 3, 4 ORDER BY 1;
SELECT after, count(*), delivers_cold(blocks, 5, 16, after) AS cold
	FROM cases, unnest('{1, 5, 33}'::int[]) after
	GROUP BY 1, 3 ORDER BY 1;
SELECT after, count(*), delivers('t', blocks, 5, 0, after) AS ended
	FROM cases, unnest('{1, 2, 3, 7, 16, 17, 50}'::int[]) after
	WHERE cardinality(blocks) >= after AND NOT -1 = ANY (blocks)
	GROUP BY 1, 3 ORDER BY 1;

-- Relations smaller than any look-ahead, and temporary ones
CREATE TABLE small AS SELECT 1 AS i;
SELECT delivers('small', '{0}'), delivers('small', '{0, 0, 0}', 5), delivers('small', '{}', 4);
CREATE TABLE few AS SELECT i, repeat('x', 500) FROM generate_series(1, 40) i;
SELECT delivers('few', '{0, 1, 2}', 4), delivers('few', '{2, 1, 0, 2, 2}', 1);

SET temp_buffers = 200;
CREATE TEMP TABLE temp AS SELECT * FROM t;
CREATE INDEX temp_cold ON temp (i) INCLUDE (txt) WITH (fillfactor = 60);
SELECT rel, count(*), delivers(rel, blocks, flags) AS delivers
	FROM cases, unnest('{temp_cold, temp}'::regclass[]) rel, unnest('{0, 1, 2, 4, 5}'::int[]) flags
	GROUP BY 1, 3 ORDER BY 1;

-- Other forks
SELECT count(*) > 1 AS blocks, bool_and(block = pos - 1) AS right
	FROM read_stream_for_blocks('t', '{0, 1, 2}', 4, 0, 0, 16, 'fsm') WHERE pos IS NOT NULL;
SELECT * FROM read_stream_for_blocks('t', '{0}', 4, 0, 0, 16, 'vm');

-- A block that is not there: an error, after which all goes on.
\set VERBOSITY sqlstate
SELECT count(*) FROM read_stream_for_blocks('t', seq(0, 100) || 100000);
SELECT count(*) FROM read_stream_for_blocks('t', seq(0, 100) || 100000, 5);
\set VERBOSITY default
SELECT delivers('t', seq(0, 100), 5);
