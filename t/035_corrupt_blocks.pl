
# Copyright (c) 2026, streamstat contributors

# corrupt_blocks() and what the visitors take for corrupt.
#
# Of each type of page of each kind of relation, copies are appended to a file, each with
# one byte of its header or special space changed, or with a special space of random
# bytes.  No such page may be taken for a deleted one; and what is counted as corrupt
# is what corrupt_blocks() lists.  Then checksums, tuples, limits, and blocks that
# cannot be read.

use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Utils;
use Test::More;

use lib "$FindBin::RealBin/lib";
use Faults;
use Node;
use Pages;

my $settings = "jit = off\nmax_parallel_maintenance_workers = 0\n";
my $node = new_node('corrupt_blocks', $settings, checksums => 0);
my $have_contrib = create_extension($node, 'pgstattuple');
create_outcome($node);

# Size of the special space, where from the end of the page the flags are that say what
# a page is, and how many blocks have a place of their own
my %kinds = (
	btree => { special => 16, flags => 4, fixed => 1, index => 'btree (i)' },
	hash => { special => 16, flags => 4, fixed => 1, index => 'hash (i)' },
	gin => { special => 8, flags => 2, fixed => 1, index => 'gin (a) WITH (fastupdate = off)' },
	gist => { special => 16, flags => 4, fixed => 1, index => 'gist (p)' },
	spgist => { special => 8, flags => 8, fixed => 3, index => 'spgist (p)' },
	brin => { special => 8, flags => 2, fixed => 1, index => 'brin (i) WITH (pages_per_range = 1)' });
$kinds{bloom} = { special => 8, flags => 6, fixed => 1, index => 'bloom (i)' } if create_extension($node, 'bloom');

# ---------------------------------------------------------------------------
# The pages to be changed: of each kind one with each value of the flags

$node->safe_psql('postgres', <<'SQL');
CREATE TABLE t AS SELECT i, ARRAY[i / 10000, i % 3000] AS a, point(i % 500, i) AS p
	FROM generate_series(1, 60000) i;
CREATE TABLE empty (i int, a int[], p point);
SQL
$node->safe_psql('postgres', join(';', map { "CREATE INDEX t_$_ ON t USING $kinds{$_}{index}" } sort keys %kinds));
# some pages of each kind come to be deleted, or unused
$node->safe_psql('postgres', 'INSERT INTO t SELECT 7, ARRAY[7], point(7, 7) FROM generate_series(1, 3000)');
$node->safe_psql('postgres', 'DELETE FROM t WHERE i BETWEEN 20000 AND 45000 OR i = 7');
$node->safe_psql('postgres', 'VACUUM t');
$node->safe_psql('postgres', 'CHECKPOINT');

my %group;
foreach my $kind (sort keys %kinds)
{
	my @pages = read_blocks(file_of($node, "t_$kind"));
	my %seen;

	foreach my $blkno ($kinds{$kind}{fixed} .. $#pages)
	{
		my $page = $pages[$blkno];
		my $flags = get16($page, BLCKSZ - $kinds{$kind}{flags});

		# the third of each
		next if $page !~ /[^\0]/ || ++$seen{$flags} > 3;
		my $name = sprintf('%s_%04x', $kind, $flags);

		# siblings that no copy has as its block
		for (my $i = BLCKSZ - 16; $kind eq 'btree' && $i < BLCKSZ - 8; $i += 4)
		{
			$page = with32($page, $i, 1000000 + $i) if unpack('L', substr($page, $i, 4)) > 0;
		}
		$group{$name} = {
			kind => $kind,
			flags => $flags,
			page => $page,
			first => [ @pages[ 0 .. $kinds{$kind}{fixed} - 1 ] ] };
	}
}
foreach my $name (sort keys %group)
{
	$node->safe_psql('postgres', "CREATE INDEX $name ON empty USING $kinds{$group{$name}{kind}}{index}");
	$group{$name}{file} = file_of($node, $name);
}
ok(scalar(grep { /^btree/ } keys %group) >= 3, 'leaf, internal and deleted pages of a b-tree');
ok(scalar(keys %group) >= 10, 'types of pages: ' . join(' ', sort keys %group));

# metapages stand in block 0 only: an index for each byte of one
my @places = (0 .. 23, BLCKSZ - 16 .. BLCKSZ - 1);
$node->safe_psql('postgres', join(';', map { "CREATE INDEX meta_$_ ON empty (i)" } @places));
my %meta = map { $_ => file_of($node, "meta_$_") } @places;

$node->safe_psql('postgres', 'CREATE TABLE checksums AS SELECT i FROM generate_series(1, 20000) i; CREATE SEQUENCE sequence;
	CREATE MATERIALIZED VIEW view AS SELECT i FROM generate_series(1, 2000) i; CREATE TABLE tuples AS TABLE view;
	CREATE INDEX checksums_i ON checksums (i)');
my %file = map { $_ => file_of($node, $_) } qw(checksums checksums_i sequence view tuples);

# block 0 of an index is never a new page
$node->safe_psql('postgres', join(';', map { "CREATE INDEX zero_$_ ON t USING $kinds{$_}{index}" } sort keys %kinds));
my %zero = map { $_ => file_of($node, "zero_$_") } sort keys %kinds;

$node->safe_psql('postgres', 'CREATE INDEX old_deleted ON empty (i)');
my $old = file_of($node, 'old_deleted');

$node->stop;

# Values that a byte is changed to
sub other_values
{
	my ($byte) = @_;

	return map { chr((ord($byte) ^ $_) & 255) } (0xFF, 0x01, 0x04, 0x10, 1 + next_random(255));
}

sub write_file
{
	my ($file, @pages) = @_;

	open(my $fh, '>:raw', $file) or die "could not open $file: $!";
	print $fh @pages;
	close $fh;
}

foreach my $name (sort keys %group)
{
	my $g = $group{$name};
	my $special = BLCKSZ - $kinds{ $g->{kind} }{special};
	my @pages = (@{ $g->{first} }, $g->{page});

	$g->{sound} = @pages;
	foreach my $place (0 .. 23, $special .. BLCKSZ - 1)
	{
		foreach my $value (other_values(substr($g->{page}, $place, 1)))
		{
			push @{ $g->{place} }, $place;
			push @pages, $g->{page};
			substr($pages[-1], $place, 1) = $value;
		}
	}
	$g->{random} = @pages;
	foreach (1 .. 200)
	{
		push @pages, $g->{page};
		substr($pages[-1], $special) = pack('C*', map { next_random(256) } $special .. BLCKSZ - 1);
	}
	$g->{blocks} = @pages;

	# what a page of GIN's pending list becomes cannot be told from others
	$g->{deleted} = $g->{kind} eq 'gin' ? scalar grep { get16($_, BLCKSZ - 2) == 4 } @pages : 0;
	write_file($g->{file}, @pages);
}
write_block($_, 0, "\0" x BLCKSZ) foreach values %zero;
foreach my $place (@places)
{
	my $byte = substr(read_block($meta{$place}, 0), $place, 1);
	write_at($meta{$place}, $place, chr(ord($byte) ^ 0x41));
}

# Deleted pages as releases before 14 left them: a transaction ID in the place of the
# level, a leaf page with its high key, an internal page with one downlink more.  The
# third and fourth have too many items, and no transaction ID.
{
	my @old = ($group{btree_0001}{first}[0], map {
		my ($flags, $items, $xid) = @$_;
		my $page = with16($group{btree_0001}{page}, BLCKSZ - 4, $flags);

		with32(with16($page, PD_LOWER, 24 + 4 * $items), BLCKSZ - 8, $xid);
	} [ 5, 1, 1000 ], [ 4, 2, 1000 ], [ 5, 3, 1000 ], [ 5, 1, 0 ]);
	write_file($old, @old);
}

# a tuple of a transaction that is still to come, and one that is not where its line
# pointer says
my $tuples = read_block($file{tuples}, 2);
my $offset = get16($tuples, PD_UPPER);
write_block($file{tuples}, 2, with32($tuples, $offset, 0x30000000)
	  =~ s/^(.{$offset}.{20})../$1\0\0/sr);
write_block($file{tuples}, 4, with_item(read_block($file{tuples}, 4), 3, 8100, 200));
write_block($file{view}, 1, with16(read_block($file{view}, 1), PD_SPECIAL, 8000));
write_block($file{sequence}, 0, with16(read_block($file{sequence}, 0), PD_PAGESIZE, 0x2005));

$node->start;

# ---------------------------------------------------------------------------

# block => [ error, detail ]
sub corrupt
{
	my ($call, $path) = @_;
	my $rows = $node->safe_psql('postgres',
		($path ? "SET streamstat.io_path = $path; " : '') . "SELECT * FROM streamstat.corrupt_blocks($call)");

	return { map { my ($b, @rest) = split /\|/, $_, 3; $b => \@rest } split /\n/, $rows };
}

my %known = map { $_ => 1 } 'header', 'special space', 'page type', 'line pointers', 'tuples', 'contents';

foreach my $name (sort keys %group)
{
	my $g = $group{$name};
	my $found = corrupt("'$name'");
	my ($classes, $corrupt, $deleted) = split /\|/, $node->safe_psql('postgres', qq(
SELECT leaf_pages + internal_pages + deleted_pages + new_pages + corrupt_pages + (access_method <> 'gist')::int,
	corrupt_pages, deleted_pages FROM streamstat.index_stats('$name')));

	is($classes, $g->{blocks}, "$name: each page is of one class");
	cmp_ok(scalar(keys %$found), '>=', $corrupt, "$name: corrupt_blocks() lists what is counted as corrupt");
	is(join(' ', grep { $_ < $g->{sound} } keys %$found), '', "$name: pages that were not changed");
	is(join(' ', grep { !$known{ $found->{$_}[0] } || $found->{$_}[1] eq '' } keys %$found), '',
		"$name: each says what is wrong");
	is_deeply(corrupt("'$name'", 'buffer'), $found, "$name: the same by buffers");
	ok(scalar(grep { $_ >= $g->{random} } keys %$found) > 190, "$name: a random special space is corrupt")
	  if $g->{kind} ne 'gin';
	is($deleted, $g->{deleted}, "$name: no page is taken for a deleted one")
	  if $name !~ /^btree_010|^hash_0000|^bloom_0002|^gist_000[2367]|^gin_.*[4567cdef]$/;

	# what the flags are, and what nothing can be
	my %wrong;
	foreach my $i (0 .. $#{ $g->{place} })
	{
		my ($place, $blkno) = ($g->{place}[$i], $g->{sound} + $i);
		my $error = $found->{$blkno} ? $found->{$blkno}[0] : 'sound';

		$wrong{$place} = $error if $place < 8 && $error ne 'sound';
		$wrong{$place} = $error if $place >= 20 && $place < 24 && $error ne 'sound';
		$wrong{$place} = $error if $place == 18 && $error ne 'header';
		$wrong{$place} = $error if $place == 16 && $error ne 'header' && $error ne 'special space';
		$wrong{$place} = $error if $place >= 24 && $error eq 'header';
	}
	is_deeply(\%wrong, {}, "$name: the check that fails is that of the byte");

	next if !$have_contrib || $g->{kind} ne 'btree';
	my ($ours, $contribs) = map { $node->safe_psql('postgres', "SELECT outcome('SELECT * FROM $_.pgstatindex(''$name'')')") }
	  qw(streamstat public);
	is(substr($ours, 0, 5), substr($contribs, 0, 5), "$name: pgstatindex is as contrib's");
}

# Whatever the byte of the metapage's special space is, there is one value for it; of the
# header, LSN, checksum, pd_prune_xid and the hole are not looked at.
my (@sound, @none);
foreach my $place (@places)
{
	my $found = corrupt("'meta_$place'");
	push @sound, $place if !$found->{0};
	push @none, $place if $node->safe_psql('postgres', "SELECT corrupt_pages FROM streamstat.btree_stats('meta_$place')") != keys %$found;
}
is(join(' ', grep { $_ >= 24 } @sound), '', 'metapage: each byte of the special space');
is(join(' ', @none), '', 'metapage: counted as corrupt where it is listed');

foreach my $kind (sort keys %zero)
{
	is_deeply(corrupt("'zero_$kind'"), { 0 => [ 'page type', 'all zeros, where the index begins' ] }, "$kind: block 0 is not new");
	is($node->safe_psql('postgres', "SELECT new_pages, corrupt_pages FROM streamstat.index_stats('zero_$kind')"), '0|1', '... and is counted');
}

is($node->safe_psql('postgres', "SELECT deleted_pages, corrupt_pages FROM streamstat.btree_stats('old_deleted')"),
	'2|2', 'deleted pages of releases before 14');
my $none_deleted = corrupt("'old_deleted'");
is(join(' ', map { "$_ $none_deleted->{$_}[0]" } sort keys %$none_deleted), '3 contents 4 special space',
	'... and what are none');

# ---------------------------------------------------------------------------
# Tables, and what is said

is_deeply(
	corrupt("'tuples'"),
	{
		2 => [ 'tuples', corrupt("'tuples'")->{2}[1] ],
		4 => [ 'line pointers', corrupt("'tuples'")->{4}[1] ] },
	'table: a transaction to come, and a line pointer out of place');
like(corrupt("'tuples'")->{2}[1], qr/^tuple \d+: .*xmin 805306368,/, 'the tuple is named');
like(corrupt("'tuples'")->{4}[1], qr/^line pointer 3: .*offset 8100, length 200/, 'the line pointer is named');
is(corrupt("'view'")->{1}[0], 'special space', 'materialized view');
is(corrupt("'view'")->{1}[1], 'special space begins at 8000, expected 8192', 'what was expected');
is(corrupt("'sequence'")->{0}[0], 'header', 'sequence');

# ---------------------------------------------------------------------------
# Checksums, limits, and going on

$node->stop;
command_ok([ 'pg_checksums', '--enable', '--no-sync', '-D', $node->data_dir ], 'checksums enabled');
my @bad = (3, 17 .. 30, 50, 70);
write_at($file{checksums}, $_ * BLCKSZ + 5000, 'xxxxxxxx') foreach @bad;
my $faults = $^O eq 'linux' ? Faults->new($node) : undef;
$faults ? $faults->start($node) : $node->start;

my $found = corrupt("'checksums'");
is(join(' ', sort { $a <=> $b } keys %$found), join(' ', @bad), 'bad checksums, none is the end');
is(join(' ', grep { $found->{$_}[0] ne 'checksum' } keys %$found), '', 'checksum');
like($found->{50}[1], qr/^page checksum 0x[0-9A-F]{4}, expected 0x[0-9A-F]{4}$/, 'both are said');
is_deeply(corrupt("'checksums'", 'buffer'), $found, 'bad checksums by buffers');
is($node->safe_psql('postgres', "SET zero_damaged_pages = on; SET ignore_checksum_failure = on;
SELECT count(*) FROM streamstat.corrupt_blocks('checksums'); SHOW zero_damaged_pages; SHOW ignore_checksum_failure"),
	@bad . "\non\non", 'whatever the settings make of bad pages');

# Nothing bad is in a buffer: a query fails as before.
my ($rc, $out, $err) = $node->psql('postgres', 'SELECT count(*) FROM checksums');
like($err, qr/invalid page in block 3 /, 'bad pages are not in buffers');

my (@all, $next);
$next = 0;
for (my $calls = 0; defined $next && $calls < 20; $calls++)
{
	my $part = corrupt("'checksums', $next, 5");
	undef $next;
	foreach my $blkno (sort { $a <=> $b } keys %$part)
	{
		$part->{$blkno}[0] eq 'not read' ? $next = $blkno : push @all, $blkno;
	}
}
is(join(' ', @all), join(' ', @bad), 'five at a time, and on from where a call ended');
is(join(' ', map { "$_ @{corrupt(qq('checksums', 51, 1))->{$_}}[0]" } sort { $a <=> $b } keys %{ corrupt("'checksums', 51, 1") }),
	'70 checksum 71 not read', 'from a block on');
my $end = $node->safe_psql('postgres', "SELECT pg_relation_size('checksums') / current_setting('block_size')::int");
is(join(' ', keys %{ corrupt("'checksums', $end") }), '', 'from the end on');
is_deeply(corrupt("'checksums', $end + 1"), { '' => [ 'not read', "the relation has only $end blocks" ] }, 'from behind the end on');
is(join(' ', sort { $a <=> $b } keys %{ corrupt("'checksums', 17", 'buffer') }), join(' ', grep { $_ >= 17 } @bad),
	'from a bad block on, by buffers: none before it');
is(corrupt("'checksums', 40, max_time => '0'")->{40}[0], 'not read', 'no time');
like($node->safe_psql('postgres', "SELECT error_of('SELECT * FROM streamstat.corrupt_blocks(''checksums'', $_->[0])')"), $_->[1],
	"arguments: $_->[0]")
  foreach (
	[ '-1', qr/^22023 starting block number must be between 0 and 4294967294$/ ],
	[ '4294967295', qr/^22023 starting block number/ ],
	[ '0, 0', qr/^22023 number of rows must be greater than zero$/ ],
	[ "max_time => ''-1 s''", qr/^22023 time limit/ ]);

# ---------------------------------------------------------------------------
# Blocks that cannot be read

SKIP:
{
	skip 'no C compiler for test/faults', 4 if !$faults;

	foreach my $path ('file', 'buffer')
	{
		$node->safe_psql('postgres', 'CHECKPOINT');
		$faults->set(
			file => $file{checksums_i},
			reads => 'error',
			error => 5,
			from => 20 * BLCKSZ,
			to => 22 * BLCKSZ);
		my $blocks = corrupt("'checksums_i'", $path);
		ok($faults->clear > 0, "$path: reads failed");
		is(join(' ', map { "$_ $blocks->{$_}[0]" } sort { $a <=> $b } keys %$blocks), '20 read error 21 read error',
			"$path: blocks that cannot be read");
		like($blocks->{21}[1], qr/^could not read block.*Input\/output error$/, "$path: the error");
	}
	is(join(' ', keys %{ corrupt("'checksums_i'") }), '', 'and nothing is left of that');
}

# ---------------------------------------------------------------------------
# Indexes whose file has lost all of its blocks

my @empty = map { "lost_$_" } sort keys %kinds;
$node->safe_psql('postgres', join(';', 'CREATE TABLE lost AS SELECT i, ARRAY[i] AS a, point(i, i) AS p FROM generate_series(1, 100) i', map { "CREATE INDEX lost_$_ ON lost USING $kinds{$_}{index}" } sort keys %kinds));
my @lost_files = map { file_of($node, $_) } @empty;
$node->stop;
foreach (@lost_files)
{
	open my $file, '>', $_ or die "$_: $!";
	close $file;
}
$node->start;
is(join(' ', map { my $name = $_; map { "$name $_->[0]" } values %{ corrupt("'$name'") } } @empty),
	join(' ', map { "$_ read error" } @empty), 'an index without blocks: the first one cannot be read');
is( $node->safe_psql('postgres', "SET client_min_messages = warning; SELECT count(*) FROM streamstat.database_report(tables => '{lost}') WHERE relation_name ~ '^lost_' AND corrupt_pages = 1 AND note ~ '^1 corrupt page, block 0'"),
	scalar(@empty), '... a report names them');

stop_clean($node);
done_testing();
