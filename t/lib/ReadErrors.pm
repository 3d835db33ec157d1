
# Copyright (c) 2026, streamstat contributors

# A server whose reads fail (Faults.pm), small and large relations there, the ways to
# their pages, and the calls that read them.

package ReadErrors;

use strict;
use warnings;

use Exporter 'import';
use Test::More ();

use Faults;
use Functions;
use Node;
use Pages;
use Session;

our @EXPORT = qw(faulty_node new_session rows take_way evict count_fds check_left
  bad_block is_read_error say_what_they_say no_pins $faults $session @calls @parallel %ways %file
  %path %expected BIG EAGAIN ENOMEM EACCES ENFILE EMFILE EIO EINTR);

use constant { EAGAIN => 11, ENOMEM => 12, EACCES => 13, ENFILE => 23, EMFILE => 24, EIO => 5, EINTR => 4 };

# Blocks of a large relation, which workers prewarm, too
use constant BIG => 24_600;

our ($node, $faults, $session, %file, %path, %expected);

# Of each kind there is a small relation, and of some a larger one that workers read,
# too: most of these is pages of zeros, which are in no place of the disk.
sub faulty_node
{
	Test::More::plan(skip_all => 'this is not Linux') if $^O ne 'linux';
	$node = new_node('read_errors', q(
shared_buffers = 1MB
max_files_per_process = 80
max_worker_processes = 8
bgwriter_lru_maxpages = 0
jit = off
), start => sub {
			$faults = Faults->new($_[0]);
			Test::More::plan(skip_all => 'no C compiler for test/faults') if !$faults;
			$faults->start($_[0]);
		});
	$node->safe_psql('postgres', <<'SQL');
CREATE TABLE t AS SELECT i AS k, ARRAY[i, i % 7] AS a, point(i, i % 100) AS p, repeat('x', 100) AS filler
	FROM generate_series(1, 10000) i;
CREATE INDEX t_btree ON t (k);
CREATE INDEX t_hash ON t USING hash (k);
CREATE INDEX t_gin ON t USING gin (a);
CREATE INDEX t_gist ON t USING gist (p);
CREATE INDEX t_spgist ON t USING spgist (p);
CREATE INDEX t_brin ON t USING brin (k) WITH (pages_per_range = 1);
DELETE FROM t WHERE k % 5 = 0;
CREATE TABLE v AS TABLE t;
VACUUM v;
CREATE TABLE big AS SELECT i AS k FROM generate_series(1, 10000) i;
CREATE INDEX big_btree ON big (k);
CREATE INDEX big_hash ON big USING hash (k);
CREATE TABLE filler AS SELECT repeat('x', 1000) FROM generate_series(1, 4000) i;
CREATE TABLE cut AS SELECT i AS k FROM generate_series(1, 10000) i;
CREATE INDEX cut_btree ON cut (k);
CHECKPOINT;

-- the error of a query that is to fail n times in one transaction
CREATE FUNCTION caught(query text, n int) RETURNS text LANGUAGE plpgsql AS
$$
DECLARE
	r record;
	answer text;
BEGIN
	FOR i IN 1 .. n LOOP
		BEGIN
			EXECUTE query INTO r;
			RETURN 'no error';
		EXCEPTION WHEN OTHERS THEN
			answer := SQLSTATE || ': ' || SQLERRM;
		END;
	END LOOP;
	RETURN answer;
END
$$;
SQL
	if (create_extension($node, 'bloom'))
	{
		$node->safe_psql('postgres', 'CREATE INDEX t_bloom ON t USING bloom (k)');
		push @ReadErrors::calls, [ "bloom_stats('t_bloom')", 't_bloom', '' ];
	}
	%file = split /[|\n]/, $node->safe_psql('postgres', q(
SELECT relname, pg_relation_filepath(oid) FROM pg_class
WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'i')));
	%path = map { $_ => $node->data_dir . "/$file{$_}" } keys %file;
	$node->stop;
	foreach my $name (qw(big big_btree big_hash))
	{
		truncate($path{$name}, BIG * BLCKSZ) or die "could not extend $path{$name}: $!";
	}
	$faults->start($node);
	return $node;
}

# The ways to the pages, and what is called.  Of a relation, the block in the
# middle is the bad one, or the map's first.
our %ways = (
	'buffers' => { io_path => 'buffer' },
	'files, cached' => { io_path => 'file', io_method => 'sync' },
	'files, sync' => { io_path => 'file', io_method => 'sync', uncached => 1 },
	'files, io_uring' => { io_path => 'file', io_method => 'io_uring', uncached => 1 });

our @calls = map { [ @$_[ 0, 1 ], @$_ > 2 ? $_->[2] : '' ] } (
	(map { [ "${_}_stats('t_$_')", "t_$_" ] } qw(btree hash gin gist spgist brin)),
	(map { [ "index_stats('t_$_')", "t_$_" ] } qw(btree hash gin gist spgist brin)),
	[ "index_stats_tree('t_gin')", 't_gin' ],
	[ "table_stats('t')", 't' ],
	[ "table_stats('v')", 'v', '_vm' ],
	[ "table_stats('v')", 'v', '_fsm' ],
	[ "table_stats_tree('t')", 't' ],
	[ "visibility_map_summary('v')", 'v', '_vm' ],
	[ "unfrozen_ranges('v')", 'v', '_vm' ],
	[ "free_space_map_summary('v')", 'v', '_fsm' ],
	[ "layout_map('t')", 't' ],
	[ "layout_map('t_gist')", 't_gist' ],
	[ "layout_picture('t')", 't' ],
	(map { [ "sample_stats('$_', 100000, seed => 1)", $_ ] } qw(t t_btree t_hash t_gin t_gist t_spgist t_brin)),
	[ "sample_stats('t_btree', 100000, margin => 0.001)", 't_btree' ],
	(map { [ "bloat('$_', 100000, 1, 'no')", $_ ] } qw(t t_btree t_hash t_gin)),
	[ "bloat_tree('t_btree', 100000, 1, 'no')", 't_btree' ],
	(map { [ "pgstattuple('$_')", $_ ] } qw(t t_btree t_hash t_gist)),
	[ "pgstattuple_approx('t')", 't' ],
	[ "pgstattuple_approx('v')", 'v', '_vm' ],
	[ "pgstattuple_approx('v')", 'v', '_fsm' ],
	[ "pgstatindex('t_btree')", 't_btree' ],
	[ "pgstathashindex('t_hash')", 't_hash' ],
	[ "pgstatginindex('t_gin')", 't_gin', 'meta' ],
	(map { [ "pg_prewarm('t', '$_')", 't' ] } qw(buffer read)),
	[ "pg_prewarm('t_spgist')", 't_spgist' ],
	[ "pg_prewarm('v', 'read', 'fsm')", 'v', '_fsm' ]);

# those that have workers
our @parallel = (
	[ "btree_stats('big_btree')", 'big_btree' ],
	[ "table_stats('big')", 'big' ],
	[ "pgstattuple_approx('big')", 'big' ],
	[ "pgstatindex('big_btree')", 'big_btree' ],
	[ "pg_prewarm('big')", 'big' ],
	[ "pg_prewarm('big_hash', 'read')", 'big_hash' ]);

sub bad_block
{
	my ($relation, $fork) = @_;

	return $fork ne '' ? 0 : int((-s $path{$relation}) / BLCKSZ / 2);
}

# The session that calls; another one than before
sub new_session
{
	$session->end if $session;
	$session = Session->new($node);
}

# A call's rows, without what was in buffers
sub rows
{
	my ($call) = @_;

	return $session->query(
		'SELECT '
		  . ( $call =~ /^layout_map/
			? 'bucket, first_block, last_block, free_percent, dead_percent, bar'
			: $call =~ /^layout_picture/ ? 'first_block, CASE WHEN first_block IS NOT NULL THEN picture END'
			: '*')
		  . " FROM streamstat.$call");
}

sub take_way
{
	my ($way, $workers) = @_;

	# what is mapped is read without workers
	$session->query("SET streamstat.io_path = $way->{io_path}; SET streamstat.max_workers = $workers; SET streamstat.map_files = "
		  . ($workers > 0 ? 'off' : 'on'));
	$session->query("SET streamstat.io_method = $way->{io_method}") if $way->{io_method};
}

# Our relations are in no buffer then, and those that are named not in the page cache.
sub evict
{
	my (@relations) = @_;

	$faults->clear;
	$session->query("SELECT streamstat.pg_prewarm('filler')");
	uncache($node, @relations) if @relations;
}

sub count_fds
{
	my ($s) = @_;

	return scalar(my @fds = glob("/proc/$s->{pid}/fd/*"));
}

# What is left in the session of calls that failed.
sub check_left
{
	my ($what, $fds) = @_;

	Test::More::is( $session->query(
			'SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND relation >= 16384'),
		0,
		"$what: no lock is left");
	Test::More::is($session->query('SELECT count(*) FROM streamstat.stat_get_progress()'),
		0, "$what: no progress is left");
	Test::More::is($session->rings, 0, "$what: no ring is left");

	# the server's own files of our relations and catalogs
	Test::More::cmp_ok(count_fds($session) - $fds, '<=', 15, "$what: no file is left open");
}

# Is this the one error that there has to be?
sub is_read_error
{
	my ($answer, $relation, $fork, $block, $kind) = @_;
	my $file = $file{$relation} . ($fork =~ /^_/ ? $fork : '');
	my ($code, $first, $last, $named, $why) =
	  $answer =~ /\A(?:psql:[^\n]*?ERROR:  )?(\w{5}): could not read blocks? (\d+)(?:\.\.(\d+))? (?:in|of) (?:file|relation) "?([^":]+)"?: (.*)/;

	return 0 if !defined $why || $answer =~ /ERROR:.*ERROR:/s;
	$last //= $first;
	# each participant has an end of its own to find
	return $named eq $file
	  && ($first <= $block || $kind eq 'end')
	  && $last >= $block
	  && ( $kind eq 'end'
		? $code eq 'XX001' && $why =~ /^read only/
		: $code eq '58030' && $why =~ /^Input\/output error/);
}

# What the calls say when nothing is wrong, for %expected; tests that they say the
# same by each way.  A way that this machine has not is no way then.
sub say_what_they_say
{
	my $have_rings;
	# corrupt_blocks lists what cannot be read: 035; file_created reads none; prewarm has notes: 037; a probe reads other relations: 050
	my %called = map { $_->[0] =~ /^(\w+)/ => 1 } @calls, map({ [$_] } qw(bloom_stats hnsw_stats ivfflat_stats)), [ 'file_created' ], [ 'pg_relpages' ], [ 'corrupt_blocks' ], [ 'prewarm' ], [ 'io_probe' ];

	Test::More::is(join(' ', grep { !$called{$_} } functions_on()), '', 'every function is called');
	new_session();
	take_way($ways{buffers}, 0);
	$expected{ $_->[0] } = rows($_->[0])
	  foreach (@calls, @parallel);
	Test::More::is(join(' ', grep { $expected{$_} eq '' } sort keys %expected), '', 'all calls work');

	foreach my $name (sort keys %ways)
	{
		my $way = $ways{$name};
		my @differ;

		take_way($way, 0);
		foreach my $case (@calls)
		{
			evict();
			$faults->set(file => $path{ $case->[1] }, uncached => $way->{uncached});
			my $answer = rows($case->[0]);
			push @differ, "$case->[0]: $answer $session->{err}"
			  if $answer ne $expected{ $case->[0] };
			$have_rings = 1
			  if $name =~ /io_uring/
			  && $session->query('SELECT io_method FROM streamstat.stream_stats()') eq 'io_uring';
		}
		Test::More::is(join("\n", @differ), '', "$name: the same");
	}
	delete $ways{'files, io_uring'} if !$have_rings;
	Test::More::note('rings: ' . ($have_rings ? 'yes' : 'no'));
	return $have_rings;
}

# The session ends, and the server has no page pinned.
sub no_pins
{
	$session->end;
	$faults->clear;
  SKIP:
	{
		Test::More::skip('no pg_buffercache', 1) if !create_extension($node, 'pg_buffercache');
		Test::More::ok($node->poll_query_until(
				'postgres',
				"SELECT count(*) = 0 FROM pg_buffercache WHERE pinning_backends > 0 AND relfilenode IN (SELECT pg_relation_filenode(oid) FROM pg_class WHERE relnamespace = 'public'::regnamespace)"),
			'no pin is left');
	}
}

1;
