
# Copyright (c) 2026, streamstat contributors

# Cancels in the middle of scans, at random moments: nothing is left behind,
# neither in the session nor, when the error is caught, in the transaction.
#
# The relations do not fit into shared buffers, and few backends share these, so
# that most cancels come while blocks are looked ahead at.

use strict;
use warnings;

use IPC::Run ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('cancel');
$node->init;
$node->append_conf(
	'postgresql.conf', q(
autovacuum = off
shared_buffers = 4MB
max_connections = 5
autovacuum_max_workers = 1
max_worker_processes = 0
max_logical_replication_workers = 0
max_wal_senders = 0
wal_level = minimal
max_parallel_maintenance_workers = 0
));
$node->start;

my $have_buffercache = $node->safe_psql('postgres',
	"SELECT count(*) FROM pg_available_extensions WHERE name = 'pg_buffercache'"
);
my $have_proc = -d "/proc/$$/fd";

$node->safe_psql('postgres', 'CREATE EXTENSION pg_buffercache')
  if $have_buffercache;
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION streamstat;
CREATE TABLE t AS SELECT i AS k FROM generate_series(1, 500000) i;
CREATE INDEX t_btree ON t (k);
CREATE INDEX t_hash ON t USING hash (k);

CREATE FUNCTION one_scan(n int) RETURNS void LANGUAGE plpgsql AS
$$
BEGIN
	CASE n % 9
		WHEN 0, 1 THEN PERFORM streamstat.btree_stats('t_btree');
		WHEN 2 THEN PERFORM streamstat.sample('t_btree', 300);
		WHEN 3 THEN PERFORM streamstat.sample('t', 300);
		WHEN 4 THEN PERFORM streamstat.pg_prewarm('t_btree');
		WHEN 5 THEN PERFORM streamstat.pg_prewarm('t_btree', 'read');
		WHEN 6 THEN PERFORM streamstat.pg_prewarm('t_btree', 'prefetch');
		WHEN 7 THEN PERFORM streamstat.hash_stats('t_hash');
		WHEN 8 THEN PERFORM streamstat.pgstatindex('t_btree');
	END CASE;
END
$$;

-- open files of this backend, where that is to be known
CREATE FUNCTION open_files() RETURNS bigint LANGUAGE plpgsql AS
$$
BEGIN
	RETURN count(*) FROM pg_ls_dir('/proc/' || pg_backend_pid() || '/fd');
EXCEPTION WHEN undefined_file THEN
	RETURN 0;
END
$$;

-- Buffers of our relations that somebody has pinned.  Asynchronous reads that
-- were under way at a cancel keep theirs until they are done.
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

-- Scan until some cancels were caught.  The session's advisory locks tell the
-- canceling session what to do: 1 cancel, 2 do not.
CREATE FUNCTION scan_and_catch(wanted int) RETURNS text LANGUAGE plpgsql AS
$$
DECLARE
	caught int := 0;
	scans int := 0;
	until timestamptz := clock_timestamp() + interval '4 s';
BEGIN
	WHILE caught < wanted AND clock_timestamp() < until LOOP
		BEGIN
			WHILE clock_timestamp() < until LOOP
				PERFORM one_scan(scans);
				scans := scans + 1;
			END LOOP;
		EXCEPTION WHEN query_canceled THEN
			caught := caught + 1;
			scans := scans + 1;
		END;
	END LOOP;
	PERFORM pg_advisory_lock(2);
	BEGIN
		-- one that was sent a moment ago
		PERFORM pg_sleep(0.1);
	EXCEPTION WHEN query_canceled THEN
	END;
	RETURN format('caught %s, pins %s, files %s', caught, pins(), open_files());
END
$$;
SQL

# Warm up, then note the number of open files.
my $warm_up = join '', map { "SELECT one_scan($_);\n" } 1 .. 9;
$warm_up .= "SELECT pins();\n" . "SELECT 'before', open_files();\n";
my $wrap_up = <<'SQL';
SELECT 'after', open_files();
SELECT 'pins', pins();
SELECT 'works', leaf_pages > 1000 FROM streamstat.btree_stats('t_btree');
SELECT 'looked ahead', blocks_read > 500 AND look_ahead_max > 2 FROM streamstat.stream_stats();
SQL

sub check_end
{
	my ($stdout, $what) = @_;
	my ($before) = $stdout =~ /^before\|(\d+)$/m;
	my ($after) = $stdout =~ /^after\|(\d+)$/m;

	like($stdout, qr/^works\|t$/m, "$what: the session works on");
	like($stdout, qr/^looked ahead\|t$/m, "$what: scans do look ahead");
	like($stdout, qr/^pins\|0$/m, "$what: no pin is left");
  SKIP:
	{
		skip 'number of open files is not to be known here', 1 if !$have_proc;

		# some files of the catalogs may have been opened in the meantime
		cmp_ok($after, '<=', $before + 5, "$what: no file is left open");
	}
}

# statement_timeout, each time after another number of milliseconds, outside
# of and in a transaction with savepoints
my $n = 60;
my $script = $warm_up;
my $forever =
  'DO $$ BEGIN FOR i IN %d .. 1000000 LOOP PERFORM one_scan(i); END LOOP; END $$;';

foreach my $i (1 .. $n)
{
	$script .= 'SET statement_timeout = ' . int(1 + rand(20)) . ";\n";
	$script .= sprintf("$forever\n", $i);
}
$script .= "SET statement_timeout = 0;\nBEGIN;\n";
foreach my $i (1 .. $n)
{
	$script .= "SAVEPOINT s;\n";
	$script .= 'SET LOCAL statement_timeout = ' . int(1 + rand(10)) . ";\n";
	$script .= sprintf("$forever\n", $i);
	$script .= "ROLLBACK TO s;\n";
}
$script .= $wrap_up . "COMMIT;\n" . $wrap_up;

my ($stdout, $stderr);
$node->psql(
	'postgres', $script,
	stdout => \$stdout,
	stderr => \$stderr,
	on_error_stop => 0);
my $canceled = () = $stderr =~ /canceling statement due to statement timeout/g;
is($canceled, 2 * $n, 'each statement was canceled');
my $errors = () = $stderr =~ /ERROR:/g;
is($errors, 2 * $n, 'there was no other error');
check_end($stdout, 'statement_timeout');

# pg_cancel_backend(), caught in a block with EXCEPTION, many times within one
# transaction.  A cancel that comes outside of the block ends the statement.
my ($cancel_out, $cancel_err) = ('', '');
my $canceler = IPC::Run::start(
	[ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-c', <<'SQL' ],
DO $$
DECLARE
	victim int;
	until timestamptz := clock_timestamp() + interval '30 s';
BEGIN
	LOOP
		SELECT pid INTO victim FROM pg_locks WHERE locktype = 'advisory' AND objid = 1;
		EXIT WHEN victim IS NOT NULL OR clock_timestamp() > until;
		PERFORM pg_sleep(0.01);
	END LOOP;
	WHILE EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND objid = 1)
			AND clock_timestamp() < until LOOP
		IF NOT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND objid = 2) THEN
			PERFORM pg_cancel_backend(victim);
		END IF;
		PERFORM pg_sleep(0.002 + random() * 0.01);
	END LOOP;
END
$$
SQL
	'>', \$cancel_out, '2>', \$cancel_err,
	IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));

$script = <<'SQL';
SELECT pg_advisory_lock(2);
SELECT pg_advisory_lock(1);
SQL
$script .= $warm_up;
foreach (1 .. 6)
{
	$script .= "BEGIN;\n" x ($_ == 6);
	$script .= "SELECT pg_advisory_unlock_all() IS NULL, pg_advisory_lock(1);\n";
	$script .= "SELECT scan_and_catch(60);\n";
	$script .= "ROLLBACK;\n" x ($_ == 6);
}
$script .= "SELECT pg_advisory_lock(2);\n" . $wrap_up;
$node->psql(
	'postgres', $script,
	stdout => \$stdout,
	stderr => \$stderr,
	on_error_stop => 0);
$canceler->finish;
is($cancel_err, '', 'session that cancels');

my $caught = 0;
my $left = 0;
my ($files) = $stdout =~ /^before\|(\d+)$/m;
my $most_files = 0;
while ($stdout =~ /^caught (\d+), pins (\d+), files (\d+)$/mg)
{
	$caught += $1;
	$left += $2;
	$most_files = $3 if $3 > $most_files;
}
cmp_ok($most_files, '<=', $files + 5,
	'no file is left open in the transaction');
cmp_ok($caught, '>=', 20, 'cancels were caught');
is($left, 0, 'no pin is left in the transaction');
check_end($stdout, 'pg_cancel_backend');

$node->stop;
my $log = slurp_file($node->logfile);
unlike($log, qr/PANIC|TRAP|terminated by signal/, 'no crash');
unlike($log, qr/WARNING|leak|not closed|still referenced/i, 'no leak');

done_testing();
