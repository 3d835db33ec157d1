
# Copyright (c) 2026, streamstat contributors

# Stored reports are whole or not there: beside other sessions that store and delete,
# after cancels and a crash in the middle, in a dump, and on a standby, which reads them
# and cannot store.  What is stored of other sessions is what all who read it may see.

use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Utils;
use Test::More;

use lib "$FindBin::RealBin/lib";
use Node;
use Session;

my $node = new_node('stored_reports', "fsync = off\n", streaming => 1);
create_outcome($node);
my $standby = new_standby($node);

sub sql
{
	return $node->safe_psql('postgres', join ';', @_);
}

# Each run has as many rows as its report had commands, and its relations, counted once by
# what the metrics show; runs that are not so.
my $torn = q(SELECT count(*) FROM streamstat.report_runs u
	WHERE commands <> (SELECT count(*) FROM streamstat.report_run_commands c WHERE c.run = u.run)
		OR relations <> (SELECT count(*) FROM streamstat.report_run_relations r WHERE r.run = u.run AND is_shown)
			+ (SELECT sum(o.relations) FROM streamstat.report_run_others o WHERE o.run = u.run));
my $orphans = q(SELECT count(*) FROM (SELECT run FROM streamstat.report_run_relations
		UNION ALL SELECT run FROM streamstat.report_run_others UNION ALL SELECT run FROM streamstat.report_run_commands) r
	WHERE run NOT IN (SELECT run FROM streamstat.report_runs));
my $runs = 'SELECT count(*) FROM streamstat.report_runs';

sub whole
{
	my ($n, $what) = @_;

	is(sql($runs, $torn, $orphans), "$n\n0\n0", $what);
}

sql(q(
CREATE TABLE t (i int, w text) WITH (autovacuum_enabled = off);
INSERT INTO t SELECT g, repeat('x', 100) FROM generate_series(1, 20000) g;
CREATE INDEX t_i ON t (i);
DELETE FROM t WHERE i % 3 > 0;
CREATE ROLE scanner IN ROLE pg_stat_scan_tables;
CALL streamstat.collect()));
whole(1, 'a stored report');

# ---------------------------------------------------------------------------
# Several at a time

# Rows can be deleted while all tables are published.
sql('CREATE PUBLICATION all_tables FOR ALL TABLES');
my @sessions = map { Session->new($node) } 1 .. 4;
sql("UPDATE streamstat.report_runs SET started = started - interval '10 days'");
$_->send_query("CALL streamstat.collect(budget => '1MB', max_rate => '256kB', retention => '1 day')") foreach @sessions[ 0, 1 ];
is(join('', map { $_->answer . $_->{err} } @sessions[ 0, 1 ]), '', 'two sessions collect');
whole(2, '... both are stored, and the old one is deleted');
is( sql('SELECT bool_and(a.started < b.started + b.elapsed_ms * interval \'1 ms\') FROM streamstat.report_runs a, streamstat.report_runs b'),
	't', '... at the same time');
sql('GRANT DELETE ON streamstat.report_runs TO scanner');
foreach my $isolation ('read committed', 'repeatable read')
{
	foreach my $round (1 .. 3)
	{
		my $n = 0;

		$_->send_query("SET default_transaction_isolation = '$isolation'; SET ROLE scanner; CALL streamstat.collect(budget => '64kB', retention => '0')")
		  foreach @sessions;
		$n += $_->answer . $_->{err} eq '' foreach @sessions;
		# What is deleted by two at a time can be an error in the stricter level.
		$isolation eq 'read committed' ? is($n, 4, "round $round: four sessions collect and delete") : cmp_ok($n, '>=', 1, "round $round: so they do, $isolation");
		is(sql($torn, $orphans), "0\n0", '... and what is left is whole');
	}
}
$_->end foreach @sessions[ 1 .. 3 ];
sql('DROP PUBLICATION all_tables; REVOKE DELETE ON streamstat.report_runs FROM scanner');

# ---------------------------------------------------------------------------
# Ends in the middle: while it reads, and while it stores, when a row of it is there

my $session = $sessions[0];
$session->query('RESET ROLE; RESET default_transaction_isolation');
my $locker = Session->new($node);
my $pid = $session->{pid};
my $before = sql($runs);

# Begin to collect, and wait until it reads, or until it waits for the lock of the
# locker on its second table.
sub begin_to_collect
{
	my ($stores) = @_;

	$locker->query($stores ? 'BEGIN; LOCK TABLE streamstat.report_run_relations IN SHARE MODE' : 'BEGIN');
	$session->send_query('CALL streamstat.collect(' . ($stores ? '' : "max_rate => '64kB'") . ')');
	Session::poll(
		'collect begins',
		sub {
			sql($stores ? "SELECT count(*) FROM pg_locks WHERE pid = $pid AND NOT granted AND relation = 'streamstat.report_run_relations'::regclass"
				: "SELECT count(*) FROM streamstat.stat_get_progress() WHERE pid = $pid AND bytes_done > 0");
		});
}

foreach my $where ('reads', 'stores')
{
	begin_to_collect($where eq 'stores');
	sql("SELECT pg_cancel_backend($pid)");
	$session->answer;
	like($session->{err}, qr/57014/, "a cancel while it $where");
	$locker->query('COMMIT');
	whole($before, '... leaves nothing');
	is($session->query('SHOW search_path; SELECT current_user = session_user'), "\"\$user\", public\nt", '... and the session as it was');
}
$session->query("SET lock_timeout = '100ms'; SET ROLE scanner; SET quote_all_identifiers = on");
$locker->query('BEGIN; LOCK TABLE streamstat.report_run_relations IN SHARE MODE');
$session->query('DO $$ BEGIN CALL streamstat.collect(); EXCEPTION WHEN lock_not_available THEN RAISE NOTICE \'%\', current_user; END $$');
like($session->{err}, qr/NOTICE: +(?:00000: )?scanner/, 'an error that is caught while it stores');
$locker->query('COMMIT');
whole($before, '... leaves nothing');
$session->query('DELETE FROM streamstat.report_runs');
like($session->{err}, qr/42501/, '... nor the rights of the owner');
is($session->query('SHOW search_path; SHOW quote_all_identifiers'), "\"\$user\", public\non", '... nor other settings');
$session->query('RESET lock_timeout; RESET quote_all_identifiers; CALL streamstat.collect()');
is($session->{err}, '', 'the next one is stored');
whole(++$before, '... whole');
$session->query('RESET ROLE');

begin_to_collect(1);
$node->stop('immediate');
$_->end foreach $session, $locker;
$node->start;
whole($before, 'a crash while it stores leaves what was there');

# ---------------------------------------------------------------------------
# What a role may see

sql('DELETE FROM t WHERE i % 6 = 0');
my $holder = Session->new($node);
$holder->query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM t');
sql('DELETE FROM t');
my $reason = q(SELECT reason FROM streamstat.report_run_relations WHERE relation_name = 't' AND run = (SELECT max(run) FROM streamstat.report_runs));
my @answers = split /\n/, sql('CALL streamstat.collect(margin => 0)', q(SELECT reason FROM streamstat.last_database_report() WHERE relation_name = 't'), $reason);
like($answers[0], qr/process $holder->{pid}/, 'a superuser is told which session keeps dead rows');
like($answers[1], qr/pg_read_all_stats/, '... but what is stored has what every reader may see');
is(sql("SELECT count(*) FROM streamstat.report_run_relations r WHERE r::text ~ 'process $holder->{pid}'"), 0, '... no session');
# Who holds a lock is in pg_locks for all to see.
is(sql("SELECT count(*) FROM streamstat.report_run_commands r WHERE reason ~ 'process $holder->{pid}' OR waits_for ~ 'started'"), 0, '... and not since when it waits');
like(sql('SET ROLE scanner', 'CALL streamstat.collect(margin => 0)', $reason),
	qr/pg_read_all_stats/, 'another role has the same');
$holder->query('COMMIT');
$holder->end;

# ---------------------------------------------------------------------------
# A standby

$node->wait_for_catchup($standby);
my ($ret, $stdout, $stderr) = $standby->psql('postgres',
	"CALL streamstat.collect();\nSELECT count(*) FROM streamstat.last_database_report();", on_error_stop => 0);
like($stderr, qr/cannot execute CALL streamstat\.collect during recovery/, 'a standby cannot store');
is($stdout, sql('SELECT count(*) FROM streamstat.report_run_relations WHERE run = (SELECT max(run) FROM streamstat.report_runs)'),
	'... and the last report is the one that is stored');
foreach my $view ('report_relation_metrics', 'report_metrics', q(report_history('t')), 'report_run_commands')
{
	my $query = "SELECT count(*), md5(string_agg(r::text, ' ' ORDER BY r::text)) FROM streamstat.$view r";

	is($standby->safe_psql('postgres', $query), sql($query), "it has the primary's $view");
}
$standby->stop;

# ---------------------------------------------------------------------------
# A dump

my @tables = qw(report_runs report_run_relations report_run_others report_run_commands);
my $contents = join ';', map { "SELECT '$_', count(*), md5(string_agg(r::text, ' ' ORDER BY r::text)) FROM streamstat.$_ r" } @tables;
my $dumped = sql($contents);
my $last = sql('SELECT max(run) FROM streamstat.report_runs');
my $dir = PostgreSQL::Test::Utils::tempdir();

foreach my $format ('custom', 'plain')
{
	command_ok([ 'pg_dump', "--format=$format", '-f', "$dir/$format", $node->connstr('postgres') ], "pg_dump, $format");
	$node->safe_psql('postgres', "CREATE DATABASE $format");
	command_ok(
		$format eq 'custom'
		? [ 'pg_restore', '--exit-on-error', '-d', $node->connstr($format), "$dir/$format" ]
		: [ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-o', "$dir/out", '-f', "$dir/$format", $node->connstr($format) ],
		'... is restored');
	is($node->safe_psql($format, $contents), $dumped, '... with the stored reports');
	is($node->safe_psql($format, q(CALL streamstat.collect(min_bytes => '0'); SELECT max(run) FROM streamstat.report_runs)),
		$last + 1, '... and the next run has the next number');
	is($node->safe_psql($format, q(SELECT count(*) FROM streamstat.report_history('t'))),
		sql($runs) + 1, '... and history goes on');
}

# ---------------------------------------------------------------------------
# It goes as it came

is( sql(q(DROP EXTENSION streamstat; SELECT count(*) FROM pg_class WHERE relnamespace = 'streamstat'::regnamespace;
CREATE EXTENSION streamstat; SELECT count(*) FROM streamstat.report_runs; CALL streamstat.collect(); SELECT max(run) FROM streamstat.report_runs)),
	"0\n0\n1", 'DROP EXTENSION drops all');

stop_clean($node);
done_testing();
