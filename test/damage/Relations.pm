
# Copyright (c) 2026, streamstat contributors

# Relations of all kinds to be damaged, chosen at random: the commands that make
# a table with some indexes, and the calls that look at a relation.

package Relations;

use strict;
use warnings;

use Exporter 'import';

our @EXPORT = qw(pick one_in table_commands our_calls other_calls);

sub pick
{
	return $_[ rand @_ ];
}

sub one_in
{
	my ($n) = @_;

	return rand($n) < 1;
}

# Many small relations, and few of some 200 pages
sub rows
{
	return int(20 * exp(rand(log(600))));
}

# Indexes on a table with all columns, and on one with an integer only
my @any_indexes = (
	'btree (i)', 'btree (i) WITH (fillfactor = 30)',
	'hash (i)', 'hash (i) WITH (fillfactor = 10)', 'hash ((i % 5))',
	'brin (i)', 'brin (i) WITH (pages_per_range = 1)',
	'brin (i int4_minmax_multi_ops) WITH (pages_per_range = 2)',
	'btree ((i % 7)) WITH (deduplicate_items = off)', 'btree (i DESC) WHERE i % 3 = 0',
	'gist (point(i % 100, i / 100))', 'spgist (point(i % 100, i / 100))');
my @wide_indexes = (
	'btree (k)', 'btree (k, i) WITH (fillfactor = 50)', 'btree (i) INCLUDE (k)',
	'btree (t)', 'btree (rpad(i::text, 500, t))', 'btree ((1))',
	'hash (k)', 'hash (t)',
	'gin (a)', 'gin (a) WITH (fastupdate = off)', 'gin (string_to_array(t, NULL))',
	'gist (p)', 'gist (p, r) WITH (fillfactor = 40)', 'gist (r)',
	'spgist (p)', 'spgist (t)', 'spgist (r)', 'brin (k, t) WITH (pages_per_range = 1)');

my $wide_columns = <<'SQL';
SELECT g AS i, nullif(g % 30, 3) AS k, repeat(chr(97 + g % 26), g % 60) AS t,
	ARRAY[1, g % 9, g] AS a, point(g % 100, g * 7.1 % 1009) AS p,
	CASE WHEN g % 10 > 0 THEN int4range(g, g + g % 50) END AS r
SQL

# A table with rows in many states, and its indexes; all have names with this number.
sub table_commands
{
	my ($n) = @_;
	my $wide = !one_in(4);
	my $rows = one_in(12) ? pick(0, 1) : rows();
	my $name = "r$n";
	my $kind = pick(('TABLE') x 5, 'UNLOGGED TABLE', 'MATERIALIZED VIEW');
	my $select = ($wide ? $wide_columns : 'SELECT g AS i');
	my @commands;
	my $indexes = 0;

	# a long value here and there, for a TOAST table
	if ($wide && one_in(3))
	{
		my $every = pick(1, 5, 100);

		$rows = 200 if $every == 1 && $rows > 200;
		$select .= ", CASE WHEN g % $every = 0 THEN (SELECT string_agg(md5((g + h)::text), '') FROM generate_series(1, @{[100 + int rand 300]}) h) END AS long";
	}

	my $tree = $kind eq 'TABLE' && one_in(8);
	my $storage = ' WITH (fillfactor = ' . pick(100, 100, 90, 50, 20) . ')';
	if ($tree)
	{
		push @commands,
		  "CREATE TABLE ${name}_like AS $select FROM generate_series(1, 0) g",
		  "CREATE TABLE $name (LIKE ${name}_like) PARTITION BY RANGE (i)",
		  "DROP TABLE ${name}_like",
		  "CREATE TABLE ${name}_1 PARTITION OF $name FOR VALUES FROM (MINVALUE) TO (100)",
		  "CREATE TABLE ${name}_2 PARTITION OF $name DEFAULT$storage",
		  "INSERT INTO $name $select FROM generate_series(1, $rows) g";
	}
	else
	{
		push @commands,
		  "CREATE $kind $name$storage AS $select FROM generate_series(1, $rows) g";
	}

	# of each access method as often
	my %definitions;
	push @{ $definitions{ (split / /)[0] } }, $_
	  foreach (@any_indexes, $wide ? @wide_indexes : ());
	for (0 .. rand 8)
	{
		my $method = pick(sort keys %definitions);

		push @commands,
		  "CREATE INDEX ${name}_i" . ++$indexes . " ON $name USING " . pick(@{ $definitions{$method} });
	}
	push @commands, "CREATE UNIQUE INDEX ${name}_i" . ++$indexes . " ON $name (i)" . ($wide ? ' INCLUDE (k)' : '')
	  if one_in(3);

	if ($kind ne 'MATERIALIZED VIEW')
	{
		my $from = int rand($rows / 2 + 1);
		my $to = $from + int rand($rows / 2 + 1);
		my $more = int($rows * rand);
		my @changes = (
			"DELETE FROM $name WHERE i BETWEEN $from AND $to",
			"DELETE FROM $name WHERE i % " . pick(2, 3, 10) . ' = 0',
			"UPDATE $name SET i = i + 1 WHERE i % 5 = 0",
			"INSERT INTO $name $select FROM generate_series($rows, $rows + $more) g",
			"BEGIN; INSERT INTO $name $select FROM generate_series(1, $more) g; ROLLBACK",
			"BEGIN; SELECT FROM $name WHERE i % 4 = 0 FOR KEY SHARE \\g /dev/null\nCOMMIT");

		push @changes, "UPDATE $name SET t = t || 'x', k = k WHERE i % 3 = 1" if $wide;
		# A unique index is in the way of some; then nothing has happened.
		for (1 .. rand 4)
		{
			push @commands, pick(@changes), one_in(2) ? "VACUUM $name" : ();
		}
	}
	push @commands, pick("VACUUM $name", "VACUUM (FREEZE) $name", "VACUUM (TRUNCATE off) $name")
	  if one_in(2);
	push @commands, "CREATE SEQUENCE ${name}_s", "SELECT nextval('${name}_s') \\g /dev/null\n"
	  if one_in(10);
	return join('', map { /\n\z/ ? $_ : "$_;\n" } @commands);
}

my %stats = map { $_ => 1 } qw(btree hash gin gist spgist brin);

# Calls of functions of our own, which count what is damaged, by their names:
# [NAME, COLUMNS, CALL]...
sub our_calls
{
	my ($relation) = @_;
	my ($oid, $type) = @$relation{ 'oid', 'type' };
	my @calls = (
		[ 'layout_map', "to_jsonb(x) - 'buffered_percent'", "layout_map($oid, 10)" ],
		[ 'layout_map', "to_jsonb(x) - 'buffered_percent'", "layout_map($oid, 1000)" ],
		[ 'sample_stats', 'to_json(x)', "sample_stats($oid, 7, seed => 1)" ],
		[ 'sample_stats', 'to_json(x)', "sample_stats($oid, 1000000, seed => 1)" ],
		[ 'sample_stats', 'count(*) > 0', "sample_stats($oid, margin => 1, max_time => '1s')" ],
		[ 'bloat', 'to_json(x)', "bloat($oid, 9, 1, 'row')" ],
		[ 'bloat', 'to_json(x)', "bloat($oid, 1000000, 1, 'sum')" ]);

	push @calls, [ 'free_space_map_summary', 'to_json(x)', "free_space_map_summary($oid)" ]
	  if $type ne 'sequence';
	if ($stats{$type})
	{
		push @calls,
		  [ "${type}_stats", 'to_json(x)', "${type}_stats($oid)" ],
		  [ 'index_stats', 'to_json(x)', "index_stats($oid)" ];
		push @calls, [ 'index_stats_tree', 'to_json(x)', "index_stats_tree($relation->{tree})" ]
		  if $relation->{tree};
	}
	else
	{
		push @calls, [ 'table_stats', 'to_json(x)', "table_stats($oid, '$_')" ]
		  foreach qw(no row sum);
		push @calls,
		  [ 'visibility_map_summary', 'to_json(x)', "visibility_map_summary($oid)" ],
		  [ 'unfrozen_ranges', 'count(*), sum(last_block - first_block)', "unfrozen_ranges($oid)" ]
		  if $type eq 'table';
		push @calls, [ 'table_stats_tree', 'to_json(x)', "table_stats_tree($relation->{tree}, 'row')" ]
		  if $relation->{tree};
	}
	return @calls;
}

# Calls of those that contrib has as well: they may have an error.
sub other_calls
{
	my ($relation) = @_;
	my ($oid, $type, $name) = @$relation{ 'oid', 'type', 'name' };
	my $is_table = !$stats{$type};
	my @calls;

	push @calls, [ 'pgstattuple', 'x', "pgstattuple($oid)" ], [ 'pgstattuple', 'x', "pgstattuple('$name')" ]
	  if $is_table || $type =~ /^(?:btree|hash|gist)$/;
	push @calls, [ 'pgstattuple_approx', 'x', "pgstattuple_approx($oid)" ]
	  if $type eq 'table';
	push @calls, [ 'pgstatindex', 'x', "pgstatindex($oid)" ], [ 'pgstatindex', 'x', "pgstatindex('$name')" ]
	  if $type eq 'btree';
	push @calls, [ 'pgstathashindex', 'x', "pgstathashindex($oid)" ] if $type eq 'hash';
	push @calls, [ 'pgstatginindex', 'x', "pgstatginindex($oid)" ] if $type eq 'gin';
	push @calls, [ 'pg_relpages', 'x', "pg_relpages($oid)" ], [ 'pg_relpages', 'x', "pg_relpages('$name')" ];
	foreach my $fork (@{ $relation->{forks} })
	{
		push @calls, [ 'pg_prewarm', 'x', "pg_prewarm($oid, '$_', '$fork')" ]
		  foreach qw(prefetch read buffer);
	}
	return @calls;
}

1;
