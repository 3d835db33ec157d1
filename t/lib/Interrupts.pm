
# Copyright (c) 2026, streamstat contributors

# Calls that are ended from outside, and all that they could leave behind: what the
# server, its log, and the operating system show afterwards must be what they showed before.

package Interrupts;

use strict;
use warnings;

use Exporter 'import';
use List::Util qw(uniq);
use PostgreSQL::Test::Utils;
use Test::More ();
use Time::HiRes ();

use Node;
use PageCache;
use Rows;
use Session;
use Torture;

our @EXPORT = qw(interrupts_node begin_sessions begin_session warm_up reset_session
  sql forget opened_twice pick way_to_pages learn next_call look_at_all
  expect_nothing $node $s $observer @calls %function @functions %row %duration %before
  %wrong $long $asserts $have_proc $next_by_workers);

# A call is repeated until it takes so long, in seconds.
use constant SHORTEST => 0.012;

our $long = defined $ENV{STREAMSTAT_TORTURE_SECONDS};

# What a session may grow by, in kB, for what the server keeps of catalogs and plans,
# and malloc of the memory that predictions and lists of cached blocks took
my $slack = ($long ? 32 : 20) * 1024;

# A server, the session that is interrupted, and one that looks on; by the call, a row
# without what differs each time, how long it takes, and how often it is made at a time
our ($node, $s, $observer, @calls, %function, @functions, %row, %duration);
my (%repeat, @files);

# What there was before; what was wrong, and how often; a server with assertions
our (%before, %wrong, $asserts);
our $have_proc = -d "/proc/$$/fd";
our $next_by_workers = 0;

sub interrupts_node
{
	$node = new_node('interrupts', q(
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
	create_extension($node, 'pg_buffercache');
	$node->safe_psql('postgres', <<'SQL');
-- What this session holds: locks on our tables, and memory.  That of the buffer
-- stream, of a partition, of a layout, of rows and of a report's schedule stays with the cursor that
-- called, which is the server's way.  Outside of a transaction there is none either.
CREATE VIEW with_cursor AS SELECT * FROM pg_backend_memory_contexts
	WHERE name IN ('streamstat stream', 'streamstat partition', 'streamstat row', 'streamstat scan', 'streamstat names', 'streamstat model', 'streamstat layout', 'streamstat schedule', 'streamstat attempt');
CREATE VIEW held AS SELECT
	(SELECT count(*) FROM pg_locks JOIN pg_class c ON c.oid = relation
		WHERE pid = pg_backend_pid() AND relnamespace = 'public'::regnamespace AND relkind IN ('r', 'i')) AS locks,
	(SELECT count(*) FROM pg_backend_memory_contexts
		WHERE name LIKE 'streamstat%' AND name NOT IN ('streamstat report', 'streamstat plan', 'streamstat probe') AND name NOT IN (SELECT name FROM with_cursor)) AS contexts;
CREATE VIEW held_outside AS SELECT locks, contexts + (SELECT count(*) FROM with_cursor) AS contexts FROM held;

-- Buffers that are pinned.  Asynchronous reads that were under way at a cancel
-- keep theirs until they are done.
CREATE FUNCTION pins() RETURNS text LANGUAGE plpgsql AS
$$
DECLARE
	n bigint;
BEGIN
	FOR i IN 1 .. 12000 LOOP
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
	FOR i IN 1 .. 12000 LOOP
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

	@files = map { $node->data_dir . "/$_" } values %file;
	system_or_bail('sync', @files);
	@calls = sort keys %query;
	%function = map { $_ => /^(\w+)/ } @calls;
	@functions = sort(uniq(values %function));
	$asserts = $node->safe_psql('postgres', 'SHOW debug_assertions') eq 'on';
	return $node;
}

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

# Drop our relations from the page cache.
sub forget
{
	try_to_drop_files(@files);
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
	# A timeout can come between a COMMIT and the CLOSE of the cursor that it has held.
	do
	{
		$s->query('CLOSE ALL; RESET ALL; SET client_min_messages = warning');
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
	# The server keeps the files of stored reports open.
	$s->query("CALL streamstat.collect(budget => '0')");
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
sub expect_nothing
{
	my ($what, $found, $when) = @_;

	return 1 if !defined $found || $found eq '' || $found eq '0' || $found eq '0|0';
	$wrong{$what}++;
	Test::More::diag("$what: $found ($when)") if $wrong{$what} <= 3;
	return 0;
}

sub pick
{
	return $_[ rand @_ ];
}

# How pages are read, the last word is for the notes; with workers or a ring rather
# than without, if these are lacking
sub way_to_pages
{
	my ($call, %lacking) = @_;
	my $big = $call =~ /big/;
	my $workers = $big && $lacking{workers} ? 2 : int(rand(3));
	my ($path, $stream) = @{ pick(
		[ 'buffer', 'buffer' ],
		[ 'file; SET streamstat.io_method = sync', 'file, sync' ],
		([ 'file; SET streamstat.io_method = io_uring', 'file, io_uring' ])
		  x ($big && $lacking{'a ring'} ? 4 : 1)) };

	return ("SET streamstat.io_path = $path; SET streamstat.max_workers = $workers; SET streamstat.map_files = "
		  . ($workers > 0 ? 'off' : 'on')
		  . (rand() < 0.2 ? "; SET streamstat.max_rate = '64MB'" : '')
		  . (rand() < 0.1 ? '; SET streamstat.io_concurrency = 1000' : ''),
		$stream);
}

# The row of a call and its usual duration, after what was before
sub learn
{
	my ($call) = @_;

	return if $row{$call};

	my $is_query = $query{$call} !~ /^CALL/;

	$repeat{$call} = 1;
	my ($answer, $time) = timed(sql($call));
	if ($is_query && $time < 1)
	{
		# a machine that stalls makes it seem long
		foreach (1 .. 2)
		{
			my (undef, $again) = timed(sql($call));
			$time = $again if $again < $time;
		}
	}
	if ($is_query && $time < SHORTEST)
	{
		$repeat{$call} = 1 + int(SHORTEST / $time);
		($answer, $time) = timed(sql($call));
	}
	$row{$call} = $answer;
	$duration{$call} = $time;
	die "$call: no row: $s->{err}" if $s->{err} =~ /ERROR/ || $answer eq '';
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

		expect_nothing('descriptors', $more > 25 ? $more : 0, $when);
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
		$answer eq $row{$call} ? '' : "$answer$error, not $row{$call}", $call);
}

1;
