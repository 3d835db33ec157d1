
# Copyright (c) 2026, streamstat contributors

# One report over a Citus cluster, by the files of monitoring/fleet: a coordinator and two
# workers.  What it says of distributed tables and their indexes is the sum of what the
# nodes say of shards, and its commands do on each node what they should.  Only where
# Citus is installed: tools/servers make 18-citus.

use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Utils;
use Test::More;

use lib "$FindBin::RealBin/lib";
use Fleet;
use Node;

my ($sharedir) = run_command([ 'pg_config', '--sharedir' ]);
plan skip_all => 'this server has no Citus' if !-e "$sharedir/extension/citus.control";

# --- a cluster

my $settings = q(
shared_preload_libraries = 'citus'
max_parallel_maintenance_workers = 0
citus.shard_count = 6
citus.node_conninfo = ''
);
my %nodes;
foreach my $name ('coordinator', 'one', 'two')
{
	$nodes{$name} = new_node($name, $settings,
		extension => 0,
		before => sub { $_[0]->append_conf('postgresql.conf', "citus.local_hostname = '" . $_[0]->host . "'") });
	$nodes{$name}->safe_psql('postgres', 'CREATE EXTENSION citus');
}
my $coordinator = $nodes{coordinator};
my %node_name = map { $_ => $nodes{$_}->host . ':' . $nodes{$_}->port } keys %nodes;

sub sql
{
	my ($query, %options) = @_;

	return $coordinator->safe_psql('postgres', $query, %options);
}

sub on_node
{
	my ($name, $query) = @_;

	# a session of its own sees shards as Citus's sessions do
	return $nodes{$name}->safe_psql('postgres', "SET citus.override_table_visibility = off;\n$query");
}

sql(sprintf "SELECT citus_set_coordinator_host('%s', %d)", $coordinator->host, $coordinator->port);
sql(sprintf "SELECT citus_add_node('%s', %d)", $nodes{$_}->host, $nodes{$_}->port) foreach 'one', 'two';
sql('CREATE EXTENSION streamstat');
is(join(' ', map { on_node($_, "SELECT count(*) FROM pg_extension WHERE extname = 'streamstat'") } sort keys %nodes),
	'1 1 1', 'CREATE EXTENSION on the coordinator is for all nodes');

# --- tables: distributed, with names that are odd or too long with a shard's number behind,
# partitioned, a reference table, one of the coordinator alone

my $long = 'index_of_a_name_that_is_as_long_as_a_name_can_possibly_become_x';
sql(qq(
CREATE TABLE orders (k bigint PRIMARY KEY, customer int, t text);
ALTER TABLE orders ALTER t SET STORAGE external;
CREATE INDEX orders_customer ON orders (customer);
CREATE INDEX $long ON orders (t);
SELECT create_distributed_table('orders', 'k');
CREATE SCHEMA "el Where";
CREATE TABLE "el Where"."sh'e ""ll" (k int PRIMARY KEY, t text);
SELECT create_distributed_table('"el Where"."sh''e ""ll"', 'k', colocate_with => 'none');
CREATE TABLE countries (k int PRIMARY KEY, t text);
SELECT create_reference_table('countries');
CREATE TABLE events (k int, at date, PRIMARY KEY (k, at)) PARTITION BY RANGE (at);
CREATE TABLE events_2026 PARTITION OF events FOR VALUES FROM ('2026-01-01') TO ('2027-01-01');
SELECT create_distributed_table('events', 'k', colocate_with => 'none');
CREATE TABLE here (k int);

INSERT INTO orders SELECT g, g % 100, CASE WHEN g % 50 = 0 THEN repeat('o', 2500) ELSE 'o' || g END FROM generate_series(1, 60000) g;
INSERT INTO "el Where"."sh'e ""ll" SELECT g, repeat('s', 200) FROM generate_series(1, 6000) g;
INSERT INTO countries SELECT g, repeat('c', 200) FROM generate_series(1, 3000) g;
INSERT INTO events SELECT g, '2026-03-04' FROM generate_series(1, 20000) g;
INSERT INTO here SELECT generate_series(1, 1000);
DELETE FROM orders WHERE k % 5 <> 0;
DELETE FROM "el Where"."sh'e ""ll" WHERE k % 3 <> 0;
DELETE FROM countries WHERE k % 2 = 0;
DELETE FROM events WHERE k % 4 <> 0));
sql("VACUUM $_") foreach 'orders', '"el Where"."sh\'e ""ll"', 'countries', 'events_2026', 'here';

# --- the answers of the nodes

# a run that is not the last one when it counts
run_fleet($coordinator, 'citus_collect.sql');
run_fleet($coordinator, 'answers.sql');
run_fleet($coordinator, 'citus_relations.sql');
run_fleet($coordinator, 'citus_ask.sql');
is(sql('SELECT string_agg(node, \' \' ORDER BY node) FROM fleet.runs WHERE error IS NULL'),
	join(' ', sort values %node_name), 'all nodes answer');
foreach my $name (sort keys %nodes)
{
	my $columns = 'schema_name, relation_name, parent_name, kind, bytes, reclaimable_bytes, reclaimable_bytes_low, reclaimable_bytes_high, measured';

	# what Citus's own session and the coordinator's writing change meanwhile are catalogs
	my $users = "WHERE schema_name NOT IN ('pg_catalog', 'pg_toast', 'fleet') AND relation_name NOT LIKE 'pg_%' ORDER BY 1, 2";
	my @own = own_rows($nodes{$name}, "SELECT $columns FROM streamstat.database_report(budget => '1GB') $users");
	my @here = own_rows($coordinator, "SELECT $columns FROM (SELECT * FROM fleet.relations WHERE node = '$node_name{$name}') r $users");

	same_rows(\@here, \@own, "the relations of $name");
}

# --- sums over shards: by what each node says of tables whose names are those of shards

my %tables = (
	'orders' => { schema => 'public', name => 'orders', shards => 6, placements => 6, indexes => 3 },
	'"el Where"."sh\'e ""ll"' => { schema => 'el Where', name => 'sh\'e "ll', shards => 6, placements => 6, indexes => 1 },
	'countries' => { schema => 'public', name => 'countries', shards => 1, placements => 3, indexes => 1 },
	'events_2026' => { schema => 'public', name => 'events_2026', shards => 6, placements => 6, indexes => 1 });

# Of a table's shards on a node, with all that belongs to them by the catalogs of the node:
# a sum for each shard
sub shards_on_node
{
	my ($select, $name, $table, $which) = @_;

	return on_node($name, sprintf q(
WITH shards AS (
	SELECT c.oid, c.oid AS shard, c.reltoastrelid FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
	 WHERE nspname = '%s' AND relkind = 'r' AND relname ~ ('^' || '%s' || '_[0-9]+$')),
relations AS (
	SELECT shard, oid FROM shards UNION SELECT shard, reltoastrelid FROM shards
	UNION SELECT shard, indexrelid FROM pg_index JOIN shards ON indrelid IN (oid, reltoastrelid)),
sums AS (
	SELECT shard, sum(r.bytes) AS bytes, sum(reclaimable_bytes) AS gain, sum(reclaimable_bytes_low) AS low,
		sum(reclaimable_bytes_high) AS high
	  FROM streamstat.database_report(budget => '1GB') r JOIN relations ON oid = relid WHERE %s GROUP BY shard)
SELECT %s FROM sums),
		map({ s/'/''/gr } $tables{$table}{schema}, $tables{$table}{name}), $which // 'true', $select);
}

sub sums_on_node
{
	return shards_on_node('coalesce(sum(bytes), 0), coalesce(sum(gain), 0), coalesce(sum(low), 0), coalesce(sum(high), 0)', @_);
}

sub largest_gain
{
	return shards_on_node('coalesce(max(gain), 0)', @_);
}

sub add_up
{
	my @sums;

	foreach my $row (@_)
	{
		my @values = split /\|/, $row;
		$sums[$_] += $values[$_] foreach 0 .. $#values;
	}
	return join '|', @sums;
}

sub as_sums
{
	my ($row) = @_;

	return join '|', map { $row->{$_} } qw(bytes reclaimable_bytes reclaimable_bytes_low reclaimable_bytes_high);
}

my %row = map { $_->{distributed_table} => $_ } fleet_rows($coordinator, 'citus_tables.sql');
foreach my $table (sort keys %tables)
{
	my $row = $row{$table};
	my %on = map { $_ => sums_on_node($_, $table) } keys %nodes;

	is(as_sums($row), add_up(values %on), "citus_tables.sql: $table: the sums over all nodes");
	cmp_ok($row->{reclaimable_bytes}, '>', 0, 'which are something');
	is("$row->{shards} $row->{placements}", "$tables{$table}{shards} $tables{$table}{placements}", 'shards and placements');
	is($row->{nodes}, scalar(grep { $on{$_} !~ /^0\|/ } keys %on), 'nodes');

	my %largest = map { $node_name{$_} => largest_gain($_, $table) } keys %nodes;
	my ($largest) = sort { $b <=> $a } values %largest;
	is("$row->{worst_shard_reclaimable_bytes} $largest{ $row->{worst_shard_node} }", "$largest $largest", 'the worst shard, and its node');
}
is(join(', ', sort keys %row), join(', ', sort keys %tables), 'citus_tables.sql has all distributed tables, and no others');

# --- indexes

my @indexes = fleet_rows($coordinator, 'citus_indexes.sql');
foreach my $table (sort keys %tables)
{
	my @of_table = grep { $_->{distributed_table} eq $table } @indexes;

	is(scalar @of_table, $tables{$table}{indexes}, "citus_indexes.sql: $table: all its indexes");
	is(add_up(map { as_sums($_) } @of_table),
		add_up(map { sums_on_node($_, $table, "kind = 'index' AND schema_name <> 'pg_toast'") } keys %nodes),
		'with the sums over all nodes');
}
is(join(' ', sort map { $_->{distributed_index} } @indexes),
	join(' ', sort '"el Where"."sh\'e ""ll_pkey"', 'countries_pkey', 'events_2026_pkey', $long, 'orders_customer', 'orders_pkey'),
	'names of the distributed indexes, also of those whose shards have a hash in theirs');
is(join(' ', grep { $_ ne 'null' } map { $_->{only_on_shard} } @indexes), '', 'all indexes of shards are known');

# --- a role that only reads

sql(q(CREATE ROLE reader LOGIN IN ROLE pg_monitor;
	GRANT USAGE ON SCHEMA fleet TO reader; GRANT SELECT, INSERT, UPDATE ON fleet.answers TO reader; UPDATE fleet.answers SET answer = '{}'));
sql(fleet_text('citus_ask.sql'), extra_params => [ '-U', 'reader' ]);
is(sql('SELECT count(*) FROM fleet.runs WHERE error IS NULL AND ended_by = \'complete\''), '3', 'a member of pg_monitor may ask');

# --- damage on one shard, and indexes that are on one only

my $shard = on_node('two', q(SELECT min(relname) FROM pg_class WHERE relname ~ '^orders_customer_[0-9]+$'));
damage_relation($nodes{two}, $shard, 1);
my $table = on_node('two', "SELECT indrelid::regclass FROM pg_index WHERE indexrelid = '$shard'::regclass");
$nodes{two}->psql('postgres', "SET citus.enable_manual_changes_to_shards = on;\nCREATE UNIQUE INDEX CONCURRENTLY left_behind ON $table ((1))");
run_fleet($coordinator, 'citus_ask.sql');
is(join(' ', map { "$_->{node} $_->{relation_name}" } fleet_rows($coordinator, 'attention.sql')),
	"$node_name{two} $shard $node_name{two} left_behind", 'attention.sql: the damaged shard, and the index that is not valid');
my ($damaged, $behind) = fleet_rows($coordinator, 'citus_indexes.sql');
is("$damaged->{distributed_index} $damaged->{placements} $damaged->{corrupt}", 'orders_customer 6 1', 'citus_indexes.sql: of a distributed index, one is damaged');
is("$behind->{distributed_table} $behind->{distributed_index} $behind->{only_on_shard} $behind->{invalid}", 'orders null left_behind 1', 'an index that is on one shard only');

# --- the plan, run on the nodes

my @plan = fleet_rows($coordinator, 'citus_plan.sql');
like($plan[0]{command}, qr/^(REINDEX INDEX public\.\Q$shard\E|VACUUM FULL public\.\Q$table\E)$/, 'citus_plan.sql: what is damaged comes first');
is("$plan[0]{distributed_table} $plan[0]{node}", "orders $node_name{two}", 'with its table and node');
is(join(', ', sort keys %{ { map { $_->{distributed_table} => 1 } grep { $_->{command} =~ /_[0-9]{6}/ } @plan } }),
	join(', ', sort keys %tables), 'each distributed table has commands');
foreach my $row (grep { $_->{command} ne 'null' } @plan)
{
	like(sql($row->{run_on_node}), qr/\|t\|(REINDEX|VACUUM|DROP INDEX|ANALYZE)$/, "$row->{command} on its node");
}
run_fleet($coordinator, 'citus_ask.sql');
is(join("\n", map { $_->{command} } grep { $_->{command} ne 'null' } fleet_rows($coordinator, 'citus_plan.sql')),
	'', 'then there is nothing left to do');
%row = map { $_->{distributed_table} => $_ } fleet_rows($coordinator, 'citus_tables.sql');
foreach my $table (sort keys %tables)
{
	is(as_sums($row{$table}), add_up(map { sums_on_node($_, $table) } keys %nodes), "the sums afterwards: $table");
}

# --- the queries that notes name

foreach my $table (sort keys %tables)
{
	(my $literal = $table) =~ s/'/''/g;
	my $note = sql("SELECT note FROM streamstat.table_stats('$literal')");

	like($note, qr/^distributed by Citus/, "$table: a note");
	$note =~ s/^.*?: //;
	is(sql("SELECT count(*) FILTER (WHERE success), count(*) FILTER (WHERE NOT success) FROM ($note) r"),
		"$tables{$table}{shards}|0", 'whose query asks all shards');
	$note = sql("SELECT i.note FROM pg_index, streamstat.index_stats(indexrelid) i WHERE indrelid = '$literal'::regclass LIMIT 1");
	$note =~ s/^.*?: //;
	is(sql("SELECT count(*) FILTER (WHERE success AND json_array_length(result::json) = $tables{$table}{indexes}) FROM ($note) r"),
		$tables{$table}{shards}, 'and so for its indexes');
}
is(sql("SELECT DISTINCT success FROM (" . sql("SELECT regexp_replace(note, '^.*?: ', '') FROM streamstat.database_report() WHERE relation_name = 'orders'") . ") r"),
	't', 'the query in the note of a report');

# --- stored on each node, read from there

is(join("\n", map { "$_->{success} $_->{result}" } fleet_rows($coordinator, 'citus_collect.sql')),
	join("\n", ('true CALL') x 3), 'citus_collect.sql');
sql('UPDATE fleet.answers SET answer = \'{}\'');
run_fleet($coordinator, 'citus_ask_stored.sql');
%row = map { $_->{distributed_table} => $_ } fleet_rows($coordinator, 'citus_tables.sql');
foreach my $table (sort keys %tables)
{
	is(as_sums($row{$table}), add_up(map { sums_on_node($_, $table) } keys %nodes), "citus_ask_stored.sql: $table");
}

# --- a node that does not answer

$nodes{one}->stop;
run_fleet($coordinator, 'citus_ask.sql');
my ($first) = fleet_rows($coordinator, 'nodes.sql');
is($first->{node}, $node_name{one}, 'nodes.sql: the node that does not answer');
like($first->{outcome}, qr/failed to connect/, 'with the reason');
is(sql('SELECT count(*) FROM fleet.runs WHERE error IS NULL'), '2', 'the others do');
$nodes{one}->start;

stop_clean(@nodes{qw(coordinator one two)});
done_testing();
