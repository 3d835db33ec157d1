--
-- What the bundled read stream tells the kernel.  On the server's own stream
-- there is nothing to see: all comparisons are with "or not bundled".
--
CREATE INDEX t_advice ON t (i) INCLUDE (txt) WITH (fillfactor = 60);

-- Read the blocks of the index, cold but for those of "warm"
CREATE FUNCTION advice(blocks int[], flags int DEFAULT 5, combine_limit int DEFAULT 16,
	warm int[] DEFAULT '{}', concurrency int DEFAULT NULL, reset_after int DEFAULT 0, OUT calls int8, OUT advised int8, OUT look_ahead int8)
LANGUAGE plpgsql AS $$
BEGIN
	IF concurrency IS NOT NULL THEN
		PERFORM set_config('maintenance_io_concurrency', concurrency::text, false);
	END IF;
	REINDEX INDEX t_advice;
	PERFORM read_stream_for_blocks('t_advice', warm);
	PERFORM read_stream_for_blocks('t_advice', blocks, flags, reset_after, 0, combine_limit);
	SELECT advice_calls, advice_blocks, look_ahead_max INTO calls, advised, look_ahead
		FROM last_read_stream();
END
$$;

SET maintenance_io_concurrency = 10;
SET effective_io_concurrency = 10;

-- Neighbours together, up to the combine limit, each block once
SELECT advised BETWEEN 495 AND 500 AND calls BETWEEN 31 AND 36 OR NOT bundled() AS all_together
	FROM advice(seq(0, 499));
SELECT combine_limit, calls BETWEEN 500 / combine_limit - 1 AND 500 / combine_limit + 10 AND
		advised BETWEEN 480 AND 500 OR NOT bundled() AS all_together
	FROM unnest('{1, 2, 5, 32}'::int[]) combine_limit, advice(seq(0, 499), 5, combine_limit);
SELECT calls BETWEEN 10 AND 14 AND advised BETWEEN 95 AND 100 OR NOT bundled() AS runs_of_10
	FROM advice((SELECT array_agg(i / 10 * 20 + i % 10 ORDER BY i) FROM generate_series(0, 99) i));

-- No neighbours, or in the wrong order: one by one
SELECT calls = advised AND calls BETWEEN 240 AND 250 OR NOT bundled() AS every_other
	FROM advice(seq(0, 498, 2));
SELECT calls = advised AND calls BETWEEN 490 AND 500 OR NOT bundled() AS backwards
	FROM advice(seq(499, 0, -1));

-- Blocks in shared buffers: none; beside them, the others only
SELECT calls = 0 OR NOT bundled() AS all_warm
	FROM advice(seq(0, 499), 5, 16, seq(0, 499));
SELECT advised BETWEEN 230 AND 250 OR NOT bundled() AS half_warm
	FROM advice(seq(0, 499), 5, 16, seq(0, 249));
SELECT calls = advised AND calls BETWEEN 230 AND 250 OR NOT bundled() AS warm_by_turns
	FROM advice(seq(0, 499), 5, 16, seq(0, 498, 2));
SELECT calls BETWEEN 100 AND 126 AND advised BETWEEN 350 AND 376 OR NOT bundled() AS each_fourth_warm
	FROM advice(seq(0, 499), 5, 16, seq(0, 499, 4));

-- Look-ahead starts at one block, or at the combine limit with READ_STREAM_FULL,
-- and stays there as long as all blocks are found in buffers.
SELECT look_ahead = 1 OR NOT bundled() AS from_one
	FROM advice(seq(0, 499), 1, 16, seq(0, 499));
SELECT look_ahead = 16 OR NOT bundled() AS full
	FROM advice(seq(0, 499), 5, 16, seq(0, 499));
SELECT calls = 0 AND look_ahead = 1 OR NOT bundled() AS first_block
	FROM advice('{3}', 1);
-- It grows while blocks have to be read, to what the I/O concurrency allows.
SELECT concurrency, look_ahead BETWEEN 16 AND (concurrency + 1) * 16 OR NOT bundled() AS full,
		calls > 20 OR NOT bundled() AS advice
	FROM unnest('{1, 2, 5}'::int[]) concurrency,
		advice(seq(0, 499), 5, 16, '{}', concurrency);
SELECT concurrency, look_ahead BETWEEN concurrency AND concurrency + 1 OR NOT bundled() AS one_by_one
	FROM unnest('{1, 2, 5, 20}'::int[]) concurrency,
		advice(seq(0, 498, 2), 5, 16, '{}', concurrency);
-- After a reset it begins anew, with nothing left of the time before.
SELECT reset_after, advised > 350 AND look_ahead BETWEEN 17 AND 48 OR NOT bundled() AS again
	FROM unnest('{41, 50, 100}'::int[]) reset_after,
		advice(seq(0, 499), 1, 16, '{}', 2, reset_after);
-- It is never more than a fair share of the buffer pool.
SET maintenance_io_concurrency = 1000;
SELECT look_ahead <= (SELECT setting::int FROM pg_settings WHERE name = 'shared_buffers') /
			current_setting('max_connections')::int OR NOT bundled() AS fair
	FROM advice(seq(0, 499), 5, 128);

-- Zero means none; each of the two settings has its own streams.
SET maintenance_io_concurrency = 0;
SELECT calls = 0 AND look_ahead = 1 OR NOT bundled() AS none
	FROM advice(seq(0, 499));
SELECT calls > 20 OR NOT bundled() AS other_setting
	FROM advice(seq(0, 499), 4);
SET maintenance_io_concurrency = 10;
SET effective_io_concurrency = 0;
SELECT calls = 0 AND look_ahead = 1 OR NOT bundled() AS none
	FROM advice(seq(0, 499), 4);
SELECT calls > 20 OR NOT bundled() AS other_setting
	FROM advice(seq(0, 499));
RESET effective_io_concurrency;

-- Whoever says that the kernel will see the order by itself gets no advice.
SELECT calls = 0 OR NOT bundled() AS sequential
	FROM advice(seq(0, 499), 7);

-- A tablespace that has a setting of its own
SET allow_in_place_tablespaces = on;
CREATE TABLESPACE regress_read_stream LOCATION '' WITH (maintenance_io_concurrency = 0);
ALTER INDEX t_advice SET TABLESPACE regress_read_stream;
SELECT calls = 0 OR NOT bundled() AS tablespace_without
	FROM advice(seq(0, 499));
ALTER TABLESPACE regress_read_stream SET (maintenance_io_concurrency = 3);
SET maintenance_io_concurrency = 0;
SELECT calls > 20 AND look_ahead BETWEEN 17 AND 64 OR NOT bundled() AS tablespace_with
	FROM advice(seq(0, 499));
DROP INDEX t_advice;
DROP TABLESPACE regress_read_stream;
