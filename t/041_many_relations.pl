
# Copyright (c) 2026, streamstat contributors

# Warming thousands of relations by one call: descriptors, memory and locks are
# bounded, and reads of different relations are under way together.
#
# The server has as many descriptors as is usual, then as few as it starts with.  The
# long form has 100,000 relations.

use strict;
use warnings;

use FindBin;
use List::Util qw(max min);
use PostgreSQL::Test::Utils;
use Test::More;

use lib "$FindBin::RealBin/lib";
use Node;
use Processes;
use Session;
use Torture;
use Tracer;

plan skip_all => 'this is not Linux' if $^O ne 'linux';

# Tables of two blocks; as many as can be made in the time that there is
my $seconds = torture_seconds(0);
my $ntables = max(3000, min(100_000, 200 * $seconds));
my $nblocks = 2 * $ntables;

# Relations that a call has locked at a time: those with reads under way, 32, and a few;
# twice as many where nothing is to be read.  Descriptors of a session: one for each of
# these, and the server's own.
use constant { LOCKS => 40, LOCKS_CACHED => 70, DESCRIPTORS => 100 };

# kB: what any call may take, and for each relation what a list of them takes
use constant { LIMIT => 16 * 1024, PER_RELATION => 0.5 };

my $buffers = max(64, int($ntables / 1000) * 20);
my $settings = qq(
shared_buffers = ${buffers}MB
fsync = off
max_wal_size = 2GB
maintenance_io_concurrency = 32
max_files_per_process = 1000
jit = off
);
my $node = new_node('many_relations', $settings);

# The backend is to read itself.
$node->append_conf('postgresql.conf', 'io_method = sync')
  if $node->safe_psql('postgres', 'SHOW server_version_num') >= 180000;

note "$ntables tables";
$node->safe_psql('postgres', <<"SQL", timeout => 1800);
CREATE SCHEMA many;
SELECT format('CREATE TABLE many.m%s AS SELECT i FROM generate_series(1, 300) i', n)
FROM generate_series(1, $ntables) n \\gexec
CREATE TABLE tiny (i int);
CREATE VIEW cached AS SELECT coalesce(sum(buffered_bytes) / 8192, 0)::bigint AS blocks
	FROM streamstat.cache_summary() WHERE schema_name = 'many';
SQL

# ---------------------------------------------------------------------------
# What a call takes, looked at by others while it runs

my ($session, $observer);

sub new_sessions
{
	foreach ($session, $observer)
	{
		$_->end if $_;
		$_ = Session->new($node);
	}
	$session->query("LOAD 'streamstat'; SELECT count(*) FROM streamstat.cache_load(streamstat.cache_save('8kB'))");
}

sub descriptors
{
	return scalar(my @files = glob("/proc/$session->{pid}/fd/*"));
}

sub locks
{
	return $observer->query("SELECT count(DISTINCT relation)
		FROM pg_locks l JOIN pg_class c ON c.oid = relation
		WHERE l.pid = $session->{pid} AND relnamespace = 'many'::regnamespace");
}

# Nothing is in shared buffers then.
sub restart_empty
{
	$node->restart;
	new_sessions();
}

# Make a call, which gives one row.  What it has most of is compared with bounds.  In a
# transaction: locks that it leaves would stay.
sub call
{
	my ($what, $query, $expected, $locks) = @_;
	my (%most, $nsamples, $answer);

	# the call may be over before a busy machine has let us look at it
	foreach (1 .. 5)
	{
		my $memory = memory_of($session->{pid});

		%most = (descriptors => 0, locks => 0, memory => 0);
		$nsamples = 0;
		$session->query('BEGIN');
		$session->send_query($query);
		while ($session->busy)
		{
			$most{descriptors} = max($most{descriptors}, descriptors());
			$most{memory} = max($most{memory}, memory_of($session->{pid}) - $memory);
			$most{locks} = max($most{locks}, locks());
			$nsamples++;
		}
		$answer = $session->answer;
		last if $nsamples >= 5 && $most{locks} >= 2 || $_ == 5;
		$session->query('ROLLBACK');
		restart_empty();
	}

	is("$answer$session->{err}", $expected, "$what: all is done");
	note "$what: $nsamples looks, at most $most{descriptors} descriptors, "
	  . "$most{locks} locks, $most{memory} kB";
	cmp_ok($nsamples, '>=', 5, "$what: it was looked at");
	cmp_ok($most{descriptors}, '<=', DESCRIPTORS, "$what: descriptors");
	cmp_ok($most{locks}, '>=', 2, "$what: several relations are locked");
	cmp_ok($most{locks}, '<=', $locks // LOCKS, "$what: not all of them");
	cmp_ok($most{memory}, '<', LIMIT + PER_RELATION * $ntables, "$what: memory");
	is(locks(), 0, "$what: no lock is left");
	$session->query('COMMIT');
}

my $sum = q(count(*) FILTER (WHERE NOT is_sum AND schema_name = 'many'),
	count(note), sum(blocks_read) FILTER (WHERE schema_name = 'many'), max(ended_by));
my $all = "$ntables|0|$nblocks|complete";
my $prewarm = "SELECT $sum FROM streamstat.prewarm_schema('many', include_maps => false)";
my $load = "SELECT $sum FROM saved, streamstat.cache_load(saved, details => true)";

restart_empty();
call('prewarm_schema', $prewarm, $all);
is($session->query('SELECT blocks FROM cached'), $nblocks, 'prewarm_schema: all blocks are there');
$session->query('CREATE TABLE saved AS SELECT streamstat.cache_save() AS saved');

# All of it is in the page cache by now.
restart_empty();
call('prewarm_database, page cache',
	($prewarm =~ s/prewarm_schema\('many'/prewarm_database(mode => 'read'/r) =~ s/blocks_read/blocks_read + blocks_cached/r,
	$all, LOCKS_CACHED);

restart_empty();
is($session->query('SELECT blocks FROM cached'), 0, 'nothing is there');
call('cache_load', $load, $all);
is($session->query('SELECT blocks FROM cached'), $nblocks, 'cache_load: all blocks are there');

# ---------------------------------------------------------------------------
# As few descriptors as possible

my $max_files;

foreach my $n (map { 64 + 4 * $_ } 0 .. 30)
{
	$node->stop if defined $node->{_pid};
	$node->adjust_conf('postgresql.conf', 'max_files_per_process', $n);
	$max_files = $n;
	last if $node->start(fail_ok => 1);
}
is($node->safe_psql('postgres', 'SHOW max_files_per_process'),
	$max_files, 'the server has few descriptors');
cmp_ok($max_files, '<', DESCRIPTORS, 'fewer than a call may have');
note "max_files_per_process = $max_files";

restart_empty();
call('few descriptors, prewarm_schema', $prewarm, $all);
restart_empty();
call('few descriptors, cache_load', $load, $all);
is($session->query('SELECT blocks FROM cached'), $nblocks, 'few descriptors: all blocks are there');

# ---------------------------------------------------------------------------
# Reads of different relations are under way together.

SKIP:
{
	restart_empty();
	my %is_table = map { $_ => 1 } split /\n/, $session->query(
		"SELECT pg_relation_filepath(oid) FROM pg_class WHERE relnamespace = 'many'::regnamespace AND relkind = 'r'");
	# -y gives the names of files
	my ($tracer, $reason) = Tracer->attach($session->{pid}, '-y',
		'-e', 'trace=fadvise64,pread64,preadv,read,readv');
	skip $reason, 4 if !$tracer;

	$session->query($load);
	$tracer->detach;

	# the tables whose advice or read comes next, in this order
	my (%advised, %read, @ahead);
	my $unadvised = 0;

	foreach (split /\n/, $tracer->trace)
	{
		next if !m{^(fadvise64|p?readv?(?:64)?)\(\d+<\S*/(base/\d+/\d+)>} || !$is_table{$2};
		if ($1 eq 'fadvise64')
		{
			$advised{$2} = 1;
		}
		elsif (!$read{$2}++)
		{
			$unadvised++ if !$advised{$2};
			delete $advised{$2};
			push @ahead, scalar keys %advised;
		}
	}
	is(scalar @ahead, $ntables, 'strace: each table was read');
	is($unadvised, 0, 'strace: none without advice');
	cmp_ok($ahead[0], '>=', 20, 'strace: others are advised before the first one is read');
	cmp_ok((sort { $a <=> $b } @ahead)[ @ahead / 2 ], '>=', 20, 'strace: and so all the while');
	note "advised ahead: first $ahead[0], most " . max(@ahead);
}

$_->end foreach $session, $observer;
stop_clean($node);
done_testing();
