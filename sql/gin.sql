--
-- pgstatginindex beside contrib's
--
CREATE TABLE g (a int[]) WITH (autovacuum_enabled = off);
CREATE INDEX g_fast ON g USING gin (a) WITH (fastupdate = on);
CREATE INDEX g_slow ON g USING gin (a) WITH (fastupdate = off);

CREATE FUNCTION gin_as_contrib(index regclass) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
	result boolean := true;
BEGIN
	IF have_contrib() THEN
		EXECUTE 'SELECT a = b FROM streamstat.pgstatginindex($1) a,
			contrib.pgstatginindex($1) b' INTO result USING index;
	END IF;
	RETURN result;
END
$$;

SELECT i, gin_as_contrib(i), s.*
	FROM unnest('{g_fast, g_slow}'::regclass[]) i, streamstat.pgstatginindex(i) s;

-- The pending list
INSERT INTO g SELECT ARRAY[i, i % 10, i % 1000] FROM generate_series(1, 2000) i;
SELECT i, gin_as_contrib(i), s.version, s.pending_pages > 5 AS pages, s.pending_tuples
	FROM unnest('{g_fast, g_slow}'::regclass[]) i, streamstat.pgstatginindex(i) s;

-- Flushed
SELECT gin_clean_pending_list('g_fast') > 5 AS flushed;
SELECT i, gin_as_contrib(i), s.*
	FROM unnest('{g_fast, g_slow}'::regclass[]) i, streamstat.pgstatginindex(i) s;
