--
-- Chunks: every block in one of them, in order; small ones towards the end
--
CREATE EXTENSION test_source;

CREATE FUNCTION check_chunks(first int8, past_last int8, participants int, OUT chunks int8,
	OUT whole boolean, OUT aligned boolean, OUT shrinking boolean, OUT first_blocks int8, OUT last_blocks int8)
LANGUAGE sql AS $$
SELECT count(*),
	min(chunk_first) = first AND max(chunk_end) = past_last AND
		bool_and(chunk_first < chunk_end AND chunk_first = coalesce(before, first)),
	-- within the relation, on the smallest chunk's size
	bool_and(chunk_first = first OR chunk_first % 16 = 0),
	-- but for the first, that alignment may cut short, and the last
	bool_and(size <= size_before OR n = 2),
	(array_agg(size ORDER BY n))[1], (array_agg(size ORDER BY n DESC))[1]
FROM (SELECT *, chunk_end - chunk_first AS size,
		lag(chunk_end) OVER (ORDER BY n) AS before,
		coalesce(lag(chunk_end - chunk_first) OVER (ORDER BY n), 1000000) AS size_before
	FROM chunks(first, past_last, participants)) c
$$;

SELECT first, past_last, participants, c.*
	FROM (VALUES (0, 40961, 2), (0, 40961, 5), (0, 16384, 2), (0, 1000000, 3),
		(100, 24676, 3), (63, 16500, 2), (64, 16448, 2), (131000, 147500, 2)) v(first, past_last, participants),
	LATERAL check_chunks(first, past_last, participants) c;

-- The last chunks are no longer than the smallest, one for each participant and more.
SELECT participants, bool_and(chunk_end - chunk_first <= 16)
	FROM generate_series(2, 5) participants, LATERAL chunks(0, 131072, participants)
	WHERE chunk_end > 131072 - 16 * participants
	GROUP BY participants ORDER BY participants;

-- Few blocks, one, none
SELECT v.*, c.* FROM (VALUES (0, 0), (0, 1), (5, 5), (5, 6), (0, 63), (0, 64), (0, 65), (60, 70), (7, 3)) v(a, b),
	LATERAL chunks(a, b, 2) c;

-- The end of the largest relation there can be
SELECT c.* FROM check_chunks(4294967294 - 100000, 4294967294, 5) c;
