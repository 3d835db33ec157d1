--
-- A cancel may arrive while the callback names blocks, in batch mode as well.
--
-- Nothing of a table in a new place is in buffers.
SET allow_in_place_tablespaces = on;
CREATE TABLESPACE test_read_stream_place LOCATION '';
CREATE TABLE cold TABLESPACE test_read_stream_place AS SELECT * FROM t;
CHECKPOINT;
ALTER TABLE cold SET TABLESPACE pg_default;

-- READ_STREAM_FULL, with and without READ_STREAM_USE_BATCHING of 18
SELECT count(*) FROM read_stream_for_blocks('cold', seq(0, 99) || -2 || seq(100, 199), 12);
SELECT count(*) FROM read_stream_for_blocks('cold', seq(0, 299, 3) || -2, 12);
SELECT count(*) FROM read_stream_for_blocks('cold', seq(0, 299, 5) || -2, 4);

-- Caught, so that the transaction goes on
CREATE FUNCTION canceled(blocks int[], flags int) RETURNS text
LANGUAGE plpgsql AS $$
BEGIN
	PERFORM read_stream_for_blocks('cold', blocks, flags);
	RETURN 'no';
EXCEPTION WHEN query_canceled THEN
	RETURN 'yes, ' || delivers('cold', seq(0, 299), flags);
END;
$$;
SELECT canceled(seq(0, 299, 2) || -2, flags) FROM (VALUES (12), (4)) f(flags);

-- What was being read is there.
SELECT delivers('cold', seq(0, 299), flags) FROM (VALUES (12), (4)) f(flags);
DROP TABLE cold;
DROP TABLESPACE test_read_stream_place;
