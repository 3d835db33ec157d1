
# Copyright (c) 2026, streamstat contributors

# bin/streamstat-rebuild runs the plan of a database, and leaves nothing half done.

use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Utils;
use Test::More;

use lib "$FindBin::RealBin/lib";
use Node;
use Pages;
use Session;

my $node = new_node('rebuild', q(
max_prepared_transactions = 2
autovacuum = off
));
my $program = "$FindBin::RealBin/../bin/streamstat-rebuild";
my @connection = ('-h', $node->host, '-p', $node->port);

sub sql
{
	my ($query) = @_;

	return $node->safe_psql('postgres', $query);
}

# Start the program
sub start
{
	my (@options) = @_;
	my %run = (out => '', err => '');

	# bash cannot trap what has been ignored.
	local $SIG{INT} = 'DEFAULT';

	$run{harness} = IPC::Run::start([ $program, @connection, @options ], '<', '/dev/null', '>', \$run{out}, '2>', \$run{err});
	return \%run;
}

# Wait for its end: its exit code, and what it printed
sub finish
{
	my ($run) = @_;

	$run->{harness}->finish;
	note($run->{out}, $run->{err});
	return ($run->{harness}->full_result >> 8, $run->{out}, $run->{err});
}

sub rebuild
{
	return finish(start(@_));
}

sub size
{
	my ($relation) = @_;

	return sql("SELECT pg_relation_size('$relation')");
}

# Send a signal to the program and to all that it has started, as a terminal does.  With a
# pattern, send it to what it has started whose command line matches.
sub signal_all
{
	my ($signal, $run, $pattern) = @_;
	my (%children, @found);
	my @pids = map { $_->{PID} } @{ $run->{harness}->{KIDS} };

	foreach my $file (glob('/proc/[0-9]*/stat'))
	{
		my ($pid, $parent) = (eval { slurp_file($file) } // '') =~ /^(\d+) \(.*\) \S (\d+)/s or next;
		push @{ $children{$parent} }, $pid;
	}
	while (defined(my $pid = shift @pids))
	{
		push @pids, @{ $children{$pid} // [] };
		push @found, $pid if !$pattern || (eval { slurp_file("/proc/$pid/cmdline") } // '') =~ $pattern;
	}
	return kill($signal, @found);
}

# An index whose pages are two thirds full, because its keys came in no order
sub loose_index
{
	my ($table, $index, $rows) = (@_, 100000);

	sql("CREATE TABLE $table (k text, filler text); CREATE INDEX $index ON $table (k);
		INSERT INTO $table SELECT md5(g::text), repeat('x', 60) FROM generate_series(1, $rows) g");
}

my ($code, $out, $err) = rebuild('--version');
is($out, 'streamstat-rebuild (streamstat) ' . sql("SELECT extversion FROM pg_extension WHERE extname = 'streamstat'") . "\n", 'version');
($code, $out) = rebuild('--help');
like($out, qr/--window=TIME/, 'help');
foreach my $case ([ '--nothing' ], [ '--window' ], [ '--retries=x' ], [ '--all', 'postgres' ], [ 'postgres', 'again' ])
{
	($code, $out, $err) = rebuild(@$case);
	is($code, 1, "@$case: fails");
	like($err, qr/^streamstat-rebuild: error: /, "@$case: and says why");
}
foreach my $case ([ '--max-wait=5 minuts', 'minuts' ], [ '--lock-timeout=x', 'lock_timeout' ], [ '--lock-timeout=0', 'lock-timeout' ],
	[ '--window=0', 'window' ], [ '--budget=0', 'budget' ], [ '--min-size=much', 'much' ], [ '--min-size=-1MB', 'min-size' ], [ '--margin=wide', 'wide' ], [ '--schema=typo', 'typo' ], [ '--port=1', 'connection' ])
{
	foreach my $database ('--dbname=postgres', '--all')
	{
		next if "@$case $database" =~ /schema.*all/;
		($code, $out, $err) = rebuild($case->[0], $database);
		is($code, 1, "$case->[0] $database: fails");
		like($err, qr/$case->[1]/, "$case->[0] $database: and says why");
	}
}
{
	my $services = PostgreSQL::Test::Utils::tempdir() . '/services';
	local $ENV{PGSERVICEFILE} = $services;
	local $ENV{PGSERVICE} = 'elsewhere';

	append_to_file($services, "[elsewhere]\nhost=/nowhere\nport=1\ndbname=template1\n");
	($code, $out) = rebuild('postgres');
	is($code, 0, 'a service: what is given comes before it');
}
($code, $out, $err) = rebuild('template1');
is($code, 1, 'without the extension: fails');
like($err, qr/does not have the extension/, 'without the extension: and says so');
($code, $out, $err) = rebuild('postgres');
is($code, 0, 'nothing to do: succeeds');
like($out, qr/nothing to do/, 'nothing to do: and says so');

loose_index('one', 'one_k');
my $before = size('one_k');
($code, $out) = rebuild('--dry-run', 'postgres');
is($code, 0, 'dry run: succeeds');
like($out, qr/REINDEX INDEX CONCURRENTLY public.one_k: foretold \d+ kB in \d+\.\d s$/m, 'dry run: a command');
is(size('one_k'), $before, 'dry run: which was not run');
my ($foretold) = $out =~ /public.one_k: foretold (\d+ kB)/;
like($out, qr/^ *\Q$foretold\E +1 to run, 0 left out$/m, 'dry run: the sum');

my $log = PostgreSQL::Test::Utils::tempdir() . '/log';
($code, $out) = rebuild("--log=$log", '-d', 'postgres');
is($code, 0, 'one index: succeeds');
my $returned;
($foretold, $returned) = $out =~ /public.one_k: foretold (\d+) kB in \d+\.\d s, returned (\d+) kB/;
is($returned, int(($before - size('one_k')) / 1024), 'one index: what it says came back');
cmp_ok(abs($returned - $foretold), '<', 200, 'one index: about as foretold');
like($out, qr/1 done, 0 left out, 0 failed/, 'one index: the sum');
is(sql("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"), 0, 'one index: no lock is left');
is(slurp_file($log), $out, 'one index: the log');

# Names may contain everything.
my $odd = qq("a\nb\tc%s\\\\'\$d");
$odd =~ s/\\\\/\\/;
sql("CREATE SCHEMA $odd");
loose_index("$odd.$odd", 'odd');
sql("ALTER INDEX $odd.odd RENAME TO ${\($odd =~ s/a/i/r)}");
loose_index('two', 'two_k');
($code, $out) = rebuild('--schema=public', '--window=30days', '--retries=08', 'postgres');
is($code, 0, 'schema: succeeds');
like($out, qr/1 done/, 'schema: only what is in it');
($code, $out) = rebuild('--all');
is($code, 0, 'odd names: succeeds');
like($out, qr/1 done/, 'odd names: rebuilt');

# Names that are commands: of psql after a newline, and of bash where a number is computed.
my $trap = PostgreSQL::Test::Utils::tempdir_short();
sql(qq(CREATE FUNCTION fails(t text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS
	\$\$ BEGIN IF current_setting('application_name') = 'streamstat-rebuild' THEN RAISE 'it fails'; END IF; RETURN t; END \$\$));
loose_index('trap', 'trap_k');
sql(qq(DROP INDEX trap_k; CREATE INDEX trap_k ON trap (fails(k)) WITH (fillfactor = 30); ALTER INDEX trap_k RESET (fillfactor);
	ALTER INDEX trap_k RENAME TO "a\n\\! touch $trap/psql #"));
($code, $out) = rebuild('postgres');
is($code, 2, 'a command of psql: fails');
like($out, qr/failed: P0001: it fails/, 'a command of psql: why');
like($out, qr/^dropped public\."a.*_ccnew", which the command had left$/m, 'a command of psql: what is left is dropped');
sql('DROP TABLE trap');
loose_index('trap', 'trap_k');
sql(qq(ALTER INDEX trap_k RENAME TO "a\e\x1ffields[\$(>$trap/bash)]\x1f"));
($code, $out) = rebuild('--dry-run', 'postgres');
is($code, 0, 'a command of bash: shown');
unlike($out, qr/[^\n[:print:]]/, 'a command of bash: without control characters');
($code, $out) = rebuild('postgres');
is($code, 0, 'a command of bash: succeeds');
is(join(' ', glob("$trap/*")), '', 'commands in names: not run');
sql('DROP TABLE trap');

# Timeouts of roles do not count.
my @timeouts = grep { sql("SELECT count(*) FROM pg_settings WHERE name = '$_'") } 'statement_timeout', 'lock_timeout', 'transaction_timeout';
sql("ALTER ROLE CURRENT_USER SET $_ = '1h'") foreach @timeouts;
loose_index('timed', 'timed_k');
sql(q(CREATE FUNCTION timely(t text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN
		IF current_setting('application_name') = 'streamstat-rebuild' AND concat(current_setting('statement_timeout'),
			current_setting('lock_timeout'), current_setting('transaction_timeout', true)) ~ '[^0]' THEN RAISE 'a timeout'; END IF;
		RETURN t; END $$;
	DROP INDEX timed_k; CREATE INDEX timed_k ON timed (timely(k)) WITH (fillfactor = 30); ALTER INDEX timed_k RESET (fillfactor)));
($code, $out) = rebuild('postgres');
is($code, 0, 'timeouts of a role: do not count');
like($out, qr/timed_k: .* returned/, 'timeouts of a role: done');
sql("DROP TABLE timed; ALTER ROLE CURRENT_USER RESET ALL");

# Tables
sql('CREATE TABLE empty AS SELECT g AS k FROM generate_series(1, 100000) g; CREATE INDEX empty_k ON empty (k);
	DELETE FROM empty WHERE k > 10 AND k < 99990; VACUUM empty');
$before = size('empty');
($code, $out) = rebuild('--downtime', 'postgres');
is($code, 0, 'a table: succeeds');
cmp_ok(size('empty'), '<', $before / 10, 'a table: rebuilt');

# A snapshot keeps nobody from a lock.
sql('CREATE TABLE holes AS SELECT g AS k FROM generate_series(1, 100000) g; DELETE FROM holes WHERE k > 10 AND k < 99990; VACUUM holes');
my $reader = Session->new($node);
$reader->query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM pg_class');
($code, $out) = rebuild('--downtime', '--max-wait=0', 'postgres');
is($code, 0, 'an old snapshot: succeeds');
like($out, qr/^(VACUUM FULL|REPACK) public.holes: .*returned/m, 'an old snapshot: a command that only takes a lock does not wait for it');
$reader->end;
sql('DROP TABLE holes');

# Without the right to it, VACUUM only warns.
sql('CREATE ROLE reader LOGIN; GRANT pg_stat_scan_tables TO reader; DELETE FROM empty WHERE k > 10; VACUUM empty;
	INSERT INTO empty SELECT generate_series(1, 100000); DELETE FROM empty WHERE k > 10 AND k < 99990; VACUUM empty');
($code, $out) = rebuild('-U', 'reader', '--downtime', 'postgres');
is($code, 2, 'without the right: fails');
like($out, qr/public.empty: .*failed: [0-9A-Z]{5}: .*empty/, 'without the right: and says so');
sql('DROP TABLE empty');

# An index that is not valid is rebuilt, whatever that gives back.
sql("CREATE TABLE small AS SELECT 1 AS k; CREATE INDEX small_k ON small (k); UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'small_k'::regclass");
($code, $out) = rebuild('--min-size=1GB', 'postgres');
is($code, 0, 'a repair: succeeds');
like($out, qr/public.small_k: foretold no size.*, returned /, 'a repair: its size is not known before');
is(sql("SELECT indisvalid FROM pg_index WHERE indexrelid = 'small_k'::regclass"), 't', 'a repair: done');
sql('DROP TABLE small');

# What somebody has to decide is named: a unique index, and a table.
sql("CREATE TABLE undecided AS SELECT g AS k FROM generate_series(1, 1000) g; CREATE UNIQUE INDEX undecided_k ON undecided (k);
	UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'undecided_k'::regclass; CHECKPOINT");
my $file = $node->data_dir . '/' . sql("SELECT pg_relation_filepath('undecided')");
my $sound = read_block($file, 1);
($code, $out) = rebuild('postgres');
is($code, 3, 'an invalid unique index: left out');
like($out, qr/DROP INDEX CONCURRENTLY public.undecided_k: .*left out: its build failed/, 'an invalid unique index: and why');
is(sql("SELECT count(*) FROM pg_index WHERE indexrelid = 'undecided_k'::regclass"), 1, 'an invalid unique index: still there');
sql('CREATE TABLE rewritten AS SELECT g / 2 AS k FROM generate_series(1, 100000) g; DELETE FROM rewritten WHERE k % 10 > 0; VACUUM rewritten');
$node->psql('postgres', 'CREATE UNIQUE INDEX CONCURRENTLY rewritten_k ON rewritten (k)');
($code, $out) = rebuild('--downtime', '--min-size=0', 'postgres');
like($out, qr/^VACUUM FULL public.rewritten: .*, returned .*\(it has built public.rewritten_k as well, which is not valid\)$|^REPACK public.rewritten: .*\(failed: 55000: /m,
	'an invalid unique index: VACUUM FULL of its table builds it, and REPACK is refused');
sql('DROP TABLE rewritten');
$node->stop;
write_block($file, 1, random_page());
$node->start;
($code, $out) = rebuild('postgres');
is($code, 3, 'a corrupt table: left out');
like($out, qr/^public.undecided: .*left out: 1 corrupt page was read, block 1: /m, 'a corrupt table: and why');
sql('DROP TABLE undecided');

# Of all databases, one fails.
sql('CREATE DATABASE a_first');
$node->safe_psql('a_first', 'CREATE EXTENSION streamstat');
my $first = Session->new($node, '-d', $node->connstr('a_first'));
$first->query("SELECT pg_advisory_lock(hashtext('streamstat-rebuild'))");
loose_index('three', 'three_k');
($code, $out, $err) = rebuild('--all');
is($code, 1, 'one database of all: fails');
like($err, qr/runs in database "a_first" already/, 'one database of all: and says why');
like($out, qr/three_k: .*returned.* 1 done/s, 'one database of all: the others are worked on');
$first->end;
sql('DROP TABLE three');

# What returns most for its time comes first, and what may not end within the window is not
# begun.  The plan takes each row of the table to have an entry in the index.  Indexes on ranges take
# long where GiST does not sort them.
if (sql('SHOW server_version_num') < 180000)
{
	sql(q(
	CREATE TABLE slow WITH (fillfactor = 30) AS SELECT g AS k, CASE WHEN g <= 20000 THEN numrange(g + repeat('1', 100)::numeric, g + repeat('2', 100)::numeric) END AS r
		FROM generate_series(1, 500000) g;
	CREATE INDEX slow_r ON slow USING gist (r) WITH (fillfactor = 20) WHERE r IS NOT NULL;
	ALTER INDEX slow_r RESET (fillfactor)));

	# A dry run fills the window: the time of one command is gone for the next.  Each report
	# measures anew how fast the processor is.
	sql("CREATE INDEX slow_$_ ON slow USING gist (r) WITH (fillfactor = 20) WHERE r IS NOT NULL; ALTER INDEX slow_$_ RESET (fillfactor)") foreach ('s', 't');
	my $window = sql("SELECT round(2.5 * extract(epoch FROM max(duration))) FROM streamstat.database_plan() WHERE relation_name ~ '^slow_'");
	my $seconds = 0;
	($code, $out) = rebuild('--dry-run', "--window=${window}s", 'postgres');
	$seconds += $_ foreach $out =~ /slow_.: foretold \d+ MB in ([\d.]+) s$/mg;
	cmp_ok($seconds, '<=', $window + 0.5, 'dry run, a window: what it shows fits into it');
	is($code, $out =~ /left out:/ ? 3 : 0, 'dry run, a window: its exit code');
	sql('DROP INDEX slow_s, slow_t');

	loose_index('quick', 'quick_k');
	my $order = 'SELECT relation_name FROM streamstat.database_plan() WHERE is_online ORDER BY rank';
	is(sql($order), "slow_r\nquick_k", 'a window: the plan begins with what returns most');
	($code, $out) = rebuild('--dry-run', '--window=15s', 'postgres');
	like($out, qr/quick_k: foretold [^(]*\n.*slow_r: .*left out: the window may end before it/, 'a window: a dry run says so');
	($code, $out) = rebuild('--window=15s', 'postgres');
	is($code, 3, 'a window: something is left out');
	like($out, qr/quick_k: .* returned .*slow_r: .*left out: the window may end before it/s, 'a window: the other is done first');
	is(sql('SELECT count(*) FROM pg_index WHERE NOT indisvalid'), 0, 'a window: it was not begun');

	# Indexes of a table that cannot be rewritten in time
	sql('ALTER TABLE slow RESET (fillfactor)');
	sql("CREATE INDEX slow_$_ ON slow (k) WITH (fillfactor = 30); ALTER INDEX slow_$_ RESET (fillfactor)") foreach ('k', 'l');
	($code, $out) = rebuild('--dry-run', '--downtime', '--window=15s', 'postgres');
	is($code, 3, 'a window: a rewrite is left out');
	like($out, qr/FULL public.slow: .*left out: .*slow_k: foretold [^(]*\n/s, 'a window: an index of its table is rebuilt instead');
	like($out, qr/slow_l: foretold [^(]*\n/, 'a window: and another one');
	unlike($out, qr/slow_r/, 'a window: but not one that takes as long');
	($code, $out) = rebuild('--dry-run', '--downtime', 'postgres');
	is($code, 0, 'no window: nothing is left out');
	like($out, qr/FULL public.slow: foretold [^(]*\n/, 'no window: the table is rewritten');
	unlike($out, qr/slow_/, 'no window: with its indexes');
	sql('DROP TABLE slow, quick');
}

# ---------------------------------------------------------------------------
# Others hold locks.

loose_index('busy', 'busy_k');
my $other = Session->new($node);
$other->query('BEGIN; LOCK TABLE busy IN SHARE UPDATE EXCLUSIVE MODE');
($code, $out) = rebuild('--lock-timeout=10ms', '--retries=1', '--max-wait=1h', 'postgres');
is($code, 2, 'locked: fails');
like($out, qr/busy_k: .*failed: no lock within 10ms, 2 attempts/, 'locked: and says so');
$other->query('ROLLBACK');

# LOCK TABLE does not take them.
sql("CREATE MATERIALIZED VIEW seen AS SELECT md5(g::text) AS k FROM generate_series(1, 100000) g;
	CREATE INDEX seen_k ON seen (k) WITH (fillfactor = 30); ALTER INDEX seen_k RESET (fillfactor)");
$other->query('BEGIN; ANALYZE seen');
($code, $out) = rebuild('--lock-timeout=10ms', '--retries=0', '--max-wait=1h', '--min-size=4MB', 'postgres');
is($code, 2, 'materialized view, locked: fails');
like($out, qr/seen_k: .*failed: no lock within 10ms, 1 attempts/, 'materialized view, locked: and says so');
$other->query('ROLLBACK');
sql('DROP MATERIALIZED VIEW seen');

# What is left while others hold locks can be dropped when these are gone.
sub is_clean
{
	my ($label, $left) = @_;

	is(sql('SELECT count(*) FROM pg_index WHERE NOT indisvalid'), $left, "$label: invalid indexes");
	# The server ends a session when it sees that its client is gone.
	ok( Session::poll("$label: no session is left", sub {
			!sql("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'streamstat-rebuild'");
		}), "$label: no session is left");
	is(sql("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"), 0, "$label: no lock is left");
}
is_clean('locked', 0);

$other->query('BEGIN; INSERT INTO busy VALUES (1)');
($code, $out) = rebuild('--max-wait=0', 'postgres');
is($code, 3, 'would wait: left out');
like($out, qr/left out: it would wait for process $other->{pid}, since /, 'would wait: for whom');
is_clean('would wait', 0);

# In a window, what would wait is tried again.
$other->query('ROLLBACK');
sql('DROP TABLE busy; CREATE FUNCTION same(k int) RETURNS int IMMUTABLE LANGUAGE sql RETURN k');
my %rows = (waited => 300000, slowly => 200000, further => 120000);
sql("CREATE TABLE $_ AS SELECT g AS k FROM generate_series(1, $rows{$_}) g; CREATE INDEX ${_}_k ON $_ (same(k)); DELETE FROM $_ WHERE k > 12") foreach keys %rows;
sql('VACUUM waited, slowly, further');

# One that waits for an old transaction comes again at the end of the next command, which takes long.
sub begin_old
{
	$other->query('BEGIN; INSERT INTO waited VALUES (1)');
	Session::poll('an old transaction', sub { sql("SELECT clock_timestamp() - xact_start > '2 s' FROM pg_stat_activity WHERE pid = $other->{pid}") eq 't' });
}
begin_old();
sql('CREATE OR REPLACE FUNCTION same(k int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$BEGIN PERFORM pg_sleep(1); RETURN k; END$$');
my $run = start('--max-wait=2s', '--window=1h', 'postgres');
Session::poll('the slow command', sub { sql("SELECT count(*) FROM pg_stat_progress_create_index WHERE relid = 'slowly'::regclass") });
$other->query('ROLLBACK');
sql('CREATE OR REPLACE FUNCTION same(k int) RETURNS int IMMUTABLE LANGUAGE sql RETURN k');
($code, $out) = finish($run);
is($code, 0, 'would wait, a window: succeeds');
like($out, qr/^.*slowly_k: .*returned.*\n.*waited_k: .*returned.*\n.*further_k: .*returned/, 'would wait, a window: comes again before others');

# It is waited for.
sql('DROP TABLE waited, slowly, further; DROP FUNCTION same');
loose_index('waited', 'waited_k');
begin_old();
$run = start('--max-wait=2s', '--window=1h', 'postgres');
Session::poll('the program waits', sub { $run->{harness}->pump_nb; $run->{out} =~ /^waiting for process $other->{pid}, since /m });
$other->query('ROLLBACK');
($code, $out) = finish($run);
is($code, 0, 'would wait, a window: waits');
like($out, qr/waited_k: .*returned/, 'would wait, a window: and is done');
sql('DROP TABLE waited');
loose_index('busy', 'busy_k');
$other->query('BEGIN; INSERT INTO busy VALUES (1)');

# The window has to be long enough for the command to make its index.
for (my $seconds = 2; $seconds < 200; $seconds *= 2)
{
	($code, $out) = rebuild('--max-wait=1h', "--window=${seconds}s", '--lock-timeout=10ms', 'postgres');
	last if sql('SELECT count(*) FROM pg_index WHERE NOT indisvalid');
}
is($code, 3, 'end of the window: left out');
like($out, qr/canceled at the end of the window/, 'end of the window: canceled');
like($out, qr/^drop public.busy_k_ccnew, which the command has left$/m, 'end of the window: what cannot be dropped is named');
is_clean('end of the window', 1);
$other->query('ROLLBACK');
($code, $out) = rebuild('--dry-run', '--window=1h', 'postgres');
like($out, qr/^DROP INDEX.*^REINDEX INDEX/ms, 'what is left: dropped first');
($code, $out) = rebuild('--max-wait=1h', '--min-size=1GB', 'postgres');
is($code, 0, 'dropped afterwards: succeeds');
like($out, qr/^DROP INDEX CONCURRENTLY public.busy_k_ccnew: foretold (.*) in .*, returned \1 in [0-9.]+ s$/m, 'dropped afterwards: as the plan says');
is_clean('dropped afterwards', 0);

# The window ends while it waits for a lock, and has seen that it does.
my $too_late = qr/busy_k.*left out: the window may end before it; it would have waited for the transaction of process $other->{pid}/;
for (my ($seconds, $waited) = (3, 0); !($waited && $out =~ $too_late) && $seconds < 200; $seconds *= 2)
{
	$waited = 0;
	$other->query('BEGIN; LOCK TABLE busy IN SHARE UPDATE EXCLUSIVE MODE');
	my $late = start('--max-wait=1h', "--window=${seconds}s", '--lock-timeout=1h', 'postgres');
	Session::poll('late: it ends', sub {
		$late->{harness}->pump_nb if $late->{harness}->pumpable;
		$waited ||= sql("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'");
		return !$late->{harness}->pumpable;
	});
	$other->query('ROLLBACK');
	($code, $out) = finish($late);
}
is($code, 3, 'late: left out');
like($out, $too_late, 'late: and says so');

# Signals for all processes, and a client that is killed
loose_index('later', 'later_k', 85000);
foreach my $signal ('INT', 'TERM', 'KILL')
{
	$other->query('BEGIN; INSERT INTO busy VALUES (1); INSERT INTO later VALUES (1)');
	my $run = start('--max-wait=1h', '--lock-timeout=60s', 'postgres');
	Session::poll("$signal: a build waits", sub { sql("SELECT count(*) FROM pg_stat_progress_create_index WHERE phase LIKE 'waiting%'") });

	($code, $out, $err) = rebuild('postgres');
	is($code, 1, "$signal: a second one fails");
	like($err, qr/runs in database "postgres" already/, "$signal: and says why");

	signal_all($signal, $run, $signal eq 'KILL' ? qr/VERBOSITY=verbose/ : undef);
	Session::poll("$signal: what is left is dropped", sub { sql("SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'DROP INDEX%' AND wait_event_type = 'Lock'") });
	is(sql("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"), 1, "$signal: no second one yet");
	$other->query('ROLLBACK');
	($code, $out) = finish($run);
	is($code, $signal eq 'KILL' ? 2 : 130, "$signal: its exit code");
	like($out, $signal eq 'KILL' ? qr/busy_k.*failed: the client ended with status 137/ : qr/busy_k.*interrupted/, "$signal: what has not ended");
	like($out, $signal eq 'KILL' ? qr/later_k: .*returned/ : qr/later_k: .*left out: interrupted/, "$signal: what comes after it");
	like($out, qr/^dropped public.busy_k_ccnew, which the command had left$/m, "$signal: what was dropped");
	is_clean($signal, 0);
}

# A prepared transaction has no process.
$other->query("BEGIN; INSERT INTO busy VALUES (1); PREPARE TRANSACTION 'it''s'");
($code, $out) = rebuild('--max-wait=0', 'postgres');
is($code, 3, 'prepared: left out');
like($out, qr/left out: it would wait for prepared transaction 'it''s', since /, 'prepared: and named');
$other->query("ROLLBACK PREPARED 'it''s'");

($code, $out) = rebuild('postgres');
is($code, 0, 'afterwards: succeeds');
like($out, qr/1 done/, 'afterwards: rebuilt');

# ---------------------------------------------------------------------------
# pg_repack: a client that says what it gets stands for it.

my $strange = q(it's \\ a db);
$node->safe_psql('postgres', qq(CREATE DATABASE "$strange"));
$node->safe_psql($strange, q(CREATE EXTENSION streamstat;
	CREATE TABLE keyed (k int PRIMARY KEY, filler text);
	INSERT INTO keyed SELECT g, repeat('x', 100) FROM generate_series(1, 50000) g;
	DELETE FROM keyed WHERE k > 10 AND k < 49990;
	INSERT INTO pg_extension (oid, extname, extowner, extnamespace, extrelocatable, extversion) VALUES (1, 'pg_repack', 10, 11, false, '1')));
$node->safe_psql($strange, 'VACUUM keyed');
($code, $out) = rebuild($strange);
is($code, 2, 'pg_repack, without its client: fails');
like($out, qr/keyed.*failed: .*pg_repack/, 'pg_repack, without its client: and says so');

my $bin = PostgreSQL::Test::Utils::tempdir();
append_to_file("$bin/pg_repack", qq(#!$^X
open my \$fh, '>', '$bin/said';
\$SIG{INT} = sub { print \$fh "interrupted\\n"; exit 1 };
print \$fh map { "\$_\\n" } \@ARGV;
-e '$bin/wait' or print("INFO: Skipping repack\\n"), exit 0;
sleep 1 while 1;
));
chmod 0755, "$bin/pg_repack";
local $ENV{PATH} = "$bin:$ENV{PATH}";
($code, $out) = rebuild('--lock-timeout=1500ms', '--retries=0', $strange);
is($code, 2, 'pg_repack, locked: fails');
like($out, qr/keyed.*failed: no lock within 1500ms/, 'pg_repack, locked: and says so');
is( slurp_file("$bin/said"),
	join("\n", '-d', q('it\\'s \\\\ a db'), '-t', 'public.keyed', @connection, '--no-kill-backend', '--wait-timeout=2', ''),
	'pg_repack: what it is told');
append_to_file("$bin/wait", '');
for (my $seconds = 3; ; $seconds *= 2)
{
	($code, $out) = rebuild("--window=${seconds}s", $strange);
	last if $out !~ /left out: the window may end before it/;
}
is($code, 3, 'pg_repack, end of the window: left out');
like($out, qr/keyed.*canceled at the end of the window/, 'pg_repack, end of the window: and says so');
like(slurp_file("$bin/said"), qr/^interrupted$/m, 'pg_repack, end of the window: it can clean up');

# The server is stopped.
loose_index('up', 'up_k');
loose_index('down', 'down_k');
$other->query('BEGIN; INSERT INTO up VALUES (1); INSERT INTO down VALUES (1)');
$run = start('--max-wait=1h', 'postgres');
Session::poll('stopped: a build waits', sub { sql("SELECT count(*) FROM pg_stat_progress_create_index WHERE phase LIKE 'waiting%'") });
$node->stop('immediate');
($code, $out) = finish($run);
is($code, 2, 'stopped: fails');
like($out, qr/0 done, 0 left out, 2 failed/, 'stopped: each command');

done_testing();
