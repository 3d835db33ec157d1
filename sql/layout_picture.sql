--
-- layout_picture, and samples of layout_map
--
SET client_min_messages = warning;

-- A fifth full, a fifth dead, a fifth removed, two fifths full
CREATE TABLE pic (n int, t text) WITH (autovacuum_enabled = off);
INSERT INTO pic SELECT g, repeat('x', 100) FROM generate_series(1, 25000) g;
CREATE INDEX pic_n ON pic (n);
DELETE FROM pic WHERE n BETWEEN 10001 AND 15000;
CALL wait_for_horizon();
VACUUM (TRUNCATE off) pic;
DELETE FROM pic WHERE n BETWEEN 5001 AND 10000;
CALL wait_for_horizon();

-- What is cached depends on more than this session.
SELECT first_block, CASE WHEN picture ~ '^[SPBspb.]+$' AND first_block IS NULL THEN 'caches' ELSE picture END AS picture
	FROM streamstat.layout_picture('pic', 50, 20);
SELECT first_block, picture FROM streamstat.layout_picture('pic_n', 40, 40) WHERE first_block IS NOT NULL;
SELECT count(*) FILTER (WHERE first_block IS NOT NULL) AS lines, max(length(picture)) AS width
	FROM streamstat.layout_picture('pic');

-- Each character says what layout_map says of the bucket.
CREATE TABLE glyphs AS
	SELECT m.*, CASE WHEN dead_percent >= 50 THEN 'X' WHEN dead_percent >= 20 THEN 'x'
			WHEN 100 - free_percent - dead_percent >= 75 THEN '#' WHEN 100 - free_percent - dead_percent >= 50 THEN '='
			WHEN 100 - free_percent - dead_percent >= 25 THEN '-' ELSE '.' END AS contents
	FROM streamstat.layout_map('pic', 90) m;
SELECT string_agg(picture, '' ORDER BY first_block) = (SELECT string_agg(contents, '' ORDER BY bucket) FROM glyphs) AS contents,
		array_agg(first_block ORDER BY first_block) = (SELECT array_agg(first_block ORDER BY bucket) FROM glyphs WHERE bucket % 17 = 1) AS first_blocks
	FROM streamstat.layout_picture('pic', 90, 17) WHERE first_block IS NOT NULL;
SELECT streamstat.pg_prewarm('pic') = blocks('pic') AS prewarmed;
SELECT count(*) AS lines FROM streamstat.layout_picture('pic', 90, 30) WHERE picture ~ '^[SB]+$';

-- Only members of pg_monitor see what is cached.
CREATE ROLE regress_pictures IN ROLE pg_stat_scan_tables;
GRANT SELECT ON pic TO regress_pictures;
SET ROLE regress_pictures;
SELECT picture FROM streamstat.layout_picture('pic', 5, 5);
SELECT count(*), count(buffered_percent), count(page_cache_percent) FROM streamstat.layout_map('pic', 5, 50);
RESET ROLE;
REVOKE ALL ON pic FROM regress_pictures;
DROP ROLE regress_pictures;

-- A sample reads so many blocks, the same in each call; as many of each bucket.
SELECT bucket, round(free_percent / 10) AS free, round(dead_percent / 10) AS dead, bar FROM streamstat.layout_map('pic', 5, 52);
SELECT blocks_requested FROM streamstat.stream_stats();
SELECT count(*) AS other_rows FROM (SELECT bucket, bar, free_percent FROM streamstat.layout_map('pic', 64, 200)
	EXCEPT SELECT bucket, bar, free_percent FROM streamstat.layout_map('pic', 64, 200)) d;
SELECT count(*) AS buckets, min(first_block) = 0 AND max(last_block) = blocks('pic') - 1 AS whole
	FROM streamstat.layout_map('pic', 64, 10);
SELECT picture FROM streamstat.layout_picture('pic', 50, 50, 100) WHERE first_block IS NOT NULL;

-- All blocks together, or bucket by bucket: the same
SELECT bool_and(abs(a.free_percent - b.free_percent) < 1e-9 AND abs(a.dead_percent - b.dead_percent) < 1e-9) AS same, count(*)
	FROM streamstat.layout_map('pic', 3) a JOIN LATERAL
		(SELECT sum(free_percent * (last_block - first_block + 1)) / sum(last_block - first_block + 1) AS free_percent,
			sum(dead_percent * (last_block - first_block + 1)) / sum(last_block - first_block + 1) AS dead_percent
		FROM streamstat.layout_map('pic', 10000) m WHERE m.first_block BETWEEN a.first_block AND a.last_block) b ON true;
SELECT count(*) AS other_rows FROM (SELECT bucket, free_percent, dead_percent, bar FROM streamstat.layout_map('pic', 5)
	EXCEPT SELECT bucket, free_percent, dead_percent, bar FROM streamstat.layout_map('pic', 5, 1000000)) d;

-- 10,000 buckets, of all kinds of relations
CREATE TABLE pic_large (t text) WITH (fillfactor = 10, autovacuum_enabled = off);
INSERT INTO pic_large SELECT repeat('x', 900) FROM generate_series(1, 12000);
SELECT count(*) AS buckets, sum(last_block - first_block + 1) = blocks('pic_large') AS whole, max(last_block - first_block)
	FROM streamstat.layout_map('pic_large', 10000);
SELECT count(*) AS lines FROM streamstat.layout_picture('pic_large', 10000, 200);
DROP TABLE pic_large;
CREATE TEMP TABLE pic_temp AS SELECT * FROM pic WHERE n < 3000;
SELECT count(*), count(buffered_percent) FROM streamstat.layout_map('pic_temp', 8, 16);
SELECT min(buffered_percent) AS buffered FROM streamstat.layout_map('pic_temp', 8);
CREATE TABLE pic_empty (n int);
SELECT count(*) FROM streamstat.layout_picture('pic_empty');

SELECT error_of('SELECT streamstat.layout_picture(''pic'', 0)');
SELECT error_of('SELECT streamstat.layout_picture(''pic'', 10001)');
SELECT error_of('SELECT streamstat.layout_picture(''pic'', NULL)');
SELECT error_of('SELECT streamstat.layout_picture(''pic'', 5, 0)');
SELECT error_of('SELECT streamstat.layout_picture(''pic'', 5, NULL)');
SELECT error_of('SELECT streamstat.layout_picture(''pic'', 5, 5, 0)');
SELECT error_of('SELECT streamstat.layout_picture(NULL)');
SELECT error_of('SELECT streamstat.layout_map(''pic'', 5, -1)');
DROP TABLE pic, pic_empty, glyphs;
