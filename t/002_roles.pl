
# Copyright (c) 2026, streamstat contributors

# What a role may do, and whose temporary tables can be read.

use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Utils;
use Test::More;

use lib "$FindBin::RealBin/lib";
use Functions;
use Node;
use Session;

my $node = new_node('roles');

$node->safe_psql('postgres', <<'SQL');
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

my %relations = (
	table => 't', tree => 't', tree_index => 't_btree',
	map { $_ => "t_$_" } qw(btree hash gin gist spgist brin));
my $session = Session->new($node);

# ... in a session that stays
sub said_as
{
	my ($role, $query) = @_;

	$session->query("RESET ROLE; SET ROLE $role");
	my $answer = $session->query($query);
	return $session->{err} =~ /ERROR:  ([0-9A-Z]{5}: .*)/ ? $1 : $answer;
}

if (create_extension($node, 'bloom'))
{
	$node->safe_psql('postgres', 'CREATE INDEX t_bloom ON t USING bloom (k)');
	$relations{bloom} = 't_bloom';
}
foreach my $function (grep { $_->{who} ne 'PUBLIC' } all_functions())
{
	my $name = $function->{name};

	foreach my $call (calls($function, \%relations))
	{
		my $query = $function->{procedure}
		  ? "CALL streamstat.$call; SELECT ended_by FROM streamstat.database_report_summary()"
		  : "SELECT count(*) >= 0 FROM streamstat.$call";

		# as a part of reports it is granted to all who make them, and needs the right to what it calls
		my $needed = $name eq 'report_caches' ? 'cache_summary' : $name;
		my @allowed = $function->{who} eq 'pg_monitor' || $needed ne $name ? ('monitor') : ('scanner', 'monitor');

		foreach my $role ('nobody_special', 'reader', 'owner', @allowed == 1 ? 'scanner' : ())
		{
			is( said_as($role, $query),
				'42501: permission denied for ' . ($function->{procedure} ? 'procedure' : 'function') . ($role eq 'scanner' ? " $needed" : " $name"),
				"$call: refused to $role");
		}

		# no right to the table is needed
		foreach my $role (@allowed)
		{
			like(said_as($role, $query), $function->{procedure} ? qr/^(budget|max_time)$/ : qr/^t$/, "$call: allowed to $role");
		}
	}
}
is( try_as('granted', "SELECT count(*) FROM streamstat.btree_stats('t_btree')"),
	'1', 'btree_stats: allowed where granted');
is( try_as('granted', "SELECT count(*) FROM streamstat.pgstatindex('t_btree')"),
	'42501: permission denied for function pgstatindex',
	'pgstatindex: refused where another function is granted');

my %views = views();
foreach my $view (grep { $views{$_} ne 'PUBLIC' } sort keys %views)
{
	foreach my $role ('nobody_special', 'reader', 'owner')
	{
		is( said_as($role, "SELECT count(*) FROM streamstat.$view"),
			'42501: permission denied for ' . ($view =~ /_seq$/ ? 'sequence' : $view =~ /^report_run(s$|_(?!metrics))/ ? 'table' : 'view') . " $view",
			"$view: refused to $role");
	}
	foreach my $role ('scanner', 'monitor')
	{
		is(said_as($role, "SELECT count(*) >= 0 FROM streamstat.$view"), 't', "$view: allowed to $role");
	}
}
is(said_as('scanner', 'SELECT sum(relations) > 100 FROM streamstat.report_relation_metrics'), 't', 'metrics: of all relations');
is(said_as('scanner', 'SELECT count(*) < 21 FROM streamstat.report_advice'), 't', 'advice: no more than twenty');
$session->end;

# A stored report is shown to those who may read it.
$node->safe_psql('postgres', 'GRANT EXECUTE ON FUNCTION streamstat.last_database_plan TO granted');
is(try_as('scanner', 'SELECT count(*) >= 0 FROM streamstat.last_database_plan()'), 't', 'a stored plan: shown');
is( try_as('granted', 'SELECT count(*) FROM streamstat.last_database_plan()'),
	'55000: no report has been made in this session, and none is stored',
	'a stored plan: not shown to those who may not read it');

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

my $other = Session->new($node);
my $make = <<'SQL';
CREATE TEMP TABLE tt AS SELECT i AS k, ARRAY[i] AS a FROM generate_series(1, 1000) i;
CREATE INDEX tt_btree ON tt (k);
CREATE INDEX tt_hash ON tt USING hash (k);
CREATE INDEX tt_gin ON tt USING gin (a);
SQL
$other->query($make);
my ($table, $btree, $gin, $hash) = split / /, $other->query(
	"SELECT string_agg(oid::text, ' ' ORDER BY relname) FROM pg_class WHERE relname IN ('tt', 'tt_btree', 'tt_hash', 'tt_gin')");
is($other->{err}, '', 'the other session');

foreach my $case (
	[ "btree_stats($btree)", 'tables' ],
	[ "hash_stats($hash)", 'indexes' ],
	[ "layout_map($table)", 'tables' ],
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
# A loop over relations goes on.
foreach my $call ("table_stats($table, 'row')", "table_stats_tree($table)", "index_stats($btree)",
	"index_stats_tree($gin)", "sample_stats($table)", "sample_stats($hash)", "bloat($table)",
	"bloat($btree)", "bloat_tree($table)")
{
	is($node->safe_psql('postgres', "SELECT note FROM streamstat.$call"),
		'temporary relation of another session', ($call =~ s/\d+/.../r) . ": another session's");
}
is($node->safe_psql('postgres', "SELECT * FROM streamstat.corrupt_blocks($table)"),
	'|not read|temporary relation of another session', "corrupt_blocks(...): another session's");
is($node->safe_psql('postgres', "SELECT count(*) FROM pg_class c, streamstat.corrupt_blocks(c.oid) WHERE error <> 'not read'"),
	0, 'corrupt_blocks of every relation');
foreach my $f ('table_stats', 'index_stats', 'sample_stats', 'bloat', 'table_stats_tree',
	'index_stats_tree', 'bloat_tree')
{
	is( $node->safe_psql('postgres',
			"SELECT count(DISTINCT c.oid) = (SELECT count(*) FROM pg_class) FROM pg_class c, streamstat.$f(c.oid)"),
		't', "$f of every relation");
}

# One that is dropped while the call waits for its lock has a note, too.
foreach my $f ('table_stats', 'index_stats', 'sample_stats', 'bloat', 'table_stats_tree',
	'index_stats_tree', 'bloat_tree')
{
	my $index = $f =~ /index|bloat/;
	my $caller = Session->new($node);

	$node->safe_psql('postgres', 'CREATE TABLE going (k int); CREATE INDEX going_k ON going (k)');
	my $oid = $node->safe_psql('postgres', $index ? "SELECT 'going_k'::regclass::oid" : "SELECT 'going'::regclass::oid");
	$other->query('BEGIN; DROP TABLE going');
	$caller->send_query("SELECT note FROM streamstat.$f($oid)");
	Session::poll("$f waits", sub {
			$node->safe_psql('postgres',
				"SELECT count(*) FROM pg_locks WHERE pid = $caller->{pid} AND NOT granted") > 0;
	});
	$other->query('COMMIT');
	is($caller->answer, 'relation does not exist', "$f of a relation that is dropped meanwhile");
	is($caller->{err}, '', '... without an error');
	$caller->end;
}
$other->end;

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
SELECT estimate, measured FROM streamstat.sample_stats('tt') WHERE statistic = 'live_tuples';
SELECT bool_and(s.estimate IS NOT DISTINCT FROM p.estimate)
	FROM streamstat.sample_stats('tt_btree', 20, seed => 1) s JOIN streamstat.sample_stats('p_btree', 20, seed => 1) p USING (statistic);
SELECT streamstat.pg_prewarm('tt') = streamstat.pg_relpages('tt'), streamstat.pg_prewarm('tt_btree', 'read') > 80,
	streamstat.pg_prewarm('tt_btree', 'prefetch') > 80;
"),
	"t\nt\n1\n30000|exact\nt\nt|t|t",
	'own temporary tables');

# Nothing that a relation's owner wrote runs with the rights of who looks at it.
$node->safe_psql('postgres', q(
CREATE FUNCTION spy(i int) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RAISE WARNING 'seen'; RETURN true; END $$;
CREATE TABLE watched (i int) WITH (autovacuum_enabled = off);
INSERT INTO watched SELECT generate_series(1, 1000);
CREATE INDEX watched_btree ON watched (i) WHERE spy(1);
CREATE INDEX watched_expression ON watched USING hash ((CASE WHEN spy(2) THEN i END));
CREATE INDEX watched_gin ON watched USING gin ((CASE WHEN spy(3) THEN ARRAY[i] END)) WHERE spy(4);
ALTER TABLE watched SET (parallel_workers = 2);
CREATE STATISTICS watched_statistics ON (CASE WHEN spy(5) THEN i END), i FROM watched;
ANALYZE watched;
DELETE FROM watched WHERE i % 2 = 0));
my $seen = 0;
foreach my $call (
	(map { ("bloat('$_')", "index_stats('$_')", "sample_stats('$_')") } 'watched_btree', 'watched_expression', 'watched_gin'),
	'database_report()', "bloat('watched')")
{
	my $stderr;

	$node->psql('postgres', "SELECT count(*) FROM streamstat.$call", stderr => \$stderr);
	$seen++ if $stderr ne '';
}
is($seen, 0, 'no code of an index runs');

stop_clean($node);
done_testing();
