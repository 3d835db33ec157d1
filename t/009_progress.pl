
# Copyright (c) 2026, streamstat contributors

# The view progress, from another session, while a scan with a rate is under way;
# and that nothing is left in it when the call has ended, however it did.

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

my $node = new_node('progress');
$node->safe_psql('postgres', <<'SQL');
CREATE ROLE nobody_special;
CREATE ROLE monitor IN ROLE pg_monitor;
CREATE TABLE t AS SELECT i AS k, repeat('x', 100) AS pad FROM generate_series(1, 150000) i;
CREATE INDEX t_k ON t (k);
-- Nothing but our scan reads it, so that no page comes to be all-visible.
CREATE TABLE unread AS TABLE t;
CREATE TABLE p (k int) PARTITION BY RANGE (k);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (1) TO (20001);
CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (20001) TO (40001);
INSERT INTO p SELECT generate_series(1, 40000);
CREATE INDEX p_k ON p (k);
CREATE TABLE damaged AS TABLE t;
CHECKPOINT;
SQL

my %blocks = map {
	$_ => $node->safe_psql('postgres', "SELECT pg_relation_size('$_') / 8192")
} ('t', 't_k', 'unread', 'p1_k_idx', 'p2_k_idx', 'damaged');
my $file = $node->data_dir . '/'
  . $node->safe_psql('postgres', "SELECT pg_relation_filepath('damaged')");

$node->stop;
write_block($file, 2, random_page());
$node->start;

my $session = Session->new($node);
my $observer = Session->new($node);
my $columns =
  'datname, function, phase, relid::regclass, blocks_done, blocks_total, relations_done, relations_total, bytes_done, bytes_total, bytes_per_second, extract(epoch FROM started), extract(epoch FROM expected_end), extract(epoch FROM clock_timestamp())';

$session->query("LOAD 'streamstat'");
$observer->query("SET search_path = streamstat, public");

sub rows
{
	return $observer->query(
		"SELECT count(*) FROM stat_progress WHERE pid = $session->{pid}");
}

# What the view has of the session, as a hash, or undef
sub look
{
	my $row = $observer->query(
		"SELECT $columns FROM stat_progress WHERE pid = $session->{pid}");
	my %row;

	return if $row eq '';
	@row{
		'datname', 'function', 'phase', 'relation', 'blocks_done',
		'blocks_total', 'relations_done', 'relations_total', 'bytes_done',
		'bytes_total', 'rate', 'started', 'end', 'now'
	} = split /\|/, $row;
	return \%row;
}

sub cancel
{
	$observer->query("SELECT pg_cancel_backend($session->{pid})");
	return $session->answer;
}

# Begin a query at a rate that makes it take some seconds, and look at it as long
# as the code returns something true.
sub start
{
	my ($query, $rate) = @_;

	$session->query("SET streamstat.max_rate = '$rate'");
	$session->send_query($query);
	return Session::poll(
		"$query: is seen",
		sub {
			my $row = look();
			return $row && $row->{relation} ne '' && $row->{blocks_done} > 0 ? $row : undef;
		});
}

# ---------------------------------------------------------------------------
# One relation

is(rows(), '0', 'nothing is seen before');

# Slow enough that no call ends while it is looked at
foreach my $case (
	[ 'btree_stats', "streamstat.btree_stats('t_k')", 't_k', 128 ],
	[ 'table_stats', "streamstat.table_stats('t')", 't', 512 ],
	[ 'pgstattuple', "streamstat.pgstattuple('t')", 't', 512 ],
	[
		'pgstattuple_approx', "streamstat.pgstattuple_approx('unread')",
		'unread', 512
	],
	[ 'index_stats', "streamstat.index_stats('t_k')", 't_k', 128 ],
	[ 'layout_map', "streamstat.layout_map('t', 5)", 't', 512 ],
	[ 'corrupt_blocks', "streamstat.corrupt_blocks('t')", 't', 512 ],
	[ 'pg_prewarm', "streamstat.pg_prewarm('t')", 't', 512 ],
	[ 'pg_prewarm', "streamstat.pg_prewarm('t', 'read')", 't', 512 ],
	[ 'pg_prewarm', "streamstat.pg_prewarm('t', 'prefetch')", 't', 512 ])
{
	my ($function, $query, $relation, $rate) = @$case;
	my $before = Time::HiRes::time();
	my $row = start("SELECT * FROM $query", "${rate}kB");
	my $expected = $blocks{$relation};

	# the visibility map and the free space map come first
	for (my $i = 0; $row && $row->{bytes_total} eq '' && $i < 1000; $i++)
	{
		$row = look();
	}
	if (!$row)
	{
		fail("$query: is seen");
		next;
	}
	$expected = int($expected * 1 / 5) if $function eq 'layout_map';

	is("$row->{datname} $row->{function} $row->{phase} $row->{relation}",
		"postgres $function scanning $relation",
		"$query: who does what");
	cmp_ok(abs($row->{blocks_total} - $expected),
		'<=', 1, "$query: blocks in total");
	cmp_ok($row->{bytes_total}, '>=', $blocks{$relation} * 8192,
		"$query: bytes in total");
	cmp_ok($row->{bytes_total}, '<', ($blocks{$relation} + 10) * 8192,
		"$query: no more bytes than that");
	is("$row->{relations_done} $row->{relations_total}",
		'0 1', "$query: relations");
	ok( $row->{started} > $before - 1 && $row->{started} < $row->{now},
		"$query: started");

	my $grew = 1;
	my $last = $row;
	foreach (1 .. 3)
	{
		$row = Session::poll("$query: goes on", sub {
			my $now = look();

			return !$now || $now->{bytes_done} > $last->{bytes_done} ? $now // {} : undef;
		});
		$grew &&= $row && %$row && $row->{bytes_done} <= $row->{bytes_total};
		last if !$grew;
		$last = $row;
	}
	ok($grew, "$query: it goes on")
	  or diag("$last->{bytes_done} of $last->{bytes_total}");

	# at the rate that is seen, which is lower on a busy machine
	my $seconds = $last->{bytes_total} / $last->{rate};
	my $end = $last->{started} + $seconds;
	my $seen = $last->{rate} / $rate / 1024;

	cmp_ok(abs($last->{end} - $end),
		'<', 0.1 * $seconds, "$query: expected end");
	ok($seen > 0 && $seen < 1.25, "$query: bytes per second")
	  or diag("$seen of the rate");

	cancel();
	is(rows(), '0', "$query: gone after a cancel");
}

# The table is read for its dead rows first, and then the index: how much that comes to is not said
# before.
$node->safe_psql('postgres', 'CREATE INDEX unread_k ON unread (k); DELETE FROM unread WHERE k % 3 = 0');
my $bloat = start("SELECT * FROM streamstat.bloat('unread_k', 1000000)", '512kB');
is("$bloat->{function} $bloat->{relation} $bloat->{bytes_total}", 'bloat unread ', 'an index after its table');
cancel();

# ---------------------------------------------------------------------------
# How it ends

start("SELECT * FROM streamstat.btree_stats('t_k')", '128kB');
is( $observer->query(
		"SELECT (SELECT count(*) FROM pg_stat_progress_vacuum) + (SELECT count(*) FROM pg_stat_progress_create_index) + (SELECT count(*) FROM pg_stat_progress_cluster) + (SELECT count(*) FROM pg_stat_progress_analyze) + (SELECT count(*) FROM pg_stat_progress_basebackup) + (SELECT count(*) FROM pg_stat_progress_copy)"
	),
	'0',
	"the server's views show nothing");
cancel();
$session->query("RESET streamstat.max_rate; SELECT * FROM streamstat.btree_stats('t_k')");
is($session->{err} . rows(), '0', 'gone at the end');

# An error that is caught within the transaction ends it, too.
$observer->query('SELECT pg_advisory_lock(1)');
$session->query("SET streamstat.max_rate = '128kB'");
$session->send_query(<<'SQL');
DO $$
BEGIN
	BEGIN
		PERFORM streamstat.table_stats('t');
	EXCEPTION WHEN query_canceled THEN
	END;
	PERFORM pg_advisory_xact_lock(1);
	PERFORM streamstat.btree_stats('t_k');
END $$
SQL
Session::poll('in a block: seen', sub { rows() });
$observer->query("SELECT pg_cancel_backend($session->{pid})");
Session::poll('in a block: gone after the error',
	sub { rows() eq '0' && $session->busy });
$observer->query('SELECT pg_advisory_unlock(1)');
my $row = Session::poll('in a block: the next call is seen', sub { look() });
is($row->{function}, 'btree_stats', 'in a block: it is the next call');
cancel();

$session->query("RESET streamstat.max_rate");
$session->query("SELECT * FROM streamstat.pgstattuple('damaged')");
like($session->{err}, qr/ERROR/, 'damaged table: an error');
is(rows(), '0', 'gone after an error');

# Errors of the buffer manager are caught in a subtransaction, whose end clears
# the server's place for progress.
$session->query("SET streamstat.io_path = buffer");
start("SELECT * FROM streamstat.table_stats('damaged')", '1MB');
$row = Session::poll(
	'damaged table: behind the error',
	sub {
		my $row = look();
		return !$row || $row->{blocks_done} > 100 ? $row // {} : undef;
	});
ok(($row->{blocks_done} // 0) > 100, 'damaged table: seen behind the error');
is($row->{blocks_total} // '',
	$blocks{damaged}, 'damaged table: blocks in total');
cancel();
$session->query("RESET streamstat.io_path");

# A command of the server that reports progress itself keeps its place.
my $command = "COPY (SELECT * FROM streamstat.btree_stats('t_k')) TO '/dev/null'";
$session->query("SET streamstat.max_rate = '128kB'");
$session->send_query($command);
my $copy = "SELECT count(*) FROM pg_stat_progress_copy WHERE pid = $session->{pid}";
Session::poll('COPY: seen', sub { $observer->query($copy) });
Session::poll('COPY: the call scans', sub { $observer->query("SELECT count(*) FROM pg_stat_activity WHERE pid = $session->{pid} AND wait_event_type = 'Extension'") });
is($observer->query($copy) . rows(), '10', 'COPY shows its own progress');
cancel();
$session->query("RESET streamstat.max_rate; $command");
is($session->{err}, '', 'COPY works');

# ---------------------------------------------------------------------------
# Several relations

$row = start("SELECT * FROM streamstat.index_stats_tree('p_k')", '64kB');
is("$row->{function} $row->{relation} $row->{relations_total} $row->{bytes_total}",
	'index_stats_tree p1_k_idx 3 ', 'tree: the first index');
is($row->{blocks_total}, $blocks{p1_k_idx}, 'tree: its blocks');
my $done = $row->{relations_done};
$row = Session::poll(
	'tree: the second index',
	sub {
		my $row = look();
		return $row && $row->{relation} eq 'p2_k_idx' && $row->{blocks_done} > 0 ? $row : undef;
	});
is($row->{relations_done}, $done + 1, 'tree: the first one is done');
cmp_ok($row->{bytes_done}, '>', $blocks{p1_k_idx} * 8192,
	'tree: its bytes are done');
cancel();

# ---------------------------------------------------------------------------
# Who sees it

start("SELECT * FROM streamstat.table_stats('t')", '512kB');
foreach my $case ([ 'nobody_special', 0 ], [ 'monitor', 1 ])
{
	my ($role, $sees) = @$case;

	$observer->query("SET ROLE $role");
	is( $observer->query(
			"SELECT count(*), count(datname), count(coalesce(function, phase, relid::text, blocks_total::text, started::text, bytes_done::text)) FROM stat_progress"
		),
		"1|1|$sees",
		"$role: sees as much as is due");
	$observer->query('RESET ROLE');
}
cancel();

$session->end;
$observer->end;
stop_clean($node);
done_testing();
