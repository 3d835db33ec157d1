--
-- Which blocks are in buffers: when all buffers are scanned for that, and what is found
--
CREATE EXTENSION test_buffered;
SHOW shared_buffers;

-- Some 270 blocks, all of them in buffers
CREATE TABLE cached AS SELECT i AS k FROM generate_series(1, 60000) i;
SELECT count(*) FROM cached;

-- Look up blocks in runs of 32, or single ones that are some blocks apart, as a stream
-- does: a run is looked at again when eight others have been looked up behind it. In
-- block wal_at the WAL advances. A window has 8192 blocks; a scan of the 16384 buffers
-- costs as much as 2048 look-ups.
CREATE FUNCTION scan(blocks int8, stride int8 DEFAULT 1, wal_at int8 DEFAULT -1, OUT markings int8, OUT wrong int8)
LANGUAGE plpgsql AS $$
DECLARE
	step int8 := CASE stride WHEN 1 THEN 32 ELSE stride END;
	run int8 := CASE stride WHEN 1 THEN (1::int8 << 32) - 1 ELSE 1 END;
	first int8 := 0;
BEGIN
	PERFORM buffered_begin(blocks / stride);
	wrong := 0;
	WHILE first < blocks LOOP
		IF wal_at BETWEEN first AND first + step - 1 THEN
			PERFORM advance_wal();
		END IF;
		IF buffered_find('cached', first, run) <> buffered_one_by_one('cached', first, run) THEN
			wrong := wrong + 1;
		END IF;
		IF first >= 8 * step AND buffered_find('cached', first - 8 * step, run, true) <>
			buffered_one_by_one('cached', first - 8 * step, run) THEN
			wrong := wrong + 1;
		END IF;
		first := first + step;
	END LOOP;
	markings := buffered_markings();
END;
$$;

-- Each window is marked once, whatever is looked at again behind its beginning.
SELECT * FROM scan(3 * 8192);
SELECT * FROM scan(3 * 8192, 2);
-- not for the few blocks of the last one
SELECT * FROM scan(2 * 8192 + 1000);
-- A sample with ten blocks in each window marks none, of however many windows.
SELECT * FROM scan(600 * 8192, 800);
-- as many as are saved at 4: 2048 in a window
SELECT * FROM scan(4 * 8192, 4);
-- A small relation
SELECT * FROM scan(2000);

-- After the WAL has advanced, marks are of no use; but those of the next window are, unless
-- that was too soon.
SELECT * FROM scan(3 * 8192, wal_at => 6000);
SELECT * FROM scan(3 * 8192, wal_at => 1000);

-- Are the blocks of the table found?
CREATE FUNCTION find_cached(OUT many boolean, OUT wrong int8)
LANGUAGE sql AS $$
SELECT sum(length(replace(f::bit(64)::text, '0', ''))) > 200, count(*) FILTER (WHERE f <> t)
FROM generate_series(0, 255, 64) first, buffered_find('cached', first, -1) f,
	buffered_one_by_one('cached', first, -1) t
$$;

-- Marks are of one window: of another one, that is not worth a scan, they say nothing.
SELECT buffered_begin(8192);
SELECT count(buffered_find('cached', i, -1)) FROM generate_series(8192, 16383, 64) i;
SELECT * FROM find_cached();
SELECT buffered_markings();

-- A scan of the buffers can be canceled, and nobody believes its marks.
SELECT buffered_begin(3 * 8192);
SELECT count(buffered_find('cached', i, -1)) FROM generate_series(4096, 4096 + 511, 64) i;
SELECT buffered_markings();
SELECT cancel_in_find();
SELECT buffered_find('cached', 4096 + 512, -1);
SELECT * FROM find_cached();
