
# Copyright (c) 2026, streamstat contributors

# Tables and maps that were damaged while the server was down: what tuples name
# cannot be, or is anything.  table_stats counts the pages and goes on; the
# functions with contrib's names have an error that says which page it is.

use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Utils;
use Test::More;

use lib "$FindBin::RealBin/lib";
use Node;
use Pages;
use Session;

# Offsets in a tuple's header
use constant {
	T_XMIN => 0,
	T_XMAX => 4,
	T_FIELD3 => 8,
	T_INFOMASK => 20,
	HEADER_LENGTH => 23,
};

# Bits of t_infomask
use constant {
	XMAX_LOCK_ONLY => 0x0080,
	XMIN_COMMITTED => 0x0100,
	XMIN_INVALID => 0x0200,
	XMAX_COMMITTED => 0x0400,
	XMAX_INVALID => 0x0800,
	XMAX_IS_MULTI => 0x1000,
	MOVED_OFF => 0x4000,
	MOVED_IN => 0x8000,
	VISIBILITY => 0xdfd0,
};

# Transactions, and multixacts, that have not begun, and that are too old
use constant {
	FUTURE => 1_000_000,
	PAST => 3_000_000_000,
};

my $n_random_pages = 400;

sub random_bytes
{
	return pack('C*', map { next_random(256) } 1 .. $_[0]);
}

# Where the page's tuples are: by their line pointers, all in use here
sub tuples
{
	my ($page) = @_;
	my $little = unpack('L', pack('L', 1)) == unpack('V', pack('L', 1));

	return map { $little ? $_ & 0x7fff : $_ >> 17 }
	  unpack('L*', substr($page, PD_LINP, get16($page, PD_LOWER) - PD_LINP));
}

# The page with the 3rd of its tuples changed: visibility bits of t_infomask,
# and a field
sub with_tuple
{
	my ($page, $bits, $field, $value) = @_;
	my $tuple = (tuples($page))[2];
	my $infomask = get16($page, $tuple + T_INFOMASK) & ~VISIBILITY | $bits;

	substr($page, $tuple + T_INFOMASK, 2) = pack('S', $infomask);
	substr($page, $tuple + $field, 4) = pack('L', $value);
	return $page;
}

# Damage of a kind, to every 4th page; what is to be seen of it
my @cases = (
	[ xmin_future => 1, XMAX_INVALID, T_XMIN, FUTURE ],
	[ xmin_past => 1, XMAX_INVALID, T_XMIN, PAST ],
	[ xmax_future => 1, XMIN_COMMITTED, T_XMAX, FUTURE ],
	[ xmax_past => 1, XMIN_COMMITTED, T_XMAX, PAST ],
	[ multi_future => 1, XMIN_COMMITTED | XMAX_IS_MULTI, T_XMAX, FUTURE ],
	[ multi_past => 1, XMIN_COMMITTED | XMAX_IS_MULTI, T_XMAX, PAST ],
	[ multi_zero => 1, XMIN_COMMITTED | XMAX_IS_MULTI, T_XMAX, 0 ],
	[ multi_committed => 1, XMIN_COMMITTED | XMAX_IS_MULTI | XMAX_COMMITTED, T_XMAX, FUTURE ],
	[ moved_off_future => 1, MOVED_OFF | XMAX_INVALID, T_FIELD3, FUTURE ],
	[ moved_in_past => 1, MOVED_IN | XMAX_INVALID, T_FIELD3, PAST ],

	# what nobody has to ask about
	[ frozen_future => 'live', XMIN_COMMITTED | XMIN_INVALID | XMAX_INVALID, T_XMIN, FUTURE ],
	[ invalid_future => 'live', XMIN_COMMITTED | XMAX_INVALID, T_XMAX, FUTURE ],
	[ locked_future => 'live', XMIN_COMMITTED | XMAX_LOCK_ONLY, T_XMAX, FUTURE ],
	[ multi_locked_past => 'live', XMIN_COMMITTED | XMAX_IS_MULTI | XMAX_LOCK_ONLY, T_XMAX, PAST ],
	[ aborted_future => 'dead', XMIN_INVALID | XMAX_INVALID, T_XMIN, FUTURE ],
	[ xmin_zero => 'dead', XMAX_INVALID, T_XMIN, 0 ],
	[ xmin_frozen_old_style => 'live', XMAX_INVALID, T_XMIN, 2 ],
	# a multixact with lockers only, and one with an updater
	[ multi_lockers => 'live', XMIN_COMMITTED | XMAX_IS_MULTI, T_XMAX, 'lockers' ],
	[ multi_updater => 'dead', XMIN_COMMITTED | XMAX_IS_MULTI, T_XMAX, 'updater' ]);

# The 2nd line pointer of all-visible pages, of which tuples are not looked at: offset,
# length and flags, from those that it has
my @visible = (
	[ misaligned => sub { ($_[0] + 4, $_[1]) } ],
	[ below => sub { (8, $_[1]) } ],
	[ beyond => sub { (BLCKSZ - 16, $_[1]) } ],
	[ short => sub { ($_[0], HEADER_LENGTH - 1) } ],
	[ unused => sub { (0, 0, 0) } ],
	[ redirect => sub { (1, 0, 2) } ],
	[ redirect_to_nothing => sub { (1000, 0, 2) } ],
	[ dead => sub { (0, 0, 3) } ],
	[ dead_with_tuple => sub { ($_[0], $_[1], 3) } ]);

# Damage at random
my %random = (
	tuple_headers => sub {
		my ($page) = @_;

		substr($page, $_, HEADER_LENGTH) = random_bytes(HEADER_LENGTH)
		  foreach (grep { next_random(4) == 0 } tuples($page));
		return $page;
	},
	infomasks => sub {
		my ($page) = @_;

		substr($page, $_ + T_INFOMASK, 2) = random_bytes(2)
		  foreach (tuples($page));
		return $page;
	},
	small_numbers => sub {
		my ($page) = @_;

		# ids that might be, with bits that do not go with them
		foreach my $tuple (tuples($page))
		{
			substr($page, $tuple + T_INFOMASK, 2) = random_bytes(2);
			substr($page, $tuple + 4 * next_random(3), 4) =
			  pack('L', next_random(1000));
			substr($page, $tuple + T_XMAX, 4) = pack('L', next_random(30));
		}
		return $page;
	},
	line_pointers => sub {
		my ($page) = @_;

		substr($page, PD_LINP + 4 * next_random(20), 4) = random_bytes(4)
		  foreach (0 .. 3);
		return $page;
	},
	bytes => sub {
		my ($page) = @_;

		substr($page, next_random(BLCKSZ), 1) = random_bytes(1) foreach (0 .. 30);
		return $page;
	},
	page_header => sub {
		my ($page) = @_;

		substr($page, 8 + next_random(16), 2) = random_bytes(2);
		return $page;
	},
	behind_header => sub {
		return substr($_[0], 0, PD_LINP) . random_bytes(BLCKSZ - PD_LINP);
	},
	all => sub { return random_bytes(BLCKSZ); });

# A page of a map
my %map = (
	zeros => sub { return "\0" x BLCKSZ; },
	random => sub { return random_bytes(BLCKSZ); },
	behind_header => sub {
		return substr($_[0], 0, PD_LINP) . random_bytes(BLCKSZ - PD_LINP);
	},
	ones => sub {
		return substr($_[0], 0, PD_LINP) . "\xff" x (BLCKSZ - PD_LINP);
	});

# ---------------------------------------------------------------------------

my $node = new_node('damage_tables', '', checksums => 0);
create_outcome($node);
# contrib's functions would end a server with assertions
my $have_contrib = have_extension($node, 'pgstattuple')
  && $node->safe_psql('postgres', 'SHOW debug_assertions') eq 'off';

$node->safe_psql('postgres', 'CREATE SCHEMA contrib; CREATE EXTENSION pgstattuple SCHEMA contrib')
  if $have_contrib;
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE sound (k int, t text);
INSERT INTO sound SELECT i, repeat('x', 200) FROM generate_series(1, 1000) i;

-- multixacts of lockers, and with an updater
CREATE TABLE multi (k int PRIMARY KEY, n int);
INSERT INTO multi SELECT i, 0 FROM generate_series(1, 20) i;
BEGIN;
SELECT FROM multi FOR KEY SHARE;
SAVEPOINT a;
SELECT FROM multi WHERE k = 1 FOR SHARE;
UPDATE multi SET n = 1 WHERE k = 2;
DELETE FROM multi WHERE k = 3;
COMMIT;

CREATE TABLE visible AS SELECT i AS k, repeat('x', 200) AS t FROM generate_series(1, 500) i;
VACUUM (FREEZE) visible;
SQL

# The ids of one of each
my %multi;
foreach my $id (1 .. 5)
{
	my ($ret, $modes) = $node->psql('postgres',
		"SELECT string_agg(mode, ' ') FROM pg_get_multixact_members('$id')");

	next if $ret != 0;
	$multi{ $modes =~ /upd/ ? 'updater' : 'lockers' } //= $id;
}
is(join(' ', sort keys %multi), 'lockers updater', 'there are multixacts');

my %path;
my @maps = map { my $fork = $_; map { "${fork}_$_" } sort keys %map } ('vm', 'fsm');
my $session = Session->new($node);
my @names = ((map { $_->[0] } @cases), (map { "random_$_" } sort keys %random), @maps);
foreach my $name (@names)
{
	my $rows = $name =~ /^random/ ? $n_random_pages / keys(%random) * 33 : 1000;

	$session->query(
		"CREATE TABLE $name (k int, t text); INSERT INTO $name SELECT i, repeat('x', 200) FROM generate_series(1, $rows) i"
	);
	$session->query("VACUUM (FREEZE) $name; DELETE FROM $name WHERE k % 100 = 0")
	  if $name =~ /^(vm|fsm)_/;
	$path{$name} = $node->data_dir . '/'
	  . $session->query("SELECT pg_relation_filepath('$name')");
}

# Statistics as a hash
sub stats
{
	my ($name) = @_;
	my $answer = $session->query("SELECT key, value FROM streamstat.table_stats('$name') s, json_each_text(row_to_json(s))");

	return { error => $session->{err}, map { (split /\|/, $_, 2)[ 0, 1 ] } split /\n/, $answer };
}

sub read_pages
{
	my ($file) = @_;

	return unpack('(a' . BLCKSZ . ')*', slurp_file($file));
}

sub write_page
{
	my ($file, $blkno, $page) = @_;

	open(my $fh, '+<', $file) or die "could not open $file: $!";
	binmode $fh;
	sysseek($fh, $blkno * BLCKSZ, 0) or die "could not seek in $file: $!";
	syswrite($fh, $page) == BLCKSZ or die "could not write $file: $!";
	close($fh);
}

# ---------------------------------------------------------------------------

my %expected;
my %sound_tuples;
my $visible_file = $session->query("SELECT pg_relation_filepath('visible')");
$session->end;
$node->stop;
foreach my $case (@cases)
{
	my ($name, $how, $bits, $field, $value) = @$case;
	my @pages = read_pages($path{$name});
	my %sum = (corrupt => 0, live => 0, dead => 0);

	foreach my $blkno (0 .. $#pages)
	{
		my $page = $pages[$blkno];

		next if $page !~ /[^\0]/;
		my $n = tuples($page);

		if ($blkno % 4 != 1)
		{
			$sum{live} += $n;
			next;
		}
		write_page($path{$name}, $blkno,
			with_tuple($page, $bits, $field, $multi{$value} // $value));
		$sum{corrupt}++ if $how eq '1';
		$sum{live} += $n if $how eq 'live';
		$sum{live} += $n - 1 if $how eq 'dead';
		$sum{dead}++ if $how eq 'dead';
	}
	$expected{$name} = \%sum;
}
my $visible_path = $node->data_dir . "/$visible_file";
my @visible_pages = read_pages($visible_path);
foreach my $i (0 .. $#visible)
{
	my $page = $visible_pages[ $i + 1 ];
	my ($offset, undef, $length) = item($page, 2);

	write_page($visible_path, $i + 1, with_item($page, 2, $visible[$i][1]->($offset, $length)));
}
foreach my $kind (sort keys %random)
{
	my $name = "random_$kind";
	my @pages = read_pages($path{$name});

	foreach my $blkno (grep { $pages[$_] =~ /[^\0]/ } 0 .. $#pages)
	{
		$sound_tuples{$name} += tuples($pages[$blkno]);
		write_page($path{$name}, $blkno, $random{$kind}->($pages[$blkno]));
	}
}
foreach my $name (@maps)
{
	my ($fork, $kind) = $name =~ /^(vm|fsm)_(.*)/;
	my @pages = read_pages("$path{$name}_$fork");

	write_page("$path{$name}_$fork", $_, $map{$kind}->($pages[$_]))
	  foreach (0 .. $#pages);
}
$node->start;
$session = Session->new($node);

# A call that must not fail comes behind each that may.
my $sound = $session->query("SELECT * FROM streamstat.table_stats('sound')");
like($sound, qr/^sound\|f(\|\d+){6}\|1000\|/, 'a sound table');

sub sound_again
{
	my ($label) = @_;

	is($session->query("SELECT * FROM streamstat.table_stats('sound')"),
		$sound, "$label: the next call");
}

sub outcome
{
	my ($query) = @_;

	return $session->query("SELECT outcome(\$\$ $query \$\$)");
}

is_deeply(
	[ @{ stats('visible') }{qw(corrupt_pages first_corrupt_block live_tuples dead_line_pointers redirect_line_pointers unused_line_pointers)} ],
	[ 5, 1, 500 - 5 * items($visible_pages[1]) - 4, 2, 1, 1 ],
	'all-visible pages: line pointers');
foreach my $case (@cases)
{
	my ($name, $how) = @$case;
	my $expected = $expected{$name};

	is_deeply(
		{ %{ stats($name) }{qw(error corrupt_pages live_tuples dead_tuples first_corrupt_block)} },
		{
			error => '',
			corrupt_pages => $expected->{corrupt},
			live_tuples => $expected->{live},
			dead_tuples => $expected->{dead},
			first_corrupt_block => $how eq '1' ? 1 : ''
		},
		"$name: table_stats");
	foreach my $function ('pgstattuple', 'pgstattuple_approx')
	{
		my $outcome = outcome("SELECT * FROM streamstat.$function('$name')");

		if ($how eq '1')
		{
			is( $outcome,
				"XX001 table \"$name\" contains corrupted page at block 1",
				"$name: $function");
		}
		elsif ($have_contrib)
		{
			is($outcome, outcome("SELECT * FROM contrib.$function('$name')"),
				"$name: $function as contrib's");
		}
	}
	cmp_ok($expected->{corrupt}, '>=', 5, "$name: some pages") if $how eq '1';
	sound_again($name);
}

foreach my $kind (sort keys %random)
{
	my $name = "random_$kind";
	my $stats = stats($name);

	is($stats->{error}, '', "$name: table_stats");
	cmp_ok($stats->{corrupt_pages}, '>', 0, "$name: corrupt pages");
	cmp_ok($stats->{corrupt_pages}, '<=', $stats->{pages}, "$name: not too many");
	cmp_ok($stats->{live_tuples} + $stats->{dead_tuples},
		'<=', $sound_tuples{$name} + ($kind =~ /header|bytes/ ? 100 : 0),
		"$name: tuples");
	cmp_ok($stats->{$_}, '>=', 0, "$name: $_")
	  foreach (qw(live_tuples dead_tuples recently_dead_tuples
		insert_in_progress_tuples delete_in_progress_tuples free_bytes
		truncatable_pages largest_free_bytes));
	foreach my $function ('pgstattuple', 'pgstattuple_approx')
	{
		like(outcome("SELECT * FROM streamstat.$function('$name')"),
			qr/^XX001 (table "$name" contains corrupted page at block \d+|invalid page in block \d+ of relation .*|\d+ invalid pages among blocks .*)$/,
			"$name: $function");
	}
	foreach my $call ("table_stats_tree('$name')", "layout_map('$name')",
		"sample_stats('$name', 1000000, seed => 1)", "visibility_map_summary('$name')",
		"free_space_map_summary('$name')")
	{
		unlike(outcome("SELECT * FROM streamstat.$call"),
			qr/^[0-9A-Z]{5} /, "$name: $call");
	}
	sound_again($name);
}

foreach my $name (@maps)
{
	my ($fork, $kind) = $name =~ /^(vm|fsm)_(.*)/;
	my $stats = stats($name);

	is_deeply(
		{ %$stats{qw(error corrupt_pages live_tuples dead_tuples)} },
		{
			error => '',
			corrupt_pages => 0,
			live_tuples => 990,
			dead_tuples => 10
		},
		"$name: table_stats");
	cmp_ok($stats->{$_}, '<=', $stats->{pages}, "$name: $_")
	  foreach (qw(all_visible_pages all_frozen_pages fsm_nonfull_pages));
	is($stats->{all_visible_pages}, 0, "$name: nothing is all-visible")
	  if $fork eq 'vm' && $kind =~ /zeros|random/;
	is($stats->{all_frozen_pages}, $stats->{pages}, "$name: all is all-frozen")
	  if $fork eq 'vm' && $kind eq 'ones';
	is($stats->{fsm_free_bytes}, 0, "$name: no free space")
	  if $fork eq 'fsm' && $kind =~ /zeros|random/;

	my $summary = $fork eq 'vm' ? 'visibility_map_summary' : 'free_space_map_summary';
	my $corrupt = outcome("SELECT corrupt_map_pages FROM streamstat.$summary('$name')");
	$kind eq 'random'
	  ? cmp_ok($corrupt =~ s/\D//gr, '>', 0, "$name: corrupt pages of the map")
	  : is($corrupt, '(0)', "$name: corrupt pages of the map");
	unlike(outcome("SELECT * FROM streamstat.unfrozen_ranges('$name')"),
		qr/^[0-9A-Z]{5} /, "$name: unfrozen_ranges");
	my $approx = outcome("SELECT * FROM streamstat.pgstattuple_approx('$name')");
	unlike($approx, qr/^[0-9A-Z]{5} /, "$name: pgstattuple_approx");
	is( $approx,
		outcome("SELECT * FROM contrib.pgstattuple_approx('$name')"),
		"$name: pgstattuple_approx as contrib's")
	  if $have_contrib;
	sound_again($name);
}

$session->end;
stop_clean($node);
done_testing();
