
# Copyright (c) 2026, streamstat contributors

# Parallel workers: how they end, by themselves, by a cancel, or by force; and
# workers on a standby.

use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes ();

use lib "$FindBin::RealBin/lib";
use Large;
use Node;
use PageCache;
use Session;

my $n_timeouts = 40;
my $n_cancels = 30;
my $n_terminated = 8;
my $n_killed = 6;

# Relations for two workers
my $node = large_node('parallel', checksums => 0, streaming => 1);
my $standby = new_standby($node, 'shared_buffers = 128MB');
$node->safe_psql('postgres', large_relations(52000, 1000000));

my $s = Session->new($node);
$s->query('SET streamstat.max_workers = 2');

my $workers = $workers_of_call;
my $row = "SELECT * FROM streamstat.btree_stats('t_btree')";
my $bars = $s->query($row);
my $all =
  "SELECT estimate FROM streamstat.sample_stats('t', 1000000) WHERE statistic = 'live_tuples'";
my $read = "SELECT streamstat.pg_prewarm('t', 'read')";
my %answer = map { $_ => $s->query($_) } ($all, $read);

# ---------------------------------------------------------------------------
# What others see of workers, and what becomes of them.
#
# Workers are made to wait: they have to open the table, for which they read a
# catalog that another session has locked.  The leader has the table in its
# cache.

my $locker = Session->new($node);
# Workers prewarm only what the page cache lacks.
sub uncache_for
{
	my ($sql) = @_;

	uncache($node, 't') if $sql =~ /pg_prewarm/;
}

sub waiting
{
	my ($seen) = @_;

	return scalar(() = $seen =~ /\|Lock\|/g);
}

# Begin a call whose workers wait, or until it has ended; returns what others see of them.
sub begin_to_wait
{
	my ($sql) = @_;
	my $seen;

	uncache_for($sql);
	$locker->query('BEGIN; LOCK TABLE pg_trigger IN ACCESS EXCLUSIVE MODE');
	$s->send_query($sql);
	Session::poll(
		'workers that wait',
		sub {
			$seen = $locker->query(
				"SELECT pg_stat_clear_snapshot(); SELECT leader_pid, state, wait_event_type, datname, usename, query FROM workers"
			) =~ s/^\n//r;
			return waiting($seen) == 2 || !$s->busy;
		});
	return $seen;
}

my $seen = begin_to_wait("/* a call to be seen */ $all");
my $user = $locker->query('SELECT current_user');
is( $seen,
	join("\n",
		("$s->{pid}|active|Lock|postgres|$user|/* a call to be seen */ $all;") x 2),
	'pg_stat_activity shows the workers');
$locker->query('COMMIT');
is($s->answer, $answer{$all}, 'then the call goes on');

# Calls to be ended.  pg_prewarm is without a subtransaction of its own.
foreach my $call ($all, $read)
{
	my $label = $call =~ s/.*streamstat\.(\w+).*/$1/r;

	foreach my $case (
		[ 'leader canceled', "SELECT pg_cancel_backend($s->{pid})", '57014' ],
		[
			'worker killed',
			'SELECT pg_terminate_backend(min(pid)) FROM workers', '57P01'
		],
		[
			'both workers killed',
			'SELECT bool_or(pg_terminate_backend(pid)) FROM workers', '57P01'
		],
		[
			'worker canceled',
			'SELECT pg_cancel_backend(min(pid)) FROM workers', '57014'
		])
	{
		my ($what, $sql, $sqlstate) = @$case;

		begin_to_wait($call);
		is($locker->query($sql), 't', "$label, $what: done");
		$s->answer;
		like($s->{err}, qr/^psql:.*ERROR:  $sqlstate: /m, "$label, $what: error");
		like($s->{err}, qr/^LOCATION:  \w+, \w+\.c:\d+$/m, "$label, $what: ... and where it was");
		is($locker->query('SELECT * FROM left_behind'),
			'0|0', "$label, $what: nothing is left behind");
		$locker->query('COMMIT');
		uncache_for($call);
		is($s->query("$call; $workers"),
			"$answer{$call}\n2", "$label, $what: the next call");
	}

	# long enough for the workers to be seen
	foreach my $timeout ('2s', '8s', '1min')
	{
		$locker->query('COMMIT');
		$seen = begin_to_wait("SET statement_timeout = '$timeout'; $call");
		$s->answer;
		last if waiting($seen) == 2;
	}
	is(waiting($seen), 2, "$label, timeout: workers that wait");
	like($s->{err}, qr/ERROR:  57014: /, "$label, timeout: error");
	$s->query('RESET statement_timeout');
	$locker->query('COMMIT');
	is($s->query('SELECT * FROM left_behind'),
		'0|0', "$label, timeout: nothing is left behind");
	uncache_for($call);
	is($s->query("$call; $workers"),
		"$answer{$call}\n2", "$label, timeout: the next call");

	# in a transaction that goes on
	$s->query('BEGIN; SAVEPOINT a');
	begin_to_wait($call);
	$locker->query('SELECT pg_terminate_backend(min(pid)) FROM workers');
	$s->answer;
	like($s->{err}, qr/ERROR:  57P01: /, "$label, savepoint: error");
	$locker->query('COMMIT');
	uncache_for($call);
	is( $s->query("ROLLBACK TO a; $call; $workers; SELECT workers FROM left_behind; COMMIT"
		),
		"$answer{$call}\n2\n0",
		"$label, savepoint: the next call");
}

# The leader ends: so do the workers.
begin_to_wait($all);
is($locker->query("SELECT pg_terminate_backend($s->{pid})"), 't', 'leader killed');
$s->end;
Session::poll('leader killed',
	sub { $locker->query('SELECT * FROM left_behind') eq '0|0' });
is($locker->query('SELECT * FROM left_behind'),
	'0|0', 'leader killed: nothing is left behind');
$locker->query('COMMIT');
$locker->end;

# ---------------------------------------------------------------------------
# The same at random moments

$s = Session->new($node);
$s->query("SELECT one_scan(i) FROM generate_series(0, 6) i");
$s->query('SELECT one_scan(1)');
is($s->query($workers), 2, 'scans at random: they have workers');

my $forever =
  'DO $$ BEGIN FOR i IN %d .. 1000000 LOOP PERFORM one_scan(i); END LOOP; END $$';

sub check_end
{
	my ($what) = @_;

	is($s->query('SELECT pins()'), 0, "$what: no pin is left");
	is($s->rings, 0, "$what: no ring is left");
	is($s->query("RESET ALL; $row"), $bars, "$what: the next call");
	is($s->{err}, '', "$what: no error then");
}

my ($canceled, $left) = (0, 0);
foreach my $i (1 .. $n_timeouts)
{
	$s->query('SET statement_timeout = ' . int(1 + rand(80)) . '; ' . sprintf($forever, $i));
	$canceled++ if $s->{err} =~ /ERROR:  57014: canceling statement due to statement timeout/;
	do { $s->query('SET statement_timeout = 0') } while ($s->{err} =~ /57014/);
	# A worker that has ended may be listed for a moment.
	my $nothing = Session::poll('nothing is left', sub { $s->query('SELECT * FROM left_behind') eq '0|0' });
	$left++ if !$nothing || $s->rings > 0;
}
is($canceled, $n_timeouts, 'statement_timeout: all were canceled');
is($left, 0, 'statement_timeout: nothing is left behind');
check_end('statement_timeout');

# Caught, one after the other in one transaction.  One that comes outside of
# the block ends the call; then there is another call.
$s->query(q(
CREATE SEQUENCE caught MINVALUE 0 START 0;
CREATE FUNCTION catch(wanted int) RETURNS void LANGUAGE plpgsql AS
$$
DECLARE
	scans int := 0;
BEGIN
	WHILE (SELECT last_value FROM caught) < wanted LOOP
		BEGIN
			LOOP
				PERFORM one_scan(scans);
				scans := scans + 1;
			END LOOP;
		EXCEPTION WHEN query_canceled THEN
			scans := scans + 1;
			PERFORM nextval('caught');
			IF EXISTS (SELECT FROM workers) THEN
				RAISE 'a worker is left';
			END IF;
		END;
	END LOOP;
END
$$));
my $canceler = Session->new($node);
my $rings = 0;
my $errors = '';
my $caught = 0;
while ($caught < $n_cancels && $errors !~ /ERROR:  (?!57014)/)
{
	$s->send_query("SELECT catch($n_cancels)");
	while ($s->busy)
	{
		Time::HiRes::usleep(1000 + rand(60_000));
		$canceler->query("SELECT pg_cancel_backend($s->{pid})");
		$rings = $s->rings if $s->rings > $rings;
	}
	$s->answer;
	$errors .= $s->{err};
	$caught = $canceler->query('SELECT last_value FROM caught');
}
cmp_ok($caught, '>=', $n_cancels, 'pg_cancel_backend: were caught');
unlike($errors, qr/ERROR:  (?!57014)/, 'pg_cancel_backend: no other error');
cmp_ok($rings, '<=', 1, 'pg_cancel_backend: rings do not pile up');
# one that is still on its way
$s->query('SELECT pg_sleep(0.1)');
check_end('pg_cancel_backend');

# workers killed
my $killed = 0;
my $strange = '';
foreach my $i (1 .. $n_killed)
{
	$s->send_query(sprintf($forever, $i));
	Time::HiRes::usleep(rand(30_000));
	Session::poll(
		'a worker to kill',
		sub {
			$canceler->query(
				'SELECT coalesce(bool_or(pg_terminate_backend(pid)), false) FROM (SELECT pid FROM workers LIMIT 1) w'
			) eq 't';
		});

	# One that has done its work may go without a word: then there is another.
	while ($s->{err} !~ /ERROR/)
	{
		Time::HiRes::usleep(rand(30_000));
		$canceler->query('SELECT pg_terminate_backend(pid) FROM workers LIMIT 1');
		$s->busy;
	}
	$s->answer;
	$killed++ if $s->{err} =~ /ERROR:  57P01: /;
	$strange .= $s->{err} if $s->{err} !~ /ERROR:  57P01: /;
	$strange .= $s->query('SELECT * FROM left_behind') =~ s/^0\|0$//r;
}
is($killed, $n_killed, 'workers killed: each time an error');
is($strange, '', 'workers killed: nothing else');
check_end('workers killed');

# leaders killed
my $gone = 0;
foreach my $i (1 .. $n_terminated)
{
	my $victim = Session->new($node);
	
	$victim->send_query(sprintf($forever, $i));
	Time::HiRes::usleep(rand(80_000));
	$canceler->query("SELECT pg_terminate_backend($victim->{pid})");
	$victim->answer;
	$gone++ if $victim->{err} =~ /57P01: /;
	$victim->end;
	Session::poll('leaders killed',
		sub { $canceler->query('SELECT * FROM left_behind') eq '0|0' });
}
is($gone, $n_terminated, 'leaders killed: they ended');
is($canceler->query('SELECT * FROM left_behind'),
	'0|0', 'leaders killed: nothing is left behind');
$canceler->end;
check_end('leaders killed');

$s->query("SET streamstat.max_workers = 2; SELECT streamstat.pg_prewarm('t_btree')");
like($s->query("$row; $workers"), qr/^\Q$bars\E\n[0-2]$/, 'what is in buffers');
uncache($node, 't');
$s->query($read);
cmp_ok($s->query('SELECT max(look_ahead_max) FROM streamstat.stream_stats_workers()'),
	'>', 64, 'pg_prewarm, read: workers look beyond a chunk');

# ---------------------------------------------------------------------------
# A standby

$s->end;
$node->wait_for_catchup($standby, 'replay', $node->lsn('insert'));

foreach my $call ("btree_stats('t_btree')", "sample_stats('t', 1000000)",
	"sample_stats('t', 25000, seed => 3)")
{
	my $query = "SELECT * FROM streamstat.$call";
	my $expected = $node->safe_psql('postgres',
		"SET streamstat.max_workers = 0; $query; $workers");

	like($expected, qr/\n0$/, "$call: on the primary, without workers");
	foreach my $path ('file', 'buffer')
	{
		is( $standby->safe_psql(
				'postgres', "SET streamstat.io_path = $path; $query; $workers"),
			$call =~ /seed/ ? $expected : $expected =~ s/\n0$/\n2/r,
			"$call: on the standby, by workers, $path");
	}
}
uncache($standby, 't');
is( $standby->safe_psql(
		'postgres', "SELECT streamstat.pg_prewarm('t', 'read') > 0; $workers"),
	"t\n2",
	'pg_prewarm: on the standby, by workers');

stop_clean($standby, $node);
done_testing();
