
# Copyright (c) 2026, streamstat contributors

# What a call takes in memory: less than 16 MB of its own in each process,
# whatever the size of the relation and the settings, and nothing that stays.
#
# The relations of three segments are real at their beginning and end; between, they
# are pages of zeros, which are in no place of the disk.  So is most of the others.

use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes ();

use lib "$FindBin::RealBin/lib";
use Calls;
use Extra 'slow';
use Faults;
use Node;
use Pages;
use Processes;
use Session;

# Blocks of the relations of three segments, and of those that fewer workers read;
# and of huge's maps, for so many blocks
use constant { HUGE => 263_000, BIG => 33_000, HUGE_VM => 9, HUGE_FSM => 67 };

# Blocks of a table all of whose pages have dead rows, as many as are read for an index
use constant DEAD => 65536;

# Segments of a table of 1 TB
use constant WIDE => 1024;

# Pages that the buffer manager refuses, one in each range of so many blocks
use constant { REFUSED => 2040, RANGE => 64 };

# Workers of a call, as many as can be of use there
use constant WORKERS => 8;

# kB
use constant LIMIT => 16 * 1024;

use constant ENOENT => 2;

plan skip_all => 'this is not Linux' if $^O ne 'linux';

# A page is copied to other blocks, where its checksum would be wrong.
my $node = new_node('memory', q(
shared_buffers = 16MB
max_worker_processes = 24
max_parallel_workers = 24
max_parallel_maintenance_workers = 8
jit = off
), checksums => 0);
my $faults = Faults->new($node);
plan skip_all => 'no C compiler for test/faults' if !$faults;

$node->safe_psql('postgres', <<'SQL');
CREATE TABLE huge AS SELECT i AS k FROM generate_series(1, 1130) i;
DELETE FROM huge WHERE k > 1030;
VACUUM (FREEZE) huge;
CREATE INDEX huge_btree ON huge (k);
CREATE INDEX huge_hash ON huge USING hash (k);
CREATE TABLE big AS SELECT i AS k FROM generate_series(1, 100000) i;
VACUUM big;
CREATE INDEX big_btree ON big (k);
CREATE INDEX big_hash ON big USING hash (k);
CREATE TABLE big_bad AS SELECT 1 AS k;
CREATE TABLE big_a AS SELECT ARRAY[i, i / 2] AS a, point(i % 300, i / 300) AS p, i AS k FROM generate_series(1, 100000) i;
CREATE INDEX big_gin ON big_a USING gin (a);
CREATE INDEX big_gist ON big_a USING gist (p);
CREATE INDEX big_spgist ON big_a USING spgist (p);
CREATE INDEX big_brin ON big_a USING brin (k);
CREATE TABLE big_dead AS SELECT i AS k FROM generate_series(1, 226) i;
CREATE INDEX big_dead_btree ON big_dead (k);
DELETE FROM big_dead WHERE k % 5 IN (0, 2);
CREATE TABLE wide AS SELECT 1 AS k;
CREATE TABLE parts (k int, s text) PARTITION BY RANGE (k);
CREATE TABLE part_1 PARTITION OF parts FOR VALUES FROM (0) TO (1000);
CREATE TABLE part_2 PARTITION OF parts FOR VALUES FROM (1000) TO (9000);
INSERT INTO parts SELECT i, repeat('x', 100) FROM generate_series(0, 8999) i;
CREATE INDEX parts_k ON parts (k);
CREATE TABLE t AS SELECT i AS k, ARRAY[i] AS a FROM generate_series(1, 30000) i;
CREATE INDEX t_btree ON t (k) WITH (fillfactor = 20);
CREATE INDEX t_gin ON t USING gin (a);
SQL
my %file = split /[|\n]/, $node->safe_psql('postgres', q(
SELECT relname, pg_relation_filepath(oid) FROM pg_class
WHERE relname LIKE 'huge%' OR relname LIKE 'big%' OR relname = 'wide'));
my %path = map { $_ => $node->data_dir . "/$file{$_}" } keys %file;
my $segment = $node->safe_psql('postgres',
	"SELECT pg_size_bytes(current_setting('segment_size')) / " . BLCKSZ);
$node->stop;

# Make a fork larger, with a copy of one of its pages in the last block; of what has
# several segments, in the first block of the last one as well.
sub extend
{
	my ($path, $nblocks, $copied) = @_;
	my $page = (read_blocks($path))[$copied];
	my $last = int(($nblocks - 1) / $segment);

	foreach my $n (0 .. $last)
	{
		my $file = $path . ($n > 0 ? ".$n" : '');
		my $blocks = $n < $last ? $segment : $nblocks - $n * $segment;

		append_to_file($file, '');
		truncate($file, BLCKSZ * $blocks) or die "could not extend $file: $!";
		write_block($file, 0, $page) if $n > 0 && $n == $last;
		write_block($file, $blocks - 1, $page) if $n == $last;
	}
}

extend($path{huge}, HUGE, 0);
extend("$path{huge}_vm", HUGE_VM, 0);
extend("$path{huge}_fsm", HUGE_FSM, 2);
extend($path{$_}, HUGE, 1) foreach 'huge_btree', 'huge_hash';
truncate($path{$_}, BIG * BLCKSZ) or die
  foreach (qw(big big_btree big_hash big_gin big_gist big_spgist big_brin big_dead_btree));
foreach my $n (0 .. WIDE - 1)
{
	append_to_file($path{wide} . ($n > 0 ? ".$n" : ''), '');
	truncate($path{wide} . ($n > 0 ? ".$n" : ''), $segment * BLCKSZ) or die;
}

my $refused = with16(read_block($path{big_bad}, 0), PD_UPPER, BLCKSZ + 8);
truncate($path{big_bad}, REFUSED * RANGE * BLCKSZ) or die;
write_block($path{big_bad}, $_ * RANGE, $refused) foreach 0 .. REFUSED - 1;
my $dead = read_block($path{big_dead}, 0);
append_to_file($path{big_dead}, $dead x 255);
append_to_file($path{big_dead}, $dead x 256) foreach 2 .. DEAD / 256;
{
	# what is freed goes back to the system, so that the next call's counts
	local $ENV{MALLOC_MMAP_THRESHOLD_} = 65536;
	local $ENV{MALLOC_TRIM_THRESHOLD_} = 65536;
	$faults->start($node);
}

# ---------------------------------------------------------------------------

my $postmaster = slurp_file($node->data_dir . '/postmaster.pid') =~ /\A(\d+)/ ? $1 : die;
my $session;
my (@too_much, @wrong);
my %most = (leader => 0, worker => 0);
my $ncalls = 0;
my $nworkers = 0;

# Make a call, and look at the memory of the processes all the while.  A new
# worker has next to nothing; of the leader, what it had before counts not.
# Parallel workers are what the postmaster has as children for some time.
sub call
{
	my ($what, $query, $expected, $workers, $more) = @_;
	my $limit = LIMIT + ($more // 0);
	my %known = map { $_ => 1 } children($postmaster);
	my $before = memory_of($session->{pid});
	my %peak = (leader => 0, worker => 0);
	my %workers;

	$session->send_query($query);
	while ($session->busy)
	{
		my $now = memory_of($session->{pid}) - $before;

		$peak{leader} = $now if $now > $peak{leader};
		foreach my $pid (grep { !$known{$_} } children($postmaster))
		{
			$now = memory_of($pid);
			$workers{$pid} = 1;
			$peak{worker} = $now if $now > $peak{worker};
		}
		Time::HiRes::usleep(3000);
	}
	my $answer = $session->answer;
	$ncalls++;
	$nworkers += keys %workers;
	push @wrong, "$what: $answer $session->{err}"
	  if $session->{err} =~ /ERROR/ || (defined $expected && $answer ne $expected);
	push @wrong, "$what: not $workers workers"
	  if defined $workers
	  && $session->query('SELECT workers FROM streamstat.stream_stats()') ne $workers;
	foreach my $process (sort keys %peak)
	{
		push @too_much, "$what: $process $peak{$process} kB" if $peak{$process} >= $limit;
		$most{$process} = $peak{$process} if $peak{$process} > $most{$process};
	}
	note "$what: leader $peak{leader} kB"
	  . ($peak{worker} > 0 ? ', ' . keys(%workers) . " workers $peak{worker} kB" : '');
}

# New sessions have catalogs to learn of.
sub new_session
{
	$session->end if $session;
	$session = Session->new($node);
	$session->query("SELECT * FROM streamstat.table_stats('t'); SELECT * FROM streamstat.pgstattuple_approx('t');
		SELECT * FROM streamstat.btree_stats('t_btree'); SELECT * FROM streamstat.hash_stats('big_hash');
		SELECT count(*) FROM streamstat.sample_stats('t'); SELECT * FROM streamstat.bloat('t');
		SELECT * FROM streamstat.layout_map('t'); SELECT streamstat.pg_prewarm('t')");
}

my %ways = (
	'buffers' => 'SET streamstat.io_path = buffer',
	'files, sync' => 'SET streamstat.io_path = file; SET streamstat.io_method = sync',
	'files, io_uring' => 'SET streamstat.io_path = file; SET streamstat.io_method = io_uring');

# Nothing can be read without waiting, so that all reads that there may be are
# under way.
sub uncached
{
	my ($relation, $segment) = @_;

	$faults->set(file => $path{$relation} . ($segment // ''), uncached => 1);
}

# ---------------------------------------------------------------------------
# Each setting

foreach my $way (sort keys %ways)
{
	new_session();
	$session->query($ways{$way});
	foreach my $concurrency (0, 1, 1000)
	{
		# in buffers it is the server's; without a queue, both methods are one
		next if $concurrency != 0 && $way eq 'buffers' || $concurrency == 1 && $way eq 'files, sync';
		foreach my $workers (0, 2)
		{
			$session->query("SET streamstat.io_concurrency = $concurrency; SET streamstat.max_workers = $workers");
			my $label = "$way, $concurrency reads, $workers workers";

			uncached('big');
			call("$label, table_stats", "SELECT pages FROM streamstat.table_stats('big')", BIG);
			call("$label, sample of all", "SELECT count(*) > 5 FROM streamstat.sample_stats('big', 1000000)", 't')
			  if $workers == 0 && $concurrency == 1000;
			next if $concurrency != 1000;
			uncached('big_btree');
			call("$label, btree_stats", "SELECT bytes / 8192 FROM streamstat.btree_stats('big_btree')", BIG);
		}
	}
}

# ---------------------------------------------------------------------------
# Each range of this map is a scan of its own, and begins with a page that is refused.

new_session();
$session->query('SET streamstat.io_path = buffer');
call('refused pages', "SELECT count(*) FROM streamstat.layout_map('big_bad', " . REFUSED . ')', REFUSED);

# ---------------------------------------------------------------------------
# Every function and view, and predictions of all of an index

new_session();
$session->query($ways{'files, io_uring'} . '; SET streamstat.io_concurrency = 1000; SET streamstat.max_workers = 0');
foreach my $query (
	all_calls(table => 'big', tree => 'parts', tree_index => 'parts_k', map { $_ => "big_$_" } qw(btree hash gin gist spgist brin)),
	(map { "SELECT * FROM streamstat.bloat('big_$_', 1000000)" } qw(btree hash gin gist spgist brin a)))
{
	uncached($1) if $query =~ /'(big\w*)'/;
	call($query, $query);
}
uncache($node, 'big_dead');
$faults->clear;
call('io_probe', "SELECT count(*) > 1 FROM streamstat.io_probe('big_dead', max_time => '10 s')", 't');

# dead rows, as many as are kept, while an index is read
new_session();
$session->query($ways{'files, io_uring'} . '; SET streamstat.io_concurrency = 1000');
uncached('big_dead_btree');
call('dead rows', "SELECT note FROM streamstat.bloat('big_dead_btree', " . DEAD . ')', '');
call('a bit for each block of 1 TB', "SELECT pages, unfrozen_ranges FROM streamstat.visibility_map_summary('wide')",
	WIDE * $segment . '|1', undef, WIDE * $segment / 8192);
# With its files open, a session has none left for others.
$session->query('DROP TABLE wide');

# ---------------------------------------------------------------------------
# Each function about one relation, with the settings that take most, and three segments

# the blocks of huge that are in the free space map, and those in the visibility map
my ($with_space, $visible) = (2, 10);

foreach my $way ('buffers', 'files, io_uring')
{
	new_session();
	$session->query("$ways{$way}; SET streamstat.io_concurrency = 1000; SET streamstat.max_workers = 0");
	foreach my $case (
		[ "sample_stats('huge', 100000, seed => 1)", 'max(blocks_read)', 100000 ],
		# the larger one of two samples is read while what the other said is kept
		[ "sample_stats('huge_btree', 150000, margin => 0.0001, seed => 1)", 'max(blocks_read), max(ended_by)', '75120|blocks' ],
		[ "sample_stats('huge_hash', 5000, seed => 1)", 'max(blocks_read)', 5000 ],
		[ "pgstattuple_approx('huge')", 'table_len / 8192, scanned_percent >= 99', HUGE . '|t' ],
		[ "bloat('huge', 100000)", 'bytes / 8192', HUGE ],
		# long and short reads take turns
		[ "bloat('huge', 40000)", 'bytes / 8192', HUGE ],
		[ "bloat('huge_btree', 5000)", 'bytes / 8192', HUGE ],
		[ "layout_map('huge', 7)", 'count(*), max(last_block)', '7|' . (HUGE - 1) ],
		[ "visibility_map_summary('huge')", 'pages, all_visible_pages, unfrozen_ranges, corrupt_map_pages',
			HUGE . "|$visible|2|0" ],
		[ "unfrozen_ranges('huge')", 'count(*), max(last_block)', '2|' . (HUGE - 1) ],
		[ "free_space_map_summary('huge')", 'pages, nonfull_pages, corrupt_map_pages',
			HUGE . "|$with_space|0" ],
		[ "pg_relpages('huge')", '*', HUGE ],
		[ "pg_relpages('huge_hash')", '*', HUGE ],
		[ "database_report(budget => '3GB')", "bytes / 8192", HUGE, "WHERE relid = 'huge'::regclass" ])
	{
		my ($call, $columns, $expected, $where) = @$case;

		next if $way eq 'buffers' && $call =~ /approx|bloat|layout|report|huge_/;
		next if $way ne 'buffers' && $call =~ /sample_stats\('huge'/;
		uncached($call =~ /(huge_\w+)/ ? $1 : 'huge', '.1');
		call("$way, huge, $call", "SELECT $columns FROM streamstat.$call " . ($where // ''), $expected);
	}
	$session->query('SET streamstat.max_workers = ' . WORKERS);
	foreach my $case (
		[ "table_stats('huge')", 'pages, new_pages, live_tuples, corrupt_pages',
			HUGE . '|' . (HUGE - 7) . '|1482|0' ],
		[ "pgstattuple('huge')", 'table_len / 8192, tuple_count', HUGE . '|1482' ],
		[ "btree_stats('huge_btree')", 'bytes / 8192, new_pages, live_items, corrupt_pages',
			HUGE . '|' . (HUGE - 7) . '|1762|0' ],
		[ "pgstatindex('huge_btree')", 'index_size / 8192, leaf_pages', HUGE . '|5' ],
		[ "hash_stats('huge_hash')", 'bytes / 8192, new_pages, live_items > 1030, corrupt_pages',
			HUGE . '|' . (HUGE - 8) . '|t|0' ],
		[ "pgstathashindex('huge_hash')", 'bucket_pages, overflow_pages, bitmap_pages, unused_pages',
			'6|0|1|' . (HUGE - 8) ],
		[ "pg_prewarm('huge', 'read')", '*', HUGE ],
		[ "pg_prewarm('huge', 'buffer')", '*', HUGE ])
	{
		my ($call, $columns, $expected) = @$case;

		next if ($way eq 'buffers') ne ($call =~ /prewarm/);
		uncached($call =~ /'(\w+)'/, '.1');
		call("$way, huge, workers, $call", "SELECT $columns FROM streamstat.$call", $expected, WORKERS);
	}
}

is(join("\n", @too_much), '', 'no process took 16 MB');
is(join("\n", @wrong), '', 'and the numbers are right');
cmp_ok($ncalls, '>', 30, 'calls were made');
cmp_ok($nworkers, '>', 20, 'workers helped');
note "$ncalls calls, $nworkers workers; at most: leader $most{leader} kB, worker $most{worker} kB";
ok(scalar(grep { $_ == $session->{pid} } children_by_parent($postmaster)),
	'processes are found where the kernel has no list of children');

# ---------------------------------------------------------------------------
# A segment that goes away: who has it open can read it, a worker cannot, and to a
# session that comes later the relation ends before it.

$faults->clear;
rename("$path{huge}.1", "$path{huge}.away") or die;
foreach my $call ("table_stats('huge')", "pgstattuple('huge')",
	map { "pg_prewarm('huge', '$_', 'main', $segment, 2 * $segment - 1)" } 'read', 'buffer')
{
	# pg_prewarm, as contrib's, has all files closed first.  So for it the file is
	# there, but to nobody else.
	if ($call =~ /prewarm/)
	{
		rename("$path{huge}.away", "$path{huge}.1") if -e "$path{huge}.away";
		$faults->set(file => "$path{huge}.1", opens => ENOENT, spared => $session->{pid});
	}

	# the workers can come too late
	Session::poll("$call: by a worker", sub { $session->query("SELECT streamstat.$call") eq '' });
	like(
		$session->{err},
		qr/ERROR:  58P01: could not open file "\Q$file{huge}\E\.1" \(target block \d+\): No such file/,
		"a segment that is missing: of a worker, $call");
}
$faults->clear;
is( $session->query("SELECT streamstat.pg_prewarm('huge', 'read', 'main', $segment - 10, 2 * $segment + 9)"),
	$segment + 20, 'and of none')
  or note $session->{err};
rename("$path{huge}.1", "$path{huge}.away") or die;
my $query = "SELECT pages, live_tuples FROM streamstat.table_stats('huge')";
$session->query('SET streamstat.max_workers = 0');
is($session->query($query), HUGE . '|1482', 'a segment that is missing: but open')
  or note $session->{err};
is( $session->query('SELECT blocks_requested, blocks_hit + blocks_missed FROM streamstat.stream_stats()'),
	join('|', (HUGE + HUGE_VM + HUGE_FSM) x 2),
	'three segments: each page once');
new_session();
$session->query('SET streamstat.max_workers = 0');
is( $session->query("$query; SELECT streamstat.pg_relpages('huge'), streamstat.pg_prewarm('huge', 'prefetch')"),
	"$segment|1030\n$segment|$segment", 'a segment that is missing: in a new session')
  or note $session->{err};
rename("$path{huge}.away", "$path{huge}.1") or die;
new_session();
is($session->query($query), HUGE . '|1482', 'and when it is there again');

# ---------------------------------------------------------------------------
# 200 calls in a session

foreach my $way (sort keys %ways)
{
	my @queries = (
		"SELECT streamstat.table_stats('t')", "SELECT streamstat.btree_stats('t_btree')",
		"SELECT count(*) FROM streamstat.sample_stats('t', 500)", "SELECT streamstat.gin_stats('t_gin')",
		"SELECT streamstat.pg_prewarm('t', 'read')", "SELECT streamstat.bloat('t_btree')",
		"SELECT streamstat.pgstattuple_approx('t')", "SELECT count(*) FROM streamstat.database_report(budget => '1MB')",
		"SELECT count(*) FROM streamstat.layout_map('t')", "SELECT streamstat.pgstatindex('t_btree')");
	my $grown;

	new_session();
	$session->query($ways{$way});
	$session->query(join '; ', @queries) foreach 1 .. 3;

	# What leaks does so each time, and what the allocator takes for later only once.
	foreach (1 .. 3)
	{
		my $before = memory_of($session->{pid});

		$session->query(join '; ', @queries) foreach 1 .. 20;
		$grown = memory_of($session->{pid}) - $before;
		last if $grown < 512;
	}
	cmp_ok($grown, '<', 512, "$way: 200 calls leave nothing in memory");
	note "$way: 200 calls: $grown kB";
}
$session->end;

stop_clean($node);
done_testing();
