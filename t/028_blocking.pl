
# Copyright (c) 2026, streamstat contributors

# A call that keeps another session waiting for its lock ends, after a while:
# one that sleeps for streamstat.max_rate, and one that reads as fast as it can, alone
# or with workers; and one that predicts a size.
#
# What takes long at full speed is pages of zeros, which are in no place of the disk.

use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Utils;
use Test::More;

use lib "$FindBin::RealBin/lib";
use Faults;
use Node;
use Pages;
use Session;

use constant HUGE => 32 * 1024 * 1024 * 1024 / BLCKSZ;

# A page of a map is copied to other blocks, where its checksum would be wrong.
my $node = new_node('blocking', '', checksums => 0);
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE t AS SELECT i AS k, ARRAY[i] AS a, repeat('x', 500) AS s FROM generate_series(1, 20000) i;
CREATE INDEX t_btree ON t (k);
CREATE INDEX t_brin ON t USING brin (k) WITH (pages_per_range = 1);
CREATE ROLE scanner IN ROLE pg_stat_scan_tables;
SQL

my $scanner = Session->new($node);
my $ddl = Session->new($node);
my $observer = Session->new($node);
my $refused = qr/ERROR:  55P03: canceling statement due to conflict with a lock request on relation "%s"/;

# How many tables and indexes has a session locked?  A row type, which the parser locks
# for a moment, is none.
sub locks
{
	my ($session) = @_;

	return $observer->query(
		"SELECT count(*) FROM pg_locks l JOIN pg_class c ON c.oid = l.relation WHERE l.pid = $session->{pid} AND mode = 'AccessShareLock' AND c.oid >= 16384 AND c.relkind IN ('r', 'i')"
	);
}

# Begin a slow call, and have somebody wait for a lock.
sub begin_both
{
	my ($call, $lock, $before, $timeout) = @_;

	$timeout //= '60s';
	$scanner->query('SET streamstat.max_rate = \'8kB\'; ' . ($before // ''));
	$scanner->send_query($call);
	Session::poll($call, sub { locks($scanner) > 0 });
	$ddl->send_query("BEGIN; SET LOCAL lock_timeout = '$timeout'; $lock; ROLLBACK");
}

foreach my $case (
	[ "SELECT streamstat.table_stats('t')", 'TRUNCATE t', 't' ],
	[ "SELECT streamstat.pgstattuple('t')", 'LOCK t', 't' ],
	[ "SELECT streamstat.sample_stats('t', 1000)", 'DROP TABLE t', 't' ],
	[ "SELECT streamstat.btree_stats('t_btree')", 'DROP INDEX t_btree', 't_btree' ],
	[ "SELECT streamstat.brin_stats('t_brin')", 'ALTER TABLE t ADD z int', 't' ],
	[ "SELECT streamstat.bloat('t_btree')", 'LOCK t', 't' ],
	[ "SELECT streamstat.pg_prewarm('t')", 'TRUNCATE t', 't' ],
	[ "DECLARE c CURSOR WITH HOLD FOR SELECT streamstat.table_stats('t')", 'TRUNCATE t', 't' ])
{
	my ($call, $lock, $name) = @$case;
	my $message = $refused =~ s/%s/$name/r;

	begin_both($call, $lock, 'SET streamstat.max_blocking_time = 200');
	$ddl->answer;
	is($ddl->{err}, '', "$lock waits no longer");
	$scanner->answer;
	like($scanner->{err}, qr/$message/, "than for some of $call");
}

# the default, for a role that cannot change it
begin_both("SELECT streamstat.table_stats('t')", 'TRUNCATE t', 'RESET ALL; SET streamstat.max_rate = \'8kB\'; SET ROLE scanner');
$ddl->answer;
is($ddl->{err}, '', 'a lock is had after a second');
$scanner->answer;
like($scanner->{err}, qr/ERROR:  55P03: /, 'by default');
$scanner->query('SET streamstat.max_blocking_time = -1');
like($scanner->{err}, qr/ERROR:  42501: permission denied to set parameter/, 'only a superuser may change that');

# A report is about the other relations, too.  It may have read the table when the lock is asked for.
my $note = Session::poll('a report skips a relation', sub {
	begin_both(
		"SELECT string_agg(relation_name || ': ' || note, ' ') FROM streamstat.database_report(budget => '512kB', max_time => '10 min', max_rate => '128kB') WHERE relid = 't'::regclass",
		'LOCK t', 'RESET ROLE; SET streamstat.max_blocking_time = 0');
	$ddl->answer;
	is($ddl->{err}, '', 'a report does not keep anybody waiting');
	return $scanner->answer;
});
like($note, qr/^t: canceling statement due to conflict with a lock request/, 'and says why it skipped a relation');
is($scanner->{err}, '', 'without an error');

# What its transaction locked before is not the call's matter, unless it reads that.
$node->safe_psql('postgres', 'CREATE TABLE before AS SELECT * FROM t; CREATE INDEX before_i ON before (k)');
foreach my $case (
	[ "SELECT streamstat.table_stats('t')", 'SELECT FROM before LIMIT 1' ],
	[ "SELECT streamstat.btree_stats('t_btree')", 'SELECT FROM before LIMIT 1' ],
	[ "SELECT streamstat.pg_prewarm('t')", 'SELECT FROM before LIMIT 1' ],
	[ "SELECT ended_by FROM streamstat.prewarm('t', include_maps => false) WHERE is_sum", 'SELECT FROM before LIMIT 1' ],
	[ "SELECT count(*) FROM streamstat.database_report(budget => '512kB', max_time => '10 min', max_rate => '128kB')", 'SELECT FROM t LIMIT 1' ])
{
	my ($call, $before) = @$case;
	my ($name) = $before =~ /FROM (\w+)/;

	begin_both($call, "LOCK $name", "RESET ROLE; SET streamstat.max_blocking_time = 0; BEGIN; $before", '1s');
	$ddl->answer;
	like($ddl->{err}, qr/55P03: canceling statement due to lock timeout/, "$before, $call: who wants a lock on $name waits");
	$ddl->query('ROLLBACK');
	ok($scanner->busy, "$before: $call goes on");
	$observer->query("SELECT pg_cancel_backend($scanner->{pid})");
	$scanner->answer;
	like($scanner->{err}, qr/57014/, "$before: $call: until it is canceled");
	$scanner->query('ROLLBACK');
}
begin_both("SELECT streamstat.btree_stats('before_i')", 'LOCK before', 'RESET ROLE; SET streamstat.max_blocking_time = 0; BEGIN; SELECT FROM before LIMIT 1');
$scanner->answer;
like($scanner->{err}, qr/55P03: .*"before"/, 'the table of what it reads counts, too');
$scanner->query('ROLLBACK');
$ddl->answer;
is($ddl->{err}, '', '... and is had');

# The same lock, and nobody is refused: those who wait do so for more than a call,
# for less than an AccessExclusiveLock, or may wait.
foreach my $case (
	[ 'SET streamstat.max_blocking_time = -1', 'LOCK t', qr/55P03: canceling statement due to lock timeout/, '2s' ],
	[ 'SET streamstat.max_blocking_time = 0; BEGIN; LOCK t IN ROW EXCLUSIVE MODE', 'LOCK t', qr/55P03: canceling statement due to lock timeout/, '1s' ],
	[ 'SET streamstat.max_blocking_time = 0', 'LOCK t IN EXCLUSIVE MODE; SELECT pg_sleep(0.5)', qr/^$/ ])
{
	my ($before, $lock, $expected, $timeout) = @$case;

	begin_both("SELECT streamstat.table_stats('t')", $lock, $before, $timeout);
	$ddl->answer;
	like($ddl->{err}, $expected, "$before: $lock");
	$ddl->query('ROLLBACK');
	ok($scanner->busy, "$before: $lock: the call goes on");
	$observer->query("SELECT pg_cancel_backend($scanner->{pid})");
	$scanner->answer;
	like($scanner->{err}, qr/57014/, 'until it is canceled');
	$scanner->query('ROLLBACK');
}

# CREATE INDEX CONCURRENTLY on another table waits for all older snapshots.  A query
# has one; the procedure has none while it reads.
my $concurrently = "SET lock_timeout = '%s'; CREATE INDEX CONCURRENTLY other_%d ON other (i)";
my $number = 0;

$node->safe_psql('postgres', 'CREATE TABLE other AS SELECT i FROM generate_series(1, 10) i');
sub begin_call
{
	my ($call, $before) = @_;

	$scanner->query("RESET ALL; SET streamstat.max_rate = '64kB'; $before");
	$scanner->send_query($call);
	Session::poll($call, sub { locks($scanner) > 0 });
}

begin_call("SELECT streamstat.table_stats('t')", 'SET streamstat.max_blocking_time = 200');
$ddl->query(sprintf $concurrently, '60s', ++$number);
is($ddl->{err}, '', 'CREATE INDEX CONCURRENTLY on another table waits no longer than for some of a call');
$scanner->answer;
like($scanner->{err}, qr/ERROR:  55P03: canceling statement due to conflict with a session that waits for this transaction/,
	'which ends with an error');
foreach my $before ('SET streamstat.max_blocking_time = -1',
	'SET streamstat.max_blocking_time = 0; BEGIN; SELECT FROM pg_current_xact_id()')
{
	begin_call("SELECT streamstat.table_stats('t')", $before);
	$ddl->query(sprintf $concurrently, '1s', ++$number);
	like($ddl->{err}, qr/55P03: canceling statement due to lock timeout/, "$before: it waits");
	ok($scanner->busy, "$before: the call goes on");
	$observer->query("SELECT pg_cancel_backend($scanner->{pid})");
	$scanner->answer;
	$scanner->query('ROLLBACK');
}

# A prewarm then ends as by a limit, and has its rows.
$node->safe_psql('postgres', 'CHECKPOINT');
begin_call("SELECT ended_by, resume_from ~ 'main' FROM streamstat.prewarm('t', 'read', include_maps => false) WHERE is_sum",
	'SET streamstat.max_blocking_time = 200');
$ddl->query(sprintf $concurrently, '60s', ++$number);
is($ddl->{err}, '', 'CREATE INDEX CONCURRENTLY waits no longer for a prewarm');
is($scanner->answer, 'blocking|t', 'which ends, and says where to go on');
begin_call("CALL streamstat.run_database_report(budget => '1GB', max_time => '10 min', max_rate => '64kB')",
	'SET streamstat.max_blocking_time = -1');
$ddl->query(sprintf $concurrently, '60s', ++$number);
is($ddl->{err}, '', 'it does not wait for the procedure');
ok($scanner->busy, 'which goes on');
$observer->query("SELECT pg_cancel_backend($scanner->{pid})");
$scanner->answer;
like($scanner->{err}, qr/57014/, 'until it is canceled');
is($scanner->query("CALL streamstat.run_database_report(budget => '64kB'); SELECT ended_by FROM streamstat.database_report_summary()"),
	'budget', 'and it can be called again');
$scanner->query('RESET lock_timeout');
$ddl->query('RESET lock_timeout');

# Calls that do not sleep: there is no rate.
$node->safe_psql('postgres', 'CREATE TABLE huge AS SELECT 1 AS k; CREATE INDEX huge_btree ON huge (k); CHECKPOINT');
my $segment = $node->safe_psql('postgres',
	"SELECT pg_size_bytes(current_setting('segment_size')) / " . BLCKSZ);
foreach my $name ('huge', 'huge_btree')
{
	my $path = $node->data_dir . '/'
	  . $node->safe_psql('postgres', "SELECT pg_relation_filepath('$name')");

	for (my $n = 0; $n * $segment < HUGE; $n++)
	{
		my $file = $path . ($n > 0 ? ".$n" : '');

		append_to_file($file, '');
		truncate($file, BLCKSZ * $segment) or die "could not extend $file: $!";
	}
}

foreach my $case (
	[ "table_stats('huge')", 0 ],
	[ "table_stats('huge')", 0, 'SET streamstat.io_path = buffer' ],
	[ "table_stats('huge')", 2 ],
	[ "table_stats('huge')", 2, 'SET streamstat.io_path = buffer' ],
	[ "pgstattuple('huge')", 2 ],
	[ "btree_stats('huge_btree')", 0 ],
	[ "btree_stats('huge_btree')", 2 ],
	[ "pg_prewarm('huge', 'prefetch')", 0 ],
	[ "pg_prewarm('huge', 'read')", 0 ],
	[ "pg_prewarm('huge', 'read')", 2 ],
	[ "pg_prewarm('huge', 'buffer')", 0 ],
	[ "pg_prewarm('huge', 'buffer')", 2 ],
	[ "table_stats('huge')", 2, 'RESET streamstat.max_blocking_time' ])
{
	my ($call, $nworkers, $setting) = @$case;
	my ($name) = $call =~ /'(\w+)'/;
	my $lock = $name eq 'huge' ? 'LOCK huge' : "DROP INDEX $name";
	my $message = $refused =~ s/%s/$name/r;
	my $what = "$call, $nworkers workers" . ($setting ? ", $setting" : '');

	$scanner->query("RESET ALL; SET streamstat.max_blocking_time = 0; SET statement_timeout = '120s'; SET max_parallel_maintenance_workers = $nworkers; " . ($setting // ''));
	$scanner->send_query("SELECT * FROM streamstat.$call");
	Session::poll("$what: begins", sub {
		return $nworkers > 0
		  ? $observer->query("SELECT count(*) FROM pg_stat_activity WHERE leader_pid = $scanner->{pid}") == $nworkers
		  : locks($scanner) > 0;
	});
	$ddl->query("BEGIN; SET LOCAL lock_timeout = '60s'; $lock; ROLLBACK");
	is($ddl->{err}, '', "$what: a lock is had");
	$observer->query("SELECT pg_cancel_backend($scanner->{pid})") if $ddl->{err};
	$scanner->answer;
	like($scanner->{err}, qr/$message/, "$what: which is an error");
}

# Those that leave out relations go on without an error.
foreach my $case ([ 'read', 0 ], [ 'read', 2 ], [ 'prefetch', 0 ])
{
	my ($mode, $nworkers) = @$case;
	my $what = "prewarm('huge', '$mode'), $nworkers workers";

	$scanner->query("RESET ALL; SET streamstat.max_blocking_time = 0; SET statement_timeout = '120s'; SET max_parallel_maintenance_workers = $nworkers");
	$scanner->send_query("SELECT max(note) FROM streamstat.prewarm('huge', '$mode', include_indexes => false) WHERE NOT is_sum");
	# A lock alone can be that of the search for what is to be read.
	Session::poll("$what: begins", sub { $observer->query("SELECT count(*) FROM streamstat.stat_progress WHERE relid = 'huge'::regclass") });
	$ddl->query("BEGIN; SET LOCAL lock_timeout = '60s'; LOCK huge; ROLLBACK");
	is($ddl->{err}, '', "$what: a lock is had");
	# A process that holds no lock between two runs finds the relation locked.
	like($scanner->answer, qr/^(stopped because another session waits for a lock|locked by another session)$/, "$what: the rest is left out");
}

is($scanner->query("RESET ALL; SELECT table_len FROM streamstat.pgstattuple('t')"),
	$node->safe_psql('postgres', "SELECT pg_relation_size('t')"),
	'afterwards');
$scanner->end;
$ddl->end;
$observer->end;

# ---------------------------------------------------------------------------
# A model of a rebuild looks at the clock, to see who waits, every 10 ms of CPU at least, and
# so does what counts and lists ranges of a map.  Time in which the process does not run is none.

my $faults;

# The kernel charges a process for memory that it frees for it, so one of five calls is enough.
sub looks_at_clock
{
	my ($call) = @_;
	my @longest;

	while (@longest < 5 && (!@longest || $longest[-1] > 10_000))
	{
		$faults->set(timed => $scanner->{pid});
		$scanner->query($call);
		push @longest, $faults->hits('longest');
		$faults->clear;
	}
	cmp_ok($longest[-1], '<=', 10_000, "@longest microseconds at most");
	return;
}

SKIP:
{
	$faults = Faults->new($node) or skip 'no C compiler for test/faults', 1;

	$node->safe_psql('postgres', <<'SQL');
CREATE TABLE m AS SELECT i / 2 AS k, ARRAY[i % 5000, i % 7001, i / 9, i / 50, i % 100] AS a FROM generate_series(1, 600000) i;
CREATE INDEX m_btree ON m (k);
CREATE INDEX m_hash ON m USING hash (k);
SET maintenance_work_mem = '1GB';
CREATE INDEX m_gin ON m USING gin (a);
DELETE FROM m WHERE k % 3 = 0;
CREATE TABLE mapped AS SELECT 1 AS k;
VACUUM (FREEZE) mapped;
SQL
	my $mapped = file_of($node, 'mapped');
	$node->stop;

	# every second block is frozen
	my $header = substr(read_block("${mapped}_vm", 0), 0, 24);
	write_block("${mapped}_vm", $_, $header . "\x33" x (BLCKSZ - 24)) foreach 0 .. 3;
	truncate($mapped, 4 * 4 * (BLCKSZ - 24) * BLCKSZ) or die "could not extend $mapped: $!";
	$faults->start($node);
	$scanner = Session->new($node);
	foreach my $case (
		[ 'm_btree', 1000000 ], [ 'm_btree', 400 ], [ 'm_hash', 400 ], [ 'm_gin', 1000000 ],
		[ 'm_gin', 1000, "SET maintenance_work_mem = '1MB'" ], [ 'm', 1000000 ])
	{
		my ($relation, $blocks, $setting) = @$case;

		foreach my $path ('file', 'buffer')
		{
			my $call = "RESET ALL; SET streamstat.io_path = $path; " . ($setting ? "$setting; " : '') . "SELECT predicted_bytes > 0 FROM streamstat.bloat('$relation', $blocks, 1)";

			# the first call looks things up in catalogs
			is($scanner->query($call), 't', $call);
			looks_at_clock($call);
		}
	}
	foreach my $call ("sum(unfrozen_ranges) FROM streamstat.visibility_map_summary('mapped')", "count(*) FROM streamstat.unfrozen_ranges('mapped')")
	{
		is($scanner->query("RESET ALL; SELECT $call"), 2 * 4 * (BLCKSZ - 24), $call);
		# the next call looks at the clock, if this one does not
		looks_at_clock("SELECT $call; SELECT streamstat.visibility_map_summary('m')");
	}
	$scanner->end;
}
stop_clean($node);
done_testing();
