
# Copyright (c) 2026, streamstat contributors

# Relations of all kinds to be damaged, chosen at random: the commands that make
# a table with some indexes, and the calls that look at a relation.

package Relations;

use strict;
use warnings;

use Exporter 'import';

use Functions;

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
	'gist (point(i % 100, i / 100))', 'spgist (point(i % 100, i / 100))',
	# where there are these extensions
	'bloom (i)', 'bloom (i) WITH (length = 1)', 'bloom (i) WITH (length = 4096)',
	'hnsw ((ARRAY[i % 1000, i % 7, 1]::vector(3)) vector_l2_ops) WITH (m = 4, ef_construction = 8)',
	'ivfflat ((ARRAY[i, i % 7, 1]::vector(3)) vector_l2_ops) WITH (lists = 10)');
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

# Arguments behind the relation; of what is not here, there are none.
my %more = (
	layout_map => [ ', 10', ', 1000', ', 10, 40' ],
	layout_picture => [ '', ', 10, 5', ', 1000, 64, 40' ],
	sample_stats => [ ', 7, seed => 1', ', 1000000, seed => 1', ", margin => 1, max_time => '1s'" ],
	bloat => [ ", 9, with_toast => 'row', seed => 1", ", 1000000, with_toast => 'sum', seed => 1" ],
	bloat_tree => [ ", 9, with_toast => 'row', seed => 1" ],
	table_stats => [ ", 'no'", ", 'row'", ", 'sum'" ],
	table_stats_tree => [ ", 'row'" ]);

# What depends on nothing but the relation: of all columns unless it is here
my %columns = (
	layout_map => "to_jsonb(x) - 'buffered_percent' - 'page_cache_percent'",
	layout_picture => 'first_block, CASE WHEN first_block IS NOT NULL THEN picture END',
	io_probe => 'count(*) > 0',
	prewarm => 'count(*)',
	unfrozen_ranges => 'count(*), sum(last_block - first_block)');

# Functions that take the relation, or the tree that it is part of, with what they take
sub takers
{
	my ($relation, $whose) = @_;
	my $type = $relation->{type};
	my $tree = $type eq 'table' ? 'tree' : 'tree_index';

	return map {
		my $takes = $_->{takes};
		$takes->{$type} ? [ $_, $_->{relation} eq 'text' ? "'$relation->{name}'" : $relation->{oid} ]
		  : $takes->{$tree} && $relation->{tree} ? [ $_, $relation->{tree} ]
		  : ()
	} grep { $_->{relation} && $_->{whose} eq $whose } all_functions();
}

# Calls of functions of our own, which count what is damaged, by their names:
# [NAME, COLUMNS, CALL]...
sub our_calls
{
	my ($relation) = @_;

	return map {
		my ($name, $argument) = ($_->[0]{name}, $_->[1]);
		map { [ $name, /max_time/ ? 'count(*) > 0' : $columns{$name} // 'to_json(x)', "$name($argument$_)" ] }
		  @{ $more{$name} // [''] };
	} grep { !warms($_) } takers($relation, 'own');
}

# Does it bring pages into buffers?
sub warms
{
	my ($taker) = @_;

	return $taker->[0]{name} =~ /^(?:prewarm|io_probe)/;
}

# Calls of those that contrib has as well, which may have an error, and of those that
# change what is in buffers: of this relation only, as settings of the session may let bad
# pages in.
sub other_calls
{
	my ($relation) = @_;

	return map {
		my ($name, $argument) = ($_->[0]{name}, $_->[1]);
		my @more = $name =~ /^prewarm/ ? (', include_indexes => false, include_toast => false', ", 'read'")
		  : $name eq 'io_probe' ? (", '1MB', '1 s'")
		  : $name ne 'pg_prewarm' ? ('') : map {
			my $fork = $_;
			map { ", '$_', '$fork'" } qw(prefetch read buffer);
		} @{ $relation->{forks} };

		map { [ $name, $columns{$name} // 'x', "$name($argument$_)" ] } @more;
	} takers($relation, 'contrib'), grep { warms($_) && $_->[1] eq $relation->{oid} } takers($relation, 'own');
}

1;
