
# Copyright (c) 2026, streamstat contributors

# What table_stats, pgstattuple and pgstattuple_approx make of transactions of others
# by workers, on a standby, and while the others are at work.

use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes ();

use lib "$FindBin::RealBin/lib";
use Extra 'slow';
use Node;
use Session;
use Visibility;

my $seconds = 5;

my $node = visibility_node();
my ($a, $b, $c, $d) = begin_sessions();

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

my $standby = new_standby($node);

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
	WHILE clock_timestamp() < until OR scans <= 5 LOOP
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
# Writers, until there is a row in "ended", and scans at the same time.  Rows up to 20000
# stay; what the writers add and take away, they write down.

$node->safe_psql('postgres', q(
CALL make('busy', 20000);
CREATE TABLE done (writer int, inserted bigint);
CREATE TABLE ended ();
CREATE PROCEDURE write_busy(writer int) LANGUAGE plpgsql AS
$$
DECLARE
	base int := 100000 * writer;
	n bigint := 0;
BEGIN
	FOR i IN 1 .. 100000 LOOP
		EXIT WHEN EXISTS (SELECT FROM ended);
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
	WHILE clock_timestamp() < until OR scans <= 5 OR NOT progress LOOP
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
$writers[$_]->send_query("CALL write_busy($_ + 1)") foreach (0 .. 2);
$_->send_query("SELECT * FROM scan_busy($seconds)") foreach (@scanners);
while (grep { $_->busy } @scanners)
{
	$d->query('VACUUM busy');
	Time::HiRes::usleep(200_000);
}
$d->query('INSERT INTO ended DEFAULT VALUES');
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

# Nobody is at work any more.
$node->safe_psql('postgres', 'VACUUM (FREEZE) stand, busy');
foreach my $table ('stand', 'busy')
{
	like($d->query("SELECT look('$table')"), qr/^\d+ live, 0 dead, 0 recent, 0 ins, 0 del$/,
		"$table: after VACUUM FREEZE");
}
end_sessions();

stop_clean($node, $standby);
done_testing();
