
# Copyright (c) 2026, streamstat contributors

# Parallel workers: the same rows with any number of them, wherever a call
# stands, and on damaged pages.

use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Utils;
use Test::More;

use lib "$FindBin::RealBin/lib";
use Extra 'slow';
use Large;
use Node;
use PageCache;
use Pages;
use Session;

my $node = large_node('parallel', checksums => 1);
my $have_buffercache = have_extension($node, 'pg_buffercache');
$node->safe_psql('postgres', large_relations(84000, 1630000) . large_changes());

my $s = Session->new($node);

my $workers = $workers_of_call;

# ---------------------------------------------------------------------------
# The same rows by any number of workers

my %blocks = split /[|\n]/,
  $s->query(
	"SELECT relname, pg_relation_size(oid) / @{[BLCKSZ]} FROM pg_class WHERE relname IN ('t', 't_btree', 't_hash')"
  );
foreach my $relation (sort keys %blocks)
{
	# and no more than needed
	cmp_ok($blocks{$relation}, '>', 5 * SHARE, "$relation is big enough");
	cmp_ok($blocks{$relation}, '<', 5.5 * SHARE, "$relation is not too big");
}

# the call; the blocks that it reads; the most workers by its size; ways
my $sampled = 5 * SHARE + 1;
my @calls = (
	[ "btree_stats('t_btree')", $blocks{t_btree}, 4 ],
	[ "pgstatindex('t_btree')", $blocks{t_btree}, 4 ],
	[ "hash_stats('t_hash')", $blocks{t_hash}, 4 ],
	[ "pgstathashindex('t_hash')", $blocks{t_hash}, 4 ],
	[ "sample_stats('t', 1000000, seed => 1)", $blocks{t}, 4 ],
	# a sample is read by one process, unless it is everything
	[ "sample_stats('t_btree', $sampled, seed => 7)", $sampled, 0 ],
	[ "sample_stats('t_hash', 17000, seed => 3)", 17000, 0 ]);
my %expected;

foreach my $path ('file', 'buffer')
{
	$s->query("SET streamstat.io_path = $path");
	foreach my $case (@calls)
	{
		my ($call, $blocks, $most) = @$case;

		foreach my $n (0, 1, 2, 4)
		{
			my $sql = $call =~ s/'/''/gr;
			my $label = "$path, $call, $n workers";

			next if $n > 0 && $n > $most * 2;
			# one kind of scan by any number, the others by none and by most
			next if $n != 0 && $n != 4 && $call !~ /^btree/;
			my $rows = $s->query("SET streamstat.max_workers = $n; SELECT rows('$sql')");
			isnt($rows, '', "$label: there are rows") if !$expected{$call};
			$expected{$call} //= $rows;
			is($rows, $expected{$call}, $label);
			is($s->{err}, '', "$label: no warning");
			is( $s->query(
				'SELECT workers, blocks_requested, blocks_hit + blocks_missed, stream FROM streamstat.stream_stats()'
				) =~ s/\|[^|]*stream.*//r,
				join('|', $n < $most ? $n : $most, $blocks, $blocks),
				"$label: workers and blocks");
		}
	}
}

# The numbers are not trivially equal.
my @btree = split /,/, $expected{"btree_stats('t_btree')"};
cmp_ok($btree[$_], '>', 0, "btree_stats: column $_ is not zero")
  foreach (6, 7, 9, 10, 11, 13, 15);
my @hash = split /,/, $expected{"hash_stats('t_hash')"};
cmp_ok($hash[$_], '>', 0, "hash_stats: column $_ is not zero")
  foreach (4, 5, 6, 8, 10, 11);
like($expected{"sample_stats('t', 1000000, seed => 1)"}, qr/\($_,[1-9]/,
	"sample: $_ is not zero")
  foreach ('all_visible_pages', 'live_tuples', 'dead_line_pointers', 'unused_line_pointers');
isnt($expected{"sample_stats('t_btree', $sampled, seed => 7)"},
	$s->query("SELECT rows('sample_stats(''t_btree'', $sampled, seed => 8)')"),
	'another seed gives other rows');
$s->query('RESET streamstat.io_path');

# ---------------------------------------------------------------------------
# How many workers

my $btree = "SELECT rows('btree_stats(''t_btree'')')";
my $btree_expected = $expected{"btree_stats('t_btree')"};

sub check_workers
{
	my ($what, $settings, $expected) = @_;

	is($s->query("$settings; $btree"), $btree_expected, "$what: row");
	is($s->{err}, '', "$what: no warning");
	is($s->query($workers), $expected, "$what: workers");
	$s->query('RESET ALL; SET streamstat.max_workers = 2');
}

check_workers('default', 'RESET streamstat.max_workers', 2);
check_workers(
	'max_parallel_maintenance_workers = 0',
	'SET max_parallel_maintenance_workers = 0; SET streamstat.max_workers = 4', 0);
check_workers(
	'max_parallel_maintenance_workers = 1',
	'SET max_parallel_maintenance_workers = 1; SET streamstat.max_workers = 4', 1);
check_workers('max_parallel_workers = 0', 'SET max_parallel_workers = 0', 0);
check_workers(
	'max_parallel_workers = 1',
	'SET max_parallel_workers = 1; SET streamstat.max_workers = 4', 1);
check_workers('more than the size is worth', 'SET streamstat.max_workers = 100', 4);

# settings that a stream puts in force while it begins
check_workers(
	'settings of the stream',
	'SET streamstat.io_path = buffer; SET streamstat.io_concurrency = 3; SET streamstat.io_combine_limit = 4',
	2);

is( $s->query("SELECT live_items FROM streamstat.btree_stats('small_btree'); $workers"),
	"1000\n0",
	'small relation');

# ---------------------------------------------------------------------------
# pg_prewarm

$node->stop;
$s->end;
$node->start;
$s = Session->new($node);
$s->query('SET streamstat.max_workers = 4');

# blocks of t_btree in buffers
sub buffered
{
	my ($first, $last) = @_;

	return $s->query($have_buffercache
		? "SELECT count(DISTINCT relblocknumber) FROM pg_buffercache WHERE relforknumber = 0
			AND relfilenode = pg_relation_filenode('t_btree') AND relblocknumber BETWEEN $first AND $last"
		: "SELECT streamstat.pg_prewarm('t_btree', 'prefetch', 'main', $first, $last) < 0; SELECT blocks_hit FROM streamstat.stream_stats()"
	) =~ s/^f\n//r;
}
my $prewarm_stats =
  'SELECT workers, blocks_requested, blocks_hit, blocks_missed FROM streamstat.stream_stats()';

my ($first, $last) = (100, 100 + 3 * SHARE - 1);
my $n = $last - $first + 1;
my $answer = cached($s, 'pg_prewarm, read', sub {
	return $s->query("SELECT streamstat.pg_prewarm('t_btree', 'read', 'main', $first, $last); $prewarm_stats");
});
is($answer, "$n\n0|$n|0|$n", 'pg_prewarm, read: what is in the page cache is not worth a worker');

# Into buffers it is, unless the server's processes help, or neighbouring buffers share a page of
# the kernel, which on 15 is a matter of where they happen to be.
sub prewarm_cached
{
	my ($what, $expected) = @_;

	$node->restart;
	$s = Session->new($node);
	$s->query('SET streamstat.max_workers = 4');
	like($s->query("SELECT streamstat.pg_prewarm('t_btree', 'buffer', 'main', $first, $last); $prewarm_stats"),
		qr/^$n\n$expected\|$n\|0\|$n$/, $what);
	$s->end;
}
$s->end;
if ($node->pg_version >= 18)
{
	prewarm_cached('pg_prewarm, buffer: I/O workers copy it', 0);
	$node->append_conf('postgresql.conf', 'io_method = sync');
	prewarm_cached('pg_prewarm, buffer: without them by workers', 2);
	$node->append_conf('postgresql.conf', 'io_method = worker');
}
else
{
	prewarm_cached('pg_prewarm, buffer: what is cached, by workers', $node->pg_version >= 16 ? 2 : '[02]');
}

$node->restart;
$s = Session->new($node);
$s->query('SET streamstat.max_workers = 4');
uncache($node, 't_btree');
is( $s->query(
	"SELECT streamstat.pg_prewarm('t_btree', 'read', 'main', $first, $last); $prewarm_stats"
	),
	"$n\n2|$n|0|$n",
	'pg_prewarm, read: by workers');
cmp_ok($s->query('SELECT max(look_ahead_max) FROM streamstat.stream_stats_workers()'),
	'>', 64, '... which look beyond a chunk');
is(buffered($first, $last), 0, 'pg_prewarm, read: nothing is in buffers');
uncache($node, 't_btree');
is( $s->query(
	"SELECT streamstat.pg_prewarm('t_btree', 'buffer', 'main', $first, $last); $prewarm_stats"
	),
	"$n\n2|$n|0|$n",
	'pg_prewarm, buffer: by workers');
is(buffered($first, $last), $n, 'pg_prewarm, buffer: all is in buffers');
is(buffered($last + 1, $blocks{t_btree} - 1),
	0, 'pg_prewarm, buffer: and no more');
is( $s->query(
	"SELECT streamstat.pg_prewarm('t_btree', 'buffer', 'main', $first, $last); $prewarm_stats"
	),
	"$n\n0|$n|$n|0",
	'pg_prewarm, buffer: what is in buffers is not worth a worker');
uncache($node, 't');
is( $s->query(
	"SELECT streamstat.pg_prewarm('t', 'read'); $prewarm_stats"
	),
	"$blocks{t}\n4|$blocks{t}|0|$blocks{t}",
	'pg_prewarm, read: all of a table');
is( $s->query("SELECT streamstat.pg_prewarm('t', 'prefetch'); $workers"),
	"$blocks{t}\n0",
	'pg_prewarm, prefetch: by itself');

# What is in the page cache and not in buffers is mapped.  Whether workers help depends on its time.
$node->restart;
$s->end;
$s = Session->new($node);
$s->query('SET streamstat.max_workers = 4');
foreach my $call ("btree_stats('t_btree')", "pgstatindex('t_btree')", "hash_stats('t_hash')")
{
	my ($relation) = $call =~ /'(\w+)'/;
	my $expected = $s->query("SELECT rows(\$\$$call\$\$)");

	$s->query('SET streamstat.map_files = on');
	uncache($node, $relation);
	is( $s->query("SELECT rows(\$\$$call\$\$); $workers"), "$expected\n4",
		"$call: by workers");
	$answer = cached($s, $call, sub {
		return $s->query("SELECT rows(\$\$$call\$\$); $workers; SELECT blocks_mapped > blocks_private / 2 FROM streamstat.stream_stats()");
	});
	like($answer, qr/^\Q$expected\E\n[0-4]\nt$/, "$call: in the page cache");
	$s->query('RESET streamstat.map_files');
}
$s->query('SET streamstat.max_workers = 2');

# ---------------------------------------------------------------------------
# Wherever a call stands

# Each query gives the row of btree_stats, then the number of workers.
my $row = "SELECT * FROM streamstat.btree_stats('t_btree')";
my $bars = $btree_expected =~ s/^\((.*)\)$/$1/r =~ s/,/|/gr;
foreach my $case (
	[ 'statement', "$row;" ],
	[ 'transaction', "BEGIN; $row; COMMIT;" ],
	[ 'savepoint', "BEGIN; SAVEPOINT a; $row; ROLLBACK;" ],
	[
		'cursor',
		"BEGIN; DECLARE c CURSOR FOR $row; FETCH 1 FROM c; FETCH 1 FROM c; COMMIT;"
	],
	[
		'cursor that stays',
		"BEGIN; DECLARE c CURSOR WITH HOLD FOR $row; COMMIT; FETCH ALL FROM c; CLOSE c;"
	],
	[ 'read only', "BEGIN READ ONLY; $row; COMMIT;" ],
	[ 'repeatable read', "BEGIN ISOLATION LEVEL REPEATABLE READ; $row; COMMIT;" ],
	[
		'serializable',
		"BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT count(*) < 0 FROM small; $row; COMMIT;"
	],
	[
		'serializable, deferrable',
		"BEGIN ISOLATION LEVEL SERIALIZABLE, READ ONLY, DEFERRABLE; $row; COMMIT;"
	],
	[
		'prepared', "PREPARE p AS $row; EXECUTE p;"
	],
	[ 'role', "SET ROLE scanner; $row; RESET ROLE;" ],
	[ 'role that may not log in', "SET ROLE no_login; $row; RESET ROLE;" ])
{
	my ($what, $sql) = @$case;

	is( $s->query("$sql $workers") =~ s/^f\n//r,
		"$bars\n2", "$what: row and workers");
	is($s->{err}, '', "$what: no warning");
}
is($s->query("SELECT rows_in_block('btree_stats(''t_btree'')'); $workers"),
	"$btree_expected\n2", 'block with EXCEPTION');

# two calls in one query
is( $s->query(
	"SELECT a = b FROM streamstat.btree_stats('t_btree') a, streamstat.btree_stats('t_btree') b; $workers"
	),
	"t\n2",
	'two calls in a query');

# as a user who may do nothing else
my $other = Session->new($node, '-U', 'scanner');
is($other->query("$row; $workers"), "$bars\n2", 'user: row and workers');
is($other->{err}, '', 'user: no warning');
$other->end;

# What the workers did to buffers belongs to the query.
my %buffers;
foreach my $n (0, 2)
{
	my $plan = $s->query(
		"SET streamstat.io_path = buffer; SET streamstat.max_workers = $n; EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF, SUMMARY OFF) $row"
	);
	my ($hit) = $plan =~ /^ +Buffers: shared.* hit=(\d+)/m;
	my ($read) = $plan =~ /^ +Buffers: shared.* read=(\d+)/m;

	$buffers{$n} = ($hit // 0) + ($read // 0);
	is($s->query($workers), $n, "EXPLAIN, $n workers: workers");
	cmp_ok($buffers{$n}, '>=', $blocks{t_btree}, "EXPLAIN, $n workers: buffers");
	cmp_ok(
		$buffers{$n}, '<',
		$blocks{t_btree} + 300,
		"EXPLAIN, $n workers: no block twice");
}
$s->query('RESET streamstat.io_path');

# A query that has workers itself: then the call does without.
$s->query(
	'SET min_parallel_table_scan_size = 0; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET max_parallel_workers_per_gather = 2'
);
my $in_parallel =
  "SELECT p.*, c FROM (SELECT count(*) AS c FROM small) x, streamstat.pgstatindex('t_btree') p";
like($s->query("EXPLAIN $in_parallel"),
	qr/Gather/, 'in a parallel query: it is one');
is( $s->query("$in_parallel; $workers"),
	$expected{"pgstatindex('t_btree')"} =~ s/^\((.*)\)$/$1/r =~ s/,/|/gr
	  . "|1000\n0",
	'in a parallel query: row, and no workers');
$s->query('RESET ALL; SET streamstat.max_workers = 2');

# A relation with a name to be quoted.  Its new name is not committed yet.
is( $s->query(q(
BEGIN;
ALTER INDEX t_btree RENAME TO "it's a ""big"" one";
SELECT rows('btree_stats(''"it''''s a ""big"" one"'')');
SELECT workers, relation FROM streamstat.stream_stats();
SELECT rows('pgstatindex(''"it''''s a ""big"" one"''::text)') = rows('pgstatindex(''"it''''s a ""big"" one"''::regclass)');
ROLLBACK;)),
	"$btree_expected\n2|\"it's a \"\"big\"\" one\"\nt",
	'quotes in the name');

# A relation that nobody else can see yet, with its pages in buffers, files,
# or both
my $uncommitted = $s->query(q(
BEGIN;
CREATE TABLE u (k int, s text COLLATE "C") WITH (fillfactor = 10);
ALTER TABLE u ALTER s SET STORAGE PLAIN;
INSERT INTO u SELECT i, lpad(i::text, 360, 'x') FROM generate_series(1, 36000) i;
CREATE INDEX u_btree ON u (s) WITH (fillfactor = 10);
DELETE FROM u WHERE k % 7 = 0;
SET LOCAL streamstat.max_workers = 0;
CREATE TABLE u_rows AS SELECT call, rows(call) FROM unnest(ARRAY['sample_stats(''u'', 100000)', 'btree_stats(''u_btree'')']) call;
SET LOCAL streamstat.max_workers = 1;
SELECT call, rows IS NOT NULL, rows = rows(call) FROM u_rows;
) . "$workers;" . q(
SET LOCAL streamstat.io_path = buffer;
SELECT call, rows IS NOT NULL, rows = rows(call) FROM u_rows;
ROLLBACK;
));
is( $uncommitted,
	"sample_stats('u', 100000)|t|t\nbtree_stats('u_btree')|t|t\n1\nsample_stats('u', 100000)|t|t\nbtree_stats('u_btree')|t|t",
	'a relation that is not committed');
is($s->{err}, '', 'a relation that is not committed: no warning');

# Local buffers are for this process alone.
is( $s->query(q(
CREATE TEMP TABLE tt (k int, s text) WITH (fillfactor = 10);
ALTER TABLE tt ALTER s SET STORAGE PLAIN;
INSERT INTO tt SELECT i, lpad(i::text, 360, 'x') FROM generate_series(1, 34000) i;
SELECT estimate FROM streamstat.sample_stats('tt', 100000) WHERE statistic = 'live_tuples';
SELECT workers, blocks_requested > 16384 FROM streamstat.stream_stats();
SELECT streamstat.pg_prewarm('tt') > 16384;
) . "$workers; DROP TABLE tt"),
	"34000\n0|t\nt\n0",
	'temporary table');

# Somebody waits for a lock that conflicts with the leader's: its workers must
# not queue up behind.
my $all =
  "SELECT estimate FROM streamstat.sample_stats('t', 1000000) WHERE statistic = 'live_tuples'";
my $read = "SELECT streamstat.pg_prewarm('t', 'read')";
my %answer = map { $_ => $s->query($_) } ($all, $read);

my $waiter = Session->new($node);
$s->query("BEGIN; LOCK TABLE t IN ACCESS SHARE MODE");
$waiter->send_query("BEGIN; LOCK TABLE t; ROLLBACK");
Session::poll(
	'waiting for a lock',
	sub {
		$s->query("SELECT count(*) FROM pg_locks WHERE relation = 't'::regclass AND NOT granted"
		) > 0;
	});
$s->query("SET statement_timeout = '60 s'; SET streamstat.max_blocking_time = -1");
is( $s->query("$all; $workers"),
	"$answer{$all}\n2",
	'while somebody waits for the relation');
is($s->{err}, '', 'while somebody waits for the relation: no error');
$s->query('COMMIT; RESET statement_timeout; RESET streamstat.max_blocking_time');
$waiter->answer;
$waiter->end;

# ---------------------------------------------------------------------------
# Damaged pages

my %file = map { $_ => file_of($node, $_) } 't', 't_btree', 't_hash';

# Overwrite some bytes of blocks of a relation.
sub damage
{
	my ($relation, $offset, $bytes, @blocks) = @_;

	write_at($file{$relation}, $_ * BLCKSZ + $offset, $bytes) foreach @blocks;
}

sub restart_damaged
{
	my ($code) = @_;

	$s->end;
	$node->stop;
	$code->();
	$node->start;
	$s = Session->new($node);
	$s->query("LOAD 'streamstat'");
}

restart_damaged(
	sub {
		# the second of these is the first block of the next chunk
		damage('t_btree', 5000, 'damage', 20001, 20032, 40003);
		damage('t', 5000, 'damage', 41000, 7, 8, 9);
	});
foreach my $call ("btree_stats('t_btree')", "sample_stats('t_btree', $sampled, seed => 1)",
	"sample_stats('t', 1000000)")
{
	my $sql = $call =~ s/'/''/gr;
	my $rows;

	# Whoever finds the first page has to say so: try that some times.
	foreach my $path ('file', 'buffer')
	{
		foreach my $n ($path eq 'file' ? (0, 2, 4, 4, 4) : (0, 2))
		{
			my $label = "damaged, $path, $call, $n workers";
			my $got = $s->query(
				"SET streamstat.io_path = $path; SET streamstat.max_workers = $n; SELECT rows('$sql')"
			);

			$rows //= $got;
			is($got, $rows, $label);
			unlike($s->{err}, qr/ERROR/, "$label: no error");
			# The buffer manager's error sends the leader on alone.
			is( $s->query($workers),
				$path eq 'file' && $call !~ /seed/ ? $n : 0,
				"$label: workers");
			is($s->query('SELECT blocks_hit + blocks_missed = blocks_requested FROM streamstat.stream_stats()'),
				't', "$label: each block is counted once");
		}
	}
	if ($call =~ /^btree/)
	{
		my @damaged = split /,/, $rows =~ tr/()//dr;
		is("@damaged[17, 19]", '3 20001', 'damaged: the pages are counted');
	}
}
foreach my $path ('file', 'buffer')
{
	foreach my $n (0, (2) x 10)
	{
		$s->query(
			"SET streamstat.io_path = $path; SET streamstat.max_workers = $n; SELECT * FROM streamstat.pgstatindex('t_btree')"
		);
		like(
			$s->{err},
			qr/ERROR:  XX001: invalid page in block 20001 of relation /,
			"damaged, $path, pgstatindex, $n workers: the first page");
		is($s->query('SELECT * FROM left_behind'),
			'0|0', "damaged, $path, pgstatindex, $n workers: nothing is left behind");
	}
}

# Without checksums: pages that only the drop-in for hash indexes refuses, the
# first of them; and a table all of whose pages are newer than the WAL, which
# the file stream leaves to the buffer manager.
restart_damaged(
	sub {
		command_ok([ 'pg_checksums', '--disable', '-D', $node->data_dir ],
			'checksums are disabled');
		damage('t_hash', BLCKSZ - 4, pack('S', 3), 39000, 30000, 13000, 17000);
		damage('t', 0, pack('LL', 0x7fff, 0), 0 .. $blocks{t} - 1);
	});
foreach my $n (0, 1, 4, 4)
{
	$s->query(
		"SET streamstat.io_path = file; SET streamstat.max_workers = $n; SELECT * FROM streamstat.pgstathashindex('t_hash')"
	);
	like(
		$s->{err},
		qr/ERROR:  XX002: .* "t_hash" .*block 13000$/m,
		"damaged, pgstathashindex, $n workers: the first page");
	is( $s->query("SELECT rows('sample_stats(''t'', 1000000, seed => 1)')"),
		$expected{"sample_stats('t', 1000000, seed => 1)"},
		"left to the buffer manager, $n workers: row");
	is( $s->query(
		"SELECT workers, blocks_requested, blocks_private < blocks_requested / 10 FROM streamstat.stream_stats()"
		),
		"$n|$blocks{t}|t",
		"left to the buffer manager, $n workers: workers and blocks");
}
$s->end;

stop_clean($node);
done_testing();
