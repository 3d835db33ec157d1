
# Copyright (c) 2026, streamstat contributors

# Damage to the files of a relation, chosen at random

package Damage;

use strict;
use warnings;

use Exporter 'import';

use Pages;
use Relations qw(pick one_in);

our @EXPORT = qw(damage_page damage_file);

# pages of other relations
my @others;

sub random_bytes
{
	my ($n) = @_;

	return pack('C*', map { int rand 256 } 1 .. $n);
}

# A block number, a count or a level: what might be, or just not, or never
sub number
{
	my ($npages, $blkno) = @_;

	return pick(
		0, 1, 2, $blkno, $blkno + 1, $npages - 1, $npages, $npages + 1,
		int rand($npages), int rand(1000), 0xffff, 0x7fffffff, 0x80000000,
		0xfffffffe, 0xffffffff, int rand(2**32)) & 0xffffffff;
}

sub offset
{
	my ($page) = @_;

	return pick(
		0, PD_LINP, get16($page, PD_LOWER), get16($page, PD_UPPER),
		get16($page, PD_SPECIAL), get16($page, PD_LOWER) - 4,
		get16($page, PD_UPPER) + 8, BLCKSZ, BLCKSZ - 8, BLCKSZ - 16, BLCKSZ + 8,
		32767, 65535, int rand(BLCKSZ)) & 0xffff;
}

# Bytes at random between two places
sub with_bytes
{
	my ($page, $from, $to) = @_;

	return $page if $from >= $to || $to > BLCKSZ;
	for (0 .. rand 20)
	{
		my $at = $from + int rand($to - $from);
		my $new = one_in(2) ? chr(ord(substr($page, $at, 1)) ^ 1 << rand 8) : random_bytes(1 + rand 8);

		$new = substr($new, 0, $to - $at);
		substr($page, $at, length $new) = $new;
	}
	return $page;
}

# A number of 1, 2, 4 or 8 bytes, at its alignment, between two places
sub with_number
{
	my ($page, $from, $to, $number) = @_;
	my $size = pick(1, 2, 2, 4, 4, 4, 8);
	my $at = $from + $size * int rand(($to - $from) / $size);

	return $page if $from >= $to || $at + $size > BLCKSZ;
	substr($page, $at, $size) = pack({ 1 => 'C', 2 => 'S', 4 => 'L', 8 => 'Q' }->{$size},
		$size < 4 ? $number & (1 << 8 * $size) - 1 : $number);
	return $page;
}

sub special
{
	my ($page) = @_;
	my $special = get16($page, PD_SPECIAL);

	return $special <= BLCKSZ && $special >= BLCKSZ - 64 ? $special : BLCKSZ - 16;
}

# What becomes of a page: ($page, $blkno, $pages, $last), where $pages are all of the
# file, and $last is the block of a second page to take
my %change = (
	bytes => sub { with_bytes($_[0], 0, BLCKSZ) },
	random => sub { random_bytes(BLCKSZ) },
	zeroed => sub { "\0" x BLCKSZ },
	ones => sub { "\xff" x BLCKSZ },
	another => sub { $_[2][ $_[3] ] },
	foreign => sub { pick(@others, $_[0]) },
	torn => sub { substr($_[0], 0, 512 * (1 + int rand 15)) . substr($_[2][ $_[3] ], -512) x 16 },
	half => sub { my $at = 512 * int(1 + rand 15); substr($_[0], 0, $at) . "\0" x (BLCKSZ - $at) },
	position => sub { random_bytes(8) . substr($_[0], 8) },
	header => sub {
		with16($_[0], pick(PD_FLAGS, PD_LOWER, PD_UPPER, PD_SPECIAL, PD_PAGESIZE), offset($_[0]));
	},
	items => sub {
		my ($page) = @_;

		with16($page, PD_LOWER, PD_LINP + 4 * int rand(pick(3, 100, 500, 2040)));
	},
	emptied => sub { with16(with16($_[0], PD_LOWER, PD_LINP), PD_UPPER, special($_[0])) },
	special => sub { with_number($_[0], special($_[0]), BLCKSZ, number(scalar @{ $_[2] }, $_[1])) },
	flags => sub { with_bytes($_[0], special($_[0]), BLCKSZ) },
	meta => sub {
		with_number($_[0], PD_LINP, PD_LINP + pick(16, 64, 200), number(scalar @{ $_[2] }, $_[1]));
	},
	pointers => sub {
		my ($page) = @_;
		my $n = int items($page);

		return $page if $n < 1 || $n > 2000;
		for (1 .. pick(1, 1, 1, 2, 10))
		{
			my $at = 1 + int rand $n;

			# elsewhere in the page, as long as what is behind it, or anything
			my ($upper, $special) = (get16($page, PD_UPPER), special($page));
			my $to = (one_in(4) ? offset($page) : $upper + 8 * int rand(abs($special - $upper) / 8)) & 0x7fff;
			my $room = abs($special - $to);

			$page = one_in(6)
			  ? with_bytes($page, PD_LINP + 4 * ($at - 1), PD_LINP + 4 * $at)
			  : with_item($page, $at, $to, pick($room, $room + 8, int rand(1 + $room), 0, 7, 8, 12, 16, 24, 0x7fff) & 0x7fff,
				pick((1) x 6, 0, 2, 3));
		}
		return $page;
	},
	# a bit of a header of a tuple, or all of it
	headers => sub {
		my ($page) = @_;
		my @items = grep { $_->[1] == 1 && $_->[2] >= 8 && $_->[0] + $_->[2] <= BLCKSZ } map { [ item($page, $_) ] } 1 .. items($page);

		foreach my $item (map { pick(@items) } @items ? 1 .. pick(1, 1, 3) : ())
		{
			my $length = $item->[2] < 24 ? 8 : 24;

			$page = with_bytes($page, $item->[0], $item->[0] + $length) if one_in(4);
			my $at = $item->[0] + int rand $length;
			substr($page, $at, 1) = chr(ord(substr($page, $at, 1)) ^ 1 << rand 8);
		}
		return $page;
	},
	# a line pointer that is a copy of another one, is moved by some bytes, or refers to anything
	items_mixed => sub {
		my ($page) = @_;
		my $n = int items($page);

		return $page if $n < 1 || $n > 2000;
		my $at = 1 + int rand $n;
		my @item = item($page, pick($at, 1 + int rand $n));
		$item[0] += pick(-8, 8, 16, -40, 4) if one_in(2);
		@item = (pick(0, 1 + int rand $n, $n + 1, int rand 8192), 2, 0) if one_in(3);
		return with_item($page, $at, $item[0] & 0x7fff, @item[ 2, 1 ]);
	},
	tuples => sub { with_bytes($_[0], get16($_[0], PD_UPPER), special($_[0])) },
	tuple_numbers => sub {
		my ($page, $blkno, $pages) = @_;

		$page = with_number($page, get16($page, PD_UPPER), special($page), number(scalar @$pages, $blkno))
		  for (0 .. rand 10);
		return $page;
	},
	# all that is not the header and the special space
	contents => sub {
		my ($page) = @_;

		substr($page, 0, PD_LINP) . random_bytes(special($page) - PD_LINP) . substr($page, special($page));
	});

# What visitors look at behind a header that makes sense is damaged most.
my @changes = (sort(keys %change), (qw(special flags meta tuples tuple_numbers headers items_mixed), ('pointers') x 3) x 3);

# One page damaged at random, or in a given way: ($page, $blkno, $pages, $how).  Returns
# also the way, which is another one if the page is new.
sub damage_page
{
	my ($page, $blkno, $pages, $how) = @_;

	$how //= pick(@changes);

	# most damage of a page that is new is to no end
	$how = pick('random', 'foreign', 'another', 'contents') if $page !~ /[^\0]/;
	return (substr($change{$how}->($page, $blkno, $pages, int rand @$pages), 0, BLCKSZ), $how);
}

# Damage one file at random; returns in a few words what was done, or nothing where
# there was nothing to do.
sub damage_file
{
	my ($file, $special) = @_;
	my @pages = read_blocks($file);
	my $npages = @pages;
	my @did;

	if ($npages > 0)
	{
		# one, few or all of them, in one way or in many
		my $share = pick(0, 0.1, 0.5, 1);
		my $only = one_in(2) ? pick(@changes) : undef;
		my @chosen = grep { rand() < $share } 0 .. $npages - 1;
		my %did;

		@chosen = (int rand $npages) if !@chosen;
		push @chosen, 0 if one_in(3);
		foreach my $blkno (@chosen)
		{
			my $how = $only // pick(@changes);
			my $times = one_in(3) ? pick(2, 3, 5) : 1;

			foreach (1 .. $times)
			{
				($pages[$blkno], $how) = damage_page($pages[$blkno], $blkno, \@pages, $how);
				$did{$how} = 1;
			}
		}
		die "a page of a wrong size" if grep { length != BLCKSZ } @pages;
		push @did, sort keys %did;
	}

	my $contents = join('', @pages);
	if (one_in(8))
	{
		my $bytes = BLCKSZ * int rand($npages + 1) + pick(0, 1, 1000, 8191);

		$contents = substr($contents, 0, $bytes);
		push @did, 'cut off';
	}
	elsif (one_in(12))
	{
		$contents .= pick("\0" x BLCKSZ, random_bytes(BLCKSZ)) x (1 + rand 40) . 'x' x pick(0, 1, 5000);
		push @did, 'longer';
	}

	open(my $fh, '>:raw', $file) or die "could not open $file: $!";
	print $fh $contents;
	close($fh) or die "could not write $file: $!";

	push @others, grep { /[^\0]/ } map { $pages[ rand @pages ] } 1 .. 3 if @pages;
	splice(@others, 0, @others - 300) if @others > 300;
	return join(', ', @did);
}

1;
