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
SELECT statistic, blocks_sampled, blocks_total = streamstat.pg_relpages('m_i') AS total, exact,
	low <= estimate AND estimate <= high AS inside
	FROM streamstat.sample('m_i', 20, 1);
SELECT statistic, blocks_sampled, blocks_total = streamstat.pg_relpages('m_hash') AS total, exact,
	low <= estimate AND estimate <= high AS inside
	FROM streamstat.sample('m_hash', 20, 1);
SELECT statistic, blocks_sampled, blocks_total = streamstat.pg_relpages('m') AS total, exact,
	low <= estimate AND estimate <= high AS inside
	FROM streamstat.sample('m', 20, 1);
SELECT blocks_sampled = least(10000, blocks_total) AS default_size FROM streamstat.sample('m') LIMIT 1;

-- A sample of all blocks is exact: it says what the statistics say.
CREATE FUNCTION exact_difference(rel regclass, stats jsonb) RETURNS text
LANGUAGE plpgsql AS $$
BEGIN
	RETURN coalesce(string_agg(format('%s: %s, not %s', statistic, estimate, stats ->> statistic), '; ')
			FILTER (WHERE abs(estimate - (stats ->> statistic)::float8) > 0.005
				OR low <> estimate OR high <> estimate OR NOT exact
				OR blocks_sampled <> blocks_total), 'none')
		|| ' of ' || count((stats ->> statistic)::float8)
		FROM streamstat.sample(rel, 1000000);
END
$$;
SELECT exact_difference('m_i', (SELECT to_jsonb(s) FROM streamstat.btree_stats('m_i') s)) AS btree;
SELECT exact_difference('m', (SELECT to_jsonb(s) FROM streamstat.table_stats('m') s)) AS heap;
SELECT exact_difference('m_hash', (SELECT to_jsonb(s) FROM streamstat.hash_stats('m_hash') s)) AS hash;
-- exactly as many blocks as there are, and one less
SELECT bool_and(exact), bool_and(blocks_sampled = blocks_total)
	FROM streamstat.sample('m', blocks('m')::int);
SELECT bool_or(exact), bool_and(blocks_sampled = blocks_total - 1)
	FROM streamstat.sample('m', blocks('m')::int - 1);

-- Same seed, same rows; another seed or none, others
CREATE FUNCTION sampled(rel regclass, blocks int, seed int8) RETURNS text
LANGUAGE sql BEGIN ATOMIC
	SELECT string_agg(s::text, ' ') FROM streamstat.sample(rel, blocks, seed) s;
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
	FROM streamstat.sample('m', 1, 1);
SELECT bool_and(low <= estimate AND estimate <= high) AS inside, count(low), count(high)
	FROM streamstat.sample('m', 2, 1);

-- A heap with all sorts of line pointers, beside what is known of it
DELETE FROM m WHERE i BETWEEN 20000 AND 22000 OR i % 50 = 0;
VACUUM (INDEX_CLEANUP off, TRUNCATE off) m;
SELECT statistic, CASE statistic
		WHEN 'tuple_count' THEN estimate = (SELECT count(*) FROM m)
		WHEN 'dead_items' THEN estimate = 60012 - (SELECT count(*) FROM m)
		WHEN 'all_visible_pages' THEN estimate BETWEEN 0 AND blocks_total
		WHEN 'all_visible_percent' THEN estimate BETWEEN 0 AND 100
		WHEN 'tuple_len' THEN estimate = (SELECT tuple_len FROM streamstat.pgstattuple('m'))
		WHEN 'tuple_percent' THEN estimate BETWEEN 60 AND 98
		WHEN 'free_space' THEN estimate = (SELECT free_space FROM streamstat.pgstattuple('m'))
		WHEN 'free_percent' THEN estimate BETWEEN 1 AND 30
		ELSE estimate = 0 END AS right
	FROM streamstat.sample('m', 1000000);
VACUUM (INDEX_CLEANUP on, TRUNCATE off) m;
SELECT statistic, CASE statistic
		WHEN 'tuple_count' THEN estimate = (SELECT count(*) FROM m)
		WHEN 'all_visible_pages' THEN estimate = blocks_total
		WHEN 'dead_items' THEN estimate = 0
		WHEN 'unused_items' THEN estimate > 100 END AS right
	FROM streamstat.sample('m', 1000000)
	WHERE statistic IN ('tuple_count', 'all_visible_pages', 'dead_items', 'unused_items');

-- Empty ones, and other kinds of tables
CREATE TABLE m_empty (i int);
CREATE INDEX m_empty_i ON m_empty (i);
SELECT * FROM streamstat.sample('m_empty');
SELECT * FROM streamstat.sample('m_empty', 1, 1);
SELECT * FROM streamstat.sample('m_empty_i');
CREATE MATERIALIZED VIEW m_mat AS SELECT i FROM m WHERE i < 10000;
CREATE TEMP TABLE m_temp AS SELECT i FROM m WHERE i < 10000;
SELECT rel, estimate = (SELECT count(*) FROM m_mat) AS tuples, exact
	FROM unnest('{m_mat, m_temp}'::regclass[]) rel, streamstat.sample(rel)
	WHERE statistic = 'tuple_count';
SELECT statistic, estimate FROM pg_class c, streamstat.sample(reltoastrelid::regclass)
	WHERE c.oid = 'm'::regclass AND statistic = 'tuple_count';

--
-- Do the intervals hold what they promise?  Over 1,000 seeds, the 95 % interval
-- must have the true value in 93 to 97 % of the cases: for a fraction near one
-- half, a small one, and means of values that really vary.
--
CREATE TABLE coverage (i int) WITH (autovacuum_enabled = off);
CREATE INDEX coverage_i ON coverage (i);
INSERT INTO coverage SELECT (g::int8 * 7919 % 400009)::int4 FROM generate_series(1, 400008) g;
DELETE FROM coverage WHERE i % 10900 < 600;
VACUUM (INDEX_CLEANUP on, TRUNCATE off) coverage;

CREATE FUNCTION covered(rel regclass, blocks int, VARIADIC statistics text[])
RETURNS TABLE (statistic text, truth float8, covered float8)
LANGUAGE sql BEGIN ATOMIC
	SELECT s.statistic, t.estimate,
		avg((t.estimate BETWEEN s.low AND s.high)::int)::float8
	FROM generate_series(1, 1000) seed,
		streamstat.sample(rel, blocks, seed) s JOIN
		streamstat.sample(rel, 1000000) t USING (statistic)
	WHERE s.statistic = ANY (statistics)
	GROUP BY s.statistic, t.estimate;
END;
SELECT deleted_pages::float8 / blocks('coverage_i') BETWEEN 0.015 AND 0.025 AS small_fraction,
	leaf_fragmentation BETWEEN 45 AND 55 AS half
	FROM streamstat.btree_stats('coverage_i');
SELECT statistic, CASE WHEN covered BETWEEN 0.93 AND 0.97 THEN 'between 0.93 and 0.97'
		ELSE covered::text END AS covered
	FROM covered('coverage_i', 550, 'leaf_fragmentation', 'deleted_pages',
		'avg_leaf_density', 'live_items', 'free_bytes')
	ORDER BY statistic COLLATE "C";
