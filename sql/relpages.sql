--
-- pg_relpages by name and by OID: the length of the main fork
--
CREATE TABLE r (i int, t text) WITH (autovacuum_enabled = off);
CREATE INDEX r_i ON r (i);
CREATE SEQUENCE r_seq;
CREATE MATERIALIZED VIEW r_mat AS SELECT generate_series(1, 1000) AS i;

CREATE FUNCTION relpages_as_contrib(rel regclass) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
	result boolean := true;
BEGIN
	IF have_contrib() THEN
		EXECUTE 'SELECT streamstat.pg_relpages($1) = contrib.pg_relpages($1)
			AND streamstat.pg_relpages($1::text) = contrib.pg_relpages($1::text)'
			INTO result USING rel;
	END IF;
	RETURN result;
END
$$;
CREATE VIEW r_pages AS
	SELECT c.relname::text AS name,
		streamstat.pg_relpages(c.oid::regclass) =
			pg_relation_size(c.oid) / current_setting('block_size')::int AS by_oid,
		streamstat.pg_relpages(c.oid::regclass::text) =
			pg_relation_size(c.oid) / current_setting('block_size')::int AS by_name,
		relpages_as_contrib(c.oid) AS as_contrib,
		streamstat.pg_relpages(c.oid::regclass) > 3 AS more_than_3
	FROM pg_class c WHERE c.relname IN ('r', 'r_i', 'r_seq', 'r_mat')
	ORDER BY c.relname;

SELECT * FROM r_pages;
INSERT INTO r SELECT i, repeat('x', 100) FROM generate_series(1, 5000) i;
SELECT * FROM r_pages;
-- a TOAST table
SELECT relpages_as_contrib(reltoastrelid), streamstat.pg_relpages(reltoastrelid::regclass)
	FROM pg_class WHERE oid = 'r'::regclass;
TRUNCATE r;
SELECT * FROM r_pages;

CREATE TEMP TABLE r_temp AS SELECT generate_series(1, 10000) AS i;
SELECT streamstat.pg_relpages('r_temp') = streamstat.pg_relpages('pg_temp.r_temp'::regclass),
	streamstat.pg_relpages('r_temp') > 40;
