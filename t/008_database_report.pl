
# Copyright (c) 2026, streamstat contributors

# database_report() on everything that a database may have in it and that may
# happen meanwhile; its limits; what it advises; and the procedure.

use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

use lib "$FindBin::RealBin/lib";
use Extra 'slow';
use Node;
use Pages;
use Session;

# Enough shared buffers for the server to extend tables by many blocks at a time:
# what REPACK (CONCURRENTLY) leaves of that is not worth another one.
my $node = new_node('report', q(
shared_buffers = 64MB
max_wal_size = 2GB
), streaming => 1);
my $standby = new_standby($node);

sub sql
{
	my ($query) = @_;

	return $node->safe_psql('postgres', $query);
}

# What the report of a query's session says of a relation: some columns
sub row
{
	my ($name, $columns, $call) = @_;

	# read everything
	$call //= 'streamstat.database_report(margin => 0)';
	return sql("SELECT $columns FROM $call WHERE relation_name = '$name'");
}

sql(<<'SQL');
CREATE TABLE t (i int PRIMARY KEY, a int[], p point, s text);
INSERT INTO t SELECT g, ARRAY[g, g % 10], point(g % 100, g / 100), repeat('x', 100) FROM generate_series(1, 20000) g;
CREATE INDEX t_btree ON t (i);
CREATE INDEX t_hash ON t USING hash (i);
CREATE INDEX t_gin ON t USING gin (a);
CREATE INDEX t_gist ON t USING gist (p);
CREATE INDEX t_spgist ON t USING spgist (p);
CREATE INDEX t_brin ON t USING brin (i);
CREATE TABLE no_rows (i int PRIMARY KEY, t text);
CREATE TABLE parts (i int PRIMARY KEY, t text) PARTITION BY RANGE (i);
CREATE TABLE part_1 PARTITION OF parts FOR VALUES FROM (0) TO (1000);
CREATE TABLE part_2 PARTITION OF parts FOR VALUES FROM (1000) TO (9000);
INSERT INTO parts SELECT g, 'text ' || g FROM generate_series(0, 8999) g;
CREATE MATERIALIZED VIEW mv AS SELECT * FROM t;
CREATE MATERIALIZED VIEW mv_empty AS SELECT * FROM t WITH NO DATA;
CREATE VIEW v AS SELECT * FROM t;
CREATE UNLOGGED TABLE u AS SELECT * FROM t;
CREATE INDEX u_btree ON u (i);
CREATE SEQUENCE seq;
CREATE FOREIGN DATA WRAPPER f;
CREATE SERVER s FOREIGN DATA WRAPPER f;
CREATE FOREIGN TABLE ft (i int) SERVER s;
CREATE TABLE toasted (i int PRIMARY KEY, t text);
ALTER TABLE toasted ALTER t SET STORAGE EXTERNAL;
INSERT INTO toasted SELECT g, repeat('x', 6000) FROM generate_series(1, 1000) g;
DELETE FROM toasted WHERE i > 100;
CREATE TABLE fat (i int PRIMARY KEY, t text);
INSERT INTO fat SELECT g, repeat('x', 200) FROM generate_series(1, 50000) g;
DELETE FROM fat WHERE i % 10 <> 0;
VACUUM fat;
CREATE TABLE "Strange "" Table" (i int, t text);
INSERT INTO "Strange "" Table" SELECT g, repeat('x', 200) FROM generate_series(1, 10000) g;
DELETE FROM "Strange "" Table" WHERE i % 10 <> 0;
VACUUM "Strange "" Table";
CREATE SCHEMA private;
CREATE TABLE private.hidden AS SELECT * FROM t;
CREATE ACCESS METHOD other_heap TYPE TABLE HANDLER heap_tableam_handler;
CREATE TABLE of_other_am (i int) USING other_heap;
INSERT INTO of_other_am SELECT 1;
CREATE ACCESS METHOD other_gist TYPE INDEX HANDLER gisthandler;
CREATE OPERATOR CLASS other_ops DEFAULT FOR TYPE box USING other_gist AS OPERATOR 3 &&,
	FUNCTION 1 gist_box_consistent(internal, box, smallint, oid, internal), FUNCTION 2 gist_box_union(internal, internal),
	FUNCTION 5 gist_box_penalty(internal, internal, internal), FUNCTION 6 gist_box_picksplit(internal, internal),
	FUNCTION 7 gist_box_same(box, box, internal);
CREATE INDEX index_of_other_am ON t USING other_gist (box(p, p));
CREATE TABLE twice AS SELECT 1 AS i FROM generate_series(1, 10);
CREATE ROLE monitor IN ROLE pg_monitor;
SQL
foreach my $name ('i_invalid', 'i_x_ccnew1')
{
	$node->psql('postgres', "CREATE UNIQUE INDEX CONCURRENTLY $name ON twice (i)");
}
my $other = Session->new($node);
$other->query('CREATE TEMP TABLE of_other_session AS SELECT * FROM t; CREATE INDEX ON of_other_session (i)');

# ---------------------------------------------------------------------------
# everything has a row, and only one

is( sql(q(
SELECT count(*) FROM (SELECT oid FROM pg_class WHERE relkind IN ('r', 'm', 't', 'i')) c
	FULL JOIN (SELECT relid AS oid FROM streamstat.database_report()) r USING (oid)
	WHERE r.oid IS NULL OR c.oid IS NULL)),
	'0', 'all relations that have pages, and no others');
is( sql(q(
SELECT count(*), count(DISTINCT relid) = count(*) FROM streamstat.database_report()
	WHERE measured <> 'skipped' AND bytes <> pg_relation_size(relid))),
	'0|t', 'sizes, and each relation once');
is( sql(q(
SELECT string_agg(DISTINCT kind, ', ' ORDER BY kind) FROM streamstat.database_report())),
	'index, materialized view, partition, table, toast table', 'kinds');
is( sql(q(
SELECT string_agg(DISTINCT access_method, ' ' ORDER BY access_method) FROM streamstat.database_report())),
	'brin btree gin gist hash heap other_gist other_heap spgist',
	'access methods');
is( sql(q(
SELECT count(*) FROM streamstat.database_report() WHERE measured = 'skipped' AND
	relation_name NOT IN ('of_other_session', 'of_other_session_i_idx', 'i_invalid', 'i_x_ccnew1', 'of_other_am')
	AND relation_name NOT LIKE 'pg_toast%')),
	'0', 'nothing is skipped that can be read');

is(row('t_hash', 'parent_name, kind, measured, free_percent BETWEEN 0 AND 100'),
	'public.t|index|exact|t', 'an index');
is( sql(q(
SELECT r.parent_name, r.kind, r.bytes > 0 FROM streamstat.database_report() r JOIN pg_class c ON c.reltoastrelid = r.relid
	WHERE c.relname = 'toasted')),
	'public.toasted|toast table|t', 'a TOAST table');
is(row('part_1', 'parent_name, kind'), 'public.parts|partition', 'a partition');
is(row('part_1_pkey', 'parent_name, kind'), 'public.part_1|index', 'its index');
is(row('no_rows', 'measured, bytes, bytes_read, note, command'),
	'exact|0|0||', 'no rows');
is(row('of_other_session', 'measured, note, command, bytes > 0'),
	'skipped|temporary relation of another session||t', 'temporary, of another session');
is(row('of_other_am', 'measured, note'),
	'skipped|table access method "other_heap" is not supported', 'a table of another access method');
is(row('index_of_other_am', 'measured'), 'exact', 'an index of another access method');
is(row('i_invalid', 'measured, note, command'),
	'skipped|index is not valid: it is being built, or its build failed|DROP INDEX CONCURRENTLY public.i_invalid',
	'a unique index that is not valid');
is(row('i_x_ccnew1', 'command, reclaimable_bytes = bytes'),
	'DROP INDEX CONCURRENTLY public.i_x_ccnew1|t', 'one that was left behind');
is(row('fat', 'last_vacuum = (SELECT last_vacuum FROM pg_stat_all_tables WHERE relname = \'fat\')'),
	't', 'last vacuum');
is(row('fat_pkey', 'last_vacuum IS NOT NULL'), 't', 'last vacuum, of an index');
is(row('t', 'last_vacuum IS NULL'), 't', 'never vacuumed');

is( sql(q(
SELECT bool_and(reclaimable_bytes <= before AND (reclaimable_bytes < before OR bytes <= bytes_before) IS NOT FALSE)
	FROM (SELECT coalesce(reclaimable_bytes, -1) AS reclaimable_bytes, bytes,
		lag(coalesce(reclaimable_bytes, -1)) OVER () AS before, lag(bytes) OVER () AS bytes_before
		FROM streamstat.database_report()) r WHERE before IS NOT NULL)),
	't', 'order');

# ---------------------------------------------------------------------------
# limits

foreach my $budget ('0', '8kB', '64 kB', '300kB', '1MB', '5 MB', '1GB')
{
	is( sql("
SELECT sum(r.bytes_read) = s.bytes_read, s.bytes_read <= pg_size_bytes('$budget'),
	count(*) FILTER (WHERE r.measured = 'skipped') = s.skipped_relations, count(*) = s.relations,
	sum(r.bytes) = s.bytes_total,
	s.ended_by = CASE WHEN '$budget' = '1GB' THEN 'complete' ELSE 'budget' END,
	s.bytes_read > pg_size_bytes('$budget') * 0.9 OR '$budget' IN ('0', '1GB')
	FROM streamstat.database_report(budget => '$budget') r,
		LATERAL (SELECT * FROM streamstat.database_report_summary() WHERE r.relid IS NOT NULL OFFSET 0) s
	GROUP BY s.bytes_read, s.skipped_relations, s.relations, s.bytes_total, s.ended_by"),
		't|t|t|t|t|t|t',
		"budget of $budget");
}
is( sql(q(
SELECT count(DISTINCT measured) FROM streamstat.database_report(budget => '1 MB', seed => 1);
CREATE TEMP TABLE one AS SELECT * FROM streamstat.database_report(budget => '1GB', seed => 1);
CREATE TEMP TABLE two AS SELECT * FROM streamstat.database_report(budget => '1GB', seed => 1);
SELECT count(*) FROM (SELECT relation_name, free_percent FROM one WHERE schema_name = 'public' EXCEPT SELECT relation_name, free_percent FROM two) x;
)) =~ s/^.*\n//r,
	'0', 'the same seed, the same samples');

foreach my $case ([ '1 ms', 'NULL' ], [ '500 ms', "'2MB'" ])
{
	my ($time, $rate) = @$case;

	is( sql("SELECT count(*) > 100 FROM streamstat.database_report(budget => '1GB', max_time => '$time', max_rate => $rate);
		SELECT ended_by, elapsed_ms < 60000, bytes_read <= 2.2 * 1024 * 1024 FROM streamstat.database_report_summary()"),
		"t\nmax_time|t|t", "ends after $time");
}
is( sql("SELECT count(*) > 100 FROM streamstat.database_report(budget => '1MB', max_time => '10 min', max_rate => '1MB');
		SELECT ended_by, elapsed_ms > 800 FROM streamstat.database_report_summary()"),
	"t\nbudget|t",
	'keeps the rate');

# A larger budget ends with nothing wider than the margin.
is( sql(q(
SELECT count(*) FROM streamstat.database_report(budget => '1GB', margin => 5)
	WHERE free_percent_high - free_percent_low > 10 OR dead_percent_high - dead_percent_low > 10)),
	'0', 'the margin is kept');

# ---------------------------------------------------------------------------
# others are at work

$other->query('BEGIN; LOCK TABLE t IN ACCESS EXCLUSIVE MODE');
is(row('t', 'measured, note'), 'skipped|locked by another session', 'a locked table');
is(row('t_gin', 'measured, note'), 'skipped|locked by another session', 'its index');
is(sql("SELECT count(*) FROM pg_locks WHERE NOT granted"), '0', 'nobody waits');
$other->query('COMMIT');

# A table lock of another kind does no harm.
$other->query('BEGIN; LOCK TABLE t IN EXCLUSIVE MODE');
is(row('t', 'measured, note IS NULL'), 'exact|t', 'a table locked in another mode');
# ... but then its invalid indexes may be in the making
$other->query('COMMIT; BEGIN; LOCK TABLE twice IN SHARE UPDATE EXCLUSIVE MODE');
is(row('i_invalid', 'command IS NULL, note'),
	't|index is not valid: it is being built, or its build failed',
	'an index that may be in the making');
$other->query('COMMIT');

# A slow report: the largest relations come first.
sql(join '', map { "CREATE TABLE large_$_ AS SELECT g AS i, repeat('x', 1000) AS t FROM generate_series(1, 17500 - 500 * $_) g;" } (1 .. 6));
my $reporter = Session->new($node);
my $observer = Session->new($node);
my $slowly = "budget => '1MB', max_time => '10 min', max_rate => '400kB'";
my $very_slowly = "budget => '500kB', max_time => '10 min', max_rate => '50kB'";

# Wait until the report has so many relations behind it.  False if it has ended before that was seen.
sub under_way
{
	my ($done) = @_;

	Session::poll('a report under way',
		sub { !$reporter->busy || $observer->query("SELECT relations_done >= $done FROM streamstat.stat_progress WHERE pid = $reporter->{pid}") eq 't' });
	return $reporter->busy;
}

$other->query('BEGIN; LOCK TABLE large_1 IN ACCESS EXCLUSIVE MODE');
$reporter->query("SET streamstat.max_blocking_time = '10s'");
$reporter->send_query("SELECT relation_name, measured, note FROM streamstat.database_report($very_slowly) WHERE relation_name LIKE 'large%' ORDER BY relation_name");
# large_1; for each of the others it waits for the rate, so that large_6 is far away
under_way(1);
$observer->query('DROP TABLE large_6');
$other->query('COMMIT');
$observer->query('ALTER TABLE large_1 ADD n int; ALTER TABLE large_2 ADD n int; ALTER TABLE large_3 ADD n int');
is($observer->{err}, '', 'DDL meanwhile');
under_way(2);
is( $observer->query(qq(
SELECT function, phase <> 'scanning', relations_done BETWEEN 1 AND relations_total, relations_total > 100,
	bytes_total > 0, bytes_done BETWEEN 1 AND bytes_total FROM streamstat.stat_progress WHERE pid = $reporter->{pid})),
	'database_report|t|t|t|t|t', 'it is seen');
ok($reporter->busy, 'DDL is not held up: the report is under way');
is( $reporter->answer,
	join("\n", map({ "large_$_|sampled|" } (1 .. 5)), 'large_6|skipped|dropped meanwhile'),
	'one that was locked is tried again; one is dropped meanwhile');
is($reporter->{err}, '', 'no error');
is(sql('SELECT count(*) FROM streamstat.stat_progress'), '0', 'and not seen any more');

# A sample reads the page of the visibility map, once; all blocks are read without it.
my $with_time = "streamstat.database_report(budget => '1GB', margin => 0, max_time => '1 h')";
my $without_map = row('large_1', 'bytes_read / 8192', $with_time);
sql('VACUUM large_1');
like(row('large_1', "bytes_read / 8192 - $without_map", $with_time), qr/^1$/, 'bytes of the visibility map');
is(row('large_1', "measured, bytes_read - bytes <= 66 * current_setting('block_size')::int"), 'exact|t', 'what is to be read as a whole is read once after its first sample');
# One that grows meanwhile is read as a whole once, too.
{
	my $writer = Session->new($node);
	my @much;

	sql("CREATE TABLE grows AS SELECT g AS i, repeat('x', 100) AS t FROM generate_series(1, 100000) g; CREATE TABLE stop_growing ()");
	$writer->send_query('DO $$ BEGIN WHILE NOT EXISTS (SELECT FROM stop_growing) LOOP INSERT INTO grows SELECT g, repeat(\'x\', 100) FROM generate_series(1, 200) g; COMMIT; END LOOP; END $$');
	foreach (1 .. 5)
	{
		my $times = row('grows', 'bytes_read::float / bytes', "streamstat.database_report(margin => 0, tables => '{grows,t}')");
		push @much, $times if $times > 2.2;
	}
	sql('INSERT INTO stop_growing DEFAULT VALUES');
	$writer->answer;
	$writer->end;
	is("@much", '', 'what grows is not read again and again');
	sql('DROP TABLE grows, stop_growing');
}
# ... and leaves the last sample what the budget has left.
is( sql(q(SELECT count(*) > 0 FROM streamstat.database_report(budget => '16MB', margin => 0);
	SELECT ended_by, bytes_total - bytes_left > 0.7 * bytes_read FROM streamstat.database_report_summary())),
	"t\nbudget|t", 'what is read is of use');

# a cancellation
my ($err, $found);
foreach my $timeout ('2s', '5s', '8s')
{
	# of 10 seconds that it takes
	$reporter->query("SET statement_timeout = '$timeout'; SELECT count(*) FROM streamstat.database_report(budget => '1MB', max_time => '10 min', max_rate => '100kB')");
	$err = $reporter->{err};
	$found = $reporter->query("SET statement_timeout = 0; SELECT count(*) > 100, count(*) FILTER (WHERE measured <> 'skipped' AND bytes > 0) > 1, count(*) FILTER (WHERE note = 'not read: the report was canceled') > 10 FROM streamstat.last_database_report(); SELECT ended_by, elapsed_ms IS NULL, bytes_read > 0 FROM streamstat.database_report_summary()");
	last if $found eq "t|t|t\ncanceled|t|t";
}
like($err, qr/57014: .*canceling statement due to statement timeout/, 'a timeout ends it');
is($found, "t|t|t\ncanceled|t|t", 'what it had found is there');

# ---------------------------------------------------------------------------
# the procedure

# In how many transactions does the reporter work, and is it in the way of VACUUM?
sub watch
{
	my ($query) = @_;
	my %begun;
	my $held = 0;
	my $xid;

	# Once more, if it has ended before it was seen.
	for (;;)
	{
		$reporter->send_query($query);
		if (under_way(1))
		{
			$xid = $observer->query('SELECT pg_current_xact_id()::text::int8 % (2::int8 ^ 32)::int8');

			# A snapshot of the time before may be held until the next relation.
			last if under_way($observer->query("SELECT relations_done + 3 FROM streamstat.stat_progress WHERE pid = $reporter->{pid}") || 4);
		}
		$reporter->answer;
	}
	while ($reporter->busy)
	{
		my ($start, $xmin) = split /\|/, $observer->query("SELECT xact_start, backend_xmin FROM pg_stat_activity WHERE pid = $reporter->{pid} AND state = 'active'");

		$begun{$start} = 1 if $start;
		$held++ if $xmin && $xmin <= $xid;
		usleep(30_000);
	}
	return (scalar keys %begun, $held);
}
my ($transactions, $held) = watch("SELECT count(*) > 100 FROM streamstat.database_report($slowly)");
is($transactions, 1, 'the function works in one transaction');
cmp_ok($held, '>', 0, 'the function holds its snapshot');
is($reporter->answer, 't', 'the function');
($transactions, $held) = watch("CALL streamstat.run_database_report($slowly)");
cmp_ok($transactions, '>', 1, 'the procedure commits');
is($held, 0, 'the procedure holds no snapshot');
is($reporter->answer, '', 'the procedure');
is($reporter->query('SELECT ended_by FROM streamstat.database_report_summary()'), 'budget', '... and its summary');
is($reporter->{err}, '', 'no error');
is( $reporter->query('SELECT count(*) = (SELECT relations FROM streamstat.database_report_summary()) FROM streamstat.last_database_report()'),
	't', 'its rows');

# where it cannot commit
is( $reporter->query("BEGIN; CREATE TABLE not_committed (i int); CALL streamstat.run_database_report(budget => '1MB'); ROLLBACK; SELECT ended_by FROM streamstat.database_report_summary()"),
	'budget', 'in a transaction block');
is($reporter->{err}, '', 'no error');
is(sql("SELECT to_regclass('not_committed') IS NULL"), 't', 'nothing was committed');
my $call = "CALL streamstat.run_database_report(budget => '1MB', max_time => '1 min')";
foreach my $body (
	"CALL streamstat.run_database_report(budget => '1MB')",
	"SELECT 1; CALL streamstat.run_database_report(budget => '1MB'); CALL streamstat.run_database_report(budget => '2MB')",
	"DO \$\$ BEGIN EXECUTE 'CALL streamstat.run_database_report(budget => ''1MB'')'; END \$\$",
	"DO \$\$ BEGIN $call; END \$\$",
	"DO \$\$ BEGIN BEGIN $call; EXCEPTION WHEN division_by_zero THEN NULL; END; END \$\$",
	"DO \$\$ DECLARE r record; BEGIN FOR r IN SELECT generate_series(1, 3) LOOP $call; END LOOP; END \$\$")
{
	$reporter->query($body);
	unlike($reporter->{err}, qr/ERROR/, $body);
}
# a deferred trigger that makes a report of its own
sql(<<'SQL');
CREATE TABLE deferred (i int);
CREATE FUNCTION report_of_trigger() RETURNS trigger LANGUAGE plpgsql AS
	$$ BEGIN PERFORM count(*) FROM streamstat.database_report(budget => '64kB'); RETURN NULL; END $$;
CREATE CONSTRAINT TRIGGER trigger AFTER INSERT ON deferred DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION report_of_trigger();
SQL
$reporter->query("DO \$\$ BEGIN INSERT INTO deferred VALUES (1); $call; END \$\$");
is($reporter->{err}, '', 'a report by a deferred trigger');
is($reporter->query('SELECT bytes_read > 65536 FROM streamstat.database_report_summary()'), 't', 'is not the last one');

# ---------------------------------------------------------------------------
# roles, and a standby

my $as_owner = sql(q(SELECT count(*), count(*) FILTER (WHERE measured = 'skipped') FROM streamstat.database_report()));
sql(q(REVOKE ALL ON SCHEMA private FROM PUBLIC));
is( sql(q(SET ROLE monitor; SELECT count(*), count(*) FILTER (WHERE measured = 'skipped') FROM streamstat.database_report())),
	$as_owner, 'a role that is in pg_monitor only');
is( sql(q(SET ROLE monitor; SELECT relid::regclass::text, schema_name, relation_name, measured FROM streamstat.database_report(margin => 0) WHERE relation_name = 'hidden')),
	'private.hidden|private|hidden|exact', 'a schema that it may not use');
is( sql(q(SET ROLE monitor; CALL streamstat.collect(); SELECT count(DISTINCT metric) > 10 FROM streamstat.report_metrics; SELECT count(*) > 0 FROM streamstat.report_advice;
CALL streamstat.run_database_report(budget => '1MB'); SELECT ended_by FROM streamstat.database_report_summary())),
	"t\nt\nbudget", 'the views and the procedure');

$node->wait_for_catchup($standby);
is( $standby->safe_psql('postgres', q(
SELECT relation_name, measured, note, bytes_read FROM streamstat.database_report(margin => 0) WHERE relation_name IN ('u', 'u_btree') ORDER BY 1;
SELECT bool_and(measured = 'exact') FROM streamstat.last_database_report() WHERE relation_name IN ('t', 'fat', 't_gin', 'part_1', 'mv');
SELECT count(*) = (SELECT count(*) FROM pg_class WHERE relkind IN ('r', 'm', 't', 'i')) FROM streamstat.last_database_report();
SELECT command FROM streamstat.last_database_report() WHERE relation_name = 'fat')) =~ s/REPACK.* |VACUUM FULL /REBUILD /r,
	"u|skipped|no data during recovery|0\nu_btree|skipped|no data during recovery|0\nt\nt\nREBUILD public.fat",
	'a standby');
is( $standby->safe_psql('postgres', 'CALL streamstat.run_database_report(); SELECT ended_by FROM streamstat.database_report_summary()'),
	'complete', 'the procedure on a standby');

# What cannot be read ends it there.
$standby->safe_psql('postgres', 'CHECKPOINT');
my $lost = $standby->safe_psql('postgres', "SELECT pg_relation_filepath('mv')");
unlink $standby->data_dir . "/$lost" or die "could not remove $lost: $!";
foreach my $call ('SELECT count(*) FROM streamstat.database_report()', 'CALL streamstat.run_database_report()')
{
	my ($ret, $out, $err) = $standby->psql('postgres',
		"$call;\nSELECT ended_by, sampled_relations + exact_relations > 0 FROM streamstat.database_report_summary()",
		on_error_stop => 0);

	like($err, qr/ERROR:  could not open file "\Q$lost\E": No such file or directory/,
		"a file that is gone, on a standby: $call");
	is($out, 'canceled|t', 'what it had found is there');
}
$standby->stop;

# ---------------------------------------------------------------------------
# damage: each relation has its own reason

sql(<<'SQL');
CREATE TABLE gone AS SELECT * FROM t;
CREATE TABLE cut AS SELECT * FROM t;
CREATE TABLE bad AS SELECT * FROM t;
CREATE MATERIALIZED VIEW bad_view AS SELECT * FROM t;
CREATE INDEX bad_index ON bad (i);
CHECKPOINT;
SQL
my %file = map { $_ => $node->data_dir . '/' . sql("SELECT pg_relation_filepath('$_')") } ('gone', 'cut', 'bad', 'bad_index', 'bad_view');
my $size = sql("SELECT pg_relation_size('cut')");
my $reclaimable = sql("SELECT reclaimable_bytes FROM streamstat.bloat('bad')");
$node->stop;
unlink $file{gone} or die "could not remove $file{gone}: $!";
truncate $file{cut}, $size / 2 + 1000 or die "could not truncate $file{cut}: $!";
foreach my $name ('bad', 'bad_index', 'bad_view')
{
	write_block($file{$name}, 3, random_page());
	write_block($file{$name}, 5, random_page());
}
$node->start;
like(row('gone', 'measured, note, bytes IS NULL'), qr/^skipped\|could not open file .*\|t$/, 'a file that is gone');
is(row('cut', "measured, bytes < $size, free_percent < 5"), 'exact|t|t', 'a file that was cut off');
foreach my $name ('bad', 'bad_index')
{
	is(row($name, 'measured, corrupt_pages, note'), 'exact|2|2 corrupt pages, the first is block 3: see corrupt_blocks()', "$name: bad pages");
}
is(row('bad', 'reclaimable_bytes'), $reclaimable, 'nothing is said to come back of corrupt pages of a table');
is(sql("SELECT reason ~ 'REFRESH MATERIALIZED VIEW' FROM streamstat.database_plan(margin => 0) WHERE relation_name = 'bad_view'"), 't', 'a materialized view can be made anew');
is(sql("SELECT rank, relation_name, command IS NULL, reason ~ 'block 3: see streamstat.corrupt_blocks\\(''public.bad''\\); restore the table from a backup; amcheck''s verify_heapam.* only on pages whose header and checksum are right' FROM streamstat.database_plan(margin => 0) WHERE relation_name ~ '^bad' AND relation_name <> 'bad_view'"),
	'1|bad|t|t', 'the plan names what is for a corrupt table, first, and does not rebuild its index');
sql('TRUNCATE bad; INSERT INTO bad SELECT * FROM t; DROP MATERIALIZED VIEW bad_view');
my $bad_index = $node->data_dir . '/' . sql("CHECKPOINT; SELECT pg_relation_filepath('bad_index')");
$node->stop;
write_block($bad_index, 3, random_page());
$node->start;
is(sql("SELECT rank, relation_name, command FROM streamstat.database_plan(margin => 0) WHERE relation_name ~ '^bad' AND relation_name <> 'bad_view'"),
	'1|bad_index|REINDEX INDEX CONCURRENTLY public.bad_index', 'a corrupt index is rebuilt first of all');

# Of a table and its TOAST table, one is corrupt, and so is an index of the other one.
sql(<<'SQL');
CREATE TABLE two (i int, t text);
ALTER TABLE two ALTER t SET STORAGE EXTERNAL;
INSERT INTO two SELECT i, repeat('x', 3000) FROM generate_series(1, 10000) i;
CREATE INDEX two_index ON two (i);
CREATE INDEX two_sound ON two (i) WITH (fillfactor = 20);
ALTER INDEX two_sound RESET (fillfactor);
CHECKPOINT;
SQL
my ($toast, $toast_index) = split /\|/, sql("SELECT reltoastrelid, indexrelid::regclass FROM pg_class c JOIN pg_index ON indrelid = reltoastrelid WHERE c.oid = 'two'::regclass");
my @two = map { [ $node->data_dir . '/' . sql("SELECT pg_relation_filepath($_)"), random_page() ] }
  $toast, "'two_index'", "'two'", "'$toast_index'";
my $swap = sub {
	$node->stop;
	foreach my $place (@two[@_])
	{
		my $sound = read_block($place->[0], 3);

		write_block($place->[0], 3, $place->[1]);
		$place->[1] = $sound;
	}
	$node->start;
};
my $plan_of_two = "SELECT string_agg(command, ' ' ORDER BY rank), string_agg(reason, ' ' ORDER BY rank) ~ 'if it needs a value from a corrupt page of the TOAST table', count(*) FILTER (WHERE command IS NULL AND reason ~ 'corrupt_blocks') FROM streamstat.database_plan(margin => 0, tables => '{two}')";
$swap->(0, 1);
is(sql($plan_of_two), 'REINDEX INDEX CONCURRENTLY public.two_index|t|1', 'a corrupt TOAST table: a corrupt index of the table is rebuilt');
is($node->psql('postgres', 'REINDEX INDEX CONCURRENTLY public.two_index'), 0, '... which works');
is(row('two_sound', 'command IS NULL, reason'), 't|no command: the table or its TOAST table is corrupt', '... another index has no command');
$swap->(0, 2, 3);
is(sql($plan_of_two), "REINDEX INDEX CONCURRENTLY $toast_index|f|1", 'a corrupt table: a corrupt index of its TOAST table is rebuilt');
is($node->psql('postgres', "REINDEX INDEX CONCURRENTLY $toast_index"), 0, '... which works');
sql('SET allow_system_table_mods = on; DROP TABLE cut, bad, gone, two');

# ---------------------------------------------------------------------------
# the commands: after them there is nothing to be given back

like(row('fat', 'command'), qr/^(VACUUM FULL|REPACK \(CONCURRENTLY\)) public\.fat$/, 'the command for a table');
like(row('Strange " Table', 'command'), qr/^(VACUUM FULL|REPACK) public\."Strange "" Table"$/, 'a quoted name');
is( sql(q(SELECT kind, command IS NOT NULL, rebuilt_by FROM streamstat.database_report() WHERE relation_name = 'toasted' OR parent_name = 'public.toasted' AND kind = 'toast table' ORDER BY kind)),
	"table|t|\ntoast table|f|public.toasted", 'the command for a TOAST table is that of its owner');
my @commands = split /\n/, sql(q(SELECT DISTINCT command FROM streamstat.database_report() WHERE command IS NOT NULL));
cmp_ok(scalar @commands, '>=', 4, 'some commands');
foreach my $command (@commands)
{
	my ($ret, undef, $err) = $node->psql('postgres', $command);

	is($ret, 0, $command) or diag $err;
}
is( sql(q(SELECT string_agg(command, '; ') FROM streamstat.database_report() WHERE command IS NOT NULL)),
	'', 'nothing is left to be done');
$node->stop;

# ---------------------------------------------------------------------------
# ten thousand relations

my $many = new_node('many', 'max_locks_per_transaction = 256');
$many->safe_psql('postgres', q(
DO $$
BEGIN
	FOR i IN 1 .. 2500 LOOP
		EXECUTE format('CREATE TABLE many_%s (i int PRIMARY KEY, t text)', i);
		IF i % 250 = 0 THEN COMMIT; END IF;
	END LOOP;
END $$));
my $session = Session->new($many);
is( $session->query(q(
SELECT count(*) > 10000 FROM streamstat.database_report(budget => '0');
SELECT elapsed_ms < 60000, bytes_read, ended_by FROM streamstat.database_report_summary())),
	"t\nt|0|budget", 'ten thousand relations are listed without reading');
$session->end;

# The server remembers every relation that a session has opened, the session the
# report.
$session = Session->new($many);
SKIP:
{
	my $before = $session->memory('RssAnon') // skip 'this is not Linux', 2;
	my $relations = $session->query(q(SELECT count(*) FROM streamstat.database_report(budget => '10GB') WHERE measured <> 'skipped'));
	my $taken = ($session->memory('RssAnon') - $before) * 1024 / $relations;
	my $kept = $session->query("SELECT total_bytes FROM pg_backend_memory_contexts WHERE name = 'streamstat report'") / $relations;

	note "$taken bytes for each relation, $kept of the report";
	cmp_ok($taken, '<', 5000, 'memory for each relation');
	cmp_ok($kept, '<', 400, 'memory of the report for each');
}
$session->end;
stop_clean($many, $standby, $node);
done_testing();
