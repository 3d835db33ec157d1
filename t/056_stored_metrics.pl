
# Copyright (c) 2026, streamstat contributors

# Metrics of stored reports take milliseconds, however many relations and runs are
# stored, and after a restart as well; storing a report of thousands of relations takes
# little time and memory.
#
# 100,000 relations in each of three runs are made up.  The long form makes more tables
# for a report of its own.

use strict;
use warnings;

use FindBin;
use List::Util qw(max min sum);
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

use lib "$FindBin::RealBin/lib";
use Extra 'slow';
use Node;
use Session;
use Torture;

# A scrape, in blocks.  Its time stands in the notes: prove --comments shows them.
use constant BLOCKS => 1500;

# kB that a session may take to store a report: for all, and for each relation what
# the report and the server's knowledge of the relation take
use constant { LIMIT => 32 * 1024, PER_RELATION => 3 };

my $seconds = torture_seconds(0);
my $ntables = max(2000, min(100_000, 200 * $seconds));
my $node = new_node('stored_metrics', "fsync = off\nmax_wal_size = 4GB\nmax_locks_per_transaction = 256\n");

sub sql
{
	return $node->safe_psql('postgres', join(';', @_), timeout => 1800);
}

# ---------------------------------------------------------------------------
# 100,000 relations, three times

sql(q(
SET session_replication_role = replica;
INSERT INTO streamstat.report_runs (run, datname, started, relations, bytes_total, elapsed_ms, ended_by, top_relations, min_bytes)
	SELECT nextval('streamstat.report_runs_run_seq'), current_database(), now() - (4 - g) * interval '1 day', 100000, 1000000, 1000, 'complete', 100, 1
	FROM generate_series(1, 3) g;
INSERT INTO streamstat.report_run_relations (run, schema_name, relation_name, parent_name, kind, access_method, last_vacuum, bytes,
		free_percent, free_percent_low, free_percent_high, dead_percent, dead_percent_low, dead_percent_high,
		predicted_bytes, reclaimable_bytes, reclaimable_bytes_low, reclaimable_bytes_high, corrupt_pages, is_valid, bytes_read,
		measured, bytes_rank, reclaimable_rank, is_shown)
	SELECT run, 'schema_' || g % 100, CASE WHEN g % 3 = 0 THEN 'pg_toast_' ELSE 'a_relation_of_some_name_' END || g,
		CASE WHEN g % 3 <> 1 THEN 'schema_1.table_' || g / 3 END, (ARRAY['toast table', 'table', 'index'])[g % 3 + 1], 'heap', now(), (run * 1000000000 / g)::bigint,
		10, 9, 11, 2, 1, 3, 800000000 / g, 200000000 / g, 100000000 / g, 300000000 / g, 0, true, 524288,
		'sampled', g, place, g <= 100 OR place <= 100
	FROM streamstat.report_runs, generate_series(1, 100000) g, LATERAL (SELECT 1 + (g * 7919::bigint % 100000) AS place) p;
INSERT INTO streamstat.report_run_others (run, kind, bytes, relations, measured)
	SELECT run, kind, 1000000, 33000, 'sampled' FROM streamstat.report_runs, unnest('{toast table,table,index}'::text[]) kind));

my @views = qw(report_relation_metrics report_run_metrics);

# Blocks that a query reads, those of catalogs included
sub blocks
{
	my ($from) = @_;
	my ($hit, $read) = sql("EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, COSTS OFF) SELECT * FROM streamstat.$from") =~ /Buffers: shared(?: hit=(\d+))?(?: read=(\d+))?/;

	return ($hit // 0) + ($read // 0);
}

# The time of both views, in ms, as a session of psql takes it that has asked nothing
# before
sub scrape
{
	my $out = $node->safe_psql('postgres', "\\timing on\n" . join('', map { "TABLE streamstat.$_;\n" } @views));

	return sum($out =~ /^Time: ([\d.]+) ms/mg);
}

foreach my $statistics ('no statistics', 'statistics')
{
	sql('ANALYZE') if $statistics eq 'statistics';

	$node->restart;
	note sprintf('%s: a scrape takes %.1f ms after a restart, %.1f ms then', $statistics, scrape(), scrape());

	my $blocks = sum(map { blocks($_) } @views);
	cmp_ok($blocks, '<', BLOCKS, "$statistics: it reads few blocks");
}
is(sql('SELECT count(*), sum(relations) FROM streamstat.report_relation_metrics'),
	sql('SELECT count(*) + 3, count(*) + 99000 FROM streamstat.report_run_relations WHERE run = 3 AND is_shown'),
	'it has the relations that are shown, and the rest');

sql(q(CREATE SCHEMA schema_1; CREATE TABLE schema_1.a_relation_of_some_name_1 (i int); CREATE TABLE schema_1.table_33 (t text)));
my $session = Session->new($node);
my $history = $session->query(q(SELECT count(*) FROM streamstat.report_history('schema_1.a_relation_of_some_name_1');
SELECT count(*) FROM pg_class c, streamstat.report_history(c.reltoastrelid) WHERE c.oid = 'schema_1.table_33'::regclass));
is($history, "3\n3", 'a history, of a TOAST table as well');
cmp_ok(blocks(q(report_history('schema_1.a_relation_of_some_name_1'))), '<', BLOCKS, '... by an index');
is($session->query(q(SELECT count(*), sum(grown_bytes) > 0, min(since) < now() - interval '2 days' FROM streamstat.report_growth('2 days'))),
	'100000|t|t', 'growth of all');

# ---------------------------------------------------------------------------
# A report of thousands of relations

note "$ntables tables";
sql(qq(TRUNCATE streamstat.report_runs CASCADE;
CREATE SCHEMA many;
DO \$\$
BEGIN
	FOR i IN 1 .. $ntables LOOP
		EXECUTE format('CREATE TABLE many.m%s (i int)', i);
		IF i % 200 = 0 THEN COMMIT; END IF;
	END LOOP;
END \$\$));
my %call = (run_database_report => "max_time => '1 hour'", collect => "max_time => '1 hour', min_bytes => '0'");
$session->end;
foreach my $procedure (reverse sort keys %call)
{
	$session = Session->new($node);
	my $memory = $session->memory('RssAnon');
	my $begun = time;
	$session->query("CALL streamstat.$procedure($call{$procedure})");
	note sprintf('%s: %.2f s', $procedure, time - $begun);
	is($session->{err}, '', $procedure);
	if ($procedure eq 'collect' && defined $memory)
	{
		cmp_ok($session->memory('RssAnon') - $memory, '<', LIMIT + PER_RELATION * $ntables, 'memory is bounded');
	}
	$session->end;
}
is(sql("SELECT count(*) FROM streamstat.report_run_relations WHERE schema_name = 'many'"), $ntables, 'all are stored');
note sprintf('a scrape of them: %.1f ms', scrape());
sql('CALL streamstat.collect()');
cmp_ok(sql('SELECT count(*) FROM streamstat.report_run_relations WHERE run = (SELECT max(run) FROM streamstat.report_runs)'),
	'<', 250, 'by default, few of them');

stop_clean($node);
done_testing();
