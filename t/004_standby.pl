
# Copyright (c) 2026, streamstat contributors

# On a streaming standby every function gives the primary's answer, and refuses
# unlogged relations, which have no data there.

use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Utils;
use Test::More;

use lib "$FindBin::RealBin/lib";
use Node;
use Session;

my $primary = new_node('primary', '', streaming => 1);
create_outcome($primary);
my $standby = new_standby($primary);

$primary->safe_psql('postgres', <<'SQL');
CREATE TABLE t AS SELECT i AS k, ARRAY[i] AS a FROM generate_series(1, 100000) i;
CREATE INDEX t_btree ON t (k);
CREATE INDEX t_hash ON t USING hash (k);
CREATE INDEX t_gin ON t USING gin (a);
CREATE INDEX t_brin ON t USING brin (k) WITH (pages_per_range = 4);
DELETE FROM t WHERE k BETWEEN 20000 AND 40000;
VACUUM t;
INSERT INTO t SELECT i, ARRAY[i] FROM generate_series(1, 300) i;
CREATE UNLOGGED TABLE u AS SELECT i AS k, ARRAY[i] AS a FROM generate_series(1, 100) i;
CREATE INDEX u_btree ON u (k);
CREATE INDEX u_hash ON u USING hash (k);
CREATE INDEX u_gin ON u USING gin (a);
CREATE INDEX u_brin ON u USING brin (k);

SQL
$primary->wait_for_catchup($standby);
is($standby->safe_psql('postgres', 'SELECT pg_is_in_recovery()'),
	't', 'the standby is one');

foreach my $call (
	"btree_stats('t_btree')",
	"hash_stats('t_hash')",
	"gin_stats('t_gin')",
	"brin_stats('t_brin')",
	"sample_stats('t', 100, seed => 1)",
	"sample_stats('t', 1000000)",
	"sample_stats('t_btree', 50, seed => 2)",
	"sample_stats('t_hash', 50, seed => 3)",
	"pgstatindex('t_btree')",
	"pgstatindex('t_btree'::text)",
	"pgstathashindex('t_hash')",
	"pgstatginindex('t_gin')",
	"corrupt_blocks('t', max_time => '0')",
	"pg_relpages('t')",
	"pg_relpages('t_btree'::text)",
	"pg_prewarm('t_btree')",
	"pg_prewarm('t', 'read')",
	"pg_prewarm('t', 'prefetch')",
	"pg_prewarm('t', 'buffer', 'fsm')",
	"pg_prewarm('t', 'buffer', 'vm', 0, 0)")
{
	my $query = "SELECT * FROM streamstat.$call";
	my $expected = $primary->safe_psql('postgres', $query);

	isnt($expected, '', "$call: the primary has an answer");
	is($standby->safe_psql('postgres', $query),
		$expected, "$call: the standby's answer");
}

is( $standby->safe_psql(
		'postgres', q(
SELECT version > 0 FROM streamstat.btree_stats('t_btree');
SELECT function, relation, blocks_requested = blocks_hit + blocks_missed,
	blocks_requested * current_setting('block_size')::int = pg_relation_size('t_btree')
FROM streamstat.stream_stats())),
	"t\nbtree_stats|t_btree|t|t",
	'stream_stats on the standby');

my $refused =
  '0A000 cannot access temporary or unlogged relations during recovery';
foreach my $call (
	"btree_stats(''u_btree'')",
	"hash_stats(''u_hash'')",
	"gin_stats(''u_gin'')",
	"brin_stats(''u_brin'')",
	"layout_map(''u'')",
	"pgstatindex(''u_btree'')",
	"pgstatindex(''u_btree''::text)",
	"pgstathashindex(''u_hash'')",
	"pgstatginindex(''u_gin'')",
	"pg_prewarm(''u'')",
	"pg_prewarm(''u_btree'', ''read'')")
{
	is( $primary->safe_psql(
			'postgres', "SELECT error_of('SELECT streamstat.$call')"),
		'no error',
		"$call: unlogged, on the primary");

	# pg_prewarm looks for the fork first, as contrib's does.
	is( $standby->safe_psql(
			'postgres', "SELECT error_of('SELECT streamstat.$call')"),
		$call =~ /^pg_prewarm/
		? '22023 fork "main" does not exist for this relation'
		: $refused,
		"$call: unlogged, on the standby");
}

# What an unlogged relation has on a standby
is($standby->safe_psql('postgres', "SELECT streamstat.pg_prewarm('u_btree', '$_', 'init')"),
	1, "pg_prewarm, $_: the init fork, on the standby")
  foreach ('prefetch', 'read', 'buffer');

# A loop over relations goes on.
foreach my $call ("table_stats('u', 'row')", "table_stats_tree('u')", "index_stats('u_btree')",
	"index_stats_tree('u_hash')", "sample_stats('u')", "sample_stats('u_gin')", "bloat('u')",
	"bloat('u_brin')", "bloat_tree('u_btree')")
{
	is($standby->safe_psql('postgres', "SELECT note FROM streamstat.$call"),
		'no data during recovery', "$call: on the standby");
}
is($standby->safe_psql('postgres', "SELECT * FROM streamstat.corrupt_blocks('u')"),
	'|not read|no data during recovery', 'corrupt_blocks: on the standby');
is($standby->safe_psql('postgres', "SELECT count(*) FROM pg_class c, streamstat.corrupt_blocks(c.oid) WHERE error <> 'not read'"),
	0, 'corrupt_blocks of every relation, on the standby');
foreach my $f ('table_stats', 'index_stats', 'sample_stats', 'bloat', 'bloat_tree')
{
	is( $standby->safe_psql('postgres',
			"SELECT count(DISTINCT c.oid) = (SELECT count(*) FROM pg_class) FROM pg_class c, streamstat.$f(c.oid)"),
		't', "$f of every relation, on the standby");
}

# A conflict ends a report, and not its session.
$standby->append_conf('postgresql.conf', 'max_standby_streaming_delay = 0');
$standby->reload;
my $session = Session->new($standby);
$session->query("SET streamstat.max_rate = '64kB'");
$session->send_query("SELECT count(*) FROM streamstat.database_report(max_time => '1 h')");
Session::poll('a report on a standby', sub { $standby->safe_psql('postgres', "SELECT count(*) FROM streamstat.stat_progress WHERE relid = 't'::regclass") });
$primary->safe_psql('postgres', 'BEGIN; LOCK t; COMMIT');
$session->answer;
like($session->{err}, qr/ERROR:  40001: canceling statement due to conflict with recovery/, 'a conflict with recovery');
is($session->query("SELECT 'here'"), 'here', '... after which the session goes on');
$session->end;

# Promoted, it goes on; unlogged relations are empty then.
$standby->promote;
is( $standby->safe_psql(
		'postgres', q(
SELECT blocks_total FROM streamstat.sample_stats('u') LIMIT 1;
SELECT live_items, leaf_pages FROM streamstat.btree_stats('u_btree');
SELECT version, entry_items, entry_leaf_pages, corrupt_pages FROM streamstat.gin_stats('u_gin');
SELECT version, ranges, summarized_ranges, corrupt_pages FROM streamstat.brin_stats('u_brin');
SELECT live_items FROM streamstat.btree_stats('t_btree'))),
	"0\n0|0\n2|0|1|0\n1|0|0|0\n"
	  . $primary->safe_psql('postgres',
		"SELECT live_items FROM streamstat.btree_stats('t_btree')"),
	'after promotion');

stop_clean($standby, $primary);
done_testing();
