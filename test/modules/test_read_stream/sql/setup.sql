--
-- What the other tests share
--
CREATE EXTENSION test_read_stream;

CREATE FUNCTION bundled() RETURNS boolean
LANGUAGE sql STABLE
BEGIN ATOMIC
	SELECT bundled FROM last_read_stream();
END;

-- A table of more pages than a stream will look ahead
CREATE TABLE t (i int, txt text) WITH (autovacuum_enabled = off);
INSERT INTO t SELECT i, repeat('x', 500) FROM generate_series(1, 5000) i;
VACUUM t;
SELECT pg_relation_size('t') / current_setting('block_size')::int > 300 AS blocks;

CREATE FUNCTION seq(first int, last int, step int DEFAULT 1) RETURNS int[]
LANGUAGE sql IMMUTABLE
BEGIN ATOMIC
	SELECT array_agg(i ORDER BY n)
	FROM generate_series(first, last, step) WITH ORDINALITY g(i, n);
END;

-- Does the stream deliver these blocks, in this order?
CREATE FUNCTION delivers(rel regclass, blocks int[], flags int DEFAULT 0,
	reset_after int DEFAULT 0, end_after int DEFAULT 0,
	combine_limit int DEFAULT 16)
RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	delivered int[];
	expected int[];
	l record;
BEGIN
	SELECT array_agg(coalesce(block, -1) ORDER BY n) INTO delivered
		FROM read_stream_for_blocks(rel, blocks, flags, reset_after, end_after,
			combine_limit)
			WITH ORDINALITY r(pos, block, n);
	SELECT * INTO l FROM last_read_stream();

	-- the last end is seen unless the stream was ended before
	expected := CASE WHEN end_after > 0 THEN blocks[1 : end_after]
		WHEN blocks[cardinality(blocks)] = -1 THEN blocks ELSE blocks || -1 END;
	RETURN CASE
		WHEN delivered IS DISTINCT FROM expected THEN delivered::text
		WHEN l.calls_after_end > 0 THEN 'callback called after the end'
		WHEN l.buffers_after_end > 0 THEN 'a buffer after the end'
		ELSE 'yes' END;
END
$$;
