
# Copyright (c) 2026, streamstat contributors

# streamstat.max_rate: the rate is kept, whatever scans and wherever the pages
# come from; results are the same; and while a scan sleeps it holds nothing that
# others could wait for, and can be canceled at once.

use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes ();

use lib "$FindBin::RealBin/lib";
use Node;
use Pages;
use Session;

my $node = new_node('limits', 'shared_buffers = 256MB');
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE t AS SELECT i AS k, repeat('x', 100) AS pad FROM generate_series(1, 150000) i;
DELETE FROM t WHERE k % 10 = 0;
CREATE INDEX t_k ON t (k);
CREATE INDEX t_gin ON t USING gin ((ARRAY[k % 1000]));
CREATE TABLE small (k int PRIMARY KEY);
INSERT INTO small SELECT generate_series(1, 10000);
CREATE TABLE large (c text);
ALTER TABLE large ALTER c SET STORAGE PLAIN;
INSERT INTO large SELECT repeat('x', 7000) FROM generate_series(1, 25000);
CHECKPOINT;
SQL

my $have_buffercache = create_extension($node, 'pg_buffercache');

my %size = map {
	$_ => $node->safe_psql('postgres', "SELECT pg_relation_size('$_')")
} ('t', 't_k', 't_gin', 'small_pkey', 'large');

# Nothing is in buffers then.
$node->restart;

# ---------------------------------------------------------------------------
# The rate

my $session = Session->new($node);
$session->query("LOAD 'streamstat'");

# Seconds that a query takes
sub seconds
{
	my ($query) = @_;
	my $begin = Time::HiRes::time();

	$session->query($query);
	diag($session->{err}) if $session->{err} =~ /ERROR/;
	return Time::HiRes::time() - $begin;
}

# What is not a matter of seconds: a machine that has much else to do makes anything late.
use constant HANGS => 60;

# A query that looks at so many bytes is to take half a second, or longer on a busy machine.
sub check_rate
{
	my ($query, $bytes, $what) = @_;
	my $wanted = 0.5;

	$session->query(
		"SET streamstat.max_rate = '" . int($bytes / $wanted / 1024) . "kB'");
	my $took = seconds($query);
	$session->query('RESET streamstat.max_rate');
	ok($took > 0.9 * $wanted && $took < HANGS, "$what: rate is kept")
	  or diag("$took seconds instead of $wanted");
}

sub check_functions
{
	my ($what) = @_;

	check_rate("SELECT * FROM streamstat.table_stats('t')",
		$size{t}, "$what: table_stats");
	check_rate("SELECT * FROM streamstat.btree_stats('t_k')",
		$size{t_k}, "$what: btree_stats");
	check_rate("SELECT * FROM streamstat.index_stats('t_gin')",
		$size{t_gin}, "$what: index_stats");
	check_rate("SELECT * FROM streamstat.sample_stats('t', 500, seed => 1)",
		500 * 8192, "$what: sample");
	check_rate("SELECT * FROM streamstat.pgstattuple_approx('t')",
		$size{t}, "$what: pgstattuple_approx");
	check_rate("SELECT * FROM streamstat.pgstatindex('t_k')",
		$size{t_k}, "$what: pgstatindex");
}

check_functions('files');
$session->query("SELECT * FROM streamstat.btree_stats('t_k')");
is( $session->query(
		"SELECT blocks_private > 0, blocks_hit FROM streamstat.stream_stats()"),
	't|0',
	'files: they were read');

$session->query("SET streamstat.io_path = buffer");
check_functions('buffer path');
$session->query("RESET streamstat.io_path");

foreach my $mode ('prefetch', 'read', 'buffer')
{
	check_rate("SELECT streamstat.pg_prewarm('t', '$mode')",
		$size{t}, "pg_prewarm $mode");
}
$session->query("SELECT streamstat.pg_prewarm('t_k')");
$session->query("SELECT streamstat.pg_prewarm('t_gin')");
check_functions('in buffers');
is( $session->query(
		"SELECT blocks_hit > 0, blocks_missed FROM streamstat.stream_stats()"),
	't|0',
	'in buffers: they were there');

# Many scans together are no quicker than a large one.
check_rate("SELECT count(*) FROM streamstat.layout_map('t', 500)",
	$size{t}, 'layout_map');
check_rate(
	"SELECT count(s) FROM generate_series(1, 50) i, LATERAL (SELECT streamstat.btree_stats(('small_pkey' || left(i::text, 0))::regclass) s) b",
	50 * $size{small_pkey},
	'many small scans');

# A pause earns nothing.
$session->query("SET streamstat.max_rate = '4MB'");
$session->query('SELECT pg_sleep(1.5)');
my $took = seconds("SELECT streamstat.sample_stats('t', 128, seed => 1)");
cmp_ok($took, '>', 0.9 * 0.25, 'no burst after a pause');

# A rate leaves no work to others.
my $workers = "SELECT workers FROM streamstat.stream_stats()";
$session->query("SET streamstat.max_rate = '2GB'");
$session->query("SELECT * FROM streamstat.table_stats('large')");
is($session->query($workers), '0', 'no workers scan with a rate');
$session->query("SELECT streamstat.pg_prewarm('large', 'read')");
is($session->query($workers), '0', 'no workers prewarm with a rate');

# ---------------------------------------------------------------------------
# The time of a sample: 128 blocks at 1 MB/s take a second.

$session->query("SET streamstat.max_rate = '1MB'");
foreach my $case ([ '100 ms', 't|max_time|0' ], [ '1500 ms', 'f|max_time|128' ])
{
	my ($time, $expected) = @$case;
	my $sample =
	  "SELECT estimate IS NULL, ended_by, blocks_read FROM streamstat.sample_stats('t', 1000000, 0.001, '$time', 1) WHERE statistic = 'free_percent'";

	# The machine may stall until the time is over.
	ok(Session::poll("a sample in $time", sub { $session->query($sample) eq $expected }), "a sample in $time: $expected");
	cmp_ok(seconds($sample), '<', HANGS, 'ends in time');
}
$session->query('RESET streamstat.max_rate');
uncache($node, 'large');
$session->query("SELECT streamstat.pg_prewarm('large', 'read')");
cmp_ok($session->query($workers), '>', 0, 'workers prewarm without a rate');

# ---------------------------------------------------------------------------
# While it sleeps

my $observer = Session->new($node);

sub asleep
{
	return $observer->query(
		"SELECT count(*) FROM pg_stat_activity WHERE pid = $session->{pid} AND wait_event_type = 'Extension'"
	);
}

# A slice of 128 kB takes two minutes.
$session->query("SET streamstat.max_rate = '1kB'");
foreach my $query (
	"streamstat.table_stats('t')", "streamstat.pg_prewarm('t', 'buffer')",
	"streamstat.pg_prewarm('t', 'read')")
{
	$session->send_query("SELECT * FROM $query");
	Session::poll("$query: sleeps", \&asleep);

	my $begin = Time::HiRes::time();

	$observer->query("SELECT pg_cancel_backend($session->{pid})");
	$session->answer;
	like($session->{err}, qr/canceling statement due to user request/,
		"$query: canceled");
	cmp_ok(Time::HiRes::time() - $begin, '<', HANGS, "$query: canceled in its sleep");
}
is( $observer->query(
		"SELECT count(*) FROM pg_locks WHERE relation = 't'::regclass"),
	'0',
	'no lock is left');

$session->query("SET statement_timeout = '300ms'");
$took = seconds(
	"DO 'BEGIN PERFORM streamstat.table_stats(''t''); EXCEPTION WHEN query_canceled THEN RAISE WARNING ''caught''; END'"
);
like($session->{err}, qr/WARNING:.*caught/, 'statement_timeout: it comes');
cmp_ok($took, '<', HANGS, 'statement_timeout: in its sleep');
$session->query("RESET statement_timeout");

# Slices of 128 kB, with sleeps of a second between them: it is nearly always
# asleep.
$session->query("SET streamstat.max_rate = '128kB'");
foreach my $query ("streamstat.table_stats('t')",
	"streamstat.pg_prewarm('t', 'buffer')")
{
	$session->query("SET streamstat.io_path = buffer");
	$session->send_query("SELECT * FROM $query");
	Session::poll("$query: sleeps", \&asleep);

  SKIP:
	{
		skip 'this server has no pg_buffercache', 1 if !$have_buffercache;

		# It may have begun its next slice meanwhile.
		ok( Session::poll("$query: no pin is held in sleep", sub {
			my $pinned = $observer->query(<<'SQL');
SELECT count(*) FROM pg_buffercache
WHERE pinning_backends > 0 AND relfilenode = pg_relation_filenode('t')
SQL
			return asleep() && $pinned == 0;
		}), "$query: no pin is held in sleep");
	}

	$observer->query('VACUUM (FREEZE, DISABLE_PAGE_SKIPPING) t');
	is($observer->{err}, '', "$query: VACUUM works meanwhile");
	ok($session->busy, "$query: it has not waited for the end");
	$observer->query("SELECT pg_cancel_backend($session->{pid})");
	$session->answer;
}
$session->query("RESET streamstat.io_path");

# By now there is a visibility map, which a sample reads first.
$session->query("SET streamstat.max_rate = '1kB'");
$took = seconds("SELECT estimate IS NULL, ended_by, blocks_read FROM streamstat.sample_stats('t', 1000000, 0.001, '500 ms', 1) WHERE statistic = 'free_percent'");
like($session->{out}, qr/^t\|max_time\|0$/m, 'no time for the visibility map');
cmp_ok($took, '<', HANGS, 'ends in time');

# A report's own rate is that of the map as well: of one page, which takes 8 s.
$session->query('RESET streamstat.max_rate; VACUUM large');
$session->send_query("SELECT count(*) FROM streamstat.database_report(budget => '1GB', max_time => '1 hour', max_rate => '1kB')");
is( Session::poll('the report sleeps', sub { $observer->query(qq(
SELECT relid::regclass, blocks_done, blocks_total FROM streamstat.stat_progress JOIN pg_stat_activity USING (pid)
	WHERE pid = $session->{pid} AND wait_event_type = 'Extension' AND relid IS NOT NULL)) }),
	'large|0|1', 'the rate is kept in the visibility map');
$observer->query("SELECT pg_cancel_backend($session->{pid})");
$session->answer;
$session->end;
$observer->end;

# ---------------------------------------------------------------------------
# Results, with damaged pages between the others

my $file = $node->data_dir . '/'
  . $node->safe_psql('postgres', "SELECT pg_relation_filepath('t_k')");

$node->stop;
foreach my $blkno (3, 40, 41, 200)
{
	write_block($file, $blkno, random_page());
}
$node->start;

foreach my $path ('auto', 'buffer')
{
	foreach my $query (
		"SELECT * FROM streamstat.btree_stats('t_k')",
		"SELECT * FROM streamstat.index_stats('t_gin')",
		"SELECT * FROM streamstat.table_stats('t')",
		"SELECT * FROM streamstat.sample_stats('t_k', 300, seed => 1)",
		"SELECT * FROM streamstat.pgstattuple_approx('t')",
		"SELECT first_block, last_block, bar FROM streamstat.layout_map('t', 20)")
	{
		my ($before, $after) = map {
			$node->safe_psql('postgres',
				"LOAD 'streamstat'; SET streamstat.io_path = $path; SET streamstat.max_rate = '$_'; $query;"
			)
		} ('0', '40MB');

		is($after, $before, "$path: $query");
	}
}
is( $node->safe_psql('postgres',
		"SELECT corrupt_pages FROM streamstat.btree_stats('t_k')"),
	'4',
	'damaged pages were there');

stop_clean($node);
done_testing();
