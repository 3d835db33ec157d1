
# Copyright (c) 2026, streamstat contributors

# Damaged pages of GiST, SP-GiST and bloom indexes: they are counted, and the others as
# if nothing were.  What is unusual, but in order, is not counted as damage.
#
# Each case has an index of its own.  All are damaged in one go while the server
# is down, without checksums.

use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Utils;
use Test::More;

use lib "$FindBin::RealBin/lib";
use Node;
use Pages;
use Session;

# Offsets in the special space, 16 and 8 bytes, and in the metapage
# (access/gist.h, access/spgist_private.h, contrib/bloom/bloom.h)
use constant {
	GIST_FLAGS => BLCKSZ - 4,
	GIST_ID => BLCKSZ - 2,
	SPGIST_FLAGS => BLCKSZ - 8,
	SPGIST_ID => BLCKSZ - 2,
	SPGIST_MAGIC => 24,
	BLOOM_TUPLES => BLCKSZ - 8,
	BLOOM_FLAGS => BLCKSZ - 6,
	BLOOM_ID => BLCKSZ - 2,
	BLOOM_MAGIC => 24,
	BLOOM_LIST_START => 28,
	BLOOM_LIST_END => 30,
	BLOOM_WORDS => 36,
};

# GiST's flags
use constant {
	GIST_LEAF => 1,
	GIST_DELETED => 2,
	TUPLES_DELETED => 4,
	FOLLOW_RIGHT => 8,
	HAS_GARBAGE => 16,
};

# SP-GiST's flags
use constant {
	META => 1,
	DELETED => 2,
	LEAF => 4,
	NULLS => 8,
};

# Tuple states of SP-GiST, and the column that counts each
my @state_columns = qw(live_items redirect_items dead_items placeholder_items);
my $little_endian = unpack('L', pack('L', 1)) == unpack('V', pack('L', 1));

# Offset, length and flags that line pointer number $n has
sub item_at
{
	my ($page, $n) = @_;
	my $item = unpack('L', substr($page, PD_LINP + 4 * ($n - 1), 4));

	return $little_endian
	  ? ($item & 0x7fff, $item >> 17, $item >> 15 & 3)
	  : ($item >> 17, $item & 0x7fff, $item >> 15 & 3);
}

# The state of tuple number $n, in the first two bits
sub state_of
{
	my ($page, $n) = @_;
	my $byte = ord(substr($page, (item_at($page, $n))[0], 1));

	return $little_endian ? $byte & 3 : $byte >> 6;
}

sub with_state
{
	my ($page, $n, $state) = @_;
	my ($offset) = item_at($page, $n);
	my $byte = ord(substr($page, $offset, 1));

	substr($page, $offset, 1) =
	  chr($little_endian ? $byte & ~3 | $state : $byte & 0x3f | $state << 6);
	return $page;
}

# What kind of page it is, and what else it adds to the statistics
my %kind_of = (
	gist => sub {
		my ($page, $blkno) = @_;
		my $flags = get16($page, GIST_FLAGS);
		my %adds = (live_items => 0, dead_items => 0);

		return 'deleted_pages' if $flags & GIST_DELETED;
		return 'internal_pages' if !($flags & GIST_LEAF);
		$adds{ (item_at($page, $_))[2] == 3 ? 'dead_items' : 'live_items' }++
		  foreach (1 .. items($page));
		return ('leaf_pages', %adds);
	},
	spgist => sub {
		my ($page, $blkno) = @_;
		my $flags = get16($page, SPGIST_FLAGS);
		my %adds = (map { $_ => 0 } @state_columns);

		return 'meta' if $blkno == 0;
		$adds{ $state_columns[ state_of($page, $_) ] }++
		  foreach (1 .. items($page));
		$adds{nulls_pages} = 1 if $flags & NULLS;
		return ('leaf_pages', %adds) if $flags & LEAF;
		$adds{live_items} = 0;
		return ('inner_pages', %adds);
	},
	bloom => sub {
		my ($page, $blkno) = @_;
		my $flags = get16($page, BLOOM_FLAGS);

		return $flags == 1 ? 'meta' : $flags == 2 ? 'deleted_pages'
		  : ('leaf_pages', live_items => get16($page, BLOOM_TUPLES));
	});

# ---------------------------------------------------------------------------
# What is damaged, and how.  A case is an index of a kind, the kind of the page
# (the last one of it with three items is taken) or a block, and a sub that
# makes the page another one.  What is to be seen then is a corrupt page instead
# of that one, unless the case says what that page adds instead: all that it did
# if it says nothing.

my @cases;

sub add_case
{
	my ($method, $which, $damage, $change, $instead) = @_;

	push @cases,
	  {
		name => "${method}_${which}_$damage",
		method => $method,
		which => $which,
		change => $change,
		instead => $instead // { corrupt_pages => 1 },
	  };
}

# One item of a page is counted in another column.
sub moved
{
	my ($from, $to) = @_;

	return sub {
		my %adds = @_;
		$adds{$from}-- if $from;
		$adds{$to}++;
		return \%adds;
	};
}

my $zeros = sub { "\0" x BLCKSZ };
my %header = (
	random => sub { random_page() },
	checked_flags => set16(PD_FLAGS, 0x8000),
	upper_low => set16(PD_UPPER, 16),
	upper_high => set16(PD_UPPER, BLCKSZ - 4),
	lower_low => set16(PD_LOWER, 3),
	lower_high => set16(PD_LOWER, BLCKSZ - 2),
	special_low => set16(PD_SPECIAL, BLCKSZ - 24),
	special_high => set16(PD_SPECIAL, BLCKSZ),
	pagesize => set16(PD_PAGESIZE, 0x1003));
my %items = (
	item_beyond => set_item(BLCKSZ - 24, 200),
	item_far => set_item(32760, 32767),
	item_header => set_item(16, 16),
	item_long => set_item(8100, 32767),
	item_none => set_item(0, 0, 0));

foreach my $pages (
	[ 'gist', 'leaf_pages', %header, %items ],
	[ 'gist', 'internal_pages', %items ],
	[ 'gist', 'deleted_pages', %header ],
	[ 'spgist', 'leaf_pages', %header, %items ],
	[ 'spgist', 'inner_pages', %items ],
	[ 'spgist', '2', %items ],
	[ 'bloom', 'leaf_pages', %header ],
	[ 'bloom', 'deleted_pages', %header ])
{
	my ($method, $which, %changes) = @$pages;

	add_case($method, $which, $_, $changes{$_}) foreach (sort keys %changes);

	# the first internal page of a GiST index is its root, in block 0
	add_case($method, $which, 'zeroed', $zeros, { new_pages => 1 }) if "$method $which" ne 'gist internal_pages';
}

# GiST: flags and identifiers that no page has
my $n = 0;
add_case('gist', 'leaf_pages', 'flags_' . $n++, set16(GIST_FLAGS, $_))
  foreach (0x20 | GIST_LEAF, 0x8000, 0xffff);
add_case('gist', 'leaf_pages', 'id', set16(GIST_ID, 0xff82));
add_case('gist', 'leaf_pages', 'deleted_with_items',
	set16(GIST_FLAGS, GIST_LEAF | GIST_DELETED));
add_case('gist', 'deleted_pages', 'in_use', set16(GIST_FLAGS, GIST_LEAF));
add_case('gist', 'deleted_pages', 'lower', set16(PD_LOWER, 28));
add_case('gist', '0', 'deleted',
	sub { with16(with16($_[0], PD_LOWER, 32), GIST_FLAGS, GIST_DELETED) });
add_case('gist', '0', 'random', $header{random});
add_case('gist', '0', 'zeroed', $zeros);

# GiST: unusual pages.  Splits that a crash has cut off, old flags, pages that
# an old release has deleted, and a tuple marked dead
add_case('gist', 'leaf_pages', 'split',
	set16(GIST_FLAGS, GIST_LEAF | FOLLOW_RIGHT), {});
add_case('gist', 'internal_pages', 'split', set16(GIST_FLAGS, FOLLOW_RIGHT), {});
add_case('gist', 'leaf_pages', 'garbage',
	set16(GIST_FLAGS, GIST_LEAF | HAS_GARBAGE | TUPLES_DELETED), {});
add_case('gist', 'deleted_pages', 'old', set16(PD_LOWER, 24), {});
add_case('gist', 'leaf_pages', 'item_dead',
	sub { with_item($_[0], 2, (item_at($_[0], 2))[ 0, 1 ], 3) },
	moved('live_items', 'dead_items'));
add_case('gist', 'leaf_pages', 'emptied',
	sub { with16($_[0], PD_LOWER, PD_LINP) }, { leaf_pages => 1 });

# SP-GiST: flags and identifiers; roots of the wrong tree; the metapage
$n = 0;
add_case('spgist', 'leaf_pages', 'flags_' . $n++, set16(SPGIST_FLAGS, $_))
  foreach (META, LEAF | META, LEAF | 0x10, 0xffff);
add_case('spgist', 'leaf_pages', 'id', set16(SPGIST_ID, 0xff81));
add_case('spgist', '1', 'nulls',
	sub { with16($_[0], SPGIST_FLAGS, get16($_[0], SPGIST_FLAGS) | NULLS) });
add_case('spgist', '1', 'deleted', set16(SPGIST_FLAGS, DELETED));
add_case('spgist', '2', 'no_nulls',
	sub { with16($_[0], SPGIST_FLAGS, get16($_[0], SPGIST_FLAGS) & ~NULLS) });
add_case('spgist', '2', 'deleted', set16(SPGIST_FLAGS, DELETED | NULLS));
add_case('spgist', '0', 'zeroed', $zeros);
add_case('spgist', '0', 'random', $header{random});
add_case('spgist', '0', 'magic', set16(SPGIST_MAGIC, 1));
add_case('spgist', '0', 'flags', set16(SPGIST_FLAGS, LEAF));
add_case('spgist', '0', 'flags_more', set16(SPGIST_FLAGS, META | NULLS));

# SP-GiST: line pointers that its pages never have, and tuples of other states
foreach my $which ('leaf_pages', 'inner_pages')
{
	foreach my $flags (0, 2, 3)
	{
		add_case('spgist', $which, "item_flags_$flags", sub {
			with_item($_[0], 2, (item_at($_[0], 2))[ 0, 1 ], $flags)
		});
	}
	add_case('spgist', $which, 'item_short',
		sub { with_item($_[0], 2, (item_at($_[0], 2))[0], 12) });
	foreach my $state (1, 2, 3)
	{
		add_case('spgist', $which, "state_$state", sub {
			my ($page) = @_;
			my ($live) = grep { state_of($page, $_) == 0 } 1 .. items($page);
			return with_state($page, $live, $state);
		}, moved($which eq 'leaf_pages' ? 'live_items' : undef, $state_columns[$state]));
	}
}
add_case('spgist', 'leaf_pages', 'deleted',
	set16(SPGIST_FLAGS, DELETED | LEAF), { deleted_pages => 1 });
# a tuple that is not aligned
add_case('spgist', 'leaf_pages', 'item_odd', sub {
	my ($page) = @_;
	my ($offset, $length) = item_at($page, 2);
	substr($page, $offset + 1, 1) = "\0";
	return with_state(with_item($page, 2, $offset + 1, $length - 1), 2, 0);
}, {});

# bloom: flags and identifiers, the number of tuples, which has to agree with their end, and
# TIDs; then the metapage
add_case('bloom', 'leaf_pages', "flags_$_", set16(BLOOM_FLAGS, $_)) foreach (1, 2, 3, 4);
add_case('bloom', 'leaf_pages', 'id', set16(BLOOM_ID, 0xff82));
add_case('bloom', 'leaf_pages', "tuples_$_", set16(BLOOM_TUPLES, $_)) foreach (0, 1, 3, 0xffff);
add_case('bloom', 'leaf_pages', 'lower_more', sub { with16($_[0], PD_LOWER, get16($_[0], PD_LOWER) + 2) });
add_case('bloom', 'leaf_pages', 'upper', set16(PD_UPPER, BLCKSZ - 16));
add_case('bloom', 'leaf_pages', 'tid_offset', set16(PD_LINP + 4, 0));
add_case('bloom', 'leaf_pages', 'tid_far', set16(PD_LINP + 4, 0x7fff));
add_case('bloom', 'leaf_pages', 'tid_block', set32(PD_LINP, 0xffffffff));
add_case('bloom', 'leaf_pages', 'emptied',
	sub { with16(with16($_[0], PD_LOWER, PD_LINP), BLOOM_TUPLES, 0) }, { leaf_pages => 1 });
add_case('bloom', 'deleted_pages', 'tuples', set16(BLOOM_TUPLES, 1));
add_case('bloom', 'deleted_pages', 'lower', set16(PD_LOWER, 28));
add_case('bloom', 'deleted_pages', 'in_use', set16(BLOOM_FLAGS, 0), { leaf_pages => 1 });
add_case('bloom', '0', 'zeroed', $zeros);
add_case('bloom', '0', 'random', $header{random});
add_case('bloom', '0', 'flags', set16(BLOOM_FLAGS, 0));
add_case('bloom', '0', "words_$_", set32(BLOOM_WORDS, $_)) foreach (0, 257, 0xffffffff);
add_case('bloom', '0', 'list_start', set16(BLOOM_LIST_START, 2004));
add_case('bloom', '0', 'list_end', set16(BLOOM_LIST_END, 2005));

# Indexes with some random bytes in every page
my @fuzzed = map { { name => "fuzzed_$_", method => s/_.*//r } }
  qw(gist_1 gist_2 gist_3 spgist_1 spgist_2 spgist_3 bloom_1 bloom_2 bloom_3);

# ---------------------------------------------------------------------------

my $node = new_node('damage_gist_spgist', q(
wal_level = minimal
max_wal_senders = 0
), checksums => 0);
my @methods = qw(gist spgist);
if (create_extension($node, 'bloom'))
{
	push @methods, 'bloom';
}
else
{
	@$_ = grep { $_->{method} ne 'bloom' } @$_ foreach (\@cases, \@fuzzed);
}

# Whole regions are deleted, so that VACUUM deletes pages of GiST and bloom; rows that come
# in after an SP-GiST index was built leave redirects.  Nulls have a leaf page.
my %definition = (
	gist => 'ON rows_gist USING gist (p)',
	spgist => 'ON rows_spgist USING spgist (t)',
	bloom => 'ON rows_bloom USING bloom (i)');
$node->safe_psql(
	'postgres', q(
CREATE TABLE rows_gist (p point);
INSERT INTO rows_gist SELECT point(i, i % 10) FROM generate_series(1, 3000) i;
CREATE TABLE rows_bloom AS SELECT i FROM generate_series(1, 4000) i;
CREATE TABLE rows_spgist (n int, t text);
INSERT INTO rows_spgist SELECT i, repeat(chr(97 + i % 10), i % 40) || i FROM generate_series(1, 1500) i;
INSERT INTO rows_spgist SELECT i FROM generate_series(1, 50) i;
)
	  . join('',
		map { "CREATE INDEX $_->{name} $definition{$_->{method}};\n" }
		  @cases, @fuzzed,
		map({ { name => "sound_$_", method => $_ } } @methods),
		map { { name => 'other_format', method => $_ } } grep { $_ eq 'bloom' } @methods)
	  . q(
INSERT INTO rows_spgist SELECT i, repeat(chr(97 + i % 10), i % 40) || i FROM generate_series(1501, 2500) i;
DELETE FROM rows_gist WHERE p <@ box '((500, 0), (2000, 10))';
DELETE FROM rows_spgist WHERE n % 5 = 0;
DELETE FROM rows_bloom WHERE i BETWEEN 500 AND 2000;
));
$node->safe_psql('postgres', "VACUUM $_") foreach (qw(rows_gist rows_spgist rows_bloom));
$node->safe_psql('postgres', 'CHECKPOINT');
my %path = map { split /\|/ } split /\n/,
  $node->safe_psql('postgres',
	"SELECT relname, pg_relation_filepath(oid) FROM pg_class WHERE relkind = 'i' AND relnamespace = 'public'::regnamespace"
  );

my $session = Session->new($node);

# An index's statistics as a hash
sub stats
{
	my ($name, $method) = @_;
	my $answer = $session->query(
		"SELECT key, value FROM streamstat.${method}_stats('$name') s, json_each_text(row_to_json(s))"
	);

	return { error => $session->{err} } if $session->{err} =~ /ERROR:/;
	return { map { (split /\|/, $_, 2)[ 0, 1 ] } split /\n/, $answer };
}

# What the statistics must be is known of these columns.
sub compared
{
	my ($stats) = @_;
	my %compared = %$stats;

	delete @compared{ grep { /density|free_bytes|signature|nonfull/ } keys %compared };
	return \%compared;
}

my %sound;
foreach my $method (@methods)
{
	my %pages = (map { $_->{which} => 1 }
		  grep { $_->{method} eq $method && $_->{which} =~ /pages/ } @cases);

	$sound{$method} = stats("sound_$method", $method);
	is(join(' ', grep { !$sound{$method}{$_} } sort keys %pages),
		'', "the $method index has pages of each kind");
}

# What a page adds to the statistics
sub adds
{
	my ($method, $page, $blkno) = @_;
	my ($pages, %adds) = $kind_of{$method}->($page, $blkno);

	$adds{$pages} = 1 if $pages ne 'meta';
	return ($pages, %adds);
}

# Damage a case's page, and note down what is to be seen then.
sub damage
{
	my ($case) = @_;
	my ($method, $which) = @$case{qw(method which)};
	my $file = $node->data_dir . "/$path{$case->{name}}";
	my @blocks = read_blocks($file);
	my ($blkno) = $which =~ /^\d+$/ ? $which : grep {
		(adds($method, $blocks[$_], $_))[0] eq $which &&
		  ($which eq 'deleted_pages' || items($blocks[$_]) > 2)
	} reverse 0 .. $#blocks;
	my ($pages, %adds) = adds($method, $blocks[$blkno], $blkno);
	my $instead = $case->{instead};
	my %expected = (map { $_ => 0 } keys %{ $sound{$method} });

	# what the index had: what all its pages add
	foreach my $other (0 .. $#blocks)
	{
		my ($kind, %others) = adds($method, $blocks[$other], $other);
		$expected{$_} += $others{$_} foreach (keys %others);
	}
	$expected{bytes} = @blocks * BLCKSZ;
	$expected{pages} = @blocks;
	$expected{$_} = '' foreach (qw(first_new_block first_corrupt_block));

	$instead = \%adds if ref $instead eq 'HASH' && !%$instead;
	$instead = $instead->(%adds) if ref $instead eq 'CODE';
	$expected{$_} -= $adds{$_} foreach (keys %adds);
	$expected{$_} += $instead->{$_} foreach (keys %$instead);
	foreach my $class (qw(new corrupt))
	{
		$expected{"first_${class}_block"} = $blkno if $instead->{"${class}_pages"};
	}
	$case->{expected} = \%expected;

	my $page = $case->{change}->($blocks[$blkno]);
	isnt($page, $blocks[$blkno], "$case->{name}: page is changed");
	write_block($file, $blkno, $page);
}

# A sample of all blocks finds the same, and tells where the damage is.
sub check_sample
{
	my ($name, $stats) = @_;
	my %sample = map { split /\|/, $_, 2 } split /\n/,
	  $session->query("SELECT statistic, estimate FROM streamstat.sample_stats('$name', 1000000)");
	my @different = grep { $sample{$_} != $stats->{$_} }
	  grep { !/density|free_bytes/ } keys %sample;
	my ($block) = $session->{err} =~ /first corrupt page in sample of relation "$name" is block (\d+)/;

	is("@different", '', "$name: sample");
	is($block // '', $stats->{first_corrupt_block}, "$name: warning of sample");
}

sub check_case
{
	my ($case) = @_;
	my ($name, $expected) = @$case{qw(name expected)};

	is_deeply(compared(stats($name, $case->{method})),
		compared($expected), "$name: statistics");
	check_sample($name, $expected);
}

sub check_fuzzed
{
	my ($index) = @_;
	my ($name, $method) = @$index{qw(name method)};
	my $stats = stats($name, $method);
	my $pages = 0;

	is($stats->{error}, undef, "$name: no error");
	$pages += $stats->{$_}
	  foreach (grep { /_pages$/ && !/^(?:nulls|nonfull)_pages/ } keys %$stats);
	# the metapage is counted when it is damaged only
	$pages++
	  if $method ne 'gist' && $stats->{first_corrupt_block} ne '0';
	is($pages, $index->{blocks}, "$name: each page counted once");
	cmp_ok($stats->{corrupt_pages}, '>', 0, "$name: corrupt pages");
	check_sample($name, $stats);
}

$session->end;
$node->stop;
damage($_) foreach (@cases);
if (my $path = $path{other_format})
{
	my $file = $node->data_dir . "/$path";

	write_block($file, 0, with32(read_block($file, 0), BLOOM_MAGIC, 0xDBAC0DEE));
}
$_->{blocks} = fuzz_file($node->data_dir . "/$path{$_->{name}}") foreach (@fuzzed);
my %image = map { $_->{name} => join '', read_blocks($node->data_dir . "/$path{$_->{name}}") } @cases, @fuzzed;
$node->start;
$session = Session->new($node);

foreach my $case (@cases)
{
	subtest $case->{name} => sub { check_case($case) };
}
foreach my $index (@fuzzed)
{
	subtest $index->{name} => sub { check_fuzzed($index) };
}
foreach my $method (@methods)
{
	is_deeply(stats("sound_$method", $method), $sound{$method}, "sound $method index");
}

# An index of another format is refused.
SKIP:
{
	skip 'no bloom index', 2 if !$path{other_format};
	is($session->query("SELECT concat(predicted_bytes, note) FROM streamstat.bloat('other_format')"),
		'unknown format: the metapage has another magic or version number', 'another format: bloat');
	$session->query("SELECT streamstat.bloom_stats('other_format')");
	like($session->{err}, qr/0A000: cannot read index "other_format"/, 'another format: bloom_stats');
}

$node->safe_psql('postgres', 'CHECKPOINT');
$session->end;
$node->stop;
is( join(' ', grep { $image{$_} ne join '', read_blocks($node->data_dir . "/$path{$_}") } sort keys %image),
	'', 'files are as they were');stop_clean($node);
done_testing();
