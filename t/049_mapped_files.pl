
# Copyright (c) 2026, streamstat contributors

# Of pages in the page cache only what is needed is copied, from a mapping of the
# file.  The results are those of whole pages, for every kind of relation and
# whatever happens to the mapping: nothing of the file in the page cache after all,
# the file cut, mappings refused, or a file system with a cache of its own.  By default, the
# mapping is left where reading is faster.

use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Utils;
use Test::More;

use lib "$FindBin::RealBin/lib";
use Container;
use Faults;
use Node;
use PageCache;
use Pages;
use Session;

plan skip_all => 'this is not Linux' if $^O ne 'linux';

foreach my $checksums (0, 1)
{
	my $with = $checksums ? 'with checksums' : 'without checksums';
	my $faults;
	my $node = new_node("mapped_$checksums", q(
shared_buffers = 1MB
autovacuum = off
max_parallel_maintenance_workers = 0
jit = off
streamstat.map_files = on
), checksums => $checksums, start => sub {
			$faults = Faults->new($_[0]);
			plan skip_all => 'no C compiler for test/faults' if !$faults;
			$faults->start($_[0]);
		});
	my $session = Session->new($node);

	$session->query(<<'SQL');
CREATE TABLE fresh AS SELECT i AS k, repeat('x', i % 50) AS s FROM generate_series(1, 60000) i;
CREATE INDEX fresh_int ON fresh (k);
CREATE INDEX fresh_text ON fresh (s, k);
CREATE INDEX fresh_wide ON fresh (s, k) WITH (fillfactor = 20);
CREATE INDEX fresh_hash ON fresh USING hash (k);
CREATE INDEX fresh_gist ON fresh USING gist (point(k, k % 100));
CREATE INDEX fresh_spgist ON fresh USING spgist (point(k, k % 100));
CREATE INDEX fresh_gin ON fresh USING gin ((ARRAY[k % 5000, k]));
CREATE INDEX fresh_dup ON fresh ((k % 10));
CREATE TABLE visible AS TABLE fresh;
VACUUM (FREEZE) visible;
CREATE TABLE mixed AS TABLE fresh;
VACUUM (FREEZE) mixed;
DELETE FROM mixed WHERE k BETWEEN 20000 AND 21000 OR k % 7000 = 0;
CREATE UNLOGGED TABLE unlogged AS TABLE fresh;
CREATE INDEX unlogged_int ON unlogged (k);
DELETE FROM fresh WHERE k % 3 = 0;
CREATE TABLE filler AS SELECT i, repeat('x', 1000) FROM generate_series(1, 2000) i;
SELECT count(*) FROM fresh;
CHECKPOINT;
SELECT streamstat.pg_prewarm('filler');
SQL

	# call => least part of the blocks that are mapped
	my %calls = (
		"btree_stats('fresh_int')" => 0.8,
		"btree_stats('fresh_text')" => 0,
		"btree_stats('fresh_wide')" => 0.8,
		"btree_stats('fresh_dup')" => 0,
		"pgstatindex('fresh_int')" => 0.8,
		"pgstatindex('fresh_text')" => 0.8,
		"pgstattuple('fresh_int')" => 0.8,
		"hash_stats('fresh_hash')" => 0.8,
		"pgstathashindex('fresh_hash')" => 0.8,
		"pgstattuple('fresh_hash')" => 0.8,
		"gist_stats('fresh_gist')" => 0.8,
		"pgstattuple('fresh_gist')" => 0.8,
		"spgist_stats('fresh_spgist')" => 0,
		"gin_stats('fresh_gin')" => 0,
		"table_stats('visible')" => 0.8,
		"pgstattuple('visible')" => 0.8,
		"table_stats('mixed')" => 0.2,
		"pgstattuple('mixed')" => 0.2,
		"table_stats('fresh')" => 0,
		"btree_stats('unlogged_int')" => 0,
		"table_stats('unlogged')" => 0);
	my $mapped = sub {
		return $session->query('SELECT blocks_mapped::float8 / blocks_requested FROM streamstat.stream_stats()');
	};

	# A call that maps so much, at least
	my $call_mapped = sub {
		my ($call, $least) = @_;
		my $answer;

		cached($session, "$with: $call", sub {
			$answer = $session->query("SELECT * FROM streamstat.$call");
			return $mapped->() >= $least;
		}) or fail("$with: $call: of mapped pages");
		return $answer;
	};
	my %expected;

	foreach my $call (sort keys %calls)
	{
		$session->query('SET streamstat.io_path = buffer');
		$expected{$call} = $session->query("SELECT * FROM streamstat.$call");
		$session->query("SET streamstat.io_path = file; SELECT streamstat.pg_prewarm('filler')");
		is($call_mapped->($call, $calls{$call}), $expected{$call}, "$with: $call");
		cmp_ok($mapped->(), '>=', $calls{$call}, "$with: $call: of mapped pages");
		is($mapped->(), 0, "$with: $call: of no mapped pages")
		  if $call =~ /unlogged|spgist|gin_/;

		$session->query('SET streamstat.map_files = off');
		is($session->query("SELECT * FROM streamstat.$call"), $expected{$call},
			"$with: $call: with map_files off");
		is($mapped->(), 0, "$with: $call: nothing is mapped");
		$session->query('RESET streamstat.map_files');
	}

	# -----------------------------------------------------------------------
	# What can go wrong

	my $call = "btree_stats('fresh_int')";
	my $path = file_of($node, 'fresh_int');
	my $after = sub {
		my ($what) = @_;

		$faults->clear;
		is($call_mapped->($call, 0.81), $expected{$call}, "$with: after that: $what");
		cmp_ok($mapped->(), '>', 0.8, "$with: and it maps again: $what");
	};

	# The special space begins within the page header, which the server lets pass where
	# it has no checksums, or beyond the page.
	my $page = read_block($path, 21);
	foreach my $special (8, 16, 32768)
	{
		my @answers;

		write_block($path, 21, with16(with16(with16($page, PD_LOWER, 0), PD_UPPER, 8), PD_SPECIAL, $special));
		foreach my $way ('buffer', 'file; SET streamstat.map_files = off', 'file; RESET streamstat.map_files')
		{
			$session->query("SET streamstat.io_path = file; SELECT streamstat.pg_prewarm('filler'); SET streamstat.io_path = $way");
			push @answers, $call_mapped->($call, $way =~ /RESET/ ? 0.81 : 0);
		}
		cmp_ok($mapped->(), '>', 0.8, "$with: pd_special $special: mapped");
		isnt($answers[0], $expected{$call}, "$with: pd_special $special: it matters");
		is($answers[$_], $answers[0], "$with: pd_special $special: from the file") foreach 1 .. 2;
	}
	write_block($path, 21, $page);
	$session->query("SELECT streamstat.pg_prewarm('filler')");

	$faults->set(file => $path, maps => 'refused');
	is($session->query("SELECT * FROM streamstat.$call"), $expected{$call}, "$with: no mapping");
	is($mapped->(), 0, "$with: no mapping: none");
	# mincore(2), without cachestat(2), needs mappings as well
	cmp_ok($faults->clear, has_cachestat($path) ? '==' : '>=', 1, "$with: no mapping: it is tried once");
	$after->('no mapping');

	$faults->set(no_cachestat => 1);
	is($call_mapped->($call, 0.81), $expected{$call}, "$with: no cachestat");
	cmp_ok($mapped->(), '>', 0.8, "$with: no cachestat, but mincore");
	$after->('no cachestat');

  SKIP:
	{
		skip 'this kernel has no cachestat', 1
		  if $session->query('SELECT sum(page_cache_percent) > 0 FROM streamstat.layout_map(\'fresh_int\')') ne 't'
		  || !has_cachestat($path);

		$faults->set(file => $path, maps => 'unseen');
		is($session->query("SELECT * FROM streamstat.$call"), $expected{$call}, "$with: unseen");
		is($mapped->(), 0, "$with: unseen: nothing is mapped");
		$after->('unseen');

		$faults->set(file => $path, maps => 'dropped');
		is($session->query("SELECT * FROM streamstat.$call"), $expected{$call}, "$with: dropped");
		cmp_ok($mapped->(), '>', 0.8, "$with: dropped: read through the mapping");
		cmp_ok($faults->clear, '>=', 4, "$with: it was dropped");
		$after->('dropped');

		# The faster way is taken, after a trial.
		my $wide = "btree_stats('fresh_wide')";
		my %late = (
			'nothing' => [],
			'what is mapped' => [ maps => 'late' ],
			'what is read' => [ reads => 'copied_late', to => 1 << 40 ]);

		$session->query('SET streamstat.map_files = auto');
		foreach my $what (sort keys %late)
		{
			$faults->set(file => file_of($node, 'fresh_wide'), most => 3, @{ $late{$what} });
			is($call_mapped->($wide, 0.01), $expected{$wide}, "$with: late: $what");
			cmp_ok($mapped->(), '>', $what eq 'what is read' ? 0.7 : 0.01, "$with: late: $what: mapped at least");
			cmp_ok($mapped->(), '<', $what eq 'what is mapped' ? 0.3 : 0.98, "$with: late: $what: mapped at most");
			cmp_ok($faults->clear, '>=', 2, "$with: late: $what: more than once") if @{ $late{$what} };
		}
		$session->query('RESET streamstat.map_files');

		# SIGBUS
		my $content = slurp_file($path);
		foreach my $block (0, 20, 40)
		{
			foreach my $strict (0, 1)
			{
				my $function = $strict ? "pgstatindex('fresh_int')" : $call;

				$faults->set(file => $path, maps => 'cut', from => $block * BLCKSZ + 100);
				my $answer = $session->query("SELECT * FROM streamstat.$function");
				cmp_ok($faults->clear, '>=', 1, "$with: cut at block $block: it was");
				like($session->{err},
					qr/could not read block(?:s)? $block(?:\.\.\d+)? in file .*: read only \d+ of \d+ bytes/,
					"$with: cut at block $block: $function: an error with file and block");
				is($answer, '', "$with: cut at block $block: no row");

				open(my $fh, '+<:raw', $path) or die;
				syswrite($fh, $content) == length($content) or die;
				close $fh;
				is( $session->query("SELECT * FROM streamstat.$call"), $expected{$call},
					"$with: the same session, with the file as it was");
			}
		}
		unlike(slurp_file("/proc/$session->{pid}/maps"), qr/\Q@{[ $path =~ m,(\/\d+\/\d+)$, ]}\E$/m,
			"$with: nothing stays mapped");
	}

	$session->end;
	stop_clean($node);
}

done_testing();

# Does cachestat(2) work here?  The kernel's version does not tell: emulators and seccomp
# filters refuse the call.
sub has_cachestat
{
	my ($path) = @_;
	my $range = pack('QQ', 0, BLCKSZ);
	my $found = "\0" x 40;

	open(my $fh, '<', $path) or die;
	return known_machine()
	  && syscall(system_call('cachestat'), fileno($fh), $range, $found, 0) == 0;
}
