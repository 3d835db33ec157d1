
# Copyright (c) 2026, streamstat contributors

# Damaged pages: our own functions count them, go on and stay within the page;
# the functions with contrib's names do what contrib's do.
#
# Each case has an index or a table of its own.  All are damaged in one go
# while the server is down, without checksums.  Then there are pages with a checksum
# that does not match.

use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Utils;
use Test::More;

use lib "$FindBin::RealBin/lib";
use Node;
use Pages;
use Session;

# Offsets in the special space of b-tree and hash pages, and in metapages
use constant {
	PAGE_FLAGS => BLCKSZ - 16 + 12,
	META_MAGIC => 24,
	HASH_META_MAGIC => 24,
	BTP_LEAF => 1,
	BTP_ROOT => 2,
	BTP_META => 8,
	LH_BUCKET => 2,
	LH_BITMAP => 4,
};

# Ways to damage a page.  "refused" marks those that the buffer manager
# refuses, "contrib" those where what contrib does is no accident.
my %damage = (
	zeroed => { as => 'new', page => sub { "\0" x BLCKSZ } },
	# a metapage is never new
	lost => { page => sub { "\0" x BLCKSZ } },
	# _hash_expandtable() leaves such a one in a buffer if it gets no cleanup lock
	initialized => {
		as => 'new',
		page => sub {
			my $page = "\0" x BLCKSZ;
			my @header = (PD_LOWER, 24, PD_UPPER, BLCKSZ - 16, PD_SPECIAL, BLCKSZ - 16, PD_PAGESIZE, BLCKSZ | 4);

			while (my ($offset, $value) = splice(@header, 0, 2))
			{
				$page = with16($page, $offset, $value);
			}
			return $page;
		},
	},
	random => { refused => 1, page => sub { random_page() } },
	flags => { refused => 1, page => sub { with16($_[0], PD_FLAGS, 0x8000) } },
	upper_low => { refused => 1, page => sub { with16($_[0], PD_UPPER, 16) } },
	upper_high => { refused => 1, page => sub { with16($_[0], PD_UPPER, 8188) } },
	lower_high => { refused => 1, page => sub { with16($_[0], PD_LOWER, 8190) } },
	lower_low => { page => sub { with16($_[0], PD_LOWER, 3) } },
	special_high => { page => sub { with16($_[0], PD_SPECIAL, BLCKSZ) } },
	special_low => { page => sub { with16($_[0], PD_SPECIAL, 8160) } },
	special_odd => { refused => 1, page => sub { with16($_[0], PD_SPECIAL, 8175) } },
	pagesize => { page => sub { with16($_[0], PD_PAGESIZE, 0x1003) } },
	item_beyond => { page => sub { with_item($_[0], 2, 8176, 200) } },
	# as long as the others
	item_over => { page => sub { with_item($_[0], 2, 8168, (item($_[0], 2))[2]) } },
	item_far => { page => sub { with_item($_[0], 2, 32760, 32767) } },
	item_header => { page => sub { with_item($_[0], 2, 16, 16) } },
	item_long => { page => sub { with_item($_[0], 2, 8100, 32767) } },
	no_type => { page => sub { with16($_[0], PAGE_FLAGS, 0) } },
	two_types => { page => sub { with16($_[0], PAGE_FLAGS, 3) } },
	meta_type => { page => sub { with16($_[0], PAGE_FLAGS, BTP_META) } },
	magic => { page => sub { with16($_[0], META_MAGIC, 0x1234) } },
);

# What is damaged where.  A case is the relation's name, its kind, a sub that
# chooses the blocks, and the damage.
my @cases;

sub add_case
{
	my ($kind, $where, $damage, $choose) = @_;
	my $heap = $kind eq 'heap' || $kind eq 'big_heap';

	push @cases,
	  {
		name => "${kind}_${where}_$damage",
		kind => $kind,
		heap => $heap,
		damage => $damage,
		choose => $choose,
	  };
}

my $leaf = sub {
	my $page = shift;
	return get16($page, PAGE_FLAGS) == BTP_LEAF;
};
my $internal = sub {
	my $page = shift;
	return (get16($page, PAGE_FLAGS) & (BTP_LEAF | BTP_META)) == 0;
};
my $bucket = sub {
	my $page = shift;
	return get16($page, PD_SPECIAL) == BLCKSZ - 16
	  && get16($page, PAGE_FLAGS) & LH_BUCKET;
};
my $bitmap = sub {
	my $page = shift;
	return get16($page, PD_SPECIAL) == BLCKSZ - 16
	  && get16($page, PAGE_FLAGS) & LH_BITMAP;
};

# the 7th page of a kind, or the first if there are fewer
sub seventh
{
	my ($test) = @_;

	return sub {
		my @found = grep { $test->($_[ $_ + 1 ]) } 1 .. $#_ - 1;
		return $found[6] // $found[0];
	};
}
my $first = sub { return 0; };
my $last = sub { return $#_ - 1; };
my $consecutive = sub { return 100 .. 299; };
my $scattered = sub {
	my %chosen = (0 => 1, $#_ - 1 => 1);
	$chosen{ next_random($#_) } = 1 while keys %chosen < 202;
	return sort { $a <=> $b } keys %chosen;
};

my @anywhere = qw(zeroed random flags upper_low upper_high lower_high lower_low
  special_high special_low special_odd pagesize item_beyond item_over item_far
  item_header item_long);

add_case('btree', 'leaf', $_, seventh($leaf)) foreach (@anywhere, 'meta_type');
add_case('btree', 'internal', $_, seventh($internal))
  foreach ('zeroed', 'random', 'special_high', 'lower_low');
add_case('btree', 'meta', $_, $first)
  foreach ('lost', 'random', 'magic', 'no_type', 'special_high');
add_case('btree', 'last', $_, $last) foreach ('zeroed', 'random');
add_case('big_btree', 'consecutive', $_, $consecutive)
  foreach ('zeroed', 'random');
add_case('big_btree', 'scattered', 'random', $scattered);
add_case('hash', 'bucket', $_, seventh($bucket))
  foreach (@anywhere, 'two_types', 'meta_type', 'initialized');
add_case('hash', 'bitmap', $_, seventh($bitmap))
  foreach ('zeroed', 'random', 'special_low');
add_case('hash', 'meta', $_, $first)
  foreach ('lost', 'random', 'magic', 'no_type');
add_case('big_hash', 'scattered', 'random', $scattered);
# A heap page has no special space, so special_high makes it a sound one.
add_case('heap', 'any', $_, sub { return 7; })
  foreach (grep { $_ ne 'special_high' } @anywhere);
add_case('heap', 'first', 'random', $first);
add_case('heap', 'last', 'random', $last);
add_case('big_heap', 'scattered', 'random', $scattered);

# ---------------------------------------------------------------------------

my $node = new_node('damage', q(
wal_level = minimal
max_wal_senders = 0
max_parallel_maintenance_workers = 0
), checksums => 0);
create_outcome($node);

$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION pgstattuple;
CREATE TABLE small AS SELECT i AS k FROM generate_series(1, 20000) i;
CREATE TABLE big AS SELECT i AS k FROM generate_series(1, 220000) i;

SQL

my $create = '';
foreach my $case (@cases, map { { name => "sound_$_", kind => $_ } }
	qw(btree big_btree hash big_hash heap big_heap))
{
	my $table = $case->{kind} =~ /^big/ ? 'big' : 'small';
	my $method = $case->{kind} =~ s/^big_//r;

	$create .=
	  $method eq 'heap'
	  ? "CREATE TABLE $case->{name} AS TABLE $table;\n"
	  : "CREATE INDEX $case->{name} ON $table USING $method (k);\n";
}
$node->safe_psql('postgres', $create . 'CHECKPOINT');
my $asserts = $node->safe_psql('postgres', 'SHOW debug_assertions') eq 'on';

my %path = map { split /\|/ } split /\n/,
  $node->safe_psql('postgres',
	"SELECT relname, pg_relation_filepath(oid) FROM pg_class WHERE relkind IN ('r', 'i') AND relnamespace = 'public'::regnamespace"
  );

# One session until the server stops: what a query prints, and its messages
my $session;

sub ask
{
	my ($query) = @_;

	$session //= Session->new($node, '-v', 'VERBOSITY=default');
	my $answer = $session->query($query);
	return ($answer, $session->{err} =~ s/^psql:\S+: //mgr);
}

sub end_session
{
	$session->end if defined $session;
	undef $session;
}

sub stop
{
	end_session();
	$node->stop;
}

# A relation's statistics as a hash
sub stats
{
	my ($name, $kind) = @_;
	my %function = (btree => 'btree_stats', hash => 'hash_stats');
	my $function = $function{ $kind =~ s/^big_//r };
	my $query =
	  $function
	  ? "SELECT key, value FROM streamstat.$function('$name') s, json_each_text(row_to_json(s))"
	  : "SELECT statistic, estimate FROM streamstat.sample_stats('$name', 1000000)";
	my ($stdout, $stderr) = ask("$query;
SELECT 'requested', blocks_requested FROM streamstat.stream_stats()");

	return { error => $stderr } if $stderr =~ /^ERROR/m;
	return {
		warning => $stderr,
		map { (split /\|/, $_, 2)[ 0, 1 ] } split /\n/,
		$stdout
	};
}

my %sound = map { $_ => stats("sound_$_", $_) }
  qw(btree big_btree hash big_hash heap big_heap);

# ---------------------------------------------------------------------------
# What a page adds to the statistics

sub page_adds
{
	my ($case, $blkno, $page) = @_;
	my $method = $case->{kind} =~ s/^big_//r;

	# a table may end with pages that were added in advance
	return $page =~ /[^\0]/ ? (live_tuples => items($page)) : ()
	  if $method eq 'heap';
	return () if $blkno == 0;
	if ($method eq 'btree')
	{
		return (internal_pages => 1) if $internal->($page);

		# the high key is no item
		my ($next) = unpack('L', substr($page, BLCKSZ - 16 + 4, 4));
		return (leaf_pages => 1, live_items => items($page) - ($next != 0));
	}
	return (unused_pages => 1) if $page !~ /[^\0]/;
	my $type = get16($page, PAGE_FLAGS) & 0x1f;
	return ($type & LH_BUCKET)
	  ? (bucket_pages => 1, live_items => items($page))
	  : (bitmap_pages => 1)
	  if $type & (LH_BUCKET | LH_BITMAP);
	return (overflow_pages => 1, live_items => items($page));
}

# The pages of a file of the stopped server
sub read_pages
{
	my ($name) = @_;

	return read_blocks($node->data_dir . "/$path{$name}");
}

sub write_page
{
	my ($name, $blkno, $page) = @_;

	write_block($node->data_dir . "/$path{$name}", $blkno, $page);
}

# Damage a case's pages, and note down what is to be seen then.
sub damage
{
	my ($case) = @_;
	my $how = $damage{ $case->{damage} };
	my @pages = read_pages($case->{name});
	my @blocks = $case->{choose}->($case, @pages);
	my %expected = %{ $sound{ $case->{kind} } };

	foreach my $blkno (@blocks)
	{
		my $page = $pages[$blkno];
		my %adds = page_adds($case, $blkno, $page);

		# a hash index may have pages of zeros that are in order
		$expected{new_pages}-- if $page !~ /[^\0]/;
		$expected{$_} -= $adds{$_} foreach (keys %adds);
		write_page($case->{name}, $blkno, $how->{page}->($page));
	}

	my $class = $how->{as} // 'corrupt';
	my $method = $case->{kind} =~ s/^big_//r;
	$expected{"${class}_pages"} += @blocks;
	$expected{unused_pages} += @blocks
	  if $class eq 'new' && $method eq 'hash';
	$expected{"first_${class}_block"} = $blocks[0];

	$case->{blocks} = \@blocks;
	$case->{class} = $class;
	$case->{refused} = $how->{refused};
	$case->{expected} = \%expected;
}

# ---------------------------------------------------------------------------

my %columns = (
	btree => [
		qw(bytes internal_pages leaf_pages empty_pages deleted_pages
		  new_pages corrupt_pages live_items dead_items first_corrupt_block
		  requested)
	],
	hash => [
		qw(bytes bucket_pages overflow_pages bitmap_pages unused_pages
		  new_pages corrupt_pages live_items dead_items first_corrupt_block
		  requested)
	],
	heap => [
		qw(new_pages corrupt_pages live_tuples dead_line_pointers requested)
	]);

# Look at a case with all functions.
sub check_case
{
	my ($case, $what) = @_;
	my ($name, $expected) = @$case{qw(name expected)};
	my $method = $case->{kind} =~ s/^big_//r;
	my $label = "$what: $name";
	my @columns = @{ $columns{$method} };

	# A sound hash index can have new pages, too.
	push @columns, 'first_new_block' if $method eq 'btree';

	my $stats = stats($name, $case->{kind});
	is_deeply(
		{ error => $stats->{error}, map { $_ => $stats->{$_} } @columns },
		{ error => undef, map { $_ => $expected->{$_} } @columns },
		"$label: statistics");
	if ($method eq 'heap')
	{
		my $message =
		  $case->{class} ne 'corrupt' ? '' : "WARNING:  first corrupt page in sample of relation \"$name\" is block $case->{blocks}[0]";
		is($stats->{warning} =~ s/\n\z//r, $message, "$label: first damaged page reported");
		return;
	}
	is( $stats->{version},
		$case->{blocks}[0] == 0 ? '' : $sound{ $case->{kind} }{version},
		"$label: what the metapage tells");

	# A sample finds the same pages.
	my ($stdout, $stderr) =
	  ask("SELECT estimate FROM streamstat.sample_stats('$name', 1000000) WHERE statistic = '$case->{class}_pages'");
	is($stdout, $expected->{"$case->{class}_pages"}, "$label: sample");
	like($stderr, qr/first corrupt page in sample of relation "$name" is block $case->{blocks}[0]\n?$/,
		"$label: sample names the first corrupt page")
	  if $case->{class} eq 'corrupt';

	# contrib takes the special space from behind such a page.
	my $function = $method eq 'btree' ? 'pgstatindex' : 'pgstathashindex';
	if ($method eq 'btree' && $case->{damage} eq 'special_high' && $case->{blocks}[0] > 0)
	{
		is( (ask("SELECT outcome('SELECT streamstat.$function(''$name'')')"))[0],
			qq(XX002 index "$name" contains corrupted page at block $case->{blocks}[0]),
			"$label: $function");
		return;
	}

	my ($ours) = ask("SELECT outcome('SELECT * FROM streamstat.$function(''$name'')')");

	# contrib's functions end a server with assertions where the page is not refused.
	return if $asserts && !$case->{refused};
	my ($contribs) = ask("SELECT outcome('SELECT * FROM public.$function(''$name'')')");

	# A read of several blocks says how many of them are refused.
	if ($case->{refused} && @{ $case->{blocks} } > 1)
	{
		$_ = substr($_, 0, 5) foreach ($ours, $contribs);
	}
	is($ours, $contribs, "$label: $function does as contrib's");
	like($contribs, qr/^XX001/,
		"$label: the buffer manager still refuses the page")
	  if $case->{refused};
}

# ---------------------------------------------------------------------------

stop();
damage($_) foreach (@cases);
$_->{image} = join('', read_pages($_->{name})) foreach (@cases);
$node->start;
is_deeply(stats("sound_$_", $_), $sound{$_}, "sound $_") foreach (sort keys %sound);
foreach my $case (@cases)
{
	subtest $case->{name} => sub { check_case($case, 'without checksums') };
}
$node->safe_psql('postgres', 'CHECKPOINT');
stop();
is(join(' ', map { $_->{name} } grep { $_->{image} ne join('', read_pages($_->{name})) } @cases),
	'', 'files are as they were');

command_ok(
	[ 'pg_checksums', '--enable', '--no-sync', '-D', $node->data_dir ],
	'checksums enabled over damaged pages');

# Checksums that do not agree: one more bit, in the hole or an item.
my %flipped;
foreach my $kind (qw(btree hash heap))
{
	my $name = "sound_$kind";
	my @pages = read_pages($name);

	$flipped{$kind} = {
		name => $name,
		kind => $kind,
		damage => 'checksum',
		class => 'corrupt',
		refused => 1,
		blocks => [7],
		expected => { %{ $sound{$kind} } },
	};
	my %adds = page_adds($flipped{$kind}, 7, $pages[7]);
	$flipped{$kind}{expected}{$_} -= $adds{$_} foreach (keys %adds);
	$flipped{$kind}{expected}{corrupt_pages} = 1;
	$flipped{$kind}{expected}{first_corrupt_block} = 7;
	$flipped{$kind}{page} = $pages[7];
	$flipped{$kind}{damaged} = $pages[7] ^ ("\0" x 8000 . "\1" . "\0" x (BLCKSZ - 8001));
}

write_page($_->{name}, 7, $_->{damaged}) foreach (values %flipped);
$node->start;
foreach my $kind (sort keys %flipped)
{
	subtest "wrong checksum: $kind" =>
	  sub { check_case($flipped{$kind}, 'wrong checksum') };
}

# With an error in every stream and every way of doing I/O, also at the end of
# the look-ahead and with several reads under way.
my @methods = split /\n/, $node->safe_psql('postgres',
	"SELECT unnest(enumvals) FROM pg_settings WHERE name = 'io_method'");
foreach my $method (@methods)
{
	$node->append_conf('postgresql.conf', "io_method = $method");
	end_session();
	next if !$node->restart(fail_ok => 1);
	foreach my $case (grep { $_->{kind} =~ /^big/ } @cases)
	{
		subtest "io_method $method: $case->{name}" =>
		  sub { check_case($case, "io_method $method") };
	}
}

# ---------------------------------------------------------------------------

stop_clean($node);
done_testing();
