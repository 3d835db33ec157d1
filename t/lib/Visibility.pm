
# Copyright (c) 2026, streamstat contributors

# Tables that others change, and what table_stats, pgstattuple and pgstattuple_approx
# say of them by each way to the pages, compared with contrib's.

package Visibility;

use strict;
use warnings;

use Exporter 'import';
use Test::More ();

use Node;
use Session;

our @EXPORT = qw(visibility_node begin_sessions end_sessions look make numbers $fill);

# The last column of a row that a query inserts
our $fill = "repeat('y', 100)";

my ($node, @sessions);

# A server with what the others here need
sub visibility_node
{
	$node = new_node('visibility', q(
shared_buffers = 1MB
max_wal_size = 4GB
max_prepared_transactions = 10
max_worker_processes = 8
max_parallel_maintenance_workers = 2
log_statement = none
), streaming => 1);
	if (!have_extension($node, 'pgstattuple'))
	{
		$node->stop;
		Test::More::plan(skip_all => 'this server has no pgstattuple');
	}

	$node->safe_psql('postgres', <<'SQL');
CREATE SCHEMA contrib;
CREATE EXTENSION pgstattuple SCHEMA contrib;

-- What is read last is in buffers: of other tables there is nothing then.
CREATE TABLE filler AS SELECT repeat('x', 1000) FROM generate_series(1, 10000);
CREATE FUNCTION evict() RETURNS void LANGUAGE plpgsql AS
$$
BEGIN
	IF NOT pg_is_in_recovery() THEN
		CHECKPOINT;
	END IF;
	PERFORM streamstat.pg_prewarm('filler');
END
$$;

-- What we say, by one way to the pages.  Nothing but the number of pages that
-- were read privately may depend on that.
CREATE FUNCTION ours(rel regclass, path text, INOUT private bigint, OUT numbers jsonb)
LANGUAGE plpgsql AS
$$
DECLARE
	n bigint;
BEGIN
	PERFORM set_config('streamstat.io_path', path, false);
	SELECT jsonb_build_object('stats', to_jsonb(t)
			-- in contrib's words, too
			|| jsonb_build_object('table_len', bytes, 'tuple_count', live_tuples, 'tuple_len', live_tuple_bytes,
				'tuple_percent', round(live_tuple_percent::numeric, 2), 'dead_tuple_count', dead_tuples,
				'dead_tuple_len', dead_tuple_bytes, 'dead_tuple_percent', round(dead_tuple_percent::numeric, 2),
				'free_space', free_bytes - new_pages * 8192,
				'free_percent', round((free_percent - 100.0 * new_pages / nullif(pages, 0))::numeric, 2)))
		INTO numbers FROM streamstat.table_stats(rel) t;
	SELECT blocks_private INTO n FROM streamstat.stream_stats();
	private := private + n;
	SELECT numbers || jsonb_build_object('exact', to_jsonb(t)) INTO numbers FROM streamstat.pgstattuple(rel) t;
	SELECT numbers || jsonb_build_object('approx', to_jsonb(t)) INTO numbers FROM streamstat.pgstattuple_approx(rel) t;
END
$$;

CREATE FUNCTION differs(what text, ours jsonb, theirs jsonb) RETURNS text LANGUAGE sql AS
$$
	SELECT CASE WHEN count(*) < 9 THEN what || ': nothing to compare'
		ELSE string_agg(format('%s.%s: %s, not %s', what, key, o.value, t.value), '; ')
			FILTER (WHERE o.value <> t.value) END
	FROM jsonb_each(ours) o JOIN jsonb_each(theirs) t USING (key)
$$;

-- live, dead, of these recently dead, insert and delete in progress
CREATE FUNCTION look(rel regclass, OUT result text) LANGUAGE plpgsql AS
$$
DECLARE
	o jsonb;
	again jsonb;
	exact jsonb;
	approx jsonb;
	private bigint;
	private_again bigint;
	path text;
BEGIN
	PERFORM evict();
	SELECT * INTO private, o FROM ours(rel, 'file', 0);
	SELECT * INTO private_again, again FROM ours(rel, 'buffer', 0);
	IF private = 0 THEN
		result := concat_ws('; ', result, 'file: nothing was private');
	END IF;
	IF private_again <> 0 THEN
		result := concat_ws('; ', result, 'buffer: something was private');
	END IF;
	FOREACH path IN ARRAY '{stats, exact, approx}'::text[] LOOP
		result := concat_ws('; ', result, differs('buffer, ' || path, again -> path, o -> path));
	END LOOP;
	SELECT to_jsonb(t) INTO exact FROM contrib.pgstattuple(rel) t;
	SELECT to_jsonb(t) INTO approx FROM contrib.pgstattuple_approx(rel) t;
	result := concat_ws('; ', result, differs('exact', o -> 'exact', exact),
		differs('approx', o -> 'approx', approx),
		differs('stats', o -> 'stats', exact));
	-- with hint bits
	PERFORM evict();
	FOREACH path IN ARRAY '{file, buffer}'::text[] LOOP
		SELECT * INTO private, again FROM ours(rel, path, 0);
		result := concat_ws('; ', result,
			differs('again, stats', again -> 'stats', o -> 'stats'),
			differs('again, exact', again -> 'exact', exact),
			differs('again, approx', again -> 'approx', approx));
	END LOOP;
	result := concat_ws('; ', nullif(trim(result, '; '), ''), format('%s live, %s dead, %s recent, %s ins, %s del',
		o -> 'stats' -> 'tuple_count', o -> 'stats' -> 'dead_tuple_count',
		o -> 'stats' -> 'recently_dead_tuples', o -> 'stats' -> 'insert_in_progress_tuples',
		o -> 'stats' -> 'delete_in_progress_tuples'),
		CASE WHEN o -> 'stats' ->> 'corrupt_pages' <> '0' THEN 'CORRUPT' END);
END
$$;

-- so many rows that are known to have been committed, on some pages
CREATE PROCEDURE make(name text, n int) LANGUAGE plpgsql AS
$$
BEGIN
	EXECUTE format('CREATE TABLE %I (k int PRIMARY KEY, n int, t text) WITH (fillfactor = 70)', name);
	EXECUTE format('INSERT INTO %I SELECT i, 0, repeat(''x'', 100) FROM generate_series(1, $1) i', name) USING n;
END
$$;

-- each change in a subtransaction of its own; every third is rolled back
CREATE PROCEDURE one_by_one(change text, low int, high int) LANGUAGE plpgsql AS
$$
BEGIN
	FOR i IN low .. high LOOP
		BEGIN
			EXECUTE change USING i;
			IF i % 3 = 0 THEN
				RAISE division_by_zero;
			END IF;
		EXCEPTION WHEN division_by_zero THEN
		END;
	END LOOP;
END
$$;
SQL
	return $node;
}

# Four sessions; look() uses the last of them.
sub begin_sessions
{
	return @sessions = map { Session->new($node) } 1 .. 4;
}

sub end_sessions
{
	$_->end foreach @sessions;
}

# A test of what there is in a table, unless somebody has something to say to it.
sub look
{
	my ($table, $expected, $label) = @_;

	Test::More::is($sessions[3]->query("SELECT look('$table')"), $expected, $label);
	Test::More::diag($sessions[3]{err}) if $sessions[3]{err} ne '';
}

# A table with so many rows
sub make
{
	my ($table, $rows) = @_;

	$node->safe_psql('postgres', "CALL make('$table', $rows)");
}

# As look() says it: live, dead, recently dead, insert and delete in progress
sub numbers
{
	return sprintf '%d live, %d dead, %d recent, %d ins, %d del', @_;
}

1;
