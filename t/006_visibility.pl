
# Copyright (c) 2026, streamstat contributors

# What table_stats, pgstattuple and pgstattuple_approx make of transactions of
# others: in progress, prepared, ended, crashed, of long ago.  Pages come from buffers
# or are read privately, and no hint bit was set before we look: contrib's functions
# come behind ours.

use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Utils;
use Test::More;

use lib "$FindBin::RealBin/lib";
use Node;
use Pages;
use Visibility;

my $node = visibility_node();
my ($a, $b, $c, $d) = begin_sessions();

# ---------------------------------------------------------------------------
# In progress, by others

make('progress', 1000);
look('progress', numbers(1000, 0, 0, 0, 0), 'all committed');
$a->query("BEGIN; INSERT INTO progress SELECT i, 0, $fill FROM generate_series(1001, 1100) i");
look('progress', numbers(1100, 0, 0, 100, 0), 'inserts in progress');
$b->query('BEGIN; DELETE FROM progress WHERE k <= 200');
look('progress', numbers(1100, 0, 0, 100, 200), 'deletes in progress');
$c->query('BEGIN; UPDATE progress SET n = 1 WHERE k BETWEEN 301 AND 350');
look('progress', numbers(1150, 0, 0, 150, 250), 'updates in progress');
$c->query("UPDATE progress SET t = $fill, k = -k WHERE k BETWEEN 301 AND 310");
look('progress', numbers(1160, 0, 0, 160, 250),
	'rows updated twice: what the same transaction inserted and deleted');
$a->query('DELETE FROM progress WHERE k > 1050');
look('progress', numbers(1160, 0, 0, 160, 250),
	'inserted and deleted by a transaction in progress');
$b->query('ROLLBACK');
look('progress', numbers(1160, 0, 0, 160, 50), 'deletes rolled back');
$a->query('COMMIT');
look('progress', numbers(1110, 50, 0, 60, 50), 'inserts committed');
$c->query('COMMIT');
look('progress', numbers(1050, 110, 0, 0, 0), 'updates committed');
$a->query("BEGIN; INSERT INTO progress SELECT i, 0, $fill FROM generate_series(2001, 2100) i");
$a->query('ROLLBACK');
is($d->query("SELECT live_tuples, dead_tuples >= 100 FROM streamstat.table_stats('progress')"),
	"1050|t", 'inserts rolled back');
is($d->query("SELECT split_part(look('progress'), ' ', 2)"), 'live,',
	'inserts rolled back: as contrib');

# What the session itself does, beside the others
make('own', 1000);
$a->query('BEGIN; DELETE FROM own WHERE k <= 100');
$d->query("BEGIN; DELETE FROM own WHERE k BETWEEN 101 AND 300; INSERT INTO own SELECT i, 0, $fill FROM generate_series(1001, 1050) i; DELETE FROM own WHERE k > 1040");
look('own', numbers(840, 210, 0, 40, 310), 'own changes');
$d->query('SAVEPOINT a; DELETE FROM own WHERE k BETWEEN 301 AND 400');
look('own', numbers(740, 310, 0, 40, 410), 'own subtransaction');
$d->query('ROLLBACK TO a');
look('own', numbers(840, 210, 0, 40, 310), 'own subtransaction rolled back');
$d->query('COMMIT');
$a->query('COMMIT');
look('own', numbers(740, 310, 0, 0, 0), 'own changes committed');

# ---------------------------------------------------------------------------
# Subtransactions of others, more than the proc array has room for

make('sub', 1000);
$a->query("BEGIN; CALL one_by_one('INSERT INTO sub VALUES (\$1, 0, $fill)', 1001, 1300)" =~ s/'y'/''y''/r);
is($a->{err}, '', 'subtransactions: no error');
$b->query("BEGIN; CALL one_by_one('DELETE FROM sub WHERE k = \$1', 1, 300)");
is($b->{err}, '', 'subtransactions: no error');
look('sub', numbers(1200, 100, 0, 200, 200), '300 subtransactions each');
$a->query('SAVEPOINT a; DELETE FROM sub WHERE k > 900');
look('sub', numbers(1200, 100, 0, 200, 300), 'and one more');
$a->query('ROLLBACK TO a');
look('sub', numbers(1200, 100, 0, 200, 200), 'rolled back');
$a->query('COMMIT');
look('sub', numbers(1200, 100, 0, 0, 200), 'the first committed');
$b->query('COMMIT');
look('sub', numbers(1000, 300, 0, 0, 0), 'the second committed');

# ---------------------------------------------------------------------------
# Prepared transactions

make('prepared', 1000);
$a->query("BEGIN; INSERT INTO prepared SELECT i, 0, $fill FROM generate_series(1001, 1100) i; SAVEPOINT a; DELETE FROM prepared WHERE k <= 10; PREPARE TRANSACTION 'a'");
$b->query("BEGIN; DELETE FROM prepared WHERE k BETWEEN 11 AND 50; PREPARE TRANSACTION 'b'");
look('prepared', numbers(1100, 0, 0, 100, 50), 'prepared');
end_sessions();
$node->restart;
($a, $b, $c, $d) = begin_sessions();
look('prepared', numbers(1100, 0, 0, 100, 50), 'prepared, after a restart');
$a->query("COMMIT PREPARED 'b'");
look('prepared', numbers(1060, 40, 40, 100, 10), 'one committed');
$a->query("ROLLBACK PREPARED 'a'");
look('prepared', numbers(960, 140, 0, 0, 0), 'the other rolled back');

# ---------------------------------------------------------------------------
# Row locks and multixacts

make('locks', 1000);
$a->query('BEGIN; SELECT FROM locks WHERE k <= 600 FOR KEY SHARE');
$a->query('SELECT FROM locks WHERE k BETWEEN 601 AND 650 FOR UPDATE');
look('locks', numbers(1000, 0, 0, 0, 0), 'locked by one');
$b->query('BEGIN; SELECT FROM locks WHERE k <= 100 FOR SHARE');
look('locks', numbers(1000, 0, 0, 0, 0), 'locked by two');
$c->query('BEGIN; UPDATE locks SET n = 1 WHERE k BETWEEN 101 AND 200');
look('locks', numbers(1100, 0, 0, 100, 100), 'locked, and updated by another');
$b->query('UPDATE locks SET n = 1 WHERE k BETWEEN 201 AND 300; SAVEPOINT a; UPDATE locks SET n = 2 WHERE k BETWEEN 301 AND 400; ROLLBACK TO a');
look('locks', numbers(1200, 100, 0, 200, 200),
	'a subtransaction that updated rolled back');
$c->query('COMMIT');
is($d->query("SELECT (t->>'live_tuples')::int + (t->>'dead_tuples')::int, t->>'live_tuples', t->>'delete_in_progress_tuples', t->>'recently_dead_tuples' FROM (SELECT to_jsonb(t) AS t FROM streamstat.table_stats('locks') t) t"),
	'1300|1100|100|100',
	'updater committed while the locker goes on: the rows cannot be removed yet');
like($d->query("SELECT look('locks')"), qr/^1\d\d\d live/, 'updater committed: as contrib');
$b->query('ROLLBACK');
look('locks', numbers(1000, 300, 100, 0, 0), 'updater rolled back while the locker goes on');
$a->query('COMMIT');
look('locks', numbers(1000, 300, 0, 0, 0), 'all have ended');
# a locker that came behind the updater
$a->query('BEGIN; UPDATE locks SET n = 3 WHERE k BETWEEN 701 AND 800');
$b->query('BEGIN; SELECT FROM locks WHERE k BETWEEN 701 AND 900 FOR KEY SHARE');
is($d->query("SELECT live_tuples, insert_in_progress_tuples, delete_in_progress_tuples FROM streamstat.table_stats('locks')"),
	'1100|100|100', 'locked behind an update');
like($d->query("SELECT look('locks')"), qr/^1100 live/, 'locked behind an update: as contrib');
$a->query('COMMIT; BEGIN; DELETE FROM locks WHERE k BETWEEN 951 AND 960');
like($d->query("SELECT look('locks')"), qr/^1000 live/, 'locked, update committed: as contrib');
$b->query('COMMIT');
$a->query('COMMIT');
like($d->query("SELECT look('locks')"), qr/^990 live, \d+ dead, 0 recent, 0 ins, 0 del$/, 'all have ended: as contrib');
cmp_ok($node->safe_psql('postgres', 'SELECT next_multixact_id FROM pg_control_checkpoint()'),
	'>', 3, 'there have been multixacts');

# ---------------------------------------------------------------------------
# What an old snapshot keeps

make('old', 1000);
$a->query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM filler');
$b->query('DELETE FROM old WHERE k > 500');
look('old', numbers(500, 500, 500, 0, 0), 'dead to all but an old snapshot');
is( $d->query("SELECT truncatable_pages FROM streamstat.table_stats('old')"),
	0, 'VACUUM can truncate none of these');
my $pages = $node->safe_psql('postgres', "SELECT pages FROM streamstat.table_stats('old')");
$node->safe_psql('postgres', 'VACUUM old');
is($node->safe_psql('postgres', "SELECT pages FROM streamstat.table_stats('old')"),
	$pages, 'and truncates none');
$a->query('COMMIT');
look('old', numbers(500, 500, 0, 0, 0), 'the old snapshot is gone');

# ---------------------------------------------------------------------------
# What VACUUM truncates

foreach my $case (
	[ 'k > 600' ],
	[ 'k > 600 AND k < 990' ],
	[ 'true' ],
	[ 'k > 700', 'BEGIN; DELETE FROM truncated WHERE k = 701', 'ROLLBACK' ],
	[ 'k > 600', "BEGIN; INSERT INTO truncated VALUES (-1, 0, '')", 'ROLLBACK' ])
{
	my ($condition, $before, $after) = @$case;

	$d->query('DROP TABLE IF EXISTS truncated');
	make('truncated', 1000);
	$d->query("DELETE FROM truncated WHERE $condition");
	$a->query("$before; $after") if $before;
	my ($n, $total) = split /\|/, $d->query("SELECT truncatable_pages, pages FROM streamstat.table_stats('truncated')");
	cmp_ok($n, '>', 0, "$condition: something to truncate") if $condition !~ /990/;
	# VACUUM passes over a page that the checkpointer or the background writer has pinned in
	# order to write it.
	$d->query('CHECKPOINT; VACUUM truncated');
	is( $d->query("SELECT $total - pages FROM streamstat.table_stats('truncated')"),
		$n, "$condition: VACUUM truncates what it was said to");
}

# ---------------------------------------------------------------------------
# Pages of zeros, and a crash during open transactions

make('zeros', 1000);
make('crash', 1000);
$d->query('VACUUM zeros');
my $file = file_of($node, 'zeros');
$a->query("BEGIN; INSERT INTO crash SELECT i, 0, $fill FROM generate_series(1001, 1100) i; SAVEPOINT a; DELETE FROM crash WHERE k <= 10");
$b->query('BEGIN; DELETE FROM crash WHERE k BETWEEN 11 AND 50');
$c->query('BEGIN; SELECT FROM crash WHERE k BETWEEN 51 AND 60 FOR KEY SHARE; SAVEPOINT a; UPDATE crash SET n = 1 WHERE k BETWEEN 51 AND 60');
$d->query("DELETE FROM crash WHERE k > 995 AND k <= 1000; CHECKPOINT");
$a->query('DELETE FROM crash WHERE k BETWEEN 61 AND 70');
look('crash', numbers(1105, 5, 5, 110, 70), 'before the crash');
# let the log tell of what has not committed
$d->query("CREATE TABLE logged AS SELECT 1 AS i");
$node->stop('immediate');
end_sessions();

append_to_file($file, "\0" x (5 * BLCKSZ));
$node->start;
($a, $b, $c, $d) = begin_sessions();
look('crash', numbers(995, 115, 0, 0, 0), 'after the crash');
look('zeros', numbers(1000, 0, 0, 0, 0), 'pages of zeros');
is( $d->query("SELECT new_pages, first_new_block = pages - 5, truncatable_pages FROM streamstat.table_stats('zeros')"),
	'5|t|5', 'pages of zeros are new, and can be truncated');
is( $d->query(<<'SQL'), '1|4|t', '... and free as a whole, whoever says it');
SELECT count(DISTINCT round(free::numeric, 6)), count(*), min(free) > 100.0 * 5 / (SELECT pages FROM streamstat.table_stats('zeros'))
FROM (SELECT free_percent FROM streamstat.table_stats('zeros')
	UNION ALL SELECT estimate FROM streamstat.sample_stats('zeros') WHERE statistic = 'free_percent'
	UNION ALL SELECT free_percent FROM streamstat.layout_map('zeros', 1)
	UNION ALL SELECT free_percent FROM streamstat.database_report(budget => '1GB', margin => 0) WHERE relation_name = 'zeros') f (free)
SQL
is( $d->query(<<'SQL'), 't|t', '... but not to pgstattuple');
SELECT t.free_bytes = p.free_space + t.new_pages * current_setting('block_size')::int, t.free_bytes = s.estimate
FROM streamstat.table_stats('zeros') t, streamstat.pgstattuple('zeros') p, streamstat.sample_stats('zeros') s
WHERE statistic = 'free_bytes'
SQL
$d->query('VACUUM zeros');
is($d->query("SELECT new_pages FROM streamstat.table_stats('zeros')"),
	0, 'VACUUM truncates them or makes them empty ones');

# ---------------------------------------------------------------------------
# When the commit log has been truncated

make('frozen', 1000);
$d->query('DELETE FROM frozen WHERE k <= 100; BEGIN; DELETE FROM frozen WHERE k > 900; ROLLBACK; BEGIN; SELECT FROM frozen WHERE k BETWEEN 101 AND 200 FOR KEY SHARE; SAVEPOINT a; UPDATE frozen SET n = 1 WHERE k BETWEEN 101 AND 150; COMMIT');
look('frozen', numbers(900, 150, 0, 0, 0), 'before VACUUM FREEZE');
end_sessions();
$node->stop;
command_ok([ 'pg_resetwal', '--next-transaction-id', '2000000', $node->data_dir ],
	'transactions leap ahead');
append_to_file($node->data_dir . '/pg_xact/0001', "\0" x 262144);
$node->start;
($a, $b, $c, $d) = begin_sessions();
look('frozen', numbers(900, 150, 0, 0, 0), 'after the leap');
$node->safe_psql('postgres', "UPDATE pg_database SET datallowconn = true");
$node->command_ok([ 'vacuumdb', '--all', '--freeze', '--quiet' ], 'VACUUM FREEZE');
ok(!-e $node->data_dir . '/pg_xact/0000', 'the commit log was truncated');
look('frozen', numbers(900, 0, 0, 0, 0), 'after VACUUM FREEZE');
$a->query('BEGIN; DELETE FROM frozen WHERE k > 990');
look('frozen', numbers(900, 0, 0, 0, 10), 'deletes in progress then');
foreach my $table ('progress', 'sub', 'prepared', 'locks', 'crash')
{
	like($d->query("SELECT look('$table')"), qr/^\d+ live, 0 dead, 0 recent, 0 ins, 0 del$/,
		"$table: after VACUUM FREEZE");
}
end_sessions();

stop_clean($node);
done_testing();
