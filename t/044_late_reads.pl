
# Copyright (c) 2026, streamstat contributors

# A read that takes long holds up no other where the order of pages does not matter,
# and pages come in the order of blocks where it does.  The results are the same.
#
# faults.c lets reads of a range arrive late.  Which pages are looked at meanwhile,
# stat_get_progress() tells.

use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes ();

use lib "$FindBin::RealBin/lib";
use Faults;
use Node;
use Pages;
use Session;

plan skip_all => 'this is not Linux' if $^O ne 'linux';

my $faults;
my $node = new_node('late_reads', q(
shared_buffers = 1MB
bgwriter_lru_maxpages = 0
max_worker_processes = 4
maintenance_work_mem = 64MB
jit = off
), checksums => 0, start => sub {
		$faults = Faults->new($_[0]);
		plan skip_all => 'no C compiler for test/faults' if !$faults;
		$faults->start($_[0]);
	});

# Low fillfactors make many pages of little data.
$node->safe_psql('postgres', <<'SQL');
SET max_parallel_maintenance_workers = 0;
BEGIN;
CREATE TABLE t (k int) WITH (fillfactor = 10);
INSERT INTO t SELECT i FROM generate_series(1, 150000) i;
CREATE INDEX b ON t (k) WITH (fillfactor = 10);
CREATE INDEX h ON t USING hash (k) WITH (fillfactor = 10);
COMMIT;
DELETE FROM t WHERE k % 3 = 0;
-- bloat() would read dead rows of the table before the index.
VACUUM t;
CREATE TABLE filler AS SELECT repeat('x', 1000) FROM generate_series(1, 4000) i;
CHECKPOINT;
SQL
my %path = map { $_ => file_of($node, $_) } qw(t b h);
my %blocks = map { $_ => (-s $path{$_}) / BLCKSZ } keys %path;

my ($s, $watcher);

sub new_session
{
	$s->end if $s;
	$s = Session->new($node);
	$s->query('SET streamstat.max_workers = 0; SET streamstat.io_method = io_uring');
}

sub evict
{
	$s->query("SELECT count(*) FROM filler; SELECT streamstat.pg_prewarm('filler')");
}

# Reads of blocks first to end - 1 of a relation arrive late.
sub delay
{
	my ($relation, $first, $end, $ms) = @_;

	evict();
	$faults->set(file => $path{$relation}, uncached => 1, reads => 'late',
		from => $first * BLCKSZ, to => $end * BLCKSZ, most => $ms);
}

new_session();
$watcher = Session->new($node);

my @calls = map { [ @$_, "SELECT * FROM streamstat.$_->[0]" ] } (
	[ "btree_stats('b')", 'b', 'any' ],
	[ "hash_stats('h')", 'h', 'any' ],
	[ "table_stats('t')", 't', 'any' ],
	[ "pgstatindex('b')", 'b', 'blocks' ],
	[ "pgstattuple('t')", 't', 'blocks' ],
	[ "corrupt_blocks('b')", 'b', 'blocks' ],
	[ "sample_stats('b', " . ($blocks{b} - 100) . ", seed => 1)", 'b', 'blocks' ],
	[ "bloat('b', $blocks{b}, 1)", 'b', 'blocks' ]);
my %expected;
$s->query('SET streamstat.io_path = buffer');
$expected{ $_->[0] } = $s->query($_->[3]) foreach (@calls);
$s->query('RESET streamstat.io_path');

delay('b', 0, 1, 1);
$s->query($calls[0][3]);
if ($s->query('SELECT io_method FROM streamstat.stream_stats()') ne 'io_uring'
	|| $faults->clear == 0)
{
	$s->end;
	$watcher->end;
	$node->stop;
	plan skip_all => 'no io_uring here, or none in which reads can be made late';
}

# more than is in flight at a time
cmp_ok($blocks{$_}, '>', 3000, "$_: large enough") foreach qw(t b);

# ---------------------------------------------------------------------------
# What is looked at while one of the first reads is under way

foreach my $case (@calls)
{
	my ($call, $relation, $order, $query) = @$case;
	my $all = $blocks{$relation} - 256;
	my ($late, $most);

	# later and later, if the read comes before a busy machine has let us look
	foreach my $ms (2000, 8000, 32000)
	{
		# the first 32 blocks are read by themselves
		delay($relation, 64, 65, $ms);
		my $begin = Time::HiRes::time();
		$s->send_query($query);
		$late = 1;
		$most = 0;
		while ($order eq 'any' ? $most <= $all : Time::HiRes::time() < $begin + 1)
		{
			my $done = $watcher->query("SELECT blocks_done FROM streamstat.stat_get_progress() WHERE pid = $s->{pid}");

			$late = Time::HiRes::time() < $begin + $ms / 1000;
			last if !$late;
			$most = $done if $done ne '' && $done > $most;
			Time::HiRes::usleep(20_000);
		}
		is($s->answer, $expected{$call}, "$call: the same");
		is($s->{err}, '', "$call: no warning");
		is($faults->clear, 1, "$call: one read was late");
		last if $late;
	}
	ok($late, "$call: the late read was under way");
	if ($order eq 'any')
	{
		cmp_ok($most, '>', $all, "$call: all other pages are looked at meanwhile");
	}
	else
	{
		cmp_ok($most, '<=', 64, "$call: pages come in the order of blocks");
	}
}

# ---------------------------------------------------------------------------
# Many late reads; slices; one read at a time; workers

foreach my $setting (
	'SET streamstat.max_rate = 0',
	"SET streamstat.max_rate = '400MB'",
	'SET streamstat.io_concurrency = 1',
	'SET streamstat.io_concurrency = 2',
	"SET streamstat.io_combine_limit = '16kB'",
	'SET streamstat.max_workers = 2')
{
	$s->query($setting);
	foreach my $case (grep { $_->[2] eq 'any' && $_->[1] ne 't' } @calls)
	{
		my ($call, $relation, $order, $query) = @$case;
		my $total = $blocks{$relation};

		delay($relation, 100, 1000, 5);
		is( $s->query(
				"$query; SELECT blocks_requested, blocks_hit + blocks_private FROM streamstat.stream_stats()"
			),
			"$expected{$call}\n$total|$total",
			"$setting, $call: the same, each page once");
		cmp_ok($faults->clear, '>', 1, "$setting, $call: reads were late");
	}
	new_session();
}

# ---------------------------------------------------------------------------
# Canceled while a late read is under way

$s->query("SET statement_timeout = '200ms'");
delay('b', 64, 65, 1500);
my $begin = Time::HiRes::time();
$s->query($calls[0][3]);
like($s->{err}, qr/ERROR:  57014: /, 'canceled');
is($s->rings, 0, 'canceled: no ring is left');
$faults->clear;
$s->query('RESET statement_timeout');
is($s->query($calls[0][3]), $expected{ $calls[0][0] }, 'canceled: the next call');

# ---------------------------------------------------------------------------
# Many pages fail the checks of what is read directly: some are good, others are refused.

my @doubtful = (1200 .. 1599);
my @refused = map { $_ * 2 } 800 .. 1600;
$s->end;
$watcher->end;
$node->stop;
write_at($path{b}, $_ * BLCKSZ + PD_LSN, pack('L2', 0x00ffffff, 0)) foreach @doubtful;
write_at($path{b}, $_ * BLCKSZ + PD_FLAGS, pack('S', 0xffff)) foreach @refused;
$faults->start($node);
undef $s;
new_session();
$s->query('SET streamstat.io_path = buffer');
my $damaged = $s->query("SELECT * FROM streamstat.btree_stats('b')");
like($damaged, qr/\|${\scalar @refused}\|/, 'doubtful: pages that are refused');
$s->query('RESET streamstat.io_path');
foreach my $first (64, 1000, 1450, 1550)
{
	delay('b', $first, $first + 1, 500);
	is($s->query("SELECT * FROM streamstat.btree_stats('b')"),
		$damaged, "doubtful, block $first is late: the same");
	my $late = $faults->clear;
	is($late, 1, "doubtful, block $first is late: so it was");
	is($s->query('SELECT blocks_requested FROM streamstat.stream_stats()'),
		$blocks{b}, "doubtful, block $first is late: each page once");
}

$s->end;
stop_clean($node);
done_testing();
