
# Copyright (c) 2026, streamstat contributors

# The queries of README.md, docs/ and monitoring/README.md run, and their output has the
# columns, labels and words that the page shows.
#
# Each block "sql" of a page is run, in order, in one session of psql, in a database with
# the tables of Documentation.pm.  A block "text" directly after it is its output.  Digits
# are masked, and the widths that follow from them; so are units of pg_size_pretty() and
# the characters of pictures, which say what is cached.  A block after the line
# "<!-- not run: why -->" is left out, and on 19 the output after "<!-- output of 15 to 18 -->".

use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Utils;
use Test::More;

use lib "$FindBin::RealBin/lib";
use Extra 'slow';
use Documentation;
use Node;

my $top = "$FindBin::RealBin/..";
my $node = new_node('documented', undef, extension => 0);

$node->safe_psql('postgres', 'CREATE DATABASE shop');
$node->safe_psql('shop', documentation_schema());
$node->safe_psql('shop', 'CREATE EXTENSION streamstat; CHECKPOINT');

# ---------------------------------------------------------------------------

# The blocks of a page: its line, what is to be run, what is shown, why it is not run
sub blocks
{
	my ($text) = @_;
	my (@blocks, $kind, $body, $reason, $previous);
	my $number = 0;

	foreach my $line (split /\n/, $text)
	{
		$number++;
		if (defined $kind)
		{
			if ($line !~ /^```\s*$/)
			{
				$body .= "$line\n";
				next;
			}
			if ($kind eq 'sql')
			{
				push @blocks, { line => $number, sql => $body, reason => $reason };
				$previous = $blocks[-1];
			}
			elsif ($kind eq 'text' && $previous)
			{
				$previous->{text} = $body;
				undef $previous;
			}
			undef $kind;
			undef $reason;
		}
		elsif ($line =~ /^```(\w*)/)
		{
			($kind, $body) = ($1, '');
			undef $previous if $kind ne 'text';
		}
		elsif ($line =~ /^<!-- not run:?\s*(.*?)\s*-->/)
		{
			$reason = $1;
			undef $previous;
		}
		elsif ($line eq '<!-- output of 15 to 18 -->')
		{
			undef $previous if $node->pg_version >= 19;
		}
		elsif ($line =~ /\S/)
		{
			undef $reason;
			undef $previous;
		}
	}
	return @blocks;
}

# Output without what may differ from one run to the next
sub masked
{
	my ($output) = @_;
	my @lines;

	foreach (split /\n/, $output)
	{
		next if /^[-+ ]*$/;
		s/^(-\[ RECORD \d+ \]).*/$1/;
		s/[-#=.XxSPBspb!]{16,}/~/g;
		s/-?(?:\d+\.)?\d+(?:e[-+]?\d+)?/N/g;
		s/\bN (?:bytes|kB|MB|GB|TB)(?=\W|$)/N bytes/g;
		s/\(N rows?\)/(N rows)/;
		s/\s*\|\s*/|/g;
		s/\s+/ /g;
		s/^ | $//g;
		# 19 rebuilds tables by another command, with other locks
		s/.*(?:VACUUM FULL|REPACK).*/"a rebuild of " . (() = m{\|}g) . " columns"/e;
		push @lines, $_;
	}
	return join "\n", @lines;
}

my $databases = 0;

# What is wrong with a page: of its blocks, those that fail or show something else; and
# how many were run, compared and left out
sub try_page
{
	my ($text) = @_;
	my @blocks = blocks($text);
	my @run = grep { !defined $_->{reason} } @blocks;
	my @complaints = map { "line $_->{line}: not run, without a reason" }
	  grep { defined $_->{reason} && length $_->{reason} < 8 } @blocks;
	my $database = 'page_' . ++$databases;
	my ($out, $err) = ('', '');

	push @complaints, 'an open block' if (() = $text =~ /^```/mg) % 2;
	if (@run)
	{
		$node->safe_psql('postgres', "CREATE DATABASE $database TEMPLATE shop");
		$node->safe_psql($database, 'DROP EXTENSION streamstat')
		  if grep { $_->{sql} =~ /^CREATE EXTENSION (?:IF NOT EXISTS )?streamstat/m } @run;
		my $script = join '', map { "\\echo === $_\n$run[$_]{sql}" } 0 .. $#run;
		local $ENV{PGTZ} = 'UTC';
		IPC::Run::run(
			[ 'timeout', 300, 'psql', '-XAq', '-P', 'format=aligned', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr($database), '-f', '-' ],
			'<', \"$script\\echo === end\n", '>', \$out, '2>', \$err);
		$node->safe_psql('postgres', "DROP DATABASE $database WITH (FORCE)");
	}
	my %output = $out =~ /^=== (\d+)\n(.*?)(?=^=== )/msg;
	foreach my $number (0 .. $#run)
	{
		my $block = $run[$number];

		if (!defined $output{$number})
		{
			push @complaints, "line $block->{line}: the query fails: $err";
			last;
		}
		next if !defined $block->{text};
		my ($want, $have) = (masked($block->{text}), masked($output{$number}));
		push @complaints, "line $block->{line}: the page shows\n$want\nbut the output is\n$have" if $want ne $have;
	}
	return (\@complaints, scalar(@run), scalar(grep { defined $_->{text} } @run), @blocks - @run);
}

# ---------------------------------------------------------------------------

my @pages = map { s/^\Q$top\E\///r } "$top/README.md", sort(glob("$top/docs/*.md")), "$top/monitoring/README.md";
my ($all_run, $all_compared) = (0, 0);

foreach my $name (@pages)
{
	my ($complaints, $run, $compared, $left_out) = try_page(slurp_file("$top/$name"));

	is(join("\n", @$complaints), '', "$name: $run blocks run, $compared compared, $left_out not run");
	$all_run += $run;
	$all_compared += $compared;
}
cmp_ok($all_run, '>=', 20, 'many blocks were run');
cmp_ok($all_compared, '>=', 15, '... and the output of many compared');

# What is wrong is found.
my $good = <<'PAGE';
```sql
SELECT leaf_pages, 'ab' AS word FROM streamstat.btree_stats('orders_pkey');
```

```text
 leaf_pages | word
------------+------
         17 | ab
(1 row)
```

<!-- not run: it is only shown -->
```sql
SELECT no_column;
```
PAGE
is(join("\n", map { ref $_ ? @$_ : $_ } try_page($good)), "1\n1\n1", 'other digits are no difference, and a block with a reason is not run');
foreach my $case (
	[ 'another column', sub { s/AS word/AS name/ }, 'the page shows' ],
	[ 'another word', sub { s/\| ab/| abc/ }, 'the page shows' ],
	[ 'a row too many', sub { s/(^ +17 .*\n)/$1$1/m }, 'the page shows' ],
	[ 'a column that does not exist', sub { s/leaf_pages,/leaf_pagez,/ }, 'the query fails: .*leaf_pagez' ],
	[ 'no reason', sub { s/it is only shown// }, 'without a reason' ],
	[ 'a block that is to be run', sub { s/<!-- .*-->// }, 'the query fails: .*no_column' ])
{
	my ($what, $change, $expected) = @$case;

	local $_ = $good;
	$change->();
	my ($complaints) = try_page($_);
	like(join("\n", @$complaints), qr/$expected/s, "$what is found");
}

stop_clean($node);
done_testing();
