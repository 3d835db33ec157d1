
# Copyright (c) 2026, streamstat contributors

# Proof that blocks are looked ahead at.
#
# The bundled read stream advises the kernel by posix_fadvise(): strace sees
# the calls.  Of the server's own stream we know the average size of a read.
#
# The file stream is turned off: it needs no buffers to look ahead.
#
# Each case has an index of its own, which no earlier case has brought into
# shared buffers.

use strict;
use warnings;

use FindBin;
use IPC::Run ();
use PostgreSQL::Test::Utils;
use Test::More;

use lib "$FindBin::RealBin/lib";
use Node;
use PageCache;
use Pages;
use Tracer;

my $node = new_node('look_ahead', q(
shared_buffers = 64MB
wal_level = minimal
max_wal_senders = 0
max_parallel_maintenance_workers = 0
allow_in_place_tablespaces = on
maintenance_io_concurrency = 10
streamstat.io_path = buffer
));

my @cases =
  qw(cold cached off combined concurrency prewarmed sampled read_mode);
$node->safe_psql('postgres',
		"CREATE TABLE t AS SELECT i AS k FROM generate_series(1, 240000) i;\n"
	  . "CREATE TABLESPACE no_advice LOCATION '';\n"
	  . join('', map { "CREATE INDEX $_ ON t (k);\n" } @cases)
	  . "CREATE INDEX tablespace ON t (k) TABLESPACE no_advice;\n"
	  . "ALTER TABLESPACE no_advice SET (maintenance_io_concurrency = 0);\n");
$node->restart;

# ---------------------------------------------------------------------------
# A session that stays.

my ($in, $out, $err) = ('', '', '');
my $session = IPC::Run::start(
	[ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-f', '-' ],
	'<', \$in, '>', \$out, '2>', \$err,
	IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));

sub query
{
	my ($query) = @_;

	$out = '';
	$in .= "$query;\n\\echo done\n";
	$session->pump until $out =~ /^done\n/m || !$session->pumpable;
	die "query failed: $query\n$err" if $err =~ /ERROR|FATAL/;
	$out =~ s/^done\n//m;
	chomp $out;
	return $out;
}

# what stream_stats() says of the last call
sub stats
{
	my @names = qw(stream blocks_requested blocks_hit blocks_missed reads
	  avg_read_bytes advice_calls avg_advice_bytes look_ahead_max);
	my @values = split /\|/,
	  query('SELECT ' . join(', ', @names) . ' FROM streamstat.stream_stats()'),
	  -1;
	my %stats;

	@stats{@names} = @values;
	return \%stats;
}

my $pid = query('SELECT pg_backend_pid()');
query("LOAD 'streamstat'");

sub scan
{
	my ($index) = @_;

	return query("SELECT leaf_pages FROM streamstat.btree_stats('$index')");
}

# ---------------------------------------------------------------------------
# strace on the session's process

my ($tracer, $reason);

# The lengths that the calls since the last look advised
sub advice
{
	return $tracer->trace =~ /^fadvise64\(\d+, \d+, (\d+), POSIX_FADV_WILLNEED\)/mg;
}

sub sum
{
	my $sum = 0;
	$sum += $_ foreach (@_);
	return $sum;
}

sub max
{
	return (sort { $b <=> $a } @_)[0] // 0;
}

# ---------------------------------------------------------------------------

cmp_ok(scan('cold'), '>=', 500, 'an index of 500 pages');
my $stats = stats();
cmp_ok($stats->{blocks_missed}, '>=', 500, 'cold: pages were read');
is( $stats->{blocks_requested},
	$stats->{blocks_hit} + $stats->{blocks_missed},
	'cold: each page once');
cmp_ok($stats->{look_ahead_max}, '>=', 16, 'cold: look-ahead');

# In buffers one behind the other, but for one in between
query("SELECT streamstat.pg_prewarm('cached', 'buffer', 'main', 0, 99)");
query("SELECT streamstat.pg_prewarm('t', 'buffer', 'main', 0, 0)");
query("SELECT streamstat.pg_prewarm('cached')");
scan('cached');
$stats = stats();
is($stats->{blocks_missed}, 0, 'cached: nothing is read');
is($stats->{look_ahead_max}, 1, 'cached: each page is looked up');

my $bundled = $stats->{stream} eq 'bundled read stream';

SKIP:
{
	skip 'the stream is the server\'s', 1 if !$bundled;

	($tracer, $reason) = Tracer->attach($pid, '-e', 'trace=fadvise64');
	skip $reason, 1 if !$tracer;

	# What is cached needs no advice.
	scan('cached');
	is_deeply([ advice() ], [], 'cached: no advice');
	is(stats()->{advice_calls}, 0, 'cached: no advice counted');

	uncache($node, 'prewarmed');
	query("SELECT streamstat.pg_prewarm('prewarmed')");
	my @lengths = advice();
	$stats = stats();
	cmp_ok(scalar @lengths, '>', 10, 'cold: advice was given');
	is(scalar(grep { $_ <= BLCKSZ || $_ > 524288 } @lengths),
		0, 'cold: for more than a page, and up to 512 kB');
	is(max(@lengths), 524288, 'cold: 512 kB is reached');
	is($stats->{advice_calls}, scalar @lengths, 'cold: the calls are counted');
	is(sprintf('%.0f', $stats->{advice_calls} * $stats->{avg_advice_bytes}),
		sum(@lengths), 'cold: and their lengths');
	cmp_ok(sum(@lengths), '>', 400 * BLCKSZ, 'cold: most pages are advised');
	cmp_ok(sum(@lengths), '<=', $stats->{blocks_missed} * BLCKSZ,
		'cold: no page is advised twice');

	query("SELECT count(*) FROM streamstat.sample_stats('sampled', 200, seed => 1)");
	@lengths = advice();
	$stats = stats();
	cmp_ok(scalar @lengths, '>', 10, 'sample: advice was given');
	is($stats->{advice_calls}, scalar @lengths, 'sample: the calls are counted');

	query("SET maintenance_io_concurrency = 0");
	scan('off');
	is_deeply([ advice() ], [], 'maintenance_io_concurrency = 0: no advice');
	$stats = stats();
	is($stats->{advice_calls}, 0, 'maintenance_io_concurrency = 0: none counted');
	cmp_ok($stats->{blocks_missed}, '>=', 500,
		'maintenance_io_concurrency = 0: pages were read');

	# our own setting comes before the server's
	query("SET streamstat.io_concurrency = 2");
	scan('concurrency');
	@lengths = advice();
	cmp_ok(scalar @lengths, '>', 10, 'streamstat.io_concurrency: advice');
	cmp_ok(stats()->{look_ahead_max}, '<=', 3 * 16,
		'streamstat.io_concurrency: limits the look-ahead');
	query("RESET streamstat.io_concurrency");
	query("RESET maintenance_io_concurrency");

	# The tablespace says no.
	scan('tablespace');
	is_deeply([ advice() ], [], 'tablespace without concurrency: no advice');
	cmp_ok(stats()->{blocks_missed}, '>=', 500,
		'tablespace without concurrency: pages were read');

	query("SET streamstat.io_combine_limit = '64kB'");
	scan('combined');
	@lengths = advice();
	$stats = stats();
	cmp_ok(scalar @lengths, '>', 10, 'streamstat.io_combine_limit: advice');
	is(max(@lengths), 65536, 'streamstat.io_combine_limit: is obeyed');
	is($stats->{advice_calls}, scalar @lengths,
		'streamstat.io_combine_limit: the calls are counted');
	query("RESET streamstat.io_combine_limit");

	# reads past shared buffers
	uncache($node, 'read_mode');
	query("SELECT streamstat.pg_prewarm('read_mode', 'read')");
	@lengths = advice();
	cmp_ok(sum(@lengths), '>', 400 * BLCKSZ, 'pg_prewarm, read: advice');
	cmp_ok(max(@lengths), '>', BLCKSZ, 'pg_prewarm, read: for runs of blocks');
	@lengths = @{ cached({ pid => $pid }, 'pg_prewarm, read', sub {
		query("SELECT streamstat.pg_prewarm('read_mode', 'read')");
		return [ advice() ];
	}) };
	is_deeply(\@lengths, [], 'pg_prewarm, read: none for what is cached');

	$tracer->detach;
}

SKIP:
{
	skip 'the stream is the bundled one', 1 if $bundled;

	# What the first scan read, once more from an index that was not touched
	scan('off');
	$stats = stats();
	is($stats->{stream}, 'read stream of the server', 'stream');
	cmp_ok($stats->{blocks_missed}, '>=', 500, 'pages were read');
	cmp_ok($stats->{avg_read_bytes}, '>=', 65536, 'by big reads');
	is( sprintf('%.0f', $stats->{reads} * $stats->{avg_read_bytes}),
		$stats->{blocks_missed} * BLCKSZ,
		'number and size of reads');

	query("SELECT streamstat.pg_prewarm('prewarmed')");
	$stats = stats();
	cmp_ok($stats->{avg_read_bytes}, '>=', 65536, 'pg_prewarm: by big reads');

	query("SET streamstat.io_combine_limit = '8kB'");
	scan('combined');
	$stats = stats();
	cmp_ok($stats->{blocks_missed}, '>=', 500, '8kB: pages were read');
	is($stats->{avg_read_bytes}, BLCKSZ, '8kB: one by one');
	is($stats->{reads}, $stats->{blocks_missed}, '8kB: as many reads');

	query("SET streamstat.io_combine_limit = '32kB'");
	scan('concurrency');
	$stats = stats();
	cmp_ok($stats->{avg_read_bytes}, '>', 16384, '32kB: by bigger reads');
	cmp_ok($stats->{avg_read_bytes}, '<=', 32768, '32kB: and no bigger than that');
}

$in .= "\\q\n";
$session->finish;
stop_clean($node);
done_testing();
