
# Copyright (c) 2026, streamstat contributors

# Parallel workers: the same rows with any number of them, wherever a call
# stands; and how they end, by themselves, by a cancel, or by force.

use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes ();

use lib "$FindBin::RealBin/lib";
use Session;

use constant BLCKSZ => 8192;

# Fewer blocks than this a participant, and it is left out.
use constant SHARE => 8192;

my $n_timeouts = 40;
my $n_cancels = 30;
my $n_terminated = 8;
my $n_killed = 6;

my $node = PostgreSQL::Test::Cluster->new('parallel');
$node->init(extra => ['--data-checksums']);
$node->append_conf(
	'postgresql.conf', q(
autovacuum = off
shared_buffers = 208MB
maintenance_work_mem = 256MB
max_wal_size = 4GB
max_worker_processes = 16
max_parallel_workers = 16
max_parallel_maintenance_workers = 8
log_statement = none
));
$node->start;

my $have_buffercache = $node->safe_psql('postgres',
	"SELECT count(*) FROM pg_available_extensions WHERE name = 'pg_buffercache'"
);
$node->safe_psql('postgres', 'CREATE EXTENSION pg_buffercache')
  if $have_buffercache;

# Fat rows and low fillfactors make many pages of little data.  The hash index
# gets its size from what it is told of the table's.
my $make = <<'SQL';
SET max_parallel_maintenance_workers = 0;
BEGIN;
CREATE TABLE t (k int, s text COLLATE "C") WITH (fillfactor = 10);
ALTER TABLE t ALTER s SET STORAGE PLAIN;
INSERT INTO t SELECT i, lpad(i::text, 360, 'x') FROM generate_series(1, %d) i;
CREATE INDEX t_btree ON t (s) WITH (fillfactor = 10);
COMMIT;
SQL
$node->safe_psql('postgres', 'CREATE EXTENSION streamstat;');
$node->safe_psql('postgres', sprintf($make, 84000) . <<'SQL');
UPDATE pg_class SET reltuples = 1630000, relpages = pg_relation_size('t') / current_setting('block_size')::int
	WHERE relname = 't';
CREATE INDEX t_hash ON t USING hash ((CASE WHEN k < 4000 THEN 0 ELSE k END)) WITH (fillfactor = 10);

-- pages and items of all kinds, not evenly spread
SET enable_seqscan = off;
DELETE FROM t WHERE s BETWEEN lpad('30000', 360, 'x') AND lpad('34000', 360, 'x');
VACUUM t;
UPDATE t SET k = k + 1 WHERE s BETWEEN lpad('70000', 360, 'x') AND lpad('72000', 360, 'x');
INSERT INTO t SELECT i, lpad((i * 7919 % 84000)::text, 360, 'x') FROM generate_series(1, 3000) i;
DELETE FROM t WHERE s BETWEEN lpad('50000', 360, 'x') AND lpad('51000', 360, 'x');
VACUUM (INDEX_CLEANUP OFF) t;
SELECT count(*) FROM t WHERE s BETWEEN lpad('49000', 360, 'x') AND lpad('52000', 360, 'x');
RESET enable_seqscan;
CREATE TABLE small AS SELECT i AS k FROM generate_series(1, 1000) i;
CREATE INDEX small_btree ON small (k);

-- who opens the table, reads the catalog of triggers
CREATE TRIGGER t BEFORE UPDATE ON t FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger();

CREATE ROLE scanner LOGIN IN ROLE pg_stat_scan_tables;
CREATE ROLE no_login IN ROLE pg_stat_scan_tables;

-- all rows of a call
CREATE FUNCTION rows(call text) RETURNS text LANGUAGE plpgsql AS
$$
DECLARE
	rows text;
BEGIN
	EXECUTE 'SELECT string_agg(r::text, '' '') FROM streamstat.' || call || ' r' INTO rows;
	RETURN rows;
END
$$;

CREATE FUNCTION rows_in_block(call text) RETURNS text LANGUAGE plpgsql AS
$$
BEGIN
	RETURN rows(call);
EXCEPTION WHEN division_by_zero THEN
	RETURN NULL;
END
$$;

CREATE FUNCTION one_scan(n int) RETURNS void LANGUAGE plpgsql AS
$$
DECLARE
	r record;
BEGIN
	PERFORM set_config('streamstat.io_path', CASE n % 3 WHEN 0 THEN 'buffer' ELSE 'file' END, false);
	CASE n % 7
		WHEN 0 THEN PERFORM streamstat.btree_stats('t_btree');
		WHEN 1 THEN PERFORM streamstat.sample_stats('t', 1000000);
		WHEN 2 THEN r := streamstat.btree_stats('t_btree');
		WHEN 3 THEN PERFORM streamstat.hash_stats('t_hash');
		WHEN 4 THEN PERFORM streamstat.pgstatindex('t_btree');
		WHEN 5 THEN PERFORM streamstat.pg_prewarm('t', 'read');
		WHEN 6 THEN PERFORM streamstat.pg_prewarm('t_btree', 'buffer', 'main', 0, 20000);
	END CASE;
END
$$;

-- Buffers that somebody has pinned.  Asynchronous reads that were under way at
-- a cancel keep theirs until they are done.
CREATE FUNCTION pins() RETURNS bigint LANGUAGE plpgsql AS
$$
DECLARE
	n bigint := 0;
BEGIN
	IF NOT EXISTS (SELECT FROM pg_extension WHERE extname = 'pg_buffercache') THEN
		RETURN 0;
	END IF;
	FOR i IN 1 .. 100 LOOP
		SELECT count(*) INTO n FROM pg_buffercache
			WHERE pinning_backends > 0 AND relfilenode IN
				(SELECT pg_relation_filenode(c) FROM unnest('{t, t_btree, t_hash}'::regclass[]) c);
		EXIT WHEN n = 0;
		PERFORM pg_sleep(0.02);
	END LOOP;
	RETURN n;
END
$$;

CREATE VIEW workers AS SELECT * FROM pg_stat_activity WHERE backend_type = 'parallel worker';

-- what a call leaves behind if it goes wrong
CREATE VIEW left_behind AS SELECT (SELECT count(*) FROM workers) AS workers,
	(SELECT count(*) FROM pg_locks WHERE relation::regclass::text IN ('t', 't_btree', 't_hash')) AS locks;
SQL

my $s = Session->new($node);

my $workers = 'SELECT workers FROM streamstat.stream_stats()';

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
				'SELECT workers, blocks_requested, blocks_hit + blocks_read, stream FROM streamstat.stream_stats()'
				) =~ s/\|[^|]*stream.*//r,
				join('|', $n < $most ? $n : $most, $blocks, $blocks),
				"$label: workers and blocks");
		}
	}
}

# The numbers are not trivially equal.
my @btree = split /,/, $expected{"btree_stats('t_btree')"};
cmp_ok($btree[$_], '>', 0, "btree_stats: column $_ is not zero")
  foreach (4, 5, 7, 9, 14, 15, 16);
my @hash = split /,/, $expected{"hash_stats('t_hash')"};
cmp_ok($hash[$_], '>', 0, "hash_stats: column $_ is not zero")
  foreach (1, 2, 3, 5, 7, 14);
like($expected{"sample_stats('t', 1000000, seed => 1)"}, qr/\($_,[1-9]/,
	"sample: $_ is not zero")
  foreach ('all_visible_pages', 'tuple_count', 'dead_items', 'unused_items');
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
  'SELECT workers, blocks_requested, blocks_hit, blocks_read FROM streamstat.stream_stats()';

my ($first, $last) = (100, 100 + 3 * SHARE - 1);
my $n = $last - $first + 1;
is( $s->query(
	"SELECT streamstat.pg_prewarm('t_btree', 'read', 'main', $first, $last); $prewarm_stats"
	),
	"$n\n2|$n|0|$n",
	'pg_prewarm, read: by workers');
is(buffered($first, $last), 0, 'pg_prewarm, read: nothing is in buffers');
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
is( $s->query(
	"SELECT streamstat.pg_prewarm('t', 'read'); $prewarm_stats"
	),
	"$blocks{t}\n4|$blocks{t}|0|$blocks{t}",
	'pg_prewarm, read: all of a table');
is( $s->query("SELECT streamstat.pg_prewarm('t', 'prefetch'); $workers"),
	"$blocks{t}\n0",
	'pg_prewarm, prefetch: by itself');
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
	"sample_stats('u', 100000)|t|t\nbtree_stats('u_btree')|t|t\n1\nsample('u', 100000)|t|t\nbtree_stats('u_btree')|t|t",
	'a relation that is not committed');
is($s->{err}, '', 'a relation that is not committed: no warning');

# Local buffers are for this process alone.
is( $s->query(q(
CREATE TEMP TABLE tt (k int, s text) WITH (fillfactor = 10);
ALTER TABLE tt ALTER s SET STORAGE PLAIN;
INSERT INTO tt SELECT i, lpad(i::text, 360, 'x') FROM generate_series(1, 34000) i;
SELECT estimate FROM streamstat.sample_stats('tt', 100000) WHERE statistic = 'tuple_count';
SELECT workers, blocks_requested > 16384 FROM streamstat.stream_stats();
SELECT streamstat.pg_prewarm('tt') > 16384;
) . "$workers; DROP TABLE tt"),
	"34000\n0|t\nt\n0",
	'temporary table');

# Somebody waits for a lock that conflicts with the leader's: its workers must
# not queue up behind.
my $all =
  "SELECT estimate FROM streamstat.sample_stats('t', 1000000) WHERE statistic = 'tuple_count'";
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
$s->query("SET statement_timeout = '20 s'");
is( $s->query("$all; $workers"),
	"$answer{$all}\n2",
	'while somebody waits for the relation');
is($s->{err}, '', 'while somebody waits for the relation: no error');
$s->query('COMMIT; RESET statement_timeout');
$waiter->answer;
$waiter->end;

# ---------------------------------------------------------------------------
# What others see of workers, and what becomes of them.
#
# Workers are made to wait: they have to open the table, for which they read a
# catalog that another session has locked.  The leader has the table in its
# cache.

my $locker = Session->new($node);
# Begin a call whose workers wait; returns what others see of them.
sub begin_to_wait
{
	my ($sql) = @_;
	my $seen;

	$locker->query('BEGIN; LOCK TABLE pg_trigger IN ACCESS EXCLUSIVE MODE');
	$s->send_query($sql);
	Session::poll(
		'workers that wait',
		sub {
			$seen = $locker->query(
				"SELECT pg_stat_clear_snapshot(); SELECT leader_pid, state, wait_event_type, datname, usename, query FROM workers"
			) =~ s/^\n//r;
			return (() = $seen =~ /\|Lock\|/g) == 2;
		});
	return $seen;
}

my $seen = begin_to_wait("/* a call to be seen */ $all");
my $user = $locker->query('SELECT current_user');
is( $seen,
	join("\n",
		("$s->{pid}|active|Lock|postgres|$user|/* a call to be seen */ $all;") x 2),
	'pg_stat_activity shows the workers');
$locker->query('COMMIT');
is($s->answer, $answer{$all}, 'then the call goes on');

# Calls to be ended.  pg_prewarm is without a subtransaction of its own.
foreach my $call ($all, $read)
{
	my $label = $call =~ s/.*streamstat\.(\w+).*/$1/r;

	foreach my $case (
		[ 'leader canceled', "SELECT pg_cancel_backend($s->{pid})", '57014' ],
		[
			'worker killed',
			'SELECT pg_terminate_backend(min(pid)) FROM workers', '57P01'
		],
		[
			'both workers killed',
			'SELECT bool_or(pg_terminate_backend(pid)) FROM workers', '57P01'
		],
		[
			'worker canceled',
			'SELECT pg_cancel_backend(min(pid)) FROM workers', '57014'
		])
	{
		my ($what, $sql, $sqlstate) = @$case;

		begin_to_wait($call);
		is($locker->query($sql), 't', "$label, $what: done");
		$s->answer;
		like($s->{err}, qr/^psql:.*ERROR:  $sqlstate: /m, "$label, $what: error");
		is($locker->query('SELECT * FROM left_behind'),
			'0|0', "$label, $what: nothing is left behind");
		$locker->query('COMMIT');
		is($s->query("$call; $workers"),
			"$answer{$call}\n2", "$label, $what: the next call");
	}

	begin_to_wait("SET statement_timeout = '1s'; $call");
	$s->answer;
	like($s->{err}, qr/ERROR:  57014: /, "$label, timeout: error");
	$s->query('RESET statement_timeout');
	$locker->query('COMMIT');
	is($s->query('SELECT * FROM left_behind'),
		'0|0', "$label, timeout: nothing is left behind");
	is($s->query("$call; $workers"),
		"$answer{$call}\n2", "$label, timeout: the next call");

	# in a transaction that goes on
	$s->query('BEGIN; SAVEPOINT a');
	begin_to_wait($call);
	$locker->query('SELECT pg_terminate_backend(min(pid)) FROM workers');
	$s->answer;
	like($s->{err}, qr/ERROR:  57P01: /, "$label, savepoint: error");
	$locker->query('COMMIT');
	is( $s->query("ROLLBACK TO a; $call; $workers; SELECT workers FROM left_behind; COMMIT"
		),
		"$answer{$call}\n2\n0",
		"$label, savepoint: the next call");
}

# The leader ends: so do the workers.
begin_to_wait($all);
is($locker->query("SELECT pg_terminate_backend($s->{pid})"), 't', 'leader killed');
$s->end;
Session::poll('leader killed',
	sub { $locker->query('SELECT * FROM left_behind') eq '0|0' });
is($locker->query('SELECT * FROM left_behind'),
	'0|0', 'leader killed: nothing is left behind');
$locker->query('COMMIT');
$locker->end;

# ---------------------------------------------------------------------------
# The same at random moments

$s = Session->new($node);
$s->query("SELECT one_scan(i) FROM generate_series(0, 6) i");
is($s->query($workers), 1, 'scans at random: they have workers');

my $forever =
  'DO $$ BEGIN FOR i IN %d .. 1000000 LOOP PERFORM one_scan(i); END LOOP; END $$';

sub check_end
{
	my ($what) = @_;

	is($s->query('SELECT pins()'), 0, "$what: no pin is left");
	is($s->rings, 0, "$what: no ring is left");
	is($s->query("RESET ALL; $row"), $bars, "$what: the next call");
	is($s->{err}, '', "$what: no error then");
}

my ($canceled, $left) = (0, 0);
foreach my $i (1 .. $n_timeouts)
{
	my $answer = $s->query('SET statement_timeout = '
		  . int(1 + rand(80)) . "; "
		  . sprintf($forever, $i)
		  . '; SET statement_timeout = 0; SELECT * FROM left_behind');
	$canceled++ if $s->{err} =~ /ERROR:  57014: canceling statement due to statement timeout/;
	$left++ if $answer ne '0|0' || $s->rings > 0;
}
is($canceled, $n_timeouts, 'statement_timeout: all were canceled');
is($left, 0, 'statement_timeout: nothing is left behind');
check_end('statement_timeout');

# Caught, one after the other in one transaction.  One that comes outside of
# the block ends the call; then there is another call.
$s->query(q(
CREATE SEQUENCE caught MINVALUE 0 START 0;
CREATE FUNCTION catch(wanted int) RETURNS void LANGUAGE plpgsql AS
$$
DECLARE
	scans int := 0;
BEGIN
	WHILE (SELECT last_value FROM caught) < wanted LOOP
		BEGIN
			LOOP
				PERFORM one_scan(scans);
				scans := scans + 1;
			END LOOP;
		EXCEPTION WHEN query_canceled THEN
			scans := scans + 1;
			PERFORM nextval('caught');
			IF EXISTS (SELECT FROM workers) THEN
				RAISE 'a worker is left';
			END IF;
		END;
	END LOOP;
END
$$));
my $canceler = Session->new($node);
my $rings = 0;
my $errors = '';
my $caught = 0;
while ($caught < $n_cancels && $errors !~ /ERROR:  (?!57014)/)
{
	$s->send_query("SELECT catch($n_cancels)");
	while ($s->busy)
	{
		Time::HiRes::usleep(1000 + rand(60_000));
		$canceler->query("SELECT pg_cancel_backend($s->{pid})");
		$rings = $s->rings if $s->rings > $rings;
	}
	$s->answer;
	$errors .= $s->{err};
	$caught = $canceler->query('SELECT last_value FROM caught');
}
cmp_ok($caught, '>=', $n_cancels, 'pg_cancel_backend: were caught');
unlike($errors, qr/ERROR:  (?!57014)/, 'pg_cancel_backend: no other error');
cmp_ok($rings, '<=', 1, 'pg_cancel_backend: rings do not pile up');
# one that is still on its way
$s->query('SELECT pg_sleep(0.1)');
check_end('pg_cancel_backend');

# workers killed
my $killed = 0;
my $strange = '';
foreach my $i (1 .. $n_killed)
{
	$s->send_query(sprintf($forever, $i));
	Time::HiRes::usleep(rand(30_000));
	Session::poll(
		'a worker to kill',
		sub {
			$canceler->query(
				'SELECT coalesce(bool_or(pg_terminate_backend(pid)), false) FROM (SELECT pid FROM workers LIMIT 1) w'
			) eq 't';
		});

	# One that has done its work may go without a word: then there is another.
	while ($s->{err} !~ /ERROR/)
	{
		Time::HiRes::usleep(rand(30_000));
		$canceler->query('SELECT pg_terminate_backend(pid) FROM workers LIMIT 1');
		$s->busy;
	}
	$s->answer;
	$killed++ if $s->{err} =~ /ERROR:  57P01: /;
	$strange .= $s->{err} if $s->{err} !~ /ERROR:  57P01: /;
	$strange .= $s->query('SELECT * FROM left_behind') =~ s/^0\|0$//r;
}
is($killed, $n_killed, 'workers killed: each time an error');
is($strange, '', 'workers killed: nothing else');
check_end('workers killed');

# leaders killed
my $gone = 0;
foreach my $i (1 .. $n_terminated)
{
	my $victim = Session->new($node);
	
	$victim->send_query(sprintf($forever, $i));
	Time::HiRes::usleep(rand(80_000));
	$canceler->query("SELECT pg_terminate_backend($victim->{pid})");
	$victim->answer;
	$gone++ if $victim->{err} =~ /57P01: /;
	$victim->end;
	Session::poll('leaders killed',
		sub { $canceler->query('SELECT * FROM left_behind') eq '0|0' });
}
is($gone, $n_terminated, 'leaders killed: they ended');
is($canceler->query('SELECT * FROM left_behind'),
	'0|0', 'leaders killed: nothing is left behind');
$canceler->end;
check_end('leaders killed');

# ---------------------------------------------------------------------------
# Damaged pages

my %file = split /[|\n]/,
  $s->query(
	"SELECT relname, pg_relation_filepath(oid) FROM pg_class WHERE relname IN ('t', 't_btree', 't_hash')"
  );

# Overwrite some bytes of a block of a relation.
sub damage
{
	my ($relation, $offset, $bytes, @blocks) = @_;

	open(my $fh, '+<', $node->data_dir . "/$file{$relation}") or die;
	binmode $fh;
	foreach my $block (@blocks)
	{
		sysseek($fh, $block * BLCKSZ + $offset, 0) or die;
		syswrite($fh, $bytes) or die;
	}
	close $fh;
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
		damage('t_btree', 5000, 'damage', 20001, 40002, 40003);
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
				$path eq 'file' && $call !~ /, 1\)$/ ? $n : 0,
				"$label: workers");
		}
	}
	if ($call =~ /^btree/)
	{
		my @damaged = split /,/, $rows;
		is("@damaged[11, 13]", '3 20001', 'damaged: the pages are counted');
	}
}
foreach my $path ('file', 'buffer')
{
	foreach my $n (0, 2)
	{
		$s->query(
			"SET streamstat.io_path = $path; SET streamstat.max_workers = $n; SELECT * FROM streamstat.pgstatindex('t_btree')"
		);
		like(
			$s->{err},
			qr/ERROR:  XX001: invalid page in block (20001|4000[23]) of relation /,
			"damaged, $path, pgstatindex, $n workers: error");
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

$node->stop;
my $log = slurp_file($node->logfile);
unlike($log, qr/PANIC|TRAP|terminated by signal/, 'no crash');
unlike(
	$log,
	qr/leak|not closed|still referenced/i,
	'no leak');
$node->clean_node;

# ---------------------------------------------------------------------------
# A standby

my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 1);
$primary->append_conf('postgresql.conf',
	"autovacuum = off\nmaintenance_work_mem = 256MB\nmax_wal_size = 4GB");
$primary->start;
$primary->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'backup', has_streaming => 1);
$standby->start;
$primary->safe_psql('postgres',
	'CREATE EXTENSION streamstat;' . sprintf($make, 52000));
$primary->wait_for_catchup($standby);

foreach my $call ("btree_stats('t_btree')", "sample_stats('t', 1000000)",
	"sample_stats('t', 25000, seed => 3)")
{
	my $query = "SELECT * FROM streamstat.$call";
	my $expected = $primary->safe_psql('postgres',
		"SET streamstat.max_workers = 0; $query; $workers");

	like($expected, qr/\n0$/, "$call: on the primary, without workers");
	foreach my $path ('file', 'buffer')
	{
		is( $standby->safe_psql(
				'postgres', "SET streamstat.io_path = $path; $query; $workers"),
			$call =~ /, 3\)/ ? $expected : $expected =~ s/\n0$/\n2/r,
			"$call: on the standby, by workers, $path");
	}
}
is( $standby->safe_psql(
		'postgres', "SELECT streamstat.pg_prewarm('t', 'read') > 0; $workers"),
	"t\n2",
	'pg_prewarm: on the standby, by workers');

$standby->stop;
$primary->stop;
$log = slurp_file($primary->logfile) . slurp_file($standby->logfile);
unlike($log, qr/PANIC|TRAP|terminated by signal/, 'no crash of these');
unlike($log, qr/leak|not closed|still referenced/i, 'no leak in these');

done_testing();
