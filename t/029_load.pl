
# Copyright (c) 2026, streamstat contributors

# All functions under the load of others: pgbench, VACUUM, all kinds of DDL and
# another version of the extension meanwhile.  No deadlock, no error but what DDL must
# give, nobody held up by a scan that sleeps; and in the long form, what
# pgbench loses by a session that scans all the time at 50 MB/s.

use strict;
use warnings;

use FindBin;
use IPC::Run ();
use POSIX ();
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes ();

use lib "$FindBin::RealBin/lib";
use Extra 'slow';
use Calls;
use Node;
use Session;
use Torture;

my $long = defined $ENV{STREAMSTAT_TORTURE_SECONDS};
torture_seed();

my $node = new_node('load', q(
shared_buffers = 64MB
max_wal_size = 4GB
deadlock_timeout = 200ms
));

my $major = $node->safe_psql('postgres', "SHOW server_version_num") / 10000;
my $scale = $long ? 16 : 1;
my $clients = 16;
my $have_buffercache = create_extension($node, 'pg_buffercache');

# ---------------------------------------------------------------------------
# VACUUM does not wait for scans that sleep

$node->safe_psql('postgres', q(
CREATE TABLE held AS SELECT i AS k, 'x' AS pad FROM generate_series(1, 100000) i;
CREATE INDEX held_btree ON held (k);
));

my $observer = Session->new($node);
my @slow;

# Begin scans of which each has a slice of 16 blocks every 4 s, or 8, 16, 32 when
# that was tried in vain. What is deleted before them VACUUM can remove.
sub begin_scans
{
	my ($try) = @_;
	my $rate = 32 >> $try;

	$observer->query("DELETE FROM held WHERE k % 10 = $try");
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
				"sample_stats('held', 1000)", "pg_prewarm('held')"))
		{
			my $session = Session->new($node);

			$session->query(
				"LOAD 'streamstat'; SET streamstat.io_path = $path; SET streamstat.max_rate = '${rate}kB'");
			$session->send_query("SELECT * FROM streamstat.$call");
			push @slow, $session;
		}
	}
}

sub end_scans
{
	$observer->query("SELECT pg_cancel_backend($_->{pid})") foreach @slow;
	foreach (@slow)
	{
		$_->answer;
		$_->end;
	}
	@slow = ();
}

begin_scans(0);

# Until their first slice is due there is time for what comes later.
run_log([ 'pgbench', '-i', '-q', '-s', $scale, $node->connstr('postgres') ])
  or die 'pgbench -i failed';
$node->safe_psql('postgres',
	table_with_indexes('busy')
	  . q(
CREATE TABLE source AS TABLE busy;
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

# When all of them are asleep in the middle of their scans: how far each is
sub asleep
{
	return Session::poll('scans sleep', sub {
		return $observer->query(sprintf q(
SELECT string_agg(pid || ': ' || bytes_done, ' ' ORDER BY pid)
FROM streamstat.stat_progress JOIN pg_stat_activity USING (pid)
WHERE wait_event_type = 'Extension' AND bytes_done > 0
HAVING count(*) = %d), scalar(@slow)) }) // '';
}

# What is done while none goes on does not wait for what they hold in their sleep.
my ($pinned, $failed);
foreach my $try (1 .. 4)
{
	my $before = asleep();

	$pinned = $observer->query(q(
SELECT relname, relblocknumber, pinning_backends
FROM pg_buffercache b JOIN pg_class c ON b.relfilenode = pg_relation_filenode(c.oid)
WHERE pinning_backends > 0 AND c.oid >= 16384 AND
reldatabase = (SELECT oid FROM pg_database WHERE datname = current_database())))
	  if $have_buffercache;

	# One that waits for pages would do so at each of them.  To cut off empty
	# pages it would wait 5 s for its lock, as beside any query.
	$observer->query("SET statement_timeout = '15s'");
	$observer->query(
		'VACUUM (FREEZE, DISABLE_PAGE_SKIPPING, INDEX_CLEANUP ON, TRUNCATE OFF) held');
	$failed = how_it_failed($observer->{err});
	$observer->query("RESET statement_timeout");
	last if asleep() eq $before;

	$failed ||= 'not before scans went on';
	end_scans();
	begin_scans($try) if $try < 4;
}
SKIP:
{
	skip 'this server has no pg_buffercache', 1 if !$have_buffercache;
	is($pinned, '', 'scans that sleep have nothing pinned');
}
is($failed, '', 'VACUUM does not wait for the next slice of a scan');
is( $observer->query(
		"SELECT sum(live_items) = (SELECT count(*) FROM held), count(*) FROM streamstat.btree_stats('held_btree')"),
	't|1', 'it has removed index entries');
end_scans();

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

	# types, and tables with what they have, stay as they are
	$script =~ s/^CREATE (?:TYPE|TABLE) .*?\);\n//msg;
	$script =~ s/^CREATE (?:INDEX|SEQUENCE) .*?;\n//msg;
	$script =~ s/^CREATE (FUNCTION|PROCEDURE|VIEW)/CREATE OR REPLACE $1/mg;
	@scripts = map { "$extension_dir/streamstat--$_.sql" } ('1.0--torture', 'torture--1.0');
	append_to_file($_, $script) foreach @scripts;
}
END { unlink @scripts; }

my %r = (relations_of('busy'), tree => 'tree', tree_index => 'tree_k');
# A query on tables of the extension and DROP EXTENSION lock them in another order, which is
# the server's; t/055_stored_reports.pl has these with others at work.
my @all_calls = grep { !/streamstat\.(?:collect|report_(?!advice|drop))/ } all_calls(%r);
my $next_call = in_turn(
	@all_calls,
	map { "SELECT * FROM streamstat.$_" } (
		"table_stats('pgbench_accounts')", "pgstattuple('pgbench_history')",
		"btree_stats('pgbench_accounts_pkey')",
		"pgstattuple_approx('pgbench_tellers')",
		"table_stats('tree_1')", "btree_stats('tree_1_k_idx')",
		"index_stats('busy_more')", "bloat('pgbench_branches')"));

# What a name or an OID stands for may be gone, or on its way.
my $allowed = join '|',
  '42P01: relation "[\w.]+" does not exist',
  'XX000: could not open relation with OID \d+',
  '42P01: could not find parent table of index',
  '55000: index "\w+" is not valid',
  '55000: no report has been made in this session',
  '55000: io_probe has not been called in this session',
  '55P03: canceling statement due to conflict with a lock request',
  '55P03: canceling statement due to conflict with a session that waits for this transaction',
  '22023: fork "vm" does not exist for this relation';

# ... so may the extension's own functions
my $allowed_without_extension = join '|',
  '42883: (function|procedure) streamstat\.\w+\(.*\) does not exist',
  '3F000: schema "streamstat" does not exist',
  'XX000: cache lookup failed for (function|type) \d+',
  '42704: type with OID \d+ does not exist';

my (%failed, %good, %ddl, %ddl_done, @unexpected, %longest);

sub without_names
{
	return $_[0] =~ s/"[\w.]+"|OID \d+|(function|type) \d+|streamstat\.\w+\(.*\)/.../r;
}

sub caller_of
{
	my $session = Session->new($node);
	my $call;

	$session->query("LOAD 'streamstat'");
	return {
		session => $session,
		next => sub {
			$call = $next_call->();
			return random_settings(0, 0, '50MB', '20MB') . "; $call";
		},
		done => sub {
			my ($how, $query) = @_;

			$good{$call}++ if $how eq '';
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
	my $next = in_turn(@commands);
	my $began;
	my $commands;
	my @todo;

	$ddl_done{$_} = 0 foreach @commands;

	return {
		session => Session->new($node),
		next => sub {
			if (!@todo)
			{
				$commands = $next->();

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
			$ddl_done{$commands}++ if !@todo && !$how;
			push @unexpected, "$how: $query" if $how;
			$longest{$command} = $seconds if $seconds > ($longest{$command} // 0);
		}
	};
}

my $seconds = torture_seconds(5);
# What scans cost says little while other servers work.
my $cost_seconds =
  $long && $ENV{STREAMSTAT_TORTURE_ALONE} && $seconds >= 120 ? 0.25 * $seconds : 0;
my $load_seconds = $seconds - $cost_seconds;
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

my $update =
  "ALTER EXTENSION streamstat UPDATE TO 'torture'; ALTER EXTENSION streamstat UPDATE TO '1.0'; SELECT pg_sleep(0.5)";
my $drop = 'DROP EXTENSION streamstat; CREATE EXTENSION streamstat; SELECT pg_sleep(1)';
my @workers = (
	(map { caller_of() } 1 .. 4),
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
		$drop, @scripts ? $update : ()));

# A machine that has much else to do takes longer.
my $last = $until + 180;
my @pgbench = start_pgbench($load_seconds);
my $enough = sub {
	return ($failed{''} // 0) > $load_seconds
	  && !grep({ !$good{$_} } @all_calls)
	  && !grep({ !$ddl{"$_: done"} } qw(busy tree pgbench))
	  && !grep({ $ddl_done{$_} == 0 && ($load_seconds >= 120 || /EXTENSION/) } keys %ddl_done);
};
my $ndone = keep_busy(
	sub {
		return 1 if Time::HiRes::time() < $until;
		return 0 if $until >= $last || $enough->();
		$until += 2;
		push @pgbench, start_pgbench(2);
		return 1;
	},
	@workers);

$_->{run}->finish foreach @pgbench;
note("$ndone queries");
note(sprintf '%6d %s', $failed{$_}, $_ || 'rows') foreach sort keys %failed;
note(sprintf '%6d %s', $ddl{$_}, $_) foreach sort keys %ddl;
note(sprintf '%6.3f s the longest %s', $longest{$_}, $_) foreach sort keys %longest;
note($_->{out}) foreach @pgbench;

is(join("\n", @unexpected), '', 'no error but what DDL must give');
cmp_ok($failed{''} // 0, '>', $load_seconds, 'calls were made');
is(join("\n", grep { !$good{$_} } @all_calls), '', 'each function was called, and returned');
cmp_ok($ddl{"$_: done"} // 0, '>', 0, "$_: things were done") foreach qw(busy tree pgbench);
cmp_ok($ddl_done{$drop}, '>', 0, 'the extension was dropped, and created');
SKIP:
{
	skip "$extension_dir is not writable: no update of the extension", 1
	  if !@scripts;
	cmp_ok($ddl_done{$update}, '>', 0, 'the extension was updated');
}
is(join("\n", grep { $ddl_done{$_} == 0 } sort keys %ddl_done), '', 'each command was done')
  if $load_seconds >= 120;
is(join('', map { $_->{err} =~ s/^pgbench \(.*\)\n//r } @pgbench), '', 'pgbench says nothing bad');
is(scalar(grep { $_->{out} !~ /^number of failed transactions: 0 /m } @pgbench), 0, 'no transaction of pgbench failed');
like($pgbench[0]{out}, qr/^number of transactions actually processed: [1-9]/m, 'pgbench worked');

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

if ($cost_seconds)
{
	my @calls = map { "SELECT streamstat.$_" } (
		"table_stats('pgbench_accounts')", "btree_stats('pgbench_accounts_pkey')",
		"pgstattuple('pgbench_accounts')", "sample_stats('pgbench_accounts')",
		"pgstattuple_approx('pgbench_accounts')", "pgstatindex('pgbench_accounts_pkey')",
		"bloat('pgbench_accounts')", "index_stats('pgbench_accounts_pkey')",
		"layout_map('pgbench_accounts')", "pg_prewarm('pgbench_accounts', 'read')",
		"database_report()");
	my $array = join ', ', map { "\$c\$$_\$c\$" } @calls;
	my $pairs = 7;
	my $phase = $cost_seconds / ($pairs * 2 + 1);
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
	cmp_ok($median, '>', 0.9, 'pgbench loses less than 10 %');
	$session->end;
}

$observer->end;
stop_clean($node);
unlike(slurp_file($node->logfile), qr/deadlock detected/, 'no deadlock');
done_testing();
