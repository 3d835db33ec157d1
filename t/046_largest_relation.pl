
# Copyright (c) 2026, streamstat contributors

# Block numbers at the end of the largest relation there can be: sums of them do not
# wrap around.
#
# The relation has 32768 segments of holes, which take no room on a disk, and real pages
# at its beginning and end.

use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Utils;
use Test::More;

use lib "$FindBin::RealBin/lib";
use Extra 'slow';
use Node;
use Pages;
use Session;

# One block number is left for "none"
use constant BLOCKS => 0xFFFFFFFF;

# Blocks at the end whose pages make no sense
use constant DAMAGED => 200;

my $node = new_node('largest', 'shared_buffers = 32MB', checksums => 0);
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE t AS SELECT i AS k FROM generate_series(1, 100) i;
CREATE TABLE largest AS SELECT i AS k FROM generate_series(1, 100) i;
SQL
my $path = file_of($node, 'largest');
my $segment = $node->safe_psql('postgres',
	"SELECT pg_size_bytes(current_setting('segment_size')) / " . BLCKSZ);
$node->stop;

my $last = int((BLOCKS - 1) / $segment);
foreach my $n (0 .. $last)
{
	my $file = $path . ($n > 0 ? ".$n" : '');
	my $blocks = $n < $last ? $segment : BLOCKS - $n * $segment;

	open(my $handle, '>>', $file) or die "could not create $file: $!";
	truncate($handle, $blocks * BLCKSZ) or die "could not extend $file: $!";
	close($handle);
}
write_block("$path.$last", $_, "\x{ff}" x BLCKSZ)
  foreach BLOCKS - $last * $segment - DAMAGED .. BLOCKS - $last * $segment - 1;
$node->start;

my $session = Session->new($node);
my $relid = $session->query("SET statement_timeout = '2min'; SET streamstat.max_workers = 0; SELECT 'largest'::regclass::oid");
is($session->query("SELECT streamstat.pg_relpages('largest')"), BLOCKS, 'a relation of 32 TB');

# ---------------------------------------------------------------------------
# Pages that the buffer manager refuses are read one by one, more of them after each: so
# few blocks are read twice.

foreach my $way ('buffer', 'file')
{
	$session->query("SET streamstat.io_path = $way; SET streamstat.io_combine_limit = 1; SET streamstat.io_concurrency = 1");
	is( $session->query(sprintf("SELECT count(*), min(block_no), max(block_no) FROM streamstat.corrupt_blocks('largest', %s)", BLOCKS - DAMAGED - 100)),
		join('|', DAMAGED, BLOCKS - DAMAGED, BLOCKS - 1),
		"$way: corrupt blocks to the end")
	  or note $session->{err};
	my $stats = $session->query('SELECT blocks_requested, blocks_hit + blocks_missed FROM streamstat.stream_stats()');
	my ($requested, $read) = split /\|/, $stats;
	is($requested, DAMAGED + 100, "$way: each one once");
	cmp_ok($read, '<', $requested + 40, "$way: few of them read twice");
	$session->query('RESET streamstat.io_path; RESET streamstat.io_combine_limit; RESET streamstat.io_concurrency');
}

# ---------------------------------------------------------------------------
# Blocks before those: 100 up to the damaged ones, and in the last segment

my $end = BLOCKS - DAMAGED;
foreach my $mode ('prefetch', 'read', 'buffer')
{
	is( $session->query(sprintf("SELECT streamstat.pg_prewarm('largest', '%s', 'main', %s, %s)", $mode, $end - 100, $end - 1)),
		100, "pg_prewarm, $mode")
	  or note $session->{err};
}
foreach my $mode ('prefetch', 'read')
{
	foreach my $from (0, 100)
	{
		my $place = "$relid/main/" . (BLOCKS - $from - 1);

		is( $session->query(
				"SELECT ended_by, blocks_requested, resume_from IS NULL FROM streamstat.prewarm('largest', '$mode', include_maps => false, resume_from => '$place') WHERE is_sum"),
			'complete|' . ($from + 1) . '|t',
			"prewarm, $mode, the last " . ($from + 1))
		  or note $session->{err};
	}
}

# ---------------------------------------------------------------------------
# A set of ranges near the end, as it was in buffers

$session->query(sprintf("SELECT streamstat.pg_prewarm('largest', 'buffer', 'main', %s, %s)", @$_))
  foreach [ $end - 30, $end - 21 ], [ $end - 10, $end - 1 ], [ 0, 4 ];
my $saved = $session->query(
	"SELECT count(*) FROM pg_class; CREATE TABLE saved AS SELECT streamstat.cache_save() AS text");
$node->restart;
$session = Session->new($node);
$session->query("SET statement_timeout = '2min'");
is( $session->query("SELECT blocks_requested, blocks_read, note FROM streamstat.cache_load((SELECT text FROM saved), details => true) WHERE relation_name = 'largest' AND fork = 'main'"),
	'105|105|', 'cache_load')
  or note $session->{err};

# ---------------------------------------------------------------------------
# It does not fit into free buffers, and is not left to workers that would push out pages.

is( $session->query("SELECT ended_by, blocks_requested < 5000 FROM streamstat.prewarm('largest', stop_when_full => true, include_maps => false) WHERE is_sum"),
	'full|t', 'more blocks than free buffers')
  or note $session->{err};

# ---------------------------------------------------------------------------
# A sample of everything

is( $session->query("SELECT max(blocks_read), bool_and(high >= low) FROM streamstat.sample_stats('largest', 200, seed => 1)"),
	'200|t', 'a sample')
  or note $session->{err};

$session->end;
stop_clean($node);
done_testing();
