--
-- sample: estimates from a random sample of blocks
--
SET max_parallel_maintenance_workers = 0;
SET client_min_messages = warning;

-- Random inserts, ranges of deleted rows, and pages filled to all degrees
CREATE TABLE m (i int, t text) WITH (autovacuum_enabled = off);
CREATE INDEX m_i ON m (i);
CREATE INDEX m_hash ON m USING hash (i);
INSERT INTO m SELECT n, repeat('x', n % 300)
	FROM (SELECT (g::int8 * 7919 % 60013)::int4 AS n FROM generate_series(1, 60012) g) g;

-- The shape: one row for each statistic, in a fixed order
SELECT statistic, blocks_read, blocks_total = streamstat.pg_relpages('m_i') AS total, measured,
	low <= estimate AND estimate <= high AS inside
	FROM streamstat.sample_stats('m_i', 20, seed => 1);
SELECT statistic, blocks_read, blocks_total = streamstat.pg_relpages('m_hash') AS total, measured,
	low <= estimate AND estimate <= high AS inside
	FROM streamstat.sample_stats('m_hash', 20, seed => 1);
SELECT statistic, blocks_read, blocks_total = streamstat.pg_relpages('m') AS total, measured,
	low <= estimate AND estimate <= high AS inside
	FROM streamstat.sample_stats('m', 20, seed => 1);
SELECT blocks_read = least(10000, blocks_total) AS default_size FROM streamstat.sample_stats('m') LIMIT 1;

-- A sample of all blocks is exact: it says what the statistics say.
CREATE FUNCTION exact_difference(rel regclass, stats jsonb) RETURNS text
LANGUAGE plpgsql AS $$
BEGIN
	RETURN coalesce(string_agg(format('%s: %s, not %s', statistic, estimate, stats ->> statistic), '; ')
			FILTER (WHERE abs(estimate - (stats ->> statistic)::float8) > 0.005
				OR low <> estimate OR high <> estimate OR measured <> 'exact'
				OR blocks_read <> blocks_total), 'none')
		|| ' of ' || count((stats ->> statistic)::float8)
		FROM streamstat.sample_stats(rel, 1000000);
END
$$;
SELECT exact_difference('m_i', (SELECT to_jsonb(s) FROM streamstat.btree_stats('m_i') s)) AS btree;
SELECT exact_difference('m', (SELECT to_jsonb(s) FROM streamstat.table_stats('m') s)) AS heap;
SELECT exact_difference('m_hash', (SELECT to_jsonb(s) FROM streamstat.hash_stats('m_hash') s)) AS hash;
-- exactly as many blocks as there are, and one less
SELECT bool_and(measured = 'exact'), bool_and(blocks_read = blocks_total)
	FROM streamstat.sample_stats('m', blocks('m')::int);
SELECT bool_or(measured = 'exact'), bool_and(blocks_read = blocks_total - 1)
	FROM streamstat.sample_stats('m', blocks('m')::int - 1);

-- Same seed, same rows; another seed or none, others
CREATE FUNCTION sampled(rel regclass, blocks int, seed int8) RETURNS text
LANGUAGE sql BEGIN ATOMIC
	SELECT string_agg(s::text, ' ') FROM streamstat.sample_stats(rel, blocks, seed => seed) s;
END;
SELECT rel, sampled(rel, 50, 42) = sampled(rel, 50, 42) AS same,
		count(DISTINCT sampled(rel, 50, seed)) > 17 AS other_seeds,
		count(DISTINCT sampled(rel, 50, NULL)) > 17 AS no_seed,
		sampled(rel, 50, 1) <> sampled(rel, 50, 1 + (1::int8 << 32)) AS all_64_bits,
		sampled(rel, 50, -1) = sampled(rel, 50, -1) AS negative
	FROM unnest('{m, m_i, m_hash}'::regclass[]) rel, generate_series(1, 20) seed
	GROUP BY rel;

-- Small samples: no interval from one block, and a wide one from two
SELECT statistic, low IS NULL AND high IS NULL AS no_interval
	FROM streamstat.sample_stats('m', 1, seed => 1);
SELECT bool_and(low <= estimate AND estimate <= high) AS inside, count(low), count(high)
	FROM streamstat.sample_stats('m', 2, seed => 1);

-- A heap with all sorts of line pointers, beside what is known of it
DELETE FROM m WHERE i BETWEEN 20000 AND 22000 OR i % 50 = 0;
CALL wait_for_horizon();
VACUUM (INDEX_CLEANUP off, TRUNCATE off) m;
SELECT statistic, CASE statistic
		WHEN 'live_tuples' THEN estimate = (SELECT count(*) FROM m)
		WHEN 'dead_line_pointers' THEN estimate = 60012 - (SELECT count(*) FROM m)
		WHEN 'all_visible_pages' THEN estimate BETWEEN 0 AND blocks_total
		WHEN 'all_visible_percent' THEN estimate BETWEEN 0 AND 100
		WHEN 'live_tuple_bytes' THEN estimate = (SELECT tuple_len FROM streamstat.pgstattuple('m'))
		WHEN 'live_tuple_percent' THEN estimate BETWEEN 60 AND 98
		WHEN 'free_bytes' THEN estimate = (SELECT free_space FROM streamstat.pgstattuple('m'))
		WHEN 'free_percent' THEN estimate BETWEEN 1 AND 30
		ELSE estimate = 0 END AS right
	FROM streamstat.sample_stats('m', 1000000);
CALL wait_for_horizon();
VACUUM (INDEX_CLEANUP on, TRUNCATE off) m;
SELECT statistic, CASE statistic
		WHEN 'live_tuples' THEN estimate = (SELECT count(*) FROM m)
		WHEN 'all_visible_pages' THEN estimate = blocks_total
		WHEN 'dead_line_pointers' THEN estimate = 0
		WHEN 'unused_line_pointers' THEN estimate > 100 END AS right
	FROM streamstat.sample_stats('m', 1000000)
	WHERE statistic IN ('live_tuples', 'all_visible_pages', 'dead_line_pointers', 'unused_line_pointers');

-- Empty ones, and other kinds of tables
CREATE TABLE m_empty (i int);
CREATE INDEX m_empty_i ON m_empty (i);
SELECT * FROM streamstat.sample_stats('m_empty');
SELECT * FROM streamstat.sample_stats('m_empty', 1, seed => 1);
SELECT * FROM streamstat.sample_stats('m_empty_i');
CREATE MATERIALIZED VIEW m_mat AS SELECT i FROM m WHERE i < 10000;
CREATE TEMP TABLE m_temp AS SELECT i FROM m WHERE i < 10000;
SELECT rel, estimate = (SELECT count(*) FROM m_mat) AS tuples, measured
	FROM unnest('{m_mat, m_temp}'::regclass[]) rel, streamstat.sample_stats(rel)
	WHERE statistic = 'live_tuples';
SELECT statistic, estimate FROM pg_class c, streamstat.sample_stats(reltoastrelid::regclass)
	WHERE c.oid = 'm'::regclass AND statistic = 'live_tuples';

-- With a margin, samples grow until the interval of the main statistic is as tight.
CREATE FUNCTION with_margin(rel regclass, main text, blocks int, margin float8)
RETURNS TABLE (tight boolean, ended_by text, is_exact boolean, within boolean)
LANGUAGE sql BEGIN ATOMIC
	SELECT greatest(estimate - low, high - estimate) <= margin, ended_by, measured = 'exact', blocks_read <= blocks
		FROM streamstat.sample_stats(rel, blocks, margin => margin, seed => 1)
		WHERE statistic = main;
END;
SELECT rel, margin, (with_margin(rel, main, blocks, margin)).*
	FROM (VALUES ('m'::regclass, 'free_percent', 1000000, 3),
		('m', 'free_percent', 1000, 0.001),
		('m', 'free_percent', 1000000, 0.001),
		('m', 'free_percent', 50, 100),
		('m_i', 'avg_leaf_density', 130, 0.5),
		('m_i', 'avg_leaf_density', 1000000, 8),
		('m_hash', 'free_percent', 1, 1),
		('m_empty', 'live_tuples', 100, 1)) t (rel, main, blocks, margin);
-- That is to each side, also where one side can only be a little way off: of pages that
-- are all alike and full, those that were not seen can have more free space, not less.
CREATE TABLE alike WITH (autovacuum_enabled = off) AS SELECT g AS i, repeat('x', 60) FROM generate_series(1, 160000) g;
-- without new pages at the end
VACUUM FULL alike;
SELECT count(*) AS samples, bool_and(ended_by = 'margin') AS by_margin,
		bool_and(estimate - low <= 1 AND high - estimate <= 1) AS tight, bool_and(high > low) AS wide
	FROM generate_series(1, 20) seed, streamstat.sample_stats('alike', 1000000, margin => 1, seed => seed)
	WHERE statistic = 'free_percent';

-- No page has more tuples than fit on it, so that it is known better how many there are.
CREATE TABLE wide WITH (autovacuum_enabled = off) AS SELECT g AS i, repeat('x', 500) FROM generate_series(1, 10000) g;
SELECT statistic, bool_and(high - low < 0.05 * (SELECT count(*) FROM wide)) AS tight
	FROM generate_series(1, 20) seed, streamstat.sample_stats('wide', 200, seed => seed)
	WHERE statistic IN ('live_tuples', 'dead_tuples')
	GROUP BY statistic ORDER BY statistic COLLATE "C";

-- A hash index has pages of zeros, which it will use when it grows: no NOTICE is given.
SET client_min_messages = notice;
SELECT estimate > 0 AS new_pages FROM streamstat.sample_stats('m_hash') WHERE statistic = 'new_pages';
SET client_min_messages = warning;

--
-- Do the intervals hold what they promise?  Over 1,000 seeds, the 95 % interval
-- must have the true value in 93 % of the cases at least: for a fraction near one
-- half, a small one, and means of values that really vary.  bench/coverage does this
-- for more kinds of relations.
--
CREATE TABLE coverage (i int) WITH (autovacuum_enabled = off);
CREATE INDEX coverage_i ON coverage (i);
INSERT INTO coverage SELECT (g::int8 * 7919 % 400009)::int4 FROM generate_series(1, 400008) g;
DELETE FROM coverage WHERE i % 10900 < 600;
CALL wait_for_horizon();
VACUUM (INDEX_CLEANUP on, TRUNCATE off) coverage;

CREATE FUNCTION covered(rel regclass, blocks int, VARIADIC statistics text[])
RETURNS TABLE (statistic text, truth float8, covered float8, width float8)
LANGUAGE sql BEGIN ATOMIC
	SELECT s.statistic, t.estimate,
		avg((t.estimate BETWEEN s.low AND s.high)::int)::float8,
		avg(s.high - s.low) / 2
	FROM generate_series(1, 1000) seed,
		streamstat.sample_stats(rel, blocks, seed => seed) s JOIN
		streamstat.sample_stats(rel, 1000000) t USING (statistic)
	WHERE s.statistic = ANY (statistics)
	GROUP BY s.statistic, t.estimate;
END;
SELECT deleted_pages::float8 / blocks('coverage_i') BETWEEN 0.015 AND 0.025 AS small_fraction,
	leaf_fragmentation BETWEEN 45 AND 55 AS half
	FROM streamstat.btree_stats('coverage_i');
SELECT statistic, CASE WHEN covered >= 0.93 THEN 'as promised'
		ELSE covered::text END AS covered, width / truth < 0.2 AS tight
	FROM covered('coverage_i', 300, 'leaf_fragmentation',
		'avg_leaf_density', 'live_items', 'free_bytes')
	ORDER BY statistic COLLATE "C";

-- A looser margin takes fewer blocks
SELECT bool_and(a.blocks_read < b.blocks_read AND a.ended_by = 'margin')
	FROM generate_series(1, 10) seed,
		streamstat.sample_stats('coverage_i', 1000000, margin => 3.5, seed => seed) a,
		streamstat.sample_stats('coverage_i', 1000000, margin => 1, seed => seed) b
	WHERE a.statistic = 'avg_leaf_density' AND b.statistic = 'avg_leaf_density';

-- A table that is empty from the middle on: no sample of the same size misses that, as
-- some simple random ones would, and it is known much better than by those.
CREATE TABLE half (i int8, t text) WITH (autovacuum_enabled = off);
INSERT INTO half SELECT g, repeat('x', 60) FROM generate_series(1, 100000) g;
DELETE FROM half WHERE i > 50000 AND i % 100 <> 0;
CALL wait_for_horizon();
VACUUM (TRUNCATE off) half;
SELECT bool_and(abs(s.estimate - t.estimate) < 1) AS close, bool_and(s.high - s.low < 8) AS tight,
	bool_and(t.estimate BETWEEN s.low AND s.high) AS inside
	FROM generate_series(1, 100) seed, streamstat.sample_stats('half', 200, seed => seed) s,
		streamstat.sample_stats('half', 1000000) t
	WHERE s.statistic = 'free_percent' AND t.statistic = 'free_percent';

-- What the visibility map vouches for has nothing dead in it, which need not be looked for.
DELETE FROM half WHERE i BETWEEN 1000 AND 1060;
CALL wait_for_horizon();
SELECT statistic, bool_and(s.low = t.estimate AND s.high = t.estimate) AS exact,
	bool_and(t.estimate > 0) AS positive
	FROM generate_series(1, 10) seed, streamstat.sample_stats('half', 200, seed => seed) s
		JOIN streamstat.sample_stats('half', 1000000) t USING (statistic)
	WHERE statistic IN ('dead_tuples', 'dead_tuple_bytes', 'dead_tuple_percent', 'all_visible_pages')
	GROUP BY statistic ORDER BY statistic COLLATE "C";

-- Intervals from few blocks hold as often as others, also where few pages are unlike most, or
-- few are of a kind: of 100 seeds, no fewer than 93 have the true value.
CREATE TABLE few_values AS SELECT g % 7 AS i, md5(g::text) AS t FROM generate_series(1, 20000) g;
CREATE INDEX few_values_i ON few_values (i);
CREATE INDEX few_values_t ON few_values USING spgist (t);
-- 605 blocks, of which a sample seldom hits the metapage, the root and the pages below it
CREATE TABLE few_inner AS SELECT g % 1000 AS i FROM generate_series(1, 700000) g;
CREATE INDEX few_inner_i ON few_inner (i);
SELECT r.relation, blocks, truth.statistic, count(*) FILTER (WHERE s.low IS NULL OR truth.estimate BETWEEN s.low - 1e-6 AND s.high + 1e-6)
FROM unnest('{few_values_i, few_values_t, few_inner_i}'::regclass[]) r (relation),
	LATERAL streamstat.sample_stats(r.relation, 1000000) truth,
	unnest('{3, 7, 15, 40, 100}'::int[]) blocks, generate_series(1, 100) seed,
	LATERAL (SELECT * FROM streamstat.sample_stats(r.relation, blocks, seed => seed) q WHERE q.statistic = truth.statistic) s
GROUP BY r.relation, blocks, truth.statistic
HAVING count(*) FILTER (WHERE s.low IS NULL OR truth.estimate BETWEEN s.low - 1e-6 AND s.high + 1e-6) < 93
ORDER BY r.relation, blocks, truth.statistic;
DROP TABLE few_values, few_inner;

-- Where posting lists are many, fewer than 30 blocks do not tell how many items a page without them has.
CREATE TABLE few_lists WITH (autovacuum_enabled = off) AS SELECT g AS id, g % 7 AS i, NULL::int AS n FROM generate_series(1, 200000) g;
CREATE INDEX few_lists_i ON few_lists (i);
UPDATE few_lists SET n = 1 WHERE id % 4 = 0;
SELECT statistic, count(*) FILTER (WHERE truth.estimate BETWEEN s.low AND s.high) >= 186 AS inside
	FROM streamstat.sample_stats('few_lists_i', 1000000) truth, unnest('{20, 29}'::int[]) blocks, generate_series(1, 100) seed,
		LATERAL (SELECT low, high FROM streamstat.sample_stats('few_lists_i', blocks, seed => seed) q WHERE q.statistic = truth.statistic) s
	WHERE statistic IN ('live_items', 'posting_percent') GROUP BY statistic ORDER BY statistic;
DROP TABLE few_lists;

-- One page of a hundred has a row more, and a sample that has none of these does not say that there are none.
CREATE TABLE one_more WITH (autovacuum_enabled = off) AS SELECT repeat('x', CASE WHEN n / 61 % 100 = 57 THEN 92 ELSE 100 END) AS t FROM generate_series(1, 100000) n;
SELECT count(*) FILTER (WHERE 100000 BETWEEN low AND high) >= 18 AS inside
	FROM generate_series(1, 20) seed, streamstat.sample_stats('one_more', 60, seed => seed) WHERE statistic = 'live_tuples';
-- A few inner pages do not tell how full others are.
CREATE TABLE some_inner AS SELECT box(point(n % 99, n % 55), point(n % 99 + 2, n % 55 + 1)) AS b FROM generate_series(1, 40000) n;
CREATE INDEX some_inner_b ON some_inner USING spgist (b);
SELECT count(low) < 10 AS few FROM generate_series(1, 50) seed, streamstat.sample_stats('some_inner_b', 40, seed => seed) WHERE statistic = 'avg_inner_density';

-- All blocks of a large b-tree show all of its posting lists.
CREATE TABLE large_postings AS SELECT repeat('x', 60 + g % 60) || g / (1 + g / 7 % 3 * 2) AS t FROM generate_series(1, 120000) g;
CREATE INDEX large_postings_t ON large_postings (t COLLATE "C");
SELECT a.blocks_total > 1024 AS large, a.estimate BETWEEN b.low AND b.high AS inside
	FROM streamstat.sample_stats('large_postings_t', 1000000) a,
		streamstat.sample_stats('large_postings_t', (pg_relation_size('large_postings_t') / 8192 - 1)::int) b
	WHERE a.statistic = 'posting_percent' AND b.statistic = a.statistic;
DROP TABLE large_postings;
