--
-- pg_prewarm: all modes, forks and ranges
--
CREATE TABLE p (i int, t text) WITH (autovacuum_enabled = off);
CREATE INDEX p_i ON p (i);
INSERT INTO p SELECT i, repeat('x', 200) FROM generate_series(1, 20000) i;
VACUUM p;
CREATE UNLOGGED TABLE p_unlogged AS SELECT generate_series(1, 1000) AS i;
CREATE INDEX p_unlogged_i ON p_unlogged (i);
CREATE TABLE p_empty (i int);
CREATE TABLE p_one AS SELECT 1 AS i;
CREATE SEQUENCE p_seq;
CREATE MATERIALIZED VIEW p_mat AS SELECT i FROM p;

-- Contrib's function must return the same; so must what is known of the fork.
CREATE FUNCTION prewarm(rel regclass, mode text, fork text, first int8, last int8)
RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	blocks int8 := pg_relation_size(rel, fork) / current_setting('block_size')::int;
	expected int8 := greatest(coalesce(last, blocks - 1) - coalesce(first, 0) + 1, 0);
	ours int8 := streamstat.pg_prewarm(rel, mode, fork, first, last);
	theirs int8 := expected;
BEGIN
	IF have_contrib() THEN
		EXECUTE 'SELECT contrib.pg_prewarm($1, $2, $3, $4, $5)' INTO theirs
			USING rel, mode, fork, first, last;
	END IF;
	IF ours <> theirs OR ours <> expected THEN
		RETURN format('%s, not %s', ours, theirs);
	END IF;
	RETURN CASE WHEN ours = 0 THEN 'none' WHEN ours = 1 THEN 'one'
		WHEN ours = blocks THEN 'all' ELSE 'some' END;
END
$$;

SELECT rel, fork, prewarm(rel, 'buffer', fork, NULL, NULL) AS buffer,
		prewarm(rel, 'read', fork, NULL, NULL) AS read,
		prewarm(rel, 'prefetch', fork, NULL, NULL) AS prefetch
	FROM (VALUES ('p'::regclass, 'main'), ('p', 'fsm'), ('p', 'vm'), ('p_i', 'main'),
		('p_unlogged', 'main'), ('p_unlogged', 'init'), ('p_unlogged_i', 'init'),
		('p_empty', 'main'), ('p_one', 'main'), ('p_seq', 'main'), ('p_mat', 'main'),
		('pg_class', 'main'), ('pg_class_oid_index', 'main')) v(rel, fork);
SELECT first, last, prewarm('p', 'buffer', 'main', first, last) AS buffer,
		prewarm('p', 'read', 'main', first, last) AS read,
		prewarm('p', 'prefetch', 'main', first, last) AS prefetch
	FROM (VALUES (0, 0), (0, 10), (7, 7), (100, 400), (NULL, 17), (100, 99),
		(31, 0)) v(first, last);
SELECT prewarm('p', mode, 'main', blocks - 1, NULL) AS last_one,
		prewarm('p', mode, 'main', 1, blocks - 1) AS all_but_one
	FROM unnest('{buffer, read, prefetch}'::text[]) mode,
		(SELECT pg_relation_size('p') / current_setting('block_size')::int AS blocks) b;

-- Defaults: into shared buffers, the main fork, all of it
SELECT streamstat.pg_prewarm('p') = streamstat.pg_relpages('p');
SELECT blocks_requested = streamstat.pg_relpages('p') AS requested,
		blocks_hit = blocks_requested AS hit, blocks_missed
	FROM (SELECT streamstat.pg_prewarm('p') IS NOT NULL OFFSET 0) c, streamstat.stream_stats();

-- Reading and prefetching put nothing into shared buffers.  The build of a
-- b-tree writes its pages past them.
CREATE FUNCTION found(rel regclass, mode text) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	s record;
BEGIN
	PERFORM streamstat.pg_prewarm(rel, mode);
	SELECT * INTO s FROM streamstat.stream_stats();
	RETURN CASE s.blocks_hit WHEN 0 THEN 'none' WHEN s.blocks_requested THEN 'all' ELSE 'some' END;
END
$$;
CREATE INDEX p_cold ON p (t, i);
SELECT found('p_cold', 'prefetch') AS at_first, found('p_cold', 'read') AS reading,
	found('p_cold', 'prefetch') AS after_reading, found('p_cold', 'buffer') AS loading,
	found('p_cold', 'prefetch') AS after_loading, found('p_cold', 'buffer') AS again;

-- Temporary relations
CREATE TEMP TABLE p_temp AS SELECT generate_series(1, 20000) AS i;
CREATE INDEX p_temp_i ON p_temp (i);
SELECT rel, prewarm(rel, 'buffer', 'main', NULL, NULL) AS buffer,
		prewarm(rel, 'read', 'main', NULL, NULL) AS read,
		prewarm(rel, 'prefetch', 'main', NULL, NULL) AS prefetch
	FROM unnest('{p_temp, p_temp_i}'::regclass[]) rel;
