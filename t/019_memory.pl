
# Copyright (c) 2026, streamstat contributors

# What a call takes in memory: less than 16 MB of its own in each process,
# whatever the size of the relation and the settings, and nothing that stays.
#
# The relation of three segments is pages of zeros, which are in no place of the
# disk.

use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes ();

use lib "$FindBin::RealBin/lib";
use Faults;
use Pages;
use Session;
use Torture;

# Blocks of the relation of three segments, and of one that workers read
use constant { HUGE => 263_000, BIG => 33_000 };

# kB
use constant LIMIT => 16 * 1024;

plan skip_all => 'this is not Linux' if $^O ne 'linux';

# A page is copied to other blocks, where its checksum would be wrong.
my $node = PostgreSQL::Test::Cluster->new('memory');
my ($help) = run_command([ 'initdb', '--help' ]);
$node->init(
	extra => $help =~ /--no-data-checksums/ ? ['--no-data-checksums'] : []);
$node->append_conf(
	'postgresql.conf', q(
autovacuum = off
fsync = off
shared_buffers = 16MB
max_worker_processes = 8
max_parallel_workers = 8
jit = off
));
my $faults = Faults->new($node);
plan skip_all => 'there is no compiler' if !$faults;

$node->start;
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION streamstat;
CREATE TABLE huge AS SELECT i AS k FROM generate_series(1, 226) i;
CREATE TABLE big AS SELECT i AS k FROM generate_series(1, 100000) i;
VACUUM big;
CREATE INDEX big_btree ON big (k);
CREATE INDEX big_hash ON big USING hash (k);
CREATE TABLE t AS SELECT i AS k, ARRAY[i] AS a FROM generate_series(1, 30000) i;
CREATE INDEX t_btree ON t (k) WITH (fillfactor = 20);
CREATE INDEX t_gin ON t USING gin (a);
SQL
my %path = map { split /\|/ } split /\n/, $node->safe_psql('postgres', "
SELECT relname, '" . $node->data_dir . "/' || pg_relation_filepath(oid) FROM pg_class
WHERE relname IN ('huge', 'big', 'big_btree', 'big_hash')");
my $segment = $node->safe_psql('postgres',
	"SELECT pg_size_bytes(current_setting('segment_size')) / " . BLCKSZ);
$node->stop;

my $page = (read_blocks($path{huge}))[0];
foreach my $n (0 .. int(HUGE / $segment))
{
	my $file = $path{huge} . ($n > 0 ? ".$n" : '');
	my $blocks = HUGE - $n * $segment;

	append_to_file($file, '');
	truncate($file, BLCKSZ * ($blocks < $segment ? $blocks : $segment)) or die;
}
truncate($path{$_}, BIG * BLCKSZ) or die foreach (qw(big big_btree big_hash));

# a page with rows at the beginning and at the end of the last segment
my $last = $path{huge} . '.' . int(HUGE / $segment);
write_block($last, 0, $page);
write_block($last, HUGE % $segment - 1, $page);
$faults->start($node);

# ---------------------------------------------------------------------------

my $postmaster = slurp_file($node->data_dir . '/postmaster.pid') =~ /\A(\d+)/ ? $1 : die;
my $session;
my (@too_much, @wrong);
my %most = (leader => 0, worker => 0);
my $ncalls = 0;
my $nworkers = 0;

sub rss_anon
{
	my ($pid) = @_;

	open(my $fh, '<', "/proc/$pid/status") or return 0;
	my $status = join '', <$fh>;
	return $status =~ /^RssAnon:\s+(\d+) kB$/m ? $1 : 0;
}

# Parallel workers are what the postmaster has as children for some time.
sub children
{
	open(my $fh, '<', "/proc/$postmaster/task/$postmaster/children") or die;
	return split / /, join('', <$fh>);
}

# Make a call, and look at the memory of the processes all the while.  A new
# worker has next to nothing; of the leader, what it had before counts not.
sub call
{
	my ($what, $query, $expected) = @_;
	my %known = map { $_ => 1 } children();
	my $before = rss_anon($session->{pid});
	my %peak = (leader => 0, worker => 0);
	my %workers;

	$session->send_query($query);
	while ($session->busy)
	{
		my $now = rss_anon($session->{pid}) - $before;

		$peak{leader} = $now if $now > $peak{leader};
		foreach my $pid (grep { !$known{$_} } children())
		{
			$now = rss_anon($pid);
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
	foreach my $process (sort keys %peak)
	{
		push @too_much, "$what: $process $peak{$process} kB" if $peak{$process} >= LIMIT;
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
		SELECT count(*) FROM streamstat.sample('t'); SELECT * FROM streamstat.reclaim('t');
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
	foreach my $concurrency (0, 1, 32, 1000)
	{
		# in buffers it is the server's
		next if $way eq 'buffers' && $concurrency % 32 != 0;
		foreach my $workers (0, 2)
		{
			$session->query("SET streamstat.io_concurrency = $concurrency; SET streamstat.max_workers = $workers");
			my $label = "$way, $concurrency reads, $workers workers";

			uncached('big');
			call("$label, table_stats", "SELECT pages FROM streamstat.table_stats('big')", BIG);
			call("$label, sample of all", "SELECT count(*) > 5 FROM streamstat.sample('big', 1000000)", 't')
			  if $workers == 0 && $concurrency == 1000;
			next if $concurrency != 1000;
			uncached('big_btree');
			call("$label, btree_stats", "SELECT index_size / 8192 FROM streamstat.btree_stats('big_btree')", BIG);
		}
	}
}

# ---------------------------------------------------------------------------
# Each function, with the settings that take most, and three segments

foreach my $way ('buffers', 'files, io_uring')
{
	new_session();
	$session->query("$ways{$way}; SET streamstat.io_concurrency = 1000; SET streamstat.max_workers = 0");
	uncached('huge', '.1');
	foreach my $case (
		[ "sample('huge', 100000, 1)", 'max(blocks_sampled)', 100000 ],
		[ "pgstattuple_approx('huge')", 'approx_tuple_count, scanned_percent', '678|100' ],
		[ "reclaim('huge', 100000)", 'bytes / 8192', HUGE ],
		[ "layout_map('huge', 7)", 'count(*), max(last_block)', '7|' . (HUGE - 1) ],
		[ "database_report('3GB')", "bytes / 8192", HUGE, "WHERE relation = 'huge'::regclass" ])
	{
		my ($call, $columns, $expected, $where) = @$case;

		next if $way eq 'buffers' && $call =~ /approx|layout/;
		call("$way, huge, $call", "SELECT $columns FROM streamstat.$call " . ($where // ''), $expected);
	}
	$session->query("SET streamstat.max_workers = 2");
	foreach my $case (
		[ "table_stats('huge')", 'pages, new_pages, tuple_count, corrupt_pages',
			HUGE . '|' . (HUGE - 3) . '|678|0' ],
		[ "pgstattuple('huge')", 'table_len / 8192, tuple_count', HUGE . '|678' ],
		[ "pg_prewarm('huge', 'read')", '*', HUGE ],
		[ "pg_prewarm('huge', 'buffer')", '*', HUGE ])
	{
		my ($call, $columns, $expected) = @$case;

		next if ($way eq 'buffers') ne ($call =~ /prewarm/);
		call("$way, huge, workers, $call", "SELECT $columns FROM streamstat.$call", $expected);
	}
}
is(join("\n", @too_much), '', 'no process took 16 MB');
is(join("\n", @wrong), '', 'and the numbers are right');
cmp_ok($ncalls, '>', 30, 'calls were made');
cmp_ok($nworkers, '>', 10, 'workers helped');
note "$ncalls calls, $nworkers workers; at most: leader $most{leader} kB, worker $most{worker} kB";

# ---------------------------------------------------------------------------
# A segment that goes away: who has it open can read it, a worker cannot, and to a
# session that comes later the relation ends before it.

$faults->clear;
rename("$path{huge}.1", "$path{huge}.away") or die;
my $query = "SELECT pages, tuple_count FROM streamstat.table_stats('huge')";
foreach (1 .. 10)
{
	last if $session->query($query) eq '';
}
like(
	$session->{err},
	qr/ERROR:  58P01: could not open file "[^"]*\.1" \(target block \d+\): No such file/,
	'a segment that is missing: of a worker');
$session->query('SET streamstat.max_workers = 0');
is($session->query($query), HUGE . '|678', 'a segment that is missing: but open')
  or note $session->{err};
is( $session->query('SELECT blocks_requested, blocks_hit + blocks_read FROM streamstat.stream_stats()'),
	HUGE . '|' . HUGE,
	'three segments: each page once');
new_session();
$session->query('SET streamstat.max_workers = 0');
is($session->query($query), "$segment|226", 'a segment that is missing: in a new session')
  or note $session->{err};
rename("$path{huge}.away", "$path{huge}.1") or die;
new_session();
is($session->query($query), HUGE . '|678', 'and when it is there again');

# ---------------------------------------------------------------------------
# 200 calls in a session

foreach my $way (sort keys %ways)
{
	my @queries = (
		"SELECT streamstat.table_stats('t')", "SELECT streamstat.btree_stats('t_btree')",
		"SELECT count(*) FROM streamstat.sample('t', 500)", "SELECT streamstat.gin_stats('t_gin')",
		"SELECT streamstat.pg_prewarm('t', 'read')", "SELECT streamstat.reclaim('t_btree')",
		"SELECT streamstat.pgstattuple_approx('t')", "SELECT count(*) FROM streamstat.database_report('1MB')",
		"SELECT count(*) FROM streamstat.layout_map('t')", "SELECT streamstat.pgstatindex('t_btree')");
	my $before;

	new_session();
	$session->query($ways{$way});
	foreach my $round (0 .. 22)
	{
		$session->query(join '; ', @queries);
		$before = rss_anon($session->{pid}) if $round == 2;
	}
	my $grown = rss_anon($session->{pid}) - $before;
	cmp_ok($grown, '<', 256, "$way: 200 calls leave nothing in memory");
	note "$way: 200 calls: $grown kB";
}
$session->end;

$node->stop;
server_log_is_clean($node);

done_testing();
