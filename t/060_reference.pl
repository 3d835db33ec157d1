
# Copyright (c) 2026, streamstat contributors

# docs/reference.md is what tools/reference makes of the script, and has each function,
# column, view, table and setting of the extension once, with arguments, types, units and
# defaults, and nothing else.  The page and the catalogs are turned into lists of facts,
# which are compared.

use strict;
use warnings;

use File::Basename qw(basename);
use File::Copy qw(copy);
use FindBin;
use PostgreSQL::Test::Utils;
use Test::More;

use lib "$FindBin::RealBin/lib";
use Node;

my $top = "$FindBin::RealBin/..";
my $node = new_node('reference');
my $page = slurp_file("$top/docs/reference.md");

# Arguments that say which relation: no table need explain them.
my %plain = map { $_ => 1 } qw(relation relname reloid);

# A query's rows, as lists
sub rows
{
	my ($query) = @_;
	my $text = $node->safe_psql('postgres', "LOAD 'streamstat'; $query");

	return map { [ split /\|/, $_, -1 ] } split /\n/, $text;
}

# ---------------------------------------------------------------------------
# what the catalogs have

# function => [ name, arguments, result ]
my @functions = rows(<<'SQL');
SELECT proname, regexp_replace(regexp_replace(replace(pg_get_function_arguments(oid), 'timestamp with time zone', 'timestamptz'), '(^|, )IN ', '\1', 'g'), '::[a-z ]+(\[\])?', '', 'g'),
	coalesce(replace(lower(pg_get_function_result(oid)), 'streamstat.', ''), '')
FROM pg_proc WHERE pronamespace = 'streamstat'::regnamespace ORDER BY oid
SQL
# the section that has a column => its name and type
my @columns = rows(<<'SQL');
SELECT regexp_replace(relname, '_row$', ''), attname, replace(format_type(atttypid, -1), 'timestamp with time zone', 'timestamptz')
FROM pg_attribute JOIN pg_class c ON c.oid = attrelid
WHERE relnamespace = 'streamstat'::regnamespace AND relkind IN ('r', 'v', 'c') AND attnum > 0 AND NOT attisdropped
ORDER BY relname, attnum
SQL
my @settings = rows(<<'SQL');
SELECT name, vartype, coalesce(unit, '–'), '`' || boot_val || '`',
	CASE vartype WHEN 'enum' THEN '`' || array_to_string(enumvals, '`, `') || '`' WHEN 'bool' THEN '`on`, `off`'
		ELSE min_val || ' to ' || max_val END, context
FROM pg_settings WHERE name LIKE 'streamstat.%'
SQL
my @relations = map { $_->[0] } rows(<<'SQL');
SELECT relname FROM pg_class WHERE relnamespace = 'streamstat'::regnamespace AND relkind IN ('r', 'v', 'm', 'f', 'p')
SQL

my %wanted;
my %arguments;
my %row_type;
$wanted{"section $_"}++ foreach @relations, map { $_->[0] } @settings;
$wanted{"setting " . join ' | ', @$_}++ foreach @settings;
$wanted{"column " . join ' ', @$_}++ foreach @columns;
foreach my $function (@functions)
{
	my ($name, $arguments, $result) = @$function;
	my @in = grep { !/^OUT / } split /, (?=(?:OUT )?[a-z_]+(?: |$))/, $arguments;
	my @out = map { /^OUT (.*)/ ? $1 : () } split /, /, $arguments;

	$wanted{"section $name"} = 1;
	$wanted{"function $name(" . join(', ', @in) . ")" . ($result ne '' ? " → $result" : '')}++;
	$wanted{"column $name $_"} = 1 foreach @out;
	$arguments{$name} = { map { /^(\S+) \S/ ? ($1 => 1) : () } @in };
	$row_type{$name} = $1 if $result =~ /^(?:setof )?(\w+)_row$/;
}

# ---------------------------------------------------------------------------
# what the page has

# The differences between a page and the catalogs, as lines
sub complaints
{
	my ($text) = @_;
	my (%found, @complaints, %explained, %prose);
	my ($section, $table, $signature) = ('');

	foreach my $line (split /\n/, $text)
	{
		if (defined $signature)
		{
			if ($line eq '```')
			{
				# one function to a line, or to several that are indented
				foreach my $one (split /\n(?! )/, $signature)
				{
					my $flat = $one =~ s/\(\s+/(/r =~ s/\s+/ /gr =~ s/^CALL //r;
					$found{"function $flat"}++;
				}
				undef $signature;
			}
			else
			{
				$signature .= "$line\n";
			}
		}
		elsif ($line =~ /^### (\S+)$/)
		{
			$section = $1;
			$found{"section $section"}++;
		}
		elsif ($line =~ /^## /)
		{
			$section = '';
		}
		elsif ($section ne '' && $line eq '```text')
		{
			$signature = '';
		}
		elsif ($line =~ /^\| (column|argument|type) \|/)
		{
			$table = $1;
		}
		elsif ($line !~ /^\|/)
		{
			undef $table;
			$prose{$section} .= "$line\n";
		}
		elsif (defined $table && $section ne '' && $line !~ /^\|---/)
		{
			my @cells = map { s/^\s+|\s+$//gr } split /(?<!\\)\|/, $line =~ s/^\||\|$//gr, -1;

			if ($table eq 'column')
			{
				my ($name) = $cells[0] =~ /^`(\w+)`$/;
				$found{"column $section " . ($name // $cells[0]) . " $cells[1]"}++;
				push @complaints, "no unit or meaning: $line" if @cells != 4 || grep { $_ eq '' } @cells;
			}
			elsif ($table eq 'argument')
			{
				my ($name) = $cells[0] =~ /^`(\w+)`$/;
				push @complaints, "$section has no argument $cells[0]" if !defined $name || !$arguments{$section}{$name};
				push @complaints, "no meaning: $line" if @cells != 2 || $cells[1] eq '';
				push @complaints, "twice: $section $name" if $explained{$section}{ $name // '' }++;
			}
			else
			{
				$found{"setting " . join ' | ', $section, @cells}++;
			}
		}
	}

	foreach my $fact (sort { $a cmp $b } keys %{ { %wanted, %found } })
	{
		my ($want, $have) = ($wanted{$fact} // 0, $found{$fact} // 0);
		push @complaints, ($have > $want ? $want ? 'too often' : 'does not exist' : 'missing') . ": $fact" if $have != $want;
	}

	# Arguments and columns stand in the section, or in one that it links to.
	foreach my $name (sort keys %arguments)
	{
		my @links = ($prose{$name} // '') =~ /\]\(#(\w+)\)/g;
		foreach my $argument (sort keys %{ $arguments{$name} })
		{
			next if $plain{$argument} || grep { $explained{$_}{$argument} } $name, @links;
			push @complaints, "not explained: $argument of $name";
		}
		my $type = $row_type{$name};
		push @complaints, "no link from $name to the columns of $type"
		  if defined $type && $type ne $name && !grep { $_ eq $type } @links;
	}
	return @complaints;
}

utf8::decode($page) if !utf8::is_utf8($page);
{
	# all of it as characters
	my %characters;
	foreach my $fact (keys %wanted)
	{
		my $copy = $fact;
		utf8::decode($copy);
		$characters{$copy} = $wanted{$fact};
	}
	%wanted = %characters;
}

is(join("\n", complaints($page)), '', 'the reference has what the catalogs have, once');
cmp_ok(scalar(grep { /^function / } keys %wanted), '>', 50, '... which is many functions');
cmp_ok(scalar(grep { /^column / } keys %wanted), '>', 400, '... columns');
cmp_ok(scalar(grep { /^setting / } keys %wanted), '>=', 9, '... and settings');

command_ok([ 'perl', "$top/tools/reference", '--check' ], 'tools/reference makes the same page');

# Another comment or argument makes another page.
my $copy = PostgreSQL::Test::Utils::tempdir();
my ($script) = glob "$top/streamstat--*.sql";
mkdir "$copy/$_" foreach qw(tools docs);
copy("$top/$_", "$copy/$_") foreach qw(tools/reference docs/reference.in docs/reference.md);
foreach my $case (
	[ 'the same script', '', '' ],
	[ 'another meaning of a column', 'half-dead pages', 'dead pages' ],
	[ 'another meaning of an OUT argument', '-- tuple_len in', '-- len in' ],
	[ 'another default', 'DEFAULT 10000', 'DEFAULT 1000' ],
	[ 'a column without a comment', 'COMMENT ON COLUMN hash_stats_row.pages IS', '-- ' ],
	[ 'a function without a place', 'CREATE FUNCTION io_advice', 'CREATE FUNCTION io_advise' ])
{
	my ($what, $from, $to) = @$case;
	my $text = slurp_file($script);

	$text =~ s/\Q$from\E/$to/;
	unlink "$copy/" . basename($script);
	append_to_file("$copy/" . basename($script), $text);
	is(system("perl '$copy/tools/reference' --check 2>>'$copy/log'") != 0, $from ne '', $what);
}

# What breaks the page is found.
foreach my $case (
	[ 'a column that is missing', sub { s/^\| `dead_items` .*\n//m } ],
	[ 'another type of a column', sub { s/^\| `dead_items` \| bigint/| `dead_items` | integer/m } ],
	[ 'a function that does not exist', sub { s/^### btree_stats$/### no_stats\n\n$&/m } ],
	[ 'another default', sub { s/DEFAULT 10000/DEFAULT 1000/ } ],
	[ 'an argument that is not explained', sub { s/^\| `margin` .*\n//m } ],
	[ 'another default of a setting', sub { s/`1000` \| -1/`100` | -1/ } ],
	[ 'a setting that is missing', sub { s/^### streamstat\.max_rate\n//m } ])
{
	my ($what, $change) = @$case;

	local $_ = $page;
	$change->();
	isnt($_, $page, "$what: the page is changed");
	isnt(join("\n", complaints($_)), '', '... and it is found');
}

stop_clean($node);
done_testing();
