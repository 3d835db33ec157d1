
# Copyright (c) 2026, streamstat contributors

# A private installation in which library and scripts can be exchanged, the
# library of a version to come, and a database that depends on the extension.

package Upgrade;

use strict;
use warnings;

use Exporter 'import';
use File::Basename qw(basename dirname);
use File::Copy qw(copy);
use File::Path qw(make_path);
use File::Spec;
use PostgreSQL::Test::Utils;
use Test::More;

use lib dirname(__FILE__) . '/../../t/lib';
use Calls;

our @EXPORT = qw(new_installation install build_next make_dependents
  answers differences stored);

my $here = dirname(File::Spec->rel2abs(__FILE__));
my $top = "$here/../..";

# ---------------------------------------------------------------------------
# an installation

sub config
{
	my ($option) = @_;
	my $value = `pg_config --$option`;

	die "pg_config --$option failed" if $?;
	chomp $value;
	return $value;
}

# Make a copy of the installation in PATH below $dir: programs are copied, as they
# find all else relative to themselves, other files are links.  It has the library
# that is installed, its script and those of this directory.  Returns its path, as
# install_path of a node, and the directories of libraries and scripts.
sub new_installation
{
	my ($dir) = @_;
	my ($bindir, $libdir, $sharedir) = map { config($_) } qw(bindir pkglibdir sharedir);
	my %inst = (
		install_path => $dir . dirname($bindir),
		libdir => "$dir$libdir",
		scripts => "$dir$sharedir/extension");

	# inner directories first: a link then does not take their place
	foreach my $from ("$sharedir/extension", $sharedir, $libdir)
	{
		make_path("$dir$from");
		foreach my $file (grep { basename($_) !~ /^streamstat/ } glob "$from/*")
		{
			symlink $file, "$dir$file" if !-e "$dir$file";
		}
	}
	make_path("$dir$bindir");
	foreach my $program (
		qw(postgres initdb psql createdb pg_ctl pg_config pg_controldata pg_resetwal
		pg_dump pg_dumpall pg_restore pg_upgrade vacuumdb))
	{
		next if !-e "$bindir/$program";
		copy("$bindir/$program", "$dir$bindir/$program") or die "could not copy $program: $!";
		chmod 0755, "$dir$bindir/$program";
	}

	install(\%inst, "$libdir/streamstat.so", "$sharedir/extension/streamstat.control",
		"$sharedir/extension/streamstat--1.0.sql", glob "$here/*.sql");
	return \%inst;
}

# Put files into the installation.  A library that a process uses stays as it is
# for that process.
sub install
{
	my ($inst, @files) = @_;

	foreach my $file (@files)
	{
		my $to = ($file =~ /\.so$/ ? $inst->{libdir} : $inst->{scripts}) . '/' . basename($file);

		copy($file, "$to.new") or die "could not copy $file: $!";
		rename "$to.new", $to or die "could not rename $to.new: $!";
	}
}

# ---------------------------------------------------------------------------
# a version to come

# What version 1.1 changes in the tree: a place that is once in these files, and
# what is there then
my @changes = (
	[ 'streamstat.control', qr/^default_version = '1\.0'$/m, sub { "default_version = '1.1'" } ],
	[
		'src/api/*.c',
		qr/^\t+sst_put_int64\(&row, "last_block", \(int64\) end - 1\);\n/m,
		sub { $& . qq(sst_put_int64(&row, "added", end - first);\n) }
	],
	[
		'src/api/*.c',
		qr/^\t+sst_put_int64\(row, "bytes_read",.*;\n/m,
		sub { $& . qq(sst_put_text(row, "added", "new");\n) }
	]);

# Build in $dir the library and the control file of version 1.1: this tree's with
# these changes and with next.c.
sub build_next
{
	my ($dir) = @_;

	# What this tree has been built of is not compiled again.
	make_path($dir);
	system("cd '$top' && tar -cf - --exclude=./.git --exclude=./tmp_check . | tar -xf - -C '$dir'") == 0
	  or die "could not copy the tree";
	foreach my $change (@changes)
	{
		my ($files, $place, $new) = @$change;
		my $found = 0;

		foreach my $file (glob "$dir/$files")
		{
			my $text = slurp_file($file);
			my $n = $text =~ s/$place/$new->()/ge or next;

			$found += $n;
			unlink $file;
			append_to_file($file, $text);
		}
		die "Upgrade.pm finds $place $found times in $files" if $found != 1;
	}
	copy("$here/next.c", "$dir/src/next.c") or die "could not copy next.c: $!";

	# what has the version in it
	unlink map { s/c$/o/r } grep { slurp_file($_) =~ /STREAMSTAT_VERSION/ } glob "$dir/src/*.c $dir/src/*/*.c";

	local %ENV = %ENV;
	delete @ENV{qw(MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES)};
	system( "make -s -C '$dir' PG_CONFIG='" . config('bindir') . "/pg_config' with_llvm=no"
		  . " streamstat.so >'$dir/make.log' 2>&1") == 0
	  or die "could not build version 1.1:\n" . slurp_file("$dir/make.log");
}

# ---------------------------------------------------------------------------
# a database

my %relations = (relations_of('t'), tree => 'parts', tree_index => 'parts_k');
my @calls = grep { /^SELECT/ } all_calls(%relations);

# Make relations, views that depend on every function and view of the extension,
# tables with stored results, and a role that may call one of the functions.
sub make_dependents
{
	my ($node, $db) = @_;
	my $n = 0;

	$node->safe_psql(
		$db, join '',
		table_with_indexes('t'), <<'SQL', map { "CREATE VIEW dependent_" . ++$n . " AS $_;\n" } @calls);
CREATE TABLE parts (k int) PARTITION BY RANGE (k);
CREATE TABLE part_1 PARTITION OF parts FOR VALUES FROM (0) TO (1000);
CREATE TABLE part_2 PARTITION OF parts FOR VALUES FROM (1000) TO (2000);
INSERT INTO parts SELECT generate_series(0, 1999);
CREATE INDEX parts_k ON parts (k);
VACUUM ANALYZE t, parts;
DELETE FROM t WHERE k % 10 = 0;
VACUUM t;
-- a query's rows, or its error and hint, in one line
CREATE FUNCTION answer(query text) RETURNS text LANGUAGE plpgsql AS
$$
DECLARE
	rows text;
	hint text;
BEGIN
	EXECUTE format('SELECT string_agg(row_to_json(r)::text, '' '') FROM (%s) r', query) INTO rows;
	RETURN coalesce(rows, 'no rows');
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
	RETURN format('ERROR: %s HINT: %s', SQLERRM, hint);
END
$$;
CREATE FUNCTION dependent() RETURNS bigint BEGIN ATOMIC SELECT live_items FROM streamstat.btree_stats('t_btree'); END;
CALL streamstat.collect();
-- A report names relations and has no regclass: a dump has rows before indexes.
CREATE TABLE stored_report AS SELECT * FROM streamstat.database_report();
CREATE MATERIALIZED VIEW stored_view AS SELECT * FROM streamstat.database_report();
CREATE TABLE stored_stats AS SELECT * FROM streamstat.table_stats_tree('parts');
CREATE TABLE stored_ranges OF streamstat.unfrozen_ranges_row;
INSERT INTO stored_ranges SELECT first_block, last_block FROM streamstat.unfrozen_ranges('t');
CREATE ROLE granted;
GRANT EXECUTE ON FUNCTION streamstat.btree_stats(regclass) TO granted;
SQL
}

# What calls of every function and view of the extension answer, by the call; with
# $dependents, what the views that depend on them answer
sub answers
{
	my ($node, $db, $dependents) = @_;
	my @queries = $dependents ? map { "SELECT * FROM dependent_$_" } 1 .. @calls : @calls;
	my %answers;

	@answers{@calls} = split /\n/,
	  $node->safe_psql($db, join '', map { "SELECT answer(\$\$$_\$\$);\n" } @queries);
	return \%answers;
}

# How answers differ from those before: in all for the calls of %$exact, else in columns
# or errors
sub differences
{
	my ($answers, $before, $exact) = @_;
	my @differences;

	foreach my $query (sort keys %$answers)
	{
		my ($is, $was) =
		  map { $exact->{$query} ? $_ : columns_of($_) } $answers->{$query}, $before->{$query};

		push @differences, sprintf("%s: %.300s, and not %.300s", $query, $is, $was) if $is ne $was;
	}
	return join "\n", @differences;
}

# The columns of an answer with rows, or else the answer.  A document has the keys that have
# a value on this server.
sub columns_of
{
	my ($answer) = @_;

	return $1 if $answer =~ /^\{"(report_json)":\{"format":/;
	return $answer =~ /^(\{.*?\})( \{|$)/ ? join ' ', $1 =~ /[{,]"(\w+)":/g : $answer;
}

# The stored results in tables, and which of two functions the role may call
sub stored
{
	my ($node, $db) = @_;

	return $node->safe_psql($db,
		join '',
		map({ "SELECT * FROM $_ s ORDER BY s::text;\n" } qw(stored_report stored_stats)),
		"SELECT first_block, last_block FROM stored_ranges;\n",
		map({ "SELECT count(*), md5(string_agg(r::text, ' ' ORDER BY r::text)) FROM streamstat.$_ r;\n" }
			qw(report_runs report_run_relations report_run_others report_run_commands)),
		"SELECT last_value FROM streamstat.report_runs_run_seq;\n",
		map({ "SELECT has_function_privilege('granted', 'streamstat.$_(regclass)', 'EXECUTE');\n" }
			qw(btree_stats hash_stats)));
}

1;
