
# Copyright (c) 2026, streamstat contributors

# Whatever ends a call, at whatever moment: nothing stays behind.
#
# Every function that scans is called in settings and places chosen at random,
# and interrupted at a random moment of its usual duration: by a cancel, a
# timeout, the end of its backend, the end of the server.  What the server, its
# log, and the operating system show then must be what they showed before.
#
# Signals are sent to backends directly, as pg_cancel_backend() and
# pg_terminate_backend() do, but sooner.

use strict;
use warnings;

use FindBin;
use List::Util qw(max shuffle uniq);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes ();

use lib "$FindBin::RealBin/lib";
use Processes;
use Rows;
use Session;
use Torture;

# A call is repeated until it takes so long, in seconds.
use constant SHORTEST => 0.012;

# Interrupts from one look at all that could be left to the next
use constant BATCH => 25;

# A stop that has to wait for nothing takes no longer, in seconds.
use constant LONGEST_STOP => 30;

torture_seconds(6);
my $long = defined $ENV{STREAMSTAT_TORTURE_SECONDS};

# What a session may grow by, in kB, for what the server keeps of catalogs and plans
my $slack = ($long ? 24 : 8) * 1024;

torture_seed();

my $node = PostgreSQL::Test::Cluster->new('interrupts');
$node->init;
$node->append_conf(
	'postgresql.conf', q(
autovacuum = off
fsync = off
shared_buffers = 4MB
maintenance_work_mem = 64MB
wal_level = minimal
max_wal_senders = 0
max_wal_size = 2GB
max_worker_processes = 8
max_parallel_maintenance_workers = 2
# segments are files in the data directory
dynamic_shared_memory_type = mmap
log_statement = none
# many rows go to a temporary file
work_mem = 64kB
log_temp_files = 0
));
$node->start;
my $version = $node->safe_psql('postgres', 'SHOW server_version_num');
my $have_buffercache = $node->safe_psql('postgres',
	"SELECT count(*) FROM pg_available_extensions WHERE name = 'pg_buffercache'"
);
my $have_proc = -d "/proc/$$/fd";

$node->safe_psql('postgres', 'CREATE EXTENSION pg_buffercache')
  if $have_buffercache;
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION streamstat;
-- What this session holds: locks on our tables, and memory.  The buffer stream's
-- stays with the cursor that called, which is the server's way; it is small.
-- Outside of a transaction there is none either.
CREATE VIEW held AS SELECT
	(SELECT count(*) FROM pg_locks JOIN pg_class c ON c.oid = relation
		WHERE pid = pg_backend_pid() AND relnamespace = 'public'::regnamespace AND relkind IN ('r', 'i')) AS locks,
	(SELECT count(*) FROM pg_backend_memory_contexts
		WHERE name LIKE 'streamstat%' AND name NOT IN ('streamstat report', 'streamstat stream')) AS contexts;
CREATE VIEW held_outside AS SELECT locks, contexts + (SELECT count(*) FROM pg_backend_memory_contexts
		WHERE name = 'streamstat stream') AS contexts FROM held;

-- Buffers that are pinned.  Asynchronous reads that were under way at a cancel
-- keep theirs until they are done.
CREATE FUNCTION pins() RETURNS text LANGUAGE plpgsql AS
$$
DECLARE
	n bigint;
BEGIN
	FOR i IN 1 .. 200 LOOP
		SELECT count(*) INTO n FROM pg_buffercache WHERE pinning_backends > 0;
		EXIT WHEN n = 0;
		PERFORM pg_sleep(0.01);
	END LOOP;
	RETURN 'pins ' || nullif(n, 0);
EXCEPTION WHEN undefined_table THEN
	RETURN NULL;
END
$$;

-- What the other sessions hold.  Who was terminated may take a moment.
CREATE FUNCTION others_hold() RETURNS text LANGUAGE plpgsql AS
$$
DECLARE
	found text;
BEGIN
	FOR i IN 1 .. 200 LOOP
		PERFORM pg_stat_clear_snapshot();
		SELECT concat_ws(', ',
			(SELECT 'locks ' || string_agg(DISTINCT concat_ws(' ', locktype, relation::regclass, mode), ', ')
				FROM pg_locks WHERE pid <> pg_backend_pid()),
			(SELECT 'workers ' || string_agg(state, ' ') FROM pg_stat_activity WHERE backend_type = 'parallel worker'),
			(SELECT 'files ' || string_agg(name, ' ') FROM pg_ls_tmpdir()),
			(SELECT 'progress of ' || count(*) FROM streamstat.stat_progress HAVING count(*) > 0)) INTO found;
		EXIT WHEN found = '';
		PERFORM pg_sleep(0.01);
	END LOOP;
	RETURN concat_ws(', ', nullif(found, ''), pins());
END
$$;
SQL

my %file = make_relations($node);
my @calls = sort keys %query;
my %function = map { $_ => /^(\w+)/ } @calls;
my @functions = sort(uniq(values %function));
is( join(' ', @functions),
	$node->safe_psql(
		'postgres', q(
SELECT string_agg(DISTINCT proname, ' ' ORDER BY proname) FROM pg_proc
WHERE pronamespace = 'streamstat'::regnamespace AND proname NOT IN ('stream_stats', 'stat_progress'))
	),
	'every function is called');

# ---------------------------------------------------------------------------
# Sessions

my ($s, $observer, %row, %duration, %repeat, %before);

# A query's answer and its duration
sub timed
{
	my ($query) = @_;
	my $start = Time::HiRes::time();
	my $answer = $s->query($query);

	return ($answer, Time::HiRes::time() - $start);
}

# What a call sends: a row without what differs each time
sub sql
{
	my ($call) = @_;

	return $query{$call} if $query{$call} =~ /^CALL/;
	my $text = $query{$call} =~ s/'/''/gr;
	return $repeat{$call} > 1 ? "SELECT again('SELECT $text', $repeat{$call})" : "SELECT $query{$call}";
}

sub cleaned
{
	my ($call, $answer) = @_;

	return $query{$call} =~ /^CALL/ ? ($answer =~ /\|complete\|/ ? 'complete' : $answer) : $answer;
}

# Have the kernel forget what it knows of our relations.
my @files = map { $node->data_dir . "/$_" } values %file;
my $forget = join '; ',
  map { "dd if='$_' iflag=nocache count=0 status=none" } @files;
system_or_bail('sync', @files);

sub forget
{
	return system($forget) == 0;
}

# The descriptors that a backend has open, by name
sub descriptors
{
	my ($pid) = @_;

	return map { readlink($_) // () } glob("/proc/$pid/fd/*");
}

# Data files that are open twice: once by the server, which does not do that by
# itself, and once by us.
sub opened_twice
{
	my ($pid) = @_;
	my %n;

	$n{$_}++ foreach grep { m{/base/\d+/\d} } descriptors($pid);
	return grep { $n{$_} > 1 } keys %n;
}

sub segments
{
	my @found = glob($node->data_dir . '/pg_dynshmem/*');

	return scalar @found;
}

sub reset_session
{
	do
	{
		$s->query('RESET ALL; SET client_min_messages = warning');
	} while ($s->{err} =~ /57014/);
}

sub begin_session
{
	my $session = Session->new($node);

	$session->query("LOAD 'streamstat'; SET client_min_messages = warning");
	return $session;
}

# Let the session know all relations and ways, so that what comes later adds
# nothing.
sub warm_up
{
	my @once = grep { $query{$_} !~ /^CALL/ && ($_ !~ /big/ || /^(table|btree|hash)_stats/) } @calls;

	$s->query("SELECT again('SELECT ' || q, 1) FROM unnest(ARRAY["
		  . join(', ', map { "\$q\$$query{$_}\$q\$" } @once)
		  . "]) q; SELECT * FROM held; SELECT * FROM held_outside; SELECT caught('SELECT 1', 1)");
	$before{descriptors} = descriptors($s->{pid});
	$before{memory} = $s->memory('RssAnon');
	$before{segments} //= segments();
}

sub begin_sessions
{
	$observer = Session->new($node);
	$s = begin_session();
	$observer->query('SELECT others_hold()');
}

# Something that must be nothing, and has to be told if it is not
my %wrong;

sub expect_nothing
{
	my ($what, $found, $when) = @_;

	return 1 if !defined $found || $found eq '' || $found eq '0' || $found eq '0|0';
	$wrong{$what}++;
	diag("$what: $found ($when)") if $wrong{$what} <= 3;
	return 0;
}

# ---------------------------------------------------------------------------
# One interrupt

my (%tried, %interrupted, %by_function, %by_way, %by_third, %by_stream);
my $next_by_workers = 0;

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

sub pick
{
	return $_[ rand @_ ];
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

# How pages are read; the last word is for the notes.
sub random_settings
{
	my ($call) = @_;
	my $big = $call =~ /big/;
	my $workers = $big && !$had{workers} ? 2 : int(rand(3));
	my ($path, $stream) = @{ pick(
		[ 'buffer', 'buffer' ],
		[ 'file; SET streamstat.io_method = sync', 'file, sync' ],
		([ 'file; SET streamstat.io_method = io_uring', 'file, io_uring' ])
		  x ($big && !$had{'a ring'} ? 4 : 1)) };

	return ("SET streamstat.io_path = $path; SET streamstat.max_workers = $workers"
		  . (rand() < 0.2 ? "; SET streamstat.max_rate = '64MB'" : '')
		  . (rand() < 0.1 ? '; SET streamstat.io_concurrency = 1000' : ''),
		$stream);
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
my $asserts = $node->safe_psql('postgres', 'SHOW debug_assertions') eq 'on';
delete $ways{'held cursor'} if $asserts;

sub call_and_interrupt
{
	my ($kind) = @_;
	my $call = next_in_turn();
	my $way = $query{$call} =~ /^CALL/ ? pick('plain', 'block') : pick(sort keys %ways);
	my ($settings, $stream) = random_settings($call);
	my $where = "$kind, $call, $way, $stream";

	# the row and the usual duration, after what was before
	if (!$row{$call})
	{
		$repeat{$call} = 1;
		my ($answer, $time) = timed(sql($call));
		if ($time < SHORTEST && $query{$call} !~ /^CALL/)
		{
			$repeat{$call} = 1 + int(SHORTEST / $time);
			($answer, $time) = timed(sql($call));
		}
		$row{$call} = cleaned($call, $answer);
		$duration{$call} = $time;
		die "$call: no row: $s->{err}" if $s->{err} =~ /ERROR/ || $answer eq '';
	}
	my ($preamble, $query, $savepoint) = $ways{$way}->(sql($call));

	$settings .= "; $preamble" if $preamble;
	$kind = 'cancel' if $kind eq 'timeout' && ($savepoint || $way eq 'caught');
	my $delay = rand(1.2 * $duration{$call});
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
			$session->{err} . (cleaned($call, $answer) eq $row{$call} ? '' : $answer), $where);
	}
	expect_nothing('other error',
		join("\n", grep { /(ERROR|FATAL|PANIC):/ && !/57014: |57P01: /
			&& !($way eq 'held cursor' && $done && /34000: |25P02: /) } split /\n/, $session->{err}),
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

# What a batch may have left
sub look_at_all
{
	my ($when) = @_;

	expect_nothing('held by the session',
		$s->query('SELECT * FROM held_outside') . $s->{err}, $when);
	expect_nothing('held by others',
		$observer->query('SELECT others_hold()') . $observer->{err}, $when);
	if (defined $before{descriptors} && $have_proc)
	{
		# the server keeps some files of catalogs open
		my $more = descriptors($s->{pid}) - $before{descriptors};
		my $kb = ($s->memory('RssAnon') // 0) - ($before{memory} // 0);

		expect_nothing('descriptors', $more > 15 ? $more : 0, $when);
		expect_nothing('memory in kB', $kb > $slack ? $kb : 0, $when);
	}
	my $more = segments() - $before{segments};
	expect_nothing('dynamic shared memory', $more > 0 ? $more : 0, $when);
}

sub next_call
{
	my ($call) = @_;
	my ($answer, $time) = timed(sql($call));
	my $error = $s->{err};

	$next_by_workers++
	  if $call =~ /big/ && $s->query('SELECT workers FROM streamstat.stream_stats()') > 0;
	# on a busy machine, rather the shorter ones
	$duration{$call} =
	  $time < $duration{$call} ? $time : 0.9 * $duration{$call} + 0.1 * $time;
	expect_nothing('row of the next call',
		cleaned($call, $answer) eq $row{$call} ? '' : "$answer$error, not $row{$call}", $call);
}

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

	foreach my $call ((grep { $row{$_} && $query{$_} !~ /^CALL/ } @calls)[ map { rand(@calls) } 1 .. $times ])
	{
		next if !defined $call;
		my ($settings, $stream) = random_settings($call);

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

# Without the kernel's leave there are no rings, and no use for them where nothing
# leaves the page cache.
forget();
$s->query("SET streamstat.io_path = file; SET streamstat.io_method = io_uring; SELECT streamstat.table_stats('big')");
$can_have{'a ring'} = $s->query('SELECT io_method FROM streamstat.stream_stats()') eq 'io_uring';
reset_session();

my $n = 0;
my ($enough, $most) = ($long ? 0 : 110, 250);
while (time_left() || $n < $enough || ($n < $most && lacking()))
{
	my $kind = rand() < 0.6 ? 'cancel' : rand() < 0.7 ? 'timeout' : 'terminate';

	next_call(call_and_interrupt($kind));
	if (++$n % BATCH == 0)
	{
		look_at_all("after $n interrupts");
	}
	if ($long && $n % 200 == 0)
	{
		storm(5);
		stop_and_start(pick('fast', 'immediate', 'kill'));
	}
}
look_at_all('at the end');
storm($long ? 20 : 8);
stop_and_start($_) foreach 'fast', 'immediate', 'kill';

my $done = 0;
$done += $_ foreach values %interrupted;
note "$n calls, $done interrupted: "
  . join(', ', map { "$_ $interrupted{$_} of $tried{$_}" } sort keys %tried);
note 'by function: ' . join(', ', map { "$_ $by_function{$_}" } sort keys %by_function);
note 'by place: ' . join(', ', map { "$_ $by_way{$_}" } sort keys %by_way);
note 'by stream: ' . join('; ', map { "$_ $by_stream{$_}" } sort keys %by_stream);
note 'by third of the delays: ' . join(', ', map { "$_ $by_third{$_}" } sort keys %by_third);
note 'stops: ' . join(', ', map { sprintf('%s %d, at most %.1f s', $_, $stops{$_}, $took{$_}) } sort keys %stops);
note 'they had: ' . join(', ', map { "$_ $had{$_}" } sort keys %had);
note "next calls by workers: $next_by_workers";
note "storms: $storm_calls calls, $storm_signals signals, $barriers barriers";

cmp_ok($done, '>', 0.15 * $n, 'many calls were interrupted');
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
cmp_ok($took{$_}, '<', LONGEST_STOP, "no stop $_ took long") foreach 'fast', 'immediate';
is(join(', ', map { "$_: $wrong{$_}" } sort keys %wrong), '', 'nothing is left behind');

$s->end;
$observer->end;
$node->stop;
server_log_is_clean($node, 'the server log', qr/still referenced/);

done_testing();
