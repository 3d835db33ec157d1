
# Copyright (c) 2026, streamstat contributors

# Every function of the extension as a query, for tests that call them all; and
# how a query failed.

package Calls;

use strict;
use warnings;

use Exporter 'import';
use List::Util ();
use Time::HiRes ();

use Functions;

our @EXPORT = qw(all_calls how_it_failed
  random_settings one_of in_turn keep_busy table_with_indexes relations_of);

# Queries about the given relations: table, btree, hash, gin, gist, spgist, brin,
# tree (a partitioned table), tree_index
sub all_calls
{
	my (%r) = @_;
	my %views = views();

	return (
		(   map { my $f = $_; map { ($f->{procedure} ? 'CALL' : 'SELECT * FROM') . " streamstat.$_" } calls($f, \%r) }
			  all_functions()),
		map { "SELECT * FROM streamstat.$_" } sort keys %views);
}

# The first error among what psql with VERBOSITY=verbose printed: "SQLSTATE
# message", with FATAL before it if the session was ended; or ''
sub how_it_failed
{
	my ($stderr) = @_;

	return '' if $stderr !~ /(ERROR|FATAL|PANIC):  ([0-9A-Z]{5}: .*)/;
	return ($1 eq 'ERROR' ? '' : "$1 ") . $2;
}

# Commands that make a table with an index of each kind
sub table_with_indexes
{
	my ($name) = @_;

	return join '',
	  "CREATE TABLE $name AS SELECT i AS k, ARRAY[i, i % 100] AS a, point(i % 100, i / 100) AS p, repeat('x', 50) AS pad FROM generate_series(1, 10000) i;\n",
	  map { "CREATE INDEX ${name}_$_->[0] ON $name USING $_->[0] ($_->[1]);\n" }
	  (
		[ 'btree', 'k' ], [ 'hash', 'k' ], [ 'gin', 'a' ], [ 'gist', 'p' ],
		[ 'spgist', 'p' ], [ 'brin', 'k' ]);
}

# ... as all_calls() wants it
sub relations_of
{
	my ($name) = @_;

	return (table => $name,
		map { $_ => "${name}_$_" } qw(btree hash gin gist spgist brin));
}

sub one_of
{
	return $_[ int(rand(@_)) ];
}

# A function that returns one of them after the other, at random, but each before any
# of them once more
sub in_turn
{
	my (@all) = @_;
	my @left;

	return sub {
		@left = List::Util::shuffle(@all) if !@left;
		return shift @left;
	};
}

# SET commands for what can be set of the way to the pages
sub random_settings
{
	my (@rates) = @_;

	return
	    "SET streamstat.io_path = "
	  . one_of('auto', 'buffer', 'file')
	  . "; SET streamstat.io_method = "
	  . one_of('auto', 'sync')
	  . "; SET streamstat.map_files = "
	  . one_of('on', 'off')
	  . "; SET streamstat.max_workers = "
	  . one_of(0, 2, 4)
	  . "; SET streamstat.max_rate = '"
	  . one_of(@rates) . "'";
}

# Give sessions one query after the other until the code returns false; then wait
# for the last ones.  Each worker has {session}, {next}, which makes a query,
# and {done}, which is told how it failed, or '', and can give the worker another
# session.  Returns how many were done.
sub keep_busy
{
	my ($more, @workers) = @_;
	my $ndone = 0;

	while (@workers)
	{
		my $go_on = $more->();
		my @left;

		foreach my $worker (@workers)
		{
			my $session = $worker->{session};

			if (defined $worker->{query})
			{
				push @left, $worker;
				next if $session->busy;
				$session->answer;
				$worker->{done}->(how_it_failed($session->{err}), $worker->{query}, $worker);
				delete $worker->{query};
				$ndone++;
				pop @left if !$go_on || !$worker->{session}{run}->pumpable;
			}
			elsif ($go_on)
			{
				$worker->{query} = $worker->{next}->();
				$session->send_query($worker->{query});
				push @left, $worker;
			}
		}
		@workers = @left;
		Time::HiRes::usleep(2_000);
	}
	return $ndone;
}

1;
