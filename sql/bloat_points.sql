--
-- bloat: indexes of points, whose size depends on where the points are
--
-- Each prediction is compared with what REINDEX then makes of the index.
--
SET client_min_messages = warning;

CREATE TABLE rep_shapes (shape text, place text, nrows int);
INSERT INTO rep_shapes VALUES
	('diagonal', 'point(i, i)', 8000),
	('horizontal', 'point(i, 7)', 8000),
	('grid', 'point(i % 150, i / 150)', 8000),
	('grid of fractions', 'point(i % 100 * 0.01, i / 100 * 0.01)', 8000),
	('scattered', 'point(i::int8 * 7919 % 20011 * 1.7, i::int8 * i % 20021 * 0.37)', 8000),
	('clusters', 'point(i % 50 * 1000 + i::int8 * 7919 % 997 * 0.1, i % 50 * 777 + i::int8 * i % 1009 * 0.1)', 8000),
	('circle', 'point(cos(i / 1000.0), sin(i / 1000.0))', 8000),
	('some with many copies', 'point(i % 10, i / 10 % 10)', 8000),
	('nulls', 'CASE WHEN i % 2 = 0 THEN point(i::int8 * 7919 % 20011, i::int8 * i % 20021) END', 8000),
	('exponential', 'point(exp(i::int8 * 7919 % 20011 / 1000.0), -exp(i::int8 * i % 20021 / 1000.0))', 8000),
	('infinities', 'CASE i % 4 WHEN 0 THEN point(''infinity'', i) WHEN 1 THEN point(i, ''-infinity'') ELSE point(i, -i) END', 8000),
	('few', 'point(i, i)', 150),
	('none', 'NULL::point', 0);
CREATE TABLE rep (i int, p point, t text) WITH (autovacuum_enabled = off);
CREATE TABLE rep_errors (shape text, index text, state text, error float8, real int8, inside boolean, note text, seen int, samples int, wide int);

-- Compare what all blocks say, in blocks, and how many of five samples have
-- the size between their ends, and ends apart.
CREATE PROCEDURE rep_compare(shape text, state text, indexes regclass[])
LANGUAGE plpgsql AS $$
DECLARE
	index regclass;
	b record;
	s record;
	real int8;
BEGIN
	FOREACH index IN ARRAY indexes LOOP
		SELECT * INTO b FROM streamstat.bloat(index, 1000000);
		CREATE TEMP TABLE rep_samples ON COMMIT DROP AS
			SELECT r.* FROM generate_series(1, 5) seed, streamstat.bloat(index, 30, seed => seed) r WHERE r.measured = 'sampled';
		EXECUTE format('REINDEX INDEX %s', index);
		real := pg_relation_size(index);
		SELECT count(*) AS seen, count(*) FILTER (WHERE real BETWEEN predicted_bytes_low AND predicted_bytes_high) AS inside,
			max(note) AS note, count(*) FILTER (WHERE predicted_bytes_low < predicted_bytes AND predicted_bytes_high > predicted_bytes) AS wide
			INTO s FROM rep_samples;
		DROP TABLE rep_samples;
		INSERT INTO rep_errors VALUES (shape, index::text, state, (b.predicted_bytes - real) / 8192.0, real / 8192,
			real BETWEEN b.predicted_bytes_low AND b.predicted_bytes_high, s.note, s.seen, s.inside, s.wide);
	END LOOP;
END
$$;

-- Indexes that were filled by inserts, and then those of a build
CREATE PROCEDURE rep_shapes(indexes regclass[])
LANGUAGE plpgsql AS $$
DECLARE
	s rep_shapes;
BEGIN
	FOR s IN SELECT * FROM rep_shapes LOOP
		TRUNCATE rep;
		-- A page that is being written gets no tuple of an SP-GiST index.
		CHECKPOINT;
		EXECUTE format('INSERT INTO rep SELECT i, %s, repeat(''x'', i %% 20) FROM generate_series(0, %s - 1) i', s.place, s.nrows);
		CALL rep_compare(s.shape, 'inserted', indexes);
		CALL rep_compare(s.shape, 'built', indexes);
	END LOOP;
END
$$;

CREATE VIEW rep_result AS
	SELECT index, state, count(*) AS shapes, bool_and(inside OR abs(error) <= 0.08 * real AND at_random) AS inside,
			sum(samples) >= 0.85 * sum(seen) AS samples, sum(wide) = sum(seen) AS wide
		FROM (SELECT *, index ~ 'spgist' AND shape ~ 'copies|nulls' AS at_random FROM rep_errors) e GROUP BY index, state ORDER BY index, state;

-- GiST: a build sorts the points
CREATE INDEX rep_gist ON rep USING gist (p);
CREATE INDEX rep_gist_include ON rep USING gist (p) INCLUDE (i, t);
CALL rep_shapes('{rep_gist, rep_gist_include}');
SELECT * FROM rep_result;
SELECT index, max(abs(error)) AS blocks_off FROM rep_errors GROUP BY 1 ORDER BY 1;
-- a sample cannot tell whether a line has gaps, and says so
SELECT shape, bool_and(note ~ 'points on a line') AS noted FROM rep_errors WHERE state = 'inserted' AND shape ~ 'diagonal|scattered' GROUP BY shape ORDER BY 1;
-- what is not predicted
CREATE INDEX rep_two ON rep USING gist (p, point(i, i));
SELECT predicted_bytes, note FROM streamstat.bloat('rep_two');
DROP INDEX rep_gist, rep_gist_include, rep_two;

-- SP-GiST: a build inserts the rows in their order, and shares out at random what
-- is the same
TRUNCATE rep_errors;
CREATE INDEX rep_spgist ON rep USING spgist (p);
CREATE INDEX rep_spgist_include ON rep USING spgist (p) INCLUDE (i, t) WITH (fillfactor = 95);
CALL rep_shapes('{rep_spgist, rep_spgist_include}');
SELECT * FROM rep_result;
SELECT index, max(abs(error)) AS blocks_off FROM rep_errors WHERE shape !~ 'copies|nulls' GROUP BY 1 ORDER BY 1;
-- a sample says little of rows in order, and says so
SELECT shape, bool_and(note ~ 'in order') AS noted FROM rep_errors WHERE index = 'rep_spgist' AND shape ~ 'diagonal|scattered' GROUP BY shape ORDER BY 1;
-- A build takes rows as HOT updates have placed them, which the index does not tell.
CREATE TABLE rep_hot (i int, p point, n int) WITH (fillfactor = 70, autovacuum_enabled = off);
CREATE INDEX rep_hot_p ON rep_hot USING spgist (p);
INSERT INTO rep_hot SELECT i, point(hashint8(i), hashint8(-i)), 0 FROM generate_series(1, 20000) i;
UPDATE rep_hot SET n = 1 WHERE hashint4(i) % 10 < 1;
CALL wait_for_horizon();
SELECT predicted_bytes_low AS low, predicted_bytes_high AS high FROM streamstat.bloat('rep_hot_p', 1000000) \gset
REINDEX INDEX rep_hot_p;
SELECT pg_relation_size('rep_hot_p') BETWEEN :low AND :high AS inside;
DROP TABLE rep_hot;
-- A sample makes as full pages as all points would.  Where many bytes are to stay
-- free, that depends on their number.
DROP INDEX rep_spgist, rep_spgist_include;
TRUNCATE rep;
INSERT INTO rep SELECT i, point(hashint8(i), hashint8(-i)) FROM generate_series(1, 24000) i;
CREATE INDEX rep_half ON rep USING spgist (p) WITH (fillfactor = 50);
SELECT count(*) FILTER (WHERE bytes BETWEEN predicted_bytes_low AND predicted_bytes_high) >= 11 AS inside,
		abs(avg(predicted_bytes) / avg(bytes) - 1) < 0.05 AS no_bias
	FROM generate_series(1, 12) seed, streamstat.bloat('rep_half', 110, seed);
-- what is not predicted
CREATE INDEX rep_kd ON rep USING spgist (p kd_point_ops);
SELECT predicted_bytes, note FROM streamstat.bloat('rep_kd');
