
# Copyright (c) 2026, streamstat contributors

# The end of the server, and signals that end nothing, while calls are under way: no
# stop has to wait for a call, a call that sleeps notices the end of the postmaster,
# and nothing stays behind.

use strict;
use warnings;

use FindBin;
use List::Util qw(max shuffle);
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes ();

use lib "$FindBin::RealBin/lib";
use Interrupts;
use Node;
use Rows;
use Session;
use Torture;

# A stop that has to wait for nothing takes no longer, in seconds.
use constant LONGEST_STOP => 120;

torture_seconds(0);
torture_seed();

interrupts_node();
my $version = $node->safe_psql('postgres', 'SHOW server_version_num');

# ---------------------------------------------------------------------------
# The end of the server, with calls under way

my (%stops, %took);

sub stop_and_start
{
	my ($mode) = @_;
	my @victims;

	foreach my $case (
		[ 'sleeps', "SET streamstat.max_rate = '100kB'; SET streamstat.io_path = "
			  . pick('file', 'buffer')
			  . "; SELECT * FROM streamstat.table_stats('big')" ],
		[ 'workers', "SET streamstat.io_path = "
			  . pick('file', 'buffer')
			  . "; SELECT again('SELECT streamstat.table_stats(''big'')', "
			  . ($mode eq 'kill' ? 20 : 1_000_000) . ')' ],
		[ 'reads', "SET streamstat.max_workers = 0; SET streamstat.io_method = "
			  . pick('sync', 'io_uring')
			  . "; SELECT again('SELECT streamstat.btree_stats(''big_btree'')', "
			  . ($mode eq 'kill' ? 20 : 1_000_000) . ')' ])
	{
		my $victim = begin_session();

		# a server with assertions fails one when its postmaster goes with any workers at work
		$victim->query('SET streamstat.max_workers = 0') if $asserts && $mode eq 'kill';
		$victim->query($1) if $case->[1] =~ s/^(SET .*); (?=SELECT)//;
		push @victims, $victim;
		$victim->{sql} = $case->[1];
	}
	$s->end;
	$observer->end;
	forget();
	$_->send_query($_->{sql}) foreach @victims;
	Time::HiRes::usleep(rand(150_000));

	# after the postmaster's death, those that calculate must end by themselves
	my @lasting = $mode eq 'kill' ? $victims[0] : @victims;
	expect_nothing('calls that end too soon', scalar(grep { !$_->busy } @lasting), $mode);

	my $start = Time::HiRes::time();
	if ($mode eq 'kill')
	{
		$node->kill9;

		# The call that sleeps would take half an hour.  The others need not
		# notice: neither does a backend that is busy with a query of the server's.
		foreach my $victim (@victims)
		{
			Session::poll("kill: the backend notices", sub { !kill(0, $victim->{pid}) })
			  or kill('KILL', $victim->{pid});
		}
	}
	else
	{
		$node->stop($mode);
		foreach my $victim (@victims)
		{
			expect_nothing("backends after stop $mode", kill(0, $victim->{pid}), $mode);
		}
	}
	$took{$mode} = max($took{$mode} // 0, Time::HiRes::time() - $start);
	$stops{$mode}++;
	$_->end foreach @victims;

	# a server whose postmaster was killed has left its other processes
	if ($mode eq 'kill')
	{
		my ($data) = $node->data_dir;
		Session::poll(
			'kill: all processes end',
			sub {
				!grep { (readlink("$_/cwd") // '') eq $data } glob('/proc/[0-9]*');
			});
	}
	if ($version >= 180000)
	{
		my $method = pick('worker', 'io_uring', 'sync');

		$node->adjust_conf('postgresql.conf', 'io_method', $method);
		if (!$node->start(fail_ok => 1))
		{
			note "no io_method $method here";
			$node->adjust_conf('postgresql.conf', 'io_method', 'worker');
			$node->start;
		}
	}
	else
	{
		$node->start;
	}
	delete $before{descriptors};
	begin_sessions();
	look_at_all("after stop $mode");
	next_call($_) foreach grep { $row{$_} && rand() < ($long ? 0.5 : 0.15) } @calls;
	warm_up() if time_left();
}

# ---------------------------------------------------------------------------
# Signals that interrupt nothing: reload, and barriers, at which every backend
# closes its files

my ($storm_signals, $storm_calls, $barriers) = (0, 0, 0);

sub storm
{
	my ($times) = @_;
	my $other = Session->new($node);
	my $n = 0;
	my @known = grep { $row{$_} && $query{$_} !~ /^CALL/ } @calls;

	foreach my $call (map { pick(@known) } 1 .. $times)
	{
		my ($settings, $stream) = way_to_pages($call);

		$s->query($settings);
		forget() if rand() < 0.4;
		$s->send_query(sql($call));
		if ($n == 0 || !$other->busy)
		{
			# waits until every backend has closed its files
			$other->send_query($n++ % 2 ? 'DROP DATABASE storm' : 'CREATE DATABASE storm');
			$barriers++ if $n % 2 == 0;
		}
		while ($s->busy)
		{
			kill('HUP', $s->{pid}, $node->{_pid}) if rand() < 0.2;
			kill('USR1', $s->{pid});
			$storm_signals++;
			Time::HiRes::usleep(rand(2_000));
		}
		my $answer = $s->answer;
		$storm_calls++;
		expect_nothing('row in a storm of signals',
			$answer eq $row{$call} && $s->{err} eq '' ? '' : "$answer$s->{err}, not $row{$call}",
			"$call, $stream");
		reset_session();
	}
	$other->answer;
	expect_nothing('error of who sends barriers', $other->{err}, 'storm');
	$other->query('DROP DATABASE IF EXISTS storm');

	# A call that sleeps does not keep others waiting.
	$s->query("SET streamstat.max_rate = '100kB'");
	$s->send_query("SELECT * FROM streamstat.table_stats('big')");
	Session::poll('storm: the call has begun',
		sub { $observer->query('SELECT count(*) FROM streamstat.stat_progress') eq '1' });
	$other->query('CREATE DATABASE storm; DROP DATABASE storm');
	$barriers++;
	expect_nothing('barrier that a sleeping call kept waiting', $s->busy ? '' : 'the call has ended', 'storm');
	kill('INT', $s->{pid});
	$s->answer;
	reset_session();
	$other->end;
	look_at_all('after a storm');
}

# ---------------------------------------------------------------------------
# All of it

begin_sessions();
warm_up();

# Some calls, whose rows have to stay the same
learn($_) foreach $long ? @calls : (shuffle(grep { $query{$_} !~ /^CALL/ } @calls))[ 0 .. 19 ];
storm($long ? 20 : 8);
stop_and_start($_) foreach 'fast', 'immediate', 'kill';
while (time_left())
{
	storm(5);
	stop_and_start(pick('fast', 'immediate', 'kill'));
}

note 'stops: ' . join(', ', map { sprintf('%s %d, at most %.1f s', $_, $stops{$_}, $took{$_}) } sort keys %stops);
note "storms: $storm_calls calls, $storm_signals signals, $barriers barriers";
cmp_ok($took{$_}, '<', LONGEST_STOP, "no stop $_ took long") foreach 'fast', 'immediate';
cmp_ok($storm_signals, '>', 0, 'there were signals that end nothing');
is(join(', ', map { "$_: $wrong{$_}" } sort keys %wrong), '', 'nothing is left behind');

$s->end;
$observer->end;
stop_clean($node);
done_testing();
