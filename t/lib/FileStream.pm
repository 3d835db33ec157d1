
# Copyright (c) 2026, streamstat contributors

# A cluster whose pages are read past the buffer manager, and the same calls by both
# ways to the pages.

package FileStream;

use strict;
use warnings;

use Exporter 'import';
use PostgreSQL::Test::Utils;
use Test::More ();

use Node;
use Session;

our @EXPORT = qw(file_stream_node create_relations new_session query stream_stats calls_on
  check_same check_descriptors torn lsn);

sub file_stream_node
{
	my ($name, $checksums, $settings) = @_;

	# full_page_writes is off so that replay reads the pages that it changes
	return new_node($name, q(
synchronous_commit = off
full_page_writes = off
bgwriter_delay = 10ms
checkpoint_timeout = 1h
max_standby_streaming_delay = -1
max_standby_archive_delay = -1
hot_standby_feedback = off
allow_in_place_tablespaces = on
streamstat.io_path = file
) . $settings, checksums => $checksums, streaming => 1);
}

# A table that changes, and an unlogged one, with indexes
sub create_relations
{
	my ($node) = @_;

	$node->safe_psql('postgres', <<'SQL');
CREATE TABLE t (k int, v int) WITH (fillfactor = 80);
INSERT INTO t SELECT i, 0 FROM generate_series(1, 30000) i;
CREATE INDEX t_btree ON t (k);
CREATE INDEX t_hash ON t USING hash (k);
CREATE UNLOGGED TABLE u AS SELECT i AS k FROM generate_series(1, 20000) i;
CREATE INDEX u_btree ON u (k);
CREATE INDEX u_hash ON u USING hash (k);
SQL
}

# Where a page says that it was changed
sub lsn
{
	my ($page) = @_;

	return join '/', unpack('L2', substr($page, 0, 8));
}

# The head of one page, and the rest of another
sub torn
{
	my ($head, $rest) = @_;

	return substr($head, 0, length($head) / 2) . substr($rest, length($rest) / 2);
}

# A session with settings.  It has the words that users see.
sub new_session
{
	my ($node, @settings) = @_;
	my $session = Session->new($node, '-v', 'VERBOSITY=default');

	$session->{node} = $node;
	query($session, "SET $_") foreach (@settings);
	return $session;
}

# The answer to a query that has to work
sub query
{
	my ($session, $query) = @_;
	my $answer = $session->query($query);

	die "query failed: $query\n$session->{err}"
	  if $session->{err} =~ /ERROR|FATAL|PANIC/;
	return $answer;
}

# What stream_stats() says of the last call
sub stream_stats
{
	my ($session) = @_;
	my @names = qw(stream io_method workers blocks_requested blocks_hit
	  blocks_missed blocks_private reads);
	my %stats;

	@stats{@names} = split /\|/,
	  query($session,
		'SELECT ' . join(', ', @names) . ' FROM streamstat.stream_stats()'),
	  -1;
	return \%stats;
}

# Calls over relations, by their kinds
sub calls_on
{
	my %relations = @_;
	my %functions = (
		btree => [qw(btree_stats pgstatindex)],
		hash => [qw(hash_stats pgstathashindex)],
		heap => []);
	my @calls;

	foreach my $relation (sort keys %relations)
	{
		push @calls, map { "$_('$relation')" } @{ $functions{ $relations{$relation} } };
		push @calls, "sample_stats('$relation', 10000000)", "sample_stats('$relation', 40, seed => 7)";
	}
	return @calls;
}

# First from the files, which leaves the buffers alone, then through buffers.
# Returns the results, and what the file stream did, by call.
sub check_same
{
	my ($session, $what, @calls) = @_;
	my (%by_file, %by_buffer, %stats);

	foreach my $call (@calls)
	{
		$by_file{$call} = query($session, "SELECT * FROM streamstat.$call");
		$stats{$call} = stream_stats($session);
	}
	query($session, 'SET streamstat.io_path = buffer');
	$by_buffer{$_} = query($session, "SELECT * FROM streamstat.$_")
	  foreach (@calls);
	query($session, 'SET streamstat.io_path = file');

	Test::More::is_deeply(\%by_file, \%by_buffer, "$what: the same by both ways");
	Test::More::is(join(' ', grep { $stats{$_}{stream} ne 'file stream' } @calls),
		'', "$what: the file stream read");
	Test::More::is( join(
			' ',
			grep {
				my $s = $stats{$_};
				$s->{blocks_hit} + $s->{blocks_missed} != $s->{blocks_requested}
			} @calls),
		'',
		"$what: each page once");
	return (\%by_file, \%stats);
}

# After scans in a transaction, the session has no ring open, and no file twice.
sub check_descriptors
{
	my ($session, $what) = @_;

  SKIP:
	{
		my $dir = "/proc/$session->{pid}/fd";
		my (%open, @rings);

		Test::More::skip 'no /proc', 2 if !-r $dir;
		query($session, 'BEGIN');
		query($session, "SELECT count(*) FROM streamstat.sample_stats('t', 1000000)")
		  foreach (1 .. 3);
		$open{ readlink($_) // '' }++ foreach (glob("$dir/*"));
		# from 18 on, the server may have rings of its own
		@rings = grep { /io_uring/ } keys %open
		  if query($session,
			"SELECT current_setting('io_method', true) = 'io_uring'") ne 't';
		query($session, 'COMMIT');
		Test::More::is("@rings", '', "$what: no ring is left");
		Test::More::is(join(' ', grep { m{/(base|pg_tblspc)/} && $open{$_} > 2 } keys %open),
			'', "$what: no file is left open");
	}
}

1;
