
# Copyright (c) 2026, streamstat contributors

# Damaged pages of GIN and BRIN indexes: they are counted, and the others as if
# nothing were.  What is unusual, but in order, is not counted as damage.
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

# Offsets in the special space, 8 bytes, and in metapages (access/ginblock.h,
# access/brin_page.h)
use constant {
	GIN_MAXOFF => BLCKSZ - 4,
	GIN_FLAGS => BLCKSZ - 2,
	GIN_TAIL => 24 + 4,
	GIN_PENDING_PAGES => 24 + 12,
	GIN_VERSION => 24 + 48,
	POSTING_DATA => 32,
	BRIN_FLAGS => BLCKSZ - 4,
	BRIN_TYPE => BLCKSZ - 2,
	BRIN_MAGIC => 24,
	BRIN_VERSION => 28,
	BRIN_PAGES_PER_RANGE => 32,
};

# GIN's flags
use constant {
	DATA => 1,
	LEAF => 2,
	DELETED => 4,
	META => 8,
	LIST => 16,
	INCOMPLETE_SPLIT => 64,
	COMPRESSED => 128,
};

# Where the posting lists of a page begin, by their length words; then its end
sub posting_lists
{
	my ($page) = @_;
	my @lists = (POSTING_DATA);

	while ($lists[-1] < get16($page, PD_LOWER))
	{
		my $nbytes = get16($page, $lists[-1] + 6);
		push @lists, $lists[-1] + 8 + $nbytes + $nbytes % 2;
	}
	return @lists;
}

sub posting_items
{
	my ($page) = @_;
	my @lists = posting_lists($page);
	my $tids = 0;

	pop @lists;
	foreach my $list (@lists)
	{
		my $bytes = substr($page, $list + 8, get16($page, $list + 6));
		$tids += 1 + ($bytes =~ tr/\x00-\x7f//);
	}
	return $tids;
}

# What kind of page it is, and what else it adds to the statistics
my %kind_of = (
	gin => sub {
		my ($page, $blkno) = @_;
		my $flags = get16($page, GIN_FLAGS);

		return 'meta' if $blkno == 0;
		return 'deleted_pages' if $flags & DELETED;
		return ('pending_list_pages', pending_items => items($page))
		  if $flags & LIST;
		return ('posting_leaf_pages', posting_items => posting_items($page))
		  if ($flags & (DATA | LEAF)) == (DATA | LEAF);
		return 'posting_internal_pages' if $flags & DATA;
		return ('entry_leaf_pages', entry_items => items($page))
		  if $flags & LEAF;
		return 'entry_internal_pages';
	},
	brin => sub {
		my ($page, $blkno) = @_;

		return 'meta' if $blkno == 0;
		return ('revmap_pages',
			summarized_ranges => scalar
			  grep { get16($page, 24 + 6 * $_ + 4) != 0 } 0 .. 1359)
		  if get16($page, BRIN_TYPE) == 0xf092;
		return ('regular_pages',
			live_items => scalar
			  grep { substr($page, 24 + 4 * $_, 4) ne "\0\0\0\0" }
			  0 .. items($page) - 1);
	});
my %meta_columns = (
	gin => [qw(version pending_pages pending_tuples)],
	brin => [qw(version pages_per_range ranges unsummarized_ranges)]);

# ---------------------------------------------------------------------------
# What is damaged, and how.  A case is an index of a kind, the kind of the page
# (the last one of it is taken), and a sub that makes the page another one; it
# gets the other pages, too.
# What is to be seen then is a corrupt page instead of that one, unless the
# case says what that page adds instead.

my @cases;

sub add_case
{
	my ($method, $pages, $damage, $change, $instead) = @_;

	push @cases,
	  {
		name => "${method}_${pages}_$damage",
		method => $method,
		pages => $pages,
		change => $change,
		instead => $instead // { corrupt_pages => 1 },
	  };
}

my $zeros = sub { "\0" x BLCKSZ };
my %header = (
	random => sub { random_page() },
	checked_flags => set16(PD_FLAGS, 0x8000),
	upper_low => set16(PD_UPPER, 16),
	upper_high => set16(PD_UPPER, 8188),
	lower_low => set16(PD_LOWER, 3),
	lower_high => set16(PD_LOWER, 8190),
	special_low => set16(PD_SPECIAL, 8176),
	special_high => set16(PD_SPECIAL, BLCKSZ),
	pagesize => set16(PD_PAGESIZE, 0x1003));
my %items = (
	item_beyond => set_item(8176, 200),
	item_far => set_item(32760, 32767),
	item_header => set_item(16, 16),
	item_long => set_item(8100, 32767));

foreach my $pages (
	[ 'gin', 'entry_leaf_pages', %header, %items ],
	[ 'gin', 'entry_internal_pages', %items ],
	[ 'gin', 'posting_leaf_pages', %header ],
	[ 'gin', 'pending_list_pages', %items ],
	[ 'brin', 'regular_pages', %header, %items ],
	[ 'brin', 'revmap_pages', %header ])
{
	my ($method, $which, %changes) = @$pages;

	add_case($method, $which, $_, $changes{$_}) foreach (sort keys %changes);
	add_case($method, $which, 'zeroed', $zeros, { new_pages => 1 });
}

# GIN: flags that no page has
my $n = 0;
add_case('gin', 'entry_leaf_pages', 'flags_' . $n++, set16(GIN_FLAGS, $_))
  foreach (META, LEAF | META, LIST | LEAF, LIST | DATA, DELETED | META,
	DELETED | LIST, LEAF | COMPRESSED, 0x100 | LEAF, 0xffff);
add_case('gin', 'posting_leaf_pages', 'uncompressed_far',
	sub { with16(with16($_[0], GIN_FLAGS, DATA | LEAF), GIN_MAXOFF, 1359) });
add_case('gin', 'posting_internal_pages', 'maxoff_high',
	set16(GIN_MAXOFF, 816));
# lists that end elsewhere than the page's data, or in the middle of a number
add_case('gin', 'posting_leaf_pages', 'list_long',
	set16(POSTING_DATA + 6, 65535));
add_case('gin', 'posting_leaf_pages', 'list_longer',
	sub { with16($_[0], (posting_lists($_[0]))[-2] + 6, 4000) });
add_case('gin', 'posting_leaf_pages', 'list_cut',
	sub { with16($_[0], PD_LOWER, get16($_[0], PD_LOWER) - 2) });
add_case('gin', 'posting_leaf_pages', 'list_header_cut',
	sub { with16($_[0], PD_LOWER, POSTING_DATA + 6) });
add_case('gin', 'posting_leaf_pages', 'data_before_lists',
	set16(PD_LOWER, POSTING_DATA - 2));
add_case('gin', 'posting_leaf_pages', 'number_open', sub {
	my ($page) = @_;
	substr($page, POSTING_DATA + 8 + get16($page, POSTING_DATA + 6) - 1, 1) = "\xff";
	return $page;
});
add_case('gin', 'posting_leaf_pages', 'tid_invalid',
	set16(POSTING_DATA + 4, 0));

# GIN: the metapage
add_case('gin', 'meta', 'zeroed', $zeros);
add_case('gin', 'meta', 'random', $header{random});
add_case('gin', 'meta', 'flags', set16(GIN_FLAGS, LEAF));
add_case('gin', 'meta', 'version_high', set32(GIN_VERSION, 77));
add_case('gin', 'meta', 'version_low', set32(GIN_VERSION, 0xffffffff));
add_case('gin', 'meta', 'no_tail', set32(GIN_TAIL, 0xffffffff));
add_case('gin', 'meta', 'no_pages', set32(GIN_PENDING_PAGES, 0));

# GIN: unusual pages.  Splits that a crash has cut off; deleted pages that keep
# their flags, or not; a posting tree page as releases before 9.4 made them.
foreach my $pages (qw(entry_leaf_pages posting_leaf_pages posting_internal_pages))
{
	add_case('gin', $pages, 'split', sub {
		with16($_[0], GIN_FLAGS, get16($_[0], GIN_FLAGS) | INCOMPLETE_SPLIT)
	}, {});
}
add_case('gin', 'posting_leaf_pages', 'deleted', sub {
	with16(with16($_[0], GIN_FLAGS, get16($_[0], GIN_FLAGS) | DELETED), PD_LOWER, POSTING_DATA)
}, { deleted_pages => 1 });
add_case('gin', 'posting_leaf_pages', 'deleted_full',
	sub { with16($_[0], GIN_FLAGS, get16($_[0], GIN_FLAGS) | DELETED) });
add_case('gin', 'pending_list_pages', 'deleted', set16(GIN_FLAGS, DELETED),
	{ deleted_pages => 1 });
add_case('gin', 'posting_leaf_pages', 'uncompressed', sub {
	my ($page) = @_;
	my $tids = pack('S3', 0, 1, 1) x 1358;
	substr($page, POSTING_DATA, length $tids) = $tids;
	$page = with16($page, PD_LOWER, PD_LINP);
	return with16(with16($page, GIN_FLAGS, DATA | LEAF), GIN_MAXOFF, 1358);
}, { posting_leaf_pages => 1, posting_items => 1358 });
add_case('gin', 'posting_leaf_pages', 'empty', set16(PD_LOWER, POSTING_DATA),
	{ posting_leaf_pages => 1 });

# BRIN
add_case('brin', 'regular_pages', 'no_type', set16(BRIN_TYPE, 0));
add_case('brin', 'regular_pages', 'meta_type', set16(BRIN_TYPE, 0xf091));
add_case('brin', 'regular_pages', 'page_flags', set16(BRIN_FLAGS, 6));
add_case('brin', 'regular_pages', 'item_short', set_item(8100, 4));
add_case('brin', 'regular_pages', 'item_dead', set_item(8100, 16, 3));
add_case('brin', 'regular_pages', 'item_redirect', set_item(8100, 16, 2));
add_case('brin', 'revmap_pages', 'tid_of_meta',
	sub { with16(with32($_[0], 24, 0), 28, 1) });
add_case('brin', 'revmap_pages', 'tid_of_nothing',
	sub { with16(with32($_[0], 24, 0xffffffff), 28, 1) });
add_case('brin', 'revmap_pages', 'tid_far',
	sub { with16(with32($_[0], 24, 0x10000), 28, 2049) });
add_case('brin', 'meta', 'zeroed', $zeros);
add_case('brin', 'meta', 'random', $header{random});
add_case('brin', 'meta', 'type', set16(BRIN_TYPE, 0xf093));
add_case('brin', 'meta', 'magic', set32(BRIN_MAGIC, 1));
add_case('brin', 'meta', 'version', set32(BRIN_VERSION, 2));
add_case('brin', 'meta', 'per_range_0', set32(BRIN_PAGES_PER_RANGE, 0));
add_case('brin', 'meta', 'per_range_high', set32(BRIN_PAGES_PER_RANGE, 131073));
add_case('brin', 'regular_pages', 'evacuated', set16(BRIN_FLAGS, 1), {});
add_case('brin', 'regular_pages', 'item_unused', set_item(0, 0, 0),
	sub { return { @_, live_items => { @_ }->{live_items} - 1 } });

# Pages in order, but in another place
add_case($_->[0], $_->[1], 'copy_of_meta', sub { $_[1] })
  foreach ([ 'gin', 'entry_leaf_pages' ], [ 'brin', 'regular_pages' ]);
add_case($_, 'meta', 'copy_of_last', sub { $_[-1] }) foreach (qw(gin brin));

# Indexes with some random bytes in every page
my @fuzzed = map { { name => "fuzzed_$_", method => s/_.*//r } }
  qw(gin_1 gin_2 gin_3 brin_1 brin_2 brin_3);

# ---------------------------------------------------------------------------

my $node = new_node('damage_gin_brin', q(
wal_level = minimal
max_wal_senders = 0
max_parallel_maintenance_workers = 0
), checksums => 0);
create_outcome($node);
my $session = Session->new($node);

$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION pgstattuple;
CREATE TABLE rows_gin (a int[]);
INSERT INTO rows_gin SELECT ARRAY[0, i % 7, i % 3000] FROM generate_series(1, 20000) i;
CREATE TABLE rows_brin (i int, t text) WITH (fillfactor = 10);
INSERT INTO rows_brin SELECT i, repeat('x', 900) FROM generate_series(1, 1500) i;

SQL
my %definition = (
	gin => 'ON rows_gin USING gin (a)',
	brin => 'ON rows_brin USING brin (i) WITH (pages_per_range = 1)');
$node->safe_psql(
	'postgres',
	join('',
		map { "CREATE INDEX $_->{name} $definition{$_->{method}};\n" }
		  @cases, @fuzzed,
		map { { name => "sound_$_", method => $_ } } qw(gin brin))
	  # a pending list in each
	  . 'INSERT INTO rows_gin SELECT ARRAY[i, -i] FROM generate_series(1, 400) i; CHECKPOINT');
my $asserts = $node->safe_psql('postgres', 'SHOW debug_assertions') eq 'on';
my %path = map { split /\|/ } split /\n/,
  $node->safe_psql('postgres',
	"SELECT relname, pg_relation_filepath(oid) FROM pg_class WHERE relkind = 'i' AND relnamespace = 'public'::regnamespace"
  );

# An index's statistics as a hash
sub stats
{
	my ($name, $method) = @_;
	my $answer = $session->query(
		"SELECT key, value FROM streamstat.${method}_stats('$name') s, json_each_text(row_to_json(s))"
	);

	return { error => $session->{err} } if $session->{err} ne '';
	return { map { (split /\|/, $_, 2)[ 0, 1 ] } split /\n/, $answer };
}

# What the statistics must be is known of these columns.
sub compared
{
	my ($stats) = @_;
	my %compared = %$stats;

	delete @compared{ grep { /density|free_bytes|fragmentation/ } keys %compared };
	return \%compared;
}

my %sound = map { $_ => stats("sound_$_", $_) } qw(gin brin);
foreach my $method (qw(gin brin))
{
	my %pages = (map { $_->{pages} => 1 } grep { $_->{method} eq $method } @cases);

	delete $pages{meta};
	is(join(' ', grep { !$sound{$method}{$_} } sort keys %pages),
		'', "the $method index has pages of each kind");
}

# Damage a case's page, and note down what is to be seen then.
sub damage
{
	my ($case) = @_;
	my $method = $case->{method};
	my $file = $node->data_dir . "/$path{$case->{name}}";
	my @blocks = read_blocks($file);
	my ($blkno) = grep {
		($kind_of{$method}->($blocks[$_], $_))[0] eq $case->{pages}
	} reverse 0 .. $#blocks;
	my ($pages, %adds) = $kind_of{$method}->($blocks[$blkno], $blkno);
	my %expected = %{ $sound{$method} };
	my $instead = $case->{instead};

	$adds{$pages} = 1;
	$instead = \%adds if ref $instead eq 'HASH' && !%$instead;
	$instead = $instead->(%adds) if ref $instead eq 'CODE';
	if ($pages eq 'meta')
	{
		$expected{$_} = '' foreach (@{ $meta_columns{$method} });
	}
	else
	{
		$expected{$_} -= $adds{$_} foreach (keys %adds);
	}
	$expected{$_} += $instead->{$_} foreach (keys %$instead);
	$expected{unsummarized_ranges} += $adds{summarized_ranges}
	  if $pages eq 'revmap_pages';
	foreach my $class (qw(new corrupt))
	{
		$expected{"first_${class}_block"} = $blkno if $instead->{"${class}_pages"};
	}
	$case->{expected} = \%expected;

	my $page = $case->{change}->($blocks[$blkno], @blocks);
	isnt($page, $blocks[$blkno], "$case->{name}: page is changed");
	write_block($file, $blkno, $page);
}

sub check_case
{
	my ($case) = @_;
	my ($name, $expected) = @$case{qw(name expected)};

	is_deeply(
		compared(stats($name, $case->{method})),
		compared($expected), "$name: statistics");

	# A sample finds the same.
	my %sample = map { split /\|/, $_, 2 } split /\n/, $session->query(
		"SELECT statistic, estimate FROM streamstat.sample_stats('$name', 1000000)");
	my ($block) = $session->{err} =~
	  /first corrupt page in sample of relation "$name" is block (\d+)/;
	my @different = grep { $sample{$_} != $expected->{$_} }
	  grep { !/density|free_bytes|fragmentation/ } keys %sample;
	is("@different", '', "$name: sample");
	is($block // '', $expected->{first_corrupt_block}, "$name: warning of sample");

	# contrib's function ends a server with assertions
	return if $case->{method} ne 'gin' || $asserts;
	my ($ours, $contribs) = split /\n/,
	  $session->query(
		"SELECT outcome(format('SELECT * FROM %s.pgstatginindex(''$name'')', s)) FROM unnest('{streamstat, public}'::text[]) s"
	  );
	is($ours, $contribs, "$name: pgstatginindex does as contrib's");
}

sub check_fuzzed
{
	my ($index) = @_;
	my ($name, $method) = @$index{qw(name method)};
	my $stats = stats($name, $method);
	my $pages = 0;

	is($stats->{error}, undef, "$name: no error");
	$pages += $stats->{$_} foreach (grep { /_pages$/ && $_ ne 'pending_pages' } keys %$stats);
	$pages++ if $stats->{version} ne '';
	is($pages, $index->{blocks}, "$name: each page counted once");
	cmp_ok($stats->{corrupt_pages}, '>', 0, "$name: corrupt pages");

	is( $session->query(
			"SELECT estimate FROM streamstat.sample_stats('$name', 1000000) WHERE statistic = 'corrupt_pages'"
		),
		$stats->{corrupt_pages}, "$name: sample");
}

$session->end;
$node->stop;
damage($_) foreach (@cases);
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
foreach my $method (qw(gin brin))
{
	is_deeply(stats("sound_$method", $method), $sound{$method}, "sound $method index");
}

$session->query('CHECKPOINT');
$session->end;
$node->stop;
is( join(' ', grep { $image{$_} ne join '', read_blocks($node->data_dir . "/$path{$_}") } sort keys %image),
	'', 'files are as they were');stop_clean($node);
done_testing();
