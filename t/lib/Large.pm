
# Copyright (c) 2026, streamstat contributors

# Relations that are large enough for some parallel workers, and what workers
# leave behind if something goes wrong.

package Large;

use strict;
use warnings;

use Exporter 'import';

use Node;

our @EXPORT = qw(large_node large_relations large_changes SHARE $workers_of_call);

# Fewer blocks than this a participant, and it is left out.
use constant SHARE => 8192;

our $workers_of_call = 'SELECT workers FROM streamstat.stream_stats()';

# A server that lends as many workers as are asked for.  With pg_buffercache,
# where it has that.  An index in the page cache has them as well: it would take more than
# twice its size if files were mapped.
sub large_node
{
	my ($name, %options) = @_;
	my $node = new_node($name, q(
shared_buffers = 208MB
maintenance_work_mem = 256MB
max_wal_size = 4GB
max_worker_processes = 16
max_parallel_workers = 16
max_parallel_maintenance_workers = 8
log_statement = none
streamstat.map_files = off
), %options);

	create_extension($node, 'pg_buffercache');
	return $node;
}

# Commands that make t, with so many rows, t_btree and t_hash.  Fat rows and low
# fillfactors make many pages of little data.  The hash index gets its size from what it
# is told of the table's: so many rows.
sub large_relations
{
	my ($rows, $rows_told) = @_;

	return sprintf(<<'SQL', $rows, $rows_told);
SET max_parallel_maintenance_workers = 0;
BEGIN;
CREATE TABLE t (k int, s text COLLATE "C") WITH (fillfactor = 10);
ALTER TABLE t ALTER s SET STORAGE PLAIN;
INSERT INTO t SELECT i, lpad(i::text, 360, 'x') FROM generate_series(1, %d) i;
CREATE INDEX t_btree ON t (s) WITH (fillfactor = 10);
COMMIT;
UPDATE pg_class SET reltuples = %d, relpages = pg_relation_size('t') / current_setting('block_size')::int
	WHERE relname = 't';
CREATE INDEX t_hash ON t USING hash ((CASE WHEN k < 4000 THEN 0 ELSE k END)) WITH (fillfactor = 10);

CREATE TABLE small AS SELECT i AS k FROM generate_series(1, 1000) i;
CREATE INDEX small_btree ON small (k);

-- who opens the table, reads the catalog of triggers
CREATE TRIGGER t BEFORE UPDATE ON t FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger();

CREATE ROLE scanner LOGIN IN ROLE pg_stat_scan_tables;
CREATE ROLE no_login IN ROLE pg_stat_scan_tables;

-- all rows of a call
CREATE FUNCTION rows(call text) RETURNS text LANGUAGE plpgsql AS
$$
DECLARE
	rows text;
BEGIN
	EXECUTE 'SELECT string_agg(r::text, '' '') FROM streamstat.' || call || ' r' INTO rows;
	RETURN rows;
END
$$;

CREATE FUNCTION rows_in_block(call text) RETURNS text LANGUAGE plpgsql AS
$$
BEGIN
	RETURN rows(call);
EXCEPTION WHEN division_by_zero THEN
	RETURN NULL;
END
$$;

CREATE FUNCTION one_scan(n int) RETURNS void LANGUAGE plpgsql AS
$$
DECLARE
	r record;
BEGIN
	PERFORM set_config('streamstat.io_path', CASE n % 3 WHEN 0 THEN 'buffer' ELSE 'file' END, false);
	CASE n % 7
		WHEN 0 THEN PERFORM streamstat.btree_stats('t_btree');
		WHEN 1 THEN PERFORM streamstat.sample_stats('t', 1000000);
		WHEN 2 THEN r := streamstat.btree_stats('t_btree');
		WHEN 3 THEN PERFORM streamstat.hash_stats('t_hash');
		WHEN 4 THEN PERFORM streamstat.pgstatindex('t_btree');
		WHEN 5 THEN PERFORM streamstat.pg_prewarm('t', 'read');
		WHEN 6 THEN PERFORM streamstat.pg_prewarm('t_btree', 'buffer', 'main', 0, 20000);
	END CASE;
END
$$;

-- Buffers that somebody has pinned.  Asynchronous reads that were under way at
-- a cancel keep theirs until they are done.
CREATE FUNCTION pins() RETURNS bigint LANGUAGE plpgsql AS
$$
DECLARE
	n bigint := 0;
BEGIN
	IF NOT EXISTS (SELECT FROM pg_extension WHERE extname = 'pg_buffercache') THEN
		RETURN 0;
	END IF;
	FOR i IN 1 .. 6000 LOOP
		SELECT count(*) INTO n FROM pg_buffercache
			WHERE pinning_backends > 0 AND relfilenode IN
				(SELECT pg_relation_filenode(c) FROM unnest('{t, t_btree, t_hash}'::regclass[]) c);
		EXIT WHEN n = 0;
		PERFORM pg_sleep(0.02);
	END LOOP;
	RETURN n;
END
$$;

CREATE VIEW workers AS SELECT * FROM pg_stat_activity WHERE backend_type = 'parallel worker';

-- what a call leaves behind if it goes wrong
CREATE VIEW left_behind AS SELECT (SELECT count(*) FROM workers) AS workers,
	(SELECT count(*) FROM pg_locks WHERE relation::regclass::text IN ('t', 't_btree', 't_hash')) AS locks;
SQL
}

# Commands for pages and items of all kinds, not evenly spread
sub large_changes
{
	return <<'SQL';
SET enable_seqscan = off;
DELETE FROM t WHERE s BETWEEN lpad('30000', 360, 'x') AND lpad('34000', 360, 'x');
VACUUM t;
UPDATE t SET k = k + 1 WHERE s BETWEEN lpad('70000', 360, 'x') AND lpad('72000', 360, 'x');
INSERT INTO t SELECT i, lpad((i * 7919 % 84000)::text, 360, 'x') FROM generate_series(1, 3000) i;
DELETE FROM t WHERE s BETWEEN lpad('50000', 360, 'x') AND lpad('51000', 360, 'x');
VACUUM (INDEX_CLEANUP OFF) t;
SELECT count(*) FROM t WHERE s BETWEEN lpad('49000', 360, 'x') AND lpad('52000', 360, 'x');
RESET enable_seqscan;
SQL
}

1;
