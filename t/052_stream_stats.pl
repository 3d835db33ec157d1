
# Copyright (c) 2026, streamstat contributors

# What stream_stats() says of a call is true: its numbers agree with each other, with
# those of the single processes, with what the server counts, and with what a
# disk does that answers late.
#
# faults.c lets all reads of a file come from "disk", and as slowly as the test wants.

use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Utils;
use Test::More;

use lib "$FindBin::RealBin/lib";
use Faults;
use Node;
use PageCache;
use Pages;
use Session;

plan skip_all => 'this is not Linux' if $^O ne 'linux';

my $faults;
my $node = new_node('stream_stats', q(
shared_buffers = 8MB
bgwriter_lru_maxpages = 0
max_worker_processes = 16
max_parallel_maintenance_workers = 4
maintenance_io_concurrency = 16
effective_io_concurrency = 16
track_io_timing = off
jit = off
), checksums => 0, start => sub {
		$faults = Faults->new($_[0]);
		plan skip_all => 'no C compiler for test/faults' if !$faults;
		$faults->start($_[0]);
	});
my $version = $node->safe_psql('postgres', 'SHOW server_version_num') / 10000;

# Low fillfactors make many pages of little data.  "large" is worth workers.
$node->safe_psql('postgres', <<'SQL');
SET max_parallel_maintenance_workers = 0;
CREATE TABLE t (k int) WITH (fillfactor = 10);
INSERT INTO t SELECT i FROM generate_series(1, 100000) i;
CREATE INDEX b ON t (k) WITH (fillfactor = 10);
CREATE TABLE filler AS SELECT repeat('x', 1000) FROM generate_series(1, 9000) i;
CREATE TABLE large (k int);
CREATE INDEX large_b ON large (k);
CHECKPOINT;

-- The rules that the last call's numbers break
CREATE FUNCTION broken(OUT rules text) LANGUAGE sql AS $$
WITH s AS (SELECT *, (SELECT sum(n) FROM unnest(reads_by_size) n) AS sum_reads,
	(SELECT sum(n) FROM unnest(blocks_by_size) n) AS sum_blocks FROM streamstat.stream_stats()),
w AS (SELECT *, reads * avg_read_bytes AS bytes FROM streamstat.stream_stats_workers())
SELECT string_agg(rule, '; ') FROM s, LATERAL (VALUES
	('hit + missed = requested', blocks_hit + blocks_missed = blocks_requested),
	('page cache + disk = missed', blocks_page_cache + blocks_disk = blocks_missed),
	('no less than nothing', least(blocks_page_cache, blocks_disk, read_waits, reads, read_wait_ms) >= 0),
	('reads by size', sum_reads = reads),
	('blocks by size', sum_blocks * 8192 = round((reads * avg_read_bytes)::numeric)),
	('blocks read into private memory', sum_blocks >= blocks_private),
	('waits of reads', read_waits <= reads),
	('time waited', read_wait_ms <= elapsed_ms * (workers + 1)),
	('in flight', reads_in_flight_avg BETWEEN 1 AND reads_in_flight_max),
	('look-ahead', look_ahead_avg BETWEEN 1 AND look_ahead_max),
	('processes', (SELECT count(*) = workers + 1 FROM w)),
	('blocks of processes', (SELECT (sum(blocks_requested), sum(blocks_hit), sum(blocks_missed), sum(blocks_private)) =
		(s.blocks_requested, s.blocks_hit, s.blocks_missed, s.blocks_private) FROM w)),
	('page cache of processes', (SELECT sum(blocks_page_cache) = s.blocks_page_cache FROM w)),
	('reads of processes', (SELECT sum(reads) = s.reads AND sum(read_waits) = s.read_waits FROM w)),
	('bytes of processes', (SELECT round(sum(bytes)::numeric) = round((s.reads * s.avg_read_bytes)::numeric) FROM w)),
	('time of processes', (SELECT abs(sum(read_wait_ms) - s.read_wait_ms) < 0.001 FROM w)),
	('most of processes', (SELECT max(look_ahead_max) = s.look_ahead_max AND
		max(reads_in_flight_max) IS NOT DISTINCT FROM s.reads_in_flight_max FROM w)),
	('sizes of processes', (SELECT sum(reads_by_size[6]) = s.reads_by_size[6] AND
		sum(blocks_by_size[5]) = s.blocks_by_size[5] FROM w))) r (rule, holds)
WHERE NOT holds;
$$;
SQL

my $s = Session->new($node);
my %path = map { $_ => file_of($node, $_) } qw(t b filler large_b);
my %blocks = map { $_ => (-s $path{$_}) / BLCKSZ } keys %path;

cmp_ok($blocks{b}, '>', 2000, 'large enough');

# Numbers of the last call, by name
sub numbers
{
	my @names = qw(stream io_method workers blocks_requested blocks_hit blocks_missed blocks_private
	  blocks_mapped blocks_page_cache blocks_disk reads avg_read_bytes read_waits read_wait_ms
	  reads_in_flight_avg reads_in_flight_max look_ahead_avg look_ahead_max elapsed_ms
	  reads_by_size);
	my %n;

	@n{@names} = split /\|/,
	  $s->query('SELECT ' . join(', ', @names) . ' FROM streamstat.stream_stats()'), -1;
	return %n;
}

# Nothing of the relations stays in buffers.
sub evict
{
	$faults->clear;
	$s->query("SELECT count(*) FROM filler; SELECT streamstat.pg_prewarm('filler')");
}

# A call, and the numbers, which break no rule
sub call
{
	my ($label, $call) = @_;

	$s->query("SELECT * FROM streamstat.$call");
	is($s->{err}, '', "$label: no error");
	is($s->query('SELECT broken()'), '', "$label: the numbers agree");
	return numbers();
}

# The same for a relation in the page cache
sub call_cached
{
	my ($label, $call) = @_;

	return @{ cached($s, $label, sub {
		evict();
		return [ call($label, $call) ];
	}) };
}

my %settings = (
	io_uring => 'SET streamstat.io_path = file; SET streamstat.io_method = io_uring',
	sync => 'SET streamstat.io_path = file; SET streamstat.io_method = sync',
	buffer => 'SET streamstat.io_path = buffer');
my @relation = ("btree_stats('b')", "sample_stats('t', 300, seed => 1)", "table_stats('t')",
	"bloat('t', 200, 1)", "pgstattuple('t')", "layout_map('b', 10)");

# ---------------------------------------------------------------------------
# In the page cache: nothing is waited for, and nothing comes from disk.

foreach my $way (sort keys %settings)
{
	$s->query($settings{$way});
	foreach my $map ($way eq 'buffer' ? ('on') : ('on', 'off'))
	{
		$s->query("SET streamstat.map_files = $map");
		foreach my $call (@relation)
		{
			my %n = call_cached("$way, map_files $map, cached: $call", $call);

			is("$n{blocks_disk} $n{read_waits} $n{read_wait_ms}", '0 0 0', "$way, map_files $map, cached: $call: nothing is waited for")
			  if $way ne 'buffer';
		}
	}
	$s->query('RESET streamstat.map_files');
}

# ---------------------------------------------------------------------------
# On disk

my $have_ring;

foreach my $way (sort keys %settings)
{
	$s->query("$settings{$way}; SET streamstat.io_concurrency = 4");
	evict();
	$faults->set(file => $path{b}, uncached => 1);
	my %n = call("$way, cold", "btree_stats('b')");

	$have_ring = $n{io_method} eq 'io_uring' if $way eq 'io_uring';
	if ($way eq 'buffer')
	{
		cmp_ok($n{blocks_missed}, '==', $blocks{b}, "$way, cold: all is read");
	}
	else
	{
		is("$n{blocks_disk} $n{blocks_page_cache}", "$blocks{b} 0", "$way, cold: all comes from disk");
		cmp_ok($n{reads_in_flight_max}, '<=', 4, "$way, cold: no more in flight than may be");
		cmp_ok($n{reads_in_flight_avg}, '>=', 1.5, "$way, cold: several in flight");
		cmp_ok($n{look_ahead_avg}, '>', 32, "$way, cold: blocks are requested ahead");
		is($n{read_waits}, $n{reads}, "$way, cold: each read is waited for") if $way eq 'sync';
	}
	$s->query('RESET streamstat.io_concurrency');
}

# ---------------------------------------------------------------------------
# On a disk that takes 4 ms for each read: so much is waited, at least

use constant SLOW_MS => 4;

sub slow
{
	evict();
	$faults->set(file => $path{ $_[0] }, uncached => 1, reads => 'slow', from => 0,
		to => 1 << 40, most => SLOW_MS);
}

foreach my $way (sort keys %settings)
{
	# The server's rings cannot be slowed.
	$s->query("$settings{$way}; SET streamstat.io_concurrency = 2; SET streamstat.io_combine_limit = '64kB'");
	my $call = $way eq 'buffer' ? "sample_stats('b', 100, seed => 1)" : "btree_stats('b')";
	my %quick = call_cached("$way, quick", $call);

	slow('b');
	my %n = call("$way, slow", $call);
	cmp_ok($faults->hits, '>', 10, "$way, slow: reads were slow");
	next if $way eq 'io_uring' && !$have_ring;
	cmp_ok($n{read_wait_ms}, '>', $quick{read_wait_ms} + 50, "$way, slow: time waited rises");
	cmp_ok($n{read_waits}, '>', 10, "$way, slow: waits");
	cmp_ok($n{read_wait_ms}, '>=', $n{reads} * SLOW_MS, "$way, slow: the time of each read")
	  if $way eq 'sync' || $way eq 'buffer' && $version < 18;
	is($n{blocks_disk}, $n{blocks_missed}, "$way, slow: from disk")
	  if $way ne 'buffer' || $version < 18;
	cmp_ok($quick{blocks_disk}, '<', $n{blocks_disk}, "$way, slow: more of it than before")
	  if $n{blocks_disk} ne '';
	$s->query('RESET streamstat.io_concurrency; RESET streamstat.io_combine_limit');
}

# ---------------------------------------------------------------------------
# Into memory: with the server's stream, by our own reads, and by the queue

$s->query('RESET streamstat.io_path; RESET streamstat.io_method');
foreach my $call ("pg_prewarm('b')", "pg_prewarm('b', 'read')", "prewarm('b', stop_when_full => false)", "prewarm('b', 'read')")
{
	my %n = call_cached("cached: $call", $call);

	cmp_ok($n{blocks_page_cache}, '>', $n{blocks_missed} * 0.9, "cached: $call: in the page cache")
	  if $call ne "pg_prewarm('b')";

	evict();
	$faults->set(file => $path{b}, uncached => 1);
	%n = call("cold: $call", $call);
	is($n{blocks_disk}, $n{blocks_missed}, "cold: $call: from disk");
	cmp_ok($n{reads_in_flight_avg}, '>', 1.5, "cold: $call: advised ahead");

	slow('b');
	%n = call("slow: $call", $call);
	cmp_ok($n{read_wait_ms}, '>', SLOW_MS * 10, "slow: $call: time waited");
}
evict();
call("pg_prewarm('b', 'prefetch')", "pg_prewarm('b', 'prefetch')");
is($s->query('SELECT num_nulls(reads, blocks_page_cache, read_waits, reads_by_size) FROM streamstat.stream_stats()'),
	4, 'prefetch: nobody tells what the kernel reads');

# ---------------------------------------------------------------------------
# Many relations

$s->query('SET streamstat.max_workers = 0');
evict();
my %n = call('report', "database_report(budget => '20MB', seed => 1)");
cmp_ok($n{reads}, '>', 10, 'report: reads');
$s->query('RESET streamstat.max_workers');

# ---------------------------------------------------------------------------
# With workers

$s->end;
$node->stop;
truncate($path{large_b}, 24577 * BLCKSZ) or die;
$faults->start($node);
$s = Session->new($node);
foreach my $way (sort keys %settings)
{
	$s->query("$settings{$way}; SET streamstat.map_files = off; SET streamstat.max_workers = 2");
	foreach my $cold (0, 1)
	{
		my $label = ($cold ? 'cold' : 'cached') . ", $way, workers";

		$faults->clear;
		$faults->set(file => $path{large_b}, uncached => 1) if $cold;
		my %w = call($label, "btree_stats('large_b')");
		is($w{workers}, 2, "$label: there are some") if $way ne 'buffer';
		is($w{blocks_disk}, $w{blocks_missed}, "$label: from disk") if $cold && $way ne 'buffer';
		next if $w{workers} == 0;

		# one can have read all before the others have started
		my $each = Session::poll("$label: each has read", sub {
			return 1 if $s->query('SELECT count(*) > 1 FROM streamstat.stream_stats_workers() WHERE blocks_requested > 0 AND reads > 0') eq 't';
			$s->query("SELECT streamstat.btree_stats('large_b')");
			return 0;
		});
		ok($each, "$label: each has read");
	}
}

# ---------------------------------------------------------------------------
# What the server counts: bulk reads in pg_stat_io; of the index itself, nothing

SKIP:
{
	skip 'there is no pg_stat_io', 4 if $version < 16;

	my $bytes = $version < 18 ? 'reads * op_bytes' : 'read_bytes';
	my $counted = sub {
		$s->query('SELECT pg_stat_force_next_flush()');
		return split /\|/, $s->query(
			"SELECT sum(reads), sum($bytes), (SELECT sum(idx_blks_read + idx_blks_hit) FROM pg_statio_all_indexes WHERE indexrelname IN ('b', 'large_b'))"
			  . " FROM pg_stat_io WHERE object = 'relation' AND context = 'bulkread'");
	};

	foreach my $call ("btree_stats('b')", "btree_stats('large_b')", "pg_prewarm('b', 'read')")
	{
		evict();
		$s->query('SET streamstat.io_path = file');
		my @before = $counted->();
		my %n = call("pg_stat_io: $call", $call);
		my @after = $counted->();

		is($after[0] - $before[0],
			$version < 18 ? $n{reads} * $n{avg_read_bytes} / BLCKSZ : $n{reads},
			"pg_stat_io: $call: reads");
		is($after[1] - $before[1], sprintf('%.0f', $n{reads} * $n{avg_read_bytes}), "pg_stat_io: $call: bytes");
		is($after[2] - $before[2], 0, "pg_statio_all_indexes: $call: nothing");
	}

	# with the time, if it is to be measured
	$s->query('SET track_io_timing = on; SET streamstat.io_method = sync');
	my $time = sub {
		$s->query('SELECT pg_stat_force_next_flush()');
		return $s->query("SELECT sum(read_time) FROM pg_stat_io WHERE object = 'relation' AND context = 'bulkread'");
	};
	slow('b');
	my $before = $time->();
	my %n = call('pg_stat_io: time', "btree_stats('b')");
	my $waited = $time->() - $before;
	cmp_ok(abs($waited - $n{read_wait_ms}), '<', $n{read_wait_ms} / 20 + 1, 'pg_stat_io: read_time');
	$s->query('RESET track_io_timing; RESET streamstat.io_method');
}

# EXPLAIN (BUFFERS), workers included
$faults->clear;
$s->query('SET streamstat.io_path = file');
foreach my $call ("btree_stats('b')", "btree_stats('large_b')", "prewarm('b', 'read')")
{
	uncache($node, 'b') if $call =~ /prewarm/;
	my $plan = $s->query("EXPLAIN (ANALYZE, BUFFERS) SELECT FROM streamstat.$call");
	my %n = numbers();
	my ($read) = $plan =~ /shared.*? read=(\d+)/;

	# some of catalogs besides
	cmp_ok($read, '>=', $n{blocks_missed}, "EXPLAIN: $call: blocks read");
	cmp_ok($read, '<', $n{blocks_missed} + 50, "EXPLAIN: $call: no more than these");
	unlike($plan, qr{I/O Timings}, "EXPLAIN: $call: no time");
}
$s->query('SET streamstat.io_path = buffer');
evict();
unlike($s->query("EXPLAIN (ANALYZE, BUFFERS) SELECT FROM streamstat.pgstatindex('b')"),
	qr{I/O Timings}, 'EXPLAIN: through buffers: no time');
is($s->query('SHOW track_io_timing'), 'off', 'track_io_timing is off');

# ---------------------------------------------------------------------------
# The server's own sequential scan, by EXPLAIN (IO)

SKIP:
{
	skip 'EXPLAIN has no IO', 4 if $version < 19;

	evict();
	my $plan = $s->query("SET max_parallel_workers_per_gather = 0; EXPLAIN (ANALYZE, IO) SELECT count(*) FROM t");
	evict();
	my %n = call('like a sequential scan', "pgstattuple('t')");
	my ($count, $waits, $size, $in_progress) =
	  $plan =~ m{I/O: count=(\d+) waits=(\d+) size=([\d.]+) in-progress=([\d.]+)};

	note $plan;
	note join ' ', map { "$_=$n{$_}" } sort keys %n;
	ok(defined $count, 'EXPLAIN has reads');
	cmp_ok(abs($n{avg_read_bytes} / BLCKSZ - $size), '<', $size / 4, 'reads are of the same size');
	cmp_ok(abs($n{reads} - $count), '<', $count / 4, 'there are as many of them');
	cmp_ok($n{reads_in_flight_avg}, '<', 4 * $in_progress + 1, 'in flight');
	cmp_ok($n{reads_in_flight_avg}, '>', $in_progress / 4, 'in flight');
}

# ---------------------------------------------------------------------------
# The server's other ways to read

foreach my $method ($version >= 18 ? ('sync', $have_ring ? 'io_uring' : ()) : ())
{
	evict();
	$s->end;
	$node->stop;
	$node->append_conf('postgresql.conf', "io_method = $method");
	$faults->start($node);
	$s = Session->new($node);
	$s->query('SET streamstat.io_path = buffer');
	evict();
	foreach my $call ("btree_stats('b')", "sample_stats('t', 300, seed => 1)", "pg_prewarm('b')")
	{
		my %n = call("io_method $method: $call", $call);

		cmp_ok($n{reads}, '>', 0, "io_method $method: $call: reads");
		next if $method ne 'sync';
		is($n{read_waits}, $n{reads}, "io_method $method: $call: a wait for each read");
		isnt($n{blocks_disk}, '', "io_method $method: $call: what comes from disk is known");
	}
}

$s->end;
stop_clean($node);
done_testing();
