
# Copyright (c) 2026, streamstat contributors

# One report over several servers, by the files of monitoring/fleet, which docs/fleet.md
# shows: asked by psql, and by foreign tables.  What they say is what each server says of
# itself, also where a server does not answer, and on a standby.

use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Utils;
use Test::More;

use lib "$FindBin::RealBin/lib";
use Extra 'slow';
use Fleet;
use Node;

# --- the page shows the files as they are

my $page = slurp_file("$FindBin::RealBin/../docs/fleet.md");
foreach my $file (fleet_files())
{
	my $kind = $file =~ /\.sh$/ ? 'sh' : 'sql';

	ok(index($page, "```$kind\n" . fleet_text($file) . "```\n") >= 0, "docs/fleet.md shows $file");
}

# --- two servers with tables, one of them with a standby, and one with the overview

my %servers = (
	east => new_node('east', "max_parallel_maintenance_workers = 0\n", streaming => 1),
	west => new_node('west', "max_parallel_maintenance_workers = 0\n"));
my $east = $servers{east};
my $west = $servers{west};

foreach my $node ($east, $west)
{
	run_fleet($node, 'fdw_server.sql');
	$node->safe_psql('postgres', q(
-- at most 64 blocks, which a report reads in any case: another call has the same numbers
CREATE TABLE bloated (k int PRIMARY KEY, t text);
INSERT INTO bloated SELECT g, repeat('x', 100) FROM generate_series(1, 1500) g;
DELETE FROM bloated WHERE k % 10 <> 0;
VACUUM bloated;
CREATE TABLE "it's, ""odd""
é" (a text);
ALTER TABLE "it's, ""odd""
é" ALTER a SET STORAGE external;
INSERT INTO "it's, ""odd""
é" SELECT repeat('y', 5000) FROM generate_series(1, 100)));
}
$west->safe_psql('postgres', q(
CREATE TABLE broken AS SELECT g AS k FROM generate_series(1, 10000) g;
CREATE INDEX broken_k ON broken (k);
INSERT INTO bloated SELECT g, repeat('x', 200) FROM generate_series(30001, 31000) g;
DELETE FROM bloated WHERE k > 30000 AND k % 3 <> 0;
VACUUM bloated));
$east->safe_psql('postgres', q(CREATE TABLE twice (k int); INSERT INTO twice VALUES (1), (1)));
$east->psql('postgres', 'CREATE UNIQUE INDEX CONCURRENTLY twice_k ON twice (k)');
# what is read later prunes no page then; FREEZE waits for pages that somebody writes
$_->safe_psql('postgres', 'VACUUM (FREEZE)') foreach $east, $west;
damage_relation($west, 'broken_k', 3);

my $standby = new_standby($east);
$servers{standby} = $standby;

# one service for each, and one where nobody listens
my $services = PostgreSQL::Test::Utils::tempdir() . '/pg_service.conf';
append_to_file($services,
	join '', map { "[$_->[0]]\nhost=$_->[1]\nport=$_->[2]\ndbname=postgres\nuser=fleet_reader\n" }
	  (map { [ $_, $servers{$_}->host, $servers{$_}->port ] } sort keys %servers),
	[ 'nobody', $east->host . '/nothing', 1 ]);
$ENV{PGSERVICEFILE} = $services;
my $central = new_node('central');
my $superuser = $central->safe_psql('postgres', 'SELECT current_user');
append_to_file($services,
	"[central]\nhost=" . $central->host . "\nport=" . $central->port . "\ndbname=postgres\nuser=$superuser\n");

# What a server says of itself, in the order of names
my %order = (
	relations => 'schema_name, relation_name, kind',
	commands => 'rank',
	runs => 'started');
my %own = (
	relations => q(SELECT schema_name, relation_name, parent_name, kind, access_method, last_vacuum, bytes, predicted_bytes,
		free_percent, free_percent_low, dead_percent_high, reclaimable_bytes, reclaimable_bytes_low, reclaimable_bytes_high,
		corrupt_pages, is_valid, measured, note, command, rebuilt_by, reason FROM streamstat.database_report(budget => '1GB') r),
	commands => q(SELECT rank, schema_name, relation_name, kind, bytes, relations, reclaimable_bytes, reclaimable_bytes_low,
		reclaimable_bytes_high, scratch_bytes, command, lock_mode, blocks_reads, blocks_writes, reason
		FROM streamstat.database_plan(budget => '1GB') c));

sub ask
{
	my ($question, @names) = @_;
	my $dir = fleet_dir();

	return run_log([ "$dir/ask_all.sh", "$dir/$question", 'central', @names ]);
}

# --- asked by psql, as a role that may read statistics

run_fleet($central, 'answers.sql');
ok(ask('ask.sql', 'east', 'west', 'standby', 'nobody'), 'ask_all.sh: all servers');

foreach my $name (sort keys %servers)
{
	foreach my $view ('relations', 'commands')
	{
		my @own = own_rows($servers{$name}, "$own{$view} ORDER BY $order{$view}");
		my @here = own_rows($central, "SELECT * FROM fleet.$view WHERE node = '$name' ORDER BY $order{$view}");

		same_rows(\@here, \@own, "ask.sql: the $view of $name");
	}
}
is( $central->safe_psql('postgres', q(SELECT node, error, ended_by FROM fleet.runs ORDER BY node)),
	"east||complete\nnobody|no answer|\nstandby||complete\nwest||complete",
	'a server that does not answer has an error, and the others do not');
is( $central->safe_psql('postgres', q(SELECT count(*) FROM fleet.relations WHERE node = 'standby')),
	$central->safe_psql('postgres', q(SELECT count(*) FROM fleet.relations WHERE node = 'east')),
	'a standby has its primary\'s relations');

# --- the queries about all servers

sub check_queries
{
	my ($how, $own, @names) = @_;
	my @rows = fleet_rows($central, 'nodes.sql');
	my %row = map { $_->{node} => $_ } @rows;

	foreach my $name (@names)
	{
		my ($sums) = own_rows($servers{$name}, "SELECT sum(reclaimable_bytes) AS reclaimable_bytes,
			count(*) AS relations FROM ($own->{relations}) r");

		is($row{$name}{$_}, $sums->{$_}, "$how: nodes.sql: $_ of $name") foreach sort keys %$sums;
	}
	is(join(' ', map { "$_->{node}.$_->{relation_name}" } fleet_rows($central, 'attention.sql')),
		join(' ', 'west.broken_k', map { "$_.twice_k" } grep { $_ ne 'west' } @names),
		"$how: attention.sql: the corrupt index, then those that are not valid");

	my %expected = map {
		my $name = $_;
		map { ("$name: " . ($_->{command} eq 'null' ? $_->{reason} : $_->{command}) => $_) }
		  own_rows($servers{$name}, $own->{commands})
	} @names;
	my @plan = fleet_rows($central, 'plan.sql');
	my @commands = map { "$_->{node}: " . ($_->{command} eq 'null' ? $_->{reason} : $_->{command}) } @plan;
	is_deeply([ sort @commands ], [ sort keys %expected ], "$how: plan.sql has the commands of all");
	is(join(' ', map { $expected{$_}{relation_name} } @commands[ 0 .. $#names ]),
		join(' ', 'broken_k', map { 'twice_k' } grep { $_ ne 'west' } @names),
		"$how: plan.sql: what is corrupt or not valid comes first");
	my @gains = map { $_->{reclaimable_bytes} } @plan[ @names .. $#plan ];
	ok(@gains >= @names, "$how: plan.sql: there are others");
	is_deeply(\@gains, [ sort { $b <=> $a } @gains ], "$how: plan.sql: then by what comes back");
}

check_queries('psql', \%own, 'east', 'standby', 'west');

# --- databases of other encodings

my %encoded = (LATIN1 => "gr\xFCn", EUC_JP => "\xC6\xFC\xCB\xDC");
foreach my $encoding (sort keys %encoded)
{
	my $name = lc $encoding;

	$west->safe_psql('postgres', "CREATE DATABASE $name ENCODING '$encoding' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0");
	$west->safe_psql($name, qq(SET client_encoding = $encoding; CREATE EXTENSION streamstat; CREATE TABLE "$encoded{$encoding}" (k int)));
	append_to_file($services, "[$name]\nhost=" . $west->host . "\nport=" . $west->port . "\ndbname=$name\nuser=fleet_reader\n");
}
ok(ask('ask.sql', 'east', map { lc } sort keys %encoded), 'ask_all.sh: databases of other encodings');
is($central->safe_psql('postgres', q(SELECT node, string_agg(relation_name, ' ') FROM fleet.relations WHERE relation_name !~ '^[ -~\n]*$' AND node <> 'east' GROUP BY node ORDER BY node)),
	"euc_jp|\xE6\x97\xA5\xE6\x9C\xAC\nlatin1|gr\xC3\xBCn", '... names are the same');

# --- what is stored, also on a standby, where nothing can be stored

# of two runs, the last one counts
is($_->safe_psql('postgres', q(CALL streamstat.collect(min_bytes => '0'))), '', 'collect') foreach $east, $west, $east, $west;
$east->wait_for_catchup($standby);
my ($code, undef, $error) = $standby->psql('postgres', 'CALL streamstat.collect()');
is($code, 3, 'collect on a standby is an error');
like($error, qr/during recovery|read-only/, 'which says so');

ok(ask('ask_stored.sql', 'east', 'west', 'standby', 'nobody'), 'ask_all.sh: what is stored');

# The columns that the views of the foreign tables have
my %stored = (
	runs => [ 'report_runs', qw(datname relations skipped_relations commands bytes_total bytes_read
		  reclaimable_bytes reclaimable_bytes_low reclaimable_bytes_high planned_bytes ended_by started) ],
	relations => [ 'report_run_relations', qw(schema_name relation_name parent_name kind access_method measured
		  bytes reclaimable_bytes reclaimable_bytes_low reclaimable_bytes_high corrupt_pages is_valid rebuilt_by note) ],
	commands => [ 'report_run_commands', qw(rank schema_name relation_name kind bytes reclaimable_bytes
		  reclaimable_bytes_low reclaimable_bytes_high scratch_bytes command lock_mode blocks_reads blocks_writes is_online reason) ]);

sub check_stored
{
	my ($how, @names) = @_;

	foreach my $name (@names)
	{
		foreach my $view (sort keys %stored)
		{
			my ($table, @columns) = @{ $stored{$view} };
			my $columns = join ', ', @columns;
			my @own = own_rows($servers{$name}, "SELECT $columns FROM streamstat.$table
				WHERE run = (SELECT max(run) FROM streamstat.report_runs) ORDER BY $order{$view}");
			my @here = own_rows($central,
				"SELECT $columns FROM fleet.$view WHERE node = '$name' ORDER BY $order{$view}");

			same_rows(\@here, \@own, "$how: stored $view of $name");
		}
	}
}

# What is stored is compared with what is stored: the storing itself has changed tables.
my %own_stored = map { $_ => "SELECT * FROM streamstat.report_run_$_ WHERE run = (SELECT max(run) FROM streamstat.report_runs)" } qw(relations commands);

check_stored('psql', 'east', 'west', 'standby');
check_queries('psql, stored', \%own_stored, 'east', 'standby', 'west');

# --- by foreign tables

SKIP:
{
	skip 'this server has no postgres_fdw' if !create_extension($central, 'postgres_fdw');

	$central->safe_psql('postgres', 'DROP SCHEMA fleet CASCADE');
	run_fleet($central, 'fdw.sql');
	check_stored('postgres_fdw', 'east', 'west');
	check_queries('postgres_fdw', \%own_stored, 'east', 'west');

	# of two runs, the last one
	$west->safe_psql('postgres', q(DROP INDEX broken_k; CALL streamstat.collect(min_bytes => '0')));
	check_stored('the next run', 'east', 'west');
	is($central->safe_psql('postgres', q(SELECT count(*) FROM fleet.relations WHERE relation_name = 'broken_k')),
		'0', 'the next run: what was dropped is gone');

	# for readers of the views
	$central->safe_psql('postgres', q(CREATE ROLE viewer LOGIN; GRANT USAGE ON SCHEMA fleet TO viewer;
		GRANT SELECT ON ALL TABLES IN SCHEMA fleet TO viewer));
	is($central->safe_psql('postgres', 'SELECT count(*) FROM fleet.runs', extra_params => [ '-U', 'viewer' ]),
		'2', 'whoever may read the views needs no user mapping');
	($code, undef, $error) = $central->psql('postgres', 'SELECT count(*) FROM fleet_east.report_runs', extra_params => [ '-U', 'viewer' ]);
	isnt($code, 0, 'and sees no foreign table');
}

stop_clean($central, $standby, $east, $west);
done_testing();
