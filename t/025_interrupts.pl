
# Copyright (c) 2026, streamstat contributors

# Whatever ends a call, at whatever moment: nothing stays behind.
#
# Every function that scans is called in settings and places chosen at random,
# and interrupted at a random moment of its usual duration: by a cancel, a
# timeout, the end of its backend.
#
# Signals are sent to backends directly, as pg_cancel_backend() and
# pg_terminate_backend() do, but sooner.

use strict;
use warnings;

use FindBin;
use List::Util qw(shuffle);
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes ();

use lib "$FindBin::RealBin/lib";
use Interrupts;
use Node;
use Processes;
use Rows;
use Session;
use Torture;

# Interrupts from one look at all that could be left to the next
use constant BATCH => 25;

torture_seconds(6);
torture_seed();

interrupts_node();
is( join(' ', @functions),
	$node->safe_psql(
		'postgres', q(
SELECT string_agg(DISTINCT proname, ' ' ORDER BY proname) FROM pg_proc
WHERE pronamespace = 'streamstat'::regnamespace
	AND proname NOT IN ('bloom_stats', 'hnsw_stats', 'ivfflat_stats', 'host_name', 'io_advice', 'stream_stats', 'stream_stats_workers', 'stat_get_progress', 'store_report'))
	),
	'every function is called');

# ---------------------------------------------------------------------------
# One interrupt

my (%tried, %interrupted, %by_function, %by_way, %by_third, %by_stream);

# Interrupted calls that had workers or a ring when the signal was sent, or have
# written a temporary file; and whether that can be, and be seen, here
my %had = ('workers' => 0, 'a ring' => 0, 'a temporary file' => 0);
my %can_have = ('workers' => $have_proc, 'a temporary file' => 1);

# What was not interrupted yet
sub lacking
{
	my @lacking = grep { !$by_function{$_} } @functions;

	push @lacking, grep { !$had{$_} && $can_have{$_} } sort keys %had;
	return @lacking;
}

# Calls in an order of chance: all at first, then those in which something is
# lacking, and all again if there is nothing.
my @turn = shuffle(@calls);

sub next_in_turn
{
	if (!@turn)
	{
		my %lacks = map { $_ => 1 } lacking();
		my @some = grep {
			$lacks{ $function{$_} }
			  || ($lacks{'a temporary file'} && $_ eq $spilling)
			  || (($lacks{workers} || $lacks{'a ring'}) && /^\w+_stats\('big/)
		} @calls;

		@turn = shuffle(@some ? @some : @calls);
	}
	return shift @turn;
}

# Places for a call: what comes before it, the call itself, whether it is in a
# savepoint that is rolled back to when it was interrupted
my %ways = (
	plain => sub { ('', $_[0]) },
	block => sub { ('BEGIN', $_[0]) },
	savepoint => sub { ('BEGIN; SAVEPOINT a', $_[0], 1) },
	cursor => sub { ("BEGIN; DECLARE c CURSOR FOR $_[0]", 'FETCH c') },
	'cursor in a savepoint' => sub {
		("BEGIN; DECLARE c CURSOR FOR $_[0]; SAVEPOINT a", 'FETCH c', 1);
	},
	'held cursor' => sub {
		("BEGIN; DECLARE c CURSOR WITH HOLD FOR $_[0]", 'COMMIT; FETCH c; CLOSE c');
	},
	caught => sub {
		my $text = $_[0] =~ s/'/''/gr;
		('BEGIN', "SELECT caught('$text', 1)");
	});
# A server with assertions does not survive any error that is caught in a
# subtransaction while COMMIT runs a held cursor, one in PL/pgSQL neither.
delete $ways{'held cursor'} if $asserts;

sub call_and_interrupt
{
	my ($kind) = @_;
	my $call = next_in_turn();
	my $way = $query{$call} =~ /^CALL/ ? pick('plain', 'block') : pick(sort keys %ways);
	my ($settings, $stream) = way_to_pages($call, map { $_ => !$had{$_} } keys %had);
	my $where = "$kind, $call, $way, $stream";

	learn($call);
	my ($preamble, $query, $savepoint) = $ways{$way}->(sql($call));

	$settings .= "; $preamble" if $preamble;
	$kind = 'cancel' if $kind eq 'timeout' && ($savepoint || $way eq 'caught');
	my $delay = rand(1.2 * $duration{$call});

	# its file is there at its end only
	$delay = 0.5 * ($delay + 1.2 * $duration{$call})
	  if $call eq $spilling && !$had{'a temporary file'};
	$settings .= '; SET statement_timeout = ' . int(2 + 1000 * $delay)
	  if $kind eq 'timeout';
	forget() if rand() < 0.4 || ($stream =~ /io_uring/ && !$had{'a ring'});

	my $session = $kind eq 'terminate' ? begin_session() : $s;
	$session->query($settings);
	my %known = map { $_ => 1 } children($node->{_pid});
	my $log = -s $node->logfile;
	my %has;
	$session->send_query($query);
	if ($kind ne 'timeout')
	{
		Time::HiRes::usleep(1_000_000 * $delay);
		$has{workers} = grep { !$known{$_} } children($node->{_pid});
		$has{'a ring'} = $session->rings;
		kill($kind eq 'cancel' ? 'INT' : 'TERM', $session->{pid});
	}
	my $answer = $session->answer;
	my $done = $session->{err} =~ /57014: |57P01: /
	  || $answer =~ /was caught/
	  || ($kind eq 'terminate' && $answer !~ /\Q$row{$call}\E/);

	$tried{$kind}++;
	if ($done)
	{
		$interrupted{$kind}++;
		$by_function{ $function{$call} }++;
		$by_way{$way}++;
		$by_stream{$stream}++;
		$by_third{ int(3 * $delay / 1.2 / $duration{$call}) }++;
		$had{$_}++ foreach grep { $has{$_} } keys %has;
	}
	elsif ($way ne 'block' || $query{$call} !~ /^CALL/)
	{
		expect_nothing('row of a call in time',
			$session->{err} . ($answer eq $row{$call} ? '' : $answer), $where);
	}
	expect_nothing('other error',
		join("\n", grep { /(ERROR|FATAL|PANIC):/ && !/57014: |57P01: /
			&& !(($way eq 'held cursor' || $query{$call} =~ /^CALL/) && $done && /34000: |25P02: /) } split /\n/, $session->{err}),
		$where);

	if ($kind eq 'terminate')
	{
		my $pid = $session->{pid};

		$session->end;
		Session::poll("$where: the backend ends", sub { !kill(0, $pid) });
		expect_nothing('left by a backend that was terminated',
			$observer->query('SELECT others_hold()') . $observer->{err}, $where);
		look_for_temporary_file($call, $session, $log) if $done;
		return $call;
	}

	# within the transaction
	expect_nothing('rings', $s->rings, $where);
	expect_nothing('files', join(' ', opened_twice($s->{pid})), $where);
	# A cancel can come before or after what catches it.
	if ($savepoint || ($way eq 'caught' && $session->{err} eq ''))
	{
		$s->query('ROLLBACK TO a') if $savepoint;
		expect_nothing('error in ROLLBACK TO', $s->{err}, $where);
		expect_nothing('rings in the transaction', $s->rings, $where);
		if ($done)
		{
			expect_nothing('held in the transaction',
				$s->query('SELECT * FROM held') . $s->{err}, $where);
			expect_nothing('pins in the transaction',
				$observer->query('SELECT pins()') . $observer->{err}, $where)
			  if $stream eq 'buffer';
		}
	}

	# A timeout may strike this as well.
	do
	{
		$s->query('ROLLBACK');
	} while ($s->{err} =~ /57014/);
	look_for_temporary_file($call, $s, $log) if $done;
	reset_session();
	return $call;
}

# The server tells of a temporary file when it is removed.
sub look_for_temporary_file
{
	my ($call, $session, $log) = @_;

	$had{'a temporary file'}++
	  if $call eq $spilling
	  && slurp_file($node->logfile, $log) =~ /\[$session->{pid}\].*LOG:  temporary file: /;
}

# ---------------------------------------------------------------------------
# All of it

begin_sessions();
warm_up();

# Without the kernel's leave there are no rings, and no use for them where nothing
# leaves the page cache.
forget();
$s->query("SET streamstat.io_path = file; SET streamstat.io_method = io_uring; SELECT streamstat.table_stats('big')");
$can_have{'a ring'} = $s->query('SELECT io_method FROM streamstat.stream_stats()') eq 'io_uring';
reset_session();

my $n = 0;
my ($enough, $most) = ($long ? 0 : 110, 1500);
while (time_left() || $n < $enough || ($n < $most && lacking()))
{
	my $kind = rand() < 0.6 ? 'cancel' : rand() < 0.7 ? 'timeout' : 'terminate';

	next_call(call_and_interrupt($kind));
	if (++$n % BATCH == 0)
	{
		look_at_all("after $n interrupts");
	}
}
look_at_all('at the end');

my $done = 0;
$done += $_ foreach values %interrupted;
note "$n calls, $done interrupted: "
  . join(', ', map { "$_ $interrupted{$_} of $tried{$_}" } sort keys %tried);
note 'by function: ' . join(', ', map { "$_ $by_function{$_}" } sort keys %by_function);
note 'by place: ' . join(', ', map { "$_ $by_way{$_}" } sort keys %by_way);
note 'by stream: ' . join('; ', map { "$_ $by_stream{$_}" } sort keys %by_stream);
note 'by third of the delays: ' . join(', ', map { "$_ $by_third{$_}" } sort keys %by_third);
note 'they had: ' . join(', ', map { "$_ $had{$_}" } sort keys %had);
note "next calls by workers: $next_by_workers";

cmp_ok($done, '>', 0.03 * $n, 'many calls were interrupted');
is(join(' ', grep { !$by_function{$_} } @functions), '', 'in every function');
is(scalar keys %by_way, scalar keys %ways, 'in all places');
is(scalar keys %by_stream, 3, 'by all streams');
SKIP:
{
	skip 'this needs /proc', 1 if !$can_have{workers};
	cmp_ok($had{workers}, '>', 0, 'while workers helped');
}
SKIP:
{
	skip 'no io_uring is to be had, or no use for it', 1 if !$can_have{'a ring'};
	cmp_ok($had{'a ring'}, '>', 0, 'while a ring was open');
}
cmp_ok($had{'a temporary file'}, '>', 0, 'with rows in a temporary file');
cmp_ok($next_by_workers, '>', 0, 'and workers helped the next call');
cmp_ok($interrupted{$_} // 0, '>', 1, "by $_") foreach 'cancel', 'timeout', 'terminate';
is(join(', ', map { "$_: $wrong{$_}" } sort keys %wrong), '', 'nothing is left behind');

$s->end;
$observer->end;
stop_clean($node);
done_testing();
