
# Copyright (c) 2026, streamstat contributors

# What a role may do, and whose temporary tables can be read.

use strict;
use warnings;

use IPC::Run ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('roles');
$node->init;
$node->append_conf('postgresql.conf', 'autovacuum = off');
$node->start;

$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION streamstat;
CREATE ROLE nobody_special;
CREATE ROLE scanner IN ROLE pg_stat_scan_tables;
CREATE ROLE monitor IN ROLE pg_monitor;
CREATE ROLE reader;
CREATE ROLE granted;
CREATE ROLE owner;
CREATE TABLE t AS SELECT i AS k, ARRAY[i] AS a, point(i, i) AS p FROM generate_series(1, 1000) i;
CREATE INDEX t_btree ON t (k);
CREATE INDEX t_hash ON t USING hash (k);
CREATE INDEX t_gin ON t USING gin (a);
CREATE INDEX t_gist ON t USING gist (point(k, k));
CREATE INDEX t_spgist ON t USING spgist (point(k, k));
CREATE INDEX t_brin ON t USING brin (k);
GRANT SELECT ON t TO reader;
GRANT EXECUTE ON FUNCTION streamstat.btree_stats(regclass) TO granted;
CREATE TABLE owned AS SELECT 1 AS k;
CREATE INDEX owned_btree ON owned (k);
ALTER TABLE owned OWNER TO owner;
-- a column is not the table
CREATE ROLE column_reader;
GRANT SELECT (k) ON t TO column_reader;
SQL

# A query's rows as a role, or how it fails
sub try_as
{
	my ($role, $query) = @_;
	my ($ret, $stdout, $stderr) = $node->psql('postgres',
		"SET ROLE $role;\n\\set VERBOSITY verbose\n$query");

	return $stderr =~ /ERROR:  ([0-9A-Z]{5}: .*)/ ? $1 : $stdout;
}

# Every function that scans, with the names that an error may tell
my %function = (
	"btree_stats('t_btree')" => 'btree_stats',
	"hash_stats('t_hash')" => 'hash_stats',
	"gin_stats('t_gin')" => 'gin_stats',
	"brin_stats('t_brin')" => 'brin_stats',
	"gist_stats('t_gist')" => 'gist_stats',
	"spgist_stats('t_spgist')" => 'spgist_stats',
	"database_report(budget => '1MB')" => 'database_report',
	"last_database_report() RIGHT JOIN (SELECT 1) AS one ON true" =>
	  'last_database_report',
	"database_report_summary()" => 'database_report_summary',
	"sample_stats('t')" => 'sample_stats',
	"sample_stats('t_btree', 10)" => 'sample_stats',
	"sample_stats('t_hash', 10, seed => 1)" => 'sample_stats',
	"bloat('t')" => 'bloat',
	"bloat('t_btree', 10, 1, 'no')" => 'bloat',
	"pgstatindex('t_btree')" => 'pgstatindex',
	"pgstatindex('t_btree'::text)" => 'pgstatindex',
	"pgstathashindex('t_hash')" => 'pgstathashindex',
	"pgstatginindex('t_gin')" => 'pgstatginindex',
	"index_stats('t_gin')" => 'index_stats',
	"index_stats_tree('t_btree')" => 'index_stats_tree',
	"table_stats('t', 'row')" => 'table_stats',
	"table_stats_tree('t')" => 'table_stats_tree',
	"visibility_map_summary('t')" => 'visibility_map_summary',
	"unfrozen_ranges('t')" => 'unfrozen_ranges',
	"free_space_map_summary('t')" => 'free_space_map_summary',
	"layout_map('t')" => 'layout_map',
	"pgstattuple('t')" => 'pgstattuple',
	"pgstattuple('t'::text)" => 'pgstattuple',
	"pgstattuple_approx('t')" => 'pgstattuple_approx',
	"pg_relpages('t')" => 'pg_relpages',
	"pg_relpages('t'::text)" => 'pg_relpages');

foreach my $call (sort keys %function)
{
	my $query = "SELECT count(*) > 0 FROM streamstat.$call";

	foreach my $role ('nobody_special', 'reader', 'owner')
	{
		is( try_as($role, $query),
			"42501: permission denied for function $function{$call}",
			"$call: refused to $role");
	}

	# no right to the table is needed
	foreach my $role ('scanner', 'monitor')
	{
		is(try_as($role, $query), 't', "$call: allowed to $role");
	}
}
is( try_as('granted', "SELECT count(*) FROM streamstat.btree_stats('t_btree')"),
	'1', 'btree_stats: allowed where granted');
is( try_as('granted', "SELECT count(*) FROM streamstat.pgstatindex('t_btree')"),
	'42501: permission denied for function pgstatindex',
	'pgstatindex: refused where another function is granted');

# a procedure, and views
foreach my $role ('nobody_special', 'reader', 'owner')
{
	is( try_as($role, "CALL streamstat.run_database_report(budget => '1MB')"),
		'42501: permission denied for procedure run_database_report',
		"run_database_report: refused to $role");
	foreach my $view ('metrics', 'advice')
	{
		is( try_as($role, "SELECT count(*) FROM streamstat.$view"),
			"42501: permission denied for view $view",
			"$view: refused to $role");
	}
}
foreach my $role ('scanner', 'monitor')
{
	like(try_as($role, "CALL streamstat.run_database_report(budget => '1MB')"),
		qr/\|budget\|/, "run_database_report: allowed to $role");
	is(try_as($role, 'SELECT count(*) > 100 FROM streamstat.report_metrics'),
		't', "metrics: allowed to $role");
	is(try_as($role, 'SELECT count(*) < 21 FROM streamstat.report_advice'),
		't', "advice: allowed to $role");
}

# Nothing that scans may be left out above.
is( $node->safe_psql(
		'postgres', q(
SELECT string_agg(DISTINCT proname, ' ' ORDER BY proname) FROM pg_proc
WHERE pronamespace = 'streamstat'::regnamespace
	AND NOT has_function_privilege('nobody_special', oid, 'EXECUTE'))),
	join(' ',
		sort 'run_database_report',
		keys %{ { map { $_ => 1 } values %function } }),
	'functions refused to others');
is( $node->safe_psql(
		'postgres', q(
SELECT string_agg(DISTINCT proname, ' ' ORDER BY proname) FROM pg_proc
WHERE pronamespace = 'streamstat'::regnamespace
	AND has_function_privilege('nobody_special', oid, 'EXECUTE'))),
	'pg_prewarm stat_progress stream_stats',
	'functions allowed to everybody');

# pg_prewarm: who may read the table
foreach my $mode ('buffer', 'read', 'prefetch')
{
	foreach my $relation ('t', 't_btree', 't_hash')
	{
		my $query = "SELECT streamstat.pg_prewarm('$relation', '$mode') > 0";
		my $type = $relation eq 't' ? 'table' : 'index';

		is(try_as('reader', $query), 't', "$mode, $relation: allowed to reader");
		foreach my $role ('nobody_special', 'scanner', 'column_reader')
		{
			is( try_as($role, $query),
				"42501: permission denied for $type $relation",
				"$mode, $relation: refused to $role");
		}
	}
}
is(try_as('owner', "SELECT streamstat.pg_prewarm('owned_btree') > 0"),
	't', 'pg_prewarm: allowed to the owner');
is( try_as(
		'reader',
		"SELECT streamstat.pg_prewarm('owned_btree', 'buffer', 'main', 99)"),
	'42501: permission denied for index owned_btree',
	'pg_prewarm: refused before it tells the size');

# stream_stats
is( try_as(
		'nobody_special',
		'SELECT count(*), count(function), count(blocks_requested) FROM streamstat.stream_stats()'
	),
	'1|0|0',
	'stream_stats: allowed to everybody');
is( try_as(
		'reader',
		"SELECT streamstat.pg_prewarm('t') > 0; SELECT function, relation FROM streamstat.stream_stats()"
	),
	"t\npg_prewarm|t",
	'stream_stats: of the last call');
# ... and a call that was refused is none
is( try_as(
		'reader',
		"SELECT streamstat.pg_prewarm('t') > 0;\n\\set ON_ERROR_STOP off\nSELECT streamstat.btree_stats('t_btree');\nSELECT 1"
	),
	'42501: permission denied for function btree_stats',
	'btree_stats: refused after another call');

# ---------------------------------------------------------------------------
# Temporary tables: another session has one, as long as it is told to stay.

my ($in, $out, $err) = ('', '', '');
my $session = IPC::Run::start(
	[ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-f', '-' ],
	'<', \$in, '>', \$out, '2>', \$err,
	IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
my $make = <<'SQL';
CREATE TEMP TABLE tt AS SELECT i AS k, ARRAY[i] AS a FROM generate_series(1, 1000) i;
CREATE INDEX tt_btree ON tt (k);
CREATE INDEX tt_hash ON tt USING hash (k);
CREATE INDEX tt_gin ON tt USING gin (a);
SQL
$in .= $make
  . "SELECT 'oids', string_agg(oid::text, ' ' ORDER BY relname) FROM pg_class WHERE relname IN ('tt', 'tt_btree', 'tt_hash', 'tt_gin');\n";
$session->pump until $out =~ /^oids\|(.*)\n/m || !$session->pumpable;
my ($table, $btree, $gin, $hash) = split / /, ($out =~ /^oids\|(.*)\n/m)[0];

foreach my $case (
	[ "btree_stats($btree)", 'tables' ],
	[ "hash_stats($hash)", 'indexes' ],
	[ "sample_stats($table)", 'tables' ],
	[ "sample_stats($btree)", 'tables' ],
	[ "sample_stats($hash)", 'indexes' ],
	[ "pgstatindex($btree)", 'tables' ],
	[ "pgstathashindex($hash)", 'indexes' ],
	[ "pgstatginindex($gin)", 'indexes' ],
	[ "pg_prewarm($table)", 'tables' ],
	[ "pg_prewarm($btree, 'read')", 'tables' ],
	[ "pg_prewarm($hash, 'prefetch')", 'tables' ])
{
	my ($call, $what) = @$case;
	my $user = $node->safe_psql('postgres', 'SELECT current_user');
	my $label = $call =~ s/\d+/.../r;

	is( try_as("\"$user\"", "SELECT streamstat.$call"),
		"0A000: cannot access temporary $what of other sessions",
		"$label: another session's");
}
$in .= "\\q\n";
$session->finish;
is($err, '', "the other session");

# one's own: more than its local buffers hold, and the same as a table's
is( $node->safe_psql(
		'postgres', "
SET temp_buffers = '800kB';
$make
INSERT INTO tt SELECT i, ARRAY[i] FROM generate_series(1001, 30000) i;
CREATE TABLE p AS TABLE tt;
CREATE INDEX p_btree ON p (k);
CREATE INDEX p_hash ON p USING hash (k);
REINDEX TABLE tt;
SELECT s = p FROM streamstat.btree_stats('tt_btree') s, streamstat.btree_stats('p_btree') p;
SELECT s = p FROM streamstat.hash_stats('tt_hash') s, streamstat.hash_stats('p_hash') p;
SELECT count(*) FROM streamstat.pgstatginindex('tt_gin');
SELECT estimate, exact FROM streamstat.sample_stats('tt') WHERE statistic = 'tuple_count';
SELECT bool_and(s.estimate IS NOT DISTINCT FROM p.estimate)
	FROM streamstat.sample_stats('tt_btree', 20, seed => 1) s JOIN streamstat.sample_stats('p_btree', 20, seed => 1) p USING (statistic);
SELECT streamstat.pg_prewarm('tt') = streamstat.pg_relpages('tt'), streamstat.pg_prewarm('tt_btree', 'read') > 80,
	streamstat.pg_prewarm('tt_btree', 'prefetch') > 80;
"),
	"t\nt\n1\n30000|t\nt\nt|t|t",
	'own temporary tables');

# Nothing that a relation's owner wrote runs with the rights of who looks at it.
$node->safe_psql('postgres', q(
CREATE FUNCTION spy(i int) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RAISE WARNING 'seen'; RETURN true; END $$;
CREATE TABLE watched (i int) WITH (autovacuum_enabled = off);
INSERT INTO watched SELECT generate_series(1, 1000);
CREATE INDEX watched_btree ON watched (i) WHERE spy(1);
CREATE INDEX watched_expression ON watched USING hash ((CASE WHEN spy(2) THEN i END));
DELETE FROM watched WHERE i % 2 = 0));
my $seen = 0;
foreach my $call (
	(map { ("bloat('$_')", "index_stats('$_')", "sample_stats('$_')") } 'watched_btree', 'watched_expression'),
	'database_report()', "bloat('watched')")
{
	my $stderr;

	$node->psql('postgres', "SELECT count(*) FROM streamstat.$call", stderr => \$stderr);
	$seen++ if $stderr ne '';
}
is($seen, 0, 'no code of an index runs');

$node->stop;
my $log = slurp_file($node->logfile);
unlike($log, qr/PANIC|TRAP|terminated by signal/, 'no crash');
unlike($log, qr/leak|not closed|still referenced/i, 'no leak');

done_testing();
