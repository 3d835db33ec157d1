
# Copyright (c) 2026, streamstat contributors

# Functions on a hot standby while it replays: what conflicts with recovery ends
# a call with the server's own error at once, whether it reads or sleeps; what
# does not goes on, and so do calls during a promotion.
#
# First each kind of conflict by itself.  Then all functions in a loop while
# the primary changes, drops and rebuilds what they read, and a promotion in the
# middle.

use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes ();

use lib "$FindBin::RealBin/lib";
use Extra 'slow';
use Calls;
use Node;
use Pages;
use Session;
use Torture;

my $long = defined $ENV{STREAMSTAT_TORTURE_SECONDS};
torture_seed();

my $primary = new_node('primary', q(
shared_buffers = 16MB
max_connections = 30
allow_in_place_tablespaces = on
wal_receiver_status_interval = 1s
), streaming => 1);

$primary->safe_psql('postgres',
	table_with_indexes('fixed')
	  . table_with_indexes('busy')
	  . q(
CREATE TABLE tree (k int) PARTITION BY RANGE (k);
CREATE TABLE tree_1 PARTITION OF tree FOR VALUES FROM (0) TO (10000);
CREATE TABLE tree_2 PARTITION OF tree FOR VALUES FROM (10000) TO (20000);
INSERT INTO tree SELECT generate_series(0, 19999);
CREATE INDEX tree_k ON tree (k);
CREATE TABLE damaged AS TABLE fixed;
VACUUM;
));
my $standby = new_standby($primary, q(
max_standby_streaming_delay = 100ms
hot_standby_feedback = off
work_mem = 64kB
), before => sub { write_block($_[0]->data_dir . substr(file_of($primary, 'damaged'), length $primary->data_dir), 5, random_page()) });

my $observer = Session->new($standby);

sub asleep
{
	my ($session) = @_;

	return $observer->query(
		"SELECT count(*) FROM pg_stat_activity WHERE pid = $session->{pid} AND wait_event_type = 'Extension'"
	);
}

# ---------------------------------------------------------------------------
# One conflict at a time, with a call that sleeps for many seconds at a time

# Begin a slow call on the standby, let the primary act until that is replayed,
# and say how the call failed in less time than it sleeps; '' if it goes on.
sub conflict
{
	my ($path, $call, $database, $action, $goes_on) = @_;
	my $session = Session->new($standby, '-d', $standby->connstr($database));
	my $failed = '';

	# a slice takes two minutes
	$session->query(
		"LOAD 'streamstat'; SET streamstat.io_path = $path; SET streamstat.max_rate = '1kB'"
	);
	$session->send_query($call);
	Session::poll("$call: sleeps", sub { asleep($session) || !$session->busy });

	my $begin = Time::HiRes::time();

	$primary->safe_psql('postgres', $action);
	$primary->wait_for_catchup($standby);
	Time::HiRes::usleep(5_000)
	  while $session->busy && Time::HiRes::time() - $begin < ($goes_on ? 0 : 60);
	if (!$session->busy)
	{
		$session->answer;
		$failed = how_it_failed($session->{err}) || 'no error';
		$failed .= ', but it slept on' if Time::HiRes::time() - $begin > 60;
	}
	else
	{
		$observer->query("SELECT pg_cancel_backend($session->{pid})");
		$session->answer;
	}
	$session->end;
	return $failed;
}

my $canceled = '40001: canceling statement due to conflict with recovery';
my $ended = 'FATAL 40001: terminating connection due to conflict with recovery';
my $lock = 'BEGIN; LOCK TABLE fixed; COMMIT;';
my $slow_report =
  "SELECT streamstat.database_report(max_time => '1 h', max_rate => '8kB')";
my @slow_calls = (
	"SELECT streamstat.table_stats('fixed')",
	"SELECT streamstat.pgstattuple('fixed')",
	"SELECT streamstat.sample_stats('fixed', 1000)",
	"SELECT streamstat.pg_prewarm('fixed')");
@slow_calls = (
	@slow_calls,
	"SELECT streamstat.pgstattuple_approx('fixed')",
	"SELECT streamstat.bloat('fixed')",
	"SELECT streamstat.layout_map('fixed', 3)",
	"SELECT streamstat.index_stats('fixed_gin')",
	"SELECT streamstat.pgstatindex('fixed_btree')",
	"SELECT streamstat.pg_prewarm('fixed', 'read')",
	$slow_report,
	"CALL streamstat.run_database_report(max_time => '1 h', max_rate => '8kB')")
  if $long;

foreach my $path ('auto', 'buffer')
{
	foreach my $call (@slow_calls)
	{
		# a report may be at a relation that is not locked then
		my $action = $call =~ /report/ ? 'BEGIN; LOCK TABLE ' . join(', ', qw(pg_catalog.pg_class fixed busy)) . '; COMMIT;' : $call =~ /'(fixed_\w+)'/ ? "REINDEX INDEX $1" : $lock;

		is(conflict($path, $call, 'postgres', $action), $canceled, "$path: $call: a lock");
	}
}

is( conflict('auto', $slow_calls[0], 'postgres', q(DELETE FROM busy WHERE k <= 100; VACUUM busy)),
	$canceled, 'rows are removed that a snapshot sees');

# Rows that no snapshot sees: VACUUM's records need pages that nobody has pinned.
$primary->safe_psql('postgres', 'DELETE FROM fixed WHERE k % 10 = 0');
$primary->wait_for_catchup($standby);
foreach my $path ('auto', 'buffer')
{
	is( conflict(
			$path, $slow_calls[0], 'postgres',
			'VACUUM (FREEZE, DISABLE_PAGE_SKIPPING) fixed', 1),
		'',
		"$path: VACUUM is replayed, and the call goes on");
	$primary->safe_psql('postgres', 'DELETE FROM fixed WHERE k % 10 = 5');
	$primary->wait_for_catchup($standby);
}
is( $observer->query(
		"SELECT sum(confl_bufferpin) FROM pg_stat_database_conflicts"),
	'0',
	'no pin was in the way');
$primary->safe_psql('postgres', 'VACUUM (FREEZE) fixed');

# A tablespace that has a session's temporary files: all sessions are in the way.
$primary->safe_psql('postgres', q(CREATE TABLESPACE space LOCATION ''));
$primary->wait_for_catchup($standby);
my $sorter = Session->new($standby);
$sorter->query("SET temp_tablespaces = space; BEGIN; DECLARE c CURSOR FOR SELECT * FROM fixed ORDER BY pad, k DESC; FETCH c");
is(conflict('auto', $slow_calls[0], 'postgres', 'DROP TABLESPACE space'),
	$canceled, 'a tablespace is dropped');
$sorter->end;

$primary->safe_psql('postgres', 'CREATE DATABASE other');
$primary->safe_psql('other',
	'CREATE EXTENSION streamstat; CREATE TABLE fixed AS SELECT generate_series(1, 30000)'
);
$primary->wait_for_catchup($standby);
like(
	conflict('auto', $slow_calls[0], 'other', 'DROP DATABASE other'),
	qr/^FATAL (57P04|40001): terminating connection due to conflict with recovery/,
	'the database is dropped');

# Where the caller is in a subtransaction the server ends the session; not
# because of what is called there.
foreach my $sleep ('pg_sleep(100)', "streamstat.table_stats('fixed')")
{
	my $session = Session->new($standby);

	$session->query("LOAD 'streamstat'; SET streamstat.max_rate = '8kB'");
	$session->send_query(
		"DO \$\$ BEGIN PERFORM count(*) FROM fixed; PERFORM $sleep; EXCEPTION WHEN OTHERS THEN RAISE WARNING 'caught'; END \$\$"
	);
	Session::poll("$sleep: sleeps", sub {
		$observer->query("SELECT wait_event_type IN ('Extension', 'Timeout') FROM pg_stat_activity WHERE pid = $session->{pid}") eq 't' });
	$primary->safe_psql('postgres', $lock);
	$session->answer;
	is(how_it_failed($session->{err}), $ended, "in a subtransaction: $sleep");
	$session->end;
}

# How many sessions a conflict has ended in the middle of a query.  The server
# does not end a session that is in none, but it tells it of a conflict until
# its transaction has ended, and where it hears of that once more while it
# reports the error, 15 to 18 end it as if it were idle in a transaction.
sub ended_in_query
{
	my ($from) = @_;
	my $n = 0;
	my %ended;

	foreach my $line (split /\n/, slurp_file($standby->logfile, $from))
	{
		my ($pid, $kind) = $line =~ /\[(\d+)\] .*?\b([A-Z]+):  / or next;

		$n++ if $ended{$pid} && $kind eq 'STATEMENT';
		$ended{$pid} = $line =~ /FATAL:  terminating connection due to conflict with recovery/
		  || ($ended{$pid} && $kind =~ /^(?:DETAIL|HINT|CONTEXT|LOCATION)$/);
	}
	return $n;
}
cmp_ok(ended_in_query(0), '>=', 2, 'ended in a query: the log tells');
my $log_position = -s $standby->logfile;

# Calls that do not sleep.  What scans in a subtransaction of its own would lose the
# session.
{
	my $relation = 'fixed';

	# from 128 MB on there are workers, each with a conflict of its own
	if ($long)
	{
		$primary->safe_psql('postgres', q(
CREATE TABLE large (c text);
ALTER TABLE large ALTER c SET STORAGE PLAIN;
INSERT INTO large SELECT repeat('x', 7000) FROM generate_series(1, 25000)));
		$primary->wait_for_catchup($standby);
		$relation = 'large';
	}
	foreach my $path ('auto', 'buffer')
	{
		foreach my $call (
			"streamstat.table_stats('$relation')",
			"streamstat.database_report(margin => 0)")
		{
			my %failed;

			foreach my $i (1 .. ($long ? 20 : 3))
			{
				my $session = Session->new($standby);

				$session->query(
					"LOAD 'streamstat'; SET streamstat.io_path = $path; SET streamstat.max_workers = 2; SET max_parallel_maintenance_workers = 2"
				);
				if ($i == 1 && $long)
				{
					$session->query("SELECT streamstat.table_stats('$relation')");
					is($session->query('SELECT workers > 0 FROM streamstat.stream_stats()'), 't', 'workers');
				}
				$session->send_query("SELECT $call FROM generate_series(1, 100000)");
				Session::poll("$call: has a snapshot", sub {
					$observer->query("SELECT backend_xmin IS NOT NULL FROM pg_stat_activity WHERE pid = $session->{pid}") eq 't' || !$session->busy });
				Time::HiRes::usleep(rand(100_000));
				$primary->safe_psql('postgres', 'DELETE FROM busy WHERE k IN (SELECT k FROM busy LIMIT 10)');
				$primary->safe_psql('postgres', 'VACUUM busy');
				$session->answer;
				$failed{ how_it_failed($session->{err}) || 'no error' }++;
				$session->end;
			}
			is(join("\n", sort keys %failed), $canceled, "$path: $call: not asleep");
		}
	}
}

$observer->query("LOAD 'streamstat'");
foreach my $path ('auto', 'buffer')
{
	is( $observer->query(
			"SET streamstat.io_path = $path; SELECT corrupt_pages FROM streamstat.table_stats('damaged')"),
		'1',
		"$path: a damaged page is counted");
}

# ---------------------------------------------------------------------------
# All functions at once

my %r = (relations_of('busy'), tree => 'tree', tree_index => 'tree_k');
# a standby stores nothing
my @calls = grep { !/streamstat\.collect/ } all_calls(%r);
my $next_call = in_turn(@calls);
my %good;
my %failed;
my %ddl_failed;
my @unexpected;

# What an OID or a name stands for may be gone, or on its way; so may a map, which
# TRUNCATE leaves out.
my $allowed = join '|',
  # after the promotion
  '55P03: canceling statement due to conflict with a lock request',
  '55P03: canceling statement due to conflict with a session that waits for this transaction',
  'FATAL 40001: terminating connection due to conflict with recovery',
  '40001: canceling statement due to conflict with recovery',
  '42P01: relation "[\w.]+" does not exist',
  'XX000: could not open relation with OID \d+',
  '22023: fork "vm" does not exist for this relation',
  '55000: index "\w+" is not valid',
  '55000: no report has been made in this session',
  '55000: io_probe has not been called in this session',
  '42P01: could not find parent table of index';

sub scanner
{
	my ($node) = @_;
	my $session = Session->new($node);
	my $call;

	$session->query("LOAD 'streamstat'");
	return {
		session => $session,
		next => sub {
			$call = $next_call->();
			return random_settings(0, 0, '50MB', '2MB') . "; $call";
		},
		done => sub {
			my ($how, $query, $worker) = @_;

			$good{$call}++ if $how eq '';
			$failed{ $how =~ s/"[\w.]+"|OID \d+/.../r }++;
			push @unexpected, "$how: $query" if $how !~ /^(?:$allowed|$)/;
			if ($how =~ /^FATAL/ || !$worker->{session}{run}->pumpable)
			{
				$worker->{session} = Session->new($node);
				$worker->{session}->query("LOAD 'streamstat'");
			}
		}
	};
}

sub writer
{
	my ($node) = @_;

	return {
		session => Session->new($node),
		next => sub {
			return one_of(
				('INSERT INTO busy SELECT * FROM fixed WHERE k < 3000') x 3,
				('DELETE FROM busy WHERE k % 7 = ' . int(rand(7))) x 3,
				('VACUUM busy') x 3,
				('VACUUM') x 2,
				'VACUUM (FREEZE, DISABLE_PAGE_SKIPPING) busy',
				'VACUUM FULL busy',
				'TRUNCATE busy',
				'REINDEX TABLE busy',
				'REINDEX TABLE CONCURRENTLY busy',
				'BEGIN; DROP TABLE busy; ' . table_with_indexes('busy') . 'COMMIT',
				'BEGIN; DROP TABLE tree_2; CREATE TABLE tree_2 PARTITION OF tree FOR VALUES FROM (10000) TO (20000); COMMIT',
				'TRUNCATE tree; INSERT INTO tree SELECT generate_series(0, 19999)',
				'BEGIN; LOCK TABLE busy, tree; COMMIT');
		},
		done => sub { $ddl_failed{ $_[0] =~ s/"[\w.]+"|OID \d+/.../r }++ }
	};
}

my $seconds = torture_seconds(5);
my $until = Time::HiRes::time() + 0.7 * $seconds;
my @writers = map { writer($primary) } 1 .. 2;
my @scanners = map { scanner($standby) } 1 .. 3;
my $enough = sub {
	return ($failed{''} // 0) > 3 * $seconds && ($ddl_failed{''} // 0) > $seconds && $failed{$canceled} && keys(%good) == @calls;
};

# a machine that has much else to do takes longer
my $ndone = keep_busy(
	sub {
		my $now = Time::HiRes::time();

		return $now < $until || ($now < $until + 180 && !$enough->());
	},
	@writers, @scanners);

note("during replay: $ndone queries");
note(sprintf '%6d %s', $failed{$_}, $_ || 'rows') foreach sort keys %failed;
note(sprintf '%6d of writers: %s', $ddl_failed{$_}, $_ || 'done') foreach sort keys %ddl_failed;
is(join("\n", @unexpected), '', 'no other error');
is(ended_in_query($log_position), 0, 'no session was ended in a query');
is(join("\n", grep { !$good{$_} } @calls), '', 'each function was called, and returned');
ok($enough->(), 'calls were made of relations that changed, and some conflicted');
$_->{session}->end foreach @writers;

# ---------------------------------------------------------------------------
# Promotion, while everybody calls

my @fixed = grep { !/report|plan|cache|(?<!pg_)prewarm|metrics|advice|prog|stream_stats|busy|tree|layout|sample|bloat|file_created/ }
  all_calls(%r, relations_of('fixed'));
my %expected =
  map { $_ => $primary->safe_psql('postgres', $_) } @fixed;
$primary->wait_for_catchup($standby);
$primary->stop;

# Calls that take 4 s, and the same ones that take longer, should the promotion.
my %slow;
foreach my $rate (400, 50)
{
	foreach my $path ('auto', 'buffer')
	{
		foreach my $call ("table_stats('fixed', 'row')", "pgstattuple('fixed')")
		{
			my $session = Session->new($standby);

			$session->query(
				"LOAD 'streamstat'; SET streamstat.io_path = $path; SET streamstat.max_rate = '${rate}kB'; SET streamstat.max_blocking_time = -1");
			$session->send_query("SELECT * FROM streamstat.$call");
			Session::poll("$call: sleeps", sub { asleep($session) });
			push @{ $slow{"$path: $call"} }, $session;
		}
	}
}
%failed = @unexpected = ();
$standby->promote;
is($observer->query('SELECT pg_is_in_recovery()'), 'f', 'promoted');

# Of each call one that has outlasted that
my %outlasted;
foreach my $what (sort keys %slow)
{
	foreach my $session (@{ $slow{$what} })
	{
		if ($session->busy && !$outlasted{$what})
		{
			$outlasted{$what} = $session;
			next;
		}
		$observer->query("SELECT pg_cancel_backend($session->{pid})");
		$session->answer;
		$session->end;
	}
}
is(join("\n", grep { !$outlasted{$_} } sort keys %slow), '', 'slow calls outlast the promotion');

%ddl_failed = ();
$until = Time::HiRes::time() + 0.3 * $seconds;
push @scanners, writer($standby);
$ndone = keep_busy(
	sub {
		my $now = Time::HiRes::time();

		return $now < $until || ($now < $until + 60 && !$failed{''});
	},
	@scanners);
note("after promotion: $ndone queries");
note(sprintf '%6d %s', $failed{$_}, $_ || 'rows') foreach sort keys %failed;
is(join("\n", @unexpected), '', 'promoted: no other error');
cmp_ok($failed{''} // 0, '>', 0, 'promoted: calls were made');
is($failed{$canceled} // 0, 0, 'promoted: nothing conflicts');
$_->{session}->end foreach @scanners;

foreach my $what (sort keys %outlasted)
{
	my $session = $outlasted{$what};

	is($session->answer, $expected{ 'SELECT * FROM streamstat.' . $what =~ s/^\w+: //r }, "$what: promotion meanwhile");
	is($session->{err}, '', "$what: no error");
	$session->end;
}
foreach my $call (@fixed)
{
	is($observer->query($call), $expected{$call}, "promoted: $call");
}
$observer->end;
stop_clean($standby, $primary);
done_testing();
