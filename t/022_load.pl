
# Copyright (c) 2026, streamstat contributors

# All functions under the load of others: pgbench, VACUUM, all kinds of DDL and
# another version of the extension meanwhile.  No deadlock, no error but what DDL must
# give, nobody held up by a scan that sleeps; and in the long form, what
# pgbench loses by a session that scans all the time at 50 MB/s.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use IPC::Run ();
use POSIX ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes ();

use Calls;
use Session;
use Torture;

my $long = defined $ENV{STREAMSTAT_TORTURE_SECONDS};
torture_seed();

my $node = PostgreSQL::Test::Cluster->new('load');
$node->init;
$node->append_conf(
	'postgresql.conf', q(
autovacuum = off
fsync = off
shared_buffers = 64MB
max_wal_size = 4GB
deadlock_timeout = 200ms
));
$node->start;

my $major = $node->safe_psql('postgres', "SHOW server_version_num") / 10000;
my $scale = $long ? 16 : 1;
my $clients = 16;

run_log([ 'pgbench', '-i', '-q', '-s', $scale, $node->connstr('postgres') ])
  or die 'pgbench -i failed';
$node->safe_psql('postgres',
	"CREATE EXTENSION streamstat;\n"
	  . table_with_indexes('busy')
	  . q(
CREATE TABLE source AS TABLE busy;
CREATE TABLE held AS SELECT i AS k, 'x' AS pad FROM generate_series(1, 60000) i;
CREATE INDEX held_btree ON held (k);
CREATE TABLE tree (k int, pad text) PARTITION BY RANGE (k);
CREATE TABLE tree_1 PARTITION OF tree FOR VALUES FROM (0) TO (10000);
CREATE TABLE tree_2 PARTITION OF tree FOR VALUES FROM (10000) TO (20000);
INSERT INTO tree SELECT i, repeat('x', 100) FROM generate_series(0, 19999) i;
CREATE INDEX tree_k ON tree (k);

-- one call after the other, for some seconds
CREATE PROCEDURE call_all(calls text[], seconds float8) LANGUAGE plpgsql AS
$$
DECLARE
	until timestamptz := clock_timestamp() + seconds * interval '1 s';
	call text;
BEGIN
	LOOP
		FOREACH call IN ARRAY calls LOOP
			EXIT WHEN clock_timestamp() > until;
			EXECUTE call;
			COMMIT;
		END LOOP;
		EXIT WHEN clock_timestamp() > until;
	END LOOP;
END
$$;
));
is(functions_without_call($node), '', 'all functions are called');

# ---------------------------------------------------------------------------
# VACUUM does not wait for scans that sleep

$node->safe_psql('postgres', 'DELETE FROM held WHERE k % 10 = 0');

my $observer = Session->new($node);
my @slow;
foreach my $path ('auto', 'buffer')
{
	foreach my $call (
		"table_stats('held')",
		"btree_stats('held_btree')",
		"database_report(margin => 0)",
		$path eq 'auto'
		? ()
		: (
			"pgstattuple('held')", "pgstatindex('held_btree')",
			"sample('held', 1000)", "pg_prewarm('held')"))
	{
		my $session = Session->new($node);

		# a slice of 16 blocks is due every 4 s
		$session->query(
			"LOAD 'streamstat'; SET streamstat.io_path = $path; SET streamstat.max_rate = '32kB'");
		$session->send_query("SELECT * FROM streamstat.$call");
		push @slow, $session;
	}
}

# Are all of them, in the middle of their scans?
sub asleep
{
	return $observer->query(sprintf q(
SELECT 1 FROM streamstat.progress p JOIN pg_stat_activity a USING (pid)
WHERE a.wait_event_type = 'Extension' AND p.bytes_done > 0
HAVING count(*) = %d), scalar(@slow));
}

# Should it wait for pages that scans have pinned, it does so for a slice at each.
my $took = 60;
foreach my $try (1 .. 4)
{
	Session::poll('scans sleep', \&asleep) // last;
	my $begin = Time::HiRes::time();

	# One that waits for pages would do so at each of them.  To cut off empty
	# pages it would wait 5 s for its lock, as beside any query.
	$observer->query("SET statement_timeout = '15s'");
	$observer->query(
		'VACUUM (FREEZE, DISABLE_PAGE_SKIPPING, INDEX_CLEANUP ON, TRUNCATE OFF) held'
	);
	last if how_it_failed($observer->{err});
	$observer->query("RESET statement_timeout");
	$took = Time::HiRes::time() - $begin;
	last if $took < 2;
	$node->safe_psql('postgres', "DELETE FROM held WHERE k % 10 = $try");
}
$observer->query("RESET statement_timeout");
cmp_ok($took, '<', 2, 'VACUUM does not wait for the next slice of a scan');
note("VACUUM took $took s");
is( $observer->query(
		"SELECT count(*), sum(live_items) FROM streamstat.btree_stats('held_btree')"
	) =~ /^1\|5/ ? 't' : 'f',
	't', 'it has removed index entries');

$observer->query("SELECT pg_cancel_backend($_->{pid})") foreach @slow;
foreach (@slow)
{
	$_->answer;
	$_->end;
}

# ---------------------------------------------------------------------------
# Everything at once

# An update that replaces all functions and views, where this installation lets
# us put one.
my $extension_dir;
my @scripts;
{
	my $sharedir = $node->config_data('--sharedir');

	chomp $sharedir;
	$extension_dir = "$sharedir/extension";
}
if (-w $extension_dir && -f "$extension_dir/streamstat--1.0.sql")
{
	my $script = slurp_file("$extension_dir/streamstat--1.0.sql");

	$script =~ s/^CREATE (FUNCTION|PROCEDURE|VIEW)/CREATE OR REPLACE $1/mg;
	@scripts = map { "$extension_dir/streamstat--$_.sql" } ('1.0--torture', 'torture--1.0');
	append_to_file($_, $script) foreach @scripts;
}
END { unlink @scripts; }
note(@scripts ? 'with updates of the extension' : 'no update: no place for its script');

my %r = (relations_of('busy'), tree => 'tree', tree_index => 'tree_k');
my @calls = (
	all_calls(%r),
	map { "SELECT * FROM streamstat.$_" } (
		"table_stats('pgbench_accounts')", "pgstattuple('pgbench_history')",
		"btree_stats('pgbench_accounts_pkey')",
		"pgstattuple_approx('pgbench_tellers')",
		"table_stats('tree_1')", "btree_stats('tree_1_k_idx')",
		"index_stats('busy_more')", "reclaim('pgbench_branches')"));

# What a name or an OID stands for may be gone, or on its way.
my $allowed = join '|',
  '42P01: relation "[\w.]+" does not exist',
  'XX000: could not open relation with OID \d+',
  '42P01: could not find parent table of index',
  '55000: index "\w+" is not valid',
  '55P03: canceling statement because another session waits for a lock',
  '22023: fork "vm" does not exist for this relation';

# ... so may the extension's own functions
my $allowed_without_extension = join '|',
  '42883: (function|procedure) streamstat\.\w+\(.*\) does not exist',
  '3F000: schema "streamstat" does not exist',
  'XX000: cache lookup failed for (function|type) \d+';

my (%failed, %ddl, @unexpected, %longest);

sub without_names
{
	return $_[0] =~ s/"[\w.]+"|OID \d+|(function|type) \d+|streamstat\.\w+\(.*\)/.../r;
}

sub caller_of
{
	my (@calls) = @_;
	my $session = Session->new($node);

	$session->query("LOAD 'streamstat'");
	return {
		session => $session,
		next => sub { random_settings(0, 0, '50MB', '20MB') . '; ' . one_of(@calls) },
		done => sub {
			my ($how, $query) = @_;

			$failed{ without_names($how) }++;
			push @unexpected, "$how: $query"
			  if $how !~ /^(?:$allowed|$allowed_without_extension|$)/;
		}
	};
}

# A session that does random things.  Each has its own relations, as commands of the
# server that wait for others' snapshots can be in each other's way.
sub ddl
{
	my ($name, @commands) = @_;
	my $began;
	my @todo;

	return {
		session => Session->new($node),
		next => sub {
			if (!@todo)
			{
				my $commands = one_of(@commands);

				# nobody stops in the middle of a transaction
				@todo = $commands =~ /^BEGIN/ ? $commands : split /; /, $commands;
			}
			$began = Time::HiRes::time();
			return shift @todo;
		},
		done => sub {
			my ($how, $query) = @_;
			my $seconds = Time::HiRes::time() - $began;
			my ($command) = $query =~ /^([A-Z]+)/;

			$ddl{"$name: " . (without_names($how) || 'done')}++;
			push @unexpected, "$how: $query" if $how;
			$longest{$command} = $seconds if $seconds > ($longest{$command} // 0);
		}
	};
}

my $seconds = torture_seconds(5);
my $load_seconds = $long ? 0.55 * $seconds : $seconds;
my $until = Time::HiRes::time() + $load_seconds;

sub start_pgbench
{
	my ($seconds) = @_;
	my %run = (out => '', err => '');

	$run{run} = IPC::Run::start(
		[ 'pgbench', '-n', '-c', $clients, '-j', 2, '-T', int($seconds + 0.5), $node->connstr('postgres') ],
		'<', \undef, '>', \$run{out}, '2>', \$run{err});
	return \%run;
}

my $pgbench = start_pgbench($load_seconds);
my @workers = (
	(map { caller_of(@calls) } 1 .. 4),
	ddl('busy',
		'BEGIN; LOCK TABLE busy; TRUNCATE busy; INSERT INTO busy SELECT * FROM source; COMMIT',
		'INSERT INTO busy SELECT * FROM source', 'DELETE FROM busy WHERE k % 5 = 1',
		('VACUUM busy') x 3, 'VACUUM (FREEZE, DISABLE_PAGE_SKIPPING) busy',
		'VACUUM FULL busy', 'CLUSTER busy USING busy_btree',
		($major >= 19 ? 'REPACK busy' : ()),
		'REINDEX INDEX busy_gin', 'REINDEX TABLE busy',
		'REINDEX TABLE CONCURRENTLY busy', 'REINDEX INDEX CONCURRENTLY busy_btree',
		'CREATE INDEX CONCURRENTLY busy_more ON busy (k, pad); DROP INDEX CONCURRENTLY busy_more',
		'CREATE INDEX busy_more ON busy (pad); DROP INDEX busy_more',
		'BEGIN; DROP TABLE busy; ' . table_with_indexes('busy') =~ s/;\n/; /gr . 'COMMIT'),
	ddl('tree',
		'ALTER TABLE tree DETACH PARTITION tree_2; ALTER TABLE tree ATTACH PARTITION tree_2 FOR VALUES FROM (10000) TO (20000)',
		'ALTER TABLE tree DETACH PARTITION tree_1 CONCURRENTLY; ALTER TABLE tree ATTACH PARTITION tree_1 FOR VALUES FROM (0) TO (10000)',
		'DROP TABLE tree_2; CREATE TABLE tree_2 PARTITION OF tree FOR VALUES FROM (10000) TO (20000)',
		'TRUNCATE tree', "INSERT INTO tree SELECT i, 'x' FROM generate_series(0, 19999, 5) i"),
	ddl('pgbench', 'VACUUM pgbench_accounts', 'VACUUM pgbench_history',
		'VACUUM (FREEZE) pgbench_tellers', 'VACUUM FULL pgbench_branches', 'TRUNCATE pgbench_history',
		'REINDEX INDEX CONCURRENTLY pgbench_tellers_pkey',
		'CREATE INDEX CONCURRENTLY accounts_more ON pgbench_accounts (bid); DROP INDEX CONCURRENTLY accounts_more'),
	ddl('extension',
		(@scripts ? ("ALTER EXTENSION streamstat UPDATE TO 'torture'; ALTER EXTENSION streamstat UPDATE TO '1.0'; SELECT pg_sleep(0.5)") : ()),
		'DROP EXTENSION streamstat; CREATE EXTENSION streamstat; SELECT pg_sleep(1)'));
my $ndone = keep_busy(sub { Time::HiRes::time() < $until }, @workers);

$pgbench->{run}->finish;
note("$ndone queries");
note(sprintf '%6d %s', $failed{$_}, $_ || 'rows') foreach sort keys %failed;
note(sprintf '%6d %s', $ddl{$_}, $_) foreach sort keys %ddl;
note(sprintf '%6.3f s the longest %s', $longest{$_}, $_) foreach sort keys %longest;
note($pgbench->{out});

is(join("\n", @unexpected), '', 'no error but what DDL must give');
cmp_ok($failed{''} // 0, '>', $load_seconds, 'calls were made');
cmp_ok($ddl{"$_: done"} // 0, '>', $long ? 3 : 0, "$_: things were done")
  foreach ('busy', 'tree', 'pgbench', 'extension');
is($pgbench->{err} =~ s/^pgbench \(.*\)\n//r, '', 'pgbench says nothing bad');
like($pgbench->{out}, qr/^number of failed transactions: 0 /m, 'no transaction of pgbench failed');
like($pgbench->{out}, qr/^number of transactions actually processed: [1-9]/m, 'pgbench worked');

$_->{session}->end foreach @workers;
$observer->query('CREATE EXTENSION IF NOT EXISTS streamstat');
is($observer->query("SELECT count(*) FROM pg_locks WHERE relation IS NOT NULL AND pid <> pg_backend_pid()"), '0', 'no lock is left');

# ---------------------------------------------------------------------------
# What it costs others

# CPU seconds of a backend until now, where that is to be known
sub cpu_seconds
{
	my ($pid) = @_;

	open(my $fh, '<', "/proc/$pid/stat") or return 0;
	my @fields = split / /, <$fh> =~ s/^.*\) //r;
	return ($fields[11] + $fields[12]) / POSIX::sysconf(POSIX::_SC_CLK_TCK());
}

if ($long && $seconds >= 120)
{
	my @calls = map { "SELECT streamstat.$_" } (
		"table_stats('pgbench_accounts')", "btree_stats('pgbench_accounts_pkey')",
		"pgstattuple('pgbench_accounts')", "sample('pgbench_accounts')",
		"pgstattuple_approx('pgbench_accounts')", "pgstatindex('pgbench_accounts_pkey')",
		"reclaim('pgbench_accounts')", "index_stats('pgbench_accounts_pkey')",
		"layout_map('pgbench_accounts')", "pg_prewarm('pgbench_accounts', 'read')",
		"database_report()");
	my $array = join ', ', map { "\$c\$$_\$c\$" } @calls;
	my $pairs = 7;
	my $phase = 0.45 * $seconds / ($pairs * 2 + 1);
	my $session = Session->new($node);
	my @ratios;
	my $scanned_for = 0;

	$observer->query('VACUUM');
	$observer->query('CHECKPOINT');
	$session->query("LOAD 'streamstat'; SET streamstat.max_rate = '50MB'; SET streamstat.max_workers = 0");

	my $throughput = sub {
		my ($with) = @_;

		$session->send_query("CALL call_all(ARRAY[$array], $phase)") if $with;
		$scanned_for += $phase if $with;
		my $run = start_pgbench($phase);
		$run->{run}->finish;
		if ($with)
		{
			$session->answer;
			unlike($session->{err}, qr/ERROR:/, 'no error');
		}
		return ($run->{out} =~ /^tps = ([0-9.]+)/m)[0];
	};
	$throughput->(0);
	foreach my $i (1 .. $pairs)
	{
		my %tps;

		$tps{$_} = $throughput->($_) foreach ($i % 2 ? (0, 1) : (1, 0));
		push @ratios, $tps{1} / $tps{0};
		note(sprintf 'pgbench: %.0f tps alone, %.0f with a session that scans: %.3f', $tps{0}, $tps{1}, $ratios[-1]);
	}
	my $median = (sort { $a <=> $b } @ratios)[$pairs / 2];

	diag(sprintf 'pgbench with a session that scans at 50 MB/s: %.1f %% of its transactions', 100 * $median);
	diag(sprintf 'the session used %.1f %% of a CPU', 100 * cpu_seconds($session->{pid}) / $scanned_for);
	# which says little while other servers work
	cmp_ok($median, '>', 0.9, 'pgbench loses less than 10 %')
	  if $ENV{STREAMSTAT_TORTURE_ALONE};
	$session->end;
}

$observer->end;
$node->stop;
server_log_is_clean($node, 'the server log', qr/deadlock detected/);
done_testing();
