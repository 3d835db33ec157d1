
# Copyright (c) 2026, streamstat contributors

# The files of monitoring/fleet, as docs/fleet.md shows them: for 058 and 059.

package Fleet;

use strict;
use warnings;

use Exporter 'import';
use FindBin;
use PostgreSQL::Test::Utils;
use Test::More ();

use Node;
use Pages;

our @EXPORT = qw(fleet_dir fleet_files fleet_text run_fleet fleet_rows own_rows
  same_rows damage_relation);

my $dir = "$FindBin::RealBin/../monitoring/fleet";

sub fleet_dir
{
	return $dir;
}

sub fleet_files
{
	return sort grep { !/^\./ } slurp_dir($dir);
}

sub fleet_text
{
	my ($name) = @_;

	return slurp_file("$dir/$name");
}

# Run the commands of a file; returns what they print.
sub run_fleet
{
	my ($node, $name, %options) = @_;

	return $node->safe_psql('postgres', fleet_text($name), %options);
}

# The rows of a file's query, as hashes with the names of its columns
sub fleet_rows
{
	my ($node, $name) = @_;
	(my $query = fleet_text($name)) =~ s/;\s*\z//;

	return own_rows($node, $query);
}

# ... of any query
sub own_rows
{
	my ($node, $query) = @_;
	my $text = $node->safe_psql('postgres',
		"SELECT coalesce(string_agg(kv, E'\\n\\n'), '') FROM (SELECT (SELECT string_agg(key || '=' || coalesce(replace(value, E'\\n', ' '), 'null'), E'\\n')
			FROM json_each_text(row_to_json(q))) AS kv FROM (\n$query\n) q) s");

	return map { { map { split /=/, $_, 2 } split /\n/, $_ } } split /\n\n/, $text;
}

# Are two lists of rows the same, in the columns of the second one's rows?
sub same_rows
{
	my ($got, $expected, $name) = @_;
	my @got = @$got;

	if (@$expected)
	{
		my @columns = keys %{ $expected->[0] };

		@got = map { my $r = $_; +{ map { $_ => $r->{$_} } @columns } } @got;
	}
	Test::More::ok(scalar @$expected, "$name: there are some");
	Test::More::is_deeply(\@got, $expected, $name);
}

# Damage a block of a relation on a server, with nothing of it in buffers.
sub damage_relation
{
	my ($node, $relation, $blkno) = @_;

	$node->safe_psql('postgres', 'CHECKPOINT');
	my $file = file_of($node, $relation);
	$node->stop;
	write_block($file, $blkno, with16(read_block($file, $blkno), PD_UPPER, 65535));
	$node->start;
}

1;
