--
-- Per-buffer data: each block has its own, and keeps it until the next call.
--
CREATE TEMP TABLE temp AS SELECT * FROM t;
CREATE INDEX temp_data ON temp (i) INCLUDE (txt) WITH (fillfactor = 60);
CREATE INDEX t_data ON t (i) INCLUDE (txt) WITH (fillfactor = 60);
SELECT size, count(*), delivers(rel, blocks, flags, size) AS delivers
	FROM cases, unnest('{t, t_data, temp_data}'::regclass[]) rel,
		unnest('{0, 5}'::int[]) flags, unnest('{1, 8, 13}'::int[]) size
	GROUP BY 1, 3 ORDER BY 1;

-- cold in each case
CREATE FUNCTION delivers_data(blocks int[], flags int, size int, reset_after int DEFAULT 0,
	end_after int DEFAULT 0)
RETURNS text
LANGUAGE plpgsql AS $$
BEGIN
	REINDEX INDEX t_data;
	RETURN delivers('t_data', blocks, flags, size, reset_after, end_after);
END
$$;
SELECT count(*), delivers_data(blocks, flags, size) AS delivers
	FROM cases, unnest('{0, 5}'::int[]) flags, unnest('{1, 24}'::int[]) size
	GROUP BY 2;
SELECT count(*), delivers_data(blocks, 5, 8, after) AS reset
	FROM cases, unnest('{1, 5, 33}'::int[]) after
	GROUP BY 2;
SELECT count(*), delivers_data(blocks, 5, 8, 0, after) AS ended
	FROM cases, unnest('{1, 5, 33}'::int[]) after
	WHERE cardinality(blocks) >= after AND NOT -1 = ANY (blocks)
	GROUP BY 2;

-- Larger than a page, and many of them
SELECT delivers_data(seq(0, 299), 5, 10000);
