
# Copyright (c) 2026, streamstat contributors

# What is in monitoring/ is loaded by the programs that it is for, as a role that is a
# member of pg_monitor and nothing else, and they say what the views say: any name, no
# number too many, none too few, quickly with 100,000 relations.  Programs that are not
# installed are left out.

use strict;
use warnings;

use FindBin;
use IPC::Run ();
use JSON::PP ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use lib "$FindBin::RealBin/lib";
use Extra 'exporters';
use Monitoring;
use Node;
use Pages;
use Session;

my $files = "$FindBin::RealBin/../monitoring";
my $folder = PostgreSQL::Test::Utils::tempdir();
my $role = 'streamstat_exporter';

my $localhost = '127.0.0.1';
my $node = new_node('monitoring', "listen_addresses = '$localhost'", initdb => [ '-E', 'UTF8', '--no-locale' ]);
my $server = "$localhost:" . $node->port . '/postgres';
my %as_role = (extra_params => [ '-U', $role ]);

sub sql
{
	return $node->safe_psql('postgres', @_);
}

# The role that monitoring/README.md makes
my ($make_role) = slurp_file("$files/README.md") =~ /^ +(CREATE ROLE .*;)$/m;
sql($make_role);
is(sql("SELECT string_agg(r.rolname, ' ') FROM pg_auth_members m JOIN pg_roles r ON r.oid = m.roleid WHERE m.member = '$role'::regrole"),
	'pg_monitor', 'the role is a member of pg_monitor and nothing else');

# Names with all that a format could trip over, a corrupt table, an invalid index
sql(<<'SQL');
CREATE SCHEMA "s ""q"" {a=""b"",c='d'} \ \n";
SET search_path = "s ""q"" {a=""b"",c='d'} \ \n", public;
CREATE TABLE "t
""two"" \lines\ 😀 <script>" (id int PRIMARY KEY, x text);
INSERT INTO "t
""two"" \lines\ 😀 <script>" SELECT g, repeat('x', 200) FROM generate_series(1, 30000) g;
DELETE FROM "t
""two"" \lines\ 😀 <script>" WHERE id % 3 > 0;
CREATE TABLE "größe, in 日本" AS SELECT g AS id FROM generate_series(1, 200000) g;
CREATE INDEX "}' # HELP 1" ON "größe, in 日本" (id);
DELETE FROM "größe, in 日本" WHERE id % 5 > 0;
CREATE TABLE public.damaged AS SELECT g AS id FROM generate_series(1, 100000) g;
CREATE TABLE public.with_invalid AS SELECT g AS id FROM generate_series(1, 1000) g;
CREATE INDEX invalid ON public.with_invalid (id);
UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'invalid'::regclass;
VACUUM;
SQL
my $damaged = file_of($node, 'public.damaged');
$node->stop;
write_block($damaged, 7, with16(read_block($damaged, 7), PD_UPPER, 16));
$node->start;

# What is locked is not read: nulls
my $locker = Session->new($node);
$locker->query('CREATE TABLE public.locked AS SELECT g AS id FROM generate_series(1, 50000) g');
$locker->query('BEGIN; LOCK TABLE public.locked');
sql("CALL streamstat.collect(min_bytes => '0')");
$locker->query('ROLLBACK');

# as of a sample of fewer than five pages, which has no interval
sql("UPDATE streamstat.report_run_relations SET free_percent_low = NULL, free_percent_high = NULL, dead_percent_low = NULL, dead_percent_high = NULL WHERE relation_name = 'with_invalid'");
is(sql("SELECT count(*) FROM streamstat.report_relation_metrics WHERE free_ratio IS NOT NULL AND dead_ratio IS NOT NULL AND free_ratio_low IS NULL AND dead_ratio_low IS NULL"), 1, 'ends that are not known');

is(sql("SELECT count(*) FILTER (WHERE corrupt_pages > 0), count(*) FILTER (WHERE is_invalid = 1), count(*) FILTER (WHERE is_measured = 0) > 0 FROM streamstat.report_relation_metrics"),
	'1|1|t', 'a corrupt relation, an invalid index, and some that were not read');

# --- every query, without the program that it is for ---

# The queries of one of our YAML files: what stands indented after "query: |", or in the same line
sub queries_of
{
	my ($text) = @_;
	my @queries;

	while ($text =~ /^( *)(?:- )?(?:query|15): *(?:\|\n((?:\1 +[^\n]*\n|\n)+)|(SELECT[^\n]*)\n)/mg)
	{
		push @queries, $2 // $3;
	}
	return @queries;
}

my %queries = (
	'postgres_exporter/queries.yaml' => 10,
	'sql_exporter/justwatch.yml' => 2,
	'sql_exporter/streamstat.collector.yml' => 2,
	'pgwatch/metrics.yaml' => 2);
foreach my $file (sort keys %queries)
{
	my @queries = queries_of(slurp_file("$files/$file"));
	my @bad = grep { ($node->psql('postgres', $_, %as_role))[0] != 0 } @queries;

	is(scalar @queries, $queries{$file}, "$file: queries");
	is("@bad", '', "$file: a member of pg_monitor may run all of them");
}

# --- what a program says against what the views hold ---

# As Prometheus's own linter sees it
sub lint
{
	my ($what, $text, $allowed) = @_;
	my $promtool = find_program('promtool');

  SKIP:
	{
		skip 'promtool is not installed', 1 if !$promtool;
		my $ours = join '', map { "$_\n" } grep { /^(?:# (?:HELP|TYPE) )?(?:sql_)?streamstat_/ } split /\n/, $text;
		my $output = '';
		IPC::Run::run([ $promtool, 'check', 'metrics' ], '<', \$ours, '>&', \$output);
		is($output, '', "$what: promtool check metrics");
	}
}

# Wait for a program to have our metrics, and compare them.
sub compare
{
	my ($what, $url) = @_;
	my $expected = series_of_views($node, $role);
	my $text = wait_for(sub { my ($t) = fetch($url); $t =~ /^(?:sql_)?streamstat_relation/m && $t =~ /^(?:sql_)?streamstat_run/m && $t }) // '';

	cmp_ok(scalar keys %$expected, '>', 200, "$what: there is something to compare");
	is(differences($expected, metrics_of($text)), '', "$what: every value is that of the view, and no other");
	lint($what, $text);
}

my %port;

sub start_postgres_exporter
{
	my ($program) = @_;

	$port{postgres} = PostgreSQL::Test::Cluster::get_free_port();
	start_program('postgres_exporter',
		[ $program, "--extend.query-path=$files/postgres_exporter/queries.yaml", '--disable-default-metrics',
			'--disable-settings-metrics', "--web.listen-address=$localhost:$port{postgres}" ],
		DATA_SOURCE_NAME => "postgresql://$role\@$server?sslmode=disable");
}

SKIP:
{
	my $program = find_program('prometheus-postgres-exporter', 'postgres_exporter')
	  or skip 'prometheus-postgres-exporter is not installed', 3;
	start_postgres_exporter($program);
	compare('postgres_exporter', "http://$localhost:$port{postgres}/metrics");
}

# The connection that an example has, as this server's
sub connect_here
{
	s{postgres://[^']*}{postgres://$role\@$server?sslmode=disable} or die 'no connection';
}

SKIP:
{
	my $program = find_program('prometheus-sql-exporter') or skip 'prometheus-sql-exporter is not installed', 3;
	my $file = file_with("$files/sql_exporter/justwatch.yml", $folder, \&connect_here);

	$port{justwatch} = PostgreSQL::Test::Cluster::get_free_port();
	start_program('justwatch', [ $program, '-config.file', $file, '-web.listen-address', "$localhost:$port{justwatch}" ]);
	compare('sql_exporter of justwatch', "http://$localhost:$port{justwatch}/metrics");
}

SKIP:
{
	my $program = find_program('sql_exporter');
	my $help = '';
	IPC::Run::run([ $program, '-help' ], '>&', \$help) if $program;
	skip "burningalchemist's sql_exporter is not installed", 3 if $help !~ /config\.check/;
	my $file = file_with("$files/sql_exporter/sql_exporter.yml", $folder, \&connect_here);
	file_with("$files/sql_exporter/streamstat.collector.yml", $folder);

	$port{sql} = PostgreSQL::Test::Cluster::get_free_port();
	start_program('sql_exporter', [ $program, '-config.file', $file, '-web.listen-address', "$localhost:$port{sql}" ]);
	compare('sql_exporter of burningalchemist', "http://$localhost:$port{sql}/metrics");
}

# pgwatch has its own names, and labels without those that are empty
SKIP:
{
	my $program = find_program('pgwatch') or skip 'pgwatch is not installed', 3;
	my $sources = "$folder/sources.yaml";
	$port{pgwatch} = PostgreSQL::Test::Cluster::get_free_port();
	open(my $fh, '>', $sources) or die;
	print $fh "- name: here\n  conn_str: postgresql://$role\@$server\n"
	  . "  kind: postgres\n  preset_metrics: streamstat\n  is_enabled: true\n";
	close $fh;
	my ($list) = run_command([ $program, '-m', "$files/pgwatch/metrics.yaml", 'metric', 'list' ]);
	like($list, qr/streamstat_relation.*streamstat_run.*presets/s, 'pgwatch: it lists our metrics');
	start_program('pgwatch', [ $program, '-m', "$files/pgwatch/metrics.yaml", '-s', $sources,
			'--sink', "prometheus://$localhost:$port{pgwatch}/", '--web-disable' ]);
	my $expected = series_of_views($node, $role);
	my $text = wait_for(sub { my ($t) = fetch("http://$localhost:$port{pgwatch}/metrics"); $t =~ /^pgwatch_streamstat_relation.*^pgwatch_streamstat_run/ms && $t }) // '';
	$text =~ s/ \d{13}$//mg;
	$text =~ s/^pgwatch_//mg;
	$text =~ s/\bdbname="here"/datname="postgres"/g;
	cmp_ok(scalar keys %$expected, '>', 200, 'pgwatch: there is something to compare');
	is(differences($expected, metrics_of($text)), '', 'pgwatch: every value is that of the view, and no other');
}

# --- prometheus: the example configuration, the alerts, the dashboard ---

my $promtool = find_program('promtool');

foreach my $check ([ 'check', 'rules', 'alerts.yml' ], [ 'check', 'config', 'prometheus.yml' ], [ 'test', 'rules', 'alerts_test.yml' ])
{
  SKIP:
	{
		skip 'promtool is not installed', 1 if !$promtool;
		my $output = '';
		my $good = IPC::Run::run([ $promtool, $check->[0], $check->[1], "$files/prometheus/$check->[2]" ], '>&', \$output);
		ok($good && $output !~ /warn|fail/i, "promtool @$check") or diag $output;
	}
}

SKIP:
{
	my $output = '';
	my $python = find_program('python3') or skip 'python3 is not installed', 1;
	IPC::Run::run([ $python, "$FindBin::RealBin/../tools/check-dashboard" ], '>&', \$output);
	skip $output =~ s/\n//gr, 1 if $? >> 8 == 77;
	is($output, "check-dashboard: 14 panels, as Grafana's schema has them\n", "the dashboard is as Grafana's schema has it");
}

# The expressions of the dashboard's panels: title and expression
my $dashboard = JSON::PP->new->utf8->decode(slurp_file("$files/grafana/streamstat.json"));
my @panels = map { my $title = $_->{title}; map { [ $title, $_->{expr} ] } @{ $_->{targets} } } @{ $dashboard->{panels} };
cmp_ok(scalar @panels, '>', 20, 'the dashboard has panels');

# An expression as Grafana sends it, with all instances and databases
sub encoded
{
	my ($text) = @_;

	utf8::encode($text);
	$text =~ s/\$(?:instance|datname)\b/.*/g;
	$text =~ s/([^A-Za-z0-9])/sprintf('%%%02X', ord $1)/ge;
	return $text;
}

sub ask_prometheus
{
	my ($expr) = @_;

	return get_json("http://$localhost:$port{prometheus}/api/v1/query?query=" . encoded($expr));
}

# Start prometheus by our example, with our exporters and a scrape every five seconds, which
# is also the time that a scrape may take.
sub start_prometheus
{
	my ($program) = @_;
	my %target = ('localhost:9187' => $port{postgres}, 'localhost:9237' => $port{justwatch});

	file_with("$files/prometheus/alerts.yml", $folder);
	my $file = file_with("$files/prometheus/prometheus.yml", $folder, sub {
		s/: 1m$/: 5s/mg;
		s/'(localhost:\d+)'/$target{$1} ? "'$localhost:$target{$1}'" : ''/ge;
	});
	$port{prometheus} = PostgreSQL::Test::Cluster::get_free_port();
	start_program('prometheus', [ $program, "--config.file=$file", "--storage.tsdb.path=$folder/tsdb",
			"--web.listen-address=$localhost:$port{prometheus}" ]);
}

SKIP:
{
	my $program = find_program('prometheus');
	skip 'prometheus or prometheus-postgres-exporter is not installed', 6 + @panels if !$program || !$port{postgres};
	my $expected = series_of_views($node, $role);

	start_prometheus($program);
	foreach my $job ('postgres', 'sql_exporter')
	{
	  SKIP:
		{
			skip 'prometheus-sql-exporter is not installed', 1 if $job eq 'sql_exporter' && !$port{justwatch};
			wait_for(sub { @{ ask_prometheus("count_over_time(streamstat_run_bytes{job=\"$job\"}[1m]) > 1")->{data}{result} } });
			# a late scrape leaves nothing to be seen for a while
			my $differences;
			wait_for(sub {
				$differences = differences($expected, series_of_answer(ask_prometheus("{__name__=~\"streamstat_.*\",job=\"$job\"}")));
				return $differences eq '';
			});
			is($differences, '', "prometheus, job $job: every value is that of the view, and no other");
		}
	}

	my @rules;
	wait_for(sub {
		@rules = map { @{ $_->{rules} } } @{ get_json("http://$localhost:$port{prometheus}/api/v1/rules")->{data}{groups} };
		return 6 == grep { $_->{health} eq 'ok' } @rules;
	});
	is(scalar(grep { $_->{health} eq 'ok' } @rules), 6, 'prometheus has evaluated all alert rules');
	my %firing;
	wait_for(sub {
		%firing = map { ("$_->{labels}{alertname} $_->{labels}{relation_name}" => $_->{annotations}{summary}) }
		  grep { $_->{state} eq 'firing' && $_->{labels}{job} eq 'postgres' }
		  @{ get_json("http://$localhost:$port{prometheus}/api/v1/alerts")->{data}{alerts} };
		return keys %firing > 1;
	});
	is(join(', ', sort keys %firing), 'StreamstatCorruptPages damaged, StreamstatInvalidIndex invalid',
		'alerts about what is wrong, and no others');
	is($firing{'StreamstatCorruptPages damaged'}, 'table public.damaged in postgres has corrupt pages', 'an alert says what it is about');

	foreach my $panel (@panels)
	{
		my ($title, $expr) = @$panel;

		# a scrape that takes too long on a busy machine leaves a gap
		ok(wait_for(sub { scalar @{ ask_prometheus($expr)->{data}{result} } }, 15), "dashboard, $title: $expr");
	}
	my ($reclaimable) = map { $_->[1] } grep { $_->[0] eq 'Reclaimable' && $_->[1] !~ /_low|_high/ } @panels;
	is(wait_for(sub { ask_prometheus($reclaimable =~ s/\{/{job="postgres",/r)->{data}{result}[0]{value}[1] }, 15) + 0,
		sql('SELECT reclaimable_bytes FROM streamstat.report_run_metrics') + 0, 'dashboard: the sum is that of the view');
	stop_program('prometheus');
}

# --- 100,000 relations ---

# As collect() would store them: 199 of them shown, one of these for its damage
sql(<<'SQL');
INSERT INTO streamstat.report_runs
	SELECT (jsonb_populate_record(r, '{"run": 1000000, "relations": 100000}')).* FROM streamstat.report_runs r ORDER BY run DESC LIMIT 1;
INSERT INTO streamstat.report_run_relations
	SELECT p.* FROM (SELECT r FROM streamstat.report_run_relations r WHERE relation_name = 'damaged') t, generate_series(1, 100000) g,
		LATERAL jsonb_populate_record(t.r, jsonb_build_object('run', 1000000, 'relation_name', 'relation ' || g, 'bytes', 100000000000 - g * 8192,
			'corrupt_pages', (g = 50000)::int, 'bytes_rank', g, 'reclaimable_rank', 100001 - g, 'is_shown', g < 100 OR g > 99900 OR g = 50000)) p;
INSERT INTO streamstat.report_run_others
		(run, kind, bytes, relations, predicted_bytes, reclaimable_bytes, reclaimable_bytes_low, reclaimable_bytes_high, measured)
	SELECT run, kind, sum(bytes), count(*), sum(predicted_bytes), sum(reclaimable_bytes), sum(reclaimable_bytes_low), sum(reclaimable_bytes_high), 'sampled'
		FROM streamstat.report_run_relations WHERE run = 1000000 AND NOT is_shown GROUP BY run, kind;
ANALYZE streamstat.report_run_relations;
SQL
is(sql('SELECT count(*), sum(relations) FROM streamstat.report_relation_metrics'), '201|100000', 'a report on 100,000 relations');

# justwatch's program asks on its own time.
foreach my $name ('postgres', 'sql')
{
  SKIP:
	{
		skip 'this exporter is not installed', 1 if !$port{$name};
		my $url = "http://$localhost:$port{$name}/metrics";
		is(differences(series_of_views($node, $role), metrics_of((fetch($url))[0])), '', "$name: the same of 100,000 relations");
		my @times = sort { $a <=> $b } map { (fetch($url))[1] } 1 .. 9;
		note sprintf('%s: a scrape of a report on 100,000 relations: median %.0f ms', $name, 1000 * $times[4]);
	}
}
stop_program($_) foreach qw(postgres_exporter justwatch sql_exporter pgwatch);

# --- pg_cron's lines ---

SKIP:
{
	skip 'pg_cron is not installed', 3 if !have_extension($node, 'pg_cron');
	$node->append_conf('postgresql.conf', "shared_preload_libraries = 'pg_cron'\ncron.host = '$localhost'");
	$node->restart;
	sql('CREATE EXTENSION pg_cron');
	sql(slurp_file("$files/pg_cron.sql"));
	is(sql('SELECT schedule, active FROM cron.job'), '17 3 * * *|t', 'pg_cron has the job');
	my $runs = sql('SELECT count(*) FROM streamstat.report_runs');
	sql("SELECT cron.alter_job(jobid, schedule => '* * * * *') FROM cron.job");
	ok($node->poll_query_until('postgres', "SELECT count(*) > 0 FROM cron.job_run_details WHERE status IN ('succeeded', 'failed')"), 'pg_cron has run it');
	is(sql("SELECT (SELECT count(*) FROM streamstat.report_runs) - $runs, (SELECT status || ' ' || return_message FROM cron.job_run_details ORDER BY runid LIMIT 1)"),
		'1|succeeded CALL', 'and a report was stored');
}

stop_clean($node);
done_testing();
