--
-- hash_stats and pgstathashindex beside contrib's
--
SET client_min_messages = warning;

CREATE TABLE h (one int4, many int4, txt text) WITH (autovacuum_enabled = off);
CREATE INDEX h_empty ON h USING hash (one);
SELECT hash_difference('h_empty');
SELECT bucket_pages, overflow_pages, live_items, free_percent
	FROM streamstat.hash_stats('h_empty');

-- Many equal keys need overflow pages, growth leaves new pages behind.
CREATE INDEX h_grown ON h USING hash (one);
CREATE INDEX h_grown_many ON h USING hash (many);
CREATE INDEX h_grown_txt ON h USING hash (txt);
-- A bucket is not split as long as another process has pinned it.
CALL wait_for_horizon();
INSERT INTO h SELECT n, n % 7, 'key ' || n / 3
	FROM (SELECT g * 7919 % 10007 AS n FROM generate_series(1, 10006) g) g;
CREATE INDEX h_built ON h USING hash (one);
CREATE INDEX h_built_many ON h USING hash (many);
CREATE INDEX h_partial ON h USING hash (one) WHERE many = 3;
CREATE INDEX h_expression ON h USING hash ((one / 100)) WITH (fillfactor = 50);

CREATE VIEW h_differences AS
	SELECT c.relname, hash_difference(c.oid) AS difference
	FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
	WHERE i.indrelid = 'h'::regclass;

SET test.phase = 'loaded';
SELECT relname, difference, bucket_pages > 0 AS buckets, overflow_pages > 0 AS overflow,
		bitmap_pages, new_pages > 0 AS new, live_items
	FROM h_differences, streamstat.hash_stats(relname::regclass)
	ORDER BY relname COLLATE "C";

-- Items marked dead, by index scans that met dead rows
DELETE FROM h WHERE one < 2000 AND many < 3;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
CALL wait_for_horizon();
SET plan_cache_mode = force_generic_plan;
DO $$
BEGIN
	FOR n IN 0 .. 500 LOOP
		PERFORM txt FROM h WHERE one = n;
	END LOOP;
	FOR n IN 0 .. 6 LOOP
		PERFORM one FROM h WHERE many = n;
	END LOOP;
END
$$;
RESET enable_seqscan;
RESET enable_bitmapscan;
RESET plan_cache_mode;
SET test.phase = 'dead';
CALL wait_for_horizon();
SELECT difference, count(*), CASE WHEN difference <> 'none' THEN min(relname) END AS first,
		sum(dead_items) > 200 AS dead
	FROM h_differences, streamstat.hash_stats(relname::regclass) GROUP BY 1;

-- Overflow pages that VACUUM has set free
DELETE FROM h WHERE one > 1000;
CALL wait_for_horizon();
VACUUM (INDEX_CLEANUP on, TRUNCATE off) h;
SET test.phase = 'vacuumed';
SELECT difference, count(*), CASE WHEN difference <> 'none' THEN min(relname) END AS first,
		count(*) FILTER (WHERE unused_pages > new_pages) >= 2 AS freed,
		sum(dead_items) AS dead_items, min(live_items) < 1000 AS deleted
	FROM h_differences, streamstat.hash_stats(relname::regclass) GROUP BY 1;
RESET test.phase;
