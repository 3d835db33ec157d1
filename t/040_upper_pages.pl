
# Copyright (c) 2026, streamstat contributors

# prewarm(..., only_upper => true) brings in the metapage, the root and the inner pages of
# b-trees, and nothing else, of shallow and deep trees, also of those that are only in
# buffers so far.  Damaged downlinks lead to no error, no endless loop and no page that is
# not there.

use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Utils;
use Test::More;

use lib "$FindBin::RealBin/lib";
use Node;
use Pages;
use Session;

# In the special space of a page: level and flags (access/nbtree.h)
use constant {
	LEVEL => BLCKSZ - 8,
	FLAGS => BLCKSZ - 4,
	LEAF => 1,
	DELETED => 4,
	META => 8,
	HALF_DEAD => 16,
	ROOT => PD_LINP + 8,	# in the metapage
	ROOT_LEVEL => PD_LINP + 12
};

my $node = new_node('upper', "shared_buffers = 64MB\nmax_wal_size = 1GB", checksums => 0);

sub sql
{
	my ($query) = @_;

	return $node->safe_psql('postgres', $query);
}

sql(<<'SQL');
CREATE TABLE t (id int, long text, wide text);
ALTER TABLE t ALTER long SET STORAGE plain;
INSERT INTO t SELECT g, CASE WHEN g <= 1000 THEN (SELECT string_agg(md5(g::text || x), '') FROM generate_series(1, 79) x) END, md5(g::text)
	FROM generate_series(1, 30000) g;
CREATE INDEX deep ON t (long) WHERE long IS NOT NULL;
CREATE INDEX numbers ON t (id);
CREATE INDEX scattered ON t (wide) WITH (fillfactor = 50);
INSERT INTO t SELECT g, NULL, md5(g::text) FROM generate_series(30001, 40000) g;
DELETE FROM t WHERE id BETWEEN 5000 AND 15000;
VACUUM t;
CREATE INDEX one_page ON t (id) WHERE id < 10;
CREATE INDEX no_page ON t (id) WHERE id < 0;
CREATE INDEX hash ON t USING hash (id);
CHECKPOINT;
SQL

my @indexes = qw(deep numbers scattered one_page no_page);
my %file = map { $_ => $node->data_dir . '/' . sql("SELECT pg_relation_filepath('$_')") } @indexes;
my %pages = map { $_ => [ read_blocks($file{$_}) ] } @indexes;

sub get32
{
	my ($page, $offset) = @_;

	return unpack('L', substr($page, $offset, 4));
}

# Blocks of an index that are a metapage, a root or an inner page
sub upper
{
	my ($index) = @_;
	my @pages = @{ $pages{$index} };
	my $root = get32($pages[0], ROOT);

	return grep {
		my $flags = get16($pages[$_], FLAGS);
		$_ == 0 || $_ == $root || !($flags & (LEAF | DELETED | META | HALF_DEAD))
	} 0 .. $#pages;
}

# The blocks that are cached, of each index of the list
sub cached
{
	return sql(sprintf q(SELECT string_agg(relation_name || ': ' || blocks, E'\n' ORDER BY relation_name)
		FROM (SELECT relation_name, string_agg(block::text, ' ' ORDER BY block) AS blocks
			FROM streamstat.cache_map(), generate_series(first_block, last_block) block
			WHERE relation_name IN ('%s') GROUP BY 1) x), join("', '", @_));
}

sub expected
{
	return join("\n", map { "$_: " . join(' ', upper($_)) } sort @_);
}

# --- which pages

my $levels = get32($pages{deep}[0], ROOT_LEVEL);
cmp_ok($levels, '>', 3, 'a deep tree');
is(get32($pages{one_page}[0], ROOT_LEVEL), 0, 'a root that is a leaf');
is(scalar(@{ $pages{no_page} }), 1, 'a tree without a root');
cmp_ok(scalar(grep { get16($_, FLAGS) & DELETED } @{ $pages{numbers} }), '>', 10, 'deleted pages');

$node->restart;
is( sql("SELECT string_agg(relation_name || ' ' || blocks_requested || coalesce(' ' || note, ''), ', ' ORDER BY relation_name)
		FROM streamstat.prewarm('t', only_upper => true, include_toast => false) WHERE kind = 'index' AND relation_name <> 'hash'"),
	join(', ', map { "$_ " . upper($_) } sort @indexes), 'as many pages as there are');
is(cached(@indexes), expected(@indexes), '... and just those');
is( sql("SELECT sum(blocks_requested) = sum(blocks_cached) FROM streamstat.prewarm('t', only_upper => true, include_toast => false)"),
	't', 'they are cached then');

$node->restart;
is( sql("SELECT blocks_requested, blocks_cached + blocks_read FROM streamstat.prewarm('deep', 'prefetch', only_upper => true) WHERE is_sum"),
	join('|', (scalar(upper('deep'))) x 2), 'into the page cache');
is(cached('deep'), '', '... reads no buffer');

# A tree that grows is new in buffers: the file has zeros, or what was there before.
sql('CREATE TABLE fresh (long text); ALTER TABLE fresh ALTER long SET STORAGE plain; CREATE INDEX fresh_long ON fresh (long)');
sql('CHECKPOINT');
is( sql(q(
INSERT INTO fresh SELECT long FROM t WHERE long IS NOT NULL;
SELECT s.internal_pages > 100, s.internal_pages + 1 - p.blocks_requested FROM streamstat.index_stats('fresh_long') i, streamstat.btree_stats('fresh_long') s,
	streamstat.prewarm('fresh_long', only_upper => true) p WHERE p.is_sum)),
	't|0', 'pages that were not written yet');

# --- in the way

my $session = Session->new($node);
$session->query('BEGIN; DROP INDEX numbers');
is( sql("SELECT string_agg(relation_name || coalesce(' ' || note, ''), ', ' ORDER BY relation_name)
		FROM streamstat.prewarm('t', only_upper => true, include_toast => false) WHERE kind = 'index' AND relation_name IN ('deep', 'numbers')"),
	'deep, numbers locked by another session', 'an index that is locked') || note($session->{err});
$session->query('ROLLBACK');
$session->end;

# --- damage

my @good = @{ $pages{deep} };
my $root = get32($good[0], ROOT);
my ($leaf) = grep { get16($good[$_], FLAGS) & LEAF } 1 .. $#good;
my ($inner) = grep { get32($good[$_], LEVEL) == 2 } 1 .. $#good;
my $beyond = @good + 5;

# A page with another downlink in an item: the block number is in two halves.
sub with_downlink
{
	my ($page, $n, $blkno) = @_;
	my $offset = get32($page, PD_LINP + 4 * ($n - 1)) & 0x7fff;

	return with16(with16($page, $offset, $blkno >> 16), $offset + 2, $blkno & 0xffff);
}

# Which blocks are brought in when some pages are others
sub brought_in
{
	my ($name, %changed) = @_;

	$node->stop;
	write_block($file{deep}, $_, $changed{$_}) foreach keys %changed;
	$node->start;
	sql("SET statement_timeout = '2min'; SELECT count(*) FROM streamstat.prewarm('deep', only_upper => true)");
	my %is = map { $_ => 1 } cached('deep') =~ /(\d+)\b(?!:)/g;
	$node->stop;
	write_block($file{deep}, $_, $good[$_]) foreach keys %changed;
	$node->start;
	return \%is;
}

my %all = map { $_ => 1 } upper('deep');
my %is;

%is = %{ brought_in('none') };
is_deeply(\%is, \%all, 'undamaged');
%is = %{ brought_in('itself', $root => with_downlink($good[$root], 1, $root)) };
ok(!(grep { !$all{$_} } keys %is) && $is{$root} && keys %is > 10 && keys %is < keys %all, 'a downlink to the page itself');
%is = %{ brought_in('beyond', $root => with_downlink($good[$root], 1, $beyond)) };
ok(!(grep { !$all{$_} } keys %is) && keys %is > 10 && keys %is < keys %all, 'a downlink beyond the end');
%is = %{ brought_in('leaf', $root => with_downlink($good[$root], 1, $leaf)) };
is(join(' ', grep { !$all{$_} } keys %is), $leaf, 'a downlink to a leaf leads no further');
%is = %{ brought_in('level', $inner => with32($good[$inner], LEVEL, $levels)) };
ok(!(grep { !$all{$_} } keys %is) && keys %is < keys %all, 'a page of another level');
%is = %{ brought_in('zeros', $inner => "\0" x BLCKSZ) };
ok(!(grep { !$all{$_} } keys %is) && keys %is < keys %all, 'a page of zeros');
%is = %{ brought_in('random', $root => random_page()) };
is_deeply([ sort keys %is ], [0], 'a root that makes no sense');
%is = %{ brought_in('meta', 0 => with32($good[0], ROOT, $beyond)) };
is_deeply([ sort keys %is ], [0], 'a metapage whose root is beyond the end');
%is = %{ brought_in('level', 0 => with32($good[0], ROOT_LEVEL, 1000)) };
is_deeply([ sort keys %is ], [0], 'a metapage with a level that cannot be');

foreach my $try (1 .. 3)
{
	$node->stop;
	fuzz_file($file{deep});
	$node->start;
	is( sql("SET statement_timeout = '2min'; SELECT sum(blocks_requested) <= max(blocks_total) FROM streamstat.prewarm('deep', only_upper => true) WHERE NOT is_sum"),
		't', "random bytes $try");
	write_block($file{deep}, $_, $good[$_]) foreach 0 .. $#good;
}

stop_clean($node);
done_testing();
