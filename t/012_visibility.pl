
# Copyright (c) 2026, streamstat contributors

# What table_stats, pgstattuple and pgstattuple_approx make of transactions of
# others: in progress, prepared, ended, crashed, of long ago; on a standby; and
# while they are at work.  Pages come from buffers or are read privately, and no
# hint bit was set before we look: contrib's functions come behind ours.

use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes ();

use lib "$FindBin::RealBin/lib";
use Session;

use constant BLCKSZ => 8192;

my $seconds = 5;

my $node = PostgreSQL::Test::Cluster->new('visibility');
$node->init(allows_streaming => 1);
$node->append_conf(
	'postgresql.conf', q(
autovacuum = off
fsync = off
shared_buffers = 1MB
max_wal_size = 4GB
max_prepared_transactions = 10
max_worker_processes = 8
max_parallel_maintenance_workers = 2
log_statement = none
));
$node->start;
if ($node->safe_psql('postgres',
		"SELECT count(*) FROM pg_available_extensions WHERE name = 'pgstattuple'") == 0)
{
	$node->stop;
	plan skip_all => 'this server has no pgstattuple';
}

$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION streamstat;
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
	SELECT jsonb_build_object('stats', to_jsonb(t)) INTO numbers FROM streamstat.table_stats(rel) t;
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

-- a row of table_stats with the names and the rounding of pgstattuple
CREATE FUNCTION as_contrib(t jsonb) RETURNS jsonb LANGUAGE sql AS
$$
	SELECT jsonb_build_object('table_len', t -> 'bytes', 'tuple_count', t -> 'live_tuples',
		'tuple_len', t -> 'live_tuple_bytes', 'dead_tuple_count', t -> 'dead_tuples',
		'dead_tuple_len', t -> 'dead_tuple_bytes', 'free_space', t -> 'free_bytes',
		'tuple_percent', coalesce(round((t ->> 'live_tuple_percent')::numeric, 2), 0),
		'dead_tuple_percent', coalesce(round((t ->> 'dead_tuple_percent')::numeric, 2), 0),
		'free_percent', coalesce(round((t ->> 'free_percent')::numeric, 2), 0))
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
		differs('stats', as_contrib(o -> 'stats'), exact));
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
		o -> 'stats' -> 'live_tuples', o -> 'stats' -> 'dead_tuples',
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

my ($a, $b, $c, $d);

sub begin_sessions
{
	($a, $b, $c, $d) = map { Session->new($node) } 1 .. 4;
}

sub end_sessions
{
	$_->end foreach ($a, $b, $c, $d);
}

# In $d, unless somebody has something to say to it.
sub look
{
	my ($table, $expected, $label) = @_;

	is($d->query("SELECT look('$table')"), $expected, $label);
	diag($d->{err}) if $d->{err} ne '';
}

sub make
{
	$node->safe_psql('postgres', "CALL make('$_[0]', $_[1])");
}

sub numbers
{
	return sprintf '%d live, %d dead, %d recent, %d ins, %d del', @_;
}

my $fill = "repeat('y', 100)";

begin_sessions();

# ---------------------------------------------------------------------------
# In progress, by others

make('progress', 1000);
look('progress', numbers(1000, 0, 0, 0, 0), 'all committed');
$a->query("BEGIN; INSERT INTO progress SELECT i, 0, $fill FROM generate_series(1001, 1100) i");
look('progress', numbers(1100, 0, 0, 100, 0), 'inserts in progress');
$b->query('BEGIN; DELETE FROM progress WHERE k <= 200');
look('progress', numbers(1100, 0, 0, 100, 200), 'deletes in progress');
$c->query('BEGIN; UPDATE progress SET n = 1 WHERE k BETWEEN 301 AND 350');
look('progress', numbers(1150, 0, 0, 150, 250), 'updates in progress');
$c->query("UPDATE progress SET t = $fill, k = -k WHERE k BETWEEN 301 AND 310");
look('progress', numbers(1160, 0, 0, 160, 250),
	'rows updated twice: what the same transaction inserted and deleted');
$a->query('DELETE FROM progress WHERE k > 1050');
look('progress', numbers(1160, 0, 0, 160, 250),
	'inserted and deleted by a transaction in progress');
$b->query('ROLLBACK');
look('progress', numbers(1160, 0, 0, 160, 50), 'deletes rolled back');
$a->query('COMMIT');
look('progress', numbers(1110, 50, 0, 60, 50), 'inserts committed');
$c->query('COMMIT');
look('progress', numbers(1050, 110, 0, 0, 0), 'updates committed');
$a->query("BEGIN; INSERT INTO progress SELECT i, 0, $fill FROM generate_series(2001, 2100) i");
$a->query('ROLLBACK');
is($d->query("SELECT live_tuples, dead_tuples >= 100 FROM streamstat.table_stats('progress')"),
	"1050|t", 'inserts rolled back');
is($d->query("SELECT split_part(look('progress'), ' ', 2)"), 'live,',
	'inserts rolled back: as contrib');

# What the session itself does, beside the others
make('own', 1000);
$a->query('BEGIN; DELETE FROM own WHERE k <= 100');
$d->query("BEGIN; DELETE FROM own WHERE k BETWEEN 101 AND 300; INSERT INTO own SELECT i, 0, $fill FROM generate_series(1001, 1050) i; DELETE FROM own WHERE k > 1040");
look('own', numbers(840, 210, 0, 40, 310), 'own changes');
$d->query('SAVEPOINT a; DELETE FROM own WHERE k BETWEEN 301 AND 400');
look('own', numbers(740, 310, 0, 40, 410), 'own subtransaction');
$d->query('ROLLBACK TO a');
look('own', numbers(840, 210, 0, 40, 310), 'own subtransaction rolled back');
$d->query('COMMIT');
$a->query('COMMIT');
look('own', numbers(740, 310, 0, 0, 0), 'own changes committed');

# ---------------------------------------------------------------------------
# Subtransactions of others, more than the proc array has room for

make('sub', 1000);
$a->query("BEGIN; CALL one_by_one('INSERT INTO sub VALUES (\$1, 0, $fill)', 1001, 1300)" =~ s/'y'/''y''/r);
is($a->{err}, '', 'subtransactions: no error');
$b->query("BEGIN; CALL one_by_one('DELETE FROM sub WHERE k = \$1', 1, 300)");
is($b->{err}, '', 'subtransactions: no error');
look('sub', numbers(1200, 100, 0, 200, 200), '300 subtransactions each');
$a->query('SAVEPOINT a; DELETE FROM sub WHERE k > 900');
look('sub', numbers(1200, 100, 0, 200, 300), 'and one more');
$a->query('ROLLBACK TO a');
look('sub', numbers(1200, 100, 0, 200, 200), 'rolled back');
$a->query('COMMIT');
look('sub', numbers(1200, 100, 0, 0, 200), 'the first committed');
$b->query('COMMIT');
look('sub', numbers(1000, 300, 0, 0, 0), 'the second committed');

# ---------------------------------------------------------------------------
# Prepared transactions

make('prepared', 1000);
$a->query("BEGIN; INSERT INTO prepared SELECT i, 0, $fill FROM generate_series(1001, 1100) i; SAVEPOINT a; DELETE FROM prepared WHERE k <= 10; PREPARE TRANSACTION 'a'");
$b->query("BEGIN; DELETE FROM prepared WHERE k BETWEEN 11 AND 50; PREPARE TRANSACTION 'b'");
look('prepared', numbers(1100, 0, 0, 100, 50), 'prepared');
end_sessions();
$node->restart;
begin_sessions();
look('prepared', numbers(1100, 0, 0, 100, 50), 'prepared, after a restart');
$a->query("COMMIT PREPARED 'b'");
look('prepared', numbers(1060, 40, 40, 100, 10), 'one committed');
$a->query("ROLLBACK PREPARED 'a'");
look('prepared', numbers(960, 140, 0, 0, 0), 'the other rolled back');

# ---------------------------------------------------------------------------
# Row locks and multixacts

make('locks', 1000);
$a->query('BEGIN; SELECT FROM locks WHERE k <= 600 FOR KEY SHARE');
$a->query('SELECT FROM locks WHERE k BETWEEN 601 AND 650 FOR UPDATE');
look('locks', numbers(1000, 0, 0, 0, 0), 'locked by one');
$b->query('BEGIN; SELECT FROM locks WHERE k <= 100 FOR SHARE');
look('locks', numbers(1000, 0, 0, 0, 0), 'locked by two');
$c->query('BEGIN; UPDATE locks SET n = 1 WHERE k BETWEEN 101 AND 200');
look('locks', numbers(1100, 0, 0, 100, 100), 'locked, and updated by another');
$b->query('UPDATE locks SET n = 1 WHERE k BETWEEN 201 AND 300; SAVEPOINT a; UPDATE locks SET n = 2 WHERE k BETWEEN 301 AND 400; ROLLBACK TO a');
look('locks', numbers(1200, 100, 0, 200, 200),
	'a subtransaction that updated rolled back');
$c->query('COMMIT');
is($d->query("SELECT (t->>'live_tuples')::int + (t->>'dead_tuples')::int, t->>'live_tuples', t->>'delete_in_progress_tuples', t->>'recently_dead_tuples' FROM (SELECT to_jsonb(t) AS t FROM streamstat.table_stats('locks') t) t"),
	'1300|1100|100|100',
	'updater committed while the locker goes on: the rows cannot be removed yet');
like($d->query("SELECT look('locks')"), qr/^1\d\d\d live/, 'updater committed: as contrib');
$b->query('ROLLBACK');
look('locks', numbers(1000, 300, 100, 0, 0), 'updater rolled back while the locker goes on');
$a->query('COMMIT');
look('locks', numbers(1000, 300, 0, 0, 0), 'all have ended');
# a locker that came behind the updater
$a->query('BEGIN; UPDATE locks SET n = 3 WHERE k BETWEEN 701 AND 800');
$b->query('BEGIN; SELECT FROM locks WHERE k BETWEEN 701 AND 900 FOR KEY SHARE');
is($d->query("SELECT live_tuples, insert_in_progress_tuples, delete_in_progress_tuples FROM streamstat.table_stats('locks')"),
	'1100|100|100', 'locked behind an update');
like($d->query("SELECT look('locks')"), qr/^1100 live/, 'locked behind an update: as contrib');
$a->query('COMMIT; BEGIN; DELETE FROM locks WHERE k BETWEEN 951 AND 960');
like($d->query("SELECT look('locks')"), qr/^1000 live/, 'locked, update committed: as contrib');
$b->query('COMMIT');
$a->query('COMMIT');
like($d->query("SELECT look('locks')"), qr/^990 live, \d+ dead, 0 recent, 0 ins, 0 del$/, 'all have ended: as contrib');
cmp_ok($node->safe_psql('postgres', 'SELECT next_multixact_id FROM pg_control_checkpoint()'),
	'>', 3, 'there have been multixacts');

# ---------------------------------------------------------------------------
# What an old snapshot keeps

make('old', 1000);
$a->query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM filler');
$b->query('DELETE FROM old WHERE k > 500');
look('old', numbers(500, 500, 500, 0, 0), 'dead to all but an old snapshot');
is( $d->query("SELECT truncatable_pages FROM streamstat.table_stats('old')"),
	0, 'VACUUM can truncate none of these');
my $pages = $node->safe_psql('postgres', "SELECT pages FROM streamstat.table_stats('old')");
$node->safe_psql('postgres', 'VACUUM old');
is($node->safe_psql('postgres', "SELECT pages FROM streamstat.table_stats('old')"),
	$pages, 'and truncates none');
$a->query('COMMIT');
look('old', numbers(500, 500, 0, 0, 0), 'the old snapshot is gone');

# ---------------------------------------------------------------------------
# What VACUUM truncates

foreach my $case (
	[ 'k > 600' ],
	[ 'k > 600 AND k < 990' ],
	[ 'true' ],
	[ 'k > 700', 'BEGIN; DELETE FROM truncated WHERE k = 701', 'ROLLBACK' ],
	[ 'k > 600', "BEGIN; INSERT INTO truncated VALUES (-1, 0, '')", 'ROLLBACK' ])
{
	my ($condition, $before, $after) = @$case;

	$d->query('DROP TABLE IF EXISTS truncated');
	make('truncated', 1000);
	$d->query("DELETE FROM truncated WHERE $condition");
	$a->query("$before; $after") if $before;
	my ($n, $total) = split /\|/, $d->query("SELECT truncatable_pages, pages FROM streamstat.table_stats('truncated')");
	cmp_ok($n, '>', 0, "$condition: something to truncate") if $condition !~ /990/;
	$d->query('VACUUM truncated');
	is( $d->query("SELECT $total - pages FROM streamstat.table_stats('truncated')"),
		$n, "$condition: VACUUM truncates what it was said to");
}

# ---------------------------------------------------------------------------
# Pages of zeros, and a crash during open transactions

make('zeros', 1000);
make('crash', 1000);
$d->query('VACUUM zeros');
my $file = $node->data_dir . '/' . $node->safe_psql('postgres', "SELECT pg_relation_filepath('zeros')");
$a->query("BEGIN; INSERT INTO crash SELECT i, 0, $fill FROM generate_series(1001, 1100) i; SAVEPOINT a; DELETE FROM crash WHERE k <= 10");
$b->query('BEGIN; DELETE FROM crash WHERE k BETWEEN 11 AND 50');
$c->query('BEGIN; SELECT FROM crash WHERE k BETWEEN 51 AND 60 FOR KEY SHARE; SAVEPOINT a; UPDATE crash SET n = 1 WHERE k BETWEEN 51 AND 60');
$d->query("DELETE FROM crash WHERE k > 995 AND k <= 1000; CHECKPOINT");
$a->query('DELETE FROM crash WHERE k BETWEEN 61 AND 70');
look('crash', numbers(1105, 5, 5, 110, 70), 'before the crash');
# let the log tell of what has not committed
$d->query("CREATE TABLE logged AS SELECT 1 AS i");
$node->stop('immediate');
end_sessions();

open(my $fh, '>>', $file) or die "could not open $file: $!";
binmode $fh;
print $fh "\0" x (5 * BLCKSZ);
close($fh);
$node->start;
begin_sessions();
look('crash', numbers(995, 115, 0, 0, 0), 'after the crash');
look('zeros', numbers(1000, 0, 0, 0, 0), 'pages of zeros');
is( $d->query("SELECT new_pages, first_new_block = pages - 5, truncatable_pages FROM streamstat.table_stats('zeros')"),
	'5|t|5', 'pages of zeros are new, and can be truncated');
$d->query('VACUUM zeros');
is($d->query("SELECT new_pages FROM streamstat.table_stats('zeros')"),
	0, 'VACUUM truncates them or makes them empty ones');

# ---------------------------------------------------------------------------
# Workers: a large table, without hint bits, and in files for the most part

$d->query(q(
CREATE TABLE big (k int, s text) WITH (fillfactor = 10);
ALTER TABLE big ALTER s SET STORAGE PLAIN;
INSERT INTO big SELECT i, lpad(i::text, 360, 'x') FROM generate_series(1, 35000) i));
$a->query("BEGIN; INSERT INTO big SELECT i, lpad(i::text, 360, 'x') FROM generate_series(35001, 35500) i; SAVEPOINT a; DELETE FROM big WHERE k <= 500");
$b->query('BEGIN; SELECT FROM big WHERE k BETWEEN 1001 AND 2000 FOR KEY SHARE; SAVEPOINT a; DELETE FROM big WHERE k BETWEEN 1501 AND 2000; DELETE FROM big WHERE k > 34990');
$d->query("BEGIN; DELETE FROM big WHERE k BETWEEN 20001 AND 20100; SAVEPOINT a; DELETE FROM big WHERE k BETWEEN 30001 AND 30100; INSERT INTO big SELECT i, lpad(i::text, 360, 'x') FROM generate_series(40001, 40100) i; SAVEPOINT b; DELETE FROM big WHERE k = 5000; ROLLBACK TO b");
my %seen;
foreach my $path ('file', 'buffer')
{
	foreach my $workers (0, 1)
	{
		$d->query("CHECKPOINT; SET streamstat.io_path = $path; SET streamstat.max_workers = $workers");
		foreach my $function ('table_stats', 'pgstattuple', 'pgstattuple_approx')
		{
			my $row = $d->query("SELECT * FROM streamstat.$function('big')");
			my $label = "$function: $path, $workers workers";

			is($d->{err}, '', "$label: no error");
			$seen{$function} //= $row;
			is($row, $seen{$function}, $label);
			is( $d->query('SELECT workers, blocks_private > blocks_requested / 2 FROM streamstat.stream_stats()'),
				"$workers|" . ($path eq 'file' ? 't' : 'f'),
				"$label: workers and private pages");
		}
	}
}
foreach my $function ('pgstattuple', 'pgstattuple_approx')
{
	is( $d->query("SELECT * FROM contrib.$function('big')"),
		$seen{$function}, "$function: as contrib's");
}
is( $d->query("SELECT live_tuples, dead_tuples, insert_in_progress_tuples, delete_in_progress_tuples FROM streamstat.table_stats('big')"),
	'35400|200|600|1210', 'the numbers that were to be expected');
$_->query('ROLLBACK') foreach ($a, $b, $d);
is( $d->query("SELECT live_tuples, dead_tuples, workers FROM streamstat.table_stats('big'), streamstat.stream_stats()"),
	'35000|600|1', 'after rollback');
$d->query('DROP TABLE big; RESET ALL');

# ---------------------------------------------------------------------------
# A standby

$node->backup('backup', backup_options => ['--no-sync']);
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'backup', has_streaming => 1);
$standby->start;

make('stand', 1000);
$a->query("BEGIN; CALL one_by_one('INSERT INTO stand VALUES (\$1, 0, $fill)', 1001, 1300)" =~ s/'y'/''y''/r);
$b->query('BEGIN; SELECT FROM stand WHERE k <= 100 FOR KEY SHARE; SAVEPOINT a; DELETE FROM stand WHERE k <= 50');
$c->query('DELETE FROM stand WHERE k BETWEEN 101 AND 200; BEGIN; DELETE FROM stand WHERE k BETWEEN 201 AND 250; ROLLBACK');
$c->query("BEGIN; DELETE FROM stand WHERE k BETWEEN 301 AND 310; PREPARE TRANSACTION 's'");
# the WAL of transactions that are in progress
$node->safe_psql('postgres', 'CREATE TABLE flushed (i int)');

sub standby_look
{
	my ($expected, $label) = @_;

	$node->safe_psql('postgres', 'CHECKPOINT');
	$node->wait_for_catchup($standby);
	my ($end) = $standby->safe_psql('postgres', 'SELECT pg_last_wal_replay_lsn()');
	$standby->safe_psql('postgres', 'CHECKPOINT');
	is($standby->safe_psql('postgres', "SELECT look('stand')"), $expected, "$label: standby");
	is($d->query("SELECT look('stand')"), $expected, "$label: primary");
	is( $standby->safe_psql('postgres', "SET streamstat.io_path = file; SELECT to_jsonb(t) - '{fsm_free_bytes, fsm_nonfull_pages, fsm_largest_free_bytes}'::text[] FROM streamstat.table_stats('stand') t"),
		# a free space map has no WAL
		$d->query("SELECT to_jsonb(t) - '{fsm_free_bytes, fsm_nonfull_pages, fsm_largest_free_bytes}'::text[] FROM streamstat.table_stats('stand') t"),
		"$label: the same numbers");
}
standby_look(numbers(1100, 200, 100, 200, 60), 'in progress');
$a->query('COMMIT');
$b->query('ROLLBACK');
$node->safe_psql('postgres', "COMMIT PREPARED 's'");
standby_look(numbers(1090, 210, 0, 0, 0), 'ended');

# During replay: no error, nothing corrupt
my $watcher = Session->new($standby);
$watcher->query("SET streamstat.io_path = file");
$watcher->send_query(q(
DO $$
DECLARE
	r record;
	until timestamptz := clock_timestamp() + interval '3 s';
	scans int := 0;
BEGIN
	WHILE clock_timestamp() < until LOOP
		SELECT * INTO r FROM streamstat.table_stats('stand');
		IF r.corrupt_pages > 0 OR r.live_tuples < 790 OR r.dead_tuples < 0 THEN
			RAISE WARNING '%', r;
		END IF;
		scans := scans + 1;
	END LOOP;
	PERFORM set_config('test.scans', scans::text, false);
END
$$));
my $rounds = 0;
while ($watcher->busy)
{
	$c->query("INSERT INTO stand SELECT i, 0, $fill FROM generate_series(5001, 5300) i; UPDATE stand SET n = n + 1 WHERE k % 5 = $rounds % 5; DELETE FROM stand WHERE k > 5000; VACUUM " . ($rounds % 3 == 0 ? '(FREEZE)' : '') . ' stand');
	$rounds++;
}
is($watcher->answer, '', 'during replay');
is($watcher->{err}, '', 'during replay: no error or warning');
cmp_ok($watcher->query("SELECT current_setting('test.scans')"), '>', 5, 'during replay: scans');
$watcher->end;
standby_look($d->query("SELECT look('stand')"), 'after replay');
$standby->stop;

# ---------------------------------------------------------------------------
# Writers and scans at the same time.  Rows up to 20000 stay; what the writers
# add and take away, they write down.

$node->safe_psql('postgres', q(
CALL make('busy', 20000);
CREATE TABLE done (writer int, inserted bigint);
CREATE PROCEDURE write_busy(writer int, seconds float8) LANGUAGE plpgsql AS
$$
DECLARE
	until timestamptz := clock_timestamp() + seconds * interval '1 s';
	base int := 100000 * writer;
	n bigint := 0;
BEGIN
	FOR i IN 1 .. 100000 LOOP
		EXIT WHEN clock_timestamp() > until;
		INSERT INTO busy SELECT base + g, 0, repeat('z', 100) FROM generate_series(1, 200) g;
		n := n + 200;
		COMMIT;
		INSERT INTO busy SELECT base + 1000 + g, 0, repeat('z', 100) FROM generate_series(1, 100) g;
		n := n + 100;
		ROLLBACK;
		UPDATE busy SET n = 1 WHERE k BETWEEN base AND base + 50;
		n := n + 50;
		COMMIT;
		DELETE FROM busy WHERE k BETWEEN base AND base + 1000;
		COMMIT;
	END LOOP;
	INSERT INTO busy SELECT base + g, 0, '' FROM generate_series(1, 10) g;
	n := n + 10;
	INSERT INTO done VALUES (writer, n);
END
$$;

CREATE FUNCTION scan_busy(seconds float8) RETURNS TABLE (scans bigint, most bigint, private boolean, progress boolean)
LANGUAGE plpgsql AS
$$
DECLARE
	until timestamptz := clock_timestamp() + seconds * interval '1 s';
	r record;
	p record;
	a record;
	n bigint;
BEGIN
	scans := 0;
	most := 0;
	private := false;
	progress := false;
	WHILE clock_timestamp() < until LOOP
		SELECT * INTO r FROM streamstat.table_stats('busy');
		SELECT blocks_private INTO n FROM streamstat.stream_stats();
		SELECT * INTO p FROM streamstat.pgstattuple('busy');
		SELECT * INTO a FROM streamstat.pgstattuple_approx('busy');
		IF r.corrupt_pages <> 0 OR r.live_tuples < 20000 OR r.dead_tuples < 0
			OR r.live_tuples > 20000 + 3 * 1000
			OR r.recently_dead_tuples NOT BETWEEN 0 AND r.dead_tuples
			OR r.insert_in_progress_tuples < 0 OR r.delete_in_progress_tuples < 0
			OR r.insert_in_progress_tuples > r.live_tuples
			OR r.live_tuple_bytes + r.dead_tuple_bytes + r.free_bytes > r.bytes
			OR r.all_frozen_pages > r.all_visible_pages OR r.truncatable_pages > r.pages
			OR p.tuple_count < 20000 OR p.dead_tuple_count < 0
			OR a.dead_tuple_count < 0 OR a.approx_tuple_count < 0 OR a.approx_tuple_len > a.table_len THEN
			RAISE WARNING '%, %, %', r, p, a;
		END IF;
		scans := scans + 1;
		most := greatest(most, r.live_tuples + r.dead_tuples);
		private := private OR n > 0;
		progress := progress OR r.insert_in_progress_tuples + r.delete_in_progress_tuples > 0;
	END LOOP;
	RETURN NEXT;
END
$$;));
my @writers = map { Session->new($node) } 1 .. 3;
my @scanners = map { Session->new($node) } 1 .. 2;
$scanners[0]->query('SET streamstat.io_path = file');
$scanners[1]->query('SET streamstat.io_path = buffer');
$writers[$_]->send_query("CALL write_busy($_ + 1, $seconds)") foreach (0 .. 2);
$_->send_query("SELECT * FROM scan_busy($seconds)") foreach (@scanners);
while ($scanners[0]->busy)
{
	$d->query('VACUUM busy');
	Time::HiRes::usleep(200_000);
}
my @most;
foreach my $i (0, 1)
{
	my $path = ('file', 'buffer')[$i];
	my ($scans, $most, $private, $progress) = split /\|/, $scanners[$i]->answer;

	is($scanners[$i]->{err}, '', "$path, beside writers: no error, no strange number");
	cmp_ok($scans, '>', 5, "$path, beside writers: scans");
	is($private, $path eq 'file' ? 't' : 'f', "$path, beside writers: private pages");
	is($progress, 't', "$path, beside writers: some were in progress");
	push @most, $most;
}
is($_->answer . $_->{err}, '', 'writers: no error') foreach (@writers);
my $inserted = $node->safe_psql('postgres', 'SELECT sum(inserted) FROM done');
cmp_ok($_, '<=', 20000 + $inserted, 'no more tuples than were ever inserted') foreach (@most);
cmp_ok($_, '>', 20000, 'and some of these') foreach (@most);
like($d->query("SELECT look('busy')"), qr/^20030 live, \d+ dead, 0 recent, 0 ins, 0 del$/, 'at the end: exact');
$d->query('VACUUM (FREEZE) busy');
look('busy', numbers(20030, 0, 0, 0, 0), 'after VACUUM');
$_->end foreach (@writers, @scanners);

# ---------------------------------------------------------------------------
# When the commit log has been truncated

make('frozen', 1000);
$d->query('DELETE FROM frozen WHERE k <= 100; BEGIN; DELETE FROM frozen WHERE k > 900; ROLLBACK; BEGIN; SELECT FROM frozen WHERE k BETWEEN 101 AND 200 FOR KEY SHARE; SAVEPOINT a; UPDATE frozen SET n = 1 WHERE k BETWEEN 101 AND 150; COMMIT');
look('frozen', numbers(900, 150, 0, 0, 0), 'before VACUUM FREEZE');
end_sessions();
$node->stop;
command_ok([ 'pg_resetwal', '--next-transaction-id', '2000000', $node->data_dir ],
	'transactions leap ahead');
open($fh, '>', $node->data_dir . '/pg_xact/0001') or die "could not create a file: $!";
binmode $fh;
print $fh "\0" x 262144;
close($fh);
$node->start;
begin_sessions();
look('frozen', numbers(900, 150, 0, 0, 0), 'after the leap');
$node->safe_psql('postgres', "UPDATE pg_database SET datallowconn = true");
$node->command_ok([ 'vacuumdb', '--all', '--freeze', '--quiet' ], 'VACUUM FREEZE');
ok(!-e $node->data_dir . '/pg_xact/0000', 'the commit log was truncated');
look('frozen', numbers(900, 0, 0, 0, 0), 'after VACUUM FREEZE');
$a->query('BEGIN; DELETE FROM frozen WHERE k > 990');
look('frozen', numbers(900, 0, 0, 0, 10), 'deletes in progress then');
foreach my $table ('progress', 'sub', 'prepared', 'locks', 'crash', 'stand', 'busy')
{
	like($d->query("SELECT look('$table')"), qr/^\d+ live, 0 dead, 0 recent, 0 ins, 0 del$/,
		"$table: after VACUUM FREEZE");
}
end_sessions();

$node->stop;
my $log = slurp_file($node->logfile) . slurp_file($standby->logfile);
unlike($log, qr/PANIC|TRAP|terminated by signal/, 'no crash');
unlike($log, qr/leak|not closed|still referenced/i, 'no leak');

done_testing();
