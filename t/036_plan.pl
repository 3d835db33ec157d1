
# Copyright (c) 2026, streamstat contributors

# The plan names what keeps dead rows from VACUUM, of all kinds, and only what does.  The
# same of what commands wait for.
# specs/plan_holder.spec has that of a session.

use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Utils;
use Test::More;

use lib "$FindBin::RealBin/lib";
use Node;
use Pages;
use Session;

my $node = new_node('plan', q(
wal_level = logical
max_prepared_transactions = 2
), streaming => 1);

sub sql
{
	my ($query) = @_;

	return $node->safe_psql('postgres', $query);
}

# What the plan says of a table whose rows have all just been updated
sub plan_after_update
{
	my ($table) = @_;

	sql("UPDATE $table SET t = t || 'y'");
	return sql("SELECT coalesce(command, regexp_replace(reason, '^.* because of (.*?)(, started .*|, \\d+ transactions? old)', '\\1'))
		FROM streamstat.database_plan(margin => 0) WHERE relation_name = '$table'");
}

# A rebuild of the table gives nothing back.
sql(q(
CREATE TABLE held (k int, t text) WITH (autovacuum_enabled = off, fillfactor = 40);
INSERT INTO held SELECT g, repeat('x', 100) FROM generate_series(1, 3000) g;
CREATE TABLE other (k int);
CREATE TABLE vacuumed WITH (autovacuum_enabled = off) AS SELECT held.* FROM held, generate_series(1, 20);
VACUUM held;
CREATE TABLE loose WITH (autovacuum_enabled = off) AS SELECT generate_series(1, 400000) AS k;
CREATE INDEX loose_k ON loose (k);
DELETE FROM loose WHERE k % 10 > 0;
VACUUM loose;
CREATE TABLE twice WITH (autovacuum_enabled = off) AS SELECT g AS k, repeat('x', 100) AS t FROM generate_series(1, 20000) g;
DELETE FROM twice WHERE k % 5 = 0;
CREATE DATABASE elsewhere));

# Of a table with two commands, the report shows the first one, which blocks nobody.
is( sql("CALL streamstat.run_database_report(margin => 0, tables => '{twice}');
	SELECT count(*), (array_agg(command ORDER BY rank))[1] FROM streamstat.last_database_plan();
	SELECT command FROM streamstat.last_database_report() WHERE relation_name = 'twice'"),
	"2|VACUUM public.twice\nVACUUM public.twice", 'the command in a report');

# Workers write what they sort to files, also if there is enough memory.
foreach my $workers (0, 2)
{
	is( sql("SET max_parallel_maintenance_workers = $workers; SET maintenance_work_mem = '64MB';
		SELECT scratch_bytes::float8 / (bytes - reclaimable_bytes), bytes_to_write = scratch_bytes FROM streamstat.database_plan(margin => 0) WHERE relation_name = 'loose_k'"),
		$workers > 0 ? '2|t' : '1|t', "disk space for a build with $workers workers");
}

is(plan_after_update('held'), 'VACUUM public.held', 'nothing keeps the rows');
sql('VACUUM held');

# A VACUUM that runs keeps nothing, although its snapshot is older.
my $vacuum = Session->new($node);
$vacuum->query('SET vacuum_cost_delay = 100; SET vacuum_cost_limit = 1');
$vacuum->send_query('VACUUM vacuumed');
Session::poll('VACUUM', sub { sql('SELECT count(*) FROM pg_stat_progress_vacuum JOIN pg_stat_activity USING (pid) WHERE backend_xmin IS NOT NULL') });
sql('SELECT pg_current_xact_id()');

sql(q(BEGIN; INSERT INTO other VALUES (1); PREPARE TRANSACTION 'it''s "prepared"'));
is(plan_after_update('held'), q(prepared transaction "it's "prepared""), 'a prepared transaction');
ok($vacuum->busy, '... beside a VACUUM');
sql("SELECT pg_cancel_backend($vacuum->{pid})");
$vacuum->answer;
$vacuum->end;
sql('VACUUM held');
is(sql("SELECT count(*) FROM streamstat.database_plan(margin => 0) WHERE relation_name = 'held' AND command IS NOT NULL"),
	'0', 'VACUUM would do nothing, and has done nothing');
sql(q(COMMIT PREPARED 'it''s "prepared"'; VACUUM held));

# That of another database keeps nothing here, and a logical slot only what is in catalogs.
$node->safe_psql('elsewhere', q(CREATE TABLE other (k int); BEGIN; INSERT INTO other VALUES (1); PREPARE TRANSACTION 'elsewhere'));
is(plan_after_update('held'), 'VACUUM public.held', 'a transaction of another database');
$node->safe_psql('elsewhere', q(ROLLBACK PREPARED 'elsewhere'));
sql('VACUUM held');

# A plan names those for whom a command would wait, and puts it last: locks on the table of
# any kind, snapshots of this database, and prepared transactions.
sql(q(
CREATE TABLE waited (k int, t text) WITH (autovacuum_enabled = off);
INSERT INTO waited SELECT g, repeat('x', 100) FROM generate_series(1, 3000) g;
CREATE INDEX waited_k ON waited (k) WITH (fillfactor = 20);
ALTER INDEX waited_k RESET (fillfactor);
CREATE TABLE free (k int) WITH (autovacuum_enabled = off);
INSERT INTO free SELECT generate_series(1, 2000);
CREATE INDEX free_k ON free (k) WITH (fillfactor = 20);
ALTER INDEX free_k RESET (fillfactor);
CREATE TABLE vacuum_only (k int, t text) WITH (autovacuum_enabled = off, fillfactor = 40);
INSERT INTO vacuum_only SELECT g, repeat('x', 100) FROM generate_series(1, 3000) g;
UPDATE vacuum_only SET t = t || 'y'));

# The commands on these tables in their order, each with what it waits for
sub waits
{
	my $rows = sql("SELECT relation_name, coalesce(regexp_replace(waits_for, ', started \\d+ s ago', '', 'g'), 'nothing')
		FROM streamstat.database_plan(margin => 0) WHERE relation_name IN ('waited_k', 'free_k', 'vacuum_only')");
	return join(' ', split(/\n/, $rows));
}

my $without = 'waited_k|nothing free_k|nothing vacuum_only|nothing';
is(waits(), $without, 'nothing to wait for');
my $reader = Session->new($node);
my $reader_name = "the transaction of process $reader->{pid}";
$reader->query('BEGIN; SELECT FROM waited LIMIT 1');
is(waits(), "free_k|nothing vacuum_only|nothing waited_k|$reader_name", 'a reader of a table, without a snapshot');
$reader->query('COMMIT; BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1');
is(waits(), "vacuum_only|nothing waited_k|$reader_name free_k|$reader_name", 'a snapshot');
$reader->query('COMMIT; BEGIN; LOCK TABLE vacuum_only IN SHARE MODE');
is(waits(), "waited_k|nothing free_k|nothing vacuum_only|$reader_name", 'a lock against VACUUM');
$reader->query('COMMIT; BEGIN');
is(waits(), $without, 'an idle transaction that has neither');
$reader->query('COMMIT');
$reader->end;
sql(q(BEGIN; INSERT INTO waited VALUES (1); PREPARE TRANSACTION 'it''s prepared'));
is(waits(), q(free_k|nothing vacuum_only|nothing waited_k|prepared transaction "it's prepared"), 'a prepared transaction');
sql(q(ROLLBACK PREPARED 'it''s prepared'));
my $elsewhere = Session->new($node, '-d', $node->connstr('elsewhere'));
$elsewhere->query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1');
sql("SELECT pg_create_physical_replication_slot('idle', true)");
is(waits(), $without, 'a snapshot of another database, and a slot');
$elsewhere->query('COMMIT');
$elsewhere->end;
sql("SELECT pg_drop_replication_slot('idle'); DROP TABLE waited, free, vacuum_only");

# Of two commands that return the same in the same time, a window takes the one that does not wait.
sql("CREATE TABLE twin_$_ (k int) WITH (autovacuum_enabled = off); INSERT INTO twin_$_ SELECT generate_series(1, 20000);
	CREATE INDEX twin_$_\_k ON twin_$_ (k) WITH (fillfactor = 20); ALTER INDEX twin_$_\_k RESET (fillfactor)")
  foreach 1, 2;
foreach my $twin (1, 2)
{
	my $other = 3 - $twin;
	my $locker = Session->new($node);

	$locker->query("BEGIN; SELECT FROM twin_$other LIMIT 1");
	is( sql("CALL streamstat.run_database_report(margin => 0, tables => '{twin_1, twin_2}');
		SELECT string_agg(relation_name, ' ') FROM (SELECT max(duration_high) AS high FROM streamstat.last_database_plan()) d,
			streamstat.last_database_plan(max_duration => 1.5 * d.high)"),
		"twin_$twin\_k", "a window without the command that waits for a lock on twin_$other");
	$locker->query('COMMIT');
	$locker->end;
}
sql('DROP TABLE twin_1, twin_2');

# Tables of the extension itself are not advised on, whatever is free in them.
sql(q(
BEGIN;
ALTER TABLE streamstat.report_run_commands DISABLE TRIGGER ALL;
INSERT INTO streamstat.report_run_commands (run, rank, reason) SELECT 1, g, repeat('x', 100) FROM generate_series(1, 20000) g;
DELETE FROM streamstat.report_run_commands WHERE rank < 19000;
ALTER TABLE streamstat.report_run_commands ENABLE TRIGGER ALL;
COMMIT;
VACUUM streamstat.report_run_commands));
is(sql("SELECT reclaimable_bytes > 1000000, command, rebuilt_by FROM streamstat.database_report(margin => 0)
	WHERE relation_name = 'report_run_commands'"), 't||', 'a table of the extension');
sql('TRUNCATE streamstat.report_run_commands');

# The view of indexes to drop reads catalogs only, whatever locks a table, before or while
# it is read.
unlike(sql(q(SELECT pg_get_viewdef('streamstat.report_drop_candidates'::regclass))),
	qr/pg_relation_size|pg_table_size|pg_get_expr|pg_get_indexdef/, 'report_drop_candidates calls nothing that waits for a lock');
sql('CREATE INDEX ON other ((k + 1)); CREATE INDEX ON other ((k  +  1)); CREATE INDEX ON other (k) WHERE k > 1');
sql(q(DO $$ BEGIN EXECUTE 'CREATE VIEW unused AS ' || replace(pg_get_viewdef('streamstat.report_drop_candidates'), '7 days', '-7 days'); END $$));
sql(q(CREATE INDEX other_ccnew ON other (k); UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'other_ccnew'::regclass));
my $candidates = q(SET lock_timeout = '1s'; SELECT count(*), count(*) FILTER (WHERE reason ~ '^the same as'), count(*) FILTER (WHERE reason ~ '^left behind')
	FROM unused WHERE parent_name = 'public.other');
is(sql($candidates), '4|1|1', 'indexes on expressions, and one that was left behind');
my $locker = Session->new($node);
$locker->query('BEGIN; LOCK TABLE other');
is(sql($candidates), '3|1|0', '... while the table is locked: somebody may be building that one');
$locker->query('COMMIT');
$locker->end;

# It stays fast with very many indexes: only those that another one of their table begins like
# are compared, and no step has more rows than the catalogs.
sql(q(
CREATE SCHEMA many;
DO $$ BEGIN
	FOR i IN 1..200 LOOP
		EXECUTE format('CREATE TABLE many.t%s (a int, b int, c int)', i);
		EXECUTE format('CREATE INDEX ON many.t%s (a); CREATE INDEX ON many.t%1$s (b); CREATE INDEX ON many.t%1$s (c)', i);
		IF i <= 20 THEN EXECUTE format('CREATE INDEX ON many.t%s (a, b)', i); END IF;
	END LOOP;
END $$;
CREATE FUNCTION explain(text) RETURNS json LANGUAGE plpgsql AS $$
DECLARE plan json; BEGIN EXECUTE 'EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) ' || $1 INTO plan; RETURN plan; END $$;
CREATE VIEW nodes AS WITH RECURSIVE node (n) AS (
	SELECT explain('TABLE streamstat.report_drop_candidates')::jsonb -> 0 -> 'Plan'
	UNION ALL SELECT jsonb_array_elements(n -> 'Plans') FROM node)
SELECT n ->> 'Subplan Name' AS name, (n -> 'Actual Rows')::numeric AS rows,
	((n -> 'Actual Rows')::numeric + coalesce((n -> 'Rows Removed by Filter')::numeric, 0) + coalesce((n -> 'Rows Removed by Join Filter')::numeric, 0))
		* (n -> 'Actual Loops')::numeric AS work FROM node;
ANALYZE));
my ($compared, $work) = split /\|/, sql(q(SELECT max(rows) FILTER (WHERE name = 'CTE compared'),
	max(work) <= (SELECT sum(reltuples) FROM pg_class WHERE relname IN ('pg_class', 'pg_index', 'pg_depend')) FROM nodes));
cmp_ok($compared, '>=', 40, 'indexes that begin with the same column are compared');
cmp_ok($compared, '<', 100, '... and few others');
is($work, 't', '... in time that is linear in the number of indexes');
sql('DROP VIEW nodes; DROP FUNCTION explain; DROP SCHEMA many CASCADE');

# A crash discards the counts of scans, of which the statistics of the database say nothing.
# They begin when the server starts again, however old the index is.
sql('SELECT pg_stat_reset(); CHECKPOINT');
my $counted = q(SELECT min(counted_since) FROM unused WHERE parent_name = 'public.other');
cmp_ok(sql("SELECT ($counted) <= pg_stat_get_db_stat_reset_time(oid) FROM pg_database WHERE datname = 'postgres'"), 'eq', 't', 'scans are counted since the reset');
$node->stop('immediate');
$node->start;
is(sql("SELECT pg_stat_get_db_stat_reset_time(oid) IS NULL, ($counted) > pg_postmaster_start_time() - interval '1 minute', ($counted) <= now() FROM pg_database WHERE datname = 'postgres'"),
	't|t|t', '... and after a crash since then');
sql('DROP VIEW unused; DROP INDEX other_ccnew');

# Settings that let autovacuum come late are named, where the statistics show that they do: not
# if it is off for all, and not after a single DELETE.
sub late
{
	return join("\n", map { s/for \d+ (dead rows, and has run \d+ times, after) \d+/for N $1 N/r } split /\n/, sql(q(SELECT relation_name, substring(reason from 'autovacuum.*')
		FROM streamstat.database_plan(margin => 0) WHERE relation_name ~ '^late_' ORDER BY relation_name)));
}
sql(q(
CREATE TABLE late_dead (k int, t text) WITH (fillfactor = 80);
INSERT INTO late_dead SELECT g, repeat('x', 100) FROM generate_series(1, 10000) g;
CREATE TABLE late_off (LIKE late_dead) WITH (fillfactor = 80, autovacuum_enabled = off);
CREATE TABLE late_often (LIKE late_dead);
CREATE TABLE late_once (LIKE late_dead);
INSERT INTO late_off TABLE late_dead;
INSERT INTO late_often TABLE late_dead;
INSERT INTO late_once TABLE late_dead));
sql('VACUUM ANALYZE late_dead, late_off, late_often, late_once');
sql("UPDATE $_ SET t = t || 'y' WHERE k % 6 = 0") foreach 'late_dead', 'late_off';
is(late(), "late_dead|\nlate_off|", 'autovacuum is off for all');
sql($_) foreach "ALTER SYSTEM SET autovacuum_naptime = '1s'", 'ALTER SYSTEM SET autovacuum = on', 'SELECT pg_reload_conf()';
sql('DELETE FROM late_once WHERE k % 2 = 0');
foreach my $run (1 .. 4)
{
	# Rows that die while it is at work are not counted afterwards.
	ok( Session::poll("autovacuum $run", sub {
			my ($count, $dead) = split /\|/, sql("SELECT autovacuum_count, n_dead_tup FROM pg_stat_all_tables WHERE relname = 'late_often'");

			return 1 if $count >= $run;
			sql('WITH gone AS (DELETE FROM late_often WHERE ctid = ANY (ARRAY(SELECT ctid FROM late_often LIMIT 2500)) RETURNING *)
				INSERT INTO late_often TABLE gone; SELECT pg_stat_force_next_flush()') if $dead < 2500;
			return 0;
		}), "autovacuum $run");
}
ok($node->poll_query_until('postgres', "SELECT autovacuum_count > 0 FROM pg_stat_all_tables WHERE relname = 'late_once'"), '... and of the other');
is(late(), q(late_dead|autovacuum waits for 2050 dead rows, and there are 1666; it comes earlier after: ALTER TABLE public.late_dead SET (autovacuum_vacuum_scale_factor = 0.05)
late_off|autovacuum is off for this table: ALTER TABLE public.late_off RESET (autovacuum_enabled)
late_often|autovacuum waits for N dead rows, and has run 4 times, after N on average; it comes earlier after: ALTER TABLE public.late_often SET (autovacuum_vacuum_scale_factor = 0.05)
late_once|), 'settings that let autovacuum come late');
sql("ALTER TABLE late_dead SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 3000)");
like(late(), qr/^late_dead\|autovacuum waits for 3000 dead rows, .* SET \(autovacuum_vacuum_threshold = 500\)$/m, '... those of the table');
sql('CREATE TABLE few (LIKE late_dead) WITH (autovacuum_enabled = off); INSERT INTO few TABLE late_dead; DELETE FROM few WHERE k % 15 = 0');
is(sql("SELECT command, reason FROM streamstat.database_report(margin => 0) WHERE relation_name = 'few'"),
	'|no command: dead rows take less than 10 percent of the table', 'few dead rows are mentioned');
sql($_) foreach 'ALTER SYSTEM RESET autovacuum', 'SELECT pg_reload_conf()', 'DROP TABLE few, late_dead, late_off, late_often, late_once';

# Whoever sees a stored plan in another session is told how old it is, once.
sql('CALL streamstat.collect(margin => 0)');
foreach my $shown ('last_database_plan()', 'last_database_report()', 'database_report_summary()', 'report_html()')
{
	my ($code, $out, $err) = $node->psql('postgres', "SELECT count(*) >= 0 FROM streamstat.$shown");

	is($out, 't', "another session: $shown");
	like($err, qr/^\S* NOTICE:  no report has been made in this session: stored report \d+ is shown, from 00:\d\d:\d\d ago$/, "another session: $shown says that it is stored");
}
my $whole = sql('SELECT count(*) FROM streamstat.last_database_report()');
sql("CALL streamstat.collect(min_table_size => '1GB', margin => 0)");
is(sql('SELECT count(*) FROM streamstat.last_database_report()'), $whole, 'another session: a later run of a part is not shown');
sql('DELETE FROM streamstat.report_runs');

# A corrupt index that is rebuilt with its table is named.
sql('CREATE TABLE spoiled AS SELECT g AS k, md5(g::text) AS v FROM generate_series(1, 50000) g;
	CREATE INDEX spoiled_k ON spoiled (k); DELETE FROM spoiled WHERE k % 4 > 0');
sql($_) foreach 'VACUUM spoiled', 'CHECKPOINT';
my $spoiled = $node->data_dir . '/' . sql("SELECT pg_relation_filepath('spoiled_k')");
$node->stop;
write_block($spoiled, 2, 'x' x BLCKSZ);
$node->start;
is( sql("SELECT rank, command ~ 'spoiled\$', reason ~ 'it rebuilds index \"spoiled_k\", of which 1 corrupt page was read, block 2'
		FROM streamstat.database_plan(margin => 0, tables => '{spoiled}', online => false)"),
	'1|t|t', 'a corrupt index is rebuilt with its table');
sql('DROP TABLE spoiled');

# Where there is a standby with feedback, its slot keeps rows.
my $standby = new_standby($node);
$node->safe_psql('postgres', "SELECT pg_create_physical_replication_slot('feedback')");
$standby->append_conf('postgresql.conf', q(
primary_slot_name = 'feedback'
hot_standby_feedback = on
wal_receiver_status_interval = 1
));
$standby->restart;
$node->wait_for_catchup($standby);
like($standby->safe_psql('postgres', "SELECT string_agg(reason, ' ') FROM streamstat.database_plan(margin => 0) WHERE command ~ '^(VACUUM FULL|REPACK|REINDEX)'"),
	qr/a standby does not know the writes/, 'a plan of a standby');
$node->poll_query_until('postgres', "SELECT xmin IS NOT NULL FROM pg_replication_slots WHERE slot_name = 'feedback'")
  or die 'no feedback';
$standby->stop('immediate');
like(plan_after_update('held'), qr/^(inactive replication slot "feedback"|replication slot "feedback" of process \d+)$/, 'the slot of a standby');
sql("SELECT pg_drop_replication_slot('feedback')") if $node->poll_query_until('postgres', 'SELECT NOT active FROM pg_replication_slots');
is(sql("SELECT command FROM streamstat.database_plan(margin => 0) WHERE relation_name = 'held'"), 'VACUUM public.held', 'the slot was dropped');

$node->stop;
done_testing();
